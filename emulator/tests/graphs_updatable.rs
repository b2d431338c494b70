//! Kernel nodes that kernels change (`tests/kernels/graph_updates.cu`), with the answers of an H200 (driver 580).
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
const UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
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
    let code = launch_with(kernels, &mut attribute, sum);
    (code, told(&attribute.value).1)
}

/// The same with the program's attribute, into which the handle is written.
fn launch_with(kernels: &Kernels, attribute: &mut CUlaunchAttribute, sum: CUdeviceptr) -> CUresult {
    let config = CUlaunchConfig {
        gridDimX: 3,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        hStream: kernels.stream,
        attrs: attribute,
        numAttrs: 1,
        ..Default::default()
    };
    let (mut sum, mut number) = (sum, 1_u32);
    let mut arguments = [argument(&mut sum), argument(&mut number)];
    let function = function(&kernels.cuda, kernels.module, "add");
    unsafe { kernels.cuda.cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), null_mut()) }
}

/// What a stream does in a capture.
fn captured(kernels: &Kernels, work: impl FnOnce()) -> CUgraph {
    let mut graph = null_mut();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ok(unsafe { kernels.cuda.cuStreamBeginCapture(kernels.stream, mode) });
    work();
    ok(unsafe { kernels.cuda.cuStreamEndCapture(kernels.stream, &mut graph) });
    graph
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

#[test]
fn a_change_outlasts_launches_and_uploads() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 3);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 5_u64, 4_u64, own.code)), 0);
    assert_eq!(own.change(&kernels, "set_grid", values!(own.handle, 2_u32, 1_u32, 1_u32, own.code)), 0);
    assert_eq!([own.adds(&kernels, exec), own.adds(&kernels, exec)], [10, 10]);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 10);
    // A node that the host has switched off can be switched on.
    ok(unsafe { kernels.cuda.cuGraphNodeSetEnabled(exec, own.node, 0) });
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 0);
    assert_eq!(own.change(&kernels, "set_enabled", values!(own.handle, 1_u32, own.code)), 0);
    assert_eq!(own.adds(&kernels, exec), 10);
}

/// Gives the node another number, and one block.
fn set_by_host(kernels: &Kernels, own: &Updatable, exec: CUgraphExec, number: u32) {
    let (mut sum, mut number) = (own.sum, number);
    let mut arguments = [argument(&mut sum), argument(&mut number)];
    let parameters = support::graphs::kernel(function(&kernels.cuda, kernels.module, "add"), &mut arguments);
    ok(unsafe { kernels.cuda.cuGraphExecKernelNodeSetParams(exec, own.node, &parameters) });
}

#[test]
fn what_the_host_says_later_counts() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code)), 0);
    assert_eq!(own.adds(&kernels, exec), 21);
    set_by_host(&kernels, &own, exec, 100);
    assert_eq!(own.adds(&kernels, exec), 100);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 100);
    assert_eq!(own.change(&kernels, "set_enabled", values!(own.handle, 0_u32, own.code)), 0);
    let mut enabled = 9;
    ok(unsafe { kernels.cuda.cuGraphNodeGetEnabled(exec, own.node, &mut enabled) });
    assert_eq!((enabled, own.adds(&kernels, exec)), (1, 0));
    ok(unsafe { kernels.cuda.cuGraphNodeSetEnabled(exec, own.node, 1) });
    assert_eq!(own.adds(&kernels, exec), 100);
}

#[test]
fn what_the_host_says_does_not_change_launches_before_it() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code)), 0);
    let gate = kernels.zeros(1);
    ok(unsafe { kernels.cuda.cuStreamWaitValue32(kernels.stream, gate, 1, 0) });
    ok(unsafe { kernels.cuda.cuGraphLaunch(exec, kernels.stream) });
    set_by_host(&kernels, &own, exec, 100);
    ok(unsafe { kernels.cuda.cuGraphLaunch(exec, kernels.stream) });
    let other = stream(&kernels.cuda, 1);
    ok(unsafe { kernels.cuda.cuStreamWriteValue32(other, gate, 1, 0) });
    ok(unsafe { kernels.cuda.cuStreamSynchronize(kernels.stream) });
    assert_eq!(kernels.words(own.sum, 1), [121]);
}

