//! Typed modules: the kernels do what they say, the launches are ordered, and what does not fit is a typed error.

#![allow(unsafe_code)] // Launches of kernels whose every argument is checked against the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::context::ContextOptions;
use cuda_launch::error::GlobalError;
use cuda_launch::launch::KernelArgument;
use cuda_launch::sys::CUresult;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, TextureDescriptor, TextureHandle, TextureObject,
};
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, DeviceCopy, DevicePtr, Error, ErrorKind, LaunchConfig, cuda_module,
};

mod gpu {
    pub(crate) mod deep {
        pub(crate) use cuda_launch as launch;
    }
}

/// What the attributes below name.
const IMAGE: &str = "examples/kernels/vecadd.ptx";

#[cuda_module("examples/kernels/vecadd.ptx", crate = crate::gpu::deep::launch)]
mod kernels {
    //! Inner docs.
    #![allow(unused)]

    pub(super) const LANES: u32 = 32;
    type Element = f32;

    unsafe extern "C" {
        /// c = a + b, elementwise.
        pub safe fn vecadd(a: &[Element], b: &[f32], c: &mut [f32]);
        /// The same by another name, which is a word of the language.
        #[entry("vecadd")]
        pub(super) safe fn r#match(a: &[f32], r#in: &[f32], c: &mut [f32]);
        /// A kernel that is not there, in a program that is not built.
        #[cfg(any())]
        pub fn missing(a: &[Missing], b: u32);
        /// Compiled with a closure that captures nothing, which is no parameter.
        #[entry("vecadd")]
        pub fn with_nothing<F: Fn(f32) -> f32>(f: F, a: &[f32], b: &[f32], c: &mut [f32]);
        #[cfg(test)]
        #[launch_contract(
            block = (256, 1, 1), grid = (4, 1, 1), dynamic_shared = 0, requires = (a.len() == c.len(), b.len() >= c.len(), true)
        )]
        #[entry("vecadd")]
        pub safe fn strict(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

#[cuda_module("tests/kernels/typed.ptx")]
mod typed {
    unsafe extern "C" {
        /// Multiplies every element by a factor.
        #[entry(f32 = "scale_float", f64 = "scale_double", i32 = "scale_int")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
        #[entry((f32, i32) = "convert_float_int", (i32, f32) = "convert_int_float")]
        pub safe fn convert<From, To>(from: &[From], to: &mut [To])
        where
            From: std::fmt::Debug;
        #[launch_bounds(128)]
        pub safe fn bounded(out: &mut [u32]);
        #[launch_bounds(64, 2)]
        #[entry("bounded")]
        pub safe fn bounded_more(out: &mut [u32]);
        #[launch_contract(dynamic_shared = 16..=64)]
        pub safe fn dynamic(out: &mut [u32]);
        #[attributes(cuda_launch::Attribute::priority(0))]
        #[entry("dynamic")]
        pub safe fn dynamic_with_priority(out: &mut [u32]);
        pub safe fn variables(out: &mut [f32]);

        /// What each level counts.
        pub static mut counts: [u32; 4];
        #[entry("last")]
        pub static mut LAST_VALUE: f32;
        pub static LEVELS: [f32; 4];
        pub(crate) static offset: u32;
    }
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    bias: f64,
    tag: u16,
    idx: [i32; 4],
}

#[cuda_module("examples/kernels/mix.ptx")]
mod mix {
    use super::Params;

    unsafe extern "C" {
        pub fn mix(params: Params, x: *const f32, y: *mut f32, n: u32, alpha: f32);
        pub fn apply<F: Fn(u32) -> u32>(f: F, out: &mut [u32]);
        #[cluster_launch(4)]
        pub safe fn ranks(out: &mut [u32]);
    }
}

#[cuda_module("examples/kernels/saxpy.ptx")]
mod by_alias {
    /// What the text of the declaration does not tell: an integer.
    type Factor = u32;

    unsafe extern "C" {
        pub fn saxpy(n: u32, alpha: Factor, x: *const f32, y: *mut f32);
    }
}

#[cuda_module("tests/kernels/textures.ptx")]
mod textures {
    use cuda_launch::texture::TextureHandle;

    unsafe extern "C" {
        pub fn sample_1d(texture: TextureHandle, out: *mut f32, x0: f32, step: f32);
    }
}

#[cuda_module(
    "tests/kernels/vecadd_sm80.cubin",
    "tests/kernels/vecadd_plain.fatbin",
    "examples/kernels/vecadd.ptx"
)]
mod several {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

#[cuda_module(
    "tests/kernels/vecadd_sm80.cubin",
    "tests/kernels/vecadd_sm90.cubin",
    "examples/kernels/vecadd.ptx"
)]
mod cubins_first {
    unsafe extern "C" {
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

#[cuda_module("tests/kernels/future.ptx")]
mod future {
    unsafe extern "C" {
        pub safe fn fill(out: &mut [u32]);
    }
}

#[cuda_module("tests/kernels/vecadd_sm80.cubin", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/future.ptx"))]
mod none_fits {
    unsafe extern "C" {}
}

macro_rules! by_macro {
    ($name:ident, $path:literal, $element:ty, $slice:ty) => {
        #[cuda_module($path)]
        mod $name {
            unsafe extern "C" {
                pub safe fn vecadd(a: &[$element], b: $slice, c: &mut [f32]);
            }
        }
    };
}
by_macro!(written_by_macro, "examples/kernels/vecadd.ptx", f32, &[f32]);

fn open() -> (CudaContext, CudaStream) {
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    (ctx, stream)
}

fn one_block(threads: u32) -> LaunchConfig {
    LaunchConfig::new((1, 1, 1), (threads, 1, 1))
}

/// Launches a method of the signature of `vecadd` and compares the result.
fn adds(
    launch: impl FnOnce(
        &CudaStream,
        LaunchConfig,
        &DeviceBuffer<f32>,
        &DeviceBuffer<f32>,
        &mut DeviceBuffer<f32>,
    ) -> Result<(), Error>,
    stream: &CudaStream,
) {
    let host: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let a = DeviceBuffer::from_host(stream, &host).unwrap();
    let b = DeviceBuffer::from_host(stream, &[0.5; 1000]).unwrap();
    let mut c = DeviceBuffer::zeroed(stream, 1000).unwrap();
    launch(stream, LaunchConfig::for_num_elems(1000), &a, &b, &mut c).unwrap();
    let expected: Vec<f32> = host.iter().map(|x| x + 0.5).collect();
    assert_eq!(c.to_host_vec(stream).unwrap(), expected);
}

#[test]
fn a_typed_method_launches_its_kernel() {
    let (ctx, stream) = open();
    let module = kernels::load(&ctx).unwrap();
    adds(|s, config, a, b, c| module.vecadd(s, config, a, b, c), &stream);
    adds(|s, config, a, b, c| module.r#match(s, config, a, b, c), &stream);
    adds(|s, config, a, b, c| module.strict(s, config, a, b, c), &stream);
    // SAFETY: 1, 2: the image is vecadd's, which takes these three slices, none for the closure that captures nothing, and stays
    // inside; 3 to 6: the buffers are ordered and kept; it writes floats and ends.
    adds(|s, config, a, b, c| unsafe { module.with_nothing(s, config, |x| x, a, b, c) }, &stream);
    let written = written_by_macro::load(&ctx).unwrap();
    adds(|s, config, a, b, c| written.clone().vecadd(s, config, a, b, c), &stream);
    assert_eq!(kernels::LANES, 32);
    let f = &module.functions().vecadd;
    assert_eq!((f.name(), f.parameters().list().unwrap().len()), ("vecadd", 6));
    assert!(module.as_module().kernel_names().any(|name| name == "vecadd"));
    assert!(format!("{module:?}").starts_with("Module"));
    // The image by the path that the attribute names, also in errors.
    assert_eq!((module.origin(), written.origin()), (IMAGE, IMAGE));
    assert!(module.as_module().load_function("vecsub").unwrap_err().to_string().contains(IMAGE));
}

#[test]
fn methods_take_views_and_smart_pointers() {
    let (ctx, stream) = open();
    let stream = std::sync::Arc::new(stream);
    let module = kernels::load(&ctx).unwrap();
    let a = std::sync::Arc::new(DeviceBuffer::from_host(&stream, &[1.0f32; 64]).unwrap());
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    module.vecadd(&stream, one_block(32), &a, &a.slice(8..), &mut c.slice_mut(..16)).unwrap();
    let expected: Vec<f32> = (0..64).map(|i| if i < 16 { 2.0 } else { 0.0 }).collect();
    assert_eq!(c.to_host_vec(&stream).unwrap(), expected);
    let slices: (
        &dyn cuda_launch::DeviceSlice<Element = f32>,
        &mut dyn cuda_launch::DeviceSliceMut<Element = f32>,
    ) = (&a.slice(..4), &mut c);
    module.vecadd(&stream, one_block(32), slices.0, slices.0, slices.1).unwrap();
}

#[test]
fn a_generic_kernel_has_an_entry_for_each_type() {
    let (ctx, stream) = open();
    let module = typed::load(&ctx).unwrap();
    let mut floats = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0]).unwrap();
    module.scale(&stream, one_block(32), &mut floats, 2.0).unwrap();
    assert_eq!(floats.to_host_vec(&stream).unwrap(), [2.0, 4.0, 6.0]);
    let mut doubles = DeviceBuffer::from_host(&stream, &[1.0f64, 2.0, 3.0]).unwrap();
    module.scale::<f64>(&stream, one_block(32), &mut doubles, 0.5).unwrap();
    assert_eq!(doubles.to_host_vec(&stream).unwrap(), [0.5, 1.0, 1.5]);
    let mut integers = DeviceBuffer::from_host(&stream, &[1, 2, -3]).unwrap();
    module.scale(&stream, one_block(32), &mut integers, -1).unwrap();
    assert_eq!(integers.to_host_vec(&stream).unwrap(), [-1, -2, 3]);

    let mut to = DeviceBuffer::<i32>::zeroed(&stream, 3).unwrap();
    module.convert(&stream, one_block(32), &floats, &mut to).unwrap();
    assert_eq!(to.to_host_vec(&stream).unwrap(), [2, 4, 6]);
    module.convert(&stream, one_block(32), &to, &mut floats.slice_mut(1..)).unwrap();
    assert_eq!(floats.to_host_vec(&stream).unwrap(), [2.0, 2.0, 4.0]);
    let names = [module.functions().scale_f64.name(), module.functions().convert_i32_f32.name()];
    assert_eq!(names, ["scale_double", "convert_int_float"]);
}

/// Launches in a generic function: the bound is a public trait of the module, and says that elements are plain.
fn doubled<T: typed::ScaleElement + From<u8>>(
    module: &typed::Module,
    stream: &CudaStream,
    x: &mut DeviceBuffer<T>,
) {
    module.scale(stream, one_block(32), x, T::from(2)).unwrap();
}

#[test]
fn generic_code_may_launch_generic_kernels() {
    let (ctx, stream) = open();
    let mut x = DeviceBuffer::from_host(&stream, &[1.5f32, 2.5]).unwrap();
    doubled(&typed::load(&ctx).unwrap(), &stream, &mut x);
    assert_eq!(x.to_host_vec(&stream).unwrap(), [3.0, 5.0]);
}

#[test]
fn structs_addresses_and_closures_are_passed() {
    let (ctx, stream) = open();
    let module = mix::load(&ctx).unwrap();
    let params = Params { scale: 2.0, bias: 0.25, tag: 7, idx: [1, 2, 3, 4] };
    let x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 5).unwrap();
    let expected: Vec<f32> = (0..5)
        .map(|i| (f64::from(2.0 * 3.0 * (i + 1) as f32) + 0.25 + f64::from(params.idx[i % 4])) as f32)
        .collect();
    // SAFETY: 1, 2: mix is declared as its image has it, and touches 5 elements, which both have; 3 to 6: both are buffers, ordered
    // and kept; it writes floats and ends.
    unsafe { module.mix(&stream, one_block(32), params, &x, &mut y, 5, 3.0) }.unwrap();
    assert_eq!(y.to_host_vec(&stream).unwrap(), expected);

