//! Spans of time, for people.

use std::time::Duration;

/// A span in two digits or so, as `0.3 s`, `119 s` or `10.0 h`.
///
/// ```
/// use std::time::Duration;
///
/// use oxshmem_base::span::span;
///
/// let spans = [300, 9_970, 119_000, 3_600_000, 36_000_000];
/// let shown = spans.map(|ms| span(Duration::from_millis(ms)));
/// assert_eq!(shown, ["0.3 s", "10 s", "119 s", "60 min", "10.0 h"]);
/// ```
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..9.95 => format!("{seconds:.1} s"),
        ..119.5 => format!("{seconds:.0} s"),
        ..7170.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
