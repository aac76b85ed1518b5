"""`private`: an `Exact` lets nothing out but through a mechanism, and a `Permit` is never made or multiplied."""

import copy
import dataclasses
import gc
import inspect
import json
import math
import operator
import pickle
import pprint
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from tests.broken import accounting as broken
from tests.sizes import sized

SECRET = 31337  # would be seen in any text, and no default of anything equals it
ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
UNARY = [getattr(operator, name) for name in ("neg", "pos", "abs", "invert", "index", "not_", "truth")]
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift")
COMPARISON = ("rshift", "eq", "ne", "lt", "le", "gt", "ge", "contains", "concat", "iadd", "isub", "imul", "ior")
BINARY = [getattr(operator, name) for name in ARITHMETIC + COMPARISON]
NUMERIC = [
    int,
    float,
    complex,
    bool,
    round,
    math.trunc,
    math.floor,
    math.ceil,
    divmod,
    pow,
    math.sqrt,
    Decimal,
    Fraction,
]
SEQUENCE = [len, iter, list, tuple, set, sorted, sum, min, max, reversed, enumerate, dict, bytes, bytearray, memoryview]
NUMPY = [np.asarray, np.array, np.sum, np.mean, np.sqrt, np.isfinite, np.ravel, np.copy, np.ones, np.bincount, np.max]
STORE = [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, hash, vars, dataclasses.asdict, np.from_dlpack, hex, chr]
ASKS: dict[str, Callable[[object], object]] = {
    f"{group}:{getattr(ask, '__name__', ask)}": ask
    for group, asks in (
        ("unary", UNARY),
        ("numeric", NUMERIC),
        ("sequence", SEQUENCE),
        ("numpy", NUMPY),
        ("store", STORE),
    )
    for ask in asks
}
ASKS |= {f"{ask.__name__} left": lambda x, ask=ask: ask(x, 1) for ask in BINARY}
ASKS |= {f"{ask.__name__} right": lambda x, ask=ask: ask(1, x) for ask in BINARY if ask is not operator.contains}
ASKS |= {
    f"numpy {ask.__name__}": lambda x, ask=ask: ask(np.arange(2), x)
    for ask in (np.add, np.equal, np.maximum, np.allclose, np.array_equal, np.searchsorted, operator.add, operator.eq)
}
ASKS |= {
    "scalar add": lambda x: np.int64(1) + x,
    "scalar eq": lambda x: np.int64(1) == x,
    "ufunc": lambda x: x.__array_ufunc__(np.add, "__call__", x, 1),
    "array interface": lambda x: x.__array_interface__,
    "array struct": lambda x: x.__array_struct__,
    "dlpack": lambda x: x.__dlpack__(),
    "dict": lambda x: x.__dict__,
    "item": lambda x: x[0],
    "slice": lambda x: [1, 2][:x],
    "range": lambda x: range(x),
    "in a list": lambda x: [1, 2].index(x),
    "in it": lambda x: 1 in x,
    "key": lambda x: {x: 1},
    "array of it": lambda x: np.array([x]),
    "array filled": lambda x: np.full(2, x),
    "array assigned": lambda x: np.zeros(2).__setitem__(0, x),
    "compared with itself": lambda x: x == x,
    "percent d": lambda x: operator.mod("%d", x),
    "old pickle": lambda x: object.__reduce_ex__(x, 0),
    "new pickle": lambda x: object.__reduce_ex__(x, 2),
    "unpacked": lambda x: [*x],
    "keywords": lambda x: dict(**x),
    "called": lambda x: x(),
    "summed": lambda x: sum([x]),
    "sqlite": lambda x: sqlite3.connect(":memory:").execute("select ?", [x]).fetchall(),
}
SHOWS: dict[str, Callable[[object], object]] = {
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "f-string": lambda x: f"{x} {x!s} {x!r} {x!a} {x:d} {x:>40} {[x]}",
    "format": lambda x: format(x, "x") + format(x, ".3f"),
    "percent": lambda x: operator.mod("%s %r", (x, x)),
    "pprint": pprint.pformat,
    "json": lambda x: json.dumps({"x": x}, default=str),
    "members": lambda x: [(name, value) for name, value in inspect.getmembers(x)],
    "dir": dir,
    "error": lambda x: str(ValueError(x)),
    "size": lambda x: x.__sizeof__(),
    "list": lambda x: repr([x, {"x": x}]),
}


def exacts(kind: Callable[..., object]) -> list[object]:
    values = (SECRET, np.array([SECRET, SECRET + 1]))
    return [kind(value, sensitivity=ONE, unit="row") for value in values]


def outcome(ask: Callable[[object], object], exact: object) -> str:
    try:
        return repr(ask(exact))
    except (TypeError, AttributeError, ValueError, sqlite3.Error) as error:
        return f"{type(error).__name__}: {error}"


def check_closed(kind: Callable[..., object]) -> None:
    """Each way to use or show a value fails, or gives the same for any value: an error, or the unit."""
    for name, ask in (ASKS | SHOWS).items():
        other = outcome(ask, kind(1, sensitivity=ONE, unit="row"))
        for exact in exacts(kind):
            found = outcome(ask, exact)
            assert str(SECRET) not in found, name
            assert found == other, name
    for name, show in SHOWS.items():
        assert "Error: " not in outcome(show, exacts(kind)[0]), name


def test_nothing_lets_the_value_out() -> None:
    """Guarantee: nothing but `open` of a mechanism, with a permit, lets the value out: it cannot be printed, compared,
    measured, iterated, converted, hashed, copied or pickled. It guards against mistakes, not against whoever runs
    the process, who can read its memory.

    (`Exact`.)
    """
    check_closed(dp.Exact)


