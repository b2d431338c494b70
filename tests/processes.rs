//! Memory and events of one process that another one opens: the second process is this test again. The emulator shares them on
//! Linux, and elsewhere refuses that by name.

#![cfg(unix)]
#![allow(unsafe_code)] // What another process exported is opened: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::{child, skipped};
use cuda_launch::event::{EventFlags, IpcEvent, IpcEventHandle};
use cuda_launch::interop::{IpcMemoryHandle, OsHandle, OsHandleKinds};
use cuda_launch::memory::{MemoryAccess, MemoryPool, PoolOptions};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Error};
use std::os::fd::AsFd;
use std::process::Stdio;

/// The name of the variable that has what is sent beside a file descriptor.
const SENT: &str = "CUDA_LAUNCH_TEST_SENT";
const LEN: usize = 1000;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

/// Whether it is the emulator, on a system on which it shares nothing.
fn shares_nothing(context: &CudaContext) -> bool {
    context.device_name().unwrap().contains("emulator") && !cfg!(target_os = "linux")
}

/// What this process writes first, and what the other one makes of it.
fn numbers(factor: u32) -> Vec<u32> {
    (0..LEN as u32).map(|i| factor * i + 1).collect()
}

/// The other process reads what this one wrote, and writes in turn.
fn reads_and_writes(stream: &CudaStream, mut buffer: DeviceBuffer<u32>) {
    assert_eq!(buffer.to_host_vec(stream).unwrap(), numbers(3));
    buffer.copy_from_host(stream, &numbers(7)).unwrap();
    stream.synchronize().unwrap();
    drop(buffer);
    stream.context().synchronize().unwrap();
}

/// Runs `test` in another process, which is given the bytes, and the descriptor as its standard input.
fn other_process(test: &str, bytes: &[u8], descriptor: Option<OsHandle>) {
    let input = match descriptor {
        Some(OsHandle::FileDescriptor(descriptor)) => Stdio::from(descriptor),
        _ => Stdio::null(),
    };
    let sent = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let ended = child::run_on(test, &[(SENT, sent)], input).unwrap();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("1 passed"), "{}", ended.stdout);
}

/// What the first process sent.
fn sent() -> [u8; 64] {
    let text = std::env::var(SENT).unwrap();
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
    std::array::from_fn(byte)
}

fn received() -> OsHandle {
    OsHandle::FileDescriptor(std::io::stdin().as_fd().try_clone_to_owned().unwrap())
}

fn is_refused<T>(answer: Result<T, Error>, call: &str) {
    let Err(error) = answer else { panic!("{call}: not refused") };
    assert!(error.is_unsupported() && error.call() == Some(call), "{error}");
}

#[test]
fn an_allocation_is_opened_by_its_handle() {
    const TEST: &str = "an_allocation_is_opened_by_its_handle";
    let stream = stream();
    let context = stream.context();
    if child::is_child(TEST) {
        let handle = IpcMemoryHandle::from_bytes(sent());
        // SAFETY: 1: the parent sent the handle of a buffer of LEN numbers; 2: it keeps the buffer, unused, until this
        // process has ended.
        return reads_and_writes(&stream, unsafe { handle.open(context, LEN) }.unwrap());
    }
    let mut plain = DeviceBuffer::<u32>::uninit_plain(context, LEN).unwrap();
    if shares_nothing(context) {
        is_refused(IpcMemoryHandle::of(&plain), "cuIpcGetMemHandle");
        let handle = IpcMemoryHandle::from_bytes([0; 64]);
        // SAFETY: 1, 2: nothing is opened: the emulator refuses every such handle, as is asserted.
        is_refused(unsafe { handle.open::<u32>(context, 1) }, "cuIpcOpenMemHandle");
        return skipped("the emulator shares memory by handle only on Linux");
    }
    plain.copy_from_host(&stream, &numbers(3)).unwrap();
    stream.synchronize().unwrap();
    let handle = IpcMemoryHandle::of(&plain).unwrap();
    // SAFETY: 1 and 2: nothing is opened, a process cannot open its own memory.
    unsafe { handle.open::<u32>(context, LEN) }.unwrap_err();
    // Memory of a pool has no such handle.
    IpcMemoryHandle::of(&DeviceBuffer::<u32>::zeroed(&stream, LEN).unwrap()).unwrap_err();
    other_process(TEST, &handle.to_bytes(), None);
    assert_eq!(plain.to_host_vec(&stream).unwrap(), numbers(7));
}

