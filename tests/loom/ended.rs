//! Models of streams that get no more work, as those of threads that have ended: other streams get their bits, and one of them stands for
//! all in the list of a piece of memory.

use loom::sync::Arc;
use loom::thread;

use crate::accesses::{Queue, owner};
use crate::lanes::{Memory, Told, model, stream, streams_with_one_bit, submit, submit_beside};

/// A stream has the bit of one that has ended from other memory.
#[test]
fn the_bit_of_a_stream_that_has_ended_lets_nobody_pass_a_write() {
    model(3, || {
        let [memory, other] = [(); 2].map(|()| Arc::new(Memory::new(owner(1))));
        let [first, heir] = streams_with_one_bit([1, 2]);
        let (stands, last) = (stream(0), stream(3));
        let written = submit(&stands, &memory, true);
        stands.end();
        submit(&first, &memory, false);
        let ending = thread::spawn({
            let memory = memory.clone();
            move || {
                submit(&first, &memory, false);
                first.end();
                drop(first);
                submit(&last, &memory, false)
            }
        });
        for _ in 0..2 {
            submit(&heir, &other, true);
            let read = submit(&heir, &memory, false);
            assert!(read.is_after(&written), "{read:?} {written:?}");
        }
        assert!(ending.join().unwrap().is_after(&written));
    });
}

/// A stream that has ended and is done leaves the list, and another one gets its bit at once.
#[test]
fn the_bit_of_a_stream_that_is_done_is_gone_before_another_stream_has_it() {
    for written in [false, true] {
        model(3, move || {
            let [memory, other] = [(); 2].map(|()| Arc::new(Memory::new(owner(1))));
            let [ends, heir] = streams_with_one_bit([0, 1]);
            let (reads, last) = (stream(2), stream(3));
            // The heir uses a part of the memory that nobody else does.
            submit(&ends, &memory, written);
            let ending = thread::spawn(move || {
                ends.wait_on_its_thread();
                ends.end();
            });
            let inheriting = thread::spawn({
                let memory = memory.clone();
                move || {
                    submit(&heir, &other, true);
                    submit(&heir, &memory, written)
                }
            });
            let read = submit(&reads, &memory, false);
            let inherited = inheriting.join().unwrap();
            ending.join().unwrap();
            let written = submit(&last, &memory, true);
            assert!(
                written.is_after(&read) && written.is_after(&inherited),
                "{written:?} {read:?} {inherited:?}"
            );
        });
    }
}

/// A stream that has ended comes to stand for another one while a writer waits for it, or the host has.
#[test]
fn who_waits_for_a_stream_waits_also_for_those_that_it_stands_for() {
    for by_host in [false, true] {
        model(3, move || {
            let memory = Arc::new(Memory::new(owner(1)));
            let (stands, ends, reads, writes) = (stream(0), stream(1), stream(2), stream(3));
            submit(&stands, &memory, false);
            submit(&ends, &memory, false);
            stands.end();
            let told = Told::new();
            let ending = thread::spawn({
                let (memory, told) = (memory.clone(), told.clone());
                move || {
                    told.tell(submit(&ends, &memory, false));
                    ends.end();
                    submit(&reads, &memory, false)
                }
            });
            if by_host {
                stands.wait_on_the_host();
            }
            let before = told.ask();
            let written = submit_beside(&writes, &[&memory], true, Some(&stands));
            assert!(before.is_none_or(|before| written.is_after(&before)), "{written:?} {before:?}");
            let read = ending.join().unwrap();
            let (written, ended) =
                (submit_beside(&writes, &[&memory], true, Some(&stands)), told.ask().unwrap());
            assert!(written.is_after(&ended) && written.is_after(&read), "{written:?} {ended:?} {read:?}");
        });
    }
}

/// A reader waits for what those wrote for which another stream stands.
#[test]
fn what_a_stream_wrote_that_has_ended_is_read_after_it() {
    model(3, || {
        let memory = Arc::new(Memory::new(owner(1)));
        let (stands, ends, first, second) = (stream(0), stream(1), stream(2), stream(3));
        // Both stay in the list: the first one is under way when the other one writes.
        stands.submissions().announce();
        submit(&stands, &memory, false);
        let written = submit(&ends, &memory, true);
        stands.submissions().finish();
        [&stands, &ends].into_iter().for_each(crate::lanes::Lane::end);
        let other = thread::spawn({
            let memory = memory.clone();
            move || submit(&first, &memory, false)
        });
        let read = submit(&second, &memory, false);
        assert!(read.is_after(&written) && other.join().unwrap().is_after(&written));
    });
}
