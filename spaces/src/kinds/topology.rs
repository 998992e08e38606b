//! The NUMA nodes of a host, as the kernel shows them in `/sys/devices/system/node`.
//!
//! The kernel knows which nodes are fast if the firmware has an HMAT table: it has the bandwidth
//! from a node's nearest processors. Without that, nodes without processors count as fast, because
//! high-bandwidth memory looks like that.

use std::{fs, path::Path};

use super::pages::{count, number, sizes_in};

/// The nodes of a host that have memory.
///
/// ```
/// use oxshmem_spaces::kinds::Topology;
///
/// let topology = Topology::read("/sys/devices/system/node");
/// assert!(topology.fast().iter().all(|node| topology.nodes.iter().any(|it| it.id == *node)));
/// assert_eq!(Topology::read("/nowhere").nodes, []); // a kernel without NUMA
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// In the order of their numbers.
    pub nodes: Vec<Node>,
    /// A sentence for each thing that could not be understood.
    pub warnings: Vec<String>,
}

/// A node that has memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: usize,
    /// Its bytes.
    pub total: usize,
    /// Bytes that are free, or used for something that can be dropped.
    pub available: usize,
    /// Whether it has processors.
    pub has_cpus: bool,
    /// The rate at which its nearest processors read from it, in MB/s, if the kernel knows it.
    pub bandwidth: Option<u64>,
    /// Sizes of huge pages, and how many of each are free.
    pub huge_pages: Vec<(usize, usize)>,
}

impl Topology {
    /// Reads the folder `root`. Nodes that cannot be read are left out, with a warning if they
    /// look wrong.
    pub fn read(root: impl AsRef<Path>) -> Self {
        let mut topology = Self::default();
        let Ok(entries) = fs::read_dir(root) else { return topology };
        let mut folders: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let id = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
                Some((id, entry.path()))
            })
            .collect();
        folders.sort();
        for (id, folder) in folders {
            match Node::read(id, &folder) {
                Ok(Some(node)) => topology.nodes.push(node),
                Ok(None) => {}
                Err(why) => topology.warnings.push(format!("NUMA node {id} is left out: {why}")),
            }
        }
        topology
    }

    /// The nodes of Fastmem. Empty if all memory is alike.
    ///
    /// If the bandwidth of all nodes is known, these are the nodes within a tenth of the best. Else
    /// they are the nodes without processors.
    pub fn fast(&self) -> Vec<usize> {
        let bandwidths: Option<Vec<u64>> = self.nodes.iter().map(|node| node.bandwidth).collect();
        let best = bandwidths.as_ref().and_then(|all| all.iter().max().copied());
        let is_fast = |node: &Node| match (node.bandwidth, best) {
            (Some(bandwidth), Some(best)) => bandwidth >= best - best / 10,
            _ => !node.has_cpus,
        };
        let fast = self.ids(is_fast);
        if fast.len() == self.nodes.len() { Vec::new() } else { fast }
    }

    /// The nodes of Normalmem: those with processors that are not fast. If there are none, because
    /// the other kind of memory is a slower one, all with processors; and if no node with memory
    /// has processors, all that are not fast.
    pub fn normal(&self) -> Vec<usize> {
        let fast = self.fast();
        let choices = [
            self.ids(|node| node.has_cpus && !fast.contains(&node.id)),
            self.ids(|node| node.has_cpus),
            self.ids(|node| !fast.contains(&node.id)),
        ];
        choices.into_iter().find(|nodes| !nodes.is_empty()).unwrap_or_default()
    }

    /// All nodes.
    pub fn all(&self) -> Vec<usize> {
        self.ids(|_| true)
    }

    /// Bytes that are available on some nodes.
    pub fn available(&self, nodes: &[usize]) -> usize {
        self.nodes.iter().filter(|node| nodes.contains(&node.id)).map(|node| node.available).sum()
    }

    /// Free huge pages of a size on some nodes.
    pub fn free_pages(&self, nodes: &[usize], size: usize) -> usize {
        let pages =
            self.nodes.iter().filter(|node| nodes.contains(&node.id)).flat_map(|node| &node.huge_pages);
        pages.filter(|(of, _)| *of == size).map(|(_, free)| free).sum()
    }

    fn ids(&self, which: impl Fn(&Node) -> bool) -> Vec<usize> {
        self.nodes.iter().filter(|node| which(node)).map(|node| node.id).collect()
    }
}

