//! The life of teams: clones, ends, what is refused afterwards, and that places are given back.

use crate::common::{
    Job, cluster, is_pending, offloading, on_pes, pe_counts, refused, settings, soon, test_name, time_limit,
};
use oxshmem::{Error, Result, prelude::*};

#[track_caller]
fn is_destroyed<T>(outcome: Result<T>) {
    let error = refused(outcome);
    assert!(matches!(error, Error::TeamDestroyed { .. }), "{error}");
}

#[test]
fn a_destroyed_team_refuses_every_call_and_others_go_on() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let words = world.alloc_zeroed::<u64>(4 * n).await?;
        let team = world.team().split_strided(n - 1, -1, n).await?.expect("all are in it");
        let twin = team.clone();
        let ctx = team.create_context(ContextOptions::new())?;
        // What nobody has awaited is complete when the team is gone.
        let next = (team.my_pe() + 1) % n;
        for i in 0..n {
            drop(ctx.put_nbi(words.slice(i..i + 1), vec![7], next));
        }
        soon("destroy", team.destroy()).await?;
        is_destroyed(team.destroy().await);
        is_destroyed(twin.destroy().await);
        is_destroyed(twin.sync().await);
        is_destroyed(twin.split_strided(0, 1, 1).await);
        is_destroyed(twin.split_2d(1).await);
        is_destroyed(twin.create_context(ContextOptions::new()));
        is_destroyed(twin.sum_reduce(&words, &words).await);
        is_destroyed(twin.broadcast(&words, &words, 0).await);
        is_destroyed(twin.collect(&words, words.slice(..1)).await);
        is_destroyed(twin.fcollect(words.slice(..n), words.slice(..1)).await);
        is_destroyed(twin.alltoall(&words, &words).await);
        is_destroyed(twin.alltoalls(&words, &words, 1, 1, 1).await);
        is_destroyed(twin.sum_inscan(&words, &words).await);
        is_destroyed(twin.sum_exscan(&words, &words).await);
        is_destroyed(twin.broadcast_bytes(None, 0).await);
        is_destroyed(ctx.put(words.slice(..1), [1], 0).await);
        is_destroyed(ctx.get(words.slice(..1), 0).await);
        is_destroyed(ctx.fetch_inc(words.at(0), 0).await);
        is_destroyed(ctx.p(words.at(0), 1, 0).await);
        assert_eq!(ctx.team(), None);
        // Questions have answers still.
        assert_eq!((twin.n_pes(), twin.my_pe()), (n, n - 1 - world.my_pe()));
        let _ = format!("{twin:?} {ctx:?}");
        drop(ctx);
        world.barrier_all().await?;
        assert_eq!(words.slice(..n).to_vec(), vec![7; n]);
        for predefined in [world.team(), world.team_shared()] {
            let error = refused(predefined.destroy().await);
            assert!(matches!(error, Error::TeamPredefined { .. }), "{error}");
        }
        Ok(())
    });
}

#[test]
fn destroy_waits_for_collectives_that_nobody_awaits() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let words = world.alloc::<u64>(40).await?;
        let sums = world.alloc::<u64>(40).await?;
        for round in 0..20 {
            let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
            words.view().fill(me as u64 + round);
            world.barrier_all().await?;
            drop(team.sum_reduce(&sums, &words));
            drop(team.sync());
            std::mem::forget(team.broadcast(&words, &words, 0));
            soon("destroy", team.destroy()).await?;
            let total = (0..n as u64).sum::<u64>() + n as u64 * round;
            assert_eq!(sums.view().to_vec(), vec![total; 40]);
            assert_eq!(words.view().to_vec(), vec![round; 40]);
            world.barrier_all().await?;
        }
        Ok(())
    });
}

/// How a PE gets rid of a team.
#[derive(Clone, Copy, Debug)]
enum End {
    Destroy,
    Drop,
    /// A context is the last that has it.
    DropWithContext,
    /// The future of `destroy` is dropped after one look.
    LetGoOfDestroy,
}

const ENDS: [End; 4] = [End::Destroy, End::Drop, End::DropWithContext, End::LetGoOfDestroy];

async fn end(team: Team, how: End, large: SymView<'_, u64>) -> Result<()> {
    match how {
        End::Destroy => soon("destroy", team.destroy()).await,
        End::Drop => Ok(()),
        End::DropWithContext => {
            let ctx = team.create_context(ContextOptions::new())?;
            drop(team);
            assert!(ctx.team().is_some());
            Ok(())
        }
        End::LetGoOfDestroy => {
            // A helper thread is at it still when the team ends.
            let ctx = team.create_context(ContextOptions::new())?;
            drop(ctx.put_nbi(large, vec![1; large.len()], 0));
            let _ = is_pending(&mut Box::pin(team.destroy())).await;
            Ok(())
        }
    }
}

