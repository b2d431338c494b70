//! Calls, returns, exits and jumps through tables.
#![allow(unsafe_code)]
// Relies on: operands as in `exec::lanes`.

use std::collections::BTreeMap;

use super::super::code::{Call, Callee, Control, DeviceRuntime, Extern, Inst, ParamRows, Row};
use super::super::exec::lanes::{Lanes, bits, halves};
use super::super::exec::operand::{Source, blend};
use super::super::fault::FaultKind;
use super::super::{conditions, device_calls, graphs, heap, print, windows};
use super::frames::Caller;
use super::wait::cluster_met;
use super::{BlockState, Warp};

impl Warp {
    /// The threads of a split exit.
    pub(super) fn exit(&mut self, index: usize, lanes: &mut Lanes<'_>, around: &mut BlockState<'_>) {
        let split = self.splits.swap_remove(index);
        self.state_mut().exited |= split.mask;
        self.frames.release(split.frame);
        if let Some(mut watch) = lanes.watch.take() {
            watch.exited(lanes.env, lanes.block(), self.state().index, split.mask);
            lanes.watch = Some(watch);
        }
        around.barriers.exit(self.state().index, split.mask);
        let phase = around.cluster.phase();
        let mut arrived = 0;
        if self.arrived {
            arrived = bits(split.mask).filter(|lane| self.arrivals[*lane] > phase).count() as u32;
        }
        if around.cluster.exit(split.mask.count_ones() - arrived, arrived) {
            cluster_met(lanes);
        }
        // Members of a warp-wide instruction no longer wait for them.
        self.fire(lanes);
    }

