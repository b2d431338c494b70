//! What is known of the work of a context while other threads wait for it and give more: memory whose address was taken goes after
//! all of it; and a capture that ends while it is given work.

#![allow(unsafe_code)] // The support's driver, work on bare addresses, and a driver in front of another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::skipped;
use cuda_launch::error::CaptureError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::sys::{CUfunction, CUfunction_attribute, CUresult, CUstream, Driver, pfn};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig,
    cuda_launch,
};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use support::{during_next_submission, marks, reset};

fn context() -> CudaContext {
    CudaContext::with_driver(&support::driver(&[]), 0).unwrap()
}

fn buffer(stream: &CudaStream) -> DeviceBuffer<u32> {
    DeviceBuffer::from_host(stream, &[0; 8]).unwrap()
}

/// A buffer that nothing uses, whose address was taken.
fn taken(stream: &CudaStream) -> DeviceBuffer<u32> {
    let x = buffer(stream);
    let _ = x.as_device_ptr();
    x
}

/// What is asked of the driver where the buffer ends.
fn end_of(x: DeviceBuffer<u32>) -> Vec<(&'static str, usize)> {
    reset();
    drop(x);
    marks()
}

#[test]
fn a_wait_beside_a_submission_does_not_count_it_as_done() {
    let waits: [fn(&CudaStream); 2] =
        [|stream| stream.synchronize().unwrap(), |stream| stream.context().synchronize().unwrap()];
    for wait in waits {
        let ctx = context();
        let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let (x, mut y) = (taken(&b), buffer(&a));
        // The wait of another thread is over before the driver takes the work, which may use the address.
        let waiting = a.clone();
        during_next_submission(move || wait(&waiting));
        y.view_mut().set_zero(&a).unwrap();
        assert_eq!(end_of(x), [("free", a.raw().addr())]);
        let x = taken(&b);
        wait(&a);
        assert_eq!(end_of(x), [("free", b.raw().addr())], "now it is done");
    }
}

#[test]
fn a_stream_that_is_gone_counts_until_the_wait_for_the_context_is_over() {
    let ctx = context();
    let [a, gone] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let (x, later) = (taken(&a), taken(&a));
    buffer(&gone).view_mut().set_zero(&gone).unwrap();
    drop(gone);
    reset();
    // The memory ends on another thread while this one waits.
    during_next_submission(move || drop(x));
    ctx.synchronize().unwrap();
    assert_eq!(marks(), [("idle", 0), ("free", a.raw().addr()), ("idle", 0)], "it waits itself");
    assert_eq!(end_of(later), [("free", a.raw().addr())], "nothing is under way any more");
}

#[test]
fn a_wait_for_ones_own_per_thread_stream_is_none_for_that_of_another_thread() {
    let ctx = context();
    let (a, here) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
    let (x, mut y) = (taken(&a), buffer(&a));
    y.view_mut().set_zero(&here).unwrap();
    elsewhere(|| here.synchronize().unwrap());
    assert_eq!(end_of(x)[0], ("idle", 0), "this thread's is still busy");
    assert_eq!(end_of(taken(&a)), [("free", a.raw().addr())]);
}

#[test]
fn readers_on_the_streams_of_many_threads_wait_for_nothing() {
    let ctx = context();
    let weights = buffer(&ctx.new_stream().unwrap());
    let shared = ctx.per_thread_stream();
    let read = |stream: &CudaStream| {
        let mut target = buffer(stream);
        reset();
        target.view_mut().copy_from_device(stream, &weights).unwrap();
        marks()
    };
    for own in [false, true] {
        for reader in 0..40 {
            let here = || if own { ctx.per_thread_stream() } else { shared.clone() };
            let marks = thread::scope(|scope| scope.spawn(|| read(&here())).join().unwrap());
            assert_eq!(marks, [], "reader {reader}: nobody waits for the context");
        }
    }
}

