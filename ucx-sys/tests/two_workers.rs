//! Two workers in one process that talk over TCP, each with a context of its own: what a transport
//! does, in small.

use std::{
    ffi::{CStr, c_void},
    ptr::{null, null_mut},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use ucx_sys::*;

/// A context, a worker, and an endpoint to the other side once connected.
struct Side<'a> {
    ucx: &'a Ucx,
    context: ucp_context_h,
    worker: ucp_worker_h,
    endpoint: ucp_ep_h,
}

impl<'a> Side<'a> {
    fn new(ucx: &'a Ucx) -> Self {
        let mut side = Self { ucx, context: null_mut(), worker: null_mut(), endpoint: null_mut() };
        let features =
            UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
        let params = ucp_params_t {
            field_mask: UCP_PARAM_FIELD_FEATURES.into(),
            features: features.into(),
            ..Default::default()
        };
        let worker_params = ucp_worker_params_t {
            field_mask: UCP_WORKER_PARAM_FIELD_THREAD_MODE.into(),
            thread_mode: UCS_THREAD_MODE_SINGLE,
            ..Default::default()
        };
        let mut config = null_mut();
        // SAFETY: the structures say what of them counts, everything outlives its call, and the
        // configuration is released when the context is there.
        unsafe {
            ok(ucx, ucx.ucp_config_read(null(), null(), &mut config));
            ok(ucx, ucx.ucp_config_modify(config, c"TLS".as_ptr(), c"tcp".as_ptr()));
            ok(ucx, ucx.ucp_init(&params, config, &mut side.context));
            ucx.ucp_config_release(config);
            ok(ucx, ucx.ucp_worker_create(side.context, &worker_params, &mut side.worker));
        }
        side
    }

    fn address(&self) -> Vec<u8> {
        let (mut address, mut length) = (null_mut(), 0);
        // SAFETY: UCX lends `length` bytes until they are released.
        unsafe {
            ok(self.ucx, self.ucx.ucp_worker_get_address(self.worker, &mut address, &mut length));
            let copy = std::slice::from_raw_parts(address.cast(), length).to_vec();
            self.ucx.ucp_worker_release_address(self.worker, address);
            copy
        }
    }

    fn connect(&mut self, address: &[u8]) {
        let params = ucp_ep_params_t {
            field_mask: UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into(),
            address: address.as_ptr().cast(),
            ..Default::default()
        };
        // SAFETY: the address is that of a worker, and is only read in the call.
        ok(self.ucx, unsafe { self.ucx.ucp_ep_create(self.worker, &params, &mut self.endpoint) });
    }

    fn progress(&self) {
        // SAFETY: the worker is only used by this thread.
        unsafe { self.ucx.ucp_worker_progress(self.worker) };
    }

    /// Registers memory, and packs what the other side needs to reach it.
    fn expose(&self, memory: &AtomicU64) -> (ucp_mem_h, Vec<u8>) {
        let params = ucp_mem_map_params_t {
            field_mask: (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: memory.as_ptr().cast(),
            length: size_of::<u64>(),
            ..Default::default()
        };
        let (mut handle, mut packed, mut length) = (null_mut(), null_mut(), 0);
        // SAFETY: the memory lives until it is unmapped, and what UCX lends is copied before it is
        // released.
        unsafe {
            ok(self.ucx, self.ucx.ucp_mem_map(self.context, &params, &mut handle));
            ok(self.ucx, self.ucx.ucp_rkey_pack(self.context, handle, &mut packed, &mut length));
            let copy = std::slice::from_raw_parts(packed.cast::<u8>(), length).to_vec();
            self.ucx.ucp_rkey_buffer_release(packed);
            (handle, copy)
        }
    }

    /// Waits for an operation of this side while both sides make progress.
    fn complete(&self, other: &Side, operation: ucs_status_ptr_t) {
        let mut status = UCS_PTR_STATUS(operation);
        if UCS_PTR_IS_PTR(operation) {
            progress_until(&[self, other], || {
                // SAFETY: it is a request that was not freed yet.
                status = unsafe { self.ucx.ucp_request_check_status(operation) };
                status != UCS_INPROGRESS
            });
            // SAFETY: it is freed once.
            unsafe { self.ucx.ucp_request_free(operation) };
        }
        ok(self.ucx, status);
    }

    fn flush(&self, other: &Side) {
        let params = ucp_request_param_t::default();
        // SAFETY: the worker is alive, and only used by this thread.
        self.complete(other, unsafe { self.ucx.ucp_worker_flush_nbx(self.worker, &params) });
    }
}

impl Drop for Side<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing uses them after this.
        unsafe {
            self.ucx.ucp_worker_destroy(self.worker);
            self.ucx.ucp_cleanup(self.context);
        }
    }
}

fn ok(ucx: &Ucx, status: ucs_status_t) {
    assert_eq!(status, UCS_OK, "{}", ucx.status_text(status));
}

fn progress_until(sides: &[&Side], mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "it takes longer than 20 s");
        sides.iter().for_each(|side| side.progress());
    }
}

/// What the handler of active messages was called with.
#[derive(Default)]
struct Inbox {
    header: Vec<u8>,
    data: Vec<u8>,
}

/// Takes an active message into the inbox that `inbox` points to.
unsafe extern "C" fn receive(
    inbox: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: UCX passes what was registered, what was sent, and parameters that live for the call.
    // A message this short is never a promise of data.
    unsafe {
        assert_eq!((*param).recv_attr & u64::from(UCP_AM_RECV_ATTR_FLAG_RNDV), 0);
        let inbox = &mut *(*inbox.cast::<Mutex<Inbox>>()).lock().expect("nobody panicked");
        inbox.header = std::slice::from_raw_parts(header.cast(), header_length).to_vec();
        inbox.data = std::slice::from_raw_parts(data.cast(), length).to_vec();
    }
    UCS_OK
}

