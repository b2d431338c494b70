//! NVRTC: compiles for a virtual architecture (`compute_90`) where it is asked for a real one (`sm_90`), and gives the PTX as the cubin.
#![allow(unsafe_code)] // C functions, and calls of the program's own.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use crate::real::{Compiler, forward};
use crate::registers;
use crate::version::lower;

/// `NVRTC_SUCCESS`
const SUCCESS: usize = 0;
/// `NVRTC_ERROR_INTERNAL_ERROR`
const INTERNAL: usize = 11;

/// Programs, by their handles, that were compiled for another architecture than they were to be, and how many registers their kernels are to have
/// at most; 0 is no limit.
static VIRTUAL: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

forward! { Nvrtc, INTERNAL;
    nvrtcAddNameExpression nvrtcCreateProgram nvrtcGetBundledHeadersInfo nvrtcGetLTOIR nvrtcGetLTOIRSize nvrtcGetLoweredName
    nvrtcGetNVVM nvrtcGetNVVMSize nvrtcGetNumSupportedArchs nvrtcGetOptiXIR nvrtcGetOptiXIRSize nvrtcGetPCHCreateStatus
    nvrtcGetPCHHeapSize nvrtcGetPCHHeapSizeRequired nvrtcGetPTXSize nvrtcGetProgramLog nvrtcGetProgramLogSize nvrtcGetSupportedArchs
    nvrtcGetTileIR nvrtcGetTileIRSize nvrtcInstallBundledHeaders nvrtcRemoveBundledHeaders nvrtcSetFlowCallback nvrtcSetPCHHeapSize
    nvrtcVersion
}

/// `nvrtcGetErrorString`
// SAFETY: the name is the C function's, and no other function of this library has it. A pointer and a `usize` are in
// the same register, and so is an enum, of which the library's function reads the 32 bits that it has in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetErrorString(result: usize) -> usize {
    let missing = c"NVRTC_ERROR_INTERNAL_ERROR".as_ptr() as usize;
    // SAFETY: 1: it takes one number and returns a pointer. 2: any number keeps its contract.
    unsafe { Compiler::Nvrtc.call(c"nvrtcGetErrorString", [result, 0, 0, 0, 0, 0], missing) }
}

/// `nvrtcCompileProgram`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcCompileProgram(
    program: usize,
    count: c_int,
    options: *const *const c_char,
) -> usize {
    let given = usize::try_from(count).ok().filter(|_| !options.is_null()).unwrap_or(0);
    // SAFETY: by the function's contract there are as many options, `count` aligned pointers, each to a text with its
    // NUL; nobody writes either during the call, and the texts are copied in it.
    let given: Vec<&CStr> = (0..given).map(|at| unsafe { CStr::from_ptr(*options.add(at)) }).collect();
    let most = registers::of(given.iter().map(|option| option.to_bytes()));
    let asked: Vec<(CString, bool)> = virtually(given.into_iter());
    let is_changed = asked.iter().any(|(_, is_changed)| *is_changed);
    let pointers: Vec<*const c_char> = asked.iter().map(|(option, _)| option.as_ptr()).collect();
    let mut known = VIRTUAL.lock().unwrap_or_else(PoisonError::into_inner);
    if is_changed {
        known.insert(program, most);
    } else {
        known.remove(&program);
    }
    drop(known);
    let options = if pointers.is_empty() { options as usize } else { pointers.as_ptr() as usize };
    // SAFETY: 1: it takes a handle, a number and a pointer. 2: the program's own handle, and as many options as there
    // were, each with its NUL, which live over the call.
    unsafe {
        Compiler::Nvrtc.call(c"nvrtcCompileProgram", [program, count as usize, options, 0, 0, 0], INTERNAL)
    }
}

/// The options, and which of them named a real architecture: `-arch=sm_90`, or `-arch` and then `sm_90`.
fn virtually<'o>(options: impl Iterator<Item = &'o CStr>) -> Vec<(CString, bool)> {
    const NAMES: [&[u8]; 2] = [b"--gpu-architecture", b"-arch"];
    let mut is_next = false;
    let mut asked = Vec::new();
    for option in options {
        let bytes = option.to_bytes();
        let (before, value) =
            match NAMES.iter().find_map(|name| bytes.strip_prefix(*name)?.strip_prefix(b"=")) {
                Some(value) => bytes.split_at(bytes.len() - value.len()),
                None if is_next => bytes.split_at(0),
                None => bytes.split_at(bytes.len()),
            };
        is_next = NAMES.contains(&bytes);
        let changed = value.strip_prefix(b"sm_").map(|number| [before, b"compute_", number].concat());
        let is_changed = changed.is_some();
        let changed = changed.and_then(|option| CString::new(option).ok());
        asked.push((changed.unwrap_or_else(|| option.to_owned()), is_changed));
    }
    asked
}

/// What stands for a cubin.
enum Image {
    /// The library's own.
    Real,
    /// The PTX, which NVRTC still has.
    Ptx,
    /// The PTX with a limit of registers.
    Limited(Vec<u8>),
}

impl Image {
    fn of(program: usize) -> Image {
        let most = VIRTUAL.lock().unwrap_or_else(PoisonError::into_inner).get(&program).copied();
        match most {
            None => Image::Real,
            Some(0) => Image::Ptx,
            Some(most) => {
                ptx_of(program).map_or(Image::Ptx, |text| Image::Limited(registers::limited(text, most)))
            }
        }
    }
}

