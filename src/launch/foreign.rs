//! Work that other code submits to a stream of this crate, ordered like a launch.

#![allow(unsafe_code)] // Declares a duty; calls nothing unsafe itself.

use cuda_driver_sys::CUstream;

use super::args::{ArgumentList, Memory};
use crate::driver::{CudaStream, SubmittingElsewhere, host_call};
use crate::error::Error;
use crate::ordering::Submission;

/// The name of this function in errors.
const CALL: &str = "foundation::submit_with";

/// Lets other code submit work to `stream` that uses this memory: an NCCL collective, a cuBLAS product, or a driver call of your own.
///
/// The work is ordered as a launch with these arguments would be: it comes after all work on other streams that wrote the memory, or
/// that used what it writes, and later work on other streams comes after it. `ptr(x)` in `arguments` is memory that it reads,
/// `ptr_mut(x)` memory that it writes; `submit` receives the raw stream, whose context is current. Returns what `submit` returns.
///
/// Driver calls: `cuCtxGetCurrent`, and `cuCtxSetCurrent` if another context is current. Where another stream used a buffer last:
/// `cuEventRecord` there, `cuStreamWaitEvent` here.
///
/// ```
/// use cuda_launch::foundation::submit_with;
/// use cuda_launch::{CudaContext, DeviceBuffer, DeviceSlice, Error, kernel_args};
/// let ctx = CudaContext::new(0)?;
/// let (compute, other) = (ctx.new_stream()?, ctx.new_stream()?);
/// let x = DeviceBuffer::from_host(&compute, &[1u32, 2, 3])?;
/// let mut y = DeviceBuffer::<u32>::uninit(&compute, 3)?;
/// let (from, to) = (*x.parts().address(), *y.parts().address());
/// // SAFETY: 1: the copy is given to `stream` before `submit` returns; 2: it reads the twelve bytes of `x` and writes those
/// // of `y`; 3: of which any bits are numbers; 4: it ends. Of the call: the stream's context is current, and both buffers
/// // live on.
/// unsafe {
///     submit_with(&other, kernel_args![ptr(x), ptr_mut(y)], |stream| {
///         assert_eq!(ctx.driver().cuMemcpyDtoDAsync(to, from, 12, stream).0, 0);
///         Ok::<(), Error>(())
///     })
/// }?;
/// assert_eq!(y.to_host_vec(&compute)?, [1, 2, 3]); // after the copy on the other stream
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// Graph launches on other threads that use memory of `arguments` wait until `submit` returns; on this thread, inside `submit`, they return
/// an error. On `stream` itself, another thread's graph launch may come between two pieces of work that `submit` submits.
///
/// # Errors
/// Before `submit` is called: [`Error::is_context_mismatch`] for memory of another context, an error if the stream is being captured
/// or if this is called in a host function, and any error returned by the driver. After that, the error that `submit` returns.
///
/// # Safety
/// 1. Submission: when `submit` returns, all device work that it starts with the memory has been submitted to the stream, or to streams
///    that this one waits for.
/// 2. Bounds: the work stays inside the memory that `arguments` list, and writes only what they list as written.
/// 3. Validity: it leaves valid values of the element types there.
/// 4. Termination: it terminates.
pub unsafe fn submit_with<L: ArgumentList, R, E: From<Error>>(
    stream: &CudaStream,
    arguments: L,
    submit: impl FnOnce(CUstream) -> Result<R, E>,
) -> Result<R, E> {
    host_call::refuse(CALL)?;
    stream.refuse_in_capture(CALL)?;
    let memory = arguments.memory();
    if let Some(foreign) = memory.foreign_context(stream.context()) {
        stream.same_context(foreign, "a buffer among the arguments")?;
    }
    // Stays announced until `submit` has returned, so that work which other threads submit in the meantime is ordered
    // after it.
    let mut work = Submission::on(stream);
    memory.note(&mut work)?;
    stream.context().bind()?;
    let elsewhere = SubmittingElsewhere::begin(stream);
    let result = submit(stream.raw());
    // Dropped here and not at the end of the function: if a drop unwinds after the return value was computed, Rust leaks that value.
    // The work may hold the last handle of a stream that it waited for.
    drop((elsewhere, work));
    result
}
