//! Several pieces of PTX made one, by the emulator's linker.
#![allow(unsafe_code)] // Calls of the driver that the program has.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `CU_JIT_INPUT_PTX`
const PTX: c_int = 1;
/// `CU_JIT_INPUT_LIBRARY`
const LIBRARY: c_int = 4;

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
        // SAFETY: the handle is open, as nothing closes it, and not null, as is compared below its opening; the name is
        // a C string, by its type.
        let address = unsafe { libc::dlsym($driver, $name.as_ptr()) };
        // SAFETY: both are as wide as an address. Null is `None`; anything else is the driver's function of this name,
        // which has this type in `cuda.h`, in a library that is never closed.
        unsafe { std::mem::transmute::<*mut c_void, Option<$type>>(address) }
    }};
}

/// `CU_JIT_ERROR_LOG_BUFFER`, an address, and its size in bytes
const ERROR_LOG: [c_int; 2] = [5, 6];

/// What the driver makes of these pieces, each with its NUL, and of a library; where it refuses, what it says of that, as text
/// with its NUL.
pub(crate) fn linked(pieces: &[Vec<u8>], library: Option<&[u8]>) -> Result<Vec<u8>, Vec<u8>> {
    let mut log = vec![0; 8192];
    linked_with(pieces, library, &mut log).ok_or_else(|| {
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(0);
        if end == 0 {
            return b"error   : the emulator does not link without a current context\0".to_vec();
        }
        log.truncate(end + 1);
        log
    })
}

fn linked_with(pieces: &[Vec<u8>], library: Option<&[u8]>, log: &mut [u8]) -> Option<Vec<u8>> {
    // SAFETY: the name ends with a NUL. Initialisers run that the program has chosen: the driver that it has opened, or
    // is about to.
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
    let (mut options, room) = (ERROR_LOG, log.len());
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(room)];
    // SAFETY: two options with a value for each, the second as wide as a pointer, in lists that outlive the call; the log has as many bytes as
    // is said, which nobody else uses until the link is destroyed below; and a place for the handle, which outlives the
    // call. Without a context the driver answers an error.
    if unsafe { create(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut link) } != 0 {
        return None;
    }
    let texts = pieces.iter().map(|piece| (PTX, piece.as_slice()));
    let is_added = texts.chain(library.map(|library| (LIBRARY, library))).all(|(kind, piece)| {
        let data = piece.as_ptr().cast();
        // SAFETY: the handle that `create` has just given; as many bytes as the piece has, of PTX with its NUL, and a name
        // with its own, all of which outlive the call; no options, so that their lists may be null.
        unsafe { add(link, kind, data, piece.len(), name.as_ptr(), 0, null_mut(), null_mut()) == 0 }
    });
    let (mut image, mut bytes) = (null_mut(), 0);
    // SAFETY: the handle that `create` gave, not yet destroyed, and places for the answer, which outlive the call.
    let is_whole = is_added && unsafe { complete(link, &mut image, &mut bytes) } == 0 && !image.is_null();
    // SAFETY: not null, as was checked, so the driver's image of as many bytes, written by `complete`; it lives as
    // long as the handle, and is copied before that is destroyed. Bytes need no alignment.
    let copy = is_whole.then(|| unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec());
    // SAFETY: the handle that `create` gave, destroyed once and not used after this; the image in it has been copied.
    unsafe { destroy(link) };
    let mut copy = copy?;
    copy.push(0);
    Some(copy)
}
