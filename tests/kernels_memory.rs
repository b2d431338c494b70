//! Loads and stores of every width, local memory, variables of a module, special registers, and PTX in unusual spelling.

#![allow(unsafe_code)] // Launches: the comment above each kernel tells its arguments; raw copies are of the sizes asked for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::sys::CUresult;
use cuda_launch::{CudaModule, DeviceCopy, DevicePtr, LaunchConfig, cuda_launch};
use references::{Gpu, Random, each, line, same, shape};
use std::time::Instant;

const MEMORY: &str = include_str!("kernels/memory.ptx");
const LOCAL: &str = include_str!("kernels/local.ptx");
const GLOBALS: &str = include_str!("kernels/globals.ptx");
const INDICES: &str = include_str!("kernels/indices.ptx");
const HEAP: &str = include_str!("kernels/heap.ptx");

#[test]
fn copies_of_every_width() {
    let gpu = Gpu::new();
    let module = gpu.module(MEMORY);
    let mut random = Random::new(30);
    for (kernel, size) in [
        ("copy_u8", 1),
        ("copy_u16", 2),
        ("copy_u32", 4),
        ("copy_u64", 8),
        ("copy_uchar2", 2),
        ("copy_uchar4", 4),
        ("copy_ushort2", 4),
        ("copy_ushort4", 8),
        ("copy_uint2", 8),
        ("copy_uint4", 16),
        ("copy_ulonglong2", 16),
        ("copy_float4", 16),
        ("copy_double2", 16),
    ] {
        for n in [0, 1, 33, 1001] {
            let source: Vec<u8> = (0..n * size).map(|_| random.u32() as u8).collect();
            let (input, mut out) = (gpu.put(&source), gpu.zeros::<u8>(n * size + 32));
            unsafe {
                cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream,
                config: LaunchConfig::for_num_elems(n as u32 + 64),
                args: [input.as_device_ptr(), out.as_mut_device_ptr(), n as u32] }
            }
            .unwrap();
            each(&gpu.get(&out), format!("{kernel} of {n}"), |i| source.get(i).copied().unwrap_or(0));
        }
    }
}

#[test]
fn bytes_at_any_address() {
    let gpu = Gpu::new();
    let module = gpu.module(MEMORY);
    let source: Vec<u8> = (0..5000).map(|i| (i * 7 % 251) as u8).collect();
    let input = gpu.put(&source);
    for (from, to, n, config) in [(1, 3, 4001, line(2, 64)), (4, 0, 1, line(1, 1)), (7, 9, 0, line(1, 32))] {
        let mut out = gpu.zeros::<u8>(5000);
        let (p, q) = (input.slice(from..), out.slice_mut(to..).as_mut_device_ptr());
        unsafe {
            cuda_launch! { kernel: copy_bytes, module: module, stream: gpu.stream, config: config,
            args: [p.as_device_ptr(), q, n as u32] }
        }
        .unwrap();
        let inside = |i: usize| (to..to + n).contains(&i);
        each(&gpu.get(&out), format!("{n} bytes"), |i| if inside(i) { source[i - to + from] } else { 0 });
    }
}

#[test]
fn narrow_values_are_extended_and_cut() {
    let gpu = Gpu::new();
    let module = gpu.module(MEMORY);
    let (n, mut random) = (300, Random::new(31));
    let source: Vec<u8> = (0..n * 4).map(|_| random.u32() as u8).collect();
    let (input, mut out) = (gpu.put(&source), gpu.put(&vec![-1i64; n * 8]));
    unsafe {
        cuda_launch! { kernel: extend, module: module, stream: gpu.stream, config: LaunchConfig::for_num_elems(n as u32),
        args: [input.as_device_ptr(), out.as_mut_device_ptr(), n as u32] }
    }
    .unwrap();
    each(&gpu.get(&out), "extend", |at| {
        let i = at % n;
        let half = u16::from_le_bytes([source[2 * i], source[2 * i + 1]]);
        let word = u32::from_le_bytes(source[4 * i..4 * i + 4].try_into().unwrap());
        match at / n {
            0 => (source[i] as i8).into(),
            1 => source[i].into(),
            2 => (half as i16).into(),
            3 => half.into(),
            4 => (word as i32).into(),
            5 => word.into(),
            6 => i64::from(word & 0xff) << 24,
            _ => i64::from(word & 0xffff) << 16,
        }
    });
}

