//! The argument list of a launch: whether it can be one, and its bytes.
//!
//! Relies on: the program gives the driver a list that is as long as the kernel's parameters say, which no caller of C can be asked for.
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
/// 1. `arguments` is null, or has a pointer for each parameter, aligned and set; those that are addresses have as many
///    bytes as the parameter, initialised or padding of a C structure, which nothing writes during the call.
/// 2. `extra` is null, or a list that ends as the driver wants it, aligned and set, and its buffer has as many bytes as
///    it says, initialised or padding of a C structure; nothing writes list or buffer during the call.
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
        // SAFETY: 1: duty 2, as it is not null.
        return unsafe { packet(bytes, extra) };
    }
    let mut block = vec![0; bytes];
    if arguments == 0 && !parameters.is_empty() {
        let message = format!("kernelParams is null, but the kernel has {} parameters", parameters.len());
        return Err((Rule::MissingArguments, message));
    }
    for (number, (offset, size)) in parameters.iter().enumerate() {
        // SAFETY: 1: the list is not null where there are parameters, as was compared, and has a pointer for each,
        // aligned and set, which nothing writes: duty 1.
        let argument = unsafe { read::pointer(arguments, number) };
        if argument < LOWEST {
            let message = format!(
                "element {number} of kernelParams is {argument:#x}, but the kernel has {} parameters",
                parameters.len()
            );
            return Err((Rule::NullArgument, message));
        }
        if let Some(place) = block.get_mut(*offset..offset + size) {
            // SAFETY: 1: no null, so the address of `size` bytes of the program's, initialised or padding, which nobody
            // writes, by duty 1; the place has as many, and is this function's own.
            unsafe { read::into(argument, place) };
        }
    }
    Ok(block)
}

/// # Safety
///
/// 1. `extra` is a list that ends as the driver wants it, aligned and set, and its buffer has as many bytes as it says,
///    initialised or padding of a C structure; nothing writes list or buffer during the call.
unsafe fn packet(bytes: usize, extra: u64) -> Result<Vec<u8>, (Rule, String)> {
    let wrong = |message: String| Err((Rule::ArgumentPacket, message));
    let (mut buffer, mut size) = (0, None);
    // Two pairs and an end.
    for pair in (0..4).step_by(2) {
        // SAFETY: 1: until its end, where the loop stops, a list has aligned pairs, which are set and which nobody
        // writes, by duty 1.
        let key = unsafe { read::pointer(extra, pair) };
        if key == 0 {
            break;
        }
        // SAFETY: 1: the other half of that pair: the key, just compared, was not the end: duty 1.
        let value = unsafe { read::pointer(extra, pair + 1) };
        match u32::try_from(key) {
            Ok(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT) => buffer = value,
            Ok(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT) if value >= LOWEST => {
                // SAFETY: 1: the value of this key is the address of an aligned `size_t`, which is set and which nobody
                // writes, by duty 1.
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
        // SAFETY: 1: it has at least that many bytes, as its size, compared above, says; they are initialised or
        // padding of a C structure, and nothing writes them: duty 1.
        Some(_) => Ok(unsafe { read::block(buffer, bytes) }),
    }
}
