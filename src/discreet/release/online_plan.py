"""The numbers of an online mechanism, all of them fixed before a row is read, and what they cost together.

They depend on the budget, on the universe, on the sensitivity and on the number of questions that are expected; never
on the table. The shares below were chosen on the NLTCS table, and kept for all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

from discreet.dp.budget import Budget
from discreet.dp.filter import PrivacyFilter
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, Loss, Pure, Zcdp
from discreet.dp.private import Permit
from discreet.dp.rational import quantise_up
from discreet.dp.reals import ball, upper
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.threshold_calibration import greatest
from discreet.dp.threshold_loss import ThresholdHit
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.online_gate import Gate, LogisticGate, SparseGate
from discreet.release.rows import moved

Axes: TypeAlias = tuple[int, ...]

_SINGLES = Fraction(1, 10)  # of the budget, for the number of rows and single columns before the first question
_PAIRS = Fraction(1, 2)  # of it, for what pairs of columns say beyond them
_TESTS = Fraction(1, 2)  # of what is left, for tests; the rest measures what they find
_TESTS_OWED = Fraction(1, 4)  # the same where tests are owed in advance
_HITS, _HITS_WITHOUT_PAIRS = 20, 50
_BYPASSES = 10
_FEW = 100  # questions: so many or fewer are all measured, and nothing is tested
_MOST_PAIR_CELLS = 1 << 16  # of a pair of columns that is measured beforehand
_MOST_PAIRS = 300
MOST_VALUES = 4096
"""Of one column: its effects take a matrix of so many rows."""


@dataclass(frozen=True, slots=True)
class Purse:
    """A budget, and how much of it one mechanism may spend, in its currency.

    Guarantee: what has this charge or less, chosen adaptively, keeps the promise of the budget. The currency is one
      Renyi order for epsilon and delta, fixed when the budget is.
    Source: as `dp.Budget`.
    """

    budget: Budget
    amount: Fraction

    @classmethod
    def of(cls, loss: Loss) -> Purse:
        """Return the purse of a promise."""
        match loss:
            case Approximate(epsilon, delta) if delta:
                budget = Budget(epsilon=epsilon, delta=delta)
            case Pure(epsilon) | Approximate(epsilon, _):
                budget = Budget(epsilon=epsilon)
            case Zcdp(rho):
                budget = Budget(rho=rho)
            case _:
                raise InvalidParameter(
                    "loss is dp.Loss.approximate(epsilon=..., delta=...), dp.Loss.pure(epsilon=...) or "
                    "dp.Loss.zcdp(rho=...)."
                )
        return cls(budget, budget.cap.amount)

    @classmethod
    def held_by(cls, permit: Permit) -> Purse:
        """Return the purse of a permit: what is left of it."""
        return cls(permit._budget, permit.left)

    def permit(self, spent: Fraction = Fraction(0)) -> Permit:
        """Return a permit for all of it but what was spent."""
        return PrivacyFilter(self.budget).reserve(self.costing(self.amount - spent))

    def costing(self, amount: Fraction) -> Loss:
        """Return a loss that costs at most this amount."""
        if self.budget.is_pure:
            return Pure(amount)
        return Zcdp(amount if self.budget.rho is not None else amount / self.budget.order)

    def charge(self, loss: Loss) -> Fraction:
        """Return what a loss costs, rounded up."""
        found = self.budget.charge(loss)
        assert found is not None  # every loss here has a price in its currency
        return found.amount

    @property
    def is_renyi(self) -> bool:
        """Whether hits are paid one by one."""
        return self.budget.rho is None and not self.budget.is_pure

    def noise(self, amount: Fraction) -> Fraction:
        """Return what an amount buys: mu^2 of normal noise, or epsilon of Laplace noise for a pure budget."""
        if self.budget.is_pure:
            return amount
        return 2 * (amount if self.budget.rho is not None else amount / self.budget.order)

    def loss_of_noise(self, noise: Fraction) -> Loss:
        """Return the loss of a measurement with that noise."""
        return Pure(noise) if self.budget.is_pure else GaussianLoss(noise)


@dataclass(frozen=True, slots=True)
class OnlinePlan:
    """How a purse is divided, and the threshold of the test.

    Guarantee: the prior, the opening of the gate and `hits` times a hit (a test and a measurement) cost at most the
      amount of the purse; a bypass costs a measurement alone.
    Source: Hardt, Rothblum, 2010 (the online mechanism); the division is ours.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> purse = Purse.of(dp.Loss.approximate(epsilon=1, delta=1e-9))
    >>> plan = OnlinePlan.of(purse, (2,) * 16, s, questions=10_000)
    >>> plan.hits, plan.bypasses, len(plan.pairs), plan.threshold
    (20, 10, 120, 541)
    """

    purse: Purse
    questions: int
    hits: int
    bypasses: int
    threshold: int
    tests: Fraction  # the slope of logistic coins, or epsilon of a sparse vector; 0 where nothing is tested
    noise: Fraction  # of one measurement, as `Purse.noise` says it
    noise_of_singles: Fraction
    noise_of_pairs: Fraction
    pairs: tuple[Axes, ...]
    sensitivity: Sensitivity

    @classmethod
    def of(cls, purse: Purse, shape: Axes, sensitivity: Sensitivity, *, questions: int) -> OnlinePlan:
        """Divide a purse for so many questions about a universe of this shape."""
        few = questions <= _FEW
        pairs = () if few or purse.budget.is_pure else measured_pairs(shape)
        singles, double = purse.amount * _SINGLES, purse.amount * _PAIRS if pairs else Fraction(0)
        left = purse.amount - singles - double
        if few:
            hits, testing = questions, Fraction(0)
        else:
            hits, testing = (_HITS if pairs else _HITS_WITHOUT_PAIRS), _TESTS if purse.is_renyi else _TESTS_OWED
        tests = _tests(purse, left * testing, hits)
        threshold = _threshold(purse, tests, hits, questions, sensitivity) if tests else 0
        return cls(
            purse, questions, hits, questions if few else _BYPASSES, threshold, tests,
            _noise(purse, left * (1 - testing) / hits), _noise(purse, singles), _noise(purse, double), pairs,
            sensitivity,
        )  # fmt: skip

    @property
    def loss_of_measurement(self) -> Loss:
        """The loss of measuring once."""
        return self.purse.loss_of_noise(self.noise)

    @property
    def loss_of_prior(self) -> Loss:
        """The loss of what is measured before the first question."""
        singles = self.purse.loss_of_noise(self.noise_of_singles)
        return singles + self.purse.loss_of_noise(self.noise_of_pairs) if self.pairs else singles

    @property
    def loss_of_opening(self) -> Loss:
        """What is owed before the first question: a hidden threshold, where there is one."""
        return Pure(Fraction(0)) if self.purse.is_renyi else Pure(self.tests)

    def gate(self) -> Gate | None:
        """Return the test; None where nothing is tested."""
        if not self.tests:
            return None
        if self.purse.is_renyi:
            return LogisticGate(threshold=self.threshold, slope=self.tests, apart=apart(self.sensitivity))
        linf = Sensitivity(l1=apart(self.sensitivity), neighbours=self.sensitivity.neighbours)
        return SparseGate(threshold=self.threshold, epsilon=self.tests, hits=self.hits, sensitivity=linf)


def apart(sensitivity: Sensitivity) -> int:
    """Return by how many whole counts one unit moves the distance of a query from an estimate, rounded to counts."""
    return math.ceil(moved(sensitivity))


def measured_pairs(shape: Axes) -> tuple[Axes, ...]:
    """Return the pairs of columns that are measured beforehand: all that are small, unless there are very many."""
    small = [p for p in combinations(range(len(shape)), 2) if shape[p[0]] * shape[p[1]] <= _MOST_PAIR_CELLS]
    return tuple(small) if len(small) <= _MOST_PAIRS else ()


def _tests(purse: Purse, amount: Fraction, hits: int) -> Fraction:
    """Return the slope with which so many hits cost an amount, or the epsilon of a sparse vector that does."""
    if not amount:
        return Fraction(0)
    if purse.is_renyi:
        order, each = purse.budget.order, amount / hits
        return greatest(lambda slope: ThresholdHit(slope).renyi(order) <= each)
    if purse.budget.is_pure:
        return amount
    return root_down(2 * amount)  # epsilon-DP is epsilon^2 / 2 in rho


def _threshold(purse: Purse, tests: Fraction, hits: int, questions: int, sensitivity: Sensitivity) -> int:
    """Return where K questions of true value 0 waste about a quarter of the hits."""
    far = apart(sensitivity)
    if purse.is_renyi:
        return math.ceil(upper(lambda: ball(far / tests) * ball(Fraction(4 * questions, hits) + 1).log()))
    linf = Sensitivity(l1=far, neighbours=sensitivity.neighbours)
    gate = SparseGate(threshold=0, epsilon=tests, hits=hits, sensitivity=linf)
    return math.ceil(gate.accuracy(failure_probability=Fraction(1, 4), questions=questions))


def _noise(purse: Purse, amount: Fraction) -> Fraction:
    """Return the noise that an amount buys, in few digits, rounded down."""
    return -quantise_up(-purse.noise(amount)) if amount else Fraction(0)


def root_down(square: Fraction) -> Fraction:
    """Return a rational at most the square root."""
    shift = 2**60
    return Fraction(math.isqrt(int(square * shift * shift)), shift)


def check_plan(plan: OnlinePlan, shape: Axes) -> None:
    """Refuse a budget that buys no measurement that could be drawn, and columns that are too fine."""
    if max(shape) > MOST_VALUES:
        raise NotSupported(
            f"a column of more than {MOST_VALUES} values is too fine for a model of effects: use coarser bins."
        )
    if plan.noise <= 0 or (plan.hits and plan.threshold > 2**62):
        raise NotSupported("this budget is too small to learn anything of a table: ask for more epsilon.")
