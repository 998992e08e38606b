//! The committed bindings of UCX and PMIx: made by the `bindgen` program from installed headers,
//! then made shorter.
//!
//! What bindgen writes about functions becomes an invocation of `functions!`, a macro of those
//! crates that finds them at run time; what it repeats for every structure becomes a macro too.
//! A build needs no headers.

use std::fs;

use crate::run::{Failure, Job, Outcome, Verdict};

/// One C interface, and what of it is bound.
struct Interface {
    name: &'static str,
    /// What pkg-config calls it.
    package: &'static str,
    header: &'static str,
    output: &'static str,
    /// Each of them must be in every version that the crate accepts.
    functions: &'static [&'static str],
    /// Some versions that the crate accepts lack these.
    optional: &'static [&'static str],
    /// Patterns of types that no function mentions: flags and constants, mostly.
    types: &'static [&'static str],
    /// Patterns of constants.
    constants: &'static [&'static str],
    /// Types of which only pointers are needed, and what stands for them.
    opaque: &'static [(&'static str, &'static str)],
    /// Patterns of further types that only those contain.
    hidden: &'static [&'static str],
    /// Text that is replaced.
    replaced: &'static [(&'static str, &'static str)],
    /// What a constant of the preprocessor with this beginning has as its type.
    constant_types: &'static [(&'static str, &'static str)],
}

const UCX: Interface = Interface {
    name: "UCX",
    package: "ucx",
    header: "ucp/api/ucp.h",
    output: "ucx-sys/src/bindings.rs",
    functions: &[
        "ucp_(get_version|get_version_string|init_version|cleanup|context_query|mem_map|mem_unmap)",
        "ucp_config_(read|modify|release)",
        "ucp_worker_(create|destroy|query|get_address|release_address|get_efd|arm|signal|progress)",
        "ucp_worker_(fence|flush_nbx|print_info|set_am_recv_handler)",
        "ucp_ep_(create|close_nbx|flush_nbx|print_info|rkey_unpack)",
        "ucp_rkey_(pack|buffer_release|destroy)",
        "ucp_(put|get|atomic_op|am_send|am_recv_data|tag_send|tag_recv|tag_msg_recv)_nbx",
        "ucp_(am_data_release|tag_probe_nb)",
        "ucp_dt_(create_generic|destroy)",
        "ucp_request_(check_status|cancel|free)",
        "ucs_status_string",
    ],
    optional: &[],
    types: &[
        "ucp_(params|worker_params|ep_params|ep_params_flags|mem_map_params|context_attr|worker_attr)_field",
        "ucp_(am_handler_param_field|feature|am_cb_flags|send_am_flags|cb_param_flags|dt_type|ep_close_mode)",
        "ucp_(op_attr|am_recv_attr|ep_close_flags|worker_flags|worker_address_flags|wakeup_event)_t",
    ],
    constants: &["UCP_API_(MAJOR|MINOR)", "UCP_MEM_MAP_.*"],
    opaque: &[("sockaddr", "c_void"), ("socklen_t", "c_uint"), ("FILE", "c_void")],
    hidden: &["_IO_.*"],
    replaced: &[
        ("ucp_request_param_t__bindgen_ty_1", "ucp_request_param_cb"),
        ("ucp_request_param_t__bindgen_ty_2", "ucp_request_param_recv_info"),
    ],
    constant_types: &[("UCP_API_", "c_uint")],
};

