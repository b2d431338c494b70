//! A driver in front of another: it counts calls by name, and makes the call it is told to fail.
//!
//! Everything is per thread, as tests are. The shims are functions of the driver's own signatures, made from the list of
//! all of them, so that whatever the wrapper calls can fail.

#![allow(unsafe_code, dead_code, unreachable_pub)] // Forwarding C functions; each user needs a part of it.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]

use cuda_launch::sys::{self, CUresult, Driver, pfn};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock};

static BASE: OnceLock<Arc<Driver>> = OnceLock::new();

thread_local! {
    /// Whether the capture that began last makes a graph.
    static NEW_GRAPH: Cell<bool> = const { Cell::new(false) };
    static PLAN: Plan = const { Plan { refused_name: Cell::new(None), calls: Cell::new(0), fail_from: Cell::new(usize::MAX), fail_to: Cell::new(usize::MAX),
        code: Cell::new(0), failed: Cell::new(None), names: RefCell::new(Vec::new()),
        refused: RefCell::new(Vec::new()) } };
}

struct Plan {
    /// The function all of whose calls fail.
    refused_name: Cell<Option<&'static str>>,
    calls: Cell<usize>,
    fail_from: Cell<usize>,
    fail_to: Cell<usize>,
    code: Cell<u32>,
    failed: Cell<Option<&'static str>>,
    names: RefCell<Vec<&'static str>>,
    refused: RefCell<Vec<(&'static str, CUresult)>>,
}

/// The default driver behind shims. Functions in `hidden` are missing.
pub fn driver(hidden: &str) -> Arc<Driver> {
    let base = BASE.get_or_init(|| cuda_launch::default_driver().unwrap());
    let lookup = |name: &CStr| {
        let name = name.to_str().unwrap();
        if name == hidden || base.address(name).is_null() { ptr::null() } else { shim(name) }
    };
    // SAFETY: `shim` gives each name a function of its signature.
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// The default driver behind shims; where `replace` has a function for a name, that takes its place.
pub fn driver_with(replace: impl Fn(&str) -> *const c_void) -> Arc<Driver> {
    let base = BASE.get_or_init(|| cuda_launch::default_driver().unwrap());
    let lookup = |name: &CStr| {
        let name = name.to_str().unwrap();
        let replaced = replace(name);
        if !replaced.is_null() || base.address(name).is_null() { replaced } else { shim(name) }
    };
    // SAFETY: `shim` gives each name a function of its signature, and so does `replace`.
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// Counts a call of a function that took a shim's place.
pub fn count(name: &'static str) {
    PLAN.with(|plan| plan.names.borrow_mut().push(name));
}

/// The default driver, in which `cuEventElapsedTime_v2` goes by the name that it had before CUDA 12.8.
pub fn driver_with_older_elapsed_time() -> Arc<Driver> {
    let base = BASE.get_or_init(|| cuda_launch::default_driver().unwrap());
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuEventElapsedTime_v2" => ptr::null(),
        "cuEventElapsedTime" => base.address("cuEventElapsedTime_v2"),
        name => base.address(name),
    };
    // SAFETY: the base's own functions; the renamed one has the same signature.
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// Counts from zero, and fails the calls from number `from` to before number `to` with `code`.
pub fn plan(from: usize, to: usize, code: CUresult) {
    PLAN.with(|plan| {
        plan.refused_name.set(None);
        plan.calls.set(0);
        plan.fail_from.set(from);
        plan.fail_to.set(to);
        plan.code.set(code.0);
        plan.failed.set(None);
        plan.names.borrow_mut().clear();
        plan.refused.borrow_mut().clear();
    });
}

/// Counts from zero, and fails nothing.
pub fn watch() {
    plan(usize::MAX, usize::MAX, CUresult::SUCCESS);
}

/// Counts from zero, and fails all calls of this function with `code`.
pub fn fail_calls_of(name: &'static str, code: CUresult) {
    plan(usize::MAX, usize::MAX, code);
    PLAN.with(|plan| plan.refused_name.set(Some(name)));
}

/// The first call that was made to fail.
pub fn failed() -> Option<&'static str> {
    PLAN.with(|plan| plan.failed.get())
}

/// The calls made since the plan was laid, in order.
pub fn calls() -> Vec<&'static str> {
    PLAN.with(|plan| plan.names.borrow().clone())
}

/// What the driver itself answered with an error since the plan was laid.
pub fn refused() -> Vec<(&'static str, CUresult)> {
    PLAN.with(|plan| plan.refused.borrow().clone())
}

/// What the shim of `name` answers in place of the driver, if the plan says so.
fn intercept(name: &'static str) -> Option<CUresult> {
    PLAN.with(|plan| {
        let number = plan.calls.get();
        plan.calls.set(number + 1);
        plan.names.borrow_mut().push(name);
        let refused = plan.refused_name.get() == Some(name);
        if !refused && !(plan.fail_from.get()..plan.fail_to.get()).contains(&number) {
            return None;
        }
        if plan.failed.get().is_none() {
            plan.failed.set(Some(name));
        }
        Some(CUresult(plan.code.get()))
    })
}

/// Such calls do their work even where they answer an error, as a real driver's do when earlier work failed.
fn gives_back(name: &str) -> bool {
    // Nodes that are made, not memory that is given back.
    !name.contains("Node")
        && ["Free", "Destroy", "Unload", "Release", "Unmap", "Unregister", "EndCapture"]
            .iter()
            .any(|word| name.contains(word))
}

/// What is made by some calls and given back by others.
const FAMILIES: &[(&str, &[&str], &[&str])] = &[
    ("primary context", &["cuDevicePrimaryCtxRetain"], &["cuDevicePrimaryCtxRelease_v2"]),
    ("stream", &["cuStreamCreate", "cuStreamCreateWithPriority"], &["cuStreamDestroy_v2"]),
    ("event", &["cuEventCreate"], &["cuEventDestroy_v2"]),
    ("module", &["cuModuleLoadData", "cuModuleLoadDataEx"], &["cuModuleUnload"]),
    ("library", &["cuLibraryLoadData", "cuLibraryLoadFromFile"], &["cuLibraryUnload"]),
    ("link", &["cuLinkCreate_v2"], &["cuLinkDestroy"]),
    (
        "device memory",
        &[
            "cuMemAlloc_v2",
            "cuMemAllocAsync",
            "cuMemAllocFromPoolAsync",
            "cuMemAllocManaged",
            "cuMemAllocPitch_v2",
        ],
        &["cuMemFree_v2", "cuMemFreeAsync"],
    ),
    ("pinned memory", &["cuMemHostAlloc"], &["cuMemFreeHost"]),
    ("registered memory", &["cuMemHostRegister_v2"], &["cuMemHostUnregister"]),
    ("pool", &["cuMemPoolCreate"], &["cuMemPoolDestroy"]),
    ("physical memory", &["cuMemCreate"], &["cuMemRelease"]),
    ("reservation", &["cuMemAddressReserve"], &["cuMemAddressFree"]),
    ("mapping", &["cuMemMap"], &["cuMemUnmap"]),
    ("array", &["cuArray3DCreate_v2"], &["cuArrayDestroy"]),
    ("mipmapped array", &["cuMipmappedArrayCreate"], &["cuMipmappedArrayDestroy"]),
    ("texture", &["cuTexObjectCreate"], &["cuTexObjectDestroy"]),
    ("surface", &["cuSurfObjectCreate"], &["cuSurfObjectDestroy"]),
    ("graph", &["cuGraphCreate", "cuGraphClone"], &["cuGraphDestroy"]),
    (
        "executable graph",
        &["cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams"],
        &["cuGraphExecDestroy"],
    ),
];

static LIVE: Mutex<BTreeMap<&str, i64>> = Mutex::new(BTreeMap::new());

/// What was made by this process through the shims and not given back: families and how many.
pub fn live() -> BTreeMap<&'static str, i64> {
    let live = LIVE.lock().unwrap();
    live.iter().filter(|(_, count)| **count != 0).map(|(family, count)| (*family, *count)).collect()
}

