//! Models of the accesses to memory: the core of `src/ordering` with streams that are lists of work (`lanes`).

use loom::sync::Arc;
use loom::thread;

use crate::accesses::{Queue, owner};
use crate::lanes::{
    Done, Gate, Lane, Memory, Told, handle, launch, make, model, stream, stream_in, submit, submit_all,
    submit_beside, submit_in_turn, until,
};

#[test]
fn two_halves_written_at_once_are_both_waited_for() {
    for warm in [false, true] {
        model(3, move || {
            let (memory, a, b, c) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1), stream(2));
            if warm {
                submit(&a, &memory, true);
            }
            let other = thread::spawn({
                let (memory, a) = (memory.clone(), a.clone());
                move || submit(&a, &memory, true)
            });
            let mine = submit(&b, &memory, true);
            let theirs = other.join().unwrap();
            // Both borrows are over: whoever is next comes after both, also by the short way.
            for write in [false, true, false] {
                for lane in [&c, &b] {
                    let next = submit(lane, &memory, write);
                    assert!(next.is_after(&theirs), "{next:?} {theirs:?}");
                    assert!(next.is_after(&mine), "{next:?} {mine:?}");
                }
            }
        });
    }
}

/// In these models one handle of a stream replaces the others in the list.
#[test]
fn the_work_of_a_handle_that_another_one_replaces_is_waited_for() {
    for written in [false, true] {
        model(3, move || {
            let (memory, a, b, c) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1), stream(2));
            let other = handle(4, &a);
            let first = submit(&a, &memory, written);
            // A part of the memory for each.
            let going_on = thread::spawn({
                let memory = memory.clone();
                move || submit(&a, &memory, written)
            });
            let theirs = submit(&other, &memory, false);
            let read = submit(&c, &memory, false);
            assert!(!written || read.is_after(&first), "{read:?} {first:?}");
            submit(&b, &memory, true);
            let again = going_on.join().unwrap();
            let last = submit(&b, &memory, true);
            assert!([first, again, theirs].iter().all(|work| last.is_after(work)), "{last:?} {again:?}");
            let next = submit(&other, &memory, false);
            assert!(next.is_after(&last), "{next:?} {last:?}");
        });
    }
}

#[test]
fn work_comes_after_what_made_its_memory() {
    for of in [owner(1), 0] {
        model(3, move || {
            let (a, b, c) = (stream(0), stream(1), stream(2));
            let (memory, made) = make(&a, of);
            let other = thread::spawn({
                let (memory, b) = (memory.clone(), b.clone());
                move || submit(&b, &memory, false)
            });
            // By the short way, where there are bits, unless the other was first.
            let mine = submit(&a, &memory, true);
            let theirs = other.join().unwrap();
            assert!(mine.is_after(&made) && theirs.is_after(&made), "{mine:?} {theirs:?} {made:?}");
            for lane in [&c, &b] {
                let next = submit(lane, &memory, true);
                assert!(next.is_after(&made), "{next:?} {made:?}");
                assert!(next.is_after(&mine) && next.is_after(&theirs), "{next:?} {mine:?} {theirs:?}");
            }
        });
    }
}

#[test]
fn what_was_written_before_is_read_after_it_whoever_else_reads() {
    written_is_read_after(3, owner(1));
    // Memory without bits: what a stream comes after is in the list.
    written_is_read_after(2, 0);
}

fn written_is_read_after(switches: usize, of: u64) {
    model(switches, move || {
        let (memory, a, b, c) = (Arc::new(Memory::new(of)), stream(0), stream(1), stream(2));
        let told = Told::new();
        submit(&a, &memory, true);
        let writer = thread::spawn({
            let (memory, a, told) = (memory.clone(), a, told.clone());
            move || {
                let written = submit(&a, &memory, true);
                told.tell(written);
            }
        });
        let reader = thread::spawn({
            let (memory, b, told) = (memory.clone(), b.clone(), told.clone());
            move || {
                for _ in 0..2 {
                    let before = told.ask();
                    let read = submit(&b, &memory, false);
                    assert!(before.is_none_or(|before| read.is_after(&before)));
                }
            }
        });
        writer.join().unwrap();
        reader.join().unwrap();
        let written = told.ask().unwrap();
        for lane in [&b, &c, &b] {
            assert!(submit(lane, &memory, false).is_after(&written));
        }
    });
}

