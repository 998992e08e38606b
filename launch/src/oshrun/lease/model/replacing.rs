//! PEs that are started in the place of lost ones, and the rounds in which all PEs let them in.
//!
//! A PE that learns of a loss joins the round of `rebuilt`, and so does a replacement after its
//! init. Where the world is not whole then, it joins the next one when another replacement is
//! there. In the end, where all PEs are there all have the world, and if one is missing, not all
//! others wait for ever: some know that it is missing.

use oxshmem_job::wire::{self, TeamRound};

use super::{Down, EACH, HOSTS, Mail, State, Up, host_of};

/// What the launcher has done about replacements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Replacing {
    waiting: Vec<usize>,
    /// The PEs that are lost, and have no replacement that the others have let in.
    pub(super) lost: [bool; HOSTS * EACH],
    /// Those whose replacement may be let in.
    back: [bool; HOSTS * EACH],
}

/// What a PE has of the rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rebuilds {
    /// Whether it has begun as a replacement, and takes no part yet.
    is_joining: bool,
    waits: bool,
    /// Whether a replacement is there that has come since it asked last.
    rejoined: bool,
    /// How many losses there were when it was let into, or let others into, the last world.
    whole_in: usize,
}

impl State {
    pub(super) fn is_to_replace(&self) -> bool {
        !self.replacing.waiting.is_empty() && self.lifecycle.wants_replacement()
    }

    /// Has a replacement started, on a host whose agent says so later.
    pub(super) fn replace(&mut self) {
        let pe = self.replacing.waiting.remove(0);
        self.exchanges.replace(pe);
        self.send(host_of(pe), Down::Replace(pe));
    }

    pub(super) fn go_on_replacing(&mut self) {
        for pe in self.lifecycle.take_gone() {
            self.replacing.back[pe] = false;
            self.asked.retain(|&other| other != pe);
            let mail = self.exchanges.gone(pe);
            self.deliver(mail.expect("answers"));
        }
        self.replacing.waiting.extend(self.lifecycle.take_to_replace());
    }

    pub(super) fn inform(&mut self, pe: usize) {
        let losses = self.losses.iter().copied().zip(1..).collect();
        self.send(host_of(pe), Down::History(pe, losses));
    }

    pub(super) fn rejoin(&mut self, pe: usize) {
        self.exchanges.rejoined(pe);
        self.replacing.back[pe] = true;
        (0..HOSTS).for_each(|host| self.send(host, Down::Rejoined(pe)));
    }

    /// What the launcher does when such a frame comes.
    pub(super) fn arrives_of_a_replacement(&mut self, host: usize, frame: Up) {
        match frame {
            // It has no connection any more.
            _ if self.given_up[host] => {}
            Up::Replaced(pe) => {
                self.lifecycle.replaced(pe, 9);
                self.pes[pe].is_starting = false;
            }
            Up::Joined(pe) if self.lifecycle.is_alive(pe) => {
                self.exchanges.joined(pe);
                let step = self.lifecycle.joined(pe);
                self.take(step);
            }
            Up::Survives(pe) if self.lifecycle.is_alive(pe) => {
                let step = self.lifecycle.survives(pe);
                self.take(step);
            }
            Up::Rebuilt(pe) if self.lifecycle.is_alive(pe) => {
                self.asked.push(pe);
                let members = (0..self.pes.len()).collect();
                let round = TeamRound { key: TeamRound::REBUILT, view: u64::MAX, members, given: vec![1] };
                let mail = self.exchanges.regroup(pe, 0, &round.encode());
                for pe in self.exchanges.take_let_in() {
                    self.lifecycle.let_in(pe);
                    (self.replacing.lost[pe], self.replacing.back[pe]) = (false, false);
                }
                self.deliver(mail.expect("a round"));
            }
            _ => {}
        }
    }

    /// The answers of a round.
    pub(super) fn deliver_worlds(&mut self, mail: Mail) {
        for (pe, message) in mail {
            self.asked.retain(|&other| other != pe);
            let view = message.value;
            let given = message.into_body().ok().and_then(|body| wire::unpack(&body, self.pes.len()));
            let is_whole = given.expect("what all gave").iter().all(|given| *given == [1]);
            self.send(host_of(pe), Down::Rebuilt(pe, is_whole.then_some(view)));
        }
    }

    /// What an agent does when such a frame comes, and its PEs.
    pub(super) fn obey_about_a_replacement(&mut self, host: usize, frame: Down) {
        match frame {
            Down::Replace(pe) => {
                let rebuilds = Rebuilds { is_joining: true, ..Rebuilds::default() };
                self.pes[pe] = super::Member { is_starting: true, rebuilds, ..Default::default() };
                self.answer(Up::Replaced(pe), host);
                self.answer(Up::Joined(pe), host);
            }
            Down::History(pe, losses) if !self.pes[pe].dead => {
                self.learns(pe, &losses);
                self.pes[pe].rebuilds.is_joining = false;
                self.answer(Up::Survives(pe), host);
                self.ask(pe);
            }
            Down::Rejoined(back) => {
                for pe in (host * EACH..(host + 1) * EACH).filter(|&pe| pe != back) {
                    self.pes[pe].rebuilds.rejoined = true;
                    self.ask_again(pe);
                }
            }
            Down::Rebuilt(pe, view) if !self.pes[pe].dead => {
                let rebuilds = &mut self.pes[pe].rebuilds;
                rebuilds.waits = false;
                if let Some(view) = view {
                    rebuilds.whole_in = view as usize;
                    // It has lost another one meanwhile.
                    rebuilds.rejoined |= self.pes[pe].knows.len() > view as usize;
                }
                self.ask_again(pe);
            }
            _ => {}
        }
    }

    /// A PE learns of losses: of the next one, as others are known or to come.
    pub(super) fn learns(&mut self, pe: usize, losses: &[(usize, i32)]) {
        if self.pes[pe].dead {
            return;
        }
        for &(lost, view) in losses {
            if view as usize == self.pes[pe].knows.len() + 1 {
                self.pes[pe].knows.push((lost, view));
                if !self.pes[pe].rebuilds.is_joining {
                    self.ask(pe);
                }
            }
        }
    }

    fn ask_again(&mut self, pe: usize) {
        let Rebuilds { is_joining, rejoined, whole_in, .. } = self.pes[pe].rebuilds;
        if rejoined && !is_joining && whole_in < self.pes[pe].knows.len() {
            self.ask(pe);
        }
    }

    /// A PE asks for the whole world, if it does not wait for it already.
    fn ask(&mut self, pe: usize) {
        let member = &mut self.pes[pe];
        if !member.dead && !member.rebuilds.waits {
            (member.rebuilds.waits, member.rebuilds.rejoined) = (true, false);
            self.answer(Up::Rebuilt(pe), host_of(pe));
        }
    }

    /// What is so of those that are left when the network is quiet.
    pub(super) fn check_replacements(&self) {
        let is_there = |pe: usize| self.lifecycle.is_alive(pe) && !self.pes[pe].dead;
        let mut there = (0..self.pes.len()).filter(|&pe| is_there(pe)).peekable();
        let all_wait = there.peek().is_some() && there.clone().all(|pe| self.pes[pe].rebuilds.waits);
        assert!(!all_wait, "all wait for ever: {:?}", self.pes);
        if (0..self.pes.len()).all(is_there) {
            for pe in there {
                let Rebuilds { waits, whole_in, .. } = self.pes[pe].rebuilds;
                assert!(
                    !waits && whole_in == self.losses.len(),
                    "PE {pe} has no whole world: {:?}",
                    self.pes
                );
            }
        }
    }
}
