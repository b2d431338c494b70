//! `cargo xtask gate features`: checks that the library builds with each of its features alone.

use toml::Table;

use crate::Result;
use crate::cargo::{cargo, root, run};

/// Clippy, without a warning, over the library: with no feature, with each one alone, with all.
pub(crate) fn check() -> Result<()> {
    let manifest: Table = std::fs::read_to_string(root()?.join("Cargo.toml"))?.parse()?;
    for features in sets(&manifest)? {
        println!("--- features: {features:?}");
        let arguments = ["clippy", "--quiet", "--package", "cuda-launch", "--lib", "--no-default-features"];
        run(cargo(&arguments)?.args(["--features", &features, "--", "--deny", "warnings"]))?;
    }
    Ok(())
}

/// What to build with: lists for `--features`.
fn sets(manifest: &Table) -> Result<Vec<String>> {
    let features = manifest.get("features").and_then(|features| features.as_table());
    let names: Vec<String> = features.ok_or("Cargo.toml has no features")?.keys().cloned().collect();
    let all = names.join(",");
    Ok([vec![String::new()], names, vec![all]].concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::sets;

    #[test]
    fn each_feature_is_built_alone_and_with_all() {
        let manifest = "[features]\nb = []\ndefault = []\na = ['b']".parse().unwrap();
        assert_eq!(sets(&manifest).unwrap(), ["", "a", "b", "default", "a,b,default"]);
        assert!(sets(&"[package]".parse().unwrap()).is_err());
    }
}
