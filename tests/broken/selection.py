"""Wrong private selections that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet import dp
from discreet.dp.randomness import Stream
from discreet.dp.weights import Weights
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.selecting import Distribution, Scores, first_head, precise, softmax

# Laws, as functions of scores of sensitivity 1.


def without_the_two(epsilon: Fraction) -> object:
    """Weights exp(epsilon u) where scores may move apart: the normaliser was forgotten."""
    return lambda scores: softmax(scores, epsilon)


def first_head_without_the_two(epsilon: Fraction) -> object:
    return lambda scores: first_head(scores, epsilon)


def of_the_minimum(epsilon: Fraction) -> object:
    """The noise is added and the least is reported."""
    return lambda scores: softmax([-Fraction(score) for score in scores], epsilon / 2)


def heads_with_leftovers(epsilon: Fraction) -> object:
    """Flips the coins in the order of the list, where it should be random: ties go to the first."""

    @precise
    def law(scores: Scores) -> Distribution:
        best = max(Fraction(score) for score in scores)
        left, chances = mpf(1), []
        for score in scores:
            head = mp.exp(-real(epsilon / 2) * real(best - Fraction(score)))
            chances.append(left * head)
            left *= 1 - head
        return chances

    return law


BUCKETS = 12


def index_and_value(epsilon: Fraction) -> object:
    """Reports the largest Gumbel-noisy score beside its index: the outcomes are pairs (index, value in a bucket).

    The maximum is a Gumbel variable around ln of the normaliser, and independent of where it is reached.
    """

    @precise
    def law(scores: Scores) -> Distribution:
        rate = real(epsilon / 2)
        normaliser = mp.fsum(mp.exp(rate * real(Fraction(score))) for score in scores)
        below = [mp.exp(-normaliser * mp.exp(-mpf(v) / 2)) for v in range(-BUCKETS, BUCKETS)]
        buckets = [high - low for low, high in zip([mpf(0), *below], [*below, mpf(1)], strict=True)]
        return [p * bucket for p in softmax(scores, epsilon / 2) for bucket in buckets]

    return law


def peeled_with_all_of_it(epsilon: Fraction, k: int) -> Fraction:
    """The rate of a top-k each of whose choices takes the whole epsilon."""
    return epsilon / 2


# Renyi curves.


def bounded_range(epsilon: Fraction) -> object:
    """The curve of the exponential mechanism, claimed for any choice that is epsilon-DP."""
    return lambda order: order * epsilon**2 / 8


# Draws: (scores, rate, n) -> indices.


def float_softmax(scores: Sequence[float], rate: Fraction, n: int) -> np.ndarray:
    """Exponentials of the scores themselves, in floats."""
    with np.errstate(all="ignore"):
        each = np.exp(float(rate) * np.asarray(scores, dtype=np.float64))
        chances = each / each.sum()
    return np.random.default_rng().choice(len(scores), n, p=chances)


def law_of_float_softmax(epsilon: Fraction) -> object:
    """The same as a law."""
    return lambda scores: _float_law(np.asarray(scores, dtype=np.float64), epsilon)


def law_of_shifted_softmax(epsilon: Fraction) -> object:
    """Shifted so that nothing overflows; a candidate 1,500 behind then has a weight of 0, and its neighbour has not."""

    def law(scores: Scores) -> Distribution:
        read = np.asarray(scores, dtype=np.float64)
        return _float_law(read - read.max(), epsilon)

    return law


def _float_law(scores: np.ndarray, epsilon: Fraction) -> Distribution:
    with np.errstate(all="ignore"):
        each = np.exp(float(epsilon / 2) * scores)
        return [mpf(p) for p in (each / each.sum()).tolist()]


def law_of_scores_in_floats(epsilon: Fraction) -> object:
    """Exact, but for scores as a float tells them: beyond 2^53 one that moves by 1 moves by 2."""
    return lambda scores: softmax(as_floats(scores), epsilon / 2)


def argmax(scores: Sequence[float], rate: Fraction, n: int) -> np.ndarray:
    return np.full(n, int(np.argmax(np.asarray(scores, dtype=np.float64))))


def drawn_from(law: Distribution, n: int) -> np.ndarray:
    """Draws of any law; for twins whose law is known."""
    chances = np.array([float(p) for p in law])
    return np.random.default_rng().choice(len(law), n, p=chances / chances.sum())


# Scores.


def as_floats(scores: Sequence[int | float]) -> list[Fraction]:
    """Scores as NumPy reads them: a whole number beyond 2^53 beside a real one is rounded."""
    return [Fraction(float(score)) for score in np.asarray(scores, dtype=np.float64)]


# Claims.


def monotone_for_anything(epsilon: Fraction) -> dp.Exponential:
    """States an obligation that nobody has proved."""
    return dp.Exponential(
        sensitivity=dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE),
        epsilon=epsilon,
        utility=dp.Utility.MONOTONE,
    )


# Weights: (scores, rate) -> floats, the best one's 1.


def weights_of_floats(scores: Sequence[int | float], rate: Fraction) -> np.ndarray:
    """Gaps between scores as NumPy reads them."""
    read = np.asarray(scores, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-float(rate) * (read.max() - read)))


def weights_that_wrap(scores: np.ndarray, rate: Fraction) -> np.ndarray:
    """Gaps of whole numbers in 64 bits with a sign: one of more than 2^63 comes out negative."""
    read = np.asarray(scores)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-float(rate) * (read.max() - read).astype(np.float64)))


def weights_not_shifted(scores: Sequence[int | float], rate: Fraction) -> np.ndarray:
    """Exponentials of the scores, divided by the greatest."""
    with np.errstate(all="ignore"):
        each = np.exp(float(rate) * np.asarray(scores, dtype=np.float64))
        return np.asarray(each / each.max())


def exp_with_one_constant(x: np.ndarray) -> np.ndarray:
    """exp(-x) with ln 2 / 64 in one float: what it is off by is multiplied by up to 8,000."""
    step = math.log(2) / 64
    n = np.rint(np.minimum(x, 90.0) / step)
    return np.where(x <= 90.0, np.exp2(-n / 64) * np.exp(n * step - np.minimum(x, 90.0)), 0.0)


# Draws by weights: (weights, stream, ...), as `Weights` has them.


def float_coins(weights: Weights, stream: Stream, candidates: np.ndarray) -> np.ndarray:
    """A uniform float is compared with the weight in floats."""
    return np.asarray(stream.words(candidates.size, 64) * 2.0**-64 < weights.floats[candidates])


def coins_of_one_word(weights: Weights, stream: Stream, candidates: np.ndarray) -> np.ndarray:
    """Ours as it once was: what lies between two words was not left open, so no weight above 2^-129 was below 2^-64."""
    words, floats = stream.words(candidates.size, 64), weights.floats[candidates]
    slack = 2.0**-42 * floats + 2.0**-129
    heads = words * 2.0**-64 < floats - slack
    for i in np.flatnonzero(~heads & (words * 2.0**-64 <= floats + slack)):
        heads[i] = weights._flip_one(stream, int(candidates[i]), int(words[i]))
    return np.asarray(heads)


def float_inversion(weights: Weights, stream: Stream) -> int:
    """Sums in floats, and no doubt about them."""
    ends = np.cumsum(weights.floats)
    return int(np.searchsorted(ends, stream.integer(64) / 2**64 * ends[-1], "right").clip(max=len(weights) - 1))


def best_if_none_was_kept(weights: Weights, stream: Stream) -> int:
    """Tries some, and takes the best if none is kept."""
    tried, heads = weights._try_some(stream)
    return int(tried[heads[0]]) if heads.size else int(np.argmax(weights.floats))


def one_try_each(weights: Weights, stream: Stream) -> int:
    """Tries some, each once, and takes a uniform one of those kept: permute and flip, where a draw was wanted."""
    return weights.pick(stream)


def flipped_again(weights: Weights, stream: Stream) -> int:
    """Permute and flip that flips the coins of those tried a second time."""
    tried, heads = weights._try_some(stream)
    if heads.size:
        return int(tried[heads[0]])
    kept = np.flatnonzero(weights._flip(stream, np.arange(len(weights))))
    return int(kept[stream.integer(64) % kept.size])
