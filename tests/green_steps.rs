//! Green contexts, one driver call after the other: each step is printed before it is made, so that a crash inside a driver
//! shows its last one. Run with `--nocapture --test-threads=1`.

#![allow(unsafe_code)] // Raw calls with outputs that outlive them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::device::{GreenContext, SmSplitFlags};
use cuda_launch::sys::{
    CUcontext, CUdevResource, CUdevResourceDesc, CUdevResourceType, CUgreenCtx, CUresult, CUstream, Driver,
};
use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_launch};
use std::ptr::null_mut;

const FILL: &str = include_str!("../examples/kernels/fill.ptx");

/// Says what comes next, does it, and says what came of it.
fn step<T: std::fmt::Debug>(what: &str, call: impl FnOnce() -> T) -> T {
    eprintln!("step {what}");
    let answer = call();
    eprintln!("  -> {answer:?}");
    answer
}

/// The same for a raw call that should succeed.
fn raw(what: &str, call: impl FnOnce() -> CUresult) {
    assert_eq!(step(what, call), CUresult::SUCCESS, "{what}");
}

/// A part of the device of `ctx`, of 16 multiprocessors.
fn part(cuda: &Driver, ctx: &CudaContext) -> CUdevResource {
    let (mut all, mut part, mut rest) = <(CUdevResource, CUdevResource, CUdevResource)>::default();
    let (mut groups, kind) = (1, CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM);
    raw("cuDeviceGetDevResource", || unsafe {
        cuda.cuDeviceGetDevResource(ctx.raw_device(), &mut all, kind)
    });
    raw("cuDevSmResourceSplitByCount 1 group of 16", || unsafe {
        cuda.cuDevSmResourceSplitByCount(&mut part, &mut groups, &all, &mut rest, 0, 16)
    });
    let count = |resource: &CUdevResource| unsafe { resource.__bindgen_anon_1.sm };
    eprintln!("  {groups} groups: {:?} of {:?}, rest {:?}", count(&part), count(&all), count(&rest));
    part
}

fn description(cuda: &Driver, ctx: &CudaContext) -> CUdevResourceDesc {
    let (mut part, mut description) = (part(cuda, ctx), null_mut());
    raw("cuDevResourceGenerateDesc", || unsafe {
        cuda.cuDevResourceGenerateDesc(&mut description, &mut part, 1)
    });
    description
}

fn green(cuda: &Driver, ctx: &CudaContext) -> (CUgreenCtx, CUcontext) {
    let (mut green, mut context) = (null_mut(), null_mut());
    let description = description(cuda, ctx);
    raw("cuGreenCtxCreate with a default stream", || unsafe {
        cuda.cuGreenCtxCreate(&mut green, description, ctx.raw_device(), 1)
    });
    raw("cuCtxFromGreenCtx", || unsafe { cuda.cuCtxFromGreenCtx(&mut context, green) });
    (green, context)
}

/// The shortest life: made, a stream in it, all destroyed while the primary context is current.
#[test]
fn raw_calls_alone() {
    let ctx = CudaContext::new(0).unwrap();
    let cuda = ctx.driver();
    ctx.bind().unwrap();
    let (green, context) = green(cuda, &ctx);
    let (mut stream, mut resource): (CUstream, _) = (null_mut(), CUdevResource::default());
    let kind = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
    raw("cuGreenCtxGetDevResource", || unsafe { cuda.cuGreenCtxGetDevResource(green, &mut resource, kind) });
    raw("cuCtxGetDevResource", || unsafe { cuda.cuCtxGetDevResource(context, &mut resource, kind) });
    raw("cuGreenCtxStreamCreate", || unsafe { cuda.cuGreenCtxStreamCreate(&mut stream, green, 1, 0) });
    raw("cuStreamSynchronize", || unsafe { cuda.cuStreamSynchronize(stream) });
    raw("cuStreamDestroy", || unsafe { cuda.cuStreamDestroy(stream) });
    raw("cuGreenCtxDestroy", || unsafe { cuda.cuGreenCtxDestroy(green) });
    raw("cuCtxSynchronize", || unsafe { cuda.cuCtxSynchronize() });
}

/// What tests/device_tools.rs does, in steps.
#[test]
fn through_this_crate() {
    let ctx = step("CudaContext::new", || CudaContext::new(0)).unwrap();
    let all = step("multiprocessors", || ctx.device().multiprocessors()).unwrap();
    let (parts, _) = step("split", || all.split(2, 16, SmSplitFlags::empty())).unwrap();
    step("GreenContext::new of nothing", || GreenContext::new(&ctx, &[])).unwrap_err();
    let green = step("GreenContext::new", || GreenContext::new(&ctx, &parts[..1])).unwrap();
    step("its multiprocessors", || green.multiprocessors()).unwrap();
    step("those of its context", || green.context().multiprocessors()).unwrap();
    let stream = step("new_stream", || green.new_stream(0)).unwrap();
    let module = step("load_module", || green.context().load_module(FILL)).unwrap();
    let mut buffer = step("zeroed", || DeviceBuffer::<u32>::zeroed(&stream, 64)).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (64, 1, 1));
    step("launch", || unsafe {
        cuda_launch! { kernel: "fill", stream: stream, module: module, config: config, args: [ptr_mut(buffer), 64_u32, 3_u32] }
    })
    .unwrap();
    assert_eq!(step("to_host_vec", || buffer.to_host_vec(&stream)).unwrap(), [3; 64]);
    step("buffer.close", || buffer.close()).unwrap();
    step("drop module", || drop(module));
    step("stream.close", || stream.close()).unwrap();
    step("drop green", || drop(green));
    step("synchronize", || ctx.synchronize()).unwrap();
}

/// May crash a driver: the description of no resources, by a pointer that is not null.
#[test]
#[ignore = "may crash a driver"]
fn raw_description_of_nothing() {
    let ctx = CudaContext::new(0).unwrap();
    ctx.bind().unwrap();
    let (nowhere, mut description) = (std::ptr::dangling_mut(), null_mut());
    let code = step("cuDevResourceGenerateDesc of 0 resources", || unsafe {
        ctx.driver().cuDevResourceGenerateDesc(&mut description, nowhere, 0)
    });
    assert_ne!(code, CUresult::SUCCESS);
}

/// May crash a driver: destroyed while it is current, here and on a thread that then ends.
#[test]
#[ignore = "may crash a driver"]
fn raw_destroyed_while_current() {
    let ctx = CudaContext::new(0).unwrap();
    let life = || {
        let cuda = ctx.driver();
        ctx.bind().unwrap();
        let (green, context) = green(cuda, &ctx);
        raw("cuCtxSetCurrent to it", || unsafe { cuda.cuCtxSetCurrent(context) });
        raw("cuGreenCtxDestroy", || unsafe { cuda.cuGreenCtxDestroy(green) });
        let mut current = null_mut();
        let _ = step("cuCtxGetCurrent", || unsafe { cuda.cuCtxGetCurrent(&mut current) });
        eprintln!("  {}", if current == context { "the destroyed one" } else { "another one, or none" });
    };
    life();
    let _ = step("cuCtxSynchronize", || unsafe { ctx.driver().cuCtxSynchronize() });
    raw("cuCtxSetCurrent to the primary", || unsafe { ctx.driver().cuCtxSetCurrent(ctx.raw()) });
    step("a thread ends with it", || std::thread::scope(|scope| scope.spawn(life).join().is_ok()));
    ctx.synchronize().unwrap();
}
