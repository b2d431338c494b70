//! Steps with one buffer in many parts, on several threads, and with more streams than memory has bits for (`QUEUES` in
//! `src/ordering/accesses.rs`).

#![deny(unsafe_code)]

use crate::change::{HALF, Random, assert_all};
use crate::program::Program;
use cuda_launch::{CudaStream, DeviceBuffer, DeviceView, DeviceViewMut, Error};
use std::thread;

/// With those that the program has anyway, more than memory has bits for.
const CROWD: usize = 66;
const THREADS: usize = 3;

/// What happens to a chunk on a stream.
#[derive(Clone, Copy)]
enum Does {
    Fill(u32),
    /// As bytes.
    FillBytes(u8),
    /// In two parts.
    FillParts(usize, [u32; 2]),
    CopyShared,
    Look,
}

impl Does {
    fn random(random: &mut Random) -> Self {
        match random.below(6) {
            0 => Self::Fill(random.number()),
            1 => Self::FillBytes(random.below(256) as u8),
            2 => Self::FillParts(random.below(100), [random.number(), random.number()]),
            3 | 4 => Self::CopyShared,
            _ => Self::Look,
        }
    }

    fn submit(
        self,
        stream: &CudaStream,
        chunk: &mut DeviceViewMut<'_, u32>,
        shared: &DeviceView<'_, u32>,
        holds: &mut [u32],
        value: u32,
    ) -> Result<(), Error> {
        match self {
            Self::Fill(value) => {
                holds.fill(value);
                chunk.fill(stream, value)
            }
            Self::FillBytes(byte) => {
                holds.fill(u32::from_ne_bytes([byte; 4]));
                chunk.view_mut().cast::<u8>()?.fill(stream, byte)
            }
            Self::FillParts(middle, values) => {
                let Some((mut left, mut right)) = chunk.view_mut().try_split_at(middle) else {
                    assert!(middle > holds.len(), "a chunk of {} has no {middle}", holds.len());
                    return Ok(());
                };
                let (first, second) = holds.split_at_mut(middle);
                first.fill(values[0]);
                second.fill(values[1]);
                left.fill(stream, values[0])?;
                right.fill(stream, values[1])
            }
            Self::CopyShared => {
                holds.fill(value);
                chunk.copy_from_device(stream, &shared.slice(..holds.len()))
            }
            Self::Look => {
                let seen = chunk.as_view().to_host_vec(stream)?;
                assert!(seen == *holds, "a chunk holds {:?}.., not {:?}..", &seen[..1], &holds[..1]);
                Ok(())
            }
        }
    }
}

impl Program {
    /// All the streams there are, with those of the crowd, which stay until the program ends.
    fn crowd(&mut self) -> Result<Vec<CudaStream>, Error> {
        while self.crowd.len() < CROWD {
            self.crowd.push(self.ctx.new_stream()?);
        }
        Ok([&self.crowd[..], &self.streams[..]].concat())
    }

    /// Chunks are changed on threads of their own, on any streams, and all read what one stream writes before and another after them.
    pub(crate) fn use_chunks(&mut self) -> Result<(), Error> {
        let streams = if self.random.one_in(3) { self.crowd()? } else { self.streams.clone() };
        let any = |random: &mut Random| streams[random.below(streams.len())].clone();
        let (len, size) = (1 + self.random.below(400), 1 + self.random.below(200));
        let (value, exact) = (self.random.number(), self.random.one_in(2));
        let random = &mut self.random;
        let mut memory = DeviceBuffer::zeroed(&any(random), len)?;
        let mut shared = DeviceBuffer::filled(&any(random), size, value)?;
        let mut holds = vec![0; len];
        let chunks: Vec<_> =
            if exact { memory.chunks_exact_mut(size).collect() } else { memory.chunks_mut(size).collect() };
        let mut work: [Vec<_>; THREADS] = std::array::from_fn(|_| Vec::new());
        for (index, (chunk, holds)) in chunks.into_iter().zip(holds.chunks_mut(size)).enumerate() {
            let plan: Vec<_> =
                (0..random.below(8)).map(|_| (any(random), random.pace(), Does::random(random))).collect();
            work[index % THREADS].push((chunk, holds, plan));
        }
        let view = shared.view();
        thread::scope(|scope| {
            let threads = work.map(|chunks| {
                scope.spawn(move || {
                    for (mut chunk, holds, plan) in chunks {
                        for (stream, pace, does) in plan {
                            pace.set(&stream)?;
                            does.submit(&stream, &mut chunk, &view, holds, value)?;
                        }
                    }
                    Ok::<_, Error>(())
                })
            });
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })?;
        // Not before they have read it.
        shared.fill(&any(random), !value)?;
        let stream = any(random);
        if random.one_in(2) {
            let seen = memory.to_host_vec(&stream)?;
            assert!(seen == holds, "memory in chunks of {size}: {seen:?}, not {holds:?}");
        } else {
            for (index, (chunk, holds)) in memory.chunks(size).zip(holds.chunks(size)).enumerate() {
                assert!(chunk.to_host_vec(&stream)? == holds, "chunk {index} of {size} elements");
            }
        }
        assert_all(&shared.to_host_vec(&any(random))?, !value, "what chunks were copied from");
        Ok(())
    }

    /// More streams than memory has bits for read one buffer; then it is written.
    pub(crate) fn crowd_reads(&mut self) -> Result<(), Error> {
        let streams = self.crowd()?;
        let place = self.random.below(self.buffers.len());
        let (value, random) = (self.random.number(), &mut self.random);
        let buffer = &mut self.buffers[place];
        let mut copies = Vec::new();
        for stream in &streams {
            let mut copy = DeviceBuffer::<u32>::uninit(stream, 1)?;
            if random.one_in(16) {
                random.pace().set(stream)?;
            }
            let at = random.below(buffer.memory.view().len());
            copy.view_mut().copy_from_device(stream, &buffer.memory.view().slice(at..at + 1))?;
            copies.push((copy, at));
        }
        buffer.memory.fill(&streams[random.below(streams.len())], value)?;
        let expected = std::mem::replace(&mut self.holds[buffer.id], [value; 2]);
        for (copy, at) in &copies {
            let half = at / HALF;
            assert_all(&copy.to_host_vec(&streams[0])?, expected[half], "what one of many streams read");
        }
        Ok(())
    }
}
