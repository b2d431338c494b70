//! Typed modules: the kernels do what they say, the launches are ordered, and what does not fit is a typed error.

#![allow(unsafe_code)] // Launches of kernels whose every argument is checked against the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_module};

#[cuda_module("examples/kernels/vecadd.ptx")]
mod kernels {
    unsafe extern "C" {
        /// c = a + b, elementwise.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

#[test]
fn a_typed_method_launches_its_kernel() {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let module = kernels::load(&ctx).unwrap();
    let host: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let a = DeviceBuffer::from_host(&stream, &host).unwrap();
    let b = DeviceBuffer::from_host(&stream, &[0.5; 1000]).unwrap();
    let mut c = DeviceBuffer::zeroed(&stream, 1000).unwrap();
    module.vecadd(&stream, LaunchConfig::for_num_elems(1000), &a, &b, &mut c).unwrap();
    let expected: Vec<f32> = host.iter().map(|x| x + 0.5).collect();
    assert_eq!(c.to_host_vec(&stream).unwrap(), expected);
}
