//! Why a job took as long as it did, in jobs that are made to have one reason.

use std::time::Duration;

use oxshmem::{Result, Signal, World, prelude::*};
use serde_json::Value;

use crate::{
    common::{Job, test_name, time_limit},
    trace_record::Folder,
};

/// What the slow PE takes.
const SLOW: Duration = Duration::from_millis(150);

/// Does `work`, which alone is recorded: PEs come to a job one after another, and leave it
/// likewise.
async fn recorded(world: &World, work: impl Future<Output = Result<()>>) -> Result<()> {
    world.tracing(false);
    world.barrier_all().await?;
    world.tracing(true);
    work.await?;
    world.tracing(false);
    world.barrier_all().await
}

/// What the page of a job of two PEs has on why it took as long.
fn why<F>(name: &'static str, body: impl Fn(World) -> F) -> Value
where
    F: Future<Output = Result<()>>,
{
    let folder = Folder::new();
    Job::new(name, 2).launcher_args(&["--trace", folder.0.to_str().unwrap()]).run(body);
    let page = std::fs::read_to_string(folder.0.join("report.html")).unwrap();
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).unwrap().0;
    let mut data: Value = serde_json::from_str(data).unwrap();
    data["why"].take()
}

/// The job has this state and, but for what is small beside it, no other one: PE `of` waited in it,
/// because of the other.
#[track_caller]
fn has_only(why: &Value, state: &str, of: u64) {
    let states = why["states"].as_array().unwrap();
    let lost = |row: &Value| Duration::from_nanos(row[2].as_u64().unwrap());
    assert_eq!((&states[0][0], &states[0][5], &states[0][7]), (&state.into(), &of.into(), &(1 - of).into()));
    assert!(lost(&states[0]) > SLOW / 3 * 2, "{states:#?}");
    let others: Duration = states[1..].iter().map(lost).sum();
    assert!(others < SLOW / 5, "{states:#?}");
}

#[test]
fn a_late_sender_is_one() {
    let _limit = time_limit(60);
    let why = why(test_name!(), |world| async move {
        let words = world.alloc_zeroed::<u64>(65).await?;
        recorded(&world, async {
            if world.my_pe() == 1 {
                return words.at(64).wait_until(Cmp::Eq, 1).await.map(drop);
            }
            std::thread::sleep(SLOW);
            let signal = words.at(64);
            world.context().put_signal(words.slice(..64), [7; 64], signal, Signal::Set(1), 1).await.map(drop)
        })
        .await
    });
    has_only(&why, "late sender", 1);
}

#[test]
fn a_late_receiver_is_one() {
    let _limit = time_limit(60);
    let why = why(test_name!(), |world| async move {
        let words = world.alloc_zeroed::<u64>(65).await?;
        let (ctx, may_send) = (world.context(), words.at(64));
        recorded(&world, async {
            if world.my_pe() == 1 {
                std::thread::sleep(SLOW);
                return ctx.p(may_send, 1, 0).await;
            }
            may_send.wait_until(Cmp::Eq, 1).await?;
            ctx.put(words.slice(..64), [7; 64], 1).await.map(drop)
        })
        .await
    });
    has_only(&why, "late receiver", 0);
}

#[test]
fn a_wait_at_a_collective_is_one_and_the_pe_that_is_late_is_the_critical_path() {
    let _limit = time_limit(60);
    let why = why(test_name!(), |world| async move {
        let sums = world.alloc_zeroed::<u64>(4).await?;
        recorded(&world, async {
            if world.my_pe() == 1 {
                std::thread::sleep(SLOW);
            }
            world.team().sum_reduce(&sums, &sums).await
        })
        .await
    });
    has_only(&why, "wait at collective", 0);
    // From the start to the collective the path is on PE 1, which computes.
    let (first, length) = (&why["path"][0], why["length"].as_u64().unwrap());
    assert_eq!((&first[0], &first[1]), (&1.into(), &"computing".into()), "{why:#?}");
    assert!(Duration::from_nanos(first[2].as_u64().unwrap()) >= SLOW && length > 0, "{why:#?}");
    // As fast as the mean, it would have been there half as late.
    let row = &why["what_if"][0];
    let saved = Duration::from_nanos(row[4].as_u64().unwrap());
    assert!(row[0] == 1 && saved > SLOW / 4 && saved < SLOW, "{row}");
}

#[test]
fn contention_for_a_lock_is_one() {
    let _limit = time_limit(60);
    let why = why(test_name!(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let lock = Lock::new(world.context(), word.at(0))?;
        let held = if world.my_pe() == 1 { Some(lock.lock().await?) } else { None };
        recorded(&world, async {
            match held {
                None => lock.lock().await?.unlock().await,
                Some(held) => {
                    std::thread::sleep(SLOW);
                    held.unlock().await
                }
            }
        })
        .await
    });
    has_only(&why, "lock contention", 0);
}
