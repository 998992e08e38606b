//! Variables that look like settings and are none: misspelt ones, mostly.

use super::{TABLE, partition};

/// What to say of each of `names` that begins as a setting does and is not one: a sentence a name,
/// in the order of the names, with the setting that was probably meant. `SHMEM_DEBUG` prints them.
///
/// ```
/// # use oxshmem_base::settings::*;
/// let hints = unknown(["SHMEM_DEBUGG", "PATH"]);
/// assert_eq!(hints.len(), 1);
/// assert!(hints[0].contains("SHMEM_DEBUG"));
/// ```
pub fn unknown<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<String> {
    describe_all(names, looks_like_setting)
}

/// A line for each name that is likely a misspelt setting, without the names that other software
/// reads: what a user sees without asking. `SHMEM_WARN_UNKNOWN` silences it.
///
/// ```
/// # use oxshmem_base::settings::*;
/// let hints = misspelt(["SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_OFI_PROVIDER", "SMA_DPLACE"]);
/// assert_eq!(hints.len(), 1);
/// assert!(hints[0].ends_with("did you mean SHMEM_SYMMETRIC_SIZE?"));
/// ```
pub fn misspelt<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<String> {
    describe_all(names, |name| {
        looks_like_setting(name)
            && !is_of_others(name)
            && (name.starts_with("SHMEM_") || meant(name).is_some())
    })
}

fn describe_all<S: AsRef<str>>(
    names: impl IntoIterator<Item = S>,
    wrong: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut wrong: Vec<S> = names.into_iter().filter(|name| wrong(name.as_ref())).collect();
    wrong.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    wrong.iter().map(|name| describe(name.as_ref())).collect()
}

/// Every name that is read, with the name to recommend for it.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = TABLE.iter().flat_map(|setting| {
        let deprecated = setting.deprecated.iter().map(|&name| (name, setting.name));
        std::iter::once((setting.name, setting.name)).chain(deprecated)
    });
    let libraries = ["OXSHMEM_PMIX_LIBRARY", "OXSHMEM_UCX_LIBRARY"].map(|name| (name, name));
    rows.chain(partition::examples().map(|name| (name, partition::VARIABLES))).chain(libraries)
}

/// What begins like this is not a user's: oshrun, the tests and the build set it.
const OURS: [&str; 6] = [
    "OXSHMEM_JOB",
    "OXSHMEM_TEST_",
    "OXSHMEM_SOAK_",
    "OXSHMEM_BIN_DIR",
    "OXSHMEM_COMMIT",
    "OXSHMEM_SANITIZED",
];

fn looks_like_setting(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["SHMEM_", "SMA_", "SMAX_", "OXSHMEM_"].iter().any(|prefix| upper.starts_with(prefix))
        && !OURS.iter().any(|prefix| name.starts_with(prefix))
        && known().all(|(read, _)| read != name)
        && !partition::is_candidate(name)
}

