"""Inversion draws the stated law exactly: proved by feeding it every 16-bit word and every tie, not by sampling."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp import RandomizedResponse
from discreet.dp.gaussian_samplers import GaussianSampler
from discreet.dp.inversion import Inversion
from discreet.dp.randomized_response import _honest_coin
from discreet.dp.samplers import DiscreteLaplace, _coin
from tests.broken import noise
from tests.closed_forms import mp
from tests.noise_laws import (
    Steps,
    cell_steps,
    coin_steps,
    discrete_steps,
    geometric_digits,
    laplace_top,
    real,
    rounded_steps,
)
from tests.scripted import APART, Scripted, Watched, rare_table, rare_word

WORDS = 1 << 16
LOW = 48
MIDDLE = 1 << 63
LAST = (1 << 64) - 1
OPEN = -(2**15)

Tables = tuple[Inversion, Steps]


def laplace_tables(scale: Fraction, block: int | None = None) -> Tables:
    sampler = DiscreteLaplace(scale)
    if block is None:
        return sampler._top, laplace_top(scale, 1 << sampler._digits)
    shift, table = sampler._blocks[block]
    return table, geometric_digits(scale / 2**shift, len(table._labels))


def gaussian_tables(sigma: Fraction, law: str) -> Tables:
    sampler = GaussianSampler(sigma, law)  # type: ignore[arg-type]
    if sampler._cells is not None:
        return sampler._cells._table, cell_steps(sampler._cells._sigma)
    return sampler._direct, rounded_steps(sigma) if law == "rounded" else discrete_steps(sigma)


def response_tables(epsilon: Fraction, choices: int) -> Tables:
    response = RandomizedResponse(epsilon=epsilon, choices=choices)
    lie = lambda: 1 - 1 / (1 + (choices - 1) * mp.exp(-real(epsilon)))  # noqa: E731
    return _honest_coin(response), coin_steps(lie, labels=(0, 1))


def exp_tables(exponent: Fraction) -> Tables:
    return _coin(exponent), coin_steps(lambda: mp.exp(-real(exponent)), labels=(1, 0))


F = Fraction
TABLES: dict[str, Callable[[], Tables]] = {
    **{f"laplace-{t}": lambda t=t: laplace_tables(t) for t in (F(1, 45), F(1, 2), F(1), F(47, 3), F(10**10))},
    "laplace-20": lambda: laplace_tables(F(20)),
    "digits-20": lambda: laplace_tables(F(20), 0),
    "digits-5000-low": lambda: laplace_tables(F(5000), 0),
    "digits-5000-high": lambda: laplace_tables(F(5000), 1),
    "digits-greatest": lambda: laplace_tables(F(2**52), 5),
    **{
        f"{law}-{s}": lambda s=s, law=law: gaussian_tables(s, law)
        for law in ("rounded", "discrete")
        for s in (F(3, 10), F(65025, 100000), F(1), F(10), F(639, 10))
    },
    "rounded-least": lambda: gaussian_tables(F(1, 18), "rounded"),
    "discrete-least": lambda: gaussian_tables(F(1, 9), "discrete"),
    "cells-64.1": lambda: gaussian_tables(F(641, 10), "rounded"),
    "cells-1e6": lambda: gaussian_tables(F(10**6), "discrete"),
    "response": lambda: response_tables(F(11, 10), 2),
    "response-of-7": lambda: response_tables(F(1, 1000), 7),
    "response-nearly-honest": lambda: response_tables(F(44), 2),
    **{f"exp-{x}": lambda x=x: exp_tables(x) for x in (F(1, 10**30), F(1, 3), F(5), F(100))},
}


@cache
def tables(name: str) -> Tables:
    return TABLES[name]()


def check_boundaries(table: Inversion, law: Steps) -> None:
    """Every stored boundary is the floor of 2^64 times the cumulative probability, and labels stand in order."""
    count = len(table._floors)
    assert table._floors == law.floors(count)
    assert list(table._labels) == [law.label(i) for i in range(count + 1)]
    assert law.outcomes is None or count == law.outcomes - 1


def outcomes(law: Steps, floors: NDArray[np.uint64], words: NDArray[np.uint64]) -> list[int]:
    """The labels of the reals (word + 1/2) / 2^64; only ties and what lies above all floors need many digits."""
    below, at_most = floors.searchsorted(words, "left"), floors.searchsorted(words, "right")
    found = [law.label(int(i)) for i in below]
    unsure = (below < at_most) | ((below == floors.size) & (law.outcomes is None))
    for place in np.flatnonzero(unsure):
        found[place] = law.label(law.hit(int(words[place]) << 64 | MIDDLE, 128))
    return found


def check_every_word(table: Inversion, law: Steps) -> None:
    """All 65,536 first words, each continued by zeros and by ones, give the outcome that contains the real number."""
    floors = np.array(law.floors(len(table._floors)), dtype=np.uint64)
    cells = np.arange(WORDS, dtype=np.uint64) << np.uint64(LOW)
    for rest in (0, (1 << LOW) - 1):
        stream = Scripted(np.arange(WORDS), rest << 16, then=itertools.repeat(MIDDLE))
        assert table.draw(stream, WORDS).tolist() == outcomes(law, floors, cells | np.uint64(rest))


def both_ways(table: Inversion, words: list[int]) -> list[int]:
    """The outcome of a uniform real of these 64-bit words: a short vector, and the middle of a long one."""

    def later() -> Iterator[int]:
        return itertools.chain(words[1:], itertools.repeat(MIDDLE))

    few = table.draw(Scripted(words[0], then=later()), 1)
    first, rest = words[0] >> LOW, (words[0] & ((1 << LOW) - 1)) << 16
    long = np.full(256, int(np.flatnonzero(table._look_up() != OPEN)[0]))  # words that need no others
    long[77] = first
    many = table.draw(Scripted(long, rest, then=later()), 256)
    return [int(few[0]), int(many[77])]


def check_ties(table: Inversion, law: Steps, *, at_most: int = 40) -> None:
    """A word equal to a boundary's is settled by the next words, in both ways of drawing."""
    for i in range(0, len(table._floors), 1 + len(table._floors) // at_most):
        whole = law.digits(i, 192)
        for bits, step in itertools.product((128, 192), (-1, 1)):
            number = (whole >> (192 - bits)) + step
            words = [number >> shift & LAST for shift in range(bits - 64, -1, -64)]
            if words[0] == whole >> 128:
                wanted = law.label(law.hit(2 * number + 1, bits + 1))
                assert both_ways(table, words) == [wanted] * 2


def check_neighbours_of_boundaries(table: Inversion, law: Steps) -> None:
    """The words just below and just above every boundary fall on either side of it."""
    for i, floor in enumerate(law.floors(len(table._floors))):
        if floor > 0 and (i == 0 or law.digits(i - 1, 64) < floor - 1):
            assert both_ways(table, [floor - 1]) == [law.label(i)] * 2
        if floor < LAST and (i == len(table._floors) - 1 or law.digits(i + 1, 64) > floor + 1):
            found = law.label(law.hit((floor + 1) << 64 | MIDDLE, 128))
            assert both_ways(table, [floor + 1]) == [found] * 2


def check_beyond(table: Inversion, law: Steps) -> None:
    """Outcomes above all that are stored are found one by one, from as many words as they need."""
    for i in range(len(table._floors), len(table._floors) + 5):
        middle = (law.digits(i - 1, 320) + law.digits(i, 320)) // 2
        words = [middle >> shift & LAST for shift in range(256, -1, -64)]
        assert both_ways(table, words) == [law.label(i)] * 2


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_that_of_the_law(name: str) -> None:
    """`draw` returns `label(i)` with probability cumulative(i) - cumulative(i - 1), exactly."""
    check_boundaries(*tables(name))


@pytest.mark.parametrize("name", TABLES)
def test_every_first_word_falls_where_it_belongs(name: str) -> None:
    check_every_word(*tables(name))


@pytest.mark.parametrize("name", TABLES)
def test_ties_are_settled_by_more_bits(name: str) -> None:
    check_ties(*tables(name))


@pytest.mark.parametrize("name", [name for name in TABLES if "digits" not in name])
def test_words_beside_a_boundary_fall_on_their_side(name: str) -> None:
    check_neighbours_of_boundaries(*tables(name))


@pytest.mark.parametrize("name", [name for name, make in TABLES.items() if name.startswith(("laplace", "cells"))])
def test_outcomes_beyond_the_table_are_reached(name: str) -> None:
    check_beyond(*tables(name))


@pytest.mark.parametrize("name", ["rounded-1", "discrete-1", "rounded-10", "discrete-10"])
def test_outcomes_beyond_the_table_are_reached_by_gaussians(name: str) -> None:
    check_beyond(*tables(name))


@pytest.mark.parametrize(
    ("twin", "check"),
    [
        (noise.FloatBoundaries, check_boundaries),
        (noise.LateBits, check_boundaries),
        (noise.FloatBoundaries, check_neighbours_of_boundaries),
        (noise.LateBits, check_ties),
        (noise.SixteenBits, check_every_word),
        (noise.TiesGoDown, check_ties),
        (noise.TiesGoDown, check_beyond),
    ],
)
def test_broken_tables_are_rejected(twin: Callable[[Inversion], Inversion], check: Callable[..., None]) -> None:
    table, law = tables("laplace-1")
    check(table, law)
    with pytest.raises(AssertionError):
        check(twin(table), law)


def check_wide_labels(table: Inversion) -> None:
    """Labels beyond 16 bits, met in any way of drawing, come out as they are."""
    wanted = [APART * i for i in (0, 1, 2, 3, 6, 7, 12, 30)]
    words = [rare_word(label // APART) for label in wanted]
    assert table.draw(Scripted(words, then=itertools.repeat(MIDDLE)), len(words)).tolist() == wanted
    long = [w >> LOW for w in words] + [0] * 300
    rest = [(w & ((1 << LOW) - 1)) << 16 for w in words if table._look_up()[w >> LOW] == OPEN]
    drawn = table.draw(Scripted(long, rest, then=itertools.repeat(MIDDLE)), len(long))
    assert drawn.dtype == object
    assert drawn.tolist() == wanted + [0] * 300


def test_labels_of_any_size_survive() -> None:
    check_wide_labels(rare_table())
    with pytest.raises((AssertionError, OverflowError)):
        check_wide_labels(noise.NarrowLabels(rare_table()))


def test_an_empty_draw_asks_for_nothing() -> None:
    stream = Scripted([])
    assert tables("laplace-1")[0].draw(stream, 0).size == 0


def test_the_words_are_overwritten() -> None:
    for name, count in (("laplace-1", 200), ("laplace-1", 5000), ("cells-64.1", 5000)):
        stream = Watched()
        tables(name)[0].draw(stream, count)
        assert stream.handed_out
        assert not any(words.any() for words in stream.handed_out)
