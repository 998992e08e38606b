//! How evenly the PEs of a team come to its collectives.

use std::collections::{BTreeMap, HashMap};

use oxshmem_progress::activity::{Activity, Call};
use serde_json::{Value, json};

use super::ROWS;
use crate::trace::model::{Event, Kind, PeTrace, Trace};

/// Points of the chart of single collectives.
const POINTS: usize = 400;
/// The number of the team of the PEs of a host, which another team has on each host.
const SHARED: u64 = 1;

/// A team: its number and, if that is the same on all hosts, the host.
pub(super) type TeamKey<'a> = (u64, &'a str);

/// The team and the number of an event of `pe`.
pub(super) fn key<'a>(pe: &'a PeTrace, event: &Event) -> (TeamKey<'a>, u64) {
    let host = if event.team == SHARED { pe.host.as_str() } else { "" };
    ((event.team, host), event.number)
}

/// One collective, made by all PEs of a team.
#[derive(Debug)]
pub(super) struct Collective {
    call: Call,
    pes: u64,
    /// When the first and the last PE came.
    first: u64,
    last: u64,
    last_pe: usize,
    /// When all came, added up.
    arrivals: u128,
    work: Work,
}

/// How long the PEs of a team had been away since the collective before: added up, and the longest.
#[derive(Debug)]
struct Work {
    sum: u128,
    longest: u64,
    /// The number of the one before.
    since: u64,
    /// Whether that is the same for all of them. It is not where records were lost.
    is_known: bool,
}

impl Collective {
    /// (max - mean) / max of the times since the collective before: 0 if all PEs were away for as
    /// long, nearly 1 if one of many took all the time.
    fn imbalance(&self) -> Option<f64> {
        let known = self.work.is_known && self.work.longest > 0;
        known.then(|| 1.0 - self.work.sum as f64 / self.pes as f64 / self.work.longest as f64)
    }

    /// How long all others waited for the last PE, together.
    pub(super) fn lost(&self) -> u64 {
        u64::try_from(u128::from(self.last) * u128::from(self.pes) - self.arrivals).unwrap_or(u64::MAX)
    }

    /// The PE that came last.
    pub(super) fn last_pe(&self) -> usize {
        self.last_pe
    }

    fn spread(&self) -> u64 {
        self.last - self.first
    }
}

/// All of a job that are complete in the record.
pub(super) struct Collectives<'a> {
    all: HashMap<(TeamKey<'a>, u64), Collective>,
}

