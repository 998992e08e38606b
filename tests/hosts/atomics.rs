//! Atomics on one word from PEs that share memory with it and from PEs of another host: all of them
//! are performed by the processor of the word's host, so that nothing is lost between the two ways.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    ops::{BitAnd, BitOr, BitXor, Not, Shl},
};

use crate::common::{Job, reaches_hosts, test_name, time_limit};
use oxshmem::{BitwiseAmo, ExtendedAmo, Result, StandardAmo, prelude::*};

const PES: usize = 4;
const ROUNDS: usize = 60;

/// Values that tests can count with.
trait Value: ExtendedAmo + Debug + PartialEq {
    fn of(number: u32) -> Self;
    fn number(self) -> u32;
}

macro_rules! values {
    ($($name:ty),*) => {$(
        impl Value for $name {
            fn of(number: u32) -> Self {
                number as $name
            }

            fn number(self) -> u32 {
                self as u32
            }
        }
    )*};
}

values!(i32, u32, i64, u64, isize, usize, f32, f64);

/// Three elements of each PE, of which the middle one is at stake: the others are to stay as they
/// are.
async fn words<T: Value>(world: &World) -> Result<SymSlice<T>> {
    let words = world.alloc_zeroed::<T>(3).await?;
    words.view().fill(T::of(1));
    words.at(1).store(T::of(0));
    world.barrier_all().await?;
    Ok(words)
}

async fn result<T: Value>(world: &World, words: &SymSlice<T>, target: usize) -> Result<T> {
    world.barrier_all().await?;
    let [before, at, after] = world.context().get_into([T::of(0); 3], words, target).await?;
    assert_eq!([before, after], [T::of(1); 2], "its neighbours");
    world.barrier_all().await?;
    Ok(at)
}

/// Everything that adds, and swaps that take the sum away for a while.
async fn sums<T: Value + StandardAmo>(world: &World, target: usize) -> Result<()> {
    let (ctx, words) = (world.context(), words::<T>(world).await?);
    let (at, one) = (words.at(1), T::of(1));
    for _ in 0..ROUNDS {
        ctx.inc(at, target).await?;
        ctx.add(at, one, target).await?;
        let _ = ctx.fetch_inc(at, target).await?;
        let _ = ctx.fetch_add(at, one, target).await?;
        drop(ctx.fetch_inc_nbi(at, target));
        drop(ctx.fetch_add_nbi(at, one, target));
        let mut seen = ctx.fetch(at, target).await?;
        loop {
            let before = ctx.compare_swap(at, seen, T::of(seen.number() + 1), target).await?;
            if before == seen {
                break;
            }
            seen = before;
        }
        let taken = ctx.swap(at, T::of(0), target).await?;
        ctx.add(at, taken, target).await?;
        let guess = ctx.fetch_nbi(at, target).await?;
        if ctx.compare_swap_nbi(at, guess, T::of(guess.number() + 1), target).await? != guess {
            ctx.inc(at, target).await?;
        }
        let taken = ctx.swap_nbi(at, T::of(0), target).await?;
        let _ = ctx.fetch_add(at, taken, target).await?;
    }
    assert_eq!(result(world, &words, target).await?, T::of((8 * ROUNDS * PES) as u32), "{}", name::<T>());
    Ok(())
}

/// Every value that is swapped in comes out once, or is there at the end.
async fn tokens<T: Value>(world: &World, target: usize) -> Result<()> {
    let (ctx, words) = (world.context(), words::<T>(world).await?);
    let mut out = Vec::new();
    for round in 0..ROUNDS {
        let token = T::of((1 + world.my_pe() * ROUNDS + round) as u32);
        let before = match round % 2 {
            0 => ctx.swap(words.at(1), token, target).await?,
            _ => ctx.swap_nbi(words.at(1), token, target).await?,
        };
        out.push(before.number());
        let seen = ctx.fetch(words.at(1), target).await?.number() as usize;
        assert!((1..=PES * ROUNDS).contains(&seen), "{seen} is nobody's token");
    }
    let last = result(world, &words, target).await?.number();
    let all = world.alloc_zeroed::<u32>(PES * ROUNDS).await?;
    let mine = world.alloc_zeroed::<u32>(ROUNDS).await?;
    mine.view().write(&out);
    world.team().fcollect(&all, &mine).await?;
    let out: BTreeSet<u32> = all.view().to_vec().into_iter().chain([last]).collect();
    assert!(out.into_iter().eq(0..=(PES * ROUNDS) as u32), "a token of {} was lost", name::<T>());
    Ok(())
}

/// Values that are only set: never is there another.
async fn sets<T: Value>(world: &World, target: usize) -> Result<()> {
    const UNIT: u32 = 0x10_0001;
    let (ctx, words) = (world.context(), words::<T>(world).await?);
    for round in 0..ROUNDS {
        ctx.set(words.at(1), T::of(UNIT * (1 + world.my_pe() as u32)), target).await?;
        ctx.fence().await?;
        let seen = match round % 2 {
            0 => ctx.fetch(words.at(1), target).await?,
            _ => ctx.fetch_nbi(words.at(1), target).await?,
        };
        let seen = seen.number();
        assert!(seen.is_multiple_of(UNIT) && (1..=PES as u32).contains(&(seen / UNIT)), "{seen:#x} is torn");
    }
    assert_ne!(result(world, &words, target).await?, T::of(0));
    Ok(())
}

