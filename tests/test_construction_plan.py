"""The numbers of a construction: in closed form, within the loss that was asked for, and for every odd table."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.construction_plan import Planner
from tests.closed_forms import mp, mpf
from tests.construction_adversary import SMALL
from tests.construction_loops import (
    ADD,
    DISTINGUISHERS,
    LOSSES,
    MANY,
    QUERIES,
    REPLACE,
    certified_updates,
    construction,
    errors,
    histogram,
)
from tests.noise_laws import real
from tests.sizes import sized

F = Fraction
BEST, NOTES = release.Calibration.BEST, release.Calibration.NOTES
SURE = F(1, 10**9)


def planner(made: release.IterativeConstruction, loss: dp.Loss, calibration: release.Calibration) -> Planner:
    return Planner(made.update, made.distinguisher, loss, made.failure_probability, calibration)


def chance_beyond(measurement: Any, steps: Fraction) -> mpf:
    """P(noise beyond so many steps): of discrete Laplace noise, or at least that of rounded Gaussian noise."""
    if isinstance(measurement, dp.Laplace):
        q = mp.exp(-1 / real(measurement.scale))
        return 2 * q ** (int(steps) + 1) / (1 + q)
    return mp.erfc((int(steps) + mpf(1) / 2) / real(measurement.sigma) / mp.sqrt(2))


class TestClosedForms:
    @pytest.mark.parametrize("kind", DISTINGUISHERS)
    @pytest.mark.parametrize(("loss", "calibration"), LOSSES)
    def test_the_parts(self, loss: dp.Loss, calibration: release.Calibration, kind: Any) -> None:
        """With probability 1 - failure_probability no value is further off than `noise`, no choice than `slack`."""
        made = construction(certified_updates()[0], loss, calibration, kind=kind)
        plan, beta, step = made.plan, real(made.failure_probability), QUERIES.scale
        values = 1 - (1 - chance_beyond(plan.measurement, plan.noise * step)) ** plan.updates
        assert values <= beta / 2
        if calibration is BEST:  # in the notes' it is alpha / 8, of which a little is left
            assert values > beta / 2 * mpf("0.9")
        choices = 2 / real(plan.epsilon_of_choice) * mp.log(len(QUERIES) * plan.updates / (beta / 2))
        assert real(plan.slack) >= choices
        if calibration is BEST:
            assert real(plan.slack) <= choices + 1
        assert plan.stop - plan.noise >= plan.level > plan.noise
        assert made.update.bound(plan.level) <= plan.updates
        assert made.certified_error == plan.certified_error < made.update.first_error

    @pytest.mark.parametrize(("loss", "calibration"), [pair for pair in LOSSES if pair[1] is NOTES])
    def test_the_corrected_theorem_5(self, loss: dp.Loss, calibration: release.Calibration) -> None:
        """Noise alpha / 8, stop below 5 alpha / 8, slack alpha / 4, updates at alpha / 2; epsilon / (2 B) each, or
        epsilon / (4 sqrt(B ln 1/delta))."""
        made = construction(certified_updates()[1], loss, calibration)
        plan, alpha = made.plan, made.certified_error
        assert (plan.noise, plan.stop, plan.slack, plan.level) == (alpha / 8, 5 * alpha / 8, alpha / 4, alpha / 2)
        each = real(F(10)) / (2 * plan.updates)
        if loss is LOSSES[3][0]:
            each = real(F(10)) / (4 * mp.sqrt(plan.updates * mp.log(mpf(10) ** 9)))
        assert plan.epsilon_of_choice is not None
        assert each * (1 - mpf(2) ** -60) <= real(plan.epsilon_of_choice) <= each * (1 + mpf(2) ** -60)
        assert isinstance(plan.measurement, dp.Laplace)
        assert plan.measurement.scale == QUERIES.scale / plan.epsilon_of_choice
        beta = real(made.failure_probability)
        least = max(
            8 * real(plan.measurement.scale) / QUERIES.scale * mp.log(2 * plan.updates / beta),
            8 / each * mp.log(2 * len(QUERIES) * plan.updates / beta),
            2 * mpf(MANY) * mp.sqrt(4 * mp.log(8) / plan.updates),
        )
        assert least * mpf("0.99") <= real(alpha) <= least * mpf("1.01") + 8

    @pytest.mark.parametrize("kind", DISTINGUISHERS)
    @pytest.mark.parametrize(("loss", "calibration"), LOSSES)
    @pytest.mark.parametrize("relation", [ADD, REPLACE])
    def test_the_loss_is_at_most_what_was_asked_for(
        self, loss: dp.Loss, calibration: release.Calibration, kind: Any, relation: dp.Neighbours
    ) -> None:
        """`updates` choices and as many measurements, counted one by one."""
        made = construction(
            certified_updates()[2], loss, calibration, kind=kind, sensitivity=histogram(relation)
        )  # fmt: skip
        plan = made.plan
        choice, value = made.distinguisher.loss(plan.epsilon_of_choice or 0), plan.measurement
        assert value is not None
        if loss.epsilon(delta=0) == 10:
            each = choice.epsilon(delta=0) + value.loss.epsilon(delta=0)
            assert 0.999 * 10 <= plan.updates * each <= 10 * (1 + 1e-12)
            assert made.loss.epsilon(delta=0) == 10 or calibration is BEST
            assert made.loss.epsilon(delta=0) <= 10
        elif isinstance(loss, type(dp.Loss.zcdp(rho=1))):
            rho = (choice.rho_bound() or 99) + (value.loss.rho_bound() or 99)
            assert F(999, 1000) * 2 <= plan.updates * rho <= 2
        else:
            assert made.loss.epsilon(delta=F(1, 10**9)) <= 10
            assert made.loss.delta(epsilon=10) <= 1e-9

    def test_no_other_number_of_updates_certifies_much_less(self) -> None:
        for loss, calibration in LOSSES[: sized(3, 5)]:
            made = construction(certified_updates()[0], loss, calibration)
            other = planner(made, loss, calibration)
            tried = {*range(1, 40), *(round(made.plan.updates * share) for share in (0.5, 0.8, 0.9, 1.1, 1.3, 2, 5))}
            least = min(plan.certified_error for plan in map(other._try, tried) if plan is not None)
            assert made.certified_error <= least * F(1001, 1000)

    def test_a_larger_budget_or_fewer_queries_certify_less(self) -> None:
        update = certified_updates()[0]
        found = [construction(update, dp.Loss.pure(epsilon=e)).certified_error for e in (5, 10, 20)]
        assert found == sorted(found, reverse=True)
        few = release.Workload([QUERIES.query(0), QUERIES.query(1)])
        assert construction(update, workload=few).certified_error < construction(update).certified_error

    def test_units_of_many_rows_scale_noise_and_slack(self) -> None:
        """As many rows, as many times the noise and the slack, at the same number of updates."""
        for relation, (loss, calibration) in itertools.product((ADD, REPLACE), LOSSES):
            plans = []
            for rows in (1, 7):
                distinguisher = release.ExponentialDistinguisher(QUERIES, sensitivity=histogram(relation, rows))
                update = certified_updates()[2]
                plan = Planner(update, distinguisher, loss, F(1, 20), calibration)._try(5)
                assert plan is not None
                plans.append(plan)
            one, seven = plans
            assert seven.loss_of_choice == one.loss_of_choice
            if calibration is BEST:
                assert abs(seven.noise - 7 * one.noise) <= F(7, QUERIES.scale)
                assert abs(seven.slack / one.slack - 7) < F(1, 100)
            scales = [
                getattr(plan.measurement, "scale", None) or getattr(plan.measurement, "sigma", None) for plan in plans
            ]
            assert abs(scales[1] / scales[0] - 7) < F(1, 10**6)


class TestOddTables:
    """Each works, or is refused with the line to change."""

    def made(self, universe: dp.Universe, workload: Any, update: Any, **changed: Any) -> release.IterativeConstruction:
        sensitivity = changed.pop("sensitivity", histogram(REPLACE))
        distinguisher = release.ExponentialDistinguisher(workload, sensitivity=sensitivity)
        facts: dict[str, Any] = {"loss": dp.Loss.pure(epsilon=30), "failure_probability": SURE} | changed
        return release.IterativeConstruction(universe, workload, update=update, distinguisher=distinguisher, **facts)

    def test_one_cell(self) -> None:
        universe = dp.Universe({"cell": 1})
        workload = release.Workload([release.marginal(universe, "cell")])
        made = self.made(universe, workload, release.MultiplicativeWeights(universe, rows=50))
        assert (made.plan.updates, made.certified_error, made.loss.epsilon(delta=0)) == (0, 0, 0)
        run = made.run(np.array([50]), sensitivity=histogram(REPLACE))
        assert (run.finished, run.certified_error, run.structure.answer(workload.query(0))) == (True, 0, 50)
        about = release.Rows(50, error=3)
        made = self.made(
            universe, workload, release.MultiplicativeWeights(universe, rows=about), sensitivity=histogram(ADD)
        )
        assert made.certified_error == 3
        free = dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(dp.Loss.pure(epsilon=1))
        exact = dp.Exact(np.array([52]), sensitivity=histogram(ADD), unit="row")
        assert made.open(exact, free).certified_error == 3
        assert free.left == 1

    def test_no_rows(self) -> None:
        none = self.made(SMALL, QUERIES, release.MultiplicativeWeights(SMALL, rows=0))
        run = none.run(np.zeros(8, np.int64), sensitivity=histogram(REPLACE))
        assert (run.certified_error, max(errors(run.structure, QUERIES, np.zeros(8, np.int64)))) == (0, 0)
        about = release.MultiplicativeWeights(SMALL, rows=release.Rows(F(1, 1000), error=300))  # as measured, perhaps
        with pytest.raises(InvalidParameter, match="too small for this many cells"):
            self.made(SMALL, QUERIES, about, sensitivity=histogram(ADD), loss=dp.Loss.pure(epsilon=F(1, 1000)))
        kaczmarz = release.KaczmarzProjection(SMALL, QUERIES, square_bound=5000**2)
        made = self.made(SMALL, QUERIES, kaczmarz, sensitivity=histogram(ADD))
        run = made.run(np.zeros(8, np.int64), sensitivity=histogram(ADD))
        assert max(errors(run.structure, QUERIES, np.zeros(8, np.int64))) <= made.certified_error

    def test_an_empty_table_whose_row_count_is_off(self) -> None:
        """n = 0, and a public estimate that is as wrong as it says it may be."""
        rows = release.Rows(200, error=200)
        made = self.made(
            SMALL, QUERIES, release.MultiplicativeWeights(SMALL, rows=rows), sensitivity=histogram(ADD),
            loss=dp.Loss.pure(epsilon=10**5),
        )  # fmt: skip
        run = made.run(np.zeros(8, np.int64), sensitivity=histogram(ADD))
        assert max(errors(run.structure, QUERIES, np.zeros(8, np.int64))) <= made.certified_error < 400

    def test_one_row(self) -> None:
        one = np.eye(8, dtype=np.int64)[3]
        update = release.MultiplicativeWeights(SMALL, rows=1)
        with pytest.raises(InvalidParameter, match=r"loss=dp\.Loss\.pure"):
            self.made(SMALL, QUERIES, update)
        made = self.made(SMALL, QUERIES, update, loss=dp.Loss.pure(epsilon=10**6))
        run = made.run(one, sensitivity=histogram(REPLACE))
        assert max(errors(run.structure, QUERIES, one)) <= made.certified_error < 1

    @pytest.mark.parametrize("rule", range(7))
    def test_all_rows_in_one_cell(self, rule: int) -> None:
        data = np.eye(8, dtype=np.int64)[5] * MANY
        made = self.made(SMALL, QUERIES, certified_updates()[rule])
        run = made.run(data, sensitivity=histogram(REPLACE))
        assert max(errors(run.structure, QUERIES, data)) <= made.certified_error

    def test_duplicates_and_impossible_queries(self) -> None:
        nobody, half = release.where(SMALL, one=[]), release.where(SMALL, one=[0])
        workload = release.Workload([half, nobody, half, nobody.complement(), half.complement(), nobody])
        data = np.eye(8, dtype=np.int64)[5] * MANY
        for update in (
            release.MultiplicativeWeights(SMALL, rows=MANY),
            release.ShortenedProjection(SMALL, rows=MANY),
            release.KaczmarzProjection(SMALL, workload, square_bound=MANY**2),
            release.FriezeKannan(SMALL, workload, square_bound=MANY**2),
        ):
            made = self.made(SMALL, workload, update)
            run = made.run(data, sensitivity=histogram(REPLACE))
            assert max(errors(run.structure, workload, data)) <= made.certified_error
        only = release.Workload([nobody])
        settled = release.FriezeKannan(SMALL, only, square_bound=MANY**2)
        assert self.made(SMALL, only, settled).certified_error == 0

    def test_weights_between_0_and_1(self) -> None:
        """Answers are multiples of 2^-20: the noise is drawn on that grid, and F is in counts all the same."""
        fine = release.weighted(SMALL, "two", [0.1, 0.7, 1 / 3, 0])
        workload = release.Workload([fine, fine.complement(), release.where(SMALL, one=[0])])
        made = self.made(SMALL, workload, release.MultiplicativeWeights(SMALL, rows=MANY))
        data = np.array([MANY, 0, 0, 0, 0, 0, 0, 0])
        run = made.run(data, sensitivity=histogram(REPLACE))
        assert max(errors(run.structure, workload, data)) <= made.certified_error < MANY / 4
        assert all((one.value * 2**20).denominator == 1 for one in run.transcript)

    def test_a_description_of_1e18_cells(self) -> None:
        universe = dp.Universe({"abcdefghijkl"[i]: 31 for i in range(12)})
        assert universe.size > 7 * 10**17
        workload = release.Workload([release.where(universe, a=[1])])
        assert workload.query(0).cells == (31,)
        with pytest.raises(NotSupported, match="leave out columns"):
            release.MultiplicativeWeights(universe, rows=50)
        with pytest.raises(NotSupported, match="leave out columns"):
            self.made(universe, workload, release.MultiplicativeWeights(SMALL, rows=50))
        with pytest.raises(NotSupported, match="leave out columns"):
            release.IntervalDistinguisher(universe, "a", sensitivity=histogram(REPLACE))


class TestRefusals:
    @pytest.mark.parametrize(
        "loss",
        [
            dp.Loss.pure(epsilon=F(1, 10**3)),
            dp.Loss.approximate(epsilon=F(1, 10**4), delta=F(1, 10**9)),
            dp.Loss.zcdp(rho=F(1, 10**9)),
        ],
    )
    @pytest.mark.parametrize("calibration", [BEST, NOTES])
    def test_a_budget_too_small_for_a_round_is_refused_with_one_that_is_not(
        self, loss: dp.Loss, calibration: release.Calibration
    ) -> None:
        if calibration is NOTES and isinstance(loss, type(dp.Loss.zcdp(rho=1))):
            with pytest.raises(NotSupported, match=r"Calibration\.BEST"):
                construction(certified_updates()[0], loss, calibration)
            return
        with pytest.raises(InvalidParameter, match="Write for instance loss=") as refusal:
            construction(certified_updates()[0], loss, calibration)
        found = re.search(r"loss=(dp\.Loss\.\w+\([^)]*\))", str(refusal.value))
        assert found is not None
        larger = eval(found[1], {"dp": dp})  # what the message says to write
        assert construction(certified_updates()[0], larger, calibration).certified_error < MANY

    @pytest.mark.parametrize(
        ("call", "says"),
        [
            (lambda: construction(release.EntropyProjection(SMALL, rows=9)), "ShortenedProjection"),
            (lambda: construction(certified_updates()[0], sensitivity=histogram(ADD)), "RowCount"),
            (lambda: construction(certified_updates()[0], dp.Loss.gaussian(mu=1)), "dp.Loss.pure"),
            (lambda: construction(certified_updates()[0], 1), "dp.Loss.pure"),
            (lambda: construction(certified_updates()[0], calibration="NOTES"), "Calibration.NOTES"),
            (lambda: construction(certified_updates()[0], failure_probability=0), "strictly between 0 and 1"),
            (lambda: construction(certified_updates()[0], failure_probability=1), "strictly between 0 and 1"),
            (lambda: construction(None), "DatabaseUpdate"),
            (lambda: construction(certified_updates(release.Workload([QUERIES.query(0)]))[5]), "made for"),
            (
                lambda: construction(
                    release.MultiplicativeWeights(
                        SMALL, rows=release.Rows(MANY, error=9, failure_probability=F(1, 20))
                    ),
                ),
                "that of the whole",
            ),
        ],
    )  # fmt: skip
    def test_what_is_refused(self, call: Any, says: str) -> None:
        with pytest.raises(InvalidParameter, match=re.escape(says)):
            call()

    def test_the_failure_of_a_row_count_is_part_of_the_whole(self) -> None:
        rows = release.Rows(MANY, error=9, failure_probability=F(1, 40))
        with_count = construction(release.MultiplicativeWeights(SMALL, rows=rows), failure_probability=F(2, 40))
        without = construction(
            release.MultiplicativeWeights(SMALL, rows=release.Rows(MANY, error=9)), failure_probability=F(1, 40)
        )
        assert with_count.plan == without.plan

    def test_a_table_that_is_none_of_this_universe(self) -> None:
        made = construction(certified_updates()[0])
        for data in (np.zeros(7, np.int64), np.zeros(8), [0] * 8, None):
            with pytest.raises(InvalidParameter, match="array of whole numbers"):
                made.run(data, sensitivity=histogram(REPLACE))  # type: ignore[arg-type]
        for sensitivity in (histogram(REPLACE, 2), histogram(ADD)):
            with pytest.raises(InvalidParameter, match="more sensitive"):
                made.run(np.zeros(8, np.int64), sensitivity=sensitivity)
