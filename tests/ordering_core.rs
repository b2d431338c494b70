//! The core of `src/ordering` alone, on one thread: what is ordered, what waits for what, and how long its lists become. It includes
//! the files, as `tests/loom` does, which runs them with threads. Runs under Miri (`cargo miri test --test ordering_core`).

#![allow(clippy::unwrap_used)]

#[path = "../src/ordering/accesses.rs"]
#[allow(dead_code, unreachable_pub)] // This program uses a part of it.
mod accesses;
#[path = "../src/ordering/capture_turns.rs"]
#[allow(dead_code, unreachable_pub)]
mod capture_turns;
#[path = "ordering_core/captures.rs"]
mod captures;
#[path = "../src/ordering/submissions.rs"]
#[allow(dead_code, unreachable_pub)]
mod submissions;
#[path = "../src/ordering/sync.rs"]
mod sync;
#[path = "../src/ordering/unborrowed.rs"]
mod unborrowed;
#[path = "../src/ordering/waits.rs"]
mod waits;

use accesses::{Accesses, NO_KEY, OWNERS, QUEUES, Queue, owner};
use std::cell::{Cell, RefCell};
use std::process;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use submissions::Submissions;
use waits::Waits;

/// How many pieces of work of each stream come before.
type Clock = Vec<usize>;

/// A stream that is nothing but a list of work.
struct Stream {
    number: usize,
    key: u64,
    submissions: Rc<[Submissions; 2]>,
    clock: RefCell<Clock>,
    /// The numbers of the streams that it was made to wait for.
    waits: RefCell<Vec<usize>>,
    done: Cell<bool>,
    /// How often somebody has asked whether it is done.
    asked: Cell<usize>,
    /// Whether a wait for it fails.
    broken: Cell<bool>,
    /// The host has seen the end of so many submissions.
    seen: Cell<usize>,
    /// What other threads do while somebody waits for it, once.
    meanwhile: RefCell<Option<Box<dyn FnOnce()>>>,
    /// What a program does when it ends.
    at_end: RefCell<Option<Box<dyn FnOnce()>>>,
    /// What happens while a handle to it is made, once: a list that hands its streams out does so while it is locked.
    at_clone: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.at_end.take().into_iter().for_each(|at_end| at_end());
    }
}

struct Lane(Rc<Stream>);

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

    fn is(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }

    fn wait_for(&self, earlier: &Self) -> Result<(), ()> {
        if earlier.0.broken.get() {
            return Err(());
        }
        if let Some(others) = earlier.0.meanwhile.take() {
            others();
        }
        let event = earlier.0.clock.borrow().clone();
        self.0.clock.borrow_mut().iter_mut().zip(event).for_each(|(mine, theirs)| *mine = theirs.max(*mine));
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
}

impl Lane {
    /// The host waits for what it was given so far.
    fn wait_on_the_host(&self) {
        self.0.seen.set(self.submissions().finished());
    }

    /// What it waited for since it was last asked.
    fn waited(&self) -> Vec<usize> {
        self.0.waits.take()
    }
}

/// Streams of owner 1, as many as have a bit each; the rest has none.
fn lanes(count: usize) -> Vec<Lane> {
    let key = |n: usize| if n < QUEUES as usize { owner(1) | 1 << n } else { NO_KEY };
    (0..count).map(|n| lane(n, key(n), count)).collect()
}

fn lane(number: usize, key: u64, count: usize) -> Lane {
    lane_with(number, key, count, Rc::default())
}

/// With these submissions, and those of them whose memory nobody has borrowed.
fn lane_with(number: usize, key: u64, count: usize, submissions: Rc<[Submissions; 2]>) -> Lane {
    let clock = RefCell::new(vec![0; count]);
    let (waits, done) = Default::default();
    let (asked, broken, seen, meanwhile, at_end, at_clone) = Default::default();
    Lane(Rc::new(Stream {
        number,
        key,
        submissions,
        clock,
        waits,
        done,
        asked,
        broken,
        seen,
        meanwhile,
        at_end,
        at_clone,
    }))
}

type Memory = Accesses<Lane>;

/// Work that is announced and has noted its access, but is not given to its stream yet.
struct Open {
    lane: Lane,
    write: bool,
    /// How much had been given to streams before it began.
    seen: usize,
}

/// Work that was given to a stream.
struct Given {
    stream: usize,
    at: usize,
    write: bool,
}

