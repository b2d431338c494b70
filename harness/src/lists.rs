//! Handles that a call returns in a list: of objects that belong to another one, and that no call has to have created. A driver reuses
//! the address of a destroyed one for the next.
//!
//! Relies on: the words are the arguments of a call that succeeded, and whose contract holds.
#![allow(unsafe_code)]

use crate::functions::Function;
use crate::kind::Kind;
use crate::read;
use cuda_driver_sys::{CUgraphNodeParams, CUgraphNodeType, CUlibrary, CUmodule, CUresult, Driver};
use std::ptr::with_exposed_provenance_mut;

/// What a list has.
pub(crate) struct Listed {
    pub(crate) kind: Kind,
    /// Which argument names what they belong to.
    pub(crate) owner: usize,
    pub(crate) handles: Vec<u64>,
}

/// The handles that a call has put into a list of the program's.
///
/// # Safety
///
/// 1. The words are the arguments of a call of that function by that driver, which succeeded, and the results what it received.
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
            // SAFETY: the library is one of the driver's, which has just listed its kernels, by duty 1; the place outlives the call.
            let code = unsafe { driver.cuLibraryGetKernelCount(&mut count, library) };
            (Kind::Kernel, 2, word(0), at_most(code, count, word(1)))
        }
        "cuModuleEnumerateFunctions" => {
            let (mut count, module): (_, CUmodule) = (0, with_exposed_provenance_mut(word(2) as usize));
            // SAFETY: the module is one of the driver's, which has just listed its functions, by duty 1; the place outlives the call.
            let code = unsafe { driver.cuModuleGetFunctionCount(&mut count, module) };
            (Kind::Function, 2, word(0), at_most(code, count, word(1)))
        }
        "cuGraphAddNode_v1" | "cuGraphAddNode_v2" | "cuGraphAddNode_v3" => {
            // SAFETY: 1: the last argument of all three is the address of a node's parameters, of which it was made, by duty 1.
            let (list, count) = unsafe { bodies(words.last().copied()?) }?;
            (Kind::Graph, 1, list, count)
        }
        _ => return None,
    };
    let count = if list == 0 { 0 } else { usize::try_from(count).ok()? };
    // SAFETY: 1: the list is not null, so that the driver has written as many into it as it says it has, and was asked for: duty 1.
    let handles = (0..count).map(|number| unsafe { read::pointer(list, number) }).collect();
    Some(Listed { kind, owner, handles })
}

/// How many a driver has written that has so many and was asked for that many.
fn at_most(code: CUresult, there: u32, asked: u64) -> u64 {
    if code == CUresult::SUCCESS { u64::from(there).min(asked & u64::from(u32::MAX)) } else { 0 }
}

/// Where the graphs in a conditional node are, and how many.
///
/// # Safety
///
/// 1. The address is that of the parameters of a node that was made.
unsafe fn bodies(parameters: u64) -> Option<(u64, u64)> {
    // SAFETY: 1: they are a structure of the program's, aligned and set, as a driver made a node of it: duty 1.
    let parameters = unsafe { read::structure::<CUgraphNodeParams>(parameters) };
    (parameters.type_ == CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL).then(|| {
        // SAFETY: the type says that this member is set, as a driver made a node of it: duty 1.
        let conditional = unsafe { parameters.__bindgen_anon_1.conditional };
        (conditional.phGraph_out.expose_provenance() as u64, u64::from(conditional.size))
    })
}
