//! Bytes of the host's heap that back device memory.
#![allow(unsafe_code)]
// Relies on: a block's bytes come from `alloc_zeroed` with `layout`, or are pages of that size, do not move, and are released once; the
// emulator uses them as the head of `access` says.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Written;
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
use super::pages;
#[cfg(target_os = "linux")]
use super::shared::SharedBytes;
#[cfg(target_os = "linux")]
use std::os::fd::{OwnedFd, RawFd};

/// Zeroed bytes that the system provides when they are used, so that a large block costs nothing before.
///
/// The standard library clears blocks explicitly if their alignment exceeds that of the allocator. So this requests no alignment, but
/// enough additional bytes to contain an aligned start.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The pointer that the allocator returned for `layout`, or the system for pages; only `new` and `pages` create
    /// blocks.
    given: NonNull<u8>,
    layout: Layout,
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    is_pages: bool,
    /// The start of the requested bytes in it.
    start: NonNull<u8>,
}

// SAFETY: a block is two addresses and a layout, and none of its methods touches the bytes; memory may be returned to the allocator on
// any thread (duty 1 of `give_back` prevents doing that twice).
unsafe impl Send for Block {}
// SAFETY: as for `Send`: a shared reference only gives the address, and copies, which may be sent to other threads.
unsafe impl Sync for Block {}

impl Block {
    /// `len` bytes, at least one, that start at a multiple of `alignment`; `None` if the host has none left.
    pub fn new(len: u64, alignment: u64) -> Option<Block> {
        let (len, alignment) = (usize::try_from(len).ok()?.max(1), usize::try_from(alignment).ok()?.max(1));
        let layout = Layout::from_size_align(len.checked_add(alignment - 1)?, 1).ok()?;
        // SAFETY: the layout's size is at least `len`, which is at least one: not zero.
        let given = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let behind = given.addr().get().wrapping_neg() & (alignment - 1);
        // SAFETY: after masking, `behind` is at most `alignment - 1`, and the block that was just allocated has that many bytes more
        // than `len`.
        let start = unsafe { given.add(behind) };
        Some(Block {
            given,
            layout,
            #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
            is_pages: false,
            start,
        })
    }

    /// `len` bytes, at least one, in separate pages if the system supports that: once they are released, nothing is mapped at
    /// their address. `None` if the host is out of memory.
    pub fn pages(len: u64) -> Option<Block> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
        {
            let layout = Layout::from_size_align(usize::try_from(len).ok()?.max(1), 1).ok()?;
            let given = pages::new(layout.size())?;
            Some(Block { given, layout, is_pages: true, start: given })
        }
        #[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
        {
            Block::new(len, 4096)
        }
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Gives the bytes back.
    ///
    /// # Safety
    ///
    /// 1. This is called once for all copies of a block, and nothing uses the bytes any more.
    pub unsafe fn give_back(self) {
        #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
        if self.is_pages {
            // SAFETY: 1: only `pages` creates such blocks, with that length; by duty 1 they are released for the first
            // time and not in use.
            return unsafe { pages::give_back(self.given, self.layout.size()) };
        }
        // SAFETY: the allocator returned `given` for `layout` (only `new` creates such blocks); by duty 1 it is released for the first time
        // and not in use.
        unsafe { dealloc(self.given.as_ptr(), self.layout) }
    }
}

/// A block, released when dropped. The block is never moved out, and every holder of an address of a byte keeps this value
/// alive: an [`Allocation`](super::Allocation) in its backing, [`Physical`] and [`Written`] in a field.
#[derive(Debug)]
pub(super) struct HostBytes(Block);

impl HostBytes {
    /// `len` bytes, at least one; `None` if the host has none left.
    pub(super) fn new(len: u64, alignment: u64) -> Option<HostBytes> {
        Block::new(len, alignment).map(HostBytes)
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.0.start()
    }
}

impl Drop for HostBytes {
    fn drop(&mut self) {
        // SAFETY: 1: the block is never moved out of this value, so it is released only here; holders of addresses of its bytes keep this
        // value alive, and it is now dropped.
        unsafe { self.0.give_back() }
    }
}

/// The location of the bytes.
#[derive(Debug)]
enum Bytes {
    Own(HostBytes),
    /// Other processes can have them, too.
    #[cfg(target_os = "linux")]
    Shared(SharedBytes),
}

/// Device memory without an address until it is mapped; it counts as used while it is alive.
#[derive(Debug)]
pub struct Physical {
    bytes: Bytes,
    len: u64,
    device: u32,
    used: Arc<AtomicU64>,
    written: Option<Written>,
}

impl Physical {
    /// `len` bytes of a device that are counted in `used` already.
    pub(super) fn new(
        len: u64,
        alignment: u64,
        device: u32,
        used: Arc<AtomicU64>,
        tracked: bool,
    ) -> Option<Physical> {
        let bytes = HostBytes::new(len, alignment);
        if bytes.is_none() {
            used.fetch_sub(len, Ordering::Relaxed);
        }
        let written = if tracked { Written::new(len) } else { None };
        Some(Physical { bytes: Bytes::Own(bytes?), len, device, used, written })
    }

    /// As [`new`](Self::new), for bytes that other processes can map. Writes are not tracked.
    #[cfg(target_os = "linux")]
    pub(super) fn shared(len: u64, device: u32, used: Arc<AtomicU64>) -> Option<Physical> {
        let bytes = SharedBytes::new(len, device);
        if bytes.is_none() {
            used.fetch_sub(len, Ordering::Relaxed);
        }
        Some(Physical { bytes: Bytes::Shared(bytes?), len, device, used, written: None })
    }

    /// Memory that another process has exported, which counts as used there.
    ///
    /// # Safety
    ///
    /// 1. The descriptor is open until this returns.
    #[cfg(target_os = "linux")]
    pub unsafe fn import(descriptor: RawFd) -> Option<Physical> {
        // SAFETY: 1: it is open until this returns: the caller's duty 1, which is the same.
        let (bytes, device) = unsafe { SharedBytes::import(descriptor)? };
        let len = bytes.len();
        let used = Arc::new(AtomicU64::new(len));
        Some(Physical { bytes: Bytes::Shared(bytes), len, device, used, written: None })
    }

    /// A descriptor for another process; `None` for bytes that only this process has.
    #[cfg(target_os = "linux")]
    pub fn export(&self) -> Option<OwnedFd> {
        match &self.bytes {
            Bytes::Own(_) => None,
            Bytes::Shared(bytes) => bytes.file()?.export(),
        }
    }

    /// Whether other processes can map the bytes.
    pub fn is_shared(&self) -> bool {
        !matches!(self.bytes, Bytes::Own(_))
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        match &self.bytes {
            Bytes::Own(bytes) => bytes.start(),
            #[cfg(target_os = "linux")]
            Bytes::Shared(bytes) => bytes.start(),
        }
    }

    /// Which of its bytes were written, if that is tracked.
    pub(super) fn written(&self) -> Option<&Written> {
        self.written.as_ref()
    }

    /// The device that has the bytes.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        self.used.fetch_sub(self.len, Ordering::Relaxed);
    }
}
