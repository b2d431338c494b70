//! The contents of a file as JSON. The schema is in docs/tool.md.

use cuda_ptx::image::ImageKind;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::kernel_file::File;
use crate::model::{Debug, Kernel, Meaning, Parameter, Part, Variable};

/// Written kernel by kernel: a tree of all of them takes ten times the memory of the output.
pub(super) fn file(file: &File) -> String {
    let whole = Listed {
        head: json!({
            "schema": "cuda-launch.inspect.1",
            "file": file.path.display().to_string(),
            "kind": match file.kind {
                ImageKind::Ptx => "ptx",
                ImageKind::Cubin => "cubin",
                ImageKind::Fatbin => "fatbin",
                _ => "unknown",
            },
            "bytes": file.bytes.len(),
        }),
        name: "images",
        items: &file.parts,
        item: part,
    };
    // Fails for keys that are not text only.
    serde_json::to_string_pretty(&whole).unwrap_or_default()
}

fn part(part: &Part) -> impl Serialize {
    Listed {
        head: json!({
            "kind": part.kind,
            "arch": part.arch.map(|arch| arch.to_string()),
            "ptx_version": part.version.map(|(major, minor)| format!("{major}.{minor}")),
            "bytes": part.bytes,
            "offset": part.offset,
            "compression": part.compression,
            "source": part.source,
            "debug": match part.debug {
                Debug::None => "none",
                Debug::Lines => "lines",
                Debug::Full => "full",
            },
            "ptx_bytes": part.ptx_bytes,
            "relocatable": part.relocatable,
            "constant_bytes": part.constant_bytes,
            "variables": part.variables.iter().map(variable).collect::<Vec<_>>(),
        }),
        name: "kernels",
        items: &part.kernels,
        item: kernel,
    }
}

/// An object, the last field of which is a list whose items are made while they are written.
struct Listed<'a, T, V> {
    head: Value,
    name: &'static str,
    items: &'a [T],
    item: fn(&'a T) -> V,
}

impl<T, V: Serialize> Serialize for Listed<'_, T, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_map(None)?;
        for (name, value) in self.head.as_object().into_iter().flat_map(Map::iter) {
            object.serialize_entry(name, value)?;
        }
        object.serialize_entry(self.name, &Items(self.items, self.item))?;
        object.end()
    }
}

struct Items<'a, T, V>(&'a [T], fn(&'a T) -> V);

impl<T, V: Serialize> Serialize for Items<'_, T, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(self.1))
    }
}

fn variable(variable: &Variable) -> Value {
    json!({ "name": variable.name, "space": variable.space, "type": variable.ty, "bytes": variable.bytes })
}

fn kernel(kernel: &Kernel) -> Value {
    let parameters = kernel.signature.as_ref().map(|signature| {
        signature.0.iter().enumerate().map(|(index, p)| parameter(index, p)).collect::<Vec<_>>()
    });
    json!({
        "name": kernel.name,
        "source_name": kernel.source_name,
        "line": kernel.line,
        "parameters": parameters,
        "parameter_bytes": kernel.parameter_bytes,
        "registers": kernel.registers,
        "shared_bytes": kernel.shared_bytes,
        "dynamic_shared": kernel.dynamic_shared,
        "local_bytes": kernel.local_bytes,
        "max_threads": kernel.max_threads,
        "required_threads": kernel.required_threads,
        "max_registers": kernel.max_registers,
        "min_blocks": kernel.min_blocks,
        "cluster": kernel.cluster,
        "max_cluster_blocks": kernel.max_cluster_blocks,
        "requires_cluster": kernel.requires_cluster,
        "grid_counts_clusters": kernel.grid_counts_clusters,
    })
}

fn parameter(index: usize, parameter: &Parameter) -> Value {
    let Parameter { name, offset, size, align, ptx, meaning } = parameter;
    let known = *meaning != Meaning::Unknown;
    json!({
        "index": index,
        "name": name,
        "offset": offset,
        "bytes": size,
        "align": ptx.is_some().then_some(align),
        "ptx": ptx,
        "c": (known && *meaning != Meaning::Bytes).then(|| meaning.c(*size)),
        "rust": known.then(|| meaning.rust(*size, *align)),
        "access": match meaning {
            Meaning::Pointer { access, .. } => access.word(),
            _ => None,
        },
    })
}
