//! The [leases](oxshmem_job::lease) of hosts, and the model in which they are tried out.

pub(super) use oxshmem_job::lease::*;

#[cfg(test)]
mod model;
