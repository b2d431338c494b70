//! What looks at calls between the exports and the real driver, in place of the timeline: `check` or `record`.

#![allow(unsafe_code)] // Passes on a call of a C function.

use cuda_driver_sys::{CUresult, Driver};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::own::{self, Lines};
use crate::{check, record};

#[derive(Clone, Copy)]
enum Layer {
    Check,
    Record,
}

/// The variable that names the file of lines also says what is to be done.
static ASKED: LazyLock<Option<(Layer, Option<Lines>)>> = LazyLock::new(|| {
    [(check::FILE, Layer::Check), (record::FILE, Layer::Record)].into_iter().find_map(|(variable, layer)| {
        let path = own::variable(variable)?;
        Some((layer, Lines::open(Path::new(&path)).ok()))
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

/// For the person who started the program; false where there is nothing to write to.
pub(crate) fn say(command: &str, text: &str) -> bool {
    own::say(&format!("cuda-launch {command}: {text}\n"))
}

/// For the tool.
pub(crate) fn line(value: &Value) {
    if let Some((_, Some(lines))) = &*ASKED {
        let _ = lines.add(format!("{value}\n").as_bytes());
    }
}

/// Has a function called in each process that is forked, which takes nothing, sets an atomic number and does nothing else.
#[cfg(unix)]
pub(crate) fn watch_forks(in_child: extern "C" fn()) {
    use std::ffi::c_int;
    unsafe extern "C" {
        fn pthread_atfork(
            before: Option<extern "C" fn()>,
            in_parent: Option<extern "C" fn()>,
            in_child: Option<extern "C" fn()>,
        ) -> c_int;
    }
    // SAFETY: the declaration is that of POSIX, for which null is no function; both that are passed take nothing, set an atomic
    // number and do nothing else, as a child of a fork may. Of a library that is closed glibc, on which alone there
    // is a recorder, forgets the function: it is registered with the library's `__dso_handle`.
    unsafe { pthread_atfork(None, None, Some(in_child)) };
}
