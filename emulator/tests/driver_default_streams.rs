//! Functions whose NULL stream is the calling thread's own (`_ptsz`, `_ptds`), as programs have them that are built with
//! `CUDA_API_PER_THREAD_DEFAULT_STREAM`: what waits for what.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "../../harness/src/skip.rs"]
mod skip;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use support::*;

/// Time after which something that does not wait has surely come.
const SOON: Duration = Duration::from_secs(20);
/// Time that something is given to come too early.
const EARLY: Duration = Duration::from_millis(30);

/// The default stream.
const NULL: CUstream = null_mut();

/// The driver as a program sees it whose default streams are the threads' own.
fn per_thread(cuda: &Driver) -> Arc<Driver> {
    let find = |symbol: &std::ffi::CStr| {
        let symbol = symbol.to_str().unwrap();
        let row = FUNCTIONS.iter().find(|function| function.name() == symbol)?;
        let number = |(_, number): &(&str, &str)| number.bytes().all(|digit| digit.is_ascii_digit());
        let name = symbol.rsplit_once("_v").filter(number).map_or(symbol, |(name, _)| name);
        let (name, version) = (CString::new(name).unwrap(), row.since.max(7_000) as i32);
        let mut found = null_mut();
        let code = unsafe { cuda.cuGetProcAddress_v2(name.as_ptr(), &mut found, version, 2, null_mut()) };
        (code == CUresult::SUCCESS).then_some(found.cast_const())
    };
    Arc::new(unsafe { Driver::from_lookup(|symbol| find(symbol).unwrap_or(null())) })
}

/// The driver, the same with threads' own streams, and a context that is current.
fn both() -> (Arc<Driver>, Arc<Driver>, usize) {
    let (cuda, context) = with_own_context();
    let own = per_thread(&cuda);
    (cuda, own, context.addr())
}

/// Runs something on another thread, with the context current.
fn elsewhere<T: Send>(cuda: &Driver, context: usize, run: impl FnOnce() -> T + Send) -> T {
    let thread = move || {
        ok(unsafe { cuda.cuCtxSetCurrent(without_provenance_mut(context)) });
        run()
    };
    std::thread::scope(|scope| scope.spawn(thread).join().unwrap())
}

/// Everything that a thread can do on its default stream and wait for.
fn all_kinds(own: &Driver) {
    let (a, b) = (alloc(own, 64), alloc(own, 64));
    let (mut host, mut copy) = ([7_u8; 64], [0_u8; 64]);
    unsafe {
        ok(own.cuMemcpyHtoD(a, host.as_ptr().cast(), 64));
        ok(own.cuMemcpyDtoD(b, a, 64));
        ok(own.cuMemsetD8(b, 9, 8));
        ok(own.cuMemcpy(a + 32, b, 16));
        ok(own.cuMemcpyDtoH(copy.as_mut_ptr().cast(), a, 64));
        host[32..40].fill(9);
        assert_eq!(copy, host);
        let rows = CUDA_MEMCPY2D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: host.as_ptr().cast(),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: b,
            WidthInBytes: 8,
            Height: 8,
            srcPitch: 8,
            dstPitch: 8,
            ..Default::default()
        };
        ok(own.cuMemcpy2D(&rows));
        ok(own.cuMemcpyDtoHAsync(copy.as_mut_ptr().cast(), b, 64, NULL));
        ok(own.cuStreamSynchronize(NULL));
        assert_eq!(copy, host);
        let done = event(own, 0);
        ok(own.cuEventRecord(done, NULL));
        ok(own.cuStreamWaitEvent(NULL, done, 0));
        ok(own.cuEventSynchronize(done));
        ok(own.cuStreamQuery(NULL));
    }
    let store = function(own, load(own, KERNELS), "store");
    let (mut target, mut number) = (a, 5_u32);
    ok(launch(own, store, NULL, &mut [argument(&mut target), argument(&mut number)]));
    assert_eq!(read(own, a, 4), 5_u32.to_ne_bytes());
}

