//! Put and get in all their forms: every type, length, kind of buffer and target.

use std::sync::Arc;

use crate::common::{self, Job, offloading, on_pes, settings, test_name, time_limit};
use bytemuck::{Pod, Zeroable};
use oxshmem::prelude::*;

/// Plain data of a program, larger than a word and of no round size.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Cell {
    position: [f32; 3],
    kind: u16,
    flags: [u8; 2],
}

/// Elements that tests can make and compare.
trait Sample: Element + PartialEq + std::fmt::Debug {
    fn sample(seed: u64) -> Self;
}

macro_rules! samples {
    ($($name:ty),*) => {$(
        impl Sample for $name {
            fn sample(seed: u64) -> Self {
                (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) as $name
            }
        }
    )*};
}

samples!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

impl Sample for [u8; 3] {
    fn sample(seed: u64) -> Self {
        [seed as u8, (seed >> 3) as u8, 77]
    }
}

impl Sample for Cell {
    fn sample(seed: u64) -> Self {
        Self { position: [seed as f32, -1.0, 0.5], kind: seed as u16, flags: [1, seed as u8] }
    }
}

fn samples<T: Sample>(seed: usize, len: usize) -> Vec<T> {
    (0..len).map(|i| T::sample((seed * 7919 + i) as u64)).collect()
}

/// Everything of one type and length, from every PE to every PE.
async fn transfers<T: Sample>(world: &World, len: usize) -> oxshmem::Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    // One row a PE that writes, so that nobody is in another's way.
    let table = world.alloc_zeroed::<T>(n * len).await?;
    let own = world.alloc_zeroed::<T>(len).await?;
    let row = |pe: usize| table.slice(pe * len..(pe + 1) * len);
    for (form, pe) in (0..9).flat_map(|form| (0..n).map(move |pe| (form, pe))) {
        let sent = samples::<T>(me * n + pe + form, len);
        let to = row(me);
        match form {
            0 => assert_eq!(ctx.put(to, sent.clone(), pe).await?, sent),
            1 => {
                ctx.put(to, &sent[..], pe).await?;
            }
            2 => drop(ctx.put(to, sent.clone().into_boxed_slice(), pe).await?),
            3 => drop(ctx.put(to, Arc::<[T]>::from(sent.clone()), pe).await?),
            4 => {
                own.view().write(&sent);
                assert_eq!(ctx.put(to, own.clone(), pe).await?.len(), len);
            }
            5 => assert_eq!(ctx.put_nbi(to, sent.clone(), pe).await?, sent),
            6 => drop(ctx.put_nbi(to, Arc::<[T]>::from(sent.clone()), pe)),
            7 => drop(ctx.put_nbi(to, &sent[..], pe)),
            _ => {
                for (i, &value) in sent.iter().enumerate() {
                    ctx.p(to.at(i), value, pe).await?;
                }
            }
        }
        ctx.quiet().await?;
        // Our own row, which nobody else writes.
        assert_eq!(ctx.get(row(me), pe).await?, sent, "form {form}");
    }
    world.barrier_all().await?;
    for pe in 0..n {
        let expected: Vec<T> = (0..n).flat_map(|from| samples::<T>(from * n + pe + 8, len)).collect();
        assert_eq!(ctx.get(&table, pe).await?, expected);
        let zeros = vec![T::zeroed(); n * len];
        assert_eq!(ctx.get_into(zeros.clone(), &table, pe).await?, expected);
        assert_eq!(*ctx.get_into(zeros.clone().into_boxed_slice(), &table, pe).await?, *expected);
        assert_eq!(ctx.get_nbi(zeros, &table, pe).await?, expected);
        assert_eq!(
            ctx.get_into(own.clone(), row(pe), pe).await?.view().to_vec(),
            expected[pe * len..][..len]
        );
        own.view().fill(T::zeroed());
        drop(ctx.get_nbi(own.clone(), row(me), pe));
        ctx.quiet().await?;
        assert_eq!(own.view().to_vec(), expected[me * len..][..len]);
        for i in (0..n * len).step_by(1 + len / 7) {
            assert_eq!(ctx.g(table.at(i), pe).await?, expected[i]);
        }
    }
    world.barrier_all().await
}

async fn values_and_arrays<T: Sample>(world: &World) -> oxshmem::Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let slots = world.alloc_zeroed::<T>(n * 5).await?;
    for pe in 0..n {
        let values = samples::<T>(me + 10 * pe, 5);
        let at = me * 5;
        ctx.put(slots.at(at), values[0], pe).await?;
        ctx.put_nbi(slots.at(at + 1), values[1], pe).await?;
        ctx.p(slots.at(at + 2), values[2], pe).await?;
        ctx.put(slots.slice(at + 3..at + 5), [values[3], values[4]], pe).await?;
        ctx.quiet().await?;
        let got: [T; 5] = ctx.get_into([T::zeroed(); 5], slots.slice(at..at + 5), pe).await?;
        assert_eq!(got[..], values);
        assert_eq!(ctx.get_nbi([T::zeroed(); 1], slots.at(at + 4), pe).await?, [values[4]]);
    }
    world.barrier_all().await
}

