//! Small trees, made up.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::circles::{Graph, circle, circles};
use super::names::imports;
use super::source::Crate;
use super::{Accepted, accepted, verdict};

/// The imports of a crate with these files; the root is `src/lib.rs`.
fn read(files: &[(&str, &str)]) -> Graph {
    let text = |path: &Path| {
        let file = files.iter().find(|(name, _)| Path::new("src").join(name) == path);
        file.map(|(_, text)| (*text).to_owned())
    };
    imports(&Crate::read(Path::new("src/lib.rs"), &text).unwrap())
}

fn has(graph: &Graph, from: &str, to: &str) -> bool {
    graph.has(&(format!("src/{from}"), format!("src/{to}")))
}

fn one(from: &str, to: &str) -> Accepted {
    Accepted::from([(format!("src/{from}"), format!("src/{to}"))])
}

/// `a/one.rs` and `b/mod.rs` import each other.
const CIRCLE: &[(&str, &str)] = &[
    ("lib.rs", "mod a; mod b;"),
    ("a/mod.rs", "mod one; pub use one::One;"),
    ("a/one.rs", "pub struct One; impl From<crate::b::Two> for One {}"),
    ("b/mod.rs", "use crate::a::One; pub struct Two(One);"),
];

#[test]
fn a_circle_across_folders_fails_and_is_shown() {
    let graph = read(CIRCLE);
    let found = circles(&graph);
    assert_eq!(found.len(), 1);
    let way = circle(&graph, &found[0]);
    assert!(way.contains("src/b/mod.rs: crate::a::One (src/a/one.rs)"), "{way}");
    assert!(way.contains("src/a/one.rs: crate::b::Two (src/b/mod.rs)"), "{way}");
    assert!(verdict(&graph, &Accepted::new()).unwrap_err().to_string().contains("2 files"));
}

#[test]
fn files_of_one_folder_may_know_each_other() {
    let graph = read(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod one; mod two; pub struct All(one::One);"),
        ("a/one.rs", "use super::two::Two; pub struct One(Two, super::All);"),
        ("a/two.rs", "pub struct Two(Box<super::one::One>);"),
    ]);
    assert!(has(&graph, "a/one.rs", "a/two.rs") && has(&graph, "a/mod.rs", "a/one.rs"));
    verdict(&graph, &Accepted::new()).unwrap();
}

#[test]
fn a_file_beside_its_folder_belongs_to_it() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod one; struct A(one::One);"),
        ("a/one.rs", "pub struct One(super::A);"),
    ];
    verdict(&read(&files), &Accepted::new()).unwrap();
}

#[test]
fn an_accepted_import_counts_as_long_as_it_closes_a_circle() {
    verdict(&read(CIRCLE), &one("a/one.rs", "b/mod.rs")).unwrap();
    let mut open = CIRCLE.to_vec();
    open[3].1 = "pub struct Two;";
    let stale = verdict(&read(&open), &one("a/one.rs", "b/mod.rs")).unwrap_err().to_string();
    assert!(stale.contains("src/a/one.rs -> src/b/mod.rs closes no circle any more"), "{stale}");
    let gone = verdict(&read(&open), &one("b/mod.rs", "a/one.rs")).unwrap_err().to_string();
    assert!(gone.contains("remove it"), "{gone}");
}

#[test]
fn the_list_wants_reasons() {
    let entry = "[[accepted]]\nfrom = 'a.rs'\nto = 'b.rs'\n";
    assert_eq!(accepted(&list(&format!("{entry}why = 'because'"))).unwrap().len(), 1);
    assert!(accepted(&list(entry)).unwrap_err().to_string().contains("no `why`"));
    assert!(accepted(&list(&format!("{entry}why = ''"))).is_err());
    assert!(accepted(&list("")).unwrap().is_empty());
}

#[test]
fn a_re_export_is_a_signpost() {
    let graph = read(&[
        ("lib.rs", "mod a; mod b; pub use a::Deep; pub use b::*; fn of(_: Near) {}"),
        ("a/mod.rs", "mod deep; pub use deep::{Deep, Near as Renamed};"),
        ("a/deep.rs", "pub struct Deep; pub struct Near;"),
        (
            "b.rs",
            "use crate::{Deep, a::Renamed}; pub use crate::a::Deep as Again; pub struct B(Deep, Renamed);",
        ),
    ]);
    assert!(has(&graph, "b.rs", "a/deep.rs"));
    assert!(!has(&graph, "b.rs", "a/mod.rs") && !has(&graph, "b.rs", "lib.rs"));
    assert!(!has(&graph, "a/mod.rs", "a/deep.rs") && !has(&graph, "lib.rs", "a/deep.rs"));
}