/// It is waited for by a wait for the whole context, as no other thread has a name for it.
#[test]
fn what_was_written_on_the_stream_of_another_thread_is_waited_for_once() {
    let ctx = context();
    let mine = ctx.per_thread_stream();
    let mut weights = buffer(&mine);
    weights.view_mut().set_zero(&mine).unwrap();
    let (weights, ctx) = (&weights, &ctx);
    let read = |stream: &CudaStream| {
        let mut target = buffer(stream);
        reset();
        target.view_mut().copy_from_device(stream, weights).unwrap();
        marks()
    };
    let (ask, asked) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let stream = ctx.per_thread_stream();
            asked.into_iter().for_each(|()| tell.send(read(&stream)).unwrap());
        });
        for first in [true, false, false] {
            ask.send(()).unwrap();
            let waits: &[_] = if first { &[("idle", 0)] } else { &[] };
            assert_eq!(told.recv().unwrap(), waits);
            // The thread that wrote reads as well.
            assert_eq!(read(&mine), []);
        }
        drop(ask);
    });
}

/// On a thread of its own, which ends.
fn elsewhere<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

#[test]
fn threads_that_have_waited_for_their_own_streams_are_waited_for_no_more() {
    let ctx = context();
    let (writer, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
    let mut weights = buffer(&writer);
    let read = |stream: &CudaStream| buffer(stream).view_mut().copy_from_device(stream, &weights).unwrap();
    for own in [false, true] {
        for _ in 0..40 {
            elsewhere(|| {
                let stream = if own { ctx.per_thread_stream() } else { shared.clone() };
                read(&stream);
                stream.synchronize().unwrap();
            });
        }
    }
    reset();
    weights.view_mut().set_zero(&writer).unwrap();
    assert_eq!(marks(), []);
}

/// A thread that uses one more handle of its own stream still knows what the others mean.
#[test]
fn a_thread_that_has_waited_for_each_of_its_streams_is_waited_for_no_more() {
    let ctx = context();
    let writer = ctx.new_stream().unwrap();
    let (mut x, mut y) = (buffer(&writer), buffer(&writer));
    elsewhere(|| {
        let [one, other] = std::array::from_fn(|_| ctx.per_thread_stream());
        x.view_mut().set_zero(&one).unwrap();
        y.view_mut().set_zero(&other).unwrap();
        one.synchronize().unwrap();
    });
    reset();
    x.view_mut().set_zero(&writer).unwrap();
    assert_eq!(marks(), []);
}

/// What a thread does with its own stream before it ends.
type Steps = fn(&CudaStream, &mut dyn FnMut());

#[test]
fn threads_that_have_not_waited_for_all_are_waited_for() {
    let steps: [(&str, Steps); 4] = [
        ("never", |_, read| read()),
        ("before it gave it more", |stream, read| {
            read();
            stream.synchronize().unwrap();
            read();
        }),
        ("in the middle of a submission", |stream, read| {
            let waiting = stream.clone();
            during_next_submission(move || waiting.synchronize().unwrap());
            read();
        }),
        ("for that of another thread", |stream, read| {
            read();
            elsewhere(|| stream.synchronize().unwrap());
        }),
    ];
    for (name, steps) in steps {
        let ctx = context();
        let (writer, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
        let mut weights = buffer(&writer);
        elsewhere(|| {
            let mut target = buffer(&writer);
            let mut read = || target.view_mut().copy_from_device(&shared, &weights).unwrap();
            steps(&shared, &mut read);
            // So that nothing of its own ends before the writer comes.
            std::mem::forget(target);
        });
        reset();
        weights.view_mut().set_zero(&writer).unwrap();
        assert_eq!(marks(), [("idle", 0)], "waited {name}");
    }
}

/// A list that has become long is searched for those that are done: nobody knows that of these.
#[test]
fn many_threads_that_have_not_waited_are_waited_for() {
    for threads in 60..70 {
        let ctx = context();
        let (last, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
        let mut weights = buffer(&last);
        let targets: Vec<_> = (0..threads).map(|_| elsewhere(|| read(&shared, &weights))).collect();
        let target = read(&last, &weights);
        reset();
        weights.view_mut().set_zero(&last).unwrap();
        assert_eq!(marks(), [("idle", 0)], "{threads} threads");
        drop((targets, target));
    }
}

/// Into memory of its own.
fn read(stream: &CudaStream, source: &DeviceBuffer<u32>) -> DeviceBuffer<u32> {
    let mut target = buffer(stream);
    target.view_mut().copy_from_device(stream, source).unwrap();
    target
}

#[test]
fn work_on_bare_addresses_comes_before_the_end_of_the_memory() {
    let ctx = context();
    let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let mut x = buffer(&b);
    let address = x.as_mut_device_ptr().addr();
    // SAFETY: 1: `x` has the 4 bytes, and its address was taken: its end comes after work that was given to streams
    // before; 2: the copy into it, on `b`, is none that could meet this: the driver of `support` has no memory.
    unsafe { a.fill_bytes(address, 1, 4) }.unwrap();
    assert_eq!(end_of(x), [("free", a.raw().addr())]);
}

static BASE: OnceLock<Arc<Driver>> = OnceLock::new();
type First = Mutex<Option<Box<dyn FnOnce() + Send>>>;
/// What the next fill, or the next question for an attribute of a kernel, does first.
static FIRST: [First; 2] = [const { Mutex::new(None) }; 2];
static ENDED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn attribute(value: *mut i32, of: CUfunction_attribute, kernel: CUfunction) -> CUresult {
    let first = FIRST[1].lock().unwrap().take();
    first.into_iter().for_each(|first| first());
    // SAFETY: `attribute` stands for this function: its caller meets the duties for just these arguments.
    unsafe { BASE.get().unwrap().cuFuncGetAttribute(value, of, kernel) }
}

unsafe extern "C" fn fill(target: u64, value: u8, bytes: usize, stream: CUstream) -> CUresult {
    let first = FIRST[0].lock().unwrap().take();
    first.into_iter().for_each(|first| first());
    // SAFETY: `fill` stands for this function: its caller meets the duties for just these arguments.
    unsafe { BASE.get().unwrap().cuMemsetD8Async(target, value, bytes, stream) }
}

unsafe extern "C" fn end_capture(stream: CUstream, graph: *mut cuda_launch::sys::CUgraph) -> CUresult {
    ENDED.store(true, Ordering::SeqCst);
    // SAFETY: `end_capture` stands for this function: its caller meets the duties for just these arguments.
    unsafe { BASE.get().unwrap().cuStreamEndCapture(stream, graph) }
}

/// The default driver, in which a fill or the check of a launch can be held.
fn held() -> Arc<Driver> {
    let base = BASE.get_or_init(|| cuda_launch::default_driver().unwrap());
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuFuncGetAttribute" => attribute as pfn::cuFuncGetAttribute as *const c_void,
        "cuMemsetD8Async" => fill as pfn::cuMemsetD8Async as *const c_void,
        "cuStreamEndCapture" => end_capture as pfn::cuStreamEndCapture as *const c_void,
        name => base.address(name),
    };
    // SAFETY: 1: the base's own functions, and three whose signatures `pfn` checks, which call them; 2: they are code of this
    // program, or of a library that is never unloaded.
    Arc::new(unsafe { Driver::from_lookup(lookup) })
}

/// The next call that is held sends that it has begun, and ends when `stream` knows that its capture is over. Whether the driver
/// was told so meanwhile.
fn hold(which: usize, stream: &CudaStream, begun: Sender<()>) -> mpsc::Receiver<bool> {
    let (stream, (tell, told)) = (stream.clone(), mpsc::channel());
    *FIRST[which].lock().unwrap() = Some(Box::new(move || {
        begun.send(()).unwrap();
        while stream.synchronize().unwrap_err().is_refused_in_capture() {
            thread::yield_now();
        }
        tell.send(ENDED.load(Ordering::SeqCst)).unwrap();
    }));
    told
}

/// One test at a time asks what the driver was told.
fn not_ended() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    ENDED.store(false, Ordering::SeqCst);
    one
}

#[test]
fn a_capture_does_not_end_while_a_stream_of_it_is_given_work() {
    let (_one, ctx) = (not_ended(), CudaContext::with_driver(&held(), 0).unwrap());
    let mut x = buffer(&ctx.new_stream().unwrap());
    let mut thread = None;
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        let (stream, (begun, has_begun)) = (stream.clone(), mpsc::channel());
        thread = Some(thread::spawn(move || {
            let told = hold(0, &stream, begun);
            x.view_mut().set_zero(&stream).unwrap();
            assert!(x.view_mut().set_zero(&stream).unwrap_err().is_capture_error(), "it is over");
            told.recv().unwrap()
        }));
        has_begun.recv().unwrap();
        Ok(())
    });
    let ended = thread.unwrap().join().unwrap();
    assert!(!ended, "the driver would have run the fill, unordered");
    assert_eq!(graph.unwrap().nodes().len(), 1, "it was recorded");
}

