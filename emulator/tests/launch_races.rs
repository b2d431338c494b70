//! Races between launches, copies and fills: each fault beside a correct twin, which the check must be silent about.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "launch_races_support/mod.rs"]
mod races;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use races::*;
use std::ptr::null_mut;
use support::graphs::{graph, instantiate};
use support::*;

#[test]
fn two_kernels_on_two_streams() {
    for ordered in [true, false] {
        let setup = setup();
        let (a, b, p, q) = (setup.stream(), setup.stream(), setup.words(), setup.words());
        setup.put(a, p, 1);
        if ordered {
            setup.order(a, b);
        }
        setup.shift(b, q, p);
        match ordered {
            true => setup.assert_silent("ordered"),
            false => {
                let finding = setup.assert_race("unordered", ["put", "move"]);
                let text = finding.to_string();
                assert!(text.starts_with("race between `"), "{text}");
                assert!(text.contains("on 128 bytes of global memory at 0x"), "{text}");
                assert!(text.contains("of 128 bytes, at offset 0: "), "{text}");
                assert!(
                    text.contains("write by block (0, 0, 0), thread (")
                        && text.contains("PTX line 8, of kernel `put` in stream 0x"),
                    "{text}"
                );
                assert!(text.contains("PTX line 15, of kernel `move` in stream 0x"), "{text}");
                assert!(text.contains("`cuStreamWaitEvent`"), "{text}");
            }
        }
    }
}

#[test]
fn readers_do_not_race() {
    let setup = setup();
    let (a, b) = (setup.stream(), setup.stream());
    let (p, q, r) = (setup.zeroes(), setup.words(), setup.words());
    setup.shift(a, q, p);
    setup.shift(b, r, p);
    setup.put(a, q, 3);
    setup.put(b, r, 4);
    setup.assert_silent("readers");
}

#[test]
fn an_event_recorded_before_the_work() {
    let setup = setup();
    let (a, b, p, event) = (setup.stream(), setup.stream(), setup.words(), setup.event());
    setup.record(event, a);
    setup.put(a, p, 1);
    setup.wait(b, event);
    setup.put(b, p, 2);
    setup.assert_race("early", ["put", "put"]);
    // The other way around.
    setup.put(a, p, 3);
    setup.record(event, a);
    setup.wait(b, event);
    setup.put(b, p, 4);
    setup.assert_silent("late");
}

#[test]
fn an_event_that_is_over_still_orders_only_what_is_before_it() {
    let setup = setup();
    let (a, b, p, event) = (setup.stream(), setup.stream(), setup.words(), setup.event());
    setup.put(a, p, 1);
    setup.record(event, a);
    // The emulator is done, though the program does not know.
    std::thread::sleep(std::time::Duration::from_millis(20));
    setup.wait(b, event);
    setup.put(b, p, 2);
    setup.assert_silent("waited for");
    setup.put(a, p, 3);
    std::thread::sleep(std::time::Duration::from_millis(20));
    setup.put(b, p, 4);
    setup.assert_race("only done by chance", ["put", "put"]);
}

#[test]
fn a_kernel_and_a_copy() {
    for ordered in [true, false] {
        let setup = setup();
        let (a, b, p, host) = (setup.stream(), setup.stream(), setup.words(), setup.pinned());
        setup.put(a, p, 1);
        if ordered {
            setup.order(a, b);
        }
        ok(unsafe { setup.cuda.cuMemcpyDtoHAsync(host.cast(), p, BYTES, b) });
        match ordered {
            true => setup.assert_silent("to the host, ordered"),
            false => {
                let text = setup.assert_race("to the host", ["put", "cuMemcpyDtoHAsync_v2"]).to_string();
                assert!(text.contains("read by `cuMemcpyDtoHAsync_v2` in stream 0x"), "{text}");
            }
        }
        ok(unsafe { setup.cuda.cuMemcpyHtoDAsync(p, host.cast(), BYTES, a) });
        if ordered {
            setup.synchronize_stream(a);
        }
        setup.put(b, p, 2);
        match ordered {
            true => setup.assert_silent("from the host, ordered"),
            false => drop(setup.assert_race("from the host", ["put", "cuMemcpyHtoDAsync_v2"])),
        }
    }
}

