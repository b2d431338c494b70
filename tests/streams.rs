//! Streams on whichever driver is chosen: kinds, flags, priorities, attributes, order, handles, threads.

#![allow(unsafe_code)] // Raw handles and launches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::{Alone, Fault, skipped};
use cuda_launch::context::ContextOptions;
use cuda_launch::device::{GreenContext, SmSplitFlags};
use cuda_launch::error::AttributeError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::launch::{AccessPolicyWindow, AccessProperty, MemSyncDomain, SynchronizationPolicy};
use cuda_launch::stream::StreamFlags;
use cuda_launch::sys::{CUlaunchAttributeID, CUresult};
use cuda_launch::{
    Attribute, CaptureMode, CudaContext, CudaFunction, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind,
    LaunchConfig, cuda_launch,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

const SAXPY: &str = include_str!("../examples/kernels/saxpy.ptx");

/// A context for one test at a time. Memory was allocated, set and copied in it: what a driver loads to do so, it loads now, and
/// not where a test keeps a stream waiting.
fn context() -> (Alone, CudaContext) {
    let (alone, ctx) = (alone(), CudaContext::new(0).unwrap());
    let stream = ctx.new_stream().unwrap();
    let zeros = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let mut copy = DeviceBuffer::from_host(&stream, &[1.0f32; 64]).unwrap();
    copy.view_mut().copy_from_device(&stream, &zeros).unwrap();
    assert_eq!(copy.to_host_vec(&stream).unwrap(), [0.0; 64]);
    (alone, ctx)
}

#[test]
fn streams_have_flags_and_priorities() {
    let (_alone, ctx) = context();
    let range = ctx.stream_priorities().unwrap();
    assert!(range.least == 0 && range.greatest <= 0, "{range:?}");
    for flags in [StreamFlags::empty(), StreamFlags::NON_BLOCKING] {
        for asked in [0, range.greatest, range.greatest - 9, 9] {
            let stream = CudaStream::new(&ctx, flags, asked).unwrap();
            let clamped = asked.clamp(range.greatest, range.least);
            assert_eq!((stream.flags().unwrap(), stream.priority().unwrap()), (flags, clamped));
            stream.close().unwrap();
        }
    }
    assert_eq!(ctx.new_stream().unwrap().flags().unwrap(), StreamFlags::NON_BLOCKING);
    let error = CudaStream::new(&ctx, StreamFlags::from_bits_retain(2), 0).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(error.to_string().contains("flags StreamFlags(0x2), priority 0"), "{error}");
}

/// cudarc: a count of streams goes up before the stream is made, and never down if that fails.
#[test]
fn a_stream_that_cannot_be_made_leaves_nothing_behind() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    ctx.bind().unwrap();
    spies::fail_nth(&spy, 2, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let error = ctx.new_stream().unwrap_err();
    assert_eq!((error.call(), spies::failed(&spy)), (Some("cuStreamCreateWithPriority"), error.call()));
    assert!(error.is_out_of_memory(), "{error}");
    spies::watch(&spy);
    ctx.new_stream().unwrap().close().unwrap();
    assert!(
        !spy.calls().names().contains(&"cuCtxSynchronize"),
        "nor does the first stream wait for the context"
    );
}

#[test]
fn streams_know_what_they_are() {
    let (_alone, ctx) = context();
    let streams =
        [ctx.default_stream(), ctx.per_thread_stream(), ctx.new_stream().unwrap(), ctx.new_stream().unwrap()];
    for stream in &streams {
        assert!(stream.belongs_to(&ctx).unwrap());
        assert_eq!(stream.flags().unwrap().bits() & !1, 0);
        assert!(stream.query().is_ok());
        stream.synchronize().unwrap();
        if let Ok(device) = stream.device() {
            assert_eq!(device, ctx.raw_device());
        }
    }
    let ids: Vec<_> = streams.iter().map(|stream| stream.id().unwrap()).collect();
    assert!((0..4).all(|i| !ids[..i].contains(&ids[i])), "{ids:?}");
    assert_eq!(streams[2].clone().id().unwrap(), ids[2]);
}

#[test]
fn what_an_older_driver_lacks_is_a_typed_error() {
    let _alone = alone();
    for (missing, ask) in [
        ("cuStreamGetId", (|s| s.id().map(drop)) as fn(&CudaStream) -> Result<(), cuda_launch::Error>),
        ("cuStreamGetDevice", |s| s.device().map(drop)),
        ("cuCtxRecordEvent", |s| s.context().new_event()?.record_context()),
        ("cuCtxWaitEvent", |s| s.context().wait(&*s.context().new_event()?)),
    ] {
        let ctx = CudaContext::with_driver(&spies::driver_without(missing), 0).unwrap();
        let error = ask(&ctx.new_stream().unwrap()).unwrap_err();
        assert!(error.is_unsupported() && error.call() == Some(missing), "{error}");
        assert!(error.to_string().contains("update the driver"), "{error}");
    }
}

#[test]
fn a_per_thread_stream_is_another_one_on_each_thread() {
    let (_alone, ctx) = context();
    let stream = ctx.per_thread_stream();
    let here = stream.id().unwrap();
    assert_eq!(ctx.per_thread_stream().id().unwrap(), here);
    let held = hold(&stream);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_ne!(stream.id().unwrap(), here);
            stream.synchronize().unwrap();
        });
    });
    drop(held);
    stream.synchronize().unwrap();
}

