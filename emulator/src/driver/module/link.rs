//! `cuLink*`: PTX with PTX, also of fatbins, objects and libraries. What comes out is PTX again, which loads wherever a cubin would.
//!
//! Relies on the program for its options, which it must keep as long as the link (C5 in `entry`), and for the sizes of its inputs (C1).
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Arc, Mutex, OnceLock};

use super::archive::needed;
use super::declared::{MISMATCH, Names};
use super::jit::{KeptOptions, Options, RawOptions, RawValues};
use super::log::Refusal;
use super::merge::{Part, UNLINKABLE, merge};
use super::reached::keep_reached;
use super::{archive, image, seal, shape};
use crate::architecture::Architecture;
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, Text, entries};
use crate::driver::handles::{Handles, to_c};
use crate::driver::slot::{PerSlot, per_slot};
use crate::driver::state::{Call, lock};
use crate::engine::{LoadFailureKind, Program};
use crate::memory::Memory;

entries! {
    cuLinkCreate_v2(count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void, state: *mut CUlinkState) = create;
    cuLinkAddData_v2(state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void) = add_data;
    cuLinkAddFile_v2(state: CUlinkState, kind: CUjitInputType, path: *const c_char, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void) = add_file;
    cuLinkComplete(state: CUlinkState, image: *mut *mut c_void, size: *mut usize) = complete;
    cuLinkDestroy(state: CUlinkState) = destroy;
}

/// A link that is under way, or done.
pub(in crate::driver) struct Link {
    options: KeptOptions,
    /// The architecture that it is for.
    device: Architecture,
    parts: Mutex<Vec<Part>>,
    /// The names in all parts but those of libraries, of which some are not linked.
    names: Mutex<Names>,
    /// The log of names that do not agree or are defined twice, with which the link has failed.
    failed: OnceLock<String>,
    /// What came out, until the link is destroyed.
    image: OnceLock<Box<[u8]>>,
}

pub(in crate::driver) static LINKS: PerSlot<Handles<Link>> = per_slot!(Handles::new(48));

fn create(
    call: &Call,
    count: c_uint,
    options: RawOptions,
    values: RawValues<'static>,
    state: Out<CUlinkState>,
) -> Outcome {
    let device = call.context()?.architecture();
    let place = state.required()?;
    let options = KeptOptions::new(Options::read(count, options, values)?);
    let links = &LINKS;
    let handle = links.reserve();
    links.insert(handle, Arc::new(Link::new(options, device)));
    place.set(to_c(handle));
    Ok(())
}

fn link(call: &Call, state: CUlinkState) -> Outcome<Arc<Link>> {
    call.healthy()?;
    LINKS.get(state.addr()).ok_or(INVALID_HANDLE)
}

#[allow(clippy::too_many_arguments, reason = "a C function")]
fn add_data(
    call: &Call,
    state: CUlinkState,
    kind: CUjitInputType,
    data: *mut c_void,
    size: usize,
    name: Text,
    count: c_uint,
    options: RawOptions,
    values: RawValues,
) -> Outcome {
    let link = link(call, state)?;
    Options::read(count, options, values)?;
    if data.is_null() || size == 0 {
        return Err(INVALID_VALUE);
    }
    // A size that is none of the program's data: there is no memory for so much.
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(size).is_err() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the data is not null and by C1 has `size` bytes in one allocation, at most `isize::MAX`, as a vector has room for them, which are set, by C2, and which
    // nobody writes during the call, by C4. Bytes need no alignment; the slice is copied here and now.
    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) });
    link.add(kind, bytes, name.required().unwrap_or("<unnamed>"))
}

fn add_file(
    call: &Call,
    state: CUlinkState,
    kind: CUjitInputType,
    path: Text,
    count: c_uint,
    options: RawOptions,
    values: RawValues,
) -> Outcome {
    let link = link(call, state)?;
    Options::read(count, options, values)?;
    let path = path.path()?;
    link.add(kind, image::file(path)?, &path.to_string_lossy())
}

impl Link {
    fn new(options: KeptOptions, device: Architecture) -> Link {
        Link {
            options,
            device,
            parts: Mutex::default(),
            names: Mutex::default(),
            failed: OnceLock::new(),
            image: OnceLock::new(),
        }
    }

    /// Whether names have not agreed, or one is defined twice: then a driver's linker does nothing more.
    fn check_failed(&self) -> Result<(), Refusal> {
        match self.failed.get() {
            Some(log) => Err(Refusal::new(MISMATCH, log.clone())),
            None => Ok(()),
        }
    }

    /// Compares what parts say of their names, and which they define, with what others do.
    fn compare(&self, parts: &[Part]) -> Result<(), Refusal> {
        self.check_failed()?;
        let mut names = lock(&self.names);
        parts
            .iter()
            .filter(|part| !part.stands_in)
            .try_for_each(|part| names.add(part))
            .map_err(|log| Refusal::new(MISMATCH, self.failed.get_or_init(|| log).clone()))
    }

