//! Memory and events of one process that another one opens: the other process is a test of this file again, which is told what to do by lines.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/other.rs"]
mod other;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Instance, InstanceOptions};
use other::*;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use support::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_CONTEXT: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
const MAP_FAILED: CUresult = CUresult::CUDA_ERROR_MAP_FAILED;
const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;
const LOST: CUresult = CUresult::CUDA_ERROR_EXTERNAL_DEVICE;
const DESCRIPTOR: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const LAZY: u32 = 1;
const SHARED: u32 = 4 | 2;
/// A kernel adds to the number at an address.
fn add(cuda: &Driver, stream: CUstream, address: CUdeviceptr, number: u32) {
    let add = function(cuda, load(cuda, KERNELS), "add");
    let (mut address, mut number) = (address, number);
    ok(launch(cuda, add, stream, &mut [argument(&mut address), argument(&mut number)]));
}

fn number(cuda: &Driver, address: CUdeviceptr) -> u32 {
    u32::from_ne_bytes(read(cuda, address, 4).try_into().unwrap())
}

/// What the other process does; nothing where this is the first one.
#[test]
fn the_other_process() {
    if let Ok(part) = std::env::var(PART) {
        play(&part);
    }
}

fn play(part: &str) {
    let (cuda, _) = with_own_context();
    match part {
        "adds" => adds(&cuda),
        "exports" => {
            tell(&to_hex(handle_of(&cuda, alloc(&cuda, 8)).unwrap()));
            tell(&to_hex(event_handle(&cuda, event(&cuda, SHARED)).unwrap()));
            told();
        }
        "opens" => loop {
            let line = told();
            if line.is_empty() {
                return;
            }
            tell(&format!("{:?}", open(&cuda, from_hex(&line), LAZY).err()));
        },
        "opens often" => opens_often(&cuda),
        "waits" => waits(&cuda),
        "records" => records(&cuda),
        "loses" => loses(&cuda),
        other => panic!("{other}"),
    }
}

/// Opens memory by two threads, adds by kernels, and closes it as often as it was opened.
fn adds(cuda: &Arc<Driver>) {
    let handle = from_hex(&told());
    let [first, second] = by_two(cuda, move |cuda| open(cuda, handle, LAZY).unwrap());
    assert_eq!(first, second);
    let mut range = (0, 0);
    ok(unsafe { cuda.cuMemGetAddressRange(&mut range.0, &mut range.1, first + 4) });
    assert_eq!(range, (first, 1000));
    assert_eq!(number(cuda, first), 7);
    add(cuda, null_mut(), first, 10);
    // It is the other process's to free, and to export.
    assert_eq!(unsafe { cuda.cuMemFree(first) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuMemFreeAsync(first, null_mut()) }, INVALID_VALUE);
    assert_eq!(handle_of(cuda, first), Err(INVALID_VALUE));
    ok(unsafe { cuda.cuIpcCloseMemHandle(first) });
    add(cuda, null_mut(), first, 100);
    ok(unsafe { cuda.cuIpcCloseMemHandle(first) });
    assert_eq!(unsafe { cuda.cuIpcCloseMemHandle(first) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuMemcpyDtoH(argument(&mut 0_u32), first, 4) }, INVALID_VALUE);
    tell("added");
}

#[test]
fn kernels_of_two_processes_use_one_allocation() {
    let (cuda, _) = with_own_context();
    let memory = alloc(&cuda, 1000);
    write(&cuda, memory, &7_u32.to_ne_bytes());
    let handle = handle_of(&cuda, memory).unwrap();
    // An address inside means the whole allocation, under the same handle.
    assert_eq!(handle_of(&cuda, memory + 999), Ok(handle));
    assert_eq!(number(&cuda, memory), 7);
    add(&cuda, null_mut(), memory, 0);
    let mut other = Other::start("adds");
    other.say(&to_hex(handle));
    assert_eq!(other.hear(), "added");
    assert_eq!(number(&cuda, memory), 117);
    ok(unsafe { cuda.cuMemFree(memory) });
}

