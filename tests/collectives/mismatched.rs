//! PEs that call different collectives: every PE that waits gets an error that names both calls,
//! and none hangs.

use crate::common::{Job, cluster, on_one_host, settings, soon, test_name, time_limit};
use crate::mismatch::differ;
use crate::model::{FORCED, forced, forced_variables};
use oxshmem::{Error, Result, prelude::*};

#[test]
fn every_pe_that_waits_gets_an_error_that_names_both_calls() {
    let _limit = time_limit(120);
    for name in FORCED {
        // Few where an algorithm is forced, but enough for every step of it.
        for n in if name == "auto" { vec![2, 3, 6] } else { vec![6] } {
            for odd in [0, n - 1] {
                let done = cluster(n, forced(name, settings()), |world| differ(world, odd));
                done.unwrap_or_else(|e| panic!("{n} PEs, {name}, PE {odd}: {e}"));
            }
        }
    }
}

#[test]
fn processes_get_an_error_that_names_both_calls() {
    let _limit = time_limit(120);
    for (name, n) in [("auto", 2), ("auto", 4), ("slots", 3), ("direct", 3)] {
        let mut job = Job::new(test_name!(), n).env("SHMEM_SPIN_NS=2000");
        for variable in forced_variables(name) {
            job = job.env(&variable);
        }
        job.run(|world| differ(world, 1));
    }
}

/// PE 0 broadcasts, then all do something else, and the last PE leaves the broadcast out, or calls
/// it afterwards.
async fn leaves_out(world: World, then: Then) -> Result<()> {
    let n = world.n_pes();
    let is_odd = world.my_pe() == n - 1;
    for before in [0, 1, 5, 70] {
        let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
        let words = world.alloc_zeroed::<u64>(2).await?;
        let (to, from) = (words.slice(..1), words.slice(1..));
        for _ in 0..before {
            soon("a sync before", team.sync()).await?;
        }
        let calls = async {
            if !is_odd {
                soon("a broadcast", team.broadcast(to, from, 0)).await?;
            }
            match then {
                Then::Broadcast => soon("the next", team.broadcast(to, from, 0)).await?,
                Then::Sum => soon("a sum", team.sum_reduce(to, from)).await?,
                Then::InTurn => {
                    soon("a sync", team.sync()).await?;
                    if is_odd {
                        soon("a broadcast", team.broadcast(to, from, 0)).await?;
                    }
                }
            }
            // A PE that had not to wait, or took one broadcast for another, gets the error here.
            soon("a sync", team.sync()).await?;
            soon("a sum", team.sum_reduce(to, from)).await
        };
        match calls.await {
            Err(Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b }) => {
                assert!([pe_a, pe_b].contains(&(n - 1)), "PE {pe_a} {call_a}, PE {pe_b} {call_b}");
                let is_named = call_b == "the same 1 collective of the team later"
                    || call_b == "the same 1 collective of the team earlier";
                let is_other = call_a.split(' ').next() != call_b.split(' ').next();
                assert!(is_named || is_other, "PE {pe_a} {call_a}, PE {pe_b} {call_b}");
            }
            other => panic!("PE {}: {other:?}", world.my_pe()),
        }
        world.barrier_all().await?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Broadcast,
    Sum,
    InTurn,
}

#[test]
fn a_pe_that_leaves_out_a_broadcast_or_calls_it_late_is_found_out_by_what_follows() {
    let _limit = time_limit(120);
    if !on_one_host("the PEs of a host that do not speak to other hosts have no numbers that differ") {
        return;
    }
    for n in [2, 3, 7] {
        for then in [Then::Broadcast, Then::Sum, Then::InTurn] {
            let done = cluster(n, settings(), |world| leaves_out(world, then));
            done.unwrap_or_else(|e| panic!("{n} PEs, {then:?}: {e}"));
        }
    }
}

#[test]
fn many_pes_get_the_error_soon() {
    let _limit = time_limit(60);
    for name in ["auto", "tree", "direct"] {
        let done = cluster(100, forced(name, settings()), |world| async move {
            let team = world.team().split_strided(0, 1, 100).await?.expect("all are in it");
            let words = world.alloc_zeroed::<u64>(8).await?;
            let (to, from) = (words.slice(..4), words.slice(4..));
            let outcome = match world.my_pe() {
                63 => soon("a sync", team.sync()).await,
                _ => soon("a sum", team.sum_reduce(to, from)).await,
            };
            let error = outcome.expect_err("one differs");
            assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}
