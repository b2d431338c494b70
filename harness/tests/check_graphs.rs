//! The validation layer: what graphs do when they are launched, and memory of the host. `cli/tests/check/` has the mistakes themselves; here is
//! what must not be taken for one, and what is not followed.
#![cfg(feature = "check")]
#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use cuda_harness::check::{Check, Rule};
use cuda_harness::replaced;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};
use support::{Cuda, FILL, ok};

const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
const BYTES: usize = 256;

/// A program on an emulator of its own, with two streams and memory; and the rules that it broke.
struct Program {
    found: Arc<Mutex<Vec<Rule>>>,
    _check: Check,
    cuda: Cuda,
    a: CUstream,
    b: CUstream,
    x: u64,
    y: u64,
    _instance: Instance,
}

impl Program {
    fn new() -> Program {
        let instance = Instance::new().unwrap();
        Program::over(&instance.driver(), instance)
    }

    fn over(base: &Arc<Driver>, instance: Instance) -> Program {
        let found = Arc::new(Mutex::new(Vec::new()));
        let told = found.clone();
        let check = Check::over(base, move |finding| told.lock().unwrap().push(finding.rule())).unwrap();
        let cuda = Cuda::new(check.driver());
        let (a, b) = (cuda.stream(), cuda.stream());
        let (x, y) = (cuda.alloc(BYTES).unwrap(), cuda.alloc(BYTES).unwrap());
        let program = Program { found, _check: check, cuda, a, b, x, y, _instance: instance };
        program.fill(program.x, BYTES, program.a);
        program.synchronize();
        program
    }

    fn driver(&self) -> &Driver {
        &self.cuda.driver
    }

    fn found(&self) -> Vec<Rule> {
        std::mem::take(&mut self.found.lock().unwrap())
    }

    fn fill(&self, memory: u64, bytes: usize, stream: CUstream) {
        ok(unsafe { self.driver().cuMemsetD8Async(memory, 1, bytes, stream) }).unwrap();
    }

    fn synchronize(&self) {
        ok(unsafe { self.driver().cuCtxSynchronize() }).unwrap();
    }

    fn graph(&self) -> CUgraph {
        let mut graph = null_mut();
        ok(unsafe { self.driver().cuGraphCreate(&mut graph, 0) }).unwrap();
        graph
    }

    /// Adds a copy of so many rows of bytes, with a pitch.
    fn copy(&self, graph: CUgraph, copy: &CUDA_MEMCPY3D) -> CUgraphNode {
        let mut node = null_mut();
        let context = self.cuda.context;
        ok(unsafe { self.driver().cuGraphAddMemcpyNode(&mut node, graph, null(), 0, copy, context) })
            .unwrap();
        node
    }

    fn instantiate(&self, graph: CUgraph) -> CUgraphExec {
        let mut exec = null_mut();
        ok(unsafe { self.driver().cuGraphInstantiate(&mut exec, graph, 0) }).unwrap();
        exec
    }

    fn launch(&self, exec: CUgraphExec, stream: CUstream) {
        ok(unsafe { self.driver().cuGraphLaunch(exec, stream) }).unwrap();
    }

    fn begin(&self, stream: CUstream) {
        ok(unsafe { self.driver().cuStreamBeginCapture(stream, RELAXED) }).unwrap();
    }

    fn end(&self, stream: CUstream) -> CUgraph {
        let mut graph = null_mut();
        ok(unsafe { self.driver().cuStreamEndCapture(stream, &mut graph) }).unwrap();
        graph
    }

    /// Launches a graph on one stream, and fills memory on the other; what was found.
    fn beside(&self, graph: CUgraph, memory: u64) -> Vec<Rule> {
        self.beside_bytes(graph, memory, BYTES)
    }

