"""`reals`: bounds that hold, whatever the precision in force, in every thread and in a forked child."""

import os
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from flint import arb, ctx

from discreet import dp
from discreet.dp.reals import ball, bounds, floor_scaled, lower, precision, upper
from discreet.errors import InvalidParameter
from tests.accounting import mp, mpf
from tests.sizes import sized

FORMULAS = {
    "exp(1)": (lambda: ball(1).exp(), lambda: mp.e + 0),
    "exp(-1000)": (lambda: ball(-1000).exp(), lambda: mp.exp(-1000)),
    "-ln 3": (lambda: -ball(3).log(), lambda: -mp.log(3)),
    "sqrt(1/3)": (lambda: ball(Fraction(1, 3)).sqrt(), lambda: mp.sqrt(mpf(1) / 3)),
    "1 - cos(1e-30)": (lambda: 1 - ball(Fraction(1, 10**30)).cos(), lambda: mpf("1e-60") / 2 - mpf("1e-120") / 24),
    "erfc(20)": (lambda: ball(20).erfc(), lambda: mp.erfc(20)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("bits", [20, 64, 100])
def test_bounds_hold_and_are_as_close_as_asked(name: str, bits: int) -> None:
    formula, reference = FORMULAS[name]
    with mp.workprec(800):
        truth = reference()
        low, high = bounds(formula, bits)
        assert (low, high) == (lower(formula, bits), upper(formula, bits))
        assert exact_at_800(low) <= truth <= exact_at_800(high)
        assert (high - low) * 2**bits <= max(abs(low), abs(high))


def exact_at_800(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def test_a_rational_is_found_exactly() -> None:
    assert bounds(lambda: ball(Fraction(3, 8))) == (Fraction(3, 8), Fraction(3, 8))
    low, high = bounds(lambda: ball(Fraction(1, 3)))
    assert low < Fraction(1, 3) < high


def test_what_is_zero_is_known_to_2_to_the_minus_4096() -> None:
    low, high = bounds(lambda: ball(2).sqrt() ** 2 - 2)
    assert low <= 0 <= high
    assert high - low <= Fraction(1, 2**4096)


@pytest.mark.parametrize("formula", [lambda: ball(-1).log(), lambda: ball(10**12).exp(), lambda: ball(-(10**12)).exp()])
def test_what_is_no_number_or_has_no_short_rational_is_refused_at_once(formula: object) -> None:
    before = time.process_time()
    with pytest.raises(InvalidParameter):
        upper(formula)  # type: ignore[arg-type]
    assert time.process_time() - before < 5


def test_floors_are_certified() -> None:
    assert floor_scaled(lambda: arb.pi(), 0) == 3
    assert floor_scaled(lambda: arb.pi(), 200) == _pi_times_2_to_the(200)
    assert floor_scaled(lambda: -arb.pi(), 1) == -7
    with pytest.raises(InvalidParameter):
        floor_scaled(lambda: ball(2).sqrt() ** 2, 3)


def _pi_times_2_to_the(power: int) -> int:
    with mp.workprec(400):
        return int(mp.floor(mp.ldexp(+mp.pi, power)))


def test_the_precision_of_the_process_is_put_back() -> None:
    before = ctx.prec
    with precision(777):
        assert ctx.prec == 777
    with pytest.raises(ZeroDivisionError), precision(777):
        raise ZeroDivisionError
    assert ctx.prec == before


def conversions(seed: int) -> list[float]:
    """Conversions that work at many precisions."""
    losses = [dp.Loss.gaussian(mu=Fraction(seed + 1, 7)), dp.Loss.pure(epsilon=Fraction(seed + 1, 10**9))]
    losses.append(dp.Loss.zcdp(rho=Fraction(seed + 1, 100)))
    deltas = [loss.delta(epsilon=Fraction(k, 9)) for loss in losses for k in range(4)]
    return [*deltas, *(loss.epsilon(delta="1e-200") for loss in losses)]


def test_eight_threads_convert_as_one_does() -> None:
    jobs = [seed % 5 for seed in range(sized(24, 400))]
    alone = [conversions(seed) for seed in jobs]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns in the middle of a formula
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(conversions, jobs)) == alone
    finally:
        sys.setswitchinterval(interval)


def test_one_thread_at_a_time_sets_the_precision() -> None:
    """The precision belongs to the process: while one thread computes with 99 bits, another waits."""
    waited = threading.Event()

    def other() -> None:
        with precision(500):
            waited.set()

    with precision(99):
        thread = threading.Thread(target=other)
        thread.start()
        assert not waited.wait(0.2)
        assert ctx.prec == 99
    thread.join(30)
    assert waited.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_while_another_thread_computes_is_not_stuck() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with precision(99):
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is the point
        child = os.fork()
    if child == 0:
        os._exit(0 if upper(lambda: ball(1).exp()) > Fraction(2718, 1000) else 1)
    done.set()
    thread.join()
    deadline = time.monotonic() + 30
    status = (0, 0)
    while status[0] == 0 and time.monotonic() < deadline:
        status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if status[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert status == (child, 0)
