//! The memory of a host, and what becomes of partitions there, as text for people.

use oxshmem_base::settings::{Settings, SpacePlan};

use super::{HugePages, Topology, plan, show_bytes, show_nodes};
use crate::kinds::PartitionLayout;

/// The memory of this host: its NUMA nodes with their kinds, and its huge pages. A line each.
///
/// ```
/// use oxshmem_spaces::kinds::{HugePages, Topology, host_memory};
///
/// let pools = [HugePages { size: 2 << 20, total: 4, free: 1 }];
/// let lines = host_memory(&Topology::default(), &pools);
/// assert_eq!(lines, ["no NUMA nodes are known", "1 of 4 huge pages of 2M are free"]);
/// ```
pub fn host_memory(topology: &Topology, pools: &[HugePages]) -> Vec<String> {
    let (fast, normal) = (topology.fast(), topology.normal());
    let mut lines: Vec<_> = topology
        .nodes
        .iter()
        .map(|node| {
            let kinds = [("Fastmem", &fast), ("Normalmem", &normal)];
            let kinds: Vec<_> =
                kinds.iter().filter(|(_, of)| of.contains(&node.id)).map(|(kind, _)| *kind).collect();
            let kinds =
                if kinds.is_empty() { "neither Fastmem nor Normalmem".into() } else { kinds.join(" and ") };
            let processors = if node.has_cpus { "" } else { ", without processors" };
            let bandwidth = node.bandwidth.map(|mb| format!(", {mb} MB/s")).unwrap_or_default();
            let (available, total) = (node.available >> 20, node.total >> 20);
            format!("node {}: {kinds}, {available} of {total} MiB available{processors}{bandwidth}", node.id)
        })
        .collect();
    if topology.nodes.is_empty() {
        lines.push("no NUMA nodes are known".into());
    } else if fast.is_empty() {
        lines.push("there is one kind of memory: Fastmem is Normalmem, unless it is Mandatory".into());
    }
    lines.extend(topology.warnings.iter().cloned());
    let free = |pool: &HugePages| {
        format!("{} of {} huge pages of {} are free", pool.free, pool.total, show_bytes(pool.size))
    };
    lines.extend(pools.iter().map(free));
    lines
}

/// What the partitions of `settings` would be mapped to for `n_pes` PEs of this host: for each, its
/// definition and the outcome.
///
/// # Errors
/// The errors of [`PartitionLayout::of`].
///
/// ```
/// use oxshmem_spaces::kinds::{Topology, forecast};
/// use oxshmem_base::settings::{Settings, SpacePlan};
///
/// let mut settings = Settings::default();
/// settings.add_partition(2, "size=1G:kind=F:policy=M".parse().unwrap())?;
/// let forecast = forecast(&settings, 4, &Topology::default(), &[])?;
/// assert_eq!(forecast[0].0, "SMAX_SYMMETRIC_PARTITION2=size=1G:kind=Fastmem:policy=Mandatory");
/// assert!(forecast[0].1.starts_with("init would fail: this host has one kind of memory"));
/// # Ok::<(), oxshmem_base::Error>(())
/// ```
pub fn forecast(
    settings: &Settings,
    n_pes: usize,
    topology: &Topology,
    pools: &[HugePages],
) -> oxshmem_base::Result<Vec<(String, String)>> {
    let layout = PartitionLayout::of(settings, SpacePlan::new(settings, &settings.devices(1))?.cpu)?;
    let defined = layout.places().iter().filter_map(|place| Some((place, place.defined?)));
    let forecast = defined.map(|(place, defined)| {
        let planned = plan(place, n_pes, topology, pools, rustix::param::page_size());
        let outcome = match planned {
            Err(why) => format!("init would fail: {why}"),
            Ok(plan) => {
                let pages: Vec<_> = plan.pages.iter().map(|&size| show_bytes(size)).collect();
                let on = match plan.nodes.is_empty() {
                    true => "where the system puts them".to_owned(),
                    false => format!("on {}", show_nodes(&plan.nodes)),
                };
                let notes: String = plan.notes.iter().map(|note| format!("; {note}")).collect();
                let (bytes, total) = (show_bytes(place.reserved), place.reserved.saturating_mul(n_pes) >> 20);
                format!(
                    "{bytes} for each of {n_pes} PEs ({total} MiB), pages of {}, {on}{notes}",
                    pages.join(" or else ")
                )
            }
        };
        (format!("{}={}", defined.variable, defined.asked), outcome)
    });
    Ok(forecast.collect())
}

#[cfg(test)]
mod tests {
    use super::{super::topology::tests::Fixture, *};

    #[test]
    fn nodes_are_shown_with_their_kinds() {
        let fixture =
            Fixture::new("report").node(0, 1000, 300, "0-3").node(1, 100, 90, "").node(2, 100, 90, "");
        let fixture = fixture.bandwidth(0, 100_000).bandwidth(1, 400_000).bandwidth(2, 20_000);
        assert_eq!(
            host_memory(&fixture.read(), &[]),
            [
                "node 0: Normalmem, 301 of 1000 MiB available, 100000 MB/s",
                "node 1: Fastmem, 91 of 100 MiB available, without processors, 400000 MB/s",
                "node 2: neither Fastmem nor Normalmem, 91 of 100 MiB available, without processors, 20000 MB/s"
            ]
        );
        let fixture = Fixture::new("report-one").node(0, 1000, 300, "0-3").file(1, "meminfo", "");
        let lines = host_memory(&fixture.read(), &[]);
        assert!(
            lines[0].starts_with("node 0: Normalmem, ") && lines[1].starts_with("there is one kind"),
            "{lines:?}"
        );
        assert!(lines[2].starts_with("NUMA node 1 is left out"), "{lines:?}");
    }

    #[test]
    fn a_forecast_says_what_would_come_of_each_partition() {
        let fixture = Fixture::new("forecast").node(0, 1000, 300, "0-3").node(1, 100, 90, "");
        let mut settings = Settings::default();
        for (id, text) in
            [(1, "size=10M"), (2, "size=3M:kind=F:policy=P:pgsize=2M"), (3, "size=1G:kind=F:policy=M")]
        {
            settings.add_partition(id, text.parse().unwrap()).unwrap();
        }
        let pools = [HugePages { size: 2 << 20, total: 0, free: 0 }];
        let texts: Vec<_> =
            forecast(&settings, 2, &fixture.read(), &pools).unwrap().into_iter().map(|it| it.1).collect();
        assert_eq!(texts[0], "10M for each of 2 PEs (20 MiB), pages of 4K, where the system puts them");
        assert!(
            texts[1].starts_with("4M for each of 2 PEs (8 MiB), pages of 2M or else 4K, on node 1; "),
            "{}",
            texts[1]
        );
        assert!(
            texts[2].starts_with("init would fail: Fastmem, which is node 1 here, can give 91 MiB"),
            "{}",
            texts[2]
        );
    }
}