/// cudarc: two threads that use the per-thread stream share its raw handle and are not ordered.
#[test]
fn buffers_tell_the_per_thread_streams_of_two_threads_apart() {
    let (_alone, ctx) = context();
    let module = ctx.load_module(SAXPY).unwrap();
    let saxpy = module.load_function("saxpy").unwrap();
    const N: usize = 1 << 14;
    let ones = DeviceBuffer::from_host(&ctx.new_stream().unwrap(), &[1.0f32; N]).unwrap();
    for round in 0..20 {
        let stream = ctx.per_thread_stream();
        let mut buffer = DeviceBuffer::from_host(&stream, &[1.0f32; N]).unwrap();
        for _ in 0..4 {
            increment(&saxpy, &stream, &ones, &mut buffer);
        }
        let values = std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                let stream = ctx.per_thread_stream();
                increment(&saxpy, &stream, &ones, &mut buffer);
                buffer.to_host_vec(&stream).unwrap()
            });
            run.join().unwrap()
        });
        assert!(values.iter().all(|value| *value == 6.0), "round {round}");
    }
}

/// Adds one to all elements.
fn increment(
    saxpy: &CudaFunction,
    stream: &CudaStream,
    ones: &DeviceBuffer<f32>,
    buffer: &mut DeviceBuffer<f32>,
) {
    let n = buffer.len() as u32;
    // SAFETY: 1, 2: the kernel takes a count, a factor and two pointers, and touches the first `n` elements; `buffer` has `n`,
    // and the callers give as many `ones`; 3, 4: both are buffers, which are kept and ordered; 5: it writes floats; 6: it ends.
    unsafe {
        cuda_launch! { function: saxpy, stream: stream, config: LaunchConfig::for_num_elems(n),
        args: [n, 1.0f32, ptr(ones), ptr_mut(buffer)] }
    }
    .unwrap();
}

#[test]
fn forks_and_joins_keep_the_order() {
    let (_alone, ctx) = context();
    let stream = ctx.new_stream().unwrap();
    let order = Arc::new(AtomicUsize::new(0));
    let step = |stream: &CudaStream, from: usize| {
        let order = order.clone();
        stream
            .call_host(move || {
                order.compare_exchange(from, from + 1, Ordering::Relaxed, Ordering::Relaxed).unwrap();
            })
            .unwrap();
    };
    let held = hold(&stream);
    step(&stream, 0);
    let fork = stream.fork().unwrap();
    step(&fork, 1);
    stream.join(&fork).unwrap();
    step(&stream, 2);
    // Each way once more: the same event serves again.
    fork.join(&stream).unwrap();
    step(&fork, 3);
    stream.join(&fork).unwrap();
    stream.join(&stream.clone()).unwrap();
    step(&stream, 4);
    assert!(!fork.query().unwrap());
    drop(held);
    stream.synchronize().unwrap();
    fork.synchronize().unwrap();
    assert_eq!(order.load(Ordering::Relaxed), 5);
}

