//! "Half Precision Floating-Point Instructions", and the approximations on half precision.
//!
//! Scalar instructions run as packed ones: what they compute in the upper half of a register means nothing.

use std::marker::PhantomData;

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Refusal};
use super::super::exec::alu::{Apply2, Apply3, Lane, lane1, lane2, lane3};
use super::super::exec::operand::Class;
use super::{Form, Row, build, flag, pick};
use crate::numeric::approx;
use crate::numeric::half::{self, Bf16, F16, Half};

/// Runs `$body` with `$half` standing for the format of the form's type and `$ftz` for `.ftz`, which `.bf16` lacks.
macro_rules! format {
    ($form:expr, $half:ident, $ftz:ident => $body:expr) => {
        if bfloat($form) {
            type $half = Bf16;
            const $ftz: bool = false;
            $body
        } else {
            type $half = F16;
            flag!($form, "ftz", $ftz => $body)
        }
    };
}

pub(super) const ROWS: &[Row] = &[
    build("add[.rn][.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        finished(builder, form, format!(form, H, FTZ => lane2(Packed::<H, ADD, FTZ>::NEW)))
    }),
    build("sub[.rn][.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        finished(builder, form, format!(form, H, FTZ => lane2(Packed::<H, SUB, FTZ>::NEW)))
    }),
    build("mul[.rn][.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        finished(builder, form, format!(form, H, FTZ => lane2(Packed::<H, MUL, FTZ>::NEW)))
    }),
    build("fma.rn[.ftz][.{sat|relu}].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        finished(builder, form, format!(form, H, FTZ => lane3(Packed::<H, FMA, FTZ>::NEW)))
    }),
    build("fma.rn.oob[.relu].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        finished(
            builder,
            form,
            match bfloat(form) {
                true => lane3(half::fma_oob_x2::<Bf16>),
                false => lane3(half::fma_oob_x2::<F16>),
            },
        )
    }),
    pick("abs[.ftz].{f16|f16x2|bf16|bf16x2}", |form| {
        Some(format!(form, H, FTZ => lane1(half::abs_x2::<H, FTZ>)))
    }),
    pick("neg[.ftz].{f16|f16x2|bf16|bf16x2}", |form| {
        Some(format!(form, H, FTZ => lane1(half::neg_x2::<H, FTZ>)))
    }),
    build("min[.ftz][.NaN][.xorsign][.abs].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        let lane = flag!(form, "NaN", NAN => flag!(form, "xorsign", XOR => match bfloat(form) {
            true => lane2(half::min_x2::<Bf16, false, NAN, XOR>),
            false => lane2(half::min_x2::<F16, false, NAN, XOR>),
        }));
        flushed(builder, form, lane)
    }),
    build("max[.ftz][.NaN][.xorsign][.abs].{f16|f16x2|bf16|bf16x2}", |builder, form| {
        let lane = flag!(form, "NaN", NAN => flag!(form, "xorsign", XOR => match bfloat(form) {
            true => lane2(half::max_x2::<Bf16, false, NAN, XOR>),
            false => lane2(half::max_x2::<F16, false, NAN, XOR>),
        }));
        flushed(builder, form, lane)
    }),
    pick("ex2.approx.{f16|f16x2}", |form| {
        Some(match form.ty().size() {
            4 => lane1(approx::ex2_x2::<F16, false>),
            _ => lane1(approx::ex2_half::<F16, false>),
        })
    }),
    pick("ex2.approx.ftz.{bf16|bf16x2}", |form| {
        Some(match form.ty().size() {
            4 => lane1(approx::ex2_x2::<Bf16, true>),
            _ => lane1(approx::ex2_half::<Bf16, true>),
        })
    }),
    pick("tanh.approx.{f16|f16x2|bf16|bf16x2}", |form| {
        Some(match (bfloat(form), form.ty().size()) {
            (true, 4) => lane1(approx::tanh_x2::<Bf16>),
            (true, _) => lane1(approx::tanh_half::<Bf16>),
            (false, 4) => lane1(approx::tanh_x2::<F16>),
            (false, _) => lane1(approx::tanh_half::<F16>),
        })
    }),
];

/// Packed arithmetic as a type: too long to be inlined through `Fn`.
struct Packed<H, const OPERATION: u8, const FTZ: bool>(PhantomData<H>);

const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;
const FMA: u8 = 3;

impl<H, const OPERATION: u8, const FTZ: bool> Packed<H, OPERATION, FTZ> {
    const NEW: Self = Packed(PhantomData);
}

impl<H, const OPERATION: u8, const FTZ: bool> Clone for Packed<H, OPERATION, FTZ> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H, const OPERATION: u8, const FTZ: bool> Copy for Packed<H, OPERATION, FTZ> {}

impl<H: Half + 'static, const OPERATION: u8, const FTZ: bool> Apply2<u32, u32> for Packed<H, OPERATION, FTZ> {
    type Output = u32;

    #[inline(always)]
    fn apply(self, a: u32, b: u32) -> u32 {
        match OPERATION {
            ADD => half::add_x2::<H, FTZ, false>(a, b),
            SUB => half::sub_x2::<H, FTZ, false>(a, b),
            _ => half::mul_x2::<H, FTZ, false>(a, b),
        }
    }
}

impl<H: Half + 'static, const OPERATION: u8, const FTZ: bool> Apply3<u32, u32, u32>
    for Packed<H, OPERATION, FTZ>
{
    type Output = u32;

    #[inline(always)]
    fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        half::fma_x2::<H, FTZ, false>(a, b, c)
    }
}

fn bfloat(form: &Form<'_>) -> bool {
    form.ty().name().starts_with('b')
}

#[inline(always)]
fn both(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    u32::from(f(a as u16)) | u32::from(f((a >> 16) as u16)) << 16
}

/// The instruction and what `.sat` or `.relu` make of its result.
fn finished(builder: &mut Builder<'_, '_>, form: &Form<'_>, lane: Lane) -> Result<(), Refusal> {
    let then = match (form.any(&["sat", "relu"]), bfloat(form)) {
        (None, _) => None,
        (Some("sat"), true) => Some(lane1(|a: u32| both(a, half::saturate::<Bf16>))),
        (Some("sat"), false) => Some(lane1(|a: u32| both(a, half::saturate::<F16>))),
        (Some(_), true) => Some(lane1(|a: u32| both(a, half::relu::<Bf16>))),
        (Some(_), false) => Some(lane1(|a: u32| both(a, half::relu::<F16>))),
    };
    builder.lane_then(lane, then)
}

/// The instruction on operands that `.ftz` has flushed.
fn flushed(builder: &mut Builder<'_, '_>, form: &Form<'_>, lane: Lane) -> Result<(), Refusal> {
    let (dests, mut sources) = builder.lane_operands(lane, builder.operands())?;
    if form.has("ftz") {
        for source in &mut sources {
            let flush = lane1(|a: u32| both(a, half::flush::<F16, true>));
            let result = builder.temporary(Class::Word)?;
            builder.push_helper(Draft::new(flush.exec.pick(), &[result], &[*source]));
            *source = result;
        }
    }
    builder.lane(lane, &dests, &sources);
    Ok(())
}
