//! The boundary between C and the driver: admission, outputs, panics.
//!
//! This file turns the pointers that a program passes into [`Out`], [`In`], [`Text`], [`Buffer`] and [`Untyped`], so that most of the
//! driver is safe code.
//!
//! # What callers of the C functions promise
//!
//! They promise what NVIDIA's documentation of the function demands. Comments in this folder cite it by these names, for the arguments of
//! a call and for the pointers in structures and arrays that it passes alike:
//!
//! - **C1, places.** A pointer is null, or aligned for the type that the header gives it and, in one allocation, valid for what the
//!   function does there: reads of an input, writes of a result, both of what it is documented to change. It is good for one value;
//!   where a count or a size is passed for it, for that many elements or bytes, so for at most `isize::MAX` bytes. The pointer whose
//!   number is passed as the address of host memory (a `CUdeviceptr` can be one) was exposed.
//! - **C2, values.** What an input points to is set: of a structure all that is not padding and in no union, of a union the member that
//!   the type, id or operation beside it names. Members that nobody is told to set (`pad`, `alias`, the number of a location that has
//!   none) are not read. Those that are ignored beside others (the array of a copy from memory) are read with their structure: a Rust
//!   program has set them, and what a C program left unset is some number to a library that it loads.
//! - **C3, untyped places.** A `void *` for the value of an attribute or option goes to the type that the documentation gives that
//!   attribute or option, aligned; with a size beside it, to that many bytes.
//! - **C4, alone.** Until the memory is given back (C5) nothing else writes what the function reads, nor touches what it writes. Results
//!   overlap neither each other nor inputs (but two host ranges of one copy may), nor memory of this driver's own.
//! - **C5, how long.** All this holds until the call returns. It holds longer for registered memory (until it is unregistered or its
//!   context destroyed, and work given before is done), for pinned, managed and registered host memory that an asynchronous copy names
//!   (until the copy is done), for host memory that a node of a graph names (whenever a launch of the graph runs), and for what the
//!   options of a link point to, of `cuLinkCreate` alone (until the link is destroyed).
//! - **C6, texts.** A `char` pointer that comes without a size is null or goes to bytes that end with a NUL.
//! - **C7, functions.** A function pointer is null or goes to a function of the declared type, which may be called with the data passed
//!   beside it: from any thread, as often as documented, until the documented end. It returns, and does not unwind.
//! - **C8, packets.** A launch's `kernelParams` is null or has a pointer for each parameter of the kernel, each to as many bytes as the
//!   parameter has; some may be padding. `extra` is null or a list of keys, each but the last with a value, that ends with
//!   `CU_LAUNCH_PARAM_END`; the buffer and its size are as C1 says. Neither needs alignment for the parameters' types.
//!
//! Handles need no promise: they are looked up in tables, and never followed.
//!
//! Functions of this folder that take raw pointers, or structures with pointers, beside a [`Call`] are called with what the program passed
//! in that call, or with the driver's own values of which the same is true. Only [`call`] makes a [`Call`], around a body of
//! [`entries!`], and nobody outside this folder can call them.
#![allow(unsafe_code)]

use cuda_driver_sys::CUresult;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::state::{self, Call};

/// What a function of the driver answers.
pub(super) type Outcome<T = ()> = Result<T, CUresult>;

/// `CUDA_ERROR_INVALID_VALUE`, the answer to most mistakes.
pub(super) const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// `CUDA_ERROR_INVALID_HANDLE`
pub(super) const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
/// `CUDA_ERROR_INVALID_CONTEXT`
pub(super) const INVALID_CONTEXT: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
/// `CUDA_ERROR_NOT_SUPPORTED`
pub(super) const NOT_SUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
/// Most elements of an array that a program passes or has filled.
const MOST_ELEMENTS: usize = 1 << 24;

/// Refuses a number of elements that no program has: one that was never set, or a negative one.
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

