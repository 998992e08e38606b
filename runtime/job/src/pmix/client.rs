//! This process as a client of its launcher's PMIx server: the calls of PMIx that the bootstrap is
//! made of.
//!
//! All of them block until the server has answered, and a fence until all PEs have come to it. PMIx
//! itself may be called from any thread. An MPI library in the same process may be a client too:
//! PMIx counts beginnings and ends, and the names under which we put something begin with ours.
//!
//! The process stays a client until it exits, also when it is no PE any more: version 5.0 crashes
//! when a process begins again after the last end, and version 4.2 then knows less than before. A
//! launcher takes an exit without that end for a failure, so that a process ends only if its PE has
//! left the job in good order.
//!
//! A launcher that is killed ends no PE. PMIx notices that its connection is lost, whatever the
//! threads of the program do, and the process ends then, unless it is no PE any more.

use std::{
    ffi::{CStr, CString, c_void},
    ptr::{null, null_mut},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use oxshmem_base::{
    Error, Result,
    printable::printable,
    report,
    sync::{Mutex, lock},
};
use pmix_sys::{
    PMIX_COLLECT_DATA, PMIX_ERR_COMM_FAILURE, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_PARTIAL_SUCCESS,
    PMIX_ERR_UNREACH, PMIX_EVENT_ACTION_COMPLETE, PMIX_GLOBAL, PMIX_HOSTNAME, PMIX_JOB_SIZE,
    PMIX_LOCAL_PEERS, PMIX_OPERATION_SUCCEEDED, PMIX_RANK_WILDCARD, PMIX_SERVER_NSPACE, PMIX_SERVER_RANK,
    PMIX_SUCCESS, Value, pmix_event_notification_cbfunc_fn_t, pmix_info, pmix_proc, pmix_status_t,
    pmix_value,
};

/// How much a PE puts at a time. A server that is given some megabytes at once may crash.
const PIECE: usize = 256 << 10;

/// The length of a contribution stands before its first piece. So there is never nothing in a
/// value, which servers do not like either.
const LENGTH: usize = size_of::<u64>();

/// The longest contribution. What a PE says to be longer is malformed, so that no PE waits for
/// pieces that never come.
const LONGEST: u64 = 1 << 30;

/// More PEs than any job has, of which there is to be a list.
const MOST_PES: u64 = 1 << 24;

/// The way to the server. Copies are the same client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    pmix: &'static pmix_sys::Pmix,
    me: pmix_proc,
}

/// That of this process. Global, because what it stands for is.
static CLIENT: LazyLock<Mutex<Option<Held>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Held {
    client: Client,
    /// The process that is the client, and no child of it.
    process: u32,
    /// Whether its PE has left the job, and it has no other since.
    left: bool,
}

/// Whether this process is a PE. Beside `CLIENT`, because PMIx's thread, which asks, must not wait
/// for a thread that waits for PMIx.
static IS_PE: AtomicBool = AtomicBool::new(false);

/// The number of the next round. What was put stays with the server, so that no number may come
/// again.
static ROUND: AtomicU64 = AtomicU64::new(0);

impl Client {
    /// Becomes a client for a PE, if this process is none yet.
    pub(super) fn begin() -> Result<Self> {
        let mut held = lock(&CLIENT);
        if let Some(held) = held.as_mut() {
            if held.process != std::process::id() {
                return Err(failed("this process was forked by a PE, and is none itself"));
            }
            held.left = false;
            // Relaxed, here and below: it guards nothing. A launcher that goes meanwhile may be
            // noticed by either side.
            IS_PE.store(true, Relaxed);
            return Ok(held.client);
        }
        let why = "PMIX_NAMESPACE and PMIX_RANK say that a launcher with PMIx started this process as a PE";
        let pmix = pmix_sys::Pmix::load().map_err(|error| failed(format_args!("{why}, but {error}")))?;
        let mut me = pmix_proc::default();
        // SAFETY: it stores which process this is, and is given nothing.
        let status = unsafe { pmix.PMIx_Init(&mut me, null_mut(), 0) };
        if status != PMIX_SUCCESS {
            let text = pmix.status_text(status);
            let advice = "unset them if there is none";
            return Err(failed(format_args!("{why}, but its server cannot be reached ({text}); {advice}")));
        }
        let client = Self { pmix, me };
        client.watch_launcher();
        IS_PE.store(true, Relaxed);
        *held = Some(Held { client, process: std::process::id(), left: false });
        // SAFETY: a function without arguments that lives as long as the process. Without room for
        // it the launcher takes the exit for a failure, which is nothing that could be helped.
        unsafe { libc::atexit(end_at_exit) };
        Ok(client)
    }

    /// Has PMIx call `launcher_gone` when it loses its connection.
    fn watch_launcher(&self) {
        let mut lost = [PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNREACH, PMIX_ERR_COMM_FAILURE];
        // Where it cannot be registered, PEs that call the library learn of a lost launcher from
        // their calls.
        // SAFETY: PMIx copies the codes, and the function lives as long as the process. Without a
        // function to call when it is registered, it returns when that is done, with the number of
        // the registration.
        unsafe {
            self.pmix.PMIx_Register_event_handler(
                lost.as_mut_ptr(),
                lost.len(),
                null_mut(),
                0,
                Some(launcher_gone),
                None,
                null_mut(),
            );
        }
    }