    fn beside_bytes(&self, graph: CUgraph, memory: u64, bytes: usize) -> Vec<Rule> {
        let exec = self.instantiate(graph);
        self.launch(exec, self.a);
        self.fill(memory, bytes, self.b);
        self.synchronize();
        ok(unsafe { self.driver().cuGraphExecDestroy(exec) }).unwrap();
        self.found()
    }
}

fn copied(to: u64, from: u64, width: usize, rows: usize) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: from,
        srcPitch: 64,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstDevice: to,
        dstPitch: 64,
        WidthInBytes: width,
        Height: rows,
        Depth: 1,
        ..CUDA_MEMCPY3D::default()
    }
}

#[test]
fn what_a_nested_graph_does_its_graph_does() {
    let program = Program::new();
    let (inner, outer) = (program.graph(), program.graph());
    program.copy(inner, &copied(program.y, program.x, BYTES, 1));
    let mut node = null_mut();
    let add = |node: &mut CUgraphNode| unsafe {
        program.driver().cuGraphAddChildGraphNode(node, outer, null(), 0, inner)
    };
    ok(add(&mut node)).unwrap();
    assert_eq!(program.beside(outer, program.y), [Rule::StreamRace]);
    // What may be in it now is not known.
    let mut nested = null_mut();
    ok(unsafe { program.driver().cuGraphChildGraphNodeGetGraph(node, &mut nested) }).unwrap();
    assert_eq!(program.beside(outer, program.y), []);
}

#[test]
fn what_is_between_rows_is_not_written() {
    let program = Program::new();
    let graph = program.graph();
    program.copy(graph, &copied(program.y, program.x, 8, 4));
    assert_eq!(program.beside_bytes(graph, program.y + 8, 56), []);
    assert_eq!(program.beside_bytes(graph, program.y + 8, 57), [Rule::StreamRace]);
    assert_eq!(program.beside_bytes(graph, program.y + 71, 1), [Rule::StreamRace]);
    assert_eq!(program.beside_bytes(graph, program.y + 200, 56), []);
    // Rows without gaps are one range.
    program.copy(graph, &copied(program.y, program.x, 64, 4));
    assert_eq!(program.beside_bytes(graph, program.y + 200, 56), [Rule::StreamRace]);
}

#[test]
fn a_graph_with_other_nodes_may_order_everything() {
    let program = Program::new();
    let (graph, event) = (program.graph(), program.cuda.event());
    program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    let mut node = null_mut();
    ok(unsafe { program.driver().cuGraphAddEventRecordNode(&mut node, graph, null(), 0, event) }).unwrap();
    assert_eq!(program.beside(graph, program.y), []);
    // Allocations too, whoever adds them.
    program.begin(program.a);
    program.fill(program.y, BYTES, program.a);
    let mut memory = 0;
    ok(unsafe { program.driver().cuMemAllocAsync(&mut memory, 64, program.a) }).unwrap();
    ok(unsafe { program.driver().cuMemFreeAsync(memory, program.a) }).unwrap();
    let graph = program.end(program.a);
    assert_eq!(program.beside(graph, program.y), []);
    program.begin(program.a);
    program.fill(program.y, BYTES, program.a);
    assert_eq!(program.beside(program.end(program.a), program.y), [Rule::StreamRace]);
}

/// One inside of the other, begun and ended in any order, also one that fails.
#[test]
fn of_two_captures_each_has_its_own_nodes() {
    let program = Program::new();
    program.begin(program.a);
    program.begin(program.b);
    program.fill(program.x, BYTES, program.a);
    program.fill(program.y, BYTES, program.b);
    let (of_b, of_a) = (program.end(program.b), program.end(program.a));
    assert_eq!((program.beside(of_b, program.x), program.beside(of_a, program.y)), (vec![], vec![]));
    assert_eq!(program.beside(of_b, program.y), [Rule::StreamRace]);
    assert_eq!(program.beside(of_a, program.x), [Rule::StreamRace]);
    // One that is invalid takes nothing from the one that comes next on its stream.
    program.begin(program.b);
    program.fill(program.y, BYTES, program.b);
    let mut graph = null_mut();
    assert_ne!(unsafe { program.driver().cuStreamSynchronize(program.b) }, CUresult::SUCCESS);
    assert_ne!(unsafe { program.driver().cuStreamEndCapture(program.b, &mut graph) }, CUresult::SUCCESS);
    program.begin(program.b);
    program.fill(program.x, BYTES, program.b);
    let graph = program.end(program.b);
    assert_eq!(program.beside(graph, program.y), []);
    assert_eq!(program.beside(graph, program.x), [Rule::StreamRace]);
}

