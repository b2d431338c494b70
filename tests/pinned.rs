//! Pinned host memory: allocated, registered, mapped; copies that do not wait, and who waits for them.

#![allow(unsafe_code)] // Launches of kernels whose arguments the comment beside them tells.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::skipped;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{PinnedFlags, RegisterFlags};
use cuda_launch::sys::CUresult;
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaModule, CudaStream, DeviceBuffer, Error, ErrorKind,
    LaunchConfig, PinnedBuffer, cuda_launch,
};

const NONE: PinnedFlags = PinnedFlags::empty();

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn vecadd(stream: &CudaStream) -> CudaModule {
    stream.context().load_module(include_str!("../examples/kernels/vecadd.ptx")).unwrap()
}

/// Numbers that differ.
fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn copies_both_ways_without_waiting() {
    let stream = stream();
    let source = numbers(1 << 20);
    let host = PinnedBuffer::from_slice(stream.context(), &source, NONE).unwrap();
    let mut back = PinnedBuffer::<u32>::zeroed(stream.context(), source.len(), NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit(&stream, source.len()).unwrap();
    buffer.view_mut().copy_from_pinned(&stream, &host).unwrap();
    buffer.view().copy_to_pinned(&stream, &mut back).unwrap();
    assert!(back.as_slice().unwrap() == source.as_slice());
    assert!(back.flags().unwrap().contains(PinnedFlags::DEVICE_MAP) || !back.flags().unwrap().is_empty());
}

/// `reliability.md` 33: what a copy reads cannot be changed before it is done.
#[test]
fn a_pinned_source_is_not_changed_before_its_copy_is_done() {
    let stream = stream();
    let mut host = PinnedBuffer::from_slice(stream.context(), &vec![1u32; 8 << 20], NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 8 << 20).unwrap();
    let mut other = DeviceBuffer::<u32>::uninit(&stream, 8 << 20).unwrap();
    for _ in 0..4 {
        // Some work that the copy has to wait for.
        other.view_mut().set_zero(&stream).unwrap();
        buffer.view_mut().copy_from_pinned(&stream, &host).unwrap();
    }
    host.as_mut_slice().unwrap().fill(2);
    assert!(buffer.to_host_vec(&stream).unwrap().iter().all(|x| *x == 1));
    // Another thread's stream counts too.
    let far = stream.context().new_stream().unwrap();
    std::thread::scope(|scope| {
        let (host, buffer) = (&host, &mut buffer);
        scope.spawn(move || buffer.view_mut().copy_from_pinned(&far, host).unwrap());
    });
    host.as_mut_slice().unwrap().fill(3);
    assert!(buffer.to_host_vec(&stream).unwrap().iter().all(|x| *x == 2));
}

#[test]
fn a_destination_is_read_after_it_is_written() {
    let stream = stream();
    let mut host = PinnedBuffer::<u32>::zeroed(stream.context(), 4 << 20, NONE).unwrap();
    for round in 1..4u32 {
        let buffer = DeviceBuffer::from_host(&stream, &vec![round; 4 << 20]).unwrap();
        buffer.view().copy_to_pinned(&stream, &mut host).unwrap();
        drop(buffer);
        assert!(host.as_slice().unwrap().iter().all(|x| *x == round));
    }
}

#[test]
fn parts_are_copied() {
    let stream = stream();
    let source = numbers(100);
    let mut host = PinnedBuffer::from_slice(stream.context(), &source, NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 10).unwrap();
    buffer.slice_mut(2..5).copy_from_pinned(&stream, host.try_slice(50..53).unwrap()).unwrap();
    buffer.view().copy_to_pinned(&stream, host.try_slice_mut(90..).unwrap()).unwrap();
    assert_eq!(host.as_slice().unwrap()[92..95], source[50..53]);
    assert_eq!(host.as_slice().unwrap()[..90], source[..90]);
    assert!(host.try_slice(99..101).is_none() && host.try_slice_mut(..=100).is_none());
}

/// `reliability.md` 30.
#[test]
fn lengths_that_differ_are_an_error() {
    let stream = stream();
    let mut host = PinnedBuffer::<u32>::zeroed(stream.context(), 5, NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 6).unwrap();
    let is_length = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Length(l) if l.source_len + l.destination_len == 11),
            "{error}"
        );
    };
    is_length(buffer.view_mut().copy_from_pinned(&stream, &host));
    is_length(buffer.view().copy_to_pinned(&stream, &mut host));
}

