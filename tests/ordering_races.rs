//! Ordinary programs of several threads and streams, in safe code: halves of one buffer, weights that many streams read, arrays
//! that are shared, graphs. What comes out is what their order promises, also where the driver takes its time.
//!
//! One after another: a GPU's driver refuses a wait for the context while another test captures.

#![deny(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "safe_programs/pause.rs"]
#[allow(dead_code)] // This program uses a part of it.
mod pause;

use cuda_harness::{alone, skipped};
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::PinnedFlags;
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, PinnedBuffer};
use pause::Pace;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Rounds of each program; `CUDA_LAUNCH_RACES` sets another number.
fn rounds() -> u32 {
    std::env::var("CUDA_LAUNCH_RACES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

fn context() -> CudaContext {
    CudaContext::with_driver(&pause::driver(cuda_launch::default_driver().unwrap()), 0).unwrap()
}

/// How slow what a thread does next is: differs by threads and rounds. Each stream is busy for a moment at least, so that the threads
/// come to their calls at the same time.
fn pace(thread: usize, round: u32) -> Pace {
    let n = 7 * thread as u64 + u64::from(round);
    Pace { busy: 1 + 400 * (n % 3), pause: 100 * (n / 3 % 3) }
}

fn streams<const N: usize>(ctx: &CudaContext) -> [CudaStream; N] {
    std::array::from_fn(|_| ctx.new_stream().unwrap())
}

#[test]
fn halves_of_pinned_memory_are_written_by_two_threads() {
    let _alone = alone();
    const N: usize = 1 << 16;
    let ctx = context();
    let [a, b] = streams(&ctx);
    let mut pinned = PinnedBuffer::<u8>::zeroed(&ctx, 2 * N, PinnedFlags::empty()).unwrap();
    for round in 0..rounds() {
        let value = round as u8;
        let start = Barrier::new(2);
        let whole = pinned.device_view_mut();
        let (mut left, mut right) = whole.split_at(N);
        thread::scope(|scope| {
            for (thread, half, stream) in [(0, &mut left, &a), (1, &mut right, &b)] {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    pace(thread, round).set(stream).unwrap();
                    half.fill(stream, value).unwrap();
                });
            }
        });
        let seen = pinned.as_slice().unwrap();
        assert!(seen.iter().all(|byte| *byte == value), "round {round}: read before it was written");
    }
}

#[test]
fn weights_that_many_streams_read_are_written_and_freed_after_them() {
    let _alone = alone();
    const N: usize = 1 << 14;
    const READERS: usize = 12;
    let ctx = context();
    let readers: [CudaStream; READERS] = streams(&ctx);
    let [writer] = streams(&ctx);
    let mut copies: Vec<_> =
        readers.iter().map(|stream| DeviceBuffer::<u32>::zeroed(stream, N).unwrap()).collect();
    for round in 0..rounds() {
        let mut weights = DeviceBuffer::filled(&writer, N, round).unwrap();
        for again in 0..2 {
            let start = Barrier::new(READERS);
            thread::scope(|scope| {
                for (thread, (copy, stream)) in copies.iter_mut().zip(&readers).enumerate() {
                    let (weights, start) = (&weights, &start);
                    scope.spawn(move || {
                        start.wait();
                        pace(thread, round).set(stream).unwrap();
                        copy.view_mut().copy_from_device(stream, weights).unwrap();
                    });
                }
            });
            // After every one of them.
            weights.fill(&writer, u32::MAX - again).unwrap();
            let expected = if again == 0 { round } else { u32::MAX };
            for (copy, stream) in copies.iter().zip(&readers) {
                assert_eq!(copy.to_host_vec(stream).unwrap(), vec![expected; N], "round {round}");
            }
        }
        start_and_free(&mut copies, &readers, weights);
    }
}

