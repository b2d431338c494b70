//! `cvt`: conversions between all types.
//!
//! Types and modifiers would make thousands of combinations, so that some conversions go in two steps of which one is
//! exact: short integers are extended before they become floats, half floats are widened before they become
//! integers, and saturation to a type goes through the widest integers.

use cuda_ptx::Type;

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::alu::{Lane, lane1, lane2, lane3};
use super::super::exec::lanes::Class;
use super::{Form, Row, build, flag, pick, rounding};
use crate::numeric::cvt::{self, Double, Single};
use crate::numeric::half::{Bf16, F16};
use crate::numeric::narrow::{self, E4m3, E5m2};

pub(super) const ROWS: &[Row] = &[
    build("cvt[.sat].{u8|s8|u16|s16|u32|s32|u64|s64}.{u8|s8|u16|s16|u32|s32|u64|s64}", integers),
    build("cvt.{rni|rzi|rmi|rpi}[.ftz][.sat].{u8|s8|u16|s16|u32|s32|u64|s64}.{f16|bf16|f32|f64}", to_integer),
    build("cvt.{rn|rz|rm|rp}[.ftz][.sat].{f16|bf16|f32|f64}.{u8|s8|u16|s16|u32|s32|u64|s64}", from_integer),
    build("cvt[.{rn|rz|rm|rp|rni|rzi|rmi|rpi}][.ftz][.sat].{f16|f32|f64|bf16}.{f16|f32|f64|bf16}", floats),
    pick("cvt.{rn|rz}[.relu][.satfinite].{f16|bf16}.f32", |f| {
        Some(
            flag!(f, "bf16", BF => flag!(f, "relu", RELU => flag!(f, "satfinite", SAT => nearest_or_zero!(f, R => {
                match BF {
                    true => lane1(narrow::half_from_f32::<Bf16, R, RELU, SAT>),
                    false => lane1(narrow::half_from_f32::<F16, R, RELU, SAT>),
                }
            })))),
        )
    }),
    pick("cvt.{rn|rz}[.relu][.satfinite].{f16x2|bf16x2}.f32", |f| {
        Some(
            flag!(f, "bf16x2", BF => flag!(f, "relu", RELU => flag!(f, "satfinite", SAT => nearest_or_zero!(f, R => {
                match BF {
                    true => lane2(narrow::half_x2_from_f32::<Bf16, R, RELU, SAT>),
                    false => lane2(narrow::half_x2_from_f32::<F16, R, RELU, SAT>),
                }
            })))),
        )
    }),
    pick("cvt.rna[.satfinite].tf32.f32", |f| {
        Some(flag!(f, "satfinite", SAT => lane1(narrow::tf32_ties_away::<SAT>)))
    }),
    pick("cvt.{rn|rz}[.satfinite][.relu].tf32.f32", |f| {
        Some(flag!(f, "relu", RELU => flag!(f, "satfinite", SAT => nearest_or_zero!(f, R => {
            lane1(narrow::tf32::<R, RELU, SAT>)
        }))))
    }),
    pick("cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2}.f32", |f| {
        Some(flag!(f, "relu", RELU => match f.has("e4m3x2") {
            true => lane2(narrow::fp8x2_from_f32::<E4m3, RELU>),
            false => lane2(narrow::fp8x2_from_f32::<E5m2, RELU>),
        }))
    }),
    pick("cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2}.f16x2", |f| {
        Some(flag!(f, "relu", RELU => match f.has("e4m3x2") {
            true => lane1(narrow::fp8x2_from_f16x2::<E4m3, RELU>),
            false => lane1(narrow::fp8x2_from_f16x2::<E5m2, RELU>),
        }))
    }),
    pick("cvt.rn[.relu].f16x2.{e4m3x2|e5m2x2}", |f| {
        Some(flag!(f, "relu", RELU => match f.has("e4m3x2") {
            true => lane1(narrow::f16x2_from_fp8x2::<E4m3, RELU>),
            false => lane1(narrow::f16x2_from_fp8x2::<E5m2, RELU>),
        }))
    }),
    pick("cvt.pack.sat.{u16|s16}.s32", |f| {
        Some(match f.has("s16") {
            true => lane2(cvt::pack16::<i16>),
            false => lane2(cvt::pack16::<u16>),
        })
    }),
    pick("cvt.pack.sat.{u8|s8|u4|s4|u2|s2}.s32.b32", |f| {
        Some(match f.any(&["u8", "s8", "u4", "s4", "u2", "s2"])? {
            "u8" => lane3(cvt::pack_narrow::<8, false>),
            "s8" => lane3(cvt::pack_narrow::<8, true>),
            "u4" => lane3(cvt::pack_narrow::<4, false>),
            "s4" => lane3(cvt::pack_narrow::<4, true>),
            "u2" => lane3(cvt::pack_narrow::<2, false>),
            _ => lane3(cvt::pack_narrow::<2, true>),
        })
    }),
];

