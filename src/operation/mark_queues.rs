//! The worker's own list of the work in flight: which marks to query, and when.
//!
//! A stream reaches its marks in the order in which they were recorded, so only the oldest is queried. Marks that threads
//! recorded at the same time have no known order, and may arrive in any order: a mark is queried unless it was recorded after one
//! that is not done.
//!
//! Work that was submitted a moment ago is queried without a pause, because sleeping takes longer than most work. After that,
//! the pause between queries is an eighth of the age of the wait, so that its end is noticed at most an eighth too late, and
//! 1,000 futures that wait for a long time cost next to nothing.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::completion::{Complete, Entry, Mark};
use super::sync::Arc;

/// The age up to which a mark is queried without a pause.
const FRESH: Duration = Duration::from_micros(100);
/// The shortest and the longest pause after that.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

pub(super) struct MarkQueues<M: Mark> {
    queues: BTreeMap<usize, MarkQueue<M>>,
    deadlines: Deadlines<M>,
}

/// The waiters to be notified at their deadlines, each as long as its work is not done.
type Deadlines<M> = BTreeMap<(Instant, u64), Arc<dyn Complete<<M as Mark>::Error>>>;

struct MarkQueue<M: Mark> {
    /// Sorted by the time at which the recording of the mark began.
    entries: VecDeque<Entry<M>>,
    /// When to query the oldest.
    due: Instant,
}

/// A completed entry, and its result.
pub(super) type Completed<M> = (Entry<M>, Result<(), <M as Mark>::Error>);

impl<M: Mark> Default for MarkQueues<M> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), deadlines: BTreeMap::new() }
    }
}

impl<M: Mark> MarkQueues<M> {
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    pub(super) fn add(&mut self, entries: Vec<Entry<M>>) {
        for entry in entries {
            if let Some(key) = deadline(&entry) {
                self.deadlines.insert(key, entry.slot.clone());
            }
            let due = entry.since;
            let queue =
                self.queues.entry(entry.queue).or_insert_with(|| MarkQueue { entries: VecDeque::new(), due });
            queue.add(entry);
        }
    }

    /// Queries the marks that are due, and appends completed entries to `over`.
    pub(super) fn sweep(&mut self, now: Instant, over: &mut VecDeque<Completed<M>>) {
        self.queues.retain(|_, queue| {
            if queue.due <= now {
                queue.look(now, over, &mut self.deadlines);
            }
            !queue.entries.is_empty()
        });
    }

    /// The waiters whose deadline has passed.
    pub(super) fn expired(
        &mut self,
        now: Instant,
    ) -> impl Iterator<Item = Arc<dyn Complete<M::Error>>> + use<M> {
        let later = self.deadlines.split_off(&(now, u64::MAX));
        std::mem::replace(&mut self.deadlines, later).into_values()
    }

    /// Whether the oldest work of some stream is young enough to be queried without a pause.
    pub(super) fn has_fresh(&self, now: Instant) -> bool {
        let mut oldest = self.queues.values().filter_map(|queue| queue.entries.front());
        oldest.any(|entry| now.saturating_duration_since(entry.since) < FRESH)
    }

    /// The time until the next query or deadline.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        let due = self.queues.values().map(|queue| queue.due);
        let deadline = self.deadlines.keys().next().map(|(deadline, _)| *deadline);
        let next = due.chain(deadline).min();
        next.map_or(LONGEST, |next| next.saturating_duration_since(now))
    }
}

impl<M: Mark> MarkQueue<M> {
    /// Nearly always at the end.
    fn add(&mut self, entry: Entry<M>) {
        let later = self.entries.iter().rev().take_while(|other| other.record.start > entry.record.start);
        let index = self.entries.len() - later.count();
        self.entries.insert(index, entry);
    }

    fn look(&mut self, now: Instant, over: &mut VecDeque<Completed<M>>, deadlines: &mut Deadlines<M>) {
        // Set first, so that it holds even if a query panics.
        self.due = now + LONGEST;
        let mut index = 0;
        // Those whose record began later come after one that is not done.
        let mut end = u64::MAX;
        while let Some(entry) = self.entries.get(index)
            && entry.record.start < end
        {
            match entry.mark.is_done() {
                Ok(false) => {
                    self.due = self.due.min(now + pace(now.saturating_duration_since(entry.since)));
                    end = end.min(entry.record.end);
                    index += 1;
                }
                answer => {
                    deadline(entry).map(|key| deadlines.remove(&key));
                    over.extend(self.entries.remove(index).map(|entry| (entry, answer.map(drop))));
                }
            }
        }
    }
}

/// The key of its deadline. No two records have the same end, so it is unique.
fn deadline<M: Mark>(entry: &Entry<M>) -> Option<(Instant, u64)> {
    entry.deadline.map(|deadline| (deadline, entry.record.end))
}

/// The pause after querying a mark of this age.
fn pace(age: Duration) -> Duration {
    if age < FRESH { Duration::ZERO } else { (age / 8).clamp(SHORTEST, LONGEST) }
}

#[cfg(all(test, not(cuda_launch_loom)))]
mod tests {
    use super::*;
    use crate::operation::completion::Claim;
    use std::cell::Cell;
    use std::ops::Range;
    use std::rc::Rc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    /// Done when the number is reached.
    #[derive(Clone, Default)]
    struct Stream {
        reached: Arc<AtomicUsize>,
        asked: Arc<AtomicUsize>,
    }

