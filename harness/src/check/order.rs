//! Which work is ordered before other work: a vector clock for each stream, and one for the host.
//!
//! A clock (`clock`) says for each stream how much of its work is done before the next work. If a call may order more than is known here,
//! it is assumed to: then a race may be missed, but no false race is reported. All host threads share one clock.

use super::area::Area;
use super::clock::{Clock, Host, Known, Seen};
use crate::current;
use crate::objects::{Place, Quick};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};

#[cfg(test)]
mod tests;

/// The identity of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stream {
    /// The default stream of a context.
    Legacy(u64),
    /// The default stream of a thread, in a context.
    OfThread(u64, usize),
    /// A stream that was created, in a context; 0 if the context is unknown.
    Made(Place, u64),
}

/// The maximum number of accesses to one allocation that are remembered until the host waits for them; at least the last
/// half of them is kept.
const MOST_ACCESSES: usize = 256;

/// From this number of spare lanes on, lanes of destroyed streams are reused whether or not the host has waited for their work. So many
/// of them are searched for one whose work is done.
const MANY_LANES: usize = 64;

/// The lane of a stream, or of several in succession: a destroyed stream leaves its lane to another one.
#[derive(Default)]
struct Lane {
    /// What it knows of other lanes; it knows all of its own work.
    known: Known,
    count: u64,
    context: u64,
    /// Whether it waits for the default stream of its context, and that for it.
    is_blocking: bool,
    is_legacy: bool,
    /// Whether it is in `Order::pending`.
    is_pending: bool,
    /// How much work of the default streams it has waited for.
    joined: u64,
    /// What is done when all its work is done; `None` after a change.
    seen: Option<Seen>,
}

/// An access to memory.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) area: Area,
    pub(super) writes: bool,
    /// The call that made it, and its kernel.
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

/// A stream that was created.
#[derive(Default)]
struct Made {
    /// Whether it was created as non-blocking, and does not wait for the default stream.
    is_apart: bool,
    /// The contexts in which it has lanes.
    contexts: Vec<u64>,
}

/// A thread that has used its own default stream.
struct Thread {
    /// Dead once the thread has ended.
    life: Weak<()>,
    /// The contexts in which it has lanes.
    contexts: Vec<u64>,
}

#[derive(Default)]
pub(super) struct Order {
    lanes: Vec<Lane>,
    by_stream: HashMap<Stream, usize, Quick>,
    made: HashMap<Place, Made, Quick>,
    threads: HashMap<usize, Thread>,
    /// Lanes of objects that no longer exist, the oldest first.
    spare: VecDeque<usize>,
    /// The lanes of default streams.
    defaults: Vec<usize>,
    /// Every lane with work that the host does not know to be done, and some that had such work.
    pending: Vec<usize>,
    /// What was done before each event was recorded.
    events: HashMap<Place, Seen>,
    /// Events that are recorded in ways that are not tracked.
    foreign: HashSet<Place>,
    /// Events that this program created and that have never been recorded.
    fresh: HashSet<Place>,
    /// What the host has waited for.
    host: Host,
    memory: HashMap<Place, Vec<Access>, Quick>,
}

/// Whether two may be the same context: 0 is an unknown context.
fn is_one(context: u64, other: u64) -> bool {
    context == other || context == 0 || other == 0
}

impl Order {
    /// Records that a stream was created.
    pub(super) fn made(&mut self, stream: Place, is_apart: bool) {
        self.made.entry(stream).or_default().is_apart = is_apart;
    }

    /// Records that a stream was destroyed; its work continues.
    pub(super) fn gone(&mut self, stream: Place) {
        let contexts = self.made.remove(&stream).unwrap_or_default().contexts;
        self.leave(contexts.into_iter().map(|context| Stream::Made(stream, context)));
    }