#[test]
fn a_writer_comes_after_every_reader_that_was_before_it() {
    model(3, || {
        let (memory, a, b, c) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1), stream(2));
        let told = Told::new();
        submit(&a, &memory, false);
        let reader = thread::spawn({
            let (memory, a, told) = (memory.clone(), a.clone(), told.clone());
            move || told.tell(submit(&a, &memory, false))
        });
        let writer = thread::spawn({
            let (memory, b, told) = (memory.clone(), b.clone(), told.clone());
            move || {
                let before = told.ask();
                let written = submit(&b, &memory, true);
                assert!(before.is_none_or(|before| written.is_after(&before)));
                written
            }
        });
        reader.join().unwrap();
        let (written, read) = (writer.join().unwrap(), told.ask().unwrap());
        // What a reader that another thread's write came upon has used cannot be freed or written under it.
        for lane in [&c, &b, &a] {
            let next = submit(lane, &memory, true);
            assert!(next.is_after(&read) && next.is_after(&written), "{next:?} {read:?} {written:?}");
        }
    });
}

#[test]
fn the_memory_goes_after_all_that_used_it() {
    model(3, || {
        let (memory, a, b) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1));
        submit(&a, &memory, false);
        let readers: Vec<_> = [a, b]
            .into_iter()
            .map(|lane| {
                let memory = memory.clone();
                thread::spawn(move || submit(&lane, &memory, false))
            })
            .collect();
        // The host waits for all there is, as who looks at pinned memory.
        let (host, pending) = (stream(2), memory.pending());
        pending.named().for_each(|queue| host.wait_for(queue).unwrap());
        memory.settle(&pending);
        let reads: Vec<Done> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        // The end of the memory: it goes after whoever is in the list, or was waited for.
        memory.queues().iter().for_each(|queue| host.wait_for(queue).unwrap());
        let clock = *host.0.clock.lock().unwrap();
        assert!(reads.iter().all(|read| clock[read.stream] >= read.at), "{reads:?} {clock:?}");
    });
}

#[test]
fn threads_that_share_a_stream_finish_in_any_order() {
    model(3, || {
        let (memory, other, a, b) =
            (Arc::new(Memory::new(owner(1))), Memory::new(owner(1)), stream(0), stream(1));
        submit(&a, &memory, false);
        submit(&a, &other, false);
        let reader = thread::spawn({
            let (memory, a) = (memory.clone(), a.clone());
            move || submit(&a, &memory, false)
        });
        // It counts as one more that has finished, and has nothing to do with the memory.
        let beside = thread::spawn(move || submit(&a, &other, false));
        submit(&b, &memory, true);
        submit(&b, &memory, true);
        beside.join().unwrap();
        let read = reader.join().unwrap();
        let written = submit(&b, &memory, true);
        assert!(written.is_after(&read), "{written:?} {read:?}");
    });
}

#[test]
fn one_wait_for_two_pieces_of_memory_covers_what_came_before_it_alone() {
    model(3, || {
        let (one, two, a, b) = (Memory::new(owner(1)), Arc::new(Memory::new(owner(1))), stream(0), stream(1));
        submit_all(&a, &[&one, &two], false);
        let reader = thread::spawn({
            let two = two.clone();
            move || submit(&a, &two, false)
        });
        submit_all(&b, &[&one, &two], true);
        let read = reader.join().unwrap();
        let written = submit(&b, &two, true);
        assert!(written.is_after(&read), "{written:?} {read:?}");
    });
}

#[test]
fn only_what_the_host_has_seen_the_end_of_is_not_waited_for() {
    for write in [false, true] {
        model(3, move || {
            let (memory, a, b) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1));
            let first = submit(&a, &memory, true);
            let told = Told::new();
            let writer = thread::spawn({
                let (memory, a, told) = (memory.clone(), a.clone(), told.clone());
                move || told.tell(submit(&a, &memory, true))
            });
            let host = thread::spawn({
                let a = a.clone();
                move || a.wait_on_the_host()
            });
            // While the host waits and another thread submits; and when both are over.
            let before = told.ask();
            let next = submit_beside(&b, &[&memory], write, Some(&a));
            assert!(next.is_after(&first), "{next:?} {first:?}");
            assert!(before.is_none_or(|before| next.is_after(&before)), "{next:?} {before:?}");
            writer.join().unwrap();
            host.join().unwrap();
            let written = told.ask().unwrap();
            let next = submit_beside(&b, &[&memory], write, Some(&a));
            assert!(next.is_after(&written), "{next:?} {written:?}");
        });
    }
}

