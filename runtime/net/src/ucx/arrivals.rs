//! Active messages as they arrive.
//!
//! UCX calls one function for all of them, [`arrived`], inside of its progress and so under the
//! worker's lock. Everything that is unsafe about that ends there: a kind of message is a type that
//! gets a [`Worker`] and slices. None of them completes anything yet, but leaves an
//! [event](super::Event) or something that is to be sent.
//!
//! A message that does not end as those of this job do is [a stranger's](super::strangers), which
//! is dropped and counted. One of this job that is not of the form its kind has is not from a PE of
//! this build, and is ignored.

use std::{
    ffi::{c_uint, c_void},
    marker::PhantomData,
    ptr, slice,
};

use ucx_sys::*;

use super::{Worker, offers::Offer, operation::HEADER};

/// Names of the active messages. Processes of one build talk to each other only, so they may
/// change.
pub(super) const BATCH: c_uint = 1;
pub(super) const APPLIED: c_uint = 2;
pub(super) const WANT_APPLIED: c_uint = 3;
pub(super) const QUESTION: c_uint = 4;
pub(super) const ANSWER: c_uint = 5;
pub(super) const GOODBYE: c_uint = 6;
pub(super) const NOTIFICATION: c_uint = 7;
pub(super) const SHORT_MESSAGE: c_uint = 8;
pub(super) const MESSAGE: c_uint = 9;

/// Bytes of a word.
pub(super) const WORD: usize = size_of::<u64>();

/// What a message of a header and data does.
pub(super) trait Arrival {
    /// It has come, with its data, which is lent for the time of the call.
    fn came(worker: &Worker, header: &[u64], data: &[u8]);

    /// It has come, and its data is only offered, which those that are sent as such may be. Whether
    /// the offer is kept.
    fn offered(_worker: &Worker, _header: &[u64], _offer: Offer) -> bool {
        false
    }
}

/// What a message of `N` words does, which are its data.
pub(super) trait Note<const N: usize> {
    /// It has come.
    fn came(worker: &Worker, words: [u64; N]);
}

/// A [`Note`], as what it is for UCX.
pub(super) struct Noted<const N: usize, M>(PhantomData<M>);

impl<const N: usize, M: Note<N>> Arrival for Noted<N, M> {
    fn came(worker: &Worker, _header: &[u64], data: &[u8]) {
        if let Some(words) = words_of(data) {
            M::came(worker, words);
        }
    }
}

/// A message has come. UCX calls this.
pub(super) unsafe extern "C" fn arrived<M: Arrival>(
    worker: *mut c_void,
    header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: UCX passes what `accept_messages` gave it, and lends `param` for the time of the
    // call.
    let (worker, is_offer) = unsafe {
        (&*worker.cast::<Worker>(), (*param).recv_attr & u64::from(UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
    };
    let mut words = [0u64; HEADER];
    if !header_len.is_multiple_of(WORD) || header_len > size_of_val(&words) {
        worker.drop_strange();
        return UCS_OK;
    }
    // SAFETY: UCX lends the header for the time of the call; the words have room for it. It may lie
    // anywhere, and any bytes are words.
    unsafe { ptr::copy_nonoverlapping(header.cast::<u8>(), words.as_mut_ptr().cast(), header_len) };
    let header = &words[..header_len / WORD];
    if is_offer {
        let Some((header, _)) = worker.admit(header, &[]) else { return UCS_OK };
        // SAFETY: UCX offers as many bytes by this name.
        let offer = unsafe { Offer::new(data, len) };
        return if M::offered(worker, header, offer) { UCS_INPROGRESS } else { UCS_OK };
    }
    // SAFETY: UCX lends as many bytes for the time of the call, and nothing writes to them; of no
    // bytes it may give no address.
    let data = if len == 0 { &[] } else { unsafe { slice::from_raw_parts(data.cast_const().cast(), len) } };
    if let Some((header, data)) = worker.admit(header, data) {
        M::came(worker, header, data);
    }
    UCS_OK
}

/// The words that these bytes are, if there are `N`.
pub(super) fn words_of<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks();
    let words: &[[u8; WORD]; N] = words.try_into().ok()?;
    rest.is_empty().then(|| words.map(u64::from_ne_bytes))
}

/// Hands on the words that these bytes are, wherever UCX has put them.
pub(super) fn with_words(bytes: &[u8], take: impl FnOnce(&[u64])) {
    // SAFETY: any bytes are words.
    if let ([], words, _) = unsafe { bytes.align_to() } {
        return take(words);
    }
    let (words, _) = bytes.as_chunks();
    let words: Vec<u64> = words.iter().copied().map(u64::from_ne_bytes).collect();
    take(&words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_lie() {
        let mut bytes = [0u8; 33];
        for at in 0..8 {
            bytes[at..][..24].copy_from_slice([7u64, 8, 9].map(u64::to_ne_bytes).as_flattened());
            let here = &bytes[at..][..24];
            assert_eq!(words_of(here), Some([7, 8, 9]));
            let mut seen = Vec::new();
            with_words(here, |words| seen.extend_from_slice(words));
            assert_eq!(seen, [7, 8, 9]);
        }
    }

    #[test]
    fn words_of_another_number_are_none() {
        assert_eq!(words_of::<2>(&[0; 24]), None);
        assert_eq!(words_of::<2>(&[0; 17]), None);
        assert_eq!(words_of::<2>(&[0; 15]), None);
        assert_eq!(words_of::<0>(&[]), Some([]));
    }
}