#[test]
fn a_join_costs_one_record_and_one_wait() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let (stream, other) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    stream.join(&other).unwrap();
    spies::watch(&spy);
    stream.join(&other).unwrap();
    let calls = spy.calls().names();
    let calls: Vec<_> = calls.into_iter().filter(|call| *call != "cuCtxGetCurrent").collect();
    assert_eq!(calls, ["cuEventRecord", "cuStreamWaitEvent"]);
    spies::watch(&spy);
    stream.join(&stream).unwrap();
    assert_eq!(spy.calls().names(), [""; 0]);
}

/// The handle says which context it is about: that is not asked for, nor made current. The default streams are those of what is current.
#[test]
fn a_call_about_a_stream_or_an_event_is_one_call_whatever_is_current() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let other = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let (stream, strange) = (ctx.new_stream().unwrap(), other.new_stream().unwrap());
    for current in [&ctx, &other] {
        let event = ctx.new_event().unwrap();
        let step = |calls: &[&str], step: &dyn Fn() -> Result<(), Error>| {
            current.bind().unwrap();
            spies::watch(&spy);
            step().unwrap();
            assert_eq!(spy.calls().names(), calls);
        };
        step(&["cuEventRecord"], &|| event.record(&stream));
        step(&["cuStreamWaitEvent"], &|| strange.wait(&event));
        step(&["cuEventSynchronize"], &|| event.synchronize());
        step(&["cuEventQuery"], &|| event.query().map(drop));
        step(&["cuStreamSynchronize"], &|| stream.synchronize());
        step(&["cuStreamQuery"], &|| stream.query().map(drop));
        step(&[], &|| Ok(()));
        current.bind().unwrap();
        spies::watch(&spy);
        event.close().unwrap();
        drop(ctx.new_stream());
        let create: &[&str] = match std::ptr::eq(current, &ctx) {
            true => &["cuCtxGetCurrent", "cuStreamCreateWithPriority"],
            false => &["cuCtxGetCurrent", "cuCtxSetCurrent", "cuStreamCreateWithPriority"],
        };
        let all = [&["cuEventDestroy_v2"], create, &["cuStreamDestroy_v2"]].concat();
        assert_eq!(spy.calls().names(), all);
    }
    // Work on the default stream of one context is not that of the other's.
    let held = hold(&ctx.default_stream());
    other.bind().unwrap();
    assert!(!ctx.default_stream().query().unwrap() && other.default_stream().query().unwrap());
    let event = ctx.new_event().unwrap();
    other.bind().unwrap();
    event.record(&ctx.default_stream()).unwrap();
    assert!(!event.query().unwrap());
    drop(held);
    event.synchronize().unwrap();
}

