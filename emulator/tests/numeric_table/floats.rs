//! Arithmetic, comparisons and approximations of floats.

use super::{B, D, H, Kind, S, Table, W, opt, rnd};
use crate::numeric_support::{BF16, F16, Layout};
use crate::{bools, for_modes};
use cuda_emulator::numeric::half::{self, Bf16 as Bf16Type, F16 as F16Type, Half};
use cuda_emulator::numeric::{approx, compare, fp32, fp64};

pub fn table(t: &mut Table) {
    single(t);
    double(t);
    halves::<F16Type>(t, "f16", F16, true);
    halves::<Bf16Type>(t, "bf16", BF16, false);
    comparisons(t);
    approximations(t);
}

fn single(t: &mut Table) {
    for_modes!(|R, _round| {
        bools!(|FTZ| {
            let m = format!("{}{}", rnd::<R>(), opt(FTZ, ".ftz"));
            t.exact(format!("div{m}.f32"), &[S, S], S, |a, b, _| {
                fp32::div::<R, FTZ>(a as u32, b as u32) as u64
            });
            t.exact(format!("rcp{m}.f32"), &[S], S, |a, _, _| fp32::rcp::<R, FTZ>(a as u32) as u64);
            t.exact(format!("sqrt{m}.f32"), &[S], S, |a, _, _| fp32::sqrt::<R, FTZ>(a as u32) as u64);
            bools!(|SAT| {
                let m = format!("{m}{}", opt(SAT, ".sat"));
                let add = |a, b, _| fp32::add::<R, FTZ, SAT>(a as u32, b as u32) as u64;
                t.exact(format!("add{m}.f32"), &[S, S], S, add);
                let sub = |a, b, _| fp32::sub::<R, FTZ, SAT>(a as u32, b as u32) as u64;
                t.exact(format!("sub{m}.f32"), &[S, S], S, sub);
                let mul = |a, b, _| fp32::mul::<R, FTZ, SAT>(a as u32, b as u32) as u64;
                t.exact(format!("mul{m}.f32"), &[S, S], S, mul);
                let fma = |a, b, c| fp32::fma::<R, FTZ, SAT>(a as u32, b as u32, c as u32) as u64;
                t.exact(format!("fma{m}.f32"), &[S, S, S], S, fma);
            });
        });
    });
    bools!(|FTZ| {
        let ftz = opt(FTZ, ".ftz");
        t.exact(format!("abs{ftz}.f32"), &[S], S, |a, _, _| fp32::abs::<FTZ>(a as u32) as u64);
        t.exact(format!("neg{ftz}.f32"), &[S], S, |a, _, _| fp32::neg::<FTZ>(a as u32) as u64);
        bools!(|NAN| {
            bools!(|XOR| {
                let m = format!("{ftz}{}{}.f32", opt(NAN, ".NaN"), opt(XOR, ".xorsign.abs"));
                let min = |a, b, _| fp32::min::<FTZ, NAN, XOR>(a as u32, b as u32) as u64;
                t.exact(format!("min{m}"), &[S, S], S, min);
                let max = |a, b, _| fp32::max::<FTZ, NAN, XOR>(a as u32, b as u32) as u64;
                t.exact(format!("max{m}"), &[S, S], S, max);
            });
        });
    });
    t.exact("copysign.f32".into(), &[S, S], S, |a, b, _| fp32::copysign(a as u32, b as u32) as u64);
    let tests: [(&str, fn(u32) -> bool); 4] = [
        ("finite", fp32::is_finite),
        ("infinite", fp32::is_infinite),
        ("normal", fp32::is_normal),
        ("subnormal", fp32::is_subnormal),
    ];
    for (name, test) in tests {
        let ours = Box::new(move |a, _, _| test(a as u32) as u64);
        t.row(format!("testp.{name}.f32"), &[S], Kind::Predicate, ours);
    }
}

