//! Two threads access one piece of memory: whatever comes between an access that is noted and its submission, later work waits
//! for it. A driver that does nothing holds one thread in the middle of a submission; for arrays and graphs it is one in front of
//! the default driver.

#![allow(unsafe_code)] // The support's driver, and a driver in front of another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_launch::foundation::submit_with;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{CopySource, CopyTarget, Extent, RowLayout};
use cuda_launch::sys::{
    CUDA_MEMCPY2D, CUdeviceptr, CUevent, CUfunction, CUgraphExec, CUlaunchConfig, CUresult, CUstream, Driver,
    pfn,
};
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, DeviceViewMut, Error, LaunchConfig,
    cuda_launch, kernel_args,
};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use support::{during_next_record, during_next_submission, marks, reset};

fn context() -> CudaContext {
    CudaContext::with_driver(&support::driver(&[]), 0).unwrap()
}

fn buffer(stream: &CudaStream) -> DeviceBuffer<u32> {
    DeviceBuffer::from_host(stream, &[0; 8]).unwrap()
}

/// Runs `beside` while another thread is inside the driver with the work that `submit` gives it, or waits for the context.
fn torn<'a>(submit: impl FnOnce() + Send + 'a, beside: impl FnOnce()) {
    torn_in(during_next_submission, submit, beside);
}

/// The same where the other thread is in another call.
fn torn_in<'a>(during_call: fn(Box<dyn FnOnce()>), submit: impl FnOnce() + Send + 'a, beside: impl FnOnce()) {
    thread::scope(|scope| {
        let (entered, is_in) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        scope.spawn(move || {
            during_call(Box::new(move || {
                entered.send(()).unwrap();
                may_go.recv().unwrap();
            }));
            submit();
        });
        is_in.recv().unwrap();
        beside();
        go.send(()).unwrap();
    });
}

/// The streams that the next write of the whole buffer waits for.
fn waited_for(buffer: &mut DeviceBuffer<u32>, stream: &CudaStream) -> Vec<usize> {
    reset();
    buffer.view_mut().set_zero(stream).unwrap();
    marks().into_iter().filter(|(what, _)| *what == "record").map(|(_, stream)| stream).collect()
}

fn raw(streams: &[&CudaStream]) -> Vec<usize> {
    streams.iter().map(|stream| stream.raw().addr()).collect()
}

/// The state of the stream that is about to be torn: it is new to the memory, has written it, or has read it.
const BEFORE: [fn(&mut DeviceViewMut<'_, u32>, &CudaStream); 3] = [
    |_, _| {},
    |half, stream| half.set_zero(stream).unwrap(),
    |half, stream| {
        let mut other = buffer(stream);
        other.slice_mut(..half.len()).copy_from_device(stream, half).unwrap();
    },
];

#[test]
fn two_halves_are_written_at_once() {
    for before in BEFORE {
        let ctx = context();
        let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let mut whole = buffer(&a);
        let (mut left, mut right) = whole.split_at_mut(4);
        before(&mut left, &a);
        torn(|| left.set_zero(&a).unwrap(), || right.set_zero(&b).unwrap());
        let mut waited = waited_for(&mut whole, &c);
        waited.sort_unstable();
        assert_eq!(waited, raw(&[&a, &b]));
        // And is known from now on.
        assert_eq!(waited_for(&mut whole, &c), []);
    }
}

#[test]
fn two_chunks_are_written_at_once() {
    for before in BEFORE {
        let ctx = context();
        let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let mut whole = buffer(&a);
        let mut chunks = whole.chunks_mut(4);
        let [mut left, mut right] = [0; 2].map(|_| chunks.next().unwrap());
        before(&mut left, &a);
        torn(|| left.set_zero(&a).unwrap(), || right.set_zero(&b).unwrap());
        let mut waited = waited_for(&mut whole, &c);
        waited.sort_unstable();
        assert_eq!(waited, raw(&[&a, &b]));
    }
}

/// What other code submits counts until its closure returns.
#[test]
fn foreign_work_on_one_half_is_on_its_way_until_it_returns() {
    let ctx = context();
    let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let mut whole = buffer(&a);
    let (mut left, mut right) = whole.split_at_mut(4);
    thread::scope(|scope| {
        let (entered, is_in) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        let on = &a;
        scope.spawn(move || {
            let submit = |_| {
                entered.send(()).unwrap();
                may_go.recv().unwrap();
                Ok::<_, Error>(())
            };
            // SAFETY: 1 to 4: the closure gives the stream no work.
            unsafe { submit_with(on, kernel_args![slice_mut(&mut left)], submit) }.unwrap();
        });
        is_in.recv().unwrap();
        right.set_zero(&b).unwrap();
        // That came after what the stream was given before, and not after this.
        go.send(()).unwrap();
    });
    let mut waited = waited_for(&mut whole, &c);
    waited.sort_unstable();
    assert_eq!(waited, raw(&[&a, &b]));
}

/// It would wait for its own thread.
#[test]
fn foreign_work_launches_no_graph_with_its_own_memory() {
    let ctx = CudaContext::new(0).unwrap();
    let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let mut x = buffer(&a);
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |s| x.view_mut().set_zero(s)).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    // SAFETY: 1: the closure gives the stream no work: the graph is refused.
    let launched = unsafe { submit_with(&a, kernel_args![slice_mut(&mut x)], |_| exec.launch(&b)) };
    assert!(launched.unwrap_err().is_in_host_callback());
    exec.launch(&b).unwrap();
}

