//! Races between launches in graphs: with what kernels launch, and with the allocations and frees of nodes. Each fault stands beside a correct
//! twin, which the check must be silent about.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/device_graphs.rs"]
mod device_graphs;
#[path = "launch_races_support/mod.rs"]
mod races;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use device_graphs::{FORGET, Kernels, SIBLING, TAIL, values};
use races::*;
use std::ptr::{null, null_mut};
use support::graphs::{graph, instantiate};
use support::*;

/// Kernels that launch graphs, and eight words of zeros.
fn kernels(setup: &Setup) -> (Kernels, impl Fn(u64) -> CUdeviceptr) {
    let kernels = Kernels::current(&setup.cuda);
    let words = kernels.zeros(8);
    (kernels, move |word| words + 4 * word)
}

#[test]
fn a_graph_that_runs_beside_the_nodes_behind_its_launcher() {
    for stream in [FORGET, TAIL] {
        let setup = setup();
        let (kernels, at) = kernels(&setup);
        let stores = kernels.on_device("add_later", values!(at(0), at(1), 5_u32, 0_u32));
        let (graph, graphs) = (graph(&setup.cuda), kernels.handles(&[stores]));
        let launches = kernels.node(graph, &[], "launch_each", values!(graphs, 1_u32, stream, at(2)));
        // In the tail it comes behind all of this graph.
        kernels.node(graph, &[launches], "add_later", values!(at(3), at(0), 1_u32, 0_u32));
        kernels.run(kernels.instantiate(graph, 0));
        match stream {
            TAIL => setup.assert_silent("in the tail"),
            _ => {
                let text = setup.assert_race("beside", ["add_later"; 2]).to_string();
                assert!(
                    text.contains("of kernel `add_later` in a graph that a kernel launched, in"),
                    "{text}"
                );
                assert!(text.contains("`cudaStreamGraphTailLaunch`"), "{text}");
            }
        }
    }
}

#[test]
fn a_tail_comes_behind_what_was_launched_beside_it() {
    let setup = setup();
    let (kernels, at) = kernels(&setup);
    let stores = kernels.on_device("add_later", values!(at(0), at(1), 5_u32, 0_u32));
    let tail = kernels.on_device("add_later", values!(at(3), at(0), 1_u32, 0_u32));
    kernels.run(kernels.of_host("launch_two", values!(stores, FORGET, tail, TAIL, at(4))));
    setup.assert_silent("a tail");
}

#[test]
fn a_sibling_is_not_behind_the_tail_of_its_launcher() {
    for is_outer in [true, false] {
        let setup = setup();
        let (kernels, at) = kernels(&setup);
        let stores = kernels.on_device("add_later", values!(at(0), at(1), 5_u32, 0_u32));
        let reads = kernels.on_device("add_later", values!(at(3), at(0), 1_u32, 0_u32));
        if is_outer {
            // The tail of the graph around them waits for both.
            let graphs = kernels.handles(&[stores]);
            let launcher = kernels.on_device("launch_each", values!(graphs, 1_u32, SIBLING, at(4)));
            kernels.run(kernels.of_host("launch_two", values!(launcher, FORGET, reads, TAIL, at(5))));
            setup.assert_silent("behind the outer graph");
        } else {
            kernels.run(kernels.on_device("launch_two", values!(stores, SIBLING, reads, TAIL, at(4))));
            setup.assert_race("beside its tail", ["add_later"; 2]);
        }
    }
}

#[test]
fn the_stream_goes_on_behind_all_that_its_graph_has_launched() {
    for ordered in [true, false] {
        let setup = setup();
        let (kernels, at) = kernels(&setup);
        let stores = kernels.on_device("add_later", values!(at(0), at(1), 5_u32, 0_u32));
        let reads = kernels.of_host("add_later", values!(at(3), at(0), 1_u32, 0_u32));
        let graphs = kernels.handles(&[stores]);
        let launches = kernels.of_host("launch_each", values!(graphs, 1_u32, FORGET, at(4)));
        setup.launch_graph(launches, kernels.stream);
        let stream = if ordered { kernels.stream } else { setup.stream() };
        setup.launch_graph(reads, stream);
        match ordered {
            true => setup.assert_silent("one stream"),
            false => drop(setup.assert_race("another stream", ["add_later"; 2])),
        }
    }
}