#[test]
fn an_event_is_waited_for_by_its_handle() {
    const TEST: &str = "an_event_is_waited_for_by_its_handle";
    let stream = stream();
    let context = stream.context();
    if child::is_child(TEST) {
        let event = IpcEvent::open(context, IpcEventHandle::from_bytes(sent())).unwrap();
        event.synchronize().unwrap();
        assert!(event.query().unwrap());
        stream.wait(&event).unwrap();
        // From here on it stands for work of this process.
        event.record(&stream).unwrap();
        return stream.synchronize().unwrap();
    }
    let event = IpcEvent::new(context, EventFlags::empty()).unwrap();
    event.record(&stream).unwrap();
    if shares_nothing(context) {
        is_refused(event.handle(), "cuIpcGetEventHandle");
        let opened = IpcEvent::open(context, IpcEventHandle::from_bytes([0; 64]));
        is_refused(opened, "cuIpcOpenEventHandle");
        return skipped("the emulator shares events only on Linux");
    }
    let handle = event.handle().unwrap();
    IpcEvent::open(context, handle).unwrap_err();
    other_process(TEST, handle.as_bytes(), None);
    event.synchronize().unwrap();
    event.close().unwrap();
}

#[test]
fn a_buffer_of_a_pool_is_opened_by_two_handles() {
    const TEST: &str = "a_buffer_of_a_pool_is_opened_by_two_handles";
    let stream = stream();
    let context = stream.context();
    if child::is_child(TEST) {
        let pool = MemoryPool::import(context, &received()).unwrap();
        // SAFETY: 1: the parent sent a buffer of LEN numbers of this pool, after waiting for its allocation; 2: it keeps
        // the buffer, unused, until this process has ended.
        return reads_and_writes(&stream, unsafe { pool.import_buffer(&stream, sent(), LEN) }.unwrap());
    }
    let options = PoolOptions::new().handles(OsHandleKinds::FILE_DESCRIPTOR);
    let pool = MemoryPool::new(context, options);
    if shares_nothing(context) {
        is_refused(pool, "cuMemPoolCreate");
        return skipped("the emulator shares pools only on Linux");
    }
    let pool = pool.unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit_in(&pool, &stream, LEN).unwrap();
    buffer.copy_from_host(&stream, &numbers(3)).unwrap();
    stream.synchronize().unwrap();
    let descriptor = pool.export(OsHandleKinds::FILE_DESCRIPTOR).unwrap();
    other_process(TEST, &pool.export_buffer(&buffer).unwrap(), Some(descriptor));
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), numbers(7));
}

/// The first `LEN` numbers of the memory, mapped.
fn mapped(context: &CudaContext, memory: &PhysicalAllocation) -> DeviceBuffer<u32> {
    let addresses = VirtualReservation::new(context, memory.byte_len(), 0).unwrap();
    let mapping = Mapping::new(&addresses, 0, memory).unwrap();
    mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
    DeviceBuffer::from_mapping(mapping, LEN).unwrap()
}

#[test]
fn memory_is_mapped_in_two_processes() {
    const TEST: &str = "memory_is_mapped_in_two_processes";
    let stream = stream();
    let context = stream.context();
    let options = PhysicalOptions::new().handles(OsHandleKinds::FILE_DESCRIPTOR);
    if child::is_child(TEST) {
        let bytes = options.granularity(context, false).unwrap();
        // SAFETY: 1: the parent has just sent this descriptor, of memory of one granularity, as here; 2: it leaves the
        // memory alone until this process has ended.
        let memory = unsafe { PhysicalAllocation::import(context, &received(), bytes) }.unwrap();
        return reads_and_writes(&stream, mapped(context, &memory));
    }
    if shares_nothing(context) {
        is_refused(options.granularity(context, false), "cuMemGetAllocationGranularity");
        return skipped("the emulator shares memory only on Linux");
    }
    let bytes = options.granularity(context, false).unwrap();
    let memory = PhysicalAllocation::new(context, bytes, options).unwrap();
    let mut buffer = mapped(context, &memory);
    buffer.copy_from_host(&stream, &numbers(3)).unwrap();
    stream.synchronize().unwrap();
    other_process(TEST, &[], Some(memory.export(OsHandleKinds::FILE_DESCRIPTOR).unwrap()));
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), numbers(7));
}
