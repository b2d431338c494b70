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
    /// The node does something else than what it is to be changed to.
    WrongKind {
        /// The node.
        node: String,
        /// The kind it would have to be.
        wanted: &'static str,
    },
    /// A value that a node of this kind cannot have.
    Unfit {
        /// What the node was to be.
        node: &'static str,
        /// The rule that is broken.
        why: String,
    },
    /// A capture records into the graph, or into another one of its family: one with the graphs inside it.
    Recording,
    /// The driver cannot make the graph executable.
    Instantiate {
        /// The driver's answer.
        code: CUresult,
        /// Why.
        reason: &'static str,
        /// The node it stumbled over, where the driver names one.
        node: Option<String>,
    },
    /// The executable graph cannot take over what was changed; it stays as it was.
    Update {
        /// Why.
        refusal: UpdateRefusal,
        /// The node of the new graph that does not fit, where the driver names one.
        node: Option<String>,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignNode { index } => {
                write!(f, "node {index} belongs to another graph than the one it was given to")
            }
            Self::RemovedNode { node } => write!(f, "{node} was removed from its graph"),
            Self::WrongKind { node, wanted } => {
                write!(f, "{node} is no {wanted} node; a node keeps its kind")
            }
            Self::Unfit { node, why } => write!(f, "{node}: {why}"),
            Self::Recording => f.write_str(
                "a capture records into the graph, or into one inside or around it\n  \
                 help: wait for the end of `CudaGraph::capture_into`",
            ),
            Self::Instantiate { code, reason, node } => {
                write!(f, "cuGraphInstantiate: {code:?}: {reason}{}", at(node.as_deref()))
            }
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

/// Why an executable graph cannot be updated (`CUgraphExecUpdateResult`); newer drivers may have more reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRefusal(
    /// The driver's number.
    pub u32,
);

impl UpdateRefusal {
    /// For a reason that the driver does not tell.
    pub const ERROR: Self = Self(1);
    /// Nodes or dependencies were added or removed.
    pub const TOPOLOGY_CHANGED: Self = Self(2);
    /// A node is of another kind.
    pub const NODE_TYPE_CHANGED: Self = Self(3);
    /// A kernel node has another function (older drivers).
    pub const FUNCTION_CHANGED: Self = Self(4);
    /// A parameter that cannot change did.
    pub const PARAMETERS_CHANGED: Self = Self(5);
    /// Something about a node is not supported.
    pub const NOT_SUPPORTED: Self = Self(6);
    /// A kernel node's new function cannot take the place of the old one.
    pub const UNSUPPORTED_FUNCTION_CHANGE: Self = Self(7);
    /// A launch attribute that cannot change did.
    pub const ATTRIBUTES_CHANGED: Self = Self(8);
}

impl fmt::Display for UpdateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::TOPOLOGY_CHANGED => "nodes or dependencies were added, removed or added in another order",
            Self::NODE_TYPE_CHANGED => "a node is of another kind",
            Self::FUNCTION_CHANGED => "a kernel node has another function",
            Self::PARAMETERS_CHANGED => "a parameter that cannot change did",
            Self::NOT_SUPPORTED => "a node does not support it",
            Self::UNSUPPORTED_FUNCTION_CHANGE => "the new function cannot take the place of the old one",
            Self::ATTRIBUTES_CHANGED => "a launch attribute that cannot change did",
            Self(number) => return write!(f, "refused for reason {number}"),
        })
    }
}

/// An argument of a launch plan or a prepared launch that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// No launch has an argument of this name.
    NoSuchArgument {
        /// The name asked for.
        name: String,
        /// The names there are.
        names: Vec<String>,
    },
    /// The argument was given as a value of another type.
    ArgumentType {
        /// The argument's name.
        name: String,
        /// The kernel it belongs to.
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
                write!(f, "there is no argument {name:?} to set; {}", listed(names))
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
        return "none has a name: give one as `named(\"alpha\", 2.0f32)`, in a builder as `.named(\"alpha\", &2.0f32)`".into();
    }
    format!("the names are {}", names.join(", "))
}
