//! The driver behind the exports: the real one, or a layer that inspects calls in front of it.

#![allow(unsafe_code)] // Loads the library that the variable names; whoever set the variable guarantees that it is a driver.

use cuda_driver_sys::{Driver, open_library};
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
        // Another thread of the parent may be in the middle of setting it.
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
        // The variables are missing, as with `env -i`. The user must not mistake the emulator for a GPU.
        stderr::say(&format!(
            "cuda-launch: process {} is not recorded, and its calls go to the emulator: its environment lacks {VARIABLE}, which `cuda-launch` has set\n",
            std::process::id()
        ));
    }
    let path = path();
    if path == "emulator" {
        return cuda_emulator::driver();
    }
    take_the_name();
    // SAFETY: 1, 2: whoever set the variable guarantees that the file is a CUDA driver; the tool sets it to the library that it
    // found.
    match unsafe { Driver::open(&path) } {
        Ok(driver) => Arc::new(driver),
        Err(error) => {
            // Functions can only return an error code, so the reason is printed for the person who started the
            // program.
            stderr::say(&format!("cuda-launch: {error}\n"));
            nothing()
        }
    }
}

/// Libraries that look for the driver by its name, as NCCL does, shall find this one, although the program has loaded it by its path, and the
/// real one, whose name it is, is loaded next: the first library that goes by a name has it for good.
fn take_the_name() {
    // SAFETY: 1: the tool has put this library where that name is looked for, and its initialisers have run. If the program changed that, it is
    // the driver that the caller opens next, whose initialisers the program runs anyway, or there is none.
    std::mem::forget(unsafe { open_library("libcuda.so.1") });
}

/// A driver without functions.
fn nothing() -> Arc<Driver> {
    // SAFETY: 1, 2: nothing is found, so nothing is called: every function is a stub that returns an error.
    Arc::new(unsafe { Driver::from_lookup(|_| null()) })
}
