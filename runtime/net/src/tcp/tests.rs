//! Between the PEs of one process, each of which has sockets of its own.

use std::{sync::Arc, time::Duration};

use oxshmem_base::{Hosts, settings::FenceSide};
use oxshmem_job::{Bootstrap, Local};
use oxshmem_memory::{Segment, SegmentId};
use oxshmem_progress::{executor::Executor, fabric::Fabric, source::Source, wait::WaitPolicy};

use super::*;
use crate::suite::{self, End, Job, MEMORY};

/// Three PEs on hosts of their own, whose waits may look around for so long, and whose engines are
/// those of PEs in one process or in one each.
pub(super) fn three(spin: Duration, in_process: bool) -> (Vec<End>, Vec<Arc<Tcp>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let joining = Local::cluster_on(Hosts::blocks([1, 1, 1])).into_iter().map(|local| async move {
        let fabric = Arc::new(Fabric::new(1, 1 << 30, in_process).unwrap());
        let memory = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, MEMORY);
        let engine = Executor::new(&fabric, 0, FenceSide::Writer, WaitPolicy::new(spin, 0, false));
        let pe = local.placement().pe;
        let bootstrap: Arc<dyn Bootstrap> = Arc::new(local);
        let segments = [memory.clone(), fabric.control.scratch()];
        let net = Arc::new(connect(&bootstrap, &engine, segments, Some("lo")).await.unwrap());
        engine.attach_sources(vec![Arc::clone(&net) as Arc<dyn Source>]).unwrap();
        (End { pe, net: Arc::clone(&net) as Arc<dyn Net>, memory, block: 0, engine }, net)
    });
    runtime.block_on(futures::future::join_all(joining)).into_iter().unzip()
}

#[test]
fn tcp_passes_the_suite_of_all_nets() {
    for spin in [0, 2] {
        let (ends, _) = three(Duration::from_micros(spin), true);
        // As threads do that wait.
        let progress = || {
            ends.iter().for_each(|end| {
                end.net.hand_over();
                end.net.poll();
            });
        };
        suite::check(&Job { ends: &ends, progress: &progress, cpu_atomics: true });
    }
}

#[test]
fn tcp_is_driven_by_the_engine_alone() {
    suite::check_by_the_engine(crate::ways(), || Some(three(Duration::from_micros(2), false).0));
}