    /// The threads of a split go back to where they came from; without a caller they exit.
    pub(super) fn return_from(
        &mut self,
        index: usize,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> bool {
        let split = self.splits[index];
        let Some(caller) = self.frames.caller(split.frame) else {
            self.exit(index, lanes, around);
            return true;
        };
        let kernel = lanes.env.kernel;
        let returning = self.frames.code(kernel, split.frame);
        let calling = self.frames.code(kernel, caller.frame);
        let call =
            calling.insts.get(caller.at as usize).and_then(|inst| calling.controls.get(inst.imm as usize));
        if let Some(Control::Call(call)) = call {
            for (from, to) in returning.returns.iter().zip(&call.returns) {
                self.copy(split.frame, *from, caller.frame, *to, split.mask);
            }
        }
        self.frames.hold(caller.frame);
        self.frames.release(split.frame);
        let split = &mut self.splits[index];
        (split.frame, split.pc) = (caller.frame, caller.pc);
        true
    }

    /// Copies the lanes of `mask` from rows of one frame to rows of another.
    fn copy(&mut self, from: usize, source: ParamRows, to: usize, target: ParamRows, mask: u32) {
        for row in 0..source.rows.min(target.rows) {
            let Some(values) = self.frames.rows(from, source.row + row, 1).first().copied() else { continue };
            if let Some(target) = self.frames.rows_mut(to, target.row + row, 1).first_mut() {
                if mask == !0 {
                    *target = values;
                } else {
                    blend(&mut target.0, &values.0, halves(mask));
                }
            }
        }
    }

    /// The threads of a split call a function. False after a fault.
    pub(super) fn call(&mut self, index: usize, call: &Call, inst: &Inst, lanes: &mut Lanes<'_>) -> bool {
        match &call.callee {
            Callee::Function(code) => self.enter_function(index, *code, call, lanes),
            Callee::Extern(function) => self.call_extern(index, *function, call, lanes),
            Callee::Indirect => self.call_indirect(index, call, inst, lanes),
        }
    }

    fn enter_function(&mut self, index: usize, code: usize, call: &Call, lanes: &mut Lanes<'_>) -> bool {
        let split = self.splits[index];
        let kernel = lanes.env.kernel;
        let called = &kernel.codes[code];
        let fit = |formal: &[ParamRows], actual: &[ParamRows], open: bool| {
            let closed = formal.len().saturating_sub(usize::from(open));
            let same = |(a, b): (&ParamRows, &ParamRows)| a.rows == b.rows;
            (closed..=formal.len()).contains(&actual.len())
                && formal.iter().take(closed).zip(actual).all(same)
                && formal.iter().zip(actual).skip(closed).all(|(a, b)| b.rows <= a.rows)
        };
        if !fit(&called.params, &call.args, called.open) || !fit(&called.returns, &call.returns, false) {
            let message = format!("`{}` is called with other parameters than it has", called.name);
            lanes.fail(FaultKind::InvalidCall, split.mask.trailing_zeros(), None, message);
            return false;
        }
        let caller = Caller { frame: split.frame, pc: split.pc + 1, at: split.pc };
        let frame = match self.frames.make(kernel, code, Some(caller), &mut self.state.get_mut().local) {
            Ok(frame) => frame,
            Err(overflow) => {
                let message = format!("{} when `{}` is called", overflow.0, called.name);
                lanes.fail(FaultKind::StackOverflow, split.mask.trailing_zeros(), None, message);
                return false;
            }
        };
        for (from, to) in call.args.iter().zip(&called.params) {
            self.copy(split.frame, *from, frame, *to, split.mask);
        }
        if let Some(profile) = &mut lanes.profile {
            profile.enters(code);
        }
        // The called frame holds the caller's now, not the split.
        self.frames.release(split.frame);
        let split = &mut self.splits[index];
        (split.frame, split.pc) = (frame, 0);
        true
    }

    /// `alloca`: the stacks of a split's threads end where operand 0 says, counted from the end of the frame's variables. False after a
    /// fault.
    pub(super) fn grow(&mut self, index: usize, inst: &Inst, lanes: &mut Lanes<'_>) -> bool {
        let split = self.splits[index];
        // SAFETY: `inst` is of the entered code, and the decoder made operand 0 of this control a word; lanes of a mask are below 32, and no
        // other frame was entered since.
        let end = |lane| unsafe { <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[0]), lane) };
        let (last, bytes) = bits(split.mask)
            .map(|lane| (lane, end(lane)))
            .fold((0, 0), |most, lane| if lane.1 > most.1 { lane } else { most });
        let kernel = lanes.env.kernel;
        if let Err(overflow) = self.frames.grow(kernel, split.frame, bytes, &mut self.state.get_mut().local) {
            lanes.fail(FaultKind::StackOverflow, last as u32, None, format!("{} by `alloca`", overflow.0));
            return false;
        }
        self.splits[index].pc += 1;
        true
    }

    /// Threads that call different functions go separate ways.
    fn call_indirect(&mut self, index: usize, call: &Call, inst: &Inst, lanes: &mut Lanes<'_>) -> bool {
        let split = self.splits[index];
        let mut targets: BTreeMap<u64, u32> = BTreeMap::new();
        for lane in bits(split.mask) {
            // SAFETY: `inst` is of the entered code, and the decoder made operand 0 of an indirect call the function's
            // address, which is wide; lanes of a mask are below 32, and no other frame was entered since.
            let address = unsafe { <u64 as Source>::get(<u64 as Source>::place(lanes, inst.ops[0]), lane) };
            *targets.entry(address).or_default() |= 1 << lane;
        }
        let mut first = true;
        for (address, mask) in targets {
            let kernel = lanes.env.kernel;
            let code = windows::function_at(kernel.first_function, address)
                .and_then(|function| kernel.functions.get(&function).copied());
            let Some(code) = code else {
                let message = format!("call of 0x{address:x}, which is not a function of the module");
                lanes.fail(FaultKind::InvalidCall, mask.trailing_zeros(), Some(address), message);
                return false;
            };
            let at = if first {
                self.splits[index].mask = mask;
                index
            } else {
                self.frames.hold(split.frame);
                self.add(split.frame, split.pc, mask);
                self.splits.len() - 1
            };
            first = false;
            if !self.enter_function(at, code, call, lanes) {
                return false;
            }
        }
        true
    }

    /// `brx.idx`: threads with different targets go separate ways.
    pub(super) fn jump_table(
        &mut self,
        index: usize,
        targets: &[u32],
        inst: &Inst,
        lanes: &mut Lanes<'_>,
    ) -> bool {
        let split = self.splits[index];
        let mut masks: BTreeMap<u32, u32> = BTreeMap::new();
        for lane in bits(split.mask) {
            // SAFETY: `inst` is of the entered code, and the decoder made operand 0 of an indexed branch the index, a
            // word; lanes of a mask are below 32, and no other frame was entered since.
            let at = unsafe { <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[0]), lane) };
            let Some(target) = targets.get(at as usize) else {
                let message = format!("branch to target {at} of {}", targets.len());
                lanes.fail(FaultKind::InvalidCall, lane as u32, None, message);
                return false;
            };
            *masks.entry(*target).or_default() |= 1 << lane;
        }
        if let Some(profile) = &mut lanes.profile {
            let place = (self.frames.function(split.frame), split.pc as usize);
            masks.iter().for_each(|(target, mask)| profile.jumps(place, *target, mask.count_ones()));
        }
        let mut masks = masks.into_iter();
        if let Some((target, mask)) = masks.next() {
            (self.splits[index].pc, self.splits[index].mask) = (target, mask);
        }
        for (target, mask) in masks {
            self.frames.hold(split.frame);
            self.add(split.frame, target, mask);
        }
        true
    }

    /// What a function of the engine returns to a lane.
    fn give(&mut self, frame: usize, call: &Call, lane: usize, value: u64) {
        let result = call.returns.first().copied().unwrap_or(ParamRows { row: 0, rows: 0 });
        let rows = self.frames.rows_mut(frame, result.row, result.rows);
        for (row, word) in rows.iter_mut().zip([value as u32, (value >> 32) as u32]) {
            row.0[lane] = word;
        }
    }

    fn call_extern(&mut self, index: usize, function: Extern, call: &Call, lanes: &mut Lanes<'_>) -> bool {
        let split = self.splits[index];
        let code = self.frames.code(lanes.env.kernel, split.frame);
        let origin = code.origins.get(split.pc as usize).copied().unwrap_or_default();
        let argument = |warp: &Warp, number: usize, lane: usize| {
            let rows = call.args.get(number).copied().unwrap_or(ParamRows { row: 0, rows: 0 });
            let words = warp.frames.rows(split.frame, rows.row, rows.rows);
            let word = |at: usize| words.get(at).map_or(0, |row: &Row| u64::from(row.0[lane]));
            word(0) | word(1) << 32
        };
        for lane in bits(split.mask) {
            match function {
                Extern::Vprintf => {
                    let (format, values) = (argument(self, 0, lane), argument(self, 1, lane));
                    let Some(printed) = print::printf(lanes, lane, format, values) else { return false };
                    self.give(split.frame, call, lane, printed.into());
                }
                Extern::Malloc => {
                    let address = heap::malloc(lanes, lane, argument(self, 0, lane), origin);
                    self.give(split.frame, call, lane, address);
                }
                Extern::Free if !heap::free(lanes, lane, argument(self, 0, lane), origin) => return false,
                Extern::Free => {}
                Extern::SetConditional if lanes.order.as_ref().is_some_and(|order| !order.is_ordinary()) => {}
                Extern::SetConditional => {
                    conditions::set(argument(self, 0, lane), argument(self, 1, lane) as u32);
                }
                Extern::GraphLaunch => {
                    let (exec, stream) = (argument(self, 0, lane), argument(self, 1, lane));
                    let Some(code) = graphs::launch(lanes, lane, exec, stream) else { return false };
                    self.give(split.frame, call, lane, code.into());
                }
                Extern::NodeUpdate => {
                    let [node, field, a, b, c] = [0, 1, 2, 3, 4].map(|number| argument(self, number, lane));
                    let Some(code) = graphs::update(lanes, lane, node, field as u32, [a, b, c]) else {
                        return false;
                    };
                    self.give(split.frame, call, lane, code.into());
                }
                Extern::Runtime(function) => {
                    let word = |number: usize, at: usize| {
                        let rows = call.args.get(number).copied().unwrap_or(ParamRows { row: 0, rows: 0 });
                        let words = self.frames.rows(split.frame, rows.row, rows.rows);
                        words.get(at).map_or(0, |row: &Row| row.0[lane])
                    };
                    let Some(value) = device_calls::call(lanes, lane, function, origin, word) else {
                        return false;
                    };
                    self.give(split.frame, call, lane, value);
                }
                Extern::AssertFail => {
                    let [message, file, line, function] =
                        [0, 1, 2, 3].map(|number| argument(self, number, lane));
                    print::assert_fail(lanes, lane, message, file, line as u32, function);
                    return false;
                }
            }
        }
        if matches!(function, Extern::Runtime(DeviceRuntime::Launch | DeviceRuntime::LaunchAs))
            && let Some(mut watch) = lanes.watch.take()
        {
            watch.have_launched(lanes);
            lanes.watch = Some(watch);
        }
        self.splits[index].pc += 1;
        true
    }
}
