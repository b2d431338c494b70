//! Bytes shared by several processes: a file without a name, mapped into each.
#![allow(unsafe_code)]
// Relies on: `start` comes from `mmap` with `len` and is unmapped once, in `drop`; the file's seals keep it from shrinking, so that all
// of the mapping stays backed; the emulator uses the bytes as the head of `access` says. The functions below are declared as the C
// library has them on Linux of 64 bits.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{NonNull, null_mut};

// Of the C library, with the types that it has on Linux of 64 bits.
unsafe extern "C" {
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn mmap(
        at: *mut c_void,
        len: usize,
        rights: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
    fn fcntl(file: c_int, command: c_int, ...) -> c_int;
}

/// `MFD_CLOEXEC | MFD_ALLOW_SEALING`
const CREATE: c_uint = 1 | 2;
/// `PROT_READ | PROT_WRITE`
const READ_WRITE: c_int = 1 | 2;
/// `MAP_SHARED`
const SHARED: c_int = 1;
/// `F_ADD_SEALS` and `F_GET_SEALS`
const SEALS: [c_int; 2] = [1033, 1034];
/// `F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW`
const FIXED: c_int = 1 | 2 | 4;

/// What the files are called, before the number of the device.
const NAME: &str = "cuda-emulator device ";

/// Bytes in a file that other processes can map, too.
#[derive(Debug)]
pub(super) struct SharedBytes {
    /// A mapping of `len` bytes of `file`, for reads and writes, which only `map` makes: it is there as long as this.
    start: NonNull<u8>,
    len: usize,
    file: OwnedFd,
}

// SAFETY: a mapping is the process's, not a thread's: any thread may use and unmap it. Its bytes are accessed as the
// head of `memory::access` says, which is for bytes that many threads use, and no method here touches them.
unsafe impl Send for SharedBytes {}
// SAFETY: as for `Send`: a shared reference gives the address of the bytes, their number, and copies of the descriptor.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// `len` zeroed bytes of a device; `None` if the host has none left.
    pub(super) fn new(len: u64, device: u32) -> Option<SharedBytes> {
        let name = format!("{NAME}{device}\0");
        // SAFETY: `name` is a text that ends with a NUL, and is kept until the call has read it.
        let number = unsafe { memfd_create(name.as_ptr().cast(), CREATE) };
        if number < 0 {
            return None;
        }
        // SAFETY: not negative, so a descriptor that `memfd_create` just opened: nobody else knows or closes it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        file.set_len(len).ok()?;
        // SAFETY: `file` is open; `F_ADD_SEALS` takes one `int` behind the command, as `FIXED` is, and no pointer.
        let sealed = unsafe { fcntl(file.as_raw_fd(), SEALS[0], FIXED) };
        if sealed != 0 {
            return None;
        }
        SharedBytes::map(file.into(), len)
    }

    /// What another process, or this one, exported: the bytes, and the number of their device. The descriptor stays the caller's.
    ///
    /// # Safety
    ///
    /// 1. The descriptor is open until this returns.
    pub(super) unsafe fn import(number: RawFd) -> Option<(SharedBytes, u32)> {
        // SAFETY: it is open, and so not -1, until this returns (the caller's duty 1): longer than it is borrowed, on
        // this line.
        let file = File::from(unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?);
        // Files of this name alone: others may be anything.
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        let name = path.to_str()?.strip_prefix("/memfd:")?.strip_suffix(" (deleted)")?;
        let device = name.strip_prefix(NAME)?.parse().ok()?;
        // SAFETY: `file` is open; `F_GET_SEALS` takes nothing behind the command; what is asked for is the number that
        // it returns.
        let seals = unsafe { fcntl(file.as_raw_fd(), SEALS[1]) };
        // A file that cannot be sealed has -1, with all bits.
        if seals < 0 || seals & FIXED != FIXED {
            return None;
        }
        let len = file.metadata().ok()?.len();
        Some((SharedBytes::map(file.into(), len)?, device))
    }

    /// Maps a file of that length, which cannot change any more.
    fn map(file: OwnedFd, len: u64) -> Option<SharedBytes> {
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        // SAFETY: the system chooses a free place (no address, and no flag that forces one), so that no mapping in use is replaced; `file` is open.
        let start = unsafe { mmap(null_mut(), len, READ_WRITE, SHARED, file.as_raw_fd(), 0) };
        // Failure is the address -1.
        let start = NonNull::new(start.cast::<u8>()).filter(|start| start.addr().get() != usize::MAX)?;
        Some(SharedBytes { start, len, file })
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// A descriptor for other processes.
    pub(super) fn export(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok()
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> u64 {
        self.len as u64
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: the field's doc: `map` made it with this length; it is unmapped only here, and whoever has addresses of its bytes keeps this
        // (`Physical`, which allocations hold).
        unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