    let k = 40u32;
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 3).unwrap();
    // SAFETY: 1, 2: the kernel was compiled for a closure that captures one u32, and writes no further than `out` goes; 3 to 6:
    // `out` is a buffer, ordered and kept; it writes integers and ends.
    unsafe { module.apply(&stream, one_block(32), move |i| i + k, &mut out) }.unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [40, 41, 42]);
}

/// A texture and the table it reads, as a program of its own may keep them.
struct Curve {
    texture: TextureObject,
}

impl KernelArgument<TextureHandle> for &Curve {
    fn parameter(&self) -> TextureHandle {
        self.texture.handle()
    }
}

#[test]
fn users_types_stand_for_parameters() {
    let (ctx, stream) = open();
    let module = textures::load(&ctx).unwrap();
    let array = CudaArray::new(&ctx, ArrayShape::D1 { width: 4 }, ArrayFlags::empty()).unwrap();
    array.copy_from_host(&stream, &[10.0f32, 20.0, 30.0, 40.0]).unwrap();
    let curve = Curve { texture: TextureObject::from_array(&array, &TextureDescriptor::default()).unwrap() };
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    for pass in 0..3 {
        let (s, config, to) = (&stream, one_block(4), &mut out);
        // SAFETY: 1, 2: sample_1d is declared as its image has it; each of 4 threads writes one of the 4 elements; 3, 4: `curve`
        // keeps the texture until `to_host_vec` below has waited, and `out` is ordered; 5, 6: it writes floats and ends.
        let launched = unsafe {
            match pass {
                0 => module.sample_1d(s, config, &curve, to, 0.5, 1.0),
                1 => module.sample_1d(s, config, &curve.texture, to, 0.5, 1.0),
                _ => module.sample_1d(s, config, curve.texture.handle(), to, 0.5, 1.0),
            }
        };
        launched.unwrap();
        assert_eq!(out.to_host_vec(&stream).unwrap(), [10.0, 20.0, 30.0, 40.0]);
    }
    assert_eq!(KernelArgument::<DevicePtr<u8>>::parameter(&DevicePtr::from_raw(1)).addr(), 1);
}