#[test]
fn what_the_host_has_seen_the_end_of_is_waited_for_by_nobody() {
    model(2, || {
        let (memory, a, b) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1));
        let first = submit(&a, &memory, true);
        a.wait_on_the_host();
        let next = submit_beside(&b, &[&memory], true, Some(&a));
        assert!(next.is_after(&first) && a.waits() == 0);
        submit(&a, &memory, false);
        assert!(b.waits() == 1, "b has written, and nobody has seen the end of it");
    });
}

#[test]
fn a_wait_is_skipped_for_one_piece_of_memory_and_made_for_the_next() {
    model(3, || {
        let (one, two, a, b) = (Memory::new(owner(1)), Arc::new(Memory::new(owner(1))), stream(0), stream(1));
        let first = submit_all(&a, &[&one, &two], true);
        let reader = thread::spawn({
            let (two, a) = (two.clone(), a.clone());
            move || submit(&a, &two, false)
        });
        let host = thread::spawn({
            let a = a.clone();
            move || a.wait_on_the_host()
        });
        let written = submit_beside(&b, &[&one, &two], true, Some(&a));
        assert!(written.is_after(&first), "{written:?} {first:?}");
        let read = reader.join().unwrap();
        host.join().unwrap();
        let written = submit_beside(&b, &[&two], true, Some(&a));
        assert!(written.is_after(&read), "{written:?} {read:?}");
    });
}

/// Memory whose address was taken goes after all work that the host has not seen the end of, noted or not.
#[test]
fn what_uses_an_address_that_was_taken_comes_before_the_end_of_the_memory() {
    model(3, || {
        let (a, told) = (stream(0), Told::new());
        let first = submit_all(&a, &[], true);
        let user = thread::spawn({
            let (a, told) = (a.clone(), told.clone());
            move || told.tell(submit_all(&a, &[], true))
        });
        let host = thread::spawn({
            let a = a.clone();
            move || a.wait_on_the_host()
        });
        for _ in 0..2 {
            // What is known of is told before the memory ends.
            let (before, freeing) = (told.ask(), stream(2));
            let announced = a.submissions().announced();
            if !a.has_seen_end_of(announced) {
                freeing.wait_for(&a).unwrap();
            }
            let freed = submit_beside(&freeing, &[], true, Some(&a));
            assert!(freed.is_after(&first), "{freed:?} {first:?}");
            assert!(before.is_none_or(|before| freed.is_after(&before)), "{freed:?} {before:?}");
        }
        user.join().unwrap();
        host.join().unwrap();
    });
}

#[test]
fn who_waits_long_keeps_nobody_from_the_memory() {
    for write in [false, true] {
        model(3, move || {
            let gate = Gate::default();
            let (memory, a) = (Arc::new(Memory::new(owner(1))), stream_in(0, Some(gate.clone())));
            let (b, c) = (stream(1), stream(2));
            // A reader waits for a writer, or a writer for a reader.
            let first = submit(&a, &memory, !write);
            let waiting = thread::spawn({
                let (memory, b) = (memory.clone(), b.clone());
                move || submit(&b, &memory, write)
            });
            // The first one waits for this thread, which uses another part of the memory and need not wait for the first one.
            let beside = write.then(|| submit(&c, &memory, false));
            assert!(memory.queues().iter().any(|queue| queue.is(&a)) || write);
            *gate.0.lock().unwrap() = true;
            gate.1.notify_all();
            let waited = waiting.join().unwrap();
            let next = submit(&b, &memory, true);
            assert!(waited.is_after(&first), "{waited:?} {first:?}");
            assert!(beside.is_none_or(|beside| next.is_after(&beside)), "{next:?} {beside:?}");
        });
    }
}

/// One of two threads launches a graph, the other one submits something at the same time, each on a stream of its own: all of one comes after
/// the other.
fn one_comes_after_the_other(
    mine: impl Fn(&Lane, &[&Memory]) -> Done + Copy + Send + Sync + 'static,
    theirs: impl Fn(&Lane, &[&Memory]) -> Done + Copy + Send + Sync + 'static,
) {
    for (warm, both) in [(None, false), (Some(0), false), (Some(1), false), (None, true)] {
        model(3, move || {
            let (x, y) = (Arc::new(Memory::new(owner(1))), Arc::new(Memory::new(owner(1))));
            let (a, b, c) = (stream(0), stream(1), stream(2));
            // One of the streams has the bits of what both use.
            let before = warm.map(|warm| submit([&a, &b][warm], &x, true));
            let other = thread::spawn({
                let (x, y, b) = (x.clone(), y.clone(), b.clone());
                move || if both { theirs(&b, &[&y, &x]) } else { theirs(&b, &[&x]) }
            });
            let mine = if both { mine(&a, &[&x, &y]) } else { mine(&a, &[&x]) };
            let theirs = other.join().unwrap();
            assert!(mine.is_after(&theirs) != theirs.is_after(&mine), "{mine:?} {theirs:?}");
            let all = [&mine, &theirs].into_iter().chain(&before);
            assert!(before.is_none_or(|before| mine.is_after(&before) && theirs.is_after(&before)));
            let next = submit(&c, &x, true);
            assert!(all.into_iter().all(|earlier| next.is_after(earlier)), "{next:?} {mine:?} {theirs:?}");
        });
    }
}

