//! Kernel nodes that kernels change (`tests/kernels/graph_updates.cu`), as CUDA's documentation says; what it leaves open is said where a test
//! has it.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/device_graphs.rs"]
mod device_graphs;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use device_graphs::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use support::graphs::{graph, instantiate, nodes};
use support::*;

const UPDATES: &str = include_str!("../../tests/kernels/graph_updates.ptx");
const ID: CUlaunchAttributeID = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// Offset of the number that `add` adds.
const NUMBER: u64 = 8;

fn value(updatable: i32) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue::default();
    value.deviceUpdatableKernelNode.deviceUpdatable = updatable;
    value
}

fn told(value: &CUlaunchAttributeValue) -> (i32, u64) {
    let told = unsafe { value.deviceUpdatableKernelNode };
    (told.deviceUpdatable, told.devNode.addr() as u64)
}

fn attribute_of(cuda: &Driver, node: CUgraphNode) -> (i32, u64) {
    let mut value = value(7);
    ok(unsafe { cuda.cuGraphKernelNodeGetAttribute(node, ID, &mut value) });
    told(&value)
}

/// A launch of `add` with that attribute, in three blocks; the handle that it gives back.
fn launch_add(kernels: &Kernels, updatable: i32, sum: CUdeviceptr) -> (CUresult, u64) {
    let mut attribute = CUlaunchAttribute { id: ID, value: value(updatable), ..Default::default() };
    let config = CUlaunchConfig {
        gridDimX: 3,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        hStream: kernels.stream,
        attrs: &mut attribute,
        numAttrs: 1,
        ..Default::default()
    };
    let (mut sum, mut number) = (sum, 1_u32);
    let mut arguments = [argument(&mut sum), argument(&mut number)];
    let function = function(&kernels.cuda, kernels.module, "add");
    let code =
        unsafe { kernels.cuda.cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), null_mut()) };
    (code, told(&attribute.value).1)
}

/// A graph in which `add` adds 1 in three blocks, and the node that kernels change.
struct Updatable {
    graph: CUgraph,
    node: CUgraphNode,
    handle: u64,
    sum: CUdeviceptr,
    code: CUdeviceptr,
}

impl Updatable {
    fn new(kernels: &Kernels) -> Updatable {
        let (sum, code, mut graph) = (kernels.zeros(1), kernels.zeros(1), null_mut());
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        ok(unsafe { kernels.cuda.cuStreamBeginCapture(kernels.stream, mode) });
        let (launched, handle) = launch_add(kernels, 1, sum);
        ok(launched);
        ok(unsafe { kernels.cuda.cuStreamEndCapture(kernels.stream, &mut graph) });
        assert_ne!(handle, 0);
        Updatable { graph, node: nodes(&kernels.cuda, graph)[0], handle, sum, code }
    }

    /// A kernel before it in the graph.
    fn behind(&self, kernels: &Kernels, name: &str, values: &[u64]) {
        let first = kernels.node(self.graph, &[], name, values);
        ok(unsafe { kernels.cuda.cuGraphAddDependencies(self.graph, &first, &self.node, null(), 1) });
    }

    /// What a launch adds.
    fn adds(&self, kernels: &Kernels, exec: CUgraphExec) -> u32 {
        write(&kernels.cuda, self.sum, &[0; 4]);
        kernels.run(exec);
        kernels.words(self.sum, 1)[0]
    }

    /// The code that a kernel gets, which is in no graph.
    fn change(&self, kernels: &Kernels, name: &str, values: &[u64]) -> u32 {
        write(&kernels.cuda, self.code, &[0xee; 4]);
        ok(change(kernels, name, values));
        kernels.words(self.code, 1)[0]
    }
}

/// Runs a kernel of one thread, in no graph.
fn change(kernels: &Kernels, name: &str, values: &[u64]) -> CUresult {
    let mut values = values.to_vec();
    let mut arguments: Vec<*mut c_void> = values.iter_mut().map(argument).collect();
    let function = function(&kernels.cuda, kernels.module, name);
    ok(launch(&kernels.cuda, function, kernels.stream, &mut arguments));
    unsafe { kernels.cuda.cuStreamSynchronize(kernels.stream) }
}

fn kernels() -> Kernels {
    Kernels::of_text(UPDATES)
}

