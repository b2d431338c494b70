//! Calls that succeed and give less than they could.

#![allow(unsafe_code)] // Calls of C functions with what they ask for.
#![allow(clippy::unwrap_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_driver_sys::{CUdriverProcAddressQueryResult as Found, CUjitInputType, CUresult};
use cuda_harness::{Error, Fault, Spy, Value};
use std::ffi::{CString, c_void};
use std::ptr::{dangling, dangling_mut, null, null_mut};
use support::{Cuda, FILL, ok, spy};

/// A spy that has this fault, once, on an emulator with a context.
fn once(fault: Fault) -> (Spy, Cuda) {
    let spy = spy();
    let cuda = Cuda::new(spy.driver());
    spy.inject(fault.nth(1)).unwrap();
    (spy, cuda)
}

fn short(function: &str) -> (Spy, Cuda) {
    once(Fault::on(function).short())
}

fn malformed(function: &str) -> (Spy, Cuda) {
    once(unsafe { Fault::on(function).malformed() })
}

#[test]
fn one_device_less() {
    let (spy, cuda) = short("cuDeviceGetCount");
    let count = || {
        let mut count = 9;
        ok(unsafe { cuda.driver.cuDeviceGetCount(&mut count) }).unwrap();
        count
    };
    let (less, all) = (count(), count());
    assert_eq!(less, all - 1);
    // The record has what the program saw.
    let calls = spy.calls().of("cuDeviceGetCount");
    assert_eq!(calls[0].argument("count"), Some(Value::Signed(less.into())));
    assert_eq!((calls[0].answer(), calls[0].is_injected()), (Some(CUresult::SUCCESS), true));
    assert!(!calls[1].is_injected());
}

#[test]
fn a_name_without_an_end() {
    let (_spy, cuda) = malformed("cuDeviceGetName");
    let mut name = [1_u8; 8];
    ok(unsafe { cuda.driver.cuDeviceGetName(name.as_mut_ptr().cast(), 7, 0) }).unwrap();
    assert_eq!(name, *b"xxxxxxx\x01");
    ok(unsafe { cuda.driver.cuDeviceGetName(name.as_mut_ptr().cast(), 7, 0) }).unwrap();
    assert_eq!(name[6], 0);
}

#[test]
fn no_text_of_an_error() {
    for function in ["cuGetErrorString", "cuGetErrorName"] {
        let (_spy, cuda) = malformed(function);
        let ask = || {
            let (mut text, code) = (dangling(), CUresult::CUDA_ERROR_INVALID_VALUE);
            let answer = match function {
                "cuGetErrorName" => unsafe { cuda.driver.cuGetErrorName(code, &mut text) },
                _ => unsafe { cuda.driver.cuGetErrorString(code, &mut text) },
            };
            ok(answer).unwrap();
            text
        };
        assert_eq!(ask(), null());
        assert_ne!(ask(), null());
    }
}

#[test]
fn a_function_that_is_not_found() {
    let (_spy, cuda) = short("cuGetProcAddress");
    for (is_there, wanted) in
        [(false, Found::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND), (true, Found::CU_GET_PROC_ADDRESS_SUCCESS)]
    {
        let (mut function, mut found) = (dangling_mut::<c_void>(), Found::CU_GET_PROC_ADDRESS_SUCCESS);
        ok(unsafe { cuda.driver.cuGetProcAddress(c"cuInit".as_ptr(), &mut function, 12_000, 0, &mut found) })
            .unwrap();
        assert_eq!((!function.is_null(), found), (is_there, wanted));
    }
}

#[test]
fn an_image_of_no_bytes() {
    let (_spy, cuda) = malformed("cuLinkComplete");
    let text = CString::new(FILL).unwrap();
    let (mut linker, mut image, mut bytes) = (null_mut(), dangling_mut::<c_void>(), 7);
    unsafe {
        ok(cuda.driver.cuLinkCreate(0, null_mut(), null_mut(), &mut linker)).unwrap();
        let (data, kind) = (text.as_ptr().cast_mut().cast(), CUjitInputType::CU_JIT_INPUT_PTX);
        ok(cuda.driver.cuLinkAddData(
            linker,
            kind,
            data,
            FILL.len() + 1,
            c"fill".as_ptr(),
            0,
            null_mut(),
            null_mut(),
        ))
        .unwrap();
        ok(cuda.driver.cuLinkComplete(linker, &mut image, &mut bytes)).unwrap();
        assert_eq!((image, bytes), (null_mut(), 0));
        ok(cuda.driver.cuLinkComplete(linker, &mut image, &mut bytes)).unwrap();
        assert!(!image.is_null() && bytes > 0);
        ok(cuda.driver.cuLinkDestroy(linker)).unwrap();
    }
}

#[test]
fn no_free_memory() {
    let (_spy, cuda) = short("cuMemGetInfo");
    let info = || {
        let (mut free, mut total) = (7, 0);
        ok(unsafe { cuda.driver.cuMemGetInfo(&mut free, &mut total) }).unwrap();
        (free, total)
    };
    let ((none, total), (free, same)) = (info(), info());
    assert_eq!((none, total), (0, same));
    assert!(free > 0);
}

#[test]
fn no_block_fits() {
    let (_spy, cuda) = short("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    let fill = cuda.function(cuda.load(FILL), "fill");
    let blocks = || {
        let mut blocks = -1;
        ok(unsafe { cuda.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, fill, 64, 0) })
            .unwrap();
        blocks
    };
    assert_eq!(blocks(), 0);
    assert!(blocks() > 0);
}

/// Of all calls those that can be short are met, and a call that is refused is none.
#[test]
fn others_are_as_ever() {
    let spy = spy();
    let fault = spy.inject(Fault::any().short()).unwrap();
    let cuda = Cuda::new(spy.driver());
    assert_eq!(cuda.program(), Ok(vec![7; 64]));
    assert_eq!(fault.hits(), 0);
    assert_eq!(unsafe { cuda.driver.cuDeviceGetCount(null_mut()) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    let calls = spy.calls().of("cuDeviceGetCount");
    assert!(!calls[0].is_injected());
    let error = spy.inject(Fault::on("cuMemAlloc").short()).err().unwrap();
    assert!(matches!(&error, Error::NoShortAnswer { name, .. } if name == "cuMemAlloc_v2"), "{error}");
    assert!(error.to_string().ends_with("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"), "{error}");
    // What contradicts the documentation is not called short.
    for name in ["cuDeviceGetName", "cuGetErrorName", "cuGetErrorString", "cuLinkComplete"] {
        assert!(matches!(spy.inject(Fault::on(name).short()), Err(Error::NoShortAnswer { .. })), "{name}");
    }
    let count = unsafe { Fault::on("cuDeviceGetCount").malformed() };
    assert!(matches!(spy.inject(count), Err(Error::NoShortAnswer { .. })));
}
