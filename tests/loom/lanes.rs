//! Streams for the models of `src/ordering`: lists of work.
//!
//! A stream of a model keeps, for each piece of work, the clock of all work that comes before it. Work that was given by a thread
//! after another thread's call had returned must come after the work of that call, if one of the two writes: the models give the
//! return of a call to the other thread through an atomic, and ask the clock.
//!
//! The host may wait for a stream. What is given to any stream once it has comes after that without a wait of streams.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use loom::thread;

use crate::accesses::{Accesses, NO_KEY, Queue, owner};
use crate::submissions::Submissions;
use crate::sync::Mutex;
use crate::waits::Waits;

/// Which work of each stream comes before: of stream i the first `0[i]` pieces.
pub(crate) type Clock = [usize; 4];

/// A stream, or another handle of it: work given to it runs in order.
pub(crate) struct Stream {
    /// The number of the handle.
    id: usize,
    /// That of the stream.
    pub(crate) number: usize,
    submissions: Submissions,
    unborrowed: Submissions,
    /// The clock of what it is given next.
    pub(crate) clock: Arc<Mutex<Clock>>,
    /// The clock of what was over when the host had last waited for it, and how many of its submissions the host has seen the end of.
    over: Mutex<Clock>,
    seen: AtomicUsize,
    /// How many waits for it were made.
    waits: AtomicUsize,
    /// A wait for it ends once this is set: the host function that it is in waits for somebody.
    released: Option<Gate>,
    key: Key,
    /// Whether it gets no more work.
    ended: AtomicBool,
    /// How many submissions it had when its own thread had last waited for it; [`usize::MAX`] before that.
    idle: AtomicUsize,
}

/// Where a stream has its bit from.
enum Key {
    /// It has it alone.
    Own,
    /// One bit for several streams, which one of them has at a time: where it comes from, and what this stream has.
    Shared(Arc<AtomicU64>, AtomicU64),
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Key::Shared(free, taken) = &self.key
            && taken.load(Ordering::Acquire) != NO_KEY
        {
            free.store(taken.load(Ordering::Acquire), Ordering::Release);
        }
    }
}

pub(crate) type Gate = std::sync::Arc<(loom::sync::Mutex<bool>, loom::sync::Condvar)>;

#[derive(Clone)]
pub(crate) struct Lane(pub(crate) Arc<Stream>);

impl Queue for Lane {
    type Error = ();

    fn submissions(&self) -> &Submissions {
        &self.0.submissions
    }

    fn unborrowed(&self) -> &Submissions {
        &self.0.unborrowed
    }

    fn wait_until(&self, _: &Self, is_so: impl Fn() -> bool) -> Result<(), ()> {
        until(is_so);
        Ok(())
    }

    fn key(&self) -> u64 {
        match &self.0.key {
            Key::Own => owner(1) | 1 << self.0.id,
            Key::Shared(_, taken) => taken.load(Ordering::Acquire),
        }
    }

    fn claim_key(&self) -> u64 {
        if let Key::Shared(free, taken) = &self.0.key
            && self.key() == NO_KEY
        {
            taken.store(free.swap(NO_KEY, Ordering::AcqRel), Ordering::Release);
        }
        self.key()
    }

    fn id(&self) -> usize {
        self.0.id
    }

    fn shares_stream(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }

    fn wait_for(&self, earlier: &Self) -> Result<(), ()> {
        if let Some(gate) = &earlier.0.released {
            let mut is_released = gate.0.lock().unwrap();
            while !*is_released {
                is_released = gate.1.wait(is_released).unwrap();
            }
        }
        let event = *earlier.0.clock.lock().unwrap();
        join(&mut self.0.clock.lock().unwrap(), event);
        earlier.0.waits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn has_seen_end_of(&self, announced: usize) -> bool {
        self.0.seen.load(Ordering::Acquire) >= announced
    }

    fn is_done(&self) -> bool {
        self.0.idle.load(Ordering::Acquire) == self.submissions().announced()
    }

    fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Acquire)
    }

    fn stand_in_for(&self, other: &Self) -> bool {
        if self.is_done() {
            return false;
        }
        let theirs = *other.0.clock.lock().unwrap();
        join(&mut self.0.clock.lock().unwrap(), theirs);
        self.submissions().announce();
        self.submissions().finish();
        true
    }
}

impl Lane {
    /// The host waits for what it was given so far, as the crate does: what was taken is counted before.
    pub(crate) fn wait_on_the_host(&self) {
        let taken = self.submissions().finished();
        let over = *self.0.clock.lock().unwrap();
        join(&mut self.0.over.lock().unwrap(), over);
        self.0.seen.fetch_max(taken, Ordering::Release);
    }

    /// Its thread, which alone gives it work, waits for all of it.
    pub(crate) fn wait_on_its_thread(&self) {
        self.0.idle.store(self.submissions().finished(), Ordering::Release);
    }

    /// It gets no more work.
    pub(crate) fn end(&self) {
        self.0.ended.store(true, Ordering::Release);
    }

    /// How many waits for it were made.
    pub(crate) fn waits(&self) -> usize {
        self.0.waits.load(Ordering::Relaxed)
    }
}

/// Other threads run meanwhile.
pub(crate) fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

pub(crate) fn join(clock: &mut Clock, other: Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = theirs.max(*mine));
}

pub(crate) fn stream(number: usize) -> Lane {
    stream_in(number, None)
}

pub(crate) fn stream_in(number: usize, released: Option<Gate>) -> Lane {
    stream_with(number, released, Key::Own)
}

