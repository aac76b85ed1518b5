"""The online mechanism: what it compares, what it charges, what it sees, and whether its error bars hold."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import dp, release
from discreet.dp.randomness import system
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from discreet.release import interactive, online_plan
from discreet.release.online_fit import Knowledge
from discreet.release.online_measure import Instrument
from discreet.release.online_plan import OnlinePlan, Purse
from discreet.release.online_truth import Truth
from discreet.release.reply import Route
from tests.broken import online as broken
from tests.closed_forms import mpf
from tests.construction_adversary import true_answer
from tests.online_tapes import (
    ADD_REMOVE,
    CELLS,
    LOSS,
    NEIGHBOUR,
    ONE,
    OTHER,
    SMALL,
    Tape,
    check_public,
    moment,
    opened,
    questions,
    reading,
)  # fmt: skip
from tests.sizes import sized
from tests.statistics import ALPHA

F = Fraction
BYPASSES = 10


def real(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


# What is compared, and what it costs.


def check_compared(make: type[release.Interactive]) -> None:
    """Every coin is that of the exact distance from the shown answer, the planned threshold and the planned slope."""
    with reading(Tape([])) as tape:
        online = opened(make, OTHER)
        for query in questions():
            before, estimate = len(tape.compared), online.model.answer(query)
            reply = online.ask(query)
            if reply.route is not Route.MODEL:
                assert len(tape.compared) == before
                continue
            ((steps, slope),) = tape.compared[before:]
            on_grid = Fraction(round(estimate * query.scale), query.scale)
            assert steps == math.floor(abs(true_answer(query, OTHER) - on_grid)) - online.plan.threshold
            assert slope == online.plan.tests
            assert reply.value == estimate
    assert tape.compared


def test_a_coin_compares_the_distance_of_the_exact_answer_from_the_shown_one_with_the_threshold() -> None:
    check_compared(release.Interactive)
    with pytest.raises(AssertionError):
        check_compared(broken.ThresholdOfPrivateRows)


def test_only_what_is_measured_is_charged_at_the_prices_of_the_plan() -> None:
    with reading(Tape([False, True, True, False])):
        online = opened(table=OTHER)
        purse = online.purse
        measurement = purse.charge(online.plan.loss_of_measurement) / purse.amount
        test = purse.charge(
            dp.ThresholdTest(threshold=0, sensitivity=CELLS, slope=online.plan.tests, cutoff=1).hit_loss
        )
        prior = purse.charge(online.plan.loss_of_prior) / purse.amount
        total = online.spent
        assert total == prior
        for query in questions():
            reply = online.ask(query)
            wanted = {Route.BYPASS: measurement, Route.MEASURED: measurement + test / purse.amount}
            assert reply.charged == wanted.get(reply.route, 0)
            total += reply.charged
            assert online.spent == total


def test_the_plan_keeps_within_the_purse_in_every_currency() -> None:
    """Guarantee: the prior, the opening of the gate and `hits` times a hit (a test and a measurement) cost at most the
    amount of the purse.
    """
    losses = [LOSS, dp.Loss.approximate(epsilon="0.1", delta="1e-9"), dp.Loss.pure(epsilon=1), dp.Loss.zcdp(rho="0.1")]
    for loss in losses:
        for shape in ((2,) * 6, (50,), (7, 1, 30)):
            for count in (1, 50, 5000):
                purse = Purse.of(loss)
                plan = OnlinePlan.of(purse, shape, CELLS, questions=count)
                gate = plan.gate()
                hit = purse.charge(plan.loss_of_measurement) + (purse.charge(gate.loss_of_hit) if gate else 0)
                whole = purse.charge(plan.loss_of_prior) + purse.charge(plan.loss_of_opening) + plan.hits * hit
                assert whole <= purse.amount
                assert whole > F(9, 10) * purse.amount


def adaptively() -> list[Any]:
    """Three questions; the second and the third depend on whether the one before was a hit."""
    second = [release.where(SMALL, one=1, three=3), release.where(SMALL, one=0, two=1)]
    third = [release.where(SMALL, three=[2, 3]), release.where(SMALL, one=1, two=2)]
    return [
        release.where(SMALL, two=2),
        lambda reply: second[reply.route is Route.MEASURED],
        lambda reply: third[reply.route is Route.MEASURED],
    ]


@pytest.mark.parametrize("tables", [(ONE, NEIGHBOUR), (NEIGHBOUR, ONE)])
def test_the_loss_of_all_coins_is_what_was_charged_on_every_path_of_a_tree(
    tables: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarantee: everything that is ever shown has the loss that was asked for, for any stream of questions, however
    they depend on earlier answers, and through crashes, as long as a state is resumed at most once.

    That what is released has the loss of its charge is shown in `test_online_measure`.
    """
    monkeypatch.setattr(online_plan, "_BYPASSES", 0)
    monkeypatch.setattr(interactive, "_FINE", 0.0)  # so that every question is tested
    assert moment(release.Interactive, adaptively(), tables) <= 1
    assert moment(broken.MissesCostNothingAndHitsNeither, adaptively(), tables) > 1
    assert moment(release.Interactive, adaptively(), tables, crashing=True) <= 1
    assert moment(broken.CounterReset, adaptively(), tables, crashing=True) > 1


