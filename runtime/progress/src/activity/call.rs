//! The calls that a PE can be stuck in, and those that a recording of a job shows: one row each.

/// What kind of call it is, which decides what its arguments mean and which PEs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Waits for words of this PE: see [`Activity::wait`](super::Activity::wait).
    Wait,
    /// Waits for operations of this PE: see
    /// [`Activity::outstanding`](super::Activity::outstanding).
    Order,
    /// Waits for other PEs to let go: see [`Activity::lock`](super::Activity::lock).
    Lock,
    /// All PEs of a team make it: see [`Activity::collective`](super::Activity::collective).
    Collective,
    /// Moves data, or changes a word of another PE.
    Operation,
    /// Anything else.
    Other,
}

macro_rules! calls {
    ($($call:ident = $code:literal, $name:literal, $family:ident;)+) => {
        /// A call, by the specification's name. The codes are what PEs and `oshrun` of one build
        /// agree on.
        ///
        /// ```
        /// use oxshmem_progress::activity::Call;
        ///
        /// assert_eq!(Call::Broadcast.name(), "broadcast");
        /// assert!(Call::Broadcast.is_collective() && !Call::Quiet.is_collective());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Call {
            $(#[doc = concat!("`", $name, "`")] $call = $code,)+
        }

        impl Call {
            /// Every call.
            pub const ALL: &'static [Self] = &[$(Self::$call),+];

            /// Its name.
            #[inline]
            pub fn name(self) -> &'static str {
                match self { $(Self::$call => $name),+ }
            }

            fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$call),)+ _ => None }
            }

            pub(super) fn family(self) -> Family {
                match self { $(Self::$call => Family::$family),+ }
            }

            /// The call of that code, if there is one.
            pub fn from_code(code: u64) -> Option<Self> {
                match code { $($code => Some(Self::$call),)+ _ => None }
            }
        }
    };
}

calls! {
    WaitUntil = 1, "wait_until", Wait;
    WaitUntilAll = 2, "wait_until_all", Wait;
    WaitUntilAny = 3, "wait_until_any", Wait;
    WaitUntilSome = 4, "wait_until_some", Wait;
    WaitUntilAllVector = 5, "wait_until_all_vector", Wait;
    WaitUntilAnyVector = 6, "wait_until_any_vector", Wait;
    WaitUntilSomeVector = 7, "wait_until_some_vector", Wait;
    Quiet = 16, "quiet", Order;
    PeQuiet = 17, "pe_quiet", Order;
    Fence = 18, "fence", Order;
    SetLock = 24, "set_lock", Lock;
    ClearLock = 25, "clear_lock", Lock;
    Sync = 32, "sync", Collective;
    Barrier = 33, "barrier", Collective;
    Broadcast = 34, "broadcast", Collective;
    Collect = 35, "collect", Collective;
    Fcollect = 36, "fcollect", Collective;
    Alltoall = 37, "alltoall", Collective;
    Alltoalls = 38, "alltoalls", Collective;
    AndReduce = 48, "and_reduce", Collective;
    OrReduce = 49, "or_reduce", Collective;
    XorReduce = 50, "xor_reduce", Collective;
    MinReduce = 51, "min_reduce", Collective;
    MaxReduce = 52, "max_reduce", Collective;
    SumReduce = 53, "sum_reduce", Collective;
    ProdReduce = 54, "prod_reduce", Collective;
    SumInscan = 55, "sum_inscan", Collective;
    SumExscan = 56, "sum_exscan", Collective;
    TeamSplit = 64, "team_split", Collective;
    TeamDestroy = 65, "team_destroy", Collective;
    Alloc = 66, "alloc", Collective;
    Free = 67, "free", Collective;
    Finalize = 68, "finalize", Collective;
    AllocZeroed = 69, "alloc_zeroed", Collective;
    AllocAligned = 70, "alloc_aligned", Collective;
    AllocWithHints = 71, "alloc_with_hints", Collective;
    Realloc = 72, "realloc", Collective;
    Reclaim = 73, "reclaim", Collective;
    BroadcastBytes = 74, "broadcast_bytes", Collective;
    OnStream = 75, "on_stream", Collective;
    Survivors = 76, "survivors", Collective;
    Rebuilt = 77, "rebuilt", Collective;
    RefusedCollective = 126, "a collective with arguments that do not fit", Collective;
    OtherCollective = 127, "a collective", Collective;
    Other = 128, "a call", Other;
    Phase = 129, "phase", Other;
    Put = 160, "put", Operation;
    PutNbi = 161, "put_nbi", Operation;
    P = 162, "p", Operation;
    Get = 163, "get", Operation;
    GetNbi = 164, "get_nbi", Operation;
    G = 165, "g", Operation;
    Iput = 166, "iput", Operation;
    Ibput = 167, "ibput", Operation;
    Iget = 168, "iget", Operation;
    Ibget = 169, "ibget", Operation;
    PutSignal = 170, "put_signal", Operation;
    PutSignalNbi = 171, "put_signal_nbi", Operation;
    SignalSet = 172, "signal_set", Operation;
    SignalAdd = 173, "signal_add", Operation;
    Fetch = 174, "fetch", Operation;
    FetchNbi = 175, "fetch_nbi", Operation;
    Set = 176, "set", Operation;
    Swap = 177, "swap", Operation;
    SwapNbi = 178, "swap_nbi", Operation;
    CompareSwap = 179, "compare_swap", Operation;
    CompareSwapNbi = 180, "compare_swap_nbi", Operation;
    FetchInc = 181, "fetch_inc", Operation;
    FetchIncNbi = 182, "fetch_inc_nbi", Operation;
    Inc = 183, "inc", Operation;
    FetchAdd = 184, "fetch_add", Operation;
    FetchAddNbi = 185, "fetch_add_nbi", Operation;
    Add = 186, "add", Operation;
    FetchAnd = 187, "fetch_and", Operation;
    FetchAndNbi = 188, "fetch_and_nbi", Operation;
    And = 189, "and", Operation;
    FetchOr = 190, "fetch_or", Operation;
    FetchOrNbi = 191, "fetch_or_nbi", Operation;
    Or = 192, "or", Operation;
    FetchXor = 193, "fetch_xor", Operation;
    FetchXorNbi = 194, "fetch_xor_nbi", Operation;
    Xor = 195, "xor", Operation;
    PutOnStream = 196, "put_on_stream", Operation;
    GetOnStream = 197, "get_on_stream", Operation;
    PutSignalOnStream = 198, "put_signal_on_stream", Operation;
    SignalOpOnStream = 199, "signal_op_on_stream", Operation;
    SessionBatch = 200, "session_batch", Operation;
}

