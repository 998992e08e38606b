//! Init that hangs: says so once, after `SHMEM_HANG_TIMEOUT`, while there are no boards to read
//! yet.
//!
//! A PE that joins cannot know which PEs are missing: the launcher does, if that is `oshrun`. So a
//! thread of the PE asks it to say so. It lives for as long as its PE joins, and is gone before any
//! PE touches the memory of the program.

use std::{
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use oxshmem_base::span::span;

use crate::Bootstrap;

/// Watches over a PE that joins, until it is dropped.
#[derive(Debug)]
pub struct Joining(Option<(Sender<()>, JoinHandle<()>)>);

impl Joining {
    /// For a PE that may wait for others for as long as `limit`. PEs of one process start together:
    /// they need no such thread.
    pub fn watch(bootstrap: &Arc<dyn Bootstrap>, limit: Option<Duration>) -> Self {
        let placement = bootstrap.placement();
        let Some(limit) = limit.filter(|_| placement.n_pes > 1 && !bootstrap.in_process()) else {
            return Self(None);
        };
        let (joined, wait) = channel();
        let bootstrap = Arc::clone(bootstrap);
        let run = move || {
            if let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(limit) {
                report(&*bootstrap, limit);
            }
        };
        // Without a thread there is no diagnosis, which nothing else depends on.
        let thread = Builder::new().name("oxshmem-joining".into()).spawn(run);
        Self(thread.ok().map(|thread| (joined, thread)))
    }
}

impl Drop for Joining {
    fn drop(&mut self) {
        if let Some((joined, thread)) = self.0.take() {
            drop(joined);
            // It does not panic.
            let _ = thread.join();
        }
    }
}

fn report(bootstrap: &dyn Bootstrap, limit: Duration) {
    let placement = bootstrap.placement();
    // One PE a host is enough where no launcher puts together what they say.
    if !bootstrap.stuck() && placement.is_leader() {
        let (pe, host, limit) = (placement.pe, &placement.host, span(limit));
        let text = format!(
            "oxshmem: PE {pe} on host {host} has waited {limit} in init: not all of the {} PEs have come",
            placement.n_pes
        );
        oxshmem_base::report(text);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use async_trait::async_trait;

    use super::*;
    use crate::{Offer, Placement};
    use oxshmem_base::{
        Hosts, Result,
        sync::{Mutex, lock},
    };

    /// A PE of a process of its own, whose launcher notes when the PE asks it.
    struct Noting(Placement, Mutex<Vec<Instant>>);

    impl crate::sealed::Sealed for Noting {}

    #[async_trait]
    impl Bootstrap for Noting {
        fn placement(&self) -> &Placement {
            &self.0
        }
        async fn exchange(&self, _mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
            Ok(Arc::default())
        }
        fn in_process(&self) -> bool {
            false
        }
        async fn share_raw(&self, _offer: Option<Offer>) -> Result<Offer> {
            Ok(Offer::Descriptors(Vec::new()))
        }
        fn finalized(&self) {}
        fn stuck(&self) -> bool {
            lock(&self.1).push(Instant::now());
            true
        }
        fn abort(&self, _status: i32, _why: &str) {}
    }

    fn noting(n: usize) -> (Arc<Noting>, Arc<dyn Bootstrap>) {
        let placement = Placement::new(0, Arc::new(Hosts::one(n)), "node1".to_owned());
        let pe = Arc::new(Noting(placement, Mutex::default()));
        (Arc::clone(&pe), pe)
    }

    #[test]
    fn the_launcher_is_asked_once_and_only_by_a_pe_that_takes_long() {
        let limit = Duration::from_millis(50);
        let (pe, bootstrap) = noting(2);
        let start = Instant::now();
        drop(Joining::watch(&bootstrap, Some(Duration::from_secs(3600))));
        drop(Joining::watch(&bootstrap, None));
        assert!(start.elapsed() < Duration::from_secs(60) && lock(&pe.1).is_empty());
        let joining = Joining::watch(&bootstrap, Some(limit));
        std::thread::sleep(5 * limit);
        drop(joining);
        let times = lock(&pe.1).clone();
        assert!(times.len() == 1 && times[0] >= start + limit, "{times:?}");
    }

    #[test]
    fn a_pe_that_waits_for_no_other_has_no_thread() {
        let (_, bootstrap) = noting(1);
        assert!(Joining::watch(&bootstrap, Some(Duration::from_secs(1))).0.is_none());
    }
}
