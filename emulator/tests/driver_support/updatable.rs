//! What the tests of nodes that kernels change share.
//!
//! Relies on what `support` relies on.
#![allow(unsafe_code, dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::undocumented_unsafe_blocks)]

use crate::device_graphs::*;
use crate::support::graphs::*;
use crate::support::*;
use cuda_driver_sys::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub const UPDATES: &str = include_str!("../../../tests/kernels/graph_updates.ptx");
pub const ID: CUlaunchAttributeID = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
pub const UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
pub const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// Offset of the number that `add` adds.
pub const NUMBER: u64 = 8;

pub fn value(updatable: i32) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue::default();
    value.deviceUpdatableKernelNode.deviceUpdatable = updatable;
    value
}

pub fn told(value: &CUlaunchAttributeValue) -> (i32, u64) {
    let told = unsafe { value.deviceUpdatableKernelNode };
    (told.deviceUpdatable, told.devNode.addr() as u64)
}

pub fn attribute_of(cuda: &Driver, node: CUgraphNode) -> (i32, u64) {
    let mut value = value(7);
    ok(unsafe { cuda.cuGraphKernelNodeGetAttribute(node, ID, &mut value) });
    told(&value)
}

/// A launch of `add` with that attribute, in three blocks; the handle that it gives back.
pub fn launch_add(kernels: &Kernels, updatable: i32, sum: CUdeviceptr) -> (CUresult, u64) {
    let mut attribute = CUlaunchAttribute { id: ID, value: value(updatable), ..Default::default() };
    let code = launch_with(kernels, std::slice::from_mut(&mut attribute), sum);
    (code, told(&attribute.value).1)
}

/// The same with the program's attributes, into which the handle is written.
pub fn launch_with(kernels: &Kernels, attributes: &mut [CUlaunchAttribute], sum: CUdeviceptr) -> CUresult {
    let config = CUlaunchConfig {
        gridDimX: 3,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        hStream: kernels.stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
        ..Default::default()
    };
    let (mut sum, mut number) = (sum, 1_u32);
    let mut arguments = [argument(&mut sum), argument(&mut number)];
    let function = function(&kernels.cuda, kernels.module, "add");
    unsafe { kernels.cuda.cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), null_mut()) }
}

/// What a stream does in a capture.
pub fn captured(kernels: &Kernels, work: impl FnOnce()) -> CUgraph {
    let mut graph = null_mut();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ok(unsafe { kernels.cuda.cuStreamBeginCapture(kernels.stream, mode) });
    work();
    ok(unsafe { kernels.cuda.cuStreamEndCapture(kernels.stream, &mut graph) });
    graph
}

/// A graph in which `add` adds 1 in three blocks, and the node that kernels change.
pub struct Updatable {
    pub graph: CUgraph,
    pub node: CUgraphNode,
    pub handle: u64,
    pub sum: CUdeviceptr,
    pub code: CUdeviceptr,
}

impl Updatable {
    pub fn new(kernels: &Kernels) -> Updatable {
        let (sum, code, mut handle) = (kernels.zeros(1), kernels.zeros(1), 0);
        let graph = captured(kernels, || {
            let launched = launch_add(kernels, 1, sum);
            ok(launched.0);
            handle = launched.1;
        });
        assert_ne!(handle, 0);
        Updatable { graph, node: nodes(&kernels.cuda, graph)[0], handle, sum, code }
    }

    /// A kernel before it in the graph.
    pub fn behind(&self, kernels: &Kernels, name: &str, values: &[u64]) {
        let first = kernels.node(self.graph, &[], name, values);
        ok(unsafe { kernels.cuda.cuGraphAddDependencies(self.graph, &first, &self.node, null(), 1) });
    }

    /// What a launch adds.
    pub fn adds(&self, kernels: &Kernels, exec: CUgraphExec) -> u32 {
        write(&kernels.cuda, self.sum, &[0; 4]);
        kernels.run(exec);
        kernels.words(self.sum, 1)[0]
    }

    /// The code that a kernel gets, which is in no graph.
    pub fn change(&self, kernels: &Kernels, name: &str, values: &[u64]) -> u32 {
        write(&kernels.cuda, self.code, &[0xee; 4]);
        ok(change(kernels, name, values));
        kernels.words(self.code, 1)[0]
    }
}

/// Runs a kernel of one thread, in no graph.
pub fn change(kernels: &Kernels, name: &str, values: &[u64]) -> CUresult {
    let mut values = values.to_vec();
    let mut arguments: Vec<*mut c_void> = values.iter_mut().map(argument).collect();
    let function = function(&kernels.cuda, kernels.module, name);
    ok(launch(&kernels.cuda, function, kernels.stream, &mut arguments));
    unsafe { kernels.cuda.cuStreamSynchronize(kernels.stream) }
}

pub fn kernels() -> Kernels {
    Kernels::of_text(UPDATES)
}