/// `reliability.md` 31 and 32.
#[test]
fn too_much_and_nothing() {
    let stream = stream();
    let error = PinnedBuffer::<u64>::zeroed(stream.context(), usize::MAX / 4, NONE).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Capacity { .. }) && error.is_out_of_memory());
    let error = PinnedBuffer::<u8>::zeroed(stream.context(), 1 << 60, NONE).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    let mut empty = PinnedBuffer::<u32>::zeroed(stream.context(), 0, NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 0).unwrap();
    buffer.view_mut().copy_from_pinned(&stream, &empty).unwrap();
    buffer.view().copy_to_pinned(&stream, &mut empty).unwrap();
    assert!(
        empty.is_empty() && empty.as_slice().unwrap().is_empty() && empty.as_mut_slice().unwrap().is_empty()
    );
    assert_eq!(empty.flags().unwrap(), PinnedFlags::empty());
    empty.close().unwrap();
    PinnedBuffer::register(stream.context(), Vec::<u32>::new(), RegisterFlags::empty()).unwrap();
}

#[test]
fn a_vector_is_pinned_where_it_is() {
    let stream = stream();
    let elements = numbers(5000);
    let address = elements.as_ptr();
    let mut pinned = PinnedBuffer::register(stream.context(), elements, RegisterFlags::empty()).unwrap();
    assert_eq!(pinned.as_slice().unwrap().as_ptr(), address);
    let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 5000).unwrap();
    buffer.view_mut().copy_from_pinned(&stream, &pinned).unwrap();
    pinned.as_mut_slice().unwrap().fill(0);
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), numbers(5000));
    // The end of the buffer unregisters it: the same pages can be registered again.
    buffer.view_mut().copy_from_pinned(&stream, &pinned).unwrap();
    drop(pinned);
}

#[test]
fn a_slice_is_pinned_in_a_scope() {
    let stream = stream();
    let mut buffer = DeviceBuffer::<u32>::uninit(&stream, 4096).unwrap();
    let (mut data, expected) = (numbers(4096), numbers(4096));
    for _ in 0..3 {
        let copied = stream.context().with_registered(&mut data, RegisterFlags::empty(), |mut pinned| {
            buffer.view_mut().copy_from_pinned(&stream, pinned.as_view())?;
            buffer.view().copy_to_pinned(&stream, pinned.view_mut())?;
            Ok(pinned.len())
        });
        assert_eq!((copied.unwrap(), &data), (4096, &expected));
    }
    // A panic inside unregisters as well.
    let context = stream.context().clone();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let scope =
            |_: cuda_launch::memory::PinnedViewMut<'_, u32>| -> Result<(), Error> { panic!("on purpose") };
        context.with_registered(&mut data, RegisterFlags::empty(), scope)
    }));
    assert!(caught.is_err());
    let bytes = context.with_registered(&mut data, RegisterFlags::empty(), |pinned| Ok(pinned.byte_len()));
    assert_eq!(bytes.unwrap(), 4 * 4096);
    context
        .with_registered(&mut [0u32; 0], RegisterFlags::empty(), |pinned| {
            assert!(pinned.is_empty());
            Ok(())
        })
        .unwrap();
}

#[test]
fn memory_that_is_pinned_already_is_refused() {
    let stream = stream();
    let mut pinned = PinnedBuffer::<u32>::zeroed(stream.context(), 4096, NONE).unwrap();
    let slice = pinned.as_mut_slice().unwrap();
    let error = stream.context().with_registered(slice, RegisterFlags::empty(), |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_VALUE), "the driver's own memory");
    assert_eq!(error.call(), Some("cuMemHostRegister"));
    let mut registered =
        PinnedBuffer::register(stream.context(), vec![0u32; 4096], RegisterFlags::empty()).unwrap();
    let slice = registered.as_mut_slice().unwrap();
    let error = stream.context().with_registered(slice, RegisterFlags::empty(), |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED), "twice");
}

