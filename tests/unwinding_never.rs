//! A subscriber of `tracing` that panics while values of the crate are dropped: no destructor unwinds, and what they own is given back.

#![cfg(feature = "tracing")]
#![allow(unsafe_code)] // A launch, and memory of other code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/each_callback.rs"]
mod each_callback;
#[path = "support/spies.rs"]
mod spies;

use alone::alone;
use cuda_launch::diagnostics::Profiler;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{ManagedAttach, MemoryPool, PinnedFlags, PoolOptions, RegisterFlags};
use cuda_launch::module::{JitOptions, Linker};
use cuda_launch::operation::{DeviceOperation, ExecutionContext, in_flight, scope, value, with_context};
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, MipmappedArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error, LaunchConfig, ManagedBuffer,
    PinnedBuffer, cuda_launch,
};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

thread_local! {
    /// The callbacks that panic on this thread, as often as they are called.
    static BROKEN: Cell<&'static [&'static str]> = const { Cell::new(&[]) };
    /// How often they did.
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

fn callback(name: &'static str) {
    if BROKEN.get().contains(&name) {
        PANICS.set(PANICS.get() + 1);
        // As `panic!`, but nothing is printed.
        resume_unwind(Box::new(Payload));
    }
}

/// What a panic gives may panic itself.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        if !thread::panicking() {
            resume_unwind(Box::new("its payload"));
        }
    }
}

const ALL: &[&str] = &["new_span", "enter", "exit", "record", "try_close"];
const PARTS: [&[&str]; 6] =
    [ALL, &["enter"], &["exit"], &["try_close"], &["enter", "try_close"], &["exit", "record", "try_close"]];

/// Runs `code` while these panic. The result, unless it unwinds; and how often they did.
fn broken<R>(callbacks: &'static [&'static str], code: impl FnOnce() -> R) -> (Option<R>, usize) {
    PANICS.set(0);
    BROKEN.set(callbacks);
    let result = catch_unwind(AssertUnwindSafe(code));
    BROKEN.set(&[]);
    (result.map_err(std::mem::forget).ok(), PANICS.get())
}

const N: usize = 256;

/// Values that calls of the driver end.
type Made = Result<Vec<Box<dyn Any>>, Error>;

/// Drops what the program makes, one after the other.
fn ends_quietly(make: fn(&CudaContext) -> Made) {
    // A capture of another test would stand against waits for the context.
    let _alone = alone();
    each_callback::subscribe(callback);
    // Its calls look for what waits.
    let other = CudaContext::new(0).unwrap();
    for callbacks in PARTS {
        let (spy, ctx) = spies::spied();
        for (i, made) in make(&ctx).unwrap().into_iter().enumerate() {
            let (ended, panics) = broken(callbacks, || drop(made));
            assert!(ended.is_some(), "value {i} unwinds where these panic: {callbacks:?}");
            assert!(panics > 0, "value {i} makes no call that these hear of: {callbacks:?}");
        }
        drop(ctx);
        let begin = Instant::now();
        while !spy.ledger().live().is_empty() && begin.elapsed() < Duration::from_secs(20) {
            other.synchronize().unwrap();
            thread::yield_now();
        }
        let ledger = spy.ledger();
        let live: Vec<_> = ledger.live().iter().map(|entry| entry.function()).collect();
        assert!(live.is_empty(), "{callbacks:?}: lost what these made: {live:?}");
        assert!(ledger.problems().is_empty(), "{callbacks:?}: {:?}", ledger.problems());
    }
}

/// So that what comes next finds the stream busy.
fn busy(stream: &CudaStream) -> Result<(), Error> {
    stream.call_host(|| thread::sleep(Duration::from_millis(1)))
}

macro_rules! values {
    ($($value:expr),* $(,)?) => { Ok(vec![$(Box::new($value) as Box<dyn Any>),*]) };
}

#[test]
fn streams_and_events() {
    ends_quietly(|ctx| {
        let (stream, event, timing) = (ctx.new_stream()?, ctx.new_event()?, ctx.new_timing_event()?);
        busy(&stream)?;
        event.record(&stream)?;
        timing.record(&stream)?;
        values![event, timing, stream, ctx.new_stream()?.fork()?]
    });
}

#[test]
fn memory() {
    ends_quietly(|ctx| {
        let (a, b) = (ctx.new_stream()?, ctx.new_stream()?);
        let x = DeviceBuffer::filled(&a, N, 7u32)?;
        busy(&a)?;
        let mut crossed = DeviceBuffer::<u32>::zeroed(&b, N)?;
        crossed.view_mut().copy_from_device(&a, &x)?;
        let taken = DeviceBuffer::<u32>::zeroed(&a, N)?;
        taken.as_device_ptr();
        let escaped = DeviceBuffer::<u32>::zeroed(&a, N)?;
        escaped.cu_deviceptr();
        let plain = DeviceBuffer::<u32>::uninit_plain(ctx, N)?;
        let mut pinned = PinnedBuffer::<u32>::zeroed(ctx, N, PinnedFlags::empty())?;
        x.view().copy_to_pinned(&a, &mut pinned)?;
        let mut registered = PinnedBuffer::register(ctx, vec![0u32; N], RegisterFlags::empty())?;
        x.view().copy_to_pinned(&a, &mut registered)?;
        let managed = ManagedBuffer::<u32>::zeroed(&b, N, ManagedAttach::Global)?;
        let pool = MemoryPool::new(ctx, PoolOptions::default())?;
        let pooled = DeviceBuffer::<u32>::uninit_in(&pool, &a, N)?;
        let tensor = DeviceBuffer::<u32>::zeroed(&a, N)?.into_dlpack(&b, &[N])?;
        busy(&b)?;
        values![crossed, taken, escaped, plain, pinned, registered, managed, pooled, pool, tensor, x]
    });
}

