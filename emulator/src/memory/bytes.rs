//! Bytes of the host's heap that back device memory.
#![allow(unsafe_code)]
// Relies on: a block's bytes come from `alloc_zeroed` with `layout`, or are pages of that size, stay where they are, and are given back once; the emulator uses
// them as the head of `access` says.

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

/// Zeroed bytes that the system gives when they are used: a large block costs nothing before.
///
/// The standard library clears what it aligns by more than an allocator does by itself. So this asks for no alignment, and for so much
/// more that an aligned start is inside.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// What the allocator gave for `layout`, or the system as pages; only `new` and `pages` make blocks.
    given: NonNull<u8>,
    layout: Layout,
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    is_pages: bool,
    /// Where in it the bytes that were asked for start.
    start: NonNull<u8>,
}

// SAFETY: a block is two addresses and a layout, and none of its methods touches the bytes; the allocator takes back on any thread what
// it gave (duty 1 of `give_back` keeps threads from doing that twice).
unsafe impl Send for Block {}
// SAFETY: as for `Send`: a shared reference gives the address alone, and copies, which may go to other threads.
unsafe impl Sync for Block {}

impl Block {
    /// `len` bytes, at least one, that start at a multiple of `alignment`; `None` if the host has none left.
    pub fn new(len: u64, alignment: u64) -> Option<Block> {
        let (len, alignment) = (usize::try_from(len).ok()?.max(1), usize::try_from(alignment).ok()?.max(1));
        let layout = Layout::from_size_align(len.checked_add(alignment - 1)?, 1).ok()?;
        // SAFETY: the layout's size is at least `len`, which is at least one: not zero.
        let given = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let behind = given.addr().get().wrapping_neg() & (alignment - 1);
        // SAFETY: masked, `behind` is at most `alignment - 1`, and the block that was just given has that many bytes more than `len`.
        let start = unsafe { given.add(behind) };
        Some(Block {
            given,
            layout,
            #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
            is_pages: false,
            start,
        })
    }

    /// `len` bytes, at least one, in pages of their own where the system has such: there is nothing at their address any more when
    /// they are given back. `None` if the host has none left.
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
            // SAFETY: 1: only `pages` makes such blocks, of that length; they go back for the first time, unused: duty 1.
            return unsafe { pages::give_back(self.given, self.layout.size()) };
        }
        // SAFETY: `given` is what the allocator gave for `layout` (only `new` makes blocks), and goes back for the first time, unused: duty 1.
        unsafe { dealloc(self.given.as_ptr(), self.layout) }
    }
}

/// A block, released when dropped. The block never leaves this, and whoever has the address of a byte keeps this meanwhile: an
/// [`Allocation`](super::Allocation) in its backing, [`Physical`] and [`Written`] in a field.
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
        // SAFETY: 1: the block never leaves this value, so that nobody else gives it back; those with addresses of its bytes keep this, which is
        // now dropped.
        unsafe { self.0.give_back() }
    }
}

/// Where the bytes are.
#[derive(Debug)]
enum Bytes {
    Own(HostBytes),
    /// Other processes can have them, too.
    #[cfg(target_os = "linux")]
    Shared(SharedBytes),
}

/// Memory of a device that has no address until it is mapped; counts as used while it lives.
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

    /// As [`new`](Self::new), for bytes that other processes can have. Who writes them is not known.
    #[cfg(target_os = "linux")]
    pub(super) fn shared(len: u64, device: u32, used: Arc<AtomicU64>) -> Option<Physical> {
        let bytes = SharedBytes::new(len, device);
        if bytes.is_none() {
            used.fetch_sub(len, Ordering::Relaxed);
        }
        Some(Physical { bytes: Bytes::Shared(bytes?), len, device, used, written: None })
    }

    /// What another process exported, which is counted there.
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

    /// A descriptor for another process; `None` for bytes that are this one's alone.
    #[cfg(target_os = "linux")]
    pub fn export(&self) -> Option<OwnedFd> {
        match &self.bytes {
            Bytes::Own(_) => None,
            Bytes::Shared(bytes) => bytes.file()?.export(),
        }
    }

    /// Whether other processes can have the bytes.
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

    /// Which of its bytes were written, where that is known.
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
