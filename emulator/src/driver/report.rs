//! Messages on standard error.

use std::fmt::Arguments;

use crate::stderr;

/// Prints one message, whole even where several threads print. It is lost where the program has closed standard error or has another file
/// there: that is no reason for a driver function to fail.
pub(super) fn line(message: Arguments<'_>) {
    crate::progress::hide();
    stderr::say(&format!("cuda-emulator: {message}\n"));
}
