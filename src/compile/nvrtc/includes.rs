//! The files that a source may include: what they hold is a part of what it compiles to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files and bytes that are looked through at most; a source with more is not kept in a cache.
const MOST_FILES: usize = 4096;
const MOST_BYTES: usize = 64 << 20;

/// Every file on disk that a text may include, directly or through others, with its bytes; or why that cannot be known.
///
/// It knows no conditions, so it finds more than the compiler reads, and of a name that several folders have every one.
pub(super) fn of(
    texts: &[&str],
    beside: Option<&Path>,
    folders: &[PathBuf],
) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let mut found: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut waiting = Vec::new();
    texts.iter().try_for_each(|text| wait(text, beside, &mut waiting))?;
    let mut bytes = 0;
    while let Some((name, beside)) = waiting.pop() {
        for folder in beside.iter().chain(folders) {
            let Ok(path) = folder.join(&name).canonicalize() else { continue };
            if !path.is_file() || !seen.insert(path.clone()) {
                continue;
            }
            let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            bytes += text.len();
            if seen.len() > MOST_FILES || bytes > MOST_BYTES {
                return Err("it includes too many files to search".into());
            }
            wait(&String::from_utf8_lossy(&text), path.parent(), &mut waiting)?;
            found.push((path, text));
        }
    }
    found.sort();
    Ok(found)
}

/// Puts what a text includes on the list, with the folder that its own `#include "x"` starts from.
fn wait(text: &str, beside: Option<&Path>, list: &mut Vec<(String, Option<PathBuf>)>) -> Result<(), String> {
    // A line may go on after a backslash.
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in text.lines() {
        let Some(rest) = directive(line) else { continue };
        let name = quoted(rest).ok_or_else(|| {
            format!("`{}` includes something that only the compiler can determine", line.trim())
        })?;
        list.push((name.to_string(), beside.map(Path::to_path_buf)));
    }
    // Whether a file is there is as good as its bytes: with it comes another entry.
    for (at, word) in text.match_indices("__has_include") {
        let rest = text.get(at + word.len()..).unwrap_or_default().trim_start_matches("_next").trim_start();
        let Some(rest) = rest.strip_prefix('(') else { continue };
        let name = quoted(rest.trim_start())
            .ok_or("a __has_include tests something that only the compiler can determine")?;
        list.push((name.to_string(), beside.map(Path::to_path_buf)));
    }
    match ["#embed", "__DATE__", "__TIME__", "__TIMESTAMP__", "#/*", "%:"]
        .iter()
        .find(|word| text.contains(**word))
    {
        Some(word) => Err(format!(
            "it contains `{word}`: what it compiles to may depend on more than the files it includes"
        )),
        None => Ok(()),
    }
}

/// The name between quotes or angles that a text begins with.
fn quoted(text: &str) -> Option<&str> {
    match text.split_at_checked(1)? {
        ("\"", name) => name.split('"').next(),
        ("<", name) => name.split('>').next(),
        _ => None,
    }
}

/// What follows `#include`.
fn directive(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let words = ["include_next", "include", "import"];
    Some(words.iter().find_map(|word| rest.strip_prefix(word))?.trim_start())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_are_found_through_files() {
        let folder = std::env::temp_dir().join(format!("cuda-launch-includes-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("a.h"), "# include <sub/b.h>\n#include <nowhere.h>").unwrap();
        std::fs::write(folder.join("sub/b.h"), "#inclu\\\nde \"c.h\"\n#include \"../a.h\"").unwrap();
        std::fs::write(folder.join("sub/c.h"), "int c;").unwrap();
        let found = of(&["#include \"a.h\""], None, std::slice::from_ref(&folder)).unwrap();
        let names: Vec<_> =
            found.iter().map(|(path, _)| path.file_name().unwrap().to_str().unwrap()).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        for name in ["a.h", "b.h", "c.h"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
    }

    #[test]
    fn what_only_the_compiler_knows_is_not_guessed() {
        assert!(of(&["#define H \"a.h\"\n#include H"], None, &[]).unwrap_err().contains("#include H"));
        assert!(of(&["#if __has_include(H)\n#endif"], None, &[]).is_err());
        assert!(of(&["#ifdef __has_include\n#if __has_include(<a.h>)\n#endif\n#endif"], None, &[]).is_ok());
        assert!(of(&["const char* t = __TIME__;"], None, &[]).is_err());
        assert!(of(&["int include; // #includes"], None, &[]).unwrap().is_empty());
    }
}