#[test]
fn a_launch_that_has_begun_is_not_refused_because_the_capture_ends() {
    let (_one, ctx) = (not_ended(), CudaContext::with_driver(&held(), 0).unwrap());
    if !ctx.limits().cluster_launch {
        return skipped("no clusters: no check of a launch asks the driver");
    }
    let module = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
    let fill = module.load_function("fill").unwrap();
    fill.set_non_portable_cluster_size_allowed(true).unwrap();
    let mut x = buffer(&ctx.new_stream().unwrap());
    let mut thread = None;
    let graph = CudaGraph::capture(&ctx, CaptureMode::Relaxed, |stream| {
        let (stream, (begun, has_begun)) = (stream.clone(), mpsc::channel());
        thread = Some(thread::spawn(move || {
            // Whether so large a cluster is allowed, the driver is asked each time.
            let told = hold(1, &stream, begun);
            // SAFETY: 1, 2: fill takes an address, a number and a value, and stays inside so many numbers; 3, 4: the graph keeps and
            // orders them, and is not launched; 5, 6: it writes numbers, and ends.
            unsafe {
                cuda_launch! { function: fill, stream: stream, config: LaunchConfig::new((16, 1, 1), (8, 1, 1)),
                    cluster_dim: (16, 1, 1), args: [ptr_mut(x), 8u32, 1u32] }
            }
            .unwrap();
            told.recv().unwrap()
        }));
        has_begun.recv().unwrap();
        Ok(())
    });
    assert!(!thread.unwrap().join().unwrap());
    assert_eq!(graph.unwrap().nodes().len(), 1, "it was recorded");
}

