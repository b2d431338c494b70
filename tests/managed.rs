//! Managed memory: one address for host and kernels, advice, prefetches.

#![allow(unsafe_code)] // Launches of kernels whose arguments the comment beside them tells.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::skipped;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{ManagedAttach, MemoryAdvice, MemoryLocation, PrefetchBatch};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, ErrorKind, LaunchConfig, ManagedBuffer,
    cuda_launch,
};
use std::time::Duration;

const GLOBAL: ManagedAttach = ManagedAttach::Global;

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

#[test]
fn host_and_kernels_see_the_same_memory() {
    let stream = stream();
    let module = stream.context().load_module(include_str!("../examples/kernels/vecadd.ptx")).unwrap();
    let mut a = ManagedBuffer::<f32>::uninit(stream.context(), 1000, GLOBAL).unwrap();
    for (i, x) in a.as_mut_slice().unwrap().iter_mut().enumerate() {
        *x = i as f32;
    }
    let mut out = ManagedBuffer::<f32>::zeroed(&stream, 1000, GLOBAL).unwrap();
    for round in 1..5 {
        // const float* a, its length, const float* b, its length, float* c, its length
        unsafe {
            cuda_launch! { kernel: vecadd, module: module, stream: stream, config: LaunchConfig::for_num_elems(1000),
            args: [slice(a), slice(a), slice_mut(out)] }
        }
        .unwrap();
        // Waits for the kernel.
        let factor = 2.0 * round as f32;
        assert!(out.as_slice().unwrap().iter().enumerate().all(|(i, x)| *x == i as f32 * factor));
        // Waits for the kernel, which only reads it.
        for (i, x) in a.as_mut_slice().unwrap().iter_mut().enumerate() {
            *x = (i * (round + 1)) as f32;
        }
    }
}

/// The host sees it once no graph can write it any more, and after the launches of those that did.
#[test]
fn a_graph_that_has_it_keeps_it_from_the_host() {
    let stream = stream();
    let source = ManagedBuffer::from_slice(&stream, &[1u32, 2, 3], GLOBAL).unwrap();
    let mut result = ManagedBuffer::<u32>::zeroed(&stream, 3, GLOBAL).unwrap();
    let graph = CudaGraph::capture(stream.context(), CaptureMode::ThreadLocal, |capture| {
        result.view_mut().copy_from_device(capture, &source)
    });
    let graph = match graph {
        // A driver without graphs.
        Err(error) if error.is_unsupported() => return skipped(error),
        graph => graph.unwrap(),
    };
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    exec.launch(&stream).unwrap();
    assert!(source.as_slice().unwrap_err().is_host_access());
    assert!(result.as_mut_slice().unwrap_err().is_host_access());
    drop(source);
    // Nothing is done yet when the host asks.
    stream.call_host(|| std::thread::sleep(Duration::from_millis(30))).unwrap();
    exec.launch(&stream).unwrap();
    drop((exec, graph));
    assert_eq!(result.as_slice().unwrap(), [1, 2, 3]);
}

#[test]
fn it_is_copied_as_any_device_memory() {
    let stream = stream();
    let source: Vec<u32> = (0..5000).collect();
    let managed = ManagedBuffer::from_slice(&stream, &source, GLOBAL).unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 5000).unwrap();
    buffer.view_mut().copy_from_device(&stream, &managed).unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), source);
    assert_eq!(managed.view().slice(10..12).to_host_vec(&stream).unwrap(), [10, 11]);
    let mut back = ManagedBuffer::<u32>::zeroed(&stream, 100, GLOBAL).unwrap();
    back.view_mut().copy_from_device(&stream, &buffer.slice(100..200)).unwrap();
    assert_eq!(back.as_slice().unwrap(), &source[100..200]);
    back.close().unwrap();
}

#[test]
fn advice_and_prefetches_are_told() {
    let stream = stream();
    let context = stream.context();
    let device = MemoryLocation::from(context);
    // Two pages of every size that a host may have.
    let memory = ManagedBuffer::<u8>::zeroed(&stream, 4 << 20, GLOBAL).unwrap();
    let half = 2 << 20;
    memory.advise(..half, MemoryAdvice::ReadMostly(true)).unwrap();
    memory.advise(half.., MemoryAdvice::PreferredLocation(MemoryLocation::Host)).unwrap();
    memory.advise(half.., MemoryAdvice::AccessedBy(device)).unwrap();
    memory.prefetch(&stream, ..half, device).unwrap();
    stream.synchronize().unwrap();
    let (first, second) = (memory.range_state(..half).unwrap(), memory.range_state(half..).unwrap());
    assert!(first.read_mostly && !second.read_mostly && !memory.range_state(..).unwrap().read_mostly);
    assert_eq!((first.last_prefetch, first.preferred_location), (Some(device), None));
    assert_eq!(second.preferred_location, Some(MemoryLocation::Host));
    assert_eq!((first.accessed_by, second.accessed_by), (vec![], vec![device]));
    memory.advise(.., MemoryAdvice::ReadMostly(false)).unwrap();
    memory.advise(half.., MemoryAdvice::NoPreferredLocation).unwrap();
    memory.advise(half.., MemoryAdvice::NotAccessedBy(device)).unwrap();
    memory.prefetch(&stream, .., MemoryLocation::Host).unwrap();
    stream.synchronize().unwrap();
    let whole = memory.range_state(..).unwrap();
    assert!(!whole.read_mostly && whole.preferred_location.is_none() && whole.accessed_by.is_empty());
    assert_eq!(whole.last_prefetch, Some(MemoryLocation::Host));
    assert_eq!(memory.as_slice().unwrap(), vec![0; 4 << 20]);
}

