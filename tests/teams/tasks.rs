//! What collectives of a team may do to that very team: call it, drop it, allocate, wait until it
//! is idle, or panic.

use std::{sync::Arc, time::Duration};

use crate::common::{cluster, on_one_host, pe_counts, refused, settings, soon, time_limit};
use oxshmem::{Error, LocalCluster, Result, prelude::*};
use oxshmem_teams::sync::sync_in;
use tokio::time::sleep;

/// A team of all PEs that is not the world.
async fn all_of(world: &World) -> Result<Team> {
    let team = world.team().split_strided(0, 1, world.n_pes()).await?;
    Ok(team.expect("all are in it"))
}

#[test]
fn finalize_and_a_future_may_wait_for_the_same_collective() {
    let _limit = time_limit(60);
    for first in [true, false] {
        let done = LocalCluster::run(2, |world| async move {
            let team = all_of(&world).await?;
            world.barrier_all().await?;
            if world.my_pe() == 1 {
                sleep(Duration::from_millis(60)).await;
                soon("the sync of who is late", team.sync()).await?;
                return soon("its finalize", world.finalize()).await;
            }
            // Both wait for the same, one of them first.
            let waits = |late: bool| Duration::from_millis(if late { 20 } else { 0 });
            let sync = tokio::spawn({
                let team = team.clone();
                async move {
                    let sync = team.sync();
                    sleep(waits(!first)).await;
                    sync.await
                }
            });
            sleep(waits(first)).await;
            soon("finalize", world.finalize()).await?;
            soon("the sync", sync).await.expect("it does not panic")
        });
        done.unwrap_or_else(|e| panic!("the future first: {first}: {e}"));
    }
}

#[test]
fn finalize_leaves_errors_to_their_callers() {
    let _limit = time_limit(60);
    let done = LocalCluster::run(2, |world| async move {
        let team = all_of(&world).await?;
        let (to, from) = (world.alloc::<u64>(4).await?, world.alloc::<u64>(4).await?);
        let collect = team.collect(to.slice(..3), from.slice(..2));
        soon("finalize", world.finalize()).await?;
        let error = refused(collect.await);
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        Ok(())
    });
    done.unwrap();
}

#[test]
fn a_collective_that_is_awaited_by_what_runs_on_its_team_is_an_error_and_has_its_turn_later() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = LocalCluster::run(n, |world| async move {
            let inner = world.clone();
            let run = world.team().run("x", move |group| async move {
                // What it may await: its own part in the collective, and other teams.
                sync_in(&group).await?;
                inner.team_shared().sync().await?;
                let word = inner.alloc::<u64>(1).await.map(drop);
                let mut errors = vec![inner.team().sync().await, inner.barrier_all().await, word];
                let broadcast = inner.broadcast_bytes(Some(vec![1]), 0).await.map(drop);
                errors.extend([broadcast, inner.finalize().await]);
                Ok(errors)
            });
            for error in soon("the run", run).await? {
                let error = refused(error);
                let is_right = matches!(&error, Error::Unsupported { what } if what.contains("same team"));
                assert!(is_right, "{error}");
            }
            // All of them have been called, and have their turns now.
            soon("finalize", world.finalize()).await
        });
        done.unwrap_or_else(|e| panic!("with {n} PEs: {e}"));
    }
}

