//! The validation layer: captures, events, graphs, and what a reset takes with it. `cli/tests/check.rs` has the rules themselves.
#![cfg(feature = "check")]
#![allow(unsafe_code)] // Calls of C functions with what they ask for, and with handles that are gone, which the emulator takes.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Architecture, Instance, InstanceOptions};
use cuda_harness::check::{Check, Rule};
use cuda_harness::{Call, Fault, Spy};
use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::{Arc, Mutex};
use support::{Cuda, FILL, ok};

const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

/// A program on an emulator of its own, two streams and memory; and what was found in it.
struct Program {
    found: Arc<Mutex<Vec<(Rule, String)>>>,
    check: Check,
    cuda: Cuda,
    a: CUstream,
    b: CUstream,
    memory: u64,
    _instance: Instance,
}

impl Program {
    fn new() -> Program {
        let instance = Instance::new().unwrap();
        Program::over(&instance.driver(), instance)
    }

    /// In front of a driver that uses the emulator.
    fn over(base: &Arc<Driver>, instance: Instance) -> Program {
        let found = Arc::new(Mutex::new(Vec::new()));
        let told = found.clone();
        let listener = move |finding: &cuda_harness::check::Finding| {
            told.lock().unwrap().push((finding.rule(), finding.message().to_owned()));
        };
        let check = Check::over(base, listener).unwrap();
        let cuda = Cuda::new(check.driver());
        let (a, b, memory) = (cuda.stream(), cuda.stream(), cuda.alloc(64).unwrap());
        Program { found, check, cuda, a, b, memory, _instance: instance }
    }

    fn driver(&self) -> &Driver {
        &self.cuda.driver
    }

    fn fill(&self, stream: CUstream) {
        ok(unsafe { self.driver().cuMemsetD8Async(self.memory, 1, 64, stream) }).unwrap();
    }

    fn wait(&self, stream: CUstream, event: CUevent) {
        ok(unsafe { self.driver().cuStreamWaitEvent(stream, event, 0) }).unwrap();
    }

    fn record(&self, event: CUevent, stream: CUstream) {
        ok(unsafe { self.driver().cuEventRecord(event, stream) }).unwrap();
    }

    fn begin(&self, stream: CUstream) {
        ok(unsafe { self.driver().cuStreamBeginCapture(stream, RELAXED) }).unwrap();
    }

    fn end_capture(&self, stream: CUstream) -> CUgraph {
        let mut graph = null_mut();
        ok(unsafe { self.driver().cuStreamEndCapture(stream, &mut graph) }).unwrap();
        graph
    }

    fn launch(&self, graph: CUgraph, stream: CUstream) {
        let mut exec = null_mut();
        ok(unsafe { self.driver().cuGraphInstantiate(&mut exec, graph, 0) }).unwrap();
        ok(unsafe { self.driver().cuGraphLaunch(exec, stream) }).unwrap();
        ok(unsafe { self.driver().cuGraphExecDestroy(exec) }).unwrap();
    }

    /// The rules that were broken so far.
    fn rules(&self) -> Vec<Rule> {
        self.found.lock().unwrap().iter().map(|(rule, _)| *rule).collect()
    }

    /// The rules that are broken at the end, leaks excepted.
    fn rules_at_end(&self) -> Vec<Rule> {
        self.check.end().unwrap();
        self.rules().into_iter().filter(|rule| *rule != Rule::Leak).collect()
    }
}

#[test]
fn an_event_that_was_never_recorded_orders_nothing() {
    let program = Program::new();
    let event = program.cuda.event();
    program.fill(program.a);
    program.wait(program.b, event);
    program.fill(program.b);
    assert_eq!(program.rules(), [Rule::StreamRace]);
    // Nor does the host learn anything from it.
    ok(unsafe { program.driver().cuEventSynchronize(event) }).unwrap();
    program.fill(program.a);
    assert_eq!(program.rules(), [Rule::StreamRace; 2]);
    // The twin.
    let program = Program::new();
    let event = program.cuda.event();
    program.fill(program.a);
    program.record(event, program.a);
    program.wait(program.b, event);
    program.fill(program.b);
    ok(unsafe { program.driver().cuCtxRecordEvent(program.cuda.context, event) }).ok();
    assert_eq!(program.rules(), []);
}

