//! Variables of modules, typed and bounds-checked.

#![allow(unsafe_code)] // `DeviceSlice` for memory that a module owns, and this handle keeps loaded.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use super::allocation::{Allocation, Origin};
use super::buffer::view::{DeviceView, DeviceViewMut};
use super::constant_view::ConstantViewMut;
use super::device_copy::DeviceCopy;
use super::device_slice::{DeviceSlice, DeviceSliceMut, SliceParts};
use super::pointer::{DevicePtr, DevicePtrMut};
use crate::driver::{CudaModule, CudaStream};
use crate::error::{Error, ErrorKind, GlobalError};

/// A `__device__` variable of a module, as an array of `T`.
///
/// There is only one handle to a variable at a time, so that mutable views are exclusive; it keeps the module loaded. What the image of a
/// [`CudaLibrary`](crate::module::CudaLibrary) declares `.managed` is one variable in all contexts.
/// Share it like any other value. It can be passed as `slice(x)` and `slice_mut(x)`.
///
/// It tracks which streams access it, as a [`DeviceBuffer`](crate::DeviceBuffer) does, and later handles continue from
/// there. A kernel that uses the variable by name in its own source is not tracked: a copy to the handle, or another such kernel, on
/// another stream may run at the same time, and its `safe fn` promises to bear that. Order them yourself, with
/// [`CudaStream::join`] or an event, or on one stream, if the values matter.
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = ctx.load_module(include_str!("../../tests/kernels/globals.ptx"))?;
/// let mut table = module.global::<f32>("table")?;
/// assert_eq!(table.len(), 256);
/// table.view_mut().slice(..2).copy_from_host(&stream, &[1.5, 2.5])?;
/// assert_eq!(table.to_host_vec(&stream)?[..3], [1.5, 2.5, 0.0]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[doc(alias = "cuModuleGetGlobal")]
pub struct ModuleGlobal<T: DeviceCopy> {
    address: u64,
    len: usize,
    allocation: Arc<Allocation>,
    name: Box<str>,
    module: CudaModule,
    of: PhantomData<T>,
}

/// A `__constant__` variable of a module, as an array of `T`: the host writes it, kernels only read it.
///
/// Otherwise like [`ModuleGlobal`].
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = ctx.load_module(include_str!("../../tests/kernels/globals.ptx"))?;
/// let mut coefficients = module.constant::<f32>("coefficients")?;
/// coefficients.copy_from_host(&stream, &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(coefficients.to_host_vec(&stream)?, [1.0, 2.0, 3.0, 4.0]);
/// assert!(module.constant::<f32>("table").is_err(), "not a constant");
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
pub struct ModuleConstant<T: DeviceCopy>(ModuleGlobal<T>);

impl CudaModule {
    /// A `__device__` variable, as an array of `T`.
    ///
    /// Driver call: `cuModuleGetGlobal`.
    ///
    /// # Errors
    /// [`GlobalError`]: the module has no such variable, its size is not a multiple of that of `T`, it is misaligned for `T`,
    /// or another handle to it exists; [`GlobalError::Constant`] if the image says that it is a constant.
    #[doc(alias = "cuModuleGetGlobal")]
    pub fn global<T: DeviceCopy>(&self, name: &str) -> Result<ModuleGlobal<T>, Error> {
        if self.variables().any(|(known, constant)| known == name && constant) {
            let (name, module) = (name.to_string(), self.origin().to_string());
            return Err(ErrorKind::Global(GlobalError::Constant { name, module }).into());
        }
        self.variable(name)
    }

    /// A variable of either kind.
    fn variable<T: DeviceCopy>(&self, name: &str) -> Result<ModuleGlobal<T>, Error> {
        let (address, bytes) = self.raw_global(name)?;
        let (module, type_name) = (self.origin(), type_name::<T>());
        let (name_, module_) = (|| name.to_string(), || module.to_string());
        let (size, align) = (size_of::<T>(), align_of::<T>());
        if size == 0 || bytes % size != 0 {
            let error = GlobalError::Size { name: name_(), module: module_(), bytes, size, type_name };
            return Err(ErrorKind::Global(error).into());
        }
        if address % align as u64 != 0 {
            let error =
                GlobalError::Alignment { name: name_(), module: module_(), address, align, type_name };
            return Err(ErrorKind::Global(error).into());
        }
        let origin = || Origin::Variable(self.clone());
        let allocation = self.symbols().take(address, |accesses| match accesses {
            // SAFETY: 1: `raw_global` has just told where the variable of this module is in its context.
            Some(accesses) => unsafe { Allocation::accessed(address, self.context(), origin(), accesses) },
            // SAFETY: 1: as above.
            None => unsafe { Allocation::new(address, self.context(), origin()) },
        });
        let taken = allocation.is_some();
        let allocation = allocation.and_then(|allocation| allocation.downcast::<Allocation>().ok());
        // A graph of another context may have what all contexts share.
        let Some(allocation) = allocation.filter(|allocation| allocation.context().is_same(self.context()))
        else {
            if taken {
                self.symbols().give_back(address);
            }
            return Err(ErrorKind::Global(GlobalError::InUse { name: name_(), module: module_() }).into());
        };
        Ok(ModuleGlobal {
            address,
            len: bytes / size,
            allocation,
            name: name.into(),
            module: self.clone(),
            of: PhantomData,
        })
    }

