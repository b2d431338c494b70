//! An await compares the process's number at each poll, to notice a fork, and does not ask the system for it: that would be a system call,
//! since the C library does not remember it. The program's own `getpid` counts here, which takes the place of the C library's.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#![allow(unsafe_code)] // A function of the C library's name, and a system call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "operation_support/mod.rs"]
mod support;

use cuda_launch::operation::{DeviceOperation, SingleStream, block_on, set_inline_wait, zeroed};
use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use support::{context, poll_once};

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

#[cfg(target_arch = "x86_64")]
const GETPID: c_long = 39;
#[cfg(target_arch = "aarch64")]
const GETPID: c_long = 172;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

// SAFETY: the C library's function of this name: the same signature, and the same answer.
#[unsafe(no_mangle)]
extern "C" fn getpid() -> c_int {
    ASKED.set(ASKED.get() + 1);
    // SAFETY: getpid takes nothing and always succeeds.
    unsafe { syscall(GETPID) as c_int }
}

/// How often this thread asks meanwhile.
fn asked<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = ASKED.get();
    let result = work();
    (ASKED.get() - before, result)
}

#[test]
fn a_pending_await_does_not_ask_for_the_process() {
    assert_eq!(asked(std::process::id).0, 1, "the standard library asks another function");
    set_inline_wait(Duration::ZERO);
    let ctx = context();
    let stream = ctx.new_stream().unwrap();
    let (go, may_go) = mpsc::channel::<()>();
    stream.call_host(move || _ = may_go.recv()).unwrap();
    let mut future = zeroed::<u32>(100).schedule(Arc::new(SingleStream::new(&stream))).future();
    assert!(poll_once(&mut future).is_pending());
    for _ in 0..3 {
        let (count, poll) = asked(|| poll_once(&mut future));
        assert!(poll.is_pending());
        assert_eq!(count, 0, "a poll asks the system");
    }
    drop(go);
    let memory = block_on(future).unwrap();
    assert_eq!(memory.to_host_vec(&stream).unwrap(), [0; 100]);
}
