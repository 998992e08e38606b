//! What a process is given to find the others: by the program, or by its environment.

use std::{
    env,
    fs::File,
    io::Read,
    net::{SocketAddr, ToSocketAddrs},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use oxshmem_base::{Distribution, Error, Result, settings::Settings};

use super::proof::SecretKey;

/// Fewer bytes are no secret.
const SHORTEST_SECRET: usize = 16;
/// More are no secret either, but a file that is something else.
const LONGEST_SECRET: u64 = 64 << 10;

/// How a process that no launcher started finds the others of its job: all of them are given one
/// address, their count and a secret, and each a number.
///
/// PE 0 listens at the address, on all interfaces if it is not one of its own. The others connect
/// to it, in any order, and for as long as [`timeout`](Self::timeout).
///
/// ```
/// use oxshmem_job::Rendezvous;
///
/// let secret = std::iter::repeat_n(7, 32).collect::<Vec<u8>>(); // rather from a file
/// let rendezvous = Rendezvous { secret: Some(secret), ..Rendezvous::new("node1:7777", 3, 8) };
/// assert_eq!(rendezvous.timeout.as_secs(), 60);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Rendezvous {
    /// Where PE 0 listens: a name or an address, and a port.
    pub address: String,
    /// This process's number.
    pub pe: usize,
    /// How many processes the job has.
    pub n_pes: usize,
    /// By what they know each other, of 16 bytes or more. `None` only where the address is a
    /// loopback one.
    pub secret: Option<Vec<u8>>,
    /// How long they wait for each other.
    pub timeout: Duration,
    /// Hosts that each machine simulates. What PE 0 has holds for all.
    pub fake_hosts: Distribution,
    /// How long a PE may give PE 0 no sign of life, in a job that goes on when a PE is lost. Then
    /// it is killed, and lost when half of that time more is over.
    pub lease: Duration,
}

impl std::fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is nobody's business.
        write!(f, "PE {} of {} by {}", self.pe, self.n_pes, self.address)
    }
}

impl Rendezvous {
    /// Without a secret, for a minute.
    pub fn new(address: impl Into<String>, pe: usize, n_pes: usize) -> Self {
        let Settings { rendezvous_timeout, rendezvous_lease, .. } = Settings::default();
        let (secret, fake_hosts) = (None, Distribution::default());
        let (timeout, lease) = (rendezvous_timeout, rendezvous_lease);
        Self { address: address.into(), pe, n_pes, secret, timeout, fake_hosts, lease }
    }

