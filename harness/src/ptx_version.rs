//! PTX that came after the version that a spy claims to be: drivers of that version do not read it.
//!
//! Relies on: the caller keeps the contract of the function, so an image is text with its NUL, or one of the binary formats.
#![allow(unsafe_code)]

use crate::functions::Function;
use crate::read;
use std::ffi::CStr;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// `CU_JIT_INPUT_PTX`
const PTX: u64 = 1;
/// `CU_JIT_ERROR_LOG_BUFFER`, and its size.
const LOG: u32 = 5;
const LOG_SIZE: u32 = 6;
/// What ELF files, fatbins and the wrappers of fatbins begin with, and no PTX.
const BINARY: [u8; 3] = [0x7f, 0x50, 0xb1];
/// A header is looked for in so many bytes of a file.
const MOST: u64 = 1 << 20;

/// What drivers of a version do not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Later {
    /// Of the text.
    has: (u32, u32),
    /// The newest that they read.
    newest: (u32, u32),
}

/// The PTX that the call loads or links, if it is newer than that.
///
/// # Safety
///
/// 1. The words are the arguments of a call of that function, whose contract holds.
pub(crate) unsafe fn later(function: &Function, words: &[u64], newest: Option<(u32, u32)>) -> Option<Later> {
    let newest = newest?;
    let has = match (function.name, words) {
        (
            "cuModuleLoadData" | "cuModuleLoadDataEx" | "cuModuleLoadFatBinary" | "cuLibraryLoadData",
            [_, image, ..],
        ) => {
            // SAFETY: 1: an image, or null, by duty 1.
            unsafe { of_image(*image) }
        }
        // SAFETY: 1: a path, or null, by duty 1.
        ("cuModuleLoad" | "cuLibraryLoadFromFile", [_, path, ..]) => unsafe { of_file(*path) },
        // SAFETY: 1: that many bytes, of which nothing is written during the call, by duty 1.
        ("cuLinkAddData_v2", [_, kind, data, size, ..]) if is(*kind) && *data != 0 => unsafe {
            of_text(&read::block(*data, (*size).min(MOST) as usize))
        },
        // SAFETY: 1: a path, or null, by duty 1.
        ("cuLinkAddFile_v2", [_, kind, path, ..]) if is(*kind) => unsafe { of_file(*path) },
        _ => None,
    }?;
    (has > newest).then_some(Later { has, newest })
}

fn is(kind: u64) -> bool {
    u64::from(kind as u32) == PTX
}

impl Later {
    /// Writes the sentence of a driver into the error log of the call, if it has one, and its length beside it: without the NUL, or
    /// the size of the log where it was cut.
    ///
    /// # Safety
    ///
    /// 1. The words are the arguments of a call of that function, whose contract holds, and which the driver does not get.
    pub(crate) unsafe fn tell(self, function: &Function, words: &[u64]) {
        let (count, options, values) = match (function.name, words) {
            ("cuModuleLoadDataEx", [_, _, count, options, values]) => (*count, *options, *values),
            ("cuLibraryLoadData" | "cuLibraryLoadFromFile", [_, _, options, values, count, ..]) => {
                (*count, *options, *values)
            }
            ("cuLinkAddData_v2", [.., count, options, values]) => (*count, *options, *values),
            ("cuLinkAddFile_v2", [.., count, options, values]) => (*count, *options, *values),
            _ => return,
        };
        if options == 0 || values == 0 {
            return;
        }
        let (options, values) = (
            with_exposed_provenance::<u32>(options as usize),
            with_exposed_provenance_mut::<u64>(values as usize),
        );
        let place = |option: u32| {
            // SAFETY: two arrays of that many elements, which nothing writes during the call, by duty 1; reads need no alignment here.
            (0..count as u32 as usize).find_map(|at| unsafe {
                (options.add(at).read_unaligned() == option).then(|| values.add(at))
            })
        };
        let (Some(buffer), Some(size_at)) = (place(LOG), place(LOG_SIZE)) else { return };
        // SAFETY: elements of the array of values, as above.
        let (buffer, size) = unsafe { (buffer.read_unaligned(), size_at.read_unaligned() as u32 as usize) };
        let text = self.to_string();
        if buffer != 0 && size != 0 {
            let shown = text.as_bytes().get(..text.len().min(size - 1)).unwrap_or_default();
            let log = with_exposed_provenance_mut::<u8>(buffer as usize);
            // SAFETY: the program's buffer of `size` bytes for the log, which nothing else uses during the call, by duty 1; the text and its NUL
            // are at most that long, and no part of the buffer.
            unsafe {
                log.copy_from_nonoverlapping(shown.as_ptr(), shown.len());
                log.add(shown.len()).write(0);
            }
        }
        // SAFETY: the element of the array of values, which the driver writes for this option: duty 1.
        unsafe { size_at.write_unaligned(text.len().min(size) as u64) };
    }
}

impl std::fmt::Display for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ((major, minor), (newest, least)) = (self.has, self.newest);
        write!(
            f,
            "ptxas fatal   : Unsupported .version {major}.{minor}; current version is '{newest}.{least}'"
        )
    }
}

/// # Safety
///
/// 1. The address is null or that of an image: text with its NUL, or one of the binary formats. Nothing writes it during the call.
unsafe fn of_image(address: u64) -> Option<(u32, u32)> {
    let first = with_exposed_provenance::<u8>(address as usize);
    // SAFETY: not null, as is compared before, so an image is there, of at least one byte, by duty 1.
    if address == 0 || BINARY.contains(&unsafe { first.read() }) {
        return None;
    }
    // SAFETY: it begins like none of the binary formats, so it is text with its NUL, by duty 1.
    of_text(unsafe { CStr::from_ptr(first.cast()) }.to_bytes())
}

/// # Safety
///
/// 1. The address is null or that of a C string, which nothing writes during the call.
unsafe fn of_file(path: u64) -> Option<(u32, u32)> {
    use std::io::Read;
    // SAFETY: 1: duty 1.
    let path = unsafe { read::text(path) }?;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    of_text(&bytes)
}

/// What the first directive of a text says; `None` if that is not a version.
fn of_text(bytes: &[u8]) -> Option<(u32, u32)> {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut text = text.get(..text.len().min(MOST as usize)).unwrap_or_default().trim_ascii_start();
    loop {
        let end: &[u8] = match text {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => break,
        };
        let at = text.windows(end.len()).skip(2).position(|part| part == end)? + 2;
        text = text.get(at + end.len()..)?.trim_ascii_start();
    }
    let version = text.strip_prefix(b".version")?.trim_ascii_start();
    let length = version.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let version = std::str::from_utf8(version.get(..length)?).ok()?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::of_text;

    #[test]
    fn a_version_is_the_first_directive() {
        assert_eq!(of_text(b".version 8.7\n.target sm_90"), Some((8, 7)));
        assert_eq!(
            of_text(b"// .version 1.0\n/* .version\n2.0 **/ .version\t7.8 // x\0.version 9.9"),
            Some((7, 8))
        );
        assert_eq!(of_text(b"//\n.version 6.0"), Some((6, 0)));
        for text in
            [&b".target sm_90\n.version 8.7"[..], b"/* .version 8.7", b".version x", b"", b"// no end"]
        {
            assert_eq!(of_text(text), None);
        }
    }
}
