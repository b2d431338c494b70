//! Steps with pools of the program's own.

#![deny(unsafe_code)]

use crate::change::HALF;
use crate::program::Program;
use cuda_launch::memory::{MemoryPool, PoolOptions};
use cuda_launch::{CudaStream, DeviceBuffer, Error};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Pools that were made current, by their number: they stay.
static LASTING: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// How many pools stay.
pub(crate) fn lasting() -> usize {
    LASTING.lock().unwrap_or_else(PoisonError::into_inner).len()
}

impl Program {
    fn pool(&mut self) -> Result<MemoryPool, Error> {
        let index = self.random.below(2);
        if self.pools.len() <= index {
            self.pools.push(MemoryPool::new(&self.ctx, PoolOptions::default())?);
        }
        Ok(self.pools[index.min(self.pools.len() - 1)].clone())
    }

    /// Memory of one of the pools, or of the default one, with nothing in it.
    pub(crate) fn of_a_pool(&mut self, stream: &CudaStream) -> Result<DeviceBuffer<u32>, Error> {
        let pool = if self.random.one_in(4) { MemoryPool::default_of(&self.ctx)? } else { self.pool()? };
        DeviceBuffer::uninit_in(&pool, stream, 2 * HALF)
    }

    /// Buffers stay, whatever happens to the pool that they are of.
    pub(crate) fn use_pools(&mut self) -> Result<(), Error> {
        let pool = self.pool()?;
        match self.random.below(4) {
            0 => pool.trim_to(0),
            1 => pool.set_release_threshold(if self.random.one_in(2) { 0 } else { u64::MAX }),
            2 => {
                LASTING.lock().unwrap_or_else(PoisonError::into_inner).insert(pool.raw().addr());
                pool.make_current()
            }
            _ => {
                drop(pool);
                self.pools.swap_remove(0).close()
            }
        }
    }

    /// Memory comes on one stream, is used on another one, and goes while it is used. The next may be the same memory.
    pub(crate) fn reuse_memory(&mut self) -> Result<(), Error> {
        for _ in 0..1 + self.random.below(3) {
            let (allocates, uses, value) = (self.stream(), self.stream(), self.random.number());
            let mut memory = self.of_a_pool(&allocates)?;
            memory.fill(&uses, value)?;
            let index = self.random.below(self.buffers.len());
            let (buffer, half) = (&mut self.buffers[index], self.random.below(2));
            buffer.memory.half_mut(half).copy_from_device(&uses, &memory.slice(..HALF))?;
            self.holds[buffer.id][half] = value;
        }
        Ok(())
    }
}
