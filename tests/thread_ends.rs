//! What a thread does while it ends, in destructors of its thread-local values, and what others do with its work then.

#![allow(unsafe_code)] // The environment, before anything else runs, and a driver in front of another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/at_thread_end.rs"]
mod at_thread_end;
#[path = "support/spies.rs"]
mod spies;
#[path = "thread_ends/waves.rs"]
mod waves;

use at_thread_end::at_thread_end;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{PinnedViewMut, RegisterFlags};
use cuda_launch::sys::{CUdeviceptr, CUresult, CUstream, pfn};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, Error};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that does this, and the other one when the values that this crate keeps for it are gone: those go first that were used last.
fn thread_with_end(
    run: impl FnOnce() + Send + 'static,
    at_end: impl FnOnce() + Send + 'static,
) -> JoinHandle<()> {
    thread::spawn(|| {
        at_thread_end(at_end);
        run();
    })
}

/// One test at a time: a wait for the context, which all share, is refused during the capture of another one. The emulator has two devices.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    static DEVICES: Once = Once::new();
    // SAFETY: once, and before any test here has asked for a driver; the harness's own thread waits.
    DEVICES.call_once(|| unsafe { std::env::set_var("CUDA_LAUNCH_EMULATOR_DEVICES", "2") });
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const LEN: usize = 64;

fn buffer(stream: &CudaStream, value: u32) -> DeviceBuffer<u32> {
    let buffer = DeviceBuffer::filled(stream, LEN, value).unwrap();
    stream.synchronize().unwrap();
    buffer
}

/// Its next work begins only then.
fn keep_busy(stream: &CudaStream) {
    stream.call_host(|| thread::sleep(Duration::from_millis(50))).unwrap();
}

fn copy(stream: &CudaStream, target: &mut DeviceBuffer<u32>, source: &DeviceBuffer<u32>) {
    target.view_mut().copy_from_device(stream, source).unwrap();
}

/// The stream of one that is ending stands for those of others that have ended: what it does then comes after their work, too.
#[test]
fn a_thread_that_ends_comes_after_those_that_its_stream_stands_for() {
    let _alone = alone();
    type End = fn(DeviceBuffer<u32>, &CudaStream) -> Result<(), Error>;
    let ends: [(&str, End); 4] = [
        ("its own stream", |mut x, own| x.view_mut().fill(own, 7)),
        ("another handle", |mut x, own| x.view_mut().fill(&own.context().per_thread_stream(), 7)),
        ("another stream", |mut x, own| x.view_mut().fill(&own.context().new_stream()?, 7)),
        ("a drop", |x, own| {
            drop(x);
            // What was freed on it.
            DeviceBuffer::filled(own, LEN, 7).map(drop)
        }),
    ];
    for (name, end) in ends {
        let ctx = CudaContext::new(0).unwrap();
        let (stream, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
        let (x, mut slow, mut third) = (buffer(&stream, 1), buffer(&stream, 0), buffer(&stream, 0));
        let (give, given) = mpsc::channel::<DeviceBuffer<u32>>();
        let (give_back, comes_back) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let (on, again, mut target) = (shared.clone(), shared.clone(), buffer(&stream, 0));
        let ending = thread_with_end(
            move || {
                copy(&on, &mut target, &x);
                give_back.send(x).unwrap();
            },
            move || {
                tell.send(()).unwrap();
                end(given.recv().unwrap(), &again).unwrap();
            },
        );
        let x = comes_back.recv().unwrap();
        told.recv().unwrap();
        thread::scope(|scope| {
            let read = || {
                keep_busy(&shared);
                copy(&shared, &mut slow, &x);
            };
            scope.spawn(read).join().unwrap();
        });
        copy(&ctx.new_stream().unwrap(), &mut third, &x);
        give.send(x).unwrap();
        ending.join().unwrap();
        assert_eq!(slow.to_host_vec(&stream).unwrap(), [1; LEN], "{name}");
        assert_eq!(third.to_host_vec(&stream).unwrap(), [1; LEN], "{name}");
    }
}

/// A value of the thread goes after the values that this crate keeps for it.
#[test]
fn work_of_a_thread_comes_before_what_its_values_do_at_its_end() {
    let _alone = alone();
    type End = fn(DeviceBuffer<u32>, &CudaStream) -> Result<(), Error>;
    let ends: [(&str, End); 3] = [
        ("a fill on its own stream", |mut x, own| x.view_mut().fill(own, 7)),
        ("a fill on another stream", |mut x, own| x.view_mut().fill(&own.context().new_stream()?, 7)),
        ("a drop", |x, own| {
            drop(x);
            DeviceBuffer::filled(own, LEN, 7).map(drop)
        }),
    ];
    for (name, end) in ends {
        let ctx = CudaContext::new(0).unwrap();
        let (stream, own) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
        let (x, mut target) = (buffer(&stream, 1), buffer(&stream, 0));
        let (give, given) = mpsc::channel();
        let again = own.clone();
        let ending = thread_with_end(
            move || {
                keep_busy(&own);
                copy(&own, &mut target, &x);
                give.send((x, target)).unwrap();
            },
            move || {
                let (x, target) = given.recv().unwrap();
                end(x, &again).unwrap();
                assert_eq!(target.to_host_vec(&again).unwrap(), [1; LEN]);
            },
        );
        assert!(ending.join().is_ok(), "{name}");
    }
}

/// Done on a thread while its locals are destroyed, with its own stream.
fn at_end(ctx: CudaContext, run: impl FnOnce(&CudaContext, CudaStream) + Send + 'static) {
    let (own, again) = (ctx.per_thread_stream(), ctx.per_thread_stream());
    let first = move || drop(buffer(&own, 0));
    thread_with_end(first, move || run(&ctx, again)).join().unwrap();
}

#[test]
fn a_graph_that_is_launched_at_the_end_of_a_thread_is_waited_for() {
    let _alone = alone();
    at_end(CudaContext::new(0).unwrap(), |ctx, own| {
        let stream = ctx.new_stream().unwrap();
        let mut x = buffer(&stream, 1);
        let graph = CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |s| x.view_mut().fill(s, 7));
        let mut exec = graph.unwrap().instantiate(InstantiateFlags::empty()).unwrap();
        for _ in 0..2 {
            let begins = Arc::new(AtomicBool::new(false));
            let begun = begins.clone();
            keep_busy(&own);
            own.call_host(move || begun.store(true, Ordering::SeqCst)).unwrap();
            exec.launch(&own).unwrap();
            exec.synchronize().unwrap();
            assert!(begins.load(Ordering::SeqCst));
        }
    });
}

