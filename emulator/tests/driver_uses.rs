//! Uses of a context: `cuCtxAttach` and `cuCtxDetach`.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use support::*;

#[test]
fn a_context_ends_with_its_last_use() {
    let (cuda, context) = with_own_context();
    let mut attached = null_mut();
    assert_eq!(unsafe { cuda.cuCtxAttach(&mut attached, 1) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(unsafe { cuda.cuCtxAttach(&mut attached, 0) });
    assert_eq!(attached, context);
    assert_eq!(unsafe { cuda.cuCtxDetach(null_mut()) }, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    ok(unsafe { cuda.cuCtxDetach(context) });
    ok(unsafe { cuda.cuCtxSynchronize() });
    ok(unsafe { cuda.cuCtxDetach(context) });
    assert_eq!(unsafe { cuda.cuCtxDestroy(context) }, CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
    let mut current = context;
    ok(unsafe { cuda.cuCtxGetCurrent(&mut current) });
    assert!(current.is_null());
}

#[test]
fn a_primary_context_has_other_functions_for_its_end() {
    let (cuda, context) = with_context();
    ok(unsafe { cuda.cuCtxAttach(&mut null_mut(), 0) });
    ok(unsafe { cuda.cuCtxDetach(context) });
    for _ in 0..2 {
        assert_eq!(unsafe { cuda.cuCtxDetach(context) }, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    ok(unsafe { cuda.cuCtxSynchronize() });
}
