//! Who is held back by a call that waits for the submissions of others.

#![allow(clippy::unwrap_used)]

use super::super::thread::Orders;
use super::*;
use crate::driver::context::CudaContext;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

/// Whether a submission of this thread is held back: then it is announced a second time.
fn is_held_back(stream: &CudaStream) -> bool {
    let queue = stream.queue();
    let first = queue.submissions.announced();
    let number = queue.announce_in_turn();
    queue.submissions.finish();
    number != first
}

#[test]
fn who_is_in_the_middle_of_a_submission_is_not_held_back() {
    let stream = stream();
    let queue = stream.queue();
    queue.hold();
    for _between in 0..2 {
        let orders = Orders::begin();
        assert!(!is_held_back(&stream));
        drop(orders);
        let launching = Launching::begin(&stream);
        assert!(!is_held_back(&stream));
        drop(launching);
        let given_away = GivenAway::begin(&stream);
        assert!(!is_held_back(&stream));
        drop(given_away);
    }
    // Everybody else is, until the hold is over.
    let before = queue.submissions.announced();
    thread::scope(|scope| {
        scope.spawn(|| {
            let queue = stream.queue();
            // When the first try has been announced, and withdrawn.
            while queue.submissions.announced() == before || !queue.submissions.have_finished(before + 1) {
                thread::yield_now();
            }
            queue.release();
        });
        assert!(is_held_back(&stream));
    });
    assert!(!is_held_back(&stream));
}

#[cfg(feature = "tracing")]
mod listeners {
    use super::{is_held_back, stream};
    use std::cell::RefCell;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    thread_local! {
        /// What this thread does when it is told of its next call.
        static ACT: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    struct Listener;

    impl Subscriber for Listener {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {
            ACT.take().into_iter().for_each(|act| act());
        }

        fn exit(&self, _: &Id) {}
    }

    /// Its thread is in the middle of a call, for which whoever holds it back may wait.
    #[test]
    fn what_a_listener_submits_is_not_held_back() {
        tracing::subscriber::set_global_default(Listener).unwrap();
        let (stream, (tell, told)) = (stream(), std::sync::mpsc::channel());
        let event = stream.context().new_event().unwrap();
        let same = stream.clone();
        ACT.set(Some(Box::new(move || {
            same.queue().hold();
            tell.send(is_held_back(&same)).unwrap();
            same.queue().release();
        })));
        event.record(&stream).unwrap();
        assert!(!told.try_recv().unwrap());
    }
}