/// All read the weights, which go while they do.
fn start_and_free(copies: &mut [DeviceBuffer<u32>], readers: &[CudaStream], weights: DeviceBuffer<u32>) {
    let weights = std::sync::Arc::new(weights);
    thread::scope(|scope| {
        for (copy, stream) in copies.iter_mut().zip(readers) {
            let weights = weights.clone();
            scope.spawn(move || copy.view_mut().copy_from_device(stream, &*weights).unwrap());
        }
        drop(weights);
    });
    for (copy, stream) in copies.iter().zip(readers) {
        assert!(copy.to_host_vec(stream).unwrap().iter().all(|x| *x == u32::MAX - 1));
    }
}

#[test]
fn an_array_is_read_after_what_another_thread_wrote_to_it() {
    let _alone = alone();
    const SIDE: usize = 64;
    let ctx = context();
    let shape = ArrayShape::D2 { width: SIDE, height: SIDE };
    let array = CudaArray::<u32>::new(&ctx, shape, ArrayFlags::empty()).unwrap();
    let [a, b, c] = streams(&ctx);
    for round in 0..rounds() {
        let start = Barrier::new(2);
        thread::scope(|scope| {
            for (stream, value) in [(&a, 2 * round), (&b, 2 * round + 1)] {
                let (array, start) = (array.clone(), &start);
                scope.spawn(move || {
                    start.wait();
                    array.copy_from_host(stream, &[value; SIDE * SIDE]).unwrap();
                });
            }
        });
        // Calls at the same time have no order: each element is of either.
        let seen = array.to_host_vec(&c).unwrap();
        assert!(seen.iter().all(|x| x / 2 == round), "round {round}: {:?}", &seen[..4]);
    }
}

#[test]
fn an_array_is_read_after_the_copies_of_two_threads() {
    let _alone = alone();
    if std::env::var_os("CUDA_LAUNCH_TEST_TSAN").is_some() {
        return skipped("copies to clones of one array have no order, which ThreadSanitizer would report");
    }
    const SIDE: usize = 64;
    let ctx = context();
    let shape = ArrayShape::D2 { width: SIDE, height: SIDE };
    let array = CudaArray::<u32>::new(&ctx, shape, ArrayFlags::empty()).unwrap();
    let sources = [(); 2].map(|()| CudaArray::<u32>::new(&ctx, shape, ArrayFlags::empty()).unwrap());
    let [a, b, c] = streams(&ctx);
    for round in 0..rounds() {
        let start = Barrier::new(2);
        for (source, value) in sources.iter().zip(2 * round..) {
            source.copy_from_host(&c, &[value; SIDE * SIDE]).unwrap();
        }
        thread::scope(|scope| {
            for (thread, (source, stream)) in sources.iter().zip([&a, &b]).enumerate() {
                let (array, start) = (array.clone(), &start);
                scope.spawn(move || {
                    start.wait();
                    pace(thread, round).set(stream).unwrap();
                    stream.copy_region(&source.as_source(), &mut array.as_target(), source.extent()).unwrap();
                });
            }
        });
        // Calls at the same time have no order: each element is of either. But both are done.
        let seen = array.to_host_vec(&c).unwrap();
        assert!(seen.iter().all(|x| x / 2 == round), "round {round}: {:?}", &seen[..4]);
        ctx.synchronize().unwrap();
        assert!(seen == array.to_host_vec(&c).unwrap(), "round {round}: it is written after it was read");
    }
}

