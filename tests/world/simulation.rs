//! Jobs in virtual time: what they take depends on nothing but the link.

use std::time::{Duration, Instant};

use crate::common::time_limit;
use oxshmem::{ClusterOptions, Error, Link, LocalCluster, Result, Simulation, World};

const MICRO: Duration = Duration::from_micros(1);

fn link() -> Link {
    Link {
        latency: 10 * MICRO,
        overhead: MICRO,
        receipt: 2 * MICRO,
        bandwidth: 1_000_000_000,
        virtual_time: true,
        ..Link::default()
    }
}

/// Runs a program on hosts with one PE each.
fn simulated<R, F>(n: usize, link: Link, program: impl Fn(World, Simulation) -> F) -> Vec<R>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
    let options = ClusterOptions::default().hosts(n).link(link);
    let results = LocalCluster::run_with(n, options, |world| {
        let simulation = world.simulation().unwrap();
        program(world, simulation)
    });
    results.unwrap()
}

#[test]
fn what_operations_take_follows_from_the_link() {
    let _limit = time_limit(60);
    let times = simulated(2, link(), |world, simulation| async move {
        let (words, ctx) = (world.alloc_zeroed::<u64>(1000).await?, world.context());
        let other = 1 - world.my_pe();
        let mut times = Vec::new();
        if world.my_pe() == 0 {
            let start = simulation.align().await?;
            ctx.fetch_add(words.at(0), 1, other).await?;
            times.push(simulation.now() - start);
            ctx.put(words.slice(..), vec![7; 1000], other).await?;
            ctx.quiet().await?;
            times.push(simulation.now() - start);
            simulation.work(100 * MICRO).await;
            times.push(simulation.now() - start);
        } else {
            simulation.align().await?;
        }
        simulation.align().await?;
        assert!(world.my_pe() == 0 || words.at(999).load() == 7);
        world.finalize().await?;
        Ok(times)
    });
    // The answer keeps the other's processor for starting it.
    let nanos = Duration::from_nanos;
    let fetch = 22 * MICRO + nanos(16);
    // It is short enough to be copied, and goes with a head of two words.
    let put = fetch + 29 * MICRO + nanos(16);
    assert_eq!(times[0], [fetch, put, put + 100 * MICRO]);
}

#[test]
fn a_job_takes_the_same_every_time_and_no_real_time() {
    let _limit = time_limit(60);
    let run = || {
        simulated(13, Link { latency: Duration::from_secs(60), ..link() }, |world, simulation| async move {
            let (dest, source) =
                (world.alloc::<u64>(13 * 500).await?, world.alloc_zeroed::<u64>(13 * 500).await?);
            let team = world.team();
            team.broadcast(&dest, &source, 5).await?;
            team.sum_reduce(&dest, &source).await?;
            team.alltoall(&dest, &source).await?;
            world.barrier_all().await?;
            let seen = (simulation.now(), simulation.sent());
            world.finalize().await?;
            Ok(seen)
        })
    };
    let start = Instant::now();
    let first = run();
    assert_eq!(first, run());
    assert!(first.iter().all(|(time, sent)| *time > 10 * start.elapsed() && sent.messages > 0));
}

#[test]
fn blocks_come_to_where_they_belong_when_there_are_more_hosts_than_messages_under_way() {
    let _limit = time_limit(60);
    for (hosts, pes, words) in [(150, 150, 1), (75, 150, 700), (70, 80, 2000), (3, 150, 40)] {
        let options = ClusterOptions::default().hosts(hosts).link(link());
        let ended = LocalCluster::run_with(pes, options, move |world| async move {
            let (me, n) = (world.my_pe(), world.n_pes());
            let (dest, source) = (world.alloc::<u64>(n * words).await?, world.alloc::<u64>(n * words).await?);
            let value = |from: usize, to: usize, i: usize| (from * n * words + to * words + i) as u64;
            for at in 0..n * words {
                source.at(at).store(value(me, at / words, at % words));
            }
            world.team().alltoall(&dest, &source).await?;
            let all = dest.slice(..).to_vec();
            assert!((0..n * words).all(|at| all[at] == value(at / words, me, at % words)));
            world.finalize().await
        });
        ended.unwrap();
    }
}

#[test]
fn pes_that_are_aligned_go_on_at_the_same_moment_when_everything_has_arrived() {
    let _limit = time_limit(60);
    let moments = simulated(5, link(), |world, simulation| async move {
        let words = world.alloc_zeroed::<u64>(5).await?;
        let me = world.my_pe();
        let mut moments = Vec::new();
        for round in 1..4 {
            simulation.work(MICRO * (me * round) as u32).await;
            for pe in 0..5 {
                world.context().p(words.at(me), round as u64, pe).await?;
            }
            moments.push(simulation.align().await?);
            assert_eq!(simulation.now(), moments[round - 1]);
            assert_eq!(words.slice(..).to_vec(), [round as u64; 5]);
            simulation.align().await?;
        }
        world.finalize().await?;
        Ok(moments)
    });
    assert!(moments[0].is_sorted() && moments.iter().all(|those| *those == moments[0]));
}

#[test]
fn pes_that_share_a_host_meet_in_no_time() {
    let _limit = time_limit(60);
    let options = ClusterOptions::default().hosts(2).link(link());
    let times = LocalCluster::run_with(32, options, |world| async move {
        let simulation = world.simulation().unwrap();
        let team = world.team().split_strided(0, 1, 16).await?;
        let start = simulation.align().await?;
        if let Some(team) = team {
            team.sync().await?;
        }
        let taken = simulation.now() - start;
        world.finalize().await?;
        Ok(taken)
    });
    assert_eq!(times.unwrap(), [Duration::ZERO; 32]);
}

#[test]
fn a_pe_that_fails_in_virtual_time_ends_the_job() {
    let _limit = time_limit(60);
    let options = ClusterOptions::default().hosts(3).link(link());
    let error = LocalCluster::run_with(3, options, |world| async move {
        if world.my_pe() == 1 {
            return Err(Error::Unsupported { what: "a test".into() });
        }
        world.barrier_all().await?;
        world.finalize().await
    });
    assert!(error.unwrap_err().to_string().contains("a test"));
}

#[test]
fn virtual_time_is_refused_where_nobody_knows_when_pes_wait() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = ClusterOptions::default().hosts(2).link(link());
    let error = runtime.block_on(LocalCluster::start_with(2, options)).unwrap_err();
    assert!(error.to_string().contains("virtual time"), "{error}");
}

#[test]
fn there_is_no_simulation_in_real_time_or_on_one_host() {
    let _limit = time_limit(60);
    for (hosts, virtual_time) in [(1, true), (2, false)] {
        let options = ClusterOptions::default().hosts(hosts).link(Link { virtual_time, ..Link::default() });
        let simulated = LocalCluster::run_with(2, options, |world| async move {
            let is_simulated = world.simulation().is_some();
            world.barrier_all().await?;
            world.finalize().await?;
            Ok(is_simulated)
        });
        assert_eq!(simulated.unwrap(), [false; 2]);
    }
}
