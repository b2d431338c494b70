//! nvJitLink: gives the PTX that it was to link, made one by the emulator's linker, or with `-lto` the PTX that it makes, where it is asked
//! for a cubin.
//!
//! It links in either case, so that what is wrong with the inputs is said as on a GPU. But of a link with `-lto` it does not get what it makes no
//! PTX of: PTX, which is put beside its own afterwards, and the device runtime. What only that PTX calls it is made to keep (`kept`).
#![allow(unsafe_code)] // C functions, and calls of the program's own.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kept::{self, OF_THE_RUNTIME};
use crate::linked::linked;
use crate::real::{Compiler, forward};
use crate::registers::{self, limited};
use crate::version::lower;

/// `NVJITLINK_SUCCESS`
const SUCCESS: usize = 0;
/// `NVJITLINK_ERROR_INTERNAL`
const INTERNAL: usize = 6;
/// `NVJITLINK_INPUT_PTX`, `NVJITLINK_INPUT_LTOIR`, `NVJITLINK_INPUT_LIBRARY` and `NVJITLINK_INPUT_ANY`
const PTX: c_uint = 2;
const LTOIR: c_uint = 3;
const LIBRARY: c_uint = 6;
const ANY: c_uint = 10;

/// What is known of a link.
#[derive(Default)]
struct Link {
    /// nvJitLink makes PTX itself.
    is_lto: bool,
    /// The option that says for which architecture.
    arch: Option<CString>,
    /// Most registers of a thread, by an option; 0 is no limit.
    registers: u32,
    /// Functions that its LTO IR is to keep, for the PTX.
    kept: Vec<String>,
    /// The program wants a cubin of it, of which PTX is a part.
    keeps_ptx: bool,
    /// nvJitLink has an input.
    is_begun: bool,
    /// The PTX that it got, each with its NUL.
    ptx: Vec<Vec<u8>>,
    /// The device runtime, where it got that.
    runtime: Option<Vec<u8>>,
    /// It got what is neither.
    has_others: bool,
    /// What stands for the cubin, once it is complete.
    image: Option<Vec<u8>>,
    /// What the emulator's linker said, with its NUL, where it refused.
    log: Option<Vec<u8>>,
}

fn is_ptx(kind: c_uint, bytes: &[u8]) -> bool {
    let binary = [b"\x7fELF".as_slice(), b"!<arch>", b"\x50\xed\x55\xba", LTO_IR];
    kind == PTX || (kind == ANY && !binary.iter().any(|magic| bytes.starts_with(magic)))
}

/// The emulator has what kernels ask of the device runtime, or refuses it by name.
fn is_device_runtime(kind: c_uint, name: &[u8]) -> bool {
    kind == LIBRARY && name.windows(10).any(|part| part == b"cudadevrt.")
}

/// Whether a text calls what the emulator has of it: the functions by which a grid waits for itself, and by which kernels launch kernels.
fn asks_for_runtime(text: &[u8]) -> bool {
    OF_THE_RUNTIME.iter().any(|name| text.windows(name.len()).any(|part| part == name.as_bytes()))
}

impl Link {
    /// Whether nvJitLink is not to get this.
    fn keeps(&self, kind: c_uint, bytes: &[u8], name: &[u8]) -> bool {
        self.keeps_ptx && (is_ptx(kind, bytes) || is_device_runtime(kind, name))
    }

    fn add(&mut self, kind: c_uint, bytes: Option<Vec<u8>>, name: &[u8]) {
        match bytes {
            Some(mut text) if is_ptx(kind, &text) => {
                text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
                text.push(0);
                lower(&mut text);
                self.ptx.push(text);
            }
            runtime if is_device_runtime(kind, name) => self.runtime = runtime,
            _ => self.has_others = true,
        }
    }

