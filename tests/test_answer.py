"""Answers: every number has its error, in every form; post-processing changes no number."""

import html.parser
import sys
from datetime import date, datetime
from fractions import Fraction

import pytest

import discreet as dc
from discreet.answer import Answer, Cost, Facts, Quote, percent, readable
from tests.answers import MIXED, SINGLE, answer


class TestNumbers:
    def test_a_single_number_has_a_value_and_an_error(self) -> None:
        assert (SINGLE.value, SINGLE.error) == (7, 30)
        for ask in ("value", "error"):
            with pytest.raises(dc.NotSupported, match="use to_pandas"):
                getattr(answer(), ask)
        mean = answer(columns={"x": (1.5,)}, errors={"x": (0.25,)})
        assert (mean.value, mean.error) == (1.5, 0.25)


class TestBytes:
    def test_an_answer_survives(self) -> None:
        again = Answer.from_bytes(answer().to_bytes())
        assert again == answer()
        assert (again.route, again.charged) == ("cache", 0)
        assert again.to_bytes() == answer().to_bytes()

    def test_what_was_charged_is_not_part_of_the_bytes(self) -> None:
        assert answer(route="cache", charged=Fraction(0)).to_bytes() == answer().to_bytes()
        assert answer(errors={"n": 31}).to_bytes() != answer().to_bytes()

    def test_another_format_is_refused(self) -> None:
        with pytest.raises(dc.NotSupported, match="another version"):
            Answer.from_bytes(b'{"format": 1}')

    def test_days_instants_truths_and_null_survive(self) -> None:
        again = Answer.from_bytes(MIXED.to_bytes())
        assert again == MIXED
        assert again.to_bytes() == MIXED.to_bytes()
        assert [type(value) for value in again.columns["hour"]] == [datetime, type(None), datetime]
        assert type(again.columns["day"][0]) is date


class TestText:
    def test_a_table_with_errors(self) -> None:
        assert repr(answer()).splitlines() == [
            "sex  ok               n",
            "f    False      10 ± 30",
            "f    True       -3 ± 30",
            "m    False  20,000 ± 30",
            "m    True        0 ± 30",
            "± at 95 %, each number for itself · direct, 10 % of the budget · protects one row of t, added or removed",
        ]

    def test_each_row_has_its_own_error_to_a_thousandth_of_it(self) -> None:
        assert repr(MIXED).splitlines()[1:4] == [
            "2026-01-01  2026-01-01 05:00:00  True       10 ± 30  48.25 ± 1.5",
            "2026-01-02  NULL                 NULL   12,345 ± 30         NULL",
            "2026-01-03  2026-01-01 06:00:00  False       9 ± 30     50.5 ± ?",
        ]

    @pytest.mark.parametrize(
        ("number", "error", "text"),
        [
            (12_345.678, 300.0, "12,346"),
            (12.3456, 1.5, "12.35"),
            (0.00123456, 0.0004, "0.001235"),
            (1e300, 1e299, f"{1e300:,.0f}"),
            (-0.0, 0.1, "0"),
            (5.5, None, "5.5"),
        ],
    )
    def test_numbers_are_written_to_what_their_errors_allow(
        self, number: float, error: float | None, text: str
    ) -> None:
        assert readable(number, error) == text

    def test_an_answer_without_rows_is_shown(self) -> None:
        empty = answer(columns={"k": (), "n": ()}, errors={"n": 30})
        assert (empty.rows, repr(empty).splitlines()[0], empty.bars()) == (0, "k  n", "")
        assert empty.to_pandas().shape == (0, 3)

    def test_a_long_answer_is_cut_with_a_note(self) -> None:
        many = answer(columns={"n": tuple(range(1000))})
        assert "... 976 more rows" in repr(many)
        assert len(repr(many).splitlines()) == 27
        assert "976 more rows" in many._repr_html_()

    def test_null_says_why_where_it_is_a_mean_of_too_few_rows(self) -> None:
        """The number of rows is not above 0 for sure, so there is no mean; another NULL is a NULL."""
        facts = Facts(quotients=frozenset({"age"}))
        shown = answer(columns={"k": ("a", "b"), "age": (None, 5.5), "m": (None, 1)}, errors={"age": 1.5, "m": 1})
        assert repr(shown).splitlines()[1].split() == ["a", "NULL", "NULL"]
        told = answer(columns=shown.columns, errors=shown.errors, facts=facts)
        for text in (repr(told), told._repr_html_()):
            assert text.count("too few to tell") == 2  # in its place, and in the note
            assert text.count("NULL") == 1
        assert "too few to tell: the number of rows may be 0" in told.note
        full = answer(columns={"k": ("a",), "age": (5.5,)}, errors={"age": 1.5}, facts=facts)
        assert "too few" not in repr(full)

    def test_groups_that_are_missing_are_mentioned(self) -> None:
        named = answer(facts=Facts(names_keys=True))
        assert "groups that few people share are not named" in named.note
        assert "groups that few" not in answer().note

    def test_numbers_stand_to_the_right(self) -> None:
        text = answer()._repr_html_()
        assert text.count('<td class="number">') == 4
        assert '<th class="number">n</th>' in text
        assert "<th>sex</th>" in text

    def test_html_is_escaped_and_balanced(self) -> None:
        class Balance(html.parser.HTMLParser):
            open: list[str]

            def handle_starttag(self, tag: str, attrs: object) -> None:
                self.open.append(tag)

            def handle_endtag(self, tag: str) -> None:
                assert self.open.pop() == tag

        hostile = answer(columns={"<b>": ("<script>alert(1)</script>",), "n": (1,)})
        text = hostile._repr_html_()
        assert "<script" not in text
        parser = Balance()
        parser.open = []
        parser.feed(text)
        assert parser.open == []

    def test_a_label_stays_on_its_line_and_commands_no_terminal(self) -> None:
        hostile = answer(columns={"k": ("a\nb", "\x1b[31mred", "\u202e", "é"), "n": (1, 2, 3, 4)})
        for shown in (repr(hostile), hostile.bars(width=60), hostile._repr_html_()):
            assert "\\n" in shown
            assert "\x1b" not in shown
            assert "\u202e" not in shown
            assert "é" in shown
        assert len(hostile.bars(width=60).splitlines()) == 4
        assert hostile.to_arrow()["k"].to_pylist()[0] == "a\nb"

    def test_shares_are_written_as_people_write_them(self) -> None:
        assert [percent(Fraction(x)) for x in ("1", "1/10", "1/3", "0", "1e-6")] == [
            "100 %",
            "10 %",
            "33.3 %",
            "0 %",
            "0.0001 %",
        ]