/// Runs `$body` with `$name` standing for the rounding mode of the form, of which there are two.
macro_rules! nearest_or_zero {
    ($form:expr, $name:ident => $body:expr) => {
        if $form.has("rz") {
            use crate::numeric::rounding::Zero as $name;
            $body
        } else {
            use crate::numeric::rounding::Nearest as $name;
            $body
        }
    };
}
use nearest_or_zero;

/// Runs `$body` with `$name` standing for the native type of an integer type of any width.
macro_rules! any_integer {
    ($ty:expr, $name:ident => $body:expr) => {
        match $ty {
            Type::U8 => {
                type $name = u8;
                $body
            }
            Type::S8 => {
                type $name = i8;
                $body
            }
            Type::U16 => {
                type $name = u16;
                $body
            }
            Type::S16 => {
                type $name = i16;
                $body
            }
            Type::U32 => {
                type $name = u32;
                $body
            }
            Type::S32 => {
                type $name = i32;
                $body
            }
            Type::U64 => {
                type $name = u64;
                $body
            }
            _ => {
                type $name = i64;
                $body
            }
        }
    };
}

/// Runs `$body` with `$name` standing for a floating-point type.
macro_rules! any_float {
    ($ty:expr, $name:ident => $body:expr) => {
        match $ty {
            Type::F16 => {
                type $name = F16;
                $body
            }
            Type::Bf16 => {
                type $name = Bf16;
                $body
            }
            Type::F32 => {
                type $name = Single;
                $body
            }
            _ => {
                type $name = Double;
                $body
            }
        }
    };
}

fn signed(ty: Type) -> bool {
    ty.name().starts_with('s')
}

/// The source operand. `cvt` accepts registers wider than the type: the low bits count.
fn source(builder: &mut Builder<'_, '_>, ty: Type) -> Result<Operand, Refusal> {
    builder.expect_operands(2)?;
    let text = builder.operand(1)?;
    let wanted = if ty.size() == 8 { Class::Wide } else { Class::Word };
    if wanted == Class::Word && builder.class_of(text) == Some(Class::Wide) {
        let wide = builder.source(text, Class::Wide)?;
        return step(builder, lane1(|a: u64| a as u32), wide);
    }
    builder.source(text, wanted)
}

/// A step of a conversion into a register of its own. It runs without the guard, which the last step has.
fn step(builder: &mut Builder<'_, '_>, lane: Lane, source: Operand) -> Result<Operand, Refusal> {
    let result = builder.temporary(lane.dests[0])?;
    builder.push_helper(Draft::new(lane.exec.pick(), &[result], &[source]));
    Ok(result)
}

/// The last step. `cvt` accepts a destination register wider than the type: the result is extended by its sign.
fn last(builder: &mut Builder<'_, '_>, lane: Lane, source: Operand, ty: Type) -> Result<(), Refusal> {
    let text = builder.operand(0)?;
    if lane.dests[0] == Class::Word && builder.class_of(text) == Some(Class::Wide) {
        let result = step(builder, lane, source)?;
        let dest = builder.dest(text, Class::Wide)?;
        let extend = if signed(ty) { lane1(|a: i32| i64::from(a)) } else { lane1(|a: u32| u64::from(a)) };
        builder.lane(extend, &[dest], &[result]);
        return Ok(());
    }
    let dest = builder.dest(text, lane.dests[0])?;
    builder.lane(lane, &[dest], &[source]);
    Ok(())
}

fn integers(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let operand = source(builder, from)?;
    if form.has("sat") {
        let widen = any_integer!(from, S => if signed(from) {
            lane1(cvt::int::<S, i64, false>)
        } else {
            lane1(cvt::int::<S, u64, false>)
        });
        let wide = step(builder, widen, operand)?;
        let lane = match signed(from) {
            true => any_integer!(to, D => lane1(cvt::int::<i64, D, true>)),
            false => any_integer!(to, D => lane1(cvt::int::<u64, D, true>)),
        };
        return last(builder, lane, wide, to);
    }
    let lane = any_integer!(to, D => any_integer!(from, S => lane1(cvt::int::<S, D, false>)));
    last(builder, lane, operand, to)
}

