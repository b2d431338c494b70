//! "Mixed Precision Floating-Point Instructions".

use super::float::saturated;
use super::{Row, build, rounding};
use crate::engine::exec::alu::{lane2, lane3};
use crate::numeric::half::{Bf16, F16};
use crate::numeric::mixed;

pub(super) const ROWS: &[Row] = &[
    build("add[.{rn|rz|rm|rp}][.sat].f32.{f16|bf16}", |builder, form| {
        let lane = rounding!(form, R => match form.has("bf16") {
            true => lane2(mixed::add::<Bf16, R, false>),
            false => lane2(mixed::add::<F16, R, false>),
        });
        saturated(builder, form, lane)
    }),
    build("sub[.{rn|rz|rm|rp}][.sat].f32.{f16|bf16}", |builder, form| {
        let lane = rounding!(form, R => match form.has("bf16") {
            true => lane2(mixed::sub::<Bf16, R, false>),
            false => lane2(mixed::sub::<F16, R, false>),
        });
        saturated(builder, form, lane)
    }),
    build("fma.{rn|rz|rm|rp}[.sat].f32.{f16|bf16}", |builder, form| {
        let lane = rounding!(form, R => match form.has("bf16") {
            true => lane3(mixed::fma::<Bf16, R, false>),
            false => lane3(mixed::fma::<F16, R, false>),
        });
        saturated(builder, form, lane)
    }),
];
