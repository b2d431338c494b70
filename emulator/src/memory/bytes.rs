//! Bytes of the host's heap that stand for memory of the device.
#![allow(unsafe_code)]
// Relies on: `start` comes from `alloc_zeroed` with `layout` and is freed once, in `drop`; the bytes are only touched
// through `access`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Written;
#[cfg(target_os = "linux")]
use super::shared::SharedBytes;
#[cfg(target_os = "linux")]
use std::os::fd::{OwnedFd, RawFd};

/// Zeroed bytes, given back when dropped.
#[derive(Debug)]
pub(super) struct HostBytes {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the bytes are accessed through `memory::access` alone, which is for bytes that many threads use; whoever drops them last frees them, on any thread.
unsafe impl Send for HostBytes {}
// SAFETY: a shared reference gives the address of the bytes, which are accessed as above.
unsafe impl Sync for HostBytes {}

impl HostBytes {
    /// `len` bytes, at least one; `None` if the host has none left.
    pub(super) fn new(len: u64, alignment: u64) -> Option<HostBytes> {
        let layout = Layout::from_size_align(usize::try_from(len).ok()?.max(1), alignment as usize).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(HostBytes { start, layout })
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for HostBytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`, freed only here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
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
    /// 1. The descriptor is open.
    #[cfg(target_os = "linux")]
    pub unsafe fn import(descriptor: RawFd) -> Option<Physical> {
        // SAFETY: 1: duty 1.
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
            Bytes::Shared(bytes) => bytes.export(),
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
