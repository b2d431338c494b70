//! Events on whichever driver is chosen: kinds, time, order, handles.

#![allow(unsafe_code)] // Raw handles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::error::EventError;
use cuda_launch::event::{AnyEvent, EventFlags, EventRecordFlags, EventWaitFlags, TimingEvent};
use cuda_launch::sys::{CUresult, Driver};
use cuda_launch::{CudaContext, CudaEvent, DeviceBuffer, Error, ErrorKind};
use std::ffi::CStr;
use std::sync::Arc;

fn context() -> CudaContext {
    CudaContext::new(0).unwrap()
}

/// The error that the two events get when they are asked for a time.
fn unfit(start: &TimingEvent, end: &TimingEvent) -> EventError {
    let error = start.elapsed_ms(end).unwrap_err();
    assert!(error.is_event_not_ready() && error.to_string().contains("help: "), "{error}");
    match error.kind() {
        ErrorKind::Event(kind) => *kind,
        _ => panic!("{error}"),
    }
}

#[test]
fn events_of_all_kinds_are_recorded_and_waited_for() {
    let ctx = context();
    let (stream, other) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let plain = CudaEvent::new(&ctx, EventFlags::BLOCKING_SYNC).unwrap();
    let timing = TimingEvent::new(&ctx, EventFlags::BLOCKING_SYNC).unwrap();
    let events: [&AnyEvent; 2] = [&plain, &timing];
    for event in events {
        assert!(event.query().unwrap(), "never recorded");
        event.synchronize().unwrap();
        event.record(&stream).unwrap();
        event.record_with(&stream, EventRecordFlags::empty()).unwrap();
        other.wait(event).unwrap();
        other.wait_with(event, EventWaitFlags::empty()).unwrap();
        event.synchronize().unwrap();
        assert!(event.query().unwrap());
    }
    other.synchronize().unwrap();
    plain.close().unwrap();
    timing.close().unwrap();
}

#[test]
fn elapsed_time_is_of_the_device_and_has_a_sign() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let (start, end) = (ctx.new_timing_event().unwrap(), ctx.new_timing_event().unwrap());
    start.record(&stream).unwrap();
    let zeros = DeviceBuffer::<u8>::zeroed(&stream, 1 << 20).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    let (forward, back) = (start.elapsed_ms(&end).unwrap(), end.elapsed_ms(&start).unwrap());
    assert!(forward >= 0.0 && (forward + back).abs() < 1e-3, "{forward} {back}");
    assert_eq!(zeros.to_host_vec(&stream).unwrap(), vec![0; 1 << 20]);
}

#[test]
fn work_can_be_timed() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let (zeros, time) = stream.time(|stream| DeviceBuffer::<u32>::zeroed(stream, 1 << 20)).unwrap();
    assert!(stream.query().unwrap() && time.as_secs() < 10);
    assert_eq!(zeros.to_host_vec(&stream).unwrap()[77], 0);
}

/// Row 43 of the misuse table; that an event without time has no `elapsed_ms` is in `compile_fail`.
#[test]
fn elapsed_time_of_unfit_events_names_the_event() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let (start, end) = (ctx.new_timing_event().unwrap(), ctx.new_timing_event().unwrap());
    assert_eq!(unfit(&start, &end), EventError::NotRecorded { event: "start" });
    start.record(&stream).unwrap();
    assert_eq!(unfit(&start, &end), EventError::NotRecorded { event: "end" });
    assert_eq!(unfit(&end, &start), EventError::NotRecorded { event: "start" });
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    assert!(start.elapsed_ms(&end).unwrap() >= 0.0);
}

#[test]
fn an_event_without_time_is_refused_where_only_the_driver_can_tell() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let plain = ctx.new_event().unwrap();
    // SAFETY: 1: `plain` is live and of `ctx`; that it was made without time is the one thing of duty 1 that is broken on
    // purpose: the driver answers it with an error, which is tested; 2: `plain` was declared before the handle, and so is dropped
    // after it.
    let start = unsafe { TimingEvent::from_raw(&ctx, plain.raw()) };
    let end = ctx.new_timing_event().unwrap();
    start.record(&stream).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    assert_eq!(start.elapsed_ms(&end).unwrap_err().code(), Some(CUresult::CUDA_ERROR_INVALID_HANDLE));
}

