//! Many threads with drivers, spies and faults of their own at once, as `cargo test` runs tests: none sees anything of another.
#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::{CUresult, Driver};
use cuda_emulator::Instance;
use cuda_harness::{EveryFailure, Fault, Kind, Spy, SpyOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Cuda, ok};

const THREADS: usize = 12;
const ROUNDS: usize = 6;

fn round(thread: usize, round: usize) {
    let instance = Instance::new().unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let own = heard.clone();
    let listener = move |call: &cuda_harness::Call| {
        own.fetch_add(1, Ordering::Relaxed);
        assert!(call.name() != "cuCtxGetLimit", "a listener that panics");
    };
    let spy = SpyOptions::new().listen(listener).over(&instance.driver()).unwrap();
    let cuda = Cuda::new(spy.driver());
    // Each its own number of allocations, and a fault that no other has.
    let wanted = thread % 5 + round + 2;
    let injected =
        spy.inject(Fault::on("cuMemAlloc").nth(wanted).answer(CUresult(7_000 + thread as u32))).unwrap();
    let mut memory = Vec::new();
    let answer = loop {
        match cuda.alloc(64 * (thread + 1)) {
            Ok(address) => memory.push(address),
            Err(code) => break code,
        }
    };
    assert_eq!((answer, memory.len(), injected.hits()), (CUresult(7_000 + thread as u32), wanted - 1, 1));
    assert_eq!(spy.ledger().count(Kind::Memory), wanted - 1);
    let bytes: u64 = spy
        .ledger()
        .live()
        .iter()
        .filter(|entry| entry.kind() == Kind::Memory)
        .map(|entry| entry.bytes())
        .sum();
    assert_eq!(bytes, (64 * (thread + 1) * (wanted - 1)) as u64);
    // What panics in a listener or a predicate is told, and the call goes on.
    spy.inject(Fault::on("cuCtxGetDevice").when(|_| panic!("a predicate that panics"))).unwrap();
    let (mut device, mut limit) = (-1, 0);
    ok(unsafe { cuda.driver.cuCtxGetDevice(&mut device) }).unwrap();
    ok(unsafe { cuda.driver.cuCtxGetLimit(&mut limit, cuda_driver_sys::CUlimit::CU_LIMIT_STACK_SIZE) })
        .unwrap();
    assert_eq!((device, spy.panics().len()), (0, 2), "{:?}", spy.panics());
    // A spy on this spy, whose driver is forgotten with a reference to it.
    let outer = Spy::over(&spy.driver()).unwrap();
    ok(unsafe { outer.driver().cuMemFree(memory.pop().unwrap()) }).unwrap();
    assert_eq!((outer.count("cuMemFree_v2"), spy.count("cuMemFree_v2")), (1, 1));
    for address in memory {
        ok(unsafe { cuda.driver.cuMemFree(address) }).unwrap();
    }
    drop(outer);
    drop(cuda);
    spy.ledger().assert_clean();
    assert_eq!(heard.load(Ordering::Relaxed), spy.made());
}

#[test]
fn threads_with_spies_of_their_own_do_not_see_each_other() {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || (0..ROUNDS).for_each(|number| round(thread, number)));
        }
    });
}

#[test]
fn failures_are_searched_for_by_several_threads_at_once() {
    let program = |cuda: Arc<Driver>| {
        let cuda = catch_unwind(AssertUnwindSafe(|| {
            let mut context = std::ptr::null_mut();
            unsafe {
                ok(cuda.cuInit(0))?;
                ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0))?;
                let used = ok(cuda.cuCtxSetCurrent(context));
                let mut memory = 0;
                let made = used.and_then(|()| ok(cuda.cuMemAlloc(&mut memory, 256)));
                let freed = made.and_then(|()| ok(cuda.cuMemFree(memory)));
                ok(cuda.cuDevicePrimaryCtxRelease(0)).and(freed)
            }
        }));
        cuda.unwrap().map_err(|code| format!("{code:?}"))
    };
    let reports: Vec<(usize, String)> = std::thread::scope(|scope| {
        let search = || {
            let fresh = || Instance::new().unwrap().driver();
            let report = EveryFailure::new().run_fresh(fresh, program).unwrap();
            (report.sites(), report.to_string())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(search)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(reports.windows(2).all(|two| two[0] == two[1]), "{reports:#?}");
    assert_eq!(reports[0].0, 60);
}