#[test]
fn launches_of_one_graph_by_kernels_are_in_order() {
    let setup = setup();
    let (kernels, at) = kernels(&setup);
    let adds = kernels.on_device("add_later", values!(at(0), at(0), 5_u32, 0_u32));
    let (graphs, choices) = (kernels.handles(&[adds]), kernels.zeros(4));
    kernels.run(kernels.of_host("schedule", values!(graphs, choices, 4_u32)));
    kernels.run(adds);
    assert_eq!(kernels.words(at(0), 1), [25]);
    setup.assert_silent("one after the other");
}

#[test]
fn a_kernel_and_the_graph_that_it_waits_for() {
    let setup = setup();
    let (kernels, at) = kernels(&setup);
    let counts = kernels.on_device("count", values!(at(0)));
    kernels.run(kernels.of_host("launch_and_wait", values!(counts, at(0), at(1))));
    setup.assert_silent("a flag");
}

/// A kernel counts as a whole as before what it launches: which of its accesses come later is not known.
#[test]
fn a_kernel_is_before_the_graph_that_it_launches() {
    let setup = setup();
    let (kernels, at) = kernels(&setup);
    write(&setup.cuda, at(2), &[7; 4]);
    let reads = kernels.on_device("add_later", values!(at(3), at(2), 1_u32, 0_u32));
    let graphs = kernels.handles(&[reads]);
    kernels.run(kernels.of_host("launch_each", values!(graphs, 1_u32, FORGET, at(2))));
    setup.assert_silent("the code of the launch");
}

/// A node that allocates words; it and the address.
fn allocation(cuda: &Driver, graph: CUgraph) -> (CUgraphNode, CUdeviceptr) {
    let mut parameters = CUDA_MEM_ALLOC_NODE_PARAMS { bytesize: BYTES, ..Default::default() };
    parameters.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let mut node = null_mut();
    ok(unsafe { cuda.cuGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut parameters) });
    (node, parameters.dptr)
}

#[test]
fn a_kernel_beside_the_allocation_or_the_free_of_its_memory() {
    for (after_allocation, before_free) in [(true, true), (true, false), (false, true)] {
        let setup = setup();
        let (a, p, graph) = (setup.stream(), setup.zeroes(), graph(&setup.cuda));
        let (node, memory) = allocation(&setup.cuda, graph);
        let behind: &[CUgraphNode] = if after_allocation { &[node] } else { &[] };
        let kernel = setup.node(graph, behind, memory, p);
        let before = if before_free { [node, kernel].to_vec() } else { vec![node] };
        let freed = &mut null_mut();
        ok(unsafe { setup.cuda.cuGraphAddMemFreeNode(freed, graph, before.as_ptr(), before.len(), memory) });
        let exec = instantiate(&setup.cuda, graph);
        setup.launch_graph(exec, a);
        setup.launch_graph(exec, a);
        if after_allocation && before_free {
            setup.assert_silent("in between");
        } else {
            let node = if after_allocation { "memory free node" } else { "memory allocation node" };
            let text = setup.assert_race(node, ["mix", node]).to_string();
            assert!(
                text.contains("add an edge") && text.contains(&format!("by `{node}` in a graph")),
                "{text}"
            );
        }
    }
}

#[test]
fn memory_of_a_graph_that_a_stream_frees() {
    for ordered in [true, false] {
        let setup = setup();
        let (a, b, p, graph) = (setup.stream(), setup.stream(), setup.zeroes(), graph(&setup.cuda));
        let (_, memory) = allocation(&setup.cuda, graph);
        let exec = instantiate(&setup.cuda, graph);
        setup.launch_graph(exec, a);
        setup.order(a, b);
        setup.mix(b, memory, p);
        if ordered {
            setup.order(b, a);
        }
        ok(unsafe { setup.cuda.cuMemFreeAsync(memory, a) });
        match ordered {
            true => setup.assert_silent("ordered"),
            false => drop(setup.assert_race("unordered", ["mix", "cuMemFreeAsync"])),
        }
    }
}