#[test]
fn two_workers_put_get_add_and_send_messages_over_tcp() {
    let ucx = match Ucx::load() {
        Ok(ucx) => ucx,
        Err(error) => return println!("skipped: {error}"),
    };
    println!("{ucx:?}");
    let (mut a, mut b) = (Side::new(ucx), Side::new(ucx));
    a.connect(&b.address());
    b.connect(&a.address());

    let memory = Box::new(AtomicU64::new(0));
    let remote = memory.as_ptr() as u64;
    let (handle, packed) = b.expose(&memory);
    let mut rkey = null_mut();
    // SAFETY: it was packed by the other side of this endpoint.
    ok(ucx, unsafe { ucx.ucp_ep_rkey_unpack(a.endpoint, packed.as_ptr().cast(), &mut rkey) });

    let params = ucp_request_param_t::default();
    let source = 40_u64;
    // SAFETY: here and below, buffers live until the operation is complete, and the memory is
    // mapped until after.
    let put = unsafe { ucx.ucp_put_nbx(a.endpoint, (&raw const source).cast(), 8, remote, rkey, &params) };
    a.complete(&b, put);
    a.flush(&b);
    assert_eq!(memory.load(SeqCst), 40, "put and flush");

    let (one, mut before) = (1_u64, 0_u64);
    let fetch = ucp_request_param_t {
        op_attr_mask: UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
        datatype: ucp_dt_make_contig(8),
        reply_buffer: (&raw mut before).cast(),
        ..Default::default()
    };
    let operand = (&raw const one).cast();
    // SAFETY: as above.
    let add =
        unsafe { ucx.ucp_atomic_op_nbx(a.endpoint, UCP_ATOMIC_OP_ADD, operand, 1, remote, rkey, &fetch) };
    a.complete(&b, add);
    assert_eq!((before, memory.load(SeqCst)), (40, 41), "fetch-add");

    let mut target = 0_u64;
    // SAFETY: as above.
    let get = unsafe { ucx.ucp_get_nbx(a.endpoint, (&raw mut target).cast(), 8, remote, rkey, &params) };
    a.complete(&b, get);
    assert_eq!(target, 41, "get");

    let inbox = Box::new(Mutex::new(Inbox::default()));
    let handler = ucp_am_handler_param_t {
        field_mask: (UCP_AM_HANDLER_PARAM_FIELD_ID
            | UCP_AM_HANDLER_PARAM_FIELD_CB
            | UCP_AM_HANDLER_PARAM_FIELD_ARG)
            .into(),
        id: 7,
        cb: Some(receive),
        arg: (&raw const *inbox).cast_mut().cast(),
        ..Default::default()
    };
    let (header, data) = (*b"head", *b"an active message");
    let eager = ucp_request_param_t {
        op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
        flags: UCP_AM_SEND_FLAG_EAGER,
        ..Default::default()
    };
    // SAFETY: as above; the inbox lives longer than the worker.
    let send = unsafe {
        ok(ucx, ucx.ucp_worker_set_am_recv_handler(b.worker, &handler));
        let (header, data) = (header.as_ptr().cast(), data.as_ptr().cast());
        ucx.ucp_am_send_nbx(a.endpoint, 7, header, 4, data, 17, &eager)
    };
    a.complete(&b, send);
    progress_until(&[&a, &b], || !inbox.lock().expect("nobody panicked").data.is_empty());
    let got = inbox.lock().expect("nobody panicked");
    assert_eq!((&got.header[..], &got.data[..]), (&header[..], &data[..]));
    drop(got);

    let mut text = [0_u8; 16];
    // SAFETY: as above.
    let (receive, send) = unsafe {
        (
            ucx.ucp_tag_recv_nbx(b.worker, text.as_mut_ptr().cast(), 16, 5, !0, &params),
            ucx.ucp_tag_send_nbx(a.endpoint, c"tagged".as_ptr().cast(), 7, 5, &params),
        )
    };
    a.complete(&b, send);
    b.complete(&a, receive);
    assert_eq!(CStr::from_bytes_until_nul(&text), Ok(c"tagged"));

    // SAFETY: nothing is outstanding, and nothing uses them after this.
    unsafe {
        ucx.ucp_rkey_destroy(rkey);
        let close = [(&a, &b), (&b, &a)]
            .map(|(side, other)| (side, other, ucx.ucp_ep_close_nbx(side.endpoint, &params)));
        close.into_iter().for_each(|(side, other, request)| side.complete(other, request));
        ok(ucx, ucx.ucp_mem_unmap(b.context, handle));
    }
}

#[test]
fn a_worker_wakes_its_event_descriptor() {
    let ucx = match Ucx::load() {
        Ok(ucx) => ucx,
        Err(error) => return println!("skipped: {error}"),
    };
    let side = Side::new(ucx);
    let mut descriptor = -1;
    // SAFETY: the worker is alive, and only used by this thread.
    unsafe {
        ok(ucx, ucx.ucp_worker_get_efd(side.worker, &mut descriptor));
        while ucx.ucp_worker_arm(side.worker) == UCS_ERR_BUSY {
            side.progress();
        }
    }
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: it is one element, and outlives both calls.
    unsafe {
        assert_eq!(libc::poll(&mut poll, 1, 0), 0, "nothing happened");
        ok(ucx, ucx.ucp_worker_signal(side.worker));
        assert_eq!(libc::poll(&mut poll, 1, 5000), 1, "it was signalled");
    }
}
