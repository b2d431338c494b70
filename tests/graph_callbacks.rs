//! Functions of the program that the driver calls besides those of streams: host nodes of graphs, and listeners of its log. What
//! they drop, what they call, what they panic with.

#![allow(unsafe_code)] // A driver with one function of its own; a listener called as a driver does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{child, wait_until};
use cuda_launch::diagnostics::LogListener;
use cuda_launch::graph::{GraphExec, InstantiateFlags};
use cuda_launch::memory::PinnedFlags;
use cuda_launch::module::{CudaLibrary, JitOptions, Linker};
use cuda_launch::sys::{CUlogLevel, CUlogsCallback, CUlogsCallbackHandle, CUresult, Driver, pfn};
use cuda_launch::virtual_memory::{PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{CudaContext, CudaGraph, DeviceBuffer, Error, PinnedBuffer, default_driver};
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// A graph of these host functions, ready to run.
fn exec(ctx: &CudaContext, functions: Vec<Box<dyn Fn() + Send + Sync>>) -> GraphExec {
    let mut graph = CudaGraph::new(ctx).unwrap();
    for function in functions {
        graph.add_host(&[], function).unwrap();
    }
    graph.instantiate(InstantiateFlags::empty()).unwrap()
}

/// Panics when it is dropped, as what a panic gives may.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose, at the end of a value");
    }
}

