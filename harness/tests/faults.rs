//! Calls that fail because a spy is told so, and drivers that lack functions.

#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::{CUdevice_attribute, CUresult, CUstreamCaptureMode, FUNCTIONS};
use cuda_harness::{Error, Fault, Spy, SpyOptions, Value};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use support::{Cuda, FILL, ok, spy};

const NO_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
const UNKNOWN: CUresult = CUresult::CUDA_ERROR_UNKNOWN;
const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

/// Allocates and frees that often; the answers to the allocations.
fn allocations(cuda: &Cuda, count: usize) -> Vec<Option<CUresult>> {
    let one = |_| {
        let memory = cuda.alloc(64);
        if let Ok(memory) = memory {
            ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
        }
        memory.err()
    };
    (0..count).map(one).collect()
}

#[test]
fn the_nth_call_fails_or_all_from_the_nth_on() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let third = spy.inject(Fault::on("cuMemAlloc").nth(3).answer(NO_MEMORY)).unwrap();
    assert_eq!(allocations(&cuda, 4), [None, None, Some(NO_MEMORY), None]);
    assert_eq!(third.hits(), 1);
    let rest = spy.inject(Fault::on("cuMemAlloc_v2").from_nth(2)).unwrap();
    assert_eq!(allocations(&cuda, 4), [None, Some(UNKNOWN), Some(UNKNOWN), Some(UNKNOWN)]);
    rest.lift();
    assert_eq!((allocations(&cuda, 1), rest.hits()), (vec![None], 3));
    let failed = spy.calls().filter(|call| call.is_injected());
    assert_eq!(failed.names(), ["cuMemAlloc_v2"; 4]);
    assert_eq!(
        failed[0].snapshot(),
        "cuMemAlloc_v2(dptr: pointer, bytesize: 64) = CUDA_ERROR_OUT_OF_MEMORY (injected)"
    );
}

#[test]
fn every_call_can_fail() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.inject(Fault::any().nth(2)).unwrap();
    assert!(spy.driver().version().is_ok());
    assert_eq!(spy.driver().version(), Err(UNKNOWN));
    assert!(spy.driver().version().is_ok());
    spy.inject(Fault::any().answer(NO_MEMORY)).unwrap();
    assert_eq!((spy.driver().version(), cuda.alloc(1)), (Err(NO_MEMORY), Err(NO_MEMORY)));
    spy.heal();
    assert!(spy.driver().version().is_ok());
}

#[test]
fn a_predicate_sees_the_call() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let large = |call: &cuda_harness::Call| {
        assert_eq!((call.answer(), call.took()), (None, None));
        call.argument("bytesize").and_then(|size| size.integer()).is_some_and(|size| size > 100)
    };
    // Only what the predicate accepts is counted.
    spy.inject(Fault::on("cuMemAlloc").when(large).nth(2).answer(NO_MEMORY)).unwrap();
    let sizes = [64, 128, 64, 128, 128];
    let answers: Vec<_> = sizes.map(|size| cuda.alloc(size)).into_iter().collect();
    assert_eq!(
        answers.iter().map(|answer| answer.is_ok()).collect::<Vec<_>>(),
        [true, true, true, false, true]
    );
    for memory in answers.into_iter().flatten() {
        ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
    }
}

#[test]
fn a_predicate_may_call_the_driver_and_ask_the_spy() {
    let spy = Arc::new(spy());
    let asked = Arc::new(AtomicUsize::new(0));
    let (inside, count) = (Arc::downgrade(&spy), asked.clone());
    let fault = Fault::any().when(move |call| {
        count.fetch_add(1, Ordering::SeqCst);
        let spy = inside.upgrade().unwrap();
        assert!(spy.driver().version().is_ok(), "it is not asked about its own calls");
        assert_eq!(spy.calls().len(), 2);
        call.number() == 1
    });
    spy.inject(fault).unwrap();
    assert_eq!(spy.driver().version(), Err(UNKNOWN));
    assert_eq!((asked.load(Ordering::SeqCst), spy.panics()), (1, vec![]));
}

/// Another fault meets the calls of a predicate; and after a panic in it, it is asked as before.
#[test]
fn a_predicate_that_calls_the_driver_meets_other_faults() {
    let spy = Arc::new(spy());
    let inside = Arc::downgrade(&spy);
    let asked = spy.inject(Fault::on("cuInit").when(move |call| {
        let other = inside.upgrade().unwrap().driver().version();
        assert!(call.number() > 1, "the first time");
        other == Err(UNKNOWN)
    }));
    let other = spy.inject(Fault::on("cuDriverGetVersion")).unwrap();
    let init = || unsafe { spy.driver().cuInit(0) };
    assert_eq!((init(), init(), init()), (CUresult::SUCCESS, UNKNOWN, UNKNOWN));
    assert_eq!((asked.unwrap().hits(), other.hits(), spy.panics().len()), (2, 3, 1));
}

