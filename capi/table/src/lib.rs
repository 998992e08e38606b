//! The C API of OpenSHMEM 1.6 as one table, and what is made from it: headers, man pages, the map
//! to Rust.
//!
//! A [`Group`] is what one section of the specification describes: `shmem_put` with all its typed,
//! sized and `ctx` forms. It holds the prototypes as templates, as the specification prints them.
//! Expanded over the types and sizes they are the [`Routine`]s, one a symbol.
//!
//! | module | what it offers |
//! |---|---|
//! | [`types`] | tables 5 to 12 of the specification: the C types and their names |
//! | [`model`] | groups, forms, routines and their expansion |
//! | [`arguments`] | what each parameter is: in or out, symmetric or not |
//! | [`constants`] | the constants of §6 with their values |
//! | [`handles`] | the opaque types of §7, structures, and predefined handles |
//! | [`header`] | `shmem.h`, `shmemx.h`, `pshmem.h`, `mpp/` |
//! | [`man`] | a man page for each group |
//! | [`map`] | the page of the book that gives the Rust form of each routine |
//!
//! ```
//! let put = oxshmem_capi_table::routine("shmem_ctx_long_p").unwrap();
//! assert_eq!(put.prototype(), "void shmem_ctx_long_p(shmem_ctx_t ctx, long *dest, long value, int pe)");
//! assert_eq!((put.group.name, put.group.rust), ("shmem_p", Some("Context::p")));
//! ```

pub mod arguments;
pub mod constants;
mod groups;
pub mod handles;
pub mod header;
pub mod man;
pub mod map;
pub mod model;
pub mod types;

pub use groups::groups;
pub use header::headers;
pub use man::man_pages;
pub use map::map_page;
pub use model::{Form, Group, Over, Parameter, Routine, Status};
pub use types::Type;

/// Every routine: one for each symbol that the library defines, in the order of the specification.
///
/// ```
/// let n = oxshmem_capi_table::routines().filter(|routine| routine.name.ends_with("_sum_reduce")).count();
/// assert_eq!(n, 26); // one for each type of table 10
/// ```
pub fn routines() -> impl Iterator<Item = Routine> {
    groups().flat_map(Group::routines)
}

/// The routine of this name.
///
/// ```
/// assert!(oxshmem_capi_table::routine("shmem_put").is_none()); // a generic form, which is no symbol
/// assert!(oxshmem_capi_table::routine("shmem_putmem").is_some());
/// ```
pub fn routine(name: &str) -> Option<Routine> {
    routines().find(|routine| routine.name == name)
}
