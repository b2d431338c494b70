//! Values by numbers that are given out in ascending order.

use std::collections::VecDeque;

/// A list in the order of the numbers: what is entered is nearly always the last, and what goes one of the first. Much less code
/// than a tree.
#[derive(Debug)]
pub(crate) struct Numbered<N, T>(VecDeque<(N, T)>);

impl<N: Ord + Copy, T> Numbered<N, T> {
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Enters a value under a number that has none.
    pub(crate) fn insert(&mut self, number: N, value: T) {
        let place = self.0.partition_point(|(other, _)| *other < number);
        self.0.insert(place, (number, value));
    }

    pub(crate) fn get(&self, number: N) -> Option<&T> {
        self.place(number).and_then(|place| self.0.get(place)).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, number: N) -> Option<T> {
        self.place(number).and_then(|place| self.0.remove(place)).map(|(_, value)| value)
    }

    /// Takes out all that are meant.
    pub(crate) fn take_if(&mut self, mut meant: impl FnMut(&T) -> bool) -> Vec<T> {
        let (mut taken, mut place) = (Vec::new(), 0);
        // One loop: a program has a copy of this for each table. Those that are meant are mostly the first.
        while let Some((_, value)) = self.0.get(place) {
            if meant(value) {
                taken.extend(self.0.remove(place).map(|(_, value)| value));
            } else {
                place += 1;
            }
        }
        taken
    }

    fn place(&self, number: N) -> Option<usize> {
        self.0.binary_search_by_key(&number, |(other, _)| *other).ok()
    }
}

impl<N, T> Default for Numbered<N, T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

#[cfg(test)]
mod tests {
    use super::Numbered;

    /// Two threads may enter theirs in the other order.
    #[test]
    fn values_are_found_in_whatever_order_they_came() {
        let mut list = Numbered::new();
        for number in [1, 4, 2, 9, 3] {
            list.insert(number, number * 10);
        }
        assert_eq!((list.get(2), list.get(5)), (Some(&20), None));
        assert_eq!((list.remove(4), list.remove(4)), (Some(40), None));
        assert_eq!(list.take_if(|value| *value < 25), [10, 20]);
        assert_eq!((list.get(3), list.get(9), list.get(1)), (Some(&30), Some(&90), None));
    }
}
