//! Tables of arithmetic: operands, exact references, and what each instruction must give.

pub mod float;
pub mod nan;
pub mod operands;
pub mod table;

mod approximate;
mod conversions;
mod floats;
mod half;
mod integers;
mod integers64;
