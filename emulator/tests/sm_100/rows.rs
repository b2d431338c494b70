//! Every form, and its function.

use cuda_emulator::numeric::half::{Bf16, F16};
use cuda_emulator::numeric::minifloat::{self, E2m1, E2m3, E3m2, E4m3, E5m2};
use cuda_emulator::numeric::{fixed, fp32, fp32x2, mixed, narrow, stochastic};

/// Operands of a thread: `%r1` to `%r5`, of which the other registers are parts.
pub(crate) type Operands = [u32; 5];

/// An instruction that writes `%r0`, `%h0`, `%c0` or `%x0`, and its result.
pub(crate) struct Row {
    pub(crate) instruction: String,
    pub(crate) ours: fn(Operands) -> u64,
}

#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, instruction: String, ours: fn(Operands) -> u64) {
        self.0.push(Row { instruction, ours });
    }
}

/// The body with a constant that is false, then true, and the modifier that stands for it.
macro_rules! with {
    ($modifier:literal, $flag:ident, $text:ident => $body:block) => {{
        {
            const $flag: bool = false;
            let $text = "";
            $body
        }
        {
            const $flag: bool = true;
            let $text = $modifier;
            $body
        }
    }};
}

macro_rules! modes {
    ($mode:ident, $text:ident => $body:block) => {{
        use cuda_emulator::numeric::rounding::{Down, Nearest, Up, Zero};
        {
            type $mode = Nearest;
            let $text = ".rn";
            $body
        }
        {
            type $mode = Zero;
            let $text = ".rz";
            $body
        }
        {
            type $mode = Down;
            let $text = ".rm";
            $body
        }
        {
            type $mode = Up;
            let $text = ".rp";
            $body
        }
    }};
}

