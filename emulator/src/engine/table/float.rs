//! "Floating-Point Instructions" on `.f32` and `.f64`.

use super::super::decode::builder::Builder;
use super::super::decode::draft::Refusal;
use super::super::exec::alu::{Lane, Single, lane1, lane2, lane3};
use super::super::exec::doubles::{Add, Fma, Mul, Sub, SubReversed};
use super::super::exec::special_function::special1;
use super::super::exec::wide::{wide2, wide3};
use super::{Form, Row, build, flag, lane, pick, rounding};
use crate::numeric::{approx, fp32, fp32x2, fp64, special};

pub(super) const ROWS: &[Row] = &[
    build("add[.{rn|rz|rm|rp}][.ftz][.sat].f32", |builder, form| {
        saturated(
            builder,
            form,
            rounding!(form, R => flag!(form, "ftz", FTZ => Single::Add.lane::<R, FTZ>())),
        )
    }),
    build("sub[.{rn|rz|rm|rp}][.ftz][.sat].f32", |builder, form| {
        saturated(
            builder,
            form,
            rounding!(form, R => flag!(form, "ftz", FTZ => Single::Sub.lane::<R, FTZ>())),
        )
    }),
    build("mul[.{rn|rz|rm|rp}][.ftz][.sat].f32", |builder, form| {
        saturated(
            builder,
            form,
            rounding!(form, R => flag!(form, "ftz", FTZ => Single::Mul.lane::<R, FTZ>())),
        )
    }),
    build("fma.{rn|rz|rm|rp}[.ftz][.sat].f32", fma),
    build("mad[.{rn|rz|rm|rp}][.ftz][.sat].f32", fma),
    pick("add[.{rn|rz|rm|rp}][.ftz].f32x2", |f| {
        Some(rounding!(f, R => flag!(f, "ftz", FTZ => lane2(fp32x2::add::<R, FTZ>))))
    }),
    pick("sub[.{rn|rz|rm|rp}][.ftz].f32x2", |f| {
        Some(rounding!(f, R => flag!(f, "ftz", FTZ => lane2(fp32x2::sub::<R, FTZ>))))
    }),
    pick("mul[.{rn|rz|rm|rp}][.ftz].f32x2", |f| {
        Some(rounding!(f, R => flag!(f, "ftz", FTZ => lane2(fp32x2::mul::<R, FTZ>))))
    }),
    pick("fma.{rn|rz|rm|rp}[.ftz].f32x2", |f| {
        Some(rounding!(f, R => flag!(f, "ftz", FTZ => lane3(fp32x2::fma::<R, FTZ>))))
    }),
    build("add[.{rn|rz|rm|rp}].f64", |b, f| in_order(b, rounding!(f, R => wide2::<Add<R>>()))),
    build("sub[.{rn|rz|rm|rp}].f64", |builder, form| {
        let lane = match builder.comes_after(1, 2) {
            false => rounding!(form, R => wide2::<Sub<R>>()),
            true => rounding!(form, R => wide2::<SubReversed<R>>()),
        };
        builder.lane_in_order(lane)
    }),
    build("mul[.{rn|rz|rm|rp}].f64", |b, f| in_order(b, rounding!(f, R => wide2::<Mul<R>>()))),
    build("fma.{rn|rz|rm|rp}.f64", |b, f| in_order(b, rounding!(f, R => wide3::<Fma<R>>()))),
    build("mad[.{rn|rz|rm|rp}].f64", |b, f| in_order(b, rounding!(f, R => wide3::<Fma<R>>()))),
    pick("div.{rn|rz|rm|rp}[.ftz].f32", |f| {
        Some(rounding!(f, R => flag!(f, "ftz", FTZ => lane2(fp32::div::<R, FTZ>))))
    }),
    pick("div.{rn|rz|rm|rp}.f64", |f| Some(rounding!(f, R => lane2(fp64::div::<R>)))),
    pick("div.full[.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => lane2(approx::div_full::<FTZ>)))),
    pick("div[.approx][.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => lane2(approx::div::<FTZ>)))),
    build("rcp.{rn|rz|rm|rp}[.ftz].f32", |builder, form| {
        let lane = rounding!(form, R => flag!(form, "ftz", FTZ => lane2(fp32::div::<R, FTZ>)));
        reciprocal(builder, lane, u64::from(1f32.to_bits()))
    }),
    // ptxas makes nothing of `.ftz`.
    build("rcp.{rn|rz|rm|rp}[.ftz].f64", |builder, form| {
        reciprocal(builder, rounding!(form, R => lane2(fp64::div::<R>)), 1f64.to_bits())
    }),
    pick("rcp[.approx][.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => special1(special::Rcp::<FTZ>)))),
    lane("rcp.approx.ftz.f64", lane1(approx::rcp_ftz_f64)),
    pick("sqrt.{rn|rz|rm|rp}[.ftz].f32", |f| {
        Some(rounding!(f, R => flag!(f, "ftz", FTZ => lane1(fp32::sqrt::<R, FTZ>))))
    }),
    pick("sqrt.{rn|rz|rm|rp}.f64", |f| Some(rounding!(f, R => lane1(fp64::sqrt::<R>)))),
    pick("sqrt[.approx][.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => special1(special::Sqrt::<FTZ>)))),
    pick("rsqrt[.approx][.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => special1(special::Rsqrt::<FTZ>)))),
    lane("rsqrt.approx.f64", lane1(approx::rsqrt_f64)),
    lane("rsqrt.approx.ftz.f64", lane1(approx::rsqrt_ftz_f64)),
    // `.ftz` makes no difference.
    lane("sin[.approx][.ftz].f32", special1(special::Sin)),
    // `.ftz` makes no difference.
    lane("cos[.approx][.ftz].f32", special1(special::Cos)),
    lane("sin.approx.ftz.2pi.f32", lane1(approx::sin_2pi)),
    lane("cos.approx.ftz.2pi.f32", lane1(approx::cos_2pi)),
    pick("lg2[.approx][.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => special1(special::Lg2::<FTZ>)))),
    pick("ex2[.approx][.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => special1(special::Ex2::<FTZ>)))),
    lane("tanh.approx.f32", lane1(approx::tanh_f32)),
    pick("abs[.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => lane1(fp32::abs::<FTZ>)))),
    pick("neg[.ftz].f32", |f| Some(flag!(f, "ftz", FTZ => lane1(fp32::neg::<FTZ>)))),
    lane("abs.f64", lane1(fp64::abs)),
    lane("neg.f64", lane1(fp64::neg)),
    lane("copysign.f32", lane2(fp32::copysign)),
    lane("copysign.f64", lane2(fp64::copysign)),
    build("min[.ftz][.NaN][.xorsign][.abs].f32", |builder, f| {
        let lane = flag!(f, "ftz", FTZ => flag!(f, "NaN", NAN => match (builder.operands().len(), f.has("abs")) {
            (4, true) => lane3(fp32::min3::<FTZ, NAN, true>),
            (4, false) => lane3(fp32::min3::<FTZ, NAN, false>),
            (_, true) => lane2(fp32::min::<FTZ, NAN, true>),
            (_, false) => lane2(fp32::min::<FTZ, NAN, false>),
        }));
        builder.lane_in_order(lane)
    }),
    build("max[.ftz][.NaN][.xorsign][.abs].f32", |builder, f| {
        let lane = flag!(f, "ftz", FTZ => flag!(f, "NaN", NAN => match (builder.operands().len(), f.has("abs")) {
            (4, true) => lane3(fp32::max3::<FTZ, NAN, true>),
            (4, false) => lane3(fp32::max3::<FTZ, NAN, false>),
            (_, true) => lane2(fp32::max::<FTZ, NAN, true>),
            (_, false) => lane2(fp32::max::<FTZ, NAN, false>),
        }));
        builder.lane_in_order(lane)
    }),
    build("min.f64", |builder, _| in_order(builder, lane2(fp64::min))),
    build("max.f64", |builder, _| in_order(builder, lane2(fp64::max))),
    pick("testp.{finite|infinite|number|notanumber|normal|subnormal}.f32", |f| {
        Some(match f.first() {
            "finite" => lane1(fp32::is_finite),
            "infinite" => lane1(fp32::is_infinite),
            "number" => lane1(|a: u32| !fp32::is_nan(a)),
            "notanumber" => lane1(fp32::is_nan),
            "normal" => lane1(fp32::is_normal),
            _ => lane1(fp32::is_subnormal),
        })
    }),
    pick("testp.{finite|infinite|number|notanumber|normal|subnormal}.f64", |f| {
        Some(match f.first() {
            "finite" => lane1(fp64::is_finite),
            "infinite" => lane1(fp64::is_infinite),
            "number" => lane1(|a: u64| !fp64::is_nan(a)),
            "notanumber" => lane1(fp64::is_nan),
            "normal" => lane1(fp64::is_normal),
            _ => lane1(fp64::is_subnormal),
        })
    }),
];

/// A fused multiply-add: the products of its modifiers.
fn fma(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    saturated(builder, form, rounding!(form, R => flag!(form, "ftz", FTZ => Single::Fma.lane::<R, FTZ>())))
}

/// An instruction whose first two operands are put into the order that ptxas gives them: of two NaN the second one's payload is kept.
fn in_order(builder: &mut Builder<'_, '_>, lane: Lane) -> Result<(), Refusal> {
    let mut texts = builder.operands().to_vec();
    if builder.comes_after(1, 2) {
        texts.swap(1, 2);
    }
    let (dests, sources) = builder.lane_operands(lane, &texts)?;
    builder.lane(lane, &dests, &sources);
    Ok(())
}

/// The instruction and, for `.sat`, what clamps its result.
pub(super) fn saturated(builder: &mut Builder<'_, '_>, form: &Form<'_>, lane: Lane) -> Result<(), Refusal> {
    builder.lane_then(lane, form.has("sat").then(|| lane1(fp32::saturate)))
}

/// One divided by the operand: `one` is the number one.
fn reciprocal(builder: &mut Builder<'_, '_>, lane: Lane, one: u64) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let one = builder.constant(lane.sources[0], one);
    let source = builder.source(builder.operand(1)?, lane.sources[1])?;
    let dest = builder.dest(builder.operand(0)?, lane.dests[0])?;
    builder.lane(lane, &[dest], &[one, source]);
    Ok(())
}
