//! The error about an argument list, with both lists side by side.

use std::fmt;

/// One argument as the caller passed it; a slice counts as two, its address and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedArgument {
    /// The size in bytes.
    pub size: usize,
    /// The Rust type, `address of [f32]`, or `length of [f32]`.
    pub type_name: String,
}

/// One parameter as the kernel declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The size in bytes.
    pub size: usize,
    /// The PTX type (`.f32`, `.b8[40]`), if the image states it.
    pub ty: Option<String>,
    /// Name in the image, if any.
    pub name: Option<String>,
}

/// An argument list that the kernel would have misread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArgumentMismatch {
    /// The kernel.
    pub kernel: String,
    /// The arguments, one entry per parameter (a slice takes two).
    pub given: Vec<PassedArgument>,
    /// The kernel's parameters.
    pub wanted: Vec<Parameter>,
    /// Index of the first difference.
    pub at: usize,
    /// The likely cause.
    pub guess: Option<String>,
}

impl fmt::Display for ArgumentMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kernel, at) = (&self.kernel, self.at);
        match (self.given.get(at), self.wanted.get(at)) {
            (Some(given), Some(wanted)) if given.size == wanted.size => write!(
                f,
                "{kernel}: argument {at} is of type `{}`; the kernel's parameter {at} is {}, {}",
                given.type_name,
                wanted.kind(),
                wanted.describe()
            )?,
            (Some(given), Some(wanted)) => write!(
                f,
                "{kernel}: argument {at} is {} ({}); the kernel's parameter {at} is {}",
                bytes(given.size),
                given.type_name,
                wanted.describe()
            )?,
            (None, Some(wanted)) => write!(
                f,
                "{kernel}: {} given, but the kernel has {}: parameter {at} ({}) has no argument",
                count(self.given.len(), "argument"),
                count(self.wanted.len(), "parameter"),
                wanted.describe()
            )?,
            (Some(given), None) => write!(
                f,
                "{kernel}: {} given, but the kernel has {}: argument {at} ({}) has no parameter",
                count(self.given.len(), "argument"),
                count(self.wanted.len(), "parameter"),
                given.type_name
            )?,
            (None, None) => write!(f, "{kernel}: arguments do not fit")?,
        }
        if let Some(guess) = &self.guess {
            write!(f, ". {guess}")?;
        }
        self.table(f)
    }
}

impl ArgumentMismatch {
    /// Both lists side by side, the first difference marked.
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<String> =
            self.given.iter().map(|g| format!("{} ({})", g.type_name, bytes(g.size))).collect();
        let width = given.iter().map(|g| g.chars().count()).max().unwrap_or(0).max("arguments".len());
        write!(f, "\n      # {:width$} | parameters of {}", "arguments", self.kernel)?;
        for i in 0..given.len().max(self.wanted.len()) {
            let mark = if i == self.at { '>' } else { ' ' };
            let left = given.get(i).map_or("-", String::as_str);
            let right = self.wanted.get(i).map_or_else(|| "-".into(), Parameter::describe);
            write!(f, "\n  {mark} {i:3} {left:width$} | {right}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ArgumentMismatch {}

impl Parameter {
    /// In words, for one that is known to be either.
    fn kind(&self) -> &'static str {
        let is_float = self.ty.as_deref().is_some_and(|ty| ty.starts_with(".f") || ty.starts_with(".bf"));
        if is_float { "a floating-point number" } else { "an integer" }
    }

    fn describe(&self) -> String {
        match &self.ty {
            Some(ty) => format!("{} ({ty})", bytes(self.size)),
            None => bytes(self.size),
        }
    }
}

pub(crate) fn bytes(n: usize) -> String {
    count(n, "byte")
}

/// The words with this between them. Of any iterator: `join` would be compiled for each length of what is between.
pub(crate) fn joined<T: AsRef<str>>(words: impl IntoIterator<Item = T>, between: &str) -> String {
    let mut all = String::new();
    for (index, word) in words.into_iter().enumerate() {
        append(&mut all, if index == 0 { "" } else { between });
        append(&mut all, word.as_ref());
    }
    all
}

/// Once, and not for each kind of iterator.
#[inline(never)]
fn append(all: &mut String, text: &str) {
    all.push_str(text);
}

pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
