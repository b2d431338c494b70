//! The argument list of a launch: its validation, and its bytes.
//!
//! Relies on: the program passes a list that is as long as the kernel's parameters require, which cannot be checked.
#![allow(unsafe_code)]

use super::rule::Rule;
use crate::read;
use cuda_driver_sys::{CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT};

/// The first page is never mapped.
const LOWEST: u64 = 4096;

/// The arguments at their offsets, or what is wrong with the list.
///
/// # Safety
///
/// 1. `arguments` is null, or has an aligned and initialised pointer for each parameter; those that are addresses are
///    valid for reads of the parameter's size, and the bytes are initialised or padding of a C structure and not
///    written during the call.
/// 2. `extra` is null, or an aligned and initialised list with the end mark that the driver requires, and its buffer
///    has as many bytes as it says, initialised or padding of a C structure; neither is written during the call.
pub(super) unsafe fn arguments(
    parameters: &[(usize, usize)],
    bytes: usize,
    arguments: u64,
    extra: u64,
) -> Result<Vec<u8>, (Rule, String)> {
    if arguments != 0 && extra != 0 {
        let message = "kernelParams and extra are both given, but the driver accepts only one".to_owned();
        return Err((Rule::ArgumentPacket, message));
    }
    if extra != 0 {
        // SAFETY: 1: duty 2, because it is not null.
        return unsafe { packet(bytes, extra) };
    }
    let mut block = vec![0; bytes];
    if arguments == 0 && !parameters.is_empty() {
        let message = format!("kernelParams is null, but the kernel has {} parameters", parameters.len());
        return Err((Rule::MissingArguments, message));
    }
    for (number, (offset, size)) in parameters.iter().enumerate() {
        // SAFETY: 1: the list was checked to be not null if there are parameters, and has an aligned and initialised
        // pointer for each, which is not written: duty 1.
        let argument = unsafe { read::pointer(arguments, number) };
        if argument < LOWEST {
            let message = format!(
                "element {number} of kernelParams is {argument:#x}, but the kernel has {} parameters",
                parameters.len()
            );
            return Err((Rule::NullArgument, message));
        }
        if let Some(place) = block.get_mut(*offset..offset + size) {
            // SAFETY: 1: not null, so the address of `size` bytes of the program, initialised or padding, which are not
            // written, by duty 1; the destination has as many bytes and belongs to this function.
            unsafe { read::into(argument, place) };
        }
    }
    Ok(block)
}

/// # Safety
///
/// 1. `extra` is an aligned and initialised list with the end mark that the driver requires, and its buffer has as many
///    bytes as it says, initialised or padding of a C structure; neither is written during the call.
unsafe fn packet(bytes: usize, extra: u64) -> Result<Vec<u8>, (Rule, String)> {
    let wrong = |message: String| Err((Rule::ArgumentPacket, message));
    let (mut buffer, mut size) = (0, None);
    // Two pairs and an end.
    for pair in (0..4).step_by(2) {
        // SAFETY: 1: up to its end, where the loop stops, a list has aligned and initialised pairs, which are not
        // written, by duty 1.
        let key = unsafe { read::pointer(extra, pair) };
        if key == 0 {
            break;
        }
        // SAFETY: 1: the other half of that pair, whose key was just checked not to be the end: duty 1.
        let value = unsafe { read::pointer(extra, pair + 1) };
        match u32::try_from(key) {
            Ok(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT) => buffer = value,
            Ok(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT) if value >= LOWEST => {
                // SAFETY: 1: the value of this key is the address of an aligned, initialised `size_t`, which is not
                // written, by duty 1.
                size = Some(unsafe { read::structure::<usize>(value) });
            }
            _ => return wrong(format!("element {pair} of extra is {key:#x}, which is not a known key")),
        }
    }
    match size {
        None => wrong("extra has no CU_LAUNCH_PARAM_BUFFER_SIZE".to_owned()),
        Some(size) if size < bytes => {
            wrong(format!("the buffer in extra has {size} bytes, but the kernel's parameters take {bytes}"))
        }
        Some(_) if buffer < LOWEST && bytes != 0 => {
            wrong("extra has no CU_LAUNCH_PARAM_BUFFER_POINTER, or a null one".to_owned())
        }
        // SAFETY: 1: it has at least that many bytes by its size, which was checked above; they are initialised or
        // padding of a C structure, and not written: duty 1.
        Some(_) => Ok(unsafe { read::block(buffer, bytes) }),
    }
}
