//! The callback of `cuOccupancyMaxPotentialBlockSize`: a C function without a place for its own data, called during the call
//! on the same thread. The closure waits for it in a thread local.

#![allow(unsafe_code)] // A pointer to a closure that lives as long as the thread local holds it.

use cuda_driver_sys::CUoccupancyB2DSize;
use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

/// The closure of a call, and what it panicked with.
struct Call<'a> {
    shared: &'a mut dyn FnMut(u32) -> usize,
    panic: Option<Box<dyn Any + Send>>,
}

thread_local! {
    /// The innermost call of this thread that is under way.
    static CURRENT: Cell<Option<NonNull<Call<'static>>>> = const { Cell::new(None) };
}

/// Runs `call` with a callback that asks `shared`; a panic in the callback is resumed after `call` has returned.
pub(super) fn with_callback<R>(
    mut shared: impl FnMut(u32) -> usize,
    call: impl FnOnce(CUoccupancyB2DSize) -> R,
) -> R {
    let mut state = Call { shared: &mut shared, panic: None };
    let outer = CURRENT.replace(Some(NonNull::from(&mut state).cast()));
    let restore = Restore(outer);
    let result = call(Some(shared_of));
    drop(restore);
    if let Some(panic) = state.panic {
        resume_unwind(panic);
    }
    result
}

/// Puts the outer call back, also when the inner one panics.
struct Restore(Option<NonNull<Call<'static>>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// What the driver calls: never unwinds into it.
unsafe extern "C" fn shared_of(threads: c_int) -> usize {
    // Taken out meanwhile: a closure that asks for a block size itself has a call of its own.
    let Some(mut current) = CURRENT.take() else { return 0 };
    // SAFETY: a pointer is in `CURRENT` only while the `with_callback` that put it there runs, which keeps the call and does not touch
    // it meanwhile; and it was taken out just now, so that no other call of this function has a reference to it.
    let call = unsafe { current.as_mut() };
    let mut bytes = 0;
    if call.panic.is_none() {
        match catch_unwind(AssertUnwindSafe(|| (call.shared)(u32::try_from(threads).unwrap_or(0)))) {
            Ok(answer) => bytes = answer,
            Err(panic) => call.panic = Some(panic),
        }
    }
    CURRENT.set(Some(current));
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn ask(callback: CUoccupancyB2DSize, threads: c_int) -> usize {
        // SAFETY: the callback is `shared_of`, which takes any number; the thread that runs `with_callback` calls it, as its thread local
        // demands.
        callback.map_or(0, |callback| unsafe { callback(threads) })
    }

    #[test]
    fn the_closure_is_asked_and_may_ask_itself() {
        let mut asked = Vec::new();
        let sum = with_callback(
            |threads| {
                asked.push(threads);
                with_callback(|n| n as usize, |inner| ask(inner, 3)) + threads as usize
            },
            |callback| ask(callback, 10) + ask(callback, 20),
        );
        assert_eq!((sum, asked), (36, vec![10, 20]));
        assert!(CURRENT.get().is_none());
    }

    #[test]
    fn a_panic_goes_on_behind_the_call() {
        let mut returned = false;
        let result = catch_unwind(AssertUnwindSafe(|| {
            with_callback(
                |_| -> usize { panic!("boom") },
                |callback| {
                    returned = ask(callback, 1) == 0 && ask(callback, 2) == 0;
                },
            )
        }));
        assert!(result.is_err() && returned && CURRENT.get().is_none());
    }
}
