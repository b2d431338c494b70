//! What a thread does at its very end.

use std::cell::RefCell;

#[derive(Default)]
struct AtEnd(RefCell<Option<Box<dyn FnOnce()>>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|run| run());
    }
}

thread_local! {
    static AT_END: AtEnd = AtEnd::default();
}

/// Runs this while the locals of the calling thread are destroyed, after those that it uses for the first time from now on.
#[allow(unreachable_pub)] // Each program has this file for itself.
pub fn at_thread_end(run: impl FnOnce() + 'static) {
    AT_END.with(|end| *end.0.borrow_mut() = Some(Box::new(run)));
}
