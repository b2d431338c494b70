//! "Parallel Synchronization and Communication Instructions" between threads.

use cuda_ptx::{Operand as Text, Type};

use super::super::code::{Barrier, BarrierAction, Control};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Flow, Operand, Refusal};
use super::super::exec::operand::Class;
use super::super::exec::warp_ops;
use super::super::warp_op::{Reduction, Shuffle, WarpOp};
use super::super::watch::{Note, What};
use super::{Form, Row, build};

pub(super) const ROWS: &[Row] = &[
    build("bar[.cta].sync", |builder, _| barrier(builder, true, BarrierAction::Sync)),
    build("bar[.cta].arrive", |builder, _| barrier(builder, true, BarrierAction::Arrive)),
    build("bar[.cta].red.popc.u32", |builder, _| barrier(builder, true, BarrierAction::Popc)),
    build("bar[.cta].red.and.pred", |builder, _| barrier(builder, true, BarrierAction::And)),
    build("bar[.cta].red.or.pred", |builder, _| barrier(builder, true, BarrierAction::Or)),
    build("barrier[.cta].sync[.aligned]", |builder, form| {
        barrier(builder, form.has("aligned"), BarrierAction::Sync)
    }),
    build("barrier[.cta].arrive[.aligned]", |builder, form| {
        barrier(builder, form.has("aligned"), BarrierAction::Arrive)
    }),
    build("barrier[.cta].red.popc[.aligned].u32", |builder, form| {
        barrier(builder, form.has("aligned"), BarrierAction::Popc)
    }),
    build("barrier[.cta].red.and[.aligned].pred", |builder, form| {
        barrier(builder, form.has("aligned"), BarrierAction::And)
    }),
    build("barrier[.cta].red.or[.aligned].pred", |builder, form| {
        barrier(builder, form.has("aligned"), BarrierAction::Or)
    }),
    build("barrier.cluster.arrive[.{release|relaxed}][.aligned]", |builder, form| {
        let released = !form.has("relaxed");
        let control = Control::ClusterArrive { released, aligned: form.has("aligned") };
        builder.control(control, &[], &[], Flow::Pause);
        Ok(())
    }),
    build("barrier.cluster.wait[.acquire][.aligned]", |builder, form| {
        builder.control(Control::ClusterWait { aligned: form.has("aligned") }, &[], &[], Flow::Pause);
        Ok(())
    }),
    build("bar.warp.sync", |builder, _| warp_op(builder, WarpOp::Barrier)),
    build("shfl.sync.{up|down|bfly|idx}.b32", |builder, form| {
        warp_op(builder, WarpOp::Shuffle(shuffle(form)))
    }),
    build("shfl.{up|down|bfly|idx}.b32", |builder, form| active_op(builder, WarpOp::Shuffle(shuffle(form)))),
    build("vote.sync.{all|any|uni}.pred", |builder, form| warp_op(builder, vote(form))),
    build("vote.sync.ballot.b32", |builder, _| warp_op(builder, WarpOp::Ballot)),
    build("vote.{all|any|uni}.pred", |builder, form| active_op(builder, vote(form))),
    build("vote.ballot.b32", |builder, _| active_op(builder, WarpOp::Ballot)),
    build("match.any.sync.{b32|b64}", |builder, form| {
        warp_op(builder, WarpOp::MatchAny(form.ty() == Type::B64))
    }),
    build("match.all.sync.{b32|b64}", |builder, form| {
        warp_op(builder, WarpOp::MatchAll(form.ty() == Type::B64))
    }),
    build("redux.sync.{add|min|max}.{u32|s32}", |builder, form| {
        warp_op(builder, WarpOp::Redux(reduction(form)))
    }),
    build("redux.sync.{and|or|xor}.b32", |builder, form| warp_op(builder, WarpOp::Redux(reduction(form)))),
    build("elect.sync", |builder, _| warp_op(builder, WarpOp::Elect)),
    build("activemask.b32", |builder, _| {
        let dest = builder.dest(builder.operand(0)?, Class::Word)?;
        builder.whole(warp_ops::ACTIVEMASK, &[dest], &[], 0);
        Ok(())
    }),
];

fn shuffle(form: &Form<'_>) -> Shuffle {
    match form.any(&["up", "down", "bfly"]) {
        Some("up") => Shuffle::Up,
        Some("down") => Shuffle::Down,
        Some(_) => Shuffle::Butterfly,
        None => Shuffle::Index,
    }
}

fn vote(form: &Form<'_>) -> WarpOp {
    match form.any(&["all", "any"]) {
        Some("all") => WarpOp::All,
        Some(_) => WarpOp::Any,
        None => WarpOp::Uniform,
    }
}

