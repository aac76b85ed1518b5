"""`noise_choice`: every offer keeps within the error, costs what it says, and the first one is the cheapest."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp import noise_choice as module
from discreet.dp.noise_choice import NoiseChoice, Offer
from discreet.errors import InvalidParameter
from tests.accounting import check_epsilon, check_upper, exact, gaussian_truth, log_uniform, precise, zcdp_epsilon_truth
from tests.broken import offers as broken
from tests.closed_forms import mp, mpf
from tests.sizes import sized

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE

Choose = Callable[..., NoiseChoice]
Wanted = dict[str, object]
Tail = Callable[[mpf], mpf]


def wanted(alpha: object, beta: object, answers: int, delta: object, **more: object) -> Wanted:
    given = {"alpha": alpha, "failure_probability": beta, "answers": answers, "delta": delta, "neighbours": ADD}
    return given | more


CASES: dict[str, Wanted] = {
    "one": wanted(100, 0.05, 1, 1e-9),
    "few": wanted(100, 0.05, 5, 1e-9),
    "many": wanted(100, 0.05, 100, 1e-9, neighbours=REPLACE),
    "small noise": wanted(3, "0.1", 20, 1e-6),
    "half a row more": wanted("7.5", 0.01, 3, 1e-6),
    "delta is large": wanted(50, 0.2, 2, 0.3),
    "disjoint cells": wanted(40, 0.05, 500, 1e-9, sensitivity=dp.Sensitivity.histogram(neighbours=ADD)),
    "nothing known of l1": wanted(40, 0.05, 8, 1e-9, sensitivity=dp.Sensitivity(l2=3, neighbours=ADD)),
    "pure": wanted(200, 0.05, 30, 0),
}


# Tails and prices, at 256 bits. Nothing of ours is used.


def laplace_tail(steps: int) -> Tail:
    return lambda b: 2 * mp.exp(-(steps + 1) / b) / (1 + mp.exp(-1 / b))


def rounded_tail(steps: int) -> Tail:
    return lambda s: mp.erfc((steps + mpf(1) / 2) / (s * mp.sqrt(2)))


def discrete_tail(steps: int) -> Tail:
    def beyond(s: mpf) -> mpf:
        whole = s * mp.sqrt(2 * mp.pi) * mp.jtheta(3, 0, mp.exp(-2 * (mp.pi * s) ** 2))
        return 1 - (1 + 2 * mp.fsum(mp.exp(-(mpf(z) ** 2) / (2 * s**2)) for z in range(1, steps + 1))) / whole

    return beyond


TAILS = {dp.Laplace: laplace_tail, dp.Gaussian: rounded_tail, dp.DiscreteGaussian: discrete_tail}


@precise
def greatest_scale(tail: Tail, beta: mpf, answers: int) -> mpf:
    """The scale at which one of the answers is too far off with probability beta."""
    low, high = mpf("0.3"), mpf(10) ** 5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - (1 - tail(middle)) ** answers <= beta else (low, middle)
    return low


def together(case: Wanted) -> tuple[mpf | None, mpf]:
    """The sensitivities of all answers in l1 and in l2."""
    given = case.get("sensitivity")
    if isinstance(given, dp.Sensitivity):
        return given.l1 and exact(given.l1), exact(given.l2)
    return mpf(case["answers"]), mp.sqrt(case["answers"])  # type: ignore[arg-type]


@precise
def check_offer(offer: Offer, case: Wanted) -> None:
    """It keeps within the error, hardly any larger noise of its kind would, and its cost is that of its law."""
    beta, answers = exact(F(str(case["failure_probability"]))), case["answers"]
    delta, (l1, l2) = F(str(case["delta"])), together(case)
    tail = TAILS[type(offer.mechanism)](int(F(str(case["alpha"]))))  # type: ignore[index]
    scale = exact(offer.mechanism._noise_scale)
    assert 1 - (1 - tail(scale)) ** answers <= beta < 1 - (1 - tail(scale * (1 + mpf(2) ** -36))) ** answers
    match offer.accounting:
        case "pure":
            assert l1 is not None
            check_upper(offer.epsilon, l1 / scale, within="1e-15")
            check_upper(offer.rho, (l1 / scale) ** 2 / 2, within="1e-15")
        case "pure, at delta":
            assert l1 is not None
            whole = mp.exp(l1 / scale)
            truth = mp.log(max(mpf(1), whole - exact(delta) * (1 + whole)))
            check_upper(offer.epsilon, truth, within="1e-14")
        case "exact":
            check_epsilon(offer.epsilon, lambda e: gaussian_truth(l2 / scale, e), delta, within="1e-12")
            check_upper(offer.rho, (l2 / scale) ** 2 / 2, within="1e-15")
        case "zCDP":
            rho = (l2 / scale) ** 2 / 2
            check_upper(offer.rho, rho, within="1e-15")
            check_upper(offer.epsilon, zcdp_epsilon_truth(rho, exact(delta)), within="1e-4")


@precise
def least_epsilon(case: Wanted) -> mpf:
    """What the cheapest costs, found without the offers: the greatest scale of each law, and its price."""
    beta, answers = exact(F(str(case["failure_probability"]))), int(case["answers"])  # type: ignore[call-overload]
    delta, (l1, l2) = exact(F(str(case["delta"]))), together(case)
    scales = {
        law: greatest_scale(tail(int(F(str(case["alpha"])))), beta, answers)
        for law, tail in TAILS.items()
        if delta or law is dp.Laplace
    }
    prices = []
    if l1 is not None:
        whole = mp.exp(l1 / scales[dp.Laplace])
        prices.append(mp.log(max(mpf(1), whole - delta * (1 + whole))))
    if delta:
        mu, rho = l2 / scales[dp.Gaussian], (l2 / scales[dp.DiscreteGaussian]) ** 2 / 2
        low, high = mpf(0), mpf(1000)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if gaussian_truth(mu, middle) > delta else (low, middle)
        prices += [high, zcdp_epsilon_truth(rho, delta)]
    return min(prices)


def check_choice(choose: Choose, case: Wanted) -> None:
    choice = choose(**case)
    for offer in choice.offers:
        check_offer(offer, case)
    epsilons = [offer.epsilon for offer in choice.offers]
    assert epsilons == sorted(epsilons)
    assert choice.best is choice.offers[0]
    assert abs(exact(choice.best.epsilon) - least_epsilon(case)) <= mpf("1e-8") * exact(choice.best.epsilon)


@pytest.mark.parametrize("name", CASES)
def test_every_offer_and_the_cheapest(name: str) -> None:
    check_choice(dp.cheapest_noise, CASES[name])


def test_random_wishes() -> None:
    source = random.Random(1)
    for _ in range(sized(4, 200)):
        alpha, answers = source.randint(2, 60), source.randint(1, 40)
        check_choice(dp.cheapest_noise, wanted(alpha, log_uniform(source, 1e-3, 0.5), answers, F(1, 10**7)))


@pytest.mark.parametrize(
    ("twin", "name"),
    [
        (broken.for_one_answer, "many"),
        (broken.as_if_each_moved_one, "many"),
        (broken.one_curve_for_all_gaussians, "many"),
        (broken.least_noise_first, "many"),
    ],
)
def test_wrong_choices_are_rejected(twin: Choose, name: str) -> None:
    with pytest.raises(AssertionError):
        check_choice(twin, CASES[name])


@pytest.mark.parametrize("twin", [broken.for_one_answer, broken.as_if_each_moved_one])
def test_with_one_answer_these_are_right(twin: Choose) -> None:
    check_choice(twin, CASES["one"])


def test_laplace_for_few_and_gaussian_for_many() -> None:
    best = [dp.cheapest_noise(**wanted(100, 0.05, answers, 1e-9)).best for answers in (1, 2, 40, 400)]  # type: ignore[arg-type]
    assert [type(offer.mechanism) for offer in best] == [dp.Laplace, dp.Laplace, dp.Gaussian, dp.Gaussian]


def test_without_a_delta_only_pure_offers_are_made() -> None:
    choice = dp.cheapest_noise(**CASES["pure"])  # type: ignore[arg-type]
    assert [(offer.accounting, type(offer.mechanism)) for offer in choice.offers] == [("pure", dp.Laplace)]
    assert choice.best.mechanism.loss.epsilon(delta=0) == choice.best.epsilon


def test_without_l1_no_laplace_is_offered() -> None:
    choice = dp.cheapest_noise(**CASES["nothing known of l1"])  # type: ignore[arg-type]
    assert [offer.accounting for offer in choice.offers] == ["exact", "zCDP"]


# The table.


def check_table(choice: NoiseChoice) -> None:
    """A row for each offer; a cost that is printed is at least the cost, and the next number with four digits."""
    lines = str(choice).splitlines()
    assert len(lines) == 2 + len(choice.offers)
    assert lines[1].split() == ["noise", "accounting", "scale", "epsilon", "rho"]
    for line, offer in zip(lines[2:], choice.offers, strict=True):
        noise, accounting, (scale, epsilon, rho) = line[:18].strip(), line[18:34].strip(), line[34:].split()
        assert (noise, accounting) == (type(offer.mechanism).__name__, offer.accounting)
        assert abs(F(scale) / offer.mechanism._noise_scale - 1) < F(1, 1000)
        for printed, cost in ((epsilon, offer.epsilon), (rho, offer.rho)):
            unit = Decimal(printed).adjusted() - 3
            assert F(repr(cost)) <= F(printed) < F(repr(cost)) + F(10) ** unit, (printed, cost)


def test_the_table_never_understates_a_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = [dp.cheapest_noise(**case) for case in CASES.values()]  # type: ignore[arg-type]
    list(map(check_table, choices))
    assert str(choices[0]).startswith("1 answer, none off by more than 100, at delta = 1e-09")
    monkeypatch.setattr(module, "rounded_up", broken.nearest)
    with pytest.raises(AssertionError):
        list(map(check_table, choices))


# Refusals.


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 0},
        {"alpha": 0.5},
        {"alpha": -1},
        {"alpha": float("nan")},
        {"alpha": float("inf")},
        {"alpha": None},
        {"failure_probability": 0},
        {"failure_probability": 1},
        {"failure_probability": -0.1},
        {"failure_probability": float("nan")},
        {"answers": 0},
        {"answers": 1.5},
        {"answers": True},
        {"delta": 1},
        {"delta": -1e-9},
        {"delta": float("nan")},
        {"neighbours": "add_remove"},
        {"neighbours": None},
        {"sensitivity": 1},
        {"sensitivity": 0},
        {"sensitivity": dp.Sensitivity.counting(neighbours=REPLACE)},
        {"delta": 0, "sensitivity": dp.Sensitivity(l2=1, neighbours=ADD)},
        {"alpha": 1, "failure_probability": "1e-30"},
    ],
    ids=str,
)
def test_refusals(change: Wanted) -> None:
    with pytest.raises(InvalidParameter):
        dp.cheapest_noise(**{**CASES["few"], **change})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["alpha", "failure_probability", "answers", "delta", "neighbours"])
def test_nothing_is_assumed(name: str) -> None:
    with pytest.raises(TypeError):
        dp.cheapest_noise(**{key: value for key, value in CASES["few"].items() if key != name})  # type: ignore[arg-type]
