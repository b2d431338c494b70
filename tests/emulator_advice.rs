//! Errors on the emulator: they say what is wrong and what to do here, not what to do about a GPU and its driver.

#![allow(unsafe_code)] // A launch of a kernel without parameters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_emulator::{Instance, InstanceOptions};
use cuda_harness::child;
use cuda_launch::{CudaContext, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::time::Duration;

const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";

fn context(instance: &Instance) -> CudaContext {
    CudaContext::with_driver(&instance.driver(), 0).unwrap()
}

fn refused(image: &str) -> String {
    let instance = Instance::new().unwrap();
    context(&instance).load_module(image).unwrap_err().to_string()
}

/// Launches `k` with that many threads, and waits.
fn launched(options: &InstanceOptions, image: &str, threads: u32) -> String {
    let instance = options.start().unwrap();
    let stream = context(&instance).new_stream().unwrap();
    let module = stream.context().load_module(image).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (threads, 1, 1));
    let launched = unsafe {
        cuda_launch! { kernel: k, module: &module, stream: &stream, config: config, args: [] }
    };
    launched.map(drop).and_then(|()| stream.synchronize()).unwrap_err().to_string()
}

/// The text has these words, and does not have those.
fn says(error: &str, words: &[&str], others: &[&str]) {
    for word in words {
        assert!(error.contains(word), "{word}: {error}");
    }
    for other in others {
        assert!(!error.contains(other), "{other}: {error}");
    }
}

#[test]
fn ptx_that_is_too_new_names_the_variable() {
    let error = refused(&KERNEL.replace("8.0", "9.4"));
    says(
        &error,
        &[
            "help: the text is PTX ISA 9.4: CUDA_LAUNCH_EMULATOR_PTX=9.4 (`InstanceOptions::newest_ptx`) makes the emulator read it",
        ],
        &["update the driver"],
    );
    // None that the emulator knows.
    let error = refused(&KERNEL.replace("8.0", "9.9"));
    says(&error, &["compile with an older toolkit"], &["update the driver", "CUDA_LAUNCH"]);
}

#[test]
fn ptx_for_another_device_names_the_architecture() {
    let ptx = KERNEL.replace("8.0", "8.6");
    let error = refused(&ptx.replace("sm_90", "sm_100"));
    let words = [
        "the text is for sm_100, newer than this device (sm_90)",
        "CUDA_LAUNCH_EMULATOR_ARCH=sm_100",
        "`--arch sm_100`",
    ];
    says(&error, &words, &[]);
    // No device of the emulator is one.
    let error = refused(&ptx.replace("sm_90", "sm_100a").replace("8.6", "8.8").replace("sm_100a", "sm_121a"));
    says(&error, &["newer than this device (sm_90): compile for sm_90"], &["CUDA_LAUNCH_EMULATOR_ARCH"]);
}

#[test]
fn a_cubin_is_told_that_ptx_is_needed() {
    let cubin =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/tests/data/attributes.sm_90.cubin")).unwrap();
    let instance = Instance::new().unwrap();
    let error = context(&instance).load_module(&cubin[..]).unwrap_err().to_string();
    says(
        &error,
        &["help: load PTX instead", "code=compute_90"],
        &["this device is sm_90", "the cubin is for"],
    );
}

#[test]
fn a_kernel_that_cannot_run_is_told_which_instruction_it_is() {
    let body = ".reg .b64 %a; mov.u64 %a, 0; multimem.red.relaxed.sys.global.add.u64 [%a], %a; ret;";
    let image = KERNEL.replace("8.0", "8.3").replace("ret;", body);
    let error = launched(&InstanceOptions::new(), &image, 1);
    let words = ["driver's log: kernel `k`, PTX line 4: `multimem.red", "help: run the kernel on a GPU"];
    says(&error, &words, &["this driver or device", "graphs"]);
    assert_eq!(error.matches("help: ").count(), 1, "{error}");
}

