//! `cuGetErrorName` and `cuGetErrorString`.

use cuda_driver_sys::CUresult;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, OnceLock};

use super::entry::{INVALID_VALUE, Out, Outcome, entries};
use super::error_texts;
use super::state::{Call, lock};

entries! {
    cuGetErrorName(error: CUresult, text: *mut *const c_char) [always] = name;
    cuGetErrorString(error: CUresult, text: *mut *const c_char) [always] = description;
}

/// Texts handed out to C: one each, for the life of the process.
fn kept(text: &str) -> Option<&'static CStr> {
    static TEXTS: OnceLock<Mutex<HashMap<String, &'static CStr>>> = OnceLock::new();
    let mut texts = lock(TEXTS.get_or_init(Mutex::default));
    if let Some(known) = texts.get(text) {
        return Some(known);
    }
    let made: &'static CStr = Box::leak(CString::new(text).ok()?.into_boxed_c_str());
    texts.insert(text.to_owned(), made);
    Some(made)
}

fn name(_: &Call, error: CUresult, text: Out<*const c_char>) -> Outcome {
    answer(error.name(), text)
}

fn description(_: &Call, error: CUresult, text: Out<*const c_char>) -> Outcome {
    // What a driver says, which programs compare with.
    let meaning = |name: &str| {
        error_texts::find(error.0).map_or_else(|| in_words(name), |(_, meaning)| meaning.to_owned())
    };
    answer(error.name().map(meaning).as_deref(), text)
}

fn answer(found: Option<&str>, text: Out<*const c_char>) -> Outcome {
    let place = text.required()?;
    match found.and_then(kept) {
        Some(found) => place.set(found.as_ptr()),
        None => {
            place.set(std::ptr::null());
            return Err(INVALID_VALUE);
        }
    }
    Ok(())
}

/// What a code means, in words.
pub(super) fn sentence(code: CUresult) -> String {
    code.name().map(|name| describe(code, name)).unwrap_or_default()
}

/// A sentence for the codes that the emulator returns; for others the name in words.
fn describe(error: CUresult, name: &str) -> String {
    let text = match error {
        CUresult::CUDA_SUCCESS => "no error",
        CUresult::CUDA_ERROR_INVALID_VALUE => "an argument is null, out of range or unknown",
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "the device or the host is out of memory",
        CUresult::CUDA_ERROR_NOT_INITIALIZED => "cuInit has not been called in this process",
        CUresult::CUDA_ERROR_NO_DEVICE => "there is no device",
        CUresult::CUDA_ERROR_INVALID_DEVICE => "no device has this number",
        CUresult::CUDA_ERROR_INVALID_IMAGE => "this is neither PTX nor a cubin nor a fatbin",
        CUresult::CUDA_ERROR_INVALID_CONTEXT => {
            "no context is current on this thread, or the handle is not a context"
        }
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => "the image has no code for this device",
        CUresult::CUDA_ERROR_INVALID_PTX => "the PTX does not assemble; the JIT log says why",
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
            "the PTX has a newer version than this driver supports"
        }
        CUresult::CUDA_ERROR_FILE_NOT_FOUND => "the file does not exist",
        CUresult::CUDA_ERROR_INVALID_HANDLE => {
            "the handle is not valid: it was destroyed, belongs to another context, or never existed"
        }
        CUresult::CUDA_ERROR_NOT_FOUND => "nothing has this name",
        CUresult::CUDA_ERROR_NOT_READY => "the work is not done yet",
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => "a kernel accessed memory that it has no access to",
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            "the launch needs more registers or parameters than there are"
        }
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => {
            "the kernel cannot end, as its threads wait for each other, or it exceeded the time limit"
        }
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED => "the context or event was destroyed",
        CUresult::CUDA_ERROR_ASSERT => "an assertion in a kernel failed",
        CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => {
            "a kernel accessed an address that is not aligned to the access"
        }
        CUresult::CUDA_ERROR_LAUNCH_FAILED => "a kernel stopped by a trap",
        CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => {
            "the blocks of a cooperative launch do not all fit at once"
        }
        CUresult::CUDA_ERROR_NOT_PERMITTED => {
            "this is not permitted here, for example in a callback of a stream"
        }
        CUresult::CUDA_ERROR_NOT_SUPPORTED => "this device or driver does not support this",
        CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE => {
            "the cluster does not fit the grid, the kernel or the device"
        }
        CUresult::CUDA_ERROR_UNKNOWN => "an internal error of the driver",
        _ => return in_words(name),
    };
    text.to_owned()
}

/// The name without its beginning.
fn in_words(name: &str) -> String {
    name.trim_start_matches("CUDA_ERROR_").to_lowercase().replace('_', " ")
}
