//! The boundary between C and the driver: admission, outputs, panics.
//!
//! This file turns the pointers that a program passes into [`Out`], [`In`], [`Text`], [`Buffer`] and [`Untyped`], so that most of the
//! driver is safe code.
//!
//! # Duties of callers of the C functions
//!
//! Callers must meet the requirements in NVIDIA's documentation of the function. Comments in this folder cite them by these names, both
//! for the arguments of a call and for the pointers in structures and arrays that it passes:
//!
//! - **C1, places.** A pointer is null, or aligned for its type in the header and, within one allocation, valid for the accesses of
//!   the function: reads of an input, writes of an output, both for memory that it is documented to change. It is valid for one
//!   value or, if a count or a size is passed for it, for that many elements or bytes, so for at most `isize::MAX` bytes. If the
//!   number of a pointer is passed as the address of host memory (a `CUdeviceptr` can be one), its provenance was exposed.
//! - **C2, values.** The memory that an input points to is initialised: of a structure everything except padding and unions, of a union
//!   the member that the type, id or operation beside it selects. Members that need not be set by the documentation (`pad`, `alias`,
//!   the number of a location that has none) are not read. Members that are ignored depending on others (the array of a copy from
//!   memory) are read with their structure: a Rust program has initialised them, and a member that a C program has not set is some
//!   number for a library that it loads.
//! - **C3, untyped places.** A `void *` for the value of an attribute or option points to the documented type of that attribute or
//!   option, aligned; with a size beside it, to that many bytes.
//! - **C4, exclusivity.** For the duration in C5, no other code writes memory that the function reads, or accesses memory that it
//!   writes. Outputs overlap neither each other nor inputs (but two host ranges of one copy may), nor memory of this driver.
//! - **C5, duration.** All this holds until the call returns. It holds longer for registered memory (until it is unregistered or its
//!   context is destroyed, and earlier work is done), for pinned, managed and registered host memory of an asynchronous copy (until
//!   the copy is done), for host memory of a graph node (whenever a launch of the graph runs), and for memory that the options of
//!   `cuLinkCreate` point to (until the link is destroyed).
//! - **C6, texts.** A `char` pointer without a size is null or points to bytes that end with a NUL.
//! - **C7, functions.** A function pointer is null or points to a function of the declared type, which may be called with the data
//!   passed beside it: from any thread, as often as documented, until the documented end. It returns, and does not unwind.
//! - **C8, packets.** A launch's `kernelParams` is null or has a pointer for each parameter of the kernel, each to as many bytes as the
//!   parameter has; some may be padding. `extra` is null or a list of keys, each but the last with a value, that ends with
//!   `CU_LAUNCH_PARAM_END`; C1 holds for the buffer and its size. Neither needs alignment for the parameters' types.
//!
//! There is no duty for handles: they are looked up in tables, and never dereferenced.
//!
//! Functions of this folder that take raw pointers, or structures with pointers, beside a [`Call`] are called with the arguments of the
//! program in that call, or with values of the driver for which the same holds. Only [`call`] creates a [`Call`], around a body of
//! [`entries!`], and code outside of this folder cannot call them.
#![allow(unsafe_code)]

use cuda_driver_sys::CUresult;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::state::{self, Call};

/// The result of a driver function.
pub(super) type Outcome<T = ()> = Result<T, CUresult>;

/// `CUDA_ERROR_INVALID_VALUE`, the result for most mistakes.
pub(super) const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// `CUDA_ERROR_INVALID_HANDLE`
pub(super) const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
/// `CUDA_ERROR_INVALID_CONTEXT`
pub(super) const INVALID_CONTEXT: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
/// `CUDA_ERROR_NOT_SUPPORTED`
pub(super) const NOT_SUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
/// The maximum number of elements of an array that a program passes or requests.
const MOST_ELEMENTS: usize = 1 << 24;

/// Refuses an implausible number of elements, such as an uninitialised or negative one.
pub(super) fn believable(count: usize) -> Outcome<usize> {
    if count <= MOST_ELEMENTS { Ok(count) } else { Err(INVALID_VALUE) }
}

/// `CUDA_ERROR_OUT_OF_MEMORY`
pub(super) const OUT_OF_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;

/// When a function may be called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// After `cuInit`, but not in a callback of a stream.
    Ordinary,
    /// After `cuInit`, in callbacks too.
    Callback,
    /// Always.
    Always,
}

