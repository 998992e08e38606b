//! What the variables of the memory-spaces proposal come to, for every combination of them, against
//! a model that follows the proposal's text and shares nothing with the library.

use std::{collections::BTreeMap, sync::Arc};

use oxshmem::{ClusterOptions, Error, LocalCluster, Result, prelude::*, settings::Settings};
use oxshmem_job::Local;
use oxshmem_spaces::Pe;

use crate::common::{self, time_limit};

type Environment = BTreeMap<&'static str, &'static str>;

const CPU: &str = "SHMEM_ENABLE_CPU_SPACE";
const GPU: &str = "SHMEM_ENABLE_GPU_SPACE";
const DEFAULT: &str = "SHMEM_DEFAULT_SPACE";
const SIZE: &str = "SHMEM_SYMMETRIC_SIZE";
const CPU_SIZE: &str = "SHMEM_CPU_SYMMETRIC_SIZE";
const GPU_SIZE: &str = "SHMEM_GPU_SYMMETRIC_SIZE";
const EMULATE: &str = "SHMEM_GPU_EMULATE";
const PES: &str = "SHMEM_GPU_EMULATE_PES";

/// What each variable may hold, and whether it is set.
const VALUES: [(&str, &[Option<&str>]); 6] = [
    (CPU, &[None, Some(""), Some("1")]),
    (GPU, &[None, Some(""), Some("yes")]),
    (DEFAULT, &[None, Some("CPU"), Some("GPU")]),
    (SIZE, &[None, Some("1M")]),
    (CPU_SIZE, &[None, Some("2M")]),
    (GPU_SIZE, &[None, Some("3M")]),
];

/// PEs of a job, and those that have a device: nobody, some, all.
const N: usize = 3;
const DEVICES: [&[(&str, &str)]; 3] = [&[], &[(EMULATE, "1"), (PES, "0,2")], &[(EMULATE, "1")]];

fn settings(environment: &Environment) -> Settings {
    Settings::from_lookup(|name| environment.get(name).map(Into::into)).unwrap()
}

fn environments() -> Vec<(Environment, Vec<usize>)> {
    let mut all = vec![Environment::new()];
    for (name, values) in VALUES {
        all = values
            .iter()
            .flat_map(|value| {
                all.iter().cloned().map(move |mut environment| {
                    if let Some(value) = value {
                        environment.insert(name, value);
                    }
                    environment
                })
            })
            .collect();
    }
    let with = |environment: &Environment| {
        DEVICES
            .into_iter()
            .zip([vec![], vec![0, 2], vec![0, 1, 2]])
            .map(|(more, pes)| {
                let mut environment = environment.clone();
                environment.extend(more.iter().copied());
                (environment, pes)
            })
            .collect::<Vec<_>>()
    };
    all.iter().flat_map(with).collect()
}

/// A space, as a PE sees it: its size, and the PEs of its team.
type Seen = Option<(usize, Vec<usize>)>;

/// What a PE sees: which space is the default one, and what there is of each.
#[derive(Clone, Debug, PartialEq)]
struct View {
    default: &'static str,
    cpu: Seen,
    gpu: Seen,
}

/// What the text says that PE `me` sees; an error names variables that must be in the message.
fn model(environment: &Environment, devices: &[usize], me: usize) -> Result<View, Vec<&'static str>> {
    // "When not set or empty, ... disabled", but where neither is there, programs expect their
    // heap.
    let enabled = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    let neither = !environment.contains_key(CPU) && !environment.contains_key(GPU);
    let (cpu, gpu) = (enabled(CPU) || neither, enabled(GPU));
    if !cpu && !gpu {
        return Err(vec![CPU, GPU]);
    }
    // "The selected default shall be world-accessible."
    let world = |space| match space {
        "CPU" => cpu,
        _ => gpu && devices.len() == N,
    };
    let default = match environment.get(DEFAULT) {
        Some(&asked) if world(asked) => asked,
        Some(_) => return Err(vec![DEFAULT]),
        None if cpu => "CPU",
        None if world("GPU") => "GPU",
        None => return Err(vec![CPU, GPU]),
    };
    let mega =
        |name| environment.get(name).map(|value| value.trim_end_matches('M').parse::<usize>().unwrap());
    let size = |space, own| {
        // "takes precedence over SHMEM_SYMMETRIC_SIZE if both are set"; that is for the default
        // space.
        let megas = mega(own).or(mega(SIZE).filter(|_| space == default));
        megas.unwrap_or(512) << 20
    };
    Ok(View {
        default,
        cpu: cpu.then(|| (size("CPU", CPU_SIZE), (0..N).collect())),
        gpu: (gpu && devices.contains(&me)).then(|| (size("GPU", GPU_SIZE), devices.to_vec())),
    })
}

fn seen(world: &World, kind: SpaceKind) -> Seen {
    let space = world.space(kind).ok()?;
    let pes = (0..space.team().n_pes()).filter_map(|pe| space.team().world_pe(pe)).collect();
    Some((space.heap_use().size, pes))
}

