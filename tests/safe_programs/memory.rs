//! Steps with memory: buffers, halves of them on two threads, pinned memory, arrays, another device's.

#![deny(unsafe_code)]

use crate::change::{CONFIG, Change, HALF, Planned, assert_all, assert_halves, range};
use crate::pause;
use crate::program::Program;
use cuda_launch::{CopyBatch, CudaStream, DeviceBuffer, Error};
use std::thread;

impl Program {
    pub(crate) fn change(&mut self) -> Result<(), Error> {
        let (stream, planned) = (self.stream(), self.plan(Change::random));
        let Planned { to, from, half, change } = planned;
        let [target, source] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        let view = &mut target.memory.slice_mut(range(half));
        change.submit(&self.kernels, &stream, view, &source.memory.slice(range(half)))?;
        self.by_id(planned).apply(&mut self.holds);
        Ok(())
    }

    /// A thread changes one half while another thread changes the other.
    pub(crate) fn change_on_threads(&mut self) -> Result<(), Error> {
        let streams = [self.stream(), self.stream()];
        self.change_halves_on(&streams)
    }

    /// The same on these streams; where it is one handle, the threads share it.
    pub(crate) fn change_halves_on(&mut self, streams: &[CudaStream; 2]) -> Result<(), Error> {
        let (to, from) = self.two_buffers();
        let changes: [Vec<_>; 2] = std::array::from_fn(|_| {
            let count = 1 + self.random.below(3);
            (0..count).map(|_| (self.random.pause(), Change::random(&mut self.random))).collect()
        });
        let Self { buffers, kernels, holds, .. } = self;
        let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
        let (to, from) = (target.id, source.id);
        let (left, right) = target.memory.split_at_mut(HALF);
        let (kernels, whole) = (&*kernels, &source.memory);
        thread::scope(|scope| {
            let halves = [left, right].into_iter().enumerate().zip(streams).zip(&changes);
            let threads: Vec<_> = halves
                .map(|(((half, mut target), stream), changes)| {
                    scope.spawn(move || {
                        let source = whole.slice(range(half));
                        changes.iter().try_for_each(|(pause, change)| {
                            pause::before_next_submission(*pause);
                            change.submit(kernels, stream, &mut target, &source)
                        })
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })?;
        for (half, changes) in changes.iter().enumerate() {
            for (_, change) in changes {
                Planned { to, from, half, change: *change }.apply(holds);
            }
        }
        Ok(())
    }

    /// Each on a stream and a thread of its own; then it is written while they read.
    pub(crate) fn many_readers(&mut self) -> Result<(), Error> {
        let (index, readers) = (self.random.below(self.buffers.len()), 1 + self.random.below(14));
        let mut streams = Vec::new();
        for _ in 0..readers {
            let stream = self.ctx.new_stream()?;
            if self.random.one_in(2) {
                self.keep_busy(&stream);
            }
            streams.push((stream, self.random.pause()));
        }
        let buffer = &self.buffers[index];
        let read = |stream: &CudaStream, pause: u64| {
            let mut copy = DeviceBuffer::uninit(stream, 2 * HALF)?;
            pause::before_next_submission(pause);
            copy.view_mut().copy_from_device(stream, &buffer.memory).map(|()| copy)
        };
        let copies: Vec<DeviceBuffer<u32>> = thread::scope(|scope| {
            let threads: Vec<_> =
                streams.iter().map(|(stream, pause)| scope.spawn(move || read(stream, *pause))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_, Error>>()
        })?;
        let expected = self.holds[buffer.id];
        let (stream, value) = (self.stream(), self.random.number());
        let buffer = &mut self.buffers[index];
        buffer.memory.fill(&stream, value)?;
        self.holds[buffer.id] = [value; 2];
        copies.iter().zip(&streams).try_for_each(|(copy, (stream, _))| {
            assert_halves(&copy.to_host_vec(stream)?, expected, "a reader's copy");
            Ok(())
        })
    }

    pub(crate) fn look(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        self.check(index);
        Ok(())
    }

    /// A buffer ends in one of several ways.
    pub(crate) fn replace(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        let buffer = self.buffers.swap_remove(index);
        match self.random.below(3) {
            0 => buffer.memory.close()?,
            1 => {
                // An address that was only looked at changes when the memory goes, not whether.
                let _ = buffer.memory.as_device_ptr();
            }
            _ => thread::spawn(move || drop(buffer)).join().unwrap(),
        }
        self.add_buffer()
    }

    /// What a batch borrowed is free again, and nothing was copied.
    pub(crate) fn forget_batch(&mut self) -> Result<(), Error> {
        let (to, from) = self.two_buffers();
        let [target, source] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        let mut batch = CopyBatch::new();
        batch.push(&mut target.memory, &source.memory)?;
        std::mem::forget(batch);
        Ok(())
    }

    pub(crate) fn use_pinned(&mut self) -> Result<(), Error> {
        let (stream, half) = (self.stream(), self.random.below(2));
        let (index, value) = (self.random.below(self.buffers.len()), self.random.number());
        let buffer = &mut self.buffers[index];
        match self.random.below(4) {
            0 => {
                buffer.memory.slice(range(half)).copy_to_pinned(&stream, &mut self.pinned)?;
                self.pinned_holds = self.holds[buffer.id][half];
            }
            1 => {
                buffer.memory.slice_mut(range(half)).copy_from_pinned(&stream, &self.pinned)?;
                self.holds[buffer.id][half] = self.pinned_holds;
            }
            2 => {
                self.pinned.as_mut_slice()?.fill(value);
                self.pinned_holds = value;
            }
            _ => self.write_pinned_on_threads(value)?,
        }
        assert_all(self.pinned.as_slice()?, self.pinned_holds, "pinned memory");
        Ok(())
    }

    fn write_pinned_on_threads(&mut self, value: u32) -> Result<(), Error> {
        let streams = [self.stream(), self.stream()];
        let pauses = [self.random.pause(), self.random.pause()];
        let (left, right) = self.pinned.device_view_mut().split_at(HALF / 2);
        thread::scope(|scope| {
            let halves = [left, right].into_iter().zip(&streams).zip(pauses);
            let threads: Vec<_> = halves
                .map(|((mut half, stream), pause)| {
                    scope.spawn(move || {
                        pause::before_next_submission(pause);
                        half.fill(stream, value)
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })?;
        self.pinned_holds = value;
        Ok(())
    }

    /// Two threads write to clones of an array; either may be the last.
    pub(crate) fn use_array(&mut self) -> Result<(), Error> {
        let (streams, value) = ([self.stream(), self.stream()], 2 * self.random.number());
        let pauses = [self.random.pause(), self.random.pause()];
        if self.random.one_in(2) {
            thread::scope(|scope| {
                let write = |stream, pause, value| {
                    let array = self.array.clone();
                    scope.spawn(move || {
                        pause::before_next_submission(pause);
                        array.copy_from_host(stream, &[value; HALF])
                    })
                };
                let threads =
                    [write(&streams[0], pauses[0], value), write(&streams[1], pauses[1], value + 1)];
                threads.into_iter().try_for_each(|thread| thread.join().unwrap())
            })?;
            let seen = self.array.to_host_vec(&self.ctx.new_stream()?)?;
            assert_eq!(seen[0] & !1, value & !1, "an array holds what was written first or second");
            self.array_holds = seen[0];
        }
        assert_all(&self.array.to_host_vec(&streams[0])?, self.array_holds, "an array");
        Ok(())
    }

    pub(crate) fn use_peer(&mut self) -> Result<(), Error> {
        let (stream, index, half) =
            (self.stream(), self.random.below(self.buffers.len()), self.random.below(2));
        let value = self.random.number();
        let mut far = DeviceBuffer::filled(&self.far, HALF, value)?;
        let buffer = &mut self.buffers[index];
        if self.random.one_in(2) {
            buffer.memory.slice_mut(range(half)).copy_from_peer(&stream, &far)?;
            self.holds[buffer.id][half] = value;
        } else {
            far.view_mut().copy_from_peer(&stream, &buffer.memory.slice(range(half)))?;
            assert_all(&far.to_host_vec(&self.far)?, self.holds[buffer.id][half], "the other device's copy");
        }
        if self.far.context().ordinal() != 0 {
            // The copy does not make it memory of this device.
            let result = self.kernels.step(&stream, CONFIG, &mut far, 1, 1);
            assert!(
                result.is_err_and(|error| error.is_context_mismatch()),
                "a kernel takes memory of the other device after a copy to it"
            );
        }
        Ok(())
    }
}
