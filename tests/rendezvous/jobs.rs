//! How jobs without a launcher begin and end, on one host.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use oxshmem::{InitOptions, Rendezvous, prelude::*};
use oxshmem_base::settings::Settings;

use crate::busy;
use crate::common::{
    Job, PeRuntime, Running, assert_nothing_left, kill, shared_names, test_name, time_limit,
};
use crate::{Apart, assert_all_well, ends, main_of, talk};

/// Waits for what never comes.
async fn wait_for_ever(world: World) -> oxshmem::Result<()> {
    let word = world.alloc_zeroed::<u64>(1).await?;
    word.at(0).wait_until(Cmp::Eq, 1).await.map(drop)
}

fn pids(all: &[Running]) -> Vec<u32> {
    all.iter().map(Running::launcher).collect()
}

#[test]
fn processes_find_each_other_and_share_memory_in_every_runtime() {
    let _limit = time_limit(120);
    let before = shared_names();
    for runtime in PeRuntime::ALL {
        let apart = Apart::new(test_name!(), 4).runtime(runtime);
        let all: Vec<_> = (0..4)
            .map(|pe| {
                apart.job(pe).start(|| {
                    let body = |world: World| async move {
                        assert_eq!(*world.pe().placement().local, [0, 1, 2, 3]);
                        assert!(world.pe().net().is_none());
                        talk(world).await
                    };
                    crate::common::run_as_pe(body);
                })
            })
            .collect();
        assert_all_well(all);
    }
    assert_nothing_left(&before);
}

#[test]
fn a_shell_starts_a_job_with_variables_alone() {
    let _limit = time_limit(60);
    let job = Job::alone(test_name!());
    if std::env::var_os("OXSHMEM_TEST_BODY").is_some() {
        drop(job.start(|| main_of(talk)));
        return;
    }
    let apart = Apart::new(test_name!(), 4);
    let script = format!(
        "for rank in 0 1 2 3; do SHMEM_RENDEZVOUS_RANK=$rank \"$0\" {} --exact --nocapture --test-threads=1 & done; wait",
        test_name!()
    );
    let out = Command::new("timeout")
        .args(["50", "sh", "-c", &script])
        .arg(std::env::current_exe().expect("this program"))
        .env("OXSHMEM_TEST_BODY", test_name!())
        .env("SHMEM_RENDEZVOUS", &apart.address)
        .env("SHMEM_RENDEZVOUS_SIZE", "4")
        .env("SHMEM_RENDEZVOUS_SECRET", &apart.secret)
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(text.matches("has all").count(), 4, "{text}{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn the_variables_of_torchrun_and_a_loopback_address_without_a_secret_will_do() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let (host, port) = apart.address.split_once(':').expect("an address");
    let start = |pe: usize| {
        Job::alone(apart.test)
            .env("SHMEM_RENDEZVOUS=env")
            .env(&format!("MASTER_ADDR={host}"))
            .env(&format!("MASTER_PORT={port}"))
            .env(&format!("RANK={pe}"))
            .env("WORLD_SIZE=3")
            .start(|| main_of(talk))
    };
    assert_all_well((0..3).map(start).collect());
}

#[test]
fn a_program_can_say_it_itself() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let start = |pe: usize| {
        let job = Job::alone(apart.test).env(&format!("AT={}", apart.address)).env(&format!("PE={pe}"));
        job.start(|| {
            let variable = |name| std::env::var(name).expect("it is set");
            let pe = variable("PE").parse().expect("a number");
            let given = Rendezvous { secret: Some(vec![3; 16]), ..Rendezvous::new(variable("AT"), pe, 3) };
            let options = InitOptions::default().settings(Settings::default()).rendezvous(given);
            futures::executor::block_on(async {
                let world = oxshmem::init_with(options).await.expect("init");
                talk(world.clone()).await.expect("all talk");
                world.finalize().await.expect("finalize");
            });
        })
    };
    assert_all_well((0..3).map(start).collect());
}

#[test]
fn a_process_can_be_a_pe_again_after_finalize() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    assert_all_well(apart.start(|| {
        for _ in 0..4 {
            main_of(|world| async move {
                let refused = oxshmem::init().await.err().map(|error| error.to_string());
                let text = format!("init: this process is already PE {}", world.my_pe());
                assert!(refused.is_some_and(|error| error.starts_with(&text)));
                talk(world).await
            });
        }
    }));
}

#[test]
fn a_late_process_is_waited_for_and_one_that_never_comes_is_named() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let start = |pe: usize, limit: u64| {
        let job = apart.job(pe).env(&format!("SHMEM_RENDEZVOUS_TIMEOUT={limit}"));
        job.start(|| main_of(talk))
    };
    // PE 0 is not the first, either.
    let one = start(1, 30);
    thread::sleep(Duration::from_millis(300));
    let zero = start(0, 30);
    thread::sleep(Duration::from_secs(2));
    assert_all_well(vec![zero, one, start(2, 30)]);
    for ended in ends(vec![start(0, 2), start(1, 2)]) {
        assert_eq!(ended.status, 1);
        let line = format!("1 of 3 PEs have not come to {} within 2.0 s: 2\n", apart.address);
        assert!(ended.stderr.ends_with(&line) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
    }
}

