//! "Half Precision Floating-Point Instructions", and the approximations on half precision.

use super::super::exec::alu::{lane1, lane2, lane3};
use super::{Row, flag, pick};
use crate::numeric::approx;
use crate::numeric::half::{self, Bf16, F16};

/// Runs `$body` with `$half` standing for the format of the form's type.
macro_rules! format {
    ($form:expr, $half:ident => $body:expr) => {
        if $form.ty().name().starts_with('b') {
            type $half = Bf16;
            $body
        } else {
            type $half = F16;
            $body
        }
    };
}

/// Whether the form's type is packed.
macro_rules! packed {
    ($form:expr, $packed:expr, $scalar:expr) => {
        if $form.ty().size() == 4 { $packed } else { $scalar }
    };
}

pub(super) const ROWS: &[Row] = &[
    pick("add[.rn][.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => flag!(f, "sat", SAT => {
            packed!(f, lane2(half::add_x2::<H, FTZ, SAT>), lane2(half::add::<H, FTZ, SAT>))
        }))))
    }),
    pick("sub[.rn][.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => flag!(f, "sat", SAT => {
            packed!(f, lane2(half::sub_x2::<H, FTZ, SAT>), lane2(half::sub::<H, FTZ, SAT>))
        }))))
    }),
    pick("mul[.rn][.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => flag!(f, "sat", SAT => {
            packed!(f, lane2(half::mul_x2::<H, FTZ, SAT>), lane2(half::mul::<H, FTZ, SAT>))
        }))))
    }),
    pick("fma.rn[.ftz][.sat].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => flag!(f, "sat", SAT => {
            packed!(f, lane3(half::fma_x2::<H, FTZ, SAT>), lane3(half::fma::<H, FTZ, SAT>))
        }))))
    }),
    pick("fma.rn[.ftz].relu.{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => {
            packed!(f, lane3(half::fma_relu_x2::<H, FTZ>), lane3(half::fma_relu::<H, FTZ>))
        })))
    }),
    pick("abs[.ftz].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => {
            packed!(f, lane1(half::abs_x2::<H, FTZ>), lane1(half::abs::<H, FTZ>))
        })))
    }),
    pick("neg[.ftz].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => {
            packed!(f, lane1(half::neg_x2::<H, FTZ>), lane1(half::neg::<H, FTZ>))
        })))
    }),
    pick("min[.ftz][.NaN][.xorsign][.abs].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => flag!(f, "NaN", NAN => flag!(f, "xorsign", XOR => {
            packed!(f, lane2(half::min_x2::<H, FTZ, NAN, XOR>), lane2(half::min::<H, FTZ, NAN, XOR>))
        })))))
    }),
    pick("max[.ftz][.NaN][.xorsign][.abs].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => flag!(f, "NaN", NAN => flag!(f, "xorsign", XOR => {
            packed!(f, lane2(half::max_x2::<H, FTZ, NAN, XOR>), lane2(half::max::<H, FTZ, NAN, XOR>))
        })))))
    }),
    pick("ex2.approx[.ftz].{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => flag!(f, "ftz", FTZ => {
            packed!(f, lane1(approx::ex2_x2::<H, FTZ>), lane1(approx::ex2_half::<H, FTZ>))
        })))
    }),
    pick("tanh.approx.{f16|f16x2|bf16|bf16x2}", |f| {
        Some(format!(f, H => packed!(f, lane1(approx::tanh_x2::<H>), lane1(approx::tanh_half::<H>))))
    }),
];
