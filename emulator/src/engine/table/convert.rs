//! `cvt`: conversions between all types.
//!
//! Types and modifiers would make thousands of combinations. So a conversion is a list of steps, of which at most one
//! rounds: short integers are extended before they become floats, half floats are widened before anything else
//! happens to them, floats become integral before they become integers, and saturation comes last.

use cuda_ptx::Type;

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::alu::{Lane, lane1, lane2, lane3};
use super::super::exec::operand::Class;
use super::{Form, Row, build, flag, pick, rounding};
use crate::numeric::cvt::{self, Double, Single};
use crate::numeric::fp32;
use crate::numeric::half::{self, Bf16, F16};
use crate::numeric::narrow;
use crate::numeric::rounding::{Nearest, Zero};

pub(super) const ROWS: &[Row] = &[
    build("cvt[.sat].{u8|s8|u16|s16|u32|s32|u64|s64}.{u8|s8|u16|s16|u32|s32|u64|s64}", integers),
    build("cvt.{rni|rzi|rmi|rpi}[.ftz][.sat].{u8|s8|u16|s16|u32|s32|u64|s64}.{f16|bf16|f32|f64}", to_integer),
    build("cvt.{rn|rz|rm|rp}[.ftz][.sat].{f16|bf16|f32|f64}.{u8|s8|u16|s16|u32|s32|u64|s64}", from_integer),
    build("cvt[.{rn|rz|rm|rp|rni|rzi|rmi|rpi}][.ftz][.sat].{f16|f32|f64|bf16}.{f16|f32|f64|bf16}", floats),
    build("cvt.{rn|rz}[.relu][.satfinite].{f16|bf16}.f32", |builder, form| {
        let operand = source(builder, Type::F32)?;
        let mut steps = Steps::default();
        steps.push(
            flag!(form, "bf16", BF => flag!(form, "satfinite", SAT => nearest_or_zero!(form, R => match BF {
                true => lane1(narrow::half_from_f32::<Bf16, R, false, SAT>),
                false => lane1(narrow::half_from_f32::<F16, R, false, SAT>),
            }))),
        );
        if form.has("relu") {
            steps.push(if form.has("bf16") { lane1(half::relu::<Bf16>) } else { lane1(half::relu::<F16>) });
        }
        steps.finish(builder, operand, form.ty())
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
            type $name = Zero;
            $body
        } else {
            type $name = Nearest;
            $body
        }
    };
}
use nearest_or_zero;

fn signed(ty: Type) -> bool {
    ty.name().starts_with('s')
}

/// The steps of a conversion, each a function of one operand.
#[derive(Default)]
struct Steps(Vec<Lane>);

impl Steps {
    fn push(&mut self, lane: Lane) {
        self.0.push(lane);
    }

    /// Appends the steps. All but the last write registers of their own, so that only the last needs the guard.
    ///
    /// `cvt` accepts a destination register wider than the type `ty`: the result is extended by its sign.
    fn finish(mut self, builder: &mut Builder<'_, '_>, source: Operand, ty: Type) -> Result<(), Refusal> {
        let text = builder.operand(0)?;
        if self.0.is_empty() {
            self.push(if ty.size() == 8 { lane1(|a: u64| a) } else { lane1(|a: u32| a) });
        }
        if ty.size() < 8 && builder.class_of(text) == Some(Class::Wide) {
            self.push(if signed(ty) { lane1(|a: i32| i64::from(a)) } else { lane1(|a: u32| u64::from(a)) });
        }
        let mut operand = source;
        let Some((last, steps)) = self.0.split_last() else { return Ok(()) };
        for lane in steps {
            let result = builder.temporary(lane.dests[0])?;
            builder.push_helper(Draft::new(lane.exec.pick(), &[result], &[operand]));
            operand = result;
        }
        let dest = builder.dest(text, last.dests[0])?;
        builder.lane(*last, &[dest], &[operand]);
        Ok(())
    }
}

/// The source operand. `cvt` accepts registers wider than the type: the low bits count.
fn source(builder: &mut Builder<'_, '_>, ty: Type) -> Result<Operand, Refusal> {
    builder.expect_operands(2)?;
    let text = builder.operand(1)?;
    if ty.size() == 8 {
        return builder.source(text, Class::Wide);
    }
    if builder.class_of(text) == Some(Class::Wide) {
        let wide = builder.source(text, Class::Wide)?;
        let low = builder.temporary(Class::Word)?;
        builder.push_helper(Draft::new(lane1(|a: u64| a as u32).exec.pick(), &[low], &[wide]));
        return Ok(low);
    }
    builder.source(text, Class::Word)
}