    /// What stands for the cubin, if it is not nvJitLink's to make: of what it made, and of the rest. An error is what the linker said.
    fn image(&self, made: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Vec<u8>> {
        let image = self.whole(made)?;
        Ok(image.map(|text| limited(text, self.registers)))
    }

    fn whole(&self, made: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Vec<u8>> {
        let is_made = made.is_some();
        let made = made.map(|text| kept::exported(&text, &self.kept));
        let pieces: Vec<Vec<u8>> = made.into_iter().chain(self.ptx.iter().cloned()).collect();
        let runtime = self.runtime.as_deref().filter(|_| pieces.iter().any(|text| asks_for_runtime(text)));
        match pieces.as_slice() {
            _ if !is_made && ((self.is_lto && !self.keeps_ptx) || self.has_others) => Ok(None),
            [] => Ok(None),
            [text] if runtime.is_none() => Ok(Some(text.clone())),
            pieces => linked(pieces, runtime).map(Some),
        }
    }
}

static LINKS: Mutex<BTreeMap<usize, Link>> = Mutex::new(BTreeMap::new());

fn links() -> MutexGuard<'static, BTreeMap<usize, Link>> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

forward! { NvJitLink, INTERNAL;
    nvJitLinkGetInfoLog nvJitLinkGetInfoLogSize
    nvJitLinkGetLinkedLTOIR nvJitLinkGetLinkedLTOIRSize nvJitLinkGetLinkedPtxSize nvJitLinkVersion
}

/// What NVRTC's intermediate code begins with.
const LTO_IR: &[u8] = b"\xed\x43\x4e\x7f";

/// # Safety
///
/// 1. As 1 and 2 of [`Compiler::call`]: the function takes up to five, its arguments come first, and keep its contract.
unsafe fn call(name: &CStr, arguments: [usize; 5]) -> usize {
    let [a, b, c, d, e] = arguments;
    // SAFETY: 1, 2: duty 1; the sixth may be anything.
    let code = unsafe { Compiler::NvJitLink.call(name, [a, b, c, d, e, 0], INTERNAL) };
    // An enum of 32 bits: the others of the register mean nothing.
    code as u32 as usize
}

/// `nvJitLinkCreate`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkCreate(handle: *mut usize, count: u32, options: *const *const c_char) -> usize {
    let given = if options.is_null() { 0 } else { count as usize };
    // SAFETY: by the function's contract there are as many options, `count` aligned pointers, each to a text with its
    // NUL, which is copied here; nobody writes either during the call.
    let mut asked: Vec<CString> =
        (0..given).map(|at| unsafe { CStr::from_ptr(*options.add(at)) }.to_owned()).collect();
    let has = |asked: &[CString], name: &CStr| asked.iter().any(|option| option.as_c_str() == name);
    let is_lto = has(&asked, c"-lto");
    let keeps_ptx = is_lto && !has(&asked, c"-ptx");
    if keeps_ptx {
        asked.push(c"-ptx".to_owned());
    }
    let arch = asked.iter().find(|option| option.to_bytes().starts_with(b"-arch=")).cloned();
    let registers = registers::of(asked.iter().map(|option| option.to_bytes()));
    let pointers: Vec<*const c_char> = asked.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: 1: it takes a place, a number and a pointer: the caller's own place for a handle, and as many options,
    // each with its NUL, which live over the call.
    let code = unsafe {
        call(c"nvJitLinkCreate", [handle as usize, pointers.len(), pointers.as_ptr() as usize, 0, 0])
    };
    if code == SUCCESS && !handle.is_null() {
        // SAFETY: not null, as was checked, so by the contract an aligned place for a handle, which nobody else uses
        // during the call; the function has written it, as it succeeded.
        links()
            .insert(unsafe { handle.read() }, Link { is_lto, keeps_ptx, arch, registers, ..Link::default() });
    }
    code
}

/// `nvJitLinkAddData`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkAddData(
    handle: usize,
    kind: c_uint,
    data: *const u8,
    size: usize,
    name: *const c_char,
) -> usize {
    let bytes = (!data.is_null()).then(|| {
        // SAFETY: not null, as was checked, so by the function's contract `size` bytes of one allocation, so at most
        // `isize::MAX`, initialised, which nobody writes during the call; they are copied here. Bytes need no
        // alignment.
        unsafe { std::slice::from_raw_parts(data, size) }.to_vec()
    });
    // SAFETY: not null, as was checked, so by the function's contract a text with its NUL, which nobody writes
    // during the call.
    let text = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    added(handle, kind, bytes, text.to_bytes(), || {
        // SAFETY: 1: it takes five numbers and pointers: the caller's own, under the same contract.
        unsafe { call(c"nvJitLinkAddData", [handle, kind as usize, data as usize, size, name as usize]) }
    })
}

