//! Splits: which PEs get which teams, against lists of PEs made by hand, and what is refused, on
//! all PEs alike.

use crate::common::{self, cluster, on_pes, refused, settings, soon, test_name, time_limit};
use oxshmem::{Error, Result, prelude::*};

/// A team as the PEs of the world that are in it, in order; None for a triplet that names none.
fn triplet(parent: &[usize], start: usize, stride: isize, size: usize) -> Option<Vec<usize>> {
    let pes: Option<Vec<usize>> = (0..size as isize)
        .map(|i| parent.get(usize::try_from(start as isize + i * stride).ok()?).copied())
        .collect();
    pes.filter(|_| size > 0 && (stride != 0 || size == 1))
}

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

/// Everybody adds its number: all are there, and nobody else.
async fn meet(world: &World, team: Option<&Team>, pes: &[usize]) -> Result<()> {
    let word = world.alloc::<u64>(1).await?;
    if let Some(team) = team {
        word.at(0).store(1 << world.my_pe());
        soon("a sum", team.sum_reduce(&word, &word)).await?;
        assert_eq!(word.at(0).load(), pes.iter().map(|pe| 1 << pe).sum());
        soon("a sync", team.sync()).await?;
    }
    Ok(())
}

async fn strided(world: World) -> Result<()> {
    let n = world.n_pes();
    let all: Vec<usize> = (0..n).collect();
    for start in 0..n + 2 {
        for stride in -3..=3 {
            for size in 0..=n + 1 {
                let outcome = soon("a split", world.team().split_strided(start, stride, size)).await;
                match triplet(&all, start, stride, size) {
                    Some(pes) => {
                        let team = outcome?;
                        check(&world, team.as_ref(), &pes);
                        meet(&world, team.as_ref(), &pes).await?;
                    }
                    None => {
                        let error = refused(outcome);
                        let is_ours = matches!(error, Error::InvalidTriplet { start: s, stride: t, size: z, n_pes, .. }
                            if (s, t, z, n_pes) == (start, stride, size, n));
                        assert!(is_ours, "{start} {stride} {size}: {error}");
                        soon("the parent's sync", world.team().sync()).await?;
                    }
                }
            }
        }
    }
    for (start, stride, size) in [
        (0, isize::MAX, 2),
        (0, isize::MIN, 2),
        (usize::MAX, 1, 1),
        (0, 1, usize::MAX),
        (0, 2, usize::MAX / 2 + 2),
        (0, -1, usize::MAX),
    ] {
        let error = refused(world.team().split_strided(start, stride, size).await);
        assert!(matches!(error, Error::InvalidTriplet { .. }), "{error}");
    }
    Ok(())
}

#[test]
fn triplets_name_the_pes_that_a_list_made_by_hand_has() {
    let _limit = time_limit(60);
    on_pes(settings(), strided);
}

async fn planes(world: World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let error = refused(world.team().split_2d(0).await);
    assert!(matches!(error, Error::InvalidRange { .. }), "{error}");
    for xrange in (1..=n + 1).chain([100, usize::MAX]) {
        let (row, column) = soon("a split", world.team().split_2d(xrange)).await?;
        // With saturation, as the range may be beyond everything.
        let of_row: Vec<usize> = (0..n).filter(|pe| pe / xrange == me / xrange).collect();
        let of_column: Vec<usize> = (0..n).filter(|pe| pe % xrange == me % xrange).collect();
        check(&world, Some(&row), &of_row);
        check(&world, Some(&column), &of_column);
        meet(&world, Some(&row), &of_row).await?;
        meet(&world, Some(&column), &of_column).await?;
    }
    Ok(())
}

#[test]
fn planes_have_rows_and_columns_even_if_the_last_row_is_short_or_there_is_only_one() {
    let _limit = time_limit(60);
    on_pes(settings(), planes);
}

