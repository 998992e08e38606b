use oxshmem_runtime::device::Device;

#[derive(Debug)]
struct Mine;

impl Device for Mine {}

fn main() {}
