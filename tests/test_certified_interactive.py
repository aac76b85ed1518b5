"""The certified online mechanism: worst noise within its bounds never breaks what was stated in advance."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.randomness import Stream
from discreet.dp.rational import float_up
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.certified_plan import CertifiedPlanner
from discreet.release.online_gate import LogisticGate, SparseGate
from discreet.release.reply import Route
from discreet.release.rows import RowCount
from tests.broken import online as broken
from tests.construction_adversary import subsets, table, true_answer
from tests.online_tapes import CELLS, SMALL, moment, opened
from tests.sizes import sized

F = Fraction
UNIVERSE = dp.Universe({"one": 2, "two": 4})
ROWS = 40_000
LOSS = dp.Loss.approximate(epsilon=1, delta="1e-9")
BETA = F(1, 20)
QUESTIONS = 10_000  # many more than hits: the model has to learn
NONE = F(0)


def certified(histogram: np.ndarray, **more: object) -> release.CertifiedInteractive:
    given: dict[str, object] = {
        "sensitivity": CELLS, "loss": LOSS, "questions": QUESTIONS, "failure_probability": BETA,
        "rows": release.Rows(ROWS, error=50), **more,
    }  # fmt: skip
    return release.CertifiedInteractive(UNIVERSE, histogram, **given)  # type: ignore[arg-type]


class Worst:
    """Coins and values that are as misleading as the event of the certificate allows."""

    def __init__(
        self, online: release.CertifiedInteractive, *, eager: bool, sign: int, excess: Fraction = NONE
    ) -> None:
        self.plan, self.eager, self.sign, self.excess = online.plan, eager, sign, excess
        self.hits = 0

    def is_above(self, value: int, stream: Stream) -> bool:
        width = self.plan.width + self.excess
        above = value > self.plan.threshold - width if self.eager else value >= self.plan.threshold + width
        self.hits += above
        return above

    def noisy(self, count: int, scale: int, stream: Stream) -> Fraction:
        return Fraction(count, scale) + self.sign * self.plan.noise * (-1) ** (self.hits if abs(self.sign) > 1 else 0)


def worst_error(
    histogram: np.ndarray,
    *,
    eager: bool,
    sign: int,
    excess: Fraction = NONE,
    asked: int = sized(60, 200),
    **more: object,
) -> tuple[Fraction, int, release.CertifiedInteractive]:
    """The greatest error and the number of updates, where each question is the one answered worst."""
    online = certified(histogram, **more)
    worst = Worst(online, eager=eager, sign=sign, excess=excess)
    workload = subsets(UNIVERSE, 24, seed=3)
    queries = list(workload)
    truth = [true_answer(query, histogram) for query in queries]
    greatest = F(0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LogisticGate, "is_above", lambda self, value, stream: worst.is_above(value, stream))
        patched.setattr(type(online), "_noisy", lambda self, count, scale, stream: worst.noisy(count, scale, stream))
        for _ in range(asked):
            gaps = [abs(float(t) - online.model.answer(q)) for t, q in zip(truth, queries, strict=True)]
            number = int(np.argmax(gaps))
            online._answered.clear()
            reply = online.ask(queries[number])
            greatest = max(greatest, abs(truth[number] - Fraction(reply.value)))
            if reply.route is Route.MODEL:
                break
    return greatest, worst.hits, online


@pytest.mark.parametrize("rule", [release.MultiplicativeWeights, release.ShortenedProjection])
@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_worst_noise_within_its_bounds_never_breaks_the_certificate(
    rule: type[release.MultiplicativeWeights], eager: bool, sign: int
) -> None:
    """Guarantee: but for the failure probability, no answer to one of the `questions` is off by more than
    `certified_error`, and no more than `hits` are measured.
    """
    for seed in range(2):
        histogram = table(UNIVERSE, ROWS, seed, concentration=0.15)
        greatest, hits, online = worst_error(histogram, eager=eager, sign=sign, rule=rule)
        assert greatest <= online.certified_error
        assert hits <= online.update.bound(online.plan.level, noise=online.plan.noise) <= online.plan.hits


@pytest.mark.parametrize("rule", [release.MultiplicativeWeights, release.ShortenedProjection])
@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("questions", [1, 30])
def test_few_questions_may_all_be_hits_and_then_nothing_need_be_learned(
    rule: type[release.MultiplicativeWeights], eager: bool, questions: int
) -> None:
    histogram = table(UNIVERSE, ROWS, 0, concentration=0.15)
    for sign in (1, -1):
        greatest, hits, online = worst_error(
            histogram, eager=eager, sign=sign, rule=rule, questions=questions, asked=questions
        )
        assert greatest <= online.certified_error < F(ROWS, 10)
        assert hits <= questions == online.plan.hits
    learning = certified(histogram, rule=rule, questions=10**6).plan
    assert learning.hits < 10**6


@pytest.mark.parametrize("up", [True, False])
def test_the_loss_of_all_coins_is_what_was_charged_on_every_path_of_a_tree(
    up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarantee: everything that is ever shown has the loss that was asked for, as of `Interactive`, and so has the
    number of rows where it is measured.

    What a hit measures is released by the `dp.Gaussian` that is charged, and rows by the `dp.Laplace` that is.
    """
    histogram = np.repeat([1900, 1000, 100], [6, 12, 6])
    tables = (histogram, histogram + (np.arange(24) == 23))[:: 1 if up else -1]
    asked = [release.where(SMALL, two=2), release.where(SMALL, one=1, three=3), release.where(SMALL, three=[2, 3])]

    def made(kind: type[release.CertifiedInteractive]) -> Any:
        return partial(kind, failure_probability=BETA, rows=release.Rows(24_000, error=50))

    plan = opened(made(release.CertifiedInteractive), histogram).plan
    monkeypatch.setattr(CertifiedPlanner, "plan", lambda self, larger: plan)  # public, and the same again and again
    assert moment(made(release.CertifiedInteractive), asked, tables) <= 1
    assert moment(made(broken.RefundsCertifiedHits), asked, tables) > 1


