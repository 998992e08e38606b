//! Programs that use CUDA themselves, by the package `cudarc`, beside the library.

use std::sync::Arc;

use cudarc::{
    driver::{CudaContext, CudaStream, LaunchConfig, PushKernelArg},
    nvrtc::Ptx,
};
use oxshmem::{Error, prelude::*};

use super::common::{self, on_pes, refused, time_limit, with_device};

/// The tests, as those of the files of `tests/`.
pub(crate) const CASES: &[common::Case] = &[
    ("a_program_s_copies_and_the_library_s_see_each_other", copies, "Processes"),
    ("a_program_s_kernel_stores_to_another_pe", kernels, "Processes"),
    ("kernels_get_the_addresses_that_their_device_reaches", addresses, "Processes"),
    ("a_program_that_initialised_cuda_first_has_it_still_at_the_end", first, "Processes"),
    ("a_device_that_is_hidden_is_a_space_that_says_why_it_is_not_there", hidden, "Hidden"),
];

/// Those that differ with the devices that a machine has.
pub(crate) const ON_ALL_MACHINES: [&str; 3] = [CASES[0].0, CASES[1].0, CASES[2].0];

/// The number of this PE's device, among those that the process sees.
fn device_of(world: &World) -> usize {
    world.pe().local_pe() % CudaContext::device_count().expect("a driver") as usize
}

/// Whether a device may use memory of another.
fn reaches([by, of]: [i32; 2]) -> bool {
    let mut can = 0;
    // SAFETY: it stores a number.
    let known = unsafe { cudarc::driver::sys::cuDeviceCanAccessPeer(&mut can, by, of) };
    known.result().is_ok() && can != 0
}

fn stream(world: &World) -> Arc<CudaStream> {
    CudaContext::new(device_of(world)).and_then(|context| context.new_stream()).expect("a stream")
}

/// What the PEs store in each other's memory by `cudarc`'s copies is there for the library, and the
/// other way round.
fn copies() {
    let _limit = time_limit(60);
    const LEN: usize = 10_000;
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let gpu = world.space(SpaceKind::Gpu)?;
        let field = gpu.alloc_zeroed::<u32>(LEN).await?;
        let stream = stream(&world);
        let next = (me + 1) % n;
        let values = |from: usize| (0..LEN as u32).map(|i| i + 100_000 * from as u32).collect::<Vec<_>>();
        match field.view().device_view(next, &stream) {
            Ok(mut there) => {
                assert_eq!(there.pe(), next);
                stream.memcpy_htod(&values(me), &mut there).unwrap();
                // Dropped while the copy is under way.
            }
            Err(error) => {
                assert!(matches!(error, Error::Unsupported { .. }), "{error}");
                assert_eq!(field.view().device_ptr(next), None);
                world.context().put(&field, values(me), next).await?;
            }
        }
        stream.synchronize().unwrap();
        world.barrier_all().await?;
        let before = (me + n - 1) % n;
        assert_eq!(field.view().to_vec(), values(before));
        world.barrier_all().await?;
        // From memory of the program's own, by way of two streams, and a fill between them.
        let own = stream.clone_htod(&values(7)).unwrap();
        {
            let mut here = field.slice(10..LEN).device_view(me, &stream).unwrap();
            stream.memset_zeros(&mut here).unwrap();
            stream.memcpy_dtod(&own.slice(..LEN - 10), &mut here).unwrap();
            let other = stream.context().new_stream().unwrap();
            let mut seen = vec![0; LEN - 10];
            other.memcpy_dtoh(&here, &mut seen).unwrap();
            other.synchronize().unwrap();
            assert_eq!(seen, &values(7)[..LEN - 10]);
            assert_eq!(here.address().get(), field.slice(10..LEN).device_address().unwrap());
        }
        let seen = world.context().get(field.slice(10..20), me).await?;
        assert_eq!(seen, &values(7)[..10]);
        world.barrier_all().await
    });
}