const PMIX: Interface = Interface {
    name: "PMIx",
    package: "pmix",
    header: "pmix.h",
    output: "pmix-sys/src/bindings.rs",
    functions: &[
        "PMIx_(Init|Initialized|Put|Commit|Fence|Get|Abort|Finalize|Error_string|Get_version)",
        "PMIx_(Register|Deregister)_event_handler",
    ],
    optional: &["PMIx_Value_destruct"],
    types: &[],
    constants: &[
        "PMIX_(SUCCESS|ERROR|OPERATION_SUCCEEDED|LOCAL|REMOTE|GLOBAL|MAX_NSLEN|MAX_KEYLEN|INFO_REQD)",
        "PMIX_ERR_(INIT|UNREACH|TIMEOUT|NOT_FOUND|NOT_SUPPORTED|BAD_PARAM|NOMEM|EXISTS|WOULD_BLOCK)",
        "PMIX_ERR_(TYPE_MISMATCH|NO_PERMISSIONS|OUT_OF_RESOURCE|COMM_FAILURE|LOST_CONNECTION)",
        "PMIX_ERR_(PARTIAL_SUCCESS|PROC_ABORTED|PROC_REQUESTED_ABORT|PROC_ABORTED_BY_SIG|PROC_TERM_WO_SYNC)",
        "PMIX_ERR_(EXIT_NONZERO_TERM|JOB_TERM_WO_SYNC|JOB_ABORTED|JOB_ABORTED_BY_SIG|JOB_NON_ZERO_TERM)",
        "PMIX_EVENT_(PROC_TERMINATED|NODE_DOWN|JOB_END|NO_ACTION_TAKEN|ACTION_COMPLETE)",
        "PMIX_EVENT_(HDLR_NAME|AFFECTED_PROC|RETURN_OBJECT)",
        "PMIX_RANK_(UNDEF|WILDCARD|INVALID|VALID)",
        "PMIX_(UNDEF|BOOL|BYTE|STRING|SIZE|INT|INT32|INT64|UINT|UINT8|UINT16|UINT32|UINT64|STATUS)",
        "PMIX_(PROC|PROC_RANK|BYTE_OBJECT|DATA_ARRAY)",
        "PMIX_(JOBID|RANK|APPNUM|JOB_SIZE|UNIV_SIZE|APP_SIZE|LOCAL_SIZE|NODE_SIZE|MAX_PROCS|NUM_NODES)",
        "PMIX_(LOCAL_RANK|NODE_RANK|LOCAL_PEERS|LOCAL_CPUSETS|LOCALITY_STRING|HOSTNAME|NODEID|NODE_LIST)",
        "PMIX_SERVER_(NSPACE|RANK)",
        "PMIX_(COLLECT_DATA|TIMEOUT|OPTIONAL|IMMEDIATE|GET_REFRESH_CACHE)",
    ],
    opaque: &[
        ("pmix_coord_t", "c_void"),
        ("pmix_cpuset_t", "c_void"),
        ("pmix_data_buffer_t", "c_void"),
        ("pmix_device_distance_t", "c_void"),
        ("pmix_disk_stats_t", "c_void"),
        ("pmix_endpoint_t", "c_void"),
        ("pmix_geometry_t", "c_void"),
        ("pmix_net_stats_t", "c_void"),
        ("pmix_node_stats_t", "c_void"),
        ("pmix_proc_info_t", "c_void"),
        ("pmix_proc_stats_t", "c_void"),
        ("pmix_topology_t", "c_void"),
    ],
    hidden: &[],
    replaced: &[("pmix_value__bindgen_ty_1", "pmix_value_data")],
    constant_types: &[
        ("PMIX_RANK_", "pmix_rank_t"),
        ("PMIX_INFO_", "pmix_info_directives_t"),
        ("PMIX_MAX_", "usize"),
        ("PMIX_SUCCESS", "pmix_status_t"),
        ("PMIX_ERR", "pmix_status_t"),
        ("PMIX_EVENT_", "pmix_status_t"),
        ("PMIX_OPERATION_", "pmix_status_t"),
        ("PMIX_LOCAL", "pmix_scope_t"),
        ("PMIX_REMOTE", "pmix_scope_t"),
        ("PMIX_GLOBAL", "pmix_scope_t"),
        ("PMIX_", "pmix_data_type_t"),
    ],
};

/// Writes the bindings of both.
pub(crate) fn bindings() -> Outcome {
    if !Job::new("bindgen", ["--version"]).works() {
        return Err(missing("bindgen", "cargo install bindgen-cli --version 0.72.1"));
    }
    for interface in [&UCX, &PMIX] {
        interface.write()?;
    }
    Ok(Verdict::Passed)
}

