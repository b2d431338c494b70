//! What the lanes of a warp do together, and how they part: shuffles, votes, matches, reductions, branches, calls.

#![allow(unsafe_code)] // Launches: the comment above each kernel tells its arguments and how many results it writes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::{LaunchConfig, cuda_launch};
use references::{Bits, Gpu, Random, each, line, same};

const WARP: &str = include_str!("kernels/warp.ptx");
const CONTROL: &str = include_str!("kernels/control.ptx");
const CALLS: &str = include_str!("kernels/calls.ptx");
const BRANCHES: &str = include_str!("kernels/handwritten/branches.ptx");

/// Runs `kernel` over one block of each of several inputs; result `k` of thread `t` must be
/// `reference(warp, lane, block)[k]`, where `warp` is what the lanes of the thread's warp have.
fn lanes(ptx: &str, kernel: &str, names: &[&str], reference: impl Fn(&[u32], usize, &[u32]) -> Vec<u32>) {
    let gpu = Gpu::new();
    let module = gpu.module(ptx);
    let mut random = Random::new(20);
    let small: Vec<u32> = (0..64).map(|_| random.below(4) as u32).collect();
    for input in [random.u32s(32), random.u32s(96), small, vec![7; 32], vec![0; 64], (0..256).collect()] {
        let n = input.len();
        let (x, mut out) = (gpu.put(&input), gpu.put(&vec![0xa5a5_a5a5u32; n * (names.len() + 1)]));
        unsafe {
            cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: line(1, n as u32),
            args: [x.as_device_ptr(), out.as_mut_device_ptr()] }
        }
        .unwrap();
        let got = gpu.get(&out);
        let expected = |t: usize| reference(&input[t / 32 * 32..t / 32 * 32 + 32], t % 32, &input);
        let expected: Vec<Vec<u32>> = (0..n).map(expected).collect();
        assert!(
            expected.iter().all(|results| results.len() == names.len()),
            "{kernel}: a name for each result"
        );
        for (k, name) in names.iter().enumerate() {
            each(&got[k * n..k * n + n], format!("{kernel}: {name} of {n} threads"), |t| expected[t][k]);
        }
        each(&got[names.len() * n..], format!("{kernel}: behind the results"), |_| 0xa5a5_a5a5);
    }
}

/// Bit `l` of lane `l` for which `holds`.
fn ballot(warp: &[u32], holds: impl Fn(u32) -> bool) -> u32 {
    warp.iter().enumerate().fold(0, |mask, (l, &x)| mask | u32::from(holds(x)) << l)
}

#[test]
fn shuffles() {
    let names = [
        "idx 5",
        "idx 7 lane",
        "idx x",
        "up 3",
        "down 9",
        "xor 21",
        "idx of 8",
        "up of 4",
        "down of 16",
        "xor of 4",
        "64 bits",
        "float",
        "predicate",
    ];
    lanes(WARP, "shuffle", &names, |x, lane, _| {
        let down = |n: usize, width: usize| if lane % width + n < width { lane + n } else { lane };
        let up = |n: usize, width: usize| if lane % width >= n { lane - n } else { lane };
        // An exchange across segments reads from lower ones only.
        let across = if lane ^ 6 <= lane | 3 { lane ^ 6 } else { lane };
        let other = u64::from(x[lane ^ 1]) << 20 | (lane ^ 1) as u64;
        vec![
            x[5],
            x[lane * 7 % 32],
            x[x[lane] as usize % 32],
            x[up(3, 32)],
            x[down(9, 32)],
            x[lane ^ 21],
            x[lane / 8 * 8 + 2],
            x[up(1, 4)],
            x[down(5, 16)],
            x[across],
            (other >> 10) as u32,
            x[down(2, 32)],
            x[down(4, 32)].wrapping_mul(2).wrapping_add((lane + 4 < 32).into()),
        ]
    });
}