#[test]
fn a_graph_that_is_captured_into_does_both() {
    let program = Program::new();
    let graph = program.graph();
    program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    assert_eq!(program.beside(graph, program.y), [Rule::StreamRace]);
    let begin =
        unsafe { program.driver().cuStreamBeginCaptureToGraph(program.a, graph, null(), null(), 0, RELAXED) };
    ok(begin).unwrap();
    program.fill(program.x, 8, program.a);
    assert_eq!(program.end(program.a), graph);
    for memory in [program.x, program.y] {
        assert_eq!(program.beside(graph, memory), [Rule::StreamRace]);
    }
}

#[test]
fn a_node_that_is_not_known_may_be_of_any_graph() {
    let program = Program::new();
    let (graph, mut clone, mut node) = (program.graph(), null_mut(), null_mut());
    let original = program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    ok(unsafe { program.driver().cuGraphClone(&mut clone, graph) }).unwrap();
    assert_eq!(program.beside(clone, program.y), [Rule::StreamRace]);
    ok(unsafe { program.driver().cuGraphNodeFindInClone(&mut node, original, clone) }).unwrap();
    let other = copied(program.x + 128, program.x, 128, 1);
    ok(unsafe { program.driver().cuGraphMemcpyNodeSetParams(node, &other) }).unwrap();
    assert_eq!(program.beside(clone, program.y), []);
}

#[test]
fn a_graph_waits_for_its_launch_before_and_is_forgotten_with_its_handle() {
    let program = Program::new();
    let graph = program.graph();
    program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    let exec = program.instantiate(graph);
    program.launch(exec, program.a);
    program.launch(exec, program.b);
    assert_eq!(program.found(), []);
    // Another one of the same graph does not.
    let other = program.instantiate(graph);
    program.launch(other, program.a);
    assert_eq!(program.found(), [Rule::StreamRace]);
    program.synchronize();
    // Memory that is freed and allocated again is other memory, which a graph may not use; and neither is it the mistake of the launch that
    // the graph is not changed. The driver has memory there.
    for exec in [exec, other] {
        ok(unsafe { program.driver().cuGraphExecDestroy(exec) }).unwrap();
    }
    ok(unsafe { program.driver().cuGraphDestroy(graph) }).unwrap();
    let graph = program.graph();
    assert_eq!(program.beside(graph, program.y), []);
}

/// In the graph, and in what was instantiated before and after the node was found.
#[test]
fn a_node_of_a_clone_that_is_changed_does_what_it_does_now() {
    let program = Program::new();
    let driver = program.driver();
    let (graph, mut clone, mut node) = (program.graph(), null_mut(), null_mut());
    let original = program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    ok(unsafe { driver.cuGraphClone(&mut clone, graph) }).unwrap();
    let early = program.instantiate(clone);
    ok(unsafe { driver.cuGraphNodeFindInClone(&mut node, original, clone) }).unwrap();
    let late = program.instantiate(clone);
    let other = program.cuda.alloc(BYTES).unwrap();
    let copy = copied(other, program.x, BYTES, 1);
    for exec in [early, late] {
        let context = program.cuda.context;
        ok(unsafe { driver.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context) }).unwrap();
        program.launch(exec, program.a);
        program.fill(program.y, BYTES, program.b);
        assert_eq!(program.found(), []);
        program.fill(other, BYTES, program.b);
        assert_eq!(program.found(), [Rule::StreamRace]);
        program.synchronize();
    }
    ok(unsafe { driver.cuGraphMemcpyNodeSetParams(node, &copy) }).unwrap();
    assert_eq!(
        (program.beside(clone, program.y), program.beside(clone, other)),
        (vec![], vec![Rule::StreamRace])
    );
}

