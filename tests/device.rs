//! Devices without a context, and contexts of every kind.

#![allow(unsafe_code)] // Raw handles in and out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::context::{ContextFlags, ContextLimit, ContextOptions, ContextSchedule};
use cuda_launch::device::{DeviceAttribute, DeviceUuid};
use cuda_launch::module::CacheConfig;
use cuda_launch::sys::{CUdevice_attribute, CUlimit, CUresult};
use cuda_launch::{CudaContext, CudaDevice, DeviceBuffer, cuda_launch, default_driver};
use std::any::Any;
use std::collections::HashSet;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FILL: &str = include_str!("../examples/kernels/fill.ptx");

/// Tests that change what a whole context is set to, or count what keeps it, run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device() -> CudaDevice {
    CudaDevice::new(0).unwrap()
}

/// Fills a buffer on that context by a kernel, and reads it.
fn works(ctx: &CudaContext) {
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(FILL).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let launch = unsafe {
        cuda_launch! {
            kernel: "fill",
            stream: stream,
            module: module,
            config: cuda_launch::LaunchConfig::new((1, 1, 1), (64, 1, 1)),
            args: [buffer.as_mut_device_ptr(), 64_u32, 7_u32]
        }
    };
    launch.unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [7; 64]);
}

#[test]
fn all_devices_are_listed_and_found_again() {
    let all = CudaDevice::all().unwrap();
    assert_eq!(all.len() as u32, CudaDevice::count().unwrap());
    let mut uuids = HashSet::new();
    for (device, ordinal) in all.iter().zip(0..) {
        assert_eq!((device.ordinal(), device), (ordinal, &CudaDevice::new(ordinal).unwrap()));
        let address = device.pci_bus_id().unwrap();
        assert_eq!(CudaDevice::by_pci_bus_id(device.driver(), &address).unwrap(), *device, "{address}");
        assert!(uuids.insert(device.uuid().unwrap()));
        assert!(!device.name().unwrap().is_empty() && device.total_memory().unwrap() > 1 << 20);
        assert!(device.compute_capability().unwrap() >= (5, 0));
    }
    assert_ne!(uuids.iter().next(), Some(&DeviceUuid([0; 16])));
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let error = CudaDevice::new(99).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_DEVICE));
    assert!(error.to_string().contains("device 99"), "{error}");
    let driver = default_driver().unwrap();
    let count = CudaDevice::count().unwrap();
    let all =
        if count == 1 { "1 device: 0".to_owned() } else { format!("{count} devices: 0 to {}", count - 1) };
    let error = CudaDevice::new(count).unwrap_err().to_string();
    assert!(error.ends_with(&format!("device {count}\n  help: this driver has {all}")), "{error}");
    let at = |address| CudaDevice::by_pci_bus_id(&driver, address).unwrap_err();
    assert_eq!(at("0000:7f:1f.0").code(), Some(CUresult::CUDA_ERROR_INVALID_DEVICE));
    assert_eq!(at("nowhere").code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(at("00\0").code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(at("nowhere").to_string().contains("nowhere"));
}

#[test]
fn any_attribute_by_a_typed_key() {
    let device = device();
    let get = |attribute: DeviceAttribute| device.attribute(attribute).unwrap();
    assert_eq!(get(DeviceAttribute::WARP_SIZE), 32);
    assert_eq!(get(DeviceAttribute::MAX_THREADS_PER_BLOCK), 1024);
    assert_eq!(DeviceAttribute::REGISTERS_PER_BLOCK, DeviceAttribute::MAX_REGISTERS_PER_BLOCK);
    // A raw number works too, and the context asks the same device.
    assert_eq!(device.attribute(CUdevice_attribute(10)).unwrap(), 32);
    assert_eq!(device.context().unwrap().device_attribute(DeviceAttribute::WARP_SIZE).unwrap(), 32);
    let error = device.attribute(CUdevice_attribute(9999)).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert!(error.to_string().contains("DeviceAttribute(9999) of device 0"), "{error}");
    // Those that the driver has are answered; the others are refused, and none crashes.
    let known = DeviceAttribute::ALL.iter().filter(|attribute| device.attribute(**attribute).is_ok()).count();
    assert!(known >= 100, "{known} of {}", DeviceAttribute::ALL.len());
}

/// The header has no attribute that the typed key lacks.
#[test]
fn every_attribute_of_the_header_has_a_name() {
    let header = include_str!("../sys/src/generated/types.rs");
    let start = header.find("impl CUdevice_attribute {").unwrap();
    let block = &header[start..start + header[start..].find("\n}\n").unwrap()];
    let raw: HashSet<&str> = block
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("CU_DEVICE_ATTRIBUTE_")?.strip_suffix(':'))
        .collect();
    let ours = include_str!("../src/driver/device/attribute.rs");
    let missing: Vec<_> = raw
        .iter()
        .filter(|name| **name != "MAX")
        .filter(|name| !ours.contains(&format!(" {name} =")) && !ours.contains(&format!(" {name}: Self")))
        .collect();
    assert!(raw.len() > 160 && missing.is_empty(), "{missing:?}");
    assert_eq!(DeviceAttribute::ALL.len(), 161);
}

