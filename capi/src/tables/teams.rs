//! The teams that the program has. The last ones that were destroyed are kept for a while, so that
//! a program which uses one gets an error that says so.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use oxshmem::Team;

/// `shmem_team_t`: a small number for those that are predefined, or the address of a team that was
/// made.
pub(crate) type TeamHandle = *mut MadeTeam;

/// A team that a split has made.
#[derive(Debug)]
pub(crate) struct MadeTeam {
    pub(crate) team: Team,
    pub(crate) destroyed: AtomicBool,
}

/// How many destroyed teams are kept.
const KEPT: usize = 64;

/// The teams that the program has, by address, and those that were destroyed last.
struct Teams {
    alive: BTreeSet<usize>,
    destroyed: VecDeque<Box<MadeTeam>>,
}

static TEAMS: Mutex<Teams> = Mutex::new(Teams { alive: BTreeSet::new(), destroyed: VecDeque::new() });

fn teams() -> MutexGuard<'static, Teams> {
    TEAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The world ends, and with it all teams (`OpenSHMEM 1.6 §9.1.4`).
pub(crate) fn end_all() {
    let ended =
        std::mem::replace(&mut *teams(), Teams { alive: BTreeSet::new(), destroyed: VecDeque::new() });
    for address in ended.alive {
        let handle: TeamHandle = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: it was in `alive`, and so is a box from `add` that was not destroyed.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// A team that a split has made is the program's from now on.
pub(crate) fn add(team: Team) -> TeamHandle {
    let made = Box::into_raw(Box::new(MadeTeam { team, destroyed: AtomicBool::new(false) }));
    teams().alive.insert(made.expose_provenance());
    made
}

/// Ends a team that the program does not have any more.
///
/// # Safety
/// It came from [`add`] and is alive, and no other call ends it.
pub(crate) unsafe fn end(handle: TeamHandle) {
    // SAFETY: as the caller says.
    let made = unsafe { Box::from_raw(handle) };
    made.destroyed.store(true, Ordering::Relaxed);
    let mut teams = teams();
    teams.alive.remove(&handle.addr());
    teams.destroyed.push_back(made);
    let oldest = if teams.destroyed.len() > KEPT { teams.destroyed.pop_front() } else { None };
    drop(teams);
    drop(oldest);
}
