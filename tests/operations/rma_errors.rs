//! What put, get and their kin refuse: with an error that says why, nothing copied, and the buffer
//! given back.

use crate::common::{cluster, offloading, on_pes, pe_counts, refused, settings, time_limit};
use oxshmem::{Error, Rejected, prelude::*};

#[test]
fn a_pe_out_of_range_is_refused_and_the_buffer_comes_back() {
    let _limit = time_limit(60);
    for settings in [settings(), offloading()] {
        on_pes(settings, |world| async move {
            let (n, ctx) = (world.n_pes(), world.context());
            let slice = world.alloc_zeroed::<u64>(4).await?;
            for pe in [n, n + 1, usize::MAX] {
                let check = |call: &str, error: Error| {
                    let text = error.to_string();
                    assert!(
                        matches!(error, Error::PeOutOfRange { pe: p, n_pes, .. } if p == pe && n_pes == n)
                    );
                    assert!(text.starts_with(&format!("{call}: PE {pe} is out of range")), "{text}");
                };
                let Rejected { error, buffer } = ctx.put(&slice, vec![1, 2, 3, 4], pe).await.unwrap_err();
                check("put", error);
                assert_eq!(buffer, [1, 2, 3, 4]);
                let Rejected { error, buffer } = ctx.put_nbi(&slice, vec![5; 4], pe).await.unwrap_err();
                check("put_nbi", error);
                assert_eq!(buffer, [5; 4]);
                let Rejected { error, buffer } = ctx.get_into(vec![6; 4], &slice, pe).await.unwrap_err();
                check("get", error);
                assert_eq!(buffer, [6; 4]);
                let Rejected { error, buffer } = ctx.get_nbi(vec![7; 4], &slice, pe).await.unwrap_err();
                check("get_nbi", error);
                assert_eq!(buffer, [7; 4]);
                let rejected = ctx.iput(&slice, [8; 4], 1, 1, 4, pe).await.unwrap_err();
                check("iput", rejected);
                let rejected = ctx.ibget([9; 4], &slice, 2, 2, 2, 2, pe).await.unwrap_err();
                check("ibget", rejected);
                let signal = slice.at(0);
                let rejected = ctx.put_signal(&slice, [1; 4], signal, Signal::Set(1), pe).await.unwrap_err();
                check("put_signal", rejected);
                let rejected =
                    ctx.put_signal_nbi(&slice, vec![1; 4], signal, Signal::Set(1), pe).await.unwrap_err();
                check("put_signal_nbi", rejected.error);
                assert_eq!(rejected.buffer, [1; 4]);
                check("p", ctx.p(slice.at(0), 1, pe).await.unwrap_err());
                check("g", ctx.g(slice.at(0), pe).await.unwrap_err());
                check("swap", ctx.swap(slice.at(0), 1, pe).await.unwrap_err());
                check("inc", ctx.inc(slice.at(0), pe).await.unwrap_err());
                check("signal_add", ctx.signal_add(signal, 1, pe).await.unwrap_err());
                check("pe_quiet", ctx.pe_quiet(&[0, pe]).await.unwrap_err());
                let broadcast = world.broadcast_bytes(Some(vec![1]), pe).await.unwrap_err();
                check("broadcast_bytes", broadcast);
            }
            world.barrier_all().await?;
            assert_eq!(slice.view().to_vec(), [0; 4]);
            Ok(())
        });
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let _limit = time_limit(60);
    for settings in [settings(), offloading()] {
        on_pes(settings, |world| async move {
            let ctx = world.context();
            let slice = world.alloc_zeroed::<u32>(4).await?;
            let check = |error: Error, source: usize, dest: usize| {
                let Error::LengthMismatch { source_len, dest_len, .. } = error else { panic!("{error}") };
                assert_eq!((source_len, dest_len), (source, dest));
            };
            for len in [0, 3, 5] {
                let rejected = ctx.put(&slice, vec![1; len], 0).await.unwrap_err();
                assert_eq!(rejected.buffer.len(), len);
                check(rejected.error, len, 4);
                check(ctx.put_nbi(&slice, vec![1; len], 0).await.unwrap_err().error, len, 4);
                check(ctx.get_into(vec![1; len], &slice, 0).await.unwrap_err().error, 4, len);
                check(ctx.get_nbi(vec![1; len], &slice, 0).await.unwrap_err().error, 4, len);
            }
            check(refused(ctx.put(&slice, 1u32, 0).await), 1, 4);
            assert_eq!(slice.view().to_vec(), [0; 4]);
            Ok(())
        });
    }
}

#[test]
fn strides_that_leave_a_buffer_or_overlap_are_refused() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let ctx = world.context();
        let slice = world.alloc_zeroed::<u32>(10).await?;
        let out_of_range = [(2, 1, 1, 6), (1, 2, 1, 6), (1, 1, 1, 11), (4, 4, 3, 3), (usize::MAX, 1, 1, 3)];
        for (dst, sst, block, count) in out_of_range {
            let error = refused(ctx.ibput(&slice, [1; 10], dst, sst, block, count, 0).await);
            assert!(matches!(error, Error::StrideOutOfRange { .. }), "{dst} {sst} {block} {count}: {error}");
            let error = refused(ctx.ibget([1; 10], &slice, dst, sst, block, count, 0).await);
            assert!(matches!(error, Error::StrideOutOfRange { .. }), "{dst} {sst} {block} {count}: {error}");
        }
        for (dst, sst, block) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 2, 2), (2, 1, 2)] {
            let error = refused(ctx.ibput(&slice, [1; 10], dst, sst, block, 1, 0).await);
            assert!(matches!(error, Error::InvalidStride { .. }), "{dst} {sst} {block}: {error}");
        }
        assert_eq!(slice.view().to_vec(), [0; 10]);
        Ok(())
    });
}

