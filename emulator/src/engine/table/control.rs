//! "Control Flow Instructions" and "Miscellaneous Instructions".

use cuda_ptx::{FunctionKind, Literal, Operand as Text};

use super::super::code::{Call, Callee, Control, Exec, Extern, NOTHING, ParamRows};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Flow, Label, Operand, Refusal, Register};
use super::super::decode::rows::{from_rows, to_rows};
use super::super::decode::scope::Symbol;
use super::super::exec::control;
use super::super::exec::operand::Class;
use super::super::watch::{Event, Group};
use super::{Form, Row, build};

pub(super) const ROWS: &[Row] = &[
    build("bra[.uni]", bra),
    build("brx.idx[.uni]", brx),
    build("call[.uni]", call),
    build("ret[.uni]", ret),
    build("exit", exit),
    build("trap", |builder, _| stop(builder, control::TRAP)),
    build("brkpt", |builder, _| stop(builder, control::BREAKPOINT)),
    build("nanosleep.u32", nanosleep),
    build("pmevent", nothing),
    build("pmevent.mask", nothing),
    build("griddepcontrol.launch_dependents", |builder, _| event(builder, Event::Dependents { wait: false })),
    build("griddepcontrol.wait", |builder, _| event(builder, Event::Dependents { wait: true })),
    build("setmaxnreg.{inc|dec}.sync.aligned.u32", nothing),
];

fn label(builder: &Builder<'_, '_>, name: &str) -> Result<Label, Refusal> {
    match builder.body.symbol(name)? {
        Symbol::Label(label) => Ok(label),
        _ => Err(Refusal::new(format!("`{name}` is not a label"))),
    }
}

fn bra(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(1)?;
    let Text::Name(name) = builder.operand(0)? else { return Err(Refusal::new("a label is expected")) };
    let mut draft = Draft::new(control::BRANCH, &[], &[]);
    draft.flow = Flow::Branch(label(builder, name)?);
    draft.reads_guard = true;
    builder.push(draft);
    Ok(())
}

/// `brx.idx index, list`
fn brx(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let index = builder.source(builder.operand(0)?, Class::Word)?;
    let Text::Name(name) = builder.operand(1)? else {
        return Err(Refusal::new("a list of targets is expected"));
    };
    let Symbol::Targets(targets) = builder.body.symbol(name)? else {
        return Err(Refusal::new(format!("`{name}` is not a list of targets")));
    };
    let labels = targets.iter().map(|target| label(builder, target)).collect::<Result<Vec<_>, _>>()?;
    let mut draft = Draft::new(control::SCHEDULE, &[], &[index]);
    draft.flow = Flow::Table(labels);
    builder.push(draft);
    Ok(())
}

fn ret(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.body.copy_register_returns();
    let control = if builder.body.kind == FunctionKind::Entry { Control::Exit } else { Control::Return };
    builder.control(control, &[], &[], Flow::Stop);
    Ok(())
}

fn exit(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.control(Control::Exit, &[], &[], Flow::Stop);
    Ok(())
}

fn stop(builder: &mut Builder<'_, '_>, exec: Exec) -> Result<(), Refusal> {
    builder.whole(exec, &[], &[], 0);
    Ok(())
}

/// The other threads go first.
fn nanosleep(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.control(Control::Yield, &[], &[], Flow::Pause);
    Ok(())
}

/// Hints, and waiting for what has happened already.
pub(super) fn nothing(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.whole(NOTHING, &[], &[], 0);
    Ok(())
}

/// An instruction that only has to do with work that continues after others, which has been done.
pub(super) fn event(builder: &mut Builder<'_, '_>, event: Event) -> Result<(), Refusal> {
    let mut draft = Draft::new(NOTHING, &[], &[]);
    draft.event = Some(event);
    builder.push(draft);
    Ok(())
}

/// One that waits for all groups but the last so many.
pub(super) fn wait_group(builder: &mut Builder<'_, '_>, group: Group) -> Result<(), Refusal> {
    builder.expect_operands(1)?;
    let Text::Literal(Literal::Int(left)) = builder.operand(0)? else {
        return Err(Refusal::new("the number of groups is a number"));
    };
    event(builder, Event::Wait(group, u32::try_from(*left).unwrap_or(u32::MAX)))
}

