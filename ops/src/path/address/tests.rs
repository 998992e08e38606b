use std::sync::{Arc, atomic::Ordering::Relaxed};

use oxshmem_base::settings::Settings;
use oxshmem_job::Single;
use oxshmem_spaces::Pe;

use super::{AddressPath, Ranges};
use crate::{Context, ContextOptions, Shared};

/// A PE that is alone in its job, its heap, and the path to it by addresses.
struct Alone {
    path: AddressPath,
    context: Context<Shared>,
    heap: *mut u8,
    len: usize,
}

impl Alone {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let joined = Pe::join(Arc::new(Single::new()), Settings::default());
        let pe: &'static Arc<Pe> = Box::leak(Box::new(runtime.block_on(joined).unwrap()));
        let context = Context::new(Arc::clone(pe), ContextOptions::new());
        let heap = pe.symmetric().address_unchecked(pe.local_pe(), 0);
        let len = pe.host_heap().len();
        let path = AddressPath::closed();
        let ranges = Ranges { heap: heap.addr()..heap.addr() + len, ..Ranges::default() };
        // SAFETY: nothing else uses the PE.
        unsafe { path.open(&context, pe, &ranges) };
        assert_eq!(path.loads.load(Relaxed), 1);
        // In one process a store needs a fence behind it, for a PE that sleeps. Here none does.
        assert_eq!(path.stores.swap(1, Relaxed), 0);
        Self { path, context, heap, len }
    }

    fn word(&self, offset: usize) -> *mut u64 {
        self.heap.wrapping_add(offset).cast()
    }
}

#[test]
fn words_and_blocks_come_to_where_they_are_to_be() {
    let alone = Alone::new();
    let (path, last) = (&alone.path, alone.word(alone.len - 8));
    assert_eq!(path.p(last, 7, 0), Some(()));
    assert_eq!(path.g(last, 0), Some(7));
    assert_eq!(path.fetch_add(last, 5, 0), Some(7));
    assert_eq!(path.compare_swap(last, 12, 1, 0), Some(12));
    assert_eq!(path.inc(last, 0), Some(()));
    assert_eq!(path.fetch(last, 0), Some(2));
    let source: Vec<u8> = (0..=255).collect();
    for (offset, len) in [(0, 8), (1, 8), (3, 1), (5, 100), (alone.len - 256, 256)] {
        let (to, mut back) = (alone.heap.wrapping_add(offset), vec![0; len]);
        // SAFETY: both have as many bytes.
        unsafe {
            assert_eq!(path.put(to, source.as_ptr(), len, 0), Some(()));
            assert_eq!(path.get_nbi(back.as_mut_ptr(), to, len, 0), Some(()));
        }
        assert_eq!(back, source[..len]);
    }
}

#[test]
fn the_flag_that_answered_a_wait_is_remembered() {
    let alone = Alone::new();
    let (path, [a, b, c]) = (&alone.path, [0, 64, 128].map(|offset| alone.word(offset)));
    let last = || path.last_flag.address();
    path.p(a, 1, 0).unwrap();
    path.flag_was_stored(a, 0);
    assert!(last().is_null(), "nothing has waited");
    // It is no more than a hint, also where nothing has been stored yet.
    path.prepare_answer();
    path.p(a, 1, 0).unwrap();
    assert_eq!(last(), a.cast());
    path.inc(b, 0).unwrap();
    assert_eq!(last(), b.cast());
    path.flag_was_stored(a, 0);
    assert_eq!(last(), a.cast());
    // Neither data, nor what has not been stored.
    // SAFETY: a word is readable.
    unsafe { path.put(c, &7, 1, 0).unwrap() };
    assert_eq!(path.p(c, 1, 5), None);
    path.flag_was_stored(c, 5);
    assert_eq!(last(), a.cast());
    path.p(b, 1, 0).unwrap();
    assert_eq!(last(), b.cast());
    // Nor what comes long after it.
    path.p(c, 1, 0).unwrap();
    assert_eq!(last(), b.cast());
    path.prepare_answer();
    path.p(c, 7, 0).unwrap();
    assert_eq!(last(), c.cast());
    assert_eq!([a, b, c].map(|word| path.g(word, 0)), [Some(1), Some(1), Some(7)]);
}

#[test]
fn whatever_is_not_as_expected_is_left_alone() {
    let alone = Alone::new();
    let (path, word) = (&alone.path, alone.word(64));
    for pe in [1, -1, i32::MAX, i32::MIN] {
        assert_eq!(path.p(word, 1, pe), None, "PE {pe}");
        assert_eq!(path.g(word, pe), None, "PE {pe}");
        assert_eq!(path.swap(word, 1, pe), None, "PE {pe}");
    }
    for at in [alone.word(alone.len), alone.word(65), alone.word(0).wrapping_sub(1), std::ptr::null_mut()] {
        assert_eq!(path.p(at, 1, 0), None, "{at:?}");
        assert_eq!(path.g(at, 0), None, "{at:?}");
        assert_eq!(path.add(at, 1, 0), None, "{at:?}");
    }
    let mut here = [0u64; 2];
    let (end, none) = (alone.word(alone.len - 8), std::ptr::null_mut());
    // SAFETY: whatever is not null has 2 words.
    unsafe {
        assert_eq!(path.put(end, here.as_ptr(), 2, 0), None, "one word too many");
        assert_eq!(path.put(end, here.as_ptr(), usize::MAX, 0), None);
        assert_eq!(path.put(end, none, 1, 0), None, "from nowhere");
        assert_eq!(path.get(here.as_mut_ptr(), end, 2, 0), None, "one word too many");
        assert_eq!(path.get(none, end, 1, 0), None, "to nowhere");
        assert_eq!(path.put(end, here.as_ptr(), 1, 1), None, "to a PE that is not there");
        assert_eq!(path.leave(none, || Some(1)), None);
    }
    assert_eq!(path.g(word, 0), Some(0), "nothing was stored");
}

#[test]
fn a_closed_one_knows_of_no_pe() {
    let alone = Alone::new();
    let word = alone.word(0);
    alone.path.close();
    assert_eq!((alone.path.p(word, 1, 0), alone.path.g(word, 0)), (None, None));
    assert_eq!(AddressPath::closed().p(word, 1, 0), None);
    drop(alone.context.handle().end(alone.context.pe()));
    assert_eq!(
        alone.context.evenly_near().map(|near| near.n),
        Some(0),
        "nor does one of a context that has ended"
    );
}
