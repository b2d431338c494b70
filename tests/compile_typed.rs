//! Typed modules of files that are compiled when they are loaded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{child, folder, is_child, nvjitlink, nvrtc, nvvm, passes};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig, cuda_module};

/// A module of the kernel `vecadd` in these files.
macro_rules! vecadd_module {
    ($name:ident, $($file:literal),*) => {
        #[cuda_module($($file),*)]
        mod $name {
            unsafe extern "C" {
                pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
            }
        }
    };
}
vecadd_module!(source, "examples/kernels/vecadd.cu");
vecadd_module!(ir, "tests/kernels/vecadd.ll");
vecadd_module!(linked, "tests/kernels/vecadd.ltoir");
vecadd_module!(image_and_source, "examples/kernels/vecadd.cu", "examples/kernels/vecadd.ptx");
vecadd_module!(
    sources,
    "tests/kernels/vecadd_sm80.cubin",
    "tests/kernels/vecadd.ll",
    "examples/kernels/vecadd.cu"
);

/// With headers, one of which includes another in a folder below.
#[cuda_module("tests/kernels/sources/headers.cu")]
mod headers {
    unsafe extern "C" {
        pub safe fn scale(x: &mut [f32]);
        pub static LEVELS: [f32; 4];
    }
}

/// Declared with other parameters than the source has.
#[cuda_module("examples/kernels/vecadd.cu")]
mod declared_wrongly {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32]);
    }
}

#[cuda_module("examples/kernels/vecadd.cu")]
mod declared_elsewhere {
    unsafe extern "C" {
        pub safe fn vecadd_of_another_file(a: &[f32]);
    }
}

/// Launches and compares.
fn adds(
    launch: impl FnOnce(
        &CudaStream,
        &DeviceBuffer<f32>,
        &DeviceBuffer<f32>,
        &mut DeviceBuffer<f32>,
    ) -> Result<(), Error>,
    ctx: &CudaContext,
) {
    let stream = ctx.new_stream().unwrap();
    let host: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let a = DeviceBuffer::from_host(&stream, &host).unwrap();
    let b = DeviceBuffer::from_host(&stream, &[0.5; 1000]).unwrap();
    let mut c = DeviceBuffer::zeroed(&stream, 1000).unwrap();
    launch(&stream, &a, &b, &mut c).unwrap();
    let expected: Vec<f32> = host.iter().map(|x| x + 0.5).collect();
    assert_eq!(c.to_host_vec(&stream).unwrap(), expected);
}

const CONFIG: LaunchConfig = LaunchConfig::new((4, 1, 1), (256, 1, 1));

#[test]
fn a_typed_module_is_compiled_when_it_is_loaded() {
    let ctx = CudaContext::new(0).unwrap();
    if nvrtc().is_some() {
        let module = source::load(&ctx).unwrap();
        adds(|stream, a, b, c| module.vecadd(stream, CONFIG, a, b, c), &ctx);
        assert_eq!(module.functions().vecadd.parameters().list().unwrap().len(), 6);
        assert_eq!(module.as_module().origin(), "examples/kernels/vecadd.cu");
    }
    if nvvm().is_some() {
        let module = ir::load(&ctx).unwrap();
        adds(|stream, a, b, c| module.vecadd(stream, CONFIG, a, b, c), &ctx);
        let module = sources::load(&ctx).unwrap();
        adds(|stream, a, b, c| module.vecadd(stream, CONFIG, a, b, c), &ctx);
        assert!(module.as_module().origin().ends_with("vecadd.ll"), "the first of those that are compiled");
    }
    if nvjitlink().is_some() {
        let module = linked::load(&ctx).unwrap();
        adds(|stream, a, b, c| module.vecadd(stream, CONFIG, a, b, c), &ctx);
    }
}

#[test]
fn headers_beside_the_source_are_in_the_program() {
    if nvrtc().is_none() {
        return;
    }
    let ctx = CudaContext::new(0).unwrap();
    let module = headers::load(&ctx).unwrap();
    let stream = ctx.new_stream().unwrap();
    let mut x = DeviceBuffer::from_host(&stream, &[1.0, 2.0, 3.0]).unwrap();
    module.scale(&stream, CONFIG, &mut x).unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [3.0, 6.0, 9.0]);
    assert_eq!(module.get_levels(&stream).unwrap(), [1.0, 2.0, 4.0, 8.0]);
}

#[test]
fn what_a_source_declares_is_compared_when_it_is_loaded() {
    if nvrtc().is_none() {
        return;
    }
    let ctx = CudaContext::new(0).unwrap();
    let error = declared_wrongly::load(&ctx).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Arguments(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("vecadd: 4 arguments given, but the kernel has 6 parameters"), "{text}");
    let text = declared_elsewhere::load(&ctx).unwrap_err().to_string();
    assert!(text.contains("vecadd_of_another_file") && text.contains("vecadd"), "{text}");
}

/// As on a machine without the libraries: an image beside the source serves, and a source alone says what it takes.
#[test]
fn an_image_goes_before_what_has_to_be_compiled() {
    const TEST: &str = "an_image_goes_before_what_has_to_be_compiled";
    if !is_child(TEST) {
        let cache = folder("typed-cache");
        let mut command = child(TEST, &cache);
        for variable in ["CUDA_LAUNCH_NVRTC", "CUDA_LAUNCH_NVVM", "CUDA_LAUNCH_NVJITLINK"] {
            command.env(variable, "/no/such/library.so");
        }
        passes(&mut command);
        return std::fs::remove_dir_all(cache).unwrap();
    }
    let ctx = CudaContext::new(0).unwrap();
    let module = image_and_source::load(&ctx).unwrap();
    adds(|stream, a, b, c| module.vecadd(stream, CONFIG, a, b, c), &ctx);
    let error = source::load(&ctx).unwrap_err();
    assert!(error.is_no_compiler() && error.to_string().starts_with("NVRTC could not be loaded"), "{error}");
    let text = sources::load(&ctx).unwrap_err().to_string();
    for part in [
        "vecadd_sm80.cubin: machine code for sm_80",
        "vecadd.ll: NVVM IR; libNVVM could not be loaded",
        "vecadd.cu: CUDA C++; NVRTC",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
