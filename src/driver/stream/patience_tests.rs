//! Who is held back by a call that waits for the submissions of others.

#![allow(clippy::unwrap_used)]

use super::super::thread::Orders;
use super::*;
use crate::driver::context::CudaContext;
use crate::ordering::{OWNERS, QUEUES, owner};
use std::sync::atomic::Ordering;

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
    let release = queue.hold();
    for _between in 0..2 {
        let orders = Orders::begin();
        assert!(!is_held_back(&stream));
        drop(orders);
        let launching = Launching::begin(&stream);
        assert!(!is_held_back(&stream));
        drop(launching);
        let elsewhere = SubmittingElsewhere::begin(&stream);
        assert!(!is_held_back(&stream));
        drop(elsewhere);
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
            release(queue);
        });
        assert!(is_held_back(&stream));
    });
    assert!(!is_held_back(&stream));
}

/// Nor is it for kernels of another context, whose numbers are a thousand holds apart.
#[test]
fn a_stream_that_is_held_back_is_warm_for_no_kernel() {
    let ctx = CudaContext::new(0).unwrap();
    let is_a_number = |word: u64| word == owner((word >> QUEUES) as u32);
    let hold = |queue: &StreamQueue, times: usize| -> Vec<EndOfHold> {
        let held = (0..times).map(|_| queue.hold()).inspect(|_| assert!(!is_a_number(queue.warm())));
        held.collect()
    };
    let release = |queue: &StreamQueue, ends: Vec<EndOfHold>| ends.iter().for_each(|end| end(queue));
    for number in [0, 1, 62, OWNERS - 1].map(owner).into_iter().chain([0]) {
        let stream = ctx.default_stream();
        let queue = stream.queue();
        queue.warm.store(number, Ordering::Relaxed);
        let held = hold(queue, 1_100);
        release(queue, held);
        assert_eq!(queue.warm(), number);
        // It stays so once the stream needs its context.
        let before = hold(queue, 1_100);
        stream.needs_its_context();
        let after = hold(queue, 1_100);
        for ends in [before, after] {
            release(queue, ends);
            assert!(!is_a_number(queue.warm()));
            release(queue, hold(queue, 1_100));
            assert!(!is_a_number(queue.warm()));
        }
    }
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
            let release = same.queue().hold();
            tell.send(is_held_back(&same)).unwrap();
            release(same.queue());
        })));
        event.record(&stream).unwrap();
        assert!(!told.try_recv().unwrap());
    }
}
