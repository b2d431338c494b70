//! As many spies as there can be: a process of its own, and one test, because it takes all of them.

#![allow(unsafe_code)] // A function pointer that is kept too long.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::{CUresult, pfn};
use cuda_harness::{Error, SpyOptions};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const MOST: usize = 16;

#[test]
fn a_slot_is_free_again_when_the_last_driver_goes() {
    let base = cuda_emulator::driver();
    let at_once = SpyOptions::new().patience(Duration::ZERO);
    let mut spies: Vec<_> = (0..MOST).map(|_| at_once.over(&base).unwrap()).collect();
    // Each hears its own calls, and only these.
    for (number, spy) in spies.iter().enumerate() {
        (0..=number).for_each(|_| assert!(spy.driver().version().is_ok()));
    }
    let counts: Vec<_> = spies.iter().map(|spy| spy.calls().len()).collect();
    assert_eq!(counts, (1..=MOST).collect::<Vec<_>>());

    let error = at_once.over(&base).unwrap_err();
    assert_eq!(error, Error::NoSlot { slots: MOST, waited: Duration::ZERO });
    assert!(error.to_string().contains("--test-threads"), "{error}");

    // A driver that is used on holds the slot; so does a clone of it.
    let driver = spies.remove(3).driver();
    assert!(at_once.over(&base).is_err());
    let clone = (*driver).clone();
    drop(driver);
    assert!(at_once.over(&base).is_err());
    // Also with an owner of the program's, which comes beside the slot.
    let clone = clone.with_owner(Arc::new("the program's"));
    assert!(at_once.over(&base).is_err());
    let address = clone.address("cuDriverGetVersion");
    drop(clone);

    // Nobody has the slot: a pointer into the table that is gone finds nobody.
    let stale = unsafe { std::mem::transmute::<*const std::ffi::c_void, pfn::cuDriverGetVersion>(address) };
    assert_eq!(unsafe { stale(&mut 0) }, CUresult::CUDA_ERROR_DEINITIALIZED);

    // One that is forgotten never comes back.
    std::mem::forget(at_once.over(&base).unwrap());
    assert!(at_once.over(&base).is_err());

    // Who waits, forever if need be, is served by whoever goes.
    let forever = SpyOptions::new().patience(Duration::MAX);
    let waiting = thread::spawn(move || forever.over(&base).map(|spy| spy.driver().version()));
    // So that it does wait, mostly; it is served either way.
    thread::sleep(Duration::from_millis(100));
    drop(spies.pop());
    assert!(waiting.join().unwrap().unwrap().is_ok());
    for spy in spies {
        assert!(spy.driver().version().is_ok());
    }
}