#[test]
fn numa_affinity_and_luid_are_answered_or_refused() {
    let device = device();
    device.host_numa_node().unwrap();
    device.numa_node().unwrap();
    device.supports_multiprocessor_affinity().unwrap();
    if !cfg!(windows) {
        assert_eq!(device.luid().unwrap_err().code(), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED));
    }
}

#[test]
fn limits_are_set_and_told() {
    let _alone = alone();
    let ctx = device().create_context(&ContextOptions::default()).unwrap();
    let before = ctx.limit(ContextLimit::STACK_SIZE).unwrap();
    ctx.set_limit(ContextLimit::STACK_SIZE, before + 1000).unwrap();
    assert!(ctx.limit(ContextLimit::STACK_SIZE).unwrap() >= before + 1000);
    ctx.set_limit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20).unwrap();
    assert_eq!(ctx.limit(ContextLimit::MALLOC_HEAP_SIZE).unwrap(), 16 << 20);
    let error = ctx.set_limit(ContextLimit::STACK_SIZE, usize::MAX).unwrap_err();
    assert!(error.to_string().contains("CU_LIMIT_STACK_SIZE ="), "{error}");
    assert_eq!(ctx.limit(CUlimit(99)).unwrap_err().code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    ctx.close().unwrap();
}

#[test]
fn cache_config_flags_and_numbers() {
    let _alone = alone();
    let options = ContextOptions::new().schedule(ContextSchedule::BlockingSync);
    let ctx = device().create_context(&options).unwrap();
    ctx.set_cache_config(CacheConfig::PREFER_L1).unwrap();
    assert!(ctx.cache_config().unwrap().raw().0 <= 3);
    assert_eq!(ctx.flags().unwrap().0, ContextSchedule::BlockingSync);
    if ctx.driver().has("cuCtxSetFlags") {
        ctx.set_flags(ContextSchedule::Yield, ContextFlags::empty()).unwrap();
        assert_eq!(ctx.flags().unwrap().0, ContextSchedule::Yield);
    }
    let primary = device().context().unwrap();
    assert_ne!(ctx.id().unwrap(), primary.id().unwrap());
    assert!(ctx.api_version().unwrap() >= 3020);
    ctx.reset_persisting_l2_cache().unwrap();
    ctx.close().unwrap();
}

#[test]
fn the_primary_context_is_counted_and_told() {
    let _alone = alone();
    let device = device();
    let ctx = device.context().unwrap();
    assert!(device.primary_context_state().unwrap().active);
    let before = device.primary_context_state().unwrap();
    device.set_primary_context_flags(ContextSchedule::Spin, ContextFlags::empty()).unwrap();
    assert_eq!(device.primary_context_state().unwrap().schedule, ContextSchedule::Spin);
    device.set_primary_context_flags(before.schedule, ContextFlags::empty()).unwrap();
    let error = device
        .set_primary_context_flags(before.schedule, ContextFlags::from_bits_retain(1 << 20))
        .unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    let error = unsafe { device.reset_primary_context() }.unwrap_err();
    assert!(error.is_context_in_use() && error.to_string().contains("device 0"), "{error}");
    works(&ctx);
}

#[test]
fn a_context_of_ones_own_is_apart_from_the_primary_one() {
    let _alone = alone();
    let device = device();
    let primary = device.context().unwrap();
    primary.bind().unwrap();
    let own = device.create_context(&ContextOptions::default()).unwrap();
    let mut current = null_mut();
    assert_eq!(unsafe { own.driver().cuCtxGetCurrent(&mut current) }, CUresult::SUCCESS);
    assert_eq!(current, primary.raw(), "what was current stays so");
    assert_ne!(own.raw(), primary.raw());
    assert_eq!((own.ordinal(), own.device()), (0, device));
    works(&own);
    works(&primary);
    // Objects of two contexts of one device: refused, and both are named.
    let module = own.load_module(FILL).unwrap();
    let stream = primary.new_stream().unwrap();
    let launch = unsafe {
        cuda_launch! {
            kernel: "fill",
            stream: stream,
            module: module,
            config: cuda_launch::LaunchConfig::new((1, 1, 1), (1, 1, 1)),
            args: [cuda_launch::sys::CUdeviceptr::default(), 0_u32, 0_u32]
        }
    };
    let error = launch.unwrap_err();
    assert!(error.is_context_mismatch() && !error.is_wrong_device(), "{error}");
    assert!(error.to_string().contains("different contexts of device 0"), "{error}");
    drop(module);
    own.close().unwrap();
}