fn double(t: &mut Table) {
    for_modes!(|R, _round| {
        let m = rnd::<R>();
        t.exact(format!("add{m}.f64"), &[D, D], D, |a, b, _| fp64::add::<R>(a, b));
        t.exact(format!("sub{m}.f64"), &[D, D], D, |a, b, _| fp64::sub::<R>(a, b));
        t.exact(format!("mul{m}.f64"), &[D, D], D, |a, b, _| fp64::mul::<R>(a, b));
        t.exact(format!("div{m}.f64"), &[D, D], D, |a, b, _| fp64::div::<R>(a, b));
        t.exact(format!("fma{m}.f64"), &[D, D, D], D, fp64::fma::<R>);
        t.exact(format!("rcp{m}.f64"), &[D], D, |a, _, _| fp64::rcp::<R>(a));
        // Nothing is flushed.
        t.exact(format!("rcp{m}.ftz.f64"), &[D], D, |a, _, _| fp64::rcp::<R>(a));
        t.exact(format!("sqrt{m}.f64"), &[D], D, |a, _, _| fp64::sqrt::<R>(a));
    });
    t.exact("abs.f64".into(), &[D], D, |a, _, _| fp64::abs(a));
    t.exact("neg.f64".into(), &[D], D, |a, _, _| fp64::neg(a));
    t.exact("min.f64".into(), &[D, D], D, |a, b, _| fp64::min(a, b));
    t.exact("max.f64".into(), &[D, D], D, |a, b, _| fp64::max(a, b));
    t.exact("copysign.f64".into(), &[D, D], D, |a, b, _| fp64::copysign(a, b));
}

fn halves<F: Half + 'static>(t: &mut Table, name: &str, layout: Layout, modifiers: bool) {
    let (one, two) = (Kind::Float(layout), Kind::Pair(layout));
    bools!(|FTZ| {
        if modifiers || !FTZ {
            let ftz = opt(FTZ, ".ftz");
            t.exact(format!("abs{ftz}.{name}"), &[one], one, |a, _, _| half::abs::<F, FTZ>(a as u16) as u64);
            t.exact(format!("neg{ftz}.{name}x2"), &[two], two, |a, _, _| {
                half::neg_x2::<F, FTZ>(a as u32) as u64
            });
            let relu = |a, b, c| half::fma_relu::<F, FTZ>(a as u16, b as u16, c as u16) as u64;
            t.exact(format!("fma.rn{ftz}.relu.{name}"), &[one, one, one], one, relu);
            if !FTZ {
                let oob = |a, b, c| half::fma_oob::<F>(a as u16, b as u16, c as u16) as u64;
                t.exact(format!("fma.rn.oob.{name}"), &[one, one, one], one, oob);
                let oob = |a, b, c| {
                    let all = half::fma_oob_x2::<F>(a as u32, b as u32, c as u32);
                    half::pack(half::relu::<F>(all as u16), half::relu::<F>((all >> 16) as u16)) as u64
                };
                t.exact(format!("fma.rn.oob.relu.{name}x2"), &[two, two, two], two, oob);
            }
            bools!(|SAT| {
                if modifiers || !SAT {
                    let m = format!("{ftz}{}.{name}", opt(SAT, ".sat"));
                    let add = |a, b, _| half::add::<F, FTZ, SAT>(a as u16, b as u16) as u64;
                    t.exact(format!("add.rn{m}"), &[one, one], one, add);
                    let sub = |a, b, _| half::sub_x2::<F, FTZ, SAT>(a as u32, b as u32) as u64;
                    t.exact(format!("sub.rn{m}x2"), &[two, two], two, sub);
                    let mul = |a, b, _| half::mul::<F, FTZ, SAT>(a as u16, b as u16) as u64;
                    t.exact(format!("mul.rn{m}"), &[one, one], one, mul);
                    let fma = |a, b, c| half::fma_x2::<F, FTZ, SAT>(a as u32, b as u32, c as u32) as u64;
                    t.exact(format!("fma.rn{m}x2"), &[two, two, two], two, fma);
                }
            });
            bools!(|NAN| {
                bools!(|XOR| {
                    let m = format!("{ftz}{}{}.{name}", opt(NAN, ".NaN"), opt(XOR, ".xorsign.abs"));
                    let min = |a, b, _| half::min::<F, FTZ, NAN, XOR>(a as u16, b as u16) as u64;
                    t.exact(format!("min{m}"), &[one, one], one, min);
                    let max = |a, b, _| half::max_x2::<F, FTZ, NAN, XOR>(a as u32, b as u32) as u64;
                    t.exact(format!("max{m}x2"), &[two, two], two, max);
                });
            });
        }
    });
}

