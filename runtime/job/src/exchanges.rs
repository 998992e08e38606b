//! What PEs exchange through the launcher, as logic without I/O: a request comes in, messages to
//! PEs come out.
//!
//! A PE's k-th exchange belongs to the job's k-th exchange, and its k-th fetch to its host's k-th
//! offer.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::Arc,
};

use oxshmem_base::Hosts;

use crate::{
    rounds::TeamRounds,
    wire::{self, Kind, Message, TeamRound},
};

/// Messages, and the PE that each is for.
pub type Mail = Vec<(usize, Message)>;

/// How many of its calls a PE may be ahead of others: more than any program awaits at a time. What
/// others have not come to is kept.
const AHEAD: u64 = 1024;

/// All exchanges and offers of a job.
#[derive(Clone)]
pub struct Exchanges {
    n_pes: usize,
    hosts: Arc<Hosts>,
    /// The exchanges that some PE has not joined yet. They complete in order.
    exchanges: VecDeque<OpenExchange>,
    /// The number of the first of them.
    first: u64,
    /// How many exchanges each PE has joined.
    joined: Vec<u64>,
    /// How many offers each PE has asked for.
    fetched: Vec<u64>,
    /// The offers of each host.
    offers: Vec<Offers>,
    /// Rounds of members of teams that are left, in which PEs wait by their tickets.
    rounds: TeamRounds<u64>,
    were_let_in: Vec<usize>,
    /// What PEs gave and offered when the job began, if there are to be replacements.
    kept: Option<ForReplacements>,
}

/// What a replacement joins by.
#[derive(Clone)]
struct ForReplacements {
    /// What each PE gave in each exchange, or its last replacement.
    given: Vec<Vec<Vec<u8>>>,
    /// What the leader of each host has offered.
    offers: Vec<Vec<Message>>,
    /// How many exchanges and offers each replacement has come to, until it is in.
    joining: HashMap<usize, (usize, usize)>,
    /// Whether init is over on all PEs.
    is_whole: bool,
}

#[derive(Clone)]
struct OpenExchange {
    /// Each PE's ticket, and whether it wants what all have given.
    tickets: Vec<(u64, bool)>,
    /// Their contributions.
    given: Vec<Vec<u8>>,
    missing: usize,
}

/// The offers of one host's leader.
#[derive(Clone)]
struct Offers {
    followers: usize,
    /// Those that some PE of the host has not fetched yet, and how many have.
    open: VecDeque<(Message, usize)>,
    /// The number of the first of them.
    first: u64,
    /// Fetches that came before the offer: PE, ticket, number.
    waiting: Vec<(usize, u64, u64)>,
}

impl Exchanges {
    /// What a job exchanges, which keeps what replacements need, if there are to be any.
    pub fn new(hosts: Arc<Hosts>, has_replacements: bool) -> Self {
        let offers = (0..hosts.n_hosts()).map(|host| Offers::new(hosts.n_pes_of(host) - 1)).collect();
        let n_pes = hosts.n_pes();
        let (joined, fetched) = (vec![0; n_pes], vec![0; n_pes]);
        let kept = has_replacements.then(|| ForReplacements {
            given: Vec::new(),
            offers: vec![Vec::new(); hosts.n_hosts()],
            joining: HashMap::new(),
            is_whole: false,
        });
        Self {
            n_pes,
            hosts,
            exchanges: VecDeque::new(),
            first: 0,
            joined,
            fetched,
            offers,
            rounds: TeamRounds::new(n_pes),
            were_let_in: Vec::new(),
            kept,
        }
    }

