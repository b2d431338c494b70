//! A context after a fault: every call answers at once, with what is to blame.

#![allow(unsafe_code)] // Launches on a driver that does nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_launch::error::{FaultError, UnfinishedLaunch};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    CudaContext, CudaFunction, CudaModule, CudaStream, Error, ErrorKind, LaunchConfig, cuda_launch,
};
use support::{answer, counted, reset};

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
const FAULT: CUresult = CUresult::CUDA_ERROR_LAUNCH_FAILED;

/// Two streams on the driver that does nothing, and a module that has whatever kernel is asked for.
struct Rig {
    ctx: CudaContext,
    a: CudaStream,
    b: CudaStream,
    module: CudaModule,
}

impl Rig {
    fn new() -> Self {
        let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
        support::expect_parameters(&[]);
        let module = ctx.load_module(".version 7.0\n.target sm_52\n.address_size 64\n").unwrap();
        Self { a: ctx.new_stream().unwrap(), b: ctx.new_stream().unwrap(), module, ctx }
    }

    fn function(&self, name: &str) -> CudaFunction {
        self.module.load_function(name).unwrap()
    }

    fn launch(&self, stream: &CudaStream, f: &CudaFunction) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: ONE, args: [] }
        }
    }
}

fn faulted(error: &Error) -> &FaultError {
    match error.kind() {
        ErrorKind::Faulted(fault) => fault,
        _ => panic!("{error}"),
    }
}

fn kernel(name: &str) -> UnfinishedLaunch {
    UnfinishedLaunch::Kernel(name.into())
}

#[test]
fn the_launches_that_had_not_ended_are_named() {
    let rig = Rig::new();
    let (done, first, second, other) =
        (rig.function("done"), rig.function("first"), rig.function("second"), rig.function("other"));
    rig.launch(&rig.a, &done).unwrap();
    rig.launch(&rig.b, &done).unwrap();
    rig.a.synchronize().unwrap();
    rig.ctx.synchronize().unwrap();
    rig.launch(&rig.a, &first).unwrap();
    rig.launch(&rig.a, &second).unwrap();
    rig.launch(&rig.b, &other).unwrap();
    answer(FAULT);
    let error = rig.launch(&rig.a, &done).unwrap_err();
    let fault = faulted(&error);
    assert_eq!((fault.code, fault.call), (FAULT, "cuLaunchKernelEx"));
    assert_eq!(
        fault.unfinished,
        [kernel("first"), kernel("second"), kernel("other")],
        "the refused one is none"
    );
    let text = error.to_string();
    assert!(text.contains("first, second, other") && text.contains("restart it"), "{text}");
    answer(CUresult::SUCCESS);
}

#[test]
fn a_long_list_names_each_kernel_once_the_oldest_first_and_unloaded_kernels_have_no_name() {
    let rig = Rig::new();
    let gone = {
        let module = rig.ctx.load_module(".version 7.0\n.target sm_52\n.address_size 64\n").unwrap();
        let f = module.load_function("gone").unwrap();
        rig.launch(&rig.b, &f)
    };
    gone.unwrap();
    let f = rig.function("f");
    for _ in 0..1000 {
        rig.launch(&rig.a, &f).unwrap();
    }
    let many: Vec<_> = (0..20).map(|n| rig.function(&format!("k{n}"))).collect();
    for function in &many {
        rig.launch(&rig.a, function).unwrap();
        rig.launch(&rig.a, &f).unwrap();
    }
    answer(FAULT);
    let error = rig.launch(&rig.a, &f).unwrap_err();
    // No more than 16 of a stream.
    let mut unfinished = vec![UnfinishedLaunch::Earlier, kernel("f")];
    unfinished.extend((0..15).map(|n| kernel(&format!("k{n}"))));
    unfinished.extend([UnfinishedLaunch::Later, UnfinishedLaunch::Unloaded]);
    assert_eq!(faulted(&error).unfinished, unfinished);
    answer(CUresult::SUCCESS);
}

#[test]
fn after_a_fault_no_call_reaches_the_driver() {
    let rig = Rig::new();
    let f = rig.function("f");
    answer(FAULT);
    assert!(rig.launch(&rig.a, &f).unwrap_err().is_sticky());
    answer(CUresult::SUCCESS);
    reset();
    for error in [
        rig.a.synchronize().unwrap_err(),
        rig.b.query().unwrap_err(),
        rig.ctx.synchronize().unwrap_err(),
        rig.ctx.new_stream().unwrap_err(),
        rig.ctx.new_event().map(drop).unwrap_err(),
        rig.ctx.memory_info().unwrap_err(),
    ] {
        assert_eq!((error.code(), error.call()), (Some(FAULT), Some("cuLaunchKernelEx")), "{error}");
    }
    assert_eq!(counted(), (0, 0));
}
