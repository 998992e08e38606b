//! Many operations under way at once to PEs of other hosts over UCX: what they cost, and what they keep.

mod common;

use common::{Job, has_ucx, test_name, time_limit};

/// The most memory that this process has had so far, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has a peak");
    line.trim_end_matches("kB").trim().parse().expect("it is a number")
}

#[test]
fn gets_behind_a_long_put_need_no_stack() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    const N: usize = 100_000;
    const LEN: usize = 8 << 20;
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        let words = world.alloc_zeroed::<u64>(LEN).await?;
        let ctx = world.context();
        if world.my_pe() == 0 {
            drop(ctx.put_nbi(&words, vec![7; LEN], 1));
            // All of them begin when the put is there, each of which waits for that by itself.
            let gets: Vec<_> = (0..N).map(|i| ctx.get_nbi([0], words.slice(i..=i), 1)).collect();
            for get in gets {
                assert_eq!(get.await?, [7]);
            }
        }
        world.barrier_all().await
    });
}

#[test]
fn atomics_under_way_are_bounded_in_memory_and_none_is_lost() {
    let _limit = time_limit(120);
    if !has_ucx() {
        return;
    }
    const N: usize = 300_000;
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        let words = world.alloc_zeroed::<u64>(100).await?;
        let ctx = world.context();
        if world.my_pe() == 0 {
            ctx.fetch_inc(words.at(0), 1).await?;
            let before = peak();
            for i in 0..N {
                drop(ctx.fetch_add_nbi(words.at(i % 100), 1, 1));
            }
            ctx.quiet().await?;
            let grown = peak() - before;
            // A sanitizer keeps freed memory for a while.
            let is_bounded = grown < 32 << 10 || std::env::var_os("OXSHMEM_SANITIZED").is_some();
            assert!(is_bounded, "{N} atomic operations under way take {grown} KiB");
        }
        world.barrier_all().await?;
        if world.my_pe() == 1 {
            let sum: u64 = words.view().to_vec().iter().sum();
            assert_eq!(sum, N as u64 + 1);
        }
        Ok(())
    });
}
