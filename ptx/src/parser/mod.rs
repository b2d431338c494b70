//! Tokens to tree, one file per part of the grammar.

mod body;
mod constant;
mod cursor;
mod function;
mod initializer;
mod module;
mod operand;
mod variable;

use crate::error::{Fault, ParseError, ParseErrorKind};
use crate::lexer::check_length;
use crate::number;
use crate::tree::{Function, Module, Statement};
use cursor::{Cursor, Parts};

/// Deepest nesting of blocks in a body.
const MAX_BLOCKS: u32 = 256;
/// Deepest nesting of braces and brackets in an operand or an initialiser. Constants have a stack of their own.
const MAX_NESTING: u32 = 48;

/// The complete parser.
static ALL: Parts = Parts { initializer: |cursor, ty| cursor.initializer(ty), float: number::decimal_float };
/// A parser that skips everything that signatures do not need.
static SIGNATURES: Parts =
    Parts { initializer: |cursor, _| cursor.skip_initializer(), float: number::no_float };

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
    module(text, &ALL).map_err(|fault| fault.locate(text, 1))
}

/// As [`parse`], but without the values of variables: initialisers are skipped, and the extent of `x[] = {..}` is that of `x[]`.
///
/// For programs that need the signatures of kernels and the names of variables: they are linked without a third of the parser.
///
/// # Errors
///
/// As for [`parse`], except for mistakes in skipped text.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .f32 pi = 3.14159;\n.entry k(.param .u64 p) { ret; }";
/// let module = cuda_ptx::parse_signatures(text)?;
/// assert_eq!(module.functions[0].parameters()[0].size, 8);
/// assert!(module.variables[0].name == "pi" && module.variables[0].init.is_none());
/// # Ok::<(), cuda_ptx::ParseError>(())
/// ```
pub fn parse_signatures(text: &str) -> Result<Module<'_>, ParseError> {
    module(text, &SIGNATURES).map_err(|fault| fault.locate(text, 1))
}

/// As [`parse_signatures`], but without an error, because composing its text would add code to the program.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) { ret; }";
/// assert_eq!(cuda_ptx::signatures(text).unwrap().functions[0].name, "k");
/// assert!(cuda_ptx::signatures("hello").is_none());
/// ```
#[must_use]
pub fn signatures(text: &str) -> Option<Module<'_>> {
    module(text, &SIGNATURES).ok()
}

fn module<'a>(text: &'a str, parts: &'static Parts) -> Result<Module<'a>, Fault> {
    let cursor = check_length(text)
        .and_then(|()| Cursor::new(text, 1, parts).map_err(|f| f.with_kind(ParseErrorKind::NotPtx)));
    cursor.and_then(|mut cursor| cursor.module())
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
        .and_then(|()| part(&mut Cursor::new(text, line, &ALL)?))
        .map_err(|fault| fault.locate(text, line))
}
