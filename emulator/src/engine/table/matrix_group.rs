//! "Asynchronous Warpgroup Level Matrix Instructions": `wgmma`.

use cuda_ptx::{Literal, Operand as Text};

use super::super::code::{Exec, Matrix};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Refusal};
use super::super::exec::matrix::group;
use super::super::exec::operand::Class;
use super::super::watch::{Event, Group};
use super::control::{event, wait_group};
use super::matrix::{list, shape, together};
use super::{Form, Row, build};
use crate::numeric::matrix::float::{
    Bfloat16, CoarseShort, CoarseSingle, E4m3Itself, E5m2, Float16, Short, Single, Tf32,
};

/// A pattern with each number of columns that floats have.
macro_rules! columns {
    ($start:literal, $k:literal, $rest:literal) => {
        concat!(
            "wgmma.mma_async", $start, ".sync[.aligned].{",
            columns!(@ $k, 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 208 216 224 232 240 248),
            "m64n256k", $k, "}", $rest
        )
    };
    (@ $k:literal, $($n:literal)*) => { concat!($("m64n", $n, "k", $k, "|"),*) };
}

/// The same of integers, which have fewer.
macro_rules! fewer_columns {
    ($start:literal, $k:literal, $rest:literal) => {
        concat!(
            "wgmma.mma_async", $start, ".sync[.aligned].{",
            columns!(@ $k, 8 16 24 32 48 64 80 96 112 128 144 160 176 192 208 224 240),
            "m64n256k", $k, "}", $rest
        )
    };
}

pub(super) const ROWS: &[Row] = &[
    build("wgmma.fence.sync[.aligned]", |builder, _| event(builder, Event::RegisterFence)),
    build("wgmma.commit_group.sync[.aligned]", |builder, _| event(builder, Event::Commit(Group::Products))),
    build("wgmma.wait_group.sync[.aligned]", |builder, _| wait_group(builder, Group::Products)),
    build(columns!("", 16, ".{f16|f32}.f16.f16"), |builder, form| match form.value(4) {
        "f32" => append(builder, form, group::product_of_sixteen::<Float16, Single>, 4, Kind::Short),
        _ => append(builder, form, group::product_of_sixteen::<Float16, Short>, 2, Kind::Short),
    }),
    build(columns!("", 16, ".f32.bf16.bf16"), |builder, form| {
        append(builder, form, group::product_of_sixteen::<Bfloat16, Single>, 4, Kind::Short)
    }),
    build(columns!("", 8, ".f32.tf32.tf32"), |builder, form| {
        append(builder, form, group::product::<Tf32, Tf32, Single, 2>, 4, Kind::Float)
    }),
    build(columns!("", 32, ".{f16|f32}.{e4m3|e5m2}.{e4m3|e5m2}"), eighths),
    build(fewer_columns!("", 32, "[.satfinite].s32.{u8|s8}.{u8|s8}"), |builder, form| {
        append(builder, form, group::integers, 4, Kind::Integer)
    }),
    build(fewer_columns!("", 256, ".s32.b1.b1.and.popc"), |builder, form| {
        append(builder, form, group::bits, 4, Kind::Integer)
    }),
    build(columns!(".sp", 32, ".{f16|f32}.f16.f16"), |builder, form| match form.value(5) {
        "f32" => sparse(builder, form, group::sparse_product::<Float16, Float16, Single, 8>, 4, Kind::Short),
        _ => sparse(builder, form, group::sparse_product::<Float16, Float16, Short, 8>, 2, Kind::Short),
    }),
    build(columns!(".sp", 32, ".f32.bf16.bf16"), |builder, form| {
        let exec = group::sparse_product::<Bfloat16, Bfloat16, Single, 8>;
        sparse(builder, form, exec, 4, Kind::Short)
    }),
    build(columns!(".sp", 16, ".f32.tf32.tf32"), |builder, form| {
        let exec = group::sparse_product::<Tf32, Tf32, Single, 4>;
        sparse(builder, form, exec, 4, Kind::Float)
    }),
    build(columns!(".sp", 64, ".{f16|f32}.{e4m3|e5m2}.{e4m3|e5m2}"), sparse_eighths),
    build(fewer_columns!(".sp", 64, "[.satfinite].s32.{u8|s8}.{u8|s8}"), |builder, form| {
        sparse(builder, form, group::sparse_integers, 4, Kind::Integer)
    }),
];

/// Which numbers follow the operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// None.
    Integer,
    /// Two factors of 1 or -1.
    Float,
    /// Those, and whether matrices in memory are transposed.
    Short,
}

/// Numbers of 8 bits.
fn eighths(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    macro_rules! exec {
        ($a:ty, $b:ty) => {
            match form.value(4) {
                "f32" => (group::product::<$a, $b, CoarseSingle, 8>, 4),
                _ => (group::product::<$a, $b, CoarseShort, 8>, 2),
            }
        };
    }
    let (exec, registers): (Exec, usize) = match (form.value(5), form.value(6)) {
        ("e4m3", "e4m3") => exec!(E4m3Itself, E4m3Itself),
        ("e4m3", _) => exec!(E4m3Itself, E5m2),
        (_, "e4m3") => exec!(E5m2, E4m3Itself),
        _ => exec!(E5m2, E5m2),
    };
    append(builder, form, exec, registers, Kind::Float)
}

