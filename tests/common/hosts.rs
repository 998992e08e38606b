//! PEs of a cluster on several simulated hosts.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{future::Future, time::Duration};

use oxshmem::{ClusterOptions, Distribution, LocalCluster, Result, World, settings::Settings};

use crate::common::doing;

/// How PEs are placed on 2, 3 and 4 hosts: evenly and not, one PE a host, in blocks and in turn.
pub(crate) const PLACEMENTS: [&str; 8] =
    ["2+2", "1+3", "3+1+2", "1+1+1", "2+2+2:cyclic", "3+2:cyclic", "1+4+1+2", "2+2+2+1:cyclic"];

/// How many PEs a placement has, and the placement.
pub(crate) fn placement(text: &str) -> (usize, Distribution) {
    let sizes = text.trim_end_matches(":cyclic").split('+');
    let n = sizes.map(|size| size.parse::<usize>().expect("it is a number")).sum();
    (n, text.parse().unwrap_or_else(|e| panic!("{text}: {e}")))
}

/// The host of each PE.
pub(crate) fn host_of(text: &str, n: usize) -> Vec<usize> {
    let hosts = placement(text).1.hosts(n).unwrap_or_else(|e| panic!("{text}: {e}"));
    (0..n).map(|pe| hosts.host_of(pe)).collect()
}

/// Runs `body`, then `finalize`, on each PE of a cluster that is placed like that, and returns what
/// `body` did.
pub(crate) fn placed<R, F>(text: &str, settings: Settings, body: impl Fn(World) -> F) -> Result<Vec<R>>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
    let (n, placement) = placement(text);
    on_hosts(n, placement, settings, body)
}

/// [`placed`] with `n` PEs.
pub(crate) fn on_hosts<R, F>(
    n: usize,
    placement: Distribution,
    settings: Settings,
    body: impl Fn(World) -> F,
) -> Result<Vec<R>>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
    over(n, ClusterOptions { settings, placement, ..ClusterOptions::default() }, body)
}

/// [`placed`], where what goes from host to host takes its time, and overtakes what went before.
pub(crate) fn jittered<R, F>(text: &str, settings: Settings, body: impl Fn(World) -> F) -> Result<Vec<R>>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
    let (n, placement) = placement(text);
    let mut options = ClusterOptions { settings, placement, ..ClusterOptions::default() };
    options.link.latency = Duration::from_micros(3);
    options.link.jitter = Duration::from_micros(60);
    options.link.seed = n as u64;
    over(n, options, body)
}

fn over<R, F>(n: usize, options: ClusterOptions, body: impl Fn(World) -> F) -> Result<Vec<R>>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
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
