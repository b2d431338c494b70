"""Runs tests of Python's `unittest` with the reports of `report.py`: `python unit.py PACKAGE`, for a package that pytest would import under
another name."""

import faulthandler
import importlib
import os
import pathlib
import sys
import unittest

import pytest
import report


class Result(unittest.TestResult):
    """A line for each test, and the process's end at the first failure."""

    def startTest(self, test):
        self.failure = None
        self.is_skipped = False
        report.write("started", test.id())
        faulthandler.dump_traceback_later(report.SECONDS, exit=True)

    def addFailure(self, test, err):
        if issubclass(err[0], pytest.skip.Exception):
            # `pytest.importorskip` in a test of unittest's.
            return self.addSkip(test, str(err[1]))
        self.failure = self.failure or " ".join(f"{err[0].__name__}: {err[1]}".split())[:400]
        if not hasattr(test, "_testMethodName"):
            # A class or a module whose setting up failed: none of its tests is started.
            report.write("failed", str(test), self.failure)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(test, err)

    def addSkip(self, test, reason):
        self.is_skipped = True
        if not hasattr(test, "_testMethodName"):
            report.write("skipped", str(test))

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        outcome = "failed" if self.failure else "skipped" if self.is_skipped else "passed"
        report.write(outcome, test.id(), self.failure or "")
        if self.failure:
            sys.stdout.flush()
            os._exit(1)


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def loaded(package):
    """The tests of all files of a package; a file that says that it is to be skipped is."""
    folder = pathlib.Path(importlib.import_module(package).__path__[0])
    for file in sorted(folder.rglob("test_*.py")):
        name = ".".join((package, *file.relative_to(folder).with_suffix("").parts))
        try:
            yield from flat(unittest.defaultTestLoader.loadTestsFromName(name))
        except (unittest.SkipTest, pytest.skip.Exception):
            pass


def main():
    # Each once, in the same order everywhere.
    tests = {test.id(): test for test in loaded(sys.argv[1])}
    tests = [tests[name] for name in sorted(tests)]
    done = {line[1] for line in report.lines()}
    kept = [test for test in tests if not any(part in test.id() for part in report.LEFT_OUT)]
    if not done:
        report.write("left out", f"{len(tests) - len(kept)} of {len(tests)}")
    kept = [test for test in kept[:: report.EVERY] if test.id() not in done]
    unittest.TestSuite(kept).run(Result())
    report.write("end", "0")


if __name__ == "__main__":
    main()
