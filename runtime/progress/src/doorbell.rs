//! Doorbells: how a PE that writes into another's memory wakes it if, and only if, it sleeps.
//!
//! A writer stores, then looks at the target's `sleeping` word. A sleeper sets the word, then looks
//! at its memory once more. One of the two must see the other, and that needs a full barrier on
//! both sides. Which side pays for it is decided once a job ([`FenceSide`]): either the writers
//! fence, or the sleeper makes every running thread of the job pass a barrier (`membarrier`), so
//! that writing costs nothing extra.

use oxshmem_base::{
    settings::FenceSide,
    sync::{AtomicU32, Ordering, compiler_fence, fence},
};

/// What the writer does between its store and its look at `sleeping`.
#[inline(always)]
pub fn after_store(side: FenceSide) {
    match side {
        FenceSide::Writer => fence(Ordering::SeqCst),
        // The compiler must keep the order; the processor is made to by the sleeper's membarrier.
        FenceSide::Sleeper => compiler_fence(Ordering::SeqCst),
    }
}

/// What the sleeper does between setting `sleeping` and its last look at memory.
pub fn before_look(side: FenceSide) {
    match side {
        FenceSide::Writer => fence(Ordering::SeqCst),
        FenceSide::Sleeper => membarrier(),
    }
}

/// The memory that notes are about.
const HEAP: u32 = 2;
const _: () = assert!(HEAP == oxshmem_memory::SegmentId::Heap as u32);
/// In the word of a PE that asks its writers for [notes](crate::notes). The bit of the heap is set
/// with it, whether or not the PE sleeps, so that writers look closer.
const ASKS: u32 = 1 << 8;
/// In the word of a PE that asks for notes, while it sleeps.
const ASLEEP: u32 = 1 << 9;

/// The sleeper's half: says that the PE is about to sleep, and waits for words in the kinds of
/// memory that `kinds` has bits for. Whatever was stored there before a writer could see this is
/// visible to the caller afterwards; whatever is stored later rings.
pub fn announce_sleep(sleeping: &AtomicU32, kinds: u32, side: FenceSide) {
    begin_sleep(sleeping, kinds);
    before_look(side);
}

/// What [`announce_sleep`] does before its barrier.
pub fn begin_sleep(sleeping: &AtomicU32, kinds: u32) {
    // Release: what the sleeper wrote beside the word comes with it.
    let _ = sleeping.fetch_update(Ordering::Release, Ordering::Relaxed, |word| {
        Some(word | kinds | if word & ASKS != 0 { ASLEEP } else { 0 })
    });
}

/// The sleeper is awake again.
pub fn announce_awake(sleeping: &AtomicU32) {
    wake_word(sleeping);
}

/// The writer's half once it has seen that the PE sleeps or asks for notes: whether it slept, and
/// is woken by this writer and no other.
pub fn end_sleep(sleeping: &AtomicU32) -> bool {
    // SeqCst: of a note that was left before this, and the sleeper's last look at its notes, one
    // comes first: the sleeper sees the note, or this the sleep.
    fence(Ordering::SeqCst);
    is_asleep(sleeping) && wake_word(sleeping)
}

/// Makes the word that of a PE that is awake. Whether it slept.
fn wake_word(sleeping: &AtomicU32) -> bool {
    // Relaxed: no more than atomicity is needed, the order was made in `after_store`. Seen late, it
    // costs a writer one needless ring.
    let awake = |word: u32| if word & ASKS != 0 { HEAP | ASKS } else { 0 };
    let before = sleeping.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| Some(awake(word)));
    before.is_ok_and(sleeps_by)
}

/// From now on the PE asks its writers for notes. What was stored without one is visible to the
/// caller behind [`before_look`].
pub fn ask(sleeping: &AtomicU32) {
    // Release: as in `announce_sleep`. A PE that sleeps already, for something else, goes on.
    let asking = |word: u32| Some(word | HEAP | ASKS | if word != 0 { ASLEEP } else { 0 });
    let _ = sleeping.fetch_update(Ordering::Release, Ordering::Relaxed, asking);
}

/// The PE asks for notes no more.
pub fn ask_no_more(sleeping: &AtomicU32) {
    // Relaxed: seen late, it costs a writer a needless note. One that sleeps stays announced.
    let plain = |word: u32| Some(if sleeps_by(word) { word & !(ASKS | ASLEEP) } else { 0 });
    let _ = sleeping.fetch_update(Ordering::Relaxed, Ordering::Relaxed, plain);
}

