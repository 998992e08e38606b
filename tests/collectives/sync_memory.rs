//! What a pending sync keeps in memory.

use crate::common::{Job, cluster, poll_once, settings, test_name, time_limit};
use oxshmem::{Result, prelude::*};

#[test]
fn a_pending_sync_that_is_polled_often_does_not_grow() {
    let _limit = time_limit(60);
    // In a process in which no other test allocates.
    let ended = Job::alone(test_name!()).end(|| drop(cluster(2, settings(), poll_often).unwrap()));
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
}

/// PE 0 polls a sync that PE 1 joins when this is over.
async fn poll_often(world: World) -> Result<()> {
    let flag = world.alloc_zeroed::<u64>(1).await?;
    if world.my_pe() == 1 {
        flag.at(0).wait_until(Cmp::Eq, 1).await?;
        return world.sync_all().await;
    }
    let before = resident();
    let mut sync = world.sync_all();
    for _ in 0..2_000_000 {
        assert!(poll_once(&mut sync).is_pending());
    }
    let grown = resident().saturating_sub(before);
    world.context().p(flag.at(0), 1, 1).await?;
    sync.await?;
    if std::env::var_os("OXSHMEM_SANITIZED").is_some() {
        eprintln!("not tested: the sanitizer keeps what was freed, so that {grown} bytes say nothing");
        return Ok(());
    }
    assert!(grown < 8 << 20, "{grown} bytes for one pending sync");
    Ok(())
}

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
}
