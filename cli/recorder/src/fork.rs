//! Forked processes. They cannot use the driver if the parent has used it, and another thread of the parent may have held a lock of
//! this library, which is never released in the child. So calls are only passed on.

#![allow(unsafe_code)] // A function of POSIX.

use cuda_emulator::stderr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::{check, layer, record};

/// Whether the process has used the driver, or is about to.
static IS_USED: AtomicBool = AtomicBool::new(false);
static STATE: AtomicU8 = AtomicU8::new(PARENT);

const PARENT: u8 = 0;
const CHILD: u8 = 1;
/// The state of a child that has reported it.
const TOLD: u8 = 2;

/// To be called before the driver is used for the first time.
pub(crate) fn used() {
    IS_USED.store(true, Ordering::SeqCst);
}

/// Whether this process was forked by one that had used the driver.
pub(crate) fn is_child() -> bool {
    STATE.load(Ordering::Relaxed) != PARENT
}

/// The same in a driver call of the program: the first call prints that the process is not traced or checked.
pub(crate) fn passes_on() -> bool {
    match STATE.load(Ordering::Relaxed) {
        PARENT => false,
        CHILD => {
            if STATE.swap(TOLD, Ordering::Relaxed) == CHILD {
                let (command, done) = layer::command();
                stderr::say(&format!(
                    "cuda-launch {command}: process {} was forked after its parent had used CUDA: it is not {done}\n",
                    std::process::id()
                ));
            }
            true
        }
        _ => true,
    }
}

/// Only sets atomic variables, which is all that a child may do between a fork and `exec`.
extern "C" fn in_child() {
    if IS_USED.load(Ordering::SeqCst) {
        STATE.store(CHILD, Ordering::Relaxed);
        check::switch_off();
        record::switch_off();
    }
}

/// Registers the function that marks each forked process as a child.
#[cfg(unix)]
pub(crate) fn watch() {
    unsafe extern "C" {
        fn pthread_atfork(
            before: Option<extern "C" fn()>,
            in_parent: Option<extern "C" fn()>,
            in_child: Option<extern "C" fn()>,
        ) -> std::ffi::c_int;
    }
    // SAFETY: the declaration is that of POSIX, where null means no function; the function that is passed has no parameters and
    // only sets atomic variables, which a child of a fork may do. When the library is closed, glibc, which is the only C library
    // that the recorder supports, removes the function, because it is registered with the library's `__dso_handle`.
    unsafe { pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    let _ = in_child;
}
