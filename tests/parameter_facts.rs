//! Who knows a kernel's parameters where `cuFuncGetParamInfo` answers `CUDA_ERROR_INVALID_VALUE`: its answer past the end of the
//! list, and for a call that failed.

#![allow(unsafe_code)] // Launches of `fill(out, n, value)`, right ones, and wrong ones that are refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::Spy;
use cuda_launch::module::{CudaLibrary, ParameterSource, Parameters};
use cuda_launch::sys::{CUfunction, CUjit_option, CUkernel, CUlibrary, CUlibraryOption, CUresult, pfn};
use cuda_launch::{CudaContext, CudaFunction, DeviceBuffer, LaunchConfig, cuda_launch};
use std::cell::Cell;
use std::ffi::{CString, c_uint, c_void};
use std::ptr;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const NONE: &str = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry none() { ret; }";

/// What `make` returns where the question number `index` for a parameter, is answered with code 1.
fn with_failing<T>(spy: &Spy, call: &str, index: usize, make: impl Fn() -> T) -> T {
    spies::watch(spy);
    drop(make());
    let calls = spy.calls().names();
    let number = calls.iter().enumerate().filter(|(_, name)| **name == call).nth(index).unwrap().0;
    spies::fail_nth(spy, number + 1, INVALID);
    let made = make();
    assert_eq!(spies::failed(spy), Some(call));
    spies::watch(spy);
    made
}

fn sizes(f: &CudaFunction) -> Option<Vec<usize>> {
    f.parameters().list().map(|list| list.iter().map(|wanted| wanted.size).collect())
}

/// Launches with the right arguments, and looks at what they did.
fn fills(ctx: &CudaContext, f: &CudaFunction) {
    let stream = ctx.new_stream().unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 100).unwrap();
    unsafe {
        cuda_launch! { function: f, stream: stream, config: LaunchConfig::for_num_elems(100),
        args: [out.as_mut_device_ptr(), 100u32, 7u32] }
    }
    .unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [7; 100]);
}

#[test]
fn an_image_that_lists_them_wins() {
    let (spy, ctx) = spies::spied();
    for index in 0..3 {
        // A module each: functions are looked up once.
        let f = with_failing(&spy, "cuFuncGetParamInfo", index, || {
            ctx.load_module(FILL).unwrap().load_function("fill").unwrap()
        });
        assert_eq!(sizes(&f), Some(vec![8, 4, 4]), "failed at {index}");
        assert!(matches!(f.parameters(), Parameters::Known(_, ParameterSource::Image)));
        fills(&ctx, &f);
        let stream = ctx.new_stream().unwrap();
        let short = unsafe {
            cuda_launch! { function: f, stream: stream, config: LaunchConfig::for_num_elems(1), args: [7u32] }
        };
        let error = short.unwrap_err();
        assert!(
            error.is_argument_mismatch() && error.to_string().contains("2 arguments are missing"),
            "{error}"
        );
    }
}

#[test]
fn the_sizes_of_a_librarys_kernel_are_the_images_then() {
    let (spy, ctx) = spies::spied();
    let library = CudaLibrary::load(ctx.driver(), FILL).unwrap();
    let kernel = library.kernel("fill").unwrap();
    // A driver wants to know of which device.
    ctx.bind().unwrap();
    for index in 0..3 {
        let sizes = with_failing(&spy, "cuKernelGetParamInfo", index, || kernel.parameter_sizes().unwrap());
        assert_eq!(sizes, [8, 4, 4], "failed at {index}");
    }
}

#[test]
fn where_no_image_lists_them_none_are_not_known() {
    let (spy, ctx) = spies::spied();
    let module = ctx.load_module(FILL).unwrap();
    let raw = module.load_function("fill").unwrap().raw();
    // The driver's own list, with its end, is as good as ever.
    let foreign = || unsafe { CudaFunction::from_raw(&ctx, raw).unwrap() };
    assert_eq!(sizes(&foreign()), Some(vec![8, 4, 4]));
    let f = with_failing(&spy, "cuFuncGetParamInfo", 0, foreign);
    let Parameters::Unknown(why) = f.parameters() else { panic!("{:?}", f.parameters()) };
    assert!(
        why.contains("cuFuncGetParamInfo") && why.contains("INVALID_VALUE") && why.contains("fill"),
        "{why}"
    );
    fills(&ctx, &f);
}

/// What [`count`] answers on this thread.
#[derive(Clone, Copy)]
struct Answer(usize, CUresult);

thread_local! {
    static COUNT: Cell<Answer> = const { Cell::new(Answer(0, CUresult::SUCCESS)) };
}

unsafe extern "C" fn count(_: CUfunction, place: *mut usize) -> CUresult {
    let Answer(count, code) = COUNT.get();
    unsafe { place.write(count) };
    code
}

unsafe extern "C" fn count_of_kernel(_: CUkernel, place: *mut usize) -> CUresult {
    unsafe { count(ptr::null_mut(), place) }
}

