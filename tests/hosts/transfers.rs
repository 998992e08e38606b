//! Transfers to PEs of other hosts: large ones, of any length and alignment, from memory
//! that is borrowed, and with futures that nobody awaits.

use crate::common::{Job, Random, poll_once, reaches_hosts, test_name, time_limit};
use oxshmem::prelude::*;

fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = vec![0; len];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
    }
    bytes
}

#[test]
fn megabytes_go_both_ways_at_once() {
    both_ways(test_name!(), "SHMEM_NET_SECURITY=auth");
}

#[test]
fn megabytes_go_both_ways_at_once_encrypted() {
    if std::env::var("SHMEM_NET").is_ok_and(|net| net == "ucx") {
        println!("skipped: UCX does not encrypt");
        return;
    }
    both_ways(test_name!(), "SHMEM_NET_SECURITY=encrypt");
}

fn both_ways(test: &'static str, security: &str) {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    const LEN: usize = 64 << 20;
    Job::new(test, 2).hosts("2").env(security).run(|world| async move {
        let (me, other, ctx) = (world.my_pe() as u64, 1 - world.my_pe(), world.context());
        let data = world.alloc_zeroed::<u8>(LEN + 3).await?;
        // All of it but a few bytes at both ends, so that it is not aligned.
        let sent = ctx.put_nbi(data.slice(1..LEN + 1), pattern(me + 1, LEN), other).await?;
        world.barrier_all().await?;
        assert!(data.slice(1..LEN + 1).to_vec() == pattern(2 - me, LEN));
        assert_eq!([data.at(0).load(), data.at(LEN + 1).load(), data.at(LEN + 2).load()], [0; 3]);
        let got = ctx.get_nbi(vec![0; LEN - 5], data.slice(3..LEN - 2), other).await?;
        assert!(got[..] == sent[2..LEN - 3]);
        world.barrier_all().await?;
        // From the heap and into it.
        let own = world.alloc_zeroed::<u8>(LEN + 3).await?;
        ctx.get_into(own.view(), &data, other).await?;
        assert!(own.slice(1..LEN + 1).to_vec() == sent);
        own.view().fill(me as u8 + 7);
        // Nobody reads any more what is about to be written.
        world.barrier_all().await?;
        ctx.put(&data, own.view(), other).await?;
        world.barrier_all().await?;
        assert!(data.view().to_vec() == vec![other as u8 + 7; LEN + 3]);
        Ok(())
    });
}

#[test]
fn blocks_of_any_length_and_alignment_arrive_and_touch_nothing_else() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    // Around what is copied, what is lent, and what UCX changes its protocol at.
    const LENGTHS: [usize; 18] = [
        0, 1, 3, 7, 8, 9, 63, 255, 257, 4095, 8191, 8192, 8193, 16_385, 65_535, 65_537, 1_000_003, 4_194_301,
    ];
    Job::new(test_name!(), 3).hosts("2+1").run(|world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let data = world.alloc_zeroed::<u8>(n * (4_194_304 + 64)).await?;
        for (i, len) in LENGTHS.into_iter().enumerate() {
            for shift in [0, 1, 5] {
                data.slice(..n * (len + 64)).fill(0xee);
                world.barrier_all().await?;
                let right = (me + 1) % n;
                let at = |from: usize| from * (len + 64) + 16 + shift;
                let source = pattern((i * n + me) as u64, len + shift);
                match (i + shift) % 3 {
                    0 => drop(
                        ctx.put(data.slice(at(me)..at(me) + len), source[shift..].to_vec(), right).await?,
                    ),
                    1 => ctx.put(data.slice(at(me)..at(me) + len), &source[shift..], right).await?,
                    _ => drop(ctx.put_nbi(data.slice(at(me)..at(me) + len), source[shift..].to_vec(), right)),
                }
                world.barrier_all().await?;
                let left = (me + n - 1) % n;
                let mut expected = vec![0xee; n * (len + 64)];
                let sent = pattern((i * n + left) as u64, len + shift);
                expected[at(left)..at(left) + len].copy_from_slice(&sent[shift..]);
                assert!(
                    data.slice(..expected.len()).to_vec() == expected,
                    "{len} bytes, {shift} from aligned"
                );
                let got = ctx.get(data.slice(at(me)..at(me) + len), right).await?;
                assert!(got == source[shift..], "{len} bytes, {shift} from aligned");
                world.barrier_all().await?;
            }
        }
        Ok(())
    });
}

