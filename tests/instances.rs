//! Emulators beside each other, for contexts of this crate: what a test program does that gives each of its tests one.

#![allow(unsafe_code)] // Launches: `fill` takes memory, a length and a number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_emulator::{Architecture, Instance, InstanceOptions};
use cuda_launch::emulator::{self, KernelProfile};
use cuda_launch::memory::{ManagedAttach, PinnedFlags};
use cuda_launch::sys::{CUdevice, CUresult, pfn};
use cuda_launch::{
    CudaContext, CudaModule, CudaStream, DeviceBuffer, Driver, Error, ErrorKind, LaunchConfig, LaunchPlan,
    ManagedBuffer, PinnedBuffer, cuda_launch,
};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const N: u32 = 64;

fn context(instance: &Instance) -> CudaContext {
    CudaContext::with_driver(&instance.driver(), 0).unwrap()
}

/// Fills memory of `N` numbers; `length` may be more.
fn fill(module: &CudaModule, stream: &CudaStream, length: u32, value: u32) -> Result<Vec<u32>, Error> {
    let mut out = DeviceBuffer::<u32>::zeroed(stream, N as usize)?;
    let config = LaunchConfig::for_num_elems(length);
    unsafe {
        cuda_launch! { kernel: fill, module: module, stream: stream, config: config, args: [ptr_mut(out), length, value] }
    }?;
    out.to_host_vec(stream)
}

/// Threads stand for cargo's tests. Half of them fault, at the same time, and end nobody else's driver.
#[test]
fn tests_beside_each_other_have_a_driver_each() {
    let together = Arc::new(Barrier::new(8));
    let run = |number: u32, together: &Barrier| {
        let instance = Instance::new().unwrap();
        let stream = context(&instance).new_stream().unwrap();
        let module = stream.context().load_module(FILL).unwrap();
        together.wait();
        for round in 0..10 {
            assert_eq!(fill(&module, &stream, N, number + round).unwrap(), [number + round; N as usize]);
        }
        let is_faulty = number.is_multiple_of(2);
        if is_faulty {
            let error = fill(&module, &stream, 1 << 20, 0).unwrap_err();
            assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
            assert_eq!(instance.last_fault().unwrap().kernel, "fill");
        }
        together.wait();
        assert_eq!(fill(&module, &stream, N, number).is_err(), is_faulty);
        drop((module, stream));
        // After a fault a new one is needed for the next context, or a reset.
        assert_eq!(CudaContext::with_driver(&instance.driver(), 0).is_err(), is_faulty);
        instance.reset().unwrap();
        let stream = context(&instance).new_stream().unwrap();
        let module = stream.context().load_module(FILL).unwrap();
        assert_eq!(fill(&module, &stream, N, 7).unwrap(), [7; N as usize]);
    };
    thread::scope(|scope| {
        (0..8).for_each(|number| {
            let together = &together;
            scope.spawn(move || run(number, together));
        });
    });
}

/// Buffers keep their context, a context its driver, and that its instance.
#[test]
fn objects_keep_their_instance() {
    let instance = InstanceOptions::new().memory(1 << 20).start().unwrap();
    let stream = context(&instance).new_stream().unwrap();
    drop(instance);
    let buffer = DeviceBuffer::from_host(&stream, &[1_u8, 2, 3]).unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), [1, 2, 3]);
    let error = DeviceBuffer::<u8>::zeroed(&stream, 2 << 20).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
}

/// Far more than there can be at a time: each ends with the last object, on whatever thread.
#[test]
fn instances_end_with_their_contexts() {
    for number in 0..64 {
        let instance = InstanceOptions::new().patience(Duration::from_secs(60)).start().unwrap();
        let stream = context(&instance).new_stream().unwrap();
        drop(instance);
        let module = stream.context().load_module(FILL).unwrap();
        assert_eq!(fill(&module, &stream, N, number).unwrap(), [number; N as usize]);
        stream.call_host(|| {}).unwrap();
    }
}

/// References of safe code outlive a reset: the memory is there until the last object of the instance is gone.
#[test]
fn memory_that_the_host_reaches_outlives_a_reset() {
    const LARGE: usize = 8 << 20;
    let instance = Instance::new().unwrap();
    let stream = context(&instance).new_stream().unwrap();
    let pinned =
        PinnedBuffer::from_slice(stream.context(), &vec![7_u8; LARGE], PinnedFlags::empty()).unwrap();
    let mut managed = ManagedBuffer::<u8>::zeroed(&stream, LARGE, ManagedAttach::Global).unwrap();
    let (seen, written) = (pinned.as_slice().unwrap(), managed.as_mut_slice().unwrap());
    instance.reset().unwrap();
    // Another one may be given what was free.
    let other = vec![1_u8; LARGE];
    written.fill(5);
    assert!(seen.iter().all(|byte| *byte == 7) && written.iter().all(|byte| *byte == 5));
    assert!(other.iter().all(|byte| *byte == 1));
}

#[test]
fn objects_of_two_instances_do_not_meet() {
    let (a, b) = (Instance::new().unwrap(), Instance::new().unwrap());
    let (a, b) = (context(&a).new_stream().unwrap(), context(&b).new_stream().unwrap());
    let buffer = DeviceBuffer::from_host(&a, &[1_u8, 2, 3]).unwrap();
    assert!(buffer.to_host_vec(&b).unwrap_err().is_context_mismatch());
}

