//! Settings that a user has misspelt, whatever the job.

use crate::common::{Job, test_name, time_limit};

#[test]
fn a_job_warns_once_of_a_misspelt_setting_unless_warnings_are_off() {
    let _limit = time_limit(60);
    let test = test_name!();
    let job = || Job::new(test, 3).env("SHMEM_SYMMETRIC_HEAP_SIZE=1G").env("SHMEM_OFI_PROVIDER=tcp");
    let warned = "oxshmem: warning: SHMEM_SYMMETRIC_HEAP_SIZE is not a setting of oxshmem and is ignored; did you mean \
                SHMEM_SYMMETRIC_SIZE?\noxshmem: SHMEM_WARN_UNKNOWN=off silences this\n";
    let work = |world: oxshmem::World| async move { world.barrier_all().await };
    assert_eq!(job().run(work).stderr, warned);
    assert_eq!(job().env("SHMEM_WARN_UNKNOWN=off").run(work).stderr, "");
    let asked = job().env("SHMEM_DEBUG=1").run(work).stderr;
    assert!(asked.contains("SHMEM_SYMMETRIC_SIZE?") && asked.contains("SHMEM_OFI_PROVIDER"), "{asked}");
}
