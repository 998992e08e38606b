//! UCX without oxshmem: what an operation costs at least between these two PEs, with a target that
//! does nothing but wait for it.

use std::{
    ffi::c_void,
    ptr::{null, null_mut},
    time::Instant,
};

use oxshmem::World;
use ucx_sys::*;

use crate::Outcome;

/// The tag of the message that lets the target go.
const GO: u64 = 7;

/// A context and a worker of this PE's own, connected to the other PE's.
pub(crate) struct RawUcx {
    ucx: &'static Ucx,
    context: ucp_context_h,
    worker: ucp_worker_h,
    endpoint: ucp_ep_h,
    rkey: ucp_rkey_h,
    registered: ucp_mem_h,
    /// What the other PE puts to and gets from.
    memory: Vec<u64>,
    /// Where the other PE's is.
    remote: u64,
}

impl RawUcx {
    /// Connects both PEs. Collective.
    pub(crate) async fn connect(world: &World, bytes: usize) -> Outcome<Self> {
        let ucx = Ucx::load()?;
        let mut raw = Self {
            ucx,
            context: null_mut(),
            worker: null_mut(),
            endpoint: null_mut(),
            rkey: null_mut(),
            registered: null_mut(),
            memory: vec![0; bytes / 8],
            remote: 0,
        };
        let features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_TAG;
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
        let map = ucp_mem_map_params_t {
            field_mask: (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: raw.memory.as_mut_ptr().cast(),
            length: size_of_val(&*raw.memory),
            ..Default::default()
        };
        let (mut config, mut address, mut address_len) = (null_mut(), null_mut(), 0);
        let (mut key, mut key_len) = (null_mut(), 0);
        // SAFETY: the structures say what of them counts; the memory is registered for as long as
        // `raw` has it.
        unsafe {
            ok(ucx, ucx.ucp_config_read(null(), null(), &mut config))?;
            if std::env::var_os("UCX_TLS").is_none() {
                // As oxshmem does.
                ok(ucx, ucx.ucp_config_modify(config, c"TLS".as_ptr(), c"^shm".as_ptr()))?;
            }
            ok(ucx, ucx.ucp_config_modify(config, c"ATOMIC_MODE".as_ptr(), c"cpu".as_ptr()))?;
            ok(ucx, ucx.ucp_init(&params, config, &mut raw.context))?;
            ucx.ucp_config_release(config);
            ok(ucx, ucx.ucp_worker_create(raw.context, &worker_params, &mut raw.worker))?;
            ok(ucx, ucx.ucp_mem_map(raw.context, &map, &mut raw.registered))?;
            ok(ucx, ucx.ucp_worker_get_address(raw.worker, &mut address, &mut address_len))?;
            ok(ucx, ucx.ucp_rkey_pack(raw.context, raw.registered, &mut key, &mut key_len))?;
        }
        // SAFETY: UCX lends both until they are released.
        let (address_bytes, key_bytes) = unsafe {
            let address_bytes = std::slice::from_raw_parts(address.cast::<u8>(), address_len).to_vec();
            let key_bytes = std::slice::from_raw_parts(key.cast::<u8>(), key_len).to_vec();
            ucx.ucp_worker_release_address(raw.worker, address);
            ucx.ucp_rkey_buffer_release(key);
            (address_bytes, key_bytes)
        };
        let mine = [address_bytes.len() as u64, key_bytes.len() as u64, raw.memory.as_ptr() as u64];
        let other = 1 - world.my_pe();
        let heads = world.alloc_zeroed::<u64>(3).await?;
        let bytes = world.alloc_zeroed::<u8>(8192).await?;
        heads.view().write(&mine);
        let both = [&address_bytes[..], &key_bytes[..]].concat();
        bytes.slice(..both.len()).write(&both);
        world.barrier_all().await?;
        let head = world.context().get(&heads, other).await?;
        let (address_len, key_len) = (head[0] as usize, head[1] as usize);
        raw.remote = head[2];
        let theirs = world.context().get(bytes.slice(..address_len + key_len), other).await?;
        let params = ucp_ep_params_t {
            field_mask: UCP_EP_PARAM_FIELD_REMOTE_ADDRESS.into(),
            address: theirs.as_ptr().cast(),
            ..Default::default()
        };
        let theirs_key = theirs[address_len..].to_vec();
        // SAFETY: what the other PE has packed, read during the calls.
        unsafe {
            ok(ucx, ucx.ucp_ep_create(raw.worker, &params, &mut raw.endpoint))?;
            ok(ucx, ucx.ucp_ep_rkey_unpack(raw.endpoint, theirs_key.as_ptr().cast(), &mut raw.rkey))?;
        }
        world.barrier_all().await?;
        Ok(raw)
    }

    /// What the target does until it is let go.
    pub(crate) fn serve(&self) -> Outcome {
        let mut word = 0u64;
        let params = ucp_request_param_t::default();
        // SAFETY: the word outlives the wait below.
        let message = unsafe {
            self.ucx.ucp_tag_recv_nbx(self.worker, (&raw mut word).cast(), 8, GO, u64::MAX, &params)
        };
        self.wait(message)
    }

    /// Lets the target go.
    pub(crate) fn release(&self) -> Outcome {
        let (word, params) = (1u64, ucp_request_param_t::default());
        // SAFETY: the word outlives the wait below.
        let message =
            unsafe { self.ucx.ucp_tag_send_nbx(self.endpoint, (&raw const word).cast(), 8, GO, &params) };
        // No flush, which the target would have to answer.
        self.wait(message)
    }

    /// Puts from these sources in turns, this many times, and flushes: after each, or once at the
    /// end.
    pub(crate) fn put<S: AsRef<[u64]>>(&self, sources: &[S], count: usize, flush_each: bool) -> Outcome {
        let params = ucp_request_param_t::default();
        let mut under_way = Vec::new();
        for source in sources.iter().cycle().take(count) {
            let source = source.as_ref();
            // SAFETY: the source is there until all are over.
            let put = unsafe {
                let from = source.as_ptr().cast();
                let bytes = size_of_val(source);
                self.ucx.ucp_put_nbx(self.endpoint, from, bytes, self.remote, self.rkey, &params)
            };
            if flush_each {
                self.wait(put)?;
                self.flush()?;
            } else if UCS_PTR_IS_PTR(put) {
                under_way.push(put);
                if under_way.len() > 1000 {
                    for put in under_way.drain(..) {
                        self.wait(put)?;
                    }
                }
            }
        }
        for put in under_way {
            self.wait(put)?;
        }
        self.flush()
    }

    /// Gets to these places in turns, this many times, one after the other or all at once.
    pub(crate) fn get<D: AsMut<[u64]>>(&self, to: &mut [D], count: usize, one_by_one: bool) -> Outcome {
        let params = ucp_request_param_t::default();
        let mut under_way = Vec::new();
        let places = to.len();
        for i in 0..count {
            let to = to[i % places].as_mut();
            // SAFETY: the buffer is there until all are over.
            let get = unsafe {
                let (to, bytes) = (to.as_mut_ptr().cast(), size_of_val(to));
                self.ucx.ucp_get_nbx(self.endpoint, to, bytes, self.remote, self.rkey, &params)
            };
            if one_by_one {
                self.wait(get)?;
            } else {
                under_way.push(get);
            }
        }
        under_way.into_iter().try_for_each(|get| self.wait(get))
    }

    /// Fetches and adds this many times.
    pub(crate) fn fetch_add(&self, count: usize) -> Outcome {
        let (one, mut before) = (1u64, 0u64);
        let params = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
            datatype: ucp_dt_make_contig(8),
            reply_buffer: (&raw mut before).cast(),
            ..Default::default()
        };
        for _ in 0..count {
            let operand: *const c_void = (&raw const one).cast();
            // SAFETY: operand and reply are there until it is over.
            let add = unsafe {
                let add = UCP_ATOMIC_OP_ADD;
                self.ucx.ucp_atomic_op_nbx(self.endpoint, add, operand, 1, self.remote, self.rkey, &params)
            };
            self.wait(add)?;
        }
        Ok(())
    }

