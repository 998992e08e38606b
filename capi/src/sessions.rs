//! Sessions (`OpenSHMEM 1.6 §9.9`).

use std::ffi::c_long;

use oxshmem::{Context, SessionOptions};

use crate::{
    call::{Call, CtxHandle},
    contexts,
    export::export,
};

/// `shmem_ctx_session_config_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CSessionConfig {
    total_ops: usize,
}

/// `SHMEM_CTX_INVALID`.
const INVALID: usize = 0;
/// `SHMEM_CTX_DEFAULT`.
const DEFAULT: usize = 1;
/// `SHMEM_CTX_SESSION_BATCH`.
const BATCH: c_long = 1;
/// `SHMEM_CTX_SESSION_TOTAL_OPS`.
const TOTAL_OPS: c_long = 1;

/// The context to have a session on, if there is one.
fn context(name: &'static str, ctx: CtxHandle) -> Option<&'static Context> {
    match ctx.addr() {
        INVALID => return None,
        DEFAULT => {}
        _ => contexts::check(Call::new(name), ctx),
    }
    Some(Call::on(name, ctx).context)
}

export!("shmem_ctx_session_start", |name| (
    ctx: CtxHandle,
    options: c_long,
    config: *const CSessionConfig,
    config_mask: c_long,
) {
    let Some(context) = context(name, ctx) else { return };
    let mut session = SessionOptions::new();
    if options & BATCH != 0 {
        session = session.batch();
    }
    if config_mask & TOTAL_OPS != 0 {
        let call = Call::new(name);
        // SAFETY: what the caller passes with this mask (`OpenSHMEM 1.6 §9.9.2`).
        if let [config] = unsafe { call.slice("config", config, 1) } {
            session = session.total_ops(config.total_ops);
        }
    }
    context.session_start(session);
});

export!("shmem_ctx_session_stop", |name| (ctx: CtxHandle) {
    if let Some(context) = context(name, ctx) {
        context.session_stop();
    }
});
