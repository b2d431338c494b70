//! `cuInit` and `cuDevice*`: one device, of an H200's shape, under a name of its own.

pub(super) mod attributes;

use cuda_driver_sys::*;
use std::ffi::{c_char, c_int, c_uint};

use super::entry::{Buffer, INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, Text, entries};
use super::state::{self, Call};
use attributes::attribute;

/// Its name: nobody shall take it for a GPU.
const NAME: &str = "cuda-launch emulator (CPU)";
/// Its UUID: the ASCII codes of `cuda-launch emu0`.
const UUID: [u8; 16] = *b"cuda-launch emu0";
/// Its address on a bus that does not exist.
const PCI_BUS_ID: &str = "0000:00:00.0";
/// CUDA 13.0, as driver 580: functions that came later are not there.
pub(super) const DRIVER_VERSION: c_int = 13000;

/// Multiprocessors.
pub(super) const MULTIPROCESSORS: u32 = 132;

entries! {
    cuInit(flags: c_uint) [always] = init;
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
    cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) = can_access_peer;
    cuDeviceGetP2PAttribute(value: *mut c_int, attribute: CUdevice_P2PAttribute, device: CUdevice, peer: CUdevice) = p2p;
}

/// Refuses what is not the one device.
pub(super) fn checked(device: CUdevice) -> Outcome {
    if device == 0 { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_DEVICE) }
}

fn init(_: &Call, flags: c_uint) -> Outcome {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    state::initialize()
}

fn driver_version(_: &Call, version: Out<c_int>) -> Outcome {
    version.required()?.set(DRIVER_VERSION);
    Ok(())
}

fn get(_: &Call, device: Out<CUdevice>, ordinal: c_int) -> Outcome {
    let place = device.required()?;
    checked(ordinal)?;
    place.set(ordinal);
    Ok(())
}

fn count(_: &Call, count: Out<c_int>) -> Outcome {
    count.required()?.set(1);
    Ok(())
}

fn name(_: &Call, name: Buffer, size: c_int, device: CUdevice) -> Outcome {
    checked(device)?;
    text(&name, size, NAME)
}

/// Writes a text that may be cut.
#[allow(unsafe_code, reason = "the size of a buffer is the caller's word")]
fn text(buffer: &Buffer, size: c_int, text: &str) -> Outcome {
    let size =
        usize::try_from(size).ok().filter(|size| *size > 0 && !buffer.is_null()).ok_or(INVALID_VALUE)?;
    // SAFETY: the buffer has the size that the caller gives.
    unsafe { buffer.write(text.as_bytes(), size) };
    Ok(())
}

fn uuid(_: &Call, uuid: Out<CUuuid>, device: CUdevice) -> Outcome {
    checked(device)?;
    uuid.required()?.set(CUuuid { bytes: UUID.map(|byte| byte as c_char) });
    Ok(())
}

/// Locally unique identifiers exist on Windows only.
fn luid(_: &Call, luid: Buffer, mask: Out<c_uint>, device: CUdevice) -> Outcome {
    checked(device)?;
    mask.required()?;
    Err(if luid.is_null() { INVALID_VALUE } else { NOT_SUPPORTED })
}

fn total_memory(call: &Call, bytes: Out<usize>, device: CUdevice) -> Outcome {
    checked(device)?;
    bytes.required()?.set(call.state()?.memory.capacity() as usize);
    Ok(())
}

fn get_attribute(_: &Call, value: Out<c_int>, id: CUdevice_attribute, device: CUdevice) -> Outcome {
    let place = value.required()?;
    checked(device)?;
    place.set(attribute(id).ok_or(INVALID_VALUE)?);
    Ok(())
}

/// An attribute that the table has.
fn known(id: CUdevice_attribute) -> c_int {
    attribute(id).unwrap_or_default()
}

fn properties(_: &Call, properties: Out<CUdevprop>, device: CUdevice) -> Outcome {
    use CUdevice_attribute as A;
    let place = properties.required()?;
    checked(device)?;
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
    checked(device)?;
    major.set(known(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    minor.set(known(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    Ok(())
}

/// Unlike a name, an address that does not fit is refused.
fn pci_bus_id(_: &Call, buffer: Buffer, size: c_int, device: CUdevice) -> Outcome {
    checked(device)?;
    if usize::try_from(size).is_ok_and(|size| size <= PCI_BUS_ID.len()) {
        return Err(INVALID_VALUE);
    }
    text(&buffer, size, PCI_BUS_ID)
}

/// Takes `domain:bus:device.function` and `bus:device.function`.
fn by_pci_bus_id(_: &Call, device: Out<CUdevice>, id: Text) -> Outcome {
    let (place, id) = (device.required()?, id.required()?);
    let numbers: Option<Vec<u32>> =
        id.split([':', '.']).map(|part| u32::from_str_radix(part, 16).ok()).collect();
    match numbers.as_deref() {
        Some([0, 0, 0, 0] | [0, 0, 0] | [0, 0]) => place.set(0),
        Some([_, _, _, _] | [_, _, _] | [_, _]) => return Err(CUresult::CUDA_ERROR_INVALID_DEVICE),
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

fn affinity(_: &Call, supported: Out<c_int>, _kind: CUexecAffinityType, device: CUdevice) -> Outcome {
    let place = supported.required()?;
    checked(device)?;
    place.set(0);
    Ok(())
}

/// A device is no peer of itself.
fn can_access_peer(_: &Call, can: Out<c_int>, device: CUdevice, peer: CUdevice) -> Outcome {
    let place = can.required()?;
    checked(device)?;
    checked(peer)?;
    place.set(0);
    Ok(())
}

/// There are no two devices to ask about.
fn p2p(
    _: &Call,
    value: Out<c_int>,
    _attribute: CUdevice_P2PAttribute,
    _device: CUdevice,
    _peer: CUdevice,
) -> Outcome {
    value.required()?;
    Err(CUresult::CUDA_ERROR_INVALID_DEVICE)
}
