//! A stream as recorded by the memory that it accessed.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::{CudaStream, StreamQueue};
use crate::driver::capture::open::outside_captures;
use crate::driver::context::CudaContext;
use crate::driver::host_call;
use crate::error::{Error, ErrorKind, StalledSubmission};
use crate::ordering::{Accesses, Queue, Submissions, Waits};
use crate::trace;

/// A stream, kept alive: its work is what others wait for.
#[derive(Clone, Debug)]
pub(crate) struct ThreadStream {
    stream: CudaStream,
    /// Whose stream it is, if the handle means a different stream on every thread.
    own: Option<Arc<OwnStream>>,
}

/// What a handle that means a different stream on every thread means on one of them.
#[derive(Debug)]
struct OwnStream {
    thread: ThreadId,
    /// Counts the accesses to memory that the thread has announced. Only that thread changes it, and the next.
    announced: AtomicUsize,
    /// How many of them the thread has waited for.
    seen: AtomicUsize,
}

impl OwnStream {
    /// That of this thread.
    fn of(stream: &CudaStream) -> Arc<Self> {
        let handle = stream.identity();
        let found = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            if let Some((_, found)) = own.iter().find(|(of, _)| *of == handle) {
                return found.clone();
            }
            // Those that no list has any more: their handles may be gone, and another one be in their place.
            own.retain(|(_, other)| Arc::strong_count(other) > 1);
            let new = Arc::new(Self::new());
            own.push((handle, new.clone()));
            new
        });
        // At the end of the thread it is one that nobody finds again: it counts as busy.
        found.unwrap_or_else(|_| Arc::new(Self::new()))
    }

    fn new() -> Self {
        let (announced, seen) = Default::default();
        Self { thread: thread::current().id(), announced, seen }
    }

    fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Whether the thread has waited for all that it has given to it.
    fn is_idle(&self) -> bool {
        // Acquire: who sees it gives its work after that wait.
        self.seen.load(Ordering::Acquire) == self.announced.load(Ordering::Acquire)
    }
}

/// A wait for what a handle means on this thread, if that is a stream of its own: what it will have seen the end of.
pub(super) struct OwnWait(Option<(Arc<OwnStream>, usize)>);

impl OwnWait {
    /// Call it before the wait.
    pub(super) fn begin(stream: &CudaStream) -> Self {
        if !stream.is_per_thread() {
            return Self(None);
        }
        let submissions = &stream.queue().submissions;
        // What is announced only is not waited for. It is this thread's if it is in the middle of a submission, and calls what waits.
        let is_quiet = submissions.have_finished(submissions.announced());
        let own = OwnStream::of(stream);
        let announced = own.announced.load(Ordering::Relaxed);
        Self(is_quiet.then_some((own, announced)))
    }

    /// The wait is over.
    pub(super) fn end(self) {
        if let Self(Some((own, announced))) = self {
            own.seen.store(announced, Ordering::Release);
        }
    }
}

/// The streams that access a piece of memory.
pub(crate) type StreamAccesses = Accesses<ThreadStream>;

/// The streams that one submission waits for.
pub(crate) type StreamWaits = Waits<ThreadStream>;

thread_local! {
    /// Whether this thread is in a call of the driver that orders an access: meanwhile it may have the list of the memory.
    static ORDERS: Cell<bool> = const { Cell::new(false) };

    /// The identity of the stream that this thread is giving a graph to.
    static LAUNCH: Cell<Option<usize>> = const { Cell::new(None) };

    /// Those of the streams that other code is giving work to on this thread.
    static FOREIGN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };

    /// What handles mean on this thread alone, by their identity.
    static OWN: RefCell<Vec<(usize, Arc<OwnStream>)>> = const { RefCell::new(Vec::new()) };
}

/// Such a call; over when this is dropped.
struct Orders(bool);

impl Orders {
    fn begin() -> Self {
        Self(ORDERS.replace(true))
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        ORDERS.set(self.0);
    }
}