    /// Its PE has left the job in good order, so that the process may exit. Or be a PE again.
    pub(super) fn leave(&self) {
        IS_PE.store(false, Relaxed);
        if let Some(held) = lock(&CLIENT).as_mut() {
            held.left = true;
        }
    }

    /// This process's number in its job.
    pub(super) fn rank(&self) -> usize {
        self.me.rank as usize
    }

    /// How many processes the job has.
    pub(super) fn size(&self) -> Result<usize> {
        let size = self.get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)?;
        let size = size.as_unsigned().filter(|&size| size > self.me.rank.into() && size <= MOST_PES);
        size.map(|size| size as usize).ok_or_else(|| {
            failed("the launcher's PMIx server does not say how many PEs the job has; start it with oshrun")
        })
    }

    /// The server, by a name that it has for all its clients and no other server has.
    pub(super) fn server(&self) -> Result<String> {
        let own = |key| self.get(self.me.rank, key);
        let text = |value: Value<'_>| value.as_str().map(|text| text.to_string_lossy().into_owned());
        let job = own(PMIX_SERVER_NSPACE).ok().and_then(text);
        let rank = own(PMIX_SERVER_RANK).ok().and_then(|rank| rank.as_unsigned());
        match (job, rank) {
            (Some(job), Some(rank)) => Ok(format!("{job}.{rank}")),
            // A server that does not say its name is known by its clients.
            _ => text(self.get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)?)
                .ok_or_else(|| failed("the launcher's PMIx server does not say which PEs are on this host; start the job with oshrun")),
        }
    }

    /// What the launcher calls this host.
    pub(super) fn host(&self) -> Option<String> {
        let host = self.get(self.me.rank, PMIX_HOSTNAME).ok()?;
        host.as_str()
            .map(|host| printable(&host.to_string_lossy()).into_owned())
            .filter(|host| !host.is_empty())
    }

    /// Gives `mine` to all `n` processes of the job, and gets what they gave.
    pub(super) fn exchange(&self, mine: &[u8], n: usize) -> Result<Arc<[Vec<u8>]>> {
        let mut first = (mine.len() as u64).to_le_bytes().to_vec();
        first.extend(&mine[..mine.len().min(PIECE)]);
        let mut all = vec![Vec::new(); n];
        let mut lengths = vec![0; n];
        self.round(Some(&first), 0..n, |pe, piece| {
            let (length, piece) = first_piece(piece)?;
            lengths[pe] = length;
            all[pe] = piece.to_vec();
            Some(())
        })?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        for start in (PIECE..longest).step_by(PIECE) {
            let piece = mine.get(start..).map(|rest| &rest[..rest.len().min(PIECE)]);
            let givers = (0..n).filter(|&pe| lengths[pe] > start);
            self.round(piece.filter(|piece| !piece.is_empty()), givers, |pe, piece| {
                all[pe].extend(piece);
                Some(())
            })?;
        }
        match (0..n).find(|&pe| all[pe].len() != lengths[pe]) {
            Some(pe) => Err(malformed(pe)),
            None => Ok(all.into()),
        }
    }

    /// Exchanges in one round, in which each gives at most [`PIECE`] bytes: what `givers`, in their
    /// order, have given.
    pub(super) fn exchange_short(
        &self,
        mine: &[u8],
        givers: impl Iterator<Item = usize>,
    ) -> Result<Vec<Vec<u8>>> {
        if mine.len() > PIECE {
            return Err(failed(format_args!("{} bytes are more than a PE gives in one round", mine.len())));
        }
        let mut first = (mine.len() as u64).to_le_bytes().to_vec();
        first.extend(mine);
        let mut all = Vec::new();
        self.round(Some(&first), givers, |_, piece| {
            let (length, piece) = first_piece(piece)?;
            all.push(piece.to_vec());
            (length == piece.len()).then_some(())
        })?;
        Ok(all)
    }

    /// One round of it: puts this process's piece, if it has one, and takes those of `givers`.
    fn round(
        &self,
        mine: Option<&[u8]>,
        givers: impl Iterator<Item = usize>,
        mut take: impl FnMut(usize, &[u8]) -> Option<()>,
    ) -> Result<()> {
        // Relaxed: only one thread at a time is in here, and the one before it has handed it its
        // turn.
        let key = format!("oxshmem.{}", ROUND.fetch_add(1, Relaxed));
        let key = CString::new(key).unwrap_or_else(|_| unreachable!("there is no zero in it"));
        if let Some(mine) = mine {
            let mut value = pmix_value::bytes(mine);
            // SAFETY: PMIx copies key and value.
            self.check("put", unsafe { self.pmix.PMIx_Put(PMIX_GLOBAL, key.as_ptr(), &mut value) })?;
            // SAFETY: it takes no arguments.
            self.check("commit", unsafe { self.pmix.PMIx_Commit() })?;
        }
        self.fence(true)?;
        for pe in givers {
            let taken = match mine {
                Some(mine) if pe == self.rank() => take(pe, mine),
                _ => self.get(pe as u32, &key)?.as_bytes().and_then(|piece| take(pe, piece)),
            };
            taken.ok_or_else(|| malformed(pe))?;
        }
        Ok(())
    }

    /// Returns when all processes of the job have come here, with what they have put if `collect`.
    pub(super) fn fence(&self, collect: bool) -> Result<()> {
        let job = self.me.with_rank(PMIX_RANK_WILDCARD);
        let directives = [pmix_info::new(PMIX_COLLECT_DATA, pmix_value::flag(collect))];
        // SAFETY: it reads one process and one directive.
        self.check("fence", unsafe { self.pmix.PMIx_Fence(&job, 1, directives.as_ptr(), 1) })
    }

    fn get(&self, rank: u32, key: &CStr) -> Result<Value<'static>> {
        let from = self.me.with_rank(rank);
        let mut raw = null_mut();
        // SAFETY: it stores a value, if it succeeds.
        let status = unsafe { self.pmix.PMIx_Get(&from, key.as_ptr(), null(), 0, &mut raw) };
        self.check(&key.to_string_lossy(), status)?;
        // SAFETY: that value is the caller's alone.
        unsafe { Value::from_raw(self.pmix, raw) }
            .ok_or_else(|| Error::bootstrap("PMIx", format_args!("{key:?} has no value")))
    }

    /// Asks for the end of all processes of the job.
    pub(super) fn abort(&self, status: i32, why: &str) {
        let why = CString::new(why.replace('\0', " ")).unwrap_or_default();
        // SAFETY: it reads a string, and no processes are all of the job's.
        unsafe { self.pmix.PMIx_Abort(status, why.as_ptr(), null_mut(), 0) };
    }

    fn check(&self, what: &str, status: pmix_status_t) -> Result<()> {
        let text = match status {
            PMIX_SUCCESS | PMIX_OPERATION_SUCCEEDED => return Ok(()),
            PMIX_ERR_PARTIAL_SUCCESS => {
                "a PE of the job is lost, and the launcher ends the others".to_owned()
            }
            PMIX_ERR_LOST_CONNECTION | PMIX_ERR_COMM_FAILURE | PMIX_ERR_UNREACH => GONE.to_owned(),
            status => format!("{what}: {}", self.pmix.status_text(status)),
        };
        Err(Error::bootstrap("PMIx", text))
    }
}

