//! Misuse of the driver's objects: what each mistake is answered with, and that nothing worse comes of it.
//!
//! [`CASES`] are mistakes that end in an error: its type, and that its text names the call or the object, the value, the
//! limit and the next step. The mistakes that have no error, because the crate orders, keeps or refuses at compile time,
//! are shown where their subject is tested (`comparison.rs` sees to it that these tests exist):
//!
//! | mistake | what happens | shown by |
//! |---|---|---|
//! | 33: a pinned source is changed before its copy is done | the host's borrow waits for the copy | `pinned::a_pinned_source_is_not_changed_before_its_copy_is_done` |
//! | 33: registered host memory is changed in its scope | does not compile | `compile_fail/pinned_source_changed` |
//! | 34: what work uses is dropped | it lives until the work is done | `ordering::a_stream_that_is_dropped_first_lives_until_the_memory_is_free`, `streams::a_stream_may_be_dropped_while_its_work_runs`, `functions::foreign_modules_and_functions_are_borrowed`, `capture::an_executable_graph_may_be_dropped_while_it_runs` |
//! | 34: what a host function borrows is dropped | does not compile | `compile_fail/call_host_borrows` |
//! | 35: used on one stream, freed on another | the free is ordered behind the use | `ordering::memory_goes_where_it_was_used_last` |
//! | 36: read on the host before the device has written | each call takes a stream, and waits | `compile_fail/buffer_read_without_stream`, `pinned::a_destination_is_read_after_it_is_written`, `managed::host_and_kernels_see_the_same_memory` |
//! | 37: objects of two devices | as below, with both ordinals | `peer::objects_of_another_device_are_refused_with_both_ordinals` |
//! | 42: a capture is left without an end | the scope ends it | `capture::an_error_or_a_panic_inside_ends_the_capture`, `capture::forks_take_part_and_are_joined_also_where_that_was_forgotten` |
//! | 43: the time of an event that keeps none | does not compile | `compile_fail/elapsed_untimed`, `compile_fail/event_kinds_mixed` |
//! | one launch reads and writes a buffer, or writes it twice | does not compile | `compile_fail/builder_aliasing` |
//! | a builder is given no arguments, or launched again | the list is compared; the same arguments | `builder_packet::wrong_lists_never_reach_the_driver`, `builder::a_second_launch_has_the_same_arguments` |
//!
//! # What other crates got wrong
//!
//! | hole | shown by |
//! |---|---|
//! | two readers share one event, and a writer waits for the last one only | `ordering::readers_do_not_wait_for_each_other_and_a_writer_waits_for_all` |
//! | memory is freed without a wait after the stream that used it was dropped | `ordering::a_stream_that_is_dropped_first_lives_until_the_memory_is_free`, `ordering::memory_goes_where_it_was_used_last` |
//! | copies of pinned memory are not remembered | `pinned::a_pinned_source_is_not_changed_before_its_copy_is_done`, `pinned::a_destination_is_read_after_it_is_written` |
//! | per-thread and foreign streams are not followed | `streams::buffers_follow_streams_that_other_code_made`, `streams::buffers_tell_the_per_thread_streams_of_two_threads_apart`, `ordering::each_thread_has_its_own_per_thread_stream` |
//! | any number of mutable views of one variable | `globals::there_is_one_handle_at_a_time` |
//! | bytes of a module reach the driver unchecked | `kernels_images::damaged_images_are_refused_before_the_driver` |
//! | a code, state or flag that the crate does not know is undefined | `misuse::answers_that_nobody_knows_are_passed_on` |
//! | calls that need a current context and do not see to it | `misuse::no_call_needs_a_context_that_is_current`, `events::no_call_needs_a_context_that_is_current` |
//! | a stream that could not be made is counted | `streams::a_stream_that_cannot_be_made_leaves_nothing_behind` |
//! | an error of one call comes out of another | `misuse::an_error_stays_with_the_call_that_has_it` |

