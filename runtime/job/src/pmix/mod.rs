//! A PE in a process that a launcher with PMIx started: `mpirun` of Open MPI, `prterun`,
//! `srun --mpi=pmix` and others.
//!
//! A process of the launcher on each host, PMIx's server, serves those that it started there. From
//! it a PE learns its number, which is its rank in an MPI program too; an exchange puts what a PE
//! gives under a key of its own, and fences. Two PEs are on one host if one server serves them,
//! whatever the host is called: network namespaces of one machine have the machine's name and
//! servers of their own, and are different hosts. To the PEs of its host, the leader hands
//! descriptors over a unix socket.
//!
//! What waits does so in a short-lived thread, so that it never blocks a runtime, and needs none.

mod client;

use std::{env, sync::Arc};

use async_trait::async_trait;
use oxshmem_base::{
    Error, Hosts, Result,
    sync::{Mutex, lock},
};
use tokio::sync::Mutex as Turn;

use super::{
    Bootstrap, Offer, Placement,
    claim::Claim,
    host_name,
    offers::{Address, OfferServer, Sharing, blocking},
};
use client::Client;

/// The variables that every launcher with PMIx sets.
const NAMESPACE: &str = "PMIX_NAMESPACE";
const RANK: &str = "PMIX_RANK";

/// One PE of a job that a launcher with PMIx started.
///
/// The process may be one of an MPI library too, which may come first or later, and leave first or
/// later.
#[derive(Debug)]
pub struct Pmix {
    placement: Placement,
    client: Client,
    /// Whose turn it is to meet the others: the first to call is the first to meet.
    exchanges: Arc<Turn<()>>,
    sharing: Sharing,
    /// Until this PE has left the job.
    claim: Mutex<Option<Claim>>,
}

impl Pmix {
    /// The PE that this process was started as; `None` if no launcher with PMIx started it.
    /// Collective over all PEs.
    ///
    /// # Errors
    /// [`Error::AlreadyInitialized`] while this process is a PE, and [`Error::Bootstrap`] without
    /// `libpmix.so.2`, or without the launcher that the environment names.
    pub async fn from_env() -> Result<Option<Self>> {
        let (Some(_), Some(rank)) = (env::var_os(NAMESPACE), env::var_os(RANK)) else {
            return Ok(None);
        };
        let rank = rank.to_str().and_then(|rank| rank.parse().ok()).ok_or_else(|| {
            let detail = format!("{RANK}={rank:?} is no number; only launchers set this variable: unset it");
            Error::bootstrap("init", detail)
        })?;
        let claim = Claim::take(rank)?;
        let (client, placement, sharing) = blocking("init", meet).await?;
        let (exchanges, claim) = (Arc::default(), Mutex::new(Some(claim)));
        Ok(Some(Self { placement, client, exchanges, sharing, claim }))
    }
}

/// What a PE gives to all others at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    /// The server that serves it.
    server: String,
    /// What its host is called.
    host: String,
}

impl Card {
    fn to_bytes(&self) -> Vec<u8> {
        format!("{}\0{}", self.server, self.host).into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (server, host) = text.split_once('\0').unwrap_or((&text, ""));
        Self { server: server.to_owned(), host: host.to_owned() }
    }
}

/// Becomes a client, and meets the others for the first time.
fn meet() -> Result<(Client, Placement, Sharing)> {
    let client = Client::begin()?;
    let (me, n) = (client.rank(), client.size()?);
    let card = Card { server: client.server()?, host: client.host().unwrap_or_else(host_name) };
    let cards = client.exchange(&card.to_bytes(), n)?;
    let cards: Vec<_> = cards.iter().map(|card| Card::from_bytes(card)).collect();
    let (hosts, name) = places(&cards, me);
    let placement = Placement::new(me, Arc::new(hosts), name);
    let sharing = open(&client, &placement)?;
    Ok((client, placement, sharing))
}

/// Prepares what the PEs of each host share.
fn open(client: &Client, placement: &Placement) -> Result<Sharing> {
    if placement.hosts.n_hosts() == placement.n_pes {
        return Ok(Sharing::Alone);
    }
    let server = match placement.local.len() {
        n if n > 1 && placement.is_leader() => {
            Some(OfferServer::open(n - 1).map_err(|error| Error::system("init", error))?)
        }
        _ => None,
    };
    let mine = server.as_ref().map(|server| server.address().to_bytes().to_vec()).unwrap_or_default();
    let leader = placement.local[0];
    let address = client.exchange_short(&mine, std::iter::once(leader))?;
    match (server, address.first().and_then(|bytes| Address::from_bytes(bytes))) {
        (Some(server), _) => Ok(Sharing::leader(server)),
        (None, _) if placement.is_leader() => Ok(Sharing::Alone),
        (None, Some(address)) => Ok(Sharing::other(address)),
        (None, None) => {
            let detail = format_args!(
                "PE {leader}, this host's leader, runs another version of oxshmem; start all PEs with one build"
            );
            Err(Error::bootstrap("init", detail))
        }
    }
}

