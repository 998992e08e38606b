//! A cable between two hosts that loses packets, and one on which connections are reset.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::{Random, assert_nothing_left, shared_names, test_name, time_limit};
use crate::cuts::{Cable, is_pe, start};
use oxshmem::{Result, prelude::*};

/// For how long the PEs work.
const WORK: Duration = Duration::from_secs(8);

/// Has the kernel do this in a network namespace, with each packet of TCP that it gets: what is
/// printed of the rules then.
fn nft(namespace: &str, rules: &str) -> Option<String> {
    let mut nft = Command::new("ip");
    nft.args(["netns", "exec", namespace, "nft", rules]);
    let output = nft.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A table with one rule for the packets of TCP that arrive.
fn on_arrival(what: &str) -> String {
    format!(
        "add table inet test; add chain inet test in {{ type filter hook input priority 0; }}; \
         add rule inet test in meta l4proto tcp {what}"
    )
}

/// How many packets the rule has counted.
fn counted(namespace: &str) -> u64 {
    let rules = nft(namespace, "list ruleset").expect("it has some");
    let count = rules.split("counter packets ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    count.expect("the rule counts")
}

/// A cable with that rule at both ends. None, and says why, where that cannot be had.
fn cable(rule: &str) -> Option<Cable> {
    let cable = Cable::lay(4)?;
    for name in &cable.namespaces.names {
        if nft(name, &on_arrival(rule)).is_none() {
            println!("skipped: there is no nft, or this kernel has no such rule (Debian: nftables)");
            return None;
        }
    }
    Some(cable)
}

/// Blocks, words, messages and collectives, at random, each of which is looked at.
async fn work(world: World) -> Result<()> {
    const LEN: usize = 40_000;
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let blocks = world.alloc_zeroed::<u64>(n * LEN).await?;
    let counts = world.alloc_zeroed::<u64>(n).await?;
    let (sums, terms) = (world.alloc_zeroed::<u64>(50).await?, world.alloc_zeroed::<u64>(50).await?);
    let signals = world.alloc_zeroed::<u64>(n).await?;
    let mut random = Random::new(me as u64 + 1);
    let (begin, mut round, mut counted) = (Instant::now(), 0, vec![0; n]);
    loop {
        round += 1;
        // All know how long the blocks are, and whether this round is the last.
        let last = me == 0 && begin.elapsed() > WORK;
        let len = [1, 10, 1000, LEN][random.below(4) as usize];
        let plan = (me == 0).then(|| [len as u64, u64::from(last)].map(u64::to_le_bytes).concat());
        let plan = world.broadcast_bytes(plan, 0).await?;
        let word = |at: usize| u64::from_le_bytes(plan[8 * at..][..8].try_into().expect("eight"));
        let (len, last) = (word(0) as usize, word(1) == 1);
        for pe in (0..n).filter(|&pe| pe != me) {
            let value = round << 16 | (me as u64) << 8 | pe as u64;
            let to = blocks.slice(me * LEN..me * LEN + len);
            ctx.put_signal(to, vec![value; len], signals.at(me), Signal::Set(round), pe).await?;
            for _ in 0..random.below(5) {
                assert_eq!(ctx.fetch_inc(counts.at(me), pe).await?, counted[pe]);
                counted[pe] += 1;
            }
        }
        for pe in (0..n).filter(|&pe| pe != me) {
            signals.at(pe).wait_until(Cmp::Eq, round).await?;
            let value = round << 16 | (pe as u64) << 8 | me as u64;
            let come = blocks.slice(pe * LEN..pe * LEN + len).to_vec();
            assert!(come.iter().all(|&word| word == value), "a block of round {round}");
            let mine = ctx.get(blocks.slice(me * LEN..me * LEN + len), pe).await?;
            let value = round << 16 | (me as u64) << 8 | pe as u64;
            assert!(mine.iter().all(|&word| word == value), "what was put comes back in round {round}");
        }
        (0..50).for_each(|i| terms.at(i).store(round * (me + i) as u64));
        world.team().sum_reduce(&sums, &terms).await?;
        let sum = |i: usize| round * (n * (n - 1) / 2 + n * i) as u64;
        assert!((0..50).all(|i| sums.at(i).load() == sum(i)), "a sum of round {round}");
        world.barrier_all().await?;
        if last {
            break;
        }
    }
    println!("PE {me} is well after {round} rounds");
    Ok(())
}

#[test]
fn lost_packets_delay_a_job_and_no_more() {
    let _limit = time_limit(120);
    let cable = cable("numgen random mod 100 < 3 counter drop");
    if cable.is_none() && !is_pe() {
        return;
    }
    let before = shared_names();
    let ended = start(cable.as_ref(), test_name!(), &[], work).end();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(ended.stdout.matches("is well").count(), 4, "{ended:?}");
    println!(
        "{}",
        ended.stdout.lines().filter(|line| line.contains("is well")).collect::<Vec<_>>().join("\n")
    );
    for name in &cable.expect("this is no PE").namespaces.names {
        let lost = counted(name);
        println!("{lost} packets were lost");
        assert!(lost > 10);
    }
    assert_nothing_left(&before);
}

#[test]
fn connections_that_are_reset_are_made_again() {
    let _limit = time_limit(120);
    if !is_pe() && std::env::var("SHMEM_NET").is_ok_and(|net| net == "ucx") {
        println!("skipped: UCX does not make connections again");
        return;
    }
    let cable = cable("counter");
    if cable.is_none() && !is_pe() {
        return;
    }
    let before = shared_names();
    let running = start(cable.as_ref(), test_name!(), &[], work);
    let cable = cable.expect("this is no PE");
    running.pes(4);
    let deadline = Instant::now() + WORK;
    let (mut resets, mut refused) = (0_u64, 0);
    while Instant::now() < deadline {
        thread::sleep(Duration::from_millis(400));
        // At one end, at the other, or at both; each end answers what arrives with a reset.
        resets += 1;
        let ends = cable.namespaces.names.iter().enumerate();
        let ends: Vec<&String> =
            ends.filter(|(end, _)| resets % 3 != *end as u64).map(|(_, name)| name).collect();
        for name in &ends {
            let rule = "flush chain inet test in; add rule inet test in meta l4proto tcp counter reject with tcp reset";
            assert!(nft(name, rule).is_some(), "this kernel resets connections");
        }
        thread::sleep(Duration::from_millis(50));
        for name in &ends {
            refused += counted(name);
            assert!(nft(name, "flush chain inet test in").is_some());
        }
    }
    let ended = running.end();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(ended.stdout.matches("is well").count(), 4, "{ended:?}");
    println!("{} {resets} times {refused} packets were answered with a reset", ended.stdout);
    assert!(refused > 3 * resets);
    assert_nothing_left(&before);
}
