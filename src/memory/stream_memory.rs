//! Stream operations on single values in memory: wait for a value, write one.

#![allow(unsafe_code)] // Calls of the driver with live streams; the addresses are the caller's duty.

use cuda_driver_sys::{
    CUresult, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Op,
    CUstreamMemOpWaitValueParams__bindgen_ty_1 as Awaited,
    CUstreamMemOpWriteValueParams__bindgen_ty_1 as Written, Driver,
};
use std::fmt;

use super::pointer::{DevicePtr, DevicePtrMut};
use crate::driver::CudaStream;
use crate::error::Error;
use crate::flags::flags;
use crate::ordering::Submission;

flags! {
    /// How a stream waits for a value (`CUstreamWaitValue_flags`, without the comparison).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct WaitValueFlags: u32 {
        /// Writes of other devices that came before the awaited one are visible too. For devices with
        /// `CAN_FLUSH_REMOTE_WRITES`.
        const FLUSH = 1 << 30;
        // Flags of newer drivers pass through.
        const _ = !3;
    }
}

flags! {
    /// How a stream writes a value (`CUstreamWriteValue_flags`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct WriteValueFlags: u32 {
        /// Earlier work need not be visible to readers of the value. Driver 580 rejects this flag.
        const NO_MEMORY_BARRIER = 1;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// The condition under which a value in memory lets a stream continue (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum WaitCondition {
    /// It has reached the value: at most half of the range ahead of it, because values are compared cyclically.
    AtLeast = 0,
    /// It equals the value.
    Equal = 1,
    /// It has a bit in common with the value.
    And = 2,
    /// There is a bit that is set neither in it nor in the value. For devices with `CAN_USE_STREAM_WAIT_VALUE_NOR`.
    Nor = 3,
}

/// A value that streams can wait for and write: `u32`, and `u64` on devices with `CAN_USE_64_BIT_STREAM_MEM_OPS`.
pub trait StreamValue: Copy + fmt::Display + sealed::Sealed {}

impl StreamValue for u32 {}
impl StreamValue for u64 {}

mod sealed {
    use super::{Awaited, CUresult, CUstream, Driver, Op, Written};

