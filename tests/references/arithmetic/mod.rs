//! Tables of arithmetic: operands, exact references, and what each instruction must give.

#![allow(unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::precedence)] // Bits are shifted and joined all over.

pub mod float;
pub mod nan;
pub mod operands;
pub mod table;

mod approximate;
mod carries;
mod conversions;
mod floats;
mod half;
mod integers;
mod integers64;
