//! Partitions of the symmetric heap: allocating, communicating and running out in each of them, and
//! the memory that they come to be in, on this machine's NUMA nodes and on others that a folder
//! describes.

use std::{fs, path::PathBuf};

use crate::common::{
    Job, cluster, is_played, on_one_host, on_pes, pe_counts, reaches_hosts, refused, test_name, time_limit,
};
use oxshmem::{
    Error, Rejected, Spread,
    prelude::*,
    settings::{CheckAlloc, Kind, MAX_PARTITIONS, Partition, Policy, Settings},
};

const MIB: usize = 1 << 20;

fn settings(partitions: &[(usize, &str)]) -> Settings {
    let mut settings = Settings::default();
    for &(id, text) in partitions {
        settings.add_partition(id, text.parse().unwrap()).unwrap();
    }
    settings
}

/// As many as there may be, of various pages, kinds and policies.
fn many() -> Settings {
    let settings = settings(&[
        (1, "size=8M"),
        (2, "size=4M:kind=F:policy=P:pgsize=2M"),
        (3, "size=1M:kind=N:policy=M"),
        (20, "size=3M:kind=N:policy=I:pgsize=64K"),
        (64, "size=5M:kind=F:policy=I"),
        (126, "size=1000K:kind=S:policy=S:pgsize=1G"),
        (127, "size=70000:kind=N:policy=P:pgsize=4K"),
    ]);
    assert_eq!(settings.partitions().count(), MAX_PARTITIONS);
    settings
}

#[test]
fn every_operation_works_in_every_partition() {
    let _limit = time_limit(120);
    on_pes(many(), |world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let (right, left) = ((me + 1) % n, (me + n - 1) % n);
        let mut held = Vec::new();
        for partition in world.partitions() {
            let id = partition.id;
            let partition = world.partition(id)?;
            let words = partition.alloc_zeroed::<u64>(1000).await?;
            let flag = partition.alloc_with_hints::<u64>(1, Hints::SIGNAL_REMOTE).await?;
            let page = partition.alloc_aligned::<u64>(1, 4096).await?;
            let sums = partition.alloc::<u64>(2).await?;
            assert_eq!((words.partition(), sums.partition(), page.partition()), (id, id, id));
            assert_eq!(page.view().ptr(me).map(|ptr| ptr.addr() % 4096), Some(0));
            flag.at(0).store(0);
            world.barrier_all().await?;

            let ctx = world.context();
            let block: Vec<u64> = (0..900).map(|i| (id * 10_000 + me * 1000 + i) as u64).collect();
            ctx.put_signal(words.slice(100..), block, flag.at(0), Signal::Set(7), right).await?;
            flag.at(0).wait_until(Cmp::Eq, 7).await?;
            let there: Vec<u64> = (0..900).map(|i| (id * 10_000 + left * 1000 + i) as u64).collect();
            assert_eq!(words.slice(100..).to_vec(), there);
            ctx.add(words.at(0), 1 + me as u64, 0).await?;
            assert_eq!(ctx.get(words.slice(999..), right).await?, [(id * 10_000 + me * 1000 + 899) as u64]);
            world.barrier_all().await?;
            assert_eq!(ctx.g(words.at(0), 0).await?, (n * (n + 1) / 2) as u64);

            sums.view().write(&[me as u64, id as u64]);
            world.team().sum_reduce(&sums, &sums).await?;
            assert_eq!(sums.view().to_vec(), [(n * (n - 1) / 2) as u64, (id * n) as u64]);
            held.push((id, words, flag, page, sums));
        }
        // What one partition holds is not in another.
        for (id, words, ..) in &held {
            assert_eq!(words.at(100).load(), (id * 10_000 + left * 1000) as u64);
        }
        for partition in world.partitions() {
            assert_eq!(partition.usage.blocks, 4, "{partition}");
        }
        world.barrier_all().await
    });
}

