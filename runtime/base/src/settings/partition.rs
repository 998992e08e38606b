//! Partitions of the symmetric heap, as variables define them (memory kinds 0.7).
//!
//! A variable is a list of fields, in any order: `size=2G:kind=Fastmem:policy=Preferred:pgsize=2M`.
//! There are up to 127 of them, each in three spellings, so that they are found by their names
//! rather than by a row of the table each.

use std::{collections::BTreeMap, ffi::OsString, fmt, str::FromStr, sync::LazyLock};

use super::size;
use crate::{Error, Result};

/// How many partitions there may be: `SHMEMX_MAX_PARTITIONS`.
pub const MAX_PARTITIONS: usize = 7;
/// The greatest number of a partition: `SHMEMX_MAX_PARTITION_ID`.
pub const MAX_PARTITION_ID: usize = 127;

/// The smallest page that may be asked for.
const SMALLEST_PAGE: usize = 4 << 10;
/// The largest: what blocks of symmetric memory are aligned to.
const LARGEST_PAGE: usize = 1 << 30;

/// What the variables' names begin with: the proposal's, and as it is to be called once it is
/// adopted.
const SPELLINGS: [&str; 3] =
    ["SMAX_SYMMETRIC_PARTITION", "SMA_SYMMETRIC_PARTITION", "SHMEM_SYMMETRIC_PARTITION"];
/// All of them, for people.
pub(super) const VARIABLES: &str = "SHMEM_SYMMETRIC_PARTITION<n>";

/// The names of all variables, by spelling and number.
static NAMES: LazyLock<[Vec<String>; 3]> =
    LazyLock::new(|| SPELLINGS.map(|name| (0..=MAX_PARTITION_ID).map(|id| format!("{name}{id}")).collect()));

/// What memory a partition is to be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Faster memory that a host may have beside its normal memory.
    Fastmem,
    /// A host's primary memory.
    Normalmem,
    /// What the system chooses.
    #[default]
    Sysdefault,
}

/// How strictly a partition is to be in memory of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// There, in pages of the size asked for, or the job does not begin.
    Mandatory,
    /// There as far as there is room, elsewhere if not.
    Preferred,
    /// In turn on all NUMA nodes of that kind.
    Interleaved,
    /// As the system chooses.
    #[default]
    Sysdefault,
}

/// A partition of the symmetric heap, as it is asked for.
///
/// ```
/// use oxshmem_base::settings::{Kind, Partition, Policy};
///
/// let partition: Partition = "policy=P:size=4G:pgsize=8M:kind=F".parse()?;
/// assert_eq!((partition.size, partition.page_size), (4 << 30, Some(8 << 20)));
/// assert_eq!((partition.kind, partition.policy), (Kind::Fastmem, Policy::Preferred));
/// assert_eq!(partition.to_string(), "size=4G:kind=Fastmem:policy=Preferred:pgsize=8M");
///
/// let wrong = "size=4G:kind=F".parse::<Partition>().unwrap_err();
/// assert_eq!(wrong, "kind is given without policy; give both or neither");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Bytes on each PE.
    pub size: usize,
    /// What memory it is to be in.
    pub kind: Kind,
    /// How strictly. Sysdefault if, and only if, the kind is.
    pub policy: Policy,
    /// Bytes of its pages: a power of two from 4K to 1G. `None` leaves it to the system.
    pub page_size: Option<usize>,
}

/// A partition with the variable that defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Its number.
    pub id: usize,
    /// What it is to be.
    pub asked: Partition,
    /// The variable, as it was spelt.
    pub variable: &'static str,
}

impl Defined {
    /// An error that blames the variable.
    pub fn invalid(&self, reason: impl fmt::Display) -> Error {
        Error::InvalidSetting {
            name: self.variable,
            value: self.asked.to_string(),
            reason: reason.to_string(),
        }
    }
}

impl Partition {
    /// `size` bytes of whatever memory the system chooses.
    ///
    /// ```
    /// # use oxshmem_base::settings::*;
    /// assert_eq!("size=64M".parse(), Ok(Partition::new(64 << 20)));
    /// ```
    pub const fn new(size: usize) -> Self {
        Self { size, kind: Kind::Sysdefault, policy: Policy::Sysdefault, page_size: None }
    }

