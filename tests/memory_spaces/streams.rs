//! Streams and events of the program: operations and collectives in their order, and futures.
//!
//! The streams are CUDA's, so all of it runs on a real device or on the stand-in for the driver,
//! both in `gpu_verify`. On the emulated device there are none, which is what is tested there.

use crate::common::{self, on_pes, refused, time_limit, with_device};
use oxshmem::{Error, prelude::*};

/// What a test needs: the world, its device memory and a stream on the PE's device.
#[cfg(feature = "cuda")]
mod with {
    use std::sync::Arc;

    use cudarc::driver::{CudaContext, CudaGraph, CudaStream};
    use futures::channel::oneshot::{Sender, channel};
    use oxshmem::{StreamOp, prelude::*};

    /// A graph, which any thread may start.
    pub(crate) struct Graph(pub(crate) CudaGraph);

    // SAFETY: the driver's calls may be made from any thread; one thread at a time has it here.
    unsafe impl Send for Graph {}

    impl Graph {
        pub(crate) fn launch(&self) {
            self.0.launch().expect("a launch");
        }
    }

    /// A new stream of the PE's device. This waits for what all PEs of the process have on it, so
    /// that none may hold a stream meanwhile.
    pub(crate) fn stream(world: &World) -> Arc<CudaStream> {
        let context = CudaContext::new(world.gpu().expect("a device").ordinal()).expect("a context");
        context.new_stream().expect("a stream")
    }

    /// Has the stream wait until the sender is used.
    pub(crate) fn gate(world: &World, stream: &Arc<CudaStream>) -> (Sender<()>, StreamOp) {
        let (open, gate) = channel::<()>();
        let op = world.context().on_stream(stream).run(async move {
            let _ = gate.await;
            Ok(())
        });
        (open, op)
    }
}

/// Runs `body` where there are streams. Elsewhere it checks that the error names that.
#[cfg(feature = "cuda")]
#[track_caller]
fn with_streams<F>(body: impl Fn(World) -> F + Copy + Send + Sync + 'static)
where
    F: Future<Output = oxshmem::Result<()>> + Send + 'static,
{
    let _limit = time_limit(60);
    on_pes(with_device(), move |world| async move {
        if let Err(error) = world.gpu() {
            println!("skipped in part: {error}");
            return refused_without_streams(&world).await;
        }
        body(world).await
    });
}

async fn refused_without_streams(world: &World) -> oxshmem::Result<()> {
    let words = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(1).await?;
    // SAFETY: the default stream always exists.
    let stream = unsafe { oxshmem::StreamRef::from_raw(std::ptr::null_mut()) };
    let ctx = world.context();
    let error = refused(ctx.on_stream(stream).put(&words, words.view(), 0).await);
    assert!(matches!(&error, Error::Unsupported { what } if what.contains("emulated")), "{error}");
    let error = refused(world.team().on_stream(stream, |team| team.sync()).await);
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    world.barrier_all().await
}

fn without_streams_operations_on_them_are_refused() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move { refused_without_streams(&world).await });
}

