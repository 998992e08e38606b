//! Maps beside hash maps: random calls, near, far and over a modelled network.

use std::collections::{HashMap, HashSet};

use oxshmem::{Error, LocalCluster, Result, World, collections::Map, prelude::SpaceKind};
use proptest::prelude::*;

use crate::plain::{Plain, options};

/// What the PEs do one after the other, or together. Keys and values are numbers.
#[derive(Clone, Debug)]
enum Step {
    Get(u64),
    Insert(u64, u64),
    GetOrInsert(u64, u64),
    CompareUpdate(u64, Option<u64>, Option<u64>),
    /// To a value that is one more, or to none if it is odd.
    Update(u64),
    Remove(u64),
    GetAll(Vec<u64>),
    InsertAll(Vec<(u64, u64)>),
    /// By all PEs.
    Grow,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let (key, value) = (0..90_u64, 0..6_u64);
    let maybe = prop::option::of(value.clone());
    let pair = (key.clone(), value);
    let pairs = prop::collection::vec(pair.clone(), 0..40);
    let step = prop_oneof![
        3 => key.clone().prop_map(Step::Get),
        6 => pair.clone().prop_map(|(key, value)| Step::Insert(key, value)),
        3 => pair.prop_map(|(key, value)| Step::GetOrInsert(key, value)),
        3 => (key.clone(), maybe.clone(), maybe).prop_map(|(k, old, new)| Step::CompareUpdate(k, old, new)),
        3 => key.clone().prop_map(Step::Update),
        3 => key.clone().prop_map(Step::Remove),
        2 => prop::collection::vec(key, 0..40).prop_map(Step::GetAll),
        3 => pairs.prop_map(Step::InsertAll),
        1 => Just(Step::Grow),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec((0_usize..7, step), 1..40)
}

#[derive(Clone, Debug)]
struct Case {
    capacity: usize,
    n: usize,
    hosts: usize,
    link: bool,
    gpu: bool,
    seed: u64,
    steps: Vec<(usize, Step)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let place = (0_usize..100, 1_usize..8, 1_usize..4, any::<bool>(), any::<bool>(), any::<u64>(), steps());
    place.prop_map(|(capacity, n, hosts, link, gpu, seed, steps)| Case {
        capacity,
        n,
        hosts: hosts.min(n),
        link,
        gpu,
        seed,
        steps,
    })
}

/// A hash map that is full when the map must be.
#[derive(Default)]
struct Model {
    entries: HashMap<u64, u64>,
    /// Keys that have slots.
    bound: HashSet<u64>,
    /// Slots of each PE.
    slots: usize,
}

impl Model {
    /// Whether the step is possible; then the entry is as it says.
    fn set(&mut self, key: u64, value: Option<u64>, pe_of: impl Fn(u64) -> usize) -> bool {
        let Some(value) = value else {
            self.entries.remove(&key);
            return true;
        };
        let others = self.bound.iter().filter(|&&other| pe_of(other) == pe_of(key)).count();
        if !self.bound.contains(&key) && others == self.slots {
            return false;
        }
        self.bound.insert(key);
        self.entries.insert(key, value);
        true
    }
}

/// What came of a step on the PE that did it.
fn check<T: PartialEq + std::fmt::Debug>(found: Result<T>, right: T, possible: bool) {
    match found {
        Ok(found) => assert!(possible && found == right, "{found:?}, not {right:?}"),
        Err(Error::CollectionFull { what: "Map", .. }) => assert!(!possible),
        Err(error) => panic!("{error}"),
    }
}

async fn play<K: Plain + Eq, V: Plain>(world: World, case: Case) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let space = world.space(if case.gpu { SpaceKind::Gpu } else { SpaceKind::Cpu })?;
    let mut map = Map::<K, V>::new(&space, case.capacity).await?;
    let slots = async |map: &Map<K, V>| Ok::<_, Error>(map.stats().await?.slots / n - 1);
    let mut model = Model { slots: slots(&map).await?, ..Model::default() };
    for (by, step) in case.steps {
        let mine = by % n == me;
        let pe_of = |key| map.pe_of(K::of(key));
        match step {
            Step::Get(key) if mine => {
                check(map.get(K::of(key)).await, model.entries.get(&key).map(|&value| V::of(value)), true);
            }
            Step::Get(_) => {}
            Step::Insert(key, value) => {
                let before = model.entries.get(&key).map(|&value| V::of(value));
                let possible = model.set(key, Some(value), pe_of);
                if mine {
                    check(map.insert(K::of(key), V::of(value)).await, before, possible);
                }
            }
            Step::GetOrInsert(key, value) => {
                let value = model.entries.get(&key).copied().unwrap_or(value);
                let possible = model.set(key, Some(value), pe_of);
                if mine {
                    check(map.get_or_insert(K::of(key), V::of(value)).await, V::of(value), possible);
                }
            }
            Step::CompareUpdate(key, expected, new) => {
                let before = model.entries.get(&key).copied();
                let right = if before == expected { Ok(()) } else { Err(before.map(V::of)) };
                let possible = right.is_err() || model.set(key, new, pe_of);
                if mine {
                    let found = map.compare_update(K::of(key), expected.map(V::of), new.map(V::of)).await;
                    check(found, right, possible);
                }
            }
            Step::Update(key) => {
                let next = |value: Option<u64>| match value {
                    Some(value) if value % 2 == 1 => None,
                    value => Some(value.unwrap_or(0) + 1),
                };
                let before = model.entries.get(&key).copied();
                let possible = model.set(key, next(before), pe_of);
                if mine {
                    let of = |value: Option<V>| next(value.map(Plain::number)).map(V::of);
                    check(map.update(K::of(key), of).await, before.map(V::of), possible);
                }
            }
            Step::Remove(key) => {
                let before = model.entries.remove(&key).map(V::of);
                if mine {
                    check(map.remove(K::of(key)).await, before, true);
                }
            }
            Step::GetAll(keys) => {
                if mine {
                    let right = keys.iter().map(|key| model.entries.get(key).copied().map(V::of));
                    check(map.get_all(keys.iter().map(|&key| K::of(key))).await, right.collect(), true);
                }
            }
            Step::InsertAll(pairs) => {
                // Of those that are not possible, nothing says which come first.
                let is_new = |key: &u64| !model.bound.contains(key);
                let new: HashSet<u64> = pairs.iter().map(|pair| pair.0).filter(is_new).collect();
                let of_pe = |pe| new.iter().chain(&model.bound).filter(|&&key| pe_of(key) == pe).count();
                if (0..n).any(|pe| of_pe(pe) > model.slots) {
                    continue;
                }
                pairs.iter().for_each(|&(key, value)| assert!(model.set(key, Some(value), pe_of)));
                if mine {
                    map.insert_all(pairs.into_iter().map(|(key, value)| (K::of(key), V::of(value)))).await?;
                }
            }
            Step::Grow => {
                let before = map.capacity();
                map.grow(&space).await?;
                assert!(map.capacity() >= 2 * before && map.capacity() > 0);
                model.slots = slots(&map).await?;
                model.bound = model.entries.keys().copied().collect();
            }
            Step::Clear => {
                map.clear().await?;
                model = Model { slots: model.slots, ..Model::default() };
            }
        }
        map.team().sync().await?;
        let stats = map.stats().await?;
        assert_eq!(stats.entries, model.entries.len());
        assert_eq!(stats.entries + stats.removed, model.bound.len());
        let mut local: Vec<_> = map.local().map(|(key, value)| (key.number(), value.number())).collect();
        let is_mine = |(key, _): &(&u64, &u64)| map.pe_of(K::of(**key)) == me;
        let mut right: Vec<_> = model.entries.iter().filter(is_mine).map(|(&k, &v)| (k, v)).collect();
        local.sort_unstable();
        right.sort_unstable();
        assert_eq!(local, right);
        map.team().sync().await?;
    }
    world.finalize().await
}