#[test]
fn memory_that_is_lent_at_the_end_of_a_thread_is_given_back_after_the_work() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    at_end(ctx, move |ctx, own| {
        let x = buffer(&own, 1);
        let mut host = [0; LEN];
        let before = spy.count("cuStreamSynchronize");
        let copy = |mut pinned: PinnedViewMut<'_, u32>| x.view().copy_to_pinned(&own, pinned.view_mut());
        ctx.with_registered(&mut host, RegisterFlags::empty(), copy).unwrap();
        // The emulator's `cuMemHostUnregister` would wait as well.
        assert_eq!((host, spy.count("cuStreamSynchronize")), ([1; LEN], before + 1));
    });
}

/// That they are done is known only while nobody uses the handle; what it was known of stays so.
#[test]
fn a_thread_that_ends_comes_after_others_also_where_its_handle_is_in_use() {
    let _alone = alone();
    let ctx = CudaContext::new(0).unwrap();
    let (stream, shared) = (ctx.new_stream().unwrap(), ctx.per_thread_stream());
    let [mut slow, mut slower, mut third, mut fourth] = std::array::from_fn(|_| buffer(&stream, 0));
    let (x, y) = (buffer(&stream, 1), buffer(&stream, 1));
    let (give, given) = mpsc::channel::<DeviceBuffer<u32>>();
    let (give_back, comes_back) = mpsc::channel();
    let (first, on) = (shared.clone(), shared.clone());
    let [mut to, mut other] = std::array::from_fn(|_| buffer(&stream, 0));
    let ending = thread_with_end(
        move || drop(buffer(&first, 0)),
        move || {
            copy(&on, &mut to, &x);
            copy(&on, &mut other, &y);
            give_back.send((x, y)).unwrap();
            given.recv().unwrap().view_mut().fill(&on, 7).unwrap();
        },
    );
    let (x, y) = comes_back.recv().unwrap();
    thread::scope(|scope| {
        let read = || {
            keep_busy(&shared);
            copy(&shared, &mut slow, &x);
            copy(&shared, &mut slower, &y);
        };
        scope.spawn(read).join().unwrap();
    });
    // The stream of the thread that is ending stands for the other one; then the same for `y`, in the middle of a submission to the handle.
    copy(&ctx.new_stream().unwrap(), &mut third, &x);
    copy(&shared, &mut fourth, &y);
    give.send(x).unwrap();
    ending.join().unwrap();
    for target in [slow, slower, third, fourth] {
        assert_eq!(target.to_host_vec(&stream).unwrap(), [1; LEN]);
    }
}