    /// A `__constant__` variable, as an array of `T`.
    ///
    /// Driver call: `cuModuleGetGlobal`. The driver does not distinguish constants from other variables; PTX does.
    ///
    /// # Errors
    /// As for [`CudaModule::global`], and [`GlobalError::NotConstant`] if the image says that it is not a constant.
    pub fn constant<T: DeviceCopy>(&self, name: &str) -> Result<ModuleConstant<T>, Error> {
        if self.variables().any(|(known, constant)| known == name && !constant) {
            let (name, module) = (name.to_string(), self.origin().to_string());
            return Err(ErrorKind::Global(GlobalError::NotConstant { name, module }).into());
        }
        self.variable(name).map(ModuleConstant)
    }
}

macro_rules! shared_methods {
    ($name:ident, $variable:ident => $($global:tt)*) => {
        impl<T: DeviceCopy> $name<T> {
            /// Its name.
            pub fn name(&self) -> &str {
                let $variable = self;
                &$($global)*.name
            }

            /// Its module.
            pub fn module(&self) -> &CudaModule {
                let $variable = self;
                &$($global)*.module
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                let $variable = self;
                $($global)*.len
            }

            /// Whether it has no elements; compilers do not create such variables.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The size in bytes.
            pub fn byte_len(&self) -> usize {
                self.len() * size_of::<T>()
            }

            /// The address for a kernel to read from.
            pub fn as_device_ptr(&self) -> DevicePtr<T> {
                let $variable = self;
                $($global)*.allocation.address_taken();
                DevicePtr::from_raw($($global)*.address)
            }

            /// All elements, for reading.
            pub fn view(&self) -> DeviceView<'_, T> {
                let $variable = self;
                DeviceView::new($($global)*.address, $($global)*.len, &$($global)*.allocation)
            }

            /// Copies all elements to the host, after all work submitted to `stream` so far. Calls and errors as
            /// [`DeviceView::to_host_vec`].
            ///
            /// # Errors
            /// The stream belongs to another context, or any error returned by the driver; a fault of earlier work is
            /// also reported here.
            pub fn to_host_vec(&self, stream: &CudaStream) -> Result<Vec<T>, Error> {
                self.view().to_host_vec(stream)
            }

            /// Copies all elements to `destination`; returns when the copy is complete. Calls and errors as
            /// [`DeviceView::copy_to_host`].
            ///
            /// # Errors
            /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
            pub fn copy_to_host(&self, stream: &CudaStream, destination: &mut [T]) -> Result<(), Error> {
                self.view().copy_to_host(stream, destination)
            }

            /// Copies `source` over all elements; returns when the copy is complete. Calls and errors as
            /// [`DeviceViewMut::copy_from_host`].
            ///
            /// # Errors
            /// The lengths differ, the stream belongs to another context, or any error returned by the driver.
            pub fn copy_from_host(&mut self, stream: &CudaStream, source: &[T]) -> Result<(), Error> {
                let $variable = self;
                $($global)*.view_mut().copy_from_host(stream, source)
            }

            /// Copies `source`, which is device memory, over all elements, on `stream`; does not wait. Calls and errors as
            /// [`DeviceViewMut::copy_from_device`].
            ///
            /// # Errors
            /// The lengths differ, the stream or the source belongs to another context, or any error returned by the
            /// driver.
            pub fn copy_from_device(
                &mut self,
                stream: &CudaStream,
                source: &impl DeviceSlice<Element = T>,
            ) -> Result<(), Error> {
                let $variable = self;
                $($global)*.view_mut().copy_from_device(stream, source)
            }
        }

        // SAFETY: 1: the driver told address and size of the variable, whose multiple and alignment `variable` compared; 2: the variable
        // is there as long as its module is loaded, and the handle has a share of the module (`ModuleInner`); 3: neither is ever changed.
        #[diagnostic::do_not_recommend]
        unsafe impl<T: DeviceCopy> DeviceSlice for $name<T> {
            type Element = T;

            #[inline(always)]
            fn parts(&self) -> SliceParts<'_, T> {
                let $variable = self;
                SliceParts::new(&$($global)*.address, &$($global)*.len, &$($global)*.allocation)
            }
        }
    };
}

shared_methods!(ModuleGlobal, global => global);
shared_methods!(ModuleConstant, constant => constant.0);

impl<T: DeviceCopy> ModuleGlobal<T> {
    /// All elements, for writing.
    pub fn view_mut(&mut self) -> DeviceViewMut<'_, T> {
        DeviceViewMut::new(self.address, self.len, &self.allocation)
    }

    /// The address for a kernel to write to.
    pub fn as_mut_device_ptr(&mut self) -> DevicePtrMut<T> {
        self.allocation.address_taken();
        DevicePtrMut::from_raw(self.address)
    }
}

impl<T: DeviceCopy> ModuleConstant<T> {
    /// All elements, for copies to write; kernels cannot take them as mutable.
    pub fn view_mut(&mut self) -> ConstantViewMut<'_, T> {
        ConstantViewMut::new(self.0.view_mut())
    }
}

// SAFETY: 1: it is the only handle of its variable in its module, and in the library of that: `Symbols::take` gives out
// one at a time. Of a module that other code has, too, there is no other view, by duty 3 of `CudaModule::from_raw`.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> DeviceSliceMut for ModuleGlobal<T> {
    #[inline(always)]
    fn parts_mut(&mut self) -> SliceParts<'_, T> {
        <Self as DeviceSlice>::parts(self)
    }
}

impl<T: DeviceCopy> Drop for ModuleGlobal<T> {
    fn drop(&mut self) {
        self.module.symbols().give_back(self.address);
    }
}
