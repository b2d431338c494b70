//! What may be passed for a parameter of a typed kernel.

#[cfg(feature = "tensor")]
use cuda_driver_sys::CUtensorMap;

use crate::memory::{DeviceCopy, DevicePtr, DevicePtrMut};
#[cfg(feature = "tensor")]
use crate::tensor::TensorMap;
#[cfg(feature = "texture")]
use crate::texture::{SurfaceHandle, SurfaceObject, TextureHandle, TextureObject};

/// A value that may be passed where a kernel declares the by-value parameter `P`.
///
/// Every [`DeviceCopy`] type may stand for itself; textures and surfaces for their handles; an address that may be written
/// for one that is read. Implement it for types of your own, to pass them to typed kernels as they are:
///
/// ```
/// use cuda_launch::launch::KernelArgument;
/// use cuda_launch::DevicePtr;
/// struct Table { rows: DevicePtr<f32> }
/// impl KernelArgument<DevicePtr<f32>> for &Table {
///     fn parameter(&self) -> DevicePtr<f32> { self.rows }
/// }
/// let table = Table { rows: DevicePtr::from_raw(0x1000) };
/// assert_eq!((&table).parameter().addr(), 0x1000);
/// assert_eq!(KernelArgument::<u32>::parameter(&7), 7);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for a kernel parameter `{P}`",
    label = "the kernel takes `{P}`",
    note = "a parameter declared as `*const T` or `*mut T` takes a buffer or view, as `&x` or `&mut x`; types of your own may \
            implement `KernelArgument<{P}>`"
)]
pub trait KernelArgument<P: DeviceCopy> {
    /// What the kernel gets.
    fn parameter(&self) -> P;
}

#[diagnostic::do_not_recommend]
impl<P: DeviceCopy> KernelArgument<P> for P {
    #[inline(always)]
    fn parameter(&self) -> P {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl<T: 'static> KernelArgument<DevicePtr<T>> for DevicePtrMut<T> {
    #[inline(always)]
    fn parameter(&self) -> DevicePtr<T> {
        (*self).into()
    }
}

#[cfg(feature = "texture")]
#[diagnostic::do_not_recommend]
impl KernelArgument<TextureHandle> for &TextureObject {
    #[inline(always)]
    fn parameter(&self) -> TextureHandle {
        self.handle()
    }
}

#[cfg(feature = "texture")]
#[diagnostic::do_not_recommend]
impl KernelArgument<SurfaceHandle> for &SurfaceObject {
    #[inline(always)]
    fn parameter(&self) -> SurfaceHandle {
        self.handle()
    }
}

#[cfg(feature = "tensor")]
#[diagnostic::do_not_recommend]
impl KernelArgument<TensorMap> for &TensorMap {
    #[inline(always)]
    fn parameter(&self) -> TensorMap {
        **self
    }
}

#[cfg(feature = "tensor")]
#[diagnostic::do_not_recommend]
impl KernelArgument<CUtensorMap> for &TensorMap {
    #[inline(always)]
    fn parameter(&self) -> CUtensorMap {
        *self.raw()
    }
}

#[cfg(feature = "tensor")]
#[diagnostic::do_not_recommend]
impl KernelArgument<CUtensorMap> for TensorMap {
    #[inline(always)]
    fn parameter(&self) -> CUtensorMap {
        *self.raw()
    }
}
