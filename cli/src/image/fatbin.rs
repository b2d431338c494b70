//! What the entries of a fatbin say.

use cuda_ptx::image::{Compression, Cubin, Entry, EntryKind, Fatbin, ImageError};

use std::collections::HashMap;

use super::{Part, cubin, ptx};
use crate::signature::Signature;

pub(super) fn read(fatbin: &Fatbin<'_>) -> Result<Vec<Part>, ImageError> {
    let mut parts = fatbin.entries().iter().map(part).collect::<Result<Vec<_>, _>>()?;
    share_types(&mut parts);
    Ok(parts)
}

fn part(entry: &Entry<'_>) -> Result<Part, ImageError> {
    let mut part = match entry.kind() {
        EntryKind::Ptx => {
            let content = entry.content()?;
            let text = String::from_utf8_lossy(&content);
            ptx::read(text.trim_end_matches('\0'))?
        }
        EntryKind::Cubin => cubin::read(&Cubin::read(&entry.content()?)?),
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
    });
    Ok(part)
}

/// The entries are of one source: what the PTX says of a parameter's type, the cubins do not.
fn share_types(parts: &mut [Part]) {
    let known: HashMap<String, Signature> = parts
        .iter()
        .filter(|part| part.kind == "ptx")
        .flat_map(|part| &part.kernels)
        .filter_map(|kernel| Some((kernel.name.clone(), kernel.signature.clone()?)))
        .collect();
    for kernel in parts.iter_mut().filter(|part| part.kind == "cubin").flat_map(|part| &mut part.kernels) {
        if let (Some(own), Some(signature)) = (&mut kernel.signature, known.get(&kernel.name)) {
            own.learn(signature);
        }
    }
}