    /// Makes the lanes of default streams of threads that have ended available to others.
    fn threads_gone(&mut self) {
        let gone = self.threads.extract_if(|_, thread| thread.life.strong_count() == 0);
        let streams = gone.flat_map(|(thread, of_it)| {
            of_it.contexts.into_iter().map(move |at| Stream::OfThread(at, thread))
        });
        let streams: Vec<Stream> = streams.collect();
        self.leave(streams);
    }

    /// Makes the lanes of streams available to others.
    fn leave(&mut self, streams: impl IntoIterator<Item = Stream>) {
        self.spare.extend(streams.into_iter().filter_map(|stream| self.by_stream.remove(&stream)));
    }

    /// A spare lane: one whose work the host has waited for, or any if there are many. The stream that gets it is ordered
    /// after that work.
    fn spare_lane(&mut self) -> Option<usize> {
        let is_done = |lane: &usize| self.lanes.get(*lane).is_none_or(|own| self.host.at(*lane) >= own.count);
        let found = self.spare.iter().take(MANY_LANES).position(is_done);
        let found = found.or_else(|| (self.lanes.len() >= MANY_LANES).then_some(0))?;
        self.spare.remove(found)
    }

    fn lane(&mut self, stream: Stream) -> usize {
        if let Some(lane) = self.by_stream.get(&stream) {
            return *lane;
        }
        if let Stream::OfThread(..) = stream {
            self.threads_gone();
        }
        let lane = self.spare_lane().unwrap_or_else(|| {
            self.lanes.push(Lane::default());
            self.lanes.len() - 1
        });
        let (context, is_blocking) = match stream {
            Stream::Legacy(context) => {
                // The default stream of a context is never destroyed.
                self.defaults.push(lane);
                (context, false)
            }
            Stream::OfThread(context, thread) => {
                // It belongs to the calling thread: no other thread can name it.
                let new = || Thread { life: current::life(), contexts: Vec::new() };
                self.threads.entry(thread).or_insert_with(new).contexts.push(context);
                (context, true)
            }
            Stream::Made(place, context) => {
                let made = self.made.entry(place).or_default();
                made.contexts.push(context);
                (context, !made.is_apart)
            }
        };
        if let Some(new) = self.lanes.get_mut(lane) {
            (new.context, new.is_blocking, new.joined) = (context, is_blocking, 0);
            new.is_legacy = matches!(stream, Stream::Legacy(_));
        }
        self.by_stream.insert(stream, lane);
        lane
    }

    /// The lanes with work that the host does not know to be done.
    fn unfinished(&mut self) -> &[usize] {
        let Order { lanes, host, pending, .. } = self;
        pending.retain(|lane| {
            lanes.get_mut(*lane).is_some_and(|own| {
                own.is_pending = host.at(*lane) < own.count;
                own.is_pending
            })
        });
        pending
    }

    /// What is done when all work of a lane is done.
    fn seen(&mut self, lane: usize) -> Seen {
        let Some(own) = self.lanes.get_mut(lane) else { return Seen::default() };
        own.seen.get_or_insert_with(|| Seen::of(own.known.clock.clone(), Some((lane, own.count)))).clone()
    }

    /// Makes a lane wait for what was seen.
    fn join(&mut self, lane: usize, seen: &Seen) {
        if let Some(own) = self.lanes.get_mut(lane) {
            own.known.learns(lane, seen, &self.host);
            own.seen = None;
        }
    }

    /// Makes a blocking stream wait for the default stream of its context.
    fn wait_for_default(&mut self, lane: usize) {
        let Some((context, joined)) = self.lanes.get(lane).map(|own| (own.context, own.joined)) else {
            return;
        };
        let is_its =
            |other: &usize| self.lanes.get(*other).is_some_and(|other| is_one(other.context, context));
        let its: Vec<usize> = self.defaults.iter().copied().filter(is_its).collect();
        let count = its.iter().filter_map(|other| self.lanes.get(*other)).map(|other| other.count).sum();
        if count == joined {
            return;
        }
        for other in its {
            let seen = self.seen(other);
            self.join(lane, &seen);
        }
        if let Some(own) = self.lanes.get_mut(lane) {
            own.joined = count;
        }
    }