#[test]
fn the_last_handle_may_be_dropped_by_what_runs_on_the_team() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, settings(), |world| async move {
            for _ in 0..20 {
                let team = all_of(&world).await?;
                let (last, context) = (team.clone(), team.create_context(ContextOptions::new())?);
                let run = team.run("let go", move |group| async move {
                    sync_in(&group).await?;
                    drop((last, context));
                    sync_in(&group).await
                });
                drop(team);
                soon("what runs on the team", run).await?;
            }
            // The places are free again.
            soon("a split", all_of(&world)).await.map(drop)
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

#[test]
fn what_runs_on_a_team_may_allocate_and_call_it_and_the_world() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, settings(), |world| async move {
            let team = all_of(&world).await?;
            let called = Arc::new(team.clone());
            let inside = world.clone();
            let run = team.run("allocate", move |group| async move {
                sync_in(&group).await?;
                let words = inside.alloc_zeroed::<u64>(2).await?;
                // Its turn comes after this one.
                drop(called.sync());
                words.at(0).store(1);
                inside.team().sum_reduce(words.slice(1..), words.slice(..1)).await?;
                let sum = words.at(1).load();
                inside.free(words).await?;
                Ok(sum)
            });
            assert_eq!(soon("what runs on the team", run).await?, n as u64);
            soon("a sync", team.sync()).await
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

#[test]
fn collectives_of_one_team_and_allocations_do_not_keep_each_other_waiting() {
    let _limit = time_limit(60);
    let done = cluster(2, settings(), |world| async move {
        let team = all_of(&world).await?;
        let syncs = tokio::spawn(async move {
            for _ in 0..3000 {
                soon("a sync", team.sync()).await?;
            }
            Ok(())
        });
        for _ in 0..1000 {
            let words = soon("alloc", world.alloc::<u64>(1)).await?;
            soon("free", world.free(words)).await?;
        }
        syncs.await.expect("it does not panic")
    });
    done.unwrap();
}

#[test]
fn a_panic_in_what_runs_on_a_team_is_its_own_error_and_nobody_elses() {
    let _limit = time_limit(60);
    let done = cluster(3, settings(), |world| async move {
        let team = all_of(&world).await?;
        let other = all_of(&world).await?;
        let run = team.run("fall over", |group| async move {
            sync_in(&group).await?;
            if group.my_pe() == 1 {
                panic!("the parser is out of its depth");
            }
            Ok(7)
        });
        let outcome = soon("what panics on one PE", run).await;
        match world.my_pe() {
            1 => assert!(matches!(refused(outcome), Error::Panicked { call: "fall over" })),
            _ => assert_eq!(outcome?, 7),
        }
        // This team goes on, and so do others.
        soon("the team's next sync", team.sync()).await?;
        soon("another team's", other.sync()).await?;
        soon("what runs on it next", team.run("next", |_| async { Ok(()) })).await
    });
    done.unwrap();
}

#[test]
fn what_waits_for_its_own_team_and_for_something_else_goes_on_with_that() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, settings(), |world| async move {
            let team = all_of(&world).await?;
            let called = team.clone();
            let run = team.run("look", |_| async move {
                let (sync, ()) = tokio::join!(called.sync(), sleep(Duration::from_millis(5)));
                // Its turn comes after this one.
                let error = refused(sync);
                assert!(error.to_string().contains("same team"), "{error}");
                Ok(())
            });
            soon("what looks at its own team", run).await?;
            soon("a sync", team.sync()).await
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

#[test]
fn a_call_that_one_pe_refuses_and_no_other_waits_for_keeps_nobody_from_finalize() {
    let _limit = time_limit(60);
    if !on_one_host("a root hears of what a PE of another host has refused") {
        return;
    }
    for n in [2, 3] {
        for dropped in [true, false] {
            let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
            let done = cluster(n, settings(), |world| {
                let kept = Arc::clone(&kept);
                async move {
                    let team = all_of(&world).await?;
                    let words = world.alloc_zeroed::<u64>(2).await?;
                    let (to, from) = (words.slice(..1), words.slice(1..));
                    match world.my_pe() {
                        // Too short, and over before others come to it.
                        0 => team.broadcast(to, from, 0).await?,
                        1 => drop(refused(team.broadcast(&words, from, 0).await)),
                        _ => {}
                    }
                    if world.my_pe() == 0 || !dropped {
                        kept.lock().unwrap().push(team);
                    }
                    Ok(())
                }
            });
            done.unwrap_or_else(|e| panic!("{n} PEs, dropped: {dropped}: {e}"));
        }
    }
}
