//! A job of one PE, which is what a program is that no launcher started.

use std::sync::Arc;

use async_trait::async_trait;
use oxshmem_base::{Error, Hosts, Result};

use super::{Bootstrap, Offer, Placement, host_name};

/// The only PE there is.
#[derive(Debug)]
pub struct Single {
    placement: Placement,
}

impl Single {
    /// PE 0 of 1, on this host.
    pub fn new() -> Self {
        Self { placement: Placement::new(0, Arc::new(Hosts::one(1)), host_name()) }
    }
}

impl Default for Single {
    fn default() -> Self {
        Self::new()
    }
}

impl super::sealed::Sealed for Single {}

#[async_trait]
impl Bootstrap for Single {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    async fn exchange(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        Ok(Arc::new([mine]))
    }

    fn is_one_machine(&self) -> bool {
        true
    }

    fn in_process(&self) -> bool {
        true
    }

    fn owns_process(&self) -> bool {
        true
    }

    async fn share_raw(&self, offer: Option<Offer>) -> Result<Offer> {
        offer.ok_or_else(|| Error::bootstrap("share", "the host's leader offers nothing"))
    }

    fn finalized(&self) {}

    /// Does nothing: there is no other PE to end, and the caller ends its own process.
    fn abort(&self, _status: i32, _why: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn passes_the_suite() {
        suite::run_cluster(vec![Single::new()]);
    }
}