fn contract(error: &Error) -> (String, String) {
    assert!(error.is_contract_violation() && error.is_launch_refused());
    match error.kind() {
        ErrorKind::Contract(e) => (e.required.clone(), e.given.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_contract_is_checked_before_the_launch() {
    let (ctx, stream) = open();
    let module = kernels::load(&ctx).unwrap();
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 8]).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 8).unwrap();
    let good = LaunchConfig::new((4, 1, 1), (256, 1, 1));
    module.strict(&stream, good, &a, &a, &mut c).unwrap();

    let error =
        module.strict(&stream, LaunchConfig::new(good.grid_dim, (128, 2, 1)), &a, &a, &mut c).unwrap_err();
    assert_eq!(contract(&error), ("block = (256, 1, 1)".into(), "(128, 2, 1)".into()));
    assert_eq!(
        error.to_string(),
        "strict: its launch contract requires `block = (256, 1, 1)`; given: (128, 2, 1)"
    );
    let error =
        module.strict(&stream, LaunchConfig::new((5, 1, 1), good.block_dim), &a, &a, &mut c).unwrap_err();
    assert_eq!(contract(&error), ("grid = (4, 1, 1)".into(), "(5, 1, 1)".into()));
    let error = module.strict(&stream, good.with_shared(4), &a, &a, &mut c).unwrap_err();
    assert_eq!(contract(&error), ("dynamic_shared = 0..=0".into(), "4 bytes".into()));
    let error = module.strict(&stream, good, &a.slice(1..), &a, &mut c).unwrap_err();
    assert_eq!(contract(&error), ("a.len() == c.len()".into(), "7 and 8".into()));
    let error = module.strict(&stream, good, &a, &a.slice(..2), &mut c).unwrap_err();
    assert_eq!(contract(&error), ("b.len() >= c.len()".into(), "2 and 8".into()));
}

