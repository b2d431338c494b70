//! "Warp-level Matrix Instructions Using `wmma`": fragments are those of `mma`, as this generation has them, in which the ISA leaves
//! it open where an element lies. A product is two of `mma`, or one; loads and stores are plain ones of each lane.

use super::super::code::{Exec, Matrix};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::alu::{lane1, lane2, lane3};
use super::super::exec::matrix::{double, float, integer};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::exec::{load as loads, store as stores};
use super::super::watch::What;
use super::matrix::{Shape, append, list, shape, together};
use super::matrix_fragment::{fragment, memory, named, pieces};
use super::{Form, Row, build};
use crate::numeric::half::{F16, Half as _, f16_to_f32};
use crate::numeric::matrix::float::{Bfloat16, Float16, Short, Single, Tf32};
use crate::numeric::rounding::{Down, Nearest, Up, Zero};

pub(super) const ROWS: &[Row] = &[
    build(
        "wmma.load.{a|b}.sync.aligned.{row|col}.{m16n16k16|m8n32k16|m32n8k16}[.{global|shared|shared::cta}].{f16|bf16|s8|u8}",
        load,
    ),
    build("wmma.load.{a|b}.sync.aligned.{row|col}.m16n16k8[.{global|shared|shared::cta}].tf32", load),
    build("wmma.load.{a|b}.sync.aligned.{row|col}.m8n8k4[.{global|shared|shared::cta}].f64", load),
    build("wmma.load.a.sync.aligned.row.{m8n8k32|m8n8k128}[.{global|shared|shared::cta}].{s4|u4|b1}", load),
    build("wmma.load.b.sync.aligned.col.{m8n8k32|m8n8k128}[.{global|shared|shared::cta}].{s4|u4|b1}", load),
    build(
        "wmma.load.c.sync.aligned.{row|col}.{m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k4|m8n8k32|m8n8k128}[.{global|shared|shared::cta}].{f16|f32|s32|f64}",
        load,
    ),
    build(
        "wmma.store.d.sync.aligned.{row|col}.{m16n16k16|m8n32k16|m32n8k16|m16n16k8|m8n8k4|m8n8k32|m8n8k128}[.{global|shared|shared::cta}].{f16|f32|s32|f64}",
        store,
    ),
    build(
        "wmma.mma.sync.aligned.{row|col}.{row|col}.{m16n16k16|m8n32k16|m32n8k16}.{f16|f32}.{f16|f32}",
        |builder, form| {
            let types = [("f16", "f16"), (form.value(6), form.value(7))];
            multiply(builder, form, types)
        },
    ),
    build(
        "wmma.mma.sync.aligned.{row|col}.{row|col}.{m16n16k16|m8n32k16|m32n8k16}.f32.bf16.bf16.f32",
        |builder, form| multiply(builder, form, [("bf16", "bf16"), ("f32", "f32")]),
    ),
    build("wmma.mma.sync.aligned.{row|col}.{row|col}.m16n16k8.f32.tf32.tf32.f32", |builder, form| {
        multiply(builder, form, [("tf32", "tf32"), ("f32", "f32")])
    }),
    build(
        "wmma.mma.sync.aligned.{row|col}.{row|col}.{m16n16k16|m8n32k16|m32n8k16}.s32.{s8|u8}.{s8|u8}.s32[.satfinite]",
        |builder, form| {
            let types = [(form.value(7), form.value(8)), ("s32", "s32")];
            multiply(builder, form, types)
        },
    ),
    build("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{s4|u4}.{s4|u4}.s32[.satfinite]", |builder, form| {
        let types = [(form.value(7), form.value(8)), ("s32", "s32")];
        multiply(builder, form, types)
    }),
    build("wmma.mma.{xor|and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", |builder, form| {
        multiply(builder, form, [("b1", "b1"), ("s32", "s32")])
    }),
    build(
        "wmma.mma.sync.aligned.{row|col}.{row|col}.m8n8k4[.{rn|rz|rm|rp}].f64.f64.f64.f64",
        |builder, form| multiply(builder, form, [("f64", "f64"), ("f64", "f64")]),
    ),
];