    /// What is wrong with it.
    fn check(&self) -> Result<(), String> {
        if self.size == 0 {
            return Err("size is 0; a partition has at least 1 byte".to_owned());
        }
        if (self.kind == Kind::Sysdefault) != (self.policy == Policy::Sysdefault) {
            return Err(format!(
                "kind={} does not go with policy={}; Sysdefault is for both or neither",
                self.kind, self.policy
            ));
        }
        match self.page_size {
            Some(page) if !page.is_power_of_two() || !(SMALLEST_PAGE..=LARGEST_PAGE).contains(&page) => {
                let page = size::show(page);
                Err(format!("pgsize={page} is not a power of two from 4K to 1G"))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, kind, policy, page_size } = self;
        write!(f, "size={}:kind={kind}:policy={policy}", size::show(*size))?;
        page_size.map_or(Ok(()), |page| write!(f, ":pgsize={}", size::show(page)))
    }
}

impl FromStr for Partition {
    type Err = String;

    /// Reads what a variable holds. The error says where in it, and why.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut size, mut kind, mut policy, mut page_size) = (None, None, None, None);
        let mut next = 0;
        for field in text.split(':') {
            // For people, who count from 1.
            let start = next + field.len() - field.trim_start().len() + 1;
            next += field.len() + 1;
            let field = field.trim();
            let Some((key, value)) = field.split_once('=') else {
                let what = if field.is_empty() { "an empty field".into() } else { format!("{field:?}") };
                return Err(format!("{what} at {start} is not one of size=, kind=, policy= and pgsize="));
            };
            let at = start + key.len() + 1;
            let (key, value) = (key.trim(), value.trim());
            match key {
                "size" => once(&mut size, key, start, bytes(value, at)?)?,
                "kind" => once(&mut kind, key, start, word(&KINDS, value, at)?)?,
                "policy" => once(&mut policy, key, start, word(&POLICIES, value, at)?)?,
                "pgsize" => once(&mut page_size, key, start, bytes(value, at)?)?,
                _ => return Err(format!("{key:?} at {start} is not one of size, kind, policy and pgsize")),
            }
        }
        let size = size.ok_or("size is missing, such as size=512M")?;
        match (kind, policy) {
            (Some(_), None) => return Err("kind is given without policy; give both or neither".to_owned()),
            (None, Some(_)) => return Err("policy is given without kind; give both or neither".to_owned()),
            _ => {}
        }
        let (kind, policy) = (kind.unwrap_or_default(), policy.unwrap_or_default());
        let partition = Self { size, kind, policy, page_size };
        partition.check().map(|()| partition)
    }
}

const KINDS: [(&str, Kind); 3] =
    [("Fastmem", Kind::Fastmem), ("Normalmem", Kind::Normalmem), ("Sysdefault", Kind::Sysdefault)];

const POLICIES: [(&str, Policy); 4] = [
    ("Mandatory", Policy::Mandatory),
    ("Preferred", Policy::Preferred),
    ("Interleaved", Policy::Interleaved),
    ("Sysdefault", Policy::Sysdefault),
];

fn once<T>(to: &mut Option<T>, key: &str, at: usize, value: T) -> Result<(), String> {
    match to.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{key} at {at} is there for the second time")),
    }
}

/// A word or its initial, in either case.
fn word<T: Copy>(words: &[(&str, T)], text: &str, at: usize) -> Result<T, String> {
    let is = |word: &str| text.eq_ignore_ascii_case(word) || text.eq_ignore_ascii_case(&word[..1]);
    let found = words.iter().find(|(word, _)| is(word));
    found.map(|&(_, value)| value).ok_or_else(|| {
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{text:?} at {at} is not one of {}, nor an initial of these", all.join(", "))
    })
}

/// A number of bytes. Stricter than that of other settings, so that a missing colon is seen.
fn bytes(text: &str, at: usize) -> Result<usize, String> {
    let number = text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T']).unwrap_or(text);
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed = if plain { size::parse(text) } else { Err(String::new()) };
    parsed.map_err(|why| match why.starts_with("a size must be") {
        true => format!("{text:?} at {at}: {why}"),
        false => format!(
            "{text:?} at {at} is not a number of bytes with an optional factor K, M, G or T, such as 512M"
        ),
    })
}

/// Finds what defines partitions: `lookup` returns what the variable of a name holds.
pub(super) fn candidates(lookup: impl Fn(&str) -> Option<OsString>) -> Vec<(String, OsString)> {
    // One beyond on either side, so that these are refused.
    let names =
        SPELLINGS.iter().flat_map(|name| (0..=MAX_PARTITION_ID + 1).map(move |id| format!("{name}{id}")));
    names.filter_map(|name| lookup(&name).map(|value| (name, value))).collect()
}

