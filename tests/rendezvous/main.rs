//! Jobs whose processes no launcher started: they find each other at an address.

#[path = "../common/busy.rs"]
mod busy;
#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod jobs;
mod losses;
#[path = "../common/namespaces.rs"]
mod namespaces;
mod strangers;

use std::{
    fs,
    io::Write,
    net::TcpListener,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use common::{Ended, Job, PeRuntime, Running};
use oxshmem::{Result, World};
use oxshmem_base::owned;

/// What the processes of a job have in common.
struct Apart {
    test: &'static str,
    address: String,
    n: usize,
    secret: PathBuf,
    runtime: PeRuntime,
}

impl Apart {
    /// `n` processes of the test of this name, which have a secret.
    fn new(test: &'static str, n: usize) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        Self::at(test, n, &free.to_string())
    }

    fn at(test: &'static str, n: usize, address: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("rendezvous-secret-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let secret = std::env::temp_dir().join(name);
        // A PE of the test gets as far as this, too.
        if std::env::var_os("OXSHMEM_TEST_BODY").is_none() {
            let mut file = owned::file(&secret).expect("the secret");
            file.write_all(b"a secret of the tests alone\n").expect("is written");
        }
        Self { test, address: address.to_owned(), n, secret, runtime: PeRuntime::CurrentThread }
    }

    fn runtime(mut self, runtime: PeRuntime) -> Self {
        self.runtime = runtime;
        self
    }

    /// One of them, which is yet to start.
    fn job(&self, pe: usize) -> Job {
        let secret = self.secret.display();
        Job::alone(self.test)
            .runtime(self.runtime)
            .env(&format!("SHMEM_RENDEZVOUS={}", self.address))
            .env(&format!("SHMEM_RENDEZVOUS_RANK={pe}"))
            .env(&format!("SHMEM_RENDEZVOUS_SIZE={}", self.n))
            .env(&format!("SHMEM_RENDEZVOUS_SECRET={secret}"))
            .env("SHMEM_RENDEZVOUS_TIMEOUT=30")
            .env("SHMEM_FAKE_HOSTS=1")
    }

    /// Starts all of them, the last first.
    fn start(&self, body: impl Fn()) -> Vec<Running> {
        let mut all: Vec<_> = (0..self.n).rev().map(|pe| self.job(pe).start(&body)).collect();
        all.reverse();
        all
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.secret);
    }
}

/// Waits for the end of all.
fn ends(all: Vec<Running>) -> Vec<Ended> {
    all.into_iter().map(Running::end).collect()
}

#[track_caller]
fn assert_all_well(all: Vec<Running>) {
    for (pe, ended) in ends(all).iter().enumerate() {
        assert_eq!(ended.status, 0, "PE {pe}: {}\n{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(&format!("PE {pe} has all")), "{}", ended.stdout);
    }
}

/// Each PE puts to all others and adds on them, and all sum up.
async fn talk(world: World) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let inbox = world.alloc_zeroed::<u64>(n).await?;
    let sum = world.alloc_zeroed::<u64>(2).await?;
    for pe in 0..n {
        ctx.put(inbox.at(me), 100 + me as u64, pe).await?;
        ctx.add(sum.at(0), 1 << (8 * me), pe).await?;
    }
    world.barrier_all().await?;
    assert!((0..n).all(|pe| inbox.at(pe).load() == 100 + pe as u64));
    assert_eq!(sum.at(0).load(), (0..n).map(|pe| 1 << (8 * pe)).sum::<u64>());
    let mine = world.alloc_zeroed::<u64>(1000).await?;
    let all = world.alloc_zeroed::<u64>(1000).await?;
    mine.view().fill(me as u64 + 1);
    world.team().sum_reduce(&all, &mine).await?;
    assert_eq!(all.view().to_vec(), vec![(n * (n + 1) / 2) as u64; 1000]);
    println!("PE {me} has all");
    Ok(())
}

/// The main function of a PE that runs `body` between `init` and `finalize`.
fn main_of<F: Future<Output = Result<()>>>(body: impl FnOnce(World) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    let end = runtime.block_on(async {
        let world = oxshmem::init().await?;
        body(world.clone()).await?;
        world.finalize().await
    });
    if let Err(error) = end {
        eprintln!("Error: {error}");
        std::process::exit(1);
    }
}
