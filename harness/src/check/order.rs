//! Which work is done before other work begins: a clock for each stream, and one for the host.
//!
//! A clock says for each stream how much of its work is done before what comes next. Where a call may order more than is known here,
//! it is assumed to: then a race may be missed, but none is invented. All host threads share one clock.

use crate::current;
use crate::objects::{Place, Quick};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

/// Which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stream {
    /// The default stream of a context.
    Legacy(u64),
    /// The default stream of a thread, in a context.
    OfThread(u64, usize),
    /// One that was created, in a context; 0 if the context is unknown.
    Made(Place, u64),
}

/// How much of the work of each lane.
type Clock = Vec<u64>;

/// Accesses to one allocation that are remembered, until the host waits for them: the last half of these is always there.
const MOST_ACCESSES: usize = 256;

/// Lanes from which on those of streams that are gone are used again, whether or not the host has waited for their work.
const MANY_LANES: usize = 64;

/// A stream, or one after another: what is destroyed leaves its lane to the next.
#[derive(Default)]
struct Lane {
    clock: Clock,
    count: u64,
    context: u64,
    /// It waits for the default stream of its context, and that for it.
    is_blocking: bool,
    is_legacy: bool,
}

/// An access to a range of addresses.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) writes: bool,
    /// What made it: a call, and its kernel.
    pub(super) call: usize,
    pub(super) what: Arc<str>,
    /// The stream's handle, for the report.
    pub(super) stream: u64,
    pub(super) at: Moment,
}

/// A piece of work: its lane, and its number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    lane: usize,
    count: u64,
}

#[derive(Default)]
pub(super) struct Order {
    lanes: Vec<Lane>,
    by_stream: HashMap<Stream, usize, Quick>,
    /// Streams that were created so that they do not wait for the default one.
    apart: HashMap<Place, bool>,
    spare: Vec<usize>,
    /// Threads that have used their own default stream, and whether they are there.
    threads: HashMap<usize, Weak<()>>,
    /// What was done before each event was recorded.
    events: HashMap<Place, Clock>,
    /// Events that are recorded in ways that are not followed.
    foreign: HashSet<Place>,
    /// Events that this program made and that nothing has recorded.
    fresh: HashSet<Place>,
    /// What the host has waited for.
    host: Clock,
    memory: HashMap<Place, Vec<Access>, Quick>,
}

