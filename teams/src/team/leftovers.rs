//! What revoked teams leave on the network: messages that are on their way between members that are
//! there, and that nothing is to receive.

use std::{future::poll_fn, sync::Arc, task::Poll};

use oxshmem_base::{Result, wakes::StoredWaker};
use oxshmem_net::Net;
use oxshmem_progress::flight::Flight;
use oxshmem_spaces::Pe;

use crate::hosts::Wire;

/// Waits until all that this PE has sent is where it was sent to.
pub(super) async fn settle(pe: &Pe) {
    let Some(net) = pe.net() else { return };
    if let Err(error) = settled(&**net).await {
        // What was to come to a PE that is lost. The next `quiet` reports it.
        pe.offloaded().report_later(None, error);
    }
}

async fn settled(net: &dyn Net) -> Result<()> {
    let flight = Arc::new(Flight::default());
    let landing = Arc::clone(&flight);
    net.settle(Box::new(move |settled| landing.land(settled)));
    poll_fn(|cx| flight.poll(cx)).await
}

/// Drops the messages of the teams at these places, of which no PE sends any more, and the
/// collectives that were kept because of them.
pub(super) async fn forget(pe: &Pe, is_revoked: impl Fn(usize) -> bool) {
    let Some(net) = pe.net() else { return };
    let is_stale = |tag| is_revoked(Wire::place_of(tag));
    while net.forget(&is_stale) {
        // Some are coming just now, from PEs that are there.
        let mut first = true;
        poll_fn(|cx| {
            StoredWaker::of(cx.waker()).wake();
            if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}
