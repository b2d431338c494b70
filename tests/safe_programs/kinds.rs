//! The kinds of memory that a buffer can have: all of them take all steps that need no more than views.

#![deny(unsafe_code)]

use crate::change::{HALF, Halves, range};
use crate::program::{Buffer, Program};
use cuda_launch::memory::{GrowableBuffer, ManagedAttach, PinnedFlags};
use cuda_launch::module::ModuleGlobal;
use cuda_launch::{CudaStream, DeviceBuffer, DeviceView, DeviceViewMut, Error, ManagedBuffer, PinnedBuffer};
use std::thread;

/// `2 * HALF` elements.
pub(crate) enum Memory {
    /// Of the default pool, of a pool of the program, or mapped.
    Device(DeviceBuffer<u32>),
    Managed(ManagedBuffer<u32>),
    Pinned(PinnedBuffer<u32>),
    /// May have more elements, which nobody uses.
    Growable(GrowableBuffer<u32>),
    Variable(ModuleGlobal<u32>),
}

impl Memory {
    pub(crate) fn view(&self) -> DeviceView<'_, u32> {
        match self {
            Self::Device(memory) => memory.view(),
            Self::Managed(memory) => memory.view(),
            Self::Pinned(memory) => memory.device_view(),
            Self::Growable(memory) => memory.view().slice(..2 * HALF),
            Self::Variable(memory) => memory.view(),
        }
    }

    pub(crate) fn view_mut(&mut self) -> DeviceViewMut<'_, u32> {
        match self {
            Self::Device(memory) => memory.view_mut(),
            Self::Managed(memory) => memory.view_mut(),
            Self::Pinned(memory) => memory.device_view_mut(),
            Self::Growable(memory) => memory.view_mut().slice(..2 * HALF),
            Self::Variable(memory) => memory.view_mut(),
        }
    }

    pub(crate) fn half(&self, half: usize) -> DeviceView<'_, u32> {
        self.view().slice(range(half))
    }

    pub(crate) fn half_mut(&mut self, half: usize) -> DeviceViewMut<'_, u32> {
        self.view_mut().slice(range(half))
    }

    pub(crate) fn fill(&mut self, stream: &CudaStream, value: u32) -> Result<(), Error> {
        self.view_mut().fill(stream, value)
    }

    /// Frees it now, where it can say so.
    pub(crate) fn close(self) -> Result<(), Error> {
        match self {
            Self::Device(memory) => memory.close(),
            Self::Managed(memory) => memory.close(),
            Self::Pinned(memory) => memory.close(),
            Self::Growable(_) | Self::Variable(_) => Ok(()),
        }
    }
}

/// What a graph's copies and fills keep of the memory that they use: a driver may take other memory of the same class, and need not take
/// other memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Pooled,
    Mapped,
    Managed,
    Pinned,
    Growable,
    Variable,
}

impl Program {
    pub(crate) fn class(&self, place: usize) -> Class {
        let Buffer { memory, id } = &self.buffers[place];
        match memory {
            Memory::Device(_) if self.physical.as_ref().is_some_and(|physical| physical.id == *id) => {
                Class::Mapped
            }
            Memory::Device(_) => Class::Pooled,
            Memory::Managed(_) => Class::Managed,
            Memory::Pinned(_) => Class::Pinned,
            Memory::Growable(_) => Class::Growable,
            Memory::Variable(_) => Class::Variable,
        }
    }

    /// Another buffer, of any kind.
    pub(crate) fn add_buffer(&mut self) -> Result<(), Error> {
        let kind = self.random.below(12);
        // Memory that was there before: what it holds still is.
        let old = match kind {
            0 => self.mapped()?,
            1 | 2 => self.variable()?,
            _ => None,
        };
        if let Some((memory, id)) = old {
            self.buffers.push(Buffer { memory, id });
            return Ok(());
        }
        let ([stream, other], value) = ([self.stream(), self.stream()], self.random.number());
        let (ctx, len) = (&self.ctx, 2 * HALF);
        let mut memory = match kind {
            3 => Memory::Managed(ManagedBuffer::uninit(ctx, len, ManagedAttach::Global)?),
            4 => Memory::Pinned(PinnedBuffer::zeroed(ctx, len, PinnedFlags::empty())?),
            5 => Memory::Growable(self.growable()?),
            6..=8 => Memory::Device(self.of_a_pool(&stream)?),
            _ => Memory::Device(DeviceBuffer::uninit(&stream, len)?),
        };
        memory.fill(&other, value)?;
        self.put_buffer(memory, [value; 2]);
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
                let _ = buffer.memory.view().as_device_ptr();
                drop(buffer);
            }
            _ => thread::spawn(move || drop(buffer)).join().unwrap(),
        }
        self.add_buffer()
    }

    /// Another buffer, which should hold this.
    pub(crate) fn put_buffer(&mut self, memory: Memory, holds: Halves) {
        let id = self.new_id(holds);
        self.buffers.push(Buffer { memory, id });
    }

    /// The id of memory that should hold this.
    pub(crate) fn new_id(&mut self, holds: Halves) -> usize {
        self.holds.push(holds);
        self.holds.len() - 1
    }

    /// Memory that an operation can own, of one of the buffers, and its id.
    pub(crate) fn take_device_buffer(&mut self) -> Result<(DeviceBuffer<u32>, usize), Error> {
        let first = self.random.below(self.buffers.len());
        let places = (0..self.buffers.len()).map(|n| (first + n) % self.buffers.len());
        let is_device = |place: &usize| matches!(self.buffers[*place].memory, Memory::Device(_));
        let found = places.into_iter().find(is_device);
        let Buffer { memory, id } = self.buffers.swap_remove(found.unwrap_or(first));
        if let Memory::Device(memory) = memory {
            return Ok((memory, id));
        }
        let (stream, value) = (self.stream(), self.random.number());
        let memory = DeviceBuffer::filled(&stream, 2 * HALF, value)?;
        Ok((memory, self.new_id([value; 2])))
    }

    pub(crate) fn put_back(&mut self, memory: DeviceBuffer<u32>, id: usize) {
        self.buffers.push(Buffer { memory: Memory::Device(memory), id });
    }
}
