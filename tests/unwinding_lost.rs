//! A subscriber of `tracing` that panics, at each of its callbacks in turn: what a call has made, or was to give back, is not lost.

#![cfg(feature = "tracing")]
#![allow(unsafe_code)] // A launch, and a capture by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/each_callback.rs"]
mod each_callback;
#[path = "support/spies.rs"]
mod spies;

use alone::alone;
use cuda_launch::foundation::submit_with;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{
    ManagedAttach, MemoryPool, PinnedFlags, PitchedBuffer, PoolOptions, RegisterFlags,
};
use cuda_launch::module::{CudaLibrary, JitOptions, Linker};
use cuda_launch::operation::{
    DeviceOperation, RoundRobin, copy_to_host, in_flight, scope, value, with_context, zeroed,
};
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, MipmappedArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, GraphExec, LaunchConfig,
    ManagedBuffer, PinnedBuffer, cuda_launch, kernel_args,
};
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

thread_local! {
    /// How many callbacks there are until the one that panics, with that; 0 for none.
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static LAST: Cell<&'static str> = const { Cell::new("") };
    /// What the next callback lets go of.
    static HELD: Cell<Option<CudaStream>> = const { Cell::new(None) };
    /// Whether every new span panics from then on.
    static AGAIN: Cell<bool> = const { Cell::new(false) };
}

fn callback(name: &'static str) {
    drop(HELD.take());
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    let again = left == 0 && AGAIN.get() && name == "new_span";
    if left == 1 || again {
        LAST.set(name);
        // As `panic!`, but nothing is printed.
        resume_unwind(Box::new("a subscriber"));
    }
}

/// A waker that panics when it wakes, and where the last of its owners lets go of it.
struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("a waker"));
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        if !thread::panicking() {
            resume_unwind(Box::new("the end of a waker"));
        }
    }
}

type Program = fn(&CudaContext, &mut [u32]) -> Result<(), Error>;

const N: usize = 256;

/// Runs the program as often as it has callbacks, one of which panics each time. What it then has dropped must be given back: at once, or
/// by later calls, as what waits for work is.
fn nothing_is_lost(name: &str, program: Program) {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    each_callback::subscribe(callback);
    // Its calls look for what waits.
    let other = CudaContext::new(0).unwrap();
    for n in 1.. {
        let (spy, ctx) = spies::spied();
        let mut host = vec![0; N];
        LEFT.set(n);
        let ended = catch_unwind(AssertUnwindSafe(|| program(&ctx, &mut host)));
        let left = LEFT.replace(0);
        if let Ok(result) = ended
            && left > 0
        {
            result.unwrap();
        }
        drop(ctx);
        let begin = Instant::now();
        let is_over = || spy.ledger().live().is_empty() && in_flight() == 0;
        while !is_over() && begin.elapsed() < Duration::from_secs(20) {
            other.synchronize().unwrap();
            thread::yield_now();
        }
        let (ledger, at) = (spy.ledger(), LAST.get());
        let live: Vec<_> = ledger.live().iter().map(|entry| entry.function()).collect();
        assert!(live.is_empty(), "{name}: callback {n}, `{at}`, has lost what these made: {live:?}");
        assert!(ledger.problems().is_empty(), "{name}: callback {n}, `{at}`: {:?}", ledger.problems());
        assert_eq!(in_flight(), 0, "{name}: callback {n}, `{at}`");
        if left > 0 {
            assert!(n > 20, "{name}: {n} callbacks");
            return;
        }
    }
}

/// A panic while a panic unwinds ends the process: what is given back then has no span.
#[test]
fn a_subscriber_that_panics_again_and_again_ends_no_process() {
    let _alone = alone();
    each_callback::subscribe(callback);
    let (spy, ctx) = spies::spied();
    for n in 1..=4 {
        LEFT.set(n);
        AGAIN.set(true);
        let made = catch_unwind(AssertUnwindSafe(|| ctx.new_event().map(drop)));
        AGAIN.set(false);
        LEFT.set(0);
        assert!(made.is_err(), "callback {n}");
    }
    drop(ctx);
    assert!(spy.ledger().live().is_empty(), "{:?}", spy.ledger().live());
}

