//! The symmetric heaps of a host's PEs: where their partitions lie, and what memory these have.
//!
//! The host's leader decides and maps; what came of it, or why it cannot be, goes to all PEs of
//! the job. So they fail alike, and one of them can say for all what is not as it was asked for.

use oxshmem_base::{Error, Result, settings::Settings};
use oxshmem_job::Bootstrap;
use oxshmem_memory::{HostMap, Spread};

use crate::kinds::{self, Mapping, PartitionLayout};

/// The symmetric heap of a PE, as it came to be.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// Where its partitions lie.
    pub layout: PartitionLayout,
    /// What they were mapped to on this host, in the same order.
    pub mappings: Vec<Mapping>,
    /// What is not as it was asked for, on any host: a sentence each.
    pub notes: Vec<String>,
}

/// What begins the report of a leader that has failed because of a partition, and for another
/// reason.
const REFUSED: char = '!';
const FAILED: char = '?';

impl Partitions {
    /// Makes the heaps of this host on its leader, with `stride` bytes from one PE's to the next,
    /// and agrees on what all hosts have made. Collective over all PEs. The leader's heaps come
    /// with it.
    pub(crate) async fn make(
        bootstrap: &dyn Bootstrap,
        settings: &Settings,
        layout: PartitionLayout,
        stride: usize,
    ) -> Result<(Self, Option<HostMap>)> {
        let placement = bootstrap.placement();
        let n_local = placement.local.len();
        if settings.partitions().next().is_none() {
            let heap = placement.is_leader().then(|| HostMap::new(n_local, stride)).transpose()?;
            let page_size = rustix::param::page_size();
            let mapping = Mapping { id: 1, page_size, spread: Spread::System, nodes: vec![], notes: vec![] };
            return Ok((Self { layout, mappings: vec![mapping], notes: Vec::new() }, heap));
        }
        let made = placement.is_leader().then(|| kinds::map(settings, &layout, n_local, stride));
        let text = match &made {
            None => String::new(),
            Some(Ok((_, mappings))) => mappings.iter().map(Mapping::encode).collect::<Vec<_>>().join("\n"),
            Some(Err(Error::InvalidSetting { name, reason, .. })) => format!("{REFUSED}{name}\n{reason}"),
            Some(Err(error)) => format!("{FAILED}{error}"),
        };
        let all = bootstrap.exchange(text.into_bytes()).await?;
        let of_leader =
            |host: usize| str::from_utf8(&all[placement.hosts.leader_of(host)]).unwrap_or_default();
        let n_hosts = placement.hosts.n_hosts();
        let on = |host: usize| if n_hosts == 1 { String::new() } else { format!("host {host}: ") };
        let mut notes = Vec::new();
        for host in 0..n_hosts {
            let text = of_leader(host);
            if let Some((name, reason)) = text.strip_prefix(REFUSED).and_then(|text| text.split_once('\n')) {
                let blamed =
                    settings.partitions().find(|it| it.variable == name).or(settings.partitions().next());
                let reason = format!("{}{reason}", on(host));
                return Err(
                    blamed.map_or_else(|| Error::bootstrap("init", &reason), |it| it.invalid(&reason))
                );
            }
            if let Some(why) = text.strip_prefix(FAILED) {
                return Err(Error::Unsupported { what: format!("{}{why}", on(host)) });
            }
            for (mapping, place) in decode(text)?.into_iter().zip(layout.places()) {
                for note in mapping.notes {
                    let note = format!("{}: {note}", place.variable);
                    // Hosts are mostly alike.
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        let mappings = decode(of_leader(placement.hosts.host_of(placement.pe)))?;
        let heap = made.transpose()?.map(|(heap, _)| heap);
        Ok((Self { layout, mappings, notes }, heap))
    }
}

fn decode(text: &str) -> Result<Vec<Mapping>> {
    let mappings: Option<Vec<_>> = text.lines().map(Mapping::decode).collect();
    mappings
        .ok_or_else(|| Error::bootstrap("init", "what a host's leader says of its memory cannot be read: do all PEs run the same version of oxshmem?"))
}
