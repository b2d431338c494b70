//! Buffers as DLPack tensors, and back.

#![allow(unsafe_code)] // Follows pointers of structures that this file made, or that a caller of `from_raw` vouched for.

#[doc(hidden)]
pub mod abi;

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::allocation::{Allocation, Origin};
use super::buffer::{DeviceBuffer, byte_len};
use super::device_copy::DeviceCopy;
use crate::driver::drops::drop_quietly;
use crate::driver::{CudaContext, CudaStream};
use crate::error::{DlPackError, Error, ErrorKind};
use crate::ordering::Submission;
use abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPackVersion, DLTensor,
};

/// An element type that DLPack has a name for.
///
/// A type whose size does not match its name is rejected where tensors are made and taken.
pub trait DlElement: DeviceCopy {
    /// Its name: a code, and a number of bits.
    const TYPE: DLDataType;
}

/// An error unless a `T` has the size that its name says: the other library, or a buffer here, would reach beyond the memory.
fn has_its_size<T: DlElement>() -> Result<(), Error> {
    let DLDataType { bits, lanes, .. } = T::TYPE;
    let (named, size) = (usize::from(bits) * usize::from(lanes), 8 * size_of::<T>());
    let error = || mismatch("element size", format!("{size} bits"), format!("{:?}", T::TYPE));
    (named == size).then_some(()).ok_or_else(error)
}

macro_rules! elements {
    ($($ty:ty = $code:literal;)*) => {$(
        impl DlElement for $ty {
            const TYPE: DLDataType = DLDataType { code: $code, bits: (8 * size_of::<$ty>()) as u8, lanes: 1 };
        }
    )*};
}

elements! {
    i8 = 0; i16 = 0; i32 = 0; i64 = 0;
    u8 = 1; u16 = 1; u32 = 1; u64 = 1;
    f32 = 2; f64 = 2;
}

#[cfg(feature = "half")]
elements! { half::f16 = 2; half::bf16 = 4; }

/// A tensor of the DLPack standard, released when dropped.
///
/// ```
/// use cuda_launch::interop::DlTensor;
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let buffer = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let tensor = buffer.into_dlpack(&stream, &[2, 3])?;
/// let raw = tensor.into_raw(); // for another library, in a capsule called "dltensor_versioned"
/// // SAFETY: 1, 2: `into_raw` has just given up a tensor that `into_dlpack` made, and nobody else has it or its
/// // memory; 3: what wrote it was given to `stream`, where it is used below; 4: `ctx` is the context of its buffer.
/// let tensor = unsafe { DlTensor::from_raw(raw) };
/// assert_eq!(tensor.shape(), [2, 3]);
/// let buffer: DeviceBuffer<f32> = tensor.into_buffer(&ctx)?;
/// assert_eq!(buffer.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "DLManagedTensor", alias = "DLManagedTensorVersioned")]
pub struct DlTensor {
    raw: Raw,
}

/// Either structure, owned: live and as the standard requires, by duty 1 of `from_raw` and `from_raw_legacy`, or because `made` and
/// `into_raw_legacy` created it so. Dropping the `DlTensor` that owns it frees it; until then nothing writes the structure, its
/// lengths or its strides.
#[derive(Debug)]
enum Raw {
    Versioned(NonNull<DLManagedTensorVersioned>),
    Legacy(NonNull<DLManagedTensor>),
}

// SAFETY: its deleter may be called by any thread: those of this file drop a `Kept` or a `DlTensor`, which are `Send`,
// and of others duty 1 of `from_raw` and `from_raw_legacy` says so. The rest is numbers and pointers that the tensor
// owns.
unsafe impl Send for DlTensor {}
// SAFETY: through a shared reference the description is only read, which nobody writes while this value owns it.
unsafe impl Sync for DlTensor {}

/// What a tensor that this crate made keeps.
struct Kept {
    _memory: Box<dyn Any + Send + Sync>,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
}

/// The memory of tensors that this crate created and that were not released yet, by the tensor's address. A tensor
/// records neither its context nor the streams that use its memory; this table recovers both when the tensor is
/// imported again.
static OURS: Mutex<BTreeMap<usize, Arc<Allocation>>> = Mutex::new(BTreeMap::new());

/// [`OURS`], locked. Memory that is removed is dropped after the lock is released, because its drop may run any code.
fn ours() -> MutexGuard<'static, BTreeMap<usize, Arc<Allocation>>> {
    // Nothing below the lock panics; a poisoned lock would still hold a whole list.
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the memory of a tensor that was just made, if it is this crate's.
fn remember<T>(tensor: NonNull<T>, allocation: Option<Arc<Allocation>>) {
    if let Some(allocation) = allocation {
        let stale = ours().insert(tensor.addr().get(), allocation);
        drop(stale);
    }
}