/// Runs the body of a driver function: the one place where C calls arrive. It is compiled once, not for each function.
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
    // A panic is a bug of the emulator. Unwinding into C would end the process; locks are taken over as they are.
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
/// Of the C functions: the caller keeps C1 to C8, as far as they concern the function's arguments (the head of this file has them).
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
                        // SAFETY: 1: the argument is the caller's, who keeps C1 to C6 for it until this returns, and the body returns before.
                        // What a body takes for longer, the values of a link's options, the caller keeps for longer, by C5.
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
    /// 1. For the lifetime of the result, a pointer is as C1 to C6 at the head of this file say.
    unsafe fn from_c(argument: T) -> Self;
}

impl<T> FromC<T> for T {
    unsafe fn from_c(argument: T) -> T {
        argument
    }
}

/// Where a result goes; may be null.
///
/// Not null, it is aligned, valid for writes of a `T`, or of the array that the function documents (for reads, too, of what it is documented
/// to change), and nobody else touches it for `'call`: made of a C argument by C1 and C4, or of a mutable reference.
pub(super) struct Out<'call, T>(*mut T, PhantomData<&'call mut T>);

impl<T> FromC<*mut T> for Out<'_, T> {
    unsafe fn from_c(argument: *mut T) -> Self {
        Out(argument, PhantomData)
    }
}

impl<'call, T> Out<'call, T> {
    /// No place: the result is not wanted.
    pub(super) fn none() -> Self {
        Out(std::ptr::null_mut(), PhantomData)
    }

    /// A place of the driver's own.
    pub(super) fn to(place: &'call mut T) -> Self {
        Out(place, PhantomData)
    }

    /// Answers `CUDA_ERROR_INVALID_VALUE` where the pointer is null.
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
            // SAFETY: not null, so aligned, valid for a write and nobody else's, as the type says. What stood there is not dropped: it is C's.
            unsafe { self.0.write(value) }
        }
    }

    /// What stands there now; `None` for null. For arguments that the caller sets and the function changes.
    pub(super) fn get(&self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: not null, so aligned, valid for a read, as this is called for what a function is documented to change, and nobody else's, as the
        // type says; set by C2, or a place of the driver's own.
        (!self.0.is_null()).then(|| unsafe { self.0.read() })
    }

    /// Where the element at `index` of an array stands.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and an array that has this element. No other `Out` that is used is of the same element.
    pub(super) unsafe fn element(&self, index: usize) -> Out<'call, T> {
        // SAFETY: inside the array, so of one allocation with its start: duty 1. The element is as the type says, since the array is.
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
        // SAFETY: the array has that many elements, duty 1, aligned, valid for writes and nobody else's, as the type says: so it does not
        // overlap `values`, which a reference of the driver's has.
        unsafe { self.0.copy_from_nonoverlapping(values.as_ptr(), values.len()) }
    }
}

/// Where a result goes; not null.
pub(super) struct Place<'call, T>(Out<'call, T>);

impl<T> Place<'_, T> {
    /// Writes the result.
    pub(super) fn set(&self, value: T) {
        self.0.set(value);
    }
}

/// A structure or value passed by pointer; may be null.
///
/// Not null, it is aligned, valid for reads of a `T`, or of the array that the function documents, set, and written by nothing else for `'call`:
/// made of a C argument by C1, C2 and C4, or of a reference.
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

    /// One of the driver's own.
    pub(super) fn of(value: &'call T) -> Self {
        In(value, PhantomData)
    }

    /// Where it stands.
    pub(super) fn address(&self) -> *const T {
        self.0
    }

    /// Whether it is null.
    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl<'call, T: Copy> In<'call, T> {
    /// Where the element at `index` of an array stands.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and an array that has this element.
    pub(super) unsafe fn element(&self, index: usize) -> In<'call, T> {
        // SAFETY: inside the array, so of one allocation with its start: duty 1. The element is as the type says, since the array is.
        In(unsafe { self.0.add(index) }, PhantomData)
    }

    /// The value; `CUDA_ERROR_INVALID_VALUE` where the pointer is null.
    pub(super) fn read(&self) -> Outcome<T> {
        // SAFETY: not null, so aligned, valid for a read, set and written by nothing else, as the type says.
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(unsafe { self.0.read() }) }
    }

    /// `count` values; `CUDA_ERROR_INVALID_VALUE` for null, unless none is asked for.
    ///
    /// # Safety
    ///
    /// 1. It is null or an array of `count` elements.
    pub(super) unsafe fn read_array(&self, count: usize) -> Outcome<Vec<T>> {
        match (believable(count)?, self.0.is_null()) {
            (0, _) => Ok(Vec::new()),
            (_, true) => Err(INVALID_VALUE),
            // SAFETY: not null, and below `count`, so inside the array: duty 1. Each element is aligned, valid for a read, set and written by
            // nobody, as the type says.
            (_, false) => Ok((0..count).map(|index| unsafe { self.0.add(index).read() }).collect()),
        }
    }
}

