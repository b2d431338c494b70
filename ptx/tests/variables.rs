//! Declarations, initialisers, sizes and the layout of parameters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_ptx::{Init, Linkage, Literal, Space, Type, Variable, parse};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Runs `check` on the variables that `text` declares.
fn variables(text: &str, check: impl FnOnce(&[Variable<'_>])) {
    let text = format!("{HEAD}{text}");
    check(&parse(&text).unwrap_or_else(|e| panic!("{e:#}")).variables);
}

/// Runs `check` on the only variable's initialiser.
fn init(text: &str, check: impl FnOnce(&Init<'_>)) {
    variables(text, |v| check(v[0].init.as_ref().unwrap()));
}

fn int(value: i64) -> Init<'static> {
    Init::Value(Literal::Int(value))
}

fn address(symbol: &str, offset: i64, generic: bool, mask: Option<u64>) -> Init<'_> {
    Init::Address { symbol, offset, generic, mask }
}

#[test]
fn one_declaration_with_everything() {
    variables(".visible .global .attribute(.managed) .align 16 .v4 .f32 x[3][2];", |v| {
        let [x] = v else { panic!("{v:?}") };
        assert_eq!((x.name, x.space, x.ty, x.vector, x.line), ("x", Space::Global, Type::F32, 4, 4));
        assert_eq!((x.align, x.dims.as_slice(), x.count), (Some(16), [Some(3), Some(2)].as_slice(), None));
        assert_eq!((&x.init, &x.ptr, x.linkage, x.managed), (&None, &None, Linkage::Visible, true));
        assert_eq!((v[0].size(), v[0].elements(), v[0].align(), v[0].element_size()), (96, 6, 16, 16));
    });
}

#[test]
fn several_names() {
    variables(".global .u32 x, y = 3, z[2];", |v| {
        assert_eq!(
            v.iter().map(|v| (v.name, v.size(), v.init.is_some())).collect::<Vec<_>>(),
            [("x", 4, false), ("y", 4, true), ("z", 8, false)]
        );
    });
}

#[test]
fn directives_without_blanks() {
    variables(".extern.shared.align 8.b8 x[];", |v| {
        assert_eq!((v[0].space, v[0].ty, v[0].align(), v[0].size()), (Space::Shared, Type::B8, 8, 0));
    });
}

/// As ptxas 13.0 places them, in every space.
#[test]
fn an_alignment_below_the_natural_one_is_raised() {
    let text = ".shared .align 4 .u64 a; .const .align 1 .v4 .f32 b; .global .align 2 .b32 c[3]; .local .align 8 .b8 d;";
    variables(text, |v| assert_eq!(v.iter().map(|v| v.align()).collect::<Vec<_>>(), [8, 16, 4, 8]));
}

#[test]
fn spaces_and_old_forms() {
    variables(
        ".const[2] .u32 a; .tex .u32 b; .shared::cta .u32 c; .local .u32 d; .reg .u32 e; .sreg .b32 f;",
        |v| {
            use Space::{Const, Local, Reg, Shared, Sreg, Tex};
            assert_eq!(v.iter().map(|v| v.space).collect::<Vec<_>>(), [Const, Tex, Shared, Local, Reg, Sreg]);
        },
    );
}

#[test]
fn opaque_types() {
    variables(
        ".global .texref t; .global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest }; .global .surfref u[2];",
        |v| {
            assert!(v.iter().all(|v| v.ty.is_opaque() && v.init.is_none()));
            assert_eq!(v[2].size(), 16);
        },
    );
}

#[test]
fn every_type_by_its_name() {
    for &ty in Type::ALL {
        assert_eq!(Type::from_name(ty.name()), Some(ty));
        variables(&format!(".global {ty} x;"), |v| {
            assert_eq!((v[0].ty, v[0].size()), (ty, ty.size() as u64))
        });
    }
    assert_eq!(Type::from_name("f8"), None);
    for space in [
        Space::Reg,
        Space::Sreg,
        Space::Param,
        Space::Global,
        Space::Const,
        Space::Shared,
        Space::Local,
        Space::Tex,
    ] {
        assert_eq!(Space::from_name(space.name()), Some(space));
    }
}

#[test]
fn extents_are_numbers() {
    variables(".global .u8 x[0x8][WARP_SZ];", |v| assert_eq!(v[0].dims, [Some(8), Some(32)]));
}

#[test]
fn open_extents_count_their_initialiser() {
    variables(
        ".global .u8 x[] = {1, 2, 3}; .global .u16 y[][2] = {{1, 2}, {3, 4}, {5, 6}}; .extern .shared .u8 z[];",
        |v| {
            assert_eq!(v.iter().map(Variable::size).collect::<Vec<_>>(), [3, 12, 0]);
        },
    );
}

#[test]
fn numbers() {
    for (text, value) in [
        ("7", Literal::Int(7)),
        ("-7", Literal::Int(-7)),
        ("0x10U", Literal::Int(16)),
        ("0b101", Literal::Int(5)),
        ("017", Literal::Int(15)),
        ("18446744073709551615", Literal::Int(-1)),
        ("9223372036854775808", Literal::Int(i64::MIN)),
        ("0f3F800000", Literal::F32(0x3f80_0000)),
        ("-(1.5 + 2.0) * 4.0", Literal::F64((-14f64).to_bits())),
        ("1.5 > 1.0", Literal::Int(1)),
        ("0d3ff0000000000000", Literal::F64(1.0f64.to_bits())),
        ("1.5", Literal::F64(1.5f64.to_bits())),
        ("-2e-3", Literal::F64((-2e-3f64).to_bits())),
        ("+.5", Literal::F64(0.5f64.to_bits())),
        ("1.", Literal::F64(1.0f64.to_bits())),
        ("1.e3", Literal::F64(1000f64.to_bits())),
        ("0e+3", Literal::F64(0)),
        ("0.0e-999", Literal::F64(0)),
        ("1+2*3", Literal::Int(7)),
        ("WARP_SZ", Literal::Int(32)),
    ] {
        init(&format!(".global .b64 x = {text};"), |i| assert_eq!(*i, Init::Value(value), "{text}"));
    }
}

#[test]
fn addresses() {
    for (text, expected) in [
        ("y", address("y", 0, false, None)),
        ("y+8", address("y", 8, false, None)),
        ("y+8-16", address("y", -8, false, None)),
        ("y+-8+2", address("y", -6, false, None)),
        ("generic(y)", address("y", 0, true, None)),
        ("generic(y)+8", address("y", 8, true, None)),
        ("generic(y+4)+8", address("y", 12, true, None)),
        ("0xff00(y)", address("y", 0, false, Some(0xff00))),
        ("0xff(y+4)", address("y", 4, false, Some(0xff))),
        ("0xFF000000(generic(y)+4)", address("y", 4, true, Some(0xff00_0000))),
        // A symbol may be called so.
        ("generic", address("generic", 0, false, None)),
    ] {
        init(&format!(".global .u64 x = {text};"), |i| assert_eq!(*i, expected, "{text}"));
    }
}

#[test]
fn lists() {
    init(".global .u64 x[3] = {generic(anon$_1), 10, 9019431321140265024};", |i| {
        assert_eq!(
            *i,
            Init::List(vec![address("anon$_1", 0, true, None), int(10), int(9019431321140265024)])
        );
    });
    init(".const .f32 x[2][2] = {{1, 0f40000000}, {-3}};", |i| {
        let first = Init::List(vec![int(1), Init::Value(Literal::F32(0x4000_0000))]);
        assert_eq!(*i, Init::List(vec![first, Init::List(vec![int(-3)])]));
    });
    init(".global .u8 x[2] = {};", |i| assert_eq!(*i, Init::List(vec![])));
}

#[test]
fn registers_by_number() {
    let text = format!("{HEAD}.entry k() {{ .reg .b32 %r<5>, %q<2>, z; .reg .v2 .f32 v; }}");
    let module = parse(&text).unwrap();
    let found: Vec<_> = module.functions[0]
        .statements()
        .unwrap()
        .iter()
        .map(|s| match s {
            cuda_ptx::Statement::Variable(v) => (v.name, v.count, v.vector),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, [("%r", Some(5), 1), ("%q", Some(2), 1), ("z", None, 1), ("v", None, 2)]);
}

/// A parameter as (type, size, alignment, offset, array).
type Place = (Type, usize, usize, usize, bool);

fn layout(parameters: &str) -> (Vec<Place>, usize) {
    let text = format!("{HEAD}.entry k({parameters}) {{ ret; }}");
    let module = parse(&text).unwrap_or_else(|e| panic!("{e:#}"));
    let list = module.functions[0].parameters();
    (
        list.iter().map(|p| (p.ty, p.size, p.align, p.offset, p.array)).collect(),
        module.functions[0].parameter_bytes(),
    )
}

#[test]
fn no_parameters() {
    assert_eq!(layout(""), (vec![], 0));
}

/// mixed(char, double, bool, {char, short}, float3, float4, Empty, long long *, short) of driver-api.md 4.2.
#[test]
fn c_layout() {
    let (list, bytes) = layout(
        ".param .u8 a, .param .f64 b, .param .u8 c, .param .align 2 .b8 d[4], .param .align 4 .b8 e[12], \
         .param .align 16 .b8 f[16], .param .align 1 .b8 g[1], .param .u64 h, .param .u16 i",
    );
    assert_eq!(list.iter().map(|p| p.3).collect::<Vec<_>>(), [0, 8, 16, 18, 24, 48, 64, 72, 80]);
    assert_eq!(bytes, 82);
    assert_eq!(list[3], (Type::B8, 4, 2, 18, true));
    assert_eq!(list[8], (Type::U16, 2, 2, 80, false));
}

#[test]
fn vectors_and_over_aligned_parameters() {
    let (list, bytes) =
        layout(".param .u32 a, .param .v4 .f32 b, .param .u8 c, .param .align 128 .b8 d[128]");
    assert_eq!(
        list,
        [
            (Type::U32, 4, 4, 0, false),
            (Type::F32, 16, 16, 16, false),
            (Type::U8, 1, 1, 32, false),
            (Type::B8, 128, 128, 128, true)
        ]
    );
    assert_eq!(bytes, 256);
}

#[test]
fn pointer_attributes() {
    let text = format!(
        "{HEAD}.entry k(.param .u64 .ptr.global.align 8 a, .param .b64 .ptr .shared b, .param .u64 .ptr c, \
         .param .u64 .ptr .align 1 d, .param .u64 e, .param .u32 .ptr .const .align 16 f) {{ ret; }}"
    );
    let module = parse(&text).unwrap();
    let parameters = module.functions[0].parameters();
    let found: Vec<_> = parameters.iter().map(|p| p.pointer.map(|it| (it.space, it.align))).collect();
    let ptr = |space, align| Some((space, align));
    assert_eq!(
        found,
        [
            ptr(Some(Space::Global), 8),
            ptr(Some(Space::Shared), 4),
            ptr(None, 4),
            ptr(None, 1),
            None,
            ptr(Some(Space::Const), 16)
        ]
    );
}

/// The alignment may stand before the space.
#[test]
fn alignments_first() {
    variables(
        ".align 16 .global .u32 x; .visible .align 8 .shared .u8 y; .attribute(.managed) .global .u32 z;",
        |v| {
            assert_eq!(
                v.iter().map(|v| (v.align, v.managed)).collect::<Vec<_>>(),
                [(Some(16), false), (Some(8), false), (None, true)]
            );
        },
    );
}
