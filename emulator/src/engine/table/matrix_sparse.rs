//! "Warp-level Matrix Instructions" with a sparse A: `mma.sp`.

use cuda_ptx::{Literal, Operand as Text};

use super::super::code::Exec;
use super::super::decode::builder::Builder;
use super::super::decode::draft::Refusal;
use super::super::exec::matrix::integer::{SATURATES, SIGNED_A, SIGNED_B};
use super::super::exec::matrix::sparse::{self, SELECTOR_SHIFT};
use super::super::exec::operand::Class;
use super::matrix::{append, operands, shape};
use super::{Form, Row, build};
use crate::numeric::matrix::float::{Bfloat16, E4m3, E5m2, Float16, Short, Single, Tf32};

pub(super) const ROWS: &[Row] = &[
    build(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.{m16n8k16|m16n8k32}.row.col.{f16|f32}.f16.f16.{f16|f32}",
        halves,
    ),
    build(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.{m16n8k16|m16n8k32}.row.col.f32.bf16.bf16.f32",
        |builder, form| {
            let exec = match shape(form).k {
                16 => sparse::product::<Bfloat16, Single, 4>,
                _ => sparse::product::<Bfloat16, Single, 8>,
            };
            floats(builder, form, exec, (16, 4))
        },
    ),
    build(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.{m16n8k8|m16n8k16}.row.col.f32.tf32.tf32.f32",
        |builder, form| {
            let exec = match shape(form).k {
                8 => sparse::product::<Tf32, Single, 2>,
                _ => sparse::product::<Tf32, Single, 4>,
            };
            floats(builder, form, exec, (32, 4))
        },
    ),
    build(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.m16n8k64.row.col.f32.{e4m3|e5m2}.{e4m3|e5m2}.f32",
        |builder, form| {
            let exec = match (form.value(7), form.value(8)) {
                ("e4m3", "e4m3") => sparse::product_apart::<E4m3, E4m3, Single, 16>,
                ("e4m3", _) => sparse::product_apart::<E4m3, E5m2, Single, 16>,
                (_, "e4m3") => sparse::product_apart::<E5m2, E4m3, Single, 16>,
                _ => sparse::product_apart::<E5m2, E5m2, Single, 16>,
            };
            floats(builder, form, exec, (8, 4))
        },
    ),
    build(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.{m16n8k32|m16n8k64}.row.col[.satfinite].s32.{u8|s8}.{u8|s8}.s32",
        |builder, form| {
            let exec = match shape(form).k {
                32 => sparse::integers::<8, 8>,
                _ => sparse::integers::<8, 16>,
            };
            integers(builder, form, exec, 8)
        },
    ),
    build(
        "mma.{sp|sp::ordered_metadata}.sync.aligned.{m16n8k64|m16n8k128}.row.col[.satfinite].s32.{u4|s4}.{u4|s4}.s32",
        |builder, form| {
            let exec = match shape(form).k {
                64 => sparse::integers::<4, 16>,
                _ => sparse::integers::<4, 32>,
            };
            integers(builder, form, exec, 4)
        },
    ),
];

/// `mma.sp` of halves
fn halves(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    if form.value(6) != form.value(9) {
        return Err(Refusal::new("C and D of this shape have the same type"));
    }
    let (exec, sum): (Exec, usize) = match (shape(form).k, form.value(6)) {
        (16, "f16") => (sparse::product::<Float16, Short, 4>, 2),
        (16, _) => (sparse::product::<Float16, Single, 4>, 4),
        (_, "f16") => (sparse::product::<Float16, Short, 8>, 2),
        _ => (sparse::product::<Float16, Single, 8>, 4),
    };
    floats(builder, form, exec, (16, sum))
}

/// `mma.sp` of floats of so many bits, with so many registers of C.
fn floats(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    (bits, sum): (usize, usize),
) -> Result<(), Refusal> {
    product(builder, form, exec, (bits, sum, 0))
}

/// `mma.sp` of integers
fn integers(builder: &mut Builder<'_, '_>, form: &Form<'_>, exec: Exec, bits: usize) -> Result<(), Refusal> {
    let flag = |holds, flag| if holds { flag } else { 0 };
    let aux = flag(form.value(8).starts_with('s'), SIGNED_A)
        | flag(form.value(9).starts_with('s'), SIGNED_B)
        | flag(form.has("satfinite"), SATURATES);
    product(builder, form, exec, (bits, 4, aux))
}

/// `mma.sp d, a, b, c, metadata, selector`
fn product(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    (bits, sum, aux): (usize, usize, u32),
) -> Result<(), Refusal> {
    builder.expect_operands(6)?;
    let k = shape(form).k;
    let b = k * bits / 128;
    let mut matrix = operands(builder, [sum, b, b, sum], Class::Word)?;
    matrix.c.push(builder.source(builder.operand(4)?, Class::Word)?);
    let columns = match bits {
        32 => 2,
        4 => 8,
        _ => 4,
    };
    // As many lanes of four hold the metadata as 16 bits of two rows, each with four bits for so many columns, fill words.
    let selectors = 4 / (k / columns / 4);
    let Text::Literal(Literal::Int(selector)) = builder.operand(5)? else {
        return Err(Refusal::new("the selector is a number"));
    };
    let selector = u32::try_from(*selector).ok().filter(|selector| (*selector as usize) < selectors);
    let Some(selector) = selector else {
        return Err(Refusal::new(format!("the selector of this shape is below {selectors}")));
    };
    append(builder, exec, aux | selector << SELECTOR_SHIFT, matrix)
}
