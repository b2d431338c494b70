//! Calls on another stack, from a thread with the smallest one.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#![allow(clippy::unwrap_used)]

use cuda_driver_sys::CUresult;
use cuda_harness::stack::with_room;
use std::backtrace::Backtrace;
use std::hint::black_box;
use std::panic::catch_unwind;

/// More than the thread has.
const MUCH: usize = 100 << 10;

/// Uses that much of the stack, and returns a sum that depends on all of it.
#[inline(never)]
fn much(seed: u8) -> u64 {
    let bytes = black_box([seed; MUCH]);
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

fn address() -> usize {
    let here = 0_u8;
    black_box(&raw const here).addr()
}

/// In a frame of its own, whose name the traces have.
#[inline(never)]
fn caller_of_the_switch(call: &mut dyn FnMut() -> CUresult) -> CUresult {
    black_box(with_room(call))
}

#[test]
fn a_call_gets_room_and_everything_else_is_as_without() {
    let small = std::thread::Builder::new().stack_size(16 << 10);
    let thread = small.spawn(|| {
        let (mut sums, mut far, mut nested) = (Vec::new(), Vec::new(), 0);
        for seed in 1..=3 {
            let outside = address();
            let code = caller_of_the_switch(&mut || {
                sums.push(much(seed));
                far.push(address().abs_diff(outside));
                // On the other stack there is room already: a call inside stays on it.
                let (mut inside, before) = (0, address());
                assert_eq!(
                    with_room(&mut || {
                        inside = address();
                        CUresult(7)
                    }),
                    CUresult(7)
                );
                nested = inside.abs_diff(before);
                // A panic that is caught goes no further.
                assert!(catch_unwind(|| std::panic::resume_unwind(Box::new(()))).is_err());
                CUresult(u32::from(seed))
            });
            assert_eq!(code, CUresult(u32::from(seed)));
        }
        (sums, far, nested)
    });
    let (sums, far, nested) = thread.unwrap().join().unwrap();
    assert_eq!(sums, [1, 2, 3].map(|seed| seed * MUCH as u64));
    assert!(far.iter().all(|far| *far > 16 << 10), "on the thread's own stack: {far:?}");
    assert!(nested < 16 << 10, "on yet another one: {nested}");

    // A thread with room stays where it is.
    let (mut inside, outside) = (0, address());
    let _ = with_room(&mut || {
        inside = address();
        CUresult::SUCCESS
    });
    assert!(inside.abs_diff(outside) < 16 << 10);
}

/// What unwinds (debuggers, profilers, the traces of errors) finds the way from the other stack to the thread's.
#[test]
fn a_trace_goes_through_the_switch() {
    // Room for the symbols' reader comes with the other stack.
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let thread = small.spawn(|| {
        let mut trace = None;
        let _ = caller_of_the_switch(&mut || {
            trace = Some(Backtrace::force_capture());
            CUresult::SUCCESS
        });
        trace.unwrap()
    });
    let trace = thread.unwrap().join().unwrap().to_string();
    let at = |name| trace.find(name);
    assert!(at("own::switch").is_some() && at("own::switch") < at("caller_of_the_switch"), "{trace}");
}
