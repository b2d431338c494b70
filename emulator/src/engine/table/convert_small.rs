//! `cvt` to and from floats of 4, 6 and 8 bits, powers of two and fixed-point numbers of 8 bits, and stochastic rounding.

use cuda_ptx::{Operand as Text, Type};

use super::super::decode::builder::Builder;
use super::super::decode::draft::Refusal;
use super::super::exec::alu::{Lane, lane1, lane2, lane3, lane5};
use super::{Form, Row, build, flag, lane, pick};
use crate::numeric::half::{Bf16, F16};
use crate::numeric::{fixed, minifloat, stochastic};

/// The modifier of instructions whose last operand has scales.
const SCALED: &str = "scaled::n2::ue8m0";

pub(super) const ROWS: &[Row] = &[
    pick("cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}.f32", |f| {
        Some(flag!(f, "relu", RELU => with_format!(f, F => lane2(minifloat::pair_from_f32::<F, RELU>))))
    }),
    pick("cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}.f16x2", |f| {
        Some(flag!(f, "relu", RELU => with_format!(f, F => lane1(minifloat::pair_from_f16x2::<F, RELU>))))
    }),
    pick("cvt.rn.satfinite[.relu].{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}.bf16x2", |f| {
        Some(flag!(f, "relu", RELU => with_format!(f, F => lane1(minifloat::pair_from_bf16x2::<F, RELU>))))
    }),
    pick("cvt.rn[.relu].f16x2.{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}", |f| {
        Some(flag!(f, "relu", RELU => with_format!(f, F => lane1(minifloat::f16x2_from_pair::<F, RELU>))))
    }),
    pick("cvt.rn[.satfinite][.relu].bf16x2.{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}", |f| {
        Some(flag!(f, "relu", RELU => flag!(f, "satfinite", SAT => {
            with_format!(f, F => lane1(minifloat::bf16x2_from_pair::<F, RELU, SAT>))
        })))
    }),
    pick("cvt.{rz|rp}[.satfinite].ue8m0x2.f32", |f| {
        Some(flag!(f, "rp", UP => flag!(f, "satfinite", SAT => lane2(minifloat::scales_from_f32::<UP, SAT>))))
    }),
    pick("cvt.{rz|rp}[.satfinite].ue8m0x2.bf16x2", |f| {
        Some(
            flag!(f, "rp", UP => flag!(f, "satfinite", SAT => lane1(minifloat::scales_from_bf16x2::<UP, SAT>))),
        )
    }),
    lane("cvt.rn.bf16x2.ue8m0x2", lane1(minifloat::bf16x2_from_scales)),
    pick("cvt.rn.satfinite[.relu][.scaled::n2::ue8m0].s2f6x2.f32", |f| {
        Some(flag!(f, "relu", RELU => match f.has(SCALED) {
            true => lane3(fixed::pair_from_f32::<RELU>),
            false => lane2(|a: u32, b: u32| fixed::pair_from_f32::<RELU>(a, b, fixed::NO_SCALE)),
        }))
    }),
    pick("cvt.rn[.satfinite][.relu][.scaled::n2::ue8m0].{s2f6x2|bf16x2}.{s2f6x2|bf16x2}", |f| {
        let to_fixed = f.types().next() == Some(Type::S2f6x2);
        Some(flag!(f, "relu", RELU => flag!(f, "satfinite", SAT => match (to_fixed, f.has(SCALED)) {
            (true, true) => lane2(fixed::pair_from_bf16x2::<RELU>),
            (true, false) => lane1(|a: u32| fixed::pair_from_bf16x2::<RELU>(a, fixed::NO_SCALE)),
            (false, true) => lane2(fixed::bf16x2_from_pair::<RELU, SAT>),
            (false, false) => lane1(|a: u16| fixed::bf16x2_from_pair::<RELU, SAT>(a, fixed::NO_SCALE)),
        })))
    }),
    pick("cvt.rs[.relu][.satfinite].{f16x2|bf16x2}.f32", |f| {
        Some(flag!(f, "relu", RELU => flag!(f, "satfinite", SAT => match f.has("bf16x2") {
            true => lane3(stochastic::half_x2::<Bf16, RELU, SAT>),
            false => lane3(stochastic::half_x2::<F16, RELU, SAT>),
        })))
    }),
    build("cvt.rs.satfinite[.relu].{e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4}.f32", |builder, f| {
        let lane = flag!(f, "relu", RELU => with_format!(f, F => lane5(stochastic::minifloat_x4::<F, RELU>)));
        four(builder, lane)
    }),
];

/// Runs `$body` with `$name` standing for the format of the form.
macro_rules! with_format {
    ($form:expr, $name:ident => $body:expr) => {
        match format($form) {
            "e4m3" => {
                use crate::numeric::minifloat::E4m3 as $name;
                $body
            }
            "e5m2" => {
                use crate::numeric::minifloat::E5m2 as $name;
                $body
            }
            "e2m3" => {
                use crate::numeric::minifloat::E2m3 as $name;
                $body
            }
            "e3m2" => {
                use crate::numeric::minifloat::E3m2 as $name;
                $body
            }
            _ => {
                use crate::numeric::minifloat::E2m1 as $name;
                $body
            }
        }
    };
}
use with_format;

/// The format that is packed in an operand of a form.
fn format<'n>(form: &Form<'n>) -> &'n str {
    let packed = form.values().find(|value| value.starts_with('e'));
    packed.and_then(|value| value.split('x').next()).unwrap_or_default()
}

/// An instruction whose second operand is a vector of four.
fn four(builder: &mut Builder<'_, '_>, lane: Lane) -> Result<(), Refusal> {
    let texts: Vec<Text<'_>> = builder.operands().to_vec();
    let [dest, Text::Vector(values), random] = texts.as_slice() else {
        return Err(Refusal::new("a vector of four values and random bits are expected"));
    };
    let flat: Vec<Text<'_>> = [dest].into_iter().chain(values).chain([random]).cloned().collect();
    let (dests, sources) = builder.lane_operands(lane, &flat)?;
    builder.lane(lane, &dests, &sources);
    Ok(())
}