#![allow(unsafe_code)] // Captures by hand, a fork, and launches of a kernel that is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use cuda_launch::context::ContextOptions;
use cuda_launch::event::EventFlags;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{
    CopyBatch, CopySource, CopyTarget, Extent, ManagedAttach, PinnedFlags, PitchedBuffer, RowLayout,
};
use cuda_launch::module::CacheConfig;
use cuda_launch::stream::CaptureStatus;
use cuda_launch::sys::CUresult;
use cuda_launch::{
    Attribute, CaptureMode, CudaContext, CudaGraph, CudaModule, CudaStream, DeviceBuffer, Error,
    LaunchConfig, ManagedBuffer, PinnedBuffer, cuda_launch,
};
use std::collections::BTreeSet;
use std::sync::mpsc;

const FILL: &str = include_str!("../examples/kernels/fill.ptx");
const GLOBALS: &str = include_str!("kernels/globals.ptx");
const LOCAL: CaptureMode = CaptureMode::ThreadLocal;

struct Rig {
    ctx: CudaContext,
    stream: CudaStream,
    /// Of another context of the same device.
    foreign: CudaStream,
    four: DeviceBuffer<u32>,
    fill: CudaModule,
}

impl Rig {
    fn new() -> Self {
        let ctx = CudaContext::new(0).unwrap();
        let stream = ctx.new_stream().unwrap();
        let own = ctx.device().create_context(&ContextOptions::default()).unwrap();
        let four = DeviceBuffer::from_host(&stream, &[1, 2, 3, 4]).unwrap();
        let fill = ctx.load_module(FILL).unwrap();
        Self { foreign: own.new_stream().unwrap(), ctx, stream, four, fill }
    }

    /// A launch of `fill` on that stream.
    fn launch(&mut self, stream: &CudaStream) -> Result<(), Error> {
        let config = LaunchConfig::for_num_elems(4);
        let Self { four, fill, .. } = self;
        unsafe {
            cuda_launch! { kernel: fill, module: fill, stream: stream, config: config, args: [ptr_mut(four), 4u32, 7u32] }
        }
    }

    fn pinned(&self, len: usize) -> PinnedBuffer<u32> {
        PinnedBuffer::zeroed(&self.ctx, len, PinnedFlags::empty()).unwrap()
    }

    /// What a call inside a capture is answered with; the capture itself must survive it.
    fn captured(&self, call: impl FnOnce(&CudaStream) -> Result<(), Error>) -> Result<(), Error> {
        let mut answer = Ok(());
        CudaGraph::capture(&self.ctx, LOCAL, |stream| {
            answer = call(stream);
            Ok(())
        })
        .expect("the capture survives");
        answer
    }

    /// What a call inside a host function is answered with.
    fn in_callback(&self, call: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
        let (sender, receiver) = mpsc::channel();
        self.stream.call_host(move || sender.send(call()).unwrap()).unwrap();
        self.stream.synchronize().unwrap();
        receiver.recv().unwrap()
    }
}

/// A mistake and its answer.
struct Case {
    /// Number in the list of mistakes.
    row: u32,
    mistake: &'static str,
    make: fn(&mut Rig) -> Result<(), Error>,
    is: fn(&Error) -> bool,
    /// The call or the object, the values, the limit, the next step.
    says: &'static [&'static str],
}

fn is_length(error: &Error) -> bool {
    matches!(error.kind(), cuda_launch::ErrorKind::Length(_))
}

fn is_capacity(error: &Error) -> bool {
    matches!(error.kind(), cuda_launch::ErrorKind::Capacity { .. }) && error.is_out_of_memory()
}

