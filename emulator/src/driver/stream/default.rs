//! Which stream NULL means on this thread now: the legacy one, but in the functions whose NULL is the thread's own (`_ptsz`, `_ptds`).

use std::cell::Cell;
use std::sync::Arc;

use super::Stream;
use crate::driver::entry::Outcome;
use crate::driver::state::Call;

thread_local! {
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Puts back what NULL meant before, also where a panic passes.
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

/// Runs a function of the program's, for whose calls NULL is again what their symbols say.
pub(in crate::driver) fn on_no_stream<T>(call: impl FnOnce() -> T) -> T {
    meaning(false, call)
}

/// Whether NULL is the thread's own stream.
pub(in crate::driver) fn is_own() -> bool {
    OWN.get()
}

impl Call {
    /// The stream of functions that name none, and wait.
    pub(in crate::driver) fn default_stream(&self) -> Outcome<Arc<Stream>> {
        let context = self.context()?;
        if !is_own() {
            return Ok(context.legacy());
        }
        let stream = context.per_thread()?;
        // What the call waits for would not be done in a capture.
        stream.outside()?;
        Ok(stream)
    }
}
