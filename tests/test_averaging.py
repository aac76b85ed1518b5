"""A question at a higher price: the new release is averaged with the old, and the mean is what stays."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.averaging import mean_of
from discreet.engine.combined import MOST_DRAWS, Averaged
from discreet.engine.plan import QuantileOf, Released
from discreet.engine.released import Bins, Numbers, Release
from tests.handmade import AGES, BY_SEX, MEAN, MEAN_AGE, ROWS, query, released
from tests.sessions import Q, session
from tests.sizes import sized

UNIT = {"epsilon": 1, "rho": Fraction(1, 100)}
BUDGETS = {
    "pure": (dp.Budget(epsilon=1), "epsilon"),
    "delta": (dp.Budget(epsilon=1, delta=1e-9), "epsilon"),
    "rho": (dp.Budget(rho=100), "rho"),
}
KEYED = dp.Budget(epsilon=10, delta=1e-3, delta_add=5e-4)
COUNT = query(ROWS, outputs=[("n", Released(0))], keys=[BY_SEX])
MIX = query(ROWS, *MEAN, outputs=[("n", Released(0)), ("a", MEAN_AGE)], keys=[BY_SEX])
MEDIAN = query(AGES, outputs=[("m", QuantileOf(0, Fraction(1, 2)))])
EVEN = np.full((1, 100), 40)


def priced(offer: str, amount: str) -> dict[str, Any]:
    return {offer: Fraction(amount) * UNIT[offer]}


@pytest.mark.parametrize("name", BUDGETS)
def test_it_is_charged_in_full_and_better_than_either(name: str) -> None:
    budget, offer = BUDGETS[name]
    asked = session(budget=budget)
    first = asked.sql(Q, **priced(offer, "0.1"))
    quote = asked.quote(Q, **priced(offer, "0.13"))
    better = asked.sql(Q, **priced(offer, "0.13"))
    alone = session(budget=budget).sql(Q, **priced(offer, "0.13"))
    assert (first.route, quote.route, better.route) == ("direct", "combined", "combined")
    assert better.charged == alone.charged == quote.cost.share
    assert better.errors["n"] < alone.errors["n"] < first.errors["n"]  # type: ignore[operator]
    assert better.errors == quote.errors
    assert asked.spent == first.charged + better.charged


@pytest.mark.parametrize("name", BUDGETS)
def test_an_answer_stays_the_same_bytes_afterwards(name: str) -> None:
    budget, offer = BUDGETS[name]
    asked = session(budget=budget)
    asked.sql(Q, **priced(offer, "0.1"))
    better = asked.sql(Q, **priced(offer, "0.13"))
    spent = asked.spent
    for price in ("0.05", "0.1", "0.13", "0.14"):
        again = asked.sql(Q, **priced(offer, price))
        assert (again.to_bytes(), again.charged, again.route) == (better.to_bytes(), 0, "cache")
    assert asked.spent == spent
    other = session(budget=budget, ledger=asked._ledger)
    assert other.sql(Q, **priced(offer, "0.1")).to_bytes() == better.to_bytes()


def test_the_mean_is_the_weighted_one() -> None:
    old, new = (released(COUNT, [700, 900], epsilon=price) for price in ("0.1", "0.2"))
    mean = mean_of(old, new, COUNT)
    [a], [b], [c] = (release.parts for release in (old, new, mean))
    assert isinstance(a, Numbers)
    assert isinstance(b, Numbers)
    assert isinstance(c, Numbers)
    assert isinstance(c.noise, Averaged)
    wanted = float(c.noise.draws[0][1]) * a.values + float(c.noise.draws[1][1]) * b.values
    assert (abs(c.values - wanted) <= 0.5 + 1e-9).all()
    assert mean.amount == old.amount + new.amount


def test_large_numbers_do_not_overflow() -> None:
    old, new = (released(COUNT, [2**61, -(2**61)], epsilon=price) for price in ("0.1", "0.11"))
    [part] = mean_of(old, new, COUNT).parts
    assert isinstance(part, Numbers)
    assert (abs(part.values - np.array([2**61, -(2**61)])) < 1000).all()


@pytest.mark.parametrize("asked", [COUNT, MIX, MEDIAN], ids=["count", "mean", "median"])
@pytest.mark.parametrize("offer", [{"budget": dp.Budget(epsilon=1)}, {"budget": dp.Budget(epsilon=1, delta=1e-9)}])
def test_it_is_stored_and_read_as_it_is(asked: Any, offer: dict[str, Any]) -> None:
    values = [EVEN] if asked is MEDIAN else [[70, 90], [-300, 40], [60, 90]][: len(asked.measures)]
    releases = [released(asked, *values, epsilon=price, **offer) for price in ("0.1", "0.15", "0.2")]
    mean: Release = releases[0]
    for fresh in releases[1:]:
        mean = mean_of(mean, fresh, asked)
        data = mean.to_bytes()
        assert Release.from_bytes(data, asked).to_bytes() == data
    assert mean.amount == sum(release.amount for release in releases)


def scale(part: Bins) -> Fraction:
    noise = part.tree.noise
    return noise.scale if isinstance(noise, dp.Laplace) else noise.sigma


@pytest.mark.parametrize("offer", [{"budget": dp.Budget(epsilon=1)}, {"budget": dp.Budget(epsilon=1, delta=1e-9)}])
def test_trees_have_the_variance_of_their_mean(offer: dict[str, Any]) -> None:
    """n = 60 pairs of trees of 100 bins: the spread of all bins is that of the tree that is claimed, and no other."""
    spread, claimed = [], 0.0
    for _ in range(sized(60, 1000)):
        old, new = (released(MEDIAN, EVEN, epsilon=price, **offer) for price in ("0.5", "0.6"))
        [part] = mean_of(old, new, MEDIAN).parts
        [fresh] = new.parts
        assert isinstance(part, Bins)
        assert isinstance(fresh, Bins)
        claimed = float(scale(part) / scale(fresh))
        spread.append([((each.counts[:, :100] - EVEN) ** 2).mean() for each in (part, fresh)])
    assert claimed < 0.85
    mean, alone = np.sum(spread, axis=0)
    assert (mean / alone) ** 0.5 == pytest.approx(claimed, rel=0.08)


def test_the_errors_of_means_hold() -> None:
    """n = 400 rows of 2 groups: each is outside its error 1 time in 20 at most; 5 sigma more are seen."""
    missed, rows = 0, sized(400, 4000)
    for _ in range(rows):
        old, new = (released(COUNT, [1000, 2000], epsilon=price) for price in ("0.1", "0.13"))
        [part] = mean_of(old, new, COUNT).parts
        assert isinstance(part, Numbers)
        missed += int((abs(part.values - np.array([1000, 2000])) > part.error(Fraction(1, 20))).sum())
    assert missed < 2 * rows / 20 + 5 * (2 * rows / 20) ** 0.5


def test_private_keys_are_named_anew_and_stand_alone() -> None:
    rows = {"who": list(range(400)), "town": ["a"] * 300 + ["b"] * 100}
    table = dc.Table(pd.DataFrame(rows), columns={"town": dc.Text()}, name="t", unit="who", rows_per_unit=1)
    asked = session(table, budget=KEYED)
    text = "SELECT town, COUNT(*) AS n FROM t GROUP BY town"
    asked.sql(text, epsilon=2)
    better = asked.sql(text, epsilon=4)
    assert better.route == "direct"
    assert better.errors == session(table, budget=KEYED).sql(text, epsilon=4).errors
    assert asked.sql(text, epsilon=2).to_bytes() == better.to_bytes()


def test_more_than_so_many_are_not_averaged() -> None:
    """The eighth is the last; what comes then stands alone unless it is worse."""
    mean: Release | None = None
    for n in range(MOST_DRAWS + 2):
        mean = mean_of(mean, released(COUNT, [70, 90], epsilon=Fraction(10 + n, 1000)), COUNT)
        [part] = mean.parts
        assert isinstance(part, Numbers)
        draws = len(part.noise.draws) if isinstance(part.noise, Averaged) else 1
        assert draws == min(n + 1, MOST_DRAWS)
