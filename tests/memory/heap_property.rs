//! Random programs of allocations: all PEs of a cluster run the same one, and what every slice
//! holds is checked on every PE after every step.

use crate::common::{cluster, on_pes, settings, time_limit};
use oxshmem::{Error, prelude::*};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Alloc { len: usize, zeroed: bool, align: usize },
    Realloc { which: usize, len: usize, clone: bool },
    Free { which: usize },
    Drop { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![4 => 0..200usize, 1 => 0..40_000usize];
    prop_oneof![
        4 => (len.clone(), any::<bool>(), 0..14u32).prop_map(|(len, zeroed, shift)| Step::Alloc {
            len,
            zeroed,
            align: 1 << shift
        }),
        3 => (any::<usize>(), len, any::<bool>())
            .prop_map(|(which, len, clone)| Step::Realloc { which, len, clone }),
        2 => any::<usize>().prop_map(|which| Step::Free { which }),
        2 => any::<usize>().prop_map(|which| Step::Drop { which }),
    ]
}

/// A slice with what it must hold on this PE.
struct Held {
    slice: SymSlice<u32>,
    /// What the owner wrote; the rest is unspecified.
    values: Vec<u32>,
}

impl Held {
    /// Every PE fills the instance of its right neighbour, so that a wrong place on any PE is
    /// found.
    async fn fill(&mut self, world: &World, seed: u32) -> oxshmem::Result<()> {
        let (me, n) = (world.my_pe(), world.n_pes());
        let value = |pe: usize, i: usize| seed.wrapping_mul(31) ^ (pe as u32) << 20 ^ i as u32;
        let right = (me + 1) % n;
        let theirs: Vec<u32> = (0..self.slice.len()).map(|i| value(right, i)).collect();
        self.values = (0..self.slice.len()).map(|i| value(me, i)).collect();
        world.context().put(&self.slice, theirs, right).await?;
        world.barrier_all().await
    }

    fn check(&self) {
        assert_eq!(self.slice.slice(..self.values.len()).to_vec(), self.values);
    }
}

async fn run(world: World, steps: Vec<Step>) -> oxshmem::Result<()> {
    let mut held: Vec<Held> = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Alloc { len, zeroed, align } => {
                let slice = if zeroed {
                    world.alloc_zeroed::<u32>(len).await
                } else {
                    world.alloc_aligned::<u32>(len, align).await
                };
                let slice = match slice {
                    Err(Error::HeapExhausted { .. }) => continue,
                    slice => slice?,
                };
                if zeroed {
                    assert!(slice.view().to_vec().iter().all(|&word| word == 0));
                } else if len > 0 {
                    assert_eq!(slice.view().ptr(world.my_pe()).expect("this PE's own").addr() % align, 0);
                }
                world.barrier_all().await?;
                let mut new = Held { slice, values: Vec::new() };
                new.fill(&world, number as u32).await?;
                held.push(new);
            }
            Step::Realloc { which, len, clone } if !held.is_empty() => {
                let which = which % held.len();
                let Held { slice, mut values } = held.swap_remove(which);
                let _clone = clone.then(|| slice.clone());
                let (slice, moved) = match world.realloc(slice, len).await {
                    Ok(slice) => (slice, true),
                    Err(rejected) => {
                        assert!(matches!(rejected.error, Error::HeapExhausted { .. }), "{}", rejected.error);
                        (rejected.buffer, false)
                    }
                };
                assert_eq!(slice.len(), if moved { len } else { values.len() });
                values.truncate(slice.len());
                let mut new = Held { slice, values };
                new.check();
                // A neighbour that is ahead must not write what is being checked.
                world.barrier_all().await?;
                new.fill(&world, number as u32).await?;
                held.push(new);
            }
            Step::Free { which } if !held.is_empty() => {
                let which = which % held.len();
                world.free(held.swap_remove(which).slice).await?;
            }
            Step::Drop { which } if !held.is_empty() => {
                let which = which % held.len();
                drop(held.swap_remove(which));
            }
            _ => {}
        }
        held.iter().for_each(Held::check);
    }
    drop(held);
    world.barrier_all().await?;
    world.reclaim().await?;
    let left = world.heap_use();
    assert_eq!((left.used, left.blocks), (0, 0));
    Ok(())
}

#[test]
fn random_programs_keep_every_slice_whole_and_leak_nothing() {
    let _limit = time_limit(60);
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in proptest::collection::vec(step(), 1..60), n in 1..4usize)| {
        let mut settings = settings();
        settings.symmetric_size = 512 << 10;
        let done = cluster(n, settings, |world| run(world, steps.clone()));
        prop_assert!(done.is_ok(), "with {n} PEs: {}", done.unwrap_err());
    });
}

#[test]
fn many_blocks_that_pes_drop_in_orders_of_their_own_are_freed() {
    const BLOCKS: usize = 3000;
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let me = world.my_pe();
        let mut blocks = Vec::new();
        for _ in 0..BLOCKS {
            blocks.push(Some(world.alloc::<u64>(1).await?));
        }
        // Each PE keeps every seventh, and one of the others that no other PE keeps.
        let stays = |i: usize| i.is_multiple_of(7) || i == 7 * me + 1;
        for k in 0..BLOCKS {
            let i = (k * 1009 + 500 * me) % BLOCKS;
            if !stays(i) {
                blocks[i] = None;
            }
            if k % 1000 == 0 {
                // Frees some of what all have dropped by now.
                drop(world.alloc::<u64>(1).await?);
            }
        }
        world.reclaim().await?;
        let stay = (0..BLOCKS).filter(|i| i.is_multiple_of(7) || i % 7 == 1 && i / 7 < world.n_pes()).count();
        assert_eq!(world.heap_use().blocks, stay);
        // What is kept is kept whole, also when others have the rest.
        for (i, block) in blocks.iter().enumerate() {
            block.iter().for_each(|block| block.at(0).store(i as u64));
        }
        drop(world.alloc_zeroed::<u64>(8 * (BLOCKS - stay)).await?);
        let whole = |(i, block): (usize, &Option<SymSlice<u64>>)| {
            block.as_ref().is_none_or(|block| block.at(0).load() == i as u64)
        };
        assert!(blocks.iter().enumerate().all(whole));
        drop(blocks);
        world.reclaim().await?;
        assert_eq!((world.heap_use().blocks, world.heap_use().used), (0, 0));
        Ok(())
    });
}
