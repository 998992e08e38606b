//! The groups, a file for each chapter of the specification.

mod active_sets;
mod amo;
mod amo_nbi;
mod amo_old;
mod collectives;
mod contexts;
mod extensions;
mod memory;
mod order;
mod reductions;
mod rma;
mod setup;
mod signal;
mod streams;
mod teams;
mod wait;

use crate::model::Group;

/// Every group, in the order of the specification.
///
/// ```
/// let first = oxshmem_capi_table::groups().next().unwrap();
/// assert_eq!((first.name, first.section), ("shmem_init", "9.1.1"));
/// ```
pub fn groups() -> impl Iterator<Item = &'static Group> {
    let chapters: [&'static [Group]; 16] = [
        setup::GROUPS,
        memory::GROUPS,
        teams::GROUPS,
        contexts::GROUPS,
        rma::GROUPS,
        amo::GROUPS,
        amo_nbi::GROUPS,
        amo_old::GROUPS,
        signal::GROUPS,
        collectives::GROUPS,
        reductions::GROUPS,
        active_sets::GROUPS,
        wait::GROUPS,
        order::GROUPS,
        extensions::GROUPS,
        streams::GROUPS,
    ];
    chapters.into_iter().flatten()
}

/// What a routine without a result returns.
const NOTHING: &str = "Nothing.";

/// What team collectives return.
const COLLECTIVE_RESULT: &str = "Zero when this PE's part is done, nonzero if it could not be.";

/// What is complete when a routine that communicates with no PE returns.
const AT_ONCE: &str = "At once: it communicates with no PE.";

/// What every group starts from.
const BASE: Group = Group {
    name: "",
    section: "",
    brief: "",
    text: "",
    forms: &[],
    arguments: &[],
    completion: AT_ONCE,
    returns: NOTHING,
    rust: None,
    see: &[],
};