#[test]
fn what_is_borrowed_may_change_when_the_call_is_over() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        const LEN: usize = 5000;
        const ROWS: usize = 60;
        let (me, other, ctx) = (world.my_pe() as u64, 1 - world.my_pe(), world.context());
        let rows = world.alloc_zeroed::<u64>(ROWS * LEN).await?;
        let signal = world.alloc_zeroed::<u64>(1).await?;
        let mut source = vec![0u64; LEN];
        for row in 0..ROWS {
            source.fill((row as u64) << 8 | me);
            // Some are below what is copied at once, most above.
            let len = LEN >> (row % 10);
            let to = rows.slice(row * LEN..row * LEN + len);
            match row % 3 {
                0 => drop(ctx.put(to, &source[..len], other)),
                1 => drop(ctx.put_nbi(to, &source[..len], other)),
                _ => drop(ctx.put_signal(to, &source[..len], signal.at(0), Signal::Add(1), other)),
            }
            source.fill(u64::MAX);
        }
        world.barrier_all().await?;
        for row in 0..ROWS {
            let (value, len) = ((row as u64) << 8 | other as u64, LEN >> (row % 10));
            let expected: Vec<u64> = (0..LEN).map(|i| if i < len { value } else { 0 }).collect();
            assert!(rows.slice(row * LEN..(row + 1) * LEN).to_vec() == expected, "row {row}");
        }
        assert_eq!(signal.at(0).load(), ROWS as u64 / 3);
        Ok(())
    });
}

#[test]
fn futures_that_are_dropped_or_forgotten_leave_their_operations_alone() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), 2).hosts("2").run(|world| async move {
        const LEN: usize = 40_000;
        const ROUNDS: usize = 40;
        let (me, other, ctx) = (world.my_pe() as u64, 1 - world.my_pe(), world.context());
        let rows = world.alloc_zeroed::<u64>(ROUNDS * LEN).await?;
        let source = world.alloc_zeroed::<u64>(LEN).await?;
        let words = world.alloc_zeroed::<u64>(1).await?;
        source.view().fill(me + 100);
        world.barrier_all().await?;
        let mut recycled: Vec<Vec<u64>> = Vec::new();
        for round in 0..ROUNDS {
            let row = rows.slice(round * LEN..(round + 1) * LEN);
            let mut get = ctx.get_nbi(vec![7u64; LEN], &source, other);
            let mut put = ctx.put_nbi(row, vec![(round as u64) << 8 | me; LEN], other);
            let mut fetch = ctx.fetch_inc_nbi(words.at(0), other);
            match round % 4 {
                0 => {
                    std::mem::forget((get, put, fetch));
                }
                1 => drop((get, put, fetch)),
                2 => {
                    let _ = (poll_once(&mut get), poll_once(&mut put), poll_once(&mut fetch));
                    drop((get, put, fetch));
                }
                _ => {
                    let _ = (poll_once(&mut get), poll_once(&mut put), poll_once(&mut fetch));
                    std::mem::forget((get, put, fetch));
                }
            }
            // What was freed, if it was, is what these get: nobody may write there, nor read.
            recycled.push(vec![0xdead_dead; LEN]);
            if round % 3 == 0 {
                recycled.clear();
            }
        }
        ctx.quiet().await?;
        assert!(recycled.iter().flatten().all(|&word| word == 0xdead_dead), "a get came into freed memory");
        world.barrier_all().await?;
        for round in 0..ROUNDS {
            let row = rows.slice(round * LEN..(round + 1) * LEN).to_vec();
            assert!(row == vec![(round as u64) << 8 | other as u64; LEN], "round {round}");
        }
        assert_eq!(words.at(0).load(), ROUNDS as u64);
        Ok(())
    });
}
