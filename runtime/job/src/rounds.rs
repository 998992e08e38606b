//! Rounds of the members of teams that are left, and of all PEs when replacements come in: logic
//! without I/O: the launcher has them among processes, the table of a cluster among its tasks.
//!
//! A PE that joins a round is named by whatever its answer is sent by, a *ticket*.

use crate::wire::TeamRound;

/// The rounds that some member has not joined yet, and which members are not waited for.
#[derive(Clone, Debug)]
pub struct TeamRounds<T> {
    /// PEs that join nothing any more.
    lost: Vec<bool>,
    /// Which of them have a replacement that the others have not let in.
    is_back: Vec<bool>,
    /// PEs that have left in good order.
    has_left: Vec<bool>,
    /// How many PEs were lost, and the number of the last loss of each.
    view: u64,
    lost_at: Vec<u64>,
    open: Vec<OpenRound<T>>,
}

#[derive(Clone, Debug)]
struct OpenRound<T> {
    key: [u64; 2],
    view: u64,
    members: Vec<usize>,
    /// What each member gave, with its ticket.
    given: Vec<Option<(T, Vec<u8>)>>,
}

/// A round that is over.
#[derive(Debug)]
pub struct EndedRound<T> {
    /// The members that get the answer.
    pub waiting: Vec<(usize, T)>,
    /// How many PEs were lost.
    pub view: u64,
    /// What each member gave: nothing, if it is lost.
    pub given: Vec<Vec<u8>>,
    /// The replacements that all have let in by it.
    pub let_in: Vec<usize>,
}

impl<T> TeamRounds<T> {
    /// Of a job of `n_pes`.
    pub fn new(n_pes: usize) -> Self {
        let nothing = vec![false; n_pes];
        Self {
            lost: nothing.clone(),
            is_back: nothing.clone(),
            has_left: nothing,
            view: 0,
            lost_at: vec![0; n_pes],
            open: Vec::new(),
        }
    }

    /// Whether PE `pe` joins nothing any more: it is lost, and no replacement of it was let in.
    pub fn is_lost(&self, pe: usize) -> bool {
        self.lost[pe]
    }

    /// Whether PE `pe` is a replacement that the others have not let in.
    pub fn is_back(&self, pe: usize) -> bool {
        self.is_back[pe]
    }

    /// Whether PE `pe` has left in good order.
    pub fn has_left(&self, pe: usize) -> bool {
        self.has_left[pe]
    }

    /// How many take part.
    pub fn living(&self) -> usize {
        self.lost.iter().filter(|&&lost| !lost).count()
    }

    /// How many PEs were lost.
    pub fn view(&self) -> u64 {
        self.view
    }

    /// PE `pe` is lost.
    pub fn lost(&mut self, pe: usize) {
        (self.lost[pe], self.is_back[pe]) = (true, false);
        self.view += 1;
        self.lost_at[pe] = self.view;
    }

    /// The replacement of PE `pe` is there, and the others may let it in.
    pub fn rejoined(&mut self, pe: usize) {
        self.is_back[pe] = true;
    }

    /// The replacement of PE `pe` is lost before the others have let it in, which is no further
    /// loss of the job. What it waits by.
    pub fn gone(&mut self, pe: usize) -> Vec<T> {
        self.is_back[pe] = false;
        let of_it = |round: &mut OpenRound<T>| {
            let me = round.members.iter().position(|&member| member == pe)?;
            round.given[me].take().map(|(ticket, _)| ticket)
        };
        self.open.iter_mut().filter_map(of_it).collect()
    }

    /// PE `pe` takes part from now on. Whether it does so again, after it has left.
    pub fn joined(&mut self, pe: usize) -> bool {
        std::mem::take(&mut self.has_left[pe])
    }

    /// PE `pe` has left in good order.
    pub fn left(&mut self, pe: usize) {
        self.has_left[pe] = true;
    }

