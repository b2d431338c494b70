//! How many blocks and clusters fit, against the rules of compute capability 9.0 where the device is one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod references;

use cuda_harness::skipped;
use cuda_launch::CudaFunction;
use cuda_launch::module::{BlockSizeQuery, OccupancyFlags};
use references::{Gpu, line_with, shape};
use std::panic::{AssertUnwindSafe, catch_unwind};

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const SHARED: &str = include_str!("kernels/shared.ptx");
const CLUSTERS: &str = include_str!("kernels/clusters.ptx");

/// Blocks on a multiprocessor of compute capability 9.0: 64 warps, 32 blocks, 65536 registers of which a warp takes 256 at a
/// time, 228 KiB of shared memory of which a block takes 1 KiB more than it asks for, 128 bytes at a time.
fn expected(f: &CudaFunction, threads: u32, dynamic: u32) -> u32 {
    let warps = threads.div_ceil(32);
    let shared = (f.static_shared_memory() + dynamic).next_multiple_of(128) + 1024;
    // Each of 4 quarters of a multiprocessor has a quarter of the registers and of the warps.
    let registers = (f.registers().unwrap() * 32).next_multiple_of(256);
    let by_registers = 16384 / registers * 4 / warps;
    32.min(64 / warps).min(by_registers).min(228 * 1024 / shared)
}

fn is_sm90(gpu: &Gpu) -> bool {
    gpu.ctx.limits().compute_capability == (9, 0)
}

#[test]
fn blocks_of_a_multiprocessor_follow_the_rules() {
    let gpu = Gpu::new();
    let f = gpu.module(SHARED).load_function("static_1k").unwrap();
    for (threads, dynamic) in
        [(32, 0), (64, 0), (96, 0), (128, 4096), (256, 0), (256, 20_000), (1000, 0), (1024, 48_128), (33, 1)]
    {
        let blocks = f.max_active_blocks(threads, dynamic as usize).unwrap();
        assert_eq!(
            blocks,
            f.max_active_blocks_with(threads, dynamic as usize, OccupancyFlags::empty()).unwrap()
        );
        assert!(
            !is_sm90(&gpu) || blocks == expected(&f, threads, dynamic),
            "{threads} threads, {dynamic} bytes: {blocks} blocks, not {}",
            expected(&f, threads, dynamic)
        );
    }
    assert!(f.max_active_blocks(0, 0).is_err());
    assert_eq!(f.max_active_blocks(2048, 0).ok().unwrap_or(0), 0);
    let flags = OccupancyFlags::from_bits_retain(OccupancyFlags::DISABLE_CACHING_OVERRIDE.bits());
    assert!(f.max_active_blocks_with(256, 0, flags).unwrap() >= 1);
}

#[test]
fn block_sizes_with_memory_that_depends_on_them() {
    let gpu = Gpu::new();
    let f = gpu.module(FILL).load_function("fill").unwrap();
    let any = f.max_potential_block_size(0).unwrap();
    assert_eq!(f.max_potential_block_size_with(BlockSizeQuery::default(), |_| 0).unwrap(), any);
    // 64 bytes a thread: up to 768 threads fit into 48 KiB.
    let mut asked = Vec::new();
    let best = f
        .max_potential_block_size_with(BlockSizeQuery::default(), |threads| {
            asked.push(threads);
            threads as usize * 64
        })
        .unwrap();
    assert!(
        (1..=768).contains(&best.block_threads) && asked.contains(&best.block_threads),
        "{best:?} {asked:?}"
    );
    assert!(f.max_active_blocks(best.block_threads, best.block_threads as usize * 64).unwrap() > 0);
    let small = BlockSizeQuery::new().limit(100);
    assert!(f.max_potential_block_size_with(small, |_| 0).unwrap().block_threads <= 100);
}

#[test]
fn a_panic_in_the_closure_does_not_pass_through_the_driver() {
    let gpu = Gpu::new();
    let f = gpu.module(FILL).load_function("fill").unwrap();
    let asked = catch_unwind(AssertUnwindSafe(|| {
        f.max_potential_block_size_with(BlockSizeQuery::default(), |_| panic!("no idea"))
    }));
    assert_eq!(asked.unwrap_err().downcast_ref::<&str>(), Some(&"no idea"));
    assert!(f.max_potential_block_size(0).is_ok());
}

#[test]
fn shared_memory_that_is_left() {
    let gpu = Gpu::new();
    let f = gpu.module(SHARED).load_function("static_1k").unwrap();
    let limit = gpu.ctx.limits().max_shared_memory_optin - f.static_shared_memory();
    f.set_max_dynamic_shared_memory(limit).unwrap();
    let mut last = usize::MAX;
    for blocks in [1, 2, 4, 8] {
        let bytes = f.available_dynamic_shared_memory(blocks, 128).unwrap();
        assert!(bytes > 0 && bytes <= limit as usize && bytes <= last, "{blocks} blocks: {bytes}");
        assert!(f.max_active_blocks(128, bytes.saturating_sub(1024)).unwrap() >= blocks, "{blocks} blocks");
        last = bytes;
    }
    assert!(f.available_dynamic_shared_memory(0, 128).is_err());
}

#[test]
fn clusters() {
    let gpu = Gpu::new();
    if !gpu.ctx.limits().cluster_launch {
        return skipped("the device has no clusters");
    }
    let f = gpu.module(CLUSTERS).load_function("cluster_indices").unwrap();
    let config = shape((64, 1, 1), (128, 1, 1));
    assert_eq!(f.max_potential_cluster_size(config).unwrap(), 8);
    let multiprocessors = gpu.ctx.limits().multiprocessors;
    let mut last = u32::MAX;
    for blocks in [1, 2, 4, 8] {
        let clusters = f.max_active_clusters(config, (blocks, 1, 1)).unwrap();
        assert!(clusters > 0 && clusters <= last && clusters * blocks <= 32 * multiprocessors, "{blocks}");
        last = clusters;
    }
    f.set_non_portable_cluster_size_allowed(true).unwrap();
    let most = f.max_potential_cluster_size(config).unwrap();
    assert!((8..=16).contains(&most), "{most}");
    assert!(f.max_active_clusters(line_with(16, 128, 0), (3, 1, 1)).is_err(), "does not divide the grid");
}