    /// The driver's functions for each width.
    pub trait Sealed {
        const WAIT: (Op, &'static str);
        const WRITE: (Op, &'static str);

        fn awaited(self) -> Awaited;
        fn written(self) -> Written;

        /// # Safety
        /// 1. The stream is live; those of [`CudaStream::wait_value`](super::CudaStream::wait_value) hold for the address.
        unsafe fn wait(self, driver: &Driver, stream: CUstream, address: u64, flags: u32) -> CUresult;

        /// # Safety
        /// 1. The stream is live; those of [`CudaStream::write_value`](super::CudaStream::write_value) hold for the address.
        unsafe fn write(self, driver: &Driver, stream: CUstream, address: u64, flags: u32) -> CUresult;
    }
}

macro_rules! value {
    ($type:ty, $member:ident, $wait:ident, $wait_op:ident, $write:ident, $write_op:ident) => {
        impl sealed::Sealed for $type {
            const WAIT: (Op, &'static str) = (Op::$wait_op, stringify!($wait));
            const WRITE: (Op, &'static str) = (Op::$write_op, stringify!($write));

            fn awaited(self) -> Awaited {
                let mut number = Awaited { value64: 0 };
                number.$member = self;
                number
            }

            fn written(self) -> Written {
                let mut number = Written { value64: 0 };
                number.$member = self;
                number
            }

            unsafe fn wait(self, driver: &Driver, stream: CUstream, address: u64, flags: u32) -> CUresult {
                // SAFETY: the stream is live and the address good for the wait, by the caller's duty 1; the driver checks the flags.
                unsafe { driver.$wait(stream, address, self, flags) }
            }

            unsafe fn write(self, driver: &Driver, stream: CUstream, address: u64, flags: u32) -> CUresult {
                // SAFETY: the stream is live, the address good for the write, and nobody relies on what was there, by the caller's duty
                // 1; the driver checks the flags.
                unsafe { driver.$write(stream, address, self, flags) }
            }
        }
    };
}

value!(
    u32,
    value,
    cuStreamWaitValue32,
    CU_STREAM_MEM_OP_WAIT_VALUE_32,
    cuStreamWriteValue32,
    CU_STREAM_MEM_OP_WRITE_VALUE_32
);
value!(
    u64,
    value64,
    cuStreamWaitValue64,
    CU_STREAM_MEM_OP_WAIT_VALUE_64,
    cuStreamWriteValue64,
    CU_STREAM_MEM_OP_WRITE_VALUE_64
);

/// The scope in which writes before a barrier are visible after it (`CUstreamMemoryBarrier_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum BarrierScope {
    /// The host and all devices.
    System = 0,
    /// This device.
    Device = 1,
}

/// One operation of a batch; see [`CudaStream::memory_operations`]. Creating one is safe, submitting it to a stream is
/// not.
///
/// ```
/// use cuda_launch::stream::{StreamMemoryOp, WriteValueFlags};
/// use cuda_launch::DevicePtrMut;
/// let write = StreamMemoryOp::write(DevicePtrMut::<u32>::from_raw(0x1000), 7, WriteValueFlags::empty());
/// assert_eq!(format!("{write:?}"), "StreamMemoryOp(cuStreamWriteValue32 0x1000 7)");
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct StreamMemoryOp(CUstreamBatchMemOpParams);

impl StreamMemoryOp {
    /// Waits for a value in memory.
    pub fn wait<T: StreamValue>(
        address: impl Into<DevicePtr<T>>,
        until: WaitCondition,
        value: T,
        flags: WaitValueFlags,
    ) -> Self {
        Self::of(|raw| {
            raw.waitValue.operation = T::WAIT.0;
            raw.waitValue.address = address.into().addr();
            raw.waitValue.__bindgen_anon_1 = value.awaited();
            raw.waitValue.flags = until as u32 | flags.bits();
        })
    }

    /// Writes a value to memory.
    pub fn write<T: StreamValue>(address: DevicePtrMut<T>, value: T, flags: WriteValueFlags) -> Self {
        Self::of(|raw| {
            raw.writeValue.operation = T::WRITE.0;
            raw.writeValue.address = address.addr();
            raw.writeValue.__bindgen_anon_1 = value.written();
            raw.writeValue.flags = flags.bits();
        })
    }

    /// Makes earlier writes visible to later operations. Supported since CUDA 11.7, only in batches.
    pub fn barrier(scope: BarrierScope) -> Self {
        Self::of(|raw| {
            raw.memoryBarrier.operation = Op::CU_STREAM_MEM_OP_BARRIER;
            raw.memoryBarrier.flags = scope as u32;
        })
    }

    /// An operation that this crate does not know.
    ///
    /// # Safety
    /// 1. All 48 bytes are initialised, as `Default` does, and as the driver's documentation of the operation requires.
    pub const unsafe fn from_raw(raw: CUstreamBatchMemOpParams) -> Self {
        Self(raw)
    }

    /// All 48 bytes are zero before `set`, which sets members one by one: a whole structure would bring padding that is not
    /// initialised.
    fn of(set: impl FnOnce(&mut CUstreamBatchMemOpParams)) -> Self {
        let mut raw = CUstreamBatchMemOpParams { pad: [0; 6] };
        set(&mut raw);
        Self(raw)
    }
}

impl fmt::Debug for StreamMemoryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: all 48 bytes are written, by `of` or duty 1 of `from_raw`, so that each member can be copied; every one begins with the
        // operation, which says how wide the number is that was written.
        unsafe {
            let (wait, write) = (self.0.waitValue, self.0.writeValue);
            let (name, address, value) = match self.0.operation {
                Op::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
                    (<u32 as sealed::Sealed>::WAIT.1, wait.address, u64::from(wait.__bindgen_anon_1.value))
                }
                Op::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
                    (<u64 as sealed::Sealed>::WAIT.1, wait.address, wait.__bindgen_anon_1.value64)
                }
                Op::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
                    (<u32 as sealed::Sealed>::WRITE.1, write.address, u64::from(write.__bindgen_anon_1.value))
                }
                Op::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
                    (<u64 as sealed::Sealed>::WRITE.1, write.address, write.__bindgen_anon_1.value64)
                }
                other => return write!(f, "StreamMemoryOp(operation {})", other.0),
            };
            write!(f, "StreamMemoryOp({name} {address:#x} {value})")
        }
    }
}

