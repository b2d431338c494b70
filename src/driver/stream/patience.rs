//! How a call waits for work that other threads are about to submit, and holds back new submissions meanwhile.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use super::CudaStream;
use super::queue::{EndOfHold, StreamQueue};
use super::thread::{StreamWaits, orders};
use crate::driver::host_call;
use crate::error::{Error, ErrorKind, StalledSubmission};
use crate::trace;

/// Whether this crate launches graphs: nobody waits for other work so. Where it does not, a program has no code for that.
pub(super) const LAUNCHES_GRAPHS: bool = cfg!(feature = "graph");

thread_local! {
    /// The identity of the stream to which this thread is submitting a graph.
    static LAUNCH: Cell<Option<usize>> = const { Cell::new(None) };

    /// The identities of the streams to which other code is submitting work on this thread (`submit_with`).
    static FOREIGN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// How long a call waits for work that another thread is about to submit. A driver call takes microseconds, but longer if the stream's
/// queue is full or the thread is not scheduled.
const PATIENCE: Duration = Duration::from_secs(30);

/// The work is nearly always submitted within this time. If not, other threads may share the stream and never pause.
const SOON: Duration = Duration::from_millis(1);

/// The longest time for which submissions are held back at once, or a 32nd of the time waited so far if that is longer: calls may take
/// long if the stream's queue is full. Work that is not submitted within that time may be stuck, and other threads must not be stuck
/// with it: of the 30 seconds they lose little more than one, however many threads wait.
const LONGEST_HOLD: Duration = Duration::from_millis(64);

/// A clock common to all threads that hold others back, so that they do so at the same times.
static CLOCK: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The same inside a `tracing` subscriber or log callback, which may be waiting for a call of its own thread.
const LISTENER: Duration = Duration::from_millis(50);

/// Streams to which new submissions are held back until this is dropped.
#[derive(Default)]
struct Hold(Vec<(CudaStream, EndOfHold)>);

impl Hold {
    /// These as well.
    fn add(&mut self, streams: Vec<CudaStream>, begin: fn(&StreamQueue) -> EndOfHold) {
        for stream in streams {
            if self.0.iter().all(|(held, _)| held.identity() != stream.identity()) {
                let end = begin(stream.queue());
                self.0.push((stream, end));
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.iter().for_each(|(stream, end)| end(stream.queue()));
    }
}

/// The function that holds submissions back, and the streams on which to do so.
pub(super) struct Others<'a>(
    pub(super) fn(&StreamQueue) -> EndOfHold,
    pub(super) &'a dyn Fn() -> Vec<CudaStream>,
);

/// A call that waits for work that other threads are about to submit.
pub(crate) struct Patience {
    call: &'static str,
    /// When the condition was first found false.
    begin: OnceCell<Instant>,
    /// Kept until the caller has made use of the condition, not only seen it.
    hold: RefCell<Option<Hold>>,
}

impl Patience {
    pub(crate) fn of(call: &'static str) -> Self {
        Self { call, begin: OnceCell::new(), hold: RefCell::default() }
    }

    /// Waits until `is_so` returns true, which a steady flow of new submissions to `others` may prevent from being
    /// observed.
    ///
    /// Streams that were already held back remain so; otherwise two streams that never pause would take turns in preventing
    /// it.
    #[cold]
    pub(super) fn until(&self, is_so: &dyn Fn() -> bool, others: &Others<'_>) -> Result<(), Error> {
        let Others(begin, streams) = *others;
        let mut are_held = false;
        let limit = if trace::is_listening() { LISTENER } else { PATIENCE };
        while !is_so() {
            // The awaited work may itself wait for the stream that runs this host function.
            host_call::refuse(self.call)?;
            let waited = self.begin.get_or_init(Instant::now).elapsed();
            if waited < SOON {
                thread::yield_now();
            } else if waited < limit {
                let is_time = is_time_to_hold(waited, CLOCK.elapsed());
                let held = self.hold.take().filter(|_| is_time);
                are_held &= held.is_some();
                let mut held = held.or_else(|| is_time.then(Hold::default));
                if let Some(held) = held.as_mut().filter(|_| !are_held) {
                    held.add(streams(), begin);
                    are_held = true;
                }
                self.hold.replace(held);
                thread::sleep(SOON / 10);
            } else if trace::is_listening() {
                return Err(host_call::inside_of(self.call));
            } else {
                return Err(ErrorKind::Stalled(StalledSubmission { call: self.call, waited }).into());
            }
        }
        Ok(())
    }

    /// Waits until all work that was found announced is submitted, for the launch of a graph, which must then check again before
    /// this is dropped: new submissions may be held back until then.
    pub(crate) fn until_submitted(&self, others: &StreamWaits) -> Result<(), Error> {
        let is_own = |stream| LAUNCH.get() == Some(stream) || SubmittingElsewhere::any(|own| own == stream);
        if others.unsubmitted().any(|(earlier, _)| is_own(earlier.stream.identity())) {
            return Err(host_call::inside_of(self.call));
        }
        let streams = || others.unsubmitted().map(|(earlier, _)| earlier.stream.clone()).collect();
        self.until(&|| others.are_submitted(), &Others(StreamQueue::hold, &streams))
    }
}

/// Whether others are held back after waiting for this long: for half a millisecond of the second millisecond, for one of the third and
/// fourth, for two of the next four, and so on. In between, held-back submissions that the awaited work depends on can proceed; and work
/// that takes long is given more time in the next round, up to [`LONGEST_HOLD`]. `clock` determines which part of each period is the hold.
fn is_time_to_hold(waited: Duration, clock: Duration) -> bool {
    // In 64 bits, which last for 584 years; a 128-bit division would link code that nothing else in a program needs.
    let nanos = |time: Duration| time.as_nanos() as u64;
    let soons = nanos(waited) / nanos(SOON);
    soons.checked_ilog2().is_some_and(|log| {
        let time = SOON * (1 << log.min(30));
        let hold = (time / 2).min(LONGEST_HOLD.max(time / 32));
        nanos(clock) % nanos(time) < nanos(hold)
    })
}

/// Whether submissions of this thread may be held back. Not in the middle of another submission, which the holder may be waiting for, or
/// for which this thread itself holds others back; so not in a `tracing` subscriber or log callback either. And not in a host function,
/// where submissions are refused anyway and which others wait for.
pub(super) fn may_be_held_back() -> bool {
    LAUNCHES_GRAPHS
        && !host_call::is_running()
        && !trace::is_listening()
        && !orders()
        && LAUNCH.get().is_none()
        && !SubmittingElsewhere::any(|_| true)
}

/// Exists while this thread submits a graph to a stream.
pub(crate) struct Launching(Option<usize>);

impl Launching {
    pub(crate) fn begin(stream: &CudaStream) -> Self {
        Self(LAUNCH.replace(Some(stream.identity())))
    }

    /// Whether this thread is submitting a graph to this stream.
    pub(super) fn is_to(stream: &CudaStream) -> bool {
        LAUNCH.get() == Some(stream.identity())
    }
}

impl Drop for Launching {
    fn drop(&mut self) {
        LAUNCH.set(self.0);
    }
}

/// Exists while other code, which may do anything, submits work to a stream on this thread.
pub(crate) struct SubmittingElsewhere(usize);

impl SubmittingElsewhere {
    pub(crate) fn begin(stream: &CudaStream) -> Self {
        Self::change(|own| own.push(stream.identity()));
        Self(stream.identity())
    }

    /// Whether one of these streams satisfies the condition.
    fn any(is_so: impl Fn(usize) -> bool) -> bool {
        FOREIGN.try_with(|own| own.borrow().iter().any(|stream| is_so(*stream))).unwrap_or(false)
    }

    /// Does nothing while the thread's locals are being destroyed: a graph launch that would wait for its own thread
    /// then fails only after the timeout.
    fn change(change: impl FnOnce(&mut Vec<usize>)) {
        let _ = FOREIGN.try_with(|own| change(&mut own.borrow_mut()));
    }
}

impl Drop for SubmittingElsewhere {
    fn drop(&mut self) {
        Self::change(|own| {
            if let Some(at) = own.iter().rposition(|stream| *stream == self.0) {
                own.remove(at);
            }
        });
    }
}

#[cfg(test)]
#[path = "patience_tests.rs"]
mod held;

#[cfg(test)]
mod tests {
    use super::super::thread::Orders;
    use super::*;
    use crate::driver::context::CudaContext;
    use std::any::Any;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// How long others are held back, in microseconds, from this time on up to twice as much, of whoever began to wait at `begin`.
    fn held(soons: u32, begin: Duration) -> u128 {
        let (time, step) = (SOON * soons, SOON * soons / 1_024);
        let is_held = |at: &u32| is_time_to_hold(time + step * *at, begin + time + step * *at);
        step.as_nanos() * (0..1_024).filter(is_held).count() as u128 / 1_000
    }

    #[test]
    fn a_hold_grows_with_the_time_before_it_up_to_its_limit() {
        for begin in [0, 777, 123_456_789].map(Duration::from_micros) {
            let all = (0..15).map(|log| (held(1 << log, begin) + 50) / 100).collect::<Vec<_>>();
            assert_eq!(
                all,
                [5, 10, 20, 40, 80, 160, 320, 640, 640, 640, 640, 640, 1280, 2560, 5120],
                "{begin:?}"
            );
        }
        assert!(!is_time_to_hold(SOON * 999 / 1_000, Duration::ZERO), "it nearly always comes by then");
    }

    /// Else the more wait for one that is stuck, the less time others have.
    #[test]
    fn all_hold_others_back_at_the_same_time() {
        let at = |clock| [64, 70, 127].map(|waited| is_time_to_hold(SOON * waited, SOON * clock));
        assert_eq!((at(640), at(671), at(672), at(703)), ([true; 3], [true; 3], [false; 3], [false; 3]));
    }

    #[test]
    fn each_stream_is_held_once_and_until_the_hold_ends() -> Result<(), Error> {
        static NOW_AND_EVER: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
        let count = || NOW_AND_EVER.each_ref().map(|count| count.load(Ordering::Relaxed));
        let begin = |_: &StreamQueue| -> EndOfHold {
            NOW_AND_EVER.iter().for_each(|count| _ = count.fetch_add(1, Ordering::Relaxed));
            |_| _ = NOW_AND_EVER[0].fetch_sub(1, Ordering::Relaxed)
        };
        let ctx = CudaContext::new(0)?;
        let (one, other) = (ctx.new_stream()?, ctx.new_stream()?);
        let mut hold = Hold::default();
        hold.add(vec![one.clone(), one.clone()], begin);
        assert_eq!(count(), [1, 1]);
        hold.add(vec![other, one], begin);
        assert_eq!(count(), [2, 2]);
        drop(hold);
        assert_eq!(count(), [0, 2]);
        Ok(())
    }

    #[test]
    fn nothing_is_held_back_inside_of_another_submission() {
        assert!(may_be_held_back());
        let begins: [fn() -> Box<dyn Any>; 3] = [
            || Box::new(Orders::begin()),
            || Box::new(Launching(LAUNCH.replace(Some(7)))),
            || {
                SubmittingElsewhere::change(|own| own.push(7));
                Box::new(SubmittingElsewhere(7))
            },
        ];
        for begin in begins {
            let inside = begin();
            assert!(!may_be_held_back());
            drop(inside);
            assert!(may_be_held_back());
        }
    }

    #[test]
    fn what_is_given_away_is_so_until_its_own_end() {
        let given = |stream| {
            SubmittingElsewhere::change(|own| own.push(stream));
            SubmittingElsewhere(stream)
        };
        let is_given = |stream| SubmittingElsewhere::any(|own| own == stream);
        let (one, again, other) = (given(7), given(7), given(9));
        drop(one);
        assert!(is_given(7) && is_given(9));
        drop(other);
        assert!(is_given(7) && !is_given(9));
        drop(again);
        assert!(!is_given(7));
    }
}
