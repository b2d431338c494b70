//! Reads PTX, and the images that contain it, without a driver.
//!
//! - [`parse`] reads the structure of a PTX module: its directives, variables and functions with their signatures.
//!   Bodies are skipped, so that a module of megabytes takes milliseconds; [`Function::statements`] parses one of them
//!   into labels, declarations, and instructions with their operands. The parser knows no instruction names: a form
//!   that is newer than this crate parses like any other.
//! - [`outline`] reads only the signatures of kernels and the names of variables; a program that reads no more is linked without the parser.
//! - [`Function::parameters`] lists what a launch must pass: name, type, size and C offset of every parameter.
//! - [`image`] distinguishes PTX, cubins and fatbins and checks them completely before a driver sees them: drivers are
//!   not given a length and crash on most truncated or damaged files.
//!
//! The crate has no unsafe code and, without the feature `zstd`, no dependencies; whatever the input, it neither panics nor recurses without bound.
//!
//! # Example
//!
//! ```
//! let text = "
//! .version 7.8
//! .target sm_75
//! .address_size 64
//!
//! .visible .entry scale(
//!     .param .u64 .ptr .global .align 4 x,
//!     .param .u32 n,
//!     .param .align 8 .b8 factors[24]
//! )
//! .maxntid 256, 1, 1
//! {
//!     .reg .b32 %r<2>;
//!     ld.param.u32 %r1, [n];
//!     ret;
//! }
//! ";
//! let module = cuda_ptx::parse(text)?;
//! for kernel in module.functions.iter().filter(|f| f.kind == cuda_ptx::FunctionKind::Entry) {
//!     println!("{} takes {} bytes:", kernel.name, kernel.parameter_bytes());
//!     for p in kernel.parameters() {
//!         let array = if p.array { "[]" } else { "" };
//!         println!("  {:>3}: {} {}{array}, {} bytes", p.offset, p.ty, p.name, p.size);
//!     }
//! }
//! let scale = &module.functions[0];
//! assert_eq!(scale.parameters().iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>(), [(0, 8), (8, 4), (16, 24)]);
//! assert_eq!(scale.directives.maxntid, Some([256, 1, 1]));
//! assert_eq!(scale.statements()?.len(), 3);
//! # Ok::<(), cuda_ptx::ParseError>(())
//! ```
//!
//! # Errors
//!
//! ```
//! let error = cuda_ptx::parse(".version 8.0\n.target sm_90\n.global .u33 x;").unwrap_err();
//! assert_eq!(error.to_string(), "line 3, column 9: expected a type, found `.u33`");
//! assert_eq!(format!("{error:#}").lines().nth(1), Some(".global .u33 x;"));
//! assert_eq!(format!("{error:#}").lines().nth(2), Some("        ^"));
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

/// The example from the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod display;
mod error;
pub mod image;
mod layout;
mod lexer;
mod nearest;
mod number;
mod order;
mod parser;
mod registers;
mod section;
mod shared;
mod tree;
mod types;

pub use error::{ParseError, ParseErrorKind};
pub use layout::{Parameter, layout};
pub use nearest::nearest;
pub use order::in_order_of_names;
pub use parser::{KernelOutline, Outline, ParameterOutline, outline, parse, parse_function};
pub use registers::limit_registers;
pub use shared::{SharedMemory, SharedVariables};
pub use tree::*;
