"""FP-10: whatever a constructor is given, it refuses with `InvalidParameter`, or what it makes draws real noise."""

from __future__ import annotations

import inspect
import itertools
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from types import FrameType

import numpy as np
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.broken import mechanisms as broken

SECONDS = 20
"""No constructor takes a tenth of a second; one that would never return is stopped here."""

REAL_NOISE = 1 - Fraction(1, 2**64)
"""Noise that is 0 more surely than this is no noise."""

ADD = dp.Neighbours.ADD_REMOVE
ONE = dp.Sensitivity.counting(neighbours=ADD)

EXTREME = [
    *(
        0,
        -1,
        1,
        2,
        0.0,
        -0.0,
        0.5,
        1.0,
        0.02,
        0.05,
        0.06,
        0.1,
        0.12,
        math.nan,
        math.inf,
        -math.inf,
        1e308,
        -1e308,
        5e-324,
        1e-308,
        1e-17,
    ),
    *(True, False, None, "", " ", "abc", "nan", "inf", "1e999999", "1e-999999", "1e399", "1e-399", "1/0", "0/1", "0x1"),
    *("9" * 500, "1_0", " 1 ", b"1", 1j, complex("nan"), [], [1], (), {}, {1}, object(), len),
    *(np.array([]), np.array([1.0, 2.0]), np.array(0.5), np.float64(0.5), np.float64("nan"), np.float32(1e-38)),
    *(np.int64(0), np.int64(3), np.bool_(True), np.datetime64("2020-01-01"), np.array([None])),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e-999999"), Decimal("0.5")),
    *(Fraction(0), Fraction(1, 3), Fraction(1, 10**400), Fraction(1, 10**5000), 10**5000, -(10**5000), 2**52, 2**53),
]

Make = Callable[..., object]
CONSTRUCTORS: dict[str, tuple[Make, dict[str, object]]] = {
    "laplace": (lambda **given: dp.Laplace(sensitivity=ONE, **given), {"epsilon": 1, "scale": 1}),
    "gaussian": (
        lambda **given: dp.Gaussian(sensitivity=ONE, **given),
        {"epsilon": 1, "delta": 1e-9, "sigma": 1, "rho": 1, "mu": 1},
    ),
    "classical": (lambda **given: dp.Gaussian.classical(sensitivity=ONE, **given), {"epsilon": 0.5, "delta": 1e-9}),
    "discrete": (lambda **given: dp.DiscreteGaussian(sensitivity=ONE, **given), {"sigma": 1, "rho": 1}),
    "response": (dp.RandomizedResponse, {"truth": 0.5, "epsilon": 1, "choices": 2, "answers": 1}),
    **{
        f"{kind.__name__}-for-accuracy": (
            lambda kind=kind, **given: kind.for_accuracy(sensitivity=ONE, **given),
            {"alpha": 50, "failure_probability": 0.05, "answers": 10},
        )
        for kind in (dp.Laplace, dp.Gaussian)
    },
    "response-for-accuracy": (
        dp.RandomizedResponse.for_accuracy,
        {"alpha": 0.1, "failure_probability": 0.05, "respondents": 1000, "choices": 2},
    ),
    "sensitivity": (lambda **given: dp.Sensitivity(neighbours=ADD, **given), {"l1": 1, "l2": 1, "linf": 1}),
    "laplace-of-sensitivity": (
        lambda *, l1, epsilon: dp.Laplace(sensitivity=dp.Sensitivity(l1=l1, neighbours=ADD), epsilon=epsilon),
        {"l1": 1, "epsilon": 1},
    ),
}