# What is seen.


def test_nothing_but_coins_and_releases_depends_on_the_table() -> None:
    check_public(release.Interactive)


@pytest.mark.parametrize(
    "twin",
    [
        broken.LearnsTheTruth, broken.StartsFromPrivatePrior, broken.StepOfPrivateRows, broken.StopsByPrivateNorm,
        broken.ErrorOfTheTruth,
    ],
)  # fmt: skip
def test_what_is_computed_from_the_table_in_another_way_is_seen(twin: type[release.Interactive]) -> None:
    with pytest.raises(AssertionError):
        check_public(twin)


def test_a_repeated_question_gets_the_same_answer_and_is_not_tested_again() -> None:
    with reading(Tape([])) as tape:
        online = opened()
        first = online.ask(questions()[0])
        coins = len(tape.compared)
        again = online.ask(questions()[0])
        assert (again.value, again.error, again.route, again.charged) == (first.value, first.error, Route.REPEATED, 0)
        assert len(tape.compared) == coins


def test_many_at_once_are_one_by_one() -> None:
    for hits in ([False] * 9, [False, True, True]):
        replies = []
        for many in (False, True):
            with reading(Tape(hits)):
                online = opened(table=OTHER)
                workload = release.Workload(questions())
                replies.append(online.ask_many(workload) if many else [online.ask(query) for query in workload])
        assert replies[0] == replies[1]
    told: list[tuple[int, int]] = []
    opened().ask_many(release.ranges(SMALL, "three"), progress=lambda done, of: told.append((done, of)))
    assert told == [(10, 10)]


# Budgets.


def test_after_the_budget_the_model_answers_and_says_what_it_can_claim() -> None:
    universe = dp.Universe({f"c{i}": 2 for i in range(8)})
    table = np.random.default_rng(3).integers(0, 50, 256)
    with reading(Tape([True] * 99)):
        online = release.Interactive(universe, table, sensitivity=CELLS, loss=LOSS, questions=200)
        source, spent = np.random.default_rng(4), []
        for _ in range(120):
            columns = source.choice(8, 4, replace=False)
            reply = online.ask(release.where(universe, **{f"c{i}": int(source.integers(2)) for i in columns}))
            spent.append(online.spent)
    assert online.exhausted
    assert max(spent) <= 1
    assert online.ask(release.where(universe, **{f"c{i}": 0 for i in range(8)})).route is Route.EXHAUSTED
    assert not online.ask(release.where(universe, **{f"c{i}": 0 for i in range(8)})).certified
    covered = online.ask(release.where(universe, c0=0, c1=1))
    assert covered.certified
    assert reply.charged == 0


