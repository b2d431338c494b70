//! What a search for failures finds in programs that are wrong in one way each, and in one that is not.

#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::{CUresult, Driver};
use cuda_emulator::Instance;
use cuda_harness::{EveryFailure, Finding, Kind, Mistake, Report, What, every_failure};
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::{Cuda, ok};

const UNKNOWN: CUresult = CUresult::CUDA_ERROR_UNKNOWN;
const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

/// Holds device memory, and frees it when dropped.
struct Memory<'a>(&'a Driver, u64);

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        let _ = unsafe { self.0.cuMemFree(self.1) };
    }
}

/// Holds a share in the primary context.
struct Context<'a>(&'a Driver);

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let _ = unsafe { self.0.cuDevicePrimaryCtxRelease(0) };
    }
}

/// A context, made current, and what `work` does in it.
fn in_context(cuda: &Driver, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let mut context = null_mut();
    check(unsafe { cuda.cuInit(0) })?;
    check(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) })?;
    let _context = Context(cuda);
    check(unsafe { cuda.cuCtxSetCurrent(context) })?;
    work()
}

fn check(code: CUresult) -> Result<(), String> {
    ok(code).map_err(|code| format!("{code:?}"))
}

fn alloc(cuda: &Driver) -> Result<Memory<'_>, String> {
    let mut memory = 0;
    check(unsafe { cuda.cuMemAlloc(&mut memory, 64) })?;
    Ok(Memory(cuda, memory))
}

/// Wrong in no way.
fn good(cuda: Arc<Driver>) -> Result<(), String> {
    in_context(&cuda, || {
        let (a, _b) = (alloc(&cuda)?, alloc(&cuda)?);
        check(unsafe { cuda.cuMemsetD8(a.1, 0, 64) })?;
        check(unsafe { cuda.cuCtxSynchronize() })
    })
}

fn search(
    how: &EveryFailure,
    program: impl Fn(&Driver) -> Result<(), String> + Send + Sync + 'static,
) -> Report {
    how.run(&cuda_emulator::driver(), move |cuda| program(&cuda)).unwrap()
}

fn one_code() -> EveryFailure {
    EveryFailure::new().codes(&[UNKNOWN]).patience(Duration::ZERO)
}

/// The function that failed, and whether for good.
fn place(finding: &Finding) -> (&'static str, bool) {
    finding.site().map_or(("", false), |site| (site.function(), site.is_lasting()))
}

#[test]
fn nothing_is_found_in_a_good_program() {
    let report = every_failure(&cuda_emulator::driver(), good).unwrap();
    report.assert_clean();
    // 10 calls, 5 codes, once or from then on.
    assert_eq!((report.calls(), report.sites(), report.functions().len()), (10, 100, 8));
    // What frees does it all the same, and its answer is not looked at.
    let swallowed: Vec<_> = report.swallowed().iter().map(|(name, count)| (*name, *count)).collect();
    assert_eq!(swallowed, [("cuDevicePrimaryCtxRelease_v2", 10), ("cuMemFree_v2", 20)]);
    assert_eq!(report.to_string(), "10 calls; 100 failures injected into 8 functions\n");
}

#[test]
fn a_leak_is_found_with_the_call_that_made_it() {
    let report = search(&one_code(), |cuda| {
        in_context(cuda, || {
            let a = alloc(cuda)?;
            let b = alloc(cuda).inspect_err(|_| std::mem::forget(Memory(cuda, a.1)));
            if b.is_err() {
                std::mem::forget(a);
                return b.map(|_| ());
            }
            Ok(())
        })
    });
    assert_eq!(
        report.findings().iter().map(place).collect::<Vec<_>>(),
        [("cuMemAlloc_v2", false), ("cuMemAlloc_v2", true)]
    );
    let What::Leaves(ledger) = report.findings()[0].what() else { panic!("{report}") };
    assert_eq!((ledger.count(Kind::Memory), ledger.problems().len()), (1, 0));
    assert_eq!(ledger.live()[0].function(), "cuMemAlloc_v2");
    assert_eq!(report.findings()[0].site().map(|site| site.number()), Some(5));
}

#[test]
fn a_panic_is_found_with_its_message() {
    let report = search(&one_code(), |cuda| {
        in_context(cuda, || {
            let memory = alloc(cuda)?;
            assert_eq!(unsafe { cuda.cuMemsetD8(memory.1, 0, 64) }, CUresult::SUCCESS, "I was sure of that");
            Ok(())
        })
    });
    assert_eq!(
        report.findings().iter().map(place).collect::<Vec<_>>(),
        [("cuMemsetD8_v2", false), ("cuMemsetD8_v2", true)]
    );
    assert!(
        matches!(report.findings()[0].what(), What::Panics(text) if text.contains("I was sure of that")),
        "{report}"
    );
}

