//! The beginning and the end.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use oxshmem_base::{
    Error, Result, random, report,
    settings::{NetSecurity, OnLoss, Settings},
    sync::Mutex,
};
use oxshmem_job::Bootstrap;
use oxshmem_memory::Segment;
use oxshmem_progress::{completion::waiting, executor::Executor};
use rustix::event::epoll;
use slab::Slab;

use super::{
    Effect, Effects, Tcp, TcpState,
    frame::{FrameHead, Kind},
    incoming::BUFFER,
    mail::Inbox,
    peer::{Connection, Departure},
    proof::{self, Credentials, SecretKey},
    serve::Memory,
    socket, turn,
};
use crate::{batch::malformed, directory};

/// How long a PE that leaves waits for what it has sent, and for the others to leave.
const LEAVING: Duration = Duration::from_secs(2);

/// Connects this PE, as the settings ask for it. Collective over all PEs.
pub(in super::super) async fn connect(
    bootstrap: &Arc<dyn Bootstrap>,
    executor: &Arc<Executor>,
    segments: [Segment; 2],
    settings: &Settings,
) -> Result<Tcp> {
    let one_machine = bootstrap.is_one_machine();
    let opened = own_addresses(settings.net_interfaces.as_deref(), one_machine).and_then(|own| {
        let listens = listen(&own)?;
        let port = listens.local_addr().map_err(|error| Error::system("getsockname", error))?.port();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Error::system("epoll_create", error))?;
        turn::watches(&epoll, &listens, turn::LISTENS).map_err(|error| Error::system("epoll_ctl", error))?;
        let random = random::bytes::<{ proof::BYTES }>();
        let random = random.map_err(|error| Error::system("random numbers for a secret", error))?;
        let mut published = random.to_vec();
        let addresses = own.iter().map(|&address| SocketAddr::new(address, port).to_string());
        published.extend(addresses.collect::<Vec<_>>().join(" ").into_bytes());
        Ok((listens, epoll, published, own))
    });
    // A PE that has nothing to publish lets the others know, which else would wait for it.
    let published = opened.as_ref().map(|(_, _, published, _)| published.clone()).unwrap_or_default();
    let published_in = bootstrap.exchanges();
    let all = bootstrap.exchange_to_leaders(published).await?;
    let directory = directory::share(&**bootstrap, all).await;
    let ((listens, epoll, _, own), directory) = (opened?, directory?);
    let secret = directory
        .first_of(0)?
        .get(..proof::BYTES)
        .map(|key| SecretKey(key.to_vec()))
        .ok_or_else(malformed)?;
    let credentials = Credentials { secret, encrypts: settings.net_security == NetSecurity::Encrypt };
    let placement = bootstrap.placement();
    let inner = TcpState {
        open: true,
        listens,
        half_open: Slab::new(),
        peers: (0..placement.n_pes).map(|_| None).collect(),
        up: Vec::new(),
        unsettled: Vec::new(),
        moved: HashMap::new(),
        waiting: Vec::new(),
        since: Instant::now(),
        mail: Inbox::default(),
        buffer: vec![0; BUFFER / size_of::<u64>()].into_boxed_slice(),
        turns: 0,
        strangers: 0,
    };
    Ok(Tcp {
        me: placement.pe,
        memory: Memory { block: placement.hosts.local_pe_of(placement.pe), segments },
        directory,
        published_in,
        goes_on: settings.on_loss == OnLoss::Continue,
        own,
        credentials,
        inner: Mutex::new(inner),
        events: Mutex::default(),
        has_events: AtomicBool::new(false),
        has_waiting: AtomicBool::new(false),
        listener: OnceLock::new(),
        executor: Arc::downgrade(executor),
        bootstrap: Arc::downgrade(bootstrap),
        helper_waker: Arc::clone(executor.helper_waker()),
        epoll,
        closing: AtomicBool::new(false),
    })
}

