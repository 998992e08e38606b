//! PEs of this process that find each other by a rendezvous, and what disturbs them.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use oxshmem_base::{Distribution, Error, Result, settings::OnLoss};

use super::{Met, Rendezvous};
use crate::{Bootstrap, suite};

/// An address of this machine at which nothing listens.
fn address() -> String {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    free.to_string()
}

fn given(address: &str, pe: usize, n: usize) -> Rendezvous {
    let timeout = Duration::from_secs(20);
    Rendezvous { secret: Some(vec![7; 32]), timeout, ..Rendezvous::new(address, pe, n) }
}

fn join(given: Rendezvous) -> Result<Met> {
    suite::runtime().block_on(Met::as_pe(given, OnLoss::End, None))
}

fn refusal(given: Rendezvous) -> String {
    join(given).map(drop).expect_err("refused").to_string()
}

/// All PEs of a job, each in a thread; what each does.
fn on_threads<T: Send>(n: usize, hosts: &Distribution, task: impl Fn(Met) -> T + Sync) -> Vec<T> {
    let address = address();
    thread::scope(|scope| {
        let pes: Vec<_> = (0..n)
            .map(|pe| {
                let given = Rendezvous { fake_hosts: hosts.clone(), ..given(&address, pe, n) };
                let task = &task;
                scope.spawn(move || task(join(given).expect("joined")))
            })
            .collect();
        pes.into_iter().map(|pe| pe.join().expect("no panic")).collect()
    })
}

fn check(pe: Met) {
    let pe = Arc::new(pe);
    suite::runtime().block_on(suite::check(&*pe));
    pe.finalized();
}

#[test]
fn passes_the_suite() {
    for n in [1, 2, 3, 7] {
        on_threads(n, &Distribution::default(), check);
    }
}

#[test]
fn passes_the_suite_on_several_hosts() {
    for (n, hosts) in [(2, "2"), (5, "2"), (6, "3+1+2"), (7, "3:cyclic")] {
        on_threads(n, &hosts.parse().unwrap(), check);
    }
}

#[test]
fn a_lost_pe_and_a_lost_pe_0_end_what_the_others_wait_for() {
    for lost in [0, 2] {
        on_threads(3, &Distribution::default(), |pe| {
            if pe.placement().pe == lost {
                // Until the others wait.
                thread::sleep(Duration::from_millis(50));
                return drop(pe);
            }
            for _ in 0..2 {
                let error = suite::runtime().block_on(pe.barrier()).unwrap_err();
                assert!(matches!(error, Error::PeLost { pe, .. } if pe == lost), "{error}");
            }
            assert_eq!(pe.lost().map(|(pe, _)| pe), Some(lost));
            assert_eq!(pe.global_exit(), None);
        });
    }
}

#[test]
fn a_global_exit_reaches_all_with_its_status() {
    for exits in [0, 2] {
        on_threads(3, &Distribution::default(), |pe| {
            if pe.placement().pe == exits {
                thread::sleep(Duration::from_millis(50));
                pe.abort(-7, "");
            }
            let error = suite::runtime().block_on(pe.barrier()).unwrap_err();
            assert!(matches!(error, Error::GlobalExit { pe, status: -7 } if pe == exits), "{error}");
            assert_eq!(pe.global_exit(), Some((exits, -7)));
            let mut polled = [rustix::event::PollFd::from_borrowed_fd(
                pe.hangs_up().expect("there is one"),
                rustix::event::PollFlags::RDHUP,
            )];
            assert_eq!(rustix::event::poll(&mut polled, None), Ok(1));
        });
    }
}

#[test]
fn a_job_that_ends_makes_room_for_the_next_at_its_address() {
    let address = address();
    thread::scope(|scope| {
        for pe in 0..3 {
            let address = &address;
            scope.spawn(move || {
                for round in 0..5 {
                    let met = join(given(address, pe, 3)).expect("joined");
                    let all = suite::runtime().block_on(met.exchange(vec![round, pe as u8])).unwrap();
                    assert!(all.iter().enumerate().all(|(pe, given)| *given == [round, pe as u8]));
                    suite::runtime().block_on(met.barrier()).unwrap();
                    met.finalized();
                }
            });
        }
    });
}

