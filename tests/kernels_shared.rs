//! Shared memory, barriers and atomics: what the threads of a block or grid do together.

#![allow(unsafe_code)] // Launches: the comment above each kernel tells its arguments and the shape of its blocks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::sys::CUresult;
use cuda_launch::{LaunchConfig, cuda_launch};
use references::{Gpu, Random, each, line, line_with, same};

const SHARED: &str = include_str!("kernels/shared.ptx");
const ATOMICS: &str = include_str!("kernels/atomics.ptx");

/// Runs a kernel of one block that takes these arguments and an output; the output.
macro_rules! one_block {
    ($kernel:ident, $config:expr, [$($before:expr),*], $len:expr, $of:ty) => {{
        let gpu = Gpu::new();
        let module = gpu.module(SHARED);
        let mut out = gpu.zeros::<$of>($len);
        unsafe {
            cuda_launch! { kernel: $kernel, module: module, stream: gpu.stream, config: $config,
            args: [$($before,)* out.as_mut_device_ptr()] }
        }
        .unwrap();
        gpu.get(&out)
    }};
}

#[test]
fn static_memory() {
    for n in [1usize, 32, 33, 255, 256] {
        let got = one_block!(static_1k, line(1, n as u32), [], n, u32);
        each(&got, format!("static_1k of {n}"), |t| (t + (t + 1) % n) as u32);
    }
    for n in [64usize, 100, 1024] {
        let got = one_block!(static_48k, line(1, n as u32), [], n, u32);
        each(&got, format!("static_48k of {n}"), |t| (t..12288).step_by(n).map(|i| 12287 - i as u32).sum());
    }
}

#[test]
fn dynamic_memory() {
    for (n, threads) in [(1usize, 1), (10, 64), (100, 32), (1000, 96), (12288, 1024)] {
        let config = line_with(1, threads, n as u32 * 4);
        let got = one_block!(dynamic_reverse, config, [n as u32], n, u32);
        each(&got, format!("dynamic_reverse of {n}"), |i| (n - 1 - i) as u32 * 3);
    }
    for n in [0u32, 1, 300, 11500] {
        let config = line_with(1, 128, n * 4);
        let got = one_block!(static_1k_and_dynamic, config, [n], 1, u32);
        assert_eq!(got, [256 + n], "static beside dynamic");
    }
    for n in [2usize, 50, 1000] {
        let config = line_with(1, 64, n as u32 * 13);
        let got = one_block!(carved, config, [n as u32], n, f64);
        each(&got, format!("carved {n}"), |i| {
            let j = (n - 1 - i) as f64;
            j * 0.5 + j * 0.25 + f64::from((n - 1 - i) as u8)
        });
    }
}

#[test]
fn the_size_of_shared_memory_in_registers() {
    for dynamic in [0u32, 16, 1000, 20_000] {
        let got = one_block!(shared_sizes, line_with(1, 64, dynamic), [], 2, u32);
        assert_eq!(got[0], dynamic);
        // 256 static bytes; allocated in units of 128 bytes, which may or may not show.
        assert!((dynamic + 256..dynamic + 256 + 128).contains(&got[1]), "{got:?}");
    }
}

#[test]
fn more_than_48_kib_after_opting_in() {
    let gpu = Gpu::new();
    let f = gpu.module(SHARED).load_function("dynamic_100k").unwrap();
    let (config, mut out) = (line_with(1, 256, 102_400), gpu.zeros::<u32>(256));
    let mut launch = || unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: config, args: [out.as_mut_device_ptr()] }
    };
    let error = launch().unwrap_err();
    assert!(
        error.is_launch_refused() && error.to_string().contains("set_max_dynamic_shared_memory(102400)"),
        "{error}"
    );
    let limit = gpu.ctx.limits().max_shared_memory_optin;
    let too_much = f.set_max_dynamic_shared_memory(limit + 1).unwrap_err();
    assert_eq!(too_much.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    f.set_max_dynamic_shared_memory(102_400).unwrap();
    assert_eq!(f.max_dynamic_shared_memory(), 102_400);
    launch().unwrap();
    each(&gpu.get(&out), "dynamic_100k", |t| (t..25600).step_by(256).map(|i| 25599 - i as u32).sum());
    // The whole opt-in limit of a block.
    f.set_max_dynamic_shared_memory(limit).unwrap();
    let (config, mut out) = (line_with(2, 1024, limit), gpu.zeros::<u32>(1024));
    unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: config, args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&out), "all shared memory", |t| (t..25600).step_by(1024).map(|i| 25599 - i as u32).sum());
}