#[test]
fn what_names_no_partition_is_in_the_first() {
    let _limit = time_limit(60);
    on_pes(settings(&[(1, "size=1M"), (2, "size=1M")]), |world| async move {
        let slices = [world.alloc::<u8>(100).await?, world.alloc_zeroed::<u8>(100).await?];
        assert!(slices.iter().all(|slice| slice.partition() == 1));
        assert_eq!((world.heap_use().blocks, world.partition(2)?.usage().blocks), (2, 0));
        let here = slices[0].view().ptr(world.my_pe()).expect("this PE's own");
        assert!(world.addr_accessible(here, 0));
        let second = world.partition(2)?.alloc::<u8>(MIB).await?;
        // SAFETY: it is the last byte of the block, and nobody looks at what is there.
        let last = unsafe { second.view().ptr(world.my_pe()).expect("this PE's own").add(MIB - 1) };
        assert!(world.addr_accessible(last, 0));
        Ok(())
    });
}

#[test]
fn a_partition_that_is_exhausted_names_its_variable_and_leaves_the_others_alone() {
    let _limit = time_limit(60);
    let asked = settings(&[(1, "size=2M"), (7, "size=1M:kind=N:policy=P:pgsize=2M")]);
    on_pes(asked, |world| async move {
        let partition = world.partition(7)?;
        // What was asked for, not what the pages come to.
        let all = partition.alloc::<u8>(MIB).await?;
        let error = refused(partition.alloc::<u8>(1).await);
        let Error::HeapExhausted { setting, size, free, .. } = &error else { panic!("{error}") };
        assert_eq!((*setting, *size, *free), ("SMAX_SYMMETRIC_PARTITION7", MIB, 0));
        assert!(error.to_string().contains("raise SMAX_SYMMETRIC_PARTITION7"), "{error}");
        let Rejected { error, buffer } = world.realloc(all, MIB + 1).await.unwrap_err();
        assert!(
            matches!(error, Error::HeapExhausted { setting: "SMAX_SYMMETRIC_PARTITION7", .. }),
            "{error}"
        );
        let error = refused(world.alloc::<u8>(2 * MIB + 1).await);
        assert!(
            matches!(error, Error::HeapExhausted { setting: "SMAX_SYMMETRIC_PARTITION1", .. }),
            "{error}"
        );
        let first = world.alloc::<u8>(2 * MIB).await?;
        // And what was dropped relieves it.
        drop((buffer, first));
        partition.alloc::<u8>(MIB).await.map(drop)?;
        world.alloc::<u8>(2 * MIB).await.map(drop)
    });
}

#[test]
fn blocks_are_resized_freed_and_reclaimed_in_their_partition() {
    let _limit = time_limit(60);
    on_pes(settings(&[(1, "size=2M"), (5, "size=2M"), (9, "size=2M")]), |world| async move {
        let used = |id| world.partition(id).map(|it| it.usage().used);
        let mut list = world.partition(5)?.alloc::<u32>(3).await?;
        list.view().write(&[1, 2, 3]);
        let neighbour = world.partition(5)?.alloc::<u32>(3).await?;
        list = world.realloc(list, 1000).await?;
        assert_eq!((list.partition(), list.slice(..3).to_vec()), (5, vec![1, 2, 3]));
        // One that has clones is copied, into the same partition.
        let clone = list.clone();
        let copy = world.realloc(list, 2000).await?;
        assert_eq!((copy.partition(), copy.slice(..3).to_vec()), (5, vec![1, 2, 3]));
        let empty = world.partition(9)?.alloc::<u32>(0).await?;
        let grown = world.realloc(empty, 10).await?;
        assert_eq!(grown.partition(), 9);
        assert_eq!((used(1)?, used(9)?), (0, 64));
        world.free(copy).await?;
        world.free(neighbour).await?;
        drop((clone, grown));
        // Any collective call on a partition frees what was dropped there, and there only.
        world.partition(9)?.alloc::<u32>(1).await.map(drop)?;
        assert!(used(5)? > 0);
        world.reclaim().await?;
        assert_eq!((used(1)?, used(5)?, used(9)?), (0, 0, 0));
        Ok(())
    });
}

#[test]
fn more_dropped_blocks_than_one_agreement_looks_at_are_freed_in_each_partition() {
    let _limit = time_limit(120);
    on_pes(settings(&[(1, "size=1M"), (2, "size=1M")]), |world| async move {
        let mut slices = Vec::new();
        for i in 0..1300 {
            slices.push(world.partition(1 + i % 2)?.alloc::<u8>(64).await?);
        }
        drop(slices);
        world.partition(2)?.alloc::<u8>(MIB).await.map(drop)?;
        world.alloc::<u8>(MIB).await.map(drop)
    });
}

