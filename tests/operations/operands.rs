//! Every operation with every kind of operand in every position: this PE's own memory, that of
//! another job, another PE's handle, memory that was freed while a handle is held, and no elements.
//! The cases are generated from two tables, of operations and of collectives; an operation that is
//! not in them is not tested here.

use std::{future::Future, panic::AssertUnwindSafe, pin::Pin};

use crate::common::{offloading, refused, settings, soon, time_limit, with_device};
use futures::future::{join_all, try_join_all};
use oxshmem::{
    ClusterOptions, Context, Error, Rejected, Result, SessionOptions, Signal, World, prelude::*,
    settings::Settings,
};

/// Elements of an operand that has any.
const LEN: usize = 8;
/// PEs of a job.
const PES: usize = 2;

/// A position of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// What is read or written on the target.
    There,
    /// The source or the sink on this PE.
    Here,
    /// The word that is updated after the data.
    Word,
}
use Position::{Here, There, Word};

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Own,
    OtherPe,
    OtherJob,
    /// Given up by `World::free` on all PEs, where a clone is still held: it stays this PE's
    /// memory.
    Freed,
    /// An allocation without elements.
    Empty,
    /// No elements of memory that has some.
    EmptyPart,
}
use Is::{Empty, EmptyPart, Freed, OtherJob, OtherPe, Own};

impl Is {
    fn is_foreign(self) -> bool {
        matches!(self, OtherPe | OtherJob)
    }

    fn has_elements(self) -> bool {
        !matches!(self, Empty | EmptyPart)
    }
}

/// A slice for each position.
type Three = [SymSlice<u64>; 3];

/// What a PE has allocated in a space.
#[derive(Clone)]
struct Memory {
    live: Three,
    freed: Three,
    empty: Three,
}

impl Memory {
    async fn of(world: &World, space: SpaceKind) -> Result<Self> {
        let space = world.space(space)?;
        let slices = async |len| -> Result<Three> {
            Ok([
                space.alloc_zeroed(len).await?,
                space.alloc_zeroed(len).await?,
                space.alloc_zeroed(len).await?,
            ])
        };
        let memory = Self { live: slices(LEN).await?, freed: slices(LEN).await?, empty: slices(0).await? };
        for slice in &memory.freed {
            space.free(slice.clone()).await?;
        }
        Ok(memory)
    }

    /// Gives every element another value, to be found again.
    fn mark(&self, seed: u64) {
        for (i, slice) in self.live.iter().chain(&self.freed).enumerate() {
            slice.view().write(&std::array::from_fn::<u64, LEN, _>(|at| seed + (i * LEN + at) as u64));
        }
    }

    fn values(&self) -> Vec<u64> {
        self.live.iter().chain(&self.freed).flat_map(|slice| slice.view().to_vec()).collect()
    }
}

/// Worlds of one job, and what they have allocated, by space.
struct Job {
    worlds: Vec<World>,
    memory: Vec<Vec<Memory>>,
}

impl Job {
    async fn start(n: usize, options: ClusterOptions, spaces: &[SpaceKind]) -> Self {
        let worlds = LocalCluster::start_with(n, options).await.unwrap();
        let memory = try_join_all(worlds.iter().map(async |world| {
            let mut memory = Vec::new();
            for &space in spaces {
                memory.push(Memory::of(world, space).await?);
            }
            Ok::<_, Error>(memory)
        }));
        let memory = memory.await.unwrap();
        Self { worlds, memory }
    }

    async fn end(self) {
        drop(self.memory);
        try_join_all(self.worlds.iter().map(World::finalize)).await.unwrap();
    }
}

/// Two jobs, of which the second is there to be confused with the first.
struct Jobs {
    job: Job,
    other: Job,
    spaces: Vec<SpaceKind>,
}

impl Jobs {
    async fn start(settings: &Settings, hosts: usize, spaces: &[SpaceKind]) -> Self {
        let options = || {
            let options = ClusterOptions { settings: settings.clone(), ..ClusterOptions::default() };
            options.hosts(hosts)
        };
        let job = Job::start(PES, options(), spaces).await;
        let other = Job::start(PES, options(), spaces).await;
        Self { job, other, spaces: spaces.to_vec() }
    }

    async fn end(self) {
        self.job.end().await;
        self.other.end().await;
    }

