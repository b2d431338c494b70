use super::ImageError;
use crate::parser::checked_outline;
use crate::{KernelOutline, ParameterOutline};

/// A kernel of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel<'a> {
    /// The name to look it up by (mangled if the compiler mangled it).
    pub name: &'a str,
    /// Its parameters in order; `None` if the image does not list them.
    pub parameters: Option<Vec<KernelParameter>>,
    /// The size of the parameter block in bytes, without padding at its end.
    pub parameter_bytes: u32,
    /// Registers per thread; `None` in PTX, where the number is not decided yet.
    pub registers: Option<u32>,
    /// Static shared memory per block in bytes, without the part that the architecture reserves; `None` in PTX.
    pub shared_memory: Option<u32>,
    /// Local memory per thread in bytes (its stack frame), without that of the functions that it calls; `None` in PTX.
    pub local_memory: Option<u32>,
    /// `__launch_bounds__`, `.maxntid`: a block may not have more threads than their product.
    pub max_threads: Option<[u32; 3]>,
    /// `__block_size__`, `.reqntid`: a block must have this shape.
    pub required_threads: Option<[u32; 3]>,
    /// `__cluster_dims__`, `.reqnctapercluster`: blocks in a cluster.
    pub cluster: Option<[u32; 3]>,
    /// The third number of `__launch_bounds__`, `.maxclusterrank`: the maximum number of blocks in a cluster.
    pub max_cluster_rank: Option<u32>,
    /// `__cluster_dims__`, `.explicitcluster`: launches must use clusters.
    pub explicit_cluster: bool,
    /// `__block_size__`, `.blocksareclusters`: the grid of a launch counts clusters, not blocks.
    pub blocks_are_clusters: bool,
}

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KernelParameter {
    /// The offset in the parameter block, in bytes. In a cubin it is as the architecture places it, which on some
    /// architectures differs from the rules of C for parameters with an alignment over 16 bytes; in PTX it follows the
    /// rules of C.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

impl<'a> Kernel<'a> {
    pub(super) fn named(name: &'a str) -> Self {
        Self {
            name,
            parameters: None,
            parameter_bytes: 0,
            registers: None,
            shared_memory: None,
            local_memory: None,
            max_threads: None,
            required_threads: None,
            cluster: None,
            max_cluster_rank: None,
            explicit_cluster: false,
            blocks_are_clusters: false,
        }
    }
}

/// The kernels that a PTX text defines.
pub(super) fn of_ptx(text: &str) -> Result<Vec<Kernel<'_>>, ImageError> {
    Ok(checked_outline(text)?.kernels.into_iter().map(of_outline).collect())
}

fn of_outline(kernel: KernelOutline<'_>) -> Kernel<'_> {
    let KernelOutline { name, parameters, directives: d } = kernel;
    let mut parameter_bytes = 0u32;
    // By the rules of C: each at the next multiple of its alignment.
    let place = |p: &ParameterOutline<'_>| {
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let offset = parameter_bytes.checked_next_multiple_of(narrow(p.align).max(1)).unwrap_or(u32::MAX);
        let size = narrow(p.size);
        parameter_bytes = offset.saturating_add(size);
        KernelParameter { offset, size }
    };
    Kernel {
        parameters: Some(parameters.iter().map(place).collect()),
        parameter_bytes,
        max_threads: d.maxntid,
        required_threads: d.reqntid,
        cluster: d.reqnctapercluster,
        max_cluster_rank: d.maxclusterrank,
        explicit_cluster: d.explicitcluster,
        blocks_are_clusters: d.blocksareclusters,
        ..Kernel::named(name)
    }
}
