//! How PEs are distributed over simulated hosts, as users say it: what `oshrun --fake-hosts` takes.

use std::{fmt, num::IntErrorKind, str::FromStr};

use crate::{Error, Hosts, Result};

/// How the PEs of a job are distributed over hosts that are simulated on one machine.
///
/// | text | meaning |
/// |---|---|
/// | `2` | two hosts with a block of consecutive PEs each, as even as possible, the larger first |
/// | `3+1+2`, `3,1,2` | a block of three PEs, one of one, one of two |
/// | `4x8+1` | four blocks of eight PEs, one of one |
/// | `2:cyclic`, `3+1+2:cyclic` | as many PEs on each host, but distributed one at a time |
///
/// ```
/// use oxshmem_base::Distribution;
///
/// let distribution: Distribution = "3+1+2:cyclic".parse()?;
/// let hosts = distribution.hosts(6).map_err(|error| error.to_string())?;
/// assert!(hosts.pes_of(0).eq([0, 3, 5]) && hosts.pes_of(2).eq([2, 4]));
/// assert!(distribution.hosts(5).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    sizes: Sizes,
    cyclic: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Sizes {
    /// It is not set: one host.
    Unset,
    /// A number of hosts.
    Even(usize),
    /// The number of PEs on each host.
    Each(Vec<usize>),
}

/// What comes behind the sizes where PEs are distributed one at a time.
const CYCLIC: &str = ":cyclic";
/// More hosts than any job has PEs, so that a slip of the finger does not take all memory.
const MOST_HOSTS: usize = 1 << 20;

impl Distribution {
    /// To this many hosts, in blocks.
    ///
    /// ```
    /// use oxshmem_base::Distribution;
    ///
    /// assert_eq!(Distribution::even(2), "2".parse()?);
    /// assert_eq!(Distribution::even(2).cyclic(), "2:cyclic".parse()?);
    /// # Ok::<(), String>(())
    /// ```
    pub fn even(hosts: usize) -> Self {
        Self { sizes: Sizes::Even(hosts), cyclic: false }
    }

    /// This many PEs to each host, in blocks.
    ///
    /// ```
    /// use oxshmem_base::Distribution;
    ///
    /// assert_eq!(Distribution::each([3, 1]), "3+1".parse()?);
    /// # Ok::<(), String>(())
    /// ```
    pub fn each(pes: impl Into<Vec<usize>>) -> Self {
        Self { sizes: Sizes::Each(pes.into()), cyclic: false }
    }

    /// As many PEs on each host, but placed there one at a time, in turn.
    pub fn cyclic(self) -> Self {
        Self { cyclic: true, ..self }
    }

    /// Fits it to a job of `n_pes` PEs: where there would be more hosts than PEs, each PE is on a
    /// host of its own. A list of sizes stays as it is.
    ///
    /// ```
    /// use oxshmem_base::Distribution;
    ///
    /// assert_eq!(Distribution::even(4).up_to(2), Distribution::even(2));
    /// assert_eq!(Distribution::even(4).up_to(9), Distribution::even(4));
    /// assert_eq!(Distribution::each([3, 1]).up_to(2), Distribution::each([3, 1]));
    /// ```
    pub fn up_to(self, n_pes: usize) -> Self {
        match self.sizes {
            Sizes::Even(hosts) if hosts > n_pes && n_pes > 0 => Self { sizes: Sizes::Even(n_pes), ..self },
            _ => self,
        }
    }

    /// Whether this is the default, because nothing was asked for.
    ///
    /// ```
    /// use oxshmem_base::Distribution;
    ///
    /// assert!(Distribution::default().is_unset() && !Distribution::even(1).is_unset());
    /// ```
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }

    /// Distributes `n_pes` PEs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a host would have no PE, or the sizes are those of another number
    /// of PEs.
    pub fn hosts(&self, n_pes: usize) -> Result<Hosts> {
        let wrong = |what: String| Err(Error::Unsupported { what });
        let sizes = match self.sizes {
            Sizes::Unset => return Ok(Hosts::one(n_pes)),
            Sizes::Even(0) => return wrong("there must be at least one host".to_owned()),
            Sizes::Even(hosts) if hosts > n_pes => {
                return wrong(format!("{hosts} are more hosts than PEs, of which there are {n_pes}"));
            }
            Sizes::Even(hosts) if self.cyclic => return Ok(Hosts::cyclic(n_pes, hosts)),
            Sizes::Even(hosts) => return Ok(Hosts::even(n_pes, hosts)),
            Sizes::Each(ref sizes) => sizes,
        };
        if sizes.contains(&0) {
            return wrong("there must be at least one PE on every host".to_owned());
        }
        let sum = sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size));
        if sum != Some(n_pes) {
            let sum = sum.map_or_else(|| "more than any number of".to_owned(), |sum| sum.to_string());
            return wrong(format!("the hosts take {sum} PEs together, and there are {n_pes}"));
        }
        if !self.cyclic {
            return Ok(Hosts::blocks(sizes.iter().copied()));
        }
        let rounds = sizes.iter().copied().max().unwrap_or_default();
        let distributed =
            (0..rounds).flat_map(|round| (0..sizes.len()).filter(move |&host| sizes[host] > round));
        Ok(Hosts::from_labels(distributed))
    }
}