/// Its first export moves an allocation: no launch of another thread is lost.
#[test]
fn nothing_is_lost_where_memory_is_exported() {
    const TIMES: u32 = 300;
    let (cuda, context) = with_own_context();
    let memory = alloc(&cuda, 4);
    write(&cuda, memory, &[0; 4]);
    let (context, together) = (context.addr(), Arc::new(Barrier::new(2)));
    let thread = {
        let (cuda, together) = (Arc::clone(&cuda), Arc::clone(&together));
        thread::spawn(move || {
            ok(unsafe { cuda.cuCtxSetCurrent(without_provenance_mut(context)) });
            let kernel = function(&cuda, load(&cuda, KERNELS), "add");
            let stream = stream(&cuda, 1);
            let (mut address, mut one) = (memory, 1_u32);
            let mut arguments = [argument(&mut address), argument(&mut one)];
            for time in 0..TIMES {
                ok(launch(&cuda, kernel, stream, &mut arguments));
                if time == TIMES / 3 {
                    together.wait();
                }
            }
            ok(unsafe { cuda.cuStreamSynchronize(stream) });
        })
    };
    together.wait();
    handle_of(&cuda, memory).unwrap();
    thread.join().unwrap();
    assert_eq!(number(&cuda, memory), TIMES);
}

#[test]
fn handles_that_name_nothing_are_errors() {
    let (cuda, _) = with_own_context();
    let memory = alloc(&cuda, 8);
    let handle = handle_of(&cuda, memory).unwrap();
    assert_eq!(open(&cuda, handle, LAZY), Err(INVALID_CONTEXT));
    for flags in [0, 2, 3] {
        assert_eq!(open(&cuda, handle, flags), Err(INVALID_VALUE));
    }
    for bytes in [[0; 64], [0xff; 64], std::array::from_fn(|at| (at * 37) as u8)] {
        assert_eq!(open(&cuda, bytes, LAZY), Err(INVALID_VALUE));
        assert_eq!(open_event(&cuda, bytes).unwrap_err(), MAP_FAILED);
    }
    // An event is no memory, and the other way round.
    let shared = event(&cuda, SHARED);
    let of_event = event_handle(&cuda, shared).unwrap();
    assert_eq!(open(&cuda, of_event, LAZY), Err(INVALID_VALUE));
    assert_eq!(open_event(&cuda, handle).unwrap_err(), MAP_FAILED);
    assert_eq!(open_event(&cuda, of_event).unwrap_err(), INVALID_CONTEXT);
    assert_eq!(event_handle(&cuda, event(&cuda, 2)), Err(INVALID_HANDLE));
    // Memory that `cuMemAlloc` did not make.
    let mut managed = 0;
    ok(unsafe { cuda.cuMemAllocManaged(&mut managed, 8, 1) });
    assert_eq!(handle_of(&cuda, managed), Err(INVALID_VALUE));
    let mut pooled = 0;
    ok(unsafe { cuda.cuMemAllocAsync(&mut pooled, 8, null_mut()) });
    assert_eq!(handle_of(&cuda, pooled), Err(INVALID_VALUE));
    assert_eq!(handle_of(&cuda, 64), Err(INVALID_VALUE));
    assert_eq!(unsafe { cuda.cuIpcCloseMemHandle(memory) }, INVALID_VALUE);

    let mut other = Other::start("opens");
    let mut is_opened = |handle: Bytes| {
        other.say(&to_hex(handle));
        other.hear()
    };
    assert_eq!(is_opened(handle), "None");
    ok(unsafe { cuda.cuMemFree(memory) });
    // It is opened there already: another process would not find it.
    let mut third = Other::start("opens");
    third.say(&to_hex(handle));
    assert_eq!(third.hear(), format!("{:?}", Some(INVALID_HANDLE)));
    // Other memory, whose file has the same number: still not what the handle says.
    let next = handle_of(&cuda, alloc(&cuda, 8)).unwrap();
    assert_ne!(next, handle);
    third.say(&to_hex(handle));
    assert_eq!(third.hear(), format!("{:?}", Some(INVALID_HANDLE)));
}

