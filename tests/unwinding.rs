//! A subscriber of `tracing` that panics where a call of the driver ends: host memory that the call was lent is still waited for.

#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::skipped;
use cuda_launch::memory::{CopySource, CopyTarget, Extent, PinnedFlags, RegionBatch, RowLayout};
use cuda_launch::module::{CudaLibrary, JitOptions, LibraryOptions, Linker};
use cuda_launch::operation::{DeviceOperation, ExecutionContext, scope, value, with_context};
use cuda_launch::sys::{CUresult, CUstreamCaptureMode};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Error, PinnedBuffer};
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// The kind of call at whose end this thread panics, once, and who is told.
    static ARMED: RefCell<Option<(&'static str, Sender<()>)>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Panics {
    next: AtomicU64,
    names: Mutex<HashMap<u64, &'static str>>,
}

impl Subscriber for Panics {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = 1 + self.next.fetch_add(1, Ordering::Relaxed);
        self.names.lock().unwrap().insert(id, span.metadata().name());
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, span: &Id) {
        let name = self.names.lock().unwrap().get(&span.into_u64()).copied();
        let armed = ARMED.with(|armed| armed.borrow_mut().take_if(|(at, _)| Some(*at) == name));
        if let Some((_, tell)) = armed {
            let _ = tell.send(());
            // As `panic!`, but nothing is printed, which takes longer than the stream is held.
            resume_unwind(Box::new("a subscriber"));
        }
    }
}

const N: usize = 4096;

type Copying = fn(&CudaStream, &DeviceBuffer<u32>, &mut [u32]) -> Result<(), Error>;

const COPIES: &[(&str, Copying)] = &[
    ("copy_to_host", |stream, device, host| device.copy_to_host(stream, host)),
    ("copy_region", |stream, device, host| {
        let layout = RowLayout::packed::<u32>(N, 1);
        let (source, mut target) = (CopySource::device(device, layout), CopyTarget::host(host, layout));
        stream.copy_region(&source, &mut target, Extent::rows(N, 1))
    }),
    ("CopyBatch", |stream, device, host| {
        let mut batch = cuda_launch::memory::CopyBatch::new();
        batch.push_to_host(host, device)?;
        batch.submit(stream)
    }),
    ("RegionBatch", |stream, device, host| {
        let layout = RowLayout::packed::<u32>(N, 1);
        let mut batch = RegionBatch::new();
        batch.push(CopySource::device(device, layout), CopyTarget::host(host, layout), Extent::rows(N, 1))?;
        batch.submit(stream)
    }),
];

/// Keeps the stream busy until a while after the panic.
fn hold(stream: &CudaStream, panics: Receiver<()>) {
    let wait = move || {
        let _ = panics.recv_timeout(Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(30));
    };
    stream.call_host(wait).unwrap();
}

fn subscribe() {
    static SET: Once = Once::new();
    SET.call_once(|| tracing::subscriber::set_global_default(Panics::default()).unwrap());
}

#[test]
fn host_memory_is_not_given_back_while_a_copy_still_comes() {
    subscribe();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let device = DeviceBuffer::filled(&stream, N, 7u32).unwrap();
    // At the end of the copy's call, and at the end of the wait for it: then it has come.
    for at in ["copy", "wait"] {
        for (name, copy) in COPIES {
            // Pinned, so that the driver does not wait by itself.
            let mut pinned = PinnedBuffer::<u32>::zeroed(&ctx, N, PinnedFlags::empty()).unwrap();
            let host = pinned.as_mut_slice().unwrap();
            let (tell, told) = channel();
            if at == "copy" {
                hold(&stream, told);
            }
            ARMED.with(|armed| *armed.borrow_mut() = Some((at, tell)));
            let result = catch_unwind(AssertUnwindSafe(|| copy(&stream, &device, host)));
            let left = ARMED.with(|armed| armed.borrow_mut().take());
            // What safe code sees must stay as it is.
            let seen = host.to_vec();
            stream.synchronize().unwrap();
            match result {
                Ok(Err(error)) if error.is_unsupported() => skipped(format!("{name}: {error}")),
                Ok(result) => panic!("{name}: {result:?}, {}", left.is_some()),
                Err(_) => assert!(seen == *host && *host == [7; N], "{name}: it changed after the borrow"),
            }
        }
    }
}

/// The other way: what the device is still to read must not change under it either.
const COPIES_FROM_HOST: &[(&str, CopyingFromHost)] = &[
    ("copy_from_host", |stream, device, host| device.copy_from_host(stream, host)),
    ("copy_region", |stream, device, host| {
        let layout = RowLayout::packed::<u32>(N, 1);
        let (source, mut target) = (CopySource::host(host, layout), CopyTarget::device(device, layout));
        stream.copy_region(&source, &mut target, Extent::rows(N, 1))
    }),
    ("CopyBatch", |stream, device, host| {
        let mut batch = cuda_launch::memory::CopyBatch::new();
        batch.push_from_host(device, host)?;
        batch.submit(stream)
    }),
    ("RegionBatch", |stream, device, host| {
        let layout = RowLayout::packed::<u32>(N, 1);
        let mut batch = RegionBatch::new();
        batch.push(CopySource::host(host, layout), CopyTarget::device(device, layout), Extent::rows(N, 1))?;
        batch.submit(stream)
    }),
];

