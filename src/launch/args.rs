//! Arguments: what each kind is to the kernel, and a list of them as a type.
//!
//! A list is `Cons<A, Cons<B, Nil>>`. Its number of parameters, their sizes and their types are constants of that type, so
//! a warm launch compares one address to know that the list fits.

#![allow(unsafe_code)] // Implementing `ArgumentList`: the pointers written are to what `self` holds or borrows.

use std::any::type_name;
use std::ffi::c_void;
use std::sync::Arc;

use super::record::Report;
use crate::driver::CudaContext;
use crate::error::Error;
use crate::memory::{Allocation, DeviceCopy, ObjectParts, RowParts, Shared, SliceParts};
use crate::ordering::Submission;

/// What one argument, or one half of a slice, is to the kernel.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ParameterType {
    /// Bytes.
    pub size: usize,
    /// The Rust type's name; for a slice that of its element.
    pub type_name: fn() -> &'static str,
    /// Plain value, or half of a slice.
    pub role: Role,
}

/// The role of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// A value, whole.
    Value,
    /// The bytes of a value, of any type.
    Bits,
    /// The address of a slice.
    Address,
    /// The length of a slice, in elements.
    Length,
    /// The address of memory, alone; the type is that of its elements.
    Pointer,
    /// The address of rows.
    Rows,
    /// From the start of one row to that of the next, in bytes.
    Pitch,
}

/// The types of an argument list; the address of a `Signature` identifies it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Signature {
    /// The first parameter.
    pub parameter: ParameterType,
    /// The rest.
    pub rest: Option<&'static Signature>,
}

impl ParameterType {
    /// A parameter of `size` bytes, which represents a `T` in this role.
    pub const fn new<T>(size: usize, role: Role) -> Self {
        Self { size, type_name: type_name::<T>, role }
    }
}

impl Signature {
    /// This parameter, and then the rest.
    pub const fn new(parameter: ParameterType, rest: Option<&'static Self>) -> Self {
        Self { parameter, rest }
    }

    /// The parameters of a list in order.
    pub fn parameters(list: Option<&'static Self>) -> impl Iterator<Item = ParameterType> {
        std::iter::successors(list, |s| s.rest).map(|s| s.parameter)
    }
}

/// A list of arguments, in the order of the kernel's parameters.
///
/// # Safety
/// 1. `pack` writes exactly one pointer for each entry of [`ArgumentList::SIGNATURE`], in order, each to that many bytes
///    that stay readable while `self` is borrowed, and at most `size_of::<Slots>() / size_of::<*mut c_void>()` of them.
/// 2. `Slots` is an array of pointers, however nested.
pub unsafe trait ArgumentList {
    /// Types and sizes; values of size zero are no parameters.
    const SIGNATURE: Option<&'static Signature>;

    /// Room for the pointers.
    type Slots;

    /// The device memory in the list: the list without its plain values.
    type Memory: Memory;

    /// The device memory in the list.
    fn memory(&self) -> Self::Memory;

    /// Writes the pointers from `slots` on; returns the place after the last.
    ///
    /// # Safety
    /// 1. `slots` is valid for writes of `Slots`.
    /// 2. `self` stays borrowed as long as the pointers are used.
    unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void;
}

/// Memory whose accesses are tracked: an entry of the list that [`ArgumentList::memory`] returns.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TrackedMemory<'a, const WRITE: bool>(&'a Arc<Allocation>);

/// An object (texture, surface, tensor map) whose uses are tracked: an entry of the list that [`ArgumentList::memory`]
/// returns.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TrackedObject<'a, const WRITE: bool>(&'a dyn Shared);

/// The device memory in a list.
pub trait Memory {
    /// The bitwise AND of the words of all its memory. If it contains all bits of a stream's key, a launch that was
    /// announced on that stream may access all of the memory without waiting for anything, and all of it belongs to the
    /// stream's context.
    fn words(&self) -> u64;

    /// Whether the words of all its memory contain the bits of the stream's key.
    #[inline(always)]
    fn is_ready(&self, key: impl FnOnce() -> u64) -> bool
    where
        Self: Sized,
    {
        let key = key();
        self.words() & key == key
    }

    /// The context of the first entry that does not belong to `context`, if there is one.
    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext>;

