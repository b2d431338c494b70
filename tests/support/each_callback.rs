//! A subscriber of `tracing` that tells the test of each of its callbacks, by name.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What is called, with how many spans there were.
struct EachCallback(fn(&'static str), AtomicU64);

impl Subscriber for EachCallback {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        (self.0)("new_span");
        Id::from_u64(1 + self.1.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        (self.0)("record");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        (self.0)("enter");
    }

    fn exit(&self, _: &Id) {
        (self.0)("exit");
    }

    fn try_close(&self, _: Id) -> bool {
        (self.0)("try_close");
        false
    }
}

/// Calls `told` from now on, on every thread: the first call of this process counts.
pub(crate) fn subscribe(told: fn(&'static str)) {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(EachCallback(told, AtomicU64::new(0))).unwrap());
}
