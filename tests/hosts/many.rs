//! Many operations under way at once to PEs of other hosts: what they cost, and what they
//! keep.

use crate::common::{Job, reaches_hosts, test_name, time_limit};

/// The most memory that this process has had so far, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has a peak");
    line.trim_end_matches("kB").trim().parse().expect("it is a number")
}

#[test]
fn gets_behind_a_long_put_need_no_stack() {
    let _limit = time_limit(120);
    if !reaches_hosts() {
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
    if !reaches_hosts() {
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

#[test]
fn a_million_operations_are_under_way_at_once_and_each_has_its_result() {
    let _limit = time_limit(180);
    if !reaches_hosts() {
        return;
    }
    /// Of each of three kinds.
    const N: usize = 333_334;
    /// Words that are added to.
    const COUNTERS: usize = 100;
    let ended = Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        let words = world.alloc_zeroed::<u64>(2 * N + COUNTERS).await?;
        let (me, ctx) = (world.my_pe(), world.context());
        if me == 1 {
            (0..N).for_each(|i| words.at(N + i).store(i as u64 ^ 0x5555));
        }
        world.barrier_all().await?;
        let before = peak();
        if me == 0 {
            let (mut puts, mut gets, mut adds) = (Vec::new(), Vec::new(), Vec::new());
            for i in 0..N {
                puts.push(ctx.put_nbi(words.slice(i..=i), [i as u64 + 1], 1));
                gets.push(ctx.get_nbi([0], words.slice(N + i..=N + i), 1));
                adds.push(ctx.fetch_add_nbi(words.at(2 * N + i % COUNTERS), 1, 1));
            }
            println!("started: {} MiB", (peak() - before) >> 10);
            for put in puts {
                put.await?;
            }
            for (i, get) in gets.into_iter().enumerate() {
                assert_eq!(get.await?, [i as u64 ^ 0x5555]);
            }
            // In any order, as none was waited for.
            let mut seen = vec![Vec::new(); COUNTERS];
            for (i, add) in adds.into_iter().enumerate() {
                seen[i % COUNTERS].push(add.await?);
            }
            for mut seen in seen {
                seen.sort_unstable();
                assert!(seen.iter().copied().eq(0..seen.len() as u64), "{seen:?}");
            }
        }
        world.barrier_all().await?;
        let grown = peak() - before;
        println!("PE {me} has grown by {} MiB", grown >> 10);
        assert!(grown < 1 << 20 || std::env::var_os("OXSHMEM_SANITIZED").is_some(), "{grown} KiB");
        if me == 1 {
            assert!((0..N).all(|i| words.at(i).load() == i as u64 + 1));
            let sum: u64 = (0..COUNTERS).map(|i| words.at(2 * N + i).load()).sum();
            assert_eq!(sum, N as u64);
        }
        Ok(())
    });
    println!("{}", ended.stdout);
}

#[test]
fn blocks_at_any_distance_come_and_go_and_touch_nothing_else() {
    let _limit = time_limit(120);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        const LEN: usize = 400_000;
        let words = world.alloc_zeroed::<u32>(LEN).await?;
        let (ctx, other) = (world.context(), 1 - world.my_pe());
        let of = |pe: usize, i: usize| (pe * LEN + i) as u32 + 1;
        // Few and many blocks, short ones and ones that go by themselves.
        let shapes =
            [(1, 3, 2, 100_000), (1, 1, 1, 1000), (7, 9, 8, 30_000), (400, 401, 1000, 300), (1, 5, 9, 1)];
        for (block, near, far, count) in shapes {
            let own: Vec<u32> = (0..LEN).map(|i| of(world.my_pe(), i)).collect();
            words.view().write(&own);
            world.barrier_all().await?;
            let len = (count - 1) * near + block;
            let got = ctx.ibget(vec![0; len], &words, near, far, block, count, other).await?;
            let place = |i: usize| (i % near < block).then_some(i / near * far + i % near);
            let expected = |i: usize| place(i).map_or(0, |at| of(other, at));
            assert!((0..len).all(|i| got[i] == expected(i)), "{count} blocks of {block}");
            world.barrier_all().await?;
            let source: Vec<u32> = (0..len).map(|i| !(i as u32)).collect();
            ctx.ibput(&words, source, far, near, block, count, other).await?;
            world.barrier_all().await?;
            let place =
                |at: usize| (at / far < count && at % far < block).then_some(at / far * near + at % far);
            let expected = |at: usize| place(at).map_or(of(world.my_pe(), at), |i| !(i as u32));
            let put = words.view().to_vec();
            assert!((0..LEN).all(|at| put[at] == expected(at)), "{count} blocks of {block}");
            world.barrier_all().await?;
        }
        Ok(())
    });
}
