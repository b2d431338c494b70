//! From drafts to code: slots for the registers, targets for the branches.

use std::collections::BTreeSet;
use std::sync::Arc;

use cuda_ptx::Function;

use super::super::code::{BarrierAction, Code, Control, Inst, Matrix, Row, Run, Slot};
use super::super::exec::alu::GUARDED;
use super::super::exec::matrix::group::BOTH;
use super::super::flow;
use super::super::flow::blocks::Block;
use super::super::flow::slots::Frame;
use super::super::profile::{PROFILE, Profiled, local_bytes};
use super::super::schedule::{ORDER, Role, Scheduled};
use super::super::watch::{Event, GUARD, Registers, What};
use super::bases::Bases;
use super::body::Body;
use super::draft::{Draft, Flow, Label, Operand, Register};
use super::increments;
use super::indexed;
use super::pairs;
use super::registers::guard_bits;
use super::shapes;
use super::sites::{Known, Sites};
use super::values::Undefined;

/// Makes the code of a decoded function.
pub(super) fn finish(mut body: Body<'_>, function: &Function<'_>, sites: &mut Sites) -> Code {
    let end = body.drafts.len() as u32 - 1;
    // A label without a position belongs to a refused instruction.
    body.labels.iter_mut().for_each(|label| *label = (*label).min(end));
    let blocks = flow::blocks::blocks(&body.drafts, &body.labels);
    if !sites.looks() {
        indexed::mark(&mut body.drafts, &blocks, &body.pool, body.classes.len());
    }
    let frame = flow::slots::allocate(&body.drafts, &blocks, &body.classes, body.fixed_rows);
    shapes::mark(&mut body.drafts, &blocks, &mut sites.shapes);
    if !sites.looks() {
        pairs::mark(&mut body.drafts, &blocks);
    }
    let runs = runs(&mut body.drafts, &blocks);
    let looked = sites.watches().then(|| Looked::at(&body, &frame, sites));
    let constants = body.pool.finish();
    let places = Places { frame: &frame, constants: constants.len() as u32 };
    let mut lists = Lists::default();
    let mut insts = Vec::with_capacity(body.drafts.len());
    let (mut profiled, mut scheduled) = (Vec::new(), Vec::new());
    let names = body.names.as_deref().unwrap_or_default();
    let increments = sites.profiled.as_ref().map(|_| increments::find(&body.drafts, names, &constants));
    // The statement of the previous instruction; 0 means none.
    let mut last = 0;
    for draft in &mut body.drafts {
        let conditional = draft.guard.is_some() && matches!(draft.flow, Flow::Branch(_) | Flow::Stop);
        let barrier = match &draft.control {
            Some(Control::Barrier(barrier)) => Some(barrier.action != BarrierAction::Arrive),
            _ => None,
        };
        let control = sites.scheduled.as_ref().and_then(|_| draft.control.clone());
        let known = looked.as_ref().map(|looked| looked.known(draft)).unwrap_or_default();
        let mut inst = inst(draft, &places, (&body.labels, known), &mut lists, sites);
        if sites.scheduled.is_some() {
            let known = schedule(draft, &inst, control.as_ref(), sites.function);
            if known.role != Role::None {
                inst.exec = ORDER;
            }
            scheduled.push(known);
        }
        if sites.profiled.is_some() {
            let name = (draft.origin.statement as usize).checked_sub(1).and_then(|at| names.get(at));
            let name = name.map_or_else(Arc::default, Arc::clone);
            // The other instructions of the statement compute its address.
            let local = if draft.site { local_bytes(&name) } else { 0 };
            let first = draft.origin.statement != last;
            let (exec, note, targets) = (inst.exec, draft.note, targets(draft, &body.labels));
            let increments = increments.as_ref().is_some_and(|all| all.get(profiled.len()) == Some(&true));
            profiled.push(Profiled {
                exec,
                note,
                conditional,
                targets,
                name,
                barrier,
                first,
                local,
                increments,
            });
            last = draft.origin.statement;
            inst.exec = PROFILE;
        }
        insts.push(inst);
    }
    if let Some(all) = &mut sites.profiled {
        all.push(profiled);
    }
    if let Some(all) = &mut sites.scheduled {
        all.push(scheduled);
    }
    Code {
        open: body.open,
        name: function.name.to_owned(),
        insts: insts.into(),
        runs: runs.into(),
        origins: body.drafts.iter().map(|draft| draft.origin).collect(),
        controls: lists.controls.into(),
        matrices: lists.matrices.into(),
        number: sites.function,
        refusals: body.refusals.into(),
        constants,
        rows: frame.rows,
        wide_rows: frame.wide_rows,
        zeroed: frame.zeroed,
        predicates: frame.predicates,
        params: body.params.into(),
        returns: body.returns.into(),
        local_bytes: body.local_bytes.next_multiple_of(16),
        reserved: body.reserved,
    }
}