#[test]
fn several_changes_at_once_are_all_made_or_none() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    let number = kernels.zeros(1);
    write(&kernels.cuda, number, &40_u32.to_ne_bytes());
    let apply = |updates: &[[u64; 5]]| {
        let at = alloc(&kernels.cuda, 40 * updates.len().max(1));
        let bytes: Vec<u8> = updates.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
        if !bytes.is_empty() {
            write(&kernels.cuda, at, &bytes);
        }
        own.change(&kernels, "apply", values!(at, updates.len() as u64, own.code))
    };
    let grid = |x: u64| [own.handle, 1, x | 2 << 32, 2, 0];
    let parameter = [own.handle, 2, number, NUMBER, 4];
    let enabled = |enabled| [own.handle, 3, enabled, 0, 0];
    assert_eq!(apply(&[]), 0);
    assert_eq!((apply(&[grid(2), parameter, enabled(1)]), own.adds(&kernels, exec)), (0, 320));
    for field in [9, 0, 4] {
        let wrong = [own.handle, field, 0, 0, 0];
        assert_eq!((apply(&[grid(3), wrong, enabled(1)]), own.adds(&kernels, exec)), (1, 320), "{field}");
    }
    let beyond = [own.handle, 2, number, 12, 4];
    assert_eq!((apply(&[grid(3), enabled(0), beyond]), own.adds(&kernels, exec)), (1, 320));
    assert_eq!((apply(&[grid(3), [0, 3, 0, 0, 0]]), own.adds(&kernels, exec)), (1, 320), "no node");
    assert_eq!((apply(&[enabled(0)]), own.adds(&kernels, exec)), (0, 0));
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
    assert_eq!(enable(), 0, "the node outlives the executable graph");
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
    assert_eq!([set(own.node, 1), set(own.node, 0)], [CUresult::SUCCESS, UNSUPPORTED]);
    assert_eq!(set(own.node, 2), INVALID);
    assert_eq!(attribute_of(cuda, own.node), (1, own.handle));
    assert_eq!(unsafe { cuda.cuGraphDestroyNode(own.node) }, UNSUPPORTED);
    let plain = kernels.node(own.graph, &[], "add", values!(own.sum, 1_u32));
    assert_eq!(attribute_of(cuda, plain), (0, 0));
    for (to, from) in [(own.node, plain), (plain, own.node)] {
        assert_eq!(unsafe { cuda.cuGraphKernelNodeCopyAttributes(to, from) }, UNSUPPORTED);
    }
    assert_eq!([set(plain, 2), set(plain, 0)], [INVALID, CUresult::SUCCESS]);
    // The handle is written into the value, the second time, too.
    let written = || {
        let mut value = value(1);
        ok(unsafe { cuda.cuGraphKernelNodeSetAttribute(plain, ID, &raw mut value) });
        told(&value).1
    };
    let handles = [written(), written()];
    assert_eq!(handles, [attribute_of(cuda, plain).1; 2]);
    assert!(handles[0] != 0 && handles[0] != own.handle);
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
    let mut other = null_mut();
    assert_eq!(unsafe { cuda.cuGraphClone(&mut other, own.graph) }, UNSUPPORTED);
    let exec = instantiate(cuda, own.graph);
    let mut second = null_mut();
    let code = unsafe { cuda.cuGraphInstantiateWithFlags(&mut second, own.graph, 0) };
    assert_eq!(code, UNSUPPORTED);
    let plain = kernels.graph("add", values!(own.sum, 1_u32));
    let plain_exec = instantiate(cuda, plain);
    for (exec, graph) in [(exec, own.graph), (exec, plain), (plain_exec, own.graph)] {
        let result = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR;
        let mut result = CUgraphExecUpdateResultInfo { result, ..Default::default() };
        let code = unsafe { cuda.cuGraphExecUpdate(exec, graph, &mut result) };
        assert_eq!(code, UNSUPPORTED);
        assert_eq!(result.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
    }
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    assert_eq!(own.adds(&kernels, instantiate(cuda, own.graph)), 3);
}

#[test]
fn a_destroyed_executable_graph_makes_room_while_it_runs() {
    let kernels = kernels();
    let cuda = &*kernels.cuda;
    let own = Updatable::new(&kernels);
    let (gate, other) = (kernels.zeros(1), stream(cuda, 1));
    let exec = instantiate(cuda, own.graph);
    ok(unsafe { cuda.cuStreamWaitValue32(kernels.stream, gate, 1, 0) });
    ok(unsafe { cuda.cuGraphLaunch(exec, kernels.stream) });
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    let second = instantiate(cuda, own.graph);
    ok(unsafe { cuda.cuStreamWriteValue32(other, gate, 1, 0) });
    ok(unsafe { cuda.cuStreamSynchronize(kernels.stream) });
    assert_eq!((kernels.words(own.sum, 1), own.adds(&kernels, second)), (vec![3], 3));
}

#[test]
fn a_graph_with_such_a_node_becomes_a_child() {
    let kernels = kernels();
    let cuda = &*kernels.cuda;
    let own = Updatable::new(&kernels);
    let (mut node, outer) = (null_mut(), graph(cuda));
    ok(unsafe { cuda.cuGraphAddChildGraphNode(&mut node, outer, null(), 0, own.graph) });
    let exec = instantiate(cuda, outer);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 3);
    // Emulator only: which handle the node in the child has on a GPU was not measured.
    if !on_system() {
        assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code)), 0);
        assert_eq!(own.adds(&kernels, exec), 21);
        let code = unsafe { cuda.cuGraphExecChildGraphNodeSetParams(exec, node, own.graph) };
        assert_eq!(code, UNSUPPORTED);
    }
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
    assert_eq!(launch_add(&kernels, 1, sum), (UNSUPPORTED, 0));
    assert_eq!(launch_add(&kernels, 2, sum), (INVALID, 0));
}

/// The handle that an earlier launch has left in the attribute is not the node of the next.
#[test]
fn one_attribute_makes_two_nodes() {
    let kernels = kernels();
    let sum = kernels.zeros(1);
    let mut attribute = CUlaunchAttribute { id: ID, value: value(1), ..Default::default() };
    let mut handles = [0; 2];
    let graph = captured(&kernels, || {
        for handle in &mut handles {
            ok(launch_with(&kernels, &mut attribute, sum));
            *handle = told(&attribute.value).1;
        }
    });
    let found: Vec<_> =
        nodes(&kernels.cuda, graph).iter().map(|node| attribute_of(&kernels.cuda, *node)).collect();
    assert_eq!(found, handles.map(|handle| (1, handle)));
    assert_ne!(handles[0], handles[1]);
}
