//! The part of PMIx's C interface that a SHMEM runtime needs. `cargo xtask bindings` made it from the
//! headers of PMIx 4.2.2rc2: change that command, not this file.

use core::{
    ffi::{CStr, c_char, c_int, c_long, c_uint, c_void},
    mem::offset_of,
};

pub type pmix_coord_t = c_void;
pub type pmix_cpuset_t = c_void;
pub type pmix_data_buffer_t = c_void;
pub type pmix_device_distance_t = c_void;
pub type pmix_disk_stats_t = c_void;
pub type pmix_endpoint_t = c_void;
pub type pmix_geometry_t = c_void;
pub type pmix_net_stats_t = c_void;
pub type pmix_node_stats_t = c_void;
pub type pmix_proc_info_t = c_void;
pub type pmix_proc_stats_t = c_void;
pub type pmix_topology_t = c_void;
pub const PMIX_MAX_NSLEN: usize = 255;
pub const PMIX_MAX_KEYLEN: usize = 511;
pub const PMIX_RANK_UNDEF: pmix_rank_t = 4294967295;
pub const PMIX_RANK_WILDCARD: pmix_rank_t = 4294967294;
pub const PMIX_RANK_INVALID: pmix_rank_t = 4294967292;
pub const PMIX_RANK_VALID: pmix_rank_t = 4294967245;
pub const PMIX_SERVER_NSPACE: &CStr = c"pmix.srv.nspace";
pub const PMIX_SERVER_RANK: &CStr = c"pmix.srv.rank";
pub const PMIX_JOBID: &CStr = c"pmix.jobid";
pub const PMIX_APPNUM: &CStr = c"pmix.appnum";
pub const PMIX_RANK: &CStr = c"pmix.rank";
pub const PMIX_LOCAL_RANK: &CStr = c"pmix.lrank";
pub const PMIX_NODE_RANK: &CStr = c"pmix.nrank";
pub const PMIX_NODE_LIST: &CStr = c"pmix.nlist";
pub const PMIX_HOSTNAME: &CStr = c"pmix.hname";
pub const PMIX_NODEID: &CStr = c"pmix.nodeid";
pub const PMIX_LOCAL_PEERS: &CStr = c"pmix.lpeers";
pub const PMIX_LOCAL_CPUSETS: &CStr = c"pmix.lcpus";
pub const PMIX_UNIV_SIZE: &CStr = c"pmix.univ.size";
pub const PMIX_JOB_SIZE: &CStr = c"pmix.job.size";
pub const PMIX_APP_SIZE: &CStr = c"pmix.app.size";
pub const PMIX_LOCAL_SIZE: &CStr = c"pmix.local.size";
pub const PMIX_NODE_SIZE: &CStr = c"pmix.node.size";
pub const PMIX_MAX_PROCS: &CStr = c"pmix.max.size";
pub const PMIX_NUM_NODES: &CStr = c"pmix.num.nodes";
pub const PMIX_LOCALITY_STRING: &CStr = c"pmix.locstr";
pub const PMIX_COLLECT_DATA: &CStr = c"pmix.collect";
pub const PMIX_TIMEOUT: &CStr = c"pmix.timeout";
pub const PMIX_IMMEDIATE: &CStr = c"pmix.immediate";
pub const PMIX_OPTIONAL: &CStr = c"pmix.optional";
pub const PMIX_GET_REFRESH_CACHE: &CStr = c"pmix.get.refresh";
pub const PMIX_EVENT_HDLR_NAME: &CStr = c"pmix.evname";
pub const PMIX_EVENT_AFFECTED_PROC: &CStr = c"pmix.evproc";
pub const PMIX_EVENT_RETURN_OBJECT: &CStr = c"pmix.evobject";
pub const PMIX_SUCCESS: pmix_status_t = 0;
pub const PMIX_ERROR: pmix_status_t = -1;
pub const PMIX_ERR_EXISTS: pmix_status_t = -11;
pub const PMIX_ERR_WOULD_BLOCK: pmix_status_t = -15;
pub const PMIX_ERR_TYPE_MISMATCH: pmix_status_t = -18;
pub const PMIX_ERR_NO_PERMISSIONS: pmix_status_t = -23;
pub const PMIX_ERR_TIMEOUT: pmix_status_t = -24;
pub const PMIX_ERR_UNREACH: pmix_status_t = -25;
pub const PMIX_ERR_BAD_PARAM: pmix_status_t = -27;
pub const PMIX_ERR_OUT_OF_RESOURCE: pmix_status_t = -29;
pub const PMIX_ERR_INIT: pmix_status_t = -31;
pub const PMIX_ERR_NOMEM: pmix_status_t = -32;
pub const PMIX_ERR_NOT_FOUND: pmix_status_t = -46;
pub const PMIX_ERR_NOT_SUPPORTED: pmix_status_t = -47;
pub const PMIX_ERR_COMM_FAILURE: pmix_status_t = -49;
pub const PMIX_ERR_PARTIAL_SUCCESS: pmix_status_t = -52;
pub const PMIX_ERR_LOST_CONNECTION: pmix_status_t = -61;
pub const PMIX_OPERATION_SUCCEEDED: pmix_status_t = -157;
pub const PMIX_ERR_JOB_ABORTED: pmix_status_t = -182;
pub const PMIX_ERR_JOB_ABORTED_BY_SIG: pmix_status_t = -184;
pub const PMIX_ERR_JOB_TERM_WO_SYNC: pmix_status_t = -185;
pub const PMIX_ERR_JOB_NON_ZERO_TERM: pmix_status_t = -187;
pub const PMIX_EVENT_JOB_END: pmix_status_t = -145;
pub const PMIX_ERR_PROC_REQUESTED_ABORT: pmix_status_t = -8;
pub const PMIX_ERR_PROC_TERM_WO_SYNC: pmix_status_t = -200;
pub const PMIX_EVENT_PROC_TERMINATED: pmix_status_t = -201;
pub const PMIX_ERR_PROC_ABORTED_BY_SIG: pmix_status_t = -402;
pub const PMIX_ERR_EXIT_NONZERO_TERM: pmix_status_t = -404;
pub const PMIX_EVENT_NODE_DOWN: pmix_status_t = -231;
pub const PMIX_EVENT_NO_ACTION_TAKEN: pmix_status_t = -331;
pub const PMIX_EVENT_ACTION_COMPLETE: pmix_status_t = -334;
pub const PMIX_UNDEF: pmix_data_type_t = 0;
pub const PMIX_BOOL: pmix_data_type_t = 1;
pub const PMIX_BYTE: pmix_data_type_t = 2;
pub const PMIX_STRING: pmix_data_type_t = 3;
pub const PMIX_SIZE: pmix_data_type_t = 4;
pub const PMIX_INT: pmix_data_type_t = 6;
pub const PMIX_INT32: pmix_data_type_t = 9;
pub const PMIX_INT64: pmix_data_type_t = 10;
pub const PMIX_UINT: pmix_data_type_t = 11;
pub const PMIX_UINT8: pmix_data_type_t = 12;
pub const PMIX_UINT16: pmix_data_type_t = 13;
pub const PMIX_UINT32: pmix_data_type_t = 14;
pub const PMIX_UINT64: pmix_data_type_t = 15;
pub const PMIX_STATUS: pmix_data_type_t = 20;
pub const PMIX_PROC: pmix_data_type_t = 22;
pub const PMIX_BYTE_OBJECT: pmix_data_type_t = 27;
pub const PMIX_DATA_ARRAY: pmix_data_type_t = 39;
pub const PMIX_PROC_RANK: pmix_data_type_t = 40;
pub const PMIX_LOCAL: pmix_scope_t = 1;
pub const PMIX_REMOTE: pmix_scope_t = 2;
pub const PMIX_GLOBAL: pmix_scope_t = 3;
pub const PMIX_INFO_REQD: pmix_info_directives_t = 1;
pub const PMIX_ERR_PROC_ABORTED: pmix_status_t = -7;
pub type __pid_t = c_int;
pub type __time_t = c_long;
pub type __suseconds_t = c_long;
pub type pid_t = __pid_t;
pub type time_t = __time_t;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct timeval {
    pub tv_sec: __time_t,
    pub tv_usec: __suseconds_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of timeval"][size_of::<timeval>() - 16usize];
    ["Alignment of timeval"][align_of::<timeval>() - 8usize];
    ["Offset of field: timeval::tv_sec"][offset_of!(timeval, tv_sec) - 0usize];
    ["Offset of field: timeval::tv_usec"][offset_of!(timeval, tv_usec) - 8usize];
};
pub type pmix_nspace_t = [c_char; 256usize];
pub type pmix_key_t = [c_char; 512usize];
pub type pmix_rank_t = u32;
pub type pmix_proc_state_t = u8;
pub type pmix_job_state_t = u8;
pub type pmix_status_t = c_int;
pub type pmix_data_type_t = u16;
pub type pmix_scope_t = u8;
pub type pmix_data_range_t = u8;
pub type pmix_persistence_t = u8;
pub type pmix_info_directives_t = u32;
pub type pmix_alloc_directive_t = u8;
pub type pmix_link_state_t = u8;
pub type pmix_locality_t = u16;
pub type pmix_device_type_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_byte_object {
    pub bytes: *mut c_char,
    pub size: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_byte_object"][size_of::<pmix_byte_object>() - 16usize];
    ["Alignment of pmix_byte_object"][align_of::<pmix_byte_object>() - 8usize];
    ["Offset of field: pmix_byte_object::bytes"][offset_of!(pmix_byte_object, bytes) - 0usize];
    ["Offset of field: pmix_byte_object::size"][offset_of!(pmix_byte_object, size) - 8usize];
};
zeroed!(pmix_byte_object);
pub type pmix_byte_object_t = pmix_byte_object;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_envar_t {
    pub envar: *mut c_char,
    pub value: *mut c_char,
    pub separator: c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_envar_t"][size_of::<pmix_envar_t>() - 24usize];
    ["Alignment of pmix_envar_t"][align_of::<pmix_envar_t>() - 8usize];
    ["Offset of field: pmix_envar_t::envar"][offset_of!(pmix_envar_t, envar) - 0usize];
    ["Offset of field: pmix_envar_t::value"][offset_of!(pmix_envar_t, value) - 8usize];
    ["Offset of field: pmix_envar_t::separator"][offset_of!(pmix_envar_t, separator) - 16usize];
};
zeroed!(pmix_envar_t);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_proc {
    pub nspace: pmix_nspace_t,
    pub rank: pmix_rank_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_proc"][size_of::<pmix_proc>() - 260usize];
    ["Alignment of pmix_proc"][align_of::<pmix_proc>() - 4usize];
    ["Offset of field: pmix_proc::nspace"][offset_of!(pmix_proc, nspace) - 0usize];
    ["Offset of field: pmix_proc::rank"][offset_of!(pmix_proc, rank) - 256usize];
};
zeroed!(pmix_proc);
pub type pmix_proc_t = pmix_proc;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_data_array {
    pub type_: pmix_data_type_t,
    pub size: usize,
    pub array: *mut c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_data_array"][size_of::<pmix_data_array>() - 24usize];
    ["Alignment of pmix_data_array"][align_of::<pmix_data_array>() - 8usize];
    ["Offset of field: pmix_data_array::type_"][offset_of!(pmix_data_array, type_) - 0usize];
    ["Offset of field: pmix_data_array::size"][offset_of!(pmix_data_array, size) - 8usize];
    ["Offset of field: pmix_data_array::array"][offset_of!(pmix_data_array, array) - 16usize];
};
zeroed!(pmix_data_array);
pub type pmix_data_array_t = pmix_data_array;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct pmix_value {
    pub type_: pmix_data_type_t,
    pub data: pmix_value_data,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union pmix_value_data {
    pub flag: bool,
    pub byte: u8,
    pub string: *mut c_char,
    pub size: usize,
    pub pid: pid_t,
    pub integer: c_int,
    pub int8: i8,
    pub int16: i16,
    pub int32: i32,
    pub int64: i64,
    pub uint: c_uint,
    pub uint8: u8,
    pub uint16: u16,
    pub uint32: u32,
    pub uint64: u64,
    pub fval: f32,
    pub dval: f64,
    pub tv: timeval,
    pub time: time_t,
    pub status: pmix_status_t,
    pub rank: pmix_rank_t,
    pub nspace: *mut pmix_nspace_t,
    pub proc_: *mut pmix_proc_t,
    pub bo: pmix_byte_object_t,
    pub persist: pmix_persistence_t,
    pub scope: pmix_scope_t,
    pub range: pmix_data_range_t,
    pub state: pmix_proc_state_t,
    pub pinfo: *mut pmix_proc_info_t,
    pub darray: *mut pmix_data_array_t,
    pub ptr: *mut c_void,
    pub adir: pmix_alloc_directive_t,
    pub envar: pmix_envar_t,
    pub coord: *mut pmix_coord_t,
    pub linkstate: pmix_link_state_t,
    pub jstate: pmix_job_state_t,
    pub topo: *mut pmix_topology_t,
    pub cpuset: *mut pmix_cpuset_t,
    pub locality: pmix_locality_t,
    pub geometry: *mut pmix_geometry_t,
    pub devtype: pmix_device_type_t,
    pub devdist: *mut pmix_device_distance_t,
    pub endpoint: *mut pmix_endpoint_t,
    pub dbuf: *mut pmix_data_buffer_t,
    pub pstats: *mut pmix_proc_stats_t,
    pub dkstats: *mut pmix_disk_stats_t,
    pub netstats: *mut pmix_net_stats_t,
    pub ndstats: *mut pmix_node_stats_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_value_data"][size_of::<pmix_value_data>() - 24usize];
    ["Alignment of pmix_value_data"][align_of::<pmix_value_data>() - 8usize];
};
zeroed!(pmix_value_data);
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_value"][size_of::<pmix_value>() - 32usize];
    ["Alignment of pmix_value"][align_of::<pmix_value>() - 8usize];
    ["Offset of field: pmix_value::type_"][offset_of!(pmix_value, type_) - 0usize];
    ["Offset of field: pmix_value::data"][offset_of!(pmix_value, data) - 8usize];
};
zeroed!(pmix_value);
pub type pmix_value_t = pmix_value;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct pmix_info {
    pub key: pmix_key_t,
    pub flags: pmix_info_directives_t,
    pub value: pmix_value_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_info"][size_of::<pmix_info>() - 552usize];
    ["Alignment of pmix_info"][align_of::<pmix_info>() - 8usize];
    ["Offset of field: pmix_info::key"][offset_of!(pmix_info, key) - 0usize];
    ["Offset of field: pmix_info::flags"][offset_of!(pmix_info, flags) - 512usize];
    ["Offset of field: pmix_info::value"][offset_of!(pmix_info, value) - 520usize];
};
zeroed!(pmix_info);
pub type pmix_info_t = pmix_info;
pub type pmix_op_cbfunc_t = Option<unsafe extern "C" fn(status: pmix_status_t, cbdata: *mut c_void)>;
pub type pmix_event_notification_cbfunc_fn_t = Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        results: *mut pmix_info_t,
        nresults: usize,
        cbfunc: pmix_op_cbfunc_t,
        thiscbdata: *mut c_void,
        notification_cbdata: *mut c_void,
    ),