fn to_integer(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let mut operand = source(builder, from)?;
    if from.size() == 2 {
        let widen = any_float!(from, S => lane1(cvt::float::<S, Single, crate::numeric::rounding::Nearest, false, false>));
        operand = step(builder, widen, operand)?;
    }
    if from == Type::F64 {
        let lane =
            rounding!(form, R => any_integer!(to, D => lane1(cvt::float_to_int::<Double, D, R, false>)));
        return last(builder, lane, operand, to);
    }
    let lane = |to| {
        rounding!(form, R => flag!(form, "ftz", FTZ => match to {
            Type::U32 => lane1(cvt::float_to_int::<Single, u32, R, FTZ>),
            Type::S32 => lane1(cvt::float_to_int::<Single, i32, R, FTZ>),
            Type::U64 => lane1(cvt::float_to_int::<Single, u64, R, FTZ>),
            _ => lane1(cvt::float_to_int::<Single, i64, R, FTZ>),
        }))
    };
    if to.size() >= 4 {
        return last(builder, lane(to), operand, to);
    }
    // Saturation to 32 bits, then to fewer, is saturation to the latter.
    let word = step(builder, lane(if signed(to) { Type::S32 } else { Type::U32 }), operand)?;
    let narrow = match to {
        Type::U8 => lane1(cvt::int::<u32, u8, true>),
        Type::S8 => lane1(cvt::int::<i32, i8, true>),
        Type::U16 => lane1(cvt::int::<u32, u16, true>),
        _ => lane1(cvt::int::<i32, i16, true>),
    };
    last(builder, narrow, word, to)
}

fn from_integer(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, mut from) = (form.ty(), form.source_ty());
    let mut operand = source(builder, from)?;
    if from.size() < 4 {
        let extend = match from {
            Type::U8 => lane1(cvt::int::<u8, u32, false>),
            Type::S8 => lane1(cvt::int::<i8, i32, false>),
            Type::U16 => lane1(cvt::int::<u16, u32, false>),
            _ => lane1(cvt::int::<i16, i32, false>),
        };
        operand = step(builder, extend, operand)?;
        from = if signed(from) { Type::S32 } else { Type::U32 };
    }
    let lane = rounding!(form, R => any_float!(to, D => match from {
        Type::U32 => lane1(cvt::int_to_float::<u32, D, R>),
        Type::S32 => lane1(cvt::int_to_float::<i32, D, R>),
        Type::U64 => lane1(cvt::int_to_float::<u64, D, R>),
        _ => lane1(cvt::int_to_float::<i64, D, R>),
    }));
    if !form.has("sat") {
        return last(builder, lane, operand, to);
    }
    let unclamped = step(builder, lane, operand)?;
    let clamp =
        any_float!(to, D => lane1(cvt::float::<D, D, crate::numeric::rounding::Nearest, false, true>));
    last(builder, clamp, unclamped, to)
}

fn floats(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let operand = source(builder, from)?;
    let integral = form.any(&["rni", "rzi", "rmi", "rpi"]).is_some();
    let lane = if to == from && integral {
        any_float!(from, S => rounding!(form, R => flag!(form, "ftz", FTZ => flag!(form, "sat", SAT => {
            lane1(cvt::float_to_integral::<S, R, FTZ, SAT>)
        }))))
    } else if to.size() > from.size() || to == from {
        use crate::numeric::rounding::Nearest;
        any_float!(to, D => any_float!(from, S => flag!(form, "ftz", FTZ => flag!(form, "sat", SAT => {
            lane1(cvt::float::<S, D, Nearest, FTZ, SAT>)
        }))))
    } else {
        narrowing(form, to, from)?
    };
    last(builder, lane, operand, to)
}

/// Conversions that round.
fn narrowing(form: &Form<'_>, to: Type, from: Type) -> Result<Lane, Refusal> {
    macro_rules! convert {
        ($from:ty, $to:ty) => {
            rounding!(form, R => flag!(form, "ftz", FTZ => flag!(form, "sat", SAT => {
                lane1(cvt::float::<$from, $to, R, FTZ, SAT>)
            })))
        };
    }
    Ok(match (from, to) {
        (Type::F64, Type::F32) => convert!(Double, Single),
        (Type::F64, Type::F16) => convert!(Double, F16),
        (Type::F64, Type::Bf16) => convert!(Double, Bf16),
        (Type::F32, Type::F16) => convert!(Single, F16),
        (Type::F32, Type::Bf16) => convert!(Single, Bf16),
        (Type::F16, Type::Bf16) => convert!(F16, Bf16),
        (Type::Bf16, Type::F16) => convert!(Bf16, F16),
        _ => return Err(Refusal::new("no such conversion")),
    })
}