    fn flush(&self) -> Outcome {
        let params = ucp_request_param_t::default();
        // SAFETY: the endpoint is open.
        self.wait(unsafe { self.ucx.ucp_ep_flush_nbx(self.endpoint, &params) })
    }

    fn wait(&self, operation: ucs_status_ptr_t) -> Outcome {
        let mut status = UCS_PTR_STATUS(operation);
        if UCS_PTR_IS_PTR(operation) {
            let start = Instant::now();
            let mut rounds = 0u32;
            // SAFETY: the worker is open; the request was not freed yet, and is freed once.
            unsafe {
                loop {
                    status = self.ucx.ucp_request_check_status(operation);
                    if status != UCS_INPROGRESS {
                        break;
                    }
                    self.ucx.ucp_worker_progress(self.worker);
                    rounds = rounds.wrapping_add(1);
                    if rounds == 0 && start.elapsed().as_secs() > 60 {
                        return Err("UCX takes longer than a minute".into());
                    }
                }
                self.ucx.ucp_request_free(operation);
            }
        }
        ok(self.ucx, status)
    }
}

fn ok(ucx: &Ucx, status: ucs_status_t) -> Outcome {
    if status == UCS_OK { Ok(()) } else { Err(ucx.status_text(status).into()) }
}

impl Drop for RawUcx {
    fn drop(&mut self) {
        // SAFETY: what is not null is open, and not used after this.
        unsafe {
            if !self.rkey.is_null() {
                self.ucx.ucp_rkey_destroy(self.rkey);
            }
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
