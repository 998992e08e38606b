//! What the tests have in common: plain keys and values of several sizes, and where PEs are.

use std::{fmt::Debug, time::Duration};

use oxshmem::{ClusterOptions, Element, Link};

/// Elements that are made of a number, which no torn one gives back.
pub(crate) trait Plain: Element + PartialEq + Debug {
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

macro_rules! plain {
    ($($name:ty)*) => {$(
        impl Plain for $name {
            fn of(number: u64) -> Self {
                number as Self
            }

            fn number(self) -> u64 {
                self as u64
            }
        }
    )*};
}

plain! { u64 u32 i32 u16 u8 f32 }

impl<const N: usize> Plain for [u64; N] {
    fn of(number: u64) -> Self {
        std::array::from_fn(|i| number ^ (i as u64) << 32)
    }

    fn number(self) -> u64 {
        assert_eq!(self, Self::of(self[0]), "it is torn");
        self[0]
    }
}

impl<const N: usize> Plain for [u8; N] {
    fn of(number: u64) -> Self {
        std::array::from_fn(|i| (number >> (8 * (i % 8))) as u8)
    }

    fn number(self) -> u64 {
        let number = (0..8.min(N)).fold(0, |number, i| number | u64::from(self[i]) << (8 * i));
        assert_eq!(self, Self::of(number), "it is torn");
        number
    }
}

/// On this many hosts, over a link with latency and jitter if there are several.
pub(crate) fn options(hosts: usize, link: bool, seed: u64) -> ClusterOptions {
    let mut options = ClusterOptions::default().hosts(hosts);
    options.settings.enable_cpu_space = Some("1".into());
    options.settings.enable_gpu_space = Some("1".into());
    options.settings.gpu_emulate = true;
    let jitter = Duration::from_micros(20);
    let slow = Link { latency: Duration::from_micros(2), jitter, seed, ..Link::default() };
    if link && hosts > 1 { options.link(slow) } else { options }
}