type CopyingFromHost = fn(&CudaStream, &mut DeviceBuffer<u32>, &[u32]) -> Result<(), Error>;

#[test]
fn host_memory_is_not_given_back_while_a_copy_still_reads_it() {
    subscribe();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    for (name, copy) in COPIES_FROM_HOST {
        let mut device = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeroed(&ctx, N, PinnedFlags::empty()).unwrap();
        let host = pinned.as_mut_slice().unwrap();
        host.fill(7);
        let (tell, told) = channel();
        hold(&stream, told);
        ARMED.with(|armed| *armed.borrow_mut() = Some(("copy", tell)));
        let result = catch_unwind(AssertUnwindSafe(|| copy(&stream, &mut device, host)));
        let left = ARMED.with(|armed| armed.borrow_mut().take());
        host.fill(9);
        match result {
            Ok(Err(error)) if error.is_unsupported() => skipped(format!("{name}: {error}")),
            Ok(result) => panic!("{name}: {result:?}, {}", left.is_some()),
            Err(_) => assert_eq!(
                device.to_host_vec(&stream).unwrap(),
                [7; N],
                "{name}: it was read after the borrow"
            ),
        }
    }
}

/// Work that borrows a place to note its end in, which comes a while after the panic.
struct Late<'a> {
    panicked: Option<Arc<AtomicBool>>,
    ended: &'a Arc<AtomicUsize>,
}

impl DeviceOperation for Late<'_> {
    type Output = ();

    #[allow(unsafe_code)] // The trait's.
    unsafe fn execute(self, cx: &ExecutionContext) -> Result<(), Error> {
        let (panicked, ended) = (self.panicked, self.ended.clone());
        cx.stream()?.call_host(move || {
            let limit = Instant::now() + Duration::from_secs(20);
            while panicked.as_ref().is_some_and(|flag| !flag.load(Ordering::SeqCst)) && Instant::now() < limit
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Longer than it takes to print the panic.
            std::thread::sleep(Duration::from_millis(500));
            ended.fetch_add(1, Ordering::SeqCst);
        })
    }
}

/// Operations may borrow what the scope outlives: it waits for all streams, also where the wait for the first of them unwinds.
#[test]
fn a_scope_is_over_when_its_work_is_also_where_it_unwinds() {
    subscribe();
    let (panicked, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (tell, told) = channel();
    let flag = panicked.clone();
    let watch = std::thread::spawn(move || flag.store(told.recv().is_ok(), Ordering::SeqCst));
    let result = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            s.submit(Late { panicked: None, ended: &ended }).unwrap();
            s.submit(Late { panicked: Some(panicked.clone()), ended: &ended }).unwrap();
            ARMED.with(|armed| *armed.borrow_mut() = Some(("wait", tell)));
        })
    }));
    assert!(result.is_err(), "{result:?}");
    assert_eq!(ended.load(Ordering::SeqCst), 2, "its work goes on");
    watch.join().unwrap();
}

/// [`Late`], after which the next call unwinds; if it `forgets`, in a chain that has forgotten a branch before.
struct Armed<'a> {
    forgets: bool,
    late: Late<'a>,
    tell: Sender<()>,
}

impl<'a> Armed<'a> {
    fn new(forgets: bool, ended: &'a Arc<AtomicUsize>) -> (Self, Receiver<()>) {
        let (tell, told) = channel();
        (Armed { forgets, late: Late { panicked: None, ended }, tell }, told)
    }
}

impl DeviceOperation for Armed<'_> {
    type Output = ();

    #[allow(unsafe_code)] // The trait's.
    unsafe fn execute(self, cx: &ExecutionContext) -> Result<(), Error> {
        cx.stream()?;
        if self.forgets {
            let mut branches = cx.branches();
            branches.branch(|cx| cx.stream().map(drop))?;
            std::mem::forget(branches);
        }
        // After the fork: whoever waits for the branch does not wait for this.
        // SAFETY: 1: the caller's duty 1.
        unsafe { self.late.execute(cx) }?;
        ARMED.with(|armed| *armed.borrow_mut() = Some(("call", self.tell)));
        Ok(())
    }
}

/// Notes, when it is dropped, how much work has ended.
struct Owner(Arc<AtomicUsize>, Arc<Mutex<Vec<usize>>>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0.load(Ordering::SeqCst));
    }
}

