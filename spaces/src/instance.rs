//! What a PE does with its own instance of symmetric memory: load, store, copy and borrow it.
//!
//! Other PEs may write the memory at any moment. So accessors copy and lend no reference: a racing
//! read gets an old, a new or a torn value, but nothing worse. In device memory they wait some
//! microseconds for the device, and see what was completed before.

use oxshmem_memory::{copy, op::Op};

use crate::{
    Element,
    device::DevicePlace,
    view::{SymRef, SymView},
};

impl<'a, T: Element> SymView<'a, T> {
    /// Copies this PE's instance to a vector.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().fill(6);
    /// assert_eq!(words.view().to_vec(), vec![6; 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn to_vec(self) -> Vec<T> {
        let mut elements = vec![T::zeroed(); self.len];
        self.read(&mut elements);
        elements
    }

    /// Copies this PE's instance to `to`.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().fill(6);
    /// let mut two = [0; 2];
    /// words.slice(1..).read(&mut two);
    /// assert_eq!(two, [6, 6]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn read(self, to: &mut [T]) {
        assert_eq!(self.len, to.len(), "a symmetric slice is read into a slice of its own length");
        if let Some((device, here)) = self.on_device() {
            // SAFETY: this PE's instance is in bounds and has `len` elements, as does `to`; any
            // bytes are a `T`.
            unsafe { device.now(Op::get(here, to.as_mut_ptr().cast::<u8>(), size_of_val(to))) };
            return;
        }
        // SAFETY: this PE's instance is mapped and has `len` elements, as does `to`; any bytes are
        // a `T`.
        unsafe { copy::copy(to.as_mut_ptr().cast(), self.own(), size_of_val(to)) }
    }

    /// This PE's instance as its device reads it now, each word at once; nothing where a
    /// processor loads the words.
    #[doc(hidden)]
    pub fn read_together(self) -> Vec<T> {
        let Some((device, here)) = self.on_device() else { return Vec::new() };
        let mut elements = vec![T::zeroed(); self.len];
        let bytes = bytemuck::cast_slice_mut(&mut elements);
        // SAFETY: this PE's instance is in bounds, and as long as the bytes.
        unsafe { device.read_now(here.block(), &[(here.offset(), bytes.len())], bytes) };
        elements
    }

    /// Copies `from` to this PE's instance, and wakes its waiters.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().write(&[1, 2, 3]);
    /// assert_eq!(words.view().to_vec(), [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn write(self, from: &[T]) {
        assert_eq!(self.len, from.len(), "a symmetric slice is written from a slice of its own length");
        if let Some((device, here)) = self.on_device() {
            // SAFETY: as in `read`.
            unsafe { device.now(Op::put(here, from.as_ptr().cast::<u8>(), size_of_val(from))) };
            return self.allocation.pe().engine().device_words_changed();
        }
        // SAFETY: as in `read`.
        unsafe { copy::copy(self.own(), from.as_ptr().cast(), size_of_val(from)) };
        self.ring_own();
    }

    /// Sets every element of this PE's instance.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let words = world.alloc::<f32>(3).await?;
    /// words.view().fill(0.5);
    /// assert_eq!(words.view().to_vec(), [0.5; 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn fill(self, value: T) {
        if self.domain().is_device() {
            return self.write(&vec![value; self.len]);
        }
        for i in 0..self.len {
            // SAFETY: element `i` is in this PE's instance, and aligned.
            unsafe { copy::store(self.own().cast::<T>().add(i), value) };
        }
        self.ring_own();
    }

    /// This PE's instance as a slice.
    ///
    /// # Safety
    /// While the slice lives, no other PE, thread or task may write this PE's instance.
    /// A barrier before and after is the usual way to see to that.
    ///
    /// # Panics
    /// If it is device memory, which nothing can be borrowed from.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().write(&[1, 2, 3]);
    /// world.barrier_all().await?;
    /// // SAFETY: no PE writes before the next barrier.
    /// let sum: u64 = unsafe { words.view().as_slice() }.iter().sum();
    /// world.barrier_all().await?;
    /// assert_eq!(sum, 6);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub unsafe fn as_slice(self) -> &'a [T] {
        self.assert_on_host();
        // SAFETY: mapped and aligned for as long as the allocation, which 'a borrows; the caller
        // keeps writers away.
        unsafe { std::slice::from_raw_parts(self.own().cast(), self.len) }
    }

    /// This PE's instance as a mutable slice. Stores through it ring no doorbell.
    ///
    /// # Safety
    /// While the slice lives, no other PE, thread or task may read or write this PE's instance.
    ///
    /// # Panics
    /// As for [`as_slice`](Self::as_slice).
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let words = world.alloc::<u64>(3).await?;
    /// words.view().write(&[3, 1, 2]);
    /// world.barrier_all().await?;
    /// // SAFETY: no other PE reads or writes before the next barrier.
    /// unsafe { words.view().as_mut_slice() }.sort();
    /// world.barrier_all().await?;
    /// assert_eq!(words.view().to_vec(), [1, 2, 3]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn as_mut_slice(self) -> &'a mut [T] {
        self.assert_on_host();
        // SAFETY: as in `as_slice`; the caller keeps all others away.
        unsafe { std::slice::from_raw_parts_mut(self.own().cast(), self.len) }
    }

    /// The address of `pe`'s instance in this process, if it can be loaded and stored directly:
    /// what `shmem_ptr` returns (`OpenSHMEM 1.6 §9.1.9`).
    ///
    /// Accesses through it are unsynchronised. Stores ring no doorbell. So from the first call on,
    /// the PEs of this job look by themselves while they sleep, every millisecond at first and then
    /// more rarely, which costs waiting PEs some CPU time. Device memory has no such address. Where
    /// PEs are processes, an alignment beyond 2 MiB holds at their own addresses alone.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// if let Some(there) = word.view().ptr(1 - world.my_pe()) {
    ///     // SAFETY: an element on the other PE, which does not access it before the barrier.
    ///     unsafe { there.write(5) };
    /// }
    /// world.barrier_all().await?;
    /// assert_eq!(word.at(0).load(), 5);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn ptr(self, pe: usize) -> Option<*mut T> {
        if self.domain().is_device() {
            return None;
        }
        let bytes = self.len * size_of::<T>();
        let block = self.allocation.pe().local_pe_of(pe)?;
        let address = self.allocation.segment().address(block, self.offset, bytes)?;
        self.allocation.pe().expect_silent_stores();
        Some(address.cast())
    }

    /// The address by which kernels of this PE's device reach this PE's instance. None in host
    /// memory. The kernels of the emulated device are functions of the host.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// assert_eq!(world.alloc::<f32>(8).await?.view().device_address(), None); // it is host memory
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn device_address(self) -> Option<u64> {
        self.device_ptr(self.pe().me())
    }

    /// The address by which kernels of this PE's device reach `pe`'s instance: what
    /// `shmem_space_ptr` returns in the GPU space. None in host memory, and where the memory is not
    /// mapped for the device: on PEs of other hosts, and on devices that give it no access. No
    /// processor can load from or store to it. The kernels of the emulated device are functions of
    /// the host.
    ///
    /// It is good while the symmetric memory is allocated. Kernels that use it and operations of
    /// the library are ordered by whatever orders the kernels: events, streams, `quiet` and
    /// barriers. What a kernel stores wakes no PE that waits for it: each looks by itself, more
    /// rarely the longer it waits.
    ///
    /// ```
    /// # use oxshmem::{ClusterOptions, prelude::*};
    /// # let mut options = ClusterOptions::default();
    /// # options.settings.enable_cpu_space = Some("1".into());
    /// # options.settings.enable_gpu_space = Some("1".into());
    /// # options.settings.gpu_emulate = true;
    /// # LocalCluster::run_with(2, options, |world| async move {
    /// let gpu = world.space(SpaceKind::Gpu)?;
    /// let field = gpu.alloc::<f32>(1024).await?;
    /// let next = (world.my_pe() + 1) % world.n_pes();
    /// if let Some(there) = field.view().device_ptr(next) {
    ///     println!("a kernel stores to PE {next} at {there:#x}");
    /// }
    /// assert_eq!(field.view().ptr(next), None); // not for processors
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn device_ptr(self, pe: usize) -> Option<u64> {
        let (device, here) = self.on_device()?;
        let local_pe = self.pe().local_pe_of(pe).filter(|_| self.pe().has_device(pe))?;
        // SAFETY: a view is in bounds on every PE that has a device, which this PE of the host has.
        let there = unsafe { DevicePlace::new(local_pe, here.offset()) };
        device.address(here.block(), there)
    }

    fn assert_on_host(&self) {
        assert!(
            !self.domain().is_device(),
            "device memory cannot be borrowed: copy it with `read`, `write` or a context"
        );
    }

    /// Wakes this PE's waiters after a store to its own instance.
    #[doc(hidden)]
    #[inline(always)]
    pub fn ring_own(&self) {
        let pe = self.allocation.pe();
        pe.shm().ring(self.place(pe.local_pe()), self.len * size_of::<T>());
    }
}

