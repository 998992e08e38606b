//! Some PEs of a job, as a setting names them.

use std::{fmt, ops::RangeInclusive, str::FromStr};

/// Some PEs, as numbers and ranges: `0-2,5`.
///
/// ```
/// # use oxshmem_base::settings::PeRanges;
/// let pes: PeRanges = "0-2,5".parse()?;
/// assert!(pes.contains(2) && !pes.contains(3));
/// assert_eq!(pes.to_string(), "0-2,5");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeRanges(Vec<RangeInclusive<usize>>);

impl PeRanges {
    /// Those numbers, which go up.
    pub fn of(pes: &[usize]) -> Self {
        let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
        for &pe in pes {
            match ranges.last_mut() {
                Some(last) if *last.end() + 1 == pe => *last = *last.start()..=pe,
                _ => ranges.push(pe..=pe),
            }
        }
        Self(ranges)
    }

    /// Whether `pe` is one of them.
    pub fn contains(&self, pe: usize) -> bool {
        self.0.iter().any(|range| range.contains(&pe))
    }
}

impl FromStr for PeRanges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim_ascii().parse::<usize>().ok();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(number(first)?..=number(last)?).filter(|range| range.start() <= range.end())
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(Self).ok_or_else(|| "expected PEs such as 0-2,5".to_owned())
    }
}

impl fmt::Display for PeRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{comma}{first}")?,
                (first, last) => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}