#[test]
fn counting_barriers() {
    let gpu = Gpu::new();
    let module = gpu.module(SHARED);
    for case in 0..4 {
        let (n, bit): (usize, fn(u32) -> u32) = match case {
            0 => (32, |_| 1),
            1 => (100, |_| 0),
            2 => (256, |i| i % 3),
            _ => (1024, |i| u32::from(i == 777)),
        };
        let bits: Vec<u32> = (0..n as u32).map(bit).collect();
        let (input, mut out) = (gpu.put(&bits), gpu.zeros::<u32>(3));
        unsafe {
            cuda_launch! { kernel: counting_barriers, module: module, stream: gpu.stream, config: line(1, n as u32),
            args: [input.as_device_ptr(), out.as_mut_device_ptr()] }
        }
        .unwrap();
        let set = bits.iter().filter(|&&b| b != 0).count();
        same(&gpu.get(&out), &[set as u32, (set == n).into(), (set > 0).into()], format!("{n} threads"));
    }
}

#[test]
fn producers_and_consumers_at_named_barriers() {
    for rounds in [1u32, 2, 17] {
        let got = one_block!(produce_consume, line(1, 128), [rounds], 64, u32);
        each(&got, format!("{rounds} rounds"), |i| (0..rounds).map(|r| r * 64 + 63 - i as u32).sum());
    }
}

const BLOCKS: u32 = 5;
const THREADS: u32 = 96;
const ALL: u32 = BLOCKS * THREADS;

/// Runs a kernel of atomics with BLOCKS x THREADS over these buffers.
macro_rules! all_threads {
    ($gpu:ident, $kernel:ident, $($buffer:expr),*) => {{
        let module = $gpu.module(ATOMICS);
        unsafe {
            cuda_launch! { kernel: $kernel, module: module, stream: $gpu.stream, config: line(BLOCKS, THREADS),
            args: [$($buffer.as_mut_device_ptr()),*] }
        }
        .unwrap();
    }};
}

#[test]
fn every_operation_on_32_bits() {
    let gpu = Gpu::new();
    let start = [7u32, 7, u32::MAX, 0, 990, 5, u32::MAX, 0, 0x55, 3, 0];
    let (mut words, mut signs) = (gpu.put(&start), gpu.put(&[0i32, 0]));
    all_threads!(gpu, all_u32, words, signs);
    let sum: u32 = (0..ALL).sum();
    let hashes = || (0..ALL).map(|i| i.wrapping_mul(2_654_435_761));
    let signed = || hashes().map(|h| h as i32);
    let expected = [
        7 + sum,
        7u32.wrapping_sub(sum),
        hashes().min().unwrap(),
        hashes().max().unwrap(),
        (0..ALL).fold(990, |x, _| if x >= 999 { 0 } else { x + 1 }),
        (0..ALL).fold(5, |x, _| if x == 0 || x > 999 { 999 } else { x - 1 }),
        1 << 31,
        u32::MAX,
        (0..ALL).fold(0x55, |x, i| x ^ i),
        77,
        0,
    ];
    same(&gpu.get(&words), &expected, "all_u32");
    same(&gpu.get(&signs), &[signed().min().unwrap().min(0), signed().max().unwrap().max(0)], "signs");
}

#[test]
fn every_operation_on_64_bits() {
    let gpu = Gpu::new();
    let mut words = gpu.put(&[1u64, u64::MAX, 0, u64::MAX, 0, 0x55, 0, i64::MIN as u64, 9]);
    all_threads!(gpu, all_u64, words);
    let hashes = || (0..u64::from(ALL)).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let expected = [
        1 + ((0..u64::from(ALL)).sum::<u64>() << 30),
        0,
        hashes().max().unwrap(),
        1 << 63,
        u64::MAX,
        hashes().fold(0x55, |x, h| x ^ h),
        77,
        hashes().map(|h| h as i64).max().unwrap() as u64,
        9,
    ];
    same(&gpu.get(&words), &expected, "all_u64");
}

#[test]
fn sums_of_floats_that_are_exact_in_any_order() {
    let gpu = Gpu::new();
    let (mut f, mut d) = (gpu.put(&[0.5f32]), gpu.put(&[0.25f64]));
    all_threads!(gpu, add_floats, f, d);
    assert_eq!(gpu.get(&f), [0.5 + (0..ALL).map(|i| (i % 8) as f32).sum::<f32>()]);
    assert_eq!(gpu.get(&d), [0.25 + (0..ALL).map(|i| f64::from(i) * 0.5).sum::<f64>()]);
}