    struct At(usize, Stream);

    impl Mark for At {
        type Error = ();

        fn is_done(&self) -> Result<bool, ()> {
            self.1.asked.fetch_add(1, SeqCst);
            match self.1.reached.load(SeqCst) {
                usize::MAX => Err(()),
                reached => Ok(reached >= self.0),
            }
        }
    }

    impl Stream {
        fn mark(&self, at: usize, record: Range<u64>) -> Entry<At> {
            let (since, slot) = (Instant::now(), Claim::new(()).slot().clone());
            Entry { queue: 0, mark: At(at, self.clone()), record, slot, since, deadline: None }
        }

        /// Recorded one after the other.
        fn marks(&self, count: usize) -> Vec<Entry<At>> {
            (1..=count).zip((0..).step_by(2)).map(|(at, start)| self.mark(at, start..start + 1)).collect()
        }
    }

    fn over(queues: &mut MarkQueues<At>, now: Instant) -> Vec<(usize, bool)> {
        let mut over = VecDeque::new();
        queues.sweep(now, &mut over);
        over.into_iter().map(|(entry, result)| (entry.mark.0, result.is_ok())).collect()
    }

    #[test]
    fn only_the_oldest_of_a_stream_is_asked() {
        let (mut queues, stream) = (MarkQueues::default(), Stream::default());
        queues.add(stream.marks(5));
        let now = Instant::now();
        assert!(over(&mut queues, now).is_empty());
        assert_eq!(stream.asked.load(SeqCst), 1);
        stream.reached.store(3, SeqCst);
        assert_eq!(over(&mut queues, now + LONGEST), [(1, true), (2, true), (3, true)]);
        assert!(!queues.is_empty());
        stream.reached.store(usize::MAX, SeqCst);
        assert_eq!(over(&mut queues, now + 2 * LONGEST), [(4, false), (5, false)]);
        assert!(queues.is_empty());
    }

    #[test]
    fn what_arrives_late_does_not_wait_for_what_came_after_it() {
        let (mut queues, stream) = (MarkQueues::default(), Stream::default());
        let mut marks = stream.marks(3);
        let first = marks.remove(0);
        queues.add(marks);
        queues.add(vec![first]);
        stream.reached.store(1, SeqCst);
        assert_eq!(over(&mut queues, Instant::now()), [(1, true)]);
        assert_eq!(stream.asked.load(SeqCst), 2, "the last one comes after the second");
    }

    #[test]
    fn marks_of_one_time_have_no_order() {
        let (mut queues, stream) = (MarkQueues::default(), Stream::default());
        // The record that began first and ended last was the third on the stream; the fourth came after the first.
        queues.add(vec![
            stream.mark(4, 4..9),
            stream.mark(3, 0..8),
            stream.mark(1, 1..3),
            stream.mark(2, 2..7),
        ]);
        stream.reached.store(2, SeqCst);
        let now = Instant::now();
        assert_eq!(over(&mut queues, now), [(1, true), (2, true)]);
        stream.reached.store(3, SeqCst);
        assert_eq!(over(&mut queues, now + LONGEST), [(3, true)]);
        assert!(over(&mut queues, now + 2 * LONGEST).is_empty());
        stream.reached.store(4, SeqCst);
        assert_eq!(over(&mut queues, now + 3 * LONGEST), [(4, true)]);
    }

    #[test]
    fn the_deadline_of_what_is_done_is_forgotten() {
        let (mut queues, stream) = (MarkQueues::default(), Stream::default());
        let (marks, now) = (stream.marks(3), Instant::now());
        let (soon, late) = (now + 5 * LONGEST, now + Duration::from_secs(3600));
        for (mut entry, deadline) in marks.into_iter().zip([soon, late, soon]) {
            entry.deadline = Some(deadline);
            queues.add(vec![entry]);
        }
        stream.reached.store(2, SeqCst);
        assert_eq!(over(&mut queues, now).len(), 2);
        assert_eq!(queues.deadlines.len(), 1);
        assert_eq!((queues.expired(now).count(), queues.expired(soon).count()), (0, 1));
        stream.reached.store(3, SeqCst);
        assert_eq!(over(&mut queues, soon), [(3, true)]);
        assert!(queues.deadlines.is_empty());
    }

    #[test]
    fn a_question_that_panics_loses_nothing() {
        struct Broken(Cell<bool>);
        impl Mark for Broken {
            type Error = ();

            fn is_done(&self) -> Result<bool, ()> {
                assert!(self.0.replace(true), "asked for the first time");
                Ok(true)
            }
        }
        let (mut queues, mut over) = (MarkQueues::default(), VecDeque::new());
        for (queue, asked) in [(0, true), (1, false), (2, true)] {
            let (mark, slot) = (Broken(Cell::new(asked)), Claim::new(()).slot().clone());
            let since = Instant::now();
            queues.add(vec![Entry { queue, mark, record: 0..1, slot, since, deadline: None }]);
        }
        let now = Instant::now();
        let sweep = std::panic::AssertUnwindSafe(|| queues.sweep(now, &mut over));
        assert!(std::panic::catch_unwind(sweep).is_err());
        queues.sweep(now + LONGEST, &mut over);
        assert_eq!(over.len(), 3);
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