    /// Makes the default stream of a context wait for its blocking streams.
    fn wait_for_blocking(&mut self, lane: usize) {
        self.unfinished();
        let Order { lanes, host, pending, .. } = self;
        let Some(own) = lanes.get(lane) else { return };
        let mut clock = Clock::default();
        let mut last = &own.known.clock;
        let others = pending.iter().filter_map(|number| Some((*number, lanes.get(*number)?)));
        for (number, other) in others {
            // If it has waited for all work of the other lane, it already knows everything that lane knows.
            let is_known = own.known.clock.at(number) >= other.count;
            if !is_known && other.is_blocking && is_one(other.context, own.context) {
                clock.learns((number, other.count));
                // Many lanes share the same clock.
                if !other.known.clock.is(last) {
                    last = &other.known.clock;
                    clock.join(last, host);
                }
            }
        }
        if !clock.is(&Clock::default()) {
            self.join(lane, &Seen::of(clock, None));
        }
    }

    /// Adds a piece of work to a stream.
    pub(super) fn work(&mut self, stream: Stream) -> Moment {
        let lane = self.lane(stream);
        let (is_blocking, is_legacy) =
            self.lanes.get(lane).map_or((false, false), |own| (own.is_blocking, own.is_legacy));
        if is_blocking {
            self.wait_for_default(lane);
        }
        if is_legacy {
            self.wait_for_blocking(lane);
        }
        let Some(own) = self.lanes.get_mut(lane) else { return Moment { lane, count: 0 } };
        own.count += 1;
        own.seen = None;
        own.known.forget_known(&self.host);
        let moment = Moment { lane, count: own.count };
        if !std::mem::replace(&mut own.is_pending, true) {
            self.pending.push(lane);
        }
        moment
    }

    /// What is done once all current work of a stream is done.
    fn until(&mut self, stream: Stream) -> Seen {
        let Moment { lane, .. } = self.work(stream);
        self.seen(lane)
    }

    /// Records that an event was created.
    pub(super) fn event_made(&mut self, event: Place) {
        self.fresh.insert(event);
    }

    /// Records an event on a stream.
    pub(super) fn record(&mut self, event: Place, stream: Stream) {
        let seen = self.until(stream);
        self.fresh.remove(&event);
        self.events.insert(event, seen);
    }

    /// Records an event after all work of a context.
    pub(super) fn record_all(&mut self, event: Place) {
        self.fresh.remove(&event);
        let all = self.all();
        self.events.insert(event, all);
    }

    /// An event is recorded in a way that is not tracked, perhaps repeatedly: by a graph, or by another process.
    pub(super) fn record_elsewhere(&mut self, event: Place) {
        self.fresh.remove(&event);
        self.foreign.insert(event);
    }

    /// An event is recorded in a capture: until it is recorded again, it refers to work in a graph.
    pub(super) fn record_in_capture(&mut self, event: Place) {
        self.fresh.remove(&event);
        self.events.remove(&event);
    }

    /// What an event orders: nothing, if it was never recorded. An event that was created elsewhere may have been recorded
    /// there.
    fn behind(&mut self, event: Place) -> Seen {
        if self.fresh.contains(&event) {
            return Seen::default();
        }
        let known = self.events.get(&event).filter(|_| !self.foreign.contains(&event)).cloned();
        known.unwrap_or_else(|| self.all())
    }

    /// Makes a stream wait for an event.
    pub(super) fn wait(&mut self, stream: Stream, event: Place) {
        let Moment { lane, .. } = self.work(stream);
        let seen = self.behind(event);
        self.join(lane, &seen);
    }

    /// Makes a launch of an executable graph wait for its previous launch, if there was one.
    pub(super) fn wait_for_launch(&mut self, stream: Stream, graph: Place) {
        if self.events.contains_key(&graph) {
            self.wait(stream, graph);
        }
    }

