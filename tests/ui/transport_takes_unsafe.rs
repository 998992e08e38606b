use oxshmem_runtime::transport::Transport;

#[derive(Debug)]
struct Mine;

impl Transport for Mine {}

fn main() {}
