//! Contexts of teams: every operation takes the team's numbers, and operations of different teams'
//! contexts meet on the same words.

use crate::common::{self, cluster, on_pes, refused, settings, soon, test_name, time_limit};
use oxshmem::{Error, Result, prelude::*};

/// Every operation through a context of the reversed team, checked from the world.
async fn operations(world: World) -> Result<()> {
    let n = world.n_pes();
    let team = world.team().split_strided(n - 1, -1, n).await?.expect("all are in it");
    let ctx = team.create_context(ContextOptions::new())?;
    assert_eq!((ctx.my_pe(), ctx.n_pes(), ctx.team()), (team.my_pe(), n, Some(team.clone())));
    let me = team.my_pe() as u64;
    // The next in the team is the one before in the world.
    let next = (team.my_pe() + 1) % n;
    let before = (team.my_pe() + n - 1) % n;
    let words = world.alloc_zeroed::<u64>(64).await?;
    words.at(60).store(me + 100);
    world.barrier_all().await?;

    ctx.put(words.slice(0..2), [me, me + 1], next).await?;
    drop(ctx.put_nbi(words.slice(2..4), vec![me, me + 2], next));
    ctx.p(words.at(4), me + 3, next).await?;
    ctx.iput(words.slice(5..8), [me, me, me], 2, 2, 2, next).await.map(drop)?;
    ctx.put_signal(words.slice(9..10), [me], words.at(10), Signal::Add(1), next).await?;
    ctx.add(words.at(11), me + 1, next).await?;
    ctx.inc(words.at(12), next).await?;
    ctx.set(words.at(13), me, next).await?;
    assert_eq!(ctx.fetch_add(words.at(14), 5, next).await?, 0);
    assert_eq!(ctx.fetch_inc(words.at(14), next).await?, 5);
    assert_eq!(ctx.swap(words.at(15), me + 9, next).await?, 0);
    assert_eq!(ctx.compare_swap(words.at(15), me + 9, me + 10, next).await?, me + 9);
    assert_eq!(ctx.fetch(words.at(15), next).await?, me + 10);
    // These are in no order by themselves.
    ctx.or(words.at(16), 0b110, next).await?;
    ctx.fence().await?;
    ctx.and(words.at(16), 0b011, next).await?;
    ctx.fence().await?;
    ctx.xor(words.at(16), 0b001, next).await?;
    ctx.pe_quiet(&[next]).await?;
    ctx.quiet().await?;
    ctx.fence().await?;
    let theirs = next as u64 + 100;
    assert_eq!(ctx.g(words.at(60), next).await?, theirs);
    assert_eq!(ctx.get(words.slice(60..61), next).await?, [theirs]);
    world.barrier_all().await?;

    // Before the barrier another PE may have added to it between the two.
    assert_eq!(ctx.signal_fetch(words.at(10)), words.at(10).load());
    let b = before as u64;
    let expected = [b, b + 1, b, b + 2, b + 3];
    assert_eq!(words.slice(0..5).to_vec(), expected);
    assert_eq!(words.slice(9..17).to_vec(), [b, 1, b + 1, 1, b, 6, b + 10, 0b011]);
    world.barrier_all().await?;

    let error = refused(ctx.p(words.at(0), 1, n).await);
    assert!(matches!(error, Error::PeOutOfRange { pe, n_pes, .. } if (pe, n_pes) == (n, n)), "{error}");
    let error = refused(ctx.pe_quiet(&[n]).await);
    assert!(matches!(error, Error::PeOutOfRange { .. }), "{error}");
    soon("destroy", team.destroy()).await
}

#[test]
fn every_operation_takes_numbers_of_the_team() {
    let _limit = time_limit(60);
    on_pes(settings(), operations);
}

#[test]
fn every_operation_of_processes_takes_numbers_of_the_team() {
    let _limit = time_limit(60);
    common::Job::new(test_name!(), 3).run(operations);
}

#[test]
fn contexts_of_the_predefined_teams_know_their_teams() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        for team in [world.team(), world.team_shared()] {
            let ctx = team.create_context(ContextOptions::new())?;
            assert_eq!(ctx.team().as_ref(), Some(team));
            ctx.inc(word.at(0), (team.my_pe() + 1) % team.n_pes()).await?;
            let serialized = team.create_context(ContextOptions::new().serialized().nostore())?;
            assert_eq!(serialized.team().as_ref(), Some(team));
        }
        world.barrier_all().await?;
        assert_eq!(word.at(0).load(), 2);
        Ok(())
    });
}

/// Additions of all PEs through contexts of all their teams to one word each.
async fn additions(world: World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let words = world.alloc_zeroed::<u64>(1).await?;
    let reversed = world.team().split_strided(n - 1, -1, n).await?.expect("all are in it");
    let (row, column) = reversed.split_2d(2).await?;
    let teams = [world.team().clone(), world.team_shared().clone(), reversed, row, column];
    let contexts: Vec<Context> =
        teams.iter().map(|team| team.create_context(ContextOptions::new())).collect::<Result<_>>()?;
    const ROUNDS: u64 = 200;
    for _ in 0..ROUNDS {
        for (team, ctx) in teams.iter().zip(&contexts) {
            for pe in 0..team.n_pes() {
                drop(ctx.add(words.at(0), 1, pe));
                drop(ctx.fetch_add(words.at(0), 1 << 32, pe));
            }
        }
    }
    for ctx in &contexts {
        ctx.quiet().await?;
    }
    world.barrier_all().await?;
    let others: u64 = teams.iter().map(|team| team.n_pes() as u64).sum::<u64>() * ROUNDS;
    assert_eq!(words.at(0).load(), others << 32 | others, "PE {me}");
    Ok(())
}

#[test]
fn additions_through_different_teams_lose_nothing() {
    let _limit = time_limit(60);
    on_pes(settings(), additions);
}

#[test]
fn additions_of_processes_through_different_teams_lose_nothing() {
    let _limit = time_limit(60);
    common::Job::new(test_name!(), 4).run(additions);
}

#[test]
fn a_context_outlives_every_other_handle_of_its_team() {
    let _limit = time_limit(60);
    let done = cluster(3, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let ctx = {
            let team = world.team().split_strided(2, -1, 3).await?.expect("all are in it");
            team.create_context(ContextOptions::new())?
        };
        ctx.inc(word.at(0), (ctx.my_pe() + 1) % 3).await?;
        let team = ctx.team().expect("it lives");
        soon("a sync", team.sync()).await?;
        assert_eq!(word.at(0).load(), 1);
        soon("destroy", team.destroy()).await?;
        assert_eq!(ctx.team(), None);
        let error = refused(ctx.inc(word.at(0), 0).await);
        assert!(matches!(error, Error::TeamDestroyed { .. }), "{error}");
        Ok(())
    });
    done.unwrap();
}
