//! The functions that the emulator does not have: each says so, on standard error and in the list of
//! [`unsupported_calls`], and returns `CUDA_ERROR_NOT_SUPPORTED`.

use cuda_driver_sys::CUresult;
use std::ffi::c_void;
use std::sync::Mutex;

use super::entry::{NOT_SUPPORTED, Rule, call};
use super::slot::{PerSlot, per_slot};
use super::state::lock;
use crate::tool_report::{Obstacle, ToolReport};

static CALLED: PerSlot<Mutex<Vec<&'static str>>> = per_slot!(Mutex::new(Vec::new()));

/// The driver functions that this process has called and that the emulator does not have, in the order of their first
/// call.
pub fn unsupported_calls() -> Vec<&'static str> {
    lock(&CALLED).clone()
}

/// Forgets the calls.
pub(super) fn clear() {
    lock(&CALLED).clear();
}

/// Remembers the call; the first one of each function is reported, with what to do instead.
fn refuse(name: &'static str, instead: &dyn Fn() -> String) -> CUresult {
    call(name, Rule::Always, &mut |call| {
        let mut called = lock(&CALLED);
        if !called.contains(&call.name) {
            called.push(call.name);
            // Programs request undocumented tables, and continue without them.
            if call.name != "cuGetExportTable" {
                let (name, way) = (call.name, instead());
                super::report::line(format_args!("{name} is not emulated: CUDA_ERROR_NOT_SUPPORTED; {way}"));
                let (subject, why) = (name.to_owned(), "the function is not emulated".to_owned());
                let obstacle = Obstacle { kind: "function".into(), code: NOT_SUPPORTED.0, subject, why, way };
                ToolReport::Obstacle(obstacle).send();
            }
        }
        Err(NOT_SUPPORTED)
    })
}

/// For a function of the table.
fn refuse_row(name: &'static str) -> CUresult {
    refuse(name, &|| instead(name).to_owned())
}

/// For a symbol that is not in the table, and the one that programs of today call.
pub fn refuse_export(symbol: &'static str, newest: &'static str) -> CUresult {
    refuse(symbol, &|| {
        if symbol == newest {
            return instead(symbol).to_owned();
        }
        format!(
            "it is an older ABI (before CUDA 3.2, with 32-bit addresses), replaced by {newest}: build against a newer cuda.h, \
             or look that symbol up"
        )
    })
}

/// The alternative for a program that needs a function.
fn instead(name: &str) -> &'static str {
    let starts = |parts: &&(&[&str], &'static str)| parts.0.iter().any(|part| name.starts_with(part));
    INSTEAD.iter().find(starts).map_or(OTHERWISE, |(_, instead)| instead)
}

/// Where there is nothing better to say.
const OTHERWISE: &str = "avoid it if possible, or run this part on a GPU";

