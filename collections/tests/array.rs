//! Arrays beside vectors: random calls, near, far and over a modelled network.

mod common;

use common::{for_a_while, options};
use oxshmem::{
    ClusterOptions, LocalCluster, Result, World,
    collections::{Array, Layout},
    prelude::SpaceKind,
};
use proptest::prelude::*;

/// What the PEs do one after the other, or together.
#[derive(Clone, Debug)]
enum Step {
    Put(usize, u64),
    Add(usize, u64),
    FetchAdd(usize, u64),
    Swap(usize, u64),
    Update(usize),
    Gather(Vec<usize>),
    Scatter(Vec<(usize, u64)>),
    PutRange(usize, Vec<u64>),
    GetRange(std::ops::Range<usize>),
    /// By all PEs.
    AddAll(Vec<(usize, u64)>),
    Fill(u64),
    Redistribute(Layout),
    Reduce,
    ToVec,
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::Blocks), Just(Layout::Cyclic), (1_usize..6).prop_map(Layout::BlockCyclic)]
}

fn steps(len: usize) -> impl Strategy<Value = Vec<(usize, Step)>> {
    let (index, value) = (0..len, 0_u64..1000);
    let pair = (index.clone(), value.clone());
    let pairs = prop::collection::vec(pair.clone(), 0..30);
    let range = (0..=len, 0..=len).prop_map(|(a, b)| a.min(b)..a.max(b));
    let values = range
        .clone()
        .prop_flat_map(|range| (Just(range.start), prop::collection::vec(0_u64..1000, range.len())));
    // A scatter has each index once.
    let unique = prop::collection::btree_map(index.clone(), value.clone(), 0..30);
    let step = prop_oneof![
        pair.clone().prop_map(|(index, value)| Step::Put(index, value)),
        pair.clone().prop_map(|(index, value)| Step::Add(index, value)),
        pair.clone().prop_map(|(index, value)| Step::FetchAdd(index, value)),
        pair.prop_map(|(index, value)| Step::Swap(index, value)),
        index.clone().prop_map(Step::Update),
        prop::collection::vec(index, 0..30).prop_map(Step::Gather),
        unique.prop_map(|pairs| Step::Scatter(pairs.into_iter().collect())),
        values.prop_map(|(start, values)| Step::PutRange(start, values)),
        range.prop_map(Step::GetRange),
        pairs.prop_map(Step::AddAll),
        value.prop_map(Step::Fill),
        layouts().prop_map(Step::Redistribute),
        Just(Step::Reduce),
        Just(Step::ToVec),
    ];
    prop::collection::vec((0_usize..7, step), 1..25)
}

#[derive(Clone, Debug)]
struct Case {
    len: usize,
    layout: Layout,
    n: usize,
    hosts: usize,
    link: bool,
    gpu: bool,
    steps: Vec<(usize, Step)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let place = (1_usize..60, layouts(), 1_usize..8, 1_usize..4, any::<bool>(), any::<bool>());
    place.prop_flat_map(|(len, layout, n, hosts, link, gpu)| {
        let hosts = hosts.min(n);
        steps(len).prop_map(move |steps| Case { len, layout, n, hosts, link, gpu, steps })
    })
}

