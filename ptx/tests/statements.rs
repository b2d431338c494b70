//! Statements and operands of a body.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{module_with, statements};
use cuda_ptx::{Instruction, Literal, Operand, Space, Statement, Type};

/// Runs `check` on the only instruction of a body.
fn instruction(text: &str, check: impl FnOnce(&Instruction<'_>)) {
    let module = module_with(text);
    match &statements(&module)[..] {
        [Statement::Instruction(i)] => check(i),
        other => panic!("{text}: {other:?}"),
    }
}

/// The operand, written as the only one of an instruction.
fn operand(text: &str, expected: &Operand<'_>) {
    instruction(&format!("op {text};"), |i| assert_eq!(i.operands, std::slice::from_ref(expected), "{text}"));
}

fn name(name: &str) -> Operand<'_> {
    Operand::Name(name)
}

fn int(value: i64) -> Operand<'static> {
    Operand::Literal(Literal::Int(value))
}

fn address(base: Operand<'_>, offset: i64) -> Operand<'_> {
    Operand::Address { base: Box::new(base), offset }
}

fn pair<'a>(first: Operand<'a>, second: Operand<'a>) -> Operand<'a> {
    Operand::Pair(Box::new(first), Box::new(second))
}

#[test]
fn names() {
    for (text, expected) in [
        ("%r1", name("%r1")),
        ("%tid.x", name("%tid.x")),
        ("%cluster_nctaid.z", name("%cluster_nctaid.z")),
        ("%clock64", name("%clock64")),
        ("_", name("_")),
        ("$L__BB0_1", name("$L__BB0_1")),
        ("_$_x", name("_$_x")),
        ("%v.x", Operand::Element("%v", 0)),
        ("v.w", Operand::Element("v", 3)),
        ("%v.g", Operand::Element("%v", 1)),
        // Byte and half selectors of the video instructions.
        ("%r1.b0", name("%r1.b0")),
        ("%r1.h1", name("%r1.h1")),
        ("!%p1", Operand::Not("%p1")),
        ("-%r1", Operand::Negated("%r1")),
        ("table+8", Operand::Offset("table", 8)),
        ("table+-8", Operand::Offset("table", -8)),
        ("table + -8 + 4", Operand::Offset("table", -4)),
        ("table[3]", Operand::Indexed("table", 3)),
        ("table[2*WARP_SZ]", Operand::Indexed("table", 64)),
        ("table[%r1]", Operand::IndexedBy { array: "table", register: "%r1", plus: 0 }),
        ("table[%r1+-2]", Operand::IndexedBy { array: "table", register: "%r1", plus: -2 }),
    ] {
        operand(text, &expected);
    }
}

#[test]
fn numbers() {
    for (text, value) in [
        ("0", Literal::Int(0)),
        ("-1", Literal::Int(-1)),
        ("+1", Literal::Int(1)),
        ("0xFFFFFFFFu", Literal::Int(0xffff_ffff)),
        ("0XffffffffffffffffU", Literal::Int(-1)),
        ("-9223372036854775808", Literal::Int(i64::MIN)),
        ("0f7F800000", Literal::F32(0x7f80_0000)),
        ("0Dffffffffffffffff", Literal::F64(u64::MAX)),
        ("-0d0000000000000000", Literal::F64(1 << 63)),
        ("1e3", Literal::F64(1000f64.to_bits())),
        ("2.5E+1", Literal::F64(25f64.to_bits())),
        ("1.e+3", Literal::F64(1000f64.to_bits())),
        // A little too large: bits are lost.
        ("18446744073709551621", Literal::Int(5)),
        ("0x7fffffffffffffff0", Literal::Int(-16)),
        ("WARP_SZ", Literal::Int(32)),
        ("-WARP_SZ", Literal::Int(-32)),
    ] {
        operand(text, &Operand::Literal(value));
    }
}

#[test]
fn constant_expressions() {
    for (text, value) in [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("((1)+2)*3", 9),
        ("10-3-2", 5),
        ("7/2", 3),
        ("-7/2", -3),
        ("-7 % 3", 0),
        ("~7 % 10", 8),
        ("~7 / 2", 0x7fff_ffff_ffff_fffc),
        ("~7 >> 1", 0x7fff_ffff_ffff_fffc),
        ("(1 ? -1 : 0U) < 0", 1),
        ("(1 ? 0U-1 : 0) / 2", i64::MAX),
        ("-(5U) < 0", 0),
        ("(5 & 3) - 3 < 0", 1),
        ("(5 % 3) - 3 < 0", 0),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("1 ? 0 ? 2 : 3 : 4", 3),
        ("(1?2:3)+1", 3),
        ("1 + 2 << 3", 24),
        ("1 | 2 ^ 3 & 4", 3),
        ("- -5", 5),
        ("1.5 + 0.5 == 2.0", 1),
        ("0xffffffffffffffff/2U", i64::MAX),
        ("-1 < 1", 1),
        ("-1 < 1U", 0),
        ("3 <= 3", 1),
        ("4 > 3", 1),
        ("4 >= 5", 0),
        ("1 << 4 >> 2", 4),
        ("-8 >> 1", -4),
        ("(.u64)-8 >> 60", 15),
        ("(.s64)3", 3),
        ("1 << 65", 2),
        ("1 << -1", i64::MIN),
        ("8 >> 65", 4),
        ("-1 >> 99", -1),
        ("6 & 3 | 8 ^ 12", 6),
        ("1 == 1 && 2 != 3", 1),
        ("0 || 0", 0),
        ("!5 + ~0", -1),
        ("1 ? 2 : 3", 2),
        ("0 ? 2 : 1 ? 4 : 5", 4),
        ("WARP_SZ-1", 31),
        ("9223372036854775807+1", i64::MIN),
    ] {
        operand(text, &int(value));
    }
}

/// However deep.
#[test]
fn parentheses() {
    let deep = format!("{}7{}", "-(".repeat(100_000), ")".repeat(100_000));
    operand(&format!("1+{deep}"), &int(8));
}

#[test]
fn addresses() {
    for (text, expected) in [
        ("[%rd1]", address(name("%rd1"), 0)),
        ("[%rd1+16]", address(name("%rd1"), 16)),
        ("[%rd1+-16]", address(name("%rd1"), -16)),
        ("[ buf + -4 + 2*8 ]", address(name("buf"), 12)),
        ("[16]", address(int(16), 0)),
        ("[16+4]", address(int(20), 0)),
        ("[%v.x+4]", address(Operand::Element("%v", 0), 4)),
        (
            "[tex, {x, y}]",
            Operand::AddressList(vec![name("tex"), Operand::Vector(vec![name("x"), name("y")])]),
        ),
        (
            "[%rd1+8, {1, %r2}, %r3]",
            Operand::AddressList(vec![
                Operand::Offset("%rd1", 8),
                Operand::Vector(vec![int(1), name("%r2")]),
                name("%r3"),
            ]),
        ),
    ] {
        operand(text, &expected);
    }
}

#[test]
fn groups() {
    for (text, expected) in [
        (
            "{%f1, _, 0f00000000}",
            Operand::Vector(vec![name("%f1"), name("_"), Operand::Literal(Literal::F32(0))]),
        ),
        ("{{a}}", Operand::Vector(vec![Operand::Vector(vec![name("a")])])),
        ("()", Operand::List(vec![])),
        ("(%r1, x, 5)", Operand::List(vec![name("%r1"), name("x"), int(5)])),
        ("(5)", Operand::List(vec![int(5)])),
        ("%r1|%p1", pair(name("%r1"), name("%p1"))),
        ("_|%p1", pair(name("_"), name("%p1"))),
        ("{a, b}|%p1", pair(Operand::Vector(vec![name("a"), name("b")]), name("%p1"))),
    ] {
        operand(text, &expected);
    }
}

#[test]
fn instruction_names() {
    for text in [
        "ret",
        "ld.global.nc.L1::evict_last.L2::cache_hint.L2::128B.v4.f32",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
        "tcgen05.ld.sync.aligned.16x64b.x2.b32",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "no_such_instruction.at.all",
        "add .s32",
    ] {
        instruction(&format!("{text};"), |i| assert_eq!((i.name, i.operands.len()), (text, 0)));
        instruction(&format!("{text} %r1, [%r2];"), |i| assert_eq!((i.name, i.operands.len()), (text, 2)));
    }
}

#[test]
fn guards() {
    for (text, negated) in [("@%p1 ret;", false), ("@!%p1 ret;", true), ("@ ! %p1\n ret;", true)] {
        instruction(text, |i| {
            assert_eq!(i.guard.map(|it| (it.register, it.negated)), Some(("%p1", negated)))
        });
    }
}

#[test]
fn calls() {
    instruction("call.uni (retval0), \nvprintf, \n(\nparam0, \nparam1\n);", |i| {
        assert_eq!(
            i.operands,
            [
                Operand::List(vec![name("retval0")]),
                name("vprintf"),
                Operand::List(vec![name("param0"), name("param1")])
            ]
        );
    });
    instruction("call (r), %rd15, (a), prototype_0;", |i| assert_eq!(i.operands.len(), 4));
    instruction("call f;", |i| assert_eq!(i.operands, [name("f")]));
}

#[test]
fn labels_blocks_and_declarations() {
    let module = module_with(
        "A: B: ret;\n{ .reg .b32 %r<2>; { C: } }\n.shared .align 4 .b8 s[8];\n.param .b64 p0; .local .b32 l, m;\n.extern .shared .b8 x[];",
    );
    let found = statements(&module);
    assert_eq!(found[0], Statement::Label("A"));
    assert_eq!(found[1], Statement::Label("B"));
    let Statement::Block(outer) = &found[3] else { panic!("{found:?}") };
    assert!(matches!(&outer[0], Statement::Variable(v) if v.count == Some(2)));
    assert_eq!(outer[1], Statement::Block(vec![Statement::Label("C")]));
    let variables: Vec<_> = found[4..]
        .iter()
        .map(|s| match s {
            Statement::Variable(v) => (v.name, v.space, v.ty, v.size()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        variables,
        [
            ("s", Space::Shared, Type::B8, 8),
            ("p0", Space::Param, Type::B64, 8),
            ("l", Space::Local, Type::B32, 4),
            ("m", Space::Local, Type::B32, 4),
            ("x", Space::Shared, Type::B8, 0)
        ]
    );
}

#[test]
fn locations() {
    let module = module_with(
        ".loc 1 304 9\n.loc\t2 3 4, function_name $L__info_string0, inlined_at 1 8 5\nret;\n.loc 3 5 0\n.loc 1 2 3, function_name $L+12, inlined_at 4 5 6\n",
    );
    let loc = |file, line, column| Statement::Loc { file, line, column };
    let found = statements(&module);
    assert_eq!((&found[0], &found[1]), (&loc(1, 304, 9), &loc(2, 3, 4)));
    assert_eq!((&found[3], &found[4]), (&loc(3, 5, 0), &loc(1, 2, 3)));
}

#[test]
fn targets_and_prototypes() {
    let module = module_with(
        "t: .branchtargets A, B;\nc: .calltargets f, g;\np: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[12]) .noreturn .abi_preserve 2;\nq: .callprototype _ ;",
    );
    let found = statements(&module);
    assert_eq!(found[1], Statement::Targets(vec!["A", "B"]));
    assert_eq!(found[3], Statement::Targets(vec!["f", "g"]));
    let Statement::CallPrototype { returns, params } = &found[5] else { panic!("{found:?}") };
    assert_eq!((returns.len(), params.len(), params[1].size()), (1, 2, 12));
    assert!(
        matches!(&found[7], Statement::CallPrototype { returns, params } if returns.is_empty() && params.is_empty())
    );
}

#[test]
fn skipped_in_bodies() {
    let module = module_with(".pragma \"nounroll\";\n# 7 \"x.c\"\n// x\n/* ; */ ret;");
    assert_eq!(statements(&module).len(), 1);
}

#[test]
fn masks_of_used_bytes() {
    let module = module_with(
        ".pragma \"used_bytes_mask 7\"; ret; .pragma \"used_bytes_mask  0xFFff0000\"; ret; .pragma \"used_bytes_mask\"; .pragma \"unroll 7\", \"used\"; ret;",
    );
    let all = statements(&module);
    let masks = all.iter().filter_map(|statement| match statement {
        Statement::UsedBytes(mask) => Some(*mask),
        _ => None,
    });
    assert_eq!(masks.collect::<Vec<_>>(), [7, 0xffff_0000]);
    assert!(matches!(all[..], [Statement::UsedBytes(7), Statement::Instruction(_), ..]));
}

/// Lines count in the whole module, through comments and strings that span lines.
#[test]
fn lines() {
    let module = module_with("ret;\n/*\n*/ ret; // \n.pragma \"a\nb\";\n@%p1\n  bra\n  X;");
    let lines: Vec<_> = statements(&module)
        .iter()
        .map(|s| match s {
            Statement::Instruction(i) => i.line,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lines, [6, 8, 12]);
}

#[test]
fn deep_blocks() {
    let nested = |n: usize| module_with(&format!("{}{}", "{".repeat(n), "}".repeat(n)));
    let depth = |text: &str| cuda_ptx::parse(text).unwrap().functions[0].statements().map(drop);
    assert!(depth(&nested(256)).is_ok());
    assert_eq!(depth(&nested(257)).unwrap_err().kind, cuda_ptx::ParseErrorKind::Limit);
    assert!(depth(&nested(200_000)).is_err());
}

#[test]
fn display_is_ptx() {
    let text = "@!%p1 foo.v2.f32 %r1|%p2, {%f1, _}, [%rd1+-4], [t, {x, 1}], !%p3, -%r4, s+8, t[2], %v.y, (a, 0f3F800000)";
    instruction(&format!("{text};"), |i| assert_eq!(i.to_string(), text));
}

/// Forms of ISA 7 to 9, by the number of their operands.
#[test]
fn newer_forms() {
    for (text, operands) in [
        ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 4;", 3),
        ("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar+8], %r1, 0x989680;", 4),
        ("cp.async.cg.shared.global.L2::128B [%r1+0], [%rd2], 16, %r3;", 4),
        (
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3, 0, 1}], [%r4], {%rs1, %rs2};",
            4,
        ),
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r1], {%r2, %r3, %r4, %r5}, [%r6];",
            3,
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, -1, 0, 1;",
            8,
        ),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r2], %rd1, %r3, {%r4, 0, 0, 0}, !%p1, 2;", 7),
        ("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r1, %r2}, [%r3+32];", 2),
        (
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%f1}, {%r1}, {%r2}, {%f2}, %r3, {0, 1}, %r4, {0, 0};",
            8,
        ),
        ("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %rq1;", 2),
        ("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", 2),
        ("ld.global.v8.b32 {%r1, %r2, %r3, %r4, _, _, _, _}, [%rd1];", 2),
        ("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%rd1], 0x2, %r1;", 3),
        ("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", 2),
        ("setmaxnreg.inc.sync.aligned.u32 64;", 1),
        (
            "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd1, [%rd2], 0x100000, 0x200000;",
            4,
        ),
        (
            "tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, s, {%f5, %f6}], {%f7, %f8}, {%f9, 0f00000000}, {0, 1};",
            5,
        ),
        ("suld.b.2d.v2.b32.trap {%r1, %r2}, [surf, {%r3, %r4}];", 2),
        ("vset4.u32.u32.ne %r1, %r2.b3210, %r3.b7654, %r4;", 4),
        ("mov.b128 %rq1, {%rd1, %rd2};", 2),
        ("prmt.b32.f4e %r1, %r2, %r3, 0x7531;", 4),
        ("griddepcontrol.wait;", 0),
    ] {
        instruction(text, |i| assert_eq!(i.operands.len(), operands, "{text}"));
    }
}
