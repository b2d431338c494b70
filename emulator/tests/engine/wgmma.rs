//! `wgmma.mma_async` against products computed here from the PTX ISA's layouts ("Shared Memory Matrix Layout", "Register Fragments").

mod product;

pub(crate) use product::{Random, decoded, encoded};

use std::sync::Arc;

use cuda_emulator::engine::{FaultKind, Program};
use cuda_emulator::memory::Memory;

use crate::support::{Args, Device};
use crate::wgmma_support::case::{Case, HALVES, HEAD, SHARED};
use crate::wgmma_support::layout::{Layout, PLAIN};

/// The layouts of a matrix that has room for 128 lines of 16 halves.
fn layouts() -> Vec<[Layout; 2]> {
    [0, 32, 64, 128]
        .map(|swizzle| {
            let (stride, leading) = if swizzle == 0 { (256, 128) } else { (8 * swizzle, 0) };
            let along = Layout { swizzle, across: false, leading, stride };
            let (leading, stride) = if swizzle == 0 { (2048, 128) } else { (16 * swizzle, 8 * swizzle) };
            [along, Layout { swizzle, across: true, leading, stride }]
        })
        .to_vec()
}

#[test]
fn matrices_of_all_layouts() {
    for [along, across] in layouts() {
        for (left, right) in [(along, along), (across, along), (along, across), (across, across)] {
            for a in ["f16", "bf16"] {
                Case { a, b: a, left: Some(left), right, ..HALVES }.check();
            }
        }
        Case { left: None, right: across, ..HALVES }.check();
        for (k, a) in [(8, "tf32"), (32, "e4m3"), (32, "e5m2")] {
            Case { k, a, b: a, left: Some(along), right: along, ..HALVES }.check();
        }
        for (k, a) in [(32, "s8"), (256, "b1")] {
            Case { k, d: "s32", a, b: a, left: Some(along), right: along, ..HALVES }.check();
        }
    }
    // A and B in different ones, and other distances between pieces.
    let [_, [narrow, _], _, [wide, _]] = layouts()[..] else { panic!() };
    Case { left: Some(narrow), right: wide, ..HALVES }.check();
    let sparse = Layout { leading: 1024, stride: 2048 + 128, ..PLAIN };
    Case { n: 32, left: Some(Layout { leading: 4096, stride: 512, ..PLAIN }), right: sparse, ..HALVES }
        .check();
}

#[test]
fn a_from_registers_and_all_sizes() {
    for (k, d, a, b) in [
        (16, "f32", "f16", "f16"),
        (16, "f16", "f16", "f16"),
        (16, "f32", "bf16", "bf16"),
        (8, "f32", "tf32", "tf32"),
        (32, "f32", "e4m3", "e5m2"),
        (32, "f16", "e5m2", "e4m3"),
        (32, "f32", "e4m3", "e4m3"),
        (32, "f16", "e5m2", "e5m2"),
        (32, "s32", "s8", "s8"),
        (32, "s32", "u8", "s8"),
        (32, "s32", "s8", "u8"),
        (32, "s32", "u8", "u8"),
        (256, "s32", "b1", "b1"),
    ] {
        for left in [None, Some(PLAIN)] {
            Case { k, d, a, b, left, ..HALVES }.check();
            Case { k, d, a, b, left, adds: false, ..HALVES }.check();
        }
    }
    for n in [8, 24, 40, 256] {
        Case { n, ..HALVES }.check();
        Case { n, d: "f16", left: None, ..HALVES }.check();
    }
}

/// Why the kernel of a module cannot be loaded or executed.
fn refusals(text: &str) -> Vec<String> {
    match Program::load(text, &Arc::new(Memory::new(1 << 20))) {
        Ok(program) => {
            let kernel = program.kernel("k").unwrap();
            kernel.unsupported().map(|(_, reason)| reason.to_owned()).collect()
        }
        Err(failure) => vec![failure.message],
    }
}