/// Streams with these numbers that share one bit.
pub(crate) fn streams_with_one_bit<const N: usize>(numbers: [usize; N]) -> [Lane; N] {
    let free = Arc::new(AtomicU64::new(owner(1) | 1 << 5));
    numbers.map(|number| stream_with(number, None, Key::Shared(free.clone(), AtomicU64::new(NO_KEY))))
}

/// Another handle of a stream, with this number among all handles.
pub(crate) fn handle(id: usize, of: &Lane) -> Lane {
    handle_of(id, of.0.number, of.0.clock.clone(), None, Key::Own)
}

fn stream_with(number: usize, released: Option<Gate>, key: Key) -> Lane {
    handle_of(number, number, Arc::new(Mutex::new(Clock::default())), released, key)
}

fn handle_of(id: usize, number: usize, clock: Arc<Mutex<Clock>>, released: Option<Gate>, key: Key) -> Lane {
    let over = Mutex::new(Clock::default());
    let (seen, waits) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Lane(Arc::new(Stream {
        id,
        number,
        submissions: Submissions::default(),
        unborrowed: Submissions::default(),
        clock,
        over,
        seen,
        waits,
        released,
        key,
        ended: AtomicBool::new(false),
        idle: AtomicUsize::new(usize::MAX),
    }))
}

/// Memory that streams of the models access.
pub(crate) type Memory = Accesses<Lane>;

/// What a submission was: on which stream, and the clock of what came before it there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) stream: usize,
    pub(crate) at: usize,
    pub(crate) after: Clock,
}

impl Done {
    pub(crate) fn is_after(&self, earlier: &Self) -> bool {
        self.after[earlier.stream] >= earlier.at
    }
}

/// A submission as the crate makes it: announced, noted, given to the stream, finished.
pub(crate) fn submit(lane: &Lane, memory: &Memory, write: bool) -> Done {
    submit_all(lane, &[memory], write)
}

/// The same with several pieces of memory.
pub(crate) fn submit_all(lane: &Lane, memory: &[&Memory], write: bool) -> Done {
    submit_beside(lane, memory, write, None)
}

/// The same where the host waits for a stream: what is over when the work is given comes before it.
pub(crate) fn submit_beside(lane: &Lane, memory: &[&Memory], write: bool, awaited: Option<&Lane>) -> Done {
    lane.submissions().announce();
    submit_announced(lane, memory, write, awaited)
}

/// The same of what can be held back.
pub(crate) fn submit_in_turn(lane: &Lane, memory: &Memory, write: bool) -> Done {
    lane.submissions().announce_in_turn(|_| true);
    submit_announced(lane, &[memory], write, None)
}

fn submit_announced(lane: &Lane, memory: &[&Memory], write: bool, awaited: Option<&Lane>) -> Done {
    let (key, waits) = (lane.key(), &mut Waits::default());
    for memory in memory {
        if memory.word(write) & key != key {
            if write { memory.write(lane, waits) } else { memory.read(lane, waits) }.unwrap();
        }
    }
    let over = awaited.map(|awaited| *awaited.0.over.lock().unwrap());
    let done = give(lane, over.unwrap_or_default());
    lane.submissions().finish();
    done
}

/// The stream is given a piece of work, which comes after all that it comes after, and this.
pub(crate) fn give(lane: &Lane, over: Clock) -> Done {
    let mut clock = lane.0.clock.lock().unwrap();
    join(&mut clock, over);
    let after = *clock;
    clock[lane.0.number] += 1;
    Done { stream: lane.0.number, at: clock[lane.0.number], after }
}

/// Memory of this owner, and the submission that makes it.
pub(crate) fn make(lane: &Lane, of: u64) -> (Arc<Memory>, Done) {
    lane.submissions().announce();
    let made = give(lane, Clock::default());
    let memory = Arc::new(Memory::made_by(lane.clone(), of));
    lane.submissions().finish();
    (memory, made)
}

/// A submission that was announced; finished when this is dropped.
pub(crate) struct Announced(pub(crate) Lane);

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.submissions().finish();
    }
}

/// A launch of a graph that uses several pieces of memory, which nobody has borrowed for it.
pub(crate) fn launch(lane: &Lane, memory: &[&Memory], write: bool) -> Done {
    let note = || {
        lane.submissions().announce();
        let announced = Announced(lane.clone());
        let (key, mut waits) = (lane.key(), Waits::unborrowed());
        for memory in memory {
            if memory.word(write) & key != key {
                if write { memory.write(lane, &mut waits) } else { memory.read(lane, &mut waits) }?;
            }
        }
        Ok((announced, waits))
    };
    let wait = |others: &Waits<_>| {
        until(|| others.are_submitted());
        Ok(())
    };
    let (unborrowed, announced) =
        crate::unborrowed::announce(|| lane.0.submissions.wait_turn(), &lane.0.unborrowed, note, wait)
            .unwrap();
    let done = give(lane, Clock::default());
    drop((announced, unborrowed));
    done
}

pub(crate) fn model(switches: usize, program: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 20_000;
    builder.check(program);
}

/// What another thread did, once it has.
pub(crate) struct Told(AtomicBool, Mutex<Option<Done>>);

impl Told {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false), Mutex::new(None)))
    }

    pub(crate) fn tell(&self, done: Done) {
        *self.1.lock().unwrap() = Some(done);
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn ask(&self) -> Option<Done> {
        if self.0.load(Ordering::Acquire) { *self.1.lock().unwrap() } else { None }
    }
}
