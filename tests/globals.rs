//! Variables of modules: typed, bounds-checked, one handle at a time, ordered across streams.

#![allow(unsafe_code)] // Launches: the comment at each tells its arguments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::context::ContextOptions;
use cuda_launch::error::GlobalError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{CopySource, Extent, PinnedFlags, RowLayout};
use cuda_launch::module::CudaLibrary;
use cuda_launch::{
    CaptureMode, CudaGraph, CudaModule, DeviceBuffer, Error, ErrorKind, LaunchConfig, PinnedBuffer,
    cuda_launch,
};
use references::{Gpu, each, line};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

const GLOBALS: &str = include_str!("kernels/globals.ptx");

fn global_error(error: &Error) -> &GlobalError {
    match error.kind() {
        ErrorKind::Global(error) => error,
        _ => panic!("{error}"),
    }
}

#[test]
fn a_variable_is_read_and_written_as_its_type() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let mut table = module.global::<f32>("table").unwrap();
    assert_eq!((table.len(), table.byte_len(), table.is_empty(), table.name()), (256, 1024, false, "table"));
    assert_eq!(table.module().raw(), module.raw());
    // fill_table(value): table[i] = value + i
    unsafe {
        cuda_launch! { kernel: fill_table, module: module, stream: gpu.stream, config: line(1, 256), args: [0.5f32] }
    }
    .unwrap();
    each(&table.to_host_vec(&gpu.stream).unwrap(), "table", |i| 0.5 + i as f32);
    table.view_mut().slice(10..12).copy_from_host(&gpu.stream, &[7.0, 8.0]).unwrap();
    let mut part = [0.0; 4];
    table.view().slice(9..13).copy_to_host(&gpu.stream, &mut part).unwrap();
    assert_eq!(part, [9.5, 7.0, 8.0, 12.5]);
    assert_eq!(
        module.global::<u64>("big").unwrap().to_host_vec(&gpu.stream).unwrap(),
        [0x0123_4567_89ab_cdef]
    );
    assert_eq!(
        module.global::<[u8; 5]>("bytes").unwrap().to_host_vec(&gpu.stream).unwrap(),
        [[1, 2, 3, 4, 255]]
    );
}

#[test]
fn a_variable_is_an_argument_like_a_buffer() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let fill = gpu.module(include_str!("../examples/kernels/vecadd.ptx"));
    let mut table = module.global::<f32>("table").unwrap();
    let (a, b) = (gpu.put(&[1.0f32; 256]), gpu.put(&[2.0f32; 256]));
    // So that what is not ordered after it comes before it.
    gpu.stream.call_host(|| std::thread::sleep(Duration::from_millis(30))).unwrap();
    // vecadd(a, b, c): three slices
    unsafe {
        cuda_launch! { kernel: vecadd, module: fill, stream: gpu.stream, config: LaunchConfig::for_num_elems(256),
        args: [slice(a), slice(b), slice_mut(table)] }
    }
    .unwrap();
    // Another stream: ordered after the launch by the handle.
    let other = gpu.ctx.new_stream().unwrap();
    each(&table.to_host_vec(&other).unwrap(), "table", |_| 3.0);
    let mut copy = DeviceBuffer::<f32>::zeroed(&other, 256).unwrap();
    copy.view_mut().copy_from_device(&other, &table).unwrap();
    each(&gpu.get(&copy), "copy", |_| 3.0);
}

#[test]
fn what_used_a_variable_outlives_its_handle() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let source = gpu.put(&[4.0f32; 256]);
    for round in 0..50 {
        let (one, two) = (gpu.ctx.new_stream().unwrap(), gpu.ctx.new_stream().unwrap());
        module.global::<f32>("table").unwrap().copy_from_device(&one, &source).unwrap();
        let read = module.global::<f32>("table").unwrap().to_host_vec(&two).unwrap();
        each(&read, format!("round {round}"), |_| 4.0);
        module.global::<f32>("table").unwrap().view_mut().set_zero(&two).unwrap();
    }
}

