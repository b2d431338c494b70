//! Launches in steps: `cuFuncSetBlockShape`, `cuParamSet*`, `cuLaunchGrid`. The codes and results are those of an H200 with driver 580.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use support::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const TOO_MANY: CUresult = CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;

/// Stores its parameters and the sizes of the launch, unless the address is null.
const STORES: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 a, .param .u64 out, .param .f32 f) {
    .reg .pred %p; .reg .u32 %r<8>; .reg .u64 %d; .reg .f32 %f;
    ld.param.u32 %r1, [a]; ld.param.u64 %d, [out]; ld.param.f32 %f, [f];
    setp.eq.u64 %p, %d, 0; @%p bra E;
    mov.u32 %r2, %ntid.x; mov.u32 %r3, %ntid.y; mov.u32 %r4, %ntid.z;
    mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y; mov.u32 %r7, %dynamic_smem_size;
    st.global.u32 [%d], %r1; st.global.f32 [%d+4], %f; st.global.u32 [%d+8], %r2; st.global.u32 [%d+12], %r3;
    st.global.u32 [%d+16], %r4; st.global.u32 [%d+20], %r5; st.global.u32 [%d+24], %r6; st.global.u32 [%d+28], %r7;
E:  ret;
}
.visible .entry bounded(.param .u64 out) .maxntid 64 { ret; }
";

struct Steps {
    cuda: Arc<Driver>,
    kernel: CUfunction,
    out: CUdeviceptr,
    _instance: Instance,
}

impl Steps {
    fn new() -> Steps {
        let instance = Instance::new().unwrap();
        let (cuda, mut context) = (instance.driver(), null_mut());
        ok(unsafe { cuda.cuInit(0) });
        ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
        ok(unsafe { cuda.cuCtxSetCurrent(context) });
        let (kernel, out) = (function(&cuda, load(&cuda, STORES), "k"), alloc(&cuda, 32));
        Steps { cuda, kernel, out, _instance: instance }
    }

    fn set(&self, offset: i32, mut value: impl Copy) -> CUresult {
        let bytes = size_of_val(&value) as u32;
        unsafe { self.cuda.cuParamSetv(self.kernel, offset, (&raw mut value).cast(), bytes) }
    }

    fn size(&self, bytes: u32) -> CUresult {
        unsafe { self.cuda.cuParamSetSize(self.kernel, bytes) }
    }

    /// All that the kernel takes.
    fn set_all(&self) {
        ok(unsafe { self.cuda.cuFuncSetBlockShape(self.kernel, 4, 2, 1) });
        ok(unsafe { self.cuda.cuParamSeti(self.kernel, 0, 5) });
        ok(self.set(8, self.out));
        ok(unsafe { self.cuda.cuParamSetf(self.kernel, 16, 1.5) });
        ok(self.size(20));
    }

    /// What the launch has left: `a`, `f` and the sizes.
    fn after(&self, launch: impl FnOnce() -> CUresult) -> (u32, f32, [u32; 6]) {
        let mut found = [0u32; 8];
        ok(launch());
        ok(unsafe { self.cuda.cuMemcpyDtoH(argument(&mut found), self.out, 32) });
        ok(unsafe { self.cuda.cuMemsetD8(self.out, 0, 32) });
        (found[0], f32::from_bits(found[1]), std::array::from_fn(|at| found[2 + at]))
    }
}

#[test]
fn what_was_set_is_launched_again_and_again() {
    let steps = Steps::new();
    let (cuda, kernel) = (&steps.cuda, steps.kernel);
    // One thread, and no parameter is set: all are zero.
    ok(unsafe { cuda.cuLaunch(kernel) });
    ok(unsafe { cuda.cuCtxSynchronize() });
    steps.set_all();
    let grid = |x, y| move || unsafe { cuda.cuLaunchGrid(kernel, x, y) };
    assert_eq!(steps.after(|| unsafe { cuda.cuLaunch(kernel) }), (5, 1.5, [4, 2, 1, 1, 1, 0]));
    assert_eq!(steps.after(grid(2, 3)), (5, 1.5, [4, 2, 1, 2, 3, 0]));
    assert_eq!(steps.after(grid(65536, 1)), (5, 1.5, [4, 2, 1, 65536, 1, 0]));
    let mut stream = null_mut();
    ok(unsafe { cuda.cuStreamCreate(&mut stream, 0) });
    ok(unsafe { cuda.cuFuncSetSharedSize(kernel, 64) });
    ok(unsafe { cuda.cuParamSeti(kernel, 0, 6) });
    let on = || unsafe { cuda.cuLaunchGridAsync(kernel, 3, 2, stream) };
    assert_eq!(steps.after(on), (6, 1.5, [4, 2, 1, 3, 2, 64]));
    for (x, y) in [(0, 1), (1, 0), (-1, 1), (1, 65536)] {
        assert_eq!(grid(x, y)(), INVALID_VALUE, "{x} {y}");
    }
    assert_eq!(steps.after(grid(1, 1)), (6, 1.5, [4, 2, 1, 1, 1, 64]));
}

