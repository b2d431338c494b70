//! The cases of `tests/sanitizer/cases.txt`, whose head says how the file is written.

use std::path::PathBuf;

/// A kernel and what the host does with it.
#[derive(Debug)]
pub(crate) struct Case {
    /// File of its PTX, from the root of the repository.
    pub(crate) module: String,
    pub(crate) name: String,
    /// What is reported of the kernel with the fault; none where there is no such kernel.
    pub(crate) finds: Option<String>,
    pub(crate) steps: Vec<String>,
}

/// A file of the repository.
pub(crate) fn text(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let (mut cases, mut module) = (Vec::<Case>::new(), String::new());
    let text = text("tests/sanitizer/cases.txt");
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with("  ") {
            cases.last_mut().unwrap().steps.push(line.trim().to_owned());
            continue;
        }
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let finds = match words[0] {
            "module" => {
                module = format!("{}.ptx", words[1]);
                continue;
            }
            "case" => Some(words[2].to_owned()),
            "correct" => None,
            other => panic!("{other}"),
        };
        cases.push(Case { module: module.clone(), name: words[1].to_owned(), finds, steps: Vec::new() });
    }
    cases
}