/// Runs the body of a driver function: the only place where C calls arrive. It is compiled once, not for each
/// function.
pub(super) fn call(name: &'static str, rule: Rule, body: &mut dyn FnMut(&Call) -> Outcome) -> CUresult {
    let guarded = || {
        let call = match rule {
            Rule::Always => Call::unchecked(name),
            Rule::Ordinary | Rule::Callback => Call::admit(name)?,
        };
        if rule == Rule::Ordinary && state::in_callback() {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        body(&call)
    };
    // A panic is a bug of the emulator. Unwinding into C would end the process; poisoned locks are used as they are.
    match catch_unwind(AssertUnwindSafe(guarded)) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => {
            super::logs::note(name, code);
            code
        }
        Err(_) => {
            super::report::line(format_args!("{name}: internal error (the panic above), please report it"));
            CUresult::CUDA_ERROR_UNKNOWN
        }
    }
}

/// Defines the C functions of one family, each with the safe function that does its work, and `address`, which finds
/// them by name.
///
/// A row is `symbol(argument: CType, ..) [rule] = body;`; without a rule it is [`Rule::Ordinary`]. The body takes
/// `&Call` and every argument as its C type, or as what [`FromC`] makes of it.
///
/// # Safety
///
/// For the C functions: the caller upholds C1 to C8 (the head of this file), as far as they concern the function's arguments.
macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) $([$rule:ident])? = $body:ident$(::<$choice:literal>)?;)*) => {
        /// The address of one of this family's functions; null for other names.
        pub(in $crate::driver) fn address(name: &str) -> *const ::std::ffi::c_void {
            match name {
                $(stringify!($name) => {
                    let function: ::cuda_driver_sys::pfn::$name = $name;
                    function as *const ::std::ffi::c_void
                })*
                _ => ::std::ptr::null(),
            }
        }

        $(
            #[allow(unsafe_code, non_snake_case, clippy::too_many_arguments, reason = "a C function")]
            unsafe extern "C" fn $name($($argument: $type),*) -> ::cuda_driver_sys::CUresult {
                $crate::driver::entry::call(
                    stringify!($name),
                    $crate::driver::entry::rule!($($rule)?),
                    &mut |call| {
                        // SAFETY: 1: the argument comes from the caller, who upholds C1 to C6 for it until this returns, which is after the
                        // body has returned. Values that a body keeps for longer, those of a link's options, are valid for longer by C5.
                        self::$body$(::<$choice>)?(call, $(unsafe { $crate::driver::entry::FromC::from_c($argument) }),*)
                    },
                )
            }
        )*
    };
}
pub(super) use entries;

/// The rule that `entries!` names in brackets.
macro_rules! rule {
    () => {
        $crate::driver::entry::Rule::Ordinary
    };
    (callback) => {
        $crate::driver::entry::Rule::Callback
    };
    (always) => {
        $crate::driver::entry::Rule::Always
    };
}
pub(super) use rule;

/// Made from a C argument.
pub(super) trait FromC<T> {
    /// Takes the argument over.
    ///
    /// # Safety
    ///
    /// 1. For the lifetime of the result, C1 to C6 at the head of this file hold for a pointer.
    unsafe fn from_c(argument: T) -> Self;
}

impl<T> FromC<T> for T {
    unsafe fn from_c(argument: T) -> T {
        argument
    }
}

/// A pointer to an output; may be null.
///
/// Not null, it is aligned, valid for writes of a `T`, or of the array that the function documents (for reads, too, of what it is documented
/// to change), and no other code accesses it for `'call`: it comes from a C argument, by C1 and C4, or from a mutable reference.
pub(super) struct Out<'call, T>(*mut T, PhantomData<&'call mut T>);

impl<T> FromC<*mut T> for Out<'_, T> {
    unsafe fn from_c(argument: *mut T) -> Self {
        Out(argument, PhantomData)
    }
}

impl<'call, T> Out<'call, T> {
    /// Null: the result is not requested.
    pub(super) fn none() -> Self {
        Out(std::ptr::null_mut(), PhantomData)
    }

    /// An output of the driver itself.
    pub(super) fn to(place: &'call mut T) -> Self {
        Out(place, PhantomData)
    }

