//! Opening UCX, and what a PE publishes of it.

use std::{
    env,
    ffi::{CStr, CString},
    os::fd::BorrowedFd,
    ptr,
    sync::{Arc, OnceLock, Weak, atomic::AtomicBool},
};

use oxshmem_base::{Error, Result, sync::Mutex};
use oxshmem_job::Placement;
use oxshmem_memory::Segment;
use oxshmem_progress::executor::Executor;
use ucx_sys::*;

use super::{Inner, Worker, strangers::Strangers};

/// What a PE needs of another to reach it: lengths of address and key, then the memory's address,
/// and what messages to it end with; behind these words address and key.
pub(super) const HEAD: usize = 32;

/// Closes UCX if opening goes wrong on the way.
pub(super) struct Opening {
    pub(super) ucx: &'static Ucx,
    pub(super) context: ucp_context_h,
    pub(super) worker: ucp_worker_h,
    pub(super) registered: ucp_mem_h,
}

impl Drop for Opening {
    fn drop(&mut self) {
        // SAFETY: what is not null is open, and nothing else knows of it.
        unsafe {
            if !self.registered.is_null() {
                self.ucx.ucp_mem_unmap(self.context, self.registered);
            }
            if !self.worker.is_null() {
                self.ucx.ucp_worker_destroy(self.worker);
            }
            if !self.context.is_null() {
                self.ucx.ucp_cleanup(self.context);
            }
        }
    }
}

/// Which network interfaces UCX uses, and so where it listens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Interfaces {
    /// Those that UCX takes by itself.
    Any,
    /// Only this one, which no other host reaches.
    Loopback,
    /// Those that `SHMEM_NET_INTERFACES` names.
    Named(String),
}

impl Interfaces {
    /// Those that were `asked` for. Where none were, and UCX's own variables do not say either,
    /// hosts that `one_machine` simulates need no more than its loopback interface.
    pub(super) fn choose(asked: Option<&str>, one_machine: bool) -> Self {
        let transports = env::var("UCX_TLS").ok();
        Self::of(asked, one_machine, transports.as_deref(), env::var_os("UCX_NET_DEVICES").is_some())
    }

    fn of(asked: Option<&str>, one_machine: bool, transports: Option<&str>, devices: bool) -> Self {
        match asked {
            Some(names) => Self::Named(names.to_owned()),
            // Other transports than TCP have no such interface.
            None if one_machine && !devices && transports.is_none_or(|names| names.contains("tcp")) => {
                Self::Loopback
            }
            None => Self::Any,
        }
    }

    /// What UCX is opened with.
    fn names(&self) -> Option<&str> {
        match self {
            Self::Any => None,
            Self::Loopback => Some("lo"),
            Self::Named(names) => Some(names),
        }
    }
}

/// A UCX context for the PE of `placement`.
pub(super) fn open_context(
    ucx: &'static Ucx,
    placement: &Placement,
    interfaces: &Interfaces,
) -> Result<ucp_context_h> {
    let mut config = ptr::null_mut();
    // SAFETY: a configuration of our own, from the environment.
    check(ucx, "read its configuration", unsafe {
        ucx.ucp_config_read(ptr::null(), ptr::null(), &mut config)
    })?;
    let set = |name: &CStr, value: &CStr| {
        // SAFETY: the configuration was read; UCX copies the strings.
        unsafe { ucx.ucp_config_modify(config, name.as_ptr(), value.as_ptr()) }
    };
    let asked = |variable: &str| env::var_os(variable).is_some();
    let mut status = UCS_OK;
    if !asked("UCX_TLS") && !asked("UCX_NET_DEVICES") {
        // PEs that could share memory do so without UCX; that others might is what simulated hosts
        // are to forget.
        status = set(c"TLS", c"^shm");
    }
    if let (UCS_OK, Some(names)) = (status, interfaces.names()) {
        // There is no zero in the value of a variable.
        status = set(c"NET_DEVICES", &CString::new(names).unwrap_or_default());
    }
    if ucx.version() >= (Version { major: 1, minor: 20, release: 0 }) && !asked("UCX_TCP_PUT_ENABLE") {
        // TCP's own puts crash a target that was stopped for a while. Older versions have no such
        // thing.
        set(c"TCP_PUT_ENABLE", c"n");
    }
    let features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    let params = ucp_params_t {
        field_mask: (UCP_PARAM_FIELD_FEATURES
            | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS
            | UCP_PARAM_FIELD_ESTIMATED_NUM_PPN
            | UCP_PARAM_FIELD_NAME)
            .into(),
        features: features.into(),
        estimated_num_eps: placement.n_pes - placement.local.len(),
        estimated_num_ppn: placement.local.len(),
        name: c"oxshmem".as_ptr(),
        ..Default::default()
    };
    let mut context = ptr::null_mut();
    if status == UCS_OK {
        // SAFETY: the parameters say which of them count.
        status = unsafe { ucx.ucp_init(&params, config, &mut context) };
    }
    // SAFETY: it was read, and is released once.
    unsafe { ucx.ucp_config_release(config) };
    match interfaces {
        Interfaces::Any => check(ucx, "open a context", status)?,
        chosen => check(
            ucx,
            &format!("open a context on {} alone (SHMEM_NET_INTERFACES)", chosen.names().unwrap_or_default()),
            status,
        )?,
    }
    Ok(context)
}

