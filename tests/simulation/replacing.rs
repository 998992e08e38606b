//! Jobs in which each PE that is lost has a replacement, and all go on together.

use std::{sync::Arc, time::Duration};

use oxshmem::{Error, Unclaimed, prelude::*};

use crate::{
    chance::Course,
    heap::Blocks,
    plan::{LEN, LOCKS, Plan},
    play::{Game, Played, Stop, finalize, wrong},
};

/// The step of a replacement that does not know which one the others have come to.
pub(crate) const UNKNOWN: usize = usize::MAX;

/// What a replacement does.
pub(crate) async fn play(world: World, plan: Arc<Plan>, course: Arc<Course>) -> Played<()> {
    course.begins(world.my_pe());
    let world = loop {
        match world.rebuilt().await {
            Ok(world) => break world,
            Err(Error::PeLost { pe, .. }) if course.was_lost(pe) => {
                // Another one is missing, for up to a second.
                world.simulation().expect("it is one").sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return leave(&world, error).await,
        }
    };
    let n = world.n_pes();
    let mut unclaimed = world.unclaimed().into_iter();
    let memory = [n * LEN, n * LEN, 4, 2 * LOCKS]
        .map(|len| unclaimed.next().filter(|memory| memory.bytes() == 8 * len).map(Unclaimed::claim::<u64>));
    let [Some(source), Some(dest), Some(words), Some(locks)] = memory else {
        if course.are_all_new() {
            return finalize(&world).await;
        }
        return wrong("a replacement does not find what others have allocated");
    };
    // Blocks that the others let go of.
    drop(unclaimed);
    let memory = [source, dest, words, locks];
    let used = memory.iter().map(|memory| (8 * memory.len()).next_multiple_of(64)).sum();
    let mut game = Game::new(world, plan, course, memory, used);
    let step = game.begin_again(UNKNOWN).await?;
    game.play_from(step).await
}

/// The others have left without a replacement.
async fn leave(world: &World, error: Error) -> Played<()> {
    if !error.to_string().contains("has left the job already") {
        return wrong(format!("rebuilt: {error}"));
    }
    finalize(world).await
}

impl Game {
    /// Lets in the replacements of all PEs that are lost; false if others have left.
    pub(crate) async fn rebuild(&mut self) -> Played<bool> {
        let mut rejoined = self.world.rejoined();
        loop {
            match self.world.rebuilt().await {
                Ok(world) => {
                    self.world = world;
                    return Ok(true);
                }
                Err(Error::PeLost { pe, .. }) if self.course.was_lost(pe) => _ = rejoined.next().await,
                Err(error) => return leave(&self.world, error).await.map(|()| false),
            }
        }
    }

    /// Begins again in a world that is whole, with which step of those left have come to.
    pub(crate) async fn begin_again(&mut self, step: usize) -> Played<usize> {
        (self.team, self.pes) = (self.world.team().clone(), (0..self.world.n_pes()).collect());
        // It may have lost some since.
        let known = self.world.pe().losses().map_or(0, |losses| losses.view());
        let is_over = |view: &u64| self.course.lost_in(*view).is_some_and(|pe| !self.world.is_lost(pe));
        self.view = (1..=known).rev().find(is_over).unwrap_or_default();
        (self.shared_in, self.began) = (self.view, vec![(step, 0)]);
        self.with_blocks(Blocks::forget);
        // Of the memory that all share the world's team knows.
        self.regroup(true).await?;
        if self.pes.len() < self.world.n_pes() {
            return Ok(step);
        }
        match self.agree(step).await {
            Err(Stop::Loss) => self.regroup(false).await,
            agreed => agreed,
        }
    }

    /// Has all begin with the same step.
    async fn agree(&mut self, step: usize) -> Played<usize> {
        self.source.at(0).store(step as u64);
        let agreed = self.team.min_reduce(self.dest.slice(..1), self.source.slice(..1)).await;
        self.collective("min_reduce", agreed)?;
        let step = self.dest.at(0).load() as usize;
        // All have read it before it is written again.
        self.sync().await?;
        // Those that knew may all be lost.
        Ok(if step == UNKNOWN { 0 } else { step })
    }
}
