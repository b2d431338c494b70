//! Which items the list shows.

use std::collections::{BTreeMap, BTreeSet};

use public_api::PublicItem;
use serde_json::{Value, json};

use super::order::Item;
use super::text;
use crate::rustdoc::{inner, is_hidden, is_public, item, key};

/// Traits of flags that are listed: the others are those of all flags.
const OF_FLAGS: &[&str] =
    &["Flags", "Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];
/// What the compiler finds by itself and hardly anybody asks for.
const FOUND: &[&str] = &["Freeze", "RefUnwindSafe", "StructuralPartialEq", "Unpin", "UnwindSafe"];

/// What of a library users see.
pub(super) struct Shown<'a> {
    index: &'a Value,
    /// Items that a path leads to which is not hidden, without members.
    visible: BTreeSet<String>,
    /// What each member belongs to: a type, a variant, a trait, an implementation.
    parents: BTreeMap<String, &'a str>,
    /// Types that `bitflags` made.
    flags: BTreeSet<String>,
    /// Paths of hidden modules, as they stand in lines.
    pub(super) hidden_modules: Vec<String>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(json: &'a Value) -> Option<Self> {
        let index = json.get("index")?;
        let mut shown = Self {
            index,
            visible: BTreeSet::new(),
            parents: BTreeMap::new(),
            flags: BTreeSet::new(),
            hidden_modules: Vec::new(),
        };
        for (id, item) in index.as_object()? {
            shown.parents.extend(members(item).map(|member| (key(member), id.as_str())));
            match inner(item)? {
                ("module", _) if is_hidden(item) => {
                    shown.hidden_modules.push(path(&json["paths"][id]["path"])?)
                }
                ("impl", inner) if name(inner) == Some("Flags") => {
                    shown.flags.insert(key(&inner["for"]["resolved_path"]["id"]));
                }
                _ => {}
            }
        }
        shown.visit(json.get("root")?)?;
        Some(shown)
    }

    /// Notes what a path leads to.
    fn visit(&mut self, id: &Value) -> Option<()> {
        let Some(item) = item(self.index, id).filter(|item| is_public(item)) else { return Some(()) };
        if !self.visible.insert(key(id)) {
            return Some(());
        }
        match inner(item)? {
            ("module", inner) => inner["items"].as_array()?.iter().try_for_each(|id| self.visit(id)),
            // A module may be private or hidden; what is taken out of it is neither.
            ("use", inner) if inner["is_glob"] == true => {
                let module = self::item(self.index, &inner["id"]).and_then(self::inner);
                let items = module.and_then(|(_, module)| module["items"].as_array());
                items.into_iter().flatten().try_for_each(|id| self.visit(id))
            }
            ("use", inner) if !inner["id"].is_null() => self.visit(&inner["id"]),
            _ => Some(()),
        }
    }

    /// What the list says of an item, if anything; `line` is how it would.
    pub(super) fn item(&self, listed: &PublicItem, line: String) -> Option<Item> {
        let id = json!(listed.id().0);
        let owners: Vec<Value> = std::iter::successors(Some(id.clone()), |id| self.owner(id)).collect();
        let rank = match (self.kind(&id)?, owners.get(1).and_then(|id| self.kind(id))) {
            (("impl", inner), _) => self.has_impl(inner, &line).then_some(3),
            ((kind, _), Some(("impl", parent))) => self.has_member(kind, parent),
            (("function", _), Some(_)) => Some(2),
            (_, Some(_)) => Some(1),
            (_, None) => Some(0),
        }?;
        let is_open =
            |id: &Value| item(self.index, id).is_none_or(|item| !is_hidden(item) && !is_generated(item));
        let is_visible = |id: &Value| self.visible.contains(&key(id));
        if !owners.iter().all(is_open) || !owners.iter().any(is_visible) {
            return None;
        }
        let name = item(self.index, &id)?["name"].as_str();
        let path = text::paths(&line).find(|path| path.rsplit("::").next() == name).map(str::to_owned);
        let hidden = path
            .as_ref()
            .is_some_and(|path| self.hidden_modules.iter().any(|module| path.starts_with(module)));
        Some(Item { owners: owners.iter().map(key).collect(), path, hidden, rank, line })
    }

    /// What an item belongs to that is no item of a module.
    fn owner(&self, id: &Value) -> Option<Value> {
        let Some(("impl", inner)) = self.kind(id) else {
            return self.parents.get(&key(id)).map(|parent| json!(parent));
        };
        let of = &inner["for"]["resolved_path"]["id"];
        let is_here = item(self.index, of).is_some();
        Some(if is_here { of.clone() } else { inner["trait"]["id"].clone() })
    }

    fn kind(&self, id: &Value) -> Option<(&str, &Value)> {
        item(self.index, id).and_then(inner)
    }

    fn has_impl(&self, inner: &Value, line: &str) -> bool {
        let Some(name) = name(inner) else { return false };
        let is_flags = self.flags.contains(&key(&inner["for"]["resolved_path"]["id"]));
        match name {
            _ if FOUND.contains(&name) => false,
            _ if is_flags => OF_FLAGS.contains(&name),
            "Send" | "Sync" => inner["is_negative"] == true || line.matches(name).count() > 1,
            _ => true,
        }
    }

    /// The rank of a member of an implementation; of a trait's only types and constants are listed.
    fn has_member(&self, kind: &str, parent: &Value) -> Option<u8> {
        let is_of_flags = || {
            let ids = parent["items"].as_array().into_iter().flatten();
            let mut names = ids.filter_map(|id| item(self.index, id)?["name"].as_str());
            names.any(|name| ["from_bits_retain", "iter_names"].contains(&name))
        };
        let is_function = kind == "function";
        match name(parent) {
            None => (!is_of_flags()).then_some(1 + u8::from(is_function)),
            Some(_) => (!is_function && self.has_impl(parent, "")).then_some(4),
        }
    }
}

/// The ids of what belongs to an item, which is no module.
fn members(item: &Value) -> impl Iterator<Item = &Value> {
    const PLACES: [&str; 6] =
        ["/items", "/variants", "/fields", "/kind/plain/fields", "/kind/tuple", "/kind/struct/fields"];
    let inner = inner(item).filter(|(kind, _)| *kind != "module").map(|(_, inner)| inner);
    let places = inner.into_iter().flat_map(|inner| PLACES.iter().filter_map(|place| inner.pointer(place)));
    places.filter_map(Value::as_array).flatten()
}

/// Made by `cargo xtask bindgen`, whose own step compares it, or made from its list of functions.
fn is_generated(item: &Value) -> bool {
    let is_of_c =
        |name: &str| name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    item["span"]["filename"].as_str().is_some_and(|file| file.contains("/generated/"))
        || item["name"].as_str().is_some_and(is_of_c)
}

/// The trait of an implementation, without its path.
fn name(implementation: &Value) -> Option<&str> {
    implementation["trait"]["path"].as_str()?.rsplit("::").next()
}

/// A path below the library, with what follows it in a longer one.
fn path(names: &Value) -> Option<String> {
    Some(names.as_array()?.iter().skip(1).filter_map(Value::as_str).map(|name| format!("{name}::")).collect())
}