#[test]
fn a_copy_from_pageable_memory() {
    let setup = setup();
    let (b, p, host) = (setup.stream(), setup.words(), [7_u32; WORDS]);
    ok(unsafe { setup.cuda.cuMemcpyHtoDAsync(p, host.as_ptr().cast(), BYTES, setup.stream()) });
    setup.put(b, p, 1);
    setup.assert_race("asynchronous", ["put", "cuMemcpyHtoDAsync_v2"]);
    ok(unsafe { setup.cuda.cuMemcpyHtoD(p, host.as_ptr().cast(), BYTES) });
    setup.put(b, p, 1);
    setup.assert_silent("synchronous");
}

#[test]
fn a_fill_and_a_kernel() {
    let setup = setup();
    let (a, b, p) = (setup.stream(), setup.stream(), alloc(&setup.cuda, 2 * BYTES));
    ok(unsafe { setup.cuda.cuMemsetD32Async(p, 0, WORDS, a) });
    setup.count(b, p);
    setup.assert_race("unordered", ["count", "cuMemsetD32Async"]);
    ok(unsafe { setup.cuda.cuMemsetD32Async(p, 0, WORDS, a) });
    setup.order(a, b);
    setup.count(b, p);
    setup.assert_silent("ordered");
    // Rows with gaps, which the kernel writes.
    ok(unsafe { setup.cuda.cuMemsetD2D8Async(p, BYTES + 4, 1, 4, 2, a) });
    setup.put(b, p + 4, 1);
    setup.assert_silent("between the rows");
    ok(unsafe { setup.cuda.cuMemsetD2D8Async(p, BYTES, 1, 4, 2, a) });
    setup.put(b, p + 4 * 32, 1);
    let finding = setup.assert_race("the second row", ["put", "cuMemsetD2D8Async"]);
    assert_eq!(finding.bytes.map(|bytes| bytes.count), Some(4));
}

#[test]
fn a_fill_without_a_stream_is_not_waited_for() {
    let setup = setup();
    let (b, p) = (setup.stream(), setup.words());
    ok(unsafe { setup.cuda.cuMemsetD8(p, 0, BYTES) });
    setup.put(b, p, 1);
    setup.assert_race("a stream that does not wait", ["put", "cuMemsetD8_v2"]);
    let blocking = stream(&setup.cuda, 0);
    ok(unsafe { setup.cuda.cuMemsetD8(p, 0, BYTES) });
    setup.put(blocking, p, 1);
    setup.assert_silent("one that does");
    let mut managed = 0;
    ok(unsafe { setup.cuda.cuMemAllocManaged(&mut managed, BYTES, 1) });
    ok(unsafe { setup.cuda.cuMemsetD8(managed, 0, BYTES) });
    setup.put(b, managed, 1);
    setup.assert_silent("managed memory is filled when the call returns");
}

#[test]
fn the_legacy_stream_orders_blocking_streams_alone() {
    let setup = setup();
    let (a, b) = (stream(&setup.cuda, 0), stream(&setup.cuda, 0));
    let (other, p) = (setup.stream(), setup.words());
    setup.put(a, p, 1);
    setup.put(null_mut(), p, 2);
    setup.put(b, p, 3);
    setup.put(null_mut(), p, 4);
    setup.assert_silent("blocking");
    setup.put(a, p, 1);
    setup.put(b, p, 2);
    setup.assert_race("two blocking streams", ["put", "put"]);
    setup.put(other, p, 1);
    setup.put(null_mut(), p, 2);
    setup.assert_race("a non-blocking stream", ["put", "put"]);
    // By way of the legacy stream, though that does nothing of its own with the memory.
    let q = setup.words();
    setup.put(a, p, 1);
    setup.put(null_mut(), q, 2);
    setup.put(b, p, 3);
    setup.assert_silent("between two");
}