#[test]
fn one_half_is_read_while_the_other_is_written() {
    for before in BEFORE {
        let ctx = context();
        let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let (mut whole, mut target) = (buffer(&a), buffer(&a));
        let (mut left, mut right) = whole.split_at_mut(4);
        before(&mut left, &a);
        let mut target = target.slice_mut(..4);
        torn(|| target.copy_from_device(&a, &left).unwrap(), || right.set_zero(&b).unwrap());
        let mut waited = waited_for(&mut whole, &c);
        waited.sort_unstable();
        assert_eq!(waited, raw(&[&a, &b]));
    }
}

#[test]
fn a_reader_that_waited_too_early_waits_again() {
    let ctx = context();
    let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let (mut whole, mut target) = (buffer(&a), buffer(&b));
    let (mut left, right) = whole.split_at_mut(4);
    left.set_zero(&a).unwrap();
    // b waits for a, which is just being given more.
    torn(|| left.set_zero(&a).unwrap(), || target.slice_mut(..4).copy_from_device(&b, &right).unwrap());
    reset();
    target.copy_from_device_whole(&b, &whole);
    assert_eq!(marks().first(), Some(&("record", a.raw().addr())), "what a wrote meanwhile comes before");
    reset();
    target.copy_from_device_whole(&b, &whole);
    assert_eq!(marks(), [], "and that is known now");
}

/// A host function may hold up the stream that is waited for until this thread has used another part of the memory.
#[test]
fn who_waits_for_a_stream_keeps_nobody_from_the_memory() {
    let ctx = context();
    let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let (mut whole, mut target) = (buffer(&a), buffer(&a));
    let (mut left, right) = whole.split_at_mut(4);
    let mut half = target.slice_mut(..4);
    // Another thread's own stream: this one can only wait for the whole context.
    thread::scope(|scope| {
        scope.spawn(|| buffer(&a).slice_mut(..4).copy_from_device(&ctx.per_thread_stream(), &left).unwrap());
    });
    torn(|| left.set_zero(&b).unwrap(), || half.copy_from_device(&c, &right).unwrap());
    // A stream that is full.
    torn_in(during_next_record, || left.set_zero(&a).unwrap(), || half.copy_from_device(&c, &right).unwrap());
    torn_in(
        during_next_record,
        || half.copy_from_device(&b, &left).unwrap(),
        || drop(buffer(&c).slice_mut(..4).copy_from_device(&c, &right)),
    );
    let mut waited = waited_for(&mut whole, &ctx.new_stream().unwrap());
    waited.sort_unstable();
    assert_eq!(waited, raw(&[&a, &b, &c]));
}

/// This thread has no handle of their streams, and one wait for the context is one for all of them.
#[test]
fn readers_of_threads_that_are_gone_are_waited_for_once() {
    let ctx = context();
    let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let mut weights = buffer(&a);
    for _ in 0..2 {
        for readers in 1..=300 {
            thread::scope(|scope| {
                scope.spawn(|| buffer(&a).copy_from_device_whole(&ctx.per_thread_stream(), &weights));
            });
            if readers % 100 == 0 {
                ctx.synchronize().unwrap();
            }
        }
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| buffer(&a).copy_from_device_whole(&ctx.per_thread_stream(), &weights));
            }
        });
        reset();
        weights.view_mut().set_zero(&b).unwrap();
        assert_eq!(marks().iter().filter(|(what, _)| *what == "idle").count(), 1, "{:?}", marks());
    }
}