impl Call {
    /// Whether all PEs of a team make it together.
    pub fn is_collective(self) -> bool {
        self.family() == Family::Collective
    }

    /// Whether it moves data, or changes a word of another PE.
    pub fn is_operation(self) -> bool {
        self.family() == Family::Operation
    }

    /// Whether it does nothing but wait: for words, operations or a lock.
    pub fn is_wait(self) -> bool {
        matches!(self.family(), Family::Wait | Family::Order | Family::Lock)
    }

    /// The collective of that name, which is the specification's or that of a function of this
    /// library; [`OtherCollective`](Self::OtherCollective) where there is none in the table.
    ///
    /// ```
    /// use oxshmem_progress::activity::Call;
    ///
    /// assert_eq!(Call::collective("sum_reduce"), Call::SumReduce);
    /// assert_eq!(Call::collective("barrier_all"), Call::Barrier);
    /// assert_eq!(Call::collective("quiet"), Call::OtherCollective);
    /// ```
    pub fn collective(name: &str) -> Self {
        match name {
            "barrier_all" => Self::Barrier,
            "sync_all" => Self::Sync,
            "split_strided" | "split_2d" | "active_set" => Self::TeamSplit,
            "destroy" => Self::TeamDestroy,
            name => {
                Self::from_name(name).filter(|call| call.is_collective()).unwrap_or(Self::OtherCollective)
            }
        }
    }

    /// What it counts as where PEs are compared. An allocation on which PEs disagree is reported by
    /// itself, as `SHMEM_CHECK_ALLOC` says, and there are programs that have it ignored.
    pub(super) fn counts_as(self) -> Self {
        match self {
            Self::AllocZeroed | Self::AllocAligned | Self::AllocWithHints => Self::Alloc,
            call => call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_back_and_no_two_calls_share_a_name() {
        for (i, &call) in Call::ALL.iter().enumerate() {
            assert_eq!(Call::from_code(call as u64), Some(call));
            assert_eq!(Call::from_name(call.name()), Some(call));
            assert!(Call::ALL[..i].iter().all(|other| other.name() != call.name()), "{call:?}");
        }
        assert_eq!(Call::from_code(0), None);
    }
}
