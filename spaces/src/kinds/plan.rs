//! What a partition is to be mapped to on a host. A plan is a decision without any effect.

use oxshmem_base::settings::{Kind, Partition, Policy};
use oxshmem_memory::Spread;

use super::{HugePages, Place, Topology, show_bytes, show_nodes};

/// From this size on, pages are huge on every machine.
const HUGE: usize = 2 << 20;

/// How a partition is to be mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Page sizes to try in this order, until there are enough pages of one. The last may be that
    /// of ordinary pages.
    pub pages: Vec<usize>,
    /// How the pages are spread over the nodes.
    pub spread: Spread,
    /// The nodes. None for [`Spread::System`].
    pub nodes: Vec<usize>,
    /// Whether these are all nodes with memory, so that it does not matter if the kernel refuses to
    /// bind to them.
    pub everywhere: bool,
    /// Whether the job ends if this cannot be done.
    pub must: bool,
    /// A sentence for each thing that is not as it was asked for.
    pub notes: Vec<String>,
}

/// Decides how the partition at `place` is mapped for `n_pes` PEs of a host with these nodes and
/// pools, and ordinary pages of `page_size` bytes. The error says why it cannot be.
pub fn plan(
    place: &Place,
    n_pes: usize,
    topology: &Topology,
    pools: &[HugePages],
    page_size: usize,
) -> Result<Plan, String> {
    let asked = place.defined.map_or(Partition::new(place.len), |it| it.asked);
    let must = asked.policy == Policy::Mandatory;
    let pages = sizes_to_try(&asked, pools, page_size)?;
    let mut notes = Vec::new();
    let (nodes, what) = match asked.kind {
        Kind::Sysdefault => (Vec::new(), ""),
        Kind::Normalmem => (topology.normal(), "Normalmem"),
        Kind::Fastmem => match topology.fast() {
            fast if !fast.is_empty() => (fast, "Fastmem"),
            _ if must => {
                let why = "this host has one kind of memory, so it has no Fastmem";
                return Err(format!("{why}; policy=Preferred takes Normalmem in its place"));
            }
            _ => {
                notes.push("this host has one kind of memory, so Fastmem is Normalmem".to_owned());
                (topology.normal(), "Normalmem")
            }
        },
    };
    let spread = match asked.policy {
        // A kernel without NUMA has one node.
        _ if nodes.is_empty() => Spread::System,
        Policy::Sysdefault => Spread::System,
        Policy::Mandatory => Spread::Bound,
        Policy::Preferred => Spread::Preferred,
        Policy::Interleaved => Spread::Interleaved,
    };
    let everywhere = nodes == topology.all();
    if spread == Spread::Bound || (spread == Spread::Preferred && !everywhere) {
        let there = format!("{what}, which is {} here,", show_nodes(&nodes));
        if let Err(why) = room(place, n_pes, topology, &nodes, pages[0], page_size, everywhere) {
            match must {
                true => return Err(format!("{there} {why}; make it smaller, or take policy=Preferred")),
                false => notes.push(format!("{there} {why}; the rest is elsewhere")),
            }
        }
    }
    Ok(Plan { pages, spread, nodes, everywhere, must, notes })
}

/// The page sizes that serve for the one asked for, the best first. If a size does not exist,
/// smaller pages take its place.
fn sizes_to_try(asked: &Partition, pools: &[HugePages], page_size: usize) -> Result<Vec<usize>, String> {
    let Some(wanted) = asked.page_size else { return Ok(vec![page_size]) };
    let huge = pools.iter().rev().map(|pool| pool.size).filter(|&size| size <= wanted && size > page_size);
    let mut sizes: Vec<_> = huge.collect();
    if asked.policy == Policy::Mandatory {
        sizes.truncate(1);
        if sizes.is_empty() && wanted >= HUGE.max(page_size + 1) {
            let wanted = show_bytes(wanted);
            return Err(format!("this kernel has no huge pages, neither of {wanted} nor of a part of that"));
        }
    }
    if sizes.is_empty() || asked.policy != Policy::Mandatory {
        sizes.push(page_size);
    }
    Ok(sizes)
}

