//! Jobs that are started by a launcher with PMIx: `mpirun`, `prterun` or `srun`.

#[path = "../common/busy.rs"]
mod busy;
#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod jobs;
#[path = "../common/namespaces.rs"]
mod namespaces;
#[path = "../common/slurm.rs"]
mod slurm;
