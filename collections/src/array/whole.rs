//! The array as a whole.

use oxshmem_base::Result;
use oxshmem_spaces::Element;

use super::{Array, Layout};
use crate::Home;

impl<T: Element> Array<T> {
    /// Sets all elements. Collective over the team.
    ///
    /// # Errors
    /// The errors of [`sync`](Self::sync).
    pub async fn fill(&self, value: T) -> Result<()> {
        self.sync().await?;
        self.local().fill(value);
        self.sync().await
    }

    /// Sets each element to what `of` makes of its index, on the PE that has it. Collective over
    /// the team.
    ///
    /// # Errors
    /// The errors of [`sync`](Self::sync).
    pub async fn fill_with(&self, of: impl FnMut(usize) -> T) -> Result<()> {
        // What others have begun before does not come after it.
        self.sync().await?;
        let values: Vec<T> = self.local_indices().map(of).collect();
        self.local().write(&values);
        self.sync().await
    }

    /// Combines all elements, and what began as `first`, on all PEs alike: each its own in their
    /// order, then what they have, in the order of the PEs. `combine` must not depend on which are
    /// combined first. Collective over the team.
    ///
    /// # Errors
    /// The errors of [`sync`](Self::sync) and of `Team::fcollect`.
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let array = Array::<i32>::new(&world, 50).await?;
    /// array.fill_with(|index| 7 * index as i32 % 50).await?;
    /// assert_eq!(array.reduce(i32::MIN, i32::max).await?, 49);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn reduce(&self, first: T, combine: impl Fn(T, T) -> T) -> Result<T> {
        self.sync().await?;
        let n = self.team.n_pes();
        let mine = self.local().to_vec().into_iter().reduce(&combine);
        let (all, own) = (self.given.slice(..n), self.given.slice(n..));
        own.at(0).store(mine.unwrap_or(first));
        self.team.fcollect(all, own).await?;
        let has_any = |pe: &usize| self.placement.count(*pe) > 0;
        let of_pes = (0..n).filter(has_any).map(|pe| all.at(pe).load());
        let combined = of_pes.fold(first, &combine);
        // Before another call writes there.
        self.team.sync().await?;
        Ok(combined)
    }

    /// All elements, on this PE. The others need not call anything.
    ///
    /// # Errors
    /// The errors of `Context::get`.
    ///
    /// ```
    /// # use oxshmem::{collections::{Array, Layout}, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let array = Array::<usize>::with_layout(&world, 20, Layout::BlockCyclic(3)).await?;
    /// array.fill_with(|index| index).await?;
    /// if world.my_pe() == 1 {
    ///     assert_eq!(array.to_vec().await?, (0..20).collect::<Vec<_>>());
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn to_vec(&self) -> Result<Vec<T>> {
        let parts = (0..self.team.n_pes()).map(|pe| {
            let count = self.placement.count(pe);
            (pe, self.ctx.get(self.parts.slice(..count), pe))
        });
        let mut values = vec![T::zeroed(); self.len()];
        for (pe, part) in parts.collect::<Vec<_>>() {
            let part = part.await?;
            let mut rest = &part[..];
            while !rest.is_empty() {
                let place = part.len() - rest.len();
                let (index, run) = (self.placement.index(pe, place), self.placement.run(place));
                let (run, behind) = rest.split_at(run.min(rest.len()));
                values[index..index + run.len()].copy_from_slice(run);
                rest = behind;
            }
        }
        Ok(values)
    }

    /// Its elements, distributed in another way, in new memory. Collective over the PEs of
    /// `home`, which must be those of the array's team.
    ///
    /// # Errors
    /// The errors of [`with_layout`](Self::with_layout) and of [`scatter`](Self::scatter).
    ///
    /// ```
    /// # use oxshmem::{collections::{Array, Layout}, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let array = Array::<u16>::new(&world, 20).await?;
    /// array.fill_with(|index| index as u16).await?;
    /// let turns = array.redistribute(&world, Layout::Cyclic).await?;
    /// assert_eq!(turns.get(13).await?, 13);
    /// assert_eq!(turns.place_of(13).0, 1);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn redistribute(&self, home: &impl Home, layout: Layout) -> Result<Self> {
        let other = Self::with_layout(home, self.len(), layout).await?;
        self.sync().await?;
        let mine: Vec<_> = self.local_indices().zip(self.local().to_vec()).collect();
        other.scatter(mine).await?;
        other.sync().await?;
        Ok(other)
    }
}