#[test]
fn a_kernel_that_runs_too_long_is_told_what_limits_it() {
    let options = InstanceOptions::new().time_limit(Duration::from_millis(50));
    let error = launched(&options, &KERNEL.replace("ret;", "a: bra a;"), 1);
    says(&error, &["CUDA_LAUNCH_EMULATOR_TIMEOUT", "InstanceOptions::time_limit"], &[]);
}

/// Two hundred values that are live at once, so that a block of 1024 threads has too many.
#[test]
fn a_block_without_registers_is_told_that_they_are_an_estimate() {
    let name = |number: u32| format!("%r{number}");
    let loads: String = (0..200).map(|n| format!("mov.u32 {}, %clock; ", name(n))).collect();
    let sums: String = (0..200).map(|n| format!("add.u32 %s, %s, {}; ", name(n))).collect();
    let body = format!(
        ".reg .b32 %r<200>; .reg .b32 %s; .reg .b64 %a; {loads} mov.u32 %s, 0; {sums} mov.u64 %a, 0; setp.eq.u32 %p, %s, 1; @%p st.global.u32 [%a], %s; ret;"
    )
    .replace(".reg .b64 %a;", ".reg .b64 %a; .reg .pred %p;");
    let error = launched(&InstanceOptions::new(), &KERNEL.replace("ret;", &body), 1024);
    says(&error, &["registers per thread, on the emulator an estimate"], &[]);
}

#[test]
fn memory_that_is_not_there_is_told_how_much_there_is() {
    let instance = InstanceOptions::new().memory(1 << 20).start().unwrap();
    let stream = context(&instance).new_stream().unwrap();
    let error = |bytes: usize| DeviceBuffer::<u32>::zeroed(&stream, bytes / 4).unwrap_err().to_string();
    let words = [
        "2097152 bytes for 524288 elements",
        "driver's log: 2097152 bytes were asked for, and 1048576 of the device's 1048576 are free",
        "CUDA_LAUNCH_EMULATOR_MEMORY",
    ];
    says(&error(2 << 20), &words, &[]);
    // Bytes are their own elements.
    let bytes = DeviceBuffer::<u8>::zeroed(&stream, 2 << 20).unwrap_err().to_string();
    says(&bytes, &["2097152 bytes"], &["elements"]);
    // What is used is not free.
    let _half = DeviceBuffer::<u8>::zeroed(&stream, 1 << 19).unwrap();
    says(&error(1 << 20), &["and 524288 of the device's 1048576 are free"], &[]);
}

/// An error that a spy makes is not one of the driver's, of which the log has an older one.
#[test]
fn an_injected_error_has_no_reason_of_another() {
    use cuda_harness::{Fault, Spy};
    use cuda_launch::sys::CUresult;
    let instance = InstanceOptions::new().memory(1 << 20).start().unwrap();
    let spy = Spy::over(&instance.driver()).unwrap();
    let stream = CudaContext::with_driver(&spy.driver(), 0).unwrap().new_stream().unwrap();
    let allocate = |bytes: usize| -> Result<DeviceBuffer<u8>, Error> { DeviceBuffer::zeroed(&stream, bytes) };
    says(&allocate(2 << 20).unwrap_err().to_string(), &["driver's log"], &[]);
    spy.inject(Fault::on("cuMemAllocAsync").answer(CUresult::CUDA_ERROR_INVALID_VALUE)).unwrap();
    says(&allocate(64).unwrap_err().to_string(), &["INVALID_VALUE"], &["driver's log"]);
}

/// In a process of its own, because the first `cuInit` reads it.
#[test]
fn a_variable_that_is_invalid_is_named() {
    const NAME: &str = "a_variable_that_is_invalid_is_named";
    if child::is_child(NAME) {
        let error = CudaContext::with_driver(&cuda_emulator::driver(), 0).unwrap_err().to_string();
        let words = [
            "CUDA_LAUNCH_EMULATOR_CHECK=rase is invalid; valid: a list of init, race",
            "help: correct the variable",
        ];
        says(&error, &words, &[]);
        return;
    }
    let ended = child::run_with(NAME, &[("CUDA_LAUNCH_EMULATOR_CHECK", "rase".to_owned())]).unwrap();
    assert!(ended.ran(), "{ended:?}");
}
