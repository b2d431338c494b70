//! What the host functions of a graph tell, and whether they or what waits for them come too early.

#![deny(unsafe_code)]

use cuda_launch::{CudaStream, Error};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct GraphWitness {
    numbers: Mutex<Vec<u32>>,
    /// For so many launches the work before the event that the graph waits for is done.
    opened: AtomicUsize,
    /// So many have come to the node behind that.
    entered: AtomicUsize,
    early: AtomicBool,
}

impl GraphWitness {
    /// A function that tells this number, after a while.
    pub(crate) fn teller(self: &Arc<Self>, number: u32, micros: u64) -> impl Fn() + Send + Sync + 'static {
        let witness = self.clone();
        move || {
            thread::sleep(Duration::from_micros(micros));
            witness.numbers.lock().unwrap().push(number);
        }
    }

    /// The stream opens the way for this launch, after a while.
    pub(crate) fn open_on(
        self: &Arc<Self>,
        stream: &CudaStream,
        micros: u64,
        launch: usize,
    ) -> Result<(), Error> {
        let witness = self.clone();
        stream.call_host(move || {
            thread::sleep(Duration::from_micros(micros));
            witness.opened.fetch_max(launch, Ordering::SeqCst);
        })
    }

    /// The next launch is behind the node that waits for its way to be open.
    pub(crate) fn enter(&self) {
        let launch = 1 + self.entered.fetch_add(1, Ordering::SeqCst);
        self.must_be(self.opened.load(Ordering::SeqCst) >= launch);
    }

    /// So many numbers were told before this.
    pub(crate) fn must_have(&self, count: usize) {
        self.must_be(self.numbers.lock().unwrap().len() >= count);
    }

    fn must_be(&self, so: bool) {
        if !so {
            self.early.store(true, Ordering::SeqCst);
        }
    }

    /// Panics unless this was told, and nothing came too early.
    pub(crate) fn check(&self, expected: &[u32]) {
        assert!(
            !self.early.load(Ordering::SeqCst),
            "a node of a graph, or what waits for one, came too early"
        );
        assert_eq!(*self.numbers.lock().unwrap(), expected, "what the host functions of a graph told");
    }
}