/// What runs from each instruction on. Those that are done by others come first in their block, where they are only counted.
fn runs(drafts: &mut [Draft], blocks: &[Block]) -> Vec<Run> {
    let mut runs = vec![Run::default(); drafts.len()];
    for Block { range, .. } in blocks {
        let block = &mut drafts[range.start as usize..range.end as usize];
        block.sort_by_key(|draft| !draft.is_done);
        let first = range.start + block.partition_point(|draft| draft.is_done) as u32;
        for at in range.clone() {
            runs[at as usize] = Run { first: at.max(first), end: range.end };
        }
    }
    runs
}

/// The information about a function's registers that the watch needs.
struct Looked {
    busy: BTreeSet<u32>,
    undefined: Undefined,
    bases: Bases,
}

impl Looked {
    fn at(body: &Body<'_>, frame: &Frame, sites: &mut Sites) -> Looked {
        // A called function may run several times at once: only the kernel's own registers are followed.
        let undefined = match sites.function {
            0 => {
                // These are initialised to zero.
                let ours = [body.carry, body.stack];
                let unwritten = frame.unwritten.iter().filter(|register| !ours.contains(&Some(**register)));
                sites.unwritten = unwritten.map(|Register(number)| *number).collect();
                Undefined::find(&body.drafts, &sites.unwritten)
            }
            _ => Undefined::default(),
        };
        let bases = Bases::find(&body.drafts, body.classes.len());
        Looked { busy: busy(&body.drafts), undefined, bases }
    }

    fn known(&self, draft: &Draft) -> Known {
        let is_access = |what| {
            matches!(
                what,
                What::Load
                    | What::Store { .. }
                    | What::Atomic { .. }
                    | What::LoadRows(_)
                    | What::StoreRows(_)
                    | What::Copy
            )
        };
        let local = draft.meaning.as_ref().and_then(|meaning| meaning.local);
        let address = draft.note.filter(|note| is_access(note.what)).map(|note| note.address);
        let address = address.or(local.map(|local| local.address));
        let mut operands = [address.and_then(|address| draft.ops.get(address).copied()), None];
        if draft.note.is_some_and(|note| note.what == What::Copy) {
            operands[1] = draft.ops.get(1).copied();
        }
        if let (Some(Event::Bulk { plain: true, .. }), Some(matrix)) = (draft.event, &draft.matrix) {
            operands = [0, 1].map(|side| matrix.a.get(side).copied());
        }
        let [base, source] = operands.map(|operand| self.bases.of(draft, operand?));
        Known { registers: registers(draft, &self.busy), values: self.undefined.of(draft), base, source }
    }
}