#[test]
fn votes_and_matches() {
    let names = [
        "all",
        "any",
        "uni",
        "ballot",
        "activemask",
        "match_any",
        "match_any 64",
        "match_all",
        "same",
        "match_all high",
        "rank",
        "fns",
    ];
    lanes(WARP, "vote_and_match", &names, |x, lane, _| {
        let odd = ballot(x, |v| v & 1 == 1);
        let own = x[lane];
        let all_same = |key: fn(u32) -> u32| if x.iter().all(|&v| key(v) == key(own)) { u32::MAX } else { 0 };
        let third = (0..32).filter(|l| odd >> l & 1 == 1).nth(2);
        vec![
            x.iter().all(|&v| v > 0).into(),
            x.iter().any(|&v| v > 100).into(),
            (odd == 0 || odd == u32::MAX).into(),
            odd,
            u32::MAX,
            ballot(x, |v| v % 5 == own % 5),
            ballot(x, |v| v % 3 == own % 3),
            all_same(|v| v),
            (all_same(|v| v) != 0).into(),
            all_same(|v| v / 0x1000_0000),
            (ballot(x, |v| v & 2 != 0) & ((1 << lane) - 1)).count_ones(),
            third.unwrap_or(u32::MAX),
        ]
    });
}

#[test]
fn parts_of_a_warp() {
    let names = ["halves", "thirds", "all again", "slots"];
    lanes(WARP, "part_of_warp", &names, |x, lane, _| {
        let halves = |l: usize| if l < 16 { x[l ^ 1].wrapping_add(1) } else { x[l ^ 8].wrapping_add(2) };
        let thirds = ballot(x, |v| v & 1 == 1) & 0x4924_9249;
        let r = |l: usize| if l.is_multiple_of(3) { thirds } else { halves(l) };
        let again = (0..32).fold(0, |mask, l| mask | (r(l) & 1) << l);
        let neighbour = lane ^ 1;
        vec![halves(lane), r(lane), again, x[neighbour].wrapping_add(if neighbour % 2 == 1 { 1 } else { 2 })]
    });
}

#[test]
fn lane_masks() {
    lanes(WARP, "lane_masks", &["laneid", "eq", "lt", "le", "gt", "ge", "sum"], |x, lane, _| {
        let own = 1u32 << lane;
        let lt = own - 1;
        vec![lane as u32, own, lt, lt | own, !(lt | own), !lt, x[lane].wrapping_add(32 + lane as u32)]
    });
}

#[test]
fn reductions_in_one_instruction() {
    let names = ["add", "min", "max", "min signed", "max signed", "and", "xor", "or of parts"];
    lanes(include_str!("kernels/warp80.ptx"), "warp_reduce", &names, |x, lane, _| {
        let signed = |pick: fn(i32, i32) -> i32| x.iter().map(|&v| v as i32).reduce(pick).unwrap() as u32;
        let part = if lane < 8 { &x[..8] } else { &x[8..] };
        vec![
            x.iter().fold(0, |s, &v| s.wrapping_add(v)),
            *x.iter().min().unwrap(),
            *x.iter().max().unwrap(),
            signed(i32::min),
            signed(i32::max),
            x.iter().fold(u32::MAX, |s, v| s & v),
            x.iter().fold(0, |s, v| s ^ v),
            part.iter().fold(0, |s, v| s | v),
        ]
    });
}

/// Runs a kernel whose arguments are an output of `n` words and perhaps more, one block of `n` threads.
macro_rules! one_block {
    ($ptx:expr, $kernel:ident, $n:expr $(, $before:expr)*; $of:ty) => {{
        let gpu = Gpu::new();
        let module = gpu.module($ptx);
        let mut out = gpu.zeros::<$of>($n);
        unsafe {
            cuda_launch! { kernel: $kernel, module: module, stream: gpu.stream, config: line(1, $n as u32),
            args: [$($before,)* out.as_mut_device_ptr()] }
        }
        .unwrap();
        gpu.get(&out)
    }};
}

