//! Operations and collectives are events and spans of `tracing`, at the level TRACE.

use crate::common::{Job, test_name, time_limit};
use crate::log::Log;
use oxshmem::prelude::*;

#[test]
fn every_kind_of_operation_is_an_event_and_every_collective_a_span() {
    let _limit = time_limit(60);
    // In a process that may have a subscriber, and in which no other test is.
    let ended = Job::alone(test_name!()).end(all_in_the_log);
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
}

fn all_in_the_log() {
    let log = Log::begin();
    LocalCluster::run(2, |world| async move {
        let words = world.alloc_zeroed::<u64>(8).await?;
        let (ctx, other) = (world.context(), 1 - world.my_pe());
        ctx.p(words.at(0), 1, other).await?;
        ctx.put(words.slice(1..3), [1, 2], other).await?;
        ctx.get(words.slice(1..3), other).await?;
        ctx.fetch_add(words.at(3), 1, other).await?;
        ctx.put_signal(words.slice(4..5), 1, words.at(5), Signal::Add(1), other).await?;
        words.at(5).wait_until(Cmp::Ge, 1).await?;
        ctx.quiet().await?;
        world.barrier_all().await?;
        world.broadcast_bytes(Some(vec![1]), 0).await?;
        world.finalize().await
    })
    .unwrap();
    let text = log.text();
    for call in ["p", "put", "get", "fetch_add", "put_signal", "wait_until", "quiet", "sync"] {
        assert!(text.contains(&format!("oxshmem: call=\"{call}\"")), "no event for {call}: {text}");
    }
    for call in ["alloc_zeroed", "broadcast_bytes", "finalize"] {
        assert!(text.contains(&format!("collective{{call=\"{call}\"}}")), "no span for {call}: {text}");
    }
}
