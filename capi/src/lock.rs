//! Distributed locks (`OpenSHMEM 1.6 §9.13`).
//!
//! Handles are made for each call: the lock's word says whether this PE has it.

use std::ffi::{c_int, c_long};

use oxshmem::{Error, Lock};

use crate::{call::Call, export::export};

fn handle(call: Call, lock: *mut c_long) -> Lock {
    let word = call.word("lock", lock.cast_const().cast::<u64>());
    call.value(Lock::new(call.global.context, word))
}

export!("shmem_set_lock", |name| (lock: *mut c_long) {
    let call = Call::new(name);
    call.complete(handle(call, lock).set());
});

export!("shmem_test_lock", |name| (lock: *mut c_long) -> c_int {
    let call = Call::new(name);
    match call.output(handle(call, lock).test()) {
        Ok(is_set) => c_int::from(!is_set),
        Err(error) => call.survive(error),
    }
});

export!("shmem_clear_lock", |name| (lock: *mut c_long) {
    let call = Call::new(name);
    match call.global.world.block_on(handle(call, lock).clear()) {
        Ok(()) => {}
        Err(Error::LockNotHeld { why, .. }) => {
            call.fail(format_args!("lock = {lock:p} is not held by this PE: {why}"))
        }
        Err(error) => _ = call.survive(error),
    }
});
