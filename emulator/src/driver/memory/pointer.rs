//! `cuPointerGetAttribute`: what is known about an address.
//!
//! Relies on the caller for the lengths of arrays and the types of attribute values: C1 and C3 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::allocations::{ALLOCATIONS, Record};
use super::export::KIND;
use super::host::PINNED;
use super::origin::Origin;
use crate::driver::context::CONTEXTS;
use crate::driver::entry::{INVALID_VALUE, In, Outcome, Untyped, entries};
use crate::driver::handles::to_c;
use crate::driver::module::{MODULES, Module};
use crate::driver::since::Known;
use crate::driver::state::{Call, State};

entries! {
    cuPointerGetAttribute(value: *mut c_void, attribute: CUpointer_attribute, address: CUdeviceptr) = get;
    cuPointerGetAttributes(count: c_uint, attributes: *mut CUpointer_attribute, values: *mut *mut c_void, address: CUdeviceptr) = get_many;
    cuPointerSetAttribute(value: *const c_void, attribute: CUpointer_attribute, address: CUdeviceptr) = set;
}

/// An attribute's value, with the type that the API gives it.
enum Value {
    Pointer(*mut c_void),
    U64(u64),
    Int(c_int),
}

impl Value {
    /// # Safety
    ///
    /// 1. `place` is not null, and for the attribute that this value is of.
    unsafe fn write(self, place: &Untyped) {
        // SAFETY: 1: not null, and for this attribute: duty 1. `attribute` and `nothing` give each one a value of as many bytes as its documented
        // type has: handles, addresses, sizes and `ALLOWED_HANDLE_TYPES` 8, the others 4 (so many writes driver 580 on an H200).
        unsafe {
            match self {
                Value::Pointer(pointer) => place.write(pointer),
                Value::U64(number) => place.write(number),
                Value::Int(number) => place.write(number),
            }
        }
    }
}

/// The kinds of memory that have addresses of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Device,
    Managed,
    /// Host memory that is allocated by the driver, or registered.
    Pinned,
}

/// What an address points into.
struct Target {
    kind: Kind,
    /// The device whose memory it is, or that of the context that pinned it.
    ordinal: c_int,
    /// Handle of the context; 0 for pooled and mapped memory.
    context: usize,
    base: u64,
    bytes: u64,
    id: u64,
    /// Handle of the pool; 0 for none.
    pool: usize,
    writable: bool,
    /// Whether `cuIpcGetMemHandle` takes it.
    legacy: bool,
    /// The kinds of handles that other processes can have it by, one bit each.
    shareable: u64,
}

impl Target {
    fn of(state: &State, address: u64) -> Option<Target> {
        let allocation = state.memory.find(address).filter(|_| state.is_device_range(address, 0))?;
        let (base, bytes) = (allocation.base(), allocation.len());
        if allocation.is_on_host() && !allocation.is_managed() {
            let (_, range) = PINNED.find(usize::try_from(address).ok()?, 1)?;
            return Some(Target {
                kind: Kind::Pinned,
                ordinal: CONTEXTS.get(range.owner).map_or(0, |context| context.device),
                context: range.owner,
                base,
                bytes,
                id: range.id,
                pool: 0,
                writable: !allocation.is_read_only(),
                legacy: false,
                shareable: 0,
            });
        }
        let record = ALLOCATIONS.get(base);
        let owner = |id| CONTEXTS.all().iter().find(|context| context.id == id).map(|context| context.handle);
        // Variables of modules have no record.
        let owns = |module: &Arc<Module>| module.context.handle != 0 && module.owns(base);
        let module = || MODULES.all().into_iter().find(owns);
        let context = match &record {
            Some(record) if record.pool.is_some() => None,
            Some(record) => owner(record.context),
            None => module().map(|module| module.context.handle),
        };
        let pool = record.as_ref().and_then(|record| record.pool.as_ref());
        Some(Target {
            kind: if allocation.is_managed() { Kind::Managed } else { Kind::Device },
            ordinal: allocation.device() as c_int,
            context: context.unwrap_or(0),
            base,
            bytes,
            id: record.as_ref().map_or(base, |record| record.id),
            pool: pool.map_or(0, |pool| pool.handle),
            writable: allocation.is_writable(allocation.device()),
            legacy: record.as_ref().is_some_and(Record::is_plain)
                && !allocation.is_managed()
                && cfg!(target_os = "linux"),
            shareable: if allocation.has_descriptor() { u64::from(KIND.0) } else { 0 },
        })
    }