/// So that what comes next may find the stream busy.
fn busy(stream: &CudaStream) -> Result<(), Error> {
    stream.call_host(|| thread::sleep(Duration::from_millis(1)))
}

#[test]
fn streams_and_events() {
    nothing_is_lost("streams and events", |ctx, _| {
        let (a, b, own) = (ctx.new_stream()?, ctx.new_stream()?, ctx.per_thread_stream());
        let (event, timing) = (ctx.new_event()?, ctx.new_timing_event()?);
        busy(&a)?;
        event.record(&a)?;
        b.wait(&event)?;
        timing.record(&own)?;
        let fork = a.fork()?;
        busy(&fork)?;
        fork.join(&b)?;
        b.synchronize()?;
        event.close()?;
        b.close()
    });
}

#[test]
fn memory() {
    nothing_is_lost("memory", |ctx, host| {
        let (a, b, own) = (ctx.new_stream()?, ctx.new_stream()?, ctx.per_thread_stream());
        let x = DeviceBuffer::filled(&a, N, 7u32)?;
        let mut pinned = PinnedBuffer::<u32>::zeroed(ctx, N, PinnedFlags::empty())?;
        let mut registered = PinnedBuffer::register(ctx, vec![0u32; N], RegisterFlags::empty())?;
        busy(&a)?;
        x.view().copy_to_pinned(&a, &mut pinned)?;
        busy(&own)?;
        x.view().copy_to_pinned(&own, &mut registered)?;
        ctx.with_registered(host, RegisterFlags::empty(), |mut lent| {
            busy(&b)?;
            x.view().copy_to_pinned(&b, lent.view_mut())
        })?;
        assert_eq!(host, [7; N]);
        let pool = MemoryPool::new(ctx, PoolOptions::default())?;
        let mut pooled = DeviceBuffer::<u32>::uninit_in(&pool, &a, N)?;
        pooled.view_mut().copy_from_pinned(&b, &registered)?;
        let mut plain = DeviceBuffer::<u32>::uninit_plain(ctx, N)?;
        busy(&a)?;
        plain.view_mut().copy_from_device(&a, &pooled)?;
        plain.copy_to_host(&b, host)?;
        let mut managed = ManagedBuffer::<u32>::zeroed(&b, N, ManagedAttach::Global)?;
        managed.view_mut().copy_from_device(&a, &plain)?;
        drop(PitchedBuffer::<u32>::uninit(&a, 8, 8)?);
        plain.close()?;
        pinned.as_slice().map(|pinned| assert_eq!(pinned, [7; N]))
    });
}

#[test]
fn arrays_and_textures() {
    nothing_is_lost("arrays and textures", |ctx, _| {
        let stream = ctx.new_stream()?;
        let shape = ArrayShape::D1 { width: N };
        let array = CudaArray::<u32>::new(ctx, shape, ArrayFlags::SURFACE)?;
        let texture = TextureObject::from_array(&array, &TextureDescriptor::default())?;
        let surface = SurfaceObject::new(&array)?;
        busy(&stream)?;
        texture.read_on(&stream)?;
        surface.write_on(&stream)?;
        let levels =
            MipmappedArray::<f32>::new(ctx, ArrayShape::D2 { width: 8, height: 8 }, ArrayFlags::empty(), 2)?;
        drop(levels.level(1)?);
        texture.close()
    });
}

