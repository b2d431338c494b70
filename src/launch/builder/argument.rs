//! What `arg` of a builder takes, and the list that it makes of it.

#![allow(unsafe_code)] // Implementing `LaunchArguments`: the pointers are to what the builder borrows.

use cuda_driver_sys::CUlaunchConfig;
use std::ffi::c_void;
use std::ptr::from_ref;
use std::sync::Arc;

use crate::driver::{CudaContext, Kernel, Kind, NamedArgument, Shape, StreamQueue};
use crate::error::Error;
use crate::launch::args::{Bits, Memory, ParameterType, Pointer, Role, Rows, Slice, Value, parameter};
use crate::launch::check;
use crate::launch::inline_vec::InlineVec;
use crate::launch::launch_arguments::LaunchArguments;
use crate::launch::record::Report;
use crate::launch::site::ByValue;
use crate::memory::{Allocation, DeviceCopy, DeviceSlice, DeviceSliceMut, RowParts, SliceParts};
#[cfg(feature = "async")]
use crate::memory::{ObjectParts, Shared};
use crate::ordering::Submission;

/// The number of parameters that need no heap allocation. Few kernels have more.
pub(in crate::launch) const USUAL: usize = 16;

/// What [`LaunchBuilder::arg`](crate::LaunchBuilder::arg) and [`named`](crate::LaunchBuilder::named) take.
///
/// | given | parameters of the kernel |
/// |---|---|
/// | `&x` of a buffer or view | one of 8 bytes: its device address, to be read |
/// | `&mut x` of a buffer or mutable view | the same, to be written |
/// | `&x` of a number, array, device pointer or derived struct | one, of its size; none if that is 0 |
/// | [`slice(&x)`](crate::launch::slice), [`slice_mut(&mut x)`](crate::launch::slice_mut) | two of 8 bytes: device address, length in elements |
/// | [`pitched(&x)`](crate::launch::pitched), [`pitched_mut(&mut x)`](crate::launch::pitched_mut) | two of 8 bytes: device address, pitch in bytes |
/// | [`ptr(&x)`](crate::launch::ptr), [`ptr_mut(&mut x)`](crate::launch::ptr_mut) | as `&x` and `&mut x` of a buffer or view |
/// | [`value(&x)`](crate::launch::value) | as `&x` of a number, array, device pointer or derived struct |
/// | [`byval(&x)`](crate::launch::byval) | one, of the size of `x`: any `Copy` value that borrows nothing, whatever its bytes mean; none if that is 0 |
///
/// A type of your own is an argument once it is [`DeviceCopy`], [`DeviceSlice`] or [`DeviceSliceMut`]: this trait cannot be
/// implemented elsewhere. The compiler infers `Kind`, which distinguishes values from memory.
///
/// ```standalone_crate
/// use cuda_launch::launch::BuilderArgument;
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchBuilder};
/// fn twice<'a, K>(builder: &mut LaunchBuilder<'a, '_>, argument: impl BuilderArgument<'a, K> + Copy) {
///     builder.arg(argument).arg(argument);
/// }
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let f = ctx.load_module(include_str!("../../../examples/kernels/vecadd.ptx"))?.load_function("vecadd")?;
/// let x = DeviceBuffer::<f32>::zeroed(&stream, 4)?;
/// let mut builder = stream.launch_builder(&f);
/// twice(&mut builder, &x);
/// twice(&mut builder, &7u32);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    label = "not an argument",
    note = "pass a value by reference, as `.arg(&x)`; a buffer or view as `.slice(&x)` or `.slice_mut(&mut x)` if the kernel takes an \
            address and a length, as `.ptr(&x)` or `.ptr_mut(&mut x)` if it takes a bare pointer",
    note = "copy host memory (`Vec`, slice, `String`) to the device first: `let x = stream.clone_htod(&data)?`; pass pinned \
            memory as `.ptr(&x.device_view())`",
    note = "a struct of plain data needs `#[repr(C)]` and `#[derive(Clone, Copy, DeviceCopy)]`; pass `bool`, `char`, closures, \
            enums, tuples and types of other crates as `.byval(&x)`"
)]
pub trait BuilderArgument<'a, Kind> {
    /// Appends its parameters.
    #[doc(hidden)]
    fn append_to(self, list: &mut Arguments<'a>);
}

/// `Kind` of values.
#[doc(hidden)]
#[derive(Debug)]
pub enum OfValue {}

/// `Kind` of memory that is read.
#[doc(hidden)]
#[derive(Debug)]
pub enum OfMemory {}

