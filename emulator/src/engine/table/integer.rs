//! "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions".

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Operand, Refusal};
use super::super::exec::alu::{Lane, lane1, lane2, lane3, lane4};
use super::super::exec::operand::Class;
use super::{Form, Row, build, flag, integers, lane, pick};
use crate::numeric::{bits, int};

pub(super) const ROWS: &[Row] = &[
    pick("add.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::add::<T>))),
    pick("sub.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::sub::<T>))),
    lane("add.sat.s32", lane2(int::add_sat_s32)),
    lane("sub.sat.s32", lane2(int::sub_sat_s32)),
    lane("add.{u16x2|s16x2}", lane2(int::add_x2::<u16>)),
    pick("mul.lo.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::mul_lo::<T>))),
    pick("mul.hi.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::mul_hi::<T>))),
    pick("mul.wide.{u16|s16|u32|s32}", |f| match f.ty().name() {
        "u16" => Some(lane2(int::mul_wide::<u16>)),
        "s16" => Some(lane2(int::mul_wide::<i16>)),
        "u32" => Some(lane2(int::mul_wide::<u32>)),
        _ => Some(lane2(int::mul_wide::<i32>)),
    }),
    pick("mad.lo.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane3(int::mad_lo::<T>))),
    pick("mad.hi.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane3(int::mad_hi::<T>))),
    lane("mad.hi.sat.s32", lane3(int::mad_hi_sat_s32)),
    pick("mad.wide.{u16|s16|u32|s32}", |f| match f.ty().name() {
        "u16" => Some(lane3(int::mad_wide::<u16>)),
        "s16" => Some(lane3(int::mad_wide::<i16>)),
        "u32" => Some(lane3(int::mad_wide::<u32>)),
        _ => Some(lane3(int::mad_wide::<i32>)),
    }),
    lane("clmad.lo.{u64|s64}", lane3(bits::clmad::<false>)),
    lane("clmad.hi.{u64|s64}", lane3(bits::clmad::<true>)),
    pick("mul24.{lo|hi}.{u32|s32}", |f| {
        Some(flag!(f, "s32", SIGNED => match f.has("lo") {
            true => lane2(int::mul24_lo::<SIGNED>),
            false => lane2(int::mul24_hi::<SIGNED>),
        }))
    }),
    pick("mad24.{lo|hi}.{u32|s32}", |f| {
        Some(flag!(f, "s32", SIGNED => match f.has("lo") {
            true => lane3(int::mad24_lo::<SIGNED>),
            false => lane3(int::mad24_hi::<SIGNED>),
        }))
    }),
    lane("mad24.hi.sat.s32", lane3(int::mad24_hi_sat_s32)),
    pick("sad.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane3(int::sad::<T>))),
    pick("div.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::div::<T>))),
    pick("rem.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::rem::<T>))),
    pick("abs.{s16|s32|s64}", |f| integers!(f.ty(), T => lane1(int::abs::<T>))),
    pick("neg.{s16|s32|s64}", |f| integers!(f.ty(), T => lane1(int::neg::<T>))),
    pick("min.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::min::<T>))),
    pick("max.{u16|s16|u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane2(int::max::<T>))),
    pick("min[.relu].{s32|s16x2|u16x2}", |f| match (f.ty().name(), f.has("relu")) {
        ("s32", true) => Some(lane2(|a: i32, b: i32| int::relu(int::min(a, b)))),
        ("s16x2", false) => Some(lane2(int::min_x2::<i16>)),
        ("s16x2", true) => Some(lane2(|a: u32, b: u32| int::relu_s16x2(int::min_x2::<i16>(a, b)))),
        ("u16x2", false) => Some(lane2(int::min_x2::<u16>)),
        _ => None,
    }),
    pick("max[.relu].{s32|s16x2|u16x2}", |f| match (f.ty().name(), f.has("relu")) {
        ("s32", true) => Some(lane2(|a: i32, b: i32| int::relu(int::max(a, b)))),
        ("s16x2", false) => Some(lane2(int::max_x2::<i16>)),
        ("s16x2", true) => Some(lane2(|a: u32, b: u32| int::relu_s16x2(int::max_x2::<i16>(a, b)))),
        ("u16x2", false) => Some(lane2(int::max_x2::<u16>)),
        _ => None,
    }),
    pick("popc.{b32|b64}", |f| integers!(f.ty(), T => lane1(bits::popc::<T>))),
    pick("clz.{b32|b64}", |f| integers!(f.ty(), T => lane1(bits::clz::<T>))),
    pick("bfind.{u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane1(bits::bfind::<T>))),
    pick("bfind.shiftamt.{u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane1(bits::bfind_shiftamt::<T>))),
    lane("fns.b32", lane3(bits::fns)),
    pick("brev.{b32|b64}", |f| integers!(f.ty(), T => lane1(bits::brev::<T>))),
    pick("bfe.{u32|s32|u64|s64}", |f| integers!(f.ty(), T => lane3(bits::bfe::<T>))),
    pick("bfi.{b32|b64}", |f| integers!(f.ty(), T => lane4(bits::bfi::<T>))),
    pick("bmsk.{clamp|wrap}.b32", |f| Some(flag!(f, "clamp", CLAMP => lane2(bits::bmsk::<CLAMP>)))),
    pick("szext.{clamp|wrap}.{u32|s32}", |f| {
        Some(flag!(f, "clamp", CLAMP => flag!(f, "s32", SIGNED => lane2(bits::szext::<CLAMP, SIGNED>))))
    }),
    pick("dp4a.{u32|s32}.{u32|s32}", |f| {
        Some(match signs(f) {
            (false, false) => lane3(int::dp4a::<false, false>),
            (false, true) => lane3(int::dp4a::<false, true>),
            (true, false) => lane3(int::dp4a::<true, false>),
            (true, true) => lane3(int::dp4a::<true, true>),
        })
    }),
    pick("dp2a.{lo|hi}.{u32|s32}.{u32|s32}", |f| {
        Some(flag!(f, "hi", HI => match signs(f) {
            (false, false) => lane3(int::dp2a::<false, false, HI>),
            (false, true) => lane3(int::dp2a::<false, true, HI>),
            (true, false) => lane3(int::dp2a::<true, false, HI>),
            (true, true) => lane3(int::dp2a::<true, true, HI>),
        }))
    }),
    build("add.cc.{u32|s32|u64|s64}", carry),
    build("addc[.cc].{u32|s32|u64|s64}", carry),
    build("sub.cc.{u32|s32|u64|s64}", carry),
    build("subc[.cc].{u32|s32|u64|s64}", carry),
    build("mad.{lo|hi}.cc.{u32|s32|u64|s64}", carry),
    build("madc.{lo|hi}[.cc].{u32|s32|u64|s64}", carry),
];

/// Whether the two operands of a dot product are signed.
fn signs(form: &Form<'_>) -> (bool, bool) {
    let mut signed = form.types().map(|ty| ty == cuda_ptx::Type::S32);
    (signed.next().unwrap_or(false), signed.next().unwrap_or(false))
}

/// Instructions that read or write the carry flag: it is one more operand at each end. A subtraction adds the complement,
/// so that it borrows where the carry is clear; that is what hardware does, and what compilers rely on when they read
/// with `addc` what `sub.cc` left (the ISA's text has a borrow there).
fn carry(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mnemonic = builder.name().split('.').next().unwrap_or_default();
    let lane = match (mnemonic, form.has("hi")) {
        ("add" | "addc", _) => integers!(form.ty(), T => lane3(int::addc::<T>)),
        ("sub" | "subc", _) => integers!(form.ty(), T => lane3(int::subc::<T>)),
        (_, false) => integers!(form.ty(), T => lane4(int::madc_lo::<T>)),
        (_, true) => integers!(form.ty(), T => lane4(int::madc_hi::<T>)),
    };
    let lane: Lane = lane.ok_or_else(|| Refusal::new("no such type"))?;
    let sources = lane.sources.len() - 1;
    builder.expect_operands(1 + sources)?;
    let flag = Operand::Register(builder.carry()?);
    let carry_in = if mnemonic.ends_with('c') { flag } else { Operand::Fixed(mnemonic == "sub") };
    let carry_out = if form.has("cc") { flag } else { builder.temporary(Class::Predicate)? };
    let mut read = Vec::with_capacity(sources + 1);
    for index in 0..sources {
        read.push(builder.source(builder.operand(index + 1)?, lane.sources[index])?);
    }
    read.push(carry_in);
    let dest = builder.dest(builder.operand(0)?, lane.dests[0])?;
    builder.lane(lane, &[dest, carry_out], &read);
    Ok(())
}
