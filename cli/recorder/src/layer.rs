//! What looks at calls between the exports and the real driver, in place of the timeline: `check` or `record`.

#![allow(unsafe_code)] // Passes on a call of a C function.

use cuda_driver_sys::{CUresult, Driver};
use cuda_emulator::stderr;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::own::{self, Lines};
use crate::{check, fork, record};

#[derive(Clone, Copy)]
enum Layer {
    Check,
    Record,
}

/// What is to be done, and its file of lines: the variable that names that says both.
static ASKED: LazyLock<Option<(Layer, OsString)>> = LazyLock::new(|| {
    let layers = [(check::FILE, Layer::Check), (record::FILE, Layer::Record)];
    layers.into_iter().find_map(|(variable, layer)| Some((layer, own::variable(variable)?)))
});

static LINES: LazyLock<Option<Lines>> = LazyLock::new(|| {
    let (_, path) = ASKED.as_ref()?;
    Lines::open(Path::new(path)).ok()
});

/// When the library is loaded: later a process may be forked while another thread does this.
pub(crate) fn start() {
    LazyLock::force(&ASKED);
}

/// Whether calls are looked at or only passed on, and no timeline is made.
pub(crate) fn is_asked() -> bool {
    fork::passes_on() || ASKED.is_some()
}

/// The command that this library is for, and what that does to a process.
pub(crate) fn command() -> (&'static str, &'static str) {
    match &*ASKED {
        Some((Layer::Check, _)) => ("check", "checked"),
        Some((Layer::Record, _)) => ("record", "recorded"),
        None => ("trace", "traced"),
    }
}

/// The driver that looks at calls before it passes them on to `base`.
pub(crate) fn over(base: Arc<Driver>) -> Arc<Driver> {
    match &*ASKED {
        Some((Layer::Check, _)) => check::over(base),
        Some((Layer::Record, _)) => record::over(base),
        None => base,
    }
}

/// Makes a call that checks see as one of the function of that name.
///
/// # Safety
/// 1. The words are the arguments of a call of that function, whose contract the caller keeps, and `call` makes it.
pub(crate) unsafe fn seen(name: &str, words: &[u64], call: &mut dyn FnMut() -> CUresult) -> CUresult {
    match &*ASKED {
        // SAFETY: 1: the caller's duty 1.
        Some((Layer::Check, _)) => unsafe { check::seen(name, words, call) },
        _ => call(),
    }
}

/// At the end of the program. When the library is unloaded, which is after all that the program has asked to be called at its end.
pub(crate) fn end() {
    if fork::is_child() {
        return;
    }
    match &*ASKED {
        Some((Layer::Check, _)) => check::end(),
        Some((Layer::Record, _)) => record::end(),
        None => {}
    }
}

/// For the person who started the program; false where there is nothing to write to.
pub(crate) fn say(command: &str, text: &str) -> bool {
    stderr::say(&format!("cuda-launch {command}: {text}\n"))
}

/// For the tool.
pub(crate) fn line(value: &Value) {
    if let Some(lines) = &*LINES {
        let _ = lines.add(format!("{value}\n").as_bytes());
    }
}
