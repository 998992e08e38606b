use oxshmem_net::Net;

#[derive(Debug)]
struct Mine;

impl Net for Mine {}

fn main() {}