impl ThreadStream {
    /// An error for `call` if this thread is just ordering an access, and the driver's log or a span has called what asks for another
    /// one: it may be to the same memory, whose list this thread may have.
    pub(crate) fn may_order(call: &'static str) -> Result<(), Error> {
        if ORDERS.get() { Err(host_call::inside_of(call)) } else { Ok(()) }
    }

    /// The stream that this handle means on this thread, which may be about to be given work.
    pub(crate) fn here(stream: &CudaStream) -> Self {
        let own = stream.is_per_thread().then(|| OwnStream::of(stream));
        let here = Self { stream: stream.clone(), own };
        here.announce();
        here
    }

    /// It may be about to be given work, by this thread if it is one's own.
    pub(crate) fn announce(&self) {
        if let Some(own) = &self.own {
            own.announced.fetch_add(1, Ordering::Release);
        }
    }

    /// The stream, if its handle means it on this thread.
    pub(crate) fn handle(&self) -> Option<&CudaStream> {
        self.own.as_ref().is_none_or(|own| own.is_here()).then_some(&self.stream)
    }

    /// Whether it is the stream of a thread that has waited for all that it has given to it.
    fn is_idle(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.is_idle())
    }

    /// Its context.
    pub(crate) fn context(&self) -> &CudaContext {
        self.stream.context()
    }

    /// Whether it is what this thread means by `stream`.
    pub(crate) fn means(&self, stream: &CudaStream) -> bool {
        self.handle().is_some_and(|own| own.identity() == stream.identity())
    }

    /// Waits on the host until it is idle, and reports panics in its host functions if this crate has a handle to it.
    ///
    /// Driver call: `cuStreamSynchronize`, or `cuCtxSynchronize` for another thread's stream.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.handle().map_or_else(|| self.drain(), CudaStream::synchronize)
    }

    /// Waits on the host until it is idle.
    ///
    /// Driver call: `cuStreamSynchronize`, or `cuCtxSynchronize` for another thread's stream, which has no handle here; none if that
    /// thread has waited for it.
    pub(crate) fn drain(&self) -> Result<(), Error> {
        match self.handle() {
            Some(stream) => stream.drain(),
            None if self.is_idle() => self.stream.context().faulted(),
            None => self.stream.context().drain(),
        }
    }
}

/// How long somebody waits for what another thread is about to give to the driver. A call takes microseconds, but longer where the stream
/// is full, or the thread does not run.
const PATIENCE: Duration = Duration::from_secs(30);

/// Within that time it nearly always comes. If not, other threads may share the stream and never pause.
const SOON: Duration = Duration::from_millis(1);

/// No call is held back longer at a time, unless this is less than a 32nd of the time before it: calls may take long where the stream is
/// full. What does not come within it may be stuck, and the others must not be stuck with it: of the 30 seconds they lose little more
/// than one, however many wait.
const LONGEST_HOLD: Duration = Duration::from_millis(64);

/// What all that hold others back have in common: they do so at the same time.
static CLOCK: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The same for a listener of a call: it may be the call of this very thread.
const LISTENER: Duration = Duration::from_millis(50);

/// Streams to which new submissions are held back until this is dropped.
struct Hold {
    streams: Vec<CudaStream>,
    end: fn(&StreamQueue),
}

impl Hold {
    fn of(end: fn(&StreamQueue)) -> Self {
        Self { streams: Vec::new(), end }
    }

    /// These as well.
    fn add(&mut self, streams: Vec<CudaStream>, begin: fn(&StreamQueue)) {
        for stream in streams {
            if self.streams.iter().all(|held| held.identity() != stream.identity()) {
                begin(stream.queue());
                self.streams.push(stream);
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.streams.iter().for_each(|stream| (self.end)(stream.queue()));
    }
}

/// What holds submissions back, what ends that, and the streams that they are given to.
struct Others<'a>(fn(&StreamQueue), fn(&StreamQueue), &'a dyn Fn() -> Vec<CudaStream>);

/// A call that waits for what other threads are about to give to the driver.
pub(crate) struct Patience {
    call: &'static str,
    /// When it was first not so.
    begin: OnceCell<Instant>,
    /// Until what was waited for is not only so, but made use of.
    hold: RefCell<Option<Hold>>,
}

impl Patience {
    pub(crate) fn of(call: &'static str) -> Self {
        Self { call, begin: OnceCell::new(), hold: RefCell::default() }
    }

