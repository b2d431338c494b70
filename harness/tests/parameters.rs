//! The parameters of a kernel, as a driver lists them: where the list ends, and what is an error.

#![allow(unsafe_code)] // A driver of a few functions, and calls of them.
#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::{CUfunction, CUkernel, CUresult, Driver, pfn};
use cuda_harness::kernel::parameters;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const LOST: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;

thread_local! {
    /// What the driver answers: the number of parameters, and for each question, from the first one on, a code.
    static COUNT: Cell<(usize, CUresult)> = const { Cell::new((3, CUresult::SUCCESS)) };
    static CODES: RefCell<Vec<CUresult>> = const { RefCell::new(Vec::new()) };
    static ASKED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn info(_: CUfunction, index: usize, offset: *mut usize, size: *mut usize) -> CUresult {
    ASKED.with_borrow_mut(|asked| asked.push(index));
    unsafe {
        offset.write(index * 8);
        size.write(4);
    }
    CODES.with_borrow(|codes| codes.get(index).copied().unwrap_or(INVALID))
}

unsafe extern "C" fn info_of_kernel(
    _: CUkernel,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> CUresult {
    unsafe { info(null_mut(), index, offset, size) }
}

unsafe extern "C" fn count(_: CUfunction, place: *mut usize) -> CUresult {
    unsafe { place.write(COUNT.get().0) };
    COUNT.get().1
}

unsafe extern "C" fn count_of_kernel(_: CUkernel, place: *mut usize) -> CUresult {
    unsafe { count(null_mut(), place) }
}

/// A driver that has these of the functions: the list, and the number.
fn driver(lists: bool, counts: bool) -> Driver {
    let function = |name: &str| match name {
        "cuFuncGetParamInfo" if lists => info as pfn::cuFuncGetParamInfo as *const c_void,
        "cuKernelGetParamInfo" if lists => info_of_kernel as pfn::cuKernelGetParamInfo as *const c_void,
        "cuFuncGetParamCount" if counts => count as pfn::cuFuncGetParamCount as *const c_void,
        "cuKernelGetParamCount" if counts => count_of_kernel as pfn::cuKernelGetParamCount as *const c_void,
        _ => null(),
    };
    unsafe { Driver::from_lookup(|name| function(name.to_str().unwrap())) }
}

type Asked = Result<Option<Vec<(usize, usize)>>, (&'static str, CUresult)>;

/// What is found, of functions and of kernels alike, and how often the driver was asked for one.
fn asked(driver: &Driver, codes: &[CUresult]) -> (Asked, usize) {
    CODES.set(codes.to_vec());
    let [one, other] = [false, true].map(|of_library| {
        ASKED.take();
        let found = unsafe { parameters(driver, 1, of_library) };
        (found, ASKED.take().len())
    });
    let kernels = |(call, code): (&str, CUresult)| (call.replace("cuKernel", "cuFunc"), code);
    assert_eq!(one.0.clone().map_err(kernels), other.0.map_err(kernels));
    assert_eq!(one.1, other.1);
    one
}

const OK: [CUresult; 3] = [CUresult::SUCCESS; 3];

#[test]
fn a_driver_that_counts_is_asked_for_no_more() {
    let driver = driver(true, true);
    assert_eq!(asked(&driver, &OK), (Ok(Some(vec![(0, 4), (8, 4), (16, 4)])), 3));
    // What it answers to one of them is an error, whatever it is.
    for code in [INVALID, LOST] {
        assert_eq!(asked(&driver, &[OK[0], code, OK[0]]), (Err(("cuFuncGetParamInfo", code)), 2));
    }
    COUNT.set((0, CUresult::SUCCESS));
    assert_eq!(asked(&driver, &OK), (Ok(Some(vec![])), 0));
    COUNT.set((3, LOST));
    assert_eq!(asked(&driver, &OK), (Err(("cuFuncGetParamCount", LOST)), 0));
    // More than any kernel has.
    COUNT.set((usize::MAX, CUresult::SUCCESS));
    assert_eq!(asked(&driver, &vec![CUresult::SUCCESS; 40_000]).0, Ok(None));
}

#[test]
fn without_a_number_the_list_ends_at_one_code_and_no_other() {
    let driver = driver(true, false);
    assert_eq!(asked(&driver, &OK[..2]), (Ok(Some(vec![(0, 4), (8, 4)])), 3));
    assert_eq!(asked(&driver, &[]), (Ok(Some(vec![])), 1));
    for at in 0..3 {
        let codes = [&OK[..at], &[LOST]].concat();
        assert_eq!(asked(&driver, &codes), (Err(("cuFuncGetParamInfo", LOST)), at + 1));
    }
    assert_eq!(asked(&driver, &vec![CUresult::SUCCESS; 40_000]).0, Ok(None));
}

#[test]
fn a_driver_without_the_function_lists_nothing() {
    assert_eq!(asked(&driver(false, false), &OK), (Ok(None), 0));
    // One that has the symbol, and nothing behind it.
    for code in [CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, CUresult::CUDA_ERROR_NOT_SUPPORTED] {
        assert_eq!(asked(&driver(true, false), &[code]), (Ok(None), 1));
    }
}
