//! Names of kernels, and calls, with `*` for any text.

/// Whether a text matches, where `*` is any text. Each part is searched after the previous one, so the time is at most quadratic in
/// the length.
pub(crate) fn matches(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_are_any_text() {
        for (glob, text, expected) in [
            ("saxpy", "saxpy", true),
            ("saxpy", "saxpy2", false),
            ("sax*", "saxpy", true),
            ("*py", "saxpy", true),
            ("s*p*", "saxpy", true),
            ("s*z*y", "saxpy", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }
}