#[test]
fn virtual_memory() {
    nothing_is_lost("virtual memory", |ctx, _| {
        let options = PhysicalOptions::default();
        let bytes = options.granularity(ctx, false)?;
        let memory = PhysicalAllocation::new(ctx, bytes, options)?;
        let addresses = VirtualReservation::new(ctx, bytes, 0)?;
        let mapping = Mapping::new(&addresses, 0, &memory)?;
        mapping.set_access(ctx.into(), cuda_launch::memory::MemoryAccess::ReadWrite)?;
        let stream = ctx.new_stream()?;
        let mut buffer = DeviceBuffer::<u32>::from_mapping(mapping, N)?;
        busy(&stream)?;
        buffer.view_mut().fill(&stream, 7)
    });
}

const VECADD: &str = include_str!("../examples/kernels/vecadd.ptx");

#[test]
fn modules() {
    nothing_is_lost("modules", |ctx, _| {
        let stream = ctx.new_stream()?;
        let (a, mut sum) =
            (DeviceBuffer::filled(&stream, N, 1f32)?, DeviceBuffer::<f32>::zeroed(&stream, N)?);
        let module = ctx.load_module(VECADD)?;
        let config = LaunchConfig::for_num_elems(N as u32);
        // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: they are buffers, which order it; 5, 6: it writes numbers, and
        // ends.
        unsafe {
            cuda_launch! { kernel: vecadd, module: module, stream: stream, config: config,
            args: [slice(a), slice(a), slice_mut(sum)] }
        }?;
        let library = CudaLibrary::load(ctx.driver(), VECADD)?;
        drop(library.kernel("vecadd")?.function(ctx)?);
        let mut linker = Linker::new(ctx, &JitOptions::new())?;
        linker.add(VECADD, "vecadd.ptx")?;
        linker.complete()?.load(ctx)?.close()
    });
}

#[test]
fn graphs() {
    nothing_is_lost("graphs", |ctx, host| {
        let (a, own) = (ctx.new_stream()?, ctx.per_thread_stream());
        let x = DeviceBuffer::filled(&a, N, 7u32)?;
        let mut y = DeviceBuffer::<u32>::zeroed(&own, N)?;
        let mut pinned = PinnedBuffer::<u32>::zeroed(ctx, N, PinnedFlags::empty())?;
        let mut graph = CudaGraph::capture(ctx, CaptureMode::Relaxed, |captured| {
            let fork = captured.fork()?;
            y.view_mut().copy_from_device(&fork, &x)?;
            captured.join(&fork)?;
            y.view().copy_to_pinned(captured, &mut pinned)
        })?;
        let first = graph.add_empty(&[])?;
        graph.add_host(&[first], || ())?;
        graph.capture_into(&[first], CaptureMode::Relaxed, |captured| y.view_mut().fill(captured, 7))?;
        let mut exec = graph.instantiate(InstantiateFlags::empty())?;
        busy(&a)?;
        exec.launch(&a)?;
        busy(&own)?;
        exec.launch(&own)?;
        let clone = graph.try_clone()?;
        drop((graph, exec));
        clone.close()?;
        assert_eq!(pinned.as_slice()?, [7; N]);
        y.copy_to_host(&own, host)
    });
}

/// The end of what is begun comes where an error is returned, and not where something unwinds.
#[test]
fn captures_that_fail() {
    nothing_is_lost("captures that fail", |ctx, _| {
        let stream = ctx.new_stream()?;
        let mut x = DeviceBuffer::<u32>::zeroed(&stream, N)?;
        let mut graph = CudaGraph::new(ctx)?;
        let mut fail = |captured: &CudaStream, on: &CudaStream| {
            x.view_mut().fill(on, 7)?;
            captured.synchronize()
        };
        // Without a fork: a graph whose capture ends before one is joined may be gone, and is never destroyed.
        let into = graph.capture_into(&[], CaptureMode::Relaxed, |captured| fail(captured, captured));
        assert!(into.unwrap_err().is_refused_in_capture());
        let forked = |captured: &CudaStream| fail(captured, &captured.fork()?);
        assert!(CudaGraph::capture(ctx, CaptureMode::Relaxed, forked).unwrap_err().is_refused_in_capture());
        graph.add_empty(&[])?;
        graph.close()
    });
}

