"""Composition by numbers: the law of the privacy loss of many releases, in the frequency domain, rounded against us.

The worst pure release is randomised response, whose privacy loss is +e or -e. Each such atom is split in two atoms on
a grid, so that merging them gives it back: the split pair is at least as easy to tell apart, and both of its masses
are kept. All normal releases together are one, whose exact curve needs no grid. What is left is the law of a sum of
independent grid variables: one product of characteristic functions.

Two things make it exact where it matters. The law is tilted by exp(lambda l) first, so that the part that decides delta
is the bulk of it and errors are relative. And a frequency is dropped once the product has fallen below 2^-100, which
bounds what it could still add, so a thousand different releases cost little more than one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.dp.rational import float_up, probability, rational

Reals = NDArray[np.float64]

_CELLS_PER_STEP = 64  # grid cells in the root mean square of the losses: the grid adds 2^-14 of the variance
_MOST_CELLS = 1 << 19
_NEGLIGIBLE = 2.0**-100  # of a characteristic function
_LIGHT = 2.0**-60  # of a mass
_ALIASED = 2.0**-60  # mass outside the window, under the tilted law
_ROUNDING = 64 * 2.0**-53  # of one factor of a product: angle, table, sums of four atoms
_FUDGE = 1 + 1e-9  # every relative error of the float evaluation: exponentials, sums, the normal tail
_MOMENT = 1e-15  # of one release, absolutely: what a float may lose of ln E[exp(tilt * loss)]
_TILTS = np.exp(np.linspace(-7, 16, 200))
_ROUNDS = 6  # tilts tried for one epsilon; each gives a valid bound, and the second is nearly always the last
_LEAST, _GREATEST = Fraction(1, 2**400), 2**20  # smaller epsilons are raised to it; above, nothing is protected


@dataclass(frozen=True)
class LossLaw:
    """Pure releases (each `count` times epsilon), one normal release with mu^2, and a chance that all is lost.

    Guarantee: `delta(epsilon)` is at least the exact delta of the composition of the worst such releases, and
      `epsilon(delta)` at least its exact epsilon, for parameters fixed in advance.
    Source: Kairouz, Oh, Viswanath, 2015 (the worst pure release); Koskela, Jalko, Honkela, 2020 (Fourier accounting);
      Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, 2022 (splitting on the grid).
    """

    epsilons: Sequence[tuple[int, Fraction]]
    mu_squared: Fraction = Fraction(0)
    lost: Fraction = Fraction(0)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        kept = 0.0
        if self.mu_squared != 0 or rational(epsilon, "epsilon") < self._sum:
            kept = 1.0 if self._is_extreme else self._tilted(self._best_tilt(epsilon)).delta(epsilon)
        return float_up(self.lost + (1 - self.lost) * Fraction(kept))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon, within 2^-30 of where the bound on delta crosses; infinite below `lost`."""
        wanted = probability(delta, "delta")
        if wanted < self.lost:
            return math.inf
        high = float_up(self._sum) if self.mu_squared == 0 else math.inf
        delta = math.nextafter(float((wanted - self.lost) / (1 - self.lost)), 0.0)
        if delta <= 0:
            return high
        if self._is_extreme:
            return high
        proved, tilt = self._renyi_epsilon(delta)
        high = min(high, proved)
        for _ in range(_ROUNDS):
            before, high = high, self._tilted(tilt).epsilon(delta, high)
            if high > before * (1 - 2.0**-12) and high != proved:
                break
            tilt = self._best_tilt(high)
        return high

    @cached_property
    def _sum(self) -> Fraction:
        return sum((count * e for count, e in self.epsilons), start=Fraction(0))

    @cached_property
    def _is_extreme(self) -> bool:
        return any(e > _GREATEST for _, e in self.epsilons) or self.mu_squared > _GREATEST**2

    @cached_property
    def releases(self) -> list[tuple[int, Fraction]]:
        """The pure releases with a loss that floats can square; a larger epsilon is a bound on a smaller."""
        return [(count, max(e, _LEAST)) for count, e in self.epsilons]

    @cached_property
    def _floats(self) -> tuple[Reals, Reals, float]:
        counts = np.array([count for count, _ in self.releases], dtype=np.float64)
        losses = np.array([float(e) for _, e in self.releases], dtype=np.float64)
        return counts, losses, float_up(self.mu_squared)

    def log_moment(self, tilt: float) -> float:
        """Return ln E[exp(tilt * loss)]."""
        counts, e, mu_squared = self._floats
        up, down = tilt * e - np.log1p(np.exp(-e)), -(tilt + 1) * e - np.log1p(np.exp(-e))
        return float(counts @ np.logaddexp(up, down)) + tilt * (tilt + 1) * mu_squared / 2

    def _renyi_epsilon(self, delta: float) -> tuple[float, float]:
        """Return an upper bound on epsilon, and its tilt: (1 - e^-x) e^-tx is at most t^t / (1 + t)^(1 + t)."""
        lost = _MOMENT * (float(self._floats[0].sum()) + 64 - math.log(delta))

        def proved(t: float) -> float:
            return (self.log_moment(t) + lost - math.log(delta) - math.log1p(t) - t * math.log1p(1 / t)) / t

        found, tilt = min((proved(float(t)), float(t)) for t in _TILTS)
        return max(1e-12, found) * _FUDGE, tilt

    def _best_tilt(self, epsilon: float) -> float:
        return float(min(_TILTS, key=lambda t: self.log_moment(float(t)) - t * epsilon - math.log1p(t)))

    def _tilted(self, tilt: float) -> _Tilted:
        counts, e, mu_squared = self._floats
        spread = math.sqrt(float(counts @ (e * e)))
        if spread == 0:
            return _Tilted(tilt, np.zeros(1), np.zeros(1), 0.0, mu_squared, 0.0)
        total = float(counts.sum())
        if 8 * 61 * math.log(2) * total > _MOST_CELLS**2:  # no window is wide enough: Chernoff's bound alone
            return _Tilted(tilt, np.zeros(0), np.zeros(0), self.log_moment(tilt) + _MOMENT * total, mu_squared, 1.0)
        step = Fraction(2) ** math.floor(
            math.log2(math.hypot(spread, math.sqrt(mu_squared)) / math.sqrt(total) / _CELLS_PER_STEP)
        )
        while True:
            reach = math.sqrt(2 * 61 * math.log(2) * float(counts @ (e + float(step)) ** 2))  # Hoeffding, to 2^-60
            cells = 1 << math.ceil(math.log2(2 * reach / float(step) + 4))
            if cells <= _MOST_CELLS:
                break
            step *= 2
        return _compose(self, tilt, step, cells)