    /// Records that `launch` accesses the memory, and makes it wait for the accesses on other streams that must come
    /// first.
    ///
    /// # Errors
    /// Any error returned by the driver.
    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error>;

    /// Reports what a captured launch must keep alive; never called for a launch that runs at once.
    fn report(&self, report: &mut Report);
}

/// A named argument in the list that [`ArgumentList::memory`] returns: the name, and the signature from its first
/// parameter on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a>(&'a str, Option<&'static Signature>);

/// The empty list.
#[derive(Clone, Copy, Debug)]
pub struct Nil;

/// An argument and the list after it.
#[derive(Clone, Copy, Debug)]
pub struct Cons<A, R>(pub A, pub R);

/// A value that is passed from where it is, byte for byte: one parameter, or none if its size is zero. For a number, the
/// check also compares whether the kernel's parameter is a float or an integer, where that is known.
///
/// `cuda_launch!` accepts only types that are [`DeviceCopy`](crate::DeviceCopy). The bound is not repeated here,
/// because the compiler would then report each violation a second time, for the list.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a, T>(pub &'a T);

/// The same for any `Copy` type, regardless of what its bytes mean to the kernel: `byval(x)`.
#[derive(Clone, Copy, Debug)]
pub struct Bits<'a, T>(pub &'a T);

/// The name of the argument that follows, by which a launch plan can set that argument between replays. The name itself
/// is not a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(pub &'a str);

/// A device slice, by address and length: two parameters of 8 bytes each. `WRITE` says whether the kernel may write it.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a, T: DeviceCopy, const WRITE: bool>(pub SliceParts<'a, T>);

/// Pitched rows of device memory, by address and pitch: two parameters of 8 bytes each. `WRITE` says whether the kernel may write them.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T: DeviceCopy, const WRITE: bool>(pub(super) RowParts<'a, T>);

/// The address of a device slice: one parameter of 8 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'a, T: DeviceCopy, const WRITE: bool>(pub SliceParts<'a, T>);

/// A texture, a surface or a tensor map: one parameter, its handle. `WRITE` says whether the kernel may write through it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Object<'a, H, const WRITE: bool>(pub(super) ObjectParts<'a, H>);

// SAFETY: 1: no pointer is written and the signature has no entry; 2: `Slots` is an empty array.
unsafe impl ArgumentList for Nil {
    const SIGNATURE: Option<&'static Signature> = None;
    type Slots = [*mut c_void; 0];
    type Memory = Nil;

    #[inline(always)]
    fn memory(&self) -> Nil {
        Nil
    }

    #[inline(always)]
    unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void {
        slots
    }
}

// SAFETY: 1, 2: a name is not a parameter and writes no pointer: signature and `Slots` are those of the rest of the
// list, whose implementation upholds both duties.
unsafe impl<'a, R: ArgumentList> ArgumentList for Cons<Name<'a>, R> {
    const SIGNATURE: Option<&'static Signature> = R::SIGNATURE;
    type Slots = R::Slots;
    type Memory = Cons<Labelled<'a>, R::Memory>;

    #[inline(always)]
    fn memory(&self) -> Self::Memory {
        Cons(Labelled(self.0.0, R::SIGNATURE), self.1.memory())
    }

    #[inline(always)]
    unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void {
        // SAFETY: 1: `Slots` is the type of the rest, so this is the caller's duty 1; 2: the rest is a part of `self`,
        // so this is the caller's duty 2.
        unsafe { self.1.pack(slots) }
    }
}