def test_noise_beyond_its_bounds_breaks_it() -> None:
    histogram = table(UNIVERSE, ROWS, 0, concentration=0.05)
    online = certified(histogram)
    greatest, _, _ = worst_error(histogram, eager=False, sign=1, excess=2 * online.certified_error)
    assert greatest > online.certified_error


def test_true_noise_keeps_it_on_a_long_stream() -> None:
    histogram = table(UNIVERSE, ROWS, 1, concentration=0.1)
    online = certified(histogram)
    queries = list(subsets(UNIVERSE, 160, seed=5))[:QUESTIONS]
    replies = online.ask_many(queries)
    errors = [abs(float(true_answer(q, histogram)) - r.value) for q, r in zip(queries, replies, strict=True)]
    assert max(errors) <= float(online.certified_error) <= ROWS / 2
    assert {reply.error for reply in replies} <= {float_up(online.certified_error)}
    assert online.spent <= 1


def test_the_numbers_follow_from_public_facts_and_are_stated_first() -> None:
    one, other = certified(table(UNIVERSE, ROWS, 0)), certified(table(UNIVERSE, 10, 5))
    assert one.plan == other.plan
    assert one.certified_error == one.plan.threshold + one.plan.width + F(3, 2)
    assert one.plan.threshold - one.plan.width - F(3, 2) >= one.plan.level > one.plan.noise
    assert one.update.bound(one.plan.level, noise=one.plan.noise) <= one.plan.hits


def test_the_purse_pays_all_hits_in_every_currency() -> None:
    for loss in (LOSS, dp.Loss.pure(epsilon=1), dp.Loss.zcdp(rho="0.05")):
        online = certified(table(UNIVERSE, ROWS, 0), loss=loss)
        plan, purse, gate = online.plan, online.purse, online._gate
        assert gate is not None
        assert isinstance(gate, LogisticGate if purse.is_renyi else SparseGate)
        each = purse.charge(gate.loss_of_hit) + purse.charge(plan.measurement.loss)
        assert purse.charge(plan.loss_of_opening) + plan.hits * each <= purse.amount