#[test]
fn mistakes_are_errors() {
    let stream = stream();
    let context = stream.context();
    let memory = ManagedBuffer::<u32>::zeroed(&stream, 100, GLOBAL).unwrap();
    let error = memory.advise(50..101, MemoryAdvice::ReadMostly(true)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Length(_)), "{error}");
    assert!(memory.prefetch(&stream, 101.., MemoryLocation::Host).is_err());
    let error = memory.prefetch(&stream, .., MemoryLocation::Device(99)).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_DEVICE), "{error}");
    assert!(error.to_string().contains("Device(99)"));
    assert!(ManagedBuffer::<u32>::uninit(context, 4, ManagedAttach::Single).is_err());
    let error = ManagedBuffer::<u32>::uninit(context, usize::MAX / 2, GLOBAL).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Capacity { .. }));
}

#[test]
fn an_empty_buffer_is_fine_everywhere() {
    let stream = stream();
    let mut empty = ManagedBuffer::<u32>::zeroed(&stream, 0, GLOBAL).unwrap();
    assert!(
        empty.is_empty() && empty.as_slice().unwrap().is_empty() && empty.as_mut_slice().unwrap().is_empty()
    );
    empty.advise(.., MemoryAdvice::ReadMostly(true)).unwrap();
    empty.prefetch(&stream, .., MemoryLocation::Host).unwrap();
    empty.attach(&stream, ManagedAttach::Single).unwrap();
    empty.range_state(..).unwrap();
    empty.close().unwrap();
}

#[test]
fn it_is_attached_to_a_stream() {
    let stream = stream();
    let mut memory = ManagedBuffer::<u32>::zeroed(&stream, 100, ManagedAttach::Host).unwrap();
    memory.attach(&stream, ManagedAttach::Single).unwrap();
    memory.view_mut().copy_from_host(&stream, &[7; 100]).unwrap();
    assert_eq!(memory.as_slice().unwrap(), [7; 100]);
    memory.attach(&stream, ManagedAttach::Global).unwrap();
    // Documented as refused for the null stream; an H200 takes the legacy stream's own handle.
    let default = stream.context().default_stream();
    if let Err(error) = memory.attach(&default, ManagedAttach::Single) {
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE), "{error}");
    }
    memory.attach(&default, ManagedAttach::Global).unwrap();
    default.synchronize().unwrap();
    assert_eq!(memory.as_slice().unwrap(), [7; 100]);
}

/// Bytes of two pages of every size that a host may have.
const PAGES: usize = 4 << 20;

fn last_prefetch(memory: &ManagedBuffer<u8>, pages: std::ops::Range<usize>) -> Option<MemoryLocation> {
    memory.range_state(pages).unwrap().last_prefetch
}

#[test]
fn a_batch_prefetches_each_range_to_its_place() {
    let stream = stream();
    let device = MemoryLocation::from(stream.context());
    let [a, b] = [0; 2].map(|_| ManagedBuffer::<u8>::zeroed(&stream, PAGES, GLOBAL).unwrap());
    let half = PAGES / 2;
    let mut batch = PrefetchBatch::new();
    assert!(batch.is_empty());
    // One buffer twice, and a range without elements.
    batch.push(&a, ..half, device).unwrap().push(&b, 7..7, device).unwrap();
    batch.push(&b, half.., MemoryLocation::Host).unwrap().push(&a, half.., MemoryLocation::Host).unwrap();
    assert_eq!(batch.len(), 3);
    match batch.submit(&stream) {
        Err(error) if error.is_unsupported() => return skipped(error),
        done => done.unwrap(),
    }
    stream.synchronize().unwrap();
    let host = Some(MemoryLocation::Host);
    assert_eq!([last_prefetch(&a, 0..half), last_prefetch(&a, half..PAGES)], [Some(device), host]);
    assert_eq!([last_prefetch(&b, 0..half), last_prefetch(&b, half..PAGES)], [None, host]);
    assert!(a.as_slice().unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn batches_tell_what_is_wrong() {
    let (stream, context) = (stream(), CudaContext::new(0).unwrap());
    let memory = ManagedBuffer::<u8>::zeroed(&stream, PAGES, GLOBAL).unwrap();
    // Nothing to do is fine wherever it is.
    let default = context.default_stream();
    PrefetchBatch::new().submit(&default).unwrap();
    let mut batch = PrefetchBatch::new();
    let error = batch.push(&memory, ..=PAGES, MemoryLocation::Host).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Length(_)), "{error}");
    batch.push(&memory, .., MemoryLocation::Device(99)).unwrap();
    let error = batch.submit(&stream).unwrap_err();
    assert!(error.is_unsupported() || error.to_string().contains("1 ranges, to [Device(99)]"), "{error}");
    let mut batch = PrefetchBatch::new();
    batch.push(&memory, .., MemoryLocation::Host).unwrap();
    batch.submit(&default).unwrap_err();
    let other = context.device().create_context(&Default::default()).unwrap();
    let far = other.new_stream().unwrap();
    let mut batch = PrefetchBatch::new();
    batch.push(&memory, .., MemoryLocation::Host).unwrap();
    let error = batch.submit(&far).unwrap_err();
    assert!(error.is_context_mismatch(), "{error}");
    // Nothing was done.
    assert!(memory.as_slice().unwrap().iter().all(|byte| *byte == 0));
}