@dataclass(frozen=True)
class _Tilted:
    """The law of the sum under the tilted measure, on grid losses, with what its errors can add."""

    tilt: float
    losses: Reals  # in increasing order
    logs: Reals  # ln of the masses under P
    log_chernoff: float  # ln E[exp(tilt * loss)], the normal part included
    mu_squared: float
    error: float  # of all masses together, under the tilted law

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        losses, logs = (self.losses, self.logs) if self.mu_squared else self._above(epsilon)
        gap = epsilon - losses
        with np.errstate(under="ignore", divide="ignore"):
            log_each = self._log_normal_delta(gap) if self.mu_squared else np.log(-np.expm1(gap))
            value = float(np.sum(np.exp(np.minimum(log_each + logs, 1.0))))  # no delta is above 1
        slack = 0.0
        if self.error:  # far below the mean under the tilt this is above 1, and says nothing
            slack = math.exp(min(math.log(self.error) + self.log_chernoff - self.tilt * epsilon, 1.0))
        return min(1.0, (value + slack) * _FUDGE)

    def epsilon(self, delta: float, high: float) -> float:
        """Return an upper bound on epsilon, given one; it is kept where the errors leave no room below it."""
        low, above, below = 0.0, self._excess(0.0, delta), self._excess(high, delta)
        if above <= 0:
            return 0.0
        side = 0
        while below < -(2.0**-24) and high - low > 2.0**-30 * high:
            share = above / (above - below) if math.isfinite(below) else 0.5
            middle = low + (high - low) * min(max(share, 2.0**-6), 1 - 2.0**-6)
            found = self._excess(middle, delta)
            if found <= 0:  # false position; an end that stays twice counts half (Dowell, Jarratt, 1971)
                high, below, above, side = middle, found, above / 2 if side < 0 else above, -1
            else:
                low, above, below, side = middle, found, below / 2 if side > 0 else below, 1
        return high

    def _excess(self, epsilon: float, delta: float) -> float:
        found = self.delta(epsilon)
        return math.log(found / delta) if found / delta > 0 else -math.inf

    def _above(self, epsilon: float) -> tuple[Reals, Reals]:
        first = int(np.searchsorted(self.losses, epsilon, "right"))
        return self.losses[first:], self.logs[first:]

    def _log_normal_delta(self, gap: Reals) -> Reals:
        """Return ln of Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu), within a relative 2^-30 from above."""
        from scipy.special import log_ndtr

        mu = math.sqrt(self.mu_squared)
        first, second = log_ndtr(mu / 2 - gap / mu), gap + log_ndtr(-mu / 2 - gap / mu)
        # where the two nearly cancel, the first alone is still a bound; this covers the error of their difference
        covered = 2.0**-36 - 2.0**-48 * np.minimum(first, 0.0)
        return np.asarray(first + np.log(-np.expm1(np.minimum(second - first, 0.0)) + covered))


