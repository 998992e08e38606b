//! Opaque types and predefined handles (§7), and structures (§9.4.3, §9.9.1).
//!
//! A handle is a pointer to a structure that only the library knows. Predefined ones are small
//! numbers, which no structure has as its address, and so they are constants that also a static
//! variable can start with. An address of an object in the library would be one too, but the
//! comparison of two of them needs a load, and an executable may get a copy of the object that the
//! library does not know of. INVALID is null, so that memory of zeros holds invalid handles, and
//! one comparison, `handle > `[`GREATEST`], separates made handles from all others.

/// The greatest number that is a predefined handle. Greater ones are addresses.
pub const GREATEST: usize = 15;

/// `SHMEM_CTX_INVALID`, `SHMEM_TEAM_INVALID` and `SHMEM_SPACE_INVALID`.
pub const INVALID: usize = 0;

/// `SHMEM_CTX_DEFAULT`.
pub const CTX_DEFAULT: usize = 1;

/// `SHMEM_TEAM_WORLD`.
pub const TEAM_WORLD: usize = 1;

/// `SHMEM_TEAM_SHARED`.
pub const TEAM_SHARED: usize = 2;

/// An opaque type.
#[derive(Clone, Copy, Debug)]
pub struct Opaque {
    /// Its name in C.
    pub name: &'static str,
    /// What it points to.
    pub target: &'static str,
    /// What it is, without a full stop.
    pub text: &'static str,
}

/// A predefined handle.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    /// Its name in C.
    pub name: &'static str,
    /// Its type.
    pub of: &'static str,
    /// What it is.
    pub value: HandleValue,
    /// What it stands for, without a full stop.
    pub text: &'static str,
}

/// What a predefined handle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleValue {
    /// This number.
    Number(usize),
    /// What this function of the library returns for this number: INVALID where there is no such
    /// space.
    Asked(&'static str, u32),
}

/// A structure that programs fill in.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// Its name in C.
    pub name: &'static str,
    /// Its only member, as C declares it.
    pub member: &'static str,
    /// What it is, without a full stop.
    pub text: &'static str,
    /// The section that describes it.
    pub section: &'static str,
}

/// A function that macros of the header call, and that is no routine of the specification.
#[derive(Clone, Copy, Debug)]
pub struct Support {
    /// Its name.
    pub name: &'static str,
    /// Its declaration, without a semicolon.
    pub prototype: &'static str,
    /// What it does, without a full stop.
    pub text: &'static str,
}

/// The opaque types.
pub static OPAQUE: &[Opaque] = &[
    Opaque { name: "shmem_ctx_t", target: "struct shmem_impl_ctx_t", text: "a context" },
    Opaque { name: "shmem_team_t", target: "struct shmem_impl_team_t", text: "a team" },
    Opaque { name: "shmem_space_t", target: "void", text: "a memory space" },
];

/// The structures.
pub static STRUCTURES: &[Structure] = &[
    Structure {
        name: "shmem_team_config_t",
        member: "int num_contexts",
        text: "what a team is made for: how many contexts are to exist at a time",
        section: "9.4.3",
    },
    Structure {
        name: "shmem_ctx_session_config_t",
        member: "size_t total_ops",
        text: "what a session is to have: how many operations at most",
        section: "9.9.1",
    },
];

const fn number(name: &'static str, of: &'static str, value: usize, text: &'static str) -> Handle {
    Handle { name, of, value: HandleValue::Number(value), text }
}

const fn asked(
    name: &'static str,
    of: &'static str,
    function: &'static str,
    which: u32,
    text: &'static str,
) -> Handle {
    Handle { name, of, value: HandleValue::Asked(function, which), text }
}

/// The predefined handles.
pub static HANDLES: &[Handle] = &[
    number("SHMEM_CTX_DEFAULT", "shmem_ctx_t", CTX_DEFAULT, "the default context"),
    number("SHMEM_CTX_INVALID", "shmem_ctx_t", INVALID, "no context"),
    number("SHMEM_TEAM_WORLD", "shmem_team_t", TEAM_WORLD, "the team of all PEs"),
    number(
        "SHMEM_TEAM_SHARED",
        "shmem_team_t",
        TEAM_SHARED,
        "the team of the PEs whose memory is mapped here",
    ),
    number("SHMEM_TEAM_INVALID", "shmem_team_t", INVALID, "no team"),
    number("SHMEM_SPACE_INVALID", "shmem_space_t", INVALID, "no memory space"),
    asked("SHMEM_SPACE_DEFAULT", "shmem_space_t", "shmem_impl_space", 0, "the space of shmem_malloc"),
    asked("SHMEM_SPACE_CPU", "shmem_space_t", "shmem_impl_space", 1, "host memory, or INVALID"),
    asked("SHMEM_SPACE_GPU", "shmem_space_t", "shmem_impl_space", 2, "GPU memory, or INVALID"),
    asked(
        "SHMEM_TEAM_CPU",
        "shmem_team_t",
        "shmem_impl_space_team",
        1,
        "the PEs with host memory, or INVALID",
    ),
    asked(
        "SHMEM_TEAM_GPU",
        "shmem_team_t",
        "shmem_impl_space_team",
        2,
        "the PEs with GPU memory, or INVALID",
    ),
];

/// The functions behind macros. A space is there or not only at run time, so that no constant can
/// stand for it.
pub static SUPPORT: &[Support] = &[
    Support {
        name: "shmem_impl_space",
        prototype: "shmem_space_t shmem_impl_space(int which)",
        text: "the default, CPU or GPU space (0, 1, 2), or SHMEM_SPACE_INVALID",
    },
    Support {
        name: "shmem_impl_space_team",
        prototype: "shmem_team_t shmem_impl_space_team(int which)",
        text: "the team of the CPU or GPU space (1, 2), or SHMEM_TEAM_INVALID",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_handles_of_a_type_differ_and_are_no_addresses() {
        for opaque in OPAQUE {
            let mut seen = Vec::new();
            for handle in HANDLES.iter().filter(|handle| handle.of == opaque.name) {
                if let HandleValue::Number(number) = handle.value {
                    assert!(number <= GREATEST && !seen.contains(&number), "{}", handle.name);
                    seen.push(number);
                }
            }
        }
    }
}