fn note(lane: &Lane, memory: &Memory, write: bool, waits: &mut Waits<Lane>) -> Result<(), ()> {
    match write {
        _ if memory.word(write) & lane.key() == lane.key() => Ok(()),
        true => memory.write(lane, waits),
        false => memory.read(lane, waits),
    }
}

fn begin(lane: &Lane, memory: &Memory, write: bool) {
    lane.submissions().announce();
    note(lane, memory, write, &mut Waits::default()).unwrap();
}

fn end(lane: &Lane) -> usize {
    let mut clock = lane.0.clock.borrow_mut();
    clock[lane.0.number] += 1;
    lane.submissions().finish();
    clock[lane.0.number]
}

/// Work from its beginning to its end; the streams it was made to wait for.
fn submit(lane: &Lane, memory: &Memory, write: bool) -> Vec<usize> {
    begin(lane, memory, write);
    end(lane);
    lane.waited()
}

/// What a launch of a graph looks for: whether what it comes after was given to its stream when it waited for that.
#[test]
fn a_submission_knows_whether_what_it_comes_after_was_given_to_its_stream() {
    let (lanes, memory, other) = (lanes(2), Memory::new(owner(1)), Memory::new(owner(1)));
    submit(&lanes[0], &other, true);
    lanes[1].submissions().announce();
    begin(&lanes[0], &memory, true);
    let mut waits = Waits::default();
    note(&lanes[1], &memory, false, &mut waits).unwrap();
    assert!(waits.unsubmitted().next().is_some() && !waits.are_submitted());
    end(&lanes[0]);
    // That is not forgotten where other memory is looked at.
    note(&lanes[1], &other, true, &mut waits).unwrap();
    assert!(waits.unsubmitted().next().is_some() && waits.are_submitted());
    end(&lanes[1]);
    lanes[1].waited();

    submit(&lanes[0], &memory, true);
    lanes[1].submissions().announce();
    let mut waits = Waits::default();
    note(&lanes[1], &memory, false, &mut waits).unwrap();
    assert!(waits.unsubmitted().next().is_none() && waits.are_submitted());
    assert_eq!(lanes[1].waited(), [0]);
}

#[test]
fn an_owner_is_told_from_every_other() {
    for a in 0..OWNERS {
        assert_eq!(owner(a) & ((1 << QUEUES) - 1), 0, "the bits of queues are theirs");
        for b in 0..OWNERS {
            assert_eq!(owner(a) & owner(b) == owner(b), a == b, "{a} {b}");
        }
    }
}

#[test]
fn a_stream_without_a_bit_of_this_memory_asks_the_list() {
    let lanes = [lane(0, owner(1) | 1, 3), lane(1, owner(2) | 1, 3), lane(2, NO_KEY, 3)];
    for number in [owner(1), 0] {
        let memory = Memory::new(number);
        for write in [true, false] {
            lanes.iter().for_each(|lane| drop(submit(lane, &memory, write)));
            for lane in &lanes {
                submit(lane, &memory, write);
                let goes_ahead = |written| memory.word(written) & lane.key() == lane.key();
                let has_bit = lane.key() == owner(1) | 1 && number == owner(1);
                assert_eq!((goes_ahead(true), goes_ahead(false)), (write && has_bit, has_bit));
            }
        }
    }
}

/// Memory is freed on that stream, without waiting.
#[test]
fn the_only_stream_of_memory_is_known_until_there_is_another_one() {
    for write in [false, true] {
        let (lanes, memory) = (lanes(2), Memory::new(owner(1)));
        assert!(memory.only().is_none());
        submit(&lanes[0], &memory, write);
        submit(&lanes[0], &memory, !write);
        assert!(memory.only().is_some_and(|only| only.is(&lanes[0])));
        submit(&lanes[1], &memory, false);
        assert!(memory.only().is_none());
    }
}