impl CudaStream {
    /// Makes work submitted to the stream from now on wait until a value in memory meets the condition.
    ///
    /// The value may be written by a kernel, a copy, another stream's [`write_value`](Self::write_value), or by the
    /// host if the memory is pinned. Drivers reject memory from pools, which most buffers use, and managed memory: use
    /// [`DeviceBuffer::uninit_plain`](crate::DeviceBuffer::uninit_plain) or [`PinnedBuffer`](crate::PinnedBuffer). The
    /// driver does not know about this ordering: it may hold back the very work that would write the value, unless
    /// events order it too.
    ///
    /// Driver call: `cuStreamWaitValue32` or `cuStreamWaitValue64`.
    ///
    /// ```
    /// use cuda_launch::stream::{WaitCondition, WaitValueFlags, WriteValueFlags};
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let ctx = CudaContext::new(0)?;
    /// let (stream, other) = (ctx.new_stream()?, ctx.new_stream()?);
    /// let mut flag = DeviceBuffer::<u32>::uninit_plain(&ctx, 1)?;
    /// flag.view_mut().set_zero(&stream)?;
    /// let flag = flag.as_mut_device_ptr();
    /// stream.synchronize()?;
    /// // SAFETY: 1: of both: the buffer is memory of the device, and lives until both streams are done; 2: nobody else
    /// // uses it.
    /// unsafe {
    ///     stream.wait_value(flag, WaitCondition::Equal, 7, WaitValueFlags::empty())?;
    ///     other.write_value(flag, 7, WriteValueFlags::empty())?;
    /// }
    /// stream.synchronize()?;
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`, with a hint, if the address is misaligned or in another kind of memory; or any error
    /// returned by the driver; [`Error::is_unsupported`] for what the device does not support.
    ///
    /// # Safety
    /// 1. `address` is in memory of the device or in pinned memory that it can access, which lives until the wait is
    ///    over; where the stream captures, as long as the graph can run.
    #[doc(alias = "cuStreamWaitValue32")]
    #[doc(alias = "cuStreamWaitValue64")]
    pub unsafe fn wait_value<T: StreamValue>(
        &self,
        address: impl Into<DevicePtr<T>>,
        until: WaitCondition,
        value: T,
        flags: WaitValueFlags,
    ) -> Result<(), Error> {
        let (address, bits) = (address.into().addr(), until as u32 | flags.bits());
        let asked = || format!("{address:#x} {until:?} {value}, flags {flags:?}");
        // SAFETY: 1: the stream lives as long as this handle (`StreamInner`); the address is good for the wait by the caller's duty 1.
        Submission::on(self)
            .call(T::WAIT.1, asked, |driver| unsafe { value.wait(driver, self.raw(), address, bits) })
            .map_err(explain)
    }

    /// Writes a value to memory once all work submitted to the stream so far is done. The memory is of the kinds that
    /// [`wait_value`](Self::wait_value) takes.
    ///
    /// Driver call: `cuStreamWriteValue32` or `cuStreamWriteValue64`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`, with a hint, if the address is misaligned or in another kind of memory; or any error
    /// returned by the driver; [`Error::is_unsupported`] for what the device does not support.
    ///
    /// # Safety
    /// 1. `address` is in memory of the device or in pinned memory that it can access, which lives until the write is
    ///    done; where the stream captures, as long as the graph can run.
    /// 2. Until then nothing relies on the old value: no other work, and no Rust reference.
    #[doc(alias = "cuStreamWriteValue32")]
    #[doc(alias = "cuStreamWriteValue64")]
    pub unsafe fn write_value<T: StreamValue>(
        &self,
        address: DevicePtrMut<T>,
        value: T,
        flags: WriteValueFlags,
    ) -> Result<(), Error> {
        let (address, bits) = (address.addr(), flags.bits());
        let asked = || format!("{address:#x} {value}, flags {flags:?}");
        // SAFETY: 1: the stream lives as long as this handle (`StreamInner`); the address is good for the write by the caller's duty 1, and
        // nobody relies on what is written over, by duty 2.
        Submission::on(self)
            .call(T::WRITE.1, asked, |driver| unsafe { value.write(driver, self.raw(), address, bits) })
            .map_err(explain)
    }

