use oxshmem::{InTeam, Team};

struct Mine;

impl InTeam for Mine {
    fn team(&self) -> Option<Team> {
        None
    }
}

fn main() {}