#[test]
fn memory_of_a_process_that_has_ended_is_not_opened() {
    let (cuda, _) = with_own_context();
    let mut other = Other::start("exports");
    let [handle, of_event] = [0; 2].map(|_| from_hex(&other.hear()));
    // Nobody has recorded it.
    ok(unsafe { cuda.cuEventQuery(open_event(&cuda, of_event).unwrap()) });
    let memory = open(&cuda, handle, LAZY).unwrap();
    write(&cuda, memory, &[1, 2]);
    other.kill();
    drop(other);
    // What was opened before stays.
    assert_eq!(read(&cuda, memory, 2), [1, 2]);
    ok(unsafe { cuda.cuIpcCloseMemHandle(memory) });
    assert_eq!(open(&cuda, handle, LAZY), Err(INVALID_HANDLE));
    assert_eq!(open_event(&cuda, of_event).unwrap_err(), MAP_FAILED);
}

/// Calls a function while a kernel waits for its turn to add to some memory: it returns when that is done.
fn waits_for_a_kernel(cuda: &Driver, memory: CUdeviceptr, call: impl FnOnce()) {
    let stream = stream(cuda, 1);
    let mut busy = Busy::new(cuda, stream);
    add(cuda, stream, memory, 1);
    let is_released = Arc::new(AtomicBool::new(false));
    let thread = {
        let is_released = Arc::clone(&is_released);
        thread::spawn(move || {
            // A call that waits for nothing has returned by now.
            thread::sleep(Duration::from_millis(50));
            is_released.store(true, Ordering::Release);
            busy.release();
        })
    };
    call();
    assert!(is_released.load(Ordering::Acquire), "a kernel was still to use the memory");
    thread.join().unwrap();
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
}

#[test]
fn memory_moves_and_goes_when_the_work_on_it_is_done() {
    let (cuda, _) = with_own_context();
    let memory = alloc(&cuda, 4);
    write(&cuda, memory, &[0; 4]);
    waits_for_a_kernel(&cuda, memory, || _ = handle_of(&cuda, memory).unwrap());
    assert_eq!(number(&cuda, memory), 1);
    let mut other = Other::start("exports");
    let opened = open(&cuda, from_hex(&other.hear()), LAZY).unwrap();
    waits_for_a_kernel(&cuda, opened, || ok(unsafe { cuda.cuIpcCloseMemHandle(opened) }));
}

/// What two threads get that call the same function at once, in the current context.
fn by_two<T: Send + 'static>(
    cuda: &Arc<Driver>,
    call: impl Fn(&Driver) -> T + Copy + Send + 'static,
) -> [T; 2] {
    let (mut context, together) = (null_mut(), Arc::new(Barrier::new(2)));
    ok(unsafe { cuda.cuCtxGetCurrent(&mut context) });
    let context = context.addr();
    let threads = [0, 1].map(|_| {
        let (cuda, together) = (Arc::clone(cuda), Arc::clone(&together));
        thread::spawn(move || {
            ok(unsafe { cuda.cuCtxSetCurrent(without_provenance_mut(context)) });
            together.wait();
            call(&cuda)
        })
    });
    threads.map(|thread| thread.join().unwrap())
}

/// Of two threads that do it first, one does.
#[test]
fn threads_that_export_or_open_at_once_get_the_same() {
    let (cuda, _) = with_own_context();
    let mut other = Other::start("exports");
    let handle = from_hex(&other.hear());
    for _ in 0..50 {
        let memory = alloc(&cuda, 8);
        let [first, second] = by_two(&cuda, move |cuda| handle_of(cuda, memory).unwrap());
        assert_eq!(first, second);
        ok(unsafe { cuda.cuMemFree(memory) });
        let [first, second] = by_two(&cuda, move |cuda| open(cuda, handle, LAZY).unwrap());
        assert_eq!(first, second);
        (0..2).for_each(|_| ok(unsafe { cuda.cuIpcCloseMemHandle(first) }));
        assert_eq!(unsafe { cuda.cuIpcCloseMemHandle(first) }, INVALID_VALUE);
    }
}

