//! The symmetric heap as a user meets it: allocating, resizing, giving up and running out, on all
//! PEs together.

use crate::common::{
    self, Job, cluster, is_pending, is_played, on_pes, pe_counts, settings, test_name, time_limit,
};
use oxshmem::{Error, Rejected, prelude::*, settings::CheckAlloc};

#[test]
fn every_way_to_allocate_gives_memory_that_every_pe_can_reach() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let slices = [
            world.alloc::<u64>(100).await?,
            world.alloc_zeroed::<u64>(100).await?,
            world.alloc_aligned::<u64>(100, 4096).await?,
            world.alloc_with_hints::<u64>(100, Hints::ATOMICS_REMOTE | Hints::SIGNAL_REMOTE).await?,
        ];
        for (i, slice) in slices.iter().enumerate() {
            assert_eq!(slice.len(), 100);
            let block: Vec<u64> = (0..100).map(|k| (me * 1000 + i * 100 + k) as u64).collect();
            world.context().put(slice, block, (me + 1) % n).await?;
        }
        world.barrier_all().await?;
        let left = (me + n - 1) % n;
        for (i, slice) in slices.iter().enumerate() {
            let expected: Vec<u64> = (0..100).map(|k| (left * 1000 + i * 100 + k) as u64).collect();
            assert_eq!(slice.view().to_vec(), expected);
        }
        Ok(())
    });
}

#[test]
fn alignments_up_to_a_gibibyte_hold_on_every_pe() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let mut settings = settings();
        settings.symmetric_size = 3 << 30;
        let done = cluster(n, settings, |world| async move {
            for align in [1, 8, 64, 4096, 1 << 16, 1 << 21, 1 << 30] {
                let slice = world.alloc_aligned::<u8>(10, align).await?;
                // The PEs of this host have addresses.
                for pe in 0..world.n_pes() {
                    let address = slice.view().ptr(pe).map_or(0, |address| address.addr());
                    assert_eq!(address % align, 0, "{address:#x} on PE {pe}");
                }
            }
            for align in [0, 3, 48, 1 << 31, usize::MAX] {
                let error = world.alloc_aligned::<u8>(10, align).await.unwrap_err();
                assert!(matches!(error, Error::InvalidAlignment { align: a, .. } if a == align), "{error}");
            }
            let typed = world.alloc_aligned::<u128>(1, 1).await?;
            assert_eq!(
                typed.view().ptr(world.my_pe()).expect("this PE's own").addr() % align_of::<u128>(),
                0
            );
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn in_processes_alignments_hold_at_home_and_heaps_do_not_lie_on_top_of_each_other_in_a_cache() {
    let _limit = time_limit(60);
    let job = [
        "SHMEM_SYMMETRIC_SIZE=3G",
        "SHMEM_ENABLE_CPU_SPACE=1",
        "SHMEM_ENABLE_GPU_SPACE=1",
        "SHMEM_GPU_EMULATE=1",
        "SHMEM_GPU_SYMMETRIC_SIZE=2G",
    ];
    job.into_iter().fold(Job::new(test_name!(), 3), Job::env).run(|world| async move {
        let me = world.my_pe();
        let gpu = world.space(SpaceKind::Gpu)?;
        for align in [8, 4096, 1 << 21, 1 << 30] {
            let slice = world.alloc_aligned::<u8>(10, align).await?;
            let own = slice.view().ptr(me).expect("this PE's own").addr();
            assert_eq!(own % align, 0, "{own:#x} on PE {me}");
            for pe in (0..world.n_pes()).filter(|&pe| pe != me) {
                let Some(there) = slice.view().ptr(pe) else { continue };
                assert_eq!(there.addr() % align.min(1 << 21), 0, "{there:p} on PE {pe}");
                // The bits that AMD's processors hash.
                assert_ne!(there.addr().abs_diff(own) % (1 << 28), 0, "{there:p} and {own:#x}");
            }
            let on_device = gpu.alloc_aligned::<u8>(10, align).await?;
            assert_eq!(on_device.view().own().addr() % align, 0, "on the device of PE {me}");
        }
        world.barrier_all().await
    });
}

#[test]
fn zeroed_memory_is_zero_on_every_pe_also_where_others_have_written() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        for round in 0..4 {
            let len = 3000 + 500 * round;
            let dirty = world.alloc::<u64>(len).await?;
            for pe in 0..world.n_pes() {
                world.context().put(&dirty, vec![u64::MAX; len], pe).await?;
            }
            world.barrier_all().await?;
            world.free(dirty).await?;
            let clean = world.alloc_zeroed::<u64>(len + 100).await?;
            for pe in 0..world.n_pes() {
                assert!(world.context().get(&clean, pe).await?.iter().all(|&word| word == 0));
            }
            world.barrier_all().await?;
            clean.view().fill(u64::MAX);
            // Dropped: the next allocation reclaims it.
        }
        Ok(())
    });
}