/// Forgets a tensor that is about to be freed.
fn forget<T>(tensor: *mut T) {
    let allocation = ours().remove(&tensor.addr());
    drop(allocation);
}

impl<T: DlElement + Send + Sync> DeviceBuffer<T> {
    /// Turns the buffer into a tensor of that shape, in dense row-major layout.
    ///
    /// `stream` is the consumer's: its work from now on comes after all work that uses the buffer. When the consumer
    /// releases the tensor, the memory is freed after all work in the context.
    ///
    /// # Errors
    /// [`ErrorKind::DlPack`]: the number of elements of the shape differs, or DLPack cannot represent it; or the
    /// elements do not have the size that their name implies. The stream belongs to another context or captures.
    pub fn into_dlpack(self, stream: &CudaStream, shape: &[usize]) -> Result<DlTensor, Error> {
        has_its_size::<T>()?;
        let elements = match shape.contains(&0) {
            true => Some(0),
            false => shape.iter().try_fold(1usize, |product, len| product.checked_mul(*len)),
        };
        let numbers: Option<Box<[i64]>> = shape.iter().map(|len| i64::try_from(*len).ok()).collect();
        let fits = elements == Some(self.len()) && i32::try_from(shape.len()).is_ok();
        let Some(numbers) = numbers.filter(|_| fits) else {
            return Err(mismatch("shape", format!("{} elements", self.len()), format!("{shape:?}")));
        };
        stream.same_context(self.context(), "the buffer")?;
        stream.refuse_in_capture("into_dlpack")?;
        Submission::on(stream).writes(self.allocation())?;
        let device = DLDevice { device_type: DLDevice::CUDA, device_id: self.context().raw_device() };
        // The address is handed out, and may be used on streams that this crate does not know.
        let data = std::ptr::without_provenance_mut(self.cu_deviceptr() as usize);
        let mut strides = vec![1i64; shape.len()].into_boxed_slice();
        let mut step = 1i64;
        for (stride, len) in strides.iter_mut().zip(&numbers).rev() {
            *stride = step;
            // Of no elements there may be rows of any length: there the distances say nothing.
            step = step.saturating_mul((*len).max(1));
        }
        let allocation = self.allocation().clone();
        let kept = Kept { _memory: Box::new(self), shape: numbers, strides };
        Ok(DlTensor::made(data, device, T::TYPE, kept, Some(allocation)))
    }
}

