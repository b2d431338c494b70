//! The PTX in the images that a program loads.
//!
//! Relies on: the program passes the driver an image that is as long as its header says.
#![allow(unsafe_code)]

use super::call::Call;
use super::walk::Program;
use crate::read;
use cuda_ptx::image::{Arch, EntryKind, Fatbin};
use std::ffi::CStr;
use std::ptr::with_exposed_provenance;

/// PTX is kept for kernels that will be launched; images longer than this are ignored.
const MOST: usize = 16 << 20;

/// The magic number of the wrapper that programs of the CUDA runtime have around a fatbin, and the offset of the
/// fatbin's address in it.
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
const IN_WRAPPER: usize = 8;

const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";

/// The PTX of a module or library.
#[derive(Debug)]
pub(super) struct Image(String);

impl Image {
    /// The PTX that a call loads; `None` if it has no PTX or cannot be read. `newest` is the newest architecture that the device can
    /// run, if known.
    ///
    /// # Safety
    ///
    /// 1. It is a call whose contract holds, and that succeeded.
    pub(super) unsafe fn loaded(call: &Call<'_>, newest: Option<u32>) -> Option<Image> {
        match call.function.name {
            "cuModuleLoadData" | "cuModuleLoadDataEx" | "cuModuleLoadFatBinary" | "cuLibraryLoadData" => {
                // SAFETY: 1: the driver has read it as an image, because the call succeeded: duty 1. 2: it belongs to
                // the program, which does not change it until the call returns, by the call's contract.
                unsafe { at(with_exposed_provenance(call.word(1) as usize), newest) }
            }
            "cuModuleLoad" | "cuLibraryLoadFromFile" => {
                // SAFETY: 1: the path, a C string that is not written during the call, by the call's contract: duty 1.
                let path = unsafe { read::text(call.word(1)) }?;
                let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= MOST as u64);
                let bytes = std::fs::read(path).ok().filter(|_| is_small)?;
                of_bytes(&bytes, newest)
            }
            _ => None,
        }
    }

    /// The operations of one of its kernels.
    pub(super) fn program(&self, kernel: &str) -> Option<Program> {
        Program::of(&self.0, kernel)
    }
}

/// # Safety
///
/// 1. At the address is an image that a driver has read: text with its NUL, or one of the binary formats with everything that its
///    headers describe.
/// 2. It is not written during the call.
unsafe fn at(start: *const u8, newest: Option<u32>) -> Option<Image> {
    // SAFETY: by duty 1 an image is there, which is not written, by duty 2. It has a complete magic number, or is
    // text with its NUL; no magic number contains a zero byte, so the comparison ends at the NUL at the latest, and
    // `all` reads no further.
    let begins =
        |magic: [u8; 4]| magic.iter().enumerate().all(|(at, byte)| unsafe { start.add(at).read() } == *byte);
    if begins(ELF) {
        return None;
    }
    if begins(WRAPPER) {
        // SAFETY: the wrapper has the address of a fatbin there, in 8 initialised bytes, by duty 1, which are not
        // written now, by duty 2; an unaligned read requires no more.
        let inner = unsafe { start.add(IN_WRAPPER).cast::<*const u8>().read_unaligned() };
        // SAFETY: 1, 2: it is not null, so by duties 1 and 2 it is the address of an image that the driver has read with
        // this one.
        return if inner.is_null() { None } else { unsafe { at(inner, newest) } };
    }
    if !begins(FATBIN) {
        // SAFETY: it is none of the binary formats, so by duty 1 it is text with its NUL, which is not written, by
        // duty 2.
        return of_bytes(unsafe { CStr::from_ptr(start.cast()) }.to_bytes(), newest);
    }
    // SAFETY: it begins like a fatbin, whose header has 16 bytes, by duty 1, which are not written, by duty 2; the
    // last 8 are the number of bytes that follow. Unaligned reads require no more.
    let (header, body) =
        unsafe { (start.add(6).cast::<u16>().read_unaligned(), start.add(8).cast::<u64>().read_unaligned()) };
    let bytes = usize::try_from(body).ok()?.checked_add(header.into()).filter(|bytes| *bytes <= MOST)?;
    // SAFETY: the header says that the image has that many bytes, at most `MOST`, so they exist, by duty 1, and are
    // not written during the call, by duty 2; the slice is not used after it. Bytes need no alignment.
    of_bytes(unsafe { std::slice::from_raw_parts(start, bytes) }, newest)
}

/// The text, or the text of a fatbin that a driver chooses: that of the newest architecture that the device can run.
fn of_bytes(bytes: &[u8], newest: Option<u32>) -> Option<Image> {
    if !bytes.starts_with(&FATBIN) {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= MOST)?;
        return (!bytes.starts_with(&ELF)).then(|| Image(text.to_owned()));
    }
    let fatbin = Fatbin::read(bytes).ok()?;
    let texts = || fatbin.entries().iter().filter(|entry| entry.kind() == EntryKind::Ptx);
    let fits = |arch: Arch, newest: u32| match arch.suffix {
        Some('a') => arch.sm == newest,
        Some(_) => arch.sm <= newest && arch.sm / 10 == newest / 10,
        None => arch.sm <= newest,
    };
    let chosen = match newest {
        Some(newest) => {
            texts().filter(|entry| fits(entry.arch(), newest)).max_by_key(|entry| entry.arch().sm)
        }
        // Two texts may differ, and it is unknown which one the driver chooses.
        None => texts().next().filter(|_| texts().count() == 1),
    };
    let content = chosen.filter(|entry| entry.size() <= MOST as u64)?.content().ok()?;
    let text = content.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(Image(std::str::from_utf8(text).ok()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fatbin with a text for each architecture.
    fn fatbin(texts: &[(&str, u32)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (text, arch) in texts {
            let mut header = [0; 64];
            header[..8].copy_from_slice(&[1, 0, 1, 1, 64, 0, 0, 0]);
            header[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
            header[28..32].copy_from_slice(&arch.to_le_bytes());
            body.extend(header);
            body.extend(text.bytes());
        }
        let mut all = FATBIN.to_vec();
        all.extend([1, 0, 16, 0]);
        all.extend((body.len() as u64).to_le_bytes());
        all.extend(body);
        all
    }

    #[test]
    fn the_text_is_the_one_that_the_device_can_run() {
        let two = fatbin(&[(".version 7.0 // older\0", 75), (".version 7.0 // newer\0", 120)]);
        let text = |bytes: &[u8], newest| of_bytes(bytes, newest).map(|image| image.0);
        assert_eq!(text(&two, Some(90)).as_deref(), Some(".version 7.0 // older"));
        assert_eq!(text(&two, Some(120)).as_deref(), Some(".version 7.0 // newer"));
        assert_eq!((text(&two, Some(70)), text(&two, None)), (None, None));
        assert_eq!(
            text(&fatbin(&[(".version 7.0 // only.\0", 120)]), None).as_deref(),
            Some(".version 7.0 // only.")
        );
    }
}
