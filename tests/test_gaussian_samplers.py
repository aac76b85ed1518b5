"""The rejection behind large Gaussians: every decision is the right one, and what is accepted has the stated law."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp import gaussian_samplers
from discreet.dp.gaussian_samplers import (
    GREATEST_SIGMA,
    LEAST_SIGMA,
    GaussianSampler,
    Sums,
    _Cells,
    _exp_minus,
    _low_bits,
)
from discreet.dp.randomness import Words, system
from discreet.dp.reals import precision
from discreet.errors import InvalidParameter
from tests.closed_forms import mp, mpf
from tests.noise_laws import DIGITS, discrete_mass, real, rounded_mass
from tests.scripted import APART, Scripted, Watched, rare_table, rare_word
from tests.test_inversion import MIDDLE

F = Fraction
LAWS = ["rounded", "discrete"]
COIN, PLACE = 48, 32  # bits of the coin and of the place inside half a unit, before more are drawn


def cells_of(sigma: Fraction, law: str) -> _Cells:
    cells = GaussianSampler(sigma, law)._cells  # type: ignore[arg-type]
    assert cells is not None
    return cells


def chance(cells: _Cells, cell: int, halves: int, fraction: mpf) -> mpf:
    """exp(-((b + p)^2 - b^2) / 2 s^2), p the place in the cell in which half units and a fraction of one lie."""
    if cells._law == "discrete":
        halves, fraction = halves // 2 * 2, mpf(0)
    place = (halves + fraction) / mpf(2) ** (cells._digits + 1)
    return mp.exp(-place * (2 * cell + place) / (2 * real(cells._sigma) ** 2))


def decisions(cells: _Cells, cell: int, halves: int, fraction: int, coin: int, then: list[int]) -> list[bool]:
    """What the scalar path and the vector path decide, from the same bits."""
    one = cells._decide_one(Scripted(then=itertools.cycle(then)), cell, halves, fraction, coin)
    stream = Scripted([fraction], [coin & (2**32 - 1)], then=itertools.cycle(then))
    coins = np.array([coin >> 32], dtype=np.uint16)
    place = np.array([halves], dtype=np.int64)
    return [one, bool(cells._decide(stream, np.array([cell], dtype=np.int64), place, coins)[0])]


def check_decisions(cells: _Cells, places: list[tuple[int, int, int]]) -> None:
    """Near and far from the boundary, a coin is accepted exactly when it lies below exp(-x)."""
    with mp.workdps(DIGITS):
        for cell, halves, fraction in places:
            bar = int(mp.floor(chance(cells, cell, halves, (fraction + mpf(1) / 2) / mpf(2) ** PLACE) * 2**COIN))
            for step in (-(2**40), -(2**22), -(2**12), -40, 40, 2**12, 2**22, 2**40):
                if 0 <= (coin := bar + step) < 2**COIN:
                    assert decisions(cells, cell, halves, fraction, coin, [MIDDLE]) == [step < 0] * 2


def check_undecided(cells: _Cells, places: list[tuple[int, int, int]]) -> None:
    """A coin that ties with exp(-x) is continued until it does not; the place too, where it is not an integer's."""
    with mp.workdps(DIGITS):
        for cell, halves, fraction in places:
            where = (fraction + mpf(MIDDLE) / 2**64) / mpf(2) ** PLACE
            whole = int(mp.floor(chance(cells, cell, halves, where) * mpf(2) ** (COIN + 64)))
            for step, wanted in ((-(2**50), True), (2**50, False)):  # beyond what the rest of the place can do
                coin, rest = divmod(whole + step, 2**64)
                if coin < 2**COIN:
                    assert decisions(cells, cell, halves, fraction, coin, [rest, MIDDLE, 5, 5]) == [wanted] * 2


