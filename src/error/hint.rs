//! Suggested next steps that depend on the result code alone. Launches compute theirs from the launch
//! (`launch::check`).

use cuda_driver_sys::{CUresult, FUNCTIONS};

pub(super) const RESTART: &str =
    "a kernel faulted earlier; CUDA is unusable in this process from now on: restart it";
/// For the error that has said that a kernel faulted.
pub(super) const UNUSABLE: &str = "CUDA is unusable in this process from now on: restart it";
/// For drivers that do not tell what it was.
pub(super) const LOOK: &str =
    "Run under `CUDA_LAUNCH_DRIVER=emulator` or compute-sanitizer to see which access it was";

/// What to do about `code`, where the code says enough.
pub(crate) fn device_hint(code: CUresult) -> Option<String> {
    if code.is_sticky() {
        return Some(RESTART.into());
    }
    let text = match code {
        CUresult::CUDA_ERROR_NO_DEVICE => return Some(no_device()),
        CUresult::CUDA_ERROR_NOT_INITIALIZED => {
            "cuInit was not called on this driver, or the process was forked after it: CUDA does not survive a fork, \
             start a new process instead"
        }
        CUresult::CUDA_ERROR_STUB_LIBRARY => {
            "this libcuda is the toolkit's link stub, not a driver: install the driver, or take the stubs folder out \
             of LD_LIBRARY_PATH"
        }
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "libcuda and the kernel module are of different versions: reboot after a driver update, or remove the \
             other libcuda from the library path"
        }
        CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "a CUDA compatibility package is in the library path, and this GPU does not support it: remove it"
        }
        CUresult::CUDA_ERROR_NOT_SUPPORTED => "this driver or device does not support the call",
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "free device memory, or request less",
        CUresult::CUDA_ERROR_INVALID_CONTEXT => {
            "the context was destroyed, or none is current on this thread: `CudaContext::bind` makes one current"
        }
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
            "the image holds no code for this device: build for its architecture, or ship PTX with it"
        }
        CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND => {
            "the driver's PTX compiler library is missing: install the full driver package, or ship a cubin"
        }
        CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED => "unset CUDA_DISABLE_PTX_JIT, or ship a cubin",
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED => {
            "a stream is being captured, and this call cannot be recorded: waiting, querying, allocating and freeing \
             belong before or after the capture"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED => {
            "an earlier call broke the capture: look for the first error inside it"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE => "two captures cannot be merged: end one of them first",
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED => {
            "the capture began on another stream: end it on the stream it began on"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED => {
            "a stream that was forked into the capture was not joined: `stream.join(&fork)` before the end"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION => {
            "a captured stream cannot wait for work outside its capture: wait for it before the capture begins"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT => {
            "work on the legacy default stream would have to wait for a stream that is being captured: give the work a \
             stream of its own, or capture a stream with NON_BLOCKING"
        }
        CUresult::CUDA_ERROR_CAPTURED_EVENT => {
            "the event was last recorded in a capture, so it marks no work that runs: record it on a stream outside"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD => {
            "the capture began on another thread: end it there, or begin it with `CaptureMode::Relaxed`"
        }
        CUresult::CUDA_ERROR_NOT_PERMITTED => "driver calls are not allowed inside a host callback",
        _ => return None,
    };
    Some(text.into())
}

/// What to do about `code` of `call`, of a driver of this version, where that is known.
pub(crate) fn call_hint(code: CUresult, call: &str, driver: Option<u32>) -> Option<String> {
    match code {
        CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER => Some(newer_driver(call, driver)),
        _ => device_hint(code),
    }
}

fn newer_driver(call: &str, driver: Option<u32>) -> String {
    let is_abi = |name: &str| match name.strip_prefix(call) {
        Some("") => true,
        Some(number) => {
            number.strip_prefix("_v").is_some_and(|n| n.bytes().all(|digit| digit.is_ascii_digit()))
        }
        None => false,
    };
    // The oldest of its ABIs that the driver does not have.
    let abis = FUNCTIONS.iter().filter(|function| is_abi(function.name()));
    let missing = abis.map(|function| function.since).filter(|since| *since > driver.unwrap_or(0)).min();
    let release = |version: u32| format!("{}.{}", version / 1000, version % 1000 / 10);
    match (missing.map(release), driver.map(release)) {
        (Some(since), Some(driver)) => {
            format!("this needs a driver for CUDA {since}, and this one is for {driver}: update the driver")
        }
        (Some(since), None) => format!("this needs a driver for CUDA {since} or newer: update the driver"),
        (None, _) => "this driver does not have the function: update the driver".into(),
    }
}

fn no_device() -> String {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => format!(
            "CUDA_VISIBLE_DEVICES is {list:?}: it hides every device; unset it or name one that exists"
        ),
        Err(_) => "the driver sees no GPU: is one installed, and passed into this container?".into(),
    }
}
