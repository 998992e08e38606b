//! Over TCP between the PEs of one process, each of which has a UCX of its own.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_base::{Hosts, settings::FenceSide};
use oxshmem_job::Local;
use oxshmem_memory::{
    SegmentId,
    op::{Address, Op, Spot},
};
use oxshmem_progress::{
    completion::{AllParts, complete},
    fabric::Fabric,
    source::Source,
    wait::WaitPolicy,
};

use super::*;
use crate::{
    outcome::outcome,
    suite::{self, End, Job, MEMORY},
};

/// Three PEs on hosts of their own, whose waits may look around for so long, and their workers, if
/// there is a UCX.
pub(super) fn three(spin: Duration) -> Option<(Vec<End>, Vec<Arc<Worker>>)> {
    three_in(spin, true)
}

/// [`three`] PEs, whose engines are those of PEs in one process or in one each.
fn three_in(spin: Duration, in_process: bool) -> Option<(Vec<End>, Vec<Arc<Worker>>)> {
    if let Err(error) = Ucx::load() {
        println!("skipped: {error}");
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let joining = Local::cluster_on(Hosts::blocks([1, 1, 1])).into_iter().map(|local| async move {
        let fabric = Arc::new(Fabric::new(1, 1 << 30, in_process).unwrap());
        let memory = Segment::new(SegmentId::Heap, Arc::clone(&fabric.heap), 0, MEMORY);
        let engine = Executor::new(&fabric, 0, FenceSide::Writer, WaitPolicy::new(spin, 0, false));
        let pe = local.placement().pe;
        let bootstrap: Arc<dyn Bootstrap> = Arc::new(local);
        let scratch = fabric.control.scratch();
        let net = connect(&bootstrap, &engine, memory.clone(), scratch, None).await.unwrap();
        let worker = Arc::clone(&net.worker);
        let net = Arc::new(net);
        engine.attach_sources(vec![Arc::clone(&net) as Arc<dyn Source>]).unwrap();
        (End { pe, net, memory, block: 0, engine }, worker)
    });
    Some(runtime.block_on(futures_all(joining)).into_iter().unzip())
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
    for spin in [0, 2] {
        let spin = Duration::from_micros(spin);
        let Some((ends, _)) = three(spin) else { return };
        // As threads do that wait.
        let progress = || ends.iter().for_each(|end| _ = end.net.poll());
        suite::check(&Job { ends: &ends, progress: &progress, cpu_atomics: true });
    }
}

#[test]
fn ucx_is_driven_by_the_engine_alone() {
    suite::check_by_the_engine(crate::ways(), || Some(three_in(Duration::from_micros(2), false)?.0));
}

/// How long `n` gets take that all wait for one long put, and then start at once.
fn gets_behind_a_long_put(ends: &[End], target: &Worker, n: usize) -> Duration {
    let [from, to, ..] = ends else { unreachable!("there are three") };
    let spot = |offset| Spot { pe: to.pe, segment: to.memory.id(), offset };
    let long = vec![7u8; MEMORY - 8];
    let (put, put_done) = outcome::<u64>();
    // SAFETY: the vector is there until the put is over, which is waited for.
    unsafe { from.net.start(Op::put(spot(8), long.as_ptr(), long.len()), put_done) };
    let mut got = vec![0u8; 8 * n];
    let (all, all_done) = outcome();
    let all_gets = AllParts::new(all_done);
    let (net, at, parts) = (Arc::clone(&from.net), spot(8), Arc::clone(&all_gets));
    let to = Address::from(got.as_mut_ptr());
    let start = Instant::now();
    // The put is not applied meanwhile.
    let held = target.inner();
    // From inside of a completion, where nothing waits for those before.
    let begin: Completion = Box::new(move |_| {
        for i in 0..n {
            // SAFETY: the bytes are inside of the vector, which is there until all gets are over,
            // which is waited for.
            unsafe { net.start(Op::get(at, to.get().add(8 * i), 8), parts.part()) };
        }
    });
    complete(begin, Ok(()));
    drop((all_gets, held));
    while all.get().is_none() || put.get().is_none() {
        ends.iter().for_each(|end| _ = end.net.poll());
        assert!(start.elapsed() < Duration::from_secs(100), "{n} gets do not end");
    }
    let time = start.elapsed();
    assert!(got.iter().all(|&byte| byte == 7));
    assert!(matches!((all.get(), put.get()), (Some(Ok(())), Some(Ok(_)))));
    time
}

#[test]
fn an_operation_costs_the_same_however_many_are_under_way() {
    let Some((ends, workers)) = three(Duration::ZERO) else { return };
    gets_behind_a_long_put(&ends, &workers[1], 1000);
    let (few, many) = (10_000, 80_000);
    let [short, long] = [few, many].map(|n| gets_behind_a_long_put(&ends, &workers[1], n));
    println!("{few} gets: {short:?}, {many}: {long:?}");
    // Eight times as many: eight times as long, where it is not the square of that.
    assert!(
        long < 40 * short.max(Duration::from_millis(100)),
        "{few} gets take {short:?}, {many} take {long:?}"
    );
    ends.iter().for_each(|end| end.net.close());
}

#[test]
fn a_pe_that_no_message_goes_to_costs_a_few_bytes() {
    let peer = size_of::<Option<Box<Peer>>>();
    assert!(peer <= 64, "{peer} bytes");
}
