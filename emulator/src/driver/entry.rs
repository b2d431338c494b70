//! The boundary between C and the driver: admission, outputs, panics.
//!
//! Relies on the callers of the C functions: every pointer they pass is null or good for what NVIDIA's documentation of
//! that function reads and writes through it, for the duration of the call. This file turns such pointers into
//! [`Out`], [`In`], [`Array`] and [`Text`], which live no longer than the call, so that most of the driver is safe code.
#![allow(unsafe_code)]

use cuda_driver_sys::CUresult;
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// Runs the body of a driver function: the one place where C calls arrive.
pub(super) fn call(name: &'static str, rule: Rule, body: impl FnOnce(&Call) -> Outcome) -> CUresult {
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
macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) $([$rule:ident])? = $body:ident;)*) => {
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
                    |call| {
                        // SAFETY: the caller keeps to the documented contract of this function for as long as the call
                        // lasts, and the body does not outlive it.
                        self::$body(call, $(unsafe { $crate::driver::entry::FromC::from_c($argument) }),*)
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
    /// 1. A pointer is null or valid, for the lifetime of the result, for what the function does with it.
    unsafe fn from_c(argument: T) -> Self;
}

impl<T> FromC<T> for T {
    unsafe fn from_c(argument: T) -> T {
        argument
    }
}

/// Where a result goes; may be null.
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
            // SAFETY: not null, so valid for a write during the call.
            unsafe { self.0.write(value) }
        }
    }

    /// What stands there now; `None` for null. For arguments that the caller sets and the function changes.
    pub(super) fn get(&self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: not null, so valid; functions that read such an argument demand that it is set.
        (!self.0.is_null()).then(|| unsafe { self.0.read() })
    }

    /// Where the element at `index` of an array stands.
    ///
    /// # Safety
    ///
    /// 1. By the function's contract the array has that element.
    pub(super) unsafe fn element(&self, index: usize) -> Out<'call, T> {
        // SAFETY: inside the array: the caller's duty 1.
        Out(unsafe { self.0.add(index) }, PhantomData)
    }

    /// Writes the first `values.len()` elements of an array.
    ///
    /// # Safety
    ///
    /// 1. By the function's contract the array has at least that many elements.
    pub(super) unsafe fn write_array(&self, values: &[T])
    where
        T: Copy,
    {
        // SAFETY: the array has that many elements, the caller's duty 1; the program's array is none of this driver's values.
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
    /// 1. By the function's contract the array has that element.
    pub(super) unsafe fn element(&self, index: usize) -> In<'call, T> {
        // SAFETY: inside the array: the caller's duty 1.
        In(unsafe { self.0.add(index) }, PhantomData)
    }

    /// The value; `CUDA_ERROR_INVALID_VALUE` where the pointer is null.
    pub(super) fn read(&self) -> Outcome<T> {
        // SAFETY: not null, so valid for reads during the call.
        if self.0.is_null() { Err(INVALID_VALUE) } else { Ok(unsafe { self.0.read() }) }
    }

    /// `count` values; `CUDA_ERROR_INVALID_VALUE` for null, unless none is asked for.
    ///
    /// # Safety
    ///
    /// 1. By the function's contract there are that many.
    pub(super) unsafe fn read_array(&self, count: usize) -> Outcome<Vec<T>> {
        match (believable(count)?, self.0.is_null()) {
            (0, _) => Ok(Vec::new()),
            (_, true) => Err(INVALID_VALUE),
            // SAFETY: not null, and below `count`, which is how many there are: the caller's duty 1.
            (_, false) => Ok((0..count).map(|index| unsafe { self.0.add(index).read() }).collect()),
        }
    }
}

/// A C string; may be null.
pub(super) struct Text<'call>(Option<&'call CStr>);

impl FromC<*const c_char> for Text<'_> {
    unsafe fn from_c(argument: *const c_char) -> Self {
        // SAFETY: not null, so a string with its NUL, during the call.
        Text((!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }))
    }
}

impl<'call> Text<'call> {
    /// The text; `CUDA_ERROR_INVALID_VALUE` for null and for text that is not UTF-8 (no name in PTX is).
    pub(super) fn required(self) -> Outcome<&'call str> {
        self.0.and_then(|text| text.to_str().ok()).ok_or(INVALID_VALUE)
    }

    /// The text, which must not be empty either.
    pub(super) fn name(self) -> Outcome<&'call str> {
        self.required().and_then(|text| if text.is_empty() { Err(INVALID_VALUE) } else { Ok(text) })
    }
}

/// A buffer of characters and its size.
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
    /// 1. By the function's contract the buffer has `size` bytes.
    pub(super) unsafe fn write(&self, text: &[u8], size: usize) {
        let Some(room) = size.checked_sub(1).filter(|_| !self.0.is_null()) else { return };
        let part = text.get(..room).unwrap_or(text);
        // SAFETY: not null, and `part` has at most `size - 1` bytes: with the NUL it fits, by the caller's duty 1.
        unsafe {
            self.0.cast::<u8>().copy_from_nonoverlapping(part.as_ptr(), part.len());
            self.0.cast::<u8>().add(part.len()).write(0);
        }
    }
}

/// Where a value goes whose type another argument names; may be null.
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
    /// 1. By the function's contract a value of this type goes there.
    pub(super) unsafe fn write<T>(&self, value: T) {
        // SAFETY: a `T` goes there: the caller's duty 1.
        unsafe { self.0.cast::<T>().write(value) }
    }

    /// Writes the value at `index` of an array; not for null.
    ///
    /// # Safety
    ///
    /// 1. By the function's contract an array of such values goes there that has this one.
    pub(super) unsafe fn write_at<T>(&self, index: usize, value: T) {
        // SAFETY: the element at `index` is such a value: the caller's duty 1.
        unsafe { self.0.cast::<T>().add(index).write(value) }
    }

    /// Reads the value; not for null.
    ///
    /// # Safety
    ///
    /// 1. By the function's contract a value of this type stands there.
    pub(super) unsafe fn read<T: Copy>(&self) -> T {
        // SAFETY: a `T` stands there: the caller's duty 1.
        unsafe { self.0.cast::<T>().read() }
    }
}