/// `call (ret), function, (args)` and its forms without results or arguments, and with a prototype or list of targets
/// at the end where the function is a register.
fn call<'a>(builder: &mut Builder<'_, 'a>, _: &Form<'_>) -> Result<(), Refusal> {
    let operands = builder.operands();
    let (returns, rest) = match operands.split_first() {
        Some((Text::List(returns), rest)) => (returns.as_slice(), rest),
        _ => (&[][..], operands),
    };
    let Some((Text::Name(name), rest)) = rest.split_first() else {
        return Err(Refusal::new("a function is expected"));
    };
    let (arguments, _) = match rest.split_first() {
        Some((Text::List(arguments), rest)) => (arguments.as_slice(), rest),
        _ => (&[][..], rest),
    };
    let (callee, target) = callee(builder, name)?;
    let arguments = arguments.iter().map(|text| argument(builder, text)).collect::<Result<Box<[_]>, _>>()?;
    let mut results = Vec::with_capacity(returns.len());
    let mut registers = Vec::new();
    for text in returns {
        let (rows, register) = result(builder, text)?;
        results.push(rows);
        registers.extend(register);
    }
    let call = Call { callee, args: arguments, returns: results.into() };
    builder.control(Control::Call(call), &[], target.as_slice(), Flow::Pause);
    for (register, rows) in registers {
        let (lane, sources) = from_rows(builder.body.class(register), rows.row);
        builder.lane(lane, &[Operand::Register(register)], &sources);
    }
    Ok(())
}

fn callee<'a>(builder: &mut Builder<'_, 'a>, name: &'a str) -> Result<(Callee, Option<Operand>), Refusal> {
    match builder.body.find(name) {
        Some(Symbol::Function(index, _)) => Ok((Callee::Function(builder.body.linked(index)?), None)),
        Some(Symbol::Register { .. }) => {
            let target = builder.source(&Text::Name(name), Class::Wide)?;
            Ok((Callee::Indirect, Some(target)))
        }
        _ => {
            let known = Extern::from_name(name);
            let known = known.ok_or_else(|| Refusal::new(format!("the function `{name}` is not defined")))?;
            Ok((Callee::Extern(known), None))
        }
    }
}

/// Rows that a register of a class takes as an argument or a result, as `to_rows` fills them.
fn rows_of(class: Class) -> u32 {
    if matches!(class, Class::Wide | Class::Quad) { 2 } else { 1 }
}

/// Rows that hold an argument: those of a `.param` variable, or new ones for a register or number.
fn argument<'a>(builder: &mut Builder<'_, 'a>, text: &Text<'a>) -> Result<ParamRows, Refusal> {
    if let Text::Name(name) = text
        && let Some(Symbol::Param { row, bytes }) = builder.body.find(name)
    {
        return Ok(ParamRows { row, rows: bytes.div_ceil(4) });
    }
    let class = builder.class_of(text).unwrap_or(Class::Word);
    let source = builder.source(text, class)?;
    let rows = builder.body.new_rows(rows_of(class))?;
    let (lane, dests) = to_rows(class, rows.row);
    builder.lane(lane, &dests, &[source]);
    Ok(rows)
}

/// Rows for a result, and the register that it goes to, if it goes to one.
#[allow(clippy::type_complexity)] // a pair and an optional pair
fn result<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &Text<'a>,
) -> Result<(ParamRows, Option<(Register, ParamRows)>), Refusal> {
    let Text::Name(name) = text else { return Err(Refusal::new("a result is a parameter or a register")) };
    if let Some(Symbol::Param { row, bytes }) = builder.body.find(name) {
        return Ok((ParamRows { row, rows: bytes.div_ceil(4) }, None));
    }
    let class = builder.class_of(text).ok_or_else(|| Refusal::new(format!("`{name}` is not declared")))?;
    let register = builder.body.register(name, class)?;
    let rows = builder.body.new_rows(rows_of(class))?;
    Ok((rows, Some((register, rows))))
}
