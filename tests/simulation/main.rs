//! Jobs that go on, in a simulation: PEs run on one thread, in virtual time, over the modelled
//! network, and a seed decides how late each message is, which PE goes on first, and which is lost
//! when. A seed that goes wrong does so each time, and is made smaller before it is printed.
//!
//! `cargo xtask simulate --seeds N --from S` plays more seeds than the tests have time for.

#[path = "../common/mod.rs"]
mod common;

mod chance;
mod heap;
mod locks;
mod plan;
mod play;
mod replacing;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

use crate::{
    chance::Trace,
    common::time_limit,
    plan::{Kind, Plan, Step, When},
};

/// Plays a plan, and panics with the smallest that goes wrong as well.
fn play(plan: &Plan) -> Trace {
    match plan.simulate() {
        Ok(trace) => trace,
        Err(wrong) => {
            println!("seed {} goes wrong: {wrong}; it is being made smaller", plan.seed);
            let (smallest, why) = plan.clone().shrunk(wrong);
            panic!("{why}\n{smallest:#?}\nagain: cargo xtask simulate --seeds 1 --from {}", plan.seed);
        }
    }
}

/// Plays the plans of seeds on all processors. How many PEs were lost in them.
fn play_seeds(from: u64, seeds: u64) -> u64 {
    let (next, lost) = (AtomicU64::new(from), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let play = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= from + seeds {
                    return;
                }
                lost.fetch_add(play(&Plan::of(seed)).lost as u64, Ordering::Relaxed);
            }
        };
        let players: Vec<_> = (0..threads).map(|_| scope.spawn(play)).collect();
        for player in players {
            if let Err(panic) = player.join() {
                // The others stop with what they are at.
                next.store(from + seeds, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
        }
    });
    lost.into_inner()
}

#[test]
fn a_seed_is_played_in_the_same_way_each_time() {
    let _limit = time_limit(120);
    for seed in 0..10 {
        let plan = Plan::of(seed);
        let first = play(&plan);
        assert_eq!(first, play(&plan), "seed {seed}");
        assert!(seed > 0 || first.hash != play(&Plan::of(1)).hash);
    }
}

/// As many as `OXSHMEM_SIMULATE` says, behind the first one, as `100 7`.
#[test]
fn those_that_are_left_go_on_whatever_chance_does() {
    let asked = std::env::var("OXSHMEM_SIMULATE").unwrap_or_else(|_| "60 0".to_owned());
    let numbers: Vec<u64> = asked.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [seeds, from] = numbers[..] else { panic!("OXSHMEM_SIMULATE={asked:?} is not two numbers") };
    let _limit = time_limit(60 + seeds / 4);
    let begin = Instant::now();
    let lost = play_seeds(from, seeds);
    println!("{seeds} seeds from {from} on, in {:?}; {lost} PEs were lost", begin.elapsed());
}

/// Two hosts with two PEs each, which do one thing twice.
fn one_thing(kind: Kind, len: usize) -> Plan {
    let first = if matches!(kind, Kind::Realloc | Kind::Free) { Kind::Alloc } else { kind };
    let steps = vec![Step { kind: first, shift: 1, len }, Step { kind, shift: 2, len }];
    Plan { seed: 1, hosts: vec![2, 2], steps, losses: Vec::new(), shuffled: false, replaced: false }
}

#[test]
fn a_pe_may_be_lost_wherever_it_waits() {
    let _limit = time_limit(180);
    let mut played = 0;
    for kind in Kind::ALL {
        for len in [1, 3000] {
            let plan = one_thing(kind, len);
            let polls = play(&plan).polls;
            for victim in [0, 1, 3] {
                for poll in 0..polls[victim] {
                    let plan = Plan { losses: vec![(victim, When::Poll(poll))], ..plan.clone() };
                    play(&plan);
                    played += 1;
                    if kind != Kind::Lock && (victim, len) == (1, 1) {
                        play(&Plan { replaced: true, ..plan });
                        played += 1;
                    }
                }
            }
        }
    }
    println!("{played} losses");
}

#[test]
fn another_pe_may_be_lost_while_one_is_replaced() {
    let _limit = time_limit(180);
    let mut played = 0;
    for kind in [Kind::Sum, Kind::Alloc] {
        let plan = Plan { replaced: true, ..one_thing(kind, 3000) };
        let polls = play(&plan).polls;
        let lost = (3, When::Poll(polls[3] / 2));
        let polls = play(&Plan { losses: vec![lost], ..plan.clone() }).polls;
        // The replacement, before the others have let it in and after it, or one of these.
        for (victim, &polls) in polls.iter().enumerate() {
            for poll in 0..polls {
                play(&Plan { losses: vec![lost, (victim, When::Poll(poll))], ..plan.clone() });
                played += 1;
            }
        }
    }
    println!("{played} losses");
}
