//! Nets that are driven by the engine alone.

use std::{future::poll_fn, sync::Arc};

use oxshmem_base::Result;
use oxshmem_memory::{
    op::{Op, Spot},
    word::{Atomic, Width},
};
use oxshmem_progress::{executor::Executor, flight::Flight, suite::Way};

use super::End;
use crate::Completion;

/// Awaits puts, gets, atomic operations and messages between the first two PEs, and polls nothing
/// but futures, in each of these ways to drive the engine. `make` makes PEs that nothing was
/// done with yet; it says `None` if there can be none here.
pub fn check_by_the_engine(ways: impl Iterator<Item = Way>, make: impl Fn() -> Option<Vec<End>>) {
    for way in ways {
        let Some(ends) = make() else { return };
        let engines: Vec<_> = ends.iter().map(|end| Arc::clone(&end.engine)).collect();
        let nets: Vec<_> = ends.iter().map(|end| Arc::clone(&end.net)).collect();
        way.run(&engines, work(ends));
        // Closed by the thread that made them, as a program does.
        nets.iter().for_each(|net| net.close());
        engines.iter().for_each(|engine| engine.close());
    }
}

/// Starts something, and is ready when that is over.
async fn started<T: Send + 'static>(engine: &Executor, start: impl FnOnce(Completion<T>)) -> T {
    let flight: Arc<Flight<Result<T>>> = Arc::default();
    let landing = Arc::clone(&flight);
    start(Box::new(move |outcome| landing.land(outcome)));
    let outcome = poll_fn(|cx| engine.poll_with(|| flight.poll(cx))).await;
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

async fn work(ends: Vec<End>) {
    let [from, to, ..] = &*ends else { panic!("there are two") };
    for round in 0..50_u64 {
        let spot = |offset| Spot { pe: to.pe, segment: to.memory.id(), offset };
        let sent = vec![round as u8 + 1; 10_000];
        // Addresses, so that the future is `Send`.
        let address = sent.as_ptr().expose_provenance();
        started::<u64>(&from.engine, |done| {
            let put = Op::put(spot(64), std::ptr::with_exposed_provenance::<u8>(address), 10_000);
            // SAFETY: `sent` lives until the put is over.
            unsafe { from.net.start(put, done) };
        })
        .await;
        started::<()>(&from.engine, |done| from.net.flush(Some(to.pe), done)).await;
        let back = vec![0_u8; 10_000];
        let address = back.as_ptr().expose_provenance();
        started::<u64>(&from.engine, |done| {
            let get = Op::get(spot(64), std::ptr::with_exposed_provenance_mut::<u8>(address), 10_000);
            // SAFETY: as above, and nothing else reads or writes `back` until the get is over.
            unsafe { from.net.start(get, done) };
        })
        .await;
        assert!(std::hint::black_box(&back) == &sent, "what was put in round {round} comes back");
        let before = started::<u64>(&from.engine, |done| {
            // SAFETY: the word is in bounds and aligned.
            unsafe { from.net.start(Op::atomic(spot(0), Atomic::Add(3), Width::Eight), done) };
        })
        .await;
        assert_eq!(before, 3 * round);
    }
}
