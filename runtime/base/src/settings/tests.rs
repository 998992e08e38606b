//! The table, the values read through it, and the texts made of it agree.

use std::{collections::BTreeSet, ffi::OsString, os::unix::ffi::OsStringExt, time::Duration};

use proptest::prelude::*;

use super::{setting::Read, *};
use crate::{Distribution, Error, Result};

fn read(variables: &[(&str, &str)]) -> Result<Settings> {
    Settings::from_lookup(|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

fn good(variables: &[(&str, &str)]) -> Settings {
    read(variables).unwrap()
}

/// Name, value and reason of the error that `variables` must give.
fn bad(variables: &[(&str, &str)]) -> (&'static str, String, String) {
    match read(variables) {
        Err(Error::InvalidSetting { name, value, reason }) => (name, value, reason),
        other => panic!("{variables:?} gives {other:?}"),
    }
}

fn entry(settings: &Settings, name: &str) -> Entry {
    settings.entries().find(|entry| entry.setting.name == name).unwrap()
}

#[test]
fn an_empty_environment_gives_the_defaults_of_the_table() {
    let settings = good(&[]);
    assert_eq!(settings, Settings::default());
    for entry in settings.entries() {
        assert_eq!(entry.value, entry.setting.default, "{}", entry.setting.name);
        assert_eq!(entry.origin, Origin::Default, "{}", entry.setting.name);
    }
}

#[test]
fn every_default_that_is_text_can_be_set_and_changes_nothing() {
    for setting in TABLE.iter().filter(|setting| matches!(setting.read, Read::Text(_))) {
        let settings = good(&[(setting.name, setting.default)]);
        assert_eq!(settings.values_equal_on_all(), Settings::default().values_equal_on_all());
        let entry = entry(&settings, setting.name);
        assert_eq!((entry.value.as_str(), entry.origin), (setting.default, Origin::Environment));
    }
}

#[test]
fn names_are_unique_and_follow_the_specification() {
    let mut seen = BTreeSet::new();
    for setting in TABLE {
        assert!(setting.name.starts_with("SHMEM_"), "{}", setting.name);
        assert!(setting.deprecated.iter().all(|name| name.starts_with("SMA_")), "{}", setting.name);
        for name in std::iter::once(&setting.name).chain(setting.deprecated) {
            assert!(seen.insert(*name), "{name} twice");
        }
        assert!(setting.effect.ends_with('.'), "{}", setting.name);
    }
    for name in ["VERSION", "INFO", "SYMMETRIC_SIZE", "DEBUG"] {
        assert!(
            seen.contains(format!("SHMEM_{name}").as_str()) && seen.contains(format!("SMA_{name}").as_str())
        );
    }
}

#[test]
fn each_variable_sets_its_field() {
    let settings = good(&[
        ("SHMEM_SYMMETRIC_SIZE", "3.1M"),
        ("SHMEM_HANG_TIMEOUT", "5"),
        ("SHMEM_CHECK_ALLOC", "warn"),
        ("SHMEM_DRIVER", "Thread"),
        ("SHMEM_SPIN_NS", "500"),
        ("SHMEM_YIELD_ROUNDS", "0"),
        ("SHMEM_FENCE", "membarrier"),
        ("SHMEM_OFFLOAD_THRESHOLD", "64k"),
        ("SHMEM_FAKE_HOSTS", "2:cyclic"),
        ("SHMEM_RENDEZVOUS", " node1:7777 "),
        ("SHMEM_RENDEZVOUS_RANK", "3"),
        ("SHMEM_RENDEZVOUS_SIZE", "8"),
        ("SHMEM_RENDEZVOUS_SECRET", "/run/secrets/job"),
        ("SHMEM_RENDEZVOUS_TIMEOUT", "600"),
        ("SHMEM_NET_INTERFACES", " eth0, mlx5_0:1 "),
        ("SHMEM_SYNC_ALGORITHM", "counter"),
        ("SHMEM_TRACE", "some/folder"),
        ("SHMEM_WARN_UNKNOWN", "Off"),
    ]);
    assert_eq!(settings.symmetric_size, 3_250_586);
    assert_eq!(settings.hang_timeout, Some(Duration::from_secs(5)));
    assert_eq!(good(&[("SHMEM_HANG_TIMEOUT", "0")]).hang_timeout, None);
    assert_eq!(settings.check_alloc, CheckAlloc::Warn);
    assert_eq!(settings.driver, Driver::Thread);
    assert_eq!(settings.spin, Some(Duration::from_nanos(500)));
    assert_eq!(settings.yield_rounds, 0);
    assert_eq!(settings.fence, Fence::Membarrier);
    assert_eq!(settings.offload_threshold, Some(64 << 10));
    assert_eq!(settings.fake_hosts, Distribution::even(2).cyclic());
    assert_eq!(settings.rendezvous.as_deref(), Some("node1:7777"));
    assert_eq!((settings.rendezvous_rank, settings.rendezvous_size), (Some(3), Some(8)));
    assert_eq!(settings.rendezvous_secret.as_deref(), Some("/run/secrets/job".as_ref()));
    assert_eq!(settings.rendezvous_timeout, Duration::from_secs(600));
    for text in ["env", "env:29501", "[::1]:7"] {
        assert_eq!(good(&[("SHMEM_RENDEZVOUS", text)]).rendezvous.as_deref(), Some(text));
    }
    assert_eq!(settings.net_interfaces.as_deref(), Some("eth0,mlx5_0:1"));
    assert_eq!(settings.sync_algorithm, SyncAlgorithm::Counter);
    assert_eq!(settings.trace.as_deref(), Some("some/folder".as_ref()));
    assert_eq!(good(&[("SHMEM_TRACE", "OFF")]).trace, None);
    assert!(!settings.warn_unknown && Settings::default().warn_unknown);
}

/// The end of a variable's name, and the field it turns on.
type Flag = (&'static str, fn(&Settings) -> bool);

#[test]
fn a_flag_is_on_whatever_it_holds_and_under_either_name() {
    let fields: [Flag; 3] = [("VERSION", |s| s.version), ("INFO", |s| s.info), ("DEBUG", |s| s.debug)];
    for (name, field) in fields {
        for prefix in ["SHMEM_", "SMA_"] {
            for value in ["", "0", "no", "1"] {
                assert!(field(&good(&[(&format!("{prefix}{name}"), value)])), "{prefix}{name}={value}");
            }
            let raw =
                |asked: &str| (asked == format!("{prefix}{name}")).then(|| OsString::from_vec(vec![0xff]));
            assert!(field(&Settings::from_lookup(raw).unwrap()), "{prefix}{name} not UTF-8");
        }
    }
}

#[test]
fn the_deprecated_name_is_read_only_where_the_other_is_absent() {
    let old = ("SMA_SYMMETRIC_SIZE", "1M");
    assert_eq!(good(&[old]).symmetric_size, 1 << 20);
    assert_eq!(good(&[old, ("SHMEM_SYMMETRIC_SIZE", "2M")]).symmetric_size, 2 << 20);
    assert_eq!(good(&[("SMA_SYMMETRIC_SIZE", "x"), ("SHMEM_SYMMETRIC_SIZE", "2M")]).symmetric_size, 2 << 20);
}

#[test]
fn an_error_names_the_variable_that_was_set_and_what_it_holds() {
    let (name, value, _) = bad(&[("SMA_SYMMETRIC_SIZE", "abc")]);
    assert_eq!((name, value.as_str()), ("SMA_SYMMETRIC_SIZE", "abc"));
    let (name, value, _) = bad(&[("SHMEM_SYMMETRIC_SIZE", ""), ("SMA_SYMMETRIC_SIZE", "1M")]);
    assert_eq!((name, value.as_str()), ("SHMEM_SYMMETRIC_SIZE", ""));
}

#[test]
fn a_value_that_cannot_be_used_is_an_error_that_says_what_could() {
    for (name, value, hint) in [
        ("SHMEM_SYMMETRIC_SIZE", "-1", "negative"),
        ("SHMEM_SYMMETRIC_SIZE", "inf", "512M"),
        ("SHMEM_SYMMETRIC_SIZE", "1e30", "at most"),
        ("SHMEM_HANG_TIMEOUT", "1m", "expected an integer"),
        ("SHMEM_CHECK_ALLOC", "maybe", "error, warn, off"),
        ("SHMEM_DRIVER", "", "auto, tokio, thread"),
        ("SHMEM_SPIN_NS", "2us", "or auto"),
        ("SHMEM_SPIN_NS", "18446744073709551616", "18446744073709551615"),
        ("SHMEM_YIELD_ROUNDS", "4294967296", "4294967295"),
        ("SHMEM_YIELD_ROUNDS", "-1", "from 0"),
        ("SHMEM_FENCE", "reader", "auto, writer, membarrier"),
        ("SHMEM_OFFLOAD_THRESHOLD", "never", "or off"),
        ("SHMEM_RENDEZVOUS", "node1", "expected HOST:PORT"),
        ("SHMEM_RENDEZVOUS", "node1:0", "expected HOST:PORT"),
        ("SHMEM_RENDEZVOUS", "::1:7777", "expected HOST:PORT"),
        ("SHMEM_RENDEZVOUS_RANK", "-1", "expected an integer"),
        ("SHMEM_RENDEZVOUS_SECRET", "", "expected the name of a file"),
        ("SHMEM_FAKE_HOSTS", "two", "no number of hosts"),
        ("SHMEM_FAKE_HOSTS", "0", "at least one host"),
        ("SHMEM_RENDEZVOUS_LEASE", "0", "expected an integer from 1 to "),
        ("SHMEM_NET_SECURITY", "tls", "auth, encrypt"),
        ("SHMEM_NET_INTERFACES", "eth0,,eth1", "names of network interfaces"),
        ("SHMEM_SYNC_ALGORITHM", "ring", "dissemination"),
        ("SHMEM_TRACE", " ", "name of a folder"),
        ("SHMEM_WARN_UNKNOWN", "no", "on or off"),
    ] {
        let (found, held, reason) = bad(&[(name, value)]);
        assert_eq!((found, held.as_str()), (name, value));
        assert!(reason.contains(hint), "{name}={value}: {reason}");
    }
}

#[test]
fn hosts_of_the_environment_suit_jobs_of_any_size_but_lists_only_theirs() {
    let hosts = |text: &str, n| Settings::fake_hosts_for(n, |_| Some(text.into()));
    assert_eq!(hosts("2:cyclic", 5).unwrap(), Distribution::even(2).cyclic());
    assert_eq!(hosts("3", 2).unwrap(), Distribution::even(2));
    assert_eq!(hosts("3+1", 4).unwrap(), Distribution::each([3, 1]));
    assert_eq!(Settings::fake_hosts_for(4, |_| None).unwrap(), Distribution::default());
    for (text, n) in [("3+1", 5), ("many", 2)] {
        let error = hosts(text, n).unwrap_err();
        assert!(matches!(error, Error::InvalidSetting { name: "SHMEM_FAKE_HOSTS", .. }), "{error}");
    }
}

#[test]
fn a_value_that_is_not_utf8_is_an_error() {
    for setting in TABLE.iter().filter(|setting| matches!(setting.read, Read::Text(_))) {
        let lookup = |name: &str| (name == setting.name).then(|| OsString::from_vec(vec![b'1', 0xff]));
        let error = Settings::from_lookup(lookup).unwrap_err();
        assert!(matches!(error, Error::InvalidSetting { name, .. } if name == setting.name), "{error}");
        assert!(error.to_string().contains("UTF-8"), "{error}");
    }
}

#[test]
fn origins_tell_default_environment_deprecated_name_and_program_apart() {
    let mut settings =
        good(&[("SMA_SYMMETRIC_SIZE", "1M"), ("SHMEM_FENCE", "writer"), ("SHMEM_DRIVER", "tokio")]);
    settings.driver = Driver::Thread;
    settings.yield_rounds = 1;
    for (name, origin) in [
        ("SHMEM_SYMMETRIC_SIZE", Origin::Deprecated("SMA_SYMMETRIC_SIZE")),
        ("SHMEM_FENCE", Origin::Environment),
        ("SHMEM_DRIVER", Origin::Program),
        ("SHMEM_YIELD_ROUNDS", Origin::Program),
        ("SHMEM_SPIN_NS", Origin::Default),
    ] {
        assert_eq!(entry(&settings, name).origin, origin, "{name}");
    }
}

#[test]
fn what_pes_compare_is_independent_of_how_it_was_written() {
    let compared = |text| good(&[("SHMEM_SYMMETRIC_SIZE", text)]).values_equal_on_all();
    assert_eq!(compared("0.5g"), compared("512M"));
    assert_ne!(compared("511M"), compared("512M"));
    let names: Vec<_> = compared("1").into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names[..16],
        [
            "SHMEM_SYMMETRIC_SIZE",
            "SHMEM_SYMMETRIC_PARTITION<n>",
            "SHMEM_ENABLE_CPU_SPACE",
            "SHMEM_ENABLE_GPU_SPACE",
            "SHMEM_DEFAULT_SPACE",
            "SHMEM_CPU_SYMMETRIC_SIZE",
            "SHMEM_GPU_SYMMETRIC_SIZE",
            "SHMEM_GPU_SHARING",
            "SHMEM_GPU_EMULATE",
            "SHMEM_GPU_EMULATE_PES",
            "SHMEM_CHECK_ALLOC",
            "SHMEM_FENCE",
            "SHMEM_RENDEZVOUS_LEASE",
            "SHMEM_ON_LOSS",
            "SHMEM_NET",
            "SHMEM_NET_SECURITY"
        ]
    );
    let (tuning, algorithms) = names[16..].split_last().unwrap();
    assert_eq!(*tuning, "SHMEM_TUNING");
    assert!(algorithms.iter().all(|name| name.ends_with("_ALGORITHM")), "{names:?}");
}

#[test]
fn waits_spin_two_microseconds_unless_pes_outnumber_cpus_or_it_is_set() {
    let auto = Settings::default();
    assert_eq!(auto.spin_for(2, 2), Duration::from_micros(2));
    assert_eq!(auto.spin_for(3, 2), Duration::ZERO);
    let set = good(&[("SHMEM_SPIN_NS", "2000")]);
    assert_eq!(set.spin_for(3, 2), Duration::from_micros(2));
    assert_eq!(good(&[("SHMEM_SPIN_NS", "0")]).spin_for(1, 2), Duration::ZERO);
}

#[test]
fn the_sleeper_pays_where_every_pe_has_a_cpu_and_the_kernel_a_membarrier() {
    let auto = Settings::default();
    assert_eq!(auto.fence_for(2, 2, true).unwrap(), FenceSide::Sleeper);
    assert_eq!(auto.fence_for(3, 2, true).unwrap(), FenceSide::Writer);
    assert_eq!(auto.fence_for(2, 2, false).unwrap(), FenceSide::Writer);
    assert_eq!(good(&[("SHMEM_FENCE", "writer")]).fence_for(1, 8, true).unwrap(), FenceSide::Writer);
    let sleeper = good(&[("SHMEM_FENCE", "membarrier")]);
    assert_eq!(sleeper.fence_for(8, 1, true).unwrap(), FenceSide::Sleeper);
    let error = sleeper.fence_for(1, 1, false).unwrap_err();
    assert!(matches!(error, Error::InvalidSetting { name: "SHMEM_FENCE", .. }), "{error}");
}

#[test]
fn the_printed_table_has_every_variable_with_its_value_origin_and_effect() {
    let mut out = Vec::new();
    good(&[("SMA_SYMMETRIC_SIZE", "1M")]).print_info(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for setting in TABLE {
        assert!(text.lines().any(|line| line.starts_with(setting.name)), "{}", setting.name);
        assert!(flowing.contains(setting.effect), "{}", setting.name);
    }
    assert!(
        flowing.contains("SHMEM_SYMMETRIC_SIZE 1M environment, as SMA_SYMMETRIC_SIZE (deprecated) "),
        "{text}"
    );
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[test]
fn the_page_for_the_book_has_a_row_with_six_cells_for_every_variable() {
    let page = markdown();
    assert_eq!(page.lines().count(), TABLE.len() + 2);
    assert!(page.lines().all(|line| line.matches('|').count() == 7), "{page}");
    assert!(TABLE.iter().all(|setting| page.contains(setting.name) && page.contains(setting.effect)));
}

proptest! {
    #[test]
    fn no_value_of_any_variable_makes_reading_panic(row in 0..TABLE.len(), value in any::<Vec<u8>>()) {
        let _ = Settings::from_lookup(|name| (name == TABLE[row].name).then(|| OsString::from_vec(value.clone())));
    }

    #[test]
    fn values_shown_read_back(size in any::<usize>(), spin in any::<Option<u64>>(), rounds in any::<u32>(), offload in any::<Option<usize>>()) {
        let settings = Settings {
            symmetric_size: size,
            spin: spin.map(Duration::from_nanos),
            yield_rounds: rounds,
            offload_threshold: offload,
            ..Settings::default()
        };
        let shown: Vec<Entry> = settings.entries().collect();
        let again = Settings::from_lookup(|name| {
            let entry = shown.iter().find(|entry| entry.setting.name == name)?;
            matches!(entry.setting.read, Read::Text(_)).then(|| OsString::from(&entry.value))
        }).unwrap();
        let values = |settings: &Settings| settings.entries().map(|entry| entry.value).collect::<Vec<_>>();
        prop_assert_eq!(values(&again), values(&settings));
    }
}