#[test]
fn a_kernel_changes_the_parameters_of_one_behind_it() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    own.behind(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code));
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!((own.adds(&kernels, exec), kernels.words(own.code, 1)), (21, vec![0]));
}

#[test]
fn a_kernel_changes_the_grid_of_one_behind_it_and_whether_it_runs() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    own.behind(&kernels, "set_grid", values!(own.handle, 2_u32, 5_u32, 1_u32, own.code));
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!((own.adds(&kernels, exec), kernels.words(own.code, 1)), (10, vec![0]));
    let own = Updatable::new(&kernels);
    own.behind(&kernels, "set_enabled", values!(own.handle, 0_u32, own.code));
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!((own.adds(&kernels, exec), kernels.words(own.code, 1)), (0, vec![0]));
}

/// The documentation says that a launch must come behind an upload, and no more.
#[test]
fn a_change_lasts_until_the_next_upload() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 3);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 5_u64, 4_u64, own.code)), 0);
    assert_eq!(own.change(&kernels, "set_grid", values!(own.handle, 2_u32, 1_u32, 1_u32, own.code)), 0);
    assert_eq!([own.adds(&kernels, exec), own.adds(&kernels, exec)], [10, 10]);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 3);
    // A node that the host has switched off can be switched on.
    ok(unsafe { kernels.cuda.cuGraphNodeSetEnabled(exec, own.node, 0) });
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 0);
    assert_eq!(own.change(&kernels, "set_enabled", values!(own.handle, 1_u32, own.code)), 0);
    assert_eq!(own.adds(&kernels, exec), 3);
}

#[test]
fn several_changes_at_once_end_at_the_first_that_is_refused() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    let number = kernels.zeros(1);
    write(&kernels.cuda, number, &6_u32.to_ne_bytes());
    let [grid, parameter, enabled] =
        [[own.handle, 1, 2 | 1 << 32, 1, 0], [own.handle, 2, number, NUMBER, 4], [own.handle, 3, 0, 0, 0]];
    let apply = |updates: &[[u64; 5]]| {
        let at = alloc(&kernels.cuda, 40 * updates.len());
        let bytes: Vec<u8> = updates.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
        write(&kernels.cuda, at, &bytes);
        own.change(&kernels, "apply", values!(at, updates.len() as u64, own.code))
    };
    assert_eq!((apply(&[grid, parameter]), own.adds(&kernels, exec)), (0, 12));
    let unknown = [own.handle, 9, 0, 0, 0];
    assert_eq!((apply(&[parameter, unknown, enabled]), own.adds(&kernels, exec)), (1, 12));
    assert_eq!((apply(&[enabled]), own.adds(&kernels, exec)), (0, 0));
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let enable = || own.change(&kernels, "set_enabled", values!(own.handle, 1_u32, own.code));
    assert_eq!(enable(), 1, "it is not on the device");
    let exec = instantiate(&kernels.cuda, own.graph);
    assert_eq!(enable(), 1, "it is not on the device");
    kernels.upload(exec);
    assert_eq!(enable(), 0);
    for (offset, size) in [(12_u64, 4_u64), (10, 4), (1 << 40, 4), (u64::MAX, 8), (8, 1 << 40)] {
        let values = values!(own.handle, offset, 0_u64, size, own.code);
        assert_eq!(own.change(&kernels, "set_param", values), 1, "{offset} {size}");
    }
    for [x, y, z] in [[0_u32, 1, 1], [1, 65_536, 1], [1, 1, 65_536], [1 << 31, 1, 1]] {
        let values = values!(own.handle, x, y, z, own.code);
        assert_eq!(own.change(&kernels, "set_grid", values), 1, "{x} {y} {z}");
    }
    assert_eq!(own.adds(&kernels, exec), 3, "as it was");
    assert_eq!(own.change(&kernels, "set_enabled", values!(0_u64, 1_u32, own.code)), 1, "no node");
    ok(unsafe { kernels.cuda.cuGraphExecDestroy(exec) });
    assert_eq!(enable(), 1, "the executable graph is gone");
    ok(unsafe { kernels.cuda.cuGraphDestroy(own.graph) });
    assert_eq!(enable(), 1, "the node is gone");
}

