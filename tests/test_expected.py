"""What is known before anything is bought: errors, as numbers or as formulas that hold, and what is enforced."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.derive import derived
from discreet.engine.expected import check_shown, errors_after, errors_before, explained
from discreet.engine.plan import Computed, Given, QuantileOf, Released, Units
from tests.handmade import (
    AGES,
    BY_SEX,
    BY_TOWN,
    KEY,
    MEAN,
    MEAN_AGE,
    ROWS,
    SPREAD,
    VARIANCE,
    bought,
    exactly,
    query,
    released,
    table,
)

BUDGET = dp.Budget(epsilon=1000)
N = Released(0)


class TestErrorsBefore:
    def test_of_a_count_it_is_that_of_the_answer(self) -> None:
        asked = query(ROWS, outputs=[("sex", KEY), ("n", N)], keys=[BY_SEX])
        expected = errors_before(asked, bought(asked, BUDGET, epsilon="0.1"))
        assert expected == {"n": 30}
        assert derived(asked, released(asked, [7, 9], budget=BUDGET, epsilon="0.1")).errors == expected

    @pytest.mark.parametrize("rows", [100, 1_000, 100_000])
    def test_of_a_mean_it_is_a_formula_in_the_number_of_rows(self, rows: int) -> None:
        """The error of the answer is never above it: the total is at most the reach of the column for each row."""
        asked = query(*MEAN, outputs=[("age", MEAN_AGE)])
        formula = str(errors_before(asked, bought(asked, BUDGET, epsilon=40))["age"])
        found = re.fullmatch(r"([\d.]+) / \(n - ([\d.]+)\), so ([\d.]+) at n = ([\d,]+)", formula)
        assert found is not None
        top, less, example, at = (float(part.replace(",", "")) for part in found.groups())
        assert example == pytest.approx(top / (at - less), rel=0.01)
        for total in (-50 * rows, 0, 49 * rows):
            [error] = derived(asked, exactly(asked, total, rows)).errors["age"]  # type: ignore[misc]
            assert error <= 1.01 * top / (rows - less)

    def test_of_the_rest_it_is_what_can_be_said(self) -> None:
        outputs = [("m", QuantileOf(0, Fraction(1, 2))), ("v", VARIANCE), ("large", Computed("gt", (N, Given(3))))]
        asked = query(AGES, outputs=outputs[:1])
        rows = str(errors_before(asked, bought(asked, BUDGET, epsilon=1))["m"])
        tree = bought(asked, BUDGET, epsilon=1).mechanisms[0]
        assert isinstance(tree, dp.QuantileTree)
        assert float(rows.split()[0]) == pytest.approx(tree.accuracy(q="0.5", failure_probability="0.05"), rel=0.01)
        asked = query(*SPREAD, outputs=outputs[1:])
        assert errors_before(asked, bought(asked, BUDGET, epsilon=1)) == {"v": "told with the answer"}

    def test_once_it_is_answered_it_is_the_greatest_of_its_rows(self) -> None:
        asked = query(*MEAN, outputs=[("age", MEAN_AGE)], keys=[BY_SEX])
        release = exactly(asked, [-1000, 500], [500, 1000])
        errors = derived(asked, release).errors["age"]
        assert errors_after(asked, release) == {"age": max(errors)}  # type: ignore[type-var, arg-type]
        nobody = exactly(asked, [0, 0], [0, 0])
        assert errors_after(asked, nobody) == {"age": "told with the answer"}


def test_what_cannot_be_shown_is_refused_by_trying_it_on_zeros() -> None:
    for formula in (Computed("sqrt", (KEY,)), Computed("date_trunc", (N, Given("month")))):
        asked = query(ROWS, outputs=[("x", formula)], keys=[BY_SEX])
        with pytest.raises(dc.NotSupported, match="cannot be computed from released values"):
            check_shown(asked, bought(asked, BUDGET, epsilon=1))
    asked = query(ROWS, outputs=[("sex", KEY), ("n", N)], keys=[BY_SEX], having=Computed("add", (N, KEY)))
    with pytest.raises(dc.NotSupported):
        check_shown(asked, bought(asked, BUDGET, epsilon=1))


class TestExplained:
    def test_each_measure_has_its_norms_in_its_own_unit(self) -> None:
        units = table("p", rows_per_unit=20, groups_per_unit=3, rows_per_group=4)
        asked = query(ROWS, MEAN[0], Units(), AGES, outputs=[("sex", KEY), ("n", N)], keys=[BY_SEX], of=units)
        said = explained(asked)
        assert said.protects == "all rows of one p in t"
        assert (said.groups, said.form.partition(",")[0]) == ("2 declared", "groups")
        assert said.bounds == ("R = 8 rows", "m = 2 groups", "k = 4 rows in one")
        for line, measure in zip(said.measures, asked.measures, strict=True):
            norms = np.array(re.findall(r"l(?:1|2|inf) ([\d.]+)", line), dtype=np.float64)
            moved = measure.sensitivity
            assert moved.l1 is not None
            wanted = [float(norm * measure.step) for norm in (moved.l1, moved.l2, moved.linf)]
            assert norms == pytest.approx(wanted, rel=1e-5)
            assert f"moves {measure.cells_moved} cells" in line.replace(",", "")

    def test_private_groups_are_said_to_be_named(self) -> None:
        asked = query(ROWS, outputs=[("town", KEY), ("n", N)], keys=[BY_TOWN], of=table("p", rows_per_unit=5))
        assert "named privately" in repr(explained(asked))
        assert "sampled" in repr(explained(asked))
