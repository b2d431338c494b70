//! Which changes of kernel nodes by kernels are refused, and what the host may do with such nodes, with the answers of an H200 (driver 580).
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/device_graphs.rs"]
mod device_graphs;
#[path = "driver_support/mod.rs"]
mod support;
#[path = "driver_support/updatable.rs"]
mod updatable;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use device_graphs::*;
use std::ptr::{null, null_mut};
use support::graphs::{graph, instantiate, nodes};
use support::*;
use updatable::*;

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
fn a_node_is_its_own_drivers() {
    let instances = [Instance::new().unwrap(), Instance::new().unwrap()];
    let [first, second] = [0, 1].map(|index| Kernels::of_text_on(UPDATES, &instances[index]));
    let own = Updatable::new(&first);
    let exec = instantiate(&first.cuda, own.graph);
    first.upload(exec);
    let code = second.zeros(1);
    ok(change(&second, "set_enabled", values!(own.handle, 0_u32, code)));
    assert_eq!((second.words(code, 1), own.adds(&first, exec)), (vec![1], 3));
}

#[test]
fn the_blocks_of_a_cooperative_node_stay_resident_at_once() {
    let kernels = kernels();
    let (sum, code) = (kernels.zeros(1), kernels.zeros(1));
    let mut attributes = [CUlaunchAttribute { id: ID, value: value(1), ..Default::default() }; 2];
    attributes[1].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].value.cooperative = 1;
    let graph = captured(&kernels, || ok(launch_with(&kernels, &mut attributes, sum)));
    let own = Updatable {
        graph,
        node: nodes(&kernels.cuda, graph)[0],
        handle: told(&attributes[0].value).1,
        sum,
        code,
    };
    let exec = instantiate(&kernels.cuda, graph);
    kernels.upload(exec);
    let grid = |x: u32| own.change(&kernels, "set_grid", values!(own.handle, x, 1_u32, 1_u32, own.code));
    assert_eq!((grid(100_000), own.adds(&kernels, exec)), (1, 3));
    assert_eq!((grid(100), own.adds(&kernels, exec)), (0, 100));
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
            ok(launch_with(&kernels, std::slice::from_mut(&mut attribute), sum));
            *handle = told(&attribute.value).1;
        }
    });
    let found: Vec<_> =
        nodes(&kernels.cuda, graph).iter().map(|node| attribute_of(&kernels.cuda, *node)).collect();
    assert_eq!(found, handles.map(|handle| (1, handle)));
    assert_ne!(handles[0], handles[1]);
}