    /// An operand of PE `me` in a position.
    fn operand(&self, me: usize, space: usize, position: Position, is: Is) -> SymSlice<u64> {
        let at = position as usize;
        let own = &self.job.memory[me][space];
        match is {
            Own => own.live[at].clone(),
            OtherPe => self.job.memory[1 - me][space].live[at].clone(),
            OtherJob => self.other.memory[me][space].live[at].clone(),
            Freed => own.freed[at].clone(),
            Empty => own.empty[at].clone(),
            EmptyPart => own.live[at].slice(LEN..).to_owned(),
        }
    }

    fn mark(&self) {
        for (seed, memory) in self.all().enumerate() {
            memory.mark(1000 * seed as u64);
        }
    }

    fn values(&self) -> Vec<u64> {
        self.all().flat_map(Memory::values).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Memory> {
        self.job.memory.iter().chain(&self.other.memory).flatten()
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// An operation of a context.
struct Operation {
    name: &'static str,
    /// The positions in which it takes symmetric memory.
    positions: &'static [Position],
    /// Whether it takes single elements, of which there cannot be none.
    is_of_elements: bool,
    run: for<'a> fn(&'a Context, &'a Three, usize) -> Running<'a>,
}

/// A row for each: its name, the positions of its operands, how it is called.
macro_rules! operations {
    ($($kind:ident $name:literal $positions:expr, |$ctx:ident, $m:ident, $pe:ident| $call:expr;)*) => {
        vec![$(Operation {
            name: $name,
            positions: &$positions,
            is_of_elements: stringify!($kind) == "elements",
            run: |$ctx, $m, $pe| Box::pin(async move {
                let [there, here, word] = $m;
                let _ = (there, here, word);
                let $m = Named { there, here, word };
                $call.await.map(drop).map_err(Error::from)
            }),
        }),*]
    };
}

struct Named<'a> {
    there: &'a SymSlice<u64>,
    here: &'a SymSlice<u64>,
    word: &'a SymSlice<u64>,
}

fn operations() -> Vec<Operation> {
    operations! {
        arrays "put of a view" [There, Here], |ctx, m, pe| ctx.put(m.there, m.here.view(), pe);
        arrays "put of a slice" [There, Here], |ctx, m, pe| ctx.put(m.there, m.here.clone(), pe);
        arrays "put of a vector" [There], |ctx, m, pe| ctx.put(m.there, vec![1; m.there.len()], pe);
        arrays "put_nbi of a view" [There, Here], |ctx, m, pe| ctx.put_nbi(m.there, m.here.view(), pe);
        arrays "put_nbi of a slice" [There, Here], |ctx, m, pe| ctx.put_nbi(m.there, m.here.clone(), pe);
        arrays "put_nbi of a vector" [There], |ctx, m, pe| ctx.put_nbi(m.there, vec![1; m.there.len()], pe);
        arrays "get" [There], |ctx, m, pe| ctx.get(m.there, pe);
        arrays "get_into a view" [There, Here], |ctx, m, pe| ctx.get_into(m.here.view(), m.there, pe);
        arrays "get_into a slice" [There, Here], |ctx, m, pe| ctx.get_into(m.here.clone(), m.there, pe);
        arrays "get_into a vector" [There], |ctx, m, pe| ctx.get_into(vec![0; m.there.len()], m.there, pe);
        arrays "get_nbi to a view" [There, Here], |ctx, m, pe| ctx.get_nbi(m.here.view(), m.there, pe);
        arrays "get_nbi to a slice" [There, Here], |ctx, m, pe| ctx.get_nbi(m.here.clone(), m.there, pe);
        arrays "get_nbi to a vector" [There], |ctx, m, pe| ctx.get_nbi(vec![0; m.there.len()], m.there, pe);
        arrays "iput of a view" [There, Here],
            |ctx, m, pe| ctx.iput(m.there, m.here.view(), 1, 1, m.there.len(), pe);
        arrays "iput of a slice" [There, Here],
            |ctx, m, pe| ctx.iput(m.there, m.here.clone(), 1, 1, m.there.len(), pe);
        arrays "ibput of a view" [There, Here],
            |ctx, m, pe| ctx.ibput(m.there, m.here.view(), 4, 2, 2, m.there.len() / 4, pe);
        arrays "ibput of a vector" [There],
            |ctx, m, pe| ctx.ibput(m.there, vec![1; m.there.len()], 4, 2, 2, m.there.len() / 4, pe);
        arrays "iget to a view" [There, Here],
            |ctx, m, pe| ctx.iget(m.here.view(), m.there, 1, 1, m.there.len(), pe);
        arrays "iget to a slice" [There, Here],
            |ctx, m, pe| ctx.iget(m.here.clone(), m.there, 1, 1, m.there.len(), pe);
        arrays "ibget to a view" [There, Here],
            |ctx, m, pe| ctx.ibget(m.here.view(), m.there, 2, 4, 2, m.there.len() / 4, pe);
        arrays "put_signal of a view" [There, Here, Word],
            |ctx, m, pe| ctx.put_signal(m.there, m.here.view(), m.word.at(1), Signal::Set(5), pe);
        arrays "put_signal of a slice" [There, Here, Word],
            |ctx, m, pe| ctx.put_signal(m.there, m.here.clone(), m.word.at(1), Signal::Add(5), pe);
        arrays "put_signal_nbi of a view" [There, Here, Word],
            |ctx, m, pe| ctx.put_signal_nbi(m.there, m.here.view(), m.word.at(1), Signal::Add(5), pe);
        arrays "put_signal_nbi of a slice" [There, Here, Word],
            |ctx, m, pe| ctx.put_signal_nbi(m.there, m.here.clone(), m.word.at(1), Signal::Set(5), pe);
        elements "p" [There], |ctx, m, pe| ctx.p(m.there.at(1), 7, pe);
        elements "g" [There], |ctx, m, pe| ctx.g(m.there.at(1), pe);
        elements "signal_set" [Word], |ctx, m, pe| ctx.signal_set(m.word.at(1), 7, pe);
        elements "signal_add" [Word], |ctx, m, pe| ctx.signal_add(m.word.at(1), 7, pe);
        elements "fetch" [There], |ctx, m, pe| ctx.fetch(m.there.at(1), pe);
        elements "swap" [There], |ctx, m, pe| ctx.swap(m.there.at(1), 7, pe);
        elements "compare_swap" [There], |ctx, m, pe| ctx.compare_swap(m.there.at(1), 1, 7, pe);
        elements "fetch_inc" [There], |ctx, m, pe| ctx.fetch_inc(m.there.at(1), pe);
        elements "fetch_add" [There], |ctx, m, pe| ctx.fetch_add(m.there.at(1), 7, pe);
        elements "fetch_and" [There], |ctx, m, pe| ctx.fetch_and(m.there.at(1), 7, pe);
        elements "fetch_or" [There], |ctx, m, pe| ctx.fetch_or(m.there.at(1), 7, pe);
        elements "fetch_xor" [There], |ctx, m, pe| ctx.fetch_xor(m.there.at(1), 7, pe);
        elements "fetch_nbi" [There], |ctx, m, pe| ctx.fetch_nbi(m.there.at(1), pe);
        elements "swap_nbi" [There], |ctx, m, pe| ctx.swap_nbi(m.there.at(1), 7, pe);
        elements "compare_swap_nbi" [There], |ctx, m, pe| ctx.compare_swap_nbi(m.there.at(1), 1, 7, pe);
        elements "fetch_inc_nbi" [There], |ctx, m, pe| ctx.fetch_inc_nbi(m.there.at(1), pe);
        elements "fetch_add_nbi" [There], |ctx, m, pe| ctx.fetch_add_nbi(m.there.at(1), 7, pe);
        elements "fetch_and_nbi" [There], |ctx, m, pe| ctx.fetch_and_nbi(m.there.at(1), 7, pe);
        elements "fetch_or_nbi" [There], |ctx, m, pe| ctx.fetch_or_nbi(m.there.at(1), 7, pe);
        elements "fetch_xor_nbi" [There], |ctx, m, pe| ctx.fetch_xor_nbi(m.there.at(1), 7, pe);
        elements "set" [There], |ctx, m, pe| ctx.set(m.there.at(1), 7, pe);
        elements "add" [There], |ctx, m, pe| ctx.add(m.there.at(1), 7, pe);
        elements "inc" [There], |ctx, m, pe| ctx.inc(m.there.at(1), pe);
        elements "and" [There], |ctx, m, pe| ctx.and(m.there.at(1), 7, pe);
        elements "or" [There], |ctx, m, pe| ctx.or(m.there.at(1), 7, pe);
        elements "xor" [There], |ctx, m, pe| ctx.xor(m.there.at(1), 7, pe);
    }
}

/// All ways to give one position `is`, and this PE's own memory to the others. Data without
/// elements goes with no other data.
fn choices(operation: &Operation) -> Vec<[Is; 3]> {
    let mut choices = vec![[Own; 3]];
    for &position in operation.positions {
        for is in [OtherPe, OtherJob, Freed, Empty, EmptyPart] {
            let mut choice = [Own; 3];
            choice[position as usize] = is;
            if !is.has_elements() {
                if operation.is_of_elements || position == Word {
                    continue;
                }
                // Of both kinds of nothing.
                choice[1 - position as usize] = Empty;
            }
            choices.push(choice);
        }
    }
    choices
}

/// Every operation of PE 0 with every choice, every space for each operand, and both PEs as its
/// target.
async fn try_all(jobs: &Jobs, ctx: &Context) {
    let n = jobs.spaces.len();
    for operation in operations() {
        for choice in choices(&operation) {
            for spaces in 0..n.pow(operation.positions.len() as u32) {
                let mut spaces_of = [0; 3];
                let mut left = spaces;
                for &position in operation.positions {
                    spaces_of[position as usize] = left % n;
                    left /= n;
                }
                for pe in 0..PES {
                    let operands = [There, Here, Word]
                        .map(|at| jobs.operand(0, spaces_of[at as usize], at, choice[at as usize]));
                    jobs.mark();
                    let before = jobs.values();
                    let outcome = soon(operation.name, (operation.run)(ctx, &operands, pe)).await;
                    let case = format!("{} with {choice:?} in {spaces_of:?} of PE {pe}", operation.name);
                    if choice.iter().any(|is| is.is_foreign()) {
                        let error = refused(outcome);
                        assert!(matches!(error, Error::ForeignMemory { .. }), "{case}: {error}");
                        assert_eq!(jobs.values(), before, "{case} was refused, and changed memory");
                    } else {
                        outcome.unwrap_or_else(|error| panic!("{case}: {error}"));
                    }
                    soon("quiet", ctx.quiet()).await.unwrap_or_else(|error| panic!("{case}: quiet: {error}"));
                }
            }
        }
    }
}

/// On one host and on two, with what each option of a context or of a job makes of operations.
fn all_operations(settings: &Settings, spaces: &[SpaceKind]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for hosts in [1, 2] {
            let jobs = Jobs::start(settings, hosts, spaces).await;
            let world = &jobs.job.worlds[0];
            try_all(&jobs, world.context()).await;
            // Small operations travel together.
            let session = world.context().session(SessionOptions::new().batch());
            try_all(&jobs, &session).await;
            soon("the session's end", session.finish()).await.unwrap();
            jobs.end().await;
        }
    });
}