def test_an_exact_is_opened_with_a_permit_and_pays_from_it() -> None:
    account = dp.PrivacyFilter(dp.Budget(epsilon=1, delta="1e-9"))
    permit = account.reserve(dp.Loss.zcdp(rho="0.01"))
    reserved = permit.left
    online = release.Interactive(SMALL, dp.Exact(ONE, sensitivity=CELLS, unit="row"), permit=permit, questions=1000)
    replies = online.ask_many(questions())
    assert online.spent * reserved == reserved - permit.left - _held(online)
    assert all(reply.charged <= 1 for reply in replies)
    left = permit.left
    online.close()
    assert permit.left > left
    with pytest.raises(NotSupported):
        online.ask(questions()[0])


def _held(online: release.Interactive) -> Fraction:
    return sum((c.amount for c in (online._test, online._measurement) if c is not None), start=F(0))


def test_two_streams_on_one_account_interleaved_on_threads_spend_what_they_hold() -> None:
    account = dp.PrivacyFilter(dp.Budget(epsilon=1, delta="1e-9"))
    exact = dp.Exact(100 * ONE, sensitivity=CELLS, unit="row")
    permits = [account.reserve(dp.Loss.zcdp(rho="0.007")) for _ in range(2)]
    with pytest.raises(BudgetExceeded):
        account.reserve(dp.Loss.zcdp(rho="0.007"))
    streams = [release.Interactive(SMALL, exact, permit=permit, questions=1000) for permit in permits]
    before = account.spent

    def ask(stream: release.Interactive) -> list[release.Reply]:
        return [stream.ask(query) for _ in range(3) for query in questions()]

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(ask, [*streams, *streams]))
    assert account.spent == before
    assert all(permit.left >= 0 for permit in permits)
    assert all(stream.spent <= 1 for stream in streams)
    charged = [
        sum(r.charged for r in [*one, *two]) for one, two in ((replies[0], replies[2]), (replies[1], replies[3]))
    ]
    for stream, total in zip(streams, charged, strict=True):
        prior = stream.purse.charge(stream.plan.loss_of_prior) / stream.purse.amount
        assert stream.spent == prior + total


def test_pure_and_rho_budgets_work_with_a_hidden_threshold() -> None:
    for loss in (dp.Loss.pure(epsilon=20), dp.Loss.zcdp(rho=2)):
        online = opened(table=100 * ONE, loss=loss)
        replies = online.ask_many(questions())
        errors = [abs(float(true_answer(q, 100 * ONE)) - r.value) for q, r in zip(questions(), replies, strict=True)]
        assert max(errors) < 1500  # of 27,600 rows
        assert online.spent <= 1


def test_few_questions_are_all_measured() -> None:
    online = opened(table=100 * ONE, questions=7)
    replies = online.ask_many(questions())
    assert {reply.route for reply in replies} <= {Route.BYPASS, Route.SPAN, Route.REPEATED}
    seven = dp.Sensitivity.counting(neighbours=ADD_REMOVE, queries=7)
    each = float(dp.Gaussian(sensitivity=seven, epsilon=1, delta="1e-9").sigma)
    errors = [abs(float(true_answer(q, 100 * ONE)) - r.value) for q, r in zip(questions(), replies, strict=True)]
    assert np.sqrt(np.mean(np.square(errors))) < 6 * each