/// `Kind` of memory that is written.
#[doc(hidden)]
#[derive(Debug)]
pub enum OfMemoryMut {}

/// `Kind` of arguments that say explicitly how they are passed, such as `slice(&x)`.
#[doc(hidden)]
#[derive(Debug)]
pub enum OfForm {}

/// The arguments that a builder was given so far.
#[doc(hidden)]
#[derive(Debug)]
pub struct Arguments<'a> {
    /// The packet, with the type of each argument next to its pointer.
    parameters: InlineVec<*mut c_void, &'static ParameterType, USUAL>,
    /// Their sizes.
    shape: Shape,
    memory: InlineVec<Passed<'a>, (), USUAL>,
    /// Names and objects, each with the index of its argument's first parameter; few launches have any.
    labels: InlineVec<Label<'a>, usize, 0>,
}

/// Further information about an argument.
#[derive(Clone, Copy, Debug)]
enum Label<'a> {
    Name(&'a str),
    /// A texture, surface or tensor map, written through or only read; not known yet if there is none.
    #[cfg(feature = "async")]
    Object(Option<&'a dyn Shared>, bool),
}

/// Memory among the arguments.
#[derive(Clone, Copy, Debug)]
struct Passed<'a> {
    allocation: &'a Arc<Allocation>,
    written: bool,
    /// Index of its first parameter.
    parameter: u32,
}

/// What the pointer of a memory argument points to while its address is not known yet.
#[cfg(feature = "async")]
static UNKNOWN: u64 = 0;

impl<'a> Arguments<'a> {
    #[inline(always)]
    pub(in crate::launch) const fn new() -> Self {
        Self {
            parameters: InlineVec::new(),
            shape: Shape::EMPTY,
            memory: InlineVec::new(),
            labels: InlineVec::new(),
        }
    }

    /// Names the argument that `append` appends, if it appends any.
    pub(in crate::launch) fn named(&mut self, name: &'a str, append: impl FnOnce(&mut Self)) {
        let first = self.parameters.len();
        append(self);
        self.name_from(name, first);
    }

    /// Names the argument whose first parameter this is, if there is one.
    pub(in crate::launch) fn name_from(&mut self, name: &'a str, first: usize) {
        if self.parameters.len() > first {
            self.labels.push(Label::Name(name), first);
        }
    }

    #[inline(always)]
    fn pass<T>(&mut self, value: &'a T, of: &'static ParameterType, kind: Kind) {
        self.parameters.push(from_ref(value).cast_mut().cast(), of);
        self.shape.push(of.size, kind);
    }

    /// A value that will still move: its pointer must be set later, by [`pointers`](Self::pointers).
    #[cfg(feature = "async")]
    #[inline(always)]
    pub(in crate::launch) fn pass_later(&mut self, of: &'static ParameterType, kind: Kind) {
        self.parameters.push(std::ptr::null_mut(), of);
        self.shape.push(of.size, kind);
    }

    /// Where the values are, by parameter.
    #[cfg(feature = "async")]
    #[inline(always)]
    pub(in crate::launch) fn pointers(&mut self) -> &mut [*mut c_void] {
        self.parameters.as_mut_slice()
    }

    /// Whether the packet needs no heap.
    #[cfg(feature = "async")]
    #[inline(always)]
    pub(in crate::launch) fn is_here(&self) -> bool {
        self.parameters.is_here()
    }

    /// Sets the pointer to the value of that parameter, if the packet is not on the heap.
    #[cfg(feature = "async")]
    #[inline(always)]
    pub(in crate::launch) fn point(&mut self, parameter: usize, value: *mut c_void) {
        self.parameters.set_here(parameter, value);
    }