#[test]
fn every_operation_refuses_memory_of_another_job_or_pe_in_every_position() {
    let _limit = time_limit(300);
    all_operations(&settings(), &[SpaceKind::Cpu]);
}

#[test]
fn nonblocking_operations_of_other_threads_refuse_memory_of_another_job_or_pe() {
    let _limit = time_limit(300);
    all_operations(&offloading(), &[SpaceKind::Cpu]);
}

#[test]
fn every_operation_refuses_device_memory_of_another_job_or_pe() {
    let _limit = time_limit(300);
    let mut settings = with_device();
    settings.offload_threshold = Some(1);
    all_operations(&settings, &[SpaceKind::Cpu, SpaceKind::Gpu]);
}

/// A collective of a team.
struct Collective {
    name: &'static str,
    run: for<'a> fn(&'a World, SymView<'a, u64>, SymView<'a, u64>) -> Running<'a>,
}

/// A row for each: its name, and how it is called with a destination and a source.
macro_rules! collectives {
    ($($name:literal |$team:ident, $dest:ident, $source:ident| $call:expr;)*) => {
        vec![$(Collective {
            name: $name,
            run: |world, $dest, $source| Box::pin(async move {
                let $team = world.team();
                $call.await
            }),
        }),*]
    };
}

/// A block of each PE's, where the other operand has all of them.
fn block(view: SymView<'_, u64>) -> SymView<'_, u64> {
    view.slice(..view.len() / PES)
}

fn collectives() -> Vec<Collective> {
    collectives! {
        "broadcast" |team, dest, source| team.broadcast(dest, source, 0);
        "broadcast by the other" |team, dest, source| team.broadcast(dest, source, 1);
        "broadcast_to_others" |team, dest, source| team.broadcast_to_others(dest, source, 1);
        "fcollect" |team, dest, source| team.fcollect(dest, block(source));
        "collect" |team, dest, source| team.collect(dest, block(source));
        "alltoall" |team, dest, source| team.alltoall(dest, source);
        "alltoalls" |team, dest, source| team.alltoalls(dest, source, 1, 1, block(source).len());
        "and_reduce" |team, dest, source| team.and_reduce(dest, source);
        "or_reduce" |team, dest, source| team.or_reduce(dest, source);
        "xor_reduce" |team, dest, source| team.xor_reduce(dest, source);
        "min_reduce" |team, dest, source| team.min_reduce(dest, source);
        "max_reduce" |team, dest, source| team.max_reduce(dest, source);
        "sum_reduce" |team, dest, source| team.sum_reduce(dest, source);
        "prod_reduce" |team, dest, source| team.prod_reduce(dest, source);
        "sum_inscan" |team, dest, source| team.sum_inscan(dest, source);
        "sum_exscan" |team, dest, source| team.sum_exscan(dest, source);
    }
}

/// Every collective of both PEs with every choice for its operands, of each space.
async fn try_collectives(jobs: &Jobs) {
    for collective in collectives() {
        for is in [Own, OtherPe, OtherJob, Freed, Empty, EmptyPart] {
            for at in [There, Here] {
                for space in 0..jobs.spaces.len() {
                    // Data without elements goes with no other data.
                    let other = if is.has_elements() { Own } else { Empty };
                    let choice = if at == There { [is, other] } else { [other, is] };
                    let case = format!("{} with {choice:?} in {:?}", collective.name, jobs.spaces[space]);
                    jobs.mark();
                    let before = jobs.values();
                    let operands: Vec<_> = (0..PES)
                        .map(|me| [There, Here].map(|at| jobs.operand(me, space, at, choice[at as usize])))
                        .collect();
                    let calls =
                        jobs.job.worlds.iter().zip(&operands).map(|(world, [dest, source])| {
                            (collective.run)(world, dest.view(), source.view())
                        });
                    for outcome in soon(&case, join_all(calls)).await {
                        if is.is_foreign() {
                            let error = refused(outcome);
                            assert!(matches!(error, Error::ForeignMemory { .. }), "{case}: {error}");
                            assert_eq!(jobs.values(), before, "{case} was refused, and changed memory");
                        } else {
                            outcome.unwrap_or_else(|error| panic!("{case}: {error}"));
                        }
                    }
                    // The team goes on.
                    let syncs = jobs.job.worlds.iter().map(World::sync_all);
                    soon(&case, try_join_all(syncs)).await.unwrap_or_else(|error| panic!("{case}: {error}"));
                }
            }
        }
    }
}

#[test]
fn every_collective_refuses_memory_of_another_job_or_pe_and_takes_no_elements() {
    let _limit = time_limit(300);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for (settings, spaces) in
            [(settings(), &[SpaceKind::Cpu][..]), (with_device(), &[SpaceKind::Cpu, SpaceKind::Gpu])]
        {
            for hosts in [1, 2] {
                let jobs = Jobs::start(&settings, hosts, spaces).await;
                try_collectives(&jobs).await;
                jobs.end().await;
            }
        }
    });
}

