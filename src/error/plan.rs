//! Arguments of launch plans and prepared launches that cannot be set.

use super::arguments::joined;
use thiserror::Error;

/// An argument of a launch plan or a prepared launch that cannot be set.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// No launch has an argument of this name.
    #[error("no argument is named {name:?}\n  help: {}", listed(names))]
    NoSuchArgument {
        /// The requested name.
        name: String,
        /// The available names.
        names: Vec<String>,
    },
    /// The argument was given as a value of another type.
    #[error(
        "argument {name:?} of {kernel} is {recorded}, and cannot be set to {given}\n  help: set it with the word and the type with which it was \
         recorded"
    )]
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

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "no argument has a name yet: pass it as `named(\"alpha\", 2.0f32)`, to a builder as `.named(\"alpha\", &2.0f32)`".into();
    }
    format!("the names are {}", joined(names, ", "))
}
