//! What many tasks of many PEs do at once is linearizable for each key, also when futures are
//! dropped in the middle, and goes on when a PE is lost.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures::future::{join_all, try_join_all};
use oxshmem::{ClusterOptions, Error, LocalCluster, Result, World, collections::Map};
use proptest::prelude::*;

use crate::{
    linear::{Call, Event, is_linearizable},
    plain::{Plain, options},
};

/// What has happened to each key, with a clock.
#[derive(Default)]
struct Log {
    clock: AtomicU64,
    events: Mutex<Vec<(u64, Event)>>,
}

impl Log {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn check(&self) {
        let events = self.events.lock().unwrap();
        let mut keys: Vec<_> = events.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let of_key: Vec<_> =
                events.iter().filter(|event| event.0 == key).map(|(_, e)| e.clone()).collect();
            let lines: Vec<_> = of_key.iter().map(|event| format!("{event:?}")).collect();
            assert!(is_linearizable(&of_key), "key {key}:\n{}", lines.join("\n"));
        }
    }
}

/// A random number generator of a task: `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) % n
    }

    fn maybe(&mut self, n: u64) -> Option<u64> {
        self.below(n).checked_sub(1)
    }

    fn call(&mut self) -> Call {
        match self.below(7) {
            0 | 1 => Call::Get,
            2 => Call::Insert(self.below(4)),
            3 => Call::GetOrInsert(self.below(4)),
            4 => Call::CompareUpdate(self.maybe(4), self.maybe(5)),
            5 => Call::Update(1),
            _ => Call::Remove,
        }
    }
}

async fn perform<K: Plain + Eq, V: Plain>(map: &Map<K, V>, key: u64, call: Call) -> Result<Option<u64>> {
    let key = K::of(key);
    let value = match call {
        Call::Get => map.get(key).await?,
        Call::Insert(value) => map.insert(key, V::of(value)).await?,
        Call::GetOrInsert(value) => Some(map.get_or_insert(key, V::of(value)).await?),
        Call::CompareUpdate(expected, new) => {
            let (expected, new) = (expected.map(V::of), new.map(V::of));
            map.compare_update(key, expected, new).await?.err().unwrap_or(expected)
        }
        Call::Update(by) => map.update(key, |value| Some(V::of(value.map_or(0, Plain::number) + by))).await?,
        Call::Remove => map.remove(key).await?,
    };
    Ok(value.map(Plain::number))
}

/// Polls a future, and drops it at the first poll beyond `polls`.
async fn polled<T>(future: impl Future<Output = T>, mut polls: u64) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await
}

#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    hosts: usize,
    link: bool,
    tasks: u64,
    keys: u64,
    /// How many of 8 operations are dropped.
    dropped: u64,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let place = (2_usize..8, 1_usize..4, any::<bool>());
    let load = (1_u64..9, 1_u64..6, prop_oneof![Just(0_u64), 1_u64..6], any::<u64>());
    (place, load).prop_map(|((n, hosts, link), (tasks, keys, dropped, seed))| Case {
        n,
        hosts: hosts.min(n),
        link,
        tasks,
        keys,
        dropped,
        seed,
    })
}

async fn play<K: Plain + Eq, V: Plain>(world: World, case: Case, log: Arc<Log>) -> Result<()> {
    let map = Map::<K, V>::new(&world, case.keys as usize).await?;
    let me = world.my_pe() as u64;
    // As many for each key as the checker takes.
    let steps = (60 * case.keys / (case.n as u64 * case.tasks)).min(60);
    let task = async |nth: u64| {
        let mut random = Random(case.seed ^ (me << 32) ^ (nth << 40));
        for _ in 0..steps {
            let (key, call) = (random.below(case.keys), random.call());
            let is_dropped = random.below(8) < case.dropped;
            let polls = if is_dropped { random.below(8) } else { u64::MAX };
            let began = log.now();
            let answer = polled(perform(&map, key, call), polls).await.transpose()?;
            let ended = answer.map(|answer| (log.now(), answer));
            log.events.lock().unwrap().push((key, Event { call, began, ended }));
        }
        Ok::<_, Error>(())
    };
    try_join_all((0..case.tasks).map(task)).await?;
    world.barrier_all().await?;
    // Whatever was dropped, all goes on.
    for key in 0..case.keys {
        let began = log.now();
        let answer = map.get(K::of(key)).await?.map(Plain::number);
        let ended = Some((log.now(), answer));
        if me == 0 {
            log.events.lock().unwrap().push((key, Event { call: Call::Get, began, ended }));
        }
    }
    assert!(map.len().await? <= case.keys as usize);
    for _ in 0..50 {
        map.update(K::of(me), |_| Some(V::of(me))).await?;
    }
    world.finalize().await
}