#[test]
fn flags_for_captures_are_refused_outside_of_one() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let event = ctx.new_event().unwrap();
    let illegal = Some(CUresult::CUDA_ERROR_ILLEGAL_STATE);
    assert_eq!(event.record_with(&stream, EventRecordFlags::EXTERNAL).unwrap_err().code(), illegal);
    assert_eq!(stream.wait_with(&event, EventWaitFlags::EXTERNAL).unwrap_err().code(), illegal);
    let unknown = EventRecordFlags::from_bits_retain(2);
    let error = event.record_with(&stream, unknown).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(error.to_string().contains("flags EventRecordFlags(0x2)"), "{error}");
    assert!(CudaEvent::new(&ctx, EventFlags::from_bits_retain(8)).is_err());
}

#[test]
fn events_pass_from_hand_to_hand_as_raw_handles() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let raw = ctx.new_event().unwrap().into_raw();
    // SAFETY: 1: both events were just made on `ctx`, the first without time and not for other processes, the second
    // with time; 2: `into_raw` gave up their ownership, and `borrowed` is dropped before `owned`, the one owner,
    // destroys the event.
    unsafe {
        let borrowed = CudaEvent::from_raw(&ctx, raw);
        borrowed.record(&stream).unwrap();
        drop(borrowed);
        let owned = CudaEvent::from_raw_owned(&ctx, raw);
        owned.synchronize().unwrap();
        owned.close().unwrap();
        TimingEvent::from_raw_owned(&ctx, ctx.new_timing_event().unwrap().into_raw()).close().unwrap();
    }
}

#[test]
fn an_event_may_be_dropped_while_a_stream_waits_for_it() {
    let ctx = context();
    let (first, second) = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    let mut buffers = Vec::new();
    for round in 0..50u8 {
        let ones = DeviceBuffer::from_host(&first, &[round; 4096]).unwrap();
        let event = ctx.new_event().unwrap();
        event.record(&first).unwrap();
        second.wait(&event).unwrap();
        drop(event);
        buffers.push((round, ones));
    }
    for (round, buffer) in &buffers {
        assert_eq!(buffer.to_host_vec(&second).unwrap(), [*round; 4096]);
    }
}

/// cudarc: a query, a time and a drop on a thread where no context is current.
#[test]
fn no_call_needs_a_context_that_is_current() {
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let (plain, start) = (ctx.new_event().unwrap(), ctx.new_timing_event().unwrap());
    start.record(&stream).unwrap();
    stream.synchronize().unwrap();
    type Call<'a> = Box<dyn FnOnce() -> Result<(), Error> + Send + 'a>;
    let calls: Vec<Call<'_>> = vec![
        Box::new(|| plain.query().map(drop)),
        Box::new(|| plain.synchronize()),
        Box::new(|| plain.record(&stream)),
        Box::new(|| stream.wait(&plain)),
        Box::new(|| start.elapsed_ms(&start).map(drop)),
        Box::new(|| stream.query().map(drop)),
        Box::new(|| stream.synchronize()),
        Box::new(|| stream.flags().map(drop)),
        Box::new(|| stream.priority().map(drop)),
        Box::new(|| stream.synchronization_policy().map(drop)),
        Box::new(|| stream.call_host(|| ())),
        Box::new(|| stream.fork().map(drop)),
        Box::new(|| ctx.stream_priorities().map(drop)),
        Box::new(|| ctx.new_event()?.close()),
        Box::new(|| ctx.new_stream()?.close()),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        let answer = std::thread::scope(|scope| scope.spawn(call).join().unwrap());
        answer.unwrap_or_else(|error| panic!("call {number}: {error}"));
    }
    std::thread::spawn(move || drop((plain, start, stream))).join().unwrap();
    ctx.synchronize().unwrap();
}

/// Drivers before 12.8 have the function under its older name only.
#[test]
fn elapsed_time_works_on_a_driver_that_has_only_the_older_name() {
    let base = cuda_launch::default_driver().unwrap();
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuEventElapsedTime_v2" => std::ptr::null(),
        "cuEventElapsedTime" => base.address("cuEventElapsedTime_v2"),
        name => base.address(name),
    };
    // SAFETY: 1: the base's own functions, and `cuEventElapsedTime_v2` under its older name, of the same signature and
    // behaviour; 2: they are code of this program, or of a library that is never unloaded.
    let older = Arc::new(unsafe { Driver::from_lookup(lookup) });
    let ctx = CudaContext::with_driver(&older, 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let ((), time) = stream.time(|_| Ok(())).unwrap();
    assert!(time.as_secs() < 10);
    let without = spies::driver_without("cuEventElapsedTime_v2");
    let ctx = CudaContext::with_driver(&without, 0).unwrap();
    assert!(ctx.new_stream().unwrap().time(|_| Ok(())).unwrap_err().is_unsupported());
}