class TestBars:
    def test_bars_end_at_the_number_and_whiskers_at_the_errors(self) -> None:
        chart = answer(columns={"k": ("a", "b"), "n": (40, 90)}, errors={"n": 10}).bars(width=120, ascii_only=True)
        first, second = chart.splitlines()
        scale = (120 - 1 - len("90 ~ 10") - 5) / 100
        for line, value in ((first, 40), (second, 90)):
            bar = line[3:]
            assert [bar.index(sign) for sign in "|+"] == [round((value - 10) * scale), round(value * scale)]
            assert bar.rindex("|") == round((value + 10) * scale)
        assert second.endswith("90 ~ 10")

    @pytest.mark.parametrize("width", [1, 20, 40, 80, 200])
    def test_the_width_is_kept_where_there_is_room(self, width: int) -> None:
        lines = answer().bars(width=width).splitlines()
        assert len(lines) == 4
        assert all(len(line) <= max(width, 42) for line in lines)

    def test_odd_numbers_are_drawn(self) -> None:
        for values in ((0,), (-5,), (-5, 3), (10**12, 1)):
            drawn = answer(columns={"k": range(len(values)), "n": values}, errors={"n": 2}).bars(width=60)
            assert len(drawn.splitlines()) == len(values)

    def test_a_terminal_without_the_signs_gets_ascii(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Terminal:
            encoding = "latin-1"

        monkeypatch.setattr(sys, "stdout", Terminal())
        assert answer().bars(width=60).isascii()
        Terminal.encoding = "utf-8"
        assert "█" in answer().bars(width=60)

    def test_each_bar_has_the_whiskers_of_its_row(self) -> None:
        chart = answer(columns={"k": ("a", "b"), "n": (50.0, 50.0)}, errors={"n": (10.0, 40.0)}).bars(
            width=120, ascii_only=True
        )
        one, two = chart.splitlines()
        assert two.index("|") < one.index("|") < one.index("+") == two.index("+") < one.rindex("|") < two.rindex("|")

    def test_what_has_no_number_is_not_drawn(self) -> None:
        with pytest.raises(dc.NotSupported, match="no number"):
            answer(columns={"k": ("a",)}, errors={}).bars()
        nulls = answer(columns={"k": ("a", "b"), "n": (None, 2.0)}, errors={"n": (None, 1.0)}).bars(width=60)
        assert "NULL" in nulls

    def test_half_a_million_groups_do_not_flood_the_terminal(self) -> None:
        chart = answer(columns={"k": range(500_000), "n": range(500_000)}, errors={"n": 2}).bars(width=60)
        assert len(chart.splitlines()) == 101
        assert chart.endswith("\n... 499,900 more rows")

    def test_a_single_number_has_a_bar(self) -> None:
        assert SINGLE.bars(width=50, ascii_only=True).startswith("n ")


def test_a_quote_is_read_at_a_glance() -> None:
    quote = Quote(Cost(Fraction(1, 10), dc.dp.Loss.pure(epsilon="0.1"), 10), {"n": 30}, "direct", "Advice.")
    assert repr(quote) == "10 % of the budget (10 like this one fit) · n ± 30 at 95 % · direct\nAdvice."
    mean = Quote(Cost(Fraction(0), dc.dp.Loss.pure(epsilon=0), None), {"age": "320 / n"}, "cache", "Advice.")
    assert repr(mean) == "0 % of the budget (free) · age ± 320 / n at 95 % · cache\nAdvice."
