//! Three programs of bale: an `Array` beside batches of calls on a `SymSlice`.

use oxshmem::{Fetch, SessionOptions, collections::Array};

use crate::{Bench, BenchResult, random};

/// Counters of each PE.
const COUNTERS: usize = 100_000;

/// Operations that are under way at a time by hand: as many as in the collections.
const BATCH: usize = 1024;

/// Random indices of this PE.
fn indices(bench: &Bench<'_>, below: usize) -> Vec<usize> {
    let first = bench.world.my_pe() * bench.work;
    (first..first + bench.work).map(|i| random(i) % below).collect()
}

/// Adds to random counters.
pub(crate) async fn histogram(bench: &Bench<'_>) -> BenchResult {
    let world = bench.world;
    let counters = world.n_pes() * COUNTERS;
    let array = Array::<u64>::new(world, counters).await?;
    let words = world.alloc_zeroed::<u64>(COUNTERS).await?;
    let ctx = world.context();
    let indices = indices(bench, counters);
    let by_array = async || Ok(array.add_all(indices.iter().map(|&index| (index, 1))).await?);
    let by_hand = async || {
        for batch in indices.chunks(BATCH) {
            let session = ctx.session(SessionOptions::new().batch().total_ops(BATCH));
            for index in batch {
                drop(ctx.add(words.at(index % words.len()), 1, index / words.len()));
            }
            session.finish().await?;
        }
        Ok(())
    };
    bench.compare("histogram, by hand", by_array, by_hand).await?;
    if array.local().to_vec() != words.view().to_vec() {
        return Err("the histograms differ".into());
    }
    Ok(())
}

/// Reads random elements.
pub(crate) async fn gather(bench: &Bench<'_>) -> BenchResult {
    let world = bench.world;
    let elements = world.n_pes() * COUNTERS;
    let array = Array::<u64>::new(world, elements).await?;
    array.fill_with(|index| 3 * index as u64).await?;
    let words = world.alloc_zeroed::<u64>(COUNTERS).await?;
    words.view().write(&array.local().to_vec());
    let ctx = world.context();
    let indices = indices(bench, elements);
    let right: Vec<_> = indices.iter().map(|&index| 3 * index as u64).collect();
    let check = |values: Vec<u64>| if values == right { Ok(()) } else { Err("other elements".into()) };
    let by_array = async || check(array.gather(indices.iter().copied()).await?);
    let by_hand = async || {
        let mut values = Vec::with_capacity(indices.len());
        for batch in indices.chunks(BATCH) {
            let gets = batch.iter().map(|index| ctx.g(words.at(index % words.len()), index / words.len()));
            for get in gets.collect::<Vec<_>>() {
                values.push(get.await?);
            }
        }
        check(values)
    };
    bench.compare("index gather, by hand", by_array, by_hand).await
}

/// A random permutation of as many numbers as there are operations of all PEs: each number is
/// thrown at random places of a target of twice the size until one is free. Then the numbers lie
/// close together, in the order of their places.
pub(crate) async fn permutation(bench: &Bench<'_>) -> BenchResult {
    let Bench { world, work, .. } = *bench;
    let (me, n) = (world.my_pe(), world.n_pes());
    let target = Array::<u64>::new(world, 2 * work * n).await?;
    let permuted = Array::<u64>::new(world, work * n).await?;
    let counts = Array::<u64>::new(world, n).await?;
    let by_array = async || {
        target.fill(0).await?;
        throw(bench, |place, number| target.compare_swap(place, 0, number)).await?;
        target.sync().await?;
        let mine: Vec<_> = target.local().to_vec().into_iter().filter(|&number| number != 0).collect();
        counts.fill(mine.len() as u64).await?;
        let before: u64 = counts.to_vec().await?[..me].iter().sum();
        permuted.scatter((before as usize..).zip(mine)).await?;
        Ok(permuted.sync().await?)
    };
    let words = world.alloc_zeroed::<u64>(2 * work).await?;
    let closed = world.alloc_zeroed::<u64>(work).await?;
    let totals = world.alloc_zeroed::<u64>(n + 1).await?;
    let ctx = world.context();
    let by_hand = async || {
        words.view().fill(0);
        world.barrier_all().await?;
        throw(bench, |place, number| {
            ctx.compare_swap(words.at(place % (2 * work)), 0, number, place / (2 * work))
        })
        .await?;
        world.barrier_all().await?;
        let mine: Vec<_> = words.view().to_vec().into_iter().filter(|&number| number != 0).collect();
        totals.at(n).store(mine.len() as u64);
        world.team().fcollect(totals.slice(..n), totals.slice(n..)).await?;
        let before: u64 = totals.slice(..me).to_vec().iter().sum();
        for batch in (before as usize..).zip(mine).collect::<Vec<_>>().chunks(BATCH) {
            let session = ctx.session(SessionOptions::new().batch().total_ops(BATCH));
            for &(place, number) in batch {
                drop(ctx.p(closed.at(place % work), number, place / work));
            }
            session.finish().await?;
        }
        Ok(())
    };
    bench.compare("random permutation, by hand", by_array, by_hand).await?;
    world.barrier_all().await?;
    for numbers in [permuted.local(), closed.view()] {
        totals
            .at(n)
            .store(numbers.to_vec().iter().fold(0, |sum, number| sum ^ random(*number as usize) as u64));
        world.team().fcollect(totals.slice(..n), totals.slice(n..)).await?;
        let sum = totals.slice(..n).to_vec().iter().fold(0, |sum, part| sum ^ part);
        world.barrier_all().await?;
        if sum != (1..=work * n).fold(0, |sum, number| sum ^ random(number) as u64) {
            return Err("no permutation".into());
        }
    }
    Ok(())
}

/// Throws the numbers of this PE at places, batch by batch, until each is at one that was free.
/// `throw` finds what was there.
async fn throw(bench: &Bench<'_>, throw: impl Fn(usize, u64) -> Fetch<u64>) -> BenchResult {
    let Bench { world, work, .. } = *bench;
    let first = world.my_pe() * work;
    let mut numbers = (first + 1..=first + work).map(|number| number as u64);
    let mut thrown = first << 32;
    let mut missed = Vec::new();
    loop {
        let left = BATCH - missed.len();
        let batch: Vec<_> = missed.drain(..).chain(numbers.by_ref().take(left)).collect();
        if batch.is_empty() {
            return Ok(());
        }
        let aim = |&number: &u64| {
            thrown += 1;
            throw(random(thrown) % (2 * work * world.n_pes()), number)
        };
        let found: Vec<_> = batch.iter().map(aim).collect();
        for (found, number) in found.into_iter().zip(batch) {
            if found.await? != 0 {
                missed.push(number);
            }
        }
    }
}
