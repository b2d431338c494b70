//! "Logic and Shift Instructions".

use super::super::decode::builder::Builder;
use super::super::decode::draft::Refusal;
use super::super::exec::alu::{lane1, lane2, lane3, lane4, mask1, mask2};
use super::super::exec::operand::Class;
use super::{Form, Row, build, flag, integers, lane, pick};
use crate::numeric::bits;

pub(super) const ROWS: &[Row] = &[
    pick("and.{b16|b32|b64}", |f| integers!(f.ty(), T => lane2(bits::and::<T>))),
    pick("or.{b16|b32|b64}", |f| integers!(f.ty(), T => lane2(bits::or::<T>))),
    pick("xor.{b16|b32|b64}", |f| integers!(f.ty(), T => lane2(bits::xor::<T>))),
    pick("not.{b16|b32|b64}", |f| integers!(f.ty(), T => lane1(bits::not::<T>))),
    pick("cnot.{b16|b32|b64}", |f| integers!(f.ty(), T => lane1(bits::cnot::<T>))),
    lane("and.pred", mask2(|a, b| a & b)),
    lane("or.pred", mask2(|a, b| a | b)),
    lane("xor.pred", mask2(|a, b| a ^ b)),
    lane("not.pred", mask1(|a| !a)),
    pick("shl.{b16|b32|b64}", |f| integers!(f.ty(), T => lane2(bits::shl::<T>))),
    pick("shr.{b16|b32|b64|u16|u32|u64|s16|s32|s64}", |f| integers!(f.ty(), T => lane2(bits::shr::<T>))),
    pick("shf.l.{clamp|wrap}.b32", |f| Some(flag!(f, "clamp", CLAMP => lane3(bits::shf_l::<CLAMP>)))),
    pick("shf.r.{clamp|wrap}.b32", |f| Some(flag!(f, "clamp", CLAMP => lane3(bits::shf_r::<CLAMP>)))),
    lane("lop3.b32", lane4(|a: u32, b: u32, c: u32, table: u32| bits::lop3(a, b, c, table as u8))),
    build("lop3.{or|and}.b32", lop3_predicate),
];

/// `lop3.BoolOp.b32 d|p, a, b, c, immLut, q`: also whether the result is not zero, combined with `q`.
fn lop3_predicate(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(6)?;
    let result = builder.temporary(Class::Word)?;
    let lop3 = lane4(|a: u32, b: u32, c: u32, table: u32| bits::lop3(a, b, c, table as u8));
    let mut sources = Vec::with_capacity(4);
    for index in 1..5 {
        sources.push(builder.source(builder.operand(index)?, Class::Word)?);
    }
    builder.lane(lop3, &[result], &sources);
    let combine = match form.has("or") {
        true => lane2(|a: u32, q: bool| (a, (a != 0) | q)),
        false => lane2(|a: u32, q: bool| (a, (a != 0) & q)),
    };
    let cuda_ptx::Operand::Pair(dest, predicate) = builder.operand(0)? else {
        return Err(Refusal::new("two destinations are expected"));
    };
    let q = builder.source(builder.operand(5)?, Class::Predicate)?;
    let dests = [builder.dest(dest, Class::Word)?, builder.dest(predicate, Class::Predicate)?];
    builder.lane(combine, &dests, &[result, q]);
    Ok(())
}