#[cfg(feature = "cuda")]
fn streams_order_transfers_and_signals() {
    with_streams(|world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (ctx, me, n) = (world.context(), world.my_pe(), world.n_pes());
        let next = (me + 1) % n;
        let (a, b) = (gpu.alloc_zeroed::<u64>(3000).await?, gpu.alloc_zeroed::<u64>(3000).await?);
        let c = gpu.alloc_zeroed::<u64>(3000).await?;
        let host = world.alloc_zeroed::<u64>(3000).await?;
        let flags = gpu.alloc_zeroed::<u64>(3).await?;
        let mine: Vec<u64> = (0..3000).map(|i| i + 10_000 * me as u64).collect();
        a.view().write(&vec![7; 3000]);
        world.barrier_all().await?;
        let stream = with::stream(&world);
        world.barrier_all().await?;
        let on = ctx.on_stream(&stream);
        let (open, gate) = with::gate(&world, &stream);
        // Enqueued while `a` is not filled yet.
        let put = on.put_signal(&b, a.view(), flags.at(0), Signal::Add(1), next);
        let to_host = on.put(&host, a.view(), next);
        let back = on.get(c.view(), &b, me);
        let signal = on.signal(flags.at(1), Signal::Set(5), next);
        assert_eq!(flags.at(0).load(), 0);
        world.sync_all().await?; // unlike a barrier it does not wait for what is enqueued
        a.view().write(&mine);
        open.send(()).unwrap();
        gate.await?;
        put.await?;
        to_host.await?;
        signal.await?;
        back.await?;
        flags.at(0).wait_until(Cmp::Ge, 1).await?;
        flags.at(1).wait_until(Cmp::Eq, 5).await?;
        world.barrier_all().await?;
        let theirs: Vec<u64> = (0..3000).map(|i| i + 10_000 * ((me + n - 1) % n) as u64).collect();
        assert_eq!(b.view().to_vec(), theirs);
        assert_eq!(host.view().to_vec(), theirs);
        // What each found in `b` then was the data from before it, or none.
        let found = c.view().to_vec();
        assert!(found == theirs || found == vec![0; 3000] || found.contains(&0), "{:?}", &found[..3]);
        world.barrier_all().await
    });
}

#[cfg(feature = "cuda")]
fn streams_wait_for_signals_of_other_pes() {
    with_streams(|world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (ctx, me, n) = (world.context(), world.my_pe(), world.n_pes());
        let next = (me + 1) % n;
        let data = gpu.alloc_zeroed::<u64>(100).await?;
        let got = gpu.alloc_zeroed::<u64>(100).await?;
        let mine = gpu.alloc_zeroed::<u64>(100).await?;
        mine.view().fill(me as u64 + 1);
        let signals = gpu.alloc_zeroed::<u64>(8).await?;
        let on_host = world.alloc_zeroed::<u64>(1).await?;
        world.barrier_all().await?;
        let stream = with::stream(&world);
        world.barrier_all().await?;
        let on = ctx.on_stream(&stream);
        for (at, (cmp, value)) in
            [(Cmp::Ge, 1), (Cmp::Eq, 1), (Cmp::Gt, 0), (Cmp::Ne, 0)].into_iter().enumerate()
        {
            let waits = on.wait_until(signals.at(at), cmp, value);
            let copies = on.get(got.view(), &data, me);
            ctx.put_signal(&data, mine.view(), signals.at(at), Signal::Set(1), next).await?;
            waits.await?;
            copies.await?;
            assert_eq!(got.view().to_vec(), vec![((me + n - 1) % n) as u64 + 1; 100]);
            world.barrier_all().await?;
            got.view().fill(0);
            world.barrier_all().await?;
        }
        // A signal in host memory.
        let waits = on.wait_until(on_host.at(0), Cmp::Ge, 3);
        ctx.signal_set(on_host.at(0), 3, next).await?;
        waits.await?;
        world.barrier_all().await
    });
}

#[cfg(feature = "cuda")]
fn streams_and_events_are_futures() {
    with_streams(|world| async move {
        let gpu = world.gpu()?;
        let (stream, other) = (with::stream(&world), with::stream(&world));
        gpu.stream(&stream).await?;
        for turn in 0..world.n_pes() {
            // One PE at a time: the streams of a device share its queues.
            world.barrier_all().await?;
            if turn != world.my_pe() {
                continue;
            }
            let (open, gate) = with::gate(&world, &stream);
            let event = stream.record_event(None).expect("an event");
            let mut reached = gpu.event(&event);
            let mut whole = gpu.stream(&stream);
            for _ in 0..100 {
                assert!(common::poll_once(&mut reached).is_pending());
            }
            assert!(common::poll_once(&mut whole).is_pending());
            gpu.stream(&other).await?; // another stream does not wait
            open.send(()).unwrap();
            let (reached, whole) = futures::future::join(reached, whole).await;
            reached.and(whole)?;
            gate.await?;
        }
        // An event that was never recorded is over.
        let event = stream.context().new_event(None).expect("an event");
        gpu.event(&event).await?;
        world.barrier_all().await
    });
}

