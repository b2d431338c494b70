//! `cargo xtask gate docs`: the documentation as docs.rs builds it, without a warning, and no link in its pages is dead.
//!
//! rustdoc reports links that name no item; this finds those that it does not look into: relative paths, anchors, and pages that another
//! crate should have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::Result;
use crate::api::LIBRARIES;
use crate::cargo::{on, root, run};

/// Links in what other crates say of their traits, which our pages repeat: `tracing`'s, of its `Instrument`.
const OF_OTHERS: &[&str] = &[
    "crate::Span",
    "dispatcher#setting-the-default-subscriber",
    "super::Span::current()",
    "super::Subscriber",
];

/// Builds all libraries with a nightly and all features, and follows the links.
pub(crate) fn check() -> Result<()> {
    let target = root()?.join("target/docsrs");
    let pages = target.join("doc");
    // Pages of items that are gone would have dead links.
    let _ = fs::remove_dir_all(&pages);
    // One after the other: rustdoc links to another crate where its pages are there.
    let mut doc = on("nightly", &["doc", "--no-deps", "--all-features", "--jobs=1"])?;
    doc.args(LIBRARIES.iter().flat_map(|(package, _)| ["--package", package]));
    run(doc.env("RUSTDOCFLAGS", "--cfg docsrs --deny warnings").env("CARGO_TARGET_DIR", &target))?;
    let site = Site::read(&pages)?;
    let dead = site.dead();
    println!(
        "{} pages, {} links",
        site.pages.len(),
        site.pages.values().map(|page| page.links.len()).sum::<usize>()
    );
    if dead.is_empty() { Ok(()) } else { Err(format!("dead links:\n  {}", dead.join("\n  ")).into()) }
}

/// The pages of a folder, by their paths in it.
struct Site {
    pages: BTreeMap<PathBuf, Page>,
}

#[derive(Default)]
struct Page {
    links: BTreeSet<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn of(html: &str) -> Self {
        let value = |rest: &str| rest.split('"').next().map(plain);
        let values = |name: &str| html.split(name).skip(1).filter_map(value).collect();
        Self { links: values(" href=\""), anchors: values(" id=\"") }
    }
}

impl Site {
    fn read(folder: &Path) -> Result<Self> {
        let mut site = Self { pages: BTreeMap::new() };
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next)? {
                let path = entry?.path();
                let is_page = path.extension().is_some_and(|extension| extension == "html");
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let page = if is_page { Page::of(&fs::read_to_string(&path)?) } else { Page::default() };
                    site.pages.insert(path.strip_prefix(folder)?.to_owned(), page);
                }
            }
        }
        Ok(site)
    }

    /// The links of pages that lead nowhere. rustdoc's own pages, beside the libraries, have an index where docs.rs puts them.
    fn dead(&self) -> Vec<String> {
        let mut dead = Vec::new();
        let of_libraries = self.pages.iter().filter(|(path, _)| path.components().count() > 1);
        for (path, page) in of_libraries {
            for link in page.links.iter().filter(|link| is_ours(link)) {
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let file = file.split('?').next().unwrap_or_default();
                let target = if file.is_empty() { path.clone() } else { joined(path, file) };
                let found = self.pages.get(&target).or_else(|| self.pages.get(&target.join("index.html")));
                // Lines of sources are numbered by a script.
                let is_line = target.starts_with("src");
                let is_there = |page: &Page| anchor.is_empty() || is_line || page.anchors.contains(anchor);
                if !found.is_some_and(is_there) {
                    dead.push(format!("{}: {link}", path.display()));
                }
            }
        }
        dead
    }
}

fn is_ours(link: &str) -> bool {
    !["://", "data:", "javascript:"].iter().any(|other| link.contains(other)) && !OF_OTHERS.contains(&link)
}

/// Where a link of a page leads.
fn joined(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().map_or_else(PathBuf::new, Path::to_owned);
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// Text as it was before it became the value of an attribute.
fn plain(value: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(value.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::{Page, Site};

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let first = r##"<a href="b/c.html#x">1</a><a href="#y">2</a><a id="y" href="b/">3</a><a href="https://d">4</a>
            <a href="gone.html">5</a><a href="b/c.html#gone">6</a><a href="../src/a.rs.html#1-2">7</a>"##;
        let pages = [
            ("a/a.html", first),
            ("a/b/c.html", r#"<p id="x"></p><a href="../a.html?search=e#y"></a>"#),
            ("a/b/index.html", ""),
            ("src/a.rs.html", ""),
        ];
        let site =
            Site { pages: pages.into_iter().map(|(path, html)| (path.into(), Page::of(html))).collect() };
        assert_eq!(site.dead(), ["a/a.html: b/c.html#gone", "a/a.html: gone.html"]);
    }
}
