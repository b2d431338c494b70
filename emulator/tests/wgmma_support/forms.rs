//! The forms of `wgmma.mma_async` that sm_90a has, as products of types, columns and where A is.

use super::case::{Case, HALVES, bits_of};
use super::layout::{Layout, PLAIN};

/// Layouts that have room for 256 lines, with K contiguous and, of 16 bits, with the other dimension.
fn layouts(bits: usize, sparse: bool) -> Vec<Layout> {
    let mut all = Vec::new();
    for swizzle in [0, 32, 64, 128] {
        // 64 bytes of a line if A is sparse: more than fit into a row of the pattern of 32.
        let (stride, leading) = match swizzle {
            0 => (if sparse { 512 } else { 256 }, 128),
            _ => (8 * swizzle, if swizzle == 32 { 8192 } else { 0 }),
        };
        all.push(Layout { swizzle, across: false, leading, stride });
        if bits == 16 {
            let far = if sparse { 32 } else { 16 } * swizzle;
            let (leading, stride) = if swizzle == 0 { (4096, 128) } else { (far, 8 * swizzle) };
            all.push(Layout { swizzle, across: true, leading, stride });
        }
    }
    all
}

/// D, A, B, columns of A.
const TYPES: [(&str, &str, &str, usize); 17] = [
    ("f16", "f16", "f16", 16),
    ("f32", "f16", "f16", 16),
    ("f32", "bf16", "bf16", 16),
    ("f32", "tf32", "tf32", 8),
    ("f16", "e4m3", "e4m3", 32),
    ("f16", "e4m3", "e5m2", 32),
    ("f16", "e5m2", "e4m3", 32),
    ("f16", "e5m2", "e5m2", 32),
    ("f32", "e4m3", "e4m3", 32),
    ("f32", "e4m3", "e5m2", 32),
    ("f32", "e5m2", "e4m3", 32),
    ("f32", "e5m2", "e5m2", 32),
    ("s32", "s8", "s8", 32),
    ("s32", "s8", "u8", 32),
    ("s32", "u8", "s8", 32),
    ("s32", "u8", "u8", 32),
    ("s32", "b1", "b1", 256),
];

/// Every form, each with some of the layouts and signs of factors that it may have.
pub fn forms() -> Vec<Case> {
    let mut forms = Vec::new();
    for sparse in [false, true] {
        for (d, a, b, k) in TYPES.into_iter().filter(|(_, a, ..)| !(sparse && *a == "b1")) {
            let bits = bits_of(a);
            // Pairs of lanes have the metadata of numbers of at least 16 bits.
            let selectors: &[Option<u32>] = match (sparse, bits) {
                (false, _) => &[None],
                (true, 8) => &[Some(0)],
                (true, _) => &[Some(0), Some(1)],
            };
            for n in (8..=256).step_by(8).filter(|n| d != "s32" || n % 16 == 0 || *n < 32) {
                for in_registers in [true, false] {
                    for saturates in
                        [false, true].into_iter().take(if bits == 8 && d == "s32" { 2 } else { 1 })
                    {
                        for &sparse in selectors {
                            let k = if sparse.is_some() { 2 * k } else { k };
                            let left = if in_registers { None } else { Some(PLAIN) };
                            forms.push(Case { n, k, d, a, b, left, saturates, sparse, ..HALVES });
                        }
                    }
                }
            }
        }
    }
    for (at, case) in (1u64..).zip(&mut forms) {
        let mixed = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let (lefts, rights) =
            (layouts(bits_of(case.a), false), layouts(bits_of(case.b), case.sparse.is_some()));
        case.right = rights[mixed % rights.len()];
        case.left = case.left.map(|_| lefts[mixed / 8 % lefts.len()]);
        case.signs = [[1, 1], [-1, 1], [1, -1], [-1, -1]][mixed / 64 % 4];
    }
    forms
}
