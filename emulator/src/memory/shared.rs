//! Bytes shared by several processes: parts of a file without a name, mapped into each.
#![allow(unsafe_code)]
// Relies on: `start` comes from `mmap` with `len` and is unmapped once, in `drop`; the file's seals keep it from shrinking, so that all
// of the mapping stays backed; the emulator uses the bytes as the head of `access` says. The functions below are declared as the C
// library has them on Linux of 64 bits.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

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
    fn fallocate(file: c_int, mode: c_int, offset: i64, len: i64) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut Limit) -> c_int;
}

/// What a process may have of something (`struct rlimit`).
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

/// What the files of memory without an address are called, before the number of the device.
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
    /// The length that a file may have. One that is longer would end the process, by a signal.
    pub fn longest() -> u64 {
        let mut limit = Limit { now: u64::MAX, most: u64::MAX };
        // SAFETY: `limit`, a local, is laid out as the C library's, and outlives the call. Where the call fails it has no limit.
        unsafe { getrlimit(FILE_SIZE, &mut limit) };
        limit.now
    }

    /// `len` zeroed bytes; `None` if the host has none left, or the process may not have such a file. `name` tells other processes what it
    /// is.
    pub fn new(name: &str, len: u64) -> Option<SharedFile> {
        if len > SharedFile::longest() {
            return None;
        }
        let name = CString::new(name).ok()?;
        // SAFETY: `name` is a text that ends with a NUL, and is kept until the call has read it.
        let number = unsafe { memfd_create(name.as_ptr(), CREATE) };
        if number < 0 {
            return None;
        }
        // SAFETY: not negative, so a descriptor that `memfd_create` just opened: nobody else knows or closes it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        file.set_len(len).ok()?;
        // SAFETY: `file` is open; `F_ADD_SEALS` takes one `int` behind the command, as `FIXED` is, and no pointer.
        let sealed = unsafe { fcntl(file.as_raw_fd(), SEALS[0], FIXED) };
        (sealed == 0).then(|| SharedFile { file: file.into(), len })
    }

    /// What another process, or this one, exported, and its name. The descriptor stays the caller's.
    ///
    /// # Safety
    ///
    /// 1. The descriptor is open until this returns.
    pub unsafe fn import(number: RawFd) -> Option<(SharedFile, String)> {
        // SAFETY: it is open, and so not -1, until this returns (the caller's duty 1): longer than it is borrowed, on
        // this line.
        SharedFile::checked(unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?)
    }

    /// The file of that name which another process has open under that number, if it has; an error where this process has no room for
    /// another file.
    pub fn of_process(process: u32, number: u32, name: &str) -> io::Result<Option<SharedFile>> {
        let found = SharedFile::of_thread(&format!("/proc/{process}"), number, name)?;
        if found.is_some() {
            return Ok(found);
        }
        // The files of a process are found by its first thread, as long as that runs, and by any other.
        for thread in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let path = thread.path();
            let found = SharedFile::of_thread(&path.to_string_lossy(), number, name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The same by one thread, of which the system tells in a folder.
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

    /// A file that is sealed, and its name: others may be anything, and could shrink.
    fn checked(file: OwnedFd) -> Option<(SharedFile, String)> {
        let name = name_of(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        // SAFETY: `file` is open; `F_GET_SEALS` takes nothing behind the command; what is asked for is the number that
        // it returns.
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

    /// Gives the bytes of whole pages back to the host: they are zero for whoever still reads them.
    pub(super) fn clear(&self, offset: u64, bytes: u64) {
        // Where the host cannot, the bytes are kept: the memory of a device is unspecified when it is allocated.
        // SAFETY: `file` is open, and the call takes no pointer. Its length stays, so that mappings stay backed.
        let _ = unsafe { fallocate(self.file.as_raw_fd(), HOLE, offset as i64, bytes as i64) };
    }
}

/// The name of a file without one, as the kernel tells it where a process has it open.
fn name_of(path: &str) -> Option<String> {
    let path = std::fs::read_link(path).ok()?;
    let name = path.to_str()?.strip_prefix("/memfd:")?.strip_suffix(" (deleted)")?;
    Some(name.to_owned())
}

/// Bytes in a file that other processes can map, too.
#[derive(Debug)]
pub(super) struct SharedBytes {
    /// A mapping of `len` bytes of `file`, for reads and writes, which only `map` makes: it is there as long as this.
    start: NonNull<u8>,
    len: usize,
    file: Option<Arc<SharedFile>>,
}

// SAFETY: a mapping is the process's, not a thread's: any thread may use and unmap it. Its bytes are accessed as the
// head of `memory::access` says, which is for bytes that many threads use, and no method here touches them.
unsafe impl Send for SharedBytes {}
// SAFETY: as for `Send`: a shared reference gives the address of the bytes, their number, and the file.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// `len` zeroed bytes of a device; `None` if the host has none left.
    pub(super) fn new(len: u64, device: u32) -> Option<SharedBytes> {
        let file = SharedFile::new(&format!("{NAME}{device}"), len)?;
        SharedBytes::map(&Arc::new(file), 0, len)
    }

    /// What another process, or this one, exported: the bytes, and the number of their device. The descriptor stays the caller's.
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

    /// The same bytes, which other processes do not get from this one: they stay when nobody has their file open any more.
    pub(super) fn without_file(self) -> SharedBytes {
        let mut bytes = self;
        bytes.file = None;
        bytes
    }

    /// The first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Where they are, if others can have them from here.
    pub(super) fn file(&self) -> Option<&Arc<SharedFile>> {
        self.file.as_ref()
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> u64 {
        self.len as u64
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: the field's doc: `map` made it with this length; it is unmapped only here, and whoever has addresses of its bytes keeps this
        // (`Physical` and `Board` in a field, an `Allocation` in its backing).
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
        // SAFETY: the name ends with a NUL, and is kept for good.
        let number = unsafe { memfd_create(c"open".as_ptr(), CREATE) };
        assert!(number >= 0);
        // SAFETY: not negative, so a descriptor that `memfd_create` just opened: nobody else knows or closes it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        file.set_len(PAGE).unwrap();
        let opened = |name: &str| {
            let file = SharedFile::of_process(std::process::id(), number.unsigned_abs(), name);
            file.unwrap().map(|file| file.len())
        };
        assert_eq!(opened("open"), None);
        // SAFETY: `file` is open; `F_ADD_SEALS` takes one `int` behind the command, as `FIXED` is, and no pointer.
        assert_eq!(unsafe { fcntl(file.as_raw_fd(), SEALS[0], FIXED) }, 0);
        assert_eq!((opened("open"), opened("opened")), (Some(PAGE), None));
    }
}