impl Interface {
    fn write(&self) -> Result<(), Failure> {
        let include = self.ask_pkg_config("--variable=includedir")?;
        let version = self.ask_pkg_config("--modversion")?;
        let output = Job::new("bindgen", self.arguments(&include)).output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(missing(&format!("{} and libclang ({})", self.header, text.trim()), DEBIAN));
        }
        let text = format!(
            "//! Generated by `cargo xtask bindings` from the headers of {name} {version}. Do not edit.\n//!\n\
             //! The part of {name}'s C interface that a SHMEM runtime needs.\n\n\
             use core::{{\n    ffi::{{{FFI}}},\n    \
             mem::offset_of,\n}};\n\n{opaque}{body}",
            name = self.name,
            opaque = self.opaque.iter().map(|(a, b)| format!("pub type {a} = {b};\n")).collect::<String>(),
            body = self.shorten(&String::from_utf8_lossy(&output.stdout))?,
        );
        fs::write(self.output, drop_unused(text))?;
        Job::new("rustfmt", ["--edition", "2024", self.output]).run()?;
        println!("{}: {} {version}", self.output, self.name);
        Ok(())
    }

    fn ask_pkg_config(&self, question: &str) -> Result<String, Failure> {
        let output = Job::new("pkg-config", [question, self.package]).output();
        let output = output.map_err(|_| missing("pkg-config", DEBIAN))?;
        if !output.status.success() {
            return Err(missing(&format!("the headers of {}", self.name), DEBIAN));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn arguments(&self, include: &str) -> Vec<String> {
        let fixed = "--rust-target 1.85 --rust-edition 2024 --use-core --generate-cstr --no-doc-comments \
                     --no-prepend-enum-name --merge-extern-blocks --with-derive-default \
                     --disable-header-comment";
        let mut arguments = vec![format!("{include}/{}", self.header)];
        arguments.extend(fixed.split_whitespace().map(str::to_owned));
        let mut allow = |kind: &str, patterns: &[&str]| {
            for pattern in patterns {
                arguments.extend([format!("--{kind}"), (*pattern).to_owned()]);
            }
        };
        allow("allowlist-function", self.functions);
        allow("allowlist-function", self.optional);
        allow("allowlist-type", self.types);
        allow("allowlist-var", self.constants);
        allow("blocklist-type", self.hidden);
        for (name, _) in self.opaque {
            allow("blocklist-type", &[&format!("_*{}(_t)?", name.trim_end_matches("_t"))]);
        }
        arguments.extend(["--".into(), format!("-I{include}")]);
        arguments
    }

    /// What bindgen wrote, without its repetitions.
    fn shorten(&self, text: &str) -> Result<String, Failure> {
        let paths = [("::core::ffi::", ""), ("::core::mem::", ""), ("::core::option::", "")];
        let mut text = text.to_owned();
        for (from, to) in paths.iter().chain(self.replaced) {
            text = text.replace(from, to);
        }
        let (types, functions) = text
            .split_once("unsafe extern \"C\" {\n")
            .and_then(|(types, rest)| Some((types, rest.strip_suffix("}\n")?)))
            .ok_or_else(|| Failure::new("bindgen's output does not end with one block of functions"))?;
        Ok(format!("{}\n{}", self.shorten_types(types), self.find_at_run_time(functions)))
    }

    fn shorten_types(&self, types: &str) -> String {
        let unions: Vec<_> = types.lines().filter_map(|line| line.strip_prefix("pub union ")).collect();
        let unions: Vec<_> = unions.iter().map(|union| union.trim_end_matches(" {")).collect();
        let in_union = |line: &str| {
            let field =
                line.trim().strip_prefix("[\"Offset of field: ").and_then(|rest| rest.split_once("::"));
            field.is_some_and(|(owner, _)| unions.contains(&owner))
        };
        let mut out = String::new();
        let mut lines = types.lines();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("impl Default for ").and_then(|l| l.strip_suffix(" {")) {
                // The rest of it says, in seven lines, that all bytes are zero.
                lines.by_ref().find(|line| *line == "}");
                out += &format!("zeroed!({name});\n");
            } else if in_union(line) {
                // All of them are where the union begins. A long one goes on in the next line.
                if !line.ends_with(';') {
                    lines.next();
                }
            } else {
                out += &self.with_type(line);
                out.push('\n');
            }
        }
        out
    }

    /// The line, with the right type where it defines a constant of the preprocessor that has a
    /// number, or one of an enumeration without a name.
    fn with_type(&self, line: &str) -> String {
        let parts = line.strip_prefix("pub const ").and_then(|rest| {
            let (name, rest) = rest.split_once(": ")?;
            let (old, value) = rest.split_once(" = ")?;
            if old.starts_with("_bindgen_ty_") {
                return Some(format!("pub const {name}: c_uint = {value}"));
            }
            let (_, new) = self.constant_types.iter().find(|(beginning, _)| name.starts_with(beginning))?;
            (matches!(old, "u32" | "i32")).then(|| format!("pub const {name}: {new} = {value}"))
        });
        parts.unwrap_or_else(|| line.to_owned())
    }

    fn find_at_run_time(&self, functions: &str) -> String {
        let named = |function: &str, name: &&str| function.trim().starts_with(&format!("pub fn {name}("));
        let (optional, required): (Vec<_>, Vec<_>) = functions
            .split_inclusive(";\n")
            .partition(|function| self.optional.iter().any(|name| named(function, name)));
        let indented = |functions: Vec<&str>| functions.concat().replace("\n    ", "\n        ");
        let block = |word: &str, functions: Vec<&str>| {
            let text = indented(functions);
            if text.is_empty() {
                format!("    {word} {{}}\n")
            } else {
                format!("    {word} {{\n    {text}    }}\n")
            }
        };
        format!("functions! {{\n{}{}}}\n", block("required", required), block("optional", optional))
    }
}

/// What of `core::ffi` bindgen writes.
const FFI: &str = "CStr, c_char, c_int, c_long, c_schar, c_uint, c_ulong, c_ushort, c_void";

/// The text without the imports and names of types that nothing in it needs.
fn drop_unused(mut text: String) -> String {
    loop {
        let is_unused = |line: &&str| {
            let name = line.strip_prefix("pub type ").and_then(|rest| rest.split(" =").next());
            name.is_some_and(|name| line.ends_with(';') && words(&text, name) == 1)
        };
        let Some(line) = text.lines().find(is_unused).map(str::to_owned) else { break };
        text = text.replacen(&format!("{line}\n"), "", 1);
    }
    let kept: Vec<_> = FFI.split(", ").filter(|name| words(&text, name) > 1).collect();
    text.replacen(FFI, &kept.join(", "), 1)
}

/// How often `word` is in `text`.
fn words(text: &str, word: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c: char| !is_part(c)).filter(|found| *found == word).count()
}

const DEBIAN: &str = "on Debian, as root: apt-get install -y pkg-config libclang-dev libucx-dev libpmix-dev";

fn missing(what: &str, command: &str) -> Failure {
    Failure::new(format!("{what} missing; {command}"))
}