#[test]
fn pes_may_leave_a_team_in_different_ways() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, offloading(), move |world| async move {
            let (word, large) = (world.alloc::<u64>(1).await?, world.alloc::<u64>(100_000).await?);
            for round in 0..60 {
                let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
                word.at(0).store(1);
                soon("a sum", team.sum_reduce(&word, &word)).await?;
                assert_eq!(word.at(0).load(), n as u64);
                let how = ENDS[(round + world.my_pe() * (round / 7)) % 4];
                end(team, how, large.view()).await?;
            }
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

/// Two thousand teams come and go: in each of 500 rounds two halves, of which each PE is in one,
/// a row and a column. After the first four hundred they take no more memory.
async fn come_and_go(world: World) -> Result<()> {
    let word = world.alloc::<u64>(1).await?;
    let mut private = Vec::new();
    for round in 0..500 {
        let half = world.team().split_strided(round % 2, 2, 4).await?;
        let (row, column) = world.team().split_2d(1 + round % 9).await?;
        if let Some(half) = half {
            word.at(0).store(1);
            half.sum_reduce(&word, &word).await?;
            assert_eq!(word.at(0).load(), 4);
            if round % 3 == 0 {
                half.destroy().await?;
            }
        }
        drop(row);
        if round % 2 == 0 {
            column.destroy().await?;
        }
        if round % 100 == 99 {
            world.barrier_all().await?;
            private.push(private_kib());
        }
    }
    if std::env::var_os("OXSHMEM_SANITIZED").is_some() {
        eprintln!("not tested: the sanitizer keeps books, so that {private:?} KiB say nothing");
        return Ok(());
    }
    // A quarter of a KiB for each team, or where eight PEs share the process 32 bytes for each team
    // of each.
    let is_more = private[4] > private[0] + 400;
    assert!(
        !is_more,
        "after each four hundred teams the process of PE {} has {private:?} KiB",
        world.my_pe()
    );
    Ok(())
}

/// How much memory this process has that it shares with nobody. What is shared is touched with the
/// number of teams at a time, of which there are sometimes more: those that were dropped leave in a
/// while.
fn private_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a process has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn two_thousand_teams_come_and_go_and_leave_no_memory_behind() {
    let _limit = time_limit(180);
    // In a process in which no other test is.
    let ended = Job::alone(test_name!()).end(|| drop(cluster(8, settings(), come_and_go).unwrap()));
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn two_thousand_teams_of_processes_leave_no_memory_behind() {
    let _limit = time_limit(180);
    Job::new(test_name!(), 8).run(come_and_go);
}

#[test]
fn there_is_an_end_of_teams_for_all_pes_alike_and_room_again_afterwards() {
    let _limit = time_limit(60);
    for n in [1, 4] {
        let done = cluster(n, settings(), move |world| async move {
            for round in 0..2 {
                let mut teams = Vec::new();
                // PE 0 is in one team more, and so ends the splits of all.
                let only_first = world.team().split_strided(0, 0, 1).await?;
                let error = loop {
                    match soon("a split", world.team().split_strided(0, 1, n)).await {
                        Ok(team) => teams.push(team.expect("all are in it")),
                        Err(error) => break error,
                    }
                };
                assert!(matches!(error, Error::TeamsExhausted { limit: 512, .. }), "{error}");
                assert_eq!(teams.len(), 512 - 2 - 1);
                soon("a sync", world.team().sync()).await?;
                let error = refused(world.team().split_2d(1).await);
                assert!(matches!(error, Error::TeamsExhausted { .. }), "{error}");
                // All of them work.
                for team in &teams {
                    soon("a sync", team.sync()).await?;
                }
                // With one place, there is none for two teams.
                drop(only_first);
                drop(teams.pop());
                world.barrier_all().await?;
                if round == 0 {
                    for team in &teams {
                        soon("destroy", team.destroy()).await?;
                    }
                }
            }
            let again = loop {
                // Those that were dropped leave by themselves, in a while.
                match world.team().split_strided(0, 1, n).await {
                    Ok(again) => break again.expect("all are in it"),
                    Err(Error::TeamsExhausted { .. }) => tokio::task::yield_now().await,
                    Err(error) => return Err(error),
                }
            };
            soon("a sync", again.sync()).await
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

#[test]
fn splits_that_nobody_awaits_leave_no_team_behind() {
    let _limit = time_limit(60);
    for n in [1, 3] {
        let done = cluster(n, settings(), move |world| async move {
            for round in 0..700 {
                let mut split = Box::pin(world.team().split_strided(0, 1, n));
                // It was made with the call. One PE never looks at it, the others do once, or until
                // it is there.
                if round % 3 == world.my_pe() % 3 || is_pending(&mut split).await {
                    drop(split);
                }
                if round % 100 == 0 {
                    // Teams that were let go of leave in the background.
                    world.barrier_all().await?;
                }
            }
            world.barrier_all().await?;
            assert!(soon("a split", world.team().split_strided(0, 1, n)).await?.is_some());
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}

#[test]
fn worlds_end_with_teams_and_contexts_left() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
        let ctx = team.create_context(ContextOptions::new())?;
        let word = world.alloc_zeroed::<u64>(1).await?;
        drop(ctx.add(word.at(0), 1, 0));
        drop(team.sync());
        std::mem::forget(team.split_2d(1).await?);
        // What is left goes away with the task, after `finalize`.
        tokio::spawn(async move {
            let _left = (team, ctx);
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        });
        Ok(())
    });
}

#[test]
fn teams_of_a_few_pes_take_no_room_of_others() {
    let _limit = time_limit(240);
    // As many teams as there are PEs, and more than one of them could be in.
    let done = cluster(600, settings(), |world| async move {
        let mut teams = Vec::new();
        for pe in 0..world.n_pes() {
            teams.extend(world.team().split_strided(pe, 1, 1).await?);
        }
        assert_eq!(teams.len(), 1);
        soon("a sync", teams[0].sync()).await
    });
    done.unwrap();
}
