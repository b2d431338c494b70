//! A list of arguments that stores its values, so that it can be moved and launched later. Memory stays borrowed.

#![allow(unsafe_code)] // Copying the bytes of values, and handing out pointers to them.

use cuda_driver_sys::CUlaunchConfig;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

use super::args::{
    Bits, Cons, Memory, Name, Nil, Object, ParameterType, Pointer, Role, Rows, Slice, Value, parameter,
};
use super::attributes::Attribute;
use super::builder::argument::{Arguments, BuilderArgument, OfForm, OfMemory, OfMemoryMut, OfValue, USUAL};
use super::config::LaunchConfig;
use super::inline_vec::InlineVec;
use super::launch_arguments::LaunchArguments;
use super::lent::BorrowedHandle;
use super::record::Report;
use super::site::{ByValue, ptr, ptr_mut};
use super::submit::submit_given;
use crate::driver::{CudaContext, CudaStream, Kernel, Kind, StreamQueue};
use crate::error::Error;
use crate::memory::{DeviceCopy, DeviceSlice, DeviceSliceMut};
use crate::ordering::Submission;

/// The number of words for values that need no heap allocation: 256 bytes.
const WORDS: usize = 32;

type Word = MaybeUninit<u64>;

/// Arguments with their values: up to 16 parameters and 256 bytes of values need no heap allocation.
#[derive(Debug)]
pub struct StoredArguments<'a> {
    list: Arguments<'a>,
    words: InlineVec<Word, (), WORDS>,
    /// The parameters whose values are stored here, each with the index of its first word.
    values: InlineVec<(u32, u32), (), USUAL>,
}

// SAFETY: each pointer inside is null, or points to a static, or to something borrowed for `'a`: the address, length or
// pitch of memory, or the handle of an object. All of these are Sync. Pointers to values are set again by each `launch`
// before it uses them. The bytes of values are interpreted only by the device. The rest is Send.
unsafe impl Send for StoredArguments<'_> {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for StoredArguments<'_> {}

