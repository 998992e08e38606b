//! The picture of latencies that the load generator of the example `service` draws.

#[path = "../../examples/service/picture.rs"]
mod picture;

use hdrhistogram::Histogram;
use picture::svg;

fn latencies(nanos: &[u64]) -> Histogram<u64> {
    let mut all = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    nanos.iter().for_each(|&nanos| all.record(nanos).unwrap());
    all
}

/// Every element is closed in the order in which they were opened; returns how many there are.
fn elements(text: &str) -> usize {
    let (mut open, mut count) = (Vec::new(), 0);
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            count += 1;
            let name = tag.split([' ', '/']).next().unwrap();
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    count
}

#[test]
fn the_picture_is_well_formed_and_has_a_bar_for_each_range_axes_with_units_and_percentiles() {
    let all = latencies(&[150_000, 151_000, 900_000, 2_000_000, 45_000_000]);
    let text = svg(&all, "5 requests by 2 clients on 2 PEs");
    assert!(elements(&text) > 20, "{text}");
    assert_eq!(text.matches("fill=\"#4a7fb5\"").count(), 4, "{text}");
    for part in [
        "<title>2 requests from 147 µs to 178 µs</title>",
        ">100 µs<",
        ">100 ms<",
        ">requests<",
        ">latency of a request, from sending it to its whole answer<",
        ">p50 900 µs<",
        ">p99.9 45 ms<",
        ">5 requests by 2 clients on 2 PEs<",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn one_request_none_and_the_slowest_are_drawn_too() {
    for all in [latencies(&[]), latencies(&[1]), latencies(&[1_000_000]), latencies(&[1, 60_000_000_000])] {
        let text = svg(&all, "few");
        elements(&text);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