macro_rules! comparison {
    ($t:ident: $($name:literal $C:ident),*) => {$({
        use compare::$C;
        let p = Kind::Predicate;
        let name = |rest: &str| format!("setp.{}{rest}", $name);
        $t.exact(name(".f32"), &[S, S], p, |a, b, _| compare::f32::<$C, false>(a as u32, b as u32) as u64);
        $t.exact(name(".ftz.f32"), &[S, S], p, |a, b, _| compare::f32::<$C, true>(a as u32, b as u32) as u64);
        $t.exact(name(".f64"), &[D, D], p, |a, b, _| compare::f64::<$C>(a, b) as u64);
        $t.exact(name(".f16"), &[H, H], p, |a, b, _| compare::f16::<$C, false>(a as u16, b as u16) as u64);
        $t.exact(name(".bf16"), &[B, B], p, |a, b, _| compare::bf16::<$C>(a as u16, b as u16) as u64);
    })*};
}

fn comparisons(t: &mut Table) {
    comparison!(t: "eq" Eq, "ne" Ne, "lt" Lt, "le" Le, "gt" Gt, "ge" Ge, "equ" Equ, "neu" Neu, "ltu" Ltu,
        "leu" Leu, "gtu" Gtu, "geu" Geu, "num" Num, "nan" Nan);
    let set = |a, b, _| compare::set_u32(compare::f16::<compare::Lt, false>(a as u16, b as u16)) as u64;
    t.exact("set.lt.u32.f16".into(), &[H, H], W, set);
    let set = |a, b, _| compare::set_f16(compare::f16::<compare::Geu, true>(a as u16, b as u16)) as u64;
    t.exact("set.geu.ftz.f16.f16".into(), &[H, H], H, set);
    let slct = |a, b, c| compare::slct_f32::<u32, true>(a as u32, b as u32, c as u32) as u64;
    t.exact("slct.ftz.b32.f32".into(), &[W, W, S], W, slct);
}

fn approximations(t: &mut Table) {
    bools!(|FTZ| {
        let ftz = opt(FTZ, ".ftz");
        let unary: [(&str, fn(u32) -> u32); 7] = [
            ("rcp", approx::rcp::<FTZ>),
            ("sqrt", approx::sqrt::<FTZ>),
            ("rsqrt", approx::rsqrt::<FTZ>),
            ("ex2", approx::ex2::<FTZ>),
            ("lg2", approx::lg2::<FTZ>),
            ("sin", approx::sin::<FTZ>),
            ("cos", approx::cos::<FTZ>),
        ];
        for (name, f) in unary {
            let ours = Box::new(move |a, _, _| f(a as u32) as u64);
            t.row(format!("{name}.approx{ftz}.f32"), &[S], S, ours);
        }
        let ours = |a, b, _| approx::div::<FTZ>(a as u32, b as u32) as u64;
        t.exact(format!("div.approx{ftz}.f32"), &[S, S], S, ours);
        let ours = |a, b, _| approx::div_full::<FTZ>(a as u32, b as u32) as u64;
        t.exact(format!("div.full{ftz}.f32"), &[S, S], S, ours);
    });
    t.exact("tanh.approx.f32".into(), &[S], S, |a, _, _| approx::tanh_f32(a as u32) as u64);
    t.exact("ex2.approx.f16".into(), &[H], H, |a, _, _| approx::ex2_half::<F16Type, false>(a as u16) as u64);
    t.exact("ex2.approx.ftz.bf16".into(), &[B], B, |a, _, _| {
        approx::ex2_half::<Bf16Type, true>(a as u16) as u64
    });
    t.exact("tanh.approx.f16".into(), &[H], H, |a, _, _| approx::tanh_half::<F16Type>(a as u16) as u64);
    t.exact("tanh.approx.bf16".into(), &[B], B, |a, _, _| approx::tanh_half::<Bf16Type>(a as u16) as u64);
    t.exact("rcp.approx.ftz.f64".into(), &[D], D, |a, _, _| approx::rcp_ftz_f64(a));
    t.exact("rsqrt.approx.ftz.f64".into(), &[D], D, |a, _, _| approx::rsqrt_ftz_f64(a));
    t.exact("rsqrt.approx.f64".into(), &[D], D, |a, _, _| approx::rsqrt_f64(a));
}
