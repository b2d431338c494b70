//! `cuGraphDebugDotPrint`: a graph as DOT, which Graphviz draws.

use cuda_driver_sys::*;
use std::ffi::{c_char, c_uint};
use std::fmt::{self, Write};

use super::Graph;
use super::edges::is_annotated;
use super::operation::Operation;
use crate::driver::entry::{INVALID_VALUE, Outcome, Text, entries};
use crate::driver::since::known_flags;
use crate::driver::state::Call;
use crate::driver::work::Work;

entries! {
    cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint) = print;
}

/// What is printed about a node besides its kind.
#[derive(Clone, Copy)]
struct Flags(c_uint);

impl Flags {
    fn has(self, flag: CUgraphDebugDot_flags) -> bool {
        let verbose = CUgraphDebugDot_flags::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE.0;
        self.0 & (flag.0 | verbose) != 0
    }
}

fn print(call: &Call, graph: CUgraph, path: Text, flags: c_uint) -> Outcome {
    let graph = call.graph(graph)?;
    let path = path.path()?;
    if flags >= 1 << 17 {
        return Err(INVALID_VALUE);
    }
    known_flags(flags, CUgraphDebugDot_flags)?;
    let mut text = String::new();
    let written = drawing(&mut text, &graph, Flags(flags));
    written.map_err(|_| CUresult::CUDA_ERROR_UNKNOWN)?;
    std::fs::write(path, text).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
}

fn drawing(text: &mut String, graph: &Graph, flags: Flags) -> fmt::Result {
    writeln!(text, "digraph dot {{")?;
    let mut count = 0;
    cluster(text, graph, flags, &mut count)?;
    writeln!(text, "}}")
}

/// One graph, and before it those in its nodes. `count` is how many were written.
fn cluster(text: &mut String, graph: &Graph, flags: Flags, count: &mut usize) -> fmt::Result {
    *count += 1;
    let number = *count;
    let contents = graph.contents();
    let handles: Vec<usize> = contents.nodes.keys().copied().collect();
    let place = |node: usize| handles.binary_search(&node).unwrap_or(0);
    writeln!(text, "subgraph cluster_{number} {{")?;
    writeln!(text, "label=\"graph_{number}\" graph[style=\"dashed\"];")?;
    for (index, (handle, node)) in contents.nodes.iter().enumerate() {
        let name = format!("graph_{number}_node_{index}");
        write!(text, "\"{name}\" [shape=\"{}\" label=\"{index}", shape(&node.operation))?;
        describe(text, *handle, &node.operation, flags)?;
        writeln!(text, "\"];")?;
    }
    for (index, node) in contents.nodes.values().enumerate() {
        for edge in &node.after {
            let from = place(edge.from);
            write!(text, "\"graph_{number}_node_{from}\" -> \"graph_{number}_node_{index}\"")?;
            if is_annotated(&edge.data) {
                let (port, kind) = (edge.data.from_port, edge.data.type_);
                write!(text, " [label=\"port {port}, type {kind}\"]")?;
            }
            writeln!(text, ";")?;
        }
    }
    writeln!(text, "}}")?;
    for node in contents.nodes.values() {
        for graph in node.operation.graphs() {
            cluster(text, graph, flags, count)?;
        }
    }
    Ok(())
}

fn shape(operation: &Operation) -> &'static str {
    match operation {
        Operation::Work(Work::Kernel(_)) => "octagon",
        Operation::Child(_) => "tripleoctagon",
        Operation::Work(Work::Empty) => "circle",
        Operation::Work(Work::Host(_)) => "hexagon",
        _ => "record",
    }
}

/// What stands in a node.
fn describe(text: &mut String, handle: usize, operation: &Operation, flags: Flags) -> fmt::Result {
    use CUgraphDebugDot_flags as F;
    let name = operation.name();
    match operation {
        Operation::Work(Work::Kernel(kernel)) => {
            write!(text, "\\n{}", escaped(&kernel.function().kernel.name))?;
            if flags.has(F::CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS) {
                let p = kernel.parameters();
                write!(text, "\\ngrid {}x{}x{}", p.gridDimX, p.gridDimY, p.gridDimZ)?;
                write!(text, "\\nblock {}x{}x{}", p.blockDimX, p.blockDimY, p.blockDimZ)?;
                write!(text, "\\nshared {}", p.sharedMemBytes)?;
            }
        }
        Operation::Work(Work::Copy(copy)) => {
            write!(text, "\\n{name}")?;
            if flags.has(F::CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS) {
                let p = copy.parameters();
                write!(text, "\\n{}x{}x{} bytes", p.WidthInBytes, p.Height, p.Depth)?;
            }
        }
        Operation::Work(Work::Fill(fill)) => {
            write!(text, "\\n{name}")?;
            if flags.has(F::CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS) {
                let p = fill.parameters();
                write!(text, "\\n0x{:x}: {}x{} of {}", p.dst, p.width, p.height, p.value)?;
            }
        }
        _ => write!(text, "\\n{name}")?,
    }
    if flags.has(F::CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES) {
        write!(text, "\\n0x{handle:x}")?;
    }
    Ok(())
}

/// A name in a quoted string of DOT.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}