/// Whether other OpenSHMEM libraries read a variable of this name, or the build files of programs
/// do: it is no mistake to set it for them.
fn is_of_others(name: &str) -> bool {
    /// By how they begin: SGI's and Cray's older names; what transports of Sandia OpenSHMEM, of
    /// OSSS and of Open MPI are tuned by.
    const PREFIXES: [&str; 15] = [
        "SMA_",
        "SHMEM_OFI_",
        "SHMEM_PORTALS",
        "SHMEM_UCX_",
        "SHMEM_CMA_",
        "SHMEM_XPMEM_",
        "SHMEM_COLL_",
        "SHMEM_TEAMS_",
        "SHMEM_TEAM_",
        "SHMEM_PROGRESS_",
        "SHMEM_LOGGING",
        "SHMEM_LAUNCHER_",
        "SHMEM_EXTERNAL_HEAP_",
        "SHMEM_STATIC_",
        "SHMEM_RUNTIME_",
    ];
    /// Whole: Sandia OpenSHMEM's and Cray's, then those of build files.
    const NAMES: [&str; 27] = [
        "SHMEM_SYMMETRIC_HEAP_USE_MALLOC",
        "SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES",
        "SHMEM_SYMMETRIC_HEAP_PAGE_SIZE",
        "SHMEM_SYMMETRIC_HEAP_KIND",
        "SHMEM_BOUNCE_SIZE",
        "SHMEM_MAX_BOUNCE_BUFFERS",
        "SHMEM_BARRIER_ALGORITHM",
        "SHMEM_BCAST_ALGORITHM",
        "SHMEM_FCOLLECT_ALGORITHM",
        "SHMEM_BACKTRACE",
        "SHMEM_TRAP_ON_ABORT",
        "SHMEM_ABORT_ON_ERROR",
        "SHMEM_MEMINFO_DISPLAY",
        "SHMEM_USE_HUGEPAGES",
        "SHMEM_MEMORY_FATAL",
        "SHMEM_DIR",
        "SHMEM_HOME",
        "SHMEM_ROOT",
        "SHMEM_PREFIX",
        "SHMEM_PATH",
        "SHMEM_BIN",
        "SHMEM_INC",
        "SHMEM_LIB",
        "SHMEM_LIBS",
        "SHMEM_CFLAGS",
        "SHMEM_LDFLAGS",
        "SHMEM_CC",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

fn describe(name: &str) -> String {
    match meant(name) {
        Some(instead) => {
            format!("{name} is not a setting of oxshmem and is ignored; did you mean {instead}?")
        }
        None => {
            format!("{name} is not a setting of oxshmem and is ignored; shmem-info lists those there are")
        }
    }
}

/// The setting that is probably meant.
fn meant(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    // The library's own prefix before the specification's is one mistake, however long.
    let spelt = [Some(upper.as_str()), upper.strip_prefix("OX")];
    let nearest = known().flat_map(|(read, instead)| {
        spelt.into_iter().flatten().map(move |spelt| (distance(spelt, read), instead))
    });
    // A third of the word that follows the prefix: beyond that, names have little in common.
    let near = upper.split_once('_').map_or(0, |(_, rest)| rest.len() / 3);
    nearest.min().filter(|&(edits, _)| edits <= near).map(|(_, instead)| instead)
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour to get from
/// `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_are_read_and_names_of_others_are_not_mentioned() {
        let names: Vec<&str> = known().map(|(name, _)| name).collect();
        assert_eq!(unknown(names), Vec::<String>::new());
        assert_eq!(
            unknown(["SMAX_SYMMETRIC_PARTITION7", "SHMEM_SYMMETRIC_PARTITION127"]),
            Vec::<String>::new()
        );
        assert_eq!(unknown(["PATH", "SHMEM", "SMACK_X", "MY_SHMEM_DEBUG", ""]), Vec::<String>::new());
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_one_meant() {
        for (wrong, meant) in [
            ("SHMEM_SYMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"),
            ("SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"),
            ("SHMEM_SPINNS", "SHMEM_SPIN_NS"),
            ("SMA_SYMMETRIC_SZIE", "SHMEM_SYMMETRIC_SIZE"),
            ("SHMEM_DEBGU", "SHMEM_DEBUG"),
            ("shmem_debug", "SHMEM_DEBUG"),
            ("SMAX_SYMETRIC_PARTITION2", "SHMEM_SYMMETRIC_PARTITION<n>"),
            ("SHMEM_SYMMETRIC_PARTITON", "SHMEM_SYMMETRIC_PARTITION<n>"),
            ("OXSHMEM_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"),
            ("OXSHMEM_UCX_LIBARY", "OXSHMEM_UCX_LIBRARY"),
        ] {
            let [hint] = &unknown([wrong])[..] else { panic!("{wrong}: not one message") };
            assert!(hint.starts_with(wrong) && hint.ends_with(&format!("did you mean {meant}?")), "{hint}");
            assert_eq!(misspelt([wrong]).len(), usize::from(!wrong.starts_with("SMA_")), "{wrong}");
        }
    }

    #[test]
    fn what_other_libraries_read_is_not_mentioned_unless_asked_for() {
        let of_others = [
            "SHMEM_OFI_PROVIDER",
            "SHMEM_COLL_CROSSOVER",
            "SHMEM_BARRIER_ALGORITHM",
            "SHMEM_HOME",
            "SMA_DPLACE",
            "SMA_SYMMETRIC_SZIE",
            "shmem_of_some_program",
            "OXSHMEM_OF_SOME_PROGRAM",
        ];
        assert_eq!(misspelt(of_others), Vec::<String>::new());
        assert_eq!(unknown(of_others).len(), of_others.len(), "SHMEM_DEBUG lists all");
        assert_eq!(misspelt(OURS), Vec::<String>::new());
        assert_eq!(misspelt(["SHMEM_FLUX_CAPACITY", "shmem_debug"]).len(), 2);
    }

    #[test]
    fn a_name_near_none_gets_no_guess() {
        let hints = unknown(["SHMEM_BOUNCE_SIZE", "SHMEM_"]);
        assert_eq!(hints.len(), 2);
        assert!(hints.iter().all(|line| !line.contains("did you mean")), "{hints:?}");
    }

    #[test]
    fn messages_come_in_the_order_of_the_names() {
        let hints = unknown(["SHMEM_B", "SHMEM_A", "HOME"]);
        assert!(
            hints.len() == 2 && hints[0].starts_with("SHMEM_A ") && hints[1].starts_with("SHMEM_B "),
            "{hints:?}"
        );
    }

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        for (a, b, edits) in
            [("", "", 0), ("ab", "ba", 1), ("abc", "abd", 1), ("abc", "ab", 1), ("", "abc", 3)]
        {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn the_distance_is_symmetric_and_zero_only_for_equal_words(a in "[A-D_]{0,8}", b in "[A-D_]{0,8}") {
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
        }
    }
}
