"""Bounded queries put together by hand, and engines that find given numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dc
from discreet import dp
from discreet.dp.exact_keys import Key as PrivateKey
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.expression import FREE, Arithmetic, Coded, Column, Constant, Expression, Number
from discreet.engine.plan import (
    Formula,
    Histogram,
    Key,
    KeyOf,
    MeanOf,
    Measure,
    Output,
    Plan,
    Present,
    Relation,
    Rows,
    SpreadOf,
    Total,
)
from discreet.engine.price import Price
from discreet.engine.promise import bought_by
from discreet.engine.purchase import Purchase
from discreet.engine.released import Numbers, Part, Release, opened
from discreet.engine.table import Table

ADDED = dp.Neighbours.ADD_REMOVE
COLUMNS = {
    "sex": dc.Category(["f", "m"]),
    "age": dc.Integer(0, 99),
    "cost": dc.Real(0, 100, step="0.5"),
    "town": dc.Text(),
}


def table(unit: str | None = None, **bounds: Any) -> Table:
    return Table("nowhere.parquet", columns=COLUMNS, name="t", unit=unit, **bounds)


T = table()
SEX = Column(0, "sex", COLUMNS["sex"], Coded(COLUMNS["sex"]))
AGE = Column(0, "age", COLUMNS["age"], Number(Fraction(1), 0, 99))
COST = Column(0, "cost", COLUMNS["cost"], Number(Fraction(1, 2), 0, 200))
TOWN = Column(0, "town", COLUMNS["town"], FREE)
BY_SEX = Key(SEX, ("f", "m"), (0, 1))
BY_TOWN = Key(TOWN, None, None)
AGES = Histogram(AGE, COLUMNS["age"])


def less(x: Expression, centre: int) -> Arithmetic:
    assert isinstance(x.kind, Number)
    shifted = Number(x.kind.step, x.kind.low - centre, x.kind.high - centre)
    return Arithmetic("-", x, Constant(centre, Number(x.kind.step, centre, centre)), shifted)


SHIFTED = less(AGE, 50)
SQUARED = Arithmetic("*", SHIFTED, SHIFTED, Number(Fraction(1), 0, 2500))
SPREAD = (Total(SHIFTED), Total(SQUARED), Present(AGE))
VARIANCE, DEVIATION = SpreadOf(0, 1, 2, False, False), SpreadOf(0, 1, 2, True, True)
MEAN = (Total(less(AGE, 50)), Present(AGE))  # and MeanOf(0, 1, 50) of them
MEAN_AGE = MeanOf(0, 1, Fraction(50))


def query(
    *measures: Measure,
    outputs: Sequence[tuple[str, Formula]] = (),
    keys: Sequence[Key] = (),
    of: Table = T,
    **rest: Any,
) -> BoundedQuery:
    named = tuple(Output(name, formula) for name, formula in outputs)
    plan = Plan(Relation((of,)), None, tuple(keys), tuple(measures), named, **rest)
    return bound(plan, neighbours=ADDED)


ROWS = Rows()
KEY = KeyOf(0)


def price(**offer: Any) -> Price:
    return Price(**offer)


def bought(asked: BoundedQuery, budget: dp.Budget, known: Release | None = None, **offer: Any) -> Purchase:
    return bought_by(Price(**offer), asked, budget, known)


def found(asked: BoundedQuery, *values: Sequence[Any] | NDArray[np.int64]) -> PublicGroups:
    """What an engine finds: whole numbers of steps for each measure, as they are when no weight is needed."""
    exacts = []
    for measure, value in zip(asked.measures, values, strict=True):
        counts = np.array(value, dtype=np.int64) * measure.scale
        exacts.append(dp.Exact(counts, sensitivity=measure.sensitivity, unit=asked.unit))
    return PublicGroups(tuple(exacts))


def released(asked: BoundedQuery, *values: Any, budget: dp.Budget | None = None, **offer: Any) -> Release:
    on = budget or dp.Budget(epsilon=1)
    purchase = bought(asked, on, **offer)
    permit = dp.PrivacyFilter(on).reserve(purchase.loss)
    return opened(found(asked, *values), purchase, asked, permit)


def exactly(asked: BoundedQuery, *values: Any, keys: tuple[PrivateKey, ...] | None = None) -> Release:
    """A release whose noise happens to be 0, at a price of 40."""
    purchase, parts = (
        bought(
            asked,
            dp.Budget(epsilon=1000, delta=1e-9, delta_add=5e-10) if asked.is_private else dp.Budget(epsilon=1000),
            epsilon=40,
        ),
        list[Part](),
    )
    for of, mechanism, value in zip(asked.measures, purchase.mechanisms, values, strict=True):
        assert isinstance(mechanism, dp.Laplace | dp.Gaussian)
        parts.append(Numbers(np.array(value, dtype=np.int64).reshape(-1) * of.scale, of.step, mechanism))
    return Release(keys, tuple(parts), Fraction(40))
