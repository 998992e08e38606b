//! Over TCP between the PEs of one process, each of which has a UCX of its own.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use oxshmem_memory::op::{Address, Op, Spot};
use oxshmem_progress::completion::{AllParts, complete};

use super::*;
use crate::{
    joined::{attach, joined},
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
    let (ends, nets) = joined(3, spin, in_process, async |bootstrap, engine, [memory, scratch]| {
        connect(bootstrap, engine, memory, scratch, None).await.unwrap()
    });
    attach(&ends, &nets);
    Some((ends, nets.iter().map(|net| Arc::clone(&net.worker)).collect()))
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
