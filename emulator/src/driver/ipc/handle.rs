//! What a process sends to another one: which of its files something is in.

use cuda_driver_sys::CUresult;

use super::process::Process;
use crate::driver::entry::{INVALID_HANDLE, INVALID_VALUE, Outcome};
use crate::driver::logs;
use crate::memory::SharedFile;

/// What is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Kind {
    Memory = 1,
    Event = 2,
    /// A pool, or an allocation of one.
    Pool = 3,
}

impl Kind {
    /// What driver 580 answers to bytes that are no handle.
    fn unknown(self) -> CUresult {
        if self == Kind::Event { CUresult::CUDA_ERROR_MAP_FAILED } else { INVALID_VALUE }
    }

    /// What it answers where a process has ended whose memory a handle names; of others this is believed.
    fn gone(self) -> CUresult {
        if self == Kind::Memory { INVALID_HANDLE } else { CUresult::CUDA_ERROR_MAP_FAILED }
    }
}

/// Something that is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Handle {
    pub(in crate::driver) kind: Kind,
    /// Who made it.
    pub(in crate::driver) process: Process,
    /// A number that nothing else of that process has.
    pub(in crate::driver) serial: u64,
    /// The device that it is of.
    pub(in crate::driver) device: u32,
    /// The number under which that process has its file open.
    pub(in crate::driver) number: u32,
    /// Where in the file it begins.
    pub(in crate::driver) offset: u64,
    /// How many bytes it has.
    pub(in crate::driver) bytes: u64,
}

/// Bytes of a handle.
pub(in crate::driver) type Bytes = [u8; 64];

/// What handles begin with.
const MAGIC: u64 = u64::from_le_bytes(*b"cudaemul");
/// What names of files begin with.
const NAME: &str = "cuda-emulator";

impl Handle {
    /// Something of this process, whose file is not open yet.
    pub(in crate::driver) fn new(kind: Kind, serial: u64, device: u32, bytes: u64) -> Handle {
        Handle { kind, process: Process::own(), serial, device, number: 0, offset: 0, bytes }
    }

    /// The name of its file.
    pub(in crate::driver) fn name(&self) -> String {
        let Handle { kind, process, serial, device, .. } = self;
        format!("{NAME} {kind:?} {device} {} {} {serial}", process.id, process.start)
    }

    /// What is in the file of that name, which is of this kind.
    pub(in crate::driver) fn of_name(kind: Kind, name: &str) -> Option<Handle> {
        let mut words = name.strip_prefix(NAME)?.strip_prefix(&format!(" {kind:?} "))?.split(' ');
        let device = words.next()?.parse().ok()?;
        let process = Process { id: words.next()?.parse().ok()?, start: words.next()?.parse().ok()? };
        let serial = words.next()?.parse().ok()?;
        Some(Handle { kind, process, serial, device, number: 0, offset: 0, bytes: 0 })
    }

    /// Whether both are in one file.
    pub(in crate::driver) fn is_beside(&self, other: &Handle) -> bool {
        (self.kind, self.process, self.serial, self.device)
            == (other.kind, other.process, other.serial, other.device)
    }

    /// The numbers that it consists of. The last one tells handles from other bytes.
    fn words(&self) -> [u64; 8] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let first = pair(self.kind as u32, self.device);
        let second = pair(self.process.id, self.number);
        let mut words = [MAGIC, first, second, self.process.start, self.serial, self.offset, self.bytes, 0];
        words[7] = checksum(&words[..7]);
        words
    }

    /// The bytes to send.
    pub(in crate::driver) fn to_bytes(self) -> Bytes {
        let mut bytes = [0; 64];
        let (places, _) = bytes.as_chunks_mut();
        places.iter_mut().zip(self.words()).for_each(|(place, word)| *place = word.to_ne_bytes());
        bytes
    }

    /// What was sent; an error for bytes that are no handle of that kind.
    pub(in crate::driver) fn from_bytes(kind: Kind, bytes: &Bytes) -> Outcome<Handle> {
        let (parts, _) = bytes.as_chunks();
        let mut words = parts.iter().map(|part| u64::from_ne_bytes(*part));
        let mut next = || words.next().unwrap_or_default();
        let (_, first, second) = (next(), next(), next());
        let process = Process { id: (second >> 32) as u32, start: next() };
        let (serial, offset, bytes_of_it) = (next(), next(), next());
        let (device, number) = (first as u32, second as u32);
        let handle = Handle { kind, process, serial, device, number, offset, bytes: bytes_of_it };
        if handle.to_bytes() == *bytes { Ok(handle) } else { Err(kind.unknown()) }
    }

    /// Whether this process made it, which drivers refuse to open.
    pub(in crate::driver) fn is_own(&self) -> bool {
        self.process == Process::own()
    }

    /// The file of another process; `CUDA_ERROR_INVALID_CONTEXT` for one of this process, and another error if the process does not have
    /// it: it has ended, has freed what was shared, or belongs to another user; or if this one has no descriptor left.
    pub(in crate::driver) fn open(&self) -> Outcome<SharedFile> {
        if self.is_own() {
            logs::because("the handle comes from this process; only other processes can open it".to_owned());
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        let file = SharedFile::of_process(self.process.id, self.number, &self.name());
        let file = file.map_err(|_| no_file())?;
        let end = self.offset.checked_add(self.bytes).ok_or(INVALID_VALUE)?;
        file.filter(|file| end <= file.len()).ok_or_else(|| {
            logs::because(format!(
                "process {} no longer has what the handle refers to: it has ended, has freed it, or belongs to another user",
                self.process.id
            ));
            self.kind.gone()
        })
    }
}

