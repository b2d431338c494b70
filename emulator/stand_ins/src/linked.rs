//! Several pieces of PTX made one, by the emulator's linker.
#![allow(unsafe_code)] // Calls of the driver that the program has.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `CU_JIT_INPUT_PTX`
const PTX: c_int = 1;

type Create = unsafe extern "C" fn(c_uint, *mut c_int, *mut *mut c_void, *mut *mut c_void) -> c_uint;
type Add = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    *const c_void,
    usize,
    *const c_char,
    c_uint,
    *mut c_int,
    *mut *mut c_void,
) -> c_uint;
type Complete = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut usize) -> c_uint;
type Destroy = unsafe extern "C" fn(*mut c_void) -> c_uint;

/// A function of the driver, whose address is `None` where there is none.
macro_rules! function {
    ($driver:expr, $name:literal as $type:ty) => {{
        // SAFETY: an open handle and a name with its NUL.
        let address = unsafe { libc::dlsym($driver, $name.as_ptr()) };
        // SAFETY: null is `None`; anything else is the driver's function of this name, which has this type.
        unsafe { std::mem::transmute::<*mut c_void, Option<$type>>(address) }
    }};
}

/// What the driver makes of these pieces, each with its NUL; `None` where it refuses, as without a context.
pub(crate) fn linked(pieces: &[Vec<u8>]) -> Option<Vec<u8>> {
    // SAFETY: the driver that the program has opened, or is about to.
    let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY) };
    if driver.is_null() {
        return None;
    }
    let create = function!(driver, c"cuLinkCreate_v2" as Create)?;
    let add = function!(driver, c"cuLinkAddData_v2" as Add)?;
    let complete = function!(driver, c"cuLinkComplete" as Complete)?;
    let destroy = function!(driver, c"cuLinkDestroy" as Destroy)?;
    let name: &CStr = c"input";
    let mut link = null_mut();
    // SAFETY: no options, and a place for the handle.
    if unsafe { create(0, null_mut(), null_mut(), &mut link) } != 0 {
        return None;
    }
    let is_added = pieces.iter().all(|piece| {
        let data = piece.as_ptr().cast();
        // SAFETY: the handle from above, as many bytes as the piece has, no options.
        unsafe { add(link, PTX, data, piece.len(), name.as_ptr(), 0, null_mut(), null_mut()) == 0 }
    });
    let (mut image, mut bytes) = (null_mut(), 0);
    // SAFETY: the handle from above, and places for the answer.
    let is_whole = is_added && unsafe { complete(link, &mut image, &mut bytes) } == 0 && !image.is_null();
    // SAFETY: the driver's image of as many bytes, which lives as long as the handle.
    let copy = is_whole.then(|| unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec());
    // SAFETY: the handle from above, not used after this.
    unsafe { destroy(link) };
    let mut copy = copy?;
    copy.push(0);
    Some(copy)
}
