//! Processes that a PE has forked: they are no PEs, and change nothing for those.

mod common;

use common::Program;

/// What a child calls: the name of the routine in the line that says so, if one does.
const CALLS: [(&str, Option<&str>); 11] = [
    ("exit", None),
    ("return", None),
    ("barrier", Some("shmem_barrier_all")),
    ("finalize", Some("shmem_finalize")),
    ("init", Some("shmem_init")),
    ("global_exit", Some("shmem_global_exit")),
    ("malloc", Some("shmem_malloc")),
    ("wait", Some("shmem_long_wait_until")),
    ("put", Some("shmem_long_p")),
    ("ctx", Some("shmem_ctx_long_p")),
    ("wrong", Some("shmem_long_p")),
];

/// What is a store and nothing else asks for no more than the kernel does by itself.
const STORES: [&str; 2] = ["put", "ctx"];

#[track_caller]
fn passes(program: &Program, how: &str, variables: &[(&str, &str)]) {
    for (what, routine) in CALLS {
        // Where the C library has no `_Fork`, this is a `fork`.
        if how != "fork" && STORES.contains(&what) {
            continue;
        }
        let ended = program.job(2, variables, &[how, what]);
        println!("{how}, {what}: {ended:?}");
        ended.passed(2);
        assert_eq!(ended.stdout, "end\n");
        let lines: Vec<_> = ended.stderr.lines().collect();
        match routine {
            None => assert_eq!(lines, [""; 0]),
            Some(routine) => {
                assert_eq!(lines.len(), 1, "{lines:?}");
                let start = format!("oxshmem: {routine}: process ");
                assert!(lines[0].starts_with(&start) && lines[0].contains("was forked by PE 0"), "{lines:?}");
            }
        }
    }
}

#[test]
fn a_child_that_calls_the_library_gets_one_line_and_changes_nothing() {
    passes(&Program::new("children.c"), "fork", &[]);
}

#[test]
fn a_child_of_the_system_call_gets_the_error_too() {
    let program = Program::new("children.c");
    passes(&program, "clone", &[]);
    passes(&program, "_Fork", &[]);
}

#[test]
fn a_child_on_one_of_several_hosts_gets_the_error_too() {
    // SAFETY: a constant, terminated string; the library's initialisers ask nothing of their
    // callers.
    if unsafe { libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOW) }.is_null() {
        println!("skipped: there is no libucp.so.0; on Debian, as root: apt-get install libucx0");
        return;
    }
    passes(&Program::new("children.c"), "fork", &[("SHMEM_FAKE_HOSTS", "2")]);
}