#[test]
fn arrays_and_textures() {
    ends_quietly(|ctx| {
        let stream = ctx.new_stream()?;
        let array = CudaArray::<u32>::new(ctx, ArrayShape::D1 { width: N }, ArrayFlags::SURFACE)?;
        let texture = TextureObject::from_array(&array, &TextureDescriptor::default())?;
        let surface = SurfaceObject::new(&array)?;
        busy(&stream)?;
        texture.read_on(&stream)?;
        surface.write_on(&stream)?;
        let shape = ArrayShape::D2 { width: 8, height: 8 };
        let levels = MipmappedArray::<f32>::new(ctx, shape, ArrayFlags::empty(), 2)?;
        values![texture, surface, array, levels, stream]
    });
}

#[test]
fn virtual_memory() {
    ends_quietly(|ctx| {
        let options = PhysicalOptions::default();
        let bytes = options.granularity(ctx, false)?;
        let (mapped, memory) =
            (PhysicalAllocation::new(ctx, bytes, options)?, PhysicalAllocation::new(ctx, bytes, options)?);
        let (addresses, rest) =
            (VirtualReservation::new(ctx, bytes, 0)?, VirtualReservation::new(ctx, bytes, 0)?);
        let mapping = Mapping::new(&addresses, 0, &mapped)?;
        mapping.set_access(ctx.into(), cuda_launch::memory::MemoryAccess::ReadWrite)?;
        let stream = ctx.new_stream()?;
        let mut buffer = DeviceBuffer::<u32>::from_mapping(mapping, N)?;
        busy(&stream)?;
        buffer.view_mut().fill(&stream, 7)?;
        values![buffer, mapped, memory, addresses, rest]
    });
}

const VECADD: &str = include_str!("../examples/kernels/vecadd.ptx");

#[test]
fn modules_and_profiles() {
    ends_quietly(|ctx| {
        let module = ctx.load_module(VECADD)?;
        let mut linker = Linker::new(ctx, &JitOptions::new())?;
        linker.add(VECADD, "vecadd.ptx")?;
        values![module, linker, Profiler::start(ctx)?]
    });
}

#[test]
fn graphs() {
    ends_quietly(|ctx| {
        let (a, own) = (ctx.new_stream()?, ctx.per_thread_stream());
        let mut x = DeviceBuffer::<u32>::zeroed(&a, N)?;
        let graph = CudaGraph::capture(ctx, CaptureMode::Relaxed, |captured| x.view_mut().fill(captured, 7))?;
        let (mut exec, mut second) =
            (graph.instantiate(InstantiateFlags::empty())?, graph.instantiate(InstantiateFlags::empty())?);
        busy(&a)?;
        exec.launch(&a)?;
        busy(&own)?;
        second.launch(&own)?;
        values![exec, second, graph, x, a]
    });
}

/// The panics come in the middle of other calls, which go on.
#[test]
fn branches_and_what_is_kept() {
    let _alone = alone();
    each_callback::subscribe(callback);
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    for callbacks in PARTS {
        let branched = with_context(move |cx| {
            cx.stream()?;
            let mut branches = cx.branches();
            branches.branch(|cx| busy(cx.stream()?))?;
            let (ended, panics) = broken(callbacks, || drop(branches));
            Ok(value((ended.is_some(), panics > 0)))
        });
        assert_eq!(branched.sync().unwrap(), (true, true), "{callbacks:?}");
        let forgetting = move |cx: &ExecutionContext| {
            cx.stream()?;
            let mut forgotten = cx.branches();
            forgotten.branch(|cx| busy(cx.stream()?))?;
            std::mem::forget(forgotten);
            // Its join comes after this.
            BROKEN.set(callbacks);
            Ok(())
        };
        let in_a_branch = with_context(|cx| {
            let branched = cx.branches().branch(forgetting);
            BROKEN.set(&[]);
            branched.map(value)
        });
        let (branched, panics) = broken(&[], || in_a_branch.sync());
        assert!(branched.is_some_and(|result| result.is_ok()) && panics > 0, "{callbacks:?}");
        let in_a_scope = || {
            scope(|scope| {
                let submitted = scope.submit(with_context(|cx| forgetting(cx).map(value)));
                BROKEN.set(&[]);
                submitted
            })
        };
        let (submitted, panics) = broken(&[], in_a_scope);
        assert!(submitted.is_some_and(|result| result.is_ok()) && panics > 0, "{callbacks:?}");
        let keeping = with_context(move |cx| {
            busy(cx.stream()?)?;
            cx.keep(7);
            // The record of an event, behind which it is kept, comes after this.
            BROKEN.set(callbacks);
            Ok(value(()))
        });
        // SAFETY: 1: it borrows nothing.
        let submitted = broken(&[], || unsafe { keeping.async_on(&stream) });
        assert!(submitted.0.is_some_and(|result| result.is_ok()) && submitted.1 > 0, "{callbacks:?}");
        while in_flight() > 0 {
            thread::yield_now();
        }
    }
}

