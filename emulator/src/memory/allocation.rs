//! One allocation: a device address range and the host bytes behind it.
#![allow(unsafe_code)]
// Relies on: `host` comes from `alloc_zeroed` with `layout` and is freed once, in `drop`; offsets passed in are checked
// against `len` by the asserting callers below; the bytes are only touched through `access`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{ALIGNMENT, Reach, access};

/// Bytes copied at a time where a copy goes through a buffer.
const CHUNK: usize = 4096;

/// A live range of device memory. Freed host memory goes back when the last holder drops this.
#[derive(Debug)]
pub struct Allocation {
    base: u64,
    len: u64,
    /// The device that has the bytes.
    device: u32,
    /// Whether devices with peer access to that one reach it.
    by_peers: bool,
    /// Devices that reach it in any case, one bit each.
    granted: AtomicU32,
    host: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the bytes are accessed through relaxed atomics only.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Host memory for `len` bytes (at least one) that the device sees at `base`; `None` if the host has none left.
    pub(super) fn new(base: u64, len: u64, device: u32, reach: Reach) -> Option<Allocation> {
        let layout = Layout::from_size_align(usize::try_from(len).ok()?.max(1), ALIGNMENT as usize).ok()?;
        // SAFETY: the layout's size is not zero.
        let host = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let (by_peers, granted) = match reach {
            Reach::Peers => (true, 0),
            Reach::Granted(devices) => (false, devices),
        };
        let granted = AtomicU32::new(granted);
        Some(Allocation { base, len, device, by_peers, granted, host, layout })
    }

    /// The device that has the bytes.
    #[inline]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Whether kernels of `device`, which has peer access to the devices in `peers`, reach it.
    pub(super) fn is_reached(&self, device: u32, peers: u32) -> bool {
        let own = 1 << self.device;
        device == self.device
            || self.by_peers && peers & own != 0
            || self.granted.load(Ordering::Relaxed) & 1 << device != 0
    }

    /// From now on these devices reach it, besides its own.
    pub(super) fn grant(&self, devices: u32) {
        self.granted.store(devices, Ordering::Relaxed);
    }

    /// Device address of the first byte.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Host address of the first byte, aligned to [`ALIGNMENT`]. The bytes must only be touched through
    /// [`access`](super::access).
    #[inline]
    pub fn host(&self) -> *mut u8 {
        self.host.as_ptr()
    }

    /// Whether `bytes` bytes at `offset` lie inside.
    fn contains(&self, offset: u64, bytes: u64) -> bool {
        offset <= self.len && bytes <= self.len - offset
    }

    pub(super) fn read(&self, offset: u64, target: &mut [u8]) {
        assert!(self.contains(offset, target.len() as u64));
        // SAFETY: the range lies inside the allocation.
        unsafe { access::read(self.host().add(offset as usize), target) }
    }

    pub(super) fn write(&self, offset: u64, source: &[u8]) {
        assert!(self.contains(offset, source.len() as u64));
        // SAFETY: the range lies inside the allocation.
        unsafe { access::write(self.host().add(offset as usize), source) }
    }

    pub(super) fn fill(&self, offset: u64, pattern: &[u8], bytes: u64) {
        if pattern.is_empty() {
            return;
        }
        // A buffer of whole patterns, so that every chunk starts with one.
        let buffer = pattern.repeat((CHUNK / pattern.len()).max(1));
        let mut done = 0;
        while done < bytes {
            let part = buffer.len().min((bytes - done) as usize);
            self.write(offset + done, &buffer[..part]);
            done += part as u64;
        }
    }

    /// Copies `bytes` bytes; the two may be one allocation and the ranges may overlap.
    pub(super) fn copy(to: &Allocation, to_offset: u64, from: &Allocation, from_offset: u64, bytes: u64) {
        let mut buffer = [0; CHUNK];
        // Backwards where the target lies behind the source in the same bytes, so that none is read after it is written.
        let backwards = to.base == from.base && to_offset > from_offset;
        let mut done = 0;
        while done < bytes {
            let part = (CHUNK as u64).min(bytes - done);
            let at = if backwards { bytes - done - part } else { done };
            let buffer = &mut buffer[..part as usize];
            from.read(from_offset + at, buffer);
            to.write(to_offset + at, buffer);
            done += part;
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`, freed only here.
        unsafe { dealloc(self.host(), self.layout) }
    }
}
