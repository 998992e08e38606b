// Where a PE's memory is follows from what its bootstrap says.
use oxshmem_job::Bootstrap;

struct Mine;

impl Bootstrap for Mine {}

fn main() {}
