//! Expectations: which calls, how many, and what waits for what.

#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::{
    CUDA_MEMCPY2D, CUevent, CUgraphNodeParams, CUgraphNodeType, CUmemorytype, CUstream, CUstreamCaptureStatus,
};
use cuda_harness::{
    Spy, assert_at_most, assert_calls, assert_no_calls, assert_ordered, compare, compare_order,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use support::{Cuda, ok, spy};

/// What a panic says.
fn message(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn calls_are_named_by_symbol_by_the_headers_name_or_whole() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.clear();
    let memory = cuda.alloc(64).unwrap();
    ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
    assert_calls!(spy, ["cuMemAlloc", "cuMemFree_v2"]);
    assert_calls!(
        spy.calls(),
        ["cuMemAlloc_v2(dptr -> memory#1, bytesize: 64)", "cuMemFree_v2(dptr: memory#1)"]
    );
    assert_calls!(&spy.calls().of("cuMemFree"), ["cuMemFree"]);
    // Whole by the header's name, too.
    assert_calls!(spy.calls().of("cuMemFree"), ["cuMemFree(dptr: memory#1)"]);
    for other in
        ["cuMemFree(dptr: memory#2)", "cuMemFree(", "cuMemFree_v3(dptr: memory#1)", "(dptr: memory#1)"]
    {
        assert!(compare(&spy.calls().of("cuMemFree"), &[other]).is_err(), "{other}");
    }
}

#[test]
fn a_difference_shows_both_lists() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.clear();
    let memory = cuda.alloc(64).unwrap();
    ok(unsafe { cuda.driver.cuMemsetD8(memory, 0, 64) }).unwrap();
    ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
    let text = message(|| {
        assert_calls!(spy, ["cuMemAlloc", "cuMemsetD16", "cuMemFree_v2(dptr: memory#1)", "cuInit"])
    });
    assert_eq!(
        text,
        "the driver calls are not the expected ones (- is missing, + is unexpected):
  cuMemAlloc_v2(dptr -> memory#1, bytesize: 64)
+ cuMemsetD8_v2(dstDevice: memory#1, uc: 0, N: 64)
- cuMemsetD16
  cuMemFree_v2(dptr: memory#1)
- cuInit
"
    );
    // Another object is another call.
    assert!(compare(&spy.calls().of("cuMemFree"), &["cuMemFree_v2(dptr: memory#2)"]).is_err());
    assert!(compare(&spy.calls(), &[]).is_err());
    assert_eq!(compare(&spy.calls().of("cuInit"), &[]), Ok(()));
}

#[test]
fn a_block_makes_no_call_or_a_few() {
    let spy = spy();
    let version = || spy.driver().version().is_ok();
    assert!(version());
    assert_eq!(assert_no_calls!(spy, 1 + 1), 2);
    assert!(assert_at_most!(spy, 2, version() && version()));
    let text = message(|| {
        assert_no_calls!(spy, version());
    });
    assert_eq!(text, "1 driver calls, but at most 0 expected:\ncuDriverGetVersion(driverVersion -> 13000)\n");
    assert!(
        message(|| assert_at_most!(spy, 1, assert!(version() && version()))).starts_with("2 driver calls")
    );
}

/// Streams and an event, and fills whose order is asked for.
struct Fills {
    spy: Spy,
    cuda: Cuda,
    memory: u64,
    streams: Vec<CUstream>,
    event: CUevent,
}

impl Fills {
    fn new() -> Fills {
        let spy = spy();
        let cuda = Cuda::new(spy.driver());
        let streams = vec![cuda.stream(), cuda.stream(), cuda.stream(), null_mut()];
        let (memory, event) = (cuda.alloc(64).unwrap(), cuda.event());
        Fills { spy, cuda, memory, streams, event }
    }

    fn fill(&self, stream: usize) -> usize {
        ok(unsafe { self.cuda.driver.cuMemsetD8Async(self.memory, 1, 64, self.streams[stream]) }).unwrap();
        self.spy.calls().last().unwrap().number()
    }

    fn record(&self, stream: usize) {
        ok(unsafe { self.cuda.driver.cuEventRecord(self.event, self.streams[stream]) }).unwrap();
    }

    fn wait(&self, stream: usize) {
        ok(unsafe { self.cuda.driver.cuStreamWaitEvent(self.streams[stream], self.event, 0) }).unwrap();
    }

    fn is_ordered(&self, first: usize, second: usize) -> bool {
        self.spy.calls().is_ordered(first, second)
    }
}

impl Drop for Fills {
    fn drop(&mut self) {
        unsafe {
            let _ = self.cuda.driver.cuCtxSynchronize();
            let _ = self.cuda.driver.cuMemFree(self.memory);
            let _ = self.cuda.driver.cuEventDestroy(self.event);
            self.streams.iter().filter(|stream| !stream.is_null()).for_each(|stream| {
                let _ = self.cuda.driver.cuStreamDestroy(*stream);
            });
        }
    }
}

#[test]
fn one_stream_is_ordered_and_two_are_not() {
    let fills = Fills::new();
    let (a, b, c) = (fills.fill(0), fills.fill(1), fills.fill(0));
    assert!(fills.is_ordered(a, c));
    assert!(!fills.is_ordered(a, b) && !fills.is_ordered(b, c) && !fills.is_ordered(c, a));
    assert!(!fills.is_ordered(a, 1000) && !fills.is_ordered(1000, a));
}

#[test]
fn events_order_streams_over_several_steps() {
    let fills = Fills::new();
    let a = fills.fill(0);
    fills.record(0);
    let late = fills.fill(0);
    fills.wait(1);
    let b = fills.fill(1);
    assert!(fills.is_ordered(a, b) && !fills.is_ordered(late, b));
    // The same event again, on the second stream: the first knows nothing of it, the third all.
    fills.record(1);
    fills.wait(2);
    let c = fills.fill(2);
    assert!(fills.is_ordered(a, c) && fills.is_ordered(b, c) && !fills.is_ordered(late, c));
    assert!(!fills.is_ordered(b, fills.fill(0)));
}

/// A wait takes the last record before it.
#[test]
fn an_event_that_is_recorded_elsewhere_is_of_that_work_only() {
    let fills = Fills::new();
    let a = fills.fill(0);
    fills.record(0);
    fills.record(2);
    fills.wait(1);
    assert!(!fills.is_ordered(a, fills.fill(1)));
}

#[test]
fn a_thread_that_waited_knows() {
    let fills = Fills::new();
    let (a, b) = (fills.fill(0), fills.fill(1));
    ok(unsafe { fills.cuda.driver.cuStreamSynchronize(fills.streams[0]) }).unwrap();
    let c = fills.fill(2);
    assert!(fills.is_ordered(a, c) && !fills.is_ordered(b, c));
    fills.record(1);
    ok(unsafe { fills.cuda.driver.cuEventSynchronize(fills.event) }).unwrap();
    assert!(fills.is_ordered(b, fills.fill(2)));
    ok(unsafe { fills.cuda.driver.cuCtxSynchronize() }).unwrap();
    assert!(fills.is_ordered(c, fills.fill(0)));
    // Another thread does not.
    let d = std::thread::scope(|threads| {
        let fill = || {
            fills.cuda.make_current();
            let stream = unsafe { fills.cuda.driver.cuMemsetD8Async(fills.memory, 1, 64, null_mut()) };
            ok(stream).unwrap();
        };
        threads.spawn(fill).join().unwrap();
        fills.spy.calls().last().unwrap().number()
    });
    assert!(!fills.is_ordered(c, d));
}

#[test]
fn the_default_stream_waits_for_blocking_streams_only() {
    let mut fills = Fills::new();
    let mut blocking = null_mut();
    ok(unsafe { fills.cuda.driver.cuStreamCreate(&mut blocking, 0) }).unwrap();
    fills.streams.push(blocking);
    let (apart, joined) = (fills.fill(0), fills.fill(4));
    let default = fills.fill(3);
    assert!(fills.is_ordered(joined, default) && !fills.is_ordered(apart, default));
    assert!(fills.is_ordered(default, fills.fill(4)) && !fills.is_ordered(default, fills.fill(0)));
}

/// Forty streams, each of which waits for the one before.
#[test]
fn a_chain_of_forty_streams_is_ordered() {
    let mut fills = Fills::new();
    while fills.streams.len() < 44 {
        fills.streams.push(fills.cuda.stream());
    }
    let first = fills.fill(4);
    for stream in 5..44 {
        fills.record(stream - 1);
        fills.wait(stream);
    }
    assert!(fills.is_ordered(first, fills.fill(43)));
    assert!(!fills.is_ordered(first, fills.fill(0)));
}

#[test]
fn calls_that_are_not_kept_are_counted() {
    let spy = cuda_harness::SpyOptions::new().keep(0).over(&cuda_emulator::driver()).unwrap();
    let version = || spy.driver().version().is_ok();
    let text = message(|| assert_no_calls!(spy, assert!(version())));
    assert!(text.starts_with("1 driver calls"), "{text}");
    let text = message(|| assert_at_most!(spy, 1, assert!(version() && version())));
    assert!(text.starts_with("2 driver calls"), "{text}");
}

#[test]
fn what_failed_orders_nothing() {
    let fills = Fills::new();
    let a = fills.fill(0);
    fills.record(0);
    let fault = fills.spy.inject(cuda_harness::Fault::on("cuStreamWaitEvent")).unwrap();
    assert!(ok(unsafe { fills.cuda.driver.cuStreamWaitEvent(fills.streams[1], fills.event, 0) }).is_err());
    fault.lift();
    assert!(!fills.is_ordered(a, fills.fill(1)));
    let fault = fills.spy.inject(cuda_harness::Fault::on("cuCtxSynchronize")).unwrap();
    assert!(ok(unsafe { fills.cuda.driver.cuCtxSynchronize() }).is_err());
    fault.lift();
    assert!(!fills.is_ordered(a, fills.fill(1)));
}

/// Neither does the host wait for a copy within the device, nor are there two default streams.
#[test]
fn a_copy_within_the_device_is_not_waited_for() {
    let fills = Fills::new();
    let driver = &fills.cuda.driver;
    ok(unsafe { driver.cuMemcpyDtoD(fills.memory, fills.memory + 32, 32) }).unwrap();
    let copy = fills.spy.calls().last().unwrap().number();
    assert!(!fills.is_ordered(copy, fills.fill(0)));
    let legacy = std::ptr::without_provenance_mut(1);
    ok(unsafe { driver.cuMemsetD8Async(fills.memory, 1, 64, legacy) }).unwrap();
    assert!(fills.is_ordered(copy, fills.spy.calls().last().unwrap().number()));
}

/// Both memories of the copy are the device's, also where the function does not say so; memory that is not pinned may be on its way.
#[test]
fn the_host_waits_only_for_copies_from_or_to_its_memory() {
    let fills = Fills::new();
    let driver = &fills.cuda.driver;
    let (half, mut pinned, mut plain) = (fills.memory + 32, null_mut(), [0_u8; 32]);
    let plain = plain.as_mut_ptr();
    ok(unsafe { driver.cuMemHostAlloc(&mut pinned, 32, 0) }).unwrap();
    let is_waited_for = |copy: &dyn Fn() -> cuda_driver_sys::CUresult| {
        let before = fills.fill(3);
        ok(copy()).unwrap();
        let copy = fills.spy.calls().last().unwrap().number();
        let after = fills.fill(0);
        (fills.is_ordered(before, after), fills.is_ordered(copy, after))
    };
    let address = |host: *mut u8| host.expose_provenance() as u64;
    assert_eq!(is_waited_for(&|| unsafe { driver.cuMemcpy(fills.memory, half, 32) }), (false, false));
    let plane = CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcDevice: half,
        dstDevice: fills.memory,
        WidthInBytes: 8,
        Height: 1,
        ..CUDA_MEMCPY2D::default()
    };
    assert_eq!(is_waited_for(&|| unsafe { driver.cuMemcpy2D(&plane) }), (false, false));
    for (host, own) in [(pinned.cast::<u8>(), true), (plain, false)] {
        assert_eq!(
            is_waited_for(&|| unsafe { driver.cuMemcpyHtoD(fills.memory, host.cast(), 32) }),
            (true, own)
        );
        assert_eq!(
            is_waited_for(&|| unsafe { driver.cuMemcpy(fills.memory, address(host), 32) }),
            (true, own)
        );
        assert_eq!(is_waited_for(&|| unsafe { driver.cuMemcpyDtoH(host.cast(), half, 32) }), (true, true));
        assert_eq!(is_waited_for(&|| unsafe { driver.cuMemcpy(address(host), half, 32) }), (true, true));
    }
    ok(unsafe { driver.cuMemFreeHost(pinned) }).unwrap();
}

/// The default stream waits for others when work is submitted to it, which a record of an event is and a question is not.
#[test]
fn a_question_about_a_stream_orders_nothing() {
    let fills = Fills::new();
    let driver = &fills.cuda.driver;
    let blocking = [(); 2].map(|()| {
        let mut stream = null_mut();
        ok(unsafe { driver.cuStreamCreate(&mut stream, 0) }).unwrap();
        stream
    });
    let fill = |stream| {
        ok(unsafe { driver.cuMemsetD8Async(fills.memory, 1, 64, stream) }).unwrap();
        fills.spy.calls().last().unwrap().number()
    };
    let first = fill(blocking[0]);
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    ok(unsafe { driver.cuStreamIsCapturing(null_mut(), &mut status) }).unwrap();
    assert!(!fills.is_ordered(first, fill(blocking[1])));
    fills.record(3);
    assert!(fills.is_ordered(first, fill(blocking[1])));
    // Nor does a question by a thread that has waited.
    let (first, mut priority) = (fills.fill(0), 0);
    ok(unsafe { driver.cuStreamSynchronize(fills.streams[0]) }).unwrap();
    ok(unsafe { driver.cuStreamGetPriority(fills.streams[1], &mut priority) }).unwrap();
    let of_another_thread = || {
        let stream = fills.streams[1].expose_provenance();
        std::thread::scope(|threads| {
            let work = || {
                fills.cuda.make_current();
                let stream = std::ptr::with_exposed_provenance_mut(stream);
                ok(unsafe { fills.cuda.driver.cuMemsetD8Async(fills.memory, 1, 64, stream) }).unwrap();
                fills.spy.calls().last().unwrap().number()
            };
            threads.spawn(work).join().unwrap()
        })
    };
    assert!(!fills.is_ordered(first, of_another_thread()));
    fills.fill(1);
    assert!(fills.is_ordered(first, of_another_thread()));
    blocking.into_iter().for_each(|stream| ok(unsafe { driver.cuStreamDestroy(stream) }).unwrap());
}

#[test]
fn a_call_that_failed_has_no_work() {
    let fills = Fills::new();
    let blocking = [(); 2].map(|()| {
        let mut stream = null_mut();
        ok(unsafe { fills.cuda.driver.cuStreamCreate(&mut stream, 0) }).unwrap();
        stream
    });
    ok(unsafe { fills.cuda.driver.cuMemsetD8Async(fills.memory, 1, 64, blocking[0]) }).unwrap();
    let fault = fills.spy.inject(cuda_harness::Fault::on("cuMemsetD8Async")).unwrap();
    assert!(ok(unsafe { fills.cuda.driver.cuMemsetD8Async(fills.memory, 1, 64, null_mut()) }).is_err());
    fault.lift();
    // The default stream would come after the first, but nothing was submitted to it.
    ok(unsafe { fills.cuda.driver.cuMemsetD32Async(fills.memory, 1, 16, blocking[1]) }).unwrap();
    let calls = |first, second| compare_order(&fills.spy.calls(), first, second);
    assert!(calls("cuMemsetD8Async", "cuMemsetD32Async").unwrap_err().starts_with("nothing orders"));
    let text = calls("cuMemsetD8Async(*stream*)", "cuMemsetD8Async(*default*").unwrap_err();
    let says =
        "no call after `cuMemsetD8Async(*stream*)` is `cuMemsetD8Async(*default*`, of those that succeeded:";
    assert!(text.starts_with(says), "{text}");
    blocking.into_iter().for_each(|stream| ok(unsafe { fills.cuda.driver.cuStreamDestroy(stream) }).unwrap());
}

/// Handle 0 is another stream in each context, and so is `CU_STREAM_PER_THREAD`; a wait for one context is none for the other.
#[test]
fn each_context_has_its_own_default_streams() {
    let fills = Fills::new();
    let driver = &fills.cuda.driver;
    let mut other = null_mut();
    ok(unsafe { driver.cuCtxCreate_v4(&mut other, null_mut(), 0, 0) }).unwrap();
    let mut blocking = null_mut();
    ok(unsafe { driver.cuStreamCreate(&mut blocking, 0) }).unwrap();
    let theirs = fills.cuda.alloc(64).unwrap();
    let make_current = |context| ok(unsafe { driver.cuCtxSetCurrent(context) }).unwrap();
    let fill = |memory, stream| {
        ok(unsafe { driver.cuMemsetD8Async(memory, 1, 64, stream) }).unwrap();
        fills.spy.calls().last().unwrap().number()
    };
    for default in [0, 1, 2].map(std::ptr::without_provenance_mut) {
        make_current(fills.cuda.context);
        let first = fill(fills.memory, default);
        make_current(other);
        let second = fill(theirs, default);
        assert!(!fills.is_ordered(first, second), "{default:?}");
        // It waits for blocking streams, but not for those of another context.
        assert!(!fills.is_ordered(first, fill(theirs, blocking)), "{default:?}");
        ok(unsafe { driver.cuCtxSynchronize() }).unwrap();
        let third = fill(theirs, default);
        assert!(fills.is_ordered(second, third) && !fills.is_ordered(first, third), "{default:?}");
        make_current(fills.cuda.context);
        assert!(fills.is_ordered(first, fill(fills.memory, default)), "{default:?}");
        assert!(!fills.is_ordered(third, fill(fills.memory, fills.streams[1])), "{default:?}");
        ok(unsafe { driver.cuCtxSynchronize() }).unwrap();
        assert!(fills.is_ordered(first, fill(fills.memory, fills.streams[0])), "{default:?}");
    }
    ok(unsafe { driver.cuCtxDestroy(other) }).unwrap();
}

#[test]
fn each_thread_has_its_own_stream() {
    let fills = Fills::new();
    let fill = || {
        let own = std::ptr::without_provenance_mut(2);
        fills.cuda.make_current();
        ok(unsafe { fills.cuda.driver.cuMemsetD8Async(fills.memory, 1, 64, own) }).unwrap();
        fills.spy.calls().last().unwrap().number()
    };
    let first = fill();
    let (second, third) = std::thread::scope(|threads| threads.spawn(|| (fill(), fill())).join().unwrap());
    assert!(!fills.is_ordered(first, second) && fills.is_ordered(second, third));
    assert!(fills.is_ordered(first, fill()));
}

/// Whoever waits for an event waits for its last record, which may be the graph's.
#[test]
fn an_event_that_a_graph_records_is_not_known_after_its_launch() {
    let fills = Fills::new();
    let driver = &fills.cuda.driver;
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    let mut parameters = CUgraphNodeParams {
        type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        ..CUgraphNodeParams::default()
    };
    parameters.__bindgen_anon_1.eventRecord.event = fills.event;
    unsafe {
        ok(driver.cuGraphCreate(&mut graph, 0)).unwrap();
        ok(driver.cuGraphAddNode(&mut node, graph, null(), null(), 0, &mut parameters)).unwrap();
        ok(driver.cuGraphInstantiate(&mut exec, graph, 0)).unwrap();
    }
    let first = fills.fill(0);
    fills.record(0);
    fills.wait(1);
    assert!(fills.is_ordered(first, fills.fill(1)), "no graph was launched");
    ok(unsafe { driver.cuGraphLaunch(exec, fills.streams[2]) }).unwrap();
    fills.wait(2);
    assert!(!fills.is_ordered(first, fills.fill(2)));
    fills.record(0);
    fills.wait(2);
    assert!(fills.is_ordered(first, fills.fill(2)));
    unsafe {
        ok(driver.cuGraphExecDestroy(exec)).unwrap();
        ok(driver.cuGraphDestroy(graph)).unwrap();
    }
}

#[test]
fn work_is_ordered_by_names_and_by_what_calls_say() {
    let fills = Fills::new();
    fills.fill(0);
    fills.record(0);
    fills.wait(1);
    fills.fill(1);
    assert_ordered!(fills.spy, "cuMemsetD8Async", "cuMemsetD8Async");
    assert_ordered!(fills.spy.calls(), "cuMemsetD8Async(*stream#1)", "cuMemset*memory#1*stream#2*");
    // A launch, a name of the header, and one call for each call of the other.
    ok(unsafe { fills.cuda.driver.cuStreamSynchronize(fills.streams[1]) }).unwrap();
    ok(unsafe { fills.cuda.driver.cuMemsetD8(fills.memory, 1, 64) }).unwrap();
    assert_ordered!(fills.spy, "cuMemsetD8Async", "cuMemsetD8");
    // Of many that are ordered the last decides.
    for _ in 0..2000 {
        fills.fill(0);
    }
    assert_ordered!(fills.spy, "cuMemsetD8Async(*stream#1)", "cuMemsetD8Async(*stream#1)");
    fills.record(0);
    fills.fill(0);
    fills.wait(1);
    fills.fill(1);
    let text = compare_order(&fills.spy.calls(), "cuMemset*stream#1)", "cuMemset*stream#2)").unwrap_err();
    assert_eq!(text.lines().count(), 5, "{text}");
    // The third knows of neither, but one that comes after it is not compared with it.
    fills.fill(2);
    assert_ordered!(fills.spy, "cuMemsetD8Async(*stream#2)", "cuMemsetD8");
    assert!(compare_order(&fills.spy.calls(), "cuMemsetD8", "cuMemsetD8Async(*stream#3)").is_err());
}

#[test]
fn the_message_shows_the_calls_between_and_what_would_order_them() {
    let fills = Fills::new();
    let calls = |first, second| compare_order(&fills.spy.calls(), first, second).unwrap_err();
    fills.fill(0);
    fills.fill(1);
    let text = calls("cuMemsetD8Async(*stream#1)", "cuMemsetD8Async(*stream#2)");
    assert_eq!(
        text,
        "nothing orders the work of the second call after that of the first:
  cuMemsetD8Async(dstDevice: memory#1, uc: 1, N: 64, hStream: stream#1)
  cuMemsetD8Async(dstDevice: memory#1, uc: 1, N: 64, hStream: stream#2)
what would: stream#2 waits for an event that is recorded on stream#1 after the first (cuEventRecord) before the second (cuStreamWaitEvent)"
    );
    fills.record(0);
    ok(unsafe { fills.cuda.driver.cuMemsetD8Async(fills.memory, 2, 32, fills.streams[3]) }).unwrap();
    let text = message(|| assert_ordered!(fills.spy, "cuMemsetD8Async(*stream#1)", "cuMemset*uc: 2*"));
    assert_eq!(
        text,
        "nothing orders the work of the second call after that of the first:
  cuMemsetD8Async(dstDevice: memory#1, uc: 1, N: 64, hStream: stream#1)
    cuMemsetD8Async(dstDevice: memory#1, uc: 1, N: 64, hStream: stream#2)
    cuEventRecord(hEvent: event#1, hStream: stream#1)
  cuMemsetD8Async(dstDevice: memory#1, uc: 2, N: 32, hStream: default)
what would: the default stream waits for event#1, which is recorded after the first, before the second (cuStreamWaitEvent)"
    );
    // In the other order there is no such pair, and a name may be wrong.
    for (first, second, says) in [
        (
            "cuMemset*stream#2*",
            "cuMemset*stream#1*",
            "no call after `cuMemset*stream#2*` is `cuMemset*stream#1*`:",
        ),
        ("cuMemsetD32Async", "cuMemsetD8Async", "no call is `cuMemsetD32Async`:"),
    ] {
        let text = calls(first, second);
        assert!(text.starts_with(says) && text.contains("cuEventRecord(hEvent: event#1"), "{text}");
    }
    // A long program is not shown whole.
    (0..40).for_each(|_| fills.record(1));
    fills.fill(2);
    let text = calls("cuMemsetD8Async(*stream#1)", "cuMemsetD8Async(*stream#3)");
    assert!(text.contains("\n    and 13 more calls\n") && text.lines().count() == 35, "{text}");
    // Nobody can wait for an event that is gone.
    let mut event = null_mut();
    ok(unsafe { fills.cuda.driver.cuEventCreate(&mut event, 0) }).unwrap();
    fills.fill(2);
    ok(unsafe { fills.cuda.driver.cuEventRecord(event, fills.streams[2]) }).unwrap();
    ok(unsafe { fills.cuda.driver.cuEventDestroy(event) }).unwrap();
    ok(unsafe { fills.cuda.driver.cuMemsetD16Async(fills.memory, 2, 32, fills.streams[0]) }).unwrap();
    let text = calls("cuMemsetD8Async(*stream#3)", "cuMemsetD16Async");
    assert!(text.ends_with("stream#1 waits for an event that is recorded on stream#3 after the first (cuEventRecord) before the second (cuStreamWaitEvent)"), "{text}");
}