    /// Waits until `is_so`, which new submissions of `others` may keep from being seen.
    ///
    /// Those that were held back before stay so: each of two streams that never pause would make use of the time of the other.
    #[cold]
    fn until(&self, is_so: &dyn Fn() -> bool, others: &Others<'_>) -> Result<(), Error> {
        let Others(begin, end, streams) = *others;
        let mut are_held = false;
        let limit = if trace::is_listening() { LISTENER } else { PATIENCE };
        while !is_so() {
            // What is waited for may wait for the stream of this very function.
            host_call::refuse(self.call)?;
            let waited = self.begin.get_or_init(Instant::now).elapsed();
            if waited < SOON {
                thread::yield_now();
            } else if waited < limit {
                let is_time = is_time_to_hold(waited, CLOCK.elapsed());
                let held = self.hold.take().filter(|_| is_time);
                are_held &= held.is_some();
                let mut held = held.or_else(|| is_time.then(|| Hold::of(end)));
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

    /// Waits until all that was found on its way is submitted, for the launch of a graph, which is then to look again before this is
    /// dropped: new ones may be held back.
    pub(crate) fn until_submitted(&self, others: &StreamWaits) -> Result<(), Error> {
        let is_own = |stream| LAUNCH.get() == Some(stream) || GivenAway::any(|own| own == stream);
        if others.unsubmitted().any(|(earlier, _)| is_own(earlier.stream.identity())) {
            return Err(host_call::inside_of(self.call));
        }
        let streams = || others.unsubmitted().map(|(earlier, _)| earlier.stream.clone()).collect();
        self.until(&|| others.are_submitted(), &Others(StreamQueue::hold, StreamQueue::release, &streams))
    }
}

/// Whether others are held back after this time: for half a millisecond in the second one, for one in the third and the fourth, for two in
/// the next four, ... In between those go on that are held back on their way to what is waited for, and what takes long has a longer time
/// the next time, up to [`LONGEST_HOLD`]. Which part of these times it is says the clock.
fn is_time_to_hold(waited: Duration, clock: Duration) -> bool {
    let soons = waited.as_nanos() / SOON.as_nanos();
    soons.checked_ilog2().is_some_and(|log| {
        let time = SOON * (1 << log.min(30));
        let hold = (time / 2).min(LONGEST_HOLD.max(time / 32));
        clock.as_nanos() % time.as_nanos() < hold.as_nanos()
    })
}

/// Whether submissions of this thread may be held back: not in the middle of another one, for which whoever holds them back may wait, or
/// which this thread holds others back for, and so not by a listener of a call; and not in a host function, where they are refused, and
/// others wait for it.
pub(super) fn may_be_held_back() -> bool {
    !host_call::is_running()
        && !trace::is_listening()
        && !ORDERS.get()
        && LAUNCH.get().is_none()
        && !GivenAway::any(|_| true)
}

/// A launch of a graph that this thread is giving to a stream; over when this is dropped.
pub(crate) struct Launching(Option<usize>);

impl Launching {
    pub(crate) fn begin(stream: &CudaStream) -> Self {
        Self(LAUNCH.replace(Some(stream.identity())))
    }
}

impl Drop for Launching {
    fn drop(&mut self) {
        LAUNCH.set(self.0);
    }
}

/// A stream that other code is giving work to on this thread, and may do anything meanwhile; over when this is dropped.
pub(crate) struct GivenAway(usize);

impl GivenAway {
    pub(crate) fn begin(stream: &CudaStream) -> Self {
        Self::change(|own| own.push(stream.identity()));
        Self(stream.identity())
    }

    /// Whether this thread does so with one that is so.
    fn any(is_so: impl Fn(usize) -> bool) -> bool {
        FOREIGN.try_with(|own| own.borrow().iter().any(|stream| is_so(*stream))).unwrap_or(false)
    }

    /// At the end of the thread nobody knows: a launch of a graph that would wait for its own thread gives up later.
    fn change(change: impl FnOnce(&mut Vec<usize>)) {
        let _ = FOREIGN.try_with(|own| change(&mut own.borrow_mut()));
    }
}

impl Drop for GivenAway {
    fn drop(&mut self) {
        Self::change(|own| {
            if let Some(at) = own.iter().rposition(|stream| *stream == self.0) {
                own.remove(at);
            }
        });
    }
}

impl Queue for ThreadStream {
    type Error = Error;

    fn submissions(&self) -> &Submissions {
        &self.stream.queue().submissions
    }

    fn key(&self) -> u64 {
        self.stream.queue().key()
    }

    fn claim_key(&self) -> u64 {
        self.stream.claim_key()
    }

    fn is(&self, other: &Self) -> bool {
        let own = |queue: &Self| queue.own.as_ref().map(Arc::as_ptr);
        self.stream.identity() == other.stream.identity() && own(self) == own(other)
    }

    fn unborrowed(&self) -> &Submissions {
        &self.stream.queue().graphs
    }

    fn wait_until(&self, earlier: &Self, is_so: impl Fn() -> bool) -> Result<(), Error> {
        if is_so() {
            return Ok(());
        }
        let call = "cuStreamWaitEvent";
        // A listener in the middle of that very launch.
        if LAUNCH.get() == Some(earlier.stream.identity()) {
            return Err(host_call::inside_of(call));
        }
        let streams = || vec![earlier.stream.clone()];
        let others = Others(|q| q.graphs.hold(|_| ()), |q| q.graphs.release(), &streams);
        Patience::of(call).until(&is_so, &others)
    }

    fn wait_for(&self, earlier: &Self) -> Result<(), Error> {
        let _orders = Orders::begin();
        match earlier.handle() {
            Some(stream) => self.stream.after_in_turn(stream),
            None => earlier.drain(),
        }
    }

    fn has_seen_end_of(&self, announced: usize) -> bool {
        self.stream.has_seen_end_of(announced)
    }

    fn is_done(&self) -> bool {
        let _orders = Orders::begin();
        let Some(stream) = self.handle() else {
            // Nobody can ask another thread's stream; to wait for the whole context would make readers wait for each other.
            return self.is_idle() || !self.stream.is_unsettled();
        };
        // Nobody asked for this call: it must not break a capture of other code. An error tells nothing.
        outside_captures(stream.context(), || stream.is_done()).unwrap_or(false)
    }
}

#[cfg(test)]
#[path = "thread_tests.rs"]
mod held;

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::Any;

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
        let begin =
            |_: &StreamQueue| NOW_AND_EVER.iter().for_each(|count| _ = count.fetch_add(1, Ordering::Relaxed));
        let ctx = CudaContext::new(0)?;
        let (one, other) = (ctx.new_stream()?, ctx.new_stream()?);
        let mut hold = Hold::of(|_| _ = NOW_AND_EVER[0].fetch_sub(1, Ordering::Relaxed));
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
                GivenAway::change(|own| own.push(7));
                Box::new(GivenAway(7))
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
            GivenAway::change(|own| own.push(stream));
            GivenAway(stream)
        };
        let is_given = |stream| GivenAway::any(|own| own == stream);
        let (one, again, other) = (given(7), given(7), given(9));
        drop(one);
        assert!(is_given(7) && is_given(9));
        drop(other);
        assert!(is_given(7) && !is_given(9));
        drop(again);
        assert!(!is_given(7));
    }
}
