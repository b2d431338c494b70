//! Handles that are null, invalid, or of another kind of object.

use super::call::Call;
use super::rule::{Finding, Rule};
use super::state::State;
use crate::functions::{Plain, Type};
use crate::kind::Kind;

/// The first page is never mapped, so no driver object is there.
const LOWEST: u64 = 4096;

/// What is wrong with the handles that a call uses.
pub(super) fn handles(call: &Call<'_>, state: &State) -> Vec<Finding> {
    call.function.uses.iter().filter_map(|at| handle(call, state, *at)).collect()
}

/// Kinds of objects that can be told apart: no two of them have the same address.
const OBJECTS: [Kind; 8] = [
    Kind::Stream,
    Kind::Event,
    Kind::Function,
    Kind::Module,
    Kind::Library,
    Kind::Graph,
    Kind::ExecutableGraph,
    Kind::Context,
];

fn handle(call: &Call<'_>, state: &State, at: usize) -> Option<Finding> {
    let (parameter, word) = (call.function.parameters.get(at)?, call.word(at));
    let Type::Plain(Plain::Handle(kind)) = parameter.ty else { return None };
    let is_looked_at = match kind {
        Kind::Event | Kind::Function | Kind::Module | Kind::ExecutableGraph => true,
        // The first three are the default streams.
        Kind::Stream => word > 2,
        _ => false,
    };
    if !is_looked_at {
        return None;
    }
    let wanted = match kind {
        Kind::Event => "an event".to_owned(),
        Kind::ExecutableGraph => "an executable graph".to_owned(),
        _ => format!("a {kind}"),
    };
    let name = parameter.name;
    if word == 0 {
        return Some(call.finding(Rule::NullHandle, format!("{name} is null, but has to be {wanted}")));
    }
    let live = |kind: Kind| {
        let object = state.objects.find(kind, word).and_then(|place| state.objects.at(place));
        object.filter(|object| object.is_live() && object.made_by.is_some()).map(|object| object.name)
    };
    if live(kind).is_some() {
        return None;
    }
    let what = match OBJECTS.into_iter().find_map(live) {
        Some(object) => object.to_string(),
        None if state.objects.primaries.values().any(|primary| *primary == word) => {
            "a primary context".to_owned()
        }
        None if word < LOWEST => format!("{word:#x}, which is not a handle"),
        None => return None,
    };
    Some(call.finding(Rule::WrongHandle, format!("{name} is {what}, but has to be {wanted}")))
}