#[cfg(feature = "cuda")]
fn streams_events_start_operations() {
    with_streams(|world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (ctx, me, n) = (world.context(), world.my_pe(), world.n_pes());
        let next = (me + 1) % n;
        let (a, b) = (gpu.alloc_zeroed::<u32>(5000).await?, gpu.alloc_zeroed::<u32>(5000).await?);
        let host = world.alloc_zeroed::<u32>(5000).await?;
        let back = gpu.alloc_zeroed::<u32>(5000).await?;
        let flag = gpu.alloc_zeroed::<u64>(1).await?;
        world.barrier_all().await?;
        let stream = with::stream(&world);
        world.barrier_all().await?;
        let (open, gate) = with::gate(&world, &stream);
        let event = stream.record_event(None).expect("an event");
        let put = ctx.after(&event).put_signal(&b, a.view(), flag.at(0), Signal::Set(1), next);
        let far = ctx.after(&event).put(&host, a.view(), next);
        a.view().fill(me as u32 + 1);
        assert_eq!(flag.at(0).load(), 0);
        world.sync_all().await?; // unlike a barrier it does not wait for what is enqueued
        open.send(()).unwrap();
        gate.await?;
        far.await?;
        put.await?;
        ctx.quiet().await?;
        flag.at(0).wait_until(Cmp::Eq, 1).await?;
        world.barrier_all().await?;
        let before = ((me + n - 1) % n) as u32 + 1;
        assert_eq!((b.view().to_vec(), host.view().to_vec()), (vec![before; 5000], vec![before; 5000]));
        // The event is over, so this starts at once.
        ctx.after(&event).get(back.view(), &a, next).await?;
        assert_eq!(back.view().to_vec(), vec![next as u32 + 1; 5000]);
        world.barrier_all().await
    });
}

#[cfg(feature = "cuda")]
fn streams_order_collectives() {
    with_streams(|world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (ctx, me, n) = (world.context(), world.my_pe(), world.n_pes());
        let (a, sum) = (gpu.alloc_zeroed::<f32>(1000).await?, gpu.alloc_zeroed::<f32>(1000).await?);
        let all = gpu.alloc_zeroed::<f32>(1000 * n).await?;
        let stream = with::stream(&world);
        let team = world.team();
        // The driver may wait for streams that wait where it translates a kernel.
        team.sum_reduce(&sum, &a).await?;
        team.fcollect(&all, &sum).await?;
        world.barrier_all().await?;
        let on = ctx.on_stream(&stream);
        let (open, gate) = with::gate(&world, &stream);
        let summing = team.on_stream(&stream, |team| team.sum_reduce(&sum, &a));
        // It finds the sum.
        let collecting = team.on_stream(&stream, |team| team.fcollect(&all, &sum));
        let barrier = world.barrier_all_on_stream(&stream);
        let quiet = on.quiet();
        a.view().fill(me as f32 + 1.0);
        open.send(()).unwrap();
        summing.await?;
        collecting.await?;
        barrier.await?;
        quiet.await?;
        gate.await?;
        let total = (n * (n + 1) / 2) as f32;
        assert_eq!(all.view().to_vec(), vec![total; 1000 * n]);
        // In the team's order it comes where it is called.
        let (open, gate) = with::gate(&world, &stream);
        let first = team.on_stream(&stream, |team| team.sum_reduce(&sum, &sum));
        let second = team.sum_reduce(&sum, &sum);
        open.send(()).unwrap();
        second.await?;
        first.await?;
        gate.await?;
        assert_eq!(sum.at(0).load(), total * (n * n) as f32);
        // An error of a collective lets the stream go on.
        let error = refused(team.on_stream(&stream, |team| team.broadcast(&sum, &sum, n)).await);
        assert!(matches!(error, Error::PeOutOfRange { .. }), "{error}");
        world.gpu()?.stream(&stream).await?;
        world.barrier_all().await
    });
}

