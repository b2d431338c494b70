//! Graphs that kernels launch (`tests/kernels/graph_launches.cu`): what runs, in which order, and what is refused, with the codes that an H200
//! with driver 580 answered on 2026-11-30.
//!
//! On a GPU (`CUDA_LAUNCH_DRIVER=system`) they need `lib64/libcudadevrt.a` in `CUDA_HOME`.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/device_graphs.rs"]
mod device_graphs;
#[path = "../../harness/src/skip.rs"]
mod skip;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::profile;
use device_graphs::*;
use std::ptr::{null, null_mut};
use support::graphs::graph;
use support::*;

#[test]
fn a_kernel_knows_the_graph_that_it_is_in() {
    let kernels = Kernels::new();
    let out = kernels.zeros(2);
    let told = |exec: CUgraphExec| {
        write(&kernels.cuda, out, &[0xee; 8]);
        kernels.run(exec);
        u64::from_ne_bytes(read(&kernels.cuda, out, 8).try_into().unwrap())
    };
    let (of_host, on_device) =
        (kernels.of_host("current", values!(out)), kernels.on_device("current", values!(out)));
    assert_eq!(told(of_host), 0, "kernels cannot launch that one");
    assert_eq!(told(on_device), on_device.addr() as u64);
    let (outer, mut node) = (graph(&kernels.cuda), null_mut());
    let inner = kernels.graph("current", values!(out));
    ok(unsafe { kernels.cuda.cuGraphAddChildGraphNode(&mut node, outer, null(), 0, inner) });
    let outer = kernels.instantiate(outer, DEVICE_LAUNCH);
    assert_eq!(told(outer), outer.addr() as u64, "in a graph of its nodes");
    let mut place = out;
    ok(launch(
        &kernels.cuda,
        function(&kernels.cuda, kernels.module, "current"),
        kernels.stream,
        &mut [argument(&mut place)],
    ));
    ok(unsafe { kernels.cuda.cuStreamSynchronize(kernels.stream) });
    assert_eq!(kernels.words(out, 2), [0, 0], "in no graph");
}

#[test]
fn a_graph_launches_itself_again_and_again() {
    let kernels = Kernels::new();
    let memory = kernels.zeros(3);
    let exec = kernels.on_device("again", values!(memory, 500_u32, memory + 4));
    kernels.run(exec);
    // Its own graph can be in its tail once.
    assert_eq!(kernels.words(memory, 3), [500, 0, REFUSED]);
    write(&kernels.cuda, memory, &[0; 12]);
    kernels.run(exec);
    assert_eq!(kernels.words(memory, 3), [500, 0, REFUSED], "the host launches it as often as it likes");
}

#[test]
fn a_tail_comes_before_what_was_behind_it() {
    let kernels = Kernels::new();
    let (log, nothing) = (kernels.zeros(8), 0_u64);
    let last = kernels.on_device("log_then", values!(log, 3_u32, nothing, nothing));
    let second = kernels.on_device("log_then", values!(log, 2_u32, nothing, nothing));
    let first = kernels.on_device("log_then", values!(log, 1_u32, last, nothing));
    kernels.run(kernels.of_host("log_then", values!(log, 9_u32, first, second)));
    assert_eq!(kernels.words(log, 5), [4, 9, 1, 3, 2]);
}

#[test]
fn a_scheduler_launches_what_the_data_say() {
    let kernels = Kernels::new();
    let counters = kernels.zeros(3);
    let add = |at: u64| kernels.on_device("count", values!(counters + 4 * at));
    let graphs = kernels.handles(&[add(0), add(1), add(2)]);
    let choices: Vec<u32> = (0..120_u32).map(|at| at * at % 7 % 3).collect();
    let list = alloc(&kernels.cuda, 4 * choices.len());
    write(&kernels.cuda, list, &choices.iter().flat_map(|choice| choice.to_ne_bytes()).collect::<Vec<_>>());
    // One of its graphs still runs now and then: it tries that again.
    kernels.run(kernels.of_host("schedule", values!(graphs, list, choices.len() as u32)));
    let expected = [0, 1, 2].map(|which| choices.iter().filter(|choice| **choice == which).count() as u32);
    assert_eq!(kernels.words(counters, 3), expected);
}