/// Every PE has eight bits of the word, and leaves the others alone.
async fn bits<T>(world: &World, target: usize) -> Result<()>
where
    T: Value
        + BitwiseAmo
        + BitAnd<Output = T>
        + BitOr<Output = T>
        + BitXor<Output = T>
        + Shl<usize, Output = T>
        + Not<Output = T>,
{
    let (ctx, words) = (world.context(), words::<T>(world).await?);
    let at = words.at(1);
    let bit = |i: usize| T::of(1) << (world.my_pe() * 8 + i);
    let (mine, fetched) = (T::of(0xff) << (world.my_pe() * 8), T::of(0xf0) << (world.my_pe() * 8));
    // Bit 0 is set, bit 1 is cleared at the end, bit 2 is turned over an odd number of times, bit 3
    // stays clear.
    ctx.or(at, bit(0) | bit(1), target).await?;
    let mut model = T::of(0);
    for round in 0..ROUNDS + 1 {
        ctx.xor(at, bit(2), target).await?;
        ctx.or(at, bit(0), target).await?;
        ctx.and(at, !bit(3), target).await?;
        let which = bit(4 + round % 4);
        let (before, after) = match round % 6 {
            0 => (ctx.fetch_or(at, which, target).await?, model | which),
            1 => (ctx.fetch_xor(at, which, target).await?, model ^ which),
            2 => (ctx.fetch_or_nbi(at, which | bit(7), target).await?, model | which | bit(7)),
            3 => (ctx.fetch_and(at, !which, target).await?, model & !which),
            4 => (ctx.fetch_xor_nbi(at, which, target).await?, model ^ which),
            _ => (ctx.fetch_and_nbi(at, !which, target).await?, model & !which),
        };
        assert_eq!(before & fetched, model, "round {round}");
        model = after;
    }
    ctx.quiet().await?;
    ctx.and(at, !bit(1), target).await?;
    let end = result(world, &words, target).await?;
    assert_eq!(end & mine, model | bit(0) | bit(2), "{mine:?} of {end:?}");
    Ok(())
}

fn name<T>() -> &'static str {
    std::any::type_name::<T>()
}

async fn every_type(world: World) -> Result<()> {
    for target in [0, PES - 1] {
        sums::<i32>(&world, target).await?;
        sums::<u32>(&world, target).await?;
        sums::<i64>(&world, target).await?;
        sums::<u64>(&world, target).await?;
        sums::<isize>(&world, target).await?;
        sums::<usize>(&world, target).await?;
        bits::<i32>(&world, target).await?;
        bits::<u32>(&world, target).await?;
        bits::<i64>(&world, target).await?;
        bits::<u64>(&world, target).await?;
        tokens::<i32>(&world, target).await?;
        tokens::<u32>(&world, target).await?;
        tokens::<i64>(&world, target).await?;
        tokens::<u64>(&world, target).await?;
        tokens::<isize>(&world, target).await?;
        tokens::<usize>(&world, target).await?;
        tokens::<f32>(&world, target).await?;
        tokens::<f64>(&world, target).await?;
        sets::<i32>(&world, target).await?;
        sets::<u32>(&world, target).await?;
        sets::<i64>(&world, target).await?;
        sets::<u64>(&world, target).await?;
        sets::<isize>(&world, target).await?;
        sets::<usize>(&world, target).await?;
        sets::<f32>(&world, target).await?;
        sets::<f64>(&world, target).await?;
    }
    Ok(())
}

#[test]
fn no_update_of_pes_near_and_far_is_lost_on_one_word() {
    let _limit = time_limit(90);
    if reaches_hosts() {
        Job::new(test_name!(), PES).hosts("2").run(every_type);
    }
}

#[test]
fn no_update_is_lost_where_hosts_have_pes_in_turn() {
    let _limit = time_limit(90);
    if reaches_hosts() {
        Job::new(test_name!(), PES).hosts("3+1:cyclic").run(every_type);
    }
}

#[test]
fn batches_and_single_operations_are_atomic_towards_each_other() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    Job::new(test_name!(), PES).hosts("2").run(|world| async move {
        const ROUNDS: u64 = 5000;
        let words = world.alloc_zeroed::<u64>(2).await?;
        let ctx = world.create_context(ContextOptions::new())?;
        if world.my_pe() % 2 == 1 {
            // The target's helper thread applies what these send.
            ctx.session_start(oxshmem::SessionOptions::new().batch());
        }
        for target in [0, PES - 1] {
            for i in 0..ROUNDS {
                ctx.inc(words.at(0), target).await?;
                ctx.xor(words.at(1), (i % 2 + 1) << (8 * world.my_pe()), target).await?;
                if i % 1000 == 0 {
                    let _ = ctx.fetch_inc(words.at(0), target).await?;
                }
            }
        }
        ctx.destroy().await?;
        world.barrier_all().await?;
        let is_target = [0, PES - 1].contains(&world.my_pe());
        let expected = if is_target { (ROUNDS + ROUNDS / 1000) * PES as u64 } else { 0 };
        assert_eq!(words.view().to_vec(), [expected, 0]);
        Ok(())
    });
}
