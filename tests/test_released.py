"""What is released and stored: each part by its own mechanism, out of one permit, and its bytes."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import dp
from discreet.dp.exact_keys import Key
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import QuantileOf, Released
from discreet.engine.released import Bins, Numbers, Release, opened
from tests.handmade import (
    ADDED,
    AGES,
    BY_SEX,
    BY_TOWN,
    KEY,
    MEAN,
    MEAN_AGE,
    ROWS,
    bought,
    found,
    query,
    released,
    table,
)

PURE, DELTA = dp.Budget(epsilon=1000), dp.Budget(epsilon=1000, delta=1e-9, delta_add=5e-10)
UNITS = table("p", rows_per_unit=5)
THREE = query(ROWS, *MEAN, outputs=[("n", Released(0))], keys=[BY_SEX], of=UNITS)
MEDIAN = query(AGES, ROWS, outputs=[("m", QuantileOf(0, Fraction(1, 2)))], keys=[BY_SEX])
TOWNS = query(ROWS, outputs=[("town", KEY), ("n", Released(0))], keys=[BY_TOWN], of=UNITS)
NOBODY = np.zeros((2, 100), dtype=np.int64)


class Towns:
    """Private groups, and which keys were asked for."""

    def __init__(self, counts: dict[str, int], asked: BoundedQuery) -> None:
        self.counts, self.asked, self.wanted = counts, asked, list[Key]()
        self.keys = dp.ExactKeys.of(counts, groups=asked.bounds.groups, neighbours=ADDED, unit="p")

    def select(self, keys: Sequence[Key]) -> tuple[dp.Exact, ...]:
        self.wanted += keys
        return found(self.asked, [self.counts[str(key)] for key in keys]).measures


class TestOpening:
    """Each mechanism takes its own loss from the permit before it reads; keys are named first, and values are asked
    for those that were named alone."""

    @pytest.mark.parametrize("budget", [PURE, DELTA])
    @pytest.mark.parametrize(
        ("asked", "values"), [(THREE, ([7, 9], [-300, 40], [6, 9])), (MEDIAN, (NOBODY, [7, 9]))], ids=["sums", "bins"]
    )
    def test_the_permit_is_used_up(self, asked: BoundedQuery, values: Any, budget: dp.Budget) -> None:
        purchase = bought(asked, budget, epsilon=1)
        permit = dp.PrivacyFilter(budget).reserve(purchase.loss)
        opened(found(asked, *values), purchase, asked, permit)
        assert permit.left == 0
        with pytest.raises(dc.BudgetExceeded):
            opened(found(asked, *values), purchase, asked, permit)

    def test_numbers_are_around_the_truth(self) -> None:
        release = released(THREE, [700, 900], [-3000, 400], [600, 900], budget=PURE, epsilon=40)
        for part, values in zip(release.parts, ([700, 900], [-3000, 400], [600, 900]), strict=True):
            assert isinstance(part, Numbers)
            near = float(part.error(Fraction(1, 10**9)))
            assert (abs(part.values * float(part.step) - values) <= near).all()
            assert near < 500

    def test_bins_are_around_the_truth(self) -> None:
        counts = np.zeros((2, 100), dtype=np.int64)
        counts[0, 30], counts[1, 60] = 5000, 7000
        part = released(MEDIAN, counts, [5000, 7000], budget=PURE, epsilon=40).parts[0]
        assert isinstance(part, Bins)
        assert part.counts[0, 30] == pytest.approx(5000, abs=100)
        assert part.counts[1, 60] == pytest.approx(7000, abs=100)
        assert part.counts[0, 60] == pytest.approx(0, abs=100)

    def test_only_named_keys_are_asked_for(self) -> None:
        purchase = bought(TOWNS, DELTA, epsilon=10)
        assert purchase.naming is not None
        sure = purchase.naming.sure_count(failure_probability=1e-9)
        groups = Towns({"rare": 1, "large": sure, "vast": 10 * sure}, TOWNS)
        permit = dp.PrivacyFilter(DELTA).reserve(purchase.loss)
        release = opened(groups, purchase, TOWNS, permit)
        assert release.keys == ("large", "vast")  # a rare one is named with probability 5e-10
        assert groups.wanted == ["large", "vast"]
        assert (permit.left, release.groups) == (0, 2)


class TestBytes:
    @pytest.mark.parametrize("budget", [PURE, DELTA])
    @pytest.mark.parametrize("epsilon", ["0.1", 40])
    def test_a_release_survives(self, budget: dp.Budget, epsilon: Any) -> None:
        for asked, values in ((THREE, ([7, 9], [-300, 40], [6, 9])), (MEDIAN, (NOBODY, [7, 9]))):
            release = released(asked, *values, budget=budget, epsilon=epsilon)
            again = Release.from_bytes(release.to_bytes(), asked)
            assert again.to_bytes() == release.to_bytes()
            assert (again.keys, again.amount, again.groups) == (None, release.amount, 2)
            for one, two in zip(release.parts, again.parts, strict=True):
                assert type(one) is type(two)
                if isinstance(one, Numbers) and isinstance(two, Numbers):
                    assert (one.noise, one.step, one.values.tolist()) == (two.noise, two.step, two.values.tolist())
                if isinstance(one, Bins) and isinstance(two, Bins):
                    assert one.tree == two.tree
                    assert np.array_equal(one.counts, two.counts)

    def test_named_keys_survive(self) -> None:
        purchase = bought(TOWNS, DELTA, epsilon=10)
        permit = dp.PrivacyFilter(DELTA).reserve(purchase.loss)
        release = opened(Towns({"a\n\u202e": 10**6, "b": 10**6}, TOWNS), purchase, TOWNS, permit)
        assert Release.from_bytes(release.to_bytes(), TOWNS).keys == ("a\n\u202e", "b")

    def test_another_format_is_refused(self) -> None:
        with pytest.raises(dc.NotSupported, match="another version"):
            Release.from_bytes(json.dumps({"format": 1}).encode(), THREE)


class TestAsGood:
    def test_a_dearer_release_serves_a_cheaper_question_and_not_the_other_way_round(self) -> None:
        release = released(THREE, [7, 9], [-300, 40], [6, 9], budget=PURE, epsilon="0.2")
        assert release.is_as_good_as(bought(THREE, PURE, epsilon="0.1"))
        assert release.is_as_good_as(bought(THREE, PURE, epsilon="0.2"))
        assert not release.is_as_good_as(bought(THREE, PURE, epsilon="0.21"))

    def test_every_part_has_to_be_as_good(self) -> None:
        asked = query(ROWS, MEAN[0], outputs=[("n", Released(0)), ("s", Released(1))])
        release = released(asked, 700, -3000, budget=PURE, epsilon="0.2")
        [count, total] = [float(part.error(Fraction(1, 20))) for part in release.parts if isinstance(part, Numbers)]
        assert count < total
        assert release.is_as_good_as(bought(asked, PURE, within=total))
        assert not release.is_as_good_as(bought(asked, PURE, within=(count + total) / 2))

    def test_keys_count_by_what_was_paid(self) -> None:
        cheap, dear = (bought(TOWNS, DELTA, epsilon=epsilon) for epsilon in (1, 10))
        release = opened(Towns({"a": 10**6}, TOWNS), dear, TOWNS, dp.PrivacyFilter(DELTA).reserve(dear.loss))
        assert release.is_as_good_as(cheap)
        worse = opened(Towns({"a": 10**6}, TOWNS), cheap, TOWNS, dp.PrivacyFilter(DELTA).reserve(cheap.loss))
        assert not worse.is_as_good_as(dear)


def test_zeros_have_the_shape_of_a_release() -> None:
    for asked in (THREE, MEDIAN):
        blank = Release.blank(asked, bought(asked, PURE, epsilon=1))
        assert (blank.groups, len(blank.parts)) == (1, len(asked.measures))
    assert MEAN_AGE.centre == 50
