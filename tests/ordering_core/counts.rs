//! The counts of submissions: what has finished, and who holds others back.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::submissions::Submissions;

#[test]
fn submissions_that_overlap_are_known_to_have_finished_when_all_have() {
    let submissions = Submissions::default();
    assert_eq!((submissions.announce(), submissions.finished()), (0, 0));
    assert!(!submissions.have_finished(1));
    submissions.finish();
    assert_eq!((submissions.announced(), submissions.finished()), (1, 1));
    assert!(submissions.have_finished(1));
    assert_eq!(submissions.announce(), 1);
    assert_eq!(submissions.finished(), 1, "one after the other: the count tells");
    assert!(submissions.have_finished(1));
    assert_eq!(submissions.announce(), 2);
    submissions.finish();
    assert_eq!(submissions.finished(), 0, "which of the two?");
    assert!(!submissions.have_finished(2));
    submissions.finish();
    assert_eq!(submissions.finished(), 3);
    assert!(submissions.have_finished(2) && submissions.have_finished(3));
}

/// While somebody holds new ones back, each is withdrawn, finishes, and is announced again later.
#[test]
fn a_submission_that_is_held_back_is_announced_again() {
    let (all, withdrawn) = (Submissions::default(), Cell::new(None));
    let withdraw = |number| {
        withdrawn.set(Some(number));
        true
    };
    let announce = || all.announce_in_turn(withdraw);
    let while_held = |announce: &dyn Fn() -> usize| {
        let is_over = AtomicBool::new(false);
        all.hold(|_| ());
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                is_over.store(true, Ordering::SeqCst);
                all.release();
            });
            let number = announce();
            assert!(is_over.load(Ordering::SeqCst), "it was not held back");
            number
        })
    };
    assert_eq!(announce(), 0);
    assert_eq!((while_held(&announce), withdrawn.take()), (3, Some(2)));
    assert!(!all.have_finished(1));
    all.finish();
    assert!(!all.have_finished(1), "it is not known which of the two has finished");
    all.finish();
    assert!(all.have_finished(4));
    // Also one that was announced by a number, if somebody holds.
    assert_eq!((all.announce(), all.in_turn(4, withdraw), withdrawn.take()), (4, 4, None));
    assert_eq!((while_held(&|| all.in_turn(4, withdraw)), withdrawn.take()), (6, Some(4)));
    all.finish();
    // Nothing is on its way, and somebody holds: all before have finished, and so has what holds, for whoever asks.
    all.hold(|number| {
        assert_eq!(number, 7);
        // Who has waited marks the last one of those as done, which is not to be written over.
        assert!(!all.have_finished(8) && all.finished() < 8, "it is noted first");
    });
    assert!(all.have_finished(8) && all.finished() == 8);
    all.release();
    assert_eq!((announce(), withdrawn.take()), (8, None));
    assert!(all.have_finished(8) && !all.have_finished(9));
}

/// Who holds others back may wait for a submission that this one is a part of.
#[test]
fn a_submission_inside_of_another_one_is_not_held_back() {
    let all = Submissions::default();
    assert_eq!(all.announce(), 0);
    all.hold(|_| ());
    assert_eq!((all.announce_in_turn(|_| false), all.in_turn(2, |_| false)), (2, 2));
    all.finish();
    all.finish();
    assert!(all.have_finished(3), "all but who holds back");
}

/// Who holds others back may wait for something else by then, and be stuck.
#[test]
fn who_holds_others_back_for_too_long_holds_no_more_of_them_back() {
    let (all, withdrawn) = (Submissions::default(), Cell::new(0));
    let is_held_back = || {
        let before = withdrawn.get();
        all.announce_in_turn(|_| {
            withdrawn.set(before + 1);
            true
        });
        all.finish();
        withdrawn.get() > before
    };
    all.hold(|_| ());
    assert_eq!([is_held_back(), is_held_back(), is_held_back()], [true, false, false]);
    // Not by who comes meanwhile, either.
    all.hold(|_| ());
    all.release();
    assert!(!is_held_back());
    all.release();
    all.hold(|_| ());
    assert!(is_held_back(), "another time");
    all.release();
    assert!(all.have_finished(all.announced()));
}

/// What has finished is who held others back, and not what was on its way.
#[test]
fn who_holds_others_back_is_not_one_of_them() {
    let all = Submissions::default();
    assert_eq!(all.announce(), 0);
    all.hold(|number| assert_eq!(number, 1));
    assert!(!all.have_finished(1));
    all.release();
    assert!(!all.have_finished(1) && all.finished() == 0);
    all.finish();
    assert!(all.have_finished(2) && all.finished() == 2);
}

/// What is announced besides another one is no overlap, and none of it counts before the other one.
#[test]
fn what_is_announced_besides_another_one_finishes_with_it() {
    let all = Submissions::default();
    assert_eq!((all.announce(), all.announce_parts(3)), (0, 1));
    assert!(!all.have_finished(1) && all.finished() == 0);
    all.finish();
    assert!(all.have_finished(1) && !all.have_finished(2));
    all.finish_all(3);
    assert_eq!((all.finished(), all.announce()), (4, 4));
    assert!(all.have_finished(4) && !all.have_finished(5), "the counts are conclusive");
}

/// A moment at which all had finished is remembered.
#[test]
fn what_has_finished_once_has_for_ever() {
    let submissions = Submissions::default();
    let two = || (0..2).for_each(|_| _ = submissions.announce());
    two();
    assert!(!submissions.have_finished(2));
    (0..2).for_each(|_| submissions.finish());
    assert!(submissions.have_finished(2));
    two();
    assert!(submissions.have_finished(2) && !submissions.have_finished(3));
    assert_eq!(submissions.finished(), 2);
    submissions.finish();
    assert!(!submissions.have_finished(3), "which of the two is not known");
}
