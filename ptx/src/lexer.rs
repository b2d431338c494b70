//! Text to tokens (PTX ISA, "Syntax": comments, identifiers, constants).
//!
//! A dotted instruction name such as `cp.async.ca.shared::cta.global` and a register element such as `%v.x` are one
//! token each; a directive (`.reg`, `.param::entry`) is one token up to its next dot.

use std::ops::Range;

use crate::error::{Fault, Message, ParseErrorKind};

/// What a token is. Its text is the slice of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The end of the text.
    End,
    /// Identifier, instruction name or `_`.
    Word,
    /// `.name`
    Directive,
    /// Anything that starts with a digit, or with a dot and a digit.
    Number,
    /// `"..."`, quotes included.
    Str,
    /// One punctuation character.
    Punct(u8),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) line: u32,
}

impl Token {
    /// Its byte range in the text; empty at the end.
    pub(crate) fn place(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Can stand inside an identifier.
const WORD: u8 = 1;
/// Can start an identifier.
const START: u8 = 2;
const DIGIT: u8 = 4;
/// Space, tab, carriage return, form feed.
const BLANK: u8 = 8;
/// A character that the skipping of a body must look at.
const STOP: u8 = 16;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => WORD | START,
            b'%' => START,
            b'0'..=b'9' => WORD | DIGIT,
            b' ' | b'\t' | b'\r' | 0x0c => BLANK,
            b'{' | b'}' | b'"' | b'/' | b'\n' | 0 => STOP,
            _ => 0,
        };
        i += 1;
    }
    table
}

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// A cursor over the text.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    /// Offset of the next byte to read.
    pos: usize,
    /// Line of that byte.
    line: u32,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str, line: u32) -> Self {
        Self { text, pos: 0, line }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The source between two offsets that lie on token boundaries.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The byte `ahead` of the cursor; 0 past the end.
    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn skip_class(&mut self, class: u8) {
        let rest = self.text.as_bytes().get(self.pos..).unwrap_or_default();
        self.pos += rest.iter().position(|&b| !is(b, class)).unwrap_or(rest.len());
    }

    /// Reads the next token.
    pub(crate) fn next(&mut self) -> Result<Token, Fault> {
        self.skip_trivia()?;
        let (start, line) = (self.pos, self.line);
        let first = self.byte(0);
        let kind = match first {
            _ if start >= self.text.len() => Kind::End,
            _ if is(first, START) && (first != b'%' || is(self.byte(1), WORD)) => self.word(),
            _ if is(first, DIGIT) => self.number(),
            b'.' if is(self.byte(1), START) && self.byte(1) != b'%' => self.directive(),
            b'.' if is(self.byte(1), DIGIT) => self.number(),
            b'"' => self.string()?,
            0 => return self.nul(),
            b'!'..=b'~' => {
                self.pos += 1;
                Kind::Punct(first)
            }
            _ => {
                return Err(Fault::at(start..start, Message::Character));
            }
        };
        Ok(Token { kind, start, end: self.pos, line })
    }

    /// Skips blanks, comments, and lines for a preprocessor or an old debugger (`# 1 "x.c"`, `@@DWARF ...`).
    fn skip_trivia(&mut self) -> Result<(), Fault> {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.pos += 1;
                    self.line = self.line.saturating_add(1);
                }
                b if is(b, BLANK) => self.skip_class(BLANK),
                b'/' if self.byte(1) == b'/' => self.skip_line(),
                b'/' if self.byte(1) == b'*' => self.skip_comment()?,
                b'#' if self.at_line_mark() => self.skip_line(),
                b'@' if self.text.as_bytes()[self.pos..].starts_with(b"@@DWARF") => self.skip_line(),
                _ => return Ok(()),
            }
        }
    }

    /// `# 1 "x.c" 2`, `#line 1 "x.c"`: what a preprocessor leaves, a number and a name, and perhaps more numbers.
    fn at_line_mark(&self) -> bool {
        let rest = self.text.as_bytes().get(self.pos + 1..).unwrap_or_default();
        let line = rest.split(|&b| b == b'\n').next().unwrap_or_default().trim_ascii();
        let line = line.strip_prefix(b"line").unwrap_or(line).trim_ascii_start();
        let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = line.split_at(digits);
        let mut parts = rest.trim_ascii().splitn(3, |&b| b == b'"');
        let is_named = parts.next().is_some_and(<[u8]>::is_empty) && parts.next().is_some();
        let numbers =
            parts.next().is_some_and(|rest| rest.iter().all(|b| b.is_ascii_digit() || is(*b, BLANK)));
        !number.is_empty() && is_named && numbers
    }

    fn skip_line(&mut self) {
        let rest = self.text.as_bytes().get(self.pos..).unwrap_or_default();
        self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        let rest = &self.text.as_bytes()[start + 2..];
        let Some(length) = rest.windows(2).position(|pair| pair == b"*/") else {
            return Err(Fault::new(start, "comment is never closed: expected `*/`"));
        };
        self.count_lines(start + 2, start + 2 + length);
        self.pos = start + length + 4;
        Ok(())
    }

    fn count_lines(&mut self, start: usize, end: usize) {
        let lines = self.text.as_bytes()[start..end].iter().filter(|&&b| b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
    }

    /// `name`, `name.part.1d::qualifier`. A dot or `::` belongs to the word only if a name character follows.
    fn word(&mut self) -> Kind {
        self.pos += 1;
        loop {
            self.skip_class(WORD);
            if self.byte(0) == b'.' && is(self.byte(1), WORD) {
                self.pos += 1;
            } else if self.byte(0) == b':' && self.byte(1) == b':' && is(self.byte(2), WORD) {
                self.pos += 2;
            } else {
                return Kind::Word;
            }
        }
    }

    fn directive(&mut self) -> Kind {
        self.pos += 1;
        self.skip_class(WORD);
        while self.byte(0) == b':' && self.byte(1) == b':' && is(self.byte(2), WORD) {
            self.pos += 2;
            self.skip_class(WORD);
        }
        Kind::Directive
    }

    /// Takes everything that could belong to a number; [`crate::number::literal`] judges it.
    fn number(&mut self) -> Kind {
        let hex = self.byte(0) == b'0' && matches!(self.byte(1) | 0x20, b'x' | b'b' | b'f' | b'd');
        loop {
            let b = self.byte(0);
            let exponent = matches!(b, b'e' | b'E') && !hex && matches!(self.byte(1), b'+' | b'-');
            if exponent {
                self.pos += 2;
            } else if is(b, WORD) || b == b'.' && (!is(self.byte(1), START) || self.at_exponent(1)) {
                // `8.b8` is a number and a directive, `8.e3` a number.
                self.pos += 1;
            } else {
                return Kind::Number;
            }
        }
    }

    /// Does an exponent start `at` bytes ahead?
    fn at_exponent(&self, at: usize) -> bool {
        let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
        matches!(self.byte(at), b'e' | b'E') && self.byte(at + 1 + sign).is_ascii_digit()
    }

    /// A string may span lines. It has no escapes: it ends at the next quote.
    fn string(&mut self) -> Result<Kind, Fault> {
        let start = self.pos;
        let end = string_end(self.text.as_bytes(), start)
            .ok_or_else(|| Fault::new(start, "string is never closed: expected `\"`"))?;
        self.count_lines(start, end);
        self.pos = end;
        Ok(Kind::Str)
    }

    /// C callers pass the terminating NUL with the text: it is accepted as the end of the module, but only at the end
    /// of the text.
    fn nul(&mut self) -> Result<Token, Fault> {
        let start = self.pos;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        if let Some(i) = rest.iter().position(|&b| b != 0 && b != b'\n' && !is(b, BLANK)) {
            return Err(Fault::at(start..start + i, Message::Nul));
        }
        self.pos = self.text.len();
        Ok(Token { kind: Kind::End, start, end: start, line: self.line })
    }

    /// Skips a block whose opening brace was the previous token; the cursor ends after its closing brace.
    ///
    /// Only braces, strings and comments are recognised, which makes this many times faster than reading tokens.
    pub(crate) fn skip_block(&mut self, open: Token) -> Result<usize, Fault> {
        let bytes = self.text.as_bytes();
        let (mut pos, mut depth) = (open.end, 1u32);
        self.line = open.line;
        loop {
            let rest = bytes.get(pos..).unwrap_or_default();
            pos += rest.iter().position(|&b| is(b, STOP)).unwrap_or(rest.len());
            match bytes.get(pos) {
                Some(b'{') => depth = depth.saturating_add(1),
                Some(b'}') if depth == 1 => break,
                Some(b'}') => depth -= 1,
                Some(b'\n') => self.line = self.line.saturating_add(1),
                Some(b'"' | b'/') => {
                    self.pos = pos;
                    if bytes.get(pos) == Some(&b'"') {
                        self.string()?;
                    } else if matches!(self.byte(1), b'/' | b'*') {
                        self.skip_trivia_at()?;
                    } else {
                        self.pos += 1;
                    }
                    pos = self.pos;
                    continue;
                }
                _ => return Err(self.unclosed(open, pos)),
            }
            pos += 1;
        }
        self.pos = pos + 1;
        Ok(self.pos)
    }

    /// One comment.
    fn skip_trivia_at(&mut self) -> Result<(), Fault> {
        if self.byte(1) == b'/' {
            self.skip_line();
            return Ok(());
        }
        self.skip_comment()
    }

    fn unclosed(&mut self, open: Token, pos: usize) -> Fault {
        self.pos = pos;
        match self.nul() {
            Err(fault) if pos < self.text.len() => fault,
            _ => Fault::new(open.start, "block is never closed: expected `}` before the end of the text"),
        }
    }
}

