//! Barriers, and the order of memory (`OpenSHMEM 1.6 §9.10, §9.12`).

use crate::{call::Call, export::export};

export!("shmem_barrier_all", |name| () {
    let call = Call::new(name);
    call.wait(call.global.world.barrier_all());
});

export!("shmem_sync_all", |name| () {
    let call = Call::new(name);
    call.wait(call.global.world.sync_all());
});
