//! One allocation: a device address range and the host bytes behind it.
#![allow(unsafe_code)]
// Relies on the invariant of `Allocation::host`; offsets passed in are asserted to lie inside `len`; the emulator uses the bytes as
// the head of `access` says.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::bytes::{HostBytes, Physical};
use super::shared::{SharedBytes, SharedFile};
use super::shared_pool::Part;
use super::sharing::Shared;
use super::{ALIGNMENT, Reach, Written, access};

/// Bytes copied at a time by a copy through a buffer.
const CHUNK: usize = 4096;
/// Alignment of memory that the host can access too.
const PAGE: u64 = 4096;

/// A live range of device memory. Freed host memory is released when the last holder drops this.
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
    /// `len` bytes, valid for reads, and unless [`is_read_only`](Allocation::is_read_only) for writes, as long as this is alive:
    /// `backing` keeps them, or for [`Backing::Host`] the caller of [`host_memory`](Allocation::host_memory), by its duty 1.
    host: NonNull<u8>,
    backing: Backing,
    /// Which of its own bytes were written, if that is tracked.
    written: Option<Written>,
}

/// Where the bytes of an allocation are.
#[derive(Debug)]
enum Backing {
    /// In memory of the device.
    Device(#[expect(dead_code, reason = "kept for its drop")] HostBytes),
    /// In a file that other processes can open.
    Shared {
        bytes: SharedBytes,
        /// Dropped after the mapping, so that the part can then be reused.
        part: Option<Part>,
        counted: bool,
    },
    /// In memory that host and devices see at one address.
    Managed(#[expect(dead_code, reason = "kept for its drop")] HostBytes),
    /// In host memory that is released elsewhere. If devices may not write it, the emulator may not either: its pages may be
    /// read-only.
    Host { writable: bool },
    /// In device memory that may also be mapped at other addresses.
    Mapped {
        physical: Arc<Physical>,
        /// The devices that may write it, one bit each.
        writers: u32,
    },
}

/// The devices that may read and write a mapping, one bit each.
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    /// The devices that may read it, one bit each.
    pub readers: u32,
    /// Those of them that may also write it.
    pub writers: u32,
}

/// All devices.
const ALL: u32 = u32::MAX;

// SAFETY: only `host` prevents this from being `Send` automatically. Its bytes are accessed as the head of
// `memory::access` says, by that module or by atomic exchanges, which is meant for bytes that many threads use; their
// backing is `Send`.
unsafe impl Send for Allocation {}
// SAFETY: as for `Send`: a shared reference gives access to the address of the bytes, which are accessed as said
// there, and to `granted`, which is atomic; the backing and `written` are `Sync`.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Host memory for `len` bytes (at least one) that the device sees at `base`; `None` if the host has none left.
    pub(super) fn new(base: u64, len: u64, device: u32, reach: Reach, tracked: bool) -> Option<Allocation> {
        let bytes = HostBytes::new(len, ALIGNMENT)?;
        let (by_peers, granted) = match reach {
            Reach::Peers => (true, 0),
            Reach::Granted(devices) => (false, devices),
        };
        let (host, backing) = (bytes.start(), Backing::Device(bytes));
        let written = if tracked { Written::new(len) } else { None };
        let allocation = Allocation::granted(base, len, device, granted, host, backing);
        Some(Allocation { by_peers, written, ..allocation })
    }

    /// `len` bytes that other processes can have, too. Writes are not tracked, because other processes may write them.
    pub(super) fn shared(base: u64, len: u64, device: u32, reach: Reach, shared: Shared) -> Allocation {
        let Shared { bytes, part, counted } = shared;
        let (by_peers, granted) = match reach {
            Reach::Peers => (true, 0),
            Reach::Granted(devices) => (false, devices),
        };
        let (host, backing) = (bytes.start(), Backing::Shared { bytes, part, counted });
        let allocation = Allocation::granted(base, len, device, granted, host, backing);
        Allocation { by_peers, ..allocation }
    }

