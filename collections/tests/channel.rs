//! Channels beside queues: all messages arrive once and in the order of their sender, whatever is
//! dropped meanwhile, near, far and over a modelled network.

mod common;

use std::collections::VecDeque;

use common::{for_a_while, options, random};
use futures::{FutureExt, SinkExt, StreamExt, stream};
use oxshmem::{
    ClusterOptions, Error, LocalCluster, Result, World,
    collections::{Broadcast, Channel, Serde},
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Case {
    n: usize,
    hosts: usize,
    link: bool,
    to: usize,
    capacity: usize,
    messages: u64,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let place = (1_usize..8, 1_usize..4, any::<bool>(), 0_usize..7, 1_usize..40);
    (place, 0_u64..300, any::<u64>()).prop_map(|((n, hosts, link, to, capacity), messages, seed)| Case {
        n,
        hosts: hosts.min(n),
        link,
        to: to % n,
        capacity,
        messages,
        seed,
    })
}

/// What PE `pe` sends as its message of that number.
fn text(pe: usize, number: u64) -> (usize, u64, String) {
    (pe, number, "x".repeat((number as usize * 7 + pe) % 60))
}

/// Each PE sends in all ways, and drops what it waits for at times; one receives, and does so too.
async fn to_one(world: World, case: Case) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let mut seed = case.seed ^ me as u64;
    let channel = Channel::with_codec::<_, Serde<_>>(&world, case.to, case.capacity).await?;
    let (mut sender, receiver) = channel;
    let send = async {
        let mut number = 0;
        while number < case.messages {
            match random(&mut seed) % 4 {
                0 => sender.send(text(me, number)).await?,
                1 => sender.feed(text(me, number)).await?,
                2 => {
                    // It is sent later, if it has not left.
                    let sent = for_a_while(sender.send(text(me, number)), random(&mut seed) % 3).await;
                    sent.transpose()?;
                }
                _ => {
                    let other = sender.clone();
                    other.send(text(me, number)).await?;
                }
            }
            number += 1;
        }
        sender.close().await?;
        assert!(matches!(sender.send(text(0, 0)).await, Err(Error::Closed { .. })));
        Ok(())
    };
    let receive = async {
        let Some(mut receiver) = receiver else { return Ok(()) };
        let mut seed = !case.seed;
        let mut next = vec![0; n];
        loop {
            let message = match random(&mut seed) % 3 {
                0 => for_a_while(receiver.next(), random(&mut seed) % 3).await,
                1 => receiver.try_recv().map(Some),
                _ => Some(receiver.next().await),
            };
            match message {
                None => {}
                Some(None) => break,
                Some(Some(message)) => {
                    let (pe, number, letters) = message?;
                    assert_eq!((pe, number, letters), text(pe, next[pe]));
                    next[pe] += 1;
                }
            }
        }
        assert_eq!(next, vec![case.messages; n]);
        Ok(())
    };
    let (sent, received): (Result<()>, Result<()>) = futures::join!(send, receive);
    sent.and(received)?;
    world.finalize().await
}

/// One sends, in order, and all receive what it has sent.
async fn to_all(world: World, case: Case) -> Result<()> {
    let (sender, receiver) = Broadcast::from::<[u64; 2]>(&world, case.to, case.capacity).await?;
    let message = |number: u64| [number, number * number];
    let send = async {
        let Some(mut sender) = sender else { return Ok(()) };
        let mut all = stream::iter((0..case.messages).map(|number| Ok(message(number))));
        sender.send_all(&mut all).await?;
        sender.close().await
    };
    let receive = async {
        let came: VecDeque<_> = receiver.map(|message| message.expect("it arrives")).collect().await;
        assert!(came.iter().copied().eq((0..case.messages).map(message)), "{} came", came.len());
    };
    let (sent, ()): (Result<()>, ()) = futures::join!(send, receive);
    sent?;
    world.finalize().await
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_messages_arrive_in_the_order_of_their_sender(case in cases()) {
        LocalCluster::run_with(case.n, options(case.hosts, case.link), |world| to_one(world, case.clone())).unwrap();
    }

    #[test]
    fn all_pes_get_what_one_sends(case in cases()) {
        LocalCluster::run_with(case.n, options(case.hosts, case.link), |world| to_all(world, case.clone())).unwrap();
    }
}

#[test]
fn a_sender_sleeps_while_there_is_no_room_and_learns_that_the_receiver_is_gone() {
    for hosts in [1, 2] {
        let played = LocalCluster::run_with(2, ClusterOptions::default().hosts(hosts), |world| async move {
            let (sender, receiver) = Channel::to::<u64>(&world, 0, 8).await?;
            if world.my_pe() == 1 {
                for number in 0..8 {
                    sender.send(number).await?;
                }
                let mut more = Box::pin(sender.send(8));
                assert!((&mut more).now_or_never().is_none(), "there is no room");
                world.barrier_all().await?;
                // The receiver takes some, and then goes.
                more.await?;
                world.barrier_all().await?;
                let closed = async {
                    loop {
                        sender.send(9).await?
                    }
                }
                .await;
                assert!(matches!(closed, Err::<(), _>(Error::Closed { what: "channel" })), "{closed:?}");
            } else {
                world.barrier_all().await?;
                let mut receiver = receiver.expect("it is here");
                for number in 0..4 {
                    assert_eq!(receiver.next().await.transpose()?, Some(number));
                }
                world.barrier_all().await?;
                // This PE has not sent anything.
                drop(sender);
                drop(receiver);
            }
            world.finalize().await
        });
        played.unwrap();
    }
}

#[test]
fn what_comes_from_a_lost_pe_ends() {
    for hosts in [1, 3] {
        let options = ClusterOptions::default().hosts(hosts).survive_loss();
        let ends = LocalCluster::run_each(3, options, |world| async move {
            let (sender, receiver) = Channel::to::<u64>(&world, 0, 100).await?;
            sender.send(world.my_pe() as u64).await?;
            // It may end well on the one that is about to be lost alone.
            let met = world.barrier_all().await;
            if world.my_pe() == 2 {
                met?;
                LocalCluster::lose(&world, "it is a test")?;
            }
            if world.my_pe() == 1 {
                sender.send(10).await?;
            }
            drop(sender);
            if let Some(receiver) = receiver {
                let mut came: Vec<u64> = receiver.map(|message| message.expect("it arrives")).collect().await;
                came.sort_unstable();
                assert_eq!(came, [0, 1, 2, 10]);
            }
            world.survivors().await?;
            world.finalize().await
        });
        let ends = ends.unwrap();
        assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 2, "{hosts} hosts: {ends:?}");
    }
}
