"""Errors that are asked for: what they cost, and that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.plan import Present, Released
from discreet.engine.promise import LOOK, MOST
from tests.handmade import AGE, AGES, BY_SEX, COST, MEAN, MEAN_AGE, ROWS, Total, bought, exactly, query
from tests.sessions import session

PURE, ADDED = dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta=1e-9)
TWO = query(Present(AGE), Total(COST), outputs=[("n", Released(0)), ("cost", Released(1))], keys=[BY_SEX])
AVERAGE = query(*MEAN, outputs=[("age", MEAN_AGE), ("n", Released(1))], keys=[BY_SEX])


def errors(mechanisms: Any, asked: Any, **chance: Any) -> list[Fraction]:
    return [
        noise.accuracy(**{"failure_probability": Fraction(1, 20)} | chance) * of.step
        for noise, of in zip(mechanisms, asked.measures, strict=True)
    ]


@pytest.mark.parametrize("budget", [PURE, ADDED])
class TestEachNumber:
    def test_has_an_error_of_its_own(self, budget: dp.Budget) -> None:
        found = bought(TWO, budget, within={"n": 50, "cost": 2000}).mechanisms
        for error, wanted, of in zip(errors(found, TWO), (50, 2000), TWO.measures, strict=True):
            assert wanted - of.step <= error <= wanted

    def test_of_two_names_for_one_measure_the_stricter_holds(self, budget: dp.Budget) -> None:
        twice = query(ROWS, outputs=[("a", Released(0)), ("b", Released(0))])
        assert errors(bought(twice, budget, within={"a": 50, "b": 20}).mechanisms, twice) == [20]

    def test_is_within_it_with_the_confidence_that_is_asked_for(self, budget: dp.Budget) -> None:
        for confidence in ("0.5", "0.99"):
            found = bought(TWO, budget, within=2000, confidence=confidence).mechanisms
            for error in errors(found, TWO, failure_probability=1 - Fraction(confidence)):
                assert 1999 <= error <= 2000

    def test_and_all_at_once(self, budget: dp.Budget) -> None:
        """joint=: no number of the answer is farther off, in any group."""
        found = bought(TWO, budget, within=2000, joint=True).mechanisms
        alone = bought(TWO, budget, within=2000)
        for error in errors(found, TWO, failure_probability=Fraction(1, 40), answers=2):
            assert 1999 <= error <= 2000
        joint = bought(TWO, budget, within=2000, joint=True)
        assert joint.charge.amount > alone.charge.amount

    def test_of_a_mean_follows_from_how_many_values_there_are(self, budget: dp.Budget) -> None:
        """The error of the answer is within what was asked for, when the noise is at the edge of what is expected."""
        known = exactly(AVERAGE, [-3000, 500], [1000, 2000])
        purchase = bought(AVERAGE, budget, known, within={"age": 2, "n": 100})
        total, present = errors(purchase.mechanisms, AVERAGE, failure_probability=Fraction(1, 40))
        least = 1000 - known.parts[1].error(Fraction(1, 20))  # type: ignore[union-attr]
        assert float((total + 50 * present) / (least - 2 * present)) == pytest.approx(2, rel=0.1)
        assert (total + 50 * present) / (least - 2 * present) <= 2

    def test_relative_errors_are_those_of_what_is_known(self, budget: dp.Budget) -> None:
        known = exactly(TWO, [1000, 2000], [90_000, 100_000])
        purchase = bought(TWO, budget, known, relative="0.1")
        for error, size, of in zip(errors(purchase.mechanisms, TWO), (1000, 45_000), TWO.measures, strict=True):
            assert Fraction(8, 10) * size / 10 <= error <= size / Fraction(10) + of.step


class TestSessions:
    ROWS = pa.table({"sex": ["Male"] * 6000 + ["Female"] * 4000, "age": [3] * 10_000})

    TEXT = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"
    MEAN = "SELECT sex, AVG(age) AS a FROM t GROUP BY sex"

    @pytest.mark.parametrize("budget", [PURE, ADDED])
    @pytest.mark.parametrize(("text", "offer"), [(TEXT, {"relative": 0.02}), (MEAN, {"within": 0.2})])
    def test_a_look_comes_first_and_both_cost_at_most_what_is_quoted(
        self, budget: dp.Budget, text: str, offer: dict[str, Any]
    ) -> None:
        asked = session(self.ROWS, budget=budget)
        quote = asked.quote(text, **offer)
        assert (quote.route, quote.cost.share, quote.cost.fits) == ("look", MOST, 4)
        answer = asked.sql(text, **offer)
        kinds = [entry.kind for entry in asked.history()]
        assert (answer.route, kinds.count("reserve"), kinds.count("answer")) == ("combined", 2, 2)
        assert LOOK < answer.charged <= MOST
        assert asked.spent == answer.charged
        for name, errors in answer.errors.items():
            values = answer.columns[name]
            whole = errors if isinstance(errors, tuple) else (errors,) * len(values)
            for value, error in zip(values, whole, strict=True):
                assert error <= (0.2 if "within" in offer else 0.023 * value)  # type: ignore[operator]

    def test_after_a_look_of_ones_own_the_price_is_known(self) -> None:
        asked = session(self.ROWS)
        look = asked.sql(self.TEXT, epsilon="0.01")
        quote = asked.quote(self.TEXT, relative=0.01)
        answer = asked.sql(self.TEXT, relative=0.01)
        assert quote.cost.share == answer.charged
        assert quote.errors == answer.errors
        assert answer.errors["n"] <= 50  # type: ignore[operator]  # more than 40 if the look was far too high
        assert asked.spent == look.charged + answer.charged

    def test_what_the_look_finds_too_dear_is_refused_and_the_look_stays(self) -> None:
        asked = session(self.ROWS)
        with pytest.raises(
            dc.BudgetExceeded,
            match=r"^2 % of the budget was spent on a first look, .*; then this error costs .* % was quoted\.",
        ):
            asked.sql(self.TEXT, relative=0.001)
        assert asked.spent == LOOK
        assert asked.quote(self.TEXT, relative=0.001).cost.share > MOST - LOOK
        assert asked.sql(self.TEXT, epsilon="0.02").charged == 0

    def test_a_look_that_finds_too_little_says_what_it_cost(self) -> None:
        asked = session()  # of five rows
        with pytest.raises(dc.NotSupported, match=r"^2 % of the budget was spent on a first look, .* may be 0 in some"):
            asked.sql(self.TEXT, relative=0.02)
        assert asked.spent == LOOK

    def test_a_look_is_not_bought_unless_all_of_it_fits(self) -> None:
        asked = session(self.ROWS)
        asked.sql("SELECT COUNT(*) AS n FROM t WHERE age > 3", epsilon="0.8")
        assert asked.quote(self.TEXT, relative=0.02).cost.fits == 0
        with pytest.raises(dc.BudgetExceeded, match=r"may cost 25 % of the budget, and 20 % is left"):
            asked.sql(self.TEXT, relative=0.02)
        assert asked.spent == Fraction(8, 10)

    def test_what_is_wrong_without_a_look_is_refused_before_one(self) -> None:
        asked = session(self.ROWS)
        text = "SELECT AVG(age) AS a, COUNT(*) AS n FROM t"
        for within in ({"a": 1, "n": "0.5"}, {"a": 0, "n": 5}, {"a": 1}):
            with pytest.raises(dc.InvalidParameter):
                asked.sql(text, within=within)
        assert asked.spent == 0

    def test_neighbours_are_quoted_the_same_before_a_look(self) -> None:
        pair = [session(self.ROWS), session(self.ROWS.slice(1))]
        for text, offer in ((self.TEXT, {"relative": 0.02}), (self.MEAN, {"within": 0.2})):
            one, two = (repr(asked.quote(text, **offer)) for asked in pair)  # type: ignore[arg-type]
            assert one == two

    def test_what_does_not_fit_is_refused_with_its_price(self) -> None:
        asked = session(self.ROWS)
        assert asked.quote("SELECT COUNT(*) AS n FROM t", within=1).cost.fits == 0
        with pytest.raises(dc.BudgetExceeded):
            asked.sql("SELECT COUNT(*) AS n FROM t", within=1)
        assert asked.spent == 0


SPREAD = "SELECT STDDEV(age) AS s FROM t"
GROUPS = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"


@pytest.mark.parametrize(
    ("text", "offer", "message"),
    [
        (GROUPS, {"within": {"m": 3}}, "an error for each number that is shown, 'n', and no other"),
        (GROUPS, {"within": {"n": 3, "sex": 3}}, "and no other"),
        (GROUPS, {"within": {}}, "and no other"),
        (GROUPS, {"within": {"n": 0}}, "above 0"),
        (GROUPS, {"within": 3, "relative": 0.1}, "exactly one of epsilon=, rho=, loss=, within= and relative="),
        (GROUPS, {"within": 3, "confidence": 1}, "confidence"),
        (GROUPS, {"within": 3, "confidence": 0}, "confidence"),
        (GROUPS, {"within": 3, "joint": 1}, "joint= is True, for all numbers at once"),
        (GROUPS, {"epsilon": 0.1, "joint": True}, "belong to within= and relative="),
        (GROUPS, {"epsilon": 0.1, "confidence": 0.9}, "belong to within= and relative="),
        (GROUPS, {"relative": 0}, "above 0"),
        (SPREAD, {"within": 3}, "promise the errors of counts, sums and means"),
        ("SELECT MEDIAN(age) AS m FROM t", {"within": 3}, "promise the errors of counts, sums and means"),
        ("SELECT COUNT(*) + 1 AS m FROM t", {"within": 3}, "promise the errors of counts, sums and means"),
    ],
)
def test_what_cannot_be_promised_is_refused(text: str, offer: Mapping[str, Any], message: str) -> None:
    asked = session()
    for ask in (asked.sql, asked.quote):
        with pytest.raises(dc.Refused, match=message):
            ask(text, **offer)
    assert asked.spent == 0


def test_groups_that_may_be_empty_have_no_relative_error() -> None:
    known = exactly(TWO, [1000, 0], [90_000, 0])
    with pytest.raises(dc.NotSupported, match="'n' may be 0 in some group by what is known of it"):
        bought(TWO, PURE, known, relative="0.1")
    known = exactly(AVERAGE, [-3000, 500], [1000, 0])
    with pytest.raises(dc.NotSupported, match="some group may have no values"):
        bought(AVERAGE, PURE, known, within=3)


def test_a_measure_that_only_filters_is_not_promised() -> None:
    asked = query(ROWS, AGES, outputs=[("n", Released(0))])
    with pytest.raises(dc.NotSupported, match="promise the errors of"):
        bought(asked, PURE, within=30)
