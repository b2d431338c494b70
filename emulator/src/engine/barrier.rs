//! The sixteen barriers of a block.

use super::code::BarrierAction;

/// Barriers of a block.
const COUNT: usize = 16;

/// Threads of a warp that arrive at a barrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) warp: u32,
    pub(super) mask: u32,
    pub(super) id: u32,
    /// How many threads the barrier waits for; `None` for all of the block.
    pub(super) count: Option<u32>,
    pub(super) action: BarrierAction,
    /// Lanes whose predicate holds, for reductions.
    pub(super) votes: u32,
}

/// One barrier.
#[derive(Clone, Debug, Default)]
struct Phase {
    /// The threads that have arrived, by warp.
    arrived: Vec<u32>,
    /// The thread count that the first arrival gave.
    count: Option<u32>,
    active: bool,
    action: Option<BarrierAction>,
    votes: u32,
    against: bool,
}

/// The barriers of a block and the threads that can arrive at them.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    phases: Vec<Phase>,
    /// Threads that have not exited, by warp.
    live: Vec<u32>,
    /// Barriers that have opened and whose waiting threads have not been resumed: number and result of the reduction.
    opened: Vec<(u32, u32)>,
}

impl Barriers {
    /// Barriers of a block whose warps have these threads.
    pub(super) fn start(&mut self, live: impl Iterator<Item = u32>) {
        self.live.clear();
        self.live.extend(live);
        self.phases.clear();
        self.opened.clear();
    }

    /// Lets threads arrive; the error says what is wrong with that.
    pub(super) fn arrive(&mut self, arrival: Arrival) -> Result<(), String> {
        let Arrival { warp, mask, id, count, action, votes } = arrival;
        if id as usize >= COUNT {
            return Err(format!("barrier {id} does not exist: there are {COUNT}"));
        }
        if let Some(count) = count
            && (count == 0 || count % 32 != 0)
        {
            return Err(format!("barrier {id} cannot wait for {count} threads: not a multiple of 32"));
        }
        self.phases.resize(COUNT.max(self.phases.len()), Phase::default());
        let phase = &mut self.phases[id as usize];
        if !phase.active {
            phase.arrived.clear();
            phase.arrived.resize(self.live.len(), 0);
            *phase = Phase {
                arrived: std::mem::take(&mut phase.arrived),
                count,
                active: true,
                ..Phase::default()
            };
        }
        if phase.count != count {
            return Err(format!("threads of a block disagree on how many threads barrier {id} waits for"));
        }
        phase.arrived[warp as usize] |= mask;
        if !matches!(action, BarrierAction::Sync | BarrierAction::Arrive) {
            phase.action = Some(action);
            phase.votes += (votes & mask).count_ones();
            phase.against |= !votes & mask != 0;
        }
        self.check(id);
        Ok(())
    }

    /// Lets threads exit: no barrier waits for them any more.
    pub(super) fn exit(&mut self, warp: u32, mask: u32) {
        self.live[warp as usize] &= !mask;
        (0..self.phases.len() as u32).for_each(|id| self.check(id));
    }

    /// Opens a barrier if all threads that it waits for have arrived.
    fn check(&mut self, id: u32) {
        let phase = &mut self.phases[id as usize];
        if !phase.active {
            return;
        }
        let complete = match phase.count {
            None => phase.arrived.iter().zip(&self.live).all(|(arrived, live)| live & !arrived == 0),
            Some(count) => {
                // A warp whose live threads have all arrived counts as 32 threads, even if it has fewer.
                let weight = |(arrived, live): (&u32, &u32)| match *arrived {
                    0 => 0,
                    arrived if live & !arrived == 0 => 32,
                    arrived => arrived.count_ones(),
                };
                phase.arrived.iter().zip(&self.live).map(weight).sum::<u32>() >= count
            }
        };
        if complete {
            phase.active = false;
            let result = match phase.action {
                Some(BarrierAction::Popc) => phase.votes,
                Some(BarrierAction::And) => u32::from(!phase.against),
                Some(BarrierAction::Or) => u32::from(phase.votes != 0),
                _ => 0,
            };
            self.opened.push((id, result));
        }
    }

    /// The barriers that have opened since the last call.
    pub(super) fn take_opened(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.opened)
    }

    /// The warps that met at a barrier that has opened. If some have already arrived in its next phase, they cannot
    /// be told apart, and all are returned.
    pub(super) fn met(&self, id: u32) -> Vec<usize> {
        let Some(phase) = self.phases.get(id as usize) else { return Vec::new() };
        let all = phase.count.is_none() || phase.active;
        let arrived = phase.arrived.iter().enumerate().filter(|(_, mask)| all || **mask != 0);
        arrived.map(|(warp, _)| warp).collect()
    }

    /// Whether barriers have opened since they were last taken.
    pub(super) fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }
}
