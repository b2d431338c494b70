//! A spy that sees the calls of code which opens its own contexts: the process has one default driver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::{Fault, Spy};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaDevice, DeviceBuffer, Error, default_driver, set_default_driver};
use std::sync::Arc;

/// Code that is not told of a driver.
fn library() -> Result<Vec<u32>, Error> {
    let stream = CudaContext::new(0)?.new_stream()?;
    let numbers = DeviceBuffer::from_host(&stream, &[1, 2, 3])?;
    numbers.to_host_vec(&stream)
}

/// One test: what is chosen first stays for the process.
#[test]
fn the_default_driver_is_the_spys_until_the_process_ends() {
    let base = cuda_emulator::driver();
    let (spy, other) = (Spy::over(&base).unwrap(), Spy::over(&base).unwrap());
    assert!(set_default_driver(spy.driver()).is_ok());
    assert!(Arc::ptr_eq(&default_driver().unwrap(), &spy.driver()));
    assert_eq!(library().unwrap(), [1, 2, 3]);
    assert_eq!(std::thread::spawn(library).join().unwrap().unwrap(), [1, 2, 3]);
    assert_eq!(spy.count("cuStreamCreateWithPriority"), 2);
    assert!(CudaDevice::count().unwrap() > 0 && spy.count("cuDeviceGetCount") > 0);

    spy.inject(Fault::on("cuStreamCreateWithPriority").answer(CUresult::CUDA_ERROR_OUT_OF_MEMORY)).unwrap();
    assert_eq!(library().unwrap_err().code(), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY));

    // Contexts use it: there is no other from now on, and what was offered comes back.
    let refused = set_default_driver(other.driver()).unwrap_err();
    assert!(Arc::ptr_eq(&refused, &other.driver()));
    assert!(Arc::ptr_eq(&default_driver().unwrap(), &spy.driver()));
    assert_eq!(other.made(), 0);
    spy.heal();
    spy.ledger().assert_clean();
}
