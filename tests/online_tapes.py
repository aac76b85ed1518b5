"""Online mechanisms with all chance read from a tape: what is then still different between two tables was leaked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.release import online_gate
from discreet.release.effects import MeasuredEffects
from discreet.release.reply import Reply
from tests.closed_forms import mp, mpf
from tests.noise_laws import real

ADD_REMOVE = dp.Neighbours.ADD_REMOVE
CELLS = dp.Sensitivity.histogram(neighbours=ADD_REMOVE)
LOSS = dp.Loss.approximate(epsilon=1, delta="1e-9")
SMALL = dp.Universe({"one": 2, "two": 3, "three": 4})
ONE, OTHER = np.arange(24) * 10, np.r_[np.zeros(20, int), 5000, 0, 0, 7]
NEIGHBOUR = ONE + (np.arange(24) == 23)

GIVEN: dict[str, Any] = {"sensitivity": CELLS, "loss": LOSS, "questions": 1000}

Make = Callable[..., release.Interactive]


def questions(universe: dp.Universe = SMALL) -> list[release.LinearQuery]:
    """Cells, ranges, conjunctions, everything, nothing, a weighted column, and one twice."""
    first = release.where(universe, one=0, two=[0, 1], three=2)
    return [
        first,
        release.where(universe, one=1, three=[0, 3]),
        release.where(universe, two=2),
        first,
        release.where(universe),
        release.weighted(universe, "three", [0, "0.25", "0.5", 1]),
        release.where(universe, one=1, two=0, three=[1, 2, 3]),
        release.predicate(universe, lambda one, three: one == three, ["one", "three"]),
    ]


def opened(make: Make = release.Interactive, table: np.ndarray = ONE, **more: Any) -> release.Interactive:
    return make(SMALL, table, **{**GIVEN, **more})


@dataclass
class Tape:
    """Coins that fall as told, and releases that are the same whatever the table is; keeps what was compared."""

    hits: Sequence[bool]
    compared: list[tuple[int, Fraction]] = field(default_factory=list)
    released: list[np.ndarray] = field(default_factory=list)
    scale: float = 1.0
    _source: np.random.Generator = field(default_factory=lambda: np.random.default_rng(11))

    def coin(self, stream: object, steps: int, slope: Fraction) -> bool:
        place = len(self.compared)
        self.compared.append((steps, slope))
        return place < len(self.hits) and self.hits[place]

    def effects(self, measurement: MeasuredEffects, values: object, stream: object) -> np.ndarray:
        drawn = self.scale * self._source.normal(100, 50, len(measurement.effects.owner))
        self.released.append(drawn)
        return drawn

    def number(self, noise: dp.Gaussian, values: object, stream: object) -> int:
        drawn = int(self.scale * self._source.integers(-20, 500))
        self.released.append(np.array([drawn]))
        return drawn


@contextmanager
def reading(tape: Tape) -> Iterator[Tape]:
    """All chance from a tape, as long as the block lasts."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(online_gate, "coin", tape.coin)
        patched.setattr(MeasuredEffects, "_release", lambda self, values, stream: tape.effects(self, values, stream))
        patched.setattr(dp.Gaussian, "_release", lambda self, values, stream: tape.number(self, values, stream))
        yield tape


def public_view(make: Make, table: np.ndarray, hits: Sequence[bool], **more: Any) -> list[object]:
    """Everything that can be seen of a run on a tape: replies, plan, budget, model, states."""
    states: list[bytes] = []
    with reading(Tape(hits)):
        online = opened(make, table, save=states.append, **more)
        seen: list[object] = [repr(online), str(online.plan)]
        for query in questions():
            reply = online.ask(query)
            seen += [reply, str(reply), online.spent, online.exhausted, online.model.cells.tobytes()]
        seen += [online.state(), *states]
    return seen


def check_public(make: Make) -> None:
    """Between two tables, the same coins and the same releases make the same bytes."""
    for hits in ([False] * 9, [True] * 9, [False, True, False, False, True]):
        assert public_view(make, ONE, hits) == public_view(make, OTHER, hits), "the table was seen past what was paid"


Asked = Sequence[release.LinearQuery | Callable[[Reply], release.LinearQuery]]
"""Questions; a function makes its question of the reply to the one before."""


def coin_tree(
    make: Make, asked: Asked, tables: tuple[np.ndarray, np.ndarray], *, crashing: bool = False
) -> list[tuple[list[tuple[int, Fraction]], list[tuple[int, Fraction]], tuple[bool, ...], Fraction]]:
    """For every way the coins can fall: what they compared on both tables, how they fell, and what was spent on it.

    If it is `crashing`, then after every answer, and what goes on has nothing but the last state that was saved.
    """

    def run(table: np.ndarray, hits: tuple[bool, ...]) -> tuple[list[tuple[int, Fraction]], Fraction, list[Reply]]:
        states: list[bytes] = []
        replies: list[Reply] = []
        with reading(Tape(hits)) as tape:
            online = opened(make, table, save=states.append)
            before = online.spent
            for one in asked:
                replies.append(online.ask(one if isinstance(one, release.LinearQuery) else one(replies[-1])))
                if crashing:
                    online = make.resume(states[-1], SMALL, table, **GIVEN, save=states.append)  # type: ignore[attr-defined]
        return tape.compared, online.spent - before, replies

    leaves = []
    stack: list[tuple[bool, ...]] = [()]
    while stack:
        hits = stack.pop()
        (one, spent, replies), (other, again, same) = (run(table, hits) for table in tables)
        assert len(one) == len(other)
        assert (spent, replies) == (again, same)
        if len(one) > len(hits):
            stack += [(*hits, False), (*hits, True)]
        else:
            leaves.append((one, other, hits, spent))
    return leaves


def moment(make: Make, asked: Asked, tables: tuple[np.ndarray, np.ndarray], *, crashing: bool = False) -> mpf:
    """E'[L^a exp(-N)] of the coins, summed exactly over all ways they can fall.

    N is (a - 1) times what was charged for them. The releases are the same on both tables here, and their share of the
    charge is left out. Of what is held when it crashes, all counts as charged for coins.
    """
    online = opened(make, tables[0])
    order, amount = real(online.purse.budget.order), online.purse.amount
    each = online._prices[1]
    total = mpf(0)
    for one, other, hits, spent in coin_tree(make, asked, tables, crashing=crashing):
        assert len(hits) == len(asked)
        ratio = mpf(1)
        for (here, slope), (there, _), hit in zip(one, other, hits, strict=True):
            sign = -1 if hit else 1
            p, q = (1 / (1 + mp.exp(sign * real(slope) * steps)) for steps in (here, there))
            ratio *= p**order * q ** (1 - order)
        tests = spent * amount - sum(hits) * online.purse.charge(each)
        total += ratio * mp.exp(-(order - 1) * real(tests))
    return total
