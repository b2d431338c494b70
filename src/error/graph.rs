//! Errors of graphs and launch plans.

use cuda_driver_sys::CUresult;
use std::fmt;

/// What is wrong with a graph, one of its nodes, or a change of either.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// A node of one graph was given to another.
    ForeignNode {
        /// The node's number in its own graph.
        index: usize,
    },
    /// The node was removed from its graph.
    RemovedNode {
        /// The node.
        node: String,
    },
    /// The node is of a different kind than the change requires.
    WrongKind {
        /// The node.
        node: String,
        /// The kind that was required.
        wanted: &'static str,
    },
    /// A value that is invalid for a node of this kind.
    Unfit {
        /// The kind of node being made.
        node: &'static str,
        /// The rule that is broken.
        why: String,
    },
    /// A capture is recording into the graph, or into another one of its family: a graph together with the graphs
    /// nested in it.
    Recording,
    /// A capture into the graph was broken. Drivers destroy the graph then, so that its handle may be another graph's by now; so may
    /// those of the graphs nested in it or around it.
    Lost,
    /// The driver cannot make the graph executable.
    Instantiate {
        /// The driver's result.
        code: CUresult,
        /// Why.
        reason: &'static str,
        /// The offending node, if the driver names one.
        node: Option<String>,
    },
    /// A node of an executable graph cannot use this memory instead of what it has; the graph is left unchanged.
    Change {
        /// The driver call that refused it.
        call: &'static str,
        /// The driver's result.
        code: CUresult,
        /// The node.
        node: String,
    },
    /// The executable graph cannot adopt the changes; it is left unchanged.
    Update {
        /// Why.
        refusal: UpdateRefusal,
        /// The node of the new graph that does not fit, if the driver names one.
        node: Option<String>,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignNode { index } => {
                write!(f, "node {index} does not belong to the graph it was passed to")
            }
            Self::RemovedNode { node } => write!(f, "{node} was removed from its graph"),
            Self::WrongKind { node, wanted } => {
                write!(f, "{node}: expected a node of kind {wanted}; a node cannot change its kind")
            }
            Self::Unfit { node, why } => write!(f, "{node}: {why}"),
            Self::Recording => f.write_str(
                "a capture is recording into the graph, or into one nested in it or around it\n  \
                 help: wait until `CudaGraph::capture_into` has returned",
            ),
            Self::Lost => f.write_str(
                "a capture into the graph, or into one nested in it or around it, was invalidated, and the driver destroyed it\n  \
                 help: build a new graph",
            ),
            Self::Instantiate { code, reason, node } => {
                write!(f, "cuGraphInstantiate: {code:?}: {reason}{}", at(node.as_deref()))
            }
            Self::Change { call, code, node } => write!(
                f,
                "{call}, {node}: {code:?}: a copy or memset of an executable graph keeps the kind of memory on each side (of the \
                 host, of a context, of a pool or mapped, of an array) and one row of at least one byte\n  help: build a graph with \
                 this node and instantiate it"
            ),
            Self::Update { refusal, node } => write!(
                f,
                "cuGraphExecUpdate: {refusal}{}\n  help: instantiate the changed graph",
                at(node.as_deref())
            ),
        }
    }
}

impl std::error::Error for GraphError {}

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
    /// A node is of another kind.
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
            Self::TOPOLOGY_CHANGED => "nodes or dependencies were added, removed or added in another order",
            Self::NODE_TYPE_CHANGED => "a node has a different kind",
            Self::FUNCTION_CHANGED => "a kernel node has a different function",
            Self::PARAMETERS_CHANGED => "a parameter that cannot be changed was changed",
            Self::NOT_SUPPORTED => "a node does not support it",
            Self::UNSUPPORTED_FUNCTION_CHANGE => "the new function cannot take the place of the old one",
            Self::ATTRIBUTES_CHANGED => "a launch attribute that cannot be changed was changed",
            Self(number) => return write!(f, "rejected for reason {number}"),
        })
    }
}

/// An argument of a launch plan or a prepared launch that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// No launch has an argument of this name.
    NoSuchArgument {
        /// The requested name.
        name: String,
        /// The available names.
        names: Vec<String>,
    },
    /// The argument was given as a value of another type.
    ArgumentType {
        /// The argument's name.
        name: String,
        /// The kernel that it belongs to.
        kernel: String,
        /// Its type when it was recorded or prepared.
        recorded: String,
        /// The type given now.
        given: String,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchArgument { name, names } => {
                write!(f, "no argument is named {name:?}; {}", listed(names))
            }
            Self::ArgumentType { name, kernel, recorded, given } => {
                write!(f, "argument {name:?} of {kernel} is {recorded}, and cannot be set to {given}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "no argument has a name: pass it as `named(\"alpha\", 2.0f32)`, to a builder as `.named(\"alpha\", &2.0f32)`".into();
    }
    format!("the names are {}", names.join(", "))
}