#[test]
fn cache_hints_change_nothing() {
    let gpu = Gpu::new();
    let module = gpu.module(MEMORY);
    let source = Random::new(32).u32s(777);
    let (input, mut out) = (gpu.put(&source), gpu.zeros::<u32>(7770));
    unsafe {
        cuda_launch! { kernel: hints, module: module, stream: gpu.stream, config: line(7, 128),
        args: [input.as_device_ptr(), out.as_mut_device_ptr(), 777u32] }
    }
    .unwrap();
    each(&gpu.get(&out), "hints", |i| source[i % 777]);
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy, Debug, PartialEq)]
struct Element {
    tag: u8,
    position: [f32; 3],
    mass: f64,
    charge: [i16; 3],
}

#[test]
fn structs_field_by_field() {
    let gpu = Gpu::new();
    let module = gpu.module(MEMORY);
    let source: Vec<Element> = (0..100)
        .map(|i| Element {
            tag: i as u8,
            position: [i as f32, 0.5, -1.0],
            mass: 0.1 * f64::from(i),
            charge: [i, 2, -3],
        })
        .collect();
    let (input, mut out) = (gpu.put(&source), gpu.zeros::<Element>(100));
    unsafe {
        cuda_launch! { kernel: move_elements, module: module, stream: gpu.stream, config: line(4, 32),
        args: [input.as_device_ptr(), out.as_mut_device_ptr(), 100u32] }
    }
    .unwrap();
    for (i, got) in gpu.get(&out).into_iter().rev().enumerate() {
        let mut e = source[i];
        e.position[0] += 1.0;
        e.mass *= 2.0;
        e.charge[i % 3] = -e.charge[i % 3];
        assert_eq!(got, e, "element {i}");
    }
}