#[test]
fn an_event_that_a_capture_recorded_is_one_again_when_it_is_recorded_outside() {
    let program = Program::new();
    let event = program.cuda.event();
    program.begin(program.a);
    program.record(event, program.a);
    let graph = program.end_capture(program.a);
    program.record(event, program.a);
    program.fill(program.a);
    program.wait(program.b, event);
    program.fill(program.b);
    assert_eq!(program.rules(), [Rule::StreamRace]);
    ok(unsafe { program.driver().cuGraphDestroy(graph) }).unwrap();
}

fn parameters(kind: CUgraphNodeType, event: CUevent) -> CUgraphNodeParams {
    let mut parameters = CUgraphNodeParams { type_: kind, ..CUgraphNodeParams::default() };
    match kind {
        CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD => {
            parameters.__bindgen_anon_1.eventRecord.event = event;
        }
        CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT => {
            parameters.__bindgen_anon_1.eventWait.event = event;
        }
        _ => {}
    }
    parameters
}

/// A graph of one node, made by the function for all kinds.
fn graph_of(program: &Program, kind: CUgraphNodeType, event: CUevent) -> CUgraph {
    let (mut graph, mut node) = (null_mut(), null_mut());
    let mut parameters = parameters(kind, event);
    unsafe {
        ok(program.driver().cuGraphCreate(&mut graph, 0)).unwrap();
        ok(program.driver().cuGraphAddNode(&mut node, graph, null(), null(), 0, &mut parameters)).unwrap();
    }
    graph
}

/// A node that is made by the function for all kinds says which event it records, if any: the others order as before.
#[test]
fn nodes_of_all_kinds_leave_other_events_as_they_are() {
    for kind in [CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY, CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD]
    {
        let program = Program::new();
        let (event, other) = (program.cuda.event(), program.cuda.event());
        graph_of(&program, kind, other);
        program.record(event, program.a);
        program.fill(program.a);
        program.wait(program.b, event);
        program.fill(program.b);
        assert_eq!(program.rules(), [Rule::StreamRace], "{kind:?}");
    }
    // A graph that waits for nothing orders nothing.
    let program = Program::new();
    let graph = graph_of(&program, CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY, null_mut());
    program.fill(program.a);
    program.launch(graph, program.b);
    program.fill(program.b);
    assert_eq!(program.rules(), [Rule::StreamRace]);
}