/// `wmma.load.side r, [p]{, stride}`
fn load(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (side, shape, ty) = (form.value(1), shape(form), last(form));
    valid(side, shape, ty)?;
    let fragment = fragment(side, shape, ty);
    let texts = list(builder, 0, named(fragment, ty))?;
    let class = if fragment.width == 64 { Class::Wide } else { Class::Word };
    together(builder)?;
    let memory = memory(builder, form, (side, shape, fragment), (1, 2))?;
    let count = pieces(&memory, fragment);
    let bytes = fragment.width / count / 8;
    let exec = loads::load(bytes, false, class, Access::UNKNOWN);
    let exec = exec.ok_or_else(|| Refusal::new("no such load"))?.pick();
    let mut loaded = Vec::with_capacity(texts.len());
    for register in 0..fragment.count {
        let (line, place) = fragment.first(register, shape);
        let mut word = None;
        for piece in 0..count {
            let (base, offset) = memory.at(builder, fragment, (line, place + piece))?;
            let part = builder.temporary(class)?;
            let mut draft = Draft::new(exec, &[part], &[base]);
            memory.access(&mut draft, offset, bytes as u64, What::Load);
            builder.push(draft);
            word = Some(match word {
                None => part,
                Some(word) => {
                    let (shift, sum) = (
                        builder.constant(Class::Word, (piece * bytes * 8) as u64),
                        builder.temporary(class)?,
                    );
                    let join = lane3(|word: u32, part: u32, shift: u32| word | part << (shift & 31));
                    builder.lane(join, &[sum], &[word, part, shift]);
                    sum
                }
            });
        }
        loaded.extend(word);
    }
    for (text, value) in texts.iter().zip(loaded.iter().cycle()) {
        let dest = builder.dest(text, class)?;
        let copy = if class == Class::Wide { lane1(|a: u64| a) } else { lane1(|a: u32| a) };
        builder.lane(copy, &[dest], &[*value]);
    }
    Ok(())
}

/// `wmma.store.d [p], r{, stride}`
fn store(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (shape, ty) = (shape(form), last(form));
    valid("d", shape, ty)?;
    let fragment = fragment("d", shape, ty);
    let class = if fragment.width == 64 { Class::Wide } else { Class::Word };
    let mut values = Vec::with_capacity(fragment.count);
    for text in &list(builder, 1, fragment.count)? {
        values.push(builder.source(text, class)?);
    }
    together(builder)?;
    let memory = memory(builder, form, ("d", shape, fragment), (0, 2))?;
    let count = pieces(&memory, fragment);
    let bytes = fragment.width / count / 8;
    let exec = stores::store(bytes, class, Access::UNKNOWN);
    let exec = exec.ok_or_else(|| Refusal::new("no such store"))?.pick();
    for (register, value) in values.into_iter().enumerate() {
        let (line, place) = fragment.first(register, shape);
        for piece in 0..count {
            let (base, offset) = memory.at(builder, fragment, (line, place + piece))?;
            let mut part = value;
            if piece != 0 {
                let shift = builder.constant(Class::Word, (piece * bytes * 8) as u64);
                part = builder.temporary(class)?;
                builder.lane(lane2(|word: u32, shift: u32| word >> (shift & 31)), &[part], &[value, shift]);
            }
            let mut draft = Draft::new(exec, &[], &[part, base]);
            memory.access(&mut draft, offset, bytes as u64, What::Store { wide: class == Class::Wide });
            builder.push(draft);
        }
    }
    Ok(())
}

/// The type at the end of a form's name.
fn last<'n>(form: &Form<'n>) -> &'n str {
    form.values().last().unwrap_or_default()
}

/// Refuses sides of a shape that PTX does not have with that type.
fn valid(side: &str, shape: Shape, ty: &str) -> Result<(), Refusal> {
    let factor = matches!(side, "a" | "b");
    let fits = match (factor, shape.k, ty) {
        (true, 32, _) => matches!(ty, "s4" | "u4"),
        (true, 128, _) => ty == "b1",
        (true, _, _) => true,
        (_, 16, _) => matches!(ty, "f16" | "f32" | "s32"),
        (_, 8, _) => ty == "f32",
        (_, 4, _) => ty == "f64",
        _ => ty == "s32",
    };
    if fits { Ok(()) } else { Err(Refusal::new("PTX has no such matrix of this shape and type")) }
}

/// The instruction that `mma` of these types is, and its flags.
fn product(form: &Form<'_>, shape: Shape, [(a, b), (d, _)]: [(&str, &str); 2], swapped: bool) -> (Exec, u32) {
    let (left, right) = if swapped { (b, a) } else { (a, b) };
    let flag = |holds, flag| if holds { flag } else { 0 };
    let aux = flag(left.starts_with('s'), integer::SIGNED_A)
        | flag(right.starts_with('s'), integer::SIGNED_B)
        | flag(form.has("satfinite"), integer::SATURATES)
        | flag(form.has("xor"), integer::EXCLUSIVE);
    let exec: Exec = match (a, d, shape.k) {
        ("f16", "f16", _) => float::product_of_sixteen::<Float16, Short, 2, 4>,
        ("f16", ..) => float::product_of_sixteen::<Float16, Single, 2, 4>,
        ("bf16", ..) => float::product_of_sixteen::<Bfloat16, Single, 2, 4>,
        ("tf32", ..) => float::product::<Tf32, Single, 1>,
        ("b1", ..) => integer::bits::<1>,
        ("s4" | "u4", ..) => integer::product::<4, 8>,
        ("f64", ..) => match form.any(&["rz", "rm", "rp"]) {
            Some("rz") => double::product::<Zero, 1>,
            Some("rm") => double::product::<Down, 1>,
            Some(_) => double::product::<Up, 1>,
            None => double::product::<Nearest, 1>,
        },
        _ => integer::product::<8, 4>,
    };
    (exec, aux)
}