/// Both threads begin at once.
fn at_once<A: Send>(one: impl FnOnce() -> A + Send, other: impl FnOnce() + Send) -> A {
    let both = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            both.wait();
            other();
        });
        both.wait();
        let result = one();
        other.join().unwrap();
        result
    })
}

#[test]
fn forks_that_are_given_work_beside_the_end_are_joined() {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    for round in 0..100 {
        let mut x = DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap();
        // SAFETY: 1: it is ended below, with what the work uses kept by the record; 2: nothing relies on it; 3: no other stream is given
        // work until then.
        let captured = unsafe { stream.begin_capture(CaptureMode::Relaxed) }.unwrap();
        let forks: Vec<CudaStream> = (0..20).map(|_| captured.fork().unwrap()).collect();
        let mut recorded = 0;
        // SAFETY: 1, 2: `begin_capture` returned it.
        let end = || unsafe { captured.end_capture() };
        let graph = at_once(end, || {
            // Until it is over, on the forks that the end has joined already as well.
            for fork in std::iter::once(&captured).chain(&forks).cycle() {
                let given = fork.fork().and_then(|fork| x.view_mut().set_zero(&fork));
                match given {
                    Ok(()) => recorded += 1,
                    Err(error) => return assert!(is_ended(&error), "round {round}: {error}"),
                }
            }
        });
        // Whoever was told that it is in the capture is in the graph.
        assert_eq!(graph.unwrap().nodes().len(), recorded, "round {round}");
    }
}

fn is_ended(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Capture(CaptureError::Ended { .. }))
}

#[test]
fn one_of_two_threads_ends_a_capture() {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    for round in 0..500 {
        let mut x = DeviceBuffer::<u32>::filled(&stream, 8, 1).unwrap();
        // SAFETY: 1: it is ended below; 2: nothing relies on it; 3: no other stream is given work until then.
        let captured = unsafe { stream.begin_capture(CaptureMode::Relaxed) }.unwrap();
        x.view_mut().set_zero(&captured).unwrap();
        // SAFETY: 1, 2: `begin_capture` returned it.
        let end = || unsafe { captured.end_capture() };
        let mut theirs = None;
        let mine = at_once(end, || theirs = Some(end()));
        let (graph, refused) = match (mine, theirs.unwrap()) {
            (Ok(graph), Err(refused)) | (Err(refused), Ok(graph)) => (graph, refused),
            (mine, theirs) => panic!("round {round}: {mine:?} {theirs:?}"),
        };
        assert!(is_ended(&refused), "round {round}: {refused}");
        // Its graph keeps what was recorded.
        drop(x);
        let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
    }
}