#[test]
fn launches_of_two_graphs_do_not_mix() {
    let writes = |lane: &Lane, memory: &[&Memory]| launch(lane, memory, true);
    let reads = |lane: &Lane, memory: &[&Memory]| launch(lane, memory, false);
    one_comes_after_the_other(writes, writes);
    one_comes_after_the_other(writes, reads);
}

#[test]
fn a_launch_does_not_mix_with_what_is_submitted_beside_it() {
    one_comes_after_the_other(
        |lane, memory| launch(lane, memory, true),
        |lane, memory| submit_all(lane, memory, true),
    );
    one_comes_after_the_other(
        |lane, memory| launch(lane, memory, true),
        |lane, memory| submit_all(lane, memory, false),
    );
    one_comes_after_the_other(
        |lane, memory| launch(lane, memory, false),
        |lane, memory| submit_all(lane, memory, true),
    );
}

/// Two threads share a stream; who waits until what they submit has finished holds back what is new. It has finished then.
#[test]
fn who_holds_others_back_sees_the_end_of_what_has_begun() {
    model(1, || {
        let (x, a, b) = (Arc::new(Memory::new(owner(1))), stream(0), stream(1));
        submit(&a, &x, true);
        let others = [0, 1].map(|_| {
            let (x, a, told) = (x.clone(), a.clone(), Told::new());
            (told.clone(), thread::spawn(move || told.tell(submit_in_turn(&a, &x, true))))
        });
        let (announced, before) =
            (a.submissions().announced(), others.each_ref().map(|(told, _)| told.ask()));
        a.submissions().hold(|_| ());
        until(|| a.submissions().have_finished(announced));
        a.submissions().release();
        // Whoever comes after it now comes after all of those.
        let mine = submit(&b, &x, true);
        let theirs = others.map(|(_, thread)| thread.join().unwrap());
        assert!(before.iter().flatten().all(|earlier| mine.is_after(earlier)), "{mine:?} {before:?}");
        let numbers = a.submissions().finished();
        assert!((4..=6).contains(&numbers) && a.submissions().have_finished(numbers), "{numbers} {theirs:?}");
    });
}

/// What is on its way to memory that a launch looks at first counts also where other memory has only what the same stream was given before.
#[test]
fn a_launch_comes_after_what_is_on_its_way_to_any_of_its_memory() {
    model(3, || {
        let (x, y) = (Arc::new(Memory::new(owner(1))), Memory::new(owner(1)));
        let (a, b) = (stream(0), stream(1));
        submit(&b, &x, true);
        submit(&b, &y, true);
        // Its bits are gone: what it was given before is all that `y` has of it.
        y.pending();
        let other = thread::spawn({
            let (x, b) = (x.clone(), b);
            move || submit(&b, &x, true)
        });
        let mine = launch(&a, &[&x, &y], true);
        let theirs = other.join().unwrap();
        assert!(mine.is_after(&theirs) != theirs.is_after(&mine), "{mine:?} {theirs:?}");
    });
}

#[test]
fn two_launches_and_what_is_submitted_beside_them_come_one_after_the_other() {
    model(1, || {
        let (x, y) = (Arc::new(Memory::new(owner(1))), Arc::new(Memory::new(owner(1))));
        let (a, b, c) = (stream(0), stream(1), stream(2));
        let launched = thread::spawn({
            let (x, y) = (x.clone(), y.clone());
            move || launch(&a, &[&x, &y], true)
        });
        let written = thread::spawn({
            let x = x.clone();
            move || submit(&c, &x, true)
        });
        let mine = launch(&b, &[&y, &x], true);
        let all = [mine, launched.join().unwrap(), written.join().unwrap()];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert!(one.is_after(other) != other.is_after(one), "{all:?}");
            }
        }
    });
}