#[test]
fn kernels_use_mapped_memory() {
    let stream = stream();
    let (context, module) = (stream.context(), vecadd(&stream));
    let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let host = PinnedBuffer::from_slice(context, &a, PinnedFlags::DEVICE_MAP).unwrap();
    let mut out =
        PinnedBuffer::<f32>::zeroed(context, 1000, PinnedFlags::DEVICE_MAP | PinnedFlags::PORTABLE).unwrap();
    let b = DeviceBuffer::from_host(&stream, &a).unwrap();
    let (x, mut y) = (host.device_view(), out.device_view_mut());
    // const float* a, its length, const float* b, its length, float* c, its length
    unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: stream, config: LaunchConfig::for_num_elems(1000),
        args: [slice(x), slice(b), slice_mut(y)] }
    }
    .unwrap();
    // Waits for the kernel, whose use is remembered.
    assert!(out.as_slice().unwrap().iter().zip(&a).all(|(sum, a)| *sum == a + a));
}

#[test]
fn objects_of_two_contexts_do_not_meet() {
    let instance = cuda_emulator::Instance::new().unwrap();
    let other = CudaContext::with_driver(&instance.driver(), 0).unwrap();
    let stream = stream();
    let host = PinnedBuffer::<u32>::zeroed(&other, 4, NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    assert!(buffer.view_mut().copy_from_pinned(&stream, &host).unwrap_err().is_context_mismatch());
}

/// It goes back to its owner when the loan ends; a graph would still copy to it and from it.
#[test]
fn a_capture_takes_no_memory_that_is_lent() {
    let stream = stream();
    let context = stream.context();
    let mut buffer = DeviceBuffer::<u32>::filled(&stream, 3, 7).unwrap();
    let mut lent = [1u32, 2, 3];
    let refused = context.with_registered(&mut lent, RegisterFlags::empty(), |mut pinned| {
        let local = CaptureMode::ThreadLocal;
        let to = CudaGraph::capture(context, local, |s| buffer.view().copy_to_pinned(s, pinned.view_mut()));
        let from =
            CudaGraph::capture(context, local, |s| buffer.view_mut().copy_from_pinned(s, pinned.as_view()));
        Ok([to, from].map(|graph| graph.map(drop)))
    });
    for error in refused.unwrap().map(Result::unwrap_err) {
        if error.is_unsupported() {
            // A driver without graphs.
            return skipped(error);
        }
        assert!(error.is_refused_in_capture(), "{error}");
    }
    assert_eq!(lent, [1, 2, 3]);
}

/// A graph copies from and to pinned memory, keeps it, and keeps the host away from it.
#[test]
fn captured_copies_are_part_of_the_graph() {
    let stream = stream();
    let context = stream.context();
    let source = PinnedBuffer::from_slice(context, &[1u32, 2, 3], NONE).unwrap();
    let mut result = PinnedBuffer::<u32>::zeroed(context, 3, NONE).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 3).unwrap();
    let mut borrowed = [0u32; 3];
    let graph = CudaGraph::capture(context, CaptureMode::ThreadLocal, |capture| {
        buffer.view_mut().copy_from_pinned(capture, &source)?;
        buffer.view().copy_to_pinned(capture, &mut result)?;
        // Memory that is only borrowed cannot be part of a graph.
        let refused = context.with_registered(&mut borrowed, RegisterFlags::empty(), |mut pinned| {
            buffer.view().copy_to_pinned(capture, pinned.view_mut())
        });
        assert!(refused.unwrap_err().is_refused_in_capture());
        Ok(())
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
    // The source lives as long as the graph, which may run again.
    drop(source);
    exec.launch(&stream).unwrap();
    drop((exec, graph));
    assert_eq!(result.as_slice().unwrap(), [1, 2, 3]);
}

#[test]
fn what_a_device_may_only_read_is_not_pinned() {
    let context = stream().context().clone();
    let error = PinnedBuffer::register(&context, vec![1u32; 4], RegisterFlags::READ_ONLY).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Inaccessible(_)), "{error}");
    let error = context.with_registered(&mut [1u32; 4], RegisterFlags::READ_ONLY, |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("help: omit the flag"), "{error}");
}