/// Another thread's stream may stand for the one with which the thread that is ending has read the memory.
#[test]
fn lent_memory_is_waited_for_whatever_stands_for_the_stream() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    at_end(ctx, move |ctx, own| {
        let stream = ctx.new_stream().unwrap();
        let targets: [_; 3] = std::array::from_fn(|_| buffer(&stream, 0));
        let [mut first, mut second, mut third] = targets;
        let mut host = [1; LEN];
        let mut waited = 0;
        let read = |pinned: PinnedViewMut<'_, u32>| {
            thread::scope(|scope| {
                let read = || {
                    let own = ctx.per_thread_stream();
                    first.view_mut().copy_from_pinned(&own, pinned.as_view()).unwrap();
                    // So that it has not waited for all when it ends.
                    drop(DeviceBuffer::<u32>::zeroed(&own, LEN).unwrap());
                };
                scope.spawn(read).join().unwrap();
            });
            second.view_mut().copy_from_pinned(&own, pinned.as_view())?;
            third.view_mut().copy_from_pinned(&stream, pinned.as_view())?;
            waited = spy.count("cuStreamSynchronize");
            Ok(())
        };
        ctx.with_registered(&mut host, RegisterFlags::empty(), read).unwrap();
        // Its own stream, and the third copy's. The emulator's `cuMemHostUnregister` would wait as well.
        assert_eq!(spy.count("cuStreamSynchronize"), waited + 2);
    });
}

/// A worker has waited for its copies, and its stream stands for no other: nothing of the thread that ends is waited for.
#[test]
fn workers_that_have_waited_are_not_waited_for_again() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let (mut target, mut host, mut waited) = (buffer(&stream, 0), [1; LEN], 0);
    let read = |pinned: PinnedViewMut<'_, u32>| {
        thread::scope(|scope| {
            let read = || target.view_mut().copy_from_pinned(&ctx.per_thread_stream(), pinned.as_view());
            scope.spawn(read).join().unwrap()
        })?;
        waited = spy.count("cuStreamSynchronize");
        Ok(())
    };
    ctx.with_registered(&mut host, RegisterFlags::empty(), read).unwrap();
    assert_eq!(spy.count("cuStreamSynchronize"), waited);
    assert_eq!(target.to_host_vec(&stream).unwrap(), [1; LEN]);
}

/// What the next copy does first, on whatever thread that is.
static FIRST: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

unsafe extern "C" fn copy_bytes(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let first = FIRST.lock().unwrap().take();
    first.into_iter().for_each(|first| first());
    // SAFETY: `copy_bytes` stands for this function: its caller meets the duties for just these arguments.
    unsafe { cuda_launch::default_driver().unwrap().cuMemcpyDtoDAsync(to, from, bytes, stream) }
}

/// It is not over before the driver has it, though no later call finds its stream again.
#[test]
fn what_a_thread_is_about_to_submit_at_its_end_is_waited_for() {
    let _alone = alone();
    let driver = spies::driver_with(|name| match name {
        "cuMemcpyDtoDAsync_v2" => copy_bytes as pfn::cuMemcpyDtoDAsync_v2 as *const c_void,
        _ => std::ptr::null(),
    });
    let ctx = CudaContext::with_driver(&driver, 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let (x, mut target) = (Arc::new(buffer(&stream, 1)), buffer(&stream, 0));
    let read = |stream: &CudaStream| copy(stream, &mut buffer(stream, 0), &x);
    // One that has ended before, and may stand for others.
    let own = ctx.per_thread_stream();
    thread::scope(|scope| scope.spawn(|| read(&own)).join().unwrap());
    let ((tell, told), (go, may_go)) = (mpsc::channel(), mpsc::channel::<()>());
    let (give, given) = mpsc::channel();
    let (first, again) = (ctx.per_thread_stream(), ctx.per_thread_stream());
    let source = x.clone();
    let ending = thread_with_end(
        move || drop(buffer(&first, 0)),
        move || {
            *FIRST.lock().unwrap() = Some(Box::new(move || {
                tell.send(()).unwrap();
                may_go.recv().unwrap();
            }));
            copy(&again, &mut target, &source);
            drop(source);
            give.send(target).unwrap();
        },
    );
    told.recv().unwrap();
    read(&ctx.new_stream().unwrap());
    ctx.synchronize().unwrap();
    // The stream of the thread waits for this one.
    keep_busy(&ctx.default_stream());
    go.send(()).unwrap();
    ending.join().unwrap();
    let mut x = Arc::try_unwrap(x).unwrap();
    x.view_mut().fill(&stream, 7).unwrap();
    assert_eq!(given.recv().unwrap().to_host_vec(&stream).unwrap(), [1; LEN]);
}
