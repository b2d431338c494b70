//! Conversions.

use super::{B, D, H, Kind, S, Table, W, opt, rnd};
use crate::numeric_support::{BF16, F16};
use crate::{bools, for_modes};
use cuda_emulator::numeric::cvt::{Double, Single};
use cuda_emulator::numeric::half::{Bf16 as Bf16Type, F16 as F16Type};
use cuda_emulator::numeric::int::Int;
use cuda_emulator::numeric::rounding::{Nearest, Zero};
use cuda_emulator::numeric::{cvt, minifloat, narrow};

pub fn table(t: &mut Table) {
    conversions(t);
    narrow_formats(t);
}

/// Conversions between one float type and one integer type, both ways.
macro_rules! conversion {
    ($t:ident: $($F:ty, $float:literal, $kind:expr, $bits:ty => $($I:ty, $int:literal)*;)*) => {$($({
        let integer = Kind::Int(<$I>::BITS);
        for_modes!(|R, _round| {
            let to_float = |a, _, _| cvt::int_to_float::<$I, $F, R>(a as $I) as u64;
            $t.exact(format!(concat!("cvt{}.", $float, ".", $int), rnd::<R>()), &[integer], $kind, to_float);
            let to_int = |a, _, _| cvt::float_to_int::<$F, $I, R, false>(a as $bits).to_bits();
            let name = format!(concat!("cvt{}i.", $int, ".", $float), rnd::<R>());
            $t.exact(name, &[$kind], integer, to_int);
        });
    })*)*};
}

