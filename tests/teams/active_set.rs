//! Active sets: teams that their members make without the others.

use crate::common::{cluster, on_pes, refused, settings, soon, time_limit};
use oxshmem::{Error, Result, prelude::*};
use oxshmem_teams::ActiveSet;

const SYNC_WORDS: usize = ActiveSet::SYNC_WORDS;

/// All sets of `n` PEs with strides below 4.
fn sets(n: usize) -> Vec<[usize; 3]> {
    let starts = (0..n).flat_map(|start| (1..4).map(move |stride| [start, stride]));
    let sets = starts.flat_map(|[start, stride]| (1..=n).map(move |size| [start, stride, size]));
    sets.filter(|[start, stride, size]| start + stride * (size - 1) < n).collect()
}

fn place([start, stride, size]: [usize; 3], pe: usize) -> Option<usize> {
    (0..size).find(|i| start + stride * i == pe)
}

/// Everybody in the set adds its number: all are there, and nobody else.
async fn meet(team: &Team, word: oxshmem::SymRef<'_, u64>, round: u64) -> Result<()> {
    word.store(round + team.my_pe() as u64);
    soon("a sum", team.sum_reduce(word, word)).await?;
    let n = team.n_pes() as u64;
    assert_eq!(word.load(), n * round + n * (n - 1) / 2);
    soon("a sync", team.sync()).await
}

#[test]
fn sets_that_overlap_are_made_one_after_the_other_with_nothing_between_them() {
    let _limit = time_limit(120);
    on_pes(settings(), |world| async move {
        let sets = sets(world.n_pes());
        let syncs = world.alloc_zeroed::<u64>(sets.len() * SYNC_WORDS).await?;
        let words = world.alloc::<u64>(sets.len()).await?;
        let mut kept = Vec::new();
        for (i, &set @ [start, stride, size]) in sets.iter().enumerate() {
            let sync = syncs.slice(i * SYNC_WORDS..(i + 1) * SYNC_WORDS);
            let made = world.team().active_set(start, stride, size, sync);
            let Some(me) = place(set, world.my_pe()) else {
                // Nobody else takes part.
                assert!(made.await?.is_none());
                continue;
            };
            let ActiveSet { team, .. } = soon("an active set", made).await?.expect("this PE is in it");
            assert_eq!((team.my_pe(), team.n_pes()), (me, size));
            assert!((0..size).all(|i| team.world_pe(i) == Some(start + stride * i)));
            assert!(sync.to_vec().iter().all(|&word| word == 0));
            meet(&team, words.at(i), 7).await?;
            // Some stay, so that others get other places.
            if i % 3 == 0 {
                kept.push((team, i));
            }
        }
        for (team, i) in &kept {
            meet(team, words.at(*i), 8).await?;
        }
        world.barrier_all().await?;
        assert!(syncs.view().to_vec().iter().all(|&word| word == 0));
        Ok(())
    });
}

#[test]
fn a_set_can_be_made_again_and_again_while_its_places_come_back() {
    let _limit = time_limit(120);
    let ran = cluster(3, settings(), |world| async move {
        let sync = world.alloc_zeroed::<u64>(SYNC_WORDS + 3).await?;
        let word = world.alloc::<u64>(1).await?;
        // PE 1 is not in it.
        for round in 0..1500 {
            let made = world.team().active_set(0, 2, 2, sync.view()).await?;
            assert_eq!(made.is_some(), world.my_pe() != 1);
            if let Some(ActiveSet { team, keep }) = made {
                assert!(keep);
                meet(&team, word.at(0), round).await?;
                team.destroy().await?;
            }
        }
        Ok(())
    });
    ran.expect("places are given back");
}

#[test]
fn sets_that_are_made_at_the_same_time_get_places_of_their_own() {
    let _limit = time_limit(120);
    on_pes(settings(), |world| async move {
        const AT_ONCE: usize = 8;
        let n = world.n_pes();
        let syncs = world.alloc_zeroed::<u64>(AT_ONCE * SYNC_WORDS).await?;
        let words = world.alloc::<u64>(AT_ONCE).await?;
        for round in 0..20 {
            let making = (0..AT_ONCE).map(|i| {
                let (world, syncs) = (&world, &syncs);
                let sync = syncs.slice(i * SYNC_WORDS..(i + 1) * SYNC_WORDS);
                async move { world.team().active_set(0, 1, n, sync).await }
            });
            // In another order on every other PE.
            let mut making: Vec<_> = making.collect();
            if world.my_pe() % 2 == 1 {
                making.reverse();
            }
            let mut made = soon("active sets", futures::future::try_join_all(making)).await?;
            if world.my_pe() % 2 == 1 {
                made.reverse();
            }
            let teams: Vec<Team> = made.into_iter().map(|set| set.expect("all PEs are in it").team).collect();
            let met = teams.iter().enumerate().map(|(i, team)| meet(team, words.at(i), round));
            futures::future::try_join_all(met).await?;
        }
        Ok(())
    });
}

#[test]
fn when_places_become_few_sets_are_not_to_be_kept_and_when_there_are_none_all_members_get_an_error() {
    let _limit = time_limit(120);
    let ran = cluster(2, settings(), |world| async move {
        let sync = world.alloc_zeroed::<u64>(SYNC_WORDS).await?;
        let mut teams = Vec::new();
        let mut kept = 0;
        let error = loop {
            match soon("an active set", world.team().active_set(0, 1, 2, sync.view())).await {
                Ok(Some(set)) => {
                    assert!(!set.keep || kept == teams.len(), "few places do not become many");
                    kept += usize::from(set.keep);
                    teams.push(set.team);
                }
                outcome => break refused(outcome),
            }
        };
        assert!(matches!(error, Error::TeamsExhausted { .. }), "{error}");
        // Two are the world's and that of the host.
        assert_eq!(teams.len(), 510);
        assert!((200..300).contains(&kept), "{kept}");
        // With room again, it goes on.
        for team in teams.drain(..) {
            team.destroy().await?;
        }
        assert!(world.team().active_set(0, 1, 2, sync.view()).await?.is_some_and(|set| set.keep));
        Ok(())
    });
    ran.expect("all members get an error");
}

#[test]
fn what_names_no_set_is_refused_at_once() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let sync = world.alloc_zeroed::<u64>(SYNC_WORDS).await?;
        let wrong = [
            [0, 1, 0],
            [0, 1, n + 1],
            [n, 1, 1],
            [0, n, 2],
            [0, 0, 2],
            [0, usize::MAX, 2],
            [usize::MAX, 1, 2],
        ];
        for [start, stride, size] in wrong {
            let error = refused(world.team().active_set(start, stride, size, sync.view()).await);
            assert!(matches!(error, Error::InvalidTriplet { .. }), "{error}");
        }
        let error = refused(world.team().active_set(0, 1, n, sync.slice(1..)).await);
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        let reversed = world.team().split_strided(n - 1, -1, n).await?.expect("all PEs are in it");
        // Numbers are the team's.
        let last = reversed.active_set(0, 1, 1, sync.view()).await?;
        assert_eq!(last.is_some(), world.my_pe() == n - 1);
        reversed.destroy().await?;
        assert!(matches!(
            refused(reversed.active_set(0, 1, n, sync.view()).await),
            Error::TeamDestroyed { .. }
        ));
        Ok(())
    });
}
