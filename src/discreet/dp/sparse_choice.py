"""Which way of answering only what lies above a threshold is the most accurate, for so many hits and questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.budget import Budget
from discreet.dp.explain import rounded_up
from discreet.dp.logistic_sparse_vector import LogisticSparseVector
from discreet.dp.loss import Approximate, Loss, Pure
from discreet.dp.rational import Number, float_up, positive, positive_integer, probability, rational
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.sparse_vector import NumericSparse, Sparse
from discreet.dp.standard_sparse_vector import Family, SparseVector
from discreet.dp.threshold_calibration import ENOUGH, greatest, keeps_within
from discreet.dp.threshold_loss import HiddenThresholdLoss, ThresholdHit
from discreet.dp.threshold_test import ThresholdTest
from discreet.errors import InvalidParameter, NotSupported

SparseWatch = ThresholdTest | LogisticSparseVector | SparseVector | Sparse | NumericSparse
Fits = Callable[[Loss], bool]

_WHY = {
    ThresholdTest: "it has no noisy threshold, and a miss leaves no trace in what hits cost at one Renyi order",
    LogisticSparseVector: "one threshold is drawn for all hits, whose prices add up as those of small Gaussian noises",
    SparseVector: "for so few hits the sum of epsilons is small, and Laplace noise the narrowest",
    Sparse: "nothing else fits",
    NumericSparse: "nothing else fits",
}
_WITHOUT_DELTA = "without a delta epsilons add up in every way, and Laplace noise is the narrowest"
_TILTS = [Fraction(2) ** k for k in (-1, 0, 1)]  # alpha is flat near its least: factors of 2 find it within 2 %


@dataclass(frozen=True, slots=True)
class SparseOffer:
    """One way, with the alpha that it reaches; `open()` draws what it has to draw."""

    technique: type[SparseWatch]
    alpha: Fraction
    epsilon: float
    open: Callable[[], SparseWatch]


@dataclass(frozen=True, slots=True)
class SparseChoice:
    """All ways that fit, the most accurate first; prints as a table, in which numbers are rounded up.

    `alpha` bounds, but for `failure_probability`, how far on the wrong side of the threshold an answer can be, over all
    questions together, as long as no more values than `hits` are as high as the threshold minus alpha.
    """

    hits: int
    questions: int
    failure_probability: Fraction
    delta: Fraction
    pure: bool  # whether the promise is in epsilon alone
    offers: tuple[SparseOffer, ...]

    @property
    def best(self) -> SparseOffer:
        """The offer with the least alpha."""
        return self.offers[0]

    @property
    def why(self) -> str:
        """Why it is the best, in one sentence."""
        name, reason = self.best.technique.__name__, _WHY[self.best.technique]
        if self.pure and self.best.technique is SparseVector:
            reason = _WITHOUT_DELTA
        wider = (f"{float(o.alpha / self.best.alpha):.3g} times with {o.technique.__name__}" for o in self.offers[1:])
        rest = ", ".join(wider)
        return f"{name}: {reason}" + (f"; alpha is {rest}." if rest else ".")

    def open(self) -> SparseWatch:
        """Return a fresh watch of the best kind, for plain values; `opened(permit)` of it takes private ones."""
        return self.best.open()

    def __str__(self) -> str:
        head = (
            f"{self.hits} hits among {self.questions} questions, none wrong by more than alpha but for a chance of "
            f"{float(self.failure_probability):g}"
        )
        rows = [f"{'technique':<24}{'alpha':>12}{f'epsilon at delta = {float(self.delta):g}':>30}"]
        for offer in self.offers:
            alpha, epsilon = (rounded_up(number, digits=4) for number in (float_up(offer.alpha), offer.epsilon))
            rows.append(f"{offer.technique.__name__:<24}{alpha:>12}{epsilon:>30}")
        return "\n".join([head, *rows, self.why])


@dataclass(frozen=True, slots=True)
class _Task:
    """What is asked, and the offers that are made for it."""

    threshold: Fraction
    sensitivity: Sensitivity
    step: Fraction
    hits: int
    questions: int
    failure_probability: Fraction
    delta: Fraction
    family: Family
    values: bool
    fits: Fits

    def offer(self, open_: Callable[[], SparseWatch]) -> SparseOffer:
        watch = open_()
        alpha = watch.accuracy(failure_probability=self.failure_probability, questions=self.questions)
        return SparseOffer(type(watch), alpha, watch.loss.epsilon(delta=self.delta), open_)

    def threshold_test(self) -> SparseOffer | None:
        slope = greatest(lambda e: self.fits(self.hits * ThresholdHit(e)), bits=ENOUGH)
        if not slope:
            return None
        return self.offer(
            lambda: ThresholdTest(
                threshold=self.threshold, sensitivity=self.sensitivity, slope=slope, cutoff=self.hits, step=self.step
            )
        )

    def logistic(self) -> SparseOffer | None:
        """Return the offer with the best share for the threshold: found with 4 bits, then used up."""
        found = [self._tilted(tilt, bits=4) for tilt in _TILTS]
        made = [(offer.alpha, tilt) for offer, tilt in zip(found, _TILTS, strict=True) if offer is not None]
        return self._tilted(min(made)[1], bits=ENOUGH) if made else None

    def _tilted(self, tilt: Fraction, *, bits: int) -> SparseOffer | None:
        ratio = tilt * Fraction(f"{(4 / self.hits) ** 0.25:.6g}")  # the best for variances, in zCDP
        t = greatest(lambda t: self.fits(HiddenThresholdLoss.of(threshold=t, hit=t * ratio, hits=self.hits)), bits=bits)
        if not t:
            return None
        return self.offer(
            lambda: LogisticSparseVector(
                threshold=self.threshold,
                sensitivity=self.sensitivity,
                threshold_epsilon=t,
                hit_epsilon=t * ratio,
                cutoff=self.hits,
                step=self.step,
            )
        )

    def standard(self) -> SparseOffer | None:
        epsilon = greatest(lambda e: self.fits(Pure(e)), Fraction(2**10), bits=ENOUGH)
        if not epsilon:
            return None
        return self.offer(
            lambda: SparseVector(
                threshold=self.threshold,
                cutoff=self.hits,
                sensitivity=self.sensitivity,
                epsilon=epsilon,
                family=self.family,
                gap=self.values,
                step=self.step,
            )
        )

    def of_the_notes(self, epsilon: Fraction, delta: Fraction) -> SparseOffer | None:
        kind: type[Sparse] | type[NumericSparse] = NumericSparse if self.values else Sparse
        try:
            return self.offer(
                lambda: kind(
                    threshold=self.threshold,
                    cutoff=self.hits,
                    sensitivity=self.sensitivity,
                    epsilon=epsilon,
                    delta=delta,
                    step=self.step,
                )
            )
        except InvalidParameter:  # its composition theorem has a condition
            return None


def best_sparse_vector(
    *,
    hits: int,
    questions: int,
    loss: Loss | None = None,
    budget: Budget | None = None,
    threshold: Number,
    sensitivity: Sensitivity,
    failure_probability: Number,
    values: bool,
    family: Family = Family.GENERAL,
    step: Number = 1,
) -> SparseChoice:
    """Return every way of reporting so many hits within a loss, the most accurate first.

    Either `loss`, a promise fixed in advance (dp.Loss.pure, approximate or zcdp), or the `budget` of a session, whose
    currency is then used up, at the one order that it keeps. With `values` a hit tells a noisy value too, which costs
    something in NumericSparse alone. The version of the notes is listed where there is one.

    Guarantee: every offer keeps within the loss, or costs at most the budget. The caller must ensure the obligation of
      the `family`.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> choice = dp.best_sparse_vector(
    ...     hits=50, questions=10_000, loss=dp.Loss.approximate(epsilon=1, delta=1e-9), threshold=5000, sensitivity=s,
    ...     failure_probability=0.05, values=False,
    ... )
    >>> choice.best.technique.__name__, choice.offers[-1].technique.__name__
    ('ThresholdTest', 'Sparse')
    """
    if (loss is None) == (budget is None) or not isinstance(loss, Loss | None) or not isinstance(budget, Budget | None):
        raise InvalidParameter("a choice is made for exactly one of loss=, fixed in advance, and budget=.")
    fits = _charged_to(budget) if loss is None else keeps_within(loss)
    epsilon, delta = _promise(loss, budget)
    task = _Task(
        threshold=rational(threshold, "threshold"),
        sensitivity=sensitivity,
        step=positive(step, "step"),
        hits=positive_integer(hits, "hits"),
        questions=positive_integer(questions, "questions"),
        failure_probability=probability(failure_probability, "failure_probability"),
        delta=delta,
        family=family,
        values=bool(values),
        fits=fits,
    )
    made = [task.threshold_test() if delta else None, task.logistic(), task.standard()]
    if epsilon is not None and loss is not None:
        made.append(task.of_the_notes(epsilon, delta))
    offers = sorted((offer for offer in made if offer is not None), key=lambda offer: offer.alpha)
    if not offers:
        raise NotSupported("nothing reports so many hits within that; allow fewer hits, or more loss.")
    pure = epsilon is not None and not delta
    return SparseChoice(task.hits, task.questions, task.failure_probability, delta, pure, tuple(offers))


def _charged_to(budget: Budget | None) -> Fits:
    assert budget is not None
    cap = budget.cap

    def fits(loss: Loss) -> bool:
        charge = budget.charge(loss)
        return charge is not None and charge.amount <= cap.amount and charge.delta <= cap.delta

    return fits


def _promise(loss: Loss | None, budget: Budget | None) -> tuple[Fraction | None, Fraction]:
    """Return the epsilon and the delta that are promised; no epsilon where the promise is in rho."""
    match loss:
        case Pure(epsilon):
            return epsilon, Fraction(0)
        case Approximate(epsilon, delta):
            return epsilon, delta
    return (None, Fraction(0)) if budget is None else (budget.epsilon, budget.delta)
