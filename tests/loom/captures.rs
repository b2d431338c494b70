//! Models of captures: the turns of the threads that give their streams work, the end, and waits for their context.
//!
//! The driver of a model is told to begin and to end; what a stream of the capture is given in between is a node. What it is given after
//! that runs at once, unordered and with nobody who keeps what it uses: a model fails then.

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::sync::Arc;
use std::time::Duration;

use crate::accesses::{Queue, owner};
use crate::capture_turns::{Captured, Kept, Refused, TurnLock, Turns};
use crate::context_waits::{All, ContextWaits, OnContext};
use crate::lanes::{Announced, Done, Lane, Memory, give, launch, model, stream, submit};
use crate::sync::{AtomicUsize, Clock, Condvar, Mutex, MutexGuard};
use crate::waits::Waits;

/// The lock of the turns. No model asks for the turn that it has.
struct Lock(Mutex<()>);

impl TurnLock for Lock {
    type Turn<'l> = MutexGuard<'l, ()>;
    type Error = ();

    fn lock(&self, _: &'static str) -> Result<MutexGuard<'_, ()>, ()> {
        Ok(self.0.lock().unwrap())
    }
}

/// Memory that captured work uses, and work outside of the capture.
type Piece = Arc<Memory>;

impl Kept for Piece {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }
}

fn piece() -> Piece {
    Arc::new(Memory::new(owner(1)))
}

/// What is recorded besides memory.
#[derive(Default)]
struct Rest {
    forks: Vec<Lane>,
    objects: usize,
}

struct Capture {
    turns: Turns<Lock, Piece, Lane, Rest>,
    origin: Lane,
    /// Whether the driver records.
    records: AtomicBool,
    /// Loom need not try every order of these: the driver has locks of its own.
    nodes: std::sync::Mutex<Vec<Node>>,
}

/// What the driver has recorded.
struct Node {
    done: Done,
    memory: Vec<Piece>,
    writes: bool,
}

/// What the end of a capture leaves.
struct Graph {
    nodes: Vec<Node>,
    memory: Vec<Captured<Piece, Lane>>,
    objects: usize,
}

impl Capture {
    /// A capture of a stream with the number 0.
    fn begin() -> Arc<Self> {
        let (turns, nodes) = (Turns::new(Lock(Mutex::new(()))), std::sync::Mutex::default());
        Arc::new(Self { turns, origin: stream(0), records: AtomicBool::new(true), nodes })
    }

    /// The turn; `None` where the capture is over.
    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.turns.turn("a submission").map_err(|refused| assert_eq!(refused, Refused::Ended)).ok()
    }

    /// A submission to a stream of the capture, as the crate makes it. Whether it is in the graph: else it was refused.
    fn submit(&self, lane: &Lane, memory: &[&Piece], writes: bool) -> bool {
        lane.submissions().announce();
        let announced = Announced(lane.clone());
        let Some(_turn) = self.turn() else { return false };
        let mut waits = Waits::default();
        for piece in memory {
            // Who has the turn is not refused any more.
            self.turns.touch(Arc::clone(piece), lane, &mut waits, writes).unwrap();
        }
        assert!(self.records.load(Ordering::Relaxed), "it runs, unordered");
        let done = give(lane, Default::default());
        let memory = memory.iter().copied().cloned().collect();
        self.nodes.lock().unwrap().push(Node { done, memory, writes });
        // What is only known afterwards, as which node it has become.
        self.turns.rest().as_mut().unwrap().objects += 1;
        drop(announced);
        true
    }

    /// A stream that is forked into the capture, unless it is over.
    fn fork(&self, number: usize) -> Option<Lane> {
        let fork = stream(number);
        let _turn = self.turn()?;
        fork.wait_for(&self.origin).unwrap();
        self.turns.rest().as_mut().unwrap().forks.push(fork.clone());
        Some(fork)
    }

    /// Ends it, as a scope does, which is the only one to do so.
    fn end(&self) -> Graph {
        self.turns.close("the end", || {
            let forks = self.turns.rest().as_ref().unwrap().forks.clone();
            forks.iter().for_each(|fork| self.origin.wait_for(fork).unwrap());
        });
        self.records.store(false, Ordering::Relaxed);
        let nodes = std::mem::take(&mut *self.nodes.lock().unwrap());
        let joined = give(&self.origin, Default::default());
        assert!(nodes.iter().all(|node| joined.is_after(&node.done)), "work on a stream that was not joined");
        let (memory, rest) = self.turns.take_record();
        let graph = Graph { nodes, memory, objects: rest.objects };
        graph.check();
        graph
    }

    /// Ends it, as by hand: `None` where another thread does.
    fn end_by_hand(&self) -> Option<Graph> {
        self.turns.end().then(|| self.end())
    }
}

