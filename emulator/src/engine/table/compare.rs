//! "Comparison and Selection Instructions".

use cuda_ptx::{Operand as Text, Type};

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::alu::{Lane, lane1, lane2, lane3, mask1, mask2};
use super::super::exec::operand::Class;
use super::{Form, Row, build, flag, pick};
use crate::numeric::compare;
use crate::numeric::half::{self, F16};

pub(super) const ROWS: &[Row] = &[
    build("setp.{eq|ne|lt|le|gt|ge|lo|ls|hi|hs}[.{and|or|xor}].{b16|b32|b64|u16|u32|u64|s16|s32|s64}", setp),
    build(
        "setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.{and|or|xor}][.ftz].{f16|bf16|f32|f64}",
        setp,
    ),
    build(
        "setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.{and|or|xor}][.ftz].{f16x2|bf16x2}",
        setp_packed,
    ),
    build(
        "set.{eq|ne|lt|le|gt|ge|lo|ls|hi|hs}[.{and|or|xor}].{u32|s32|f32}.{b16|b32|b64|u16|u32|u64|s16|s32|s64}",
        set,
    ),
    build(
        "set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.{and|or|xor}][.ftz].{u32|s32|f32|u16|s16|f16|bf16}.{f16|bf16|f32|f64}",
        set,
    ),
    build(
        "set.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}[.{and|or|xor}][.ftz].{f16x2|bf16x2|u32|s32}.{f16x2|bf16x2}",
        set_packed,
    ),
    pick("selp.{b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64}", |f| {
        Some(match f.ty().size() {
            8 => lane3(compare::selp::<u64>),
            _ => lane3(compare::selp::<u32>),
        })
    }),
    pick("slct.{b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64}.s32", |f| {
        Some(match f.ty().size() {
            8 => lane3(compare::slct_s32::<u64>),
            _ => lane3(compare::slct_s32::<u32>),
        })
    }),
    pick("slct[.ftz].{b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64}.f32", |f| {
        Some(flag!(f, "ftz", FTZ => match f.ty().size() {
            8 => lane3(compare::slct_f32::<u64, FTZ>),
            _ => lane3(compare::slct_f32::<u32, FTZ>),
        }))
    }),
];

/// Runs `$body` with `$name` standing for the comparison of the form.
macro_rules! comparison {
    ($form:expr, $name:ident => $body:expr) => {
        match $form.first() {
            "eq" => {
                use compare::Eq as $name;
                $body
            }
            "ne" => {
                use compare::Ne as $name;
                $body
            }
            "lt" | "lo" => {
                use compare::Lt as $name;
                $body
            }
            "le" | "ls" => {
                use compare::Le as $name;
                $body
            }
            "gt" | "hi" => {
                use compare::Gt as $name;
                $body
            }
            "ge" | "hs" => {
                use compare::Ge as $name;
                $body
            }
            "equ" => {
                use compare::Equ as $name;
                $body
            }
            "neu" => {
                use compare::Neu as $name;
                $body
            }
            "ltu" => {
                use compare::Ltu as $name;
                $body
            }
            "leu" => {
                use compare::Leu as $name;
                $body
            }
            "gtu" => {
                use compare::Gtu as $name;
                $body
            }
            "geu" => {
                use compare::Geu as $name;
                $body
            }
            "num" => {
                use compare::Num as $name;
                $body
            }
            _ => {
                use compare::Nan as $name;
                $body
            }
        }
    };
}

/// The comparison of two values of the type as a predicate.
fn comparison(form: &Form<'_>, ty: Type) -> Option<Lane> {
    Some(match ty {
        Type::F32 => comparison!(form, C => flag!(form, "ftz", FTZ => lane2(compare::f32::<C, FTZ>))),
        Type::F64 => comparison!(form, C => lane2(compare::f64::<C>)),
        _ => return integer_comparison(form, ty),
    })
}