#[test]
fn graphs_and_streams_of_two_threads_keep_their_order() {
    let _alone = alone();
    const N: usize = 1 << 12;
    let ctx = context();
    let [a, b, c] = streams(&ctx);
    let source = DeviceBuffer::filled(&a, N, 7u32).unwrap();
    let mut target = DeviceBuffer::<u32>::zeroed(&a, N).unwrap();
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        target.slice_mut(..N / 2).copy_from_device(stream, &source.slice(..N / 2))
    })
    .unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    for round in 0..rounds() {
        target.fill(&c, round).unwrap();
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                pace(0, round).set(&a).unwrap();
                exec.launch(&a).unwrap();
            });
            scope.spawn(|| {
                start.wait();
                pace(1, round).set(&b).unwrap();
                target.slice_mut(N / 2..).fill(&b, round + 1).unwrap();
            });
        });
        let seen = target.to_host_vec(&c).unwrap();
        let right = |half: &[u32], value: u32| half.iter().all(|x| *x == value);
        assert!(right(&seen[..N / 2], 7) && right(&seen[N / 2..], round + 1), "round {round}");
    }
}

/// Two graphs with a buffer in common, each of which writes it and reads it a while later: whichever launch is the first, each reads its own.
#[test]
fn launches_of_two_graphs_do_not_mix() {
    let _alone = alone();
    let ctx = context();
    let streams @ [a, _] = &streams(&ctx);
    let mut shared = DeviceBuffer::<u32>::zeroed(a, 16).unwrap();
    let mut seen = [0; 2].map(|_| DeviceBuffer::<u32>::zeroed(a, 16).unwrap());
    let mut execs = Vec::new();
    for (value, seen) in (1..).zip(&mut seen) {
        let mut graph = CudaGraph::new(&ctx).unwrap();
        let write = |s: &CudaStream| shared.view_mut().fill(s, value);
        let written = graph.capture_into(&[], CaptureMode::Relaxed, write).unwrap();
        let later = graph.add_host(&written, || thread::sleep(Duration::from_micros(200))).unwrap();
        let read = |s: &CudaStream| seen.view_mut().copy_from_device(s, &shared);
        graph.capture_into(&[later], CaptureMode::Relaxed, read).unwrap();
        execs.push(graph.instantiate(InstantiateFlags::empty()).unwrap());
    }
    ctx.synchronize().unwrap();
    for round in 0..2 * rounds() {
        let start = Barrier::new(2);
        thread::scope(|scope| {
            for (thread, (exec, stream)) in execs.iter_mut().zip(streams).enumerate() {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    pace(thread, round).set(stream).unwrap();
                    exec.launch(stream).unwrap();
                });
            }
        });
        let seen = seen.each_ref().map(|seen| seen.to_host_vec(a).unwrap()[0]);
        assert_eq!(seen, [1, 2], "round {round}");
    }
}

/// A graph that reads a buffer twice, beside a call that writes it: it sees one value.
#[test]
fn a_launch_does_not_mix_with_a_call_on_memory_of_its_graph() {
    let _alone = alone();
    let ctx = context();
    let [a, b] = streams(&ctx);
    let mut x = DeviceBuffer::<u32>::zeroed(&a, 16).unwrap();
    let [mut first, mut second] = [0; 2].map(|_| DeviceBuffer::<u32>::zeroed(&a, 16).unwrap());
    let mut graph = CudaGraph::new(&ctx).unwrap();
    let read = |s: &CudaStream| first.view_mut().copy_from_device(s, &x);
    let begun = graph.capture_into(&[], CaptureMode::Relaxed, read).unwrap();
    let later = graph.add_host(&begun, || thread::sleep(Duration::from_micros(200))).unwrap();
    let read = |s: &CudaStream| second.view_mut().copy_from_device(s, &x);
    graph.capture_into(&[later], CaptureMode::Relaxed, read).unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    ctx.synchronize().unwrap();
    for round in 0..2 * rounds() {
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                pace(0, round).set(&b).unwrap();
                x.view_mut().fill(&b, round).unwrap();
            });
            start.wait();
            pace(1, round).set(&a).unwrap();
            exec.launch(&a).unwrap();
        });
        let seen = [&first, &second].map(|seen| seen.to_host_vec(&a).unwrap());
        assert_eq!(seen[0], seen[1], "round {round}");
        b.synchronize().unwrap();
    }
}