@contextmanager
def no_hang() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it would never have returned")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_constructor(make: Make, given: dict[str, object]) -> bool:
    """Whether it was made. A refusal is typed; what is made has noise, or too much of it for its law to be summed."""
    with no_hang():
        try:
            made = make(**given)
            most = made.l2 if isinstance(made, dp.Sensitivity) else None
        except InvalidParameter:
            return False
        except Exception as error:
            raise AssertionError(f"{sorted(given)} raised {type(error).__name__}") from error
        if most is not None:
            assert most > 0
            return True
        try:
            most = made.law(0).bounds(0)[1]  # type: ignore[attr-defined]
        except InvalidParameter:
            most = Fraction(0) if made.sigma > 10**4 else Fraction(1)  # type: ignore[attr-defined]
        except Exception as error:
            raise AssertionError(f"the law raised {type(error).__name__}") from error
        assert most < REAL_NOISE, "the noise is nearly always 0"
        return True


def cases(usual: dict[str, object]) -> Iterator[dict[str, object]]:
    """Each parameter alone, and each pair; one extreme among usual values, and two extremes."""
    for name, value in itertools.product(usual, EXTREME):
        yield {name: value}
        yield {**usual, name: value}
        for other in usual:
            yield {name: value, other: usual[other]} if other != name else {name: value}
    for one, other in itertools.combinations(usual, 2):
        for a, b in itertools.product(EXTREME[::2], EXTREME[1::3]):
            yield {one: a, other: b}


REQUIRED = {
    "classical",
    "Laplace-for-accuracy",
    "Gaussian-for-accuracy",
    "response-for-accuracy",
    "laplace-of-sensitivity",
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_refused_or_real_noise(name: str) -> None:
    make, usual = CONSTRUCTORS[name]
    seen = {True: 0, False: 0}
    for given in cases(usual):
        full = {**usual, **given} if name in REQUIRED else given
        seen[check_constructor(make, full)] += 1
    assert min(seen.values()) > 10, "the fuzzing is one-sided"


@pytest.mark.parametrize("twin", [broken.Silent, broken.Untyped])
def test_silence_and_untyped_errors_are_rejected(twin: Make) -> None:
    make = lambda **given: twin(sensitivity=ONE, **given)  # noqa: E731
    assert check_constructor(make, {"scale": 1.0})
    rejected = 0
    for value in EXTREME:
        try:
            check_constructor(make, {"scale": value})
        except AssertionError:
            rejected += 1
    assert rejected > 10


@pytest.mark.parametrize("value", EXTREME, ids=range(len(EXTREME)))
def test_questions_about_a_mechanism(value: object) -> None:
    for mechanism in (dp.Laplace(sensitivity=ONE, epsilon=1), dp.Gaussian(sensitivity=ONE, mu=1)):
        for given in ({"failure_probability": value}, {"failure_probability": 0.05, "answers": value}):
            check_typed(lambda mechanism=mechanism, given=given: mechanism.accuracy(**given))
            check_typed(lambda mechanism=mechanism, given=given: mechanism.accuracy(real=True, **given))
        check_typed(lambda mechanism=mechanism: mechanism.grid(value))  # type: ignore[arg-type]
    response = dp.RandomizedResponse(truth=0.5)
    check_typed(lambda: response.accuracy(failure_probability=value, respondents=10))  # type: ignore[arg-type]
    check_typed(lambda: response.accuracy(failure_probability=0.05, respondents=value))  # type: ignore[arg-type]
    check_typed(lambda: response.estimate([0, 1], confidence=value))  # type: ignore[arg-type]


def check_typed(call: Callable[[], object]) -> None:
    with no_hang():
        try:
            answer = call()
        except InvalidParameter:
            return
        assert answer is not None
        numbers = answer.value if isinstance(answer, dp.Estimate) else answer
        assert math.isfinite(numbers)  # type: ignore[arg-type]


def test_keywords_are_required_and_the_sensitivity_never_defaulted() -> None:
    for make in (dp.Laplace, dp.Gaussian, dp.DiscreteGaussian):
        with pytest.raises(TypeError):
            make(epsilon=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            make(ONE, 1)  # type: ignore[call-arg]
        parameters = inspect.signature(make).parameters.values()
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
        assert [p.name for p in parameters if p.default is p.empty] == ["sensitivity"]