def test_it_is_far_better_than_noise_on_each_question() -> None:
    source = np.random.default_rng(5)
    universe = dp.Universe({f"c{i}": 3 for i in range(6)})
    hidden = source.integers(0, 3, 5000)
    rows = np.array([np.where(source.random(5000) < 0.7, hidden, source.integers(0, 3, 5000)) for _ in range(6)])
    table = universe.encode({f"c{i}": rows[i] for i in range(6)})
    count = 2000
    asked = [
        release.where(
            universe,
            **{f"c{i}": source.choice(3, 2, replace=False).tolist() for i in source.choice(6, 3, replace=False)},
        )
        for _ in range(count)
    ]
    online = release.Interactive(universe, table, sensitivity=CELLS, loss=LOSS, questions=count)
    truth = release.Workload(asked).answers(release.Marginals(table, universe.shape))
    missed = np.abs(truth - [reply.value for reply in online.ask_many(asked)])
    each = dp.Gaussian(
        sensitivity=dp.Sensitivity.counting(neighbours=ADD_REMOVE, queries=count), epsilon=1, delta="1e-9"
    )
    assert 2 * missed.mean() < math.sqrt(2 / math.pi) * float(each.sigma)


# Error bars.


def _covered(shrunk: float) -> tuple[int, int]:
    """How often the bar of a covered query holds, on fresh releases; `shrunk` makes the bars narrower."""
    runs = sized(400, 4000)
    plan = OnlinePlan.of(Purse.of(LOSS), SMALL.shape, CELLS, questions=1000)
    query, table = release.where(SMALL, one=0, three=[1, 2]), ONE
    truth, held = Truth(table, SMALL.shape), 0
    for _ in range(runs):
        knowledge = Knowledge(SMALL)
        for part in Instrument.of(plan).prior(truth, system()):
            for one in part:
                knowledge._keep(one)
        deviation = math.sqrt(knowledge.variance(query))
        held += abs(knowledge.direct(query) - float(true_answer(query, table))) <= 1.96 * shrunk * deviation
    return held, runs


def test_error_bars_hold_as_often_as_they_say() -> None:
    held, runs = _covered(1)
    assert stats.binom.cdf(held, runs, 0.95) > ALPHA
    assert stats.binom.sf(held - 1, runs, 0.95) > ALPHA  # and are no wider than they have to be
    narrow, runs = _covered(0.6)
    assert stats.binom.cdf(narrow, runs, 0.95) < ALPHA


def test_the_bar_of_a_miss_is_where_a_miss_is_as_rare_as_it_says() -> None:
    online = opened()
    gate = online._gate
    assert gate is not None
    bar = gate.bar(F(1, 20))
    chance = 1 / (1 + math.exp(float(online.plan.tests) * (bar - 1.5 - online.plan.threshold)))
    assert chance == pytest.approx(0.05, rel=1e-6)


def test_variances_of_products_and_of_tables_of_weights_agree() -> None:
    plan = OnlinePlan.of(Purse.of(LOSS), SMALL.shape, CELLS, questions=1000)
    knowledge = Knowledge(SMALL)
    for part in Instrument.of(plan).prior(Truth(ONE, SMALL.shape), system()):
        knowledge.learn(part)
    for query in (release.where(SMALL, one=0, three=[1, 2]), release.where(SMALL, two=[0, 2]), release.where(SMALL)):
        inside = query.complement().complement()
        table = release.predicate(SMALL, np.ones((2, 3, 4), bool), ["one", "two", "three"])
        assert table.axes == ()
        general = sum(_general(knowledge, inside))
        assert knowledge.variance(query) == pytest.approx(general, rel=1e-9)


def _general(knowledge: Knowledge, query: release.LinearQuery) -> list[float]:
    from discreet.release.effects import coordinates
    from discreet.release.online_fit import subsets

    found, weights = [], query.weights() / query.scale
    for part in subsets(query.axes):
        gone = tuple(place for place, axis in enumerate(query.axes) if axis not in part)
        rest = math.prod(query.cells[place] for place in gone)
        own = coordinates(weights.sum(axis=gone), tuple(query.shape[axis] for axis in part)) / rest
        found.append(float(own @ own) / knowledge.precisions[part])
    return found


# Refusals, and what a result does not show.


