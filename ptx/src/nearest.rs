//! Names similar to one that does not exist.

/// Up to three of `names` that are most similar to `name`, best first.
///
/// ```
/// assert_eq!(cuda_ptx::nearest("vecad", &["scan", "vecadd", "_Z6vecaddPf"]), ["_Z6vecaddPf", "vecadd"]);
/// ```
#[must_use]
pub fn nearest(name: &str, names: &[&str]) -> Vec<String> {
    let scored = names
        .iter()
        .map(|n| if contains(n, name) { (0, *n) } else { (distance(name, n), *n) })
        .filter(|(d, n)| *d <= name.len().max(n.len()) / 2);
    let mut best: Vec<(usize, &str)> = Vec::new();
    for one in scored {
        best.insert(best.partition_point(|other| *other < one), one);
        best.truncate(3);
    }
    best.into_iter().map(|(_, n)| n.to_string()).collect()
}

/// Like `str::contains`, without its two kilobytes of code for long texts.
fn contains(text: &str, part: &str) -> bool {
    part.is_empty() || text.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}

/// Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_and_far_ones_not_at_all() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("vecad", &["scan", "vecadd", "_Z6vecaddPf"]), ["_Z6vecaddPf", "vecadd"]);
        assert!(nearest("vecadd", &["mandelbrot"]).is_empty());
    }
}
