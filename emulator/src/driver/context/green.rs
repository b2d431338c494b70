//! Green contexts: parts of a device's multiprocessors. Here kernels of all contexts share the host's cores; only the
//! arithmetic of the parts and their assignment are emulated.
//!
//! Relies on the caller for arrays of the stated lengths (C1 in `entry`), and for resources that a driver has initialised
//! completely (C2).
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_uint, c_ulonglong};
use std::sync::Arc;

use super::current::named;
use super::{CONTEXTS, Context, ContextKind, primary};
use crate::architecture::Model;
use crate::driver::device::checked;
use crate::driver::entry::{INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::handles::{Handles, to_c};
use crate::driver::queue::Kind;
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{self, Call};
use crate::driver::stream::{GREATEST_PRIORITY, STREAMS, Stream};

entries! {
    cuDeviceGetDevResource(device: CUdevice, resource: *mut CUdevResource, kind: CUdevResourceType) = of_device;
    cuCtxGetDevResource(context: CUcontext, resource: *mut CUdevResource, kind: CUdevResourceType) = of_context;
    cuGreenCtxGetDevResource(green: CUgreenCtx, resource: *mut CUdevResource, kind: CUdevResourceType) = of_green;
    cuDevSmResourceSplitByCount(result: *mut CUdevResource, groups: *mut c_uint, input: *const CUdevResource, rest: *mut CUdevResource, flags: c_uint, least: c_uint) = split;
    cuDevResourceGenerateDesc(description: *mut CUdevResourceDesc, resources: *mut CUdevResource, count: c_uint) = describe;
    cuGreenCtxCreate(green: *mut CUgreenCtx, description: CUdevResourceDesc, device: CUdevice, flags: c_uint) = create;
    cuGreenCtxDestroy(green: CUgreenCtx) = destroy;
    cuGreenCtxGetId(green: CUgreenCtx, id: *mut c_ulonglong) = get_id;
    cuGreenCtxStreamCreate(stream: *mut CUstream, green: CUgreenCtx, flags: c_uint, priority: c_int) = create_stream;
    cuCtxFromGreenCtx(context: *mut CUcontext, green: CUgreenCtx) = context_of;
    cuStreamGetGreenCtx(stream: CUstream, green: *mut CUgreenCtx) = of_stream;
}

/// Some multiprocessors of a device: the meaning of a resource or a description.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Part {
    device: CUdevice,
    multiprocessors: u32,
    /// Whether it is the result of a split: it can be split again only once a green context has it.
    from_split: bool,
}

/// A green context.
pub(in crate::driver) struct Green {
    part: Part,
    context: Arc<Context>,
}

pub(in crate::driver) static GREENS: PerSlot<Handles<Green>> = per_slot!(Handles::new(40));
/// The descriptions that `cuDevResourceGenerateDesc` created.
static DESCRIPTIONS: PerSlot<Handles<Part>> = per_slot!(Handles::new(41));

/// Forgets all green contexts.
pub(in crate::driver) fn clear() {
    GREENS.clear();
    DESCRIPTIONS.clear();
}

/// The fewest multiprocessors if they need not be scheduled together (`IGNORE_SM_COSCHEDULING`).
const APART: u32 = 2;

/// What its device is like.
fn model_of(device: CUdevice) -> Outcome<&'static Model> {
    let state = state::get().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)?;
    Ok(state.architecture_of(device)?.model())
}

impl Part {
    fn all(device: CUdevice) -> Outcome<Part> {
        Ok(Part { device, multiprocessors: model_of(device)?.multiprocessors, from_split: false })
    }

    /// The resource in the form of the API; the device is stored in the bytes that are internal to the driver.
    fn to_c(self) -> Outcome<CUdevResource> {
        let (least, multiple) = model_of(self.device)?.partition;
        let mut resource =
            CUdevResource { type_: CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM, ..Default::default() };
        let mark = [b'e', self.device as u8, u8::from(self.from_split)];
        for (byte, value) in resource._internal_padding.iter_mut().zip(mark) {
            *byte = value;
        }
        resource.__bindgen_anon_1.sm = CUdevSmResource {
            smCount: self.multiprocessors,
            minSmPartitionSize: least,
            smCoscheduledAlignment: multiple,
            ..Default::default()
        };
        Ok(resource)
    }