    /// The same memory, with its bytes in a file; `None` if it is memory of another kind, or there is no room.
    pub(super) fn moved_to(&self, file: &Arc<SharedFile>) -> Option<Allocation> {
        if !matches!(self.backing, Backing::Device(_)) {
            return None;
        }
        let shared = Shared { bytes: SharedBytes::map(file, 0, self.len)?, part: None, counted: true };
        let reach = Reach::Granted(self.granted.load(Ordering::Relaxed));
        let moved = Allocation::shared(self.base, self.len, self.device, reach, shared);
        let mut chunk = [0; CHUNK];
        let mut done = 0;
        while done < self.len {
            let part = &mut chunk[..(CHUNK as u64).min(self.len - done) as usize];
            self.load(done, part);
            // Pages that were never touched remain unallocated.
            if part.iter().any(|byte| *byte != 0) {
                moved.write(done, access::bytes(part));
            }
            done += part.len() as u64;
        }
        Some(Allocation { by_peers: self.by_peers, ..moved })
    }

    /// The file with its bytes, if other processes can open it.
    pub(super) fn file(&self) -> Option<&Arc<SharedFile>> {
        match &self.backing {
            Backing::Shared { bytes, .. } => bytes.file(),
            _ => None,
        }
    }

    /// Its offset in the file of a pool.
    pub(super) fn offset(&self) -> Option<u64> {
        match &self.backing {
            Backing::Shared { part, .. } => part.as_ref().map(Part::offset),
            _ => None,
        }
    }

    /// Whether other processes can map its bytes through a descriptor.
    pub fn has_descriptor(&self) -> bool {
        match &self.backing {
            Backing::Shared { part, .. } => part.is_some(),
            Backing::Mapped { physical, .. } => physical.is_shared(),
            _ => false,
        }
    }

    /// Memory that the devices with set bits can access, regardless of peer access.
    fn granted(
        base: u64,
        len: u64,
        device: u32,
        bits: u32,
        host: NonNull<u8>,
        backing: Backing,
    ) -> Allocation {
        let granted = AtomicU32::new(bits);
        Allocation { base, len, device, by_peers: false, granted, host, backing, written: None }
    }

    /// The device that owns the bytes; 0 for host memory.
    #[inline]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// Whether kernels of `device`, which has peer access to the devices in `peers`, can access it.
    pub(super) fn is_reached(&self, device: u32, peers: u32) -> bool {
        let own = 1 << self.device;
        device == self.device && !self.is_mapping()
            || self.by_peers && peers & own != 0
            || self.granted.load(Ordering::Relaxed) & 1 << device != 0
    }

    /// From now on these devices reach it, besides its own.
    pub(super) fn grant(&self, devices: u32) {
        self.granted.store(devices, Ordering::Relaxed);
    }

    /// Memory of `len` bytes that host and devices see at the same address; `None` if the host has none left.
    pub(super) fn managed(len: u64, device: u32) -> Option<Allocation> {
        let bytes = HostBytes::new(len, PAGE)?;
        let host = bytes.start();
        // Programs get the address as a plain number.
        let base = host.as_ptr().expose_provenance() as u64;
        Some(Allocation::granted(base, len, device, ALL, host, Backing::Managed(bytes)))
    }

    /// Memory of the host that devices see at its own address.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads, and if `writable` for writes, until the allocation is dropped, which is held by the map,
    ///    snapshots and searches.
    pub(super) unsafe fn host_memory(host: NonNull<u8>, len: u64, writable: bool) -> Allocation {
        Allocation::granted(host.addr().get() as u64, len, 0, ALL, host, Backing::Host { writable })
    }

    /// The first `len` bytes of `physical`, seen at `base`, a multiple of [`ALIGNMENT`]: kernels access the bytes as aligned numbers
    /// where the address is aligned.
    pub(super) fn mapped(base: u64, len: u64, physical: &Arc<Physical>, rights: Rights) -> Allocation {
        assert!(len <= physical.len() && base.is_multiple_of(ALIGNMENT));
        let backing = Backing::Mapped { physical: Arc::clone(physical), writers: rights.writers };
        Allocation::granted(base, len, physical.device(), rights.readers, physical.start(), backing)
    }

    /// Which of its bytes were written; `None` if that is not tracked, because reads are not checked or the host may
    /// write them directly.
    pub fn written(&self) -> Option<&Written> {
        match &self.backing {
            Backing::Mapped { physical, .. } => physical.written(),
            _ => self.written.as_ref(),
        }
    }

    /// Whether the host can access it at the same address.
    pub fn is_on_host(&self) -> bool {
        matches!(self.backing, Backing::Managed(_) | Backing::Host { .. })
    }

    /// Whether the host can see at once what kernels write there, or another process can.
    pub fn is_seen_elsewhere(&self) -> bool {
        match &self.backing {
            Backing::Managed(_) | Backing::Host { .. } | Backing::Shared { .. } => true,
            Backing::Mapped { physical, .. } => physical.is_shared(),
            Backing::Device(_) => false,
        }
    }

