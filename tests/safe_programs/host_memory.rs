//! Steps with memory that the host and devices share.

#![deny(unsafe_code)]

use crate::change::{HALF, assert_halves};
use crate::kinds::Memory;
use crate::program::Program;
use cuda_launch::memory::{ManagedAttach, MemoryAdvice, MemoryLocation, PrefetchBatch};
use cuda_launch::{Error, ManagedBuffer};

impl Program {
    /// One of the buffers that the host sees, or another one.
    fn on_host(&mut self) -> Result<usize, Error> {
        let is_on_host =
            |index: &usize| matches!(self.buffers[*index].memory, Memory::Managed(_) | Memory::Pinned(_));
        let all: Vec<_> = (0..self.buffers.len()).filter(is_on_host).collect();
        if !all.is_empty() {
            return Ok(all[self.random.below(all.len())]);
        }
        let (stream, value) = (self.stream(), self.random.number());
        let memory = ManagedBuffer::from_slice(&stream, &[value; 2 * HALF], ManagedAttach::Global)?;
        let index = self.random.below(self.buffers.len());
        self.buffers.swap_remove(index);
        self.put_buffer(Memory::Managed(memory), [value; 2]);
        Ok(self.buffers.len() - 1)
    }

    /// The host looks at it, or writes it: all that devices do to it comes before, and nothing that was not asked for yet.
    pub(crate) fn use_on_host(&mut self) -> Result<(), Error> {
        let (index, value) = (self.on_host()?, self.random.number());
        let write = self.random.one_in(2);
        let buffer = &mut self.buffers[index];
        let id = buffer.id;
        let was_kept = self.in_graphs.contains(&id);
        let is_kept = self.graphs.iter().any(|graph| (0..2).any(|half| graph.uses(id, half)))
            || self.trees.iter().any(|tree| tree.uses(id))
            || self.ready.iter().any(|ready| ready.uses(id));
        let expected = self.holds[buffer.id];
        let look = |seen: &[u32]| assert_halves(seen, expected, "memory that the host sees");
        let write_all = |seen: &mut [u32]| {
            look(seen);
            seen.fill(value);
        };
        let seen: Result<(), Error> = match &mut buffer.memory {
            Memory::Managed(memory) if write => memory.as_mut_slice().map(write_all),
            Memory::Pinned(memory) if write => memory.as_mut_slice().map(write_all),
            Memory::Managed(memory) => memory.as_slice().map(look),
            Memory::Pinned(memory) => memory.as_slice().map(look),
            _ => Ok(()),
        };
        match seen {
            // Also for as long as one that was let go still runs.
            Err(error) if error.is_host_access() && was_kept => return Ok(()),
            result => result?,
        }
        assert!(!is_kept, "the host has memory that a graph may use at any time");
        if write {
            self.holds[buffer.id] = [value; 2];
        }
        Ok(())
    }

    /// Where managed memory is changes nothing.
    pub(crate) fn move_managed(&mut self) -> Result<(), Error> {
        let index = self.on_host()?;
        let (stream, way, middle) = (self.stream(), self.random.below(4), self.random.below(2 * HALF));
        let Memory::Managed(memory) = &mut self.buffers[index].memory else { return Ok(()) };
        match way {
            0 => memory.prefetch(&stream, .., (&self.ctx).into()),
            1 => memory.advise(.., MemoryAdvice::PreferredLocation((&self.ctx).into())),
            2 => memory.attach(&stream, ManagedAttach::Global),
            _ => {
                let mut batch = PrefetchBatch::new();
                batch.push(memory, ..middle, (&self.ctx).into())?;
                batch.push(memory, middle.., MemoryLocation::Host)?;
                // It takes no default stream.
                match batch.submit(&self.ctx.new_stream()?) {
                    Err(error) if error.is_unsupported() => Ok(()),
                    submitted => submitted,
                }
            }
        }
    }
}