#[test]
fn only_memory_of_this_pe_is_resized_or_freed() {
    let _limit = time_limit(120);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let spaces = [SpaceKind::Cpu, SpaceKind::Gpu];
        let jobs = Jobs::start(&with_device(), 1, &spaces).await;
        let worlds = &jobs.job.worlds;
        let used = |world: &World| spaces.map(|space| world.space(space).unwrap().heap_use());
        for is in [OtherPe, OtherJob] {
            for (space, &kind) in spaces.iter().enumerate() {
                let operand = |me| jobs.operand(me, space, There, is);
                let before: Vec<_> = worlds.iter().map(used).collect();
                jobs.mark();
                let values = jobs.values();
                let case = format!("{is:?} in {kind:?}");
                for len in [0, 2, 2 * LEN, 1000 * LEN] {
                    let calls = (0..PES).map(|me| worlds[me].realloc(operand(me), len));
                    for (me, outcome) in soon(&case, join_all(calls)).await.into_iter().enumerate() {
                        refused_with_slice(&case, &operand(me), outcome.map(drop));
                    }
                }
                let calls = (0..PES).map(|me| worlds[me].free(operand(me)));
                for (me, outcome) in soon(&case, join_all(calls)).await.into_iter().enumerate() {
                    refused_with_slice(&case, &operand(me), outcome);
                }
                let calls = (0..PES).map(|me| worlds[me].space(kind).unwrap().free(operand(me)));
                for (me, outcome) in soon(&case, join_all(calls)).await.into_iter().enumerate() {
                    refused_with_slice(&case, &operand(me), outcome);
                }
                // Nobody's block has become free.
                let reclaims = worlds.iter().map(World::reclaim);
                soon(&case, try_join_all(reclaims)).await.unwrap();
                assert_eq!(worlds.iter().map(used).collect::<Vec<_>>(), before, "{case}");
                assert_eq!(jobs.values(), values, "{case}");
            }
        }
        jobs.end().await;
    });
}

