//! Which handles and futures may go to other threads, be shared by them, and be moved while they
//! are polled. That this compiles is the test.

use oxshmem::{
    Barrier, Collective, Context, ContextOptions, Error, Fetch, Get, HeapUse, Hints, Outcome, Private, Put,
    PutNbi, PutSignal, PutSignalNbi, Quiet, Rejected, Serialized, Shared, SymRef, SymSlice, SymView, Update,
    WaitUntil, World, settings::Settings,
};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_unpin<T: Unpin>() {}

fn is_all<T: Send + Sync + Unpin>() {
    is_send::<T>();
    is_sync::<T>();
    is_unpin::<T>();
}

fn may_be_sent<F: Future + Send>(_: &F) {}

/// `Trait` is implemented for `Type`, as a value.
macro_rules! implements {
    ($name:ty: $bound:ident) => {{
        #[allow(dead_code, reason = "found where the bound does not hold")]
        trait Otherwise {
            const IS: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Ask<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "found where the bound holds")]
        impl<T: ?Sized + $bound> Ask<T> {
            const IS: bool = true;
        }
        <Ask<$name>>::IS
    }};
}

#[test]
fn handles_go_to_every_thread() {
    is_all::<World>();
    is_all::<Context>();
    is_all::<Context<Shared>>();
    is_all::<SymSlice<u64>>();
    is_all::<SymSlice<[f32; 3]>>();
    is_all::<SymView<'static, u8>>();
    is_all::<SymRef<'static, i32>>();
    is_all::<Error>();
    is_all::<Rejected<Vec<u8>>>();
    is_all::<HeapUse>();
    is_all::<Hints>();
    is_all::<Settings>();
    is_all::<ContextOptions>();
}

#[test]
fn a_context_goes_where_its_options_say() {
    assert!(implements!(Context<Shared>: Send) && implements!(Context<Shared>: Sync));
    assert!(implements!(Context<Serialized>: Send) && !implements!(Context<Serialized>: Sync));
    assert!(!implements!(Context<Private>: Send) && !implements!(Context<Private>: Sync));
}

#[test]
fn futures_of_operations_go_to_every_thread_and_need_no_pin() {
    is_all::<Put<Vec<u64>>>();
    is_all::<Put<Box<[u8]>>>();
    is_all::<PutNbi<Vec<u64>>>();
    is_all::<PutNbi<SymSlice<u64>>>();
    is_all::<PutSignal<Vec<u64>>>();
    is_all::<PutSignalNbi<std::sync::Arc<[u8]>>>();
    is_all::<Get<Vec<f64>>>();
    is_all::<Fetch<u64>>();
    is_all::<Update>();
    is_all::<Quiet>();
}

#[test]
fn futures_of_waits_and_collectives_go_to_every_thread_and_need_no_pin() {
    is_send::<WaitUntil<'static, u64>>();
    is_unpin::<WaitUntil<'static, u64>>();
    is_send::<Barrier<'static>>();
    is_unpin::<Barrier<'static>>();
    is_send::<Collective<'static>>();
    is_unpin::<Collective<'static>>();
    is_send::<Outcome<Vec<u8>>>();
    is_unpin::<Outcome<Vec<u8>>>();
}

#[test]
fn futures_without_a_name_may_be_sent() {
    use oxshmem::{Cmp, WaitSet};

    // Never called: the types are what matters.
    #[allow(dead_code, reason = "it is checked by being compiled")]
    fn check(world: &World, slice: &SymSlice<u64>, values: &[u64], status: &[i32]) {
        may_be_sent(&world.alloc::<u8>(1));
        may_be_sent(&world.alloc_zeroed::<u8>(1));
        may_be_sent(&world.alloc_aligned::<u8>(1, 1));
        may_be_sent(&world.alloc_with_hints::<u8>(1, Hints::NONE));
        may_be_sent(&world.realloc(slice.clone(), 1));
        may_be_sent(&world.free(slice.clone()));
        may_be_sent(&world.reclaim());
        may_be_sent(&world.finalize());
        may_be_sent(&world.global_exit(0));
        may_be_sent(&oxshmem::init());
        may_be_sent(&slice.wait_until_all(Cmp::Eq, 0));
        may_be_sent(&slice.wait_until_any(Cmp::Eq, 0));
        may_be_sent(&slice.excluding(status).wait_until_some(Cmp::Eq, 0));
        may_be_sent(&slice.wait_until_all_vector(Cmp::Eq, values));
        may_be_sent(&slice.wait_until_any_vector(Cmp::Eq, values));
        may_be_sent(&slice.wait_until_some_vector(Cmp::Eq, values));
    }
}
