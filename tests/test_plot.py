"""Pictures of answers: what is drawn is the numbers and their errors, read back from the artists; without a display."""

import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.dates import date2num

import discreet as dc
from discreet.answer import Answer
from discreet.plot import BARS, PANELS, POINTS, SERIES


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def answer(columns: dict[str, Any], errors: dict[str, Any]) -> Answer:
    return Answer(columns, errors, "protects a patient", route="direct", charged=Fraction(1, 10))


def heights(panel: Any) -> list[float]:
    return [float(bar.get_height()) for bar in panel.patches]


def whiskers(panel: Any) -> list[tuple[float, float]]:
    """The lower and upper ends of all error bars, in the order in which they were drawn."""
    return [
        (float(segment[0][1]), float(segment[1][1]))
        for container in panel.containers
        if hasattr(container, "has_yerr")
        for segment in container.lines[2][0].get_segments()
        if len(segment)
    ]


def texts(panel: Any) -> str:
    return "\n".join(text.get_text() for text in panel.texts)


class TestBars:
    def test_each_row_is_a_bar_with_its_whisker(self) -> None:
        panel = answer({"ward": ("a", "b", "c"), "n": (40, -3, 90)}, {"n": (10, 5, 30)}).plot()
        assert heights(panel) == [40, -3, 90]
        assert whiskers(panel) == [(30, 50), (-8, 2), (60, 120)]
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["a", "b", "c"]
        assert (panel.get_title(), panel.get_xlabel(), panel.get_ylabel()) == ("n by ward", "ward", "n")
        assert "± at 95 %" in panel.figure.get_supxlabel()
        assert "protects a patient" in panel.figure.get_supxlabel()

    def test_null_is_a_gap_and_an_error_that_is_not_known_has_no_whisker(self) -> None:
        panel = answer({"k": ("a", "b"), "x": (None, 2.5)}, {"x": (None, None)}).plot()
        assert np.isnan(heights(panel)[0])
        assert heights(panel)[1] == 2.5
        assert whiskers(panel)[-1] == (2.5, 2.5)

    def test_two_keys_are_groups_of_bars(self) -> None:
        keys = {"sex": ("f", "f", "m", "m"), "ward": ("a", "b", "a", "b")}
        panel = answer({**keys, "n": (1, 2, 3, 4)}, {"n": 0.5}).plot()
        assert heights(panel) == [1, 3, 2, 4]
        assert [whisker[1] for whisker in whiskers(panel)] == [1.5, 3.5, 2.5, 4.5]
        assert [text.get_text() for text in panel.get_legend().get_texts()] == ["a", "b"]
        assert panel.get_legend().get_title().get_text() == "ward"
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["f", "m"]
        middles = [bar.get_x() + bar.get_width() / 2 for bar in panel.patches]
        assert middles == pytest.approx([-0.2, 0.8, 0.2, 1.2])

    def test_a_group_that_is_missing_leaves_its_place_empty(self) -> None:
        """HAVING or private keys may leave some pairs out."""
        panel = answer({"sex": ("f", "m", "m"), "ward": ("b", "a", "b"), "n": (2, 3, 4)}, {"n": 1}).plot()
        assert heights(panel) == [2, 4, 3]
        middles = [bar.get_x() + bar.get_width() / 2 for bar in panel.patches]
        assert middles == pytest.approx([-0.2, 0.8, 1.2])

    def test_three_keys_are_named_in_one_label(self) -> None:
        panel = answer({"a": ("x", "y"), "b": (1, 2), "c": (True, False), "n": (5, 6)}, {"n": 1}).plot()
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["x, 1, True", "y, 2, False"]

    def test_rows_without_a_key_are_numbered(self) -> None:
        panel = answer({"n": (5, 6)}, {"n": 1}).plot()
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1", "2"]

    def test_a_key_that_repeats_is_no_line(self) -> None:
        """SELECT age, COUNT(*) GROUP BY age, sex: two rows of one age are not one point."""
        assert heights(answer({"age": (1, 1, 2), "n": (5, 6, 7)}, {"n": 1}).plot()) == [5, 6, 7]


class TestLines:
    @pytest.mark.parametrize(
        "key",
        [
            (3, 1, 2),
            (0.5, -1.0, 0.0),
            (date(2026, 1, 3), date(2026, 1, 1), date(2026, 1, 2)),
            (datetime(2026, 1, 1, 3), datetime(2026, 1, 1, 1), datetime(2026, 1, 1, 2)),
        ],
    )
    def test_an_ordered_key_is_a_line_in_a_band_in_the_order_of_the_key(self, key: tuple[Any, ...]) -> None:
        panel = answer({"when": key, "n": (30, 10, 20)}, {"n": (3, 1, 2)}).plot()
        (line,) = panel.lines
        numbers = [date2num(value) if isinstance(value, date) else value for value in sorted(key)]
        drawn = [date2num(value) if isinstance(value, date) else value for value in line.get_xdata()]
        assert drawn == pytest.approx(numbers)
        assert line.get_ydata().tolist() == [10, 20, 30]
        corners = panel.collections[0].get_paths()[0].vertices
        for x, low, high in zip(numbers, (9, 18, 27), (11, 22, 33), strict=True):
            ends = corners[np.isclose(corners[:, 0], x, rtol=0, atol=1e-6), 1]
            assert (ends.min(), ends.max()) == (low, high)
        assert (panel.get_xlabel(), panel.get_ylabel()) == ("when", "n")

    def test_one_point_is_no_line(self) -> None:
        assert heights(answer({"age": (1,), "n": (5,)}, {"n": 1}).plot()) == [5]


