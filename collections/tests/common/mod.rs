//! What the tests of collections have in common.

#![allow(dead_code, reason = "not all of them use all of it")]

use std::{future::Future, pin::pin, task::Poll};

use oxshmem::{ClusterOptions, Link};

/// The next number that looks random.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *seed >> 33
}

/// Polls a future for a few times; `None` if it is not ready then, and was dropped.
pub(crate) async fn for_a_while<F: Future>(future: F, polls: u64) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..=polls {
        if let Poll::Ready(output) = futures::poll!(future.as_mut()) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// PEs on this many hosts, also over a modelled network.
pub(crate) fn options(hosts: usize, link: bool) -> ClusterOptions {
    let options = ClusterOptions::default().hosts(hosts);
    if link && hosts > 1 { options.link(Link::default()) } else { options }
}