#[test]
fn what_is_launched_to_be_forgotten_begins_at_once() {
    let kernels = Kernels::new();
    let memory = kernels.zeros(2);
    let set = kernels.on_device("count", values!(memory));
    kernels.run(kernels.of_host("launch_and_wait", values!(set, memory, memory + 4)));
    assert_eq!(kernels.words(memory, 2), [1, 0]);
}

/// A graph's tail waits for what it has launched, and for what that has; not for its siblings.
#[test]
fn a_tail_waits_for_its_environment() {
    let kernels = Kernels::new();
    let memory = kernels.zeros(8);
    let at = |word: u64| memory + 4 * word;
    // Deepest first: it writes 5 late, its parent and that one's parent launch and end.
    let late = kernels.on_device("add_later", values!(at(0), at(7), 5_u32, 2000_u32));
    let handles = kernels.handles(&[late]);
    let parent = kernels.on_device("launch_each", values!(handles, 1_u32, FORGET, at(1)));
    let tail = kernels.on_device("add_later", values!(at(2), at(0), 30_u32, 0_u32));
    kernels.run(kernels.of_host("launch_two", values!(parent, FORGET, tail, TAIL, at(3))));
    assert_eq!(kernels.words(memory, 5), [5, 0, 35, 0, 0]);
    // A sibling waits for the tail of the graph that has launched it.
    let memory = kernels.zeros(8);
    let at = |word: u64| memory + 4 * word;
    let sibling = kernels.on_device("wait_then_set", values!(at(0), at(1), 8_u32));
    let tail = kernels.on_device("add_later", values!(at(0), at(7), 1_u32, 0_u32));
    kernels.run(kernels.on_device("launch_two", values!(sibling, SIBLING, tail, TAIL, at(2))));
    assert_eq!(kernels.words(memory, 4), [1, 8, 0, 0]);
}

/// What a sibling's launcher was launched by waits for the sibling.
#[test]
fn a_sibling_is_in_the_outer_environment() {
    let kernels = Kernels::new();
    let memory = kernels.zeros(8);
    let at = |word: u64| memory + 4 * word;
    let late = kernels.on_device("add_later", values!(at(0), at(7), 5_u32, 2000_u32));
    let handles = kernels.handles(&[late]);
    let launcher = kernels.on_device("launch_each", values!(handles, 1_u32, SIBLING, at(1)));
    let tail = kernels.on_device("add_later", values!(at(2), at(0), 30_u32, 0_u32));
    kernels.run(kernels.of_host("launch_two", values!(launcher, FORGET, tail, TAIL, at(3))));
    assert_eq!(kernels.words(memory, 5), [5, 0, 35, 0, 0]);
}

/// Codes with how often each comes in turn.
fn runs(codes: &[u32]) -> Vec<(u32, usize)> {
    codes.chunk_by(|one, other| one == other).map(|run| (run[0], run.len())).collect()
}

#[test]
fn an_environment_has_room_for_so_many() {
    let kernels = Kernels::new();
    let counter = kernels.zeros(1);
    let graphs: Vec<_> = (0..260).map(|_| kernels.on_device("count", values!(counter))).collect();
    assert_eq!(runs(&kernels.launch_each(&graphs[..130], FORGET)), [(0, 120), (REFUSED, 10)]);
    assert_eq!(runs(&kernels.launch_each(&graphs[..130], SIBLING)), [(0, 120), (REFUSED, 10)]);
    assert_eq!(runs(&kernels.launch_each(&graphs, TAIL)), [(0, 255), (REFUSED, 5)]);
    assert_eq!(kernels.words(counter, 1), [120 + 120 + 255]);
    // All kernels of a graph launch into one environment, and siblings into another; each launch of the host has its own.
    let (handles, codes) = (kernels.handles(&graphs), kernels.zeros(254));
    let all = graph(&kernels.cuda);
    let mut before = Vec::new();
    for (start, count, stream) in [(0, 100_u32, FORGET), (100, 100, SIBLING), (200, 54, FORGET)] {
        let values = values!(handles + 8 * start, count, stream, codes + 4 * start);
        before = vec![kernels.node(all, &before, "launch_each", values)];
    }
    let all = kernels.instantiate(all, 0);
    for _ in 0..2 {
        write(&kernels.cuda, counter, &[0; 4]);
        kernels.run(all);
        assert_eq!(runs(&kernels.words(codes, 254)), [(0, 220), (REFUSED, 34)]);
        assert_eq!(kernels.words(counter, 1), [220]);
    }
}