impl Worker {
    /// Opens UCX for the PE of `placement`, whose symmetric memory is its block of `memory`.
    /// Batches reach its `scratch` too.
    pub(super) fn open(
        ucx: &'static Ucx,
        placement: &Placement,
        interfaces: &Interfaces,
        memory: Segment,
        scratch: Segment,
        executor: &Arc<Executor>,
    ) -> Result<Arc<Self>> {
        let block = placement.hosts.local_pe_of(placement.pe);
        let mut opening = Opening {
            ucx,
            context: open_context(ucx, placement, interfaces)?,
            worker: ptr::null_mut(),
            registered: ptr::null_mut(),
        };
        let params = ucp_worker_params_t {
            field_mask: UCP_WORKER_PARAM_FIELD_THREAD_MODE.into(),
            thread_mode: UCS_THREAD_MODE_SERIALIZED,
            ..Default::default()
        };
        // SAFETY: the context is open, and the parameters say which of them count.
        let made = unsafe { ucx.ucp_worker_create(opening.context, &params, &mut opening.worker) };
        check(ucx, "create a worker", made)?;
        let mut mode =
            ucp_worker_attr_t { field_mask: UCP_WORKER_ATTR_FIELD_THREAD_MODE.into(), ..Default::default() };
        // SAFETY: the worker is open.
        check(ucx, "query its worker", unsafe { ucx.ucp_worker_query(opening.worker, &mut mode) })?;
        if mode.thread_mode == UCS_THREAD_MODE_SINGLE {
            return Err(Error::Unsupported {
                what: "this UCX does not let threads take turns with a worker; use a build with --enable-mt"
                    .into(),
            });
        }
        let mut descriptor = -1;
        // SAFETY: as above.
        check(ucx, "get a descriptor", unsafe { ucx.ucp_worker_get_efd(opening.worker, &mut descriptor) })?;
        // SAFETY: UCX keeps it open until the worker is destroyed.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        // Another one of the same, which the helper thread may still sleep on when UCX is gone.
        let descriptor =
            descriptor.try_clone_to_owned().map_err(|e| Error::system("dup of UCX's descriptor", e))?;

        let base = memory.address_unchecked(block, 0);
        let params = ucp_mem_map_params_t {
            field_mask: (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: base.cast(),
            length: memory.len(),
            ..Default::default()
        };
        // SAFETY: the block is mapped for as long as `memory` exists, which the worker holds.
        let registered = unsafe { ucx.ucp_mem_map(opening.context, &params, &mut opening.registered) };
        check(ucx, "register the symmetric heap", registered)?;
        let strangers = Strangers::new()?;
        let published = published(&opening, base.addr() as u64, strangers.secret())?;

        let made = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            ucx,
            handle: opening.worker,
            me: placement.pe,
            n_pes: placement.n_pes,
            block,
            memory,
            scratch,
            published,
            directory: OnceLock::new(),
            strangers,
            inner: Mutex::new(Inner {
                context: opening.context,
                registered: opening.registered,
                open: true,
                started: 0,
                peers: (0..placement.n_pes).map(|_| None).collect(),
            }),
            ends: Mutex::default(),
            ended_at_once: AtomicBool::new(false),
            has_events: AtomicBool::new(false),
            owes: AtomicBool::new(false),
            channels: Mutex::default(),
            messages: Mutex::default(),
            gathered: Mutex::default(),
            listener: OnceLock::new(),
            gathering: AtomicBool::new(false),
            executor: Arc::downgrade(executor),
            helper_waker: Arc::clone(executor.helper_waker()),
            descriptor,
            closing: AtomicBool::new(false),
        });
        // From here on it is closed with the worker.
        std::mem::forget(opening);
        made.accept_messages()?;
        Ok(made)
    }
}

/// What others need to reach this PE.
fn published(opening: &Opening, base: u64, secret: u64) -> Result<Vec<u8>> {
    let Opening { ucx, context, worker, registered } = *opening;
    let (mut address, mut address_len) = (ptr::null_mut(), 0);
    let (mut key, mut key_len) = (ptr::null_mut(), 0);
    let mut published = Vec::new();
    // SAFETY: all are open. UCX lends address and key until they are released.
    unsafe {
        check(ucx, "get its address", ucx.ucp_worker_get_address(worker, &mut address, &mut address_len))?;
        let packed = ucx.ucp_rkey_pack(context, registered, &mut key, &mut key_len);
        for word in [address_len as u64, key_len as u64, base, secret] {
            published.extend(word.to_le_bytes());
        }
        published.extend_from_slice(std::slice::from_raw_parts(address.cast(), address_len));
        ucx.ucp_worker_release_address(worker, address);
        check(ucx, "pack a key", packed)?;
        published.extend_from_slice(std::slice::from_raw_parts(key.cast(), key_len));
        ucx.ucp_rkey_buffer_release(key);
    }
    Ok(published)
}

pub(super) fn check(ucx: &Ucx, what: &str, status: ucs_status_t) -> Result<()> {
    if status == UCS_OK {
        return Ok(());
    }
    Err(Error::bootstrap("net", format!("UCX {} cannot {what}: {}", ucx.version(), ucx.status_text(status))))
}

pub(super) fn to_words(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0; bytes.len().div_ceil(size_of::<u64>())];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_hosts_listen_on_loopback_unless_a_setting_names_another_interface() {
        let any_machine = |asked, transports, devices| Interfaces::of(asked, false, transports, devices);
        let one_machine = |asked, transports, devices| Interfaces::of(asked, true, transports, devices);
        assert_eq!(one_machine(None, None, false), Interfaces::Loopback);
        assert_eq!(one_machine(None, Some("tcp,self"), false), Interfaces::Loopback);
        assert_eq!(one_machine(None, Some("rc"), false), Interfaces::Any);
        assert_eq!(one_machine(None, None, true), Interfaces::Any);
        assert_eq!(any_machine(None, None, false), Interfaces::Any);
        assert_eq!(one_machine(Some("eth0"), None, true), Interfaces::Named("eth0".to_owned()));
        assert_eq!(any_machine(Some("eth0"), Some("tcp"), false), Interfaces::Named("eth0".to_owned()));
    }
}