const CASES: &[Case] = &[
    Case {
        row: 30,
        mistake: "a host slice that is longer than the buffer",
        make: |rig| rig.four.copy_from_host(&rig.stream, &[0; 5]),
        is: is_length,
        says: &["copy_from_host", "source has 5", "destination 4", "slice one of them"],
    },
    Case {
        row: 30,
        mistake: "a host slice that is too short for the buffer",
        make: |rig| rig.four.copy_to_host(&rig.stream, &mut [0; 3]),
        is: is_length,
        says: &["copy_to_host", "source has 4", "destination 3", "slice one of them"],
    },
    Case {
        row: 30,
        mistake: "two buffers of unlike lengths",
        make: |rig| {
            let mut three = DeviceBuffer::<u32>::zeroed(&rig.stream, 3)?;
            three.view_mut().copy_from_device(&rig.stream, &rig.four)
        },
        is: is_length,
        says: &["copy_from_device", "source has 4", "destination 3", "slice one of them"],
    },
    Case {
        row: 30,
        mistake: "pinned memory that is longer than the buffer",
        make: |rig| {
            let pinned = rig.pinned(9);
            rig.four.view_mut().copy_from_pinned(&rig.stream, &pinned)
        },
        is: is_length,
        says: &["copy_from_pinned", "source has 9", "destination 4", "slice one of them"],
    },
    Case {
        row: 30,
        mistake: "pinned memory that is too short for the buffer",
        make: |rig| rig.four.view().copy_to_pinned(&rig.stream, &mut rig.pinned(1)),
        is: is_length,
        says: &["copy_to_pinned", "source has 4", "destination 1", "slice one of them"],
    },
    Case {
        row: 30,
        mistake: "a copy in a batch whose sides differ",
        make: |rig| {
            let mut target = [0; 2];
            let mut batch = CopyBatch::new();
            batch.push_to_host(&mut target, &rig.four).map(drop)
        },
        is: is_length,
        says: &["source has 4", "destination 2", "slice one of them"],
    },
    Case {
        row: 30,
        mistake: "a region that ends outside its memory",
        make: |rig| {
            let mut target = [0u32; 6];
            let rows = RowLayout::packed::<u32>(2, 3);
            let mut target = CopyTarget::host(&mut target, rows);
            rig.stream.copy_region(&CopySource::device(&rig.four, rows), &mut target, Extent::rows(2, 3))
        },
        is: Error::is_out_of_bounds,
        says: &["copy_region", "source has 16 bytes", "rows of 8 bytes", "ends at byte 24"],
    },
    Case {
        row: 30,
        mistake: "a part that is not there",
        make: |rig| rig.four.get(2..9).map(drop),
        is: Error::is_out_of_bounds,
        says: &["2..9", "4 elements"],
    },
    Case {
        row: 30,
        mistake: "bytes that are not a multiple of the element size",
        make: |rig| rig.four.slice(..3).cast::<u64>().map(drop),
        is: Error::is_out_of_bounds,
        says: &["u32", "u64", "12 bytes", "element size, 8", "slice the view first"],
    },
    Case {
        row: 31,
        mistake: "more device memory than can be addressed",
        make: |rig| DeviceBuffer::<u64>::uninit(&rig.stream, usize::MAX / 4).map(drop),
        is: is_capacity,
        says: &["4611686018427387903 elements of 8 bytes", "18446744073709551615", "help: check the length"],
    },
    Case {
        row: 31,
        mistake: "more pinned memory than can be addressed",
        make: |rig| PinnedBuffer::<u64>::zeroed(&rig.ctx, usize::MAX / 4, PinnedFlags::empty()).map(drop),
        is: is_capacity,
        says: &["elements of 8 bytes", "18446744073709551615", "help: check the length"],
    },
    Case {
        row: 31,
        mistake: "more managed memory than can be addressed",
        make: |rig| ManagedBuffer::<u64>::uninit(&rig.ctx, usize::MAX / 4, ManagedAttach::Global).map(drop),
        is: is_capacity,
        says: &["elements of 8 bytes", "18446744073709551615", "help: check the length"],
    },
    Case {
        row: 31,
        mistake: "more rows than can be addressed",
        make: |rig| PitchedBuffer::<u64>::uninit(&rig.stream, usize::MAX / 2, 4).map(drop),
        is: is_capacity,
        says: &["elements of 8 bytes", "18446744073709551615", "help: check the length"],
    },
    Case {
        row: 31,
        mistake: "more memory than the device has",
        make: |rig| DeviceBuffer::<u64>::uninit(&rig.stream, 1 << 47).map(drop),
        is: Error::is_out_of_memory,
        says: &["cuMemAllocAsync", "1125899906842624 bytes", "help: free device memory, or request less"],
    },
    Case {
        row: 33,
        mistake: "pinned memory of a graph looked at by the host",
        make: |rig| {
            let pinned = rig.pinned(4);
            let Rig { ctx, four, .. } = rig;
            let _graph =
                CudaGraph::capture(ctx, LOCAL, |stream| four.view_mut().copy_from_pinned(stream, &pinned))?;
            pinned.as_slice().map(drop)
        },
        is: Error::is_host_access,
        says: &["graph", "at any time", "help: drop it first"],
    },
    Case {
        row: 37,
        mistake: "a buffer on a stream of another context",
        make: |rig| rig.four.to_host_vec(&rig.foreign).map(drop),
        is: Error::is_context_mismatch,
        says: &["buffer", "different contexts of device 0", "stream", "help: create both"],
    },
    Case {
        row: 37,
        mistake: "an event on a stream of another context",
        make: |rig| rig.ctx.new_event()?.record(&rig.foreign),
        is: Error::is_context_mismatch,
        says: &["event", "different contexts of device 0", "stream", "help: create both"],
    },
    Case {
        row: 37,
        mistake: "a module on a stream of another context",
        make: |rig| rig.launch(&rig.foreign.clone()),
        is: Error::is_context_mismatch,
        says: &["different contexts of device 0", "stream of the launch", "help: create both"],
    },
    Case {
        row: 37,
        mistake: "a wait of a stream for one of another context's memory",
        make: |rig| {
            let pinned = PinnedBuffer::<u32>::zeroed(rig.foreign.context(), 4, PinnedFlags::empty())?;
            rig.four.view_mut().copy_from_pinned(&rig.stream, &pinned)
        },
        is: Error::is_context_mismatch,
        says: &["different contexts of device 0", "help: create both"],
    },
    Case {
        row: 40,
        mistake: "a wait in a host function",
        make: |rig| {
            let stream = rig.stream.clone();
            rig.in_callback(move || stream.synchronize())
        },
        is: Error::is_in_host_callback,
        says: &[
            "cuStreamSynchronize",
            "inside a callback",
            "a host function",
            "help: let the callback only signal",
        ],
    },
    Case {
        row: 40,
        mistake: "an allocation in a host function",
        make: |rig| {
            let stream = rig.stream.clone();
            rig.in_callback(move || DeviceBuffer::<u32>::uninit(&stream, 4).map(drop))
        },
        is: Error::is_in_host_callback,
        says: &[
            "cuMemAllocAsync",
            "inside a callback",
            "a host function",
            "help: let the callback only signal",
        ],
    },
    Case {
        row: 40,
        mistake: "a panic in a host function",
        make: |rig| {
            rig.stream.call_host(|| std::panic::resume_unwind(Box::new("seven of nine")))?;
            rig.stream.synchronize()
        },
        is: Error::is_host_panic,
        says: &["host function of the stream panicked", "seven of nine", "help: the stream continued"],
    },
    Case {
        row: 41,
        mistake: "a wait in a capture",
        make: |rig| rig.captured(CudaStream::synchronize),
        is: Error::is_refused_in_capture,
        says: &["cuStreamSynchronize", "would break a capture", "help:"],
    },
    Case {
        row: 41,
        mistake: "an allocation in a capture",
        make: |rig| rig.captured(|stream| DeviceBuffer::<u32>::uninit(stream, 4).map(drop)),
        is: Error::is_refused_in_capture,
        says: &["cuMemAlloc", "would break a capture", "help:"],
    },
    Case {
        row: 41,
        mistake: "borrowed host memory in a capture",
        make: |rig| rig.captured(|stream| rig.four.to_host_vec(stream).map(drop)),
        is: Error::is_refused_in_capture,
        says: &["cuMemcpyDtoHAsync", "host memory that is borrowed", "help:"],
    },
    Case {
        row: 42,
        mistake: "a captured stream waits for an event outside",
        make: |rig| {
            let event = rig.ctx.new_event()?;
            event.record(&rig.stream)?;
            rig.captured(|stream| stream.wait(&event))
        },
        is: Error::is_capture_error,
        says: &["cuStreamWaitEvent", "stream 0x", "help: inside a capture fork the captured stream"],
    },
    Case {
        row: 42,
        mistake: "a stream of a capture that is over",
        make: |rig| {
            let mut kept = None;
            rig.captured(|stream| {
                kept = Some(stream.clone());
                Ok(())
            })?;
            kept.unwrap().synchronize()
        },
        is: Error::is_capture_error,
        says: &["stream 0x", "a capture that has ended", "help: use a stream of the context"],
    },
    Case {
        row: 42,
        mistake: "a capture that another thread ends",
        make: |rig| {
            let stream = rig.ctx.new_stream()?;
            let captured = unsafe { stream.begin_capture(LOCAL) }?;
            let end = || unsafe { stream.end_capture() }.map(drop);
            let answer = std::thread::scope(|scope| scope.spawn(end).join().unwrap());
            drop(captured);
            // Ends it, where the driver has not.
            let _ = end();
            answer
        },
        is: Error::is_capture_error,
        says: &["cuStreamEndCapture", "stream 0x", "help: the capture began on another thread"],
    },
    Case {
        row: 43,
        mistake: "the time since an event that was never recorded",
        make: |rig| {
            let (start, end) = (rig.ctx.new_timing_event()?, rig.ctx.new_timing_event()?);
            end.record(&rig.stream)?;
            start.elapsed_ms(&end).map(drop)
        },
        is: Error::is_event_not_ready,
        says: &["cuEventElapsedTime", "start event was never recorded", "help: call `record(&stream)`"],
    },
    Case {
        row: 43,
        mistake: "the time until an event that is not done",
        make: |rig| {
            let (start, end) = (rig.ctx.new_timing_event()?, rig.ctx.new_timing_event()?);
            start.record(&rig.stream)?;
            let held = alone::hold(&rig.stream);
            end.record(&rig.stream)?;
            let answer = start.elapsed_ms(&end).map(drop);
            drop(held);
            rig.stream.synchronize()?;
            answer
        },
        is: Error::is_event_not_ready,
        says: &["cuEventElapsedTime", "event is not done yet", "help: call `synchronize`"],
    },
];