fn run<K: Plain + Eq, V: Plain>(case: Case) {
    let log = Arc::new(Log::default());
    let options = options(case.hosts, case.link, case.seed);
    LocalCluster::run_with(case.n, options, |world| play::<K, V>(world, case, Arc::clone(&log))).unwrap();
    log.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn operations_on_words_are_linearizable(case in cases()) {
        run::<u64, u64>(case);
    }

    #[test]
    fn operations_on_nodes_are_linearizable_and_never_torn(case in cases()) {
        run::<[u8; 21], [u64; 3]>(case);
    }

    #[test]
    fn operations_on_words_and_nodes_are_linearizable(case in cases()) {
        run::<u32, [u64; 9]>(case);
        run::<[u64; 5], u8>(case);
    }
}

#[test]
fn nodes_are_not_lost_with_the_futures_that_had_them() {
    LocalCluster::run_with(3, options(3, true, 5), |world| async move {
        let map = Map::<u64, [u64; 4]>::new(&world, 8).await?;
        let mut random = Random(world.my_pe() as u64);
        // Many times as many as there are nodes, on one PE.
        let keys: Vec<u64> = (0..100).filter(|&key| map.pe_of(key) == 0).take(6).collect();
        for round in 0..150 {
            let key = |i: usize| keys[i % keys.len()];
            let inserts = (0..20).map(|i| polled(map.insert(key(i), [round; 4]), random.below(14)));
            join_all(inserts.collect::<Vec<_>>()).await;
            let removes = (0..6).map(|i| polled(map.remove(key(i)), random.below(14)));
            join_all(removes.collect::<Vec<_>>()).await;
        }
        map.insert_all(keys.iter().map(|&key| (key, [key; 4]))).await?;
        world.barrier_all().await?;
        assert_eq!(map.get(keys[0]).await?, Some([keys[0]; 4]));
        world.finalize().await
    })
    .unwrap();
}

#[test]
fn operations_with_a_lost_pe_fail_and_others_go_on() {
    let options = ClusterOptions { survives_loss: true, ..options(2, true, 3) };
    let ends = LocalCluster::run_each(4, options, |world| async move {
        let map = Map::<u32, [u64; 3]>::new(&world, 200).await?;
        let key_of = |pe| (0..).find(|&key| map.pe_of(key) == pe).expect("each has some");
        if world.my_pe() == 1 {
            // In the middle of changes to all PEs.
            let changes = (0..60).map(async |key| {
                loop {
                    map.update(key % 20, |value| value.is_none().then(|| Plain::of(key.into()))).await?;
                    tokio::task::yield_now().await;
                }
            });
            let lose = async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                LocalCluster::lose(&world, "it is a test")
            };
            let (changed, lost): (Result<Vec<()>>, _) = futures::join!(try_join_all(changes), lose);
            changed?;
            return lost;
        }
        let lost = world.losses().next().await;
        assert_eq!(lost.pe, 1);
        assert!(matches!(map.get(key_of(1)).await, Err(Error::PeLost { pe: 1, .. })));
        assert!(matches!(map.insert(key_of(1), [0; 3]).await, Err(Error::PeLost { pe: 1, .. })));
        for key in (0..100).filter(|&key| map.pe_of(key) != 1) {
            map.update(key, |value| Some(Plain::of(value.map_or(0, Plain::number) + 1))).await?;
        }
        world.finalize().await
    })
    .unwrap();
    let is_right = |(pe, end): (usize, &Result<()>)| (pe == 1) == end.is_err();
    assert!(ends.iter().enumerate().all(is_right), "{ends:?}");
}
