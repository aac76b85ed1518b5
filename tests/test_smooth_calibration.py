"""`smooth_calibration`: the price of moves and stretches in closed form, and noise that is certainly enough."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from discreet.dp.reals import ball, precision
from discreet.dp.smooth_calibration import (
    Price,
    best_beta,
    classical_constants,
    greatest_shift,
    guessed_shift,
    is_certain,
)
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, PolynomialLaw, SmoothLaw
from discreet.errors import InvalidParameter
from tests.broken import adaptive_noise as broken
from tests.closed_forms import mp, mpf, two_gaussians_delta
from tests.noise_laws import real
from tests.sizes import sized
from tests.smooth_truth import TRUTHS, delta, greatest_log_ratio

F = Fraction
MICRO = F(1, 10**6)
LAWS: dict[str, SmoothLaw] = {
    "laplace": LaplaceLaw(),
    "gaussian": GaussianLaw(),
    **{f"polynomial-{g}": PolynomialLaw(g) for g in (2, 4, 6, 8)},
}


def price(name: str, epsilon: Fraction, share: Fraction = MICRO) -> Price:
    return Price(LAWS[name], epsilon, F(0) if LAWS[name].is_pure else share)


def leak(name: str, shift: Fraction, ratio: Fraction, epsilon: Fraction) -> tuple[mpf, mpf]:
    with precision(256):
        found = LAWS[name].leak(shift, ratio, epsilon, ball(0))
        ends = [F(int(m)) * F(2) ** int(e) for m, e in (found.lower().man_exp(), found.upper().man_exp())]
    return real(ends[0]), real(ends[1])


def truth(name: str, shift: mpf, ratio: mpf, epsilon: mpf) -> mpf:
    if LAWS[name].is_pure:
        return greatest_log_ratio(TRUTHS[name], shift, ratio)
    return delta(TRUTHS[name], epsilon, shift, ratio)


CASES = [
    *[(F(1, 2), F(r), F(1, 5)) for r in ("1.1", "0.9", "1")],
    *[(F(3, 2), F(r), F(1)) for r in ("1.3", "0.7", "1")],
    (F(1, 100), F(101, 100), F(1, 100)),
    (F(1, 100), F(9, 10), F(3)),
    (F(4), F(6, 5), F(1)),
]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_price_in_closed_form(name: str, case: tuple[Fraction, Fraction, Fraction]) -> None:
    shift, ratio, epsilon = case
    low, high = leak(name, shift, ratio, epsilon)
    true = truth(name, real(shift), real(ratio), real(epsilon))
    assert abs(low - true) <= mpf(10) ** -25 * abs(true)
    assert abs(high - true) <= mpf(10) ** -25 * abs(true)


def test_the_truths_agree_with_what_is_known() -> None:
    """The search for crossings, held against the parabola; tails of the polynomial law against an integral."""
    for shift, ratio in ((mpf("0.5"), mpf("1.1")), (mpf("0.5"), mpf("0.9")), (mpf(2), mpf(1))):
        one, two = delta(TRUTHS["gaussian"], mpf(1), shift, ratio), two_gaussians_delta(mpf(1), shift, mpf(1), ratio)
        assert abs(one - two) <= mpf(10) ** -30 * two
    for g in (2, 4, 6):
        law = TRUTHS[f"polynomial-{g}"]
        integral = mp.quad(lambda z, law=law: mp.exp(law.log_density(z)), [mpf(1) / 3, 1, 3, 10, 100, mp.inf])
        assert mp.almosteq(law.tail(mpf(1) / 3), integral, 1e-20)
        assert law.slow_tail is not None
        assert all(mp.almosteq(law.tail(z), law.slow_tail(z), 1e-30) for z in (mpf(0), mpf(1) / 3, mpf(7), mpf(1000)))


@pytest.mark.parametrize(
    ("epsilon", "polynomial", "laplace", "gaussian"),
    [
        ("0.5", "0.2315", "1.8e-9", "7e-14"),
        ("1", "0.4576", "4.1e-9", "2e-13"),
        ("3", "1.3064", "2.0e-8", "1e-12"),
    ],
)
def test_the_classical_constants_are_valid_and_two_times_too_large(
    epsilon: str, polynomial: str, laplace: str, gaussian: str
) -> None:
    """What the classical constants really cost, at delta = 1e-6 (E1.6): the worst stretch of a grid, ends included."""
    e = F(epsilon)
    for name, printed in (("polynomial-4", polynomial), ("laplace", laplace), ("gaussian", gaussian)):
        wanted = price(name, e)
        beta, scale = classical_constants(wanted.law, e, wanted.delta)
        assert is_certain(wanted, shift=1 / scale, beta=beta)
        stretches = [mp.exp(real(beta) * i / 4) for i in (-4, -1, 0, 4)]
        worst = max(truth(name, min(mpf(1), r) / real(scale), r, real(e)) for r in stretches)
        digits = len(printed.split("e")[0].replace(".", "").lstrip("0"))
        assert mp.nstr(worst, digits) == mp.nstr(mpf(printed), digits)
        saved = scale * greatest_shift(wanted, beta)
        assert saved > (F(5, 4) if name == "laplace" else 3)


@pytest.mark.parametrize("name", LAWS)
def test_the_two_facts_of_the_certificate(name: str) -> None:
    """The price never falls with the move; and leak(t, r', e) <= leak(t, r, e - ln(r' / r)) for r <= r'."""
    source = random.Random(1)
    for _ in range(sized(3, 60)):
        shift, ratio = source.uniform(0.01, 2), source.uniform(0.6, 1.6)
        further, wider, epsilon = shift * source.uniform(1, 1.5), ratio * source.uniform(1, 1.2), mpf("0.7")
        here = truth(name, mpf(shift), mpf(ratio), epsilon)
        slack = mp.log(mpf(wider) / ratio)
        loose = here + slack if LAWS[name].is_pure else truth(name, mpf(shift), mpf(ratio), epsilon - slack)
        assert truth(name, mpf(further), mpf(ratio), epsilon) >= here * (1 - mpf(10) ** -30)
        assert truth(name, mpf(shift), mpf(wider), epsilon) <= loose * (1 + mpf(10) ** -30)


