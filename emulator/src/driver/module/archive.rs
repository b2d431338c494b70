//! Objects and libraries as inputs of a link: the PTX in their fatbins, and what of it is wanted.

use cuda_driver_sys::CUresult;
use cuda_ptx::{Linkage, Module};
use std::collections::BTreeSet;

use super::log::Refusal;
use super::merge::Part;
use super::{device_runtime, image};
use crate::architecture::Architecture;

/// The member of `libcudadevrt.a`, which has machine code only.
const DEVICE_RUNTIME: &[u8] = b"cuda_device_runtime.o";

/// Whether it is `libcudadevrt.a`, for which the emulator has functions of its own.
pub(super) fn is_device_runtime(bytes: &[u8]) -> bool {
    bytes.windows(DEVICE_RUNTIME.len()).any(|window| window == DEVICE_RUNTIME)
}

/// The PTX of every fatbin in an object or library of the host, wherever it is there.
pub(super) fn texts(bytes: &[u8], device: Architecture) -> Result<Vec<String>, Refusal> {
    if is_device_runtime(bytes) {
        return Ok(device_runtime::texts());
    }
    let (mut texts, mut refused) = (Vec::new(), None);
    let mut rest = bytes;
    while let Some(at) = rest.windows(8).position(|window| window == FATBIN) {
        let fatbin = rest.get(at..).unwrap_or_default();
        let text = image::text_of(fatbin, device);
        match text {
            Ok(text) => texts.push(text.into_owned()),
            Err(refusal) => drop(refused.get_or_insert(refusal)),
        }
        rest = fatbin.get(FATBIN.len()..).unwrap_or_default();
    }
    match (texts.is_empty(), refused) {
        (false, _) => Ok(texts),
        (true, Some(refusal)) => Err(refusal),
        (true, None) => {
            let log =
                "error   : there is no fatbin in it: the emulator links the PTX of objects and libraries";
            let refusal = Refusal::new(CUresult::CUDA_ERROR_INVALID_IMAGE, log.into());
            Err(refusal.of_kind("no-ptx").help("link PTX, or an object that nvcc made with PTX in it"))
        }
    }
}

/// What a fatbin begins with: its magic number, version 1 and a header of 16 bytes.
const FATBIN: [u8; 8] = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];

/// All parts but those of libraries that no other one needs.
pub(super) fn needed(parts: &[Part]) -> Vec<Part> {
    let module =
        |part: &Part| cuda_ptx::parse(&part.text).map(|module| Names::of(&module)).unwrap_or_default();
    let names: Vec<Names> = parts.iter().map(module).collect();
    let mut wanted: Vec<bool> = parts.iter().map(|part| !part.of_library).collect();
    loop {
        let within = || names.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(names, _)| names);
        let defined: BTreeSet<&String> = within().flat_map(|names| &names.defined).collect();
        let missing: BTreeSet<&String> =
            within().flat_map(|names| &names.declared).filter(|name| !defined.contains(name)).collect();
        let helps = |at: &usize| {
            let has = |names: &Names| names.defined.iter().any(|name| missing.contains(name));
            wanted.get(*at) == Some(&false) && names.get(*at).is_some_and(has)
        };
        let next = (0..parts.len()).find(helps);
        match next.and_then(|next| wanted.get_mut(next)) {
            Some(next) => *next = true,
            None => break,
        }
    }
    parts.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(part, _)| part.clone()).collect()
}

/// The names of a part that others see, and those that it expects of others.
#[derive(Default)]
struct Names {
    defined: BTreeSet<String>,
    declared: BTreeSet<String>,
}

impl Names {
    fn of(module: &Module<'_>) -> Names {
        let mut names = Names::default();
        for function in &module.functions {
            match (&function.body, function.linkage) {
                (None, _) => drop(names.declared.insert(function.name.to_owned())),
                (Some(_), Linkage::Internal) => {}
                (Some(_), _) => drop(names.defined.insert(function.name.to_owned())),
            }
        }
        for variable in &module.variables {
            match variable.linkage {
                Linkage::Extern => drop(names.declared.insert(variable.name.to_owned())),
                Linkage::Internal => {}
                _ => drop(names.defined.insert(variable.name.to_owned())),
            }
        }
        names
    }
}