trait CopyWhole {
    fn copy_from_device_whole(&mut self, stream: &CudaStream, source: &DeviceBuffer<u32>);
}

impl CopyWhole for DeviceBuffer<u32> {
    fn copy_from_device_whole(&mut self, stream: &CudaStream, source: &DeviceBuffer<u32>) {
        self.view_mut().copy_from_device(stream, source).unwrap();
    }
}

#[test]
fn a_reader_is_not_forgotten_among_many() {
    for readers in [8, 40, 63, 64, 65, 130] {
        let ctx = context();
        let streams: Vec<_> = (0..readers).map(|_| ctx.new_stream().unwrap()).collect();
        let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let mut weights = buffer(&a);
        let read = |stream: &CudaStream| buffer(stream).copy_from_device_whole(stream, &weights);
        let mut target = buffer(&a);
        // All that was given to the streams so far is done: who is asked says so.
        support::progress(CUresult::SUCCESS);
        torn(|| target.copy_from_device_whole(&a, &weights), || streams.iter().for_each(read));
        assert!(waited_for(&mut weights, &b).contains(&a.raw().addr()), "{readers} others");
    }
}

/// It is struck off the list when it is done. What it reads after that is known as well.
#[test]
fn a_reader_that_was_done_is_not_forgotten_when_it_reads_again() {
    for readers in 62..70 {
        let ctx = context();
        let [a, b, early] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let mut weights = buffer(&a);
        let read = |stream: &CudaStream| buffer(stream).copy_from_device_whole(stream, &weights);
        read(&early);
        (0..readers).for_each(|_| read(&ctx.new_stream().unwrap()));
        read(&early);
        assert!(waited_for(&mut weights, &b).contains(&early.raw().addr()), "{readers} others");
    }
}

static BASE: OnceLock<Arc<Driver>> = OnceLock::new();
thread_local! {
    /// What the next copy or launch of a graph of this thread does first.
    static FIRST: std::cell::RefCell<Option<Box<dyn FnOnce()>>> = const { std::cell::RefCell::new(None) };
}
/// Whether copies and launches of graphs take time, on all threads.
static SLOW: AtomicBool = AtomicBool::new(false);
/// The streams that others were made to wait for.
static RECORDED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A capture of one test would be in the way of what another one waits for: the contexts of both are one, and know nothing of each other.
static ONE: Mutex<()> = Mutex::new(());

fn base() -> &'static Driver {
    BASE.get_or_init(|| cuda_launch::default_driver().unwrap())
}

fn during_next_call(first: Box<dyn FnOnce()>) {
    FIRST.set(Some(first));
}

fn do_first() {
    FIRST.take().into_iter().for_each(|first| first());
}

unsafe extern "C" fn copy(rows: *const CUDA_MEMCPY2D, stream: CUstream) -> CUresult {
    do_first();
    // SAFETY: `copy` stands for this function: its caller meets the duties for just these arguments.
    unsafe { base().cuMemcpy2DAsync(rows, stream) }
}

/// Takes longer than anything between two calls, if the program asks for it.
fn take_time() {
    if SLOW.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(2));
    }
}

unsafe extern "C" fn copy_bytes(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    take_time();
    // SAFETY: `copy_bytes` stands for this function: its caller meets the duties for just these arguments.
    unsafe { base().cuMemcpyDtoDAsync(to, from, bytes, stream) }
}

unsafe extern "C" fn launch_kernel(
    config: *const CUlaunchConfig,
    function: CUfunction,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    take_time();
    // SAFETY: `launch_kernel` stands for this function: its caller meets the duties for just these arguments.
    unsafe { base().cuLaunchKernelEx(config, function, arguments, extra) }
}

unsafe extern "C" fn launch(exec: CUgraphExec, stream: CUstream) -> CUresult {
    do_first();
    take_time();
    // SAFETY: `launch` stands for this function: its caller meets the duties for just these arguments.
    unsafe { base().cuGraphLaunch(exec, stream) }
}

unsafe extern "C" fn record(event: CUevent, stream: CUstream) -> CUresult {
    RECORDED.lock().unwrap().push(stream.addr());
    // SAFETY: `record` stands for this function: its caller meets the duties for just these arguments.
    unsafe { base().cuEventRecord(event, stream) }
}

