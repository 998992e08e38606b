//! Replacements of PEs that a cluster has lost: what they join by, and how others learn of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use oxshmem_base::{Error, Result};

use super::{Given, Group, Handed, Local, State};
use crate::{
    Placement,
    losses::{Losses, Rejoined},
};

/// What replacements join by.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What each PE gave in each exchange when the cluster began, or its last replacement.
    given: Vec<Given>,
    /// What the leader of each host has offered.
    offers: HashMap<usize, Vec<Handed>>,
    /// How many exchanges each replacement has come to, until it is in.
    joining: HashMap<usize, usize>,
    /// On how many PEs init is over; on all, nothing more is kept.
    whole: usize,
    /// The last replacement of each PE that has joined.
    rejoined: BTreeMap<usize, Rejoined>,
}

impl Kept {
    /// An exchange is over.
    pub(super) fn keep(&mut self, given: &Given) {
        if self.whole < given.len() {
            self.given.push(Arc::clone(given));
        }
    }

    /// The leader of a host offers something.
    pub(super) fn offer(&mut self, host: usize, offer: &Handed) {
        self.offers.entry(host).or_default().push(offer.clone());
    }

    /// What all gave in the next exchange of PE `pe`, if that is a replacement that is joining.
    pub(super) fn exchange(&mut self, pe: usize, n_pes: usize, mine: &[u8]) -> Option<Given> {
        let index = self.joining.get_mut(&pe)?;
        let given = self.given.get_mut(*index);
        *index += 1;
        let Some(given) = given else { return Some(vec![Vec::new(); n_pes].into()) };
        if !mine.is_empty() {
            let mut all = given.to_vec();
            all[pe] = mine.to_vec();
            *given = all.into();
        }
        Some(Arc::clone(given))
    }

    /// Whether PE `pe` is a replacement that is not in.
    pub(super) fn is_joining(&self, pe: usize) -> bool {
        self.joining.contains_key(&pe)
    }

    /// PE `pe` joins no more: it is in, or lost.
    pub(super) fn joins_no_more(&mut self, pe: usize) {
        self.joining.remove(&pe);
    }
}

impl State {
    /// The PEs that get news: those that take part, and replacements that are to.
    pub(super) fn those_there(&self) -> Vec<usize> {
        let is_joining = |pe| self.kept.as_ref().is_some_and(|kept| kept.is_joining(pe));
        (0..self.joined.len()).filter(|&pe| !self.lost.rounds.is_lost(pe) || is_joining(pe)).collect()
    }

    /// What is kept holds the memory of the PEs, which is not to stay when they are gone.
    pub(super) fn keep_while_any_is_there(&mut self) {
        if self.those_there().into_iter().all(|pe| self.lost.rounds.has_left(pe)) {
            self.kept = None;
        }
    }

    /// All PEs have let in the replacement of PE `pe`, which joins from now on what the others do.
    pub(super) fn let_in(&mut self, pe: usize) {
        self.kept.iter_mut().for_each(|kept| kept.joins_no_more(pe));
        self.joined[pe] = self.first_exchange;
        self.exchanges.iter_mut().for_each(|exchange| exchange.missing += 1);
    }
}

impl Group {
    /// PE `pe`, or its last replacement.
    pub(super) fn there(&self, pe: usize) -> (usize, u64) {
        (pe, self.lock().lost.comings[pe].0)
    }

    /// What the replacement that comes `number`ed so to an offer of its host finds there.
    pub(super) fn kept_for(&self, member: (usize, u64), number: u64) -> Result<Option<Handed>> {
        let state = self.lock();
        state.going_on(member)?;
        let (pe, coming) = member;
        if coming == 0 {
            return Ok(None);
        }
        let offers = state.kept.as_ref().and_then(|kept| kept.offers.get(&self.hosts.host_of(pe)));
        let offer = offers.and_then(|offers| offers.get(number as usize)).cloned();
        let nothing = || Error::bootstrap("share", "a replacement asks for what no PE has offered");
        offer.ok_or_else(nothing).map(Some)
    }