#[test]
fn constants_are_written_by_the_host_and_read_by_kernels() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let mut words = module.constant::<u32>("from_host").unwrap();
    let values: Vec<u32> = (0..16).map(|i| i * 3 + 1).collect();
    words.copy_from_host(&gpu.stream, &values).unwrap();
    let mut out = gpu.zeros::<u32>(16);
    // copy_constant(out)
    unsafe {
        cuda_launch! { kernel: copy_constant, module: module, stream: gpu.stream, config: line(1, 16),
        args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    assert_eq!(gpu.get(&out), values);
    let staged = gpu.put(&[9u32; 16]);
    words.copy_from_device(&gpu.stream, &staged).unwrap();
    assert_eq!(words.to_host_vec(&gpu.stream).unwrap(), [9; 16]);
    let error = module.constant::<f32>("table").unwrap_err();
    assert!(matches!(global_error(&error), GlobalError::NotConstant { .. }), "{error}");
    // Else it would be a slice that kernels write.
    let error = module.global::<u32>("from_host").unwrap_err();
    assert!(matches!(global_error(&error), GlobalError::Constant { .. }), "{error}");
}

#[test]
fn every_copy_writes_a_constant() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let mut words = module.constant::<u32>("from_host").unwrap();
    assert_eq!((words.view_mut().len(), words.view_mut().byte_len()), (16, 64));
    words.view_mut().set_zero(&gpu.stream).unwrap();
    words.view_mut().slice(1..3).fill(&gpu.stream, 5).unwrap();
    words.view_mut().slice(3..5).copy_from_host(&gpu.stream, &[6, 7]).unwrap();
    let pinned = PinnedBuffer::from_slice(&gpu.ctx, &[8u32, 9], PinnedFlags::empty()).unwrap();
    words.view_mut().slice(5..7).copy_from_pinned(&gpu.stream, &pinned).unwrap();
    let staged = gpu.put(&[10u32, 11]);
    let mut view = words.view_mut();
    view.view_mut().slice(7..9).copy_from_device(&gpu.stream, &staged).unwrap();
    view.view_mut().slice(9..11).copy_from_peer(&gpu.stream, &staged).unwrap();
    let layout = RowLayout::packed::<u32>(16, 1);
    let mut target = view.as_target(layout).at(12, 0, 0);
    gpu.stream.copy_region(&CopySource::device(&staged, layout), &mut target, Extent::rows(2, 1)).unwrap();
    assert!(view.as_view().try_slice(..17).is_none() && view.try_slice(..17).is_none());
    let all = [0, 5, 5, 6, 7, 8, 9, 10, 11, 10, 11, 0, 10, 11, 0, 0];
    assert_eq!(words.to_host_vec(&gpu.stream).unwrap(), all);
}

#[test]
fn sizes_and_alignment_are_checked() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let error = module.global::<u64>("counter").unwrap_err();
    assert!(
        matches!(global_error(&error), GlobalError::Size { bytes: 4, size: 8, type_name: "u64", .. }),
        "{error}"
    );
    assert!(error.to_string().contains("\"counter\"") && error.to_string().contains("4 bytes"), "{error}");
    assert!(matches!(
        global_error(&module.global::<[u8; 0]>("counter").unwrap_err()),
        GlobalError::Size { .. }
    ));
    let odd = ".version 8.0\n.target sm_52\n.address_size 64\n.global .align 8 .b8 a[1];\n.global .align 1 .b8 b[8];\n\
               .visible .entry k() { ret; }\n";
    let module = gpu.module(odd);
    // Where it lies is the driver's choice; only a place that does not fit is an error.
    let (address, _) = module.raw_global("b").unwrap();
    assert_eq!(module.global::<u64>("b").is_ok(), address % 8 == 0);
    let mut b = module.global::<u8>("b").unwrap();
    let error = b.copy_from_host(&gpu.stream, &[1; 9]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Length(_)), "{error}");
    assert!(b.view_mut().try_slice(4..9).is_none());
}