/// Gives the linker an input, by `add`, where it is to get it, and remembers it.
fn added(
    handle: usize,
    kind: c_uint,
    bytes: Option<Vec<u8>>,
    name: &[u8],
    add: impl FnOnce() -> usize,
) -> usize {
    let is_kept =
        links().get(&handle).zip(bytes.as_ref()).is_some_and(|(link, bytes)| link.keeps(kind, bytes, name));
    let code = if is_kept { SUCCESS } else { add() };
    if code == SUCCESS
        && let Some(link) = links().get_mut(&handle)
    {
        link.add(kind, bytes, name);
        link.is_begun |= !is_kept;
    }
    code
}

/// `nvJitLinkAddFile`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkAddFile(handle: usize, kind: c_uint, file: *const c_char) -> usize {
    // SAFETY: not null, as is compared, so by the function's contract a text with its NUL, which nobody writes during
    // the call.
    let name = if file.is_null() { c"" } else { unsafe { CStr::from_ptr(file) } }.to_bytes();
    let bytes = std::fs::read(OsStr::from_bytes(name)).ok();
    added(handle, kind, bytes, name, || {
        // SAFETY: 1: it takes a handle, a number and a pointer: the caller's own, under the same contract.
        unsafe { call(c"nvJitLinkAddFile", [handle, kind as usize, file as usize, 0, 0]) }
    })
}

/// `nvJitLinkComplete`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkComplete(handle: usize) -> usize {
    let is_kept_alone =
        links().get(&handle).is_some_and(|link| link.keeps_ptx && !link.is_begun && !link.ptx.is_empty());
    let mut made = None;
    if !is_kept_alone {
        keep_what_ptx_calls(handle);
        // SAFETY: 1: it takes a handle: the caller's own, under the same contract.
        let code = unsafe { call(c"nvJitLinkComplete", [handle, 0, 0, 0, 0]) };
        if code != SUCCESS {
            return code;
        }
        let is_changed = |link: &Link| {
            link.keeps_ptx && (!link.ptx.is_empty() || link.runtime.is_some() || link.registers != 0)
        };
        if links().get(&handle).is_some_and(is_changed) {
            made = linked_ptx(handle);
            if made.is_none() {
                return INTERNAL;
            }
        }
    }
    let mut links = links();
    let Some(link) = links.get_mut(&handle) else { return SUCCESS };
    match link.image(made) {
        Ok(image) => link.image = image,
        Err(log) => link.log = Some(log),
    }
    // Without it a part of the inputs would be missing.
    if link.image.is_none() && link.keeps_ptx && !link.ptx.is_empty() { INTERNAL } else { SUCCESS }
}

/// Gives nvJitLink what makes it keep the functions that only PTX calls.
fn keep_what_ptx_calls(handle: usize) {
    let asked = {
        let links = links();
        let link = links.get(&handle).filter(|link| link.keeps_ptx && !link.ptx.is_empty());
        link.and_then(|link| Some((kept::asked(&link.ptx), link.arch.clone()?)))
    };
    let Some((names, arch)) = asked.filter(|(names, _)| !names.is_empty()) else { return };
    let Some(keeper) = kept::keeper(&names, &arch) else { return };
    let (data, name) = (keeper.as_ptr() as usize, c"keeps".as_ptr() as usize);
    // SAFETY: 1: it takes five numbers and pointers: a handle of a link that is not complete, a kind, as many bytes of that kind as
    // is said, and a text with its NUL, which outlive the call.
    let code = unsafe { call(c"nvJitLinkAddData", [handle, LTOIR as usize, data, keeper.len(), name]) };
    if code == SUCCESS
        && let Some(link) = links().get_mut(&handle)
    {
        link.kept = names;
    }
}

