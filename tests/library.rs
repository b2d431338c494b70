//! Libraries and their kernels, which belong to no context.
//!
//! One test at a time: one captures in a context by a driver of its own, and of such a capture nothing is known to a wait for the same context
//! by the driver of the others.

#![allow(unsafe_code)] // Launches: the comment at each tells its arguments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
mod references;
#[path = "support/spies.rs"]
mod spies;

use alone::alone;
use cuda_launch::error::GlobalError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::module::{
    CacheConfig, CudaLibrary, FunctionAttribute as A, JitOptions, LibraryKernel, LibraryOptions,
};
use cuda_launch::sys::{CUdeviceptr, CUmodule, CUresult};
use cuda_launch::{CaptureMode, CudaContext, CudaDevice, CudaGraph, CudaStream, ErrorKind, cuda_launch};
use references::{Gpu, line};
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

const GLOBALS: &str = include_str!("kernels/globals.ptx");
const SHARED: &str = include_str!("kernels/shared.ptx");

fn library(gpu: &Gpu, image: impl cuda_launch::module::KernelImage) -> CudaLibrary {
    CudaLibrary::load(gpu.ctx.driver(), image).unwrap()
}

#[test]
fn handles_may_be_shared_and_sent() {
    fn both<T: Send + Sync>() {}
    both::<CudaLibrary>();
    both::<LibraryKernel>();
    both::<JitOptions>();
}

#[test]
fn a_kernel_of_a_library_is_launched() {
    let _alone = alone();
    let gpu = Gpu::new();
    let library = library(&gpu, GLOBALS);
    let kernel = library.kernel("count").unwrap();
    let f = kernel.function(&gpu.ctx).unwrap();
    assert_eq!((f.name(), kernel.name(), kernel.library().raw()), ("count", "count", library.raw()));
    assert_eq!(f.raw(), kernel.function(&gpu.ctx).unwrap().raw());
    let mut out = gpu.zeros::<u32>(1);
    // count(out): out = counter++
    unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(1, 1), args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [5]);
    let wrong = unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(1, 1), args: [1u32] }
    };
    let error = wrong.unwrap_err();
    assert!(error.is_argument_mismatch() && error.to_string().contains(".u64"), "the image's types: {error}");
    // The function keeps the library loaded.
    drop((library, kernel));
    unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(1, 1), args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [6]);
}

#[test]
fn kernels_are_enumerated() {
    let _alone = alone();
    let gpu = Gpu::new();
    let library = library(&gpu, GLOBALS);
    let mut names = library.kernel_names().unwrap();
    names.sort();
    assert_eq!(names, ["copy_constant", "copy_text", "count", "fill_table", "initialised", "polynomial"]);
    let kernels = library.kernels().unwrap();
    let fill = kernels.iter().find(|kernel| kernel.name() == "fill_table").unwrap();
    assert_eq!(fill.raw(), library.kernel("fill_table").unwrap().raw());
    assert_eq!(fill.parameter_sizes().unwrap(), [4]);
    // A driver wants a current context for them, which a new thread does not have.
    let elsewhere = std::thread::scope(|scope| scope.spawn(|| fill.parameter_sizes().unwrap()).join());
    assert_eq!(elsewhere.unwrap(), [4]);
    assert_eq!(library.kernel("initialised").unwrap().parameter_sizes().unwrap(), [8]);
    let error = library.kernel("fil_table").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("did you mean fill_table"), "{error}");
    assert!(matches!(library.kernel("").unwrap_err().kind(), ErrorKind::Name { .. }));
}

#[test]
fn attributes_of_a_kernel_are_those_of_its_functions() {
    let _alone = alone();
    let gpu = Gpu::new();
    let library = library(&gpu, SHARED);
    let kernel = library.kernel("static_1k").unwrap();
    assert_eq!(kernel.attribute(&gpu.ctx, A::SHARED_SIZE_BYTES).unwrap(), 1024);
    let f = kernel.function(&gpu.ctx).unwrap();
    assert_eq!(f.max_dynamic_shared_memory(), 47 * 1024);
    kernel.set_attribute(&gpu.ctx, A::MAX_DYNAMIC_SHARED_SIZE_BYTES, 100_000).unwrap();
    assert_eq!(kernel.attribute(&gpu.ctx, A::MAX_DYNAMIC_SHARED_SIZE_BYTES).unwrap(), 100_000);
    // Also the function that was there before.
    assert_eq!(f.max_dynamic_shared_memory(), 100_000);
    assert_eq!(kernel.function(&gpu.ctx).unwrap().max_dynamic_shared_memory(), 100_000);
    assert!(kernel.set_attribute(&gpu.ctx, A::NUM_REGS, 1).is_err());
    kernel.set_cache_config(&gpu.ctx, CacheConfig::PREFER_L1).unwrap();
}

