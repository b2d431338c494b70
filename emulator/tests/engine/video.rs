//! Scalar video instructions that do more than compute, with what an sm_90 has for them: the results of the instructions into which
//! ptxas 13.0 translates each. Most are not those of the ISA's pseudocode.

use crate::support::{Device, outputs, snippet};

/// An instruction, its operands, its result.
const RESULTS: &[(&str, [u32; 3], u32)] = &[
    ("vadd.u32.u32.u32.min d, a, b, c", [0x7fff, 0x7fffffff, 0x80007fff], 0x80007fff),
    ("vadd.u32.u32.u32.max d, a, b, c", [0xdef83343, 0x3500, 0xe85c4cc1], 0xdef86843),
    ("vadd.u32.u32.u32 d.h1, a, b, c", [0x5f209fa9, 0x19, 0x6c00], 0x5f206c00),
    ("vadd.u32.u32.u32.sat d, a, b", [0xffffffff, 0xffffffff, 0x9f0c1556], 0xfffffffe),
    ("vadd.u32.u32.u32.sat.add d, a, b, c", [0xdacff2c1, 0xdacff2c1, 0xffffffff], 0xb59fe581),
    ("vadd.u32.u32.u32.sat.min d, a, b, c", [0x80000000, 0x12, 0x80808080], 0x80808080),
    ("vadd.u32.u32.u32.sat.max d, a, b, c", [0xfffffffe, 0x3427e8a, 0x7], 0x3427e88),
    ("vadd.u32.u32.u32.sat d.h1, a, b, c", [0xfb, 0xfb, 0x3b00], 0x3b00),
    ("vadd.u32.u32.s32.sat d.b0, a, b, c", [0x9400, 0x80000001, 0x8d00], 0x8dff),
    ("vadd.u32.u32.s32.sat d.h0, a, b, c", [0xdc00, 0x80000001, 0x1], 0xffff),
    ("vadd.s32.u32.u32.sat d.h1, a, b, c", [0x100, 0x32, 0x100], 0x100),
    ("vadd.s32.u32.s32.sat d.b0, a, b, c", [0x8000, 0xbc744917, 0x13], 0x7f),
    ("vadd.s32.u32.s32.sat d.h0, a, b, c", [0x7fff, 0xc7000000, 0x7fff8000], 0x7fff7fff),
    ("vsub.u32.u32.u32.min d, a, b, c", [0x15, 0x80000000, 0x80808080], 0x80808080),
    ("vsub.u32.u32.u32.max d, a, b, c", [0xe20f45c2, 0x1e, 0xffff0001], 0xe20f45a4),
    ("vsub.u32.u32.u32 d.h1, a, b, c", [0xf, 0x3, 0xdd00], 0xdd00),
    ("vsub.u32.u32.u32.sat.min d, a, b, c", [0x93000000, 0x31, 0xfe000000], 0xfe000000),
    ("vsub.u32.u32.u32.sat.max d, a, b, c", [0x921d2167, 0x910000, 0xc75b12ab], 0x918c2167),
    ("vsub.u32.u32.u32.sat d.b0, a, b, c", [0xc4, 0x7fff8000, 0xf], 0xff),
    ("vsub.u32.u32.u32.sat d.h0, a, b, c", [0x8, 0x2b, 0xa30000], 0xa3ffff),
    ("vsub.u32.u32.u32.sat d.h1, a, b, c", [0x57795e04, 0x3b0000, 0x80000001], 0x1),
    ("vsub.u32.u32.s32.sat d, a, b", [0x8a9b3600, 0x8a9b3600, 0x10], 0x0),
    ("vsub.u32.u32.s32.sat.add d, a, b, c", [0xffffffff, 0xdde0e095, 0x61], 0x221f1fcb),
    ("vsub.s32.u32.u32.sat d.b0, a, b, c", [0xbb, 0x100, 0x7f], 0x7f),
    ("vsub.s32.u32.u32.sat d.h0, a, b, c", [0x7, 0x17, 0x80], 0x7fff),
    ("vsub.s32.u32.u32.sat d.h1, a, b, c", [0x80007fff, 0x40, 0xffffffff], 0xffff),
    ("vabsdiff.u32.u32.u32 d.h1, a, b, c", [0xe752b095, 0x2a, 0x1f], 0xe752001f),
    ("vabsdiff.u32.u32.u32.sat d.h1, a, b, c", [0xcb6b8b12, 0x80000000, 0x1f], 0x1f),
    ("vabsdiff.u32.u32.s32.min d, a, b, c", [0x80007fff, 0x80007fff, 0xf676c40a], 0xf676c40a),
    ("vabsdiff.u32.u32.s32.max d, a, b, c", [0x80000001, 0x80000001, 0x7fffffff], 0x0),
    ("vabsdiff.u32.u32.s32.sat d, a, b", [0x8f516e4f, 0x8f516e4f, 0xffff0001], 0x0),
    ("vabsdiff.u32.u32.s32.sat.add d, a, b, c", [0xb5708eb5, 0x80808080, 0x2e], 0x34f00e63),
    ("vabsdiff.u32.u32.s32.sat.max d, a, b, c", [0x80808080, 0x80808080, 0x956595af], 0x0),
    ("vabsdiff.s32.u32.u32.min d, a, b, c", [0x2, 0xa00f2467, 0x7], 0x7),
    ("vabsdiff.s32.u32.u32.max d, a, b, c", [0xe4ec9136, 0xffff, 0x0], 0xe4eb9137),
    ("vabsdiff.s32.u32.u32.sat d.h1, a, b, c", [0x709bcea5, 0x11, 0x4cb353db], 0x53db),
    ("vmin.u32.u32.u32 d.h1, a, b, c", [0x2100, 0x2100, 0xaa927487], 0x7487),
    ("vmin.u32.u32.u32.sat d.h1, a, b, c", [0x33, 0x2200, 0xffff0001], 0x1),
    ("vmin.u32.u32.s32.min d, a, b, c", [0x7fffffff, 0x80007fff, 0xebe90064], 0xebe90064),
    ("vmin.u32.u32.s32.max d, a, b, c", [0xa100, 0x80000000, 0x80808080], 0x80000000),
    ("vmin.u32.u32.s32.sat d.b0, a, b, c", [0x8300, 0xb3000000, 0xf0000000], 0xf00000ff),
    ("vmin.u32.u32.s32.sat d.h0, a, b, c", [0xa2, 0x80000000, 0x3], 0xffff),
    ("vmin.s32.u32.u32.min d, a, b, c", [0x9876fecc, 0x9876fecc, 0x8600], 0x8600),
    ("vmin.s32.u32.u32.max d, a, b, c", [0xe0000000, 0xffff0001, 0x7f], 0xe0000000),
    ("vmin.s32.u32.u32.sat d.h1, a, b, c", [0xffffffff, 0x7fff, 0x3f], 0x3f),
    ("vmin.s32.u32.s32.sat d.b0, a, b, c", [0x80000000, 0x80808080, 0x80808080], 0x8080807f),
    ("vmin.s32.u32.s32.sat d.h0, a, b, c", [0x5110d1a9, 0xffff0001, 0x1f], 0x7fff),
    ("vmax.u32.u32.u32 d.h1, a, b, c", [0x2, 0x80007fff, 0x80], 0x80000080),
    ("vmax.u32.u32.u32.sat d.h1, a, b, c", [0x80000001, 0x80000001, 0x7fff8000], 0x8000),
    ("vmax.u32.s32.s32.min d, a, b, c", [0x80000001, 0x80000001, 0x82000000], 0x82000000),
    ("vmax.u32.s32.s32.max d, a, b, c", [0x896cedfb, 0xa48226e4, 0xffff0001], 0xa48226e4),
    ("vmax.u32.s32.s32.sat d.b0, a, b, c", [0xffff0001, 0x80000001, 0x7f], 0xff),
    ("vmax.u32.s32.s32.sat d.h0, a, b, c", [0xf6b7df49, 0xf6b7df49, 0x8000], 0xffff),
    ("vmax.s32.u32.u32.min d, a, b, c", [0xffff0001, 0x8, 0x460000], 0x460000),
    ("vmax.s32.u32.u32.max d, a, b, c", [0x7fff, 0x80000000, 0x7fff], 0x80000000),
    ("vmax.s32.u32.u32.sat d.h1, a, b, c", [0x80000000, 0x43, 0xf4664a30], 0x4a30),
    ("vmax.s32.s32.s32.sat d.b0, a, b, c", [0xb53e4ef6, 0xffff0001, 0x0], 0x7f),
    ("vmax.s32.s32.s32.sat d.h0, a, b, c", [0xf024c300, 0xffff0001, 0xb300], 0x7fff),
    ("vshl.u32.u32.u32.clamp.min d, a, b, c", [0xfffffffe, 0x25, 0xedfd5010], 0xedfd5010),
    ("vshl.u32.u32.u32.clamp.max d, a, b, c", [0x20, 0x7f7f7f7f, 0x10], 0x0),
    ("vshl.u32.u32.u32.clamp d.h1, a, b, c", [0x1619d753, 0x1d, 0x7fff], 0x60007fff),
    ("vshl.u32.u32.u32.sat.clamp d, a, b", [0x9100, 0x2a000000, 0x3f], 0x0),
    ("vshl.u32.u32.u32.sat.clamp.add d, a, b, c", [0x80007fff, 0xf9, 0x21], 0x21),
    ("vshl.u32.u32.u32.sat.clamp.min d, a, b, c", [0xb9385417, 0x59ecbc09, 0x3], 0x0),
    ("vshl.u32.u32.u32.sat.clamp.max d, a, b, c", [0x8b7f43d0, 0x80808080, 0x21], 0x21),
    ("vshl.u32.u32.u32.sat.clamp d.b0, a, b, c", [0x80808080, 0x3d0000, 0x598d407d], 0x598d4000),
    ("vshl.u32.u32.u32.sat.clamp d.h0, a, b, c", [0x80, 0xc90e525a, 0x80000001], 0x80000000),
    ("vshl.u32.u32.u32.sat.clamp d.h1, a, b, c", [0x7fffffff, 0x21, 0x7f7f7f7f], 0x7f7f),
    ("vshl.s32.u32.u32.clamp.min d, a, b, c", [0x10, 0x23, 0x160000], 0x160000),
    ("vshl.s32.u32.u32.clamp.max d, a, b, c", [0xa20000, 0x7f, 0x7fffffff], 0x0),
    ("vshl.s32.u32.u32.sat.clamp d, a, b", [0xaa00, 0xe929acde, 0xa000], 0x0),
    ("vshl.s32.u32.u32.sat.clamp.add d, a, b, c", [0x80000000, 0x3a, 0x0], 0x0),
    ("vshl.s32.u32.u32.sat.clamp.min d, a, b, c", [0x10, 0xffffffff, 0x7], 0x0),
    ("vshl.s32.u32.u32.sat.clamp.max d, a, b, c", [0x5b874518, 0x3a, 0x7fff8000], 0x7fff8000),
    ("vshl.s32.u32.u32.sat.clamp d.b0, a, b, c", [0xb6df34be, 0x3, 0x20], 0xff),
    ("vshl.s32.u32.u32.sat.clamp d.h0, a, b, c", [0x1f, 0x1e, 0x1], 0x0),
    ("vshl.s32.u32.u32.sat.clamp d.h1, a, b, c", [0x8, 0x8, 0x20], 0x20),
    ("vshr.u32.u32.u32.clamp d.h1, a, b, c", [0x7fffffff, 0x1, 0xf91ca627], 0x3fffa627),
    ("vshr.u32.u32.u32.sat.clamp.min d, a, b.b3, c", [0x88730e4f, 0x34, 0xffffffff], 0xffffffff),
    ("vshr.u32.u32.u32.sat.clamp.max d, a, b, c", [0x97532351, 0x0, 0xffffffff], 0x97532351),
    ("vshr.u32.u32.u32.sat.clamp d.b0, a, b, c", [0xe1268449, 0x5, 0xf], 0x22),
    ("vshr.u32.u32.u32.sat.clamp d.h0, a, b, c", [0x10000, 0x0, 0x66000000], 0x66000000),
    ("vshr.u32.u32.u32.sat.clamp d.h1, a, b, c", [0x6ec6745b, 0x0, 0x1f], 0x6ec6001f),
    ("vshr.u32.s32.u32.clamp.min d, a, b, c", [0x80000000, 0x0, 0xb82f8695], 0xb82f8695),
    ("vshr.u32.s32.u32.clamp.max d, a, b, c", [0xc8ceaabe, 0x5, 0xfffffffe], 0xfe467555),
    ("vshr.s32.u32.u32.clamp.min d, a, b, c", [0xfffffffe, 0x0, 0xf], 0xf),
    ("vshr.s32.u32.u32.sat.clamp d.b0, a, b, c", [0xbf0fae0f, 0x2, 0x5d0000], 0x5d0083),
    ("vshr.s32.u32.u32.sat.clamp d.h0, a, b, c", [0x80000000, 0x3, 0xfffffffe], 0xffff0000),
    ("vshr.s32.u32.u32.sat.clamp d.h1, a, b, c", [0x3, 0x0, 0x7fff], 0x7fff),
    ("vshr.s32.u32.u32.wrap.max d, a, b, c", [0xffffffff, 0x670000, 0x1f], 0xffffffff),
    ("vset.u32.u32.eq d.h1, a, b, c", [0x34086a9, 0x34086a9, 0xaa398039], 0x8039),
    ("vset.s32.u32.eq.min d, a, b, c", [0x10, 0x2b, 0x969c2813], 0x969c2813),
    ("vset.s32.u32.eq.max d, a, b, c", [0xa5b87900, 0xa5b87900, 0x8db348b2], 0x0),
    ("vmad.u32.u32.u32.sat d, a, b, c", [0xc7a91d3c, 0x8bb195d0, 0x8f1bd44e], 0xffffffff),
    ("vmad.s32.u32.u32.sat d, -a, b, c", [0xb2605a9e, 0x90658172, 0x91c3c77e], 0x80000000),
    ("vmad.u32.u32.u32.shr7 d, a, b, c", [0xdb0ebf74, 0xe1674583, 0x9a2a4e22], 0x6f4ff914),
    ("vmad.u32.u32.u32.po.shr15 d, a, b, c", [0xf33b4354, 0xa95bad99, 0xb5ea963b], 0x930d0763),
    ("vmad.s32.u32.s32.sat.shr15 d, a, b, c", [0xd53c9a40, 0xea862515, 0xeabe50f2], 0x7fffffff),
    ("vmad.s32.s32.u32.shr7 d, a, -b, c", [0x81278f9b, 0x8e00d0d7, 0xed705a47], 0xdaad119e),
    ("vmad.s32.u32.u32.sat.shr7 d, a, b, -c", [0xd9dc2364, 0xffed0a58, 0xd6145c5f], 0x7fffffff),
    ("vmad.u32.s32.s32.sat d, -a, -b, -c", [0xac12de30, 0xefdf1192, 0xfc12ef64], 0x7fffffff),
    ("vmad.u32.u32.u32.sat.shr15 d, -a, -b, c", [0xc695e91f, 0xd34ef2a0, 0xc522450c], 0xffffffff),
];