/// How long a contribution is, and its first piece, from what a PE has put first.
pub(super) fn first_piece(put: &[u8]) -> Option<(usize, &[u8])> {
    let (length, piece) = put.split_first_chunk::<LENGTH>()?;
    let length = u64::from_le_bytes(*length);
    let fits = length <= LONGEST && piece.len() == (length as usize).min(PIECE);
    fits.then_some((length as usize, piece))
}

/// What there is to say of a launcher that was killed.
const GONE: &str = "the launcher, which started this job, is gone; the job is over";

/// PMIx has lost the connection to its server. It calls this on a thread of its own, so that it
/// does not matter what those of the program do.
unsafe extern "C" fn launcher_gone(
    _registration: usize,
    _status: pmix_status_t,
    _source: *const pmix_proc,
    _info: *mut pmix_info,
    _ninfo: usize,
    _results: *mut pmix_info,
    _nresults: usize,
    done: pmix_event_notification_cbfunc_fn_t,
    data: *mut c_void,
) {
    if IS_PE.load(Relaxed) {
        report(format_args!("oxshmem: {GONE}"));
        // No handlers: other threads hold what those would wait for.
        // SAFETY: it ends the process, and touches no memory.
        unsafe { libc::_exit(1) };
    }
    if let Some(done) = done {
        // SAFETY: PMIx asks for this call when an event was looked at, with the data that it gave.
        unsafe { done(PMIX_EVENT_ACTION_COMPLETE, null_mut(), 0, None, null_mut(), data) };
    }
}

/// At the exit of the process.
extern "C" fn end_at_exit() {
    // A child that was forked has none of PMIx's threads, and another thread may have held this at
    // the fork.
    let Some(held) = CLIENT.try_lock() else { return };
    if let Some(Held { client, process, left: true }) = &*held
        && *process == std::process::id()
    {
        // SAFETY: it undoes `begin`. If the server is gone, no process is left that wants to know.
        unsafe { client.pmix.PMIx_Finalize(null(), 0) };
    }
}

fn failed(detail: impl std::fmt::Display) -> Error {
    Error::bootstrap("init", detail)
}

fn malformed(pe: usize) -> Error {
    Error::bootstrap(
        "exchange",
        format_args!("what PE {pe} gave is malformed; start all PEs with one build of oxshmem"),
    )
}
