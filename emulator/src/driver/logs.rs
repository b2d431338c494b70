//! `cuLogs*`: a line for every call that returned an error and for every kernel that faulted, the last hundred of them.
//!
//! Relies on the program's callbacks (C7 in `entry`): they may be called with their data from any thread until they are taken off, and by a
//! thread that was about to call them just then. Nothing waits for such a thread: it may wait in its callback for whoever takes it off.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{c_char, c_uint, c_void};
use std::ptr::without_provenance_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::default_stream::on_no_stream;
use super::entry::{Buffer, INVALID_VALUE, Out, Outcome, Text, entries};
use super::errors::sentence;
use super::slot::{self, PerSlot, per_slot};
use super::state::{self, Call, lock};

// The last is always there, so that a program can say why `cuInit` failed.
entries! {
    cuLogsRegisterCallback(callback: CUlogsCallback, data: *mut c_void, handle: *mut CUlogsCallbackHandle) = register;
    cuLogsUnregisterCallback(handle: CUlogsCallbackHandle) = unregister;
    cuLogsCurrent(iterator: *mut CUlogIterator, flags: c_uint) = current;
    cuLogsDumpToFile(iterator: *mut CUlogIterator, path: *const c_char, flags: c_uint) = dump_to_file;
    cuLogsDumpToMemory(iterator: *mut CUlogIterator, buffer: *mut c_char, size: *mut usize, flags: c_uint) [always] = dump_to_memory;
}

/// Lines that are kept.
const KEPT: usize = 100;
/// What a line with advice begins with.
const HELP: &str = "help: ";

/// The log.
struct Log {
    lines: VecDeque<String>,
    /// Number of the next line.
    next: CUlogIterator,
    listeners: Vec<Listener>,
}

/// A callback of the program, with the data that was passed beside it: as C7 says. The data is only passed on.
#[derive(Clone, Copy)]
struct Listener {
    handle: usize,
    callback: unsafe extern "C" fn(*mut c_void, CUlogLevel, *mut c_char, usize),
    data: *mut c_void,
}

// SAFETY: a callback may be called from any thread with the data passed beside it, by C7; nothing here dereferences the pointer to its data.
unsafe impl Send for Listener {}

static LOG: PerSlot<Mutex<Log>> = per_slot!(Mutex::new(Log::new()));
/// Numbers the listeners.
static HANDLES: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// Whether this thread is in a callback: what goes wrong there is not logged, or it would never end.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Why the call that this thread is in answers an error, where there is more to say than its code does, and what to do.
    static REASON: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Removes all lines and listeners.
pub(super) fn clear() {
    let log = std::mem::replace(&mut *lock(&LOG), Log::new());
    drop(log);
}

/// The call that this thread is in answers an error because of this.
#[cold]
pub(super) fn because(reason: String) {
    // The thread may be ending, and its thread-local storage gone.
    let _ = REASON.try_with(|kept| kept.replace(vec![reason]));
}

/// What to do about that: the crate `cuda-launch` has it for its own advice.
#[cold]
pub(super) fn advise(what: &str) {
    let _ = REASON.try_with(|kept| kept.borrow_mut().push(format!("{HELP}{what}")));
}

/// The call succeeds all the same.
pub(super) fn forget() {
    let _ = REASON.try_with(RefCell::take);
}

/// Notes that a function answered an error: why, if that is known, and what it was, in the words of driver 580.
#[cold]
pub(super) fn note(function: &str, code: CUresult) {
    let reason = REASON.try_with(RefCell::take).ok();
    // In a forked child another thread of the parent may have the log forever.
    if code == CUresult::CUDA_ERROR_NOT_READY || state::is_forked() {
        return;
    }
    let name = code.name().unwrap_or_default();
    let answer = format!("Returning {} ({name}) from {function}: {}", code.0, sentence(code));
    let lines = reason.into_iter().flatten().chain([answer]);
    tell(lines.collect());
}