impl Default for Distribution {
    /// All PEs on one host, where nothing else is asked for: not equal to what asks for that.
    fn default() -> Self {
        Self { sizes: Sizes::Unset, cyclic: false }
    }
}

impl fmt::Display for Distribution {
    /// In a form without commas, and short where many hosts have equally many PEs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.sizes {
            Sizes::Unset => write!(f, "1")?,
            Sizes::Even(hosts) => write!(f, "{hosts}")?,
            // By itself, the size would be a number of hosts.
            Sizes::Each(sizes) if sizes.len() == 1 => write!(f, "1x{}", sizes[0])?,
            Sizes::Each(sizes) => {
                for (i, run) in sizes.chunk_by(|a, b| a == b).enumerate() {
                    let plus = if i == 0 { "" } else { "+" };
                    match run {
                        [size] => write!(f, "{plus}{size}")?,
                        run => write!(f, "{plus}{}x{}", run.len(), run[0])?,
                    }
                }
            }
        }
        f.write_str(if self.cyclic { CYCLIC } else { "" })
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sizes, cyclic) = text.strip_suffix(CYCLIC).map_or((text, false), |sizes| (sizes, true));
        let number = |text: &str| match text.parse::<usize>() {
            Ok(number) if !text.starts_with('+') => Ok(number),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(format!("{text} is too many")),
            _ => Err(
                "it is no number of hosts like 2, and no list of PEs on each like 3+1+2; :cyclic may follow"
                    .to_owned(),
            ),
        };
        if !sizes.contains(['+', ',', 'x']) {
            let sizes = Sizes::Even(number(sizes)?);
            return Ok(Self { sizes, cyclic });
        }
        let mut each = Vec::new();
        for item in sizes.split(['+', ',']) {
            let (times, size) = item.split_once('x').unwrap_or(("1", item));
            let (times, size) = (number(times)?, number(size)?);
            if times > MOST_HOSTS - each.len() {
                return Err("there are too many hosts".to_owned());
            }
            each.resize(each.len() + times, size);
        }
        Ok(Self { sizes: Sizes::Each(each), cyclic })
    }
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn distributed(text: &str, n: usize) -> Vec<usize> {
        let hosts = text.parse::<Distribution>().unwrap().hosts(n).unwrap();
        (0..n).map(|pe| hosts.host_of(pe)).collect()
    }

    fn refused(text: &str, n: usize) -> String {
        match text.parse::<Distribution>() {
            Ok(distribution) => distribution.hosts(n).unwrap_err().to_string(),
            Err(reason) => reason,
        }
    }

    #[test]
    fn texts_say_who_is_where() {
        assert_eq!(distributed("1", 3), [0, 0, 0]);
        assert_eq!(distributed("2", 5), [0, 0, 0, 1, 1]);
        assert_eq!(distributed("3+1+2", 6), [0, 0, 0, 1, 2, 2]);
        assert_eq!(distributed("3,1,2", 6), [0, 0, 0, 1, 2, 2]);
        assert_eq!(distributed("2x2+1", 5), [0, 0, 1, 1, 2]);
        assert_eq!(distributed("1x4", 4), [0, 0, 0, 0]);
        assert_eq!(distributed("2:cyclic", 5), [0, 1, 0, 1, 0]);
        assert_eq!(distributed("1+3+2:cyclic", 6), [0, 1, 2, 1, 2, 1]);
    }

    #[test]
    fn what_cannot_be_dealt_says_why() {
        for (text, n, about) in [
            ("0", 2, "at least one host"),
            ("3", 2, "3 are more hosts than PEs"),
            ("2+2", 5, "take 4 PEs together, and there are 5"),
            ("2+0+1", 3, "at least one PE on every host"),
            ("18446744073709551615+1", 3, "more than any number of PEs"),
            ("99999999999999999999", 3, "99999999999999999999 is too many"),
            ("9999999999x1", 3, "too many hosts"),
        ] {
            assert!(refused(text, n).contains(about), "{text}: {}", refused(text, n));
        }
        for text in
            ["", "two", "-1", "+2", "2+", "2++1", "2x", "x2", "2:cycle", ":cyclic", "2:", "2 + 1", "1x2x3"]
        {
            assert!(refused(text, 3).contains("no number of hosts"), "{text}: {}", refused(text, 3));
        }
    }

    #[test]
    fn ten_thousand_pes_are_few_characters() {
        assert_eq!(Distribution::each(vec![100; 100]).cyclic().to_string(), "100x100:cyclic");
    }

    proptest! {
        #[test]
        fn a_distribution_survives_its_text(sizes in vec(1..4_usize, 1..20), even: bool, cyclic: bool) {
            let n = sizes.iter().sum();
            let distribution = if even { Distribution::even(sizes.len()) } else { Distribution::each(sizes.clone()) };
            let distribution = if cyclic { distribution.cyclic() } else { distribution };
            prop_assert!(!distribution.to_string().contains(','));
            prop_assert_eq!(distribution.to_string().parse(), Ok(distribution.clone()));
            let hosts = distribution.hosts(n).unwrap();
            prop_assert_eq!(hosts.n_hosts(), sizes.len());
            if !even {
                let distributed: Vec<_> = (0..sizes.len()).map(|host| hosts.n_pes_of(host)).collect();
                prop_assert_eq!(distributed, sizes);
            }
        }
    }
}
