//! Memory of graphics APIs and of several devices: what can be had of it without them.

#![cfg(unix)]
#![allow(unsafe_code)] // Handles that are none, which the driver refuses, and memory that nobody else uses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::{Spy, skipped, wait_until};
use cuda_launch::context::ContextOptions;
use cuda_launch::interop::{
    ExternalMemory, ExternalMemoryHandle, ExternalSemaphore, ExternalSemaphoreHandle, OsHandle, OsHandleKinds,
};
use cuda_launch::memory::{MemoryAccess, MemoryPool, PoolOptions};
use cuda_launch::sys::{self, CUresult, pfn};
use cuda_launch::virtual_memory::{
    Mapping, MulticastObject, PhysicalAllocation, PhysicalOptions, VirtualReservation,
};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer};
use std::ffi::{c_uint, c_void};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::mpsc::channel;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn on_emulator(context: &CudaContext) -> bool {
    context.device_name().unwrap().contains("emulator")
}

/// A file of so many bytes that has no name any more.
fn plain_file(bytes: u64) -> OwnedFd {
    let path = std::env::temp_dir().join(format!("cuda-launch-external-{}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file.set_len(bytes).unwrap();
    file.into()
}

#[test]
fn files_are_no_external_memory_and_no_semaphores() {
    let stream = stream();
    let context = stream.context();
    // Files that are neither: the driver says so, and may close them, so that nobody else may.
    let descriptor = || OwnedFd::from(File::open("/dev/null").unwrap());
    for file in [descriptor(), plain_file(4096)] {
        let memory = ExternalMemoryHandle::FileDescriptor(file);
        let error = unsafe { ExternalMemory::import(context, memory, 4096, true) }.unwrap_err();
        assert_eq!(error.call(), Some("cuImportExternalMemory"));
        if on_emulator(context) {
            assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED));
        }
    }
    for semaphore in [
        ExternalSemaphoreHandle::FileDescriptor(descriptor()),
        ExternalSemaphoreHandle::TimelineFileDescriptor(descriptor()),
    ] {
        let error = unsafe { ExternalSemaphore::import(context, semaphore) }.unwrap_err();
        assert_eq!(error.call(), Some("cuImportExternalSemaphore"));
    }
}

/// A driver that has semaphores, which do nothing.
fn driver_with_semaphores(name: &str) -> *const c_void {
    unsafe extern "C" fn import(
        semaphore: *mut sys::CUexternalSemaphore,
        _: *const sys::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC,
    ) -> CUresult {
        unsafe { semaphore.write(std::ptr::without_provenance_mut(0x5e3a)) };
        CUresult::SUCCESS
    }
    unsafe extern "C" fn signal(
        _: *const sys::CUexternalSemaphore,
        _: *const sys::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
        _: c_uint,
        _: sys::CUstream,
    ) -> CUresult {
        CUresult::SUCCESS
    }
    unsafe extern "C" fn wait(
        _: *const sys::CUexternalSemaphore,
        _: *const sys::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
        _: c_uint,
        _: sys::CUstream,
    ) -> CUresult {
        CUresult::SUCCESS
    }
    unsafe extern "C" fn destroy(_: sys::CUexternalSemaphore) -> CUresult {
        CUresult::SUCCESS
    }
    match name {
        "cuImportExternalSemaphore" => (import as pfn::cuImportExternalSemaphore) as _,
        "cuSignalExternalSemaphoresAsync" => (signal as pfn::cuSignalExternalSemaphoresAsync) as _,
        "cuWaitExternalSemaphoresAsync" => (wait as pfn::cuWaitExternalSemaphoresAsync) as _,
        "cuDestroyExternalSemaphore" => (destroy as pfn::cuDestroyExternalSemaphore) as _,
        _ => std::ptr::null(),
    }
}