/// To make a context current that was destroyed crashes driver 580, later.
#[test]
fn nothing_is_asked_of_a_context_after_its_end() {
    let _alone = alone();
    let (spy, context) = spies::spied();
    let device = context.device();
    drop(context);
    for closed in [true, false] {
        let own = device.create_context(&ContextOptions::default()).unwrap();
        works(&own);
        spy.clear();
        if closed {
            own.close().unwrap()
        } else {
            drop(own)
        };
        assert_eq!(spy.calls().names().last(), Some(&"cuCtxDestroy_v2"), "closed: {closed}");
    }
}

#[test]
fn some_multiprocessors_only_where_the_device_can() {
    let _alone = alone();
    let device = device();
    let options = ContextOptions::new().multiprocessors(Some(8));
    match device.create_context(&options) {
        Ok(ctx) => works(&ctx),
        Err(error) => {
            assert!(!device.supports_multiprocessor_affinity().unwrap(), "{error}");
            assert!(error.to_string().contains("multiprocessors: Some(8)"), "{error}");
        }
    }
}

#[test]
fn a_foreign_context_is_borrowed_and_never_destroyed() {
    let _alone = alone();
    let driver = default_driver().unwrap();
    let mut raw = null_mut();
    unsafe {
        assert_eq!(driver.cuInit(0), CUresult::SUCCESS);
        assert_eq!(driver.cuCtxCreate(&mut raw, null_mut(), 0, 0), CUresult::SUCCESS);
        assert_eq!(driver.cuCtxPopCurrent(&mut null_mut()), CUresult::SUCCESS);
    }
    struct Owner(Arc<Mutex<bool>>);
    impl Drop for Owner {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = true;
        }
    }
    let gone = Arc::new(Mutex::new(false));
    let owner: Arc<dyn Any + Send + Sync> = Arc::new(Owner(gone.clone()));
    let ctx = unsafe { CudaContext::from_raw(&driver, raw, Some(owner)) }.unwrap();
    assert_eq!((ctx.raw(), ctx.ordinal()), (raw, 0));
    let again = unsafe { CudaContext::from_raw(&driver, raw, None) }.unwrap();
    works(&ctx);
    // Both are handles of one context: what one makes, the other takes.
    let (stream, module) = (again.new_stream().unwrap(), ctx.load_module(FILL).unwrap());
    let buffer = DeviceBuffer::from_host(&stream, &[1_u32, 2]).unwrap();
    assert_eq!(buffer.to_host_vec(&ctx.new_stream().unwrap()).unwrap(), [1, 2]);
    drop((buffer, stream, module));
    drop(ctx);
    assert!(!*gone.lock().unwrap(), "another handle is there");
    again.close().unwrap();
    assert!(*gone.lock().unwrap(), "the owner went with the last handle");
    unsafe { assert_eq!(driver.cuCtxDestroy(raw), CUresult::SUCCESS) };
}

#[test]
fn a_foreign_handle_to_the_primary_context_is_the_same_context() {
    let _alone = alone();
    let (driver, device) = (default_driver().unwrap(), device());
    let mut raw = null_mut();
    unsafe { assert_eq!(driver.cuDevicePrimaryCtxRetain(&mut raw, device.raw()), CUresult::SUCCESS) };
    let foreign = unsafe { CudaContext::from_raw(&driver, raw, None) }.unwrap();
    let ours = device.context().unwrap();
    let (stream, module) = (foreign.new_stream().unwrap(), ours.load_module(FILL).unwrap());
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let launch = unsafe {
        cuda_launch! {
            kernel: "fill",
            stream: stream,
            module: module,
            config: cuda_launch::LaunchConfig::new((1, 1, 1), (4, 1, 1)),
            args: [buffer.as_mut_device_ptr(), 4_u32, 9_u32]
        }
    };
    launch.unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [9; 4]);
    unsafe { assert_eq!(driver.cuDevicePrimaryCtxRelease(device.raw()), CUresult::SUCCESS) };
    works(&ours);
}

#[test]
fn raw_handles_go_out_and_come_back() {
    let _alone = alone();
    let own = device().create_context(&ContextOptions::default()).unwrap();
    let driver = own.driver().clone();
    let raw = own.into_raw();
    // Nobody has a handle; the context lives.
    let mut told = 9;
    unsafe { assert_eq!(driver.cuCtxGetApiVersion(raw, &mut told), CUresult::SUCCESS) };
    let back = unsafe { CudaContext::reclaim_raw(&driver, raw) }.unwrap();
    assert_eq!(back.raw(), raw);
    works(&back);
    back.close().unwrap();
    // Destroyed by the last handle: it is known no more.
    let error = unsafe { CudaContext::reclaim_raw(&driver, raw) }.unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_CONTEXT));
}
