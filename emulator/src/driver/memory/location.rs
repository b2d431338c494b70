//! Where memory is, as programs say it: on a device, on the host.
#![allow(
    unsafe_code,
    reason = "the number of a location is a field of a union that is a number in every variant"
)]

use cuda_driver_sys::*;
use std::ffi::c_int;

use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, NOT_SUPPORTED, Outcome};

/// A place where memory can be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) kind: CUmemLocationType,
    pub(super) id: c_int,
}

impl Location {
    /// Nowhere in particular.
    pub(super) const NONE: Location =
        Location { kind: CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, id: CU_DEVICE_INVALID };

    pub(super) fn of(location: CUmemLocation) -> Location {
        // SAFETY: plain numbers in every variant.
        Location { kind: location.type_, id: unsafe { location.__bindgen_anon_1.id } }
    }

    /// The device that it is, which exists.
    pub(super) fn device(self) -> Outcome<CUdevice> {
        match self.kind {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => checked(self.id).map(|()| self.id),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Err(NOT_SUPPORTED),
            _ => Err(INVALID_VALUE),
        }
    }

    /// A device or the host, which exists; the host has one node.
    pub(super) fn anywhere(self) -> Outcome<Location> {
        match self.kind {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => checked(self.id).map(|()| self),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(self),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA if self.id == 0 => Ok(self),
            _ => Err(INVALID_VALUE),
        }
    }

    /// As the older functions number locations: devices from 0, the host -1, none -2.
    pub(super) fn number(self) -> c_int {
        match self.kind {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => self.id,
            CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID => CU_DEVICE_INVALID,
            _ => CU_DEVICE_CPU,
        }
    }
}
