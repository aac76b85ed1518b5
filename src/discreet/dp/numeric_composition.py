"""Composition by numbers: the law of the privacy loss of many releases, in the frequency domain, rounded against us.

The worst pure release is randomised response, whose privacy loss is +e or -e. Each such atom is split in two atoms on
a grid, so that merging them gives it back: the split pair is at least as easy to tell apart, and both of its masses
are kept. All normal releases together are one, whose exact curve needs no grid. What is left is the law of a sum of
independent grid variables: one product of characteristic functions.

Two things make it exact where it matters. The law is tilted by exp(lambda l) first, so that the part that decides delta
is the bulk of it and errors are relative. And a frequency is dropped once the product has fallen below 2^-100, which
bounds what it could still add, so a thousand different releases cost little more than one. A sum with few values needs
neither grid nor tilt: beside normal noise much narrower than a grid cell, its values are what decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.dp.rational import Number, float_up, non_negative, probability
from discreet.dp.tilted_law import Reals, Tilted, log_most

_FEW_ATOMS = 4096  # as quick to enumerate as to transform
_CELLS_PER_STEP = 64  # grid cells in the root mean square of the losses: the grid adds 2^-14 of the variance
_MOST_CELLS = 1 << 19
_NEGLIGIBLE = 2.0**-100  # of a characteristic function
_LIGHT = 2.0**-60  # of a mass
_ALIASED = 2.0**-60  # mass outside the window, under the tilted law
_ROUNDING = 64 * 2.0**-53  # of one factor of a product: angle, table, sums of four atoms
_FUDGE = 1e-9  # relative error of the float evaluation: exponentials, sums, the normal tail
_EXPONENT = 2.0**-48  # of each exponent, relatively, and of all it was computed from
_MOMENT = 1e-15  # of one release, absolutely: what a float may lose of ln E[exp(tilt * loss)]
_TILTS = np.linspace(-7, 16, 200)  # ln(tilt), where the losses are about 1
_ROUNDS = 6  # tilts tried for one epsilon; each gives a valid bound, and the first is nearly always close
_SETTLED = 2.0**-20  # of delta: as long as the errors add less, another tilt gains nothing
_LEAST = Fraction(1, 2**400)  # smaller epsilons are raised to it
MOST_EPSILON = 500  # the masses are e^epsilon apart, and floats end at e^709; above, nothing is protected


@dataclass(frozen=True)
class LossLaw:
    """Pure releases (each `count` times epsilon), one normal release with mu^2, and a chance that all is lost.

    Guarantee: `delta(epsilon)` is at least the exact delta of the composition of the worst such releases, and
      `epsilon(delta)` at least its exact epsilon, for parameters fixed in advance.
    Source: Kairouz, Oh, Viswanath, 2015 (the worst pure release); Koskela, Jalko, Honkela, 2020 (Fourier accounting);
      Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, 2022 (splitting on the grid); Zhu, Dong, Wang, 2022 (pairs that
      are at least as easy to tell apart stay so when they are composed).
    """

    epsilons: Sequence[tuple[int, Fraction]]
    mu_squared: Fraction = Fraction(0)
    lost: Fraction = Fraction(0)

    def delta(self, *, epsilon: Number) -> float:
        """Return an upper bound on delta."""
        kept, wanted = 0.0, non_negative(epsilon, "epsilon")
        if self.mu_squared != 0 or wanted < self._sum:
            at = below(wanted)
            kept = 1.0 if self._is_extreme else min(law.delta(at) for law in self._laws_at(at))
        return float_up(self.lost + (1 - self.lost) * Fraction(kept))

    def epsilon(self, *, delta: Number) -> float:
        """Return an upper bound on epsilon, within 2^-30 of where the bound on delta crosses; infinite below `lost`."""
        wanted = probability(delta, "delta")
        if wanted < self.lost:
            return math.inf
        high = float_up(self._sum) if self.mu_squared == 0 else math.inf
        kept = below((wanted - self.lost) / (1 - self.lost))
        if kept <= 0 or self._is_extreme:
            return high
        if self._enumerated is not None:
            return float_up(Fraction(self._enumerated.epsilon(kept, min(high, self._renyi_epsilon(kept)[0]))))
        proved, tilt = self._renyi_epsilon(kept)
        high = min(high, proved)
        for _ in range(_ROUNDS):
            before, law = high, self._tilted(tilt)
            high = law.epsilon(kept, high)
            if law.slack(high) < _SETTLED * kept:
                return float_up(Fraction(high))
            if high > before * (1 - 2.0**-12) and high != proved:
                break
            tilt = self._best_tilt(high)
        if tilt > self._steepest:
            high = self._tilted(self._steepest).epsilon(kept, high)
        return float_up(Fraction(high))

    @cached_property
    def _sum(self) -> Fraction:
        return sum((count * e for count, e in self.epsilons), start=Fraction(0))

    @cached_property
    def _is_extreme(self) -> bool:
        return any(e > MOST_EPSILON for _, e in self.epsilons) or self.mu_squared > MOST_EPSILON

    @cached_property
    def releases(self) -> list[tuple[int, Fraction]]:
        """The pure releases with a loss that floats can square; a larger epsilon is a bound on a smaller."""
        return [(count, max(e, _LEAST)) for count, e in self.epsilons]

    @cached_property
    def _floats(self) -> tuple[Reals, Reals, float]:
        counts = np.array([count for count, _ in self.releases], dtype=np.float64)
        losses = np.array([float(e) for _, e in self.releases], dtype=np.float64)
        return counts, losses, float_up(self.mu_squared)

    @cached_property
    def _width(self) -> float:
        counts, e, mu_squared = self._floats
        return max(float(_LEAST), math.sqrt(float(counts @ (e * e)) + mu_squared))

    @cached_property
    def _steepest(self) -> float:
        """A tilt beyond which the error may weigh more, since the grid adds up to (tilt step)^2 / 8 to a moment."""
        return 8 * _CELLS_PER_STEP / self._width

    @cached_property
    def _tilts(self) -> list[float]:
        """The tilts tried: large where all losses are small, and small where their sum is spread wide."""
        width = math.log(self._width)
        shift = np.maximum(-width, 0) - np.linspace(max(width, 0), 0, _TILTS.size)
        return [float(t) for t in np.exp(_TILTS + shift)]

    def log_moment(self, tilt: float) -> float:
        """Return ln E[exp(tilt * loss)]."""
        counts, e, mu_squared = self._floats
        up, down = tilt * e - np.log1p(np.exp(-e)), -(tilt + 1) * e - np.log1p(np.exp(-e))
        return float(counts @ np.logaddexp(up, down)) + tilt * (tilt + 1) * mu_squared / 2

    def _renyi_epsilon(self, delta: float) -> tuple[float, float]:
        """Return the upper bound on epsilon that the moments prove, and its tilt."""
        lost = _MOMENT * (float(self._floats[0].sum()) + 64 - math.log(delta))

        def proved(t: float) -> float:
            return (self.log_moment(t) + lost - math.log(delta) + log_most(t)) / t

        found, tilt = min((proved(t), t) for t in self._tilts)
        return max(1e-12, found) * (1 + _FUDGE), tilt

    def _best_tilt(self, epsilon: float) -> float:
        return min(self._tilts, key=lambda t: self.log_moment(t) - t * epsilon - math.log1p(t))

    def _laws_at(self, epsilon: float) -> list[Tilted]:
        """Return laws of which each bounds delta at this epsilon."""
        if self._enumerated is not None:
            return [self._enumerated]
        best = self._best_tilt(epsilon)
        return [self._tilted(tilt) for tilt in {best, min(best, self._steepest)}]

    @cached_property
    def _enumerated(self) -> Tilted | None:
        """The law by its atoms, where they are few."""
        several = len(self.epsilons) >= _FEW_ATOMS.bit_length()  # each at least doubles them
        if several or math.prod(count + 1 for count, _ in self.epsilons) > _FEW_ATOMS:
            return None
        losses, logs = _atoms(self.releases)
        return Tilted(0.0, losses, logs, 0.0, self._floats[2], 0.0, self._relative_error(0.0, 0.0))

    def _tilted(self, tilt: float) -> Tilted:
        counts, e, mu_squared = self._floats
        spread = math.sqrt(float(counts @ (e * e)))
        total = float(counts.sum())
        if (
            64 * 61 * math.log(2) * total > _MOST_CELLS**2
        ):  # the grid would be wider than a loss: Chernoff's bound alone
            found, lost = self.log_moment(tilt) + _MOMENT * total, self._relative_error(tilt, 0.0)
            return Tilted(tilt, np.zeros(0), np.zeros(0), found, mu_squared, 1.0, lost)
        step = Fraction(2) ** math.floor(
            math.log2(math.hypot(spread, math.sqrt(mu_squared)) / math.sqrt(total) / _CELLS_PER_STEP)
        )
        while True:
            reach = math.sqrt(2 * 61 * math.log(2) * float(counts @ (e + float(step)) ** 2))  # Hoeffding, to 2^-60
            cells = 1 << math.ceil(math.log2(2 * reach / float(step) + 4))
            if cells <= _MOST_CELLS:
                break
            step *= 2
        return _compose(self, tilt, step, cells, self._relative_error(tilt, float(step)))

    def _relative_error(self, tilt: float, step: float) -> float:
        """Return what floats may lose of all masses, relatively.

        An exponent is off by its size times 2^-53, a few times over; a mass is a product of so many exponentials.
        """
        counts, e, mu_squared = self._floats
        exponents = counts @ (1 + (tilt + 1) * (e + step)) + (tilt + 1) ** 2 * mu_squared
        return _FUDGE + math.expm1(min(_EXPONENT * float(exponents), 700.0))


def _atoms(releases: Sequence[tuple[int, Fraction]]) -> tuple[Reals, Reals]:
    """Return every loss, rounded up and in increasing order, and ln of its mass under P."""
    unit = math.lcm(*(e.denominator for _, e in releases))
    places, logs = [0], np.zeros(1)
    for count, e in releases:
        likely = -math.log1p(math.exp(-float(e)))
        step, rare = int(e * unit), likely - float(e)
        each = [math.log(math.comb(count, i)) + i * likely + (count - i) * rare for i in range(count + 1)]
        places = [place + (2 * i - count) * step for place in places for i in range(count + 1)]
        logs = np.add.outer(logs, each).ravel()
    order = sorted(range(len(places)), key=places.__getitem__)
    return np.array([math.nextafter(places[i] / unit, math.inf) for i in order]), logs[order]


def _split(e: Fraction, step: Fraction) -> tuple[int, Reals]:
    """Return the grid place g below e, and the masses of the losses g, g + 1, -g, -(g + 1) under P.

    The atom at l with masses p and p e^-l becomes two, at grid losses a <= l <= b, with the same two masses together.
    """
    place = e // step
    gap, rest, h = float(e - place * step), float((place + 1) * step - e), float(step)
    likely, rare = 1 / (1 + math.exp(-float(e))), 1 / (1 + math.exp(float(e)))
    # of the atom at +e, these shares go to g and g + 1; of the atom at -e, by symmetry, to -g and -(g + 1)
    upper = math.exp(-gap) * math.expm1(-rest) / math.expm1(-h), math.expm1(-gap) / math.expm1(-h)
    lower = math.exp(gap) * math.expm1(rest) / math.expm1(h), math.expm1(gap) / math.expm1(h)
    return int(place), np.array([likely * upper[0], likely * upper[1], rare * lower[0], rare * lower[1]])


def _compose(law: LossLaw, tilt: float, step: Fraction, cells: int, relative: float) -> Tilted:
    """Return the tilted law of the sum on a cyclic grid around its mean."""
    h, active = float(step), np.arange(cells // 2 + 1)
    product = np.ones(active.size, dtype=np.complex128)
    most, share = np.ones(active.size), np.zeros(active.size)  # see _rounding_error
    circle = np.exp(2j * np.pi * np.arange(cells) / cells)
    unit, log_moments, mean = circle[active], list[float](), 0.0
    for count, e in law.releases:
        place, masses = _split(e, step)
        atoms = np.array([place, place + 1, -place, -place - 1])
        with np.errstate(divide="ignore"):
            weights = np.log(masses) + tilt * atoms * h
        top = float(weights.max())
        moment = top + math.log(float(np.exp(weights - top).sum()))
        tilted = np.exp(weights - moment)
        log_moments.append(count * moment)
        mean += count * float(tilted @ atoms)
        forward = circle[(active * (place % cells)) & (cells - 1)]  # a power of two
        factor = forward * (tilted[0] + tilted[1] * unit)
        factor += np.conj(forward) * (tilted[2] + tilted[3] * np.conj(unit))
        product *= factor**count
        greatest = np.sqrt(factor.real**2 + factor.imag**2) + _ROUNDING
        most *= greatest**count
        share += count / greatest
        kept = most > _NEGLIGIBLE
        if np.count_nonzero(kept) < 15 / 16 * kept.size:  # moving them costs as much as keeping a few
            active, product, most, share = active[kept], product[kept], most[kept], share[kept]
            unit = circle[active]
    # irfft sums with e^{+i...}; the characteristic function has the same sign, so masses come out at -place
    spectrum = np.zeros(cells // 2 + 1, dtype=np.complex128)
    spectrum[active] = np.conj(product)
    masses = np.fft.irfft(spectrum, cells)
    center = round(mean)
    places = (np.arange(cells) - (center - cells // 2)) % cells + center - cells // 2
    error = _rounding_error(most, share, cells) + cells * (_NEGLIGIBLE + _LIGHT) + 4 * _ALIASED
    log_moment, normal = math.fsum(log_moments), tilt * (tilt + 1) * float(law.mu_squared) / 2
    order = np.argsort(places)
    losses = np.asarray(places[order] * h, dtype=np.float64)
    found = np.asarray(masses[order], dtype=np.float64)
    large = found > _LIGHT
    logs: Reals = np.log(found[large]) - tilt * losses[large] + log_moment
    return Tilted(tilt, losses[large], logs, log_moment + normal, float_up(law.mu_squared), error, relative)


def _rounding_error(most: Reals, share: Reals, cells: int) -> float:
    """Return what rounding adds to all masses together, which is at most what it adds to all frequencies together.

    With factors a, each off by u, a product is off by at most the derivative of prod(|a| + u) in u, times u: that is
    u times `most` times `share`. The transform is off by 8 u log2(cells) of the norm of its input, and so of its sum.
    """
    return 2 * _ROUNDING * float(most @ (share + 8 * math.log2(cells)))  # a real transform has each frequency twice


def below(value: Fraction) -> float:
    """Return a float at most the value: for an epsilon or a delta, that makes the bound larger."""
    if value > 10**300:
        return 1e300  # far from where floats end, and no delta is left there
    return math.nextafter(float(value), 0.0) if value else 0.0