#[test]
fn loops_that_lanes_leave_one_by_one() {
    let gpu = Gpu::new();
    let module = gpu.module(CONTROL);
    let (start, n) = (1u32, 1000);
    let mut steps = gpu.zeros::<u32>(n);
    unsafe {
        cuda_launch! { kernel: collatz, module: module, stream: gpu.stream, config: LaunchConfig::for_num_elems(n as u32),
        args: [start, steps.as_mut_device_ptr(), n as u32] }
    }
    .unwrap();
    each(&gpu.get(&steps), "collatz", |i| {
        let next = |x: &u64| (*x != 1).then(|| if x % 2 == 1 { 3 * x + 1 } else { x / 2 });
        std::iter::successors(Some(u64::from(start) + i as u64), next).count() as u32 - 1
    });
    let limits: Vec<u32> = (0..200).map(|i| i * 7 % 301).collect();
    let (input, mut counts) = (gpu.put(&limits), gpu.zeros::<u32>(200));
    unsafe {
        cuda_launch! { kernel: primes_below, module: module, stream: gpu.stream, config: line(2, 128),
        args: [input.as_device_ptr(), counts.as_mut_device_ptr(), 200u32] }
    }
    .unwrap();
    let is_prime = |n: u32| n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    each(&gpu.get(&counts), "primes", |i| (2..limits[i]).filter(|&n| is_prime(n)).count() as u32);
}

#[test]
fn jump_tables() {
    let gpu = Gpu::new();
    let module = gpu.module(CONTROL);
    let mut x = Random::new(21).u32s(1000);
    x.extend(0..48);
    let (input, mut out) = (gpu.put(&x), gpu.zeros::<u32>(x.len()));
    unsafe {
        cuda_launch! { kernel: jump_table, module: module, stream: gpu.stream,
        config: LaunchConfig::for_num_elems(x.len() as u32),
        args: [input.as_device_ptr(), out.as_mut_device_ptr(), x.len() as u32] }
    }
    .unwrap();
    each(&gpu.get(&out), "jump_table", |i| {
        let x = x[i];
        match x % 12 {
            0 => x.wrapping_add(1),
            1 => x.wrapping_mul(3),
            2 => (x ^ 0x55).wrapping_add(x.count_ones()),
            3 => x.count_ones(),
            4 => x / 3,
            5 => x << 4,
            6 => !x ^ x >> 3,
            7 => x >> 3,
            8 => x.reverse_bits(),
            9 => x.wrapping_sub(9),
            10 => x & 0xf0f0,
            _ => 11,
        }
    });
    each(&one_block!(BRANCHES, branch_table, 100; u32), "branch_table", |t| (t % 4 * 10 + 10 + t) as u32);
}

#[test]
fn barriers_in_a_loop() {
    for (rounds, n) in [(0u32, 32), (1, 64), (7, 256), (50, 96)] {
        let mut slots: Vec<u32> = (0..n).collect();
        for r in 0..rounds {
            let left = |t: u32| slots[((t + n - 1) % n) as usize];
            let step =
                |t: u32| if t % 3 == r % 3 { left(t).wrapping_mul(5).wrapping_add(1) } else { left(t) };
            slots = (0..n).map(step).collect();
        }
        same(
            &one_block!(CONTROL, barriers_in_loop, n as usize, rounds; u32),
            &slots,
            format!("{rounds} rounds"),
        );
    }
}

#[test]
fn early_returns() {
    each(&one_block!(CONTROL, early_returns, 128; u32), "early_returns", |t| match (t % 4, t as u32 % 16) {
        (0, _) => 1,
        (_, last) if last < 10 => 2 + (0..last).sum::<u32>(),
        _ => (2 + (0..10).sum::<u32>()) * 10 + 3,
    });
}

