"""`logistic`: every coin is decided as its exact probability says, on every path; the margin of a hit has its law."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from discreet.dp import logistic
from discreet.dp.randomness import Stream, system
from discreet.dp.reals import bounds, precision
from discreet.errors import InvalidParameter
from tests.broken import threshold_tests as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.scripted import Scripted, Watched
from tests.sizes import sized
from tests.statistics import chi_square, share
from tests.threshold_truth import chance, mass

F = Fraction
SLOPES = [F(1, 45), F(1, 3), F(7, 1000), F(1), F(45), F(1, 2**52)]
MASK = 2**64 - 1


def digits(k: int, slope: Fraction, bits: int) -> int:
    """The first binary digits of the chance of the less likely side."""
    with mp.workprec(bits + 200):
        return int(mp.floor(chance(-abs(k), slope) * mpf(2) ** bits))


@pytest.mark.parametrize("slope", SLOPES, ids=str)
@pytest.mark.parametrize("k", [0, 1, -1, 7, -40, 2**50, -(2**53) - 1])
def test_one_coin_is_decided_by_its_digits(k: int, slope: Fraction) -> None:
    """Guarantee: the probabilities are exact, for integers of every size and every rational slope that `check_slope`
    accepts. (Each word of a coin is compared with the digits of the probability, 256 of them if it comes to that.)
    """
    if slope * abs(k) > 10**6:
        assert logistic.coin(Scripted(5), k, slope) == (k >= 0)
        return
    edge, likely = digits(k, slope, 256), k >= 0
    script = [edge >> 192, edge >> 128 & MASK, edge >> 64 & MASK, edge & MASK]
    for length in range(1, 4):
        for move, unlikely in ((-1, True), (1, False)):
            word = script[length - 1] + move
            if k == 0 or not 0 <= word <= MASK:
                continue
            stream = Scripted(*script[: length - 1], word)
            assert logistic.coin(stream, k, slope) == (likely != unlikely)
            assert stream.finished
    if k == 0:  # one half: the first digit decides
        assert [logistic.coin(Scripted(word), 0, slope) for word in (0, 2**63 - 1, 2**63, MASK)] == [False] * 2 + [
            True
        ] * 2


class Prefixed(Stream):
    """Hands out these 16 bits, then these 48 bits for every coin that they leave open, then these digits."""

    def __init__(self, words: np.ndarray, low: int, further: int = 0) -> None:
        self._parts, self._low, self._further, self.left_open = [words], low, further, 0

    def words(self, count: int, bits: int) -> np.ndarray:
        if bits == 16:
            part, self._parts[0] = self._parts[0][:count], self._parts[0][count:]
            return part.astype("<u2")
        self.left_open += count
        return np.full(count, self._low << 16, dtype="<u8")

    def integer(self, bits: int) -> int:
        return self._further


def check_vector(coins: Callable[..., np.ndarray], steps: np.ndarray, words: np.ndarray, slope: Fraction) -> int:
    """With the least and the greatest of all continuations of 16 bits, each coin is as its probability says."""
    edges = {int(k): digits(int(k), slope, 64) for k in np.unique(steps)}
    for low in (0, (1 << 48) - 1):
        stream = Prefixed(words, low)
        found = coins(stream, steps, slope)
        for k, word, coin in zip(steps.tolist(), words.tolist(), found.tolist(), strict=True):
            if k and word << 48 | low == edges[k]:
                continue  # a tie of 64 bits, decided by the next
            assert coin == (((word << 48 | low) < edges[k]) != (k >= 0)), (k, word)
    return stream.left_open


@pytest.mark.parametrize(("k", "slope"), [(0, F(1, 2)), (3, F(1, 7)), (-90, F(1, 11)), (500, F(1, 45)), (-1, F(45))])
def test_all_sixteen_bits_of_a_vector(k: int, slope: Fraction) -> None:
    words, steps = np.arange(1 << 16), np.full(1 << 16, k)
    if k:
        left_open = check_vector(logistic.coins, steps, words, slope)
        assert 0 < left_open < 400  # memory speed: hardly any coin needs more
    edge = digits(k, slope, 128)  # and where 64 bits tie, 64 more decide
    for further in ((edge & MASK) - 1, (edge & MASK) + 1):
        if further >= 0 and k:
            stream = Prefixed(np.array([edge >> 112]), edge >> 64 & (1 << 48) - 1, further)
            unlikely = further < edge & MASK
            assert logistic.coins(stream, np.array([k]), slope).tolist() == [unlikely != (k >= 0)]


@pytest.mark.parametrize("slope", [F(1, 45), F(1, 3), F(2, 1001)], ids=str)
def test_vectors_of_every_cell(slope: Fraction) -> None:
    source = np.random.default_rng(1)
    reach = int(14 / slope)
    steps = source.integers(-reach, reach, sized(3_000, 60_000))
    near = np.array([digits(int(k), slope, 16) for k in steps])
    words = np.clip(near + source.integers(-2, 3, steps.size), 0, 2**16 - 1)
    check_vector(logistic.coins, steps, words, slope)
    for twin in (broken.coins_of_sixteen_bits, broken.coins_of_floats_in_single_precision):
        with pytest.raises(AssertionError):
            check_vector(twin, steps, words, slope)


def test_integers_of_every_kind_and_size() -> None:
    slope = F(1, 1000)
    for array in (
        np.array([2**63 - 1, -(2**63), 100_000]),
        np.array([2**64 - 1, 2**63], dtype=np.uint64),
        np.array([10**400, -(10**400), 2**70], dtype=object),
        np.array([-(10**5), 10**5], dtype=np.int32),
    ):
        assert (logistic.coins(system(), array, slope) == (array > 0)).all()
    assert logistic.coin(system(), 10**400, F(1, 2**52))
    assert not logistic.coin(system(), -(10**400), F(1, 2**52))
    assert logistic.coins(system(), np.array([], dtype=np.int64), slope).size == 0
    assert logistic.coins(system(), np.full(1 << 16, -(10**6)), slope).sum() == 0


def test_words_are_overwritten_after_use() -> None:
    """The first 16 bits of each coin, and 64 of those that are open then: about one in a thousand."""
    watched = Watched()
    logistic.coins(watched, np.tile(np.arange(-1000, 1000), 25), F(1, 100))
    assert {words.itemsize for words in watched.handed_out} == {2, 8}
    assert all(not words.any() for words in watched.handed_out)


def test_slopes_that_are_no_noise_or_cannot_be_drawn_are_refused() -> None:
    for slope in SLOPES:
        logistic.check_slope(slope)
    for slope in (F(46), F(1, 2**52 + 1), F(10**9)):
        with pytest.raises(InvalidParameter, match="slope"):
            logistic.check_slope(slope)


def test_many_coins_have_their_chances() -> None:
    slope, n = F(1, 10), sized(60_000, 1_000_000)
    for k in (0, 5, -20):
        right = float(chance(k, slope))
        check = share(lambda draws: draws == 1, right, n)
        check.run(
            lambda n, k=k: logistic.coins(system(), np.full(n, k), slope).astype(np.int64),
            wrong={"of Laplace noise, at 5/4 of the scale": lambda n, k=k: broken.laplace_coins(n, k, float(slope))},
        ) if k else check.run(
            lambda n: logistic.coins(system(), np.zeros(n, dtype=np.int64), slope).astype(np.int64),
            wrong={
                "of one step more": lambda n: logistic.coins(system(), np.ones(n, np.int64), slope).astype(np.int64)
            },
        )


# The margin of a hit.


def accepted(d: int, slope: Fraction, reach: int) -> list[mpf]:
    """The law of what the rejection keeps, summed over everything that it can propose."""
    q, shift = mp.exp(-real(slope)), min(d, 0)
    kept = [(1 - q) * q**g * chance(g - shift, slope) * chance(g - shift + 1, slope) for g in range(reach)]
    total = dict.fromkeys(range(reach), mpf(0))
    for g, weight in enumerate(kept):
        for v in [g] if d <= 0 else [d + g, d - 1 - g]:
            if 0 <= v < reach:
                total[v] += weight
    whole = mp.fsum(kept) if d <= 0 else mp.fsum(total.values())
    return [weight / whole for weight in total.values()]


@pytest.mark.parametrize("slope", [F(1, 3), F(1), F(5, 2)], ids=str)
@pytest.mark.parametrize("d", [-30, -2, -1, 0, 1, 2, 25])
def test_the_rejection_keeps_the_law_of_a_hit(d: int, slope: Fraction) -> None:
    """Guarantee: P(V = v) = P(W = v - d) / s(d) for every v >= 0, exactly. The proof stands at the head of this file.

    (`margin_of_hit`: every proposal and both coins of each, summed; and the law that we state.)
    """
    reach = int(120 / slope) + abs(d)
    for v, found in enumerate(accepted(d, slope, reach)[: reach // 3]):
        closed = mass(v, d, slope)
        assert abs(found - closed) < closed * mpf(10) ** -15
        low, high = bounds(lambda v=v: logistic.mass_of_hit(v, d, slope))
        assert real(low) * (1 - mpf(10) ** -30) <= closed <= real(high) * (1 + mpf(10) ** -30)


def test_the_mass_of_the_noise_is_symmetric_and_the_stated_one() -> None:
    for slope in (F(1, 7), F(3)):
        q = mp.exp(-real(slope))
        for w in range(-40, 40):
            found = chance(w + 1, slope) - chance(w, slope)
            assert abs(found - (1 - q) * q**w / ((1 + q**w) * (1 + q ** (w + 1)))) < mpf(10) ** -40
            assert abs(found - (chance(-w, slope) - chance(-1 - w, slope))) < mpf(10) ** -40


@pytest.mark.parametrize(("d", "slope"), [(-8, F(1, 4)), (0, F(1, 4)), (3, F(1, 4)), (30, F(1, 4))])
def test_margins_that_are_drawn_have_the_law(d: int, slope: Fraction) -> None:
    n = sized(6_000, 20_000)
    edges = [0, 1, 2, 4, 7, 11, 16] if d < 20 else [0, 22, 26, 29, 31, 34, 38]
    likely = [float(mp.fsum(mass(v, d, slope) for v in range(a, b))) for a, b in itertools.pairwise(edges)]
    likely.append(1 - sum(likely))

    def label(draws: np.ndarray) -> np.ndarray:
        return np.searchsorted(edges, draws, "right") - 1

    twins = {"not given a hit": broken.margins_of_all, "geometric": broken.margins_without_coins}
    if d < 0:
        del twins["geometric"]  # far below the threshold it is nearly that
    elif d > 20:
        del twins["not given a hit"]  # far above, every value is a hit
    chi_square(label, likely, n).run(
        lambda n: np.array([logistic.margin_of_hit(system(), d, slope) for _ in range(n)]),
        wrong={name: (lambda n, twin=twin: twin(n, d, float(slope))) for name, twin in twins.items()}
        or {"of another slope": lambda n: np.array([logistic.margin_of_hit(system(), d, slope / 2) for _ in range(n)])},
    )


def test_balls_hold_the_chance() -> None:
    for k in (0, 3, -3, 10**6, -(10**6)):
        with precision(256):
            found: arb = logistic.chance(k, F(1, 3))
        with mp.workprec(400):
            low, high = bounds(lambda k=k: logistic.chance(k, F(1, 3)))
            assert real(low) * (1 - mpf(2) ** -300) <= chance(k, F(1, 3)) <= real(high) * (1 + mpf(2) ** -300)
        assert found.rel_accuracy_bits() > 200
