//! Waiting and testing: every comparison and type, sets of words, and waits that are given up and
//! taken up again.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use crate::common::{
    cluster, is_pending, on_one_host, on_pes, pe_counts, poll_once, settings, soon, time_limit,
};
use oxshmem::{Result, Waitable, prelude::*};

const ALL: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Ge, Cmp::Lt, Cmp::Le];

/// Waits for each comparison with each of `values`, first pending, then satisfied by a neighbour.
async fn comparisons<T: Waitable + std::fmt::Debug>(world: &World, values: &[T]) -> Result<()> {
    let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
    let words = world.alloc_zeroed::<T>(2).await?;
    let word = words.at(0);
    for cmp in ALL {
        for &bound in values {
            for &(before, after) in
                values.iter().flat_map(|a| values.iter().map(move |b| (a, b))).collect::<Vec<_>>().iter()
            {
                if cmp.holds(*before, bound) || !cmp.holds(*after, bound) {
                    continue;
                }
                word.store(*before);
                assert!(!word.test(cmp, bound));
                let mut wait = word.wait_until(cmp, bound);
                assert!(is_pending(&mut wait).await);
                world.sync_all().await?;
                ctx.p(word, *after, (me + 1) % n).await?;
                let seen = soon("a satisfied wait", wait).await?;
                assert_eq!(seen, *after, "{cmp:?} {bound:?}");
                assert!(word.test(cmp, bound));
                assert_eq!(word.wait_until(cmp, bound).await?, *after);
                world.sync_all().await?;
            }
        }
    }
    assert_eq!(words.at(1).load(), T::zeroed());
    Ok(())
}

#[test]
fn every_comparison_of_every_type_is_waited_for_with_its_sign() {
    let _limit = time_limit(90);
    for n in [1, 2] {
        let done = cluster(n, settings(), |world| async move {
            comparisons(&world, &[-2i16, 0, i16::MIN, i16::MAX]).await?;
            comparisons(&world, &[0u16, 1, 1 << 15, u16::MAX]).await?;
            comparisons(&world, &[-2i32, 0, i32::MIN, i32::MAX]).await?;
            comparisons(&world, &[-2i64, 3, i64::MIN, i64::MAX]).await?;
            comparisons(&world, &[-1isize, 0, 1]).await?;
            comparisons(&world, &[0u32, 1, 1 << 31, u32::MAX]).await?;
            comparisons(&world, &[0u64, 1, 1 << 63, u64::MAX]).await?;
            comparisons(&world, &[0usize, usize::MAX]).await
        });
        done.unwrap();
    }
}

