//! [`Array`]: elements that are distributed over the PEs of a team, by index.

mod batch;
mod layout;
mod whole;

use oxshmem_base::Result;
use oxshmem_ops::{
    Context, ContextOptions, ExtendedAmo, StandardAmo,
    operation::{Fetch, Update},
    order::Quiet,
};
use oxshmem_spaces::{Element, SymRef, SymSlice, SymView};
use oxshmem_teams::Team;

pub use self::layout::Layout;
use self::layout::Placement;
use crate::Home;

/// An array whose elements are distributed over all PEs of a team.
///
/// Every PE of the team reads, writes and updates every element by its index, wherever that is.
/// Operations are those of a [`Context`] of the array's own: a write has begun when the call
/// returns, and it is done when [`quiet`](Self::quiet) is, or a collective of the array.
///
/// An index that the array does not have is a panic, as with a slice.
///
/// ```
/// use oxshmem::{collections::Array, prelude::*};
///
/// LocalCluster::run(4, |world| async move {
///     let array = Array::<u64>::new(&world, 1000).await?;
///     array.fill_with(|index| index as u64).await?;
///     array.add(123, 1000).await?; // once on each PE
///     array.sync().await?;
///     assert_eq!(array.get(123).await?, 4123);
///     assert_eq!(array.reduce(0, |sum, element| sum + element).await?, 499_500 + 4000);
///     world.finalize().await
/// })?;
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Array<T: Element> {
    parts: SymSlice<T>,
    /// An element of each PE, for what they give each other.
    given: SymSlice<T>,
    layout: Layout,
    placement: Placement,
    team: Team,
    ctx: Context,
}

impl<T: Element> Array<T> {
    /// `len` elements in blocks over all PEs of a world or a space, with every byte 0. Collective
    /// over them.
    ///
    /// # Errors
    /// The errors of `World::alloc_zeroed`.
    pub async fn new(home: &impl Home, len: usize) -> Result<Self> {
        Self::with_layout(home, len, Layout::Blocks).await
    }

    /// [`new`](Self::new), distributed in this way.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    ///
    /// # Panics
    /// If blocks are to have no elements.
    ///
    /// ```
    /// # use oxshmem::{collections::{Array, Layout}, prelude::*};
    /// # LocalCluster::run(3, |world| async move {
    /// let array = Array::<f32>::with_layout(&world, 10, Layout::Cyclic).await?;
    /// assert_eq!(array.place_of(4), (1, 1)); // the second element of PE 1
    /// assert_eq!(array.local_len(), if world.my_pe() == 0 { 4 } else { 3 });
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn with_layout(home: &impl Home, len: usize, layout: Layout) -> Result<Self> {
        let team = home.home_team();
        let placement = Placement::new(layout, len, team.n_pes());
        // An allocation of nothing involves no other PE.
        let parts = home.allocate(placement.room().max(1)).await?;
        let given = home.allocate(team.n_pes() + 1).await?;
        Self::made(&team, [parts, given], layout, placement)
    }

    /// `len` elements over the PEs of a team, in memory that each of them has: of
    /// [`room`](Self::room) elements, or more. No call of another PE is needed.
    ///
    /// # Errors
    /// The errors of `Team::create_context`.
    ///
    /// # Panics
    /// If the memory is too small, or blocks are to have no elements.
    ///
    /// ```
    /// # use oxshmem::{collections::{Array, Layout}, prelude::*};
    /// # LocalCluster::run(4, |world| async move {
    /// let room = Array::<u32>::room(10, Layout::Blocks, 2);
    /// let memory = world.alloc_zeroed::<u32>(room).await?; // all PEs have it
    /// if let Some(evens) = world.team().split_strided(0, 2, 2).await? {
    ///     let array = Array::over(&evens, memory, 10, Layout::Blocks)?;
    ///     array.fill_with(|index| index as u32).await?;
    ///     assert_eq!(array.reduce(0, |sum, element| sum + element).await?, 45);
    /// }
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn over(team: &Team, memory: SymSlice<T>, len: usize, layout: Layout) -> Result<Self> {
        let n = team.n_pes();
        let placement = Placement::new(layout, len, n);
        let room = Self::room(len, layout, n);
        assert!(memory.len() >= room, "memory for {} elements, where {room} are needed", memory.len());
        let parts = memory.slice(..room - n - 1).to_owned();
        let given = memory.slice(room - n - 1..room).to_owned();
        Self::made(team, [parts, given], layout, placement)
    }

    /// How much memory [`over`](Self::over) needs on each PE, in elements.
    ///
    /// # Panics
    /// If blocks are to have no elements.
    pub fn room(len: usize, layout: Layout, n_pes: usize) -> usize {
        Placement::new(layout, len, n_pes).room().max(1) + n_pes + 1
    }

