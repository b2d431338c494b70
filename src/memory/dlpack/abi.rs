//! The C structures of DLPack 1.0, with which libraries exchange tensors.

#![allow(missing_docs)] // The names of the standard.

use std::ffi::c_void;

/// A device: its type and its number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    pub device_type: i32,
    pub device_id: i32,
}

impl DLDevice {
    /// Memory of a CUDA device.
    pub const CUDA: i32 = 2;
    /// Pinned memory of the host.
    pub const CUDA_HOST: i32 = 3;
    /// Managed memory.
    pub const CUDA_MANAGED: i32 = 13;
}

/// The type of an element.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// A tensor that other code owns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    /// In elements; null for dense row-major layout.
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// A version of the standard.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

/// A tensor and its deleter, in the form that all versions know.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor and its deleter, since version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

/// The tensor must not be written.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1;

const _: () = assert!(size_of::<DLTensor>() == 48 && size_of::<DLManagedTensor>() == 64);
const _: () = assert!(size_of::<DLManagedTensorVersioned>() == 80);