/// A driver whose external memory has whatever range it is asked for.
fn driver_with_memory(name: &str) -> *const c_void {
    unsafe extern "C" fn import(
        memory: *mut sys::CUexternalMemory,
        _: *const sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    ) -> CUresult {
        unsafe { memory.write(std::ptr::without_provenance_mut(0x5e3b)) };
        CUresult::SUCCESS
    }
    unsafe extern "C" fn map(
        address: *mut sys::CUdeviceptr,
        _: sys::CUexternalMemory,
        _: *const sys::CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
    ) -> CUresult {
        unsafe { address.write(1 << 40) };
        CUresult::SUCCESS
    }
    unsafe extern "C" fn free(_: sys::CUdeviceptr) -> CUresult {
        CUresult::SUCCESS
    }
    unsafe extern "C" fn destroy(_: sys::CUexternalMemory) -> CUresult {
        CUresult::SUCCESS
    }
    match name {
        "cuImportExternalMemory" => (import as pfn::cuImportExternalMemory) as _,
        "cuExternalMemoryGetMappedBuffer" => (map as pfn::cuExternalMemoryGetMappedBuffer) as _,
        "cuMemFree_v2" => (free as pfn::cuMemFree_v2) as _,
        "cuDestroyExternalMemory" => (destroy as pfn::cuDestroyExternalMemory) as _,
        _ => std::ptr::null(),
    }
}

/// What was imported has so many bytes, whatever the driver thinks of a range.
#[test]
fn a_range_that_external_memory_does_not_have_is_not_asked_for() {
    let spy = Spy::over(&spies::driver_with(driver_with_memory)).unwrap();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let file = OwnedFd::from(File::open("/dev/null").unwrap());
    let handle = ExternalMemoryHandle::FileDescriptor(file);
    let memory = unsafe { ExternalMemory::import(&context, handle, 64, false) }.unwrap();
    for (offset, len) in [(0, 17), (4, 16), (64, 1), (usize::MAX - 3, 1), (usize::MAX, 16)] {
        let error = unsafe { memory.map::<u32>(offset, len) }.unwrap_err();
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
        assert!(error.to_string().contains(&format!("{} bytes at {offset} of 64", 4 * len)), "{error}");
    }
    assert_eq!(spy.count("cuExternalMemoryGetMappedBuffer"), 0);
    for (offset, len) in [(0, 16), (60, 1)] {
        assert_eq!(unsafe { memory.map::<u32>(offset, len) }.unwrap().len(), len);
    }
    assert_eq!(spy.count("cuExternalMemoryGetMappedBuffer"), 2);
}

/// "Any outstanding signals or waits must have completed before the semaphore is destroyed."
#[test]
fn a_semaphore_goes_after_the_work_that_uses_it() {
    let spy = Spy::over(&spies::driver_with(driver_with_semaphores)).unwrap();
    let context = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let file = OwnedFd::from(File::open("/dev/null").unwrap());
    let handle = ExternalSemaphoreHandle::TimelineFileDescriptor(file);
    let semaphore = unsafe { ExternalSemaphore::import(&context, handle) }.unwrap();
    // A graph would not keep it.
    let recorded = CudaGraph::capture(&context, CaptureMode::ThreadLocal, |stream| {
        assert!(semaphore.wait(stream, 1).unwrap_err().is_capture_error());
        semaphore.signal(stream, 1)
    });
    assert!(recorded.unwrap_err().is_capture_error());
    spy.clear();
    semaphore.wait(&second, 1).unwrap();
    // Not behind the wait that it ends.
    semaphore.signal(&first, 1).unwrap();
    assert!(!spy.calls().names().contains(&"cuStreamWaitEvent"), "{:?}", spy.calls().names());
    spy.clear();
    drop(semaphore);
    assert_eq!(
        only(&spy, &["cuStreamSynchronize", "cuDestroyExternalSemaphore"]),
        ["cuStreamSynchronize", "cuStreamSynchronize", "cuDestroyExternalSemaphore"]
    );
}

/// The calls of these functions, in order.
fn only(spy: &Spy, functions: &[&str]) -> Vec<&'static str> {
    spy.calls().names().into_iter().filter(|name| functions.contains(name)).collect()
}

/// `cuMemFree` waits for the work of its own device.
#[test]
fn plain_memory_goes_after_the_copies_of_other_contexts() {
    let _alone = alone();
    let (spy, near) = spies::spied();
    let far = near.device().create_context(&ContextOptions::default()).unwrap();
    let (stream, other) = (near.new_stream().unwrap(), far.new_stream().unwrap());
    for foreign in [false, true] {
        let source = DeviceBuffer::<u32>::uninit_plain(&near, 16).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed(if foreign { &other } else { &stream }, 16).unwrap();
        copy.view_mut().copy_from_peer(if foreign { &other } else { &stream }, &source).unwrap();
        spy.clear();
        source.close().unwrap();
        let expected = if foreign { &["cuStreamSynchronize", "cuMemFree_v2"][..] } else { &["cuMemFree_v2"] };
        assert_eq!(only(&spy, &["cuStreamSynchronize", "cuMemFree_v2"]), expected);
    }
}

