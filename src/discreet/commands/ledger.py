"""`ledger`: what the curator does with a ledger. All but `create` take the dataset and the budget on record."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.commands.console import elapsed, say, say_data, say_json
from discreet.commands.parsers import Commands, Parser, Run, add_budget, budget_options, command
from discreet.errors import InvalidParameter, LedgerError

if TYPE_CHECKING:
    from discreet.dp import Budget
    from discreet.ledger import Ledger

_MADE = "discreet ledger create visits.ledger --tables visits.toml --epsilon 1 --delta 1e-9"


def add(commands: Commands) -> None:
    """Add the group and its commands."""
    group = commands.add_parser(
        "ledger",
        help="create, grant, revoke, raise, show, verify, anchor or back up a ledger",
        description="What the curator does with a ledger.",
        epilog=f"example:\n  {_MADE}",
    )
    of_ledger: Commands = group.add_subparsers(dest="of_ledger", metavar="command", required=True)
    _add_create(of_ledger)
    _add_grants(of_ledger)
    _add_care(of_ledger)


def _add(of_ledger: Commands, name: str, run: Run, **texts: str) -> Parser:
    parser = command(of_ledger, name, run, **texts)
    parser.add_argument("path", metavar="PATH", help="the ledger: a file or a postgresql:// address")
    return parser


def _add_create(of_ledger: Commands) -> None:
    made = _add(of_ledger, "create", create, about="start a ledger for a dataset, with its budget", example=_MADE)
    of = made.add_mutually_exclusive_group(required=True)
    of.add_argument("--tables", metavar="FILE", help="the description of the tables: its first private one is meant")
    of.add_argument("--dataset", metavar="NAME", help="or the name of that table")
    add_budget(made)


def _add_grants(of_ledger: Commands) -> None:
    granted = _add(
        of_ledger,
        "grant",
        grant,
        about="let an analyst spend up to a budget of their own",
        example="discreet ledger grant visits.ledger ana --epsilon 0.3 --delta 1e-10",
    )
    granted.add_argument("analyst", metavar="ANALYST", help="the name that --analyst gives")
    add_budget(granted)
    revoked = _add(
        of_ledger,
        "revoke",
        revoke,
        about="let an analyst spend no more; what they spent stays spent",
        example='discreet ledger revoke visits.ledger ana --reason "left the project"',
    )
    revoked.add_argument("analyst", metavar="ANALYST", help="the name that --analyst gives")
    _add_reason(revoked, required=True)
    raised = _add(
        of_ledger,
        "raise",
        raise_budget,
        about="promise less: a larger budget from now on, and the reason on record",
        example='discreet ledger raise visits.ledger --epsilon 2 --reason "the board agreed on 19 November"',
    )
    raised.add_argument("--epsilon", metavar="E", help="the larger epsilon")
    raised.add_argument("--delta", metavar="D", help="a larger delta; without it, the one on record")
    raised.add_argument("--rho", metavar="R", help="or the larger rho")
    _add_reason(raised, required=True)


def _add_care(of_ledger: Commands) -> None:
    shown = _add(
        of_ledger,
        "show",
        show,
        about="show every entry: a statement one can hand to a board",
        example="discreet ledger show visits.ledger --format html > statement.html",
    )
    shown.add_argument("--format", choices=("table", "csv", "html", "json"), help="how to write it")
    _add(
        of_ledger,
        "verify",
        verify,
        about="recompute every hash and every total from the first entry",
        example="discreet ledger verify visits.ledger",
    )
    anchored = _add(
        of_ledger,
        "anchor",
        anchor,
        about="remember in a second place how far the ledger has come",
        more="An old copy that is put back is behind its anchor and is refused. With a reason it is taken, and what "
        "the anchor says was spent is spent.",
        example="discreet ledger anchor visits.ledger /mnt/second/visits.anchor",
    )
    anchored.add_argument("file", metavar="FILE", help="the anchor, on another volume")
    _add_reason(anchored, required=False)
    copied = _add(
        of_ledger,
        "backup",
        backup,
        about="copy the ledger as it is now to a new file",
        example="discreet ledger backup visits.ledger /mnt/third/visits-monday.ledger",
    )
    copied.add_argument("file", metavar="FILE", help="the copy, which must not exist")


def _add_reason(parser: Parser, *, required: bool) -> None:
    parser.add_argument("--reason", metavar="TEXT", required=required, default="", help="what happened; it is recorded")


def create(chosen: argparse.Namespace) -> None:
    """Start a ledger, and leave one that is there as it is."""
    import discreet as dc
    from discreet.ledger import ledger_at

    dataset, version = chosen.dataset, "1"
    if chosen.tables is not None:
        from discreet.engine.catalog import catalog

        owner = next(table for table in catalog(dc.load_tables(chosen.tables)).values() if not table.public)
        dataset, version = owner.name, owner.version
    if not dataset.isprintable() or not 0 < len(dataset) <= 200:
        raise InvalidParameter(f"--dataset is the name of a table, such as visits, not {dataset!r:.60}.")
    budget = dc.Budget(**budget_options(chosen))
    made = ledger_at(chosen.path)
    try:
        if made.is_there():
            raise LedgerError("there is a ledger at this path already; show it: discreet ledger show PATH.")
        made.bind(dataset=dataset, budget=budget, version=version)
        _done(chosen, made, f"a ledger for {dataset!r} with dc.{budget}")
    finally:
        made.close()


def grant(chosen: argparse.Namespace) -> None:
    """Give an analyst a budget of their own."""
    import discreet as dc

    with _open(chosen) as ledger:
        budget = dc.Budget(**budget_options(chosen))
        ledger.grant(chosen.analyst, budget)
        _done(chosen, ledger, f"{chosen.analyst!r} may spend dc.{budget}, counted from now")


def revoke(chosen: argparse.Namespace) -> None:
    """Take a grant back."""
    with _open(chosen) as ledger:
        ledger.revoke(chosen.analyst, reason=chosen.reason)
        _done(chosen, ledger, f"{chosen.analyst!r} spends no more")


def raise_budget(chosen: argparse.Namespace) -> None:
    """Raise the budget of the dataset."""
    with _open(chosen) as ledger:
        larger = {
            name: value for name, value in (("epsilon", chosen.epsilon), ("rho", chosen.rho)) if value is not None
        }
        delta = chosen.delta if chosen.delta is not None else ledger.budget.delta
        ledger.raise_budget(reason=chosen.reason, delta=delta, **larger)
        _done(chosen, ledger, f"the budget is dc.{ledger.budget} from now on")


def show(chosen: argparse.Namespace) -> None:
    """Write the statement."""
    if chosen.json and chosen.format not in (None, "json"):
        chosen.usage("--json is --format json")
    with _open(chosen) as ledger, elapsed("reading the ledger"):
        from discreet.ledger import statement

        writers: dict[str, Callable[[Ledger], str]] = {"csv": statement.as_csv, "html": statement.as_html}
        form = "json" if chosen.json else chosen.format or "table"
        if form == "json":
            say_json({**_state(ledger), "entries": _entries(ledger)})
        elif form in writers:
            say_data(writers[form](ledger))
        else:
            say(statement.as_text(ledger))


def verify(chosen: argparse.Namespace) -> None:
    """Recompute all of it."""
    with _open(chosen) as ledger:
        with elapsed("verifying"):
            ledger.verify()
        _done(chosen, ledger, f"{len(ledger.history()):,} entries: every hash and every total is as it should be")


def anchor(chosen: argparse.Namespace) -> None:
    """Write the anchor."""
    if not Path(chosen.file).absolute().parent.is_dir():  # an anchor on record that is not there stops the ledger
        raise InvalidParameter(f"the folder of the anchor {chosen.file!r:.200} does not exist; create it first.")
    with _open(chosen) as ledger:
        ledger.anchor(chosen.file, reason=chosen.reason)
        _done(chosen, ledger, f"{chosen.file!r} knows how far this ledger has come")


def backup(chosen: argparse.Namespace) -> None:
    """Copy the ledger."""
    with _open(chosen) as ledger:
        ledger.backup(chosen.file)
        _done(chosen, ledger, f"{chosen.file!r} is a copy of this ledger as it is now")


@contextmanager
def _open(chosen: argparse.Namespace) -> Iterator[Ledger]:
    import discreet as dc

    with elapsed("opening the ledger"):
        ledger = dc.Ledger.open(chosen.path)
    try:
        yield ledger
    finally:
        ledger.close()


def _done(chosen: argparse.Namespace, ledger: Ledger, what: str) -> None:
    from discreet.answer import percent

    if chosen.json:
        say_json({**_state(ledger), "done": what})
    else:
        spent = ledger.budget.share(ledger.spent)
        say(f"{what}; spent: {percent(spent)}, left: {percent(1 - spent)}.")


def _state(ledger: Ledger) -> dict[str, Any]:
    """Return what is on record, in shares of the budget; a budget is written as texts, which lose no digit."""
    from discreet.dp.rational import float_up

    spent = ledger.budget.share(ledger.spent)
    facts = {"dataset": ledger.dataset, "budget": _written(ledger.budget), "spent": float_up(spent)}
    return {**facts, "remaining": -float_up(spent - 1)}


def _written(budget: Budget) -> dict[str, str]:
    from discreet.dp.rational import written

    named = {"epsilon": budget.epsilon, "delta": budget.delta, "delta_add": budget.delta_add, "rho": budget.rho}
    return {name: written(value).strip("'") for name, value in named.items() if value}


def _entries(ledger: Ledger) -> list[dict[str, Any]]:
    from discreet.dp.rational import float_up

    return [
        {
            "number": entry.number,
            "moment": entry.moment,
            "analyst": entry.analyst,
            "version": entry.version,
            "kind": entry.kind,
            "what": entry.body,
            "share": float_up(entry.share),
            "hash": entry.hash,
        }
        for entry in ledger.history()
    ]
