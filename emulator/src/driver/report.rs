//! Messages on standard error.

use std::fmt::Arguments;
use std::io::Write;

/// Prints one message, whole even where several threads print.
pub(super) fn line(message: Arguments<'_>) {
    crate::progress::hide();
    let text = format!("cuda-emulator: {message}\n");
    // A closed standard error is no reason for a driver function to fail.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
