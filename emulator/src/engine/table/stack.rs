//! "Stack Manipulation Instructions": memory of a thread that lasts until its function returns.

use cuda_ptx::{Literal, Operand as Text, Type};

use super::super::code::Control;
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Flow, Operand, Refusal};
use super::super::decode::scope::class_of;
use super::super::exec::alu::{Lane, lane1, lane2, lane4};
use super::super::exec::control;
use super::super::exec::operand::Class;
use super::{Form, Row, build};

pub(super) const ROWS: &[Row] = &[
    build("alloca.{u32|u64}", alloca),
    build("stacksave.{u32|u64}", save),
    build("stackrestore.{u32|u64}", restore),
];

/// Alignment where `alloca` names none.
const ALIGNMENT: u64 = 8;

/// Where a stack cannot end: the thread is stopped.
const TOO_FAR: u32 = u32::MAX;

/// `alloca p, size{, alignment}`: the end of the thread's stack goes up.
fn alloca(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let alignment = match builder.operands().get(2) {
        Some(Text::Literal(Literal::Int(alignment))) => *alignment as u64,
        None => ALIGNMENT,
        Some(_) => return Err(Refusal::new("the alignment is a number")),
    };
    if !alignment.is_power_of_two() || alignment > 1 << 16 {
        return Err(Refusal::new("the alignment is a power of two"));
    }
    let class = class_of(form.ty());
    let size = builder.source(builder.operand(1)?, class)?;
    let (base, end) = (base(builder)?, Operand::Register(builder.stack()?));
    let alignment = builder.constant(Class::Word, alignment);
    let start = builder.temporary(Class::Word)?;
    let lane: Lane = match form.ty() {
        Type::U64 => lane4(|size: u64, base: u32, end: u32, align: u32| taken(size, base, end, align)),
        _ => lane4(|size: u32, base: u32, end: u32, align: u32| taken(u64::from(size), base, end, align)),
    };
    builder.lane(lane, &[start, end], &[size, base, end, alignment]);
    builder.control(Control::Grow, &[], &[end], Flow::Pause);
    let dest = builder.dest(builder.operand(0)?, class)?;
    builder.lane(widen(class), &[dest], &[start]);
    Ok(())
}

/// Where so many bytes start that are taken from a stack, and where it ends behind them: that is counted from its base.
#[inline(always)]
fn taken(size: u64, base: u32, end: u32, alignment: u32) -> (u32, u32) {
    let mask = u64::from(alignment).wrapping_sub(1);
    let start = (u64::from(base) + u64::from(end)).wrapping_add(mask) & !mask;
    let end = start.saturating_add(size) - u64::from(base).min(start);
    (start as u32, if end < u64::from(TOO_FAR) { end as u32 } else { TOO_FAR })
}

/// `stacksave d`: where the stack ends, in local memory.
fn save(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(1)?;
    let class = class_of(form.ty());
    let (base, end) = (base(builder)?, Operand::Register(builder.stack()?));
    let dest = builder.dest(builder.operand(0)?, class)?;
    let lane = match class {
        Class::Wide => lane2(|base: u32, end: u32| u64::from(base.wrapping_add(end))),
        _ => lane2(u32::wrapping_add),
    };
    builder.lane(lane, &[dest], &[base, end]);
    Ok(())
}

/// `stackrestore a`: it ends there again.
fn restore(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(1)?;
    let class = class_of(form.ty());
    let source = builder.source(builder.operand(0)?, class)?;
    let (base, end) = (base(builder)?, Operand::Register(builder.stack()?));
    let lane = match class {
        Class::Wide => lane2(|to: u64, base: u32| (to as u32).wrapping_sub(base)),
        _ => lane2(u32::wrapping_sub),
    };
    builder.lane(lane, &[end], &[source, base]);
    Ok(())
}

/// Where the stack of the running frame begins.
fn base(builder: &mut Builder<'_, '_>) -> Result<Operand, Refusal> {
    let base = builder.temporary(Class::Word)?;
    builder.push_helper(Draft::new(control::STACK_BASE, &[base], &[]));
    Ok(base)
}

fn widen(class: Class) -> Lane {
    match class {
        Class::Wide => lane1(|a: u32| u64::from(a)),
        _ => lane1(|a: u32| a),
    }
}