#[test]
fn strides_that_lead_to_no_other_block_may_be_any_numbers() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        // Each PE has three on every other.
        let slice = world.alloc_zeroed::<u64>(3 * n).await?;
        let own = slice.slice(3 * me..3 * me + 3);
        let far = usize::MAX;
        for pe in 0..n {
            ctx.iput(own, [5], far, far, 1, pe).await?;
            ctx.ibput(own.slice(1..), [6, 7], far - 1, far, 2, 1, pe).await?;
            // The largest blocks, but none of them.
            ctx.ibput(own, [9; 3], far, far, far, 0, pe).await?;
            ctx.quiet().await?;
            assert_eq!(ctx.iget([0; 2], own, far, far, 1, pe).await?, [5, 0]);
            assert_eq!(ctx.ibget([0; 3], own.slice(1..), far, far - 1, 2, 1, pe).await?, [6, 7, 0]);
            assert_eq!(ctx.ibget([0; 3], own, far, far, far, 0, pe).await?, [0; 3]);
        }
        world.barrier_all().await?;
        assert_eq!(slice.view().to_vec(), [5, 6, 7].repeat(n));
        Ok(())
    });
}

#[test]
fn counts_beyond_all_numbers_are_refused_like_others() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let ctx = world.context();
        let slice = world.alloc_zeroed::<u32>(10).await?;
        for (block, count) in [(1, usize::MAX), (usize::MAX / 2, 3), (2, usize::MAX / 2 + 1)] {
            let error = refused(ctx.ibput(&slice, [1; 10], block, block, block, count, 0).await);
            assert!(matches!(error, Error::StrideOutOfRange { .. }), "{error}");
            let error = refused(ctx.ibget([1; 10], &slice, block, block, block, count, 0).await);
            assert!(matches!(error, Error::StrideOutOfRange { .. }), "{error}");
        }
        Ok(())
    });
}

#[test]
fn memory_of_another_job_is_refused() {
    let _limit = time_limit(60);
    let foreign = cluster(1, settings(), |world| async move { world.alloc_zeroed::<u64>(8).await });
    let foreign = foreign.unwrap().remove(0);
    for n in pe_counts() {
        let foreign = foreign.clone();
        let done = cluster(n, settings(), move |world| {
            let foreign = foreign.clone();
            async move {
                let ctx = world.context();
                let own = world.alloc_zeroed::<u64>(8).await?;
                let check = |error: Error| assert!(matches!(error, Error::ForeignMemory { .. }), "{error}");
                check(ctx.put(&foreign, vec![1; 8], 0).await.unwrap_err().error);
                check(ctx.get(&foreign, 0).await.unwrap_err());
                check(ctx.p(foreign.at(0), 1, 0).await.unwrap_err());
                check(ctx.add(foreign.at(0), 1, 0).await.unwrap_err());
                check(ctx.put_signal(&own, [1; 8], foreign.at(0), Signal::Set(1), 0).await.unwrap_err());
                check(ctx.put_signal(&foreign, [1; 8], own.at(0), Signal::Set(1), 0).await.unwrap_err());
                world.barrier_all().await?;
                assert_eq!(own.view().to_vec(), [0; 8]);
                Ok(())
            }
        });
        done.unwrap();
    }
}

#[test]
fn the_error_of_a_dropped_future_is_reported_by_quiet_exactly_once() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let n = world.n_pes();
        let ctx = world.create_context(ContextOptions::new())?;
        let slice = world.alloc_zeroed::<u64>(1).await?;
        drop(ctx.put(&slice, [1], n));
        drop(ctx.fetch_inc(slice.at(0), n + 1));
        drop(ctx.put(&slice, [1], 0));
        // Oldest first, one for each quiet, and none on another context.
        world.context().quiet().await?;
        for pe in [n, n + 1] {
            let error = ctx.quiet().await.unwrap_err();
            assert!(matches!(error, Error::PeOutOfRange { pe: p, .. } if p == pe), "{error}");
        }
        ctx.quiet().await?;
        // What was awaited is not reported again.
        assert!(ctx.p(slice.at(0), 1, n).await.is_err());
        ctx.quiet().await?;
        // destroy completes, and so reports.
        drop(ctx.g(slice.at(0), n));
        assert!(matches!(ctx.destroy().await, Err(Error::PeOutOfRange { .. })));
        // A barrier is a quiet too, and all PEs come through it.
        drop(world.context().p(slice.at(0), 1, n));
        assert!(matches!(world.barrier_all().await, Err(Error::PeOutOfRange { .. })));
        world.barrier_all().await
    });
}

#[test]
fn indices_out_of_range_panic_as_those_of_slices_do() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let slice = world.alloc_zeroed::<u8>(10).await?;
        let panics = |what: &dyn Fn()| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).expect_err("a panic");
        };
        panics(&|| slice.at(10).store(1));
        panics(&|| drop(slice.slice(5..11).to_vec()));
        panics(&|| drop(slice.slice(11..).to_vec()));
        panics(&|| drop(slice.slice(..=10).to_vec()));
        panics(&|| drop(slice.slice(3..5).slice(..3).to_vec()));
        panics(&|| slice.view().write(&[0; 9]));
        Ok(())
    });
}
