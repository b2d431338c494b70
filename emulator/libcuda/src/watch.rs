//! The driver of this library: the emulator, behind a spy where the environment asks for one (`CUDA_LAUNCH_HARNESS_*`).

use cuda_driver_sys::Driver;
use cuda_emulator::stderr;
use cuda_emulator::tool_report::ToolReport;
use cuda_harness::{Environment, Error, Spy};
use std::fmt::Arguments;
use std::ptr::null;
use std::sync::{Arc, OnceLock};

/// The spy, what was asked of it and is reported when the program ends, and the process whose calls it knows: a forked child has none of
/// its objects.
static REPORTED: OnceLock<(Spy, Environment, u32)> = OnceLock::new();

/// Called when the library is loaded, before the program can close standard error if it is linked with a driver.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
// SAFETY: the section is a list of functions, as wide as addresses, which this is; the loader calls each once, when the library is
// loaded. The arguments that it passes are in registers, which a function that takes nothing leaves alone.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
extern "C" fn start() {
    stderr::remember();
}

/// Called when the library is unloaded: after what the program has asked to be called at its end, and after the destructors of its static
/// objects, which may give back what they hold. `atexit` would call it before those that were registered when this library had not been used.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
// SAFETY: the section is a list of functions that take nothing, of which the loader calls each once.
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = report;

/// The driver that this library exports. A program that is to be watched and cannot be is given none: every call answers
/// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER`.
pub(crate) fn driver() -> Arc<Driver> {
    watched().unwrap_or_else(|error| {
        say(format_args!("{error}\n  this process has no CUDA driver until that is fixed\n"));
        // SAFETY: 1, 2: it hands out nothing, so nothing is called: every function is a stub that answers an error.
        Arc::new(unsafe { Driver::from_lookup(|_| null()) })
    })
}

fn watched() -> Result<Arc<Driver>, Error> {
    let emulator = cuda_emulator::driver();
    let Some(asked) = Environment::read()? else { return Ok(emulator) };
    let spy = asked.over(&emulator)?;
    let driver = spy.driver();
    let is_reported = asked.reports_leaks() || asked.has_faults();
    if is_reported && REPORTED.set((spy, asked, std::process::id())).is_ok() {
        at_exit();
    }
    Ok(driver)
}

/// Where `END` is, there is nothing to do.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn at_exit() {}

/// Elsewhere the C library calls it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: declared as in C. The function is of the type that it takes, does not unwind (from `extern "C"` a panic
    // ends the process), and is this library's, which is not unloaded before the process ends, or has it run then.
    unsafe { atexit(report) };
}

/// Says which faults were asked for and never met, what the program did not give back, and what it used after its end.
extern "C" fn report() {
    let Some((spy, asked, process)) = REPORTED.get() else { return };
    if *process != std::process::id() {
        return;
    }
    for (fault, calls) in asked.unmet(spy) {
        say(format_args!("the fault {fault} was never met: its function was called {calls} times\n"));
    }
    if asked.reports_leaks() {
        let ledger = spy.ledger();
        let (live, mistakes) = (ledger.live().len(), ledger.problems().len());
        say(format_args!("{live} live, {mistakes} mistakes\n{ledger}"));
        ToolReport::Ledger { live: live as u64, mistakes: mistakes as u64 }.send();
    }
}

fn say(text: Arguments<'_>) {
    stderr::say(&format!("cuda-harness: {text}"));
}
