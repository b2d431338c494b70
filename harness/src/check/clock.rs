//! Clocks: how much of the work of each lane is done.
//!
//! A clock leaves out what the host knows, as that is before all work that comes next. Lanes that know the same share one list: the
//! memory is that of what is under way, however many streams there are.

use std::sync::{Arc, OnceLock};

/// A lane, and how much of its work.
pub(super) type Entry = (usize, u64);

/// What is done of other lanes than the host knows of, by lane.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Option<Arc<Vec<Entry>>>);

/// What the host knows of each lane.
#[derive(Debug, Default)]
pub(super) struct Host(Vec<u64>);

impl Host {
    pub(super) fn at(&self, lane: usize) -> u64 {
        self.0.get(lane).copied().unwrap_or(0)
    }

    pub(super) fn learns(&mut self, (lane, count): Entry) {
        if self.0.len() <= lane {
            self.0.resize(lane + 1, 0);
        }
        if let Some(known) = self.0.get_mut(lane) {
            *known = count.max(*known);
        }
    }
}

impl Clock {
    pub(super) fn of(mut entries: Vec<Entry>, host: &Host) -> Clock {
        entries.retain(|(lane, count)| host.at(*lane) < *count);
        // The largest of each lane first.
        entries.sort_unstable_by_key(|(lane, count)| (*lane, std::cmp::Reverse(*count)));
        entries.dedup_by_key(|(lane, _)| *lane);
        Clock((!entries.is_empty()).then(|| Arc::new(entries)))
    }

    pub(super) fn entries(&self) -> &[Entry] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(super) fn at(&self, lane: usize) -> u64 {
        let entries = self.entries();
        let found = entries.binary_search_by_key(&lane, |(lane, _)| *lane).ok();
        found.and_then(|at| entries.get(at)).map_or(0, |(_, count)| *count)
    }

    /// Whether both are one list.
    pub(super) fn is(&self, other: &Clock) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Forgets all if the host knows all of it.
    pub(super) fn forget_known(&mut self, host: &Host) {
        if self.entries().iter().all(|(lane, count)| host.at(*lane) >= *count) {
            self.0 = None;
        }
    }

    fn learns(&mut self, (lane, count): Entry) {
        let entries = Arc::make_mut(self.0.get_or_insert_default());
        match entries.binary_search_by_key(&lane, |(lane, _)| *lane) {
            Ok(at) => entries.get_mut(at).into_iter().for_each(|(_, known)| *known = count.max(*known)),
            Err(at) => entries.insert(at, (lane, count)),
        }
    }
}

/// What is done at a moment of a lane: its own work, and what its clock says. It is one list only when somebody needs that, and for all
/// who do.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    clock: Clock,
    own: Option<Entry>,
    whole: OnceLock<Clock>,
}

impl Seen {
    pub(super) fn of(clock: Clock, own: Option<Entry>) -> Seen {
        Seen(Arc::new(Parts { clock, own, whole: OnceLock::new() }))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.0.clock.entries().iter().copied().chain(self.0.own)
    }

    fn at(&self, lane: usize) -> u64 {
        let own = self.0.own.filter(|(own, _)| *own == lane).map_or(0, |(_, count)| count);
        own.max(self.0.clock.at(lane))
    }

    fn whole(&self, host: &Host) -> &Clock {
        self.0.whole.get_or_init(|| Clock::of(self.entries().collect(), host))
    }
}

/// What a lane knows of others.
#[derive(Default)]
pub(super) struct Known {
    pub(super) clock: Clock,
    /// A list of which all is in the clock.
    part: Clock,
}

impl Known {
    /// Learns what was seen, for the lane of that number, which knows everything of itself.
    pub(super) fn learns(&mut self, lane: usize, seen: &Seen, host: &Host) {
        let Known { clock, part } = self;
        let Parts { clock: other, own, .. } = &*seen.0;
        let has = |(number, count): &Entry| {
            *number == lane || host.at(*number) >= *count || clock.at(*number) >= *count
        };
        let has_own = own.as_ref().is_none_or(has);
        let has_rest = part.is(other) || other.entries().iter().all(has);
        if has_own && has_rest {
            return;
        }
        let is_seen = |(number, count): &Entry| host.at(*number) >= *count || seen.at(*number) >= *count;
        if clock.entries().iter().all(is_seen) {
            // Many may learn the same.
            *clock = seen.whole(host).clone();
        } else if let Some(own) = own.filter(|_| has_rest) {
            clock.learns(own);
        } else {
            *clock = Clock::of(clock.entries().iter().copied().chain(seen.entries()).collect(), host);
        }
        *part = other.clone();
    }

    pub(super) fn forget_known(&mut self, host: &Host) {
        self.clock.forget_known(host);
        if self.clock.entries().is_empty() {
            self.part = Clock::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(entries: &[Entry], own: Option<Entry>, host: &Host) -> Seen {
        Seen::of(Clock::of(entries.to_vec(), host), own)
    }

    #[test]
    fn who_learns_something_knows_the_larger_of_each_lane() {
        let mut host = Host::default();
        let clock = Clock::of(vec![(3, 4), (1, 2), (3, 9)], &host);
        assert_eq!(clock.entries(), [(1, 2), (3, 9)]);
        let mut one = Known { clock, ..Known::default() };
        one.learns(7, &seen(&[(1, 5)], Some((2, 1)), &host), &host);
        assert_eq!(one.clock.entries(), [(1, 5), (2, 1), (3, 9)]);
        // Who knows less has the same list, and so has the next.
        let whole = seen(one.clock.entries(), Some((7, 1)), &host);
        let [mut less, mut none] = [(); 2].map(|()| Known::default());
        less.learns(8, &seen(&[(1, 1)], None, &host), &host);
        less.learns(8, &whole, &host);
        none.learns(9, &whole, &host);
        assert!(less.clock.is(&none.clock) && less.clock.at(7) == 1);
        // One number more, which the other does not get.
        less.learns(8, &seen(&[(1, 5)], Some((4, 6)), &host), &host);
        assert_eq!((less.clock.at(4), none.clock.at(4), less.clock.at(3)), (6, 0, 9));
        // Of itself a lane knows everything, and what the host knows nobody has to.
        none.learns(9, &seen(&[], Some((9, 3)), &host), &host);
        assert_eq!(none.clock.at(9), 0);
        host.learns((3, 9));
        host.learns((3, 1));
        assert!(Clock::of(vec![(3, 9)], &host).entries().is_empty());
        one.forget_known(&host);
        assert_eq!(one.clock.at(3), 9);
        host.learns((1, 5));
        host.learns((2, 1));
        one.forget_known(&host);
        assert_eq!((one.clock.at(3), one.clock.entries().len()), (0, 0));
    }
}