    /// Whether it is managed memory.
    pub fn is_managed(&self) -> bool {
        matches!(self.backing, Backing::Managed(_))
    }

    /// Whether it is a mapping of memory that may have other addresses; adjacent mappings count as one range.
    pub fn is_mapping(&self) -> bool {
        matches!(self.backing, Backing::Mapped { .. })
    }

    /// Whether that device, which can access it, may write it.
    #[inline]
    pub fn is_writable(&self, device: u32) -> bool {
        match self.backing {
            Backing::Mapped { writers, .. } => writers & 1 << device != 0,
            Backing::Host { writable } => writable,
            Backing::Device(_) | Backing::Shared { .. } | Backing::Managed(_) => true,
        }
    }

    /// Whether it is read-only host memory.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        matches!(self.backing, Backing::Host { writable: false })
    }

    /// Bytes of the device's memory that it counts for by itself.
    pub(super) fn counted(&self) -> u64 {
        match self.backing {
            Backing::Device(_) | Backing::Shared { counted: true, .. } => {
                self.len.next_multiple_of(ALIGNMENT)
            }
            Backing::Shared { counted: false, .. } => 0,
            Backing::Managed(_) | Backing::Host { .. } | Backing::Mapped { .. } => 0,
        }
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

    /// Host address of the first byte: as far from a multiple of [`ALIGNMENT`] as `base`. The bytes must only be used as the head of
    /// [`access`](super::access) says.
    #[inline]
    pub fn host(&self) -> *mut u8 {
        self.host.as_ptr()
    }

    /// Whether `bytes` bytes at `offset` lie inside.
    fn contains(&self, offset: u64, bytes: u64) -> bool {
        offset <= self.len && bytes <= self.len - offset
    }

    pub(super) fn read(&self, offset: u64, target: &mut [MaybeUninit<u8>]) {
        assert!(self.contains(offset, target.len() as u64));
        // SAFETY: 1: the range was asserted to lie inside the allocation, whose bytes are valid as long as it is
        // alive (`Allocation::host`); 2: all of the emulator uses them as the head of `access` says, which also
        // covers the program.
        unsafe { access::read(self.host().add(offset as usize), target) }
    }

    pub(super) fn load(&self, offset: u64, target: &mut [u8]) {
        assert!(self.contains(offset, target.len() as u64));
        // SAFETY: 1: asserted to be inside, so valid (`Allocation::host`); 2: all of the emulator uses the bytes as the
        // head of `access` says.
        unsafe { access::load(self.host().add(offset as usize), target) }
    }

    pub(super) fn write(&self, offset: u64, source: &[MaybeUninit<u8>]) {
        assert!(self.contains(offset, source.len() as u64) && !self.is_read_only());
        // SAFETY: 1: asserted to be inside and not read-only, so valid for writes (`Allocation::host`); 2: all of the emulator uses the
        // bytes as the head of `access` says.
        unsafe { access::write(self.host().add(offset as usize), source) }
        if let Some(written) = self.written() {
            written.mark(offset, source.len() as u64);
        }
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
            self.write(offset + done, access::bytes(&buffer[..part]));
            done += part as u64;
        }
    }

    /// Copies `bytes` bytes, with whether they were written; the two may be one allocation and the ranges may overlap.
    pub(super) fn copy(to: &Allocation, to_offset: u64, from: &Allocation, from_offset: u64, bytes: u64) {
        let mut buffer = [MaybeUninit::uninit(); CHUNK];
        // Backwards if the target is after the source in the same bytes, so that no byte is read after it is written.
        let address = |allocation: &Allocation, offset| allocation.host.addr().get() as u64 + offset;
        let backwards = address(to, to_offset) > address(from, from_offset);
        let mut done = 0;
        while done < bytes {
            let part = (CHUNK as u64).min(bytes - done);
            let at = if backwards { bytes - done - part } else { done };
            let buffer = &mut buffer[..part as usize];
            let gaps = from.written().map(|written| written.gaps(from_offset + at, part));
            from.read(from_offset + at, buffer);
            to.write(to_offset + at, buffer);
            if let (Some(gaps), Some(written)) = (gaps, to.written()) {
                gaps.into_iter().for_each(|gap| written.forget(to_offset + at + gap, 1));
            }
            done += part;
        }
    }
}
