use oxshmem_spaces::domain::MemoryDomain;

struct Mine;

impl MemoryDomain for Mine {}

fn main() {}