/// Each context opens a handle for itself, and for its device: no other device has access.
#[test]
fn memory_is_opened_for_a_context_and_its_device() {
    let instance = InstanceOptions::new().devices(2).start().unwrap();
    let cuda = instance.driver();
    ok(unsafe { cuda.cuInit(0) });
    let mut other = Other::start("exports");
    let handle = from_hex(&other.hear());
    let [first, second] = [0, 1].map(|device| {
        let mut context = null_mut();
        ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, device) });
        let memory = open(&cuda, handle, LAZY).unwrap();
        assert_eq!(open(&cuda, handle, LAZY), Ok(memory));
        memory
    });
    assert_ne!(first, second);
    // The context of the second device is current.
    write(&cuda, second, &5_u32.to_ne_bytes());
    add(&cuda, null_mut(), second, 1);
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!([first, second].map(|memory| number(&cuda, memory)), [6; 2]);
    add(&cuda, null_mut(), first, 1);
    assert_eq!(unsafe { cuda.cuCtxSynchronize() }, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
}

/// Waits for an event on a stream, and then adds.
fn waits(cuda: &Driver) {
    let event = open_event(cuda, from_hex(&told())).unwrap();
    let memory = open(cuda, from_hex(&told()), LAZY).unwrap();
    assert_eq!(event_handle(cuda, event), Err(INVALID_HANDLE));
    assert_eq!(unsafe { cuda.cuEventQuery(event) }, NOT_READY);
    let stream = stream(cuda, 1);
    ok(unsafe { cuda.cuStreamWaitEvent(stream, event, 0) });
    let add = function(cuda, load(cuda, KERNELS), "add");
    let (mut address, mut number) = (memory, 5_u32);
    ok(launch(cuda, add, stream, &mut [argument(&mut address), argument(&mut number)]));
    assert_eq!(unsafe { cuda.cuStreamQuery(stream) }, NOT_READY);
    tell("waits");
    ok(unsafe { cuda.cuEventSynchronize(event) });
    ok(unsafe { cuda.cuEventQuery(event) });
    // From now on it stands for work of this process.
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    tell("recorded");
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    told();
}