#[test]
fn sets_of_words_are_waited_for_all_any_and_some_with_masks_and_vectors() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let words = world.alloc_zeroed::<i32>(8).await?;
        let right = (me + 1) % n;
        let mask = [0, 1, 0, 0, 0, 0, 9, 0];
        let open: Vec<usize> = (0..8).filter(|&i| mask[i] == 0).collect();

        let mut some = Box::pin(words.wait_until_some(Cmp::Lt, 0));
        let mut any = Box::pin(words.excluding(&mask).wait_until_any(Cmp::Lt, 0));
        let mut all = Box::pin(words.excluding(&mask).wait_until_all(Cmp::Lt, 0));
        assert!(is_pending(&mut some).await && is_pending(&mut any).await && is_pending(&mut all).await);
        world.sync_all().await?;
        // One that is excluded ends `some` alone.
        ctx.set(words.at(1), -1, right).await?;
        assert_eq!(soon("some", some).await?, [1]);
        assert!(is_pending(&mut any).await);
        world.sync_all().await?;
        ctx.set(words.at(7), -1, right).await?;
        assert_eq!(soon("any", any).await?, Some(7));
        world.sync_all().await?;
        for &i in open.iter().filter(|&&i| i != 7) {
            assert!(is_pending(&mut all).await);
            world.sync_all().await?;
            ctx.set(words.at(i), -1, right).await?;
            world.barrier_all().await?;
        }
        soon("all", all).await?;
        assert!(words.excluding(&mask).test_all(Cmp::Lt, 0) && !words.test_all(Cmp::Lt, 0));
        assert_eq!(words.excluding(&mask).test_some(Cmp::Eq, -1), open);
        assert_eq!(words.test_any(Cmp::Eq, 0), Some(6));
        assert_eq!(words.test_any(Cmp::Eq, 5), None);
        assert_eq!(words.test_some(Cmp::Eq, 5), Vec::<usize>::new());
        world.barrier_all().await?;

        // A value for each.
        let values = [10, 11, 12, 13, 14, 15, 16, 17];
        let mut all = Box::pin(words.wait_until_all_vector(Cmp::Eq, &values));
        let mut any = Box::pin(words.excluding(&mask).wait_until_any_vector(Cmp::Eq, &values));
        let mut some = Box::pin(words.wait_until_some_vector(Cmp::Eq, &values));
        assert!(is_pending(&mut all).await && is_pending(&mut any).await && is_pending(&mut some).await);
        world.sync_all().await?;
        ctx.set(words.at(3), 13, right).await?;
        assert_eq!(soon("any", any).await?, Some(3));
        assert_eq!(soon("some", some).await?, [3]);
        assert_eq!(words.test_any_vector(Cmp::Eq, &values), Some(3));
        assert_eq!(words.test_some_vector(Cmp::Ge, &values), [3]);
        world.sync_all().await?;
        ctx.put(&words, values, right).await?;
        soon("all", all).await?;
        assert!(words.test_all_vector(Cmp::Eq, &values) && !words.test_all_vector(Cmp::Ne, &values));
        Ok(())
    });
}

#[test]
fn empty_sets_are_satisfied_at_once() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let words = world.alloc_zeroed::<u64>(3).await?;
        let none = words.slice(1..1);
        let masked = words.excluding(&[1, 1, 1]);
        for set in [none.excluding(&[]), masked] {
            set.wait_until_all(Cmp::Eq, 5).await?;
            assert_eq!(set.wait_until_any(Cmp::Eq, 5).await?, None);
            assert_eq!(set.wait_until_some(Cmp::Eq, 5).await?, Vec::<usize>::new());
            assert!(set.test_all(Cmp::Eq, 5));
            assert_eq!((set.test_any(Cmp::Eq, 0), set.test_some(Cmp::Eq, 0)), (None, vec![]));
        }
        Ok(())
    });
}

#[test]
fn any_starves_no_index() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        for len in [2, 3, 10, 64] {
            let words = world.alloc_zeroed::<u32>(len).await?;
            words.view().fill(1);
            let mut waited = vec![0; len];
            let mut tested = vec![0; len];
            for _ in 0..len * 40 {
                waited[words.wait_until_any(Cmp::Eq, 1).await?.expect("one")] += 1;
                tested[words.test_any(Cmp::Eq, 1).expect("one")] += 1;
            }
            assert!(waited.iter().chain(&tested).all(|&times| times > 0), "{waited:?} {tested:?}");
        }
        Ok(())
    });
}

#[test]
fn a_cancelled_wait_is_taken_up_again_and_misses_nothing() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let words = world.alloc_zeroed::<u64>(2).await?;
        let right = (me + 1) % n;
        for round in 1..=100u64 {
            // Loses to a branch that is ready, and to a timeout.
            tokio::select! {
                biased;
                seen = words.at(0).wait_until(Cmp::Ge, round) => panic!("{seen:?}"),
                () = tokio::task::yield_now() => {}
            }
            if round % 20 == 0 {
                let late = tokio::time::timeout(
                    Duration::from_millis(1),
                    words.slice(..1).wait_until_all(Cmp::Ge, round),
                );
                assert!(late.await.is_err());
            }
            let mut kept = words.at(0).wait_until(Cmp::Ge, round);
            assert!(is_pending(&mut kept).await);
            world.sync_all().await?;
            ctx.set(words.at(0), round, right).await?;
            tokio::select! {
                seen = &mut kept => assert_eq!(seen?, round),
                never = words.at(1).wait_until(Cmp::Ne, 0) => panic!("{never:?}"),
            }
            world.sync_all().await?;
        }
        Ok(())
    });
}