impl<T: Element> SymRef<'_, T> {
    /// This PE's value.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// world.context().p(word.at(0), 3, 0).await?;
    /// assert_eq!(word.at(0).load(), 3);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn load(self) -> T {
        if self.0.domain().is_device() {
            return self.load_from_device();
        }
        // SAFETY: this PE's instance is mapped and aligned, and any bytes are a `T`.
        unsafe { copy::load(self.0.own().cast()) }
    }

    /// Sets this PE's value, and wakes its waiters.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(1, |world| async move {
    /// let flag = world.alloc_zeroed::<u64>(1).await?;
    /// let twin = flag.clone();
    /// let waiter = tokio::spawn(async move { twin.at(0).wait_until(Cmp::Ne, 0).await });
    /// flag.at(0).store(7);
    /// assert_eq!(waiter.await.unwrap()?, 7);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    pub fn store(self, value: T) {
        if self.0.domain().is_device() {
            return self.0.write(&[value]);
        }
        // SAFETY: as in `load`.
        unsafe { copy::store(self.0.own().cast(), value) };
        self.0.ring_own();
    }

    #[cold]
    #[inline(never)]
    fn load_from_device(self) -> T {
        let mut value = [T::zeroed()];
        self.0.read(&mut value);
        value[0]
    }
}