/// The original and the clone of the clone are as they were.
#[test]
fn a_node_of_a_clone_is_not_that_of_another_one() {
    let program = Program::new();
    let driver = program.driver();
    let (graph, mut clone, mut again) = (program.graph(), null_mut(), null_mut());
    let (mut node, mut nested) = (null_mut(), null_mut());
    let original = program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    ok(unsafe { driver.cuGraphClone(&mut clone, graph) }).unwrap();
    ok(unsafe { driver.cuGraphClone(&mut again, clone) }).unwrap();
    ok(unsafe { driver.cuGraphNodeFindInClone(&mut node, original, clone) }).unwrap();
    ok(unsafe { driver.cuGraphNodeFindInClone(&mut nested, node, again) }).unwrap();
    let copy = copied(program.x + 128, program.x, 128, 1);
    ok(unsafe { driver.cuGraphMemcpyNodeSetParams(node, &copy) }).unwrap();
    for graph in [graph, again] {
        assert_eq!(program.beside(graph, program.y), [Rule::StreamRace]);
    }
    ok(unsafe { driver.cuGraphMemcpyNodeSetParams(nested, &copy) }).unwrap();
    assert_eq!(program.beside(again, program.y), []);
    assert_eq!(program.beside(graph, program.y), [Rule::StreamRace]);
}

#[test]
fn a_node_that_is_switched_off_does_nothing_and_the_others_do_what_they_did() {
    let program = Program::new();
    let driver = program.driver();
    let (graph, other) = (program.graph(), program.cuda.alloc(BYTES).unwrap());
    let first = program.copy(graph, &copied(program.y, program.x, BYTES, 1));
    program.copy(graph, &copied(other, program.x, BYTES, 1));
    let exec = program.instantiate(graph);
    let beside = |memory| {
        program.launch(exec, program.a);
        program.fill(memory, BYTES, program.b);
        program.synchronize();
        program.found()
    };
    let switch = |on| ok(unsafe { driver.cuGraphNodeSetEnabled(exec, first, on) }).unwrap();
    switch(0);
    assert_eq!((beside(program.y), beside(other)), (vec![], vec![Rule::StreamRace]));
    // It stays off when it is changed.
    let copy = copied(program.y, program.x, 64, 1);
    ok(unsafe { driver.cuGraphExecMemcpyNodeSetParams(exec, first, &copy, program.cuda.context) }).unwrap();
    assert_eq!(beside(program.y), []);
    switch(1);
    assert_eq!(beside(program.y), [Rule::StreamRace]);
}

/// By the handle that the capture has told, which no list of nodes was asked for.
#[test]
fn a_captured_node_that_is_changed_does_what_it_does_now() {
    let program = Program::new();
    let driver = program.driver();
    let other = program.graph();
    program.copy(other, &copied(program.y, program.x, BYTES, 1));
    // A call that fails is over, too.
    assert_ne!(unsafe { driver.cuMemsetD8Async(0, 1, BYTES, program.a) }, CUresult::SUCCESS);
    program.begin(program.a);
    program.fill(program.x, BYTES, program.a);
    let (mut status, mut nodes, mut count) = (CUstreamCaptureStatus(0), null(), 0);
    let answer = unsafe {
        driver.cuStreamGetCaptureInfo_v2(
            program.a,
            &mut status,
            null_mut(),
            null_mut(),
            &mut nodes,
            &mut count,
        )
    };
    ok(answer).unwrap();
    assert_eq!(count, 1);
    let node = unsafe { nodes.read() };
    let graph = program.end(program.a);
    assert_eq!(program.beside(graph, program.x), [Rule::StreamRace]);
    let fills = CUDA_MEMSET_NODE_PARAMS {
        dst: program.y,
        elementSize: 1,
        width: BYTES,
        height: 1,
        ..CUDA_MEMSET_NODE_PARAMS::default()
    };
    ok(unsafe { driver.cuGraphMemsetNodeSetParams(node, &fills) }).unwrap();
    assert_eq!(program.beside(graph, program.x), []);
    assert_eq!(program.beside(graph, program.y), [Rule::StreamRace]);
    // Nothing of other graphs is forgotten.
    assert_eq!(program.beside(other, program.y), [Rule::StreamRace]);
}

