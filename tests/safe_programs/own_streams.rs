//! Steps with the streams that threads have for themselves: given work, synchronised or not, by threads that end or go on.

#![deny(unsafe_code)]

use crate::at_thread_end::at_thread_end;
use crate::change::{Change, Planned, kernels};
use crate::pause::Pace;
use crate::program::{Buffer, Program};
use cuda_launch::{CudaStream, Error};
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
            for (turn, mut pair) in given {
                turn.take(&kernels, &stream, &mut pair)?;
                give_back.send(pair).unwrap();
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

    /// A thread works on two buffers, and again while its locals are destroyed. In between others use them.
    pub(crate) fn end_with_work(&mut self) -> Result<(), Error> {
        let first = self.plan(Change::random);
        let turns = [first.half, self.random.below(2)].map(|half| {
            let (change, pace) = (Change::random(&mut self.random), self.random.pace());
            Turn { half, change, pace, waits: self.random.one_in(4) }
        });
        let by_id = self.by_id(first);
        let ((give, given), (give_back, comes_back)) = (channel(), channel());
        let thread = thread::spawn({
            let (kernels, stream, pair) =
                (self.kernels.clone(), self.ctx.per_thread_stream(), self.take_two(first.to, first.from));
            let ([one, other], (keep, kept)) = (turns, channel());
            let (again, their_kernels) = (stream.clone(), kernels.clone());
            let at_end = move || {
                // Nothing, if the first turn has failed.
                let Ok(pair) = kept.recv() else { return };
                give_back.send(Ok(pair)).unwrap();
                let mut pair = given.recv().unwrap();
                give_back.send(other.take(&their_kernels, &again, &mut pair).map(|()| pair)).unwrap();
            };
            move || {
                // First: what was used last goes first.
                at_thread_end(at_end);
                let mut pair = pair;
                one.take(&kernels, &stream, &mut pair)?;
                keep.send(pair).unwrap();
                Ok(())
            }
        });
        let apply = |turn: Turn, holds: &mut _| {
            Planned { half: turn.half, change: turn.change, ..by_id }.apply(holds);
        };
        if let Ok(pair) = comes_back.recv() {
            self.buffers.extend(pair?);
            apply(turns[0], &mut self.holds);
            for _ in 0..self.random.below(3) {
                if self.random.one_in(2) { self.change()? } else { self.per_thread()? }
            }
            let place = |id| self.buffers.iter().position(|buffer| buffer.id == id).unwrap();
            let (to, from) = (place(by_id.to), place(by_id.from));
            give.send(self.take_two(to, from)).unwrap();
            self.buffers.extend(comes_back.recv().unwrap()?);
            apply(turns[1], &mut self.holds);
        }
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
#[derive(Clone, Copy)]
struct Turn {
    half: usize,
    change: Change,
    pace: Pace,
    /// Whether it synchronises its stream then.
    waits: bool,
}

impl Turn {
    fn take(
        self,
        kernels: &kernels::Module,
        stream: &CudaStream,
        pair: &mut [Buffer; 2],
    ) -> Result<(), Error> {
        let ([target, source], half) = (pair, self.half);
        self.pace.set(stream)?;
        let view = &mut target.memory.half_mut(half);
        self.change.submit(kernels, stream, view, &source.memory.half(half))?;
        if self.waits { stream.synchronize() } else { Ok(()) }
    }
}
