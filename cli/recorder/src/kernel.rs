//! Names and arguments of kernels, as reported by the driver.

#![allow(unsafe_code)] // Reads the arguments of a launch, whose sizes the driver reports.

use cuda_driver_sys::*;
use cuda_harness::kernel::parameters;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;
use std::sync::{Arc, LazyLock, Mutex};

use crate::real::driver;

/// What is known of a kernel.
pub(crate) struct Known {
    pub(crate) name: String,
    /// Bytes of each parameter; `None` before CUDA 12.4, or if the driver's query failed.
    sizes: Option<Vec<usize>>,
}

static KNOWN: LazyLock<Mutex<HashMap<usize, Arc<Known>>>> = LazyLock::new(Mutex::default);

/// Handles that are kernels of libraries. They are told apart because a driver writes to its log when a `CUkernel` is
/// queried as a `CUfunction` or the reverse.
static KERNELS: LazyLock<Mutex<HashSet<usize>>> = LazyLock::new(Mutex::default);

/// Called when a module is unloaded: afterwards another kernel may have the same handle.
pub(crate) fn forget() {
    KNOWN.lock().unwrap_or_else(|e| e.into_inner()).clear();
    KERNELS.lock().unwrap_or_else(|e| e.into_inner()).clear();
}

/// Records that the handle is that of a library's kernel.
pub(crate) fn of_library(kernel: CUkernel) {
    KERNELS.lock().unwrap_or_else(|e| e.into_inner()).insert(kernel.addr());
}

/// # Safety
/// 1. The function is a live function of the driver, or a live `CUkernel` that is used as a function, which a launch
///    accepts.
pub(crate) unsafe fn known(function: CUfunction) -> Arc<Known> {
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    let found = known.entry(function.addr()).or_insert_with(|| {
        // SAFETY: the same function: the caller's duty 1.
        Arc::new(unsafe { ask(function) })
    });
    Arc::clone(found)
}

/// # Safety
/// 1. The function is a live function of the driver, or a live `CUkernel` that is used as a function, which a launch
///    accepts.
unsafe fn ask(function: CUfunction) -> Known {
    let kernel: CUkernel = function.cast();
    let is_kernel = KERNELS.lock().unwrap_or_else(|e| e.into_inner()).contains(&function.addr());
    let mut name: *const c_char = null();
    // SAFETY: `name` outlives the calls; the handle is live, by duty 1, and if it is of the other kind the driver returns an error.
    let found = unsafe {
        !is_kernel && driver().cuFuncGetName(&mut name, function) == CUresult::SUCCESS
            || driver().cuKernelGetName(&mut name, kernel) == CUresult::SUCCESS
    };
    let name = if found && !name.is_null() {
        // SAFETY: checked to be not null; on success it is a C string that the driver never writes again and that lives as long as the
        // function, which is live during this call, by duty 1; the text is copied here.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    } else {
        format!("kernel {:#x}", function.addr())
    };
    // SAFETY: 1: the handle is live, by duty 1, and if it is of the other kind the driver returns an error, as for the name.
    let asked = unsafe {
        let handle = function.expose_provenance() as u64;
        match parameters(driver(), handle, is_kernel) {
            Err((_, CUresult::CUDA_ERROR_INVALID_HANDLE)) if !is_kernel => parameters(driver(), handle, true),
            asked => asked,
        }
    };
    let sizes = asked.ok().flatten().map(|list| list.into_iter().map(|(_, size)| size).collect());
    Known { name, sizes }
}

/// The arguments, each as a number in hex, or as bytes if it is longer.
///
/// # Safety
/// 1. `parameters` is null, or has a pointer for each parameter of the kernel. Each is null or valid for reads of the parameter's
///    size; the bytes are initialised or padding of a C structure, and are not written during the call.
/// 2. `known` is of that kernel.
pub(crate) unsafe fn arguments(known: &Known, parameters: *mut *mut c_void) -> Value {
    let Some(sizes) = known.sizes.as_ref().filter(|_| !parameters.is_null()) else { return Value::Null };
    let mut list = Vec::new();
    for (index, size) in sizes.iter().enumerate() {
        // SAFETY: not null, as `filter` above checked; there is an aligned pointer for each parameter of the kernel,
        // by duty 1, and `sizes` has as many entries, by duty 2.
        let argument = unsafe { *parameters.add(index) };
        if argument.is_null() {
            list.push(Value::Null);
            continue;
        }
        let mut bytes = vec![0_u8; *size];
        // SAFETY: 1: not null, so by duties 1 and 2 it is valid for reads of `size` bytes, which are not written
        // during the call; the vector has the same length and was just created. Some bytes may be padding that was
        // never written, which `copy` allows.
        unsafe { cuda_emulator::memory::passed::copy(argument.cast(), &mut bytes) };
        let digits = |bytes: &mut dyn Iterator<Item = &u8>| {
            bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        list.push(json!(match size {
            1 | 2 | 4 | 8 => format!("0x{}", digits(&mut bytes.iter().rev())),
            0..=32 => digits(&mut bytes.iter()),
            _ => format!("{}.. ({size} bytes)", digits(&mut bytes.iter().take(32))),
        }));
    }
    Value::Array(list)
}
