//! Forked processes. The driver that the parent has used cannot be used there, and another thread of the parent may have had a lock of
//! this library, which nobody releases in the child: calls are only passed on.

#![allow(unsafe_code)] // A function of POSIX.

use cuda_emulator::stderr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::{check, layer, record};

/// The process has used the driver, or begins to.
static IS_USED: AtomicBool = AtomicBool::new(false);
static STATE: AtomicU8 = AtomicU8::new(PARENT);

const PARENT: u8 = 0;
const CHILD: u8 = 1;
/// A child that has said so.
const TOLD: u8 = 2;

/// The driver is about to be used for the first time.
pub(crate) fn used() {
    IS_USED.store(true, Ordering::SeqCst);
}

/// Whether this process was forked by one that had used the driver.
pub(crate) fn is_child() -> bool {
    STATE.load(Ordering::Relaxed) != PARENT
}

/// The same in a call of the program's: the first one says what becomes of it.
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

/// A child may set atomic numbers: this does nothing else.
extern "C" fn in_child() {
    if IS_USED.load(Ordering::SeqCst) {
        STATE.store(CHILD, Ordering::Relaxed);
        check::switch_off();
        record::switch_off();
    }
}

/// Has each process that is forked know it.
#[cfg(unix)]
pub(crate) fn watch() {
    unsafe extern "C" {
        fn pthread_atfork(
            before: Option<extern "C" fn()>,
            in_parent: Option<extern "C" fn()>,
            in_child: Option<extern "C" fn()>,
        ) -> std::ffi::c_int;
    }
    // SAFETY: the declaration is that of POSIX, for which null is no function; the one that is passed takes nothing, sets atomic
    // numbers and does nothing else, as a child of a fork may. Of a library that is closed glibc, on which alone there
    // is a recorder, forgets the function: it is registered with the library's `__dso_handle`.
    unsafe { pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    let _ = in_child;
}
