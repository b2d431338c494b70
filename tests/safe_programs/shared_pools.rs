//! Steps with pools that two contexts share: on the device of one of them, made by either, used by the program's.

#![deny(unsafe_code)]

use crate::change::{Change, HALF, assert_all};
use crate::pause;
use crate::program::Program;
use cuda_launch::memory::{MemoryAccess, MemoryPool, PoolOptions, PoolReuse};
use cuda_launch::{CudaContext, DeviceBuffer, Error};
use std::thread;

/// Lets this context use the pool, whose memory is on the other one's device. Before that no buffer is made of it. False where the devices
/// cannot access each other.
fn share(pool: &MemoryPool, user: &CudaContext, owner: &CudaContext) -> Result<bool, Error> {
    let (user_device, owner_device) = (user.device(), owner.device());
    if user_device.ordinal() == owner_device.ordinal() {
        return Ok(true);
    }
    let refused = DeviceBuffer::<u32>::uninit_in(pool, &user.default_stream(), HALF);
    assert!(refused.is_err(), "memory of a pool that the device has no access to");
    if !user_device.can_access_peer(&owner_device)? {
        return Ok(false);
    }
    pool.grant_access(user.into())?;
    assert_eq!(pool.access(user.into())?, MemoryAccess::ReadWrite);
    Ok(true)
}

impl Program {
    /// A pool on the device of either context, made by either, which the program's context may use.
    fn shared_pool(&mut self) -> Result<Option<MemoryPool>, Error> {
        if self.shared_pools.len() < 2 {
            let contexts = [&self.ctx, self.far.context()];
            let [maker, owner] = [(); 2].map(|()| contexts[self.random.below(2)]);
            let pool = MemoryPool::new(maker, PoolOptions::new().location(Some(owner.into())))?;
            if !share(&pool, &self.ctx, owner)? {
                return Ok(None);
            }
            self.shared_pools.push(pool);
        }
        let index = self.random.below(self.shared_pools.len());
        Ok(Some(self.shared_pools[index].clone()))
    }

    /// Memory that comes on one stream, is changed by kernels on others, and goes while it is used, with its pool or before it. No fills:
    /// those are for memory of the stream's device.
    pub(crate) fn use_shared_pool(&mut self) -> Result<(), Error> {
        let Some(pool) = self.shared_pool()? else { return Ok(()) };
        let (allocates, to, last) = (self.stream(), self.random.below(self.buffers.len()), self.stream());
        let mut memory = DeviceBuffer::uninit_in(&pool, &allocates, HALF)?;
        let (mut changes, mut holds) = (vec![Change::Copy], 0);
        for _ in 0..self.random.below(4) {
            changes.push(match Change::random(&mut self.random) {
                Change::Fill(value) => Change::Step(1, value),
                change => change,
            });
        }
        for change in changes {
            let (stream, pace) = (self.stream(), self.random.pace());
            let (from, half) = (&self.buffers[self.random.below(self.buffers.len())], self.random.below(2));
            pace.set(&stream)?;
            change.submit(&self.kernels, &stream, &mut memory.view_mut(), &from.memory.half(half))?;
            change.apply(&mut holds, self.holds[from.id][half]);
        }
        let (way, half, looks) = (self.random.below(5), self.random.below(2), self.random.one_in(3));
        if way == 0 {
            pause::ends_before(pool.raw().addr(), &last, self.random.pace().busy)?;
        }
        let target = &mut self.buffers[to];
        target.memory.half_mut(half).copy_from_device(&last, &memory.view())?;
        self.holds[target.id][half] = holds;
        if looks {
            assert_all(&memory.to_host_vec(&last)?, holds, "memory of a shared pool");
        }
        match way {
            // The pool goes with its last memory.
            0 => {
                self.shared_pools.clear();
                drop(pool);
                drop(memory);
                pause::nothing_ended_early();
            }
            1 => thread::spawn(move || drop((memory, pool))).join().unwrap(),
            2 => {
                memory.close()?;
                pool.trim_to(0)?;
            }
            3 => {
                let reuse = [
                    PoolReuse::FollowEventDependencies,
                    PoolReuse::Opportunistic,
                    PoolReuse::InternalDependencies,
                ];
                pool.set_reuse(reuse[self.random.below(3)], self.random.one_in(2))?;
                pool.reset_high_watermark()?;
            }
            _ => drop(memory),
        }
        Ok(())
    }
}
