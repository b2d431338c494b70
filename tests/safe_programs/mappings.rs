//! Physical memory that is mapped again after the buffer before it went, and buffers that grow.

#![deny(unsafe_code)]

use crate::change::HALF;
use crate::kinds::Memory;
use crate::program::Program;
use cuda_launch::memory::{GrowableBuffer, MemoryAccess};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{DeviceBuffer, Error};

/// Memory that buffers get one after the other, at one of two places.
pub(crate) struct Physical {
    memory: PhysicalAllocation,
    addresses: VirtualReservation,
    /// Of what it holds, mapped or not.
    pub(crate) id: usize,
    filled: bool,
}

impl Program {
    /// The physical memory, if nobody has it, with what it holds: the work of the buffer before is done.
    pub(crate) fn mapped(&mut self) -> Result<Option<(Memory, usize)>, Error> {
        if self.physical.is_none() {
            let part = PhysicalOptions::default().granularity(&self.ctx, false)?;
            let memory = PhysicalAllocation::new(&self.ctx, part, PhysicalOptions::default())?;
            let addresses = VirtualReservation::new(&self.ctx, 2 * part, 0)?;
            self.physical = Some(Physical { memory, addresses, id: self.new_id([0; 2]), filled: false });
        }
        let (stream, place, value) = (self.stream(), self.random.below(2), self.random.number());
        let far = self.peer()?.filter(|_| self.random.one_in(2));
        let Self { physical: Some(physical), ctx, holds, .. } = self else { return Ok(None) };
        let Physical { memory, addresses, id, filled } = physical;
        // A buffer has it, or a graph.
        let Ok(mapping) = Mapping::new(addresses, place * memory.byte_len(), memory) else { return Ok(None) };
        mapping.set_access((&*ctx).into(), MemoryAccess::ReadWrite)?;
        if let Some(far) = &far {
            mapping.set_access(far.into(), MemoryAccess::ReadWrite)?;
            assert_eq!(mapping.access(far.into())?, MemoryAccess::ReadWrite);
        }
        let Ok(mut buffer) = DeviceBuffer::from_mapping(mapping, 2 * HALF) else { return Ok(None) };
        if !*filled {
            buffer.view_mut().fill(&stream, value)?;
            (holds[*id], *filled) = ([value; 2], true);
        }
        Ok(Some((Memory::Device(buffer), *id)))
    }

    pub(crate) fn growable(&mut self) -> Result<GrowableBuffer<u32>, Error> {
        let mut memory = GrowableBuffer::new(&self.ctx, 1 << 20)?;
        memory.grow_to(2 * HALF)?;
        Ok(memory)
    }

    /// While it is used, and in place: what was there before stays.
    pub(crate) fn grow(&mut self) -> Result<(), Error> {
        for buffer in &mut self.buffers {
            if let Memory::Growable(memory) = &mut buffer.memory {
                memory.grow_to((memory.capacity() + 1).min(1 << 20))?;
            }
        }
        Ok(())
    }
}
