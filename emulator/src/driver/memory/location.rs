//! Where memory is, as programs say it: on a device, on the host.
#![allow(unsafe_code, reason = "the number of a location is a member of a union")]
// Relies on the program for the number of a location that has one: C2 in `entry`.

use cuda_driver_sys::*;
use std::ffi::c_int;

use crate::driver::device::checked;
use crate::driver::entry::{INVALID_VALUE, NOT_SUPPORTED, Outcome};
use crate::driver::since::Known;

/// A place where memory can be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) struct Location {
    pub(in crate::driver) kind: CUmemLocationType,
    pub(in crate::driver) id: c_int,
}

impl Location {
    /// Nowhere in particular.
    pub(super) const NONE: Location =
        Location { kind: CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, id: CU_DEVICE_INVALID };

    /// As the program says it. Of the number it tells, where the type has one; else 0.
    pub(super) fn of(location: CUmemLocation) -> Location {
        use CUmemLocationType as L;
        let id = match location.type_ {
            // SAFETY: the number that a location of these types has is set, by C2, and any bytes are a number.
            L::CU_MEM_LOCATION_TYPE_DEVICE | L::CU_MEM_LOCATION_TYPE_HOST_NUMA => unsafe {
                location.__bindgen_anon_1.id
            },
            // Nobody needs to set one.
            _ => 0,
        };
        Location { kind: location.type_, id }
    }

    /// The same, with the number that there is, whether the type has one or not.
    pub(super) fn numbered(location: CUmemLocation) -> Location {
        // SAFETY: any bytes are a number, and the program's structure has some there.
        Location { kind: location.type_, id: unsafe { location.__bindgen_anon_1.id } }
    }

    /// The device that it is, which exists.
    pub(super) fn device(self) -> Outcome<CUdevice> {
        match self.kind.known()? {
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

    /// Where managed memory of a pool shall be, which may be nowhere in particular.
    pub(in crate::driver) fn of_managed(location: CUmemLocation) -> Outcome<Location> {
        let location = Location::of(location);
        match location.kind {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID => Ok(Location::NONE),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST => Ok(Location { id: 0, ..location }),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => location.anywhere(),
            _ => Err(INVALID_VALUE),
        }
    }

    /// The device whose memory counts what is there: the first one for that of the host.
    pub(in crate::driver) fn counted_by(self) -> CUdevice {
        if self.kind == CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE { self.id } else { 0 }
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
