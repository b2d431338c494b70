//! Streams that get no more work, as those of threads that have ended: one stands for all.

use std::cell::Cell;
use std::rc::Rc;

use crate::accesses::{NO_KEY, Queue, owner};
use crate::model::{Lane, Memory, begin, end, lane, lanes, submit};

fn ended(lane: &Lane) {
    lane.0.ended.set(true);
}

#[test]
fn one_entry_is_left_of_all_that_have_ended_and_all_are_waited_for() {
    for written in [false, true] {
        let (memory, lanes) = (Memory::new(owner(1)), lanes(40));
        let [readers @ .., writer] = &*lanes else { unreachable!() };
        let mut own = Vec::new();
        for reader in readers {
            submit(reader, &memory, written);
            own.push(submit(reader, &memory, false));
            ended(reader);
            let entries = memory.queues().len();
            assert!(entries <= if written { 1 } else { 2 }, "{entries} entries");
        }
        assert_eq!(own.concat(), [], "what it has written itself it waits for no more");
        assert_eq!(submit(writer, &memory, true).len(), if written { 1 } else { 2 });
        let clock = writer.0.clock.borrow();
        let least = if written { 2 } else { 1 };
        assert!(clock[..39].iter().all(|work| *work >= least), "{clock:?}");
    }
}

/// A reader waits once for what those have written for which another one stands.
#[test]
fn who_stands_for_a_writer_is_waited_for_by_readers() {
    let (memory, lanes) = (Rc::new(Memory::new(owner(1))), lanes(4));
    let [stands, wrote, reader, last] = &*lanes else { unreachable!() };
    submit(stands, &memory, false);
    // So that the writer finds the other one under way, and leaves it in the list.
    begin(stands, &memory, false);
    submit(wrote, &memory, true);
    end(stands);
    [stands, wrote].into_iter().for_each(ended);
    let waits = [(); 3].map(|()| submit(reader, &memory, false));
    assert_eq!((memory.queues().len(), waits), (2, [vec![0], vec![], vec![]]));
    assert_eq!(reader.0.clock.borrow()[..2], [2, 1]);
    assert_eq!(submit(last, &memory, true), [0, 2]);
}

/// Whoever waits for a stream has not waited for what it comes to stand for after that.
#[test]
fn a_wait_that_was_begun_before_does_not_cover_it() {
    let (memory, lanes) = (Rc::new(Memory::new(owner(1))), lanes(6));
    let [stands, ends, reader, slow, writer, last] = [0, 1, 2, 3, 4, 5].map(|n| lanes[n].clone());
    [&stands, &slow].into_iter().for_each(|lane| drop(submit(lane, &memory, false)));
    ended(&stands);
    // The writer has waited for the first one, and waits for this one.
    *slow.0.meanwhile.borrow_mut() = Some(Box::new({
        let memory = memory.clone();
        move || {
            submit(&ends, &memory, false);
            ended(&ends);
            submit(&reader, &memory, false);
            assert!(memory.queues().iter().all(|queue| !queue.is(&ends)));
        }
    }));
    assert_eq!(submit(&writer, &memory, true), [0, 3]);
    assert_eq!(submit(&last, &memory, true), [0, 2, 4]);
    assert_eq!(last.0.clock.borrow()[1], 1);
}

/// The same of a wait of the host.
#[test]
fn a_wait_of_the_host_that_was_begun_before_does_not_cover_it() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(5));
    let [stands, other, ends, reader, writer] = &*lanes else { unreachable!() };
    [stands, other].into_iter().for_each(|lane| drop(submit(lane, &memory, false)));
    ended(stands);
    let pending = memory.pending();
    submit(ends, &memory, false);
    ended(ends);
    submit(reader, &memory, false);
    memory.settle(&pending);
    assert_eq!(submit(writer, &memory, true), [0, 3]);
    assert_eq!(writer.0.clock.borrow()[2], 1);
}

/// Whoever waits for the one that stands for others does not take it for another one, which is under way.
#[test]
fn who_stands_for_others_is_told_from_all_that_are_under_way() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(5));
    let [stands, ends, under_way, reader, writer] = &*lanes else { unreachable!() };
    [stands, ends].into_iter().for_each(|lane| drop(submit(lane, &memory, false)));
    begin(under_way, &memory, false);
    [stands, ends].into_iter().for_each(ended);
    submit(reader, &memory, false);
    assert_eq!(submit(writer, &memory, true), [0, 2, 3]);
    end(under_way);
    assert_eq!(submit(writer, &memory, true), [2]);
}

/// What the host saw the end of before does not count.
#[test]
fn who_stands_for_others_is_over_when_they_are() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(4));
    let [stands, ends, reader, writer] = &*lanes else { unreachable!() };
    submit(stands, &memory, false);
    submit(ends, &memory, false);
    [stands, ends].into_iter().for_each(ended);
    stands.wait_on_the_host();
    submit(reader, &memory, false);
    assert_eq!(submit(writer, &memory, true), [0, 2]);
    assert_eq!(writer.0.clock.borrow()[1], 1);
}

#[test]
fn who_has_ended_and_is_done_is_in_no_list() {
    let (memory, lanes) = (Memory::new(owner(1)), lanes(3));
    for lane in &lanes {
        submit(lane, &memory, false);
        ended(lane);
        lane.0.done.set(true);
    }
    assert_eq!(memory.queues().len(), 1);
    assert_eq!(memory.word(false), owner(1) | lanes[2].key() & !owner(1), "only the last one has a bit");
}

/// Its bit is another one's.
#[test]
fn a_bit_of_one_that_has_ended_lets_nobody_go_ahead() {
    let memory = Memory::new(owner(1));
    let key = owner(1) | 1;
    let [stands, ends, reader, heir, writer] = [NO_KEY, key, NO_KEY, key, NO_KEY].map({
        let mut number = 0;
        move |key| {
            number += 1;
            lane(number - 1, key, 5)
        }
    });
    for lane in [&stands, &ends] {
        submit(lane, &memory, false);
        ended(lane);
    }
    assert_eq!(memory.word(false) & key, key);
    submit(&reader, &memory, false);
    assert_ne!(memory.word(false) & key, key);
    submit(&writer, &memory, true);
    assert_eq!(submit(&heir, &memory, false), [4]);
}

/// With its entry the key of one that has ended goes, and may become another one's at once.
#[test]
fn no_memory_has_a_bit_of_one_that_is_in_no_list() {
    for written in [false, true] {
        let (memory, asked) = (Rc::new(Memory::new(owner(1))), Rc::new(Cell::new(false)));
        let (key, reader) = (owner(1) | 1, lane(1, NO_KEY, 2));
        let ends = lane(0, key, 2);
        submit(&ends, &memory, written);
        assert_eq!(memory.word(written) & key, key, "it has a bit");
        ended(&ends);
        ends.0.done.set(true);
        *ends.0.at_end.borrow_mut() = Some(Box::new({
            let (memory, asked) = (memory.clone(), asked.clone());
            move || {
                asked.set(true);
                assert!([false, true].into_iter().all(|writing| memory.word(writing) & key != key));
            }
        }));
        drop(ends);
        assert!(!asked.get(), "the list has the last handle");
        submit(&reader, &memory, false);
        assert!(asked.get());
    }
}
