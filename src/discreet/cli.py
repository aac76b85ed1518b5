"""The command line: the commands together, their exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import discreet as dc
from discreet.commands import ask, completion, describe, ledger
from discreet.commands.answers import NotWritten
from discreet.commands.console import note, say_json
from discreet.commands.parsers import Commands, Parser, command

REFUSED, BUDGET, UNAVAILABLE, FAILED, LEDGER, STOPPED = 1, 3, 4, 5, 6, 130

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (dc.BudgetExceeded, BUDGET),
    (dc.LedgerError, LEDGER),
    (dc.Refused, REFUSED),
    (dc.Unavailable, UNAVAILABLE),
    (dc.Failed, FAILED),
    (NotWritten, FAILED),
    (ImportError, REFUSED),  # of an extra; its message names it
    (OSError, UNAVAILABLE),
)
_EPILOG = """exit codes:
  0    done
  1    refused, and free: the message says what to write instead
  2    the command line itself is wrong
  3    the price is above what is left of the budget, or of the analyst's grant; free
  4    a source or a description cannot be reached; free
  5    it failed after it was charged
  6    the ledger cannot be trusted, is not there, or does not fit
  130  stopped from the keyboard

`discreet COMMAND --help` has an example of each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without a sign shows ? and goes on
    chosen = parser().parse_args(arguments)
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return REFUSED
    except tuple(kind for kind, _ in _CODES) as error:
        return _refused(error, as_json=chosen.json)
    except KeyboardInterrupt:
        spent = " What was reserved stays spent; asking again is free only if the answer was stored."
        note(f"discreet: stopped.{spent if chosen.command == 'query' else ''}")
        return STOPPED
    return 0


def _refused(error: Exception, *, as_json: bool) -> int:
    """Say what is wrong in one line, as JSON too if that is wanted, and return the exit code."""
    if as_json:
        say_json({"error": {"kind": type(error).__name__, "message": str(error)}})
    note(f"discreet: {error}")
    return next(code for kind, code in _CODES if isinstance(error, kind))


def parser() -> Parser:
    """Return the parser of all commands."""
    root = Parser(prog="discreet", description="Ask a private table anything.", epilog=_EPILOG)
    root.add_argument("--version", action="version", version=f"discreet {dc.__version__}")
    commands: Commands = root.add_subparsers(dest="command", metavar="command", required=True)
    command(
        commands,
        "demo",
        demo,
        about="ask the census table that ships with discreet a few private questions",
        example="discreet demo",
    )
    describe.add(commands)
    ask.add(commands)
    ledger.add(commands)
    completion.add(commands, root)
    return root


def demo(chosen: argparse.Namespace) -> None:
    """Tell the story; as JSON, its lines."""
    from discreet.demo import demo as tell

    if not chosen.json:
        tell()
        return
    import io
    from contextlib import redirect_stdout

    told = io.StringIO()
    with redirect_stdout(told):
        tell()
    say_json({"lines": told.getvalue().splitlines()})


if __name__ == "__main__":
    sys.exit(main())
