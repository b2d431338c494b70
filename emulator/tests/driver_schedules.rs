//! Launches under several orders, through the driver: what an instance is asked for, and what it tells.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ptr::{from_mut, null_mut};

use cuda_driver_sys::{CUresult, Driver};
use cuda_emulator::{Checks, DifferenceKind, Instance, InstanceOptions, Schedules};

const COUNT: &[u8] = b".version 8.0 .target sm_90 .address_size 64
    .visible .entry count(.param .u64 p) {
        .reg .b64 %a; .reg .b32 %n;
        ld.param.u64 %a, [p];
        ld.global.u32 %n, [%a]; add.u32 %n, %n, 1; st.global.u32 [%a], %n; ret; }\0";

fn ok(result: CUresult) {
    assert_eq!(result, CUresult::SUCCESS);
}

/// Runs `count` on six blocks of one thread, on memory of the device or on memory that the host sees, and returns what is there.
fn count(cuda: &Driver, managed: bool) -> u32 {
    let (mut context, mut module, mut function, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
    let mut left = 0u32;
    // SAFETY: `Driver`'s duties: 1 and 2: places for results are references to locals of the right types, alive for the call; `COUNT` ends with a
    // NUL; the memory has the 4 bytes that are set, and copied to `left`; `count` has one parameter, an address, to which `parameters`
    // points. 3: handles and the address are what this driver gave just before, as `ok` panics otherwise, and are not given back before.
    unsafe {
        ok(cuda.cuInit(0));
        ok(cuda.cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuda.cuCtxSetCurrent(context));
        ok(cuda.cuModuleLoadData(&mut module, COUNT.as_ptr().cast()));
        ok(cuda.cuModuleGetFunction(&mut function, module, c"count".as_ptr()));
        if managed {
            ok(cuda.cuMemAllocManaged(&mut memory, 4, 1));
        } else {
            ok(cuda.cuMemAlloc(&mut memory, 4));
        }
        ok(cuda.cuMemsetD32(memory, 100, 1));
        let mut parameters = [from_mut(&mut memory).cast()];
        for _ in 0..2 {
            ok(cuda.cuLaunchKernel(
                function,
                6,
                1,
                1,
                1,
                1,
                1,
                0,
                null_mut(),
                parameters.as_mut_ptr(),
                null_mut(),
            ));
        }
        ok(cuda.cuCtxSynchronize());
        ok(cuda.cuMemcpyDtoH(from_mut(&mut left).cast(), memory, 4));
    }
    left
}

#[test]
fn an_instance_is_asked_and_tells() {
    for managed in [false, true] {
        let instance = InstanceOptions::new().schedules(Schedules::new(20)).start().unwrap();
        assert_eq!(count(&instance.driver(), managed), 112);
        let found = instance.take_differences();
        assert_eq!((found.len(), found[0].orders), (1, 40), "{found:?}");
        let DifferenceKind::Memory(bytes) = &found[0].kind else { panic!("{found:?}") };
        assert_eq!((bytes.count, bytes.contents[0]), (1, [106, 0, 0, 0]));
        assert!(instance.take_differences().is_empty());
        assert!(instance.faults().is_empty());
    }
}

#[test]
fn others_are_as_ever() {
    let instance = Instance::new().unwrap();
    assert_eq!(count(&instance.driver(), false), 112);
    assert!(instance.take_differences().is_empty());
}

#[test]
fn with_checks_each_order_is_checked() {
    let options = InstanceOptions::new().schedules(Schedules::new(10)).checks(Checks::KERNELS);
    let instance = options.start().unwrap();
    assert_eq!(count(&instance.driver(), false), 112);
    assert_eq!(instance.take_findings().list.len(), 1, "the race, as without schedules");
    let found = instance.take_differences();
    assert!(found.iter().all(|difference| matches!(difference.kind, DifferenceKind::Memory(_))), "{found:?}");
}