    /// Returns `CUDA_ERROR_INVALID_VALUE` if the pointer is null.
    pub(super) fn required(self) -> Outcome<Place<'call, T>> {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(Place(self)) }
    }

    /// Whether it is null.
    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes the result, if it is wanted.
    pub(super) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so aligned, valid for a write and not used by other code (the type's documentation). The old value is not
            // dropped, because it belongs to C.
            unsafe { self.0.write(value) }
        }
    }

    /// The current value; `None` for null. For arguments that the caller sets and the function changes.
    pub(super) fn get(&self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: not null, so aligned, valid for a read, because this is called for arguments that a function is documented to change, and
        // not used by other code (the type's documentation); initialised by C2, or an output of the driver itself.
        (!self.0.is_null()).then(|| unsafe { self.0.read() })
    }

    /// The element at `index` of an array.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and an array that has this element. No other `Out` for the same element is in use.
    pub(super) unsafe fn element(&self, index: usize) -> Out<'call, T> {
        // SAFETY: inside the array, so in one allocation with its start: duty 1. The type's invariant holds for the element because
        // it holds for the array.
        Out(unsafe { self.0.add(index) }, PhantomData)
    }

    /// Writes the first `values.len()` elements of an array.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and an array of at least that many elements; or there are no values.
    pub(super) unsafe fn write_array(&self, values: &[T])
    where
        T: Copy,
    {
        if values.is_empty() {
            return;
        }
        // SAFETY: the array has that many elements, duty 1, which are aligned, valid for writes and not used by other code (the type's
        // documentation), so it does not overlap `values`, which is a reference of the driver.
        unsafe { self.0.copy_from_nonoverlapping(values.as_ptr(), values.len()) }
    }
}

/// A pointer to an output; not null.
pub(super) struct Place<'call, T>(Out<'call, T>);

impl<T> Place<'_, T> {
    /// Writes the result.
    pub(super) fn set(&self, value: T) {
        self.0.set(value);
    }
}

/// A structure or value passed by pointer; may be null.
///
/// Not null, it is aligned, valid for reads of a `T`, or of the array that the function documents, initialised, and not written by other
/// code for `'call`: it comes from a C argument, by C1, C2 and C4, or from a reference.
pub(super) struct In<'call, T>(*const T, PhantomData<&'call T>);

impl<T> FromC<*const T> for In<'_, T> {
    unsafe fn from_c(argument: *const T) -> Self {
        In(argument, PhantomData)
    }
}

impl<T> FromC<*mut T> for In<'_, T> {
    unsafe fn from_c(argument: *mut T) -> Self {
        In(argument, PhantomData)
    }
}

impl<'call, T> In<'call, T> {
    /// None is passed.
    pub(super) fn none() -> Self {
        In(std::ptr::null(), PhantomData)
    }

    /// An input of the driver itself.
    pub(super) fn of(value: &'call T) -> Self {
        In(value, PhantomData)
    }

    /// Its address.
    pub(super) fn address(&self) -> *const T {
        self.0
    }

    /// Whether it is null.
    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl<'call, T: Copy> In<'call, T> {
    /// The element at `index` of an array.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and an array that has this element.
    pub(super) unsafe fn element(&self, index: usize) -> In<'call, T> {
        // SAFETY: inside the array, so in one allocation with its start: duty 1. The type's invariant holds for the element because
        // it holds for the array.
        In(unsafe { self.0.add(index) }, PhantomData)
    }

    /// The value; `CUDA_ERROR_INVALID_VALUE` if the pointer is null.
    pub(super) fn read(&self) -> Outcome<T> {
        // SAFETY: not null, so aligned, valid for a read, initialised and not written by other code (the type's
        // documentation).
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(unsafe { self.0.read() }) }
    }

    /// `count` values; `CUDA_ERROR_INVALID_VALUE` for null, unless `count` is 0.
    ///
    /// # Safety
    ///
    /// 1. It is null or an array of `count` elements.
    pub(super) unsafe fn read_array(&self, count: usize) -> Outcome<Vec<T>> {
        match (believable(count)?, self.0.is_null()) {
            (0, _) => Ok(Vec::new()),
            (_, true) => Err(INVALID_VALUE),
            // SAFETY: not null, and below `count`, so inside the array: duty 1. Each element is aligned, valid for a read, initialised and
            // not written (the type's documentation).
            (_, false) => Ok((0..count).map(|index| unsafe { self.0.add(index).read() }).collect()),
        }
    }
}

/// A C string; may be null. The bytes up to its NUL are valid, and not written by other code, for `'call`: it comes from a C argument, by
/// C4 and C6.
pub(super) struct Text<'call>(Option<&'call CStr>);

