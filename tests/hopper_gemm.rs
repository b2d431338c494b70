//! A product of matrices with tensor maps, mbarriers, `wgmma`, clusters and multicast: exact where sums are, and the bits of an H200
//! where they are not.

#![allow(unsafe_code)] // Launches: the comment above the kernel tells its arguments and the shape of its blocks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_emulator::{Checks, InstanceOptions};
use cuda_harness::skipped;
use cuda_launch::tensor::{Swizzle, TensorDataType, TensorMap};
use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_launch};
use half::f16;
use references::Random;

const PTX: &str = include_str!("kernels/hopper.ptx");
const M: usize = 256;
const N: usize = 256;
const K: usize = 576;
/// Four stages of tiles, and two barriers for each.
const SHARED: u32 = 4 * (24 * 1024 + 16);

/// A hash of the product of [`random`] halves on an H200 with driver 580.159.04.
const RECORDED: u64 = 0xc93e_acfe_2035_82de;

/// Whether the device can have `sm_90a`.
fn is_hopper(ctx: &CudaContext) -> bool {
    ctx.device().compute_capability().unwrap() == (9, 0)
}

/// The product of A and the transpose of B on the first device of a context.
fn product(ctx: &CudaContext, ptx: &str, a: &[u16], b: &[u16]) -> Vec<f32> {
    let stream = ctx.new_stream().unwrap();
    let function = ctx.load_module(ptx).unwrap().load_function("hopper_gemm").unwrap();
    function.set_max_dynamic_shared_memory(SHARED).unwrap();
    let (left, right) =
        (DeviceBuffer::from_host(&stream, a).unwrap(), DeviceBuffer::from_host(&stream, b).unwrap());
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, M * N).unwrap();
    let map = |memory: &DeviceBuffer<u16>, rows: usize| {
        let tiled = TensorMap::tiled([K as u64, rows as u64], [64, 64]).data_type(TensorDataType::F16);
        tiled.swizzle(Swizzle::Bytes128).encode(ctx, memory).unwrap()
    };
    let (left_map, right_map) = (map(&left, M), map(&right, N));
    let config = LaunchConfig::new((M as u32 / 64, N as u32 / 128, 1), (160, 1, 1)).with_shared(SHARED);
    unsafe {
        cuda_launch! { function: function, stream: stream, config: config,
        args: [left_map, right_map, out.as_mut_device_ptr(), N as u32, K as u32] }
    }
    .unwrap();
    out.to_host_vec(&stream).unwrap()
}

/// Numbers near 1, with sums that are rounded.
fn random() -> [Vec<u16>; 2] {
    let mut random = Random::new(7);
    [M, N].map(|rows| {
        (0..rows * K)
            .map(|_| (random.u32() & 0x83ff) as u16 | (11 + (random.u32() % 8) as u16) << 10)
            .collect()
    })
}

fn hash(numbers: &[f32]) -> u64 {
    numbers.iter().fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        (hash ^ u64::from(number.to_bits())).wrapping_mul(0x100_0000_01b3).rotate_left(23)
    })
}

#[test]
fn sums_of_small_integers_are_exact() {
    let ctx = CudaContext::new(0).unwrap();
    if !is_hopper(&ctx) {
        return skipped("not compute capability 9.0");
    }
    let mut random = Random::new(61);
    let [a, b] =
        [M, N].map(|rows| (0..rows * K).map(|_| (random.u32() % 17) as f32 - 8.0).collect::<Vec<_>>());
    let halves =
        |matrix: &[f32]| matrix.iter().map(|value| f16::from_f32(*value).to_bits()).collect::<Vec<_>>();
    let element = |at: usize| (0..K).map(|k| a[at / N * K + k] * b[at % N * K + k]).sum::<f32>();
    let wanted: Vec<f32> = (0..M * N).map(element).collect();
    assert!(product(&ctx, PTX, &halves(&a), &halves(&b)) == wanted);
}

#[test]
fn rounded_sums_have_the_bits_of_an_h200() {
    let ctx = CudaContext::new(0).unwrap();
    if !is_hopper(&ctx) {
        return skipped("not compute capability 9.0");
    }
    let [a, b] = random();
    assert_eq!(hash(&product(&ctx, PTX, &a, &b)), RECORDED);
}

#[test]
fn the_checks_find_nothing() {
    let instance = InstanceOptions::new().checks(Checks::ALL).start().unwrap();
    let ctx = CudaContext::with_driver(&instance.driver(), 0).unwrap();
    let [a, b] = random();
    assert_eq!(hash(&product(&ctx, PTX, &a, &b)), RECORDED);
    let findings = instance.take_findings().list;
    assert!(findings.is_empty(), "{}", findings[0]);
}

/// Without the wait, the block tells the other that its tiles are free, and stores the product, while it is still multiplying.
#[test]
fn a_missing_wait_is_found() {
    let instance = InstanceOptions::new().checks(Checks::ALL).start().unwrap();
    let ctx = CudaContext::with_driver(&instance.driver(), 0).unwrap();
    let wait = "wgmma.wait_group.sync.aligned 0;";
    assert!(PTX.contains(wait));
    let [a, b] = random();
    product(&ctx, &PTX.replace(wait, ""), &a, &b);
    let findings = instance.take_findings().list;
    assert!(findings.iter().any(|finding| finding.to_string().contains("wgmma")), "{findings:?}");
}
