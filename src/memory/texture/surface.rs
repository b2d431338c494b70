//! Surface objects, with which kernels write arrays.

#![allow(unsafe_code)] // Calls of the driver with live handles; implementing `DeviceCopy` for a number.

use cuda_driver_sys as sys;
use std::sync::Arc;

use super::array::{ArrayInner, CudaArray};
use super::format::ArrayElement;
use super::object::of_array;
use crate::driver::{CudaContext, CudaStream, Keep, end_or_try_again};
use crate::error::{Error, ErrorKind, TextureError};
use crate::memory::device_copy::DeviceCopy;
use crate::memory::object::{KernelObject, KernelObjectMut, ObjectParts, Shared, Used, sealed::Sealed};
use crate::ordering::Submission;

/// The kernel argument for a surface: one 64-bit parameter, `cudaSurfaceObject_t`. Otherwise as
/// [`TextureHandle`](crate::texture::TextureHandle).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "CUsurfObject")]
pub struct SurfaceHandle(sys::CUsurfObject);

// SAFETY: 1, 2: a transparent u64; 3: no address of the host.
#[diagnostic::do_not_recommend]
unsafe impl DeviceCopy for SurfaceHandle {}

impl SurfaceHandle {
    /// The raw object.
    pub const fn raw(self) -> sys::CUsurfObject {
        self.0
    }
}

/// An array that kernels read and write by byte and row, without filtering.
///
/// It keeps the array alive. Kernels of typed modules take `&SurfaceObject`, or `&mut SurfaceObject` to write through
/// it, and their launches order it and keep it alive like buffers. Other launches take [`SurfaceObject::handle`]; their
/// accesses are tracked only by [`SurfaceObject::write_on`]. Dropping it waits for the streams that use the array, or for all work in its
/// context if its handle was given out.
///
/// ```
/// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray, SurfaceObject};
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let shape = ArrayShape::D2 { width: 4, height: 4 };
/// let array = CudaArray::<u32>::new(&ctx, shape, ArrayFlags::SURFACE)?;
/// let surface = SurfaceObject::new(&array)?;
/// assert_ne!(surface.handle().raw(), 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "cuSurfObjectCreate")]
pub struct SurfaceObject {
    inner: Arc<SurfaceInner>,
}

/// The object of the driver, and the array.
#[derive(Debug)]
struct SurfaceInner {
    handle: SurfaceHandle,
    used: Arc<Used>,
    // Dropped after the object.
    array: Arc<ArrayInner>,
}

impl SurfaceObject {
    /// A surface of an array that was created with [`ArrayFlags::SURFACE`](crate::texture::ArrayFlags::SURFACE).
    ///
    /// Driver call: `cuSurfObjectCreate`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray, SurfaceObject};
    /// # let ctx = CudaContext::new(0)?;
    /// let image = CudaArray::<f32>::new(&ctx, ArrayShape::D2 { width: 4, height: 2 }, ArrayFlags::SURFACE)?;
    /// let surface = SurfaceObject::new(&image)?;
    /// println!("{:?}", surface.handle());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The array was not created for surfaces, or any error returned by the driver.
    pub fn new<T: ArrayElement>(array: &CudaArray<T>) -> Result<Self, Error> {
        let (owner, context) = (array.share(), array.context().clone());
        if !owner.is_surface() {
            return Err(ErrorKind::Texture(TextureError::NoSurface).into());
        }
        let resource = of_array(array.raw());
        let used = Arc::new(Used::array(owner.resource(), &context, Some(array.raw().addr())));
        let inner = context.make(
            "cuSurfObjectCreate",
            String::new,
            // SAFETY: the array lives as long as its handle (`ArrayInner::raw`), which is borrowed, and `owner`, which the result holds, has
            // a share of it; the description and the place outlive the call.
            |driver, raw| unsafe { driver.cuSurfObjectCreate(raw, &resource) },
            |raw| SurfaceInner { handle: SurfaceHandle(raw), used, array: owner },
        )?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes work submitted to `stream` from now on wait for all tracked work that uses the array, and work on other
    /// streams wait for what comes next: for a kernel that writes through the surface. Call it before the launch.
    ///
    /// Driver calls: `cuEventRecord`, `cuStreamWaitEvent` for each other stream that used the array.
    ///
    /// # Errors
    /// Any error returned by the driver.
    pub fn write_on(&self, stream: &CudaStream) -> Result<(), Error> {
        stream.same_context(self.context(), "the surface")?;
        self.inner.used.note(&mut Submission::on(stream), true)
    }

    /// The kernel argument. After this call, the end of the surface waits for all work in its context, and so does that of its memory.
    pub fn handle(&self) -> SurfaceHandle {
        self.inner.used.escape();
        self.inner.handle
    }

    /// The context.
    pub fn context(&self) -> &CudaContext {
        self.inner.used.context()
    }

    /// Destroys the surface now, after the work that may use it, and reports any error. If a graph contains a launch
    /// that was given the surface, it shares ownership, and the surface is destroyed with the graph.
    ///
    /// Driver calls: `cuStreamSynchronize` or `cuCtxSynchronize`, and `cuSurfObjectDestroy`.
    ///
    /// # Errors
    /// Any error returned by the driver; this handle is released in any case.
    #[doc(alias = "cuSurfObjectDestroy")]
    pub fn close(self) -> Result<(), Error> {
        Arc::into_inner(self.inner).map_or(Ok(()), |mut inner| inner.destroy())
    }
}

impl Sealed for SurfaceObject {}

#[diagnostic::do_not_recommend]
impl KernelObject for SurfaceObject {
    type Handle = SurfaceHandle;

    #[inline]
    fn parts(&self) -> ObjectParts<'_, SurfaceHandle> {
        ObjectParts { handle: &self.inner.handle, of: self }
    }
}

#[diagnostic::do_not_recommend]
impl KernelObjectMut for SurfaceObject {}

impl Shared for SurfaceObject {
    fn used(&self) -> &Used {
        &self.inner.used
    }

    fn share(&self) -> Option<Keep> {
        Some(self.inner.clone())
    }
}

impl SurfaceInner {
    fn destroy(&mut self) -> Result<(), Error> {
        let raw = self.handle.0;
        if raw == 0 {
            return Ok(());
        }
        let context = self.used.context();
        context.may_give_back("cuSurfObjectDestroy")?;
        // Kernels that received the handle may still be running. If this fails, dropping this value tries again.
        self.used.end()?;
        self.handle = SurfaceHandle(0);
        // SAFETY: this value owned the object, and destroys it once, as 0 stands here after; no graph has a share: it would keep this
        // value; and `end` has waited for the work that uses it: each launch that is given the object notes that it uses what is behind
        // it, and where the handle was given out, or nothing is known to be behind it, `end` waits for all work.
        context.give_back("cuSurfObjectDestroy", String::new, |driver| unsafe {
            driver.cuSurfObjectDestroy(raw)
        })
    }
}

impl Drop for SurfaceInner {
    fn drop(&mut self) {
        end_or_try_again(self, Self::destroy, |surface| {
            let handle = std::mem::replace(&mut surface.handle, SurfaceHandle(0));
            let rest = || Self { handle, used: surface.used.clone(), array: surface.array.clone() };
            (handle.0 != 0).then(rest)
        });
    }
}
