//! Copies and fills that go past the end of their memory or array.
//!
//! Only the first and the last byte of a rectangle are checked, because the gaps between rows are not used. Unknown memory is
//! left to the driver.
//!
//! Relies on: the program upholds the contract of the function that it calls, as far as the driver requires it.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::host;
use super::rule::{Finding, Rule};
use super::sides::{Side, Size, Where, reach};
use super::state::State;
use crate::kind::Kind;
use crate::value::ObjectName;
use cuda_driver_sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray_format, CUresult};
use std::ptr::with_exposed_provenance_mut;

/// The extent of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Bytes of an element.
    pub(super) unit: u64,
    pub(super) size: Size,
}

/// Bytes of an array's element; `None` for formats with blocks or several planes.
fn unit(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Option<u64> {
    use CUarray_format as F;
    let channel = match descriptor.Format {
        F::CU_AD_FORMAT_UNSIGNED_INT8 | F::CU_AD_FORMAT_SIGNED_INT8 => 1,
        F::CU_AD_FORMAT_UNSIGNED_INT16 | F::CU_AD_FORMAT_SIGNED_INT16 | F::CU_AD_FORMAT_HALF => 2,
        F::CU_AD_FORMAT_UNSIGNED_INT32 | F::CU_AD_FORMAT_SIGNED_INT32 | F::CU_AD_FORMAT_FLOAT => 4,
        _ => return None,
    };
    Some(channel * u64::from(descriptor.NumChannels))
}

impl State {
    /// The extent of a live array, if it is known.
    pub(super) fn extent(&self, handle: u64) -> Option<Extent> {
        let place = self.objects.find(Kind::Array, handle)?;
        self.objects.at(place).filter(|array| array.is_live())?;
        self.arrays.get(&place).copied()
    }
}

impl Inner {
    /// The extent of an array according to the driver.
    ///
    /// # Safety
    ///
    /// 1. It is the handle of an array that was just created and is not destroyed meanwhile.
    unsafe fn described(&self, array: u64) -> Option<Extent> {
        let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
        // SAFETY: the array is live, by duty 1; the output is aligned and outlives the call.
        let answer = unsafe {
            self.base.cuArray3DGetDescriptor(&mut descriptor, with_exposed_provenance_mut(array as usize))
        };
        let unit = unit(&descriptor).filter(|_| answer == CUresult::SUCCESS)?;
        let width = (descriptor.Width as u64).checked_mul(unit)?;
        // 0 if the array lacks the dimension.
        let (height, depth) = (descriptor.Height.max(1) as u64, descriptor.Depth.max(1) as u64);
        Some(Extent { unit, size: Size { width, height, depth } })
    }

    /// The extent of the array that a call has created.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds, the call succeeded, and its first result is this handle.
    pub(super) unsafe fn made_array(&self, call: &Call<'_>, made: u64) -> Option<Extent> {
        let makes = ["cuArrayCreate_v2", "cuArray3DCreate_v2", "cuArrayGetPlane", "cuMipmappedArrayGetLevel"];
        if !makes.contains(&call.function.name) {
            return None;
        }
        // SAFETY: 1: all four functions return a live array, by duty 1; the program has not received the handle yet, or, if the
        // array belongs to another object, must not destroy that during the call.
        unsafe { self.described(made) }
    }

    /// The ranges that a call copies or fills, if it does.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds.
    pub(super) unsafe fn copies(&self, call: &Call<'_>) -> Vec<Side> {
        if !call.function.name.starts_with("cuMemcpy") && !call.function.name.starts_with("cuMemset") {
            return Vec::new();
        }
        // SAFETY: 1: duty 1.
        unsafe { self.sides(call) }
    }

    /// Findings for a copy or fill past the end of the memory or array in which it begins, or of freed memory.
    pub(super) fn past_the_end(&self, call: &Call<'_>, sides: &[Side]) -> Option<Finding> {
        let used = sides.iter().filter(|side| !side.size.is_empty());
        used.into_iter().find_map(|side| {
            if let Some(text) = self.freed(call, side) {
                return Some(call.finding(Rule::UseAfterFree, text));
            }
            let what = match side.place {
                Where::Memory { start, pitch, rows } => self.past_memory(side, start, pitch, rows),
                Where::Array { handle, at } => self.past_array(side, handle, at),
                Where::Bytes { handle, offset } => self.past_bytes(side, handle, offset),
            };
            let element =
                side.element.map_or_else(String::new, |number| format!("element {number} of the batch "));
            let does = if side.writes { "writes" } else { "reads" };
            what.map(|what| call.finding(Rule::OutOfRange, format!("{element}{does} {what}")))
        })
    }

    /// Freed memory of which no argument of the call is the address; arguments are found by their types.
    fn freed(&self, call: &Call<'_>, side: &Side) -> Option<String> {
        let Where::Memory { start, .. } = side.place else { return None };
        let state = self.lock();
        let object = state.objects.memory_at(start).and_then(|(place, _)| state.objects.at(place))?;
        let (name, kind, ended) = (object.name, object.name.kind(), object.ended_by?);
        let is_seen = kind.family() == Kind::Memory && call.words.contains(&start);
        drop(state);
        if is_seen || !self.is_gone(start, kind) {
            return None;
        }
        let element =
            side.element.map_or_else(String::new, |number| format!("element {number} of the batch "));
        Some(format!("{element}uses {name}, which call {ended} freed"))
    }

    /// Whether there is certainly no memory at an address where memory of that kind was freed.
    pub(super) fn is_gone(&self, address: u64, kind: Kind) -> bool {
        match kind.family() {
            // The program may have memory of its own there now.
            Kind::HostMemory | Kind::Registration => !host::is_mapped(address),
            _ => !self.is_memory(address),
        }
    }

    fn past_memory(&self, side: &Side, start: u64, pitch: u64, rows: u64) -> Option<String> {
        let state = self.lock();
        let (place, offset) = state.objects.memory_at(start)?;
        let memory = state.objects.at(place).filter(|memory| memory.is_live())?;
        let (name, mut size, kind) = (memory.name, memory.bytes, memory.name.kind().family());
        match kind {
            Kind::HostMemory => {}
            // Whole pages are registered, and the following pages may be registered, too.
            Kind::Registration => {
                let end = memory.address.checked_add(size)?.checked_next_multiple_of(host::page())?;
                state.objects.memory_at(end).is_none().then_some(())?;
                size = end - memory.address;
            }
            // Only memory of one allocation call, not mapped or imported, has the size given in the call.
            _ if !memory.counted => return None,
            _ => {}
        }
        drop(state);
        // A size that does not fit in the address space is past every end.
        let bytes = reach(side.size, pitch, rows);
        if bytes.and_then(|bytes| offset.checked_add(bytes)).is_some_and(|end| end <= size) {
            return None;
        }
        // Host memory has no other extent than the recorded one; for device memory the driver is queried.
        let is_host = matches!(kind, Kind::HostMemory | Kind::Registration);
        if !is_host && !self.ends_before(start, bytes.unwrap_or(u64::MAX)) {
            return None;
        }
        let (shape, at) = (side.size, name.plus(offset));
        Some(match (bytes, shape.height, shape.depth) {
            (_, 1, 1) => format!("{shape} at {at}, but {name} has {size} bytes"),
            (Some(bytes), _, 1) => {
                format!("{shape} at {at}, {bytes} bytes with a pitch of {pitch}, but {name} has {size} bytes")
            }
            (Some(bytes), ..) => format!(
                "{shape} at {at}, {bytes} bytes with a pitch of {pitch} and {rows} rows from plane to plane, but {name} has {size} bytes"
            ),
            (None, ..) => format!(
                "{shape} with a pitch of {pitch} at {at}, more bytes than there are addresses, but {name} has {size} bytes"
            ),
        })
    }

    fn past_array(&self, side: &Side, handle: u64, at: [u64; 3]) -> Option<String> {
        let (extent, name) = self.array(handle)?;
        let Extent { size: has, .. } = extent;
        let (wants, [x, y, z]) = (side.size, at);
        let fits = |from: u64, count: u64, has: u64| from.checked_add(count).is_some_and(|end| end <= has);
        let is_inside = fits(x, wants.width, has.width)
            && fits(y, wants.height, has.height)
            && fits(z, wants.depth, has.depth);
        let from = match at {
            [0, 0, 0] => String::new(),
            [x, y, z] => format!(" from byte {x} of row {y} of plane {z}"),
        };
        (!is_inside).then(|| format!("{wants} of {name}{from}, but {name} has {has}"))
    }

    fn past_bytes(&self, side: &Side, handle: u64, offset: u64) -> Option<String> {
        let (extent, name) = self.array(handle)?;
        let (bytes, has) = (side.size.width, extent.size.bytes()?);
        let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= has);
        (!is_inside).then(|| format!("{bytes} bytes at byte {offset} of {name}, but {name} has {has} bytes"))
    }

    fn array(&self, handle: u64) -> Option<(Extent, ObjectName)> {
        let state = self.lock();
        let extent = state.extent(handle)?;
        let place = state.objects.find(Kind::Array, handle)?;
        Some((extent, state.objects.at(place)?.name))
    }
}
