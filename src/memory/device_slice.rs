//! The traits of device memory that can be read and written: buffers, views and memory of your own.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use super::allocation::Allocation;
use super::device_copy::DeviceCopy;
use crate::driver::CudaContext;

/// Device memory that can be read: buffers, views, and references and smart pointers to them.
///
/// ```
/// use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DeviceSlice, Error};
/// # let ctx = CudaContext::new(0)?;
/// # let stream = ctx.new_stream()?;
/// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
/// fn average(memory: &impl DeviceSlice<Element = f32>, stream: &CudaStream) -> Result<f32, Error> {
///     Ok(stream.clone_dtoh(memory)?.iter().sum::<f32>() / memory.len() as f32)
/// }
/// assert_eq!((average(&x, &stream)?, average(&x.slice(2..), &stream)?), (2.5, 3.5));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Implement it, and [`DeviceSliceMut`], for memory of your own: launches and copies then take your type wherever they take a buffer,
/// order it, and keep it alive. Memory of another allocator first becomes a buffer, by [`DeviceBuffer::from_foreign`](crate::DeviceBuffer::from_foreign) or
/// [`from_raw_parts`](crate::DeviceBuffer::from_raw_parts), which tracks its users and knows how to free it; your type holds that buffer, or
/// a share of it, and says which part is its own:
///
/// ```standalone_crate
/// use cuda_launch::memory::SliceParts;
/// use cuda_launch::{CudaContext, DeviceBuffer, DeviceSlice, DeviceSliceMut, Error, LaunchConfig, cuda_launch};
/// use std::sync::Arc;
///
/// /// One of several tensors that share an allocation.
/// struct Tensor {
///     memory: Arc<DeviceBuffer<u8>>,
///     address: u64,
///     len: usize,
/// }
///
/// /// Two tensors of `len` elements each; `None` if they do not fit, or if the memory is not aligned for them.
/// fn two(memory: DeviceBuffer<u8>, len: usize) -> Option<[Tensor; 2]> {
///     let (start, bytes) = (*memory.parts().address(), len.checked_mul(size_of::<f32>())?);
///     let fits = bytes <= memory.len() / 2 && start.is_multiple_of(align_of::<f32>() as u64);
///     let memory = Arc::new(memory);
///     let tensor = |at: usize| Tensor { memory: memory.clone(), address: start + at as u64, len };
///     fits.then(|| [tensor(0), tensor(bytes)])
/// }
///
/// // SAFETY: 1: `two` compared the size, and each tensor has its own part; 2: the share of `memory`; 3: neither is ever changed.
/// unsafe impl DeviceSlice for Tensor {
///     type Element = f32;
///     fn parts(&self) -> SliceParts<'_, f32> {
///         // SAFETY: 1: `two` found both parts inside `memory`, and its start aligned; the second part begins a whole number of elements
///         // after it.
///         unsafe { SliceParts::part_of(&self.memory, &self.address, &self.len) }
///     }
/// }
///
/// // SAFETY: 1: no other tensor has the part, and nobody else a share of `memory`.
/// unsafe impl DeviceSliceMut for Tensor {
///     fn parts_mut(&mut self) -> SliceParts<'_, f32> {
///         (*self).parts()
///     }
/// }
///
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let saxpy = ctx.load_module(include_str!("../../examples/kernels/saxpy.ptx"))?.load_function("saxpy")?;
/// let [x, mut y] = two(DeviceBuffer::zeroed(&stream, 8000)?, 1000).ok_or("too small").unwrap();
/// cuda_launch::DeviceViewMut::of(&mut y).fill(&stream, 3.0)?;
/// // SAFETY: 1: saxpy takes a number of elements, a factor and two addresses; 2, 5, 6: it uses 1000 floats of each,
/// // which they have, writes floats, and ends; 3, 4: `ptr` and `ptr_mut` order its uses and the end of the memory,
/// // which is of the stream's context.
/// unsafe {
///     cuda_launch! { function: saxpy, stream: stream, config: LaunchConfig::for_num_elems(1000),
///                    args: [1000u32, 2.0f32, ptr(x), ptr_mut(y)] }
/// }?;
/// assert_eq!(stream.clone_dtoh(&y)?, [3.0; 1000]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Safety
/// 1. `address` points to `len` elements of device memory of `context`, or `len` is 0.
/// 2. That memory stays allocated as long as `self` is borrowed.
/// 3. Address and length stay the same until something takes `&mut self`: an operation checks them when it is created.
#[allow(unsafe_code)] // declared here, relied on by copies and launches
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory",
    label = "not a `DeviceBuffer` or a view into one",
    note = "copy host memory to the device first: `DeviceBuffer::from_host(&stream, &data)?`; pass a number, struct or \
            device pointer without `slice`, and a `PitchedBuffer` as `pitched(x)` or `pitched_mut(x)`, declared as \
            `&PitchedBuffer<T>` or `&mut PitchedBuffer<T>` in a typed module"
)]
pub unsafe trait DeviceSlice {
    /// The element.
    type Element: DeviceCopy;

