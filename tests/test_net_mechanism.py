"""The net mechanism against every database written out: its law, what it promises, and its door."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.randomness import system
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from discreet.release.median import all_databases, are_few
from tests.closed_forms import mp, mpf
from tests.construction_adversary import table, true_answer
from tests.construction_loops import ADD, REPLACE, histogram
from tests.noise_laws import real
from tests.selecting import check_pure, number, softmax
from tests.sizes import sized
from tests.statistics import chi_square

F = Fraction
THREE = dp.Universe({"cell": 3})
CELLS = release.Workload([release.marginal(THREE, "cell")])
MIXED = CELLS + release.weighted(THREE, "cell", [0.25, 1, 0.5]) + release.prefixes(THREE, "cell")


def net(
    workload: Any = MIXED,
    *,
    rows: int = 6,
    epsilon: Any = 2,
    beta: Any = 0.05,
    units: int = 1,
    kept: int | None = None,
) -> release.NetMechanism:
    """The mechanism; with databases of `kept` rows where all of its own would be too many to write out."""
    made = release.NetMechanism(
        THREE, workload, rows=rows, sensitivity=histogram(REPLACE, units), epsilon=epsilon, failure_probability=beta
    )
    if kept is not None:
        object.__setattr__(made, "rows_kept", kept)
        object.__setattr__(made, "_databases", all_databases(3, kept))
    return made


def every_database(cells: int, rows: int) -> list[tuple[int, ...]]:
    """All multisets, by sorting rows into cells: nothing of ours."""
    drawn = itertools.combinations_with_replacement(range(cells), rows)
    return sorted(tuple(one.count(cell) for cell in range(cells)) for one in drawn)


def score(made: release.NetMechanism, data: np.ndarray, database: tuple[int, ...]) -> Fraction:
    """- max |Q(D) - Q(y)| in counts, in fractions."""
    size = F(made.rows, sum(database))
    return -max(
        abs(true_answer(query, data) - size * true_answer(query, np.array(database))) for query in made.workload
    )


@pytest.mark.parametrize(("cells", "rows"), [(1, 1), (1, 5), (2, 7), (3, 6), (4, 5), (6, 1)])
def test_all_databases_are_there_once(cells: int, rows: int) -> None:
    assert [tuple(one) for one in all_databases(cells, rows).tolist()] == every_database(cells, rows)


@pytest.mark.parametrize("kept", [1, 4, 7])
@pytest.mark.parametrize("workload", [CELLS, MIXED])
def test_the_law_is_that_of_the_exponential_mechanism_over_all_databases(workload: Any, kept: int) -> None:
    """epsilon-DP and bounded-range, with score -max |Q(D) - Q(y)|."""
    made = net(workload, kept=kept)
    for seed in range(sized(2, 10)):
        data = table(THREE, 6, seed)
        scores, unit = made._scores(data)
        exact = [score(made, data, one) for one in every_database(3, kept)]
        assert [F(int(s), unit) for s in scores] == exact
        for found, wanted in zip(made._mechanism(unit).law(scores), softmax(exact, F(1)), strict=True):
            assert abs(number(found.mid()) - wanted) < mpf(10) ** -14


def test_it_is_private_and_half_the_noise_is_not() -> None:
    """Every table of four rows with every neighbour; and units of two rows, for which one row's noise is too little."""
    for units, planned, rate, private in (
        (1, 1, F(1), True),
        (1, 1, F(2), False),
        (2, 2, F(1), True),
        (2, 1, F(1), False),
    ):
        made = net(CELLS, rows=4, epsilon=2, units=planned, kept=4)
        databases = every_database(3, 4)
        pairs = []
        for one in databases:
            for start, end in itertools.permutations(range(3), 2):
                if one[start] >= units:
                    other = [n + units * ((i == end) - (i == start)) for i, n in enumerate(one)]
                    pairs.append(tuple(tuple(score(made, np.array(d), y) for y in databases) for d in (one, other)))
        assert made._mechanism(1)._rate == F(1) / planned

        def law(scores: Any, rate: Fraction = rate / planned) -> Any:
            return softmax(scores, rate)

        if private:
            check_pure(law, F(2), pairs)
        else:
            with pytest.raises(AssertionError):
                check_pure(law, F(2), pairs)