#[test]
fn variables_of_a_library() {
    let _alone = alone();
    let gpu = Gpu::new();
    let library = library(&gpu, GLOBALS);
    let module = library.module(&gpu.ctx).unwrap();
    assert_eq!(library.raw_global(&gpu.ctx, "counter").unwrap(), module.raw_global("counter").unwrap());
    let mut counter = module.global::<u32>("counter").unwrap();
    counter.copy_from_host(&gpu.stream, &[40]).unwrap();
    // The library's module is one, whoever asks: so is the handle of a variable.
    let error = library.module(&gpu.ctx).unwrap().global::<u32>("counter").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Global(GlobalError::InUse { .. })), "{error}");
    let f = library.kernel("count").unwrap().function(&gpu.ctx).unwrap();
    // count(out): counter += 1 for each thread
    let mut out = gpu.zeros::<u32>(2);
    unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(1, 2), args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(counter.to_host_vec(&gpu.stream).unwrap(), [42]);
    let error = library.raw_global(&gpu.ctx, "conter").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("counter"), "{error}");
    assert!(library.raw_managed("nothing").unwrap_err().is_not_found());
    assert!(library.unified_function("nothing").is_err());
    // A library's module stays with its library.
    drop((counter, module, f));
    assert!(library.module(&gpu.ctx).unwrap().global::<u32>("counter").is_ok());
    library.close().unwrap();
}

static MANAGED: OnceLock<u64> = OnceLock::new();

/// As if the variable were `.managed`: one address in all contexts.
unsafe extern "C" fn managed(
    address: *mut CUdeviceptr,
    bytes: *mut usize,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    let code =
        unsafe { cuda_launch::default_driver().unwrap().cuModuleGetGlobal(address, bytes, module, name) };
    unsafe { *address = *MANAGED.get_or_init(|| *address) };
    code
}

#[test]
fn a_variable_of_all_contexts_has_one_handle() {
    let _alone = alone();
    let driver = spies::driver_with(|name| match name {
        "cuModuleGetGlobal_v2" => managed as *const c_void,
        _ => std::ptr::null(),
    });
    let first = CudaContext::with_driver(&driver, 0).unwrap();
    let second = CudaDevice::with_driver(&driver, 0).unwrap().create_context(&Default::default()).unwrap();
    let library = CudaLibrary::load(&driver, GLOBALS).unwrap();
    let (here, there) = (library.module(&first).unwrap(), library.module(&second).unwrap());
    let counter = here.global::<u32>("counter").unwrap();
    let error = there.global::<u32>("counter").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Global(GlobalError::InUse { .. })), "{error}");
    drop(counter);
    let counter = there.global::<u32>("counter").unwrap();
    assert!(here.global::<u32>("counter").is_err());
    drop(counter);
    // What a graph of the first context uses is of that context.
    let fill = |stream: &CudaStream| here.global::<u32>("counter")?.view_mut().fill(stream, 5);
    let graph = CudaGraph::capture(&first, CaptureMode::ThreadLocal, fill).unwrap();
    let error = there.global::<u32>("counter").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Global(GlobalError::InUse { .. })), "{error}");
    assert!(here.global::<u32>("counter").is_ok());
    drop(graph);
    let counter = there.global::<u32>("counter").unwrap();
    assert_eq!(counter.view().context().raw(), second.raw());
}

/// Success, and no name.
unsafe extern "C" fn nameless(_: *mut *const c_char, _: *mut c_void) -> CUresult {
    CUresult::SUCCESS
}