def worst_of_many(name: str, shift: Fraction, beta: Fraction, epsilon: Fraction, count: int) -> mpf:
    """The greatest true price over stretches of the whole interval, ends included, in both orders at once."""
    stretches = [mp.exp(real(beta) * (2 * mpf(i) / count - 1)) for i in range(count + 1)]
    return max(truth(name, real(shift) * min(mpf(1), r), r, real(epsilon)) for r in stretches)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "polynomial-2", "polynomial-4"])
@pytest.mark.parametrize("epsilon", [F(1, 10), F(3)])
def test_the_calibrated_noise_is_enough_and_no_more(name: str, epsilon: Fraction) -> None:
    """where it is True, the exact two-parameter price is within the limit at every stretch in [exp(-beta), exp(beta)],
    at every move up to `shift` times the smaller bound, and in both orders."""
    wanted = price(name, epsilon)
    limit = real(epsilon if wanted.law.is_pure else wanted.delta)
    for beta in (best_beta(wanted), best_beta(wanted) / 3):
        shift = greatest_shift(wanted, beta)
        assert is_certain(wanted, shift=shift, beta=beta)
        assert worst_of_many(name, shift, beta, epsilon, sized(3, 60)) <= limit
        assert worst_of_many(name, shift * (1 + F(1, 10**5)), beta, epsilon, 2) > limit


@pytest.mark.parametrize(
    "twin",
    [broken.gaussian_with_laplace_constants, broken.pure_beta_for_laplace, broken.moves_without_stretches],
    ids=lambda twin: twin.__name__,
)
def test_wrong_constants_are_rejected(twin: object) -> None:
    law, beta, scale = twin(F(1), MICRO)  # type: ignore[operator]
    name = "gaussian" if isinstance(law, GaussianLaw) else "laplace"
    assert worst_of_many(name, 1 / scale, beta, F(1), 2) > mpf("1e-6")
    assert not is_certain(Price(law, F(1), MICRO), shift=1 / scale, beta=beta)


def test_the_printed_third_case_is_private_and_not_the_theorem() -> None:
    """E1.6: Lap(1) with the constants of N(0, 1) is pure up to 0.996 at epsilon = 1, with 13 times the noise."""
    law, beta, scale = broken.laplace_with_gaussian_constants(F(1), MICRO)
    assert is_certain(Price(law, F(1), MICRO), shift=1 / scale, beta=beta)
    assert (beta, scale) != classical_constants(law, F(1), MICRO)
    assert scale > 13 * classical_constants(law, F(1), MICRO)[1]


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_tiny_delta(name: str) -> None:
    """1e-100: held against closed forms at 150 digits."""
    wanted = price(name, F(1), F(1, 10**100))
    beta = best_beta(wanted)
    shift = greatest_shift(wanted, beta)
    with mp.workdps(150):
        low = mp.exp(-real(beta))
        assert delta(TRUTHS[name], mpf(1), real(shift) * low, low) <= mpf(10) ** -100
        assert delta(TRUTHS[name], mpf(1), real(shift) * low * (1 + mpf(10) ** -5), low) > mpf(10) ** -100


