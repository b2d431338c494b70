//! Streams that are nothing but lists of work, and memory that they access.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::accesses::{Accesses, NO_KEY, QUEUES, Queue, owner};
use crate::submissions::Submissions;
use crate::waits::Waits;

/// How many pieces of work of each stream come before.
pub(crate) type Clock = Vec<usize>;

/// A stream that is nothing but a list of work.
pub(crate) struct Stream {
    pub(crate) number: usize,
    key: u64,
    submissions: Rc<[Submissions; 2]>,
    /// What the work comes after that it is given next; that of another handle of the same stream is the same.
    pub(crate) clock: Rc<RefCell<Clock>>,
    /// The numbers of the streams that it was made to wait for.
    waits: RefCell<Vec<usize>>,
    pub(crate) done: Cell<bool>,
    /// Whether it gets no more work.
    pub(crate) ended: Cell<bool>,
    /// How often somebody has asked whether it is done.
    pub(crate) asked: Cell<usize>,
    /// Whether a wait for it fails.
    pub(crate) broken: Cell<bool>,
    /// The host has seen the end of so many submissions.
    seen: Cell<usize>,
    /// What other threads do while somebody waits for it, once.
    pub(crate) meanwhile: RefCell<Option<Box<dyn FnOnce()>>>,
    /// What a program does when it ends.
    pub(crate) at_end: RefCell<Option<Box<dyn FnOnce()>>>,
    /// What happens while a handle to it is made, once: a list that hands its streams out does so while it is locked.
    pub(crate) at_clone: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.at_end.take().into_iter().for_each(|at_end| at_end());
    }
}

pub(crate) struct Lane(pub(crate) Rc<Stream>);

impl Clone for Lane {
    fn clone(&self) -> Self {
        self.0.at_clone.take().into_iter().for_each(|at_clone| at_clone());
        Self(self.0.clone())
    }
}

impl Queue for Lane {
    type Error = ();

    fn submissions(&self) -> &Submissions {
        &self.0.submissions[0]
    }

    fn unborrowed(&self) -> &Submissions {
        &self.0.submissions[1]
    }

    fn wait_until(&self, earlier: &Self, is_so: impl Fn() -> bool) -> Result<(), ()> {
        // What other threads do, until it is so; the wait has a limit.
        while !is_so() {
            let others = earlier.0.meanwhile.take().ok_or(())?;
            others();
        }
        Ok(())
    }

    fn key(&self) -> u64 {
        self.0.key
    }

    fn claim_key(&self) -> u64 {
        self.0.key
    }

    fn id(&self) -> usize {
        self.0.number
    }

    fn shares_stream(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0.clock, &other.0.clock)
    }

    fn wait_for(&self, earlier: &Self) -> Result<(), ()> {
        if earlier.0.broken.get() {
            return Err(());
        }
        if let Some(others) = earlier.0.meanwhile.take() {
            others();
        }
        let event = earlier.0.clock.borrow().clone();
        join(&mut self.0.clock.borrow_mut(), &event);
        self.0.waits.borrow_mut().push(earlier.0.number);
        Ok(())
    }

    fn has_seen_end_of(&self, announced: usize) -> bool {
        self.0.seen.get() >= announced
    }

    fn is_done(&self) -> bool {
        self.0.asked.set(self.0.asked.get() + 1);
        self.0.done.get()
    }

    fn has_ended(&self) -> bool {
        self.0.ended.get()
    }

    fn stand_in_for(&self, other: &Self) -> bool {
        join(&mut self.0.clock.borrow_mut(), &other.0.clock.borrow());
        self.submissions().announce();
        self.submissions().finish();
        true
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = *theirs.max(mine));
}

impl Lane {
    /// The host waits for what it was given so far.
    pub(crate) fn wait_on_the_host(&self) {
        self.0.seen.set(self.submissions().finished());
    }

    /// What it waited for since it was last asked.
    pub(crate) fn waited(&self) -> Vec<usize> {
        self.0.waits.take()
    }
}

/// Streams of owner 1, as many as have a bit each; the rest has none.
pub(crate) fn lanes(count: usize) -> Vec<Lane> {
    let key = |n: usize| if n < QUEUES as usize { owner(1) | 1 << n } else { NO_KEY };
    (0..count).map(|n| lane(n, key(n), count)).collect()
}

pub(crate) fn lane(number: usize, key: u64, count: usize) -> Lane {
    lane_with(number, key, count, Rc::default())
}

/// With these submissions, and those of them whose memory nobody has borrowed.
pub(crate) fn lane_with(number: usize, key: u64, count: usize, submissions: Rc<[Submissions; 2]>) -> Lane {
    handle(number, key, Rc::new(RefCell::new(vec![0; count])), submissions)
}

/// A handle of the stream that has this clock.
pub(crate) fn handle(
    number: usize,
    key: u64,
    clock: Rc<RefCell<Clock>>,
    submissions: Rc<[Submissions; 2]>,
) -> Lane {
    let (waits, done, ended) = Default::default();
    let (asked, broken, seen, meanwhile, at_end, at_clone) = Default::default();
    Lane(Rc::new(Stream {
        number,
        key,
        submissions,
        clock,
        waits,
        done,
        ended,
        asked,
        broken,
        seen,
        meanwhile,
        at_end,
        at_clone,
    }))
}

pub(crate) type Memory = Accesses<Lane>;

pub(crate) fn note(lane: &Lane, memory: &Memory, write: bool, waits: &mut Waits<Lane>) -> Result<(), ()> {
    match write {
        _ if memory.word(write) & lane.key() == lane.key() => Ok(()),
        true => memory.write(lane, waits),
        false => memory.read(lane, waits),
    }
}

pub(crate) fn begin(lane: &Lane, memory: &Memory, write: bool) {
    lane.submissions().announce();
    note(lane, memory, write, &mut Waits::default()).unwrap();
}

pub(crate) fn end(lane: &Lane) -> usize {
    let mut clock = lane.0.clock.borrow_mut();
    clock[lane.0.number] += 1;
    lane.submissions().finish();
    clock[lane.0.number]
}

/// Work from its beginning to its end; the streams it was made to wait for.
pub(crate) fn submit(lane: &Lane, memory: &Memory, write: bool) -> Vec<usize> {
    begin(lane, memory, write);
    end(lane);
    lane.waited()
}
