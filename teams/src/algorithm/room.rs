//! How much the PEs of a team give to a `collect`, and whether each has room for that.

use oxshmem_base::{Error, Result};

use crate::{group::Group, memory::span::Span, signature::Signature};

/// How many bytes a PE gives to a `collect`, and for how many it has room.
pub(crate) type Lengths = [u64; 2];

/// How many bytes these give together: the greatest number if it is more than that, as they come
/// from other PEs.
pub(crate) fn total_of(lengths: &[Lengths]) -> usize {
    lengths.iter().fold(0, |sum, &[len, _]| sum.saturating_add(len as usize))
}

/// How many bytes the PEs of a team with these `lengths` collect.
///
/// # Errors
/// One of them has no room for them: its own error on that one, and on the others, who have found
/// nothing wrong, that it was that one.
pub(crate) fn check_room(
    group: &Group,
    signature: Signature,
    dest: Span,
    size: usize,
    lengths: &[Lengths],
) -> Result<usize> {
    let total = total_of(lengths);
    if total > dest.len() {
        return Err(too_short(signature, total, dest, size));
    }
    match lengths.iter().position(|&[_, room]| (room as usize) < total) {
        Some(pe) => Err(group.differ_from(pe, Signature::refused(signature.name()), signature)),
        None => Ok(total),
    }
}

/// The error of a `collect` of `total` bytes for which `dest` is too short.
#[cold]
pub(crate) fn too_short(signature: Signature, total: usize, dest: Span, size: usize) -> Error {
    let (source_len, dest_len) = (total / size.max(1), dest.len() / size.max(1));
    Error::LengthMismatch { call: signature.name(), source_len, dest_len }
}
