//! Steps with the streams that threads have for themselves: given work, synchronised or not, by threads that end or go on.

#![deny(unsafe_code)]

use crate::change::{Change, Planned};
use crate::pause::Pace;
use crate::program::{Buffer, Program};
use cuda_launch::Error;
use std::sync::mpsc::channel;
use std::thread;

impl Program {
    /// Threads that share a handle, which means another stream on each, or have one of their own; what they were given goes on
    /// after they have ended.
    pub(crate) fn per_thread(&mut self) -> Result<(), Error> {
        let shared = self.ctx.per_thread_stream();
        if self.random.one_in(2) {
            return self.change_halves_on(&[shared.clone(), shared]);
        }
        // One after the other, and this thread waits for nobody.
        for _ in 0..1 + self.random.below(3) {
            let (planned, own) = (self.plan(Change::random), self.random.one_in(2));
            let pace = self.random.pace();
            let Planned { to, from, half, change } = planned;
            let Self { buffers, kernels, ctx, .. } = self;
            let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
            let (mut target, source) = (target.memory.half_mut(half), source.memory.half(half));
            thread::scope(|scope| {
                let work = || {
                    let stream = if own { ctx.per_thread_stream() } else { shared.clone() };
                    pace.set(&stream)?;
                    change.submit(kernels, &stream, &mut target, &source)
                };
                scope.spawn(work).join().unwrap()
            })?;
            self.by_id(planned).apply(&mut self.holds);
        }
        Ok(())
    }

    /// A thread and this one work on buffers in turns. The thread may synchronise its stream after a turn: this one waits for what
    /// the thread gave to it after that.
    pub(crate) fn take_turns(&mut self) -> Result<(), Error> {
        let (ctx, kernels) = (self.ctx.clone(), self.kernels.clone());
        let (give, given) = channel::<(Turn, [Buffer; 2])>();
        let (give_back, comes_back) = channel();
        let thread = thread::spawn(move || {
            let stream = ctx.per_thread_stream();
            for (Turn { half, change, pace, waits }, [mut target, source]) in given {
                pace.set(&stream)?;
                let view = &mut target.memory.half_mut(half);
                change.submit(&kernels, &stream, view, &source.memory.half(half))?;
                if waits {
                    stream.synchronize()?;
                }
                give_back.send([target, source]).unwrap();
            }
            Ok(())
        });
        for _ in 0..1 + self.random.below(4) {
            let Planned { to, from, half, change } = self.plan(Change::random);
            let turn = Turn { half, change, pace: self.random.pace(), waits: self.random.one_in(2) };
            let by_id = self.by_id(Planned { to, from, half, change });
            if give.send((turn, self.take_two(to, from))).is_err() {
                break;
            }
            let Ok(pair) = comes_back.recv() else { break };
            self.buffers.extend(pair);
            by_id.apply(&mut self.holds);
            if self.random.one_in(2) {
                self.change()?;
            }
        }
        drop(give);
        thread.join().unwrap()
    }

    fn take_two(&mut self, one: usize, other: usize) -> [Buffer; 2] {
        let last = self.buffers.len() - 1;
        let first = self.buffers.swap_remove(one);
        // The last one has taken its place.
        [first, self.buffers.swap_remove(if other == last { one } else { other })]
    }
}

/// What the thread does to half a buffer.
struct Turn {
    half: usize,
    change: Change,
    pace: Pace,
    /// Whether it synchronises its stream then.
    waits: bool,
}
