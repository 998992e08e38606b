//! A PE that the tests of `oshrun` start: its first argument says how it behaves.

use std::{
    future::Future,
    io::Write,
    pin::pin,
    process::{Command, ExitCode, exit},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use oxshmem_base::{Error, Result, settings::Settings};
use oxshmem_job::{Bootstrap, Launched, Placement, suite};
use oxshmem_progress::activity::{Activity, Call, Kind};
use oxshmem_spaces::Pe;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match behave(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::from(9)
        }
    }
}

fn behave(args: &[&str]) -> Result<()> {
    match args {
        ["suite"] => suite::runtime().block_on(async {
            let pe = init()?;
            suite::check(&pe).await;
            pe.finalized();
            Ok(())
        }),
        ["where"] => {
            let pe = init()?;
            let Placement { pe: me, local, host, .. } = pe.placement();
            println!("{me} {host} {local:?}");
            pe.finalized();
            Ok(())
        }
        // As `init` begins, however it was started: says which PE of how many it is.
        ["begin"] => {
            let pe = block_on(oxshmem_job::from_env(&Settings::default(), |foreign| {
                eprintln!("warning: {foreign}")
            }))?;
            println!("PE {} of {}", pe.placement().pe, pe.placement().n_pes);
            pe.finalized();
            Ok(())
        }
        // All but one PE join, and none goes on.
        ["hang", which] => {
            let absent = std::env::var("OXSHMEM_JOB").is_ok_and(|job| job.contains(&format!("pe={which},")));
            let _pe = if absent { None } else { Some(init()?) };
            std::thread::sleep(Duration::from_secs(1000));
            Ok(())
        }
        // Says which process it is, and never comes back to the library.
        ["compute", file] => {
            let pe = init()?;
            block_on(pe.barrier())?;
            note_process(file);
            loop {
                std::hint::black_box(());
            }
        }
        // Goes on after it has left the job.
        ["finalized", file] => {
            let pe = init()?;
            pe.finalized();
            note_process(file);
            std::thread::sleep(Duration::from_secs(1000));
            Ok(())
        }
        ["meet-without-io"] => {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime.map_err(|error| Error::system("test", error))?.block_on(async {
                let pe = init()?;
                pe.barrier().await?;
                pe.finalized();
                Ok(())
            })
        }
        ["meet", bytes] => {
            let pe = init()?;
            let (me, length) = (pe.placement().pe as u8, number(bytes) as usize);
            let all = block_on(pe.exchange(vec![me; length]))?;
            assert!(all.iter().enumerate().all(|(pe, given)| *given == vec![pe as u8; length]));
            block_on(pe.barrier())?;
            pe.finalized();
            Ok(())
        }
        ["twice"] => {
            for round in 0..2 {
                let pe = init()?;
                suite::runtime().block_on(suite::check(&pe));
                pe.finalized();
                println!("round {round}");
            }
            Ok(())
        }
        ["again-while-in"] => {
            let pe = init()?;
            let second = Launched::from_env();
            block_on(pe.barrier())?;
            pe.finalized();
            second.map(drop)
        }
        ["grandchild"] => {
            let pe = init()?;
            block_on(pe.barrier())?;
            let own = std::env::current_exe().map_err(|error| Error::system("test", error))?;
            let output = Command::new(own).arg("suite").output();
            let output = output.map_err(|error| Error::system("test", error))?;
            print!("{}", String::from_utf8_lossy(&output.stdout));
            pe.finalized();
            Ok(())
        }
        // One PE leaves as the argument says, the others wait for it.
        ["one-exits", which, status] => {
            let pe = init()?;
            block_on(pe.barrier())?;
            if pe.placement().pe.to_string() == *which {
                exit(number(status));
            }
            block_on(pe.barrier())
        }
        ["one-never-inits"] => {
            if std::env::var("OXSHMEM_JOB").is_ok_and(|job| job.contains("pe=0")) {
                return Ok(());
            }
            let pe = init()?;
            block_on(pe.barrier())
        }
        ["one-aborts", which, status, why] => {
            let pe = init()?;
            block_on(pe.barrier())?;
            if pe.placement().pe.to_string() == *which {
                pe.abort(number(status), why);
                print!("flushed late");
                exit(number(status));
            }
            block_on(pe.barrier())
        }
        // Outlives SIGTERM, to print what the launcher asked of it.
        ["outlive", status] => {
            // SAFETY: ignoring a signal installs no handler.
            unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
            let pe = init()?;
            block_on(pe.barrier())?;
            if pe.placement().pe == 0 {
                match number(status) {
                    0 => exit(0),
                    status => pe.abort(status, ""),
                }
            }
            let error = block_on(pe.barrier()).err();
            println!("{}", error.map(|error| error.to_string()).unwrap_or_default());
            Ok(())
        }
        // Prints its process number, and the same again from a child, and stays.
        ["stay"] => {
            let pe = init()?;
            block_on(pe.barrier())?;
            let script = "trap '' TERM; echo $$; sleep 1000 & wait; sleep 1000";
            let child = Command::new("/bin/sh").args(["-c", script]).spawn();
            let _child = child.map_err(|error| Error::system("test", error))?;
            println!("{}", std::process::id());
            block_on(pe.barrier())?;
            std::thread::sleep(Duration::from_secs(1000));
            Ok(())
        }
        // Joins with symmetric memory. PE 0 says that it puts, and the others that they are in a
        // barrier, until they are killed.
        ["busy", ..] => {
            let pe = suite::runtime().block_on(Pe::join(Arc::new(init()?), Settings::from_env()?))?;
            if pe.me() == 0 {
                loop {
                    if pe.board().is_watched() {
                        pe.board().operation(Kind::Put, 64, Some(1));
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            let _entry = pe.board().enter(&Activity::collective(Call::Barrier, 0, 7));
            std::thread::sleep(Duration::from_secs(1000));
            Ok(())
        }
        ["lines", count, length] => {
            let pe = std::env::var("OXSHMEM_JOB").unwrap_or_default();
            let pe = pe.split(',').find_map(|field| field.strip_prefix("pe=")).unwrap_or("0");
            let letter = b'a' + pe.parse::<u8>().unwrap_or_default();
            let mut line = vec![letter; number(length) as usize];
            line.push(b'\n');
            let mut out = std::io::stdout().lock();
            for _ in 0..number(count) {
                out.write_all(&line).map_err(|error| Error::system("test", error))?;
            }
            Ok(())
        }
        _ => panic!("no such behaviour: {args:?}"),
    }
}

fn init() -> Result<Launched> {
    Launched::from_env().map(|pe| pe.expect("oshrun starts this program"))
}

fn note_process(file: &str) {
    let file = std::fs::File::options().create(true).append(true).open(file);
    let line = format!("{}\n", std::process::id());
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("a file of the test");
}

fn number(text: &str) -> i32 {
    text.parse().expect("a number")
}

/// Without a runtime, what waits blocks inside `poll`.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
