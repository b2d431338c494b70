//! Tests of what tests of asynchronous code use: holds, turns, waits, child processes, skips, and functions in a driver's place.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use cuda_driver_sys::{CUresult, pfn};
use cuda_harness::{
    Error, Fault, Hold, SKIPPED_FILE, Spy, alone, alone_within, child, or_skip, replaced, skipped,
    wait_until, wait_until_within,
};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use support::{Cuda, ok, spy};

#[test]
fn a_stream_goes_on_when_its_hold_ends() {
    for is_dropped in [false, true] {
        let cuda = Cuda::new(cuda_emulator::driver());
        let (stream, memory) = (cuda.stream(), cuda.alloc(64).unwrap());
        let mut seen = [0_u8; 64];
        unsafe {
            let hold = Hold::on(&cuda.driver, stream).unwrap();
            ok(cuda.driver.cuMemsetD8Async(memory, 7, 64, stream)).unwrap();
            wait_until("the stream is held", || hold.is_reached()).unwrap();
            assert_eq!(cuda.driver.cuStreamQuery(stream), CUresult::CUDA_ERROR_NOT_READY);
            if is_dropped {
                drop(hold);
            } else {
                hold.release().unwrap();
            }
            ok(cuda.driver.cuMemcpyDtoHAsync(seen.as_mut_ptr().cast(), memory, 64, stream)).unwrap();
            ok(cuda.driver.cuStreamSynchronize(stream)).unwrap();
            assert_eq!(seen, [7; 64]);
            ok(cuda.driver.cuMemFree(memory)).unwrap();
            ok(cuda.driver.cuStreamDestroy(stream)).unwrap();
        }
    }
}

#[test]
fn a_hold_is_reached_after_the_work_before_it() {
    let cuda = Cuda::new(cuda_emulator::driver());
    let stream = cuda.stream();
    let (first, second) = unsafe { (Hold::on(&cuda.driver, stream), Hold::on(&cuda.driver, stream)) };
    let (first, second) = (first.unwrap(), second.unwrap());
    wait_until("the first is reached", || first.is_reached()).unwrap();
    assert!(!second.is_reached());
    first.release().unwrap();
    wait_until("the second is reached", || second.is_reached()).unwrap();
    second.release().unwrap();
    ok(unsafe { cuda.driver.cuStreamSynchronize(stream) }).unwrap();
    ok(unsafe { cuda.driver.cuStreamDestroy(stream) }).unwrap();
}

#[test]
fn a_hold_that_was_too_long_says_so() {
    let limit = Duration::from_millis(1);
    let late = || {
        let (hold, wait) = Hold::within(limit);
        // It returns by itself.
        wait();
        hold
    };
    assert_eq!(late().release(), Err(Error::HeldTooLong { limit }));
    let panic = catch_unwind(AssertUnwindSafe(|| drop(late()))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("held for 1ms"), "{panic:?}");
    // Two panics at once would end the process.
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _late = late();
        panic!("the test's own");
    }));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"the test's own"));
    // A hold whose function was never called is not late.
    Hold::within(limit).0.release().unwrap();
}

#[test]
fn a_stream_that_cannot_be_held_is_an_error() {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.inject(Fault::on("cuLaunchHostFunc").answer(CUresult::CUDA_ERROR_UNKNOWN)).unwrap();
    let error = unsafe { Hold::on(&cuda.driver, std::ptr::null_mut()) }.unwrap_err();
    assert_eq!(error, Error::Call { function: "cuLaunchHostFunc", code: CUresult::CUDA_ERROR_UNKNOWN });
    assert_eq!(error.to_string(), "cuLaunchHostFunc returned CUDA_ERROR_UNKNOWN (999)");
}

#[test]
fn tests_alone_take_turns() {
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let _alone = alone();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 1);
    // A test that failed lets the next one run.
    assert!(
        thread::spawn(|| {
            let _alone = alone();
            panic!("on purpose");
        })
        .join()
        .is_err()
    );
    drop(alone());
}