def test_what_is_drawn_has_this_law() -> None:
    made, data = net(CELLS, kept=2), np.array([5, 1, 0])
    chances = [float(p) for p in softmax([score(made, data, y) for y in every_database(3, 2)], F(1))]
    places = {tuple(3 * n for n in y): i for i, y in enumerate(every_database(3, 2))}
    merged = np.array([0 if p < 0.02 else 1 + i for i, p in enumerate(chances)])
    merged = np.unique(merged, return_inverse=True)[1]
    cells = [sum(p for p, m in zip(chances, merged, strict=True) if m == i) for i in range(merged.max() + 1)]

    def drawn(n: int) -> np.ndarray:
        return np.array([places[tuple(made._run(data, system()).cells)] for _ in range(n)])

    wrong = np.array([float(p) for p in softmax([score(made, data, y) for y in every_database(3, 2)], F(2))])
    source = np.random.default_rng()
    check = chi_square(lambda draws: merged[draws], [c / sum(cells) for c in cells], sized(5_000, 100_000))
    check.run(drawn, wrong={"without the 2": lambda n: source.choice(len(wrong), n, p=wrong / wrong.sum())})


class TestAccuracy:
    """With probability 1 - failure_probability the database chosen is within `certified_error` of the table on every
    query: u / 2 + (2 D / epsilon) ln(number of databases / beta) counts."""

    def failing(self, made: release.NetMechanism, data: np.ndarray, error: Fraction) -> mpf:
        """P(some query is off by more than this), summed over the databases."""
        scores, unit = made._scores(data)
        law = made._mechanism(unit).law(scores)
        return mp.fsum(number(p.mid()) for p, s in zip(law, scores, strict=True) if -F(int(s), unit) > error)

    @pytest.mark.parametrize(("rows", "epsilon"), [(40, 4), (1000, 1)])
    def test_it_holds_and_is_not_vacuous(self, rows: int, epsilon: int) -> None:
        made = net(CELLS, rows=rows, epsilon=F(epsilon))
        object.__setattr__(made, "_databases", all_databases(3, made.rows_kept)[:: sized(40, 1)])
        full = net(CELLS, rows=rows, epsilon=F(epsilon), kept=30)
        near = rows * mp.sqrt(2 * mp.log(6) / 30) / 2
        assert made.certified_error < rows / 3  # says something
        for data in (np.array([rows, 0, 0]), np.array([rows // 2, rows - rows // 2, 0]), table(THREE, rows, 1)):
            best = max(score(full, data, one) for one in every_database(3, 30))
            assert real(-best) <= near  # some database is within u / 2
            off = F(full._mechanism(1).accuracy(failure_probability=F(1, 20), candidates=len(full._databases)))
            assert self.failing(full, data, -best + off) <= mpf("0.05")

    def test_closed_form(self) -> None:
        made = net(CELLS, rows=40, epsilon=4)
        least = min(self.error(m, 40, 4, 1) for m in range(1, 1400))
        assert self.error(made.rows_kept, 40, 4, 1) <= real(made.certified_error)
        assert least <= real(made.certified_error) <= least * mpf("1.01")
        three = net(CELLS, rows=40, epsilon=4, units=3)
        assert abs(real(three.certified_error) - self.error(three.rows_kept, 40, 4, 3)) < mpf(10) ** -9

    def error(self, kept: int, rows: int, epsilon: int, units: int) -> mpf:
        count = mp.binomial(kept + 2, 2)
        return rows * mp.sqrt(2 * mp.log(6) / kept) / 2 + mpf(2) * units / epsilon * mp.log(20 * count)

    def test_some_database_is_near_every_table(self) -> None:
        """Within u / 2 with m = 2 ln(2 |C|) / u^2 rows: on every table of six rows."""
        for kept in (1, 2, 5, 9):
            made = net(MIXED, kept=kept)
            near = 6 * mp.sqrt(2 * mp.log(2 * len(MIXED)) / kept) / 2
            for data in every_database(3, 6):
                best = max(score(made, np.array(data), one) for one in every_database(3, kept))
                assert real(-best) <= near


class TestTheDoor:
    def test_a_private_histogram_is_paid_for_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made, data = net(CELLS, kept=3), np.array([5, 1, 0])
        permit = dp.PrivacyFilter(dp.Budget(epsilon=3)).reserve(made.loss)
        looks, before = [], release.NetMechanism._scores

        def spied(self: release.NetMechanism, cells: np.ndarray) -> Any:
            looks.append(permit.left)
            return before(self, cells)

        monkeypatch.setattr(release.NetMechanism, "_scores", spied)
        exact = dp.Exact(data, sensitivity=histogram(REPLACE), unit="row")
        found = made.open(exact, permit)
        assert looks == [0]
        assert sum(found.cells) == pytest.approx(6)
        with pytest.raises(BudgetExceeded):
            made.open(exact, permit)
        assert looks == [0]

    def test_refusals_cost_nothing(self) -> None:
        made, data = net(CELLS, kept=3), np.array([5, 1, 0])
        permit = dp.PrivacyFilter(dp.Budget(epsilon=2)).reserve(made.loss)
        for sensitivity, histogram_ in (
            (histogram(REPLACE, 2), data), (histogram(ADD), data), (histogram(REPLACE), np.zeros(4, np.int64)),
        ):  # fmt: skip
            with pytest.raises(InvalidParameter):
                made.open(dp.Exact(histogram_, sensitivity=sensitivity, unit="row"), permit)
            with pytest.raises(InvalidParameter):
                made.run(histogram_, sensitivity=sensitivity)
        for exact in (data, 3):
            with pytest.raises(InvalidParameter, match="Permit"):
                made.open(exact, permit)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="open"):
            made.run(dp.Exact(data, sensitivity=histogram(REPLACE), unit="row"), sensitivity=histogram(REPLACE))  # type: ignore[arg-type]
        assert permit.left == 2

    def test_no_public_number_of_rows(self) -> None:
        with pytest.raises(NotSupported, match="replace"):
            release.NetMechanism(
                THREE, CELLS, rows=6, sensitivity=histogram(ADD), epsilon=1, failure_probability=F(1, 20)
            )

    @pytest.mark.parametrize("cells", [10**4, 10**6])
    def test_universes_for_which_databases_fill_the_memory(self, cells: int) -> None:
        universe = dp.Universe({"cell": cells})
        workload = release.Workload([release.where(universe, cell=[0])])
        with pytest.raises(NotSupported, match="toy sizes"):
            release.NetMechanism(
                universe, workload, rows=6, sensitivity=histogram(REPLACE), epsilon=1, failure_probability=F(1, 20)
            )
        with pytest.raises(NotSupported, match="toy sizes"):
            release.Median(universe, workload, rows=10, level=100)
        assert not are_few(cells, 1)

    def test_numbers_that_64_bits_do_not_hold(self) -> None:
        fine = release.Workload([release.weighted(THREE, "cell", [0.1, 0.7, 1])])
        with pytest.raises(NotSupported, match="toy sizes"):
            net(fine, rows=10**12, epsilon=1)

    @pytest.mark.parametrize(
        "changed", [{"rows": 0}, {"rows": 1.5}, {"epsilon": 0}, {"epsilon": float("nan")}, {"beta": 0}, {"beta": 1}]
    )
    def test_parameters(self, changed: dict[str, Any]) -> None:
        with pytest.raises(InvalidParameter):
            net(CELLS, **changed)

    def test_one_cell(self) -> None:
        universe = dp.Universe({"cell": 1})
        made = release.NetMechanism(
            universe, release.marginal(universe, "cell"), rows=9, sensitivity=histogram(REPLACE), epsilon=1,
            failure_probability=F(1, 20),
        )  # fmt: skip
        assert made.run(np.array([9]), sensitivity=histogram(REPLACE)).cells == [9]

    def test_a_column_of_two_values_is_planned_at_once(self) -> None:
        """A million numbers of rows would do: few are looked at."""
        universe = dp.Universe({"cell": 2})
        made = release.NetMechanism(
            universe, release.marginal(universe, "cell"), rows=1000, sensitivity=histogram(REPLACE), epsilon=1,
            failure_probability=F(1, 20),
        )  # fmt: skip
        assert len(list(made._sizes())) < 200
        assert made.certified_error < 40