fn conversions(t: &mut Table) {
    macro_rules! all {
        ($($F:ty, $float:literal, $kind:expr, $bits:ty;)*) => {
            conversion!(t: $($F, $float, $kind, $bits =>
                u16, "u16" u32, "u32" u64, "u64" i16, "s16" i32, "s32" i64, "s64";)*)
        };
    }
    all!(Single, "f32", S, u32; Double, "f64", D, u64; F16Type, "f16", H, u16; Bf16Type, "bf16", B, u16;);
    // `.bf16` with bytes wants registers of a byte, and is left out.
    macro_rules! bytes {
        ($($F:ty, $float:literal, $kind:expr, $bits:ty;)*) => {
            conversion!(t: $($F, $float, $kind, $bits => u8, "u8" i8, "s8";)*)
        };
    }
    bytes!(Single, "f32", S, u32; Double, "f64", D, u64; F16Type, "f16", H, u16;);
    for_modes!(|R, _round| {
        let m = rnd::<R>();
        bools!(|FTZ| {
            let ftz = opt(FTZ, ".ftz");
            let ours = |a, _, _| cvt::float::<Double, Single, R, FTZ, false>(a) as u64;
            t.exact(format!("cvt{m}{ftz}.f32.f64"), &[D], S, ours);
            let ours = |a, _, _| cvt::float::<Single, F16Type, R, FTZ, false>(a as u32) as u64;
            t.exact(format!("cvt{m}{ftz}.f16.f32"), &[S], H, ours);
            let ours = |a, _, _| cvt::float::<Single, Bf16Type, R, FTZ, false>(a as u32) as u64;
            t.exact(format!("cvt{m}{ftz}.bf16.f32"), &[S], B, ours);
            let ours = |a, _, _| cvt::float_to_int::<Single, i32, R, FTZ>(a as u32).to_bits();
            t.exact(format!("cvt{m}i{ftz}.s32.f32"), &[S], W, ours);
            bools!(|SAT| {
                let name = format!("cvt{m}i{ftz}{}.f32.f32", opt(SAT, ".sat"));
                let ours = |a, _, _| cvt::float_to_integral::<Single, R, FTZ, SAT>(a as u32) as u64;
                t.exact(name, &[S], S, ours);
            });
        });
        let ours = |a, _, _| cvt::float_to_integral::<Double, R, false, false>(a);
        t.exact(format!("cvt{m}i.f64.f64"), &[D], D, ours);
        let ours = |a, _, _| cvt::float_to_integral::<F16Type, R, false, false>(a as u16) as u64;
        t.exact(format!("cvt{m}i.f16.f16"), &[H], H, ours);
        let ours = |a, _, _| cvt::float::<Double, F16Type, R, false, false>(a) as u64;
        t.exact(format!("cvt{m}.f16.f64"), &[D], H, ours);
        let ours = |a, _, _| cvt::float::<Double, Bf16Type, R, false, false>(a) as u64;
        t.exact(format!("cvt{m}.bf16.f64"), &[D], B, ours);
        let ours = |a, _, _| cvt::float::<F16Type, Bf16Type, R, false, false>(a as u16) as u64;
        t.exact(format!("cvt{m}.bf16.f16"), &[H], B, ours);
        let ours = |a, _, _| cvt::float::<Bf16Type, F16Type, R, false, false>(a as u16) as u64;
        t.exact(format!("cvt{m}.f16.bf16"), &[B], H, ours);
        // Exact, whatever the rounding.
        let ours = |a, _, _| cvt::float::<Bf16Type, Single, Nearest, false, false>(a as u16) as u64;
        t.exact(format!("cvt{m}.f32.bf16"), &[B], S, ours);
        let ours = |a, _, _| cvt::float::<Bf16Type, Single, Nearest, true, false>(a as u16) as u64;
        t.exact(format!("cvt{m}.ftz.f32.bf16"), &[B], S, ours);
        let ours = |a, _, _| cvt::float::<Bf16Type, Double, Nearest, false, false>(a as u16);
        t.exact(format!("cvt{m}.f64.bf16"), &[B], D, ours);
    });
    bools!(|FTZ| {
        bools!(|SAT| {
            let ours = |a, _, _| cvt::float::<Single, Single, Nearest, FTZ, SAT>(a as u32) as u64;
            t.exact(format!("cvt{}{}.f32.f32", opt(FTZ, ".ftz"), opt(SAT, ".sat")), &[S], S, ours);
        });
    });
    t.exact("cvt.f64.f32".into(), &[S], D, |a, _, _| {
        cvt::float::<Single, Double, Nearest, false, false>(a as u32)
    });
    t.exact("cvt.ftz.f64.f32".into(), &[S], D, |a, _, _| {
        cvt::float::<Single, Double, Nearest, true, false>(a as u32)
    });
    t.exact("cvt.sat.f64.f64".into(), &[D], D, |a, _, _| {
        cvt::float::<Double, Double, Nearest, false, true>(a)
    });
    let ours = |a, _, _| cvt::float::<F16Type, Single, Nearest, false, false>(a as u16) as u64;
    t.exact("cvt.f32.f16".into(), &[H], S, ours);
    let ours = |a, _, _| cvt::float::<Bf16Type, Single, Nearest, false, false>(a as u16) as u64;
    t.exact("cvt.f32.bf16".into(), &[B], S, ours);
    let ours = |a, _, _| cvt::float::<Bf16Type, Single, Nearest, true, false>(a as u16) as u64;
    t.exact("cvt.ftz.f32.bf16".into(), &[B], S, ours);
    t.exact("cvt.f64.f16".into(), &[H], D, |a, _, _| {
        cvt::float::<F16Type, Double, Nearest, false, false>(a as u16)
    });
    let ours = |a, _, _| cvt::float::<Bf16Type, Double, Nearest, false, false>(a as u16);
    t.exact("cvt.f64.bf16".into(), &[B], D, ours);
    t.exact("cvt.sat.u8.s32".into(), &[W], Kind::Int(8), |a, _, _| {
        cvt::int::<i32, u8, true>(a as i32) as u64
    });
    let ours = |a, _, _| cvt::int::<u64, i32, true>(a).to_bits();
    t.exact("cvt.sat.s32.u64".into(), &[Kind::Int(64)], W, ours);
    let ours = |a, b, _| cvt::pack16::<i16>(a as i32, b as i32) as u64;
    t.exact("cvt.pack.sat.s16.s32".into(), &[W, W], W, ours);
    let ours = |a, b, c| cvt::pack_narrow::<8, false>(a as i32, b as i32, c as u32) as u64;
    t.exact("cvt.pack.sat.u8.s32.b32".into(), &[W, W, W], W, ours);
    let ours = |a, b, c| cvt::pack_narrow::<4, true>(a as i32, b as i32, c as u32) as u64;
    t.exact("cvt.pack.sat.s4.s32.b32".into(), &[W, W, W], W, ours);
}