/// The default driver, in which a copy of rows and a launch of a graph can be held.
fn held() -> CudaContext {
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuMemcpy2DAsync_v2" => copy as pfn::cuMemcpy2DAsync_v2 as *const c_void,
        "cuMemcpyDtoDAsync_v2" => copy_bytes as pfn::cuMemcpyDtoDAsync_v2 as *const c_void,
        "cuLaunchKernelEx" => launch_kernel as pfn::cuLaunchKernelEx as *const c_void,
        "cuGraphLaunch" => launch as pfn::cuGraphLaunch as *const c_void,
        "cuEventRecord" => record as pfn::cuEventRecord as *const c_void,
        name => base().address(name),
    };
    // SAFETY: 1: the base's own functions, and five whose signatures `pfn` checks, which call them; 2: they are code of this
    // program, or of a library that is never unloaded.
    CudaContext::with_driver(&Arc::new(unsafe { Driver::from_lookup(lookup) }), 0).unwrap()
}

fn recorded() -> Vec<usize> {
    let mut recorded = std::mem::take(&mut *RECORDED.lock().unwrap());
    recorded.sort_unstable();
    recorded
}

#[test]
fn arrays_and_graphs_are_waited_for_whoever_else_uses_their_memory_meanwhile() {
    const ROWS: Extent = Extent::rows(8, 8);
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ctx = held();
    let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let both = {
        let mut both = raw(&[&a, &b]);
        both.sort_unstable();
        both
    };
    let buffer = |value| DeviceBuffer::<u32>::filled(&c, 64, value).unwrap();
    let layout = RowLayout::packed::<u32>(8, 8);

    // Two clones of one array, written by two threads.
    let array =
        CudaArray::<u32>::new(&ctx, ArrayShape::D2 { width: 8, height: 8 }, ArrayFlags::empty()).unwrap();
    let (sources, mut target) = ([buffer(1), buffer(2)], buffer(0));
    c.synchronize().unwrap();
    let write = |stream: &CudaStream, source: &DeviceBuffer<u32>| {
        stream
            .copy_region(&CopySource::device(source, layout), &mut array.clone().as_target(), ROWS)
            .unwrap();
    };
    torn_in(during_next_call, || write(&a, &sources[0]), || write(&b, &sources[1]));
    recorded();
    c.copy_region(&array.as_source(), &mut CopyTarget::device(&mut target, layout), ROWS).unwrap();
    assert_eq!(recorded(), both);
    let seen = target.to_host_vec(&c).unwrap();
    assert!(seen == [1; 64] || seen == [2; 64], "{seen:?}");

    // A graph that writes a buffer, and a fill of it.
    let mut buffer = buffer(0);
    let graph =
        CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| buffer.view_mut().fill(stream, 3))
            .unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    ctx.synchronize().unwrap();
    let (filled, other) = (&mut buffer, &b);
    thread::scope(|scope| {
        let filling = move || {
            let (begin, begins) = mpsc::channel();
            scope.spawn(move || {
                begin.send(()).unwrap();
                // It waits until the driver has the launch, which was there first.
                filled.view_mut().fill(other, 4).unwrap();
            });
            begins.recv().unwrap();
            thread::sleep(Duration::from_millis(20));
        };
        torn_in(during_next_call, || exec.launch(&a).unwrap(), filling);
    });
    target.view_mut().copy_from_device(&c, &buffer).unwrap();
    assert_eq!(target.to_host_vec(&c).unwrap(), [4; 64]);
}

/// It would wait for the other thread, and that for the stream whose function it is.
#[test]
fn a_host_function_waits_for_no_submission() {
    const ROWS: Extent = Extent::rows(8, 8);
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ctx = held();
    let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let [mut x, mut y] = [0; 2].map(|_| DeviceBuffer::<u32>::zeroed(&b, 64).unwrap());
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |s| x.view_mut().set_zero(s)).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    ctx.synchronize().unwrap();
    let layout = RowLayout::packed::<u32>(8, 8);
    let copy = || {
        a.copy_region(&CopySource::device(&x, layout), &mut CopyTarget::device(&mut y, layout), ROWS).unwrap()
    };
    torn_in(during_next_call, copy, || {
        let (tell, answer) = mpsc::channel();
        let on = b.clone();
        b.call_host(move || tell.send(exec.launch(&on)).unwrap()).unwrap();
        let error = answer.recv().unwrap().unwrap_err();
        assert!(error.is_in_host_callback(), "{error}");
    });
}

