"""The contract that every mechanism signs, and what all additive noise shares.

A mechanism knows its loss and its accuracy before it sees data. It has two doors: `release` takes plain numbers from
whoever already holds them; `open` takes an `Exact` and a `Permit`, and is the only door inside a session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, cast, overload

from discreet.dp import grid, randomness
from discreet.dp.grid import Reals
from discreet.dp.inversion import Integers
from discreet.dp.law import Law, smallest
from discreet.dp.loss import Loss
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.dp.reals import ball, upper
from discreet.dp.samplers import Sampler
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream

_LEAST = Fraction(1, 20)  # about the least scale that is any noise
_FROM = 1024  # scales in alpha at which a search begins: far below it, chances have too many digits to be written

Values = int | float | Integers | Reals | list[int] | list[float]
"""What may be released: one number, or an array of them (NumPy, pandas, polars and Arrow arrays all are)."""


class Mechanism(ABC):
    """A randomised map from a value with bounded sensitivity to an output that may be shown."""

    sensitivity: Sensitivity

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy curve of one release."""

    @abstractmethod
    def _release(self, values: Values, stream: Stream) -> Values:
        """Return the output for plain values, drawn from a stream."""

    @abstractmethod
    def _covers(self, sensitivity: Sensitivity) -> bool:
        """Return whether the guarantee holds for a value of this sensitivity."""

    def then(self, function: Callable[[Values], Values]) -> Postprocessed:
        """Return this mechanism followed by a function of its output alone, at the same loss."""
        return Postprocessed(self, function)

    def open(self, exact: Exact, permit: Permit) -> Values:
        """Release a private value: the loss is taken from the permit first, then the value is read.

        Guarantee: the output has the loss that was taken; a value more sensitive than this mechanism expects, or
          under another relation, is refused before anything is taken.
        """
        if not isinstance(exact, Exact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes an Exact and a Permit; for plain numbers use release(values).")
        theirs = exact.sensitivity
        if theirs.neighbours is not self.sensitivity.neighbours or not self._covers(theirs):
            raise InvalidParameter(
                "the value is more sensitive than this mechanism expects; build it from exact.sensitivity."
            )
        permit.take(self.loss)
        return self._release(exact._value, randomness.system())


@dataclass(frozen=True, slots=True)
class Postprocessed(Mechanism):
    """A mechanism and what is done with its output.

    Guarantee: the loss of the mechanism, whatever the function does. The caller must ensure that the function looks at
      its argument, at public facts and at nothing else.
    Source: Dwork, Roth, 2014, Proposition 2.1.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> dp.Laplace(sensitivity=s, epsilon=1).then(lambda n: max(n, 0)).release(0) >= 0
    True
    """

    mechanism: Mechanism
    function: Callable[[Values], Values]

    @property
    def sensitivity(self) -> Sensitivity:  # type: ignore[override]
        """That of the mechanism."""
        return self.mechanism.sensitivity

    @property
    def loss(self) -> Loss:
        """That of the mechanism."""
        return self.mechanism.loss

    def release(self, values: Values) -> Values:
        """Return the function of a fresh release of plain values."""
        if isinstance(values, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(values, randomness.system())

    def _release(self, values: Values, stream: Stream) -> Values:
        return self.function(self.mechanism._release(values, stream))

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return self.mechanism._covers(sensitivity)


class AdditiveNoise(Mechanism):
    """Noise of one law added to every number: on the integers as it is, on a public grid for real numbers."""

    @abstractmethod
    def law(self, value: int) -> Law:
        """Return the exact law of the output at an integer value."""

    @property
    @abstractmethod
    def _noise_scale(self) -> Fraction:
        """The scale of the noise in units of the answer."""

    @abstractmethod
    def _norm(self, count: int) -> tuple[Fraction, Fraction]:
        """Return the sensitivity in the norm of this noise, and how far `count` moves of 1 reach in it."""

    @abstractmethod
    def _sampler(self, scale: Fraction) -> Sampler:
        """Return the sampler of the law at a scale in steps."""

    @abstractmethod
    def _beyond(self, steps: int, scale: Fraction) -> arb:
        """Return the ball around P(|noise| > steps), for an integer number of steps and a scale in steps."""

    def _near(self, chance: float, scale: float) -> int:
        """Return a guess of how many steps noise of this scale is beyond with this chance."""
        return 0

    @overload
    def release(self, values: int) -> int: ...
    @overload
    def release(self, values: float) -> float: ...
    @overload
    def release(self, values: Integers | list[int]) -> Integers: ...
    @overload
    def release(self, values: Reals | list[float]) -> Reals: ...
    def release(self, values: Values) -> Values:
        """Return plain values with fresh noise: integers for integers, multiples of the public grid for real numbers.

        NaN and infinity are refused by name. Whoever calls this has the values already, and accounts for `loss`.
        """
        if isinstance(values, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(values, randomness.system())

    def _release(self, values: Values, stream: Stream) -> Values:
        if isinstance(values, int) and not isinstance(values, bool):
            return self._sampler(self._noise_scale).added_to(values, stream)
        array = grid.numbers(values)
        released: Integers | Reals
        if grid.is_real(array):
            step = self.grid(max(1, array.size))
            sampler = self._sampler(self._scale_in_steps(step, array.size))
            if array.ndim == 0:
                return grid.release_one_real(array.item(), step, sampler, stream)
            released = grid.release_real(array.ravel(), step, sampler, stream)
        else:
            sampler = self._sampler(self._noise_scale)
            released = grid.release_integers(cast(Integers, array.ravel()), sampler, stream)
        return released.item() if array.ndim == 0 else released.reshape(array.shape)

    def grid(self, count: int) -> Fraction:
        """Return the step of the grid on which `count` real numbers are released: a power of two, and public."""
        norm, reach = self._norm(positive_integer(count, "count"))
        return grid.step_for(norm, reach, self._noise_scale)

    def _scale_in_steps(self, step: Fraction, count: int) -> Fraction:
        """Return the scale of the noise in steps, grown by what snapping to the grid adds to the sensitivity."""
        norm, reach = self._norm(max(1, count))
        return self._noise_scale * (1 + reach * step / norm) / step

    def accuracy(self, *, failure_probability: Number, answers: int = 1, real: bool = False) -> Fraction:
        """Return the least alpha with P(some of `answers` is off by more than alpha) <= failure_probability.

        For integers it is exact in the law that is drawn; with `real=True` it is a multiple of the grid, plus half a
        step for snapping.
        """
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(answers, "answers")
        return _accuracy(self, beta, count, real)


@lru_cache(maxsize=4096)
def _accuracy(noise: AdditiveNoise, beta: Fraction, count: int, real: bool) -> Fraction:
    step = noise.grid(count) if real else Fraction(1)
    scale = noise._scale_in_steps(step, count) if real else noise._noise_scale
    near = noise._near(float(beta / count), float(scale))
    steps = smallest(lambda a: upper(lambda: any_of(noise._beyond(a, scale), count)) <= beta, near=near)
    return steps * step + (step / 2 if real else 0)


def greatest_scale(
    beyond: Callable[[int, Fraction], arb], *, alpha: Number, failure_probability: Number, answers: int
) -> Fraction:
    """Return the greatest scale, to 40 bits, at which integer answers keep within alpha, but for this chance."""
    beta, count = probability(failure_probability, "failure_probability"), positive_integer(answers, "answers")
    steps = int(positive(alpha, "alpha"))  # noise is an integer: off by more than alpha is off by more than this
    if steps < 1:
        raise InvalidParameter("alpha is at least 1: integer noise that is never off by 1 would be no noise.")

    def fails(scale: Fraction) -> bool:
        return upper(lambda: any_of(beyond(steps, scale), count)) > beta

    low = max(_LEAST, Fraction(steps, _FROM))
    while fails(low):
        if low == _LEAST:
            raise InvalidParameter("no noise is that accurate; ask for a larger alpha or failure_probability.")
        low = max(_LEAST, low / 2)
    high = 2 * low
    while not fails(high):
        low, high = high, 2 * high
    while (high - low) * 2**40 > high:
        middle = (low + high) / 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return low


def any_of(chance: arb, count: int) -> arb:
    """Return 1 - (1 - p)^k without cancellation."""
    return -(((-chance).log1p()) * ball(count)).expm1()


def simulate(mechanism: Mechanism, value: Values, n: int, *, seed: int) -> list[Values]:
    """Return n repeatable outputs at a public value, for teaching and plots.

    Guarantee: none. The draws are a function of the seed: never give it a private value. An Exact is refused.
    """
    if isinstance(value, Exact):
        raise InvalidParameter("simulate takes public values only; a private one is released by open(exact, permit).")
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameter(f"simulate draws from a mechanism such as dp.Laplace, not a {type(mechanism).__name__}.")
    stream = randomness._SeededStream(seed)
    return [mechanism._release(value, stream) for _ in range(positive_integer(n, "n"))]
