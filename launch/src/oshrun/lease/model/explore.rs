//! All schedules of the model, within bounds, and what is tried.

use std::collections::HashSet;

use super::{Bounds, Event, HOSTS, State};

/// Explores all schedules within these bounds.
fn explore(bounds: Bounds) {
    let first = State::new(bounds);
    let mut seen = HashSet::from([first.key()]);
    let (mut open, mut ends) = (vec![first], 0);
    while let Some(state) = open.pop() {
        for event in state.choices() {
            let mut next = state.clone();
            next.step(event);
            next.settle();
            if !seen.insert(next.key()) {
                continue;
            }
            if next.now < bounds.beats {
                open.push(next);
                continue;
            }
            // Any way to become quiet sooner comes through one of these.
            ends += 1;
            for host in 0..HOSTS {
                next.clone().finish(|event| event != Event::Up(host));
                next.clone().finish(|event| event != Event::Down(host));
                let all = [Event::Up(host), Event::Down(host), Event::Gone(host), Event::End(host)];
                next.clone().finish(|event| !all.contains(&event));
            }
            next.finish(|_| true);
        }
    }
    println!("{} states, {ends} of them ends, within {bounds:?}", seen.len());
}

#[test]
fn no_pe_is_lost_while_it_runs_and_none_waits_for_ever() {
    explore(Bounds { beats: 4, faults: 1, pauses: 0, prompt: 1, respawns: 0 });
    explore(Bounds { beats: 3, faults: 2, pauses: 0, prompt: 1, respawns: 0 });
    explore(Bounds { beats: 3, faults: 1, pauses: 0, prompt: 0, respawns: 0 });
}

#[test]
fn a_job_that_stands_still_for_a_while_is_no_different() {
    explore(Bounds { beats: 3, faults: 1, pauses: 1, prompt: 1, respawns: 0 });
}

#[test]
fn nor_where_a_pe_that_is_lost_is_replaced() {
    explore(Bounds { beats: 2, faults: 2, pauses: 0, prompt: 1, respawns: 1 });
}

#[test]
#[ignore = "it takes minutes: cargo test -p oxshmem-launch --lib lease::model -- --ignored"]
fn nor_with_more_faults_or_in_more_time() {
    explore(Bounds { beats: 5, faults: 2, pauses: 0, prompt: 1, respawns: 0 });
    explore(Bounds { beats: 3, faults: 2, pauses: 0, prompt: 0, respawns: 0 });
    explore(Bounds { beats: 4, faults: 1, pauses: 1, prompt: 1, respawns: 0 });
    explore(Bounds { beats: 3, faults: 2, pauses: 0, prompt: 1, respawns: 1 });
}
