//! PEs that go away in the middle of collectives: the job, or what the others wait for, ends with
//! who was lost and how.

use std::{
    fs,
    future::poll_fn,
    path::PathBuf,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::common::{Ended, Job, cluster, kill, on_one_host, settings, test_name, time_limit};
use crate::stuck::rows;
use oxshmem::{Error, LocalCluster, Result, prelude::*};

const KINDS: [&str; 15] = [
    "sync",
    "barrier",
    "broadcast",
    "large broadcast",
    "collect",
    "large collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "reduce",
    "large reduce",
    "inscan",
    "large exscan",
    "split",
    "destroy",
];
const LARGE: usize = 5000;

async fn perform(world: &World, kind: &str, to: SymView<'_, u64>, from: SymView<'_, u64>) -> Result<()> {
    let (team, n) = (world.team(), world.n_pes());
    let part = |len: usize| (to.slice(..len), from.slice(..len));
    let ((one_to, one), (large_to, large)) = (part(1), part(LARGE));
    match kind {
        "sync" => team.sync().await,
        "barrier" => world.barrier_all().await,
        "broadcast" => team.broadcast(one_to, one, 1).await,
        "large broadcast" => team.broadcast(large_to, large, 1).await,
        "collect" => team.collect(to, one).await,
        "large collect" => team.collect(to, large).await,
        "fcollect" => team.fcollect(to.slice(..n), one).await,
        "alltoall" => team.alltoall(to.slice(..n), from.slice(..n)).await,
        "alltoalls" => team.alltoalls(to, from, 2, 3, 2).await,
        "reduce" => team.sum_reduce(one_to, one).await,
        "large reduce" => team.sum_reduce(large_to, large).await,
        "inscan" => team.sum_inscan(one_to, one).await,
        "large exscan" => team.sum_exscan(large_to, large).await,
        "split" => team.split_strided(0, 1, n).await.map(drop),
        _ => {
            let team = team.split_strided(0, 1, n).await?;
            team.expect("all are in it").destroy().await
        }
    }
}

async fn memory(world: &World) -> Result<[SymSlice<u64>; 2]> {
    let room = LARGE * world.n_pes();
    Ok([world.alloc(room).await?, world.alloc_zeroed(room).await?])
}

/// How the call of a kind that PEs wait in is named.
fn name(kind: &str) -> &str {
    match kind.trim_start_matches("large ") {
        "barrier" => "sync",
        "reduce" => "sum_reduce",
        "inscan" => "sum_inscan",
        "exscan" => "sum_exscan",
        "split" | "destroy" => "team_split",
        name => name,
    }
}

/// A folder that PEs know by a variable, and in which each leaves a file when it has come to where
/// it is to be. It is made with the first file, as PEs come through the same test and end in its
/// midst.
struct Folder(PathBuf);

impl Folder {
    const VARIABLE: &str = "HERE";

    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("collective-faults-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    fn variable(&self) -> String {
        format!("{}={}", Self::VARIABLE, self.0.display())
    }

    /// To be called by a PE: it is there.
    fn come(world: &World) {
        let folder = PathBuf::from(std::env::var(Self::VARIABLE).unwrap());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(world.my_pe().to_string()), "").unwrap();
    }

    #[track_caller]
    fn wait_for(&self, n: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let come: Vec<_> = (0..n).filter(|pe| self.0.join(pe.to_string()).exists()).collect();
            if come.len() == n {
                return;
            }
            assert!(Instant::now() < deadline, "of {n} PEs only {come:?} have come to the collective");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Calls one after the other, without end. If a PE is absent this one has come when it waits for
/// that, and is shown to, and otherwise when the first call is over.
async fn perform_for_ever(world: &World, kind: &str, absent: bool) -> Result<()> {
    let [to, from] = memory(world).await?;
    world.barrier_all().await?;
    if absent && world.my_pe() == 1 {
        Folder::come(world);
        std::thread::sleep(Duration::from_secs(100));
    }
    let mut has_come = false;
    loop {
        let mut call = pin!(perform(world, kind, to.view(), from.view()));
        let watched = poll_fn(|cx| {
            let polled = call.as_mut().poll(cx);
            let waits = polled.is_pending() && !to.view().pe().board().seen().is_empty();
            if !has_come && (if absent { waits } else { polled.is_ready() }) {
                has_come = true;
                Folder::come(world);
            }
            polled
        });
        watched.await?;
    }
}

/// The table says that PEs 0 and 2 are in that call on the world team, whether they share a row or
/// not.
#[track_caller]
fn assert_in_the_call(ended: &Ended, name: &str) {
    let rows = rows(ended);
    let mut pes: Vec<_> = rows.iter().flat_map(|row| row[0].split(',')).collect();
    pes.sort_unstable();
    assert_eq!(pes, ["0", "2"], "{}", ended.stderr);
    for row in rows {
        let is_named = row[3].strip_prefix(name).is_some_and(|number| number.starts_with(" #"));
        assert!(is_named && row[5].starts_with("on the world team"), "{name}: {}", ended.stderr);
    }
}

#[test]
fn a_pe_that_is_killed_in_any_collective_ends_the_job_which_says_who_and_what_the_others_were_in() {
    let _limit = time_limit(120);
    let tells = on_one_host("a PE of another host may have left the call by the time of the table");
    for kind in KINDS {
        // It either calls one after the other like the rest, or never comes.
        for absent in [false, true] {
            let here = Folder::new();
            let job = Job::new(test_name!(), 3).env(&format!("KIND={kind}")).env(&format!("ABSENT={absent}"));
            let running = job.env(&here.variable()).start(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let end: Result<()> = runtime.block_on(async {
                    let world = oxshmem::init().await?;
                    let (kind, absent) = (std::env::var("KIND").unwrap(), std::env::var("ABSENT").unwrap());
                    perform_for_ever(&world, &kind, absent == "true").await
                });
                let error = end.expect_err("it never ends well");
                assert!(matches!(error, Error::PeLost { pe: 1, .. } | Error::GlobalExit { .. }), "{error}");
                // Over a network it may hear of that before the launcher does, which is to name the
                // other.
                std::thread::sleep(Duration::from_secs(100));
            });
            here.wait_for(3);
            let victim = running.pe(1);
            let started = Instant::now();
            kill(victim, libc::SIGKILL);
            let ended = running.end();
            assert!(started.elapsed() < Duration::from_millis(2500), "{kind}: {:?}", started.elapsed());
            assert_eq!(ended.status, 137, "{kind}: {ended:?}");
            for part in [&*format!("oshrun: PE 1 (pid {victim}, host "), "was killed by signal 9 (SIGKILL)"] {
                assert!(ended.stderr.contains(part), "{kind}: {part:?} is not in {}", ended.stderr);
            }
            assert_eq!(ended.stderr.matches("oshrun: ").count(), 1, "{kind}: {}", ended.stderr);
            if absent && tells {
                assert_in_the_call(&ended, name(kind));
            }
        }
    }
}

#[test]
fn a_pe_of_this_process_that_panics_or_drops_its_world_ends_the_collectives_of_others() {
    let _limit = time_limit(60);
    for n in [2, 5] {
        for kind in KINDS {
            for panics in [true, false] {
                let seen = Arc::new(Mutex::new(Vec::new()));
                let job = LocalCluster::run(n, |world| {
                    let seen = Arc::clone(&seen);
                    async move {
                        let [to, from] = memory(&world).await?;
                        for _ in 0..3 {
                            perform(&world, kind, to.view(), from.view()).await?;
                        }
                        if world.my_pe() == 1 {
                            assert!(!panics, "the disk is full");
                            return Ok(());
                        }
                        // The first one may be over, where it waits for nobody.
                        let error = loop {
                            if let Err(error) = perform(&world, kind, to.view(), from.view()).await {
                                break error;
                            }
                            tokio::task::yield_now().await;
                        };
                        seen.lock().unwrap().push(error);
                        world.barrier_all().await
                    }
                });
                let text = if panics { "the disk is full" } else { "without finalize" };
                let error = job.expect_err("the job failed");
                assert!(error.to_string().contains(text), "{kind}: {error}");
                for seen in &*seen.lock().unwrap() {
                    let is_lost = matches!(seen, Error::PeLost { pe: 1, how, .. } if how.contains(text));
                    assert!(is_lost, "{n} PEs in {kind}: {seen}");
                }
            }
        }
    }
}

#[test]
fn collectives_with_memory_of_another_job_or_of_wrong_length_are_refused_before_anybody_waits() {
    let _limit = time_limit(60);
    let done = cluster(3, settings(), |world| async move {
        let n = world.n_pes();
        let [to, from] = memory(&world).await?;
        let team = world.team();
        let too_short = [
            team.sum_reduce(to.slice(..3), from.slice(..4)).await,
            team.sum_inscan(to.slice(..5), from.slice(..4)).await,
            team.broadcast(to.slice(..3), from.slice(..4), 0).await,
            team.fcollect(to.slice(..n), from.slice(..2)).await,
            team.alltoall(to.slice(..4), from.slice(..4)).await,
        ];
        for outcome in too_short {
            let error = outcome.expect_err("it does not fit");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        }
        let error = team.broadcast(&to, &from, n).await.expect_err("no such PE");
        assert!(matches!(error, Error::PeOutOfRange { pe: 3, n_pes: 3, .. }), "{error}");
        for (dst, sst) in [(0, 1), (1, 0)] {
            let error = team.alltoalls(&to, &from, dst, sst, 1).await.expect_err("a stride of 0");
            assert!(matches!(error, Error::InvalidStride { .. }), "{error}");
        }
        for nelems in [LARGE + 1, usize::MAX, usize::MAX / 2 + 1, usize::MAX / 3 + 1] {
            let error = team.alltoalls(&to, &from, 1, 1, nelems).await.expect_err("too many");
            assert!(matches!(error, Error::StrideOutOfRange { .. }), "{nelems}: {error}");
        }
        // Only all PEs together know this one; it is the same for all.
        for len in [1, 100, LARGE] {
            let error =
                team.collect(to.slice(..3 * len - 1), from.slice(..len)).await.expect_err("too short");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        }
        team.sync().await
    });
    done.unwrap();
    // As many that lengths travel otherwise.
    let done = cluster(70, settings(), |world| async move {
        let (to, from) = (world.alloc::<u64>(700).await?, world.alloc::<u64>(10).await?);
        let error = world.team().collect(to.slice(..699), &from).await.expect_err("too short");
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        world.team().collect(&to, &from).await
    });
    done.unwrap();
}

#[test]
fn source_and_destination_overlap_only_where_nothing_is_lost_by_it() {
    let _limit = time_limit(60);
    let done = cluster(3, settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let team = world.team();
        let words = world.alloc::<u64>(2 * LARGE * n).await?;
        for len in [1, LARGE] {
            let (all, ahead) = (words.slice(..n * len), words.slice(1..n * len + 1));
            let refused = [
                team.alltoall(all, all).await,
                team.alltoall(all, ahead).await,
                team.alltoalls(all, all, 1, 1, len).await,
                team.fcollect(all, words.slice(((me + 1) % n) * len..((me + 1) % n + 1) * len)).await,
            ];
            for outcome in refused {
                let error = outcome.expect_err("it would overwrite what others have not read");
                assert!(matches!(error, Error::Overlap { .. }), "{error}");
            }
            // In place is right, where the ends of both are the same.
            let (some, next) = (words.slice(..len + 1), words.slice(1..len + 2));
            let in_part = [
                team.sum_reduce(some, next).await,
                team.max_reduce(next, some).await,
                team.sum_inscan(some, next).await,
                team.sum_exscan(next, some).await,
                team.broadcast(some, next, n - 1).await,
            ];
            for outcome in in_part {
                let error = outcome.expect_err("it would overwrite what others have not read");
                assert!(matches!(error, Error::Overlap { .. }), "{error}");
            }
            some.fill(me as u64 + 1);
            team.sync().await?;
            team.sum_reduce(some, some).await?;
            team.broadcast(some, some, 0).await?;
            assert!(some.to_vec().iter().all(|&sum| sum == 6));
            // An active set's root keeps what it has: nobody reads what another writes.
            team.sync().await?;
            team.broadcast_to_others(some, next, 0).await?;
            // Beside each other, and each block where it belongs.
            team.sync().await?;
            words.view().fill(me as u64);
            team.alltoall(all, words.slice(n * len..2 * n * len)).await?;
            let own = words.slice(me * len..(me + 1) * len);
            own.fill(10 + me as u64);
            team.fcollect(all, own).await?;
            let blocks: Vec<_> = (0..n as u64).flat_map(|pe| vec![10 + pe; len]).collect();
            assert_eq!(all.to_vec(), blocks);
            team.sync().await?;
        }
        Ok(())
    });
    done.unwrap();
}

