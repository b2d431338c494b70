//! Memory and events of several processes where one lacks descriptors, may have no long files, becomes another program or loses its first
//! thread: the other process is a test of this file again.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/other.rs"]
mod other;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use other::*;
use std::ffi::{c_int, c_long};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use support::*;

const OUT_OF_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;
const LOST: CUresult = CUresult::CUDA_ERROR_EXTERNAL_DEVICE;
const LAZY: u32 = 1;
const SHARED: u32 = 4 | 2;

/// What the other process does; nothing where this is the first one.
#[test]
fn the_other_process() {
    if let Ok(part) = std::env::var(PART) {
        play(&part);
    }
}

fn play(part: &str) {
    if part == "loses its first thread" {
        return loses_its_first_thread();
    }
    let (cuda, _) = with_own_context();
    match part {
        "starved" => starved(&cuda),
        "exports much" => exports_much(&cuda),
        "has short files" => has_short_files(&cuda),
        "becomes another" => becomes_another(&cuda),
        "exports" => {
            tell(&to_hex(handle_of(&cuda, alloc(&cuda, 8)).unwrap()));
            told();
        }
        other => panic!("{other}"),
    }
}

/// All descriptors that this process may still have.
fn all_descriptors() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// What the log has told, and nothing more of it.
fn log(cuda: &Driver) -> String {
    let (mut text, mut size) = (vec![0_u8; 25_601], 25_601);
    ok(unsafe { cuda.cuLogsDumpToMemory(null_mut(), text.as_mut_ptr().cast(), &mut size, 0) });
    String::from_utf8_lossy(&text[..size]).into_owned()
}

/// Waits for another process, and opens its memory, without any descriptor left.
fn starved(cuda: &Driver) {
    let event = open_event(cuda, from_hex(&told())).unwrap();
    let memory = from_hex(&told());
    let stream = stream(cuda, 1);
    ok(unsafe { cuda.cuStreamWaitEvent(stream, event, 0) });
    let all = all_descriptors();
    // Longer than a process is not looked after.
    for _ in 0..4 {
        thread::sleep(Duration::from_millis(30));
        assert_eq!(unsafe { cuda.cuEventQuery(event) }, NOT_READY);
    }
    assert_eq!(unsafe { cuda.cuStreamQuery(stream) }, NOT_READY);
    assert_eq!(open(cuda, memory, LAZY), Err(OUT_OF_MEMORY));
    drop(all);
    assert!(log(cuda).contains("ulimit -n"), "{}", log(cuda));
    open(cuda, memory, LAZY).unwrap();
    tell("waits");
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    tell("done");
}

#[test]
fn who_has_no_descriptor_left_still_waits() {
    let (cuda, _) = with_own_context();
    let (event, memory, stream) = (event(&cuda, SHARED), alloc(&cuda, 8), stream(&cuda, 1));
    let handles = [event_handle(&cuda, event).unwrap(), handle_of(&cuda, memory).unwrap()];
    let mut busy = Busy::new(&cuda, stream);
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    let mut other = Other::start_limited("starved", "-n 64");
    handles.iter().for_each(|handle| other.say(&to_hex(*handle)));
    assert_eq!(other.hear(), "waits");
    busy.release();
    assert_eq!(other.hear(), "done");
}

/// Exports until there are no descriptors left, for which it is told why.
fn exports_much(cuda: &Driver) {
    let mut exported = Vec::new();
    let code = loop {
        let memory = alloc(cuda, 8);
        exported.push(memory);
        if let Err(code) = handle_of(cuda, memory) {
            break code;
        }
    };
    assert!(code == OUT_OF_MEMORY && exported.len() < 64, "{code:?} {}", exported.len());
    let mut event = null_mut();
    assert_eq!(unsafe { cuda.cuEventCreate(&mut event, SHARED) }, OUT_OF_MEMORY);
    assert_eq!(pool(cuda), Err(OUT_OF_MEMORY));
    assert_eq!(created(cuda), Err(OUT_OF_MEMORY));
    assert_eq!(log(cuda).matches("ulimit -n").count(), 4, "{}", log(cuda));
    // What it has stays of use.
    for memory in exported {
        write(cuda, memory, &[7; 8]);
        assert_eq!(read(cuda, memory, 8), [7; 8]);
        ok(unsafe { cuda.cuMemFree(memory) });
    }
    handle_of(cuda, alloc(cuda, 8)).unwrap();
    tell("done");
}

