//! What becomes of the error of an operation: its future returns it, or the next `quiet` does,
//! once, whatever became of the future.

use std::{future::Future, pin::Pin, task::Poll, time::Duration};

use crate::common::{poll_once, settings, soon, time_limit};
use futures::TryFutureExt;
use oxshmem::{ClusterOptions, Error, Link, Result, Signal, prelude::*};

/// An operation that was started.
type Operation = Pin<Box<dyn Future<Output = Result<()>>>>;

fn started<T: 'static, E>(operation: impl Future<Output = Result<T, E>> + 'static) -> Operation
where
    E: Into<Error> + 'static,
{
    Box::pin(operation.map_ok(drop).map_err(Into::into))
}

type Start = fn(&Context, &SymSlice<u64>) -> Operation;

fn all(words: &SymSlice<u64>) -> Vec<u64> {
    vec![1; words.len()]
}

/// Every kind of operation, on PE 1.
const OPERATIONS: [(&str, Start); 13] = [
    ("p", |ctx, words| started(ctx.p(words.at(0), 1, 1))),
    ("g", |ctx, words| started(ctx.g(words.at(0), 1))),
    ("put", |ctx, words| started(ctx.put(words, all(words), 1))),
    ("put_nbi", |ctx, words| started(ctx.put_nbi(words, all(words), 1))),
    ("iput", |ctx, words| started(ctx.iput(words, all(words), 1, 1, words.len(), 1))),
    ("get", |ctx, words| started(ctx.get(words, 1))),
    ("get_nbi", |ctx, words| started(ctx.get_nbi(all(words), words, 1))),
    ("iget", |ctx, words| started(ctx.iget(all(words), words, 1, 1, words.len(), 1))),
    ("put_signal", |ctx, words| started(ctx.put_signal(words, all(words), words.at(0), Signal::Set(1), 1))),
    ("put_signal_nbi", |ctx, words| {
        started(ctx.put_signal_nbi(words, all(words), words.at(0), Signal::Set(1), 1))
    }),
    ("add", |ctx, words| started(ctx.add(words.at(0), 1, 1))),
    ("fetch_add", |ctx, words| started(ctx.fetch_add(words.at(0), 1, 1))),
    ("fetch_add_nbi", |ctx, words| started(ctx.fetch_add_nbi(words.at(0), 1, 1))),
];

/// What becomes of an operation's future.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Dropped,
    Forgotten,
    /// It is awaited, but after `quiet`.
    Late,
    Awaited,
}

type Completes = fn(&Context) -> Pin<Box<dyn Future<Output = Result<()>> + '_>>;

const COMPLETES: [(&str, Completes); 3] = [
    ("quiet", |ctx| Box::pin(ctx.quiet())),
    ("pe_quiet", |ctx| Box::pin(ctx.pe_quiet(&[0, 1]))),
    ("fence", |ctx| Box::pin(ctx.fence())),
];

