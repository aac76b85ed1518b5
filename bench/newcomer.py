"""What a newcomer writes for a grouped count and mean with a user id, in ours and in five other systems: all are run.

Lines are those of the program, with its imports, without blanks. Ideas are what it has to know about beside Python: the
lists are ours, and stand here to be argued with.
"""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Report, parser, versions

PROGRAMS = Path(__file__).parent / "newcomer"
LINES, MOST_IDEAS = 6, 4
IDEAS = {
    "ours": ["table with its unit", "public facts", "budget", "question"],
    "opendp": ["feature flag", "context", "unit", "identifier", "loss", "split", "margin length", "margin groups",
               "truncation", "filling NULL and NaN", "bounds", "release and collect"],
    "tumult": ["Spark session", "session", "kind of budget", "protected change", "builder", "constraint", "key set",
               "budget of each query", "clamps"],
    "smartnoise": ["epsilon of each statistic", "tree of metadata", "private id", "rows of an id", "bounds", "reader",
                   "its SQL", "multiples of the cost"],
    "diffprivlib": ["accountant", "tools", "epsilon of each call", "bounds", "keys by hand", "rows of a user by hand",
                    "epsilon divided by hand"],
    "pipelinedp": ["accountant", "back end", "engine", "parameters", "metrics", "kind of noise", "groups of a user",
                   "rows in a group", "clamps", "extractors", "order of computing budgets", "lazy result"],
}  # fmt: skip


def visits(folder: Path) -> None:
    """Write a table of 20,000 rows of 5,000 people."""
    source = random.Random(1)
    with (folder / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user_id", "city", "spend"])
        writer.writerows([source.randrange(5000), source.choice("ABCD"), source.randrange(5000) / 100]
                         for _ in range(20_000))  # fmt: skip


def lines(name: str) -> int:
    return sum(bool(line.strip()) for line in (PROGRAMS / f"{name}.py").read_text("utf-8").splitlines())


def ran(name: str, python: str) -> str:
    """Run a program in an empty folder; return what it printed last, or how it failed."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        visits(Path(folder))
        # -I: the folder of the program has names like those of the libraries
        command = [str(Path(python).absolute()), "-I", "-W", "ignore", str(PROGRAMS / f"{name}.py")]
        told = {**os.environ, "PYSPARK_PYTHON": command[0]}  # without it Tumult's workers do not find Tumult
        done = subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, timeout=600, check=False)
    return "runs" if done.returncode == 0 and done.stdout.strip() else f"failed: {done.stderr.strip()[-200:]}"


def main() -> None:
    options = parser(__doc__)
    for name in list(IDEAS)[1:]:
        options.add_argument(f"--{name}-python", metavar="PYTHON", help=f"an interpreter that has {name}")
    chosen = options.parse_args()
    report = Report("what a newcomer writes", versions("duckdb"))
    for name, ideas in IDEAS.items():
        python = sys.executable if name == "ours" else getattr(chosen, f"{name}_python")
        if python is None:
            continue
        written, held = f"{lines(name)} lines, {len(ideas)} ideas", ran(name, python)
        ours = name == "ours"
        fits = held == "runs" and (not ours or (lines(name) <= LINES and len(ideas) <= MOST_IDEAS))
        aim = f"{LINES} lines, {MOST_IDEAS} ideas" if ours else "runs"
        if held != "runs":
            print(f"{name} {held}", file=sys.stderr)
        report.fact(name, written if ours else "", "" if ours else written, aim, "pass" if fits else "MISS")
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
