//! How much each PE gives to a `collect`, where there are too many for an exchange of that.

use oxshmem_base::Result;

use crate::{
    algorithm::{
        called::{Called, Lengths, total_of},
        exchange::meet,
        sync::sync_here,
    },
    group::Group,
    memory::scratch::{GENERAL, LINE},
};

/// Where in the general scratch memory the length of a block is.
pub(crate) const LENGTH_AT: usize = 16 << 10;
/// Where the block itself is, if it is short.
const BLOCK_AT: usize = LENGTH_AT + LINE;
/// Bytes of blocks that may come with their lengths.
pub(crate) const CARRIED: usize = 8 << 10;
const _: () = assert!(size_of::<Lengths>() <= LINE && BLOCK_AT + CARRIED <= GENERAL);

/// The lengths of each PE in a `collect`, where there are too many PEs for an exchange of that,
/// and, on the first PE, all PEs' source, one behind the other, if these have no more than
/// `carried` bytes together. Each PE leaves its own in its general scratch memory, where others
/// read it before they meet again.
pub(crate) async fn lengths(
    group: &Group,
    call: &Called,
    carried: usize,
) -> Result<(Vec<Lengths>, Option<Vec<u8>>)> {
    let Called { source, dest, .. } = *call;
    debug_assert!(carried <= CARRIED);
    let words = group.general(LENGTH_AT, size_of::<Lengths>());
    let block = |len: usize| group.general(BLOCK_AT, len);
    group.memory.write(words, bytemuck::bytes_of(&[source.len() as u64, dest.len() as u64]));
    if source.len() <= carried {
        group.memory.copy_here(block(source.len()), source);
    }
    meet(group, call.signature).await?;
    let lengths = (0..group.n()).map(|pe| {
        let mut lengths: Lengths = [0; 2];
        group.memory.read_from(words, group.block(pe), bytemuck::bytes_of_mut(&mut lengths));
        lengths
    });
    let lengths: Vec<Lengths> = lengths.collect();
    let total = total_of(&lengths);
    let blocks = (group.me() == 0 && total <= carried).then(|| {
        let mut blocks = vec![0; total];
        let mut rest = &mut blocks[..];
        for (pe, &[len, _]) in lengths.iter().enumerate() {
            let (to, behind) = rest.split_at_mut(len as usize);
            group.memory.read_from(block(len as usize), group.block(pe), to);
            rest = behind;
        }
        blocks
    });
    // No PE writes the next ones before all have read these.
    sync_here(group).await?;
    Ok((lengths, blocks))
}
