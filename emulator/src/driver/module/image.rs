//! From an image to the PTX in it.
//!
//! Relies on the program for an image in memory. It is what the API takes, whole: PTX with its NUL, a cubin, a fatbin, or the wrapper of
//! 24 bytes that compilers put around one, which has the address of another image. It comes without a length, which its own headers tell,
//! and for all of these bytes C1, C2 and C4 in `entry` hold. Files and inputs of links have a length, and nothing in them is believed.
#![allow(unsafe_code)]

use cuda_driver_sys::CUresult;
use cuda_ptx::image::{Arch, Entry, EntryKind, Fatbin, Image, ImageErrorKind, ImageKind};
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::log::Refusal;
use crate::architecture::Architecture;
use crate::driver::entry::{INVALID_VALUE, In, Outcome};

const ELF: [u8; 4] = *b"\x7fELF";
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
/// What to do about a damaged fatbin.
const DAMAGED: &str = "build it again, or copy it whole";
/// The number of NVIDIA's machine code in an ELF header.
const MACHINE_CUDA: u16 = 190;

/// Bytes that are read of what says no length of its own: a pipe, or a device such as `/dev/zero`, which never ends.
const LONGEST_UNMEASURED: u64 = 256 << 20;

/// The bytes of a file.
pub(super) fn file(path: &Path) -> Outcome<Vec<u8>> {
    let read = || {
        let file = File::open(path)?;
        let about = file.metadata()?;
        let most = if about.is_file() { u64::MAX } else { LONGEST_UNMEASURED + 1 };
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok((bytes, about.is_file()))
    };
    match read() {
        Ok((bytes, is_file)) if is_file || bytes.len() as u64 <= LONGEST_UNMEASURED => Ok(bytes),
        Ok(_) => Err(CUresult::CUDA_ERROR_INVALID_IMAGE),
        Err(error) if std::io::Error::kind(&error) == std::io::ErrorKind::NotFound => {
            Err(CUresult::CUDA_ERROR_FILE_NOT_FOUND)
        }
        Err(_) => Err(INVALID_VALUE),
    }
}

/// The PTX of an image in the program's memory: its own text, or the newest in a fatbin that fits the device.
pub(super) fn text<'call>(
    image: &In<'call, c_void>,
    device: Architecture,
) -> Result<Cow<'call, str>, Refusal> {
    // SAFETY: 1: what a program passes as an image is whole, and stays so for `'call`, as the head of this file says.
    unsafe { text_at(image.address(), device) }
}

/// The same for the image at an address, which may be null.
///
/// # Safety
///
/// 1. It is null or an image, whole, which is there for `'call` and nothing writes meanwhile.
unsafe fn text_at<'call>(image: *const c_void, device: Architecture) -> Result<Cow<'call, str>, Refusal> {
    if image.is_null() {
        return Err(INVALID_VALUE.into());
    }
    let start: *const u8 = image.cast();
    // SAFETY: 1: not null, so an image, whole, that nothing writes meanwhile: the caller's duty 1.
    if unsafe { begins(start, WRAPPER) } {
        // SAFETY: a wrapper has 24 bytes: behind magic number and version, 4 bytes each, stands the address of another image, at any alignment.
        let inner = unsafe { start.add(8).cast::<*const c_void>().read_unaligned() };
        // SAFETY: 1: what a wrapper goes around is as whole as the wrapper, and there as long: the caller's duty 1.
        return unsafe { text_at(inner, device) };
    }
    // SAFETY: 1: an image, whole, that nothing writes: the caller's duty 1; no wrapper, as `begins` has just said.
    let length = unsafe { length(start)? };
    // SAFETY: not null, and an image has that many bytes, as `length` says, set and in one allocation, at most `isize::MAX`; for `'call` they are
    // there and nothing writes them: duty 1.
    text_of(unsafe { std::slice::from_raw_parts(start, length) }, device)
}

/// The PTX of an image that is no longer than these bytes. Text may lack its NUL.
pub(super) fn text_of(bytes: &[u8], device: Architecture) -> Result<Cow<'_, str>, Refusal> {
    if bytes.starts_with(&ELF) {
        return Err(cubin(bytes, device));
    }
    if bytes.starts_with(&FATBIN) {
        return fatbin(bytes, device).map(Cow::Owned);
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    match (Image::identify(text), std::str::from_utf8(text)) {
        (Ok(ImageKind::Ptx), Ok(text)) => Ok(Cow::Borrowed(text)),
        _ => Err(Refusal::not_an_image()),
    }
}

/// Whether an image begins with a magic number, none of whose bytes is zero; text may be shorter than that.
///
/// # Safety
///
/// 1. An image is there, whole, and nothing writes it meanwhile.
unsafe fn begins(start: *const u8, magic: [u8; 4]) -> bool {
    // SAFETY: an image has its magic number whole, or is text with its NUL, which is different from `magic`: `all` reads no further than to the
    // first difference. So each byte that is read is one of the image, set, and nothing writes it: duty 1.
    magic.iter().enumerate().all(|(index, byte)| unsafe { start.add(index).read() } == *byte)
}

