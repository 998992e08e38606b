//! The memory that PEs share keeps its length, whatever opens it: were it shorter, all PEs would
//! get SIGBUS.

use std::{fs::OpenOptions, io::ErrorKind};

use crate::common::{Job, cluster, settings, test_name, time_limit};
use oxshmem::{Result, World};

/// Tries to change the length of all memory of this library that the process has open, as any
/// process of the user can.
fn nobody_changes_the_length() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("procfs").flatten();
    let ours = open.filter(|file| {
        std::fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().contains("memfd:oxshmem"))
    });
    let tried = ours.map(|file| {
        let opened = OpenOptions::new().write(true).open(file.path()).expect("the user's own memory");
        let len = opened.metadata().expect("it is open").len();
        for other in [0, len / 2, len + 4096].into_iter().filter(|&other| other != len) {
            let refused = opened.set_len(other).map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::PermissionDenied), "{file:?}, {len} to {other} bytes");
        }
    });
    tried.count()
}

#[test]
fn nobody_makes_the_memory_of_a_job_shorter_or_longer() {
    let _limit = time_limit(60);
    // In a process in which no other test makes memory, which may be shortened until it is sealed.
    let ended = Job::alone(test_name!()).end(|| drop(cluster(2, settings(), try_and_use).unwrap()));
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
}

async fn try_and_use(world: World) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(1000).await?;
    world.barrier_all().await?;
    // At least the heap and the control blocks.
    assert!(nobody_changes_the_length() >= 2);
    world.context().put(&words, vec![7; 1000], 1 - world.my_pe()).await?;
    world.barrier_all().await?;
    assert_eq!(words.view().to_vec(), [7; 1000]);
    Ok(())
}