impl Node {
    /// Reads the folder of a node. None if it has no memory.
    fn read(id: usize, folder: &Path) -> Result<Option<Self>, String> {
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).map_err(|error| format!("{name} cannot be read: {error}"))
        };
        let meminfo = read("meminfo")?;
        let field = |name: &str| meminfo_field(&meminfo, name);
        let total = field("MemTotal").ok_or("meminfo has no MemTotal")?;
        if total == 0 {
            return Ok(None);
        }
        let free = field("MemFree").ok_or("meminfo has no MemFree")?;
        let droppable =
            ["Active(file)", "Inactive(file)", "SReclaimable"].map(|name| field(name).unwrap_or(0));
        let available = free.saturating_add(droppable.iter().sum::<usize>()).min(total);
        let has_cpus = !read("cpulist")?.trim().is_empty();
        let bandwidth = read("access0/initiators/read_bandwidth").ok().and_then(|text| number(&text));
        // The kernel shows an unknown bandwidth as 0.
        let bandwidth = bandwidth.filter(|&bandwidth| bandwidth > 0);
        let huge_pages = sizes_in(&folder.join("hugepages"))
            .map(|(size, folder)| (size, count(&folder, "free_hugepages")))
            .collect();
        Ok(Some(Self { id, total, available, has_cpus, bandwidth, huge_pages }))
    }
}

