//! The driver behind the exports: the real one, or what looks at calls in front of it.

#![allow(unsafe_code)] // Loads the library that the variable names, which whoever set it vouches for.

use cuda_driver_sys::Driver;
use std::ffi::OsString;
use std::sync::{Arc, LazyLock};

use crate::layer;
use crate::own;

/// Path of the real library, or `emulator`.
const VARIABLE: &str = "CUDA_LAUNCH_TRACE_DRIVER";

static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(|| {
    let real = real();
    if layer::is_asked() { layer::over(real) } else { real }
});

/// Where the driver is: a path, or `emulator`.
pub(crate) fn path() -> OsString {
    own::variable(VARIABLE).unwrap_or_else(|| "emulator".into())
}

fn real() -> Arc<Driver> {
    let path = path();
    if path == "emulator" {
        return cuda_emulator::driver();
    }
    // SAFETY: 1, 2: whoever set the variable vouches for the file to be a CUDA driver; the tool sets it to the library that it found.
    match unsafe { Driver::open(&path) } {
        Ok(driver) => Arc::new(driver),
        Err(error) => {
            // No function can say more than a code: this is for the person who started the program.
            own::say(&format!("cuda-launch: {error}\n"));
            // SAFETY: 1, 2: nothing is found, so nothing is called: every function is a stub that says that it is
            // missing.
            Arc::new(unsafe { Driver::from_lookup(|_| std::ptr::null()) })
        }
    }
}

pub(crate) fn driver() -> &'static Driver {
    &DRIVER
}