    fn made(
        team: &Team,
        [parts, given]: [SymSlice<T>; 2],
        layout: Layout,
        placement: Placement,
    ) -> Result<Self> {
        let (team, ctx) = (team.clone(), team.create_context(ContextOptions::new())?);
        Ok(Self { parts, given, layout, placement, team, ctx })
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.placement.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How its elements are distributed.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The team whose PEs have it.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Its context, for operations that it does not have itself, with what
    /// [`element`](Self::element) returns.
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Which PE of the team has an element, and at which place of its part.
    pub fn place_of(&self, index: usize) -> (usize, usize) {
        self.placement.place(index)
    }

    /// An element for the calls of a context: its place, and its PE.
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(2, |world| async move {
    /// let bits = Array::<u64>::new(&world, 8).await?;
    /// let (word, pe) = bits.element(7);
    /// bits.context().or(word, 1 << world.my_pe(), pe).await?;
    /// bits.sync().await?;
    /// assert_eq!(bits.get(7).await?, 0b11);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn element(&self, index: usize) -> (SymRef<'_, T>, usize) {
        let (pe, place) = self.place_of(index);
        (self.parts.at(place), pe)
    }

    /// Reads an element. It is ready when the element is here.
    ///
    /// # Errors
    /// The errors of [`Context::g`].
    pub fn get(&self, index: usize) -> Fetch<T> {
        let (at, pe) = self.element(index);
        self.ctx.g(at, pe)
    }

    /// Writes an element. It is ready when `value` is no longer needed, and there when
    /// [`quiet`](Self::quiet) is ready.
    ///
    /// # Errors
    /// The errors of [`Context::p`].
    pub fn put(&self, index: usize, value: T) -> Update {
        let (at, pe) = self.element(index);
        self.ctx.p(at, value, pe)
    }

    /// Ready when everything that this PE has begun on the array is done.
    ///
    /// # Errors
    /// The oldest error of what has failed since the last call; see [`Context::quiet`].
    pub fn quiet(&self) -> Quiet {
        self.ctx.quiet()
    }

    /// Ready when everything that all PEs have begun on the array before they called this is done.
    /// Collective over the team.
    ///
    /// # Errors
    /// The errors of what this PE has begun, and those of `Team::sync`.
    pub async fn sync(&self) -> Result<()> {
        // The others wait for this PE whatever became of that.
        let done = self.quiet().await;
        self.team.sync().await?;
        done
    }

    /// How many elements this PE has.
    pub fn local_len(&self) -> usize {
        self.placement.count(self.team.my_pe())
    }

    /// The elements that this PE has, in the order of their indices.
    pub fn local(&self) -> SymView<'_, T> {
        self.parts.slice(..self.local_len())
    }

    /// The indices of the elements that this PE has.
    pub fn local_indices(&self) -> impl ExactSizeIterator<Item = usize> + use<T> {
        let (placement, me) = (self.placement, self.team.my_pe());
        (0..self.local_len()).map(move |place| placement.index(me, place))
    }

    /// Calls `each` with the index and the value of each element that this PE has.
    pub fn for_each_local(&self, each: impl FnMut((usize, T))) {
        self.local_indices().zip(self.local().to_vec()).for_each(each);
    }
}

/// Atomic operations, of elements that have them.
impl<T: ExtendedAmo> Array<T> {
    /// Writes an element, and returns what it was before. It is done when it is ready.
    ///
    /// # Errors
    /// The errors of [`Context::swap`].
    pub fn swap(&self, index: usize, value: T) -> Fetch<T> {
        let (at, pe) = self.element(index);
        self.ctx.swap(at, value, pe)
    }
}

/// Atomic operations, of elements that have them.
impl<T: StandardAmo> Array<T> {
    /// Adds to an element. It is done when [`quiet`](Self::quiet) is ready.
    ///
    /// # Errors
    /// The errors of [`Context::add`].
    pub fn add(&self, index: usize, value: T) -> Update {
        let (at, pe) = self.element(index);
        self.ctx.add(at, value, pe)
    }

    /// Adds to an element, and returns what it was before. It is done when it is ready.
    ///
    /// # Errors
    /// The errors of [`Context::fetch_add`].
    pub fn fetch_add(&self, index: usize, value: T) -> Fetch<T> {
        let (at, pe) = self.element(index);
        self.ctx.fetch_add(at, value, pe)
    }

    /// Writes an element if it is `expected`, and returns what it was before. It is done when it is
    /// ready.
    ///
    /// # Errors
    /// The errors of [`Context::compare_swap`].
    pub fn compare_swap(&self, index: usize, expected: T, value: T) -> Fetch<T> {
        let (at, pe) = self.element(index);
        self.ctx.compare_swap(at, expected, value, pe)
    }

    /// Replaces an element by what `change` makes of it, and returns what it was before. It calls
    /// `change` again if another PE comes first. It is done when it is ready.
    ///
    /// # Errors
    /// The errors of [`compare_swap`](Self::compare_swap).
    ///
    /// ```
    /// # use oxshmem::{collections::Array, prelude::*};
    /// # LocalCluster::run(4, |world| async move {
    /// let array = Array::<u32>::new(&world, 3).await?;
    /// array.update(2, |value| 3 * value + 1).await?; // by each PE
    /// array.sync().await?;
    /// assert_eq!(array.get(2).await?, 1 + 3 + 9 + 27);
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub async fn update(&self, index: usize, mut change: impl FnMut(T) -> T + Send) -> Result<T> {
        let mut before = self.get(index).await?;
        loop {
            let found = self.compare_swap(index, before, change(before)).await?;
            // Their bits count, as in the comparison of the atomic operation.
            if bytemuck::bytes_of(&found) == bytemuck::bytes_of(&before) {
                return Ok(found);
            }
            before = found;
        }
    }
}