#[test]
fn launch_bounds_and_shared_memory_are_checked() {
    let (ctx, stream) = open();
    let module = typed::load(&ctx).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    module.bounded(&stream, one_block(128), &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [128]);
    let error = module.bounded(&stream, one_block(160), &mut out).unwrap_err();
    assert_eq!(contract(&error).0, "at most 128 threads per block");
    let error = module.bounded_more(&stream, one_block(65), &mut out).unwrap_err();
    assert_eq!(contract(&error), ("at most 64 threads per block".into(), "a block of (65, 1, 1)".into()));

    let shared = |bytes| one_block(32).with_shared(bytes);
    module.dynamic(&stream, shared(48), &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [48]);
    let error = module.dynamic(&stream, shared(65), &mut out).unwrap_err();
    assert_eq!(contract(&error), ("dynamic_shared = 16..=64".into(), "65 bytes".into()));
    module.dynamic_with_priority(&stream, shared(128), &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [128]);
}

#[test]
fn clusters_are_launched_as_declared() {
    let (ctx, stream) = open();
    let module = mix::load(&ctx).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 8).unwrap();
    module.ranks(&stream, LaunchConfig::new((8, 1, 1), (32, 1, 1)), &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [0, 1, 2, 3, 0, 1, 2, 3]);
    let error = module.ranks(&stream, LaunchConfig::new((6, 1, 1), (32, 1, 1)), &mut out).unwrap_err();
    assert!(error.is_launch_refused() && !error.is_contract_violation(), "{error}");
}

