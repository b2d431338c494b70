//! Operating system handles with which processes share memory.

#![allow(unsafe_code)] // Says that handles may go to other threads.

use crate::flags::flags;
use std::ffi::c_void;

flags! {
    /// Kinds of handles with which memory can be shared (`CUmemAllocationHandleType`).
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    pub struct OsHandleKinds: u32 {
        /// A file descriptor of Linux.
        const FILE_DESCRIPTOR = 1;
        /// An NT handle of Windows.
        const WIN32 = 2;
        /// A global handle of Windows.
        const WIN32_KMT = 4;
        /// A handle that other machines of an NVLink domain can use.
        const FABRIC = 8;
        // Kinds of newer drivers pass through.
        const _ = !0;
    }
}

/// A file descriptor or a Windows handle that memory, or something like it, was exported as.
///
/// A file descriptor of this system is closed on drop.
///
/// ```no_run
/// use cuda_launch::interop::OsHandleKinds;
/// use cuda_launch::memory::{MemoryPool, PoolOptions};
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let handles = OsHandleKinds::FILE_DESCRIPTOR;
/// let pool = MemoryPool::new(&ctx, PoolOptions::new().handles(handles))?;
/// let handle = pool.export(OsHandleKinds::FILE_DESCRIPTOR)?;
/// // Sent to another process, which opens it with `MemoryPool::import`.
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum OsHandle {
    /// A file descriptor.
    #[cfg(unix)]
    FileDescriptor(std::os::fd::OwnedFd),
    /// A Windows handle, which its holder closes.
    Win32(*mut c_void),
    /// A global Windows handle; those are never closed.
    Win32Kmt(*mut c_void),
    /// The 64 bytes of a handle that other machines can use.
    Fabric([u8; 64]),
}

// SAFETY: a handle of Windows belongs to the process, not to a thread, and nothing here follows it; the rest is Send and Sync.
unsafe impl Send for OsHandle {}
// SAFETY: as above; a shared handle is only read.
unsafe impl Sync for OsHandle {}

impl OsHandle {
    /// Its kind.
    pub fn kind(&self) -> OsHandleKinds {
        match self {
            #[cfg(unix)]
            Self::FileDescriptor(_) => OsHandleKinds::FILE_DESCRIPTOR,
            Self::Win32(_) => OsHandleKinds::WIN32,
            Self::Win32Kmt(_) => OsHandleKinds::WIN32_KMT,
            Self::Fabric(_) => OsHandleKinds::FABRIC,
        }
    }
}
