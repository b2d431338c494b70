//! Integers: arithmetic, fields, shifts, permutations.

use super::{Kind, Table, W};
use cuda_emulator::numeric::bits::{self, Permute};
use cuda_emulator::numeric::int::{self, Arithmetic, Int};

pub fn table(t: &mut Table) {
    arithmetic::<u16>(t, "u16");
    arithmetic::<i16>(t, "s16");
    arithmetic::<u32>(t, "u32");
    arithmetic::<i32>(t, "s32");
    arithmetic::<u64>(t, "u64");
    arithmetic::<i64>(t, "s64");
    products(t);
    words(t);
    fields(t);
    counts(t);
}

fn arithmetic<T: Arithmetic + 'static>(t: &mut Table, name: &str) {
    let k = Kind::Int(T::BITS);
    let binary: [(&str, fn(T, T) -> T); 8] = [
        ("add", int::add),
        ("sub", int::sub),
        ("mul.lo", int::mul_lo),
        ("mul.hi", int::mul_hi),
        ("div", int::div),
        ("rem", int::rem),
        ("min", int::min),
        ("max", int::max),
    ];
    for (operation, f) in binary {
        let ours = Box::new(move |a, b, _| f(T::from_bits(a), T::from_bits(b)).to_bits());
        t.row(format!("{operation}.{name}"), &[k, k], k, ours);
    }
    let ours = |a, b, c| int::mad_hi(T::from_bits(a), T::from_bits(b), T::from_bits(c)).to_bits();
    t.exact(format!("mad.hi.{name}"), &[k, k, k], k, ours);
    let ours = |a, b, c| int::sad(T::from_bits(a), T::from_bits(b), T::from_bits(c)).to_bits();
    t.exact(format!("sad.{name}"), &[k, k, k], k, ours);
    if T::SIGNED {
        t.exact(format!("abs.{name}"), &[k], k, |a, _, _| int::abs(T::from_bits(a)).to_bits());
        t.exact(format!("neg.{name}"), &[k], k, |a, _, _| int::neg(T::from_bits(a)).to_bits());
    }
}

fn products(t: &mut Table) {
    let (h, w, d) = (Kind::Int(16), W, Kind::Int(64));
    t.exact("mul.wide.u16".into(), &[h, h], w, |a, b, _| int::mul_wide(a as u16, b as u16) as u64);
    t.exact("mul.wide.s16".into(), &[h, h], w, |a, b, _| int::mul_wide(a as i16, b as i16) as u32 as u64);
    t.exact("mul.wide.u32".into(), &[w, w], d, |a, b, _| int::mul_wide(a as u32, b as u32));
    t.exact("mul.wide.s32".into(), &[w, w], d, |a, b, _| int::mul_wide(a as i32, b as i32) as u64);
    t.exact("mad.wide.s32".into(), &[w, w, d], d, |a, b, c| {
        int::mad_wide(a as i32, b as i32, c as i64) as u64
    });
    t.exact("add.sat.s32".into(), &[w, w], w, |a, b, _| int::add_sat_s32(a as i32, b as i32) as u32 as u64);
    t.exact("sub.sat.s32".into(), &[w, w], w, |a, b, _| int::sub_sat_s32(a as i32, b as i32) as u32 as u64);
    t.exact("add.u16x2".into(), &[w, w], w, |a, b, _| int::add_x2::<u16>(a as u32, b as u32) as u64);
    t.exact("min.s16x2".into(), &[w, w], w, |a, b, _| int::min_x2::<i16>(a as u32, b as u32) as u64);
    let ours = |a, b, _| int::relu_s16x2(int::max_x2::<i16>(a as u32, b as u32)) as u64;
    t.exact("max.relu.s16x2".into(), &[w, w], w, ours);
    let ours = |a, b, c| int::addc(c as u32, 0, int::addc(a as u32, b as u32, false).1).0 as u64;
    t.exact("{ .reg .b32 %t; add.cc.u32 %t, {a}, {b}; addc.u32 {d}, {c}, 0; }".into(), &[w, w, w], w, ours);
    let ours = |a, b, c| int::subc(c as u32, 0, int::subc(a as u32, b as u32, true).1).0 as u64;
    t.exact("{ .reg .b32 %t; sub.cc.u32 %t, {a}, {b}; subc.u32 {d}, {c}, 0; }".into(), &[w, w, w], w, ours);
    let ours = |a, b, c| {
        let (low, carry) = int::madc_lo(a as u32, b as u32, c as u32, false);
        int::madc_hi(a as u32, b as u32, low, carry).0 as u64
    };
    let text = "{ .reg .b32 %t; mad.lo.cc.u32 %t, {a}, {b}, {c}; madc.hi.u32 {d}, {a}, {b}, %t; }";
    t.exact(text.into(), &[w, w, w], w, ours);
}

