//! A buffer that may move while others use its elements by their address.
//!
//! The elements of a `Box` stay where they are when the box moves. But by Rust's rules each move of
//! a box makes an address that was taken before invalid. So an operation wraps what it holds before
//! it takes the address: a move of a `MaybeUninit` invalidates nothing.

use std::{
    mem::{ManuallyDrop, MaybeUninit},
    ops::{Deref, DerefMut},
};

use oxshmem_base::Result;
use oxshmem_spaces::Element;

use crate::buffer::{Sink, Source};

/// What an operation holds until it is over.
pub(crate) struct Still<B>(MaybeUninit<B>);

impl<B> Still<B> {
    pub(crate) fn new(buffer: B) -> Self {
        Self(MaybeUninit::new(buffer))
    }

    /// What it was made from. The address is not used any more.
    pub(crate) fn into_inner(self) -> B {
        let kept = ManuallyDrop::new(self);
        // SAFETY: it is initialised from `new` on, and not used again: `kept` is not dropped.
        unsafe { kept.0.assume_init_read() }
    }

    /// The outcome of a put, after which the source is not read any more.
    pub(crate) fn given_back<T: Element>(self, put: Result<()>) -> std::result::Result<B::Back, B::Failure>
    where
        B: Source<T>,
    {
        match put {
            Ok(()) => Ok(self.into_inner().back()),
            Err(error) => Err(self.into_inner().reject(error)),
        }
    }

    /// The outcome of a get, after which the sink is not written any more.
    pub(crate) fn filled<T: Element>(self, got: Result<()>) -> std::result::Result<B::Back, B::Failure>
    where
        B: Sink<T>,
    {
        let held = self.into_inner();
        match got {
            Ok(()) => {
                held.arrived();
                Ok(held.back())
            }
            Err(error) => Err(held.reject(error)),
        }
    }
}

impl<B> Deref for Still<B> {
    type Target = B;

    fn deref(&self) -> &B {
        // SAFETY: it is initialised from `new` on.
        unsafe { self.0.assume_init_ref() }
    }
}

impl<B> DerefMut for Still<B> {
    fn deref_mut(&mut self) -> &mut B {
        // SAFETY: it is initialised from `new` on.
        unsafe { self.0.assume_init_mut() }
    }
}

impl<B> Drop for Still<B> {
    fn drop(&mut self) {
        // SAFETY: it is initialised from `new` on, and not used after this.
        unsafe { self.0.assume_init_drop() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Still;
    use crate::buffer::{Fresh, OneValue, Sink, Source};

    /// What an operation does: it takes the address, gives the buffer to what is called at the end,
    /// and uses the address before.
    fn filled<B: Sink<u64>>(buffer: B) -> B::Back {
        let mut held = Still::new(buffer.hold());
        let (to, len) = (held.as_mut_ptr(), held.len());
        let end: Box<dyn FnOnce() -> B::Back> = Box::new(move || {
            held.arrived();
            held.into_inner().back()
        });
        let end = std::hint::black_box(end);
        for i in 0..len {
            // SAFETY: `end` holds the buffer, which has `len` elements.
            unsafe { to.add(i).write(7 + i as u64) };
        }
        end()
    }

    fn read<S: Source<u64>>(source: S) -> (Vec<u64>, S::Back) {
        let held = Still::new(source);
        let (from, len) = (held.as_ptr(), held.len());
        let end: Box<dyn FnOnce() -> S::Back> = Box::new(move || held.into_inner().back());
        let end = std::hint::black_box(end);
        // SAFETY: `end` holds the source, which has `len` elements.
        let seen = (0..len).map(|i| unsafe { from.add(i).read() }).collect();
        (seen, end())
    }

    #[test]
    fn what_holds_a_buffer_may_move_while_others_fill_it() {
        assert_eq!(filled(vec![0; 3]), [7, 8, 9]);
        assert_eq!(*filled(vec![0; 3].into_boxed_slice()), [7, 8, 9]);
        assert_eq!(filled([0; 3]), [7, 8, 9]);
        assert_eq!(filled(Fresh(vec![0; 2])), [7, 8]);
        assert_eq!(filled(OneValue(0)), 7);
    }

    #[test]
    fn what_holds_a_source_may_move_while_others_read_it() {
        assert_eq!(read(vec![1, 2]), (vec![1, 2], vec![1, 2]));
        assert_eq!(read(vec![1, 2].into_boxed_slice()), (vec![1, 2], vec![1, 2].into_boxed_slice()));
        let shared: Arc<[u64]> = Arc::from([1, 2]);
        assert_eq!(read(Arc::clone(&shared)), (vec![1, 2], shared));
    }

    #[test]
    fn a_buffer_that_is_not_taken_back_is_dropped_once() {
        let counted = Arc::new(());
        drop(Still::new(Arc::clone(&counted)));
        assert_eq!(Arc::strong_count(&counted), 1);
        assert_eq!(Arc::strong_count(&Still::new(Arc::clone(&counted)).into_inner()), 2);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
