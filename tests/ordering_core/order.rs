//! What comes after what, and what is waited for.

use crate::accesses::{NO_KEY, Queue, owner};
use crate::model::{Lane, Memory, begin, end, lane, lanes, note, submit};
use crate::waits::Waits;

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