    /// A slice that is not known yet: [`fill`](Self::fill) says which.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn slice_later<T: DeviceCopy>(&mut self) {
        self.address_later(const { &parameter::<T>(8, Role::Address) });
        self.pass_later(const { &parameter::<T>(8, Role::Length) }, Kind::Integer);
    }

    /// The address of memory that is not known yet, as one parameter: [`fill`](Self::fill) says which.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn ptr_later<T: DeviceCopy>(&mut self) {
        self.address_later(const { &parameter::<T>(8, Role::Pointer) });
    }

    #[cfg(feature = "async")]
    fn address_later(&mut self, of: &'static ParameterType) {
        self.parameters.push(from_ref(&UNKNOWN).cast_mut().cast(), of);
        self.shape.push(of.size, Kind::Integer);
    }

    /// Rows that are not known yet: [`fill`](Self::fill) says which.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn rows_later<T: DeviceCopy>(&mut self) {
        self.address_later(const { &parameter::<T>(8, Role::Rows) });
        self.pass_later(const { &parameter::<T>(8, Role::Pitch) }, Kind::Integer);
    }

    /// Fills in the first memory that is not known yet, if there is any: its address, and its length or pitch.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn fill(
        &mut self,
        address: &'a u64,
        second: &'a usize,
        allocation: &'a Arc<Allocation>,
        written: bool,
    ) {
        let mut parameters = self.parameters.as_slice().iter().zip(self.parameters.beside()).enumerate();
        let missing = parameters.find(|(_, (at, _))| std::ptr::eq(at.cast(), &UNKNOWN));
        if let Some((index, (_, of))) = missing {
            let second = (of.role != Role::Pointer).then_some(from_ref(second).cast());
            let values = std::iter::once(from_ref(address).cast::<c_void>()).chain(second);
            let places = self.pointers().iter_mut().skip(index);
            places.zip(values).for_each(|(place, at)| *place = at.cast_mut());
            self.memory.push(Passed { allocation, written, parameter: index as u32 }, ());
        }
    }

    /// An object that is not known yet, as one parameter: [`fill_object`](Self::fill_object) says which.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn object_later<H>(&mut self) {
        self.labels.push(Label::Object(None, false), self.count());
        self.pass_later(const { &parameter::<H>(size_of::<H>(), Role::Bits) }, Kind::Other);
    }

    /// Fills in the first object that is not known yet, if there is one.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn fill_object<H>(&mut self, object: ObjectParts<'a, H>, written: bool) {
        let missing = |label: &Label<'_>| matches!(label, Label::Object(None, _));
        let Some(index) = self.labels.as_slice().iter().position(missing) else { return };
        if let Some(label) = self.labels.as_mut_slice().get_mut(index) {
            *label = Label::Object(Some(object.of), written);
        }
        let parameter = self.labels.beside().get(index).copied();
        if let Some(pointer) = parameter.and_then(|parameter| self.pointers().get_mut(parameter)) {
            *pointer = from_ref(object.handle).cast_mut().cast();
        }
    }

    /// Whether there may be objects among them.
    #[cfg(feature = "async")]
    #[inline(always)]
    pub(in crate::launch) fn is_labelled(&self) -> bool {
        self.labels.len() != 0
    }

    /// The objects among them, and whether they may be written through.
    #[cfg(feature = "async")]
    pub(in crate::launch) fn objects(&self) -> impl Iterator<Item = (&'a dyn Shared, bool)> {
        self.labels.as_slice().iter().filter_map(|label| match label {
            Label::Object(object, written) => object.map(|object| (object, *written)),
            Label::Name(_) => None,
        })
    }

    /// The number of parameters so far.
    #[cfg(feature = "async")]
    #[inline(always)]
    pub(in crate::launch) fn count(&self) -> usize {
        self.parameters.len()
    }

    #[inline(always)]
    fn pass_value<T: DeviceCopy>(&mut self, value: &'a T) {
        if size_of::<T>() != 0 {
            self.pass(value, const { &parameter::<T>(size_of::<T>(), Role::Value) }, T::KIND);
        }
    }

    #[inline(always)]
    pub(in crate::launch) fn pass_bits<T>(&mut self, value: &'a T) {
        if size_of::<T>() != 0 {
            self.pass(value, const { &parameter::<T>(size_of::<T>(), Role::Bits) }, Kind::Other);
        }
    }

    #[inline(always)]
    fn pass_address(
        &mut self,
        (address, allocation): (&'a u64, &'a Arc<Allocation>),
        written: bool,
        of: &'static ParameterType,
    ) {
        self.memory.push(Passed { allocation, written, parameter: self.parameters.len() as u32 }, ());
        self.pass(address, of, Kind::Integer);
    }

    #[inline(always)]
    fn pass_pointer<T: DeviceCopy>(&mut self, parts: SliceParts<'a, T>, written: bool) {
        let address = (parts.address, parts.allocation);
        self.pass_address(address, written, const { &parameter::<T>(8, Role::Pointer) });
    }

    #[inline(always)]
    fn pass_slice<T: DeviceCopy>(&mut self, parts: SliceParts<'a, T>, written: bool) {
        let address = (parts.address, parts.allocation);
        self.pass_address(address, written, const { &parameter::<T>(8, Role::Address) });
        self.pass(parts.len, const { &parameter::<T>(8, Role::Length) }, Kind::Integer);
    }

    #[inline(always)]
    fn pass_rows<T: DeviceCopy>(&mut self, parts: RowParts<'a, T>, written: bool) {
        let address = (parts.address, parts.allocation);
        self.pass_address(address, written, const { &parameter::<T>(8, Role::Rows) });
        self.pass(parts.pitch, const { &parameter::<T>(8, Role::Pitch) }, Kind::Integer);
    }

    /// Compares the arguments one by one, for lists whose shape is not conclusive.
    #[cold]
    fn is_compared(&self, kernel: &Kernel) -> bool {
        !kernel.has_special_rules() && check::fits(kernel, self.parameters.beside().into())
    }

    fn name(&self, name: &str, parameter: usize) -> Option<NamedArgument> {
        let of = self.parameters.beside().get(parameter)?;
        let memory = self.memory.as_slice().iter().find(|passed| passed.parameter as usize == parameter);
        Some(NamedArgument {
            name: name.to_string(),
            parameter,
            type_name: (of.type_name)(),
            size: of.size,
            memory: memory.and_then(|passed| of.role.word(passed.written)),
        })
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy> BuilderArgument<'a, OfValue> for &'a T {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_value(self);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, S: DeviceSlice + ?Sized> BuilderArgument<'a, OfMemory> for &'a S {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_pointer(self.parts(), false);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, S: DeviceSliceMut + ?Sized> BuilderArgument<'a, OfMemoryMut> for &'a mut S {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_pointer(self.parts_mut(), true);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy, const WRITE: bool> BuilderArgument<'a, OfForm> for Slice<'a, T, WRITE> {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_slice(self.0, WRITE);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy, const WRITE: bool> BuilderArgument<'a, OfForm> for Rows<'a, T, WRITE> {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_rows(self.0, WRITE);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy, const WRITE: bool> BuilderArgument<'a, OfForm> for Pointer<'a, T, WRITE> {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_pointer(self.0, WRITE);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: DeviceCopy> BuilderArgument<'a, OfForm> for Value<'a, T> {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_value(self.0);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: ByValue> BuilderArgument<'a, OfForm> for Bits<'a, T> {
    #[inline(always)]
    fn append_to(self, list: &mut Arguments<'a>) {
        list.pass_bits(self.0);
    }
}

// SAFETY: 1: `pass` pushes a pointer to a value that is borrowed for `'a` beside the type whose size is that value's, `address_later`
// one to `UNKNOWN`, of 8 bytes, and `pass_later` a null, which its callers set before the list is used: `StoredArguments::launch` by
// `point`, `OwnedKernelLaunch::typed` by its duty 2.
unsafe impl<'l> LaunchArguments<'l> for &'l Arguments<'_> {
    type Memory = Self;
    type Packet = *mut *mut c_void;
    type Types = &'l [&'static ParameterType];

    #[inline(always)]
    fn memory(self) -> Self {
        self
    }

    #[inline(always)]
    fn is_warm(self, kernel: &Kernel, queue: &StreamQueue, config: &CUlaunchConfig) -> bool {
        queue.is_warm_for(kernel)
            && (self.shape.fits(&kernel.shape) || self.is_compared(kernel))
            && check::within_limits(kernel, config)
    }

    #[inline(always)]
    fn types(self) -> Self::Types {
        self.parameters.beside()
    }

    #[inline(always)]
    fn packet(self) -> *mut *mut c_void {
        // The driver reads the array only.
        self.parameters.as_slice().as_ptr().cast_mut()
    }

    #[inline(always)]
    fn kernel_params(packet: &mut *mut *mut c_void) -> *mut *mut c_void {
        *packet
    }
}

impl Memory for &Arguments<'_> {
    #[inline(always)]
    fn words(&self) -> u64 {
        let words =
            self.memory.as_slice().iter().map(|passed| passed.allocation.accesses().word(passed.written));
        words.fold(u64::MAX, |all, word| all & word)
    }

    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext> {
        let mut contexts = self.memory.as_slice().iter().map(|passed| passed.allocation.context());
        contexts.find(|own| !own.is_same(context))
    }

    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error> {
        self.memory.as_slice().iter().try_for_each(|passed| passed.allocation.note(launch, passed.written))
    }

    fn report(&self, report: &mut Report) {
        self.memory.as_slice().iter().for_each(|passed| report.memory(passed.allocation, passed.written));
        for (label, at) in self.labels.as_slice().iter().zip(self.labels.beside()) {
            match label {
                Label::Name(name) => self.name(name, *at).into_iter().for_each(|named| report.named(named)),
                #[cfg(feature = "async")]
                Label::Object(object, _) => object.iter().for_each(|object| report.object(*object)),
            }
        }
    }
}
