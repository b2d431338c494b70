//! Streams that wait for memory: what is refused, and that no wait outlives its context or burns a core.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::time::Duration;
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

#[test]
fn what_is_wrong_is_refused() {
    let (cuda, _) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 8));
    let (flush, host) = (CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_FLUSH.0, [0_u64; 1]);
    unsafe {
        for address in [0, memory + 2, memory + 8, host.as_ptr().expose_provenance() as u64] {
            assert_eq!(cuda.cuStreamWaitValue32(stream, address, 0, 0), INVALID);
            assert_eq!(cuda.cuStreamWriteValue32(stream, address, 0, 0), INVALID);
        }
        let (mut pooled, mut managed) = (0, 0);
        ok(cuda.cuMemAllocAsync(&mut pooled, 8, stream));
        ok(cuda.cuMemAllocManaged(&mut managed, 8, 1));
        for address in [memory + 4, memory + 8, pooled, managed] {
            assert_eq!(cuda.cuStreamWaitValue64(stream, address, 0, 0), INVALID);
            assert_eq!(cuda.cuStreamWriteValue64(stream, address, 0, 0), INVALID);
        }
        assert_eq!(cuda.cuStreamWaitValue32(stream, memory, 0, 4), INVALID);
        assert_eq!(cuda.cuStreamWaitValue32(stream, memory, 0, flush), CUresult::CUDA_ERROR_NOT_SUPPORTED);
        assert_eq!(cuda.cuStreamWriteValue32(stream, memory, 0, 2), INVALID);
        let gone = std::ptr::without_provenance_mut(0x5000);
        assert_eq!(cuda.cuStreamWriteValue32(gone, memory, 0, 0), CUresult::CUDA_ERROR_INVALID_HANDLE);
        let mut list = [CUstreamBatchMemOpParams::default(); 300];
        let batch = |list: &mut [CUstreamBatchMemOpParams], count, flags| {
            cuda.cuStreamBatchMemOp(stream, count, list.as_mut_ptr(), flags)
        };
        assert_eq!(batch(&mut list, 1, 0), INVALID, "no operation has the number 0");
        list.fill(CUstreamBatchMemOpParams {
            memoryBarrier: CUstreamMemOpMemoryBarrierParams {
                operation: CUstreamBatchMemOpType::CU_STREAM_MEM_OP_BARRIER,
                flags: 0,
            },
        });
        ok(batch(&mut list, 256, 0));
        assert_eq!(batch(&mut list, 257, 0), INVALID);
        assert_eq!(batch(&mut list, 1, 1), INVALID);
        assert_eq!(batch(&mut list, 0, 0), INVALID);
        assert_eq!(cuda.cuStreamBatchMemOp(stream, 1, null_mut(), 0), INVALID);
        ok(cuda.cuStreamSynchronize(stream));
    }
}

#[test]
fn the_end_of_a_context_ends_its_waits() {
    let (cuda, context) = with_own_context();
    let (stream, memory) = (stream(&cuda, 1), alloc(&cuda, 8));
    ok(unsafe { cuda.cuMemsetD8(memory, 0, 8) });
    ok(unsafe { cuda.cuStreamWaitValue32(stream, memory, 1, 1) });
    assert_eq!(unsafe { cuda.cuStreamQuery(stream) }, CUresult::CUDA_ERROR_NOT_READY);
    ok(unsafe { cuda.cuCtxDestroy(context) });
}

/// Processor time that all threads used so far; nothing where the system does not tell.
fn used_by_all() -> Duration {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let one = |path: std::path::PathBuf| {
        let stat = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        stat.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0_u64)
    };
    Duration::from_nanos(tasks.flatten().map(|task| one(task.path())).sum())
}

#[test]
fn a_wait_burns_no_core() {
    const VARIABLE: &str = "DRIVER_VALUES_IDLE";
    if std::env::var_os(VARIABLE).is_none() {
        let output = child("a_wait_burns_no_core", &[(VARIABLE, "1")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let (cuda, _) = with_own_context();
    let (stream, other, memory) = (stream(&cuda, 1), stream(&cuda, 1), alloc(&cuda, 8));
    ok(unsafe { cuda.cuMemsetD8(memory, 0, 8) });
    ok(unsafe { cuda.cuStreamWaitValue32(stream, memory, 1, 1) });
    let before = used_by_all();
    std::thread::sleep(Duration::from_millis(400));
    let spent = used_by_all().saturating_sub(before);
    assert!(spent < Duration::from_millis(100), "{spent:?} of 400 ms");
    ok(unsafe { cuda.cuStreamWriteValue32(other, memory, 1, 0) });
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
}