impl DlTensor {
    /// A tensor of what `kept` keeps; `allocation` is its memory, if it is this crate's.
    fn made(
        data: *mut c_void,
        device: DLDevice,
        dtype: DLDataType,
        kept: Kept,
        allocation: Option<Arc<Allocation>>,
    ) -> Self {
        let ndim = kept.shape.len() as i32;
        let mut kept = Box::new(kept);
        // No distances where rows lie one after the other, and not where there is no distance.
        let strides = if kept.strides.is_empty() { null_mut() } else { kept.strides.as_mut_ptr() };
        let shape = kept.shape.as_mut_ptr();
        let tensor = Box::new(DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 0 },
            manager_ctx: Box::into_raw(kept).cast(),
            deleter: Some(delete),
            flags: 0,
            dl_tensor: DLTensor { data, device, ndim, dtype, shape, strides, byte_offset: 0 },
        });
        let raw = NonNull::from(Box::leak(tensor));
        remember(raw, allocation);
        Self { raw: Raw::Versioned(raw) }
    }

    /// The memory, if it belongs to this crate.
    fn allocation(&self) -> Option<Arc<Allocation>> {
        let address = match self.raw {
            Raw::Versioned(raw) => raw.addr(),
            Raw::Legacy(raw) => raw.addr(),
        };
        ours().get(&address.get()).cloned()
    }

    /// Takes ownership of a tensor from another library, from a capsule called `dltensor_versioned`.
    ///
    /// # Safety
    /// 1. It is a live tensor of version 1 of the standard, and the caller is its only owner. Its deleter may be called
    ///    on any thread.
    /// 2. Its memory is as it says, and stays valid until it is released. Nothing else writes it in the meantime, nor
    ///    reads it unless the tensor says that it is read-only.
    /// 3. Work that wrote it is done, or is ordered before the streams that it is used on here.
    /// 4. Contexts of its device that are passed to [`DlTensor::into_buffer`] belong to the driver that allocated it,
    ///    and can access it: the tensor holds the device's number only. For a tensor that this crate made, the context
    ///    is known and compared.
    pub unsafe fn from_raw(raw: NonNull<DLManagedTensorVersioned>) -> Self {
        Self { raw: Raw::Versioned(raw) }
    }

    /// Takes ownership of a tensor in the older form, from a capsule called `dltensor`.
    ///
    /// # Safety
    /// 1. It is a live tensor of that form, and the caller is its only owner. Its deleter may be called on any thread.
    /// 2. Its memory is as it says, may be written, and stays valid until it is released. Nothing else uses it in the
    ///    meantime.
    /// 3. As duty 3 of [`DlTensor::from_raw`]: work that wrote it is ordered before its uses here.
    /// 4. As duty 4 of [`DlTensor::from_raw`]: contexts passed to [`DlTensor::into_buffer`] can access it.
    pub unsafe fn from_raw_legacy(raw: NonNull<DLManagedTensor>) -> Self {
        Self { raw: Raw::Legacy(raw) }
    }

    /// Hands the tensor to another library, which calls its deleter once.
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        let wrapped = match self.raw {
            Raw::Versioned(raw) => {
                std::mem::forget(self);
                return raw;
            }
            // A new head over the older tensor, which keeps it.
            Raw::Legacy(_) => {
                let tensor = *self.tensor();
                let (shape, strides, allocation) =
                    (self.shape().into(), self.strides().into(), self.allocation());
                let kept = Kept { _memory: Box::new(self), shape, strides };
                let data = tensor.data.wrapping_byte_add(tensor.byte_offset as usize);
                Self::made(data, tensor.device, tensor.dtype, kept, allocation)
            }
        };
        wrapped.into_raw()
    }

    /// Hands the tensor to another library that knows only the older form. That form cannot mark elements as read-only.
    pub fn into_raw_legacy(self) -> NonNull<DLManagedTensor> {
        if let Raw::Legacy(raw) = self.raw {
            std::mem::forget(self);
            return raw;
        }
        let (tensor, allocation) = (*self.tensor(), self.allocation());
        let manager_ctx = Box::into_raw(Box::new(self)).cast();
        // Shape and strides stay where they are: the tensor that is kept owns them.
        let legacy = DLManagedTensor { dl_tensor: tensor, manager_ctx, deleter: Some(delete_legacy) };
        let raw = NonNull::from(Box::leak(Box::new(legacy)));
        remember(raw, allocation);
        raw
    }

    /// The tensor's elements as a buffer; the tensor is released with it, after the work that uses it.
    ///
    /// For a tensor that this crate made, the accesses tracked before still count, as if the memory had never left. No
    /// driver call.
    ///
    /// # Errors
    /// [`ErrorKind::DlPack`]: the elements are of another type or size, on another device, not in dense row-major
    /// layout, or read-only. [`Error::is_context_mismatch`]: this crate made the tensor from memory of another context.
    pub fn into_buffer<T: DlElement>(self, context: &CudaContext) -> Result<DeviceBuffer<T>, Error> {
        has_its_size::<T>()?;
        let (tensor, allocation) = (*self.tensor(), self.allocation());
        if let Some(allocation) = &allocation {
            context.same_context(allocation.context(), "the memory of the tensor", "the context")?;
        }
        if tensor.dtype != T::TYPE {
            return Err(mismatch("element type", format!("{:?}", T::TYPE), format!("{:?}", tensor.dtype)));
        }
        let kinds = [DLDevice::CUDA, DLDevice::CUDA_HOST, DLDevice::CUDA_MANAGED];
        let managed = tensor.device.device_type != DLDevice::CUDA;
        let here = managed || tensor.device.device_id == context.raw_device();
        if !here || !kinds.contains(&tensor.device.device_type) {
            let wanted = format!("CUDA device {}", context.raw_device());
            return Err(mismatch("device", wanted, format!("{:?}", tensor.device)));
        }
        if self.is_read_only() {
            return Err(mismatch(
                "access",
                "memory that may be written".into(),
                "a tensor that may only be read".into(),
            ));
        }
        let len = self.compact_len().ok_or_else(|| {
            let found = format!("shape {:?}, strides {:?}", self.shape(), self.strides());
            mismatch("layout", "rows one after the other".into(), found)
        })?;
        let address = (tensor.data.addr() as u64).wrapping_add(tensor.byte_offset);
        if !address.is_multiple_of(align_of::<T>() as u64) {
            return Err(mismatch("alignment", format!("{} bytes", align_of::<T>()), format!("{address:#x}")));
        }
        byte_len::<T>(len)?;
        let allocation = match allocation {
            // The tensor and what it kept are dropped here; the memory stays alive.
            Some(allocation) => allocation,
            // SAFETY: 1: the tensor keeps its memory until it is dropped, and the context can access it, by duties 2 and 4 of `from_raw` or `from_raw_legacy`.
            None => unsafe { Allocation::new(address, context, Origin::Foreign(Box::new(self))) },
        };
        Ok(DeviceBuffer::from_allocation(len, address, allocation))
    }

    /// The lengths of the dimensions, in elements.
    pub fn shape(&self) -> &[i64] {
        let tensor = self.tensor();
        // SAFETY: 1: by the standard there are `ndim` lengths, aligned, which live as long as the tensor and which
        // nobody writes (`Raw`); the result borrows `self`, which owns it.
        unsafe { dimensions(tensor.shape, tensor.ndim) }
    }

    /// The strides of each dimension, in elements; empty for dense row-major layout.
    pub fn strides(&self) -> &[i64] {
        let tensor = self.tensor();
        // SAFETY: 1: as for the lengths; null stands for no strides.
        unsafe { dimensions(tensor.strides, tensor.ndim) }
    }

    /// Whether the elements are read-only.
    pub fn is_read_only(&self) -> bool {
        match self.raw {
            // SAFETY: the structure is live, and nothing writes or frees it as long as this value owns it (`Raw`).
            Raw::Versioned(raw) => unsafe { raw.as_ref() }.flags & DLPACK_FLAG_BITMASK_READ_ONLY != 0,
            Raw::Legacy(_) => false,
        }
    }

    /// The description of the tensor.
    pub fn tensor(&self) -> &DLTensor {
        match self.raw {
            // SAFETY: as in `is_read_only`; the result borrows this value.
            Raw::Versioned(raw) => unsafe { &(*raw.as_ptr()).dl_tensor },
            // SAFETY: as in `is_read_only`; the result borrows this value.
            Raw::Legacy(raw) => unsafe { &(*raw.as_ptr()).dl_tensor },
        }
    }

    /// The number of elements, if they are contiguous.
    fn compact_len(&self) -> Option<usize> {
        if self.shape().contains(&0) {
            return Some(0);
        }
        let mut len = 1i64;
        let strides = self.strides();
        for (dimension, extent) in self.shape().iter().enumerate().rev() {
            // The distance says nothing where there are no neighbours.
            if *extent != 1 && strides.get(dimension).is_some_and(|stride| *stride != len) {
                return None;
            }
            len = len.checked_mul(*extent).filter(|_| *extent >= 0)?;
        }
        usize::try_from(len).ok()
    }
}

