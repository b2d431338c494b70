//! The driver behind the recorder.

#![allow(unsafe_code)] // Loads the library that the variable names, which whoever set it vouches for.

use cuda_driver_sys::Driver;
use std::sync::{Arc, LazyLock};

/// Path of the real library, or `emulator`.
const VARIABLE: &str = "CUDA_LAUNCH_TRACE_DRIVER";

static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(|| {
    let path = std::env::var_os(VARIABLE).unwrap_or_else(|| "emulator".into());
    if path == "emulator" {
        return cuda_emulator::driver();
    }
    // SAFETY: 1, 2: the variable names a CUDA driver.
    match unsafe { Driver::open(&path) } {
        Ok(driver) => Arc::new(driver),
        Err(error) => {
            // No function can say more than a code: this is for the person who traces.
            eprintln!("cuda-launch trace: {error}");
            // SAFETY: nothing is found, so nothing is called: every function is a stub that says that it is missing.
            Arc::new(unsafe { Driver::from_lookup(|_| std::ptr::null()) })
        }
    }
});

pub(crate) fn driver() -> &'static Driver {
    &DRIVER
}
