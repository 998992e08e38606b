//! Kernels that can less than this one: what runs there finds some system calls missing or refused.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::thread;

/// What a kernel cannot do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lacks {
    /// This system call is refused with this error.
    Call(libc::c_long, libc::c_int),
    /// So are all from this number on, as unknown.
    CallsFrom(u32),
    /// So is this one where the argument with this index has any of these bits.
    Bits(libc::c_long, usize, u32, libc::c_int),
    /// So is this one where the argument with this index is at least this.
    AtLeast(libc::c_long, usize, u32, libc::c_int),
}

/// The first system call that came after Linux 4.18 and 5.0, on every processor. The oldest kernel
/// that the book speaks of.
const AFTER_4_18: u32 = 424;

/// What Linux 4.18 lacks of what we, our dependencies and the C library may ask for.
pub(crate) fn linux_4_18() -> Vec<Lacks> {
    vec![
        Lacks::CallsFrom(AFTER_4_18),
        // MADV_COLD and what came after it.
        Lacks::AtLeast(libc::SYS_madvise, 2, 20, libc::EINVAL),
        // MFD_NOEXEC_SEAL and MFD_EXEC.
        Lacks::Bits(libc::SYS_memfd_create, 1, 0x18, libc::EINVAL),
        // MAP_SYNC and MAP_FIXED_NOREPLACE came before, but a filter could not show the second's
        // absence anyway: it is ignored.
    ]
}

/// Runs `test` as if on such a kernel, as do all processes that it starts. The filter stays with
/// the thread, so that it is one of its own.
pub(crate) fn on_a_kernel_that<T: Send>(lacks: &[Lacks], test: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let run = || {
            install(lacks);
            test()
        };
        match scope.spawn(run).join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn install(lacks: &[Lacks]) {
    let statement = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump = |code: u32, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let refuse = |error: libc::c_int| statement(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | error as u32);
    let test = |condition: u32| libc::BPF_JMP | condition | libc::BPF_K;
    // `seccomp_data`: the number at 0, the arguments from 16 on, of which the lower half comes
    // first.
    let (number, argument) = (0, |index: usize| 16 + 8 * index as u32);
    let mut filter = Vec::new();
    for lack in lacks {
        filter.push(load(number));
        match *lack {
            Lacks::Call(call, error) => {
                filter.extend([jump(test(libc::BPF_JEQ), call as u32, 0, 1), refuse(error)])
            }
            Lacks::CallsFrom(first) => {
                filter.extend([jump(test(libc::BPF_JGE), first, 0, 1), refuse(libc::ENOSYS)])
            }
            Lacks::Bits(call, index, bits, error) => filter.extend([
                jump(test(libc::BPF_JEQ), call as u32, 0, 3),
                load(argument(index)),
                jump(test(libc::BPF_JSET), bits, 0, 1),
                refuse(error),
            ]),
            Lacks::AtLeast(call, index, least, error) => filter.extend([
                jump(test(libc::BPF_JEQ), call as u32, 0, 3),
                load(argument(index)),
                jump(test(libc::BPF_JGE), least, 0, 1),
                refuse(error),
            ]),
        }
    }
    filter.push(statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the first takes numbers; the second reads the program, which is there.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(installed, "{}", std::io::Error::last_os_error());
}