#[test]
fn without_a_first_partition_what_names_none_is_refused() {
    let _limit = time_limit(60);
    on_pes(settings(&[(4, "size=1M")]), |world| async move {
        let error = refused(world.alloc::<u8>(8).await);
        assert!(matches!(error, Error::NoPartition { id: 1, call: "alloc", .. }), "{error}");
        assert!(error.to_string().contains("those defined are 4"), "{error}");
        assert!(matches!(refused(world.partition(128)), Error::NoPartition { id: 128, .. }));
        assert_eq!(world.heap_use().size, 0);
        let slice = world.partition(4)?.alloc::<u8>(8).await?;
        world.barrier_all().await?;
        world.free(slice).await.map_err(Error::from)
    });
}

#[test]
fn pes_that_mean_different_partitions_get_an_error() {
    let _limit = time_limit(60);
    for n in pe_counts().into_iter().filter(|&n| n > 1) {
        let done = cluster(n, settings(&[(1, "size=1M"), (2, "size=1M")]), |world| async move {
            let id = if world.my_pe() == 1 { 2 } else { 1 };
            let error = refused(world.partition(id)?.alloc::<u8>(100).await);
            let Error::CollectiveMismatch { .. } = error else { panic!("{error}") };
            let text = error.to_string();
            assert!(text.contains("in partition 1") && text.contains("in partition 2"), "{text}");
            world.alloc::<u8>(100).await.map(drop)
        });
        done.unwrap();
    }
}

#[test]
fn pes_that_may_differ_and_mean_different_partitions_free_nothing_of_the_others() {
    let _limit = time_limit(60);
    let mut loose = settings(&[(1, "size=1M"), (2, "size=1M")]);
    loose.check_alloc = CheckAlloc::Off;
    for n in pe_counts().into_iter().filter(|&n| n > 1) {
        let done = cluster(n, loose.clone(), |world| async move {
            let odd = world.my_pe() == 1;
            let first = world.alloc::<u64>(100).await?;
            let second = world.partition(2)?.alloc::<u64>(100).await?;
            // Block 1 of partition 1 is given up by all but PE 1, of partition 2 by PE 1 only.
            let (kept, gone) = if odd { (first, second) } else { (second, first) };
            kept.view().fill(3);
            drop(gone);
            let id = if odd { 2 } else { 1 };
            drop(world.partition(id)?.alloc::<u64>(10).await?);
            assert_eq!(
                world.partition(kept.partition())?.usage().blocks,
                1 + usize::from(kept.partition() == id)
            );
            world.barrier_all().await?;
            assert_eq!(kept.view().to_vec(), [3; 100]);
            world.barrier_all().await
        });
        done.unwrap();
    }
}

#[test]
fn memory_of_a_slice_in_a_partition_lives_until_a_collective_on_it_has_ended() {
    let _limit = time_limit(60);
    on_pes(settings(&[(1, "size=1M"), (2, "size=64K")]), |world| async move {
        let team = world.team().split_strided(0, 1, world.n_pes()).await?.expect("all are in it");
        for round in 0..20u64 {
            let all = world.partition(2)?.alloc::<u64>(8192).await?;
            all.view().fill(round);
            let begun = team.sum_reduce(&all, &all);
            let ended = begun.await;
            drop(all);
            ended?;
        }
        team.destroy().await
    });
}

#[test]
fn partitions_take_address_space_but_no_memory() {
    if is_played("address space without memory") {
        return;
    }
    let _limit = time_limit(60);
    let large = settings(&[(1, "size=1T"), (2, "size=1T:kind=S:policy=S")]);
    let done = cluster(2, large, |world| async move {
        let words = world.partition(2)?.alloc_zeroed::<u64>((1 << 37) - 1000).await?;
        let last = words.at(words.len() - 1);
        world.context().p(last, 5, 1 - world.my_pe()).await?;
        world.barrier_all().await?;
        assert_eq!(last.load(), 5);
        world.barrier_all().await
    });
    done.unwrap();
}

