//! What a partition was mapped to, as data that the PE which mapped it sends to the others.

use std::fmt;

use super::{Spread, show_bytes, show_nodes};

/// What a partition of a host's PEs was mapped to.
///
/// ```
/// use oxshmem_spaces::kinds::{Mapping, Spread};
///
/// let (spread, nodes) = (Spread::Bound, vec![1]);
/// let mapping = Mapping { id: 2, page_size: 2 << 20, spread, nodes, notes: vec![] };
/// assert_eq!(mapping.to_string(), "pages of 2M, on node 1 only");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The partition's number.
    pub id: usize,
    /// Bytes of its pages.
    pub page_size: usize,
    /// How its pages are spread over NUMA nodes.
    pub spread: Spread,
    /// The nodes. None for [`Spread::System`].
    pub nodes: Vec<usize>,
    /// A sentence for each thing that is not as it was asked for.
    pub notes: Vec<String>,
}

impl Mapping {
    /// Writes it as a line, which [`decode`](Self::decode) reads.
    pub(crate) fn encode(&self) -> String {
        let Self { id, page_size, spread, nodes, notes } = self;
        let notes: String =
            notes.iter().map(|note| format!("\t{}", note.replace(['\t', '\n'], " "))).collect();
        format!("{id}\t{page_size}\t{}{notes}", spread.encode(nodes))
    }

    pub(crate) fn decode(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let id = fields.next()?.parse().ok()?;
        let page_size = fields.next()?.parse().ok()?;
        let (spread, nodes) = Spread::decode(fields.next()?)?;
        Some(Self { id, page_size, spread, nodes, notes: fields.map(str::to_owned).collect() })
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = show_nodes(&self.nodes);
        write!(f, "pages of {}, ", show_bytes(self.page_size))?;
        match self.spread {
            Spread::System => f.write_str("where the system puts them"),
            Spread::Bound => write!(f, "on {nodes} only"),
            Spread::Preferred => write!(f, "on {nodes} while there is room"),
            Spread::Interleaved => write!(f, "on {nodes} in turn"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_what_is_decoded() {
        for spread in [Spread::System, Spread::Bound, Spread::Preferred, Spread::Interleaved] {
            for nodes in [vec![], vec![0], vec![1, 200]] {
                for notes in [vec![], vec!["one".to_owned(), "and another".to_owned()]] {
                    let mapping =
                        Mapping { id: 127, page_size: 1 << 30, spread, nodes: nodes.clone(), notes };
                    assert_eq!(Mapping::decode(&mapping.encode()), Some(mapping));
                }
            }
        }
        for garbage in ["", "1", "1\t2", "1\t2\tX0", "1\t2\tBx", "x\t2\tS", "1\t2\t\u{e9}"] {
            assert_eq!(Mapping::decode(garbage), None, "{garbage}");
        }
    }
}