/// A driver that wants the context to be current says so, and then it is.
#[test]
fn a_call_that_the_driver_refuses_for_what_is_current_is_made_again() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let other = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let (stream, event) = (ctx.new_stream().unwrap(), ctx.new_event().unwrap());
    other.bind().unwrap();
    spies::watch(&spy);
    let refusal = Fault::on("cuEventRecord").nth(1).answer(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    let _refused = spy.inject(refusal).unwrap();
    event.record(&stream).unwrap();
    let calls: Vec<_> = spy.calls().names().into_iter().filter(|call| *call != "cuCtxGetCurrent").collect();
    assert_eq!(calls, ["cuEventRecord", "cuCtxSetCurrent", "cuEventRecord"]);
    // The same for memory that goes.
    let memory = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    other.bind().unwrap();
    spies::watch(&spy);
    let refusal = Fault::on("cuMemFreeAsync").nth(1).answer(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    let _refused = spy.inject(refusal).unwrap();
    drop(memory);
    let calls: Vec<_> = spy.calls().names().into_iter().filter(|call| call.starts_with("cuMem")).collect();
    assert_eq!(calls, ["cuMemFreeAsync"; 2]);
    // Where it is current, the answer stands.
    spies::watch(&spy);
    let refusal = Fault::on("cuEventQuery").answer(CUresult::CUDA_ERROR_INVALID_HANDLE);
    let refused = spy.inject(refusal).unwrap();
    assert_eq!(event.query().unwrap_err().code(), Some(CUresult::CUDA_ERROR_INVALID_HANDLE));
    assert_eq!(spy.calls().names().iter().filter(|call| **call == "cuEventQuery").count(), 1);
    drop(refused);
    event.synchronize().unwrap();
}

#[test]
fn blocking_streams_wait_for_the_legacy_stream_and_others_do_not() {
    let (_alone, ctx) = context();
    let blocking = CudaStream::new(&ctx, StreamFlags::empty(), 0).unwrap();
    let free = ctx.new_stream().unwrap();
    let held = hold(&ctx.default_stream());
    let seen = Arc::new(AtomicUsize::new(0));
    let note = seen.clone();
    blocking.call_host(move || note.store(1, Ordering::Relaxed)).unwrap();
    // No host function: a driver may have one thread for all of them.
    assert_eq!(DeviceBuffer::<u8>::zeroed(&free, 9).unwrap().to_host_vec(&free).unwrap(), [0; 9]);
    assert!(!blocking.query().unwrap() && seen.load(Ordering::Relaxed) == 0);
    drop(held);
    blocking.synchronize().unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[test]
fn an_event_may_stand_for_all_streams_of_a_context() {
    let (_alone, ctx) = context();
    let [first, second, third] = [(); 3].map(|()| ctx.new_stream().unwrap());
    let event = ctx.new_event().unwrap();
    let held = [hold(&first), hold(&second)];
    if let Err(error) = event.record_context() {
        assert!(error.is_unsupported(), "{error}");
        return skipped(error);
    }
    ctx.wait(&event).unwrap();
    assert!(!event.query().unwrap());
    let zeros = DeviceBuffer::<u8>::zeroed(&third, 64).unwrap();
    assert!(!third.query().unwrap(), "it waits for the context");
    drop(held);
    event.synchronize().unwrap();
    assert_eq!(zeros.to_host_vec(&third).unwrap(), [0; 64]);
}

#[test]
fn attributes_are_those_that_were_set() {
    let (_alone, ctx) = context();
    let (stream, copy) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    assert_eq!(stream.synchronization_policy().unwrap(), None, "never set");
    assert_eq!(stream.access_policy_window().unwrap(), None);
    assert_eq!(stream.mem_sync_domain().unwrap(), MemSyncDomain::Default);
    assert_eq!(stream.mem_sync_domain_map().unwrap(), (0, 1));
    let buffer = DeviceBuffer::<u8>::zeroed(&stream, 1 << 16).unwrap();
    let window = AccessPolicyWindow::new(buffer.cu_deviceptr(), 1 << 16)
        .hit_ratio(0.5)
        .hit(AccessProperty::Normal)
        .miss(AccessProperty::Streaming);
    assert_eq!((window.hit, window.miss), (AccessProperty::Normal, AccessProperty::Streaming));
    stream.set_attribute(Attribute::synchronization_policy(SynchronizationPolicy::Yield)).unwrap();
    stream.set_attribute(Attribute::access_policy_window(window)).unwrap();
    stream.set_attribute(Attribute::mem_sync_domain(MemSyncDomain::Remote)).unwrap();
    stream.set_attribute(Attribute::mem_sync_domain_map(1, 0)).unwrap();
    stream.set_attribute(Attribute::priority(-1)).unwrap();
    copy.copy_attributes_from(&stream).unwrap();
    for stream in [&stream, &copy] {
        assert_eq!(stream.synchronization_policy().unwrap(), Some(SynchronizationPolicy::Yield));
        assert_eq!(stream.access_policy_window().unwrap(), Some(window));
        assert_eq!(stream.mem_sync_domain().unwrap(), MemSyncDomain::Remote);
        assert_eq!(stream.mem_sync_domain_map().unwrap(), (1, 0));
        let raw = stream.raw_attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY).unwrap();
        assert_eq!(unsafe { raw.priority }, -1);
    }
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), vec![0; 1 << 16]);
}