#[test]
fn there_is_no_call_zero() {
    let spy = spy();
    for fault in [Fault::any().nth(0), Fault::on("cuInit").from_nth(0)] {
        assert!(matches!(spy.inject(fault), Err(Error::CallZero)));
    }
    assert!(spy.driver().version().is_ok());
}

#[test]
fn a_panic_in_a_predicate_is_kept_and_the_call_goes_on() {
    let spy = spy();
    spy.inject(Fault::on("cuDriverGetVersion").when(|call| panic!("on purpose, in call {}", call.number())))
        .unwrap();
    assert!(spy.driver().version().is_ok());
    assert_eq!(spy.panics(), ["call 1, cuDriverGetVersion: on purpose, in call 1"]);
    // The spy is whole.
    assert!(spy.driver().version().is_ok());
    assert_eq!(spy.calls().len(), 2);
}

/// What is freed is freed: a driver whose earlier work failed answers so too.
#[test]
fn what_gives_something_back_does_it_and_answers_the_error() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let before = cuda_emulator::driver();
    let memory = cuda.alloc(64).unwrap();
    spy.inject(Fault::on("cuMemFree")).unwrap();
    assert_eq!(unsafe { cuda.driver.cuMemFree(memory) }, UNKNOWN);
    assert_eq!(unsafe { before.cuMemFree(memory) }, CUresult::CUDA_ERROR_INVALID_VALUE, "it is not freed");
    assert_eq!(spy.ledger().live().len(), 1, "the context alone is live");
}

#[test]
fn a_call_can_be_done_and_answer_an_error_all_the_same() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.inject(Fault::on("cuEventCreate").done_all_the_same()).unwrap();
    let mut event = std::ptr::null_mut();
    assert_eq!(unsafe { cuda.driver.cuEventCreate(&mut event, 0) }, UNKNOWN);
    // It is lost, as far as the program knows, and the ledger says so.
    assert_eq!(spy.ledger().count(cuda_harness::Kind::Event), 1);
    assert_eq!(spy.calls().of("cuEventCreate")[0].arguments()[0].received(), None);
    ok(unsafe { cuda.driver.cuEventDestroy(event) }).unwrap();
}

#[test]
fn after_a_sticky_fault_every_call_answers_it() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let (stream, module) = (cuda.stream(), cuda.load(FILL));
    let (fill, memory) = (cuda.function(module, "fill"), cuda.alloc(256).unwrap());
    spy.inject(Fault::launches().nth(2).sticky(ILLEGAL)).unwrap();
    let launch = || cuda.fill(fill, stream, memory, 64, 1);
    // The second launch is taken, and its kernel has the fault.
    assert_eq!((launch(), spy.sticky(), launch()), (Ok(()), None, Ok(())));
    assert_eq!(spy.sticky(), Some(ILLEGAL));
    assert_eq!((launch(), cuda.alloc(1)), (Err(ILLEGAL), Err(ILLEGAL)));
    let (mut value, driver) = (0, &cuda.driver);
    unsafe {
        // These ask no context.
        assert!(driver.version().is_ok());
        assert_eq!(driver.cuDeviceGetCount(&mut value), CUresult::SUCCESS);
        // These give back.
        assert_eq!(driver.cuStreamSynchronize(stream), ILLEGAL);
        assert_eq!(driver.cuMemFree(memory), ILLEGAL);
        assert_eq!(driver.cuModuleUnload(module), ILLEGAL);
        assert_eq!(driver.cuStreamDestroy(stream), ILLEGAL);
    }
    assert_eq!(spy.ledger().live().len(), 1, "the context alone is live");
    spy.heal();
    assert_eq!(allocations(&cuda, 1), [None]);
}

