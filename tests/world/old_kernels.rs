//! Jobs on kernels that lack what newer ones have.

use crate::common::{Job, PeRuntime, test_name, time_limit};
use crate::kernel::{Lacks, linux_4_18, on_a_kernel_that};
use oxshmem::{Result, World, prelude::*};

/// Everything that asks the kernel for something: memory, sleeps, large copies, collectives.
async fn work(world: World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let next = (me + 1) % n;
    let words = world.alloc_zeroed::<u64>(1 << 18).await?;
    let flag = world.alloc_zeroed::<u64>(1).await?;
    world.context().put_nbi(words.slice(..), vec![me as u64; 1 << 18], next).await?;
    world.context().quiet().await?;
    world.barrier_all().await?;
    assert_eq!(words.at((1 << 18) - 1).load(), ((me + n - 1) % n) as u64);
    // PE 0 comes late, so that the others fall asleep.
    if me == 0 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        for pe in 0..n {
            world.context().add(flag.at(0), 7, pe).await?;
        }
    }
    flag.at(0).wait_until(Cmp::Eq, 7).await?;
    world.team().sum_reduce(&flag, &flag).await?;
    assert_eq!(flag.at(0).load(), 7 * n as u64);
    println!("all is well");
    Ok(world.free(words).await?)
}

#[test]
fn a_job_runs_on_the_oldest_kernel_that_the_book_names() {
    let (test, _limit) = (test_name!(), time_limit(90));
    for runtime in [PeRuntime::CurrentThread, PeRuntime::BlockOn] {
        let ended = on_a_kernel_that(&linux_4_18(), || Job::new(test, 3).runtime(runtime).run(work));
        assert_eq!(ended.stdout.matches("all is well").count(), 3, "{ended:?}");
    }
}

#[test]
fn a_job_runs_where_a_sandbox_refuses_what_one_can_do_without() {
    let (test, _limit) = (test_name!(), time_limit(90));
    let mut lacks = linux_4_18();
    for call in [libc::SYS_membarrier, libc::SYS_statx, libc::SYS_mbind, libc::SYS_getrandom] {
        lacks.push(Lacks::Call(call, libc::ENOSYS));
    }
    for call in [libc::SYS_sched_setaffinity, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        lacks.push(Lacks::Call(call, libc::EPERM));
    }
    let ended = on_a_kernel_that(&lacks, || Job::new(test, 3).run(work));
    assert_eq!(ended.stdout.matches("all is well").count(), 3, "{ended:?}");
}