def some_places(cells: _Cells) -> list[tuple[int, int, int]]:
    most = (2 << cells._digits) - 1
    edges = [0, 1, 2, 3, most // 2, most - 1, most]
    return [(b, h, f) for b in (0, 1, 31, 200, 500) for h in edges for f in (0, 1, 2**31, 2**32 - 1) if b or h > 1]


class TestDecisions:
    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("sigma", [F(641, 10), F(128), F(10**6), F(2**52)])
    def test_near_the_boundary(self, law: str, sigma: Fraction) -> None:
        cells = cells_of(sigma, law)
        check_decisions(cells, some_places(cells)[::5])

    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("sigma", [F(641, 10), F(10**6)])
    def test_ties_draw_more_bits(self, law: str, sigma: Fraction) -> None:
        cells = cells_of(sigma, law)
        check_undecided(cells, some_places(cells)[::3])

    @pytest.mark.parametrize("law", LAWS)
    def test_cells_that_floats_do_not_reach(self, law: str) -> None:
        cells = cells_of(F(10**9), law)
        far = [(2**14 - 1, 9, 0), (2**14, 9, 0), (2**20, 9, 0), (2**30, 5, 7), (2**40, 3, 0), (2**60, 2, 1)]
        check_decisions(cells, far)

    def test_far_out_a_small_place_moves_the_chance_by_more_than_the_margin(self) -> None:
        cells = cells_of(F(641, 10), "rounded")
        check_undecided(cells, [(b, 0, f) for b in (2**14 - 1, 2**14, 2**16, 2**19, 2**20 - 1) for f in (1, 2**22)])

    @pytest.mark.parametrize("law", LAWS)
    def test_floats_without_a_margin_are_rejected(self, law: str) -> None:
        cells = cells_of(F(10**6), law)
        with pytest.raises(AssertionError):
            check_undecided(Hasty(cells), some_places(cells)[::3])
        with pytest.raises(AssertionError):
            check_decisions(Clamped(cells_of(F(10**9), law)), [(2**30, 5, 7), (2**40, 3, 0)])

    def test_the_certain_coins_accept_anywhere_in_their_cell(self) -> None:
        for sigma in (F(641, 20), F(64)):
            for b, bar in enumerate(gaussian_samplers._sure_bounds(sigma)[:-1]):
                least = mp.exp(-(2 * b + 1) / (2 * real(sigma) ** 2)) * 2**16
                assert int(bar) <= least < int(bar) + 1
            assert gaussian_samplers._sure_bounds(sigma)[-1] == 0

    def test_the_exponential_in_floats(self) -> None:
        """Within 2^-45 for x in [0, 1/2], which the slack of 2^-28 covers many times over."""
        points = np.concatenate([np.linspace(0, 0.5, 2001), [2.0**-60, 0.5 - 2.0**-53]])
        errors = [abs(mpf(float(y)) - mp.exp(-mpf(float(x)))) for x, y in zip(points, _exp_minus(points), strict=True)]
        assert max(errors) < mpf(2) ** -45


class Hasty(_Cells):
    """Floats decide, without a margin."""

    def __init__(self, right: _Cells) -> None:
        self.__dict__.update(right.__dict__)

    def _decide_one(self, stream: Scripted, cell: int, halves: int, fraction: int, coin: int) -> bool:  # type: ignore[override]
        return coin * 2.0**-COIN < float(chance(self, cell, halves, mpf(fraction) / 2**PLACE))


class Clamped(_Cells):
    """A far cell is taken for the 2^20th."""

    def __init__(self, right: _Cells) -> None:
        self.__dict__.update(right.__dict__)

    def _decide(
        self, stream: Scripted, cell: NDArray[np.int64], halves: NDArray[np.int64], coins: Words
    ) -> NDArray[np.bool_]:  # type: ignore[override]
        return super()._decide(stream, np.minimum(cell, 2**20 - 1), halves, coins)


class TestProposals:
    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("sigma", [F(65), F(100), F(300)])
    def test_what_is_accepted_has_the_law(self, law: str, sigma: Fraction) -> None:
        """The law is exact for every rational sigma in [LEAST_SIGMA[law], GREATEST_SIGMA]."""
        cells = cells_of(sigma, law)
        weights: dict[int, mpf] = {}
        for cell, halves in itertools.product(range(16), range(2 << cells._digits)):
            weight = mp.exp(-(mpf(cell) ** 2) / (2 * real(cells._sigma) ** 2)) * accepted(cells, cell, halves)
            magnitude = drawn_from(cells, cell, halves)
            weights[magnitude] = weights.get(magnitude, 0) + weight
        mass = rounded_mass if law == "rounded" else discrete_mass
        complete = [k for k in weights if k < 15 << cells._digits]
        unit = weights[1] / mass(sigma, 1)
        for k in complete:
            both = weights[k] * (1 if k or law == "discrete" else 2)  # 0 has both signs, or only one
            assert abs(both / (mass(sigma, k) * unit) - 1) < mpf(10) ** -40

    @pytest.mark.parametrize("law", LAWS)
    def test_signs_and_places_are_put_together(self, law: str) -> None:
        cells = cells_of(F(300), law)  # 3 digits
        floors = [0, *cells._table._floors]
        for label, halves in itertools.product(range(8), range(16)):
            word = (floors[label] + floors[label + 1]) // 2
            size = drawn_from(cells, label // 2, halves)
            minus = label % 2 == 1
            stream = Scripted([word], [halves], [0], then=itertools.repeat(0))  # the coin accepts
            drawn, ok = cells._propose(stream, 1)
            assert bool(ok[0]) == (law == "rounded" or not (minus and size == 0))
            assert drawn.tolist() == [-size if minus else size]

    @pytest.mark.parametrize("law", LAWS)
    def test_what_is_rejected_is_drawn_again(self, law: str) -> None:
        cells = cells_of(F(300), law)
        floors, high = [0, *cells._table._floors], 2**16 - 1
        words = [(floors[i] + floors[i + 1]) // 2 for i in (40, 2, 40)]
        rejected = [[high] * 3, [2**32 - 1] * 3, [2**32 - 1] * 3]
        again = [words[:1] + words[1:2] * 2, [6] * 3, [0] * 3]
        drawn = cells.draw(Scripted(words, [15] * 3, *rejected, *again), 3)
        assert drawn.tolist() == [20 * 8 + 3, 8 + 3, 8 + 3]

    @pytest.mark.parametrize("law", LAWS)
    def test_rare_values_do_not_wrap(self, law: str) -> None:
        cells = cells_of(F(2**52), law)  # 46 digits
        cells._table = rare_table()
        labels = [1, 2, 4, 6]
        stream = Scripted([rare_word(i) for i in labels], [2**11] * 4, [0] * 4, then=itertools.repeat(0))
        assert cells.draw(stream, 4).tolist() == [(APART * i << 46) + (2**10 >> 1) for i in labels]

    @pytest.mark.parametrize("bits", [2, 15, 16, 17, 32, 33, 47])
    def test_low_bits_are_the_bits_of_a_word(self, bits: int) -> None:
        width = next(w for w in (16, 32, 64) if w >= bits)
        words = [0, 1, 2, 3, 2 ** (width - 1), 2**width - 1, 0xDEADBEEF1234567 % 2**width]
        shift = 1 if width == 64 else 0
        assert _low_bits(Scripted(words), len(words), bits).tolist() == [(w >> shift) % 2**bits for w in words]

    def test_the_words_are_overwritten(self) -> None:
        for sigma, law in itertools.product((F(10), F(10**6)), LAWS):
            stream = Watched()
            GaussianSampler(sigma, law).draw(stream, 3000)  # type: ignore[arg-type]
            assert stream.handed_out
            assert not any(words.any() for words in stream.handed_out)


def drawn_from(cells: _Cells, cell: int, halves: int) -> int:
    """The magnitude of a place: the nearest integer above or below it, or the integer that it is."""
    place = F(halves, 2) + (F(1, 4) if cells._law == "rounded" else 0)
    return (cell << cells._digits) + (round(place) if cells._law == "rounded" else int(place))


def accepted(cells: _Cells, cell: int, halves: int) -> mpf:
    """The probability of being accepted, given the half unit: an integral over its fraction for the rounded law."""
    if cells._law == "discrete":
        return chance(cells, cell, halves, mpf(0))
    s, unit = real(cells._sigma), mpf(2) ** (cells._digits + 1)
    low, high = (mp.ncdf(-(cell + (halves + d) / unit) / s) for d in (0, 1))
    return (low - high) * s * mp.sqrt(2 * mp.pi) * mp.exp(mpf(cell) ** 2 / (2 * s**2)) * unit


class TestSums:
    @pytest.mark.parametrize("sigma", [F(1, 9), F(1), F(10), F(64)])
    def test_sums_are_certified(self, sigma: Fraction) -> None:
        with mp.workdps(60):
            terms = [mp.exp(-(mpf(b) ** 2) / (2 * real(sigma) ** 2)) for b in range(2000)]
            with precision(128):
                parts, sums, whole = Sums(sigma).upto(20)
                for ball, wanted in ((parts[20], terms[20]), (sums[20], mp.fsum(terms[:21])), (whole, mp.fsum(terms))):
                    low, high = (
                        mpf(int(m)) * mpf(2) ** int(e) for m, e in (ball.lower().man_exp(), ball.upper().man_exp())
                    )
                    assert low * (1 - mpf(10) ** -55) <= wanted <= high * (1 + mpf(10) ** -55)
                    assert high - low < wanted * mpf(2) ** -100

    def test_a_sum_that_would_never_end_is_refused(self) -> None:
        with precision(128), pytest.raises(InvalidParameter):
            Sums(F(10**9)).upto(1)


@pytest.mark.parametrize("law", LAWS)
def test_scales_that_cannot_be_drawn_are_refused(law: str) -> None:
    least = LEAST_SIGMA[law]  # type: ignore[index]
    for sigma in (F(0), F(-1), least - F(1, 1000), GREATEST_SIGMA + 1, F(10) ** 400):
        with pytest.raises(InvalidParameter):
            GaussianSampler(sigma, law)  # type: ignore[arg-type]
    for sigma in (least, GREATEST_SIGMA):
        GaussianSampler(sigma, law).draw(system(), 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", LAWS)
def test_the_least_noise_is_noise(law: str) -> None:
    mass = rounded_mass if law == "rounded" else discrete_mass
    assert 2 * mass(LEAST_SIGMA[law], 1) > mpf(2) ** -64  # type: ignore[index]
