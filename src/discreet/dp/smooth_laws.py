"""The three laws of smooth-sensitivity noise: their tails, and how well a moved and stretched copy can be told apart.

Between neighbours the noise is moved by at most the smaller of two smooth bounds, and stretched by a ratio between
exp(-beta) and exp(beta). `leak` is the exact price of one move and one stretch. Every law here is symmetric with a
density that falls from 0, so what overlaps of a copy shrinks with the move, and it shrinks with the stretch at the rate
that `leak` takes as `slack`: `smooth_calibration` builds its certificate from these two facts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.dp.rational import rational
from discreet.dp.reals import ball
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

Noise = Literal["polynomial", "laplace", "gaussian"]

_GREATEST_EXPONENT = 8  # beyond it the tails are lighter and the noise is larger for the same smooth bound
_MOST_STEPS = 100  # of Newton's method; about ten are taken


class SmoothLaw(ABC):
    """A standard law Z of noise, symmetric, with a density that falls from 0."""

    @property
    @abstractmethod
    def is_pure(self) -> bool:
        """Whether the log ratio of a moved and stretched copy is bounded."""

    @abstractmethod
    def leak(self, shift: Fraction, ratio: Fraction, epsilon: Fraction, slack: arb) -> arb:
        """Return the ball around the price of telling Z from shift + ratio Z, for shift > 0.

        For a pure law it is the greatest log ratio plus slack, which is to be at most epsilon; for the others the
        exact delta at epsilon - slack.
        """

    @abstractmethod
    def beyond(self, z: arb) -> arb:
        """Return P(|Z| > z), for z >= 0."""

    @abstractmethod
    def quantile(self, tail: arb) -> arb:
        """Return the z with P(|Z| > z) = tail, for every tail in the ball at once."""


@dataclass(frozen=True, slots=True)
class LaplaceLaw(SmoothLaw):
    """Density exp(-|z|) / 2."""

    @property
    def is_pure(self) -> bool:
        """False: where the copy is narrower the log ratio grows without end."""
        return False

    def leak(self, shift: Fraction, ratio: Fraction, epsilon: Fraction, slack: arb) -> arb:
        """Return the sum of what P has above exp(e) P' on the three intervals on which the log ratio is linear."""
        t, r, e, zero = ball(shift), ball(ratio), ball(epsilon) - slack, ball(0)
        gamma, inward, log_r = e.exp(), 1 - 1 / r, r.log()

        def left(x: arb) -> arb:  # what P has above gamma P' up to x <= 0
            return (x.exp() - gamma * ((x - t) / r).exp()) / 2

        def middle(x: arb) -> arb:  # up to 0 <= x <= t
            return 1 - (-x).exp() / 2 - gamma * ((x - t) / r).exp() / 2

        def right(x: arb) -> arb:  # from x >= t
            return ((-x).exp() - gamma * ((t - x) / r).exp()) / 2

        cut = ((log_r + t / r - e) / (1 + 1 / r)).max(zero).min(t)
        inside = middle(cut) - middle(zero)
        if ratio == 1:
            return inside + left(zero).max(zero) + right(t).max(zero)
        first, last = ((e - log_r - t / r) / inward).min(zero), ((e - log_r + t / r) / -inward).max(t)
        if ratio > 1:
            return inside + left(zero) - left(first) + right(t) - right(last)
        return inside + left(first) + right(last)

    def beyond(self, z: arb) -> arb:
        """Return exp(-z)."""
        return (-z).exp()

    def quantile(self, tail: arb) -> arb:
        """Return ln(1 / tail)."""
        return -tail.log()


@dataclass(frozen=True, slots=True)
class GaussianLaw(SmoothLaw):
    """The standard normal law."""

    @property
    def is_pure(self) -> bool:
        """False: the log ratio is a parabola, or a line."""
        return False

    def leak(self, shift: Fraction, ratio: Fraction, epsilon: Fraction, slack: arb) -> arb:
        """Return what P has above exp(e) P', between or outside the roots of a x^2 + b x + c = log ratio - e."""
        t, r, e, root_2 = ball(shift), ball(ratio), ball(epsilon) - slack, ball(2).sqrt()
        gamma = e.exp()
        a, b, c = 1 / (2 * r * r) - ball(Fraction(1, 2)), -t / (r * r), t * t / (2 * r * r) + r.log() - e
        if ratio != 1:  # without roots it is a parabola that only touches e: nothing above it, or everything
            touching = b * b / (4 * a)
            c = c.max(touching) if ratio > 1 else c.min(touching)
        q = (-b + (b * b - 4 * a * c).nonnegative_part().sqrt()) / 2  # above 0, as b < 0: no cancellation
        near = c / q

        def up_to(x: arb, sign: int) -> arb:
            """What P has above gamma P' below x (sign 1) or above x (sign -1)."""
            return ((-sign * x / root_2).erfc() - gamma * (-sign * (x - t) / r / root_2).erfc()) / 2

        if ratio == 1:
            return up_to(near, 1)
        far = q / a
        return up_to(near, 1) - up_to(far, 1) if ratio > 1 else up_to(near, 1) + up_to(far, -1)

    def beyond(self, z: arb) -> arb:
        """Return 2 Phi(-z)."""
        return (z / ball(2).sqrt()).erfc()

    def quantile(self, tail: arb) -> arb:
        """Return the inverse of 2 Phi(-z)."""
        return ball(2).sqrt() * tail.erfcinv()