#[test]
fn memory_after_realloc_zeroed_is_still_zeroed() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        // Grown in place over memory that was never handed out, then dirtied and given back.
        let slice = world.alloc_zeroed::<u8>(100).await?;
        let slice = world.realloc(slice, 100_000).await?;
        slice.view().fill(0xee);
        world.free(slice).await?;
        let clean = world.alloc_zeroed::<u8>(200_000).await?;
        assert!(clean.view().to_vec().iter().all(|&byte| byte == 0));
        world.barrier_all().await
    });
}

#[test]
fn realloc_keeps_what_both_lengths_have() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let me = world.my_pe() as u32;
        let value = |i: usize| me * 1_000_000 + i as u32;
        let check = |slice: &SymSlice<u32>, len: usize, kept: usize| {
            assert_eq!(slice.len(), len);
            let values = slice.view().to_vec();
            assert!((0..kept).all(|i| values[i] == value(i)));
        };
        let mut slice = world.alloc::<u32>(1000).await?;
        slice.view().write(&(0..1000).map(value).collect::<Vec<_>>());
        let at = place(&slice);
        // Grows and shrinks in place, as nothing is behind it.
        slice = world.realloc(slice, 3000).await?;
        assert_eq!(place(&slice), at);
        check(&slice, 3000, 1000);
        slice = world.realloc(slice, 500).await?;
        assert_eq!(place(&slice), at);
        check(&slice, 500, 500);
        // Moves, as something is in the way.
        let wall = world.alloc_zeroed::<u32>(10).await?;
        slice = world.realloc(slice, 20_000).await?;
        assert_ne!(place(&slice), at);
        check(&slice, 20_000, 500);
        assert!(wall.view().to_vec().iter().all(|&word| word == 0));
        // Down to nothing and up again.
        slice = world.realloc(slice, 0).await?;
        assert!(slice.is_empty());
        slice = world.realloc(slice, 10).await?;
        assert_eq!(slice.len(), 10);
        world.reclaim().await?;
        drop(wall);
        world.free(slice).await?;
        assert_eq!((world.heap_use().used, world.heap_use().free_blocks), (0, 1));
        Ok(())
    });
}

#[test]
fn realloc_of_a_slice_with_clones_leaves_them_the_old_memory() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let me = world.my_pe() as u64;
        let slice = world.alloc::<u64>(10).await?;
        slice.view().fill(me + 1);
        // One PE alone has a clone: all of them must do the same.
        let clone = (me == 0).then(|| slice.clone());
        let longer = world.realloc(slice, 50).await?;
        assert_eq!(longer.slice(..10).to_vec(), vec![me + 1; 10]);
        longer.view().fill(99);
        if let Some(clone) = &clone {
            assert_eq!(clone.view().to_vec(), vec![me + 1; 10]);
        }
        world.reclaim().await?;
        assert_eq!(world.heap_use().blocks, 2, "the clone keeps its block");
        drop(clone);
        world.reclaim().await?;
        assert_eq!(world.heap_use().blocks, 1);
        Ok(())
    });
}

#[test]
fn empty_slices_involve_no_other_pe_and_are_allowed_everywhere() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        if world.my_pe() == 0 {
            let empty = world.alloc::<u64>(0).await?;
            assert!(empty.is_empty() && empty.view().to_vec().is_empty());
            world.context().put(&empty, Vec::new(), world.n_pes() - 1).await?;
            assert_eq!(world.context().get(&empty, world.n_pes() - 1).await?, Vec::<u64>::new());
            world.free(empty).await?;
            assert_eq!(world.alloc::<[u8; 0]>(7).await?.len(), 7);
        }
        Ok(())
    });
}