/// Kernels with and without launch bounds, of one pointer.
const BOUNDED: &str = ".version 7.8
.target sm_90
.address_size 64
.visible .entry bounded(.param .u64 x) .maxntid 64, 4, 1 { ret; }
.visible .entry free(.param .u64 x) { ret; }";

/// A launch of one of them, with everything else as it should be.
fn one(rig: &mut Rig, kernel: &str, config: LaunchConfig, attributes: &[Attribute<'_>]) -> Result<(), Error> {
    let f = rig.ctx.load_module(BOUNDED)?.load_function(kernel)?;
    let (stream, four) = (&rig.stream, &rig.four);
    unsafe {
        cuda_launch! { function: f, stream: stream, config: config, args: [ptr(four)], attributes: attributes }
    }
}

/// Mistakes whose likely cause is another than the error of the driver, or its name, suggests.
const CAUSES: &[Case] = &[
    Case {
        row: 0,
        mistake: "a block that exceeds the kernel's own launch bounds",
        make: |rig| one(rig, "bounded", LaunchConfig::new((1, 1, 1), (512, 1, 1)), &[]),
        is: Error::is_launch_refused,
        says: &["bounded", "512", "at most 256", "compiled for no more", "larger launch bounds"],
    },
    Case {
        row: 0,
        mistake: "a slice for the bare pointer of a C kernel",
        make: |rig| {
            let f = rig.ctx.load_module(BOUNDED)?.load_function("free")?;
            let config = LaunchConfig::for_num_elems(4);
            let Rig { stream, four, .. } = rig;
            unsafe {
                cuda_launch! { function: f, stream: stream, config: config, args: [slice(four)] }
            }
        },
        is: Error::is_argument_mismatch,
        says: &["bare pointers", "`ptr(x)` or `ptr_mut(x)` instead of `slice(x)`", "`.ptr(&x)`"],
    },
    Case {
        row: 0,
        mistake: "a preferred cluster without the cluster that it stands in for",
        make: |rig| {
            let preferred = [Attribute::preferred_cluster_dimension((4, 1, 1))];
            one(rig, "free", LaunchConfig::new((8, 1, 1), (32, 1, 1)), &preferred)
        },
        is: Error::is_launch_refused,
        says: &["(4, 1, 1)", "`preferred_cluster_dimension` needs `cluster_dim`"],
    },
    Case {
        row: 0,
        mistake: "CUDA C++ where an image is expected",
        make: |rig| {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kernels/fill.cu");
            rig.ctx.load_module_from_file(path).map(drop)
        },
        is: Error::is_invalid_image,
        says: &[
            "fill.cu",
            "CUDA C++",
            "nvcc -ptx",
            "help: `load_kernel_file` compiles `.cu` (feature `nvrtc`)",
        ],
    },
    Case {
        row: 0,
        mistake: "LLVM IR where an image is expected",
        make: |rig| rig.ctx.load_module("; ModuleID = 'k'\n").map(drop),
        is: Error::is_invalid_image,
        says: &["image in memory", "LLVM IR", "libNVVM", "feature `nvvm`"],
    },
    Case {
        row: 0,
        mistake: "the name of a file for its content",
        make: |rig| rig.ctx.load_module("kernels/fill.ptx").map(drop),
        is: Error::is_invalid_image,
        says: &["image in memory", "a path, not the content of the file"],
    },
];

#[test]
fn every_mistake_has_its_error() {
    let _alone = alone::alone();
    let mut rig = Rig::new();
    for Case { row, mistake, make, is, says } in CASES.iter().chain(CAUSES) {
        let error = make(&mut rig).expect_err(mistake);
        let text = error.to_string();
        assert!(is(&error), "{row}, {mistake}: {text}");
        for part in *says {
            assert!(text.contains(part), "{row}, {mistake}: {part:?} is not in: {text}");
        }
        assert_eq!(
            rig.four.to_host_vec(&rig.stream).unwrap(),
            [1, 2, 3, 4],
            "{row}, {mistake}: nothing happened"
        );
    }
}

/// Rows 30 to 43 are here, one way or another.
#[test]
fn every_row_is_somewhere() {
    let mut rows: BTreeSet<u32> = CASES.iter().map(|case| case.row).collect();
    let head = include_str!("misuse.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
    rows.extend(head.filter_map(|line| line.split_once(':')?.0.parse::<u32>().ok()));
    // `nothing_is_no_mistake`, `no_call_needs_a_context_that_is_current`, `a_fork_is_told`
    rows.extend([32, 38, 39]);
    assert_eq!(rows, (30..=43).collect());
}

/// Row 32: no elements are fine everywhere, and no driver call.
#[test]
fn nothing_is_no_mistake() {
    let _alone = alone::alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    spies::watch(&spy);
    let mut empty = DeviceBuffer::<u32>::uninit(&stream, 0).unwrap();
    let mut pinned = PinnedBuffer::<u32>::zeroed(&ctx, 0, PinnedFlags::empty()).unwrap();
    let other = DeviceBuffer::from_host(&stream, &[0u32; 0]).unwrap();
    empty.copy_from_host(&stream, &[]).unwrap();
    empty.view_mut().copy_from_device(&stream, &other).unwrap();
    empty.view_mut().copy_from_pinned(&stream, &pinned).unwrap();
    empty.view().copy_to_pinned(&stream, &mut pinned).unwrap();
    empty.view_mut().set_zero(&stream).unwrap();
    empty.view_mut().fill(&stream, 3).unwrap();
    assert!(empty.to_host_vec(&stream).unwrap().is_empty());
    drop((empty, other, pinned));
    let work: Vec<_> = spy.calls().names().into_iter().filter(|name| name.starts_with("cuMem")).collect();
    assert!(work.is_empty(), "{work:?}");
}

/// Row 38, and what cudarc leaves to the caller: every thread may call everything.
#[test]
fn no_call_needs_a_context_that_is_current() {
    let _alone = alone::alone();
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let module = ctx.load_module(GLOBALS).unwrap();
    let fill = module.load_function("fill_table").unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    let graph = CudaGraph::new(&ctx).unwrap();
    type Call<'a> = (&'static str, Box<dyn FnOnce() -> Result<(), Error> + Send + 'a>);
    let calls: Vec<Call<'_>> = vec![
        ("load_module", Box::new(|| ctx.load_module(FILL).map(drop))),
        ("load_function", Box::new(|| module.load_function("fill_table").map(drop))),
        ("global", Box::new(|| module.global::<f32>("table").map(drop))),
        ("kernels", Box::new(|| module.kernels().map(drop))),
        ("max_active_blocks", Box::new(|| fill.max_active_blocks(128, 0).map(drop))),
        ("max_potential_block_size", Box::new(|| fill.max_potential_block_size(0).map(drop))),
        ("registers", Box::new(|| fill.registers().map(drop))),
        ("set_max_dynamic_shared_memory", Box::new(|| fill.set_max_dynamic_shared_memory(1024))),
        ("set_cache_config", Box::new(|| fill.set_cache_config(CacheConfig::PREFER_L1))),
        ("to_host_vec", Box::new(|| buffer.to_host_vec(&stream).map(drop))),
        ("zeroed", Box::new(|| DeviceBuffer::<u8>::zeroed(&stream, 9).map(drop))),
        ("pinned", Box::new(|| PinnedBuffer::<u8>::zeroed(&ctx, 9, PinnedFlags::empty()).map(drop))),
        ("managed", Box::new(|| ManagedBuffer::<u8>::uninit(&ctx, 9, ManagedAttach::Global).map(drop))),
        ("instantiate", Box::new(|| graph.instantiate(InstantiateFlags::empty()).map(drop))),
        ("memory_info", Box::new(|| ctx.memory_info().map(drop))),
        ("synchronize", Box::new(|| ctx.synchronize())),
    ];
    for (name, call) in calls {
        let answer = std::thread::scope(|scope| scope.spawn(call).join().unwrap());
        answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    std::thread::spawn(move || drop((graph, buffer, fill, module, stream))).join().unwrap();
    ctx.synchronize().unwrap();
}

/// Row 39, in a process of its own: CUDA does not survive a fork, and the error says so.
#[cfg(unix)]
#[test]
fn a_fork_is_told() {
    const NAME: &str = "a_fork_is_told";
    if !cuda_harness::child::is_child(NAME) {
        let ended = cuda_harness::child::run(NAME).unwrap();
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        for part in [": process ", "was forked from process", "help: fork before the first CUDA call"] {
            assert!(ended.stdout.contains(part), "{}{}", ended.stdout, ended.stderr);
        }
        return;
    }
    unsafe extern "C" {
        safe fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        safe fn _exit(code: i32) -> !;
    }
    let ctx = CudaContext::new(0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let process = fork();
    if process == 0 {
        let told = [
            ctx.memory_info().map(drop),
            stream.synchronize(),
            ctx.new_stream().map(drop),
            CudaContext::new(0).map(drop),
        ];
        let forked = told.iter().all(|answer| answer.as_ref().is_err_and(Error::is_forked));
        println!("{}", told[0].as_ref().map_or_else(ToString::to_string, |()| "no error".into()));
        // Dropping answers nothing, and does not hang.
        drop((stream, ctx));
        _exit(i32::from(!forked));
    }
    let mut status = 0;
    assert_eq!(unsafe { waitpid(process, &mut status, 0) }, process);
    assert_eq!(status, 0, "the fork was told by every call");
    ctx.synchronize().expect("the parent works on");
}

/// Enums of the driver are open: a newer one may answer what nobody has heard of.
#[test]
fn answers_that_nobody_knows_are_passed_on() {
    let _alone = alone::alone();
    let (spy, ctx) = spies::spied();
    spies::fail_from(&spy, 1, CUresult(12_345));
    let error = ctx.memory_info().unwrap_err();
    spies::watch(&spy);
    assert_eq!(error.code(), Some(CUresult(12_345)));
    assert!(error.to_string().contains("12345"), "{error}");
    let status = CaptureStatus::from(cuda_launch::sys::CUstreamCaptureStatus(77));
    assert_eq!(status, CaptureStatus::Other(77));
    // Flags are sets, with room for more.
    let flags = EventFlags::BLOCKING_SYNC | EventFlags::from_bits_retain(1 << 20);
    assert!(flags.contains(EventFlags::BLOCKING_SYNC));
}

/// No error is parked: a failed drop or call is no business of the next one.
#[test]
fn an_error_stays_with_the_call_that_has_it() {
    let _alone = alone::alone();
    let (spy, ctx) = spies::spied();
    let stream = ctx.new_stream().unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
    spies::fail_from(&spy, 1, CUresult::CUDA_ERROR_UNKNOWN);
    drop(buffer);
    assert!(ctx.memory_info().is_err());
    spies::watch(&spy);
    ctx.memory_info().unwrap();
    assert_eq!(DeviceBuffer::from_host(&stream, &[7u32]).unwrap().to_host_vec(&stream).unwrap(), [7]);
}
