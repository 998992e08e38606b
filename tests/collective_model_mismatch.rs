//! PEs that call different collectives: everybody who waits is told who called what, and nobody hangs.

mod common;
#[path = "common/mismatch.rs"]
mod mismatch;
#[path = "common/model.rs"]
mod model;

use common::{Job, cluster, settings, soon, test_name, time_limit};
use mismatch::differ;
use model::{FORCED, forced, forced_variables};
use oxshmem::Error;

#[test]
fn whoever_waits_is_told_who_called_what() {
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
fn processes_are_told_too() {
    let _limit = time_limit(120);
    for (name, n) in [("auto", 2), ("auto", 4), ("flat", 3), ("doubling", 3)] {
        let mut job = Job::new(test_name!(), n).env("SHMEM_SPIN_NS=2000");
        for variable in forced_variables(name) {
            job = job.env(&variable);
        }
        job.run(|world| differ(world, 1));
    }
}

#[test]
fn many_pes_are_told_soon() {
    let _limit = time_limit(60);
    for name in ["auto", "tree", "doubling"] {
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