    /// References to the address and the length: what the packet of a launch points at.
    ///
    /// ```
    /// // A tensor that wraps a buffer hands on the buffer's.
    /// use cuda_launch::memory::SliceParts;
    /// use cuda_launch::{DeviceBuffer, DeviceSlice};
    /// struct Tensor { buffer: DeviceBuffer<f32>, shape: [usize; 2] }
    /// // SAFETY: 1 to 3: those of a buffer, which is never replaced.
    /// unsafe impl DeviceSlice for Tensor {
    ///     type Element = f32;
    ///     fn parts(&self) -> SliceParts<'_, f32> {
    ///         self.buffer.parts()
    ///     }
    /// }
    /// ```
    fn parts(&self) -> SliceParts<'_, Self::Element>;

    /// Address of the first element; 0 for none. See [`DeviceBuffer::cu_deviceptr`](crate::DeviceBuffer::cu_deviceptr).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer, DeviceSlice};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// fn address(memory: &impl DeviceSlice) -> u64 {
    ///     memory.address()
    /// }
    /// assert_eq!(address(&x.slice(1..)), x.cu_deviceptr() + 4);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn address(&self) -> u64 {
        let parts = self.parts();
        parts.allocation.escape();
        *parts.address
    }

    /// The number of elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!((x.view().len(), x.slice(1..3).len()), (4, 2));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn len(&self) -> usize {
        *self.parts().len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert!(x.slice(4..).is_empty() && !x.view().is_empty());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context that the memory belongs to.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.view().context().ordinal(), ctx.ordinal());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    fn context(&self) -> &CudaContext {
        self.parts().allocation.context()
    }
}

/// Device memory that can be written: buffers and mutable views.
///
/// ```
/// use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DeviceSliceMut, DeviceViewMut, Error};
/// # let ctx = CudaContext::new(0)?;
/// # let stream = ctx.new_stream()?;
/// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
/// fn clear(memory: &mut impl DeviceSliceMut<Element = f32>, stream: &CudaStream) -> Result<(), Error> {
///     DeviceViewMut::of(memory).set_zero(stream)
/// }
/// clear(&mut x, &stream)?;
/// clear(&mut x.slice_mut(2..), &stream)?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Safety
/// 1. Nothing else uses the memory while `self` is mutably borrowed.
#[allow(unsafe_code)] // declared here, relied on by launches
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory that can be written",
    label = "not a `DeviceBuffer` or a `DeviceViewMut` into one",
    note = "copy host memory to the device first: `DeviceBuffer::from_host(&stream, &data)?`; pass memory that the kernel only reads as \
            `slice(x)`, and a number, struct or device pointer without `slice_mut`; pass a `PitchedBuffer` as `pitched_mut(x)`, declared as \
            `&mut PitchedBuffer<T>` in a typed module, or one row of it as `row_mut(y)`"
)]
pub unsafe trait DeviceSliceMut: DeviceSlice {
    /// Like [`DeviceSlice::parts`], for writing.
    fn parts_mut(&mut self) -> SliceParts<'_, Self::Element>;
}

/// References to the parts of a piece of device memory.
#[derive(Clone, Copy, Debug)]
pub struct SliceParts<'a, T: DeviceCopy> {
    pub(crate) address: &'a u64,
    pub(crate) len: &'a usize,
    pub(crate) allocation: &'a Arc<Allocation>,
    of: PhantomData<&'a [T]>,
}

impl<'a, T: DeviceCopy> SliceParts<'a, T> {
    /// `len` elements at `address`, a part of `owner`'s memory: for a [`DeviceSlice`] of your own.
    ///
    /// Using them counts as using the memory of `owner`, all of it as far as the order of streams is concerned.
    ///
    /// # Safety
    /// 1. The elements lie in the memory of `owner`, aligned as their type asks for; or `len` is 0.
    #[allow(unsafe_code)] // The duty is that of whoever implements `DeviceSlice`.
    pub unsafe fn part_of<S: DeviceSlice + ?Sized>(owner: &'a S, address: &'a u64, len: &'a usize) -> Self {
        Self::new(address, len, owner.parts().allocation)
    }

    /// The address of the first element. Work that receives it as a number is not ordered.
    pub fn address(&self) -> &'a u64 {
        self.address
    }

    /// The number of elements.
    pub fn len(&self) -> &'a usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn new(address: &'a u64, len: &'a usize, allocation: &'a Arc<Allocation>) -> Self {
        // A kernel takes the length as 8 bytes, and there is no CUDA for smaller machines.
        const { assert!(size_of::<usize>() == 8) };
        Self { address, len, allocation, of: PhantomData }
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        // SAFETY: 1: as what it points to, always the same value; 2: a borrow of the pointer keeps that; 3: to change it takes `&mut` of
        // it, which comes from `&mut` of the pointer, and of a shared pointer only where it is the last.
        #[allow(unsafe_code)]
        #[diagnostic::do_not_recommend]
        unsafe impl<S: DeviceSlice + ?Sized> DeviceSlice for $pointer {
            type Element = S::Element;

            #[inline(always)]
            fn parts(&self) -> SliceParts<'_, Self::Element> {
                (**self).parts()
            }
        }
    )*};
}

forward!(&S, &mut S, Box<S>, Rc<S>, Arc<S>);