#[test]
fn an_operation_on_a_pe_that_is_gone_is_reported_by_the_next_quiet_unless_its_future_has() {
    let _limit = time_limit(60);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Of few elements, which are sent at once, and of many.
    for len in [8, 50_000] {
        let link = Link { latency: Duration::from_millis(1), ..Link::default() };
        let options = ClusterOptions { settings: settings(), link, ..ClusterOptions::default() }.hosts(2);
        runtime.block_on(async {
            let worlds = LocalCluster::start_with(2, options).await.unwrap();
            let slices = worlds.iter().map(|world| world.alloc_zeroed::<u64>(len));
            let slices = futures::future::try_join_all(slices).await.unwrap();
            let ctx = worlds[0].context();
            worlds[1].global_exit(3).await.unwrap_err();
            for (operation, start) in OPERATIONS {
                for (completes, complete) in COMPLETES {
                    for fate in [Fate::Dropped, Fate::Forgotten, Fate::Late, Fate::Awaited] {
                        let what = format!("{fate:?} {operation} of {len}, {completes}");
                        let mut operation = start(ctx, &slices[0]);
                        let mut late = None;
                        match fate {
                            Fate::Dropped => drop(operation),
                            Fate::Forgotten => std::mem::forget(operation),
                            Fate::Late => late = Some(operation),
                            Fate::Awaited => {
                                assert!(soon(&what, operation.as_mut()).await.is_err(), "{what}")
                            }
                        }
                        let first = soon(&what, complete(ctx)).await;
                        match (fate, first) {
                            (Fate::Awaited, Ok(())) | (_, Err(Error::GlobalExit { pe: 1, status: 3 })) => {}
                            (_, first) => panic!("{what} says {first:?}"),
                        }
                        if let Some(late) = late {
                            assert!(soon(&what, late).await.is_err(), "{what}: its own error, nevertheless");
                        }
                        soon(&what, complete(ctx))
                            .await
                            .unwrap_or_else(|again| panic!("{what}: again {again}"));
                        assert!(matches!(poll_once(&mut ctx.quiet()), Poll::Ready(Ok(()))), "{what}");
                    }
                }
            }
        });
    }
}

/// Starts something that is refused, and forgets it.
fn refused(ctx: &Context, words: &SymSlice<u64>) {
    std::mem::forget(ctx.put(words, vec![1; words.len() + 1], 0));
}

#[test]
fn what_completes_a_context_in_passing_reports_its_errors_and_keeps_those_that_it_cannot() -> Result<()> {
    let _limit = time_limit(60);
    LocalCluster::run(2, |world| async move {
        let words = world.alloc_zeroed::<u64>(2).await?;
        let ctx = world.context();
        let is_length = |outcome: Result<()>| assert!(matches!(outcome, Err(Error::LengthMismatch { .. })));

        refused(ctx, &words);
        is_length(world.barrier_all().await);
        world.barrier_all().await?;

        // Nothing is there that this one could inform.
        refused(ctx, &words);
        drop(world.barrier_all());
        is_length(ctx.quiet().await);

        let own = world.create_context(ContextOptions::new())?;
        refused(&own, &words);
        ctx.quiet().await?;
        is_length(own.destroy().await);
        let team = world.team_shared();
        let of_team = team.create_context(ContextOptions::new())?;
        refused(&of_team, &words);
        is_length(of_team.quiet().await);

        if world.my_pe() == 0 {
            let lock = Lock::new(ctx, words.at(1))?;
            let guard = lock.lock().await?;
            refused(ctx, &words);
            is_length(guard.unlock().await);
            for leave in [|guard| drop(guard), |guard: LockGuard| drop(guard.unlock())] {
                let guard = lock.lock().await?;
                refused(ctx, &words);
                leave(guard);
                let guard = lock.lock().await?; // it was left
                is_length(ctx.quiet().await);
                guard.unlock().await?;
            }
        }
        world.barrier_all().await?;
        world.finalize().await
    })
    .map(drop)
}

#[test]
fn an_error_concerns_the_pes_of_its_operation_alone_once_that_was_begun() {
    let _limit = time_limit(60);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let link = Link { latency: Duration::from_millis(1), ..Link::default() };
        let options = ClusterOptions { settings: settings(), link, ..ClusterOptions::default() }.hosts(2);
        let worlds = LocalCluster::start_with(2, options).await.unwrap();
        let slices = worlds.iter().map(|world| world.alloc_zeroed::<u64>(8));
        let slices = futures::future::try_join_all(slices).await.unwrap();
        let ctx = worlds[0].context();
        worlds[1].global_exit(3).await.unwrap_err();
        drop(ctx.get(&slices[0], 1));
        ctx.pe_quiet(&[0]).await.unwrap();
        ctx.pe_quiet(&[1]).await.unwrap_err();
        ctx.quiet().await.unwrap();
    });
}
