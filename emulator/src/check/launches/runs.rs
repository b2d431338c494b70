//! The bytes that a piece of work accessed: sorted runs by host address, and which runs of two pieces of work conflict.

/// In which way bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// By ordinary loads and stores.
    Plain,
    /// By stores of what is there already.
    Silent,
    /// By atomics that read and write.
    Atomic,
    /// By volatile, relaxed, acquire and release loads and stores.
    Flag,
    /// By copies and fills.
    Copy,
    /// By streams that wait for numbers.
    Poll,
}

/// What two accesses to one byte, at least one of which writes, mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meeting {
    /// They are a race.
    Race,
    /// They may be how the two pieces of work synchronise.
    Synchronises,
    /// Nothing.
    Harmless,
}

impl AccessKind {
    /// `later` came after `self`, as the emulator ran them.
    fn meets(self, later: AccessKind) -> Meeting {
        use AccessKind::{Atomic, Copy, Flag, Poll, Silent};
        match (self, later) {
            (_, Silent) => Meeting::Harmless,
            (Poll, _) | (_, Poll) => Meeting::Synchronises,
            (Atomic | Flag, Atomic | Flag) | (Flag, Copy) | (Copy, Flag) => Meeting::Synchronises,
            _ => Meeting::Race,
        }
    }

    /// Whether others may learn of something by it.
    fn may_synchronise(self) -> bool {
        !matches!(self, AccessKind::Plain | AccessKind::Silent)
    }

    /// Whether it stands for the same bytes accessed in another way before.
    fn covers(self, before: AccessKind) -> bool {
        let is_usual = |kind| matches!(kind, AccessKind::Plain | AccessKind::Silent | AccessKind::Copy);
        self == before || is_usual(before) && matches!(self, AccessKind::Plain | AccessKind::Copy)
    }
}

/// Adjacent bytes, accessed in one way by one instruction or call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) kind: AccessKind,
    /// Who accessed them: a number that the owner of the list gives a meaning.
    pub(crate) by: u32,
}

/// Sorted, none of them empty, each byte in at most one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs(Vec<Run>);

impl Runs {
    /// Of runs in any order; where they overlap, the first one in the order of their starts counts.
    pub(crate) fn of(mut runs: Vec<Run>) -> Runs {
        runs.sort_by_key(|run| run.start);
        let mut all = Runs::default();
        for mut run in runs {
            run.start = run.start.max(all.0.last().map_or(0, |last| last.end));
            all.push(run);
        }
        all
    }

    /// Adds a run behind all others.
    pub(crate) fn push(&mut self, run: Run) {
        if run.start >= run.end {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == run.start && (last.kind, last.by) == (run.kind, run.by) => {
                last.end = run.end;
            }
            _ => self.0.push(run),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.0.iter()
    }

    /// From the first byte to the last one.
    fn bounds(&self) -> Option<(u64, u64)> {
        Some((self.0.first()?.start, self.0.last()?.end))
    }

    /// Takes out the bytes that `other` has in its place.
    fn cover(&mut self, other: &Runs) {
        self.take_out(other, |mine, run| run.kind.covers(mine.kind));
    }

    /// Takes out a range.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        let gone = Run { start, end, kind: AccessKind::Plain, by: 0 };
        self.take_out(&Runs(vec![gone]), |_, _| true);
    }

    fn take_out(&mut self, other: &Runs, takes: impl Fn(&Run, &Run) -> bool) {
        let (Some(mine), Some(others)) = (self.bounds(), other.bounds()) else { return };
        if mine.1 <= others.0 || others.1 <= mine.0 {
            return;
        }
        let mut left = Runs::default();
        for run in &self.0 {
            let mut rest = *run;
            for taken in other.over(run).filter(|taken| takes(run, taken)) {
                left.push(Run { end: taken.start.min(rest.end), ..rest });
                rest.start = rest.start.max(taken.end);
            }
            left.push(rest);
        }
        *self = left;
    }

    /// The runs that share bytes with that one.
    fn over(&self, run: &Run) -> impl Iterator<Item = &Run> {
        let from = self.0.partition_point(|other| other.end <= run.start);
        let end = run.end;
        self.0.iter().skip(from).take_while(move |other| other.start < end)
    }
}

/// What a piece of work accessed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    pub(crate) reads: Runs,
    pub(crate) writes: Runs,
}

/// Bytes that two pieces of work share, and the runs that they are in, of the earlier one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) by: [u32; 2],
    /// Which of the two writes.
    pub(super) writes: [bool; 2],
}

/// How two pieces of work that nothing orders meet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    /// Races: one for each pair of instructions or calls.
    pub(super) clashes: Vec<Clash>,
    /// Whether they may have synchronised.
    pub(super) synchronised: bool,
}