    fn from_c(resource: &CUdevResource) -> Outcome<Part> {
        if resource.type_ != CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM {
            return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
        }
        let [b'e', device, from_split, ..] = resource._internal_padding else { return Err(INVALID_VALUE) };
        let device = CUdevice::from(device);
        let model = model_of(device)?;
        // SAFETY: the type, which was just checked, selects this member, which is set, by C2: by `to_c`, as the mark shows. Any bytes are a
        // number.
        let multiprocessors = unsafe { resource.__bindgen_anon_1.sm.smCount };
        if multiprocessors > model.multiprocessors {
            return Err(INVALID_VALUE);
        }
        Ok(Part { device, multiprocessors, from_split: from_split != 0 })
    }

    /// Returns it, if multiprocessors are requested.
    fn answer(self, resource: Out<CUdevResource>, kind: CUdevResourceType) -> Outcome {
        let place = resource.required()?;
        if kind != CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM {
            return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
        }
        place.set(self.to_c()?);
        Ok(())
    }
}

fn of_device(_: &Call, device: CUdevice, resource: Out<CUdevResource>, kind: CUdevResourceType) -> Outcome {
    Part::all(device)?.answer(resource, kind)
}

fn of_context(
    _: &Call,
    context: CUcontext,
    resource: Out<CUdevResource>,
    kind: CUdevResourceType,
) -> Outcome {
    let context = named(context, INVALID_CONTEXT)?;
    let greens = GREENS.all();
    let own = greens.iter().find(|green| green.context.id == context.id).map(|green| green.part);
    own.map_or_else(|| Part::all(context.device), Ok)?.answer(resource, kind)
}

fn green(handle: CUgreenCtx) -> Outcome<Arc<Green>> {
    GREENS.get(handle.addr()).ok_or(INVALID_HANDLE)
}

/// The context of a green context.
pub(super) fn context_of_green(handle: CUgreenCtx) -> Outcome<Arc<Context>> {
    Ok(Arc::clone(&green(handle)?.context))
}

fn of_green(_: &Call, handle: CUgreenCtx, resource: Out<CUdevResource>, kind: CUdevResourceType) -> Outcome {
    green(handle)?.part.answer(resource, kind)
}

fn split(
    _: &Call,
    result: Out<CUdevResource>,
    groups: Out<c_uint>,
    input: In<CUdevResource>,
    rest: Out<CUdevResource>,
    flags: c_uint,
    least: c_uint,
) -> Outcome {
    let asked = groups.get().ok_or(INVALID_VALUE)?;
    let whole = Part::from_c(&input.read()?)?;
    if whole.from_split {
        return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    }
    let part = |multiprocessors| Part { multiprocessors, from_split: true, ..whole };
    let model = model_of(whole.device)?;
    let (fewest, step) = match flags {
        0 => model.partition,
        1 => (APART, APART),
        // A cluster needs as many multiprocessors as it has blocks.
        2 => (model.partition.0.max(model.largest_cluster), model.partition.1.max(model.largest_cluster)),
        _ => return Err(INVALID_VALUE),
    };
    let size = least.max(fewest).checked_next_multiple_of(step).ok_or(INVALID_VALUE)?;
    let possible = whole.multiprocessors / size;
    if result.is_null() {
        groups.set(possible);
        return Ok(());
    }
    let made = asked.min(possible);
    if made == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    }
    for index in 0..made {
        // SAFETY: 1: it is not null, so by C1 it has `asked` elements, the number in `groups`, and `made` is at most that. The `Out` of the
        // previous iteration is no longer used.
        let place = unsafe { result.element(index as usize) };
        place.set(part(size).to_c()?);
    }
    groups.set(made);
    rest.set(part(whole.multiprocessors - made * size).to_c()?);
    Ok(())
}

