//! How a line of the list is written: in short paths, on one line.

use public_api::PublicItem;
use public_api::tokens::Token;

/// The item's line: paths begin below the library, and of the standard library's only the name is left.
pub(super) fn of(item: &PublicItem, library: &str) -> String {
    // Advice for the compiler's messages, over many lines.
    let tokens = item
        .tokens()
        .filter(|token| !matches!(token, Token::Annotation(text) if text.starts_with("#[diagnostic")));
    let whole: String = tokens.map(Token::text).collect();
    let line = short(&whole, library).replace("cuda_driver_sys::generated::types::", "cuda_driver_sys::");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with shorter paths.
fn short(text: &str, library: &str) -> String {
    with_paths(text, |path| shortened(path, library).to_owned())
}

/// The paths and names in a line.
pub(super) fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_of_path(c)).map(|path| path.trim_end_matches(':')).filter(|path| !path.is_empty())
}

/// The text with other paths in the place of its own.
pub(super) fn with_paths(text: &str, other: impl Fn(&str) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find(|c| is_of_path(c) && c != ':') {
        let (before, path) = rest.split_at(begin);
        let (path, after) = path.split_at(path.find(|c| !is_of_path(c)).unwrap_or(path.len()));
        let name = path.trim_end_matches(':');
        out.extend([before, &other(name), &path[name.len()..]]);
        rest = after;
    }
    out + rest
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

/// One path.
fn shortened<'a>(path: &'a str, library: &str) -> &'a str {
    let begins = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"));
    if ["core", "alloc", "std"].into_iter().any(begins) {
        // Of these there are several.
        let kept = if path.ends_with("::io::Error") || path.ends_with("::fmt::Result") { 2 } else { 1 };
        return path.rmatch_indices("::").nth(kept - 1).map_or(path, |(at, _)| &path[at + 2..]);
    }
    path.strip_prefix(library).and_then(|rest| rest.strip_prefix("::")).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn paths_are_short() {
        for (long, expected) in [
            (
                "pub fn a::B::c(&self, d: &core::ffi::CStr) -> core::result::Result<a::E, ()>",
                "pub fn B::c(&self, d: &CStr) -> Result<E, ()>",
            ),
            ("impl<T: core::marker::Copy> a::b::C for alloc::vec::Vec<T>", "impl<T: Copy> b::C for Vec<T>"),
            ("pub a::B::field: other::C", "pub B::field: other::C"),
            ("pub fn a::core(a: u32)", "pub fn core(a: u32)"),
            ("pub a::E: std::io::Error", "pub E: io::Error"),
            ("pub mod a", "pub mod a"),
        ] {
            assert_eq!(short(long, "a"), expected);
        }
    }
}
