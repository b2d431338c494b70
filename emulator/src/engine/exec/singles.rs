//! `.f32` arithmetic rounded to nearest, eight lanes at once. Two such instructions in a row can run as one: a result of the first that the second
//! needs is still in registers then.

use super::super::code::Exec;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::super::code::ExecPair;
use super::alu::{Lane, Single, lane2, lane3};
use crate::numeric::fp32;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::numeric::rounding::Mode;
use crate::numeric::rounding::Rounding;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vector;

impl Single {
    /// The instruction with that rounding, with `.ftz` or without.
    pub(crate) const fn lane<R: Rounding + 'static, const FTZ: bool>(self) -> Lane {
        let lane = match self {
            Single::Add => lane2(fp32::add::<R, FTZ, false>),
            Single::Sub => lane2(fp32::sub::<R, FTZ, false>),
            Single::Mul => lane2(fp32::mul::<R, FTZ, false>),
            Single::Fma => lane3(fp32::fma::<R, FTZ, false>),
        };
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if matches!(R::MODE, Mode::Nearest) && !FTZ {
            let fast: Exec = match self {
                Single::Add => vector::alone::<vector::Add>,
                Single::Sub => vector::alone::<vector::Sub>,
                Single::Mul => vector::alone::<vector::Mul>,
                Single::Fma => vector::alone::<vector::Fma>,
            };
            return Lane { exec: ExecPair { fast, ..lane.exec }, single: Some(self), ..lane };
        }
        lane
    }

    /// This instruction and then the other, of which the sources in `links`, a bit for each, are the result of this one. `None` where there is no such
    /// function: of two factors the first one is the result.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(crate) fn then(self, other: Single, links: u32) -> Option<Exec> {
        match self {
            Single::Add => vector::then::<vector::Add>(other, links),
            Single::Sub => vector::then::<vector::Sub>(other, links),
            Single::Mul => vector::then::<vector::Mul>(other, links),
            Single::Fma => vector::then::<vector::Fma>(other, links),
        }
    }

    /// There are vectors only on x86.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pub(crate) fn then(self, _other: Single, _links: u32) -> Option<Exec> {
        None
    }

    /// Whether its first two sources can be exchanged.
    pub(crate) fn commutes(self) -> bool {
        self != Single::Sub
    }
}
