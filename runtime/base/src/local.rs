//! Values of which each thread has its own, so that loom's threads do too.

#[cfg(not(oxshmem_loom))]
pub use std::{thread::LocalKey, thread_local};

#[cfg(oxshmem_loom)]
pub use model::*;

/// Values of loom's threads, with the interface of the standard library's.
#[cfg(oxshmem_loom)]
mod model {
    use std::cell::{Cell, RefCell};

    /// For the macro below.
    pub use loom;
    pub use loom::thread::LocalKey;

    /// [`std::thread_local`] under loom.
    #[macro_export]
    macro_rules! model_thread_local {
        ($($(#[$attribute:meta])* $public:vis static $name:ident: $type:ty = const { $value:expr };)+) => {
            $crate::local::loom::thread_local! { $($(#[$attribute])* $public static $name: $type = $value;)+ }
        };
    }
    pub use model_thread_local as thread_local;

    /// A value of its own for each thread: what [`std::thread::LocalKey`] has for cells.
    pub trait CellKey<T> {
        /// The value.
        fn get(&'static self) -> T
        where
            T: Copy;

        /// Another value.
        fn set(&'static self, value: T);

        /// Another value, and the one before.
        fn replace(&'static self, value: T) -> T;

        /// The value, in whose place there is none.
        fn take(&'static self) -> T
        where
            T: Default;
    }

    impl<T: 'static> CellKey<T> for loom::thread::LocalKey<Cell<T>> {
        fn get(&'static self) -> T
        where
            T: Copy,
        {
            self.with(Cell::get)
        }

        fn set(&'static self, value: T) {
            self.with(|cell| cell.set(value));
        }

        fn replace(&'static self, value: T) -> T {
            self.with(|cell| cell.replace(value))
        }

        fn take(&'static self) -> T
        where
            T: Default,
        {
            self.with(Cell::take)
        }
    }

    /// What [`std::thread::LocalKey`] has for [`RefCell`].
    pub trait RefCellKey<T> {
        /// Calls `with` with the value.
        fn with_borrow_mut<R>(&'static self, with: impl FnOnce(&mut T) -> R) -> R;
    }

    impl<T: 'static> RefCellKey<T> for loom::thread::LocalKey<RefCell<T>> {
        fn with_borrow_mut<R>(&'static self, with: impl FnOnce(&mut T) -> R) -> R {
            self.with(|cell| with(&mut cell.borrow_mut()))
        }
    }
}