#[test]
fn every_combination_of_variables_comes_to_what_the_text_says() {
    let _limit = time_limit(300);
    let all = environments();
    assert_eq!(all.len(), 3 * 3 * 3 * 2 * 2 * 2 * 3);
    let (mut well, mut ill) = (0, 0);
    let real = common::has_real_device();
    for (environment, devices) in all {
        if real && devices.is_empty() {
            continue;
        }
        let settings = settings(&environment);
        let options = ClusterOptions { settings, threads: 1, ..ClusterOptions::default() };
        let outcome = LocalCluster::run_with(N, options, |world| async move {
            let default = world.space(SpaceKind::Default)?;
            let view = View {
                default: if default.kind() == SpaceKind::Gpu { "GPU" } else { "CPU" },
                cpu: seen(&world, SpaceKind::Cpu),
                gpu: seen(&world, SpaceKind::Gpu),
            };
            // What is allocated without a space is in the default one, whose team is the world.
            assert_eq!(world.alloc::<u8>(1).await?.space(), default.kind());
            assert_eq!(default.team(), world.team());
            assert!(default.capabilities().world_access);
            world.finalize().await?;
            Ok(view)
        });
        match (outcome, model(&environment, &devices, 0)) {
            (Ok(views), Ok(_)) => {
                for (me, view) in views.into_iter().enumerate() {
                    assert_eq!(Ok(view), model(&environment, &devices, me), "PE {me}: {environment:?}");
                }
                well += 1;
            }
            (Err(error), Err(names)) => {
                let text = error.to_string();
                assert!(names.iter().all(|name| text.contains(name)), "{environment:?}: {text}");
                assert!(matches!(error, Error::InvalidSetting { .. }), "{environment:?}: {text}");
                ill += 1;
            }
            (outcome, model) => panic!("{environment:?}: {outcome:?}, but the text says {model:?}"),
        }
    }
    println!("{well} jobs began, {ill} did not");
    assert!(real || well > 100 && ill > 100);
}

#[test]
fn a_default_that_some_pes_do_not_have_is_named_with_those_pes() {
    let mut environment = Environment::from([(GPU, "1"), (EMULATE, "1"), (PES, "0-1,4")]);
    for default in [None, Some("GPU")] {
        if let Some(default) = default {
            environment.insert(DEFAULT, default);
        }
        let options = ClusterOptions { settings: settings(&environment), ..ClusterOptions::default() };
        let outcome = LocalCluster::run_with(6, options, |world| async move { world.finalize().await });
        let text = outcome.unwrap_err().to_string();
        assert!(
            text.contains("PEs 2-3,5 have no device") && text.contains("SHMEM_GPU_EMULATE_PES=0-1,4"),
            "{text}"
        );
    }
}

/// Joins a job of PEs with these settings; what becomes of each PE.
fn join(all: Vec<Settings>) -> Vec<Result<()>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let pes = Local::cluster(all.len()).into_iter().zip(all);
    let joins =
        pes.map(|(local, settings)| async move { Pe::join(Arc::new(local), settings).await.map(drop) });
    runtime.block_on(futures::future::join_all(joins))
}

#[test]
fn every_variable_that_differs_between_pes_is_named_with_the_pes_and_their_values() {
    let _limit = time_limit(120);
    let others: [(&str, &[Option<&str>]); 2] =
        [(EMULATE, &[None, Some("1")]), (PES, &[None, Some("0"), Some("0-1")])];
    let bases = [
        Environment::new(),
        Environment::from([(CPU, "1"), (GPU, "1"), (EMULATE, "1")]),
        // What would be refused for another reason is refused for this one.
        Environment::from([(CPU, ""), (GPU, "")]),
    ];
    let mut compared = 0;
    for base in &bases {
        for (name, values) in VALUES.into_iter().chain(others) {
            for a in values {
                for b in values.iter().filter(|b| a != *b) {
                    let with = |value: &Option<&'static str>| {
                        let mut environment = base.clone();
                        match value {
                            Some(value) => environment.insert(name, value),
                            None => environment.remove(name),
                        };
                        settings(&environment)
                    };
                    // PE 2 is the odd one.
                    for outcome in join(vec![with(a), with(a), with(b)]) {
                        let error = outcome.expect_err("it differs");
                        let Error::SettingMismatch { name: named, pe_a: 0, value_a, pe_b: 2, value_b } =
                            &error
                        else {
                            panic!("{name}: {error}");
                        };
                        assert_eq!(*named, name);
                        assert_ne!(value_a, value_b);
                        for (value, shown) in [(a, value_a), (b, value_b)] {
                            let value = value.unwrap_or_default();
                            assert!(name == EMULATE || shown.contains(value), "{name}={value:?}: {error}");
                        }
                        compared += 1;
                    }
                }
            }
        }
    }
    assert_eq!(compared, 3 * 3 * (3 * 6 + 3 * 2 + 2 + 6));
}

#[test]
fn pes_whose_variables_are_the_same_join() {
    let environment =
        Environment::from([(CPU, "1"), (GPU, "x"), (EMULATE, "1"), (SIZE, "1M"), (GPU_SIZE, "0.5M")]);
    let mut other = environment.clone();
    other.insert(GPU_SIZE, "512k"); // the same size
    for outcome in join(vec![settings(&environment), settings(&other)]) {
        outcome.unwrap();
    }
}

#[test]
fn what_a_variable_cannot_hold_is_an_error_that_names_it() {
    for (name, value) in [
        (DEFAULT, "NPU"),
        (DEFAULT, ""),
        (CPU_SIZE, "-1"),
        (GPU_SIZE, "many"),
        (PES, "3-1"),
        (PES, ""),
        (PES, "1;2"),
    ] {
        let lookup = |asked: &str| (asked == name).then(|| value.into());
        let error = Settings::from_lookup(lookup).unwrap_err();
        assert!(matches!(error, Error::InvalidSetting { name: named, .. } if named == name), "{error}");
    }
}