def test_the_ends_are_not_always_the_worst() -> None:
    """For 1 / (1 + z^2) and a small beta the worst stretch is none at all: a scan of the ends would be wrong."""
    wanted, beta = price("polynomial-2", F(1)), F(1, 6)
    shift = broken.ends_alone(wanted, beta)
    ends = [
        truth("polynomial-2", real(shift) * min(mpf(1), r), r, mpf(1))
        for r in (mp.exp(-mpf(1) / 6), mp.exp(mpf(1) / 6))
    ]
    assert max(ends) < 1 + mpf(10) ** -9
    assert truth("polynomial-2", real(shift), mpf(1), mpf(1)) > mpf("1.03")
    assert not is_certain(wanted, shift=shift, beta=beta)
    assert greatest_shift(wanted, beta) < shift * F(97, 100)


def test_the_constants_are_rounded_against_us() -> None:
    """Beta is at most, and the scale at least, what the theorem says; a beta rounded to the nearest is not."""

    def check(beta_of: object, count: int) -> None:
        source = random.Random(2)
        for _ in range(count):
            e, d = F(f"{10 ** source.uniform(-2, 1):.3g}"), F(f"{10 ** source.uniform(-12, -1):.3g}")
            assert real(beta_of(LaplaceLaw(), e, d)) <= real(e) / (2 * mp.log(2 / real(d)))  # type: ignore[operator]

    check(lambda law, e, d: classical_constants(law, e, d)[0], sized(200, 5000))
    with pytest.raises(AssertionError):
        check(broken.log_to_nearest, 20)
    for e, d in ((F(1), MICRO), (F(1, 3), F(1, 7))):
        beta, scale = classical_constants(GaussianLaw(), e, d)
        exact_beta, exact_scale = (
            real(e) / (4 * (1 + mp.log(2 / real(d)))),
            5 * mp.sqrt(2 * mp.log(2 / real(d))) / real(e),
        )
        assert exact_beta * (1 - mpf(10) ** -12) < real(beta) <= exact_beta
        assert exact_scale * (1 + mpf(10) ** -12) > real(scale) >= exact_scale


def test_the_classical_laplace_constants_are_false_for_a_large_epsilon() -> None:
    e = F(15)
    beta, scale = classical_constants(LaplaceLaw(), e, MICRO)
    assert worst_of_many("laplace", 1 / scale, beta, e, 2) > mpf("1e-6")
    assert not is_certain(price("laplace", e), shift=1 / scale, beta=beta)
    for mild in (F(1), F(8)):
        beta, scale = classical_constants(LaplaceLaw(), mild, MICRO)
        assert is_certain(price("laplace", mild), shift=1 / scale, beta=beta)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "polynomial-2", "polynomial-4"])
def test_the_chosen_beta_is_about_the_best(name: str) -> None:
    """Scale times max (k + 1) exp(-beta k), the noise of the median of evenly spread data."""
    wanted = price(name, F(1))

    def noise(beta: Fraction) -> float:
        found = guessed_shift(wanted, beta, 20)
        gaps = max((k + 1) * math.exp(-float(beta) * k) for k in range(int(2 / beta) + 2))
        return gaps / float(found) if found else math.inf

    chosen = noise(best_beta(wanted))
    assert all(chosen <= 1.02 * noise(best_beta(wanted) * F(f)) for f in ("0.4", "0.7", "0.9", "1.1", "1.3"))
    assert chosen < noise(best_beta(wanted) / 4)


class TestRefusals:
    def test_a_beta_for_which_no_noise_is_enough(self) -> None:
        for name, beta in (("polynomial-4", F(2, 5)), ("laplace", F(1, 5)), ("gaussian", F(1, 10))):
            with pytest.raises(InvalidParameter, match="too large"):
                greatest_shift(price(name, F(1)), beta)

    def test_a_delta_that_the_law_does_not_have(self) -> None:
        for law, share in ((PolynomialLaw(4), MICRO), (LaplaceLaw(), F(0)), (GaussianLaw(), F(0))):
            with pytest.raises(InvalidParameter, match="polynomial noise is pure"):
                Price(law, F(1), share)

    def test_what_cannot_be_computed(self) -> None:
        with pytest.raises(InvalidParameter, match="too extreme"):
            best_beta(price("polynomial-4", F(1, 10**20)))

    def test_an_epsilon_beyond_sense(self) -> None:
        with pytest.raises(InvalidParameter, match="at most"):
            price("laplace", F(51))

    @pytest.mark.parametrize("exponent", [0, 1, 3, 10, -2, 2.5, True, "x", None, float("nan")])
    def test_exponents(self, exponent: object) -> None:
        with pytest.raises(InvalidParameter):
            PolynomialLaw(exponent)  # type: ignore[arg-type]