/// A fault has ended the work of the other context.
#[test]
fn plain_memory_goes_where_the_copies_of_another_context_have_faulted() {
    let _alone = alone();
    let (spy, near) = spies::spied();
    let far = near.device().create_context(&ContextOptions::default()).unwrap();
    let other = far.new_stream().unwrap();
    let source = DeviceBuffer::<u32>::uninit_plain(&near, 16).unwrap();
    let mut copy = DeviceBuffer::<u32>::zeroed(&other, 16).unwrap();
    copy.view_mut().copy_from_peer(&other, &source).unwrap();
    spies::fail_calls_of(&spy, "cuStreamSynchronize", CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    source.close().unwrap();
    assert_eq!((spies::failed(&spy), spy.count("cuMemFree_v2")), (Some("cuStreamSynchronize"), 1));
    spy.heal();
}

/// What was put off until a capture is over is done then, on another thread; once.
fn wait_for_a_free(spy: &Spy, call: &str) {
    wait_until(&format!("{call} after the capture"), || spy.count(call) > 0).unwrap();
    assert_eq!(spy.count(call), 1);
}

/// A thread of driver 580 crashes where a pool goes while its memory is being freed.
#[test]
fn a_pool_goes_after_its_memory_is_freed_on_the_stream_of_another_context() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.device().create_context(&ContextOptions::default()).unwrap().new_stream().unwrap();
    let pool = MemoryPool::new(&ctx, PoolOptions::default()).unwrap();
    let buffer = DeviceBuffer::<u32>::uninit_in(&pool, &stream, 16).unwrap();
    let held = hold(&stream);
    drop((buffer, pool));
    // What may go by now is dropped on another thread, and this waits for it.
    ctx.synchronize().unwrap();
    assert_eq!((spy.count("cuMemFreeAsync"), spy.count("cuMemPoolDestroy")), (1, 0));
    drop(held);
    stream.synchronize().unwrap();
    ctx.synchronize().unwrap();
    wait_for_a_free(&spy, "cuMemPoolDestroy");
}

/// Where only waits will do: nobody knows who else has the address, or a stream cannot be waited for.
#[test]
fn memory_of_pools_goes_after_the_copies_of_other_contexts() {
    let _alone = alone();
    let (spy, near) = spies::spied();
    let far = near.device().create_context(&ContextOptions::default()).unwrap();
    let (stream, other) = (near.new_stream().unwrap(), far.new_stream().unwrap());
    let mut copy = DeviceBuffer::<u32>::zeroed(&other, 16).unwrap();
    let source = DeviceBuffer::<u32>::zeroed(&stream, 16).unwrap();
    assert_ne!(source.cu_deviceptr(), 0);
    copy.view_mut().copy_from_peer(&other, &source).unwrap();
    spy.clear();
    source.close().unwrap();
    let calls = only(&spy, &["cuStreamSynchronize", "cuMemFreeAsync"]);
    assert_eq!((calls.first(), calls.last()), (Some(&"cuStreamSynchronize"), Some(&"cuMemFreeAsync")));
    assert_eq!(calls.iter().filter(|call| **call == "cuMemFreeAsync").count(), 1);

    let source = DeviceBuffer::<u32>::zeroed(&stream, 16).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| copy.view_mut().copy_from_peer(&far.per_thread_stream(), &source).unwrap());
    });
    spy.clear();
    let capture = CudaGraph::capture(&far, CaptureMode::Relaxed, |_| {
        drop(source);
        assert_eq!(spy.count("cuMemFreeAsync"), 0, "the other thread's stream was not waited for");
        Ok(())
    });
    capture.unwrap();
    wait_for_a_free(&spy, "cuMemFreeAsync");
}

/// Unloading its module waits for its own device alone.
#[test]
fn a_variable_goes_after_the_copies_of_other_contexts_also_when_a_capture_puts_it_off() {
    let _alone = alone();
    let (spy, near) = spies::spied();
    let far = near.device().create_context(&ContextOptions::default()).unwrap();
    let other = far.new_stream().unwrap();
    let image = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .u32 table[16];\n";
    let module = near.load_module(image).unwrap();
    let table = module.global::<u32>("table").unwrap();
    let mut copy = DeviceBuffer::<u32>::zeroed(&other, 16).unwrap();
    copy.view_mut().copy_from_peer(&other, &table).unwrap();
    spy.clear();
    let capture = CudaGraph::capture(&near, CaptureMode::Relaxed, |_| {
        drop((table, module));
        Ok(())
    });
    capture.unwrap();
    wait_for_a_free(&spy, "cuModuleUnload");
    let calls = spy.calls().names();
    let ends = calls.into_iter().filter(|name| ["cuStreamSynchronize", "cuModuleUnload"].contains(name));
    assert_eq!(ends.collect::<Vec<_>>(), ["cuStreamSynchronize", "cuModuleUnload"]);
}

