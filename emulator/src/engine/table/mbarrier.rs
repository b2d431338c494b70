//! "mbarrier": barriers in shared memory.

use cuda_ptx::{Operand as Text, Space};

use super::super::code::{Exec, NOTHING};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::decode::operands::Address;
use super::super::exec::alu::lane1;
use super::super::exec::mbarrier::{self, Action, pending};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::watch::{Event, Note, What};
use super::{Form, Row, build, lane};

pub(super) const ROWS: &[Row] = &[
    build("mbarrier.init[.{shared|shared::cta}].b64", |b, f| change(b, f, Action::Init)),
    build("mbarrier.init.layout::v0[.{shared|shared::cta}].b64", |b, f| change(b, f, Action::Init)),
    build("mbarrier.init.layout::v1[.{shared|shared::cta}].b64", |b, f| change(b, f, Action::InitLayout)),
    build("mbarrier.check_layout.{layout::v0|layout::v1}[.{shared|shared::cta}].b64", check_layout),
    build("mbarrier.inval[.{shared|shared::cta}].b64", |b, f| change(b, f, Action::Invalidate)),
    build(
        "mbarrier.expect_tx[.relaxed][.{cta|cluster}][.{shared|shared::cta|shared::cluster}].b64",
        |b, f| change(b, f, Action::Expect),
    ),
    build(
        "mbarrier.complete_tx[.relaxed][.{cta|cluster}][.{shared|shared::cta|shared::cluster}].b64",
        |b, f| change(b, f, Action::Complete),
    ),
    build(
        "mbarrier.arrive[.noComplete][.{release|relaxed}][.{cta|cluster}][.{shared|shared::cta|shared::cluster}].b64",
        |b, f| change(b, f, Action::Arrive),
    ),
    build(
        "mbarrier.arrive.expect_tx[.{release|relaxed}][.{cta|cluster}][.{shared|shared::cta|shared::cluster}].b64",
        |b, f| change(b, f, Action::ArriveExpect),
    ),
    build(
        "mbarrier.arrive_drop[.noComplete][.{release|relaxed}][.{cta|cluster}][.{shared|shared::cta|shared::cluster}].b64",
        |b, f| change(b, f, Action::Drop),
    ),
    build(
        "mbarrier.arrive_drop.expect_tx[.{release|relaxed}][.{cta|cluster}][.{shared|shared::cta|shared::cluster}].b64",
        |b, f| change(b, f, Action::DropExpect),
    ),
    build(
        "mbarrier.{test_wait|try_wait}[.phase_type::primary][.{acquire|relaxed}][.{cta|cluster}][.{shared|shared::cta}].b64",
        wait,
    ),
    build(
        "mbarrier.{test_wait|try_wait}.parity[.{phase_type::primary|phase_type::conditional}][.{acquire|relaxed}][.{cta|cluster}][.{shared|shared::cta}].b64",
        wait,
    ),
    lane("mbarrier.pending_count[.layout::v0].b64", lane1(pending)),
    // The copies before it are done: adding an arrival and making it leaves nothing, but for `.noinc`.
    build("cp.async.mbarrier.arrive[.{shared|shared::cta}].b64", |builder, form| {
        builder.expect_operands(1)?;
        let address = builder.address(builder.operand(0)?, space(form).is_none())?;
        let mut draft = Draft::new(NOTHING, &[], &[address.base, address.base]);
        draft.aux = access(form, &address);
        (draft.imm, draft.event) = (address.offset, Some(Event::CopiesArrive { extra: true }));
        builder.push(draft);
        Ok(())
    }),
    build("cp.async.mbarrier.arrive.noinc[.{shared|shared::cta}].b64", |builder, form| {
        builder.expect_operands(1)?;
        push_change(builder, form, Action::Arrive, Event::CopiesArrive { extra: false })
    }),
];

/// The space of a form; generic without one.
fn space(form: &Form<'_>) -> Option<Space> {
    form.any(&["shared", "shared::cta", "shared::cluster"]).map(|_| Space::Shared)
}