/// Random work on streams of two owners, some without a bit, much of it under way at the same time: whatever was given to a stream
/// before other work began comes before that, if one of the two writes. And where one submission follows the other, no reader waits for what it comes after anyway.
#[test]
fn work_comes_after_what_it_must_and_waits_for_nothing_else() {
    let rounds = if cfg!(miri) { 10 } else { 2000 };
    let mut seed = 1u32;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize % n
    };
    for round in 0..rounds {
        let alone = round % 2 == 0;
        let keys = [owner(1) | 1, owner(1) | 2, owner(1) | 4, owner(2) | 1, NO_KEY];
        let lanes: Vec<Lane> = keys.iter().enumerate().map(|(n, key)| lane(n, *key, keys.len())).collect();
        let number = [owner(1), owner(1), owner(2), 0][random(4)];
        let mut memory = Memory::new(number);
        let (mut open, mut given) = (Vec::<Open>::new(), Vec::<Given>::new());
        let mut settled = 0;
        for _ in 0..40 {
            match random(20) {
                0 if open.is_empty() => {
                    let pending = memory.pending();
                    assert_eq!(pending.named().count(), memory.queues().len());
                    // What is given while the host waits is none of what it waited for.
                    let (late, before) = (&lanes[random(3)], given.len());
                    if !alone && random(2) == 0 {
                        begin(late, &memory, false);
                        given.push(Given { stream: late.0.number, at: end(late), write: false });
                        late.waited();
                    }
                    memory.settle(&pending);
                    settled = before;
                }
                1 if open.is_empty() => {
                    memory.forget();
                    assert!(memory.queues().is_empty());
                    settled = given.len();
                }
                2 if open.is_empty() => {
                    let next = memory.take();
                    assert!(memory.queues().is_empty() && memory.word(true) == memory.word(false));
                    memory = next;
                }
                3..10 if !open.is_empty() => {
                    let Open { lane, write, seen } = open.swap_remove(random(open.len()));
                    let at = end(&lane);
                    let clock = lane.0.clock.borrow();
                    for earlier in
                        given.iter().take(seen).skip(settled).filter(|earlier| earlier.write || write)
                    {
                        assert!(clock[earlier.stream] >= earlier.at, "round {round}");
                    }
                    given.push(Given { stream: lane.0.number, at, write });
                }
                _ if alone && !open.is_empty() => {}
                _ => {
                    let (lane, write) = (lanes[random(lanes.len())].clone(), random(3) == 0);
                    let before = lane.0.clock.borrow().clone();
                    begin(&lane, &memory, write);
                    for earlier in lane.waited() {
                        let news = |g: &Given| g.stream == earlier && g.at > before[earlier] && g.write;
                        let has_bit = lane.key() != NO_KEY && lane.key() & number == number && number != 0;
                        assert!(write || !alone || !has_bit || given.iter().any(news), "round {round}");
                    }
                    open.push(Open { lane, write, seen: given.len() });
                }
            }
        }
    }
}

#[test]
fn what_the_host_has_seen_the_end_of_is_waited_for_no_more() {
    let (lanes, memory) = (lanes(3), Memory::new(owner(1)));
    submit(&lanes[0], &memory, true);
    lanes[0].wait_on_the_host();
    assert_eq!(submit(&lanes[1], &memory, true), []);
    // Given since then, or to another stream.
    assert_eq!(submit(&lanes[0], &memory, false), [1]);
    let mut waited = submit(&lanes[2], &memory, true);
    waited.sort_unstable();
    assert_eq!(waited, [0, 1]);
    // Under way while the host waits: it may be given to the stream after that.
    begin(&lanes[2], &memory, true);
    lanes[2].wait_on_the_host();
    end(&lanes[2]);
    assert_eq!(submit(&lanes[1], &memory, false), [2]);
    // A reader, which goes ahead from then on.
    lanes[2].wait_on_the_host();
    assert_eq!(submit(&lanes[0], &memory, false), []);
    assert_eq!(memory.word(false) & lanes[0].key(), lanes[0].key());
}

#[test]
fn a_wait_that_fails_is_told_and_nobody_is_forgotten() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(4));
    lanes[..3].iter().for_each(|lane| drop(submit(lane, &memory, false)));
    lanes[1].0.broken.set(true);
    assert!(note(&lanes[3], &memory, true, &mut Waits::default()).is_err());
    lanes[1].0.broken.set(false);
    lanes[3].waited();
    assert!(memory.queues().len() >= 3);
    let waited = submit(&lanes[3], &memory, true);
    assert!(waited.contains(&1) && waited.contains(&2), "{waited:?}");
    assert_eq!(memory.writers().iter().map(|lane| lane.0.number).collect::<Vec<_>>(), [3]);
}