/// Which of their calls is which node is then not known: nothing is reported of what is changed, and nothing else goes wrong.
#[test]
fn threads_that_capture_on_one_stream_do_not_get_each_others_nodes() {
    const CALLS: usize = 200;
    let program = Program::new();
    let (memory, driver) = (program.cuda.alloc(2 * CALLS * 8).unwrap(), program.driver());
    let place = |thread: usize, call: usize| memory + ((thread * CALLS + call) * 8) as u64;
    program.begin(program.a);
    let (context, stream) = (program.cuda.context.expose_provenance(), program.a.expose_provenance());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                let [context, stream] =
                    [context, stream].map(std::ptr::with_exposed_provenance_mut::<c_void>);
                ok(unsafe { driver.cuCtxSetCurrent(context.cast()) }).unwrap();
                for call in 0..CALLS {
                    let code = unsafe { driver.cuMemsetD8Async(place(thread, call), 1, 8, stream.cast()) };
                    ok(code).unwrap();
                }
            });
        }
    });
    let graph = program.end(program.a);
    let mut nodes = vec![null_mut(); 2 * CALLS];
    let mut count = nodes.len();
    ok(unsafe { driver.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count) }).unwrap();
    assert_eq!(count, 2 * CALLS);
    let mut is_moved = Vec::new();
    for node in nodes.into_iter().step_by(7) {
        let mut fills = CUDA_MEMSET_NODE_PARAMS::default();
        ok(unsafe { driver.cuGraphMemsetNodeGetParams(node, &mut fills) }).unwrap();
        is_moved.push(fills.dst);
        fills.dst = program.y;
        ok(unsafe { driver.cuGraphMemsetNodeSetParams(node, &fills) }).unwrap();
    }
    let exec = program.instantiate(graph);
    program.launch(exec, program.a);
    for memory in is_moved {
        program.fill(memory, 8, program.b);
    }
    program.synchronize();
    assert_eq!(program.found(), []);
}

static HELD: [std::sync::Barrier; 2] = [const { std::sync::Barrier::new(2) }; 2];

/// A fill that is under way until it is let go.
unsafe extern "C" fn held(_: u64, _: u16, _: usize, _: CUstream) -> CUresult {
    for barrier in &HELD {
        barrier.wait();
    }
    CUresult::SUCCESS
}

