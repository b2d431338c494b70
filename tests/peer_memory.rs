//! What each of two devices counts as free. A program of one test: others would allocate and free meanwhile.

#![allow(unsafe_code)] // The environment.
#![allow(clippy::unwrap_used, clippy::panic)]

use cuda_harness::skipped;
use cuda_launch::{CudaDevice, DeviceBuffer};

#[test]
fn each_device_counts_its_own_memory() {
    const BYTES: usize = 256 << 20;
    // SAFETY: this is the program's only test: the harness's own thread waits for it, and no driver was asked for anything yet.
    unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") };
    let devices = CudaDevice::all().unwrap();
    let [first, second, ..] = devices.as_slice() else {
        return skipped("this machine has one device");
    };
    let [first, second] = [first, second].map(|device| device.context().unwrap());
    let stream = second.default_stream();
    let (before, before_other) = (second.memory_info().unwrap().0, first.memory_info().unwrap().0);
    let buffer = DeviceBuffer::<u8>::uninit(&stream, BYTES).unwrap();
    stream.synchronize().unwrap();
    assert!(before - second.memory_info().unwrap().0 >= BYTES);
    assert!(before_other.abs_diff(first.memory_info().unwrap().0) < BYTES / 2);
    buffer.close().unwrap();
}