/// The driver did `name`: what is live changes.
fn did(name: &str) {
    let changed = FAMILIES.iter().find_map(|(family, made, gone)| match name {
        _ if made.contains(&name) => Some((*family, 1)),
        _ if gone.contains(&name) => Some((*family, -1)),
        _ => None,
    });
    // A captured graph is the caller's, unless it was there before.
    let changed = match name {
        "cuStreamBeginCapture_v2" | "cuStreamBeginCaptureToGraph" => {
            NEW_GRAPH.set(name == "cuStreamBeginCapture_v2");
            None
        }
        "cuStreamEndCapture" => NEW_GRAPH.get().then_some(("graph", 1)),
        _ => changed,
    };
    if let Some((family, count)) = changed {
        *LIVE.lock().unwrap().entry(family).or_default() += count;
    }
}

macro_rules! shims {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        #[allow(non_snake_case)]
        mod shims {
            use super::*;
            $(pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                let answer = intercept(stringify!($name));
                if answer.is_some() && !gives_back(stringify!($name)) {
                    return answer.unwrap();
                }
                // SAFETY: the caller's own arguments; the base has the function, or it would be hidden.
                let code = unsafe { BASE.get().unwrap().$name($($argument),*) };
                if code == CUresult::SUCCESS {
                    did(stringify!($name));
                } else {
                    PLAN.with(|plan| plan.refused.borrow_mut().push((stringify!($name), code)));
                }
                answer.unwrap_or(code)
            })*
        }

        fn shim(name: &str) -> *const c_void {
            match name {
                $(stringify!($name) => {
                    let function: pfn::$name = shims::$name;
                    function as *const c_void
                })*
                _ => ptr::null(),
            }
        }
    };
}

sys::for_each_function!(shims);
