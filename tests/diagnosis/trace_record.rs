//! The recording of what PEs do: `SHMEM_TRACE`, read back as `oshrun` reads it.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::common::{self, Job, cluster, is_played, on_one_host, pe_counts, settings, test_name, time_limit};
use oxshmem::{
    ClusterOptions, LocalCluster, Result, SessionOptions, Signal, World, prelude::*, settings::Settings,
};
use oxshmem_launch::trace::{
    self,
    model::{Event, Kind, PeTrace, Trace, Traffic},
};
use oxshmem_progress::activity::Call;

/// A folder for recordings, which is removed again.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("trace-record-{}-{number}", std::process::id())))
    }

    fn settings(&self) -> Settings {
        let mut settings = settings();
        settings.trace = Some(self.0.clone());
        settings
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What is in a folder, all files of which can be read.
#[track_caller]
fn read(folder: &Path) -> Trace {
    let (trace, unreadable) = trace::read(folder).unwrap();
    assert_eq!(unreadable, [] as [String; 0]);
    trace
}

fn of(pe: &PeTrace, call: Call) -> Vec<&Event> {
    pe.events.iter().filter(|event| event.call == call).collect()
}

#[track_caller]
fn only(pe: &PeTrace, call: Call) -> &Event {
    match of(pe, call)[..] {
        [only] => only,
        ref all => panic!("{call:?}: {all:#?}\namong {:#?}", pe.events),
    }
}

/// Some operations on the next PE, between two barriers.
async fn some_of_each(world: &World) -> Result<()> {
    let (ctx, next) = (world.context(), (world.my_pe() + 1) % world.n_pes());
    let words = world.alloc_zeroed::<u64>(64).await?;
    let sums = world.alloc_zeroed::<u64>(4).await?;
    world.barrier_all().await?;
    ctx.put(words.slice(8..24), [7; 16], next).await?;
    ctx.p(words.at(1), 5, next).await?;
    ctx.add(words.at(2), 1, next).await?;
    ctx.fetch_inc(words.at(2), next).await?;
    ctx.get(words.slice(..3), next).await?;
    ctx.put_nbi(words.slice(30..40), vec![1; 10], next).await?;
    ctx.quiet().await?;
    world.team().sum_reduce(&sums, &sums).await?;
    world.barrier_all().await
}

#[test]
fn operations_waits_and_collectives_are_recorded_with_targets_bytes_and_times() {
    let _limit = time_limit(120);
    for n in pe_counts() {
        let folder = Folder::new();
        cluster(n, folder.settings(), |world| async move { some_of_each(&world).await }).unwrap();
        let trace = read(&folder.0);
        assert_eq!(trace.pes.len(), n);
        for (number, pe) in trace.pes.iter().enumerate() {
            let next = (number + 1) % n;
            assert_eq!((pe.pe, pe.pid, pe.finalized, pe.lost), (number, std::process::id(), true, 0));
            let operations = [
                (Call::Put, 128),
                (Call::P, 8),
                (Call::Add, 8),
                (Call::FetchInc, 8),
                (Call::Get, 24),
                (Call::PutNbi, 80),
            ];
            for (call, bytes) in operations {
                let event = only(pe, call);
                assert_eq!((event.target, event.bytes, event.kind), (Some(next), bytes, Kind::Operation));
            }
            let bytes = operations.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(pe.traffic, [Traffic { pe: next, operations: 6, bytes }]);
            let sum = only(pe, Call::SumReduce);
            assert_eq!((sum.kind, sum.bytes, sum.team), (Kind::Collective, 32, 0));
            let barriers = of(pe, Call::Barrier);
            let calls: Vec<_> = pe.events.iter().map(|event| event.call.name()).collect();
            assert_eq!(barriers.len(), 2, "{calls:?}");
            assert_eq!(barriers[1].number, sum.number + 1, "{calls:?}");
            assert_eq!((of(pe, Call::AllocZeroed).len(), of(pe, Call::Finalize).len()), (2, 1), "{calls:?}");
            for event in pe.events.iter().filter(|event| event.call != Call::Finalize) {
                assert!(event.is_complete, "{event:?}");
                assert!(event.begin <= event.initiated && event.initiated <= event.completed, "{event:?}");
                assert!(pe.began <= event.begin && event.completed <= pe.ended, "{event:?}");
            }
            // It is the same barrier on all PEs.
            let same = |other: &PeTrace| of(other, Call::Barrier)[0].number == barriers[0].number;
            assert!(trace.pes.iter().all(same));
        }
    }
}

#[test]
fn a_barrier_between_hosts_is_recorded_by_its_name() {
    let _limit = time_limit(60);
    let folder = Folder::new();
    let options = ClusterOptions { settings: folder.settings(), ..ClusterOptions::default() }.hosts(2);
    LocalCluster::run_with(4, options, |world| async move {
        world.barrier_all().await?; // with nothing to complete
        world.team().sync().await?;
        let _put = world.context().put_nbi(world.alloc_zeroed::<u64>(1).await?.slice(..), vec![1], 3);
        world.barrier_all().await?;
        world.finalize().await
    })
    .unwrap();
    for pe in &read(&folder.0).pes {
        assert_eq!((of(pe, Call::Barrier).len(), of(pe, Call::Sync).len()), (2, 1), "{pe:#?}");
    }
}

#[test]
fn a_wait_that_waits_is_recorded_and_leads_back_to_the_signal_that_ended_it() {
    let _limit = time_limit(120);
    let folder = Folder::new();
    let done = cluster(3, folder.settings(), |world| async move {
        let words = world.alloc_zeroed::<u64>(8).await?;
        world.barrier_all().await?;
        match world.my_pe() {
            0 => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                world.context().put_signal(words.at(0), 1, words.at(5), Signal::Set(1), 1).await?;
                world.context().p(words.at(7), 1, 2).await?;
            }
            1 => _ = words.at(5).wait_until(Cmp::Eq, 1).await?,
            _ => _ = words.slice(6..8).wait_until_any(Cmp::Eq, 1).await?,
        }
        // One that finds its word as it should be has not waited.
        words.at(3).wait_until(Cmp::Eq, 0).await?;
        world.barrier_all().await
    });
    done.unwrap();
    let trace = read(&folder.0);
    let find = |pe: usize, call: Call| {
        (pe, trace.pes[pe].events.iter().position(|event| event.call == call).unwrap())
    };
    let wait = only(&trace.pes[1], Call::WaitUntil);
    assert!(wait.is_complete && wait.waited >= 10_000_000 && wait.kind == Kind::Wait, "{wait:?}");
    assert!(of(&trace.pes[0], Call::WaitUntil).is_empty());
    let flows: Vec<_> = trace.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!(
        flows,
        [
            (find(0, Call::PutSignal), find(1, Call::WaitUntil)),
            (find(0, Call::P), find(2, Call::WaitUntilAny))
        ]
    );
}

