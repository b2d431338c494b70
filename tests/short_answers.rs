//! A driver whose calls succeed and give less than this crate asked for. Nothing is read that the driver did not write.

#![allow(unsafe_code)] // Faults that contradict the driver's documentation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_emulator::Instance;
use cuda_harness::{Fault, Spy};
use cuda_launch::module::{JitOptions, Linker};
use cuda_launch::{CudaContext, CudaModule};

const FILL: &str = include_str!("../examples/kernels/fill.ptx");

/// A context of a driver that gives less wherever it can.
fn context() -> (Spy, CudaContext) {
    let spy = Spy::over(&Instance::new().unwrap().driver()).unwrap();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    spy.inject(Fault::any().short()).unwrap();
    // SAFETY: 1: only this crate makes calls on this driver: it reads a name no further than its buffer and follows no
    // null pointer, which is what the tests show.
    spy.inject(unsafe { Fault::any().malformed() }).unwrap();
    (spy, context)
}

#[test]
fn a_name_may_have_no_end() {
    let (_spy, context) = context();
    assert_eq!(context.device_name().unwrap(), "x".repeat(256));
}

#[test]
fn there_may_be_no_memory_and_no_room() {
    let (_spy, context) = context();
    let (free, total) = context.memory_info().unwrap();
    assert!(free == 0 && total > 0);
    let module: CudaModule = context.load_module(FILL).unwrap();
    let fill = module.load_function("fill").unwrap();
    assert_eq!(fill.max_active_blocks(64, 0).unwrap(), 0);
}

#[test]
fn an_image_may_be_empty() {
    let (_spy, context) = context();
    let mut linker = Linker::new(&context, &JitOptions::new()).unwrap();
    linker.add(FILL, "fill").unwrap();
    let image = linker.complete().unwrap();
    assert!(image.as_ref().is_empty());
    assert!(image.load(&context).is_err());
}