/// A folder like `/sys/devices/system/node`, with a file for each pair.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("oxshmem-kinds-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Self(root)
    }

    /// This machine's first node as fast memory, and another that it does not have as normal
    /// memory.
    fn fast_is_real(name: &str) -> Self {
        Self::new(
            name,
            &[
                ("node0/meminfo", "Node 0 MemTotal: 8388608 kB\nNode 0 MemFree: 4194304 kB\n"),
                ("node0/cpulist", "\n"),
                ("node900/meminfo", "Node 900 MemTotal: 8388608 kB\nNode 900 MemFree: 4194304 kB\n"),
                ("node900/cpulist", "0-3\n"),
            ],
        )
    }

    fn settings(&self, partitions: &[(usize, &str)]) -> Settings {
        let mut settings = settings(partitions);
        settings.numa_topology = self.0.display().to_string();
        settings
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The policy that the kernel has for the mapping that an address is in.
fn policy_at(address: usize) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/numa_maps").ok()?;
    let lines = maps.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((usize::from_str_radix(words.next()?, 16).ok()?, words.next()?.to_owned()))
    });
    lines.filter(|(start, _)| *start <= address).max_by_key(|(start, _)| *start).map(|(_, policy)| policy)
}

#[test]
fn the_kernel_has_the_policy_of_each_partition_for_every_pe() {
    let _limit = time_limit(60);
    let folder = Folder::fast_is_real("policies");
    let asked = folder.settings(&[
        (1, "size=1M"),
        (2, "size=1M:kind=F:policy=M"),
        (3, "size=1M:kind=F:policy=P"),
        (4, "size=1M:kind=F:policy=I"),
    ]);
    for n in pe_counts() {
        let done = cluster(n, asked.clone(), |world| async move {
            let all = world.partitions();
            let spreads: Vec<_> = all.iter().map(|it| (it.mapping.spread, it.mapping.nodes.len())).collect();
            let refused = all[1..].iter().find(|it| it.mapping.spread == Spread::System);
            if let Some(refused) = refused {
                panic!("{refused}: {:?}", refused.mapping.notes);
            }
            assert_eq!(
                spreads,
                [(Spread::System, 0), (Spread::Bound, 1), (Spread::Preferred, 1), (Spread::Interleaved, 1)]
            );
            for (id, expected) in [(1, "default"), (2, "bind"), (3, "prefer"), (4, "interleave")] {
                let words = world.partition(id)?.alloc::<u64>(100).await?;
                words.view().fill(id as u64);
                for pe in 0..world.n_pes() {
                    // The PEs of this host have addresses.
                    let Some(address) = words.view().ptr(pe) else { continue };
                    match policy_at(address.addr()) {
                        Some(policy) => assert!(policy.starts_with(expected), "partition {id}: {policy}"),
                        None => println!("skipped: this kernel has no /proc/self/numa_maps"),
                    }
                }
            }
            Ok(())
        });
        match done {
            // What containers forbid, and what kernels without nodes have not.
            Err(error)
                if ["not permitted", "not implemented"].iter().any(|no| error.to_string().contains(no)) =>
            {
                println!("skipped: {error}")
            }
            done => done.map(drop).unwrap(),
        }
    }
}

#[test]
fn on_nodes_that_do_not_exist_mandatory_fails_and_preferred_falls_back() {
    let _limit = time_limit(60);
    let folder = Folder::fast_is_real("absent");
    for n in pe_counts() {
        let asked = folder.settings(&[(1, "size=1M"), (2, "size=1M:kind=N:policy=M")]);
        let error = refused(cluster(n, asked, |_| async { Ok(()) }));
        let text = error.to_string();
        assert!(matches!(error, Error::InvalidSetting { name: "SMAX_SYMMETRIC_PARTITION2", .. }), "{text}");
        assert!(text.contains("kind=Normalmem:policy=Mandatory") && text.contains("node 900"), "{text}");
        for policy in ["P", "I"] {
            let asked = folder.settings(&[(1, &format!("size=1M:kind=N:policy={policy}"))]);
            let done = cluster(n, asked, |world| async move {
                let [partition] = &world.partitions()[..] else { panic!("one is defined") };
                assert_eq!(partition.mapping.spread, Spread::System);
                let note = &partition.mapping.notes[0];
                assert!(note.contains("node 900") && note.ends_with("where the system puts it"), "{note}");
                let words = world.alloc_zeroed::<u64>(8).await?;
                world.context().inc(words.at(0), 0).await?;
                world.barrier_all().await
            });
            done.unwrap();
        }
    }
}

