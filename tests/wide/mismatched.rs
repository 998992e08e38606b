//! PEs of different hosts that call different collectives: every PE that waits gets an error, on
//! whichever host.

use crate::common::{settings, soon, time_limit};
use crate::hosts::{self, jittered, on_hosts, placed};
use crate::mismatch::differ;
use crate::model::forced;
use oxshmem::{Distribution, Error, Result};

/// Settings of another kind, and how the PEs are placed.
const CASES: [(&str, &str); 8] = [
    ("auto", "1+1"),
    ("auto", "2+2"),
    ("auto", "1+3"),
    ("auto", "3+1+2"),
    ("auto", "2+2+2:cyclic"),
    ("ring", "2+1+2"),
    ("tree", "1+2+1+2"),
    ("halving", "2+2"),
];

#[test]
fn every_pe_that_waits_gets_an_error_that_names_both_calls() {
    let _limit = time_limit(240);
    for (name, placement) in CASES {
        let n = hosts::placement(placement).0;
        // The leader of the last host or of the first, as the team is in reverse, and one that is
        // none.
        let mut odd = vec![0, 1, n - 1];
        odd.dedup();
        for odd in odd {
            let done = placed(placement, forced(name, settings()), |world| differ(world, odd));
            done.unwrap_or_else(|e| panic!("{placement}, {name}, PE {odd}: {e}"));
        }
    }
}

#[test]
fn pes_over_links_with_jitter_get_an_error_that_names_both_calls() {
    let _limit = time_limit(240);
    for placement in ["1+3", "2+2+2:cyclic"] {
        let done = jittered(placement, settings(), |world| differ(world, 1));
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn hosts_that_differ_as_a_whole_get_the_error() {
    let _limit = time_limit(60);
    for placement in ["2+2", "3+1+2", "2+2+2:cyclic"] {
        let done = placed(placement, settings(), |world| async move {
            let hosts = hosts::host_of(placement, world.n_pes());
            let everybody = world.team().split_strided(0, 1, world.n_pes()).await?;
            let team = everybody.expect("all are in it");
            let words = world.alloc_zeroed::<u64>(20_000).await?;
            let (to, from) = (words.slice(..10_000), words.slice(10_000..));
            let outcome = match hosts[world.my_pe()] {
                1 => soon("a sum", team.sum_reduce(to, from)).await,
                _ => soon("a maximum", team.max_reduce(to, from)).await,
            };
            let error = outcome.expect_err("one host differs");
            let Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b } = &error else { panic!("{error}") };
            for (&pe, call) in [(pe_a, call_a), (pe_b, call_b)] {
                assert!(
                    call.starts_with(if hosts[pe] == 1 { "sum_reduce" } else { "max_reduce" }),
                    "{error}"
                );
            }
            assert_ne!(hosts[*pe_a], hosts[*pe_b], "{error}");
            // The world goes on.
            world.barrier_all().await
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn many_pes_get_the_error_soon() {
    let _limit = time_limit(60);
    let done: Result<Vec<()>> = on_hosts(100, Distribution::even(9), settings(), |world| async move {
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
    done.unwrap_or_else(|e| panic!("{e}"));
}
