//! The contexts that the program has.
//!
//! The last ones that were destroyed are kept for a while. They reach no PE any more, so that
//! operations on one fail without a look at whether it is alive.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use oxshmem::Context;
use oxshmem_ops::path::address::AddressPath;

/// `shmem_ctx_t`: a small number for those that are predefined, or the address of a context that
/// was made.
pub(crate) type CtxHandle = *mut Made;

/// A context that `shmem_ctx_create` or `shmem_team_create_ctx` has made.
#[derive(Debug)]
pub(crate) struct Made {
    /// Closed once it is destroyed.
    pub(crate) path: AddressPath,
    /// None once the world has ended.
    pub(crate) context: Option<Context>,
    /// The handle of the team that it was made from.
    pub(crate) team: usize,
}

/// How many destroyed contexts are kept.
const KEPT: usize = 64;

/// The contexts that the program has, by address, and those that were destroyed last.
pub(crate) struct Contexts {
    pub(crate) alive: BTreeSet<usize>,
    destroyed: VecDeque<Box<Made>>,
    /// What is left of those of the last world: an operation on one finds that it leads nowhere.
    #[expect(clippy::vec_box, reason = "a handle is the address of what is in the box")]
    ended: Vec<Box<Made>>,
}

static CONTEXTS: Mutex<Contexts> =
    Mutex::new(Contexts { alive: BTreeSet::new(), destroyed: VecDeque::new(), ended: Vec::new() });

/// Locks the table.
pub(crate) fn contexts() -> MutexGuard<'static, Contexts> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Contexts {
    /// From now on operations do not go by addresses.
    pub(crate) fn close_paths(&self) {
        for &address in &self.alive {
            let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: whatever is in `alive` is a box from `create` that was not ended.
            unsafe { (*handle).path.close() };
        }
    }

    /// Ends a context that the program does not have any more.
    pub(crate) fn end(&mut self, address: usize) {
        let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: it was in `alive`, and so is a box from `create` that was not ended.
        let made = unsafe { Box::from_raw(handle) };
        made.path.close();
        if let Some(context) = &made.context {
            context.handle().close();
        }
        self.destroyed.push_back(made);
        if self.destroyed.len() > KEPT {
            self.destroyed.pop_front();
        }
    }
}

/// Ends the contexts of a team, which is destroyed, and with it has completed their operations.
pub(crate) fn end_all_of(team: usize) {
    let mut contexts = contexts();
    let is_of_team = |&address: &usize| {
        let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: whatever is in `alive` is a box from `create` that was not ended.
        unsafe { (*handle).team == team }
    };
    let of_team: Vec<usize> = contexts.alive.iter().copied().filter(is_of_team).collect();
    for address in of_team {
        contexts.alive.remove(&address);
        contexts.end(address);
    }
}

/// In a child that was forked: what another thread of the parent was about to change may stay as it
/// is.
pub(crate) fn close_in_child() {
    let Ok(contexts) = CONTEXTS.try_lock() else { return };
    contexts.close_paths();
}

/// The world ends, and with it whatever the contexts reach (`OpenSHMEM 1.6 §9.1.4`).
pub(crate) fn end_all() {
    let (mut ended, mut reach) = (Vec::new(), Vec::new());
    {
        let mut contexts = contexts();
        for address in std::mem::take(&mut contexts.alive) {
            let handle: CtxHandle = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: it was in `alive`, and so is a box from `create` that was not ended.
            ended.push(unsafe { Box::from_raw(handle) });
        }
        ended.extend(contexts.destroyed.drain(..));
        for made in &mut ended {
            made.path.close();
            reach.extend(made.context.take());
        }
        std::mem::swap(&mut contexts.ended, &mut ended);
    }
    // Not under the lock: what a context reaches ends with it.
    drop((ended, reach));
}
