//! What glibc's loader keeps of a library.
#![allow(unsafe_code)] // Reads the loader's memory.

use std::ffi::{CStr, c_char};

/// The head of the loader's `struct link_map` (`link.h`).
#[repr(C)]
pub(crate) struct LinkMap {
    address: usize,
    pub(crate) name: *const c_char,
    dynamic: *const Dynamic,
}

/// An entry of a library's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: usize,
    value: usize,
}

const END: usize = 0;
const STRINGS: usize = 5;
const SONAME: usize = 14;

impl LinkMap {
    /// The name by which other libraries need this one.
    ///
    /// # Safety
    ///
    /// 1. The structure is the loader's, of a library that stays loaded as long as the name is used.
    pub(crate) unsafe fn soname(&self) -> Option<&CStr> {
        let (mut strings, mut soname, mut entry) = (None, None, self.dynamic);
        // SAFETY: null, or the library's section, which stays as long as it is loaded, by duty 1: aligned entries, of
        // which the last has this tag; the loop ends there. The loader wrote them before, and nobody does now.
        while let Some(found) = unsafe { entry.as_ref() }.filter(|entry| entry.tag != END) {
            match found.tag {
                STRINGS => strings = Some(found.value),
                SONAME => soname = Some(found.value),
                _ => {}
            }
            // SAFETY: it was not the last, so the next is in the same section.
            entry = unsafe { entry.add(1) };
        }
        // The kernel's own library keeps an offset where all others have an address.
        let strings = strings.filter(|strings| *strings >= self.address)?;
        let name = strings.checked_add(soname?)? as *const c_char;
        // SAFETY: glibc has written the address of the strings over their offset, and the name, with its NUL, is one of
        // them. Nobody writes them, and they stay as long as the library, by duty 1.
        Some(unsafe { CStr::from_ptr(name) })
    }
}
