//! What can go wrong with the run-time compilers: they are missing, too old, or reject their input.

use super::arguments::joined;
use std::fmt;
use thiserror::Error;

use super::images::SearchAttempt;

/// A run-time compiler that cannot be used, or that rejects its input.
///
/// ```
/// use cuda_launch::error::{CompileError, Diagnostic, CompileFailure, Severity};
/// let log = "k.cu(2): error: identifier \"x\" is undefined\n   a[0]=x;\n        ^\n\n1 error detected";
/// let first = &Diagnostic::parse(log)[0];
/// assert_eq!((first.severity, first.file.as_deref(), first.line), (Severity::Error, Some("k.cu"), Some(2)));
/// assert_eq!(first.excerpt.as_deref(), Some(" a[0]=x;\n      ^"));
/// ```
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The library is not installed on this machine, or cannot be loaded.
    #[error("{library} could not be loaded; tried:{}\n  help: {help}", lines(tried))]
    NotFound {
        /// `NVRTC`, `nvJitLink` or `libNVVM`.
        library: &'static str,
        /// Every file and name tried, in order.
        tried: Vec<SearchAttempt>,
        /// How to install it, or how to specify where it is.
        help: String,
    },
    /// The library that was found is too old for the request.
    #[error(
        "{library}{} has no {what}\n  help: {since}; install a newer one, or name it with {variable}", version(*found)
    )]
    TooOld {
        /// The library.
        library: &'static str,
        /// Its version, if it reports one.
        found: Option<(u32, u32)>,
        /// The function or output that is missing.
        what: String,
        /// The version that introduced it.
        since: &'static str,
        /// The variable that names another library.
        variable: &'static str,
    },
    /// This program was built without the compiler that the file needs.
    #[error("{what} needs {library}\n  help: build the program with feature `{feature}` of cuda-launch")]
    NotBuilt {
        /// The file or the kind of code.
        what: String,
        /// The library.
        library: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// The device runs a different kind of code.
    #[error("{what}; {device} runs PTX only\n  help: {help}")]
    PtxOnly {
        /// What was being loaded.
        what: String,
        /// The device's name.
        device: String,
        /// What to load instead.
        help: &'static str,
    },
    /// An argument that the library would misread, or that would crash it.
    #[error("{what}\n  help: {help}")]
    Argument {
        /// What is wrong, with the value.
        what: String,
        /// What to do.
        help: String,
    },
    /// The compiler rejected its input, with this report.
    #[cfg(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm"))]
    #[error(transparent)]
    Refused(#[from] CompileFailure),
}

/// What a compiler reported when it rejected its input: the log, unchanged and parsed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompileFailure {
    /// `NVRTC`, `nvJitLink` or `libNVVM`.
    pub library: &'static str,
    /// Its version.
    pub version: (u32, u32),
    /// The function that failed.
    pub call: &'static str,
    /// Its result.
    pub code: u32,
    /// The name of the code in the library's header; `unknown code` for a newer library's.
    pub code_name: &'static str,
    /// The source file, or the name given to the source.
    pub origin: String,
    /// The options as passed to the compiler.
    pub options: Vec<String>,
    /// The errors, warnings and remarks found in the log.
    pub diagnostics: Vec<Diagnostic>,
    /// The whole log.
    pub log: String,
    /// The likely cause or the next step.
    pub hint: Option<String>,
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        write!(
            f,
            "{} {major}.{minor} rejected {} ({}: {})",
            self.library, self.origin, self.call, self.code_name
        )?;
        let errors = || self.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        const SHOWN: usize = 10;
        for diagnostic in errors().take(SHOWN) {
            write!(f, "\n{diagnostic}")?;
        }
        match errors().count() {
            0 => self
                .log
                .lines()
                .filter(|line| !line.trim().is_empty())
                .try_for_each(|line| write!(f, "\n  {line}"))?,
            n if n > SHOWN => write!(f, "\n  and {} more errors", n - SHOWN)?,
            _ => {}
        }
        if !self.options.is_empty() {
            write!(f, "\n  options: {}", joined(&self.options, " "))?;
        }
        self.hint.iter().try_for_each(|hint| write!(f, "\n  help: {hint}"))
    }
}

impl std::error::Error for CompileFailure {}

/// How severe a compiler's diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// It stops compilation.
    Error,
    /// It does not stop compilation.
    Warning,
    /// Information only.
    Remark,
}

/// One diagnostic of a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The file it refers to, if any.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// The compiler's message.
    pub message: String,
    /// The source line with a marker below it, as the compiler shows it.
    pub excerpt: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("  ")?;
        if let Some(file) = &self.file {
            f.write_str(file)?;
            self.line.iter().try_for_each(|line| write!(f, ":{line}"))?;
            f.write_str(": ")?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        };
        write!(f, "{severity}: {}", self.message)?;
        self.excerpt.iter().flat_map(|text| text.lines()).try_for_each(|line| write!(f, "\n    | {line}"))
    }
}

impl Diagnostic {
    /// Parses a log of NVRTC, nvJitLink (including `ptxas` messages) or libNVVM. Lines that cannot be parsed are left
    /// out.
    pub fn parse(log: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut open = false;
        for line in log.lines() {
            if let Some(diagnostic) = Self::of_line(line) {
                found.push(diagnostic);
                open = true;
            } else if open && line.starts_with(' ') && !line.trim().is_empty() {
                // The compiler shows the source, indented, until an empty line.
                if let Some(last) = found.last_mut() {
                    let text = line.strip_prefix("  ").unwrap_or(line);
                    let excerpt = last.excerpt.get_or_insert_default();
                    if !excerpt.is_empty() {
                        excerpt.push('\n');
                    }
                    excerpt.push_str(text);
                }
            } else {
                open = false;
            }
        }
        found
    }

