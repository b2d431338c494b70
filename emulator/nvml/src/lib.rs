//! A minimal `libnvidia-ml.so.1` for the emulator's devices.
//!
//! It answers how many there are, what they are called, where they are, how much memory they have, and which versions this is. All other
//! functions answer `NVML_ERROR_NOT_SUPPORTED`. Like NVML itself, it does not start the driver: a process may ask and then fork.
//!
//! Relies on callers to keep to the contracts of NVML's functions. Comments cite these as N1 to N4:
//!
//! - N1: a pointer is null, or aligned for the type that NVML's header gives it, and valid for writes of one such value; a `char` pointer with
//!   a length beside it for writes of that many bytes, in one allocation.
//! - N2: a `char` pointer without one is null, or goes to bytes up to a NUL, in one allocation.
//! - N3: until the call returns nobody else touches what it writes or writes what it reads, and places that it writes are memory of the
//!   program, not of this library.
//! - N4: a structure that has a version has it set.
//!
//! The functions are C's: their names and, but for those of `not_supported`, their parameters and results are in NVML's header. In the library
//! that this crate is linked into (the `emulate` feature of the tool `cuda-launch`) nothing else defines a symbol that begins with `nvml`: the
//! other crate with C functions, `cuda-emulator-libcuda`, has `cu..` alone, and the compiler refuses one name twice in this crate.
#![allow(unsafe_code)]
#![allow(non_snake_case, clippy::missing_safety_doc, reason = "C functions")]

mod not_supported;

use cuda_emulator::{NvmlDevice, nvml_devices};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU32, Ordering};

const SUCCESS: u32 = 0;
const UNINITIALIZED: u32 = 1;
const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const NOT_FOUND: u32 = 6;
const INSUFFICIENT_SIZE: u32 = 7;
const VERSION_MISMATCH: u32 = 25;

/// The driver that the emulator is like.
const DRIVER: &str = "580.00.00";
const NVML: &str = "13.580.00.00";
const CUDA: i32 = 13000;

/// How often it was initialised more than shut down.
static USERS: AtomicU32 = AtomicU32::new(0);

/// A device: its number and 1, as a pointer.
type Handle = usize;