#[test]
fn a_test_that_never_ends_ends_the_process() {
    const NAME: &str = "a_test_that_never_ends_ends_the_process";
    if !child::is_child(NAME) {
        let ended = child::run(NAME).unwrap();
        assert_eq!(ended.code, None, "a signal ended it: {}", ended.stderr);
        assert!(!ended.ran());
        return assert!(
            ended.stderr.contains(&format!("{NAME} did not end within 100ms")),
            "{}",
            ended.stderr
        );
    }
    let _alone = alone_within(Duration::from_millis(100));
    loop {
        thread::park();
    }
}

#[test]
fn a_wait_ends_with_its_condition_or_its_time() {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(5));
            done.store(true, Ordering::SeqCst);
        });
        wait_until("the thread is done", || done.load(Ordering::SeqCst)).unwrap();
    });
    let mut asked = 0;
    let ask = || {
        asked += 1;
        false
    };
    let waited = Duration::from_millis(3);
    let error = wait_until_within(waited, "it is so", ask).unwrap_err();
    assert_eq!(error, Error::TimedOut { what: "it is so".into(), waited });
    assert!(asked > 1);
    wait_until_within(Duration::ZERO, "it is so at once", || true).unwrap();
}

#[test]
fn a_child_runs_one_test_with_its_variables() {
    const NAME: &str = "a_child_runs_one_test_with_its_variables";
    if child::is_child(NAME) {
        println!("the variable is {:?}", std::env::var("CUDA_LAUNCH_TEST_VARIABLE"));
        eprintln!("and this is an error");
        return;
    }
    let ended = child::run_with(NAME, &[("CUDA_LAUNCH_TEST_VARIABLE", "set".to_owned())]).unwrap();
    assert!(ended.ran(), "{ended:?}");
    assert!(ended.stdout.contains("the variable is Ok(\"set\")"), "{}", ended.stdout);
    assert!(ended.stderr.contains("and this is an error"), "{}", ended.stderr);
    let nobody = child::run("no_test_of_this_name").unwrap();
    assert_eq!((nobody.code, nobody.ran()), (Some(0), false));
}

#[test]
fn a_skipped_test_adds_a_line_to_the_file() {
    const NAME: &str = "a_skipped_test_adds_a_line_to_the_file";
    if child::is_child(NAME) {
        skipped("there is one device\nand a second line");
        assert_eq!(or_skip(Some(3), "unused"), Some(3));
        assert_eq!(or_skip(None::<u32>, "no compiler"), None);
        return;
    }
    let file = std::env::temp_dir().join(format!("cuda-harness-skipped-{}", std::process::id()));
    let name = file.to_str().unwrap().to_owned();
    let ended = child::run_with(NAME, &[(SKIPPED_FILE, name)]).unwrap();
    assert!(ended.ran(), "{ended:?}");
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let expected =
        format!("skipped: waiting::{NAME}: there is one device\nskipped: waiting::{NAME}: no compiler\n");
    assert_eq!(lines, expected);
    assert!(lines.lines().all(|line| ended.stderr.contains(line)), "{}", ended.stderr);
    // Nobody would count what cannot be written.
    let ended = child::run_with(NAME, &[(SKIPPED_FILE, "/no/such/folder/file".to_owned())]).unwrap();
    assert!(!ended.ran() && ended.stderr.contains("/no/such/folder/file"), "{ended:?}");
}

#[test]
fn functions_take_the_place_of_a_drivers() {
    unsafe extern "C" fn seven(count: *mut c_int) -> CUresult {
        unsafe { count.write(7) };
        CUresult::SUCCESS
    }
    let replace = |name: &str| match name {
        "cuDeviceGetCount" => seven as pfn::cuDeviceGetCount as *const c_void,
        _ => null(),
    };
    let base = cuda_emulator::driver();
    let spy = Spy::over(&unsafe { replaced(&base, replace) }).unwrap();
    let cuda = Cuda::new(spy.driver());
    let mut count = 0;
    ok(unsafe { cuda.driver.cuDeviceGetCount(&mut count) }).unwrap();
    assert_eq!((count, cuda.driver.version()), (7, base.version()));
    assert_eq!(spy.count("cuDeviceGetCount"), 1);
}