#[test]
fn memory_ends_at_its_limit() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.limit_memory(1000);
    let first = cuda.alloc(600).unwrap();
    assert_eq!(cuda.alloc(401), Err(NO_MEMORY));
    let second = cuda.alloc(400).unwrap();
    let (mut pitched, mut pitch) = (0, 0);
    ok(unsafe { cuda.driver.cuMemFree(first) }).unwrap();
    let mut alloc = |height| {
        let (pitched, pitch) = (&raw mut pitched, &raw mut pitch);
        unsafe { cuda.driver.cuMemAllocPitch(pitched, pitch, 100, height, 4) }
    };
    assert_eq!(alloc(7), NO_MEMORY);
    assert_eq!(alloc(6), CUresult::SUCCESS);
    assert_eq!(cuda.alloc(1), Err(NO_MEMORY));
    for memory in [second, pitched] {
        ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
    }
    assert_eq!(allocations(&cuda, 1), [None]);
    spy.heal();
    let much = cuda.alloc(5000).unwrap();
    ok(unsafe { cuda.driver.cuMemFree(much) }).unwrap();
}

/// Threads that allocate side by side do not pass the limit together.
#[test]
fn memory_ends_at_its_limit_for_all_threads_together() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.limit_memory(64 * 10);
    let taken = AtomicUsize::new(0);
    let made: Vec<u64> = thread::scope(|threads| {
        let one = || {
            cuda.make_current();
            let made: Vec<_> = (0..10).filter_map(|_| cuda.alloc(64).ok()).collect();
            taken.fetch_add(made.len(), Ordering::Relaxed);
            made
        };
        let threads: Vec<_> = (0..4).map(|_| threads.spawn(one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let taken = taken.load(Ordering::Relaxed);
    assert!((1..=10).contains(&taken), "{taken}");
    assert_eq!(cuda.alloc(64 * 11 - 64 * taken), Err(NO_MEMORY));
    for memory in made {
        ok(unsafe { cuda.driver.cuMemFree(memory) }).unwrap();
    }
}

/// Both calls have begun before either ends.
#[test]
fn what_other_threads_ask_for_counts_before_they_have_it() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let meet = Barrier::new(2);
    let together = move |_: &cuda_harness::Call| {
        meet.wait();
        false
    };
    spy.inject(Fault::on("cuMemAlloc").when(together)).unwrap();
    spy.limit_memory(100);
    let made = thread::scope(|threads| {
        let alloc = || {
            cuda.make_current();
            cuda.alloc(64).ok()
        };
        let threads = [threads.spawn(alloc), threads.spawn(alloc)];
        threads.map(|thread| thread.join().unwrap())
    });
    let made: Vec<u64> = made.into_iter().flatten().collect();
    assert_eq!(made.len(), 1);
    ok(unsafe { cuda.driver.cuMemFree(made[0]) }).unwrap();
}

/// A fault that is injected in the middle, while other threads drop and make things.
#[test]
fn faults_meet_drops_of_other_threads() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                cuda.make_current();
                for _ in 0..100 {
                    if let Ok(memory) = cuda.alloc(64) {
                        let _ = unsafe { cuda.driver.cuMemFree(memory) };
                    }
                }
            });
        }
        for _ in 0..50 {
            let alloc = spy.inject(Fault::on("cuMemAlloc").nth(1)).unwrap();
            let free = spy.inject(Fault::on("cuMemFree").nth(1).answer(ILLEGAL)).unwrap();
            thread::yield_now();
            alloc.lift();
            free.lift();
        }
    });
    spy.heal();
    let ledger = spy.ledger();
    assert_eq!((ledger.live().len(), ledger.problems()), (1, &[][..]), "{ledger}");
}

#[test]
fn a_hidden_function_is_missing() {
    let spy = SpyOptions::new().hide("cuMemGetInfo").over(&cuda_emulator::driver()).unwrap();
    let driver = spy.driver();
    assert!(!driver.has("cuMemGetInfo") && driver.has("cuMemAlloc"));
    let code = unsafe { driver.cuMemGetInfo(&mut 0, &mut 0) };
    assert_eq!(code, CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    assert!(spy.calls().is_empty());
}

#[test]
fn a_driver_of_a_version_has_what_that_version_had() {
    let base = cuda_emulator::driver();
    let spy = SpyOptions::new().as_of(11_080).over(&base).unwrap();
    for function in FUNCTIONS {
        let name = function.name();
        // Had another name then.
        let expected = base.has(name) && (function.since <= 11_080 || name == "cuEventElapsedTime_v2");
        assert_eq!(spy.driver().has(name), expected, "{name}");
    }
    assert_eq!(spy.driver().version(), Ok(11_080));
    let version = spy.calls()[0].argument("driverVersion");
    assert_eq!(version, Some(Value::Signed(11_080)));
    // Attributes and limits that came later are refused, and the base is not asked.
    let cuda = Cuda::new(spy.driver());
    let ask = |attribute| unsafe { cuda.driver.cuDeviceGetAttribute(&mut 0, attribute, 0) };
    assert_eq!(ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE), CUresult::SUCCESS);
    let later = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
    assert_eq!(ask(later), CUresult::CUDA_ERROR_INVALID_VALUE);
    let current = SpyOptions::new().as_of(12_010).over(&base).unwrap();
    assert_eq!(unsafe { current.driver().cuDeviceGetAttribute(&mut 0, later, 0) }, CUresult::SUCCESS);
    // It does not make a driver newer.
    let spy = SpyOptions::new().as_of(99_000).over(&base).unwrap();
    assert_eq!(spy.driver().version(), base.version());
    assert_eq!(Cuda::new(spy.driver()).program(), Ok(vec![7; 64]));
}