    /// What those wait by that have joined rounds.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.open.iter().flat_map(|open| &open.given).flatten().map(|(ticket, _)| ticket)
    }

    /// PE `pe` joins a round.
    ///
    /// # Errors
    /// What is wrong with that.
    pub fn join(&mut self, pe: usize, ticket: T, round: TeamRound) -> Result<(), &'static str> {
        let TeamRound { key, view, members, given } = round;
        let Some(me) = members.iter().position(|&member| member == pe) else {
            return Err("it is no member of the team that it is to make anew");
        };
        if members.iter().any(|&member| member >= self.lost.len()) {
            return Err("a member of its team is no PE");
        }
        let is_it = |round: &OpenRound<T>| round.key == key && round.members == members;
        let at = self.open.iter().position(is_it).unwrap_or(self.open.len());
        if at == self.open.len() {
            let given = members.iter().map(|_| None).collect();
            self.open.push(OpenRound { key, view, members, given });
        }
        self.open[at].given[me] = Some((ticket, given));
        Ok(())
    }

    /// The next round in which no PE is missing that is not lost, if there is one, or in which PEs
    /// wait in vain.
    pub fn next_over(&mut self) -> Option<EndedRound<T>> {
        let in_vain = self.are_in_vain();
        let at = self.open.iter().position(|round| {
            let mut members = round.members.iter().zip(&round.given);
            in_vain && round.key == TeamRound::REBUILT
                || members.all(|(&pe, given)| given.is_some() || self.is_missing(pe, round))
        })?;
        let round = self.open.remove(at);
        let is_rebuilt = round.key == TeamRound::REBUILT;
        let (mut waiting, mut all) = (Vec::new(), Vec::new());
        let living = round.members.iter().map(|&pe| !self.is_missing(pe, &round)).collect::<Vec<_>>();
        for ((pe, given), lives) in round.members.into_iter().zip(round.given).zip(living) {
            // What one that was lost since has given is of no use any more.
            all.push(match given.filter(|_| lives) {
                Some((ticket, bytes)) => {
                    waiting.push((pe, ticket));
                    bytes
                }
                None if is_rebuilt && self.has_left[pe] => TeamRound::LEFT.to_vec(),
                None if lives => TeamRound::ELSEWHERE.to_vec(),
                None => Vec::new(),
            });
        }
        let are_all_back = is_rebuilt && waiting.len() == all.len() && all.iter().all(|it| !it.is_empty());
        let let_in = if are_all_back { self.let_in() } else { Vec::new() };
        Some(EndedRound { waiting, view: self.view, given: all, let_in })
    }

    /// Whether a PE waits for replacements to come in, and another waits for it in a round of a
    /// team.
    fn are_in_vain(&self) -> bool {
        let (rebuilt, teams): (Vec<_>, Vec<_>) =
            self.open.iter().partition(|round| round.key == TeamRound::REBUILT);
        let is_there = |pe: usize| {
            let place = |round: &&OpenRound<T>| round.members.iter().position(|&member| member == pe);
            rebuilt.iter().any(|round| place(round).is_some_and(|at| round.given[at].is_some()))
        };
        teams.into_iter().any(|round| {
            let mut members = round.members.iter().zip(&round.given);
            members.any(|(&pe, given)| given.is_none() && !self.is_missing(pe, round) && is_there(pe))
        })
    }

    /// All PEs have let in the replacements that are there.
    fn let_in(&mut self) -> Vec<usize> {
        let back: Vec<usize> = (0..self.lost.len()).filter(|&pe| self.is_back[pe]).collect();
        for &pe in &back {
            (self.is_back[pe], self.lost[pe]) = (false, false);
        }
        back
    }

    fn is_missing(&self, pe: usize, round: &OpenRound<T>) -> bool {
        match round.key {
            TeamRound::REBUILT => self.lost[pe] && !self.is_back[pe] || self.has_left[pe],
            // A replacement is no member of a team that was made before.
            _ => self.lost[pe] || self.lost_at[pe] > round.view,
        }
    }
}