/// Writes lines to the log, one behind the other.
#[cold]
pub(super) fn tell(messages: Vec<String>) {
    if INSIDE.get() {
        return;
    }
    let lines: Vec<String> = messages.iter().map(|message| format!("[CUDA][E] {message}")).collect();
    let listeners = lock(&LOG).add(&lines);
    INSIDE.set(true);
    // The program's code works for no instance.
    let _outside = slot::enter(slot::PROCESS);
    for line in lines {
        let mut bytes = line.into_bytes();
        let length = bytes.len();
        bytes.push(0);
        for listener in &listeners {
            // SAFETY: by C7 the function may be called with the data passed beside it, until it is taken off, and by a thread that had copied it
            // before, as the head of this file says; it does not unwind. The message is `length` bytes and a NUL, this call's own, and outlives it.
            on_no_stream(|| unsafe {
                (listener.callback)(
                    listener.data,
                    CUlogLevel::CU_LOG_LEVEL_ERROR,
                    bytes.as_mut_ptr().cast(),
                    length,
                )
            });
        }
    }
    INSIDE.set(false);
}

impl Log {
    const fn new() -> Log {
        Log { lines: VecDeque::new(), next: 0, listeners: Vec::new() }
    }

    /// Adds lines; returns the listeners to be notified.
    fn add(&mut self, lines: &[String]) -> Vec<Listener> {
        for line in lines {
            if self.lines.len() == KEPT {
                self.lines.pop_front();
            }
            self.lines.push_back(line.clone());
            self.next = self.next.wrapping_add(1);
        }
        self.listeners.clone()
    }

    /// The lines from that number on, as far as they are kept; of those the last ones that have room, and one in any case.
    fn since(&self, from: Option<CUlogIterator>, room: usize) -> String {
        let missed = from.map_or(u32::MAX, |from| self.next.wrapping_sub(from)) as usize;
        let mut bytes = 0;
        let fits = |line: &&String| {
            let first = bytes == 0;
            bytes += line.len() + 1;
            first || bytes <= room
        };
        let last = self.lines.iter().rev().take(missed).take_while(fits).count();
        let skipped = self.lines.len() - last;
        self.lines.iter().skip(skipped).flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}

fn register(
    _: &Call,
    callback: CUlogsCallback,
    data: *mut c_void,
    handle: Out<CUlogsCallbackHandle>,
) -> Outcome {
    let (place, callback) = (handle.required()?, callback.ok_or(INVALID_VALUE)?);
    let handle = HANDLES.fetch_add(1, Ordering::Relaxed);
    lock(&LOG).listeners.push(Listener { handle, callback, data });
    place.set(without_provenance_mut(handle));
    Ok(())
}

fn unregister(_: &Call, handle: CUlogsCallbackHandle) -> Outcome {
    let mut log = lock(&LOG);
    let known = log.listeners.iter().position(|listener| listener.handle == handle.addr());
    log.listeners.remove(known.ok_or(INVALID_VALUE)?);
    Ok(())
}

fn current(_: &Call, iterator: Out<CUlogIterator>, flags: c_uint) -> Outcome {
    let place = iterator.required()?;
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    place.set(lock(&LOG).next);
    Ok(())
}

/// What comes after the iterator, which is moved to the end.
fn taken(iterator: &Out<CUlogIterator>, flags: c_uint, room: usize) -> Outcome<String> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let log = lock(&LOG);
    let text = log.since(iterator.get(), room);
    iterator.set(log.next);
    Ok(text)
}

fn dump_to_file(_: &Call, iterator: Out<CUlogIterator>, path: Text, flags: c_uint) -> Outcome {
    let path = path.path()?;
    std::fs::write(path, taken(&iterator, flags, usize::MAX)?).map_err(|_| INVALID_VALUE)
}

fn dump_to_memory(
    _: &Call,
    iterator: Out<CUlogIterator>,
    buffer: Buffer,
    size: Out<usize>,
    flags: c_uint,
) -> Outcome {
    let room = size.get().filter(|size| *size > 0 && !buffer.is_null()).ok_or(INVALID_VALUE)?;
    let text = taken(&iterator, flags, room - 1)?;
    // SAFETY: 1: the buffer is not null, and by C1 it has the bytes that `size` says, `room`.
    unsafe { buffer.write(text.as_bytes(), room) };
    size.set(text.len().min(room - 1));
    Ok(())
}
