//! The information about a counted instruction, recorded by the decoder.

use std::sync::Arc;

use super::super::code::Exec;
use super::super::watch::Note;

/// What the decoder knows about an instruction that is counted.
pub(crate) struct Profiled {
    /// What runs it.
    pub(crate) exec: Exec,
    /// Its effect on memory.
    pub(crate) note: Option<Note>,
    /// Whether it is a branch, a `ret` or an `exit` with a guard.
    pub(crate) conditional: bool,
    /// For a `brx.idx`: its distinct targets, in the order of its list.
    pub(crate) targets: Box<[u32]>,
    /// Its name in the text; nothing for an instruction of the decoder's own.
    pub(crate) name: Arc<str>,
    /// Whether warps arrive at a barrier of their block here, and whether they wait there.
    pub(crate) barrier: Option<bool>,
    /// Whether it is the first of those that one instruction of the text was decoded into.
    pub(crate) first: bool,
    /// Bytes of local memory that each lane accesses, by the space that the instruction names.
    pub(crate) local: u64,
    /// Whether it is a plain count in shared memory (see `increments`): threads that count at one address share a pass.
    pub(crate) increments: bool,
}

/// Bytes of an access to local memory, from its name: `ld.local.v2.f32`.
pub(crate) fn local_bytes(name: &str) -> u64 {
    let mut parts = name.split('.');
    if !matches!(parts.next(), Some("ld" | "st")) || !name.contains(".local.") {
        return 0;
    }
    let number = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse::<u64>().ok();
    let elements = parts.clone().find(|part| part.starts_with('v') && number(part).is_some());
    let bits = parts.next_back().and_then(number).unwrap_or(0);
    elements.and_then(number).unwrap_or(1) * bits / 8
}

#[cfg(test)]
mod tests {
    use super::local_bytes;

    #[test]
    fn names_say_how_many_bytes_they_access() {
        let of = ["ld.local.u8", "st.local.v4.f32", "ld.volatile.local.v2.b64", "ld.global.u32", "mov.u32"];
        assert_eq!(of.map(local_bytes), [1, 16, 16, 0, 0]);
    }
}
