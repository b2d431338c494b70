//! Models of streams that get no more work, as those of threads that have ended: other streams get their bits, and one of them stands for
//! all in the list of a piece of memory.

use loom::sync::Arc;
use loom::thread;

use crate::accesses::owner;
use crate::lanes::{Memory, Told, model, stream, streams_with_one_bit, submit, submit_beside};

/// A thread writes or reads and ends, whose stream gives its bit to another one that reads; a third thread writes meanwhile.
#[test]
fn the_bit_of_a_stream_that_has_ended_lets_nobody_pass_a_write() {
    for write in [false, true] {
        model(1, move || {
            let memory = Arc::new(Memory::new(owner(1)));
            let [first, heir] = streams_with_one_bit([1, 2]);
            let (before, writer) = (stream(0), stream(3));
            // It will stand for the first stream.
            submit(&before, &memory, false);
            before.end();
            submit(&first, &memory, write);
            let told = [(); 2].map(|()| Told::new());
            let ends = thread::spawn({
                let (memory, told) = (memory.clone(), told[0].clone());
                move || {
                    told.tell(submit(&first, &memory, write));
                    first.end();
                }
            });
            let writes = thread::spawn({
                let (memory, told) = (memory.clone(), told[1].clone());
                move || told.tell(submit(&writer, &memory, true))
            });
            for _ in 0..2 {
                let (ended, written) = (told[0].ask().filter(|_| write), told[1].ask());
                let read = submit(&heir, &memory, false);
                assert!(ended.is_none_or(|ended| read.is_after(&ended)), "{read:?} {ended:?}");
                assert!(written.is_none_or(|written| read.is_after(&written)), "{read:?} {written:?}");
            }
            ends.join().unwrap();
            writes.join().unwrap();
            let last = submit(&heir, &memory, true);
            for earlier in told.iter().filter_map(|told| told.ask()) {
                assert!(last.is_after(&earlier), "{last:?} {earlier:?}");
            }
        });
    }
}

/// A stream that has ended comes to stand for another one while a thread waits for it, the host or a writer.
#[test]
fn who_waits_for_a_stream_waits_also_for_those_that_it_stands_for() {
    for (write, by_host) in [(false, false), (true, false), (false, true), (true, true)] {
        model(1, move || {
            let memory = Arc::new(Memory::new(owner(1)));
            let (stands, ends, reads, writes) = (stream(0), stream(1), stream(2), stream(3));
            submit(&stands, &memory, write);
            submit(&ends, &memory, write);
            stands.end();
            let (told, read) = (Told::new(), Told::new());
            let ending = thread::spawn({
                let (memory, told) = (memory.clone(), told.clone());
                move || {
                    told.tell(submit(&ends, &memory, write));
                    ends.end();
                }
            });
            let reading = thread::spawn({
                let (memory, stands, read) = (memory.clone(), stands.clone(), read.clone());
                move || read.tell(submit_beside(&reads, &[&memory], false, Some(&stands)))
            });
            if by_host {
                stands.wait_on_the_host();
            }
            for _ in 0..2 {
                let before = [told.ask(), read.ask()];
                let written = submit_beside(&writes, &[&memory], true, Some(&stands));
                for before in before.iter().flatten() {
                    assert!(written.is_after(before), "{written:?} {before:?}");
                }
            }
            ending.join().unwrap();
            reading.join().unwrap();
            let written = submit_beside(&writes, &[&memory], true, Some(&stands));
            for before in [told.ask(), read.ask()].iter().flatten() {
                assert!(written.is_after(before), "{written:?} {before:?}");
            }
        });
    }
}