    /// Init is over on all PEs: nothing more is kept.
    pub fn are_whole(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.is_whole = true;
        }
    }

    /// A replacement of PE `pe` is about to join.
    pub fn replace(&mut self, pe: usize) {
        if let Some(kept) = &mut self.kept {
            kept.joining.insert(pe, (0, 0));
        }
    }

    /// The replacement of PE `pe` has ended before the others have let it in.
    pub fn gone(&mut self, pe: usize) -> io::Result<Mail> {
        self.rounds.gone(pe);
        self.complete_rounds()
    }

    /// Whether PE `pe` is a replacement that the others have not let in.
    pub fn is_replaced(&self, pe: usize) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.joining.contains_key(&pe))
    }

    /// The replacement of PE `pe` is there, and the others may let it in. What it gave in the
    /// exchanges.
    pub fn rejoined(&mut self, pe: usize) -> Vec<Vec<u8>> {
        let Some(kept) = &mut self.kept else { return Vec::new() };
        self.rounds.rejoined(pe);
        kept.given.iter().map(|given| given[pe].clone()).collect()
    }

    /// PE `pe` takes part from now on: again, if it has left before. What was kept is of a job that
    /// is over then.
    pub fn joined(&mut self, pe: usize) {
        let again = self.rounds.joined(pe);
        if let Some(kept) = self.kept.as_mut().filter(|kept| again && kept.is_whole) {
            kept.is_whole = false;
            kept.given.clear();
            kept.offers.iter_mut().for_each(Vec::clear);
        }
    }

    /// PE `pe` has left in good order.
    pub fn left(&mut self, pe: usize) -> io::Result<Mail> {
        self.rounds.left(pe);
        self.complete_rounds()
    }

    /// The replacements that the others have let in, once.
    pub fn take_let_in(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.were_let_in)
    }

    /// All PEs have let in the replacement of PE `pe`, which joins from now on what the others do.
    fn let_in(&mut self, pe: usize) {
        self.were_let_in.push(pe);
        (self.joined[pe], self.fetched[pe]) = (self.first, u64::MAX);
        self.exchanges.iter_mut().for_each(|exchange| exchange.missing += 1);
        self.kept.iter_mut().for_each(|kept| _ = kept.joining.remove(&pe));
    }

    /// PE `pe` joins its next exchange, of which it may `want` all contributions. The one that
    /// completes it brings the answers for all.
    pub fn exchange(&mut self, pe: usize, ticket: u64, want: bool, body: Vec<u8>) -> io::Result<Mail> {
        if let Some(ForReplacements { given, joining, .. }) = &mut self.kept
            && let Some((index, _)) = joining.get_mut(&pe)
        {
            // The others have not let it in, and do not wait for it.
            let mut alone = vec![Vec::new(); self.n_pes];
            let given = given.get_mut(*index).unwrap_or(&mut alone);
            *index += 1;
            if !body.is_empty() {
                given[pe] = body;
            }
            return Ok(vec![(
                pe,
                Message::new(Kind::Exchanged).ticket(ticket).with_body(wire::pack(given))?,
            )]);
        }
        let index = self.joined[pe] - self.first;
        if index >= AHEAD {
            return Err(refused("it joins exchanges that no other PE comes to"));
        }
        let index = index as usize;
        self.joined[pe] += 1;
        if index == self.exchanges.len() {
            let (tickets, given) = (vec![(0, false); self.n_pes], vec![Vec::new(); self.n_pes]);
            let missing = self.rounds.living();
            self.exchanges.push_back(OpenExchange { tickets, given, missing });
        }
        let exchange = &mut self.exchanges[index];
        (exchange.tickets[pe], exchange.given[pe]) = ((ticket, want), body);
        exchange.missing -= 1;
        self.complete()
    }

    /// PE `pe` joins nothing any more, and gives nothing to what it has not joined.
    pub fn lost(&mut self, pe: usize) -> io::Result<Mail> {
        self.rounds.lost(pe);
        let joined = (self.joined[pe] - self.first) as usize;
        self.exchanges.iter_mut().skip(joined).for_each(|exchange| exchange.missing -= 1);
        let mut mail = self.complete_rounds()?;
        mail.extend(self.complete()?);
        Ok(mail)
    }

    /// PE `pe` joins a round of the members of a team that are left.
    pub fn regroup(&mut self, pe: usize, ticket: u64, body: &[u8]) -> io::Result<Mail> {
        let round = TeamRound::decode(body)
            .ok_or_else(|| refused("what it gives the other members of a team is malformed"))?;
        self.rounds.join(pe, ticket, round).map_err(refused)?;
        self.complete_rounds()
    }

    /// Answers the rounds in which no PE is missing that is not lost.
    fn complete_rounds(&mut self) -> io::Result<Mail> {
        let mut mail = Mail::new();
        while let Some(over) = self.rounds.next_over() {
            let answer = Message::new(Kind::Regrouped).value(over.view as i32);
            let answer = answer.with_body(wire::pack(&over.given))?;
            mail.extend(over.waiting.into_iter().map(|(pe, ticket)| (pe, answer.clone().ticket(ticket))));
            over.let_in.into_iter().for_each(|pe| self.let_in(pe));
        }
        Ok(mail)
    }

    /// Answers all that are complete.
    fn complete(&mut self) -> io::Result<Mail> {
        let mut mail = Mail::new();
        while self.exchanges.front().is_some_and(|exchange| exchange.missing == 0) {
            let Some(OpenExchange { tickets, given, .. }) = self.exchanges.pop_front() else { break };
            if let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_whole) {
                kept.given.push(given.clone());
            }
            // One body for all, so that an answer costs what its recipient's copy costs.
            let nothing = Message::new(Kind::Exchanged);
            let all = nothing.clone().with_body(wire::pack(&given))?;
            let answer =
                |(ticket, want): (u64, bool)| if want { &all } else { &nothing }.clone().ticket(ticket);
            let living = tickets.into_iter().enumerate().filter(|&(pe, _)| !self.rounds.is_lost(pe));
            mail.extend(living.map(|(pe, ticket)| (pe, answer(ticket))));
            self.first += 1;
        }
        Ok(mail)
    }

    /// PE `pe`, the leader of its host, offers what `message` carries.
    pub fn offer(&mut self, pe: usize, message: Message) -> io::Result<Mail> {
        let (hosts, host) = (&self.hosts, self.hosts.host_of(pe));
        if hosts.leader_of(host) != pe {
            return Err(refused("it offers something, and is not its host's leader"));
        }
        if let Some(kept) = self.kept.as_mut().filter(|kept| !kept.is_whole) {
            kept.offers[host].push(message.clone().as_kind(Kind::Offered));
        }
        let host = &mut self.offers[host];
        if host.open.len() as u64 >= AHEAD {
            return Err(refused("it offers what no other PE takes"));
        }
        let number = host.first + host.open.len() as u64;
        host.open.push_back((message.as_kind(Kind::Offered), 0));
        let (ready, waiting) = host.waiting.drain(..).partition(|&(_, _, wanted)| wanted == number);
        host.waiting = waiting;
        let ready: Vec<_> = ready;
        let mail = ready.into_iter().filter_map(|(pe, ticket, number)| host.take(pe, ticket, number));
        let mail = mail.collect();
        host.close();
        Ok(mail)
    }

    /// The PEs that others wait for: those that have not joined what others have, and leaders whose
    /// offer others want.
    pub fn awaited(&self) -> Vec<usize> {
        let is_open = !self.exchanges.is_empty();
        let absent = (0..self.n_pes)
            .filter(|&pe| is_open && !self.rounds.is_lost(pe) && self.joined[pe] == self.first);
        let hosts = &self.hosts;
        let owing = self.offers.iter().enumerate().filter(|(_, offers)| !offers.waiting.is_empty());
        let mut awaited: Vec<usize> = absent.chain(owing.map(|(host, _)| hosts.leader_of(host))).collect();
        awaited.sort_unstable();
        awaited.dedup();
        awaited
    }

    /// PE `pe` asks for its host's next offer.
    pub fn fetch(&mut self, pe: usize, ticket: u64) -> io::Result<Mail> {
        let (hosts, host) = (&self.hosts, self.hosts.host_of(pe));
        if let Some(ForReplacements { offers, joining, .. }) = &mut self.kept
            && let Some((_, index)) = joining.get_mut(&pe)
        {
            let offer =
                offers[host].get(*index).ok_or_else(|| refused("it asks for what no PE has offered"))?;
            *index += 1;
            return Ok(vec![(pe, offer.clone().ticket(ticket))]);
        }
        if hosts.leader_of(host) == pe {
            return Err(refused("it asks for what it offers itself"));
        }
        let host = &mut self.offers[host];
        let number = self.fetched[pe];
        if number - host.first >= AHEAD {
            return Err(refused("it asks for what its host's leader does not offer"));
        }
        self.fetched[pe] += 1;
        let answer = host.take(pe, ticket, number);
        if answer.is_none() {
            host.waiting.push((pe, ticket, number));
        }
        host.close();
        Ok(answer.into_iter().collect())
    }
}

