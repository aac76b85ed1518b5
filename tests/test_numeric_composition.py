"""`numeric_composition`: never below the exact law of the whole, and at most 1 % above it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.numeric_composition import MOST_EPSILON, LossLaw, _split, below
from discreet.errors import InvalidParameter, NotSupported
from tests.accounting import exact, log_uniform, mp, mpf, precise, responses_and_gaussian_delta
from tests.broken import composition as broken
from tests.closed_forms import response_delta
from tests.compositions import (
    CLOSE,
    LEAST,
    Compose,
    Releases,
    check_compositions,
    check_epsilon,
    line_integral,
    random_releases,
    real,
    some_epsilon,
)
from tests.sizes import sized

F = Fraction
numeric = dp.composition.numeric
TWINS = [broken.nearest_grid, broken.cut_tails, broken.unbounded_rounding]


@precise
def in_mpmath(releases: Releases, epsilon: Fraction) -> mpf:
    """The exact delta of equal pure releases and a normal one, by another library and another formula."""
    ((count, k),) = releases.pure
    each, gone = exact(k * releases.unit), exact(releases.lost)
    if releases.mu:
        kept = responses_and_gaussian_delta(exact(epsilon), each, count, exact(releases.mu))
    else:
        kept = response_delta(exact(epsilon), each, count)
    return gone + (1 - gone) * kept


@pytest.mark.parametrize("mu", ["0", "0.3", "2"])
@pytest.mark.parametrize("count", [1, 7, 60])
def test_the_reference_is_the_closed_form(count: int, mu: str) -> None:
    releases = Releases(((count, 3),), F("0.07"), F(mu), F("1e-9"))
    for epsilon in (F(0), F("0.1"), F("0.5"), F(2), F(5)):
        found, known = releases.delta(epsilon), in_mpmath(releases, epsilon)
        assert abs(mpf(found.mid().str(50, radius=False)) - known) <= mpf(10) ** -40
        assert found.rad() < real(F(1, 10**60))


@pytest.mark.parametrize("compose", [numeric, dp.compose])
def test_no_composition_is_below_the_truth_or_more_than_a_hundredth_above_it(compose: Compose) -> None:
    """Guarantee: `delta(epsilon)` is at least the exact delta of the composition of the worst such releases, and
    `epsilon(delta)` at least its exact epsilon, for parameters fixed in advance.
    """
    check_compositions(compose, count=sized(60, 10_000), seed=1)


@pytest.mark.parametrize("twin", TWINS)
def test_the_same_check_rejects_what_is_rounded_to_nearest_cut_off_or_not_bounded(twin: Compose) -> None:
    with pytest.raises(AssertionError):
        check_compositions(twin, count=10, seed=1, close=False)


class TestErrorsAreBounded:
    """Any tilt gives a bound, however far from the epsilon that is asked: what its numbers lose is added."""

    def check(self, bound: Callable[[LossLaw, float, float], float], *, count: int) -> None:
        source = random.Random(3)
        for _ in range(count):
            releases = random_releases(source)
            if not releases.pure:
                continue
            releases = Releases(releases.pure, releases.unit, releases.mu * source.randint(0, 1))
            law = LossLaw(tuple((c, k * releases.unit) for c, k in releases.pure), releases.mu**2)
            for _ in range(4):
                epsilon, tilt = some_epsilon(releases, source), math.exp(source.uniform(-4, 5)) / law._width
                if releases.mu or epsilon < releases.most:
                    truth, claimed = releases.delta(epsilon), bound(law, tilt, below(epsilon))
                    assert not real(claimed) < truth, (releases, epsilon, tilt, claimed, truth)

    def test_every_tilt_is_valid(self) -> None:
        self.check(lambda law, tilt, epsilon: law._tilted(tilt).delta(epsilon), count=sized(40, 4_000))

    def test_without_the_bound_they_are_seen(self) -> None:
        with pytest.raises(AssertionError):
            self.check(broken.without_error, count=40)

    def test_a_dyadic_loss_has_no_error_of_the_grid_to_hide_behind(self) -> None:
        """On the grid nothing is rounded up: what is left is the error of the numbers alone."""
        for count in (1, 2, 30, 300):
            releases, law = Releases(((count, 1),), F(1, 8)), LossLaw(((count, F(1, 8)),))
            for place in range(0, count, max(1, count // 9)):
                epsilon = F(place, 8) + F(1, 50)
                for tilt in (0.1, 1.0, 10.0, 1e3):
                    claimed = law._tilted(tilt).delta(float(epsilon) * (1 - 2.0**-50))
                    assert not real(claimed) < releases.delta(epsilon), (count, epsilon, tilt)
                best = law.delta(epsilon=epsilon)
                assert real(best) <= releases.delta(epsilon) * real(F("1.000001")), (count, epsilon)

    @pytest.mark.parametrize("gap", [F(0), F(1, 3), F(2, 3), 1 - F(1, 10**15), F(1, 10**15)])
    @pytest.mark.parametrize("place", [0, 1, 5, 1000])
    def test_a_split_atom_keeps_both_of_its_masses(self, place: int, gap: Fraction) -> None:
        """Under each table the two atoms weigh what the one did, and they lie around it."""
        step = F(1, 64)
        e = (place + gap) * step
        found, masses = _split(e, step)
        assert found == place
        losses = [mpf(at) / 64 for at in (place, place + 1, -place, -place - 1)]
        truth = 1 / (1 + mp.exp(-exact(e)))
        kept = [mpf(float(mass)) for mass in masses]
        other = [mass * mp.exp(-loss) for mass, loss in zip(kept, losses, strict=True)]
        for found_masses, wanted in ((kept, (truth, 1 - truth)), (other, (1 - truth, truth))):
            for pair, one in ((found_masses[:2], wanted[0]), (found_masses[2:], wanted[1])):
                assert mp.almosteq(sum(pair), one, rel_eps=mpf(2) ** -49)


EXTREMES = {
    "far tails": Releases(((40, 3),), F("0.01"), F("0.1")),
    "far tails of pure releases": Releases(((100, 3), (7, 20)), F("0.001")),
    "tiny": Releases(((30, 2), (3, 7)), F("1e-7"), F("1e-6")),
    "tiny, next to normal noise": Releases(((30, 2),), F("1e-9"), F("0.2")),
    "large": Releases(((3, 5),), F("9.7"), F("3")),
    "greatest": Releases(((2, 1),), F(MOST_EPSILON), F("0.5")),
    "a little noise": Releases(((5, 3), (2, 4)), F("0.31"), F("1e-4")),
    "hardly any noise": Releases(((5, 3),), F("0.31"), F("1e-9")),
    "many": Releases(((2_000, 1),), F("0.0137"), F("0.4")),
    "one": Releases(((1, 1),), F("0.7")),
    "noise alone": Releases((), F(1), F("0.7")),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("compose", [numeric, dp.compose])
def test_extreme_sequences(compose: Compose, name: str) -> None:
    """Down to a delta of 1e-30 and below, and up to the sum of the epsilons."""
    releases = EXTREMES[name]
    found = compose(releases.losses)
    for delta in (F("0.5"), F("1e-3"), F("1e-9"), F("1e-30"), F("1e-100"), F("1e-250")):
        check_epsilon(found.epsilon(delta=delta), releases, delta)
    for share in (F(1, 100), F(1, 2), F(9, 10), 1 - F(1, 10**3), 1 - F(1, 10**6)):
        epsilon = share * (releases.most + 10 * releases.mu)
        assert not real(found.delta(epsilon=epsilon)) < releases.delta(epsilon)


def check_narrow_noise(compose: Compose) -> None:
    """Around the greatest sum of a few releases, normal noise alone decides: at most 1 % above the truth there."""
    for pure in (((1, 16),), ((2, 2), (1, 1)), ((1, 23), (6, 1), (1, 9)), ((20, 3), (20, 2))):
        for share in ("0.3", "1e-5") if sized(1, 0) else ("0.3", "1e-2", "1e-3", "1e-5"):
            each = Releases(pure, F("0.01"))
            releases = Releases(pure, each.unit, F(share) * each.unit)
            found = compose(releases.losses)
            for widths in (-15, -2, 0, F(1, 2), 4, 9, 15):
                epsilon = releases.most + widths * releases.mu
                truth, claimed = releases.delta(epsilon), real(found.delta(epsilon=epsilon))
                assert not claimed < truth
                assert not claimed > truth * real(CLOSE) + LEAST, (releases, epsilon, claimed, truth)
                delta = F(float(truth))
                least = found.epsilon(delta=delta)
                assert not releases.delta(least) > real(delta)
                assert least <= float(epsilon + releases.mu / 100), (releases, epsilon, least)


@pytest.mark.parametrize("compose", [numeric, dp.compose])
def test_noise_much_narrower_than_a_cell_of_the_grid(compose: Compose) -> None:
    check_narrow_noise(compose)


def test_by_the_grid_alone_it_is_far_above() -> None:
    with pytest.raises(AssertionError):
        check_narrow_noise(broken.on_the_grid)
    check_compositions(broken.on_the_grid, count=sized(30, 300), seed=1, close=False)  # and never below


@pytest.mark.parametrize("count", [1_000, sized(20_000, 100_000)])
def test_a_hundred_thousand_equal_releases(count: int) -> None:
    """Held against the binomial, which a sum of as many terms gives."""
    epsilon = F("0.003")
    losses = [dp.Loss.pure(epsilon=epsilon)] * count
    begun = time.process_time()
    found = numeric(losses)
    assert len(found.epsilons) == 1
    claimed = found.epsilon(delta="1e-9")
    assert time.process_time() - begun < 5
    assert binomial_delta(epsilon, count, claimed) <= mpf("1e-9")
    assert binomial_delta(epsilon, count, claimed / 1.01) >= mpf("1e-9")


def binomial_delta(each: Fraction, count: int, epsilon: float) -> mpf:
    return precise(response_delta)(exact(epsilon), exact(each), count)


@pytest.mark.parametrize("seed", range(sized(2, 20)))
def test_many_distinct_releases_by_an_integral_in_the_complex_plane(seed: int) -> None:
    """No grid, no window and no tilt: a certified line integral of the moments of the loss."""
    source = random.Random(seed)
    epsilons = [log_uniform(source, 2e-3, 5e-2) for _ in range(sized(150, 1_000))]
    mu = F("0.2")
    losses = [dp.Loss.pure(epsilon=e) for e in epsilons] + [dp.Loss.gaussian(mu=mu)]
    for found in (numeric(losses), dp.compose(losses)):
        epsilon = F(repr(found.epsilon(delta="1e-9")))
        line = 15
        truth = line_integral(epsilons, mu**2, epsilon, line)
        assert truth.rad() < real(F(1, 10**20))
        assert truth <= real(F("1e-9"))
        assert line_integral(epsilons, mu**2, epsilon / F("1.0002"), line) >= real(F("1e-9"))
        assert real(found.delta(epsilon=epsilon)) >= truth


class TestUnderflow:
    """A delta that is no float is still above zero; only the sum of the epsilons makes it zero."""

    @pytest.mark.parametrize(
        ("losses", "epsilon"),
        [
            ([dp.Loss.pure(epsilon=1)] * 100_000, 99_999),
            ([dp.Loss.gaussian(mu="0.1")], 500),
            ([dp.Loss.gaussian(mu="0.1"), dp.Loss.pure(epsilon="0.1")], 50),
            ([dp.Loss.gaussian(mu="1e-3"), dp.Loss.pure(epsilon="0.125")], "0.25"),
        ],
    )
    def test_it_is_not_rounded_to_zero(self, losses: list[dp.Loss], epsilon: float) -> None:
        for found in (numeric(losses), dp.compose(losses)):
            assert 0 < found.delta(epsilon=epsilon) < 1e-200

    def test_at_the_sum_it_is_zero(self) -> None:
        law = numeric([dp.Loss.pure(epsilon="0.1")] * 10)
        assert law.delta(epsilon=1) == 0 < law.delta(epsilon="0.999999")


class TestParameters:
    def test_equal_losses_are_grouped_and_the_order_does_not_matter(self) -> None:
        source = random.Random(4)
        losses = [dp.Loss.pure(epsilon=e) for e in ("0.1", "0.2", "0.1", "0.3")] * 5
        losses += [dp.Loss.gaussian(mu="0.1")] * 3
        law = numeric(losses)
        assert sorted(law.epsilons) == [(5, F(1, 5)), (5, F(3, 10)), (10, F(1, 10))]
        assert law.mu_squared == F(3, 100)
        source.shuffle(losses)
        assert numeric(losses) == law

    def test_a_bundle_counts_as_what_is_in_it(self) -> None:
        bundle = 3 * dp.Loss.pure(epsilon="0.1") + dp.Loss.gaussian(mu="0.1")
        assert numeric([bundle, bundle]) == numeric([2 * bundle]) == numeric([bundle + bundle])

    @pytest.mark.parametrize("junk", [-1, "-0.5", math.nan, math.inf, None, True])
    def test_an_epsilon_that_is_none_is_refused(self, junk: float) -> None:
        with pytest.raises(InvalidParameter):
            numeric([dp.Loss.pure(epsilon=1)]).delta(epsilon=junk)

    @pytest.mark.parametrize("junk", [0, 1, 2, -0.1, math.nan, math.inf, None, True])
    def test_a_delta_that_is_none_is_refused(self, junk: float) -> None:
        with pytest.raises(InvalidParameter):
            numeric([dp.Loss.pure(epsilon=1)]).epsilon(delta=junk)

    @pytest.mark.parametrize(
        "loss",
        [
            dp.Loss.zcdp(rho="0.1"),
            dp.Loss.rdp(orders=[2], values=["0.1"]),
            dp.Loss.nonprivate(),
            dp.Loss.pure(epsilon=MOST_EPSILON + 1),
            dp.Loss.gaussian(mu=MOST_EPSILON),
        ],
        ids=repr,
    )
    def test_a_loss_whose_worst_release_is_not_known_is_refused(self, loss: dp.Loss) -> None:
        with pytest.raises(NotSupported):
            numeric([loss, dp.Loss.pure(epsilon=1)])

    @pytest.mark.parametrize("epsilon", [501, 1_000, 10**5])
    def test_what_protects_nobody_is_said_to(self, epsilon: int) -> None:
        law = LossLaw(((1, F(epsilon)),))
        assert law.delta(epsilon=1) == 1
        assert law.epsilon(delta="1e-6") == epsilon

    @pytest.mark.parametrize("count", [10**7, 10**8, 8 * 10**8, 10**12])
    @pytest.mark.parametrize("epsilon", ["1e-6", "1", "500"])
    def test_beyond_a_hundred_million_releases_the_bound_of_moments_is_left(self, epsilon: str, count: int) -> None:
        law, total = LossLaw(((count, F(epsilon)),)), count * float(epsilon)
        found = law.epsilon(delta="1e-6")
        deviation = math.sqrt(count) * float(epsilon) / math.cosh(float(epsilon) / 2)
        mean = total * math.tanh(float(epsilon) / 2)
        assert min(total * (1 - 1e-9), mean + 3 * deviation) <= found <= min(total, mean + 6 * deviation) * (1 + 1e-9)

    def test_a_delta_below_what_is_lost_has_no_epsilon(self) -> None:
        law = numeric([dp.Loss.approximate(epsilon=1, delta="1e-6"), dp.Loss.pure(epsilon=1)])
        assert law.epsilon(delta="1e-7") == math.inf
        assert law.epsilon(delta="1e-6") == 2
        assert law.epsilon(delta="1e-5") < 2


@pytest.mark.parametrize("seed", range(sized(6, 200)))
def test_dp_accounting_puts_its_two_estimates_around_ours(seed: int) -> None:
    """Theirs is rounded up or down on a grid of 1e-4; ours lies between, or is closer than either is to the truth."""
    source = random.Random(seed)
    interval, count = 1e-4, source.randint(1, 12)
    epsilons = [log_uniform(source, 1e-2, 1) for _ in range(count)]
    mu = log_uniform(source, 0.05, 1)
    ours = numeric([dp.Loss.pure(epsilon=e) for e in epsilons] + [dp.Loss.gaussian(mu=mu)])
    most, least = (their_distribution(epsilons, mu, interval, pessimistic=p) for p in (True, False))
    for delta in (1e-3, 1e-6, 1e-9):
        found = ours.epsilon(delta=delta)
        assert found >= least.get_epsilon_for_delta(delta) * (1 - 1e-9)
        assert found <= most.get_epsilon_for_delta(delta) + 2e-3 * found
    for epsilon in np.linspace(0, 2, 5):
        found = ours.delta(epsilon=float(epsilon))
        assert found >= least.get_delta_for_epsilon(epsilon) * (1 - 1e-9)
        assert found <= most.get_delta_for_epsilon(epsilon) * 1.01


def their_distribution(epsilons: list[Fraction], mu: Fraction, interval: float, *, pessimistic: bool):  # type: ignore[no-untyped-def]
    from dp_accounting.pld import privacy_loss_distribution as theirs

    options = {
        "pessimistic_estimate": pessimistic,
        "value_discretization_interval": interval,
        "use_connect_dots": False,
    }
    total = theirs.from_gaussian_mechanism(float(1 / mu), **options)
    for e in epsilons:
        total = total.compose(theirs.from_discrete_laplace_mechanism(float(e), **options))
    return total
