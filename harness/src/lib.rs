//! For testing code that uses CUDA, with any driver: the system's, the emulator, or your own.
//!
//! [`Spy::over`] wraps a driver. Code that takes an `Arc<cuda_driver_sys::Driver>` takes the spy's
//! ([`Spy::driver`]), as does `CudaContext::with_driver` of `cuda-launch`. The spy
//!
//! - records [each call](Call), with its arguments by type and objects by names, and [launches](Launch) by the kernel's own parameter
//!   list;
//! - [makes calls fail](Fault), and [lacks functions](SpyOptions) as older drivers do;
//! - keeps a [`Ledger`] of objects that were not released, and of uses of destroyed objects.
//!
//! Based on this,
//!
//! - [`assert_calls!`], [`assert_no_calls!`] and [`assert_at_most!`] say which calls are expected, and [`assert_ordered!`] that one piece
//!   of work is done before another begins;
//! - [`every_failure`] runs a program once for each of its calls and each way in which that call can fail, and reports panics, hangs and
//!   leaks.
//!
//! For tests of asynchronous code: [`Hold`] stops a stream, [`wait_until`] waits for another thread, [`alone`] runs one test at a
//! time, [`child`] runs one in a separate process, and [`skipped`] reports that a test cannot check anything on this machine. For
//! Miri and for benchmarks: [`null`], a driver that does nothing.
//!
//! A spy sees the calls of all threads. Several spies in one process do not affect each other, so tests can run in parallel.
//!
//! # What it relies on
//!
//! A spy reads the memory that the arguments of a call point to, as the driver does. A program that breaks the contract of a
//! driver function (a dangling pointer, an argument list that is too short) has the same undefined behaviour with a spy as
//! without.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The example from the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod alone;
mod call;
#[cfg(feature = "check")]
#[doc(hidden)]
pub mod check;
pub mod child;
mod current;
mod decode;
mod effects;
#[rustfmt::skip]
mod enums;
mod environment;
mod error;
mod every_failure;
mod expect;
mod fault;
mod functions;
mod glob;
mod hold;
mod intercept;
#[doc(hidden)]
pub mod kernel;
mod kind;
mod launch;
mod ledger;
mod lists;
mod nodes;
pub mod null;
mod objects;
mod order;
mod ordered;
mod procs;
mod ptx_version;
mod read;
#[cfg(feature = "record")]
#[doc(hidden)]
pub mod record;
mod replace;
mod report;
mod rules;
mod shims;
mod short;
mod skip;
mod slots;
mod spy;
#[doc(hidden)]
pub mod stack;
mod until;
mod value;
mod word;

pub use alone::{Alone, alone, alone_within};
pub use call::{Call, Calls};
pub use environment::Environment;
pub use error::Error;
pub use every_failure::{CODES, EveryFailure, every_failure};
pub use expect::{Recorded, compare};
pub use fault::{Fault, Injected};
pub use hold::Hold;
pub use kind::Kind;
pub use launch::{Launch, LaunchAttribute, Parameter};
pub use ledger::{Entry, Ledger, Mistake, Problem};
pub use ordered::compare_order;
pub use replace::replaced;
pub use report::{Finding, Report, Site, What};
pub use skip::{SKIPPED_FILE, or_skip, skipped};
pub use spy::{Spy, SpyOptions};
pub use until::{wait_until, wait_until_within};
pub use value::{Argument, ObjectName, Value};