impl<'a> Collectives<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        let mut all: HashMap<(TeamKey<'a>, u64), Collective> = HashMap::new();
        for pe in &trace.pes {
            let mut before: HashMap<TeamKey<'a>, (u64, u64)> = HashMap::new();
            let events = pe.events.iter().filter(|event| event.kind == Kind::Collective && event.number > 0);
            for event in events {
                let (team, number) = key(pe, event);
                let beginning = if pe.lost == 0 { Some((0, pe.began)) } else { None };
                let since = before.insert(team, (number, event.completed)).or(beginning);
                add(&mut all, (team, number), pe.pe, event, since);
            }
        }
        let mut sizes: HashMap<TeamKey<'a>, u64> = HashMap::new();
        for ((team, _), collective) in &all {
            let size = sizes.entry(*team).or_default();
            *size = collective.pes.max(*size);
        }
        all.retain(|(team, _), collective| collective.pes > 1 && collective.pes == sizes[team]);
        Self { all }
    }

    /// The one that an event of `pe` is part of.
    pub(super) fn with(&self, pe: &'a PeTrace, event: &Event) -> Option<&Collective> {
        self.all.get(&key(pe, event))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Collective> {
        self.all.values()
    }

    /// The calls of each team, those first that cost most: `[call, team, PEs, times, mean
    /// imbalance, worst imbalance, time lost, mean spread, the PE that came last most often, how
    /// often]`, and of the one that lost most the PE that came last and when the first and it came.
    pub(super) fn groups(&self) -> Value {
        let mut groups: BTreeMap<(&str, TeamKey<'_>), Group> = BTreeMap::new();
        for ((team, _), collective) in &self.all {
            groups.entry((collective.call.name(), *team)).or_default().add(collective);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.lost));
        let row = |((call, team), group): &((&str, TeamKey<'_>), Group)| {
            let imbalance = match group.known {
                0 => json!([null, null]),
                known => json!([rounded(group.imbalance / known as f64), rounded(group.worst)]),
            };
            let (pe, times) = group.most_often();
            json!([
                call,
                team_name(team),
                group.pes,
                group.times,
                imbalance[0],
                imbalance[1],
                group.lost,
                group.spread / group.times,
                pe,
                times,
                group.costliest,
            ])
        };
        groups.iter().take(ROWS).map(row).collect()
    }

    /// Single collectives for a chart over time, of each stretch of time the one that cost most:
    /// `[when the last PE came, time lost, imbalance, spread, name, PEs, the last PE]`.
    pub(super) fn worst(&self) -> Value {
        let end = self.iter().map(|collective| collective.last).max().unwrap_or(0);
        let stretch = (end / POINTS as u64 + 1).max(1);
        let mut worst: BTreeMap<u64, (TeamKey<'_>, u64, &Collective)> = BTreeMap::new();
        for ((team, number), collective) in &self.all {
            let entry = worst.entry(collective.last / stretch).or_insert((*team, *number, collective));
            if (entry.2.lost(), entry.0, entry.1) < (collective.lost(), *team, *number) {
                *entry = (*team, *number, collective);
            }
        }
        let point = |(team, number, it): &(TeamKey<'_>, u64, &Collective)| {
            let name = format!("{} #{number}, {}", it.call.name(), team_name(team));
            let imbalance = it.imbalance().map(rounded);
            json!([it.last, it.lost(), imbalance, it.spread(), name, it.pes, it.last_pe])
        };
        worst.values().map(point).collect()
    }
}

/// Adds a PE to a collective. `since`: the number and the end of its one before.
fn add<'a>(
    all: &mut HashMap<(TeamKey<'a>, u64), Collective>,
    key: (TeamKey<'a>, u64),
    pe: usize,
    event: &Event,
    since: Option<(u64, u64)>,
) {
    let (number, end) = since.unwrap_or_default();
    let collective = all.entry(key).or_insert_with(|| Collective {
        call: event.call,
        pes: 0,
        first: event.begin,
        last: event.begin,
        last_pe: pe,
        arrivals: 0,
        work: Work { sum: 0, longest: 0, since: number, is_known: true },
    });
    collective.pes += 1;
    collective.arrivals += u128::from(event.begin);
    collective.first = collective.first.min(event.begin);
    if event.begin > collective.last {
        (collective.last, collective.last_pe) = (event.begin, pe);
    }
    let (work, away) = (&mut collective.work, event.begin.saturating_sub(end));
    work.sum += u128::from(away);
    work.longest = work.longest.max(away);
    work.is_known &= since.is_some() && work.since == number;
}

/// All times that a team made a call.
#[derive(Default)]
struct Group {
    pes: u64,
    times: u64,
    imbalance: f64,
    known: u64,
    worst: f64,
    lost: u64,
    spread: u64,
    last: HashMap<usize, u64>,
    /// What was lost most in one, and of that one the PE that came last, and when the first and it
    /// came.
    most: Option<u64>,
    costliest: [u64; 3],
}

impl Group {
    fn add(&mut self, collective: &Collective) {
        self.pes = collective.pes;
        self.times += 1;
        self.lost += collective.lost();
        let costliest = [collective.last_pe as u64, collective.first, collective.last];
        // Of several that lost as much it is the first: they come in no order.
        let is_more = self.most.is_none_or(|most| match collective.lost() {
            lost if lost == most => collective.last < self.costliest[2],
            lost => lost > most,
        });
        if is_more {
            (self.most, self.costliest) = (Some(collective.lost()), costliest);
        }
        self.spread += collective.spread();
        *self.last.entry(collective.last_pe).or_default() += 1;
        if let Some(imbalance) = collective.imbalance() {
            self.known += 1;
            self.imbalance += imbalance;
            self.worst = self.worst.max(imbalance);
        }
    }

    /// The PE that came last most often, and how often that was.
    fn most_often(&self) -> (usize, u64) {
        let most = self.last.iter().max_by_key(|(pe, times)| (**times, std::cmp::Reverse(**pe)));
        most.map_or((0, 0), |(pe, times)| (*pe, *times))
    }
}

/// As diagnoses call it, without the `on`.
pub(super) fn team_name(&(team, host): &TeamKey<'_>) -> String {
    let place = Activity::collective(Call::Sync, team, 0).place();
    let name = place.trim_start_matches("on ");
    if host.is_empty() { name.to_owned() } else { format!("{name} of {host}") }
}

/// To four digits, which is what is shown.
pub(super) fn rounded(part: f64) -> f64 {
    (part * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::report::synthetic::event;

    /// Two PEs that come to a barrier of the world at these times, and leave when both are there.
    fn barriers(times: &[[u64; 2]]) -> Trace {
        let pe = |pe: usize| {
            let barrier = |(number, times): (usize, &[u64; 2])| Event {
                number: number as u64 + 1,
                completed: times[0].max(times[1]),
                ..event(Call::Barrier, times[pe], times[pe], 0, 0)
            };
            let events = times.iter().enumerate().map(barrier).collect();
            PeTrace { pe, host: "a".into(), events, ..PeTrace::default() }
        };
        Trace { pes: vec![pe(0), pe(1)], ..Trace::default() }
    }

    #[test]
    fn imbalance_is_what_the_longest_time_exceeds_the_mean_by() {
        // Away for 100 and 50, then for 100 and 100, from when both left.
        let trace = barriers(&[[100, 50], [200, 200]]);
        let collectives = Collectives::of(&trace);
        assert_eq!(
            collectives.groups(),
            json!([["barrier", "the world team", 2, 2, 0.125, 0.25, 50, 25, 0, 2, [0, 50, 100]]])
        );
        assert_eq!(
            collectives.worst(),
            json!([
                [100, 50, 0.25, 50, "barrier #1, the world team", 2, 0],
                [200, 0, 0.0, 0, "barrier #2, the world team", 2, 0]
            ])
        );
    }

    #[test]
    fn where_the_one_before_is_lost_on_a_pe_the_imbalance_is_not_known() {
        let mut trace = barriers(&[[100, 50], [200, 200], [300, 310]]);
        trace.pes[1].lost = 1;
        trace.pes[1].events.remove(0);
        let collectives = Collectives::of(&trace);
        // The first is not complete, and the second has PEs that were away for unknown times.
        assert_eq!(collectives.iter().count(), 2);
        assert_eq!(collectives.iter().filter_map(Collective::imbalance).count(), 1);
    }

    #[test]
    fn the_teams_of_two_hosts_are_distinct_though_they_have_one_number() {
        let mut trace = barriers(&[[100, 50], [200, 200]]);
        trace.pes.iter_mut().flat_map(|pe| &mut pe.events).for_each(|event| event.team = SHARED);
        assert_eq!(Collectives::of(&trace).groups()[0][1], "the shared team of a");
        trace.pes[1].host = "b".into();
        assert_eq!(Collectives::of(&trace).iter().count(), 0, "teams of one PE do not wait");
    }
}