#[test]
fn what_the_host_knows_orders() {
    let setup = setup();
    let (a, b, p, event) = (setup.stream(), setup.stream(), setup.words(), setup.event());
    setup.put(a, p, 1);
    setup.synchronize_stream(a);
    setup.put(b, p, 2);
    setup.record(event, b);
    ok(unsafe { setup.cuda.cuEventSynchronize(event) });
    setup.put(a, p, 3);
    while unsafe { setup.cuda.cuStreamQuery(a) } != CUresult::SUCCESS {}
    setup.put(b, p, 4);
    setup.record(event, b);
    while unsafe { setup.cuda.cuEventQuery(event) } != CUresult::SUCCESS {}
    setup.put(a, p, 5);
    setup.synchronize();
    setup.put(b, p, 6);
    read(&setup.cuda, setup.words(), 4);
    setup.assert_silent("waited");
    setup.put(b, p, 7);
    // Another stream's end says nothing.
    setup.synchronize_stream(a);
    setup.put(a, p, 8);
    setup.assert_race("another stream", ["put", "put"]);
}

#[test]
fn host_functions_order_what_the_host_does_then() {
    let setup = setup();
    let (a, b, p) = (setup.stream(), setup.stream(), setup.words());
    let (sender, receiver) = std::sync::mpsc::channel();
    setup.put(a, p, 1);
    ok(host_function(&setup.cuda, a, move || sender.send(()).unwrap()));
    receiver.recv().unwrap();
    setup.put(b, p, 2);
    // And what the host has waited for before the function returns is before what comes behind it.
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    ok(host_function(&setup.cuda, a, move || receiver.recv().unwrap()));
    setup.put(a, p, 3);
    setup.synchronize_stream(b);
    sender.send(()).unwrap();
    setup.assert_silent("told");
    let (sender, receiver) = std::sync::mpsc::channel();
    ok(callback(&setup.cuda, a, move |_| sender.send(()).unwrap()));
    setup.put(a, p, 4);
    receiver.recv().unwrap();
    setup.put(b, p, 5);
    setup.assert_race("behind the callback", ["put", "put"]);
}

#[test]
fn memory_freed_in_one_stream_and_read_in_another() {
    for ordered in [true, false] {
        let setup = setup();
        let (a, b, q) = (setup.stream(), setup.stream(), setup.pinned().cast::<u32>());
        let mut p = 0;
        ok(unsafe { setup.cuda.cuMemAllocAsync(&mut p, BYTES, a) });
        setup.put(a, p, 1);
        setup.order(a, b);
        setup.shift(b, q.addr() as u64, p);
        if ordered {
            setup.order(b, a);
        } else {
            // So that the reads come first here: otherwise they are a fault. Ordinary stores tell the host nothing.
            let words = || (0..WORDS).map(|at| unsafe { q.add(at).read_volatile() });
            while words().any(|word| word == 0) {
                std::thread::yield_now();
            }
        }
        ok(unsafe { setup.cuda.cuMemFreeAsync(p, a) });
        // The next allocation may be at the same place.
        ok(unsafe { setup.cuda.cuMemAllocAsync(&mut p, BYTES, b) });
        setup.put(b, p, 1);
        match ordered {
            true => setup.assert_silent("ordered"),
            false => {
                let text = setup.assert_race("unordered", ["cuMemFreeAsync", "move"]).to_string();
                assert!(text.contains("free by `cuMemFreeAsync` in stream 0x"), "{text}");
            }
        }
    }
}

#[test]
fn memory_that_was_freed_has_no_past() {
    let setup = setup();
    let (a, b) = (setup.stream(), setup.stream());
    for stream in [a, b, a, b] {
        let mut p = 0;
        ok(unsafe { setup.cuda.cuMemAllocAsync(&mut p, BYTES, stream) });
        setup.put(stream, p, 1);
        ok(unsafe { setup.cuda.cuMemFreeAsync(p, stream) });
    }
    setup.assert_silent("reused");
}

