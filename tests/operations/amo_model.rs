//! Atomics: each operation on each type against a sequential model, and against all other PEs at
//! once.

use crate::common::{Job, on_pes, settings, test_name, time_limit};
use oxshmem::{BitwiseAmo, ExtendedAmo, Result, StandardAmo, prelude::*};

/// Integers, for the model.
trait Integer: StandardAmo + std::fmt::Debug {
    fn of(seed: u64) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($name:ty),*) => {$(
        impl Integer for $name {
            fn of(seed: u64) -> Self {
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) as $name
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}

integers!(i32, u32, i64, u64, isize, usize);

/// The operations of table 6, by turns, on elements of one PE after the other.
async fn standard<T: Integer>(world: &World) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    // An element in between two that must stay as they are.
    let words = world.alloc_zeroed::<T>(n * 3).await?;
    let at = words.at(me * 3 + 1);
    for pe in 0..n {
        let mut model = T::of(0);
        for i in 1..40u64 {
            let (a, b) = (T::of(i * 77), T::of(i * 1001));
            match i % 10 {
                0 => ctx.set(at, a, pe).await?,
                1 => assert_eq!(ctx.fetch_add(at, a, pe).await?, model),
                2 => ctx.add(at, a, pe).await?,
                3 => assert_eq!(ctx.fetch_inc(at, pe).await?, model),
                4 => ctx.inc(at, pe).await?,
                5 => assert_eq!(ctx.swap(at, a, pe).await?, model),
                6 => assert_eq!(ctx.compare_swap(at, model, a, pe).await?, model),
                7 => assert_eq!(ctx.compare_swap(at, model.plus(T::of(1)), a, pe).await?, model),
                8 => assert_eq!(ctx.fetch_add_nbi(at, b, pe).await?, model),
                _ => assert_eq!(ctx.swap_nbi(at, b, pe).await?, model),
            }
            model = match i % 10 {
                0 | 5 | 6 => a,
                1 | 2 => model.plus(a),
                3 | 4 => model.plus(one::<T>()),
                8 => model.plus(b),
                9 => b,
                _ => model,
            };
            assert_eq!(ctx.fetch(at, pe).await?, model, "step {i}");
            assert_eq!(ctx.fetch_nbi(at, pe).await?, model);
        }
        assert_eq!(ctx.fetch_inc_nbi(at, pe).await?, model);
        assert_eq!(
            ctx.compare_swap_nbi(at, model.plus(one::<T>()), model, pe).await?,
            model.plus(one::<T>())
        );
        // Dropped, it happens all the same.
        drop(ctx.fetch_add(at, T::of(3), pe));
        drop(ctx.inc(at, pe));
        ctx.quiet().await?;
        assert_eq!(ctx.g(at, pe).await?, model.plus(T::of(3)).plus(one::<T>()));
        let sides = [ctx.g(words.at(me * 3), pe).await?, ctx.g(words.at(me * 3 + 2), pe).await?];
        assert_eq!(sides, [T::of(0); 2]);
    }
    world.barrier_all().await
}

fn one<T: Integer>() -> T {
    // The model's own 1: the product of `of`'s multiplier and its inverse.
    T::of(0xf1de_83e1_9937_733d)
}

async fn bitwise<T>(world: &World) -> Result<()>
where
    T: Integer
        + BitwiseAmo
        + std::ops::BitAnd<Output = T>
        + std::ops::BitOr<Output = T>
        + std::ops::BitXor<Output = T>,
{
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let words = world.alloc_zeroed::<T>(n).await?;
    let at = words.at(me);
    for pe in 0..n {
        let mut model = T::of(0);
        for i in 1..40u64 {
            let a = T::of(i * 77);
            match i % 9 {
                0 => assert_eq!(ctx.fetch_and(at, a, pe).await?, model),
                1 => ctx.and(at, a, pe).await?,
                2 => assert_eq!(ctx.fetch_or(at, a, pe).await?, model),
                3 => ctx.or(at, a, pe).await?,
                4 => assert_eq!(ctx.fetch_xor(at, a, pe).await?, model),
                5 => ctx.xor(at, a, pe).await?,
                6 => assert_eq!(ctx.fetch_and_nbi(at, a, pe).await?, model),
                7 => assert_eq!(ctx.fetch_or_nbi(at, a, pe).await?, model),
                _ => assert_eq!(ctx.fetch_xor_nbi(at, a, pe).await?, model),
            }
            model = match i % 9 {
                0 | 1 | 6 => model & a,
                2 | 3 | 7 => model | a,
                _ => model ^ a,
            };
            assert_eq!(ctx.fetch(at, pe).await?, model, "step {i}");
        }
    }
    world.barrier_all().await
}

async fn extended<T: ExtendedAmo + PartialEq + std::fmt::Debug>(world: &World, values: [T; 4]) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let words = world.alloc_zeroed::<T>(n * 2).await?;
    for pe in 0..n {
        let at = words.at(me * 2);
        let mut model = T::zeroed();
        for value in values {
            assert_eq!(ctx.swap(at, value, pe).await?, model);
            assert_eq!(ctx.fetch(at, pe).await?, value);
            ctx.set(at, values[0], pe).await?;
            assert_eq!(ctx.swap_nbi(at, value, pe).await?, values[0]);
            model = value;
        }
        assert_eq!(ctx.g(words.at(me * 2 + 1), pe).await?, T::zeroed());
    }
    world.barrier_all().await
}

