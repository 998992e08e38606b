//! Replacements of PEs that a `LocalCluster` has lost.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use oxshmem_base::{Result, settings::Settings};
use oxshmem_job::Local;
use oxshmem_net::Wires;
use oxshmem_spaces::Pe;

use crate::World;

/// How long it takes at least from a loss, and from one replacement, to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// PEs that are to be replaced, the first one first, and what is left of those that are lost.
pub(super) struct Replacing {
    job: Arc<Local>,
    settings: Settings,
    respawns: usize,
    waiting: VecDeque<(usize, Weak<Pe>)>,
    pause: Option<BoxFuture<'static, ()>>,
    joining: Option<BoxFuture<'static, Result<World>>>,
}

impl Replacing {
    pub(super) fn of(job: Arc<Local>, settings: Settings, respawns: usize) -> Self {
        Self { job, settings, respawns, waiting: VecDeque::new(), pause: None, joining: None }
    }

    /// PE `pe` is lost, of which this may be left.
    pub(super) fn lost(&mut self, pe: usize, left: Weak<Pe>) {
        if let Some(fewer) = self.respawns.checked_sub(1) {
            self.respawns = fewer;
            self.waiting.push_back((pe, left));
        }
    }

    /// The world of the next replacement, which it waits for. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Result<World> {
        loop {
            if let Some(joining) = &mut self.joining {
                let joined = joining.await;
                self.joining = None;
                return joined;
            }
            let wires = Wires::of(&*self.job).filter(|_| !self.waiting.is_empty());
            let Some(wires) = wires else { return pending().await };
            let pause = async move { wires.pause(PAUSE).await };
            self.pause.get_or_insert_with(|| pause.boxed()).await;
            self.pause = None;
            // Of a process nothing is left when it has ended.
            let is_gone = |(_, left): &(usize, Weak<Pe>)| left.strong_count() == 0;
            let gone = self.waiting.iter().position(is_gone).filter(|_| self.job.all_know());
            if let Some((pe, _)) = gone.and_then(|at| self.waiting.remove(at)) {
                let joining = join(self.job.replacement_of(pe), self.settings.clone());
                self.joining = Some(joining.boxed());
            }
        }
    }
}

async fn join(local: Result<Local>, settings: Settings) -> Result<World> {
    let world = World::new(Pe::join(Arc::new(local?), settings).await?);
    world.pe().bootstrap().survives();
    Ok(world)
}