/// What it panics with panics when it is dropped: the thread ends without an answer.
#[test]
fn a_panic_that_cannot_be_dropped_is_found() {
    struct Unlucky;
    impl Drop for Unlucky {
        fn drop(&mut self) {
            panic!("dropped, too");
        }
    }
    let report = search(&one_code(), |cuda| match unsafe { cuda.cuInit(0) } {
        CUresult::SUCCESS => cuda.version().map(drop).map_err(|code| format!("{code:?}")),
        _ => std::panic::panic_any(Unlucky),
    });
    assert_eq!(
        report.findings().iter().map(place).collect::<Vec<_>>(),
        [("cuInit", false), ("cuInit", true)],
        "{report}"
    );
    assert!(matches!(report.findings()[1].what(), What::Panics(text) if text == "dropped, too"), "{report}");
    // The search went on: the second call failed, too.
    assert_eq!(report.sites(), 4);
}

#[test]
fn a_double_free_is_found() {
    let report = search(&one_code(), |cuda| {
        in_context(cuda, || {
            let memory = alloc(cuda)?;
            // It takes the error for one that left the memory alone, and `drop` frees again.
            check(unsafe { cuda.cuMemFree(memory.1) })?;
            std::mem::forget(memory);
            Ok(())
        })
    });
    let What::Leaves(ledger) = report.findings()[0].what() else { panic!("{report}") };
    assert_eq!(ledger.problems()[0].mistake(), Mistake::DoubleFree);
    assert_eq!(place(&report.findings()[0]), ("cuMemFree_v2", false));
}

/// It asks again until it is answered: once is fine, forever is not. Then it ends because its calls no longer fail.
#[test]
fn a_loop_without_an_end_is_found() {
    let how = one_code().limit(Duration::from_millis(300));
    let report = search(&how, |cuda| {
        while cuda.version().is_err() {
            std::thread::yield_now();
        }
        check(unsafe { cuda.cuInit(0) })
    });
    // The search goes on to the second call.
    assert_eq!((report.sites(), report.findings().len()), (4, 1), "{report}");
    let What::Hangs(Some(call)) = report.findings()[0].what() else { panic!("{report}") };
    assert!(
        call.contains("cuDriverGetVersion") && report.findings()[0].site().unwrap().is_lasting(),
        "{report}"
    );
}

/// One that never ends: the search does, and says where.
#[test]
fn a_program_that_is_stuck_ends_the_search() {
    let how = one_code().limit(Duration::from_millis(300));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let report = search(&how, move |cuda| {
        let failed = cuda.version().is_err();
        while failed && !stopped.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        cuda.version().map(|_| ()).map_err(|code| format!("{code:?}"))
    });
    stop.store(true, Ordering::Relaxed);
    assert_eq!((report.calls(), report.sites(), report.findings().len()), (2, 1, 1), "{report}");
    assert!(matches!(report.findings()[0].what(), What::Hangs(_)), "{report}");
}

#[test]
fn calls_after_a_fault_are_found() {
    let how = EveryFailure::new().codes(&[ILLEGAL]).quiet_after_fault();
    let clean = how.run(&cuda_emulator::driver(), good).unwrap();
    clean.assert_clean();
    assert_eq!(clean.sites(), 10);
    let report = search(&how, |cuda| {
        in_context(cuda, || {
            let memory = alloc(cuda)?;
            // Ignores the first answer.
            let _ = unsafe { cuda.cuMemsetD8(memory.1, 0, 64) };
            check(unsafe { cuda.cuMemsetD8(memory.1, 0, 64) })
        })
    });
    assert_eq!(report.findings().len(), 1, "{report}");
    assert_eq!(place(&report.findings()[0]).0, "cuMemsetD8_v2");
    assert!(
        matches!(report.findings()[0].what(), What::CallsAfterFault(names) if *names == ["cuMemsetD8_v2"]),
        "{report}"
    );
}

#[test]
fn a_program_that_fails_anyway_is_found() {
    let report = search(&one_code(), |_| Err("no".into()));
    assert_eq!(
        (report.sites(), report.to_string()),
        (
            0,
            "0 calls; 0 failures injected into 0 functions\nnothing fails: it ends with an error: no\n"
                .into()
        )
    );
}