/// A slice of `count` numbers; empty if `start` is null.
///
/// # Safety
/// 1. Unless `start` is null, it points to `count` aligned numbers that nothing writes during `'a`.
unsafe fn dimensions<'a>(start: *const i64, count: i32) -> &'a [i64] {
    match usize::try_from(count) {
        // SAFETY: `start` is not null, so by the caller's duty 1 it points to `count` aligned numbers that nothing
        // writes.
        Ok(count) if count > 0 && !start.is_null() => unsafe { std::slice::from_raw_parts(start, count) },
        _ => &[],
    }
}

fn mismatch(what: &'static str, wanted: String, found: String) -> Error {
    ErrorKind::DlPack(DlPackError { what, wanted, found }).into()
}

impl Drop for DlTensor {
    fn drop(&mut self) {
        // SAFETY: the structure is live and this value its only owner, as duty 1 of `from_raw` and `from_raw_legacy`
        // says or `made` made it; `into_raw` and its like forget or move the value, so that the deleter is called once.
        // It may be called on any thread, as for `Send`.
        unsafe {
            match self.raw {
                Raw::Versioned(raw) => {
                    if let Some(deleter) = (*raw.as_ptr()).deleter {
                        deleter(raw.as_ptr());
                    }
                }
                Raw::Legacy(raw) => {
                    if let Some(deleter) = (*raw.as_ptr()).deleter {
                        deleter(raw.as_ptr());
                    }
                }
            }
        }
    }
}

/// Gives back a tensor that [`DlTensor::made`] made.
unsafe extern "C" fn delete(tensor: *mut DLManagedTensorVersioned) {
    if tensor.is_null() {
        return;
    }
    forget(tensor);
    // SAFETY: `made` leaked both boxes, of these types, and gave this deleter to no other tensor; the standard has the owner call it
    // once, on any thread, and a `Kept` is Send.
    let kept = unsafe {
        let tensor = Box::from_raw(tensor);
        Box::from_raw(tensor.manager_ctx.cast::<Kept>())
    };
    // The caller may be C code: a panic must not unwind into it.
    drop_quietly([kept]);
}

/// Gives back a tensor that [`DlTensor::into_raw_legacy`] made.
unsafe extern "C" fn delete_legacy(tensor: *mut DLManagedTensor) {
    if tensor.is_null() {
        return;
    }
    forget(tensor);
    // SAFETY: `into_raw_legacy` leaked both boxes, of these types, and gave this deleter to no other tensor; the standard has the owner
    // call it once, on any thread, and a `DlTensor` is Send. Its end is a call of a C function, which does not unwind.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.manager_ctx.cast::<DlTensor>()));
    }
}
