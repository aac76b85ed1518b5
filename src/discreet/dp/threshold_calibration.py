"""How steep a logistic threshold test may be, and how far off its answers then are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.dp.budget import Budget
from discreet.dp.grid import Steps
from discreet.dp.loss import Approximate, Loss, Pure, Zcdp
from discreet.dp.rational import Number, positive_integer, probability, rational
from discreet.dp.reals import ball, upper
from discreet.dp.threshold_loss import INSTEAD, ThresholdHit
from discreet.errors import InvalidParameter, NotSupported

ENOUGH = 16  # bits of what is searched for at the best of many orders: less than 2^-16 of it is given away
_GREATEST = Fraction(45)  # a slope above it is no noise on the integers


def greatest(fits: Callable[[Fraction], bool], most: Fraction = _GREATEST, *, bits: int = 40) -> Fraction:
    """Return the greatest number up to `most` that fits, to so many bits; 0 if none down to 2^-60 of it does."""
    low = next((most / 2**halvings for halvings in range(61) if fits(most / 2**halvings)), Fraction(0))
    if low in (0, most):
        return low
    high = 2 * low
    while (high - low) * 2**bits > high:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def slope_for_hits(budget: Budget, hits: int) -> Fraction:
    """Return the steepest slope with which so many hits fit a budget of epsilon and delta, at its own order."""
    refuse_unless_renyi(budget)
    count = positive_integer(hits, "hits")

    def fits(slope: Fraction) -> bool:
        each = budget.charge(ThresholdHit(slope))
        return each is not None and count * each.amount <= budget.cap.amount

    return _some(greatest(fits))


def slope_within(loss: Loss, cutoff: int) -> Fraction:
    """Return the steepest slope with which so many hits keep within a loss fixed in advance, at the best order."""
    if not isinstance(loss, Approximate):
        raise NotSupported(f"the loss of a threshold test is a dp.Loss.approximate(epsilon=, delta=). {INSTEAD}")
    count, within = positive_integer(cutoff, "cutoff"), keeps_within(loss)
    return _some(greatest(lambda slope: within(count * ThresholdHit(slope)), bits=ENOUGH))


def keeps_within(promise: Loss) -> Callable[[Loss], bool]:
    """Return whether a loss fixed in advance keeps a promise in epsilon, in epsilon and delta, or in rho."""
    match promise:
        case Pure(epsilon):
            return lambda loss: loss.epsilon_bound(Fraction(0)) <= epsilon
        case Approximate(epsilon, delta):
            return lambda loss: loss.epsilon_bound(delta) <= epsilon
        case Zcdp(rho):
            return lambda loss: loss.rho_bound() <= rho
        case _:
            raise NotSupported("a promise is a dp.Loss.pure, a dp.Loss.approximate or a dp.Loss.zcdp.")


def width(questions: int, failure_probability: Number) -> Fraction:
    """Return x with P(some of K logistic variables is beyond x) <= beta: ln(2 K / beta), rounded up."""
    count, beta = positive_integer(questions, "questions"), probability(failure_probability, "failure_probability")
    return upper(lambda: ball(2 * count / beta).log())


def rounding(steps: Steps, threshold: Number) -> Fraction:
    """Return how far apart f - T and its number of steps can be: T is rounded up, real values to the nearest step."""
    moved = steps.above(threshold) * steps.step - rational(threshold, "threshold")
    return moved + (0 if steps.step == 1 else steps.step / 2)


def refuse_unless_renyi(budget: Budget) -> None:
    """Refuse a budget that cannot pay for misses, which are unbounded in number."""
    if budget.rho is not None or budget.is_pure:
        currency = "epsilon alone" if budget.is_pure else "rho"
        raise NotSupported(f"a budget of {currency} cannot pay for a logistic threshold test. {INSTEAD}")


def _some(slope: Fraction) -> Fraction:
    if not slope:
        raise InvalidParameter("no slope keeps so many hits within that; allow fewer hits, or more loss.")
    return slope