#[test]
fn attributes_that_streams_do_not_have_are_refused_by_name() {
    let (_alone, ctx) = context();
    let stream = ctx.new_stream().unwrap();
    let error = stream.set_attribute(Attribute::cooperative(true)).unwrap_err();
    let ErrorKind::Attribute(AttributeError::LaunchOnly { attribute }) = error.kind() else {
        panic!("{error}")
    };
    assert_eq!(*attribute, "COOPERATIVE");
    let error =
        stream.raw_attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE).map(drop).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(error.to_string().contains("attribute 2"), "{error}");
}

#[test]
fn streams_pass_from_hand_to_hand_as_raw_handles() {
    let (_alone, ctx) = context();
    let stream = ctx.new_stream().unwrap();
    let clone = stream.clone();
    let stream = stream.into_raw().unwrap_err();
    drop(clone);
    let raw = stream.into_raw().unwrap();
    // SAFETY: 1: `raw` was just given up by its owner, and is of `ctx`; 2: `borrowed` is closed first, and `owned`,
    // the only owner, waits for its work before it destroys it; 3: nobody captures it.
    unsafe {
        let borrowed = CudaStream::from_raw(&ctx, raw);
        borrowed.call_host(|| ()).unwrap();
        borrowed.close().unwrap();
        let owned = CudaStream::from_raw_owned(&ctx, raw);
        owned.synchronize().unwrap();
        owned.close().unwrap();
    }
    assert_eq!(ctx.default_stream().into_raw().unwrap(), cuda_launch::sys::CU_STREAM_LEGACY);
}

/// cudarc: the number of streams falls to zero, and the free no longer waits for the work of the stream that is gone.
#[test]
fn a_stream_may_be_dropped_while_its_work_runs() {
    let (_alone, ctx) = context();
    let module = ctx.load_module(SAXPY).unwrap();
    let saxpy = module.load_function("saxpy").unwrap();
    let reader = ctx.new_stream().unwrap();
    let ones = DeviceBuffer::from_host(&reader, &[1.0f32; 4096]).unwrap();
    // The first launch of a kernel may wait for all streams.
    let mut first = DeviceBuffer::from_host(&reader, &[0.0f32; 4096]).unwrap();
    increment(&saxpy, &reader, &ones, &mut first);
    for _ in 0..20 {
        let (stream, reader) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
        let mut buffer = DeviceBuffer::from_host(&stream, &[3.0f32; 4096]).unwrap();
        let held = hold(&stream);
        increment(&saxpy, &stream, &ones, &mut buffer);
        drop(stream);
        drop(held);
        assert_eq!(buffer.to_host_vec(&reader).unwrap(), [4.0; 4096]);
    }
    // And the buffer right after it.
    for _ in 0..20 {
        let stream = ctx.new_stream().unwrap();
        let mut buffer = DeviceBuffer::from_host(&stream, &[3.0f32; 4096]).unwrap();
        let held = hold(&stream);
        increment(&saxpy, &stream, &ones, &mut buffer);
        drop((stream, buffer));
        drop(held);
    }
    ctx.synchronize().unwrap();
}

