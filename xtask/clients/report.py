"""A plugin of pytest's for `cargo xtask clients`: one line for each test, a part of the tests, and an end at the first failure.

CLIENTS_RESULTS names the file of the lines: `started`, `passed`, `failed` or `skipped`, the test, and for a failure what it says,
separated by tabs. Tests that are in it already are not run again: after a failure the process ends, as a driver that has seen a fault
answers nothing more, and the next process goes on behind it. CLIENTS_EVERY=7 takes every seventh test, CLIENTS_LEFT_OUT has parts of names of
tests that are not run, one on a line, and CLIENTS_SECONDS is what one test may take.
"""

import faulthandler
import os
import sys

import pytest

RESULTS = os.environ["CLIENTS_RESULTS"]
EVERY = int(os.environ.get("CLIENTS_EVERY", "1"))
SECONDS = float(os.environ.get("CLIENTS_SECONDS", "120"))
LEFT_OUT = [part for part in os.environ.get("CLIENTS_LEFT_OUT", "").split("\n") if part]

ended = {}


def write(outcome, test, text=""):
    with open(RESULTS, "a", encoding="utf-8") as file:
        file.write(f"{outcome}\t{test}\t{text}\n")


def lines():
    try:
        with open(RESULTS, encoding="utf-8") as file:
            return [line.split("\t") for line in file.read().splitlines()]
    except FileNotFoundError:
        return []


def pytest_collection_modifyitems(config, items):
    done = {line[1] for line in lines()}
    kept = [item for item in items if not any(part in item.nodeid for part in LEFT_OUT)]
    if not done:
        write("left out", f"{len(items) - len(kept)}")
    kept = kept[::EVERY]
    items[:] = [item for item in kept if item.nodeid not in done]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid, location):
    ended.clear()
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    write("started", nodeid)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed:
        crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
        text = crash.message if crash else str(report.longrepr)
        ended.setdefault("failed", " ".join(text.split())[:400])
    elif report.skipped:
        expected = hasattr(report, "wasxfail")
        ended.setdefault("passed" if expected else "skipped", "")
    elif report.when == "call":
        ended.setdefault("passed", "")


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid, location):
    faulthandler.cancel_dump_traceback_later()
    outcome = next((one for one in ("failed", "skipped", "passed") if one in ended), "passed")
    write(outcome, nodeid, ended.get(outcome, ""))
    if outcome == "failed":
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def pytest_collectreport(report):
    if report.failed and report.nodeid not in {line[1] for line in lines()}:
        crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
        text = crash.message if crash else str(report.longrepr)
        write("failed", report.nodeid, " ".join(text.split())[-400:])


def pytest_sessionfinish(session, exitstatus):
    write("end", str(int(exitstatus)))