#[test]
fn a_lane_waits_for_a_lane_of_its_warp() {
    let gpu = Gpu::new();
    let module = gpu.module(CONTROL);
    let (mut flag, mut out) = (gpu.zeros::<u32>(1), gpu.zeros::<u32>(1));
    unsafe {
        cuda_launch! { kernel: lane_waits_for_lane, module: module, stream: gpu.stream, config: line(1, 32),
        args: [flag.as_mut_device_ptr(), out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [42]);
}

#[test]
fn calls_through_pointers() {
    let gpu = Gpu::new();
    let module = gpu.module(CALLS);
    let n = 500;
    let mut random = Random::new(22);
    let (which, a, b) = (random.u32s(n), random.u32s(n), random.u32s(n));
    let (dw, da, db, mut out) = (gpu.put(&which), gpu.put(&a), gpu.put(&b), gpu.zeros::<u32>(n));
    unsafe {
        cuda_launch! { kernel: indirect, module: module, stream: gpu.stream, config: line(4, 128),
        args: [dw.as_device_ptr(), da.as_device_ptr(), db.as_device_ptr(), out.as_mut_device_ptr(), n as u32] }
    }
    .unwrap();
    each(&gpu.get(&out), "indirect", |i| match which[i] % 4 {
        0 => a[i].wrapping_add(b[i]),
        1 => a[i].wrapping_sub(b[i]),
        2 => a[i].wrapping_mul(b[i]),
        _ => a[i],
    });
    each(
        &one_block!(BRANCHES, call_table, 70; u32),
        "call_table",
        |t| if t % 2 == 0 { 2 * t } else { t * t } as u32,
    );
    each(&one_block!(CALLS, virtual_call, 70; f32), "virtual_call", |t| {
        let size = t as f32;
        if t % 2 == 1 { 3.0 * size * size } else { size * size }
    });
}

#[test]
fn recursion() {
    let fibonacci = |n: usize| (0..n).fold((0u32, 1u32), |(a, b), _| (b, a + b)).0;
    each(&one_block!(CALLS, recursive, 16; u32), "recursive", fibonacci);
    each(&one_block!(CALLS, mutual, 20; u32), "mutual", |t| (t % 2 == 0).into());
}

#[test]
fn structs_in_and_out_of_functions() {
    let gpu = Gpu::new();
    let module = gpu.module(CALLS);
    let mut random = Random::new(23);
    let mut matrices =
        || -> Vec<[f32; 9]> { (0..40).map(|_| std::array::from_fn(|_| random.f32())).collect() };
    let (a, b) = (matrices(), matrices());
    let (da, db, mut out) = (gpu.put(&a), gpu.put(&b), gpu.zeros::<[f32; 9]>(40));
    unsafe {
        cuda_launch! { kernel: structs, module: module, stream: gpu.stream, config: line(1, 40),
        args: [da.as_device_ptr(), db.as_device_ptr(), out.as_mut_device_ptr()] }
    }
    .unwrap();
    each(gpu.get(&out).as_flattened(), "structs", |at| {
        let (a, b, i, j) = (&a[at / 9], &b[at / 9], at % 9 / 3, at % 3);
        a[i * 3 + 2].mul_add(b[6 + j], a[i * 3 + 1].mul_add(b[3 + j], a[i * 3] * b[j]))
    });
}

#[test]
fn arguments_of_functions() {
    let gpu = Gpu::new();
    let n = 100;
    let input: Vec<f64> = (0..n).map(|i| f64::from(i) / 7.0).collect();
    let (h, module) = (gpu.put(&input), gpu.module(CALLS));
    let mut out = gpu.zeros::<f64>(input.len());
    unsafe {
        cuda_launch! { kernel: ten_arguments, module: module, stream: gpu.stream, config: line(1, n),
        args: [h.as_device_ptr(), out.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&out), "ten_arguments", |t| {
        let i = t as i32;
        let whole = i32::from(-i as i8) + i - 2 * i;
        let t64 = f64::from(i);
        let (half, quarter) = (f64::from(i as f32 * 0.5), t64 * 0.25);
        f64::from(whole) + 3.0 * t64 + half + quarter + f64::from(i % 2) + input[t] + t64 + 1.0 + t64
    });
    each(&one_block!(CALLS, through_pointer, 64; u32), "through_pointer", |t| t as u32 + 3);
    let exchanged = one_block!(CALLS, barrier_in_function, 96; u32);
    each(&exchanged, "barrier_in_function", |t| (t ^ 1) as u32 * 10);
    assert_eq!(exchanged[1].bits(), 0);
}
