"""Effects: what the marginals over some columns say beyond the marginals over fewer of them, measured privately.

The marginals of a table over all subsets of a clique are the same information as its *effects*: for every set R of
columns, the part of the marginal over R that sums to 0 along each of them. Effects of different sets are orthogonal,
so a table of them is measured without saying anything twice, and each set with the noise that is best for it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian import short_up
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.dp.grid import exact_sum, in_steps
from discreet.dp.loss import Loss
from discreet.dp.mechanism import Mechanism
from discreet.dp.private import Exact
from discreet.dp.rational import sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter
from discreet.release.marginals import Marginals, shared_sums
from discreet.release.rows import moved, of_marginals
from discreet.release.separable import Separable, contrasts
from discreet.release.workload import GetMarginal

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]

# All effects are transformed at once where there are few cells, or so many sets; otherwise their marginals are summed.
_FEW_CELLS = 1 << 18
_MOST_TABLES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The effects of all subsets of some cliques, as one vector, and the way from dense cells to it and back.

    An effect of R has one coordinate for each row of the product of `contrasts` over R without their first rows, so
    that noise that is independent and equal on the cells of the marginal over R is so on the coordinates.

    >>> effects = Effects((2, 3), [(0, 1)])
    >>> effects.sets
    ((), (0,), (1,), (0, 1))
    >>> effects.forward(np.array([1.0, 2, 3, 4, 5, 6])).round(3)[:2]  # the number of rows, and (6 - 15) / sqrt(2)
    array([21.   , -6.364])
    """

    shape: Axes
    cliques: tuple[Axes, ...]
    sets: tuple[Axes, ...]
    sizes: NDArray[np.int64]  # coordinates of each set
    places: NDArray[np.int64]  # of each coordinate, in the transform of dense cells
    owner: NDArray[np.int64]  # the set of each coordinate
    _factors: Reals = field(repr=False)
    _transform: Separable = field(repr=False)

    def __init__(
        self,
        shape: Axes,
        cliques: Iterable[Axes],
        dtype: type[np.floating] = np.float64,
        *,
        among: Collection[Axes] | None = None,
    ) -> None:
        """Take the cliques, and where not all of their subsets are wanted, those that are."""
        kept = tuple(dict.fromkeys(tuple(sorted(clique)) for clique in cliques))
        every = {part for clique in kept for k in range(len(clique) + 1) for part in combinations(clique, k)}
        every = every if among is None else every & set(among)
        sets = tuple(sorted(every, key=lambda part: (len(part), part)))
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        places = [_places(shape, strides, part) for part in sets]
        sizes = np.array([len(part) for part in places])
        owner = np.repeat(np.arange(len(sets)), sizes)
        outside = [math.sqrt(math.prod(n for axis, n in enumerate(shape) if axis not in part)) for part in sets]
        for name, value in (
            ("shape", tuple(shape)), ("cliques", kept), ("sets", sets), ("sizes", sizes), ("owner", owner),
            ("places", np.concatenate(places)), ("_factors", np.array(outside)[owner]),
            ("_transform", Separable.of(shape, dtype)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def _at_once(self) -> bool:
        return math.prod(self.shape) <= _FEW_CELLS or len(self.sets) > _MOST_TABLES

    def forward(self, cells: Reals) -> Reals:
        """Return the effects of dense cells."""
        if self._at_once:
            return np.asarray(self._transform.forward(cells)[self.places] * self._factors)
        tables = shared_sums(self.shape, self.sets).tables(cells.reshape(self.shape))
        return np.concatenate([coordinates(tables[part], self.cells(part)) for part in self.sets])

    def adjoint(self, vector: Reals) -> Reals:
        """Return the dense cells whose product with any others is that of the vector with their effects."""
        dtype = self._transform.matrices[0].dtype
        if self._at_once:
            dense = np.zeros(math.prod(self.shape), dtype)
            dense[self.places] = vector * self._factors
            return self._transform.inverse(dense)
        parts = np.split(vector, np.cumsum(self.sizes)[:-1])
        tables = {
            part: expanded(own, self.cells(part)).astype(dtype) for part, own in zip(self.sets, parts, strict=True)
        }
        return shared_sums(self.shape, self.sets).lift(tables).reshape(-1)

    def of_marginals(self, marginals: Marginals) -> Reals:
        """Return the effects, from the marginals that hold them."""
        return np.concatenate([coordinates(marginals(part), self.cells(part)) for part in self.sets])

    def cells(self, part: Axes) -> Axes:
        """Return the shape of the marginal over a set."""
        return tuple(self.shape[axis] for axis in part)

    def uniform_variance(self) -> Reals:
        """Return for each coordinate its variance over one row of the uniform table: 1 / cells of the marginal."""
        return np.array([1 / math.prod(self.cells(part)) for part in self.sets])[self.owner]

    def leverage(self) -> Reals:
        """Return for each set the part of a row's square that its effect holds: the product of 1 - 1 / n."""
        return np.array([math.prod(1 - 1 / n for n in self.cells(part)) for part in self.sets])

    def spread(self) -> Reals:
        """Return for each set the variance that noise of variance 1 on it adds to all cells of all cliques."""
        total = np.zeros(len(self.sets))
        for clique in self.cliques:
            for number, part in enumerate(self.sets):
                if set(part) <= set(clique):
                    total[number] += 1 / math.prod(self.shape[axis] for axis in clique if axis not in part)
        return total * self.sizes


def _places(shape: Axes, strides: list[int], part: Axes) -> NDArray[np.int64]:
    each = [np.arange(1, shape[axis]) * strides[axis] for axis in part]
    return np.asarray(reduce(np.add.outer, each, np.zeros((), np.int64)), np.int64).reshape(-1)


def coordinates(table: NDArray[np.int64] | Reals, cells: Axes) -> Reals:
    """Return the coordinates of the effect in a marginal of this shape."""
    values: Reals = np.asarray(table, np.float64)
    for size in cells:
        values = values.reshape(size, -1).T @ _effects_of(size).T
    return values.reshape(-1)


def coordinates_of_effect(table: NDArray[np.int64], cells: Axes) -> Reals:
    """Return the coordinates of the effect in a marginal of whole numbers: the same digits for every other part of it.

    The other part, which sums of doubles would leave in the last digits, is taken away in whole numbers before.
    """
    whole = table.reshape(cells)
    for axis, size in enumerate(cells):
        times = in_steps(whole, size)
        whole = times - whole.astype(times.dtype).sum(axis=axis, keepdims=True)
    return coordinates(whole.astype(np.float64) / math.prod(cells), cells)


def sums_of_squares(table: Reals, cells: Axes) -> Reals:
    """Return the sum over the rows of a marginal of the squares of the coordinates of its effect."""
    for size in cells:
        table = table.reshape(size, -1).T @ _squares(size).T
    return table.reshape(-1)


def expanded(own: Reals, cells: Axes) -> Reals:
    """Return the marginal of this shape that is nothing but an effect, from its coordinates."""
    if not own.size:  # a column of one value has no effect
        return np.zeros(cells)
    for size in cells:
        own = own.reshape(size - 1, -1).T @ _effects_of(size)
    return own.reshape(cells)


@lru_cache(maxsize=256)
def _effects_of(size: int) -> Reals:
    return contrasts(size)[1:]


@lru_cache(maxsize=64)
def _squares(size: int) -> Reals:
    return np.asarray(_effects_of(size) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredEffects(Mechanism):
    """Measure every effect with normal noise of its own standard deviation, `sigmas`, on each coordinate.

    Guarantee: the loss is Gaussian with mu^2 = the sum over the sets R of s_R^2 / sigma_R^2, where s_R is the least of
      l2 and l1 times the root of the product of (1 - 1/n) over the columns of R, of what marginals move by if the
      histogram moves by `sensitivity`. The caller must ensure that it moves no further, and that its cells are whole
      numbers.
      Proof. The marginal over R, times N = the product of its sizes, gets rounded normal noise of N sigma_R on every
      cell, and of the sum only the effect is kept, to the last digit. Let x and x' be the marginals of neighbours and P
      the projection on effects. N P(x - x') is a vector of whole numbers, so N x'' = N x - N P(x - x') is one too, and
      it has the effect of x'. The output at x' is therefore a function of N x'' plus the same noise, and that at x the
      same function of N x plus the noise: two rounded normal releases N |P(x - x')| apart. A row has P of length the
      root of the product of (1 - 1/n), and a difference of l1 rows at most l1 times that; P lengthens nothing, so l2
      bounds it too. For no column at all, P is the identity.
    Source: the lattice argument is ours; Xiao, Ding, Wang, Kifer, Zhang, "An optimal and scalable matrix mechanism for
      noisy marginals under convex loss functions" (ResidualPlanner), 2023 (the noise of effects over the reals).
    """

    effects: Effects
    sensitivity: Sensitivity
    sigmas: tuple[Fraction, ...]

    @classmethod
    def sharing(
        cls, effects: Effects, sensitivity: Sensitivity, *, mu_squared: Fraction, shares: Reals
    ) -> MeasuredEffects:
        """Return the measurement in which each set has its share of mu^2; shares that are 0 are not measured."""
        least = min(Fraction(1), 1 / Fraction(float(np.sum(shares)) * (1 + 1e-12)))  # shares that add up to 1, or less
        sigmas = []
        for part, share in zip(effects.sets, shares.tolist(), strict=True):
            own = Fraction(share) * least * mu_squared
            sigmas.append(
                short_up(sqrt_up(square_moved(effects, part, sensitivity) / own)) if share > 0 else Fraction(0)
            )
        return cls(effects, sensitivity, tuple(sigmas))

    @property
    def loss(self) -> Loss:
        """The loss of all effects together."""
        parts = zip(self.effects.sets, self.sigmas, strict=True)
        return GaussianLoss(
            sum(
                (square_moved(self.effects, part, self.sensitivity) / s**2 for part, s in parts if s), start=Fraction(0)
            )
        )

    def release(self, histogram: NDArray[np.int64]) -> Reals:
        """Return the noisy effects of a dense histogram. Whoever calls this has it, and accounts for `loss`."""
        from discreet.dp import randomness

        if isinstance(histogram, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(histogram, randomness.system())

    def _release(self, values: object, stream: Stream) -> Reals:
        histogram = cast("NDArray[np.int64]", values)
        if not isinstance(histogram, np.ndarray) or histogram.dtype.kind not in "iu":
            raise InvalidParameter("effects are measured on a histogram of whole numbers, as universe.encode makes it.")
        marginals = Marginals(histogram, self.effects.shape)
        marginals.prepare(part for part, sigma in zip(self.effects.sets, self.sigmas, strict=True) if sigma)
        return self._measure(marginals, stream)

    def _measure(self, marginal: GetMarginal, stream: Stream) -> Reals:
        """Return the noisy effects of a table, given its marginals."""
        measured = []
        for part, sigma in zip(self.effects.sets, self.sigmas, strict=True):
            cells = self.effects.cells(part)
            if sigma:
                noisy = _noisy(marginal(part).reshape(-1), math.prod(cells), sigma, stream)
                measured.append(coordinates_of_effect(noisy, cells) / math.prod(cells))
            else:
                measured.append(np.zeros(math.prod(n - 1 for n in cells)))
        return np.concatenate(measured)

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l1 is not None and moved(sensitivity) <= moved(self.sensitivity)


def _noisy(table: NDArray[np.int64], unit: int, sigma: Fraction, stream: Stream) -> NDArray[np.int64]:
    """Return whole counts of 1 / unit plus rounded normal noise, exactly."""
    return exact_sum(in_steps(table, unit), gaussian_sampler(sigma * unit, "rounded").draw(stream, table.size))


def square_moved(effects: Effects, part: Axes, sensitivity: Sensitivity) -> Fraction:
    """Return the square of s_R: how far the effect of a set moves, at most."""
    marginal = of_marginals(sensitivity)
    assert marginal.l1 is not None
    leverage = math.prod(1 - Fraction(1, n) for n in effects.cells(part))
    return min(marginal.l2**2, marginal.l1**2 * leverage)
