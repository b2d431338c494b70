//! Which failures are known, and the table.

use super::list::Client;
use super::{Kind, Outcome};

/// What the tests of a client came to.
pub(super) struct Counts {
    passed: usize,
    skipped: usize,
    /// Test, what it said, and its cause where the list has one.
    failed: Vec<(String, String, Option<String>)>,
    /// The causes of the list that no failure had.
    unused: Vec<String>,
}

/// The head of the table.
pub(super) fn heading() -> String {
    "| client | tests | passed | failed, known | failed | skipped |\n|---|---|---|---|---|---|\n".into()
}

impl Counts {
    pub(super) fn of(client: &Client, outcomes: &[Outcome]) -> Self {
        let count = |kind| outcomes.iter().filter(|outcome| outcome.kind == kind).count();
        let cause = |test: &str| client.known.iter().find(|known| known.has(test));
        let failed = outcomes.iter().filter(|outcome| outcome.kind == Kind::Failed);
        let failed: Vec<_> = failed
            .map(|one| (one.test.clone(), one.text.clone(), cause(&one.test).map(|known| known.why.clone())))
            .collect();
        let is_used = |why: &String| failed.iter().any(|(.., cause)| cause.as_ref() == Some(why));
        let unused =
            client.known.iter().map(|known| &known.why).filter(|why| !is_used(why)).cloned().collect();
        Self { passed: count(Kind::Passed), skipped: count(Kind::Skipped), failed, unused }
    }

    fn known(&self) -> usize {
        self.failed.iter().filter(|(.., cause)| cause.is_some()).count()
    }

    /// A line for each failure, and for each cause that is in vain.
    pub(super) fn failures(&self) -> String {
        let failed = self.failed.iter().map(|(test, text, cause)| match cause {
            Some(why) => format!("known   {test}: {why}\n"),
            None => format!("FAILED  {test}: {text}\n"),
        });
        let unused = self.unused.iter().map(|why| format!("unused  no failure has the known cause: {why}\n"));
        failed.chain(unused).collect()
    }

    pub(super) fn row(&self, client: &Client, every: Option<usize>) -> String {
        let (name, known) = (&client.name, self.known());
        let tests = match every.unwrap_or(client.every) {
            1 => "all".to_owned(),
            every => format!("one in {every}"),
        };
        let failed = self.failed.len() - known;
        format!("| {name} | {tests} | {} | {known} | {failed} | {} |\n", self.passed, self.skipped)
    }

    /// What makes the client a failure.
    pub(super) fn wrong(&self, client: &Client, every: Option<usize>) -> Vec<String> {
        let name = &client.name;
        let failed = self.failed.len() - self.known();
        let mut wrong = Vec::new();
        if failed > 0 {
            wrong.push(format!("clients: {name}: {failed} failures with no known cause"));
        }
        let is_own_sample = every.is_none_or(|every| every == client.every);
        if is_own_sample && self.passed < client.least {
            wrong.push(format!(
                "clients: {name}: {} passed, not the {} of the list",
                self.passed, client.least
            ));
        }
        wrong
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::list::{Client, Named};
    use super::*;

    fn client() -> Client {
        let known = vec![
            Named { tests: vec!["ipc".into()], why: "another machine".into() },
            Named { tests: vec!["graphics".into()], why: "no screen".into() },
        ];
        Client {
            name: "a".into(),
            pip: Vec::new(),
            compiled: Vec::new(),
            environment: None,
            sdist: None,
            tests: Vec::new(),
            package: None,
            variables: Vec::new(),
            every: 2,
            seconds: 1,
            least: 2,
            left_out: Vec::new(),
            known,
        }
    }

    fn outcome(test: &str, kind: Kind) -> Outcome {
        Outcome { test: test.into(), kind, text: "says".into() }
    }

    #[test]
    fn only_failures_of_known_tests_are_known() {
        let mut outcomes = vec![
            outcome("one", Kind::Passed),
            outcome("two", Kind::Passed),
            outcome("test_ipc_1", Kind::Failed),
            outcome("three", Kind::Skipped),
        ];
        let counts = Counts::of(&client(), &outcomes);
        assert_eq!(counts.row(&client(), None), "| a | one in 2 | 2 | 1 | 0 | 1 |\n");
        assert!(counts.wrong(&client(), None).is_empty());
        assert!(counts.failures().contains("unused  no failure has the known cause: no screen"));
        outcomes.push(outcome("four", Kind::Failed));
        let counts = Counts::of(&client(), &outcomes);
        assert_eq!(counts.wrong(&client(), None), ["clients: a: 1 failures with no known cause"]);
        assert!(counts.failures().contains("FAILED  four: says"));
    }

    #[test]
    fn too_few_passes_are_wrong_in_the_sample_that_they_were_counted_in() {
        let counts = Counts::of(&client(), &[outcome("one", Kind::Passed)]);
        assert_eq!(counts.wrong(&client(), None), ["clients: a: 1 passed, not the 2 of the list"]);
        assert!(counts.wrong(&client(), Some(9)).is_empty());
    }
}
