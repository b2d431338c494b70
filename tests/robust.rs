//! Every driver call of a whole program fails once, or from then on, or is missing from the driver: always a typed error,
//! never a panic, and nothing is left behind.

#![allow(unsafe_code)] // Launches of vecadd, as in the example.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/failures.rs"]
mod failures;
#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{EveryFailure, assert_calls};
use cuda_launch::event::EventFlags;
use cuda_launch::memory::MemoryPool;
use cuda_launch::sys::{CUresult, Driver};
use cuda_launch::{Attribute, CudaContext, CudaDevice, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use failures::alone;
use std::collections::BTreeSet;
use std::sync::Arc;

const N: usize = 1000;

/// A program that uses all of the wrapper once.
fn program(driver: &Arc<Driver>) -> Result<(), Error> {
    let ctx = CudaContext::with_driver(driver, 0)?;
    ctx.device_name()?;
    let (stream, other) = (ctx.new_stream()?, ctx.default_stream());
    let (start, end) = (ctx.new_timing_event()?, ctx.new_timing_event()?);
    let module = ctx.load_module(include_str!("../examples/kernels/vecadd.ptx"))?;
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; N])?;
    let b = DeviceBuffer::from_host(&stream, &[2.0f32; N])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, N)?;
    start.record(&stream)?;
    let config = LaunchConfig::for_num_elems(N as u32);
    unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: stream, config: config,
        args: [slice(a), slice(b), slice_mut(c)] }
    }?;
    let f = module.load_function("vecadd")?;
    f.max_active_blocks(256, 0)?;
    f.max_potential_block_size(0)?;
    f.registers()?;
    f.set_max_dynamic_shared_memory(1024)?;
    unsafe {
        cuda_launch! { function: f, stream: stream, config: config, attributes: [Attribute::priority(0)],
        args: [slice(a), slice(b), slice_mut(c)] }
    }?;
    end.record(&stream)?;
    other.join(&stream)?;
    let fork = stream.fork()?;
    let mut builder = stream.launch_builder(&f);
    builder.slice(&a).slice(&b).slice_mut(&mut c).record_kernel_launch(EventFlags::empty());
    let mut launch = builder.prepare(config)?;
    unsafe { builder.launch(config) }?;
    unsafe { launch.launch_on(&fork) }?;
    drop(launch);
    fork.synchronize()?;
    end.synchronize()?;
    assert!(end.query()? && stream.query()?);
    assert!(start.elapsed_ms(&end)? >= 0.0);
    let mut d = DeviceBuffer::<f32>::uninit(&stream, N)?;
    d.view_mut().copy_from_device(&stream, &c)?;
    assert_eq!(d.to_host_vec(&stream)?, [3.0; N]);
    ctx.synchronize()?;
    ctx.memory_info()?;
    d.close()?;
    fork.close()?;
    end.close()?;
    Ok(())
}

/// Bytes in use on the default driver's device, seen past the shims, when nothing runs and the default pool keeps nothing:
/// buffers that are dropped after the last wait leave it 2 MiB of a GPU's memory. And the bytes of that pool in use.
fn used() -> (usize, u64) {
    let ctx = CudaContext::new(0).unwrap();
    ctx.synchronize().unwrap();
    let pool = MemoryPool::default_of(&ctx).unwrap();
    pool.trim_to(0).unwrap();
    ctx.synchronize().unwrap();
    let (free, total) = ctx.memory_info().unwrap();
    (total - free, pool.memory_use().unwrap().used)
}

#[test]
fn each_call_fails_once_and_from_then_on() {
    let _alone = alone();
    let device = CudaDevice::new(0).unwrap();
    let is_active = || device.primary_context_state().unwrap().active;
    // It is where the other test was first, whose driver lacks the function that releases it.
    let was_active = is_active();
    // Held open, so that the primary context, and with it the module's own memory, stays.
    let context = device.context().unwrap();
    let base = cuda_launch::default_driver().unwrap();
    // A driver takes memory for itself when it first needs it, so on a GPU more than one round may be needed; what leaks does so
    // in every round.
    let is_even = (0..4).any(|_| {
        let before = used();
        let report = EveryFailure::new()
            .settle(failures::settle)
            .run_checked(&base, |driver| program(&driver), failures::is_about_it)
            .unwrap();
        report.assert_clean();
        print!("{report}");
        assert!(report.sites() >= 500 && report.functions().len() >= 25, "{report}");
        let after = used();
        assert_eq!(after.1, before.1, "a buffer was left behind");
        after.0 <= before.0
    });
    assert!(is_even, "something was left behind, in every round");
    drop(context);
    assert_eq!(is_active(), was_active, "the context was left behind");
}

#[test]
fn a_driver_that_lacks_a_function_is_an_ordinary_error() {
    let _alone = alone();
    let spy = spies::spy();
    program(&spy.driver()).unwrap();
    let names: BTreeSet<_> = spy.calls().names().into_iter().collect();
    for name in names {
        let lacking = spies::driver_without(name);
        assert!(!lacking.has(name));
        match program(&lacking) {
            // Calls whose failure `Drop` must swallow, or for which there is another way.
            Ok(()) => assert!(
                [
                    "cuFuncGetParamInfo",
                    "cuModuleUnload",
                    "cuMemFree_v2",
                    "cuDevicePrimaryCtxRelease_v2",
                    "cuThreadExchangeStreamCaptureMode",
                ]
                .contains(&name)
                    || name.contains("Destroy")
                    || name.contains("CtxGetCurrent")
                    || name.contains("CtxSetCurrent"),
                "{name} is missing and nobody noticed"
            ),
            Err(error) => {
                assert_eq!(
                    error.code(),
                    Some(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER),
                    "{name}: {error}"
                );
                assert!(error.is_unsupported() && error.to_string().contains("update the driver"), "{error}");
            }
        }
    }
}

#[test]
fn the_calls_of_a_launch_are_what_its_documentation_says() {
    let _alone = alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(include_str!("../examples/kernels/fill.ptx")).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let mut launch = || {
        let address = out.as_mut_device_ptr();
        unsafe {
            cuda_launch! { kernel: fill, module: module, stream: stream, config: LaunchConfig::for_num_elems(64),
            args: [address, 64u32, 7u32] }
        }
    };
    launch().unwrap();
    spy.clear();
    launch().unwrap();
    launch().unwrap();
    assert_calls!(spy, ["cuLaunchKernelEx"; 2]);
    assert_eq!(out.to_host_vec(&stream).unwrap(), [7; 64]);
}