#[test]
fn a_copy_between_two_devices() {
    for ordered in [true, false] {
        let setup = setup_of(2);
        let (a, p) = (setup.stream(), setup.words());
        let mut other = null_mut();
        ok(unsafe { setup.cuda.cuCtxCreate(&mut other, null_mut(), 0, 1) });
        let (b, q) = (setup.stream(), setup.words());
        ok(unsafe { setup.cuda.cuCtxSetCurrent(setup.context) });
        setup.put(a, p, 1);
        if ordered {
            setup.order(a, b);
        }
        ok(unsafe { setup.cuda.cuMemcpyPeerAsync(q, other, p, setup.context, BYTES, b) });
        ok(unsafe { setup.cuda.cuCtxSetCurrent(other) });
        setup.synchronize();
        ok(unsafe { setup.cuda.cuCtxSetCurrent(setup.context) });
        match ordered {
            true => setup.assert_silent("ordered"),
            false => drop(setup.assert_race("unordered", ["put", "cuMemcpyPeerAsync"])),
        }
    }
}

#[test]
fn nodes_of_a_graph_without_an_edge() {
    let setup = setup();
    let (a, p, q) = (setup.stream(), setup.words(), setup.words());
    for (edges, kind) in [(true, "edges"), (false, "no edges")] {
        let graph = graph(&setup.cuda);
        let first = setup.node(graph, &[], p, p);
        // The one that races comes first: no number that the other one has may stand for it.
        let [right, left] = [setup.node(graph, &[first], p, p), setup.node(graph, &[first], q, q)];
        let before = if edges { vec![left, right] } else { vec![left] };
        setup.node(graph, &before, p, p);
        let exec = instantiate(&setup.cuda, graph);
        setup.launch_graph(exec, a);
        setup.put(a, q, 5);
        setup.launch_graph(exec, a);
        match edges {
            true => setup.assert_silent(kind),
            false => {
                let finding = setup.assert_race(kind, ["mix", "mix"]);
                assert_eq!(finding.times, 2, "in each launch");
                let text = finding.to_string();
                assert!(text.contains("in a graph in stream 0x") && text.contains("add an edge"), "{text}");
            }
        }
    }
}

#[test]
fn two_graphs_on_two_streams() {
    let setup = setup();
    let (a, b, p) = (setup.stream(), setup.stream(), setup.words());
    let execs = [(); 2].map(|()| {
        let graph = graph(&setup.cuda);
        setup.node(graph, &[], p, p);
        instantiate(&setup.cuda, graph)
    });
    setup.launch_graph(execs[0], a);
    setup.order(a, b);
    setup.launch_graph(execs[1], b);
    // Launches of one graph are in order.
    setup.launch_graph(execs[1], a);
    setup.assert_silent("ordered");
    setup.launch_graph(execs[0], a);
    setup.launch_graph(execs[1], b);
    let text = setup.assert_race("unordered", ["mix", "mix"]).to_string();
    assert!(text.contains("`cuStreamWaitEvent`"), "{text}");
    setup.launch_graph(execs[0], a);
    setup.put(b, p, 9);
    setup.assert_race("beside a kernel", ["mix", "put"]);
}

#[test]
fn a_captured_fork_that_is_joined_too_late() {
    for late in [false, true] {
        let setup = setup();
        let (a, b, p) = (setup.stream(), setup.stream(), setup.words());
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        ok(unsafe { setup.cuda.cuStreamBeginCapture(a, mode) });
        let (fork, join, mut graph) = (setup.event(), setup.event(), null_mut());
        setup.record(fork, a);
        setup.wait(b, fork);
        setup.put(b, p, 1);
        setup.record(join, b);
        if late {
            setup.put(a, p, 2);
        }
        setup.wait(a, join);
        setup.put(a, p, 3);
        ok(unsafe { setup.cuda.cuStreamEndCapture(a, &mut graph) });
        let exec = instantiate(&setup.cuda, graph);
        setup.launch_graph(exec, a);
        match late {
            false => setup.assert_silent("joined"),
            true => drop(setup.assert_race("too late", ["put", "put"])),
        }
    }
}

#[test]
fn events_of_graphs() {
    for ordered in [true, false] {
        let setup = setup();
        let (a, b, p, q) = (setup.stream(), setup.stream(), setup.words(), setup.words());
        let (event, graph) = (setup.event(), graph(&setup.cuda));
        let stored = setup.node(graph, &[], p, p);
        let mut recorded = null_mut();
        let after = if ordered { &[stored][..] } else { &[] };
        let cuda = &setup.cuda;
        ok(unsafe {
            cuda.cuGraphAddEventRecordNode(&mut recorded, graph, after.as_ptr(), after.len(), event)
        });
        // A branch that nobody waits for.
        setup.node(graph, &[], q, q);
        let exec = instantiate(&setup.cuda, graph);
        setup.launch_graph(exec, a);
        setup.wait(b, event);
        setup.put(b, p, 3);
        match ordered {
            true => setup.assert_silent("ordered"),
            false => drop(setup.assert_race("recorded beside", ["mix", "put"])),
        }
    }
}

