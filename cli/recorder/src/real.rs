//! The driver behind the exports: the real one, or what looks at calls in front of it.

#![allow(unsafe_code)] // Loads the library that the variable names, which whoever set it vouches for.

use cuda_driver_sys::Driver;
use cuda_emulator::stderr;
use std::ffi::OsString;
use std::ptr::null;
use std::sync::{Arc, OnceLock};

use crate::own;
use crate::{fork, layer};

/// Path of the real library, or `emulator`.
const VARIABLE: &str = "CUDA_LAUNCH_TRACE_DRIVER";

static DRIVER: OnceLock<Arc<Driver>> = OnceLock::new();

pub(crate) fn driver() -> &'static Driver {
    match DRIVER.get() {
        Some(driver) => driver,
        None => first(),
    }
}

#[cold]
fn first() -> &'static Driver {
    static NONE: OnceLock<Arc<Driver>> = OnceLock::new();
    if fork::is_child() {
        // Another thread of the parent was about to set it.
        return NONE.get_or_init(nothing);
    }
    fork::used();
    DRIVER.get_or_init(|| layer::over(real()))
}

/// Where the driver is: a path, or `emulator`.
pub(crate) fn path() -> OsString {
    own::variable(VARIABLE).unwrap_or_else(|| "emulator".into())
}

fn real() -> Arc<Driver> {
    if own::variable(VARIABLE).is_none() {
        // As with `env -i`. Whoever took the variables away shall not take the emulator for a GPU.
        stderr::say(&format!(
            "cuda-launch: process {} is not recorded, and its calls go to the emulator: its environment lacks {VARIABLE}, which `cuda-launch` has set\n",
            std::process::id()
        ));
    }
    let path = path();
    if path == "emulator" {
        return cuda_emulator::driver();
    }
    // SAFETY: 1, 2: whoever set the variable vouches for the file to be a CUDA driver; the tool sets it to the library that it found.
    match unsafe { Driver::open(&path) } {
        Ok(driver) => Arc::new(driver),
        Err(error) => {
            // No function can say more than a code: this is for the person who started the program.
            stderr::say(&format!("cuda-launch: {error}\n"));
            nothing()
        }
    }
}

/// A driver that has no function.
fn nothing() -> Arc<Driver> {
    // SAFETY: 1, 2: nothing is found, so nothing is called: every function is a stub that says that it is missing.
    Arc::new(unsafe { Driver::from_lookup(|_| null()) })
}