/// What an access at that address is.
fn access(form: &Form<'_>, address: &Address) -> u32 {
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    Access::new(1, space(form), narrow | Access::ATOMIC).0
}

/// `mbarrier.op {state,} [addr]{, value}`
fn change(builder: &mut Builder<'_, '_>, form: &Form<'_>, action: Action) -> Result<(), Refusal> {
    let event = match action {
        Action::Init | Action::InitLayout => Event::Init,
        Action::Invalidate => Event::Invalidate,
        _ => Event::Change { releases: !form.has("relaxed") },
    };
    push_change(builder, form, action, event)
}

fn push_change(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    action: Action,
    event: Event,
) -> Result<(), Refusal> {
    let has_state = !matches!(builder.operand(0)?, Text::Address { .. });
    let at = usize::from(has_state);
    let state = if has_state {
        builder.dest(builder.operand(0)?, Class::Wide)?
    } else {
        builder.temporary(Class::Wide)?
    };
    let address = builder.address(builder.operand(at)?, space(form).is_none())?;
    let value = match builder.operands().get(at + 1) {
        Some(text) => builder.source(text, Class::Word)?,
        None => builder.constant(Class::Word, 1),
    };
    push(builder, form, mbarrier::change(action), event, state, address, value);
    Ok(())
}

/// `mbarrier.check_layout p, [addr]`
fn check_layout(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let dest = builder.dest(builder.operand(0)?, Class::Predicate)?;
    let address = builder.address(builder.operand(1)?, space(form).is_none())?;
    let exec = if form.has("layout::v1") { mbarrier::HAS_LAYOUT } else { mbarrier::LACKS_LAYOUT };
    let mut draft = Draft::new(exec, &[dest], &[address.base]);
    draft.aux = access(form, &address);
    (draft.imm, draft.site) = (address.offset, true);
    draft.note = Some(Note { what: What::Barrier { init: false }, address: 1, bytes: 8 });
    builder.push(draft);
    Ok(())
}

/// `mbarrier.{test,try}_wait p{|q}{, report}, [addr], state{, hint}`
fn wait(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (text, reported) = match builder.operand(0)? {
        Text::Pair(over, reported) => (&**over, Some(&**reported)),
        text => (text, None),
    };
    let dest = builder.dest(text, Class::Predicate)?;
    // Nothing is reported.
    if let Some(text) = reported.filter(|text| **text != Text::Name("_")) {
        let dest = builder.dest(text, Class::Predicate)?;
        builder.lane(lane1(|a: bool| a), &[dest], &[Operand::Fixed(false)]);
    }
    let at = match builder.operand(1)? {
        Text::Address { .. } => 1,
        value => {
            let (dest, zero) = (builder.dest(value, Class::Word)?, builder.constant(Class::Word, 0));
            builder.lane(lane1(|a: u32| a), &[dest], &[zero]);
            2
        }
    };
    let address = builder.address(builder.operand(at)?, space(form).is_none())?;
    let (class, exec) = match form.has("parity") {
        true => (Class::Word, mbarrier::WAIT_PARITY),
        false => (Class::Wide, mbarrier::WAIT_STATE),
    };
    let value = builder.source(builder.operand(at + 1)?, class)?;
    let event = Event::Waited { acquires: !form.has("relaxed") };
    push(builder, form, exec, event, dest, address, value);
    Ok(())
}

fn push(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    event: Event,
    dest: Operand,
    address: Address,
    value: Operand,
) {
    let mut draft = Draft::new(exec, &[dest], &[address.base, value]);
    draft.aux = access(form, &address);
    (draft.imm, draft.site) = (address.offset, true);
    let init = matches!(event, Event::Init | Event::Invalidate);
    (draft.note, draft.event) =
        (Some(Note { what: What::Barrier { init }, address: 1, bytes: 8 }), Some(event));
    builder.push(draft);
}
