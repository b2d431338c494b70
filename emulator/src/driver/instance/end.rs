//! The end of an instance: everything in its slot is released, and the slot can be used again.
//!
//! A static of which each slot has its own is emptied here; the test below finds those that are forgotten.

use crate::driver::graph::capture;
use crate::driver::queue::workers;
use crate::driver::slot_use::Lease;
use crate::driver::{
    array, context, graph, logs, memory, module, slot, state, stream, texture, unimplemented, work,
};

/// Ends what the lease's slot has, and waits for the work that is left. After that the slot accepts no calls; the caller makes none.
/// Memory that the host can access stays allocated: the owner of a driver of the instance may hold references to it.
pub(super) fn end(lease: &Lease) {
    lease.close();
    let _entered = slot::enter(lease.slot());
    if let Some(state) = state::get() {
        memory::keep(&state);
        capture::end_all();
        context::end_all(&state);
        workers::join();
        graph::clear();
        texture::clear();
        array::clear();
        module::clear();
        work::event::EVENTS.clear();
        stream::clear();
        context::green::clear();
        context::clear();
        memory::clear(&state);
    }
    logs::clear();
    unimplemented::clear();
    state::replace(None);
}

/// To be called after `end`, when no driver of the instance exists any more: releases the memory that the host could
/// access.
pub(super) fn end_for_good(lease: &Lease) {
    let _entered = slot::enter(lease.slot());
    memory::end_left();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;
    use std::fs::{read_dir, read_to_string};
    use std::path::Path;

    /// The text after `static ` of each line that declares a `PerSlot`, and all lines of functions that end a slot.
    fn read(folder: &Path, statics: &mut BTreeSet<String>, ends: &mut String) {
        for entry in read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, statics, ends);
                continue;
            }
            let mut is_end = false;
            for line in read_to_string(&path).unwrap().lines() {
                let declared = line
                    .split_once("static ")
                    .filter(|(before, _)| matches!(before.get(..3), None | Some("pub")));
                let declared = declared.and_then(|(_, rest)| rest.split_once(": PerSlot<"));
                statics.extend(declared.map(|(name, _)| name.to_owned()));
                is_end =
                    is_end && !line.starts_with('}') || line.contains("fn clear(") || line.contains("fn end");
                is_end = is_end || line.contains("fn join(") || line.contains("fn replace(");
                if is_end {
                    ends.push_str(line);
                    ends.push('\n');
                }
            }
        }
    }

    #[test]
    fn each_static_of_a_slot_is_emptied_at_its_end() {
        let (mut statics, mut ends) = (BTreeSet::new(), String::new());
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/driver"), &mut statics, &mut ends);
        assert!(statics.len() > 30, "{statics:?}");
        let is_word =
            |name: &str| ends.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        // Numbers go on, a slot accepts no calls, the members of captures go with these, and a lock without a value has nothing.
        let kept = ["CREATED", "USES", "MEMBERS", "COUNT", "EXPORTING", "OPENING"];
        let forgotten: Vec<_> =
            statics.iter().filter(|name| !kept.contains(&name.as_str()) && !is_word(name)).collect();
        assert!(forgotten.is_empty(), "{forgotten:?}");
    }
}
