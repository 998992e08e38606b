//! A root's notice that it has come, which it gives to all others itself: down a tree, where PEs share processors, some would have to come to
//! their turns to pass it on. It is a message of the [stream](crate::stream) that carries nothing.

use std::task::{Poll, Waker};

use oxshmem_base::Result;

use crate::{
    group::{Group, NumberWait},
    processors::For,
    scratch,
    signature::Signature,
    sync::Sync,
};

/// One of them under way.
#[derive(Debug)]
pub(crate) struct Notice {
    signature: Signature,
    root: usize,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Called,
    /// Making room.
    Sync(Sync),
    /// Waiting for the message of that number.
    Root(NumberWait, u64),
    Done,
}

impl Notice {
    pub(crate) fn new(signature: Signature, root: usize) -> Self {
        Self { signature, root, step: Step::Called }
    }

    /// Goes on as far as possible. `waker` is asked for only when there is something to wait for.
    pub(crate) fn poll(&mut self, group: &Group, waker: impl Fn() -> Waker) -> Poll<Result<()>> {
        loop {
            let came = match &mut self.step {
                Step::Done => return Poll::Ready(Ok(())),
                Step::Called => Poll::Ready(Ok(())),
                Step::Sync(sync) => sync.poll(group, &waker),
                Step::Root(wait, number) => {
                    // A root that is on this processor needs it, to come. One on another may be about to.
                    let is_beside = group.processors.is_beside(self.root);
                    let whom = if is_beside { For::Root } else { For::Elsewhere };
                    wait.poll_for(whom, group, slot(*number), *number, &waker)
                }
            };
            match came {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(came) => came?,
            }
            self.step = self.next(group)?;
        }
    }

    /// What follows the step that has just ended.
    fn next(&self, group: &Group) -> Result<Step> {
        if let Step::Root(_, number) = self.step {
            let (theirs, root) = group.received(slot(number));
            return match theirs.agrees(self.signature) {
                true => Ok(Step::Done),
                false => Err(group.differ(root, theirs, self.signature)),
            };
        }
        let Some(number) = group.next_in_stream(0) else { return Ok(Step::Sync(Sync::default())) };
        group.processors.led_by(self.root);
        if group.me() != self.root {
            return Ok(Step::Root(NumberWait::default(), number));
        }
        for pe in group.others() {
            group.leave(group.words_of(pe).0, slot(number), number, self.signature);
        }
        group.wake(group.others().map(|pe| (pe, slot(number))));
        Ok(Step::Done)
    }
}

fn slot(number: u64) -> usize {
    scratch::stream(number, 0)
}
