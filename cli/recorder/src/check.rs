//! `cuda-launch check`: the driver behind the exports looks at every call, and nothing is recorded.
//!
//! Variables, all set by the tool: `CUDA_LAUNCH_CHECK_FILE` is where findings go, a JSON object in each line;
//! `CUDA_LAUNCH_CHECK_LEVEL`, `_ALLOW` (one in each line), `_REFUSE` and `_LOG` (a file that each call is added to) are its options.

#![allow(unsafe_code)] // Passes on a call of the driver's.

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

/// Makes a call that is checked as one of the function of that name.
///
/// # Safety
/// 1. The words are the arguments of a call of that function, whose contract the caller keeps, and `call` makes it.
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
        // What the program's standard error did not get, the tool writes to its own.
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

/// Tells of what is left. When the library is unloaded, which is after all that the program has asked to be called at its end.
pub(crate) fn end() {
    let Some(check) = CHECK.get() else { return };
    let Some(calls) = check.end() else { return };
    let suppressed: serde_json::Map<String, Value> =
        check.suppressed().into_iter().map(|(rule, times)| (rule.name().to_owned(), times.into())).collect();
    line(&json!({ "is": "end", "process": std::process::id(), "calls": calls, "suppressed": suppressed }));
}

/// A program that ends well should have taken the errors of the runtime: what is left then, nobody has looked at. One that ends
/// because of an error has.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
extern "C" fn at_exit(code: c_int, _: *mut std::ffi::c_void) {
    let Some(check) = CHECK.get().filter(|check| code == 0 && check.is_runtime()) else { return };
    if let Some((code, name)) = crate::runtime::last_error() {
        check.runtime_error(code, name);
    }
}

/// A forked process cannot use the driver that its parent has used, and has none of what that made.
pub(crate) fn switch_off() {
    if let Some(check) = CHECK.get() {
        check.switch_off();
    }
}
