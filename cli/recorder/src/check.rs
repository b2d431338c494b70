//! `cuda-launch check`: the driver behind the exports inspects every call, and nothing is recorded.
//!
//! Variables, all set by the tool: `CUDA_LAUNCH_CHECK_FILE` is the file for findings, with a JSON object in each line;
//! `CUDA_LAUNCH_CHECK_LEVEL`, `_ALLOW` (one in each line), `_REFUSE` and `_LOG` (a file to which each call is appended) are its
//! options.

#![allow(unsafe_code)] // Passes a driver call on.

use cuda_driver_sys::{CUresult, Driver};
use cuda_harness::check::{Allow, Check, CheckOptions, Finding, Level};
use serde_json::{Value, json};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::ffi::c_int;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::layer::{line, say};
use crate::own::{self, Lines};

pub(crate) const FILE: &str = "CUDA_LAUNCH_CHECK_FILE";

static CHECK: OnceLock<Check> = OnceLock::new();

/// Makes a call that is checked like a call of the function of that name.
///
/// # Safety
/// 1. `words` are the arguments of a call of that function, whose contract the caller upholds, and `call` makes the
///    call.
pub(crate) unsafe fn seen(name: &str, words: &[u64], call: &mut dyn FnMut() -> CUresult) -> CUresult {
    match CHECK.get() {
        // SAFETY: 1: the caller's duty 1.
        Some(check) => unsafe { check.seen(name, words, call) },
        None => call(),
    }
}

/// The driver that checks calls before it passes them on to `base`.
pub(crate) fn over(base: Arc<Driver>) -> Arc<Driver> {
    let variable =
        |name: &str| own::variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
    let mut options = CheckOptions::new();
    if let Some(level) = Level::named(&variable("CUDA_LAUNCH_CHECK_LEVEL")) {
        options = options.level(level);
    }
    for allowed in variable("CUDA_LAUNCH_CHECK_ALLOW").lines().filter_map(Allow::of) {
        options = options.allow(allowed);
    }
    if !variable("CUDA_LAUNCH_CHECK_REFUSE").is_empty() {
        options = options.refuse();
    }
    if let Some(file) = own::variable("CUDA_LAUNCH_CHECK_LOG").filter(|file| !file.is_empty()) {
        match Lines::open(Path::new(&file)) {
            Ok(lines) => {
                options = options.log(move |call| {
                    if let Err(error) = lines.add(format!("{call}\n").as_bytes()) {
                        lost(&error);
                    }
                });
            }
            Err(error) => drop(say("check", &format!("{}: {error}", file.display()))),
        }
    }
    match options.over(&base, tell) {
        Ok(check) => {
            line(&json!({ "is": "begin", "process": std::process::id() }));
            let driver = check.driver();
            let _ = CHECK.set(check);
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            crate::runtime::at_exit(at_exit);
            driver
        }
        Err(error) => {
            let _ = say("check", &error.to_string());
            base
        }
    }
}

/// The first time that the log lacks a call, the tool is told.
#[cold]
fn lost(error: &io::Error) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed) {
        line(&json!({ "is": "log-failed", "error": error.raw_os_error().unwrap_or(0) }));
    }
}

fn tell(finding: &Finding) {
    let text = finding.to_string();
    let is_said = say("check", &text);
    line(&json!({
        // The tool writes what could not be written to the program's standard error.
        "late": if is_said { Value::Null } else { text.into() },
        "rule": finding.rule().name(),
        "level": finding.rule().level().name(),
        "process": std::process::id(),
        "call": finding.call(),
        "function": finding.function(),
        "kernel": finding.kernel(),
        "message": finding.message(),
        "fix": finding.rule().fix(),
    }));
}

/// Reports the remaining findings. Called when the library is unloaded, which is after all of the program's exit functions.
pub(crate) fn end() {
    let Some(check) = CHECK.get() else { return };
    let Some(calls) = check.end() else { return };
    let suppressed: serde_json::Map<String, Value> =
        check.suppressed().into_iter().map(|(rule, times)| (rule.name().to_owned(), times.into())).collect();
    line(&json!({ "is": "end", "process": std::process::id(), "calls": calls, "suppressed": suppressed }));
}

/// A program that exits with code 0 should have taken the runtime's last error; an error that remains then was never checked. A
/// program that exits because of an error has checked it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
extern "C" fn at_exit(code: c_int, _: *mut std::ffi::c_void) {
    let Some(check) = CHECK.get().filter(|check| code == 0 && check.is_runtime()) else { return };
    if let Some((code, name)) = crate::runtime::last_error() {
        check.runtime_error(code, name);
    }
}

/// Called in a forked process, which can use neither the driver that its parent has used nor the parent's objects.
pub(crate) fn switch_off() {
    if let Some(check) = CHECK.get() {
        check.switch_off();
    }
}
