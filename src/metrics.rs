//! What a PE does, for the `metrics` crate.
//!
//! Operations count only while a [`Metrics`] lives, or another process looks, and write nothing but
//! their PE's own words. What has been counted goes to the recorder when the program says so: when
//! it is asked for, say.

use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::{Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use oxshmem_base::sync::{Mutex, lock};
use oxshmem_progress::activity::{CLASSES, Count, Counts, class_end};

use crate::World;

/// Has this PE's operations counted, as long as it lives, and
/// [publishes](Self::publish) what has been counted. [`World::metrics`] makes one.
#[derive(Debug)]
pub struct Metrics {
    world: World,
    labels: Vec<Label>,
    /// What has been published of histograms.
    published: Mutex<Published>,
}

#[derive(Debug)]
struct Published {
    counts: Counts,
    completed: u64,
}

/// How many [`Metrics`] a PE has.
#[derive(Default)]
struct Living(AtomicUsize);

/// What stands for a class of a histogram: its greatest value.
fn value(class: usize) -> f64 {
    class_end(class) as f64
}

impl World {
    /// Begins to count what this PE does. Each operation adds to a few counters until the last such
    /// handle of the PE is dropped.
    ///
    /// The names, units and labels are in the book, in the chapter Metrics.
    ///
    /// ```
    /// # use oxshmem::prelude::*;
    /// # LocalCluster::run(2, |world| async move {
    /// let metrics = world.metrics();
    /// let word = world.alloc_zeroed::<u64>(1).await?;
    /// world.context().p(word.at(0), 1, 1 - world.my_pe()).await?;
    /// metrics.publish(); // to the recorder that the program has installed
    /// # world.finalize().await
    /// # })?;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        let pe = &self.0.pe;
        // Relaxed: `watch` and `unwatch` need not be in the order of the counts, as the next
        // `publish` sets right what a race has left.
        pe.kept::<Living>().0.fetch_add(1, Ordering::Relaxed);
        pe.board().watch();
        describe();
        let labels = vec![Label::new("pe", pe.me().to_string())];
        let published = Published { counts: pe.board().counts(), completed: 0 };
        Metrics { world: self.clone(), labels, published: Mutex::new(published) }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        let pe = &self.world.0.pe;
        // Relaxed: as above.
        if pe.kept::<Living>().0.fetch_sub(1, Ordering::Relaxed) == 1 {
            pe.board().unwatch();
        }
    }
}

impl Metrics {
    /// Gives the recorder of this thread, or the one that the program has installed, what has been
    /// counted. Any thread may call it, at any time, and it waits for nothing.
    pub fn publish(&self) {
        let pe = &self.world.0.pe;
        pe.board().watch();
        let (counts, tally) = (pe.board().counts(), pe.tally());
        let mut published = lock(&self.published);

        for (kind, operations, bytes) in [
            ("put", Count::Puts, Count::PutBytes),
            ("get", Count::Gets, Count::GetBytes),
            ("atomic", Count::Atomics, Count::AtomicBytes),
        ] {
            let mut labels = self.labels.clone();
            labels.push(Label::from_static_parts("kind", kind));
            counter!("oxshmem_operations_total", labels.clone()).absolute(counts.of(operations));
            counter!("oxshmem_operation_bytes_total", labels).absolute(counts.of(bytes));
        }
        let under_way = tally.under_way() as u64;
        // An operation that was begun before it was counted may be under way.
        published.completed = published.completed.max(counts.operations().saturating_sub(under_way));
        for (name, value) in [
            ("oxshmem_completions_total", published.completed),
            ("oxshmem_errors_total", tally.failed() as u64),
            ("oxshmem_received_operations_total", counts.of(Count::Received)),
            ("oxshmem_received_bytes_total", counts.of(Count::ReceivedBytes)),
            ("oxshmem_collectives_total", counts.of(Count::Collectives)),
        ] {
            counter!(name, self.labels.clone()).absolute(value);
        }
        for (name, value) in [
            ("oxshmem_operations_under_way", under_way),
            ("oxshmem_heap_used_bytes", counts.of(Count::HeapUsed)),
            ("oxshmem_heap_peak_bytes", counts.of(Count::HeapPeak)),
            ("oxshmem_heap_size_bytes", counts.of(Count::HeapSize)),
            ("oxshmem_teams", counts.of(Count::Teams)),
        ] {
            gauge!(name, self.labels.clone()).set(value as f64);
        }

        let before = std::mem::replace(&mut published.counts, counts.clone());
        drop(published);
        self.distribute("oxshmem_operation_size_bytes", before.sizes(), counts.sizes(), 1.0);
        self.distribute("oxshmem_wait_seconds", before.waits(), counts.waits(), 1e-9);
    }

    /// Records in a histogram what its classes have got since, in `unit`s.
    fn distribute(&self, name: &'static str, before: &[u64], now: &[u64], unit: f64) {
        let histogram = histogram!(name, self.labels.clone());
        for class in 0..CLASSES {
            let new = now[class].saturating_sub(before[class]);
            if new > 0 {
                histogram.record_many(value(class) * unit, new as usize);
            }
        }
    }
}

fn describe() {
    describe_counter!("oxshmem_operations_total", Unit::Count, "Operations that the PE has begun");
    describe_counter!("oxshmem_operation_bytes_total", Unit::Bytes, "Bytes of these operations");
    describe_counter!("oxshmem_completions_total", Unit::Count, "Operations that are complete");
    describe_counter!("oxshmem_errors_total", Unit::Count, "Operations that have failed");
    describe_counter!(
        "oxshmem_received_operations_total",
        Unit::Count,
        "Operations of PEs of the same host on this PE's memory"
    );
    describe_counter!("oxshmem_received_bytes_total", Unit::Bytes, "Bytes of these operations");
    describe_counter!("oxshmem_collectives_total", Unit::Count, "Collectives that the PE has called");
    describe_gauge!("oxshmem_operations_under_way", Unit::Count, "Operations that are not complete yet");
    describe_gauge!("oxshmem_heap_used_bytes", Unit::Bytes, "Allocated bytes of the symmetric heap");
    describe_gauge!("oxshmem_heap_peak_bytes", Unit::Bytes, "The most that ever were allocated");
    describe_gauge!("oxshmem_heap_size_bytes", Unit::Bytes, "Bytes of the symmetric heap");
    describe_gauge!("oxshmem_teams", Unit::Count, "Teams that the PE is in");
    describe_histogram!("oxshmem_operation_size_bytes", Unit::Bytes, "Bytes of an operation");
    describe_histogram!("oxshmem_wait_seconds", Unit::Seconds, "How long a wait took that was entered");
}
