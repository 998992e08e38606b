//! How many messages a PE sends where there are many hosts: no more than the logarithm of their
//! number, beside those on its own.

use crate::common::time_limit;
use crate::hosts::on_hosts;
use oxshmem::{Distribution, Result, prelude::*, settings::Settings};

/// The most messages that one call of `body` takes on this PE.
async fn most<F: Future<Output = Result<()>>>(team: &Team, body: impl Fn(usize) -> F) -> Result<u64> {
    let mut most = 0;
    for round in 0..3 {
        let before = team.messages_sent();
        body(round).await?;
        most = most.max(team.messages_sent() - before);
    }
    Ok(most)
}

fn log(n: usize) -> u64 {
    u64::from(n.next_power_of_two().ilog2())
}

fn counts(n: usize, hosts: usize, placement: Distribution) {
    let mut settings = Settings::default();
    settings.symmetric_size = 1 << 20;
    let what = placement.to_string();
    let done = on_hosts(n, placement, settings, move |world| async move {
        let team = world.team();
        let words = world.alloc::<u64>(2 + n).await?;
        let (to, from) = (words.at(0), words.at(1));
        let sync = most(team, |_| team.sync()).await?;
        let broadcast = most(team, |round| team.broadcast(to, from, round * 31 % n)).await?;
        team.sync().await?;
        let sum = most(team, |_| team.sum_reduce(to, from)).await?;
        let scan = most(team, |_| team.sum_inscan(to, from)).await?;
        let fcollect = most(team, |_| team.fcollect(words.slice(2..), from)).await?;
        let collect = most(team, |_| team.collect(words.slice(2..), from)).await?;
        from.store(1);
        team.sync().await?;
        team.sum_inscan(to, from).await?;
        assert_eq!(to.load(), world.my_pe() as u64 + 1);
        Ok([sync, broadcast, sum, scan, fcollect, collect])
    });
    // On a host the last one to come releases all, and a tree follows. Then a greeting, and the
    // rounds between hosts.
    let (here, across) = (n.div_ceil(hosts) as u64 + 5, log(hosts) + 1);
    // Where there is nobody else on a host, a short collect is one exchange of messages too: its
    // blocks come with their lengths.
    let collect = if n == hosts { across } else { 3 * here + across };
    let bounds = [here + across, 5 + across, here + across + 1, here + across, here + across, collect];
    for (pe, counts) in done.unwrap_or_else(|e| panic!("{n} PEs on {what}: {e}")).into_iter().enumerate() {
        let calls = ["sync", "broadcast", "sum_reduce", "sum_inscan", "fcollect", "collect"];
        for ((call, count), bound) in calls.into_iter().zip(counts).zip(bounds) {
            assert!(
                count <= bound,
                "PE {pe} of {n} on {what}: {count} messages in a {call}, not {bound} at most"
            );
        }
    }
}

#[test]
fn messages_grow_with_the_logarithm() {
    let _limit = time_limit(120);
    for (n, hosts) in [(64, 8), (61, 7), (256, 16), (250, 16), (64, 64)] {
        counts(n, hosts, Distribution::even(hosts));
    }
    counts(64, 8, Distribution::even(8).cyclic());
}
