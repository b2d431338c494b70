//! The families of functions for graphs.

use std::ffi::c_void;

use super::{
    attribute, batch, capture, change, child, conditional, copy, dot, edges, event, exec, fill, generic,
    host, kernel, memory, nodes, structure, update, user_object,
};

/// The lookup functions, one per file.
const FAMILIES: &[fn(&str) -> *const c_void] = &[
    structure::address,
    edges::address,
    nodes::address,
    kernel::address,
    copy::address,
    fill::address,
    host::address,
    batch::address,
    event::address,
    exec::address,
    change::address,
    update::address,
    child::address,
    memory::address,
    conditional::address,
    generic::address,
    attribute::address,
    user_object::address,
    dot::address,
    capture::functions::address,
];

/// The address of one of the functions for graphs; null for other names.
pub(in crate::driver) fn address(name: &str) -> *const c_void {
    let found = FAMILIES.iter().map(|family| family(name)).find(|address| !address.is_null());
    found.unwrap_or(std::ptr::null())
}
