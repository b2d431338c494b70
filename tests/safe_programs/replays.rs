//! Steps with operations that are used more than once: recorded and replayed, or shared by threads.

#![deny(unsafe_code)]

use crate::change::{CONFIG, HALF, assert_halves};
use crate::operations::poll_once;
use crate::program::Program;
use cuda_launch::Error;
use cuda_launch::operation::{DeviceOperation, RoundRobin, block_on, from_result, memset, zeroed, zip};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

impl Program {
    /// Recorded once, launched some times; its buffer comes back with what the last one left.
    pub(crate) fn replay_operation(&mut self) -> Result<(), Error> {
        let links = self.links(false);
        let (chain, id) = self.chain(&links)?;
        let mut graph = chain.graph_in(&self.ctx)?;
        for _ in 0..self.random.below(4) {
            let stream = self.stream();
            match self.random.below(3) {
                0 => graph.launch_on(&stream)?,
                1 => graph.replay().sync_on(&stream)?,
                _ => {
                    let policy = Arc::new(RoundRobin::of([stream])?);
                    // Dropped at once: the replay goes on.
                    let _ = poll_once(&mut graph.replay().into_future().schedule(policy));
                }
            }
            self.apply(&links, id);
            if self.random.one_in(3) {
                let (stream, value) = (self.stream(), self.random.number());
                graph.output_mut().fill(&stream, value)?;
                self.holds[id] = [value; 2];
            }
            if self.random.one_in(3) {
                let stream = self.stream();
                let seen = graph.output().to_host_vec(&stream)?;
                assert_halves(&seen, self.holds[id], "what a recorded operation made");
            }
        }
        self.put_back(graph.into_output(), id);
        Ok(())
    }

    /// Two threads use what it makes, each on a stream of its own. It runs once, and what comes after it sees all of it.
    pub(crate) fn share_operation(&mut self) -> Result<(), Error> {
        let (links, policies) = (self.links(true), [self.policy(), self.policy()]);
        let (last, number, busy) = (self.stream(), self.random.number(), self.random.pace().busy);
        let (chain, id) = self.chain(&links)?;
        let (runs, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let count = runs.clone();
        // Nothing but the operation orders this against what comes after it.
        let counted = chain.and_then_with_context(move |cx, x| {
            let run = move || {
                thread::sleep(Duration::from_micros(busy));
                count.fetch_add(1, Ordering::SeqCst);
            };
            from_result(cx.stream().and_then(|stream| stream.call_host(run)).map(|()| x))
        });
        let shared = counted.shared();
        let collected = thread::scope(|scope| {
            let threads = policies.map(|policy| {
                let (shared, kernels) = (shared.clone(), self.kernels.clone());
                let (runs, seen) = (runs.clone(), seen.clone());
                scope.spawn(move || {
                    let own = zeroed::<u32>(2 * HALF).and_then(move |y| memset(y, number));
                    let collect = zip!(own, shared)
                        .and_then_with_context(move |cx, both| {
                            let look =
                                move || _ = seen.fetch_add(runs.load(Ordering::SeqCst), Ordering::SeqCst);
                            from_result(cx.stream().and_then(|stream| stream.call_host(look)).map(|()| both))
                        })
                        .and_then(move |(y, x)| kernels.collect_async_owned(CONFIG, y, x))
                        .map(|(y, _)| y);
                    block_on(collect.schedule(policy))
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        self.apply(&links, id);
        for collected in collected {
            let expected = self.holds[id].map(|x| number.wrapping_mul(31).wrapping_add(x));
            assert_halves(&collected?.to_host_vec(&last)?, expected, "what is made of a shared operation");
        }
        assert_eq!(seen.load(Ordering::SeqCst), 2, "each sees one run of a shared operation");
        match Arc::into_inner(shared.sync_on(&last)?) {
            Some(memory) => self.put_back(memory, id),
            None => self.add_buffer()?,
        }
        Ok(())
    }
}
