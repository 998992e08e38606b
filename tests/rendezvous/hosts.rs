//! Jobs without a launcher on several hosts: simulated ones, and network namespaces.

use oxshmem::prelude::*;

use crate::busy;
use crate::common::{Running, kill, test_name, time_limit};
use crate::namespaces::{Namespaces, ip};
use crate::{Apart, assert_all_well, ends, losses, main_of, talk};

/// [`talk`], on two hosts.
async fn talk_far(world: World) -> oxshmem::Result<()> {
    assert_eq!(world.pe().placement().hosts.n_hosts(), 2);
    assert_eq!(world.pe().placement().local.len(), 2);
    assert!(world.pe().net().is_some());
    talk(world).await
}

#[test]
fn processes_of_simulated_hosts_talk_over_the_net() {
    let _limit = time_limit(60);
    for distribution in ["2", "2:cyclic"] {
        let apart = Apart::new(test_name!(), 4);
        let start = |pe: usize| {
            let job = apart.job(pe).env(&format!("SHMEM_FAKE_HOSTS={distribution}"));
            job.env("SHMEM_NET=tcp").start(|| main_of(talk_far))
        };
        assert_all_well((0..4).map(start).collect());
    }
}

const ADDRESSES: [&str; 2] = ["10.213.9.1", "10.213.9.2"];

/// PEs 0 and 1 in one namespace, 2 and 3 in the other, where PE 0 has a name.
struct Apartment {
    apart: Apart,
    namespaces: Option<Namespaces>,
}

impl Apartment {
    fn new(test: &'static str) -> Option<Self> {
        let apart = Apart::at(test, 4, &format!("{}:7777", ADDRESSES[0]));
        if std::env::var_os("OXSHMEM_TEST_BODY").is_some() {
            return Some(Self { apart, namespaces: None });
        }
        let namespaces = Some(Namespaces::join("or", ADDRESSES, true)?);
        Some(Self { apart, namespaces })
    }

    fn start(&self, body: impl Fn()) -> Vec<Running> {
        self.start_with(&[], body)
    }

    fn start_with(&self, variables: &[&str], body: impl Fn()) -> Vec<Running> {
        let start = |pe: usize| {
            let job = self.apart.job(pe).env("SHMEM_NET=tcp");
            let job = variables.iter().fold(job, |job, variable| job.env(variable));
            let within = self.namespaces.as_ref().map(|it| &*it.names[pe / 2]);
            within
                .map_or_else(|| self.apart.job(pe), |name| job.within(&["ip", "netns", "exec", name]))
                .start(&body)
        };
        (0..4).map(start).collect()
    }
}

#[test]
fn processes_of_two_network_namespaces_are_on_two_hosts() {
    let _limit = time_limit(60);
    let Some(job) = Apartment::new(test_name!()) else { return };
    assert_all_well(job.start(|| main_of(talk_far)));
}

#[test]
fn a_lost_pe_ends_those_of_the_other_namespace_too() {
    let _limit = time_limit(60);
    for lost in [0, 3] {
        let Some(job) = Apartment::new(test_name!()) else { return };
        let all = job.start(|| main_of(busy::for_ever));
        // `ip netns exec` becomes the program.
        let pids: Vec<_> = all.iter().map(Running::launcher).collect();
        busy::await_all(&pids);
        kill(pids[lost], libc::SIGKILL);
        busy::assert_gone_soon(&pids);
        for (pe, ended) in ends(all).iter().enumerate() {
            assert_ne!(ended.status, 0, "PE {pe}");
        }
    }
}

#[test]
fn pe_0_listens_on_all_interfaces_where_the_address_is_not_its_own() {
    let _limit = time_limit(60);
    let Some(job) = Apartment::new(test_name!()) else { return };
    // As behind a name that something translates: the address is of the other namespace for PE 0.
    let Some(namespaces) = &job.namespaces else {
        drop(job.apart.job(0).start(|| main_of(talk)));
        return;
    };
    let start = |pe: usize, address: &str| {
        let within = ["ip", "netns", "exec", &namespaces.names[pe / 2]];
        let job = job.apart.job(pe).env(&format!("SHMEM_RENDEZVOUS={address}:7778")).env("SHMEM_NET=tcp");
        job.within(&within).start(|| main_of(talk))
    };
    let [here, there] = ADDRESSES;
    assert_all_well(vec![start(0, there), start(1, here), start(2, here), start(3, here)]);
}

/// The hosts are cut off from each other for good, once all PEs are there.
async fn two_go_on(world: World) -> oxshmem::Result<()> {
    let lost = |outcome: oxshmem::Result<()>| match outcome {
        Err(oxshmem::Error::PeLost { pe, how, .. }) => {
            assert!(pe >= 2 && how == "gave no sign of life for 2 s", "PE {pe} {how}");
        }
        other => panic!("the other host is lost, and here is {other:?}"),
    };
    // Until the cut.
    lost(
        async {
            loop {
                world.barrier_all().await?
            }
        }
        .await,
    );
    let mut losses = world.losses();
    let pes = [losses.next().await.pe, losses.next().await.pe];
    assert!(pes.contains(&2) && pes.contains(&3), "{pes:?}");
    let survivors = world.survivors().await?;
    assert_eq!(survivors.team.n_pes(), 2);
    let words = world.alloc_zeroed::<u64>(1).await?;
    survivors.team.sync().await?;
    Ok(world.free(words).await?)
}

#[test]
fn a_host_that_is_cut_off_from_pe_0_is_lost_and_its_processes_are_killed() {
    let _limit = time_limit(90);
    let Some(job) = Apartment::new(test_name!()) else { return };
    let variables = ["SHMEM_ON_LOSS=continue", "SHMEM_RENDEZVOUS_LEASE=2"];
    let all = job.start_with(&variables, || losses::main_of(two_go_on));
    let Some(namespaces) = &job.namespaces else { return drop(ends(all)) };
    std::thread::sleep(std::time::Duration::from_secs(4));
    let cut = &namespaces.names[1];
    assert!(ip(&format!("-n {cut} link set {cut} down")));
    for (pe, ended) in ends(all).iter().enumerate() {
        assert_eq!(ended.status, if pe < 2 { 0 } else { 137 }, "PE {pe}: {ended:?}");
    }
}
