//! What looks at calls between the exports and the real driver, in place of the timeline: `check` or `record`.

#![allow(unsafe_code)] // Passes on a call of a C function.

use cuda_driver_sys::{CUresult, Driver};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use crate::{check, record};

#[derive(Clone, Copy)]
enum Layer {
    Check,
    Record,
}

/// The variable that names the file of lines also says what is to be done.
static ASKED: LazyLock<Option<(Layer, Option<File>)>> = LazyLock::new(|| {
    [(check::FILE, Layer::Check), (record::FILE, Layer::Record)].into_iter().find_map(|(variable, layer)| {
        let path = std::env::var_os(variable)?;
        Some((layer, File::options().append(true).create(true).open(path).ok()))
    })
});

/// Whether calls are looked at, and no timeline is made.
pub(crate) fn is_asked() -> bool {
    ASKED.is_some()
}

/// The driver that looks at calls before it passes them on to `base`.
pub(crate) fn over(base: Arc<Driver>) -> Arc<Driver> {
    match &*ASKED {
        Some((Layer::Check, _)) => check::over(base),
        Some((Layer::Record, _)) => record::over(base),
        None => base,
    }
}

/// Makes a call that checks see as one of the function of that name.
///
/// # Safety
/// 1. The words are the arguments of a call of that function, whose contract the caller keeps, and `call` makes it.
pub(crate) unsafe fn seen(name: &str, words: &[u64], call: &mut dyn FnMut() -> CUresult) -> CUresult {
    match &*ASKED {
        // SAFETY: 1: the caller's duty 1.
        Some((Layer::Check, _)) => unsafe { check::seen(name, words, call) },
        _ => call(),
    }
}

/// At the end of the program. When the library is unloaded, which is after all that the program has asked to be called at its end.
pub(crate) fn end() {
    match &*ASKED {
        Some((Layer::Check, _)) => check::end(),
        Some((Layer::Record, _)) => record::end(),
        None => {}
    }
}

/// For the person who started the program. Not by `eprint`, whose panic where nothing can be written would end the program.
pub(crate) fn say(command: &str, text: &str) {
    let _ = std::io::stderr().write_all(format!("cuda-launch {command}: {text}\n").as_bytes());
}

/// For the tool. In one call of the system: other processes write to the file too.
pub(crate) fn line(value: &Value) {
    if let Some((_, Some(file))) = &*ASKED {
        let mut file: &File = file;
        let _ = file.write_all(format!("{value}\n").as_bytes());
    }
}
