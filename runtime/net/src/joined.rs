//! For tests: PEs of this process, each of which is on a host of its own.

use std::{sync::Arc, time::Duration};

use oxshmem_base::{Hosts, settings::FenceSide};
use oxshmem_job::{Bootstrap, Local};
use oxshmem_memory::{Segment, SegmentId};
use oxshmem_progress::{executor::Executor, fabric::Fabric, source::Source, wait::WaitPolicy};

use crate::{
    Net,
    suite::{End, MEMORY},
};

/// `n` PEs, whose waits may look around for so long, whose engines are those of PEs in one process
/// or in one each, and whose nets `join` makes. The engines do not drive these yet.
pub(crate) fn joined<N: Net + 'static>(
    n: usize,
    spin: Duration,
    in_process: bool,
    join: impl AsyncFn(&Arc<dyn Bootstrap>, &Arc<Executor>, [Segment; 2]) -> N,
) -> (Vec<End>, Vec<Arc<N>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let joining = Local::cluster_on(Hosts::blocks(vec![1; n])).into_iter().map(async |local| {
        let fabric = Arc::new(Fabric::new(1, 1 << 30, in_process).unwrap());
        let memory = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, MEMORY);
        let engine = Executor::new(&fabric, 0, FenceSide::Writer, WaitPolicy::new(spin, 0, false));
        let pe = local.placement().pe;
        let bootstrap: Arc<dyn Bootstrap> = Arc::new(local);
        let net = join(&bootstrap, &engine, [memory.clone(), fabric.control.scratch()]).await;
        let net = Arc::new(net);
        (End { pe, net: Arc::clone(&net) as Arc<dyn Net>, memory, block: 0, engine }, net)
    });
    runtime.block_on(futures::future::join_all(joining)).into_iter().unzip()
}

/// Has the engines drive the nets.
pub(crate) fn attach<N: Source + 'static>(ends: &[End], nets: &[Arc<N>]) {
    for (end, net) in ends.iter().zip(nets) {
        end.engine.attach_sources(vec![Arc::clone(net) as Arc<dyn Source>]).unwrap();
    }
}