impl<'a> StoredArguments<'a> {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { list: Arguments::new(), words: InlineVec::new(), values: InlineVec::new() }
    }

    /// Appends a copy of `value`; nothing if its size is 0.
    #[inline(always)]
    pub(crate) fn value<T: DeviceCopy>(&mut self, value: T) {
        self.store(value, const { &parameter::<T>(size_of::<T>(), Role::Value) }, T::KIND);
    }

    /// The same, without comparing types with the kernel's.
    #[inline(always)]
    pub(crate) fn bits<T: Copy>(&mut self, value: T) {
        self.store(value, const { &parameter::<T>(size_of::<T>(), Role::Bits) }, Kind::Other);
    }

    #[inline(always)]
    fn store<T: Copy>(&mut self, value: T, of: &'static ParameterType, kind: Kind) {
        let size = size_of::<T>();
        if size == 0 {
            return;
        }
        self.values.push((self.list.count() as u32, self.words.len() as u32), ());
        for start in (0..size).step_by(size_of::<Word>()) {
            let mut word = Word::uninit();
            // SAFETY: `start` is below `size`, so that `bytes`, at most what is left of the value and at most a word,
            // can be read there and fit into the word, a local of its own; single bytes are aligned anywhere, and
            // padding is copied as it is, as bytes that may not be written.
            unsafe {
                let from = (&raw const value).cast::<MaybeUninit<u8>>().add(start);
                let bytes = (size - start).min(size_of::<Word>());
                std::ptr::copy_nonoverlapping(from, word.as_mut_ptr().cast(), bytes);
            }
            self.words.push(word, ());
        }
        self.list.pass_later(of, kind);
    }

    /// Memory, as one or two parameters.
    #[inline(always)]
    pub(crate) fn memory<Kind>(&mut self, argument: impl BuilderArgument<'a, Kind>) {
        argument.append_to(&mut self.list);
    }

    /// A slice that is not known yet, as two parameters.
    #[inline(always)]
    pub(crate) fn slice_later<T: DeviceCopy>(&mut self) {
        self.list.slice_later::<T>();
    }

    /// The address of memory that is not known yet, as one parameter.
    #[inline(always)]
    pub(crate) fn ptr_later<T: DeviceCopy>(&mut self) {
        self.list.ptr_later::<T>();
    }

    /// Fills in the first memory that is not known yet.
    #[inline(always)]
    pub(crate) fn fill<T: DeviceCopy, const WRITE: bool>(&mut self, memory: Slice<'a, T, WRITE>) {
        self.list.fill(memory.0.address, memory.0.len, memory.0.allocation, WRITE);
    }

    /// Rows that are not known yet, as two parameters.
    #[inline(always)]
    pub(crate) fn rows_later<T: DeviceCopy>(&mut self) {
        self.list.rows_later::<T>();
    }

    /// Fills in the first rows that are not known yet.
    #[inline(always)]
    pub(crate) fn fill_rows<T: DeviceCopy, const WRITE: bool>(&mut self, rows: Rows<'a, T, WRITE>) {
        self.list.fill(rows.0.address, rows.0.pitch, rows.0.allocation, WRITE);
    }

    /// A texture, surface or tensor map, as one parameter.
    fn object<H, const WRITE: bool>(&mut self, object: Object<'a, H, WRITE>) {
        self.object_later::<H>();
        self.fill_object(object);
    }

    /// An object that is not known yet, as one parameter.
    pub(crate) fn object_later<H>(&mut self) {
        self.list.object_later::<H>();
    }

    /// Fills in the first object that is not known yet.
    pub(crate) fn fill_object<H, const WRITE: bool>(&mut self, object: Object<'a, H, WRITE>) {
        self.list.fill_object(object.0, WRITE);
    }

    /// The number of parameters so far.
    pub(crate) fn count(&self) -> usize {
        self.list.count()
    }

    /// Names the argument whose first parameter this is, if there is one.
    pub(crate) fn name_from(&mut self, name: &'a str, first: usize) {
        self.list.name_from(name, first);
    }

    /// Sets the pointers to the values, which no longer move from now until the launch.
    #[inline(always)]
    fn point(&mut self) {
        if !self.words.is_here() || !self.list.is_here() {
            return self.point_to_heap();
        }
        for &(parameter, word) in self.values.as_slice() {
            let value = self.words.place(word as usize);
            self.list.point(parameter as usize, value.cast_mut().cast());
        }
    }

    /// The same where one of them is on the heap.
    #[cold]
    fn point_to_heap(&mut self) {
        let (words, pointers) = (self.words.as_slice(), self.list.pointers());
        for &(parameter, word) in self.values.as_slice() {
            if let (Some(pointer), Some(value)) =
                (pointers.get_mut(parameter as usize), words.get(word as usize..))
            {
                *pointer = value.as_ptr().cast_mut().cast();
            }
        }
    }

    /// Checks the launch and submits it.
    ///
    /// # Errors
    /// As [`cuda_launch!`](crate::cuda_launch).
    ///
    /// # Safety
    /// 1. The duties of [`submit`](super::submit).
    #[inline(always)]
    pub(crate) unsafe fn launch(
        &mut self,
        kernel: &Arc<Kernel>,
        stream: &CudaStream,
        config: LaunchConfig,
        attributes: &[Attribute<'_>],
    ) -> Result<(), Error> {
        self.point();
        if self.list.is_labelled() {
            // SAFETY: 1: the caller's duty 1; `point` has set each pointer that was missing, to a value of the right
            // type stored here.
            return unsafe { launch_with_objects(kernel, stream, config, attributes, &self.list) };
        }
        // SAFETY: 1: the caller's duty 1; `point` has set each pointer that was missing, to a value of the right type
        // stored here.
        unsafe { submit_given(BorrowedHandle::new(kernel), stream, config, &[], attributes, &self.list) }
    }
}

/// # Safety
/// 1. The duties of [`submit`](super::submit).
#[cold]
#[inline(never)]
unsafe fn launch_with_objects(
    kernel: &Kernel,
    stream: &CudaStream,
    config: LaunchConfig,
    attributes: &[Attribute<'_>],
    list: &Arguments<'_>,
) -> Result<(), Error> {
    // SAFETY: 1: the caller's duty 1.
    unsafe { submit_given(kernel, stream, config, &[], attributes, WithObjects(list)) }
}

/// A list with its objects, if it has any.
#[derive(Clone, Copy, Debug)]
struct WithObjects<'l, 'a>(&'l Arguments<'a>);

// SAFETY: 1: packet and types are the list's, for which `LaunchArguments` 1 holds.
unsafe impl<'l> LaunchArguments<'l> for WithObjects<'l, '_> {
    type Memory = Self;
    type Packet = *mut *mut c_void;
    type Types = &'l [&'static ParameterType];

    fn memory(self) -> Self {
        self
    }

    fn is_warm(self, kernel: &Kernel, queue: &StreamQueue, config: &CUlaunchConfig) -> bool {
        self.0.is_warm(kernel, queue, config)
    }

    fn types(self) -> Self::Types {
        self.0.types()
    }

    fn packet(self) -> *mut *mut c_void {
        self.0.packet()
    }

    fn kernel_params(packet: &mut *mut *mut c_void) -> *mut *mut c_void {
        *packet
    }
}