/// The addresses under which other PEs reach this one: those of the interfaces that were asked for,
/// or all but those that only this machine reaches. Hosts that one machine simulates need no more
/// than these.
fn own_addresses(asked: Option<&str>, one_machine: bool) -> Result<Vec<IpAddr>> {
    if asked.is_none() && one_machine {
        return Ok(vec![Ipv4Addr::LOCALHOST.into()]);
    }
    let all = if_addrs::get_if_addrs().map_err(|error| Error::system("getifaddrs", error))?;
    let is_asked = |name: &str| match asked {
        // A device's port, as UCX has it, is none of an interface.
        Some(names) => names.split(',').any(|asked| asked.trim() == name),
        None => true,
    };
    let found = all.iter().filter(|interface| is_asked(&interface.name));
    let found =
        found.filter(|interface| asked.is_some() || !interface.is_loopback() && !interface.is_link_local());
    let found: Vec<IpAddr> = found.map(|interface| interface.ip()).collect();
    if found.is_empty() {
        let names: Vec<&str> = all.iter().map(|interface| &*interface.name).collect();
        return Err(Error::bootstrap(
            "init",
            format!(
                "no network interface {} has an address to be reached at (SHMEM_NET_INTERFACES); there are {}",
                asked.unwrap_or("beside the loopback one"),
                names.join(", ")
            ),
        ));
    }
    Ok(found)
}

/// Listens at these addresses.
fn listen(own: &[IpAddr]) -> Result<std::net::TcpListener> {
    let address = match own {
        [only] => *only,
        _ if own.iter().any(IpAddr::is_ipv6) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    };
    socket::listen(SocketAddr::new(address, 0))
}

/// The addresses that a PE has published. One that this PE has too comes last: hosts that run
/// containers have such for these alone.
pub(super) fn addresses(published: &[u8], own: &[IpAddr]) -> Result<Vec<SocketAddr>> {
    let text =
        published.get(proof::BYTES..).and_then(|text| str::from_utf8(text).ok()).ok_or_else(malformed)?;
    let addresses = text.split(' ').map(|address| address.parse().map_err(|_| malformed()));
    let mut addresses: Vec<SocketAddr> = addresses.collect::<Result<_>>()?;
    addresses.sort_by_key(|address| own.contains(&address.ip()));
    Ok(addresses)
}

impl Tcp {
    pub(super) fn end(&self, in_order: bool) {
        if !self.closing.swap(true, Ordering::AcqRel) {
            if let Some(executor) = self.executor.upgrade() {
                executor.leave_source();
            }
            waiting(|| self.close_now(in_order));
        }
    }

    /// Waits a moment for what was sent, then closes everything. Operations that are still under
    /// way fail.
    fn close_now(&self, in_order: bool) {
        let deadline = Instant::now() + LEAVING;
        // In a job that goes on, the launcher says what has become of a PE.
        if in_order || !self.goes_on {
            self.take_leave();
        }
        while !self.has_left(in_order) && Instant::now() < deadline {
            if !self.progress() {
                std::thread::yield_now();
            }
        }
        let mut events = Effects::new();
        let strangers = {
            let mut inner = self.inner();
            inner.open = false;
            let why = || Error::Finalized { call: "net" };
            for peer in inner.peers.iter_mut().flatten() {
                peer.link = Connection::Gone(Departure::new("this PE has left the job"));
                peer.incoming.reset();
                peer.talk.end(&why, &mut events);
                events.extend(peer.out.end().map(|done| Effect::Word(done, Err(why()))));
            }
            inner.mail.end(None, &why, &mut events);
            inner.half_open.clear();
            inner.strangers
        };
        if strangers > 1 {
            report(format_args!(
                "oxshmem: warning: PE {} has refused {strangers} connections of processes that are not of this job",
                self.me
            ));
        }
        self.note(events);
        self.complete_events();
    }

    /// Announces to all PEs that this one was connected to that it leaves, and that the end of the
    /// connection is no failure.
    fn take_leave(&self) {
        let mut events = Effects::new();
        {
            let mut inner = self.inner();
            for pe in 0..inner.peers.len() {
                if let Some(peer) = inner.peers[pe].as_deref_mut() {
                    peer.out.push(FrameHead::new(Kind::Goodbye, 0, 0), &[]);
                    self.write(&mut inner, pe, &mut events);
                }
            }
        }
        self.note(events);
    }

    /// Whether all that was sent has left, and, where the job ends in order, all others have left
    /// as well: a connection that ends with something unread takes what is on its way with it.
    fn has_left(&self, in_order: bool) -> bool {
        let inner = self.inner();
        inner.peers.iter().flatten().all(|peer| match &peer.link {
            Connection::Gone(_) => true,
            Connection::Up(_) => peer.is_written() && (!in_order || peer.talk.left),
            Connection::Down(_) | Connection::Connecting(..) => !in_order,
        })
    }
}