#[test]
fn dropped_memory_is_free_for_the_next_allocation_and_clones_keep_it() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let big = 10 << 20;
        let first = world.alloc::<u8>(big).await?;
        let at = place(&first);
        let part = first.slice(5..6).to_owned();
        drop(first);
        // 16 MiB have no room for two of them while a part of one is held.
        let error = world.alloc::<u8>(big).await.unwrap_err();
        assert!(matches!(error, Error::HeapExhausted { .. }), "{error}");
        world.free(part).await?;
        let second = world.alloc::<u8>(big).await?;
        assert_eq!(place(&second), at);
        let clone = second.clone();
        world.free(second).await?;
        assert_eq!(world.heap_use().blocks, 1);
        clone.view().fill(1);
        drop(clone);
        world.reclaim().await?;
        assert_eq!(world.heap_use().used, 0);
        Ok(())
    });
}

#[test]
fn memory_that_one_pe_still_holds_is_not_reused() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let slice = world.alloc::<u64>(100).await?;
        slice.view().fill(7);
        let held = (me == n - 1).then(|| slice.clone());
        drop(slice);
        for _ in 0..3 {
            let other = world.alloc_zeroed::<u64>(100).await?;
            other.view().fill(9);
        }
        if let Some(held) = &held {
            assert_eq!(held.view().to_vec(), vec![7; 100]);
            // It is still symmetric: the others' instances are there.
            world.context().put(held, vec![8; 100], 0).await?;
        }
        world.barrier_all().await
    });
}

#[test]
fn exhaustion_says_how_much_was_asked_and_is_free_and_what_to_raise() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let held = world.alloc::<u8>(8 << 20).await?;
        let error = world.alloc::<u64>(2 << 20).await.unwrap_err();
        let Error::HeapExhausted { asked, free, largest, size, setting, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((asked, free, largest, size), (16 << 20, 8 << 20, 8 << 20, 16 << 20));
        assert_eq!(setting, "SHMEM_SYMMETRIC_SIZE");
        let text = error.to_string();
        for part in ["alloc", "16777216", "8388608", "SHMEM_SYMMETRIC_SIZE"] {
            assert!(text.contains(part), "{text}");
        }
        // More than there can ever be, and more than a number holds.
        for len in [usize::MAX / 8, usize::MAX] {
            assert!(matches!(world.alloc::<u64>(len).await, Err(Error::HeapExhausted { .. })));
        }
        // realloc gives the slice back as it was.
        held.view().fill(3);
        let Rejected { error, buffer } = world.realloc(held, 17 << 20).await.unwrap_err();
        assert!(matches!(error, Error::HeapExhausted { .. }), "{error}");
        assert_eq!((buffer.len(), buffer.at(12345).load()), (8 << 20, 3));
        // And the heap goes on.
        let rest = world.alloc_zeroed::<u8>(8 << 20).await?;
        assert_eq!(world.heap_use().free, 0);
        drop((rest, buffer));
        world.alloc::<u8>(16 << 20).await.map(drop)
    });
}

#[test]
fn what_was_dropped_relieves_exhaustion() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        // More blocks than one agreement looks at, all given up, and then one that needs all of
        // them.
        let small: Vec<_> = allocate(&world, 1200, 8 << 10).await?;
        drop(small);
        let all = world.alloc::<u8>(16 << 20).await?;
        world.free(all).await?;
        assert_eq!(world.heap_use().used, 0);
        Ok(())
    });
}

#[test]
fn what_was_dropped_relieves_exhaustion_in_realloc_too() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let small: Vec<_> = allocate(&world, 1200, 8 << 10).await?;
        let grows = world.alloc::<u8>(1 << 20).await?;
        grows.view().fill(5);
        // Wherever the agreements stand in the list of blocks, all of it must be looked through.
        for _ in 0..3 {
            drop(world.alloc::<u8>(1).await?);
        }
        drop(small);
        // What the small ones leave, in front of it. It fits nowhere else.
        let grown = world.realloc(grows, 9 << 20).await?;
        assert_eq!(grown.at((1 << 20) - 1).load(), 5);
        Ok(())
    });
}

/// Where in the heap it is.
fn place<T: Element>(slice: &SymSlice<T>) -> usize {
    slice.view().extent().offset
}

async fn allocate(world: &World, count: usize, bytes: usize) -> oxshmem::Result<Vec<SymSlice<u8>>> {
    let mut slices = Vec::new();
    for _ in 0..count {
        slices.push(world.alloc::<u8>(bytes).await?);
    }
    Ok(slices)
}