/// How many bytes of an image [`text_of`] looks at: as many as its own header says that it has, at most `isize::MAX`, or fewer.
///
/// # Safety
///
/// 1. An image other than a wrapper is there, whole, and nothing writes it meanwhile.
unsafe fn length(start: *const u8) -> Result<usize, Refusal> {
    // SAFETY: 1: an image, whole, that nothing writes meanwhile: the caller's duty 1.
    let (elf, fatbin) = unsafe { (begins(start, ELF), begins(start, FATBIN)) };
    if elf {
        // Up to the machine: the header of either class is longer.
        return Ok(20);
    }
    if !fatbin {
        // SAFETY: it is none of the binary forms, so text up to a NUL, in one allocation, which nothing writes: duty 1.
        return Ok(unsafe { CStr::from_ptr(start.cast()) }.count_bytes());
    }
    // SAFETY: a fatbin's header has 16 bytes: from 6 on its own length, two bytes, from 8 on the number of those that follow it. They are numbers,
    // read at any alignment, set and written by nothing else: duty 1.
    let (header, body) =
        unsafe { (start.add(6).cast::<u16>().read_unaligned(), start.add(8).cast::<u64>().read_unaligned()) };
    let bytes = usize::try_from(body).ok().and_then(|body| body.checked_add(usize::from(header)));
    let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or(CUresult::CUDA_ERROR_INVALID_IMAGE.into())
}

/// Machine code cannot be run here.
fn cubin(header: &[u8], device: Architecture) -> Refusal {
    match header {
        [_, _, _, _, class, ..] if *class != 2 => CUresult::CUDA_ERROR_UNKNOWN.into(),
        [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, low, high, ..]
            if u16::from_le_bytes([*low, *high]) == MACHINE_CUDA =>
        {
            Refusal::new(
                CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
                "error   : this is a cubin, machine code for a GPU: the emulator runs PTX only (`cuda-launch emulate` has \
                 compilers give PTX, and with `--explain` it lists what was refused, and why)"
                    .into(),
            )
            .of_kind("cubin")
            .help(format!(
                "load PTX instead (`nvcc --ptx`, or a fatbin with `-gencode arch=compute_{number},code=compute_{number}`); NVRTC, nvJitLink, \
                 ptxas and `nvcc --cubin` give PTX if they are started under `cuda-launch emulate`",
                number = device.number()
            ))
        }
        _ => CUresult::CUDA_ERROR_INVALID_IMAGE.into(),
    }
}

/// The newest PTX that fits the device.
fn fatbin(bytes: &[u8], device: Architecture) -> Result<String, Refusal> {
    // Contents are decompressed here too, within limits, and found whole.
    let fatbin = Fatbin::read(bytes).map_err(|error| {
        let code = match error.kind() {
            ImageErrorKind::TooLarge => CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            _ => CUresult::CUDA_ERROR_INVALID_IMAGE,
        };
        let refusal = Refusal::new(code, error.to_string());
        refusal.of_kind("invalid-image").help(DAMAGED)
    })?;
    let fits = |entry: &&Entry<'_>| entry.kind() == EntryKind::Ptx && device.runs(entry.arch());
    // Of two for one architecture, that which may use more of it.
    let rank = |entry: &&Entry<'_>| {
        let Arch { sm, suffix } = entry.arch();
        (sm, suffix.map_or(0, |suffix| if suffix == 'a' { 2 } else { 1 }))
    };
    let best = fatbin.entries().iter().filter(fits).max_by_key(rank);
    let entry = best.ok_or_else(|| {
        let log = format!(
            "error   : the fatbin has no PTX for {device} or older, and the emulator runs PTX only (`cuda-launch emulate \
             --explain` names the file that it is in)"
        );
        let number = device.number();
        let help = format!("build it with PTX, too: `-gencode arch=compute_{number},code=compute_{number}`");
        Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, log).of_kind("no-ptx").help(help)
    })?;
    plain(entry)
}

/// The text of an entry.
fn plain(entry: &Entry<'_>) -> Result<String, Refusal> {
    let corrupt = || {
        let log = "error   : a corrupt entry in the fatbin";
        let refusal = Refusal::new(CUresult::CUDA_ERROR_INVALID_IMAGE, log.into());
        refusal.of_kind("invalid-image").help(DAMAGED)
    };
    let mut text = entry.content().map_err(|_| corrupt())?.into_owned();
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
    match Image::identify(&text) {
        Ok(ImageKind::Ptx) => String::from_utf8(text).map_err(|_| corrupt()),
        _ => Err(corrupt()),
    }
}