/// cudarc: streams that it did not make itself switch no tracking on.
#[test]
fn buffers_follow_streams_that_other_code_made() {
    let (_alone, ctx) = context();
    let module = ctx.load_module(SAXPY).unwrap();
    let saxpy = module.load_function("saxpy").unwrap();
    let (foreign, reader) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let ones = DeviceBuffer::from_host(&foreign, &[1.0f32; 4096]).unwrap();
    let mut buffer = DeviceBuffer::from_host(&reader, &[3.0f32; 4096]).unwrap();
    // SAFETY: 1: `foreign` is of `ctx` and live; 2: it is dropped after `borrowed`, and after the buffers that were used on it;
    // 3: nobody captures it.
    let borrowed = unsafe { CudaStream::from_raw(&ctx, foreign.raw()) };
    // The first launch of a kernel may wait for all streams.
    increment(&saxpy, &reader, &ones, &mut buffer);
    reader.synchronize().unwrap();
    let held = hold(&foreign);
    increment(&saxpy, &borrowed, &ones, &mut buffer);
    let mut copy = DeviceBuffer::<f32>::uninit(&reader, 4096).unwrap();
    copy.view_mut().copy_from_device(&reader, &buffer).unwrap();
    assert!(!reader.query().unwrap(), "it waits for the foreign stream");
    drop(held);
    assert_eq!(copy.to_host_vec(&reader).unwrap(), [5.0; 4096]);
    drop((copy, buffer, ones, borrowed));
}

#[test]
fn threads_share_a_stream() {
    let (_alone, ctx) = context();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(SAXPY).unwrap();
    let saxpy = module.load_function("saxpy").unwrap();
    let ones = DeviceBuffer::from_host(&stream, &[1.0f32; 256]).unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=8u8 {
            let (stream, saxpy, ones) = (stream.clone(), &saxpy, &ones);
            scope.spawn(move || {
                for _ in 0..20 {
                    let start = f32::from(thread);
                    let mut buffer = DeviceBuffer::from_host(&stream, &[start; 256]).unwrap();
                    increment(saxpy, &stream, ones, &mut buffer);
                    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [start + 1.0; 256]);
                }
            });
        }
    });
    stream.close().unwrap();
}

#[test]
fn streams_and_events_of_two_contexts_are_told_apart() {
    let (_alone, ctx) = context();
    let (_, other) = spies::spied();
    let (stream, foreign) = (ctx.new_stream().unwrap(), other.new_stream().unwrap());
    let errors = [
        other.new_event().unwrap().record(&stream).unwrap_err(),
        stream.copy_attributes_from(&foreign).unwrap_err(),
        ctx.new_timing_event().unwrap().elapsed_ms(&other.new_timing_event().unwrap()).unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_context_mismatch(), "{error}");
    }
}

/// The default streams are those of the context that is current, and to wait for a stream of another one makes that current.
#[test]
fn a_default_stream_is_that_of_the_launch_whatever_it_waits_for() {
    let (_alone, ctx) = context();
    let far = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let fill =
        ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap().load_function("fill").unwrap();
    let source = Arc::new(DeviceBuffer::from_host(&far.new_stream().unwrap(), &[1u32; 16]).unwrap());
    let mut x = DeviceBuffer::<u32>::zeroed(&ctx.new_stream().unwrap(), 16).unwrap();
    for stream in [ctx.default_stream(), ctx.per_thread_stream()] {
        let (copied, when) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (far, source) = (far.clone(), source.clone());
        // It lives on: driver 580 never comes back from `cuCtxSynchronize` after a thread has ended whose own stream waited for an event
        // and used memory of a pool, if there is a second context.
        let thread = std::thread::spawn(move || {
            x.view_mut().copy_from_peer(&far.per_thread_stream(), &source).unwrap();
            copied.send(x).unwrap();
            let _ = ends.recv();
        });
        x = when.recv().unwrap();
        // SAFETY: 1, 2: fill takes a pointer, a count and a value, and writes 16 numbers, which `x` has; 3, 4: `x` is a buffer,
        // which is kept and ordered; 5: it writes numbers; 6: it ends.
        unsafe {
            cuda_launch! { function: fill, stream: stream, config: LaunchConfig::for_num_elems(16),
            args: [ptr_mut(x), 16u32, 5u32] }
        }
        .unwrap();
        assert_eq!(x.to_host_vec(&stream).unwrap(), [5; 16]);
        drop(end);
        thread.join().unwrap();
    }
}

