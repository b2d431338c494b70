//! Arrays of `f32` for Python, through ctypes: created here or taken from a DLPack capsule, passed to a kernel, read, and put into a
//! capsule again. `dlpack.py` beside this file is the Python half.
//!
//! Everything runs on the legacy default stream, which DLPack calls stream 1: `dlpack.py` asks other libraries to order
//! their work before it, and an array that is exported is waited for.

#![allow(unsafe_code)] // C functions for `dlpack.py`, which keeps to the duties of each.

use cuda_launch::interop::DlTensor;
use cuda_launch::{CudaContext, CudaFunction, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::error::Error as StdError;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

type Answer<T> = Result<T, Box<dyn StdError>>;

struct Device {
    stream: CudaStream,
    saxpy: CudaFunction,
}

fn device() -> Answer<&'static Device> {
    static DEVICE: LazyLock<Result<Device, Error>> = LazyLock::new(|| {
        let ctx = CudaContext::new(0)?;
        let saxpy = ctx.load_module(include_str!("../kernels/saxpy.ptx"))?.load_function("saxpy")?;
        Ok(Device { stream: ctx.default_stream(), saxpy })
    });
    DEVICE.as_ref().map_err(|error| error.to_string().into())
}

/// An array as Python has it: a pointer to this.
pub struct Array(DeviceBuffer<f32>);

/// Memory made here and given back so far. Each is given back once, whoever has it last.
static MADE: AtomicUsize = AtomicUsize::new(0);
static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

/// Keeps memory that was made here, and counts when it goes.
struct Counted {
    _memory: DeviceBuffer<f32>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        GIVEN_BACK.fetch_add(1, Ordering::SeqCst);
    }
}

/// An array of `0.0, 1.0, ..`; null for an error.
#[unsafe(no_mangle)]
pub extern "C" fn array_range(len: usize) -> *mut Array {
    boxed(|| {
        let stream = &device()?.stream;
        let data: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let memory = DeviceBuffer::from_host(stream, &data)?;
        let (context, address) = (stream.context(), memory.cu_deviceptr());
        MADE.fetch_add(1, Ordering::SeqCst);
        // SAFETY: 1: the `len` elements of `memory`, which are of this context; 2, 3: `memory` goes with its owner `Counted`,
        // which nobody else has.
        Ok(Array(unsafe { DeviceBuffer::from_foreign(context, address, len, Counted { _memory: memory }) }))
    })
}

/// Elements of the array.
///
/// # Safety
/// 1. `array` is live, and no other thread changes it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn array_len(array: *const Array) -> usize {
    // SAFETY: it is live, and nothing changes it meanwhile: the caller's duty 1.
    unsafe { &*array }.0.len()
}

/// `y += factor * x`, by a kernel; -1 for an error.
///
/// # Safety
/// 1. Both are live and not the same, and no other thread uses `y`, or changes `x`, meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn array_axpy(y: *mut Array, factor: f32, x: *const Array) -> c_int {
    // SAFETY: both are live, two arrays, and used by nobody else as they are borrowed here: the caller's duty 1.
    let (y, x) = unsafe { (&mut (*y).0, &(*x).0) };
    status(|| {
        let Device { stream, saxpy } = device()?;
        let n = u32::try_from(y.len().min(x.len()))?;
        // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers to that many floats; 3, 4, 6: the buffers remember
        // the stream, and the kernel ends; 5: it writes floats.
        unsafe {
            cuda_launch! {
                function: saxpy, stream: stream, config: LaunchConfig::for_num_elems(n),
                args: [n, factor, ptr(x), ptr_mut(y)]
            }
        }?;
        Ok(())
    })
}

/// Copies all elements to `out`; -1 for an error.
///
/// # Safety
/// 1. `array` is live, and no other thread changes it meanwhile; `out` has room for its elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn array_read(array: *const Array, out: *mut f32) -> c_int {
    // SAFETY: it is live, and nothing changes it meanwhile: the caller's duty 1.
    let array = unsafe { &(*array).0 };
    status(|| {
        let host = array.to_host_vec(&device()?.stream)?;
        // SAFETY: `out` has room for so many floats, by the caller's duty 1; `host` is a list of its own.
        unsafe { out.copy_from_nonoverlapping(host.as_ptr(), host.len()) };
        Ok(())
    })
}

