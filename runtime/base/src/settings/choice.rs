//! Settings that take one of a few words.

/// Words that stand for values of a type.
pub(super) trait Choice: Copy + PartialEq + 'static {
    /// Every value with its word.
    const ALL: &'static [(&'static str, Self)];
    /// The words, as a list for people.
    const WORDS: &'static str;

    /// Reads a word, of either case, with white space around it ignored.
    fn read(text: &str) -> Result<Self, String> {
        let word = text.trim_ascii();
        let found = Self::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        found.map(|&(_, value)| value).ok_or_else(|| format!("expected one of {}", Self::WORDS))
    }
}

/// Defines an enum together with the word for each of its values.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident {
        $(#[$first_meta:meta])* $first:ident = $first_word:literal,
        $($(#[$value_meta:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name { $(#[$first_meta])* $first, $($(#[$value_meta])* $value,)+ }

        impl Choice for $name {
            const ALL: &'static [(&'static str, Self)] = &[($first_word, Self::$first), $(($word, Self::$value)),+];
            const WORDS: &'static str = concat!($first_word, $(", ", $word),+);
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Choice::read(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { Self::$first => $first_word, $(Self::$value => $word),+ })
            }
        }
    };
}

choice! {
    /// What happens when PEs call an allocation with different arguments (`SHMEM_CHECK_ALLOC`).
    CheckAlloc {
        /// The call fails on every PE.
        #[default]
        Error = "error",
        /// The difference is reported, and the call goes on.
        Warn = "warn",
        /// PEs do not compare.
        Off = "off",
    }
}

choice! {
    /// What drives progress while a PE's futures wait (`SHMEM_DRIVER`).
    Driver {
        /// A tokio task where `init` ran in a tokio runtime, a helper thread elsewhere.
        #[default]
        Auto = "auto",
        /// A task of the tokio runtime that `init` ran in.
        Tokio = "tokio",
        /// A helper thread.
        Thread = "thread",
    }
}

choice! {
    /// What leads to PEs of other hosts (`SHMEM_NET`).
    NetKind {
        /// UCX where it finds a network that is faster than TCP on all hosts of the job, else TCP.
        #[default]
        Auto = "auto",
        /// Sockets of the library's own.
        Tcp = "tcp",
        /// UCX, over whatever it finds.
        Ucx = "ucx",
    }
}

choice! {
    /// What protects what PEs of different hosts send each other (`SHMEM_NET_SECURITY`).
    NetSecurity {
        /// Both ends of a connection prove that they are of the job.
        #[default]
        Auth = "auth",
        /// What follows is encrypted, too.
        Encrypt = "encrypt",
    }
}

choice! {
    /// What becomes of a job that has lost a PE (`SHMEM_ON_LOSS`).
    OnLoss {
        /// It ends.
        #[default]
        End = "end",
        /// It goes on with the others.
        Continue = "continue",
    }
}

choice! {
    /// Which space the default one is (`SHMEM_DEFAULT_SPACE`).
    DefaultSpace {
        /// The CPU space if that is enabled, else the GPU space.
        #[default]
        Auto = "auto",
        /// Host memory.
        Cpu = "CPU",
        /// Device memory.
        Gpu = "GPU",
    }
}

choice! {
    /// How PEs of a host share device memory (`SHMEM_GPU_SHARING`).
    GpuSharing {
        /// By descriptors where the driver can, else by IPC handles.
        #[default]
        Auto = "auto",
        /// By descriptors: addresses and memory are apart.
        Vmm = "vmm",
        /// By IPC handles.
        Ipc = "ipc",
    }
}

choice! {
    /// Which side of the doorbell handshake pays for the fence (`SHMEM_FENCE`).
    Fence {
        /// The writer where local PEs outnumber CPUs or the kernel has no membarrier, the sleeper
        /// elsewhere.
        #[default]
        Auto = "auto",
        /// The writer: a full fence at every store that may end a wait.
        Writer = "writer",
        /// The PE about to sleep: `membarrier(GLOBAL_EXPEDITED)`.
        Membarrier = "membarrier",
    }
}

choice! {
    /// How PEs of a team wait for each other (`SHMEM_SYNC_ALGORITHM`).
    SyncAlgorithm {
        /// By team size and placement.
        #[default]
        Auto = "auto",
        /// log2(n) rounds, in which PE i signals PE i + 2^round.
        Dissemination = "dissemination",
        /// One counter, on the team's first PE.
        Counter = "counter",
    }
}

choice! {
    /// How values are combined between the hosts of a team (`SHMEM_REDUCE_ALGORITHM`).
    ReduceAlgorithm {
        /// By size and the number of hosts.
        #[default]
        Auto = "auto",
        /// log2(k) rounds, in which pairs of hosts exchange what they have so far.
        Doubling = "doubling",
        /// In log2(k) rounds pairs of hosts share out what they combine, and in as many they hand
        /// it out.
        Halving = "halving",
        /// Chunks go around a ring twice: combined, then handed out.
        Ring = "ring",
    }
}

choice! {
    /// How the bytes of one host come to all (`SHMEM_BROADCAST_ALGORITHM`).
    BroadcastAlgorithm {
        /// By size and the number of hosts.
        #[default]
        Auto = "auto",
        /// Down a binomial tree.
        Binomial = "binomial",
        /// The root's host gives each host a part, and the parts go to all in rounds.
        Scatter = "scatter",
        /// From one host to the next, in chunks.
        Chain = "chain",
    }
}

choice! {
    /// How `collect` and `fcollect` bring the blocks of each host to all
    /// (`SHMEM_COLLECT_ALGORITHM`).
    CollectAlgorithm {
        /// By size and the number of hosts.
        #[default]
        Auto = "auto",
        /// log2(k) rounds, in which hosts send all blocks they have.
        Bruck = "bruck",
        /// Blocks go around a ring.
        Ring = "ring",
    }
}

choice! {
    /// How `alltoall` and `alltoalls` exchange blocks between hosts (`SHMEM_ALLTOALL_ALGORITHM`).
    AlltoallAlgorithm {
        /// By size, and the most PEs that a host has.
        #[default]
        Auto = "auto",
        /// One PE of each host, for all PEs of it.
        Leaders = "leaders",
        /// n rounds, in each of which every PE sends one block and receives one.
        Pairwise = "pairwise",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_read_back<T: Choice + std::fmt::Display + std::fmt::Debug>() {
        for &(word, value) in T::ALL {
            assert_eq!(value.to_string(), word);
            assert_eq!(T::read(word), Ok(value));
            assert_eq!(T::read(&format!(" {} ", word.to_uppercase())), Ok(value));
        }
        for text in ["", "autox", "a", "1", "auto writer"] {
            let why = T::read(text).unwrap_err();
            assert!(T::ALL.iter().all(|(word, _)| why.contains(word)), "{why}");
        }
    }

    #[test]
    fn every_word_is_read_and_shown_and_no_other() {
        words_read_back::<CheckAlloc>();
        words_read_back::<Driver>();
        words_read_back::<NetKind>();
        words_read_back::<NetSecurity>();
        words_read_back::<DefaultSpace>();
        words_read_back::<Fence>();
        words_read_back::<GpuSharing>();
        words_read_back::<SyncAlgorithm>();
        words_read_back::<ReduceAlgorithm>();
        words_read_back::<BroadcastAlgorithm>();
        words_read_back::<CollectAlgorithm>();
        words_read_back::<AlltoallAlgorithm>();
    }
}
