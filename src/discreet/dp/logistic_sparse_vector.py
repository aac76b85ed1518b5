"""The sparse vector technique with logistic noise: one hidden threshold, never redrawn, in every currency."""

from __future__ import annotations

from fractions import Fraction

from discreet.dp import randomness
from discreet.dp import threshold_calibration as calibration
from discreet.dp.filter import PrivacyFilter
from discreet.dp.logistic import check_slope
from discreet.dp.logistic_watch import LogisticWatch
from discreet.dp.loss import Loss, Pure
from discreet.dp.private import Permit
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.dp.samplers import DiscreteLaplace, discrete_laplace
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.stream import _secret, on_grid, reach
from discreet.dp.threshold_accuracy import least_epsilon
from discreet.dp.threshold_loss import HiddenThresholdLoss
from discreet.errors import InvalidParameter, NotSupported


class LogisticSparseVector(LogisticWatch[int | float]):
    """Answer True with probability 1 / (1 + exp(-h (f - T - R) / (2 D))), with R drawn once: Laplace of scale D / t.

    Guarantee: with `threshold_epsilon` t and `hit_epsilon` h, D = sensitivity.linf, and c hits: (t + c h)-DP;
      (t^2 + c h^2) / 2 - zCDP; and Renyi divergence of order a at most that of randomised response at t, plus
      c [a h - ln(1 + a (exp(h) - 1))] / (a - 1), at every order. Misses are free. Values and thresholds may depend on
      earlier answers. The price of the threshold is owed when it is drawn, hit or not; that of a hit when it is
      reported, with or without its noisy value. The caller must ensure that each value moves by at most D.
    Source: Lyu, Su, Li, 2017, Theorem 2 (one threshold for all hits); the Renyi curve with logistic noise is proved in
      `docs/proofs/threshold-test.md`: with R moved by D too, the odds of a hit move one way only.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> watch = dp.LogisticSparseVector(threshold=5000, sensitivity=s, loss=dp.Loss.pure(epsilon=1), cutoff=3)
    >>> watch.ask(0), watch.ask(10_000), watch.hits_left, watch.loss.epsilon(delta=0)
    (False, True, 2, 1.0)
    """

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _secret

    def __init__(
        self,
        *,
        threshold: Number,
        sensitivity: Sensitivity,
        threshold_epsilon: Number | None = None,
        hit_epsilon: Number | None = None,
        loss: Loss | None = None,
        cutoff: int | None = None,
        account: PrivacyFilter | None = None,
        step: Number = 1,
    ) -> None:
        """Watch plain values, paying from `cutoff` hits or an account; with neither, `opened(permit)` pays.

        Either both epsilons are given, or the `loss` of threshold and `cutoff` hits, which are then balanced.
        """
        super().__init__(threshold=threshold, sensitivity=sensitivity, cutoff=cutoff, step=step)
        match threshold_epsilon, hit_epsilon, loss:
            case t, h, None if t is not None and h is not None:
                self.threshold_epsilon, self.hit_epsilon = positive(t, "threshold_epsilon"), positive(h, "hit_epsilon")
            case None, None, Loss():
                if cutoff is None:
                    raise InvalidParameter("loss= is that of a watch with a cutoff=; without one, give both epsilons.")
                self.threshold_epsilon, self.hit_epsilon = balanced(loss, cutoff)
            case _:
                raise InvalidParameter("give threshold_epsilon= and hit_epsilon=, or loss= and cutoff=.")
        self._slope = self.hit_epsilon / (2 * self._apart)  # per step
        self._scale = self._apart / self.threshold_epsilon
        check_slope(self._slope)
        DiscreteLaplace.check(self._scale)
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
        cutoff: int,
        step: Number = 1,
    ) -> LogisticSparseVector:
        """Return the most private one that is this accurate, to 30 bits, with the shares that `loss=` would have."""
        half, (grid, apart) = probability(failure_probability, "failure_probability") / 2, on_grid(sensitivity, step)
        width, ratio = calibration.width(questions, half), _ratio(positive_integer(cutoff, "cutoff"), pure=False)
        room = positive(alpha, "alpha") - calibration.rounding(grid, threshold)

        def alpha_of(t: Fraction) -> Fraction:
            return (reach(apart / t, failure_probability=half) + 2 * apart / (t * ratio) * width) * grid.step

        t = least_epsilon(alpha_of, room)
        return cls(
            threshold=threshold,
            sensitivity=sensitivity,
            threshold_epsilon=t,
            hit_epsilon=t * ratio,
            cutoff=cutoff,
            step=step,
        )

    @property
    def threshold_loss(self) -> Loss:
        """The loss of drawing the threshold: on a grid, that of randomised response."""
        return Pure(self.threshold_epsilon)

    @property
    def hit_loss(self) -> Loss:
        """The loss of one hit, once the threshold is paid for."""
        return HiddenThresholdLoss.of(threshold=Fraction(0), hit=self.hit_epsilon, hits=1)

    @property
    def loss(self) -> Loss:
        """The loss of the threshold and all hits, fixed in advance by the cutoff."""
        if self._cutoff is None:
            raise NotSupported("without a cutoff there is no loss in advance: see threshold_loss and hit_loss.")
        return HiddenThresholdLoss.of(threshold=self.threshold_epsilon, hit=self.hit_epsilon, hits=self._cutoff)

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha such that, but for this probability, no noise of so many questions and the threshold exceeds it.

        Then every hit has f >= T - alpha, every miss f < T + alpha, and every noisy value is within alpha and a step of
        f. Half of the probability is for the threshold, half for the questions, of which P(|Z| > x / e) < 2 exp(-x).
        """
        half = probability(failure_probability, "failure_probability") / 2
        steps = reach(self._scale, failure_probability=half) + calibration.width(questions, half) / self._slope
        return steps * self.step + calibration.rounding(self._steps, self.threshold)

    def _begin(self, permit: Permit | None) -> None:
        super()._begin(permit)
        if permit is not None:
            permit.take(self.threshold_loss)
        elif self._account is not None:
            self._account.reserve(self.threshold_loss)  # owed in full: this reservation is never settled
        self._rho = discrete_laplace(self._scale).added_to(0, randomness.system())

    def _show(self, margin: int, offset: int) -> int | float:
        return self._steps.value(margin - offset)

    def _facts(self) -> dict[str, object]:
        return {"threshold_epsilon": self.threshold_epsilon, "hit_epsilon": self.hit_epsilon, "cutoff": self._cutoff}


def balanced(loss: Loss, cutoff: int) -> tuple[Fraction, Fraction]:
    """Return the epsilons of threshold and hit that use up a loss with so many hits."""
    count = positive_integer(cutoff, "cutoff")
    ratio = _ratio(count, pure=isinstance(loss, Pure))
    if isinstance(loss, Pure):
        threshold = loss.pure_epsilon / (1 + count * ratio)
    else:
        within = calibration.keeps_within(loss)
        threshold = calibration.greatest(
            lambda t: within(HiddenThresholdLoss.of(threshold=t, hit=t * ratio, hits=count)), bits=calibration.ENOUGH
        )
    if not threshold:
        raise InvalidParameter("that loss is too small to be shared among a threshold and its hits.")
    return threshold, threshold * ratio


def _ratio(count: int, *, pure: bool) -> Fraction:
    """Return h / t with the least sum of variances: (2 c)^(2/3) / c where epsilons add up, else (4 / c)^(1/4)."""
    return Fraction(f"{(2 * count) ** (2 / 3) / count if pure else (4 / count) ** 0.25:.6g}")