def _split(e: Fraction, step: Fraction) -> tuple[int, Reals]:
    """Return the grid place g below e, and the masses of the losses g, g + 1, -g, -(g + 1) under P.

    The atom at l with masses p and p e^-l becomes two, at grid losses a <= l <= b, with the same two masses together.
    """
    place = e // step
    gap, h = float(e - place * step), float(step)
    likely, rare = 1 / (1 + math.exp(-float(e))), 1 / (1 + math.exp(float(e)))
    upper = math.expm1(-gap) / math.expm1(-h)  # the share of the atom at +e that goes to g + 1
    lower = math.expm1(gap) / math.expm1(h)  # the share of the atom at -e that goes to -(g + 1), by symmetry
    return int(place), np.array([likely * (1 - upper), likely * upper, rare * (1 - lower), rare * lower])


def _compose(law: LossLaw, tilt: float, step: Fraction, cells: int) -> _Tilted:
    """Return the tilted law of the sum on a cyclic grid around its mean."""
    h, active = float(step), np.arange(cells // 2 + 1)
    product = np.ones(active.size, dtype=np.complex128)
    most, share = np.ones(active.size), np.zeros(active.size)  # see _rounding_error
    circle = np.exp(2j * np.pi * np.arange(cells) / cells)
    log_moment, mean = 0.0, 0.0
    for count, e in law.releases:
        place, masses = _split(e, step)
        atoms = np.array([place, place + 1, -place, -place - 1])
        with np.errstate(divide="ignore"):
            weights = np.log(masses) + tilt * atoms * h
        top = float(weights.max())
        moment = top + math.log(float(np.exp(weights - top).sum()))
        tilted = np.exp(weights - moment)
        log_moment, mean = log_moment + count * moment, mean + count * float(tilted @ atoms)
        forward = circle[(active * (place % cells)) % cells]
        unit = circle[active]
        factor = forward * (tilted[0] + tilted[1] * unit) + np.conj(forward) * (tilted[2] + tilted[3] * np.conj(unit))
        product *= factor**count
        greatest = np.abs(factor) + _ROUNDING
        most *= greatest**count
        share += count / greatest
        kept = most > _NEGLIGIBLE
        if np.count_nonzero(kept) < 15 / 16 * kept.size:  # moving them costs as much as keeping a few
            active, product, most, share = active[kept], product[kept], most[kept], share[kept]
    # irfft sums with e^{+i...}; the characteristic function has the same sign, so masses come out at -place
    spectrum = np.zeros(cells // 2 + 1, dtype=np.complex128)
    spectrum[active] = np.conj(product)
    masses = np.fft.irfft(spectrum, cells)
    center = round(mean)
    places = (np.arange(cells) - (center - cells // 2)) % cells + center - cells // 2
    error = _rounding_error(most, share, cells) + cells * (_NEGLIGIBLE + _LIGHT) + 4 * _ALIASED
    normal = tilt * (tilt + 1) * float(law.mu_squared) / 2
    order = np.argsort(places)
    losses = np.asarray(places[order] * h, dtype=np.float64)
    found = np.asarray(masses[order], dtype=np.float64)
    large = found > _LIGHT
    logs: Reals = np.log(found[large]) - tilt * losses[large] + log_moment
    return _Tilted(tilt, losses[large], logs, log_moment + normal, float(law.mu_squared), error)


def _rounding_error(most: Reals, share: Reals, cells: int) -> float:
    """Return what rounding adds to all masses together, which is at most what it adds to all frequencies together.

    With factors a, each off by u, a product is off by at most the derivative of prod(|a| + u) in u, times u: that is
    u times `most` times `share`. The transform is off by 8 u log2(cells) of the norm of its input, and so of its sum.
    """
    return 2 * _ROUNDING * float(most @ (share + 8 * math.log2(cells)))  # a real transform has each frequency twice


def law_of(epsilons: Sequence[float | Fraction], *, mu_squared: Fraction = Fraction(0)) -> LossLaw:
    """Return the law of pure releases with these epsilons, equal ones grouped."""
    counts: dict[Fraction, int] = {}
    for e in epsilons:
        exact = rational(e, "epsilon")
        counts[exact] = counts.get(exact, 0) + 1
    return LossLaw(tuple((count, e) for e, count in counts.items()), mu_squared)