    /// Submits several such operations in one call, at most 256; they run in order.
    ///
    /// Driver call: `cuStreamBatchMemOp`; none for an empty list.
    ///
    /// # Errors
    /// As for [`wait_value`](Self::wait_value); then none of them is done.
    ///
    /// # Safety
    /// 1. The duties of [`wait_value`](Self::wait_value) for the address of each operation that waits, and those of
    ///    [`write_value`](Self::write_value) for that of each that writes. Operations without an address add none.
    #[doc(alias = "cuStreamBatchMemOp")]
    pub unsafe fn memory_operations(&self, operations: &[StreamMemoryOp]) -> Result<(), Error> {
        if operations.is_empty() {
            return Ok(());
        }
        let count = u32::try_from(operations.len()).unwrap_or(u32::MAX);
        let asked = || format!("{count} operations: {operations:?}");
        // The driver takes them as mutable: a copy.
        let mut raw: Vec<CUstreamBatchMemOpParams> = operations.iter().map(|operation| operation.0).collect();
        // SAFETY: the stream lives as long as this handle (`StreamInner`); `raw` has `count` operations and outlives the call, which
        // copies them; each sets the members of its kind, by the constructor that made it or duty 1 of `StreamMemoryOp::from_raw`. The
        // addresses are good by the caller's duty 1.
        let call =
            |driver: &Driver| unsafe { driver.cuStreamBatchMemOp(self.raw(), count, raw.as_mut_ptr(), 0) };
        Submission::on(self).call("cuStreamBatchMemOp", asked, call).map_err(explain)
    }
}

/// The driver's code alone does not tell what is wrong with an address.
fn explain(error: Error) -> Error {
    error.with_hint_for(
        CUresult::CUDA_ERROR_INVALID_VALUE,
        "the address must be aligned to the size of its value, and be in pinned memory or in device memory that is not from a pool, \
         such as that of `DeviceBuffer::uninit_plain`: drivers refuse pool and managed memory here",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Miri knows of each byte whether it was written.
    #[test]
    fn all_bytes_of_an_operation_are_written() {
        let (from, to) = (DevicePtr::<u64>::from_raw(0x2000), DevicePtrMut::<u32>::from_raw(0x1000));
        let operations = [
            (StreamMemoryOp::write(to, 7, WriteValueFlags::NO_MEMORY_BARRIER), [2, 0x1000, 7, 1, 0, 0]),
            (
                StreamMemoryOp::wait(from, WaitCondition::Nor, 8, WaitValueFlags::empty()),
                [4, 0x2000, 8, 3, 0, 0],
            ),
            (StreamMemoryOp::barrier(BarrierScope::System), [6, 0, 0, 0, 0, 0]),
        ];
        for (operation, words) in operations {
            // SAFETY: `of` set all 48 bytes to zero, and what was written over them are numbers without padding.
            assert_eq!(unsafe { operation.0.pad }, words);
        }
    }
}
