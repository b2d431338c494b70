//! Waiting: block barriers, cluster barriers, and the other members of warp-wide instructions.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`.

use super::super::barrier::Arrival;
use super::super::code::{Barrier, BarrierAction, Control, Inst, Slot};
use super::super::exec::lanes::{Lanes, bits};
use super::super::exec::operand::{Dest, Source};
use super::super::exec::warp_ops::{Inputs, Outputs, belongs, groups};
use super::super::fault::FaultKind;
use super::super::warp_op::WarpOp;
use super::super::watch::AtBarrier;
use super::{BlockState, Split, State, Warp};

impl Warp {
    /// Splits whose barrier opened get its result and go on.
    pub(super) fn take_results(&mut self, lanes: &mut Lanes<'_>) {
        for index in 0..self.splits.len() {
            let State::Opened(result) = self.splits[index].state else { continue };
            let code = self.enter(index, lanes);
            let inst = &code.insts[self.splits[index].pc as usize];
            if let Some(Control::Barrier(barrier)) = code.controls.get(inst.imm as usize) {
                let all = if result != 0 { !0 } else { 0 };
                // SAFETY: 1: `inst` is of the code that was just entered; the decoder made operand 0 of a reduction its destination, of that class.
                unsafe {
                    match barrier.action {
                        BarrierAction::Popc => <u32 as Dest>::commit(lanes, &inst.ops, &[result; 32]),
                        BarrierAction::And | BarrierAction::Or => {
                            <bool as Dest>::commit(lanes, &inst.ops, &all)
                        }
                        BarrierAction::Sync | BarrierAction::Arrive => {}
                    }
                }
            }
            let split = &mut self.splits[index];
            (split.state, split.pc) = (State::Ready, split.pc + 1);
        }
    }

    /// The threads of a split arrive at a block barrier. False after a fault.
    pub(super) fn barrier(
        &mut self,
        index: usize,
        barrier: Barrier,
        inst: &Inst,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> bool {
        let split = self.splits[index];
        // SAFETY: the lanes stand on the frame of `inst`, whose operands the decoder made as `Barrier` lists them: 1
        // and 2 words, 2 also where there is no count, and 3 a predicate where one is reduced, which nobody else has a
        // reference to. Lanes of a mask are below 32, and no other frame is entered here.
        let (id, count, votes) = unsafe {
            let lane = split.mask.trailing_zeros() as usize & 31;
            let id = <u32 as Source>::place(lanes, inst.ops[1]);
            let first = <u32 as Source>::get(id, lane);
            let constant = inst.ops[1].0 & Slot::CONSTANT != 0;
            if !constant && bits(split.mask).any(|lane| <u32 as Source>::get(id, lane) != first) {
                lanes.fail(
                    FaultKind::InvalidSync,
                    lane as u32,
                    None,
                    "the threads of a warp name different barriers".into(),
                );
                return false;
            }
            let count = <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane);
            let votes = match barrier.action {
                BarrierAction::Sync | BarrierAction::Arrive => 0,
                _ => *lanes.predicate(inst.ops[3]) ^ if barrier.negated { !0 } else { 0 },
            };
            (first, barrier.counted.then_some(count), votes)
        };
        if lanes.watch.is_some() {
            self.meet_others(index, barrier.aligned, barrier.action != BarrierAction::Arrive, lanes);
        }
        let arrival =
            Arrival { warp: self.state().index, mask: split.mask, id, count, action: barrier.action, votes };
        if let Err(message) = around.barriers.arrive(arrival) {
            lanes.fail(FaultKind::InvalidSync, split.mask.trailing_zeros(), None, message);
            return false;
        }
        let split = &mut self.splits[index];
        match barrier.action {
            BarrierAction::Arrive => split.pc += 1,
            _ => split.state = State::Barrier(id),
        }
        true
    }