#[test]
fn a_lost_pe_ends_the_others_whether_they_wait_compute_or_sleep() {
    let _limit = time_limit(90);
    let before = shared_names();
    for lost in [0, 1, 2] {
        let apart = Apart::new(test_name!(), 4);
        let all = apart.start(|| main_of(busy::for_ever));
        let pids = pids(&all);
        busy::await_all(&pids);
        kill(pids[lost], libc::SIGKILL);
        busy::assert_gone_soon(&pids);
        for (pe, ended) in ends(all).iter().enumerate() {
            assert_ne!(ended.status, 0, "PE {pe}");
            let line =
                format!("oxshmem: PE {lost} is lost: its process, at 127.0.0.1, ended without finalize");
            assert_eq!(ended.stderr.matches(&line).count(), usize::from(pe != lost), "{}", ended.stderr);
        }
    }
    assert_nothing_left(&before);
}

#[test]
fn a_pe_that_returns_without_finalize_is_lost_and_waits_say_so() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let all = apart.start(|| {
        main_of(|world| async move {
            if world.my_pe() == 2 {
                std::process::exit(0);
            }
            wait_for_ever(world).await
        });
    });
    let begin = Instant::now();
    for (pe, ended) in ends(all).iter().enumerate().take(2) {
        assert_eq!(ended.status, 1, "PE {pe}: {}", ended.stderr);
        assert!(ended.stderr.contains("Error: PE 2"), "{}", ended.stderr);
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_pe_whose_world_is_dropped_without_finalize_is_lost_and_its_process_goes_on() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let begin = Instant::now();
    let all = apart.start(|| {
        let world = futures::executor::block_on(oxshmem::init()).expect("init");
        if world.my_pe() == 1 {
            drop(world);
            thread::sleep(Duration::from_secs(8));
            return;
        }
        let error = world.block_on(wait_for_ever(world.clone())).expect_err("PE 1 is lost");
        assert!(matches!(error, oxshmem::Error::PeLost { pe: 1, .. }), "{error}");
        println!("noticed");
        std::process::exit(0);
    });
    let mut all = all.into_iter();
    let (zero, one, two) = (all.next(), all.next(), all.next());
    for other in [zero, two] {
        let ended = other.expect("started").end();
        assert!(ended.stdout.contains("noticed"), "{ended:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(6));
    assert_eq!(one.expect("started").end().status, 0);
}

#[test]
fn pes_whose_settings_differ_say_which_it_is() {
    let _limit = time_limit(60);
    let apart = Apart::new(test_name!(), 3);
    let start = |pe: usize| {
        let size = if pe == 1 { "1M" } else { "2M" };
        apart.job(pe).env(&format!("SHMEM_SYMMETRIC_SIZE={size}")).start(|| main_of(wait_for_ever))
    };
    for ended in ends((0..3).map(start).collect()) {
        assert_eq!(ended.status, 1);
        assert!(ended.stderr.contains("SHMEM_SYMMETRIC_SIZE"), "{}", ended.stderr);
    }
}

#[test]
fn global_exit_gives_its_status_to_all_whether_they_wait_or_compute() {
    let _limit = time_limit(90);
    for exits in [0, 3] {
        let apart = Apart::new(test_name!(), 4);
        let start = |pe: usize| {
            let body = || {
                main_of(|world| async move {
                    let exits: usize = std::env::var("EXITS").expect("set").parse().expect("a number");
                    world.barrier_all().await?;
                    if world.my_pe() == exits {
                        world.global_exit(7).await?;
                    }
                    match world.my_pe() {
                        1 => loop {
                            std::hint::spin_loop();
                        },
                        _ => {
                            let ended = wait_for_ever(world).await.expect_err("nobody sets the word");
                            println!("waited");
                            let oxshmem::Error::GlobalExit { status, .. } = ended else { return Err(ended) };
                            std::process::exit(status)
                        }
                    }
                });
            };
            apart.job(pe).env(&format!("EXITS={exits}")).start(body)
        };
        let begin = Instant::now();
        for (pe, ended) in ends((0..4).map(start).collect()).iter().enumerate() {
            assert_eq!(ended.status, 7, "PE {pe}: {}", ended.stderr);
            assert_eq!(ended.stdout.contains("waited"), pe != exits && pe != 1);
            let line = format!("oxshmem: PE {exits} ended the job with global_exit(7); so does PE {pe}\n");
            // One that waits may end by itself before its thread says why.
            let may_be_silent = pe != 1;
            assert!(
                ended.stderr == line || may_be_silent && ended.stderr.is_empty(),
                "PE {pe}: {}",
                ended.stderr
            );
            assert!(pe != exits || ended.stderr.is_empty());
        }
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}
