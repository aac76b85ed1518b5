"""The command line."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

import discreet as dc

SEX = "SELECT sex, COUNT(*) AS n FROM census GROUP BY sex"
EDUCATION = "SELECT education, COUNT(*) AS n FROM census GROUP BY education"
AVERAGE = "SELECT sex, AVG(age) AS age FROM census GROUP BY sex"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="discreet", description="Ask a private table anything.")
    parser.add_argument("--version", action="version", version=f"discreet {dc.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("demo", help="ask the census table that ships with discreet a few private questions")
    chosen = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without a sign shows ? and goes on
    try:
        match chosen.command:
            case "demo":
                demo()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 1
    return 0


def demo() -> None:
    """One session on the census table: price, answer, the same answer free, a refusal, and what the ledger holds."""
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
        _say("48,842 people of a census, and a budget of epsilon = 1 for everything that is ever asked about them:")
        _code('session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger="census.ledger")')
        session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger=Path(folder) / "census.ledger")

        _say("The price and the error come first. A quote reads no row and is free:")
        _code(f'session.quote("{SEX}", epsilon=0.1)')
        _show(session.quote(SEX, epsilon=0.1))

        _say("The answer. The debit was on disk before the first row was read:")
        _code(f'session.sql("{SEX}", epsilon=0.1)')
        _show(session.sql(SEX, epsilon=0.1))

        _say("The same question again, in other words: the same numbers, free.")
        _code('session.sql("SELECT COUNT(*) AS people, c.SEX FROM census AS c GROUP BY sex", epsilon=0.1)')
        _show(session.sql("SELECT COUNT(*) AS people, c.SEX FROM census AS c GROUP BY sex", epsilon=0.1))

        _say("A tenth of that price, for sixteen groups. The whiskers are where the true number is, 19 times in 20:")
        _code(f'session.sql("{EDUCATION}", epsilon=0.01).bars()')
        _show(session.sql(EDUCATION, epsilon=0.01).bars())

        _say("What cannot be answered is refused, free, with what to write instead:")
        for text, epsilon in ((AVERAGE, "0.1"), ("SELECT race, COUNT(*) AS n FROM census GROUP BY race", "0.95")):
            _code(f'session.sql("{text}", epsilon={epsilon})')
            try:
                session.sql(text, epsilon=epsilon)
            except dc.Refused as refusal:
                _show(f"{type(refusal).__name__}: {refusal}")

        _say("The ledger has every debit, in shares of the budget, chained by hashes:")
        _code("session.history()")
        for entry in session.history():
            _show(
                f"{entry.number}  {entry.kind:<8} {float(entry.share):>6.1%}  {entry.hash[:12]}  {_short(entry.body)}"
            )
        _code("session.spent, session.remaining")
        _show(f"{float(session.spent):.1%}, {float(session.remaining):.1%}")


def _say(text: str) -> None:
    print(f"\n{text}")


def _code(text: str) -> None:
    print(textwrap.indent(text, ">>> "))


def _show(thing: object) -> None:
    print(textwrap.indent(str(thing), "    "))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


if __name__ == "__main__":
    sys.exit(main())
