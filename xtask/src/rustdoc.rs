//! rustdoc's JSON of a library, and what is visible in it.
//!
//! Its form changes with each toolchain. The oldest Rust that the manifests promise stays the same until somebody raises it, so that one
//! makes it, everywhere; `RUSTC_BOOTSTRAP` has it take the options of a nightly.

use std::path::PathBuf;

use serde_json::Value;

use crate::Result;
use crate::cargo::{OLDEST_RUST, on, root, run};

/// Makes the JSON of the library of `package`, named `library`, with all features and what is hidden, and returns the file.
pub(crate) fn json(package: &str, library: &str) -> Result<PathBuf> {
    let target = root()?.join("target/rustdoc");
    let mut rustdoc =
        on(OLDEST_RUST, &["rustdoc", "--quiet", "--package", package, "--lib", "--all-features"])?;
    rustdoc.args(["--", "-Zunstable-options", "--output-format=json", "--document-hidden-items"]);
    run(rustdoc.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join(format!("doc/{library}.json")))
}

/// The item of an id, if the crate has it.
pub(crate) fn item<'a>(index: &'a Value, id: &Value) -> Option<&'a Value> {
    index.get(key(id))
}

/// An id as the index has it.
pub(crate) fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// Whether users see it where they see what it is in: items of a trait are `default`.
pub(crate) fn is_public(item: &Value) -> bool {
    ["public", "default"].iter().any(|visibility| item["visibility"] == *visibility) && !is_hidden(item)
}

/// Whether it is marked as hidden.
pub(crate) fn is_hidden(item: &Value) -> bool {
    item["attrs"].to_string().contains("doc(hidden)")
}

/// The kind of an item, and what is said of it.
pub(crate) fn inner(item: &Value) -> Option<(&str, &Value)> {
    item["inner"].as_object()?.iter().next().map(|(kind, inner)| (kind.as_str(), inner))
}
