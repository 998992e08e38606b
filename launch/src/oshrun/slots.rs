//! The hosts of a job on several machines, as users name them: `-H a:4,b:4`, or a file with a host
//! on each line.

use oxshmem_base::printable::printable;

/// A host, and how many PEs may start there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    /// The host as the launch agent is given it.
    pub(super) host: String,
    pub(super) count: usize,
}

impl Slots {
    /// The host as messages call it: without the user that logs in there.
    pub(super) fn name(&self) -> &str {
        self.host.rsplit('@').next().unwrap_or(&self.host)
    }
}

/// More than any job has.
const MOST: usize = 1 << 20;

/// Reads a list such as `a:4,b:4,c`. A host that is named twice has the slots of both.
pub(super) fn of_list(text: &str) -> Result<Vec<Slots>, String> {
    let mut hosts = Vec::new();
    for entry in text.split(',') {
        add(&mut hosts, one(entry.trim())?);
    }
    Ok(hosts)
}

/// Reads the lines of a file: a host each, alone, as `host:4` or as `host slots=4`, and comments
/// behind `#`.
pub(super) fn of_file(text: &str) -> Result<Vec<Slots>, String> {
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let in_line = |why: String| format!("line {}: {why}", number + 1);
        let mut slots = one(first).map_err(in_line)?;
        for word in words {
            let Some(count) = word.strip_prefix("slots=") else {
                return Err(in_line(format!(
                    "{word:?} is not known there; a line has a host, and perhaps slots=N"
                )));
            };
            slots.count = number_of(first, count).map_err(in_line)?;
        }
        add(&mut hosts, slots);
    }
    match hosts.is_empty() {
        true => Err("it names no host".to_owned()),
        false => Ok(hosts),
    }
}

/// Fills the hosts in their order with `n` PEs, or with as many as there are slots for. The count
/// of each host that is left is that of its PEs.
pub(super) fn fill(hosts: Vec<Slots>, n: Option<usize>) -> Result<Vec<Slots>, String> {
    let total: usize = hosts.iter().map(|slots| slots.count).sum();
    let mut left = n.unwrap_or(total);
    if left > total {
        let list = hosts.iter().map(|Slots { host, count }| format!("{host}:{count}"));
        let list = list.collect::<Vec<_>>().join(",");
        return Err(format!(
            "-np {left}: the hosts take {total} PEs ({list}); a host without a number takes one"
        ));
    }
    let fitted = hosts.into_iter().map(|slots| {
        let count = slots.count.min(left);
        left -= count;
        Slots { count, ..slots }
    });
    Ok(fitted.filter(|slots| slots.count > 0).collect())
}

fn add(hosts: &mut Vec<Slots>, slots: Slots) {
    match hosts.iter_mut().find(|known| known.host == slots.host) {
        Some(known) => known.count = (known.count + slots.count).min(MOST),
        None => hosts.push(slots),
    }
}

/// Reads `host`, `host:4`, `[fe80::1]` or `[fe80::1]:4`.
fn one(entry: &str) -> Result<Slots, String> {
    let (host, count) = match entry.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').unwrap_or(rest))),
            None => return Err(format!("\"{}\" has no closing bracket", printable(entry))),
        },
        None => match entry.split_once(':') {
            Some((host, count)) => (host, Some(count)),
            None => (entry, None),
        },
    };
    if host.is_empty() {
        return Err(format!("\"{}\" names no host", printable(entry)));
    }
    // Nothing that a shell or ssh would take for something else than a name.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:%".contains(c);
    if host.starts_with('-') || !host.chars().all(is_plain) {
        return Err(format!("\"{}\" is no host's name", printable(host)));
    }
    let count = count.map_or(Ok(1), |count| number_of(entry, count))?;
    Ok(Slots { host: host.to_owned(), count })
}

fn number_of(entry: &str, count: &str) -> Result<usize, String> {
    let (entry, shown) = (printable(entry), printable(count));
    match count.parse() {
        Ok(0) => Err(format!("\"{entry}\": there must be at least one slot")),
        Ok(count) if count > MOST => Err(format!("\"{entry}\": {count} are too many slots")),
        Ok(count) => Ok(count),
        Err(_) => Err(format!("\"{entry}\": \"{shown}\" is no number of slots")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(hosts: &[Slots]) -> Vec<(&str, usize)> {
        hosts.iter().map(|slots| (slots.host.as_str(), slots.count)).collect()
    }

    #[test]
    fn a_list_has_hosts_with_and_without_numbers() {
        let list = |text: &str| of_list(text).unwrap();
        assert_eq!(pairs(&list("a:4,b:4")), [("a", 4), ("b", 4)]);
        assert_eq!(pairs(&list("a, b:2 ,me@c.example")), [("a", 1), ("b", 2), ("me@c.example", 1)]);
        assert_eq!(pairs(&list("a:2,b,a:3")), [("a", 5), ("b", 1)]);
        assert_eq!(pairs(&list("[fe80::1%eth0]:2,[::1]")), [("fe80::1%eth0", 2), ("::1", 1)]);
        assert_eq!(list("me@c.example:2")[0].name(), "c.example");
    }

    #[test]
    fn a_file_has_a_host_in_each_line() {
        let text = "# the rack\na slots=4\n\nb:2 # half of it\n  c\na\n";
        assert_eq!(pairs(&of_file(text).unwrap()), [("a", 5), ("b", 2), ("c", 1)]);
        for (text, why) in [
            ("", "it names no host"),
            ("# nothing\n", "it names no host"),
            ("a\nb slots=x\n", "line 2: \"b\": \"x\" is no number of slots"),
            (
                "a max_slots=4",
                "line 1: \"max_slots=4\" is not known there; a line has a host, and perhaps slots=N",
            ),
        ] {
            assert_eq!(of_file(text).unwrap_err(), why);
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for (text, why) in [
            ("", "\"\" names no host"),
            ("a,,b", "\"\" names no host"),
            (":3", "\":3\" names no host"),
            ("a:0", "\"a:0\": there must be at least one slot"),
            ("a:x", "\"a:x\": \"x\" is no number of slots"),
            ("a:-1", "\"a:-1\": \"-1\" is no number of slots"),
            ("a:99999999", "\"a:99999999\": 99999999 are too many slots"),
            ("-oProxyCommand=x", "\"-oProxyCommand=x\" is no host's name"),
            ("a;reboot", "\"a;reboot\" is no host's name"),
            ("$(x)", "\"$(x)\" is no host's name"),
            ("[::1", "\"[::1\" has no closing bracket"),
        ] {
            assert_eq!(of_list(text).unwrap_err(), why);
        }
    }

    #[test]
    fn fewer_pes_than_slots_fill_hosts_in_order() {
        let filled = |n| fill(of_list("a:4,b:4,c:4").unwrap(), n);
        assert_eq!(pairs(&filled(None).unwrap()), [("a", 4), ("b", 4), ("c", 4)]);
        assert_eq!(pairs(&filled(Some(6)).unwrap()), [("a", 4), ("b", 2)]);
        assert_eq!(pairs(&filled(Some(1)).unwrap()), [("a", 1)]);
        let why = filled(Some(13)).unwrap_err();
        assert_eq!(why, "-np 13: the hosts take 12 PEs (a:4,b:4,c:4); a host without a number takes one");
    }
}
