//! Steps with many copies in one call, and with copies of regions.

#![deny(unsafe_code)]

use crate::change::{HALF, assert_all, assert_halves};
use crate::kinds::Memory;
use crate::pause;
use crate::program::{ARRAY, Buffer, Program};
use cuda_launch::memory::{CopyBatch, CopySource, CopyTarget, Extent, RegionBatch, RowLayout};
use cuda_launch::texture::{ArrayFlags, CudaArray, MipmappedArray};
use cuda_launch::{CudaStream, Error};

/// Half a buffer as ten rows, as the array has them.
pub(crate) const LAYOUT: RowLayout = RowLayout::packed::<u32>(HALF / 10, 10);
pub(crate) const EXTENT: Extent = Extent::rows(HALF / 10, 10);

impl Program {
    /// One that takes batches: not the default stream.
    fn batch_stream(&mut self) -> Result<CudaStream, Error> {
        let stream = self.ctx.new_stream()?;
        if self.random.one_in(2) {
            self.keep_busy(&stream);
        }
        Ok(stream)
    }

    /// What a batch borrowed is free again, and nothing was copied.
    pub(crate) fn forget_batch(&mut self) -> Result<(), Error> {
        let (to, from) = self.two_buffers();
        let [target, source] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        let mut batch = CopyBatch::new();
        let (mut target, source) = (target.memory.view_mut(), source.memory.view());
        batch.push(&mut target, &source)?;
        std::mem::forget(batch);
        Ok(())
    }

    /// One half from another buffer and one from the host; what the other buffer holds also goes to the host.
    pub(crate) fn copy_batch(&mut self) -> Result<(), Error> {
        let (stream, (to, from)) = (self.batch_stream()?, self.two_buffers());
        let (value, looks) = (self.random.number(), self.random.one_in(3));
        let host = [value; HALF];
        let mut seen = [0; HALF];
        let [target, source] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        let (mut left, mut right) = target.memory.view_mut().split_at(HALF);
        let (source_left, source_right) = (source.memory.half(0), source.memory.half(1));
        let mut batch = CopyBatch::new();
        batch.push(&mut left, &source_left)?.push_from_host(&mut right, &host)?;
        if looks {
            batch.push_to_host(&mut seen, &source_right)?;
        }
        match batch.submit(&stream) {
            // Nothing was copied.
            Err(error) if error.is_unsupported() && !self.ctx.driver().has("cuMemcpyBatchAsync") => {
                return Ok(());
            }
            result => result?,
        }
        let source = self.holds[source.id];
        self.holds[target.id] = [source[0], value];
        if looks {
            assert_all(&seen, source[1], "what a batch copied");
        }
        Ok(())
    }

    /// Half a buffer as rows, from and to the array and from another half.
    pub(crate) fn copy_regions(&mut self) -> Result<(), Error> {
        let (stream, (to, from)) = (self.batch_stream()?, self.two_buffers());
        let (half, way, batch) = (self.random.below(2), self.random.below(3), self.random.one_in(2));
        let Self { ctx, buffers, holds, array, array_holds, .. } = self;
        let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
        let (mut to, from) = (target.memory.half_mut(half), source.memory.half(half));
        let (source, mut target) = match way {
            0 => {
                holds[target.id][half] = *array_holds;
                (array.as_source(), CopyTarget::device(&mut to, LAYOUT))
            }
            1 => {
                *array_holds = holds[source.id][half];
                (CopySource::device(&from, LAYOUT), array.as_target())
            }
            _ => {
                holds[target.id][half] = holds[source.id][half];
                (CopySource::device(&from, LAYOUT), CopyTarget::device(&mut to, LAYOUT))
            }
        };
        if !batch || !ctx.driver().has("cuMemcpy3DBatchAsync") {
            return stream.copy_region(&source, &mut target, EXTENT);
        }
        let mut batch = RegionBatch::new();
        batch.push(source, target, EXTENT)?;
        batch.submit(&stream)
    }

