//! Atomics of different sizes on the same bytes. Safe code comes to that by `cast`. What a word
//! comes to where two sizes write the same bytes is unspecified (`OpenSHMEM 1.6 §3.2`), but
//! operations on other bytes are never lost.

use crate::common::{cluster, settings, time_limit};
use oxshmem::prelude::*;

const TURNS: u16 = 10_000;

#[test]
fn an_operation_on_a_whole_word_and_one_on_its_half_do_not_undo_each_other() {
    let _limit = time_limit(60);
    cluster(3, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let ctx = world.context();
        for _ in 0..TURNS {
            match world.my_pe() {
                // All that this changes is the upper half.
                1 => ctx.add(word.at(0), 1 << 32, 0).await?,
                2 => {
                    ctx.inc(word.view().cast::<u32>()?.at(usize::from(cfg!(target_endian = "big"))), 0)
                        .await?
                }
                _ => break,
            }
        }
        let quarters = word.view().cast::<u16>()?;
        if world.my_pe() == 0 {
            // Looks at 2 of the 8 and 4 bytes that the others write.
            for at in [0, 2].map(|at| at + usize::from(cfg!(target_endian = "big"))) {
                quarters.at(at).wait_until(Cmp::Eq, TURNS).await?;
            }
        }
        world.barrier_all().await?;
        if world.my_pe() == 0 {
            assert_eq!(word.at(0).load(), u64::from(TURNS) << 32 | u64::from(TURNS));
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_source_may_be_memory_that_cannot_be_written() {
    static BYTES: [u8; 300] = [7; 300];
    let _limit = time_limit(60);
    cluster(2, settings(), |world| async move {
        let bytes = world.alloc_zeroed::<u8>(BYTES.len()).await?;
        for len in [1, 2, 3, 4, 8, 15, 16, 100, 300] {
            world.context().put(bytes.slice(..len), &BYTES[..len], 1 - world.my_pe()).await?;
            world.barrier_all().await?;
            assert_eq!(bytes.slice(..len).to_vec(), BYTES[..len]);
        }
        Ok(())
    })
    .unwrap();
}
