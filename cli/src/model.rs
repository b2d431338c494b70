//! What is known of a kernel file without a driver: its images, their kernels and variables, and what their parameters are.
//!
//! The readers of `image` fill it in, `signature` finds out what parameters are, and `debug` adds what the source declares.

use cuda_ptx::image::Arch;

use crate::scalar::Scalar;

/// One image.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// `ptx`, `cubin`, `lto-ir`, or the number of something newer.
    pub(crate) kind: String,
    pub(crate) arch: Option<Arch>,
    /// `.version`
    pub(crate) version: Option<(u32, u32)>,
    /// Bytes, decompressed.
    pub(crate) bytes: usize,
    /// Where it lies in a fatbin.
    pub(crate) offset: Option<usize>,
    pub(crate) compression: Option<&'static str>,
    pub(crate) source: Option<String>,
    pub(crate) debug: Debug,
    /// Bytes of PTX that a cubin keeps for a debugger.
    pub(crate) ptx_bytes: usize,
    /// To be linked before it can be loaded.
    pub(crate) relocatable: bool,
    /// `__constant__` variables, in bytes.
    pub(crate) constant_bytes: Option<u64>,
    pub(crate) variables: Vec<Variable>,
    /// Those that other modules cannot name; a driver finds them all the same.
    pub(crate) internal: Vec<Variable>,
    pub(crate) kernels: Vec<Kernel>,
}

/// What there is for a debugger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Debug {
    #[default]
    None,
    Lines,
    Full,
}

/// A variable of the module that programs can look up.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// `global`, `const`, `shared`.
    pub(crate) space: &'static str,
    pub(crate) ty: String,
    pub(crate) bytes: u64,
}

impl Variable {
    /// The type of its elements, where PTX says more than that they are bytes: compilers declare arrays as `.b8`.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        let name = self.ty.split('[').next()?.rsplit('.').next()?;
        Scalar::of_ptx(name).filter(|_| name != "b8" || !self.ty.contains('['))
    }
}

/// A kernel. `None` where the image does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// As it stood in the source, where the name is mangled.
    pub(crate) source_name: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) signature: Option<Signature>,
    pub(crate) parameter_bytes: u32,
    pub(crate) registers: Option<u32>,
    pub(crate) shared_bytes: Option<u64>,
    pub(crate) dynamic_shared: Option<bool>,
    pub(crate) local_bytes: Option<u64>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) max_registers: Option<u32>,
    pub(crate) min_blocks: Option<u32>,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) max_cluster_blocks: Option<u32>,
    pub(crate) requires_cluster: bool,
    pub(crate) grid_counts_clusters: bool,
}

/// The parameters of a kernel, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature(pub(crate) Vec<Parameter>);

/// One parameter.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// Where the image has one that no compiler invented.
    pub(crate) name: Option<String>,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// `.u64`, `.b8[24]`; `None` in a cubin.
    pub(crate) ptx: Option<String>,
    pub(crate) meaning: Meaning,
}

/// What a parameter is, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing but its size.
    Unknown,
    /// A number.
    Value(Scalar),
    /// An address.
    Pointer {
        /// What it points to.
        element: Option<Scalar>,
        access: Access,
    },
    /// A struct or array.
    Bytes,
}

/// What a kernel does with the memory that it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// A parameter as the source declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: Option<String>,
    pub(crate) size: usize,
    pub(crate) meaning: Meaning,
}
