"""`query`, `quote` and `explain`: questions in SQL."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.commands.answers import (
    FORMATS,
    NotWritten,
    as_bytes,
    as_csv,
    as_json,
    as_text,
    file_for,
    format_of,
    named,
    plain,
)
from discreet.commands.console import elapsed, note, say, say_data, say_json
from discreet.commands.parsers import Commands, Parser, command
from discreet.errors import InvalidParameter, Unavailable

if TYPE_CHECKING:
    from discreet.answer import Answer
    from discreet.session import Session

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_ASKED = 'discreet {} --tables visits.toml --ledger visits.ledger --epsilon 0.1 "SELECT COUNT(*) AS n FROM visits"'


def add(commands: Commands) -> None:
    """Add the three commands."""
    asked = command(
        commands,
        "query",
        query,
        about="ask a question, pay for it, and show the answer with its errors",
        more="The debit is durable before a row is read. The same question is free the second time.",
        example=f"""{_ASKED.format("query")}
        discreet query --tables visits.toml --ledger visits.ledger --within 50 --file q.sql --output answer.parquet""",
    )
    _add_question(asked)
    _add_offer(asked)
    asked.add_argument("--format", choices=FORMATS, help="how to write it; the ending of --output says it, too")
    asked.add_argument("--output", metavar="FILE", help="write the answer into a file, whole or not at all")
    asked.add_argument("--no-errors", action="store_true", help="leave out the error of each number")
    quoted = command(
        commands,
        "quote",
        quote,
        about="show what a question would cost and how far off its answer would be",
        more="It reads no row and is free.",
        example=_ASKED.format("quote"),
    )
    _add_question(quoted)
    _add_offer(quoted)
    explained = command(
        commands,
        "explain",
        explain,
        about="show what a question protects, how that is enforced, and how far one unit moves it",
        more="It reads no row, is free, and needs no ledger.",
        example='discreet explain --tables visits.toml "SELECT COUNT(*) AS n FROM visits"',
    )
    _add_question(explained)


def _add_question(parser: Parser) -> None:
    parser.add_argument("question", nargs="?", metavar="SQL", help="the question; - reads it from standard input")
    parser.add_argument("--file", metavar="FILE", help="read the question from a file; - is standard input")
    parser.add_argument("--tables", metavar="FILE", required=True, help="the description of the tables (TOML)")
    parser.add_argument(
        "--parameter",
        metavar="NAME=VALUE",
        action="append",
        help="a value for $NAME: a number, true, false, null, or a text, quoted where it could be one of these",
    )


def _add_offer(parser: Parser) -> None:
    parser.add_argument("--ledger", metavar="PATH", required=True, help="the ledger: a file or a postgresql:// address")
    parser.add_argument("--analyst", metavar="NAME", default="curator", help="who asks; the default is the curator")
    offer = parser.add_argument_group("the price, one of")
    offer.add_argument("--epsilon", metavar="E", help="what to pay, in epsilon")
    offer.add_argument("--rho", metavar="R", help="what to pay, in rho")
    offer.add_argument("--within", metavar="ERROR", action="append", help="how far off a number may be, at 95 %%")
    bounds = parser.add_argument_group("tighter bounds than the tables declare")
    bounds.add_argument("--groups-per-unit", metavar="N", type=int, help="groups in which one unit counts")
    bounds.add_argument("--rows-per-group", metavar="N", type=int, help="rows of one unit that count in a group")


def query(chosen: argparse.Namespace) -> None:
    """Ask, and write the answer where it is wanted; that it can be written is known before the debit."""
    form = "json" if chosen.json else format_of(chosen.format, chosen.output)
    if chosen.json and chosen.format not in (None, "json"):
        chosen.usage("--json is --format json")
    if form == "parquet" and chosen.output is None:
        chosen.usage("--format parquet needs --output FILE")
    text, offer = question(chosen), offered(chosen)
    if chosen.output is None:
        with _session(chosen) as session:
            _show(_asked(session, text, offer), form, errors=not chosen.no_errors)
        return
    with file_for(chosen.output) as write, _session(chosen) as session:
        answer = _asked(session, text, offer)
        write(lambda: as_bytes(answer, form, errors=not chosen.no_errors))
    note(answer.note)


def _asked(session: Session, text: str, offer: dict[str, Any]) -> Answer:
    with elapsed("asking"):
        return session.sql(text, **offer)


def _show(answer: Answer, form: str, *, errors: bool) -> None:
    problem = ""
    try:
        match form:
            case "csv":
                say_data(as_csv(answer, errors=errors))
            case "json":
                say_json(as_json(answer, errors=errors))
            case _:
                say(as_text(answer, errors=errors))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        problem = error.strerror or "the system refuses"
    if problem:
        raise NotWritten(f"the answer could not be shown: {problem}. It is stored, and asking again is free.")
    if form != "table":
        note(answer.note)


def quote(chosen: argparse.Namespace) -> None:
    """Show the price and the errors."""
    text, offer = question(chosen), offered(chosen)
    with _session(chosen) as session:
        quoted = session.quote(text, **offer)
    if not chosen.json:
        say(repr(quoted))
        return
    from discreet.dp.rational import float_up

    cost = {"share": float_up(quoted.cost.share), "loss": repr(quoted.cost.loss), "fits": quoted.cost.fits}
    errors = {name: plain(error) for name, error in quoted.errors.items()}
    say_json({"cost": cost, "errors": errors, "route": quoted.route, "advice": quoted.advice})


def explain(chosen: argparse.Namespace) -> None:
    """Show the plan in words."""
    from dataclasses import asdict

    import discreet as dc

    text, values = question(chosen), parameters(chosen)
    budget = dc.Budget(epsilon=1)  # of a ledger that is forgotten at once: nothing is asked of it
    with dc.Session(dc.load_tables(chosen.tables), budget=budget, ledger=dc.memory_ledger()) as session:
        explained = session.explain(text, parameters=values)
    if chosen.json:
        say_json(asdict(explained))
    else:
        say(repr(explained))


def question(chosen: argparse.Namespace) -> str:
    """Return the text of the question, from the command line, a file or standard input."""
    if (chosen.question is None) == (chosen.file is None):
        chosen.usage("give one question: as SQL, as --file FILE, or as - for standard input")
    where: str = chosen.file or "-"
    if chosen.file is None and chosen.question != "-":
        return str(chosen.question)
    try:
        if where == "-":
            return sys.stdin.read()
        return Path(where).read_text("utf-8")
    except (OSError, ValueError):
        shown = "standard input" if where == "-" else repr(where)
    raise Unavailable(f"the question in {shown:.200} cannot be read as UTF-8 text.")


def offered(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a question besides its text. Numbers stay texts, so that 0.1 is one tenth."""
    offer = {
        "epsilon": chosen.epsilon,
        "rho": chosen.rho,
        "within": _within(chosen.within),
        "parameters": parameters(chosen),
        "groups_per_unit": chosen.groups_per_unit,
        "rows_per_group": chosen.rows_per_group,
    }
    return {name: value for name, value in offer.items() if value is not None}