@pytest.mark.parametrize("leaky", [broken.LeakyExact, broken.ComparableExact])
def test_the_check_sees_a_leak(leaky: Callable[..., object]) -> None:
    with pytest.raises(AssertionError):
        check_closed(leaky)


@pytest.mark.parametrize("name", ["__eq__", "__hash__", "__reduce__", "__copy__", "__array__", "__iter__", "__bool__"])
def test_the_ways_that_python_would_fill_in_are_closed(name: str) -> None:
    with pytest.raises(TypeError, match="cannot be looked at"):
        getattr(exacts(dp.Exact)[0], name)()


def test_a_failed_assertion_shows_no_value() -> None:
    exact = exacts(dp.Exact)[0]
    with pytest.raises(AssertionError) as failed:
        assert exact is None
    assert str(SECRET) not in str(failed.getrepr(showlocals=True))


def test_what_bounding_left_cannot_be_changed_or_left_out() -> None:
    exact = exacts(dp.Exact)[0]
    for name in ("sensitivity", "unit", "_value", "new"):
        with pytest.raises(TypeError):
            setattr(exact, name, ONE)
        with pytest.raises(TypeError):
            delattr(exact, name)
    for missing in (None, 1, "row"):
        with pytest.raises(InvalidParameter):
            dp.Exact(3, sensitivity=missing, unit="row")
    with pytest.raises(TypeError):
        dp.Exact(3, unit="row")


def test_only_whoever_walks_the_memory_finds_it() -> None:
    """That is the limit that the guarantee states, and not a promise."""
    assert SECRET in gc.get_referents(exacts(dp.Exact)[0])


class TestPermit:
    """Guarantee: the sum of what is taken never exceeds what was reserved; at zero it refuses. Only a `PrivacyFilter`
    (and the ledger, which holds one) mints permits, after the reservation is in force.

    (`Permit`.)
    """

    TENTH = dp.Loss.pure(epsilon="0.1")

    def permit(self, epsilon: str = "0.5") -> dp.Permit:
        return dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(dp.Loss.pure(epsilon=epsilon))

    def test_no_more_is_taken_than_was_reserved(self) -> None:
        permit = self.permit()
        for left in (4, 3, 2, 1, 0):
            permit.take(self.TENTH)
            assert permit.left == Fraction(left, 10)
        for tiny in (self.TENTH, dp.Loss.pure(epsilon=1e-17), dp.Loss.pure(epsilon=5e-324)):
            with pytest.raises(BudgetExceeded):
                permit.take(tiny)
        assert permit.left == 0

    def test_what_does_not_fit_leaves_it_as_it_was(self) -> None:
        permit = self.permit("0.05")
        for loss in (
            self.TENTH,
            dp.Loss.nonprivate(),
            dp.Loss.gaussian(mu="1e-9"),
            dp.Loss.approximate(epsilon=0, delta="0.1"),
        ):
            with pytest.raises(BudgetExceeded):
                permit.take(loss)
        for junk in (0.01, -1, None, math.nan):
            with pytest.raises(InvalidParameter):
                permit.take(junk)
        assert permit.left == Fraction(1, 20)

    def test_deltas_are_taken_from_it_too(self) -> None:
        loss = dp.Loss.approximate(epsilon="0.01", delta="1e-8")
        permit = dp.PrivacyFilter(dp.Budget(epsilon=1, delta="1e-6", delta_add="1e-7")).reserve(2 * loss)
        permit.take(loss)
        with pytest.raises(BudgetExceeded):
            permit.take(dp.Loss.approximate(epsilon="0.001", delta="1.1e-8"))
        permit.take(loss)

    def test_it_is_not_made_by_hand(self) -> None:
        budget = dp.Budget(epsilon=1)
        for wrong in ((), (budget, dp.Charge(Fraction(1)))):
            with pytest.raises(NotSupported):
                dp.Permit(*wrong)
        with pytest.raises(NotSupported):
            dp.Permit(budget, dp.Charge(Fraction(1)), minted_by=dp.PrivacyFilter(budget))

    @pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps, lambda p: object.__reduce_ex__(p, 2)])
    def test_it_is_not_multiplied(self, double: Callable[[dp.Permit], object]) -> None:
        with pytest.raises(TypeError, match="permit"):
            double(self.permit())

    def test_what_it_has_left_is_read_only_and_closing_ends_it(self) -> None:
        permit = self.permit()
        with pytest.raises(AttributeError):
            permit.left = Fraction(10)  # type: ignore[misc]
        assert permit.close() == dp.Charge(Fraction(1, 2))
        assert permit.close() == dp.Charge()
        with pytest.raises(BudgetExceeded):
            permit.take(self.TENTH)
        assert repr(permit) == "Permit(left=0)"

    def test_eight_threads_take_exactly_what_was_reserved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = dp.Charge.__sub__

        def slow(one: dp.Charge, two: dp.Charge) -> dp.Charge:
            time.sleep(1e-4)  # between looking and writing, every other thread gets a turn
            return plain(one, two)

        monkeypatch.setattr(dp.Charge, "__sub__", slow)
        permit, each, ready = self.permit("1"), dp.Loss.pure(epsilon="1/100"), threading.Barrier(8)

        def take(_: int) -> int:
            ready.wait(timeout=30)
            taken = 0
            for _ in range(sized(50, 2_000)):
                try:
                    permit.take(each)
                except BudgetExceeded:
                    continue
                taken += 1
            return taken

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(take, range(8))) == 100
        assert permit.left == 0