/// The integer in a word, extended to all of it.
fn extend(ty: Type) -> Option<Lane> {
    Some(match ty {
        Type::U8 => lane1(|a: u32| u32::from(a as u8)),
        Type::S8 => lane1(|a: u32| a as i8 as u32),
        Type::U16 => lane1(|a: u32| u32::from(a as u16)),
        Type::S16 => lane1(|a: u32| a as i16 as u32),
        _ => return None,
    })
}

fn widen(signed: bool) -> Lane {
    if signed { lane1(|a: u32| a as i32 as u64) } else { lane1(|a: u32| u64::from(a)) }
}

fn integers(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let operand = source(builder, from)?;
    let mut steps = Steps::default();
    if form.has("sat") {
        saturated(&mut steps, from, to);
        return steps.finish(builder, operand, to);
    }
    if to.size() >= from.size() {
        extend(from).into_iter().for_each(|lane| steps.push(lane));
    } else if from.size() == 8 {
        steps.push(lane1(|a: u64| a as u32));
    }
    match (to.size(), from.size()) {
        (8, 8) | (4, _) => {}
        (8, _) => steps.push(widen(signed(from))),
        // The bits above the type follow the destination's sign, also where the source has another.
        _ if to != from => extend(to).into_iter().for_each(|lane| steps.push(lane)),
        _ => {}
    }
    steps.finish(builder, operand, to)
}

/// Saturation between integers, by way of 64 bits.
fn saturated(steps: &mut Steps, from: Type, to: Type) {
    extend(from).into_iter().for_each(|lane| steps.push(lane));
    if from.size() < 8 {
        steps.push(widen(signed(from)));
    }
    macro_rules! to_type {
        ($from:ty) => {
            match to {
                Type::U8 => lane1(cvt::int::<$from, u8, true>),
                Type::S8 => lane1(cvt::int::<$from, i8, true>),
                Type::U16 => lane1(cvt::int::<$from, u16, true>),
                Type::S16 => lane1(cvt::int::<$from, i16, true>),
                Type::U32 => lane1(cvt::int::<$from, u32, true>),
                Type::S32 => lane1(cvt::int::<$from, i32, true>),
                Type::U64 => lane1(cvt::int::<$from, u64, true>),
                _ => lane1(cvt::int::<$from, i64, true>),
            }
        };
    }
    steps.push(if signed(from) { to_type!(i64) } else { to_type!(u64) });
}

/// Half floats become `.f32`; `.ftz` flushes what is `.f32` at the start, unless it becomes an `.f16`.
fn to_single(steps: &mut Steps, form: &Form<'_>, from: Type, to: Type) {
    match from {
        Type::F16 => steps.push(lane1(cvt::float::<F16, Single, Nearest, false, false>)),
        Type::Bf16 => steps.push(lane1(cvt::float::<Bf16, Single, Nearest, false, false>)),
        Type::F32 if form.has("ftz") && to != Type::F16 => steps.push(lane1(fp32::flush::<true>)),
        _ => {}
    }
}

/// A float becomes integral by the form's rounding; towards zero where that is part of what follows.
fn to_integral(steps: &mut Steps, form: &Form<'_>, from: Type, zero_too: bool) {
    if form.has("rzi") && !zero_too {
        return;
    }
    steps.push(if from == Type::F64 {
        rounding!(form, R => lane1(cvt::float_to_integral::<Double, R, false, false>))
    } else {
        rounding!(form, R => lane1(cvt::float_to_integral::<Single, R, false, false>))
    });
}

fn to_integer(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let operand = source(builder, from)?;
    let mut steps = Steps::default();
    to_single(&mut steps, form, from, to);
    to_integral(&mut steps, form, from, false);
    macro_rules! to_type {
        ($from:ty) => {
            match to {
                Type::U8 => lane1(cvt::float_to_int::<$from, u8, Zero, false>),
                Type::S8 => lane1(cvt::float_to_int::<$from, i8, Zero, false>),
                Type::U16 => lane1(cvt::float_to_int::<$from, u16, Zero, false>),
                Type::S16 => lane1(cvt::float_to_int::<$from, i16, Zero, false>),
                Type::U32 => lane1(cvt::float_to_int::<$from, u32, Zero, false>),
                Type::S32 => lane1(cvt::float_to_int::<$from, i32, Zero, false>),
                Type::U64 => lane1(cvt::float_to_int::<$from, u64, Zero, false>),
                _ => lane1(cvt::float_to_int::<$from, i64, Zero, false>),
            }
        };
    }
    steps.push(if from == Type::F64 { to_type!(Double) } else { to_type!(Single) });
    steps.finish(builder, operand, to)
}

