//! Mistakes that `cargo xtask gate tsan` must report: the host uses memory while work on a stream does. Each is made in a process of its own.

#![allow(unsafe_code)] // Accesses of the host that nothing orders.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::{child, skipped};
use cuda_launch::memory::{ManagedAttach, PinnedFlags};
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, LaunchConfig, ManagedBuffer, PinnedBuffer, cuda_module,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

#[cuda_module("tests/kernels/ordering.ptx")]
mod kernels {
    unsafe extern "C" {
        /// x = x * m + a
        pub safe fn step(x: &mut [u32], m: u32, a: u32);
    }
}

const N: usize = 1000;

/// The mistake is reported, and nothing else stops the test.
fn is_reported(name: &str, mistake: impl FnOnce(&CudaStream)) {
    if child::is_child(name) {
        return mistake(&CudaContext::new(0).unwrap().new_stream().unwrap());
    }
    if std::env::var_os("CUDA_LAUNCH_TEST_TSAN").is_none() {
        return skipped("only ThreadSanitizer sees it: `cargo xtask gate tsan`");
    }
    let ended = child::run(name).unwrap();
    assert!(ended.stdout.contains("1 passed"), "{}", ended.stdout);
    assert!(ended.stderr.contains("ThreadSanitizer: data race"), "{}", ended.stderr);
}

/// The host does this while the stream may do that: before it, as it happens, but nothing says so. Flags without an order of their own see
/// to it, since a lock would be an order.
fn beside(stream: &CudaStream, submit: impl FnOnce(), access: impl FnOnce()) {
    let [may_go, done] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let wait = |flag: &AtomicBool| {
        while !flag.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let (go, tell) = (may_go.clone(), done.clone());
    stream.call_host(move || wait(&go)).unwrap();
    submit();
    stream.call_host(move || tell.store(true, Ordering::Relaxed)).unwrap();
    access();
    may_go.store(true, Ordering::Relaxed);
    wait(&done);
    stream.synchronize().unwrap();
}

#[test]
fn pinned_memory_is_read_during_a_copy_to_it() {
    is_reported("pinned_memory_is_read_during_a_copy_to_it", |stream| {
        let device = DeviceBuffer::from_host(stream, &[1u32; N]).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeroed(stream.context(), N, PinnedFlags::empty()).unwrap();
        let host = pinned.as_host_ptr();
        let copy = || device.view().copy_to_pinned(stream, pinned.view_mut()).unwrap();
        beside(stream, copy, || assert_eq!(unsafe { *host }, 0));
    });
}

#[test]
fn pinned_memory_is_written_during_a_copy_from_it() {
    is_reported("pinned_memory_is_written_during_a_copy_from_it", |stream| {
        let mut device = DeviceBuffer::<u32>::zeroed(stream, N).unwrap();
        let pinned = PinnedBuffer::<u32>::zeroed(stream.context(), N, PinnedFlags::empty()).unwrap();
        let host = pinned.as_host_ptr();
        let copy = || device.view_mut().copy_from_pinned(stream, &pinned).unwrap();
        beside(stream, copy, || unsafe { *host = 1 });
    });
}

#[test]
fn pinned_memory_is_read_while_a_kernel_writes_it() {
    is_reported("pinned_memory_is_read_while_a_kernel_writes_it", |stream| {
        // Fewer than a warp stores one by one: ThreadSanitizer knows no vector that holds a warp's.
        const N: usize = 3;
        let mut pinned = PinnedBuffer::<u32>::zeroed(stream.context(), N, PinnedFlags::empty()).unwrap();
        let host = pinned.as_host_ptr();
        let kernels = kernels::load(stream.context()).unwrap();
        let config = LaunchConfig::for_num_elems(N as u32);
        let launch = || kernels.step(stream, config, &mut pinned.device_view_mut(), 1, 1).unwrap();
        beside(stream, launch, || assert_eq!(unsafe { *host }, 0));
    });
}

#[test]
fn managed_memory_is_read_during_a_fill() {
    is_reported("managed_memory_is_read_during_a_fill", |stream| {
        let mut managed = ManagedBuffer::from_slice(stream, &[0u32; N], ManagedAttach::Global).unwrap();
        let host = managed.as_host_ptr();
        let fill = || managed.view_mut().fill(stream, 1).unwrap();
        beside(stream, fill, || assert_eq!(unsafe { *host }, 0));
    });
}
