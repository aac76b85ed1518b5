"""QE-13: a cost that depends on the rows tells about them; neighbours are quoted and charged the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import discreet as dc
from discreet.answer import Quote
from tests.sessions import ROWS, Q, session

OFFERS: list[dict[str, Any]] = [
    {"epsilon": 0.1},
    {"epsilon": 0.3},
    {"within": 400},
    {"loss": dc.dp.Loss.pure(epsilon=0.2)},
]
TEXTS = (
    Q,
    "SELECT SUM(cost) AS c FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE town = 'a'",
    "SELECT COUNT(*) AS n FROM t WHERE age > 8",
    "SELECT COUNT(DISTINCT age) AS d FROM t",
)
Cost = Callable[[dc.Session, Quote], Quote]


def as_it_is(_: dc.Session, quote: Quote) -> Quote:
    return quote


def by_rows(asked: dc.Session, quote: Quote) -> Quote:
    """The twin: a cost that grows with the number of rows, as a scan's does."""
    rows = next(iter(asked._tables.values())).source.rows.num_rows  # type: ignore[union-attr]
    return replace(quote, cost=replace(quote.cost, share=quote.cost.share * rows))


def check_costs(told: Cost) -> None:
    pair = [session(ROWS), session(ROWS.slice(2)), session(ROWS.slice(0, 0))]
    for number, text in enumerate(TEXTS):
        for offer in OFFERS:
            quotes = [told(asked, asked.quote(text, **offer)) for asked in pair]
            assert len({(quote.cost, quote.route, quote.advice) for quote in quotes}) == 1
        charged = {asked.sql(text, **OFFERS[number % 2]).charged for asked in pair if number < 3}
        assert len(charged) == (number < 3)
        assert len({(asked.spent, asked.remaining) for asked in pair}) == 1


def test_neighbours_are_quoted_and_charged_the_same() -> None:
    check_costs(as_it_is)


def test_a_cost_of_the_rows_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_costs(by_rows)