fn run<K: Plain + Eq, V: Plain>(case: &Case) {
    let options = options(case.hosts, case.link, case.seed);
    LocalCluster::run_with(case.n, options, |world| play::<K, V>(world, case.clone())).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, ..ProptestConfig::default() })]

    #[test]
    fn a_map_of_words_is_as_a_hash_map(case in cases()) {
        run::<u64, u64>(&case);
        run::<u8, f32>(&case);
    }

    #[test]
    fn a_map_with_long_values_is_as_a_hash_map(case in cases()) {
        run::<u16, [u64; 3]>(&case);
    }

    #[test]
    fn a_map_with_long_keys_is_as_a_hash_map(case in cases()) {
        run::<[u8; 21], u8>(&case);
        run::<[u64; 2], [u8; 9]>(&case);
    }

    #[test]
    fn counters_add_up(n in 1_usize..8, hosts in 1_usize..3, adds: Vec<(u8, i32)>) {
        let program = |adds: Vec<(u8, i32)>| async move |world: World| {
            let map = Map::<u8, i32>::new(&world, 256).await?;
            map.add_all(adds.iter().copied()).await?;
            for &(key, value) in &adds {
                map.add(key, value).await?;
            }
            world.barrier_all().await?;
            let mut right = HashMap::new();
            for (key, value) in adds {
                let sum = right.entry(key).or_insert(0_i32);
                *sum = sum.wrapping_add(value.wrapping_mul(2 * world.n_pes() as i32));
            }
            assert_eq!(map.len().await?, right.len());
            for (key, sum) in right {
                assert_eq!(map.get(key).await?, Some(sum));
            }
            world.finalize().await
        };
        let options = options(hosts.min(n), true, 1);
        LocalCluster::run_with(n, options, |world| program(adds.clone())(world)).unwrap();
    }
}

#[test]
fn as_many_entries_fit_as_it_was_made_for() {
    for capacity in [0, 1, 7, 100, 5000] {
        LocalCluster::run(4, |world| async move {
            let map = Map::<u32, [u64; 2]>::new(&world, capacity).await?;
            let mine = (0..capacity as u32).filter(|key| *key as usize % 4 == world.my_pe());
            map.insert_all(mine.map(|key| (key, [key.into(), 0]))).await?;
            assert_eq!(map.len().await?, capacity);
            assert!(map.stats().await?.longest_probe < 64, "{:?}", map.stats().await?);
            world.finalize().await
        })
        .unwrap();
    }
}

#[test]
fn the_word_that_stands_for_nothing_is_a_key_but_no_value() {
    LocalCluster::run(3, |world| async move {
        let mut map = Map::<u64, u64>::new(&world, 10).await?;
        let odd = Map::<u64, u64>::UNSTORABLE;
        if world.my_pe() == 0 {
            assert_eq!(map.insert(odd, 5).await?, None);
            assert_eq!(map.add(odd, 1).await?, Some(5));
            let refused = [map.insert(1, odd).await, map.add(odd, odd - 6).await];
            assert!(refused.iter().all(|error| matches!(error, Err(Error::Unsupported { .. }))));
            assert_eq!(map.get(1).await?, None);
        }
        map.grow(&world).await?;
        assert_eq!((map.get(odd).await?, map.len().await?), (Some(6), 1));
        let is_here = map.pe_of(odd) == world.my_pe();
        assert_eq!(map.local().collect::<Vec<_>>(), if is_here { vec![(odd, 6)] } else { vec![] });
        world.finalize().await
    })
    .unwrap();
}
