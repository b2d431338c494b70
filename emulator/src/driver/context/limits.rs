//! `cuCtxGetLimit` and `cuCtxSetLimit`. Defaults and bounds are those that an H200 with driver 580 returned; of the L2 cache, other devices
//! are believed to have the same parts. The size of the kernels' heap is kept by the heap.

use cuda_driver_sys::{CUlimit, CUresult};

use crate::architecture::Architecture;
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::since::Known;
use crate::memory::Heap;

/// The limits of a context.
pub(super) struct Limits {
    /// Those that can be set, by their number.
    set: [usize; 7],
    device: Architecture,
}

const STACK_SIZE: u32 = 0;
const PRINTF_FIFO_SIZE: u32 = 1;
const MALLOC_HEAP_SIZE: u32 = 2;
const DEV_RUNTIME_SYNC_DEPTH: u32 = 3;
const DEV_RUNTIME_PENDING_LAUNCH_COUNT: u32 = 4;
const MAX_L2_FETCH_GRANULARITY: u32 = 5;
const PERSISTING_L2_CACHE_SIZE: u32 = 6;
const SHMEM_SIZE: u32 = 7;
const CIG_ENABLED: u32 = 8;
const CIG_SHMEM_FALLBACK_ENABLED: u32 = 9;

impl Limits {
    pub(super) fn of(device: Architecture) -> Limits {
        let (most, step) = device.model().persisting_bytes();
        let persisting = (3 * step).min(most) as usize;
        Limits { set: [1024, 8_650_752, 8 << 20, 0, 2048, 64, persisting], device }
    }

    pub(super) fn get(&self, limit: CUlimit, heap: &Heap) -> Outcome<usize> {
        match limit.known()?.0 {
            MALLOC_HEAP_SIZE => Ok(heap.limit() as usize),
            DEV_RUNTIME_SYNC_DEPTH | CIG_SHMEM_FALLBACK_ENABLED => {
                Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)
            }
            PERSISTING_L2_CACHE_SIZE if self.device.model().persisting == 0 => {
                Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)
            }
            SHMEM_SIZE => Ok(self.device.machine().shared_optin as usize),
            CIG_ENABLED => Ok(0),
            number => self.set.get(number as usize).copied().ok_or(INVALID_VALUE),
        }
    }

    /// How many launches by kernels may wait at a time.
    pub(super) fn pending_launches(&self) -> usize {
        self.set.get(DEV_RUNTIME_PENDING_LAUNCH_COUNT as usize).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, limit: CUlimit, value: usize, heap: &Heap) -> Outcome {
        let value = match limit.known()?.0 {
            // Local memory of a thread is at most 512 KiB.
            STACK_SIZE => value.checked_next_multiple_of(16).filter(|bytes| *bytes <= 512 << 10),
            PRINTF_FIFO_SIZE => Some(value.max(512 << 10)),
            // Not once a kernel was launched that may allocate.
            MALLOC_HEAP_SIZE => {
                return if heap.set_limit(value as u64) { Ok(()) } else { Err(INVALID_VALUE) };
            }
            DEV_RUNTIME_PENDING_LAUNCH_COUNT => Some(value.clamp(32, 599_186)),
            MAX_L2_FETCH_GRANULARITY => Some(value).filter(|bytes| *bytes <= 128),
            // The cache is set aside in sixteenths.
            PERSISTING_L2_CACHE_SIZE => {
                let (most, step) = self.device.model().persisting_bytes();
                if most == 0 {
                    return Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT);
                }
                value.checked_next_multiple_of(step as usize).filter(|bytes| *bytes <= most as usize)
            }
            SHMEM_SIZE | CIG_ENABLED => return Err(CUresult::CUDA_ERROR_NOT_PERMITTED),
            DEV_RUNTIME_SYNC_DEPTH | CIG_SHMEM_FALLBACK_ENABLED => {
                return Err(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT);
            }
            _ => None,
        };
        let slot = self.set.get_mut(limit.0 as usize).ok_or(INVALID_VALUE)?;
        *slot = value.ok_or(INVALID_VALUE)?;
        Ok(())
    }
}