#[test]
fn one_wait_serves_all_memory_of_a_submission() {
    let (one, two, lanes) = (Memory::new(owner(1)), Memory::new(owner(1)), lanes(2));
    for memory in [&one, &two] {
        submit(&lanes[0], memory, true);
    }
    let waits = &mut Waits::default();
    lanes[1].submissions().announce();
    for memory in [&one, &two] {
        note(&lanes[1], memory, true, waits).unwrap();
    }
    end(&lanes[1]);
    assert_eq!(lanes[1].waited(), [0]);
    assert_eq!((one.queues().len(), two.queues().len()), (1, 1), "nobody waits for the first stream again");
}

/// A wait that came too early for one piece of memory is made again for another.
#[test]
fn a_wait_is_made_again_while_work_is_under_way() {
    let (one, two, lanes) = (Memory::new(owner(1)), Memory::new(owner(1)), lanes(2));
    for memory in [&one, &two] {
        submit(&lanes[0], memory, false);
    }
    begin(&lanes[0], &one, false);
    let waits = &mut Waits::default();
    lanes[1].submissions().announce();
    for memory in [&one, &two] {
        note(&lanes[1], memory, true, waits).unwrap();
    }
    end(&lanes[1]);
    end(&lanes[0]);
    assert_eq!(lanes[1].waited(), [0, 0]);
}

/// A submission that accesses two pieces of memory, one after the other.
struct Both {
    lane: Lane,
    waits: Waits<Lane>,
    writes: [bool; 2],
    first: usize,
    /// How much had been given to streams before it noted each access.
    seen: Vec<usize>,
}

/// What a stream that waits for others takes from the list, whoever waited for that stream before must still come after: random work
/// on two pieces of memory, with the notes of one submission between those of others.
#[test]
fn submissions_of_two_pieces_of_memory_come_after_what_each_must() {
    let rounds = if cfg!(miri) { 10 } else { 3000 };
    let mut seed = 7u32;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize % n
    };
    for round in 0..rounds {
        let keys = [owner(1) | 1, owner(1) | 2, owner(1) | 4, NO_KEY];
        let lanes: Vec<Lane> = keys.iter().enumerate().map(|(n, key)| lane(n, *key, keys.len())).collect();
        let memory = [Memory::new(owner(1)), Memory::new(owner(1))];
        let (mut open, mut given) = (Vec::<Both>::new(), Vec::<(usize, usize, [bool; 2])>::new());
        for _ in 0..60 {
            if open.is_empty() || random(3) == 0 {
                let (lane, writes) = (lanes[random(4)].clone(), [random(3) == 0, random(3) == 0]);
                lane.submissions().announce();
                open.push(Both { lane, waits: Waits::default(), writes, first: random(2), seen: Vec::new() });
                continue;
            }
            let at = random(open.len());
            let both = &mut open[at];
            if both.seen.len() < 2 {
                let which = (both.first + both.seen.len()) % 2;
                note(&both.lane, &memory[which], both.writes[which], &mut both.waits).unwrap();
                both.seen.push(given.len());
                continue;
            }
            let both = open.swap_remove(at);
            let number = end(&both.lane);
            let clock = both.lane.0.clock.borrow();
            for (turn, seen) in both.seen.iter().enumerate() {
                let which = (both.first + turn) % 2;
                for (stream, at, writes) in &given[..*seen] {
                    let apart = !writes[which] && !both.writes[which];
                    assert!(apart || clock[*stream] >= *at, "round {round}");
                }
            }
            given.push((both.lane.0.number, number, both.writes));
        }
    }
}

#[test]
fn streams_that_have_bits_are_not_asked_whether_they_are_done() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(QUEUES as usize));
    for lane in lanes.iter().chain(&lanes) {
        lane.0.done.set(true);
        assert_eq!(submit(lane, &memory, false), []);
    }
    assert!(lanes.iter().all(|lane| lane.0.asked.get() == 0));
    assert_eq!(memory.queues().len(), lanes.len());
}