fn from_integer(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let operand = source(builder, from)?;
    let mut steps = Steps::default();
    extend(from).into_iter().for_each(|lane| steps.push(lane));
    macro_rules! from_type {
        ($to:ty) => {
            rounding!(form, R => match (from.size() == 8, signed(from)) {
                (false, false) => lane1(cvt::int_to_float::<u32, $to, R>),
                (false, true) => lane1(cvt::int_to_float::<i32, $to, R>),
                (true, false) => lane1(cvt::int_to_float::<u64, $to, R>),
                (true, true) => lane1(cvt::int_to_float::<i64, $to, R>),
            })
        };
    }
    match (to, from.size() == 8) {
        (Type::F32, _) => steps.push(from_type!(Single)),
        (Type::F64, true) => steps.push(from_type!(Double)),
        // Exact, whatever the rounding.
        (_, false) => {
            steps.push(match signed(from) {
                false => lane1(cvt::int_to_float::<u32, Double, Nearest>),
                true => lane1(cvt::int_to_float::<i32, Double, Nearest>),
            });
            narrow(&mut steps, form, Type::F64, to);
        }
        (Type::F16, true) => steps.push(from_type!(F16)),
        (_, true) => steps.push(from_type!(Bf16)),
    }
    saturate(&mut steps, form, to);
    steps.finish(builder, operand, to)
}

fn floats(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (to, from) = (form.ty(), form.source_ty());
    let operand = source(builder, from)?;
    let mut steps = Steps::default();
    let integral = form.any(&["rni", "rzi", "rmi", "rpi"]).is_some();
    let wide = if (from, to) == (Type::F16, Type::F64) && !integral {
        from
    } else if from.size() <= 4 && (to != from || integral) {
        to_single(&mut steps, form, from, to);
        Type::F32
    } else {
        from
    };
    if integral {
        to_integral(&mut steps, form, wide, true);
    }
    match (wide, to) {
        (Type::F16, Type::F64) => steps.push(lane1(cvt::float::<F16, Double, Nearest, false, false>)),
        (Type::F32, Type::F64) => {
            steps.push(flag!(form, "ftz", FTZ => lane1(cvt::float::<Single, Double, Nearest, FTZ, false>)));
        }
        (Type::F32, Type::F32) if form.has("ftz") => {
            steps.push(lane1(cvt::float::<Single, Single, Nearest, true, false>));
        }
        (wide, to) if wide != to => narrow(&mut steps, form, wide, to),
        _ => {}
    }
    saturate(&mut steps, form, to);
    steps.finish(builder, operand, to)
}

/// From `.f32` or `.f64` to something smaller, by the form's rounding; nothing to do for equal types.
fn narrow(steps: &mut Steps, form: &Form<'_>, from: Type, to: Type) {
    macro_rules! convert {
        ($from:ty, $to:ty) => {
            rounding!(form, R => lane1(cvt::float::<$from, $to, R, false, false>))
        };
    }
    steps.push(match (from, to) {
        (Type::F64, Type::F32) => {
            rounding!(form, R => flag!(form, "ftz", FTZ => lane1(cvt::float::<Double, Single, R, FTZ, false>)))
        }
        (Type::F64, Type::F16) => convert!(Double, F16),
        (Type::F64, Type::Bf16) => convert!(Double, Bf16),
        (Type::F32, Type::F16) => convert!(Single, F16),
        (Type::F32, Type::Bf16) => convert!(Single, Bf16),
        _ => return,
    });
}

/// `.sat`
fn saturate(steps: &mut Steps, form: &Form<'_>, to: Type) {
    if form.has("sat") {
        steps.push(match to {
            Type::F16 => lane1(half::saturate::<F16>),
            Type::Bf16 => lane1(half::saturate::<Bf16>),
            Type::F32 => lane1(fp32::saturate),
            _ => lane1(cvt::float::<Double, Double, Nearest, false, true>),
        });
    }
}