/// What a graph's child launches beside itself counts for the graph.
#[test]
fn siblings_take_room_of_the_outer_environment() {
    let kernels = Kernels::new();
    let counter = kernels.zeros(1);
    let many = |count: usize| -> Vec<_> {
        (0..count).map(|_| kernels.on_device("count", values!(counter))).collect()
    };
    let (handles, codes) = (kernels.handles(&many(100)), kernels.zeros(131));
    let at = |word: u64| codes + 4 * word;
    let child =
        kernels.on_device("launch_each", values!(kernels.handles(&many(30)), 30_u32, SIBLING, at(101)));
    let launching = graph(&kernels.cuda);
    let first = kernels.node(launching, &[], "launch_each", values!(handles, 100_u32, FORGET, codes));
    let values = values!(kernels.handles(&[child]), 1_u32, FORGET, at(100));
    kernels.node(launching, &[first], "launch_each", values);
    kernels.run(kernels.instantiate(launching, 0));
    assert_eq!(runs(&kernels.words(codes, 131)), [(0, 120), (REFUSED, 11)]);
    assert_eq!(kernels.words(counter, 1), [119]);
}

#[test]
fn a_graph_runs_once_at_a_time() {
    let kernels = Kernels::new();
    let memory = kernels.zeros(8);
    let at = |word: u64| memory + 4 * word;
    let one = kernels.on_device("wait_then_set", values!(at(0), at(7), 1_u32));
    for stream in [FORGET, SIBLING, TAIL] {
        write(&kernels.cuda, memory, &[0; 4]);
        let values = values!(one, stream, at(1), at(0));
        kernels.run(kernels.of_host("launch_twice_then_set", values));
        assert_eq!(kernels.words(at(1), 2), [0, REFUSED], "{stream}");
    }
    kernels.run(kernels.of_host("launch_two", values!(one, TAIL, one, FORGET, at(1))));
    assert_eq!(kernels.words(at(1), 2), [0, REFUSED], "what waits in a tail");
    // It runs until its environment is done.
    let place = kernels.handles(&[null_mut()]);
    let child = kernels.on_device("launch_later", values!(place, FORGET, TAIL, at(3)));
    let handles = kernels.handles(&[child]);
    let parent = kernels.on_device("launch_each", values!(handles, 1_u32, FORGET, at(5)));
    write(&kernels.cuda, place, &(parent.addr() as u64).to_ne_bytes());
    kernels.run(parent);
    assert_eq!(kernels.words(at(3), 3), [REFUSED, REFUSED, 0]);
}