fn pool(cuda: &Driver) -> Result<CUmemoryPool, CUresult> {
    let mut properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        ..Default::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let mut pool = null_mut();
    match unsafe { cuda.cuMemPoolCreate(&mut pool, &properties) } {
        CUresult::SUCCESS => Ok(pool),
        code => Err(code),
    }
}

/// Two MiB of device memory that can be exported.
fn created(cuda: &Driver) -> Result<CUmemGenericAllocationHandle, CUresult> {
    let mut properties = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        ..Default::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let mut handle = 0;
    match unsafe { cuda.cuMemCreate(&mut handle, 2 << 20, &properties, 0) } {
        CUresult::SUCCESS => Ok(handle),
        code => Err(code),
    }
}

#[test]
fn the_lack_of_descriptors_is_told() {
    assert_eq!(Other::start_limited("exports much", "-n 64").hear(), "done");
}

/// A file that is longer than is allowed ends a process by a signal.
fn has_short_files(cuda: &Driver) {
    assert_eq!(handle_of(cuda, alloc(cuda, 4 << 20)), Err(OUT_OF_MEMORY));
    assert_eq!(created(cuda), Err(OUT_OF_MEMORY));
    assert_eq!(log(cuda).matches("ulimit -f").count(), 2, "{}", log(cuda));
    handle_of(cuda, alloc(cuda, 4096)).unwrap();
    event(cuda, SHARED);
    // A pool has as much as a file may.
    let (pool, mut memory) = (pool(cuda).unwrap(), 0);
    ok(unsafe { cuda.cuMemAllocFromPoolAsync(&mut memory, 4096, pool, null_mut()) });
    let code = unsafe { cuda.cuMemAllocFromPoolAsync(&mut 0, 4 << 20, pool, null_mut()) };
    assert_eq!(code, OUT_OF_MEMORY);
    write(cuda, memory, &[1; 4096]);
    tell("done");
}

#[test]
fn a_limit_of_files_ends_no_process() {
    assert_eq!(Other::start_limited("has short files", "-f 1024").hear(), "done");
}

/// Records an event behind work that never ends, and becomes another program.
fn becomes_another(cuda: &Driver) {
    let (memory, event, stream) = (alloc(cuda, 8), event(cuda, SHARED), stream(cuda, 1));
    let handle = handle_of(cuda, memory).unwrap();
    let _busy = Busy::new(cuda, stream);
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    tell(&to_hex(event_handle(cuda, event).unwrap()));
    tell(&to_hex(handle));
    told();
    panic!(
        "{}",
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_other_process", "--nocapture", "--test-threads=1"])
            .env(PART, "exports")
            .exec()
    );
}