fn integer_comparison(form: &Form<'_>, ty: Type) -> Option<Lane> {
    // Signs matter for order only.
    let ty = match (form.first(), ty) {
        ("eq" | "ne", Type::S16) => Type::U16,
        ("eq" | "ne", Type::S32) => Type::U32,
        ("eq" | "ne", Type::S64) => Type::U64,
        _ => ty,
    };
    macro_rules! ordered {
        ($name:ident) => {
            match form.first() {
                "eq" => lane2(compare::int::<compare::Eq, $name>),
                // "Not equal" and "out of order" are one for integers.
                "ne" => lane2(compare::int::<compare::Neu, $name>),
                "lt" | "lo" => lane2(compare::int::<compare::Lt, $name>),
                "le" | "ls" => lane2(compare::int::<compare::Le, $name>),
                "gt" | "hi" => lane2(compare::int::<compare::Gt, $name>),
                _ => lane2(compare::int::<compare::Ge, $name>),
            }
        };
    }
    super::integers!(ty, T => ordered!(T))
}

/// How `.and`, `.or`, `.xor` combine a comparison with a further predicate.
fn combination(form: &Form<'_>) -> Lane {
    match form.any(&["and", "or", "xor"]) {
        Some("or") => mask2(|a, c| a | c),
        Some("xor") => mask2(|a, c| a ^ c),
        _ => mask2(|a, c| a & c),
    }
}

/// The `.f32` value of half a register: the low half, or the high one.
fn widened(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    half: Operand,
    high: bool,
) -> Result<Operand, Refusal> {
    let bfloat = form.source_ty().name().starts_with('b');
    let lane = match (bfloat, high, form.has("ftz")) {
        (true, false, _) => lane1(|a: u32| half::bf16_to_f32(a as u16).to_bits()),
        (true, true, _) => lane1(|a: u32| half::bf16_to_f32((a >> 16) as u16).to_bits()),
        (false, false, false) => lane1(|a: u32| half::f16_to_f32(a as u16).to_bits()),
        (false, true, false) => lane1(|a: u32| half::f16_to_f32((a >> 16) as u16).to_bits()),
        (false, false, true) => {
            lane1(|a: u32| half::f16_to_f32(half::flush::<F16, true>(a as u16)).to_bits())
        }
        (false, true, true) => {
            lane1(|a: u32| half::f16_to_f32(half::flush::<F16, true>((a >> 16) as u16)).to_bits())
        }
    };
    let result = builder.temporary(Class::Word)?;
    builder.push_helper(Draft::new(lane.exec.pick(), &[result], &[half]));
    Ok(result)
}