#[test]
fn what_atomics_return() {
    let gpu = Gpu::new();
    let (mut counter, mut out) = (gpu.put(&[100u32]), gpu.zeros::<u32>(ALL as usize));
    all_threads!(gpu, tickets, counter, out);
    let mut tickets = gpu.get(&out);
    tickets.sort();
    each(&tickets, "tickets", |i| 100 + i as u32);
    assert_eq!(gpu.get(&counter), [100 + ALL]);
}

#[test]
fn compare_and_swap() {
    let gpu = Gpu::new();
    let module = gpu.module(ATOMICS);
    let mut random = Random::new(40);
    let x: Vec<f64> = (0..1000).map(|_| random.f64()).collect();
    let (input, mut largest) = (gpu.put(&x), gpu.put(&[(-2f64).to_bits()]));
    let mut counters = gpu.put(&[65530u16, 3, 9]);
    unsafe {
        cuda_launch! { kernel: max_f64, module: module, stream: gpu.stream, config: LaunchConfig::for_num_elems(1000),
        args: [input.as_device_ptr(), 1000u32, largest.as_mut_device_ptr()] }
        .unwrap();
        cuda_launch! { kernel: count_u16, module: module, stream: gpu.stream, config: line(1, 99),
        args: [counters.as_mut_device_ptr()] }
        .unwrap();
    }
    assert_eq!(gpu.get(&largest), [x.iter().copied().fold(-2.0, f64::max).to_bits()]);
    same(&gpu.get(&counters), &[65530u16.wrapping_add(50), 3 + 49, 9], "count_u16");
}

#[test]
fn atomics_in_shared_memory() {
    let gpu = Gpu::new();
    let mut out = gpu.zeros::<u64>(4 * BLOCKS as usize);
    all_threads!(gpu, in_shared, out);
    let sum: u64 = (0..u64::from(THREADS)).sum();
    let real = (THREADS as f32 * 0.5).to_bits();
    each(&gpu.get(&out), "in_shared", |i| [sum, u32::MAX.into(), sum << 32, real.into()][i % 4]);
}

#[test]
fn scopes_and_instructions() {
    let gpu = Gpu::new();
    let mut words = gpu.zeros::<u32>(BLOCKS as usize + 3);
    all_threads!(gpu, scopes, words);
    each(&gpu.get(&words), "scopes", |i| match i as u32 {
        i if i < BLOCKS => THREADS,
        i if i < BLOCKS + 2 => ALL,
        _ => 0,
    });
    let (mut words, mut wide) = (gpu.zeros::<u32>(4), gpu.zeros::<u64>(2));
    all_threads!(gpu, instructions, words, wide);
    same(&gpu.get(&words), &[ALL, u32::MAX, 3, 0], "instructions");
    same(&gpu.get(&wide), &[u64::from(THREADS - 1) << 40, 0], "instructions on 64 bits");
}

#[test]
fn a_lock_that_lanes_take_in_turn() {
    let gpu = Gpu::new();
    let (mut lock, mut count) = (gpu.zeros::<u32>(1), gpu.zeros::<u32>(1));
    all_threads!(gpu, spin_lock, lock, count);
    assert_eq!(gpu.get(&count), [ALL]);
    assert_eq!(gpu.get(&lock), [0]);
}

#[test]
fn the_last_block_adds_what_all_left() {
    let gpu = Gpu::new();
    let module = gpu.module(ATOMICS);
    let x = Random::new(41).u32s(2900);
    let (input, mut partial) = (gpu.put(&x), gpu.zeros::<u32>(23));
    let (mut count, mut out) = (gpu.zeros::<u32>(1), gpu.zeros::<u32>(1));
    unsafe {
        cuda_launch! { kernel: last_block, module: module, stream: gpu.stream, config: line(23, 128),
        args: [input.as_device_ptr(), 2900u32, partial.as_mut_device_ptr(), count.as_mut_device_ptr(),
               out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [x.iter().fold(0u32, |s, &v| s.wrapping_add(v))]);
    assert_eq!(gpu.get(&count), [23]);
}

#[test]
fn a_message_by_release_and_acquire() {
    let gpu = Gpu::new();
    let module = gpu.module(ATOMICS);
    for _ in 0..20 {
        let (mut data, mut flag, mut out) = (gpu.zeros::<u32>(1), gpu.zeros::<u32>(1), gpu.zeros::<u32>(1));
        // Cooperative, so that both blocks run at once.
        unsafe {
            cuda_launch! { kernel: message, module: module, stream: gpu.stream, config: line(2, 32), cooperative: true,
            args: [data.as_mut_device_ptr(), flag.as_mut_device_ptr(), out.as_mut_device_ptr()] }
        }
        .unwrap();
        assert_eq!(gpu.get(&out), [42]);
    }
}
