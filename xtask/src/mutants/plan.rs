//! `xtask/mutants.toml`: what is mutated, the tests that belong to it, and the survivors that are accepted.

use super::ByTests;
use crate::Result;
use toml::{Table, Value};

/// The file.
pub(super) struct Plan {
    /// Of cargo-mutants.
    pub(super) version: String,
    /// How many of a folder's viable mutants must be caught, in percent.
    pub(super) percent: f64,
    /// After which the tests of a mutant are ended: it is caught.
    pub(super) seconds: i64,
    pub(super) folders: Vec<Folder>,
    /// The beginning of a path, and tests.
    tests: Vec<(String, String)>,
    /// Regular expressions of mutants that are not tried.
    pub(super) excluded: Vec<String>,
    /// Survivors without line and column.
    accepted: Vec<String>,
}

/// Files that are counted together.
pub(super) struct Folder {
    pub(super) name: String,
    /// How their paths begin.
    files: Vec<String>,
}

impl Folder {
    pub(super) fn has(&self, file: &str) -> bool {
        file.ends_with(".rs") && self.files.iter().any(|start| file.starts_with(start.as_str()))
    }
}

impl Plan {
    pub(super) fn read(text: &str) -> Result<Plan> {
        let file: Table = text.parse()?;
        let number = |key: &str| value(&file, key, Value::as_integer);
        let folder =
            |table: &Table| Ok(Folder { name: string(table, "name")?, files: strings(table, "files")? });
        let tests = value(&file, "tests", Value::as_table)?;
        let tests = tests.keys().map(|path| Ok((path.clone(), string(tests, path)?)));
        let with_reason = |table: &Table| {
            let mutants = strings(table, "mutants")?;
            match string(table, "why")?.as_str() {
                "" => Err(format!("{mutants:?}: no reason").into()),
                _ => Ok(mutants),
            }
        };
        let all = |key: &str| {
            Ok::<_, crate::Failure>(tables(&file, key).map(with_reason).collect::<Result<Vec<_>>>()?.concat())
        };
        Ok(Plan {
            version: string(&file, "cargo-mutants")?,
            percent: number("percent")? as f64,
            seconds: number("seconds")?,
            folders: tables(&file, "folder").map(folder).collect::<Result<_>>()?,
            tests: tests.collect::<Result<_>>()?,
            excluded: all("excluded")?,
            accepted: all("accepted")?,
        })
    }

    /// Groups files by their tests: those of the longest beginning of their path.
    pub(super) fn by_tests<'p, 'f>(
        &'p self,
        files: impl Iterator<Item = &'f String>,
    ) -> Result<ByTests<'p, 'f>> {
        let mut groups = ByTests::new();
        for file in files {
            let fitting = self.tests.iter().filter(|(start, _)| file.starts_with(start.as_str()));
            let Some((_, tests)) = fitting.max_by_key(|(start, _)| start.len()) else {
                return Err(format!("xtask/mutants.toml: no tests for {file}").into());
            };
            groups.entry(tests).or_default().insert(file);
        }
        Ok(groups)
    }

    /// Whether a survivor is on the list.
    pub(super) fn accepts(&self, missed: &str) -> bool {
        self.accepted.iter().any(|accepted| *accepted == without_place(missed))
    }
}

/// `src/a.rs:12:3: replace x` as `src/a.rs: replace x`: a list with lines would be out of date after each edit.
fn without_place(mutant: &str) -> String {
    match mutant.splitn(4, ':').collect::<Vec<_>>()[..] {
        [file, _line, _column, what] => format!("{file}:{what}"),
        _ => mutant.to_owned(),
    }
}

fn value<'t, T>(table: &'t Table, key: &str, of: impl Fn(&'t Value) -> Option<T>) -> Result<T> {
    let found = table.get(key).and_then(of);
    found.ok_or_else(|| format!("xtask/mutants.toml: {key} is missing, or of another type").into())
}

fn string(table: &Table, key: &str) -> Result<String> {
    value(table, key, Value::as_str).map(str::to_owned)
}

fn strings(table: &Table, key: &str) -> Result<Vec<String>> {
    let all = value(table, key, Value::as_array)?.iter().map(|text| Some(text.as_str()?.to_owned()));
    all.collect::<Option<_>>().ok_or_else(|| format!("xtask/mutants.toml: {key} is not all text").into())
}

fn tables<'t>(table: &'t Table, key: &str) -> impl Iterator<Item = &'t Table> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Plan;

    const TEXT: &str = r#"
        cargo-mutants = "1.2.3"
        percent = 95
        seconds = 60
        [[folder]]
        name = "a"
        files = ["src/a/", "src/b/x"]
        [tests]
        "src/" = "lib all"
        "src/a/c" = "c"
        [[excluded]]
        mutants = ["Debug"]
        why = "text"
        [[accepted]]
        mutants = ["src/a/c.rs: replace f -> bool with true in T::g"]
        why = "the same"
    "#;

    #[test]
    fn the_longest_beginning_of_a_path_has_the_tests() {
        let plan = Plan::read(TEXT).unwrap();
        let files: Vec<String> = ["src/a/c.rs", "src/a/cc.rs", "src/b/x.rs"].map(str::to_owned).into();
        let groups = plan.by_tests(files.iter()).unwrap();
        assert_eq!(groups["c"].len(), 2);
        assert!(groups["lib all"].contains("src/b/x.rs"));
        assert!(plan.by_tests(["other.rs".to_owned()].iter()).is_err());
        assert!(plan.folders[0].has("src/b/xy.rs") && !plan.folders[0].has("src/b/y.rs"));
    }

    #[test]
    fn survivors_are_listed_without_their_lines_and_with_a_reason() {
        let plan = Plan::read(TEXT).unwrap();
        assert!(plan.accepts("src/a/c.rs:10:20: replace f -> bool with true in T::g"));
        assert!(!plan.accepts("src/a/c.rs:10:20: replace f -> bool with false in T::g"));
        assert!(Plan::read(&TEXT.replace("the same", "")).is_err());
        assert_eq!(plan.excluded, ["Debug"]);
        assert!(Plan::read(&TEXT.replace("text", "")).is_err());
        assert!(Plan::read("percent = 1").is_err());
    }

    /// The file of this repository.
    #[test]
    fn the_plan_is_whole() {
        let plan = Plan::read(include_str!("../../mutants.toml")).unwrap();
        assert!(plan.folders.len() >= 5 && plan.percent >= 95.0);
        for mutant in &plan.accepted {
            // `FILE: CHANGE in FUNCTION`, or `FILE: replace FUNCTION -> TYPE with VALUE`.
            let (file, change) = mutant.split_once(": ").unwrap();
            let function = match change.rsplit_once(" in ") {
                Some((_, function)) => function,
                None => change.trim_start_matches("replace ").split(" -> ").next().unwrap(),
            };
            let name = function.rsplit("::").next().unwrap().split(['<', ' ']).next().unwrap();
            let text = std::fs::read_to_string(crate::cargo::root().unwrap().join(file)).unwrap();
            assert!(text.contains(&format!("fn {name}")), "{mutant}");
        }
    }
}
