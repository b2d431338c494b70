//! In which order the lines stand: by path, each type or trait with all that belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use super::text;

/// An item and its line.
pub(super) struct Item {
    /// Its id, that of what it belongs to, and so on up to an item of a module.
    pub(super) owners: Vec<String>,
    /// Its path in the line; implementations have none.
    pub(super) path: Option<String>,
    /// Whether that path leads through a hidden module.
    pub(super) hidden: bool,
    /// Where it stands among what belongs to the same type.
    pub(super) rank: u8,
    pub(super) line: String,
}

impl Item {
    fn is_member(&self) -> bool {
        self.owners.len() > 1
    }

    fn top(&self) -> &str {
        self.owners.last().map_or("", String::as_str)
    }
}

/// The lines in order: an item of a module once for each module that exports it, a member once, and nothing by a hidden path that has
/// another one.
pub(super) fn lines<'a>(items: &'a [Item]) -> Vec<String> {
    let open = open_paths(items);
    let is_top = |item: &&Item| !item.is_member();
    let pair = |item: &'a Item| Some((item.path.as_deref()?, *open.get(item.top())?));
    let other: BTreeMap<&str, &str> =
        items.iter().filter(is_top).filter_map(pair).filter(|(path, open)| path != open).collect();
    let (mut rows, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for item in items {
        let home = open.get(item.top()).copied();
        let place = match &item.path {
            Some(path) if !item.is_member() && !item.hidden => path,
            // By the other path it is there already.
            _ if !item.is_member() && home.is_some() => continue,
            path => home.or(path.as_deref()).unwrap_or_default(),
        };
        if !item.is_member() || seen.insert(&item.owners) {
            let is_own = |path: &str| !item.is_member() && path == place;
            let short = |path: &str| if is_own(path) { path.to_owned() } else { short(&other, path) };
            let line = text::with_paths(&item.line, short);
            rows.insert((place, item.rank, line));
        }
    }
    rows.into_iter().map(|(.., line)| line).collect()
}

/// The shortest path of each item of a module that is not hidden.
fn open_paths(items: &[Item]) -> BTreeMap<&str, &str> {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    for item in items.iter().filter(|item| !item.is_member() && !item.hidden) {
        let Some(path) = item.path.as_deref() else { continue };
        let length = |path: &str| (path.matches("::").count(), path.to_owned());
        open.entry(item.top())
            .and_modify(|old| *old = std::cmp::min_by_key(*old, path, |p| length(p)))
            .or_insert(path);
    }
    open
}

/// The same path, or the shortest one of the same item.
fn short(other: &BTreeMap<&str, &str>, path: &str) -> String {
    let below = |(long, short): (&&str, &&str)| {
        let rest = path.strip_prefix(long).filter(|rest| rest.is_empty() || rest.starts_with("::"))?;
        Some(format!("{short}{rest}"))
    };
    other.iter().find_map(below).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Item, lines};

    fn item(owners: &[&str], path: Option<&str>, rank: u8, line: &str) -> Item {
        Item {
            owners: owners.iter().map(|id| (*id).into()).collect(),
            path: path.map(str::to_owned),
            hidden: path.is_some_and(|path| path.starts_with("hidden::")),
            rank,
            line: line.into(),
        }
    }

    #[test]
    fn a_type_stands_with_its_members_under_its_shortest_path() {
        let items = [
            item(&["1"], Some("a::Type"), 0, "struct a::Type"),
            item(&["3", "2", "1"], Some("Type::f"), 2, "fn Type::f(&self)"),
            item(&["2", "1"], None, 3, "impl Debug for Type"),
            item(&["1"], Some("Type"), 0, "struct Type"),
            item(&["3", "2", "1"], Some("Type::f"), 2, "fn Type::f(&self)"),
            item(&["4"], Some("Zone"), 0, "struct Zone"),
        ];
        let expected =
            ["struct Type", "fn Type::f(&self)", "impl Debug for Type", "struct Zone", "struct a::Type"];
        assert_eq!(lines(&items), expected);
    }

    #[test]
    fn a_hidden_path_is_replaced_where_there_is_another() {
        let items = [
            item(&["1"], Some("hidden::Type"), 0, "struct hidden::Type"),
            item(&["1"], Some("Type"), 0, "struct Type"),
            item(&["2", "1"], Some("hidden::Type::field"), 1, "hidden::Type::field: u8"),
            item(&["3", "1"], None, 3, "impl Debug for hidden::Type"),
            item(&["5"], Some("f"), 0, "fn f(a: hidden::Other)"),
        ];
        assert_eq!(
            lines(&items),
            ["struct Type", "Type::field: u8", "impl Debug for Type", "fn f(a: hidden::Other)"]
        );
    }
}