/// Another thread's call may be part of the capture: which node is whose is not known.
#[test]
fn a_node_that_was_captured_beside_another_call_may_do_anything_once_it_is_changed() {
    let instance = Instance::new().unwrap();
    let replace = |name: &str| match name {
        "cuMemsetD16Async" => held as pfn::cuMemsetD16Async as *const c_void,
        _ => null(),
    };
    let driver = unsafe { replaced(&instance.driver(), replace) };
    let program = Program::over(&driver, instance);
    let driver = program.driver();
    let (context, stream, memory) =
        (program.cuda.context.expose_provenance(), program.b.expose_provenance(), program.y);
    let graph = std::thread::scope(|scope| {
        scope.spawn(move || {
            let [context, stream] = [context, stream].map(std::ptr::with_exposed_provenance_mut::<c_void>);
            ok(unsafe { driver.cuCtxSetCurrent(context.cast()) }).unwrap();
            ok(unsafe { driver.cuMemsetD16Async(memory, 1, 1, stream.cast()) }).unwrap();
        });
        HELD[0].wait();
        program.begin(program.a);
        program.fill(program.x, BYTES, program.a);
        let graph = program.end(program.a);
        HELD[1].wait();
        graph
    });
    assert_eq!(program.beside(graph, program.x), [Rule::StreamRace]);
    let (mut node, mut count) = (null_mut(), 1);
    ok(unsafe { driver.cuGraphGetNodes(graph, &mut node, &mut count) }).unwrap();
    let fills = CUDA_MEMSET_NODE_PARAMS {
        dst: program.y,
        elementSize: 1,
        width: BYTES,
        height: 1,
        ..CUDA_MEMSET_NODE_PARAMS::default()
    };
    ok(unsafe { driver.cuGraphMemsetNodeSetParams(node, &fills) }).unwrap();
    assert_eq!((program.beside(graph, program.x), program.beside(graph, program.y)), (vec![], vec![]));
}

