//! The part of UCX's C interface that a SHMEM runtime needs. `cargo xtask bindings` made it from the
//! headers of UCX 1.13.1: change that command, not this file.

use core::{
    ffi::{c_char, c_int, c_schar, c_uint, c_ulong, c_void},
    mem::offset_of,
};

pub type sockaddr = c_void;
pub type socklen_t = c_uint;
pub type FILE = c_void;
pub const UCP_API_MAJOR: c_uint = 1;
pub const UCP_API_MINOR: c_uint = 13;
pub const UCS_MEMORY_TYPE_HOST: ucs_memory_type = 0;
pub const UCS_MEMORY_TYPE_CUDA: ucs_memory_type = 1;
pub const UCS_MEMORY_TYPE_CUDA_MANAGED: ucs_memory_type = 2;
pub const UCS_MEMORY_TYPE_ROCM: ucs_memory_type = 3;
pub const UCS_MEMORY_TYPE_ROCM_MANAGED: ucs_memory_type = 4;
pub const UCS_MEMORY_TYPE_LAST: ucs_memory_type = 5;
pub const UCS_MEMORY_TYPE_UNKNOWN: ucs_memory_type = 5;
pub type ucs_memory_type = c_uint;
pub use self::ucs_memory_type as ucs_memory_type_t;
pub const UCS_OK: ucs_status_t = 0;
pub const UCS_INPROGRESS: ucs_status_t = 1;
pub const UCS_ERR_NO_MESSAGE: ucs_status_t = -1;
pub const UCS_ERR_NO_RESOURCE: ucs_status_t = -2;
pub const UCS_ERR_IO_ERROR: ucs_status_t = -3;
pub const UCS_ERR_NO_MEMORY: ucs_status_t = -4;
pub const UCS_ERR_INVALID_PARAM: ucs_status_t = -5;
pub const UCS_ERR_UNREACHABLE: ucs_status_t = -6;
pub const UCS_ERR_INVALID_ADDR: ucs_status_t = -7;
pub const UCS_ERR_NOT_IMPLEMENTED: ucs_status_t = -8;
pub const UCS_ERR_MESSAGE_TRUNCATED: ucs_status_t = -9;
pub const UCS_ERR_NO_PROGRESS: ucs_status_t = -10;
pub const UCS_ERR_BUFFER_TOO_SMALL: ucs_status_t = -11;
pub const UCS_ERR_NO_ELEM: ucs_status_t = -12;
pub const UCS_ERR_SOME_CONNECTS_FAILED: ucs_status_t = -13;
pub const UCS_ERR_NO_DEVICE: ucs_status_t = -14;
pub const UCS_ERR_BUSY: ucs_status_t = -15;
pub const UCS_ERR_CANCELED: ucs_status_t = -16;
pub const UCS_ERR_SHMEM_SEGMENT: ucs_status_t = -17;
pub const UCS_ERR_ALREADY_EXISTS: ucs_status_t = -18;
pub const UCS_ERR_OUT_OF_RANGE: ucs_status_t = -19;
pub const UCS_ERR_TIMED_OUT: ucs_status_t = -20;
pub const UCS_ERR_EXCEEDS_LIMIT: ucs_status_t = -21;
pub const UCS_ERR_UNSUPPORTED: ucs_status_t = -22;
pub const UCS_ERR_REJECTED: ucs_status_t = -23;
pub const UCS_ERR_NOT_CONNECTED: ucs_status_t = -24;
pub const UCS_ERR_CONNECTION_RESET: ucs_status_t = -25;
pub const UCS_ERR_FIRST_LINK_FAILURE: ucs_status_t = -40;
pub const UCS_ERR_LAST_LINK_FAILURE: ucs_status_t = -59;
pub const UCS_ERR_FIRST_ENDPOINT_FAILURE: ucs_status_t = -60;
pub const UCS_ERR_ENDPOINT_TIMEOUT: ucs_status_t = -80;
pub const UCS_ERR_LAST_ENDPOINT_FAILURE: ucs_status_t = -89;
pub const UCS_ERR_LAST: ucs_status_t = -100;
pub type ucs_status_t = c_schar;
pub type ucs_status_ptr_t = *mut c_void;
#[repr(C)]
pub struct ucs_sock_addr {
    pub addr: *const sockaddr,
    pub addrlen: socklen_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucs_sock_addr"][size_of::<ucs_sock_addr>() - 16usize];
    ["Alignment of ucs_sock_addr"][align_of::<ucs_sock_addr>() - 8usize];
    ["Offset of field: ucs_sock_addr::addr"][offset_of!(ucs_sock_addr, addr) - 0usize];
    ["Offset of field: ucs_sock_addr::addrlen"][offset_of!(ucs_sock_addr, addrlen) - 8usize];
};
zeroed!(ucs_sock_addr);
pub type ucs_sock_addr_t = ucs_sock_addr;
pub type ucp_tag_recv_info_t = ucp_tag_recv_info;
pub type ucp_am_recv_param_t = ucp_am_recv_param;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_context {
    _unused: [u8; 0],
}
pub type ucp_context_h = *mut ucp_context;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_config {
    _unused: [u8; 0],
}
pub type ucp_config_t = ucp_config;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_ep {
    _unused: [u8; 0],
}
pub type ucp_ep_h = *mut ucp_ep;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_conn_request {
    _unused: [u8; 0],
}
pub type ucp_conn_request_h = *mut ucp_conn_request;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_address {
    _unused: [u8; 0],
}
pub type ucp_address_t = ucp_address;
pub const UCP_ERR_HANDLING_MODE_NONE: ucp_err_handling_mode_t = 0;
pub const UCP_ERR_HANDLING_MODE_PEER: ucp_err_handling_mode_t = 1;
pub type ucp_err_handling_mode_t = c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_rkey {
    _unused: [u8; 0],
}
pub type ucp_rkey_h = *mut ucp_rkey;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_mem {
    _unused: [u8; 0],
}
pub type ucp_mem_h = *mut ucp_mem;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_worker {
    _unused: [u8; 0],
}
pub type ucp_worker_h = *mut ucp_worker;
pub type ucp_tag_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_recv_desc {
    _unused: [u8; 0],
}
pub type ucp_tag_message_h = *mut ucp_recv_desc;
pub type ucp_datatype_t = u64;
pub type ucp_request_init_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;
pub type ucp_request_cleanup_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;
pub type ucp_send_nbx_callback_t =
    Option<unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, user_data: *mut c_void)>;