/// A subscriber panics in the join of forgotten branches, at the end of a chain, and of a branch: what the work borrows or keeps stays until it has ended.
#[test]
fn work_is_waited_for_also_where_a_subscriber_panics_in_the_join_of_forgotten_branches() {
    subscribe();
    let ended = Arc::new(AtomicUsize::new(0));
    let (op, told) = Armed::new(true, &ended);
    assert!(scope(|s| s.submit(op)).unwrap().is_ok() && told.recv().is_ok());
    assert_eq!(ended.load(Ordering::SeqCst), 1, "the scope is over, and its work goes on");

    // In a branch, whose chain is waited for; what the branch keeps goes with the chain's.
    let (ended, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (op, told) = Armed::new(true, &ended);
    let mut op = Some(op);
    let branch = with_context(|cx| {
        let mut branches = cx.branches();
        let result = branches.branch(|cx| {
            cx.keep(Owner(ended.clone(), dropped.clone()));
            // SAFETY: 1: `ended` is older than `branch`, which `sync` below waits for, also as it unwinds; the work has
            // a clone of its own.
            #[allow(unsafe_code)]
            unsafe {
                op.take().map(|op| op.execute(cx))
            }
        });
        value(result.transpose())
    });
    assert!(branch.sync().unwrap().is_ok() && told.recv().is_ok());
    assert_eq!((ended.load(Ordering::SeqCst), &*dropped.lock().unwrap()), (1, &vec![1]), "a branch goes on");
}

/// A future whose work goes on after its first poll is watched; where the call for that unwinds, what it keeps stays until the work has
/// ended.
#[test]
fn what_a_future_keeps_stays_also_where_the_record_of_its_event_unwinds() {
    subscribe();
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let ended: &'static Arc<AtomicUsize> = Box::leak(Box::default());
    let (op, told) = Armed::new(false, ended);
    let owner = Owner(ended.clone(), dropped.clone());
    let op = with_context(|cx| {
        cx.keep(owner);
        op
    });
    let mut future = pin!(op.into_future());
    let poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err() && told.recv().is_ok());
    assert_eq!(*dropped.lock().unwrap(), [1], "it was dropped before the work had ended");
}

/// Libraries and links have pointers to their options, which unwinding frees: they go before them.
#[test]
fn what_has_pointers_to_compiler_options_goes_before_them() {
    subscribe();
    let (spy, ctx) = spies::spied();
    let unwinds = |make: &dyn Fn()| {
        let (tell, told) = channel();
        ARMED.with(|armed| *armed.borrow_mut() = Some(("module", tell)));
        assert!(catch_unwind(AssertUnwindSafe(make)).is_err() && told.recv().is_ok());
    };
    unwinds(&|| drop(Linker::new(&ctx, &JitOptions::new())));
    assert_eq!((spy.count("cuLinkCreate_v2"), spy.count("cuLinkDestroy")), (1, 1));
    let fill = include_str!("../examples/kernels/fill.ptx");
    for options in [LibraryOptions::new(), LibraryOptions::new().preserve(true)] {
        unwinds(&|| drop(CudaLibrary::load_with(ctx.driver(), fill, &options)));
    }
    assert_eq!((spy.count("cuLibraryLoadData"), spy.count("cuLibraryUnload")), (2, 2));
    // What the driver keeps, it keeps with its options: there is nothing to see but that nobody crashes.
    let refused =
        spies::fail_calls_of(&spy, "cuLibraryUnload", cuda_launch::sys::CUresult::CUDA_ERROR_INVALID_HANDLE);
    assert!(CudaLibrary::load(ctx.driver(), fill).unwrap().close().is_err());
    drop(refused);
}

/// The mode of this thread towards captures.
#[allow(unsafe_code)] // A bare call of the driver.
fn mode(ctx: &CudaContext) -> CUstreamCaptureMode {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: a local, which outlives the call, and one of the three modes.
    let code = unsafe { ctx.driver().cuThreadExchangeStreamCaptureMode(&mut mode) };
    assert_eq!(code, CUresult::SUCCESS);
    mode
}

/// A wait that the crate makes beside captures of other code: the thread minds captures again afterwards.
#[test]
fn a_thread_has_its_own_capture_mode_again_where_a_wait_unwinds() {
    subscribe();
    let ctx = CudaContext::new(0).unwrap();
    // What it is by default, and what this function leaves.
    assert_eq!(mode(&ctx), CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL);
    let (ended, (tell, told)) = (Arc::new(AtomicUsize::new(0)), channel());
    let result = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            s.submit(Late { panicked: None, ended: &ended }).unwrap();
            ARMED.with(|armed| *armed.borrow_mut() = Some(("wait", tell)));
        })
    }));
    assert!(result.is_err() && told.recv().is_ok(), "{result:?}");
    assert_eq!(mode(&ctx), CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL);
}