fn wide(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// What every target from `sm_100` on has.
pub(crate) fn plain() -> Vec<Row> {
    let mut rows = Rows::default();
    modes!(R, rnd => {
        with!(".ftz", FTZ, ftz => {
            let m = format!("{rnd}{ftz}.f32x2");
            rows.add(format!("add{m} %x0, %x1, %x2;"), |[a, b, c, d, _]| {
                fp32x2::add::<R, FTZ>(wide(a, b), wide(c, d))
            });
            rows.add(format!("sub{m} %x0, %x1, %x2;"), |[a, b, c, d, _]| {
                fp32x2::sub::<R, FTZ>(wide(a, b), wide(c, d))
            });
            rows.add(format!("mul{m} %x0, %x1, %x2;"), |[a, b, c, d, _]| {
                fp32x2::mul::<R, FTZ>(wide(a, b), wide(c, d))
            });
            rows.add(format!("fma{m} %x0, %x1, %x2, %x3;"), |[a, b, c, d, e]| {
                fp32x2::fma::<R, FTZ>(wide(a, b), wide(c, d), wide(e, a))
            });
        });
        with!(".sat", SAT, sat => {
            macro_rules! mixed {
                ($half:ident, $name:literal) => {
                    let m = format!("{rnd}{sat}.f32.{}", $name);
                    rows.add(format!("add{m} %f0, %h1, %f2;"), |[a, b, ..]| {
                        mixed::add::<$half, R, SAT>(a as u16, b).into()
                    });
                    rows.add(format!("sub{m} %f0, %h1, %f2;"), |[a, b, ..]| {
                        mixed::sub::<$half, R, SAT>(a as u16, b).into()
                    });
                    rows.add(format!("fma{m} %f0, %h1, %h2, %f3;"), |[a, b, c, ..]| {
                        mixed::fma::<$half, R, SAT>(a as u16, b as u16, c).into()
                    });
                };
            }
            mixed!(F16, "f16");
            mixed!(Bf16, "bf16");
        });
    });
    // To nearest without saying so.
    rows.add("mul.f32x2 %x0, %x1, %x1;".into(), |[a, b, ..]| {
        use cuda_emulator::numeric::rounding::Nearest;
        fp32x2::mul::<Nearest, false>(wide(a, b), wide(a, b))
    });
    rows.add("sub.f32.bf16 %f0, 16256, %f2;".into(), |[_, b, ..]| {
        use cuda_emulator::numeric::rounding::Nearest;
        mixed::sub::<Bf16, Nearest, false>(16256, b).into()
    });
    with!(".ftz", FTZ, ftz => {
        with!(".NaN", NAN, nan => {
            with!(".abs", ABS, abs => {
                let m = format!("{ftz}{nan}{abs}.f32 %f0, %f1, %f2, %f3;");
                rows.add(format!("min{m}"), |[a, b, c, ..]| fp32::min3::<FTZ, NAN, ABS>(a, b, c).into());
                rows.add(format!("max{m}"), |[a, b, c, ..]| fp32::max3::<FTZ, NAN, ABS>(a, b, c).into());
            });
        });
    });
    with!(".relu", RELU, relu => {
        use cuda_emulator::numeric::rounding::{Nearest, Zero};
        rows.add(format!("cvt.rn.satfinite{relu}.tf32.f32 %r0, %f1;"), |[a, ..]| {
            narrow::tf32::<Nearest, RELU, true>(a).into()
        });
        rows.add(format!("cvt.rz.satfinite{relu}.tf32.f32 %r0, %f1;"), |[a, ..]| {
            narrow::tf32::<Zero, RELU, true>(a).into()
        });
    });
    rows.0
}

/// What the families of `sm_100`, `sm_110` and `sm_120` have.
pub(crate) fn of_families() -> Vec<Row> {
    let mut rows = Rows::default();
    with!(".relu", RELU, relu => {
        macro_rules! pairs {
            ($($format:ident, $name:literal, $register:literal;)*) => {$(
                let (name, register) = ($name, $register);
                rows.add(format!("cvt.rn.satfinite{relu}.{name}x2.f32 {register}0, %f1, %f2;"), |[a, b, ..]| {
                    minifloat::pair_from_f32::<$format, RELU>(a, b).into()
                });
                rows.add(format!("cvt.rn{relu}.f16x2.{name}x2 %r0, {register}1;"), |[a, ..]| {
                    minifloat::f16x2_from_pair::<$format, RELU>(a as u16).into()
                });
            )*};
        }
        pairs! {
            E2m1, "e2m1", "%c";
            E2m3, "e2m3", "%h";
            E3m2, "e3m2", "%h";
        }
        rows.add(format!("cvt.rn.satfinite{relu}.e2m1x2.f16x2 %c0, %r1;"), |[a, ..]| {
            minifloat::pair_from_f16x2::<E2m1, RELU>(a).into()
        });
    });
    with!(".satfinite", SAT, satfinite => {
        rows.add(format!("cvt.rz{satfinite}.ue8m0x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            minifloat::scales_from_f32::<false, SAT>(a, b).into()
        });
        rows.add(format!("cvt.rp{satfinite}.ue8m0x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            minifloat::scales_from_f32::<true, SAT>(a, b).into()
        });
        rows.add(format!("cvt.rz{satfinite}.ue8m0x2.bf16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::scales_from_bf16x2::<false, SAT>(a).into()
        });
        rows.add(format!("cvt.rp{satfinite}.ue8m0x2.bf16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::scales_from_bf16x2::<true, SAT>(a).into()
        });
    });
    rows.add("cvt.rn.bf16x2.ue8m0x2 %r0, %h1;".into(), |[a, ..]| {
        minifloat::bf16x2_from_scales(a as u16).into()
    });
    rows.0
}

/// What came with PTX 9.1: conversions that the families have, and others that only targets with `a` have.
pub(crate) fn of_ptx_9_1() -> (Vec<Row>, Vec<Row>) {
    let (mut families, mut single) = (Rows::default(), Rows::default());
    with!(".relu", RELU, relu => {
        macro_rules! pairs {
            ($($format:ident, $name:literal, $register:literal;)*) => {$(
                families.add(format!("cvt.rn.satfinite{relu}.{}x2.bf16x2 {}0, %r1;", $name, $register), |[a, ..]| {
                    minifloat::pair_from_bf16x2::<$format, RELU>(a).into()
                });
            )*};
        }
        pairs! {
            E4m3, "e4m3", "%h";
            E5m2, "e5m2", "%h";
            E2m1, "e2m1", "%c";
            E2m3, "e2m3", "%h";
            E3m2, "e3m2", "%h";
        }
        families.add(format!("cvt.rn.satfinite{relu}.e2m3x2.f16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::pair_from_f16x2::<E2m3, RELU>(a).into()
        });
        families.add(format!("cvt.rn.satfinite{relu}.e3m2x2.f16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::pair_from_f16x2::<E3m2, RELU>(a).into()
        });
        single.add(format!("cvt.rn.satfinite{relu}.s2f6x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            fixed::pair_from_f32::<RELU>(a, b, 0x7f7f).into()
        });
        single.add(format!("cvt.rn.satfinite{relu}.scaled::n2::ue8m0.s2f6x2.f32 %h0, %f3, %f4, %h1;"), |[a, _, c, d, _]| {
            fixed::pair_from_f32::<RELU>(c, d, a as u16).into()
        });
        single.add(format!("cvt.rn.satfinite{relu}.s2f6x2.bf16x2 %h0, %r1;"), |[a, ..]| {
            fixed::pair_from_bf16x2::<RELU>(a, 0x7f7f).into()
        });
        single.add(format!("cvt.rn.satfinite{relu}.scaled::n2::ue8m0.s2f6x2.bf16x2 %h0, %r3, %h1;"), |[a, _, c, ..]| {
            fixed::pair_from_bf16x2::<RELU>(c, a as u16).into()
        });
        with!(".satfinite", SAT, satfinite => {
            single.add(format!("cvt.rn{satfinite}{relu}.bf16x2.s2f6x2 %r0, %h1;"), |[a, ..]| {
                fixed::bf16x2_from_pair::<RELU, SAT>(a as u16, 0x7f7f).into()
            });
            single.add(format!("cvt.rn{satfinite}{relu}.scaled::n2::ue8m0.bf16x2.s2f6x2 %r0, %h1, %h2;"), |[a, b, ..]| {
                fixed::bf16x2_from_pair::<RELU, SAT>(a as u16, b as u16).into()
            });
        });
    });
    (families.0, single.0)
}

/// What `sm_100a` has and `sm_120a` has not.
pub(crate) fn of_sm_100a() -> Vec<Row> {
    let mut rows = Rows::default();
    with!(".relu", RELU, relu => {
        macro_rules! fours {
            ($($format:ident, $name:literal, $register:literal;)*) => {$(
                rows.add(
                    format!("cvt.rs.satfinite{relu}.{}x4.f32 {}0, {{%f1, %f2, %f3, %f4}}, %r5;", $name, $register),
                    |[a, b, c, d, random]| stochastic::minifloat_x4::<$format, RELU>(a, b, c, d, random).into(),
                );
            )*};
        }
        fours! {
            E4m3, "e4m3", "%r";
            E5m2, "e5m2", "%r";
            E2m3, "e2m3", "%r";
            E3m2, "e3m2", "%r";
            E2m1, "e2m1", "%h";
        }
        with!(".satfinite", SAT, satfinite => {
            rows.add(format!("cvt.rs{relu}{satfinite}.f16x2.f32 %r0, %f1, %f2, %r3;"), |[a, b, random, ..]| {
                stochastic::half_x2::<F16, RELU, SAT>(a, b, random).into()
            });
            rows.add(format!("cvt.rs{relu}{satfinite}.bf16x2.f32 %r0, %f1, %f2, %r3;"), |[a, b, random, ..]| {
                stochastic::half_x2::<Bf16, RELU, SAT>(a, b, random).into()
            });
        });
    });
    rows.add(
        "cvt.rs.satfinite.e4m3x4.f32 %r0, {%f1, 0f3f900000, %r3, 2.5}, %r5;".into(),
        |[a, _, c, _, random]| {
            let (b, d) = (1.125f32.to_bits(), 2.5f32.to_bits());
            stochastic::minifloat_x4::<E4m3, false>(a, b, c, d, random).into()
        },
    );
    rows.0
}

/// Of floats of 8 bits, which older devices have, too.
pub(crate) fn of_older_devices() -> Vec<Row> {
    let mut rows = Rows::default();
    with!(".relu", RELU, relu => {
        rows.add(format!("cvt.rn.satfinite{relu}.e4m3x2.f32 %h0, %f1, %f2;"), |[a, b, ..]| {
            minifloat::pair_from_f32::<E4m3, RELU>(a, b).into()
        });
        rows.add(format!("cvt.rn.satfinite{relu}.e5m2x2.f16x2 %h0, %r1;"), |[a, ..]| {
            minifloat::pair_from_f16x2::<E5m2, RELU>(a).into()
        });
        rows.add(format!("cvt.rn{relu}.f16x2.e5m2x2 %r0, %h1;"), |[a, ..]| {
            minifloat::f16x2_from_pair::<E5m2, RELU>(a as u16).into()
        });
    });
    rows.0
}
