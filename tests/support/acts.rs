//! A subscriber of `tracing` that does what it was told at the beginning or the end of a call of the driver, once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Act = Box<dyn FnOnce()>;

thread_local! {
    static ENTER: RefCell<Option<(&'static str, Act)>> = const { RefCell::new(None) };
    static EXIT: RefCell<Option<(&'static str, Act)>> = const { RefCell::new(None) };
    static CLOSE: RefCell<Option<(&'static str, Act)>> = const { RefCell::new(None) };
}

/// Knows the spans by the driver's functions.
#[derive(Default)]
struct Acts {
    next: AtomicU64,
    calls: Mutex<HashMap<u64, String>>,
}

struct Call(String);

impl Visit for Call {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "call" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Acts {
    fn act(&self, span: &Id, armed: &RefCell<Option<(&'static str, Act)>>) {
        let call = self.calls.lock().unwrap().get(&span.into_u64()).cloned();
        let act = armed.borrow_mut().take_if(|(at, _)| Some(*at) == call.as_deref());
        if let Some((_, act)) = act {
            act();
        }
    }
}

impl Subscriber for Acts {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = 1 + self.next.fetch_add(1, Ordering::Relaxed);
        let mut call = Call(String::new());
        span.record(&mut call);
        self.calls.lock().unwrap().insert(id, call.0);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        ENTER.with(|armed| self.act(span, armed));
    }

    fn exit(&self, span: &Id) {
        EXIT.with(|armed| self.act(span, armed));
    }

    fn try_close(&self, span: Id) -> bool {
        CLOSE.with(|armed| self.act(&span, armed));
        true
    }
}

fn subscribe() {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(Acts::default()).unwrap());
}

/// Where this thread begins the next call of this name.
#[allow(dead_code)] // Not every program that includes this uses it.
pub(crate) fn at_enter(call: &'static str, act: impl FnOnce() + 'static) {
    subscribe();
    ENTER.with(|armed| *armed.borrow_mut() = Some((call, Box::new(act))));
}

/// Where it ends it.
pub(crate) fn at_exit(call: &'static str, act: impl FnOnce() + 'static) {
    subscribe();
    EXIT.with(|armed| *armed.borrow_mut() = Some((call, Box::new(act))));
}

/// Where its span is closed.
#[allow(dead_code)] // Not every program that includes this uses it.
pub(crate) fn at_close(call: &'static str, act: impl FnOnce() + 'static) {
    subscribe();
    CLOSE.with(|armed| *armed.borrow_mut() = Some((call, Box::new(act))));
}

/// Whether that has happened; if not, it does no more.
pub(crate) fn acted() -> bool {
    let is_left = |armed: &RefCell<Option<_>>| armed.borrow_mut().take().is_some();
    !(ENTER.with(is_left) | EXIT.with(is_left) | CLOSE.with(is_left))
}
