//! Which stream NULL means on this thread now: the legacy one, but in the functions whose NULL is the thread's own (`_ptsz`, `_ptds`).

use std::cell::Cell;

thread_local! {
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Restores the previous meaning of NULL, also during unwinding.
struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        OWN.set(self.0);
    }
}

fn meaning<T>(own: bool, call: impl FnOnce() -> T) -> T {
    let _before = Before(OWN.replace(own));
    call()
}

/// Runs a call in which the NULL stream is the calling thread's own, as it is in the functions that end in `_ptsz` and `_ptds`.
pub fn on_own_stream<T>(call: impl FnOnce() -> T) -> T {
    meaning(true, call)
}

/// Runs a callback of the program, in whose calls NULL has the meaning of their symbols again.
pub(super) fn on_no_stream<T>(call: impl FnOnce() -> T) -> T {
    meaning(false, call)
}

/// Whether NULL is the thread's own stream.
pub(super) fn is_own() -> bool {
    OWN.get()
}
