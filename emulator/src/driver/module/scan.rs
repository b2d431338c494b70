//! The words of a PTX text, with their places: as much as renaming them takes.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, or the first part of an instruction's.
    Word,
    /// A dot and a name.
    Directive,
    /// Whatever begins with a digit.
    Number,
    /// A string, or one other character.
    Other,
}

/// A token and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

/// The tokens of a text, without comments.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        at = skip(text, at);
        let start = at;
        let first = *bytes.get(start)?;
        let length = |from: usize, more: fn(u8) -> bool| {
            bytes.get(from..).map_or(0, |rest| rest.iter().take_while(|byte| more(**byte)).count())
        };
        let (kind, end) = match first {
            b'0'..=b'9' => (Kind::Number, start + length(start, |byte| is_name(byte) || byte == b'.')),
            b'.' => match length(start + 1, is_name) {
                0 => (Kind::Other, start + 1),
                letters => (Kind::Directive, start + 1 + letters),
            },
            b'"' => (Kind::Other, start + 1 + length(start + 1, |byte| byte != b'"') + 1),
            _ if is_name(first) => (Kind::Word, start + length(start, is_name)),
            // A character of several bytes stays whole.
            _ => (
                Kind::Other,
                start + text.get(start..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8),
            ),
        };
        at = end.min(bytes.len());
        Some(Token { kind, range: start..at })
    })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// The next place that is neither space nor comment.
fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        let comment = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            return at + spaces;
        };
        at += spaces + comment;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_what_is_none() {
        let text = "ld.global.u32 %r1, [x$0+4]; // no\n/* x */ .file 1 \"a b\"";
        let found: Vec<_> = tokens(text).map(|token| text.get(token.range).unwrap_or_default()).collect();
        let expected =
            ["ld", ".global", ".u32", "%r1", ",", "[", "x$0", "+", "4", "]", ";", ".file", "1", "\"a b\""];
        assert_eq!(found, expected);
    }
}
