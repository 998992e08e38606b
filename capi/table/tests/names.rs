//! The table has every routine that the specification demands, and no more.

use std::collections::{BTreeMap, BTreeSet};

use oxshmem_capi_table::{Routine, Status, groups, map, routines};

/// What the library has besides, by its chapters.
const OWN: [&str; 4] = ["memory space capabilities", "GPU programs", "jobs that go on", "recordings"];

/// The routines of the specification and the proposals.
fn specified() -> impl Iterator<Item = Routine> {
    let is_elsewhere = |routine: &Routine| routine.form.status == Status::Elsewhere;
    routines().filter(move |routine| !OWN.contains(&routine.group.chapter()) && !is_elsewhere(routine))
}

/// How many routines each chapter has, and how many of them are deprecated.
const COUNTS: [(&str, usize, usize); 16] = [
    ("9.1", 15, 3),
    ("9.2", 2, 0),
    ("9.3", 10, 4),
    ("9.4", 7, 0),
    ("9.5", 4, 0),
    ("9.6", 568, 0),
    ("9.7", 488, 30),
    ("9.8", 125, 0),
    ("9.9", 2, 0),
    ("9.10", 378, 56),
    ("9.11", 179, 10),
    ("9.12", 6, 0),
    ("9.13", 3, 0),
    ("10", 1, 0),
    ("memory spaces", 8, 0),
    ("memory kinds", 2, 0),
];

#[test]
fn every_chapter_has_as_many_routines_as_the_specification() {
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for routine in specified() {
        let entry = found.entry(routine.group.chapter()).or_default();
        entry.0 += 1;
        entry.1 += usize::from(routine.form.is_deprecated());
    }
    let expected: BTreeMap<_, _> =
        COUNTS.into_iter().map(|(chapter, all, old)| (chapter, (all, old))).collect();
    assert_eq!(found, expected);
    assert_eq!(specified().count(), 1798);
    let own = routines().filter(|routine| OWN.contains(&routine.group.chapter()));
    let (in_streams, own): (Vec<_>, Vec<_>) = own.partition(|routine| routine.name.ends_with("_on_stream"));
    assert_eq!(
        own.iter().map(|routine| &routine.name[..]).collect::<Vec<_>>(),
        [
            "shmemx_phase",
            "shmemx_space_capabilities",
            "shmemx_device_handle",
            "shmemx_survive_loss",
            "shmemx_losses",
            "shmemx_is_lost",
            "shmemx_team_survivors",
            "shmemx_is_replacement",
            "shmemx_rebuilt",
            "shmemx_unclaimed",
            "shmemx_ctx_error",
            "shmemx_gpu_device"
        ]
    );
    // Operations, barriers and syncs; every collective of the specification.
    let collectives =
        specified().filter(|it| ["9.10.5", "9.10.6", "9.10.7", "9.10.8"].contains(&it.group.section));
    let reductions =
        specified().filter(|it| it.group.section.starts_with("9.10.9") || it.group.section == "9.10.10");
    let counted = |routines: &mut dyn Iterator<Item = Routine>| {
        routines.filter(|it| it.name.starts_with("shmem_") && it.parameters[0].c == "shmem_team_t").count()
    };
    let expected = counted(&mut { collectives }) + counted(&mut { reductions });
    assert_eq!(in_streams.len(), 6 + 4 + expected);
    // Waits and tests for several words of 16 bits.
    assert_eq!(routines().filter(|routine| routine.form.status == Status::Elsewhere).count(), 24);
}

#[test]
fn no_name_is_there_twice() {
    let names: BTreeSet<String> = routines().map(|routine| routine.name).collect();
    assert_eq!(names.len(), routines().count());
    let groups_by_name: BTreeSet<_> = groups().map(|group| group.name).collect();
    assert_eq!(groups_by_name.len(), groups().count());
}

#[test]
fn the_names_are_those_of_the_specification() {
    // FNV-1a over the sorted names, from a listing that was made apart from this table.
    let mut names: Vec<String> = specified().map(|routine| routine.name).collect();
    names.sort();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in names.iter().flat_map(|name| name.bytes().chain([b'\n'])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    assert_eq!(hash, HASH_OF_NAMES);
}

const HASH_OF_NAMES: u64 = 0x65c4_1a80_bfe1_06a7;

#[test]
fn every_routine_of_the_specification_has_a_profiling_twin_if_its_name_can() {
    for routine in routines() {
        let expected = routine.name.starts_with("shmem") && routine.form.status != Status::Kinds;
        assert_eq!(routine.profiling_name().is_some(), expected, "{}", routine.name);
    }
}

#[test]
fn what_a_group_refers_to_exists() {
    let names: BTreeSet<_> = groups().map(|group| group.name).collect();
    for group in groups() {
        assert!(!group.see.is_empty() && group.see.iter().all(|see| names.contains(see)), "{}", group.name);
        assert!(!group.see.contains(&group.name), "{}", group.name);
        assert!(
            !group.brief.ends_with('.') && group.completion.ends_with('.') && group.returns.ends_with('.')
        );
    }
}

#[test]
fn every_parameter_is_described() {
    for routine in routines() {
        for parameter in routine.parameters.iter().filter(|parameter| !parameter.name.is_empty()) {
            assert!(!routine.group.argument(parameter.name).text.ends_with('.'));
        }
    }
}

#[test]
fn the_gaps_in_rust_are_known() {
    let gaps: Vec<_> = map::gaps().map(|group| group.name).filter(|name| !name.contains("space")).collect();
    let expected = ["shmem_team_is_valid"];
    assert_eq!(gaps, expected);
}
