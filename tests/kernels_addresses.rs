//! Addresses in registers of 32 bits: the sum of register and offset wraps in shared and local memory.

#![allow(unsafe_code)] // Launches: the comment above each kernel tells its arguments and the shape of its blocks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::cuda_launch;
use references::{Gpu, line, same};

const ADDRESSES: &str = include_str!("kernels/handwritten/addresses.ptx");
const BLOCKS: u32 = 2;
const THREADS: u32 = 96;
const LOW: u32 = 0xff;

/// What each thread wrote, in one row, and what `row` says of thread t of block b.
fn check<const RESULTS: usize>(kernel: &str, row: impl Fn(u32, u32) -> [u32; RESULTS]) {
    let gpu = Gpu::new();
    let module = gpu.module(ADDRESSES);
    let mut out = gpu.zeros::<u32>((BLOCKS * THREADS) as usize * RESULTS);
    unsafe {
        cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(BLOCKS, THREADS),
        args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    let wanted: Vec<u32> =
        (0..BLOCKS).flat_map(|b| (0..THREADS).map(move |t| (t, b))).flat_map(|(t, b)| row(t, b)).collect();
    same(&gpu.get(&out), &wanted, kernel);
}

#[test]
fn loads_from_shared_memory_wrap() {
    check("shared_loads", |t, b| {
        let n = (t + 33) % THREADS;
        let own = if t % 32 < 2 { !t } else { 7 };
        [n, 3 * n, !n, b, !n, b, n, 3 * n, !n & LOW, 0, own, 2 * t]
    });
}

#[test]
fn stores_to_shared_memory_wrap() {
    check("shared_stores", |t, _| {
        let x = t + 0x1122_3300;
        [x << 16 | x & LOW, x, x, x]
    });
}

#[test]
fn atomics_in_shared_memory_wrap() {
    check("shared_atomics", |_, _| [(0..THREADS).sum(), THREADS - 1, 77, 1]);
}

#[test]
fn local_addresses_wrap() {
    check("local_addresses", |t, _| {
        let word = |k: u32| t + 100 * k;
        let third = if t % 32 < 2 { word(2) } else { 7 };
        [word(0), word(1), word(2), word(3), word(t % 4), word(1), third, word(3) >> 8]
    });
}

#[test]
fn the_target_of_an_asynchronous_copy_and_an_mbarrier_wrap() {
    let gpu = Gpu::new();
    let module = gpu.module(ADDRESSES);
    let words: Vec<u32> = (0..THREADS * 4).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let input = gpu.put(&words);
    for (kernel, results) in [("shared_copies", 4), ("shared_mbarrier", 1)] {
        let mut out = gpu.zeros::<u32>((BLOCKS * THREADS) as usize * results);
        unsafe {
            cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(BLOCKS, THREADS),
            args: [out.as_mut_device_ptr(), input.as_device_ptr()] }
        }
        .unwrap();
        let wanted = if results == 4 { words.repeat(BLOCKS as usize) } else { vec![words[0]; out.len()] };
        same(&gpu.get(&out), &wanted, kernel);
    }
}