/// `wmma.mma d, a, b, c`: a product for each pair of a group of A's and one of B's.
fn multiply(builder: &mut Builder<'_, '_>, form: &Form<'_>, types: [(&str, &str); 2]) -> Result<(), Refusal> {
    let (shape, [(a, b), (d, c)]) = (shape(form), types);
    if a != b {
        return Err(Refusal::new("A and B of `wmma` have the same type"));
    }
    builder.expect_operands(4)?;
    if shape.k > 16 && builder.name().contains(".col.row.") {
        return Err(Refusal::new("A is `.row` and B `.col` in this shape"));
    }
    let sides =
        [fragment("d", shape, d), fragment("a", shape, a), fragment("b", shape, b), fragment("c", shape, c)];
    let class = if a == "f64" { Class::Wide } else { Class::Word };
    let mut all = Matrix::default();
    for (index, (side, ty)) in sides.into_iter().zip([d, a, b, c]).enumerate() {
        for text in list(builder, index, named(side, ty))?.iter() {
            match index {
                0 => all.d.push(builder.dest(text, class)?),
                1 => all.a.push(builder.source(text, class)?),
                2 => all.b.push(builder.source(text, class)?),
                _ => all.c.push(builder.source(text, class)?),
            }
        }
    }
    let [_, left, right, _] = sides;
    (all.a, all.b) = (all.a[..left.count].to_vec(), all.b[..right.count].to_vec());
    // A sum with C of `.f32` is one of `.f32`, and becomes `.f16` at the end.
    let sum = if c == "f32" { c } else { d };
    if c != sum {
        all.c = widened(builder, &all.c)?;
    }
    let swapped = shape.n > shape.m;
    if swapped {
        std::mem::swap(&mut all.a, &mut all.b);
    }
    let (exec, aux) = product(form, shape, [types[0], (sum, sum)], swapped);
    if shape.m * shape.n == 64 {
        return append(builder, exec, aux, all);
    }
    // What the second half reads is not written before.
    let mut written = Vec::with_capacity(8);
    for part in 0..2 {
        let share = |list: &[Operand]| list.chunks(list.len() / 2).nth(part).unwrap_or_default().to_vec();
        let square = shape.m == 16;
        let left = if square { all.a.clone() } else { share(&all.a) };
        let right = if square { share(&all.b) } else { all.b.clone() };
        let mut next = share(&all.c);
        // Of `.tf32`, this generation takes four columns of A at a time.
        let blocks = if a == "tf32" { right.len() } else { 1 };
        for (left, right) in left.chunks(left.len() / blocks).zip(right.chunks(right.len() / blocks)) {
            let d: Vec<Operand> = next.iter().map(|_| builder.temporary(class)).collect::<Result<_, _>>()?;
            append(
                builder,
                exec,
                aux,
                Matrix { d: d.clone(), a: left.to_vec(), b: right.to_vec(), c: next },
            )?;
            next = d;
        }
        written.extend(next);
    }
    if d != sum {
        written = narrowed(builder, &written)?;
    }
    for (dest, value) in all.d.iter().zip(&written) {
        builder.lane(lane1(|a: u32| a), &[*dest], &[*value]);
    }
    Ok(())
}

/// Registers of `.f16`, as `.f32`.
fn widened(builder: &mut Builder<'_, '_>, pairs: &[Operand]) -> Result<Vec<Operand>, Refusal> {
    let mut values = Vec::with_capacity(8);
    for pair in pairs {
        let (low, high) = (builder.temporary(Class::Word)?, builder.temporary(Class::Word)?);
        let widen =
            lane1(|pair: u32| (f16_to_f32(pair as u16).to_bits(), f16_to_f32((pair >> 16) as u16).to_bits()));
        builder.lane(widen, &[low, high], &[*pair]);
        values.extend([low, high]);
    }
    Ok(values)
}

/// Registers of `.f32`, rounded to `.f16`.
fn narrowed(builder: &mut Builder<'_, '_>, values: &[Operand]) -> Result<Vec<Operand>, Refusal> {
    let mut pairs = Vec::with_capacity(4);
    for values in values.chunks_exact(2) {
        let pair = builder.temporary(Class::Word)?;
        let narrow =
            lane2(|low: u32, high: u32| u32::from(f16_round(low)) | u32::from(f16_round(high)) << 16);
        builder.lane(narrow, &[pair], values);
        pairs.push(pair);
    }
    Ok(pairs)
}

/// `cvt.rn.f16.f32`
#[inline(always)]
fn f16_round(bits: u32) -> u16 {
    F16::round(f32::from_bits(bits))
}