/// The PTX that nvJitLink made of a complete link, with its NUL.
fn linked_ptx(handle: usize) -> Option<Vec<u8>> {
    let mut size = 0_usize;
    // SAFETY: 1: it takes a handle and a place for a size: a handle of a link that is complete, and a local place that
    // outlives the call.
    let code = unsafe { call(c"nvJitLinkGetLinkedPtxSize", [handle, &raw mut size as usize, 0, 0, 0]) };
    if code != SUCCESS {
        return None;
    }
    let mut text = vec![0_u8; size];
    // SAFETY: 1: it takes a handle and a place: the same handle, and as many bytes as it has just asked for, which nobody
    // else uses.
    let code = unsafe { call(c"nvJitLinkGetLinkedPtx", [handle, text.as_mut_ptr() as usize, 0, 0, 0]) };
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
    text.push(0);
    lower(&mut text);
    (code == SUCCESS).then_some(text)
}

/// `nvJitLinkGetLinkedCubinSize`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkGetLinkedCubinSize(handle: usize, size: *mut usize) -> usize {
    let mut name = c"nvJitLinkGetLinkedCubinSize";
    if let Some(link) = links().get(&handle) {
        if let Some(text) = link.image.as_ref().filter(|_| !size.is_null()) {
            // SAFETY: not null, as was checked, so by the function's contract an aligned place for a size, which
            // nobody else uses during the call.
            unsafe { size.write(text.len()) };
            return SUCCESS;
        }
        if link.is_lto {
            name = c"nvJitLinkGetLinkedPtxSize";
        }
    }
    // SAFETY: 1: both take a handle and a place for a size: the caller's own, under the same contract.
    unsafe { call(name, [handle, size as usize, 0, 0, 0]) }
}

/// `nvJitLinkGetLinkedCubin`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkGetLinkedCubin(handle: usize, cubin: *mut u8) -> usize {
    let is_lto = match links().get(&handle) {
        Some(link) => {
            if let Some(text) = link.image.as_ref().filter(|_| !cubin.is_null()) {
                // SAFETY: not null, as was checked; the caller's place, which nobody else uses, has the size that
                // `nvJitLinkGetLinkedCubinSize` gave, which was that of the text. The text is this library's own, so
                // the place is not in it, and stays, as `links` is locked. Bytes need no alignment.
                unsafe { cubin.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
                return SUCCESS;
            }
            link.is_lto
        }
        None => false,
    };
    if is_lto {
        // SAFETY: its contract: the caller's own handle, and a place of the size that `nvJitLinkGetLinkedCubinSize`
        // gave, which for `-lto` is that of the PTX.
        return unsafe { nvJitLinkGetLinkedPtx(handle, cubin) };
    }
    // SAFETY: 1: it takes a handle and a place: the caller's own, under the same contract.
    unsafe { call(c"nvJitLinkGetLinkedCubin", [handle, cubin as usize, 0, 0, 0]) }
}

/// `nvJitLinkGetLinkedPtx`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkGetLinkedPtx(handle: usize, ptx: *mut u8) -> usize {
    let mut size = 0_usize;
    // SAFETY: 1: it takes a handle and a place for a size: the caller's handle, and a local place that outlives the
    // call.
    let code = unsafe { call(c"nvJitLinkGetLinkedPtxSize", [handle, &raw mut size as usize, 0, 0, 0]) };
    if code != SUCCESS {
        return code;
    }
    // SAFETY: 1: it takes a handle and a place: the caller's own, under the same contract.
    let code = unsafe { call(c"nvJitLinkGetLinkedPtx", [handle, ptx as usize, 0, 0, 0]) };
    if code == SUCCESS && !ptx.is_null() {
        // SAFETY: not null, as was checked; by the function's contract the place has that size, which nobody else uses
        // during the call, and now holds the text, whose every byte is set. Bytes need no alignment.
        lower(unsafe { std::slice::from_raw_parts_mut(ptx, size) });
    }
    code
}

/// `nvJitLinkGetErrorLogSize`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkGetErrorLogSize(handle: usize, size: *mut usize) -> usize {
    if let Some(log) = links().get(&handle).and_then(|link| link.log.as_ref()).filter(|_| !size.is_null()) {
        // SAFETY: not null, as was checked, so by the function's contract an aligned place for a size, which nobody
        // else uses during the call.
        unsafe { size.write(log.len()) };
        return SUCCESS;
    }
    // SAFETY: 1: it takes a handle and a place for a size: the caller's own, under the same contract.
    unsafe { call(c"nvJitLinkGetErrorLogSize", [handle, size as usize, 0, 0, 0]) }
}