#[test]
fn a_thousand_waits_are_pending_at_once() {
    let _limit = time_limit(60);
    for n in pe_counts() {
        let done = cluster(n, settings(), move |world| async move {
            let words = world.alloc_zeroed::<u64>(1000).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for i in 0..1000 {
                let words = words.clone();
                tasks.spawn(async move { words.at(i).wait_until(Cmp::Eq, i as u64 + 1).await });
            }
            while tasks.len() < 1000 {}
            tokio::time::sleep(Duration::from_millis(20)).await;
            world.barrier_all().await?;
            // In another order than they were registered in.
            for i in (0..1000).map(|i| i * 377 % 1000) {
                world.context().p(words.at(i), i as u64 + 1, (world.my_pe() + 1) % n).await?;
            }
            let mut sum = 0;
            while let Some(seen) = soon("a wake", tasks.join_next()).await {
                sum += seen.unwrap()?;
            }
            assert_eq!(sum, 500_500);
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn every_kind_of_store_wakes_a_wait_for_it() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let words = world.alloc_zeroed::<u64>(4).await?;
        let other = world.alloc_zeroed::<u64>(4).await?;
        let right = (me + 1) % n;
        for kind in 0..22u64 {
            let value = kind + 1;
            let word = words.at(1);
            world.barrier_all().await?;
            let waiting = {
                let words = words.clone();
                tokio::spawn(async move { words.at(1).wait_until(Cmp::Eq, value).await })
            };
            tokio::task::yield_now().await;
            world.barrier_all().await?;
            match kind {
                0 => ctx.p(word, value, right).await?,
                1 => drop(ctx.put(word, value, right).await?),
                2 => drop(ctx.put(words.slice(1..3), [value, 0], right).await?),
                3 => drop(ctx.put_nbi(words.slice(0..2), vec![0, value], right).await?),
                4 => drop(ctx.iput(words.slice(1..), [value, 9], 2, 1, 2, right).await?),
                5 => drop(ctx.ibput(&words, [0, value], 2, 2, 2, 1, right).await?),
                6 => drop(ctx.put_signal(other.at(0), 1, word, Signal::Set(value), right).await?),
                7 => drop(ctx.put_signal_nbi(other.at(0), 1, word, Signal::Add(1), right).await?),
                8 => ctx.signal_set(word, value, right).await?,
                9 => ctx.signal_add(word, 1, right).await?,
                10 => ctx.set(word, value, right).await?,
                11 => ctx.inc(word, right).await?,
                12 => ctx.add(word, 1, right).await?,
                13 => drop(ctx.fetch_inc(word, right).await?),
                14 => drop(ctx.swap(word, value, right).await?),
                15 => drop(ctx.compare_swap(word, value - 1, value, right).await?),
                16 => ctx.xor(word, (value - 1) ^ value, right).await?,
                17 => ctx.or(word, value, right).await.and(ctx.and(word, value, right).await)?,
                18 => word.store(value),
                19 => words.slice(1..2).write(&[value]),
                20 => words.slice(1..2).fill(value),
                // The data of a put-with-signal, and its signal.
                _ => {
                    ctx.put_signal(word, [value], other.at(1), Signal::Set(1), right).await?;
                }
            }
            assert_eq!(soon(&format!("the wake by store {kind}"), waiting).await.unwrap()?, value);
        }
        Ok(())
    });
}

#[test]
fn a_get_into_symmetric_memory_wakes_a_wait_for_it() {
    let _limit = time_limit(60);
    on_pes(settings(), |world| async move {
        let words = world.alloc_zeroed::<u64>(2).await?;
        words.at(1).store(5);
        world.barrier_all().await?;
        let waiting = {
            let words = words.clone();
            tokio::spawn(async move { words.at(0).wait_until(Cmp::Eq, 5).await })
        };
        tokio::time::sleep(Duration::from_millis(10)).await;
        let pe = world.n_pes() - 1;
        let _ = world.context().get_into(words.slice(0..1).to_owned(), words.at(1), pe).await?;
        assert_eq!(soon("the wake by a get", waiting).await.unwrap()?, 5);
        Ok(())
    });
}

#[test]
fn stores_through_a_pointer_are_seen() {
    let _limit = time_limit(60);
    if !on_one_host("PEs of another host have no address here") {
        return;
    }
    on_pes(settings(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let word = world.alloc_zeroed::<u64>(1).await?;
        for round in 1..=20u64 {
            let waiting = {
                let word = word.clone();
                tokio::spawn(async move { word.at(0).wait_until(Cmp::Eq, round).await })
            };
            tokio::time::sleep(Duration::from_millis(2)).await;
            world.sync_all().await?;
            let address = word.view().ptr((me + 1) % n).expect("one host").addr();
            let word = std::ptr::with_exposed_provenance_mut::<u64>(address);
            // SAFETY: an aligned element of the right neighbour, mapped while the slice lives; all
            // access is atomic.
            unsafe { std::sync::atomic::AtomicU64::from_ptr(word) }.store(round, Relaxed);
            assert_eq!(soon("a silent store", waiting).await.unwrap()?, round);
            world.sync_all().await?;
        }
        Ok(())
    });
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn the_last_waker_is_woken_once_and_an_earlier_one_not() {
    let _limit = time_limit(60);
    let done = cluster(1, settings(), |world| async move {
        let word = world.alloc_zeroed::<u64>(1).await?;
        let counts = [(); 2].map(|()| Arc::new(Count(AtomicUsize::new(0))));
        let wakers = counts.clone().map(Waker::from);
        let mut wait = word.at(0).wait_until(Cmp::Eq, 1);
        for waker in &wakers {
            let mut cx = Context::from_waker(waker);
            assert!(std::pin::Pin::new(&mut wait).poll(&mut cx).is_pending());
        }
        world.context().p(word.at(0), 2, 0).await?;
        world.context().p(word.at(0), 1, 0).await?;
        world.context().p(word.at(0), 2, 0).await?;
        assert_eq!(counts.each_ref().map(|count| count.0.load(Relaxed)), [0, 1]);
        // The value that ended the wait is gone, and still is what the wait ends with.
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Ok(1))));
        Ok(())
    });
    done.unwrap();
}

