//! Jobs that run are found, and what their PEs do is seen from outside.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use oxshmem::{Result, World, prelude::*};
use oxshmem_launch::live::{
    find::{LiveJob as Found, jobs},
    sample::{PeView, Sampler, View},
};

use crate::common::{Job, Launcher, kill, on_one_host, test_name, time_limit};
use crate::stuck::main_of;

/// The time in which a job has to be found.
const SOON: Duration = Duration::from_secs(20);
const EVERY: Duration = Duration::from_millis(500);

/// PE 0 puts to PE 1 and gets from it, PE 2 waits in a phase; all until PE 0 is asked to end.
async fn one_puts(world: World) -> Result<()> {
    let words = world.alloc_zeroed::<u64>(1024).await?;
    let ctx = world.context();
    match world.my_pe() {
        // The test ends the job.
        0 => loop {
            for _ in 0..100 {
                ctx.put(words.slice(..8), [7; 8], 1).await?;
                ctx.p(words.at(9), 7, 1).await?;
                ctx.fetch_add(words.at(10), 1, 1).await?;
            }
            ctx.g(words.at(9), 1).await?;
            ctx.quiet().await?;
        },
        2 => {
            world.phase("collect");
            words.at(512).wait_until(Cmp::Ge, 3).await.map(drop)
        }
        _ => loop {
            std::hint::black_box(());
        },
    }
}

/// The job whose PEs these processes are, with a view of it in which PE 0 has done something.
///
/// A job is found as soon as the first of its PEs has joined, under the number that it keeps;
/// `look` goes on until all have.
fn look(processes: &[u32]) -> (Found, View) {
    let is = |job: &Found| processes.iter().all(|&process| job.is(process));
    let mut ids = BTreeSet::new();
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "no such job is found among {:?}", jobs());
        let jobs = jobs();
        let found = jobs.iter().filter(|job| processes.iter().any(|&process| job.is(process)));
        ids.extend(found.map(|job| job.id));
        assert!(ids.len() < 2, "one job under several numbers: {ids:?}");
        if let Some(job) = jobs.into_iter().find(is) {
            let view = Sampler::new(&job).sample_for(EVERY);
            let is_busy = |pe: &PeView| pe.pe == 0 && pe.out_ops > 0.0;
            let waits = |pe: &PeView| pe.pe == 2 && pe.waiting == 1.0;
            if view.pes.iter().any(is_busy) && view.pes.iter().any(waits) {
                return (job, view);
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn check(job: &Found, view: &View) {
    assert_eq!(job.n_pes(), 3);
    let [putting, target, waiting] = &view.pes[..] else { panic!("{view:?}") };
    assert_eq!((putting.pe, target.pe, waiting.pe), (0, 1, 2));
    assert!(putting.out_ops > 300.0, "{putting:?}");
    // Of three operations one has 64 bytes, and two have 8.
    let mean = putting.out_bytes / putting.out_ops;
    assert!((20.0..35.0).contains(&mean), "{mean}: {putting:?}");
    assert_eq!((putting.in_ops, target.out_ops), (0.0, 0.0));
    if on_one_host("what comes from other hosts is not counted by the target") {
        assert!((0.5..2.0).contains(&(target.in_ops / putting.out_ops)), "{view:?}");
    }
    assert_eq!(waiting.call, "wait_until");
    assert_eq!([putting, target, waiting].map(|pe| &pe.phase[..]), ["", "", "collect"]);
    assert!(waiting.arguments.starts_with("u64 at heap offset 0x") && waiting.arguments.ends_with(" >= 3"));
    assert!(waiting.age.is_some() && waiting.waiting > 0.9, "{waiting:?}");
    assert!((8192..1 << 20).contains(&waiting.heap_used) && waiting.heap_size >= waiting.heap_used);
    assert!(waiting.heap_peak >= waiting.heap_used && waiting.teams >= 1, "{waiting:?}");
    assert!(view.imbalance().is_some_and(|imbalance| imbalance > 1.2), "{view:?}");
    let json = view.json(job);
    assert_eq!(
        (&json["table"][2]["in"], &json["table"][2]["phase"]),
        (&"wait_until".into(), &"collect".into())
    );
    assert_eq!(json["pes"], 3);
}

#[test]
fn a_job_of_oshrun_is_found_by_any_of_its_processes_and_counts_while_it_is_looked_at() {
    let _limit = time_limit(90);
    let running = Job::new(test_name!(), 3).start(|| main_of(one_puts));
    let pes = running.pes(3);
    let (job, view) = look(&pes);
    check(&job, &view);
    assert!(!pes.contains(&job.id), "{job:?}");
    assert!(job.program.contains("diagnosis") && job.age < SOON);
    assert_eq!(job.json()["job"], job.id);
    // Nothing looks any more: a while later nothing is counted.
    let counted = || {
        let boards = &job.hosts[0].boards;
        boards.read()[0].counts.operations()
    };
    std::thread::sleep(Duration::from_millis(4500));
    let before = counted();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(counted(), before);
    kill(job.id, libc::SIGTERM);
    running.end();
    assert!(!jobs().iter().any(|job| job.is(pes[0])), "the job is gone");
}

#[test]
fn pes_of_one_process_are_a_job_of_it() {
    let _limit = time_limit(90);
    let running = Job::alone(test_name!()).start(|| {
        LocalCluster::run(3, |world| async move {
            let words = world.alloc_zeroed::<u64>(1024).await?;
            // Tasks of one thread have to let others run.
            while world.my_pe() == 0 {
                for _ in 0..100 {
                    world.context().put(words.slice(..8), [7; 8], 1).await?;
                    world.context().p(words.at(9), 7, 1).await?;
                    world.context().inc(words.at(10), 1).await?;
                }
                tokio::task::yield_now().await;
            }
            words.at(512).wait_until(Cmp::Ge, 3).await
        })
        .expect("it is ended from outside");
    });
    let pid = running.launcher();
    let (job, view) = look(&[pid]);
    assert_eq!(job.id, pid);
    assert_eq!(view.pes[2].call, "wait_until");
    assert!(view.pes[1].in_ops > 0.0, "{view:?}");
    kill(pid, libc::SIGKILL);
    running.end();
}

#[test]
fn jobs_of_other_launchers_are_found_too() {
    let _limit = time_limit(180);
    let is_pe = std::env::var_os("OXSHMEM_TEST_BODY").is_some();
    let launchers = if is_pe { vec![Launcher::Mpirun] } else { Launcher::with_pmix() };
    for launcher in launchers {
        let running = Job::new(test_name!(), 3).under(launcher).start(|| main_of(one_puts));
        let pes = running.pes(3);
        let (job, view) = look(&pes);
        assert!(!pes.contains(&job.id), "{launcher:?}: {job:?}");
        assert_eq!(view.pes[2].call, "wait_until");
        pes.iter().for_each(|&pe| kill(pe, libc::SIGKILL));
        running.end();
    }
}
