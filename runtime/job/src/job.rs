//! How a process that `oshrun` starts learns that it is a PE: one environment variable.

use std::{fmt, os::fd::RawFd, str::FromStr, sync::Arc};

use oxshmem_base::Distribution;

use super::Placement;

/// The environment variable by which `oshrun` says which PE a process is. Internal: its form
/// may change with every version, see [`Job`].
pub const JOB_VARIABLE: &str = "OXSHMEM_JOB";

/// All processes that Linux can have on a machine at once, and more PEs than `oshrun` starts.
const MOST_PROCESSES: usize = 1 << 22;

/// What [`JOB_VARIABLE`] says:
/// `fd=7,inode=4711,life=8,end=4712,pe=0,n=4,hosts=3+1,fake=1,again=0,host=node1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The descriptor of this PE's end of its socket.
    pub fd: RawFd,
    /// That socket's inode, by which a process can tell that the descriptor is still that socket.
    pub inode: u64,
    /// The descriptor of the end of the launcher's [`Lifeline`](super::lifeline::Lifeline) that PEs
    /// have.
    pub life: RawFd,
    /// That pipe's inode, likewise.
    pub end: u64,
    /// This PE's number.
    pub pe: usize,
    /// How many PEs the job has.
    pub n_pes: usize,
    /// How the job's PEs are distributed over hosts.
    pub hosts: Distribution,
    /// Whether one machine simulates all of these hosts.
    pub simulated: bool,
    /// Whether this PE comes in the place of one that the job has lost.
    pub is_replacement: bool,
    /// The name of the machine that this PE is on.
    pub host: String,
}

impl Job {
    /// Where this PE is.
    ///
    /// # Errors
    /// [`Error::Unsupported`](oxshmem_base::Error::Unsupported) if this many PEs cannot be
    /// distributed like that.
    pub fn placement(&self) -> oxshmem_base::Result<Placement> {
        let hosts = self.hosts.hosts(self.n_pes)?;
        let name = match self.simulated {
            true => hosts.simulated_name(&self.host, hosts.host_of(self.pe)),
            false => self.host.clone(),
        };
        let placement = Placement::new(self.pe, Arc::new(hosts), name);
        Ok(Placement { is_replacement: self.is_replacement, ..placement })
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fd, inode, life, end, pe, n_pes, hosts, simulated, is_replacement, host } = self;
        let (fake, again) = (u8::from(*simulated), u8::from(*is_replacement));
        write!(f, "fd={fd},inode={inode},life={life},end={end},pe={pe},n={n_pes},hosts={hosts},")?;
        write!(f, "fake={fake},again={again},host={host}")
    }
}

impl FromStr for Job {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        fn field<T: FromStr>(text: &str, name: &str) -> Result<T, String> {
            text.split(',')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
                .ok_or_else(|| format!("it has no field {name:?}"))?
                .parse()
                .map_err(|_| format!("its field {name:?} cannot be read"))
        }
        let job = Self {
            fd: field(text, "fd")?,
            inode: field(text, "inode")?,
            life: field(text, "life")?,
            end: field(text, "end")?,
            pe: field(text, "pe")?,
            n_pes: field(text, "n")?,
            hosts: field(text, "hosts")?,
            simulated: field::<u8>(text, "fake")? != 0,
            is_replacement: field::<u8>(text, "again")? != 0,
            host: field(text, "host")?,
        };
        let count = 1..=MOST_PROCESSES;
        if job.fd < 0
            || job.life < 0
            || !count.contains(&job.n_pes)
            || job.pe >= job.n_pes
            || job.hosts.hosts(job.n_pes).is_err()
        {
            return Err("its fields do not fit together".to_owned());
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            fd: 7,
            inode: 4711,
            life: 8,
            end: 4712,
            pe: 5,
            n_pes: 6,
            hosts: Distribution::each([1, 2, 3]),
            simulated: true,
            is_replacement: false,
            host: "node1".to_owned(),
        }
    }

    #[test]
    fn a_job_survives_the_environment() {
        assert_eq!(job().to_string().parse(), Ok(job()));
        let placement = job().placement().unwrap();
        assert_eq!(*placement.local, [3, 4, 5]);
        assert_eq!(placement.host, "node1-2");
        let one = Job { hosts: Distribution::default(), ..job() }.placement().unwrap();
        assert_eq!((one.local.len(), one.host.as_str()), (6, "node1"));
        let real = Job { simulated: false, ..job() };
        assert_eq!(real.to_string().parse(), Ok(real.clone()));
        assert_eq!(real.placement().unwrap().host, "node1");
    }

    #[test]
    fn a_job_of_ten_thousand_pes_takes_a_line() {
        for hosts in [
            Distribution::even(100),
            Distribution::even(100).cyclic(),
            Distribution::each(vec![100; 100]).cyclic(),
        ] {
            let job = Job { pe: 9_999, n_pes: 10_000, hosts, ..job() };
            assert!(job.to_string().len() < 100, "{job}");
            let parsed: Job = job.to_string().parse().unwrap();
            assert_eq!(parsed.placement().unwrap().local.len(), 100);
        }
    }

    #[test]
    fn a_malformed_job_says_what_is_wrong() {
        let wrong = |text: &str| text.parse::<Job>().unwrap_err();
        assert_eq!(wrong(""), "it has no field \"fd\"");
        assert_eq!(wrong("fd=seven"), "its field \"fd\" cannot be read");
        for (field, other) in
            [("pe=5", "pe=6"), ("fd=7", "fd=-7"), ("life=8", "life=-8"), ("hosts=1+2+3", "hosts=1+2+4")]
        {
            let text = job().to_string().replace(field, other);
            assert_eq!(wrong(&text), "its fields do not fit together");
        }
        let one = Job { hosts: Distribution::default(), ..job() }.to_string();
        for n in ["0", "18446744073709551615", "99999999999", "4194305"] {
            let text = one.replace(",n=6,", &format!(",n={n},"));
            assert_eq!(wrong(&text), "its fields do not fit together", "{n}");
        }
    }
}