#[test]
fn variables_are_read_and_written() {
    let (ctx, stream) = open();
    let module = typed::load(&ctx).unwrap();
    module.set_levels(&stream, [0.25, 0.5, 0.75, 1.0]).unwrap();
    module.set_offset(&stream, 10).unwrap();
    let mut counts = module.counts().unwrap();
    counts.copy_from_host(&stream, &[1, 2, 3, 4]).unwrap();
    assert!(matches!(
        module.get_counts(&stream).unwrap_err().kind(),
        ErrorKind::Global(GlobalError::InUse { .. })
    ));
    drop(counts);
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 5).unwrap();
    module.variables(&stream, one_block(32), &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [11.25, 12.5, 13.75, 15.0, 11.25]);
    assert_eq!(module.get_last_value(&stream).unwrap(), 11.25);
    assert_eq!(module.get_counts(&stream).unwrap(), [1, 2, 3, 4]);
    assert_eq!((module.get_levels(&stream).unwrap()[3], module.get_offset(&stream).unwrap()), (1.0, 10));
    assert_eq!(module.levels().unwrap().len(), 4);
}

#[test]
fn the_best_image_is_loaded() {
    let (ctx, stream) = open();
    let module = several::load(&ctx).unwrap();
    adds(|s, config, a, b, c| module.vecadd(s, config, a, b, c), &stream);
    let module = cubins_first::load(&ctx).unwrap();
    adds(|s, config, a, b, c| module.vecadd(s, config, a, b, c), &stream);
}

/// What stands against one image may not stand against the next; what has nothing to do with images does.
#[test]
fn only_what_is_wrong_with_an_image_is_a_reason_to_try_the_next() {
    const CALL: &str = "cuModuleLoadDataEx";
    let (spy, ctx) = spies::spied();
    let calls = || spy.count(CALL);
    for code in [CUresult::CUDA_ERROR_OUT_OF_MEMORY, CUresult::CUDA_ERROR_OPERATING_SYSTEM] {
        spies::fail_calls_of(&spy, CALL, code);
        let error = several::load(&ctx).unwrap_err();
        assert_eq!((error.code(), calls()), (Some(code), 1), "{error}");
    }
    for code in [
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        CUresult::CUDA_ERROR_INVALID_IMAGE,
        CUresult::CUDA_ERROR_INVALID_PTX,
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED,
        CUresult::CUDA_ERROR_NOT_SUPPORTED,
        CUresult::CUDA_ERROR_INVALID_SOURCE,
    ] {
        spies::fail_calls_of(&spy, CALL, code);
        let error = several::load(&ctx).unwrap_err();
        let ErrorKind::Artifacts(none) = error.kind() else { panic!("{error}") };
        let answers = none.artifacts.iter().filter(|artifact| artifact.answer.is_some()).count();
        assert!(answers > 1 && calls() == answers, "{error}");
    }
    spies::watch(&spy);
    several::load(&ctx).unwrap();
}

#[test]
fn a_variable_of_another_size_is_refused_when_it_is_loaded() {
    let (ctx, _) = open();
    let other = include_str!("kernels/typed.ptx").replace(".b8 counts[16]", ".b8 counts[32]");
    // SAFETY: 1: it is refused, and so nothing of it is launched or read: there is no typed module of it.
    let error = unsafe { typed::from_module(ctx.load_module(other).unwrap()) }.unwrap_err();
    let ErrorKind::Global(GlobalError::Size { bytes, size, .. }) = error.kind() else { panic!("{error}") };
    assert_eq!((*bytes, *size), (32, 16));
}

#[test]
fn a_device_that_no_image_is_for_is_a_typed_error() {
    let (ctx, _) = open();
    let error = future::load(&ctx).unwrap_err();
    assert!(error.is_invalid_image());
    let ErrorKind::Artifacts(none) = error.kind() else { panic!("{error}") };
    assert_eq!(none.artifacts[0].holds, ["PTX for sm_999"]);
    let (major, minor) = none.compute_capability;
    assert!(error.to_string().contains(&format!("sm_{major}{minor}")), "{error}");
    let error = none_fits::load(&ctx).unwrap_err().to_string();
    assert!(error.contains("\n  tests/kernels/vecadd_sm80.cubin: machine code for sm_80"), "{error}");
}

