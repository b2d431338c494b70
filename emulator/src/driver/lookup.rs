//! The table, and `cuGetProcAddress`.

use super::device::DRIVER_VERSION;
use super::entry::{INVALID_VALUE, Out, Outcome, Text, entries};
use super::exports::{Found, find, symbol_address};
use super::state::Call;
use super::{
    array, context, device, errors, event, function, graph, init, launch, logs, memory, module, stream,
    texture, unimplemented,
};
use cuda_driver_sys::*;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, LazyLock};
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
    module::address,
    module::library::address,
    module::link::address,
    function::address,
    function::occupancy::address,
    launch::address,
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
    static DRIVER: LazyLock<Arc<Driver>> = LazyLock::new(|| Arc::new(table()));
    Arc::clone(&DRIVER)
}

#[allow(unsafe_code, reason = "the table takes bare addresses")]
fn table() -> Driver {
    let find = |symbol: &std::ffi::CStr| symbol.to_str().map_or(std::ptr::null(), table_address);
    // SAFETY: `table_address` finds each function by its name, and `entries!` and `stubs!` compare its type with the one
    // that the table has for that name. They are functions of this program, callable for ever.
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

/// Finds a function by its unversioned name and the CUDA version that the program was written for.
fn get_proc_address(
    _: &Call,
    name: Text,
    function: Out<*mut c_void>,
    version: c_int,
    flags: cuuint64_t,
    status: Out<CUdriverProcAddressQueryResult>,
) -> Outcome {
    use CUdriverProcAddressQueryResult as R;
    let (name, place) = (name.required()?, function.required()?);
    if version > DRIVER_VERSION || flags > 3 {
        return Err(INVALID_VALUE);
    }
    let (address, answer) = match find(name, version, wants_own(flags)) {
        Found::Symbol(export) => (symbol_address(export.symbol()), R::CU_GET_PROC_ADDRESS_SUCCESS),
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
