//! What was made from the header: how much, since when, and the layouts that a launch depends on.
#![allow(unsafe_code, clippy::unwrap_used)]

use cuda_driver_sys::*;
use std::mem::{align_of, offset_of, size_of};

fn since(name: &str) -> u32 {
    FUNCTIONS.iter().find(|function| function.name() == name).unwrap().since
}

#[test]
fn all_functions_are_bound() {
    assert_eq!(CUDA_VERSION, 13050);
    assert_eq!(FUNCTIONS.len(), 511);
    assert_eq!(ALIASES.len(), 83);
    let sorted = |names: &[&str]| names.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(sorted(&FUNCTIONS.iter().map(|function| function.name()).collect::<Vec<_>>()));
    assert!(sorted(&ALIASES.iter().map(|(alias, _)| *alias).collect::<Vec<_>>()));
    assert!(FUNCTIONS.iter().all(|function| function.symbol().to_str() == Ok(function.name())));
    // The first ABI of a name is there where an alias means a newer one.
    let first: Vec<_> = FUNCTIONS.iter().filter_map(|f| f.name().strip_suffix("_v1")).collect();
    assert_eq!(first.len(), 17);
    assert!(first.iter().all(|name| ALIASES.iter().any(|(alias, _)| alias == name)));
    // Per-thread default streams are an argument here, not another set of functions.
    assert!(!FUNCTIONS.iter().any(|f| f.name().ends_with("_ptsz") || f.name().ends_with("_ptds")));
    // An alias is a name of its own, or calling it would not be the same as calling its symbol.
    let symbol = |name: &str| FUNCTIONS.binary_search_by_key(&name, |function| function.name()).is_ok();
    assert!(ALIASES.iter().all(|(alias, name)| !symbol(alias) && symbol(name)));
}

#[test]
fn functions_know_since_when_they_exist() {
    assert_eq!(since("cuInit"), 2000);
    assert_eq!(since("cuMemAlloc_v2"), 3020);
    assert_eq!(since("cuLaunchKernel"), 4000);
    assert_eq!(since("cuLaunchKernelEx"), 11060);
    assert_eq!(since("cuOccupancyMaxActiveClusters"), 11070);
    assert_eq!(since("cuGetProcAddress_v2"), 12000);
    assert_eq!(since("cuLibraryLoadData"), 12000);
    assert_eq!(since("cuFuncGetParamInfo"), 12040);
    assert_eq!((since("cuCtxCreate_v3"), since("cuCtxCreate_v4")), (11040, 12050));
    assert_eq!((since("cuMemAdvise_v1"), since("cuMemAdvise_v2")), (8000, 12020));
    assert_eq!(since("cuEventElapsedTime_v2"), 12080);
    assert_eq!(since("cuFuncGetParamCount"), 13020);
    assert_eq!(since("cuGraphInstantiateWithFlags"), 11040);
    let after_13_0 = FUNCTIONS.iter().filter(|function| function.since > 13000);
    assert_eq!(after_13_0.count(), 43);
    assert!(FUNCTIONS.iter().all(|function| (2000..=CUDA_VERSION).contains(&function.since)));
}

#[test]
fn launch_types_are_laid_out_as_in_c() {
    assert_eq!((size_of::<CUlaunchConfig>(), align_of::<CUlaunchConfig>()), (56, 8));
    assert_eq!(offset_of!(CUlaunchConfig, hStream), 32);
    assert_eq!(offset_of!(CUlaunchConfig, attrs), 40);
    assert_eq!(offset_of!(CUlaunchConfig, numAttrs), 48);
    assert_eq!(size_of::<CUlaunchAttribute>(), 72);
    assert_eq!(size_of::<CUlaunchAttributeValue>(), 64);
    assert_eq!(offset_of!(CUlaunchAttribute, value), 8);
    assert_eq!(size_of::<CUDA_KERNEL_NODE_PARAMS>(), 72);
    assert_eq!(size_of::<CUgraphNodeParams>(), 256);
    assert_eq!((size_of::<CUtensorMap>(), align_of::<CUtensorMap>()), (128, 128));
    assert_eq!(size_of::<CUresult>(), size_of::<std::ffi::c_uint>());
    assert_eq!(size_of::<CUdeviceptr>(), 8);
}

/// The names of nested types follow their fields: a header that numbers them anew cannot swap them unseen.
#[test]
fn nested_launch_attributes_have_names() {
    let dim = CUlaunchAttributeValue_clusterDim { x: 2, y: 3, z: 4 };
    let value = CUlaunchAttributeValue { clusterDim: dim };
    // SAFETY: all the bytes read are those just written, and any bytes are integers.
    let preferred = unsafe { value.preferredClusterDim };
    let CUlaunchAttributeValue_preferredClusterDim { x, y, z } = preferred;
    assert_eq!((x, y, z), (2, 3, 4));
    let _ = CUlaunchAttributeValue_programmaticEvent {
        event: CUevent::default_null(),
        flags: 0,
        triggerAtBlockStart: 1,
    };
    let _ = CUlaunchAttributeValue_launchCompletionEvent { event: CUevent::default_null(), flags: 0 };
    let _ = CUlaunchAttributeValue_deviceUpdatableKernelNode { deviceUpdatable: 1, ..Default::default() };
}

trait DefaultNull {
    fn default_null() -> Self;
}

impl<T> DefaultNull for *mut T {
    fn default_null() -> Self {
        std::ptr::null_mut()
    }
}

#[test]
fn macros_of_the_header_are_there() {
    assert_eq!((CU_STREAM_LEGACY.addr(), CU_STREAM_PER_THREAD.addr()), (1, 2));
    assert_eq!(CU_LAUNCH_PARAM_END.addr(), 0);
    assert_eq!(CU_LAUNCH_PARAM_BUFFER_POINTER.addr(), 1);
    assert_eq!(CU_LAUNCH_PARAM_BUFFER_SIZE.addr(), 2);
    assert_eq!((CU_DEVICE_CPU, CU_DEVICE_INVALID), (-1, -2));
    assert_eq!(CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID_ANY, u32::MAX);
    assert_eq!(CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY);
}

/// Every code there is, and more (fewer under Miri, which is slow).
const CODES: std::ops::RangeInclusive<u32> = 0..=if cfg!(miri) { 1_000 } else { 100_000 };

#[test]
fn results_print_without_a_driver() {
    let text = |code| format!("{:?}", CUresult(code));
    assert_eq!(text(0), "CUDA_SUCCESS (0)");
    assert_eq!(text(1), "CUDA_ERROR_INVALID_VALUE (1)");
    assert_eq!(text(36), "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER (36)");
    assert_eq!(text(999), "CUDA_ERROR_UNKNOWN (999)");
    assert_eq!(text(12345), "CUresult (12345)");
    assert_eq!(CUresult(700).name(), Some("CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_eq!(CUresult(12345).name(), None);
    assert_eq!(CODES.filter(|code| CUresult(*code).name().is_some()).count(), 106);
    assert_eq!(format!("{:?}", CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS), "CUfunction_attribute(4)");
}

#[test]
fn only_faults_are_sticky() {
    let sticky: Vec<u32> = CODES.filter(|code| CUresult(*code).is_sticky()).collect();
    assert_eq!(sticky, [226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911]);
}
