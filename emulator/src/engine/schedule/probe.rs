//! Whether a warp can get any further while nothing changes memory.

use std::collections::BTreeMap;

use super::delayed_stores::WarpKey;

/// How often a warp must return to a state before it counts as a cycle.
const RETURNS: u32 = 2;
/// The number of turns after which a warp that only polls memory counts as waiting, although its registers change.
const POLLS: u32 = 64;

/// The observations of one warp.
#[derive(Default)]
struct Trace {
    /// The state that is compared with, and how many turns ago it was.
    mark: u64,
    age: u32,
    /// Turns until another state is marked: each time twice as many, so that a circle of any length is found.
    span: u32,
    returns: u32,
    polls: u32,
}

/// The observations of all warps since memory last changed.
#[derive(Default)]
pub(super) struct Probe(BTreeMap<WarpKey, Trace>);

impl Probe {
    /// Records that a warp ended a turn in that state; `polls` means that it mostly polled memory.
    pub(super) fn note(&mut self, warp: WarpKey, state: u64, polls: bool) {
        let trace = self.0.entry(warp).or_default();
        trace.polls = if polls { trace.polls + 1 } else { 0 };
        if trace.span > 0 && trace.mark == state {
            trace.returns += 1;
            trace.age = 0;
            return;
        }
        trace.age += 1;
        if trace.age >= trace.span {
            (trace.mark, trace.age, trace.returns) = (state, 0, 0);
            trace.span = (trace.span * 2).max(1);
        }
    }

    /// Whether a warp repeats a cycle of states.
    pub(super) fn is_stuck(&self, warp: WarpKey) -> bool {
        self.0.get(&warp).is_some_and(|trace| trace.returns >= RETURNS || trace.polls >= POLLS)
    }

    /// Memory has changed.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuck_after(states: impl Iterator<Item = u64>) -> Option<usize> {
        let mut probe = Probe::default();
        states.take(1000).enumerate().find_map(|(turn, state)| {
            probe.note((0, 0), state, false);
            probe.is_stuck((0, 0)).then_some(turn)
        })
    }

    #[test]
    fn circles_are_found_and_lines_are_not() {
        assert!(stuck_after(std::iter::repeat(7)).is_some());
        for length in [2, 3, 5, 12, 40] {
            assert!(stuck_after((0..).map(|turn| turn % length)).is_some(), "{length}");
            assert!(
                stuck_after((0..).map(|turn| 100 + turn).take(30).chain((0..).map(|turn| turn % length)))
                    .is_some()
            );
        }
        assert_eq!(stuck_after(0..), None);
    }

    #[test]
    fn who_only_looks_is_stuck_in_the_end() {
        let mut probe = Probe::default();
        for turn in 0..POLLS {
            assert!(!probe.is_stuck((0, 0)));
            probe.note((0, 0), u64::from(turn), true);
        }
        assert!(probe.is_stuck((0, 0)));
        probe.clear();
        assert!(!probe.is_stuck((0, 0)));
    }
}