#[test]
fn splits_of_splits_are_numbered_within_their_parent() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let mut random = common::Random::new(n as u64);
        // Alike on all PEs: a parent known by its list, of which this PE may be a member.
        let mut known: Vec<(Vec<usize>, Option<Team>)> = vec![((0..n).collect(), Some(world.team().clone()))];
        for _ in 0..40 {
            let (pes, parent) = &known[random.below(known.len() as u64) as usize];
            let len = pes.len() as u64;
            let (start, stride) = (random.below(len) as usize, random.below(5) as isize - 2);
            let size = 1 + random.below(len) as usize;
            let Some(list) = triplet(pes, start, stride, size) else { continue };
            let team = match parent {
                Some(parent) => soon("a split", parent.split_strided(start, stride, size)).await?,
                None => None,
            };
            check(&world, team.as_ref(), &list);
            if let (Some(team), Some(parent)) = (&team, parent) {
                for i in 0..n {
                    let there = list.get(i).and_then(|pe| pes.iter().position(|it| it == pe));
                    assert_eq!(team.translate_pe(i, parent), there);
                }
            }
            meet(&world, team.as_ref(), &list).await?;
            known.push((list, team));
        }
        // Between any two of the teams that this PE is in.
        for (a_list, a) in &known {
            for (b_list, b) in &known {
                let (Some(a), Some(b)) = (a, b) else { continue };
                for i in 0..n + 1 {
                    let there = a_list.get(i).and_then(|pe| b_list.iter().position(|it| it == pe));
                    assert_eq!(a.translate_pe(i, b), there);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_team_says_what_it_was_made_for() {
    let _limit = time_limit(30);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let (a, b) = (TeamConfig { num_contexts: 3 }, TeamConfig { num_contexts: 7 });
        let line = world.team().split_strided_with(0, 1, n, a).await?.expect("all are in it");
        let (row, column) = line.split_2d_with(2, a, b).await?;
        assert_eq!([line.config(), row.config(), column.config()], [a, a, b]);
        assert_eq!(line.split_strided(0, 1, n).await?.expect("all").config(), TeamConfig::default());
        assert_eq!(line.clone(), line);
        assert_ne!(row, column);
        Ok(())
    });
}

#[test]
fn pes_that_split_differently_get_an_error_that_names_both_splits() {
    let _limit = time_limit(60);
    for n in common::pe_counts().into_iter().filter(|&n| n > 1) {
        for odd in [0, 1, n - 1] {
            let done = cluster(n, settings(), move |world| async move {
                let is_odd = world.my_pe() == odd;
                let team = world.team();
                for round in 0..3 {
                    let outcome = match (round, is_odd) {
                        (_, false) => soon("a split", team.split_strided(0, 1, n)).await.map(drop),
                        (0, true) => soon("a split", team.split_strided(n - 1, -1, n)).await.map(drop),
                        // Invalid, but that is not what the others' error is to name.
                        (1, true) => soon("a split", team.split_strided(0, 1, n + 1)).await.map(drop),
                        (_, true) => soon("a split", team.split_2d(1)).await.map(drop),
                    };
                    let Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b } = refused(outcome) else {
                        panic!("another error")
                    };
                    assert_ne!(pe_a, pe_b);
                    let common = format!("split_strided with start 0, stride 1 and size {n}");
                    let other = match round {
                        0 => format!("split_strided with start {}, stride -1 and size {n}", n - 1),
                        1 => format!("split_strided with start 0, stride 1 and size {}", n + 1),
                        _ => "split_2d with xrange 1".to_owned(),
                    };
                    for (pe, call) in [(pe_a, call_a), (pe_b, call_b)] {
                        assert_eq!(call, if pe == odd { other.clone() } else { common.clone() });
                    }
                    // The parent goes on.
                    soon("a sync", team.sync()).await?;
                    assert!(soon("a split", team.split_strided(0, 1, n)).await?.is_some());
                }
                Ok(())
            });
            done.unwrap_or_else(|e| panic!("{n} PEs, PE {odd}: {e}"));
        }
    }
}

#[test]
fn processes_split_as_tasks_do() {
    let _limit = time_limit(60);
    common::Job::new(test_name!(), 4).run(|world| async move {
        strided(world.clone()).await?;
        planes(world).await
    });
}