#[test]
fn a_re_export_that_is_used_is_an_import() {
    let files = [("lib.rs", "mod a; pub use a::A; struct B(A);"), ("a.rs", "pub struct A;")];
    assert!(has(&read(&files), "lib.rs", "a.rs"));
}

#[test]
fn paths_count_wherever_they_stand() {
    let places = [
        "fn f() { crate::b::g() }",
        "struct S { field: crate::b::B }",
        "fn f() { if true { let _ = [crate::b::B; 2]; } }",
        "rows! { name(super::b::B) = body; }",
        "fn f() { use crate::b; b::g() }",
        "use super::*; fn f() { b::g() }",
        "mod inner { use super::super::b::B; }",
        "fn f() { for _ in 0..crate::b::N {} }",
        "impl Iterator<Item = crate::b::B> for S {}",
        "#[cfg(not(test))] use crate::b::B;",
        "use crate::b::{self, g as other};",
        "pub mod c { } use crate::b::B;",
        "pub(crate) struct S; use crate::b::B;",
        "pub fn f() {} use crate::b::B;",
    ];
    for text in places {
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", text), ("b.rs", "pub fn g() {}")];
        assert!(has(&read(&files), "a.rs", "b.rs"), "{text}");
    }
}

#[test]
fn what_is_no_import() {
    let places = [
        "fn f() { x.crate_b() } // crate::b::B",
        "#[doc = \"crate::b::B\"] fn f() {}",
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(test)] use crate::b::B; fn f() {}",
        "fn f() { ::b::g() }",
        "use std::b::g; fn f() { std::b::g() }",
        "mod b { pub fn g() {} } fn f() { b::g() }",
        "use crate::b;",
    ];
    for text in places {
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", text), ("b.rs", "pub fn g() {}")];
        assert!(!has(&read(&files), "a.rs", "b.rs"), "{text}");
    }
}

#[test]
fn macros_lead_to_where_they_are_defined() {
    let graph = read(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "macro_rules! rows { () => {} } pub(crate) use rows; #[macro_export] macro_rules! told { () => {} }",
        ),
        ("b.rs", "use crate::a::rows; rows! {}"),
        ("c.rs", "fn f() { crate::told!() }"),
    ]);
    assert!(has(&graph, "b.rs", "a.rs") && has(&graph, "c.rs", "a.rs") && !has(&graph, "c.rs", "lib.rs"));
}

#[test]
fn a_file_can_be_named_by_its_path() {
    let graph = read(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "#[path = \"odd/../there.rs\"] mod one; struct A(one::One);"),
        ("there.rs", "pub struct One(crate::b::B);"),
        ("b.rs", "pub struct B;"),
    ]);
    assert!(has(&graph, "a.rs", "there.rs") && has(&graph, "there.rs", "b.rs"));
}

#[test]
fn re_exports_that_lead_in_a_circle_end() {
    let files = [
        ("lib.rs", "mod a; mod b; fn f(_: a::X) {}"),
        ("a.rs", "pub use crate::b::X;"),
        ("b.rs", "pub use crate::a::X;"),
    ];
    verdict(&read(&files), &Accepted::new()).unwrap();
}

#[test]
fn a_folder_that_is_one_thing_has_no_circles_below_it() {
    let mut graph = Graph::default();
    let file = |path: &str| (Path::new(path).to_owned(), Path::new(path).parent().unwrap().to_owned());
    let mut add = |from: &str, to: &str| {
        let ((from, from_folder), (to, to_folder)) = (file(from), file(to));
        graph.add((&from, &from_folder), (&to, &to_folder), "a::path");
    };
    add("src/x/a/one.rs", "src/x/b/two.rs");
    add("src/x/b/two.rs", "src/x/a/one.rs");
    assert_eq!(circles(&graph).len(), 1);
    graph.whole("src/xy");
    assert_eq!(circles(&graph).len(), 1, "another folder");
    graph.whole("src/x");
    assert!(circles(&graph).is_empty());
}

fn list(text: &str) -> toml::Table {
    text.parse().unwrap()
}
