//! The devices, for callers that do not initialise the driver: `cuda-emulator-nvml`.

use std::ffi::c_int;
use std::sync::OnceLock;

use super::super::config::Config;
use super::super::state;
use super::UUID;
use crate::architecture::Architecture;

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
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let devices: Vec<(Architecture, u64, u64)> = match state::get() {
        Some(state) => {
            let devices = state.devices.iter();
            devices.map(|memory| (memory.architecture(), memory.capacity(), memory.used())).collect()
        }
        None => {
            let config = CONFIG.get_or_init(Config::from_environment);
            config.architectures().map(|architecture| (architecture, config.memory, 0)).collect()
        }
    };
    let device = |(bus, (architecture, total, used)): (u32, (Architecture, u64, u64))| {
        let (major, minor) = architecture.compute_capability();
        let (name, capability) = (architecture.model().name, (major as c_int, minor as c_int));
        let mut uuid = [b'0'.wrapping_add(bus as u8); 16];
        uuid.iter_mut().zip(UUID).for_each(|(byte, text)| *byte = text);
        NvmlDevice { name, uuid, bus, capability, total, used }
    };
    (0..).zip(devices).map(device).collect()
}
