"""The gap of a hit: its law given a hit, by enumeration; its bias; intervals and combined estimates that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.gap_estimate import Measurement, _likeliest, not_rejected
from discreet.errors import InvalidParameter
from tests.closed_forms import mp
from tests.noise_laws import laplace_mass, rounded_mass
from tests.sizes import sized
from tests.statistics import chi_square
from tests.streams import Scales

F = Fraction
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
SCALES = [(F(2), F(8)), (F(3), F(3)), (F(1, 2), F(5)), (F(9), F(2))]


def law_of(scales: tuple[Fraction, Fraction]) -> dp.GapLaw:
    return dp.GapLaw(threshold_scale=scales[0], query_scale=scales[1])


def gap(margin: int, scales: tuple[Fraction, Fraction] = SCALES[0], level: int = 100) -> dp.Gap:
    return dp.Gap(margin=margin, level=level, law=law_of(scales), step=F(1))


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("excess", [-30, -1, 0, 7])
def test_the_law_given_a_hit_is_that_of_the_stream(scales: tuple[Fraction, Fraction], excess: int) -> None:
    """With W = nu - rho, P(G = g | hit) = P(W = g - excess) / P(W >= -excess), g >= 0: by summing over rho."""
    hit = Scales(*scales).chance((excess,), (True,), 0)[0]
    for margin in (0, 1, 5, 60):
        exact = Scales(*scales, gap=True).chance((excess,), (margin,), 0)[0] / hit
        found = gap(margin, scales).likelihood(100 + excess)
        assert abs(found / float(exact) - 1) < 1e-9
    edges, chances = law_of(scales).cells(excess)
    assert abs(chances.sum() - 1) < 1e-9
    above = np.exp(law_of(scales).log_at_least(edges, np.array(excess)))
    assert np.allclose(above, chances[::-1].cumsum()[::-1], rtol=1e-9, atol=0)


def test_the_bias_is_that_of_the_continuous_law_too() -> None:
    """Lap(2) and Lap(8): +28 at f - T = -20, +8.4 at 0, +3.2 at 10, +0.5 at 30; on integers up to 0.5 less."""

    def density(w: mp.mpf) -> mp.mpf:  # of Lap(8) - Lap(2)
        n = abs(w)
        return (8 * mp.exp(-n / 8) - 2 * mp.exp(-n / 2)) / (2 * (64 - 4))

    def continuous(excess: int) -> float:
        cuts = sorted({mp.mpf(-excess), *(mp.mpf(c) for c in (0, 50, 200, 800) if c > -excess)})
        total = mp.quad(density, cuts)
        return float(mp.quad(lambda w: w * density(w), cuts) / total)

    found = [continuous(excess) for excess in (-20, 0, 10, 30)]
    assert [round(bias) for bias in found[:1]] == [28]
    assert [round(bias, 1) for bias in found[1:]] == [8.4, 3.2, 0.5]
    ours = [law_of(SCALES[0]).bias(excess) for excess in (-20, 0, 10, 30)]
    assert all(0 <= closed - bias <= 0.5 for closed, bias in zip(found, ours, strict=True))


def test_what_was_answered_before_a_hit_may_tell_of_its_gap() -> None:
    """What its law does not cover, and on which side: rho is higher after near misses, lower after a false alarm."""

    def chance_of_large(before: tuple[int, ...], answers: tuple[object, ...]) -> float:
        values, law = (*before, 0), Scales(*SCALES[0], gap=True)
        found = [law.chance(values, (*answers, g), 0)[0] for g in range(400)]
        return float(mp.fsum(found[8:]) / mp.fsum(found))

    alone = float(np.exp(law_of(SCALES[0]).log_at_least(np.array(8), np.array(0))))
    assert abs(chance_of_large((), ()) - alone) < 1e-9
    assert abs(chance_of_large((-150,) * 1000, (False,) * 1000) - alone) < 1e-4  # misses that were certain tell nothing
    assert chance_of_large((0,) * 30, (False,) * 30) < alone - 0.02
    assert chance_of_large((-40,), (3,)) > alone + 0.02


def test_gaps_that_are_told_have_the_law_and_the_bias() -> None:
    """Of the watch itself, asked one value until it hits."""
    watch = dp.SparseVector(threshold=0, cutoff=1, sensitivity=ONE, epsilon=1, gap=True)
    law, n, excess = watch.gap_law, sized(6_000, 100_000), 2

    def told(value: int) -> np.ndarray:
        found = []
        while len(found) < n:
            answer = dp.SparseVector(threshold=0, cutoff=1, sensitivity=ONE, epsilon=1, gap=True).ask(value)
            if answer:
                assert isinstance(answer, dp.Gap)
                found.append(answer.margin)
        return np.array(found)

    above = np.exp(law.log_at_least(np.array([0, 1, 3, 6, 10]), np.array(excess)))
    chances = (above - np.append(above[1:], 0)).tolist()
    check = chi_square(lambda draws: np.searchsorted([1, 3, 6, 10], draws, "right"), chances, n)
    draws = told(excess)
    check.run(lambda n: draws, wrong={"another value": lambda n: told(excess + 2), "shifted": lambda n: draws + 1})
    mean, variance = law.moments(excess)
    assert abs(draws.mean() - mean) < 6 * math.sqrt(variance / n)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_the_interval_of_a_gap_covers(scales: tuple[Fraction, Fraction], share: float) -> None:
    """P(the true value is outside | hit) <= failure_probability, summed over all gaps, for values near and far."""
    for excess in (-40, 0, 25):
        edges, chances = law_of(scales).cells(excess)
        outside = 0.0
        for margin, chance in zip(edges.tolist(), chances.tolist(), strict=True):
            if chance < 1e-6:  # counted as outside
                outside += chance
                continue
            low, high = gap(margin, scales).interval(failure_probability=share)
            outside += chance * (not low <= 100 + excess <= high)
        assert outside <= share


def test_taken_as_a_plain_measurement_the_gap_does_not_cover() -> None:
    """Two standard deviations either side of T + gap miss a value far below the threshold always."""
    law, deviation = law_of(SCALES[0]), math.sqrt(2 * (4 + 64))
    edges, chances = law.cells(-40)
    assert chances[np.abs(edges - -40) > 2 * deviation].sum() > 0.99


MECHANISMS = [
    dp.Laplace(sensitivity=ONE, scale=8),
    dp.Laplace(sensitivity=ONE, scale=2),
    dp.Gaussian(sensitivity=ONE, sigma=9),
]


def noise_of(mechanism: dp.Laplace | dp.Gaussian, reach: int) -> np.ndarray:
    if isinstance(mechanism, dp.Laplace):
        return np.array([float(laplace_mass(mechanism.scale, k)) for k in range(-reach, reach + 1)])
    return np.array([float(rounded_mass(mechanism.sigma, k)) for k in range(-reach, reach + 1)])


def rejected(law: dp.GapLaw, mechanism: dp.Laplace | dp.Gaussian, excess: int, share: float) -> float:
    """The exact chance that the true value is rejected, given a hit: a sum over gaps and the noise that is too far."""
    reach, total = 200, 0.0
    noise = noise_of(mechanism, reach)
    for margin, chance in enumerate(law.cells(excess)[1].tolist()):
        if chance < 1e-6:  # counted as rejected
            total += chance
            continue

        def accepted(z: int, side: int, margin: int = margin) -> bool:
            found = Measurement.of(gap(margin), 100 + excess + z, mechanism)
            return not_rejected(law, margin, found, excess)[side] > share / 2

        least, most = -reach, reach  # the least z that is too high, and the greatest that is too low
        high = next_true(lambda z: not accepted(z, 0), least, most)
        low = -next_true(lambda z: not accepted(-z, 1), -most, -least)
        total += chance * (noise[high + reach :].sum() + noise[: low + reach + 1].sum())
    return total


def next_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("excess", [-25, 0, 12])
def test_the_truth_is_rejected_as_rarely_as_asked(mechanism: dp.Laplace | dp.Gaussian, excess: int) -> None:
    """The interval holds the true value with at least this probability, given a hit, under the law of `GapLaw` and for
    a measurement that was asked for because of the hit and for no other reason."""
    law = law_of(SCALES[0])
    assert 0.05 < rejected(law, mechanism, excess, 0.1) <= 0.1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_interval_is_what_is_not_rejected(mechanism: dp.Laplace | dp.Gaussian) -> None:
    law = law_of(SCALES[0])
    for margin, measured in ((0, 85), (6, 100), (40, 118)):
        found = Measurement.of(gap(margin), measured, mechanism)
        kept = [x for x in range(-90, 120) if min(not_rejected(law, margin, found, x)) > 0.05]
        best = gap(margin).combined(measured, mechanism, failure_probability=0.1)
        assert (best.lower, best.upper) == (100 + kept[0], 100 + kept[-1])
        assert kept == list(range(kept[0], kept[-1] + 1))
        assert best.lower <= best.value <= best.upper


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("excess", [-25, 12])
def test_the_estimate_is_better_than_the_measurement(mechanism: dp.Laplace | dp.Gaussian, excess: int) -> None:
    """Mean square error, as a share of that of the measurement; by inverse variances the biased gap makes it worse."""
    n, random, law = sized(500, 10_000), np.random.default_rng(7), law_of(SCALES[0])
    edges, chances = law.cells(excess)
    gaps = random.choice(edges, n, p=chances / chances.sum())
    measured = np.array([mechanism.release(100 + excess) for _ in range(n)])
    found = [Measurement.of(gap(0), int(m), mechanism) for m in measured]
    values = [_likeliest(gap(int(g)), one) for g, one in zip(gaps, found, strict=True)]
    alone = ((measured - 100 - excess) ** 2).mean()
    share = ((np.array(values) - excess) ** 2).mean() / alone
    precise = mechanism is MECHANISMS[1]  # so precise that the gap adds next to nothing
    assert share <= (1.05 if excess < 0 or precise else 0.97)
    weights = np.array([1 / float(2 * (4 + 64)), 1 / found[0].deviation ** 2])
    naive = (weights[0] * gaps + weights[1] * (measured - 100)) / weights.sum()
    if excess < 0 and not precise:
        assert ((naive - excess) ** 2).mean() > 1.5 * alone


def test_a_gap_of_real_values_widens_by_what_rounding_can_do() -> None:
    s = dp.Sensitivity(l1=1, neighbours=dp.Neighbours.ADD_REMOVE)
    watch = dp.SparseVector(threshold=10, cutoff=1, sensitivity=s, epsilon=8, gap=True, step=0.25)
    hit = watch.ask(200.1)
    assert isinstance(hit, dp.Gap)
    assert hit.gap == hit.value - 10
    low, high = hit.interval(failure_probability=1e-9)
    assert low < 200.1 < high
    mechanism = dp.Laplace(sensitivity=s, epsilon=8)
    best = hit.combined(mechanism.release(200.1), mechanism, failure_probability=1e-9)
    assert best.lower < 200.1 < best.upper
    assert best.upper - best.lower < high - low


def test_refusals() -> None:
    one = gap(3)
    wrong = [(math.nan, MECHANISMS[0]), (True, MECHANISMS[0]), (1, dp.DiscreteGaussian(sensitivity=ONE, sigma=3))]
    for measured, mechanism in wrong:
        with pytest.raises(InvalidParameter):
            one.combined(measured, mechanism, failure_probability=0.1)  # type: ignore[arg-type]
    for share in (0, 1):
        with pytest.raises(InvalidParameter):
            one.interval(failure_probability=share)
