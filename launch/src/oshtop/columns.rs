//! The columns of the table: what a PE does, in words and short numbers.

use std::cmp::Ordering;

use oxshmem_base::span::span;

use crate::live::sample::PeView;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Numbers stand at the right.
    pub(super) is_number: bool,
}

const fn number(title: &'static str) -> Column {
    Column { title, is_number: true }
}

const fn words(title: &'static str) -> Column {
    Column { title, is_number: false }
}

/// The column that is there only where a PE is in a phase.
const PHASE: &str = "phase";

/// All of them.
const COLUMNS: [Column; 14] = [
    number("PE"),
    words("host"),
    number("pid"),
    words(PHASE),
    words("in"),
    number("for"),
    number("out/s"),
    number("outB/s"),
    number("in/s"),
    number("inB/s"),
    number("coll/s"),
    number("wait"),
    number("heap"),
    words("arguments"),
];

/// The columns of a table of these PEs, and what they say of each.
pub(super) fn table(pes: &[PeView]) -> (Vec<Column>, Vec<Vec<String>>) {
    let has_phases = pes.iter().any(|pe| !pe.phase.is_empty());
    let is_shown = |column: &Column| has_phases || column.title != PHASE;
    let row = |pe| cells(pe).into_iter().zip(COLUMNS).filter(|(_, column)| is_shown(column));
    let rows = pes.iter().map(|pe| row(pe).map(|(cell, _)| cell).collect()).collect();
    (COLUMNS.into_iter().filter(is_shown).collect(), rows)
}

fn cells(pe: &PeView) -> [String; COLUMNS.len()] {
    let more = if pe.more > 0 { format!(" +{}", pe.more) } else { String::new() };
    [
        pe.pe.to_string(),
        pe.host.clone(),
        pe.pid.to_string(),
        pe.phase.clone(),
        format!("{}{more}", pe.call),
        pe.age.map(span).unwrap_or_default(),
        short(pe.out_ops),
        short(pe.out_bytes),
        short(pe.in_ops),
        short(pe.in_bytes),
        short(pe.collectives),
        format!("{:.0}%", 100.0 * pe.waiting),
        format!("{}/{}", short(pe.heap_used as f64), short(pe.heap_size as f64)),
        pe.arguments.clone(),
    ]
}

/// A number in three digits and a letter: `0`, `12.3k`, `456M`.
pub(super) fn short(number: f64) -> String {
    let (mut value, mut unit) = (number, "");
    for next in ["k", "M", "G", "T", "P"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    match (unit, value) {
        (_, ..0.005) => "0".to_owned(),
        ("", ..0.995) => format!("{value:.2}"),
        (_, ..9.995) if !unit.is_empty() || value.fract() != 0.0 => format!("{value:.1}{unit}"),
        (_, ..99.95) if !unit.is_empty() => format!("{value:.1}{unit}"),
        _ => format!("{value:.0}{unit}"),
    }
}

/// What PEs are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SortBy {
    /// Their numbers.
    #[default]
    Pe,
    /// How much they wait, most first.
    Waiting,
    /// The operations that they begin.
    Out,
    /// The operations that others begin on their memory.
    In,
}

impl SortBy {
    pub(super) fn of_key(key: char) -> Option<Self> {
        Some(match key {
            'p' => Self::Pe,
            'w' => Self::Waiting,
            'o' => Self::Out,
            'i' => Self::In,
            _ => return None,
        })
    }

    pub(super) fn compare(self, a: &PeView, b: &PeView) -> Ordering {
        let most_first = |of: fn(&PeView) -> f64| of(b).total_cmp(&of(a));
        let first = match self {
            Self::Pe => Ordering::Equal,
            Self::Waiting => most_first(|pe| pe.waiting),
            Self::Out => most_first(|pe| pe.out_ops),
            Self::In => most_first(|pe| pe.in_ops),
        };
        first.then(a.pe.cmp(&b.pe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 3.0, 3.5, 42.0, 999.0, 999.6, 12_345.0, 456e6, 7e15].map(short);
        assert_eq!(shown, ["0", "0.25", "3", "3.5", "42", "999", "1.0k", "12.3k", "456M", "7.0P"]);
    }

    #[test]
    fn pes_are_sorted_by_what_is_asked_for_and_then_by_number() {
        let pe = |pe, waiting, out_ops| PeView { pe, waiting, out_ops, ..PeView::default() };
        let mut all = [pe(0, 0.5, 1.0), pe(1, 0.9, 1.0), pe(2, 0.5, 7.0)];
        let mut by = |key: char| {
            let order = SortBy::of_key(key).unwrap();
            all.sort_by(|a, b| order.compare(a, b));
            all.each_ref().map(|pe| pe.pe)
        };
        assert_eq!([by('w'), by('o'), by('i'), by('p')], [[1, 0, 2], [2, 0, 1], [0, 1, 2], [0, 1, 2]]);
        assert_eq!(SortBy::of_key('x'), None);
    }
}
