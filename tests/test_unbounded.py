"""`unbounded`: what its proof uses, on tables small enough to try everything, and its error beside the sample's own."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.randomness import system
from discreet.dp.unbounded import UnboundedMedian, _block_means, _widths
from discreet.errors import InvalidParameter
from tests.broken import adaptive_noise as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.sizes import sized
from tests.smooth_truth import TRUTHS, rounded_masses, told_apart

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
GENEROUS, HUNDREDTH = F(16), F(1, 100)
RELATIONS = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=["add", "replace"])
Table = tuple[int, ...]

ENDS, DOMAIN = 100, (-100, 0, 1, 3, 7, 100)  # the ends stand for values without bound


def near(table: Table, relation: dp.Neighbours, values: tuple[int, ...] = DOMAIN) -> Iterator[Table]:
    """All neighbours, in order."""
    if relation is REPLACE:
        for i, v in itertools.product(range(len(table)), values):
            yield tuple(sorted((*table[:i], v, *table[i + 1 :])))
    else:
        yield from (tuple(sorted((*table, v))) for v in values)
        yield from (table[:i] + table[i + 1 :] for i in range(len(table)))


def median(table: Table) -> int:
    return sorted(table)[(len(table) + 1) // 2 - 1] if table else 0


def brute(table: Table, relation: dp.Neighbours, distance: int) -> int:
    """The local sensitivity at a distance, by trying every table that many steps away."""
    reached = {table}
    for _ in range(distance):
        reached |= {other for one in reached for other in near(one, relation)}
    return max(abs(median(one) - median(other)) for one in reached for other in near(one, relation))


@RELATIONS
def test_the_local_sensitivity_by_trying_everything(relation: dp.Neighbours) -> None:
    for table in itertools.combinations_with_replacement(DOMAIN[1:-1], 4 if relation is REPLACE else 5):
        middle, widths = _widths(np.array(table), relation, 3)
        assert middle == median(table)
        assert list(widths) == sorted(widths)
        for k in range(3):
            tried = brute(table, relation, k)
            assert int(widths[k]) == tried if tried < ENDS - 7 else widths[k] > 2**60


def tables(source: random.Random, relation: dp.Neighbours, count: int) -> Iterator[tuple[Table, Table]]:
    """Neighbours of several sizes: in two lumps, spread, with ties and far values."""
    for ones in range(10, 31):
        lumps = (0,) * (41 - ones) + (5000,) * ones
        yield lumps, lumps[1:] if relation is ADD else (*lumps[1:], 5000)
    for _ in range(count):
        n, spread = source.choice([1, 2, 7, 40, 41, 90]), source.choice([1, 10, 10**6, 2**55])
        table = tuple(sorted(int(source.gauss(0, 1) * spread) for _ in range(n)))
        other = list(table)
        new = source.choice([0, table[0], -(2**58), 2**58, int(source.gauss(0, 1) * spread)])
        if relation is ADD:
            other = [*other, new] if source.random() < 0.5 else other[:-1]
        else:
            other[source.randrange(n)] = new
        yield table, tuple(sorted(other))


def made(relation: dp.Neighbours, epsilon: Fraction = GENEROUS, delta: Fraction = HUNDREDTH) -> UnboundedMedian:
    return UnboundedMedian(neighbours=relation, epsilon=epsilon, delta=delta, step=1)


def state(mechanism: UnboundedMedian, table: Table) -> tuple[int, np.ndarray]:
    reach = max(2 * (mechanism.target + 1), math.ceil(61 / mechanism.noise.beta))
    return _widths(np.array(table, dtype=np.int64), mechanism.neighbours, reach)


@RELATIONS
def test_scores_move_by_at_most_one(relation: dp.Neighbours) -> None:
    mechanism = made(relation)
    for one, other in tables(random.Random(1), relation, sized(80, 3000)):
        pair = [mechanism._scores(state(mechanism, table)[1]) for table in (one, other)]
        assert max(abs(a - b) for a, b in zip(*pair, strict=True)) <= 1


def check_smooth(mechanism: UnboundedMedian, bound: Callable[[np.ndarray, int], Fraction], count: int) -> None:
    """S moves by a factor of at most exp(beta), and the median by at most either S where a proposal is stable."""
    stretch = mp.exp(real(mechanism.noise.beta))
    for one, other in tables(random.Random(2), mechanism.neighbours, count):
        (f, v), (g, w) = state(mechanism, one), state(mechanism, other)
        for proposal in (0, 3, 10, 25, 56, 60):
            s, t = bound(v, proposal), bound(w, proposal)
            assert real(s) <= stretch * real(t)
            assert real(t) <= stretch * real(s)
            if min(v[0], w[0]) <= 2**proposal:
                assert abs(f - g) <= min(s, t)


@RELATIONS
def test_the_bound_is_smooth_and_bounds(relation: dp.Neighbours) -> None:
    mechanism = made(relation)
    check_smooth(mechanism, mechanism._bound, sized(150, 3000))

    def of_another_beta(widths: np.ndarray, proposal: int) -> Fraction:
        capped = np.minimum(widths.astype(float), 2.0**proposal)
        return F(float((capped * np.exp(-2 * float(mechanism.noise.beta) * np.arange(capped.size))).max()))

    def without_distances(widths: np.ndarray, proposal: int) -> Fraction:
        return F(max(1, min(int(widths[0]), 2**proposal)))

    for wrong in (of_another_beta, without_distances):
        with pytest.raises(AssertionError):
            check_smooth(mechanism, wrong, 300)


def choice(mechanism: UnboundedMedian, widths: np.ndarray) -> list[mpf]:
    """P(i) of permute-and-flip: w_i times the integral of the product of 1 - t w_j over the others, t from 0 to 1."""
    scores = mechanism._scores(widths)
    weights = [mp.exp(real(mechanism.choice.epsilon) / 2 * (score - max(scores))) for score in scores]
    coefficients = [mpf(1)]
    for w in weights:
        coefficients = [a - w * b for a, b in zip([*coefficients, mpf(0)], [mpf(0), *coefficients], strict=True)]
    chances = []
    for w in weights:
        others = []  # the product over all, divided by 1 - t w
        for a in coefficients[:-1]:
            others.append(a + w * others[-1] if others else a)
        chances.append(w * mp.fsum(a / (power + 1) for power, a in enumerate(others)))
    assert abs(mp.fsum(chances) - 1) < mpf(10) ** -15
    return chances


@RELATIONS
@pytest.mark.parametrize("delta", [F(1, 100), F(1, 10**9)])
def test_an_unstable_proposal_is_hardly_ever_chosen(relation: dp.Neighbours, delta: Fraction) -> None:
    """one of the 61 is chosen with probability at most 61 exp(-epsilon_1 (k0 + 1 - h) / 2), which is at most delta."""
    mechanism, worst = made(relation, delta=delta), mpf(0)
    awkward = [(), (0,), (0,) * 200, (-(2**58), 2**58) * 20, tuple(range(60)), tuple(2**i for i in range(58))]
    for table in (*awkward, *(one for one, _ in tables(random.Random(3), relation, 10))):
        widths = state(mechanism, table)[1]
        chances = choice(mechanism, widths)
        worst = max(worst, mp.fsum(p for j, p in enumerate(chances[:-1]) if widths[0] > 2**j))
    assert worst <= real(delta)
    assert worst > real(delta) / 10**5  # and the tables are as awkward as that


def whole_law(mechanism: UnboundedMedian, table: Table, around: int, reach: int) -> tuple[list[mpf], mpf]:
    """P(UNSTABLE), and P(j) for every whole number around a place, with the choice summed out; and what is left out."""
    middle, widths = state(mechanism, table)
    chances = choice(mechanism, widths)
    outputs = [mpf(0)] * (2 * reach + 3)
    for proposal, chance in enumerate(chances[:-1]):
        if chance > mpf(10) ** -5:
            scale = real(mechanism.noise.scale * max(mechanism._bound(widths, proposal), F(1)))
            masses = rounded_masses(TRUTHS["polynomial-4"], mpf(middle - around), scale, reach)
            outputs = [total + chance * mass for total, mass in zip(outputs, masses, strict=True)]
    return [chances[-1], *outputs], mp.fsum(chance for chance in chances[:-1] if chance <= mpf(10) ** -5)


@RELATIONS
def test_the_whole_of_it_on_neighbours(relation: dp.Neighbours) -> None:
    """(epsilon, delta)-DP for `neighbours`, one number per unit, UNSTABLE or not: enumerated in both orders."""
    mechanism, spread = made(relation, epsilon=F(12), delta=F(1, 100)), [3 * i for i in range(70)]
    pairs = [
        (spread, [*spread[:69], 10**6]),
        (spread, [10**9, *spread[1:]]),
        ([0] * 36 + [50] * 34, [0] * 35 + [50] * 35),
        (spread[:25], [*spread[:24], 400]),
    ]
    for one, other in pairs:
        if relation is ADD:
            other = other[:-1]
        laws = [whole_law(mechanism, tuple(sorted(table)), 100, sized(30, 300)) for table in (one, other)]
        for (p, left_out), (q, _) in (laws, laws[::-1]):
            assert told_apart(p, q, real(mechanism.epsilon)) + left_out <= real(mechanism.delta)


# Blocks.


def test_block_means_are_exact() -> None:
    source = random.Random(5)
    values = np.array([source.randrange(-(2**59), 2**59) for _ in range(500)])
    labels = np.array([source.randrange(40) for _ in range(500)])
    labels[labels == 7] = 8
    means = _block_means(values, labels, 40)
    for block in range(40):
        inside = [int(v) for v, label in zip(values, labels, strict=True) if label == block]
        assert int(means[block]) == (sum(inside) // len(inside) if inside else 0)
    assert list(_block_means(values[:0], labels[:0], 3)) == [0, 0, 0]


def moved_blocks(values: list[int], other: list[int], labels_of: Callable[[list[int]], list[int]]) -> int:
    means = [_block_means(np.array(v), np.array(labels_of(v)), 5) for v in (values, other)]
    return int((means[0] != means[1]).sum())


def test_a_unit_is_in_one_block_mean() -> None:
    """Labels that do not look at the data leave one block mean to move; labels by rank do not."""
    source = random.Random(6)
    fixed = [source.randrange(5) for _ in range(60)]
    values = [source.randrange(1000) for _ in range(60)]
    for i in range(60):
        other = [*values[:i], 10**6, *values[i + 1 :]]
        assert moved_blocks(values, other, lambda v: fixed) <= 1
        assert moved_blocks(values[:i] + values[i:59], values[:59], lambda v: fixed[:59]) <= 1
    lowest = [10**6 if v == min(values) else v for v in values]
    assert moved_blocks(values, lowest, lambda v: broken.blocks_of_the_data([float(x) for x in v], 5)) > 1


def test_too_few_rows_are_unstable() -> None:
    mechanism = UnboundedMedian(neighbours=ADD, epsilon=1, delta=1e-6, step=1)
    few = [mechanism.release(np.arange(20)) for _ in range(30)]
    assert sum(a is dp.UNSTABLE for a in few) >= 29
    assert mechanism.loss == dp.Loss.approximate(epsilon=1, delta=F(1, 10**6))
    assert all(isinstance(mechanism.release([]), int | type(dp.UNSTABLE)) for _ in range(5))


def test_all_rows_equal() -> None:
    mechanism = UnboundedMedian(neighbours=REPLACE, epsilon=1, delta=1e-6, step=1)
    answers = [mechanism._release(np.full(3000, 42), system()) for _ in range(20)]
    assert sum(a is not dp.UNSTABLE and abs(a - 42) < 200 for a in answers) >= 18


class TestRefusals:
    @pytest.mark.parametrize("verb", [dp.private_median_unbounded, dp.private_mean_unbounded])
    @pytest.mark.parametrize(
        "given",
        [
            {"epsilon": 0},
            {"epsilon": math.inf},
            {"delta": 0},
            {"delta": 1},
            {"step": 0},
            {"step": Fraction(2) ** 600},
            {"neighbours": "replace"},
            {"proposal": 0},
        ],
        ids=str,
    )
    def test_parameters(self, verb: Callable[..., dp.Answer], given: dict[str, object]) -> None:
        usual = {"neighbours": REPLACE, "epsilon": 1, "delta": 1e-6, "step": 1}
        with pytest.raises(InvalidParameter):
            verb(np.arange(20_000), **usual | given)

    @pytest.mark.parametrize("data", [[math.nan], [math.inf], ["a"], [None], [True]])
    def test_data(self, data: list[object]) -> None:
        with pytest.raises(InvalidParameter):
            dp.private_median_unbounded(data, neighbours=ADD, epsilon=1, delta=1e-6, step=1)  # type: ignore[arg-type]

    def test_blocks_without_units(self) -> None:
        with pytest.raises(InvalidParameter, match="fewer blocks"):
            dp.private_mean_unbounded(range(100), neighbours=REPLACE, epsilon=1, delta=1e-6, step=1, blocks=50)  # type: ignore[arg-type]
        for blocks in (0, -1, 1.5, True):
            with pytest.raises(InvalidParameter):
                dp.private_mean_unbounded([1.0], neighbours=ADD, epsilon=1, delta=1e-6, step=1, blocks=blocks)  # type: ignore[arg-type]
