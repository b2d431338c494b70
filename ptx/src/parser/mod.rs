//! Tokens to tree, one file per part of the grammar.

mod body;
mod constant;
mod cursor;
mod function;
mod initializer;
mod module;
mod operand;
mod outline;
mod variable;

use crate::error::{Fault, ParseError, ParseErrorKind};
use crate::lexer::check_length;
use crate::tree::{Function, Module, Statement};
use cursor::Cursor;
pub(crate) use outline::checked_outline;
pub use outline::{KernelOutline, Outline, ParameterOutline, outline};

/// Deepest nesting of blocks in a body.
const MAX_BLOCKS: u32 = 256;
/// Deepest nesting of braces and brackets in an operand or an initialiser. Constants have a stack of their own.
const MAX_NESTING: u32 = 48;

/// Reads the structure of a module: directives, variables, and functions with their signatures.
///
/// Bodies are skipped by matching braces; [`Function::statements`] reads one. A trailing NUL, which the driver
/// requires, is allowed.
///
/// # Errors
///
/// [`ParseError`] with line and column if the text does not follow the grammar. Its kind is
/// [`NotPtx`](crate::ParseErrorKind::NotPtx) if the first token of the text is not `.version`.
pub fn parse(text: &str) -> Result<Module<'_>, ParseError> {
    let cursor = check_length(text)
        .and_then(|()| Cursor::new(text, 1).map_err(|fault| fault.with_kind(ParseErrorKind::NotPtx)));
    cursor.and_then(|mut cursor| cursor.module()).map_err(|fault| fault.locate(text, 1))
}

/// Parses one function from the text of its [`span`](Function::span), whose first line is `line`.
///
/// This lets a program store the text and the spans of a module without self-references. Columns in an error
/// count from the start of `text`, if the error is in its first line.
///
/// # Errors
///
/// As for [`parse`]; also if anything follows the function.
pub fn parse_function(text: &str, line: u32) -> Result<Function<'_>, ParseError> {
    run(text, line, Cursor::lone_function)
}

impl<'a> Function<'a> {
    /// Parses the body's statements, with line numbers relative to the whole module. A declaration has none.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the body does not follow the grammar; no instruction is accepted or rejected by its name.
    /// Columns in an error count from the opening brace, if the error is in its line.
    pub fn statements(&self) -> Result<Vec<Statement<'a>>, ParseError> {
        self.body.map_or(Ok(Vec::new()), |body| run(body, self.body_line, Cursor::body))
    }
}

fn run<'a, T>(
    text: &'a str,
    line: u32,
    part: impl FnOnce(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<T, ParseError> {
    check_length(text)
        .and_then(|()| part(&mut Cursor::new(text, line)?))
        .map_err(|fault| fault.locate(text, line))
}
