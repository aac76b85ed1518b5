"""Parsers of arguments: no abbreviations, an example for each command, and messages that a terminal can show."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from discreet.commands.console import visible

Run: TypeAlias = Callable[[argparse.Namespace], None]
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"

FILES = ("FILE", "PATH", "SOURCE")
"""What stands for the name of a file in a usage line; completion goes by it."""


class Parser(argparse.ArgumentParser):
    """A parser whose options have one spelling each."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Refuse arguments: the usage, one line, and exit code 2."""
        super().error(visible(message, breaks=False))


def command(commands: Commands, name: str, run: Run, *, about: str, example: str, more: str = "") -> Parser:
    """Add a command; `about` is its line in the list, and `more` follows it in its own help."""
    whole = f"{about[:1].upper()}{about[1:]}.{more and ' ' + more}"
    made = commands.add_parser(name, help=about, description=textwrap.fill(whole, 80), epilog=_examples(example))
    made.add_argument("--json", action="store_true", help="write JSON, a refusal too")
    made.set_defaults(run=run, usage=made.error)
    return made


def add_budget(parser: Parser) -> None:
    """Add the options of a budget. They stay texts, so that 0.1 is one tenth."""
    parser.add_argument("--epsilon", metavar="E", help="a promise in epsilon, for instance 1")
    parser.add_argument("--delta", metavar="D", help="with epsilon: for instance 1e-9")
    parser.add_argument("--delta-add", metavar="D", help="the part of delta for private keys")
    parser.add_argument("--rho", metavar="R", help="or a promise in rho (zCDP)")


def budget_options(chosen: argparse.Namespace) -> dict[str, str]:
    """Return the options of a budget that were given."""
    names = ("epsilon", "delta", "delta_add", "rho")
    return {name: getattr(chosen, name) for name in names if getattr(chosen, name) is not None}


def _examples(text: str) -> str:
    lines = text.strip().splitlines()
    return "\n".join(["example:" if len(lines) == 1 else "examples:", *(f"  {line.strip()}" for line in lines)])
