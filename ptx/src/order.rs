//! Sorting and lookup without generics: the standard library's algorithms are compiled once for each type that is sorted or is a
//! key of a map, and a hash table also links a random number generator. Even one copy of the standard library's sort adds 13 KiB
//! to a program.

/// The indices from 0 to `count`, sorted by their elements: `before` says whether the element at one index comes before that
/// at another. The sort is stable.
///
/// A merge sort of natural runs, ascending or descending: compilers write long runs.
fn sorted(count: usize, before: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    let mut merged = Vec::with_capacity(count);
    while merged.len() < count {
        let mut start = 0;
        while start < count {
            let middle = stretch(&mut places, start, before);
            let end = stretch(&mut places, middle, before);
            let (mut first, mut second) = (start, middle);
            while first < middle || second < end {
                let is_second = first == middle || second < end && before(places[second], places[first]);
                let next = if is_second { &mut second } else { &mut first };
                merged.push(places[*next]);
                *next += 1;
            }
            if start == 0 && end == count {
                return merged;
            }
            start = end;
        }
        std::mem::swap(&mut places, &mut merged);
        merged.clear();
    }
    places
}

/// The end of the run that begins at `start`. A descending run is reversed.
fn stretch(places: &mut [usize], start: usize, before: &dyn Fn(usize, usize) -> bool) -> usize {
    let falls = |at: usize| at < places.len() && before(places[at], places[at - 1]);
    let falling = falls(start + 1);
    let mut end = (start + 1).min(places.len());
    while end < places.len() && falls(end) == falling {
        end += 1;
    }
    if falling {
        places[start..end].reverse();
    }
    end
}

/// The indices of the keys, in ascending order of the keys; the sort is stable.
pub(crate) fn in_order(keys: &[(u64, u64)]) -> Vec<usize> {
    sorted(keys.len(), &|a, b| keys[a] < keys[b])
}

/// The indices of the names, in ascending order of the names, as `str` compares them; the sort is stable.
///
/// ```
/// assert_eq!(cuda_ptx::in_order_of_names(&["scan", "add", "scan"]), [1, 0, 2]);
/// ```
#[must_use]
pub fn in_order_of_names(names: &[&str]) -> Vec<usize> {
    sorted(names.len(), &|a, b| names[a] < names[b])
}

/// Numbers by name.
pub(crate) struct Named<'a> {
    /// In the order of the names.
    entries: Vec<(&'a str, usize)>,
}

impl<'a> Named<'a> {
    pub(crate) fn new(entries: Vec<(&'a str, usize)>) -> Self {
        let order = sorted(entries.len(), &|a, b| entries[a].0 < entries[b].0);
        Self { entries: order.into_iter().map(|at| entries[at]).collect() }
    }

    /// The number of the last entry with that name.
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        let end = self.entries.partition_point(|(other, _)| *other <= name);
        let (found, number) = self.entries.get(end.checked_sub(1)?)?;
        (*found == name).then_some(*number)
    }

    /// The lowest number whose name an earlier entry also has.
    pub(crate) fn repeated(&self) -> Option<usize> {
        self.entries.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, in_order, sorted};

    #[test]
    fn equal_keys_keep_their_order() {
        assert_eq!(in_order(&[(2, 0), (1, 9), (2, 0), (1, 3)]), [3, 1, 0, 2]);
    }

    #[test]
    fn every_short_list_is_sorted_as_the_standard_library_does() {
        for count in 0..8u32 {
            for list in 0..4u32.pow(count) {
                let keys: Vec<u32> = (0..count).map(|digit| list / 4u32.pow(digit) % 4).collect();
                let mut expected: Vec<usize> = (0..keys.len()).collect();
                expected.sort_by_key(|at| keys[*at]);
                assert_eq!(sorted(keys.len(), &|a, b| keys[a] < keys[b]), expected, "{keys:?}");
            }
        }
    }

    #[test]
    fn the_last_of_a_name_is_found_and_the_first_that_repeats_one() {
        let named = Named::new(vec![("b", 0), ("a", 1), ("b", 2), ("c", 3), ("a", 4), ("b", 5)]);
        assert_eq!(
            ["a", "b", "c", "", "aa", "d"].map(|name| named.get(name)),
            [Some(4), Some(5), Some(3), None, None, None]
        );
        assert_eq!(named.repeated(), Some(2));
        assert_eq!(Named::new(vec![("a", 0), ("b", 1)]).repeated(), None);
        assert_eq!(Named::new(Vec::new()).get(""), None);
    }
}