    /// The first access to an allocation that the host does not know to be done.
    pub(super) fn pending(&self, memory: Place) -> Option<&Access> {
        self.memory.get(&memory)?.iter().find(|access| !self.is_done(access.at))
    }

    /// A stream waits for something that may be ordered after any work.
    pub(super) fn wait_for_all(&mut self, stream: Stream) {
        let Moment { lane, .. } = self.work(stream);
        let seen = self.all();
        self.join(lane, &seen);
    }

    fn all(&mut self) -> Seen {
        self.unfinished();
        let entries = self.pending.iter().filter_map(|lane| Some((*lane, self.lanes.get(*lane)?.count)));
        Seen::of(Clock::of(entries, &self.host), None)
    }

    fn host_learns(&mut self, seen: &Seen) {
        seen.each(|entry| self.host.learns(entry));
    }

    /// The host knows that a stream's work is done.
    pub(super) fn host_waits(&mut self, stream: Stream) {
        let seen = self.until(stream);
        self.host_learns(&seen);
    }

    /// The host knows that an event has completed.
    pub(super) fn host_waits_for(&mut self, event: Place) {
        let seen = self.behind(event);
        self.host_learns(&seen);
    }

    /// The host knows that everything is done.
    pub(super) fn host_waits_for_all(&mut self) {
        let seen = self.all();
        self.host_learns(&seen);
    }

    /// The host knows that the work of a context is done, and the work that this has waited for.
    pub(super) fn host_waits_for_context(&mut self, context: u64) {
        for lane in self.unfinished().to_vec() {
            if self.lanes.get(lane).is_some_and(|own| is_one(own.context, context)) {
                let seen = self.seen(lane);
                self.host_learns(&seen);
            }
        }
    }

    /// The context of a piece of work.
    pub(super) fn context_of(&self, moment: Moment) -> u64 {
        self.lanes.get(moment.lane).map_or(0, |lane| lane.context)
    }

    /// Whether the host knows that a piece of work is done.
    pub(super) fn is_done(&self, moment: Moment) -> bool {
        self.host.at(moment.lane) >= moment.count
    }

    /// Records an access to an allocation, and returns an earlier one that is not ordered before it.
    pub(super) fn access(&mut self, memory: Place, new: &Access) -> Option<Access> {
        let Order { lanes, host, memory: all, .. } = self;
        let own = lanes.get(new.at.lane);
        let is_before = |old: &Access| {
            let Moment { lane, count } = old.at;
            lane == new.at.lane
                || host.at(lane) >= count
                || own.is_some_and(|own| own.known.clock.at(lane) >= count)
        };
        let accesses = all.entry(memory).or_default();
        let mut race = None;
        let mut number = accesses.len();
        while number > 0 {
            number -= 1;
            let Some(old) = accesses.get(number) else { continue };
            if !old.area.overlaps(&new.area) {
                continue;
            }
            let is_before = is_before(old);
            if !is_before && (old.writes || new.writes) {
                race = Some(old.clone());
            }
            // Work that is ordered after the new access is also ordered after the old one.
            if is_before && new.area.covers(&old.area) && (new.writes || !old.writes) {
                accesses.swap_remove(number);
            }
        }
        if accesses.len() >= MOST_ACCESSES {
            accesses.retain(|old| host.at(old.at.lane) < old.at.count);
            // Keeps the newest: those are the most likely to be unordered with later accesses.
            accesses.sort_by_key(|old| old.call);
            let most = accesses.len().saturating_sub(MOST_ACCESSES / 2);
            accesses.drain(..most);
        }
        accesses.push(new.clone());
        race
    }

    /// Forgets a freed allocation.
    pub(super) fn freed(&mut self, memory: Place) {
        self.memory.remove(&memory);
    }

    /// Forgets a destroyed event.
    pub(super) fn event_gone(&mut self, event: Place) {
        self.events.remove(&event);
        self.foreign.remove(&event);
        self.fresh.remove(&event);
    }
}
