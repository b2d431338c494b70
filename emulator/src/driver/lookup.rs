//! The table, and `cuGetProcAddress`.

use super::config::DRIVER_VERSION;
use super::entry::{INVALID_VALUE, NOT_SUPPORTED, Out, Outcome, Text, entries};
use super::exports::{Export, Found, find, symbol_address};
use super::state::{self, Call};
use super::{
    array, context, device, errors, event, function, graph, init, launch, logs, memory, module, shims, slot,
    stream, texture, unimplemented,
};
use cuda_driver_sys::*;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, LazyLock};

use crate::stderr;
entries! {
    cuGetProcAddress_v2(name: *const c_char, function: *mut *mut c_void, version: c_int, flags: cuuint64_t, status: *mut CUdriverProcAddressQueryResult) [always] = get_proc_address;
    cuGetProcAddress_v1(name: *const c_char, function: *mut *mut c_void, version: c_int, flags: cuuint64_t) [always] = get_proc_address_v1;
}

/// Where the functions are, family by family.
const FAMILIES: &[fn(&str) -> *const c_void] = &[
    address,
    init::address,
    device::address,
    device::peer::address,
    context::events::address,
    context::functions::address,
    context::green::address,
    context::primary::address,
    stream::functions::address,
    stream::functions::attributes_address,
    stream::functions::callback_address,
    event::address,
    memory::address,
    memory::copy::address,
    memory::copy_batch::address,
    memory::copy_rows::address,
    memory::host::address,
    memory::managed::address,
    memory::managed_batch::address,
    memory::peer::address,
    memory::pointer::address,
    memory::pool::address,
    memory::set::address,
    memory::values::address,
    array::address,
    array::linear::address,
    array::mipmap::address,
    texture::address,
    texture::tensor_map::address,
    memory::virtual_memory::address,
    memory::export::address,
    memory::pool_sharing::address,
    #[cfg(target_os = "linux")]
    super::ipc::memory::address,
    #[cfg(target_os = "linux")]
    super::ipc::event::address,
    module::address,
    module::library::address,
    module::link::address,
    function::address,
    function::occupancy::address,
    launch::address,
    launch::steps::address,
    graph::address,
    errors::address,
    logs::address,
];

/// The emulator's driver: a table over its own functions.
///
/// All tables share the one state of the process, as with a real driver: what one makes, another can use. The first
/// `cuInit` reads the environment (see the crate's documentation). Functions that came after CUDA 13.0 are missing, as
/// in the driver that is emulated; others that the emulator does not have answer `CUDA_ERROR_NOT_SUPPORTED` and are
/// listed by [`unsupported_calls`](crate::unsupported_calls).
pub fn driver() -> Arc<Driver> {
    Arc::clone(shared())
}

/// The table of [`driver`].
pub(super) fn shared() -> &'static Arc<Driver> {
    static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(|| {
        stderr::remember();
        Arc::new(table())
    });
    &DRIVER
}

/// The table of the instance in that slot, which tells that version: it lacks what came later.
#[allow(unsafe_code, reason = "the table takes bare addresses")]
pub(super) fn table_of(slot: usize, version: c_int) -> Driver {
    let _entered = slot::enter(slot);
    let find = |symbol: &std::ffi::CStr| {
        let name = symbol.to_str().unwrap_or_default();
        let known = FUNCTIONS.binary_search_by_key(&name, |function| function.name()).ok();
        let since = known.and_then(|at| FUNCTIONS.get(at)).map(|function| function.since);
        // Older drivers have this one, too, under the name without a number.
        let is_there = since.is_some_and(|since| since <= version as u32) || name == "cuEventElapsedTime_v2";
        if is_there { here(name, table_address(name)) } else { std::ptr::null() }
    };
    // SAFETY: 1: `here` gives null, or the shim of that name, which `shims!` assigns to `pfn::NAME`, so that another
    // type does not compile; it calls the process's function of that name, and does what that does. 2: shims are
    // functions of this program, callable forever, from any thread, as that function is.
    unsafe { Driver::from_lookup(find) }
}

