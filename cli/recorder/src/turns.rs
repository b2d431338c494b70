//! Threads take turns at putting work on a stream, so that nothing of another thread comes between the two events of a piece of work.
//!
//! A copy may wait for the stream, and so for what another thread has yet to put there. Nobody waits long for its turn to end.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a turn lasts.
#[derive(Clone, Copy)]
pub(crate) enum Lasts {
    /// Until the work is there: a launch, a fill, a graph. Where such a call waits for room on the stream, others would wait as well.
    Call,
    /// No longer than [`COPY`]: from then on others do not wait for the call.
    Copy,
}

/// A copy is on its stream within microseconds, unless it waits for what is there.
const COPY: Duration = Duration::from_millis(1);

/// Whose turn it is, for each place that had some work.
pub(crate) struct Turns<P>(Mutex<HashMap<P, Arc<Place>>>);

#[derive(Default)]
struct Place {
    holder: Mutex<Holder>,
    free: Condvar,
}

#[derive(Default)]
struct Holder {
    /// The number of the turn that goes on.
    turn: Option<u64>,
    /// When others stop waiting for its end.
    until: Option<Instant>,
    /// Turns so far.
    turns: u64,
}

/// Ends when it is dropped.
pub(crate) struct Turn {
    place: Arc<Place>,
    number: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<P> Default for Turns<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P: Eq + Hash> Turns<P> {
    /// Waits for the turn there.
    pub(crate) fn take(&self, place: P, lasts: Lasts) -> Turn {
        let place = lock(&self.0).entry(place).or_default().clone();
        let number = place.take(lasts);
        Turn { place, number }
    }

    /// Forgets the places where it is nobody's turn. Those where a turn goes on, or somebody waits, are in hand.
    pub(crate) fn tidy(&self) {
        lock(&self.0).retain(|_, place| Arc::strong_count(place) > 1);
    }
}

impl Place {
    fn take(&self, lasts: Lasts) -> u64 {
        let mut holder = lock(&self.holder);
        while holder.turn.is_some() {
            let left = holder.until.map(|until| until.saturating_duration_since(Instant::now()));
            holder = match left {
                Some(Duration::ZERO) => break,
                Some(left) => {
                    let (holder, _) =
                        self.free.wait_timeout(holder, left).unwrap_or_else(|poisoned| poisoned.into_inner());
                    holder
                }
                None => self.free.wait(holder).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
        holder.turns += 1;
        holder.turn = Some(holder.turns);
        holder.until = match lasts {
            Lasts::Call => None,
            Lasts::Copy => Some(Instant::now() + COPY),
        };
        holder.turns
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut holder = lock(&self.place.holder);
        // The turn of a copy that lasted too long may be another's by now.
        if holder.turn == Some(self.number) {
            holder.turn = None;
            // All, as each looks anew how long it has to wait: the next turn may be a copy's.
            self.place.free.notify_all();
        }
    }
}