#[test]
fn a_driver_that_names_nothing_is_no_crash() {
    let _alone = alone();
    let driver = spies::driver_with(|name| match name {
        "cuFuncGetName" | "cuKernelGetName" => nameless as *const c_void,
        _ => std::ptr::null(),
    });
    let context = CudaContext::with_driver(&driver, 0).unwrap();
    let library = CudaLibrary::load(&driver, GLOBALS).unwrap();
    assert!(library.kernels().unwrap().iter().all(|kernel| kernel.name().starts_with("kernel at 0x")));
    let kernels = library.module(&context).unwrap().kernels().unwrap();
    assert!(!kernels.is_empty() && kernels.iter().all(|kernel| kernel.name.starts_with("function at 0x")));
}

#[test]
fn images_are_checked_before_the_driver_which_takes_anything() {
    let _alone = alone();
    let gpu = Gpu::new();
    let load = |bytes: &[u8]| CudaLibrary::load(gpu.ctx.driver(), bytes);
    let cubin = include_bytes!("kernels/vecadd_sm90.cubin");
    for bytes in [&b""[..], b"hello", b"\x7fELF", &cubin[..cubin.len() - 100]] {
        assert!(matches!(load(bytes).unwrap_err().kind(), ErrorKind::Image { .. }));
    }
    // What only the compiler minds shows at the latest with the first kernel.
    let bad = ".version 8.0\n.target sm_52\n.address_size 64\n.visible .entry k() { frobnicate; ret; }\n";
    let late = load(bad.as_bytes()).and_then(|library| library.kernel("k").map(|_| ()));
    assert!(late.is_err());
}

#[test]
fn options_of_a_library() {
    let _alone = alone();
    let gpu = Gpu::new();
    let options =
        LibraryOptions::new().jit(JitOptions::new().max_registers(64).line_info(true)).preserve(true);
    let library = CudaLibrary::load_with(gpu.ctx.driver(), GLOBALS, &options).unwrap();
    assert!(library.kernel("count").unwrap().function(&gpu.ctx).unwrap().registers().unwrap() <= 64);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/globals.ptx");
    if std::path::Path::new(path).exists() {
        let library = CudaLibrary::load_file(gpu.ctx.driver(), path, &LibraryOptions::default()).unwrap();
        assert!(library.origin().ends_with("globals.ptx") && library.kernel("count").is_ok());
    }
    let missing = CudaLibrary::load_file(gpu.ctx.driver(), "no/such/file", &LibraryOptions::default());
    assert!(matches!(missing.unwrap_err().kind(), ErrorKind::File { .. }));
}

#[test]
fn a_driver_before_12_0_is_named() {
    let _alone = alone();
    let gpu = Gpu::new();
    let find = |name: &std::ffi::CStr| match name.to_str().unwrap() {
        name if name.starts_with("cuLibrary") || name.starts_with("cuKernel") => std::ptr::null(),
        name => cuda_emulator::symbol_address(name),
    };
    let old = std::sync::Arc::new(unsafe { cuda_launch::Driver::from_lookup(find) });
    let error = CudaLibrary::load(&old, GLOBALS).unwrap_err();
    assert!(error.is_unsupported() && error.call() == Some("cuLibraryLoadData"), "{error}");
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER));
    // A context of another driver.
    let foreign = CudaContext::with_driver(&old, 0).unwrap();
    let library = library(&gpu, GLOBALS);
    assert!(library.module(&foreign).unwrap_err().is_context_mismatch());
    assert!(library.kernel("count").unwrap().function(&foreign).unwrap_err().is_context_mismatch());
}

/// Also where nothing but the graph has the library any more.
#[test]
fn a_graph_keeps_the_library_of_a_kernel() {
    let _alone = alone();
    let gpu = Gpu::new();
    let library = library(&gpu, GLOBALS);
    let mut out = gpu.zeros::<u32>(1);
    let graph = {
        let f = library.kernel("count").unwrap().function(&gpu.ctx).unwrap();
        CudaGraph::capture(&gpu.ctx, CaptureMode::ThreadLocal, |stream| {
            // count(out): out = counter++
            unsafe {
                cuda_launch! { function: f, stream: stream, config: line(1, 1), args: [ptr_mut(out)] }
            }
        })
        .unwrap()
    };
    drop(library);
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    drop(graph);
    for count in [5, 6] {
        exec.launch(&gpu.stream).unwrap();
        assert_eq!(gpu.get(&out), [count]);
    }
}