#[test]
fn events_order_the_work_of_two_processes() {
    let (cuda, _) = with_own_context();
    let (event, memory, stream) = (event(&cuda, SHARED), alloc(&cuda, 4), stream(&cuda, 1));
    write(&cuda, memory, &2_u32.to_ne_bytes());
    ok(unsafe { cuda.cuEventQuery(event) });
    let handles = [event_handle(&cuda, event).unwrap(), handle_of(&cuda, memory).unwrap()];
    let mut busy = Busy::new(&cuda, stream);
    ok(unsafe { cuda.cuMemsetD32Async(memory, 100, 1, stream) });
    ok(unsafe { cuda.cuEventRecord(event, stream) });
    let mut other = Other::start("waits");
    handles.iter().for_each(|handle| other.say(&to_hex(*handle)));
    assert_eq!(other.hear(), "waits");
    assert_eq!(unsafe { cuda.cuEventQuery(event) }, NOT_READY);
    busy.release();
    assert_eq!(other.hear(), "recorded");
    ok(unsafe { cuda.cuStreamWaitEvent(stream, event, 0) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    assert_eq!(number(&cuda, memory), 105);
    ok(unsafe { cuda.cuEventSynchronize(event) });
}

/// Records events behind work that never ends.
fn records(cuda: &Driver) {
    let stream = stream(cuda, 1);
    let _busy = Busy::new(cuda, stream);
    let events = [event(cuda, SHARED), event(cuda, SHARED)];
    for event in events {
        ok(unsafe { cuda.cuEventRecord(event, stream) });
        tell(&to_hex(event_handle(cuda, event).unwrap()));
    }
    // An event that has happened stays so.
    let happened = event(cuda, SHARED);
    ok(unsafe { cuda.cuEventRecord(happened, null_mut()) });
    ok(unsafe { cuda.cuEventSynchronize(happened) });
    tell(&to_hex(event_handle(cuda, happened).unwrap()));
    told();
}

#[test]
fn nobody_waits_for_a_process_that_has_ended() {
    let instance = Instance::new().unwrap();
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    let mut other = Other::start("records");
    let [first, second, happened] = [0; 3].map(|_| open_event(&cuda, from_hex(&other.hear())).unwrap());
    let stream = stream(&cuda, 1);
    ok(unsafe { cuda.cuEventQuery(happened) });
    assert_eq!(unsafe { cuda.cuEventQuery(first) }, NOT_READY);
    let waiting = {
        let (cuda, context, first) = (Arc::clone(&cuda), context.addr(), first.addr());
        thread::spawn(move || {
            ok(unsafe { cuda.cuCtxSetCurrent(without_provenance_mut(context)) });
            unsafe { cuda.cuEventSynchronize(without_provenance_mut(first)) }
        })
    };
    // Killed, but not waited for: it is still in the system's list.
    other.kill();
    assert_eq!(waiting.join().unwrap(), LOST);
    // Who only asks can go on.
    assert_eq!(unsafe { cuda.cuEventSynchronize(first) }, LOST);
    ok(unsafe { cuda.cuEventSynchronize(happened) });
    ok(unsafe { cuda.cuStreamWaitEvent(stream, happened, 0) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    // Work that comes after what was never done is not done.
    let memory = alloc(&cuda, 4);
    write(&cuda, memory, &[1; 4]);
    let _ = unsafe { cuda.cuStreamWaitEvent(stream, second, 0) };
    let _ = unsafe { cuda.cuMemsetD32Async(memory, 0, 1, stream) };
    assert_eq!(unsafe { cuda.cuStreamSynchronize(stream) }, LOST);
    // From here on nothing is shared any more, whatever the handle is.
    assert_eq!(open_event(&cuda, [0; 64]).unwrap_err(), LOST);
    assert_eq!(open(&cuda, [0; 64], LAZY), Err(LOST));
}

/// Waits on two streams for events that never happen.
fn loses(cuda: &Driver) {
    let events = [0; 2].map(|_| open_event(cuda, from_hex(&told())).unwrap());
    let streams = events.map(|event| {
        let stream = stream(cuda, 1);
        ok(unsafe { cuda.cuStreamWaitEvent(stream, event, 0) });
        stream
    });
    tell("waits");
    told();
    streams.iter().for_each(|stream| assert_eq!(unsafe { cuda.cuStreamSynchronize(*stream) }, LOST));
    // The other stream looks for itself, now and then.
    thread::sleep(Duration::from_millis(100));
}

#[test]
fn what_is_lost_is_told_once() {
    let (mut records, mut loses) = (Other::start("records"), Other::start_heard("loses"));
    for _ in 0..2 {
        loses.say(&records.hear());
    }
    assert_eq!(loses.hear(), "waits");
    records.kill();
    loses.say("go on");
    let mut errors = String::new();
    loses.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(loses.child.wait().unwrap().success(), "{errors}");
    assert_eq!(errors.matches("waits for an event of a process that has ended").count(), 1, "{errors}");
}

/// What of the emulator's this process has open or mapped.
fn held() -> (usize, usize) {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let path = std::fs::read_link(entry.unwrap().path()).ok()?;
        path.to_str()?.contains("cuda-emulator").then_some(())
    });
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    (open.count(), maps.lines().filter(|line| line.contains("cuda-emulator")).count())
}

/// Exports and opens many times, and tells what is held before and after.
fn opens_often(cuda: &Driver) {
    let [memory, of_event] = [0; 2].map(|_| from_hex(&told()));
    let kept = open(cuda, memory, LAZY).unwrap();
    let pool = shared_pool(cuda);
    let descriptor = exported(cuda, pool);
    let imported = imported(cuda, descriptor.as_raw_fd()).unwrap();
    drop(descriptor);
    let before = held();
    // The pool and its import have one each; what was opened has none.
    assert_eq!(before.0, 2);
    for _ in 0..1000 {
        let opened = open(cuda, memory, LAZY).unwrap();
        ok(unsafe { cuda.cuIpcCloseMemHandle(opened) });
        ok(unsafe { cuda.cuEventDestroy(open_event(cuda, of_event).unwrap()) });
        let own = alloc(cuda, 8);
        handle_of(cuda, own).unwrap();
        ok(unsafe { cuda.cuMemFree(own) });
        drop(exported(cuda, pool));
        let from_pool = allocated(cuda, pool, 8).unwrap();
        let opened = import_pointer(cuda, imported, export_pointer(cuda, from_pool).unwrap()).unwrap();
        ok(unsafe { cuda.cuMemFree(opened) });
        ok(unsafe { cuda.cuMemFree(from_pool) });
    }
    assert_eq!(held(), before);
    ok(unsafe { cuda.cuIpcCloseMemHandle(kept) });
    for _ in 0..100 {
        let opened = open(cuda, memory, LAZY).unwrap();
        ok(unsafe { cuda.cuIpcCloseMemHandle(opened) });
    }
    assert_eq!(held(), (before.0, before.1 - 1));
    tell("none left");
}

#[test]
fn nothing_is_left_open_or_mapped() {
    let (cuda, _) = with_own_context();
    let memory = handle_of(&cuda, alloc(&cuda, 8)).unwrap();
    let of_event = event_handle(&cuda, event(&cuda, SHARED)).unwrap();
    let mut other = Other::start("opens often");
    [memory, of_event].iter().for_each(|handle| other.say(&to_hex(*handle)));
    assert_eq!(other.hear(), "none left");
}

fn shared_pool(cuda: &Driver) -> CUmemoryPool {
    let mut properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: DESCRIPTOR,
        ..Default::default()
    };
    properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let mut pool = null_mut();
    ok(unsafe { cuda.cuMemPoolCreate(&mut pool, &properties) });
    pool
}

fn exported(cuda: &Driver, pool: CUmemoryPool) -> OwnedFd {
    let mut descriptor = -1_i32;
    ok(unsafe { cuda.cuMemPoolExportToShareableHandle(argument(&mut descriptor), pool, DESCRIPTOR, 0) });
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn imported(cuda: &Driver, descriptor: i32) -> Result<CUmemoryPool, CUresult> {
    let (mut pool, number) = (null_mut(), without_provenance_mut(descriptor as usize));
    match unsafe { cuda.cuMemPoolImportFromShareableHandle(&mut pool, number, DESCRIPTOR, 0) } {
        CUresult::SUCCESS => Ok(pool),
        code => Err(code),
    }
}

fn allocated(cuda: &Driver, pool: CUmemoryPool, bytes: usize) -> Result<CUdeviceptr, CUresult> {
    let mut address = 0;
    match unsafe { cuda.cuMemAllocFromPoolAsync(&mut address, bytes, pool, null_mut()) } {
        CUresult::SUCCESS => Ok(address),
        code => Err(code),
    }
}

fn export_pointer(cuda: &Driver, address: CUdeviceptr) -> Result<CUmemPoolPtrExportData, CUresult> {
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    match unsafe { cuda.cuMemPoolExportPointer(&mut data, address) } {
        CUresult::SUCCESS => Ok(data),
        code => Err(code),
    }
}

fn import_pointer(
    cuda: &Driver,
    pool: CUmemoryPool,
    mut data: CUmemPoolPtrExportData,
) -> Result<CUdeviceptr, CUresult> {
    let mut address = 0;
    match unsafe { cuda.cuMemPoolImportPointer(&mut address, pool, &mut data) } {
        CUresult::SUCCESS => Ok(address),
        code => Err(code),
    }
}

#[test]
fn an_imported_pool_has_the_allocations_of_the_other() {
    let (cuda, _) = with_own_context();
    let (pool, stranger) = (shared_pool(&cuda), shared_pool(&cuda));
    let memory = allocated(&cuda, pool, 5000).unwrap();
    let second = allocated(&cuda, pool, 4).unwrap();
    // Not before anybody can have it.
    assert_eq!(export_pointer(&cuda, memory).unwrap_err(), INVALID_VALUE);
    let other = imported(&cuda, exported(&cuda, pool).as_raw_fd()).unwrap();
    let data = export_pointer(&cuda, memory).unwrap();
    assert_eq!(export_pointer(&cuda, memory + 8).unwrap_err(), INVALID_VALUE);
    let there = import_pointer(&cuda, other, data).unwrap();
    let second_there = import_pointer(&cuda, other, export_pointer(&cuda, second).unwrap()).unwrap();
    write(&cuda, memory + 4999, &[9]);
    write(&cuda, second_there, &3_u32.to_ne_bytes());
    add(&cuda, null_mut(), second, 4);
    assert_eq!((read(&cuda, there + 4999, 1), number(&cuda, second_there)), (vec![9], 7));
    // Nothing comes from an imported pool, and no other pool has this allocation.
    assert_eq!(allocated(&cuda, other, 8), Err(INVALID_VALUE));
    assert_eq!(unsafe { cuda.cuDeviceSetMemPool(0, other) }, INVALID_VALUE);
    let mut place = -1_i32;
    let again = unsafe { cuda.cuMemPoolExportToShareableHandle(argument(&mut place), other, DESCRIPTOR, 0) };
    assert_eq!(again, INVALID_VALUE);
    let strange = imported(&cuda, exported(&cuda, stranger).as_raw_fd()).unwrap();
    assert_eq!(import_pointer(&cuda, strange, data), Err(INVALID_VALUE));
    assert_eq!(import_pointer(&cuda, pool, data), Err(INVALID_VALUE));
    let mut wrong = data;
    wrong.reserved[40] ^= 1;
    assert_eq!(import_pointer(&cuda, other, wrong), Err(INVALID_VALUE));
    assert_eq!(imported(&cuda, i32::MAX), Err(INVALID_VALUE));
    assert_eq!(imported(&cuda, std::fs::File::open("/dev/null").unwrap().as_raw_fd()), Err(INVALID_VALUE));
    // Freed on both sides; who gets the bytes next does not see them.
    ok(unsafe { cuda.cuMemFreeAsync(there, null_mut()) });
    ok(unsafe { cuda.cuMemFree(second_there) });
    ok(unsafe { cuda.cuMemFree(memory) });
    ok(unsafe { cuda.cuCtxSynchronize() });
    let next = allocated(&cuda, pool, 5000).unwrap();
    assert_eq!(read(&cuda, next + 4999, 1), [0]);
    assert_eq!(number(&cuda, second), 7);
    ok(unsafe { cuda.cuMemPoolDestroy(other) });
    ok(unsafe { cuda.cuMemPoolDestroy(pool) });
}

#[test]
fn the_device_says_what_can_be_shared() {
    let (cuda, _) = with_own_context();
    for (attribute, expected) in [
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 1),
        (CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
    ] {
        let mut value = -1;
        ok(unsafe { cuda.cuDeviceGetAttribute(&mut value, attribute, 0) });
        assert_eq!(value, expected);
    }
    let capable = |address| {
        let mut capable = -1_i32;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
        ok(unsafe { cuda.cuPointerGetAttribute(argument(&mut capable), attribute, address) });
        capable
    };
    assert_eq!(capable(alloc(&cuda, 8)), 1);
    assert_eq!(capable(allocated(&cuda, shared_pool(&cuda), 8).unwrap()), 0);
}
