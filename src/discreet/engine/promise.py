"""What an error costs: for each measure the least loss at which no number is farther off than it may be.

The error of a count or a sum is that of its noise. That of a mean, and every error relative to a number, depends on the
table, and is taken from an answer to the same question that was released before: `known`. With probability 95 % the
true number is not smaller than its lower end there. Without such an answer a look is bought first, which is the same
question at LOOK of the budget, and is averaged with what is bought after it. Both together cost at most MOST of the
budget, which is what a quote shows; what would cost more is refused after the look, which stays answered.

**A mean** of values at most B from its centre is told to be off by at most (E_T + B E_P) / (n - 2 E_P), where the total
is within E_T, the number of values is within E_P, and n of them are there for sure.
With E_T = B E_P = e that is at most t where e = t n / (2 + 2 t / B).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet import dp
from discreet.dp.rational import Number as Written
from discreet.dp.rational import positive
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.combined import Noise
from discreet.engine.derive import derived, measures_of
from discreet.engine.expression import Number
from discreet.engine.plan import KeyOf, MeanOf, Output, Released, Total
from discreet.engine.price import FAILURE, Price
from discreet.engine.purchase import Purchase, choose, purchased
from discreet.engine.released import Numbers, Release
from discreet.errors import InvalidParameter, NotSupported

LOOK, MOST = Fraction(1, 50), Fraction(1, 4)  # of the budget


class NeedsLook(NotSupported):
    """What an error costs depends on the table, and nothing of it is released yet."""


def look(budget: dp.Budget, share: Fraction = LOOK) -> Price:
    """Return a price in the currency of a budget that is a share of it."""
    amount = share * budget.cap.amount
    if budget.is_pure:
        return Price(loss=dp.Loss.pure(epsilon=amount))
    per_rho = budget.charge(dp.Loss.zcdp(rho=1))
    assert per_rho is not None
    return Price(loss=dp.Loss.zcdp(rho=amount / per_rho.amount))


def expected_after_look(price: Price, query: BoundedQuery) -> dict[str, int | float | str]:
    """Return the errors that are asked for, where a look comes first."""
    names = [output.name for output in query.plan.outputs if not isinstance(output.formula, KeyOf)]
    if price.relative is not None:
        return dict.fromkeys(names, f"{float(100 * positive(price.relative, 'relative')):.3g} % of it")
    assert price.within is not None
    within = price.within if isinstance(price.within, Mapping) else dict.fromkeys(names, price.within)
    return {name: float(positive(within[name], "within")) for name in names}


@dataclass(frozen=True, slots=True)
class _Demand:
    """That one measure is off by at most `error`, in its own unit, but for a probability."""

    measure: int
    error: Fraction
    failure: Fraction


@dataclass(frozen=True, slots=True)
class _Values:
    """How many values there are for sure in every group, but for a probability in each; from what was released."""

    known: Release | None
    failure: Fraction

    def least(self, present: int) -> Fraction:
        if self.known is None:
            raise NeedsLook("the error of a mean depends on how many values there are, and that is not known.")
        part = self.known.parts[present]
        assert isinstance(part, Numbers)
        least = min(map(int, part.values), default=0) * part.step - part.error(self.failure)
        if least <= 0:
            raise NotSupported("some group may have no values by what is known of it: ask for greater groups.")
        return least


def bought_by(price: Price, query: BoundedQuery, budget: dp.Budget, known: Release | None) -> Purchase:
    """Return what a price buys, or what the errors that it states cost."""
    return promised(price, query, budget, known) if price.states_error else choose(price, query, budget)


def promised(price: Price, query: BoundedQuery, budget: dp.Budget, known: Release | None) -> Purchase:
    """Return the least loss that has the errors of a price."""
    if query.is_private:
        raise NotSupported(
            "within= and relative= promise errors in declared groups; with private keys state a price, epsilon=0.1, "
            "and the answer says how far off it may be."
        )
    shown = [output for output in query.plan.outputs if not isinstance(output.formula, KeyOf)]
    used = frozenset[int]().union(*(measures_of(output.formula) for output in shown))
    if not all(isinstance(output.formula, Released | MeanOf) for output in shown) or len(used) < len(query.measures):
        raise NotSupported(
            "within= and relative= promise the errors of counts, sums and means that are selected as they are; for "
            "anything else state a price, epsilon=0.1, and the answer says how far off it may be."
        )
    failure = price.failure / (len(shown) if price.joint else 1)
    targets = _targets(price, shown, query, known)
    answers = query.cells if price.joint else 1
    values = _Values(known, FAILURE / answers)
    shown.sort(key=lambda output: isinstance(output.formula, MeanOf))  # what needs no look is checked before one
    demands = list[_Demand]()
    for output in shown:
        for demand in _demands(output, targets[output.name], failure, query, values):
            _check_steps(demand, query, price)
            demands.append(demand)
    found = []
    for place, measure in enumerate(query.measures):
        mine = [demand for demand in demands if demand.measure == place]
        found.append(_cheapest(measure, mine, answers, budget))
    return purchased(None, tuple(found), budget)


def _targets(price: Price, shown: list[Output], query: BoundedQuery, known: Release | None) -> Mapping[str, Fraction]:
    """Return the error that each number may have, by its name."""
    names = [output.name for output in shown]
    if price.relative is not None:
        share = positive(price.relative, "relative")
        return {name: share * size for name, size in _sizes(names, query, known).items()}
    within = price.within
    if not isinstance(within, Mapping):
        assert within is not None
        return dict.fromkeys(names, positive(within, "within"))
    if set(within) != set(names):
        raise InvalidParameter(
            f"within= has an error for each number that is shown, {', '.join(map(repr, names))[:200]}, and no other."
        )
    return {name: positive(within[name], f"within[{name!r}]") for name in names}


def _sizes(names: list[str], query: BoundedQuery, known: Release | None) -> dict[str, Fraction]:
    """Return how large each number is for sure in every group, from what was released."""
    if known is None:
        raise NeedsLook("how large the numbers are is not known before this question was answered.")
    told, found = derived(query, known, whole=True), dict[str, Fraction]()
    for name in names:
        values, off = told.columns[name], told.errors[name]
        errors = off if isinstance(off, tuple) else (off,) * len(values)
        sizes = [_size(value, error) for value, error in zip(values, errors, strict=True)]
        found[name] = min(sizes, default=Fraction(0))
        if found[name] <= 0:
            raise NotSupported(
                f"{name!r:.60} may be 0 in some group by what is known of it, and no error is small beside that: state "
                "within=, or ask for greater groups."
            )
    return found


def _size(value: object, error: Written | None) -> Fraction:
    if error is None or isinstance(value, bool) or not isinstance(value, int | float):
        return Fraction(0)
    return abs(Fraction(value)) - Fraction(error)


def _demands(
    output: Output, target: Fraction, failure: Fraction, query: BoundedQuery, values: _Values
) -> Iterator[_Demand]:
    match output.formula:
        case Released(measure):
            yield _Demand(measure, target, failure)
        case MeanOf(total, present):
            of = query.measures[total].measure
            assert isinstance(of, Total)
            assert isinstance(of.expression.kind, Number)
            reach = max(of.expression.kind.most, 1) * of.expression.kind.step
            each = target * values.least(present) / (2 + 2 * target / reach)
            yield _Demand(total, each, failure / 2)
            yield _Demand(present, each / reach, failure / 2)
        case _:
            raise AssertionError(output.formula)


def _check_steps(demand: _Demand, query: BoundedQuery, price: Price) -> None:
    step = query.measures[demand.measure].step
    if not 1 <= demand.error / step <= 2**52:
        asked = "relative" if price.within is None else "within"
        raise InvalidParameter(
            f"{asked}= is at least {float(step):.6g}, because noise is whole steps, and at most 2^52 of them; "
            f"got {getattr(price, asked)!r:.40}."
        )


def _cheapest(measure: BoundedMeasure, demands: list[_Demand], answers: int, budget: dp.Budget) -> Noise:
    laws = (dp.Laplace,) if budget.is_pure else (dp.Laplace, dp.Gaussian)
    offers: list[Noise] = []
    for law in laws:
        each: list[Noise] = [_drawn(law, measure, demand, answers) for demand in demands]
        offers.append(min(each, key=_scale))
    charges = [budget.charge(offer.loss) for offer in offers]
    return offers[min((charge.amount, i) for i, charge in enumerate(charges) if charge is not None)[1]]


def _scale(noise: Noise) -> Fraction:
    return noise.scale if isinstance(noise, dp.Laplace) else noise.sigma


def _drawn(law: type[dp.Laplace] | type[dp.Gaussian], measure: BoundedMeasure, demand: _Demand, answers: int) -> Noise:
    return law.for_accuracy(
        alpha=demand.error / measure.step,
        failure_probability=demand.failure,
        answers=answers,
        sensitivity=measure.sensitivity,
    )