impl Graph {
    /// It has all that its nodes use, and those that use the same come one after the other.
    fn check(&self) {
        assert_eq!(self.objects, self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            for piece in &node.memory {
                let kept = self.memory.iter().find(|captured| captured.resource.is(piece));
                assert!(
                    kept.is_some_and(|kept| kept.written >= node.writes),
                    "the graph must keep and order it"
                );
                for other in &self.nodes[..at] {
                    let meets =
                        (node.writes || other.writes) && other.memory.iter().any(|other| other.is(piece));
                    let is_ordered = node.done.is_after(&other.done) != other.done.is_after(&node.done);
                    assert!(!meets || is_ordered, "{:?} {:?}", node.done, other.done);
                }
            }
        }
        let mut pairs = (0..self.memory.len()).flat_map(|at| (0..at).map(move |other| (at, other)));
        assert!(
            pairs.all(|(at, other)| !self.memory[at].resource.is(&self.memory[other].resource)),
            "each once"
        );
    }
}

#[test]
fn what_is_submitted_beside_the_end_is_in_the_graph_or_refused() {
    model(4, || {
        let (capture, x, y) = (Capture::begin(), piece(), piece());
        let user = thread::spawn({
            let capture = capture.clone();
            move || {
                let first = capture.submit(&capture.origin, &[&x, &y], false);
                let second = capture.submit(&capture.origin, &[&x], true);
                assert!(first >= second, "it is over once and for all");
                usize::from(first) + usize::from(second)
            }
        });
        let graph = capture.end();
        assert_eq!(user.join().unwrap(), graph.nodes.len());
        assert!(!capture.submit(&capture.origin, &[], false), "it is over");
    });
}

#[test]
fn two_submissions_beside_the_end_are_ordered_and_kept() {
    for writes in [[true, true], [true, false], [false, true]] {
        model(3, move || {
            let (capture, x) = (Capture::begin(), piece());
            let fork = capture.fork(1).unwrap();
            let users = [capture.origin.clone(), fork].into_iter().zip(writes).map(|(lane, writes)| {
                let (capture, x) = (capture.clone(), x.clone());
                thread::spawn(move || capture.submit(&lane, &[&x], writes))
            });
            let users: Vec<_> = users.collect();
            let graph = capture.end();
            let submitted = users.into_iter().map(|user| usize::from(user.join().unwrap()));
            assert_eq!(submitted.sum::<usize>(), graph.nodes.len());
        });
    }
}

#[test]
fn a_stream_that_is_forked_beside_the_end_is_joined_with_its_work() {
    model(4, || {
        let (capture, x) = (Capture::begin(), piece());
        let user = thread::spawn({
            let (capture, x) = (capture.clone(), x.clone());
            move || {
                let Some(fork) = capture.fork(1) else { return 0 };
                let on_fork = capture.submit(&fork, &[&x], true);
                usize::from(on_fork) + usize::from(capture.submit(&capture.origin, &[&x], true))
            }
        });
        let graph = capture.end();
        assert_eq!(user.join().unwrap(), graph.nodes.len());
        assert!(capture.fork(2).is_none(), "it is over");
    });
}

#[test]
fn forks_of_two_threads_are_joined() {
    model(3, || {
        let (capture, x) = (Capture::begin(), piece());
        let users: Vec<_> = [1, 2]
            .map(|number| {
                let (capture, x) = (capture.clone(), x.clone());
                thread::spawn(move || {
                    capture.fork(number).is_some_and(|fork| capture.submit(&fork, &[&x], true))
                })
            })
            .into();
        let graph = capture.end();
        let submitted = users.into_iter().map(|user| usize::from(user.join().unwrap()));
        assert_eq!(submitted.sum::<usize>(), graph.nodes.len());
    });
}

#[test]
fn one_thread_ends_a_capture_and_has_the_record() {
    model(4, || {
        let (capture, x) = (Capture::begin(), piece());
        assert!(capture.submit(&capture.origin, &[&x], true));
        let other = thread::spawn({
            let capture = capture.clone();
            move || capture.end_by_hand().map(|graph| graph.nodes.len())
        });
        let mine = capture.end_by_hand().map(|graph| graph.nodes.len());
        let theirs = other.join().unwrap();
        assert!(matches!((mine, theirs), (Some(1), None) | (None, Some(1))), "{mine:?} {theirs:?}");
    });
}

/// A chain of operations leaves what it owns when it has submitted its work, which takes no turn.
#[test]
fn what_is_left_beside_the_end_is_in_the_record_or_given_back() {
    model(4, || {
        let capture = Capture::begin();
        let user = thread::spawn({
            let capture = capture.clone();
            move || match capture.turns.rest().as_mut() {
                Some(rest) => {
                    rest.forks.push(stream(1));
                    true
                }
                None => false,
            }
        });
        capture.turns.close("the end", || ());
        let (_, rest) = capture.turns.take_record();
        assert_eq!(usize::from(user.join().unwrap()), rest.forks.len());
    });
}