#[test]
fn the_strides_of_one_element_do_not_matter() {
    let _limit = time_limit(60);
    let done = cluster(1, settings(), |world| async move {
        let (to, from) = (world.alloc_zeroed::<u64>(1).await?, world.alloc::<u64>(1).await?);
        from.at(0).store(7);
        world.team().alltoalls(&to, &from, usize::MAX, usize::MAX / 4, 1).await?;
        assert_eq!(to.at(0).load(), 7);
        Ok(())
    });
    done.unwrap();
}

#[test]
fn elements_without_bytes_are_refused_or_collected_but_nobody_waits_for_them() {
    let _limit = time_limit(60);
    let done = cluster(2, settings(), |world| async move {
        let team = world.team();
        let (to, from) = (world.alloc::<()>(8).await?, world.alloc::<()>(4).await?);
        let error = team.alltoalls(&to, &to, 1, 1, 2).await.expect_err("there is nothing to stride over");
        assert!(matches!(error, Error::InvalidStride { .. }), "{error}");
        team.fcollect(&to, &from).await?;
        team.collect(&to, &from).await?;
        team.alltoall(&to, &to).await?;
        team.broadcast(&to, &to, 1).await
    });
    done.unwrap();
}

#[test]
fn a_collect_for_which_one_pe_has_no_room_writes_nothing() {
    let _limit = time_limit(60);
    // As many that what PEs say travels in each of the ways that there are.
    for n in [3, 12, 70] {
        let done = cluster(n, settings(), move |world| async move {
            let team = world.team().split_strided(0, 1, n).await?.expect("all are in it");
            let (to, from) = (world.alloc::<u64>(400 * n).await?, world.alloc_zeroed::<u64>(400).await?);
            to.view().fill(7);
            world.barrier_all().await?;
            let is_short = world.my_pe() == 1;
            let room = if is_short { 400 * n - 1 } else { 400 * n };
            let error = team.collect(to.slice(..room), &from).await.expect_err("PE 1 has no room");
            match error {
                Error::LengthMismatch { .. } => assert!(is_short, "{error}"),
                Error::CollectiveMismatch { pe_a, pe_b, .. } => assert!(pe_a == 1 || pe_b == 1, "{error}"),
                other => panic!("{other}"),
            }
            world.barrier_all().await?;
            assert_eq!(to.view().to_vec(), vec![7; 400 * n]);
            Ok(())
        });
        done.unwrap_or_else(|e| panic!("{n} PEs: {e}"));
    }
}