    /// Init is over on a PE.
    pub(super) fn survives(self: &Arc<Self>, (pe, coming): (usize, u64)) {
        let Some(survival) = &self.survival else { return };
        let (rejoined, others) = {
            let mut state = self.lock();
            let is_there = state.going_on((pe, coming)).is_ok();
            let Some(kept) = &mut state.kept else { return };
            if coming == 0 || !is_there {
                kept.whole += usize::from(coming == 0);
                return;
            }
            let given = kept.given.iter().map(|given| given[pe].clone()).collect();
            let rejoined = Rejoined { pe, given };
            kept.rejoined.insert(pe, rejoined.clone());
            state.lost.rounds.rejoined(pe);
            (rejoined, state.those_there())
        };
        for other in others.into_iter().filter(|&other| other != pe) {
            let (losses, rejoined) = (survival.losses_of(other), rejoined.clone());
            survival.bring(other, move || losses.add_rejoined(rejoined));
        }
        // What all knew before it came.
        self.settle();
    }
}

impl Local {
    /// Has the cluster keep what replacements join by. To be called before the first PE joins.
    pub fn keep_for_replacements(&self) {
        self.group.lock().kept = Some(Kept::default());
    }

    /// A PE in the place of PE `pe`, which is lost, and of which nothing is left. It joins by
    /// itself, and takes part once the others have let it in.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not lost, or has a replacement already.
    ///
    /// ```
    /// use oxshmem_job::{Bootstrap, Local};
    /// use oxshmem_base::Hosts;
    ///
    /// let pes = Local::surviving_cluster_on(Hosts::one(3));
    /// pes[0].keep_for_replacements();
    /// pes.iter().for_each(|pe| pe.survives());
    /// assert!(pes[0].replacement_of(1).is_err());
    /// pes[1].abandoned("it is an example");
    /// let again = pes[0].replacement_of(1)?;
    /// assert!(again.placement().is_replacement);
    /// assert_eq!(again.losses().unwrap().view(), 1);
    /// # Ok::<(), oxshmem_base::Error>(())
    /// ```
    pub fn replacement_of(&self, pe: usize) -> Result<Self> {
        let group = &self.group;
        let refused =
            |why: &str| Error::Unsupported { what: format!("a replacement of PE {pe}, which {why}") };
        let losses = Arc::<Losses>::default();
        let coming = {
            let mut state = group.lock();
            let State { kept, lost, .. } = &mut *state;
            let (Some(survival), Some(kept)) = (&group.survival, kept) else {
                return Err(refused("is of a cluster without replacements"));
            };
            if !lost.rounds.is_lost(pe) {
                return Err(refused("is not lost"));
            }
            if kept.is_joining(pe) {
                return Err(refused("has one already"));
            }
            lost.losses.iter().cloned().for_each(|loss| losses.add(loss));
            let is_there = |pe| !lost.rounds.is_lost(pe) || lost.rounds.is_back(pe);
            let there = kept.rejoined.values().filter(|rejoined| is_there(rejoined.pe));
            there.cloned().for_each(|rejoined| losses.add_rejoined(rejoined));
            survival.replace(pe, &losses);
            kept.joining.insert(pe, 0);
            let coming = lost.comings[pe].0 + 1;
            lost.comings[pe] = (coming, true);
            coming
        };
        let host = group.hosts.host_of(pe);
        let name = group.hosts.simulated_name(&crate::host_name(), host);
        let placement = Placement::new(pe, Arc::clone(&group.hosts), name);
        Ok(Self {
            placement: Placement { is_replacement: true, ..placement },
            host,
            losses: Some(losses),
            group: Arc::clone(group),
            shares: super::AtomicU64::new(0),
            coming,
        })
    }

    /// Whether all PEs know of all losses.
    pub fn all_know(&self) -> bool {
        let Some(survival) = &self.group.survival else { return true };
        let state = self.group.lock();
        let view = state.lost.rounds.view();
        state.those_there().into_iter().all(|pe| survival.losses_of(pe).view() == view)
    }
}
