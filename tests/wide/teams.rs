//! Teams with members on several hosts: splits of every shape, active sets, contexts, and their
//! end.

use crate::common::{refused, settings, soon, time_limit};
use crate::hosts::{PLACEMENTS, host_of, jittered, on_hosts, placed};
use oxshmem::{Distribution, Error, Result, prelude::*};

/// Compares a team with the list of its PEs.
fn check(world: &World, team: Option<&Team>, pes: &[usize]) {
    let me = pes.iter().position(|&pe| pe == world.my_pe());
    assert_eq!(team.map(Team::my_pe), me, "PE {} in {pes:?}", world.my_pe());
    let Some(team) = team else { return };
    assert_eq!(team.n_pes(), pes.len());
    for i in 0..world.n_pes() + 2 {
        assert_eq!(team.world_pe(i), pes.get(i).copied());
        assert_eq!(team.translate_pe(i, world.team()), pes.get(i).copied());
        assert_eq!(world.team().translate_pe(i, team), pes.iter().position(|&pe| pe == i));
    }
}

/// Everybody adds its number: all are there, and nobody else; and everybody hears from everybody,
/// in the order of the team.
async fn meet(world: &World, team: Option<&Team>, pes: &[usize]) -> Result<()> {
    let (word, all) = (world.alloc::<u64>(1).await?, world.alloc::<u64>(world.n_pes()).await?);
    if let Some(team) = team {
        word.at(0).store(1 << world.my_pe());
        soon("a collect", team.fcollect(all.slice(..pes.len()), &word)).await?;
        assert!(all.slice(..pes.len()).to_vec().into_iter().eq(pes.iter().map(|pe| 1 << pe)));
        soon("a sum", team.sum_reduce(&word, &word)).await?;
        assert_eq!(word.at(0).load(), pes.iter().map(|pe| 1 << pe).sum());
        soon("a sync", team.sync()).await?;
        let root = pes.len() / 2;
        let bytes = (team.my_pe() == root).then(|| vec![7; 300_000 + root]);
        assert_eq!(soon("bytes", team.broadcast_bytes(bytes, root)).await?, vec![7; 300_000 + root]);
    }
    Ok(())
}

