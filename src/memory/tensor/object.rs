//! Tensor maps that keep their memory alive, so that launches can order it.

use std::sync::Arc;

use cuda_driver_sys::CUtensorMap;

use super::map::{Im2colMap, TensorMap, TiledMap};
use crate::driver::{CudaContext, Keep};
use crate::error::Error;
use crate::memory::buffer::DeviceBuffer;
use crate::memory::device_copy::DeviceCopy;
use crate::memory::device_slice::DeviceSlice;
use crate::memory::object::{KernelObject, KernelObjectMut, ObjectParts, Shared, Used, sealed::Sealed};

/// A tensor map that shares ownership of its memory: what a kernel of a typed module takes as `&TensorMapObject`, or as
/// `&mut TensorMapObject` to write through it.
///
/// Launches order the memory like that of a slice, and it stays allocated as long as the object or a graph that uses it
/// lives, even when its buffer is dropped. Kernels whose methods are `unsafe` may take a [`TensorMap`] instead, which
/// does not track the memory.
///
/// ```
/// use cuda_launch::tensor::TensorMap;
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let matrix = DeviceBuffer::<f32>::zeroed(&stream, 64 * 128)?;
/// match TensorMap::tiled([128, 64], [32, 8]).encode_object(&matrix) {
///     Err(error) if error.is_unsupported() => return Ok(()), // a device before 9.0
///     map => assert_eq!(map?.context().ordinal(), 0),
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
pub struct TensorMapObject {
    map: CUtensorMap,
    used: Used,
}

impl TensorMapObject {
    fn new<T: DeviceCopy>(
        buffer: &DeviceBuffer<T>,
        encode: impl FnOnce(&CudaContext, u64, usize) -> Result<TensorMap, Error>,
    ) -> Result<Self, Error> {
        let parts = buffer.parts();
        let (context, address, bytes) =
            (parts.allocation.context(), *parts.address, *parts.len * size_of::<T>());
        let map = *encode(context, address, bytes)?.raw();
        let used = Used::memory(
            Arc::<crate::memory::Allocation>::clone(parts.allocation),
            context,
            address..address + bytes as u64,
        );
        Ok(Self { map, used })
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        self.used.context()
    }
}

impl TiledMap {
    /// Like [`encode`](Self::encode), of a whole buffer, whose ownership the map then shares.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_object<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Result<TensorMapObject, Error> {
        TensorMapObject::new(buffer, |context, address, bytes| self.encode_at::<T>(context, address, bytes))
    }
}

impl Im2colMap {
    /// Like [`encode`](Self::encode), of a whole buffer, whose ownership the map then shares.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_object<T: DeviceCopy>(&self, buffer: &DeviceBuffer<T>) -> Result<TensorMapObject, Error> {
        TensorMapObject::new(buffer, |context, address, bytes| self.encode_at::<T>(context, address, bytes))
    }
}

impl Sealed for TensorMapObject {}

#[diagnostic::do_not_recommend]
impl KernelObject for TensorMapObject {
    type Handle = CUtensorMap;

    #[inline]
    fn parts(&self) -> ObjectParts<'_, CUtensorMap> {
        ObjectParts { handle: &self.map, of: self }
    }
}

#[diagnostic::do_not_recommend]
impl KernelObjectMut for TensorMapObject {}

impl Shared for TensorMapObject {
    fn used(&self) -> &Used {
        &self.used
    }

    fn share(&self) -> Option<Keep> {
        // A value: what it points to is shared by itself.
        None
    }
}