/// Threads share a stream and never pause: at every moment one of them is inside the driver. What must not mix with their work is
/// submitted all the same, between two pieces of it.
#[test]
fn threads_that_never_pause_keep_nobody_waiting() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ctx = held();
    let fill =
        ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap().load_function("fill").unwrap();
    for shared in [ctx.new_stream().unwrap(), ctx.per_thread_stream()] {
        let b = ctx.new_stream().unwrap();
        let buffer = || DeviceBuffer::<u32>::zeroed(&b, 8).unwrap();
        let (mut memory, mut target) = (buffer(), buffer());
        let graph =
            CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |s| memory.view_mut().fill(s, 3)).unwrap();
        let mut other = buffer();
        let elsewhere =
            CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |s| other.view_mut().fill(s, 4)).unwrap();
        ctx.synchronize().unwrap();
        let stop = AtomicBool::new(false);
        // Copies from the memory of the graph, beside its launch; then launches of others, beside a copy of what it wrote.
        let copies: Vec<Box<dyn FnMut() + Send>> = (0..4)
            .map(|_| {
                let (mut own, memory, shared) = (buffer(), &memory, &shared);
                Box::new(move || own.view_mut().copy_from_device(shared, memory).unwrap()) as _
            })
            .collect();
        let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
        never_pausing(copies, &stop, || exec.launch(&b).unwrap());
        let launches: Vec<Box<dyn FnMut() + Send>> = (0..4)
            .map(|_| {
                let (mut exec, shared) = (elsewhere.instantiate(InstantiateFlags::empty()).unwrap(), &shared);
                Box::new(move || exec.launch(shared).unwrap()) as _
            })
            .collect();
        never_pausing(launches, &stop, || {
            exec.launch(&shared).unwrap();
            target.view_mut().copy_from_device(&b, &memory).unwrap();
        });
        assert_eq!(target.to_host_vec(&b).unwrap(), [3; 8]);
        // Launches of kernels that are warm, and use no memory of the graph, which an earlier copy on their stream uses.
        let launches: Vec<Box<dyn FnMut() + Send>> = (0..4)
            .map(|_| {
                let (mut own, shared, fill) = (buffer(), &shared, &fill);
                let config = LaunchConfig::for_num_elems(8);
                // SAFETY: 1, 2: as `fill.cu` says, it writes the first 8 elements of the first argument, which has them; 3, 4: `own` is this
                // closure's, and orders the launch; 5: they are numbers; 6: it ends.
                Box::new(move || unsafe {
                    cuda_launch!(function: fill, stream: shared, config: config, args: [ptr_mut(&mut own), 8u32, 5u32]).unwrap();
                }) as _
            })
            .collect();
        never_pausing(launches, &stop, || {
            target.view_mut().copy_from_device(&shared, &memory).unwrap();
            exec.launch(&b).unwrap();
        });
    }
}

/// Two streams never pause, and one of them begins only while the launch waits for the other. Both are held back at once: neither makes use
/// of the time that the other is given.
#[test]
fn streams_that_never_pause_in_turn_keep_nobody_waiting() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ctx = held();
    let [a, b, c] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let buffer = || DeviceBuffer::<u32>::zeroed(&c, 8).unwrap();
    let mut memory = buffer();
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |s| memory.view_mut().fill(s, 3)).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    ctx.synchronize().unwrap();
    let (stop, launches) = (AtomicBool::new(false), AtomicBool::new(false));
    let copies = [&a, &b].into_iter().flat_map(|shared| (0..6).map(move |_| shared)).map(|shared| {
        let (mut own, memory, launches, is_late) = (buffer(), &memory, &launches, shared.raw() == b.raw());
        Box::new(move || {
            while is_late && !launches.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            own.view_mut().copy_from_device(shared, memory).unwrap();
        }) as Box<dyn FnMut() + Send>
    });
    never_pausing(copies.collect(), &stop, || {
        thread::scope(|scope| {
            // While the launch waits for the first stream.
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(1));
                launches.store(true, Ordering::Relaxed);
            });
            exec.launch(&c).unwrap();
        });
    });
    assert_eq!(memory.to_host_vec(&c).unwrap(), [3; 8]);
}

/// Runs `beside` some times while each of these runs again and again on a thread of its own.
fn never_pausing(all: Vec<Box<dyn FnMut() + Send + '_>>, stop: &AtomicBool, mut beside: impl FnMut()) {
    stop.store(false, Ordering::Relaxed);
    SLOW.store(true, Ordering::Relaxed);
    thread::scope(|scope| {
        let _over = Over(stop);
        for mut one in all {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    one();
                }
            });
        }
        thread::sleep(Duration::from_millis(10));
        (0..3).for_each(|_| beside());
    });
}

/// Ends the threads, also where this one panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        SLOW.store(false, Ordering::Relaxed);
    }
}
