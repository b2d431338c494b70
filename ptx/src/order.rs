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

/// Whether no two of these names are the same, of which there are at most `most`; may return `false` although all are different. Faster
/// than sorting them by far.
pub(crate) fn are_different<'a>(most: usize, names: impl Iterator<Item = &'a [u8]>) -> bool {
    let places = most.saturating_add(most / 2).next_power_of_two();
    let mut hashes = vec![0u32; places];
    // Against names that were chosen to have neighbouring hashes.
    let mut steps = 8 * places;
    for name in names {
        // 0 marks a free place.
        let hash = hash(name) | 1;
        let mut at = (hash >> 1) as usize & (places - 1);
        while hashes[at] != 0 {
            if hashes[at] == hash || steps == 0 {
                return false;
            }
            steps -= 1;
            at = (at + 1) & (places - 1);
        }
        hashes[at] = hash;
    }
    true
}

/// Eight bytes at a time: both halves of a product that depends on all of them.
fn hash(name: &[u8]) -> u32 {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
    let (words, tail) = name.as_chunks::<8>();
    let add = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * FACTOR;
        (product >> 64) as u64 ^ product as u64
    };
    let hash = words.iter().fold(name.len() as u64, |hash, word| add(hash, u64::from_le_bytes(*word)));
    let tail = tail.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    (add(hash.rotate_left(32), tail) >> 32) as u32
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
    use super::{Named, are_different, hash, in_order, sorted};

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
    #[test]
    fn a_name_that_repeats_another_is_found() {
        let all: Vec<String> = (0..5000).map(|number| format!(".text.kernel_{number}")).collect();
        let names = || all.iter().map(String::as_bytes);
        assert!(are_different(all.len(), names()));
        for repeated in [".text.kernel_0", ".text.kernel_4999", ".text.kernel_77"] {
            assert!(!are_different(all.len() + 1, names().chain([repeated.as_bytes()])), "{repeated}");
        }
        assert!(are_different(0, [].into_iter()) && are_different(1, [&b""[..]].into_iter()));
        assert!(!are_different(2, [&b""[..], b""].into_iter()));
        assert!(are_different(3, [&b"a"[..], b"a\0", b"\0a"].into_iter()), "the length counts, too");
    }

    /// Then it takes as long as it would to sort them, and no longer.
    #[test]
    fn names_with_neighbouring_hashes_end_the_search() {
        let count = 1 << 12;
        let near = |number: &u32| (hash(&number.to_le_bytes()) >> 1) as usize % (2 * count) < 64;
        let names: Vec<[u8; 4]> = (0..u32::MAX).filter(near).map(u32::to_le_bytes).take(count).collect();
        assert!(!are_different(count, names.iter().map(|name| &name[..])));
    }
}