/// `nvJitLinkGetErrorLog`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkGetErrorLog(handle: usize, log: *mut u8) -> usize {
    if let Some(text) = links().get(&handle).and_then(|link| link.log.as_ref()).filter(|_| !log.is_null()) {
        // SAFETY: not null, as was checked; the caller's place, which nobody else uses, has the size that
        // `nvJitLinkGetErrorLogSize` gave, which was that of the text. The text is this library's own, so the place is
        // not in it, and stays, as `links` is locked. Bytes need no alignment.
        unsafe { log.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        return SUCCESS;
    }
    // SAFETY: 1: it takes a handle and a place: the caller's own, under the same contract.
    unsafe { call(c"nvJitLinkGetErrorLog", [handle, log as usize, 0, 0, 0]) }
}

/// `nvJitLinkDestroy`
// SAFETY: the name is the C function's, and no other function of this library has it. The arguments are C's, but that a
// handle, a pointer there, is a `usize`, which is in the same register. Of the result the caller reads the 32 bits that
// C's enum has: one of its codes, or what the library answered.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkDestroy(handle: *mut usize) -> usize {
    // SAFETY: by the function's contract null, or an aligned place that holds a handle, which nobody writes before the
    // call below: the reference is not used after this.
    if let Some(handle) = unsafe { handle.as_ref() } {
        links().remove(handle);
    }
    // SAFETY: 1: it takes the place of a handle: the caller's own, under the same contract.
    unsafe { call(c"nvJitLinkDestroy", [handle as usize, 0, 0, 0, 0]) }
}

/// The names that NVIDIA's header gives these functions in programs that are linked with nvJitLink: one set for each version.
macro_rules! of_versions {
    ($($version:literal)*) => {$(
        const _: () = {
            of_version! { $version;
                nvJitLinkAddData(handle: usize, kind: c_uint, data: *const u8, size: usize, name: *const c_char);
                nvJitLinkAddFile(handle: usize, kind: c_uint, file: *const c_char);
                nvJitLinkComplete(handle: usize);
                nvJitLinkCreate(handle: *mut usize, count: u32, options: *const *const c_char);
                nvJitLinkDestroy(handle: *mut usize);
                nvJitLinkGetErrorLog(handle: usize, log: *mut u8);
                nvJitLinkGetErrorLogSize(handle: usize, size: *mut usize);
                nvJitLinkGetInfoLog(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize);
                nvJitLinkGetInfoLogSize(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize);
                nvJitLinkGetLinkedCubin(handle: usize, cubin: *mut u8);
                nvJitLinkGetLinkedCubinSize(handle: usize, size: *mut usize);
                nvJitLinkGetLinkedLTOIR(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize);
                nvJitLinkGetLinkedLTOIRSize(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize);
                nvJitLinkGetLinkedPtx(handle: usize, ptx: *mut u8);
                nvJitLinkGetLinkedPtxSize(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize);
            }
        };
    )*};
}

macro_rules! of_version {
    ($version:literal; $($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`__", stringify!($name), $version, "`")]
        // SAFETY: the exported name is the C function's of that version, and no other function of this library has it:
        // each version is in the list once. Arguments and result are those of the function of this file that it calls,
        // where it is said why they fit C's.
        #[unsafe(export_name = concat!("__", stringify!($name), $version))]
        unsafe extern "C" fn $name($($argument: $type),*) -> usize {
            // SAFETY: the same function by its other name, and so of the same contract, which the caller keeps; the
            // arguments are the caller's.
            unsafe { crate::nvjitlink::$name($($argument),*) }
        }
    )*};
}

of_versions! {
    "_12_0" "_12_1" "_12_2" "_12_3" "_12_4" "_12_5" "_12_6" "_12_7" "_12_8" "_12_9"
    "_13_0" "_13_1" "_13_2" "_13_3" "_13_4" "_13_5" "_13_6" "_13_7" "_13_8" "_13_9"
}
