//! The one place that calls `cuLaunchKernelEx`.
//!
//! A warm launch, whose argument types and kinds of attributes were checked for the kernel before, takes a few comparisons and the call.
//! Everything else, such as a first launch, an event in an attribute, or an error, goes through [`examined`], which reports anything that
//! is wrong.

#![allow(unsafe_code)] // The call itself; its caller vouches for what cannot be checked.

use cuda_driver_sys::{CUlaunchAttribute, CUlaunchConfig, CUresult};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use super::args::{ArgumentList, Memory, Nil};
use super::attributes::Attribute;
use super::check;
use super::config::LaunchConfig;
use super::launch_arguments::{LaunchArguments, ParameterTypes};
use super::lent::{BorrowedHandle, BorrowedKernel};
use super::packet::Listed;
use super::record::{Report, keep, record};
use super::refused::refused;
use crate::driver::{CudaStream, Kernel, Recording, StreamQueue, host_call};
use crate::error::Error;
use crate::ordering::Submission;
use crate::trace;

/// More than the number of existing attributes, so that each can be given once.
pub(super) const MAX_ATTRIBUTES: usize = 24;

/// The number of attributes that a warm launch can have; a launch with more is examined each time.
const WARM_ATTRIBUTES: usize = 4;

/// A launch without the types of its arguments.
pub(super) struct Request<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) stream: &'a CudaStream,
    /// Dimensions, shared memory and stream, without the attributes, which are in the fields below.
    pub(super) config: &'a CUlaunchConfig,
    /// The attributes set by fields of the macro.
    pub(super) fields: &'a [Attribute<'a>],
    /// The attributes listed.
    pub(super) attributes: &'a [Attribute<'a>],
}