/// What a PE asks for that none of this build does.
fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Offers {
    fn new(followers: usize) -> Self {
        Self { followers, open: VecDeque::new(), first: 0, waiting: Vec::new() }
    }

    fn take(&mut self, pe: usize, ticket: u64, number: u64) -> Option<(usize, Message)> {
        let (offer, taken) = self.open.get_mut((number - self.first) as usize)?;
        *taken += 1;
        Some((pe, offer.clone().ticket(ticket)))
    }

    /// Lets go of the offers that all PEs have.
    fn close(&mut self) {
        while self.open.front().is_some_and(|(_, taken)| *taken == self.followers) {
            self.open.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_base::Hosts;

    use super::*;

    fn exchanges(hosts: Hosts) -> Exchanges {
        Exchanges::new(Arc::new(hosts), false)
    }

    fn tickets(mail: Mail) -> Vec<(usize, u64)> {
        mail.into_iter().map(|(pe, message)| (pe, message.ticket)).collect()
    }

    #[test]
    fn a_replacement_that_ends_before_it_is_let_in_keeps_none_waiting() {
        let mut exchanges = Exchanges::new(Arc::new(Hosts::one(2)), true);
        let members = vec![0, 1];
        let round = TeamRound { key: TeamRound::REBUILT, view: u64::MAX, members, given: vec![1] }.encode();
        exchanges.lost(1).unwrap();
        exchanges.replace(1);
        exchanges.rejoined(1);
        assert!(exchanges.regroup(0, 7, &round).unwrap().is_empty(), "it is waited for");
        let mail = exchanges.gone(1).unwrap();
        let body = mail[0].1.clone().into_body().unwrap();
        assert_eq!(*wire::unpack(&body, 2).unwrap(), [vec![1], vec![]]);
        assert_eq!(tickets(mail), [(0, 7)]);
        // What it gave is not taken for that of the next one.
        exchanges.replace(1);
        exchanges.rejoined(1);
        assert!(exchanges.regroup(1, 8, &round).unwrap().is_empty());
        assert!(exchanges.gone(1).unwrap().is_empty());
        exchanges.replace(1);
        exchanges.rejoined(1);
        assert!(exchanges.regroup(0, 9, &round).unwrap().is_empty());
        assert_eq!(tickets(exchanges.regroup(1, 10, &round).unwrap()), [(0, 9), (1, 10)]);
    }

    #[test]
    fn the_last_to_join_an_exchange_completes_it() {
        let mut exchanges = exchanges(Hosts::one(2));
        assert!(exchanges.exchange(0, 10, true, vec![1]).unwrap().is_empty());
        assert!(exchanges.exchange(0, 11, true, vec![3]).unwrap().is_empty());
        let mail = exchanges.exchange(1, 20, true, vec![2]).unwrap();
        let body = mail[0].1.clone().into_body().unwrap();
        assert_eq!(*wire::unpack(&body, 2).unwrap(), [vec![1], vec![2]]);
        assert_eq!(tickets(mail), [(0, 10), (1, 20)]);
        assert_eq!(tickets(exchanges.exchange(1, 21, true, vec![4]).unwrap()), [(0, 11), (1, 21)]);
        assert!(exchanges.exchanges.is_empty());
    }

    #[test]
    fn a_pe_that_wants_nothing_learns_that_all_have_come() {
        let mut exchanges = exchanges(Hosts::one(3));
        exchanges.exchange(0, 1, true, vec![5]).unwrap();
        exchanges.exchange(1, 2, false, vec![6]).unwrap();
        let mail = exchanges.exchange(2, 3, false, vec![]).unwrap();
        let bodies: Vec<_> = mail.iter().map(|(_, message)| message.clone().into_body().unwrap()).collect();
        assert_eq!(*wire::unpack(&bodies[0], 3).unwrap(), [vec![5], vec![6], vec![]]);
        assert!(bodies[1].is_empty() && bodies[2].is_empty());
        assert_eq!(tickets(mail), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn those_that_others_wait_for_are_known() {
        let mut exchanges = exchanges(Hosts::even(4, 2));
        assert_eq!(exchanges.awaited(), [] as [usize; 0]);
        exchanges.exchange(0, 1, true, vec![]).unwrap();
        exchanges.exchange(0, 2, true, vec![]).unwrap();
        exchanges.exchange(2, 3, true, vec![]).unwrap();
        assert_eq!(exchanges.awaited(), [1, 3]);
        exchanges.exchange(3, 4, true, vec![]).unwrap();
        // PE 3 waits for its host's leader, which has come to the exchange.
        exchanges.fetch(3, 5).unwrap();
        assert_eq!(exchanges.awaited(), [1, 2]);
        assert_eq!(exchanges.exchange(1, 6, true, vec![]).unwrap().len(), 4);
        assert_eq!(exchanges.awaited(), [1, 2, 3]);
        assert_eq!(exchanges.offer(2, Message::new(Kind::Offer)).unwrap().len(), 1);
        for pe in 1..4 {
            exchanges.exchange(pe, 7, true, vec![]).unwrap();
        }
        assert_eq!(exchanges.awaited(), [] as [usize; 0]);
    }

    #[test]
    fn pes_that_are_to_let_replacements_in_do_not_wait_for_one_that_waits_for_them() {
        let round = |key, given| TeamRound { key, view: 0, members: vec![0, 1, 2], given }.encode();
        for is_first in [true, false] {
            let mut exchanges = Exchanges::new(Arc::new(Hosts::one(3)), true);
            exchanges.lost(2).unwrap();
            let rebuilt = |exchanges: &mut Exchanges| {
                exchanges.regroup(0, 7, &round(TeamRound::REBUILT, vec![1])).unwrap()
            };
            let survives = |exchanges: &mut Exchanges, pe| {
                exchanges.regroup(pe, 8, &round([5, 5], vec![pe as u8])).unwrap()
            };
            let mail = if is_first {
                assert!(rebuilt(&mut exchanges).is_empty());
                survives(&mut exchanges, 1)
            } else {
                assert!(survives(&mut exchanges, 1).is_empty());
                rebuilt(&mut exchanges)
            };
            let body = mail[0].1.clone().into_body().unwrap();
            assert_eq!(*wire::unpack(&body, 3).unwrap(), [vec![1], TeamRound::ELSEWHERE.to_vec(), vec![]]);
            assert_eq!(tickets(mail), [(0, 7)]);
            assert_eq!(tickets(survives(&mut exchanges, 0)), [(0, 8), (1, 8)]);
        }
    }

    #[test]
    fn offers_reach_the_leaders_own_host_only_and_are_let_go() {
        let mut exchanges = exchanges(Hosts::even(6, 2));
        assert!(exchanges.fetch(4, 40).unwrap().is_empty());
        assert!(exchanges.offer(0, Message::new(Kind::Offer)).unwrap().is_empty());
        assert_eq!(tickets(exchanges.fetch(1, 10).unwrap()), [(1, 10)]);
        assert!(exchanges.fetch(1, 11).unwrap().is_empty());
        assert_eq!(tickets(exchanges.fetch(2, 20).unwrap()), [(2, 20)]);
        assert_eq!(tickets(exchanges.offer(3, Message::new(Kind::Offer)).unwrap()), [(4, 40)]);
        assert_eq!(tickets(exchanges.fetch(5, 50).unwrap()), [(5, 50)]);
        assert!(exchanges.offers.iter().all(|host| host.open.is_empty()));
    }

    #[test]
    fn pes_that_are_dealt_in_turn_get_their_own_leaders_offer() {
        let mut exchanges = exchanges(Hosts::cyclic(5, 2));
        assert_eq!(tickets(exchanges.fetch(3, 30).unwrap()), []);
        assert_eq!(tickets(exchanges.fetch(2, 20).unwrap()), []);
        assert_eq!(tickets(exchanges.offer(1, Message::new(Kind::Offer)).unwrap()), [(3, 30)]);
        assert_eq!(tickets(exchanges.offer(0, Message::new(Kind::Offer)).unwrap()), [(2, 20)]);
        assert_eq!(tickets(exchanges.fetch(4, 40).unwrap()), [(4, 40)]);
        assert!(exchanges.offers.iter().all(|host| host.open.is_empty()));
    }

    #[test]
    fn a_leader_alone_on_its_host_leaves_nothing_behind() {
        let mut exchanges = exchanges(Hosts::one(1));
        assert!(exchanges.offer(0, Message::new(Kind::Offer)).unwrap().is_empty());
        assert!(exchanges.offers[0].open.is_empty());
    }

    #[test]
    fn what_no_pe_of_this_build_asks_for_is_refused_and_not_kept() {
        let mut exchanges = exchanges(Hosts::even(4, 2));
        assert!(exchanges.offer(1, Message::new(Kind::Offer)).is_err());
        assert!(exchanges.fetch(0, 1).is_err());
        for ticket in 0..AHEAD {
            exchanges.exchange(0, ticket, true, vec![1]).unwrap();
            exchanges.offer(0, Message::new(Kind::Offer)).unwrap();
            exchanges.fetch(3, ticket).unwrap();
        }
        assert!(exchanges.exchange(0, 1, true, vec![1]).is_err());
        assert!(exchanges.offer(0, Message::new(Kind::Offer)).is_err());
        assert!(exchanges.fetch(3, 1).is_err());
        // The others' exchanges and offers go on.
        for pe in 1..4 {
            exchanges.exchange(pe, 1, true, vec![]).unwrap();
        }
        assert_eq!(tickets(exchanges.offer(2, Message::new(Kind::Offer)).unwrap()), [(3, 0)]);
        assert_eq!(tickets(exchanges.fetch(1, 7).unwrap()), [(1, 7)]);
    }

    #[test]
    fn calls_are_answered_or_refused_whatever_is_sent() {
        // A PE, then what it calls: an exchange, an offer, or a fetch.
        let real = [
            (0..4).flat_map(|pe| [pe, 0]).collect::<Vec<u8>>(),
            vec![0, 1, 1, 2, 2, 1, 3, 2],
            [[1, 2], [0, 1], [0, 0], [3, 2], [2, 1], [1, 0], [2, 0], [3, 0]].concat(),
        ];
        oxshmem_base::fuzz::mutated(&real, |calls| {
            let mut exchanges = exchanges(Hosts::even(4, 2));
            for (ticket, call) in calls.as_chunks::<2>().0.iter().enumerate() {
                let (pe, ticket) = (usize::from(call[0] % 4), ticket as u64);
                let mail = match call[1] % 3 {
                    0 => exchanges.exchange(pe, ticket, call[1] > 127, vec![call[1]; 3]),
                    1 => exchanges.offer(pe, Message::new(Kind::Offer)),
                    _ => exchanges.fetch(pe, ticket),
                };
                assert!(mail.is_ok_and(|mail| mail.iter().all(|(to, _)| *to < 4)) || call[1] % 3 > 0);
                exchanges.awaited();
            }
        });
    }
}
