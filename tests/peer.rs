//! Two devices of one process. The emulator plays two; on GPUs the tests need a machine with two, and are skipped without.

#![allow(unsafe_code)] // The environment, and kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::{child, skipped};
use cuda_launch::device::PeerAttribute;
use cuda_launch::event::EventFlags;
use cuda_launch::memory::{MemoryPool, PoolOptions};
use cuda_launch::sys::{CUdevice_P2PAttribute, CUresult};
use cuda_launch::{
    CudaContext, CudaDevice, CudaEvent, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig, cuda_launch,
};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const ONE_BLOCK: LaunchConfig = LaunchConfig::new((1, 1, 1), (64, 1, 1));

/// Two devices, where there are: every test comes here first, because the emulator reads the variable once.
fn two() -> Option<[CudaDevice; 2]> {
    static SET: Once = Once::new();
    // SAFETY: every test comes here first, and the others wait in `call_once`: no driver, whose code reads it without the lock of
    // `std::env`, was asked for anything yet; all else reads the environment by `std::env`.
    SET.call_once(|| unsafe { std::env::set_var("CUDA_EMULATOR_DEVICES", "2") });
    let devices = CudaDevice::all().unwrap().into_iter().take(2).collect::<Vec<_>>().try_into().ok();
    if devices.is_none() {
        skipped("this machine has one device");
    }
    devices
}

/// Peer access is of a whole context: tests that change it run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fill(stream: &CudaStream, address: u64, value: u32) -> Result<(), Error> {
    let module = stream.context().load_module(FILL)?;
    // SAFETY: 1: fill takes an address, a count and a number; 2: the callers give memory of 64 numbers, or, in a process of its
    // own, an address that the device refuses, which is the test; 3, 4: they keep it to the `synchronize` below, alone; 5: of
    // numbers; 6: it ends.
    unsafe {
        cuda_launch! { kernel: "fill", stream: stream, module: module, config: ONE_BLOCK, args: [address, 64_u32, value] }
    }?;
    stream.synchronize()
}

#[test]
fn two_contexts_in_one_process() {
    let Some(devices) = two() else { return };
    let contexts = devices.each_ref().map(|device| device.context().unwrap());
    assert_ne!(contexts[0].raw(), contexts[1].raw());
    let threads: Vec<_> = contexts
        .into_iter()
        .map(|ctx| {
            std::thread::spawn(move || {
                let stream = ctx.new_stream().unwrap();
                let buffer = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
                fill(&stream, buffer.cu_deviceptr(), 5 + ctx.ordinal()).unwrap();
                (ctx.ordinal(), buffer.to_host_vec(&stream).unwrap())
            })
        })
        .collect();
    for thread in threads {
        let (ordinal, values) = thread.join().unwrap();
        assert_eq!(values, [5 + ordinal; 64]);
    }
}

/// Row 37 of the misuse table: what belongs to another device is refused, and both devices are named.
#[test]
fn objects_of_another_device_are_refused_with_both_ordinals() {
    let Some(devices) = two() else { return };
    let [here, there] = devices.each_ref().map(|device| device.context().unwrap());
    let (stream, strange) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&strange, 64).unwrap();
    let named = |error: Error| {
        let ErrorKind::Context(mismatch) = error.kind() else { panic!("{error}") };
        assert_eq!((mismatch.object, mismatch.stream), (1, 0), "{error}");
        assert!(error.is_wrong_device() && error.is_context_mismatch());
        assert!(error.to_string().contains("device 1") && error.to_string().contains("device 0"), "{error}");
    };
    named(buffer.to_host_vec(&stream).unwrap_err());
    named(buffer.copy_from_host(&stream, &[0; 64]).unwrap_err());
    let event = CudaEvent::new(&there, EventFlags::empty()).unwrap();
    named(event.record(&stream).unwrap_err());
    let modules = [&there, &here].map(|ctx| ctx.load_module(FILL).unwrap());
    for module in &modules {
        // SAFETY: 1 to 6: nothing is launched: buffer or module are of another device, which is refused.
        let launch = unsafe {
            cuda_launch! { kernel: "fill", stream: stream, module: module, config: ONE_BLOCK, args: [ptr_mut(buffer), 64_u32, 1_u32] }
        };
        named(launch.unwrap_err());
    }
    assert_eq!(buffer.to_host_vec(&strange).unwrap(), [0; 64], "nothing was done");
    // Waiting for an event of another device is what events are for.
    event.record(&strange).unwrap();
    stream.wait(&event).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn peer_access_is_asked_switched_on_and_off() {
    let Some(devices) = two() else { return };
    let _alone = alone();
    let [first, second] = &devices;
    assert!(!first.can_access_peer(first).unwrap(), "a device is no peer of itself");
    let can = first.can_access_peer(second).unwrap();
    assert_eq!(first.peer_attribute(PeerAttribute::ACCESS_SUPPORTED, second).unwrap(), i32::from(can));
    first.peer_attribute(PeerAttribute::PERFORMANCE_RANK, second).unwrap();
    first.peer_attribute(PeerAttribute::NATIVE_ATOMIC_SUPPORTED, second).unwrap();
    first.peer_attribute(PeerAttribute::CUDA_ARRAY_ACCESS_SUPPORTED, second).unwrap();
    let error = first.peer_attribute(PeerAttribute::ACCESS_SUPPORTED, first).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_DEVICE));
    assert!(error.to_string().contains("device 0 to device 0"), "{error}");
    assert!(first.peer_attribute(CUdevice_P2PAttribute(99), second).is_err());
    if can {
        let [here, there] = [first, second].map(|device| device.context().unwrap());
        assert!(!here.disable_peer_access(&there).unwrap(), "it was off");
        assert!(here.enable_peer_access(&there).unwrap());
        assert!(!here.enable_peer_access(&there).unwrap(), "it was on");
        assert!(here.disable_peer_access(&there).unwrap());
        assert!(here.enable_peer_access(&here).is_err());
    }
}

