"""Noise that adapts to the data: in proportion to a smooth bound of the local sensitivity, which stays private."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.dp import randomness
from discreet.dp.grid import Steps
from discreet.dp.loss import Approximate, Loss, Pure
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Permit
from discreet.dp.rational import Number, positive, probability
from discreet.dp.reals import ball, upper
from discreet.dp.rounded_noise import rounded
from discreet.dp.scale_bound import ReleasedScale
from discreet.dp.smooth_calibration import Price, best_beta, classical_constants, greatest_shift, is_certain
from discreet.dp.smooth_exact import Real, SmoothExact, check_smooth, real, relation, smooth_bound
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, Noise, PolynomialLaw, SmoothLaw
from discreet.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """Add noise `scale` * S * Z to a value whose local sensitivity has the smooth bound S, rounded to a public grid.

    Z has the density proportional to 1 / (1 + |z|^exponent) (pure), or is Laplace or Gaussian.

    Guarantee: epsilon-DP with polynomial noise, and (epsilon, delta)-DP with Laplace or Gaussian noise, for one
      release. The caller must ensure that between neighbours the value moves by at most the smaller of the two S, and
      S by a factor of at most exp(beta). The scale is the least that a certificate over every move and stretch allows;
      `classical_polynomial`, `classical_laplace` and `classical_gaussian` have the constants of the theorems. S is
      private, and nothing public depends on it: the grid is `step`, and no error bar is made of S (see `accuracy`). A
      value of S below one step counts as one step.
    Source: Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in private data analysis", 2007, Lemma 2.6.

    >>> from discreet import dp
    >>> noise = dp.SmoothNoise(neighbours=dp.Neighbours.REPLACE, epsilon=1, beta="0.1", step="0.001")
    >>> round(float(noise.scale), 3), noise.loss.epsilon(delta=0)
    (2.728, 1.0)
    >>> isinstance(noise.release(31.5, smooth_sensitivity=0.25), float)
    True
    """

    neighbours: Neighbours
    law: SmoothLaw
    epsilon: Fraction
    delta: Fraction
    beta: Fraction
    scale: Fraction
    step: Fraction

    def __init__(
        self,
        *,
        neighbours: Neighbours,
        epsilon: Number,
        delta: Number | None = None,
        noise: Noise = "polynomial",
        exponent: int = 4,
        beta: Number | None = None,
        step: Number,
    ) -> None:
        """Calibrate the noise to the `beta` of the smooth bound; without one, choose it (see `best_beta`)."""
        price = _price(noise, exponent, epsilon, delta)
        chosen = best_beta(price) if beta is None else positive(beta, "beta")
        self._set(neighbours, price, chosen, 1 / greatest_shift(price, chosen), step)

    def _set(self, neighbours: Neighbours, price: Price, beta: Fraction, scale: Fraction, step: Number) -> None:
        object.__setattr__(self, "neighbours", relation(neighbours))
        object.__setattr__(self, "law", price.law)
        object.__setattr__(self, "epsilon", price.epsilon)
        object.__setattr__(self, "delta", price.delta)
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "step", Steps.of(step).step)

    @classmethod
    def classical_polynomial(
        cls, *, neighbours: Neighbours, epsilon: Number, exponent: int = 4, step: Number
    ) -> SmoothNoise:
        """Return the mechanism of the classical theorem: beta = epsilon / (2 (g + 1)), scale 2 (g + 1) / epsilon.

        Guarantee: epsilon-DP, with the constants of the theorem; about three and a half times the noise needed.
        Source: Nissim, Raskhodnikova, Smith, 2007, Lemma 2.7.

        >>> from discreet import dp
        >>> m = SmoothNoise.classical_polynomial(neighbours=dp.Neighbours.REPLACE, epsilon=1, step=1)
        >>> m.beta, m.scale
        (Fraction(1, 10), Fraction(10, 1))
        """
        return cls._classical(neighbours, _price("polynomial", exponent, epsilon, None), step)

    @classmethod
    def classical_laplace(cls, *, neighbours: Neighbours, epsilon: Number, delta: Number, step: Number) -> SmoothNoise:
        """Return the mechanism of the classical theorem: beta = epsilon / (2 ln(2 / delta)), scale 2 / epsilon.

        Guarantee: (epsilon, delta)-DP, with the constants of the theorem, where the exact price confirms it; it is
          false for an epsilon above about 12, and refused there.
        Source: Nissim, Raskhodnikova, Smith, 2007, Lemma 2.9.

        >>> from discreet import dp
        >>> m = SmoothNoise.classical_laplace(neighbours=dp.Neighbours.REPLACE, epsilon=1, delta=1e-6, step=1)
        >>> round(float(m.beta), 4), m.scale
        (0.0345, Fraction(2, 1))
        """
        return cls._classical(neighbours, _price("laplace", 4, epsilon, delta), step)

    @classmethod
    def classical_gaussian(cls, *, neighbours: Neighbours, epsilon: Number, delta: Number, step: Number) -> SmoothNoise:
        """Return that theorem's mechanism: beta = epsilon / (4 (1 + ln(2 / d))), scale 5 sqrt(2 ln(2 / d)) / epsilon.

        Guarantee: (epsilon, delta)-DP, with the constants of the theorem, where the exact price confirms it; about
          four times the noise needed.
        Source: Nissim, Raskhodnikova, Smith, 2007, Lemma 2.9.

        >>> from discreet import dp
        >>> m = SmoothNoise.classical_gaussian(neighbours=dp.Neighbours.REPLACE, epsilon=1, delta=1e-6, step=1)
        >>> round(float(m.beta), 4), round(float(m.scale), 2)
        (0.0161, 26.93)
        """
        return cls._classical(neighbours, _price("gaussian", 4, epsilon, delta), step)

    @classmethod
    def _classical(cls, neighbours: Neighbours, price: Price, step: Number) -> SmoothNoise:
        beta, scale = classical_constants(price.law, price.epsilon, price.delta)
        if not is_certain(price, shift=1 / scale, beta=beta):
            raise InvalidParameter(
                "the classical theorem is false for so large an epsilon; use SmoothNoise(epsilon=, ...)."
            )
        made = object.__new__(cls)
        made._set(neighbours, price, beta, scale, step)
        return made

    @property
    def loss(self) -> Loss:
        """The loss of one release. What has a delta takes it from the `delta_add` of a budget."""
        return Approximate(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    def release(self, value: Real, smooth_sensitivity: Real) -> int | float:
        """Return a plain value with fresh noise: a multiple of the grid, and an integer where the grid is the integers.

        Whoever calls this has the value and its smooth bound already, and accounts for `loss`.
        """
        if isinstance(value, SmoothExact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        check_smooth(smooth_sensitivity, beta=self.beta, neighbours=self.neighbours)
        return self._release(real(value, "value"), smooth_bound(smooth_sensitivity), randomness.system())

    def open(self, exact: SmoothExact, permit: Permit) -> int | float:
        """Release a private value: the loss is taken from the permit first, then the value is read.

        Guarantee: the output has the loss that was taken; a bound of another relation, or smooth only with a greater
          beta than this noise was calibrated to, is refused before anything is taken.
        """
        if not isinstance(exact, SmoothExact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes a SmoothExact and a Permit; for plain numbers use release(...).")
        check_smooth(exact, beta=self.beta, neighbours=self.neighbours)
        permit.take(self.loss)
        return self._release(exact._value, exact._smooth, randomness.system())

    def _release(self, value: Fraction, smooth_sensitivity: Fraction, stream: randomness.Stream) -> int | float:
        bound = max(smooth_sensitivity, self.step)  # a maximum with a constant is as smooth
        return Steps(self.step).value(rounded(self.law, value / self.step, self.scale * bound / self.step, stream))

    def accuracy(self, *, failure_probability: Number, smooth_sensitivity: Number | ReleasedScale) -> Fraction:
        """Return alpha with P(off by more than alpha) <= failure_probability, from a public bound of S.

        The bound is a number that holds for every table, such as the range of the data; or what a `ScaleBound`
        released, which has been paid for and takes half of the failure probability. It is never S itself.
        """
        share = probability(failure_probability, "failure_probability")
        match smooth_sensitivity:
            case ReleasedScale():
                share /= 2
                most = smooth_sensitivity.at_most(failure_probability=share)
            case _:
                most = positive(smooth_sensitivity, "smooth_sensitivity")
        reach = upper(lambda: self.law.quantile(ball(share)))
        return self.scale * max(most, self.step) * reach + self.step / 2


def _price(noise: Noise, exponent: int, epsilon: Number, delta: Number | None) -> Price:
    law: SmoothLaw
    match noise:
        case "polynomial":
            law = PolynomialLaw(exponent)
        case "laplace":
            law = LaplaceLaw()
        case "gaussian":
            law = GaussianLaw()
        case _:
            raise InvalidParameter("noise is 'polynomial', 'laplace' or 'gaussian'.")
    share = Fraction(0) if delta is None else probability(delta, "delta")
    return Price(law, positive(epsilon, "epsilon"), share)