/// Offset after the closing quote of the string that starts at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let length = bytes.get(start + 1..)?.iter().position(|&b| b == b'"')?;
    Some(start + length + 2)
}

/// Refuses texts that are too long for 32-bit line numbers.
pub(crate) fn check_length(text: &str) -> Result<(), Fault> {
    if u32::try_from(text.len()).is_err() {
        return Err(Fault::at(0..0, Message::TooLong).with_kind(ParseErrorKind::Limit));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn tokens(text: &str) -> Vec<(Kind, &str, u32)> {
        let mut lexer = Lexer::new(text, 1);
        let mut found = Vec::new();
        loop {
            let token = lexer.next().unwrap();
            if token.kind == Kind::End {
                return found;
            }
            found.push((token.kind, lexer.slice(token.start, token.end), token.line));
        }
    }

    fn words(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|t| t.1).collect()
    }

    #[test]
    fn names_take_dots_and_qualifiers() {
        assert_eq!(
            words("ld.global.L2::128B.v4 %tid.x, $L_1: _a::b"),
            ["ld.global.L2::128B.v4", "%tid.x", ",", "$L_1", ":", "_a::b"]
        );
        assert_eq!(words("a. b::  c:d %5 % %"), ["a", ".", "b", ":", ":", "c", ":", "d", "%5", "%", "%"]);
    }

    #[test]
    fn directives_end_at_a_dot() {
        assert_eq!(words(".reg.b32 .param::entry.u8"), [".reg", ".b32", ".param::entry", ".u8"]);
        assert!(tokens(".a .5").iter().map(|t| t.0).eq([Kind::Directive, Kind::Number]));
    }

    #[test]
    fn numbers_take_what_belongs_to_them() {
        assert_eq!(
            words("0x1e+4 1e+4 2E-3 7.b8 1.5 0f3F800000, 12U]"),
            ["0x1e", "+", "4", "1e+4", "2E-3", "7", ".b8", "1.5", "0f3F800000", ",", "12U", "]"]
        );
    }

    #[test]
    fn strings_span_lines_and_have_no_escapes() {
        let found = tokens("\"a\\\" x \"1\n2\" y");
        assert_eq!(found.iter().map(|t| t.1).collect::<Vec<_>>(), ["\"a\\\"", "x", "\"1\n2\"", "y"]);
        assert_eq!(found.iter().map(|t| t.2).collect::<Vec<_>>(), [1, 1, 1, 2]);
    }

    #[test]
    fn lines_of_a_preprocessor_are_skipped_and_no_others() {
        for line in ["# 1 \"x\"", "#1 \"x\" 2 3", "#line 7 \"x.cu\"", "#\t1 \"x\""] {
            assert_eq!(words(&format!("a\n{line}\nb")), ["a", "b"], "{line}");
        }
        for line in ["# foo", "#", "# 1", "# \"x\"", "# 1 \"x\" foo", "#pragma x", "@@ x"] {
            assert!(words(&format!("a\n{line}\nb")).len() > 2, "{line}");
        }
    }

    #[test]
    fn lines_count_through_comments() {
        let found = tokens("a // x\r\n/* \n /* */ b\n\n# 1 \"c\"\n@@DWARF d\n@ e\u{c}f");
        assert_eq!(
            found.iter().map(|t| (t.1, t.2)).collect::<Vec<_>>(),
            [("a", 1), ("b", 3), ("@", 7), ("e", 7), ("f", 7)]
        );
    }

    #[test]
    fn blocks_are_skipped_over_strings_and_comments() {
        let text = "{ { } \"}\" /* } */ // }\n / } x";
        let mut lexer = Lexer::new(text, 1);
        let open = lexer.next().unwrap();
        let end = lexer.skip_block(open).unwrap();
        assert_eq!(&text[end - 3..end], "/ }");
        let next = lexer.next().unwrap();
        assert_eq!((lexer.slice(next.start, next.end), next.line), ("x", 2));
    }
}