#[test]
fn recording_is_switched_at_run_time_and_does_nothing_where_nothing_is_recorded() {
    let _limit = time_limit(120);
    let folder = Folder::new();
    let body = |world: World| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let (ctx, me) = (world.context(), world.my_pe());
        for (i, on) in [true, false, false, true].into_iter().enumerate() {
            world.tracing(on);
            ctx.put(word.at(0), i as u64, me).await?;
            assert_eq!(ctx.g(word.at(0), me).await?, i as u64);
            world.barrier_all().await?;
        }
        world.tracing(false);
        Ok(())
    };
    cluster(2, folder.settings(), body).unwrap();
    for pe in &read(&folder.0).pes {
        assert_eq!([Call::Put, Call::G, Call::Barrier].map(|call| of(pe, call).len()), [2; 3], "{pe:#?}");
        assert_eq!(pe.traffic[0].operations, 4);
        assert!(pe.finalized && of(pe, Call::Finalize).is_empty());
    }
    cluster(2, settings(), body).unwrap();
}

#[test]
fn a_session_is_recorded_in_batches_and_its_totals_are_exact() {
    let _limit = time_limit(120);
    for hosts in [1, 2] {
        let folder = Folder::new();
        let settings = folder.settings();
        let options = ClusterOptions { settings, ..ClusterOptions::default() }.hosts(hosts);
        let done = LocalCluster::run_with(4, options, |world| async move {
            let words = world.alloc_zeroed::<u64>(16).await?;
            for _ in 0..3 {
                let session = world.context().session(SessionOptions::new().batch());
                for i in 0..1000 {
                    drop(session.add(words.at(i % 16), 1, i % 4));
                }
                session.finish().await?;
            }
            world.barrier_all().await?;
            assert_eq!(words.view().to_vec().iter().sum::<u64>(), 3 * 1000);
            world.finalize().await
        });
        done.unwrap();
        for pe in &read(&folder.0).pes {
            let batches = of(pe, Call::SessionBatch);
            assert_eq!(batches.iter().map(|batch| batch.number).collect::<Vec<_>>(), [1000; 3]);
            assert!(batches.iter().all(|batch| batch.bytes == 8000 && batch.begin < batch.completed));
            assert!(of(pe, Call::Add).is_empty());
            let each = |pe| Traffic { pe, operations: 750, bytes: 6000 };
            assert_eq!(pe.traffic, [0, 1, 2, 3].map(each));
        }
    }
}

