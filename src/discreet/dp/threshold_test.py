"""The logistic threshold test: fresh noise for every question, no hidden threshold, and a price for hits only."""

from __future__ import annotations

from fractions import Fraction
from typing import NoReturn

from discreet.dp import threshold_calibration as calibration
from discreet.dp.budget import Budget
from discreet.dp.filter import PrivacyFilter
from discreet.dp.hit_value import HitValue
from discreet.dp.logistic import check_slope
from discreet.dp.logistic_watch import LogisticWatch
from discreet.dp.loss import Loss
from discreet.dp.rational import Number, float_up, positive, positive_integer
from discreet.dp.reals import ball, upper
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.stream import on_grid
from discreet.dp.threshold_loss import ThresholdHit
from discreet.dp.threshold_state import ThresholdState
from discreet.errors import InvalidParameter, NotSupported


def _stored(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("a threshold test is not copied: both would count the same hits. Store state() and resume it once.")


class ThresholdTest(LogisticWatch[HitValue]):
    """Answer True with probability 1 / (1 + exp(-slope (f - T) / D)), D = sensitivity.linf, for each question anew.

    Guarantee: for questions, thresholds and slopes that depend in any way on earlier answers, as long as the hits that
      a filter or a permit lets it report cost at most B together at the order a of the budget, all answers have Renyi
      divergence of order a at most B. A miss is free; a hit, with or without its noisy value, costs
      eta(a, slope) / (a - 1), where eta = -a slope - ln(1 - a (1 - exp(-slope))) and a (1 - exp(-slope)) < 1. With a
      `cutoff` instead, the loss is `cutoff` times that of one hit, at every such order. The caller must ensure that
      each value moves by at most D, and that a state is resumed at most once, after the last answer it does not hold.
    Source: the proof is in `docs/proofs/threshold-test.md`; the idea of paying for hits only is that of Cohen, Lyu,
      "The target charging technique", 2023, and we know of no earlier statement with logistic noise.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> test = dp.ThresholdTest(threshold=5000, sensitivity=s, slope=0.02, cutoff=10)
    >>> test.ask(0), test.ask(10_000), test.hits_left
    (False, True, 9)
    >>> round(test.loss.epsilon(delta=1e-9), 2)
    0.61
    """

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _stored

    def __init__(
        self,
        *,
        threshold: Number,
        sensitivity: Sensitivity,
        slope: Number | None = None,
        loss: Loss | None = None,
        cutoff: int | None = None,
        account: PrivacyFilter | None = None,
        step: Number = 1,
    ) -> None:
        """Watch plain values, paying from `cutoff` hits or an account; with neither, `opened(permit)` pays.

        Of `slope=` and `loss=` one is given: the steepest slope with which `cutoff` hits keep within that loss.
        """
        super().__init__(threshold=threshold, sensitivity=sensitivity, cutoff=cutoff, step=step)
        match slope, loss:
            case value, None if value is not None:
                self.slope = positive(value, "slope")
            case None, Loss():
                if cutoff is None:
                    raise InvalidParameter("loss= is that of a test with a cutoff=; without one, give slope=.")
                self.slope = calibration.slope_within(loss, cutoff)
            case _:
                raise InvalidParameter("a ThresholdTest takes exactly one of slope= and loss=.")
        self._slope = self.slope / self._apart  # per step
        check_slope(self._slope)
        if account is not None:
            self._check_budget(account.budget)
        self._account = account
        self._begin(None)

    @classmethod
    def for_accuracy(
        cls,
        *,
        alpha: Number,
        failure_probability: Number,
        questions: int,
        threshold: Number,
        sensitivity: Sensitivity,
        cutoff: int | None = None,
        account: PrivacyFilter | None = None,
        step: Number = 1,
    ) -> ThresholdTest:
        """Return the most private test of which no answer is off by more than alpha, but for this probability.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> test = dp.ThresholdTest.for_accuracy(
        ...     alpha=600, failure_probability=0.05, questions=1000, threshold=5000, sensitivity=s, cutoff=50
        ... )
        >>> int(test.accuracy(failure_probability=0.05, questions=1000))
        600
        """
        grid, apart = on_grid(sensitivity, step)
        room = positive(alpha, "alpha") - calibration.rounding(grid, threshold)
        if room <= 0:
            raise InvalidParameter("alpha is at most what rounding to the grid takes; use a smaller step.")
        width = calibration.width(questions, failure_probability)
        slope = apart * grid.step / room * width
        return cls(threshold=threshold, sensitivity=sensitivity, slope=slope, cutoff=cutoff, account=account, step=step)

    @staticmethod
    def slope_for_hits(*, budget: Budget, hits: int) -> Fraction:
        """Return the steepest slope with which so many hits fit a budget of epsilon and delta, at its own order.

        >>> from discreet import dp
        >>> slope = dp.ThresholdTest.slope_for_hits(budget=dp.Budget(epsilon=1, delta=1e-9), hits=100)
        >>> round(1 / float(slope), 1)
        71.1
        """
        return calibration.slope_for_hits(budget, hits)

    @staticmethod
    def threshold_for(*, questions: int, hits: int, slope: Number, sensitivity: Sensitivity) -> float:
        """Return the distance to the threshold, ln(4 K / c) D / slope, at which K questions of true value 0 waste at
        most a quarter of c hits, in expectation."""
        count, cutoff = positive_integer(questions, "questions"), positive_integer(hits, "hits")
        size = on_grid(sensitivity, 1)[1] / positive(slope, "slope")
        return float_up(max(Fraction(0), upper(lambda: ball(size) * ball(Fraction(4 * count, cutoff)).log())))

    @property
    def hit_loss(self) -> Loss:
        """The loss of one hit."""
        return ThresholdHit(self.slope)

    @property
    def loss(self) -> Loss:
        """The loss of all answers, fixed in advance by the cutoff; a test without one has that of what it spends."""
        if self._cutoff is None:
            raise NotSupported("a threshold test without a cutoff has no loss of its own; hit_loss is that of one hit.")
        return self._cutoff * self.hit_loss

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha such that, but for this probability, no noise of so many questions is beyond it.

        Then every hit has f >= T - alpha, every miss f < T + alpha, and every noisy value is within alpha and a step of
        f. P(|Z| > x / e) = 2 / (1 + exp(x)) < 2 exp(-x), so that x = ln(2 K / beta) will do.
        """
        unit = self._apart * self.step / self.slope
        return unit * calibration.width(questions, failure_probability) + calibration.rounding(
            self._steps, self.threshold
        )

    def false_alarms(self, *, distance: Number, questions: int) -> float:
        """Return the expected number of hits among questions that lie this far below the threshold, or further."""
        steps = self._slope * positive(distance, "distance") / self.step
        return float_up(upper(lambda: positive_integer(questions, "questions") / (1 + ball(steps).exp())))

    def state(self) -> bytes:
        """Return everything that `resume` needs, all of it public: parameters, and the hits reported so far."""
        return ThresholdState(
            self.threshold, self.slope, self.step, self.sensitivity, self._cutoff, self._hits
        ).to_bytes()

    @classmethod
    def resume(cls, state: bytes, *, account: PrivacyFilter | None = None) -> ThresholdTest:
        """Return the test that a state describes, with the hits it has left; one that spent a permit is then opened.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> test = dp.ThresholdTest(threshold=5000, sensitivity=s, slope=0.02, cutoff=10)
        >>> _ = test.ask(10_000)
        >>> dp.ThresholdTest.resume(test.state()).hits_left
        9
        """
        was = ThresholdState.from_bytes(state)
        resumed = cls(
            threshold=was.threshold,
            sensitivity=was.sensitivity,
            slope=was.slope,
            cutoff=was.cutoff,
            account=account,
            step=was.step,
        )
        resumed._hits = was.hits
        if was.cutoff is not None:
            resumed._hits_left = max(0, was.cutoff - was.hits)
        return resumed

    def _check_budget(self, budget: Budget) -> None:
        calibration.refuse_unless_renyi(budget)
        if budget.charge(self.hit_loss) is None:
            raise NotSupported(f"at the order of this budget a hit of this slope has no price. {self.hit_loss.instead}")

    def _show(self, margin: int, offset: int) -> HitValue:
        return HitValue(margin, -offset, self._slope, self.step)

    def _facts(self) -> dict[str, object]:
        return {"slope": self.slope, "cutoff": self._cutoff}