/// The registers that an asynchronous `wgmma` uses while other instructions run, and those that share their values by
/// moves.
fn busy(drafts: &[Draft]) -> BTreeSet<u32> {
    let products = drafts.iter().filter(|draft| draft.event == Some(Event::Product));
    let mut all: BTreeSet<u32> = products.flat_map(used).map(|Register(number)| number).collect();
    if all.is_empty() {
        return all;
    }
    loop {
        let before = all.len();
        for draft in drafts.iter().filter(|draft| draft.moves) {
            let moved: Vec<u32> =
                draft.written().chain(draft.read()).map(|Register(number)| number).collect();
            if moved.iter().any(|number| all.contains(number)) {
                all.extend(moved);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// The registers of a `wgmma` that contain matrix fragments.
fn used(draft: &Draft) -> impl Iterator<Item = Register> + '_ {
    draft.written().chain(draft.matrix.iter().filter(|_| draft.aux & BOTH == 0).flat_map(|matrix| {
        matrix.a.iter().filter_map(|operand| match operand {
            Operand::Register(register) => Some(*register),
            _ => None,
        })
    }))
}

/// The registers of an instruction that are in `busy`.
fn registers(draft: &Draft, busy: &BTreeSet<u32>) -> Option<Box<Registers>> {
    if busy.is_empty() {
        return None;
    }
    let of = |all: &mut dyn Iterator<Item = Register>| -> Vec<u32> {
        all.map(|Register(number)| number).filter(|number| busy.contains(number)).collect()
    };
    let written = of(&mut draft.written());
    let read = match draft.event {
        // C is D; the other operands that it reads are its factors.
        Some(Event::Product) => of(&mut used(draft).filter(|Register(number)| !written.contains(number))),
        _ => of(&mut draft.read()),
    };
    let moves = draft.moves && draft.guard.is_none();
    (!written.is_empty() || !read.is_empty()).then(|| Box::new(Registers { read, written, moves }))
}

/// The information about an instruction that a schedule needs.
fn schedule(draft: &Draft, inst: &Inst, control: Option<&Control>, function: usize) -> Scheduled {
    let role = match (control, draft.note.map(|note| note.what)) {
        (Some(Control::Exit), _) => Role::End,
        // The end of a called function is nothing special.
        (Some(Control::Return), _) if function == 0 => Role::End,
        (Some(Control::ClusterArrive { released: false, .. }), None) => Role::None,
        (Some(Control::Barrier(_)), None) => Role::MeetBlock,
        (Some(Control::ClusterArrive { .. } | Control::WarpSync(_)), None) => Role::Meet,
        (_, Some(What::Fence)) if draft.imm != 0 => Role::MeetBlock,
        (_, Some(What::Fence | What::WarpSync)) => Role::Meet,
        (None, Some(What::Load | What::Store { .. } | What::Atomic { .. } | What::Copy)) => {
            Role::Access { parts: true }
        }
        (_, Some(_)) => Role::Access { parts: false },
        (None, None) if draft.guard.is_some() && matches!(draft.flow, Flow::Branch(_)) => Role::Branch,
        _ => Role::None,
    };
    Scheduled { exec: inst.exec, note: draft.note, role, line: draft.origin.line }
}

/// The distinct targets of a `brx.idx`.
fn targets(draft: &Draft, labels: &[u32]) -> Box<[u32]> {
    let Flow::Table(list) = &draft.flow else { return Box::default() };
    let mut seen = BTreeSet::new();
    let places = list.iter().filter_map(|label| labels.get(label.0 as usize).copied());
    places.filter(|place| seen.insert(*place)).collect()
}

/// The lists that instructions refer to by index.
#[derive(Default)]
struct Lists {
    controls: Vec<Control>,
    matrices: Vec<Matrix<Slot>>,
}

fn inst(
    draft: &mut Draft,
    places: &Places<'_>,
    (labels, known): (&[u32], Known),
    lists: &mut Lists,
    sites: &mut Sites,
) -> Inst {
    let position = |label: &Label| labels[label.0 as usize];
    let mut imm = draft.imm;
    match &draft.flow {
        Flow::Branch(label) => imm = u64::from(position(label)),
        Flow::Table(targets) => draft.control = Some(Control::Table(targets.iter().map(position).collect())),
        _ => {}
    }
    if let Some(control) = draft.control.take() {
        imm = lists.controls.len() as u64;
        lists.controls.push(control);
    }
    if let Some(matrix) = draft.matrix.take() {
        imm = lists.matrices.len() as u64;
        lists.matrices.push(matrix.map(|operand| places.slot(operand)));
    }
    let guard = draft.guard.map(|(register, negated)| guard_bits(places.frame.slot(register).0, negated));
    let guarded = known.values.as_ref().is_some_and(|values| values.guard.is_some());
    let wrapper = if guarded { GUARD } else { GUARDED };
    let wrapped = guard.is_some() && !draft.reads_guard;
    let (site, exec) = sites.take(draft, known);
    let mut ops = draft.ops.map(|operand| places.slot(operand));
    if let Some(second) = draft.second {
        let [third, fourth, last @ ..] = second.map(|operand| places.slot(operand));
        (ops[4], ops[5]) = (third, fourth);
        imm = u64::from(last[0].0) | u64::from(last[1].0) << 32;
    }
    Inst {
        exec: if wrapped { wrapper } else { exec },
        inner: exec,
        ops,
        imm,
        // Predicate 1 is always true.
        guard: guard.unwrap_or(1),
        aux: draft.aux,
        site,
        shape: draft.shape,
    }
}

/// The locations of the operands of a function.
struct Places<'f> {
    frame: &'f Frame,
    /// Rows of constants, which lie before those of the registers.
    constants: u32,
}

impl Places<'_> {
    fn slot(&self, operand: Operand) -> Slot {
        match operand {
            Operand::None => Slot::default(),
            Operand::Register(register) => self.frame.slot(register),
            Operand::Constant(row) => Slot((self.constants - row).wrapping_mul(Row::BYTES).wrapping_neg()),
            Operand::Row(row) => Slot(row * Row::BYTES),
            Operand::Fixed(value) => Slot(u32::from(value)),
        }
    }
}