/// A kernel that the program launches takes an address of another PE's memory as its argument.
fn kernels() {
    let _limit = time_limit(60);
    const LEN: usize = 4096;
    // One of the library's: blocks of units of 8 bytes from an address to another.
    let modules = oxshmem_spaces::device::cuda::kernels();
    let text = modules.into_iter().find(|(_, text)| text.contains(".entry blocks8(")).expect("a kernel").1;
    on_pes(with_device(), move |world| {
        let text = text.clone();
        async move {
            let (me, n) = (world.my_pe(), world.n_pes());
            let (next, before) = ((me + 1) % n, (me + n - 1) % n);
            let gpu = world.space(SpaceKind::Gpu)?;
            let (from, to) = (gpu.alloc::<u64>(LEN).await?, gpu.alloc_zeroed::<u64>(LEN).await?);
            from.view().fill(me as u64 + 1);
            world.barrier_all().await?;
            let stream = stream(&world);
            match to.view().device_view(next, &stream) {
                Ok(there) => {
                    let kernel = stream.context().load_module(Ptx::from_src(text)).unwrap();
                    let kernel = kernel.load_function("blocks8").unwrap();
                    let here = from.view().device_view(me, &stream).unwrap();
                    let (stride, units) = (0u64, LEN as u64);
                    let mut launch = stream.launch_builder(&kernel);
                    launch.arg(here.address()).arg(there.address());
                    launch.arg(&stride).arg(&stride).arg(&units).arg(&units);
                    // SAFETY: the arguments are those of the kernel, which writes as many units as
                    // there are, and nothing else uses the memory now.
                    unsafe { launch.launch(LaunchConfig::for_num_elems(LEN as u32)) }.unwrap();
                    stream.synchronize().unwrap();
                }
                Err(_) => drop(world.context().put(&to, vec![me as u64 + 1; LEN], next).await?),
            }
            world.barrier_all().await?;
            assert_eq!(to.view().to_vec(), vec![before as u64 + 1; LEN]);
            world.barrier_all().await
        }
    });
}

/// Addresses for kernels: of every PE on the device, of those on devices that give access, of no
/// host memory. They are those by which programs know their own memory.
fn addresses() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let words = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(100).await?;
        let own = words.at(50).as_view().device_address().expect("of this PE's own device");
        assert_eq!(own, words.view().device_ptr(me).unwrap() + 400);
        assert!(world.addr_accessible(own as *const u64, me));
        assert!(!world.addr_accessible(own.wrapping_add(1 << 40) as *const u64, me));
        let stream = stream(&world);
        let context = stream.context();
        for pe in 0..n {
            let here = world.pe().local_pe_of(pe);
            let there = words.view().device_ptr(pe);
            let Some(local_pe) = here else {
                assert_eq!(there, None, "PE {pe} is on another host");
                continue;
            };
            let count = CudaContext::device_count().unwrap() as usize;
            let same = local_pe % count == device_of(&world);
            let devices = [device_of(&world), local_pe % count].map(|device| device as i32);
            let is_mapped = std::env::var(common::DEVICE).as_deref() == Ok("vmm") && reaches(devices);
            assert_eq!(there.is_some(), same || is_mapped, "PE {pe}, devices {devices:?}");
            // The driver takes it for what it is.
            if let (true, Some(address)) = (same, there) {
                let mut word = [0u64];
                context.bind_to_thread().unwrap();
                // SAFETY: a word of device memory that is not written now.
                unsafe { cudarc::driver::result::memcpy_dtoh_sync(&mut word, address) }.unwrap();
                assert_eq!(word, [0]);
            }
        }
        let host = world.space(SpaceKind::Cpu)?.alloc_zeroed::<u64>(4).await?;
        assert_eq!((host.view().device_ptr(me), host.view().device_address()), (None, None));
        let error = refused(host.view().device_view(me, &stream));
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert_eq!(words.view().device_ptr(n), None);
        world.barrier_all().await
    });
}

/// The primary context is the program's as well, before, meanwhile and afterwards.
fn first() {
    let _limit = time_limit(60);
    let context = CudaContext::new(0).expect("a device");
    let stream = context.new_stream().expect("a stream");
    let own = stream.clone_htod(&[11u64; 1000]).expect("a copy");
    on_pes(with_device(), |world| async move {
        let words = world.space(SpaceKind::Gpu)?.alloc_zeroed::<u64>(10).await?;
        world.context().add(words.at(0), 1, 0).await?;
        world.barrier_all().await?;
        if world.my_pe() == 0 {
            assert_eq!(words.at(0).load(), world.n_pes() as u64);
        }
        world.barrier_all().await
    });
    assert_eq!(stream.clone_dtoh(&own).expect("a copy back"), [11; 1000]);
}

/// In a process that sees no device.
fn hidden() {
    let _limit = time_limit(60);
    on_pes(with_device(), |world| async move {
        let error = refused(world.space(SpaceKind::Gpu));
        assert!(matches!(error, Error::SpaceUnavailable { space: SpaceKind::Gpu, .. }), "{error}");
        assert!(error.to_string().contains("NO_DEVICE"), "{error}");
        assert!(world.pe().device().is_none());
        let words = world.alloc_zeroed::<u64>(1).await?;
        world.context().add(words.at(0), 1, 0).await?;
        world.barrier_all().await
    });
}