#[test]
fn readers_that_are_done_are_struck_off_and_the_others_are_not() {
    // Miri takes long for the clocks of many.
    let count = if cfg!(miri) { 200 } else { 1000 };
    let (memory, lanes) = (Memory::new(owner(1)), lanes(count));
    let busy = |number: usize| number.is_multiple_of(100);
    for lane in &lanes {
        submit(lane, &memory, false);
        lane.0.done.set(!busy(lane.0.number));
        assert!(memory.queues().len() < 150);
    }
    let with_bits = &lanes[..QUEUES as usize];
    let goes_ahead = |lane: &Lane| memory.word(false) & lane.key() == lane.key();
    assert!(with_bits.iter().all(|lane| goes_ahead(lane) == busy(lane.0.number)));
    let writer = &lanes[1];
    let waited = submit(writer, &memory, true);
    assert!((0..count).filter(|number| busy(*number)).all(|number| waited.contains(&number)));
    assert!(with_bits.iter().all(|lane| goes_ahead(lane) == lane.is(writer)));
}

/// Who is struck off may have an announced submission that has seen its bit: then it stays.
#[test]
fn a_reader_under_way_is_not_struck_off() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(100));
    submit(&lanes[0], &memory, false);
    begin(&lanes[0], &memory, false);
    for lane in &lanes {
        lane.0.done.set(true);
    }
    lanes[1..].iter().for_each(|lane| drop(submit(lane, &memory, false)));
    assert!(memory.queues().iter().any(|queue| queue.is(&lanes[0])));
    end(&lanes[0]);
    assert!(submit(&lanes[1], &memory, true).contains(&0));
    assert_ne!(memory.word(false) & lanes[0].key(), lanes[0].key());
}

#[test]
fn a_bit_that_was_lost_during_a_wait_is_lost_again_with_all_that_it_allowed() {
    for write in [false, true] {
        let (memory, lanes) = (Rc::new(Memory::new(owner(1))), lanes(4));
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| &lanes[n]);
        submit(a, &memory, true);
        // While `b` waits for `a`, another stream writes, and the host waits for that one.
        *a.0.meanwhile.borrow_mut() = Some(Box::new({
            let (memory, c) = (memory.clone(), c.clone());
            move || {
                submit(&c, &memory, true);
                memory.settle(&memory.pending());
            }
        }));
        submit(b, &memory, write);
        assert_eq!(memory.word(write) & b.key(), b.key());
        // Goes ahead by its bit, and is not given yet when `d` comes.
        begin(b, &memory, write);
        submit(d, &memory, true);
        end(b);
        assert!(submit(c, &memory, true).contains(&1), "{write}");
    }
}

#[test]
fn whoever_writes_during_a_wait_is_waited_for_by_the_next() {
    for write in [false, true] {
        let (memory, lanes) = (Rc::new(Memory::new(owner(1))), lanes(4));
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| &lanes[n]);
        submit(a, &memory, true);
        *a.0.meanwhile.borrow_mut() = Some(Box::new({
            let (memory, c) = (memory.clone(), c.clone());
            move || drop(submit(&c, &memory, true))
        }));
        submit(b, &memory, write);
        assert_ne!(memory.word(write) & b.key(), b.key(), "it has no bit: `c` has written");
        assert_eq!(submit(b, &memory, write), [2]);
        let waited = submit(d, &memory, true);
        assert!(waited.contains(&1) && (write || waited.contains(&2)), "{waited:?}");
    }
}

#[test]
fn whoever_is_struck_off_ends_when_the_list_is_free() {
    let ways: [fn(&Memory, &[Lane], Lane); 4] = [
        |memory, lanes, seen| {
            seen.wait_on_the_host();
            drop(seen);
            submit(&lanes[1], memory, true);
        },
        |memory, lanes, waited_for| {
            drop(waited_for);
            submit(&lanes[1], memory, true);
        },
        |memory, lanes, done| {
            done.0.done.set(true);
            drop(done);
            lanes.iter().for_each(|lane| drop(submit(lane, memory, false)));
        },
        |memory, _, forgotten| {
            drop(forgotten);
            memory.forget();
        },
    ];
    for way in ways {
        let (memory, mut lanes) = (Rc::new(Memory::new(owner(1))), lanes(100));
        let last = lanes.remove(0);
        let ended = Rc::new(Cell::new(false));
        *last.0.at_end.borrow_mut() = Some(Box::new({
            let (memory, ended) = (memory.clone(), ended.clone());
            // A lock that this thread had would never be free.
            move || {
                memory.queues();
                ended.set(true);
            }
        }));
        submit(&last, &memory, false);
        way(&memory, &lanes, last);
        assert!(ended.get());
    }
}