/// What a call that frees it by the way does is not known to be too early: all that used it ends with its context.
#[test]
fn pinned_memory_that_goes_with_its_context_is_not_freed_early() {
    let program = Program::new();
    let driver = program.driver();
    let (mut context, mut stream, mut pinned, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
    let pending = |memory: &mut u64, pinned: &mut *mut c_void, stream: &mut CUstream| unsafe {
        ok(driver.cuStreamCreate(stream, 1)).unwrap();
        ok(driver.cuMemAlloc(memory, BYTES)).unwrap();
        ok(driver.cuMemHostAlloc(pinned, BYTES, 0)).unwrap();
        ok(driver.cuMemsetD8Async(*memory, 1, BYTES, *stream)).unwrap();
        ok(driver.cuMemcpyDtoHAsync(*pinned, *memory, BYTES, *stream)).unwrap();
    };
    ok(unsafe { driver.cuCtxCreate_v4(&mut context, null_mut(), 0, 0) }).unwrap();
    pending(&mut memory, &mut pinned, &mut stream);
    ok(unsafe { driver.cuCtxDestroy(context) }).unwrap();
    assert_eq!(program.found(), []);
    program.cuda.make_current();
    pending(&mut memory, &mut pinned, &mut stream);
    ok(unsafe { driver.cuMemFreeHost(pinned) }).unwrap();
    assert_eq!(program.found(), [Rule::StreamRace]);
}

/// All that is registered, but not what the copy begins before, and not what is registered in two parts.
#[test]
fn registered_memory_ends_with_its_last_page() {
    let program = Program::new();
    let driver = program.driver();
    const PAGE: usize = 1 << 16;
    let target = program.cuda.alloc(4 * PAGE).unwrap();
    let mut memory = vec![0_u8; 5 * PAGE];
    let skipped = memory.as_ptr().align_offset(PAGE);
    let start = memory[skipped..].as_mut_ptr();
    let register = |page: usize, bytes: usize| {
        ok(unsafe { driver.cuMemHostRegister(start.add(page * PAGE).cast(), bytes, 0) }).unwrap();
    };
    let copy = |page: usize, bytes: usize| {
        ok(unsafe { driver.cuMemcpyHtoD(target, start.add(page * PAGE).cast(), bytes) }).unwrap();
        program.found()
    };
    register(1, PAGE - 8);
    assert_eq!(copy(1, PAGE), []);
    assert_eq!(copy(1, PAGE + 1), [Rule::OutOfRange]);
    assert_eq!(copy(0, 2 * PAGE), []);
    register(2, PAGE);
    assert_eq!(copy(1, 2 * PAGE), []);
    assert_eq!(copy(2, PAGE + 1), [Rule::OutOfRange]);
    for page in [1, 2] {
        ok(unsafe { driver.cuMemHostUnregister(start.add(page * PAGE).cast()) }).unwrap();
    }
    assert_eq!(copy(1, 2 * PAGE), []);
}

/// Whether devices use any memory of the host, as the driver says it.
unsafe extern "C" fn all_memory(place: *mut c_int, which: CUdevice_attribute, _: CUdevice) -> CUresult {
    let value = match which {
        CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS => 1,
        _ => 1 << 16,
    };
    unsafe { place.write(value) };
    CUresult::SUCCESS
}

unsafe extern "C" fn own_memory(place: *mut c_int, which: CUdevice_attribute, device: CUdevice) -> CUresult {
    let code = unsafe { all_memory(place, which, device) };
    if which == CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS {
        unsafe { place.write(0) };
    }
    code
}

#[test]
fn where_pinned_memory_was_there_may_be_memory_that_a_device_uses_too() {
    for (attributes, expected) in [
        (all_memory as pfn::cuDeviceGetAttribute, &[][..]),
        (own_memory as pfn::cuDeviceGetAttribute, &[Rule::FreedPointer]),
    ] {
        let instance = Instance::new().unwrap();
        let replace = |name: &str| match name {
            "cuDeviceGetAttribute" => attributes as *const c_void,
            _ => null(),
        };
        let driver = unsafe { replaced(&instance.driver(), replace) };
        let program = Program::over(&driver, instance);
        let module = program.cuda.load(FILL);
        let fill = program.cuda.function(module, "fill");
        // Registered, so that the same memory is still there.
        let mut memory = vec![0_u32; 64];
        let start = memory.as_mut_ptr();
        ok(unsafe { program.driver().cuMemHostRegister(start.cast(), 256, 0) }).unwrap();
        let address = start.expose_provenance() as u64;
        program.cuda.fill(fill, program.a, address, 64, 1).unwrap();
        program.synchronize();
        ok(unsafe { program.driver().cuMemHostUnregister(start.cast()) }).unwrap();
        assert_eq!(program.found(), []);
        // It writes nothing.
        program.cuda.fill(fill, program.a, address, 0, 1).unwrap();
        assert_eq!(program.found(), expected);
    }
}

/// By each function that makes or changes one.
#[test]
fn a_node_is_looked_at_whoever_makes_or_changes_it() {
    let program = Program::new();
    let (driver, graph, context) = (program.driver(), program.graph(), program.cuda.context);
    let module = program.cuda.load(FILL);
    let function = program.cuda.function(module, "fill");
    let (mut n, mut value) = (64_u32, 1_u32);
    let (right, wrong) = (copied(program.y, program.x, BYTES, 1), copied(program.y, program.x, BYTES + 4, 1));
    let fill = |width| CUDA_MEMSET_NODE_PARAMS {
        dst: program.x,
        pitch: 0,
        value: 1,
        elementSize: 4,
        width,
        height: 1,
    };
    let (few, many) = (fill(BYTES / 4), fill(BYTES / 4 + 1));
    let (mut there, mut nowhere) = (program.x, 0_u64);
    let [mut list, mut bad] = [&raw mut there, &raw mut nowhere]
        .map(|out| -> [*mut c_void; 3] { [out.cast(), (&raw mut n).cast(), (&raw mut value).cast()] });
    let kernel = |list: &mut [*mut c_void; 3]| CUDA_KERNEL_NODE_PARAMS_v3 {
        func: function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 64,
        blockDimY: 1,
        blockDimZ: 1,
        kernelParams: list.as_mut_ptr(),
        ..CUDA_KERNEL_NODE_PARAMS_v3::default()
    };
    let (runs, faults) = (kernel(&mut list), kernel(&mut bad));
    let second = |kernel: &CUDA_KERNEL_NODE_PARAMS_v3| CUDA_KERNEL_NODE_PARAMS {
        func: kernel.func,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 64,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: kernel.kernelParams,
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    };
    let found = |code: CUresult, is_wrong: bool| {
        if !is_wrong {
            ok(code).unwrap();
        }
        program.found()
    };
    for is_wrong in [false, true] {
        let (range, pointer): (&[Rule], &[Rule]) = match is_wrong {
            true => (&[Rule::OutOfRange], &[Rule::BadPointer]),
            false => (&[], &[]),
        };
        let (copy, fill, kernel) = if is_wrong { (wrong, many, faults) } else { (right, few, runs) };
        let (mut copies, mut fills, mut launches) = (null_mut(), null_mut(), null_mut());
        let mut made = [null_mut(); 3];
        unsafe {
            // What is changed below is right.
            ok(driver.cuGraphAddMemcpyNode(&mut copies, graph, null(), 0, &right, context)).unwrap();
            ok(driver.cuGraphAddMemsetNode(&mut fills, graph, null(), 0, &few, context)).unwrap();
            ok(driver.cuGraphAddKernelNode(&mut launches, graph, null(), 0, &second(&runs))).unwrap();
            let exec = program.instantiate(graph);
            assert_eq!(program.found(), []);
            let [one, two, three] = &mut made;
            let add = driver.cuGraphAddMemcpyNode(one, graph, null(), 0, &copy, context);
            assert_eq!(found(add, is_wrong), range);
            let add = driver.cuGraphAddMemsetNode(two, graph, null(), 0, &fill, context);
            assert_eq!(found(add, is_wrong), range);
            let add = driver.cuGraphAddKernelNode(three, graph, null(), 0, &second(&kernel));
            assert_eq!(found(add, is_wrong), pointer);
            assert_eq!(found(driver.cuGraphMemcpyNodeSetParams(copies, &copy), is_wrong), range);
            assert_eq!(found(driver.cuGraphMemsetNodeSetParams(fills, &fill), is_wrong), range);
            assert_eq!(
                found(driver.cuGraphKernelNodeSetParams(launches, &second(&kernel)), is_wrong),
                pointer
            );
            let set = driver.cuGraphExecMemcpyNodeSetParams(exec, copies, &copy, context);
            assert_eq!(found(set, is_wrong), range);
            let set = driver.cuGraphExecMemsetNodeSetParams(exec, fills, &fill, context);
            assert_eq!(found(set, is_wrong), range);
            let set = driver.cuGraphExecKernelNodeSetParams(exec, launches, &second(&kernel));
            assert_eq!(found(set, is_wrong), pointer);
            // The structure of all kinds.
            let mut any =
                CUgraphNodeParams { type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY, ..Default::default() };
            any.__bindgen_anon_1.memcpy =
                CUDA_MEMCPY_NODE_PARAMS { copyParams: copy, copyCtx: context, ..Default::default() };
            let add = driver.cuGraphAddNode(&mut made[0], graph, null(), null(), 0, &mut any);
            assert_eq!(found(add, is_wrong), range);
            assert_eq!(found(driver.cuGraphNodeSetParams(copies, &mut any), is_wrong), range);
            assert_eq!(found(driver.cuGraphExecNodeSetParams(exec, copies, &mut any), is_wrong), range);
            any.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;
            any.__bindgen_anon_1.memset = CUDA_MEMSET_NODE_PARAMS_v2 {
                dst: fill.dst,
                pitch: 0,
                value: 1,
                elementSize: 4,
                width: fill.width,
                height: 1,
                ctx: context,
            };
            let add = driver.cuGraphAddNode(&mut made[1], graph, null(), null(), 0, &mut any);
            assert_eq!(found(add, is_wrong), range);
            any.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
            any.__bindgen_anon_1.kernel = kernel;
            let add = driver.cuGraphAddNode(&mut made[2], graph, null(), null(), 0, &mut any);
            assert_eq!(found(add, is_wrong), pointer);
            ok(driver.cuGraphExecDestroy(exec)).unwrap();
        }
    }
}
