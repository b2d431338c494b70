//! The last error of the CUDA runtime, for programs that use it as a shared library.
//!
//! Programs that are linked with the static runtime, as `nvcc` does by default, do not export its functions, so their last error is
//! unknown.
//!
//! Relies on: a library that has `cudaPeekAtLastError` and `cudaGetErrorName` is a CUDA runtime.
#![allow(unsafe_code)] // Calls functions of other libraries, by name.

use cuda_driver_sys::CUresult;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

// SAFETY: the declarations match those of POSIX and of glibc's `stdlib.h`.
unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    safe fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

const RTLD_NOW: c_int = 2;
/// Opens the library only if it is loaded already.
const RTLD_NOLOAD: c_int = 4;
/// The library is never unloaded.
const RTLD_NODELETE: c_int = 0x1000;

/// Has a function called with the program's exit code when the program exits normally. This library stays loaded
/// until then.
///
/// Exit functions that the program registered before its first driver call run later, and so does the runtime's own.
pub(crate) fn at_exit(function: extern "C" fn(c_int, *mut c_void)) {
    let here = file_with(function as usize);
    let Some(file) = here.and_then(|file| CString::new(file).ok()) else { return };
    // SAFETY: the file's name is a C string that outlives the call; the library is loaded already, so none of its
    // code runs now.
    let own = unsafe { dlopen(file.as_ptr(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) };
    // Otherwise the library might be unloaded before the function is called.
    if !own.is_null() {
        on_exit(function, std::ptr::null_mut());
    }
}

/// The file that is mapped at an address.
fn file_with(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, path) = mapping(line)?;
        range.contains(&address).then(|| path.to_owned())
    })
}

/// Addresses and file of a line of `/proc/self/maps`.
fn mapping(line: &str) -> Option<(std::ops::Range<usize>, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, rest.get(rest.find('/')?..)?))
}

/// The last error of the calling thread, and its name; none if there is none, or no runtime.
pub(crate) fn last_error() -> Option<(CUresult, String)> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let files: BTreeSet<&str> = maps.lines().filter_map(|line| Some(mapping(line)?.1)).collect();
    files.into_iter().filter_map(|file| CString::new(file).ok()).find_map(|file| error_of(&file))
}

/// The same for the runtime in a mapped file, if the file is a CUDA runtime or depends on one.
fn error_of(file: &CStr) -> Option<(CUresult, String)> {
    // SAFETY: the name is a C string that outlives the call; a file that is not loaded as a library, such as a data file or a font, is
    // not loaded by this call, so none of its code runs.
    let library = unsafe { dlopen(file.as_ptr(), RTLD_NOW | RTLD_NOLOAD) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is loaded, until it is closed below; the names are C strings.
    let [peek, name] =
        unsafe { [c"cudaPeekAtLastError", c"cudaGetErrorName"].map(|name| dlsym(library, name.as_ptr())) };
    let found = (!peek.is_null() && !name.is_null()).then(|| {
        // SAFETY: checked to be not null, so by what this file relies on they are the runtime's functions of these names, with
        // these types: `cudaError_t cudaPeekAtLastError(void)`, `const char *cudaGetErrorName(cudaError_t)`. The text of the latter
        // belongs to the runtime and lives as long as the runtime is loaded.
        unsafe {
            let peek: extern "C" fn() -> c_int = std::mem::transmute(peek);
            let name: extern "C" fn(c_int) -> *const c_char = std::mem::transmute(name);
            let code = peek();
            let text = name(code);
            let text = if text.is_null() { "unknown".into() } else { CStr::from_ptr(text).to_string_lossy() };
            (CUresult(code as u32), text.into_owned())
        }
    });
    // SAFETY: it was opened above, and is not used any more.
    unsafe { dlclose(library) };
    found.filter(|(code, _)| *code != CUresult::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::{file_with, mapping};

    #[test]
    fn lines_of_the_map_are_read() {
        let line = "7f00-7fff r-xp 00000000 08:01 42   /usr/lib/a library.so";
        assert_eq!(mapping(line), Some((0x7f00..0x7fff, "/usr/lib/a library.so")));
        assert_eq!(mapping("7f00-7fff rw-p 00000000 00:00 0   [heap]"), None);
        assert_eq!(mapping(""), None);
        assert_eq!(mapping("x-7fff r-xp 0 0 0 /a"), None);
        let own = std::env::current_exe().ok();
        let found = file_with(file_with as fn(usize) -> _ as usize);
        assert!(found.is_some());
        assert_eq!(found.as_deref(), own.as_ref().and_then(|own| own.to_str()));
    }
}
