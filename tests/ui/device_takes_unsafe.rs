use oxshmem_spaces::device::Device;

#[derive(Debug)]
struct Mine;

impl Device for Mine {}

fn main() {}