/// Whether a variable looks as if it defined a partition.
pub(super) fn is_candidate(name: &str) -> bool {
    let number = SPELLINGS.iter().find_map(|spelling| name.strip_prefix(spelling));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Variables of which one is enough, among which the meaning of a misspelt one is sought.
pub(super) fn examples() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|names| names[1].as_str())
}

/// The partitions that variables define, by their numbers.
pub(super) fn define(variables: Vec<(String, OsString)>) -> Result<BTreeMap<usize, Defined>> {
    let mut partitions = BTreeMap::<usize, Defined>::new();
    for (name, value) in variables {
        let value = value.to_string_lossy().into_owned();
        let invalid = |name, reason| Error::InvalidSetting { name, value: value.clone(), reason };
        let found = NAMES.iter().find_map(|names| {
            let id = names.iter().position(|it| *it == name)?;
            Some((id, names[id].as_str()))
        });
        let Some((id, variable)) = found.filter(|&(id, _)| id > 0) else {
            let reason = format!("{name} names no partition; their numbers are 1 to {MAX_PARTITION_ID}");
            return Err(invalid(VARIABLES, reason));
        };
        if let Some(other) = partitions.get(&id) {
            let reason = format!("{} defines partition {id} too; unset one of them", other.variable);
            return Err(invalid(variable, reason));
        }
        let asked = value.parse().map_err(|reason| invalid(variable, reason))?;
        if partitions.len() == MAX_PARTITIONS {
            let ids: Vec<_> = partitions.keys().map(ToString::to_string).collect();
            let reason =
                format!("there may be {MAX_PARTITIONS} partitions, and those are {}", ids.join(", "));
            return Err(invalid(variable, reason));
        }
        partitions.insert(id, Defined { id, asked, variable });
    }
    Ok(partitions)
}

/// Defines one for a program.
pub(super) fn add(partitions: &mut BTreeMap<usize, Defined>, id: usize, asked: Partition) -> Result<()> {
    let variable = NAMES[0].get(id).filter(|_| id > 0).map_or(VARIABLES, String::as_str);
    let defined = Defined { id, asked, variable };
    if variable == VARIABLES {
        return Err(defined.invalid(format_args!("{id} is not from 1 to {MAX_PARTITION_ID}")));
    }
    asked.check().map_err(|why| defined.invalid(why))?;
    if !partitions.contains_key(&id) && partitions.len() == MAX_PARTITIONS {
        return Err(defined.invalid(format_args!(
            "there are {MAX_PARTITIONS} partitions already, and there may be no more"
        )));
    }
    partitions.insert(id, defined);
    Ok(())
}

