//! A store that outlives its PEs: each key on two of them, with HTTP on every PE.
//!
//! PEs may be killed at any time, and replacements fill themselves again; `store.rs` says how that
//! is right, `member.rs` how PEs agree, `server.rs` what can be asked. Every PE runs clients too,
//! which record what they ask and what becomes of it. In the end the first PE checks that: no
//! acknowledged write may be lost, and no read may be stale. With `--kill` a PE is killed every
//! second.
//!
//! ```text
//! cd target/release/examples
//! oshrun -np 4 ./replicated                                       # for a second
//! oshrun -np 4 --on-loss=continue --respawn 100 ./replicated --seconds 60 --kill
//! ./replicated --check DIR --picture latencies.svg                # what --history DIR left
//! ```

mod check;
mod client;
mod history;
mod member;
mod picture;
mod server;
mod store;

use std::{path::Path, path::PathBuf, process::ExitCode, sync::Arc};

use clap::{Parser, value_parser};
use client::Client;
use history::{Failure, History, Recorder, now};
use member::{Member, Plan};
use oxshmem::{InitOptions, prelude::*, settings::Settings};
use tokio::{net::TcpListener, sync::watch};

/// Clients of each PE.
const CLIENTS: usize = 2;

#[derive(Clone, Parser)]
#[command(about = "A store with each key on two PEs, which goes on when PEs are lost")]
struct Options {
    /// For how long clients send requests
    #[arg(long, default_value_t = 1)]
    seconds: u64,

    /// Keys of the store
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..))]
    keys: u32,

    /// A PE is killed every second, by chance, but for the last two
    #[arg(long)]
    kill: bool,

    /// Empty or new folder for what clients record, which is kept then
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,

    /// Checks what clients have recorded there, without a job
    #[arg(long, value_name = "DIR", conflicts_with_all = ["history", "kill"])]
    check: Option<PathBuf>,

    /// File that the latencies are drawn to over time, as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let begin = now();
    let options = Options::parse();
    let outcome = match &options.check {
        Some(folder) => check(folder, options.picture.as_deref()),
        None => join(options, begin).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("replicated: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the history in `folder` is right.
fn check(folder: &Path, picture: Option<&Path>) -> Result<(), Failure> {
    let history = History::load(folder)?;
    let report = check::check(&history);
    println!("{report}");
    if let Some(file) = picture {
        std::fs::write(file, picture::svg(&history))?;
        println!("the latencies are drawn in {}", file.display());
    }
    if report.is_right() { Ok(()) } else { Err("the store was not right".into()) }
}

async fn join(options: Options, begin: u64) -> Result<(), Failure> {
    let settings = Settings::from_env()?;
    let world = oxshmem::init_with(InitOptions::from(settings).survive_loss()).await?;
    match run(&world, options, begin).await {
        Ok(()) => Ok(world.finalize().await?),
        Err(error) => {
            eprintln!("replicated: PE {}: {error}", world.my_pe());
            // It ends the job: the others may wait for this PE.
            Ok(world.global_exit(1).await?)
        }
    }
}

/// This PE, whose process began at `begin`.
async fn run(world: &World, options: Options, begin: u64) -> Result<(), Failure> {
    let (me, is_replacement) = (world.my_pe(), world.is_replacement());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let mut plan = None;
    if me == 0 && !is_replacement {
        let temporary = || std::env::temp_dir().join(format!("replicated-{}", std::process::id()));
        let folder = std::path::absolute(options.history.clone().unwrap_or_else(temporary))?;
        std::fs::create_dir_all(&folder)?;
        if std::fs::read_dir(&folder)?.next().is_some() {
            return Err(format!("{} is not empty", folder.display()).into());
        }
        let begin = now();
        plan = Some(Plan { folder, begin, end: begin + options.seconds * 1_000_000_000, killed: 0 });
    }
    let keys = options.keys as usize;
    let Some(mut member) = Member::begin(world.clone(), keys, port, options.kill, plan).await? else {
        return Ok(());
    };
    // A replacement that was let in when all was over has none.
    let Some(Plan { folder, .. }) = member.plan.clone() else { return Ok(()) };
    let recorder = Arc::new(Recorder::new(&folder, me)?);
    if is_replacement {
        recorder.filled(me, begin)?;
    }
    tokio::spawn(server::serve(listener, member.store.clone()));

    let (stop, stopped) = watch::channel(false);
    let (ended, clients) = watch::channel(CLIENTS);
    let ended = Arc::new(ended);
    for number in 0..CLIENTS {
        let client = Client {
            recorder: recorder.clone(),
            ports: member.ports.clone(),
            keys,
            number: (number, CLIENTS),
            stopped: stopped.clone(),
        };
        let (ended, seed) = (ended.clone(), u64::from(std::process::id()) << 8 | number as u64);
        tokio::spawn(async move {
            if let Err(error) = client.run(seed).await {
                eprintln!("replicated: PE {me}: a client: {error}");
            }
            ended.send_modify(|clients| *clients -= 1);
        });
    }
    member.run(&recorder, &clients, &stop).await?;
    // The others wait in `finalize`.
    if member.team.my_pe() == 0 {
        check(&folder, options.picture.as_deref())?;
        if options.history.is_none() {
            std::fs::remove_dir_all(&folder)?;
        }
    }
    Ok(())
}