#[test]
fn a_long_list_is_seldom_searched() {
    let count = if cfg!(miri) { 100 } else { 1000 };
    let (memory, lanes) = (Memory::new(owner(1)), lanes(count));
    lanes.iter().for_each(|lane| drop(submit(lane, &memory, false)));
    assert_eq!(memory.queues().len(), count, "all are busy");
    let asked: usize = lanes.iter().map(|lane| lane.0.asked.get()).sum();
    assert!((64..5 * count / 2).contains(&asked), "{asked}");
}

#[test]
fn submissions_that_overlap_are_known_to_have_finished_when_all_have() {
    let submissions = Submissions::default();
    assert_eq!((submissions.announce(), submissions.finished()), (0, 0));
    assert!(!submissions.have_finished(1));
    submissions.finish();
    assert_eq!((submissions.announced(), submissions.finished()), (1, 1));
    assert!(submissions.have_finished(1));
    assert_eq!(submissions.announce(), 1);
    assert_eq!(submissions.finished(), 1, "one after the other: the count tells");
    assert!(submissions.have_finished(1));
    assert_eq!(submissions.announce(), 2);
    submissions.finish();
    assert_eq!(submissions.finished(), 0, "which of the two?");
    assert!(!submissions.have_finished(2));
    submissions.finish();
    assert_eq!(submissions.finished(), 3);
    assert!(submissions.have_finished(2) && submissions.have_finished(3));
}

/// A launch that another thread does not finish is not waited for for ever, and nothing is submitted before it.
#[test]
fn who_waits_too_long_for_a_launch_is_told() {
    let lanes = lanes(3);
    let (a, b, c) = (&lanes[0], &lanes[1], &lanes[2]);
    let memory = Memory::new(owner(1));
    a.unborrowed().announce();
    a.submissions().announce();
    memory.write(a, &mut Waits::unborrowed()).unwrap();
    b.submissions().announce();
    assert_eq!(
        memory.write(b, &mut Waits::default()),
        Err(()),
        "the launch is on its way, and nothing ends it"
    );
    b.submissions().finish();
    // Not what launches something: it withdraws, and waits for nothing before that.
    let note = || {
        c.submissions().announce();
        let mut waits = Waits::unborrowed();
        memory.write(c, &mut waits).unwrap();
        c.submissions().finish();
        Ok(((), waits))
    };
    let launched = unborrowed::announce(
        || (),
        c.unborrowed(),
        note,
        |others| {
            let all = c.unborrowed();
            assert!(!others.are_submitted() && all.have_finished(all.announced()));
            Err(())
        },
    );
    assert!(launched.is_err() && !c.waited().contains(&0));
    // Another thread finishes it while somebody waits.
    let launch = a.clone();
    let end = move || {
        launch.submissions().finish();
        launch.unborrowed().finish();
    };
    a.0.meanwhile.replace(Some(Box::new(end)));
    b.submissions().announce();
    memory.write(b, &mut Waits::default()).unwrap();
    assert!(b.waited().contains(&0));
}

/// What means another queue on each thread: the submissions of all of them are counted together, also one's own.
#[test]
fn a_launch_does_not_wait_for_itself() {
    let both = Rc::<[Submissions; 2]>::default();
    let [a, b] = [0, 1].map(|n| lane_with(n, owner(1) | 1 << n, 3, both.clone()));
    let c = lane(2, owner(1) | 1 << 2, 3);
    let memory = Memory::new(owner(1));
    let launch = |lane: &Lane| {
        let note = || {
            lane.submissions().announce();
            let mut waits = Waits::unborrowed();
            let noted = memory.write(lane, &mut waits);
            lane.submissions().finish();
            noted.map(|()| ((), waits))
        };
        let wait = |others: &Waits<_>| if others.are_submitted() { Ok(()) } else { Err(()) };
        unborrowed::announce(|| (), lane.unborrowed(), note, wait).map(|_| lane.waited())
    };
    // Threads have shared it before: the counts tell less.
    both[0].announce();
    both[0].announce();
    both[0].finish();
    both[0].finish();
    assert_eq!(launch(&a).unwrap(), []);
    assert_eq!(launch(&b).unwrap(), [0]);
    assert!(launch(&c).unwrap().contains(&1));
    a.submissions().announce();
    assert!(launch(&c).is_ok(), "the other thread's is on its way, to memory that this one has now");
    memory.write(&b, &mut Waits::default()).unwrap();
    assert!(launch(&c).is_err(), "one of both threads is on its way, and which is not known");
    assert!(launch(&a).is_err(), "the same where it is counted with one's own");
}

