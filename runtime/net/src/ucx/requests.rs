//! Requests of this PE to others, until they are answered.

use slab::Slab;

/// Those that wait for an answer, each of which names its request by a number.
///
/// A number is not given twice, so that an answer that comes after its request was given up is
/// ignored.
pub(super) struct Requests<T> {
    waiting: Slab<Waiting<T>>,
    count: u32,
}

struct Waiting<T> {
    count: u32,
    pe: usize,
    asked: T,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { waiting: Slab::new(), count: 0 }
    }
}

/// The upper half of a number is counted up, the lower is a place.
fn split(number: u64) -> (u32, usize) {
    ((number >> 32) as u32, number as u32 as usize)
}

impl<T> Requests<T> {
    /// The number of a question to `pe`.
    pub(super) fn insert(&mut self, pe: usize, asked: T) -> u64 {
        self.count = self.count.wrapping_add(1);
        let count = self.count;
        // Four billion of them would take hundreds of gigabytes.
        let place = self.waiting.insert(Waiting { count, pe, asked }) as u32;
        u64::from(count) << 32 | u64::from(place)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// It waits no more.
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let (count, place) = split(number);
        self.waiting.get(place).filter(|waiting| waiting.count == count)?;
        Some(self.waiting.remove(place).asked)
    }

    /// Those that wait for `pe`, or for any PE, wait no more.
    pub(super) fn fail(&mut self, pe: Option<usize>) -> Vec<T> {
        let lost = |waiting: &Waiting<T>| pe.is_none_or(|pe| waiting.pe == pe);
        let places = self.waiting.iter().filter(|(_, waiting)| lost(waiting)).map(|(place, _)| place);
        let places: Vec<_> = places.collect();
        places.into_iter().map(|place| self.waiting.remove(place).asked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_its_question_alone() {
        let mut asked = Requests::default();
        let first = asked.insert(1, "first");
        assert_eq!(asked.remove(first), Some("first"));
        // At the same place.
        let second = asked.insert(2, "second");
        assert_ne!(first, second);
        assert_eq!(asked.remove(first), None);
        assert_eq!(asked.remove(u64::MAX), None);
        assert_eq!(asked.remove(second), Some("second"));
    }

    #[test]
    fn questions_to_a_pe_that_is_lost_are_given_up() {
        let mut asked = Requests::default();
        let numbers = [1, 2, 1, 3].map(|pe| asked.insert(pe, pe * 10));
        assert_eq!(asked.fail(Some(1)), [10, 10]);
        assert_eq!((asked.remove(numbers[0]), asked.remove(numbers[3])), (None, Some(30)));
        assert_eq!((asked.fail(None), asked.fail(None)), (vec![20], vec![]));
    }
}
