//! How a tool attaches: it is loaded once, and given the addresses of the slots that it fills.

#![allow(unsafe_code)] // Loads the library that the environment names, and calls it as the protocol says.

use std::ffi::{OsString, c_int, c_uint, c_void};
use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::event::VERSION;
use super::slots::{
    CORE_TABLE, CORE2_TABLE, CUDA_TABLE, CUDART_TABLE, OPENCL_TABLE, SYNC_TABLE, Slot, Table,
};

/// Whether a tool listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tool {
    /// None was named: calls do nothing.
    None,
    /// One was named and did not attach, for this reason: calls do nothing.
    Failed(String),
    /// One receives ranges and marks.
    Attached,
}

const VARIABLE: &str =
    if cfg!(target_pointer_width = "32") { "NVTX_INJECTION32_PATH" } else { "NVTX_INJECTION64_PATH" };

static TOOL: OnceLock<Tool> = OnceLock::new();

/// Whether a tool listens. The first call of this module loads it.
pub fn tool() -> &'static Tool {
    TOOL.get_or_init(|| match std::env::var_os(VARIABLE) {
        Some(path) if !path.is_empty() => attach(path),
        _ => Tool::None,
    })
}

/// What the tool put into a slot, if it listens to it.
#[inline]
pub(super) fn slot<const N: usize>(group: &[Slot; N], number: usize) -> Option<*mut c_void> {
    if *tool() != Tool::Attached {
        return None;
    }
    // What the tool wrote while it attached is seen by whoever has seen that it did.
    let function = group.get(number)?.load(Ordering::Relaxed);
    (!function.is_null()).then_some(function)
}

type Lookup = unsafe extern "system" fn(u32) -> *const c_void;
type Attach = unsafe extern "system" fn(Lookup) -> c_int;

fn attach(path: OsString) -> Tool {
    let failed = |why: &str| Tool::Failed(format!("{VARIABLE}={}: {why}", path.display()));
    // SAFETY: 1: the variable names what the process loads, as `LD_PRELOAD` does: who sets the environment of a process can run any code
    // in it.
    let symbol = match unsafe { cuda_driver_sys::open_library(&path) } {
        Ok(lookup) => lookup(c"InitializeInjectionNvtx2"),
        Err(reason) => return failed(&reason.to_string()),
    };
    if symbol.is_null() {
        return failed("it has no InitializeInjectionNvtx2: it is not a tool for NVTX 3");
    }
    // SAFETY: the protocol has a function of this signature under this name, which is not null, in a library that stays loaded. It is
    // called once, as `TOOL` is set once; `parts` may be called with any number, and what it hands out are statics.
    let attached = unsafe { std::mem::transmute::<*const c_void, Attach>(symbol)(parts) };
    if attached == 0 { failed("the tool reported that it cannot work here") } else { Tool::Attached }
}

/// The part of the protocol that hands out the slots of a group.
#[repr(C)]
struct Slots {
    size: usize,
    of_group: unsafe extern "system" fn(c_uint, *mut *const *const Slot, *mut c_uint) -> c_int,
}

/// The part that tells this side's version, and takes the tool's.
#[repr(C)]
struct Version {
    size: usize,
    version: u32,
    reserved: u32,
    take: unsafe extern "system" fn(u32),
}

static SLOTS: Slots = Slots { size: size_of::<Slots>(), of_group };
static OWN_VERSION: Version =
    Version { size: size_of::<Version>(), version: VERSION as u32, reserved: 0, take: take_version };

/// What the tool is called with: hands out the parts by number.
unsafe extern "system" fn parts(number: u32) -> *const c_void {
    match number {
        1 => (&raw const SLOTS).cast(),
        3 => (&raw const OWN_VERSION).cast(),
        _ => null(),
    }
}

unsafe extern "system" fn take_version(_: u32) {}

/// Tells where the slots of a group are, and how many, the unused first one counted.
unsafe extern "system" fn of_group(
    group: c_uint,
    table: *mut *const *const Slot,
    count: *mut c_uint,
) -> c_int {
    let (slots, len) = match group {
        1 => parts_of(&CORE_TABLE),
        2 => parts_of(&CUDA_TABLE),
        3 => parts_of(&OPENCL_TABLE),
        4 => parts_of(&CUDART_TABLE),
        5 => parts_of(&CORE2_TABLE),
        6 => parts_of(&SYNC_TABLE),
        _ => return 0,
    };
    // SAFETY: by the protocol each is null, which is looked for, or a place of the tool's for such a value, which may
    // be written.
    unsafe {
        if !table.is_null() {
            table.write(slots);
        }
        if !count.is_null() {
            count.write(len);
        }
    }
    1
}

fn parts_of<const N: usize>(table: &'static Table<N>) -> (*const *const Slot, c_uint) {
    (table.0.as_ptr(), N as c_uint - 1)
}
