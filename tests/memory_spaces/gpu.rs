//! The GPU space as a whole: its heap, who has one, and what goes wrong with spaces.

use oxshmem::{
    Error, Signal, SymView,
    prelude::*,
    settings::{PeRanges, Settings},
};

use crate::common::{self, cluster, on_pes, refused, settings, time_limit, with_device};

fn blocks_of_the_gpu_space_grow_move_and_come_back() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let mut list = gpu.alloc::<u32>(100).await?;
        let behind = gpu.alloc_aligned::<u8>(10, 4096).await?;
        list.view().write(&(0..100).collect::<Vec<_>>());
        list = world.realloc(list, 5000).await?;
        assert_eq!((list.space(), list.len()), (SpaceKind::Gpu, 5000));
        assert_eq!(list.slice(..100).to_vec(), (0..100).collect::<Vec<_>>());
        let twin = list.clone();
        list = world.realloc(list, 50).await?;
        assert_eq!((list.space(), list.view().to_vec()), (SpaceKind::Gpu, (0..50).collect::<Vec<_>>()));
        assert_eq!(twin.slice(..3).to_vec(), [0, 1, 2]);
        let host = world.heap_use().used;
        gpu.free(list).await?;
        world.free(twin).await?;
        drop(behind);
        gpu.reclaim().await?;
        assert_eq!((gpu.heap_use().used, world.heap_use().used), (0, host));
        // What has been used is zero when that is asked for.
        let dirty = gpu.alloc::<u64>(1000).await?;
        dirty.view().fill(u64::MAX);
        gpu.free(dirty).await?;
        assert_eq!(gpu.alloc_zeroed::<u64>(1000).await?.view().to_vec(), [0; 1000]);
        let error = refused(gpu.alloc::<u8>(9 << 20).await);
        assert!(matches!(error, Error::HeapExhausted { setting: "SHMEM_GPU_SYMMETRIC_SIZE", .. }), "{error}");
        Ok(())
    });
}

fn with_the_gpu_as_default_space_a_program_without_spaces_runs_on_it() {
    let _limit = time_limit(60);
    let mut settings = with_device();
    settings.default_space = oxshmem::settings::DefaultSpace::Gpu;
    let mut only = settings.clone();
    only.enable_cpu_space = None;
    for settings in [settings, only] {
        on_pes(settings, |world| async move {
            let next = (world.my_pe() + 1) % world.n_pes();
            let (data, flag) = (world.alloc_zeroed::<f32>(10).await?, world.alloc_zeroed::<u64>(1).await?);
            assert_eq!(data.space(), SpaceKind::Gpu);
            let ctx = world.context();
            ctx.put_signal(&data, [next as f32; 10], flag.at(0), Signal::Set(1), next).await?;
            flag.at(0).wait_until(Cmp::Eq, 1).await?;
            assert_eq!(data.view().to_vec(), [world.my_pe() as f32; 10]);
            world.team().sum_reduce(&data, &data).await?;
            let n = world.n_pes();
            assert_eq!(data.at(9).load(), (n * (n - 1) / 2) as f32);
            let error = refused(Lock::new(ctx, flag.at(0)));
            assert!(error.to_string().contains("device memory"), "{error}");
            world.barrier_all().await
        });
    }
}

/// Only PEs 0 and 2 have a device.
fn partly() -> Settings {
    let mut settings = with_device();
    settings.gpu_emulate_pes = Some(PeRanges::of(&[0, 2]));
    settings
}

fn a_gpu_space_that_some_pes_have_is_theirs_alone() {
    let _limit = time_limit(60);
    let done = cluster(4, partly(), |world| async move {
        let gpu = world.space(SpaceKind::Gpu);
        assert_eq!(gpu.is_ok(), world.my_pe() % 2 == 0);
        match gpu {
            Ok(gpu) => {
                assert!(!gpu.capabilities().world_access && gpu.capabilities().rma);
                assert_eq!((gpu.team().n_pes(), gpu.team().my_pe()), (2, world.my_pe() / 2));
                assert_ne!(gpu.team(), world.team());
                let there = gpu.alloc_zeroed::<u64>(4).await?;
                let ctx = world.context();
                ctx.put(&there, [world.my_pe() as u64 + 1; 4], 2 - world.my_pe()).await?;
                ctx.quiet().await?;
                gpu.team().sync().await?;
                assert_eq!(there.at(0).load(), 3 - world.my_pe() as u64);
                gpu.team().sum_reduce(&there, &there).await?;
                assert_eq!(there.at(3).load(), 4);
                let error = refused(ctx.put(&there, [0; 4], 1).await);
                assert!(matches!(error, Error::OutsideSpace { call: "put", pe: 1, .. }), "{error}");
                let error = refused(ctx.fetch_inc(there.at(0), 3).await);
                assert!(matches!(error, Error::OutsideSpace { call: "fetch_inc", pe: 3, .. }), "{error}");
                let error = refused(world.team().sum_reduce(&there, &there).await);
                assert!(matches!(error, Error::OutsideSpace { call: "sum_reduce", pe: 1, .. }), "{error}");
                assert!(gpu.team().destroy().await.is_err(), "it is predefined");
            }
            Err(error) => assert!(error.to_string().contains("PEs 0,2 of the job have"), "{error}"),
        }
        world.barrier_all().await
    });
    done.unwrap();
}