fn reduction(form: &Form<'_>) -> Reduction {
    match (form.any(&["add", "min", "max", "and", "or"]), form.ty()) {
        (Some("add"), _) => Reduction::Add,
        (Some("min"), Type::S32) => Reduction::MinSigned,
        (Some("min"), _) => Reduction::MinUnsigned,
        (Some("max"), Type::S32) => Reduction::MaxSigned,
        (Some("max"), _) => Reduction::MaxUnsigned,
        (Some("and"), _) => Reduction::And,
        (Some("or"), _) => Reduction::Or,
        _ => Reduction::Xor,
    }
}

/// `bar.op {d,} a{, b}{, {!}p}`
fn barrier(builder: &mut Builder<'_, '_>, aligned: bool, action: BarrierAction) -> Result<(), Refusal> {
    let reduces = !matches!(action, BarrierAction::Sync | BarrierAction::Arrive);
    let first = usize::from(reduces);
    let last = builder.operands().len().saturating_sub(usize::from(reduces));
    let id = builder.source(builder.operand(first)?, Class::Word)?;
    let counted = match last.checked_sub(first) {
        Some(1) if action != BarrierAction::Arrive => false,
        Some(2) => true,
        _ => return Err(Refusal::new("wrong number of operands")),
    };
    let count = if counted { builder.source(builder.operand(first + 1)?, Class::Word)? } else { id };
    let (mut dest, mut predicate, mut negated) = (Operand::None, Operand::None, false);
    if reduces {
        let class = if action == BarrierAction::Popc { Class::Word } else { Class::Predicate };
        dest = builder.dest(builder.operand(0)?, class)?;
        let text = builder.operand(last)?;
        negated = matches!(text, Text::Not(_));
        let name = if let Text::Not(name) = text { &Text::Name(name) } else { text };
        predicate = builder.source(name, Class::Predicate)?;
    }
    let control = Control::Barrier(Barrier { action, counted, negated, aligned });
    builder.control(control, &[dest], &[id, count, predicate], Flow::Pause);
    Ok(())
}

/// Lanes of a warp meet.
const MEET: Note = Note { what: What::WarpSync, address: 0, bytes: 0 };

/// A `.sync` instruction; its control says what to do when not all members are there.
fn warp_op(builder: &mut Builder<'_, '_>, op: WarpOp) -> Result<(), Refusal> {
    let exec = warp_ops::exec(op).ok_or_else(|| Refusal::new("no such operation"))?;
    let (dests, sources) = operands(builder, op, true)?;
    let mut draft = Draft::new(exec, &dests, &sources);
    draft.control = Some(Control::WarpSync(op));
    draft.flow = Flow::Pause;
    draft.note = Some(MEET);
    builder.push(draft);
    Ok(())
}

/// A form without `.sync`.
fn active_op(builder: &mut Builder<'_, '_>, op: WarpOp) -> Result<(), Refusal> {
    let exec = warp_ops::exec_active(op).ok_or_else(|| Refusal::new("no such operation"))?;
    let (dests, sources) = operands(builder, op, false)?;
    let mut draft = Draft::new(exec, &dests, &sources);
    draft.note = Some(MEET);
    builder.push(draft);
    Ok(())
}

/// The operands in the order that [`WarpOp`] lists, the member mask last.
fn operands<'a>(
    builder: &mut Builder<'_, 'a>,
    op: WarpOp,
    members: bool,
) -> Result<(Vec<Operand>, Vec<Operand>), Refusal> {
    use Class::{Predicate, Wide, Word};
    let (dests, sources): (&[Class], &[Class]) = match op {
        WarpOp::Barrier | WarpOp::Matrix => (&[], &[]),
        WarpOp::Shuffle(_) => (&[Word, Predicate], &[Word, Word, Word]),
        WarpOp::All | WarpOp::Any | WarpOp::Uniform => (&[Predicate], &[Predicate]),
        WarpOp::Ballot => (&[Word], &[Predicate]),
        WarpOp::MatchAny(wide) => (&[Word], if wide { &[Wide] } else { &[Word] }),
        WarpOp::MatchAll(wide) => (&[Word, Predicate], if wide { &[Wide] } else { &[Word] }),
        WarpOp::Redux(_) => (&[Word], &[Word]),
        WarpOp::Elect => (&[Word, Predicate], &[]),
    };
    let texts = builder.operands();
    let given = usize::from(!dests.is_empty());
    builder.expect_operands(given + sources.len() + usize::from(members))?;
    let mut written = Vec::with_capacity(2);
    match (texts.first(), dests) {
        (Some(Text::Pair(first, second)), [a, b]) => {
            written.push(builder.dest(first, *a)?);
            written.push(builder.dest(second, *b)?);
        }
        (Some(first), [a, rest @ ..]) => {
            written.push(builder.dest(first, *a)?);
            for class in rest {
                written.push(builder.temporary(*class)?);
            }
        }
        _ => {}
    }
    let mut read = Vec::with_capacity(4);
    for (text, class) in texts[given..].iter().zip(sources.iter().chain([&Word])) {
        read.push(builder.source(text, *class)?);
    }
    Ok((written, read))
}