impl FromC<*const c_char> for Text<'_> {
    unsafe fn from_c(argument: *const c_char) -> Self {
        // SAFETY: not null, so by C6, which duty 1 extends over `'call`, all bytes up to a NUL are valid for reads, in one allocation; by
        // C4 they are not written meanwhile.
        Text((!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }))
    }
}

impl<'call> Text<'call> {
    /// The text; `CUDA_ERROR_INVALID_VALUE` for null and for text that is not UTF-8 (no name in PTX is).
    pub(super) fn required(self) -> Outcome<&'call str> {
        self.0.and_then(|text| text.to_str().ok()).ok_or(INVALID_VALUE)
    }

    /// A file's name, which must not be empty: any bytes, on systems whose file names are bytes.
    pub(super) fn path(self) -> Outcome<&'call Path> {
        let text = self.0.filter(|text| !text.is_empty()).ok_or(INVALID_VALUE)?;
        #[cfg(unix)]
        let name = Some(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(text.to_bytes()));
        #[cfg(not(unix))]
        let name = text.to_str().ok().map(OsStr::new);
        name.map(Path::new).ok_or(INVALID_VALUE)
    }

    /// The text, which must not be empty either.
    pub(super) fn name(self) -> Outcome<&'call str> {
        self.required().and_then(|text| if text.is_empty() { Err(INVALID_VALUE) } else { Ok(text) })
    }
}

/// A buffer of characters, whose size is another argument; may be null. If not null, it is valid for writes of that many bytes, and not
/// accessed by other code, for `'call`: it comes from a C argument, by C1 and C4.
pub(super) struct Buffer<'call>(*mut c_char, PhantomData<&'call mut c_char>);

impl FromC<*mut c_char> for Buffer<'_> {
    unsafe fn from_c(argument: *mut c_char) -> Self {
        Buffer(argument, PhantomData)
    }
}

impl Buffer<'_> {
    /// Whether it is null.
    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes as much of `text` as fits into `size` bytes, its NUL included.
    ///
    /// # Safety
    ///
    /// 1. The buffer is null or has `size` bytes.
    pub(super) unsafe fn write(&self, text: &[u8], size: usize) {
        let Some(room) = size.checked_sub(1).filter(|_| !self.0.is_null()) else { return };
        let part = text.get(..room).unwrap_or(text);
        // SAFETY: not null, and `part` has at most `size - 1` bytes: with the NUL it fits, by duty 1. The buffer is not accessed by other
        // code (the type's documentation), so it does not overlap `part`, which is a reference of the driver. Bytes need no alignment.
        unsafe {
            self.0.cast::<u8>().copy_from_nonoverlapping(part.as_ptr(), part.len());
            self.0.cast::<u8>().add(part.len()).write(0);
        }
    }
}

/// A pointer to an output or input whose type another argument determines; may be null. If not null, it is aligned for a value of that
/// type, valid for a write of it, or for a read if the function is documented to read it, and not accessed by other code, for `'call`: it
/// comes from a C argument, by C1, C3 and C4.
pub(super) struct Untyped<'call>(*mut c_void, PhantomData<&'call mut c_void>);

impl FromC<*mut c_void> for Untyped<'_> {
    unsafe fn from_c(argument: *mut c_void) -> Self {
        Untyped(argument, PhantomData)
    }
}

impl Untyped<'_> {
    /// Returns `CUDA_ERROR_INVALID_VALUE` if the pointer is null.
    pub(super) fn required(self) -> Outcome<Self> {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(self) }
    }

    /// Writes the value; not for null.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and `T` has the size and alignment of the type that the other argument determines.
    pub(super) unsafe fn write<T>(&self, value: T) {
        // SAFETY: not null, so by the type's documentation and duty 1 it is aligned and valid for a write of a `T`, and not
        // accessed by other code.
        unsafe { self.0.cast::<T>().write(value) }
    }

    /// Writes the value at `index` of an array; not for null.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and points to an array of values with the size and alignment of `T` that has this element.
    pub(super) unsafe fn write_at<T>(&self, index: usize, value: T) {
        // SAFETY: the element at `index` is inside the array, duty 1, and like the array aligned, valid for writes and not
        // accessed by other code.
        unsafe { self.0.cast::<T>().add(index).write(value) }
    }

    /// Reads the value; not for null.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and points to an initialised `T`.
    pub(super) unsafe fn read<T: Copy>(&self) -> T {
        // SAFETY: not null, so by the type's documentation and duty 1 it is aligned and valid for a read of an initialised `T`, which is
        // not written by other code.
        unsafe { self.0.cast::<T>().read() }
    }
}