#[test]
fn mandatory_memory_that_a_host_lacks_fails_with_the_figures() {
    let _limit = time_limit(60);
    let folder = Folder::fast_is_real("figures");
    for (text, parts) in [
        ("size=5G:kind=F:policy=M", &["Fastmem, which is node 0 here", "4096 MiB", "need"][..]),
        ("size=1M:kind=N:policy=M:pgsize=2M", &["free pages of 2M", "need"]),
    ] {
        let error = refused(cluster(2, folder.settings(&[(3, text)]), |_| async { Ok(()) })).to_string();
        let no_huge_pages = error.contains("no huge pages");
        assert!(error.starts_with("SMAX_SYMMETRIC_PARTITION3="), "{error}");
        // A kernel without them says so first.
        assert!(no_huge_pages || parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let alike = Folder::new(
        "alike",
        &[("node0/meminfo", "Node 0 MemTotal: 9 kB\nNode 0 MemFree: 9 kB\n"), ("node0/cpulist", "0\n")],
    );
    let error = refused(cluster(1, alike.settings(&[(1, "size=1M:kind=F:policy=M")]), |_| async { Ok(()) }));
    assert!(error.to_string().contains("no Fastmem"), "{error}");
}

/// Free huge pages of 2 MiB on this machine.
fn free_huge_pages() -> usize {
    let read = |name: &str| {
        let text = fs::read_to_string(format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{name}"));
        text.ok().and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(0)
    };
    read("free_hugepages").saturating_sub(read("resv_hugepages"))
}

#[test]
fn processes_share_huge_pages_where_there_are_some_and_do_without_where_not() {
    let _limit = time_limit(90);
    const NEEDED: usize = 3 * 2;
    let enough = free_huge_pages() >= NEEDED;
    if !enough {
        println!("huge pages are not tried: /proc/sys/vm/nr_hugepages should leave {NEEDED} of 2M free");
    }
    let job = Job::new(test_name!(), 3)
        .env("SMAX_SYMMETRIC_PARTITION1=size=1M")
        .env("SMA_SYMMETRIC_PARTITION2=kind=N:policy=P:size=3M:pgsize=2M")
        .env(&format!("OXSHMEM_TEST_HUGE={enough}"));
    let ended = job.run(|world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        let enough = std::env::var("OXSHMEM_TEST_HUGE").is_ok_and(|enough| enough == "true");
        let mapping = &world.partitions()[1].mapping;
        assert_eq!(mapping.page_size == 2 << 20, enough, "{mapping}");
        let words = world.partition(2)?.alloc_zeroed::<u64>(3 * MIB / 8).await?;
        world.context().put(&words, vec![me as u64 + 1; words.len()], (me + 1) % n).await?;
        world.barrier_all().await?;
        let left = (me + n - 1) % n + 1;
        assert!(words.view().to_vec().iter().all(|&word| word == left as u64));
        // The launcher and the watchdog read such words by descriptor.
        world.barrier_all().await
    });
    let notes: Vec<_> =
        ended.stderr.lines().filter(|line| line.contains("SMA_SYMMETRIC_PARTITION2")).collect();
    if on_one_host("each simulated host takes its pages") {
        assert_eq!(notes.len(), usize::from(!enough), "printed once: {}", ended.stderr);
    }
    assert!(
        notes.iter().all(|note| note.contains("pages of 2M are free") && note.contains("instead")),
        "{notes:?}"
    );
}

#[test]
fn partitions_of_pes_on_other_hosts_are_reached_by_ucx() {
    let _limit = time_limit(90);
    if !reaches_hosts() {
        return;
    }
    let job = Job::new(test_name!(), 3)
        .hosts("2")
        .env("SMAX_SYMMETRIC_PARTITION1=size=1M")
        .env("SMAX_SYMMETRIC_PARTITION2=kind=F:policy=I:size=3M:pgsize=2M")
        .env("SMAX_SYMMETRIC_PARTITION9=kind=N:policy=P:size=1M");
    let ended = job.run(|world| async move {
        let (me, n) = (world.my_pe(), world.n_pes());
        for id in [1, 2, 9] {
            let words = world.partition(id)?.alloc_zeroed::<u64>(100_000).await?;
            world.context().put(words.slice(1..), vec![me as u64 + 1; 99_999], (me + 1) % n).await?;
            world.context().inc(words.at(0), 0).await?;
            world.barrier_all().await?;
            let left = (me + n - 1) % n + 1;
            assert!(words.slice(1..).to_vec().iter().all(|&word| word == left as u64));
            assert_eq!(world.context().g(words.at(0), 0).await?, n as u64);
            world.barrier_all().await?;
        }
        Ok(())
    });
    // What both hosts report is printed once.
    let notes = ended.stderr.lines().filter(|line| line.contains("Fastmem is Normalmem")).count();
    assert!(notes <= 1, "{}", ended.stderr);
}

#[test]
fn processes_without_enough_huge_pages_fail_where_these_are_mandatory() {
    let _limit = time_limit(90);
    // More than is left of any machine's.
    let size = (free_huge_pages() / 2 + 1) * 2;
    let ended = Job::new(test_name!(), 2)
        .env(&format!("SHMEM_SYMMETRIC_PARTITION1=size={size}M:kind=N:policy=M:pgsize=2M"))
        .end(|| {
            let error = futures::executor::block_on(oxshmem::init()).map(drop).unwrap_err();
            println!("{error}");
            std::process::exit(6);
        });
    assert_eq!(ended.status, 6, "{ended:?}");
    let line = ended.stdout.lines().find(|line| line.contains("PARTITION1")).expect("a message");
    assert!(line.contains("SHMEM_SYMMETRIC_PARTITION1=") && line.contains("Mandatory"), "{line}");
    let why = ["pages of 2M are free", "free pages of 2M", "no huge pages"];
    assert!(why.iter().any(|why| line.contains(why)), "{line}");
}

#[test]
fn the_report_says_what_there_is_was_asked_was_mapped_and_is_in_use() {
    let _limit = time_limit(90);
    let job = Job::new(test_name!(), 2)
        .env("SHMEM_MEMINFO_REPORT=1")
        .env("SMAX_SYMMETRIC_PARTITION1=size=1M")
        .env("SMAX_SYMMETRIC_PARTITION2=size=2M:kind=N:policy=P");
    let ended = job.run(|world| async move {
        let slice = world.partition(2)?.alloc::<u8>(1000).await?;
        world.free(slice).await?;
        // Kept by the world's allocations until the end.
        std::mem::forget(world.alloc::<u8>(64).await?);
        Ok(())
    });
    let text = &ended.stderr;
    let [start, end] =
        ["at the start", "at the end"].map(|when| text.find(when).unwrap_or_else(|| panic!("{text}")));
    assert_eq!((text.matches("at the start").count(), text.matches("at the end").count()), (1, 1), "{text}");
    let (start, end) = (&text[start..end], &text[end..]);
    for part in [
        "node 0: ",
        "MiB available",
        "partition 1: SMAX_SYMMETRIC_PARTITION1=size=1M:kind=Sysdefault:policy=Sysdefault; mapped to pages of ",
        "partition 2: SMAX_SYMMETRIC_PARTITION2=size=2M:kind=Normalmem:policy=Preferred; mapped to pages of ",
        "0 of 2097152 bytes in use by 0 blocks",
    ] {
        assert!(start.contains(part), "{part}: {start}");
    }
    for part in [
        "64 of 1048576 bytes in use by 1 blocks",
        "0 of 2097152 bytes in use by 0 blocks, 1024 at most so far",
    ] {
        assert!(end.contains(part), "{part}: {end}");
    }
}

#[test]
fn pes_with_different_partitions_get_an_error_that_names_them() {
    let _limit = time_limit(90);
    let ended = Job::new(test_name!(), 3).end(|| {
        let mut settings = Settings::default();
        settings.add_partition(1, Partition::new(MIB)).unwrap();
        if std::env::var("OXSHMEM_JOB").unwrap().contains("pe=2,") {
            let fast = Partition { kind: Kind::Fastmem, policy: Policy::Preferred, ..Partition::new(MIB) };
            settings.add_partition(2, fast).unwrap();
        }
        let error = futures::executor::block_on(oxshmem::init_with(settings)).map(drop).unwrap_err();
        println!("{error}");
        std::process::exit(5);
    });
    assert_eq!(ended.status, 5, "{ended:?}");
    let line = ended.stdout.lines().find(|line| line.contains("differs")).expect("a message");
    for part in ["SHMEM_SYMMETRIC_PARTITION<n>", "PE 0", "2: size=1M:kind=Fastmem:policy=Preferred on PE 2"] {
        assert!(line.contains(part), "{line}");
    }
}
