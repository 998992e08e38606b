//! PEs that go away: what the others wait for ends with an error that says who is lost and why.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::common::{pe_counts, time_limit};
use oxshmem::{Error, LocalCluster, Result, prelude::*};

/// What PE 1 does instead of its part.
#[derive(Clone, Copy, Debug)]
enum End {
    Panic,
    Return,
    Fail,
}

/// What the others are in meanwhile.
#[derive(Clone, Copy, Debug)]
enum In {
    Barrier,
    Broadcast,
    Alloc,
    Wait,
    WaitAny,
    Finalize,
    Sleep,
}

async fn be_in(world: &World, what: In) -> Result<()> {
    match what {
        In::Barrier => world.barrier_all().await,
        In::Broadcast => world.broadcast_bytes(None, 1).await.map(drop),
        In::Alloc => world.alloc::<u64>(10).await.map(drop),
        In::Finalize => world.finalize().await,
        In::Sleep => {
            tokio::time::sleep(Duration::from_secs(100)).await;
            Ok(())
        }
        In::Wait | In::WaitAny => unreachable!("they need memory"),
    }
}

#[test]
fn whatever_others_are_in_when_a_pe_goes_away_ends_with_its_text() {
    let _limit = time_limit(60);
    for n in pe_counts().into_iter().filter(|&n| n > 1) {
        for end in [End::Panic, End::Return, End::Fail] {
            for what in
                [In::Barrier, In::Broadcast, In::Alloc, In::Wait, In::WaitAny, In::Finalize, In::Sleep]
            {
                let started = Instant::now();
                // What the other PEs saw, since their panics would only be further PEs that are
                // lost.
                let seen = Arc::new(Mutex::new(Vec::new()));
                let job = LocalCluster::run(n, |world| {
                    let seen = Arc::clone(&seen);
                    async move {
                        let words = world.alloc_zeroed::<u64>(4).await?;
                        if world.my_pe() == 1 {
                            tokio::time::sleep(Duration::from_millis(2)).await;
                            match end {
                                End::Panic => std::panic::panic_any("the disk is full".to_owned()),
                                End::Return => return Ok(()),
                                End::Fail => return Err(Error::Unsupported { what: "no such file".into() }),
                            }
                        }
                        let ended = match what {
                            In::Wait => words.at(0).wait_until(Cmp::Eq, 1).await.map(drop),
                            In::WaitAny => words.wait_until_any(Cmp::Eq, 1).await.map(drop),
                            what => be_in(&world, what).await,
                        };
                        // The runtime may end this task at any await from here on: the cluster is
                        // over.
                        let note = |call, outcome| seen.lock().unwrap().push((call, outcome));
                        note("the call", ended);
                        note("a barrier", world.barrier_all().await);
                        note("an allocation", world.alloc::<u8>(1).await.map(drop));
                        note("a wait", words.at(0).wait_until(Cmp::Eq, 1).await.map(drop));
                        world.barrier_all().await
                    }
                });
                let error = job.expect_err("the job failed");
                let text = match end {
                    End::Panic => "the disk is full",
                    End::Return => "without finalize",
                    End::Fail => "no such file",
                };
                assert!(error.to_string().contains(text), "{what:?} {end:?}: {error}");
                for (call, seen) in &*seen.lock().unwrap() {
                    let is_lost = matches!(seen, Err(Error::PeLost { pe: 1, how, .. }) if how.contains(text));
                    assert!(is_lost, "{n} PEs in {what:?}, then {call}, when PE 1 did {end:?}: {seen:?}");
                }
                assert!(started.elapsed() < Duration::from_secs(5), "{what:?} {end:?}");
            }
        }
    }
}

#[test]
fn the_error_of_a_cluster_is_that_of_the_pe_that_failed_first() {
    let _limit = time_limit(60);
    for round in 0..300 {
        let job = LocalCluster::run(3, |world| async move {
            world.barrier_all().await?;
            if world.my_pe() == 2 {
                return Err(Error::Unsupported { what: "this is the cause".into() });
            }
            world.barrier_all().await
        });
        let error = job.expect_err("the job failed");
        assert!(matches!(error, Error::Unsupported { .. }), "round {round}: {error}");
    }
}

#[test]
fn pes_that_return_after_finalize_are_not_lost() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let results = LocalCluster::run(n, |world| async move {
            world.finalize().await?;
            tokio::time::sleep(Duration::from_millis(world.my_pe() as u64)).await;
            Ok(world.my_pe())
        });
        assert_eq!(results.unwrap(), (0..n).collect::<Vec<_>>());
    }
}