#[test]
fn the_files_of_a_job_that_lost_a_pe_to_sigkill_have_what_it_did_and_what_it_was_in() {
    let _limit = time_limit(120);
    let folder = Folder::new();
    let job = Job::new(test_name!(), 2).env(&format!("SHMEM_TRACE={}", folder.0.display()));
    let ended = job.end(|| {
        futures::executor::block_on(async {
            let world = oxshmem::init().await.unwrap();
            let words = world.alloc_zeroed::<u64>(4).await.unwrap();
            world.barrier_all().await.unwrap();
            for i in 0..100 {
                world.context().p(words.at(0), i, 1 - world.my_pe()).await.unwrap();
            }
            if world.my_pe() == 1 {
                words.at(3).wait_until(Cmp::Eq, 1).await.unwrap();
                let _quiet = words.at(2).wait_until(Cmp::Eq, 1);
                common::kill(std::process::id(), libc::SIGKILL);
            }
            world.context().p(words.at(3), 1, 1).await.unwrap();
            let _ = world.barrier_all().await;
        });
    });
    assert_eq!(ended.status, 128 + libc::SIGKILL, "{ended:?}");
    let trace = read(&folder.0);
    assert_eq!(trace.pes.len(), 2);
    let [survivor, killed] = [0, 1].map(|pe| trace.pes.iter().find(|it| it.pe == pe).unwrap());
    assert!(!killed.finalized && killed.pid != survivor.pid);
    assert_eq!((of(killed, Call::P).len(), of(survivor, Call::P).len()), (100, 101));
    assert_eq!(killed.traffic, [Traffic { pe: 0, operations: 100, bytes: 800 }]);
    // It never left the barrier before its end.
    let barrier = *of(survivor, Call::Barrier).last().unwrap();
    assert!(barrier.completed <= survivor.ended && barrier.begin > killed.events[0].begin);
}

