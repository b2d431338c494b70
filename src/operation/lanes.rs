//! The worker's own list of what is in flight: which marks to ask, and when.
//!
//! Only the oldest mark of a stream is asked, because a stream comes to them in order. Work that has only begun is asked without
//! a pause: to sleep takes longer than most of it. After that, the longer a wait has lasted, the longer the pause to the next
//! look: an eighth of its age, so that a look is late by an eighth at most, and 1,000 futures that wait for long cost next to
//! nothing.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::completion::{Complete, Entry, Mark};

/// So long there is no pause between two looks at a mark.
const FRESH: Duration = Duration::from_micros(100);
/// The shortest and the longest pause after that.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

pub(super) struct Lanes<M: Mark> {
    lanes: HashMap<usize, Lane<M>>,
    deadlines: BTreeMap<(Instant, u64), Weak<dyn Complete<M::Error>>>,
    /// Tells equal deadlines apart.
    serial: u64,
}

struct Lane<M: Mark> {
    /// The oldest first.
    entries: VecDeque<Entry<M>>,
    /// When to look at the oldest.
    due: Instant,
}

/// An entry that is over, and how it ended.
pub(super) type Over<M> = (Entry<M>, Result<(), <M as Mark>::Error>);

impl<M: Mark> Default for Lanes<M> {
    fn default() -> Self {
        Self { lanes: HashMap::new(), deadlines: BTreeMap::new(), serial: 0 }
    }
}

impl<M: Mark> Lanes<M> {
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    pub(super) fn add(&mut self, entries: Vec<Entry<M>>) {
        for entry in entries {
            if let Some(deadline) = entry.deadline {
                self.serial += 1;
                self.deadlines.insert((deadline, self.serial), std::sync::Arc::downgrade(&entry.slot));
            }
            let due = entry.since;
            let lane = self.lanes.entry(entry.lane).or_insert_with(|| Lane { entries: VecDeque::new(), due });
            lane.entries.push_back(entry);
        }
    }

    /// Asks the marks whose time has come; takes out what is over.
    pub(super) fn sweep(&mut self, now: Instant) -> Vec<Over<M>> {
        let mut over = Vec::new();
        self.lanes.retain(|_, lane| {
            if lane.due <= now {
                lane.look(now, &mut over);
            }
            !lane.entries.is_empty()
        });
        over
    }

    /// Those whose deadline has come.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<Weak<dyn Complete<M::Error>>> {
        if self.deadlines.is_empty() {
            return Vec::new();
        }
        let later = self.deadlines.split_off(&(now, u64::MAX));
        std::mem::replace(&mut self.deadlines, later).into_values().collect()
    }

    /// How long there is nothing to do.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        let due = self.lanes.values().map(|lane| lane.due);
        let deadline = self.deadlines.keys().next().map(|(deadline, _)| *deadline);
        let next = due.chain(deadline).min();
        next.map_or(LONGEST, |next| next.saturating_duration_since(now))
    }
}

impl<M: Mark> Lane<M> {
    fn look(&mut self, now: Instant, over: &mut Vec<Over<M>>) {
        while let Some(oldest) = self.entries.pop_front() {
            match oldest.mark.is_done() {
                Ok(false) => {
                    self.due = now + pace(now.saturating_duration_since(oldest.since));
                    self.entries.push_front(oldest);
                    return;
                }
                Ok(true) => over.push((oldest, Ok(()))),
                Err(error) => over.push((oldest, Err(error))),
            }
        }
    }
}

/// The pause after a look at something that has lasted so long.
fn pace(age: Duration) -> Duration {
    if age < FRESH { Duration::ZERO } else { (age / 8).clamp(SHORTEST, LONGEST) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::completion::Slot;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    /// Done when the number is reached.
    struct At(usize, Arc<AtomicUsize>, Arc<AtomicUsize>);

    impl Mark for At {
        type Error = ();

        fn is_done(&self) -> Result<bool, ()> {
            self.2.fetch_add(1, SeqCst);
            match self.1.load(SeqCst) {
                usize::MAX => Err(()),
                reached => Ok(reached >= self.0),
            }
        }
    }

    fn lanes() -> (Lanes<At>, impl Fn(usize, usize) -> Entry<At>, Arc<AtomicUsize>) {
        let (reached, asked) = (Arc::<AtomicUsize>::default(), Arc::default());
        let r = reached.clone();
        let since = Instant::now();
        let entry = move |lane, at| Entry {
            lane,
            mark: At(at, r.clone(), Arc::clone(&asked)),
            slot: Arc::new(Slot::new(())),
            since,
            deadline: None,
        };
        (Lanes::default(), entry, reached)
    }

    #[test]
    fn only_the_oldest_of_a_stream_is_asked() {
        let (mut lanes, entry, reached) = lanes();
        lanes.add((1..=5).map(|at| entry(0, at)).collect());
        let now = Instant::now();
        let first = entry(0, 9);
        assert!(lanes.sweep(now).is_empty());
        assert_eq!(first.mark.2.load(SeqCst), 1);
        reached.store(3, SeqCst);
        assert_eq!(lanes.sweep(now + LONGEST).len(), 3);
        assert!(!lanes.is_empty());
        reached.store(usize::MAX, SeqCst);
        let failed = lanes.sweep(now + 2 * LONGEST);
        assert!(failed.len() == 2 && failed.iter().all(|(_, result)| result.is_err()));
        assert!(lanes.is_empty());
    }

    #[test]
    fn the_pause_grows_with_the_wait() {
        assert_eq!(pace(Duration::ZERO), Duration::ZERO);
        assert_eq!(pace(FRESH), SHORTEST);
        assert_eq!(pace(Duration::from_millis(4)), Duration::from_micros(500));
        assert_eq!(pace(Duration::from_secs(4)), LONGEST);
        let looks = Rc::new(Cell::new(0));
        let mut age = FRESH;
        while age < Duration::from_millis(100) {
            age += pace(age);
            looks.set(looks.get() + 1);
        }
        assert!(looks.get() < 200, "{} looks in 100 ms", looks.get());
    }
}