/// In a process of its own, which a second panic would abort.
fn in_a_child(name: &str, test: impl FnOnce()) {
    if child::is_child(name) {
        test();
        std::process::exit(43);
    }
    let ended = child::run(name).unwrap();
    assert_eq!(ended.code, Some(43), "{name}\n{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn what_a_host_function_of_a_graph_drops_is_given_back() {
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let own = (
        DeviceBuffer::<u8>::zeroed(&stream, 1000).unwrap(),
        PinnedBuffer::<u8>::zeroed(&ctx, 1000, PinnedFlags::empty()).unwrap(),
        (ctx.new_event().unwrap(), ctx.new_stream().unwrap()),
        exec(&ctx, Vec::new()),
    );
    stream.synchronize().unwrap();
    let owned = Mutex::new(Some(own));
    let mut exec = exec(&ctx, vec![Box::new(move || drop(owned.lock().unwrap().take()))]);
    exec.launch(&stream).unwrap();
    exec.synchronize().unwrap();
    // With the context: it keeps an event that it lent.
    drop((exec, stream, ctx));
    wait_until("all is given back", || spy.ledger().is_clean()).unwrap();
}

/// Objects that have no memory of their own, each made for nobody else.
fn objects(ctx: &CudaContext) -> Vec<Box<dyn Send + Sync>> {
    let ptx = include_str!("../examples/kernels/fill.ptx");
    let library = || CudaLibrary::load(ctx.driver(), ptx).unwrap();
    let bytes = PhysicalOptions::default().granularity(ctx, false).unwrap();
    let linker = Linker::new(ctx, &JitOptions::new()).unwrap();
    vec![
        Box::new(ctx.load_module(ptx).unwrap()),
        Box::new(ctx.load_module(ptx).unwrap().load_function("fill").unwrap()),
        Box::new(library()),
        Box::new(library().module(ctx).unwrap()),
        Box::new(library().kernel("fill").unwrap().function(ctx).unwrap()),
        Box::new(Mutex::new(linker)),
        Box::new(PhysicalAllocation::new(ctx, bytes, PhysicalOptions::default()).unwrap()),
        Box::new(VirtualReservation::new(ctx, bytes, 0).unwrap()),
    ]
}

#[test]
fn the_last_handles_of_all_objects_may_go_in_a_host_function() {
    for in_graph in [false, true] {
        let (spy, ctx) = spies::spied();
        let stream = ctx.new_stream().unwrap();
        let owned = Mutex::new(Some(objects(&ctx)));
        let (sender, threads) = mpsc::channel();
        let end = move || {
            drop(owned.lock().unwrap().take());
            let _ = sender.send(std::thread::current().id());
        };
        if in_graph {
            let mut exec = exec(&ctx, vec![Box::new(end)]);
            exec.launch(&stream).unwrap();
            exec.synchronize().unwrap();
        } else {
            stream.call_host(end).unwrap();
            stream.synchronize().unwrap();
        }
        let callback = threads.recv().unwrap();
        drop((stream, ctx));
        wait_until("all is given back", || spy.ledger().is_clean())
            .unwrap_or_else(|_| panic!("graph {in_graph}: {:?}", spy.ledger().live()));
        assert!(spy.ledger().problems().is_empty(), "{:?} on {callback:?}", spy.ledger().problems());
    }
}

#[test]
fn a_last_handle_is_not_closed_in_a_host_function_and_goes_all_the_same() {
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let ptx = include_str!("../examples/kernels/fill.ptx");
    let (module, library) = (ctx.load_module(ptx).unwrap(), CudaLibrary::load(ctx.driver(), ptx).unwrap());
    // Not of the library that is closed.
    let other = CudaLibrary::load(ctx.driver(), ptx).unwrap();
    let (linker, kernel) = (Linker::new(&ctx, &JitOptions::new()).unwrap(), other.kernel("fill").unwrap());
    let (sender, refused) = mpsc::channel();
    stream
        .call_host(move || {
            let asked = [
                library.kernel("fill").map(drop),
                library.kernels().map(drop),
                kernel.parameter_sizes().map(drop),
                library.raw_managed("x").map(drop),
                library.unified_function("f").map(drop),
            ];
            let errors = [module.close(), library.close(), linker.close()].into_iter().chain(asked);
            let told = |result: Result<(), Error>| result.unwrap_err().is_in_host_callback();
            sender.send(errors.map(told).collect::<Vec<_>>()).unwrap();
        })
        .unwrap();
    assert_eq!(refused.recv().unwrap(), [true; 8]);
    stream.synchronize().unwrap();
    drop((other, stream, ctx));
    wait_until("all is given back", || spy.ledger().is_clean()).unwrap();
}

#[test]
fn calls_of_cuda_in_a_host_function_of_a_graph_are_named() {
    let ctx = CudaContext::new(0).unwrap();
    let (stream, event) = (ctx.new_stream().unwrap(), ctx.new_event().unwrap());
    let (sender, answers) = mpsc::channel();
    let (inside, sender) = (stream.clone(), Mutex::new(sender));
    let function = move || {
        let answers = [
            ("cuStreamSynchronize", inside.synchronize()),
            ("cuEventRecord", event.record(&inside)),
            ("cuMemAllocAsync", DeviceBuffer::<u8>::uninit(&inside, 8).map(drop)),
            ("cuGraphCreate", CudaGraph::new(inside.context()).map(drop)),
            ("cuLaunchHostFunc", inside.call_host(|| ())),
        ];
        sender.lock().unwrap().send(answers).unwrap();
    };
    let mut exec = exec(&ctx, vec![Box::new(function)]);
    exec.launch(&stream).unwrap();
    exec.synchronize().unwrap();
    for (call, answer) in answers.recv().unwrap() {
        let error = answer.expect_err(call);
        assert!(error.is_in_host_callback(), "{call}: {error}");
        assert!(
            error.to_string().contains("inside a callback, where waiting could deadlock: a host function"),
            "{error}"
        );
    }
}

/// The first panic waits to be raised; the others go, whatever their end does.
#[test]
fn panics_in_a_graph_whose_end_panics_end_nothing() {
    in_a_child("panics_in_a_graph_whose_end_panics_end_nothing", || {
        let ctx = CudaContext::new(0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        let mut exec = exec(
            &ctx,
            vec![Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
                panic_any(Bomb)
            })],
        );
        for _ in 0..3 {
            exec.launch(&stream).unwrap();
        }
        stream.synchronize().unwrap();
        let raised = catch_unwind(AssertUnwindSafe(|| exec.synchronize())).unwrap_err();
        assert!(raised.is::<Bomb>());
        std::mem::forget(raised);
        exec.synchronize().unwrap();
        // One that nobody asks for goes with the graph.
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        drop(exec);
        assert_eq!(calls.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn functions_of_a_graph_whose_end_panics_keep_no_other_end() {
    in_a_child("functions_of_a_graph_whose_end_panics_keep_no_other_end", || {
        let ctx = CudaContext::new(0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let kept = Arc::new(());
        let (first, second, other) = (Bomb, Bomb, kept.clone());
        let look = |_: &Bomb| ();
        let mut exec = exec(
            &ctx,
            vec![
                Box::new(move || look(&first)),
                Box::new(move || look(&second)),
                Box::new(move || drop(Arc::downgrade(&other))),
            ],
        );
        exec.launch(&stream).unwrap();
        exec.synchronize().unwrap();
        // While another panic unwinds.
        let panicked = catch_unwind(AssertUnwindSafe(move || {
            let _exec = exec;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

/// The listener that was registered last with [`logging_driver`].
static REGISTERED: Mutex<Option<(CUlogsCallback, usize)>> = Mutex::new(None);

unsafe extern "C" fn register(
    callback: CUlogsCallback,
    data: *mut c_void,
    handle: *mut CUlogsCallbackHandle,
) -> CUresult {
    *REGISTERED.lock().unwrap() = Some((callback, data.addr()));
    unsafe { handle.write(std::ptr::dangling_mut::<u64>().cast()) };
    CUresult::SUCCESS
}

unsafe extern "C" fn unregister(_: CUlogsCallbackHandle) -> CUresult {
    CUresult::SUCCESS
}

/// The default driver, whose log the test writes.
fn logging_driver() -> Arc<Driver> {
    let base = default_driver().unwrap();
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuLogsRegisterCallback" => register as pfn::cuLogsRegisterCallback as *const c_void,
        "cuLogsUnregisterCallback" => unregister as pfn::cuLogsUnregisterCallback as *const c_void,
        name => base.address(name),
    };
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// Logs a line to the listener that was registered last, as a driver does for a call that fails on this thread.
fn log(line: &str) {
    let (callback, data) = REGISTERED.lock().unwrap().unwrap();
    let mut bytes = line.as_bytes().to_vec();
    let message = bytes.as_mut_ptr().cast::<c_char>();
    let (level, data) = (CUlogLevel::CU_LOG_LEVEL_ERROR, std::ptr::without_provenance_mut(data));
    unsafe { callback.unwrap()(data, level, message, bytes.len()) };
}

#[test]
fn a_listener_whose_own_call_is_logged_does_not_wait_for_itself() {
    in_a_child("a_listener_whose_own_call_is_logged_does_not_wait_for_itself", || {
        let (sender, heard) = mpsc::channel();
        let _listener = LogListener::new(&logging_driver(), move |_, line| {
            sender.send(line.to_owned()).unwrap();
            log("what the listener did wrong");
        })
        .unwrap();
        log("first");
        log("second");
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["first", "second"]);
    });
}

#[test]
fn what_a_listener_panics_with_and_what_it_owns_end_there() {
    in_a_child("what_a_listener_panics_with_and_what_it_owns_end_there", || {
        let driver = logging_driver();
        let listener = LogListener::new(&driver, |_, _| panic_any(Bomb)).unwrap();
        log("panics with a value whose end panics");
        drop(listener);
        // Taken off while it runs, it ends below the driver.
        let (started, ended) = (mpsc::channel(), mpsc::channel::<()>());
        let (owned, end) = (Bomb, Mutex::new(ended.1));
        let listener = LogListener::new(&driver, move |_, _| {
            let _owned = &owned;
            started.0.send(()).unwrap();
            end.lock().unwrap().recv().unwrap_err();
            panic!("on purpose");
        })
        .unwrap();
        let calling = std::thread::spawn(|| log("taken off meanwhile"));
        started.1.recv().unwrap();
        drop(listener);
        drop(ended.0);
        calling.join().unwrap();
    });
}

#[test]
fn what_a_listener_drops_is_given_back_on_another_thread() {
    in_a_child("what_a_listener_drops_is_given_back_on_another_thread", || {
        let (spy, ctx) = spies::spied();
        let before = spy.ledger();
        let event = Mutex::new(Some(ctx.new_event().unwrap()));
        let listener = LogListener::new(&logging_driver(), move |_, _| drop(event.lock().unwrap().take()));
        spy.clear();
        log("a line");
        // This thread is the first that the spy heard.
        assert_eq!(
            spy.calls().of_thread(1).count("cuEventDestroy"),
            0,
            "the driver was called from its own call"
        );
        wait_until("it is given back", || {
            spy.ledger().since(&before).is_clean() && spy.ledger().live().len() == before.live().len()
        })
        .unwrap();
        drop(listener);
    });
}