    /// What settings and the variables of other launchers say; `None` if they name no address.
    ///
    /// # Errors
    /// [`Error::Bootstrap`] if something is missing, or does not fit together, or if the file with
    /// the secret cannot be used.
    pub fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        Self::look(settings, |name| env::var(name).ok())
    }

    fn look(settings: &Settings, look: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let Some(asked) = &settings.rendezvous else {
            let (rank, size) = (settings.rendezvous_rank, settings.rendezvous_size);
            let lone =
                [(ADDRESS_RANK, rank), (ADDRESS_SIZE, size)].into_iter().find(|(_, value)| value.is_some());
            return match lone {
                Some((name, _)) => Err(refused(format_args!(
                    "{name} is set and {ADDRESS} is not; set the address at which PE 0 listens, too, or unset both"
                ))),
                None => Ok(None),
            };
        };
        let of_others = |name: &str| {
            look(name)
                .ok_or_else(|| refused(format_args!("{ADDRESS}={asked} asks for {name}, which is not set")))
        };
        let number_of_others = |name: &str| {
            let value = of_others(name)?;
            value.trim().parse().map_err(|_| refused(format_args!("{name}={value:?} is no number")))
        };
        let (scheme, port) =
            asked.split_once(':').map_or((&**asked, None), |(scheme, port)| (scheme, Some(port)));
        let from_others = scheme.eq_ignore_ascii_case("env");
        let address = match port {
            _ if !from_others => asked.clone(),
            Some(port) => format!("{}:{port}", bracketed(&of_others("MASTER_ADDR")?)),
            None => format!("{}:{}", bracketed(&of_others("MASTER_ADDR")?), of_others("MASTER_PORT")?),
        };
        let number = |own: Option<usize>, name: &'static str, others: &str| match own {
            Some(number) => Ok(number),
            None if from_others => number_of_others(others),
            None => Err(refused(format_args!("{ADDRESS} is set and {name} is not"))),
        };
        let pe = number(settings.rendezvous_rank, ADDRESS_RANK, "RANK")?;
        let n_pes = number(settings.rendezvous_size, ADDRESS_SIZE, "WORLD_SIZE")?;
        let secret = settings.rendezvous_secret.as_deref().map(read_secret).transpose()?;
        let (timeout, fake_hosts) = (settings.rendezvous_timeout, settings.fake_hosts.clone().up_to(n_pes));
        let lease = settings.rendezvous_lease;
        Ok(Some(Self { address, pe, n_pes, secret, timeout, fake_hosts, lease }))
    }

    /// An error unless the numbers and the secret can be used.
    pub(super) fn checked(&self) -> Result<SecretKey> {
        let (pe, n) = (self.pe, self.n_pes);
        if pe >= n || n > MOST_PES {
            return Err(refused(format_args!(
                "this process is to be PE {pe} of {n} ({ADDRESS_RANK}, {ADDRESS_SIZE}): numbers go from 0 to one less than the \
                 count, which is at most {MOST_PES}"
            )));
        }
        if !self
            .address
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse().is_ok_and(|port: u16| port > 0))
        {
            return Err(refused(format_args!("the address {:?} ({ADDRESS}) has no port", self.address)));
        }
        self.fake_hosts.hosts(n)?;
        match &self.secret {
            Some(secret) if secret.len() < SHORTEST_SECRET => Err(refused(format_args!(
                "the secret has {} bytes, and needs {SHORTEST_SECRET}",
                secret.len()
            ))),
            Some(secret) => Ok(SecretKey(secret.clone())),
            None if self.is_loopback() => Ok(SecretKey::default()),
            None => Err(refused(format_args!(
                "without a secret ({ADDRESS_SECRET}=FILE) every process of the network could join; it may only be absent where the \
                 address is a loopback one, and {} is none",
                self.address
            ))),
        }
    }

    /// Whether only this machine reaches the address.
    fn is_loopback(&self) -> bool {
        self.resolve()
            .is_ok_and(|all| !all.is_empty() && all.iter().all(|address| address.ip().is_loopback()))
    }

    /// What the address comes to at present.
    pub(super) fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        Ok(self.address.to_socket_addrs()?.collect())
    }
}

/// The variables.
const ADDRESS: &str = "SHMEM_RENDEZVOUS";
const ADDRESS_RANK: &str = "SHMEM_RENDEZVOUS_RANK";
const ADDRESS_SIZE: &str = "SHMEM_RENDEZVOUS_SIZE";
const ADDRESS_SECRET: &str = "SHMEM_RENDEZVOUS_SECRET";
/// More PEs than any job has.
const MOST_PES: usize = 1 << 16;

pub(super) fn refused(detail: impl std::fmt::Display) -> Error {
    Error::bootstrap("init", detail)
}

/// An address of IPv6 has colons of its own.
fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