#[test]
fn names_that_are_wrong_are_errors() {
    let base = cuda_emulator::driver();
    let wrong = |name: &str| Some(Error::NoSuchFunction { name: name.into() });
    assert_eq!(SpyOptions::new().hide("cuMemAllok").over(&base).err(), wrong("cuMemAllok"));
    assert_eq!(Spy::over(&base).unwrap().inject(Fault::on("cuNothing")).err(), wrong("cuNothing"));
}

/// A call that was not made cannot have succeeded: whoever believed it would read what nobody wrote.
#[test]
fn success_is_no_fault() {
    let spy = spy();
    let lies = [
        Fault::on("cuMemHostAlloc").answer(CUresult::SUCCESS),
        Fault::any().nth(3).answer(CUresult::SUCCESS).done_all_the_same(),
        Fault::launches().sticky(CUresult::SUCCESS),
    ];
    for lie in lies {
        let text = format!("{lie:?}");
        assert_eq!(spy.inject(lie).err(), Some(Error::SuccessIsNoFault), "{text}");
    }
    let cuda = Cuda::new(spy.driver());
    assert_eq!(cuda.program(), Ok(vec![7; 64]));
}

/// A sticky code says that the work is over: it has to be.
#[test]
fn a_wait_that_answers_a_fault_has_waited() {
    unsafe extern "C" fn late(done: *mut std::ffi::c_void) {
        thread::sleep(std::time::Duration::from_millis(200));
        unsafe { &*done.cast::<AtomicUsize>() }.store(1, Ordering::Release);
    }
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    let stream = cuda.stream();
    for name in ["cuStreamSynchronize", "cuCtxSynchronize", "cuStreamQuery"] {
        let done = AtomicUsize::new(0);
        let at = (&raw const done).cast_mut().cast();
        ok(unsafe { cuda.driver.cuLaunchHostFunc(stream, Some(late), at) }).unwrap();
        let fault = spy.inject(Fault::on(name).answer(ILLEGAL)).unwrap();
        let answer = match name {
            "cuStreamSynchronize" => unsafe { cuda.driver.cuStreamSynchronize(stream) },
            "cuCtxSynchronize" => unsafe { cuda.driver.cuCtxSynchronize() },
            _ => unsafe { cuda.driver.cuStreamQuery(stream) },
        };
        let was_done = done.load(Ordering::Acquire);
        fault.lift();
        ok(unsafe { cuda.driver.cuStreamSynchronize(stream) }).unwrap();
        assert_eq!((answer, was_done), (ILLEGAL, 1), "{name}");
    }
    ok(unsafe { cuda.driver.cuStreamDestroy(stream) }).unwrap();
}

/// Where the driver refuses to wait, the answer is its own: the work goes on.
#[test]
fn a_wait_that_the_driver_refuses_does_not_answer_a_fault() {
    let instance = cuda_emulator::Instance::new().unwrap();
    let spy = Spy::over(&instance.driver()).unwrap();
    let cuda = Cuda::new(spy.driver());
    let (stream, other) = (cuda.stream(), cuda.stream());
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(unsafe { cuda.driver.cuStreamBeginCapture(other, mode) }).unwrap();
    spy.inject(Fault::any().answer(ILLEGAL)).unwrap();
    let refused = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    assert_eq!(unsafe { cuda.driver.cuCtxSynchronize() }, refused);
    // What it does not refuse is over.
    assert_eq!(unsafe { cuda.driver.cuStreamSynchronize(stream) }, ILLEGAL);
    spy.heal();
    let _ = unsafe { cuda.driver.cuStreamEndCapture(other, &mut null_mut()) };
}