/// The graph of a capture is launched beside another user of the memory that was captured while it was used.
#[test]
fn captured_memory_is_ordered_with_its_users_outside_by_each_launch() {
    for [captured, outside] in [[true, true], [true, false], [false, true]] {
        model(3, move || {
            let (capture, x) = (Capture::begin(), piece());
            let recording = thread::spawn({
                let (capture, x) = (capture.clone(), x.clone());
                move || capture.submit(&capture.origin, &[&x], captured)
            });
            let user = thread::spawn({
                let x = x.clone();
                move || submit(&stream(1), &x, outside)
            });
            let graph = capture.end();
            let memory: Vec<&Memory> = graph.memory.iter().map(|captured| &*captured.resource).collect();
            let launched = launch(&stream(0), &memory, graph.memory.iter().any(|captured| captured.written));
            let (is_in, used) = (recording.join().unwrap(), user.join().unwrap());
            assert_eq!(graph.memory.len(), usize::from(is_in));
            let is_ordered = launched.is_after(&used) != used.is_after(&launched);
            assert!(is_ordered || !is_in, "{launched:?} {used:?}");
            let next = submit(&stream(2), &x, true);
            assert!(next.is_after(&used) && (next.is_after(&launched) || !is_in), "{next:?} {launched:?}");
        });
    }
}

/// A capture of this context.
#[derive(Clone, Copy, PartialEq)]
struct Of(usize);

impl OnContext for Of {
    fn context(&self) -> usize {
        self.0
    }
}

/// A driver that waits for contexts and captures streams of one of them.
struct Driver {
    waits: ContextWaits<Of>,
    clock: Clock,
    /// How many captures of context 1 it has begun and not ended.
    captures: AtomicUsize,
}

impl Driver {
    fn new() -> Arc<Self> {
        let waits = ContextWaits::of(Mutex::new(All::NONE), AtomicUsize::new(0), Condvar::new());
        Arc::new(Self { waits, clock: Clock::latest(), captures: AtomicUsize::new(0) })
    }

    /// Waits for context 1; whether it was not refused.
    fn wait(&self) -> bool {
        let may = self.waits.begin(1);
        if may {
            self.look();
            self.waits.end(1);
        }
        may
    }

    /// What the driver does first when it is told to wait.
    fn look(&self) {
        assert_eq!(self.captures.load(Ordering::SeqCst), 0, "the wait breaks the capture");
    }

    /// Captures a stream of context 1.
    fn capture(&self) {
        self.waits.open(Of(1), Duration::MAX);
        self.captures.fetch_add(1, Ordering::SeqCst);
        assert!(self.waits.any(|open| open.context() == 1));
        assert!(!self.waits.begin(1), "it would break it");
        self.captures.fetch_add(usize::MAX, Ordering::SeqCst);
        self.waits.close(&Of(1));
    }
}

#[test]
fn a_wait_for_a_context_is_over_before_a_capture_begins_or_refused() {
    model(4, || {
        let driver = Driver::new();
        let [one, other] = [(), ()].map(|()| {
            let driver = driver.clone();
            thread::spawn(move || driver.wait())
        });
        driver.capture();
        one.join().unwrap();
        other.join().unwrap();
        assert!(driver.wait() && !driver.waits.any(|_| true), "it is over");
    });
}

#[test]
fn two_captures_begin_after_a_wait_that_began_before_them() {
    model(3, || {
        let driver = Driver::new();
        assert!(driver.waits.begin(1));
        let other = thread::spawn({
            let driver = driver.clone();
            move || driver.capture()
        });
        let waiting = thread::spawn({
            let driver = driver.clone();
            move || {
                driver.look();
                driver.waits.end(1);
            }
        });
        driver.capture();
        other.join().unwrap();
        waiting.join().unwrap();
        assert!(driver.wait());
    });
}

/// It has looked for captures, and is inside the driver until the capturing thread has done something.
#[test]
fn a_capture_does_not_wait_for_ever_for_a_wait() {
    model(4, || {
        let driver = Driver::new();
        assert!(driver.waits.begin(1));
        driver.look();
        let capture = thread::spawn({
            let driver = driver.clone();
            move || driver.capture()
        });
        driver.clock.tick();
        capture.join().unwrap();
        driver.waits.end(1);
        assert!(driver.wait());
    });
}

#[test]
fn waits_for_other_contexts_and_captures_of_them_do_not_matter() {
    model(4, || {
        let driver = Driver::new();
        driver.waits.open(Of(3), Duration::MAX);
        assert!(driver.waits.begin(2) && driver.waits.begin(1));
        let capture = thread::spawn({
            let driver = driver.clone();
            move || driver.capture()
        });
        assert!(driver.waits.begin(2), "nobody captures a stream of it");
        driver.waits.end(2);
        driver.look();
        driver.waits.end(1);
        capture.join().unwrap();
        driver.waits.end(2);
        assert!(driver.wait());
    });
}