#[test]
fn what_is_no_node_is_a_fault() {
    let instance = Instance::new().unwrap();
    let kernels = Kernels::of_text_on(UPDATES, &instance);
    let code = kernels.zeros(1);
    let faulted = change(&kernels, "set_enabled", values!(0x1230_u64, 1_u32, code));
    assert_eq!(faulted, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
}

#[test]
fn such_a_node_stays_what_it_is() {
    let kernels = kernels();
    let cuda = &*kernels.cuda;
    let own = Updatable::new(&kernels);
    assert_eq!(attribute_of(cuda, own.node), (1, own.handle));
    let set = |node, updatable| unsafe { cuda.cuGraphKernelNodeSetAttribute(node, ID, &value(updatable)) };
    assert_eq!([set(own.node, 1), set(own.node, 0)], [CUresult::SUCCESS, INVALID]);
    assert_eq!(attribute_of(cuda, own.node), (1, own.handle));
    assert_eq!(unsafe { cuda.cuGraphDestroyNode(own.node) }, INVALID);
    let plain = kernels.node(own.graph, &[], "add", values!(own.sum, 1_u32));
    assert_eq!(attribute_of(cuda, plain), (0, 0));
    for (to, from) in [(own.node, plain), (plain, own.node)] {
        assert_eq!(unsafe { cuda.cuGraphKernelNodeCopyAttributes(to, from) }, INVALID);
    }
    assert_eq!([set(plain, 2), set(plain, 1)], [INVALID, CUresult::SUCCESS]);
    let (updatable, handle) = attribute_of(cuda, plain);
    assert!(updatable == 1 && handle != 0 && handle != own.handle);
    let mut parameters = CUDA_KERNEL_NODE_PARAMS::default();
    ok(unsafe { cuda.cuGraphKernelNodeGetParams(own.node, &mut parameters) });
    ok(unsafe { cuda.cuGraphKernelNodeSetParams(own.node, &parameters) });
    assert_eq!(attribute_of(cuda, own.node), (1, own.handle), "other parameters leave it that node");
}

#[test]
fn a_graph_with_such_a_node_is_one_alone() {
    let kernels = kernels();
    let cuda = &*kernels.cuda;
    let own = Updatable::new(&kernels);
    let (mut other, mut node, outer) = (null_mut(), null_mut(), graph(cuda));
    assert_eq!(unsafe { cuda.cuGraphClone(&mut other, own.graph) }, INVALID);
    assert_eq!(unsafe { cuda.cuGraphAddChildGraphNode(&mut node, outer, null(), 0, own.graph) }, INVALID);
    let exec = instantiate(cuda, own.graph);
    let mut second = null_mut();
    let code = unsafe { cuda.cuGraphInstantiateWithFlags(&mut second, own.graph, 0) };
    assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let plain = kernels.graph("add", values!(own.sum, 1_u32));
    let plain_exec = instantiate(cuda, plain);
    for (exec, graph) in [(exec, own.graph), (exec, plain), (plain_exec, own.graph)] {
        let mut result = CUgraphExecUpdateResultInfo::default();
        let code = unsafe { cuda.cuGraphExecUpdate(exec, graph, &mut result) };
        assert_eq!(code, CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        assert_eq!(result.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
    }
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    assert_eq!(own.adds(&kernels, instantiate(cuda, own.graph)), 3);
}

#[test]
fn a_node_cannot_become_one_that_changes_others() {
    let kernels = kernels();
    let (sum, code) = (kernels.zeros(1), kernels.zeros(1));
    let plain = kernels.graph("add", values!(sum, 1_u32));
    let exec = instantiate(&kernels.cuda, plain);
    let changing = kernels.graph("set_enabled", values!(0_u64, 1_u32, code));
    let mut result = CUgraphExecUpdateResultInfo::default();
    let refused = unsafe { kernels.cuda.cuGraphExecUpdate(exec, changing, &mut result) };
    assert_eq!(refused, CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    let why = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    assert_eq!(result.result, why);
}

#[test]
fn a_launch_outside_a_capture_is_refused() {
    let kernels = kernels();
    let sum = kernels.zeros(1);
    assert_eq!(launch_add(&kernels, 1, sum), (CUresult::CUDA_ERROR_NOT_SUPPORTED, 0));
    assert_eq!(launch_add(&kernels, 2, sum), (INVALID, 0));
    // The handle that an earlier launch has left in the attribute is not the node of the next.
    let [first, second] = [Updatable::new(&kernels), Updatable::new(&kernels)];
    assert_ne!(first.handle, second.handle);
}