/// The function of the driver that is called which does what the process's at that address does; null for null.
fn here(symbol: &str, address: *const c_void) -> *const c_void {
    match slot::current() {
        slot::PROCESS => address,
        _ if address.is_null() => address,
        slot => shims::address(slot, symbol),
    }
}

#[allow(unsafe_code, reason = "the table takes bare addresses")]
fn table() -> Driver {
    let find = |symbol: &std::ffi::CStr| symbol.to_str().map_or(std::ptr::null(), table_address);
    // SAFETY: 1: `table_address` finds a function by its name in the families' tables, which `entries!` and `stubs!`
    // make: both assign it to `pfn::NAME`, the table's type for that name, so that another does not compile; where
    // there is none it is null. 2: they are functions of this program, callable forever, from any thread: what they
    // share is behind locks and atomics.
    unsafe { Driver::from_lookup(find) }
}

/// The emulator's function of that name in [`FUNCTIONS`]; null if driver 580 has none.
pub(super) fn table_address(name: &str) -> *const c_void {
    let known = FUNCTIONS
        .binary_search_by_key(&name, |function| function.name())
        .ok()
        .and_then(|at| FUNCTIONS.get(at));
    match known {
        Some(function) if function.since <= DRIVER_VERSION as u32 => {
            let found = FAMILIES.iter().map(|family| family(name)).find(|address| !address.is_null());
            found.unwrap_or_else(|| unimplemented::address(name))
        }
        _ => std::ptr::null(),
    }
}

/// Whether the caller wants functions whose NULL stream is the thread's own.
fn wants_own(flags: cuuint64_t) -> bool {
    flags & 2 != 0
}

/// The symbol that `cuGetProcAddress` finds for a name, a version and its flags, if that succeeds.
pub fn found_symbol(name: &str, version: c_int, flags: cuuint64_t) -> Option<&'static str> {
    match find(name, version, wants_own(flags)) {
        Found::Symbol(export) => Some(export.symbol()),
        Found::Later | Found::Nothing => None,
    }
}

/// The function of the driver that is called for a symbol. Instances have those of their table: the process's others would be silently
/// wrong.
fn provided(call: &Call, export: &Export) -> Outcome<*const c_void> {
    let address = symbol_address(export.symbol());
    if slot::current() == slot::PROCESS {
        return Ok(address);
    }
    let own = here(export.in_table(), address);
    if own.is_null() && !address.is_null() {
        super::report::line(format_args!(
            "{}: an Instance does not have {}; the process's emulator does",
            call.name,
            export.symbol()
        ));
        return Err(NOT_SUPPORTED);
    }
    Ok(own)
}

/// Finds a function by its unversioned name and the CUDA version that the program was written for.
fn get_proc_address(
    call: &Call,
    name: Text,
    function: Out<*mut c_void>,
    version: c_int,
    flags: cuuint64_t,
    status: Out<CUdriverProcAddressQueryResult>,
) -> Outcome {
    use CUdriverProcAddressQueryResult as R;
    let (name, place) = (name.required()?, function.required()?);
    let own = state::version();
    if version > own || flags > 3 {
        return Err(INVALID_VALUE);
    }
    let (address, answer) = match find(name, version, wants_own(flags)) {
        Found::Symbol(export) => (provided(call, export)?, R::CU_GET_PROC_ADDRESS_SUCCESS),
        Found::Later => (std::ptr::null(), R::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
        Found::Nothing => (std::ptr::null(), R::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
    };
    place.set(address.cast_mut());
    status.set(answer);
    Ok(())
}

/// As before CUDA 12.0, without a status: a function that is not there is an error.
fn get_proc_address_v1(
    call: &Call,
    name: Text,
    function: Out<*mut c_void>,
    version: c_int,
    flags: cuuint64_t,
) -> Outcome {
    let place = function.required()?;
    let mut found = std::ptr::null_mut();
    get_proc_address(call, name, Out::to(&mut found), version, flags, Out::none())?;
    place.set(found);
    if found.is_null() { Err(CUresult::CUDA_ERROR_NOT_FOUND) } else { Ok(()) }
}