/// Checks that the nodes have room. The error says how much is missing.
fn room(
    place: &Place,
    n_pes: usize,
    topology: &Topology,
    nodes: &[usize],
    page: usize,
    page_size: usize,
    everywhere: bool,
) -> Result<(), String> {
    let needed = place.reserved.saturating_mul(n_pes);
    if page == page_size {
        let available = topology.available(nodes);
        return match needed <= available {
            true => Ok(()),
            false => Err(format!(
                "can give {} MiB, of the {} MiB that {n_pes} PEs need",
                available >> 20,
                needed.div_ceil(1 << 20)
            )),
        };
    }
    let (free, needed, size) = (topology.free_pages(nodes, page), needed / page, show_bytes(page));
    // If these are all nodes, the kernel checks the number when the pages are reserved.
    match everywhere || needed <= free {
        true => Ok(()),
        false => Err(format!("has {free} free pages of {size}, of the {needed} that {n_pes} PEs need")),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{PartitionLayout, topology::tests::Fixture},
        *,
    };
    use oxshmem_base::settings::Settings;

    const PAGE: usize = 4096;

    fn pools(sizes: &[usize]) -> Vec<HugePages> {
        sizes.iter().map(|&size| HugePages { size, total: 0, free: 0 }).collect()
    }

    /// For 2 PEs.
    fn planned(text: &str, topology: &Topology, sizes: &[usize]) -> Result<Plan, String> {
        let mut settings = Settings::default();
        settings.add_partition(1, text.parse().unwrap()).unwrap();
        plan(
            &PartitionLayout::of(
                &settings,
                oxshmem_base::settings::SpacePlan::new(&settings, &[]).unwrap().cpu,
            )
            .unwrap()
            .places()[0],
            2,
            topology,
            &pools(sizes),
            PAGE,
        )
    }

    fn one_node() -> Topology {
        Fixture::new("plan-one").node(0, 1000, 300, "0-3").read()
    }

    fn with_hbm(name: &str) -> Fixture {
        Fixture::new(name)
            .node(0, 1000, 300, "0-3")
            .node(1, 1000, 300, "4-7")
            .node(2, 100, 99, "")
            .node(3, 100, 99, "")
            .file(2, "hugepages/hugepages-2048kB/free_hugepages", "5\n")
    }

    #[test]
    fn kinds_are_nodes_and_policies_the_ways_to_spread_over_them() {
        let hbm = with_hbm("plan-kinds").read();
        for (fields, spread, nodes) in [
            ("kind=F:policy=M", Spread::Bound, vec![2, 3]),
            ("kind=F:policy=P", Spread::Preferred, vec![2, 3]),
            ("kind=F:policy=I", Spread::Interleaved, vec![2, 3]),
            ("kind=N:policy=M", Spread::Bound, vec![0, 1]),
            ("kind=N:policy=P", Spread::Preferred, vec![0, 1]),
            ("kind=N:policy=I", Spread::Interleaved, vec![0, 1]),
            ("kind=S:policy=S", Spread::System, vec![]),
        ] {
            let plan = planned(&format!("size=50M:{fields}"), &hbm, &[]).unwrap();
            assert_eq!((plan.spread, &plan.nodes, plan.everywhere), (spread, &nodes, false), "{fields}");
            assert_eq!((plan.pages, plan.notes, plan.must), (vec![PAGE], vec![], fields.ends_with('M')));
        }
    }

    #[test]
    fn without_fast_memory_mandatory_fails_and_others_take_normal_memory_and_say_so() {
        let why = planned("size=1M:kind=F:policy=M", &one_node(), &[]).unwrap_err();
        assert!(why.contains("no Fastmem") && why.contains("policy=Preferred"), "{why}");
        for (policy, spread) in [("P", Spread::Preferred), ("I", Spread::Interleaved)] {
            let plan = planned(&format!("size=1M:kind=F:policy={policy}"), &one_node(), &[]).unwrap();
            assert_eq!((plan.spread, plan.nodes, plan.everywhere), (spread, vec![0], true));
            assert!(
                plan.notes.len() == 1 && plan.notes[0].contains("Fastmem is Normalmem"),
                "{:?}",
                plan.notes
            );
        }
        let plan = planned("size=1M:kind=N:policy=M", &one_node(), &[]).unwrap();
        assert_eq!((plan.spread, plan.nodes, plan.notes), (Spread::Bound, vec![0], vec![]));
    }

    #[test]
    fn a_kernel_without_nodes_has_normal_memory_only() {
        let none = Topology::default();
        assert!(planned("size=1M:kind=F:policy=M", &none, &[]).is_err());
        for text in ["size=1M:kind=N:policy=M", "size=1M:kind=N:policy=I", "size=1M:kind=F:policy=P"] {
            let plan = planned(text, &none, &[]).unwrap();
            assert_eq!((plan.spread, plan.nodes), (Spread::System, vec![]), "{text}");
        }
    }

    #[test]
    fn mandatory_memory_that_is_not_there_is_refused_and_preferred_overflows() {
        let hbm = with_hbm("plan-room").read();
        // 2 PEs have 200 MiB, with what can be dropped.
        assert!(planned("size=100M:kind=F:policy=M", &hbm, &[]).is_ok());
        let why = planned("size=101M:kind=F:policy=M", &hbm, &[]).unwrap_err();
        for part in ["nodes 2, 3", "200 MiB", "202 MiB", "2 PEs"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        let plan = planned("size=101M:kind=F:policy=P", &hbm, &[]).unwrap();
        assert!(
            plan.notes.len() == 1 && plan.notes[0].ends_with("the rest is elsewhere"),
            "{:?}",
            plan.notes
        );
        assert_eq!(planned("size=101M:kind=F:policy=I", &hbm, &[]).unwrap().notes, Vec::<String>::new());
        // Nowhere is there more.
        assert_eq!(planned("size=1G:kind=N:policy=P", &one_node(), &[]).unwrap().notes, Vec::<String>::new());
        assert!(planned("size=1G:kind=N:policy=M", &one_node(), &[]).unwrap_err().contains("301 MiB"));
    }

    #[test]
    fn huge_pages_must_be_on_the_nodes_where_these_are_mandatory() {
        let hbm = with_hbm("plan-pages").read();
        let with = |size: &str, policy: &str| {
            planned(&format!("size={size}:kind=F:policy={policy}:pgsize=2M"), &hbm, &[2 << 20])
        };
        assert_eq!(with("4M", "M").unwrap().pages, [2 << 20]);
        let why = with("6M", "M").unwrap_err();
        assert!(why.contains("5 free pages of 2M") && why.contains("the 6 that 2 PEs need"), "{why}");
        assert_eq!(with("6M", "P").unwrap().pages, [2 << 20, PAGE]);
    }

    #[test]
    fn a_page_size_is_that_many_pages_of_the_largest_size_there_is_below() {
        let sizes = [64 << 10, 2 << 20, 1 << 30];
        for (asked, there, preferred, mandatory) in [
            ("2M", &sizes[1..], &[2 << 20, PAGE][..], 2 << 20),
            ("8M", &sizes[1..], &[2 << 20, PAGE], 2 << 20),
            ("1G", &sizes[1..], &[1 << 30, 2 << 20, PAGE], 1 << 30),
            ("1G", &sizes[1..2], &[2 << 20, PAGE], 2 << 20),
            ("1M", &sizes[1..], &[PAGE], PAGE),
            ("1M", &sizes, &[64 << 10, PAGE], 64 << 10),
            ("4K", &sizes, &[PAGE], PAGE),
        ] {
            for policy in ["kind=N:policy=P", "kind=N:policy=I", "kind=S:policy=S"] {
                let plan = planned(&format!("size=2M:{policy}:pgsize={asked}"), &one_node(), there).unwrap();
                assert_eq!(plan.pages, preferred, "{asked} {policy}");
            }
            let plan = planned(&format!("size=2M:kind=N:policy=M:pgsize={asked}"), &one_node(), there);
            assert_eq!(plan.unwrap().pages, [mandatory], "{asked}");
        }
        let why = planned("size=2M:kind=N:policy=M:pgsize=8M", &one_node(), &[]).unwrap_err();
        assert!(why.contains("no huge pages, neither of 8M"), "{why}");
        assert_eq!(planned("size=2M:kind=N:policy=P:pgsize=8M", &one_node(), &[]).unwrap().pages, [PAGE]);
    }
}