/// Descriptions are never freed: there is no function for that.
fn describe(
    _: &Call,
    description: Out<CUdevResourceDesc>,
    resources: In<CUdevResource>,
    count: c_uint,
) -> Outcome {
    let place = description.required()?;
    if count == 0 || resources.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: array and `count` are the caller's, so by C1 it has `count` elements.
    let resources = unsafe { resources.read_array(count as usize)? };
    let parts = resources.iter().map(Part::from_c).collect::<Outcome<Vec<_>>>()?;
    let first = *parts.first().ok_or(INVALID_VALUE)?;
    let multiprocessors = parts.iter().fold(0, |all: u32, part| all.saturating_add(part.multiprocessors));
    let together = parts.iter().all(|part| part.device == first.device && part.multiprocessors > 0);
    if !together || multiprocessors > model_of(first.device)?.multiprocessors {
        return Err(CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    }
    let handle = DESCRIPTIONS.reserve();
    DESCRIPTIONS.insert(handle, Arc::new(Part { multiprocessors, from_split: false, ..first }));
    place.set(to_c(handle));
    Ok(())
}

/// Retains the primary context, as the driver does.
fn create(
    call: &Call,
    green: Out<CUgreenCtx>,
    description: CUdevResourceDesc,
    device: CUdevice,
    flags: c_uint,
) -> Outcome {
    let (place, state) = (green.required()?, call.healthy()?);
    checked(device)?;
    // `CU_GREEN_CTX_DEFAULT_STREAM` is required.
    let part = *DESCRIPTIONS.get(description.addr()).ok_or(INVALID_VALUE)?;
    if flags != 1 || part.device != device {
        return Err(INVALID_VALUE);
    }
    primary::hold(state, device)?;
    let context = Context::create(state, CONTEXTS.reserve(), device, ContextKind::Green, 0)?;
    let handle = GREENS.reserve();
    GREENS.insert(handle, Arc::new(Green { part, context }));
    place.set(to_c(handle));
    Ok(())
}

fn destroy(call: &Call, handle: CUgreenCtx) -> Outcome {
    let state = call.state()?;
    let green = GREENS.remove(handle.addr()).ok_or(INVALID_HANDLE)?;
    if green.context.is_alive() {
        green.context.destroy(state);
    }
    primary::let_go(state, green.part.device)
}

fn get_id(_: &Call, handle: CUgreenCtx, id: Out<c_ulonglong>) -> Outcome {
    let green = green(handle)?;
    id.required()?.set(green.context.id);
    Ok(())
}

/// Streams that block would wait for a default stream that no context has.
fn create_stream(
    call: &Call,
    stream: Out<CUstream>,
    handle: CUgreenCtx,
    flags: c_uint,
    priority: c_int,
) -> Outcome {
    let place = stream.required()?;
    call.healthy()?;
    let green = green(handle)?;
    if flags != 1 {
        return Err(INVALID_VALUE);
    }
    let handle = STREAMS.reserve();
    let made = Stream::new(&green.context, handle, Kind::NonBlocking, priority.clamp(GREATEST_PRIORITY, 0));
    STREAMS.insert(handle, made);
    place.set(to_c(handle));
    Ok(())
}

fn context_of(_: &Call, context: Out<CUcontext>, handle: CUgreenCtx) -> Outcome {
    let green = green(handle)?;
    context.required()?.set(to_c(green.context.handle));
    Ok(())
}

/// NULL for a stream of an ordinary context.
fn of_stream(call: &Call, stream: CUstream, green: Out<CUgreenCtx>) -> Outcome {
    let stream = call.stream(stream)?;
    let handle = GREENS.handle_of(|green| green.context.id == stream.context.id);
    green.required()?.set(to_c(handle.unwrap_or(0)));
    Ok(())
}