fn narrow_formats(t: &mut Table) {
    bools!(|RELU| {
        let relu = opt(RELU, ".relu");
        bools!(|FINITE| {
            let m = format!("{relu}{}", opt(FINITE, ".satfinite"));
            let ours = |a, _, _| narrow::half_from_f32::<F16Type, Nearest, RELU, FINITE>(a as u32) as u64;
            t.exact(format!("cvt.rn{m}.f16.f32"), &[S], H, ours);
            let ours = |a, _, _| narrow::half_from_f32::<Bf16Type, Nearest, RELU, FINITE>(a as u32) as u64;
            t.exact(format!("cvt.rn{m}.bf16.f32"), &[S], B, ours);
            let ours =
                |a, b, _| narrow::half_x2_from_f32::<Bf16Type, Zero, RELU, FINITE>(a as u32, b as u32) as u64;
            t.exact(format!("cvt.rz{m}.bf16x2.f32"), &[S, S], Kind::Pair(BF16), ours);
        });
        let ours = |a, b, _| minifloat::pair_from_f32::<minifloat::E4m3, RELU>(a as u32, b as u32) as u64;
        t.exact(format!("cvt.rn.satfinite{relu}.e4m3x2.f32"), &[S, S], Kind::Int(16), ours);
        let ours = |a, b, _| minifloat::pair_from_f32::<minifloat::E5m2, RELU>(a as u32, b as u32) as u64;
        t.exact(format!("cvt.rn.satfinite{relu}.e5m2x2.f32"), &[S, S], Kind::Int(16), ours);
        let ours = |a, _, _| minifloat::pair_from_f16x2::<minifloat::E4m3, RELU>(a as u32) as u64;
        t.exact(format!("cvt.rn.satfinite{relu}.e4m3x2.f16x2"), &[Kind::Pair(F16)], Kind::Int(16), ours);
        let ours = |a, _, _| minifloat::f16x2_from_pair::<minifloat::E4m3, RELU>(a as u16) as u64;
        t.exact(format!("cvt.rn{relu}.f16x2.e4m3x2"), &[Kind::Int(16)], Kind::Pair(F16), ours);
        let ours = |a, _, _| minifloat::f16x2_from_pair::<minifloat::E5m2, RELU>(a as u16) as u64;
        t.exact(format!("cvt.rn{relu}.f16x2.e5m2x2"), &[Kind::Int(16)], Kind::Pair(F16), ours);
        let ours = |a, _, _| narrow::tf32::<Nearest, RELU, false>(a as u32) as u64;
        t.exact(format!("cvt.rn{relu}.tf32.f32"), &[S], S, ours);
        let ours = |a, _, _| narrow::tf32::<Zero, RELU, false>(a as u32) as u64;
        t.exact(format!("cvt.rz{relu}.tf32.f32"), &[S], S, ours);
    });
    t.exact("cvt.rna.tf32.f32".into(), &[S], S, |a, _, _| narrow::tf32_ties_away::<false>(a as u32) as u64);
    let ours = |a, _, _| narrow::tf32_ties_away::<true>(a as u32) as u64;
    t.exact("cvt.rna.satfinite.tf32.f32".into(), &[S], S, ours);
}