def test_rows_are_paid_where_they_are_private_and_asked_for_where_they_are_public() -> None:
    histogram = table(UNIVERSE, ROWS, 0)
    counting = RowCount._release
    with pytest.MonkeyPatch.context() as patched:
        scales: list[Fraction] = []
        patched.setattr(
            RowCount, "_release", lambda self, *given: (scales.append(self.noise.scale), counting(self, *given))[1]
        )
        counted = certified(histogram, rows=None)
    (scale,) = scales
    assert counted.spent * counted.purse.amount == counted.purse.charge(dp.Loss.pure(epsilon=1 / scale))
    assert abs(counted.rows.estimate - ROWS) <= 4 * counted.rows.error  # which fails with probability (1 / 80)^4
    assert counted.spent > 0
    replaced = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)
    assert certified(histogram, rows=ROWS, sensitivity=replaced).rows.error == 0
    with pytest.raises(InvalidParameter, match="their number is public"):
        certified(histogram, rows=None, sensitivity=replaced)
    with pytest.raises(InvalidParameter, match="their number is private"):
        certified(histogram, rows=ROWS)


def test_a_budget_that_certifies_nothing_is_refused_with_the_line_to_change() -> None:
    with pytest.raises(
        InvalidParameter, match=r"Write for instance loss=dp\.Loss\.approximate\(epsilon=(\d+)"
    ) as caught:
        certified(table(UNIVERSE, 500, 0), rows=release.Rows(500, error=5))
    larger = float(str(caught.value).split("epsilon=")[1].split(",")[0])
    enough = dp.Loss.approximate(epsilon=larger, delta="1e-9")
    assert certified(table(UNIVERSE, 500, 0), rows=release.Rows(500, error=5), loss=enough).certified_error < 500
    with pytest.raises(InvalidParameter, match="exact values only"):
        certified(table(UNIVERSE, ROWS, 0), rule=release.EntropyProjection)


def test_a_refusal_after_the_rows_were_measured_says_that_they_were_paid() -> None:
    few = table(UNIVERSE, 500, 0)
    with pytest.raises(InvalidParameter, match=r"2% of the loss is spent on it") as caught:
        certified(few, rows=None)
    again = str(caught.value).split("write rows=release.")[1].rstrip(".")
    rows = eval(again, {"Rows": release.Rows})
    assert abs(rows.estimate - 500) <= 2 * rows.error
    enough = dp.Loss.approximate(epsilon=50, delta="1e-9")
    assert certified(few, rows=rows, loss=enough).rows == rows
    with pytest.raises(InvalidParameter) as unpaid:
        certified(few, rows=release.Rows(500, error=5))
    assert "spent" not in str(unpaid.value)


def test_a_coin_that_fell_is_counted_whatever_breaks_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no claim is below the certificate by a rounding."""
    online = certified(table(UNIVERSE, ROWS, 0))
    query = next(iter(subsets(UNIVERSE, 20, seed=8)))
    assert online._gate is not None
    with monkeypatch.context() as patched:
        patched.setattr(type(online._gate), "is_above", lambda *_: True)
        patched.setattr(type(online), "_updated", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            online.ask(query)
    assert online._coins == 1
    with pytest.raises(NotSupported):
        online.ask(query)
    reply = certified(table(UNIVERSE, ROWS, 0)).ask(query)
    assert reply.error is not None
    assert Fraction(repr(reply.error)) >= online.certified_error


def test_more_questions_than_planned_claim_nothing() -> None:
    online = certified(table(UNIVERSE, ROWS, 0), questions=3)
    queries = list(subsets(UNIVERSE, 20, seed=8))[:6]
    claims = [reply.error is not None for reply in online.ask_many(queries)]
    assert claims == [True] * 3 + [False] * 3


@pytest.mark.parametrize("closed", [True, False])
def test_a_journal_goes_on_with_what_is_left_and_counts_questions_that_may_have_been_asked(
    closed: bool, tmp_path: Path
) -> None:
    histogram, file = table(UNIVERSE, ROWS, 0, concentration=0.05), tmp_path / "online"
    online = certified(histogram, journal=file, questions=1100)
    replies = online.ask_many(list(subsets(UNIVERSE, 30, seed=8)))
    assert any(reply.route is Route.MEASURED for reply in replies)
    spent, model = online.spent, online.model.cells.copy()
    assert online._journal is not None
    if closed:
        online.close()
    else:
        online._journal.close()  # as a crash does
    again = certified(histogram, journal=file, questions=1100)
    assert (again.spent > spent) is not closed  # what was held is lost
    assert np.allclose(again.model.cells, model)
    claims = [reply.certified for reply in again.ask_many(list(subsets(UNIVERSE, 160, seed=9)))]
    assert all(claims) is closed  # without a close, all questions of the block count as asked
    with pytest.raises(NotSupported):
        certified(histogram, journal=file, questions=1100)
