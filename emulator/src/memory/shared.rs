//! Bytes shared by several processes: parts of a file without a name, mapped into each.
#![allow(unsafe_code)]
// Relies on: `start` comes from `mmap` with `len` and is unmapped once, in `drop`; the file's seals keep it from shrinking, so that the
// whole mapping stays backed; the emulator uses the bytes as the head of `access` says. The functions below are declared with the C
// library's types on 64-bit Linux.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

// Functions of the C library, with their types on 64-bit Linux.
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
    fn fallocate(file: c_int, mode: c_int, offset: i64, len: i64) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut Limit) -> c_int;
}

/// A limit of a process (`struct rlimit`).
#[repr(C)]
struct Limit {
    now: u64,
    most: u64,
}

/// `RLIMIT_FSIZE`
const FILE_SIZE: c_int = 1;

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
/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE`
const HOLE: c_int = 1 | 2;
/// `O_NONBLOCK`
const NO_WAIT: c_int = 0o4000;

/// The prefix of the names of files of physical memory, followed by the number of the device.
const NAME: &str = "cuda-emulator device ";

/// The size of a page: parts of files begin at multiples of it.
pub(super) const PAGE: u64 = 4096;

/// A file without a name, of a length that cannot change any more.
#[derive(Debug)]
pub struct SharedFile {
    file: OwnedFd,
    len: u64,
}

impl SharedFile {
    /// The maximum length of a file. A longer file would kill the process with a signal.
    pub fn longest() -> u64 {
        let mut limit = Limit { now: u64::MAX, most: u64::MAX };
        // SAFETY: `limit` is a local with the layout of the C library's structure, and outlives the call. If the call fails it
        // means no limit.
        unsafe { getrlimit(FILE_SIZE, &mut limit) };
        limit.now
    }

    /// `len` zeroed bytes; `None` if the host has none left, or the process may not create such a file. `name` tells other processes the
    /// kind of the file.
    pub fn new(name: &str, len: u64) -> Option<SharedFile> {
        if len > SharedFile::longest() {
            return None;
        }
        let name = CString::new(name).ok()?;
        // SAFETY: `name` ends with a NUL and outlives the call.
        let number = unsafe { memfd_create(name.as_ptr(), CREATE) };
        if number < 0 {
            return None;
        }
        // SAFETY: not negative, so a descriptor that `memfd_create` has just opened, which no other code knows or
        // closes.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        file.set_len(len).ok()?;
        // SAFETY: `file` is open; `F_ADD_SEALS` takes one `int` after the command, which `FIXED` is, and no pointer.
        let sealed = unsafe { fcntl(file.as_raw_fd(), SEALS[0], FIXED) };
        (sealed == 0).then(|| SharedFile { file: file.into(), len })
    }

    /// A file that another process, or this one, has exported, and its name. The caller keeps the descriptor.
    ///
    /// # Safety
    ///
    /// 1. The descriptor is open until this returns.
    pub unsafe fn import(number: RawFd) -> Option<(SharedFile, String)> {
        // SAFETY: it is open, and so not -1, until this returns (the caller's duty 1): longer than it is borrowed, on
        // this line.
        SharedFile::checked(unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?)
    }

    /// The file with that name that another process has open under that number, if it does; an error if this process cannot open
    /// another file.
    pub fn of_process(process: u32, number: u32, name: &str) -> io::Result<Option<SharedFile>> {
        let found = SharedFile::of_thread(&format!("/proc/{process}"), number, name)?;
        if found.is_some() {
            return Ok(found);
        }
        // The files of a process are listed under its first thread while that runs, and under any other thread.
        for thread in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let path = thread.path();
            let found = SharedFile::of_thread(&path.to_string_lossy(), number, name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The same for one thread, given its folder in `/proc`.
    fn of_thread(thread: &str, number: u32, name: &str) -> io::Result<Option<SharedFile>> {
        let path = format!("{thread}/fd/{number}");
        // Looked at before it is opened: opening a device can do something.
        if name_of(&path).is_none_or(|found| found != name) {
            return Ok(None);
        }
        let file = match File::options().read(true).write(true).custom_flags(NO_WAIT).open(path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // It may have become another one since.
        Ok(SharedFile::checked(file.into()).filter(|(_, found)| found == name).map(|(file, _)| file))
    }

    /// Accepts only a sealed file, and returns its name: other files may be anything, and could shrink.
    fn checked(file: OwnedFd) -> Option<(SharedFile, String)> {
        let name = name_of(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        // SAFETY: `file` is open; `F_GET_SEALS` takes no argument after the command, and returns a number.
        let seals = unsafe { fcntl(file.as_raw_fd(), SEALS[1]) };
        // A file that cannot be sealed has -1, with all bits.
        if seals < 0 || seals & FIXED != FIXED {
            return None;
        }
        let file = File::from(file);
        let len = file.metadata().ok()?.len();
        Some((SharedFile { file: file.into(), len }, name))
    }

    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number under which this process has it open.
    pub fn number(&self) -> u32 {
        self.file.as_raw_fd().unsigned_abs()
    }

    /// A descriptor for other processes.
    pub fn export(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok()
    }

    /// Returns the memory of whole pages to the host: later reads find zeros.
    pub(super) fn clear(&self, offset: u64, bytes: u64) {
        // If the host does not support this, the bytes are kept: newly allocated device memory is unspecified.
        // SAFETY: `file` is open, and the call takes no pointer. The file keeps its length, so mappings stay backed.
        let _ = unsafe { fallocate(self.file.as_raw_fd(), HOLE, offset as i64, bytes as i64) };
    }
}

/// The name of a file without a path, from the kernel's list of a process's open files.
fn name_of(path: &str) -> Option<String> {
    let path = std::fs::read_link(path).ok()?;
    let name = path.to_str()?.strip_prefix("/memfd:")?.strip_suffix(" (deleted)")?;
    Some(name.to_owned())
}

/// Bytes in a file that other processes can map, too.
#[derive(Debug)]
pub(super) struct SharedBytes {
    /// A mapping of `len` bytes of `file`, for reads and writes, which only `map` creates; it lives as long as this
    /// value.
    start: NonNull<u8>,
    len: usize,
    file: Option<Arc<SharedFile>>,
}

// SAFETY: a mapping belongs to the process, not to a thread: any thread may use and unmap it. Its bytes are accessed
// as the head of `memory::access` says, which is meant for bytes that many threads use, and no method here touches
// them.
unsafe impl Send for SharedBytes {}
// SAFETY: as for `Send`: a shared reference only gives the address of the bytes, their number, and the file.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// `len` zeroed bytes of a device; `None` if the host has none left.
    pub(super) fn new(len: u64, device: u32) -> Option<SharedBytes> {
        let file = SharedFile::new(&format!("{NAME}{device}"), len)?;
        SharedBytes::map(&Arc::new(file), 0, len)
    }

    /// Memory that another process, or this one, has exported: the bytes, and the number of their device. The caller keeps the
    /// descriptor.
    ///
    /// # Safety
    ///
    /// 1. The descriptor is open until this returns.
    pub(super) unsafe fn import(number: RawFd) -> Option<(SharedBytes, u32)> {
        // SAFETY: 1: it is open until this returns: the caller's duty 1, which is the same.
        let (file, name) = unsafe { SharedFile::import(number)? };
        let device = name.strip_prefix(NAME)?.parse().ok()?;
        let len = file.len();
        Some((SharedBytes::map(&Arc::new(file), 0, len)?, device))
    }

    /// Maps a part of a file that begins with a page.
    pub(super) fn map(file: &Arc<SharedFile>, offset: u64, len: u64) -> Option<SharedBytes> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= file.len);
        if !inside || !offset.is_multiple_of(PAGE) {
            return None;
        }
        let len = usize::try_from(len).ok().filter(|len| *len > 0)?;
        let (number, offset) = (file.file.as_raw_fd(), i64::try_from(offset).ok()?);
        // SAFETY: the system chooses a free place (no address, and no flag that forces one), so that no mapping in use is replaced; `file` is open.
        let start = unsafe { mmap(null_mut(), len, READ_WRITE, SHARED, number, offset) };
        // Failure is the address -1.
        let start = NonNull::new(start.cast::<u8>()).filter(|start| start.addr().get() != usize::MAX)?;
        Some(SharedBytes { start, len, file: Some(Arc::clone(file)) })
    }

    /// The same bytes without the file, so that this process cannot export them: the mapping outlives the open file.
    pub(super) fn without_file(self) -> SharedBytes {
        let mut bytes = self;
        bytes.file = None;
        bytes
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The file with the bytes, if this process can export it.
    pub(super) fn file(&self) -> Option<&Arc<SharedFile>> {
        self.file.as_ref()
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.len as u64
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: `map` created it with this length (documentation of the field); it is unmapped only here, and holders of addresses of its
        // bytes keep this value alive (`Physical` and `Board` in a field, an `Allocation` in its backing).
        unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// By another one, or by this one again.
    #[test]
    fn only_sealed_files_of_that_name_are_opened() {
        // SAFETY: the name is a static string that ends with a NUL.
        let number = unsafe { memfd_create(c"open".as_ptr(), CREATE) };
        assert!(number >= 0);
        // SAFETY: not negative, so a descriptor that `memfd_create` has just opened, which no other code knows or
        // closes.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        file.set_len(PAGE).unwrap();
        let opened = |name: &str| {
            let file = SharedFile::of_process(std::process::id(), number.unsigned_abs(), name);
            file.unwrap().map(|file| file.len())
        };
        assert_eq!(opened("open"), None);
        // SAFETY: `file` is open; `F_ADD_SEALS` takes one `int` after the command, which `FIXED` is, and no pointer.
        assert_eq!(unsafe { fcntl(file.as_raw_fd(), SEALS[0], FIXED) }, 0);
        assert_eq!((opened("open"), opened("opened")), (Some(PAGE), None));
    }
}
