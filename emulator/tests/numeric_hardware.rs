//! What hardware answered where ours was different, or where the ISA leaves it open: an H200 with driver 580, on
//! 2026-11-21. Operands and bits are from a run of `numeric_device.rs` and one of the root package's
//! `kernels_arithmetic`. Here they stay checked without a GPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreadable_literal)]

mod numeric_support;
mod numeric_table;

use numeric_table::table;

/// Instructions that gave the same answers, and those: operands, and the bits of the result.
type Answers = (&'static [&'static str], &'static [(&'static [u64], u64)]);

#[rustfmt::skip]
const ANSWERS: &[Answers] = &[
    (
        &[
            "add.rn.f64", "sub.rn.f64", "mul.rn.f64", "add.rz.f64", "sub.rz.f64", "mul.rz.f64",
            "add.rm.f64", "sub.rm.f64", "mul.rm.f64", "add.rp.f64", "sub.rp.f64", "mul.rp.f64",
        ],
        &[
            (&[0x7ff0000000000001, 0xfff0000000000001], 0xfff8000000000001),
            (&[0xffffbeda96b53b7f, 0x7fffbeda96b53b83], 0x7fffbeda96b53b83),
            (&[0xfff7ebeffefddfef, 0xfff7ebeffefddff2], 0xffffebeffefddff2),
            (&[0xfff8000000000005, 0xfff8000000000008], 0xfff8000000000008),
            (&[0xfff8000000000000, 0xfff800071c81ac2e], 0xfff800071c81ac2e),
            (&[0x7ff0000000000001, 0x7ff0000000000004], 0x7ff8000000000004),
            (&[0xffffffffffffffff, 0x7ffffffffffffffd], 0x7ffffffffffffffd),
            (&[0x7ff8000000000005, 0xfff8000000000004], 0xfff8000000000004),
            (&[0xfff0000000000001, 0xfff0000000000003], 0xfff8000000000003),
            (&[0x7ff8000000000000, 0xfff8000000000004], 0xfff8000000000004),
            (&[0xfffdb3f0d7eeffef, 0xffffdb3288386de7], 0xffffdb3288386de7),
            (&[0xfff5fffab7ecffff, 0x7ff5fffab7ed0002], 0x7ffdfffab7ed0002),
        ],
    ),
    (
        &["fma.rn.f64", "fma.rz.f64", "fma.rm.f64", "fma.rp.f64"],
        &[
            (&[0x7ff0000000000001, 0, 0xfff8000000000000], 0xfff8000000000000),
            (&[0xffffffffffffffff, 0x7ffffffffffffffd, 0x10000000000001], 0x7ffffffffffffffd),
            (&[0x7ff7efed3ef9573b, 0x7ff7efed3ef95738, 0xfff7efed3ef95734], 0x7fffefed3ef95738),
            (&[0xfff0000000000001, 0x7ff0000000000001, 0xaa698eb81fe1ace6], 0x7ff8000000000001),
            (&[0xfff8000000000005, 0xfff8000000000003, 0xffe6bb2b0c73d0ad], 0xfff8000000000003),
            (&[0x7ff8000000000005, 0x7ff8000000000006, 0x7ff8000000000007], 0x7ff8000000000006),
            (&[0xfff8000000000000, 0xfff7fffffffffffd, 0xfff7ffffffffffe2], 0xfffffffffffffffd),
            (&[0x7ff8000000000005, 0x7ff8000000000007, 0x813e3299b65fd746], 0x7ff8000000000007),
            (&[0xfff0000000000001, 0x7ff8000000000005, 0x7ff8000013a5df53], 0x7ff8000000000005),
            (&[0x7ff8000000000005, 0x7ff80059f501a24f, 0xfff80059f501a24f], 0x7ff80059f501a24f),
            (&[0x7ffa2fbd5bdaf6fd, 0x7ffa2fbd5bdaf6f9, 0x7ffa2e7c6a1fb766], 0x7ffa2fbd5bdaf6f9),
            (&[0x7fffffffffffffff, 0x7fffffffffffffe1, 0xffffffffffffffdd], 0x7fffffffffffffe1),
        ],
    ),
    (
        &["abs.f64", "neg.f64"],
        &[
            (&[0x7ff0000000000001], 0x7ff8000000000001),
            (&[0xfff1d686eeff7abf], 0xfff9d686eeff7abf),
            (&[0xfff0000000000001], 0xfff8000000000001),
            (&[0xfff7bfffbfff6f77], 0xffffbfffbfff6f77),
            (&[0x7ff3fedffb7dedfd], 0x7ffbfedffb7dedfd),
            (&[0x7ff6faffbfb3e7de], 0x7ffefaffbfb3e7de),
        ],
    ),
    (
        &[
            "cvt.rn.f32.f64", "cvt.rn.ftz.f32.f64", "cvt.rz.f32.f64", "cvt.rz.ftz.f32.f64",
            "cvt.rm.f32.f64", "cvt.rm.ftz.f32.f64", "cvt.rp.f32.f64", "cvt.rp.ftz.f32.f64",
        ],
        &[
            (&[0x7ff0000000000001], 0x7fc00000),
            (&[0xfff8000000000005], 0xffc00000),
            (&[0xffffffffffffffff], 0xffffffff),
            (&[0xffffdb8bb7fe93fd], 0xfffedc5d),
            (&[0xfff0000000000001], 0xffc00000),
            (&[0xfff7be9b36f3ffaf], 0xfffdf4d9),
            (&[0x7ff8000000000000], 0x7fc00000),
            (&[0x7ffb2a5edff7db99], 0x7fd952f6),
            (&[0x7ff8000000000005], 0x7fc00000),
            (&[0xfff8000000000000], 0xffc00000),
        ],
    ),
    (
        &["cvt.rn.f16.f64", "cvt.rz.f16.f64", "cvt.rm.f16.f64", "cvt.rp.f16.f64"],
        &[
            (&[0x7ff0000000000001], 0x7e00),
            (&[0xfff8000000000000], 0xfe00),
            (&[0xffff6ffbfde75ef7], 0xffdb),
            (&[0xffffdb8bb7fe93fd], 0xfff6),
            (&[0xfff0000000000001], 0xfe00),
            (&[0xfff7be9b36f3ffaf], 0xffef),
            (&[0x7ff8000000000000], 0x7e00),
            (&[0xfff8000000000005], 0xfe00),
            (&[0x7ff8000000000005], 0x7e00),
            (&[0xffffffffffffffff], 0xffff),
        ],
    ),
    (
        &["cvt.rn.bf16.f64", "cvt.rz.bf16.f64", "cvt.rm.bf16.f64", "cvt.rp.bf16.f64"],
        &[
            (&[0x7ff0000000000001], 0x7fc0),
            (&[0xfff0000000000001], 0xffc0),
            (&[0xfff26dbfffab7efe], 0xffd3),
            (&[0x7ff8000000000000], 0x7fc0),
            (&[0xfff9de7f55dceee7], 0xffce),
            (&[0xffffffffffffffff], 0xffff),
            (&[0xfff8000000000000], 0xffc0),
            (&[0xfff8000000000005], 0xffc0),
            (&[0x7ffaffbf3bdfd76c], 0x7fd7),
        ],
    ),
    (
        &["cvt.rm.ftz.f16.f32"],
        &[
            (&[0x80000001], 0x8001),
            (&[0x80487de5], 0x8001),
            (&[0x80400000], 0x8001),
            (&[0x80030190], 0x8001),
            (&[0x80008300], 0x8001),
            (&[0x804c0100], 0x8001),
            (&[0x80013052], 0x8001),
            (&[0x80000004], 0x8001),
            (&[0x807824b9], 0x8001),
            (&[0x800033cd], 0x8001),
            (&[0x80080400], 0x8001),
            (&[0x80000200], 0x8001),
        ],
    ),
    (
        &["cvt.rp.ftz.f16.f32"],
        &[
            (&[0x1], 0x1),
            (&[0x493244], 0x1),
            (&[0x2f74], 0x1),
            (&[0x1c4db1], 0x1),
            (&[0xc], 0x1),
            (&[0x400412], 0x1),
            (&[0xdc], 0x1),
            (&[0xe57e8], 0x1),
            (&[0x160], 0x1),
            (&[0x34], 0x1),
            (&[0x148], 0x1),
            (&[0x2d4b5], 0x1),
        ],
    ),
    (
        &["cvt.f64.f16"],
        &[
            (&[0x7c01], 0x7ff8040000000000),
            (&[0x7f0d], 0x7ffc340000000000),
            (&[0xfe22], 0xfff8880000000000),
            (&[0xfe05], 0xfff8140000000000),
            (&[0x7c0b], 0x7ff82c0000000000),
            (&[0xff22], 0xfffc880000000000),
            (&[0x7ee9], 0x7ffba40000000000),
            (&[0xfe00], 0xfff8000000000000),
            (&[0x7f16], 0x7ffc580000000000),
            (&[0xfd4f], 0xfffd3c0000000000),
            (&[0xfc01], 0xfff8040000000000),
        ],
    ),
    (
        &["cvt.rn.tf32.f32", "cvt.rn.relu.tf32.f32"],
        &[
            (&[0x7f800001], 0x7fffe000),
            (&[0x7fad5b01], 0x7fffe000),
            (&[0x7fdb3267], 0x7fffe000),
            (&[0xff890d50], 0x7fffe000),
            (&[0xffb6e4b6], 0x7fffe000),
            (&[0xffe4bc1c], 0x7fffe000),
            (&[0xfff97af9], 0x7fffe000),
            (&[0x7fbd3839], 0x7fffe000),
            (&[0xff800001], 0x7fffe000),
        ],
    ),
    (
        &["bfe.s64"],
        &[
            (&[0x3, 0, 0x100], 0x3),
            (&[0x3, 0x100, 0x10], 0),
            (&[0x3, 0x100, 0x20], 0),
            (&[0x3, 0x100, 0x40], 0),
            (&[0xffffffffffffffff, 0, 0x100], 0xffffffffffffffff),
            (&[0xffffffffffffffff, 0x10, 0x100], 0xffffffffffffffff),
            (&[0xffffffffffffffff, 0x20, 0x100], 0xffffffffffffffff),
            (&[0xffffffffffffffff, 0x40, 0x100], 0xffffffffffffffff),
            (&[0xffffffffffffffff, 0x100, 0x100], 0xffffffffffffffff),
        ],
    ),
    // The rest was found by the root package's kernels.
    (
        &["cvt.rn.f32.f64"],
        &[(&[0x7ffc000000000005], 0x7fe00000), (&[0xfff0000000000001], 0xffc00000)],
    ),
    (
        &["cvt.f64.f32"],
        &[(&[0x7f800001], 0x7ff8000020000000), (&[0xff800001], 0xfff8000020000000)],
    ),
    (&["mul.rn.ftz.sat.f32"], &[(&[0x800000, 0x3f7fffff], 0)]),
    (
        &["div.u32", "div.s32", "rem.u32", "rem.s32"],
        &[(&[0, 0], 0xffffffff), (&[7, 0], 0xffffffff), (&[0x80000000, 0], 0xffffffff)],
    ),
];

#[test]
fn ours_give_what_an_h200_gave() {
    let rows = table().0;
    for (names, answers) in ANSWERS {
        for name in *names {
            let row = rows.iter().find(|row| row.ptx.split(' ').next() == Some(name));
            let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
            for (operands, expected) in *answers {
                assert_eq!(operands.len(), row.inputs.len(), "{name}");
                let operand = |i: usize| operands.get(i).copied().unwrap_or(0);
                let ours = (row.ours)(operand(0), operand(1), operand(2));
                assert_eq!(ours, *expected, "{name} {operands:x?}: {ours:x}, an H200 gave {expected:x}");
            }
        }
    }
}