fn join(clock: &mut Clock, other: &[u64]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

fn at(clock: &[u64], lane: usize) -> u64 {
    clock.get(lane).copied().unwrap_or(0)
}

impl Order {
    /// A stream was made.
    pub(super) fn made(&mut self, stream: Place, is_apart: bool) {
        self.apart.insert(stream, is_apart);
    }

    /// A stream goes: what it has runs on.
    pub(super) fn gone(&mut self, stream: Place) {
        self.apart.remove(&stream);
        let of_it = |key: &Stream| matches!(key, Stream::Made(place, _) if *place == stream);
        let keys: Vec<Stream> = self.by_stream.keys().copied().filter(of_it).collect();
        self.spare.extend(keys.iter().filter_map(|key| self.by_stream.remove(key)));
    }

    /// Threads that have ended leave the lanes of their default streams to others.
    fn threads_gone(&mut self) {
        let is_over = |thread: &usize| self.threads.get(thread).is_some_and(|life| life.strong_count() == 0);
        let of_it = |key: &Stream| matches!(key, Stream::OfThread(_, thread) if is_over(thread));
        let keys: Vec<Stream> = self.by_stream.keys().copied().filter(of_it).collect();
        self.spare.extend(keys.iter().filter_map(|key| self.by_stream.remove(key)));
        self.threads.retain(|_, life| life.strong_count() > 0);
    }

    /// A free lane: one whose work the host has waited for, or any if there are many. What takes it comes behind that work.
    fn spare_lane(&mut self) -> Option<usize> {
        let is_done =
            |lane: &usize| self.lanes.get(*lane).is_none_or(|own| at(&self.host, *lane) >= own.count);
        let found = self.spare.iter().position(is_done);
        let found = found.or(self.spare.len().checked_sub(1).filter(|_| self.lanes.len() >= MANY_LANES))?;
        Some(self.spare.swap_remove(found))
    }

    fn lane(&mut self, stream: Stream) -> usize {
        if let Some(lane) = self.by_stream.get(&stream) {
            return *lane;
        }
        if let Stream::OfThread(_, thread) = stream {
            self.threads_gone();
            // It is the calling thread's: no other can name it.
            self.threads.insert(thread, current::life());
        }
        let lane = self.spare_lane().unwrap_or_else(|| {
            self.lanes.push(Lane::default());
            self.lanes.len() - 1
        });
        let (context, is_blocking) = match stream {
            Stream::Legacy(context) => (context, false),
            Stream::OfThread(context, _) => (context, true),
            Stream::Made(place, context) => (context, !self.apart.get(&place).copied().unwrap_or(false)),
        };
        if let Some(new) = self.lanes.get_mut(lane) {
            (new.context, new.is_blocking) = (context, is_blocking);
            new.is_legacy = matches!(stream, Stream::Legacy(_));
        }
        self.by_stream.insert(stream, lane);
        lane
    }

    /// The lanes that wait for this one by themselves, and it for them.
    fn joined(&self, lane: usize) -> Vec<usize> {
        let Some(own) = self.lanes.get(lane).filter(|own| own.is_legacy || own.is_blocking) else {
            return Vec::new();
        };
        let is_joined = |other: &Lane| {
            // 0 is a context that is not known.
            (other.context == own.context || other.context == 0 || own.context == 0)
                && (own.is_legacy && other.is_blocking || own.is_blocking && other.is_legacy)
        };
        self.lanes.iter().enumerate().filter(|(_, other)| is_joined(other)).map(|(lane, _)| lane).collect()
    }

    /// Gives a stream a piece of work.
    pub(super) fn work(&mut self, stream: Stream) -> Moment {
        let lane = self.lane(stream);
        let mut clock = self.host.clone();
        for other in self.joined(lane) {
            if let Some(other) = self.lanes.get(other) {
                join(&mut clock, &other.clock);
            }
        }
        let Some(own) = self.lanes.get_mut(lane) else { return Moment { lane, count: 0 } };
        own.count += 1;
        join(&mut own.clock, &clock);
        if own.clock.len() <= lane {
            own.clock.resize(lane + 1, 0);
        }
        if let Some(done) = own.clock.get_mut(lane) {
            *done = own.count;
        }
        Moment { lane, count: own.count }
    }

    /// What is done once everything that a stream has now is done.
    fn until(&mut self, stream: Stream) -> Clock {
        let Moment { lane, .. } = self.work(stream);
        self.lanes.get(lane).map(|lane| lane.clock.clone()).unwrap_or_default()
    }

    /// An event was made.
    pub(super) fn event_made(&mut self, event: Place) {
        self.fresh.insert(event);
    }

    /// An event is recorded.
    pub(super) fn record(&mut self, event: Place, stream: Stream) {
        let clock = self.until(stream);
        self.fresh.remove(&event);
        self.events.insert(event, clock);
    }

    /// An event is recorded behind all work of a context.
    pub(super) fn record_all(&mut self, event: Place) {
        self.fresh.remove(&event);
        self.events.insert(event, self.all());
    }

    /// An event is recorded in a way that is not followed, perhaps again and again: by a graph, or by another process.
    pub(super) fn record_elsewhere(&mut self, event: Place) {
        self.fresh.remove(&event);
        self.foreign.insert(event);
    }

    /// An event is recorded in a capture: until it is recorded again, what it is behind is in a graph.
    pub(super) fn record_in_capture(&mut self, event: Place) {
        self.fresh.remove(&event);
        self.events.remove(&event);
    }

    /// What an event orders: nothing, if it was never recorded. One that came from elsewhere may have been recorded there.
    fn behind(&self, event: Place) -> Clock {
        if self.fresh.contains(&event) {
            return Clock::new();
        }
        let known = self.events.get(&event).filter(|_| !self.foreign.contains(&event));
        known.cloned().unwrap_or_else(|| self.all())
    }

    /// A stream waits for an event.
    pub(super) fn wait(&mut self, stream: Stream, event: Place) {
        let Moment { lane, .. } = self.work(stream);
        let clock = self.behind(event);
        if let Some(own) = self.lanes.get_mut(lane) {
            join(&mut own.clock, &clock);
        }
    }

    /// An executable graph that is launched waits for its launch before, if there was one.
    pub(super) fn wait_for_launch(&mut self, stream: Stream, graph: Place) {
        if self.events.contains_key(&graph) {
            self.wait(stream, graph);
        }
    }

    /// The first access to an allocation of which the host does not know that it is done.
    pub(super) fn pending(&self, memory: Place) -> Option<&Access> {
        self.memory.get(&memory)?.iter().find(|access| !self.is_done(access.at))
    }

    /// A stream waits for something that may come behind anything.
    pub(super) fn wait_for_all(&mut self, stream: Stream) {
        let Moment { lane, .. } = self.work(stream);
        let clock = self.all();
        if let Some(own) = self.lanes.get_mut(lane) {
            join(&mut own.clock, &clock);
        }
    }

    fn all(&self) -> Clock {
        self.lanes.iter().map(|lane| lane.count).collect()
    }

    /// The host knows that a stream's work is done.
    pub(super) fn host_waits(&mut self, stream: Stream) {
        let clock = self.until(stream);
        join(&mut self.host, &clock);
    }

    /// The host knows that an event is.
    pub(super) fn host_waits_for(&mut self, event: Place) {
        let clock = self.behind(event);
        join(&mut self.host, &clock);
    }

    /// The host knows that everything is done.
    pub(super) fn host_waits_for_all(&mut self) {
        let clock = self.all();
        join(&mut self.host, &clock);
    }

    /// Whether the host knows that a piece of work is done.
    pub(super) fn is_done(&self, moment: Moment) -> bool {
        at(&self.host, moment.lane) >= moment.count
    }

    /// Notes an access to an allocation, and finds another that nothing orders before it.
    pub(super) fn access(&mut self, memory: Place, new: &Access) -> Option<Access> {
        let Order { lanes, host, memory: all, .. } = self;
        let clock = lanes.get(new.at.lane).map(|lane| lane.clock.as_slice()).unwrap_or_default();
        let is_before = |old: &Access| at(clock, old.at.lane) >= old.at.count;
        let accesses = all.entry(memory).or_default();
        let mut race = None;
        let mut number = accesses.len();
        while number > 0 {
            number -= 1;
            let Some(old) = accesses.get(number) else { continue };
            if old.start >= new.end || new.start >= old.end {
                continue;
            }
            let is_before = is_before(old);
            if !is_before && (old.writes || new.writes) {
                race = Some(old.clone());
            }
            // Who is ordered behind the new one is behind the old one, too.
            if is_before && new.start <= old.start && old.end <= new.end && (new.writes || !old.writes) {
                accesses.swap_remove(number);
            }
        }
        if accesses.len() >= MOST_ACCESSES {
            accesses.retain(|old| at(host, old.at.lane) < old.at.count);
            // The newest are those that others are most likely not to have waited for.
            accesses.sort_by_key(|old| old.call);
            let most = accesses.len().saturating_sub(MOST_ACCESSES / 2);
            accesses.drain(..most);
        }
        accesses.push(new.clone());
        race
    }

    /// An allocation is gone.
    pub(super) fn freed(&mut self, memory: Place) {
        self.memory.remove(&memory);
    }

    /// An event is gone.
    pub(super) fn event_gone(&mut self, event: Place) {
        self.events.remove(&event);
        self.foreign.remove(&event);
        self.fresh.remove(&event);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const A: Stream = Stream::Made(1, 7);
    const B: Stream = Stream::Made(2, 7);
    const DEFAULT: Stream = Stream::Legacy(7);

    /// Whether a write on a stream races with what was noted before.
    fn races(order: &mut Order, stream: Stream) -> bool {
        let at = order.work(stream);
        let new = Access { start: 0, end: 8, writes: true, call: 0, what: "test".into(), stream: 0, at };
        order.access(0, &new).is_some()
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
        // The event is behind the first write only.
        order.wait(B, 9);
        assert!(races(&mut order, B));
        order.record(9, A);
        order.wait(B, 9);
        assert!(!races(&mut order, B));
        // What the host has waited for is before everything.
        order.host_waits(B);
        assert!(!races(&mut order, A));
        // An event that a graph records may be behind anything.
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
        // In another way, or one like it.
        assert!(!waits(|order| order.record_elsewhere(9)));
        assert!(!waits(|order| order.record_in_capture(9)));
        // One of another program, which it may have recorded.
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
        // A stream of a context that is not known may be of this one.
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
        // There are not more and more of them.
        for stream in 5..500 {
            order.made(stream, true);
            order.work(Stream::Made(stream, 7));
            order.gone(stream);
        }
        assert_eq!(order.lanes.len(), MANY_LANES);
    }

    #[test]
    fn an_allocation_has_so_many_accesses_at_most() {
        let mut order = apart();
        for number in 0..1000 {
            let at = order.work(A);
            let start = number * 8;
            let new =
                Access { start, end: start + 8, writes: true, call: 0, what: "test".into(), stream: 0, at };
            assert!(order.access(0, &new).is_none());
        }
        assert!(order.memory.values().all(|accesses| accesses.len() <= MOST_ACCESSES));
    }

    #[test]
    fn the_last_accesses_are_remembered() {
        let access = |order: &mut Order, stream, number: usize| {
            let (at, start) = (order.work(stream), number as u64 * 8);
            let what = "test".into();
            let new = Access { start, end: start + 8, writes: true, call: number, what, stream: 0, at };
            order.access(0, &new).is_some()
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
}