#[test]
fn of_thousands_of_slices_dropped_at_random_none_leaks() {
    let _limit = time_limit(60);
    for n in [1, 3] {
        let done = cluster(n, settings(), |world| async move {
            // Each PE drops in an order of its own; the set of what is dropped is the same in the
            // end.
            let mut own = common::Random::new(world.my_pe() as u64 + 1);
            let mut slices = Vec::new();
            for i in 0..1700 {
                slices.push(world.alloc::<u8>(1 + i % 300).await?);
                if i % 3 == 0 {
                    let at = own.below(slices.len() as u64) as usize;
                    drop(slices.swap_remove(at));
                }
            }
            while !slices.is_empty() {
                let at = own.below(slices.len() as u64) as usize;
                drop(slices.swap_remove(at));
            }
            world.reclaim().await?;
            let left = world.heap_use();
            assert_eq!((left.used, left.blocks, left.free_blocks), (0, 0, 1), "{left:?}");
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn free_frees_at_once_however_many_other_slices_are_live() {
    let _limit = time_limit(60);
    let done = cluster(2, settings(), |world| async move {
        let others = allocate(&world, 1300, 8).await?;
        let one = world.alloc::<u8>(1 << 20).await?;
        let used = world.heap_use().used;
        world.free(one).await?;
        assert_eq!(world.heap_use().used, used - (1 << 20));
        drop(others);
        Ok(())
    });
    done.unwrap();
}

#[test]
fn pes_that_allocate_differently_get_an_error_that_names_both() {
    let _limit = time_limit(60);
    for n in pe_counts().into_iter().filter(|&n| n > 1) {
        let done = cluster(n, settings(), |world| async move {
            let odd = world.my_pe() == 1;
            let error = world.alloc::<u64>(if odd { 11 } else { 10 }).await.unwrap_err();
            let Error::CollectiveMismatch { pe_a: 0, call_a, pe_b: 1, call_b } = &error else {
                panic!("{error}");
            };
            assert_eq!(call_a, "alloc of 80 bytes aligned to 8");
            assert_eq!(call_b, "alloc of 88 bytes aligned to 8");
            // Different calls, alignments and slices differ too.
            let error = if odd {
                world.alloc_zeroed::<u64>(10).await.unwrap_err()
            } else {
                world.alloc::<u64>(10).await.unwrap_err()
            };
            assert!(error.to_string().contains("PE 1 calls alloc_zeroed of 80 bytes"), "{error}");
            let align = if odd { 64 } else { 128 };
            assert!(matches!(
                world.alloc_aligned::<u8>(1, align).await,
                Err(Error::CollectiveMismatch { .. })
            ));
            let (a, b) = (world.alloc::<u8>(64).await?, world.alloc::<u8>(64).await?);
            let (first, second) = if odd { (b, a) } else { (a, b) };
            let error = world.free(first).await.map_err(Error::from);
            assert!(matches!(error, Err(Error::CollectiveMismatch { .. })), "{error:?}");
            // The heap goes on as if nothing had been asked.
            drop(second);
            world.reclaim().await?;
            assert_eq!(world.heap_use().used, 0);
            world.alloc::<u8>(1).await.map(drop)
        });
        done.unwrap();
    }
}

#[test]
fn different_allocations_may_be_a_warning_or_nothing() {
    let _limit = time_limit(60);
    for check in ["warn", "off"] {
        let ended =
            Job::new(test_name!(), 3).env(&format!("SHMEM_CHECK_ALLOC={check}")).run(|world| async move {
                let len = 10 + usize::from(world.my_pe() == 2);
                let slice = world.alloc::<u64>(len).await?;
                assert_eq!(slice.len(), len);
                world.barrier_all().await
            });
        let warnings = ended.stderr.matches("warning: PEs differ in a collective call: PE 0").count();
        assert_eq!(warnings, usize::from(check == "warn"), "{}", ended.stderr);
    }
}

#[test]
fn different_allocations_of_a_space_that_some_pes_have_may_be_a_warning_or_nothing() {
    let _limit = time_limit(60);
    let job = [
        "SHMEM_CHECK_ALLOC=warn",
        "SHMEM_ENABLE_CPU_SPACE=1",
        "SHMEM_ENABLE_GPU_SPACE=1",
        "SHMEM_GPU_EMULATE=1",
        "SHMEM_GPU_EMULATE_PES=2,3",
    ];
    let ended = job.into_iter().fold(Job::new(test_name!(), 4), Job::env).run(|world| async move {
        if let Ok(space) = world.space(SpaceKind::Gpu) {
            space.alloc::<u8>(8 * world.my_pe()).await?;
        }
        world.barrier_all().await
    });
    // By their numbers in the space's team.
    let warnings = ended.stderr.matches("PEs differ in a collective call: PE 0 calls alloc").count();
    assert_eq!(warnings, 1, "{}", ended.stderr);
}

#[test]
fn different_allocations_do_not_hang_where_one_pe_alone_runs_out() {
    let _limit = time_limit(60);
    let mut settings = settings();
    settings.check_alloc = CheckAlloc::Off;
    let done = cluster(2, settings, |world| async move {
        let bytes = if world.my_pe() == 0 { 32 << 20 } else { 8 };
        let _ = common::soon("the end of the allocation", world.alloc::<u8>(bytes)).await;
        common::soon("a barrier", world.barrier_all()).await
    });
    done.unwrap();
}

#[test]
fn two_tasks_allocate_at_once_in_the_same_order() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        for _ in 0..20 {
            let (a, b, ()) =
                tokio::join!(world.alloc_zeroed::<u64>(100), world.alloc_zeroed::<u32>(7), async {
                    world.barrier_all().await.unwrap()
                });
            let (a, b) = (a?, b?);
            world.context().p(a.at(99), me as u64 + 1, (me + 1) % n).await?;
            world.context().p(b.at(6), me as u32 + 1, (me + 1) % n).await?;
            world.barrier_all().await?;
            let left = (me + n - 1) % n + 1;
            assert_eq!((a.at(99).load(), b.at(6).load()), (left as u64, left as u32));
        }
        Ok(())
    });
}

#[test]
fn a_heap_of_a_tebibyte_costs_nothing() {
    if is_played("address space without memory") {
        return;
    }
    let _limit = time_limit(60);
    let started = std::time::Instant::now();
    let mut settings = settings();
    settings.symmetric_size = 1 << 40;
    let done = cluster(2, settings, |world| async move {
        let slice = world.alloc_zeroed::<u64>((1 << 37) - 1000).await?;
        let last = slice.at(slice.len() - 1);
        world.context().p(last, 5, 1 - world.my_pe()).await?;
        world.barrier_all().await?;
        assert_eq!(last.load(), 5);
        assert_eq!(slice.at(1 << 36).load(), 0);
        Ok(())
    });
    done.unwrap();
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

#[test]
fn a_slice_is_seen_as_other_types_only_where_that_is_sound() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let bytes = world.alloc_zeroed::<u8>(64).await?;
        let words = bytes.slice(8..24).cast::<u64>()?;
        words.at(1).store(u64::MAX);
        assert_eq!(bytes.slice(16..24).to_vec(), [255; 8]);
        for (range, why) in [(1..9, "unaligned"), (8..15, "a rest")] {
            let error = bytes.slice(range).cast::<u64>().unwrap_err();
            assert!(matches!(error, Error::Misaligned { .. }), "{why}: {error}");
        }
        Ok(())
    });
}

