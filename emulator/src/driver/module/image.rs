//! From an image in memory to the PTX in it.
//!
//! Relies on the program: an image is what the API takes, whole: PTX with its NUL, a cubin, a fatbin or the wrapper that
//! compilers put around one. It comes without a length, which its own headers tell.
#![allow(unsafe_code)]

use cuda_driver_sys::CUresult;
use cuda_ptx::image::{Entry, EntryKind, Fatbin, Image, ImageErrorKind, ImageKind};
use std::borrow::Cow;
use std::ffi::{CStr, c_void};

use super::log::Refusal;
use crate::driver::entry::{INVALID_VALUE, Outcome};

const ELF: [u8; 4] = *b"\x7fELF";
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
/// The number of NVIDIA's machine code in an ELF header.
const MACHINE_CUDA: u16 = 190;

/// A file with a NUL behind it.
pub(super) fn file(path: &str) -> Outcome<Vec<u8>> {
    let mut bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CUresult::CUDA_ERROR_FILE_NOT_FOUND,
        _ => INVALID_VALUE,
    })?;
    // A cut header is read to its end all the same.
    bytes.resize(bytes.len() + 64, 0);
    Ok(bytes)
}

/// The PTX of an image: its own text, or the newest in a fatbin that fits the device.
pub(super) fn text<'a>(image: *const c_void) -> Result<Cow<'a, str>, Refusal> {
    if image.is_null() {
        return Err(INVALID_VALUE.into());
    }
    let start: *const u8 = image.cast();
    if begins(start, ELF) {
        return Err(cubin(start));
    }
    if begins(start, WRAPPER) {
        // SAFETY: behind the magic and version stands the address of the fatbin.
        return text(unsafe { start.add(8).cast::<*const c_void>().read_unaligned() });
    }
    if begins(start, FATBIN) {
        return fatbin(start);
    }
    // SAFETY: it is none of the binary forms, so text with its NUL.
    let text = unsafe { CStr::from_ptr(start.cast()) };
    match (Image::identify(text.to_bytes()), text.to_str()) {
        (Ok(ImageKind::Ptx), Ok(text)) => Ok(Cow::Borrowed(text)),
        _ => Err(Refusal::not_an_image()),
    }
}

/// Whether an image begins with a magic number; text may be shorter than that.
fn begins(start: *const u8, magic: [u8; 4]) -> bool {
    // SAFETY: no magic number has a zero byte, so that the first difference comes at the latest at the NUL of a text.
    magic.iter().enumerate().all(|(index, byte)| unsafe { start.add(index).read() } == *byte)
}

/// Machine code cannot be run here.
fn cubin(start: *const u8) -> Refusal {
    // SAFETY: an ELF header has 64 bytes.
    let header = unsafe { std::slice::from_raw_parts(start, 64) };
    match header {
        [_, _, _, _, class, ..] if *class != 2 => CUresult::CUDA_ERROR_UNKNOWN.into(),
        [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, low, high, ..]
            if u16::from_le_bytes([*low, *high]) == MACHINE_CUDA =>
        {
            Refusal::new(
                CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
                "error   : this is a cubin, machine code for a GPU: the emulator runs PTX only".into(),
            )
        }
        _ => CUresult::CUDA_ERROR_INVALID_IMAGE.into(),
    }
}

fn fatbin<'a>(start: *const u8) -> Result<Cow<'a, str>, Refusal> {
    // SAFETY: a fatbin's header has 16 bytes; the last 8 are the number of those that follow it.
    let (header, body) =
        unsafe { (start.add(6).cast::<u16>().read_unaligned(), start.add(8).cast::<u64>().read_unaligned()) };
    let bytes = usize::try_from(body).ok().and_then(|body| body.checked_add(usize::from(header)));
    let bytes =
        bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or(CUresult::CUDA_ERROR_INVALID_IMAGE)?;
    // SAFETY: by its own header the fatbin is that long.
    let bytes: &[u8] = unsafe { std::slice::from_raw_parts(start, bytes) };
    // Contents are decompressed here too, within limits, and found whole.
    let fatbin = Fatbin::read(bytes).map_err(|error| {
        let code = match error.kind() {
            ImageErrorKind::TooLarge => CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            _ => CUresult::CUDA_ERROR_INVALID_IMAGE,
        };
        Refusal::new(code, error.to_string())
    })?;
    let fits = |entry: &&Entry<'_>| entry.kind() == EntryKind::Ptx && entry.arch().sm <= 90;
    let best = fatbin.entries().iter().filter(fits).max_by_key(|entry| entry.arch().sm);
    let entry = best.ok_or_else(|| {
        let log = "error   : the fatbin has no PTX for sm_90 or older, and the emulator runs PTX only";
        Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, log.into())
    })?;
    plain(entry).map(Cow::Owned)
}

/// The text of an entry.
fn plain(entry: &Entry<'_>) -> Result<String, Refusal> {
    let corrupt =
        || Refusal::new(CUresult::CUDA_ERROR_INVALID_IMAGE, "error   : a corrupt entry in the fatbin".into());
    let mut text = entry.content().map_err(|_| corrupt())?.into_owned();
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
    match Image::identify(&text) {
        Ok(ImageKind::Ptx) => String::from_utf8(text).map_err(|_| corrupt()),
        _ => Err(corrupt()),
    }
}
