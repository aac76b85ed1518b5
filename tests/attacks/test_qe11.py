"""QE-11: averaging by repeating: the error never falls below what the budget that was spent buys."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.engine.bound import BoundedQuery
from discreet.engine.released import Release
from discreet.session import Session
from tests.sessions import Q, session
from tests.sizes import sized


class Forgets(Session):
    """The twin: it has no memory of what it answered, and charges the first time only."""

    def _stored(self, query: BoundedQuery) -> list[Release]:
        return []


def check_repeats(kind: type[Session], *, times: int) -> None:
    """As often as one likes: the same bytes, and one charge."""
    asked = session(kind=kind)
    first = asked.sql(Q, epsilon="0.01")
    for number in range(times):
        text = Q if number % 2 else f"{Q} HAVING n > -1000000000 ORDER BY n LIMIT {number + 2}"
        again = asked.sql(text, epsilon=Fraction(1, 100 + number % 3))
        assert again.charged == 0
        assert sorted(again.columns["n"]) == sorted(first.columns["n"])
    assert asked.spent == Fraction(1, 100)


def test_repeating_gains_nothing() -> None:
    check_repeats(Session, times=sized(10, 100))


def test_a_session_that_forgets_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_repeats(Forgets, times=1)


@pytest.mark.parametrize("budget", [dc.Budget(epsilon=1), dc.Budget(epsilon=1, delta=1e-9)])
def test_rising_prices_are_never_better_than_their_sum(budget: dc.Budget) -> None:
    """n = 6 prices: what the mean of all is off by is at least what one release for all of it is off by."""
    asked, spent = session(budget=budget), Fraction(0)
    for place in range(6):
        price = Fraction(16, 10) ** place / 100
        spent += price
        answer = asked.sql(Q, epsilon=price)
        assert answer.charged > 0
        whole = session(budget=budget).quote(Q, epsilon=spent)
        error, least = answer.errors["n"], whole.errors["n"]
        assert isinstance(error, int)
        assert isinstance(least, int)
        assert error >= least
