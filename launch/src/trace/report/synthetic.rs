//! Traces of jobs that never ran, for tests: a stencil with neighbours, some random atomics, and a
//! reduction in each step, on PEs that are not equally fast.

use oxshmem_progress::activity::Call;

use crate::trace::model::{Event, Flow, Kind, PeTrace, Trace, Traffic};

/// An event with nothing but its times.
pub(super) fn event(call: Call, begin: u64, initiated: u64, completed: u64, waited: u64) -> Event {
    Event {
        call,
        kind: Kind::of(call),
        target: None,
        bytes: 0,
        team: 0,
        number: 0,
        begin,
        initiated,
        completed,
        is_complete: true,
        waited,
    }
}

/// What `n` PEs do in `steps` steps, 16 of them on each host. The last PE has been killed, and the
/// first has lost records.
pub(super) fn job(n: usize, steps: u64) -> Trace {
    let mut job =
        SyntheticJob { n, pes: (0..n).map(|pe| started(n, pe)).collect(), flows: Vec::new(), random: 1 };
    let mut now = vec![0; n];
    for step in 0..steps {
        job.step(step, &mut now);
    }
    for (pe, now) in job.pes.iter_mut().zip(now) {
        pe.ended = now;
        pe.finalized = pe.pe + 1 < n;
        pe.traffic.retain(|to| to.operations > 0);
    }
    job.pes[0].lost = 12;
    let phases = vec!["compute".to_owned(), "</script> exchange".to_owned()];
    Trace { program: "stencil --steps 20 </script><!--&".into(), pes: job.pes, flows: job.flows, phases }
}

fn started(n: usize, pe: usize) -> PeTrace {
    let traffic = (0..n).map(|pe| Traffic { pe, ..Traffic::default() }).collect();
    PeTrace { pe, host: format!("node{}", pe / 16), pid: 4000 + pe as u32, traffic, ..PeTrace::default() }
}

struct SyntheticJob {
    n: usize,
    pes: Vec<PeTrace>,
    flows: Vec<Flow>,
    random: u64,
}

impl SyntheticJob {
    /// `now` has each PE's clock.
    fn step(&mut self, step: u64, now: &mut [u64]) {
        let mut signals = vec![(0, (0, 0)); self.n];
        for (pe, now) in now.iter_mut().enumerate() {
            self.pes[pe].phases.push((*now, Some(0)));
            let slow = if pe % 7 == 3 { 900_000 } else { 0 };
            *now += 1_000_000 + slow + self.random(400_000);
            self.pes[pe].phases.push((*now, Some(1)));
            let target = (pe + 1) % self.n;
            let far = self.random(self.n as u64) as usize;
            let bytes = 8 << self.random(12);
            // Every fourth PE announces its put by a signal of its own.
            let bare = pe % 4 == 1;
            self.operation(pe, if bare { Call::Put } else { Call::PutSignal }, target, 8192, now);
            if bare {
                *now += 20_000;
                self.operation(pe, Call::SignalSet, target, 8, now);
            }
            signals[target] = (*now, (pe, self.pes[pe].events.len() - 1));
            if !bare {
                self.operation(pe, Call::FetchAdd, far, 8, now);
            }
            self.operation(pe, Call::GetNbi, far, bytes, now);
        }
        for (pe, now) in now.iter_mut().enumerate() {
            let (signal, from) = signals[pe];
            let begin = *now;
            *now = signal.max(begin) + 300;
            self.flows.push(Flow { from, to: (pe, self.pes[pe].events.len()) });
            self.pes[pe].events.push(event(Call::WaitUntil, begin, begin, *now, *now - begin));
        }
        let all_there = now.iter().copied().max().unwrap_or(0) + 2_000;
        for (pe, now) in now.iter_mut().enumerate() {
            let waited = all_there - *now;
            let reduce = event(Call::SumReduce, *now, *now + 200, all_there + 500, waited);
            self.pes[pe].events.push(Event { bytes: 64, number: step + 1, ..reduce });
            *now = all_there + 500;
        }
    }

    fn operation(&mut self, pe: usize, call: Call, target: usize, bytes: u64, now: &mut u64) {
        let (begin, time) = (*now, 100 + bytes / 8);
        *now += time;
        let traffic = &mut self.pes[pe].traffic[target];
        (traffic.operations, traffic.bytes) = (traffic.operations + 1, traffic.bytes + bytes);
        let operation = event(call, begin, *now, *now + 2_000, 0);
        self.pes[pe].events.push(Event { target: Some(target), bytes, ..operation });
    }

    /// Less than `bound`.
    fn random(&mut self, bound: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }
}