async fn model(world: World) -> Result<()> {
    assert_eq!((one::<u64>(), one::<i32>()), (1, 1));
    standard::<i32>(&world).await?;
    standard::<u32>(&world).await?;
    standard::<i64>(&world).await?;
    standard::<u64>(&world).await?;
    standard::<isize>(&world).await?;
    standard::<usize>(&world).await?;
    bitwise::<i32>(&world).await?;
    bitwise::<u32>(&world).await?;
    bitwise::<i64>(&world).await?;
    bitwise::<u64>(&world).await?;
    extended(&world, [1.5f32, -0.0, f32::MAX, f32::INFINITY]).await?;
    extended(&world, [1.5f64, -1e300, f64::MIN_POSITIVE, f64::NEG_INFINITY]).await?;
    extended(&world, [1i32, -1, i32::MIN, i32::MAX]).await?;
    extended(&world, [1u64, 0, u64::MAX, 7]).await
}

/// All PEs hammer the same words of one PE; what comes out does not depend on their order.
async fn hammer(world: World) -> Result<()> {
    const ROUNDS: u64 = 3000;
    let (me, n, ctx) = (world.my_pe() as u64, world.n_pes() as u64, world.context());
    for target in [0, world.n_pes() - 1] {
        let wide = world.alloc_zeroed::<u64>(8).await?;
        let narrow = world.alloc_zeroed::<u32>(9).await?;
        let mut tickets = Vec::new();
        for i in 0..ROUNDS {
            tickets.push(ctx.fetch_inc(wide.at(0), target).await?);
            ctx.add(wide.at(1), me + 1, target).await?;
            // A sum by compare_swap, which must lose no update.
            let mut old = ctx.fetch(wide.at(2), target).await?;
            loop {
                let seen = ctx.compare_swap(wide.at(2), old, old + me + i, target).await?;
                if seen == old {
                    break;
                }
                old = seen;
            }
            // Each PE turns its own bit over; the others' must not change.
            ctx.xor(wide.at(3), 1 << me, target).await?;
            ctx.or(wide.at(4), 1 << (me + i % 8), target).await?;
            // Neighbouring halves of words: PE i's is untouched by the others.
            let mine = narrow.at(me as usize % 9);
            if me < 9 {
                assert_eq!(ctx.fetch_inc(mine, target).await?, i as u32);
            }
            if i % 500 == 0 {
                tokio::task::yield_now().await;
            }
        }
        // A swap hands each token on: none is lost and none is doubled.
        let token = ctx.swap(wide.at(5), me + 1, target).await?;
        ctx.add(wide.at(6), token, target).await?;
        world.barrier_all().await?;
        let seen = ctx.get(&wide, target).await?;
        assert_eq!(seen[0], n * ROUNDS);
        assert!(tickets.is_sorted() && tickets.len() as u64 == ROUNDS);
        assert_eq!(seen[1], ROUNDS * n * (n + 1) / 2);
        assert_eq!(seen[2], n * ROUNDS * (ROUNDS - 1) / 2 + ROUNDS * n * (n - 1) / 2);
        assert_eq!(seen[3], if ROUNDS.is_multiple_of(2) { 0 } else { (1 << n) - 1 });
        assert_eq!(seen[4], (1 << (n + 7)) - 1);
        assert_eq!(seen[5] + seen[6], n * (n + 1) / 2);
        world.barrier_all().await?;
        // Bits cleared by `and`, one PE each.
        if world.my_pe() == target {
            wide.at(7).store(u64::MAX);
        }
        world.barrier_all().await?;
        ctx.and(wide.at(7), !(1 << me), target).await?;
        world.barrier_all().await?;
        assert_eq!(ctx.g(wide.at(7), target).await?, u64::MAX << n);
    }
    Ok(())
}

#[test]
fn every_operation_on_every_type_does_what_a_sequential_model_does() {
    let _limit = time_limit(60);
    on_pes(settings(), model);
}

#[test]
fn no_update_is_lost_when_all_pes_hammer_the_same_words() {
    let _limit = time_limit(60);
    on_pes(settings(), hammer);
}

#[test]
fn no_update_is_lost_when_processes_hammer_the_same_words() {
    let _limit = time_limit(60);
    Job::new(test_name!(), 3).run(|world| async move {
        model(world.clone()).await?;
        hammer(world).await
    });
}

#[test]
fn atomics_of_several_threads_and_contexts_of_one_pe_are_atomic_too() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (world, word) = (world.clone(), word.clone());
                std::thread::spawn(move || {
                    let ctx = world.create_context(ContextOptions::new().private()).unwrap();
                    for _ in 0..2000 {
                        world.block_on(ctx.inc(word.at(0), 0)).unwrap();
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        world.barrier_all().await?;
        assert_eq!(world.context().g(word.at(0), 0).await?, 8000 * world.n_pes() as u64);
        Ok(())
    });
}