def _within(given: list[str] | None) -> str | dict[str, str] | None:
    """Return one error for all numbers, or one for each that is named: 50, or n=50 and cost=20."""
    if given and len(given) == 1 and "=" not in given[0]:
        return given[0]
    return named(given) or None


def parameters(chosen: argparse.Namespace) -> dict[str, Any] | None:
    """Return the values of the named places of a question."""
    return {name: value_of(text) for name, text in named(chosen.parameter).items()} or None


def value_of(text: str) -> int | Decimal | bool | str | None:
    """Return what a text on the command line stands for.

    >>> value_of("60"), value_of("0.5"), value_of("'60'"), value_of("north"), value_of("true")
    (60, Decimal('0.5'), '60', 'north', True)
    """
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not _NUMBER.fullmatch(text):
        return text
    if len(text) > 400:
        raise InvalidParameter("a number has at most 400 digits; write a shorter one.")
    return Decimal(text) if set(text) & set(".eE") else int(text)


@contextmanager
def _session(chosen: argparse.Namespace) -> Iterator[Session]:
    import discreet as dc

    tables = dc.load_tables(chosen.tables)
    ledger = dc.Ledger.open(chosen.ledger)
    try:
        with dc.Session(tables, ledger=ledger, analyst=chosen.analyst) as session:
            yield session
    finally:
        ledger.close()