/// A waker that polls the future at once, as some executors do; if that is being polled, once more
/// afterwards.
struct Inline {
    future: std::sync::Mutex<Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>>,
    woken: AtomicBool,
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, SeqCst);
        while self.woken.load(SeqCst) {
            let Some(mut future) = self.future.lock().unwrap().take() else { return };
            self.woken.store(false, SeqCst);
            if future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&self)))).is_ready() {
                return;
            }
            *self.future.lock().unwrap() = Some(future);
        }
    }
}

#[test]
fn a_waker_may_poll_its_future_at_once() {
    let _limit = time_limit(60);
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let end = cluster(2, settings(), |world| async move {
            let word = world.alloc_zeroed::<u64>(2).await?;
            let ended = Arc::new(AtomicUsize::new(0));
            let task = {
                let (world, word, ended) = (world.clone(), word.clone(), Arc::clone(&ended));
                async move {
                    word.at(0).wait_until(Cmp::Eq, 1).await.unwrap();
                    ended.fetch_add(1, Relaxed);
                    for _ in 0..3 {
                        world.barrier_all().await.unwrap();
                        ended.fetch_add(1, Relaxed);
                    }
                    world.broadcast_bytes(Some(vec![1]), 0).await.unwrap();
                    ended.fetch_add(1, Relaxed);
                }
            };
            let task: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
            let future = std::sync::Mutex::new(Some(task));
            Arc::new(Inline { future, woken: AtomicBool::new(false) }).wake();
            world.context().p(word.at(0), 1, 1 - world.my_pe()).await?;
            while ended.load(Relaxed) < 5 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(())
        });
        let _ = done.send(end.map(drop).map_err(|e| e.to_string()));
    });
    let end = is_done.recv_timeout(Duration::from_secs(10));
    assert_eq!(end, Ok(Ok(())), "the wakers and the team's queue wait for each other");
}
