//! Profiler, core dumps, the driver's log, green contexts.

#![allow(unsafe_code)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::skipped;
use cuda_launch::device::{GreenContext, SmSplitFlags};
use cuda_launch::diagnostics::{Coredump, CoredumpFlags, CoredumpSwitch, DriverLog, LogListener, Profiler};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, CudaDevice, DeviceBuffer, LaunchConfig, cuda_launch, default_driver};
use spies::{fail_calls_of, spied};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FILL: &str = include_str!("../examples/kernels/fill.ptx");

fn context() -> CudaContext {
    CudaContext::new(0).unwrap()
}

fn emulated() -> bool {
    context().device_name().unwrap().contains("emulator")
}

/// The log and the settings of core dumps are the process's: these tests run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_recording_starts_and_stops() {
    let ctx = context();
    let recording = Profiler::start(&ctx).unwrap();
    ctx.synchronize().unwrap();
    recording.stop().unwrap();
    drop(Profiler::start(&ctx).unwrap());
}

#[test]
fn core_dump_settings_are_kept_or_refused_by_name() {
    let _alone = alone();
    let dumps = Coredump::of_driver(&default_driver().unwrap());
    if emulated() {
        let error = dumps.set(CoredumpSwitch::EnableOnException, true).unwrap_err();
        assert!(
            error.is_unsupported() && error.to_string().contains("cuCoredumpSetAttributeGlobal"),
            "{error}"
        );
        assert!(Coredump::of_context(&context()).file().unwrap_err().is_unsupported());
        return skipped("the emulator writes no core dumps");
    }
    dumps.set(CoredumpSwitch::Lightweight, true).unwrap();
    assert!(dumps.is_on(CoredumpSwitch::Lightweight).unwrap());
    dumps.set(CoredumpSwitch::Lightweight, false).unwrap();
    assert!(!dumps.is_on(CoredumpSwitch::Lightweight).unwrap());
    // A driver tells the name as it was set, or with the number of this process in it.
    dumps.set_file("dump_%p").unwrap();
    let (file, number) = (dumps.file().unwrap(), format!("dump_{}", std::process::id()));
    assert!(file == "dump_%p" || file == number, "{file}");
    dumps.set_flags(CoredumpFlags::SKIP_GLOBAL_MEMORY).unwrap();
    assert!(dumps.flags().unwrap().contains(CoredumpFlags::SKIP_GLOBAL_MEMORY));
    dumps.set_flags(CoredumpFlags::empty()).unwrap();
    // Some drivers name none before one is set.
    dumps.pipe().unwrap();
}

#[test]
fn a_core_dump_file_that_cannot_be_named_is_refused() {
    let dumps = Coredump::of_driver(&default_driver().unwrap());
    assert!(dumps.set_file("a\0b").unwrap_err().to_string().contains("setting 5"));
    assert!(dumps.set_file(&"x".repeat(2000)).is_err());
}

#[test]
fn the_drivers_log_is_heard_and_read() {
    let _alone = alone();
    let driver = default_driver().unwrap();
    if !driver.has("cuLogsCurrent") {
        return skipped("this driver has no log");
    }
    let (heard, hear) = (Arc::new(Mutex::new(Vec::new())), DriverLog::now(&driver).unwrap());
    let lines = heard.clone();
    let listener = LogListener::new(&driver, move |level, line| {
        // Not what the other tests do meanwhile.
        if line.contains("cuDeviceGet") {
            lines.lock().unwrap().push((level, line.to_owned()));
            // A listener's panic ends there.
            panic!("on purpose");
        }
    })
    .unwrap();
    assert!(CudaDevice::new(99).is_err());
    assert!(CudaDevice::new(98).is_err());
    listener.close().unwrap();
    let (count, text) = (heard.lock().unwrap().len(), hear.text().unwrap());
    assert!(CudaDevice::new(97).is_err());
    assert_eq!(heard.lock().unwrap().len(), count, "nobody listens any more");
    // What a driver finds worth a line is its own choice; the emulator logs every error.
    if emulated() {
        assert!(count >= 2 && text.contains("(CUDA_ERROR_INVALID_DEVICE) from cuDeviceGet"), "{text}");
    }
    let file = std::env::temp_dir().join(format!("cuda-launch log {}", std::process::id()));
    hear.write_to(&file).unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(written.starts_with(&text) && DriverLog::whole(&driver).text().unwrap().len() >= text.len());
    assert!(hear.write_to("a\0b".as_ref()).unwrap_err().to_string().contains("NUL"));
}