#[test]
fn pes_that_do_not_come_are_named_to_all_that_have() {
    let address = address();
    let timeout = Duration::from_millis(700);
    thread::scope(|scope| {
        let come = [0, 3].map(|pe| {
            let given = Rendezvous { timeout, ..given(&address, pe, 6) };
            scope.spawn(move || refusal(given))
        });
        let expected = format!("init: 4 of 6 PEs have not come to {address} within 0.7 s: 1-2,4-5");
        for come in come {
            let text = come.join().unwrap();
            assert!(text.starts_with(&expected), "{text}");
        }
    });
    let text = refusal(Rendezvous { timeout, ..given(&address, 1, 2) });
    assert!(text.contains("PE 1 has not reached PE 0 at") && text.contains("refused"), "{text}");
}

#[test]
fn a_wrong_secret_a_number_twice_and_another_count_are_one_line_there_and_the_job_goes_on() {
    let address = address();
    thread::scope(|scope| {
        let begins = |pe| {
            let given = given(&address, pe, 3);
            scope.spawn(move || join(given).map(check))
        };
        let (zero, one) = (begins(0), begins(1));
        // Until PE 1 is there.
        thread::sleep(Duration::from_millis(300));
        let text = refusal(Rendezvous { secret: Some(vec![8; 32]), ..given(&address, 2, 3) });
        assert!(text.contains("PE 2 has another secret") && !text.contains('\n'), "{text}");
        let text = refusal(given(&address, 1, 3));
        assert!(text.contains("two processes have the number 1") && !text.contains('\n'), "{text}");
        let text = refusal(given(&address, 2, 4));
        assert!(text.contains("has 4 PEs, and PE 0 that it has 3") && !text.contains('\n'), "{text}");
        let text = refusal(Rendezvous { timeout: Duration::from_millis(200), ..given(&address, 0, 3) });
        assert!(text.contains("another PE 0, or another program, listens there"), "{text}");
        let two = begins(2);
        for pe in [zero, one, two] {
            pe.join().unwrap().expect("joined");
        }
    });
}

#[test]
fn a_pe_that_ends_before_all_have_come_may_come_again() {
    let address = address();
    thread::scope(|scope| {
        let zero = scope.spawn(|| join(given(&address, 0, 3)).map(check));
        suite::runtime().block_on(async {
            let first = Met::as_pe(given(&address, 1, 3), OnLoss::End, None);
            let waited = tokio::select! {
                biased;
                joined = first => Some(joined),
                () = async { tokio::task::spawn_blocking(|| thread::sleep(Duration::from_millis(300))).await.unwrap() } => None,
            };
            assert!(waited.is_none(), "PE 2 is not there yet");
        });
        let others = [1, 2].map(|pe| {
            let given = given(&address, pe, 3);
            scope.spawn(move || join(given).map(check))
        });
        for pe in others.into_iter().chain([zero]) {
            pe.join().unwrap().expect("joined");
        }
    });
}

#[test]
fn strangers_neither_end_the_job_nor_hold_it_up() {
    let address = address();
    thread::scope(|scope| {
        let zero = scope.spawn(|| join(given(&address, 0, 2)).map(check));
        while TcpStream::connect(&address).is_err() {
            thread::sleep(Duration::from_millis(5));
        }
        let connect = || TcpStream::connect(&address).expect("PE 0 listens");
        // Garbage, which is closed; requests of others; much of it.
        for garbage in [&b"GET / HTTP/1.1\r\n\r\n-----------------------"[..], &[0; 40], &[0xff; 100_000]] {
            let mut stranger = connect();
            let _ = stranger.write_all(garbage);
            let mut rest = Vec::new();
            stranger.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
            // Closed, or reset.
            let _ = stranger.read_to_end(&mut rest);
            assert!(rest.is_empty());
        }
        // One that begins well, and says nothing more.
        let mut silent = connect();
        silent.write_all(b"oxshmemr01234567890123456789012345678901").unwrap();
        let mut second = [0; 64];
        silent.read_exact(&mut second).unwrap();
        // A thousand at once, of which some send a byte now and then.
        let mut many: Vec<_> = (0..1000).filter_map(|_| TcpStream::connect(&address).ok()).collect();
        let begin = Instant::now();
        let one = scope.spawn(|| join(given(&address, 1, 2)).map(check));
        while !one.is_finished() {
            for stranger in &mut many {
                let _ = stranger.write(b"o");
            }
            thread::sleep(Duration::from_millis(100));
        }
        one.join().unwrap().expect("joined");
        zero.join().unwrap().expect("joined");
        assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    });
}