/// While somebody holds new ones back, each is withdrawn, finishes, and is announced again later.
#[test]
fn a_submission_that_is_held_back_is_announced_again() {
    let (all, withdrawn) = (Submissions::default(), Cell::new(None));
    let withdraw = |number| {
        withdrawn.set(Some(number));
        true
    };
    let announce = || all.announce_in_turn(withdraw);
    let while_held = |announce: &dyn Fn() -> usize| {
        let is_over = AtomicBool::new(false);
        all.hold(|_| ());
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                is_over.store(true, Ordering::SeqCst);
                all.release();
            });
            let number = announce();
            assert!(is_over.load(Ordering::SeqCst), "it was not held back");
            number
        })
    };
    assert_eq!(announce(), 0);
    assert_eq!((while_held(&announce), withdrawn.take()), (3, Some(2)));
    assert!(!all.have_finished(1));
    all.finish();
    assert!(!all.have_finished(1), "it is not known which of the two has finished");
    all.finish();
    assert!(all.have_finished(4));
    // Also one that was announced by a number, if somebody holds.
    assert_eq!((all.announce(), all.in_turn(4, withdraw), withdrawn.take()), (4, 4, None));
    assert_eq!((while_held(&|| all.in_turn(4, withdraw)), withdrawn.take()), (6, Some(4)));
    all.finish();
    // Nothing is on its way, and somebody holds: all before have finished, and so has what holds, for whoever asks.
    all.hold(|number| {
        assert_eq!(number, 7);
        // Who has waited marks the last one of those as done, which is not to be written over.
        assert!(!all.have_finished(8) && all.finished() < 8, "it is noted first");
    });
    assert!(all.have_finished(8) && all.finished() == 8);
    all.release();
    assert_eq!((announce(), withdrawn.take()), (8, None));
    assert!(all.have_finished(8) && !all.have_finished(9));
}

/// Who holds others back may wait for a submission that this one is a part of.
#[test]
fn a_submission_inside_of_another_one_is_not_held_back() {
    let all = Submissions::default();
    assert_eq!(all.announce(), 0);
    all.hold(|_| ());
    assert_eq!((all.announce_in_turn(|_| false), all.in_turn(2, |_| false)), (2, 2));
    all.finish();
    all.finish();
    assert!(all.have_finished(3), "all but who holds back");
}

/// Who holds others back may wait for something else by then, and be stuck.
#[test]
fn who_holds_others_back_for_too_long_holds_no_more_of_them_back() {
    let (all, withdrawn) = (Submissions::default(), Cell::new(0));
    let is_held_back = || {
        let before = withdrawn.get();
        all.announce_in_turn(|_| {
            withdrawn.set(before + 1);
            true
        });
        all.finish();
        withdrawn.get() > before
    };
    all.hold(|_| ());
    assert_eq!([is_held_back(), is_held_back(), is_held_back()], [true, false, false]);
    // Not by who comes meanwhile, either.
    all.hold(|_| ());
    all.release();
    assert!(!is_held_back());
    all.release();
    all.hold(|_| ());
    assert!(is_held_back(), "another time");
    all.release();
    assert!(all.have_finished(all.announced()));
}

/// A launch that is held back keeps nobody waiting who must come after it.
#[test]
fn a_launch_is_held_back_before_it_is_announced() {
    let c = &lanes(1)[0];
    let note = || Ok(((), Waits::<Lane>::unborrowed()));
    let turn = || assert_eq!(c.unborrowed().announced(), 0, "it is announced");
    unborrowed::announce(turn, c.unborrowed(), note, |_| Ok(())).map(drop).unwrap();
    assert_eq!(c.unborrowed().announced(), 1);
}

/// What has finished is who held others back, and not what was on its way.
#[test]
fn who_holds_others_back_is_not_one_of_them() {
    let all = Submissions::default();
    assert_eq!(all.announce(), 0);
    all.hold(|number| assert_eq!(number, 1));
    assert!(!all.have_finished(1));
    all.release();
    assert!(!all.have_finished(1) && all.finished() == 0);
    all.finish();
    assert!(all.have_finished(2) && all.finished() == 2);
}