#[test]
fn threads_do_not_wait_for_each_others_default_streams() {
    let (cuda, own, context) = both();
    let held = Busy::new(&own, NULL);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            elsewhere(&cuda, context, || all_kinds(&own));
            sender.send(()).unwrap();
        });
        // Waiting for the busy stream, it would not come before this is dropped.
        let _held = held;
        receiver.recv_timeout(SOON).expect("nothing waits for the other thread's stream");
        assert_eq!(unsafe { own.cuStreamQuery(NULL) }, CUresult::CUDA_ERROR_NOT_READY);
    });
    ok(unsafe { own.cuStreamSynchronize(NULL) });
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn note(&self, cuda: &Driver, stream: CUstream, what: &'static str) {
        let log = self.clone();
        ok(host_function(cuda, stream, move || log.0.lock().unwrap().push(what)));
    }

    fn seen(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn a_threads_own_stream_and_the_legacy_stream_wait_for_each_other() {
    let (cuda, own, _) = both();
    let log = Log::default();
    let mut held = Busy::new(&cuda, NULL);
    log.note(&cuda, NULL, "legacy");
    log.note(&own, NULL, "own");
    assert_eq!(unsafe { own.cuStreamQuery(NULL) }, CUresult::CUDA_ERROR_NOT_READY);
    assert!(log.seen().is_empty());
    held.release();
    ok(unsafe { own.cuStreamSynchronize(NULL) });
    assert_eq!(log.seen(), ["legacy", "own"]);

    let mut held = Busy::new(&own, NULL);
    log.note(&own, NULL, "own again");
    log.note(&cuda, NULL, "legacy again");
    assert_eq!(unsafe { cuda.cuStreamQuery(NULL) }, CUresult::CUDA_ERROR_NOT_READY);
    held.release();
    ok(unsafe { cuda.cuStreamSynchronize(NULL) });
    assert_eq!(log.seen(), ["legacy", "own", "own again", "legacy again"]);
}

/// A copy that returns when it is done, by one of the two, beside work of the other.
fn copy_waits(cuda: &Arc<Driver>, context: usize, busy: &Driver, copying: &Driver, waits: bool) {
    let memory = alloc(cuda, 4);
    let held = Busy::new(busy, NULL);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            elsewhere(cuda, context, || write(copying, memory, &[1, 2, 3, 4]));
            sender.send(()).unwrap();
        });
        // Released also where this fails: the scope waits for the thread.
        let mut held = held;
        if waits {
            assert!(receiver.recv_timeout(EARLY).is_err());
            held.release();
        }
        receiver.recv_timeout(SOON).expect("the copy returns");
    });
    ok(unsafe { cuda.cuCtxSynchronize() });
}

#[test]
fn copies_that_wait_do_so_on_the_default_stream_of_their_form() {
    let (cuda, own, context) = both();
    copy_waits(&cuda, context, &cuda, &own, true);
    copy_waits(&cuda, context, &own, &cuda, true);
    copy_waits(&cuda, context, &cuda, &cuda, true);
    copy_waits(&cuda, context, &own, &own, false);
}

#[test]
fn handles_mean_the_same_stream_in_both_forms() {
    let (cuda, own, context) = both();
    let id = |cuda: &Driver, stream| {
        let mut id = 0;
        ok(unsafe { cuda.cuStreamGetId(stream, &mut id) });
        id
    };
    let stream = stream(&cuda, 0);
    for handle in [CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, stream] {
        assert_eq!(id(&cuda, handle), id(&own, handle));
    }
    assert_eq!(id(&cuda, NULL), id(&cuda, CU_STREAM_LEGACY));
    assert_eq!(id(&own, NULL), id(&cuda, CU_STREAM_PER_THREAD));
    // Each thread has its own.
    let here = id(&own, NULL);
    let there = elsewhere(&cuda, context, || id(&own, NULL));
    assert_ne!(here, there);
}

#[test]
fn a_threads_own_stream_is_captured_and_the_legacy_stream_is_not() {
    let (cuda, own, _) = both();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let memory = alloc(&cuda, 4);
    unsafe {
        let code = cuda.cuStreamBeginCapture(NULL, mode);
        assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        let (mut graph, mut exec, mut nodes) = (null_mut(), null_mut(), 0);
        ok(own.cuStreamBeginCapture(NULL, mode));
        ok(own.cuMemsetD8Async(memory, 6, 4, NULL));
        ok(own.cuStreamEndCapture(NULL, &mut graph));
        ok(own.cuGraphGetNodes(graph, null_mut(), &mut nodes));
        assert_eq!(nodes, 1);
        ok(own.cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(own.cuGraphLaunch(exec, NULL));
        ok(own.cuStreamSynchronize(NULL));
        assert_eq!(read(&cuda, memory, 4), [6; 4]);

        // A copy that waits would wait for what is only written down.
        ok(own.cuStreamBeginCapture(NULL, mode));
        let code = own.cuMemcpyHtoD(memory, [1_u8; 4].as_ptr().cast(), 4);
        assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        let code = own.cuStreamEndCapture(NULL, &mut graph);
        assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

/// The log's callback runs in the middle of a call; the calls that it makes have their own default stream.
#[test]
fn a_callback_in_a_call_has_the_default_stream_of_its_own_calls() {
    struct Ids {
        cuda: Arc<Driver>,
        seen: Mutex<Vec<u64>>,
    }
    unsafe extern "C" fn note(data: *mut c_void, _: CUlogLevel, _: *mut c_char, _: usize) {
        let ids = unsafe { &*data.cast::<Ids>() };
        let mut id = 0;
        if unsafe { ids.cuda.cuStreamGetId(NULL, &mut id) } == CUresult::SUCCESS {
            ids.seen.lock().unwrap().push(id);
        }
    }
    if on_system() {
        return skip::skipped("a driver's log is not written by a call of the test's choice");
    }
    let (cuda, own, _) = both();
    let (mut legacy, mut handle) = (0, null_mut());
    ok(unsafe { cuda.cuStreamGetId(NULL, &mut legacy) });
    let ids = Ids { cuda: cuda.clone(), seen: Mutex::default() };
    let data = std::ptr::from_ref(&ids).cast_mut().cast();
    ok(unsafe { cuda.cuLogsRegisterCallback(Some(note), data, &mut handle) });
    // Other tests' calls may fail meanwhile, on threads with other contexts: this one's is the context of this thread.
    assert_eq!(unsafe { own.cuStreamGetId(NULL, null_mut()) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(unsafe { cuda.cuLogsUnregisterCallback(handle) });
    assert!(ids.seen.lock().unwrap().contains(&legacy));
}
