//! The turns of a capture and its record, on one thread.

use std::cell::Cell;
use std::rc::Rc;

use crate::accesses::Queue;
use crate::capture_turns::{Captured, Kept, Refused, TurnLock, Turns};
use crate::model::{Lane, end, lanes};
use crate::waits::Waits;

/// Memory by its name.
#[derive(Debug, PartialEq)]
struct Piece(char);

impl Kept for Piece {
    fn is(&self, other: &Self) -> bool {
        self == other
    }
}

/// The lock of a thread that is told that it has the turn already.
#[derive(Clone, Debug, Default)]
struct Lock(Rc<Cell<bool>>);

struct Turn(Lock);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.set(false);
    }
}

impl TurnLock for Lock {
    type Turn<'l> = Turn;
    type Error = &'static str;

    fn lock(&self, call: &'static str) -> Result<Turn, &'static str> {
        if self.0.replace(true) { Err(call) } else { Ok(Turn(self.clone())) }
    }
}

type Capture = Turns<Lock, Piece, Lane, Vec<u32>>;

fn capture() -> (Capture, Lock) {
    let lock = Lock::default();
    (Turns::new(lock.clone()), lock)
}

/// Work on a stream of the capture; the streams it was made to wait for.
fn submit(capture: &Capture, lane: &Lane, name: char, write: bool) -> Vec<usize> {
    lane.submissions().announce();
    let turn = capture.turn("a submission").ok().unwrap();
    capture.touch(Piece(name), lane, &mut Waits::default(), write).unwrap();
    end(lane);
    drop(turn);
    lane.waited()
}

/// Each piece of memory, and whether it is written.
fn names(memory: &[Captured<Piece, Lane>]) -> Vec<(char, bool)> {
    memory.iter().map(|captured| (captured.resource.0, captured.written)).collect()
}

#[test]
fn streams_of_a_capture_wait_for_each_other_as_streams_outside_do() {
    let ((capture, _), lanes) = (capture(), lanes(3));
    let (a, b, c) = (&lanes[0], &lanes[1], &lanes[2]);
    assert_eq!(submit(&capture, a, 'x', true), []);
    assert_eq!(submit(&capture, a, 'x', true), [], "it is in order");
    assert_eq!(submit(&capture, b, 'x', false), [0]);
    assert_eq!(submit(&capture, c, 'x', false), [0], "readers do not wait for readers");
    assert_eq!(submit(&capture, c, 'y', true), [], "nothing else uses it");
    let mut waited = submit(&capture, a, 'x', true);
    waited.sort_unstable();
    assert_eq!(waited, [1, 2]);
    assert_eq!(submit(&capture, b, 'x', false), [0]);
}

#[test]
fn memory_is_in_the_record_once_and_written_if_any_work_writes_it() {
    let ((capture, _), lanes) = (capture(), lanes(2));
    for (lane, name, write) in
        [(0, 'r', false), (0, 'w', false), (1, 'w', true), (1, 'r', false), (0, 'w', false)]
    {
        submit(&capture, &lanes[lane], name, write);
    }
    capture.close("the end", || ());
    assert_eq!(names(&capture.take_record().0), [('r', false), ('w', true)]);
}

#[test]
fn who_cannot_wait_is_told_why_and_the_memory_is_kept() {
    let ((capture, _), lanes) = (capture(), lanes(2));
    submit(&capture, &lanes[0], 'x', true);
    lanes[0].0.broken.set(true);
    let refused = capture.touch(Piece('x'), &lanes[1], &mut Waits::default(), true);
    assert_eq!(refused, Err(Refused::Error(())));
    assert_eq!(names(&capture.take_record().0), [('x', true)]);
}

#[test]
fn a_thread_that_has_the_turn_is_told_so() {
    let (capture, lock) = capture();
    let turn = capture.turn("a submission");
    assert_eq!(capture.turn("cuEventRecord").err(), Some(Refused::Error("cuEventRecord")));
    drop(turn);
    assert!(!lock.0.get() && capture.turn("a submission").is_ok());
}

#[test]
fn the_end_is_said_first_and_has_the_last_turn() {
    let (capture, lock) = capture();
    assert!(!capture.has_ended());
    let last = capture.close("the end", || {
        assert!(capture.has_ended() && lock.0.get(), "in a turn");
        7
    });
    assert_eq!(last, 7);
    assert!(!lock.0.get(), "it is over");
    assert_eq!(capture.turn("a submission").err(), Some(Refused::Ended));
    assert!(!lock.0.get(), "who is refused has no turn");
}

#[test]
fn one_ends_a_capture() {
    for by_the_last_turn in [false, true] {
        let (capture, _) = capture();
        if by_the_last_turn {
            // As a scope does, which nobody else ends.
            capture.close("the end", || ());
        } else {
            assert!(capture.end() && capture.has_ended());
        }
        assert!(!capture.end());
        assert!(capture.has_ended());
        assert_eq!(capture.close("the end", || 8), 8, "again, after a panic");
    }
}

#[test]
fn a_record_is_taken_once() {
    let ((capture, _), lanes) = (capture(), lanes(1));
    submit(&capture, &lanes[0], 'x', true);
    capture.rest().as_mut().unwrap().push(3);
    let (memory, rest) = capture.take_record();
    assert_eq!((names(&memory), rest), (vec![('x', true)], vec![3]));
    // Also where nothing has closed the capture, which was never begun.
    assert!(capture.has_ended() && capture.rest().is_none());
    let refused = capture.touch(Piece('y'), &lanes[0], &mut Waits::default(), false);
    assert_eq!(refused, Err(Refused::Ended));
    let (memory, rest) = capture.take_record();
    assert!(memory.is_empty() && rest.is_empty());
}