#[test]
fn a_process_that_becomes_another_program_is_another() {
    let (cuda, _) = with_own_context();
    let mut other = Other::start("becomes another");
    let [event, memory] = [0; 2].map(|_| from_hex(&other.hear()));
    let event = open_event(&cuda, event).unwrap();
    assert_eq!(unsafe { cuda.cuEventQuery(event) }, NOT_READY);
    other.say("go on");
    let new = from_hex(&other.hear());
    // One allocation of each program, of the same number.
    assert_eq!(open(&cuda, memory, LAZY), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    let told = format!("process {} no longer has what the handle refers to", other.child.id());
    assert!(log(&cuda).contains(&told), "{}", log(&cuda));
    ok(unsafe { cuda.cuIpcCloseMemHandle(open(&cuda, new, LAZY).unwrap()) });
    assert_eq!(unsafe { cuda.cuEventSynchronize(event) }, LOST);
}

unsafe extern "C" {
    fn fork() -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

/// `SYS_exit`, of one thread.
const EXIT: c_long = if cfg!(target_arch = "x86_64") { 60 } else { 93 };

/// Of a fork this is the first thread, which ends; another one does the work.
fn loses_its_first_thread() {
    if unsafe { fork() } > 0 {
        loop {
            thread::park();
        }
    }
    thread::spawn(|| {
        while !std::fs::read_to_string("/proc/self/stat").unwrap().contains(") Z ") {
            thread::yield_now();
        }
        let (cuda, _) = with_own_context();
        let (memory, event, stream) = (alloc(&cuda, 8), event(&cuda, SHARED), stream(&cuda, 1));
        let mut busy = Busy::new(&cuda, stream);
        ok(unsafe { cuda.cuMemsetD8Async(memory, 5, 8, stream) });
        ok(unsafe { cuda.cuEventRecord(event, stream) });
        tell(&to_hex(event_handle(&cuda, event).unwrap()));
        tell(&to_hex(handle_of_busy(&cuda, memory, &mut busy)));
        told();
        std::process::exit(0);
    });
    let status: c_int = 0;
    unsafe { syscall(EXIT, status) };
}

/// The first export waits for all work.
fn handle_of_busy(cuda: &Driver, memory: CUdeviceptr, busy: &mut Busy) -> Bytes {
    told();
    busy.release();
    handle_of(cuda, memory).unwrap()
}

#[test]
fn a_process_goes_on_without_its_first_thread() {
    let (cuda, _) = with_own_context();
    let mut other = Other::start("loses its first thread");
    let event = open_event(&cuda, from_hex(&other.hear())).unwrap();
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(30));
        assert_eq!(unsafe { cuda.cuEventQuery(event) }, NOT_READY);
    }
    other.say("go on");
    let memory = open(&cuda, from_hex(&other.hear()), LAZY).unwrap();
    ok(unsafe { cuda.cuEventSynchronize(event) });
    assert_eq!(read(&cuda, memory, 8), [5; 8]);
}

/// As often as a stream takes work.
#[test]
fn an_event_is_recorded_thousands_of_times_before_the_first_is_reached() {
    let (cuda, _) = with_own_context();
    let (event, stream) = (event(&cuda, SHARED), stream(&cuda, 1));
    let mut busy = Busy::new(&cuda, stream);
    for _ in 0..4000 {
        ok(unsafe { cuda.cuEventRecord(event, stream) });
    }
    assert_eq!(unsafe { cuda.cuEventQuery(event) }, NOT_READY);
    busy.release();
    ok(unsafe { cuda.cuEventSynchronize(event) });
}

/// The first export waits for all work: which may wait for a process that waits until something of it is open.
#[test]
fn memory_is_opened_while_other_memory_waits_to_be_exported() {
    let (cuda, context) = with_own_context();
    let mut other = Other::start("exports");
    let (handle, memory, stream) = (from_hex(&other.hear()), alloc(&cuda, 8), stream(&cuda, 1));
    let mut busy = Busy::new(&cuda, stream);
    let exports = {
        let (cuda, context) = (Arc::clone(&cuda), context.addr());
        thread::spawn(move || {
            ok(unsafe { cuda.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)) });
            handle_of(&cuda, memory).unwrap()
        })
    };
    thread::sleep(Duration::from_millis(50));
    let opened = open(&cuda, handle, LAZY).unwrap();
    assert!(!exports.is_finished());
    busy.release();
    exports.join().unwrap();
    ok(unsafe { cuda.cuIpcCloseMemHandle(opened) });
}
