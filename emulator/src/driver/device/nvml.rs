//! The devices, for callers that do not initialise the driver: `cuda-emulator-nvml`.

use std::ffi::c_int;
use std::sync::OnceLock;

use super::super::config::Config;
use super::super::state;
use super::{CUdevice_attribute as A, NAME, UUID, known};

/// A device.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct NvmlDevice {
    /// As `cuDeviceGetName`.
    pub name: &'static str,
    /// As `cuDeviceGetUuid`.
    pub uuid: [u8; 16],
    /// The bus in `cuDeviceGetPCIBusId`.
    pub bus: u32,
    /// Major and minor.
    pub capability: (c_int, c_int),
    /// Bytes.
    pub total: u64,
    /// Bytes that this process has allocated.
    pub used: u64,
}

/// The devices that there are, or will be once the driver is started.
#[doc(hidden)]
pub fn nvml_devices() -> Vec<NvmlDevice> {
    static CONFIG: OnceLock<(u32, u64)> = OnceLock::new();
    let memories: Vec<(u64, u64)> = match state::get() {
        Some(state) => state.devices.iter().map(|memory| (memory.capacity(), memory.used())).collect(),
        None => {
            let (devices, memory) = *CONFIG.get_or_init(|| {
                let config = Config::from_environment();
                (config.devices, config.memory)
            });
            (0..devices).map(|_| (memory, 0)).collect()
        }
    };
    let capability = (
        known(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        known(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    );
    let device = |(bus, (total, used)): (u32, (u64, u64))| {
        let mut uuid = [b'0'.wrapping_add(bus as u8); 16];
        uuid.iter_mut().zip(UUID).for_each(|(byte, text)| *byte = text);
        NvmlDevice { name: NAME, uuid, bus, capability, total, used }
    };
    (0..).zip(memories).map(device).collect()
}