/// A C string; may be null. The bytes up to its NUL are there, and written by nothing else, for `'call`: it is made of a C argument by C4 and C6.
pub(super) struct Text<'call>(Option<&'call CStr>);

impl FromC<*const c_char> for Text<'_> {
    unsafe fn from_c(argument: *const c_char) -> Self {
        // SAFETY: not null, so by C6, which duty 1 extends over `'call`, all bytes up to a NUL are valid for reads, of one allocation; by C4
        // nothing writes them meanwhile.
        Text((!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }))
    }
}

impl<'call> Text<'call> {
    /// The text; `CUDA_ERROR_INVALID_VALUE` for null and for text that is not UTF-8 (no name in PTX is).
    pub(super) fn required(self) -> Outcome<&'call str> {
        self.0.and_then(|text| text.to_str().ok()).ok_or(INVALID_VALUE)
    }

    /// A file's name, which must not be empty: any bytes, where the system's names are that.
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

/// A buffer of characters, whose size another argument tells; may be null. Not null, it is valid for writes of that many bytes, and nobody
/// else touches it, for `'call`: it is made of a C argument by C1 and C4.
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
        // SAFETY: not null, and `part` has at most `size - 1` bytes: with the NUL it fits, by duty 1, where nobody else is, as the type says: so
        // it does not overlap `part`, which a reference of the driver's has. Bytes need no alignment.
        unsafe {
            self.0.cast::<u8>().copy_from_nonoverlapping(part.as_ptr(), part.len());
            self.0.cast::<u8>().add(part.len()).write(0);
        }
    }
}

/// Where a value goes, or stands, whose type another argument names; may be null. Not null, it is aligned for a value of that type, valid for
/// a write of it, or a read where the function is documented to take it, and nobody else touches it, for `'call`: it is made of a C argument
/// by C1, C3 and C4.
pub(super) struct Untyped<'call>(*mut c_void, PhantomData<&'call mut c_void>);

impl FromC<*mut c_void> for Untyped<'_> {
    unsafe fn from_c(argument: *mut c_void) -> Self {
        Untyped(argument, PhantomData)
    }
}

impl Untyped<'_> {
    /// Answers `CUDA_ERROR_INVALID_VALUE` where the pointer is null.
    pub(super) fn required(self) -> Outcome<Self> {
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(self) }
    }

    /// Writes the value; not for null.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and `T` has the size and alignment of the type that the other argument names.
    pub(super) unsafe fn write<T>(&self, value: T) {
        // SAFETY: not null, and as the type says aligned and valid for a write of a value like `T`, duty 1, where nobody else is.
        unsafe { self.0.cast::<T>().write(value) }
    }

    /// Writes the value at `index` of an array; not for null.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and what goes there is an array of values with the size and alignment of `T` that has this one.
    pub(super) unsafe fn write_at<T>(&self, index: usize, value: T) {
        // SAFETY: the element at `index` is inside the array, duty 1, and like it aligned, valid for writes and nobody else's.
        unsafe { self.0.cast::<T>().add(index).write(value) }
    }

    /// Reads the value; not for null.
    ///
    /// # Safety
    ///
    /// 1. It is not null, and a set `T` stands there.
    pub(super) unsafe fn read<T: Copy>(&self) -> T {
        // SAFETY: not null, and as the type says aligned and valid for a read of a `T` that is set, duty 1, and that nothing else writes.
        unsafe { self.0.cast::<T>().read() }
    }
}