#[test]
fn sparse_matrices() {
    let wide = Layout { leading: 128, stride: 512, ..PLAIN };
    for (k, d, a, b) in [
        (32, "f32", "f16", "f16"),
        (32, "f16", "f16", "f16"),
        (32, "f32", "bf16", "bf16"),
        (16, "f32", "tf32", "tf32"),
        (64, "f32", "e4m3", "e5m2"),
        (64, "f16", "e5m2", "e5m2"),
        (64, "s32", "s8", "u8"),
        (64, "s32", "u8", "s8"),
    ] {
        let selectors = if k == 64 { 0..1 } else { 0..2 };
        for selector in selectors {
            for left in [None, Some(PLAIN)] {
                let case = Case { k, d, a, b, left, right: wide, sparse: Some(selector), ..HALVES };
                case.check();
                Case { n: 8, adds: false, ..case }.check();
                Case { n: 256, right: Layout { stride: 512, leading: 128, ..PLAIN }, ..case }.check();
            }
        }
    }
    for [along, across] in layouts() {
        let halves = Case { k: 32, sparse: Some(1), left: Some(along), ..HALVES };
        // 64 bytes of a column do not fit into a row of a pattern of 32.
        if along.swizzle != 32 {
            let right = if along.swizzle == 0 { wide } else { along };
            Case { right, ..halves }.check();
            Case { k: 64, d: "s32", a: "s8", b: "s8", right, sparse: Some(0), ..halves }.check();
        }
        let far = Layout { leading: if across.swizzle == 0 { 2048 } else { 32 * across.swizzle }, ..across };
        Case { left: Some(across), right: far, ..halves }.check();
        Case { left: None, right: far, signs: [-1, 1], ..halves }.check();
    }
    Case { k: 64, d: "s32", a: "u8", b: "u8", right: wide, saturates: true, sparse: Some(0), ..HALVES }
        .check();
    let plain = Case { k: 32, sparse: Some(1), ..HALVES };
    let bytes = Case { k: 64, a: "e4m3", b: "e4m3", ..plain };
    for (case, selector, reason) in
        [(plain, 2, "operand 5: one of [0, 1]"), (bytes, 1, "the selector of this shape is below 1")]
    {
        let case = Case { sparse: Some(selector), ..case };
        let reasons = refusals(&case.text(&case.instruction()));
        assert!(reasons.len() == 1 && reasons[0].contains(reason), "{reasons:?}");
    }
}

/// A swizzled matrix may begin at any line of 128 bytes, if the descriptor says at which of the pattern.
#[test]
fn patterns_begin_anywhere() {
    for (swizzle, lines) in [(128, 8), (64, 4), (32, 2)] {
        let along = Layout { swizzle, across: false, leading: 0, stride: 8 * swizzle };
        for offset in 0..lines {
            let case = Case { n: 16, right: along, ..HALVES };
            let (a, b): (Vec<u32>, Vec<u32>) = (
                (0..64 * 16).map(|at| encoded("f16", f64::from(at % 7) - 3.0)).collect(),
                (0..16 * 16).map(|at| encoded("f16", f64::from(at * at % 11) - 5.0)).collect(),
            );
            let wanted = case.run(&a, &b, &[0; 64 * 16]);
            assert_eq!(case.run_at(&a, &b, &[0; 64 * 16], &[], offset), wanted, "{swizzle} {offset}");
        }
    }
}

#[test]
fn factors_are_negated_and_integers_saturate() {
    for signs in [[-1, 1], [1, -1], [-1, -1]] {
        for (k, d, a) in [(16, "f32", "f16"), (16, "f32", "bf16"), (8, "f32", "tf32"), (32, "f16", "e4m3")] {
            for left in [None, Some(PLAIN)] {
                Case { k, d, a, b: a, left, signs, ..HALVES }.check();
            }
        }
    }
    for (a, b) in [("s8", "s8"), ("u8", "s8"), ("u8", "u8")] {
        Case { k: 32, d: "s32", a, b, saturates: true, ..HALVES }.check();
    }
}

