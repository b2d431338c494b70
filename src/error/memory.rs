//! Errors about memory that the host cannot use as it was asked to, and about addresses that do not fit.

use std::fmt;

/// Why the host may not look at memory that it shares with the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostAccess {
    /// A capture or a graph uses the memory.
    Graph,
    /// The device does not let the host at managed memory while it works.
    Managed,
}

impl fmt::Display for HostAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graph => f.write_str(
                "a graph or a texture uses this memory, at any time\n  help: drop it first; or use \
                 `as_host_ptr` and see to it that the graph does not run meanwhile",
            ),
            Self::Managed => f.write_str(
                "this device cannot share managed memory with the host while kernels run (no concurrent \
                 managed access)\n  help: copy with `to_host_vec` or `copy_from_host`; or synchronise the context and use `as_host_ptr`",
            ),
        }
    }
}

impl std::error::Error for HostAccess {}

/// Memory that does not start where its elements must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misaligned {
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

impl fmt::Display for Misaligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, address, element, align, help } = self;
        write!(
            f,
            "{call}: memory at {address:#x} for elements of {element}, which start at multiples of {align} bytes\n  help: {help}"
        )
    }
}

impl std::error::Error for Misaligned {}

/// Memory that another buffer has already, or may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AliasedMemory {
    /// A buffer was made of another mapping of the same memory.
    Mapped {
        /// Where the memory was to become a buffer.
        address: u64,
        /// Its bytes.
        bytes: usize,
    },
    /// It is a multicast object: its bytes are those of the memory that is bound to it.
    Multicast {
        /// Where it was to become a buffer.
        address: u64,
    },
}

impl fmt::Display for AliasedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mapped { address, bytes } => write!(
                f,
                "a buffer has this memory at another address: {bytes} bytes, mapped at {address:#x} too\n  help: drop that buffer first, or \
                 make this one with `from_shared_mapping`, and see to it that nobody else uses the bytes meanwhile"
            ),
            Self::Multicast { address } => write!(
                f,
                "a multicast object, mapped at {address:#x}, has the bytes of the memory that is bound to it\n  help: make the buffer with \
                 `from_shared_mapping`, and see to it that nobody else uses the bytes meanwhile"
            ),
        }
    }
}

impl std::error::Error for AliasedMemory {}

/// A tensor of another library that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DlPackError {
    /// What does not fit.
    pub what: &'static str,
    /// What was asked for.
    pub wanted: String,
    /// What the tensor has.
    pub found: String,
}

impl fmt::Display for DlPackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, wanted, found } = self;
        write!(
            f,
            "the {what} of a DLPack tensor: {wanted} wanted, {found} found\n  help: let its library copy it into such a tensor first"
        )
    }
}

impl std::error::Error for DlPackError {}

/// A range of addresses or memory that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMapping {
    /// What was to be done.
    pub what: &'static str,
    /// Where it was to start, in bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// Bytes that there are.
    pub limit: usize,
    /// What all of them must be multiples of.
    pub granularity: usize,
    /// What to do instead.
    pub help: &'static str,
}

impl fmt::Display for BadMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, offset, bytes, limit, granularity, help } = self;
        write!(
            f,
            "{what}: {offset} + {bytes} bytes do not fit into {limit}, or are no multiples of {granularity}\n  help: {help}"
        )
    }
}

impl std::error::Error for BadMapping {}
