"""NB-13: the same person in two snapshots: the budget is that of the people, over all versions of their table."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from random import Random

import pytest

import discreet as dc
from tests.sql_questions import COLUMNS, plain, schema_of

TEXT = "SELECT COUNT(*) AS n FROM visits"


def session_of(version: str, ledger: dc.Ledger, rows: int, budget: dc.Budget | None = None) -> dc.Session:
    schema = schema_of(rows_per_unit=3)
    frame = schema.arrow([plain(Random(n), n % 5) for n in range(rows)])
    table = dc.Table(frame, columns=COLUMNS, unit="u", rows_per_unit=3, name="visits", version=version)
    return dc.Session([table], ledger=ledger, budget=budget)


def spend_both(ledgers: list[dc.Ledger]) -> int:
    """Two snapshots with five of the same people, asked in turn until each ledger refuses; how often they answered."""
    answered = 0
    with ExitStack() as stack:
        budget = dc.Budget(epsilon=1)
        pair = [
            stack.enter_context(session_of(str(number), ledger, 10 + number, budget))
            for number, ledger in enumerate(ledgers)
        ]
        for turn in range(12):
            try:
                pair[turn % 2].sql(f"{TEXT} WHERE n > {turn // 2 - 3}", epsilon=Fraction(1, 4))
                answered += 1
            except dc.BudgetExceeded:
                continue
    return answered


def test_versions_share_one_budget() -> None:
    ledger = dc.memory_ledger()
    assert spend_both([ledger, ledger]) == 4


def test_a_budget_for_each_version_is_twice_the_budget() -> None:
    """The twin: a ledger of its own for each snapshot."""
    with pytest.raises(AssertionError):
        assert spend_both([dc.memory_ledger(), dc.memory_ledger()]) == 4


def test_an_answer_about_another_version_is_not_this_one() -> None:
    """It is paid for again: the cache knows versions. And what was asked of the first is free there still."""
    ledger = dc.memory_ledger()
    with ExitStack() as stack:
        one = stack.enter_context(session_of("1", ledger, 10, dc.Budget(epsilon=1)))
        other = stack.enter_context(session_of("2", ledger, 11))
        assert one.sql(TEXT, epsilon=Fraction(1, 4)).route == "direct"
        assert other.sql(TEXT, epsilon=Fraction(1, 4)).route == "direct"
        assert one.sql(TEXT, epsilon=Fraction(1, 4)).route == "cache"
        assert one.spent == other.spent == Fraction(1, 2)