/// Both forms of a value.
macro_rules! value_list {
    ($($form:ident)*) => {$(
        // SAFETY: 1: writes one pointer, to the value that `self` borrows, and has one signature entry of that size
        // (neither if the size is zero), followed by those of the rest; 2: `Slots` is an array of one pointer followed
        // by the slots of the rest, which is at least as many as are written.
        unsafe impl<T, R: ArgumentList> ArgumentList for Cons<$form<'_, T>, R> {
            // An array index instead of an `if`: Rust 1.88 does not promote a reference inside a branch to a static.
            const SIGNATURE: Option<&'static Signature> = [
                R::SIGNATURE,
                Some(&Signature { parameter: parameter::<T>(size_of::<T>(), Role::$form), rest: R::SIGNATURE }),
            ][(size_of::<T>() != 0) as usize];
            type Slots = Slots<1, R::Slots>;
            type Memory = R::Memory;

            #[inline(always)]
            fn memory(&self) -> Self::Memory {
                self.1.memory()
            }

            #[inline(always)]
            unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void {
                // SAFETY: 1: `slots` is valid for `Slots` (the caller's duty 1); the first slot belongs to this
                // argument, if it has one, and all others to the rest; 2: value and rest are borrowed as long as `self`
                // is, by the caller's duty 2.
                unsafe { self.1.pack(if size_of::<T>() == 0 { slots } else { put(slots, self.0.0) }) }
            }
        }
    )*};
}

value_list! { Value Bits }

/// Both forms of memory that is two parameters: the address, and a number of 8 bytes.
macro_rules! pair_list {
    ($($form:ident: $address:ident, $second:ident $field:ident;)*) => {$(
        // SAFETY: 1: writes two pointers, to a `u64` and a `usize` of 8 bytes (asserted below) that `self` borrows, and
        // has two signature entries, followed by those of the rest; 2: `Slots` is an array of two pointers followed by
        // the slots of the rest, which is as many as are written.
        unsafe impl<'a, T: DeviceCopy, R: ArgumentList, const WRITE: bool> ArgumentList
            for Cons<$form<'a, T, WRITE>, R>
        {
            const SIGNATURE: Option<&'static Signature> = Some(&Signature {
                parameter: parameter::<T>(8, Role::$address),
                rest: Some(&Signature { parameter: parameter::<T>(8, Role::$second), rest: R::SIGNATURE }),
            });
            type Slots = Slots<2, R::Slots>;
            type Memory = Cons<TrackedMemory<'a, WRITE>, R::Memory>;

            #[inline(always)]
            fn memory(&self) -> Self::Memory {
                Cons(TrackedMemory(self.0.0.allocation), self.1.memory())
            }

            #[inline(always)]
            unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void {
                // SAFETY: 1: `slots` is valid for `Slots` (the caller's duty 1); the first two slots belong to this
                // argument and all others to the rest; 2: address, number and rest are borrowed as long as `self` is,
                // by the caller's duty 2.
                unsafe { self.1.pack(put(put(slots, self.0.0.address), self.0.0.$field)) }
            }
        }
    )*};
}

// The kernel reads lengths and pitches directly from their `usize`, as parameters of 8 bytes.
const _: () = assert!(size_of::<usize>() == 8);

pair_list! {
    Slice: Address, Length len;
    Rows: Rows, Pitch pitch;
}

// SAFETY: 1: writes one pointer, to a `u64` that `self` borrows, and has one signature entry of 8 bytes, followed by
// those of the rest; 2: `Slots` is an array of one pointer followed by the slots of the rest, which is as many as are
// written.
unsafe impl<'a, T: DeviceCopy, R: ArgumentList, const WRITE: bool> ArgumentList
    for Cons<Pointer<'a, T, WRITE>, R>
{
    const SIGNATURE: Option<&'static Signature> =
        Some(&Signature { parameter: parameter::<T>(8, Role::Pointer), rest: R::SIGNATURE });
    type Slots = Slots<1, R::Slots>;
    type Memory = Cons<TrackedMemory<'a, WRITE>, R::Memory>;

    #[inline(always)]
    fn memory(&self) -> Self::Memory {
        Cons(TrackedMemory(self.0.0.allocation), self.1.memory())
    }

    #[inline(always)]
    unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void {
        // SAFETY: 1: `slots` is valid for `Slots` (the caller's duty 1); the first slot belongs to this argument and
        // all others to the rest; 2: address and rest are borrowed as long as `self` is, by the caller's duty 2.
        unsafe { self.1.pack(put(slots, self.0.0.address)) }
    }
}

