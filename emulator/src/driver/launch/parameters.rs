//! The parameters of a launch, copied during the call.
//!
//! Relies on the caller of the launch: `kernelParams` points to one pointer for each parameter, each to a value of the
//! parameter's size; `extra` is a list with its end, and its buffer has the size it says. That is C8 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END, CUresult,
};
use std::ffi::c_void;

use crate::architecture::Architecture;
use crate::driver::entry::{INVALID_VALUE, In, Outcome};
use crate::driver::function::attributes::offsets;
use crate::engine::Kernel;
use crate::memory::passed;

/// The ways to pass parameters.
pub(in crate::driver) enum Packet<'call> {
    /// What a program passes to a launch, both as C8 says, for `'call`.
    Lists {
        /// `kernelParams`
        parameters: In<'call, *mut c_void>,
        /// `extra`; the cooperative function has none.
        extra: Option<In<'call, *mut c_void>>,
    },
    /// What it has set before, by the device's offsets.
    Packed(Box<[u8]>),
}

impl Packet<'_> {
    /// The parameter block of a launch, as the engine takes it: by C's offsets.
    pub(super) fn read(&self, kernel: &Kernel, device: Architecture) -> Outcome<Box<[u8]>> {
        let (parameters, extra) = match self {
            Packet::Lists { parameters, extra } => (parameters, extra),
            Packet::Packed(bytes) => return unpacked(kernel, device, bytes),
        };
        let extra = extra.as_ref().filter(|extra| !extra.is_null());
        match (parameters.is_null(), extra) {
            (false, Some(_)) => Err(INVALID_VALUE),
            (true, Some(extra)) => from_buffer(kernel, device, extra),
            (true, None) if !kernel.parameters.is_empty() => Err(INVALID_VALUE),
            (_, None) => pointed(kernel, parameters),
        }
    }
}

/// The values that the array points to.
fn pointed(kernel: &Kernel, parameters: &In<'_, *mut c_void>) -> Outcome<Box<[u8]>> {
    let mut block = vec![0; kernel.parameter_bytes];
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        // SAFETY: 1: `read` looked that the array is not null, unless there are no parameters, and so by C8 it has a pointer for each.
        let pointer = unsafe { parameters.element(index) }.read()?;
        if pointer.is_null() {
            return Err(INVALID_VALUE);
        }
        if let Some(target) = block.get_mut(parameter.offset..parameter.offset + parameter.size) {
            // SAFETY: 1: the pointer, which is not null, goes by C8 to as many bytes as the parameter has, and `target`, which
            // is the driver's own, is as long; by C4 nothing writes them during the call.
            unsafe { passed::copy(pointer.cast(), target) };
        }
    }
    Ok(block.into())
}

/// The packed buffer of an `extra` list.
fn from_buffer(kernel: &Kernel, device: Architecture, extra: &In<'_, *mut c_void>) -> Outcome<Box<[u8]>> {
    let (buffer, size) = entries(extra)?;
    let (buffer, size) = match (buffer, size) {
        _ if kernel.parameters.is_empty() && size.unwrap_or(0) == 0 => return unpacked(kernel, device, &[]),
        (Some(buffer), Some(size)) if size > 0 && !buffer.is_null() => (buffer, size),
        _ => return Err(INVALID_VALUE),
    };
    if size > offsets(kernel, device).1 {
        return Err(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    let mut bytes = vec![0; size];
    // SAFETY: 1: the buffer, which is not null, has by C8 the size that the list says, as the new vector `bytes` has; by C4 nothing writes it
    // during the call.
    unsafe { passed::copy(buffer.cast(), &mut bytes) };
    unpacked(kernel, device, &bytes)
}

/// Parameters by the device's offsets, without padding at the end. Bytes that are too few leave the rest zero, too many are refused, as driver 580
/// does.
fn unpacked(kernel: &Kernel, device: Architecture, bytes: &[u8]) -> Outcome<Box<[u8]>> {
    let mut block = vec![0; kernel.parameter_bytes];
    let (offsets, total) = offsets(kernel, device);
    if bytes.len() > total {
        return Err(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    for (parameter, offset) in kernel.parameters.iter().zip(offsets) {
        let end = (offset + parameter.size).min(bytes.len());
        if let Some(value) = bytes.get(offset..end)
            && let Some(target) = block.get_mut(parameter.offset..parameter.offset + value.len())
        {
            target.copy_from_slice(value);
        }
    }
    Ok(block.into())
}

/// The buffer and the size in an `extra` list.
fn entries(extra: &In<'_, *mut c_void>) -> Outcome<(Option<*mut c_void>, Option<usize>)> {
    let (mut buffer, mut size) = (None, None);
    for index in 0.. {
        // SAFETY: 1: `read` looked that the list is not null; by C8 it goes on to its end, with a value for each key before that. Both calls below
        // come after keys that are none, so `at` is not behind the end.
        let entry = |at: usize| unsafe { extra.element(at) }.read();
        let key = entry(2 * index)?;
        if key == CU_LAUNCH_PARAM_END {
            break;
        }
        let value = entry(2 * index + 1)?;
        if key == CU_LAUNCH_PARAM_BUFFER_POINTER {
            buffer = Some(value);
        } else if key == CU_LAUNCH_PARAM_BUFFER_SIZE && !value.is_null() {
            // SAFETY: the value of this key, which is not null, points by C8 to a size: aligned, set and alone by C1, C2 and C4.
            size = Some(unsafe { value.cast::<usize>().read() });
        } else {
            return Err(INVALID_VALUE);
        }
    }
    Ok((buffer, size))
}
