//! Texts between Rust and C.

use std::ffi::{CString, c_char};

use crate::error::{CompileError, Error, ErrorKind};

/// Texts that end in NUL; an error for one with a NUL inside, which the compiler would cut there.
pub(super) fn c_strings<'a>(
    what: &str,
    texts: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<CString>, Error> {
    let convert = |text: &String| {
        CString::new(text.as_str()).map_err(|error| {
            let at = error.nul_position();
            argument_error(format!("{what} has a NUL at byte {at}, where C would truncate it"), "take it out")
        })
    };
    texts.into_iter().map(convert).collect()
}

/// Where each text begins; valid as long as they are.
pub(super) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// A log as the compilers write it, with NULs at its end.
pub(super) fn from_log(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches(['\0', '\n']).to_string()
}

#[cold]
pub(super) fn argument_error(what: String, help: &str) -> Error {
    ErrorKind::Compile(CompileError::Argument { what, help: help.to_string() }).into()
}
