//! Tests of what is ordered, what races, and the cost.
#![allow(clippy::unwrap_used)]

use super::super::clock::tests::{STEPS, nodes};
use super::*;

const A: Stream = Stream::Made(1, 7);
const B: Stream = Stream::Made(2, 7);
const DEFAULT: Stream = Stream::Legacy(7);

/// Whether a write on a stream races with the accesses recorded before.
fn races(order: &mut Order, stream: Stream) -> bool {
    let at = order.work(stream);
    order.access(0, &access(0, at, 0)).is_some()
}

fn access(start: u64, at: Moment, call: usize) -> Access {
    let area = Area::range(start, 8).unwrap();
    Access { area, writes: true, call, what: "test".into(), stream: 0, at }
}

fn apart() -> Order {
    let mut order = Order::default();
    [1, 2].into_iter().for_each(|stream| order.made(stream, true));
    order
}

#[test]
fn events_order_streams() {
    let mut order = apart();
    assert!(!races(&mut order, A));
    order.record(9, A);
    assert!(!races(&mut order, A));
    // The event is ordered after the first write only.
    order.wait(B, 9);
    assert!(races(&mut order, B));
    order.record(9, A);
    order.wait(B, 9);
    assert!(!races(&mut order, B));
    // Work that the host has waited for is ordered before everything.
    order.host_waits(B);
    assert!(!races(&mut order, A));
    // An event that a graph records may be ordered after anything.
    order.record_elsewhere(9);
    order.wait(B, 9);
    assert!(!races(&mut order, B));
}

#[test]
fn an_event_that_was_never_recorded_orders_nothing() {
    let waits = |prepare: fn(&mut Order)| {
        let mut order = apart();
        order.event_made(9);
        prepare(&mut order);
        assert!(!races(&mut order, A));
        order.wait(B, 9);
        races(&mut order, B)
    };
    assert!(waits(|_| {}));
    // Recorded in an untracked way.
    assert!(!waits(|order| order.record_elsewhere(9)));
    assert!(!waits(|order| order.record_in_capture(9)));
    // An event of another process, which may have recorded it.
    assert!(!waits(|order| order.event_gone(9)));
    let mut order = apart();
    order.event_made(9);
    assert!(!races(&mut order, A));
    order.record_all(9);
    order.wait(B, 9);
    assert!(!races(&mut order, B));
}

#[test]
fn the_default_stream_waits_for_blocking_ones_of_its_context() {
    let mut order = Order::default();
    order.made(2, true);
    for stream in [A, DEFAULT, A] {
        assert!(!races(&mut order, stream));
    }
    assert!(races(&mut order, B));
    assert!(races(&mut order, Stream::Legacy(8)));
    let mut order = Order::default();
    assert!(!races(&mut order, Stream::Legacy(8)));
    // A stream of an unknown context may belong to this one.
    assert!(!races(&mut order, Stream::Made(3, 0)));
}

#[test]
fn a_stream_takes_the_lane_of_another_when_that_is_done() {
    let mut order = apart();
    assert!(!races(&mut order, A));
    order.gone(1);
    order.made(3, true);
    assert!(races(&mut order, Stream::Made(3, 7)));
    assert_eq!(order.lanes.len(), 2);
    order.host_waits_for_all();
    order.gone(3);
    order.made(4, true);
    assert!(!races(&mut order, Stream::Made(4, 7)));
    assert!(races(&mut order, B));
    assert_eq!(order.lanes.len(), 2);
    // The number of lanes does not grow without bound.
    for stream in 5..500 {
        order.made(stream, true);
        order.work(Stream::Made(stream, 7));
        order.gone(stream);
    }
    assert_eq!(order.lanes.len(), MANY_LANES);
}

#[test]
fn streams_whose_work_the_host_has_waited_for_cost_nothing() {
    const STREAMS: usize = 1000;
    let mut order = Order::default();
    for round in 1..4 {
        for number in 0..STREAMS {
            order.made(number, true);
            order.work(Stream::Made(number, 7));
            assert_eq!(order.unfinished().len(), number + 1, "{round}");
        }
        order.host_waits_for_all();
        assert!(order.unfinished().is_empty());
        // New work on reused lanes is unfinished, and known to a stream that waits for all.
        assert!(!races(&mut order, Stream::Made(7, 7)));
        order.wait_for_all(B);
        assert!(!races(&mut order, B));
        order.work(Stream::Made(7, 7));
        assert!(races(&mut order, Stream::Made(7, 7)));
        order.host_waits_for_all();
        (0..STREAMS).for_each(|number| order.gone(number));
        assert!(order.made.is_empty() && order.by_stream.is_empty());
        assert_eq!((order.lanes.len(), order.spare.len()), (STREAMS, STREAMS));
    }
}

#[test]
fn an_allocation_has_so_many_accesses_at_most() {
    let mut order = apart();
    for number in 0..1000 {
        let at = order.work(A);
        assert!(order.access(0, &access(number * 8, at, 0)).is_none());
    }
    assert!(order.memory.values().all(|accesses| accesses.len() <= MOST_ACCESSES));
}