pub type ucp_err_handler_cb_t =
    Option<unsafe extern "C" fn(arg: *mut c_void, ep: ucp_ep_h, status: ucs_status_t)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_err_handler {
    pub cb: ucp_err_handler_cb_t,
    pub arg: *mut c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_err_handler"][size_of::<ucp_err_handler>() - 16usize];
    ["Alignment of ucp_err_handler"][align_of::<ucp_err_handler>() - 8usize];
    ["Offset of field: ucp_err_handler::cb"][offset_of!(ucp_err_handler, cb) - 0usize];
    ["Offset of field: ucp_err_handler::arg"][offset_of!(ucp_err_handler, arg) - 8usize];
};
zeroed!(ucp_err_handler);
pub type ucp_err_handler_t = ucp_err_handler;
pub type ucp_stream_recv_nbx_callback_t = Option<
    unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, length: usize, user_data: *mut c_void),
>;
pub type ucp_tag_recv_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        tag_info: *const ucp_tag_recv_info_t,
        user_data: *mut c_void,
    ),
>;
pub type ucp_am_recv_data_nbx_callback_t = Option<
    unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, length: usize, user_data: *mut c_void),
>;
pub const UCP_WAKEUP_RMA: ucp_wakeup_event_types = 1;
pub const UCP_WAKEUP_AMO: ucp_wakeup_event_types = 2;
pub const UCP_WAKEUP_TAG_SEND: ucp_wakeup_event_types = 4;
pub const UCP_WAKEUP_TAG_RECV: ucp_wakeup_event_types = 8;
pub const UCP_WAKEUP_TX: ucp_wakeup_event_types = 1024;
pub const UCP_WAKEUP_RX: ucp_wakeup_event_types = 2048;
pub const UCP_WAKEUP_EDGE: ucp_wakeup_event_types = 65536;
pub type ucp_wakeup_event_types = c_uint;
pub use self::ucp_wakeup_event_types as ucp_wakeup_event_t;
pub type ucp_am_recv_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        header: *const c_void,
        header_length: usize,
        data: *mut c_void,
        length: usize,
        param: *const ucp_am_recv_param_t,
    ) -> ucs_status_t,
