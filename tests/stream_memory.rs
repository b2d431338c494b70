//! Streams that wait for a number in memory and write one.

#![allow(unsafe_code)] // Addresses that live long enough.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;

use alone::alone;
use cuda_harness::{Alone, child, skipped};
use cuda_launch::memory::PinnedFlags;
use cuda_launch::stream::{
    BarrierScope, StreamMemoryOp, StreamValue, WaitCondition, WaitValueFlags, WriteValueFlags,
};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, DevicePtrMut, LaunchConfig, PinnedBuffer, cuda_launch,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const NOW: WaitValueFlags = WaitValueFlags::empty();
const PLAIN: WriteValueFlags = WriteValueFlags::empty();

fn context() -> (Alone, CudaContext, CudaStream, CudaStream) {
    let (alone, ctx) = (alone(), CudaContext::new(0).unwrap());
    let streams = (ctx.new_stream().unwrap(), ctx.new_stream().unwrap());
    (alone, ctx, streams.0, streams.1)
}

/// Zeros, and their address. Not of a pool, whose memory drivers refuse here.
fn zeros<T: cuda_launch::DeviceCopy>(stream: &CudaStream) -> (DeviceBuffer<T>, DevicePtrMut<T>) {
    let mut buffer = DeviceBuffer::uninit_plain(stream.context(), 4).unwrap();
    buffer.view_mut().set_zero(stream).unwrap();
    let address = buffer.as_mut_device_ptr();
    stream.synchronize().unwrap();
    (buffer, address)
}

#[test]
fn a_stream_waits_for_the_number_that_another_writes() {
    let (_alone, _ctx, stream, other) = context();
    let (flags, flag) = zeros::<u32>(&stream);
    for round in 1..=20 {
        unsafe {
            stream.wait_value(flag, WaitCondition::Equal, round, NOW).unwrap();
            stream.write_value(flag.wrapping_add(1), round, PLAIN).unwrap();
            assert!(!stream.query().unwrap());
            other.write_value(flag, round, PLAIN).unwrap();
        }
        stream.synchronize().unwrap();
    }
    assert_eq!(flags.to_host_vec(&stream).unwrap(), [20, 20, 0, 0]);
}

/// `stream` goes on when `value` is written, and not when `early` is.
fn lets_go<T: StreamValue + cuda_launch::DeviceCopy>(until: WaitCondition, wanted: T, early: T, value: T) {
    let (_alone, _ctx, stream, other) = context();
    let (_numbers, number) = zeros::<T>(&stream);
    unsafe { other.write_value(number, early, PLAIN).unwrap() };
    other.synchronize().unwrap();
    unsafe { stream.wait_value(number, until, wanted, NOW).unwrap() };
    std::thread::sleep(Duration::from_millis(3));
    assert!(!stream.query().unwrap(), "{until:?}: {early} is not {wanted}");
    unsafe { other.write_value(number, value, PLAIN).unwrap() };
    stream.synchronize().unwrap();
}

#[test]
fn numbers_are_compared_as_asked() {
    lets_go::<u32>(WaitCondition::AtLeast, 5, 4, 6);
    lets_go::<u32>(WaitCondition::AtLeast, 2, u32::MAX, 3); // In a circle: the largest is just before 0.
    lets_go::<u32>(WaitCondition::Equal, 5, 6, 5);
    lets_go::<u32>(WaitCondition::And, 0b110, 0b1001, 0b0100);
    lets_go::<u32>(WaitCondition::Nor, 0xffff, 0xffff_0000, 1);
    lets_go::<u64>(WaitCondition::AtLeast, 1 << 40, u64::MAX, (1 << 40) + 1);
    lets_go::<u64>(WaitCondition::Equal, 5 << 32, 5, 5 << 32);
    lets_go::<u64>(WaitCondition::And, 1 << 63, 1, 3 << 62);
    lets_go::<u64>(WaitCondition::Nor, u64::MAX >> 1, 1 << 63, 0);
}

