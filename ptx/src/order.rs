//! Sorting and looking up, written once: each type that is sorted, or is a key of a map, has its own copy of the algorithm in the
//! program, and a table of hashes brings random numbers too. Even one copy of the standard library's sort is 13 KiB of a program.

/// The places from 0 to `count`, in the order of what is there: `before` says whether what is at one comes before what is at
/// another. Of equal ones the first comes first.
fn sorted(count: usize, before: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    let later = |a: usize, b: usize| before(b, a) || !before(a, b) && a > b;
    // Heapsort: the last one of all is at the front.
    for root in (0..count / 2).rev() {
        sink(&mut places, root, &later);
    }
    for end in (1..count).rev() {
        places.swap(0, end);
        sink(&mut places[..end], 0, &later);
    }
    places
}

/// Lets what is at `root` sink below all that come later than it.
fn sink(heap: &mut [usize], mut root: usize, later: &dyn Fn(usize, usize) -> bool) {
    loop {
        let mut child = 2 * root + 1;
        if child + 1 < heap.len() && later(heap[child + 1], heap[child]) {
            child += 1;
        }
        if child >= heap.len() || !later(heap[child], heap[root]) {
            return;
        }
        heap.swap(root, child);
        root = child;
    }
}

/// The indices of the keys, in ascending order of the keys; of equal ones the first comes first.
pub(crate) fn in_order(keys: &[(u64, u64)]) -> Vec<usize> {
    sorted(keys.len(), &|a, b| keys[a] < keys[b])
}

/// The indices of the names, in ascending order of the names, as `str` compares them; of equal ones the first comes first.
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

    /// The last number that the name was given with.
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        let end = self.entries.partition_point(|(other, _)| *other <= name);
        let (found, number) = self.entries.get(end.checked_sub(1)?)?;
        (*found == name).then_some(*number)
    }

    /// The lowest number that was given with a name that an earlier one had.
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
