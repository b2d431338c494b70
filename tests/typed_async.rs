//! The asynchronous methods of typed modules: borrowed, owned, chained, dropped, forgotten, and ordered as all other launches.

#![allow(unsafe_code)] // Launches of kernels whose every argument is checked against the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "operation_support/mod.rs"]
mod support;

use cuda_launch::operation::DeviceOperation;
use cuda_launch::{DeviceBuffer, LaunchConfig, cuda_module};
use support::{block_on, context};

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        /// c = a + b, elementwise.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn floats(value: f32) -> DeviceBuffer<f32> {
    DeviceBuffer::from_host(&context().new_stream().unwrap(), &[value; 1000]).unwrap()
}

fn read_floats(buffer: &DeviceBuffer<f32>) -> Vec<f32> {
    buffer.to_host_vec(&context().new_stream().unwrap()).unwrap()
}

fn config() -> LaunchConfig {
    LaunchConfig::for_num_elems(1000)
}

#[test]
fn a_borrowed_method_is_synchronised_or_awaited() {
    let module = kernels::load(&context()).unwrap();
    let (a, b, mut c) = (floats(1.0), floats(2.0), floats(0.0));
    module.vecadd_async(config(), &a, &b, &mut c).unwrap().sync().unwrap();
    assert_eq!(read_floats(&c), [3.0; 1000]);
    block_on(module.vecadd_async(config(), &c, &b, &mut floats(0.0)).unwrap()).unwrap();
    let mut d = floats(0.0);
    block_on(module.vecadd_async(config(), &c, &b, &mut d).unwrap()).unwrap();
    assert_eq!(read_floats(&d), [5.0; 1000]);
}