>;
pub type pmix_notification_fn_t = Option<
    unsafe extern "C" fn(
        evhdlr_registration_id: usize,
        status: pmix_status_t,
        source: *const pmix_proc_t,
        info: *mut pmix_info_t,
        ninfo: usize,
        results: *mut pmix_info_t,
        nresults: usize,
        cbfunc: pmix_event_notification_cbfunc_fn_t,
        cbdata: *mut c_void,
    ),
>;
pub type pmix_hdlr_reg_cbfunc_t =
    Option<unsafe extern "C" fn(status: pmix_status_t, refid: usize, cbdata: *mut c_void)>;

functions! {
    required {
        pub fn PMIx_Init(proc_: *mut pmix_proc_t, info: *mut pmix_info_t, ninfo: usize) -> pmix_status_t;
        pub fn PMIx_Finalize(info: *const pmix_info_t, ninfo: usize) -> pmix_status_t;
        pub fn PMIx_Initialized() -> c_int;
        pub fn PMIx_Abort(
            status: c_int,
            msg: *const c_char,
            procs: *mut pmix_proc_t,
            nprocs: usize,
        ) -> pmix_status_t;
        pub fn PMIx_Put(
            scope: pmix_scope_t,
            key: *const c_char,
            val: *mut pmix_value_t,
        ) -> pmix_status_t;
        pub fn PMIx_Commit() -> pmix_status_t;
        pub fn PMIx_Fence(
            procs: *const pmix_proc_t,
            nprocs: usize,
            info: *const pmix_info_t,
            ninfo: usize,
        ) -> pmix_status_t;
        pub fn PMIx_Get(
            proc_: *const pmix_proc_t,
            key: *const c_char,
            info: *const pmix_info_t,
            ninfo: usize,
            val: *mut *mut pmix_value_t,
        ) -> pmix_status_t;
        pub fn PMIx_Register_event_handler(
            codes: *mut pmix_status_t,
            ncodes: usize,
            info: *mut pmix_info_t,
            ninfo: usize,
            evhdlr: pmix_notification_fn_t,
            cbfunc: pmix_hdlr_reg_cbfunc_t,
            cbdata: *mut c_void,
        ) -> pmix_status_t;
        pub fn PMIx_Deregister_event_handler(
            evhdlr_ref: usize,
            cbfunc: pmix_op_cbfunc_t,
            cbdata: *mut c_void,
        ) -> pmix_status_t;
        pub fn PMIx_Error_string(status: pmix_status_t) -> *const c_char;
        pub fn PMIx_Get_version() -> *const c_char;
    }
    optional {
        pub fn PMIx_Value_destruct(val: *mut pmix_value_t);
    }
}