impl Memory for WithObjects<'_, '_> {
    fn words(&self) -> u64 {
        let objects = self.0.objects().map(|(object, written)| object.used().word(written));
        objects.fold(self.0.words(), |all, word| all & word)
    }

    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext> {
        let mut contexts = self.0.objects().map(|(object, _)| object.used().context());
        let object = contexts.find(|own| !own.is_same(context));
        self.0.foreign_context(context).or(object)
    }

    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error> {
        self.0.note(launch)?;
        self.0.objects().try_for_each(|(object, written)| object.used().note(launch, written))
    }

    fn report(&self, report: &mut Report) {
        self.0.report(report);
    }
}

/// What [`AsyncKernelLaunch::arg`](crate::AsyncKernelLaunch::arg) and [`named`](crate::AsyncKernelLaunch::named) take: the same as
/// [`LaunchBuilder::arg`](crate::LaunchBuilder::arg) ([`BuilderArgument`] lists it). Values are copied, memory is borrowed until
/// the launch was submitted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    label = "not an argument",
    note = "pass a value by reference, as `.arg(&x)`; a buffer or view as `.slice(&x)` or `.slice_mut(&mut x)` if the kernel takes an \
            address and a length, as `.ptr(&x)` or `.ptr_mut(&mut x)` if it takes a bare pointer",
    note = "a struct of plain data needs `#[repr(C)]` and `#[derive(Clone, Copy, DeviceCopy)]`; pass `bool`, `char`, closures, \
            enums, tuples and types of other crates as `.byval(&x)`"
)]
pub trait StoredArgument<'a, Kind> {
    /// Appends its parameters.
    #[doc(hidden)]
    fn store_in(self, list: &mut StoredArguments<'a>);
}

macro_rules! stored_argument {
    ($({$($of:tt)*} $kind:ident $argument:ty, |$this:ident, $list:ident| $append:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'a, $($of)*> StoredArgument<'a, $kind> for $argument {
            #[inline(always)]
            fn store_in(self, $list: &mut StoredArguments<'a>) {
                let $this = self;
                $append;
            }
        }
    )*};
}

stored_argument! {
    {T: DeviceCopy} OfValue &T, |value, list| list.value(*value);
    {S: DeviceSlice + ?Sized} OfMemory &'a S, |memory, list| list.memory(ptr(memory));
    {S: DeviceSliceMut + ?Sized} OfMemoryMut &'a mut S, |memory, list| list.memory(ptr_mut(memory));
    {T: DeviceCopy} OfForm Value<'_, T>, |value, list| list.value(*value.0);
    {T: ByValue} OfForm Bits<'_, T>, |value, list| list.bits(*value.0);
    {T: DeviceCopy, const WRITE: bool} OfForm Slice<'a, T, WRITE>, |memory, list| list.memory(memory);
    {T: DeviceCopy, const WRITE: bool} OfForm Rows<'a, T, WRITE>, |memory, list| list.memory(memory);
    {T: DeviceCopy, const WRITE: bool} OfForm Pointer<'a, T, WRITE>, |memory, list| list.memory(memory);
}

/// A list of arguments as `cuda_launch!` writes it, to be stored.
pub trait Store<'a> {
    /// Appends it.
    #[doc(hidden)]
    fn store(self, list: &mut StoredArguments<'a>);
}

impl<'a> Store<'a> for Nil {
    #[inline(always)]
    fn store(self, _: &mut StoredArguments<'a>) {}
}

impl<'a, T: DeviceCopy, R: Store<'a>> Store<'a> for Cons<Value<'_, T>, R> {
    #[inline(always)]
    fn store(self, list: &mut StoredArguments<'a>) {
        list.value(*self.0.0);
        self.1.store(list);
    }
}

impl<'a, T: Copy + 'a, R: Store<'a>> Store<'a> for Cons<Bits<'_, T>, R> {
    #[inline(always)]
    fn store(self, list: &mut StoredArguments<'a>) {
        list.bits(*self.0.0);
        self.1.store(list);
    }
}

/// The forms of memory.
macro_rules! store_memory {
    ($($form:ident)*) => {$(
        impl<'a, T: DeviceCopy, R: Store<'a>, const WRITE: bool> Store<'a> for Cons<$form<'a, T, WRITE>, R> {
            #[inline(always)]
            fn store(self, list: &mut StoredArguments<'a>) {
                list.memory(self.0);
                self.1.store(list);
            }
        }
    )*};
}

store_memory! { Slice Rows Pointer }

impl<'a, H, R: Store<'a>, const WRITE: bool> Store<'a> for Cons<Object<'a, H, WRITE>, R> {
    #[inline(always)]
    fn store(self, list: &mut StoredArguments<'a>) {
        list.object(self.0);
        self.1.store(list);
    }
}

impl<'a, R: Store<'a>> Store<'a> for Cons<Name<'a>, R> {
    #[inline(always)]
    fn store(self, list: &mut StoredArguments<'a>) {
        let first = list.list.count();
        self.1.store(list);
        list.list.name_from(self.0.0, first);
    }
}