/// Memory of the second device that is not of a pool, which peer access does not concern.
fn plain(ctx: &CudaContext) -> u64 {
    let mut address = 0;
    ctx.bind().unwrap();
    // SAFETY: `bind` has just made the context current; the output is a local that outlives the call.
    assert_eq!(unsafe { ctx.driver().cuMemAlloc(&mut address, 256) }, CUresult::SUCCESS);
    address
}

#[test]
fn a_kernel_writes_to_a_peers_memory() {
    let Some(devices) = two() else { return };
    if !devices[0].can_access_peer(&devices[1]).unwrap() {
        return skipped("the devices have no link");
    }
    let _alone = alone();
    let [here, there] = devices.each_ref().map(|device| device.context().unwrap());
    let address = plain(&there);
    here.enable_peer_access(&there).unwrap();
    fill(&here.new_stream().unwrap(), address, 7).unwrap();
    let mut values = [0_u32; 64];
    there.bind().unwrap();
    // SAFETY: `values` has 64 numbers, 256 bytes, as many as `plain` allocated; `bind` made their context current.
    let code = unsafe { there.driver().cuMemcpyDtoH(values.as_mut_ptr().cast(), address, 256) };
    assert_eq!((code, values), (CUresult::SUCCESS, [7; 64]));
    here.disable_peer_access(&there).unwrap();
    // SAFETY: `plain` allocated it in this context, it is freed once, and `fill` and the copy have waited for their
    // work on it, which is all there was.
    assert_eq!(unsafe { there.driver().cuMemFree(address) }, CUresult::SUCCESS);
}

#[test]
fn without_peer_access_the_kernel_faults() {
    const TEST: &str = "without_peer_access_the_kernel_faults";
    let Some(devices) = two() else { return };
    // The fault ends CUDA in its process, so that is another one.
    if !child::is_child(TEST) {
        let ended = child::run(TEST).unwrap();
        assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    let [here, there] = devices.each_ref().map(|device| device.context().unwrap());
    let address = plain(&there);
    let error = fill(&here.new_stream().unwrap(), address, 7).unwrap_err();
    assert!(error.is_sticky() && error.to_string().contains("fill"), "{error}");
}

/// A kernel that got it would fault, also where nobody wrote `unsafe`.
#[test]
fn a_pool_of_another_device_needs_access() {
    let Some(devices) = two() else { return };
    let [here, there] = devices.each_ref().map(|device| device.context().unwrap());
    let stream = here.new_stream().unwrap();
    let elsewhere = PoolOptions::new().location(Some((&there).into()));
    for pool in [MemoryPool::new(&there, PoolOptions::new()), MemoryPool::new(&here, elsewhere)] {
        let pool = pool.unwrap();
        let error = DeviceBuffer::<u32>::uninit_in(&pool, &stream, 64).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Inaccessible(_)), "{error}");
        assert!(
            error.to_string().contains("help: grant it access with `MemoryPool::grant_access`"),
            "{error}"
        );
        if !devices[0].can_access_peer(&devices[1]).unwrap() {
            skipped("these devices cannot access each other");
            continue;
        }
        pool.grant_access((&here).into()).unwrap();
        let buffer = DeviceBuffer::<u32>::uninit_in(&pool, &stream, 64).unwrap();
        fill(&stream, buffer.cu_deviceptr(), 9).unwrap();
        assert_eq!(buffer.to_host_vec(&stream).unwrap(), [9; 64]);
    }
}
