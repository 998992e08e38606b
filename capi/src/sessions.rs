//! Sessions (`OpenSHMEM 1.6 §9.9`).
//!
//! A session is a hint that operations may be delayed to be joined. Here they are carried out as they are called, which
//! nothing would gain from, so that a session changes nothing. Its arguments are checked nevertheless.

use std::ffi::{c_int, c_long, c_void};

use crate::{
    call::{Call, CtxHandle},
    contexts,
    export::export,
};

/// Predefined handles, as the header has them.
const INVALID: usize = 0;
const DEFAULT: usize = 1;

/// Whether there is a context to have a session on.
fn is_context(call: Call, ctx: CtxHandle) -> bool {
    match ctx.addr() {
        INVALID => false,
        DEFAULT => true,
        _ => {
            contexts::check(call, ctx);
            true
        }
    }
}

export!("shmem_ctx_session_start", |name| (
    ctx: CtxHandle,
    _options: c_long,
    config: *const c_void,
    config_mask: c_long,
) {
    let call = Call::new(name);
    if is_context(call, ctx) && config_mask != 0 {
        call.not_null("config", config, 1);
    }
});

export!("shmem_ctx_session_stop", |name| (ctx: CtxHandle) {
    let _: c_int = is_context(Call::new(name), ctx).into();
});