/// Their error is told.
#[test]
fn captures_that_fail() {
    let _alone = alone();
    each_callback::subscribe(callback);
    for callbacks in PARTS {
        let (spy, ctx) = spies::spied();
        let stream = ctx.new_stream().unwrap();
        let mut x = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        stream.synchronize().unwrap();
        let mut fail = |captured: &CudaStream| {
            let fork = captured.fork()?;
            x.view_mut().fill(&fork, 7)?;
            BROKEN.set(callbacks);
            // No call that anybody hears of.
            captured.synchronize()
        };
        let mut graph = CudaGraph::new(&ctx).unwrap();
        let (captured, panics) = broken(&[], || CudaGraph::capture(&ctx, CaptureMode::Relaxed, &mut fail));
        assert!(captured.unwrap().unwrap_err().is_refused_in_capture() && panics > 0, "{callbacks:?}");
        let into = broken(&[], || graph.capture_into(&[], CaptureMode::Relaxed, &mut fail));
        assert!(into.0.unwrap().unwrap_err().is_refused_in_capture() && into.1 > 0, "{callbacks:?}");
        drop((graph, x, stream, ctx));
        let ledger = spy.ledger();
        assert!(ledger.live().is_empty() && ledger.problems().is_empty(), "{callbacks:?}: {ledger:?}");
    }
}

/// `std` ends the process where the destructor of a thread's result unwinds that nobody has asked for.
#[test]
fn the_result_of_a_thread() {
    let _alone = alone();
    each_callback::subscribe(callback);
    for callbacks in PARTS {
        let (spy, ctx) = spies::spied();
        let (stream, context) = (ctx.new_stream().unwrap(), ctx.clone());
        let (let_go, waits) = channel::<()>();
        let thread = thread::spawn(move || {
            // The thread's own value has the result from here on.
            assert!(waits.recv().is_err());
            busy(&stream).unwrap();
            let buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
            buffer.as_device_ptr();
            let pinned = PinnedBuffer::<u32>::zeroed(&context, N, PinnedFlags::empty()).unwrap();
            let event = context.new_event().unwrap();
            BROKEN.set(callbacks);
            (buffer, pinned, stream, event)
        });
        drop((thread, let_go));
        drop(ctx);
        let begin = Instant::now();
        while !spy.ledger().live().is_empty() && begin.elapsed() < Duration::from_secs(20) {
            thread::yield_now();
        }
        assert!(spy.ledger().live().is_empty(), "{callbacks:?}: {:?}", spy.ledger().live());
    }
}

/// Two panics at once end the process.
#[test]
fn values_that_go_while_another_panic_unwinds() {
    let _alone = alone();
    each_callback::subscribe(callback);
    let ctx = CudaContext::new(0).unwrap();
    for callbacks in PARTS {
        let stream = ctx.new_stream().unwrap();
        let (ended, _) = broken(callbacks, || {
            BROKEN.set(&[]);
            let _buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
            let _event = ctx.new_event().unwrap();
            BROKEN.set(callbacks);
            resume_unwind(Box::new("another"))
        });
        assert_eq!(ended, None::<()>);
    }
}

/// The call unwinds, once.
#[test]
fn a_subscriber_that_panics_at_the_end_of_a_call_and_of_its_span() {
    let _alone = alone();
    each_callback::subscribe(callback);
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let mut x = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let y = DeviceBuffer::<f32>::zeroed(&stream, N).unwrap();
    let module = ctx.load_module(VECADD).unwrap();
    let config = LaunchConfig::for_num_elems(N as u32);
    for callbacks in [&["enter", "try_close"] as &[_], &["exit", "try_close"]] {
        assert!(broken(callbacks, || stream.synchronize()).0.is_none(), "{callbacks:?}");
        // SAFETY: 1, 2: vecadd takes three slices and stays inside them; 3, 4: they are buffers, which order it; 5, 6: it writes numbers, and
        // ends.
        let launch = || unsafe {
            cuda_launch! { kernel: vecadd, module: module, stream: stream, config: config,
            args: [slice(y), slice(y), slice_mut(x)] }
        };
        assert!(broken(callbacks, launch).0.is_none(), "{callbacks:?}");
        assert!(broken(callbacks, || ctx.load_module(VECADD).map(drop)).0.is_none(), "{callbacks:?}");
    }
}
