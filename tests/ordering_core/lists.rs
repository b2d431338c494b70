//! Who is in the lists of a memory's streams, who has a bit, and how long the lists become.

use std::cell::Cell;
use std::process;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::accesses::{NO_KEY, OWNERS, QUEUES, Queue, owner};
use crate::model::{Lane, Memory, begin, end, lane, lane_with, lanes, note, submit};
use crate::waits::Waits;

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

/// What it comes after, it always will: it asks the list each time, and waits only for what was written since.
#[test]
fn a_stream_without_a_bit_waits_once_for_what_it_reads_again_and_again() {
    let lanes = [lane(0, owner(1) | 1, 3), lane(1, NO_KEY, 3), lane(2, owner(1) | 4, 3)];
    let [writer, reader, other] = &lanes;
    let memory = Memory::new(owner(1));
    for _ in 0..2 {
        submit(writer, &memory, true);
        assert_eq!([reader, other].map(|lane| submit(lane, &memory, false)), [[0], [0]]);
        submit(writer, &memory, false);
        assert_eq!([reader, reader, other].map(|lane| submit(lane, &memory, false)), [[]; 3]);
    }
    // What was on its way is given only when the wait for it was made.
    begin(writer, &memory, true);
    assert_eq!(submit(reader, &memory, false), [0]);
    end(writer);
    assert_eq!([(); 2].map(|()| submit(reader, &memory, false)), [vec![0], vec![]]);
    // A write of its own is none that it comes after, and that of another one may be before or after it.
    submit(reader, &memory, true);
    assert_eq!(submit(reader, &memory, false), []);
    submit(writer, &memory, false);
    submit(other, &memory, true);
    assert_eq!([(); 2].map(|()| submit(reader, &memory, false)), [vec![2], vec![]]);
}

/// A handle that means another stream on each thread has one count for all of them: who waits for the others is under way itself.
#[test]
fn streams_of_one_handle_wait_once_for_each_other() {
    let shared = Rc::default();
    let [one, other, third] = [0, 1, 2].map(|number| lane_with(number, NO_KEY, 3, Rc::clone(&shared)));
    let memories = [(); 2].map(|()| Memory::new(owner(1)));
    for _ in 0..2 {
        // From the first of them on they have overlapped.
        begin(&one, &memories[0], true);
        begin(&one, &memories[1], true);
        // It may be given to its stream only after the wait.
        assert_eq!(submit(&other, &memories[0], false), [0]);
        end(&one);
        assert_eq!(submit(&other, &memories[0], false), [0]);
        end(&one);
        assert_eq!([(); 2].map(|()| submit(&other, &memories[0], false)), [vec![0], vec![]]);
        // One wait serves all memory of a submission.
        third.submissions().announce();
        let mut waits = Waits::default();
        memories.iter().for_each(|memory| note(&third, memory, true, &mut waits).unwrap());
        end(&third);
        assert_eq!(third.waited(), [0, 1]);
        let again = memories.each_ref().map(|memory| submit(&third, memory, true));
        assert_eq!(again, [[]; 2]);
    }
}

/// As if it had written the memory after that was made.
#[test]
fn the_stream_that_makes_memory_goes_ahead_and_the_others_wait_for_it() {
    let lanes = [lane(0, owner(1) | 1, 3), lane(1, NO_KEY, 3), lane(2, owner(2) | 1, 3)];
    for maker in &lanes {
        for number in [owner(1), 0] {
            let memory = Memory::made_by(maker.clone(), number);
            let goes_ahead = [true, false].map(|written| memory.word(written) & maker.key() == maker.key());
            assert_eq!(goes_ahead, [maker.key() == owner(1) | 1 && number == owner(1); 2]);
            assert_eq!(submit(maker, &memory, false), []);
            for other in lanes.iter().filter(|lane| !lane.is(maker)) {
                let memory = Memory::made_by(maker.clone(), number);
                submit(maker, &memory, true);
                assert_eq!(submit(other, &memory, true).len(), 1);
            }
        }
    }
}

#[test]
fn a_stream_without_a_bit_waits_again_for_the_stream_that_makes_memory() {
    let lanes = lanes(2);
    lanes[0].submissions().announce();
    let memory = Memory::made_by(lanes[0].clone(), 0);
    assert_eq!(submit(&lanes[1], &memory, false), [0]);
    end(&lanes[0]);
    assert_eq!([(); 2].map(|()| submit(&lanes[1], &memory, false)), [vec![0], vec![]]);
}

/// Memory is freed on that stream, without waiting.
#[test]
fn the_only_stream_of_memory_is_known_until_there_is_another_one() {
    for write in [false, true] {
        let (lanes, mut memory) = (lanes(2), Memory::new(owner(1)));
        assert!(memory.only().is_none());
        submit(&lanes[0], &memory, write);
        submit(&lanes[0], &memory, !write);
        assert!(memory.only().is_some_and(|only| only.is(&lanes[0])));
        submit(&lanes[1], &memory, false);
        assert!(memory.only().is_none());
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

/// Whoever has the list locked, here this very thread: one that wanted it for a look at the words would wait forever.
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

/// A list that is searched for those that are done is unlocked where one is dropped. Another stream may then become the only one.
#[test]
fn no_memory_has_a_bit_of_one_that_was_done_while_another_one_was_dropped() {
    let (memory, asked) = (Rc::new(Memory::new(owner(1))), Rc::new(Cell::new(false)));
    let key = owner(1) | 1;
    let writer = lane(1, key, 100);
    *writer.0.at_end.borrow_mut() = Some(Box::new({
        let (memory, asked) = (memory.clone(), asked.clone());
        move || {
            asked.set(true);
            assert!([false, true].into_iter().all(|written| memory.word(written) & key != key));
        }
    }));
    for number in 2..66 {
        let reader = lane(number, NO_KEY, 100);
        submit(&reader, &memory, false);
        reader.0.done.set(number == 2);
        let (memory, writer) = (memory.clone(), writer.clone());
        if number == 2 {
            *reader.0.at_end.borrow_mut() = Some(Box::new(move || {
                submit(&writer, &memory, true);
                assert_eq!(memory.word(true) & key, key, "it is alone");
                writer.0.done.set(true);
            }));
        }
    }
    drop(writer);
    submit(&lane(99, NO_KEY, 100), &memory, false);
    assert!(asked.get(), "the list had the last handle");
}