    fn add(&self, kind: CUjitInputType, bytes: Vec<u8>, name: &str) -> Outcome {
        if self.image.get().is_some() {
            return Err(INVALID_VALUE);
        }
        let added = texts(kind, &bytes, self.device)
            .and_then(|texts| texts.iter().try_for_each(|text| check(text, self.device)).map(|()| texts));
        let of_library = kind == CUjitInputType::CU_JIT_INPUT_LIBRARY;
        let is_archive = of_library || kind == CUjitInputType::CU_JIT_INPUT_OBJECT;
        let stands_in = is_archive && archive::is_device_runtime(&bytes);
        let part = |text| Part { name: name.to_owned(), text, of_library, stands_in };
        let parts = added.map(|texts| texts.into_iter().map(part).collect::<Vec<_>>());
        let compared = parts.and_then(|parts| match of_library {
            true => self.check_failed().map(|()| parts),
            false => self.compare(&parts).map(|()| parts),
        });
        let parts = self.options.finish(compared)?;
        lock(&self.parts).extend(parts);
        Ok(())
    }

    /// The image of all parts, made once.
    fn image(&self) -> Outcome<&[u8]> {
        if let Some(image) = self.image.get() {
            return Ok(image);
        }
        let linked = self.link();
        let text = self.options.finish(linked)?;
        Ok(self.image.get_or_init(|| text.into_bytes().into_iter().chain([0]).collect()))
    }

    fn link(&self) -> Result<String, Refusal> {
        self.check_failed()?;
        let parts = lock(&self.parts);
        if parts.is_empty() {
            return Err(INVALID_VALUE.into());
        }
        let mut parts = needed(&parts);
        let of_libraries: Vec<Part> = parts.iter().filter(|part| part.of_library).cloned().collect();
        self.compare(&of_libraries)?;
        // Names that are defined twice come before those that are defined nowhere.
        merge(&parts)?;
        keep_reached(&mut parts).map_err(|log| Refusal::new(UNLINKABLE, log))?;
        let text = merge(&parts)?;
        self.options.check_target(&text, self.device)?;
        let text = seal::sealed(&text);
        loads(&text, self.device).map_err(|(_, refusal)| refusal)?;
        Ok(self.options.registers().limit(text.into()).into_owned())
    }
}

/// The PTX of an input.
fn texts(kind: CUjitInputType, bytes: &[u8], device: Architecture) -> Result<Vec<String>, Refusal> {
    match kind {
        CUjitInputType::CU_JIT_INPUT_PTX
        | CUjitInputType::CU_JIT_INPUT_FATBINARY
        | CUjitInputType::CU_JIT_INPUT_CUBIN => {
            image::text_of(bytes, device).map(|text| vec![text.into_owned()])
        }
        CUjitInputType::CU_JIT_INPUT_OBJECT | CUjitInputType::CU_JIT_INPUT_LIBRARY => {
            archive::texts(bytes, device)
        }
        CUjitInputType::CU_JIT_INPUT_NVVM => {
            let refusal = Refusal::new(NOT_SUPPORTED, "error   : the emulator links PTX only".into());
            Err(refusal
                .of_kind("unsupported")
                .help("compile it to PTX, with NVVM or nvJitLink, and link that"))
        }
        _ => Err(INVALID_VALUE.into()),
    }
}

/// Refuses what no link can use.
fn check(text: &str, device: Architecture) -> Result<(), Refusal> {
    shape::outline(text, device)?;
    match loads(text, device) {
        // Other inputs may have it.
        Ok(_) | Err((LoadFailureKind::Unresolved, _)) => Ok(()),
        Err((_, refusal)) => Err(refusal),
    }
}

/// Loads a text into memory of no device, but of its architecture.
fn loads(text: &str, device: Architecture) -> Result<Program, (LoadFailureKind, Refusal)> {
    let memory = Arc::new(Memory::new(u64::MAX >> 1).with_architecture(device));
    let program = if seal::is_sealed(text) {
        Program::load_linked(text, &memory, &[])
    } else {
        Program::load(text, &memory)
    };
    program.map_err(|failure| (failure.kind, Refusal::of(&failure, text)))
}

fn complete(call: &Call, state: CUlinkState, image: Out<*mut c_void>, size: Out<usize>) -> Outcome {
    let link = link(call, state)?;
    let (place, size) = (image.required()?, size.required()?);
    let image = link.image()?;
    place.set(image.as_ptr().cast_mut().cast());
    size.set(image.len());
    Ok(())
}

fn destroy(_: &Call, state: CUlinkState) -> Outcome {
    let removed = LINKS.remove(state.addr());
    removed.map(drop).ok_or(INVALID_HANDLE)
}
