//! Many handles of one stream, such as a new one for each access.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::accesses::{NO_KEY, Queue, owner};
use crate::model::{Lane, Memory, begin, end, handle, lane, submit};

const COUNT: usize = if cfg!(miri) { 40 } else { 100 };

/// Handles of one stream, the first of which have a bit.
fn handles() -> Vec<Lane> {
    let clock = Rc::new(RefCell::new(vec![0; COUNT + 2]));
    let key = |number| if number < 20usize { owner(1) | 1u64 << number } else { NO_KEY };
    (0..COUNT).map(|number| handle(number, key(number), clock.clone(), Rc::default())).collect()
}

#[test]
fn many_handles_of_one_stream_do_not_make_the_list_longer() {
    for written in [None, Some(0), Some(7), Some(COUNT - 1)] {
        let (memory, handles) = (Memory::new(owner(1)), handles());
        let [reader, writer] = [0, 1].map(|n| lane(COUNT + n, NO_KEY, COUNT + 2));
        let mut longest = 0;
        for (number, handle) in handles.iter().enumerate() {
            submit(handle, &memory, written == Some(number));
            longest = longest.max(memory.queues().len());
        }
        assert_eq!(longest, 16);
        // A reader waits once for what was written, and the next writer for all.
        let waits = [(); 2].map(|()| submit(&reader, &memory, false).len());
        assert_eq!(waits, [usize::from(written.is_some()), 0], "{written:?}");
        if let Some(written) = written {
            assert_eq!(reader.0.clock.borrow()[written], 1);
        }
        submit(&writer, &memory, true);
        assert!(writer.0.clock.borrow()[..=COUNT].iter().all(|work| *work != 0), "{written:?}");
    }
}

/// What the stream was made to wait for by one handle, it need not wait for by another one.
#[test]
fn a_handle_waits_for_nothing_that_another_one_has_waited_for() {
    let (memory, handles) = (Memory::new(owner(1)), handles());
    let writer = lane(COUNT, NO_KEY, COUNT + 2);
    submit(&writer, &memory, true);
    assert_eq!(submit(&handles[0], &memory, false), [COUNT]);
    let waits = handles[1..].iter().flat_map(|handle| submit(handle, &memory, false));
    assert_eq!(waits.collect::<Vec<_>>(), []);
    submit(&writer, &memory, true);
    assert_eq!(submit(&handles[0], &memory, false), [COUNT]);
}

/// What it is about to submit comes after a wait for the others.
#[test]
fn a_handle_under_way_is_waited_for_itself() {
    for written in [false, true] {
        let (memory, handles) = (Memory::new(owner(1)), handles());
        let writer = lane(COUNT, NO_KEY, COUNT + 2);
        begin(&handles[0], &memory, written);
        handles[1..].iter().for_each(|handle| drop(submit(handle, &memory, false)));
        let stays = memory.queues().iter().filter(|queue| queue.is(&handles[0])).count();
        assert_eq!((stays, memory.queues().len() < 20), (1, true));
        submit(&writer, &memory, true);
        end(&handles[0]);
        assert_eq!(submit(&writer, &memory, true), [0]);
    }
}

/// With its entry the key of a handle goes, and may become another stream's at once.
#[test]
fn no_memory_has_the_bit_of_a_handle_that_was_replaced() {
    let (memory, asked) = (Rc::new(Memory::new(owner(1))), Rc::new(Cell::new(0)));
    for handle in handles() {
        submit(&handle, &memory, false);
        let key = handle.key();
        *handle.0.at_end.borrow_mut() = Some(Box::new({
            let (memory, asked) = (Rc::downgrade(&memory), asked.clone());
            move || {
                let Some(memory) = memory.upgrade() else { return };
                asked.set(asked.get() + 1);
                assert!([false, true].into_iter().all(|written| memory.word(written) & key != key));
            }
        }));
    }
    assert!(asked.get() >= COUNT - 17, "{}", asked.get());
}