/// What is in the file that holds the secret. White space at its end is none of it, as editors and
/// `echo` leave some.
fn read_secret(file: &Path) -> Result<Vec<u8>> {
    let name = file.display();
    let failed =
        |error| refused(format_args!("the secret in {name} ({ADDRESS_SECRET}) cannot be read: {error}"));
    let mut open = File::open(file).map_err(failed)?;
    let mode = open.metadata().map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        return Err(refused(format_args!(
            "the secret in {name} ({ADDRESS_SECRET}) can be read or changed by others than its owner, as its mode is {:03o}; chmod 600 {name}",
            mode & 0o777
        )));
    }
    let mut secret = Vec::new();
    open.by_ref().take(LONGEST_SECRET).read_to_end(&mut secret).map_err(failed)?;
    secret.truncate(secret.trim_ascii_end().len());
    if secret.len() < SHORTEST_SECRET {
        return Err(refused(format_args!(
            "the secret in {name} ({ADDRESS_SECRET}) has {} bytes, and needs {SHORTEST_SECRET}; openssl rand -hex 32 makes one",
            secret.len()
        )));
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem_base::owned;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    fn look(own: &[(&str, &str)], others: &[(&str, &str)]) -> Result<Option<Rendezvous>> {
        let find = |all: &[(&str, &str)], name: &str| {
            all.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        let settings = Settings::from_lookup(|name| find(own, name).map(Into::into))?;
        Rendezvous::look(&settings, |name| find(others, name))
    }

    fn refusal(own: &[(&str, &str)], others: &[(&str, &str)]) -> String {
        let found = look(own, others).and_then(|found| found.map_or(Ok(()), |it| it.checked().map(drop)));
        found.expect_err("refused").to_string()
    }

    #[test]
    fn the_environment_says_who_is_which_or_what_is_missing() {
        assert_eq!(look(&[], &[("RANK", "1")]).unwrap(), None);
        let own = [(ADDRESS, "localhost:7777"), (ADDRESS_RANK, "1"), (ADDRESS_SIZE, "4")];
        assert_eq!(look(&own, &[]).unwrap(), Some(Rendezvous::new("localhost:7777", 1, 4)));
        let torch = [("MASTER_ADDR", "::1"), ("MASTER_PORT", "29500"), ("RANK", "2"), ("WORLD_SIZE", "3")];
        let found = |asked| look(&[(ADDRESS, asked)], &torch).unwrap();
        assert_eq!(found("env"), Some(Rendezvous::new("[::1]:29500", 2, 3)));
        assert_eq!(found("ENV:29501"), Some(Rendezvous::new("[::1]:29501", 2, 3)));
        assert!(refusal(&own[..1], &[]).contains("SHMEM_RENDEZVOUS_RANK is not"));
        assert!(refusal(&own[..2], &[]).contains("SHMEM_RENDEZVOUS_SIZE is not"));
        assert!(refusal(&own[1..], &[]).contains("SHMEM_RENDEZVOUS is not"));
        assert!(refusal(&[(ADDRESS, "env")], &torch[..3]).contains("asks for WORLD_SIZE"));
        assert!(refusal(&[(ADDRESS, "env")], &[]).contains("asks for MASTER_ADDR"));
        let odd = [torch[0], torch[1], ("RANK", "first"), torch[3]];
        assert!(refusal(&[(ADDRESS, "env")], &odd).contains("RANK=\"first\" is no number"));
    }

    #[test]
    fn numbers_and_secrets_that_cannot_be_used_are_refused_in_a_line() {
        let own = |address, rank, size| [(ADDRESS, address), (ADDRESS_RANK, rank), (ADDRESS_SIZE, size)];
        assert!(refusal(&own("localhost:1", "4", "4"), &[]).contains("PE 4 of 4"));
        assert!(refusal(&own("192.0.2.1:1", "0", "4"), &[]).contains("without a secret"));
        let short = Rendezvous { secret: Some(vec![1; 15]), ..Rendezvous::new("192.0.2.1:1", 0, 1) };
        assert!(short.checked().unwrap_err().to_string().contains("15 bytes"));
        assert!(Rendezvous { secret: Some(vec![1; 16]), ..short }.checked().is_ok());
    }

    #[test]
    fn a_file_with_a_secret_is_its_owners_alone() {
        let path = std::env::temp_dir().join(format!("oxshmem-secret-{}", std::process::id()));
        let text = |path: &Path| read_secret(path).map_err(|error| error.to_string());
        assert!(text(&path).unwrap_err().contains("cannot be read"));
        let mut file = owned::file(&path).unwrap();
        file.write_all(b"0123456789abcde\n\n").unwrap();
        assert!(text(&path).unwrap_err().contains("has 15 bytes, and needs 16"));
        file.write_all(b"0123456789abcdef\n").unwrap();
        assert_eq!(text(&path).unwrap(), b"0123456789abcde\n\n0123456789abcdef");
        for mode in [0o640, 0o604, 0o620, 0o601] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(text(&path).unwrap_err().contains(&format!("mode is {mode:03o}")), "{mode:o}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
