//! The programs that start oxshmem jobs and describe them: `oshrun` and `shmem-info`.

pub mod oshrun;