async fn play(world: World, case: Case) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let space = world.space(if case.gpu { SpaceKind::Gpu } else { SpaceKind::Cpu })?;
    let mut array = Array::<u64>::with_layout(&space, case.len, case.layout).await?;
    let mut model = vec![0; case.len];
    for (by, step) in case.steps {
        let mine = by % n == me;
        match step {
            Step::Put(index, value) => {
                if mine {
                    array.put(index, value).await?;
                }
                model[index] = value;
            }
            Step::Add(index, value) => {
                if mine {
                    array.add(index, value).await?;
                }
                model[index] += value;
            }
            Step::FetchAdd(index, value) => {
                if mine {
                    assert_eq!(array.fetch_add(index, value).await?, model[index]);
                }
                model[index] += value;
            }
            Step::Swap(index, value) => {
                if mine {
                    assert_eq!(array.swap(index, value).await?, model[index]);
                }
                model[index] = value;
            }
            Step::Update(index) => {
                if mine {
                    assert_eq!(array.update(index, |value| value * 2 + 1).await?, model[index]);
                }
                model[index] = model[index] * 2 + 1;
            }
            Step::Gather(indices) => {
                let right: Vec<_> = indices.iter().map(|&index| model[index]).collect();
                if mine {
                    assert_eq!(array.gather(indices).await?, right);
                }
            }
            Step::Scatter(pairs) => {
                pairs.iter().for_each(|&(index, value)| model[index] = value);
                if mine {
                    array.scatter(pairs).await?;
                }
            }
            Step::PutRange(start, values) => {
                if mine {
                    array.put_range(start, &values);
                }
                model[start..start + values.len()].copy_from_slice(&values);
            }
            Step::GetRange(range) => {
                if mine {
                    assert_eq!(array.get_range(range.clone()).await?, model[range]);
                }
            }
            Step::AddAll(pairs) => {
                pairs.iter().for_each(|&(index, value)| model[index] += n as u64 * value);
                array.add_all(pairs).await?;
            }
            Step::Fill(value) => {
                array.fill(value).await?;
                model.fill(value);
            }
            Step::Redistribute(layout) => {
                array = array.redistribute(&space, layout).await?;
                assert_eq!(array.layout(), layout);
            }
            Step::Reduce => {
                assert_eq!(array.reduce(0, u64::wrapping_add).await?, model.iter().sum());
            }
            Step::ToVec => {
                if mine {
                    assert_eq!(array.to_vec().await?, model);
                }
            }
        }
        array.sync().await?;
        array.for_each_local(|(index, value)| assert_eq!(value, model[index]));
        // What another PE does next must not be seen by this one before.
        array.team().sync().await?;
    }
    world.finalize().await
}

fn with_devices(case: &Case) -> ClusterOptions {
    let mut options = options(case.hosts, case.link);
    options.settings.enable_cpu_space = Some("1".into());
    options.settings.enable_gpu_space = Some("1".into());
    options.settings.gpu_emulate = true;
    options
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_array_is_as_a_vector(case in cases()) {
        let options = with_devices(&case);
        LocalCluster::run_with(case.n, options, |world| play(world, case.clone())).unwrap();
    }
}

#[test]
fn batches_may_be_dropped_at_each_of_their_polls() {
    const LEN: usize = 3000;
    for (hosts, link) in [(1, false), (2, false), (2, true)] {
        let played = LocalCluster::run_with(2, options(hosts, link), async |world| {
            let counts = Array::<u64>::with_layout(&world, LEN, Layout::Cyclic).await?;
            let values = Array::<u64>::with_layout(&world, LEN, Layout::Cyclic).await?;
            let mut added = 0;
            for polls in 0..if world.my_pe() == 1 { 20 } else { 0 } {
                for_a_while(counts.add_all((0..LEN).map(|index| (index, 1))), polls).await;
                for_a_while(values.scatter((0..LEN).map(|index| (index, polls))), polls).await;
                for_a_while(counts.gather(0..LEN), polls).await;
                counts.add_all((0..LEN).map(|index| (index, 1))).await?;
                added += 1;
                // Those that were dropped have added some, from the first one on.
                let sums = counts.gather(0..LEN).await?;
                assert!(sums.is_sorted_by(|before, after| before >= after), "{sums:?}");
                assert!((added..=2 * added).contains(&sums[0]) && sums[LEN - 1] >= added, "{sums:?}");
                values.quiet().await?;
                let written = values.gather(0..LEN).await?;
                let new = written.partition_point(|value| *value == polls);
                assert!(written[new..].iter().all(|value| *value < polls), "{written:?}");
            }
            world.barrier_all().await?;
            world.finalize().await
        });
        played.unwrap();
    }
}

#[test]
#[should_panic(expected = "element 3 of an array of 3")]
fn an_index_behind_the_end_is_a_panic() {
    let played = LocalCluster::run(1, |world| async move {
        let array = Array::<u8>::new(&world, 3).await?;
        drop(array.get(3));
        world.finalize().await
    });
    played.unwrap();
}

#[test]
#[should_panic(expected = "elements 2..4 of an array of 3")]
fn a_range_behind_the_end_is_a_panic() {
    let played = LocalCluster::run(1, |world| async move {
        Array::<u8>::new(&world, 3).await?.put_range(2, &[1, 2]);
        world.finalize().await
    });
    played.unwrap();
}