#[test]
fn values_in_memory_order_streams() {
    for awaited in [true, false] {
        let setup = setup();
        let (a, b, p, flag) = (setup.stream(), setup.stream(), setup.words(), setup.zeroes());
        let geq = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ.0;
        let wait = || ok(unsafe { setup.cuda.cuStreamWaitValue32(b, flag, 1, geq) });
        if awaited {
            wait();
        }
        setup.put(b, p, 1);
        if !awaited {
            wait();
        }
        let busy = Busy::new(&setup.cuda, a);
        drop(busy);
        setup.put(a, p, 2);
        ok(unsafe { setup.cuda.cuStreamWriteValue32(a, flag, 1, 0) });
        match awaited {
            true => setup.assert_silent("awaited"),
            false => drop(setup.assert_race("awaited too late", ["put", "put"])),
        }
        // A kernel's store lets a stream go on, too.
        ok(unsafe { setup.cuda.cuStreamWaitValue32(b, flag, 77, geq) });
        setup.put(b, p, 3);
        setup.put(a, p, 4);
        setup.put(a, flag, 77);
        setup.assert_silent("by a kernel");
    }
}

#[test]
fn a_batch_is_under_way_while_it_waits() {
    let setup = setup();
    let (a, b, p, host) = (setup.stream(), setup.stream(), setup.words(), setup.pinned());
    unsafe { host.write_bytes(7, BYTES) };
    let equal = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ.0;
    let (write, wait) = (
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32,
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32,
    );
    for _ in 0..20 {
        // The kernel waits for the first flag, and what it reads is what the batch waits for.
        let (flag, next) = (setup.zeroes(), setup.zeroes());
        ok(unsafe { setup.cuda.cuMemcpyHtoDAsync(p, host.cast(), BYTES, a) });
        let mut batch =
            [(write, flag, 1, 0), (wait, next, 0x0707_0707, equal)].map(|(of, at, value, flags)| {
                CUstreamBatchMemOpParams { pad: [of.0.into(), at, value, flags.into(), 0, 0] }
            });
        ok(unsafe { setup.cuda.cuStreamBatchMemOp(a, 2, batch.as_mut_ptr(), 0) });
        setup.receive(b, flag, p, next);
        setup.assert_silent("by way of the first flag");
    }
}

#[test]
fn flags_order_kernels() {
    let setup = setup();
    let [a, b, c] = [(); 3].map(|()| setup.stream());
    let (data, out) = (setup.zeroes(), setup.words());
    let (flag, next) = (setup.zeroes(), setup.zeroes());
    setup.receive(b, flag, data, out);
    setup.shift(b, out, data);
    setup.send(a, data, flag);
    setup.assert_silent("two kernels, and what comes behind one of them");
    // By way of a third one, which knows nothing of the data.
    ok(unsafe { setup.cuda.cuMemsetD8(flag, 0, BYTES) });
    setup.synchronize();
    setup.receive(b, next, data, out);
    setup.pass(c, flag, next);
    setup.send(a, data, flag);
    setup.assert_silent("three kernels");
    setup.receive(b, next, data, out);
    setup.put(a, data, 9);
    setup.assert_race("a flag that was there before", ["put", "receive"]);
}

#[test]
fn a_flag_for_the_host() {
    let setup = setup();
    let (a, b, p) = (setup.stream(), setup.stream(), setup.zeroes());
    let pinned = setup.pinned();
    let flag = pinned.cast::<u32>();
    let is_raised = || {
        unsafe { std::sync::atomic::AtomicU32::from_ptr(flag) }.load(std::sync::atomic::Ordering::Acquire)
            == 1
    };
    setup.put(a, p, 5);
    setup.send(a, p, pinned.addr() as u64);
    while !is_raised() {
        std::thread::yield_now();
    }
    setup.put(b, p, 1);
    setup.assert_silent("the host has seen the flag");
    setup.put(a, p, 5);
    setup.put(b, p, 1);
    setup.assert_race("nobody has looked", ["put", "put"]);
}