/// A driver of which nothing is known but the name of its device.
fn other(instance: &Instance) -> Arc<Driver> {
    unsafe extern "C" fn name(name: *mut c_char, bytes: c_int, _: CUdevice) -> CUresult {
        let text = c"NVIDIA H200".to_bytes_with_nul();
        let bytes = text.len().min(bytes as usize);
        unsafe { name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), bytes) };
        CUresult::SUCCESS
    }
    let replace = |call: &str| match call {
        "cuDeviceGetName" => name as pfn::cuDeviceGetName as *const c_void,
        _ => null(),
    };
    unsafe { cuda_harness::replaced(&instance.driver(), replace) }
}

/// `fill` writes 64 numbers: 8 sectors, in 2 warps.
#[test]
fn launches_of_all_kinds_are_counted_where_they_are_asked_for() {
    let instance = Instance::new().unwrap();
    let ctx = context(&instance);
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(FILL).unwrap();
    let function = module.load_function("fill").unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, N as usize).unwrap();
    let config = LaunchConfig::for_num_elems(N);
    let of = |profile: &KernelProfile| (profile.launches, profile.total().global_sectors);

    let mut builder = stream.launch_builder(&function);
    builder.arg(&mut out).arg(&N).arg(&7u32);
    let one = unsafe { builder.profile(config) }.unwrap();
    assert_eq!((&*one.kernel, of(&one)), ("fill", (1, 8)));
    let store = one.instructions.iter().find(|one| one.name.starts_with("st.")).unwrap();
    let line = one.lines().into_iter().find(|line| line.line == store.ptx_line).unwrap();
    assert_eq!((line.file, line.counts.warps, line.counts.threads_on), (None, 2, 64));
    assert!(one.to_string().ends_with(" 8        8      0\n"), "{one}");
    let mut prepared = builder.prepare(config).unwrap();

    let mut plan = LaunchPlan::record(&ctx, |stream| {
        let launch = |_| unsafe {
            cuda_launch! { kernel: fill, module: module, stream: stream, config: config, args: [ptr_mut(out), N, 9u32] }
        };
        (0..3).try_for_each(launch)
    })
    .unwrap();
    let (answer, kernels) = emulator::profile(&ctx, || {
        // A macro, a prepared launch, a plan of three; not those of another thread, nor what is only recorded.
        assert_eq!(fill(&module, &stream, N, 5)?, [5; N as usize]);
        unsafe { prepared.launch_on(&stream) }?;
        plan.launch(&stream)?;
        thread::scope(|scope| scope.spawn(|| fill(&module, &ctx.new_stream()?, N, 5)).join().unwrap())?;
        LaunchPlan::record(&ctx, |stream| unsafe { prepared.launch_on(stream) }.map(|_| ())).map(|_| 3)
    })
    .unwrap();
    assert_eq!((answer, kernels.iter().map(of).collect::<Vec<_>>()), (3, vec![(5, 5 * 8)]));
    assert_eq!(out.to_host_vec(&stream).unwrap(), [9; N as usize]);

    // Inside each other: the inner one counts its own.
    let (inner, outer) = emulator::profile(&ctx, || {
        fill(&module, &stream, N, 5)?;
        let inner = emulator::profile(&ctx, || fill(&module, &stream, N, 5))?.1;
        fill(&module, &stream, N, 5).map(|_| inner)
    })
    .unwrap();
    assert_eq!((of(&inner[0]), of(&outer[0])), ((1, 8), (2, 16)));

    // What went on before a fault is lost with the error; nothing is counted any more.
    let error = emulator::profile(&ctx, || Ok(())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotEmulated(_)), "{error}");
    let mut builder = stream.launch_builder(&function);
    builder.arg(&mut out).arg(&(1u32 << 20)).arg(&7u32);
    let error = unsafe { builder.profile(LaunchConfig::for_num_elems(1 << 20)) }.unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), "{error}");
}

/// A driver that is not the emulator is told by name, and nothing is launched on it.
#[test]
fn a_profile_on_another_driver_is_an_error_that_names_its_device() {
    let instance = Instance::new().unwrap();
    let ctx = CudaContext::with_driver(&other(&instance), 0).unwrap();
    let error = emulator::profile::<()>(&ctx, || panic!("it was run")).unwrap_err();
    let ErrorKind::NotEmulated(not) = error.kind() else { panic!("{error}") };
    assert_eq!((&*not.device, error.is_unsupported()), ("NVIDIA H200", true));
    assert!(
        error.to_string().contains("\"NVIDIA H200\"") && error.to_string().contains("=emulator"),
        "{error}"
    );
}

/// Code that the device of another architecture runs is refused with what to do.
#[test]
fn an_error_names_the_device_that_code_is_not_for() {
    let ptx = |version: &str, target: &str| {
        format!(".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ ret; }}\n")
    };
    for (architecture, version, target, words) in [
        (
            Architecture::Sm86,
            "7.8",
            "sm_90",
            "newer than this device (sm_86): CUDA_LAUNCH_EMULATOR_ARCH=sm_90 (`--arch sm_90`",
        ),
        (Architecture::Sm100, "8.0", "sm_90a", "which only sm_90 runs, and this device is sm_100"),
        (Architecture::Sm120, "8.8", "sm_100f", "which only devices sm_10x run, and this one is sm_120"),
    ] {
        let instance = InstanceOptions::new().architecture(architecture).start().unwrap();
        let context = context(&instance);
        let error = context.load_module(ptx(version, target)).unwrap_err();
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_PTX));
        let words = format!("the text is for {target}, {words}");
        assert!(error.to_string().contains(&words), "{error}");
        assert!(context.load_module(ptx("7.0", "sm_75")).is_ok());
    }
}