/// The answer where there is no file for what is to be shared, and why.
#[cold]
pub(in crate::driver) fn no_file() -> CUresult {
    logs::because(
        "memory that processes share is in files in the host's memory: there is no room for another one, or this process exceeds its limits \
         for the number or size of files (`ulimit -n`, `ulimit -f`)"
            .to_owned(),
    );
    CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

/// FNV-1a, of whole numbers.
fn checksum(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn handle() -> Handle {
        let process = Process { id: 7, start: 1 << 40 };
        let (kind, serial, device) = (Kind::Memory, u64::MAX, 3);
        Handle { kind, process, serial, device, number: 9, offset: 4096, bytes: 1 << 33 }
    }

    #[test]
    fn a_handle_comes_back() {
        let bytes = handle().to_bytes();
        assert_eq!(Handle::from_bytes(Kind::Memory, &bytes), Ok(handle()));
        assert_eq!(Handle::from_bytes(Kind::Event, &bytes), Err(CUresult::CUDA_ERROR_MAP_FAILED));
    }

    #[test]
    fn no_other_bytes_are_one() {
        for bit in 0..512 {
            let mut bytes = handle().to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Handle::from_bytes(Kind::Memory, &bytes), Err(INVALID_VALUE), "{bit}");
        }
        assert_eq!(Handle::from_bytes(Kind::Memory, &[0; 64]), Err(INVALID_VALUE));
    }

    #[test]
    fn a_name_tells_what_a_file_is() {
        let name = handle().name();
        assert_eq!(Handle::of_name(Kind::Pool, &name), None);
        assert!(Handle::of_name(Kind::Memory, &name).is_some_and(|found| found.is_beside(&handle())));
        let other = Handle { serial: 1, ..handle() };
        assert!(!other.is_beside(&handle()) && other.name() != name);
    }

    /// A file of this process that looks like one of the process which had its number before.
    #[test]
    #[cfg(target_os = "linux")]
    fn only_the_named_bytes_of_another_process_are_opened() {
        let own = Process::own();
        let before = Process { start: own.start + 1, ..own };
        let handle = Handle { process: before, ..Handle::new(Kind::Memory, 1, 0, 8192) };
        let Some(file) = SharedFile::new(&handle.name(), 8192) else { panic!("the system has no such file") };
        let opened = |changed: Handle| {
            let handle = Handle { number: file.number(), ..changed };
            handle.open().map(|file| file.len())
        };
        assert_eq!(opened(handle), Ok(8192));
        assert_eq!(opened(Handle { offset: 4096, bytes: 4096, ..handle }), Ok(8192));
        for (offset, bytes) in [(0, 8193), (4096, 4097)] {
            assert_eq!(opened(Handle { offset, bytes, ..handle }), Err(INVALID_HANDLE), "{offset} {bytes}");
        }
        assert_eq!(opened(Handle { offset: u64::MAX, bytes: 2, ..handle }), Err(INVALID_VALUE));
        assert_eq!(opened(Handle { serial: 2, ..handle }), Err(INVALID_HANDLE));
        assert_eq!(opened(Handle { process: own, ..handle }), Err(CUresult::CUDA_ERROR_INVALID_CONTEXT));
    }
}
