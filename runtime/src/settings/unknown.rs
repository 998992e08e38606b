//! Variables that look like settings and are none: misspelt ones, mostly.

use super::{TABLE, partition};

/// What to say of each of `names` that begins as a setting does and is not one: a sentence a name, in the
/// order of the names, with the setting that was probably meant. `SHMEM_DEBUG` prints them.
///
/// ```
/// # use oxshmem_runtime::settings::*;
/// let hints = unknown(["SHMEM_DEBUGG", "PATH"]);
/// assert_eq!(hints.len(), 1);
/// assert!(hints[0].contains("SHMEM_DEBUG"));
/// ```
pub fn unknown<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<String> {
    let mut wrong: Vec<S> = names.into_iter().filter(|name| looks_like_setting(name.as_ref())).collect();
    wrong.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    wrong.iter().map(|name| describe(name.as_ref())).collect()
}

/// Every name that is read, with the name to recommend for it.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = TABLE.iter().flat_map(|setting| {
        let deprecated = setting.deprecated.iter().map(|&name| (name, setting.name));
        std::iter::once((setting.name, setting.name)).chain(deprecated)
    });
    rows.chain(partition::examples().map(|name| (name, partition::VARIABLES)))
}

fn looks_like_setting(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["SHMEM_", "SMA_", "SMAX_"].iter().any(|prefix| upper.starts_with(prefix))
        && known().all(|(read, _)| read != name)
        && !partition::is_candidate(name)
}

fn describe(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let nearest = known().map(|(read, instead)| (distance(&upper, read), instead)).min();
    // A third of the word that follows the prefix: beyond that, names have little in common.
    let near = upper.split_once('_').map_or(0, |(_, rest)| rest.len() / 3);
    match nearest {
        Some((edits, instead)) if edits <= near => {
            format!("{name} is not a setting of oxshmem and is ignored; did you mean {instead}?")
        }
        _ => format!("{name} is not a setting of oxshmem and is ignored; shmem-info lists those there are"),
    }
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour to get from `a`
/// to `b`.
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

#[cfg(all(test, not(loom)))]
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
        ] {
            let [said] = &unknown([wrong])[..] else { panic!("{wrong}: not one message") };
            assert!(said.starts_with(wrong) && said.ends_with(&format!("did you mean {meant}?")), "{said}");
        }
    }

    #[test]
    fn a_name_near_none_gets_no_guess() {
        let said = unknown(["SHMEM_BOUNCE_SIZE", "SHMEM_"]);
        assert_eq!(said.len(), 2);
        assert!(said.iter().all(|line| !line.contains("did you mean")), "{said:?}");
    }

    #[test]
    fn messages_come_in_the_order_of_the_names() {
        let said = unknown(["SHMEM_B", "SHMEM_A", "HOME"]);
        assert!(
            said.len() == 2 && said[0].starts_with("SHMEM_A ") && said[1].starts_with("SHMEM_B "),
            "{said:?}"
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