class TestNumbers:
    def test_one_number_is_a_text(self) -> None:
        panel = answer({"n": (1234,)}, {"n": 30}).plot()
        assert "1,234 ± 30" in texts(panel)
        assert not panel.patches
        assert panel.get_title() == "n"

    def test_several_numbers_have_a_panel_each(self) -> None:
        columns = {"ward": ("a", "b"), "n": (4, 9), "cost": (1.5, 2.5)}
        panels = answer(columns, {"n": 1, "cost": (0.5, 0.25)}).plot()
        assert [panel.get_title() for panel in panels] == ["n by ward", "cost by ward"]
        assert heights(panels[0]) == [4, 9]
        assert whiskers(panels[1]) == [(1, 2), (2.25, 2.75)]

    def test_it_draws_where_it_is_told(self) -> None:
        figure, axes = plt.subplots(2)
        one = answer({"k": ("a",), "n": (4,)}, {"n": 1})
        assert one.plot(axes[1]) is axes[1]
        assert not axes[0].patches
        assert not figure.get_supxlabel()
        with pytest.raises(dc.InvalidParameter, match="give 1, not 2"):
            one.plot(axes)


class TestReadable:
    def test_many_rows_are_cut_and_it_is_said(self) -> None:
        rows = tuple(f"w{i}" for i in range(1000))
        panel = answer({"ward": rows, "n": tuple(range(1000))}, {"n": 1}).plot()
        assert len(panel.patches) == BARS
        assert f"the first {BARS} of 1,000: rows" in texts(panel)

    def test_many_groups_of_bars_are_cut_and_it_is_said(self) -> None:
        pairs = [(f"w{i}", sex) for i in range(100) for sex in "fmx"]
        panel = answer({"ward": [p[0] for p in pairs], "sex": [p[1] for p in pairs], "n": range(300)}, {"n": 1}).plot()
        assert len(panel.patches) <= BARS
        assert f"the first {BARS // 3} of 100: ward" in texts(panel)

    def test_many_series_are_bars_with_both_names(self) -> None:
        series = range(SERIES + 1)
        panel = answer({"a": ["x"] * len(series), "b": [f"s{i}" for i in series], "n": series}, {"n": 1}).plot()
        assert panel.get_legend() is None
        assert panel.get_xticklabels()[0].get_text() == "x, s0"

    def test_many_points_are_cut_and_it_is_said(self) -> None:
        days = [date(1990, 1, 1) + timedelta(i) for i in range(POINTS + 5)]
        panel = answer({"day": days, "n": range(len(days))}, {"n": 1}).plot()
        assert len(panel.lines[0].get_xdata()) == POINTS
        assert "points" in texts(panel)

    def test_many_numbers_are_cut_and_it_is_said(self) -> None:
        names = [f"n{i}" for i in range(PANELS + 2)]
        panels = answer({"k": ("a",), **dict.fromkeys(names, (1,))}, dict.fromkeys(names, 1)).plot()
        assert len(panels) == PANELS
        assert f"{PANELS} of {PANELS + 2} numbers" in panels[0].figure.get_supxlabel()

    def test_a_long_label_is_cut_and_a_hostile_one_is_written_out(self) -> None:
        panel = answer({"k": ("x" * 100, "a\nb"), "n": (1, 2)}, {"n": 1}).plot()
        first, second = (tick.get_text() for tick in panel.get_xticklabels())
        assert len(first) == 24
        assert second == "a\\nb"

    def test_a_picture_is_written_and_a_label_is_no_formula(self, tmp_path: Any) -> None:
        panel = answer({"$x_$": ("$\\frac$", "b_$"), "$n^$": (1, 2)}, {"$n^$": 1}).plot()
        panel.figure.savefig(tmp_path / "n.png")
        assert (tmp_path / "n.png").stat().st_size > 1000


def test_what_has_no_number_is_not_drawn() -> None:
    with pytest.raises(dc.NotSupported, match="no number"):
        answer({"k": ("a",)}, {}).plot()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'discreet\[plot\]'"):
        answer({"k": ("a",), "n": (4,)}, {"n": 1}).plot()
