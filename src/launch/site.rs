//! What one call site remembers, and the types accepted there as a module, a stream or a function, or in a list of arguments.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::args::{Bits, Pointer, Rows, Slice, Value};
use super::attributes::Attribute;
use super::config::LaunchConfig;
use crate::driver::{CudaFunction, CudaModule, CudaStream, Kernel};
use crate::error::Error;
use crate::memory::{DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut, DeviceViewMut, PitchedBuffer};

/// The memory of one `cuda_launch!` that names its kernel: which module it saw last, and where the kernel is in it.
///
/// One word: the module's number, which is never reused, in the upper 48 bits, and an index into the module's append-only
/// table in the lower 16. So it is never mistaken for a later module at the same address.
#[derive(Debug, Default)]
pub struct Site(AtomicU64);

const INDEX_BITS: u32 = 16;

impl Site {
    /// A site that has seen no module yet.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The kernel `name` of `module`; looked up the first time, then remembered.
    ///
    /// # Errors
    /// Those of [`CudaModule::load_function`].
    #[inline(always)]
    pub fn kernel<'m>(&self, module: &'m CudaModule, name: &str) -> Result<&'m Arc<Kernel>, Error> {
        // The table behind the index is read with its own ordering; a stale word only causes another lookup.
        let seen = self.0.load(Ordering::Relaxed);
        if seen >> INDEX_BITS == module.id()
            && let Some(kernel) = module.first_kernel_at(usize::from(seen as u16))
        {
            return Ok(kernel);
        }
        self.look_up(seen, module, name)
    }

    #[cold]
    #[inline(never)]
    fn look_up<'m>(&self, seen: u64, module: &'m CudaModule, name: &str) -> Result<&'m Arc<Kernel>, Error> {
        // In a module with many kernels it may be found further back.
        if seen >> INDEX_BITS == module.id()
            && let Some(kernel) = module.kernel_at(u32::from(seen as u16))
        {
            return Ok(kernel);
        }
        let (kernel, index) = module.find(name)?;
        // Kernels beyond that index are looked up by name each time.
        if let Ok(index) = u16::try_from(index) {
            self.0.store(module.id() << INDEX_BITS | u64::from(index), Ordering::Relaxed);
        }
        Ok(kernel)
    }
}

/// The kernel with a name that is known only at run time. Asks the driver the first time, and takes a lock only then.
///
/// # Errors
/// Those of [`CudaModule::load_function`].
#[inline(always)]
pub fn kernel_by_name(module: &CudaModule, name: impl KernelName) -> Result<&Arc<Kernel>, Error> {
    module.find(name.kernel_name()).map(|(kernel, _)| kernel)
}