/// Gives an array back.
///
/// # Safety
/// 1. `array` is live, and not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn array_free(array: *mut Array) {
    // SAFETY: by the caller's duty 1 it is live, and so a box that `boxed`, which alone makes them, gave away, and
    // nobody uses it again.
    drop(unsafe { Box::from_raw(array) });
}

/// Turns an array into a `DLManagedTensorVersioned`, or a `DLManagedTensor` for who knows no other; null for an error. The
/// array is gone in any case. Whoever gets the tensor may use it on any stream at once.
///
/// # Safety
/// 1. `array` is live, and not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn array_into_dlpack(array: *mut Array, versioned: bool) -> *mut c_void {
    // SAFETY: by the caller's duty 1 it is live, and so a box that `boxed`, which alone makes them, gave away, and
    // nobody uses it again.
    let array = unsafe { Box::from_raw(array) };
    pointer(|| {
        let stream = &device()?.stream;
        let shape = [array.0.len()];
        let tensor = array.0.into_dlpack(stream, &shape)?;
        stream.synchronize()?;
        Ok(match versioned {
            true => tensor.into_raw().as_ptr().cast(),
            false => tensor.into_raw_legacy().as_ptr().cast(),
        })
    })
}

/// Takes a tensor over, which becomes an array; null for an error, and then the tensor has been given back.
///
/// # Safety
/// 1. It is a live tensor of that form, and this is its only owner. Its deleter may be called on any thread.
/// 2. Its memory is as it says, may be written if the form is the older one, and stays valid until it is
///    released. Meanwhile nothing else writes it, nor reads it unless the tensor says that it is read-only.
/// 3. Work that wrote it is ordered before the legacy default stream.
/// 4. Its device's number is that of the default driver, whose primary context reaches it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn array_from_dlpack(tensor: *mut c_void, versioned: bool) -> *mut Array {
    boxed(|| {
        // SAFETY: 1 to 4: the caller's duties 1 to 4.
        let tensor = unsafe { owned(tensor, versioned) }?;
        Ok(Array(tensor.into_buffer(device()?.stream.context())?))
    })
}

/// Gives a tensor back that nobody took out of its capsule.
///
/// # Safety
/// 1 to 4: as [`array_from_dlpack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlpack_delete(tensor: *mut c_void, versioned: bool) {
    // SAFETY: 1 to 4: the caller's duties 1 to 4.
    drop(unsafe { owned(tensor, versioned) });
}

/// # Safety
/// 1 to 4: as [`array_from_dlpack`].
unsafe fn owned(tensor: *mut c_void, versioned: bool) -> Answer<DlTensor> {
    let tensor = NonNull::new(tensor).ok_or("a tensor that is null")?;
    // SAFETY: 1, 2, 4: the caller's; 3: the caller's, as all work here is on the legacy default stream (`device`).
    let new = |tensor: NonNull<c_void>| unsafe { DlTensor::from_raw(tensor.cast()) };
    // SAFETY: 1 to 4: as above, for the older form, whose memory may be written by the caller's duty 2.
    let old = |tensor: NonNull<c_void>| unsafe { DlTensor::from_raw_legacy(tensor.cast()) };
    Ok(if versioned { new(tensor) } else { old(tensor) })
}

/// Arrays that were made here.
#[unsafe(no_mangle)]
pub extern "C" fn arrays_made() -> usize {
    MADE.load(Ordering::SeqCst)
}

/// Those whose memory has been given back.
#[unsafe(no_mangle)]
pub extern "C" fn arrays_given_back() -> usize {
    GIVEN_BACK.load(Ordering::SeqCst)
}

static LAST_ERROR: Mutex<Option<CString>> = Mutex::new(None);

/// What went wrong last, as text that stays until the next error; null if nothing did.
#[unsafe(no_mangle)]
pub extern "C" fn last_error() -> *const c_char {
    let last = LAST_ERROR.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Keeps the error for [`last_error`].
fn told<T>(work: impl FnOnce() -> Answer<T>) -> Option<T> {
    let failed = |error: Box<dyn StdError>| {
        let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
        *LAST_ERROR.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    };
    work().map_err(failed).ok()
}

fn status(work: impl FnOnce() -> Answer<()>) -> c_int {
    told(work).map_or(-1, |()| 0)
}

fn pointer(work: impl FnOnce() -> Answer<*mut c_void>) -> *mut c_void {
    told(work).unwrap_or(null_mut())
}

fn boxed(work: impl FnOnce() -> Answer<Array>) -> *mut Array {
    told(work).map_or(null_mut(), |array| Box::into_raw(Box::new(array)))
}
