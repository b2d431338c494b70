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
use super::super::watch::{Note, What};
use super::{Form, Row, build, lane};

pub(super) const ROWS: &[Row] = &[
    build("mbarrier.init[.{shared|shared::cta}].b64", |b, f| change(b, f, Action::Init)),
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
        "mbarrier.{test_wait|try_wait}[.{acquire|relaxed}][.{cta|cluster}][.{shared|shared::cta}].b64",
        wait,
    ),
    build(
        "mbarrier.{test_wait|try_wait}.parity[.{acquire|relaxed}][.{cta|cluster}][.{shared|shared::cta}].b64",
        wait,
    ),
    lane("mbarrier.pending_count.b64", lane1(pending)),
    // The copies before it are done: adding an arrival and making it leaves nothing, but for `.noinc`.
    build("cp.async.mbarrier.arrive[.{shared|shared::cta}].b64", |builder, _| {
        builder.whole(NOTHING, &[], &[], 0);
        Ok(())
    }),
    build("cp.async.mbarrier.arrive.noinc[.{shared|shared::cta}].b64", |b, f| change(b, f, Action::Arrive)),
];

/// The space of a form; generic without one.
fn space(form: &Form<'_>) -> Option<Space> {
    form.any(&["shared", "shared::cta", "shared::cluster"]).map(|_| Space::Shared)
}

/// `mbarrier.op {state,} [addr]{, value}`
fn change(builder: &mut Builder<'_, '_>, form: &Form<'_>, action: Action) -> Result<(), Refusal> {
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
    let init = matches!(action, Action::Init | Action::Invalidate);
    push(builder, form, mbarrier::change(action), state, address, value, init);
    Ok(())
}

/// `mbarrier.{test,try}_wait p, [addr], state{, hint}`
fn wait(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let dest = builder.dest(builder.operand(0)?, Class::Predicate)?;
    let address = builder.address(builder.operand(1)?, space(form).is_none())?;
    let (class, exec) = match form.has("parity") {
        true => (Class::Word, mbarrier::WAIT_PARITY),
        false => (Class::Wide, mbarrier::WAIT_STATE),
    };
    let value = builder.source(builder.operand(2)?, class)?;
    push(builder, form, exec, dest, address, value, false);
    Ok(())
}

fn push(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    exec: Exec,
    dest: Operand,
    address: Address,
    value: Operand,
    init: bool,
) {
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    let mut draft = Draft::new(exec, &[dest], &[address.base, value]);
    draft.aux = Access::new(1, space(form), narrow | Access::ATOMIC).0;
    (draft.imm, draft.site) = (address.offset, true);
    draft.note = Some(Note { what: What::Barrier { init }, address: 1, bytes: 8 });
    builder.push(draft);
}
