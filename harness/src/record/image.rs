//! The bytes of the images that a program loads.
//!
//! Relies on: the program gives the driver an image, which has the length that it says.
#![allow(unsafe_code)]

use crate::functions::Plain;
use crate::read;
use std::ffi::CStr;
use std::ptr::with_exposed_provenance;

/// What a program that was linked by the runtime has around a fatbin, and where in it the address of that is.
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
const IN_WRAPPER: u64 = 8;
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";
/// Bytes of the header of an ELF file, and of one in its list of sections.
const ELF_HEADER: usize = 64;
const SECTION: usize = 64;
/// Which of its bytes says how wide the file's addresses are, and what it says for 64 bits: no others have these headers.
const CLASS: u64 = 4;
const OF_64_BITS: u8 = 2;
/// The kind of section that has no bytes in the file.
const NO_BITS: u32 = 8;

/// What a call loads; none for calls that load nothing, and for images larger than `most`.
///
/// # Safety
///
/// 1. They are name and arguments of a call whose contract holds, and that succeeded.
pub(super) unsafe fn loaded(function: &str, words: &[u64], most: usize) -> Option<Vec<u8>> {
    let image = words.get(1).copied()?;
    match function {
        // SAFETY: 1: the driver has read it as an image, as the call succeeded: duty 1. 2: it is the program's, who
        // leaves it as it is until the call returns, by the call's contract.
        "cuModuleLoadData" | "cuModuleLoadDataEx" | "cuModuleLoadFatBinary" => unsafe { at(image, most) },
        // SAFETY: 1, 2: as above.
        "cuLibraryLoadData" => unsafe { at(image, most) },
        "cuModuleLoad" | "cuLibraryLoadFromFile" => {
            // SAFETY: 1: the path, a C string that nothing writes during the call, by the call's contract: duty 1.
            let path = unsafe { read::text(image) }?;
            std::fs::metadata(&path).ok().filter(|file| file.len() <= most as u64)?;
            std::fs::read(path).ok()
        }
        _ => None,
    }
}

/// # Safety
///
/// 1. At the address is an image that a driver has read: text with its NUL, or one of the binary forms with all that its headers say is
///    in it.
/// 2. Nobody writes it during the call.
unsafe fn at(start: u64, most: usize) -> Option<Vec<u8>> {
    let first = with_exposed_provenance::<u8>(start as usize);
    // SAFETY: by duty 1 an image is there, which nothing writes, by duty 2: it has its magic number whole, or is text
    // with its NUL, and no magic number has a zero byte, so that the first difference comes at the latest there, and
    // `all` reads no further.
    let begins =
        |magic: [u8; 4]| magic.iter().enumerate().all(|(at, byte)| unsafe { first.add(at).read() } == *byte);
    if begins(WRAPPER) {
        // SAFETY: 1: the wrapper has the address of a fatbin there, all 8 bytes written, by duty 1; nothing writes them
        // now, by duty 2.
        let inner = unsafe { read::value(start + IN_WRAPPER, Plain::Host) };
        // SAFETY: 1, 2: it is not null, so the address of an image that the driver read with this one, by duties 1 and 2.
        return if inner == 0 { None } else { unsafe { at(inner, most) } };
    }
    let length = if begins(ELF) || begins(FATBIN) {
        // SAFETY: 1: it is one of the binary forms, in which `binary` asks only for what the headers say is there, by
        // duty 1; nothing writes it, by duty 2.
        let read = |at: u64, length: usize| Some(unsafe { read::block(start.checked_add(at)?, length) });
        binary(&read)?
    } else {
        // SAFETY: it is none of the binary forms, so text with its NUL, by duty 1, which nothing writes, by duty 2.
        unsafe { CStr::from_ptr(first.cast()) }.count_bytes() as u64
    };
    let length = usize::try_from(length).ok().filter(|length| *length <= most)?;
    // SAFETY: 1: that is the length of the text, or what the headers say is there: duty 1; nothing writes it, by duty 2.
    Some(unsafe { read::block(start, length) })
}

/// How many bytes an image has by its own headers, which may be more than these; none where they make no sense, and of the wrapper
/// around a fatbin: an address, which means nothing in another process.
pub(super) fn length(image: &[u8]) -> Option<u64> {
    if image.starts_with(&WRAPPER) {
        return None;
    }
    if !image.starts_with(&ELF) && !image.starts_with(&FATBIN) {
        return Some(image.len() as u64);
    }
    binary(&|at, length| {
        let at = usize::try_from(at).ok()?;
        image.get(at..at.checked_add(length)?).map(<[u8]>::to_vec)
    })
}

/// How many bytes an ELF file or a fatbin has. `read` gives so many bytes from an offset, of which the image has all that its headers
/// say is there.
fn binary(read: &dyn Fn(u64, usize) -> Option<Vec<u8>>) -> Option<u64> {
    if read(0, FATBIN.len())? == FATBIN {
        let header = read(0, 16)?;
        return number(&header, 8, 8)?.checked_add(number(&header, 6, 2)?);
    }
    // Every ELF file begins with 16 bytes that say what it is.
    if read(CLASS, 1)? != [OF_64_BITS] {
        return None;
    }
    let header = read(0, ELF_HEADER)?;
    let list = |at: usize, size: usize, count: usize| {
        Some((number(&header, at, 8)?, number(&header, size, 2)?.checked_mul(number(&header, count, 2)?)?))
    };
    let (segments, sections) = (list(32, 54, 56)?, list(40, 58, 60)?);
    let ends = [segments, sections].map(|(at, bytes)| at.checked_add(bytes));
    let mut end = ends.into_iter().try_fold(ELF_HEADER as u64, |end, other| Some(end.max(other?)))?;
    let sections = read(sections.0, usize::try_from(sections.1).ok()?)?;
    for section in sections.chunks_exact(SECTION) {
        if number(section, 4, 4)? != u64::from(NO_BITS) {
            end = end.max(number(section, 24, 8)?.checked_add(number(section, 32, 8)?)?);
        }
    }
    Some(end)
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..length)?.copy_from_slice(bytes.get(at..at + length)?);
    Some(u64::from_le_bytes(word))
}
