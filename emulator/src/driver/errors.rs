//! `cuGetErrorName` and `cuGetErrorString`.

use cuda_driver_sys::CUresult;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, OnceLock};

use super::entry::{INVALID_VALUE, Out, Outcome, entries};
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
    let phrase = |name: &str| phrase(error).map_or_else(|| in_words(name), str::to_owned);
    answer(error.name().map(phrase).as_deref(), text)
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

/// A sentence for the codes that the emulator answers with; for others the name in words.
fn describe(error: CUresult, name: &str) -> String {
    let text = match error {
        CUresult::CUDA_SUCCESS => "no error",
        CUresult::CUDA_ERROR_INVALID_VALUE => "an argument is null, out of range or not one that is known",
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "the device or the host has not enough memory left",
        CUresult::CUDA_ERROR_NOT_INITIALIZED => "cuInit has not been called in this process",
        CUresult::CUDA_ERROR_NO_DEVICE => "there is no device",
        CUresult::CUDA_ERROR_INVALID_DEVICE => "no device has this number",
        CUresult::CUDA_ERROR_INVALID_IMAGE => "this is neither PTX nor a cubin nor a fatbin",
        CUresult::CUDA_ERROR_INVALID_CONTEXT => "no context is current on this thread, or it is none",
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => "the image has no code for this device",
        CUresult::CUDA_ERROR_INVALID_PTX => "the PTX does not assemble; the JIT log says why",
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
            "the PTX is of a newer version than this driver knows"
        }
        CUresult::CUDA_ERROR_FILE_NOT_FOUND => "the file is not there",
        CUresult::CUDA_ERROR_INVALID_HANDLE => {
            "the handle is not good here: destroyed, of another context or invented"
        }
        CUresult::CUDA_ERROR_NOT_FOUND => "nothing has this name",
        CUresult::CUDA_ERROR_NOT_READY => "the work is not done yet",
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => "a kernel accessed memory that it may not access",
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            "the launch needs more registers or parameters than there are"
        }
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => {
            "the kernel cannot end, as its threads wait for each other, or took longer than it may"
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
            "this may not be done here, for example in a callback of a stream"
        }
        CUresult::CUDA_ERROR_NOT_SUPPORTED => "this device or driver does not do this",
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

/// What a driver says to a code, which programs compare with: of the codes that the emulator answers with.
fn phrase(error: CUresult) -> Option<&'static str> {
    let at = PHRASES.binary_search_by_key(&error.0, |(code, _)| *code).ok();
    at.and_then(|at| PHRASES.get(at)).map(|(_, phrase)| *phrase)
}

const PHRASES: &[(u32, &str)] = &[
    (0, "no error"),
    (1, "invalid argument"),
    (2, "out of memory"),
    (3, "initialization error"),
    (4, "driver shutting down"),
    (36, "API call is not supported in the installed CUDA driver"),
    (100, "no CUDA-capable device is detected"),
    (101, "invalid device ordinal"),
    (200, "device kernel image is invalid"),
    (201, "invalid device context"),
    (209, "no kernel image is available for execution on the device"),
    (215, "limit is not supported on this architecture"),
    (217, "peer access is not supported between these two devices"),
    (218, "a PTX JIT compilation failed"),
    (222, "the provided PTX was compiled with an unsupported toolchain."),
    (300, "device kernel image is invalid"),
    (301, "file not found"),
    (304, "OS call failed or operation not supported on this OS"),
    (400, "invalid resource handle"),
    (401, "the operation cannot be performed in the present state"),
    (402, "attempted introspection would be semantically lossy"),
    (500, "named symbol not found"),
    (600, "device not ready"),
    (700, "an illegal memory access was encountered"),
    (701, "too many resources requested for launch"),
    (702, "the launch timed out and was terminated"),
    (704, "peer access is already enabled"),
    (705, "peer access has not been enabled"),
    (709, "context is destroyed"),
    (710, "device-side assert triggered"),
    (712, "part or all of the requested memory range is already mapped"),
    (713, "pointer does not correspond to a registered memory region"),
    (715, "an illegal instruction was encountered"),
    (716, "misaligned address"),
    (718, "invalid program counter"),
    (719, "unspecified launch failure"),
    (720, "too many blocks in cooperative launch"),
    (800, "operation not permitted"),
    (801, "operation not supported"),
    (900, "operation not permitted when stream is capturing"),
    (901, "operation failed due to a previous error during capture"),
    (902, "operation would result in a merge of separate capture sequences"),
    (903, "capture was not ended in the same stream as it began"),
    (904, "capturing stream has unjoined work"),
    (905, "dependency created on uncaptured work in another stream"),
    (906, "operation would make the legacy stream depend on a capturing blocking stream"),
    (907, "operation not permitted on an event last recorded in a capturing stream"),
    (908, "attempt to terminate a thread-local capture sequence from another thread"),
    (912, "a kernel launch error has occurred due to cluster misconfiguration"),
    (999, "unknown error"),
];

#[cfg(test)]
mod tests {
    #[test]
    fn phrases_are_found_by_their_codes() {
        assert!(super::PHRASES.is_sorted_by(|a, b| a.0 < b.0));
    }
}
