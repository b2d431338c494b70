//! Launches that borrow nothing, such as those of graphs, which withdraw while what they come after is on its way.

use std::rc::Rc;

use crate::accesses::{Queue, owner};
use crate::model::{Lane, Memory, begin, end, lane, lane_with, lanes, note, submit};
use crate::submissions::Submissions;
use crate::unborrowed;
use crate::waits::Waits;

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

/// A launch that another thread does not finish is not waited for forever, and nothing is submitted before it.
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

/// A launch that is held back keeps nobody waiting who must come after it.
#[test]
fn a_launch_is_held_back_before_it_is_announced() {
    let c = &lanes(1)[0];
    let note = || Ok(((), Waits::<Lane>::unborrowed()));
    let turn = || assert_eq!(c.unborrowed().announced(), 0, "it is announced");
    unborrowed::announce(turn, c.unborrowed(), note, |_| Ok(())).map(drop).unwrap();
    assert_eq!(c.unborrowed().announced(), 1);
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