#[test]
fn device_addresses_in_device_memory() {
    let gpu = Gpu::new();
    let module = gpu.module(MEMORY);
    // A list in three allocations, each node a value and the address of the next.
    let (mut next, mut nodes) = (0u64, Vec::new());
    for value in [40u64, 1, 1] {
        let node = gpu.put(&[value, next]);
        next = node.cu_deviceptr();
        nodes.push(node);
    }
    let mut sum = gpu.zeros::<u32>(1);
    for (head, expected) in [(next, 42), (0, 0)] {
        unsafe {
            cuda_launch! { kernel: walk_list, module: module, stream: gpu.stream, config: line(1, 1),
            args: [DevicePtr::<u64>::from_raw(head), sum.as_mut_device_ptr()] }
        }
        .unwrap();
        assert_eq!(gpu.get(&sum), [expected]);
    }
    let rows: Vec<_> =
        (0..5).map(|r| gpu.put(&(0..33).map(|c| (r * 100 + c) as f32).collect::<Vec<_>>())).collect();
    let table = gpu.put(&rows.iter().map(|row| row.as_device_ptr()).collect::<Vec<_>>());
    let mut out = gpu.zeros::<f32>(5 * 33);
    unsafe {
        cuda_launch! { kernel: gather_rows, module: module, stream: gpu.stream, config: line(2, 128),
        args: [table.as_device_ptr(), 5u32, 33u32, out.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&out), "gather_rows", |i| (i % 5 * 100 + i / 5) as f32);
}

#[test]
fn arrays_in_local_memory() {
    let gpu = Gpu::new();
    let module = gpu.module(LOCAL);
    let input: Vec<i32> =
        Random::new(33).u32s(16 * 96).into_iter().map(|x| x as i32 >> (x % 3 * 12)).collect();
    let (x, mut sorted) = (gpu.put(&input), gpu.zeros::<i32>(input.len()));
    let numbers = Random::new(34).u32s(96);
    let (y, mut sums) = (gpu.put(&numbers), gpu.zeros::<f64>(96));
    unsafe {
        cuda_launch! { kernel: sort_16, module: module, stream: gpu.stream, config: line(3, 32),
        args: [x.as_device_ptr(), sorted.as_mut_device_ptr()] }
        .unwrap();
        cuda_launch! { kernel: digits, module: module, stream: gpu.stream, config: line(2, 48),
        args: [y.as_device_ptr(), sums.as_mut_device_ptr()] }
        .unwrap();
    }
    let mut expected = input;
    expected.chunks_mut(16).for_each(<[i32]>::sort);
    same(&gpu.get(&sorted), &expected, "sort_16");
    each(&gpu.get(&sums), "digits", |t| {
        let (mut count, mut last) = ([0u8; 10], [0u16; 10]);
        for (place, digit) in numbers[t].to_string().bytes().rev().map(|b| usize::from(b - b'0')).enumerate()
        {
            count[digit] += 1;
            last[digit] = place as u16 + 1;
        }
        (0..10).fold(0.0, |sum, d| sum + ((d as f64 + 0.5) * f64::from(count[d]) + f64::from(last[d])))
    });
}

#[test]
fn arrays_of_structs_in_local_memory() {
    let gpu = Gpu::new();
    let module = gpu.module(LOCAL);
    for (n, k) in [(1, 0), (10, 3), (64, 63)] {
        let items: Vec<[u32; 2]> = (0..n).map(|i| [i * 37 % 101, (i as f32 + 0.5).to_bits()]).collect();
        let (input, mut out) = (gpu.put(&items), gpu.zeros::<f32>(64));
        unsafe {
            cuda_launch! { kernel: nth_value, module: module, stream: gpu.stream, config: line(2, 32),
            args: [input.as_device_ptr(), n, k, out.as_mut_device_ptr()] }
        }
        .unwrap();
        let mut order = items;
        order.sort();
        each(&gpu.get(&out), format!("{k} of {n}"), |_| f32::from_bits(order[k as usize][1]));
    }
}

#[test]
fn generic_pointers_to_every_space() {
    let gpu = Gpu::new();
    let module = gpu.module(LOCAL);
    let (mut global, mut out) = (gpu.put(&(200..232).collect::<Vec<u32>>()), gpu.zeros::<u32>(64));
    unsafe {
        cuda_launch! { kernel: any_space, module: module, stream: gpu.stream, config: line(1, 32),
        args: [global.as_mut_device_ptr(), out.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&out), "any_space", |i| {
        let t = i as u32 / 2;
        let local = if t.is_multiple_of(4) { t } else { t % 4 };
        let (sum, space) = match t % 3 {
            0 => (2 * (local + 1000), 4),
            1 => (t + 1100 + local, 2),
            _ => (t + 1200 + local, 1),
        };
        if i % 2 == 0 { sum } else { space }
    });
    each(&gpu.get(&global), "global", |t| t as u32 + if t % 3 == 2 { 1200 } else { 200 });
}

/// Copies a module's variable to the host.
fn read<T: DeviceCopy>(gpu: &Gpu, module: &CudaModule, name: &str, len: usize) -> Vec<T> {
    let (address, bytes) = module.raw_global(name).unwrap();
    assert_eq!(bytes, len * size_of::<T>(), "{name}");
    let mut host = Vec::with_capacity(len);
    gpu.stream.synchronize().unwrap();
    unsafe {
        assert_eq!(
            gpu.ctx.driver().cuMemcpyDtoH(host.as_mut_ptr() as *mut _, address, bytes),
            CUresult::SUCCESS
        );
        host.set_len(len);
    }
    host
}

#[test]
fn variables_with_initial_values() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let mut out = gpu.zeros::<u64>(24);
    unsafe {
        cuda_launch! { kernel: initialised, module: module, stream: gpu.stream, config: line(1, 1),
        args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    let minus = |n: u64| n.wrapping_neg();
    let real = [0.125f64.to_bits(), 2.5f64.to_bits()];
    let mut expected =
        vec![0x0123_4567_89ab_cdef, real[0], 1, 2, 3, 4, 255, minus(1), 2, minus(3), 6, 7, 0, 1, 1, 7];
    expected.extend([real[1], minus(2)]);
    expected.extend(b"name\0".map(u64::from));
    expected.resize(24, 0);
    same(&gpu.get(&out), &expected, "initialised");
    same(&read::<f32>(&gpu, &module, "coefficients", 4), &[1.0, -2.0, 0.5, 4.0], "coefficients");
    same(&read::<u8>(&gpu, &module, "text", 9), b"constant\0", "text");
    same(&read::<f32>(&gpu, &module, "table", 256), &[0.0; 256], "table");
    same(&read::<u8>(&gpu, &module, "bytes", 5), &[1, 2, 3, 4, 255], "bytes");
    assert!(module.raw_global("no_such_variable").unwrap_err().is_not_found());
}

#[test]
fn variables_are_each_modules_own() {
    let gpu = Gpu::new();
    let modules = [gpu.module(GLOBALS), gpu.module(GLOBALS)];
    assert_ne!(modules[0].raw_global("counter").unwrap(), modules[1].raw_global("counter").unwrap());
    for (module, blocks) in [(&modules[0], 1), (&modules[1], 3), (&modules[0], 2)] {
        let before = read::<u32>(&gpu, module, "counter", 1)[0];
        let mut out = gpu.zeros::<u32>(64 * blocks);
        unsafe {
            cuda_launch! { kernel: count, module: module, stream: gpu.stream, config: line(blocks as u32, 64),
            args: [out.as_mut_device_ptr()] }
        }
        .unwrap();
        let mut tickets = gpu.get(&out);
        tickets.sort();
        each(&tickets, "tickets", |i| before + i as u32);
    }
    assert_eq!(modules.map(|m| read::<u32>(&gpu, &m, "counter", 1)[0]), [5 + 64 * 3, 5 + 64 * 3]);
}

#[test]
fn constants_from_the_host() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let words = Random::new(35).u32s(16);
    let (address, bytes) = module.raw_global("from_host").unwrap();
    assert_eq!(bytes, 64);
    gpu.ctx.bind().unwrap();
    let code = unsafe { gpu.ctx.driver().cuMemcpyHtoD(address, words.as_ptr().cast(), bytes) };
    assert_eq!(code, CUresult::SUCCESS);
    let (mut copied, mut text) = (gpu.zeros::<u32>(50), gpu.zeros::<u8>(32));
    let x = Random::new(36).f32s(100);
    let (dx, mut y) = (gpu.put(&x), gpu.zeros::<f32>(100));
    unsafe {
        cuda_launch! { kernel: copy_constant, module: module, stream: gpu.stream, config: line(1, 50),
        args: [copied.as_mut_device_ptr()] }
        .unwrap();
        cuda_launch! { kernel: copy_text, module: module, stream: gpu.stream, config: line(1, 32),
        args: [text.as_mut_device_ptr()] }
        .unwrap();
        cuda_launch! { kernel: polynomial, module: module, stream: gpu.stream, config: line(2, 64),
        args: [dx.as_device_ptr(), y.as_mut_device_ptr(), 100u32] }
        .unwrap();
        cuda_launch! { kernel: fill_table, module: module, stream: gpu.stream, config: line(1, 256), args: [0.5f32] }
            .unwrap();
    }
    each(&gpu.get(&copied), "copy_constant", |i| words[i % 16]);
    same(&gpu.get(&text)[..10], b"constant\0\0", "copy_text");
    each(&gpu.get(&y), "polynomial", |i| 4f32.mul_add(x[i], 0.5).mul_add(x[i], -2.0).mul_add(x[i], 1.0));
    each(&read::<f32>(&gpu, &module, "table", 256), "table", |i| 0.5 + i as f32);
}

#[test]
fn special_registers() {
    let gpu = Gpu::new();
    let module = gpu.module(INDICES);
    for (grid, block) in
        [((1, 1, 1), (1, 1, 1)), ((3, 2, 2), (5, 3, 2)), ((2, 1, 3), (33, 1, 1)), ((1, 5, 1), (2, 2, 64))]
    {
        let (threads, blocks) = (block.0 * block.1 * block.2, grid.0 * grid.1 * grid.2);
        let mut out = gpu.zeros::<u32>((threads * blocks * 12) as usize);
        unsafe {
            cuda_launch! { kernel: indices, module: module, stream: gpu.stream, config: shape(grid, block),
            args: [out.as_mut_device_ptr()] }
        }
        .unwrap();
        let place = |i: u32, (x, y, _): (u32, u32, u32)| [i % x, i / x % y, i / x / y];
        let words = |i: u32| {
            let (own, of_block) = (place(i % threads, block), place(i / threads, grid));
            [own, of_block, [block.0, block.1, block.2], [grid.0, grid.1, grid.2]].concat()
        };
        let expected: Vec<u32> = (0..threads * blocks).flat_map(words).collect();
        same(&gpu.get(&out), &expected, format!("{grid:?} {block:?}"));
    }
}

#[test]
fn clocks_run_forward() {
    let gpu = Gpu::new();
    let module = gpu.module(INDICES);
    let mut out = gpu.zeros::<u32>(100);
    unsafe {
        cuda_launch! { kernel: clocks, module: module, stream: gpu.stream, config: line(1, 100),
        args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    same(&gpu.get(&out), &[1; 100], "clocks");
    let (start, milliseconds) = (Instant::now(), 20);
    unsafe {
        cuda_launch! { kernel: wait_nanoseconds, module: module, stream: gpu.stream, config: line(1, 32),
        args: [milliseconds * 1_000_000u64] }
    }
    .unwrap();
    gpu.stream.synchronize().unwrap();
    // The device's clock ticks in microseconds on some GPUs.
    assert!(start.elapsed().as_micros() + 2000 >= u128::from(milliseconds) * 1000, "{:?}", start.elapsed());
}

#[test]
fn unusual_spelling() {
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("kernels/handwritten/syntax.ptx"));
    for x in [0u32, 1, 0xffff_fffe, 0x8000_0000] {
        let mut out = gpu.zeros::<u32>(24);
        unsafe {
            cuda_launch! { kernel: syntax, module: module, stream: gpu.stream, config: line(1, 1),
            args: [out.as_mut_device_ptr(), x] }
        }
        .unwrap();
        let (zero, below) = (x == 0, (x as i32) < -1);
        let bits = [4.5f32.to_bits(), (-2.5f32).to_bits()];
        let first = [x, 3, bits[0], bits[1], 0x0403_0201, 0x0605, -6i32 as u32, 23];
        let tests = [if zero { 2 } else { 1 }, if zero { 3 } else { 4 }, if below || zero { 3 } else { 15 }];
        let rest = [u32::MAX, x, 42, 8, 9, 10, 32, 0x8765_4321, 0x1234_5678, 1f32.to_bits(), 0x41, 0, 0];
        same(&gpu.get(&out), &[&first[..], &tests, &rest].concat(), format!("syntax of {x:#x}"));
    }
}

#[test]
fn blocks_of_the_heap_and_of_the_stack() {
    let gpu = Gpu::new();
    let module = gpu.module(HEAP);
    // `numbers` from 1 on, as the kernels add them up.
    let sum = |numbers: std::ops::RangeInclusive<u32>| {
        numbers.fold(0u32, |sum, number| sum.wrapping_mul(3).wrapping_add(number))
    };
    let (mut lists, mut sums) = (gpu.zeros::<u64>(64), gpu.zeros::<u32>(64));
    // A second kernel reads what the first one left on the heap, and gives it back: twice, which finds no other numbers.
    for _ in 0..2 {
        unsafe {
            cuda_launch! { kernel: "build", module: module, stream: gpu.stream, config: line(2, 32), args: [lists.as_mut_device_ptr()] }
        }
        .unwrap();
        unsafe {
            cuda_launch! { kernel: "consume", module: module, stream: gpu.stream, config: line(2, 32),
            args: [lists.as_mut_device_ptr(), sums.as_mut_device_ptr()] }
        }
        .unwrap();
        each(&gpu.get(&sums), "lists", |thread| sum(1..=thread as u32));
    }
    // All there is, twice: each kernel has given it back.
    let mut exhausted = || {
        unsafe {
            cuda_launch! { kernel: "exhaust", module: module, stream: gpu.stream, config: line(1, 1),
            args: [1_u64 << 20, sums.as_mut_device_ptr()] }
        }
        .unwrap();
        gpu.get(&sums)[0]
    };
    let blocks = exhausted();
    assert!((1..=8).contains(&blocks), "{blocks} blocks of 1 MiB on a heap of 8 MiB");
    assert_eq!(exhausted(), blocks);
    unsafe {
        cuda_launch! { kernel: "stack", module: module, stream: gpu.stream, config: line(2, 32), args: [sums.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&sums), "arrays on the stack", |thread| {
        let count = thread as u32 + 1;
        let reversed = (1..=count).rev().fold(0u32, |sum, number| sum.wrapping_mul(3).wrapping_add(number));
        reversed.wrapping_add(count * (count + 1) / 2)
    });
}
