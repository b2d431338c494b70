//! Functions: enumeration, attributes, loading, foreign handles.

#![allow(unsafe_code)] // Launches and foreign handles: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_harness::skipped;
use cuda_launch::module::{CacheConfig, FunctionAttribute as A, KernelEntry, LoadingMode, SharedCarveout};
use cuda_launch::sys::{self, CUresult};
use cuda_launch::{CudaFunction, CudaModule, cuda_launch};
use references::{Gpu, line};

const GLOBALS: &str = include_str!("kernels/globals.ptx");
const SHARED: &str = include_str!("kernels/shared.ptx");
const CLUSTERS: &str = include_str!("kernels/clusters.ptx");

#[test]
fn kernels_are_enumerated_without_loading_them() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let lazy = gpu.ctx.module_loading_mode().unwrap() == LoadingMode::Lazy;
    let mut kernels: Vec<KernelEntry> = module.kernels().unwrap();
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["copy_constant", "copy_text", "count", "fill_table", "initialised", "polynomial"]);
    assert!(kernels.iter().all(|kernel| kernel.loaded == Some(!lazy)), "{kernels:?}");
    let mut from_image: Vec<&str> = module.kernel_names().collect();
    from_image.sort();
    assert_eq!(from_image, names);
    let count = module.load_function("count").unwrap();
    assert!(count.is_loaded().unwrap());
    count.load().unwrap();
    let loaded = |name: &str| module.kernels().unwrap().iter().find(|k| k.name == name).unwrap().loaded;
    assert_eq!((loaded("count"), loaded("initialised")), (Some(true), Some(!lazy)));
    assert_eq!(count.raw_module().unwrap(), module.raw());
    assert_eq!(count.module().unwrap().raw(), module.raw());
}

#[test]
fn attributes_are_read() {
    let gpu = Gpu::new();
    let f = gpu.module(SHARED).load_function("static_1k").unwrap();
    assert_eq!(f.attribute(A::SHARED_SIZE_BYTES).unwrap(), 1024);
    assert_eq!(f.attribute(A::MAX_DYNAMIC_SHARED_SIZE_BYTES).unwrap(), 47 * 1024);
    assert_eq!(f.attribute(A::CACHE_MODE_CA).unwrap(), 0);
    let limits = f.limits().unwrap();
    assert_eq!((limits.static_shared_memory, limits.max_dynamic_shared_memory), (1024, 47 * 1024));
    assert_eq!((limits.max_threads_per_block, limits.registers), (1024, f.registers().unwrap()));
    assert_eq!(
        (limits.local_memory, limits.const_memory),
        (f.local_memory().unwrap(), f.const_memory().unwrap())
    );
    assert_eq!(limits.binary_version, gpu.ctx.limits().compute_capability);
    assert!(
        limits.ptx_version >= (5, 2) && !limits.cluster_size_must_be_set && limits.required_cluster.is_none()
    );
    assert!(limits.to_string().contains("1024 bytes"), "{limits}");
    let error = f.attribute(A::from_raw(sys::CUfunction_attribute(99))).unwrap_err();
    assert_eq!(
        (error.call(), error.code()),
        (Some("cuFuncGetAttribute"), Some(CUresult::CUDA_ERROR_INVALID_VALUE))
    );
    assert!(error.to_string().contains("FunctionAttribute(99) of static_1k"), "{error}");
}

#[test]
fn attributes_are_set() {
    let gpu = Gpu::new();
    let f = gpu.module(SHARED).load_function("static_1k").unwrap();
    assert_eq!(f.shared_carveout().unwrap(), SharedCarveout::Default);
    for carveout in [SharedCarveout::MaxShared, SharedCarveout::Percent(25), SharedCarveout::MaxL1] {
        f.set_shared_carveout(carveout).unwrap();
        assert_eq!(f.shared_carveout().unwrap(), carveout);
    }
    assert!(f.set_shared_carveout(SharedCarveout::Percent(101)).is_err());
    f.set_max_dynamic_shared_memory(100_000).unwrap();
    assert_eq!(
        (f.max_dynamic_shared_memory(), f.limits().unwrap().max_dynamic_shared_memory),
        (100_000, 100_000)
    );
    let error = f.set_attribute(A::NUM_REGS, 3).unwrap_err();
    assert!(error.to_string().contains("NUM_REGS of static_1k to 3"), "{error}");
    for config in [
        CacheConfig::PREFER_SHARED,
        CacheConfig::PREFER_L1,
        CacheConfig::PREFER_EQUAL,
        CacheConfig::default(),
    ] {
        f.set_cache_config(config).unwrap();
    }
    assert!(f.set_cache_config(CacheConfig::from_raw(sys::CUfunc_cache(7))).is_err());
}

#[test]
fn attributes_of_clusters() {
    let gpu = Gpu::new();
    if !gpu.ctx.limits().cluster_launch {
        return skipped("the device has no clusters");
    }
    let module = gpu.module(CLUSTERS);
    let f = module.load_function("blocks_are_clusters").unwrap();
    assert_eq!(f.required_cluster(), Some((2, 1, 1)));
    assert_eq!(f.attribute(A::REQUIRED_CLUSTER_WIDTH).unwrap(), 2);
    let free = module.load_function("cluster_indices").unwrap();
    assert_eq!((free.required_cluster(), free.non_portable_cluster_size_allowed().unwrap()), (None, false));
    free.set_non_portable_cluster_size_allowed(true).unwrap();
    assert!(free.non_portable_cluster_size_allowed().unwrap());
    assert!(!free.cluster_size_must_be_set().unwrap());
}

#[test]
fn foreign_modules_and_functions_are_borrowed() {
    let gpu = Gpu::new();
    let owner = gpu.module(GLOBALS);
    // SAFETY: 1: both are of `owner`, a module of this context; 2: `owner` is declared before both and so dropped after
    // them, and after `get` has waited for the launches; 3 of the module: nobody takes a variable from `owner`.
    let module = unsafe { CudaModule::from_raw(&gpu.ctx, owner.raw()) };
    let f = unsafe { CudaFunction::from_raw(&gpu.ctx, owner.load_function("count").unwrap().raw()).unwrap() };
    assert_eq!((f.name(), f.module().is_none()), ("count", true));
    let mut out = gpu.zeros::<u32>(1);
    // count(out): out = counter++
    for expected in [5u32, 6] {
        let launched = if expected == 5 {
            unsafe {
                cuda_launch! { function: f, stream: gpu.stream, config: line(1, 1), args: [out.as_mut_device_ptr()] }
            }
        } else {
            unsafe {
                cuda_launch! { kernel: count, module: module, stream: gpu.stream, config: line(1, 1),
                args: [out.as_mut_device_ptr()] }
            }
        };
        launched.unwrap();
        assert_eq!(gpu.get(&out), [expected]);
    }
    assert_eq!(module.global::<u32>("counter").unwrap().to_host_vec(&gpu.stream).unwrap(), [7]);
    assert_eq!(module.kernels().unwrap().len(), 6);
    assert!(module.load_function("nothing").unwrap_err().is_not_found());
    // The argument list is known to the driver.
    let wrong = unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(1, 1), args: [1u32] }
    };
    assert!(wrong.unwrap_err().is_argument_mismatch());
    module.close().unwrap();
    drop(f);
    assert!(owner.load_function("count").is_ok(), "still loaded");
}
