//! Products of matrices by the matrix units.

#![allow(unsafe_code)] // Launches: the comment above the kernel tells its arguments and the shape of its blocks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::cuda_launch;
use half::f16;
use references::{Gpu, Random, same, shape};

/// The kernel is for compute capability 8.0 and later, as that of the emulator is.
#[test]
fn a_pipelined_product_of_halves() {
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("kernels/handwritten/gemm.ptx"));
    let mut random = Random::new(61);
    for n in [64usize, 192] {
        // Small integers and halves of them: sums of their products are exact.
        let mut matrix = || (0..n * n).map(|_| (random.u32() % 33) as f32 * 0.5 - 8.0).collect::<Vec<f32>>();
        let (a, b) = (matrix(), matrix());
        let halves =
            |matrix: &[f32]| matrix.iter().map(|value| f16::from_f32(*value).to_bits()).collect::<Vec<u16>>();
        let (left, right) = (gpu.put(&halves(&a)), gpu.put(&halves(&b)));
        let mut out = gpu.zeros::<f32>(n * n);
        let blocks = n as u32 / 64;
        let config = shape((blocks, blocks, 1), (128, 1, 1));
        unsafe {
            cuda_launch! { kernel: gemm_f16, module: module, stream: gpu.stream, config: config,
            args: [left.as_device_ptr(), right.as_device_ptr(), out.as_mut_device_ptr(), n as u32] }
        }
        .unwrap();
        let element = |at: usize| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum::<f32>();
        let wanted: Vec<f32> = (0..n * n).map(element).collect();
        same(&gpu.get(&out), &wanted, format!("a product of {n} by {n}"));
    }
}
