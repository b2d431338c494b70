//! `xtask/clients.toml`.

use serde_json::Value;
use std::path::Path;

use crate::Result;

/// One piece of software.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: String,
    /// pip's requirements, pinned.
    pub(super) pip: Vec<String>,
    /// Requirements that pip compiles, behind the others and with the client's variables.
    pub(super) compiled: Vec<String>,
    /// The client whose virtual environment has what it needs, if that is not its own.
    pub(super) environment: Option<String>,
    /// A source distribution on the same registry, which has the tests.
    pub(super) sdist: Option<String>,
    /// Files and options of pytest's, or `unittest:` and a package; for cargo's, parts of the names of tests.
    pub(super) tests: Vec<String>,
    /// What cargo gets, in place of pip.
    pub(super) package: Option<Package>,
    /// For the tests.
    pub(super) variables: Vec<(String, String)>,
    /// Every how many-th test is run.
    pub(super) every: usize,
    /// For the whole client.
    pub(super) seconds: u64,
    /// Passes, with the list's own sample.
    pub(super) least: usize,
    /// What is not run, and why.
    pub(super) left_out: Vec<Named>,
    /// What fails, and why.
    pub(super) known: Vec<Named>,
}

/// What cargo gets.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) version: String,
    pub(super) features: Vec<String>,
}

/// Tests with a reason.
#[derive(Debug)]
pub(super) struct Named {
    /// Parts of their names.
    pub(super) tests: Vec<String>,
    pub(super) why: String,
}

impl Named {
    pub(super) fn has(&self, test: &str) -> bool {
        self.tests.iter().any(|part| test.contains(part.as_str()))
    }
}

/// Reads the list; an entry with a key that means nothing is an error.
pub(super) fn read(file: &Path) -> Result<Vec<Client>> {
    parse(&std::fs::read_to_string(file)?).map_err(|error| format!("{}: {error}", file.display()).into())
}

fn parse(text: &str) -> Result<Vec<Client>> {
    let list: Value = toml::from_str(text)?;
    let clients = list["client"].as_array().ok_or("no [[client]]")?;
    clients.iter().map(client).collect()
}

fn client(value: &Value) -> Result<Client> {
    const KEYS: [&str; 14] = [
        "name",
        "pip",
        "sdist",
        "tests",
        "version",
        "features",
        "variables",
        "every",
        "seconds",
        "least",
        "left-out",
        "known",
        "environment",
        "compiled",
    ];
    let table = value.as_object().ok_or("a client is no table")?;
    let name = value["name"].as_str().ok_or("a client without a name")?.to_owned();
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("{name} has a key {key:?}, which means nothing").into());
    }
    let number = |key: &str, otherwise: u64| value[key].as_u64().unwrap_or(otherwise);
    let package = value["version"]
        .as_str()
        .map(|version| Package { version: version.into(), features: texts(&value["features"]) });
    let variables = value["variables"].as_object().into_iter().flatten();
    Ok(Client {
        pip: texts(&value["pip"]),
        compiled: texts(&value["compiled"]),
        environment: value["environment"].as_str().map(str::to_owned),
        sdist: value["sdist"].as_str().map(str::to_owned),
        tests: texts(&value["tests"]),
        package,
        variables: variables
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
        every: usize::try_from(number("every", 1))?.max(1),
        seconds: number("seconds", 600),
        least: usize::try_from(number("least", 1))?,
        left_out: named(&value["left-out"], &name)?,
        known: named(&value["known"], &name)?,
        name,
    })
}

fn named(value: &Value, client: &str) -> Result<Vec<Named>> {
    let entries = value.as_array().into_iter().flatten();
    entries
        .map(|entry| {
            let (tests, why) = (texts(&entry["tests"]), entry["why"].as_str().unwrap_or_default().to_owned());
            let is_said = !tests.is_empty() && tests.iter().all(|part| !part.is_empty()) && !why.is_empty();
            is_said
                .then_some(Named { tests, why })
                .ok_or_else(|| format!("{client}: an entry needs `tests` and `why`").into())
        })
        .collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{parse, read};

    #[test]
    fn every_client_is_pinned_and_has_tests() {
        let clients = read(&crate::cargo::root().unwrap().join("xtask/clients.toml")).unwrap();
        assert!(clients.len() >= 10);
        for client in clients {
            assert!(client.least > 0 && client.seconds > 0, "{}", client.name);
            assert!(
                client.pip.iter().chain(&client.compiled).chain(&client.sdist).all(|one| one.contains("==")),
                "{:?}",
                client.pip
            );
            assert!(client.package.is_some() || !client.tests.is_empty(), "{}", client.name);
            let has_packages = !client.pip.is_empty() || client.environment.is_some();
            assert!(client.package.is_some() || has_packages, "{}", client.name);
        }
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        let refused = |text: &str| parse(text).err().unwrap().to_string();
        assert!(refused("[[client]]\nname = 'a'\nleats = 3").contains("a has a key \"leats\""));
        assert!(
            refused("[[client]]\nname = 'a'\nknown = [{ tests = ['b'] }]")
                .contains("needs `tests` and `why`")
        );
        // A part of every name would make every failure known.
        assert!(refused("[[client]]\nname = 'a'\nknown = [{ tests = [''], why = 'c' }]").contains("needs"));
    }
}