def test_what_cannot_be_answered_is_refused_and_costs_nothing() -> None:
    online = opened()
    spent = online.spent
    for wrong in (7, "one", [questions()[0]], None, release.marginal(SMALL, "one"), {}):
        with pytest.raises(InvalidParameter):
            online.ask(wrong)  # type: ignore[arg-type]
    other = dp.Universe({"one": 2, "two": 4})
    with pytest.raises(InvalidParameter, match="another universe"):
        online.ask(release.where(other, one=0))
    with pytest.raises(InvalidParameter):
        online.ask_many([questions()[0], release.where(other, one=0)])
    assert online.spent == spent


@pytest.mark.parametrize(
    "wrong",
    [
        {"questions": 0}, {"questions": "many"}, {"loss": dp.Loss.gaussian(mu=1)}, {"loss": None},
        {"sensitivity": None}, {"confidence": 1}, {"table": np.ones(5, int)}, {"table": np.ones(24)},
        {"sensitivity": dp.Sensitivity(l2=1, neighbours=ADD_REMOVE)},
    ],
)  # fmt: skip
def test_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises((InvalidParameter, NotSupported, BudgetExceeded)):
        opened(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("table", [np.zeros(24, int), np.eye(1, 24, 5, int)[0], 10**6 * np.eye(1, 24, 5, int)[0]])
def test_an_empty_table_one_row_and_all_rows_in_one_cell_work(table: np.ndarray) -> None:
    online = opened(table=table)
    replies = online.ask_many(questions())
    assert all(math.isfinite(reply.value) for reply in replies)


def test_one_cell_and_one_column_work() -> None:
    for universe, table in ((dp.Universe({"only": 1}), np.array([500])), (dp.Universe({"age": 300}), np.arange(300))):
        online = release.Interactive(universe, table, sensitivity=CELLS, loss=LOSS, questions=1000)
        reply = online.ask(release.where(universe))
        assert abs(reply.value - table.sum()) < 2000


def test_a_unit_of_several_rows_gets_more_noise_and_no_other_price() -> None:
    three = dp.Sensitivity(l1=3, neighbours=ADD_REMOVE)
    one, many = opened(), opened(sensitivity=three)
    assert many.plan.threshold >= 3 * one.plan.threshold - 3
    assert many.spent == one.spent


@pytest.mark.parametrize(
    "sensitivity",
    [
        CELLS,
        dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE),
        dp.Sensitivity(l1=9, l2=3, neighbours=ADD_REMOVE),
    ],
)
def test_what_a_measurement_will_say_of_a_query_is_known_before_it_is_made(sensitivity: dp.Sensitivity) -> None:
    online = opened(table=OTHER, sensitivity=sensitivity)
    query = release.where(SMALL, one=0, two=[0, 1], three=[2, 3])
    expected = online._instrument._deviation_around(query, online.knowledge)  # type: ignore[attr-defined]
    assert online.ask(query).route is Route.BYPASS
    assert online._deviation(query) == pytest.approx(expected, rel=1e-6)


def test_long_ranges_of_a_large_column_are_measured_by_themselves() -> None:
    universe = dp.Universe({"age": 3000})
    table = np.zeros(3000, int)
    table[:1000] = 100
    online = release.Interactive(universe, table, sensitivity=CELLS, loss=LOSS, questions=5000)
    cell, half = release.where(universe, age=7), release.where(universe, age=range(1500))
    assert online._instrument.measures_marginal(cell, online.knowledge)
    assert not online._instrument.measures_marginal(half, online.knowledge)
    reply = online.ask(half)
    assert reply.route in (Route.BYPASS, Route.MEASURED, Route.MODEL, Route.SPAN)


def test_nothing_private_is_printed_and_nothing_is_copied() -> None:
    import copy
    import pickle

    online, other = opened(), opened(table=OTHER)
    assert repr(online) == repr(other)
    assert repr(online._truth) == "<private>"
    for thing in (online, online._truth):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                way(thing)