#[test]
fn the_check_sees_every_site_and_what_the_program_returned() {
    let seen = AtomicUsize::new(0);
    let report = one_code()
        .run_checked(&cuda_emulator::driver(), good, |site, result| {
            seen.fetch_add(1, Ordering::Relaxed);
            match result {
                Err(text) if !text.contains(&format!("{:?}", site.code())) => {
                    Err(format!("{text} is another error"))
                }
                Ok(()) if site.function() == "cuMemFree_v2" => Err("nobody looked".into()),
                _ => Ok(()),
            }
        })
        .unwrap();
    assert_eq!((seen.load(Ordering::Relaxed), report.findings().len()), (20, 4));
    assert!(
        report.to_string().contains("cuMemFree_v2, returns CUDA_ERROR_UNKNOWN (999): nobody looked"),
        "{report}"
    );
}

/// What another thread gives back a little later is not left behind.
#[test]
fn what_is_given_back_later_is_waited_for() {
    let program = |cuda: Arc<Driver>| -> Result<(), String> {
        in_context(&cuda.clone(), || {
            let memory = alloc(&cuda)?;
            let (address, driver) = (memory.1, cuda.clone());
            std::mem::forget(memory);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                drop(Memory(&driver, address));
            });
            Ok(())
        })
    };
    // The context is there until the end, with the memory.
    let _context = Cuda::new(cuda_emulator::driver());
    let how = EveryFailure::new().codes(&[UNKNOWN]);
    how.run(&cuda_emulator::driver(), program).unwrap().assert_clean();
}

#[test]
fn what_is_put_off_is_done_when_it_settles() {
    static LEFT: std::sync::Mutex<Vec<u64>> = std::sync::Mutex::new(Vec::new());
    let program = |cuda: Arc<Driver>| -> Result<(), String> {
        in_context(&cuda, || {
            let memory = alloc(&cuda)?;
            LEFT.lock().unwrap().push(memory.1);
            std::mem::forget(memory);
            Ok(())
        })
    };
    let settle = |cuda: &Arc<Driver>| {
        for memory in LEFT.lock().unwrap().drain(..) {
            drop(Memory(cuda, memory));
        }
    };
    let _context = Cuda::new(cuda_emulator::driver());
    one_code().settle(settle).run(&cuda_emulator::driver(), program).unwrap().assert_clean();
    assert!(!one_code().run(&cuda_emulator::driver(), program).unwrap().is_clean());
    settle(&cuda_emulator::driver());
}

/// A kernel that writes where nothing is.
fn break_driver(cuda: &Arc<Driver>) -> Result<(), String> {
    let (image, mut module, mut fill) = (CString::new(support::FILL).unwrap(), null_mut(), null_mut());
    let (mut out, mut n, mut value) = (64_u64, 64_u32, 1.0_f32);
    let mut arguments = [(&raw mut out).cast(), (&raw mut n).cast(), (&raw mut value).cast()];
    unsafe {
        check(cuda.cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
        check(cuda.cuModuleGetFunction(&mut fill, module, c"fill".as_ptr()))?;
        check(cuda.cuLaunchKernel(
            fill,
            1,
            1,
            1,
            64,
            1,
            1,
            0,
            null_mut(),
            arguments.as_mut_ptr(),
            null_mut(),
        ))?;
        let _ = cuda.cuCtxSynchronize();
        check(cuda.cuModuleUnload(module))
    }
}

/// The program breaks its driver where the wait fails; the runs after that have another one.
#[test]
fn each_run_may_have_a_driver_of_its_own() {
    let program = |cuda: Arc<Driver>| {
        in_context(&cuda, || {
            check(unsafe { cuda.cuCtxSynchronize() }).inspect_err(|_| drop(break_driver(&cuda)))
        })
    };
    let driver = || Instance::new().unwrap().driver();
    let (fresh, shared) =
        (one_code().run_fresh(driver, program).unwrap(), one_code().run(&driver(), program).unwrap());
    // 5 calls, once or from then on.
    assert_eq!((fresh.calls(), fresh.sites()), (5, 10), "{fresh}");
    assert_eq!((shared.calls(), shared.sites(), shared.missed()), (5, 7, 3), "{shared}");
}

/// It makes no call through its driver.
#[test]
fn a_search_that_tests_nothing_is_not_clean() {
    let report = search(&one_code(), |_| Ok(()));
    assert_eq!((report.calls(), report.sites()), (0, 0));
    assert!(matches!(report.findings()[0].what(), What::NothingTested), "{report}");
}

#[test]
fn a_search_keeps_the_calls_that_it_needs() {
    let how = one_code().spy(cuda_harness::SpyOptions::new().keep(0));
    let report = how.run(&cuda_emulator::driver(), good).unwrap();
    assert_eq!((report.calls(), report.sites(), report.missed()), (10, 20, 0));
}