/// What names begin with, and what such a program can do.
const INSTEAD: &[(&[&str], &str)] = &[
    (
        &["cuGraphics", "cuGL", "cuEGL", "cuVDPAU", "cuEventCreateFromEGL"],
        "the emulated device has no graphics: copy through host memory",
    ),
    (&["cuIpc"], "processes share memory and events only on Linux: use one process, or host memory"),
    (
        &["cuTexRef", "cuSurfRef", "cuModuleGetTexRef", "cuModuleGetSurfRef", "cuParamSetTexRef"],
        "CUDA 12 has no texture and surface references in kernels: use objects (cuTexObjectCreate, cuSurfObjectCreate)",
    ),
    (
        &[
            "cuImportExternal",
            "cuExternalMemory",
            "cuDestroyExternal",
            "cuSignalExternal",
            "cuWaitExternal",
            "cuGraphAddExternal",
            "cuGraphExternal",
            "cuGraphExecExternal",
        ],
        "memory and semaphores of other interfaces are not reached: copy through host memory; between processes, share what cuMemCreate \
         has made (cuMemExportToShareableHandle)",
    ),
    (
        &["cuMulticast"],
        "there are no multicast objects, as CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED says: copy to each device (cuMemcpyPeerAsync)",
    ),
    (
        &["cuArrayGet", "cuMipmappedArrayGet", "cuMemMapArray"],
        "arrays have their memory from the beginning, as CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED and \
         .._DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED say, and no planes: use ordinary arrays",
    ),
    (&["cuCheckpoint"], "the state of a process is not saved: copy to the host what is to be kept"),
    (
        &["cuCoredump"],
        "no core dump is written: the report of a fault has the kernel, the block, the thread and the address",
    ),
    (
        &["cuDeviceRegisterAsync", "cuDeviceUnregisterAsync"],
        "the emulated device has no notifications: ask cuMemGetInfo where the program would be told",
    ),
    (
        &["cuDeviceGetHostAtomic", "cuDeviceGetP2PAtomic"],
        "ask cuDeviceGetAttribute (CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED) and cuDeviceGetP2PAttribute \
         (CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)",
    ),
    (
        &["cuFlushGPUDirect", "cuMemGetHandleForAddressRange", "cuDeviceGetNvSciSync"],
        "no other hardware reaches the memory, as CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED and .._DMA_BUF_SUPPORTED say: copy \
         through host memory",
    ),
    (
        &["cuMemBatchDecompress"],
        "the device decompresses nothing, as CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK says: do it on the host, or in a kernel",
    ),
    (&["cuTensorMapEncodeIm2colWide"], "it is for sm_100 and later: use cuTensorMapEncodeIm2col"),
    (
        &["cuLaunchCooperativeKernelMultiDevice"],
        "the devices launch nothing together, as CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH says: use \
         cuLaunchCooperativeKernel on each",
    ),
    (
        &["cuDeviceGetTexture1DLinear"],
        "ask cuDeviceGetAttribute (CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)",
    ),
    (&["cuGetExportTable"], "undocumented tables are not provided: programs of the CUDA runtime need a GPU"),
];

macro_rules! stubs {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        $(
            #[allow(unsafe_code, non_snake_case, clippy::too_many_arguments, reason = "a C function")]
            unsafe extern "C" fn $name($(_: $type),*) -> CUresult {
                refuse_row(stringify!($name))
            }
        )*

        /// The stub of a function of the API.
        pub(super) fn address(name: &str) -> *const c_void {
            match name {
                $(stringify!($name) => {
                    let stub: cuda_driver_sys::pfn::$name = $name;
                    stub as *const c_void
                })*
                _ => std::ptr::null(),
            }
        }
    };
}
cuda_driver_sys::for_each_function!(stubs);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::lookup::table_address;
    use cuda_driver_sys::FUNCTIONS;

    /// The functions that a stub stands for.
    fn missing() -> Vec<&'static str> {
        let is_missing = |name: &&str| std::ptr::eq(table_address(name), address(name));
        FUNCTIONS.iter().map(|function| function.name()).filter(is_missing).collect()
    }

    /// So that nobody is told only to avoid it.
    #[test]
    fn each_missing_function_has_something_to_do_instead() {
        let missing = missing();
        assert!(missing.contains(&"cuTexRefSetArray") && !missing.contains(&"cuMemAlloc_v2"));
        for name in missing.iter().filter(|name| !table_address(name).is_null()) {
            assert_ne!(instead(name), OTHERWISE, "{name}");
        }
    }

    /// A prefix that no missing function has means nothing.
    #[test]
    fn each_line_of_advice_is_for_a_missing_function() {
        let missing = missing();
        let is_used = |prefix: &str| missing.iter().any(|name| name.starts_with(prefix));
        // Those of other headers, and what only Linux has.
        let others = ["cuGL", "cuEGL", "cuVDPAU", "cuEventCreateFromEGL", "cuIpc"];
        let prefixes = INSTEAD.iter().flat_map(|(prefixes, _)| *prefixes);
        let useless: Vec<_> =
            prefixes.filter(|prefix| !is_used(prefix) && !others.contains(prefix)).collect();
        assert!(useless.is_empty(), "{useless:?}");
    }
}