#[test]
fn scalar_video_instructions_do_what_ptxas_makes_of_them() {
    let registers = |text: &str| -> String {
        let (name, operands) = text.split_once(' ').unwrap();
        let operands =
            ["d", "a", "b", "c"].iter().zip(0..).fold(format!(" {operands}"), |text, (letter, at)| {
                [" ", "-"].iter().fold(text, |text, before| {
                    text.replace(&format!("{before}{letter}"), &format!("{before}%r{at}"))
                })
            });
        format!("{name}{operands};")
    };
    let one = |(at, (text, [a, b, c], _)): (usize, &(&str, [u32; 3], u32))| {
        let operands = format!("mov.b32 %r1, {a}; mov.b32 %r2, {b}; mov.b32 %r3, {c};");
        format!("{operands} {}\nst.global.b32 [%out+{}], %r0;\n", registers(text), 4 * at)
    };
    let body: String = RESULTS.iter().enumerate().map(one).collect();
    let results = outputs::<u32>(&snippet(&body), 1, RESULTS.len());
    for ((text, operands, expected), result) in RESULTS.iter().zip(results) {
        assert_eq!(result, *expected, "{text} of {operands:x?}: {result:#x}, and {expected:#x} is right");
    }
}

#[test]
fn what_excludes_each_other_in_video_instructions_is_refused_by_name() {
    for form in [
        "vadd.u32.u32.u32.add %r1.b1, %t, %t, %t;",
        "vmad.s32.u32.u32 %r1, -%t, %t, -%t;",
        "vmad.s32.u32.u32.po %r1, %t, %t, -%t;",
    ] {
        let device = Device::new(&snippet(form));
        let kernel = device.kernel("k");
        let refused: Vec<(u32, &str)> = kernel.unsupported().collect();
        let name = form.split(' ').next().unwrap();
        assert!(refused.len() == 1 && refused[0].1.contains(name), "{form}: {refused:?}");
    }
}
