//! The programs that compile and start oxshmem jobs and describe them: `oshcc`, `oshc++`, `oshrun` and `shmem-info`.

pub mod man;
pub mod oshcc;
pub mod oshrun;
pub mod shmem_info;
