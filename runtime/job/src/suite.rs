//! The one test suite that every [`Bootstrap`] passes.
//!
//! [`check`] is what a single PE does; all PEs of a job run it at the same time, as tasks
//! ([`run_cluster`]) or as processes (the tests of `oshrun`). It panics where a bootstrap breaks a
//! promise.

use std::{
    fs::File,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt,
    },
    sync::Arc,
};

use oxshmem_base::{Error, Result, memfd};

use super::{Bootstrap, Offer, Shared, share};

/// Runs [`check`] on all PEs of a job inside this process.
pub fn run_cluster<B: Bootstrap>(pes: Vec<B>) {
    for (pe, bootstrap) in pes.iter().enumerate() {
        assert_eq!(bootstrap.placement().pe, pe);
        assert_eq!(bootstrap.placement().n_pes, pes.len());
    }
    on_all(pes, |pe| async move { check(&*pe).await });
}

/// Runs one task a PE and returns what they returned, in the order of the PEs' numbers.
/// A panic of one is a panic of this.
pub fn on_all<B, F, T>(pes: Vec<B>, task: impl Fn(Arc<B>) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    runtime().block_on(async {
        let tasks: Vec<_> = pes.into_iter().map(|pe| tokio::spawn(task(Arc::new(pe)))).collect();
        let mut results = Vec::with_capacity(tasks.len());
        for task in tasks {
            match task.await {
                Ok(result) => results.push(result),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        results
    })
}

/// A runtime for tests: the calling thread, with I/O.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap_or_else(|error| panic!("no runtime: {error}"))
}

/// What one PE does. Collective over all PEs.
///
/// # Panics
/// Where the bootstrap does not do what [`Bootstrap`] promises.
pub async fn check(pe: &dyn Bootstrap) {
    placement(pe);
    let result = async {
        exchanges_what_each_gave(pe).await?;
        matches_calls_in_order(pe).await?;
        leaders_get_what_all_gave(pe).await?;
        carries_large_and_unequal_messages(pe).await?;
        for _ in 0..10 {
            pe.barrier().await?;
        }
        placements_agree(pe).await?;
        shares_one_thing_a_host(pe).await?;
        hosts_share_independently(pe).await?;
        shares_many_descriptors(pe).await?;
        works_with_calls_in_flight_together(pe).await?;
        pe.barrier().await
    };
    if let Err(error) = result.await {
        panic!("PE {}: {error}", pe.placement().pe);
    }
}

fn placement(pe: &dyn Bootstrap) {
    let placement = pe.placement();
    assert!(placement.pe < placement.n_pes);
    assert!(placement.local.contains(&placement.pe));
    assert!(placement.local.is_sorted_by(|a, b| a < b));
    assert!(placement.local.iter().all(|&local| local < placement.n_pes));
    assert!(!placement.host.is_empty());
    let hosts = &placement.hosts;
    let host = hosts.host_of(placement.pe);
    assert_eq!(hosts.n_pes(), placement.n_pes);
    assert!(hosts.pes_of(host).eq(placement.local.iter().copied()));
    assert_eq!(placement.local[hosts.local_pe_of(placement.pe)], placement.pe);
    assert_eq!(hosts.leader_of(host) == placement.pe, placement.is_leader());
}

/// All PEs have the same map, and hosts have names of their own.
async fn placements_agree(pe: &dyn Bootstrap) -> Result<()> {
    let placement = pe.placement();
    let hosts = &placement.hosts;
    let map = (0..hosts.n_pes()).map(|pe| hosts.host_of(pe).to_string()).collect::<Vec<_>>().join(" ");
    let all = pe.exchange(format!("{map}\n{}", placement.host).into_bytes()).await?;
    for (other, given) in all.iter().enumerate() {
        let given = String::from_utf8_lossy(given);
        let Some((their_map, name)) = given.split_once('\n') else { panic!("PE {other} gave {given:?}") };
        assert_eq!(their_map, map, "PE {other} has another map than PE {}", placement.pe);
        assert_eq!(name == placement.host, placement.local.contains(&other), "PE {other} is on {name}");
    }
    Ok(())
}

/// Others get nothing, and no PE's next exchange is mixed up with another's present one.
async fn leaders_get_what_all_gave(pe: &dyn Bootstrap) -> Result<()> {
    let (me, n) = (pe.placement().pe, pe.placement().n_pes);
    for round in 0..3 {
        let text =
            |pe: usize| format!("{} of PE {pe} in round {round}", "something ".repeat(1000 * (pe % 2)));
        let all = pe.exchange_to_leaders(text(me).into_bytes()).await?;
        assert_eq!(all.is_some(), pe.placement().is_leader());
        if let Some(all) = all {
            assert_eq!(all.len(), n);
            for (other, given) in all.iter().enumerate() {
                assert_eq!(given, text(other).as_bytes());
            }
        }
        let all = pe.exchange(vec![me as u8, round]).await?;
        assert!(all.iter().enumerate().all(|(other, given)| *given == [other as u8, round]));
    }
    Ok(())
}

async fn exchanges_what_each_gave(pe: &dyn Bootstrap) -> Result<()> {
    let (me, n) = (pe.placement().pe, pe.placement().n_pes);
    let all = pe.exchange(format!("PE {me}").into_bytes()).await?;
    assert_eq!(all.len(), n);
    for (other, given) in all.iter().enumerate() {
        assert_eq!(given, format!("PE {other}").as_bytes());
    }
    Ok(())
}

async fn matches_calls_in_order(pe: &dyn Bootstrap) -> Result<()> {
    let me = pe.placement().pe;
    for round in 0..20 {
        let all = pe.exchange(vec![round; me % 3]).await?;
        for (other, given) in all.iter().enumerate() {
            assert_eq!(*given, vec![round; other % 3], "round {round}, from PE {other}");
        }
    }
    Ok(())
}

async fn carries_large_and_unequal_messages(pe: &dyn Bootstrap) -> Result<()> {
    // Around the limits of a datagram, and 1 MiB from the first, the last and one other.
    let n = pe.placement().n_pes;
    let size = |pe: usize| match pe {
        pe if pe == 0 || pe == n - 1 || pe == n / 2 => 1_usize << 20,
        pe => [0, 1, 0x7ff0, 0x8000, 0xfff0, 0x1_0001][pe % 6],
    };
    let bytes = |pe: usize| {
        let pattern: Vec<u8> = (0..251).map(|i| (i * 31 + pe) as u8).collect();
        let mut bytes = pattern.repeat(size(pe).div_ceil(pattern.len()));
        bytes.truncate(size(pe));
        bytes
    };
    let all = pe.exchange(bytes(pe.placement().pe)).await?;
    for (other, given) in all.iter().enumerate() {
        assert!(*given == bytes(other), "{} bytes from PE {other} came out wrong", size(other));
    }
    Ok(())
}

/// A memfd that says which PE made it.
struct Note(File);

impl Note {
    fn write(text: String) -> Result<Self> {
        let memfd = memfd::holding("note", text.as_bytes()).map_err(|e| Error::system("note", e))?;
        Ok(Self(File::from(memfd)))
    }

    fn read(&self) -> String {
        let mut text = [0; 64];
        match self.0.read_at(&mut text, 0) {
            Ok(length) => String::from_utf8_lossy(&text[..length]).into_owned(),
            Err(error) => panic!("the shared descriptor cannot be read: {error}"),
        }
    }
}

impl Shared for Note {
    unsafe fn to_descriptors(&self) -> Result<Vec<OwnedFd>> {
        let copy = self.0.as_fd().try_clone_to_owned().map_err(|e| Error::system("note", e))?;
        Ok(vec![copy])
    }

    unsafe fn from_descriptors(descriptors: Vec<OwnedFd>, _: usize) -> Result<Self> {
        let [only] = <[OwnedFd; 1]>::try_from(descriptors)
            .map_err(|all| Error::bootstrap("note", format!("{} descriptors", all.len())))?;
        Ok(Self(File::from(only)))
    }
}

async fn shares_one_thing_a_host(pe: &dyn Bootstrap) -> Result<()> {
    let leader = pe.placement().local[0];
    for round in 0..5 {
        let text = |pe: usize| format!("round {round}, by PE {pe}");
        let note = share(pe, || Note::write(text(pe.placement().pe))).await?;
        assert_eq!(note.read(), text(leader));
    }
    Ok(())
}

/// One host shares more often than another, which has to take no notice.
async fn hosts_share_independently(pe: &dyn Bootstrap) -> Result<()> {
    let placement = pe.placement();
    let host = placement.hosts.host_of(placement.pe);
    for round in 0..1 + host % 3 {
        let note = share(pe, || Note::write(format!("host {host}, round {round}"))).await?;
        assert_eq!(note.read(), format!("host {host}, round {round}"));
    }
    Ok(())
}

async fn shares_many_descriptors(pe: &dyn Bootstrap) -> Result<()> {
    // More than fit one message between processes; fewer where every PE is in this process, and all
    // of them hold copies at a time.
    let count = if pe.in_process() { 8 } else { 450 };
    let text = |index: usize| format!("descriptor {index}");
    let offer = if pe.placement().is_leader() {
        let notes = (0..count).map(|index| Ok(OwnedFd::from(Note::write(text(index))?.0)));
        Some(Offer::Descriptors(notes.collect::<Result<_>>()?))
    } else {
        None
    };
    let Offer::Descriptors(descriptors) = pe.share_raw(offer).await? else {
        panic!("descriptors came back as an object");
    };
    assert_eq!(descriptors.len(), count);
    for (index, descriptor) in descriptors.into_iter().enumerate() {
        assert_eq!(Note(File::from(descriptor)).read(), text(index));
    }
    Ok(())
}

async fn works_with_calls_in_flight_together(pe: &dyn Bootstrap) -> Result<()> {
    let note = share(pe, || Note::write("together".to_owned()));
    let barrier = pe.barrier();
    let (mut note, mut barrier) = (std::pin::pin!(note), barrier);
    let (mut noted, mut met) = (None, None);
    // Both are polled at every wake, the barrier first, so that each has to leave the other's
    // answer alone.
    std::future::poll_fn(|cx| {
        if met.is_none()
            && let std::task::Poll::Ready(result) = barrier.as_mut().poll(cx)
        {
            met = Some(result);
        }
        if noted.is_none()
            && let std::task::Poll::Ready(result) = note.as_mut().poll(cx)
        {
            noted = Some(result);
        }
        if met.is_some() && noted.is_some() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert!(matches!(met, Some(Ok(()))));
    assert!(matches!(noted, Some(Ok(note)) if note.read() == "together"));
    Ok(())
}