/// An event that a graph records may be behind anything.
#[test]
fn an_event_that_a_node_records_may_be_behind_anything() {
    let program = Program::new();
    let event = program.cuda.event();
    let graph = graph_of(&program, CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    program.fill(program.a);
    program.launch(graph, program.cuda.stream());
    program.wait(program.b, event);
    program.fill(program.b);
    assert_eq!(program.rules(), []);
}

/// A graph that waits for an event orders what comes after it on its stream.
#[test]
fn a_graph_that_waits_orders_what_comes_after_it() {
    let program = Program::new();
    let event = program.cuda.event();
    let graph = graph_of(&program, CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    program.fill(program.a);
    program.record(event, program.a);
    program.launch(graph, program.b);
    program.fill(program.b);
    assert_eq!(program.rules(), []);
}

/// What is captured gives nothing to the device, whichever function begins the capture.
#[test]
fn what_is_captured_runs_when_its_graph_does() {
    let program = Program::new();
    program.fill(program.a);
    program.begin(program.b);
    program.fill(program.b);
    let graph = program.end_capture(program.b);
    let mut other = null_mut();
    unsafe {
        ok(program.driver().cuGraphCreate(&mut other, 0)).unwrap();
        let begun =
            program.driver().cuStreamBeginCaptureToGraph(program.b, other, null(), null(), 0, RELAXED);
        ok(begun).unwrap();
    }
    program.fill(program.b);
    assert_eq!(program.end_capture(program.b), other);
    assert_eq!(program.rules_at_end(), []);
    // The twin: not captured.
    program.fill(program.b);
    assert_eq!(program.rules().last(), Some(&Rule::StreamRace));
    unsafe {
        ok(program.driver().cuGraphDestroy(graph)).unwrap();
        ok(program.driver().cuGraphDestroy(other)).unwrap();
    }
}

/// The end of one says nothing of another: not even one whose begin was not seen.
#[test]
fn a_capture_goes_on_when_another_ends() {
    let program = Program::new();
    let base = program._instance.driver();
    program.fill(program.a);
    let c = program.cuda.stream();
    program.begin(program.b);
    ok(unsafe { base.cuStreamBeginCapture(c, RELAXED) }).unwrap();
    program.end_capture(c);
    program.fill(program.b);
    program.end_capture(program.b);
    assert_eq!(program.rules(), []);
    // There may be others now that were not seen.
    ok(unsafe { base.cuStreamBeginCapture(c, RELAXED) }).unwrap();
    program.fill(c);
    program.end_capture(c);
    assert_eq!(program.rules(), []);
    // Nor do they end with a stream that has none.
    program.begin(program.b);
    ok(unsafe { program.driver().cuStreamDestroy(c) }).unwrap();
    program.fill(program.b);
    assert_eq!(program.rules(), []);
    assert_eq!(program.rules_at_end(), [Rule::OpenCapture]);
}

/// Memory may go, and other come in its place, by calls that are not seen: the driver knows its size, or nothing is reported.
#[test]
fn copies_are_too_long_only_where_the_driver_says_so() {
    let instance = Instance::new().unwrap();
    let spy = Spy::over(&instance.driver()).unwrap();
    let program = Program::over(&spy.driver(), instance);
    let fill = |bytes| {
        let _ = unsafe { program.driver().cuMemsetD8(program.memory, 1, bytes) };
        std::mem::take(&mut *program.found.lock().unwrap())
    };
    assert_eq!(fill(64), []);
    let found = fill(65);
    assert_eq!(
        found,
        [(Rule::OutOfRange, "writes 65 bytes at memory#1, but memory#1 has 64 bytes".to_owned())]
    );
    spy.inject(Fault::on("cuPointerGetAttribute").answer(CUresult::CUDA_ERROR_INVALID_VALUE)).unwrap();
    assert_eq!(fill(65), []);
}

/// Another thread may capture work while one is in the call that ends the capture.
#[test]
fn a_copy_from_the_hosts_memory_may_not_be_done_when_its_call_is() {
    let mut numbers = [1_u8; 64];
    let bytes = numbers.as_mut_ptr().cast();
    let program = Program::new();
    ok(unsafe { program.driver().cuMemcpyHtoDAsync(program.memory, bytes, 64, program.a) }).unwrap();
    program.fill(program.b);
    assert_eq!(program.rules(), [Rule::StreamRace]);
    // In the other direction the host has the numbers.
    let program = Program::new();
    ok(unsafe { program.driver().cuMemcpyDtoHAsync(bytes, program.memory, 64, program.a) }).unwrap();
    program.fill(program.b);
    assert_eq!(program.rules(), []);
}

#[test]
fn what_is_given_while_a_capture_is_being_ended_is_captured() {
    let instance = Instance::new().unwrap();
    let spy = Spy::over(&instance.driver()).unwrap();
    let program = Program::over(&spy.driver(), instance);
    program.fill(program.a);
    program.begin(program.b);
    let (cuda, stream, memory) = (program.cuda.driver.clone(), program.b.addr(), program.memory);
    // Behind the check, which has heard of the end, and before the driver has.
    let fills = move |_: &Call| {
        ok(unsafe { cuda.cuMemsetD8Async(memory, 2, 64, without_provenance_mut(stream)) }).unwrap();
        false
    };
    let fault = spy.inject(Fault::on("cuStreamEndCapture").when(fills)).unwrap();
    program.end_capture(program.b);
    fault.lift();
    spy.heal();
    assert_eq!((spy.panics(), program.rules()), (vec![], vec![]));
    // Otherwise the two fills are not ordered.
    program.fill(program.b);
    assert_eq!(program.rules(), [Rule::StreamRace]);
}

/// `CU_STREAM_PER_THREAD` is another stream in each thread, which captures for itself.
#[test]
fn two_threads_capture_their_own_streams() {
    let program = Program::new();
    let own = || without_provenance_mut(2);
    program.begin(own());
    let (cuda, open) = (&program.cuda, &program.found);
    std::thread::scope(|threads| {
        let other = || {
            cuda.make_current();
            let mut graph = null_mut();
            ok(unsafe { cuda.driver.cuStreamBeginCapture(own(), RELAXED) }).unwrap();
            ok(unsafe { cuda.driver.cuStreamEndCapture(own(), &mut graph) }).unwrap();
        };
        threads.spawn(other).join().unwrap();
    });
    assert!(open.lock().unwrap().is_empty());
    // That of this thread is open still.
    program.fill(own());
    assert_eq!(program.rules_at_end(), [Rule::OpenCapture]);
    // The twin.
    program.end_capture(own());
    program.found.lock().unwrap().clear();
    assert_eq!(program.rules_at_end(), []);
}

#[test]
fn what_a_reset_took_with_it_is_not_used_and_not_leaked() {
    let program = Program::new();
    let (event, module) = (program.cuda.event(), program.cuda.load(FILL));
    let fill = program.cuda.function(module, "fill");
    ok(unsafe { program.driver().cuDevicePrimaryCtxReset(0) }).unwrap();
    assert_eq!(program.rules_at_end(), []);
    assert_eq!(program.rules(), [Rule::Leak], "the reference to the context: {:?}", program.found);
    program.cuda.make_current();
    unsafe {
        let _ = program.driver().cuStreamQuery(program.a);
        let _ = program.driver().cuEventQuery(event);
        let _ = program.driver().cuMemsetD8(program.memory, 0, 64);
        let _ = program.driver().cuModuleUnload(module);
        let _ = program.cuda.fill(fill, null_mut(), program.memory, 1, 0);
    }
    let used = program.rules().split_off(1);
    assert_eq!(used[..4], [Rule::DeadHandle, Rule::DeadHandle, Rule::UseAfterFree, Rule::DoubleFree]);
    assert!(used[4..].contains(&Rule::DeadHandle), "{used:?}");
}

/// Runs a host function at once, and returns when others have seen what it tells them.
unsafe extern "C" fn at_once(_: CUstream, function: CUhostFn, data: *mut c_void) -> CUresult {
    // SAFETY: the function takes this, by the contract of the call.
    function.into_iter().for_each(|function| unsafe { function(data) });
    CUresult::SUCCESS
}

/// Another thread, which a host function wakes, goes on.
unsafe extern "C" fn goes_on(data: *mut c_void) {
    // SAFETY: the address of the program that the test passes, which waits for this.
    let program = unsafe { &*data.cast::<(Arc<Driver>, usize, usize, u64)>() };
    let (driver, context, stream, memory) = (program.0.clone(), program.1, program.2, program.3);
    let other = std::thread::spawn(move || {
        let [context, stream] = [context, stream].map(std::ptr::with_exposed_provenance_mut::<c_void>);
        ok(unsafe { driver.cuCtxSetCurrent(context.cast()) }).unwrap();
        ok(unsafe { driver.cuMemsetD8Async(memory, 1, 64, stream.cast()) }).unwrap();
    });
    other.join().unwrap();
}

#[test]
fn what_a_host_function_tells_is_known_before_its_call_returns() {
    let instance = Instance::new().unwrap();
    let replace = |name: &str| match name {
        "cuLaunchHostFunc" => at_once as pfn::cuLaunchHostFunc as *const c_void,
        _ => null(),
    };
    // SAFETY: 1: it does what a driver whose stream has nothing to do may do; 2: it is code of this program; 3: it is no spy's.
    let base = unsafe { cuda_harness::replaced(&instance.driver(), replace) };
    let program = Program::over(&base, instance);
    program.fill(program.a);
    let (context, stream) = (program.cuda.context.expose_provenance(), program.b.expose_provenance());
    let mut data = (program.check.driver(), context, stream, program.memory);
    let data: *mut c_void = (&raw mut data).cast();
    ok(unsafe { program.driver().cuLaunchHostFunc(program.a, Some(goes_on), data) }).unwrap();
    assert_eq!(program.rules(), []);
}

#[test]
fn a_copy_to_memory_that_is_pinned_no_more_is_done_when_it_returns() {
    for is_pinned in [false, true] {
        let program = Program::new();
        let mut memory = vec![0_u8; 64];
        let place: *mut c_void = memory.as_mut_ptr().cast();
        ok(unsafe { program.driver().cuMemHostRegister(place, 64, 0) }).unwrap();
        let unpin = || ok(unsafe { program.driver().cuMemHostUnregister(place) }).unwrap();
        if !is_pinned {
            unpin();
        }
        ok(unsafe { program.driver().cuMemcpyDtoHAsync(place, program.memory, 64, program.a) }).unwrap();
        program.fill(program.b);
        let races = if is_pinned { vec![Rule::StreamRace] } else { vec![] };
        assert_eq!(program.rules(), races);
        ok(unsafe { program.driver().cuCtxSynchronize() }).unwrap();
        if is_pinned {
            unpin();
        }
    }
}

#[test]
fn a_list_that_claims_to_be_endless_is_left_to_the_driver() {
    let program = Program::new();
    let (mut list, mut size, mut first) = (program.memory, 8_usize, 0_usize);
    let mut attributes = CUmemcpyAttributes::default();
    let gone = without_provenance_mut(0x1234_5678);
    let code = unsafe {
        let (to, from) = (&raw mut list, &raw mut list);
        let lists = (&raw mut size, &raw mut attributes, &raw mut first);
        program.driver().cuMemcpyBatchAsync_v2(to, from, lists.0, usize::MAX / 16, lists.1, lists.2, 1, gone)
    };
    assert_ne!(code, CUresult::SUCCESS);
}

/// The device of the launch counts, not the current one, which is the only one that knows the function of a library's kernel.
#[test]
fn a_cooperative_grid_is_compared_with_what_fits_on_its_own_device() {
    let architectures = [Architecture::Sm75, Architecture::Sm120];
    let instance = InstanceOptions::new().architectures(architectures).start().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let check =
        Check::over(&instance.driver(), move |finding| heard.lock().unwrap().push(finding.clone())).unwrap();
    let driver = check.driver();
    let (mut contexts, mut stream, mut module, mut kernel) =
        ([null_mut(); 2], null_mut(), null_mut(), null_mut());
    let (mut library, mut of_library) = (null_mut(), null_mut());
    let ptx = c".version 7.8 .target sm_75 .address_size 64 .visible .entry k() { ret; }";
    let mut multiprocessors = 0;
    unsafe {
        ok(driver.cuInit(0)).unwrap();
        for (device, context) in contexts.iter_mut().enumerate() {
            ok(driver.cuDevicePrimaryCtxRetain(context, device as i32)).unwrap();
        }
        let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        ok(driver.cuDeviceGetAttribute(&mut multiprocessors, count, 1)).unwrap();
        ok(driver.cuCtxSetCurrent(contexts[1])).unwrap();
        ok(driver.cuStreamCreate(&mut stream, 1)).unwrap();
        ok(driver.cuModuleLoadData(&mut module, ptx.as_ptr().cast())).unwrap();
        ok(driver.cuModuleGetFunction(&mut kernel, module, c"k".as_ptr())).unwrap();
        ok(driver.cuLibraryLoadData(
            &mut library,
            ptx.as_ptr().cast(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0,
        ))
        .unwrap();
        ok(driver.cuLibraryGetKernel(&mut of_library, library, c"k".as_ptr())).unwrap();
        ok(driver.cuCtxSetCurrent(contexts[0])).unwrap();
        for function in [kernel, of_library.cast()] {
            let answer =
                driver.cuLaunchCooperativeKernel(function, 100_000, 1, 1, 1024, 1, 1, 0, stream, null_mut());
            assert_eq!(answer, CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        ok(driver.cuLibraryUnload(library)).unwrap();
    }
    let told: Vec<String> = told.lock().unwrap().iter().map(|finding| finding.message().to_owned()).collect();
    assert!(
        told[0].ends_with(&format!("on each of {multiprocessors} multiprocessors of the device")),
        "{told:?}"
    );
    assert!(told[1].ends_with("more than fit at once"), "{told:?}");
}