fn words(t: &mut Table) {
    let words: [(&str, fn(u32, u32, u32) -> u32); 14] = [
        ("mad.hi.sat.s32", |a, b, c| int::mad_hi_sat_s32(a as i32, b as i32, c as i32) as u32),
        ("mad24.hi.s32", int::mad24_hi::<true>),
        ("mad24.lo.u32", int::mad24_lo::<false>),
        ("mad24.hi.sat.s32", int::mad24_hi_sat_s32),
        ("dp4a.s32.u32", int::dp4a::<true, false>),
        ("dp4a.u32.u32", int::dp4a::<false, false>),
        ("dp2a.hi.s32.s32", int::dp2a::<true, true, true>),
        ("dp2a.lo.u32.s32", int::dp2a::<false, true, false>),
        ("prmt.b32", bits::prmt),
        ("prmt.b32.f4e", |a, b, c| bits::prmt(a, b, Permute::Forward4.control(c))),
        ("prmt.b32.b4e", |a, b, c| bits::prmt(a, b, Permute::Backward4.control(c))),
        ("prmt.b32.ecl", |a, b, c| bits::prmt(a, b, Permute::EdgeClampLeft.control(c))),
        ("prmt.b32.ecr", |a, b, c| bits::prmt(a, b, Permute::EdgeClampRight.control(c))),
        ("prmt.b32.rc16", |a, b, c| bits::prmt(a, b, Permute::Replicate16.control(c))),
    ];
    for (name, f) in words {
        let ours = Box::new(move |a, b, c| f(a as u32, b as u32, c as u32) as u64);
        t.row(name.into(), &[W, W, W], W, ours);
    }
    let ours = |a, b, c| bits::lop3(a as u32, b as u32, c as u32, 0x1b) as u64;
    t.exact("lop3.b32 {d}, {a}, {b}, {c}, 0x1b;".into(), &[W, W, W], W, ours);
}

fn fields(t: &mut Table) {
    const N: Kind = Kind::Amount;
    let (h, w, d) = (Kind::Int(16), W, Kind::Int(64));
    t.exact("shl.b16".into(), &[h, N], h, |a, n, _| bits::shl(a as u16, n as u32) as u64);
    t.exact("shl.b32".into(), &[w, N], w, |a, n, _| bits::shl(a as u32, n as u32) as u64);
    t.exact("shr.s16".into(), &[h, N], h, |a, n, _| bits::shr(a as i16, n as u32).to_bits());
    t.exact("shr.s32".into(), &[w, N], w, |a, n, _| bits::shr(a as i32, n as u32).to_bits());
    t.exact("shr.u64".into(), &[d, N], d, |a, n, _| bits::shr(a, n as u32));
    t.exact("bfe.u32".into(), &[w, N, N], w, |a, p, n| bits::bfe(a as u32, p as u32, n as u32) as u64);
    t.exact("bfe.s32".into(), &[w, N, N], w, |a, p, n| bits::bfe(a as i32, p as u32, n as u32).to_bits());
    t.exact("bfe.s64".into(), &[d, N, N], d, |a, p, n| bits::bfe(a as i64, p as u32, n as u32) as u64);
    t.exact("bfe.u64".into(), &[d, N, N], d, |a, p, n| bits::bfe(a, p as u32, n as u32));
    let ours = |a, p, n| bits::bfi(a, 0x1234_5678_9abc_def0, p as u32, n as u32);
    t.exact("bfi.b64 {d}, {a}, 0x123456789abcdef0, {b}, {c};".into(), &[d, N, N], d, ours);
    let ours = |a, p, n| bits::bfi(a as u32, 0x1234_5678, p as u32, n as u32) as u64;
    t.exact("bfi.b32 {d}, {a}, 0x12345678, {b}, {c};".into(), &[w, N, N], w, ours);
    t.exact("bmsk.clamp.b32".into(), &[N, N], w, |a, b, _| bits::bmsk::<true>(a as u32, b as u32) as u64);
    t.exact("bmsk.wrap.b32".into(), &[N, N], w, |a, b, _| bits::bmsk::<false>(a as u32, b as u32) as u64);
    t.exact("szext.clamp.s32".into(), &[w, N], w, |a, b, _| {
        bits::szext::<true, true>(a as u32, b as u32) as u64
    });
    t.exact("szext.wrap.u32".into(), &[w, N], w, |a, b, _| {
        bits::szext::<false, false>(a as u32, b as u32) as u64
    });
    let ours = |a, b, n| bits::shf_l::<true>(a as u32, b as u32, n as u32) as u64;
    t.exact("shf.l.clamp.b32".into(), &[w, w, N], w, ours);
    let ours = |a, b, n| bits::shf_r::<false>(a as u32, b as u32, n as u32) as u64;
    t.exact("shf.r.wrap.b32".into(), &[w, w, N], w, ours);
}

fn counts(t: &mut Table) {
    let (w, d) = (W, Kind::Int(64));
    t.exact("bfind.s64".into(), &[d], w, |a, _, _| bits::bfind(a as i64) as u64);
    t.exact("bfind.shiftamt.u32".into(), &[w], w, |a, _, _| bits::bfind_shiftamt(a as u32) as u64);
    t.exact("popc.b64".into(), &[d], w, |a, _, _| bits::popc(a) as u64);
    t.exact("clz.b32".into(), &[w], w, |a, _, _| bits::clz(a as u32) as u64);
    t.exact("brev.b64".into(), &[d], d, |a, _, _| bits::brev(a));
    t.exact("cnot.b32".into(), &[w], w, |a, _, _| bits::cnot(a as u32) as u64);
    let ours = |a, b, c| bits::fns(a as u32, b as u32 & 31, (c as i32) >> 26) as u64;
    let text = "{ .reg .b32 %s, %t; and.b32 %s, {b}, 31; shr.s32 %t, {c}, 26; fns.b32 {d}, {a}, %s, %t; }";
    t.exact(text.into(), &[w, w, w], w, ours);
}
