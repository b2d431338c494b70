//! The contents of a cubin.

use cuda_ptx::image::{Cubin, DebugInfo, ImageError};

use super::{Symbols, source_name};
use crate::debug::Sections;
use crate::model::{Debug, Kernel, Part, Signature};

pub(super) fn read(cubin: &Cubin<'_>, left: &mut Symbols) -> Result<Part, ImageError> {
    let parameters =
        cubin.kernels().iter().map(|kernel| kernel.parameters.as_ref().map_or(0, Vec::len)).sum();
    left.take(cubin.kernels().len(), parameters)?;
    let mut kernels: Vec<Kernel> = cubin.kernels().iter().map(kernel).collect();
    Sections::of_cubin(cubin).describe(&mut kernels);
    Ok(Part {
        kind: "cubin".into(),
        arch: cubin.arch(),
        bytes: cubin.bytes().len(),
        debug: match cubin.debug_info() {
            DebugInfo::None => Debug::None,
            DebugInfo::Lines => Debug::Lines,
            _ => Debug::Full,
        },
        ptx_bytes: cubin.ptx().map_or(0, <[u8]>::len),
        relocatable: cubin.is_relocatable(),
        constant_bytes: Some(u64::from(cubin.constant_memory())),
        kernels,
        ..Part::default()
    })
}

fn kernel(found: &cuda_ptx::image::Kernel<'_>) -> Kernel {
    let places = found.parameters.as_ref();
    Kernel {
        name: found.name.to_owned(),
        source_name: source_name(found.name),
        signature: places
            .map(|list| Signature::of_sizes(found.name, list.iter().map(|it| (it.offset, it.size)))),
        parameter_bytes: found.parameter_bytes,
        registers: found.registers,
        shared_bytes: found.shared_memory.map(u64::from),
        local_bytes: found.local_memory.map(u64::from),
        max_threads: found.max_threads,
        required_threads: found.required_threads,
        cluster: found.cluster,
        max_cluster_blocks: found.max_cluster_rank,
        requires_cluster: found.explicit_cluster,
        grid_counts_clusters: found.blocks_are_clusters,
        ..Kernel::default()
    }
}