/// Loads another image than it is given, which lists nothing.
unsafe extern "C" fn load_fill(
    library: *mut CUlibrary,
    _: *const c_void,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    options_count: c_uint,
    library_options: *mut CUlibraryOption,
    library_values: *mut *mut c_void,
    library_options_count: c_uint,
) -> CUresult {
    let (base, fill) = (cuda_launch::default_driver().unwrap(), CString::new(FILL).unwrap());
    unsafe {
        base.cuLibraryLoadData(
            library,
            fill.as_ptr().cast(),
            options,
            values,
            options_count,
            library_options,
            library_values,
            library_options_count,
        )
    }
}

/// The default driver, as one that says how many parameters there are.
fn counting() -> (Spy, CudaContext) {
    let driver = spies::driver_with(|name| match name {
        "cuFuncGetParamCount" => count as pfn::cuFuncGetParamCount as *const c_void,
        "cuKernelGetParamCount" => count_of_kernel as pfn::cuKernelGetParamCount as *const c_void,
        "cuLibraryLoadData" => load_fill as pfn::cuLibraryLoadData as *const c_void,
        _ => ptr::null(),
    });
    let spy = Spy::over(&driver).unwrap();
    let ctx = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    (spy, ctx)
}

#[test]
fn a_driver_that_counts_them_has_a_list_or_fails() {
    let (spy, ctx) = counting();
    let module = ctx.load_module(FILL).unwrap();
    COUNT.set(Answer(3, CUresult::SUCCESS));
    let (listed, calls) = spy.during(|| module.load_function("fill").unwrap());
    assert_eq!(calls.count("cuFuncGetParamCount"), 0, "the image has said it");
    let foreign = || unsafe { CudaFunction::from_raw(&ctx, listed.raw()) };
    let (f, calls) = spy.during(|| foreign().unwrap());
    assert_eq!((calls.count("cuFuncGetParamCount"), calls.count("cuFuncGetParamInfo")), (1, 3));
    assert_eq!(sizes(&f), Some(vec![8, 4, 4]));
    fills(&ctx, &f);
    for index in 0..3 {
        let error = with_failing(&spy, "cuFuncGetParamInfo", index, foreign).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("cuFuncGetParamInfo") && text.contains(&format!("parameter {index}")),
            "{text}"
        );
    }
    COUNT.set(Answer(3, CUresult::CUDA_ERROR_INVALID_HANDLE));
    assert!(foreign().unwrap_err().to_string().contains("cuFuncGetParamCount"));
}

#[test]
fn a_driver_that_counts_the_parameters_of_kernels_has_a_list_or_fails() {
    let (spy, ctx) = counting();
    ctx.bind().unwrap();
    let library = CudaLibrary::load(ctx.driver(), NONE).unwrap();
    let kernel = library.kernel("fill").unwrap();
    COUNT.set(Answer(3, CUresult::SUCCESS));
    let (sizes, calls) = spy.during(|| kernel.parameter_sizes().unwrap());
    assert_eq!((sizes, calls.count("cuKernelGetParamInfo")), (vec![8, 4, 4], 3));
    for index in 0..3 {
        let error =
            with_failing(&spy, "cuKernelGetParamInfo", index, || kernel.parameter_sizes()).unwrap_err();
        assert!(error.to_string().contains(&format!("parameter {index}")), "{error}");
    }
    COUNT.set(Answer(3, CUresult::CUDA_ERROR_INVALID_HANDLE));
    assert!(kernel.parameter_sizes().unwrap_err().to_string().contains("cuKernelGetParamCount"));
}

#[test]
fn a_driver_that_counts_them_knows_that_there_are_none() {
    let (_, ctx) = counting();
    let (stream, module) = (ctx.new_stream().unwrap(), ctx.load_module(NONE).unwrap());
    COUNT.set(Answer(0, CUresult::SUCCESS));
    let f = unsafe { CudaFunction::from_raw(&ctx, module.load_function("none").unwrap().raw()).unwrap() };
    assert_eq!(sizes(&f), Some(vec![]));
    let one_too_many = unsafe {
        cuda_launch! { function: f, stream: stream, config: LaunchConfig::for_num_elems(1), args: [1u32] }
    };
    assert!(one_too_many.unwrap_err().is_argument_mismatch());
}

#[test]
fn a_kernel_without_parameters_launches_whoever_knows() {
    let (_, ctx) = spies::spied();
    let (stream, module) = (ctx.new_stream().unwrap(), ctx.load_module(NONE).unwrap());
    let listed = module.load_function("none").unwrap();
    assert_eq!(sizes(&listed), Some(vec![]));
    let foreign = unsafe { CudaFunction::from_raw(&ctx, listed.raw()).unwrap() };
    assert_eq!(sizes(&foreign), None);
    for f in [&listed, &foreign] {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: LaunchConfig::for_num_elems(1), args: [] }
        }
        .unwrap();
    }
    stream.synchronize().unwrap();
    let one_too_many = unsafe {
        cuda_launch! { function: listed, stream: stream, config: LaunchConfig::for_num_elems(1), args: [1u32] }
    };
    assert!(one_too_many.unwrap_err().is_argument_mismatch());
}
