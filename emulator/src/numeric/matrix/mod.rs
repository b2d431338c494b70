//! Products of small matrices (PTX ISA, "Warp-level Matrix Instructions"): the results of the matrix units of an
//! H200.
//!
//! A tile is the part that `mma` computes at once: eight rows of A by eight columns of B. The columns of A, which are
//! the rows of B, come in any order that is the same for both, four by four: [`Left`] and [`Right`] are laid out as the
//! registers of a warp are, so that a conversion is a loop over 32 lanes, and a row of the result one over 8 columns.
//!
//! Floats are not rounded according to IEEE 754: [`float`] has the rules, and [`sixteen`] is the same for whole matrices of 16 bits. [`double`] is a chain of fused operations,
//! [`integer`] is exact. `EXACTNESS.md` explains how all of this was determined.

pub mod double;
pub mod float;
mod format;
pub mod integer;
pub mod sixteen;

/// Eight rows of A: element `plane`, lane `row * 4 + t` is multiplied with element `plane`, `t` of [`Right`].
pub type Left<T, const P: usize> = [[T; 32]; P];

/// Eight columns of B: element `plane`, `t`, column.
pub type Right<T, const P: usize> = [[[T; 8]; 4]; P];

/// Eight rows of C or D.
pub type Tile<T> = [[T; 8]; 8];

/// A register of a warp as B has it, lane `column * 4 + t`, in the order of [`Right`].
#[inline(always)]
pub fn transposed<T: Copy + Default>(lanes: &[T; 32]) -> [[T; 8]; 4] {
    let mut columns = [[T::default(); 8]; 4];
    for column in 0..8 {
        for t in 0..4 {
            columns[t][column] = lanes[column * 4 + t];
        }
    }
    columns
}