@dataclass(frozen=True, slots=True)
class PolynomialLaw(SmoothLaw):
    """Density proportional to 1 / (1 + |z|^g), for an even exponent g: tails so heavy that no ratio is unbounded."""

    exponent: int

    def __post_init__(self) -> None:
        wanted = rational(self.exponent, "exponent")
        if wanted.denominator != 1 or wanted % 2 or not 2 <= wanted <= _GREATEST_EXPONENT:
            raise InvalidParameter("exponent is 2, 4, 6 or 8; 4 is the usual one, with a finite variance.")

    @property
    def is_pure(self) -> bool:
        """True."""
        return True

    def leak(self, shift: Fraction, ratio: Fraction, epsilon: Fraction, slack: arb) -> arb:
        """Return the greatest log ratio, which is reached where a polynomial has a root, or far away."""
        from flint import acb, fmpq, fmpq_poly

        g, t, r = self.exponent, ball(shift), ball(ratio)
        stretch = fmpq(ratio.numerator, ratio.denominator)
        copy = fmpq_poly([0, 1])
        place = fmpq_poly([fmpq(shift.numerator, shift.denominator), stretch])
        slope = copy ** (g - 1) * (place**g + 1) - stretch * place ** (g - 1) * (copy**g + 1)
        greatest = (1 - g) * r.log()
        for found in slope.numer().complex_roots():
            root: acb = found[0]  # type: ignore[index]  # pairs of a root and its multiplicity
            if root.imag == 0:  # a real root has an imaginary part of exactly 0
                y = root.real
                greatest = greatest.max(r.log() + (1 + y**g).log() - (1 + (t + r * y) ** g).log())
        return greatest + slack

    def beyond(self, z: arb) -> arb:
        """Return 1 - (2 / pi) sin(pi / g) * the sum over partial fractions of 1 / (1 + z^g)."""
        from flint import arb

        g, pi, total = self.exponent, ball(1).atan() * 4, ball(0)
        for j in range(1, g // 2 + 1):
            angle = pi * (2 * j - 1) / g
            sin, cos = angle.sin(), angle.cos()
            turn, size = arb.atan2(z * sin, 1 - z * cos), (1 - 2 * z * cos + z * z).log()
            total += sin * turn - cos * size / 2
        return 1 - 2 / pi * (pi / g).sin() * total

    def quantile(self, tail: arb) -> arb:
        """Return the inverse of `beyond`: Newton's method, then a certificate that it lies between two points."""
        z, fine = self._newton(tail.mid())
        width = fine * (1 + z) + tail.rad() * 2 * (1 + z**self.exponent) / self._peak()
        while not (self.beyond((z - width).max(ball(0))) >= tail and self.beyond(z + width) <= tail):
            width *= 16
        return (z - width).max(ball(0)).union(z + width)

    def _peak(self) -> arb:
        """Return the density of |Z| at 0."""
        pi = ball(1).atan() * 4
        return self.exponent * (pi / self.exponent).sin() / pi

    def _newton(self, tail: arb) -> tuple[arb, arb]:
        """Return a point near the quantile, and how near; `beyond` is convex and falls, so this converges."""
        from flint import ctx

        g, peak = self.exponent, self._peak()
        if tail > ball(Fraction(1, 5)):
            z = ((1 - tail) / peak).mid()
        else:
            z = (peak / ((g - 1) * tail)).root(g - 1).mid()
        fine = ball(Fraction(1, 2 ** (ctx.prec // 2)))
        for _ in range(_MOST_STEPS):
            step = (self.beyond(z) - tail) * (1 + z**g) / peak
            z = (z + step).mid()
            if abs(step.mid()) < fine:
                break
        return z, fine