#[test]
fn splits_are_what_a_list_made_by_hand_says() {
    let _limit = time_limit(120);
    for placement in PLACEMENTS {
        let done = placed(placement, settings(), |world| async move {
            let n = world.n_pes() as isize;
            for (start, stride) in [(0, 1), (0, 2), (1, 2), (n - 1, -1), (n - 1, -2), (1, 3), (0, 3)] {
                let most = if stride > 0 { (n - start + stride - 1) / stride } else { start / -stride + 1 };
                for size in 1..=most {
                    let pes: Vec<usize> = (0..size).map(|i| (start + i * stride) as usize).collect();
                    let (start, size) = (start as usize, size as usize);
                    let team = soon("a split", world.team().split_strided(start, stride, size)).await?;
                    check(&world, team.as_ref(), &pes);
                    meet(&world, team.as_ref(), &pes).await?;
                    // One in it, in reverse.
                    let nested = match &team {
                        Some(team) => {
                            soon("a split", team.split_strided(size - 1, -1, size.div_ceil(2))).await?
                        }
                        None => None,
                    };
                    let pes: Vec<usize> = pes.into_iter().rev().take(size.div_ceil(2)).collect();
                    check(&world, nested.as_ref(), &pes);
                    meet(&world, nested.as_ref(), &pes).await?;
                }
            }
            let (me, n) = (world.my_pe(), world.n_pes());
            for xrange in 1..=n + 1 {
                let (row, column) = soon("a split", world.team().split_2d(xrange)).await?;
                let of_row: Vec<usize> = (0..n).filter(|pe| pe / xrange == me / xrange).collect();
                let of_column: Vec<usize> = (0..n).filter(|pe| pe % xrange == me % xrange).collect();
                check(&world, Some(&row), &of_row);
                check(&world, Some(&column), &of_column);
                meet(&world, Some(&row), &of_row).await?;
                meet(&world, Some(&column), &of_column).await?;
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn the_shared_team_is_that_of_the_host() {
    let _limit = time_limit(60);
    for placement in PLACEMENTS {
        let done = placed(placement, settings(), |world| async move {
            let hosts = host_of(placement, world.n_pes());
            let here: Vec<usize> = (0..hosts.len()).filter(|&pe| hosts[pe] == hosts[world.my_pe()]).collect();
            check(&world, Some(world.team_shared()), &here);
            meet(&world, Some(world.team_shared()), &here).await
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn pes_that_split_differently_get_an_error_on_all_hosts() {
    let _limit = time_limit(60);
    for placement in PLACEMENTS {
        let done = placed(placement, settings(), |world| async move {
            let (me, n) = (world.my_pe(), world.n_pes());
            for odd in 0..n {
                let error = refused(world.team().split_strided(0, 1, if me == odd { 1 } else { 2 }).await);
                let Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b } = &error else {
                    panic!("{error}")
                };
                for (&pe, call) in [(pe_a, call_a), (pe_b, call_b)] {
                    assert!(call.ends_with(if pe == odd { "size 1" } else { "size 2" }), "{error}");
                }
                assert!(*pe_a == odd || *pe_b == odd, "{error}");
                // They know of it together, and go on.
                soon("the parent's sync", world.team().sync()).await?;
                let error = refused(world.team().split_strided(n, 1, 1).await);
                assert!(matches!(error, Error::InvalidTriplet { .. }), "{error}");
                let error = refused(world.team().broadcast_bytes(None, n).await);
                assert!(matches!(error, Error::PeOutOfRange { .. }), "{error}");
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn two_thousand_teams_come_and_go_and_there_is_an_end_of_them() {
    let _limit = time_limit(120);
    let done = placed("3+1+2", settings(), |world| async move {
        let (word, n) = (world.alloc::<u64>(1).await?, world.n_pes());
        for round in 0..500 {
            let half = world.team().split_strided(round % 2, 2, 3).await?;
            let (row, column) = world.team().split_2d(1 + round % 7).await?;
            if let Some(half) = half {
                word.at(0).store(1);
                half.sum_reduce(&word, &word).await?;
                assert_eq!(word.at(0).load(), 3);
                if round % 3 == 0 {
                    half.destroy().await?;
                }
            }
            drop(row);
            if round % 2 == 0 {
                column.destroy().await?;
            }
        }
        let mut teams = Vec::new();
        loop {
            match soon("a split", world.team().split_strided(0, 1, n)).await {
                Ok(team) => teams.extend(team),
                Err(Error::TeamsExhausted { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        // Some of those that were dropped may not have left yet.
        assert!(teams.len() > 450, "{}", teams.len());
        for team in &teams {
            word.at(0).store(1);
            soon("a sum", team.sum_reduce(&word, &word)).await?;
            assert_eq!(word.at(0).load(), n as u64);
        }
        for team in teams {
            soon("destroy", team.destroy()).await?;
        }
        soon("a split", world.team().split_strided(0, 1, n)).await.map(drop)
    });
    done.unwrap();
}

#[test]
fn contexts_of_a_team_reach_its_members_on_all_hosts() {
    let _limit = time_limit(60);
    for placement in PLACEMENTS {
        let done = placed(placement, settings(), |world| async move {
            let n = world.n_pes();
            let team = world.team().split_strided(n - 1, -1, n).await?.expect("all are in it");
            let words = world.alloc_zeroed::<u64>(n).await?;
            world.barrier_all().await?;
            let ctx = team.create_context(ContextOptions::new())?;
            for pe in 0..n {
                drop(ctx.put_nbi(words.slice(team.my_pe()..team.my_pe() + 1), vec![pe as u64 + 1], pe));
            }
            // It completes what nobody has awaited.
            soon("destroy", team.destroy()).await?;
            world.barrier_all().await?;
            assert_eq!(words.view().to_vec(), vec![team.my_pe() as u64 + 1; n]);
            assert_eq!(ctx.team(), None);
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn destroy_completes_what_is_on_its_way_to_other_hosts() {
    let _limit = time_limit(60);
    // What is sent later may come before it.
    for placement in ["1+1", "2+2", "1+3"] {
        let done = jittered(placement, settings(), |world| async move {
            let n = world.n_pes();
            let words = world.alloc_zeroed::<u64>(n).await?;
            for round in 1..100 {
                let team = world.team().split_strided(n - 1, -1, n).await?.expect("all are in it");
                let ctx = team.create_context(ContextOptions::new())?;
                let (me, gone) = (team.my_pe(), round % 2 == 0);
                for pe in 0..n {
                    drop(ctx.put_nbi(words.slice(me..me + 1), vec![round], pe));
                }
                soon("destroy", team.destroy()).await?;
                if gone {
                    drop(ctx);
                }
                world.barrier_all().await?;
                assert_eq!(words.view().to_vec(), vec![round; n]);
                world.barrier_all().await?;
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{placement}: {e}"));
    }
}

#[test]
fn many_pes_on_many_hosts_do_all_of_it() {
    let _limit = time_limit(120);
    for (n, placement) in [
        (64, Distribution::even(8)),
        (256, Distribution::even(16)),
        (64, Distribution::even(64)),
        (60, Distribution::even(7).cyclic()),
    ] {
        let what = placement.to_string();
        let done = on_hosts(n, placement, settings(), move |world| async move {
            let (row, column) = world.team().split_2d(n.isqrt()).await?;
            let (word, all) = (world.alloc::<u64>(1).await?, world.alloc::<u64>(4 * n).await?);
            for team in [world.team(), &row, &column] {
                let (me, n) = (team.my_pe(), team.n_pes());
                let pes = 0..n as u64;
                // Destinations are ready on all PEs before any of them calls, as §9.10 asks for.
                world.barrier_all().await?;
                word.at(0).store(me as u64);
                soon("a collect", team.fcollect(all.slice(..n), &word)).await?;
                assert!(all.slice(..n).to_vec().into_iter().eq(pes.clone()));
                soon("an all-to-all", team.alltoall(all.slice(n..2 * n), all.slice(..n))).await?;
                assert_eq!(all.slice(n..2 * n).to_vec(), vec![me as u64; n]);
                soon("a scan", team.sum_exscan(&word, &word)).await?;
                assert_eq!(word.at(0).load(), (0..me as u64).sum());
                soon("a sync", team.sync()).await?;
                soon("a broadcast", team.broadcast(&word, &word, n - 1)).await?;
                assert_eq!(word.at(0).load(), (0..n as u64 - 1).sum());
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{n} PEs on {what}: {e}"));
    }
}