#[test]
fn an_allocation_that_was_given_up_while_pending_is_not_leaked() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        for _ in 0..3 {
            let mut alloc = Box::pin(world.alloc::<u8>(1 << 20));
            let _ = is_pending(&mut alloc).await;
            drop(alloc);
        }
        world.reclaim().await?;
        world.reclaim().await?;
        assert_eq!(world.heap_use().used, 0);
        Ok(())
    });
}

#[test]
fn processes_allocate_alike() {
    let _limit = time_limit(60);
    let job = Job::new(test_name!(), 3).env("SHMEM_SYMMETRIC_SIZE=16M");
    job.run(|world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let error = world.alloc::<u8>(17 << 20).await.unwrap_err();
        assert!(error.to_string().contains("raise SHMEM_SYMMETRIC_SIZE"), "{error}");
        let error = world.alloc::<u8>(10 + me).await.unwrap_err();
        // Where there are several hosts, those of one are compared first.
        assert!(matches!(error, Error::CollectiveMismatch { pe_a, pe_b, .. } if pe_a < pe_b), "{error}");
        for round in 0..50 {
            let dirty = world.alloc::<u64>(1000 + round).await?;
            world.context().put(&dirty, vec![me as u64 + 1; dirty.len()], (me + 1) % n).await?;
            world.barrier_all().await?;
            drop(dirty);
            let clean = world.alloc_zeroed::<u64>(2000).await?;
            assert!(world.context().get(&clean, (me + 1) % n).await?.iter().all(|&word| word == 0));
            world.barrier_all().await?;
            world.free(clean).await?;
        }
        assert_eq!(world.heap_use().used, 0);
        Ok(())
    });
}
