//! `cuLogs*`: a line for every call that answered an error, the last hundred of them.
//!
//! Relies on the program's callbacks: they may be called with their data from any thread until they are taken off, and by a thread that
//! was about to call them just then. Nothing waits for such a thread: it may wait in its callback for whoever takes it off.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_char, c_uint, c_void};
use std::ptr::without_provenance_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::default_stream::on_no_stream;
use super::entry::{Buffer, INVALID_VALUE, Out, Outcome, Text, entries};
use super::errors::sentence;
use super::slot::{self, PerSlot, per_slot};
use super::state::{Call, lock};

entries! {
    cuLogsRegisterCallback(callback: CUlogsCallback, data: *mut c_void, handle: *mut CUlogsCallbackHandle) = register;
    cuLogsUnregisterCallback(handle: CUlogsCallbackHandle) = unregister;
    cuLogsCurrent(iterator: *mut CUlogIterator, flags: c_uint) = current;
    cuLogsDumpToFile(iterator: *mut CUlogIterator, path: *const c_char, flags: c_uint) = dump_to_file;
    cuLogsDumpToMemory(iterator: *mut CUlogIterator, buffer: *mut c_char, size: *mut usize, flags: c_uint) = dump_to_memory;
}

/// Lines that are kept.
const KEPT: usize = 100;

/// The log.
struct Log {
    lines: VecDeque<String>,
    /// Number of the next line.
    next: CUlogIterator,
    listeners: Vec<Listener>,
}

/// A callback of the program. The data is the program's, and only passed on.
#[derive(Clone, Copy)]
struct Listener {
    handle: usize,
    callback: unsafe extern "C" fn(*mut c_void, CUlogLevel, *mut c_char, usize),
    data: *mut c_void,
}

// SAFETY: whoever registers a callback answers for calls with this data from every thread, as the head of this file says; nobody here
// follows the pointer to its data.
unsafe impl Send for Listener {}

static LOG: PerSlot<Mutex<Log>> = per_slot!(Mutex::new(Log::new()));
/// Numbers the listeners.
static HANDLES: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// Whether this thread is in a callback: what goes wrong there is not logged, or it would never end.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Forgets the lines and who listens.
pub(super) fn clear() {
    let log = std::mem::replace(&mut *lock(&LOG), Log::new());
    drop(log);
}

/// Notes that a function answered an error.
#[cold]
pub(super) fn note(function: &str, code: CUresult) {
    if code == CUresult::CUDA_ERROR_NOT_READY || INSIDE.get() {
        return;
    }
    let line = format!("[CUDA][E] {function}: {code:?}: {}", sentence(code));
    let listeners = {
        let mut log = lock(&LOG);
        if log.lines.len() == KEPT {
            log.lines.pop_front();
        }
        log.lines.push_back(line.clone());
        log.next = log.next.wrapping_add(1);
        log.listeners.clone()
    };
    INSIDE.set(true);
    // The program's code works for no instance.
    let _outside = slot::enter(slot::PROCESS);
    let mut bytes = line.into_bytes();
    let length = bytes.len();
    bytes.push(0);
    for listener in listeners {
        // SAFETY: the program's function, registered with this data, and good for a call that began before it was taken off, as the head of
        // this file says; the message ends with a NUL and outlives the call.
        on_no_stream(|| unsafe {
            (listener.callback)(
                listener.data,
                CUlogLevel::CU_LOG_LEVEL_ERROR,
                bytes.as_mut_ptr().cast(),
                length,
            )
        });
    }
    INSIDE.set(false);
}

impl Log {
    const fn new() -> Log {
        Log { lines: VecDeque::new(), next: 0, listeners: Vec::new() }
    }

    /// The lines from that number on, as far as they are kept.
    fn since(&self, from: Option<CUlogIterator>) -> String {
        let missed = from.map_or(u32::MAX, |from| self.next.wrapping_sub(from)) as usize;
        let skipped = self.lines.len().saturating_sub(missed);
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
fn taken(iterator: &Out<CUlogIterator>, flags: c_uint) -> Outcome<String> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let log = lock(&LOG);
    let text = log.since(iterator.get());
    iterator.set(log.next);
    Ok(text)
}

fn dump_to_file(_: &Call, iterator: Out<CUlogIterator>, path: Text, flags: c_uint) -> Outcome {
    let path = path.name()?;
    std::fs::write(path, taken(&iterator, flags)?).map_err(|_| INVALID_VALUE)
}

fn dump_to_memory(
    _: &Call,
    iterator: Out<CUlogIterator>,
    buffer: Buffer,
    size: Out<usize>,
    flags: c_uint,
) -> Outcome {
    let room = size.get().filter(|size| *size > 0 && !buffer.is_null()).ok_or(INVALID_VALUE)?;
    let text = taken(&iterator, flags)?;
    // SAFETY: 1: by the function's contract the buffer has `room` bytes.
    unsafe { buffer.write(text.as_bytes(), room) };
    size.set(text.len().min(room - 1));
    Ok(())
}
