//! What the tests of several PEs share: a time limit for each, PEs as tasks of this process, and
//! PEs as real processes under `oshrun`, for which the test program starts itself again.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test file uses some of it")]

mod processes;
mod watchdog;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use oxshmem::{
    ClusterOptions, Error, Link, LocalCluster, Result, World,
    settings::{GpuSharing, Settings},
};

pub(crate) use processes::{
    Ended, Job, Launcher, PeRuntime, Running, assert_nothing_left, cpu_time, has_ucx, is_alive, kill,
    reaches_hosts, run_as_pe, shared_names, stop, turns, turns_of_others,
};
pub(crate) use watchdog::{TimeLimit, child_ended, child_started, doing, is_played, stretched, time_limit};

/// How many PEs the tests run with: 1, 2, 3, 4 and 7, or what `OXSHMEM_TEST_PES` lists (`"2,16"`).
pub(crate) fn pe_counts() -> Vec<usize> {
    match std::env::var("OXSHMEM_TEST_PES") {
        Ok(list) => list.split([',', ' ']).filter_map(|n| n.trim().parse().ok()).collect(),
        Err(_) => vec![1, 2, 3, 4, 7],
    }
}

/// What it takes to reach PEs of other simulated hosts, where `SHMEM_FAKE_HOSTS` makes some:
/// nothing, or microseconds of latency and of jitter as `OXSHMEM_TEST_LINK` lists them (`"20,50"`).
pub(crate) fn link() -> Link {
    let text = std::env::var("OXSHMEM_TEST_LINK").unwrap_or_default();
    let mut micros = text.split(',').filter_map(|n| n.trim().parse().ok()).map(Duration::from_micros);
    let mut next = || micros.next().unwrap_or_default();
    Link { latency: next(), jitter: next(), ..Link::default() }
}

/// Whether all PEs are on one host, as they are unless `SHMEM_FAKE_HOSTS` says otherwise. Says why
/// a test does nothing then.
pub(crate) fn on_one_host(why: &str) -> bool {
    let hosts = std::env::var("SHMEM_FAKE_HOSTS").unwrap_or_default();
    let one = ["", "1"].contains(&hosts.as_str());
    if !one {
        println!("skipped with SHMEM_FAKE_HOSTS={hosts}: {why}");
    }
    one
}

/// A small heap, so that many clusters at once stay cheap to reserve.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.symmetric_size = 16 << 20;
    settings
}

/// Every nonblocking operation on an owned buffer is really under way when its call returns.
pub(crate) fn offloading() -> Settings {
    let mut settings = settings();
    settings.offload_threshold = Some(1);
    settings
}

/// Runs `body`, then `finalize`, on each of `n` PEs of a cluster, and returns what `body` did.
pub(crate) fn cluster<R, F>(n: usize, settings: Settings, body: impl Fn(World) -> F) -> Result<Vec<R>>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
    let options = ClusterOptions { settings, link: link(), ..ClusterOptions::default() };
    LocalCluster::run_with(n, options, |world| {
        let body = body(world.clone());
        async move {
            doing(world.my_pe(), "the test's body");
            let result = body.await?;
            doing(world.my_pe(), "finalize");
            world.finalize().await?;
            doing(world.my_pe(), "nothing any more");
            Ok(result)
        }
    })
}

/// In whose presence [`on_pes`] is one PE of the job that this process is in.
pub(crate) const AS_PE: &str = "OXSHMEM_TEST_AS_PE";
/// What [`with_device`] asks for instead of the emulated device: `vmm` or `ipc`, on a real one.
pub(crate) const DEVICE: &str = "OXSHMEM_TEST_DEVICE";

/// [`cluster`] with every number of PEs.
#[track_caller]
pub(crate) fn on_pes<F>(settings: Settings, body: impl Fn(World) -> F)
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    if std::env::var_os(AS_PE).is_some() {
        return as_pe(settings, body);
    }
    for n in pe_counts() {
        if let Err(error) = cluster(n, settings.clone(), &body) {
            panic!("with {n} PEs: {error}");
        }
    }
}

/// Runs `body` as the PE that this process is.
#[track_caller]
fn as_pe<F>(settings: Settings, body: impl Fn(World) -> F)
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    let ended = runtime.block_on(async {
        let world = oxshmem::init_with(settings).await?;
        doing(world.my_pe(), "the test's body");
        body(world.clone()).await?;
        doing(world.my_pe(), "finalize");
        world.finalize().await
    });
    if let Err(error) = ended {
        panic!("as a PE of several processes: {error}");
    }
}

/// Whether this process sees a real device, where tests of there being none do nothing.
pub(crate) fn has_real_device() -> bool {
    #[cfg(feature = "cuda")]
    if oxshmem_spaces::device::cuda::describe().is_ok() {
        println!("skipped in part: there is a real device");
        return true;
    }
    false
}

/// Polls `future` once, with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls `future` once with the task's own waker, and says whether it is still pending.
pub(crate) async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
}

/// What `future` comes to, or a panic that says what did not happen in time.
pub(crate) async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(Duration::from_secs(10), future).await {
        Ok(output) => output,
        Err(_) => panic!("{what} did not happen within 10 s"),
    }
}

/// Why an operation was refused.
#[track_caller]
pub(crate) fn refused<T, E: Into<Error>>(outcome: std::result::Result<T, E>) -> Error {
    match outcome {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.into(),
    }
}

/// Numbers that look random, and are the same each time.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Keeps the processor for up to this many nanoseconds.
    pub(crate) fn spin(&mut self, up_to: u64) {
        let end = std::time::Instant::now() + Duration::from_nanos(self.below(up_to + 1));
        while std::time::Instant::now() < end {
            std::hint::spin_loop();
        }
    }
}

/// The name of the test that this is used in, by which its process PEs find it again.
macro_rules! test_name {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let name = name.strip_suffix("::here").unwrap_or(name);
        name.split_once("::").map_or(name, |(_crate, test)| test)
    }};
}
pub(crate) use test_name;

/// Both spaces, with a device on every PE: the emulated one, unless [`DEVICE`] says otherwise.
pub(crate) fn with_device() -> Settings {
    let mut settings = settings();
    settings.enable_cpu_space = Some("1".to_owned());
    settings.enable_gpu_space = Some("1".to_owned());
    settings.gpu_symmetric_size = Some(8 << 20);
    match std::env::var(DEVICE).as_deref() {
        Ok("vmm") => settings.gpu_sharing = GpuSharing::Vmm,
        Ok("ipc") => settings.gpu_sharing = GpuSharing::Ipc,
        _ => settings.gpu_emulate = true,
    }
    settings
}

/// A test of devices, for a program that has no test harness: its name, itself, and where it runs.
/// `Processes`: on any device, also with a process for each PE. `Cluster`: on any device.
/// `Emulated`: on that one.
pub(crate) type Case = (&'static str, fn(), &'static str);

/// The tests of a file: for the test harness, and as a list for `gpu_verify`, which has none.
macro_rules! cases {
    ($($runs:ident: $($name:ident)*;)*) => {
        #[allow(dead_code, reason = "the test harness has the tests below")]
        pub(crate) const CASES: &[crate::common::Case] = &[$($((stringify!($name), $name as fn(), stringify!($runs)),)*)*];

        mod cases {
            $($(
                #[test]
                fn $name() {
                    super::$name();
                }
            )*)*
        }
    };
}
pub(crate) use cases;
