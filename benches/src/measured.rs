//! The collectives that are measured, and how large their blocks are.

/// Bytes of one PE's block.
pub(crate) const SIZES: [usize; 5] = [8, 1 << 10, 8 << 10, 64 << 10, 1 << 20];

/// The collectives that are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Barrier,
    Sync,
    Sum,
    Inscan,
    Broadcast,
    /// The root is another PE in each call.
    BroadcastRotating,
    Collect,
    Fcollect,
    Alltoall,
    Alltoalls,
}

impl Op {
    pub(crate) const ALL: [(Self, &str); 10] = [
        (Self::Barrier, "barrier"),
        (Self::Sync, "sync"),
        (Self::Sum, "sum"),
        (Self::Broadcast, "broadcast"),
        (Self::BroadcastRotating, "broadcast_rotating"),
        (Self::Fcollect, "fcollect"),
        (Self::Collect, "collect"),
        (Self::Alltoall, "alltoall"),
        (Self::Alltoalls, "alltoalls"),
        (Self::Inscan, "inscan"),
    ];

    pub(crate) fn sizes(self) -> &'static [usize] {
        if matches!(self, Self::Barrier | Self::Sync) { &[0] } else { &SIZES }
    }
}
