//! The output of a command: text or JSON, and an exit code.

use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

use crate::failure::{Exit, Failure};
use crate::table::Columns;
use crate::{stdout, style};

/// The result of a command.
pub(crate) struct Outcome {
    /// The text with styles, which are removed for a pipe.
    pub(crate) text: String,
    /// With a field `schema`.
    pub(crate) json: Json,
    pub(crate) exit: Exit,
    /// The text is for standard error.
    pub(crate) is_error: bool,
    /// The exit code of a started program, which replaces the tool's own.
    pub(crate) program: Option<u8>,
}

/// A result for programs.
pub(crate) enum Json {
    Tree(Value),
    /// Ready-made JSON, whose tree would have many times its size.
    Text(String),
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::Tree(value)
    }
}

impl Outcome {
    pub(crate) fn new(text: String, json: impl Into<Json>) -> Self {
        Self { text, json: json.into(), exit: Exit::Well, is_error: false, program: None }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        let mut error = json!({ "kind": failure.kind(), "message": failure.message });
        if let (Some(error), Value::Object(place)) = (error.as_object_mut(), &failure.place) {
            error.extend(place.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Self {
            text: Columns::err().wrap_lines(&format!("{} {}", style::bad("error:"), failure.message), ""),
            json: json!({ "schema": "cuda-launch.error.1", "error": error }).into(),
            exit: failure.exit,
            is_error: true,
            program: None,
        }
    }
}

/// The text without control sequences that a name in an image could contain. Colours are kept.
fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let is_colour = |rest: &str| {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            rest.starts_with('m')
        };
        let kept = match c {
            '\n' | '\t' => true,
            '\x1b' => text[at + 1..].strip_prefix('[').is_some_and(is_colour),
            c => !c.is_control(),
        };
        clean.push(if kept { c } else { '\u{fffd}' });
    }
    clean
}

/// Prints the result. A closed pipe is not an error of the command.
pub(crate) fn print(outcome: &Outcome, json: bool) -> ExitCode {
    let code = ExitCode::from(outcome.program.unwrap_or(outcome.exit as u8));
    let is_error = outcome.is_error && !json;
    let written = if !is_error && stdout::is_closed() {
        Err(std::io::Error::other("it is closed"))
    } else if json {
        let mut out = std::io::stdout().lock();
        match &outcome.json {
            Json::Tree(value) => writeln!(out, "{value:#}"),
            Json::Text(text) => writeln!(out, "{text}"),
        }
    } else if is_error {
        anstream::stderr().lock().write_all(harmless(&outcome.text).as_bytes())
    } else {
        let mut out = anstream::stdout().lock();
        out.write_all(harmless(&outcome.text).as_bytes()).and_then(|()| out.flush())
    };
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let place = if is_error { "standard error" } else { "standard output" };
            let _ = writeln!(
                std::io::stderr(),
                "error: cannot write the output to {place}: {error}\n  help: make room, or send it elsewhere"
            );
            ExitCode::from(Exit::File as u8)
        }
        _ => code,
    }
}
