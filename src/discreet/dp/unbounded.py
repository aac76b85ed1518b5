"""Median and mean of data without a public range: the sensitivity is proposed, tested and smoothed in private.

The median is that of order statistics on a public grid. Let w_k be the widest gap that k changes can put at the median
(the local sensitivity at distance k, `_widths`), and G_c the least k with w_k > c: its distance to instability for the
proposal c, which moves by at most 1 between neighbours.

**Propose and test.** The proposals are c = 2^0, 2^1, ..., 2^60 steps. The best one has G_{c/2} <= k0 < G_c; each has
the score -max(0, G_{c/2} - k0, k0 + 1 - G_c), of sensitivity 1, and "none" has the score -h. Permute-and-flip at
epsilon_1 chooses one. A proposal that is unstable (G_c = 0) has a score of at most -(k0 + 1), and "none" has -h, so one
of the 61 is chosen with probability at most 61 exp(-epsilon_1 (k0 + 1 - h) / 2), which k0 makes at most delta.

**Release.** With c chosen, S = max over k of exp(-beta k) min(w_k, c) is beta-smooth, and where c is stable for one of
two neighbours the median moves by at most the smaller of the two S: by at most min(w_0, w_0', c). So `SmoothNoise` at
epsilon_2 is enough. No range is needed: at the k where w_k reaches c, exp(-beta k) c is next to nothing.

So it is (epsilon_1 + epsilon_2, delta)-DP. The mean is that of the medians of means: every unit has one block, by a die
that does not look at the data, so neighbours differ in one block mean whichever the relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp import randomness
from discreet.dp.grid import numbers
from discreet.dp.loss import Approximate, Loss
from discreet.dp.neighbours import Neighbours
from discreet.dp.permute_and_flip import PermuteAndFlip
from discreet.dp.propose_test_release import UNSTABLE, Answer, ProposeTestRelease
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.dp.reals import ball, upper
from discreet.dp.samplers import uniform_below
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.smooth_exact import relation
from discreet.dp.smooth_noise import SmoothNoise
from discreet.errors import InvalidParameter

Whole = NDArray[np.int64]

_FAR = 2**59  # values are clamped to so many steps, far beyond what data on a sensible step reach
_OUTSIDE = 2**61  # stands for a value without bound: further from any value than the greatest proposal, and in 64 bits
_PROPOSALS = 61
_NONE = Fraction(1, 1000)  # the chance of "none" beside the best proposal
_SLACK = Fraction(1, 2**33)  # taken from beta, for what rounding the smooth bound may add
_ROUNDED = 1 + Fraction(1, 2**36)  # above every relative error of its 60-bit arithmetic
_TEST_SHARE = Fraction(1, 8)
_HALF = Fraction(1, 2)
_ROWS_A_BLOCK = 5


@dataclass(frozen=True, slots=True)
class UnboundedMedian:
    """The median of numbers on a public grid, with noise that adapts to how densely they lie, and no public range.

    Guarantee: (epsilon, delta)-DP for `neighbours`, one number per unit, UNSTABLE or not. The share `test_share` of
      epsilon, and all of delta, pay for the choice of a scale; the rest for pure noise in proportion to the smooth
      bound. Values are rounded to the grid and clamped to 2^59 steps, one by one.
    Source: Brunel, Avella-Medina, "Propose, test, release", 2020 (the median without a range); Nissim, Raskhodnikova,
      Smith, 2007 (smooth bounds); the combination is proved in the docstring of `discreet.dp.unbounded`.

    >>> import numpy as np
    >>> from discreet import dp
    >>> m = dp.UnboundedMedian(neighbours=dp.Neighbours.REPLACE, epsilon=1, delta=1e-6, step="0.001")
    >>> m.rows_needed
    796
    >>> answer = m.release(np.linspace(-1, 1, 100_001))
    >>> answer is dp.UNSTABLE or abs(answer) < 0.1
    True
    """

    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction
    choice: PermuteAndFlip
    noise: SmoothNoise
    target: int

    def __init__(
        self,
        *,
        neighbours: Neighbours,
        epsilon: Number,
        delta: Number,
        step: Number,
        test_share: Number = _TEST_SHARE,
    ) -> None:
        whole, miss = positive(epsilon, "epsilon"), probability(delta, "delta")
        first = whole * probability(test_share, "test_share")
        if not 2**-500 < positive(step, "step") < 2**500:
            raise InvalidParameter(
                "step is a public fact about the answers, such as 0.01, within the range of a float."
            )
        one = Sensitivity(l1=_PROPOSALS + 1, linf=1, neighbours=relation(neighbours))
        wanted = upper(lambda: 2 * ball(_PROPOSALS / (miss * _NONE)).log() / ball(first))
        for name, part in (
            ("neighbours", neighbours),
            ("epsilon", whole),
            ("delta", miss),
            ("choice", PermuteAndFlip(sensitivity=one, epsilon=first)),
            ("noise", SmoothNoise(neighbours=neighbours, epsilon=whole - first, step=step)),
            ("target", math.ceil(wanted) - 1),
        ):
            object.__setattr__(self, name, part)

    @property
    def loss(self) -> Loss:
        """The loss of one answer, UNSTABLE or not. Its delta is taken from the `delta_add` of a budget."""
        return Approximate(self.epsilon, self.delta)

    @property
    def rows_needed(self) -> int:
        """How many numbers there have to be for an answer to be likely; with fewer it is UNSTABLE, mostly."""
        return 2 * (self.target + 1)

    def release(self, data: ArrayLike) -> Answer:
        """Return the median of plain numbers with noise, or UNSTABLE. Whoever calls this accounts for `loss`."""
        return self._release(_steps(data, self.noise.step), randomness.system())

    def _release(self, values: Whole, stream: randomness.Stream) -> Answer:
        reach = max(2 * (self.target + 1), math.ceil(_PROPOSALS / self.noise.beta))
        middle, widths = _widths(values, self.neighbours, reach)
        chosen = self.choice._release(self._scores(widths), stream)
        # Drawn in either case, so that the time is the same.
        answer = self.noise._release(middle * self.noise.step, self._bound(widths, min(chosen, _PROPOSALS - 1)), stream)
        return UNSTABLE if chosen == _PROPOSALS else answer

    def _scores(self, widths: Whole) -> list[int]:
        """Return the scores of the proposals 2^0, 2^1, ... steps, and that of none."""
        distances = [int(widths.searchsorted(2**j, "right")) for j in range(_PROPOSALS)]
        below = [0, *distances[:-1]]
        scores = [-max(0, b - self.target, self.target + 1 - g) for b, g in zip(below, distances, strict=True)]
        allowed = upper(lambda: 2 * ball(1 / _NONE).log() / ball(self.choice.epsilon))
        return [*scores, -math.floor(allowed)]

    def _bound(self, widths: Whole, proposal: int) -> Fraction:
        """Return max exp(-b k) min(w_k, 2^proposal) in units of the answer, rounded up, with b just below beta."""
        rate = float(self.noise.beta - _SLACK)
        capped = np.append(np.minimum(widths, 2**proposal), 2**proposal).astype(np.float64)
        worth = capped * np.exp(-rate * np.arange(capped.size))
        return Fraction(float(worth.max())) * _ROUNDED * self.noise.step


def private_median_unbounded(
    data: ArrayLike,
    *,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Number,
    step: Number,
    proposal: Number | None = None,
    test_share: Number | None = None,
) -> Answer:
    """Return the median of plain numbers, one per unit, without a public range; or UNSTABLE, a charged answer.

    With `proposal` it is propose-test-release with that sensitivity, half of epsilon for the test; without one a scale
    is found in private (`UnboundedMedian`), for an eighth of epsilon, and the noise adapts to the data. `test_share`
    changes the half or the eighth.

    Guarantee: (epsilon, delta)-DP for `neighbours`, whichever answer comes. All parameters are public facts.
    Source: Brunel, Avella-Medina, 2020; Dwork, Lei, 2009.

    >>> import numpy as np
    >>> from discreet import dp
    >>> data = np.linspace(0, 20, 10_001)
    >>> relation = dp.Neighbours.REPLACE
    >>> m = dp.private_median_unbounded(data, neighbours=relation, epsilon=1, delta=1e-6, step="0.001", proposal="0.2")
    >>> m is dp.UNSTABLE or abs(m - 10) < 9
    True
    """
    if proposal is None:
        median = _median(neighbours, epsilon, delta, step, test_share)
        return median.release(data)
    tested = _proposed(neighbours, proposal, epsilon, delta, step, test_share)
    return _tested(tested, _steps(data, tested.step))


def private_mean_unbounded(
    data: ArrayLike,
    *,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Number,
    step: Number,
    blocks: int | None = None,
    proposal: Number | None = None,
    test_share: Number | None = None,
) -> Answer:
    """Return the mean of plain numbers, one per unit, as the private median of the means of blocks; or UNSTABLE.

    Every unit is put in one of `blocks` blocks by a fair die, so a unit is in one block mean whichever the relation,
    and the number of blocks does not depend on that of units. Block means are less skewed than the data: with m units
    a block, their median is about skewness * deviation / (6 m) from the mean. More blocks make the noise smaller.

    Guarantee: (epsilon, delta)-DP for `neighbours`, whichever answer comes. All parameters are public facts; without
      `blocks` there are a quarter more than the test needs.
    Source: Brunel, Avella-Medina, 2020 (median of means by propose-test-release); Nemirovsky, Yudin, 1983.

    >>> import numpy as np
    >>> from discreet import dp
    >>> m = dp.private_mean_unbounded(
    ...     np.arange(100_000) % 7, neighbours=dp.Neighbours.REPLACE, epsilon=1, delta=1e-6, step="0.001"
    ... )
    >>> m is dp.UNSTABLE or abs(m - 3) < 1
    True
    """
    one_block = Neighbours.REPLACE  # of the vector of block means
    relation(neighbours)
    median = _median(one_block, epsilon, delta, step, test_share if proposal is None else None)
    count = 5 * median.rows_needed // 4 if blocks is None else positive_integer(blocks, "blocks")
    values, stream = _steps(data, median.noise.step), randomness.system()
    if neighbours is Neighbours.REPLACE and values.size < _ROWS_A_BLOCK * count:  # the number of units is public
        raise InvalidParameter(f"{count} blocks need at least {_ROWS_A_BLOCK * count} units; pass fewer blocks=.")
    means = _block_means(values, uniform_below(stream, count, values.size), count)
    if proposal is None:
        return median._release(means, stream)
    return _tested(_proposed(one_block, proposal, epsilon, delta, step, test_share), means)


def _median(
    neighbours: Neighbours, epsilon: Number, delta: Number, step: Number, test_share: Number | None
) -> UnboundedMedian:
    share = _TEST_SHARE if test_share is None else test_share
    return UnboundedMedian(neighbours=neighbours, epsilon=epsilon, delta=delta, step=step, test_share=share)


def _proposed(
    neighbours: Neighbours, proposal: Number, epsilon: Number, delta: Number, step: Number, test_share: Number | None
) -> ProposeTestRelease:
    return ProposeTestRelease(
        neighbours=neighbours,
        proposal=proposal,
        epsilon=epsilon,
        delta=delta,
        noise="laplace",
        step=step,
        test_share=_HALF if test_share is None else test_share,
    )


def _tested(tested: ProposeTestRelease, values: Whole) -> Answer:
    """Return the median by propose-test-release; distances beyond twice the bar are as good as that."""
    middle, widths = _widths(values, tested.neighbours, 2 * tested.bar + 2)
    distance = int(widths.searchsorted(math.floor(tested.proposal / tested.step), "right"))
    return tested._release(middle * tested.step, distance, randomness.system())


def _steps(data: ArrayLike, step: Fraction) -> Whole:
    """Return numbers as whole steps, each rounded and clamped by itself."""
    array = numbers(data).ravel()
    if array.dtype.kind in "iu" and step == 1:
        return np.clip(array, -_FAR, _FAR).astype(np.int64)
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            scaled = np.clip(np.rint(array / float(step)), float(-_FAR), float(_FAR))  # a step is a power of two
        return np.asarray(scaled.astype(np.int64))
    return np.array([max(-_FAR, min(_FAR, round(int(v) / step))) for v in array], dtype=np.int64)


def _widths(values: Whole, neighbours: Neighbours, reach: int) -> tuple[int, Whole]:
    """Return the lower median, and the local sensitivity at distances 0 to `reach`, which never decreases.

    With x_1 <= ... <= x_n in order, unbounded beyond, and the median x_m: under REPLACE w_k is the greatest
    x_(v + k + 1) - x_v over m - 1 - k <= v <= m; under ADD_REMOVE the one with v = floor((n - k) / 2). The proofs are
    in `discreet.dp.windows`. The median of nothing is 0.
    """
    n = values.size
    middle = max(1, (n + 1) // 2)
    edge = np.full(reach + 2, _OUTSIDE)
    padded = np.concatenate([-edge, np.sort(values), edge])
    at = reach + 1  # rank r stands at place r + at
    if neighbours is Neighbours.REPLACE:
        first = at + middle - 1  # the place of rank m - 1
        gaps = [(padded[first + 1 : first + k + 3] - padded[first - k : first + 2]).max() for k in range(reach + 1)]
        widths = np.array(gaps, dtype=np.int64)
    else:
        k = np.arange(reach + 1)
        left = at + np.maximum((n - k) // 2, -at)
        widths = padded[np.minimum(left + k + 1, padded.size - 1)] - padded[left]
    return int(padded[at + middle]) if n else 0, widths


def _block_means(values: Whole, labels: Whole, count: int) -> Whole:
    """Return the mean of each block in whole steps, rounded down; 0 for a block without units."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=count)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    ordered = values[order]
    high, low = (np.concatenate([[0], np.cumsum(part)])[ends] for part in (ordered >> 31, ordered & (2**31 - 1)))
    totals = (int(h) * 2**31 + int(part) for h, part in zip(np.diff(high), np.diff(low), strict=True))
    return np.array([t // int(s) if s else 0 for t, s in zip(totals, sizes, strict=True)], dtype=np.int64)
