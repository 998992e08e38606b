//! PEs that join a job.

use oxshmem_memory::{
    copy,
    op::Spot,
    word::{Atomic, Width},
};
use oxshmem_net::{Link, flush_all, outcome::update};

use std::time::Instant;

use super::*;

fn spot(pe: usize, offset: usize) -> Spot {
    Spot { pe, segment: SegmentId::Heap, offset }
}

#[test]
fn pes_that_join_on_several_hosts_reach_each_other_and_leave_nothing_behind() {
    let (latency, jitter) = (Duration::from_micros(5), Duration::from_micros(100));
    let slow = Link { latency, jitter, bandwidth: 20_000_000_000, seed: 1, ..Link::default() };
    for link in [Link::default(), slow] {
        let pes = oxshmem_job::Local::cluster_on(oxshmem_base::Hosts::cyclic(5, 2));
        pes[0].common().unwrap().of(|| link);
        let fabrics = oxshmem_job::suite::on_all(pes, |local| async move {
            let pe = Pe::join(local, Settings::default()).await.unwrap();
            let (me, n) = (pe.me(), pe.n_pes());
            let wires = Wires::of(&**pe.bootstrap()).unwrap();
            assert_eq!(wires.link(), link);
            // Even numbers are on one host, odd ones on the other.
            let net = Arc::clone(pe.net().unwrap());
            for target in (0..n).filter(|&target| target % 2 != me % 2) {
                update(&*net, spot(target, 8 * me), Atomic::Set(me as u64 + 1), Width::Eight).unwrap();
            }
            flush_all(&*net).await.unwrap();
            pe.bootstrap().barrier().await.unwrap();
            for origin in 0..n {
                let address = pe.symmetric().address(pe.local_pe(), 8 * origin, 8).unwrap();
                // SAFETY: the address is in bounds and aligned.
                let word = unsafe { copy::load(address.cast::<u64>()) };
                assert_eq!(word, if origin % 2 == me % 2 { 0 } else { origin as u64 + 1 });
            }
            assert_eq!(wires.sent(me).messages, if me % 2 == 0 { 2 } else { 3 });
            pe.bootstrap().barrier().await.unwrap();
            assert!(pe.leave());
            assert!(update(&*net, spot((me + 1) % 2, 0), Atomic::Set(1), Width::Eight).is_err());
            Arc::downgrade(pe.heap_map())
        });
        let start = Instant::now();
        while fabrics.iter().any(|map| map.strong_count() > 0) {
            assert!(start.elapsed() < Duration::from_secs(30), "something keeps the memory");
            std::thread::yield_now();
        }
    }
}