macro_rules! handle_trait {
    ($(#[$doc:meta])* $name:ident, $method:ident -> $target:ty, $message:literal, $label:literal, $note:literal) => {
        $(#[$doc])*
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name {
            /// The handle.
            fn $method(&self) -> &$target;
        }

        #[diagnostic::do_not_recommend] // A list of smart pointers would not help in an error message.
        impl $name for $target {
            #[inline(always)]
            fn $method(&self) -> &$target {
                self
            }
        }

        handle_trait!(@forward $name, $method -> $target, &T, &mut T, Box<T>, Rc<T>, Arc<T>);
    };
    (@forward $name:ident, $method:ident -> $target:ty, $($pointer:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: $name + ?Sized> $name for $pointer {
            #[inline(always)]
            fn $method(&self) -> &$target {
                (**self).$method()
            }
        }
    )*};
}

handle_trait! {
    /// Values accepted after `module:` in a launch: a [`CudaModule`], or a reference or smart pointer to one.
    ModuleRef, module_ref -> CudaModule,
    "`module:` takes a `CudaModule`, or a reference or `Arc` of one, not `{Self}`",
    "not a `CudaModule`",
    "load one: `load_kernel_module(&ctx, \"name\")?`, or `ctx.load_module(..)?` from PTX text or the bytes of a cubin"
}

handle_trait! {
    /// Values accepted after `stream:` in a launch: a [`CudaStream`], or a reference or smart pointer to one.
    StreamRef, stream_ref -> CudaStream,
    "`stream:` takes a `CudaStream`, or a reference or `Arc` of one, not `{Self}`",
    "not a `CudaStream`",
    "make one: `ctx.new_stream()?`, or take `ctx.default_stream()`"
}

handle_trait! {
    /// Values accepted after `function:` in a launch: a [`CudaFunction`], or a reference or smart pointer to one.
    FunctionRef, function_ref -> CudaFunction,
    "`function:` takes a `CudaFunction`, or a reference or `Arc` of one, not `{Self}`",
    "not a `CudaFunction`",
    "look one up: `module.load_function(\"name\")?`; or name it here: `kernel: name, module: module`"
}

/// Values accepted after `kernel:` in parentheses: a `&str`, a `String`, or any other string type.
#[diagnostic::on_unimplemented(
    message = "`kernel:` takes a name or a string, not `{Self}`",
    label = "not a string",
    note = "pass a kernel that is already looked up as `function: f`, without `kernel` and `module`"
)]
pub trait KernelName {
    /// The name.
    fn kernel_name(&self) -> &str;
}

#[diagnostic::do_not_recommend]
impl<T: AsRef<str> + ?Sized> KernelName for T {
    fn kernel_name(&self) -> &str {
        self.as_ref()
    }
}

/// Values accepted after `attributes:` in a launch: an array, a `Vec`, a slice, or any other list of attributes.
#[diagnostic::on_unimplemented(
    message = "`attributes:` takes an array, `Vec` or slice of `Attribute`, not `{Self}`",
    label = "not a list of `Attribute`",
    note = "a single attribute is a list, too: `attributes: [Attribute::priority(-1)]`"
)]
pub trait AttributeList<'event> {
    /// The attributes.
    fn attribute_list(&self) -> &[Attribute<'event>];
}

#[diagnostic::do_not_recommend]
impl<'event, T: AsRef<[Attribute<'event>]> + ?Sized> AttributeList<'event> for T {
    #[inline(always)]
    fn attribute_list(&self) -> &[Attribute<'event>] {
        self.as_ref()
    }
}

/// What `byval(x)` takes: any `Copy` value that borrows nothing, since a device usually cannot access host memory. On machines where
/// it can, `byval_borrowed(x)` also takes values that hold references.
#[diagnostic::on_unimplemented(
    message = "`byval(x)` takes a value that is `Copy`, not `{Self}`",
    label = "not `Copy`",
    note = "a closure is `Copy` if it is a `move` closure and all that it captures is: no `Vec`, `String`, `Box` or `&mut`",
    note = "pass a buffer or view as `slice(x)`, `slice_mut(x)`, `ptr(x)` or `ptr_mut(x)`; copy host memory into a buffer first: \
            `DeviceBuffer::from_host(&stream, &data)?`"
)]
pub trait ByValue: Copy + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Copy + 'static> ByValue for T {}

/// `slice(x)`: device address and length in elements of memory that the kernel reads.
#[inline(always)]
pub fn slice<T: DeviceCopy>(memory: &(impl DeviceSlice<Element = T> + ?Sized)) -> Slice<'_, T, false> {
    Slice(memory.parts())
}

/// `slice_mut(x)` as a function: device address and length in elements of memory that the kernel may write.
#[inline(always)]
pub fn slice_mut<T: DeviceCopy>(
    memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
) -> Slice<'_, T, true> {
    Slice(memory.parts_mut())
}

/// `ptr(x)`: the device address of memory that the kernel reads, as one parameter.
#[inline(always)]
pub fn ptr<T: DeviceCopy>(memory: &(impl DeviceSlice<Element = T> + ?Sized)) -> Pointer<'_, T, false> {
    Pointer(memory.parts())
}