/// Checks a launch and submits it: the function behind [`cuda_launch!`](crate::cuda_launch).
///
/// `fields` are the attributes set by `cluster_dim` and `cooperative`, `attributes` those listed.
///
/// Driver calls: `cuLaunchKernelEx`. If that reports that the context is not current: `cuCtxGetCurrent`, `cuCtxSetCurrent`,
/// and `cuLaunchKernelEx` again. Where another stream used a buffer last: `cuEventRecord` there, `cuStreamWaitEvent` here.
///
/// # Errors
/// As [`cuda_launch!`](crate::cuda_launch); nothing was launched.
///
/// # Safety
/// 1. The duties 1 to 6 of [`cuda_launch!`](crate::cuda_launch).
/// 2. The kernel's module stays loaded during the call.
#[inline(always)]
pub unsafe fn submit<L: ArgumentList>(
    kernel: &Kernel,
    stream: &CudaStream,
    config: LaunchConfig,
    fields: &[Attribute<'_>],
    attributes: &[Attribute<'_>],
    arguments: L,
) -> Result<(), Error> {
    // SAFETY: 1: the caller's duties 1 and 2.
    unsafe { submit_given(kernel, stream, config, fields, attributes, Listed(&arguments)) }
}

/// Like [`submit`], with a kernel's handle, which is what the macros have.
///
/// # Errors
/// As [`submit`].
///
/// # Safety
/// 1. The duties of [`submit`].
#[doc(hidden)]
#[inline(always)]
pub unsafe fn submit_shared<L: ArgumentList>(
    kernel: &Arc<Kernel>,
    stream: &CudaStream,
    config: LaunchConfig,
    fields: &[Attribute<'_>],
    attributes: &[Attribute<'_>],
    arguments: L,
) -> Result<(), Error> {
    // SAFETY: 1: the caller's duty 1.
    unsafe {
        submit_given(BorrowedHandle::new(kernel), stream, config, fields, attributes, Listed(&arguments))
    }
}

/// The same with arguments that the caller has put together.
///
/// # Safety
/// 1. The duties of [`submit`].
#[inline(always)]
pub(super) unsafe fn submit_given<'l, G: LaunchArguments<'l>>(
    kernel: impl BorrowedKernel,
    stream: &CudaStream,
    config: LaunchConfig,
    fields: &[Attribute<'_>],
    attributes: &[Attribute<'_>],
    given: G,
) -> Result<(), Error> {
    // Read once, so that it stays in a register across the call.
    let lent = BorrowedHandle::new(stream);
    let queue = lent.get().queue();
    let mut packet = given.packet();
    let params = G::kernel_params(&mut packet);
    // What is read from here on stays valid until the launch is finished. Nothing unwinds before then, or before a `Submission` owns
    // the announcement.
    let number = queue.announce(kernel.kernel().number);
    // Memory that is ready belongs to the stream's context, and `is_warm` says that the kernel does, too.
    let memory = given.memory();
    let ready = memory.is_ready(|| queue.key());
    let mut warm = Warm { raw: config.raw_without(queue), kernel, memory };
    let mut copies = [const { MaybeUninit::<CUlaunchAttribute>::uninit() }; WARM_ATTRIBUTES];
    let kernel = warm.kernel.kernel();
    if ready
        && !trace::hears_launches()
        && given.is_warm(kernel, queue, &warm.raw)
        && let Some(count) = copy_verified(kernel, &warm.raw, [fields, attributes], &mut copies)
    {
        if count != 0 {
            (warm.raw.attrs, warm.raw.numAttrs) = (copies.as_mut_ptr().cast(), count);
        }
        // SAFETY: `launch` is a function of the driver that the kernel's context keeps loaded; the kernel is loaded (duty 1); the stream
        // lives as long as its handle (`StreamInner`) and belongs to the kernel's context, as `is_warm` checked; `warm` begins with the
        // configuration (`repr(C)`), which is within the limits and points to the first `count` attributes of `copies`, all written; both
        // outlive the call, and so does the packet, which matches the parameters as far as they are known. What the kernel then does is
        // the caller's duty 1.
        let code = unsafe {
            let (launch, raw) = (kernel.launch, kernel.raw);
            launch((&raw const warm).cast(), raw, params, null_mut())
        };
        if code == CUresult::SUCCESS {
            queue.submissions.finish();
            return Ok(());
        }
        // Without the lists, so that they need not be kept in registers across the call.
        if count == 0 {
            // SAFETY: 1: the caller's duty 1; `params` still points to `packet`, whose types these are.
            return unsafe { again(code, lent, &warm, [&[]; 2], given.types(), params) };
        }
        // SAFETY: 1: the caller's duty 1; `params` still points to `packet`, whose types these are.
        return unsafe { again(code, lent, &warm, [fields, attributes], given.types(), params) };
    }
    // SAFETY: 1: the caller's duty 1; `params` still points to `packet`, whose types and memory these are.
    unsafe { slow(lent, &warm, [fields, attributes], given.types(), number, params) }
}

/// What a launch needs if it is not warm, or if the driver refuses the call. It is stored next to the configuration, whose address the
/// driver gets, so that no registers have to be saved for it across the call.
#[repr(C)]
struct Warm<K, M> {
    raw: CUlaunchConfig,
    kernel: K,
    memory: M,
}

/// Copies the attributes of a launch that is warm so far, because the driver may write into them, and returns their number. `None` if
/// one of them must be examined. The driver returns no result in the attributes that need no examination, so nothing is read back from
/// the copies.
///
/// If the attributes are listed at the call site, the compiler knows their ids and removes most of this code.
#[inline(always)]
fn copy_verified(
    kernel: &Kernel,
    config: &CUlaunchConfig,
    lists: [&[Attribute<'_>]; 2],
    copies: &mut [MaybeUninit<CUlaunchAttribute>; WARM_ATTRIBUTES],
) -> Option<u32> {
    let mut count = 0;
    for list in lists {
        for attribute in list {
            let copy = copies.get_mut(count)?;
            if !check::attribute_verified(kernel, config, attribute) {
                return None;
            }
            copy.write(attribute.raw());
            count += 1;
        }
    }
    Some(count as u32)
}

/// The driver refused a warm launch. If the only reason is the context that is current on this thread, it is submitted again.
///
/// # Safety
/// 1. The duties of [`submit`]; `params` is the packet, of these types.
#[cold]
#[inline(never)]
unsafe fn again<'l, T: Into<ParameterTypes<'l>>, M>(
    code: CUresult,
    stream: BorrowedHandle<'_, CudaStream>,
    warm: &Warm<impl BorrowedKernel, M>,
    [fields, attributes]: [&[Attribute<'_>]; 2],
    types: T,
    params: *mut *mut c_void,
) -> Result<(), Error> {
    let (kernel, stream) = (warm.kernel.kernel(), stream.get());
    let request = &Request { kernel, stream, config: &warm.raw, fields, attributes };
    // SAFETY: 1: the caller's duty 1: the duties of `submit`, and the packet with its types, passed on.
    unsafe { once_more(code, request, types.into(), params) }
}

/// The same for all types.
///
/// # Safety
/// 1. The duties of [`submit`]; `params` is the packet, of these types.
#[cold]
#[inline(never)]
unsafe fn once_more(
    code: CUresult,
    request: &Request<'_>,
    types: ParameterTypes<'_>,
    params: *mut *mut c_void,
) -> Result<(), Error> {
    // The number of the latest submission of the stream, which is another one if another thread has submitted since. Keeping the
    // exact number across every call would cost more than an exact list of suspects after a fault is worth.
    let number = request.stream.queue().submissions.announced().wrapping_sub(1);
    let launch = Submission::announced(request.stream, number);
    launch.refused();
    // No context is current, or one of another driver or device, or one that was destroyed. The memory is ready, so its list is not
    // passed again (`Nil`).
    if matches!(
        code,
        CUresult::CUDA_ERROR_INVALID_CONTEXT
            | CUresult::CUDA_ERROR_INVALID_HANDLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
    ) {
        host_call::refuse("cuLaunchKernelEx")?;
        request.kernel.context.bind()?;
        // SAFETY: 1: the caller's duty 1: the duties of `submit`, and the packet with its types, passed on.
        return unsafe { examined(request, types, launch, &Nil, params) };
    }
    Err(refused(code, request))
}

/// The warm path of a per-thread stream, whose key is the thread's; otherwise all the rest. Converts `types` here, so that a warm launch
/// does not have to.
///
/// # Safety
/// 1. The duties of [`submit`]; `params` is the packet, of these types, and the memory of `warm` is what it points to.
#[cold]
#[inline(never)]
unsafe fn slow<'l, T: Into<ParameterTypes<'l>> + Copy, M: Memory>(
    lent: BorrowedHandle<'_, CudaStream>,
    warm: &Warm<impl BorrowedKernel, M>,
    lists: [&[Attribute<'_>]; 2],
    types: T,
    number: usize,
    params: *mut *mut c_void,
) -> Result<(), Error> {
    let (kernel, stream) = (warm.kernel.kernel(), lent.get());
    if stream.is_ready_here(|| warm.memory.words())
        && lists.iter().all(|list| list.is_empty())
        && !trace::hears_launches()
        && check::is_warm_for(types.into(), kernel, stream.queue(), &warm.raw)
    {
        // SAFETY: as for a warm launch in `submit_given`, after the checks above; there are no attributes.
        let code = unsafe { (kernel.launch)((&raw const *warm).cast(), kernel.raw, params, null_mut()) };
        if code == CUresult::SUCCESS {
            stream.queue().submissions.finish();
            return Ok(());
        }
        // SAFETY: 1: the caller's duty 1.
        return unsafe { again(code, lent, warm, [&[]; 2], types, params) };
    }
    // SAFETY: 1: the caller's duty 1.
    unsafe { slower(lent, warm, lists, types, number, params) }
}

/// # Safety
/// 1. The duties of [`slow`].
#[cold]
#[inline(never)]
unsafe fn slower<'l, T: Into<ParameterTypes<'l>>, M: Memory>(
    stream: BorrowedHandle<'_, CudaStream>,
    warm: &Warm<impl BorrowedKernel, M>,
    [fields, attributes]: [&[Attribute<'_>]; 2],
    types: T,
    number: usize,
    params: *mut *mut c_void,
) -> Result<(), Error> {
    let (kernel, stream) = (warm.kernel.kernel(), stream.get());
    let request = &Request { kernel, stream, config: &warm.raw, fields, attributes };
    let launch = Submission::begun(stream, number);
    // SAFETY: 1: the caller's duty 1: the duties of `submit`, and the packet with its types and memory, passed on.
    unsafe { examined(request, types.into(), launch, &warm.memory, params) }
}

/// Every check again, then the launch.
///
/// # Safety
/// 1. The duties of [`submit`]; `params` is the packet, of these types.
#[cold]
#[inline(never)]
unsafe fn examined(
    request: &Request<'_>,
    types: ParameterTypes<'_>,
    mut launch: Submission<'_>,
    memory: &dyn Memory,
    params: *mut *mut c_void,
) -> Result<(), Error> {
    // Removed from the list of suspects until it is submitted: a launch that fails before that cannot have caused a
    // fault.
    launch.refused();
    make_ready(request, types, &mut launch, memory)?;
    request.stream.capture().into_iter().for_each(|capture| keep(capture, request));
    // A copy: the driver may write into attributes.
    let mut list = [const { MaybeUninit::<CUlaunchAttribute>::uninit() }; MAX_ATTRIBUTES];
    let all = request.fields.iter().chain(request.attributes);
    let count = list.iter_mut().zip(all).map(|(slot, attribute)| slot.write(attribute.raw())).count();
    let mut raw = *request.config;
    if count != 0 {
        raw.attrs = list.as_mut_ptr().cast();
        raw.numAttrs = count as u32;
    }
    let kernel = request.kernel;
    if request.stream.capture().is_none() {
        launch.launches(kernel.number);
    }
    let recorded = recordings(request)?;
    let code = trace::launch(kernel, &raw, || {
        let launch = || {
            // SAFETY: `launch` is a function of the driver that the kernel's context keeps loaded. That the kernel is loaded, and what it
            // does with its arguments, is the caller's duty 1. `make_ready` checked packet, dimensions and contexts; the stream lives as
            // long as its handle (`StreamInner`); the first `count` attributes are written, and `list` outlives the call.
            unsafe { (kernel.launch)(&raw, kernel.raw, params, null_mut()) }
        };
        match kernel.context.still_current() {
            CUresult::SUCCESS => kernel.context.twice("cuLaunchKernelEx", launch),
            code => code,
        }
    });
    if code != CUresult::SUCCESS {
        launch.refused();
        return Err(refused(code, request));
    }
    recorded.into_iter().for_each(Recording::done);
    for (attribute, raw) in request.fields.iter().chain(request.attributes).zip(&list) {
        // SAFETY: written above: both loops go through the same attributes in the same order.
        attribute.answered(unsafe { &raw.assume_init_ref().value });
    }
    let Some(capture) = request.stream.capture() else { return Ok(()) };
    let mut report = Report::new(types.iter().count());
    memory.report(&mut report);
    // SAFETY: 1: `params` is the packet of the launch that was just recorded; `make_ready` compared its types with the
    // kernel's parameters as far as those are known; the rest is the caller's duty 1.
    unsafe { record(capture, request, &raw, params, types.sizes(), report) }
}

/// The events that attributes make the launch record.
fn recordings<'a>(request: &Request<'a>) -> Result<Vec<Recording<'a>>, Error> {
    let mut all = Vec::new();
    for event in request.fields.iter().chain(request.attributes).filter_map(Attribute::event) {
        all.push(event.recording(request.stream, "cuLaunchKernelEx")?);
    }
    Ok(all)
}

/// Makes every check, the ones with the most useful errors first; then makes the stream wait for the work that must
/// come before the launch.
pub(super) fn make_ready(
    request: &Request<'_>,
    types: ParameterTypes<'_>,
    launch: &mut Submission<'_>,
    memory: &dyn Memory,
) -> Result<(), Error> {
    host_call::refuse("cuLaunchKernelEx")?;
    check::arguments(request.kernel, types)?;
    check::contexts(request, memory)?;
    check::dimensions(request)?;
    // If the submission has the turn, the capture stays open until it is submitted. If it could not get the turn, a capture that is no
    // longer open is reported first.
    launch.has_turn().or_else(|error| request.stream.capture_is_open("cuLaunchKernelEx").and(Err(error)))?;
    memory.note(launch)?;
    // Only after the waits for streams of other contexts, which make those contexts current: a default stream is that of the current
    // context. Any other stream identifies its own context.
    match request.stream.is_explicit() {
        true => request.kernel.context.may_call("cuLaunchKernelEx"),
        false => request.kernel.context.bind(),
    }
}

impl LaunchConfig {
    /// The driver's form, without attributes.
    #[inline(always)]
    pub(super) fn raw(&self, stream: cuda_driver_sys::CUstream) -> CUlaunchConfig {
        CUlaunchConfig {
            gridDimX: self.grid_dim.0,
            gridDimY: self.grid_dim.1,
            gridDimZ: self.grid_dim.2,
            blockDimX: self.block_dim.0,
            blockDimY: self.block_dim.1,
            blockDimZ: self.block_dim.2,
            sharedMemBytes: self.shared_mem_bytes,
            hStream: stream,
            attrs: null_mut(),
            numAttrs: 0,
        }
    }

    /// The same, with the null pointer for the attributes taken from next to the stream's handle, so that one load
    /// copies both.
    #[inline(always)]
    fn raw_without(&self, queue: &StreamQueue) -> CUlaunchConfig {
        CUlaunchConfig { attrs: queue.handle.attributes, ..self.raw(queue.handle.raw) }
    }
}