/// What the sum of products of 8-bit floats becomes: all terms are cut off 13 places below the largest exponent, and so is the sum. An exponent
/// of a product is the sum of those of its factors.
fn coarse(products: &[(f64, i32)], c: (f64, i32), to: &str) -> u32 {
    let terms: Vec<_> = products.iter().chain([&c]).filter(|term| term.0 != 0.0).collect();
    let Some(top) = terms.iter().map(|term| term.1).max() else { return 0 };
    let sum: f64 = terms.iter().map(|term| (term.0 * 2f64.powi(13 - top)).trunc()).sum();
    if sum == 0.0 {
        return 0;
    }
    let value = sum * 2f64.powi(top - 13);
    let own = value.abs().log2().floor() as i32;
    match to {
        "f32" => encoded("f32", (value * 2f64.powi(13 - own)).trunc() * 2f64.powi(own - 13)),
        _ => encoded("f16", (value * 2f64.powi(10 - own)).round_ties_even() * 2f64.powi(own - 10)),
    }
}

#[test]
fn sums_of_8_bit_floats_keep_13_places() {
    let mut random = Random(3);
    for (d, a, b) in
        [("f32", "e4m3", "e4m3"), ("f32", "e4m3", "e5m2"), ("f16", "e5m2", "e4m3"), ("f16", "e4m3", "e4m3")]
    {
        let case = Case { n: 16, k: 32, d, a, b, left: None, ..HALVES };
        // Exponents from 2^-6 to 2^5, all fractions and signs, subnormal numbers among those of `.e4m3`.
        let mut eighths = |name: &str, count: usize| -> Vec<u32> {
            let number = |random: &mut Random| match name {
                "e4m3" => (random.next() & 0x80 | random.below(13 * 8)) as u32,
                _ => (random.next() & 0x80 | (random.below(9) + 11) << 2 | random.next() & 3) as u32,
            };
            (0..count).map(|_| number(&mut random)).collect()
        };
        let (left, right) = (eighths(a, 64 * 32), eighths(b, 16 * 32));
        let c: Vec<u32> = (0..64 * 16)
            .map(|_| match d {
                "f32" => (random.next() as u32 & 0x807f_ffff) | (120 + random.below(16) as u32) << 23,
                _ => (random.next() as u32 & 0x83ff) | (8 + random.below(16) as u32) << 10,
            })
            .collect();
        let found = case.run(&left, &right, &c);
        let mut coarser = 0;
        for (at, found) in found.iter().enumerate() {
            let product = |k: usize| {
                let (x, y) = (decoded(a, left[at / 16 * 32 + k]), decoded(b, right[at % 16 * 32 + k]));
                (x.0 * y.0, x.1 + y.1)
            };
            let products: Vec<_> = (0..32).map(product).collect();
            let addend = decoded(d, c[at]);
            assert_eq!(*found, coarse(&products, addend, d), "{d} {a} {b}: {at}");
            let exact = products.iter().map(|product| product.0).sum::<f64>() + addend.0;
            coarser += usize::from(decoded(d, *found).0 as f32 != exact as f32);
        }
        assert!(coarser > 100, "the sums are cut off: {coarser}");
    }
}

/// An H200's, to numbers written down: one product of 1, and C.
#[test]
fn small_addends_are_cut_off() {
    let case = Case { n: 8, k: 32, a: "e4m3", b: "e4m3", left: None, ..HALVES };
    let (mut a, mut b) = (vec![0; 64 * 32], vec![0; 8 * 32]);
    for line in 0..64 {
        a[line * 32] = 0x38;
    }
    for line in 0..8 {
        b[line * 32] = 0x38;
    }
    for (c, wanted) in [
        (2f32.powi(-13), 1.0 + 2f32.powi(-13)),
        (2f32.powi(-14), 1.0),
        (-(2f32.powi(-14)), 1.0),
        // Truncated, not rounded.
        (2f32.powi(-13) * 1.75, 1.0 + 2f32.powi(-13)),
        (8192.0, 8193.0),
        (16384.0, 16384.0),
        // Of C as well no more is kept.
        (1.0 + 2f32.powi(-14), 2.0),
        (-1.0, 0.0),
    ] {
        let found = case.run(&a, &b, &vec![c.to_bits(); 64 * 8]);
        assert_eq!(found, vec![wanted.to_bits(); 64 * 8], "{c}");
    }
}

