"""The commands as completion sees them: read off the parser, so that nothing is written twice."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.commands.parsers import FILES


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its spellings, and what may follow it."""

    names: tuple[str, ...]
    about: str
    takes_value: bool
    takes_file: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """One command: the words that lead to it, and what may stand behind them."""

    words: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]  # with what each is about
    options: tuple[Option, ...]
    choices: tuple[str, ...]  # of what is no option
    takes_file: bool

    @property
    def name(self) -> str:
        """The words as one text: /ledger/show, and nothing at the start."""
        return "".join(f"/{word}" for word in self.words)


def places(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Place]:
    """Yield a parser and everything below it."""
    below: list[tuple[str, argparse.ArgumentParser]] = []
    commands: list[tuple[str, str]] = []
    options: list[Option] = []
    choices: list[str] = []
    takes_file = False
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below += list(action.choices.items())
            commands += [(str(each.dest), each.help or "") for each in action._choices_actions]
        elif action.option_strings:
            options.append(_option(action))
        else:
            choices += map(str, action.choices or ())
            takes_file = takes_file or action.metavar in FILES
    yield Place(words, tuple(commands), tuple(options), tuple(choices), takes_file)
    for name, inner in below:
        yield from places(inner, (*words, name))


def _option(action: argparse.Action) -> Option:
    return Option(
        tuple(action.option_strings),
        (action.help or "").replace("%%", "%"),
        action.nargs != 0,
        action.metavar in FILES,
        tuple(map(str, action.choices or ())),
    )