#[test]
fn a_graph_is_launched_as_it_was_uploaded() {
    let kernels = Kernels::new();
    let cuda = &kernels.cuda;
    let counters = kernels.zeros(2);
    let exec = kernels.instantiate(kernels.graph("count", values!(counters)), DEVICE_LAUNCH);
    assert_eq!(kernels.launch_each(&[exec], FORGET), [REFUSED], "not uploaded");
    kernels.run(exec);
    assert_eq!(kernels.launch_each(&[exec], FORGET), [0], "launched by the host");
    assert_eq!(kernels.words(counters, 2), [2, 0]);
    let other = kernels.graph("count", values!(counters + 4));
    let mut result = CUgraphExecUpdateResultInfo::default();
    ok(unsafe { cuda.cuGraphExecUpdate(exec, other, &mut result) });
    assert_eq!(kernels.launch_each(&[exec], FORGET), [0]);
    assert_eq!(kernels.words(counters, 2), [3, 0], "the update was not uploaded");
    kernels.upload(exec);
    assert_eq!(kernels.launch_each(&[exec], TAIL), [0]);
    assert_eq!(kernels.words(counters, 2), [3, 1]);
    // By the instantiation itself.
    let (mut exec, flags) = (null_mut(), DEVICE_LAUNCH | 2);
    let mut parameters =
        CUDA_GRAPH_INSTANTIATE_PARAMS { flags, hUploadStream: kernels.stream, ..Default::default() };
    ok(unsafe { cuda.cuGraphInstantiateWithParams(&mut exec, other, &mut parameters) });
    ok(unsafe { cuda.cuStreamSynchronize(kernels.stream) });
    assert_eq!(kernels.launch_each(&[exec], SIBLING), [0]);
    assert_eq!(kernels.words(counters, 2), [3, 2]);
}

#[test]
fn there_are_three_streams_and_no_other_graphs() {
    let kernels = Kernels::new();
    let counter = kernels.zeros(1);
    let exec = kernels.on_device("count", values!(counter));
    for stream in [0, 1, 2, 3, 4, 8, 4 << 56, FORGET + 1, kernels.stream.addr() as u64] {
        assert_eq!(kernels.launch_each(&[exec], stream), [REFUSED], "{stream}");
    }
    assert_eq!(kernels.launch_each(&[null_mut()], FORGET), [REFUSED]);
    ok(unsafe { kernels.cuda.cuGraphExecDestroy(exec) });
    assert_eq!(kernels.launch_each(&[exec], FORGET), [REFUSED], "destroyed");
    assert_eq!(kernels.words(counter, 1), [0]);
}

#[test]
fn launches_on_two_streams_are_apart() {
    let kernels = Kernels::new();
    let cuda = &kernels.cuda;
    let (counters, other) = (kernels.zeros(2), stream(cuda, 1));
    let execs = [0, 4].map(|at| {
        let graphs: Vec<_> = (0..100).map(|_| kernels.on_device("count", values!(counters + at))).collect();
        let (handles, codes) = (kernels.handles(&graphs), kernels.zeros(100));
        (kernels.of_host("launch_each", values!(handles, 100_u32, FORGET, codes)), codes)
    });
    ok(unsafe { cuda.cuGraphLaunch(execs[0].0, kernels.stream) });
    ok(unsafe { cuda.cuGraphLaunch(execs[1].0, other) });
    // A graph that is destroyed runs to its end.
    execs.iter().for_each(|(exec, _)| ok(unsafe { cuda.cuGraphExecDestroy(*exec) }));
    [kernels.stream, other].iter().for_each(|stream| ok(unsafe { cuda.cuStreamSynchronize(*stream) }));
    execs.iter().for_each(|(_, codes)| assert_eq!(runs(&kernels.words(*codes, 100)), [(0, 100)]));
    assert_eq!(kernels.words(counters, 2), [100, 100]);
}

#[test]
fn what_kernels_launch_is_counted_with_them() {
    if on_system() {
        return skip::skipped("only the emulator counts");
    }
    let kernels = Kernels::new();
    let counter = kernels.zeros(3);
    let [one, other] = [(); 2].map(|()| kernels.on_device("count", values!(counter)));
    let host = kernels.of_host("launch_two", values!(one, FORGET, other, TAIL, counter + 4));
    let (code, counted) = profile(|| unsafe { kernels.cuda.cuGraphLaunch(host, kernels.stream) }).unwrap();
    ok(code);
    let mut launches: Vec<_> =
        counted.iter().map(|kernel| (kernel.kernel.as_str(), kernel.launches)).collect();
    launches.sort_unstable();
    assert_eq!(launches, [("count", 2), ("launch_two", 1)]);
}
