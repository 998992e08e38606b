//! Over TCP between the PEs of one process, each of which has a UCX of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::*;
use crate::{
    bootstrap::{Hosts, Local},
    executor::Patience,
    fabric::Fabric,
    memory::SegmentId,
    net::suite::{self, End, Job, MEMORY},
    settings::FenceSide,
};

/// Whether TCP is taken for another network, for which there is none here: puts and gets are UCX's own then, and it offers what is long.
pub(super) static OTHER_NETWORK: AtomicBool = AtomicBool::new(false);

/// Three PEs on hosts of their own, whose waits may look around for so long, if there is a UCX.
fn three(spin: Duration) -> Option<Vec<End>> {
    Some(three_with_workers(spin)?.into_iter().map(|(end, _)| end).collect())
}

/// The same with their workers.
pub(super) fn three_with_workers(spin: Duration) -> Option<Vec<(End, Arc<Worker>)>> {
    if let Err(error) = Ucx::load() {
        println!("skipped: {error}");
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let joining = Local::cluster_on(Hosts::blocks([1, 1, 1])).into_iter().map(|local| async move {
        let fabric = Arc::new(Fabric::new(1, 1 << 30, true).unwrap());
        let memory = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, MEMORY);
        let patience = Patience { spin, hold: Duration::ZERO, yields: 0, looks: false };
        let bell = Arc::clone(fabric.bell(0));
        let control = Arc::clone(&fabric.control);
        let executor = Arc::new(Executor::new(0, control, FenceSide::Writer, bell, patience));
        let pe = local.placement().pe;
        let bootstrap: Arc<dyn Bootstrap> = Arc::new(local);
        let net =
            connect(&bootstrap, &executor, memory.clone(), fabric.control.scratch(), None).await.unwrap();
        let worker = Arc::clone(&net.worker);
        (End { pe, net: Arc::new(net), memory, block: 0 }, worker)
    });
    Some(runtime.block_on(futures_all(joining)))
}

/// All outputs, of futures that wait for each other.
async fn futures_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, output) in &mut futures {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if futures.iter().all(|(_, output)| output.is_some()) {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
    futures.into_iter().filter_map(|(_, output)| output).collect()
}

#[test]
fn ucx_passes_the_suite_of_all_nets() {
    for (spin, other) in [(0, false), (2, false), (2, true)] {
        // Relaxed: the threads that read it are started later.
        OTHER_NETWORK.store(other, Ordering::Relaxed);
        let spin = Duration::from_micros(spin);
        let Some(ends) = three(spin) else { return };
        // As threads do that wait.
        let progress = || ends.iter().for_each(|end| _ = end.net.poll());
        suite::check(&Job { ends: &ends, progress: &progress, cpu_atomics: true });
    }
}

#[test]
fn what_nobody_talks_to_costs_a_few_bytes_a_pe() {
    let peer = size_of::<Option<Box<worker::Peer>>>();
    assert!(peer <= 64, "{peer} bytes");
}
