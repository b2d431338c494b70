//! The recorder's turns at a stream: who waits for whom.

#![allow(clippy::unwrap_used)]

#[path = "../recorder/src/turns.rs"]
mod turns;

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use turns::{Lasts, Turns};

/// A copy may wait for what another thread puts on the stream next, however many waited with it.
#[test]
fn a_copy_that_goes_on_keeps_no_launch_that_waited_with_it() {
    // Which of the two gets the next turn is not determined.
    for _ in 0..100 {
        let turns = Arc::new(Turns::default());
        let launch = turns.take(1, Lasts::Call);
        let (sender, launched) = mpsc::channel();
        let (go, stay) = mpsc::channel::<()>();
        let other = turns.clone();
        let copy = thread::spawn(move || {
            let _turn = other.take(1, Lasts::Copy);
            let _ = stay.recv();
        });
        let other = turns.clone();
        let waiting = thread::spawn(move || {
            drop(other.take(1, Lasts::Call));
            sender.send(()).unwrap();
        });
        thread::sleep(Duration::from_millis(2));
        drop(launch);
        launched.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(go);
        copy.join().unwrap();
        waiting.join().unwrap();
        turns.tidy();
    }
}
