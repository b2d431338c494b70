//! The PTX in the images that a program loads.
//!
//! Relies on: the program gives the driver an image, which has the length that it says.
#![allow(unsafe_code)]

use super::call::Call;
use super::walk::Program;
use crate::read;
use cuda_ptx::image::{EntryKind, Fatbin};
use std::ffi::CStr;
use std::ptr::with_exposed_provenance;

/// PTX is kept for the kernels that will be launched; more than this is left alone.
const MOST: usize = 16 << 20;

/// What a program that was linked by the runtime has around a fatbin, and where in it the address of that is.
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
const IN_WRAPPER: usize = 8;

const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";

/// The PTX of a module or library.
#[derive(Debug)]
pub(super) struct Image(String);

impl Image {
    /// Of a call that loads one; none where it has no PTX, or cannot be read.
    ///
    /// # Safety
    ///
    /// 1. It is a call whose contract holds, and that succeeded.
    pub(super) unsafe fn loaded(call: &Call<'_>) -> Option<Image> {
        match call.function.name {
            "cuModuleLoadData" | "cuModuleLoadDataEx" | "cuModuleLoadFatBinary" | "cuLibraryLoadData" => {
                // SAFETY: 1: the driver has read it as an image, as the call succeeded: duty 1. 2: it is the program's,
                // who leaves it as it is until the call returns, by the call's contract.
                unsafe { at(with_exposed_provenance(call.word(1) as usize)) }
            }
            "cuModuleLoad" | "cuLibraryLoadFromFile" => {
                // SAFETY: 1: the path, a C string that nobody writes during the call, by the call's contract: duty 1.
                let path = unsafe { read::text(call.word(1)) }?;
                let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MOST as u64);
                let bytes = std::fs::read(path).ok().filter(|_| is_small)?;
                of_bytes(&bytes)
            }
            _ => None,
        }
    }

    /// What a kernel of it does.
    pub(super) fn program(&self, kernel: &str) -> Option<Program> {
        Program::of(&self.0, kernel)
    }
}

/// # Safety
///
/// 1. At the address is an image that a driver has read: text with its NUL, or one of the binary forms with all that its headers say is
///    in it.
/// 2. Nobody writes it during the call.
unsafe fn at(start: *const u8) -> Option<Image> {
    // SAFETY: by duty 1 an image is there, which nobody writes, by duty 2: it has its magic number whole, or is text
    // with its NUL, and no magic number has a zero byte, so that the first difference comes at the latest there, and
    // `all` reads no further.
    let begins =
        |magic: [u8; 4]| magic.iter().enumerate().all(|(at, byte)| unsafe { start.add(at).read() } == *byte);
    if begins(ELF) {
        return None;
    }
    if begins(WRAPPER) {
        // SAFETY: the wrapper has the address of a fatbin there, all 8 bytes written, by duty 1, and nobody writes them
        // now, by duty 2; an unaligned read asks for no more.
        let inner = unsafe { start.add(IN_WRAPPER).cast::<*const u8>().read_unaligned() };
        // SAFETY: 1, 2: it is not null, so the address of an image that the driver read with this one, by duties 1 and 2.
        return if inner.is_null() { None } else { unsafe { at(inner) } };
    }
    if !begins(FATBIN) {
        // SAFETY: it is none of the binary forms, so text with its NUL, by duty 1, which nobody writes, by duty 2.
        return of_bytes(unsafe { CStr::from_ptr(start.cast()) }.to_bytes());
    }
    // SAFETY: it begins as a fatbin does, whose header has 16 bytes, by duty 1, which nobody writes, by duty 2; the
    // last 8 are the number of those that follow it. Unaligned reads ask for no more.
    let (header, body) =
        unsafe { (start.add(6).cast::<u16>().read_unaligned(), start.add(8).cast::<u64>().read_unaligned()) };
    let bytes = usize::try_from(body).ok()?.checked_add(header.into()).filter(|bytes| *bytes <= MOST)?;
    // SAFETY: the header says that the image has that many bytes, at most `MOST`, so that they are there, by duty 1,
    // and nobody writes them during the call, by duty 2: the slice is not used after it. Bytes need no alignment.
    of_bytes(unsafe { std::slice::from_raw_parts(start, bytes) })
}

/// The text, or that of the newest architecture in a fatbin.
fn of_bytes(bytes: &[u8]) -> Option<Image> {
    if !bytes.starts_with(&FATBIN) {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= MOST)?;
        return (!bytes.starts_with(&ELF)).then(|| Image(text.to_owned()));
    }
    let fatbin = Fatbin::read(bytes).ok()?;
    let texts = fatbin.entries().iter().filter(|entry| entry.kind() == EntryKind::Ptx);
    let newest = texts.max_by_key(|entry| entry.arch().sm).filter(|entry| entry.size() <= MOST as u64)?;
    let content = newest.content().ok()?;
    let text = content.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(Image(std::str::from_utf8(text).ok()?.to_owned()))
}
