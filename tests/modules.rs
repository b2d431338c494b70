//! Loading images with options for the compiler, and what it reports.

#![allow(unsafe_code)] // Launches and addresses of variables: the comment at each tells why it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_harness::skipped;
use cuda_launch::module::{
    FunctionAttribute, JitCacheMode, JitFallback, JitOptions, JitTarget, ModuleGlobal,
};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaModule, DeviceBuffer, ErrorKind, cuda_launch};
use references::{Gpu, line};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const FATBIN: &[u8] = include_bytes!("kernels/vecadd_plain.fatbin");

fn kernel(body: &str) -> String {
    format!(".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry k() {{\n{body}\nret;\n}}\n")
}

#[test]
fn options_are_taken_and_the_report_comes_back() {
    let gpu = Gpu::new();
    let options = JitOptions::new()
        .max_registers(64)
        .optimization_level(2)
        .line_info(true)
        .verbose_log(true)
        .cache_mode(JitCacheMode::Global)
        .wall_time();
    let (module, report) = gpu.ctx.load_module_with(FILL, &options).unwrap();
    let f = module.load_function("fill").unwrap();
    assert!(f.registers().unwrap() <= 64);
    assert_eq!((report.error_log.as_str(), report.threads_per_block), ("", None));
    assert!(report.wall_time.is_some_and(|time| time < Duration::from_secs(60)), "{report:?}");
    let mut out = gpu.zeros::<u32>(10);
    // fill(out, n, value)
    unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(1, 32),
        args: [out.as_mut_device_ptr(), 10u32, 7u32] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), [7; 10]);
    let (_, report) = gpu.ctx.load_module_with(FILL, &JitOptions::new().threads_per_block(128)).unwrap();
    assert!(report.threads_per_block.is_some_and(|threads| threads >= 1), "{report:?}");
}

#[test]
fn images_are_texts_or_bytes() {
    let gpu = Gpu::new();
    let loads = |image: &dyn Fn() -> CudaModule| assert!(image().load_function("fill").is_ok());
    loads(&|| gpu.module(FILL));
    loads(&|| gpu.module(FILL.to_string()));
    loads(&|| gpu.module(format!("{FILL}\0\0")));
    loads(&|| gpu.module(Cow::Borrowed(FILL)));
    loads(&|| gpu.module(Arc::<str>::from(FILL)));
    loads(&|| gpu.module(FILL.as_bytes()));
    loads(&|| gpu.module(FILL.as_bytes().to_vec()));
    loads(&|| gpu.module(Box::<[u8]>::from(FILL.as_bytes())));
    loads(&|| gpu.module(include_bytes!("../examples/kernels/fill.ptx")));
    // Only bytes can be a cubin: a text is not even read as one, whatever it begins with.
    let error = gpu.ctx.load_module("\u{7f}ELF").unwrap_err();
    assert!(error.is_invalid_image() && error.to_string().contains("passed as text"), "{error}");
    let error = gpu.ctx.load_module("\u{7f}ELF".as_bytes()).unwrap_err();
    assert!(error.is_invalid_image() && error.to_string().contains("the image ends here"), "{error}");
}

#[test]
fn every_option_is_taken_by_the_driver() {
    let gpu = Gpu::new();
    let since = |version: u32| gpu.ctx.driver_version() >= version;
    let new = JitOptions::new;
    let mut all = vec![
        new().target_from_context(),
        new().target(JitTarget::sm(90)),
        new().fallback(JitFallback::PreferBinary),
        new().fallback(JitFallback::PreferPtx),
        new().debug_info(true).line_info(true),
        new().cache_mode(JitCacheMode::All),
        new().cache_mode(JitCacheMode::None),
        new().position_independent(true),
    ];
    if gpu.ctx.limits().compute_capability != (9, 0) {
        all.remove(1);
    }
    if since(12_040) {
        all.push(new().min_blocks_per_multiprocessor(2).max_threads_per_block(256));
        all.push(new().max_threads_per_block(256).override_directives(true));
    }
    if since(13_000) {
        all.push(new().split_compile(1));
    }
    for options in all {
        gpu.ctx.load_module_with(FILL, &options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
        gpu.ctx.load_module_with(FATBIN, &options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
    }
}

#[test]
fn options_newer_than_the_driver_are_refused_by_name() {
    let gpu = Gpu::new();
    if gpu.ctx.driver_version() < 13_010 {
        let error = gpu.ctx.load_module_with(FILL, &JitOptions::new().binary_loader_threads(2)).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("13.1"), "{error}");
    }
    // What the driver alone can judge.
    let unknown = unsafe { JitOptions::new().raw(cuda_launch::sys::CUjit_option(99), 0) };
    let error = gpu.ctx.load_module_with(FILL, &unknown).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE), "{error}");
}

