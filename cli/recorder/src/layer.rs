//! The layer that inspects calls between the exports and the real driver, instead of the timeline: `check` or
//! `record`.

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

/// The requested layer and its output file. The variable that names the file also selects the layer.
static ASKED: LazyLock<Option<(Layer, OsString)>> = LazyLock::new(|| {
    let layers = [(check::FILE, Layer::Check), (record::FILE, Layer::Record)];
    layers.into_iter().find_map(|(variable, layer)| Some((layer, own::variable(variable)?)))
});

static LINES: LazyLock<Option<Lines>> = LazyLock::new(|| {
    let (_, path) = ASKED.as_ref()?;
    Lines::open(Path::new(path)).ok()
});

/// Called when the library is loaded: later, a process might be forked while another thread does this.
pub(crate) fn start() {
    LazyLock::force(&ASKED);
}

/// Whether there is a layer, so that calls are inspected or only passed on, and no timeline is made.
pub(crate) fn is_asked() -> bool {
    fork::passes_on() || ASKED.is_some()
}

/// The command that this library serves, and the word for what that command does to a process.
pub(crate) fn command() -> (&'static str, &'static str) {
    match &*ASKED {
        Some((Layer::Check, _)) => ("check", "checked"),
        Some((Layer::Record, _)) => ("record", "recorded"),
        None => ("trace", "traced"),
    }
}

/// The driver that inspects calls before it passes them on to `base`.
pub(crate) fn over(base: Arc<Driver>) -> Arc<Driver> {
    match &*ASKED {
        Some((Layer::Check, _)) => check::over(base),
        Some((Layer::Record, _)) => record::over(base),
        None => base,
    }
}

/// Makes a call that the checks treat as a call of the function of that name.
///
/// # Safety
/// 1. `words` are the arguments of a call of that function, whose contract the caller upholds, and `call` makes the
///    call.
pub(crate) unsafe fn seen(name: &str, words: &[u64], call: &mut dyn FnMut() -> CUresult) -> CUresult {
    match &*ASKED {
        // SAFETY: 1: the caller's duty 1.
        Some((Layer::Check, _)) => unsafe { check::seen(name, words, call) },
        _ => call(),
    }
}

/// Called at the end of the program, when the library is unloaded, which is after all of the program's exit functions.
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

/// Writes a message for the person who started the program; false if there is nothing to write to.
pub(crate) fn say(command: &str, text: &str) -> bool {
    stderr::say(&format!("cuda-launch {command}: {text}\n"))
}

/// Writes a line for the tool.
pub(crate) fn line(value: &Value) {
    if let Some(lines) = &*LINES {
        let _ = lines.add(format!("{value}\n").as_bytes());
    }
}