#[test]
fn the_last_accesses_are_remembered() {
    let access = |order: &mut Order, stream, number: usize| {
        let at = order.work(stream);
        order.access(0, &access(number as u64 * 8, at, number)).is_some()
    };
    for back in 0..MOST_ACCESSES / 2 - 1 {
        let mut order = apart();
        let first = (0..1000).filter(|number| access(&mut order, A, *number));
        assert_eq!((first.count(), access(&mut order, B, 999 - back)), (0, true), "{back}");
    }
}

#[test]
fn a_thread_that_has_ended_leaves_its_lane() {
    let order = std::sync::Mutex::new(Order::default());
    for _ in 0..20 {
        let work = || {
            let (mut order, own) = (order.lock().unwrap(), Stream::OfThread(7, current::thread()));
            assert!(!races(&mut order, own));
            order.host_waits(own);
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    }
    let order = order.into_inner().unwrap();
    assert!(order.lanes.len() <= 2 && order.threads.len() <= 2, "{}", order.lanes.len());
}

#[test]
fn a_context_is_waited_for_with_what_it_has_waited_for() {
    let mut order = Order::default();
    let [one, other, third] = [Stream::Made(1, 7), Stream::Made(2, 8), Stream::Made(3, 9)];
    for stream in [1, 2, 3] {
        order.made(stream, true);
    }
    let write = |order: &mut Order, stream, memory| {
        let at = order.work(stream);
        order.access(memory, &access(0, at, 0)).is_some()
    };
    assert!(!write(&mut order, other, 1));
    order.record(9, other);
    assert!(!write(&mut order, other, 2));
    order.wait(one, 9);
    order.host_waits_for_context(7);
    assert!(!write(&mut order, third, 1));
    assert!(write(&mut order, third, 2));
    // It may be any context.
    order.host_waits_for_context(0);
    assert!(!write(&mut order, one, 2));
}

/// Each stream waits for all earlier work of the others, by events or by the default stream.
#[test]
fn the_memory_of_clocks_is_not_that_of_all_pairs_of_streams() {
    const STREAMS: usize = 300;
    for is_apart in [true, false] {
        let mut order = Order::default();
        let stream = |number| Stream::Made(number, 7);
        for _ in 0..3 {
            for number in 1..=STREAMS {
                order.made(number, is_apart);
                order.work(stream(number));
                if is_apart {
                    order.record(1000, stream(number));
                    order.wait(DEFAULT, 1000);
                }
            }
            order.work(DEFAULT);
            order.record(1000, DEFAULT);
            for number in 1..=STREAMS {
                if is_apart {
                    order.wait(stream(number), 1000);
                }
                order.work(stream(number));
            }
        }
        let nodes = nodes(order.lanes.iter().map(|lane| &lane.known.clock));
        assert!(nodes < STREAMS / 2, "{nodes}");
        assert!(!races(&mut order, stream(1)));
        order.work(stream(2));
        assert!(races(&mut order, stream(2)));
    }
}

/// Each new stream waits for the one before it.
#[test]
fn a_chain_of_events_takes_steps_and_memory_of_its_length() {
    let of_chain = |length: usize| {
        let mut order = Order::default();
        (0..=length).for_each(|stream| order.made(stream, true));
        assert!(!races(&mut order, Stream::Made(0, 7)));
        STEPS.set(0);
        for stream in 1..=length {
            order.record(100_000 + stream, Stream::Made(stream - 1, 7));
            order.wait(Stream::Made(stream, 7), 100_000 + stream);
        }
        assert!(!races(&mut order, Stream::Made(length, 7)));
        (STEPS.get(), nodes(order.lanes.iter().map(|lane| &lane.known.clock)))
    };
    let (few, many) = (of_chain(500), of_chain(4000));
    assert!(many.0 < 12 * few.0 && many.1 < 12 * few.1, "{few:?} {many:?}");
}

/// Two streams that are ordered after thousands, and repeatedly wait for each other.
#[test]
fn what_both_streams_know_is_not_looked_at_again() {
    const STREAMS: usize = 8000;
    let mut order = Order::default();
    (0..=STREAMS).for_each(|stream| order.made(stream, true));
    for stream in 1..=STREAMS {
        order.record(100_000, Stream::Made(stream - 1, 7));
        order.wait(Stream::Made(stream, 7), 100_000);
    }
    let pair = [Stream::Made(STREAMS - 1, 7), Stream::Made(STREAMS, 7)];
    STEPS.set(0);
    for _ in 0..100 {
        for (from, to) in [(pair[1], pair[0]), (pair[0], pair[1])] {
            order.record(100_000, from);
            order.wait(to, 100_000);
        }
    }
    // Each step visits one path of the tree and the nodes beside it; a full traversal would visit 500 leaves.
    assert!(STEPS.get() < 200 * 200, "{}", STEPS.get());
}
