//! The ways to other PEs: of the same host by [`Shm`], of other hosts by a [`Net`].
//!
//! A [`Net`] starts operations on symmetric memory of PEs that this one cannot load from and store
//! to, and carries messages between PEs for the collectives. What it is given goes on by itself,
//! whichever thread makes progress; the target's side needs no PE there to call the library.
//! Nothing here blocks.
//!
//! An operation is a value, an [`Op`](oxshmem_memory::op::Op). It is *started*, and borrows memory
//! by address until its completion runs, or *copied* into a [`Batch`], which is known to be visible
//! at the target when a later flush is over.
//!
//! | module | what it has |
//! |---|---|
//! | `way` | the traits: [`Way`], [`Mail`] and [`Net`] |
//! | `steps` | operations that a net takes in several steps |
//! | [`batch`] | how operations travel |
//! | `shm` | the memory of this host |
//! | `choice` | which net a job takes |
//! | `tcp`, `ucx`, [`model`] | the nets |

pub mod batch;
mod choice;
mod directory;
mod facts;
#[cfg(any(test, feature = "suite"))]
pub mod fuzz;
#[cfg(test)]
mod joined;
pub mod model;
mod numbers;
#[cfg(any(test, feature = "suite"))]
pub mod outcome;
mod shm;
mod steps;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
mod tcp;
mod ucx;
mod way;

use std::{future::poll_fn, sync::Arc};

pub use batch::{Batch, apply};
pub use choice::describe;
pub use facts::{ATOMICS, UcxFound};
pub use model::{Link, Model, Sent, Simulation, Wires};
pub use shm::Shm;
pub use steps::{put_copied, start};
pub use way::{Listener, Mail, Net, Takes, Way, Words, unless_lost};

use self::choice::Chosen;
use oxshmem_base::{Result, settings::Settings};
use oxshmem_job::Bootstrap;
use oxshmem_memory::Segment;
use oxshmem_progress::{
    completion::Completion, executor::Executor, fabric::Fabric, flight::Flight, opset::OpSet,
};

/// The way of this PE to those of other hosts, if there are any, as `settings` ask for it. Nothing
/// may be started on it before all PEs have called this and met in a barrier.
pub async fn connect(
    bootstrap: &Arc<dyn Bootstrap>,
    fabric: &Arc<Fabric>,
    executor: &Arc<Executor>,
    memory: Segment,
    settings: &Settings,
) -> Result<Option<Arc<dyn Net>>> {
    let placement = bootstrap.placement();
    if placement.n_pes == placement.local.len() {
        return Ok(None);
    }
    if let Some(wires) = Wires::of(&**bootstrap) {
        let block = placement.hosts.local_pe_of(placement.pe);
        return Ok(Some(Arc::new(Model::join(wires, placement.pe, block, fabric, executor)?)));
    }
    let scratch = fabric.control.scratch();
    Ok(Some(match choice::choose(bootstrap, settings).await? {
        Chosen::Ucx => {
            let interfaces = settings.net_interfaces.as_deref();
            Arc::new(ucx::connect(bootstrap, executor, memory, scratch, interfaces).await?)
        }
        Chosen::Tcp => Arc::new(tcp::connect(bootstrap, executor, [memory, scratch], settings).await?),
    }))
}

/// Starts the flushes that operations of `set` wait for, those on `pes` if given, and has the set
/// complete them.
pub fn flush(net: &dyn Net, set: &Arc<OpSet>, pes: Option<&[usize]>) {
    for (target, ticket) in set.take_unflushed(pes) {
        let set = Arc::clone(set);
        net.flush(
            Some(target.world_pe),
            Box::new(move |flushed| {
                if let Err(error) = flushed {
                    set.report_later(Some(target.pe), error);
                }
                set.complete(ticket);
            }),
        );
    }
}

/// Ready when everything that was started on any PE before is visible there.
pub async fn flush_all(net: &dyn Net) -> Result<()> {
    let flight = Arc::new(Flight::default());
    let landing = Arc::clone(&flight);
    net.flush(None, Box::new(move |flushed| landing.land(flushed)));
    poll_fn(|cx| flight.poll(cx)).await
}

/// Bits of a tag that the rooms above may use: the others name the sender.
pub const TAG_BITS: u32 = 40;

/// All ways to drive an engine.
#[cfg(test)]
fn ways() -> impl Iterator<Item = oxshmem_progress::suite::Way> {
    let mut several = tokio::runtime::Builder::new_multi_thread();
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let both = [one, several.worker_threads(2).enable_all().build()];
    oxshmem_progress::suite::Way::all(both.map(|runtime| runtime.expect("threads start")))
}
