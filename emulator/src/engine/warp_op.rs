//! Which instructions the lanes of a warp do together.

/// How `shfl` finds its source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    /// `.up`
    Up,
    /// `.down`
    Down,
    /// `.bfly`
    Butterfly,
    /// `.idx`
    Index,
}

/// What `redux` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// `.add`
    Add,
    /// `.min.u32`
    MinUnsigned,
    /// `.max.u32`
    MaxUnsigned,
    /// `.min.s32`
    MinSigned,
    /// `.max.s32`
    MaxSigned,
    /// `.and`
    And,
    /// `.or`
    Or,
    /// `.xor`
    Xor,
}

/// Warp-wide instructions. Members wait for each other only at equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOp {
    /// `bar.warp.sync`
    Barrier,
    /// `shfl.sync`: destination, predicate, value, b, c.
    Shuffle(Shuffle),
    /// `vote.sync.all`: predicate, predicate.
    All,
    /// `vote.sync.any`
    Any,
    /// `vote.sync.uni`
    Uniform,
    /// `vote.sync.ballot`: destination, predicate.
    Ballot,
    /// `match.any.sync`: destination, value of 64 bits or not.
    MatchAny(bool),
    /// `match.all.sync`: destination, predicate, value of 64 bits or not.
    MatchAll(bool),
    /// `redux.sync`: destination, value.
    Redux(Reduction),
    /// `elect.sync`: destination, predicate.
    Elect,
    /// A matrix instruction, which all lanes of a warp execute together.
    Matrix,
}

impl WarpOp {
    /// Operands before the sources, which end with the member mask.
    pub(crate) fn dests(self) -> usize {
        match self {
            WarpOp::Barrier | WarpOp::Matrix => 0,
            WarpOp::Shuffle(_) | WarpOp::MatchAll(_) | WarpOp::Elect => 2,
            _ => 1,
        }
    }

    /// Index of the member mask among the operands.
    pub(crate) fn members_at(self) -> usize {
        self.dests()
            + match self {
                WarpOp::Barrier | WarpOp::Elect | WarpOp::Matrix => 0,
                WarpOp::Shuffle(_) => 3,
                _ => 1,
            }
    }

    /// What it is called in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WarpOp::Barrier => "bar.warp.sync",
            WarpOp::Shuffle(_) => "shfl.sync",
            WarpOp::All | WarpOp::Any | WarpOp::Uniform | WarpOp::Ballot => "vote.sync",
            WarpOp::MatchAny(_) | WarpOp::MatchAll(_) => "match.sync",
            WarpOp::Redux(_) => "redux.sync",
            WarpOp::Elect => "elect.sync",
            WarpOp::Matrix => "a matrix instruction",
        }
    }
}