#[test]
fn a_module_without_the_kernels_is_refused() {
    let (ctx, stream) = open();
    let load = |text| ctx.load_module(text).unwrap();
    // SAFETY: 1: it is refused, and so nothing of it is launched or read: there is no typed module of it.
    let error =
        unsafe { kernels::from_module(load(include_str!("../examples/kernels/fill.ptx"))) }.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let other = include_str!("../examples/kernels/vecadd.ptx")
        .replace(".param .u64 vecadd_param_5", ".param .u32 vecadd_param_5");
    let other = other.replace("ld.param.u64 	%rd7, [vecadd_param_5]", "ld.param.u32 	%rd7, [vecadd_param_5]");
    // SAFETY: 1: it is refused, and so nothing of it is launched or read: there is no typed module of it.
    let error = unsafe { kernels::from_module(ctx.load_module(other).unwrap()) }.unwrap_err();
    assert!(error.is_argument_mismatch(), "{error}");
    // SAFETY: 1: it is refused, and so nothing of it is launched or read: there is no typed module of it.
    let error = unsafe { typed::from_module(load(include_str!("kernels/globals.ptx"))) }.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    // SAFETY: 1: it is the very image that `kernels` was declared for, loaded another way: its kernels mean the same.
    let module =
        unsafe { kernels::from_module(load(include_str!("../examples/kernels/vecadd.ptx"))) }.unwrap();
    adds(|s, config, a, b, c| module.vecadd(s, config, a, b, c), &stream);
}

#[test]
fn an_integer_for_a_float_by_an_alias_is_refused_when_it_is_loaded() {
    let error = by_alias::load(&open().0).unwrap_err();
    assert!(error.is_argument_mismatch(), "{error}");
    let text =
        "argument 1 is of type `u32`; the kernel's parameter 1 is a floating-point number, 4 bytes (.f32)";
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn objects_of_two_contexts_are_refused() {
    let (ctx, _) = open();
    let module = kernels::load(&ctx).unwrap();
    let other = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let stream = other.new_stream().unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 4]).unwrap();
    let error = module.vecadd(&stream, one_block(4), &a, &a, &mut c).unwrap_err();
    assert!(error.is_context_mismatch(), "{error}");
}

#[test]
fn launches_on_two_streams_are_ordered_by_their_slices() {
    let (ctx, stream) = open();
    let other = ctx.new_stream().unwrap();
    let module = kernels::load(&ctx).unwrap();
    let n = 1 << 12;
    let config = LaunchConfig::for_num_elems(n);
    let one = DeviceBuffer::from_host(&stream, &vec![1.0f32; n as usize]).unwrap();
    let mut x = DeviceBuffer::<f32>::zeroed(&stream, n as usize).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&other, n as usize).unwrap();
    for _ in 0..8 {
        module.vecadd(&stream, config, &x, &one, &mut y).unwrap();
        module.vecadd(&other, config, &y, &one, &mut x).unwrap();
    }
    assert_eq!(x.to_host_vec(&stream).unwrap(), vec![16.0; n as usize]);
}

#[test]
fn modules_are_shared_by_threads() {
    let (ctx, _) = open();
    let module = kernels::load(&ctx).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = ctx.new_stream().unwrap();
                (0..4).for_each(|_| adds(|s, config, a, b, c| module.vecadd(s, config, a, b, c), &stream));
            });
        }
    });
}

/// What a program that does not compile says, found out while one runs.
#[test]
fn a_type_of_another_size_is_told_with_its_size() {
    use cuda_launch::__private::typed::expect;
    let message = |check: fn()| {
        let payload = std::panic::catch_unwind(check).unwrap_err();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap().to_owned()
    };
    let one = message(|| expect::<u8>("a parameter", "u8", 4, 0, "; use another"));
    assert_eq!(one, "a parameter; `u8` has 1 byte; use another");
    let two = message(|| expect::<u16>("a parameter", "u16", 4, 0, "; use another"));
    assert_eq!(two, "a parameter; `u16` has 2 bytes; use another");
}