#[cfg(feature = "cuda")]
fn streams_are_captured_where_the_host_takes_no_part() {
    use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};

    with_streams(|world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (ctx, me, n) = (world.context(), world.my_pe(), world.n_pes());
        let next = (me + 1) % n;
        let (a, b) = (gpu.alloc_zeroed::<u64>(500).await?, gpu.alloc_zeroed::<u64>(500).await?);
        let count = gpu.alloc_zeroed::<u64>(1).await?;
        let host = world.alloc_zeroed::<u64>(500).await?;
        world.barrier_all().await?;
        let stream = with::stream(&world);
        world.barrier_all().await?;
        let on = ctx.on_stream(&stream);
        let place = world.pe().local_pe_of(next).and_then(|there| b.view().device_place(world.pe(), there));
        let address = |place| world.pe().device()?.address(world.pe().local_pe(), place);
        let reaches = place.and_then(address).is_some();
        // The PE before may be on another host.
        let before = (me + n - 1) % n;
        let here = b.view().device_place(world.pe(), world.pe().local_pe());
        let by = world.pe().local_pe_of(before).zip(here);
        let is_reached = by.and_then(|(by, here)| world.pe().device()?.address(by, here)).is_some();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        stream.begin_capture(mode).expect("a capture");
        let put = on.put_signal(&b, a.view(), count.at(0), Signal::Add(1), next).await;
        assert_eq!(put.is_ok(), reaches, "{put:?}");
        on.quiet().await?;
        let error = refused(on.put(&host, a.view(), next).await);
        assert!(error.to_string().contains("captured"), "{error}");
        let error = refused(world.barrier_all_on_stream(&stream).await);
        assert!(error.to_string().contains("captured"), "{error}");
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).expect("a graph").map(with::Graph);
        for round in 1..=3 {
            a.view().fill(round * 100 + me as u64);
            world.barrier_all().await?;
            if let Some(graph) = graph.as_ref().filter(|_| reaches) {
                graph.launch();
                world.gpu()?.stream(&stream).await?;
            }
            if is_reached {
                count.at(0).wait_until(Cmp::Eq, round).await?;
                assert_eq!(b.view().to_vec(), vec![round * 100 + before as u64; 500]);
            }
            world.barrier_all().await?;
        }
        Ok(())
    });
}

#[cfg(feature = "cuda")]
fn streams_that_are_wrong_are_refused() {
    use cudarc::driver::CudaContext;

    with_streams(|world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let (ctx, n) = (world.context(), world.n_pes());
        let a = gpu.alloc_zeroed::<u64>(10).await?;
        let stream = with::stream(&world);
        let error = refused(ctx.on_stream(&stream).put(&a, a.view(), n).await);
        assert!(matches!(error, Error::PeOutOfRange { .. }), "{error}");
        let error = refused(ctx.on_stream(&stream).put(a.slice(..3), a.view(), 0).await);
        assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        let ordinal = world.gpu()?.ordinal();
        let count = CudaContext::device_count().expect("a number") as usize;
        if count > 1 {
            let other = CudaContext::new((ordinal + 1) % count).expect("a context");
            let stream = other.new_stream().expect("a stream");
            let error = refused(ctx.on_stream(&stream).put(&a, a.view(), 0).await);
            assert!(error.to_string().contains("primary context"), "{error}");
            let error = refused(world.gpu()?.stream(&stream).await);
            assert!(error.to_string().contains("primary context"), "{error}");
        }
        world.barrier_all().await
    });
}

#[cfg(feature = "cuda")]
common::cases! {
    Processes: streams_order_transfers_and_signals
        streams_wait_for_signals_of_other_pes
        streams_and_events_are_futures
        streams_events_start_operations
        streams_order_collectives
        streams_are_captured_where_the_host_takes_no_part
        streams_that_are_wrong_are_refused;
    Cluster: ;
    Emulated: without_streams_operations_on_them_are_refused;
}

#[cfg(not(feature = "cuda"))]
common::cases! {
    Processes: ;
    Cluster: ;
    Emulated: without_streams_operations_on_them_are_refused;
}