/// Strided copies against a model of one loop.
async fn strides<T: Sample>(world: &World) -> oxshmem::Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    const LEN: usize = 60;
    let table = world.alloc_zeroed::<T>(n * LEN).await?;
    for pe in 0..n {
        for (dst, sst, block, count) in [
            (1, 1, 1, 60),
            (3, 2, 1, 20),
            (2, 5, 1, 12),
            (7, 4, 3, 8),
            (5, 5, 5, 12),
            (59, 1, 1, 2),
            (9, 8, 7, 0),
        ] {
            let to = table.slice(me * LEN..(me + 1) * LEN);
            ctx.put(to, vec![T::zeroed(); LEN], pe).await?;
            // Puts to the same place are in no order by themselves.
            ctx.fence().await?;
            let sent = samples::<T>(me + pe + dst, LEN);
            let mut expected = vec![T::zeroed(); LEN];
            let mut gathered = vec![T::zeroed(); LEN];
            for (i, k) in (0..count).flat_map(|i| (0..block).map(move |k| (i, k))) {
                expected[i * dst + k] = sent[i * sst + k];
                gathered[i * sst + k] = sent[i * sst + k];
            }
            if block == 1 {
                assert_eq!(ctx.iput(to, sent.clone(), dst, sst, count, pe).await?, sent);
            } else {
                ctx.ibput(to, &sent[..], dst, sst, block, count, pe).await?;
            }
            ctx.quiet().await?;
            assert_eq!(ctx.get(to, pe).await?, expected, "{dst} {sst} {block} {count}");
            let buffer = vec![T::zeroed(); LEN];
            let got = if block == 1 {
                ctx.iget(buffer, to, sst, dst, count, pe).await?
            } else {
                ctx.ibget(buffer, to, sst, dst, block, count, pe).await?
            };
            assert_eq!(got, gathered, "{dst} {sst} {block} {count}");
        }
    }
    world.barrier_all().await
}

async fn everything_of<T: Sample>(world: &World) -> oxshmem::Result<()> {
    for len in [0, 1, 5] {
        transfers::<T>(world, len).await?;
    }
    values_and_arrays::<T>(world).await?;
    strides::<T>(world).await
}

async fn every_type(world: World) -> oxshmem::Result<()> {
    macro_rules! all {
        ($($name:ty),*) => {$( everything_of::<$name>(&world).await?; )*};
    }
    all!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, [u8; 3], Cell);
    transfers::<u64>(&world, 4096).await?;
    transfers::<[u8; 3]>(&world, 4095).await?;
    transfers::<Cell>(&world, 333).await
}

#[test]
fn what_is_put_is_what_is_got_for_every_type_length_buffer_and_pe() {
    let _limit = time_limit(90);
    on_pes(settings(), every_type);
}

#[test]
fn what_a_helper_thread_copies_arrives_just_so() {
    let _limit = time_limit(90);
    common::cluster(3, offloading(), every_type).unwrap();
}

#[test]
fn what_processes_put_is_what_they_get() {
    let _limit = time_limit(90);
    for offload in ["off", "1"] {
        let job = Job::new(test_name!(), 2).env(&format!("SHMEM_OFFLOAD_THRESHOLD={offload}"));
        job.run(|world| async move {
            everything_of::<u8>(&world).await?;
            everything_of::<Cell>(&world).await?;
            everything_of::<f64>(&world).await?;
            transfers::<u64>(&world, 50_000).await
        });
    }
}

#[test]
fn an_aligned_word_is_never_seen_torn() {
    let _limit = time_limit(90);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let words = world.alloc_zeroed::<u64>(3).await?;
        let halves = world.alloc_zeroed::<u32>(3).await?;
        for i in 0..20_000u64 {
            let byte = (i + world.my_pe() as u64) % 255;
            let word = byte * 0x0101_0101_0101_0101;
            world.context().p(words.at(1), word, i as usize % n).await?;
            world.context().put(halves.at(1), word as u32, i as usize % n).await?;
            let (seen, half) =
                (words.at(1).load(), world.context().g(halves.at(1), (i as usize + 1) % n).await?);
            assert_eq!(seen, (seen & 255) * 0x0101_0101_0101_0101);
            assert_eq!(half, (half & 255) * 0x0101_0101);
            if i % 1000 == 0 {
                tokio::task::yield_now().await;
            }
        }
        world.barrier_all().await?;
        assert_eq!((words.at(0).load(), words.at(2).load()), (0, 0), "neighbours are untouched");
        assert_eq!((halves.at(0).load(), halves.at(2).load()), (0, 0));
        Ok(())
    });
}
