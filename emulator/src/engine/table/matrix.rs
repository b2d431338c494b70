//! "Warp-level Matrix Instructions".

use cuda_ptx::Operand as Text;

use super::super::code::{Control, Exec, Matrix};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Flow, Operand, Refusal};
use super::super::exec::matrix::{double, float, integer, quads};
use super::super::exec::operand::Class;
use super::super::exec::warp_ops;
use super::super::warp_op::WarpOp;
use super::{Form, Row, build};
use crate::numeric::matrix::float::{Bfloat16, E4m3, E5m2, Float16, Short, Single, Tf32};
use crate::numeric::rounding::Nearest;

pub(super) const ROWS: &[Row] = &[
    build("mma.sync.aligned.m8n8k4.{row|col}.{row|col}.{f16|f32}.f16.f16.{f16|f32}", halves_by_quads),
    build("mma.sync.aligned.{m16n8k8|m16n8k16}.row.col.{f16|f32}.f16.f16.{f16|f32}", halves),
    build("mma.sync.aligned.{m16n8k8|m16n8k16}.row.col.f32.bf16.bf16.f32", brains),
    build("mma.sync.aligned.{m16n8k4|m16n8k8}.row.col.f32.tf32.tf32.f32", tensors),
    build(
        "mma.sync.aligned.{m16n8k16|m16n8k32}.row.col.{f16|f32}.{e4m3|e5m2}.{e4m3|e5m2}.{f16|f32}",
        eighths,
    ),
    build("mma.sync.aligned.{m8n8k4|m16n8k4|m16n8k8|m16n8k16}.row.col.f64.f64.f64.f64", doubles),
    build(
        "mma.sync.aligned.{m8n8k16|m16n8k16|m16n8k32}.row.col[.satfinite].s32.{u8|s8}.{u8|s8}.s32",
        |builder, form| integers(builder, form, 8),
    ),
    build(
        "mma.sync.aligned.{m8n8k32|m16n8k32|m16n8k64}.row.col[.satfinite].s32.{u4|s4}.{u4|s4}.s32",
        |builder, form| integers(builder, form, 4),
    ),
    build(
        "mma.sync.aligned.{m8n8k128|m16n8k128|m16n8k256}.row.col.s32.b1.b1.s32.{xor|and}.popc",
        single_bits,
    ),
];

/// Rows of A, columns of B, and columns of A of a form; columns of B are eight where it does not matter.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

pub(super) fn shape(form: &Form<'_>) -> Shape {
    let numbers = |name: &str| -> Option<Shape> {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Shape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    };
    form.values().find_map(numbers).unwrap_or(Shape { m: 0, n: 0, k: 0 })
}

/// Appends what has all lanes of the warp meet: the instruction that follows sees them all at once.
pub(super) fn together(builder: &mut Builder<'_, '_>) -> Result<(), Refusal> {
    let exec = warp_ops::exec(WarpOp::Matrix).ok_or_else(|| Refusal::new("no such operation"))?;
    let all = builder.constant(Class::Word, u64::from(u32::MAX));
    let mut draft = Draft::new(exec, &[], &[all]);
    (draft.control, draft.flow) = (Some(Control::WarpSync(WarpOp::Matrix)), Flow::Pause);
    builder.push(draft);
    Ok(())
}

/// The registers in braces of an operand, so many.
pub(super) fn list<'a>(
    builder: &Builder<'_, 'a>,
    index: usize,
    count: usize,
) -> Result<Vec<Text<'a>>, Refusal> {
    let elements = builder.elements(builder.operand(index)?)?;
    match elements.len() == count {
        true => Ok(elements),
        false => Err(Refusal::new(format!(
            "operand {} has {} registers, {count} are expected",
            index + 1,
            elements.len()
        ))),
    }
}

/// The registers of `d, a, b, c`.
pub(super) fn operands(
    builder: &mut Builder<'_, '_>,
    counts: [usize; 4],
    class: Class,
) -> Result<Matrix<Operand>, Refusal> {
    if !builder.name().split('.').any(|part| matches!(part, "sp" | "sp::ordered_metadata")) {
        builder.expect_operands(4)?;
    }
    let mut matrix = Matrix::default();
    for (index, count) in counts.into_iter().enumerate() {
        for text in &list(builder, index, count)? {
            match index {
                0 => matrix.d.push(builder.dest(text, class)?),
                1 => matrix.a.push(builder.source(text, class)?),
                2 => matrix.b.push(builder.source(text, class)?),
                _ => matrix.c.push(builder.source(text, class)?),
            }
        }
    }
    Ok(matrix)
}

/// Appends the instruction.
pub(super) fn append(
    builder: &mut Builder<'_, '_>,
    exec: Exec,
    aux: u32,
    matrix: Matrix<Operand>,
) -> Result<(), Refusal> {
    together(builder)?;
    let mut draft = Draft::new(exec, &[], &[]);
    (draft.aux, draft.matrix) = (aux, Some(Box::new(matrix)));
    builder.push(draft);
    Ok(())
}

/// Whether C and D are `.f32`; both must have one type.
fn single(form: &Form<'_>) -> Result<bool, Refusal> {
    match (form.value(5), form.value(8)) {
        ("f32", "f32") => Ok(true),
        ("f16", "f16") => Ok(false),
        _ => Err(Refusal::new("C and D of this shape have the same type")),
    }
}