/// Whether the PE asks for notes.
pub fn asks_for_notes(sleeping: &AtomicU32) -> bool {
    sleeping.load(Ordering::Relaxed) & ASKS != 0
}

/// Whether the PE sleeps. A hint.
pub fn is_asleep(sleeping: &AtomicU32) -> bool {
    sleeps_by(sleeping.load(Ordering::Relaxed))
}

/// Whether the PE with this word sleeps.
fn sleeps_by(word: u32) -> bool {
    if word & ASKS != 0 { word & ASLEEP != 0 } else { word != 0 }
}

/// The writer's half: whether the PE may have to be woken, or asks for notes. Call it after the
/// store, to the kind of memory with the bit `kind`, that the PE is to see.
#[inline(always)]
pub fn must_ring(sleeping: &AtomicU32, kind: u32, side: FenceSide) -> bool {
    after_store(side);
    sleeps(sleeping, kind)
}

/// The writer's half behind [`after_store`], which is one for any number of stores to any number of
/// PEs: whether the PE may have to be woken, or asks for notes.
#[inline(always)]
pub fn sleeps(sleeping: &AtomicU32, kind: u32) -> bool {
    // Relaxed: ordered after our store by `after_store` and the sleeper's barrier.
    sleeping.load(Ordering::Relaxed) & kind != 0
}

/// Registers this process for [`FenceSide::Sleeper`]. False where the kernel has no such barrier.
pub fn register_membarrier() -> bool {
    use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};
    membarrier_query().contains(MembarrierQuery::GLOBAL_EXPEDITED)
        && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
        && membarrier(MembarrierCommand::GlobalExpedited).is_ok()
}

#[cfg(not(oxshmem_loom))]
fn membarrier() {
    use rustix::thread::{MembarrierCommand, membarrier};
    // `register_membarrier` has called it once, and it has no way to fail after that.
    let _ = membarrier(MembarrierCommand::GlobalExpedited);
}

/// Under loom the barrier on all threads is a fence here and one in `after_store`: its effect.
#[cfg(oxshmem_loom)]
fn membarrier() {
    fence(Ordering::SeqCst);
}

#[cfg(all(test, oxshmem_loom))]
mod loom_tests {
    use super::*;

    /// A word for which several wait: the thread that sets it looks at a count of sleepers, and
    /// only then at each of them.
    #[test]
    fn loom_a_thread_that_counts_itself_as_a_sleeper_is_rung_for_or_sees_the_word() {
        loom::model(|| {
            let [word, count, sleeping] = [(); 3].map(|()| Arc::new(AtomicU32::new(0)));
            let bell = Arc::new(Notify::new());
            // The PE sleeps already, for something else.
            announce_sleep(&sleeping, 1, FenceSide::Writer);
            let writer = {
                let (word, count, sleeping) = (word.clone(), count.clone(), sleeping.clone());
                let bell = bell.clone();
                thread::spawn(move || {
                    word.store(1, Ordering::Release);
                    after_store(FenceSide::Writer);
                    if count.load(Ordering::Relaxed) > 0 && must_ring(&sleeping, 1, FenceSide::Writer) {
                        bell.notify();
                    }
                })
            };
            count.fetch_add(1, Ordering::SeqCst);
            before_look(FenceSide::Writer);
            while word.load(Ordering::Acquire) == 0 {
                bell.wait();
            }
            writer.join().unwrap();
        });
    }
    use loom::{
        sync::{Arc, Notify},
        thread,
    };

    #[test]
    fn loom_a_store_is_either_seen_before_sleep_or_rings() {
        loom::model(|| {
            let word = Arc::new(AtomicU32::new(0));
            let sleeping = Arc::new(AtomicU32::new(0));
            let bell = Arc::new(Notify::new());
            let writer = {
                let (word, sleeping, bell) = (word.clone(), sleeping.clone(), bell.clone());
                thread::spawn(move || {
                    word.store(1, Ordering::Release);
                    if must_ring(&sleeping, 1, FenceSide::Writer) {
                        bell.notify();
                    }
                })
            };
            while word.load(Ordering::Acquire) == 0 {
                announce_sleep(&sleeping, 1, FenceSide::Writer);
                if word.load(Ordering::Acquire) != 0 {
                    break;
                }
                bell.wait();
                announce_awake(&sleeping);
            }
            writer.join().unwrap();
        });
    }
}
