//! Jobs whose processes may not have as much address space as they like.

use crate::common::{Job, test_name, time_limit};
use oxshmem::World;

/// A job of two PEs, each of which may have a gigabyte.
fn limited(test: &'static str, size: &str) -> Job {
    // Arenas of the C library take address space by the thread, however little is in them.
    let job = Job::new(test, 2).env(&format!("SHMEM_SYMMETRIC_SIZE={size}")).env("MALLOC_ARENA_MAX=1");
    job.within(&["sh", "-c", "ulimit -v 1000000; exec \"$@\"", "sh"])
}

#[test]
fn small_heaps_take_little_address_space() {
    let _limit = time_limit(60);
    for size in ["4K", "1M", "64M"] {
        limited(test_name!(), size).run(|world: World| async move {
            let next = (world.my_pe() + 1) % world.n_pes();
            let word = world.alloc_aligned::<u64>(1, 4096).await?;
            world.context().put(word.at(0), world.my_pe() as u64, next).await?;
            world.barrier_all().await?;
            assert_eq!(word.at(0).load(), next as u64);
            assert!(word.view().own().addr().is_multiple_of(4096));
            world.barrier_all().await
        });
    }
}

#[test]
fn a_heap_that_address_space_does_not_suffice_for_is_an_error_that_says_what_helps() {
    let _limit = time_limit(60);
    let ended = limited(test_name!(), "1G").end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        if let Err(error) = runtime.block_on(oxshmem::init()) {
            eprintln!("{error}");
            std::process::exit(4);
        }
    });
    assert_eq!(ended.status, 4, "{ended:?}");
    let line = ended.stderr.lines().find(|line| line.contains("cannot reserve")).expect("why");
    for part in ["(ulimit -v) is 1000000K", "are in use", "lower SHMEM_SYMMETRIC_SIZE", "start fewer PEs"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}