/// `mma.m8n8k4` of halves
fn halves_by_quads(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let registers = |name| if name == "f32" { 8 } else { 4 };
    let (d, c) = (registers(form.value(5)), registers(form.value(8)));
    if c > d {
        return Err(Refusal::new("if C is `.f32`, so is D"));
    }
    let flag = |index, flag| if form.value(index) == "row" { flag } else { 0 };
    let aux = flag(3, quads::ROWS_A) | flag(4, quads::ROWS_B);
    let matrix = operands(builder, [d, 2, 2, c], Class::Word)?;
    append(builder, quads::PRODUCT, aux, matrix)
}

/// `mma.m16n8k8` and `.m16n8k16` of halves
fn halves(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (large, single) = (shape(form).k == 16, single(form)?);
    let exec = match (large, single) {
        (false, false) => float::product_of_sixteen::<Float16, Short, 1, 2>,
        (false, true) => float::product_of_sixteen::<Float16, Single, 1, 2>,
        (true, false) => float::product_of_sixteen::<Float16, Short, 2, 4>,
        (true, true) => float::product_of_sixteen::<Float16, Single, 2, 4>,
    };
    let (factor, sum) = (if large { 2 } else { 1 }, if single { 4 } else { 2 });
    let matrix = operands(builder, [sum, 2 * factor, factor, sum], Class::Word)?;
    append(builder, exec, 0, matrix)
}

/// `mma` of `.bf16`
fn brains(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (exec, b): (Exec, usize) = match shape(form).k {
        8 => (float::product_of_sixteen::<Bfloat16, Single, 1, 2>, 1),
        _ => (float::product_of_sixteen::<Bfloat16, Single, 2, 4>, 2),
    };
    let matrix = operands(builder, [4, 2 * b, b, 4], Class::Word)?;
    append(builder, exec, 0, matrix)
}

/// `mma` of `.tf32`
fn tensors(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (exec, b): (Exec, usize) = match shape(form).k {
        4 => (float::product::<Tf32, Single, 1>, 1),
        _ => (float::product::<Tf32, Single, 2>, 2),
    };
    let matrix = operands(builder, [4, 2 * b, b, 4], Class::Word)?;
    append(builder, exec, 0, matrix)
}

/// `mma` of numbers of 8 bits
fn eighths(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (large, single) = (shape(form).k == 32, single(form)?);
    macro_rules! exec {
        ($a:ty, $b:ty) => {
            match (large, single) {
                (false, false) => float::product_apart::<$a, $b, Short, 4>,
                (false, true) => float::product_apart::<$a, $b, Single, 4>,
                (true, false) => float::product_apart::<$a, $b, Short, 8>,
                (true, true) => float::product_apart::<$a, $b, Single, 8>,
            }
        };
    }
    let exec = match (form.value(6), form.value(7)) {
        ("e4m3", "e4m3") => exec!(E4m3, E4m3),
        ("e4m3", _) => exec!(E4m3, E5m2),
        (_, "e4m3") => exec!(E5m2, E4m3),
        _ => exec!(E5m2, E5m2),
    };
    let (factor, sum) = (if large { 2 } else { 1 }, if single { 4 } else { 2 });
    let matrix = operands(builder, [sum, 2 * factor, factor, sum], Class::Word)?;
    append(builder, exec, 0, matrix)
}

/// `mma` of `.f64`
fn doubles(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let Shape { m, k, .. } = shape(form);
    let exec = match k {
        4 => double::product::<Nearest, 1>,
        8 => double::product::<Nearest, 2>,
        _ => double::product::<Nearest, 4>,
    };
    let matrix = operands(builder, [m / 4, m / 8 * k / 4, k / 4, m / 4], Class::Wide)?;
    append(builder, exec, 0, matrix)
}

/// `mma` of integers of 8 or 4 bits
fn integers(builder: &mut Builder<'_, '_>, form: &Form<'_>, bits: usize) -> Result<(), Refusal> {
    let Shape { m, k, .. } = shape(form);
    let exec = match (bits, k) {
        (8, 16) => integer::product::<8, 4>,
        (8, _) => integer::product::<8, 8>,
        (_, 32) => integer::product::<4, 8>,
        _ => integer::product::<4, 16>,
    };
    let flag = |holds, flag| if holds { flag } else { 0 };
    let aux = flag(form.value(7).starts_with('s'), integer::SIGNED_A)
        | flag(form.value(8).starts_with('s'), integer::SIGNED_B)
        | flag(form.has("satfinite"), integer::SATURATES);
    let b = k * bits / 128;
    let matrix = operands(builder, [m / 4, m / 8 * b, b, m / 4], Class::Word)?;
    append(builder, exec, aux, matrix)
}

/// `mma` of single bits
fn single_bits(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let Shape { m, k, .. } = shape(form);
    let exclusive = form.has("xor");
    let exec = if k == 128 { integer::bits::<1> } else { integer::bits::<2> };
    let aux = if exclusive { integer::EXCLUSIVE } else { 0 };
    let b = k / 128;
    let matrix = operands(builder, [m / 4, m / 8 * b, b, m / 4], Class::Word)?;
    append(builder, exec, aux, matrix)
}