/// `ptr_mut(x)` as a function: the device address of memory that the kernel may write, as one parameter.
#[inline(always)]
pub fn ptr_mut<T: DeviceCopy>(
    memory: &mut (impl DeviceSliceMut<Element = T> + ?Sized),
) -> Pointer<'_, T, true> {
    Pointer(memory.parts_mut())
}

/// `pitched(x)`: device address and pitch in bytes of rows that the kernel reads, as two parameters.
#[inline(always)]
pub fn pitched<T: DeviceCopy>(memory: &PitchedBuffer<T>) -> Rows<'_, T, false> {
    Rows(memory.row_parts())
}

/// `pitched_mut(x)` as a function: device address and pitch in bytes of rows that the kernel may write, as two parameters.
#[inline(always)]
pub fn pitched_mut<T: DeviceCopy>(memory: &mut PitchedBuffer<T>) -> Rows<'_, T, true> {
    Rows(memory.row_parts())
}

/// A plain value, as one parameter: what `x` alone is in `cuda_launch!`.
#[inline(always)]
pub fn value<T: DeviceCopy>(value: &T) -> Value<'_, T> {
    Value(value)
}

/// `byval(x)`: any `Copy` value that borrows nothing, as one parameter.
#[inline(always)]
pub fn byval<T: ByValue>(value: &T) -> Bits<'_, T> {
    Bits(value)
}

/// `slice_mut(x)` and `ptr_mut(x)`: methods, so that `x` may be a buffer, a mutable view, or anything that mutably dereferences to one.
#[doc(hidden)]
pub trait MutArgument: DeviceSliceMut {
    #[inline(always)]
    fn slice_mut_argument(&mut self) -> Slice<'_, Self::Element, true> {
        Slice(self.parts_mut())
    }

    #[inline(always)]
    fn ptr_mut_argument(&mut self) -> Pointer<'_, Self::Element, true> {
        Pointer(self.parts_mut())
    }
}

impl<T: DeviceSliceMut + ?Sized> MutArgument for T {}

/// The same where the trait cannot be brought into scope: in `kernel_args!`, which is an expression alone.
macro_rules! slice_mut_method {
    ($({$($of:tt)*} $memory:ty;)*) => {$(
        impl<$($of)*> $memory {
            #[doc(hidden)]
            #[inline(always)]
            pub fn slice_mut_argument(&mut self) -> Slice<'_, T, true> {
                Slice(self.parts_mut())
            }

            #[doc(hidden)]
            #[inline(always)]
            pub fn ptr_mut_argument(&mut self) -> Pointer<'_, T, true> {
                Pointer(self.parts_mut())
            }
        }
    )*};
}

slice_mut_method! {
    {T: DeviceCopy} DeviceBuffer<T>;
    {T: DeviceCopy} DeviceViewMut<'_, T>;
}

impl<T: DeviceCopy> PitchedBuffer<T> {
    /// `pitched_mut(x)`: a method, so that `x` may be anything that mutably dereferences to a `PitchedBuffer`.
    #[doc(hidden)]
    #[inline(always)]
    pub fn pitched_mut_argument(&mut self) -> Rows<'_, T, true> {
        pitched_mut(self)
    }
}

/// The value of `config:`, so that the compiler points at it if it is of another type.
#[doc(hidden)]
#[inline(always)]
pub const fn config(config: LaunchConfig) -> LaunchConfig {
    config
}

/// Never called, for the same reason: a plain value is given to this by value in a branch that is never taken.
#[doc(hidden)]
pub fn plain<T: DeviceCopy>(_: T) {}

/// The same for `byval(x)`.
#[doc(hidden)]
pub fn by_value<T: ByValue>(_: T) {}

/// The same for `byval_borrowed(x)`.
#[doc(hidden)]
pub fn by_value_borrowed<T: Copy>(_: T) {}
