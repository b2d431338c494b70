//! Barriers that the threads of a warp must execute together: `bar`, and the `.aligned` forms of `barrier`.
//!
//! Threads that the scheduler, not a branch, has separated count as together once all have reached the same instruction: the first wait for
//! the rest of their warp. If the rest cannot get there, because it waits at another such barrier or because nothing in the cluster can run,
//! the program is wrong. Each part then arrives separately, which is reported to the watch.

use super::super::code::{Control, Inst};
use super::super::exec::lanes::Lanes;
use super::{BlockState, Split, State, Warp};

impl Warp {
    /// Whether a split that stands at an aligned barrier is all of its warp. If not, it waits for the rest.
    pub(super) fn has_come(&mut self, index: usize, control: &Control, lanes: &mut Lanes<'_>) -> bool {
        if lanes.watch.is_some() && matches!(control, Control::Barrier(_)) {
            self.come_without_others(index, lanes);
        }
        let is_all = self.splits[index].mask == self.live();
        if !is_all {
            self.splits[index].state = State::Rest;
        }
        is_all
    }

    /// Lets the splits arrive that wait for each other, if none can run: whether there were any. The error is the one that made a fault.
    pub(super) fn come_together(
        &mut self,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> Result<bool, Split> {
        if self.splits.iter().all(|split| split.state == State::Rest) {
            self.go_alone();
        }
        if !self.splits.iter().any(|split| split.state == State::Alone) {
            return Ok(false);
        }
        self.join_alone(lanes);
        while let Some(index) = self.splits.iter().position(|split| split.state == State::Alone) {
            let code = self.enter(index, lanes);
            let split = self.splits[index];
            self.splits[index].state = State::Ready;
            let inst = &code.insts[split.pc as usize];
            let arrived = code
                .controls
                .get(inst.imm as usize)
                .is_some_and(|control| self.arrive(index, control, inst, lanes, around));
            if !arrived {
                return Err(split);
            }
        }
        Ok(true)
    }

    /// Makes splits that wait for the rest of their warp stop waiting. Returns whether there were any.
    pub(in crate::engine) fn go_alone(&mut self) -> bool {
        let mut parted = false;
        for split in self.splits.iter_mut().filter(|split| split.state == State::Rest) {
            (split.state, parted) = (State::Alone, true);
        }
        parted
    }

    /// Makes one split of those that are about to arrive at one place. Those that called its function one after the other are united only at the place
    /// of the first: where there are several places the program is wrong, and the watch is told; what each part brings to a barrier is added up.
    fn join_alone(&mut self, lanes: &Lanes<'_>) {
        let all = |splits: &[Split]| -> Vec<usize> {
            (0..splits.len()).filter(|index| splits[*index].state == State::Alone).collect()
        };
        self.unite(&all(&self.splits), lanes);
        let mut rest = all(&self.splits);
        while let Some(last) = rest.pop() {
            let split = self.splits[last];
            let same = |index: &usize| {
                let other = self.splits[*index];
                (other.frame, other.pc) == (split.frame, split.pc)
            };
            if let Some(into) = rest.iter().copied().find(same) {
                self.splits[into].mask |= split.mask;
                self.frames.join(split.frame, 1);
                self.splits.remove(last);
            }
        }
    }

    /// The threads of a split, which was entered, arrive at a barrier, or wait at that of the cluster. False after a fault.
    pub(super) fn arrive(
        &mut self,
        index: usize,
        control: &Control,
        inst: &Inst,
        lanes: &mut Lanes<'_>,
        around: &mut BlockState<'_>,
    ) -> bool {
        match control {
            Control::Barrier(barrier) => return self.barrier(index, *barrier, inst, lanes, around),
            Control::ClusterArrive { aligned, released } => {
                self.cluster_arrive(index, (*aligned, *released), lanes, around);
            }
            _ => self.cluster_wait(index, lanes, around),
        }
        true
    }
}
