use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use oxshmem_ops::operation::Immediate;

struct Mine;

impl Future for Mine {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl Immediate for Mine {
    type Output = ();

    fn now(self) -> Result<(), Self> {
        Ok(())
    }
}

fn main() {}