// SAFETY: 1: writes one pointer, to the handle that `self` borrows, and has one signature entry of its size, followed
// by those of the rest; 2: `Slots` is an array of one pointer followed by the slots of the rest, which is as many as
// are written.
unsafe impl<'a, H, R: ArgumentList, const WRITE: bool> ArgumentList for Cons<Object<'a, H, WRITE>, R> {
    const SIGNATURE: Option<&'static Signature> =
        Some(&Signature { parameter: parameter::<H>(size_of::<H>(), Role::Bits), rest: R::SIGNATURE });
    type Slots = Slots<1, R::Slots>;
    type Memory = Cons<TrackedObject<'a, WRITE>, R::Memory>;

    #[inline(always)]
    fn memory(&self) -> Self::Memory {
        Cons(TrackedObject(self.0.0.of), self.1.memory())
    }

    #[inline(always)]
    unsafe fn pack(&self, slots: *mut *mut c_void) -> *mut *mut c_void {
        // SAFETY: 1: `slots` is valid for `Slots` (the caller's duty 1); the first slot belongs to this argument and
        // all others to the rest; 2: handle and rest are borrowed as long as `self` is, by the caller's duty 2.
        unsafe { self.1.pack(put(slots, self.0.0.handle)) }
    }
}

impl Memory for Nil {
    #[inline(always)]
    fn words(&self) -> u64 {
        u64::MAX
    }

    #[inline(always)]
    fn is_ready(&self, _: impl FnOnce() -> u64) -> bool {
        true
    }

    #[inline(always)]
    fn foreign_context<'c>(&'c self, _: &CudaContext) -> Option<&'c CudaContext> {
        None
    }

    fn note(&self, _: &mut Submission<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn report(&self, _: &mut Report) {}
}

impl<R: Memory> Memory for Cons<Labelled<'_>, R> {
    #[inline(always)]
    fn words(&self) -> u64 {
        self.1.words()
    }

    #[inline(always)]
    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext> {
        self.1.foreign_context(context)
    }

    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error> {
        self.1.note(launch)
    }

    fn report(&self, report: &mut Report) {
        report.name(self.0.0, self.0.1);
        self.1.report(report);
    }
}

impl<R: Memory, const WRITE: bool> Memory for Cons<TrackedMemory<'_, WRITE>, R> {
    #[inline(always)]
    fn words(&self) -> u64 {
        self.0.0.accesses().word(WRITE) & self.1.words()
    }

    #[inline(always)]
    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext> {
        let own = self.0.0.context();
        if own.is_same(context) { self.1.foreign_context(context) } else { Some(own) }
    }

    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error> {
        if WRITE {
            launch.writes(self.0.0)?
        } else {
            launch.reads(self.0.0)?
        }
        self.1.note(launch)
    }

    fn report(&self, report: &mut Report) {
        report.memory(self.0.0, WRITE);
        self.1.report(report);
    }
}

impl<R: Memory, const WRITE: bool> Memory for Cons<TrackedObject<'_, WRITE>, R> {
    #[inline(always)]
    fn words(&self) -> u64 {
        self.0.0.used().word(WRITE) & self.1.words()
    }

    #[inline(always)]
    fn foreign_context<'c>(&'c self, context: &CudaContext) -> Option<&'c CudaContext> {
        let own = self.0.0.used().context();
        if own.is_same(context) { self.1.foreign_context(context) } else { Some(own) }
    }

    fn note(&self, launch: &mut Submission<'_>) -> Result<(), Error> {
        self.0.0.used().note(launch, WRITE)?;
        self.1.note(launch)
    }

    fn report(&self, report: &mut Report) {
        report.object(self.0.0);
        self.1.report(report);
    }
}

/// Consecutive arrays of pointers.
#[doc(hidden)]
#[repr(C)]
#[derive(Debug)]
pub struct Slots<const N: usize, R>([*mut c_void; N], R);

/// Writes one pointer and returns the next slot.
///
/// # Safety
/// 1. `slot` is an element of an array of pointers, valid for writes.
#[inline(always)]
unsafe fn put<T>(slot: *mut *mut c_void, value: &T) -> *mut *mut c_void {
    // SAFETY: `slot` is valid for writes, by the caller's duty 1; the next element, or the end of the array, is in
    // bounds.
    unsafe {
        slot.write(std::ptr::from_ref(value).cast_mut().cast());
        slot.add(1)
    }
}

pub(super) const fn parameter<T>(size: usize, role: Role) -> ParameterType {
    ParameterType::new::<T>(size, role)
}
