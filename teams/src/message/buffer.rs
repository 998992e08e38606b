//! Buffers of messages between hosts, and those that were dropped, which are used again.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use bytemuck::{Pod, Zeroable};
use oxshmem_base::sync::{Mutex, lock};

use crate::tuning::{CHUNK, WINDOW};

/// Bytes of the longest call check.
pub(crate) const MOST: usize = (16 << 10) + 192;

/// Bytes in memory that suits every kernel.
#[derive(Debug)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    start: usize,
    len: usize,
    /// Where the memory goes when this is dropped.
    pool: Option<Arc<Pool>>,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// What elements of every type are aligned to.
const ALIGN: usize = 16;

impl Buffer {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self { lines: zeros(len), start: 0, len, pool: None }
    }

    /// This buffer without its first `len` bytes, which are a multiple of every alignment.
    pub(super) fn behind(mut self, len: usize) -> Self {
        debug_assert!(len.is_multiple_of(ALIGN));
        let len = len.min(self.len);
        (self.start, self.len) = (self.start + len, self.len - len);
        self
    }

    /// The first `len` bytes of this buffer only.
    pub(crate) fn cut(mut self, len: usize) -> Self {
        self.len = self.len.min(len);
        self
    }
}

fn zeros(len: usize) -> Vec<Line> {
    bytemuck::zeroed_vec(len.div_ceil(size_of::<Line>()))
}

/// Memory of buffers that were dropped, a few of each of some sizes: a system takes longer to give
/// new memory than to bring what comes to it.
#[derive(Debug, Default)]
pub(crate) struct Pool([Mutex<Vec<Vec<Line>>>; SIZES.len()]);

/// The sizes: a call check with one word, what is short, the longest call check, and a chunk.
const SIZES: [usize; 4] = [size_of::<Line>(), 2 << 10, MOST, CHUNK];
const _: () = assert!(SIZES[2] < CHUNK / 4 && SIZES[2].is_multiple_of(size_of::<Line>()));
/// The most buffers of one size that are kept.
const SPARE: usize = 4 * WINDOW;

impl Pool {
    /// `len` bytes, whatever they are.
    pub(crate) fn buffer(self: &Arc<Self>, len: usize) -> Buffer {
        let Some(size) = size_for(len) else { return Buffer::zeros(len) };
        let spare = lock(&self.0[size]).pop();
        let lines = spare.unwrap_or_else(|| zeros(SIZES[size]));
        Buffer { lines, start: 0, len, pool: Some(Arc::clone(self)) }
    }

    /// A copy of bytes.
    pub(crate) fn copy_of(self: &Arc<Self>, bytes: &[u8]) -> Buffer {
        let mut buffer = self.buffer(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }
}

/// Which size a buffer of `len` bytes has, if such are kept.
fn size_for(len: usize) -> Option<usize> {
    match len {
        0 => None,
        _ if len <= SIZES[2] => SIZES.iter().position(|&size| len <= size),
        _ => (CHUNK / 4..=CHUNK).contains(&len).then_some(3),
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = match &self.pool {
            Some(pool) => pool.buffer(self.len),
            None => Self::zeros(self.len),
        };
        copy.copy_from_slice(self);
        copy
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(pool) = &self.pool else { return };
        let room = size_of_val(&*self.lines);
        if let Some(size) = SIZES.iter().position(|&size| size == room) {
            let mut spare = lock(&pool.0[size]);
            if spare.len() < SPARE {
                spare.push(std::mem::take(&mut self.lines));
            }
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[self.start..][..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[self.start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_a_kept_size_is_used_again() {
        let pool = Arc::new(Pool::default());
        for (len, size) in [(1, Some(0)), (64, Some(0)), (65, Some(1)), (MOST, Some(2)), (CHUNK, Some(3))] {
            assert_eq!(size_for(len), size);
            let mut buffer = pool.buffer(len);
            buffer.fill(7);
            let (at, copy) = (buffer.as_ptr(), buffer.clone());
            assert_eq!(*copy, *buffer);
            drop(buffer);
            assert_eq!(pool.buffer(len).as_ptr(), at);
        }
        assert_eq!([0, MOST + 1, CHUNK + 1].map(size_for), [None; 3]);
        assert_eq!(Buffer::zeros(9).behind(16).len(), 0);
    }
}