#[test]
fn the_error_log_is_as_long_as_asked() {
    let gpu = Gpu::new();
    let bad = kernel("frobnicate;");
    let whole = gpu.ctx.load_module(&bad).unwrap_err();
    let ErrorKind::Compiler(log) = whole.kind() else { panic!("{whole}") };
    assert!(log.error_log.contains("frobnicate") && log.line == Some(5), "{log:?}");
    assert_eq!(log.excerpt.as_deref(), Some("frobnicate;"));
    let error = gpu.ctx.load_module_with(&bad, &JitOptions::new().log_bytes(16)).unwrap_err();
    let ErrorKind::Compiler(cut) = error.kind() else { panic!("{error}") };
    assert!(cut.error_log.len() < 16 && log.error_log.starts_with(&cut.error_log), "{cut:?}");
}

#[test]
fn a_target_that_does_not_fit_is_an_error() {
    let gpu = Gpu::new();
    let options = JitOptions::new().target(JitTarget::sm(120));
    assert!(
        gpu.ctx.limits().compute_capability >= (12, 0) || gpu.ctx.load_module_with(FILL, &options).is_err()
    );
}

/// A variable that the image only declares is the image's own, or lies where the host says.
#[test]
fn variables_of_the_host() {
    let gpu = Gpu::new();
    let text = ".version 7.8\n.target sm_52\n.address_size 64\n.extern .global .align 4 .u32 outside;\n\
        .visible .entry k() {\n.reg .b32 %r<3>;\nld.global.u32 %r1, [outside];\nadd.u32 %r2, %r1, 1;\n\
        st.global.u32 [outside], %r2;\nret;\n}\n";
    let (module, report) = gpu.ctx.load_module_with(text, &JitOptions::new().log_bytes(4096)).unwrap();
    let outside: ModuleGlobal<u32> = module.global("outside").unwrap();
    assert_eq!(outside.to_host_vec(&gpu.stream).unwrap(), [0]);
    if gpu.is_emulator() {
        assert!(report.info_log.contains("Unresolved extern variable 'outside'"), "{}", report.info_log);
    }
    let unsized_one = text.replace("u32 outside;", "u32 outside[];");
    let error = gpu.ctx.load_module(unsized_one).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_PTX), "{error}");
    if !gpu.is_emulator() {
        // Whether device memory will do there is not known yet: the documentation speaks of the host's.
        return skipped("device memory as a variable is tried on the emulator only");
    }
    let mut outside: DeviceBuffer<u32> = gpu.put(&[41]);
    // SAFETY: 1: `outside` has the 4 bytes that the image declares, on the module's device; 2: the module is dropped before
    // `outside` is.
    let options =
        unsafe { JitOptions::new().symbol_address("outside", outside.as_mut_device_ptr().addr()).unwrap() };
    let (module, _) = gpu.ctx.load_module_with(text, &options).unwrap();
    // k()
    unsafe {
        cuda_launch! { kernel: k, module: module, stream: gpu.stream, config: line(1, 1), args: [] }
    }
    .unwrap();
    drop(module);
    assert_eq!(gpu.get(&outside), [42]);
}

#[test]
fn attributes_that_the_options_set() {
    let gpu = Gpu::new();
    let (module, _) = gpu.ctx.load_module_with(FILL, &JitOptions::new().max_registers(16)).unwrap();
    let f = module.load_function("fill").unwrap();
    assert!(f.attribute(FunctionAttribute::NUM_REGS).unwrap() <= 32, "the driver's least is about 16");
}
