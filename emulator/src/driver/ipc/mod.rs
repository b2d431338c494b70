//! Memory and events that processes on one machine share. Linux only.
//!
//! A handle is 64 bytes that say which process has which file open under which number. Who opens it finds that file below
//! `/proc`, as users may do with processes of their own, and looks whether it is the one that was meant: its name is part of no other
//! handle. A process that has ended, freed memory, and another user's process have no such file.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "its functions are not in the table there"))]

pub(super) mod event;
pub(super) mod handle;
pub(super) mod memory;
pub(super) mod process;