    fn attribute(&self, attribute: CUpointer_attribute, address: u64) -> Option<Value> {
        use CUpointer_attribute as A;
        attribute.known().ok()?;
        let on_device = self.kind != Kind::Pinned;
        let kind =
            if on_device { CUmemorytype::CU_MEMORYTYPE_DEVICE } else { CUmemorytype::CU_MEMORYTYPE_HOST };
        Some(match attribute {
            A::CU_POINTER_ATTRIBUTE_CONTEXT => Value::Pointer(to_c(self.context)),
            A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Int(kind.0 as c_int),
            // With unified addressing host and device use one address.
            A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Value::U64(address),
            A::CU_POINTER_ATTRIBUTE_HOST_POINTER if self.kind != Kind::Device => Value::U64(address),
            A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Value::Int(c_int::from(on_device)),
            A::CU_POINTER_ATTRIBUTE_BUFFER_ID | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
                Value::U64(self.id)
            }
            A::CU_POINTER_ATTRIBUTE_IS_MANAGED => Value::Int(c_int::from(self.kind == Kind::Managed)),
            A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(self.ordinal),
            A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => Value::Int(c_int::from(self.legacy)),
            A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Int(0),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR | A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
                Value::U64(self.base)
            }
            A::CU_POINTER_ATTRIBUTE_RANGE_SIZE | A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
                Value::U64(self.bytes)
            }
            A::CU_POINTER_ATTRIBUTE_MAPPED => Value::Int(1),
            A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => Value::U64(self.shareable),
            A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Int(if self.writable { 3 } else { 1 }),
            A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => Value::U64(self.pool as u64),
            _ => return None,
        })
    }
}

impl State {
    /// What memory an address is in.
    pub(in crate::driver) fn origin(&self, address: u64) -> Origin {
        Target::of(self, address).map_or(Origin::UNKNOWN, |target| Origin {
            device: Some(target.ordinal),
            context: target.context,
        })
    }
}

fn get(call: &Call, value: Untyped, attribute: CUpointer_attribute, address: CUdeviceptr) -> Outcome {
    let place = value.required()?;
    let answer = Target::of(call.state()?, address).and_then(|target| target.attribute(attribute, address));
    // SAFETY: 1: not null, as `required` looked, and the caller's for this attribute, by C3, as is the answer.
    unsafe { answer.ok_or(INVALID_VALUE)?.write(&place) };
    Ok(())
}

/// Unlike for one attribute, an address that is unknown, or an attribute that it does not have, is no error.
fn get_many(
    call: &Call,
    count: c_uint,
    attributes: In<CUpointer_attribute>,
    values: In<*mut c_void>,
    address: CUdeviceptr,
) -> Outcome {
    let count = count as usize;
    // SAFETY: 1: arrays and `count` are the caller's, so by C1 each is null or has `count` elements.
    let (attributes, values) = unsafe { (attributes.read_array(count)?, values.read_array(count)?) };
    let target = Target::of(call.state()?, address);
    for (attribute, value) in attributes.into_iter().zip(values) {
        // SAFETY: 1: a pointer in the caller's array, as C1, C3 and C4 say until the call returns, longer than `place` is used.
        let place =
            unsafe { <Untyped as crate::driver::entry::FromC<*mut c_void>>::from_c(value) }.required()?;
        let answer = target.as_ref().and_then(|target| target.attribute(attribute, address));
        // SAFETY: 1: not null, as `required` looked, and the caller's for this attribute, by C3, as is the value, also where nothing is there.
        unsafe { answer.unwrap_or_else(|| nothing(attribute)).write(&place) };
    }
    Ok(())
}

/// What stands for an attribute that an address does not have.
fn nothing(attribute: CUpointer_attribute) -> Value {
    use CUpointer_attribute as A;
    match attribute {
        A::CU_POINTER_ATTRIBUTE_CONTEXT => Value::Pointer(std::ptr::null_mut()),
        // `CU_DEVICE_INVALID`
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(-2),
        A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        | A::CU_POINTER_ATTRIBUTE_HOST_POINTER
        | A::CU_POINTER_ATTRIBUTE_BUFFER_ID
        | A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
        | A::CU_POINTER_ATTRIBUTE_RANGE_SIZE
        | A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
        | A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
        | A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE
        | A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR
        | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Value::U64(0),
        _ => Value::Int(0),
    }
}

/// Synchronous memory operations are the only attribute that can be set; they are always synchronous enough here.
fn set(call: &Call, value: In<c_void>, attribute: CUpointer_attribute, address: CUdeviceptr) -> Outcome {
    let known = Target::of(call.state()?, address).is_some();
    if value.is_null() || !known || attribute != CUpointer_attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(INVALID_VALUE);
    }
    Ok(())
}
