//! Changed messages of PEs, as UCX hands them over.

use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use oxshmem_base::fuzz::{bytes_of, mutated, words_of};
use oxshmem_memory::op::Verb;
use ucx_sys::{UCS_OK, ucp_am_recv_param_t};

use super::{
    Worker,
    arrivals::{
        ANSWER, APPLIED, BATCH, GOODBYE, MESSAGE, NOTIFICATION, QUESTION, SHORT_MESSAGE, WANT_APPLIED,
    },
    handlers::HANDLERS,
    tests::three,
};
use crate::{
    batch::{Head, decode},
    fuzz::{batches, heads},
};

/// A message: its name and the number of its header's words, then those, then its data.
fn message(id: u32, header: &[u64], data: &[u64]) -> Vec<u8> {
    let names = [u64::from(id), header.len() as u64];
    bytes_of(&[&names, header, data].concat())
}

/// What PE 1 sends to PE 0.
fn real() -> Vec<Vec<u8>> {
    let (from, tag) = (1, 5);
    let stamp = from;
    let mut all = vec![
        message(APPLIED, &[], &[from, 1]),
        message(ANSWER, &[], &[1 << 32, 7]),
        message(GOODBYE, &[], &[2]),
        message(NOTIFICATION, &[from, 1, 0, 0, 0, 0], &[1, 2, 3]),
        message(SHORT_MESSAGE, &[], &[1, 2, tag, from << 32 | 12]),
        message(MESSAGE, &[from, tag], &[3; 400]),
        message(WANT_APPLIED, &[], &[from, 1]),
    ];
    for batch in batches() {
        all.push(message(BATCH, &[], &[&batch[..], &[stamp]].concat()));
    }
    let is_atomic = |head: &Head| decode(*head).is_ok_and(|op| matches!(op.verb, Verb::Atomic(..)));
    let atomics = heads().into_iter().filter(is_atomic);
    all.extend(atomics.map(|head| message(QUESTION, &[], &[&[from, 1], &head[..]].concat())));
    all
}

/// Hands a message over as UCX would, with the number that it is to end with.
fn hand_over(worker: &Worker, bytes: &[u8]) {
    let [id, header_len, rest @ ..] = &words_of(bytes)[..] else { return };
    let named = |(known, _): &&(u32, _)| u64::from(*known) == *id;
    let Some((_, Some(handler))) = HANDLERS.iter().find(named) else { return };
    let (header, data) = rest.split_at(*header_len as usize % 8 % (rest.len() + 1));
    let (mut header, mut data) = (header.to_vec(), bytes_of(data));
    // What is changed may end within a word.
    data.extend(bytes.as_chunks::<8>().1);
    match header.is_empty() {
        true => data.extend(worker.strangers.secret().to_ne_bytes()),
        false => header.push(worker.strangers.secret()),
    }
    let param = ucp_am_recv_param_t::default();
    // SAFETY: header, data and `param` live for the time of the call, and the worker is what
    // handlers are given.
    let status = unsafe {
        handler(
            ptr::from_ref(worker).cast_mut().cast(),
            header.as_ptr().cast(),
            size_of_val(&*header),
            data.as_mut_ptr().cast(),
            data.len(),
            &param,
        )
    };
    assert_eq!(status, UCS_OK);
}

#[test]
fn messages_are_taken_or_dropped_whatever_is_sent() {
    let Some((ends, workers)) = three(Duration::ZERO) else { return };
    let real = real();
    for (name, _) in HANDLERS {
        assert!(
            real.iter().any(|bytes| words_of(bytes)[0] == u64::from(name)),
            "message {name} is not tried"
        );
    }
    // A receive waits for a message, with room for most of those.
    let room = Box::leak(vec![0u8; 4096].into_boxed_slice());
    let waits = Arc::new(AtomicBool::new(false));
    mutated(&real, |bytes| {
        // Relaxed: the messages come on this thread, and complete here.
        if !waits.swap(true, Ordering::Relaxed) {
            let waits = Arc::clone(&waits);
            let done = Box::new(move |_| waits.store(false, Ordering::Relaxed));
            // SAFETY: the memory is never freed.
            unsafe { ends[0].net.receive(1, 5, room.as_ptr().cast_mut(), room.len(), done) };
        }
        hand_over(&workers[0], bytes);
        ends.iter().for_each(|end| _ = end.net.poll());
    });
}