/// Bytes in a line such as `Node 0 MemFree:  1024 kB`.
fn meminfo_field(meminfo: &str, name: &str) -> Option<usize> {
    meminfo.lines().find_map(|line| {
        let mut words =
            line.split_whitespace().skip_while(|word| word.strip_suffix(':') != Some(name)).skip(1);
        let kib: usize = words.next()?.parse().ok()?;
        kib.checked_mul(1024)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        path::PathBuf,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    /// A folder like `/sys/devices/system/node`, which is removed when it is dropped.
    pub(crate) struct Fixture(pub(crate) PathBuf);

    impl Fixture {
        pub(crate) fn new(name: &str) -> Self {
            // Several of one name may exist at a time.
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let root = std::env::temp_dir().join(format!("oxshmem-{}-{count}-{name}", std::process::id()));
            fs::create_dir_all(&root).unwrap();
            fs::write(root.join("online"), "0-9\n").unwrap();
            Self(root)
        }

        /// A node with this many MiB in all and free.
        pub(crate) fn node(self, id: usize, total: usize, free: usize, cpus: &str) -> Self {
            let kib = |mib: usize| mib << 10;
            self.file(id, "cpulist", &format!("{cpus}\n")).file(
                id,
                "meminfo",
                &format!(
                    "Node {id} MemTotal:       {} kB\nNode {id} MemFree:        {} kB\nNode {id} Inactive(file): 1024 kB\n",
                    kib(total),
                    kib(free)
                ),
            )
        }

        pub(crate) fn file(self, id: usize, name: &str, text: &str) -> Self {
            let path = self.0.join(format!("node{id}")).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        pub(crate) fn bandwidth(self, id: usize, mb: u64) -> Self {
            self.file(id, "access0/initiators/read_bandwidth", &format!("{mb}\n"))
        }

        pub(crate) fn read(&self) -> Topology {
            Topology::read(&self.0)
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            // If this fails, what remains is in the folder for temporary files.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn one_node_is_normal_and_none_is_fast() {
        let fixture = Fixture::new("one").node(0, 1000, 300, "0-3").file(
            0,
            "hugepages/hugepages-2048kB/free_hugepages",
            "7\n",
        );
        let topology = fixture.read();
        assert_eq!(
            topology.nodes,
            [Node {
                id: 0,
                total: 1000 << 20,
                available: 301 << 20,
                has_cpus: true,
                bandwidth: None,
                huge_pages: vec![(2 << 20, 7)]
            }]
        );
        assert_eq!((topology.fast(), topology.normal()), (vec![], vec![0]));
        assert_eq!((topology.free_pages(&[0], 2 << 20), topology.free_pages(&[0], 1 << 30)), (7, 0));
    }

    #[test]
    fn nodes_that_are_alike_are_all_normal() {
        let plain = Fixture::new("alike").node(0, 1000, 900, "0-3").node(1, 1000, 800, "4-7");
        let topology = plain.read();
        assert_eq!((topology.fast(), topology.normal()), (vec![], vec![0, 1]));
        assert_eq!(topology.available(&[0, 1]), 1702 << 20);
        // Nearly the same is the same.
        let topology = plain.bandwidth(0, 100_000).bandwidth(1, 95_000).read();
        assert_eq!((topology.fast(), topology.normal()), (vec![], vec![0, 1]));
    }

    #[test]
    fn with_hmat_the_nodes_of_the_best_bandwidth_are_fast() {
        let fixture = Fixture::new("hmat")
            .node(0, 1000, 900, "0-3")
            .node(1, 1000, 900, "4-7")
            .node(2, 100, 90, "")
            .node(3, 100, 90, "")
            .bandwidth(0, 120_000)
            .bandwidth(1, 120_000)
            .bandwidth(2, 450_000)
            .bandwidth(3, 440_000);
        let topology = fixture.read();
        assert_eq!((topology.fast(), topology.normal()), (vec![2, 3], vec![0, 1]));
    }

    #[test]
    fn with_hmat_slower_memory_is_neither_fast_nor_normal() {
        let fixture = Fixture::new("cxl")
            .node(0, 1000, 900, "0-3")
            .node(1, 4000, 3900, "")
            .bandwidth(0, 120_000)
            .bandwidth(1, 30_000);
        let topology = fixture.read();
        assert_eq!((topology.fast(), topology.normal()), (vec![0], vec![0]));
    }

    #[test]
    fn without_hmat_memory_without_processors_is_fast() {
        let fixture = Fixture::new("hbm").node(0, 1000, 900, "0-3").node(1, 100, 90, "");
        assert_eq!((fixture.read().fast(), fixture.read().normal()), (vec![1], vec![0]));
        // What is known of one node only says nothing.
        let fixture = fixture.bandwidth(0, 120_000);
        assert_eq!((fixture.read().fast(), fixture.read().normal()), (vec![1], vec![0]));
        // Nor does 0.
        let fixture = fixture.bandwidth(1, 0);
        assert_eq!((fixture.read().fast(), fixture.read().normal()), (vec![1], vec![0]));
    }

    #[test]
    fn nodes_without_memory_do_not_count() {
        let fixture = Fixture::new("empty").node(0, 0, 0, "0-3").node(1, 1000, 900, "4-7").node(2, 0, 0, "");
        let topology = fixture.read();
        assert_eq!((topology.all(), topology.fast(), topology.normal()), (vec![1], vec![], vec![1]));
        assert!(topology.warnings.is_empty(), "{:?}", topology.warnings);
        // All memory is away from the processors.
        let fixture = Fixture::new("far").node(0, 0, 0, "0-3").node(1, 1000, 900, "");
        assert_eq!((fixture.read().fast(), fixture.read().normal()), (vec![], vec![1]));
    }

    #[test]
    fn garbage_is_left_out_and_doubted() {
        let fixture = Fixture::new("garbage")
            .node(0, 1000, 900, "0-3")
            .file(0, "access0/initiators/read_bandwidth", "fast\n")
            .file(0, "hugepages/hugepages-kB/free_hugepages", "1\n")
            .file(0, "hugepages/hugepages-2048kB/free_hugepages", "many\n")
            .file(1, "meminfo", "Node 1 MemTotal: lots kB\n")
            .file(2, "cpulist", "8-9\n")
            .file(3, "meminfo", "Node 3 MemTotal: 99999999999999999999 kB\n");
        fs::create_dir_all(fixture.0.join("nodeX")).unwrap();
        fs::write(fixture.0.join("node7"), "a file").unwrap();
        let topology = fixture.read();
        assert_eq!(topology.all(), [0]);
        assert_eq!((topology.nodes[0].bandwidth, topology.free_pages(&[0], 2 << 20)), (None, 0));
        let left_out: Vec<_> = topology.warnings.iter().map(|warning| &warning[..11]).collect();
        assert_eq!(left_out, ["NUMA node 1", "NUMA node 2", "NUMA node 3", "NUMA node 7"]);
    }
}