impl Reach {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.reads.len() + self.writes.len()
    }

    /// Whether it is certain that the two share no bytes.
    pub(super) fn is_apart(&self, other: &Reach) -> bool {
        let bounds = |reach: &Reach| {
            let all = [reach.reads.bounds(), reach.writes.bounds()].into_iter().flatten();
            all.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
        };
        bounds(self).zip(bounds(other)).is_none_or(|(one, other)| one.1 <= other.0 || other.1 <= one.0)
    }

    /// Whether others may learn of something by what it does.
    pub(super) fn may_synchronise(&self) -> bool {
        self.reads.iter().chain(self.writes.iter()).any(|run| run.kind.may_synchronise())
    }

    /// Takes out what a later piece of work has accessed as well: whoever is to be behind this one has to be behind that one.
    pub(super) fn cover(&mut self, later: &Reach) {
        self.writes.cover(&later.writes);
        self.reads.cover(&later.writes);
        self.reads.cover(&later.reads);
    }

    /// Takes out a range.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        self.reads.forget(start, end);
        self.writes.forget(start, end);
    }

    /// How a later piece of work meets this one.
    pub(super) fn meet(&self, later: &Reach) -> Met {
        let mut met = Met::default();
        meet(&mut met, (&self.writes, true), (&later.writes, true));
        meet(&mut met, (&self.writes, true), (&later.reads, false));
        meet(&mut met, (&self.reads, false), (&later.writes, true));
        met
    }
}

fn meet(met: &mut Met, (earlier, first): (&Runs, bool), (later, second): (&Runs, bool)) {
    let (Some(one), Some(other)) = (earlier.bounds(), later.bounds()) else { return };
    if one.1 <= other.0 || other.1 <= one.0 {
        return;
    }
    for run in later.iter() {
        for before in earlier.over(run) {
            match before.kind.meets(run.kind) {
                Meeting::Harmless => {}
                Meeting::Synchronises => met.synchronised = true,
                Meeting::Race => {
                    let (start, end) = (run.start.max(before.start), run.end.min(before.end));
                    let clash = Clash { start, end, by: [before.by, run.by], writes: [first, second] };
                    if !met.clashes.iter().any(|known| known.by == clash.by) {
                        met.clashes.push(clash);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, end: u64, kind: AccessKind) -> Run {
        Run { start, end, kind, by: 0 }
    }

    fn runs(list: &[(u64, u64)]) -> Runs {
        Runs::of(list.iter().map(|(start, end)| run(*start, *end, AccessKind::Plain)).collect())
    }

    fn reach(reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Reach {
        Reach { reads: runs(reads), writes: runs(writes) }
    }

    #[test]
    fn neighbours_become_one_run() {
        assert_eq!(runs(&[(8, 12), (0, 4), (4, 8), (2, 6)]), runs(&[(0, 12)]));
        assert_eq!(runs(&[(0, 4), (5, 6)]).len(), 2);
    }

    #[test]
    fn what_is_accessed_again_is_taken_out() {
        let mut all = runs(&[(0, 10), (20, 30), (40, 50)]);
        all.cover(&runs(&[(2, 4), (6, 7), (15, 25), (40, 50)]));
        assert_eq!(all, runs(&[(0, 2), (4, 6), (7, 10), (25, 30)]));
        all.forget(5, 28);
        assert_eq!(all, runs(&[(0, 2), (4, 5), (28, 30)]));
        let mut plain = runs(&[(0, 4)]);
        plain.cover(&Runs::of(vec![run(0, 4, AccessKind::Atomic)]));
        assert_eq!(plain, runs(&[(0, 4)]), "an atomic access does not stand for an ordinary one");
        let mut atomic = Runs::of(vec![run(0, 4, AccessKind::Atomic)]);
        atomic.cover(&runs(&[(0, 4)]));
        assert_eq!(atomic.len(), 1, "nor the other way around");
    }

    #[test]
    fn accesses_meet_where_one_writes() {
        let clashes = |one: &Reach, other: &Reach| {
            one.meet(other).clashes.iter().map(|clash| (clash.start, clash.end)).collect::<Vec<_>>()
        };
        let (reader, writer) = (reach(&[(0, 8)], &[]), reach(&[], &[(6, 20)]));
        assert_eq!(clashes(&reader, &writer), [(6, 8)]);
        assert_eq!(clashes(&writer, &reader), [(6, 8)]);
        assert_eq!(clashes(&reader, &reader), []);
        assert_eq!(clashes(&writer, &reach(&[], &[(20, 30)])), []);
    }

    #[test]
    fn atomics_and_flags_are_no_races_but_copies_beside_atomics_are() {
        let by = |kind| Reach { writes: Runs::of(vec![run(0, 4, kind)]), reads: Runs::default() };
        let met = |one, other| {
            let Met { clashes, synchronised } = by(one).meet(&by(other));
            (clashes.len(), synchronised)
        };
        for (one, other) in [
            (AccessKind::Atomic, AccessKind::Atomic),
            (AccessKind::Atomic, AccessKind::Flag),
            (AccessKind::Flag, AccessKind::Copy),
            (AccessKind::Plain, AccessKind::Poll),
        ] {
            assert_eq!((met(one, other), met(other, one)), ((0, true), (0, true)), "{one:?} {other:?}");
        }
        for (one, other) in [
            (AccessKind::Atomic, AccessKind::Copy),
            (AccessKind::Plain, AccessKind::Atomic),
            (AccessKind::Copy, AccessKind::Copy),
            (AccessKind::Flag, AccessKind::Plain),
        ] {
            assert_eq!((met(one, other), met(other, one)), ((1, false), (1, false)), "{one:?} {other:?}");
        }
        assert_eq!(
            (met(AccessKind::Plain, AccessKind::Silent), met(AccessKind::Silent, AccessKind::Plain)),
            ((0, false), (1, false))
        );
    }
}
