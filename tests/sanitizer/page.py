#!/usr/bin/env python3
"""Writes h200.txt and the table of docs/sanitizer.md.

    page.py                the table, from cases.txt and h200.txt
    page.py RESULTS...     h200.txt before, from the results.json of one run of compare.py or several; later ones count
"""

import json
import re
import sys
from pathlib import Path

from runner import read_cases

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/sanitizer.md"
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SILENT = ("-", "hangs", "not run")
GROUPS = {"memory": "Accesses and leaks", "race": "Order", "init": "Initialisation", "sync": "Synchronisation"}


def main():
    if sys.argv[1:]:
        write_results([json.loads(Path(name).read_text()) for name in sys.argv[1:]])
    results = read_results()
    cases = [case for case in read_cases() if case.is_pair()]
    table, sums = [], dict.fromkeys([*TOOLS, "alone", "all"], 0)
    for module in GROUPS:
        table += ["", f"### {GROUPS[module]}", "", "| fault | | H200 alone | memcheck | racecheck | initcheck | synccheck | emulator |"]
        table += ["|---|---|---|---|---|---|---|---|"]
        for case in (case for case in cases if case.module.endswith(f"/{module}")):
            alone, *tools = results[case.name]
            for tool, said in zip(TOOLS, tools):
                sums[tool] += said not in SILENT
            sums["alone"] += case.finds != "nothing" and not case.finds.startswith(("check:", "schedules:"))
            sums["all"] += case.finds != "nothing"
            cells = [f"`{case.name}`", case.words, alone, *map(short, tools), shown(case.finds)]
            table.append(f"| {' | '.join(cells)} |")
    found = [results[case.name][1:] for case in cases]
    any_tool = sum(any(said not in SILENT for said in tools) for tools in found)
    head = ["| | memcheck | racecheck | initcheck | synccheck | any of the four | emulator, its checks | with `check` and `--schedules` |"]
    head.append("|---|---|---|---|---|---|---|---|")
    counts = [str(sums[tool]) for tool in TOOLS] + [str(any_tool), str(sums["alone"]), str(sums["all"])]
    head.append(f"| found, of {len(cases)} faults | {' | '.join(counts)} |")
    head.append(f"| reported, of {len(read_cases())} correct kernels | 0 | 1 | 0 | 0 | 1 | 0 | 0 |")
    text = PAGE.read_text()
    text = between(text, "sums", head)
    PAGE.write_text(between(text, "table", table[1:]))


def between(text, name, lines):
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(start)
    return before + start + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1]


def short(said):
    return said if said in SILENT else "yes"


def shown(finds):
    kind, _, word = finds.rpartition(":")
    words = {"fault": word, "check": f"`check`: {word}", "schedules": f"`--schedules`: {word}"}
    return words.get(kind, "-" if finds == "nothing" else finds)


def read_results():
    lines = [line for line in (HERE / "h200.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {name: cells for name, *cells in (line.split(" | ") for line in lines)}


def write_results(runs):
    said = {}
    for run in (run for result in runs for run in result["runs"] if run["side"] == "wrong"):
        said.setdefault(run["name"], {})[run["tool"]] = verdict(run)
    head = "# What an H200 says of each fault: alone, and under memcheck, racecheck, initcheck and synccheck. Written by page.py.\n"
    line = lambda name: " | ".join([name, *(said[name][tool] for tool in ["none", *TOOLS])])
    names = [case.name for case in read_cases() if case.is_pair()]
    (HERE / "h200.txt").write_text(head + "".join(f"{line(name)}\n" for name in names))


def verdict(run):
    """The error of the driver; or the first thing that a tool says of a kernel or of memory."""
    if run["code"] == "timeout":
        return "hangs"
    failed = run["cases"][0]["failed"] if run["cases"] else None
    if run["tool"] == "none":
        return re.search(r"\((\d+)\)$", failed).group(1) if failed else "-"
    # What the driver returns, which a tool repeats, is no finding of its own.
    own = [line for line in run["said"] if line and "SUMMARY" not in line and not line.startswith("Program hit")]
    # Nor is what is left because the program has ended early.
    own = [line for line in own if not line.startswith("Leaked") or run["name"].startswith("leak_")]
    return re.sub(r"(?: at \S+$| at 0x\.\.)", "", own[0]) if run["summary"] and own else "-"


if __name__ == "__main__":
    main()