/// The call that frees it waits for the device, which breaks captures.
#[test]
fn plain_memory_that_waits_for_another_context_goes_after_a_capture() {
    let _alone = alone();
    let (spy, near) = spies::spied();
    let far = near.device().create_context(&ContextOptions::default()).unwrap();
    let other = far.new_stream().unwrap();
    let source = DeviceBuffer::<u32>::uninit_plain(&near, 16).unwrap();
    let mut copy = DeviceBuffer::<u32>::uninit(&other, 16).unwrap();
    // What a driver loads for such a copy it loads now, and not while the stream is kept waiting.
    copy.view_mut().copy_from_peer(&other, &source).unwrap();
    other.synchronize().unwrap();
    let (release, held) = channel::<()>();
    other.call_host(move || held.recv().unwrap_or_default()).unwrap();
    copy.view_mut().copy_from_peer(&other, &source).unwrap();
    std::thread::scope(|scope| {
        spy.clear();
        let freeing = scope.spawn(|| drop(source));
        while spy.count("cuStreamSynchronize") == 0 {
            std::thread::yield_now();
        }
        let capture = CudaGraph::capture(&near, CaptureMode::Relaxed, |_| {
            drop(release);
            freeing.join().unwrap();
            assert_eq!(spy.count("cuMemFree"), 0, "freed beside the capture");
            Ok(())
        });
        capture.unwrap();
        wait_for_a_free(&spy, "cuMemFree");
    });
}

/// Memory that the driver itself exported stands for that of a graphics API: not every driver takes it so.
#[test]
fn external_memory_is_used() {
    const LEN: usize = 1000;
    let stream = stream();
    let context = stream.context();
    if on_emulator(context) {
        return skipped("the emulator takes no external memory");
    }
    let options = PhysicalOptions::new().handles(OsHandleKinds::FILE_DESCRIPTOR);
    let bytes = options.granularity(context, false).unwrap();
    let memory = PhysicalAllocation::new(context, bytes, options).unwrap();
    let OsHandle::FileDescriptor(descriptor) = memory.export(OsHandleKinds::FILE_DESCRIPTOR).unwrap() else {
        panic!("another handle")
    };
    let handle = ExternalMemoryHandle::FileDescriptor(descriptor);
    let external = match unsafe { ExternalMemory::import(context, handle, bytes, false) } {
        Err(error) => return skipped(format!("the driver takes no memory of its own: {error}")),
        Ok(external) => external,
    };
    assert_eq!(external.byte_len(), bytes);
    assert!(unsafe { external.map::<u8>(1, bytes) }.is_err(), "past the end");
    let numbers: Vec<u32> = (0..LEN as u32).collect();
    let mut buffer = unsafe { external.map::<u32>(0, LEN) }.unwrap();
    buffer.copy_from_host(&stream, &numbers).unwrap();
    stream.synchronize().unwrap();
    // The same memory where its owner maps it.
    let addresses = VirtualReservation::new(context, bytes, 0).unwrap();
    let mapping = Mapping::new(&addresses, 0, &memory).unwrap();
    mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
    let own = DeviceBuffer::<u32>::from_mapping(mapping, LEN).unwrap();
    assert_eq!(own.to_host_vec(&stream).unwrap(), numbers);
}

/// On the emulator only: where a driver has them, a creation that goes wrong can put a whole host out of service.
#[test]
fn multicast_objects_are_refused() {
    let stream = stream();
    let context = stream.context();
    if !on_emulator(context) {
        return skipped("cuMulticastCreate can put the host out of service");
    }
    assert!(!MulticastObject::is_supported(context).unwrap());
    let error = MulticastObject::granularity(context, 2, false).unwrap_err();
    assert!(error.is_unsupported() && error.call() == Some("cuMulticastGetGranularity"), "{error}");
    let error = MulticastObject::new(context, 2, 2 << 20, OsHandleKinds::empty()).unwrap_err();
    assert!(error.is_unsupported() && error.call() == Some("cuMulticastGetGranularity"), "{error}");
}
