//! Spies over the driver that the tests run on.

#![allow(unsafe_code)] // Functions in the driver's place.
#![allow(dead_code, unreachable_pub)] // Each user needs a part of it.
#![allow(clippy::unwrap_used)]

use cuda_harness::{Fault, Injected, Spy, SpyOptions};
use cuda_launch::CudaContext;
use cuda_launch::sys::{CUresult, Driver};
use std::ffi::c_void;
use std::sync::Arc;

/// A spy over the default driver.
pub fn spy() -> Spy {
    Spy::over(&cuda_launch::default_driver().unwrap()).unwrap()
}

/// A spy over the default driver, and a context that it hears.
pub fn spied() -> (Spy, CudaContext) {
    let spy = spy();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    (spy, context)
}

/// The default driver without a function; with all of them if the name is empty.
pub fn driver_without(name: &str) -> Arc<Driver> {
    let options = if name.is_empty() { SpyOptions::new() } else { SpyOptions::new().hide(name) };
    options.over(&cuda_launch::default_driver().unwrap()).unwrap().driver()
}

/// The default driver; where `replace` has a function for a name, that takes its place.
///
/// What `replace` returns is null or a function of the type that the name has.
pub fn driver_with(replace: impl Fn(&str) -> *const c_void) -> Arc<Driver> {
    // SAFETY: 1: they have the type of their names, as is said above; what they leave undone of the documented is what their
    // test is about, and they write nowhere but to their outputs; 2: they are functions of this program; 3: the default driver is
    // no spy's in programs that use this.
    unsafe { cuda_harness::replaced(&cuda_launch::default_driver().unwrap(), replace) }
}

/// From now on, only the n-th call fails, counted from 1, with this code.
pub fn fail_nth(spy: &Spy, n: usize, code: CUresult) -> Injected {
    watch(spy);
    spy.inject(Fault::any().nth(n).answer(code)).unwrap()
}

/// From now on, every call fails from the n-th on, counted from 1, with this code.
pub fn fail_from(spy: &Spy, n: usize, code: CUresult) -> Injected {
    watch(spy);
    spy.inject(Fault::any().from_nth(n).answer(code)).unwrap()
}

/// From now on, only the calls of this function fail with this code.
pub fn fail_calls_of(spy: &Spy, name: &str, code: CUresult) -> Injected {
    watch(spy);
    spy.inject(Fault::on(name).answer(code)).unwrap()
}

/// The first call that was made to fail.
pub fn failed(spy: &Spy) -> Option<&'static str> {
    spy.calls().injected().first().map(|call| call.name())
}

/// Nothing fails from now on, and the record is empty.
pub fn watch(spy: &Spy) {
    spy.heal();
    spy.clear();
}