#[test]
fn multiprocessors_are_split_and_the_rest_is_told() {
    let device = CudaDevice::new(0).unwrap();
    let all = device.multiprocessors().unwrap();
    assert_eq!(all.count(), context().limits().multiprocessors);
    let (parts, rest) = all.split(3, 16, SmSplitFlags::empty()).unwrap();
    assert!((1..=3).contains(&parts.len()));
    assert!(parts.iter().all(|part| part.count() >= 16 && part.count() < all.count()));
    assert_eq!(parts.iter().map(|part| part.count()).sum::<u32>() + rest.count(), all.count());
    // A part is split again only once a green context has it.
    let again = parts[0].split(2, 2, SmSplitFlags::IGNORE_COSCHEDULING).unwrap_err();
    assert_eq!(again.code(), Some(CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION), "{again}");
    assert!(all.split(0, 16, SmSplitFlags::empty()).is_err(), "no groups");
    assert!(all.split(1, all.count() + 1, SmSplitFlags::empty()).is_err(), "more than there are");
}

#[test]
fn a_green_context_runs_kernels_on_its_part() {
    let ctx = context();
    let (parts, _) = ctx.device().multiprocessors().unwrap().split(2, 16, SmSplitFlags::empty()).unwrap();
    let greens: Vec<_> =
        parts.iter().map(|part| GreenContext::new(&ctx, std::slice::from_ref(part)).unwrap()).collect();
    for (green, part) in greens.iter().zip(&parts) {
        assert_eq!(green.multiprocessors().unwrap().count(), part.count());
        assert_eq!(green.context().multiprocessors().unwrap().count(), part.count());
        let stream = green.new_stream(0).unwrap();
        let module = green.context().load_module(FILL).unwrap();
        let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
        let config = LaunchConfig::new((1, 1, 1), (64, 1, 1));
        unsafe {
            cuda_launch! { kernel: "fill", stream: stream, module: module, config: config, args: [ptr_mut(buffer), 64_u32, 3_u32] }
        }
        .unwrap();
        assert_eq!(buffer.to_host_vec(&stream).unwrap(), [3; 64]);
        stream.close().unwrap();
    }
    assert!(GreenContext::new(&ctx, &[]).is_err(), "of nothing");
    // The last one was current here.
    drop(greens);
    ctx.synchronize().unwrap();
}

#[test]
fn the_last_handle_of_a_green_context_tells_how_its_end_went() {
    let (spy, ctx) = spied();
    let (parts, _) = ctx.device().multiprocessors().unwrap().split(1, 16, SmSplitFlags::empty()).unwrap();
    let destroyed = || spy.count("cuGreenCtxDestroy");
    let green = GreenContext::new(&ctx, &parts).unwrap();
    let (other, stream) = (green.clone(), green.new_stream(0).unwrap());
    green.close().unwrap();
    other.close().unwrap();
    assert_eq!(destroyed(), 0, "the stream keeps it");
    drop(stream);
    assert_eq!(destroyed(), 1);
    let code = CUresult::CUDA_ERROR_UNKNOWN;
    let _fault = fail_calls_of(&spy, "cuGreenCtxDestroy", code);
    assert_eq!(GreenContext::new(&ctx, &parts).unwrap().close().unwrap_err().code(), Some(code));
    assert_eq!(destroyed(), 1, "not again");
}
