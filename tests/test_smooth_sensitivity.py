"""`smooth_sensitivity`: the greatest exp(-beta k) LS^(k), against 256 bits and against all neighbours."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from discreet import dp
from discreet.dp import Neighbours
from discreet.errors import InvalidParameter
from tests.broken import sensitivities as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.sensitivities import STATISTICS, TOP, Table, Truth, call, check_smooth, every, smooth
from tests.sizes import sized

F = Fraction
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
BOTH = pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
ROWS = sized(3, 5)
BETAS = (F(1, 50), F(3, 10), F(2))
SLACK = F(1, 2**33)


@cache
def ours(name: str, table: Table, relation: Neighbours, beta: Fraction) -> Fraction:
    function, arguments = call(name)
    return getattr(dp.smooth_sensitivity, function)(
        list(table), lower=0, upper=TOP, step=1, beta=beta, neighbours=relation, **arguments
    )


def local(name: str, data: object, relation: Neighbours, upper: int) -> dp.local_sensitivity.LocalSensitivity:
    function, arguments = call(name)
    return getattr(dp.local_sensitivity, function)(data, lower=0, upper=upper, step=1, neighbours=relation, **arguments)


@BOTH
@pytest.mark.parametrize("name", STATISTICS)
def test_on_every_table_of_a_small_domain(name: str, relation: Neighbours) -> None:
    """between neighbours the statistic moves by at most the smaller of the two bounds, and the bound by a factor of at
    most exp(beta).
    """
    known = Truth.of(STATISTICS[name], relation, ROWS)
    for beta in BETAS:
        check_smooth(partial(ours, name, relation=relation, beta=beta), known, beta)
        for table in every(ROWS):
            assert ours(name, table, relation=relation, beta=beta).value == STATISTICS[name](table)  # type: ignore[attr-defined]


@mp.workprec(256)
def check_greatest(name: str, data: np.ndarray, relation: Neighbours, beta: Fraction, top: int) -> None:
    """S(beta) <= ours <= (1 + 2^-34) S(beta - 2^-33), both by trying every k."""
    function, arguments = call(name)
    found = getattr(dp.smooth_sensitivity, function)(
        data, lower=0, upper=top, step=1, beta=beta, neighbours=relation, **arguments
    )
    each = local(name, data, relation, top)
    kept = {k: each.at_distance(k) for k in range(data.size + 2)}
    least, most = (smooth(lambda _, k: kept[k], (0,) * (data.size - 1), b) for b in (beta, beta - SLACK))
    assert least <= real(Fraction(found)) <= most * (1 + mpf(2) ** -34), (name, data)


@BOTH
@pytest.mark.parametrize("name", STATISTICS)
def test_it_is_the_greatest_over_every_distance(name: str, relation: Neighbours) -> None:
    source = np.random.default_rng(3)
    shapes = [
        lambda n: source.integers(0, 10**6, n),
        lambda n: np.clip(source.normal(4e5, 2e4, n), 0, 10**6).astype(np.int64),
        lambda n: np.repeat(source.integers(0, 10**6, 1 + n // 7), 7)[:n],
        lambda n: np.clip((1.3 ** np.arange(n)).astype(np.float64), 0, 10**6).astype(np.int64),  # every k ties, almost
    ]
    for shape in shapes:
        for n in (1, 2, 7, sized(40, 300)):
            for beta in (F(1, 2**20), F(1, 200), F(1, 4), F(3)):
                check_greatest(name, shape(n), relation, beta, 10**6)


@BOTH
@pytest.mark.parametrize("name", ["median", "quantile 1/4", "quantile 9/10", "trimmed_mean 1/10"])
def test_many_rows_are_searched_as_few_are(name: str, relation: Neighbours) -> None:
    """More rectangles than are halved, and ties along a diagonal: evenly spaced rows."""
    n = sized(1500, 20_000)
    check_greatest(name, np.arange(n) * 50, relation, F(1, 100), 50 * n)


class TestBrokenTwins:
    beta = F(3, 10)

    def reject(self, bound: object, relation: Neighbours, name: str = "median") -> None:
        with pytest.raises(AssertionError):
            check_smooth(bound, Truth.of(STATISTICS[name], relation, ROWS + 1), self.beta)  # type: ignore[arg-type]

    def test_the_local_sensitivity_itself(self) -> None:
        self.reject(broken.local(broken.of_add_remove), ADD_REMOVE)
        self.reject(broken.local(broken.of_replace(F(1, 2))), REPLACE)

    def test_one_weight_too_many(self) -> None:
        self.reject(broken.one_weight_too_many(broken.of_add_remove, self.beta), ADD_REMOVE)

    def test_the_formula_of_the_other_relation(self) -> None:
        def bound(table: Table) -> Fraction:
            return max(F(1), F(float(broken.greatest(broken.of_add_remove, table, self.beta)) * (1 + 1e-9)))

        check_smooth(bound, Truth.of(STATISTICS["median"], ADD_REMOVE, ROWS + 1), self.beta + F(1, 10**8))
        self.reject(bound, REPLACE)

    def test_rounded_to_nearest(self) -> None:
        self.reject(broken.to_nearest(broken.of_add_remove, self.beta), ADD_REMOVE)

    def test_a_scale_that_underflows(self) -> None:
        self.reject(broken.underflow(broken.of_replace(F(1, 2)), F(3)), REPLACE)


def test_it_prints_nothing_and_is_a_number() -> None:
    found = dp.smooth_sensitivity.median([31, 33, 47], lower=0, upper=100, beta="0.1", neighbours=REPLACE)
    shown = "SmoothBound(beta=Fraction(1, 10), neighbours=Neighbours.REPLACE)"
    assert {repr(found), str(found), f"{found:.3f}", f"{found}"} == {shown}
    assert found == Fraction(found)
    assert found.value == 33
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private"):
            store(found)


def test_it_fits_the_noise() -> None:
    found = dp.smooth_sensitivity.median([31.0, 33, 47], lower=0, upper=100, beta="0.1", neighbours=REPLACE)
    noise = dp.SmoothNoise(neighbours=REPLACE, epsilon=1, beta="0.1", step="0.001")
    assert isinstance(noise.release(found.value, found), float)
    assert repr(found.exact(unit="row")) == "SmoothExact(unit='row')"


@pytest.mark.parametrize("beta", [0, -1, float("nan"), float("inf"), 1e-9, 17, True, None])
def test_a_beta_that_means_nothing_is_refused(beta: object) -> None:
    with pytest.raises(InvalidParameter, match="beta"):
        dp.smooth_sensitivity.median([1], lower=0, upper=1, beta=beta, neighbours=REPLACE)  # type: ignore[arg-type]