/// Which PE is where, and what the host of PE `me` is called: hosts of the same name have their
/// number behind it.
fn places(cards: &[Card], me: usize) -> (Hosts, String) {
    let hosts = Hosts::from_labels(cards.iter().map(|card| &card.server));
    let Card { server, host } = &cards[me];
    let is_namesake = |other: &Card| other.host == *host && other.server != *server;
    let name = match cards.iter().any(is_namesake) {
        true => format!("{host}-{}", hosts.host_of(me)),
        false => host.clone(),
    };
    (hosts, name)
}

impl super::sealed::Sealed for Pmix {}

#[async_trait]
impl Bootstrap for Pmix {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    async fn exchange(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        let turn = Arc::clone(&self.exchanges).lock_owned().await;
        let (client, n) = (self.client, self.placement.n_pes);
        blocking("exchange", move || {
            let _turn = turn;
            client.exchange(&mine, n)
        })
        .await
    }

    async fn exchange_to_leaders(&self, mine: Vec<u8>) -> Result<Option<Arc<[Vec<u8>]>>> {
        let turn = Arc::clone(&self.exchanges).lock_owned().await;
        let (client, n) = (self.client, if self.placement.is_leader() { self.placement.n_pes } else { 0 });
        let all = blocking("exchange", move || {
            let _turn = turn;
            client.exchange_short(&mine, 0..n)
        });
        all.await.map(|all| (n > 0).then(|| all.into()))
    }

    async fn barrier(&self) -> Result<()> {
        let turn = Arc::clone(&self.exchanges).lock_owned().await;
        let client = self.client;
        blocking("barrier", move || {
            let _turn = turn;
            client.fence(false)
        })
        .await
    }

    fn in_process(&self) -> bool {
        false
    }

    async fn share_raw(&self, offer: Option<Offer>) -> Result<Offer> {
        self.sharing.share(offer, &self.placement).await
    }

    fn finalized(&self) {
        self.client.leave();
        drop(lock(&self.claim).take());
    }

    fn abort(&self, status: i32, why: &str) {
        match why {
            "" => {
                let why = format!("PE {} ended the job with global_exit({status})", self.placement.pe);
                self.client.abort(status, &why);
            }
            why => self.client.abort(status, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(server: &str, host: &str) -> Card {
        Card { server: server.to_owned(), host: host.to_owned() }
    }

    #[test]
    fn cards_survive_the_way() {
        for card in [card("job.0", "node1"), card("", "")] {
            assert_eq!(Card::from_bytes(&card.to_bytes()), card);
        }
    }

    #[test]
    fn the_server_says_which_pes_are_on_one_host_and_not_the_name() {
        let cards = [card("a.0", "vm"), card("a.1", "vm"), card("a.0", "vm"), card("a.3", "other")];
        for (me, name) in ["vm-0", "vm-1", "vm-0", "other"].into_iter().enumerate() {
            assert_eq!(places(&cards, me), (Hosts::from_labels([0, 1, 0, 3]), name.to_owned()));
        }
        assert_eq!(places(&[card("a.0", "vm"), card("a.0", "vm")], 1), (Hosts::one(2), "vm".to_owned()));
    }

    #[test]
    fn what_pes_have_put_is_taken_or_refused_whatever_is_sent() {
        let given = |bytes: &[u8]| [&(bytes.len() as u64).to_le_bytes(), bytes].concat();
        let address = Address::from_bytes(&[7; 16]).unwrap().to_bytes();
        let real = [given(b""), given(&card("a.0", "vm").to_bytes()), given(&address), given(&[1; 1000])];
        oxshmem_base::fuzz::mutated(&real, |put| {
            let Some((length, piece)) = client::first_piece(put) else { return };
            assert_eq!(length, piece.len(), "all of these fit into a piece");
            let _ = Address::from_bytes(piece);
            let cards = [Card::from_bytes(piece), card("a.0", "vm")];
            places(&cards, 0);
        });
    }

    #[test]
    fn a_length_that_no_contribution_has_is_refused() {
        let put = |length: u64, bytes: usize| [&length.to_le_bytes(), &vec![1; bytes][..]].concat();
        for (length, bytes) in [(1, 0), (0, 1), (1 << 20, 5), (1 << 31, 256 << 10), (u64::MAX, 256 << 10)] {
            assert!(client::first_piece(&put(length, bytes)).is_none(), "{length}, {bytes}");
        }
        assert_eq!(client::first_piece(&put(1 << 20, 256 << 10)).map(|(length, _)| length), Some(1 << 20));
    }
}
