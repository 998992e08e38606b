//! Many elements at once, which travel together.

use std::ops::Range;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use oxshmem_base::Result;
use oxshmem_ops::{BitwiseAmo, SessionOptions, StandardAmo, operation::Update};
use oxshmem_spaces::{Element, SymRef, SymView};

use super::Array;

/// How many elements are under way at a time.
const BATCH: usize = 1024;

impl<T: Element> Array<T> {
    /// Reads these elements.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let squares = Array::<u64>::new(&world, 100).await?;
    /// squares.fill_with(|index| (index * index) as u64).await?;
    /// assert_eq!(squares.gather([90, 3, 3, 51]).await?, [8100, 9, 9, 2601]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn gather(&self, indices: impl IntoIterator<Item = usize>) -> Result<Vec<T>> {
        let mut indices = indices.into_iter();
        let mut values = Vec::with_capacity(indices.size_hint().0);
        loop {
            let session = self.ctx.session(SessionOptions::new().batch().total_ops(BATCH));
            let under_way: Vec<_> = indices.by_ref().take(BATCH).map(|index| self.get(index)).collect();
            drop(session);
            let is_last = under_way.len() < BATCH;
            for value in under_way {
                values.push(value.await?);
            }
            if is_last {
                return Ok(values);
            }
        }
    }

    /// [`gather`](Self::gather) of indices as they come: as many travel together as are there.
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// use futures::{StreamExt, TryStreamExt, stream};
    ///
    /// let array = Array::<u32>::new(&world, 100).await?;
    /// array.fill_with(|index| index as u32).await?;
    /// let values = array.gather_stream(stream::iter((0..100).rev()));
    /// let values: Vec<u32> = values.try_collect().await?;
    /// assert_eq!(values[..3], [99, 98, 97]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn gather_stream(&self, indices: impl Stream<Item = usize>) -> impl Stream<Item = Result<T>> {
        let batches = indices.ready_chunks(BATCH).then(move |indices| self.gather(indices));
        batches.map_ok(|values| stream::iter(values.into_iter().map(Ok))).try_flatten()
    }

    /// Writes these elements. Where two have the same index, either may stay.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put), and of [`quiet`](Self::quiet): all are written when it is
    /// ready.
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let array = Array::<u8>::new(&world, 100).await?;
    /// if world.my_pe() == 0 {
    ///     array.scatter([(5, 50), (99, 90)]).await?;
    /// }
    /// array.sync().await?;
    /// assert_eq!(array.gather([4, 5, 99]).await?, [0, 50, 90]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn scatter(&self, elements: impl IntoIterator<Item = (usize, T)>) -> Result<()> {
        self.all(elements, |at, value, pe| self.ctx.p(at, value, pe)).await
    }

    /// Reads the elements of a range, block by block.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    ///
    /// # Panics
    /// If the array has no such range.
    pub async fn get_range(&self, range: Range<usize>) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); range.len()];
        let session = self.ctx.session(SessionOptions::new().batch());
        let gets: Vec<_> = self.runs(range).map(|(run, pe)| self.ctx.get(run, pe)).collect();
        drop(session);
        let mut rest = &mut values[..];
        for get in gets {
            let run = get.await?;
            let (values, behind) = rest.split_at_mut(run.len());
            values.copy_from_slice(&run);
            rest = behind;
        }
        Ok(values)
    }

    /// Writes the elements from `start` on, block by block. `values` is no longer needed when the
    /// call returns. They are there when [`quiet`](Self::quiet) is ready, which has the errors.
    ///
    /// # Panics
    /// If the array has no such range.
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let array = Array::<u32>::new(&world, 10).await?;
    /// if world.my_pe() == 0 {
    ///     array.put_range(4, &[40, 50, 60]); // on both PEs
    /// }
    /// array.sync().await?;
    /// assert_eq!(array.get_range(3..6).await?, [0, 40, 50]);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn put_range(&self, start: usize, values: &[T]) {
        let session = self.ctx.session(SessionOptions::new().batch());
        let mut rest = values;
        for (run, pe) in self.runs(start..start + values.len()) {
            let (values, behind) = rest.split_at(run.len());
            // It has begun, and `quiet` reports what becomes of it.
            drop(self.ctx.put(run, values, pe));
            rest = behind;
        }
        drop(session);
    }

    /// The elements of a range: those that follow each other on a PE, with that PE, in their order.
    fn runs(&self, range: Range<usize>) -> impl Iterator<Item = (SymView<'_, T>, usize)> {
        let Range { mut start, end } = range;
        assert!(start <= end && end <= self.len(), "elements {start}..{end} of an array of {}", self.len());
        std::iter::from_fn(move || {
            let (pe, place) = (start < end).then(|| self.place_of(start))?;
            let run = self.placement.run(place).min(end - start);
            start += run;
            Some((self.parts.slice(place..place + run), pe))
        })
    }

    /// Begins `each` on all elements, and completes them batch by batch.
    async fn all(
        &self,
        elements: impl IntoIterator<Item = (usize, T)>,
        each: impl Fn(SymRef<'_, T>, T, usize) -> Update,
    ) -> Result<()> {
        let mut elements = elements.into_iter();
        loop {
            let session = self.ctx.session(SessionOptions::new().batch().total_ops(BATCH));
            let mut begun = 0;
            for (index, value) in elements.by_ref().take(BATCH) {
                let (at, pe) = self.element(index);
                // It has begun, and `quiet` reports what becomes of it.
                drop(each(at, value, pe));
                begun += 1;
            }
            session.finish().await?;
            if begun < BATCH {
                return Ok(());
            }
        }
    }
}

impl<T: StandardAmo> Array<T> {
    /// Adds to these elements, atomically.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add), and of [`quiet`](Self::quiet): all are added when it is
    /// ready.
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(4, |world| async move {
    /// let histogram = Array::<u64>::new(&world, 10).await?;
    /// let samples = (0..1000_usize).map(|i| (i * i % 10, 1));
    /// histogram.add_all(samples).await?; // by each PE
    /// histogram.sync().await?;
    /// assert_eq!(histogram.get(6).await?, 800);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn add_all(&self, elements: impl IntoIterator<Item = (usize, T)>) -> Result<()> {
        self.all(elements, |at, value, pe| self.ctx.add(at, value, pe)).await
    }
}

impl<T: BitwiseAmo> Array<T> {
    /// Combines these elements with others by exclusive or, atomically.
    ///
    /// # Errors
    /// The errors of [`add_all`](Self::add_all).
    pub async fn xor_all(&self, elements: impl IntoIterator<Item = (usize, T)>) -> Result<()> {
        self.all(elements, |at, value, pe| self.ctx.xor(at, value, pe)).await
    }
}
