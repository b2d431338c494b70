//! `cuDevice*`: devices modelled on an H200, or on a board of another architecture, under their own name.

pub(super) mod attributes;
pub(super) mod nvml;
pub(super) mod peer;

use cuda_driver_sys::*;
use std::ffi::{c_char, c_int, c_uint};

use super::entry::{Buffer, INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, Text, entries};
use super::state::{self, Call};
use crate::architecture::Architecture;
use attributes::{attribute, attribute_of};

/// Its UUID without the last byte, which is its ordinal's digit: the ASCII codes of `cuda-launch emu0`.
const UUID: [u8; 15] = *b"cuda-launch emu";

entries! {
    cuDriverGetVersion(version: *mut c_int) [always] = driver_version;
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int) = get;
    cuDeviceGetCount(count: *mut c_int) = count;
    cuDeviceGetName(name: *mut c_char, size: c_int, device: CUdevice) = name;
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice) = uuid;
    cuDeviceGetLuid(luid: *mut c_char, mask: *mut c_uint, device: CUdevice) = luid;
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) = total_memory;
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice) = get_attribute;
    cuDeviceGetProperties(properties: *mut CUdevprop, device: CUdevice) = properties;
    cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: CUdevice) = compute_capability;
    cuDeviceGetPCIBusId(text: *mut c_char, size: c_int, device: CUdevice) = pci_bus_id;
    cuDeviceGetByPCIBusId(device: *mut CUdevice, text: *const c_char) = by_pci_bus_id;
    cuDeviceGetExecAffinitySupport(supported: *mut c_int, kind: CUexecAffinityType, device: CUdevice) = affinity;
}

/// Refuses values that are not a device.
pub(super) fn checked(device: CUdevice) -> Outcome {
    state::get().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)?.memory_of(device).map(|_| ())
}

/// The architecture of a device.
fn architecture(device: CUdevice) -> Outcome<Architecture> {
    state::get().ok_or(CUresult::CUDA_ERROR_NOT_INITIALIZED)?.architecture_of(device)
}

/// Its address on buses that do not exist: a bus for each device.
fn pci_text(device: CUdevice) -> String {
    format!("0000:{device:02x}:00.0")
}

fn driver_version(_: &Call, version: Out<c_int>) -> Outcome {
    version.required()?.set(state::version());
    Ok(())
}

fn get(_: &Call, device: Out<CUdevice>, ordinal: c_int) -> Outcome {
    let place = device.required()?;
    checked(ordinal)?;
    place.set(ordinal);
    Ok(())
}

fn count(call: &Call, count: Out<c_int>) -> Outcome {
    count.required()?.set(call.state()?.devices.len() as c_int);
    Ok(())
}

fn name(_: &Call, name: Buffer, size: c_int, device: CUdevice) -> Outcome {
    text(&name, size, architecture(device)?.model().name)
}

/// Writes a text that may be cut.
#[allow(unsafe_code, reason = "the size of a buffer is the caller's word")]
fn text(buffer: &Buffer, size: c_int, text: &str) -> Outcome {
    let size =
        usize::try_from(size).ok().filter(|size| *size > 0 && !buffer.is_null()).ok_or(INVALID_VALUE)?;
    // SAFETY: 1: buffer and `size` are the caller's, of one call, so by C1 (in `entry`) it has that many bytes.
    unsafe { buffer.write(text.as_bytes(), size) };
    Ok(())
}

fn uuid(_: &Call, uuid: Out<CUuuid>, device: CUdevice) -> Outcome {
    checked(device)?;
    let mut bytes = [b'0' as c_char + device as c_char; 16];
    for (byte, text) in bytes.iter_mut().zip(UUID) {
        *byte = text as c_char;
    }
    uuid.required()?.set(CUuuid { bytes });
    Ok(())
}

/// Locally unique identifiers exist on Windows only.
fn luid(_: &Call, luid: Buffer, mask: Out<c_uint>, device: CUdevice) -> Outcome {
    checked(device)?;
    mask.required()?;
    Err(if luid.is_null() { INVALID_VALUE } else { NOT_SUPPORTED })
}

fn total_memory(call: &Call, bytes: Out<usize>, device: CUdevice) -> Outcome {
    let memory = call.state()?.memory_of(device)?;
    bytes.required()?.set(memory.capacity() as usize);
    Ok(())
}

fn get_attribute(_: &Call, value: Out<c_int>, id: CUdevice_attribute, device: CUdevice) -> Outcome {
    let place = value.required()?;
    checked(device)?;
    place.set(attribute_of(device, id).ok_or(INVALID_VALUE)?);
    Ok(())
}

fn properties(_: &Call, properties: Out<CUdevprop>, device: CUdevice) -> Outcome {
    use CUdevice_attribute as A;
    let place = properties.required()?;
    let architecture = architecture(device)?;
    let known = |id| attribute(architecture, id).unwrap_or_default();
    place.set(CUdevprop {
        maxThreadsPerBlock: known(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        maxThreadsDim: [
            known(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
            known(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
            known(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
        ],
        maxGridSize: [
            known(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
            known(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
            known(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
        ],
        sharedMemPerBlock: known(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        totalConstantMemory: known(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        SIMDWidth: known(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        memPitch: known(A::CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        regsPerBlock: known(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        clockRate: known(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        textureAlign: known(A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    });
    Ok(())
}

fn compute_capability(_: &Call, major: Out<c_int>, minor: Out<c_int>, device: CUdevice) -> Outcome {
    let (major, minor) = (major.required()?, minor.required()?);
    let capability = architecture(device)?.compute_capability();
    major.set(capability.0 as c_int);
    minor.set(capability.1 as c_int);
    Ok(())
}

/// Unlike a name, an address that does not fit is refused.
fn pci_bus_id(_: &Call, buffer: Buffer, size: c_int, device: CUdevice) -> Outcome {
    checked(device)?;
    let id = pci_text(device);
    if usize::try_from(size).is_ok_and(|size| size <= id.len()) {
        return Err(INVALID_VALUE);
    }
    text(&buffer, size, &id)
}

/// Takes `domain:bus:device.function` and `bus:device.function`.
fn by_pci_bus_id(_: &Call, device: Out<CUdevice>, id: Text) -> Outcome {
    let (place, id) = (device.required()?, id.required()?);
    let numbers: Option<Vec<u32>> =
        id.split([':', '.']).map(|part| u32::from_str_radix(part, 16).ok()).collect();
    let device = match numbers.as_deref() {
        Some([0, bus, 0, 0] | [0, bus, 0] | [bus, 0]) => *bus as CUdevice,
        Some([_, _, _, _] | [_, _, _] | [_, _]) => return Err(CUresult::CUDA_ERROR_INVALID_DEVICE),
        _ => return Err(INVALID_VALUE),
    };
    checked(device)?;
    place.set(device);
    Ok(())
}

fn affinity(_: &Call, supported: Out<c_int>, _kind: CUexecAffinityType, device: CUdevice) -> Outcome {
    let place = supported.required()?;
    checked(device)?;
    place.set(0);
    Ok(())
}