    /// Tells the watch of threads of the same warp that wait at another barrier instruction. Those that are about to arrive there will find
    /// these, if these wait.
    #[cold]
    fn meet_others(&self, index: usize, is_aligned: bool, waits: bool, lanes: &mut Lanes<'_>) {
        let codes = &lanes.env.kernel.codes;
        let at = |split: &Split| AtBarrier {
            function: self.frames.function(split.frame),
            pc: split.pc,
            lane: split.mask.trailing_zeros() as u8,
        };
        let aligned = |at: &AtBarrier| {
            let code = codes.get(at.function)?;
            Some(code.controls.get(code.insts.get(at.pc as usize)?.imm as usize)?.is_aligned())
        };
        let here = at(&self.splits[index]);
        let is_there = |split: &&Split| match split.state {
            State::Barrier(_) | State::Cluster(_) => true,
            State::Alone => !waits,
            _ => false,
        };
        let waiting = self.splits.iter().filter(is_there).map(at);
        let elsewhere = |there: &AtBarrier| (there.function, there.pc) != (here.function, here.pc);
        let diverged = |there: &AtBarrier| is_aligned || aligned(there) == Some(true);
        let Some(other) = waiting.filter(elsewhere).find(diverged) else { return };
        if let Some(mut watch) = lanes.watch.take() {
            watch.diverged(lanes.env, lanes.block(), self.state().index, [here, other]);
            lanes.watch = Some(watch);
        }
    }

    /// Tells the watch who comes to a barrier that the warp has to come to together.
    #[cold]
    pub(super) fn come_without_others(&self, index: usize, lanes: &mut Lanes<'_>) {
        let split = self.splits[index];
        let lane = split.mask.trailing_zeros() as u8;
        let at = AtBarrier { function: self.frames.function(split.frame), pc: split.pc, lane };
        if let Some(mut watch) = lanes.watch.take() {
            watch.arrived(lanes.env, lanes.block(), self.state().index, at, [split.mask, self.live()]);
            lanes.watch = Some(watch);
        }
    }

    /// `barrier.cluster.arrive`
    pub(super) fn cluster_arrive(
        &mut self,
        index: usize,
        (is_aligned, releases): (bool, bool),
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) {
        let mask = self.splits[index].mask;
        if let Some(mut watch) = lanes.watch.take() {
            watch.cluster_arrived(lanes.env, lanes.block(), self.state().index, releases);
            lanes.watch = Some(watch);
            self.meet_others(index, is_aligned, false, lanes);
            self.misuse(index, mask & self.owing, "it has arrived before, and not waited since", lanes);
        }
        self.splits[index].pc += 1;
        bits(mask).for_each(|lane| self.arrivals[lane] += 1);
        self.arrived = true;
        self.owing |= mask;
        if around.cluster.arrive(mask.count_ones()) {
            cluster_met(lanes);
        }
    }

    /// `barrier.cluster.wait`: for the phase in which the threads arrived last.
    pub(super) fn cluster_wait(&mut self, index: usize, lanes: &mut Lanes<'_>, around: &mut BlockState<'_>) {
        let mask = self.splits[index].mask;
        if lanes.watch.is_some() {
            self.misuse(index, mask & !self.owing, "it waits without having arrived", lanes);
        }
        self.owing &= !mask;
        let wanted = bits(mask).map(|lane| self.arrivals[lane]).max().unwrap_or(0);
        let split = &mut self.splits[index];
        if wanted <= around.cluster.phase() {
            split.pc += 1;
        } else {
            split.state = State::Cluster(wanted);
        }
    }

    /// Tells the watch of lanes that use the cluster's barrier in the wrong order, if there are any. An H200 lets them pass.
    fn misuse(&self, index: usize, mask: u32, how: &'static str, lanes: &mut Lanes<'_>) {
        if mask == 0 {
            return;
        }
        let split = self.splits[index];
        let lane = mask.trailing_zeros() as u8;
        let at = AtBarrier { function: self.frames.function(split.frame), pc: split.pc, lane };
        if let Some(mut watch) = lanes.watch.take() {
            watch.misused(lanes.env, lanes.block(), self.state().index, at, how);
            lanes.watch = Some(watch);
        }
    }

