//! How `oshrun` tells a process that it is a PE: one environment variable.

use std::{fmt, os::fd::RawFd, str::FromStr};

use super::Placement;

/// The environment variable by which `oshrun` tells a process which PE it is. Internal: its form may
/// change with every version, see [`Job`].
pub const JOB_VARIABLE: &str = "OXSHMEM_JOB";

/// What [`JOB_VARIABLE`] says: `fd=7,inode=4711,pe=0,n=4,hosts=1,host=node1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The descriptor of this PE's end of its socket.
    pub fd: RawFd,
    /// That socket's inode, by which a process can tell that the descriptor is still that socket.
    pub inode: u64,
    /// This PE's number.
    pub pe: usize,
    /// How many PEs the job has.
    pub n_pes: usize,
    /// Into how many hosts the job's PEs are divided. More than one is a simulation.
    pub hosts: usize,
    /// The name of the machine.
    pub host: String,
}

impl Job {
    /// Where this PE is: PEs are dealt to hosts in blocks.
    pub fn placement(&self) -> Placement {
        let host = host_of(self.pe, self.n_pes, self.hosts);
        Placement {
            pe: self.pe,
            n_pes: self.n_pes,
            local: (0..self.n_pes).filter(|&pe| host_of(pe, self.n_pes, self.hosts) == host).collect(),
            host: if self.hosts == 1 { self.host.clone() } else { format!("{}#{host}", self.host) },
        }
    }
}

/// The number of the host that `pe` is on, where `n_pes` PEs are dealt to `hosts` hosts in blocks.
pub fn host_of(pe: usize, n_pes: usize, hosts: usize) -> usize {
    pe * hosts / n_pes
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fd, inode, pe, n_pes, hosts, host } = self;
        write!(f, "fd={fd},inode={inode},pe={pe},n={n_pes},hosts={hosts},host={host}")
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
            pe: field(text, "pe")?,
            n_pes: field(text, "n")?,
            hosts: field(text, "hosts")?,
            host: field(text, "host")?,
        };
        if job.fd < 0 || job.pe >= job.n_pes || job.hosts == 0 || job.hosts > job.n_pes {
            return Err("its fields do not fit together".to_owned());
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job { fd: 7, inode: 4711, pe: 5, n_pes: 6, hosts: 2, host: "node1".to_owned() }
    }

    #[test]
    fn a_job_survives_the_environment() {
        assert_eq!(job().to_string().parse(), Ok(job()));
        assert_eq!(*job().placement().local, [3, 4, 5]);
        assert_eq!(job().placement().host, "node1#1");
    }

    #[test]
    fn a_malformed_job_says_what_is_wrong() {
        let wrong = |text: &str| text.parse::<Job>().unwrap_err();
        assert_eq!(wrong(""), "it has no field \"fd\"");
        assert_eq!(wrong("fd=seven"), "its field \"fd\" cannot be read");
        let text = job().to_string().replace("pe=5", "pe=6");
        assert_eq!(wrong(&text), "its fields do not fit together");
    }
}