/// What is announced besides another one is no overlap, and none of it counts before the other one.
#[test]
fn what_is_announced_besides_another_one_finishes_with_it() {
    let all = Submissions::default();
    assert_eq!((all.announce(), all.announce_parts(3)), (0, 1));
    assert!(!all.have_finished(1) && all.finished() == 0);
    all.finish();
    assert!(all.have_finished(1) && !all.have_finished(2));
    all.finish_all(3);
    assert_eq!((all.finished(), all.announce()), (4, 4));
    assert!(all.have_finished(4) && !all.have_finished(5), "the counts are conclusive");
}

/// A moment at which all had finished is remembered.
#[test]
fn what_has_finished_once_has_for_ever() {
    let submissions = Submissions::default();
    let two = || (0..2).for_each(|_| _ = submissions.announce());
    two();
    assert!(!submissions.have_finished(2));
    (0..2).for_each(|_| submissions.finish());
    assert!(submissions.have_finished(2));
    two();
    assert!(submissions.have_finished(2) && !submissions.have_finished(3));
    assert_eq!(submissions.finished(), 2);
    submissions.finish();
    assert!(!submissions.have_finished(3), "which of the two is not known");
}

/// Whoever has the list locked, here this very thread: one that wanted it for a look at the words would wait for ever.
#[test]
fn a_look_at_the_words_needs_no_list() {
    let (ended, is_over) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        if is_over.recv_timeout(Duration::from_secs(20)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("a look at the words waits for the list");
            process::abort();
        }
    });
    let (lanes, memory) = (lanes(2), Rc::new(Memory::new(owner(1))));
    let looks = |warm: [bool; 2]| {
        let (lane, looked, at) = (&lanes[0], Rc::new(Cell::new(None)), memory.clone());
        let (key, saw) = (lane.key(), looked.clone());
        *lane.0.at_clone.borrow_mut() =
            Some(Box::new(move || saw.set(Some([false, true].map(|written| at.word(written) & key == key)))));
        assert!(memory.queues().iter().any(|queue| queue.is(lane)));
        assert_eq!(looked.get(), Some(warm));
    };
    submit(&lanes[0], &memory, true);
    looks([true, true]);
    submit(&lanes[1], &memory, false);
    submit(&lanes[0], &memory, false);
    looks([true, false]);
    drop(ended);
    watchdog.join().unwrap();
}

/// A launch that withdraws has not waited for what makes it do so, and leaves no other memory as if it had.
#[test]
fn a_launch_that_withdraws_is_not_after_what_it_has_not_waited_for() {
    let lanes = lanes(4);
    let (a, b, c) = (&lanes[0], &lanes[1], &lanes[2]);
    let [one, two] = [0; 2].map(|_| Memory::new(owner(1)));
    a.submissions().announce();
    two.write(a, &mut Waits::default()).unwrap();
    a.submissions().finish();
    b.submissions().announce();
    two.read(b, &mut Waits::default()).unwrap();
    b.submissions().finish();
    // On its way, to the other memory.
    a.submissions().announce();
    one.write(a, &mut Waits::default()).unwrap();
    c.submissions().announce();
    let mut waits = Waits::unborrowed();
    one.write(c, &mut waits).unwrap();
    two.read(c, &mut waits).unwrap();
    c.submissions().finish();
    assert!(!c.waited().contains(&0));
    assert_ne!(two.word(false) & c.key(), c.key(), "it would read before the write is done");
    c.submissions().announce();
    two.read(c, &mut Waits::default()).unwrap();
    assert!(c.waited().contains(&0));
}

/// What it has waited for is over for the memory: nobody waits for it again.
#[test]
fn a_launch_that_could_withdraw_leaves_what_it_has_waited_for_to_nobody() {
    let (lanes, memory) = (lanes(2), Memory::new(owner(1)));
    submit(&lanes[0], &memory, true);
    lanes[1].submissions().announce();
    memory.write(&lanes[1], &mut Waits::unborrowed()).unwrap();
    end(&lanes[1]);
    assert_eq!(lanes[1].waited(), [0]);
    assert_eq!(memory.queues().len(), 1);
}

/// A launch of a graph whose memory is not this: all that the stream did with this memory was submitted before.
#[test]
fn a_launch_with_other_memory_is_not_waited_for() {
    let (lanes, memory) = (lanes(2), Memory::new(owner(1)));
    submit(&lanes[0], &memory, true);
    lanes[0].unborrowed().announce();
    assert_eq!(submit(&lanes[1], &memory, true), [0]);
}
