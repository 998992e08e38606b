//! Many random collectives on random teams of 8 PEs under `oshrun`, each compared with the model.
//! As many as `OXSHMEM_SOAK_COLLECTIVES` says, which `cargo xtask soak-collectives` sets; few
//! otherwise.

mod common;
#[path = "common/model.rs"]
mod model;

use std::time::Instant;

use common::{Job, Random, test_name, time_limit};
use model::{Arena, Call, Made, Way};
use oxshmem::{Result, prelude::*};

const PES: usize = 8;
/// Calls of one job, which has a minute.
const PER_JOB: usize = 20_000;
const WAYS: [Way; 8] =
    [Way::Await, Way::Await, Way::Await, Way::Later, Way::Later, Way::Later, Way::Drop, Way::Forget];

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Makes `count` calls in all, on a few teams that change all the time.
async fn soak(world: World) -> Result<()> {
    let (count, seed) = (number("SOAK_COUNT", 0), number("SOAK_SEED", 0) as u64);
    let (me, n) = (world.my_pe(), world.n_pes());
    let (mut calls, mut ways) = (Random::new(seed), Random::new(seed ^ (me as u64) << 20));
    for _ in 0..4 {
        calls.next();
        ways.next();
    }
    let arena = Arena::new(&world, 8 << 20).await?;
    // The lists of PEs of all teams are the same on all PEs.
    let mut teams = vec![Some(world.team().clone())];
    let mut made = 0;
    while made < count {
        if teams.len() > 5 || (teams.len() > 1 && calls.below(4) == 0) {
            let gone = teams.swap_remove(1 + calls.below(teams.len() as u64 - 1) as usize);
            if let (true, Some(gone)) = (calls.below(2) == 0, gone) {
                gone.destroy().await?;
            }
        } else {
            let size = 1 + calls.below(n as u64) as usize;
            let stride = if size == 1 { 0 } else { 1 + calls.below(((n - 1) / (size - 1)) as u64) as isize };
            let span = stride as usize * (size - 1);
            let start = calls.below((n - span) as u64) as usize;
            let backwards = calls.below(2) == 0;
            let (start, stride) = if backwards { (start + span, -stride) } else { (start, stride) };
            teams.push(world.team().split_strided(start, stride, size).await?);
        }
        let round: Vec<Made> = (0..1 + calls.below(24))
            .map(|_| Made {
                team: calls.below(teams.len() as u64) as usize,
                call: Call::random(&mut calls, 9000),
                way: WAYS[ways.below(WAYS.len() as u64) as usize],
            })
            .collect();
        made += round.len();
        arena.round(&world, &teams, &round).await?;
    }
    Ok(())
}

#[test]
fn mixed_collectives_on_random_teams_all_come_to_what_the_model_says() {
    let count = number("OXSHMEM_SOAK_COLLECTIVES", 2000);
    let _limit = time_limit(60 + count as u64 / 100);
    let begin = Instant::now();
    let mut done = 0;
    while done < count {
        let part = (count - done).min(PER_JOB);
        Job::new(test_name!(), PES)
            .env("SHMEM_SYMMETRIC_SIZE=64M")
            .env(&format!("SOAK_COUNT={part}"))
            .env(&format!("SOAK_SEED={}", done / PER_JOB + 1))
            .run(soak);
        done += part;
        if count > PER_JOB {
            println!("{done} of {count} collectives after {:.1} s", begin.elapsed().as_secs_f64());
        }
    }
}
