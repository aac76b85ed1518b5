"""Draws by `weights` are exact: proved by bits chosen for every path, and sampled where the path is random."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp import weights as module
from discreet.dp.randomness import Stream, system
from discreet.dp.samplers import CHUNK
from discreet.dp.weights import Given, Weights
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.scripted import Scripted, Watched
from tests.selecting import EXPONENT_BITS, first_head, softmax, weights
from tests.sizes import sized
from tests.statistics import chi_square, share

F = Fraction
HALF = F(1, 2)
MIDDLE, LAST = 1 << 63, (1 << 64) - 1
FINE = 2048  # bits to which reals are compared
many_digits = mp.workprec(EXPONENT_BITS)

Flip = Callable[[Weights, Stream, NDArray[np.int64]], NDArray[np.bool_]]
Draw = Callable[[Weights, Stream], int]
Patch = pytest.MonkeyPatch


@many_digits
def whole(chance: mpf, bits: int) -> int:
    return int(mp.floor(chance * mpf(2) ** bits))


def words_of(number: int, bits: int) -> list[int]:
    return [number >> shift & LAST for shift in range(bits - 64, -1, -64)]


def fine(words: list[int]) -> int:
    """A uniform real of these words, continued by MIDDLE, to FINE bits."""
    number = 0
    for word in itertools.islice(itertools.chain(words, itertools.repeat(MIDDLE)), FINE // 64):
        number = number << 64 | word
    return number


def close_to(chance: mpf, bits: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[list[int]]:
    """Words of reals just below and just above a boundary, as they differ from it in the first word or a later one."""
    for count in bits:
        for step in steps:
            number = whole(chance, count) + step
            if 0 <= number < 1 << count:
                yield words_of(number, count)


def script(words: list[int]) -> Scripted:
    return Scripted(*words, then=itertools.repeat(MIDDLE))


# Coins.

COINS = [0, -0.001, -1, -3, -43, -89, -97, -150, -179.9, -180.1, -500, -1000]  # exp(-s / 2): 1 down to 2^-721


@many_digits
def check_coins(flip: Flip) -> None:
    """A coin is a head exactly if its real lies below the weight, however many words it takes to see."""
    given = Weights.of(COINS, HALF)
    for candidate, weight in enumerate(weights(COINS, HALF)):
        boundary = whole(weight, FINE)
        tight = close_to(weight, (64, 128, 192, 320, 768, 1024), (-4096, -1024, -2, -1, 0, 1, 2, 1024, 4096))
        for words in [[0], [LAST], [0, LAST], *tight]:
            (head,) = flip(given, script(words), np.array([candidate]))
            assert head == (fine(words) < boundary), (candidate, words)


def test_a_coin_is_decided_by_as_many_words_as_it_takes() -> None:
    check_coins(Weights._flip)


@pytest.mark.parametrize("twin", [broken.float_coins, broken.coins_of_one_word])
def test_coins_that_are_wrong_are_rejected(twin: Flip) -> None:
    with pytest.raises(AssertionError):
        check_coins(twin)


def test_coins_together_are_the_coins_alone() -> None:
    """In a vector each coin has its own first word, and those left open take their next ones in order."""
    given, some = Weights.of(COINS, HALF), weights(COINS, HALF)[1:7]
    for step, head in ((-1, True), (1, False)):
        first, later = zip(*(words_of(whole(weight, 128) + step, 128) for weight in some), strict=True)
        stream = Scripted(list(first), *later)
        assert given._flip(stream, np.arange(1, 7)).tolist() == [head] * 6
        assert stream.requests == [(6, 64), *[(1, 64)] * 6]


# Inversion.

TABLES: dict[str, Given] = {
    "one": [3],
    "ties": [5, 5, 5],
    "close": [0.25, 0.5, 0.125, 1],
    "rational halves": [0, -1, 0, -1],
    "uneven": [-70, 0, -3, 0, -40, -1, -1],
    "nothing to see": [-200, 0, -2000, -1e300, 0, -150],
    "fractions": [F(1, 3), F(2, 7), F(-1, 9), 2**60, 2**60 - 1],
}


@many_digits
def check_inversion(draw: Draw, name: str) -> None:
    """The outcome is the candidate whose part of [0, 1) holds the real number."""
    given, law = Weights.of(TABLES[name], HALF), softmax_here(TABLES[name])
    ends = [mp.fsum(law[: i + 1]) for i in range(len(law))]
    exact = [whole(end, FINE) for end in ends[:-1]]
    near = [words for end in ends for words in close_to(end, (64, 128, 192), (-5000, -9, -1, 0, 1, 9, 5000))]
    for words in [[i << 57 | 77] for i in range(128)] + [[0, 5], [LAST]] + near:
        assert draw(given, script(words)) == bisect_right(exact, fine(words)), words


@many_digits
def softmax_here(scores: Given) -> list[mpf]:
    each = weights(list(scores), HALF)
    return [weight / mp.fsum(each) for weight in each]


@pytest.mark.parametrize("chunk", [CHUNK, 3, 1])
@pytest.mark.parametrize("name", TABLES)
def test_inversion_finds_the_part_that_holds_the_real(name: str, chunk: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    check_inversion(Weights.draw, name)


@pytest.mark.parametrize("name", ["close", "uneven", "fractions"])
def test_an_inversion_in_floats_is_rejected(name: str) -> None:
    with pytest.raises(AssertionError):
        check_inversion(broken.float_inversion, name)


@many_digits
def test_inversion_among_many() -> None:
    """Three chunks of two kinds of candidates: in the middle of a part, the first word decides."""
    count = 2 * CHUNK + 5
    given, low = Weights.of(np.arange(count) % 2, HALF), mp.exp(-mpf(1) / 2)

    def end(i: int) -> mpf:
        """The weight of the first i."""
        return i // 2 + low * (i - i // 2)

    for candidate in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, count - 1):
        stream = Scripted(whole((end(candidate) + end(candidate + 1)) / (2 * end(count)), 64))
        assert given._invert(stream) == candidate
    for step, candidate in ((-1, CHUNK - 1), (1, CHUNK)):  # all are weighed exactly
        assert given._invert(script([whole(end(CHUNK) / end(count), 64) + step])) == candidate


@many_digits
def test_sums_in_floats_are_not_believed() -> None:
    """A sum of equal weights rounds the same way at each addition, so floats are off by more than many words."""
    scores = [0, *[-1] * (CHUNK - 1)]
    given, low = Weights.of(scores, HALF), mp.exp(-mpf(1) / 2)
    boundary, total = 1 + 29_999 * low, 1 + (CHUNK - 1) * low
    off = abs(mpf(np.cumsum(given.floats)[29_999].item()) - boundary) / total
    assert mpf(2) ** -46 < off < mpf(2) ** -37  # `_SUMMED` is 2^-36
    for step, candidate in ((-1, 29_999), (1, 30_000)):
        assert given._invert(script([whole(boundary / total, 64) + step])) == candidate


# Tries, one after another.

FORTY = [0, *[-2] * 39]  # weights 1 and exp(-1)
TRIED = [3, 7, 7, 0, 9, 1]


def tries(candidates: list[int]) -> list[int]:
    """Bytes of which `uniform_below` makes these numbers below 40."""
    return [candidate << 2 for candidate in candidates]


def coins(heads: list[int], count: int) -> list[int]:
    return [0 if i in heads else LAST for i in range(count)]


@pytest.fixture
def few_tries(monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "_TRIES", len(TRIED))


@pytest.mark.usefixtures("few_tries")
class TestTries:
    def test_the_first_that_is_kept_is_drawn(self) -> None:
        given = Weights.of(FORTY, HALF)
        for heads, wanted in (([2, 4], 7), ([0], 3), ([4, 5], 0), ([], 0)):  # at place 3 is 0, always a head
            stream = Scripted(tries(TRIED), coins(heads, 6))
            assert given.draw(stream) == wanted
            assert stream.finished

    def test_one_beyond_the_candidates_is_drawn_again(self) -> None:
        stream = Scripted([40 << 2, *tries(TRIED)[1:]], [63 << 2], [5 << 2], coins([0], 6))
        assert Weights.of(FORTY, HALF).draw(stream) == 5
        assert stream.finished

    def test_if_none_is_kept_all_are_weighed(self) -> None:
        ends = list(itertools.accumulate(softmax_here(FORTY)))
        for candidate in range(1, 40):
            word = whole((ends[candidate - 1] + ends[candidate]) / 2, 64)
            stream = Scripted(tries([3, 7, 7, 3, 9, 1]), coins([], 6), word)
            assert Weights.of(FORTY, HALF).draw(stream) == candidate
            assert stream.finished

    def test_each_is_flipped_once(self) -> None:
        """Of one tried twice, the first place counts; the first head wins."""
        given = Weights.of(FORTY, HALF)
        for heads, wanted in (([1, 3], 7), ([0, 4], 3), ([3], 0)):  # 3, 7, 0, 9, 1 are left, and 0 is always a head
            stream = Scripted(tries(TRIED), coins(heads, 5))
            assert given.pick(stream) == wanted
            assert stream.requests == [(6, 8), (5, 64)]

    @pytest.mark.parametrize("chunk", [CHUNK, 10])
    def test_if_none_shows_a_head_the_others_are_flipped(self, chunk: int, monkeypatch: Patch) -> None:
        """Not those tried; one of the heads is taken uniformly."""
        monkeypatch.setattr(module, "CHUNK", chunk)
        left = [i for i in range(40) if i not in (3, 7, 9, 1)]
        parts = [left[at : at + chunk] for at in range(0, len(left), chunk)]
        for place, wanted in enumerate((0, 8, 39)):
            flips = [[0 if i in (8, 39) else LAST for i in part] for part in parts]
            stream = Scripted(tries([3, 7, 7, 3, 9, 1]), coins([], 4), *flips, [3 << 6], [place << 6])
            assert Weights.of(FORTY, HALF).pick(stream) == wanted
            assert stream.requests == [(6, 8), (4, 64), *((len(part), 64) for part in parts), (1, 8), (1, 8)]


def test_four_thousand_tries() -> None:
    """As the constants stand: 5,000 candidates, 13 bits in words of 16."""
    given = Weights.of([0, *[-2] * 4999], HALF)
    tried = [4999 if i == 4095 else 1 + i % 4000 for i in range(4096)]
    stream = Scripted([candidate << 3 for candidate in tried], coins([4095], 4096))
    assert given.draw(stream) == 4999
    assert stream.requests == [(4096, 16), (4096, 64)]
    stream = Scripted([candidate << 3 for candidate in tried], coins([4000], 4001))
    assert given.pick(stream) == 4999
    assert stream.requests == [(4096, 16), (4001, 64)]


# Where the path is random.

SIX = (0, -1, -1, -3, -2, -5)


def drawn(draw: Draw, scores: Given) -> Callable[[int], NDArray[np.int64]]:
    given = Weights.of(scores, HALF)
    return lambda n: np.array([draw(given, system()) for _ in range(n)])


@pytest.mark.parametrize("most", [2, 4, 4096])
def test_draws_have_the_law(most: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "_TRIES", most)
    wrong: dict[str, Draw] = {"each is tried once": broken.one_try_each}
    if most < 6:
        wrong["the best if none was kept"] = broken.best_if_none_was_kept
    check = chi_square(lambda draws: draws, [float(p) for p in softmax(SIX, HALF)], sized(12_000, 200_000))
    check.run(drawn(Weights.draw, SIX), wrong={name: drawn(twin, SIX) for name, twin in wrong.items()})


@pytest.mark.parametrize("most", [2, 4, 4096])
def test_picks_have_the_law(most: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "_TRIES", most)
    wrong: dict[str, Draw] = {"a draw": Weights.draw}
    if most < 6:
        wrong["flipped again"] = broken.flipped_again
    check = chi_square(lambda picks: picks, [float(p) for p in first_head(SIX, HALF)], sized(12_000, 200_000))
    check.run(drawn(Weights.pick, SIX), wrong={name: drawn(twin, SIX) for name, twin in wrong.items()})


def test_the_law_among_many() -> None:
    """One candidate with half of all the weight: of 4,096 tries, none is kept four times of ten."""
    count = 10_000
    scores = np.array([0.0, *[-2 * np.log(count)] * count])
    check = share(lambda draws: draws == 0, 0.5, sized(1_200, 20_000))
    wrong = {"the best": drawn(broken.best_if_none_was_kept, scores), "once": drawn(broken.one_try_each, scores)}
    check.run(drawn(Weights.draw, scores), wrong=wrong)


def test_the_words_are_overwritten() -> None:
    for scores in ([0, -1, -2], [0, *[-2] * 4999], [0, *[-2000] * 4999]):
        for draw in (Weights.draw, Weights.pick):
            stream = Watched()
            draw(Weights.of(scores, HALF), stream)
            assert not any(words.any() for words in stream.handed_out)