/// The comparison of operands 1 and 2 in a register of its own.
fn compared(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<Operand, Refusal> {
    let ty = form.source_ty();
    let is_half = matches!(ty, Type::F16 | Type::Bf16);
    let lane = comparison(form, if is_half { Type::F32 } else { ty });
    let lane = lane.ok_or_else(|| Refusal::new("no such comparison"))?;
    let mut sources = [Operand::None; 2];
    for (index, source) in sources.iter_mut().enumerate() {
        *source = builder.source(builder.operand(index + 1)?, lane.sources[index])?;
        if is_half {
            *source = widened(builder, form, *source, false)?;
        }
    }
    let result = builder.temporary(Class::Predicate)?;
    builder.push_helper(Draft::new(lane.exec.pick(), &[result], &sources));
    Ok(result)
}

/// `setp.op{.bool}.type p{|q}, a, b{, {!}c}`: `q` is the comparison's opposite, combined in the same way.
fn setp(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let combined = form.any(&["and", "or", "xor"]).is_some();
    builder.expect_operands(if combined { 4 } else { 3 })?;
    let is_half = matches!(form.source_ty(), Type::F16 | Type::Bf16);
    if !combined && !is_half && !matches!(builder.operand(0)?, Text::Pair(..)) {
        let lane = comparison(form, form.source_ty()).ok_or_else(|| Refusal::new("no such comparison"))?;
        return builder.lane_in_order(lane);
    }
    let result = compared(builder, form)?;
    let (p, q) = match builder.operand(0)? {
        Text::Pair(p, q) => (&**p, Some(&**q)),
        p => (p, None),
    };
    let c =
        if combined { builder.source(builder.operand(3)?, Class::Predicate)? } else { Operand::Fixed(true) };
    let p = builder.dest(p, Class::Predicate)?;
    let Some(q) = q else {
        builder.lane(combination(form), &[p], &[result, c]);
        return Ok(());
    };
    // Both are computed before either is written: `c` may be one of them.
    let [opposite, second] = [builder.temporary(Class::Predicate)?, builder.temporary(Class::Predicate)?];
    builder.push_helper(Draft::new(mask1(|a| !a).exec.pick(), &[opposite], &[result]));
    builder.push_helper(Draft::new(combination(form).exec.pick(), &[second], &[opposite, c]));
    builder.lane(combination(form), &[p], &[result, c]);
    let q = builder.dest(q, Class::Predicate)?;
    builder.lane(mask1(|a| a), &[q], &[second]);
    Ok(())
}

/// The comparisons of the low and the high halves of operands 1 and 2.
fn compared_halves(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<[Operand; 2], Refusal> {
    let lane = comparison(form, Type::F32).ok_or_else(|| Refusal::new("no such comparison"))?;
    let a = builder.source(builder.operand(1)?, Class::Word)?;
    let b = builder.source(builder.operand(2)?, Class::Word)?;
    let mut results = [Operand::None; 2];
    for (result, high) in results.iter_mut().zip([false, true]) {
        let halves = [widened(builder, form, a, high)?, widened(builder, form, b, high)?];
        *result = builder.temporary(Class::Predicate)?;
        builder.push_helper(Draft::new(lane.exec.pick(), &[*result], &halves));
    }
    Ok(results)
}

/// Combines each comparison with operand 3, if the form says so.
fn combined(builder: &mut Builder<'_, '_>, form: &Form<'_>, results: &mut [Operand]) -> Result<(), Refusal> {
    if form.any(&["and", "or", "xor"]).is_none() {
        return builder.expect_operands(3);
    }
    builder.expect_operands(4)?;
    let c = builder.source(builder.operand(3)?, Class::Predicate)?;
    for result in results {
        let combined = builder.temporary(Class::Predicate)?;
        builder.push_helper(Draft::new(combination(form).exec.pick(), &[combined], &[*result, c]));
        *result = combined;
    }
    Ok(())
}

/// `setp.op.f16x2 p{|q}, a, b`: one predicate per half, of which the upper one may be left out.
fn setp_packed(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mut results = compared_halves(builder, form)?;
    combined(builder, form, &mut results)?;
    let texts = match builder.operand(0)? {
        Text::Pair(p, q) => vec![&**p, &**q],
        p => vec![p],
    };
    for (text, result) in texts.into_iter().zip(results) {
        let dest = builder.dest(text, Class::Predicate)?;
        builder.lane(mask1(|a| a), &[dest], &[result]);
    }
    Ok(())
}

/// `set.op{.bool}.dtype.stype d, a, b{, {!}c}`
fn set(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mut results = [compared(builder, form)?];
    combined(builder, form, &mut results)?;
    let lane = match form.ty() {
        Type::F32 => lane1(compare::set_f32),
        Type::U16 | Type::S16 => lane1(compare::set_u16),
        Type::F16 => lane1(compare::set_f16),
        Type::Bf16 => lane1(compare::set_bf16),
        _ => lane1(compare::set_u32),
    };
    let dest = builder.dest(builder.operand(0)?, Class::Word)?;
    builder.lane(lane, &[dest], &results);
    Ok(())
}

/// `set.op.f16x2.f16x2 d, a, b`
fn set_packed(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mut results = compared_halves(builder, form)?;
    combined(builder, form, &mut results)?;
    let lane = match form.ty() {
        Type::Bf16x2 => lane2(|low: bool, high: bool| {
            u32::from(compare::set_bf16(low)) | u32::from(compare::set_bf16(high)) << 16
        }),
        Type::F16x2 => lane2(|low: bool, high: bool| {
            u32::from(compare::set_f16(low)) | u32::from(compare::set_f16(high)) << 16
        }),
        _ => lane2(|low: bool, high: bool| {
            u32::from(compare::set_u16(low)) | u32::from(compare::set_u16(high)) << 16
        }),
    };
    let dest = builder.dest(builder.operand(0)?, Class::Word)?;
    builder.lane(lane, &[dest], &results);
    Ok(())
}