#[test]
fn oshrun_records_a_job_and_leaves_a_file_for_perfetto() {
    let _limit = time_limit(120);
    let folder = Folder::new();
    let shown = folder.0.to_str().unwrap().to_owned();
    // What an older job with more PEs has left.
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("pe-7.trace"), b"old").unwrap();
    let ended = Job::new(test_name!(), 3).launcher_args(&["--trace", &shown]).run(|world| async move {
        let words = world.alloc_zeroed::<u64>(4).await?;
        world.barrier_all().await?;
        let (me, next) = (world.my_pe(), (world.my_pe() + 1) % 3);
        if me == 0 {
            std::thread::sleep(Duration::from_millis(30));
        } else {
            words.at(0).wait_until(Cmp::Eq, 1).await?;
        }
        world.context().put_signal(words.at(1), 5, words.at(0), Signal::Set(1), next).await?;
        words.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
    });
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert!(matches!(lines[..], [one] if one.contains(&format!("{shown}/trace.json"))), "{lines:?}");
    let json = std::fs::read(folder.0.join("trace.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let count = |key: &str, value: &str| events.iter().filter(|event| event[key] == value).count();
    let names = events.iter().filter_map(|event| event["args"]["name"].as_str());
    let mut rows: Vec<_> = names.filter(|name| name.starts_with("PE ")).collect();
    rows.sort_unstable();
    rows.retain(|row| !row.contains("under way"));
    assert_eq!(rows, ["PE 0", "PE 1", "PE 2"]);
    assert_eq!((count("name", "put_signal"), count("name", "barrier")), (3, 3));
    let waits = count("name", "wait_until");
    assert!((2..=3).contains(&waits), "{waits} waits");
    assert_eq!((count("ph", "s"), count("ph", "f")), (waits, waits));
    assert!(json["otherData"]["program"].as_str().unwrap().contains("diagnosis"));

    let page = std::fs::read_to_string(folder.0.join("report.html")).unwrap();
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!((&data["pes"], &data["lost"]), (&3.into(), &0.into()));
    let cells = data["matrix"]["cells"].as_array().unwrap();
    let cells: Vec<_> = cells.iter().map(|cell| [0, 1, 2].map(|i| cell[i].as_u64().unwrap())).collect();
    assert_eq!(cells, [[0, 1, 1], [1, 2, 1], [2, 0, 1]], "from, to and operations");
    // PE 1 has waited while PE 0 slept.
    let slowest = data["waits"].as_array().unwrap();
    let of_pe_1 = slowest.iter().find(|wait| wait[0] == 1 && wait[1] == "wait_until").unwrap();
    assert_eq!((&of_pe_1[4], &of_pe_1[5]), (&0.into(), &"put_signal".into()));
}

#[test]
fn the_report_of_a_job_has_its_phases_and_which_pe_was_slow_in_one() {
    let _limit = time_limit(120);
    let folder = Folder::new();
    let shown = folder.0.to_str().unwrap().to_owned();
    Job::new(test_name!(), 3).launcher_args(&["--trace", &shown]).run(|world| async move {
        let words = world.alloc_zeroed::<u64>(8).await?;
        let next = (world.my_pe() + 1) % world.n_pes();
        world.barrier_all().await?;
        for step in 0..2 {
            world.phase("compute");
            if world.my_pe() == 1 {
                std::thread::sleep(Duration::from_millis(30));
            }
            world.phase("exchange");
            world.context().put(words.slice(..4), [step; 4], next).await?;
            world.tracing(step == 0);
            world.barrier_all().await?;
        }
        world.phase("");
        world.barrier_all().await
    });
    let trace = read(&folder.0);
    assert_eq!(trace.phases, ["compute", "exchange"]);
    for pe in &trace.pes {
        let names: Vec<_> = pe.phases.iter().map(|(_, name)| *name).collect();
        assert_eq!(names, [Some(0), Some(1), Some(0), Some(1), None], "also while recording was off");
        let puts = of(pe, Call::Put);
        assert!(puts.len() == 2 && puts.iter().all(|put| pe.phase_at(put.begin) == Some(1)), "{pe:?}");
        assert_eq!(pe.phase_at(of(pe, Call::AllocZeroed)[0].begin), None);
    }
    let page = std::fs::read_to_string(folder.0.join("report.html")).unwrap();
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let [compute, exchange, outside] = &data["phases"].as_array().unwrap()[..] else { panic!("{data}") };
    assert!(compute[0] == "compute" && exchange[0] == "exchange" && outside[0].is_null(), "{data}");
    // Of the slow one alone two times 30 ms, and as a mean a third of that.
    let computed = compute[2].as_u64().unwrap();
    assert!(computed >= 20_000_000, "{compute}");
    assert!(compute[6].as_f64().unwrap() > 0.3 && compute[7] == 1, "{compute}");
    assert_eq!([&exchange[8], &exchange[9], &exchange[10]], [6, 6, 6 * 32], "{exchange}");
    let waits = data["waits"].as_array().unwrap();
    let slowest = waits.iter().find(|wait| wait[6] == "exchange").unwrap();
    assert!(slowest[4] == 1 && slowest[3].as_u64().unwrap() > 10_000_000, "{slowest}");
    let json = std::fs::read_to_string(folder.0.join("trace.json")).unwrap();
    assert_eq!(json.matches(r#""name":"compute","cat":"phase""#).count(), 6);
    assert_eq!(json.matches(r#", phases"}"#).count(), 3);
}

#[test]
fn nobody_but_its_owner_reads_a_recording_whatever_the_umask() {
    let _limit = time_limit(60);
    let folder = Folder::new();
    let deep = folder.0.join("deep");
    let job = Job::new(test_name!(), 2).launcher_args(&["--trace", deep.to_str().unwrap()]);
    job.end(|| {
        // SAFETY: it changes what this process gives to the files that it makes.
        unsafe { libc::umask(0) };
        futures::executor::block_on(async { oxshmem::init().await?.finalize().await }).unwrap();
    });
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!([&folder.0, &deep].map(|folder| mode(folder)), [0o700; 2]);
    let mut files: Vec<_> = std::fs::read_dir(&deep).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["pe-0.trace", "pe-1.trace", "report.html", "trace.json"]);
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
        // As older versions have left them.
        std::fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    }
    let written = trace::write(&deep).unwrap();
    assert!(written.files.iter().all(|file| mode(file) == 0o600), "{written:?}");
}

#[test]
fn a_damaged_file_is_named_and_costs_no_other_pe_its_record() {
    let _limit = time_limit(60);
    let folder = Folder::new();
    cluster(3, folder.settings(), |world| async move { some_of_each(&world).await }).unwrap();
    std::fs::write(folder.0.join("pe-1.trace"), b"short").unwrap();
    let (trace, unreadable) = trace::read(&folder.0).unwrap();
    assert_eq!(trace.pes.iter().map(|pe| pe.pe).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(unreadable.len(), 1);
    assert!(unreadable[0].contains("pe-1.trace is left out: it has 5 bytes"), "{unreadable:?}");
    let written = trace::write(&folder.0).unwrap();
    assert!(written.files.iter().all(|file| file.metadata().unwrap().len() > 1000));
}

#[test]
fn a_cluster_of_a_thousand_pes_is_recorded() {
    let _limit = time_limit(240);
    if !on_one_host("so many PEs on several hosts take long") || is_played("a thousand PEs") {
        return;
    }
    let folder = Folder::new();
    let mut settings = folder.settings();
    settings.symmetric_size = 1 << 20;
    let n = 1000;
    let done = cluster(n, settings, move |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        world.context().add(word.at(0), 1, (world.my_pe() + 1) % n).await?;
        world.barrier_all().await?;
        assert_eq!(word.at(0).load(), 1);
        Ok(())
    });
    done.unwrap();
    let trace = read(&folder.0);
    assert_eq!(trace.pes.len(), n);
    for (number, pe) in trace.pes.iter().enumerate() {
        assert_eq!(pe.traffic, [Traffic { pe: (number + 1) % n, operations: 1, bytes: 8 }]);
        assert_eq!(only(pe, Call::Add).target, Some((number + 1) % n));
    }
}
