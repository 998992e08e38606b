//! How many messages a PE sends: with many PEs no more than the logarithm of their number, times a
//! constant.

use crate::common::{cluster, on_one_host, time_limit};
use crate::model::forced;
use oxshmem::{Result, prelude::*, settings::Settings};

/// The most messages that one call of `body` takes on this PE, and the first call, after which all
/// goes its usual way.
async fn most<F: Future<Output = Result<()>>>(team: &Team, body: impl Fn(usize) -> F) -> Result<u64> {
    let mut most = 0;
    for round in 0..3 {
        let before = team.messages_sent();
        body(round).await?;
        most = most.max(team.messages_sent() - before);
    }
    Ok(most)
}

fn counts(n: usize, name: &str) {
    let mut settings = forced(name, Settings::default());
    settings.symmetric_size = 1 << 16;
    let done = cluster(n, settings, move |world| async move {
        let team = world.team();
        let words = world.alloc::<u64>(2).await?;
        let (to, from) = (words.at(0), words.at(1));
        let sync = most(team, |_| team.sync()).await?;
        let broadcast = most(team, |round| team.broadcast(to, from, round * 31 % n)).await?;
        team.sync().await?;
        let sum = most(team, |_| team.sum_reduce(to, from)).await?;
        Ok([sync, broadcast, sum])
    });
    let log = u64::from(n.next_power_of_two().ilog2());
    let bounds = [log.max(5), 4, (log + 2).max(5)];
    for (pe, counts) in done.unwrap_or_else(|e| panic!("{n} PEs, {name}: {e}")).into_iter().enumerate() {
        for ((call, count), bound) in ["sync", "broadcast", "sum_reduce"].into_iter().zip(counts).zip(bounds)
        {
            assert!(
                count <= bound,
                "PE {pe} of {n}, {name}: {count} messages in a {call}, not {bound} at most"
            );
        }
    }
}

#[test]
fn messages_grow_with_the_logarithm_where_pes_are_many() {
    let _limit = time_limit(120);
    if !on_one_host("it counts messages within a host; the program wide counts those between hosts") {
        return;
    }
    for n in [64, 256, 1024] {
        counts(n, "auto");
    }
}

#[test]
fn messages_grow_with_the_logarithm_with_each_algorithm_for_many_pes() {
    let _limit = time_limit(120);
    if !on_one_host("it counts messages within a host; the program wide counts those between hosts") {
        return;
    }
    for name in ["tree"] {
        for n in [64, 256, 1024] {
            counts(n, name);
        }
    }
}