/// All of them in a line.
pub(super) fn show(partitions: &BTreeMap<usize, Defined>) -> String {
    let all: Vec<_> = partitions.values().map(|it| format!("{}: {}", it.id, it.asked)).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

#[cfg(all(test, not(oxshmem_loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::Settings;

    fn read(variables: &[(&str, &str)]) -> Result<Settings> {
        Settings::from_lookup(|name| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into())
        })
    }

    fn good(text: &str) -> Partition {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn fields_come_in_any_order_as_words_or_initials_of_either_case() {
        let partition = |kind, policy, page_size| Partition { size: 2 << 30, kind, policy, page_size };
        for (text, meant) in [
            ("size=2G", partition(Kind::Sysdefault, Policy::Sysdefault, None)),
            (
                "size=2G:kind=S:pgsize=2M:policy=S",
                partition(Kind::Sysdefault, Policy::Sysdefault, Some(2 << 20)),
            ),
            (
                "kind=Fastmem:policy=Preferred:size=2048M:pgsize=8M",
                partition(Kind::Fastmem, Policy::Preferred, Some(8 << 20)),
            ),
            ("policy=m:kind=n:size=2097152K", partition(Kind::Normalmem, Policy::Mandatory, None)),
            (
                "pgsize=4K:policy=INTERLEAVED:size=2147483648:kind=F",
                partition(Kind::Fastmem, Policy::Interleaved, Some(4 << 10)),
            ),
            (" size = 2.0G : pgsize = 1g ", partition(Kind::Sysdefault, Policy::Sysdefault, Some(1 << 30))),
        ] {
            assert_eq!(good(text), meant, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        for (text, parts) in [
            ("", &["an empty field at 1", "size="][..]),
            ("size=1G:", &["an empty field at 9"]),
            ("1G", &["\"1G\" at 1", "size="]),
            ("kind=F:policy=M", &["size is missing"]),
            ("size=1G:polcy=M", &["\"polcy\" at 9", "size, kind, policy and pgsize"]),
            ("Size=1G", &["\"Size\" at 1"]),
            ("size=1G:kind=HBM:policy=M", &["\"HBM\" at 14", "Fastmem, Normalmem, Sysdefault"]),
            ("size=1G:kind=Fast:policy=M", &["\"Fast\" at 14"]),
            ("size=1G:kind=:policy=M", &["\"\" at 14"]),
            (
                "size=1G:kind=F:policy=Strict",
                &["\"Strict\" at 23", "Mandatory, Preferred, Interleaved, Sysdefault"],
            ),
            ("size=1Gkind=F", &["\"1Gkind=F\" at 6", "K, M, G or T"]),
            ("size=1GB", &["\"1GB\" at 6"]),
            ("size=-1", &["\"-1\" at 6"]),
            ("size=", &["\"\" at 6"]),
            ("size=99999999999G", &["at 6", "at most"]),
            ("size=0", &["size is 0"]),
            ("size=0.0G:kind=F:policy=M", &["size is 0"]),
            ("size=1G:size=2G", &["size at 9", "second time"]),
            ("size=1G:kind=F:kind=F:policy=M", &["kind at 16", "second time"]),
            ("size=1G:kind=F:policy=M:policy=P", &["policy at 25", "second time"]),
            ("size=1G:pgsize=2M:pgsize=2M", &["pgsize at 19", "second time"]),
            ("size=1G:kind=F", &["kind is given without policy"]),
            ("size=1G:policy=M", &["policy is given without kind"]),
            ("size=1G:kind=S:policy=M", &["kind=Sysdefault does not go with policy=Mandatory"]),
            ("size=1G:kind=F:policy=S", &["kind=Fastmem does not go with policy=Sysdefault"]),
            ("size=1G:pgsize=3M", &["pgsize=3M is not a power of two from 4K to 1G"]),
            ("size=1G:pgsize=2K", &["pgsize=2K is not a power of two"]),
            ("size=1G:pgsize=2G", &["pgsize=2G is not a power of two"]),
            ("size=1G:pgsize=0", &["pgsize=0 is not a power of two"]),
            ("size=1G:pgsize=large", &["\"large\" at 16"]),
        ] {
            let why = text.parse::<Partition>().unwrap_err();
            assert!(parts.iter().all(|part| why.contains(part)), "{text:?}: {why}");
            let error = read(&[("SMAX_SYMMETRIC_PARTITION3", text)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("SMAX_SYMMETRIC_PARTITION3={text:?}: ")), "{error}");
        }
    }

    #[test]
    fn every_spelling_defines_a_partition_and_is_named() {
        for (name, id) in [
            ("SMAX_SYMMETRIC_PARTITION1", 1),
            ("SMA_SYMMETRIC_PARTITION127", 127),
            ("SHMEM_SYMMETRIC_PARTITION20", 20),
        ] {
            let settings = read(&[(name, "size=1M")]).unwrap();
            let defined: Vec<_> = settings.partitions().collect();
            assert_eq!(defined, [&Defined { id, asked: Partition::new(1 << 20), variable: name }]);
        }
    }

    #[test]
    fn one_partition_under_two_spellings_is_an_error_that_names_both() {
        let error =
            read(&[("SMA_SYMMETRIC_PARTITION2", "size=1M"), ("SHMEM_SYMMETRIC_PARTITION2", "size=1M")]);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("SMA_SYMMETRIC_PARTITION2") && error.contains("SHMEM_SYMMETRIC_PARTITION2"),
            "{error}"
        );
    }

    #[test]
    fn a_heap_size_beside_partitions_is_an_error_that_names_both() {
        for size in ["SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"] {
            let error =
                read(&[(size, "1G"), ("SMAX_SYMMETRIC_PARTITION2", "size=1M")]).unwrap_err().to_string();
            assert!(error.starts_with("SMAX_SYMMETRIC_PARTITION2=") && error.contains(size), "{error}");
            let mut settings = read(&[(size, "1G")]).unwrap();
            let error = settings.add_partition(1, Partition::new(1)).unwrap_err().to_string();
            assert!(error.contains(size), "{error}");
        }
    }

    #[test]
    fn numbers_outside_of_1_to_127_are_errors() {
        for number in ["0", "128"] {
            let name = format!("SMAX_SYMMETRIC_PARTITION{number}");
            let error = read(&[(&name, "size=1M")]).unwrap_err().to_string();
            assert!(error.contains(&name) && error.contains("1 to 127"), "{error}");
        }
        // As the environment is looked through, any number is seen.
        for number in ["", "1000", "01"] {
            let name = format!("SMA_SYMMETRIC_PARTITION{number}");
            assert!(is_candidate(&name));
            let error = define(vec![(name.clone(), "size=1M".into())]).unwrap_err().to_string();
            assert!(error.contains(&name), "{error}");
        }
        for name in ["SMAX_SYMMETRIC_PARTITIONS", "SMAX_SYMMETRIC_PARTITION1X", "SYMMETRIC_PARTITION1"] {
            assert!(!is_candidate(name), "{name}");
        }
        let mut settings = Settings::default();
        for id in [0, 128, usize::MAX] {
            assert!(settings.add_partition(id, Partition::new(1)).is_err(), "{id}");
        }
    }

    #[test]
    fn one_partition_more_than_there_may_be_is_an_error() {
        let names: Vec<_> =
            (1..=MAX_PARTITIONS + 1).map(|i| format!("SMAX_SYMMETRIC_PARTITION{}", i * 10)).collect();
        let mut variables: Vec<_> = names.iter().map(|name| (name.as_str(), "size=1M")).collect();
        let error = read(&variables).unwrap_err().to_string();
        assert!(
            error.starts_with("SMAX_SYMMETRIC_PARTITION80=") && error.contains("there may be 7"),
            "{error}"
        );
        variables.pop();
        let mut settings = read(&variables).unwrap();
        assert_eq!(settings.partitions().count(), MAX_PARTITIONS);
        assert!(settings.add_partition(1, Partition::new(1)).is_err());
        // Another in place of one is not one more.
        settings.add_partition(10, Partition::new(1)).unwrap();
    }

    #[test]
    fn what_pes_compare_is_independent_of_spelling_order_and_initials() {
        let compared = |name: &str, text: &str| read(&[(name, text)]).unwrap().values_equal_on_all();
        let one = compared("SMA_SYMMETRIC_PARTITION1", "policy=P:size=1G:kind=F");
        assert_eq!(one, compared("SHMEM_SYMMETRIC_PARTITION1", "size=1024M:kind=Fastmem:policy=Preferred"));
        assert_ne!(one, compared("SMA_SYMMETRIC_PARTITION2", "policy=P:size=1G:kind=F"));
        assert!(one.contains(&(VARIABLES, "1: size=1G:kind=Fastmem:policy=Preferred".to_owned())), "{one:?}");
    }

    fn partitions() -> impl Strategy<Value = Partition> {
        let kinds = prop_oneof![Just(Kind::Fastmem), Just(Kind::Normalmem)];
        let policies =
            prop_oneof![Just(Policy::Mandatory), Just(Policy::Preferred), Just(Policy::Interleaved)];
        let both = prop_oneof![(kinds, policies), Just((Kind::Sysdefault, Policy::Sysdefault))];
        let pages = proptest::option::of((12u32..=30).prop_map(|shift| 1usize << shift));
        (1usize.., both, pages).prop_map(|(size, (kind, policy), page_size)| Partition {
            size,
            kind,
            policy,
            page_size,
        })
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back_in_any_order_of_its_fields(partition in partitions(), turn in 0usize..4, initials: bool) {
            let text = partition.to_string();
            let mut fields: Vec<String> = text.split(':').map(str::to_owned).collect();
            if initials {
                for field in fields.iter_mut().filter(|field| !field.contains("size")) {
                    let initial = field.find('=').map_or(0, |at| at + 2);
                    field.truncate(initial);
                }
            }
            let turn = turn % fields.len();
            fields.rotate_left(turn);
            prop_assert_eq!(fields.join(":").parse::<Partition>(), Ok(partition));
        }

        #[test]
        fn no_text_makes_the_parser_panic_and_what_it_takes_is_sound(text in "(size|kind|policy|pgsize|=|:|[FNSMPI]|[0-9.]{1,4}|[KMGT]| |\\PC){0,12}") {
            if let Ok(partition) = text.parse::<Partition>() {
                prop_assert!(partition.size > 0);
                prop_assert_eq!(partition.kind == Kind::Sysdefault, partition.policy == Policy::Sysdefault);
                prop_assert_eq!(partition.to_string().parse(), Ok(partition));
            }
        }
    }
}
