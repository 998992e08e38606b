//! Collections in jobs that go on: a PE is killed in the middle of what it does with them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures::{FutureExt, StreamExt};
use oxshmem::{
    Error, Result,
    collections::{Array, Channel, Layout, Map, Receiver, Semaphore, Sender, Serde},
    prelude::*,
};

use crate::{
    common::{Job, Random, test_name, time_limit},
    go_on, is_lost, kill_this,
};

const LOST: usize = 3;
/// Keys of each PE in the map, and of all, and elements of each in the array.
const KEYS: u64 = 25;
/// How long survivors go on once they know of the loss.
const AFTERWARDS: Duration = Duration::from_millis(50);

/// What a PE sends: its number, and how many messages it has sent before.
type Message = (usize, u64);

/// Uses all of them until it is killed.
async fn until_it_is_killed(
    world: &World,
    counts: &Array<u64>,
    map: &Map<u64, [u64; 4]>,
    sender: &Sender<Message, Serde<Message>>,
) -> Result<()> {
    let mut random = Random::new(u64::from(std::process::id()));
    let delay = Duration::from_micros(random.below(40_000));
    std::thread::spawn(move || {
        std::thread::sleep(delay);
        kill_this();
    });
    for number in 0.. {
        // Its own, or those that all change.
        let key = (3 + random.below(2)) * 1000 + random.below(KEYS);
        // Several are under way.
        let sent = sender.send((world.my_pe(), number));
        let (sent, inserted) = futures::join!(sent, map.insert(key, [number; 4]));
        sent.and(inserted.map(drop))?;
        counts.add(random.below(4 * KEYS) as usize, 0).await?;
    }
    Ok(())
}

/// Whether a call that needs PE `pe` has succeeded: it may fail if that is the lost one.
fn has<T: std::fmt::Debug>(outcome: Result<T>, pe: usize) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        outcome if pe == LOST => {
            is_lost(outcome, LOST, 1..=1);
            None
        }
        Err(error) => panic!("PE {pe} is there, and here is {error}"),
    }
}

/// Takes what others send until all are gone. Nothing is missing in between.
async fn receive(receiver: Option<Receiver<Message, Serde<Message>>>) -> HashMap<usize, u64> {
    let mut next = HashMap::new();
    let Some(mut receiver) = receiver else { return next };
    while let Some(message) = receiver.next().await {
        let (pe, number) = message.expect("what has come is whole");
        let expected = next.entry(pe).or_insert(0);
        assert_eq!(number, *expected, "of PE {pe}");
        *expected += 1;
    }
    next
}

async fn one_is_killed_meanwhile(world: World) -> Result<()> {
    let me = world.my_pe();
    let counts = Array::<u64>::with_layout(&world, 4 * KEYS as usize, Layout::Cyclic).await?;
    let map = Map::<u64, [u64; 4]>::new(&world, 400).await?;
    let (sender, receiver) = Channel::with_codec::<Message, Serde<_>>(&world, 0, 64).await?;
    let semaphore = Semaphore::new(&world, 1).await?;
    let permit = if me == LOST { Some(semaphore.acquire().await?) } else { None };
    world.barrier_all().await?;
    if permit.is_some() {
        return until_it_is_killed(&world, &counts, &map, &sender).await;
    }
    let work = async move {
        let mut random = Random::new(me as u64 + 1);
        let (mut stored, mut counted) = (HashMap::new(), HashMap::new());
        let (mut losses, mut seen) = (world.losses(), None);
        let mut number = 0;
        while seen.is_none_or(|seen: Instant| seen.elapsed() < AFTERWARDS) {
            let key = me as u64 * 1000 + random.below(KEYS);
            if has(map.insert(key, [number; 4]).await, map.pe_of(key)).is_some() {
                stored.insert(key, number);
            }
            let key = 4000 + random.below(KEYS);
            has(map.insert(key, [number; 4]).await, map.pe_of(key));
            // Of any PE, which may be changing it.
            let key = random.below(5) * 1000 + random.below(KEYS);
            if let Some(Some(value)) = has(map.get(key).await, map.pe_of(key)) {
                assert!(value.iter().all(|word| *word == value[0]), "{value:?}");
            }
            let index = me * KEYS as usize + random.below(KEYS) as usize;
            let count = counted.entry(index).or_insert(0);
            if let Some(before) = has(counts.fetch_add(index, 1).await, counts.place_of(index).0) {
                assert_eq!(before, *count, "element {index}");
                *count += 1;
            }
            sender.send((me, number)).await?;
            number += 1;
            if seen.is_none() && losses.next().now_or_never().is_some() {
                seen = Some(Instant::now());
            }
        }
        for (key, number) in stored {
            if map.pe_of(key) != LOST {
                assert_eq!(map.get(key).await?, Some([number; 4]), "key {key}");
            }
        }
        // It had the permit.
        is_lost(semaphore.acquire().await, LOST, 1..=1);
        is_lost(counts.sync().await, LOST, 1..=1);
        // What had begun towards the lost PE is reported once.
        let _ = world.context().quiet().await;
        Ok::<_, Error>((world, number))
    };
    let (worked, received) = futures::join!(work, receive(receiver));
    let (world, sent) = worked?;
    if me == 0 {
        assert_eq!(received[&0], sent);
        assert!(received.contains_key(&1) && received.contains_key(&2), "{received:?}");
    }
    world.survivors().await.map(drop)
}

#[test]
fn a_pe_may_be_killed_in_the_middle_of_what_it_does_with_collections() {
    let _limit = time_limit(120);
    for hosts in ["1", "2", "1", "2", "4", "2:cyclic"] {
        let job = Job::new(test_name!(), 4).launcher_args(&["--fake-hosts", hosts]);
        let ended = go_on(job.env("SHMEM_NET_INTERFACES=lo"), one_is_killed_meanwhile);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
    }
}