/// The same with a sparse A.
fn sparse_eighths(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    macro_rules! exec {
        ($a:ty, $b:ty) => {
            match form.value(5) {
                "f32" => (group::sparse_product::<$a, $b, CoarseSingle, 16>, 4),
                _ => (group::sparse_product::<$a, $b, CoarseShort, 16>, 2),
            }
        };
    }
    let (exec, registers): (Exec, usize) = match (form.value(6), form.value(7)) {
        ("e4m3", "e4m3") => exec!(E4m3Itself, E4m3Itself),
        ("e4m3", _) => exec!(E4m3Itself, E5m2),
        (_, "e4m3") => exec!(E5m2, E4m3Itself),
        _ => exec!(E5m2, E5m2),
    };
    sparse(builder, form, exec, registers, Kind::Float)
}

/// A number that stands in the text.
fn literal(builder: &Builder<'_, '_>, index: usize) -> Result<i64, Refusal> {
    match builder.operand(index)? {
        Text::Literal(Literal::Int(number)) => Ok(*number),
        _ => Err(Refusal::new(format!("operand {} is a number", index + 1))),
    }
}

/// `d, a, b-descriptor, scale-d{, imm-scale-a, imm-scale-b{, imm-trans-a, imm-trans-b}}`; `registers` of D have eight columns.
fn append(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    registers: usize,
    kind: Kind,
) -> Result<(), Refusal> {
    product(builder, form, exec, registers, (kind, false))
}

/// The same with `metadata, selector` behind the descriptor of B.
fn sparse(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    registers: usize,
    kind: Kind,
) -> Result<(), Refusal> {
    product(builder, form, exec, registers, (kind, true))
}

fn product(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    registers: usize,
    (kind, sparse): (Kind, bool),
) -> Result<(), Refusal> {
    let in_registers = matches!(builder.operand(1)?, Text::Vector(_));
    let transposes = if kind != Kind::Short { 0 } else { 2 - usize::from(in_registers) };
    let tail = if sparse { 5 } else { 3 };
    builder.expect_operands(tail + 1 + if kind == Kind::Integer { 0 } else { 2 } + transposes)?;
    let mut matrix = Matrix::default();
    for text in &list(builder, 0, shape(form).n / 8 * registers)? {
        matrix.d.push(builder.dest(text, Class::Word)?);
        matrix.c.push(builder.source(text, Class::Word)?);
    }
    let mut aux = ((shape(form).n / 8) as u32) << group::COLUMNS_SHIFT;
    if in_registers {
        for text in &list(builder, 1, 4)? {
            matrix.a.push(builder.source(text, Class::Word)?);
        }
    } else {
        matrix.a.push(builder.source(builder.operand(1)?, Class::Wide)?);
        aux |= group::BOTH;
    }
    matrix.b.push(builder.source(builder.operand(2)?, Class::Wide)?);
    matrix.b.push(builder.source(builder.operand(tail)?, Class::Predicate)?);
    if sparse {
        matrix.b.push(builder.source(builder.operand(3)?, Class::Word)?);
        // Pairs of lanes have the metadata of numbers of at least 16 bits, all lanes those of 8 bits.
        let selectors = if kind == Kind::Short || shape(form).k == 16 { 2 } else { 1 };
        let selector = literal(builder, 4)?;
        if !(0..selectors).contains(&selector) {
            return Err(Refusal::new(format!(
                "the selector of this shape is below {selectors}, not {selector}"
            )));
        }
        aux |= group::SPARSE | (selector as u32) << group::SELECTOR_SHIFT;
    }
    if kind != Kind::Integer {
        for (index, flag) in [(tail + 1, group::NEGATIVE_A), (tail + 2, group::NEGATIVE_B)] {
            match literal(builder, index)? {
                1 => {}
                -1 => aux |= flag,
                other => {
                    return Err(Refusal::new(format!("a matrix is multiplied by 1 or -1, not by {other}")));
                }
            }
        }
    }
    let flags = [group::TRANSPOSED_A, group::TRANSPOSED_B];
    for (at, flag) in flags.into_iter().skip(2 - transposes).enumerate() {
        match literal(builder, tail + 3 + at)? {
            0 => {}
            1 => aux |= flag,
            other => return Err(Refusal::new(format!("a matrix is transposed, 1, or not, 0; not {other}"))),
        }
    }
    let flag = |holds, flag| if holds { flag } else { 0 };
    if kind == Kind::Integer {
        let signed =
            |at: usize| form.values().filter(|value| matches!(*value, "s8" | "u8")).nth(at) == Some("s8");
        aux |= flag(signed(0), group::SIGNED_A) | flag(signed(1), group::SIGNED_B);
        aux |= flag(form.has("satfinite"), group::SATURATES);
    }
    together(builder)?;
    let mut draft = Draft::new(exec, &[], &[]);
    (draft.aux, draft.matrix) = (aux, Some(Box::new(matrix)));
    draft.event = Some(Event::Product);
    builder.push(draft);
    Ok(())
}