#[test]
fn parameters_that_are_too_few_are_zero() {
    let steps = Steps::new();
    let launch = || unsafe { steps.cuda.cuLaunch(steps.kernel) };
    // The size counts, whatever was set.
    ok(steps.size(24));
    assert_eq!(launch(), TOO_MANY);
    steps.set_all();
    // Places need no alignment, and what is behind the size waits for a larger one.
    ok(steps.set(2, 0x0707_u16));
    ok(steps.set(4088, 9_u32));
    assert_eq!(steps.after(launch).0, 0x0707_0005);
    ok(steps.size(16));
    assert_eq!(steps.after(launch).1, 0.0);
    ok(steps.size(19));
    assert_eq!(steps.after(launch).1, f32::from_bits(0x00c0_0000));
    ok(steps.size(20));
    assert_eq!(steps.after(launch).1, 1.5);
    for bytes in [21, 24, 4096] {
        ok(steps.size(bytes));
        assert_eq!(launch(), TOO_MANY, "{bytes}");
    }
    ok(steps.size(0));
    assert_eq!(steps.after(launch), (0, 0.0, [0; 6]));
}

#[test]
fn steps_that_are_refused_change_nothing() {
    let steps = Steps::new();
    let (cuda, kernel) = (&steps.cuda, steps.kernel);
    steps.set_all();
    ok(unsafe { cuda.cuFuncSetSharedSize(kernel, 49152) });
    for [x, y, z] in [[0, 1, 1], [-1, 1, 1], [1, 0, 1], [1, 1, 0], [2048, 1, 1], [1, 1, 65], [32, 32, 2]] {
        assert_eq!(unsafe { cuda.cuFuncSetBlockShape(kernel, x, y, z) }, INVALID_VALUE, "{x} {y} {z}");
    }
    let mut bytes = [0u8; 8];
    let place: *mut c_void = bytes.as_mut_ptr().cast();
    assert_eq!(unsafe { cuda.cuFuncSetSharedSize(kernel, 49153) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuParamSetv(kernel, 8, null_mut(), 8) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuParamSetv(kernel, 8, null_mut(), 0) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuParamSetv(kernel, -8, place, 8) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuParamSetv(kernel, i32::MAX, place, 8) }, INVALID_VALUE);
    assert_eq!(unsafe { cuda.cuParamSeti(kernel, i32::MIN, 1) }, INVALID_VALUE);
    assert_eq!(steps.size(u32::MAX), INVALID_VALUE);
    ok(unsafe { cuda.cuParamSetv(kernel, 8, place, 0) });
    assert_eq!(steps.after(|| unsafe { cuda.cuLaunch(kernel) }), (5, 1.5, [4, 2, 1, 1, 1, 49152]));
    let bounded = function(cuda, load(cuda, STORES), "bounded");
    assert_eq!(unsafe { cuda.cuFuncSetBlockShape(bounded, 65, 1, 1) }, INVALID_VALUE);
    ok(unsafe { cuda.cuFuncSetBlockShape(bounded, 64, 1, 1) });
    assert_eq!(unsafe { cuda.cuLaunch(null_mut()) }, CUresult::CUDA_ERROR_INVALID_HANDLE);
    ok(unsafe { cuda.cuCtxSetCurrent(null_mut()) });
    assert_eq!(unsafe { cuda.cuLaunch(kernel) }, CUresult::CUDA_ERROR_INVALID_CONTEXT);
}