#[test]
fn atomics_of_two_kernels_are_no_race() {
    let setup = setup();
    let (a, b, p) = (setup.stream(), setup.stream(), setup.zeroes());
    setup.count(a, p);
    setup.count(b, p);
    setup.assert_silent("atomics");
    let mut word = [0];
    word.copy_from_slice(&read(&setup.cuda, p, 4)[..1]);
    assert_eq!(word, [64]);
    setup.count(a, p);
    setup.put(b, p, 1);
    setup.assert_race("beside a store", ["put", "count"]);
}

#[test]
fn a_context_is_waited_for_as_a_whole() {
    let setup = setup();
    let (a, b, p, event) = (setup.stream(), setup.stream(), setup.words(), setup.event());
    setup.put(a, p, 1);
    ok(unsafe { setup.cuda.cuCtxRecordEvent(setup.context, event) });
    setup.wait(b, event);
    setup.put(b, p, 2);
    setup.record(event, b);
    ok(unsafe { setup.cuda.cuCtxWaitEvent(setup.context, event) });
    setup.put(a, p, 3);
    setup.assert_silent("events of contexts");
}

#[test]
fn a_race_after_many_launches() {
    let setup = setup();
    let (a, b) = (setup.stream(), setup.stream());
    let (p, q) = (setup.words(), setup.words());
    for value in 0..300 {
        setup.put(a, p, value);
        setup.put(b, q, value);
    }
    setup.put(b, p, 1000);
    setup.assert_race("the last one", ["put", "put"]);
}

#[test]
fn one_that_races_with_many() {
    const MANY: usize = 3000;
    let setup = setup();
    let (a, b, mut host) = (setup.stream(), setup.stream(), null_mut());
    let p = alloc(&setup.cuda, MANY * BYTES);
    ok(unsafe { setup.cuda.cuMemHostAlloc(&mut host, MANY * BYTES, 0) });
    (0..MANY).for_each(|at| setup.put(a, p + (at * BYTES) as u64, 1));
    ok(unsafe { setup.cuda.cuMemcpyDtoHAsync(host, p, MANY * BYTES, b) });
    let found = setup.findings();
    assert!((1..=2).contains(&found.len()), "those before it and those behind it: {found:?}");
    assert_eq!(found.iter().map(|finding| finding.times).sum::<u64>(), MANY as u64);
}

#[test]
fn a_flag_that_the_host_copies() {
    let setup = setup();
    let (a, b, c) = (setup.stream(), setup.stream(), setup.stream());
    let (p, flag, host) = (setup.zeroes(), setup.zeroes(), setup.pinned());
    setup.send(a, p, flag);
    while unsafe { host.read_volatile() } == 0 {
        ok(unsafe { setup.cuda.cuMemcpyDtoHAsync(host.cast(), flag, 4, c) });
        setup.synchronize_stream(c);
    }
    setup.put(b, p, 1);
    setup.assert_silent("the host has seen a copy of the flag");
}

#[test]
fn a_kernel_that_begins_early() {
    let setup = setup();
    let (a, p, q) = (setup.stream(), setup.words(), setup.words());
    setup.early(a, p);
    setup.launch_early("late", a, p);
    setup.put(a, p, 1);
    setup.assert_silent("it waits");
    setup.put(a, p, 2);
    setup.launch_early("put", a, p);
    setup.assert_silent("the first one does not let it begin");
    setup.early(a, p);
    setup.order(a, a);
    setup.launch_early("put", a, p);
    setup.assert_silent("the stream waits for something else in between");
    setup.early(a, p);
    setup.launch_early("put", a, q);
    setup.put(a, q, 1);
    setup.assert_silent("other memory, and an ordinary kernel behind both");
    setup.early(a, p);
    setup.launch_early("put", a, p);
    let text = setup.assert_race("it does not wait", ["early", "put"]).to_string();
    assert!(text.contains("griddepcontrol.wait"), "{text}");
}