/// `nvmlMemory_t`
#[repr(C)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlMemory_v2_t`
#[repr(C)]
struct Memory2 {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// `nvmlPciInfo_t`
#[repr(C)]
struct Pci {
    legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    device_id: u32,
    subsystem_id: u32,
    id: [u8; 32],
}

/// What a function answers: `Ok`, or the code.
type Answer = Result<(), u32>;

/// The devices, once it is initialised.
fn devices() -> Result<Vec<NvmlDevice>, u32> {
    if USERS.load(Ordering::Acquire) == 0 { Err(UNINITIALIZED) } else { Ok(nvml_devices()) }
}

fn device(handle: Handle) -> Result<NvmlDevice, u32> {
    let index = handle.checked_sub(1).ok_or(INVALID_ARGUMENT)?;
    devices()?.into_iter().nth(index).ok_or(INVALID_ARGUMENT)
}

fn find(is_it: impl Fn(&NvmlDevice) -> bool) -> Result<Handle, u32> {
    devices()?.iter().position(is_it).map(|index| index + 1).ok_or(NOT_FOUND)
}

/// A place for a value, as N1 and N3 say until the function returns that the program called with it: nothing here makes one, and the functions
/// keep none.
#[repr(transparent)]
struct Out<T>(*mut T);

impl<T> Out<T> {
    fn put(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: it is not null, so by N1 it is aligned and valid for a write of a `T`, which has the layout of the header's type; by N3
        // nothing else accesses it. The previous value belongs to C and is not dropped.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

impl Out<Memory2> {
    /// What the program wrote there.
    fn version(&self) -> Result<u32, u32> {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: not null, so by N1, as the type says, aligned for the structure; its version, the first member, is set, by N4, and by N3 nobody
        // writes it. The rest need not be set, nor be there in another version: no reference to it is made.
        Ok(unsafe { (&raw const (*self.0).version).read() })
    }
}

/// A place for as many bytes as the argument next to it says, as N1 and N3 say; it comes from nowhere else, as [`Out`].
#[repr(transparent)]
struct Buffer(*mut u8);

impl Buffer {
    /// Writes a text with its NUL.
    ///
    /// # Safety
    ///
    /// 1. `bytes` is what the program passed next to it.
    unsafe fn put(self, bytes: u32, text: &str) -> Answer {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        if bytes as usize <= text.len() {
            return Err(INSUFFICIENT_SIZE);
        }
        // SAFETY: not null, so by N1 valid for writes of `bytes` bytes, duty 1, which are more than the text has, so that its NUL fits. The text is
        // this library's, and so, by N3, does not overlap them. Bytes need no alignment.
        unsafe {
            self.0.copy_from_nonoverlapping(text.as_ptr(), text.len());
            self.0.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// A text of the program's, as N2 and N3 say; it comes from nowhere else, as [`Out`].
#[repr(transparent)]
struct InputText(*const c_char);

impl InputText {
    fn text(&self) -> Result<&str, u32> {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: not null, so by N2 bytes up to a NUL, in one allocation, which by N3 nobody writes until the call returns: the result lives no
        // longer than `self`, an argument of the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| INVALID_ARGUMENT)
    }
}

/// `GPU-63756461-2d6c-6175-6e63-6820656d7530`, as `nvidia-smi` has them.
fn uuid(device: &NvmlDevice) -> String {
    let hex: String = device.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("GPU-{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// With four digits of the domain, or with eight.
fn pci_id(device: &NvmlDevice, digits: usize) -> String {
    format!("{:0digits$x}:{:02x}:00.0", 0, device.bus)
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(text.bytes()).for_each(|(byte, letter)| *byte = letter);
    bytes
}

macro_rules! functions {
    ($($name:ident ($($argument:ident: $type:ty),*) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is the C function's, and so are parameters and result: `Out`, `Buffer` and `InputText` are pointers, by
        // `repr(transparent)`, and a `Handle` is as wide as one. No other symbol has the name, as the head of this file says.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> u32 {
            let answer = move || -> Answer { $body };
            answer().err().unwrap_or(SUCCESS)
        }
    )*};
}

/// Names of earlier versions of NVML, for the same.
macro_rules! earlier {
    ($($name:ident = $newer:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: as for `functions!`: the C function's name, parameters and result, and no other symbol has the name.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> u32 {
            $newer($($argument),*)
        }
    )*};
}

earlier! {
    nvmlInit = nvmlInit_v2();
    nvmlSystemGetCudaDriverVersion = nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>);
    nvmlDeviceGetCount = nvmlDeviceGetCount_v2(count: Out<u32>);
    nvmlDeviceGetHandleByIndex = nvmlDeviceGetHandleByIndex_v2(index: u32, handle: Out<Handle>);
    nvmlDeviceGetHandleByPciBusId = nvmlDeviceGetHandleByPciBusId_v2(text: InputText, handle: Out<Handle>);
}

functions! {
    nvmlInit_v2() {
        USERS.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
    nvmlInitWithFlags(_flags: u32) {
        USERS.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
    nvmlShutdown() {
        let left = USERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |users| users.checked_sub(1));
        left.map(drop).map_err(|_| UNINITIALIZED)
    }
    nvmlSystemGetDriverVersion(text: Buffer, bytes: u32) {
        devices()?;
        // SAFETY: 1: `bytes` is the argument next to `text`, as the program passed both.
        unsafe { text.put(bytes, DRIVER) }
    }
    // This and the next answer also before `nvmlInit`.
    nvmlSystemGetNVMLVersion(text: Buffer, bytes: u32) {
        // SAFETY: 1: `bytes` is the argument next to `text`, as the program passed both.
        unsafe { text.put(bytes, NVML) }
    }
    nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) {
        version.put(CUDA)
    }
    nvmlDeviceGetCount_v2(count: Out<u32>) {
        count.put(u32::try_from(devices()?.len()).map_err(|_| INVALID_ARGUMENT)?)
    }
    nvmlDeviceGetHandleByIndex_v2(index: u32, place: Out<Handle>) {
        let handle = index as usize + 1;
        device(handle)?;
        place.put(handle)
    }
    nvmlDeviceGetHandleByUUID(text: InputText, place: Out<Handle>) {
        let asked = text.text()?;
        place.put(find(|device| uuid(device) == asked)?)
    }
    nvmlDeviceGetHandleByPciBusId_v2(text: InputText, place: Out<Handle>) {
        let asked = text.text()?;
        place.put(find(|device| [4, 8].iter().any(|digits| pci_id(device, *digits).eq_ignore_ascii_case(asked)))?)
    }
    nvmlDeviceGetName(handle: Handle, text: Buffer, bytes: u32) {
        let device = device(handle)?;
        // SAFETY: 1: `bytes` is the argument next to `text`, as the program passed both.
        unsafe { text.put(bytes, device.name) }
    }
    nvmlDeviceGetUUID(handle: Handle, text: Buffer, bytes: u32) {
        let uuid = uuid(&device(handle)?);
        // SAFETY: 1: `bytes` is the argument next to `text`, as the program passed both.
        unsafe { text.put(bytes, &uuid) }
    }
    nvmlDeviceGetIndex(handle: Handle, index: Out<u32>) {
        device(handle)?;
        index.put(u32::try_from(handle - 1).map_err(|_| INVALID_ARGUMENT)?)
    }
    nvmlDeviceGetMemoryInfo(handle: Handle, place: Out<Memory>) {
        let NvmlDevice { total, used, .. } = device(handle)?;
        place.put(Memory { total, free: total.saturating_sub(used), used })
    }
    nvmlDeviceGetMemoryInfo_v2(handle: Handle, place: Out<Memory2>) {
        let NvmlDevice { total, used, .. } = device(handle)?;
        let version = size_of::<Memory2>() as u32 | 2 << 24;
        if place.version()? != version {
            return Err(VERSION_MISMATCH);
        }
        place.put(Memory2 { version, total, reserved: 0, free: total.saturating_sub(used), used })
    }
    nvmlDeviceGetPciInfo_v3(handle: Handle, place: Out<Pci>) {
        let device = device(handle)?;
        let (legacy, id) = (padded(&pci_id(&device, 4)), padded(&pci_id(&device, 8)));
        place.put(Pci { legacy, domain: 0, bus: device.bus, device: 0, device_id: 0, subsystem_id: 0, id })
    }
    nvmlDeviceGetCudaComputeCapability(handle: Handle, major: Out<i32>, minor: Out<i32>) {
        let (of_major, of_minor) = device(handle)?.capability;
        major.put(of_major)?;
        minor.put(of_minor)
    }
}

/// `nvmlErrorString`
// SAFETY: as for `functions!`: the C function's name, parameter and result, and no other symbol has the name. The text is there forever.
#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: u32) -> *const c_char {
    let text = match code {
        SUCCESS => c"success",
        UNINITIALIZED => c"NVML is not initialised",
        INVALID_ARGUMENT => c"an argument is invalid",
        NOT_SUPPORTED => c"not supported by the devices of cuda-launch emulate",
        NOT_FOUND => c"no such device",
        INSUFFICIENT_SIZE => c"the buffer is too small",
        VERSION_MISMATCH => c"the structure has another version",
        _ => c"an unknown code",
    };
    text.as_ptr()
}
