//! The entries of a fatbin.

use cuda_ptx::image::{Compression, Cubin, Entry, EntryKind, Fatbin, ImageError};

use std::collections::HashMap;

use super::{Symbols, cubin, ptx};
use crate::model::{Part, Signature};

pub(super) fn read(fatbin: &Fatbin<'_>, left: &mut Symbols) -> Result<Vec<Part>, ImageError> {
    let mut parts = fatbin.entries().iter().map(|entry| part(entry, left)).collect::<Result<Vec<_>, _>>()?;
    share_types(&mut parts);
    Ok(parts)
}

fn part(entry: &Entry<'_>, left: &mut Symbols) -> Result<Part, ImageError> {
    let mut part = match entry.kind() {
        EntryKind::Ptx => {
            let content = entry.content()?;
            let text = String::from_utf8_lossy(&content);
            ptx::read(text.trim_end_matches('\0'), left)?
        }
        EntryKind::Cubin => cubin::read(&Cubin::read(&entry.content()?)?, left)?,
        EntryKind::LtoIr => Part { kind: "lto-ir".into(), ..Part::default() },
        EntryKind::Other(number) => Part { kind: format!("kind {number}"), ..Part::default() },
        _ => Part { kind: "unknown".into(), ..Part::default() },
    };
    part.arch = Some(entry.arch());
    part.bytes = usize::try_from(entry.size()).unwrap_or(usize::MAX);
    part.offset = Some(entry.offset());
    part.source = entry.name().map(str::to_owned);
    part.compression = entry.compression().map(|how| match how {
        Compression::Lz4 => "lz4",
        Compression::Zstd => "zstd",
        _ => "unknown",
    });
    Ok(part)
}

/// The entries are compiled from one source: types of parameters are only in the PTX, and a name that one entry has applies
/// to all.
fn share_types(parts: &mut [Part]) {
    let known = signatures(parts.iter().filter(|part| part.kind == "ptx"));
    for kernel in parts.iter_mut().filter(|part| part.kind == "cubin").flat_map(|part| &mut part.kernels) {
        if let (Some(own), Some(signature)) = (&mut kernel.signature, known.get(&kernel.name)) {
            own.learn(signature);
        }
    }
    let named = signatures(parts.iter());
    for kernel in parts.iter_mut().flat_map(|part| &mut part.kernels) {
        if let (Some(own), Some(signature)) = (&mut kernel.signature, named.get(&kernel.name)) {
            own.learn_names(signature);
        }
    }
}

/// The names of the kernels in these entries; if several have the same kernel, those of the entry that names most
/// parameters.
fn signatures<'p>(parts: impl Iterator<Item = &'p Part>) -> HashMap<String, Signature> {
    let mut known: HashMap<String, Signature> = HashMap::new();
    for kernel in parts.flat_map(|part| &part.kernels) {
        let Some(signature) = &kernel.signature else { continue };
        if known.get(&kernel.name).is_none_or(|found| found.names() <= signature.names()) {
            known.insert(kernel.name.clone(), signature.clone());
        }
    }
    known
}
