//! Sorting, written once: each type that is sorted has its own copy of the algorithm in the program.

/// The places of the keys, in ascending order of the keys; of equal ones the first comes first.
pub(super) fn in_order(keys: impl Iterator<Item = (u64, u64)>) -> Vec<usize> {
    let mut keys: Vec<(u64, u64, usize)> = keys.enumerate().map(|(at, (a, b))| (a, b, at)).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(.., at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn equal_keys_keep_their_order() {
        assert_eq!(in_order([(2, 0), (1, 9), (2, 0), (1, 3)].into_iter()), [3, 1, 0, 2]);
    }
}