>;
#[repr(C)]
pub struct ucp_ep_params {
    pub field_mask: u64,
    pub address: *const ucp_address_t,
    pub err_mode: ucp_err_handling_mode_t,
    pub err_handler: ucp_err_handler_t,
    pub user_data: *mut c_void,
    pub flags: c_uint,
    pub sockaddr: ucs_sock_addr_t,
    pub conn_request: ucp_conn_request_h,
    pub name: *const c_char,
    pub local_sockaddr: ucs_sock_addr_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_ep_params"][size_of::<ucp_ep_params>() - 104usize];
    ["Alignment of ucp_ep_params"][align_of::<ucp_ep_params>() - 8usize];
    ["Offset of field: ucp_ep_params::field_mask"][offset_of!(ucp_ep_params, field_mask) - 0usize];
    ["Offset of field: ucp_ep_params::address"][offset_of!(ucp_ep_params, address) - 8usize];
    ["Offset of field: ucp_ep_params::err_mode"][offset_of!(ucp_ep_params, err_mode) - 16usize];
    ["Offset of field: ucp_ep_params::err_handler"][offset_of!(ucp_ep_params, err_handler) - 24usize];
    ["Offset of field: ucp_ep_params::user_data"][offset_of!(ucp_ep_params, user_data) - 40usize];
    ["Offset of field: ucp_ep_params::flags"][offset_of!(ucp_ep_params, flags) - 48usize];
    ["Offset of field: ucp_ep_params::sockaddr"][offset_of!(ucp_ep_params, sockaddr) - 56usize];
    ["Offset of field: ucp_ep_params::conn_request"][offset_of!(ucp_ep_params, conn_request) - 72usize];
    ["Offset of field: ucp_ep_params::name"][offset_of!(ucp_ep_params, name) - 80usize];
    ["Offset of field: ucp_ep_params::local_sockaddr"][offset_of!(ucp_ep_params, local_sockaddr) - 88usize];
};
zeroed!(ucp_ep_params);
pub type ucp_ep_params_t = ucp_ep_params;
pub const UCS_THREAD_MODE_SINGLE: ucs_thread_mode_t = 0;
pub const UCS_THREAD_MODE_SERIALIZED: ucs_thread_mode_t = 1;
pub const UCS_THREAD_MODE_MULTI: ucs_thread_mode_t = 2;
pub const UCS_THREAD_MODE_LAST: ucs_thread_mode_t = 3;
pub type ucs_thread_mode_t = c_uint;
pub type ucs_cpu_mask_t = c_ulong;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct ucs_cpu_set_t {
    pub ucs_bits: [ucs_cpu_mask_t; 16usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucs_cpu_set_t"][size_of::<ucs_cpu_set_t>() - 128usize];
    ["Alignment of ucs_cpu_set_t"][align_of::<ucs_cpu_set_t>() - 8usize];
    ["Offset of field: ucs_cpu_set_t::ucs_bits"][offset_of!(ucs_cpu_set_t, ucs_bits) - 0usize];
};
pub const UCP_PARAM_FIELD_FEATURES: ucp_params_field = 1;
pub const UCP_PARAM_FIELD_REQUEST_SIZE: ucp_params_field = 2;
pub const UCP_PARAM_FIELD_REQUEST_INIT: ucp_params_field = 4;
pub const UCP_PARAM_FIELD_REQUEST_CLEANUP: ucp_params_field = 8;
pub const UCP_PARAM_FIELD_TAG_SENDER_MASK: ucp_params_field = 16;
pub const UCP_PARAM_FIELD_MT_WORKERS_SHARED: ucp_params_field = 32;
pub const UCP_PARAM_FIELD_ESTIMATED_NUM_EPS: ucp_params_field = 64;
pub const UCP_PARAM_FIELD_ESTIMATED_NUM_PPN: ucp_params_field = 128;
pub const UCP_PARAM_FIELD_NAME: ucp_params_field = 256;
pub type ucp_params_field = c_uint;
pub const UCP_FEATURE_TAG: ucp_feature = 1;
pub const UCP_FEATURE_RMA: ucp_feature = 2;
pub const UCP_FEATURE_AMO32: ucp_feature = 4;
pub const UCP_FEATURE_AMO64: ucp_feature = 8;
pub const UCP_FEATURE_WAKEUP: ucp_feature = 16;
pub const UCP_FEATURE_STREAM: ucp_feature = 32;
pub const UCP_FEATURE_AM: ucp_feature = 64;
pub type ucp_feature = c_uint;
pub const UCP_WORKER_PARAM_FIELD_THREAD_MODE: ucp_worker_params_field = 1;
pub const UCP_WORKER_PARAM_FIELD_CPU_MASK: ucp_worker_params_field = 2;
pub const UCP_WORKER_PARAM_FIELD_EVENTS: ucp_worker_params_field = 4;
pub const UCP_WORKER_PARAM_FIELD_USER_DATA: ucp_worker_params_field = 8;
pub const UCP_WORKER_PARAM_FIELD_EVENT_FD: ucp_worker_params_field = 16;
pub const UCP_WORKER_PARAM_FIELD_FLAGS: ucp_worker_params_field = 32;
pub const UCP_WORKER_PARAM_FIELD_NAME: ucp_worker_params_field = 64;
pub const UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT: ucp_worker_params_field = 128;
pub const UCP_WORKER_PARAM_FIELD_CLIENT_ID: ucp_worker_params_field = 256;
pub type ucp_worker_params_field = c_uint;
pub const UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK: ucp_worker_flags_t = 1;
pub type ucp_worker_flags_t = c_uint;
pub const UCP_WORKER_ADDRESS_FLAG_NET_ONLY: ucp_worker_address_flags_t = 1;
pub type ucp_worker_address_flags_t = c_uint;
pub const UCP_EP_PARAM_FIELD_REMOTE_ADDRESS: ucp_ep_params_field = 1;
pub const UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE: ucp_ep_params_field = 2;
pub const UCP_EP_PARAM_FIELD_ERR_HANDLER: ucp_ep_params_field = 4;
pub const UCP_EP_PARAM_FIELD_USER_DATA: ucp_ep_params_field = 8;
pub const UCP_EP_PARAM_FIELD_SOCK_ADDR: ucp_ep_params_field = 16;
pub const UCP_EP_PARAM_FIELD_FLAGS: ucp_ep_params_field = 32;
pub const UCP_EP_PARAM_FIELD_CONN_REQUEST: ucp_ep_params_field = 64;
pub const UCP_EP_PARAM_FIELD_NAME: ucp_ep_params_field = 128;
pub const UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR: ucp_ep_params_field = 256;
pub type ucp_ep_params_field = c_uint;
pub const UCP_EP_PARAMS_FLAGS_CLIENT_SERVER: ucp_ep_params_flags_field = 1;
pub const UCP_EP_PARAMS_FLAGS_NO_LOOPBACK: ucp_ep_params_flags_field = 2;
pub const UCP_EP_PARAMS_FLAGS_SEND_CLIENT_ID: ucp_ep_params_flags_field = 4;
pub type ucp_ep_params_flags_field = c_uint;
pub const UCP_EP_CLOSE_FLAG_FORCE: ucp_ep_close_flags_t = 1;
pub type ucp_ep_close_flags_t = c_uint;
pub const UCP_EP_CLOSE_MODE_FORCE: ucp_ep_close_mode = 0;
pub const UCP_EP_CLOSE_MODE_FLUSH: ucp_ep_close_mode = 1;
pub type ucp_ep_close_mode = c_uint;
pub const UCP_MEM_MAP_PARAM_FIELD_ADDRESS: ucp_mem_map_params_field = 1;
pub const UCP_MEM_MAP_PARAM_FIELD_LENGTH: ucp_mem_map_params_field = 2;
pub const UCP_MEM_MAP_PARAM_FIELD_FLAGS: ucp_mem_map_params_field = 4;
pub const UCP_MEM_MAP_PARAM_FIELD_PROT: ucp_mem_map_params_field = 8;
pub const UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE: ucp_mem_map_params_field = 16;
pub type ucp_mem_map_params_field = c_uint;
pub const UCP_ATTR_FIELD_REQUEST_SIZE: ucp_context_attr_field = 1;
pub const UCP_ATTR_FIELD_THREAD_MODE: ucp_context_attr_field = 2;
pub const UCP_ATTR_FIELD_MEMORY_TYPES: ucp_context_attr_field = 4;
pub const UCP_ATTR_FIELD_NAME: ucp_context_attr_field = 8;
pub type ucp_context_attr_field = c_uint;
pub const UCP_WORKER_ATTR_FIELD_THREAD_MODE: ucp_worker_attr_field = 1;
pub const UCP_WORKER_ATTR_FIELD_ADDRESS: ucp_worker_attr_field = 2;
pub const UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS: ucp_worker_attr_field = 4;
pub const UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER: ucp_worker_attr_field = 8;
pub const UCP_WORKER_ATTR_FIELD_NAME: ucp_worker_attr_field = 16;
pub const UCP_WORKER_ATTR_FIELD_MAX_INFO_STRING: ucp_worker_attr_field = 32;
pub type ucp_worker_attr_field = c_uint;
pub const UCP_DATATYPE_CONTIG: ucp_dt_type = 0;
pub const UCP_DATATYPE_STRIDED: ucp_dt_type = 1;
pub const UCP_DATATYPE_IOV: ucp_dt_type = 2;
pub const UCP_DATATYPE_GENERIC: ucp_dt_type = 7;
pub const UCP_DATATYPE_SHIFT: ucp_dt_type = 3;
pub const UCP_DATATYPE_CLASS_MASK: ucp_dt_type = 7;
pub type ucp_dt_type = c_uint;
pub const UCP_MEM_MAP_NONBLOCK: c_uint = 1;
pub const UCP_MEM_MAP_ALLOCATE: c_uint = 2;
pub const UCP_MEM_MAP_FIXED: c_uint = 4;
pub const UCP_MEM_MAP_PROT_LOCAL_READ: c_uint = 1;
pub const UCP_MEM_MAP_PROT_LOCAL_WRITE: c_uint = 2;
pub const UCP_MEM_MAP_PROT_REMOTE_READ: c_uint = 256;
pub const UCP_MEM_MAP_PROT_REMOTE_WRITE: c_uint = 512;
pub const UCP_AM_FLAG_WHOLE_MSG: ucp_am_cb_flags = 1;
pub const UCP_AM_FLAG_PERSISTENT_DATA: ucp_am_cb_flags = 2;
pub type ucp_am_cb_flags = c_uint;
pub const UCP_AM_SEND_FLAG_REPLY: ucp_send_am_flags = 1;
pub const UCP_AM_SEND_FLAG_EAGER: ucp_send_am_flags = 2;
pub const UCP_AM_SEND_FLAG_RNDV: ucp_send_am_flags = 4;
pub const UCP_AM_SEND_REPLY: ucp_send_am_flags = 1;
pub type ucp_send_am_flags = c_uint;
pub const UCP_CB_PARAM_FLAG_DATA: ucp_cb_param_flags = 1;
pub type ucp_cb_param_flags = c_uint;
pub const UCP_ATOMIC_OP_ADD: ucp_atomic_op_t = 0;
pub const UCP_ATOMIC_OP_SWAP: ucp_atomic_op_t = 1;
pub const UCP_ATOMIC_OP_CSWAP: ucp_atomic_op_t = 2;
pub const UCP_ATOMIC_OP_AND: ucp_atomic_op_t = 3;
pub const UCP_ATOMIC_OP_OR: ucp_atomic_op_t = 4;
pub const UCP_ATOMIC_OP_XOR: ucp_atomic_op_t = 5;
pub const UCP_ATOMIC_OP_LAST: ucp_atomic_op_t = 6;
pub type ucp_atomic_op_t = c_uint;
pub const UCP_OP_ATTR_FIELD_REQUEST: ucp_op_attr_t = 1;
pub const UCP_OP_ATTR_FIELD_CALLBACK: ucp_op_attr_t = 2;
pub const UCP_OP_ATTR_FIELD_USER_DATA: ucp_op_attr_t = 4;
pub const UCP_OP_ATTR_FIELD_DATATYPE: ucp_op_attr_t = 8;
pub const UCP_OP_ATTR_FIELD_FLAGS: ucp_op_attr_t = 16;
pub const UCP_OP_ATTR_FIELD_REPLY_BUFFER: ucp_op_attr_t = 32;
pub const UCP_OP_ATTR_FIELD_MEMORY_TYPE: ucp_op_attr_t = 64;
pub const UCP_OP_ATTR_FIELD_RECV_INFO: ucp_op_attr_t = 128;
pub const UCP_OP_ATTR_FIELD_MEMH: ucp_op_attr_t = 256;
pub const UCP_OP_ATTR_FLAG_NO_IMM_CMPL: ucp_op_attr_t = 65536;
pub const UCP_OP_ATTR_FLAG_FAST_CMPL: ucp_op_attr_t = 131072;
pub const UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL: ucp_op_attr_t = 262144;
pub const UCP_OP_ATTR_FLAG_MULTI_SEND: ucp_op_attr_t = 524288;
pub type ucp_op_attr_t = c_uint;
pub const UCP_AM_RECV_ATTR_FIELD_REPLY_EP: ucp_am_recv_attr_t = 1;
pub const UCP_AM_RECV_ATTR_FLAG_DATA: ucp_am_recv_attr_t = 65536;
pub const UCP_AM_RECV_ATTR_FLAG_RNDV: ucp_am_recv_attr_t = 131072;
pub type ucp_am_recv_attr_t = c_uint;
pub const UCP_AM_HANDLER_PARAM_FIELD_ID: ucp_am_handler_param_field = 1;
pub const UCP_AM_HANDLER_PARAM_FIELD_FLAGS: ucp_am_handler_param_field = 2;
pub const UCP_AM_HANDLER_PARAM_FIELD_CB: ucp_am_handler_param_field = 4;
pub const UCP_AM_HANDLER_PARAM_FIELD_ARG: ucp_am_handler_param_field = 8;
pub type ucp_am_handler_param_field = c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct ucp_generic_dt_ops {
    pub start_pack: Option<
        unsafe extern "C" fn(context: *mut c_void, buffer: *const c_void, count: usize) -> *mut c_void,
    >,
    pub start_unpack:
        Option<unsafe extern "C" fn(context: *mut c_void, buffer: *mut c_void, count: usize) -> *mut c_void>,
    pub packed_size: Option<unsafe extern "C" fn(state: *mut c_void) -> usize>,
    pub pack: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            offset: usize,
            dest: *mut c_void,
            max_length: usize,
        ) -> usize,
    >,
    pub unpack: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            offset: usize,
            src: *const c_void,
            length: usize,
        ) -> ucs_status_t,
    >,
    pub finish: Option<unsafe extern "C" fn(state: *mut c_void)>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_generic_dt_ops"][size_of::<ucp_generic_dt_ops>() - 48usize];
    ["Alignment of ucp_generic_dt_ops"][align_of::<ucp_generic_dt_ops>() - 8usize];
    ["Offset of field: ucp_generic_dt_ops::start_pack"][offset_of!(ucp_generic_dt_ops, start_pack) - 0usize];
    ["Offset of field: ucp_generic_dt_ops::start_unpack"]
        [offset_of!(ucp_generic_dt_ops, start_unpack) - 8usize];
    ["Offset of field: ucp_generic_dt_ops::packed_size"]
        [offset_of!(ucp_generic_dt_ops, packed_size) - 16usize];
    ["Offset of field: ucp_generic_dt_ops::pack"][offset_of!(ucp_generic_dt_ops, pack) - 24usize];
    ["Offset of field: ucp_generic_dt_ops::unpack"][offset_of!(ucp_generic_dt_ops, unpack) - 32usize];
    ["Offset of field: ucp_generic_dt_ops::finish"][offset_of!(ucp_generic_dt_ops, finish) - 40usize];
};
pub type ucp_generic_dt_ops_t = ucp_generic_dt_ops;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_params {
    pub field_mask: u64,
    pub features: u64,
    pub request_size: usize,
    pub request_init: ucp_request_init_callback_t,
    pub request_cleanup: ucp_request_cleanup_callback_t,
    pub tag_sender_mask: u64,
    pub mt_workers_shared: c_int,
    pub estimated_num_eps: usize,
    pub estimated_num_ppn: usize,
    pub name: *const c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_params"][size_of::<ucp_params>() - 80usize];
    ["Alignment of ucp_params"][align_of::<ucp_params>() - 8usize];
    ["Offset of field: ucp_params::field_mask"][offset_of!(ucp_params, field_mask) - 0usize];
    ["Offset of field: ucp_params::features"][offset_of!(ucp_params, features) - 8usize];
    ["Offset of field: ucp_params::request_size"][offset_of!(ucp_params, request_size) - 16usize];
    ["Offset of field: ucp_params::request_init"][offset_of!(ucp_params, request_init) - 24usize];
    ["Offset of field: ucp_params::request_cleanup"][offset_of!(ucp_params, request_cleanup) - 32usize];
    ["Offset of field: ucp_params::tag_sender_mask"][offset_of!(ucp_params, tag_sender_mask) - 40usize];
    ["Offset of field: ucp_params::mt_workers_shared"][offset_of!(ucp_params, mt_workers_shared) - 48usize];
    ["Offset of field: ucp_params::estimated_num_eps"][offset_of!(ucp_params, estimated_num_eps) - 56usize];
    ["Offset of field: ucp_params::estimated_num_ppn"][offset_of!(ucp_params, estimated_num_ppn) - 64usize];
    ["Offset of field: ucp_params::name"][offset_of!(ucp_params, name) - 72usize];
};
zeroed!(ucp_params);
pub type ucp_params_t = ucp_params;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_context_attr {
    pub field_mask: u64,
    pub request_size: usize,
    pub thread_mode: ucs_thread_mode_t,
    pub memory_types: u64,
    pub name: [c_char; 32usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_context_attr"][size_of::<ucp_context_attr>() - 64usize];
    ["Alignment of ucp_context_attr"][align_of::<ucp_context_attr>() - 8usize];
    ["Offset of field: ucp_context_attr::field_mask"][offset_of!(ucp_context_attr, field_mask) - 0usize];
    ["Offset of field: ucp_context_attr::request_size"][offset_of!(ucp_context_attr, request_size) - 8usize];
    ["Offset of field: ucp_context_attr::thread_mode"][offset_of!(ucp_context_attr, thread_mode) - 16usize];
    ["Offset of field: ucp_context_attr::memory_types"][offset_of!(ucp_context_attr, memory_types) - 24usize];
    ["Offset of field: ucp_context_attr::name"][offset_of!(ucp_context_attr, name) - 32usize];
};
zeroed!(ucp_context_attr);
pub type ucp_context_attr_t = ucp_context_attr;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_worker_attr {
    pub field_mask: u64,
    pub thread_mode: ucs_thread_mode_t,
    pub address_flags: u32,
    pub address: *mut ucp_address_t,
    pub address_length: usize,
    pub max_am_header: usize,
    pub name: [c_char; 32usize],
    pub max_debug_string: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_worker_attr"][size_of::<ucp_worker_attr>() - 80usize];
    ["Alignment of ucp_worker_attr"][align_of::<ucp_worker_attr>() - 8usize];
    ["Offset of field: ucp_worker_attr::field_mask"][offset_of!(ucp_worker_attr, field_mask) - 0usize];
    ["Offset of field: ucp_worker_attr::thread_mode"][offset_of!(ucp_worker_attr, thread_mode) - 8usize];
    ["Offset of field: ucp_worker_attr::address_flags"][offset_of!(ucp_worker_attr, address_flags) - 12usize];
    ["Offset of field: ucp_worker_attr::address"][offset_of!(ucp_worker_attr, address) - 16usize];
    ["Offset of field: ucp_worker_attr::address_length"]
        [offset_of!(ucp_worker_attr, address_length) - 24usize];
    ["Offset of field: ucp_worker_attr::max_am_header"][offset_of!(ucp_worker_attr, max_am_header) - 32usize];
    ["Offset of field: ucp_worker_attr::name"][offset_of!(ucp_worker_attr, name) - 40usize];
    ["Offset of field: ucp_worker_attr::max_debug_string"]
        [offset_of!(ucp_worker_attr, max_debug_string) - 72usize];
};
zeroed!(ucp_worker_attr);
pub type ucp_worker_attr_t = ucp_worker_attr;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_worker_params {
    pub field_mask: u64,
    pub thread_mode: ucs_thread_mode_t,
    pub cpu_mask: ucs_cpu_set_t,
    pub events: c_uint,
    pub user_data: *mut c_void,
    pub event_fd: c_int,
    pub flags: u64,
    pub name: *const c_char,
    pub am_alignment: usize,
    pub client_id: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_worker_params"][size_of::<ucp_worker_params>() - 200usize];
    ["Alignment of ucp_worker_params"][align_of::<ucp_worker_params>() - 8usize];
    ["Offset of field: ucp_worker_params::field_mask"][offset_of!(ucp_worker_params, field_mask) - 0usize];
    ["Offset of field: ucp_worker_params::thread_mode"][offset_of!(ucp_worker_params, thread_mode) - 8usize];
    ["Offset of field: ucp_worker_params::cpu_mask"][offset_of!(ucp_worker_params, cpu_mask) - 16usize];
    ["Offset of field: ucp_worker_params::events"][offset_of!(ucp_worker_params, events) - 144usize];
    ["Offset of field: ucp_worker_params::user_data"][offset_of!(ucp_worker_params, user_data) - 152usize];
    ["Offset of field: ucp_worker_params::event_fd"][offset_of!(ucp_worker_params, event_fd) - 160usize];
    ["Offset of field: ucp_worker_params::flags"][offset_of!(ucp_worker_params, flags) - 168usize];
    ["Offset of field: ucp_worker_params::name"][offset_of!(ucp_worker_params, name) - 176usize];
    ["Offset of field: ucp_worker_params::am_alignment"]
        [offset_of!(ucp_worker_params, am_alignment) - 184usize];
    ["Offset of field: ucp_worker_params::client_id"][offset_of!(ucp_worker_params, client_id) - 192usize];
};
zeroed!(ucp_worker_params);
pub type ucp_worker_params_t = ucp_worker_params;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_mem_map_params {
    pub field_mask: u64,
    pub address: *mut c_void,
    pub length: usize,
    pub flags: c_uint,
    pub prot: c_uint,
    pub memory_type: ucs_memory_type_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_mem_map_params"][size_of::<ucp_mem_map_params>() - 40usize];
    ["Alignment of ucp_mem_map_params"][align_of::<ucp_mem_map_params>() - 8usize];
    ["Offset of field: ucp_mem_map_params::field_mask"][offset_of!(ucp_mem_map_params, field_mask) - 0usize];
    ["Offset of field: ucp_mem_map_params::address"][offset_of!(ucp_mem_map_params, address) - 8usize];
    ["Offset of field: ucp_mem_map_params::length"][offset_of!(ucp_mem_map_params, length) - 16usize];
    ["Offset of field: ucp_mem_map_params::flags"][offset_of!(ucp_mem_map_params, flags) - 24usize];
    ["Offset of field: ucp_mem_map_params::prot"][offset_of!(ucp_mem_map_params, prot) - 28usize];
    ["Offset of field: ucp_mem_map_params::memory_type"]
        [offset_of!(ucp_mem_map_params, memory_type) - 32usize];
};
zeroed!(ucp_mem_map_params);
pub type ucp_mem_map_params_t = ucp_mem_map_params;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct ucp_tag_recv_info {
    pub sender_tag: ucp_tag_t,
    pub length: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_tag_recv_info"][size_of::<ucp_tag_recv_info>() - 16usize];
    ["Alignment of ucp_tag_recv_info"][align_of::<ucp_tag_recv_info>() - 8usize];
    ["Offset of field: ucp_tag_recv_info::sender_tag"][offset_of!(ucp_tag_recv_info, sender_tag) - 0usize];
    ["Offset of field: ucp_tag_recv_info::length"][offset_of!(ucp_tag_recv_info, length) - 8usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct ucp_request_param_t {
    pub op_attr_mask: u32,
    pub flags: u32,
    pub request: *mut c_void,
    pub cb: ucp_request_param_cb,
    pub datatype: ucp_datatype_t,
    pub user_data: *mut c_void,
    pub reply_buffer: *mut c_void,
    pub memory_type: ucs_memory_type_t,
    pub recv_info: ucp_request_param_recv_info,
    pub memh: ucp_mem_h,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union ucp_request_param_cb {
    pub send: ucp_send_nbx_callback_t,
    pub recv: ucp_tag_recv_nbx_callback_t,
    pub recv_stream: ucp_stream_recv_nbx_callback_t,
    pub recv_am: ucp_am_recv_data_nbx_callback_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_request_param_cb"][size_of::<ucp_request_param_cb>() - 8usize];
    ["Alignment of ucp_request_param_cb"][align_of::<ucp_request_param_cb>() - 8usize];
};
zeroed!(ucp_request_param_cb);
#[repr(C)]
#[derive(Copy, Clone)]
pub union ucp_request_param_recv_info {
    pub length: *mut usize,
    pub tag_info: *mut ucp_tag_recv_info_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_request_param_recv_info"][size_of::<ucp_request_param_recv_info>() - 8usize];
    ["Alignment of ucp_request_param_recv_info"][align_of::<ucp_request_param_recv_info>() - 8usize];
};
zeroed!(ucp_request_param_recv_info);
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_request_param_t"][size_of::<ucp_request_param_t>() - 72usize];
    ["Alignment of ucp_request_param_t"][align_of::<ucp_request_param_t>() - 8usize];
    ["Offset of field: ucp_request_param_t::op_attr_mask"]
        [offset_of!(ucp_request_param_t, op_attr_mask) - 0usize];
    ["Offset of field: ucp_request_param_t::flags"][offset_of!(ucp_request_param_t, flags) - 4usize];
    ["Offset of field: ucp_request_param_t::request"][offset_of!(ucp_request_param_t, request) - 8usize];
    ["Offset of field: ucp_request_param_t::cb"][offset_of!(ucp_request_param_t, cb) - 16usize];
    ["Offset of field: ucp_request_param_t::datatype"][offset_of!(ucp_request_param_t, datatype) - 24usize];
    ["Offset of field: ucp_request_param_t::user_data"][offset_of!(ucp_request_param_t, user_data) - 32usize];
    ["Offset of field: ucp_request_param_t::reply_buffer"]
        [offset_of!(ucp_request_param_t, reply_buffer) - 40usize];
    ["Offset of field: ucp_request_param_t::memory_type"]
        [offset_of!(ucp_request_param_t, memory_type) - 48usize];
    ["Offset of field: ucp_request_param_t::recv_info"][offset_of!(ucp_request_param_t, recv_info) - 56usize];
    ["Offset of field: ucp_request_param_t::memh"][offset_of!(ucp_request_param_t, memh) - 64usize];
};
zeroed!(ucp_request_param_t);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_am_handler_param {
    pub field_mask: u64,
    pub id: c_uint,
    pub flags: u32,
    pub cb: ucp_am_recv_callback_t,
    pub arg: *mut c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_am_handler_param"][size_of::<ucp_am_handler_param>() - 32usize];
    ["Alignment of ucp_am_handler_param"][align_of::<ucp_am_handler_param>() - 8usize];
    ["Offset of field: ucp_am_handler_param::field_mask"]
        [offset_of!(ucp_am_handler_param, field_mask) - 0usize];
    ["Offset of field: ucp_am_handler_param::id"][offset_of!(ucp_am_handler_param, id) - 8usize];
    ["Offset of field: ucp_am_handler_param::flags"][offset_of!(ucp_am_handler_param, flags) - 12usize];
    ["Offset of field: ucp_am_handler_param::cb"][offset_of!(ucp_am_handler_param, cb) - 16usize];
    ["Offset of field: ucp_am_handler_param::arg"][offset_of!(ucp_am_handler_param, arg) - 24usize];
};
zeroed!(ucp_am_handler_param);
pub type ucp_am_handler_param_t = ucp_am_handler_param;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ucp_am_recv_param {
    pub recv_attr: u64,
    pub reply_ep: ucp_ep_h,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ucp_am_recv_param"][size_of::<ucp_am_recv_param>() - 16usize];
    ["Alignment of ucp_am_recv_param"][align_of::<ucp_am_recv_param>() - 8usize];
    ["Offset of field: ucp_am_recv_param::recv_attr"][offset_of!(ucp_am_recv_param, recv_attr) - 0usize];
    ["Offset of field: ucp_am_recv_param::reply_ep"][offset_of!(ucp_am_recv_param, reply_ep) - 8usize];
};
zeroed!(ucp_am_recv_param);

functions! {
    required {
        pub fn ucs_status_string(status: ucs_status_t) -> *const c_char;
        pub fn ucp_config_read(
            env_prefix: *const c_char,
            filename: *const c_char,
            config_p: *mut *mut ucp_config_t,
        ) -> ucs_status_t;
        pub fn ucp_config_release(config: *mut ucp_config_t);
        pub fn ucp_config_modify(
            config: *mut ucp_config_t,
            name: *const c_char,
            value: *const c_char,
        ) -> ucs_status_t;
        pub fn ucp_get_version(
            major_version: *mut c_uint,
            minor_version: *mut c_uint,
            release_number: *mut c_uint,
        );
        pub fn ucp_get_version_string() -> *const c_char;
        pub fn ucp_init_version(
            api_major_version: c_uint,
            api_minor_version: c_uint,
            params: *const ucp_params_t,
            config: *const ucp_config_t,
            context_p: *mut ucp_context_h,
        ) -> ucs_status_t;
        pub fn ucp_cleanup(context_p: ucp_context_h);
        pub fn ucp_context_query(context_p: ucp_context_h, attr: *mut ucp_context_attr_t) -> ucs_status_t;
        pub fn ucp_worker_create(
            context: ucp_context_h,
            params: *const ucp_worker_params_t,
            worker_p: *mut ucp_worker_h,
        ) -> ucs_status_t;
        pub fn ucp_worker_destroy(worker: ucp_worker_h);
        pub fn ucp_worker_query(worker: ucp_worker_h, attr: *mut ucp_worker_attr_t) -> ucs_status_t;
        pub fn ucp_worker_print_info(worker: ucp_worker_h, stream: *mut FILE);
        pub fn ucp_worker_get_address(
            worker: ucp_worker_h,
            address_p: *mut *mut ucp_address_t,
            address_length_p: *mut usize,
        ) -> ucs_status_t;
        pub fn ucp_worker_release_address(worker: ucp_worker_h, address: *mut ucp_address_t);
        pub fn ucp_worker_progress(worker: ucp_worker_h) -> c_uint;
        pub fn ucp_worker_get_efd(worker: ucp_worker_h, fd: *mut c_int) -> ucs_status_t;
        pub fn ucp_worker_arm(worker: ucp_worker_h) -> ucs_status_t;
        pub fn ucp_worker_signal(worker: ucp_worker_h) -> ucs_status_t;
        pub fn ucp_ep_create(
            worker: ucp_worker_h,
            params: *const ucp_ep_params_t,
            ep_p: *mut ucp_ep_h,
        ) -> ucs_status_t;
        pub fn ucp_ep_close_nbx(ep: ucp_ep_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t;
        pub fn ucp_ep_print_info(ep: ucp_ep_h, stream: *mut FILE);
        pub fn ucp_ep_flush_nbx(ep: ucp_ep_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t;
        pub fn ucp_mem_map(
            context: ucp_context_h,
            params: *const ucp_mem_map_params_t,
            memh_p: *mut ucp_mem_h,
        ) -> ucs_status_t;
        pub fn ucp_mem_unmap(context: ucp_context_h, memh: ucp_mem_h) -> ucs_status_t;
        pub fn ucp_rkey_pack(
            context: ucp_context_h,
            memh: ucp_mem_h,
            rkey_buffer_p: *mut *mut c_void,
            size_p: *mut usize,
        ) -> ucs_status_t;
        pub fn ucp_rkey_buffer_release(rkey_buffer: *mut c_void);
        pub fn ucp_ep_rkey_unpack(
            ep: ucp_ep_h,
            rkey_buffer: *const c_void,
            rkey_p: *mut ucp_rkey_h,
        ) -> ucs_status_t;
        pub fn ucp_rkey_destroy(rkey: ucp_rkey_h);
        pub fn ucp_worker_set_am_recv_handler(
            worker: ucp_worker_h,
            param: *const ucp_am_handler_param_t,
        ) -> ucs_status_t;
        pub fn ucp_am_send_nbx(
            ep: ucp_ep_h,
            id: c_uint,
            header: *const c_void,
            header_length: usize,
            buffer: *const c_void,
            count: usize,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_am_recv_data_nbx(
            worker: ucp_worker_h,
            data_desc: *mut c_void,
            buffer: *mut c_void,
            count: usize,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_am_data_release(worker: ucp_worker_h, data: *mut c_void);
        pub fn ucp_tag_send_nbx(
            ep: ucp_ep_h,
            buffer: *const c_void,
            count: usize,
            tag: ucp_tag_t,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_tag_recv_nbx(
            worker: ucp_worker_h,
            buffer: *mut c_void,
            count: usize,
            tag: ucp_tag_t,
            tag_mask: ucp_tag_t,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_tag_probe_nb(
            worker: ucp_worker_h,
            tag: ucp_tag_t,
            tag_mask: ucp_tag_t,
            remove: c_int,
            info: *mut ucp_tag_recv_info_t,
        ) -> ucp_tag_message_h;
        pub fn ucp_tag_msg_recv_nbx(
            worker: ucp_worker_h,
            buffer: *mut c_void,
            count: usize,
            message: ucp_tag_message_h,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_put_nbx(
            ep: ucp_ep_h,
            buffer: *const c_void,
            count: usize,
            remote_addr: u64,
            rkey: ucp_rkey_h,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_get_nbx(
            ep: ucp_ep_h,
            buffer: *mut c_void,
            count: usize,
            remote_addr: u64,
            rkey: ucp_rkey_h,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_atomic_op_nbx(
            ep: ucp_ep_h,
            opcode: ucp_atomic_op_t,
            buffer: *const c_void,
            count: usize,
            remote_addr: u64,
            rkey: ucp_rkey_h,
            param: *const ucp_request_param_t,
        ) -> ucs_status_ptr_t;
        pub fn ucp_request_check_status(request: *mut c_void) -> ucs_status_t;
        pub fn ucp_request_cancel(worker: ucp_worker_h, request: *mut c_void);
        pub fn ucp_request_free(request: *mut c_void);
        pub fn ucp_dt_create_generic(
            ops: *const ucp_generic_dt_ops_t,
            context: *mut c_void,
            datatype_p: *mut ucp_datatype_t,
        ) -> ucs_status_t;
        pub fn ucp_dt_destroy(datatype: ucp_datatype_t);
        pub fn ucp_worker_fence(worker: ucp_worker_h) -> ucs_status_t;
        pub fn ucp_worker_flush_nbx(worker: ucp_worker_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t;
    }
    optional {}
}