/// A copy between contexts, alone or in a graph, makes no memory fit for kernels of the other context: also if both are of one device.
#[test]
fn memory_of_another_context_of_the_device_stays_so_whatever_copied_it() {
    let (_alone, ctx) = context();
    let other = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let (stream, there) = (ctx.new_stream().unwrap(), other.new_stream().unwrap());
    let saxpy = ctx.load_module(SAXPY).unwrap().load_function("saxpy").unwrap();
    let ones = DeviceBuffer::<f32>::filled(&stream, 16, 1.0).unwrap();
    let far = DeviceBuffer::<f32>::filled(&there, 16, 7.0).unwrap();
    let mut sum = DeviceBuffer::<f32>::zeroed(&stream, 16).unwrap();
    let mut near = DeviceBuffer::<f32>::zeroed(&stream, 16).unwrap();
    let mut launch = |memory: &DeviceBuffer<f32>| {
        // SAFETY: 1, 2: saxpy takes a count, a factor and two pointers, reads 16 numbers and changes 16 others, which
        // the buffers have; 3, 4: they are kept and ordered, or refused if of another context; 5: of floats; 6: it
        // ends.
        unsafe {
            cuda_launch! { function: saxpy, stream: stream, config: LaunchConfig::for_num_elems(16),
            args: [16u32, 1.0f32, ptr(memory), ptr_mut(sum)] }
        }
    };
    // The second of these is warm: it asks the words of the memory alone.
    launch(&ones).unwrap();
    launch(&ones).unwrap();
    assert!(launch(&far).unwrap_err().is_context_mismatch());
    near.view_mut().copy_from_peer(&stream, &far).unwrap();
    assert!(launch(&far).unwrap_err().is_context_mismatch(), "after a copy");
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        near.view_mut().copy_from_peer(stream, &far)
    });
    let graph = match graph {
        // Driver 580 captures no copy between two contexts of one device.
        Err(error) if error.code() == Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) => {
            return skipped(error);
        }
        graph => graph.unwrap(),
    };
    near.view_mut().set_zero(&stream).unwrap();
    graph.instantiate(InstantiateFlags::empty()).unwrap().launch(&stream).unwrap();
    assert!(launch(&far).unwrap_err().is_context_mismatch(), "after a graph that copies");
    assert_eq!(near.to_host_vec(&stream).unwrap(), [7.0; 16]);
    assert_eq!(sum.to_host_vec(&stream).unwrap(), [2.0; 16], "no refused launch ran");
}

/// Kernels of a primary context and of a green one can be launched while the other is current, and a default stream is one of what is
/// current: a second launch at a place, which asks for little, must not go there.
#[test]
fn a_default_stream_is_that_of_its_context_while_a_green_one_is_current() {
    let (_alone, ctx) = context();
    // One stream was there before the green context, one comes later.
    let early = ctx.default_stream();
    let (parts, _) = ctx.device().multiprocessors().unwrap().split(1, 16, SmSplitFlags::empty()).unwrap();
    let green = GreenContext::new(&ctx, &parts).unwrap();
    let (green, later) = (green.context(), CudaContext::new(0).unwrap().default_stream());
    let own_of_thread = ctx.per_thread_stream();
    let of_green = green.default_stream();
    for (own, stream, other) in [
        (&ctx, &early, green),
        (&ctx, &later, green),
        (&ctx, &own_of_thread, green),
        (green, &of_green, &ctx),
    ] {
        let fill = own.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
        let fill = fill.load_function("fill").unwrap();
        let mut x = DeviceBuffer::<u32>::zeroed(stream, 16).unwrap();
        let mut launch = |value: u32| {
            // SAFETY: 1, 2: fill takes a pointer, a count and a value, and writes 16 numbers, which `x` has; 3, 4: `x`
            // is a buffer, which is kept and ordered; 5: it writes numbers; 6: it ends.
            unsafe {
                cuda_launch! { function: fill, stream: stream, config: LaunchConfig::for_num_elems(16),
                args: [ptr_mut(x), 16u32, value] }
            }
            .unwrap();
        };
        launch(1);
        launch(2);
        let held = hold(&other.default_stream());
        other.bind().unwrap();
        launch(3);
        assert_eq!(x.to_host_vec(stream).unwrap(), [3; 16], "{stream:?} waited for nothing");
        drop(held);
        other.synchronize().unwrap();
    }
}
