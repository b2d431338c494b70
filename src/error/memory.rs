//! Errors about memory that the host cannot use as requested, and about addresses that do not fit.

use thiserror::Error;

/// Why the host may not access memory that it shares with the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostAccess {
    /// A capture or a graph uses the memory.
    #[error(
        "a graph or a texture may use this memory at any time\n  help: drop it first; or use `as_host_ptr` and make sure \
         that the graph does not run meanwhile"
    )]
    Graph,
    /// The device does not let the host access managed memory while kernels run.
    #[error(
        "this device cannot share managed memory with the host while kernels run (no concurrent managed access)\n  help: copy \
         with `to_host_vec` or `copy_from_host`; or synchronise the context and use `as_host_ptr`"
    )]
    Managed,
}

/// Memory that is misaligned for its elements.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{call}: the memory at {address:#x} is misaligned for {element}, which needs an alignment of {align} bytes\n  help: {help}"
)]
#[non_exhaustive]
pub struct AlignmentError {
    /// The driver function that gave the address.
    pub call: &'static str,
    /// The address.
    pub address: u64,
    /// The type of the elements.
    pub element: &'static str,
    /// Their alignment, in bytes.
    pub align: usize,
    /// What to do instead.
    pub help: &'static str,
}

/// Memory that a device cannot both read and write, as kernels and copies may.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[error(
    "{call}: device {device} has {access} to {memory}, but kernels may read and write it\n  help: {help}"
)]
pub struct InaccessibleMemory {
    /// The driver call that was made, or would have been.
    pub call: &'static str,
    /// What it is: "the mapping", "memory of the pool".
    pub memory: &'static str,
    /// The device's ordinal.
    pub device: i32,
    /// What the device may do: "no access" or "read access".
    pub access: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// Memory that another buffer already owns, or may own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AliasedMemory {
    /// A buffer was already made from another mapping of the same memory.
    #[error(
        "a buffer uses this memory at another address: {bytes} bytes, also mapped at {address:#x}\n  help: drop that buffer first, or \
         make this one with `from_shared_mapping`, and make sure that nothing else uses the bytes meanwhile"
    )]
    Mapped {
        /// The address of the memory that was to become a buffer.
        address: u64,
        /// Its size in bytes.
        bytes: usize,
    },
    /// It is a multicast object: its bytes are those of the memory bound to it.
    #[error(
        "a multicast object, mapped at {address:#x}, shares the bytes of the memory bound to it\n  help: make the buffer with \
         `from_shared_mapping`, and make sure that nothing else uses the bytes meanwhile"
    )]
    Multicast {
        /// The address at which it was to become a buffer.
        address: u64,
    },
}

/// A tensor from another library that does not match the request.
#[cfg(feature = "dlpack")]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the {what} of a DLPack tensor: expected {wanted}, found {found}\n  help: let its library copy it into such a tensor first"
)]
#[non_exhaustive]
pub struct DlPackError {
    /// What does not fit.
    pub what: &'static str,
    /// What was requested.
    pub wanted: String,
    /// What the tensor has.
    pub found: String,
}

/// An invalid range of addresses or memory.
#[cfg(feature = "virtual-memory")]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{what}: {offset} + {bytes} bytes do not fit into {limit}, or are not multiples of {granularity}\n  help: {help}"
)]
#[non_exhaustive]
pub struct MappingError {
    /// The operation.
    pub what: &'static str,
    /// Where it was to start, in bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// The number of bytes available.
    pub limit: usize,
    /// The granularity: all of them must be multiples of it.
    pub granularity: usize,
    /// What to do instead.
    pub help: &'static str,
}
