"""Wrong ways to adapt noise to the data that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet import dp
from discreet.dp.propose_test_release import Answer
from discreet.dp.randomness import system
from discreet.dp.reals import ball, upper
from discreet.dp.smooth_calibration import Price, classical_constants, guessed_shift
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, PolynomialLaw, SmoothLaw

F = Fraction

# Calibrations: (law, epsilon, delta) -> (beta, scale).


def laplace_with_gaussian_constants(epsilon: Fraction, delta: Fraction) -> tuple[SmoothLaw, Fraction, Fraction]:
    """The third case as it is printed (E1.6): Lap(1) where N(0, 1) is meant. Private, and not the theorem."""
    return LaplaceLaw(), *classical_constants(GaussianLaw(), epsilon, delta)


def gaussian_with_laplace_constants(epsilon: Fraction, delta: Fraction) -> tuple[SmoothLaw, Fraction, Fraction]:
    """The same slip the other way round: N(0, 1) where Lap(1) is meant."""
    return GaussianLaw(), *classical_constants(LaplaceLaw(), epsilon, delta)


def pure_beta_for_laplace(epsilon: Fraction, delta: Fraction) -> tuple[SmoothLaw, Fraction, Fraction]:
    """The beta of polynomial noise, which does not know delta."""
    return LaplaceLaw(), classical_constants(PolynomialLaw(4), epsilon, F(0))[0], 2 / epsilon


def moves_without_stretches(epsilon: Fraction, delta: Fraction) -> tuple[SmoothLaw, Fraction, Fraction]:
    """Calibrated to moves alone: the noise is taken to have one scale on both tables."""
    law = GaussianLaw()
    least = guessed_shift(Price(law, epsilon, delta), F(1, 2**40), 24)
    return law, classical_constants(law, epsilon, delta)[0], 1 / least


def ends_alone(price: Price, beta: Fraction) -> Fraction:
    """The greatest move that the two greatest stretches allow; as if nothing between them could be worse."""
    ends = F(math.exp(-float(beta))), F(math.exp(float(beta)))
    low, high = F(0), F(64)
    for _ in range(40):
        middle = (low + high) / 2
        fits = all(price.allows(middle, end, end) for end in ends)
        low, high = (middle, high) if fits else (low, middle)
    return low


def log_to_nearest(law: SmoothLaw, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The beta of the theorem with a logarithm in floating point, rounded to four digits: half of them upwards."""
    return F(f"{float(epsilon) / (2 * math.log(2 / delta)):.4g}")


# Releases: they have the verbs of `SmoothNoise`.


@dataclass(frozen=True)
class PrintedScale:
    """An answer that carries its error bar, made of the smooth bound."""

    noise: dp.SmoothNoise

    def answer(self, value: float, smooth_sensitivity: float) -> str:
        reach = self.noise.accuracy(failure_probability=F(1, 20), smooth_sensitivity=F(smooth_sensitivity))
        return f"{self.noise.release(value, smooth_sensitivity)} +- {float(reach):.6g}"


@dataclass(frozen=True)
class GridOfTheScale:
    """Rounds to a 1024th of the smooth bound, rounded down to a power of two."""

    noise: dp.SmoothNoise

    def release(self, value: float, smooth_sensitivity: float) -> int | float:
        step = F(2) ** math.floor(math.log2(smooth_sensitivity / 1024))
        return replace_step(self.noise, step)._release(F(value), F(smooth_sensitivity), system())


def replace_step(noise: dp.SmoothNoise, step: Fraction) -> dp.SmoothNoise:
    made = object.__new__(dp.SmoothNoise)
    made._set(noise.neighbours, Price(noise.law, noise.epsilon, noise.delta), noise.beta, noise.scale, step)
    return made


class NoFloor(dp.SmoothNoise):
    """A bound of 0 is taken as it is: the value is published."""

    __slots__ = ()

    def _release(self, value: Fraction, smooth_sensitivity: Fraction, stream: object) -> int | float:
        from discreet.dp.grid import Steps
        from discreet.dp.rounded_noise import rounded

        scale = self.scale * smooth_sensitivity / self.step
        return Steps(self.step).value(rounded(self.law, value / self.step, scale, stream))  # type: ignore[arg-type]


def called_pure(noise: dp.SmoothNoise) -> dp.Loss:
    """ME-14: epsilon-DP, claimed for noise that has a delta."""
    return dp.Loss.pure(epsilon=noise.epsilon)


def logarithm_to_nearest(bound: dp.ScaleBound, smooth_sensitivity: Fraction) -> int:
    """The steps of a scale rounded to the nearest, so that what is released is below it half of the time."""
    return round(math.log(smooth_sensitivity / bound.step) * 64 / float(bound.beta))


# Propose-test-release.


def printed_distance(values: list[Fraction], table: int, proposal: Fraction) -> float:
    """The distance to a table whose value is further away than the proposal (E1.7), on tables 0, 1, 2, ..."""
    far = [abs(table - other) for other, value in enumerate(values) if abs(values[table] - value) > proposal]
    return min(far, default=math.inf)


def continuous_bar(epsilon: Fraction, delta: Fraction) -> int:
    """ln(1 / (2 delta)) / epsilon, as for continuous noise, for noise on the integers: rounded down."""
    return int(upper(lambda: ball(1 / (2 * delta)).log() / ball(epsilon)))


def without_the_delta(tested: dp.ProposeTestRelease) -> dp.Loss:
    """ME-15: the test is taken to be free of failure."""
    return dp.Loss.pure(epsilon=tested.epsilon)


@dataclass(frozen=True)
class ChargedOnRelease:
    """ME-15: the loss is taken only if a number comes out."""

    tested: dp.ProposeTestRelease

    def open(self, exact: dp.TestedExact, permit: dp.Permit) -> Answer:
        answer = self.tested._release(exact._value, exact._distance, system())
        if answer is not dp.UNSTABLE:
            permit.take(self.tested.loss)
        return answer


# Median without a range.


def blocks_of_the_data(values: list[float], blocks: int) -> list[int]:
    """Block labels by the rank of a value: neighbours differ in many blocks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    labels = [0] * len(values)
    for place, index in enumerate(order):
        labels[index] = place % blocks
    return labels