#[test]
fn a_batch_is_done_in_order() {
    let (_alone, _ctx, stream, other) = context();
    let (numbers, number) = zeros::<u64>(&stream);
    let words = number.cast::<u32>();
    let operations = [
        StreamMemoryOp::write(number.wrapping_add(1), 1 << 40, PLAIN),
        StreamMemoryOp::wait(number, WaitCondition::AtLeast, 9u64, NOW),
        StreamMemoryOp::wait(number.wrapping_add(1), WaitCondition::Equal, 1u64 << 40, NOW),
        StreamMemoryOp::write(words.wrapping_add(4), 7, PLAIN),
    ];
    unsafe {
        stream.memory_operations(&operations).unwrap();
        other.write_value(number, 9, PLAIN).unwrap();
        other.memory_operations(&[]).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(numbers.to_host_vec(&stream).unwrap(), [9, 1 << 40, 7, 0]);
}

#[test]
fn a_batch_may_have_barriers() {
    let (_alone, _ctx, stream, _other) = context();
    let (numbers, number) = zeros::<u32>(&stream);
    for scope in [BarrierScope::System, BarrierScope::Device] {
        let operations = [StreamMemoryOp::write(number, 5, PLAIN), StreamMemoryOp::barrier(scope)];
        unsafe { stream.memory_operations(&operations) }.unwrap();
    }
    assert_eq!(numbers.to_host_vec(&stream).unwrap(), [5, 0, 0, 0]);
}

#[test]
fn the_host_lets_a_stream_go_on_through_pinned_memory() {
    let (_alone, ctx, stream, _other) = context();
    let mut flag = PinnedBuffer::<u32>::zeroed(&ctx, 2, PinnedFlags::empty()).unwrap();
    let (host, device) = (flag.as_host_ptr(), flag.device_view_mut().as_mut_device_ptr());
    unsafe {
        stream.wait_value(device, WaitCondition::Equal, 7, NOW).unwrap();
        stream.write_value(device.wrapping_add(1), 8, PLAIN).unwrap();
        assert!(!stream.query().unwrap());
        // SAFETY: `flag` is alive, two `u32`s of page-aligned memory, and no reference to them exists until `as_slice`; the
        // device reads this word, atomically, and writes the other.
        AtomicU32::from_ptr(host).store(7, Ordering::Release);
    }
    stream.synchronize().unwrap();
    assert_eq!(flag.as_slice().unwrap(), [7, 8]);
}

#[test]
fn memory_of_a_pool_is_refused_with_a_way_out() {
    let (_alone, _ctx, stream, _other) = context();
    let mut pooled = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    let number = pooled.as_mut_device_ptr();
    let results = unsafe {
        [
            stream.write_value(number, 1, PLAIN),
            stream.wait_value(number, WaitCondition::Equal, 1, NOW),
            stream.memory_operations(&[StreamMemoryOp::write(number, 1, PLAIN)]),
        ]
    };
    for error in results.map(Result::unwrap_err) {
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE), "{error}");
        assert!(error.to_string().contains("`DeviceBuffer::uninit_plain`"), "{error}");
    }
}

#[test]
fn a_write_without_a_barrier_is_refused() {
    let (_alone, _ctx, stream, _other) = context();
    let (numbers, number) = zeros::<u32>(&stream);
    let error = unsafe { stream.write_value(number, 1, WriteValueFlags::NO_MEMORY_BARRIER) }.unwrap_err();
    assert!(error.to_string().contains("NO_MEMORY_BARRIER"), "{error}");
    assert_eq!(numbers.to_host_vec(&stream).unwrap(), [0; 4]);
}

#[test]
fn a_refused_operation_says_what_was_asked() {
    let (_alone, _ctx, stream, _other) = context();
    let (_numbers, number) = zeros::<u32>(&stream);
    let odd = DevicePtrMut::from_raw(number.addr() + 2);
    let invalid = Some(CUresult::CUDA_ERROR_INVALID_VALUE);
    let error = unsafe { stream.wait_value(odd, WaitCondition::And, 5u32, NOW) }.unwrap_err();
    assert_eq!((error.call(), error.code()), (Some("cuStreamWaitValue32"), invalid));
    assert!(error.to_string().contains(&format!("{:#x} And 5", odd.addr())), "{error}");
    let error = unsafe { stream.write_value(odd.cast(), 5u64, PLAIN) }.unwrap_err();
    assert_eq!((error.call(), error.code()), (Some("cuStreamWriteValue64"), invalid));
    let operations = [StreamMemoryOp::write(number, 1, PLAIN), StreamMemoryOp::write(odd, 1, PLAIN)];
    let error = unsafe { stream.memory_operations(&operations) }.unwrap_err();
    assert_eq!((error.call(), error.code()), (Some("cuStreamBatchMemOp"), invalid));
    assert!(error.to_string().contains("2 operations: [StreamMemoryOp(cuStreamWriteValue32 0x"), "{error}");
}

/// What a waiting stream does when CUDA ends under it; a GPU is not asked, it may wait forever.
#[test]
fn a_fault_ends_a_wait() {
    const TEST: &str = "a_fault_ends_a_wait";
    if !CudaContext::new(0).unwrap().device_name().unwrap().contains("emulator") {
        return skipped("a GPU may wait for ever");
    }
    if !child::is_child(TEST) {
        let ended = child::run(TEST).unwrap();
        assert_eq!(ended.code, Some(42), "{}\n{}", ended.stdout, ended.stderr);
        return;
    }
    let (_alone, ctx, stream, other) = context();
    let (_numbers, number) = zeros::<u32>(&stream);
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    unsafe {
        stream.wait_value(number, WaitCondition::Equal, 1, NOW).unwrap();
        cuda_launch! { kernel: write_f32, module: module, stream: other, config: LaunchConfig::for_num_elems(1),
        args: [DevicePtrMut::<u8>::from_raw(0), 16i64, 1.0f32] }
        .unwrap();
    }
    assert!(stream.synchronize().unwrap_err().is_sticky());
    std::process::exit(42);
}
