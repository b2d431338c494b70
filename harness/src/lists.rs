//! Handles that a call returns in a list: handles of objects that belong to another one, and that no call need have created. A driver
//! reuses the address of a destroyed one for the next.
//!
//! Relies on: the words are the arguments of a successful call whose contract holds.
#![allow(unsafe_code)]

use crate::functions::{Function, Plain};
use crate::kind::Kind;
use crate::read;
use cuda_driver_sys::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUgraphNodeParams, CUgraphNodeType, CUlibrary, CUmodule, CUresult, Driver,
};
use std::mem::offset_of;
use std::ptr::with_exposed_provenance_mut;

/// The contents of a list.
pub(crate) struct Listed {
    pub(crate) kind: Kind,
    /// The argument that names the object to which they belong.
    pub(crate) owner: usize,
    pub(crate) handles: Vec<u64>,
}

/// The handles that a call has written to a list of the program.
///
/// # Safety
///
/// 1. `words` are the arguments of a successful call of that function of that driver, and `results` its results.
pub(crate) unsafe fn listed(
    driver: &Driver,
    function: &Function,
    words: &[u64],
    results: &[(usize, u64)],
) -> Option<Listed> {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    let (kind, owner, list, count) = match function.name {
        "cuGraphGetNodes" | "cuGraphGetRootNodes" => {
            let count = results.iter().find(|(at, _)| *at == 2).map_or(0, |(_, count)| *count);
            (Kind::GraphNode, 0, word(1), count)
        }
        "cuLibraryEnumerateKernels" => {
            let (mut count, library): (_, CUlibrary) = (0, with_exposed_provenance_mut(word(2) as usize));
            // SAFETY: the library belongs to the driver, which has just listed its kernels, by duty 1; the output outlives the call.
            let code = unsafe { driver.cuLibraryGetKernelCount(&mut count, library) };
            (Kind::Kernel, 2, word(0), at_most(code, count, word(1)))
        }
        "cuModuleEnumerateFunctions" => {
            let (mut count, module): (_, CUmodule) = (0, with_exposed_provenance_mut(word(2) as usize));
            // SAFETY: the module belongs to the driver, which has just listed its functions, by duty 1; the output outlives the call.
            let code = unsafe { driver.cuModuleGetFunctionCount(&mut count, module) };
            (Kind::Function, 2, word(0), at_most(code, count, word(1)))
        }
        "cuGraphAddNode_v1" | "cuGraphAddNode_v2" | "cuGraphAddNode_v3" => {
            // SAFETY: 1: the last argument of all three is the address of the parameters from which the node was created, by
            // duty 1.
            let (list, count) = unsafe { bodies(words.last().copied()?) }?;
            (Kind::Graph, 1, list, count)
        }
        _ => return None,
    };
    let count = if list == 0 { 0 } else { usize::try_from(count).ok()? };
    // SAFETY: 1: `count` is 0 if the list is null; otherwise the list belongs to the program, is aligned, and is not
    // written by other code before the call returns. The driver has written that many handles into it: it returned
    // their number (graphs), or that is the minimum of the existing and the requested number (`at_most`): duty 1.
    let handles = (0..count).map(|number| unsafe { read::pointer(list, number) }).collect();
    Some(Listed { kind, owner, handles })
}

/// How many handles a driver has written that has `there` and was asked for `asked`.
fn at_most(code: CUresult, there: u32, asked: u64) -> u64 {
    if code == CUresult::SUCCESS { u64::from(there).min(asked & u64::from(u32::MAX)) } else { 0 }
}

/// The address and number of the graphs in a conditional node.
///
/// # Safety
///
/// 1. The address is that of the parameters of a node that was created.
unsafe fn bodies(parameters: u64) -> Option<(u64, u64)> {
    let own = |offset: usize| parameters + (offset_of!(CUgraphNodeParams, __bindgen_anon_1) + offset) as u64;
    // SAFETY: 1: parameters of every kind begin with their type, which is set, because a driver created a node from
    // them, and is not written before the call returns: duty 1.
    let kind = unsafe { read::value(parameters, Plain::Unsigned(4)) } as u32;
    (CUgraphNodeType(kind) == CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL).then(|| {
        // SAFETY: 1, 1: the type, checked above, determines the member of the union that is set: the driver has read its size and written
        // the list, which has C alignment: duty 1. Members that a program need not set are not read.
        unsafe {
            let list = read::pointer(own(offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out)), 0);
            (list, read::value(own(offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, size)), Plain::Unsigned(4)))
        }
    })
}