/// The fault of an instruction with these descriptors.
fn fault(case: Case, threads: u32, a: u64, b: u64) -> Result<(), (FaultKind, String)> {
    let device = Device::new(&case.text(&case.instruction()));
    let mut image = vec![0; case.size()];
    image[HEAD + 8..HEAD + 16].copy_from_slice(&a.to_le_bytes());
    image[HEAD + 16..HEAD + 24].copy_from_slice(&b.to_le_bytes());
    let input = device.upload(&image);
    let out = device.zeroed::<u8>(512 * case.registers());
    let args = Args::new().add(input).add(out);
    let launch = crate::support::launch(&device, "k", [1; 3], [threads, 1, 1], &args);
    device.try_launch("k", launch).map(|_| ()).map_err(|fault| (fault.kind, fault.to_string()))
}

#[test]
fn what_a_descriptor_cannot_say() {
    let plain = PLAIN.descriptor();
    assert_eq!(fault(HALVES, 128, plain, plain | 0x400), Ok(()));
    // The last eight columns begin at 7 * 256, and have 128 bytes twice.
    let last = (SHARED as u64 - 8 * 256) >> 4;
    assert_eq!(fault(HALVES, 128, plain, plain | last), Ok(()));
    for (a, b, kind, wanted) in [
        (plain, plain | (last + 1), FaultKind::IllegalAddress, "reaches to shared address 0xc400"),
        (plain | (last + 1), plain, FaultKind::IllegalAddress, "reaches to shared address 0xc400"),
        (plain, plain | 0x3f00, FaultKind::IllegalAddress, "illegal read of 16 bytes"),
    ] {
        let (found, message) = fault(HALVES, 128, a, b).unwrap_err();
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(wanted), "{message}");
    }
    assert_eq!(fault(HALVES, 96 + 16, plain, plain).unwrap_err().0, FaultKind::InvalidSync);
}

#[test]
fn random_descriptors_are_faults_or_results() {
    let mut random = Random(11);
    let mut kinds = std::collections::BTreeSet::new();
    for at in 0..150 {
        let across = Layout { across: true, ..PLAIN };
        let case = Case {
            n: 8,
            left: Some(if at % 3 == 0 { across } else { PLAIN }),
            right: if at % 2 == 0 { across } else { PLAIN },
            ..HALVES
        };
        // Some near the beginning.
        let mask = [u64::MAX, !0x3000_3000_3000][at % 2];
        let result = fault(case, 128, random.next() & mask, random.next() & mask);
        kinds.insert(result.err().map(|(kind, _)| format!("{kind:?}")));
    }
    let kinds: Vec<_> = kinds.into_iter().map(Option::unwrap_or_default).collect();
    assert_eq!(kinds, ["", "IllegalAddress"]);
}

#[test]
fn what_ptx_does_not_have_is_refused() {
    let plain = HALVES.instruction();
    let integers = Case { k: 32, d: "s32", a: "s8", b: "s8", ..HALVES };
    for (case, instruction, wanted) in [
        (HALVES, plain.replace("1, 1, 0, 0;", "2, 1, 0, 0;"), "operand 5: one of [-1, 1] is expected"),
        (HALVES, plain.replace("1, 1, 0, 0;", "1, 1, 0, 2;"), "operand 8: one of [0, 1] is expected"),
        (HALVES, plain.replace("1, 1, 0, 0;", "1, 1;"), "8 operands expected, 6 found"),
        (HALVES, plain.replace("%d0,", ""), "operand 1: 32 registers expected, 31 found"),
        (HALVES, plain.replace("k16", "k8"), "no such combination"),
        (HALVES, plain.replace("n64", "n12"), "no such combination"),
        (integers, integers.instruction().replace("n64", "n40"), "no such combination"),
        (integers, integers.instruction().replace("%q;", "%q, 1, 1;"), "4 operands expected, 6 found"),
        (HALVES, plain.replace("mma_async", "mma_async.sp"), ""),
    ] {
        let reasons = refusals(&case.text(&instruction));
        assert!(reasons.len() == 1 && reasons[0].contains(wanted), "{instruction}: {reasons:?}");
    }
}