#[test]
fn names_that_are_not_there_come_with_the_nearest() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let error = module.global::<u32>("conter").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("did you mean counter"), "{error}");
    assert!(module.global::<u32>("").is_err() && module.global::<u32>("a\0b").is_err());
    // A kernel is no variable.
    assert!(module.global::<u32>("count").is_err());
}

#[test]
fn there_is_one_handle_at_a_time() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    let counter = module.global::<u32>("counter").unwrap();
    let error = module.clone().global::<u32>("counter").unwrap_err();
    assert!(matches!(global_error(&error), GlobalError::InUse { .. }), "{error}");
    let other = module.global::<f32>("table").unwrap();
    // Another copy of the image has variables of its own.
    assert!(gpu.module(GLOBALS).global::<u32>("counter").is_ok());
    drop(counter);
    assert_eq!(
        module.global::<[u8; 4]>("counter").unwrap().to_host_vec(&gpu.stream).unwrap(),
        [[5, 0, 0, 0]]
    );
    drop(other);
}

#[test]
fn a_handle_that_is_dropped_in_a_capture_can_be_had_again_in_it() {
    let gpu = Gpu::new();
    let module = gpu.module(GLOBALS);
    module.global::<u32>("counter").unwrap().view_mut().fill(&gpu.stream, 6).unwrap();
    let graph = CudaGraph::capture(&gpu.ctx, CaptureMode::ThreadLocal, |stream| {
        drop(module.global::<u32>("counter")?);
        module.global::<u32>("counter")?.view_mut().fill(stream, 7)
    });
    let mut counter = module.global::<u32>("counter").unwrap();
    assert_eq!(counter.to_host_vec(&gpu.stream).unwrap(), [6]);
    graph.unwrap().instantiate(InstantiateFlags::empty()).unwrap().launch(&gpu.stream).unwrap();
    assert_eq!(counter.to_host_vec(&gpu.stream).unwrap(), [7]);
    counter.view_mut().fill(&gpu.stream, 8).unwrap();
}

/// To unload a module is to wait for work of its context alone.
#[test]
fn a_variable_goes_after_the_copies_of_other_contexts() {
    let gpu = Gpu::new();
    let far = gpu.ctx.device().create_context(&ContextOptions::default()).unwrap();
    let stream = far.new_stream().unwrap();
    let source = DeviceBuffer::from_host(&stream, &[3u32]).unwrap();
    let library = CudaLibrary::load(gpu.ctx.driver(), GLOBALS).unwrap();
    for module in [gpu.module(GLOBALS), library.module(&gpu.ctx).unwrap()] {
        let done = Arc::new(AtomicBool::new(false));
        let (release, held) = channel::<()>();
        stream.call_host(move || held.recv().unwrap_or_default()).unwrap();
        let mut counter = module.global::<u32>("counter").unwrap();
        counter.view_mut().copy_from_peer(&stream, &source).unwrap();
        let copied = done.clone();
        stream.call_host(move || copied.store(true, Ordering::SeqCst)).unwrap();
        let going_on = std::thread::spawn(move || drop(release));
        drop((counter, module));
        assert!(done.load(Ordering::SeqCst), "the copy was waited for");
        going_on.join().unwrap();
    }
}

#[test]
fn a_handle_keeps_its_module_loaded() {
    let gpu = Gpu::new();
    let counter = gpu.module(GLOBALS).global::<u32>("counter").unwrap();
    assert_eq!(counter.to_host_vec(&gpu.stream).unwrap(), [5]);
    let module: CudaModule = counter.module().clone();
    drop(counter);
    assert!(module.global::<u32>("counter").is_ok());
    module.close().unwrap();
}

#[test]
fn a_stream_of_another_context_is_refused() {
    let gpu = Gpu::new();
    let other = cuda_emulator::Instance::new().unwrap();
    let emulator = cuda_launch::CudaContext::with_driver(&other.driver(), 0).unwrap();
    let module = gpu.module(GLOBALS);
    let counter = module.global::<u32>("counter").unwrap();
    let foreign = emulator.new_stream().unwrap();
    assert!(counter.to_host_vec(&foreign).unwrap_err().is_context_mismatch());
}