    fn of_line(line: &str) -> Option<Self> {
        ptxas(line).or_else(|| front_end(line)).or_else(|| nvvm(line)).or_else(|| linker(line))
    }

    fn new(severity: Severity, place: Option<(&str, Option<u32>)>, message: &str) -> Self {
        let (file, line) = place.map_or((None, None), |(file, line)| (Some(file.to_string()), line));
        Self { severity, file, line, message: message.trim().to_string(), excerpt: None }
    }
}

/// `k.cu(2): error: ...`, `k.cu(3): warning #177-D: ...`, `nvrtc: error: ...`, `libnvvm : error: ...`.
fn front_end(line: &str) -> Option<Diagnostic> {
    let words = [
        (": catastrophic error", Severity::Error),
        (": internal error", Severity::Error),
        (": error", Severity::Error),
        (": warning", Severity::Warning),
        (": remark", Severity::Remark),
        (": note", Severity::Remark),
    ];
    let (at, word, severity) = words
        .iter()
        .filter_map(|(word, severity)| Some((line.find(word)?, word, *severity)))
        .min_by_key(|f| f.0)?;
    let (place, rest) = (line.get(..at)?, line.get(at + word.len()..)?);
    let (number, message) = rest.split_once(':')?;
    if !number.trim().is_empty() && !number.trim_start().starts_with('#') {
        return None;
    }
    let in_file = place.strip_suffix(')').and_then(|place| place.rsplit_once('('));
    let place = in_file.and_then(|(file, line)| Some((file, Some(line.parse().ok()?))));
    Some(Diagnostic::new(severity, place, message))
}

/// `ptxas application ptx input, line 4; error   : ...`
fn ptxas(line: &str) -> Option<Diagnostic> {
    let rest = line.strip_prefix("ptxas ")?;
    let (place, message) = rest.split_once("; error")?;
    let (file, number) = place.rsplit_once(", line ")?;
    let message = message.trim_start().strip_prefix(':')?;
    Some(Diagnostic::new(Severity::Error, Some((file, number.parse().ok())), message))
}

/// `k.ll (1, 17): parse expected type`
fn nvvm(line: &str) -> Option<Diagnostic> {
    let (place, message) = line.split_once("): ")?;
    let (file, numbers) = place.rsplit_once(" (")?;
    let (number, _column) = numbers.split_once(", ")?;
    Some(Diagnostic::new(Severity::Error, Some((file, Some(number.parse().ok()?))), message))
}

/// `error   : Undefined reference to 'h' in 'k.ptx'`, `unrecognized option: -foo`.
fn linker(line: &str) -> Option<Diagnostic> {
    if line.starts_with("unrecognized option: ") {
        return Some(Diagnostic::new(Severity::Error, None, line));
    }
    let rest = line.strip_prefix("error")?;
    let message = rest.trim_start().strip_prefix(": ")?;
    let file = message.rsplit_once(" in '").and_then(|(_, file)| file.strip_suffix('\''));
    Some(Diagnostic::new(Severity::Error, file.map(|file| (file, None)), message))
}

fn lines(tried: &[SearchAttempt]) -> String {
    tried.iter().map(|t| format!("\n  {}: {}", t.path.display(), t.reason)).collect()
}

fn version(found: Option<(u32, u32)>) -> String {
    found.map_or_else(String::new, |(major, minor)| format!(" {major}.{minor}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn one(log: &str) -> (Severity, Option<String>, Option<u32>, String) {
        let d = Diagnostic::parse(log).remove(0);
        (d.severity, d.file, d.line, d.message)
    }

    #[test]
    fn every_form_of_log_is_understood() {
        let error = |file: &str, line, message: &str| {
            (Severity::Error, Some(file.to_string()), line, message.to_string())
        };
        let ptx = "ptxas application ptx input, line 4; error   : Not a name of any known instruction: 'foo'";
        assert_eq!(
            one(ptx),
            error("application ptx input", Some(4), "Not a name of any known instruction: 'foo'")
        );
        let link = "error   : Undefined reference to 'h' in 'k.ptx'\nERROR 9: finish\n";
        assert_eq!(one(link), error("k.ptx", None, "Undefined reference to 'h' in 'k.ptx'"));
        assert_eq!(one("k.ll (1, 17): parse expected type"), error("k.ll", Some(1), "parse expected type"));
        let front = "k.cu(1): catastrophic error: cannot open source file \"helper.h\"\n  #include \"helper.h\"\n       ^\n\n1 ";
        assert_eq!(one(front), error("k.cu", Some(1), "cannot open source file \"helper.h\""));
        assert_eq!(Diagnostic::parse(front)[0].excerpt.as_deref(), Some("#include \"helper.h\"\n     ^"));
        assert_eq!(one("a(3): warning #177-D: variable \"u\": unused").0, Severity::Warning);
        let option = "nvrtc: error: unrecognized option --foo found";
        assert_eq!(one(option), (Severity::Error, None, None, "unrecognized option --foo found".into()));
        assert_eq!(one("libnvvm : error: -foo is an unsupported option").3, "-foo is an unsupported option");
        assert!(
            Diagnostic::parse("2 errors detected in the compilation of \"k.cu\".\n\nRemark: The\n")
                .is_empty()
        );
        assert!(Diagnostic::parse("").is_empty());
    }

    #[test]
    fn windows_paths_and_parentheses_stay_in_the_file() {
        assert_eq!(
            one("C:\\a (1)\\k.cu(7): error: no"),
            (Severity::Error, Some("C:\\a (1)\\k.cu".into()), Some(7), "no".into())
        );
    }
}
