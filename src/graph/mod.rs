//! Graphs: work that is described once and launched many times.
//!
//! | to get one from | use |
//! |---|---|
//! | launches, with arguments that change between replays | [`LaunchPlan`] |
//! | any work submitted to a stream | [`CudaGraph::capture`] |
//! | nodes and edges | [`CudaGraph::new`], `add_kernel`, `add_copy` and so on |
//!
//! What a graph uses is kept alive as long as it can run: modules, buffers passed as `slice` or `ptr`, events, host
//! functions. Each launch is ordered against other accesses to those buffers, like a kernel launch.

// The files:
//
// | file | contents |
// |---|---|
// | `graph` | `CudaGraph`: a graph that can be edited; its nodes, clones |
// | `node` | `GraphNode`, the handle of a node; what the graph stores about each |
// | `edge` | dependencies, plain and programmatic |
// | `order` | the dependencies that captured work relies on, added before a graph can run |
// | `kernel`, `copy`, `memset`, `host`, `event`, `child`, `alloc`, `conditional` | one kind of node each |
// | `capture`, `recording` | a graph from work submitted to a stream, in a scope that always ends the capture; work recorded into a graph |
// | `exec`, `change`, `update` | `GraphExec`: an instantiated graph; its launch, and what can change without a new instantiation |
// | `plan` | `LaunchPlan`: `cuda_launch!`s recorded once and replayed, with arguments set by name |
// | `dot` | a graph as the source of a picture |

mod alloc;
mod capture;
mod change;
mod child;
mod conditional;
mod copy;
mod dot;
mod edge;
mod event;
mod exec;
#[allow(clippy::module_inception)] // the file is named for what it holds
mod graph;
mod host;
mod kernel;
mod memset;
mod node;
mod order;
mod plan;
mod recording;
mod update;

pub use crate::launch::node::KernelNode;
pub use alloc::GraphMemory;
pub use capture::{CaptureInfo, CaptureMode};
pub use conditional::{Branches, Conditional};
pub use copy::{CopyNode, HostMemory};
pub use dot::DotFlags;
pub use edge::{Dependency, Edge};
pub use exec::{GraphExec, InstantiateFlags};
pub use graph::CudaGraph;
pub use memset::MemsetNode;
pub use node::{GraphNode, NodeKind};
pub use plan::LaunchPlan;
