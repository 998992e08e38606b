//! What this PE and its service do, for Prometheus.
//!
//! The library counts what its PE does, the service its requests. Both go to one recorder of the
//! `metrics` crate, which is rendered when it is asked for.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::StatusCode;
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use oxshmem::{Metrics, World};

use crate::load::Failure;

/// Upper ends of classes, in seconds.
const SECONDS: [f64; 12] = [1e-6, 1e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1, 1.0, 10.0];
/// Upper ends of classes, in bytes.
const BYTES: [f64; 7] = [8.0, 64.0, 512.0, 4096.0, 65_536.0, 1_048_576.0, 16_777_216.0];

/// Counts, and says what was counted. Clones are the same.
#[derive(Clone)]
pub(crate) struct Monitor {
    pe: Arc<Metrics>,
    rendered: PrometheusHandle,
}

impl Monitor {
    /// Installs the recorder of this process.
    pub(crate) fn new(world: &World) -> Result<Self, Failure> {
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
            .set_buckets_for_metric(Matcher::Suffix("_size_bytes".to_owned()), &BYTES)?;
        let rendered = builder.install_recorder()?;
        describe_counter!("service_requests_total", Unit::Count, "Requests that were answered");
        describe_histogram!("service_request_seconds", Unit::Seconds, "How long a request took");
        Ok(Self { pe: Arc::new(world.metrics()), rendered })
    }

    /// A request that came at `begin` was answered.
    pub(crate) fn answered(&self, status: StatusCode, begin: Instant) {
        counter!("service_requests_total", "status" => status.as_str().to_owned()).increment(1);
        histogram!("service_request_seconds").record(begin.elapsed().as_secs_f64());
    }

    /// The text that Prometheus reads.
    pub(crate) fn render(&self) -> String {
        self.pe.publish();
        self.rendered.render()
    }

    /// Keeps what a recorder that nothing asks has to keep small, until it is dropped.
    pub(crate) async fn upkeep(self) {
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.rendered.run_upkeep();
        }
    }
}