    /// A buffer ends while it is cloned, or after it; its clone, or one of host memory, takes its place.
    pub(crate) fn clone_buffer(&mut self) -> Result<(), Error> {
        let (stream, place, value) =
            (self.stream(), self.random.below(self.buffers.len()), self.random.number());
        let Buffer { memory, id } = &self.buffers[place];
        let held = self.holds[*id];
        let (copy, holds) = match self.random.below(4) {
            0 => (stream.clone_htod(&[value; 2 * HALF])?, [value; 2]),
            1 => (stream.alloc_zeros(2 * HALF)?, [0; 2]),
            2 => {
                assert_halves(&stream.clone_dtoh(&memory.view())?, held, "what was cloned to the host");
                return Ok(());
            }
            _ => (stream.clone_dtod(&memory.view())?, held),
        };
        self.buffers.swap_remove(place);
        self.put_buffer(Memory::Device(copy), holds);
        Ok(())
    }

    /// Half a buffer, or the array, to or from host memory that is not pinned: all of it, or the middle of it.
    pub(crate) fn copy_through_host(&mut self) -> Result<(), Error> {
        let (stream, index, half) =
            (self.stream(), self.random.below(self.buffers.len()), self.random.below(2));
        let (way, value) = (self.random.below(6), self.random.number());
        let Buffer { memory, id } = &mut self.buffers[index];
        let holds = &mut self.holds[*id][half];
        // A row and a column around it.
        let mut around = vec![!value; (HALF / 10 + 1) * 11];
        let layout = RowLayout::packed::<u32>(HALF / 10 + 1, 11);
        match way {
            0 => {
                memory.half_mut(half).copy_from_host(&stream, &[value; HALF])?;
                *holds = value;
            }
            1 => {
                let mut seen = [0; HALF];
                memory.half(half).copy_to_host(&stream, &mut seen)?;
                assert_all(&seen, *holds, "what was copied to the host");
            }
            2 => {
                let mut seen = [0; HALF];
                self.array.copy_to_host(&stream, &mut seen)?;
                assert_all(&seen, self.array_holds, "an array that was copied to the host");
            }
            3 => {
                memory.view_mut().split_at(HALF * half).1.slice(..HALF).set_zero(&stream)?;
                *holds = 0;
            }
            4 => {
                around.fill(value);
                around[..HALF / 10 + 1].fill(!value);
                let source = CopySource::host(&around, layout).at(1, 1, 0);
                let mut target = memory.half_mut(half);
                stream.copy_region(&source, &mut CopyTarget::device(&mut target, LAYOUT), EXTENT)?;
                *holds = value;
            }
            _ => {
                let source = memory.half(half);
                let mut target = CopyTarget::host(&mut around, layout).at(1, 1, 0);
                stream.copy_region(&CopySource::device(&source, LAYOUT), &mut target, EXTENT)?;
                for (y, row) in around.chunks(HALF / 10 + 1).enumerate() {
                    let inside = if y == 0 { !value } else { *holds };
                    assert_eq!(row[0], !value, "beside a region that was copied to the host");
                    assert_all(&row[1..], inside, "a region that was copied to the host");
                }
            }
        }
        Ok(())
    }

    /// An array, or a level of one, ends while it is copied.
    pub(crate) fn copy_from_ended(&mut self) -> Result<(), Error> {
        let (writes, stream, value) = (self.stream(), self.stream(), self.random.number());
        let (index, half) = (self.random.below(self.buffers.len()), self.random.below(2));
        let [levels, close] = [(); 2].map(|()| self.random.one_in(2));
        let Self { ctx, buffers, holds, random, .. } = self;
        let Buffer { memory, id } = &mut buffers[index];
        let mut target = memory.half_mut(half);
        let all = if levels { Some(MipmappedArray::new(ctx, ARRAY, ArrayFlags::empty(), 2)?) } else { None };
        let array = match &all {
            Some(all) => all.level(0)?,
            None => CudaArray::new(ctx, ARRAY, ArrayFlags::empty())?,
        };
        array.copy_from_host(&writes, &[value; HALF])?;
        let handle = all.as_ref().map_or(array.raw().addr(), |all| all.raw().addr());
        pause::ends_before(handle, &stream, random.pace().busy)?;
        stream.copy_region(&array.as_source(), &mut CopyTarget::device(&mut target, LAYOUT), EXTENT)?;
        holds[*id][half] = value;
        if close {
            array.close()?;
            all.map_or(Ok(()), MipmappedArray::close)?;
        } else {
            drop((array, all));
        }
        pause::nothing_ended_early();
        Ok(())
    }
}
