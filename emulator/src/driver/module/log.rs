//! Why an image was refused, in the words of the JIT log that tools read.

use cuda_driver_sys::CUresult;

use crate::driver::logs;
use crate::driver::state::newest_ptx;
use crate::engine::{LoadFailure, LoadFailureKind, is_version};
use crate::tool_report::{Obstacle, ToolReport};

/// A code and the error log that goes with it.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) code: CUresult,
    pub(super) log: String,
    /// What kind of obstacle the image is, if it is one, for `cuda-launch emulate --explain`.
    kind: Option<&'static str>,
    /// What to do, where the emulator has advice that no driver has.
    help: String,
}

impl From<CUresult> for Refusal {
    fn from(code: CUresult) -> Self {
        Refusal::new(code, String::new())
    }
}

/// What to do about PTX that no driver takes.
const CORRECT: &str = "correct the PTX, or what made it: ptxas refuses it, too";

/// The log's last line after errors.
const ABORTED: &str = "ptxas fatal   : Ptx assembly aborted due to errors";

impl Refusal {
    pub(super) fn new(code: CUresult, log: String) -> Refusal {
        Refusal { code, log, kind: None, help: String::new() }
    }

    /// The same, as an obstacle of that kind.
    pub(super) fn of_kind(self, kind: &'static str) -> Refusal {
        Refusal { kind: Some(kind), ..self }
    }

    /// The same, with advice.
    pub(super) fn help(self, help: impl Into<String>) -> Refusal {
        Refusal { help: help.into(), ..self }
    }

    /// The code, for a call that answers with it; the driver's log gets the reason.
    pub(super) fn answer(&self) -> CUresult {
        if let Some(why) = self.log.lines().next() {
            logs::because(why.to_owned());
        }
        if !self.help.is_empty() {
            logs::advise(&self.help);
        }
        self.code
    }

    /// Tells the tool that started the program, if one did: `subject` is the file, or empty.
    pub(super) fn send(&self, subject: &str) {
        let Some(kind) = self.kind else { return };
        let first = self.log.lines().next().unwrap_or_default();
        let way = if self.help.is_empty() { CORRECT } else { &self.help };
        ToolReport::Obstacle(Obstacle {
            kind: kind.to_owned(),
            code: self.code.0,
            subject: subject.to_owned(),
            why: first.trim_start_matches("error   : ").to_owned(),
            way: way.to_owned(),
        })
        .send();
    }

    /// For bytes that are no image.
    pub(super) fn not_an_image() -> Refusal {
        let log = "error   : Binary format for key='0', ident='' is not recognized";
        let refusal = Refusal::new(CUresult::CUDA_ERROR_INVALID_IMAGE, log.into()).of_kind("invalid-image");
        refusal.help("pass PTX, as a text that ends in NUL, or a fatbin that contains some")
    }

    /// For PTX that does not assemble, an error in one line.
    pub(super) fn at(line: u32, severity: &str, message: &str) -> Refusal {
        let log = format!("ptxas application ptx input, line {line}; {severity:<8}: {message}\n{ABORTED}");
        Refusal::new(CUresult::CUDA_ERROR_INVALID_PTX, log).of_kind("invalid-ptx")
    }

    /// For PTX that does not assemble, without a line.
    pub(super) fn fatal(message: &str) -> Refusal {
        let log = format!("ptxas fatal   : {message}");
        Refusal::new(CUresult::CUDA_ERROR_INVALID_PTX, log).of_kind("invalid-ptx")
    }

    /// For what the engine refuses.
    pub(super) fn of(failure: &LoadFailure, text: &str) -> Refusal {
        let message = &failure.message;
        match failure.kind {
            LoadFailureKind::NotPtx => Refusal::not_an_image(),
            LoadFailureKind::Version => Refusal::version(text),
            LoadFailureKind::OutOfMemory => CUresult::CUDA_ERROR_OUT_OF_MEMORY.into(),
            LoadFailureKind::Unsupported => {
                let refusal =
                    Refusal::new(CUresult::CUDA_ERROR_NOT_SUPPORTED, format!("error   : {message}"));
                refusal.of_kind("unsupported").help("compile it for addresses of 64 bits")
            }
            LoadFailureKind::Syntax => match message.strip_suffix("` is not a PTX instruction") {
                Some(name) => {
                    let name = name.trim_start_matches('`');
                    Refusal::at(
                        failure.line,
                        "error",
                        &format!("Not a name of any known instruction: '{name}'"),
                    )
                }
                None => Refusal::at(failure.line, "fatal", &format!("Parsing error: {message}")),
            },
            LoadFailureKind::Unresolved => Refusal::fatal(&capitalised(message)),
            LoadFailureKind::Duplicate => {
                let name = message.split('`').nth(1).unwrap_or_default();
                let functions = cuda_ptx::parse(text).map(|module| module.functions).unwrap_or_default();
                let kind = if functions.iter().any(|f| f.name == name) { "function" } else { "variable" };
                Refusal::at(failure.line, "error", &format!("Duplicate definition of {kind} '{name}'"))
            }
            _ => Refusal::at(failure.line, "error", &capitalised(message)),
        }
    }

    /// For a `.version` that is too new.
    pub(super) fn version(text: &str) -> Refusal {
        let rest = behind_comments(text);
        let before = text.len() - rest.len();
        let line = 1 + text.get(..before).unwrap_or_default().matches('\n').count();
        let version = rest.split_whitespace().nth(1).unwrap_or_default();
        let (major, minor) = newest_ptx();
        let log = format!(
            "ptxas application ptx input, line {line}; fatal   : Unsupported .version {version}; current version is '{major}.{minor}'"
        );
        let numbers = version.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let help = match numbers {
            Some((major, minor)) if is_version(major, minor) => format!(
                "the text is PTX ISA {version}: CUDA_LAUNCH_EMULATOR_PTX={version} (`InstanceOptions::newest_ptx`) makes the emulator read it, as newer drivers do; or compile with \
                 an older toolkit"
            ),
            _ => format!(
                "the text is PTX ISA {version}, which the emulator does not know: compile with an older toolkit"
            ),
        };
        Refusal::new(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, log).of_kind("ptx-version").help(help)
    }
}

/// The text from its first directive on.
fn behind_comments(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let end = match text.get(..2) {
            Some("//") => "\n",
            Some("/*") => "*/",
            _ => return text,
        };
        let comment = text.get(2..).and_then(|inner| inner.split_once(end));
        text = comment.map_or("", |(_, rest)| rest.trim_start());
    }
}

/// The warning for a variable that is only declared, and defined by that.
pub(super) fn ignored_extern(name: &str) -> String {
    format!(
        "ptxas warning : Unresolved extern variable '{name}' in whole program compilation, ignoring extern qualifier"
    )
}

/// The engine's sentence as the log's: a capital first, names in straight quotes.
fn capitalised(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).map(|letter| if letter == '`' { '\'' } else { letter }).collect()
}
