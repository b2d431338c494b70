//! What is wrong with a PTX text, and where.

use std::fmt;
use std::ops::Range;

/// Longest excerpt of a source line in an error, in characters.
const EXCERPT: usize = 100;

/// Why a text was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text does not begin as a PTX module: its first directive is not `.version`.
    NotPtx,
    /// The text violates the grammar.
    Syntax,
    /// The text is well formed but exceeds a limit of this parser: its length, nesting or the size of a variable.
    Limit,
}

/// A PTX text that does not follow the grammar (PTX ISA, "Syntax").
///
/// `{}` prints `line 5, column 3: expected ...`; `{:#}` adds the source line and a caret under the column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// What was expected and what was found.
    pub message: String,
    /// The source line, truncated to a readable width around the column.
    pub excerpt: String,
    /// The class of the error, for programs.
    pub kind: ParseErrorKind,
    /// The character of `excerpt` that the caret points at, counted from 0.
    caret: usize,
}

impl ParseError {
    /// The excerpt and, on a line below it, a caret under the column.
    #[must_use]
    pub fn pointed_excerpt(&self) -> String {
        // Tabs stay tabs in the padding, so that the caret lands under its character whatever a tab's width is.
        let padding: String =
            self.excerpt.chars().take(self.caret).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("{}\n{padding}^", self.excerpt)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)?;
        if f.alternate() {
            write!(f, "\n{}", self.pointed_excerpt())?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

/// An error by its place in the text; boxed, because it travels through every `Result` of the parser.
///
/// Its message is composed by [`locate`](Self::locate): programs that discard the errors are linked without that code.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// The bytes that the message is about.
    place: Range<usize>,
    message: Message,
    kind: ParseErrorKind,
}

/// What is wrong with the text at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// This text.
    Plain(&'static str),
    /// `expected ..., found` and the token at that place.
    Expected(&'static str),
    /// The same for a character and its purpose.
    ExpectedPunct(u8, &'static str),
    /// The token at that place, between these two texts.
    Quoted(&'static str, &'static str),
    /// The number does not fit in 32 bits without sign.
    NotSmall(&'static str),
    /// The constant has a sign.
    Negative(&'static str),
    /// More of something than this parser accepts: the words before and after the limit.
    MoreThan(u32, &'static str),
    /// No token starts with this character.
    Character,
    /// A NUL byte that is not at the end of the text.
    Nul,
    /// The text is too long.
    TooLong,
}

impl Message {
    fn render(self, text: &str, place: Range<usize>) -> String {
        let there = text.get(place.clone()).unwrap_or_default();
        match self {
            Message::Plain(message) => message.to_owned(),
            Message::Expected(what) => format!("expected {what}, found {}", found(there)),
            Message::ExpectedPunct(punct, purpose) => {
                format!("expected `{}` {purpose}, found {}", punct as char, found(there))
            }
            Message::Quoted(before, after) => format!("{before}`{}`{after}", shorten(there)),
            Message::NotSmall(what) => format!("expected {what} between 0 and {}", u32::MAX),
            Message::Negative(what) => format!("expected {what}, found a negative one"),
            Message::MoreThan(limit, what) => format!("more than {limit} {what}"),
            Message::Character => {
                let rest = text.get(place.start..).unwrap_or_default();
                format!("unexpected character {:?}", rest.chars().next().unwrap_or_default())
            }
            Message::Nul => format!("NUL byte inside the text, which goes on {} bytes later", place.len()),
            Message::TooLong => {
                format!("the text has {} bytes; at most {} are read", text.len(), u32::MAX)
            }
        }
    }
}

/// A token as messages name it; the empty token is the end of the text.
fn found(token: &str) -> String {
    match token.as_bytes() {
        [] => "the end of the text".to_owned(),
        [b'"', ..] => "a string".to_owned(),
        _ => format!("`{}`", shorten(token)),
    }
}

/// A token, shortened for a message.
fn shorten(text: &str) -> &str {
    match text.char_indices().nth(48) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

impl Fault {
    /// An error whose message contains nothing but the location.
    #[cold]
    #[inline(never)]
    pub(crate) fn new(offset: usize, message: &'static str) -> Self {
        Self::at(offset..offset, Message::Plain(message))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn at(place: Range<usize>, message: Message) -> Self {
        Self(Box::new(Inner { place, message, kind: ParseErrorKind::Syntax }))
    }

    pub(crate) fn with_kind(mut self, kind: ParseErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Turns the byte offset into line, column and excerpt. `text` starts in line `first_line`.
    pub(crate) fn locate(self, text: &str, first_line: u32) -> ParseError {
        let Inner { place, message, kind } = *self.0;
        let offset = place.start;
        let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let lines = u32::try_from(before.bytes().filter(|&b| b == b'\n').count()).unwrap_or(u32::MAX);
        let column = before[start..].chars().count();
        // Long lines (generated tables) are shown from a little before the column on.
        let skipped = column.saturating_sub(EXCERPT * 3 / 4);
        let rest = after.find(['\n', '\r']).unwrap_or(after.len());
        let excerpt: String =
            before[start..].chars().chain(after[..rest].chars()).skip(skipped).take(EXCERPT).collect();
        ParseError {
            line: first_line.saturating_add(lines),
            column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1),
            message: message.render(text, place),
            excerpt: excerpt.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}"),
            kind,
            caret: column - skipped,
        }
    }
}