/// The call was refused, and gave back what it was given.
fn refused_with_slice(
    case: &str,
    given: &SymSlice<u64>,
    outcome: std::result::Result<(), Rejected<SymSlice<u64>>>,
) {
    let Err(Rejected { error, buffer }) = outcome else { panic!("{case} was not refused") };
    assert!(matches!(error, Error::ForeignMemory { .. }), "{case}: {error}");
    assert_eq!(buffer.view().to_vec(), given.view().to_vec(), "{case}");
}

#[test]
fn a_pe_that_refuses_a_call_on_the_heap_leaves_nobody_waiting() {
    let _limit = time_limit(60);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let jobs = Jobs::start(&settings(), 1, &[SpaceKind::Cpu]).await;
        let worlds = &jobs.job.worlds;
        let (bad, good) = (jobs.operand(0, 0, There, OtherPe), jobs.operand(1, 0, There, Own));
        let (first, second) = soon("a free that one refuses", async {
            futures::join!(worlds[0].free(bad), worlds[1].free(good))
        })
        .await;
        assert!(matches!(refused(first), Error::ForeignMemory { .. }));
        let error = refused(second);
        assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
        assert!(error.to_string().contains("PE 0 calls free, which it has refused"), "{error}");
        let (bad, good) = (jobs.operand(0, 0, Here, OtherJob), jobs.operand(1, 0, Here, Own));
        let (first, second) = soon("a realloc that one refuses", async {
            futures::join!(worlds[0].realloc(bad, 2), worlds[1].realloc(good, 2))
        })
        .await;
        assert!(matches!(refused(first), Error::ForeignMemory { .. }));
        let Rejected { error, buffer } = second.unwrap_err();
        assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
        assert_eq!(buffer.len(), LEN, "it comes back");
        let (first, second) = soon("an allocation that one refuses", async {
            futures::join!(worlds[0].alloc_aligned::<u64>(8, 3), worlds[1].alloc_aligned::<u64>(8, 64))
        })
        .await;
        assert!(matches!(refused(first), Error::InvalidAlignment { align: 3, .. }));
        assert!(matches!(refused(second), Error::CollectiveMismatch { .. }));
        jobs.end().await;
    });
}

#[test]
fn a_signal_of_another_pe_is_not_fetched_and_its_lock_not_made() {
    let _limit = time_limit(60);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let jobs = Jobs::start(&settings(), 1, &[SpaceKind::Cpu]).await;
        let ctx = jobs.job.worlds[0].context();
        for is in [Own, Freed, OtherPe, OtherJob] {
            let word = jobs.operand(0, 0, Word, is);
            let fetched = std::panic::catch_unwind(AssertUnwindSafe(|| ctx.signal_fetch(word.at(0))));
            assert_eq!(fetched.is_err(), is.is_foreign(), "{is:?}");
            let lock = Lock::new(ctx, word.at(0));
            assert_eq!(lock.is_err(), is.is_foreign(), "{is:?}");
            if is.is_foreign() {
                assert!(matches!(refused(lock), Error::ForeignMemory { .. }), "{is:?}");
            }
        }
        jobs.end().await;
    });
}
