//! The words of a PTX text, with their places: as much as renaming them takes.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name.
    Word,
    /// The first part of an instruction. A variable may have that name: `ret`.
    Instruction,
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
    let (mut at, mut statements) = (0, Statements::default());
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
        let range = start..at;
        let is_label = || bytes.get(skip(text, end.min(bytes.len()))) == Some(&b':');
        let instruction =
            statements.is_instruction(kind, text.get(range.clone()).unwrap_or_default(), is_label);
        Some(Token { kind: if instruction { Kind::Instruction } else { kind }, range })
    })
}

/// Where statements begin.
#[derive(Default)]
struct Statements {
    /// Open braces around statements, and inside these, around values.
    scopes: u32,
    lists: u32,
    /// A statement begins with the next token.
    begins: bool,
    /// A predicate comes before it.
    guarded: bool,
    /// A label comes before it.
    labelled: bool,
    /// A value comes next.
    equals: bool,
    /// After a number, such as the last of `.loc 1 2 3`, which has no end mark.
    number: bool,
}

impl Statements {
    /// Whether this token begins an instruction. Asked for each token in turn.
    fn is_instruction(&mut self, kind: Kind, word: &str, is_label: impl Fn() -> bool) -> bool {
        let number = std::mem::replace(&mut self.number, kind == Kind::Number);
        let begins = std::mem::take(&mut self.begins) || number;
        let equals = std::mem::replace(&mut self.equals, word == "=");
        let word_begins = begins && kind == Kind::Word;
        match word {
            ";" => self.begins = true,
            ":" => self.begins = std::mem::take(&mut self.labelled),
            "@" => self.guarded = begins,
            "{" if self.lists == 0 && (begins || self.scopes == 0 && !equals) => {
                self.scopes += 1;
                self.begins = true;
            }
            "{" => self.lists += 1,
            "}" if self.lists == 0 => {
                self.scopes = self.scopes.saturating_sub(1);
                self.begins = true;
            }
            "}" => self.lists -= 1,
            _ if word_begins && is_label() => self.labelled = true,
            _ if kind == Kind::Word => self.begins = std::mem::take(&mut self.guarded),
            _ => {}
        }
        word_begins && !self.labelled
    }
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
    fn instructions_are_no_names() {
        let text = ".global .u64 q[2][1] = {{add}, {ret}};\n.entry k(.param .u64 add) .maxntid 32 {\n\
                    .reg .u32 add; .reg .pred p;\nret: @!p add.u32 add, ret, 1; @p ret; ld.u32 ret, [add];\n\
                    { mov.b64 {add, ret}, 0; }\n.loc 1 2 3 sub.u32 ret, 1, ret; .loc 1 2 3, function_name add+1, inlined_at 1 2 3\n@p bra ret;\nadd /* a label */ : }\n.func add() { exit; }";
        let found = tokens(text).filter(|token| token.kind == Kind::Instruction);
        let found: Vec<_> = found.map(|token| &text[token.range]).collect();
        assert_eq!(found, ["add", "ret", "ld", "mov", "sub", "bra", "exit"]);
    }

    #[test]
    fn words_and_what_is_none() {
        let text = "ld.global.u32 %r1, [x$0+4]; // no\n/* x */ .file 1 \"a b\"";
        let found: Vec<_> = tokens(text).map(|token| text.get(token.range).unwrap_or_default()).collect();
        let expected =
            ["ld", ".global", ".u32", "%r1", ",", "[", "x$0", "+", "4", "]", ";", ".file", "1", "\"a b\""];
        assert_eq!(found, expected);
    }
}
