//! Errors of graphs and launch plans.

use cuda_driver_sys::CUresult;
use std::fmt;
use thiserror::Error;

/// What is wrong with a graph, one of its nodes, or a change of either.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// A node of one graph was given to another.
    #[error(
        "node {index} does not belong to the graph that it was passed to\n  help: pass a node that an `add_` method of this graph returned; \
         `CudaGraph::nodes` lists all of them"
    )]
    ForeignNode {
        /// The node's number in its own graph.
        index: usize,
    },
    /// The node was removed from its graph.
    #[error("{node} was removed from its graph\n  help: `CudaGraph::nodes` lists the nodes that are left")]
    RemovedNode {
        /// The node.
        node: String,
    },
    /// The node is of a different kind than the change requires.
    #[error(
        "{node}: expected a node of kind {wanted}; a node cannot change its kind\n  help: remove it, and add a node of the other kind"
    )]
    WrongKind {
        /// The node.
        node: String,
        /// The kind that was required.
        wanted: &'static str,
    },
    /// A value that is invalid for a node of this kind.
    #[error("{node}: {why}")]
    Unfit {
        /// The kind of node being made.
        node: &'static str,
        /// The rule that is broken.
        why: String,
    },
    /// A capture is recording into the graph, or into another one of its family: a graph together with the graphs
    /// nested in it.
    #[error(
        "a capture is recording into the graph, or into one nested in it or around it\n  help: wait until `CudaGraph::capture_into` has returned"
    )]
    Recording,
    /// A capture into the graph was broken. Drivers destroy the graph then, so that its handle may be another graph's by now; so may
    /// those of the graphs nested in it or around it.
    #[error(
        "a capture into the graph, or into one nested in it or around it, was invalidated, and the driver destroyed it\n  help: build a new graph"
    )]
    Lost,
    /// The driver cannot make the graph executable.
    #[error("cuGraphInstantiate: {code:?}: {reason}{}", at(node.as_deref()))]
    Instantiate {
        /// The driver's result.
        code: CUresult,
        /// Why.
        reason: &'static str,
        /// The offending node, if the driver names one.
        node: Option<String>,
    },
    /// A node of an executable graph cannot use this memory instead of what it has; the graph is left unchanged.
    #[error(
        "{call}, {node}: {code:?}: a copy or memset of an executable graph keeps the kind of memory on each side (of the host, of a context, \
         of a pool or mapped, of an array) and one row of at least one byte\n  help: build a graph with this node and instantiate it"
    )]
    Change {
        /// The driver call that refused it.
        call: &'static str,
        /// The driver's result.
        code: CUresult,
        /// The node.
        node: String,
    },
    /// The executable graph cannot adopt the changes; it is left unchanged.
    #[error("cuGraphExecUpdate: {refusal}{}\n  help: instantiate the changed graph", at(node.as_deref()))]
    Update {
        /// Why.
        refusal: UpdateRefusal,
        /// The node of the new graph that does not fit, if the driver names one.
        node: Option<String>,
    },
}

fn at(node: Option<&str>) -> String {
    node.map_or_else(String::new, |node| format!(", at {node}"))
}

/// Why an executable graph cannot be updated (`CUgraphExecUpdateResult`); newer drivers may report others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRefusal(
    /// The driver's number.
    pub u32,
);

impl UpdateRefusal {
    /// For a reason that the driver does not report.
    pub const ERROR: Self = Self(1);
    /// Nodes or dependencies were added or removed.
    pub const TOPOLOGY_CHANGED: Self = Self(2);
    /// A node has another kind than before.
    pub const NODE_TYPE_CHANGED: Self = Self(3);
    /// A kernel node has another function (older drivers).
    pub const FUNCTION_CHANGED: Self = Self(4);
    /// A parameter that cannot be changed was changed.
    pub const PARAMETERS_CHANGED: Self = Self(5);
    /// Something about a node is unsupported.
    pub const NOT_SUPPORTED: Self = Self(6);
    /// A kernel node's new function cannot replace the old one.
    pub const UNSUPPORTED_FUNCTION_CHANGE: Self = Self(7);
    /// A launch attribute that cannot be changed was changed.
    pub const ATTRIBUTES_CHANGED: Self = Self(8);
}

impl fmt::Display for UpdateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::TOPOLOGY_CHANGED => "nodes or dependencies were added, removed or reordered",
            Self::NODE_TYPE_CHANGED => "a node has a different kind",
            Self::FUNCTION_CHANGED => "a kernel node has a different function",
            Self::PARAMETERS_CHANGED => "a parameter that cannot be changed was changed",
            Self::NOT_SUPPORTED => "a node does not support the change",
            Self::UNSUPPORTED_FUNCTION_CHANGE => "the new function cannot replace the old one",
            Self::ATTRIBUTES_CHANGED => "a launch attribute that cannot be changed was changed",
            Self(number) => return write!(f, "rejected for reason {number}"),
        })
    }
}