    /// A warp-wide instruction of which not all members are here: each group of lanes with the same members waits on
    /// its own. False after a fault.
    pub(super) fn warp_sync(&mut self, index: usize, op: WarpOp, inst: &Inst, lanes: &mut Lanes<'_>) -> bool {
        let split = self.splits[index];
        // SAFETY: 1: the lanes stand on the frame of `inst`, as `control` entered it, whose control says `op`.
        let groups = unsafe { groups(lanes, inst, op) };
        for (number, (members, group)) in groups.into_iter().enumerate() {
            if !belongs(lanes, op, members, group) {
                return false;
            }
            let at = if number == 0 {
                index
            } else {
                self.frames.hold(split.frame);
                self.add(split.frame, split.pc, group);
                self.splits.len() - 1
            };
            (self.splits[at].mask, self.splits[at].state) = (group, State::WarpSync(op, members));
        }
        self.fire(lanes);
        true
    }

    /// Performs the warp-wide instructions whose members are all here.
    pub(super) fn fire(&mut self, lanes: &mut Lanes<'_>) {
        let mut keys: Vec<(WarpOp, u32)> = Vec::new();
        for split in &self.splits {
            if let State::WarpSync(op, wanted) = split.state
                && !keys.contains(&(op, wanted))
            {
                keys.push((op, wanted));
            }
        }
        for (op, wanted) in keys {
            let key = State::WarpSync(op, wanted);
            let here: Vec<usize> =
                (0..self.splits.len()).filter(|index| self.splits[*index].state == key).collect();
            let arrived = here.iter().fold(0, |mask, index| mask | self.splits[*index].mask);
            if wanted & !self.state().exited & !arrived == 0 {
                self.perform(&here, op, arrived, lanes);
            }
        }
    }

    fn perform(&mut self, splits: &[usize], op: WarpOp, active: u32, lanes: &mut Lanes<'_>) {
        let mut inputs = Inputs::new();
        for index in splits {
            let code = self.enter(*index, lanes);
            let inst = &code.insts[self.splits[*index].pc as usize];
            // SAFETY: 1: the split waits at this instruction, of the code that was just entered, which performs `op`.
            unsafe { inputs.gather(lanes, inst, op) };
        }
        let outputs = Outputs::compute(op, &inputs, active);
        for index in splits {
            let code = self.enter(*index, lanes);
            let split = &mut self.splits[*index];
            if let Some(mut watch) = lanes.watch.take() {
                // SAFETY: 1: the split waits at this instruction, of the code that was just entered.
                unsafe { watch.met_late(lanes, &code.insts[split.pc as usize], active) };
                lanes.watch = Some(watch);
            }
            // SAFETY: 1: the split waits at this instruction, of the code that was just entered, which performs `op`.
            unsafe { outputs.scatter(lanes, &code.insts[split.pc as usize], op) };
            (split.state, split.pc) = (State::Ready, split.pc + 1);
        }
        if op == WarpOp::Matrix {
            self.unite(splits, lanes);
        }
    }

    /// Lanes that met at an instruction which needs all of them at once, but called its function one after the other, go on in one frame.
    pub(super) fn unite(&mut self, splits: &[usize], lanes: &Lanes<'_>) {
        let Some((first, others)) = splits.split_first() else { return };
        let into = self.splits[*first];
        for index in others {
            let from = self.splits[*index];
            if from.frame == into.frame || from.pc != into.pc {
                continue;
            }
            if self.frames.merge(lanes.env.kernel, into.frame, from.frame, from.mask) {
                self.frames.hold(into.frame);
                self.frames.release(from.frame);
                self.splits[*index].frame = into.frame;
            }
        }
    }
}

/// All threads of the cluster have met: the watch, if there is one, has to know before one of them goes on.
#[cold]
pub(super) fn cluster_met(lanes: &mut Lanes<'_>) {
    if let Some(mut watch) = lanes.watch.take() {
        watch.cluster_met(lanes.env, lanes.block());
        lanes.watch = Some(watch);
    }
}
