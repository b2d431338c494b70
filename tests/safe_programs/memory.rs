//! Steps with memory: buffers, halves of them on two threads, pinned memory, arrays, another device's.

#![deny(unsafe_code)]

use crate::change::{CONFIG, Change, HALF, Planned, Random, assert_all, assert_halves, range};
use crate::copies::{EXTENT, LAYOUT};
use crate::pause::Pace;
use crate::program::ARRAY;
use crate::program::Program;
use cuda_launch::memory::{CopySource, CopyTarget};
use cuda_launch::texture::{ArrayFlags, CudaArray};
use cuda_launch::{CudaStream, DeviceBuffer, Error};
use std::thread;

impl Program {
    pub(crate) fn change(&mut self) -> Result<(), Error> {
        let (stream, planned) = (self.stream(), self.plan(Change::random));
        let Planned { to, from, half, change } = planned;
        let [target, source] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        let view = &mut target.memory.half_mut(half);
        change.submit(&self.kernels, &stream, view, &source.memory.half(half))?;
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
        // Half of the time the second thread comes just while the driver takes the first one's work, which the stream is slow to do: a note
        // that is torn from its submission is seen then.
        let torn = self.random.one_in(2);
        let changes: [Vec<_>; 2] = std::array::from_fn(|thread| {
            let count = if torn { 1 } else { 1 + self.random.below(3) };
            let pace = |random: &mut Random| match thread {
                _ if !torn => random.pace(),
                0 => Pace { busy: 2000, pause: 300 },
                _ => Pace { busy: 0, pause: 0 },
            };
            (0..count).map(|_| (pace(&mut self.random), Change::random(&mut self.random))).collect()
        });
        let Self { buffers, kernels, holds, .. } = self;
        let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
        let place = to;
        let (to, from) = (target.id, source.id);
        let (left, right) = target.memory.view_mut().split_at(HALF);
        let (kernels, whole) = (&*kernels, source.memory.view());
        thread::scope(|scope| {
            let halves = [left, right].into_iter().enumerate().zip(streams).zip(&changes);
            let threads: Vec<_> = halves
                .map(|(((half, mut target), stream), changes)| {
                    scope.spawn(move || {
                        let source = whole.slice(range(half));
                        changes.iter().try_for_each(|(pace, change)| {
                            pace.set(stream)?;
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
        // At once, or later: work that nobody waits for is seen only until it is done.
        if torn || self.random.one_in(2) {
            self.check(place);
        }
        Ok(())
    }

    /// Each on a stream and a thread of its own; then it is written while they read.
    pub(crate) fn many_readers(&mut self) -> Result<(), Error> {
        let (index, readers) = (self.random.below(self.buffers.len()), 1 + self.random.below(14));
        let mut streams = Vec::new();
        for _ in 0..readers {
            streams.push((self.ctx.new_stream()?, self.random.pace()));
        }
        let buffer = &self.buffers[index];
        let read = |stream: &CudaStream, pace: Pace| {
            let mut copy = DeviceBuffer::uninit(stream, 2 * HALF)?;
            pace.set(stream)?;
            copy.view_mut().copy_from_device(stream, &buffer.memory.view()).map(|()| copy)
        };
        let copies: Vec<DeviceBuffer<u32>> = thread::scope(|scope| {
            let threads: Vec<_> =
                streams.iter().map(|(stream, pace)| scope.spawn(move || read(stream, *pace))).collect();
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

    pub(crate) fn use_pinned(&mut self) -> Result<(), Error> {
        let (stream, half) = (self.stream(), self.random.below(2));
        let (index, value) = (self.random.below(self.buffers.len()), self.random.number());
        let buffer = &mut self.buffers[index];
        match self.random.below(4) {
            0 => {
                buffer.memory.half(half).copy_to_pinned(&stream, &mut self.pinned)?;
                self.pinned_holds = self.holds[buffer.id][half];
            }
            1 => {
                buffer.memory.half_mut(half).copy_from_pinned(&stream, &self.pinned)?;
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
        let paces = [(); 2].map(|()| self.random.pace());
        let (left, right) = self.pinned.device_view_mut().split_at(HALF / 2);
        thread::scope(|scope| {
            let halves = [left, right].into_iter().zip(&streams).zip(paces);
            let threads: Vec<_> = halves
                .map(|((mut half, stream), pace)| {
                    scope.spawn(move || {
                        pace.set(stream)?;
                        half.fill(stream, value)
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })?;
        self.pinned_holds = value;
        Ok(())
    }

    /// Two threads copy to clones of an array.
    pub(crate) fn use_array(&mut self) -> Result<(), Error> {
        let (streams, value) = ([self.stream(), self.stream()], 2 * self.random.number());
        let paces = [(); 2].map(|()| self.random.pace());
        if self.random.one_in(2) {
            self.array.copy_from_host(&streams[0], &[value; HALF])?;
            self.array_holds = value;
        } else {
            let (shape, flags) = (ARRAY, ArrayFlags::empty());
            let sources =
                [CudaArray::new(&self.ctx, shape, flags)?, CudaArray::new(&self.ctx, shape, flags)?];
            sources[0].copy_from_host(&streams[0], &[value; HALF])?;
            sources[1].copy_from_host(&streams[1], &[value + 1; HALF])?;
            thread::scope(|scope| {
                let threads: Vec<_> = (sources.iter().zip(&streams).zip(paces))
                    .map(|((source, stream), pace)| {
                        let array = self.array.clone();
                        scope.spawn(move || {
                            pace.set(stream)?;
                            stream.copy_region(&source.as_source(), &mut array.as_target(), source.extent())
                        })
                    })
                    .collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap())
            })?;
            // Calls at the same time have no order: each element is of either. But both are done.
            let seen = self.array.to_host_vec(&self.ctx.new_stream()?)?;
            assert!(seen.iter().all(|x| x & !1 == value), "an array holds what was written first or second");
            streams.iter().try_for_each(CudaStream::synchronize)?;
            let again = self.array.to_host_vec(&streams[0])?;
            assert!(seen == again, "an array is written after it was read: {} and {}", seen[0], again[0]);
            self.array.copy_from_host(&streams[1], &[value; HALF])?;
            self.array_holds = value;
        }
        assert_all(&self.array.to_host_vec(&streams[0])?, self.array_holds, "an array");
        Ok(())
    }

    /// A copy does not make it memory of this context: no kernel takes it, to read or to write. Nobody may have waited for the copy when the
    /// memory goes.
    pub(crate) fn use_peer(&mut self) -> Result<(), Error> {
        let (stream, index, half) =
            (self.stream(), self.random.below(self.buffers.len()), self.random.below(2));
        let (value, other) = (self.random.number(), self.ctx.new_stream()?);
        let mut far = if self.random.one_in(2) {
            DeviceBuffer::filled(&self.far, HALF, value)?
        } else {
            let mut plain = DeviceBuffer::uninit_plain(self.far.context(), HALF)?;
            plain.fill(&self.far, value)?;
            plain
        };
        let (on_thread, pace) = (self.random.one_in(3), self.random.pace());
        let Self { buffers, holds, far: far_stream, kernels, random, .. } = self;
        let buffer = &mut buffers[index];
        let near = &mut buffer.memory.half_mut(half);
        let (there, as_region) = (random.one_in(2), random.one_in(3));
        let on = if random.one_in(2) { &*far_stream } else { &stream };
        let mut copy = || {
            pace.set(on)?;
            match (there, as_region) {
                (true, false) => far.view_mut().copy_from_peer(on, near),
                (false, false) => near.copy_from_peer(on, &far),
                (true, true) => {
                    let (source, mut far) = (near.as_view(), far.view_mut());
                    let mut target = CopyTarget::device(&mut far, LAYOUT);
                    on.copy_region_peer(&CopySource::device(&source, LAYOUT), &mut target, EXTENT)
                }
                (false, true) => {
                    let mut target = CopyTarget::device(near, LAYOUT);
                    on.copy_region_peer(&CopySource::device(&far.view(), LAYOUT), &mut target, EXTENT)
                }
            }
        };
        if on_thread {
            thread::scope(|scope| scope.spawn(copy).join().unwrap())?;
        } else {
            copy()?;
        }
        if !there {
            holds[buffer.id][half] = value;
        }
        for stream in [&stream, &other] {
            let read = kernels.collect(stream, CONFIG, near, &far);
            let write = kernels.step(stream, CONFIG, &mut far, 1, 1);
            for result in [read, write] {
                let refused = result.is_err_and(|error| error.is_context_mismatch());
                assert!(refused, "a kernel takes memory of the other context after a copy");
            }
        }
        if random.one_in(2) {
            let expected = if there { holds[buffer.id][half] } else { value };
            assert_all(&far.to_host_vec(far_stream)?, expected, "the other context's memory");
        }
        Ok(())
    }
}