/// The size of a program's PTX, with its NUL; an error is NVRTC's.
fn ptx_size(program: usize) -> Result<usize, usize> {
    let mut size = 0_usize;
    // SAFETY: 1: it takes a handle and a place for a size. 2: the caller's handle, and a local place that outlives the
    // call.
    let code = unsafe {
        Compiler::Nvrtc.call(c"nvrtcGetPTXSize", [program, &raw mut size as usize, 0, 0, 0, 0], INTERNAL)
    };
    // An enum of 32 bits: the others of the register mean nothing.
    if code as u32 as usize == SUCCESS { Ok(size) } else { Err(code) }
}

/// A program's PTX, with its NUL.
fn ptx_of(program: usize) -> Option<Vec<u8>> {
    let mut text = vec![0_u8; ptx_size(program).ok()?];
    // SAFETY: its contract: the caller's own handle, and as many bytes as the PTX has, which nobody else uses.
    let code = unsafe { nvrtcGetPTX(program, text.as_mut_ptr()) };
    (code as u32 as usize == SUCCESS).then_some(text)
}

/// `nvrtcGetCUBINSize`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetCUBINSize(program: usize, size: *mut usize) -> usize {
    let name = match Image::of(program) {
        Image::Limited(text) if !size.is_null() => {
            // SAFETY: not null, as was checked, so by the function's contract an aligned place for a size, which
            // nobody else uses during the call.
            unsafe { size.write(text.len()) };
            return SUCCESS;
        }
        Image::Real => c"nvrtcGetCUBINSize",
        _ => c"nvrtcGetPTXSize",
    };
    // SAFETY: 1: both take a handle and a place for a size. 2: the caller's own, which keep the contract of either: it
    // is the same.
    unsafe { Compiler::Nvrtc.call(name, [program, size as usize, 0, 0, 0, 0], INTERNAL) }
}

/// `nvrtcGetCUBIN`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetCUBIN(program: usize, cubin: *mut u8) -> usize {
    match Image::of(program) {
        Image::Limited(text) if !cubin.is_null() => {
            // SAFETY: not null, as was checked; the caller's place, which nobody else uses, has the size that
            // `nvrtcGetCUBINSize` gave, which was that of this text: NVRTC answers the same until the program is compiled again. The text is
            // this library's own, so the place is not in it. Bytes need no alignment.
            unsafe { cubin.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
            return SUCCESS;
        }
        // SAFETY: its contract: the caller's own handle, and a place of the size that `nvrtcGetCUBINSize` gave, which
        // was that of the PTX.
        Image::Ptx | Image::Limited(_) => return unsafe { nvrtcGetPTX(program, cubin) },
        Image::Real => {}
    }
    // SAFETY: 1: the C function takes a handle and an output pointer. 2: both are the caller's, who upholds the
    // contract of this function, which is that of the C function.
    unsafe { Compiler::Nvrtc.call(c"nvrtcGetCUBIN", [program, cubin as usize, 0, 0, 0, 0], INTERNAL) }
}

/// `nvrtcGetPTX`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetPTX(program: usize, ptx: *mut u8) -> usize {
    let size = match ptx_size(program) {
        Ok(size) => size,
        Err(code) => return code,
    };
    // SAFETY: 1: the C function takes a handle and an output pointer. 2: both are the caller's, who upholds the
    // contract of this function, which is that of the C function.
    let code = unsafe { Compiler::Nvrtc.call(c"nvrtcGetPTX", [program, ptx as usize, 0, 0, 0, 0], INTERNAL) };
    if code as u32 as usize == SUCCESS && !ptx.is_null() {
        // SAFETY: not null, as was checked; by the function's contract the place has that size, which nobody else uses
        // during the call, and now holds the text, whose every byte is set. Bytes need no alignment.
        lower(unsafe { std::slice::from_raw_parts_mut(ptx, size) });
    }
    code
}

/// `nvrtcDestroyProgram`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcDestroyProgram(program: *mut usize) -> usize {
    // SAFETY: by the function's contract null, or an aligned place that holds a handle, which nobody writes before the
    // call below: the reference is not used after this.
    if let Some(handle) = unsafe { program.as_ref() } {
        VIRTUAL.lock().unwrap_or_else(PoisonError::into_inner).remove(handle);
    }
    // SAFETY: 1: it takes the place of a handle. 2: the caller's own, which keeps its contract, that of this function.
    unsafe { Compiler::Nvrtc.call(c"nvrtcDestroyProgram", [program as usize, 0, 0, 0, 0, 0], INTERNAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_architectures_become_virtual_ones() {
        let options = [
            c"-O3",
            c"-arch=sm_90a",
            c"--gpu-architecture",
            c"sm_75",
            c"sm_75",
            c"-arch=compute_80",
            c"-DX=sm_1",
        ];
        let asked = virtually(options.into_iter());
        let texts: Vec<&CStr> = asked.iter().map(|(option, _)| option.as_c_str()).collect();
        let expected = [
            c"-O3",
            c"-arch=compute_90a",
            c"--gpu-architecture",
            c"compute_75",
            c"sm_75",
            c"-arch=compute_80",
            c"-DX=sm_1",
        ];
        assert_eq!(texts, expected);
        assert_eq!(asked.iter().filter(|(_, is_changed)| *is_changed).count(), 2);
    }
}