fn what_is_wrong_with_spaces_is_named_in_the_error() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let gpu = world.space(SpaceKind::Gpu)?;
        let cpu = world.space(SpaceKind::Cpu)?;
        let (there, here) = (gpu.alloc_zeroed::<u64>(4).await?, cpu.alloc_zeroed::<u64>(4).await?);
        let (team, ctx) = (world.team(), world.context());
        let mixed: [(SymView<'_, u64>, SymView<'_, u64>); 2] =
            [(there.view(), here.view()), (here.view(), there.view())];
        for (dest, source) in mixed {
            for error in [
                refused(team.sum_reduce(dest, source).await),
                refused(team.broadcast(dest, source, 0).await),
                refused(team.sum_inscan(dest, source).await),
                refused(team.collect(dest, source).await),
            ] {
                assert!(matches!(error, Error::SpaceMismatch { .. }), "{error}");
                assert!(error.to_string().contains("CPU") && error.to_string().contains("GPU"), "{error}");
            }
        }
        let error = refused(cpu.free(there.clone()).await);
        assert!(
            matches!(error, Error::SpaceMismatch { space_a: SpaceKind::Gpu, space_b: SpaceKind::Cpu, .. }),
            "{error}"
        );
        assert!(matches!(refused(gpu.free(here).await), Error::SpaceMismatch { .. }));
        let n = world.n_pes();
        assert!(matches!(refused(ctx.p(there.at(0), 1, n).await), Error::PeOutOfRange { .. }));
        assert!(matches!(refused(ctx.put(&there, [1, 2], 0).await), Error::LengthMismatch { .. }));
        assert!(matches!(refused(ctx.get_into(vec![0; 5], &there, 0).await), Error::LengthMismatch { .. }));
        assert!(matches!(
            refused(team.sum_reduce(there.slice(..3), &there).await),
            Error::LengthMismatch { .. }
        ));
        Ok(())
    });
}

fn allocations_that_differ_in_their_space_are_a_mismatch_that_names_it() {
    let _limit = time_limit(60);
    let outcome = cluster(2, with_device(), |world| async move {
        let kind = if world.my_pe() == 0 { SpaceKind::Cpu } else { SpaceKind::Gpu };
        let error = refused(world.space(kind)?.alloc::<u8>(100).await);
        assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
        assert!(error.to_string().contains("in the GPU space"), "{error}");
        let gpu = world.space(SpaceKind::Gpu)?;
        let error = refused(gpu.alloc::<u8>(100 + world.my_pe()).await);
        assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
        Ok(())
    });
    outcome.unwrap();
}

fn memory_of_another_job_is_refused_on_devices_too() {
    let _limit = time_limit(60);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut worlds = Vec::new();
        for _ in 0..2 {
            worlds.append(&mut oxshmem::LocalCluster::start(1, with_device()).await.unwrap());
        }
        let there = worlds[0].space(SpaceKind::Gpu).unwrap().alloc_zeroed::<u64>(1).await.unwrap();
        let error = refused(worlds[1].context().p(there.at(0), 1, 0).await);
        assert!(matches!(error, Error::ForeignMemory { .. }), "{error}");
        let error = refused(worlds[1].team().sum_reduce(&there, &there).await);
        assert!(matches!(error, Error::ForeignMemory { .. }), "{error}");
        for world in &worlds {
            world.finalize().await.unwrap();
        }
        let error = refused(worlds[0].context().p(there.at(0), 1, 0).await);
        assert!(matches!(error, Error::Finalized { .. }), "{error}");
    });
}

fn without_a_device_there_is_no_gpu_space_and_no_thread_for_one() {
    let _limit = time_limit(60);
    let mut asked = settings();
    (asked.enable_cpu_space, asked.enable_gpu_space) = (Some("1".to_owned()), Some("1".to_owned()));
    let real = common::has_real_device();
    for settings in [settings(), asked].into_iter().take(if real { 1 } else { 2 }) {
        on_pes(settings, |world| async move {
            let error = refused(world.space(SpaceKind::Gpu));
            let Error::SpaceUnavailable { space: SpaceKind::Gpu, why, .. } = &error else {
                panic!("{error}")
            };
            // A PE that asked for it gets the reason.
            assert_eq!(why.is_some(), world.pe().settings().enable_gpu_space.is_some(), "{error}");
            assert!(world.pe().device().is_none());
            world.barrier_all().await
        });
    }
}

fn kernels_get_a_handle_that_says_which_pe_they_are_of() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let handle = world.device_handle()?;
        let text = format!("{handle:?}");
        let [me, n_pes] = [world.my_pe(), world.n_pes()];
        assert!(text.contains(&format!("me: {me}, n_pes: {n_pes}")), "{text}");
        assert_eq!(world.device_handle()?, handle);
        // What is under way goes on while the engine looks after kernels.
        let word = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(1).await?;
        world.context().add(word.at(0), 1, (me + 1) % n_pes).await?;
        word.at(0).wait_until(Cmp::Eq, 1).await?;
        world.barrier_all().await
    });
}

common::cases! {
    Processes: kernels_get_a_handle_that_says_which_pe_they_are_of
        blocks_of_the_gpu_space_grow_move_and_come_back
        with_the_gpu_as_default_space_a_program_without_spaces_runs_on_it
        what_is_wrong_with_spaces_is_named_in_the_error;
    Cluster: allocations_that_differ_in_their_space_are_a_mismatch_that_names_it
        memory_of_another_job_is_refused_on_devices_too;
    Emulated: a_gpu_space_that_some_pes_have_is_theirs_alone
        without_a_device_there_is_no_gpu_space_and_no_thread_for_one;
}