#[test]
fn a_graph_serves_on_after_a_capture_into_it_that_fails_and_unwinds() {
    let _alone = alone();
    each_callback::subscribe(callback);
    let ctx = CudaContext::new(0).unwrap();
    let mut x = DeviceBuffer::<u32>::zeroed(&ctx.new_stream().unwrap(), N).unwrap();
    for n in 1.. {
        let mut graph = CudaGraph::new(&ctx).unwrap();
        LEFT.set(n);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            graph.capture_into(&[], CaptureMode::Relaxed, |captured| {
                x.view_mut().fill(captured, 7)?;
                captured.synchronize()
            })
        }));
        let left = LEFT.replace(0);
        graph.add_empty(&[]).unwrap_or_else(|error| panic!("callback {n}, `{}`: {error}", LAST.get()));
        if left > 0 {
            assert!(ended.unwrap().unwrap_err().is_refused_in_capture());
            assert!(n > 10, "{n} callbacks");
            break;
        }
    }
}

#[test]
fn a_capture_by_hand() {
    nothing_is_lost("a capture by hand", |ctx, _| {
        let stream = ctx.new_stream()?;
        let mut x = DeviceBuffer::<u32>::zeroed(&stream, N)?;
        // SAFETY: 1: it is ended below, or by the end of `captured`, on this thread, and keeps what its work uses; 2, 3: nothing else uses
        // the buffer or the stream until then.
        let captured = Captured(unsafe { stream.begin_capture(CaptureMode::Relaxed) }?);
        let fork = captured.0.fork()?;
        x.view_mut().fill(&fork, 7)?;
        drop(fork);
        captured.end()?.instantiate(InstantiateFlags::empty())?.launch(&stream)
    });
}

/// As a program has to: it ends the capture, whatever happens.
struct Captured(CudaStream);

impl Captured {
    fn end(&self) -> Result<CudaGraph, Error> {
        // SAFETY: 1, 2: `begin_capture` returned the stream.
        unsafe { self.0.end_capture() }
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // An error says that it has ended.
        drop(self.end());
    }
}

#[test]
fn memory_of_streams_that_are_gone() {
    nothing_is_lost("memory of streams that are gone", |ctx, _| {
        let (a, gone) = (ctx.new_stream()?, ctx.new_stream()?);
        let mut x = DeviceBuffer::<u32>::zeroed(&gone, N)?;
        let y = DeviceBuffer::<u32>::zeroed(&a, N)?;
        drop(gone);
        x.view_mut().copy_from_device(&a, &y)?;
        x.close()?;
        y.close()
    });
}

/// All streams are listed, to be waited for, and the last handle of one of them goes meanwhile.
#[test]
fn memory_whose_address_was_taken() {
    nothing_is_lost("memory whose address was taken", |ctx, _| {
        let (a, gone) = (ctx.new_stream()?, ctx.new_stream()?);
        let x = DeviceBuffer::<u32>::zeroed(&a, N)?;
        x.as_device_ptr();
        drop(DeviceBuffer::<u32>::zeroed(&gone, N)?);
        HELD.set(Some(gone));
        x.close()
    });
}

/// The same where another thread lets go of streams, and those that are busy are looked for among the others.
#[test]
fn streams_that_are_listed_while_others_end() {
    let _alone = alone();
    each_callback::subscribe(callback);
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                drop(ctx.new_stream().unwrap());
            }
        });
        for _ in 0..3_000 {
            let x = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
            x.as_device_ptr();
            AGAIN.set(true);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(x)));
            AGAIN.set(false);
        }
        over.store(true, Ordering::Relaxed);
    });
    // What could not be freed is freed on a thread for that, by and by.
    let (mut held, begin) = (stream, Instant::now());
    let raw = loop {
        match held.into_raw() {
            Ok(raw) => break raw,
            Err(stream) => held = stream,
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "a handle was lost");
        ctx.synchronize().unwrap();
    };
    // SAFETY: 1: `new_stream` made it in `ctx`; 2: `into_raw` has just given it up; 3: nobody captures it.
    drop(unsafe { CudaStream::from_raw_owned(&ctx, raw) });
}

/// Runs `after` as often as it has callbacks, one of which panics each time, with memory that a stream has written whose last handle is
/// that in the memory's list; then the memory is written by others, which would wait for what has not ended.
fn after_a_stream_that_is_gone(after: impl Fn(&mut DeviceBuffer<u32>, &mut GraphExec, &CudaStream)) {
    let _alone = alone();
    each_callback::subscribe(callback);
    let ctx = CudaContext::new(0).unwrap();
    let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let mut x = DeviceBuffer::<u32>::zeroed(&a, N).unwrap();
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |s| x.view_mut().fill(s, 3)).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    for n in 1.. {
        let gone = ctx.new_stream().unwrap();
        x.view_mut().fill(&gone, 1).unwrap();
        drop(gone);
        LEFT.set(n);
        let ended = catch_unwind(AssertUnwindSafe(|| after(&mut x, &mut exec, &a)));
        let left = LEFT.replace(0);
        x.view_mut().fill(&b, 2).unwrap_or_else(|error| panic!("callback {n}, `{}`: {error}", LAST.get()));
        exec.launch(&b).unwrap_or_else(|error| panic!("callback {n}, `{}`: {error}", LAST.get()));
        if left > 0 {
            ended.unwrap();
            assert!(n > 10, "{n} callbacks");
            return;
        }
    }
}

#[test]
fn launches_of_graphs_are_over_also_where_the_end_of_a_stream_unwinds() {
    after_a_stream_that_is_gone(|_, exec, stream| exec.launch(stream).unwrap());
}

#[test]
fn what_other_code_returns_is_not_lost() {
    let value = Arc::new(());
    after_a_stream_that_is_gone(|x, _, stream| {
        let given = value.clone();
        // SAFETY: 1 to 4: the closure gives the stream no work.
        let result = unsafe { submit_with(stream, kernel_args![slice_mut(x)], |_| Ok::<_, Error>(given)) };
        drop(result.unwrap());
    });
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn operations() {
    nothing_is_lost("operations", |ctx, _| {
        let stream = ctx.new_stream()?;
        let x = DeviceBuffer::filled(&stream, N, 7u32)?;
        busy(&stream)?;
        assert_eq!(copy_to_host(&x).sync_on(&stream)?.as_slice()?, [7; N]);
        let branches = with_context(|cx| {
            let mut branches = cx.branches();
            let one = branches.branch(|cx| busy(cx.stream()?));
            let two = branches.branch(|cx| busy(cx.stream()?));
            cx.keep(vec![1u8]);
            value(one.and(two))
        });
        branches.sync_on(&stream)??;
        let policy = Arc::new(RoundRobin::new(ctx, 2)?);
        scope(|scope| {
            let one = scope.submit(zeroed::<u32>(N).schedule(policy.clone()));
            let two = scope
                .submit(with_context(|cx| cx.stream().and_then(busy).map(value)).schedule(policy.clone()));
            one.map(drop).and(two)
        })??;
        let kept = with_context(|cx| {
            cx.keep(vec![1u8]);
            let begun = cx.stream().and_then(busy);
            value(begun)
        });
        let mut future = pin!(kept.future().schedule(policy.clone()));
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // Woken, replaced and dropped, with panics of its own.
        let mut woken = Box::pin(zeroed::<u32>(N).schedule(policy.clone()).into_future());
        for _ in 0..2 {
            let waker = Waker::from(Arc::new(Bad));
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                woken.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            }));
            let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
            if unwound.unwrap_or_else(|payload| resume_unwind(payload)) {
                break;
            }
        }
        drop(woken);
        let mut y = DeviceBuffer::<u32>::zeroed(&stream, N)?;
        let fill = with_context(move |cx| y.view_mut().fill(cx.stream()?, 7).map(value));
        fill.graph_in(ctx).map(drop)
    });
}
