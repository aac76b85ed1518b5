"""Rules 1 to 4 of what must always be true of a session. Each class quotes the sentences that it tests."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.dp import Exact
from discreet.session import Session
from tests.sessions import CANARY, KEYED, MANY, REFUSED, ROWS, SPENDS, Q, crash, recorded, session, table


class TestRule1:
    def test_price_first(self) -> None:
        """**Price first.** `session.quote(...)` returns cost, expected error and route: a function of the question,
        public facts and answers already released. Two neighbouring tables with the same released answers get the same
        bytes."""
        texts = (*SPENDS[:4], "SELECT AVG(age) AS a FROM t", *REFUSED)
        pair = [session(ROWS), session(ROWS.slice(2))]
        assert quotes(pair[0], texts) == quotes(pair[1], texts)
        told = pair[0].sql("SELECT COUNT(*) AS n, AVG(age) AS a FROM t", epsilon="0.1")
        shared = [Session(table(rows), ledger=pair[0]._ledger) for rows in (ROWS, ROWS.slice(2), ROWS.slice(0, 0))]
        first = quotes(shared[0], texts)
        assert all(quotes(other, texts) == first for other in shared)
        assert told.charged == Fraction(1, 10)

    def test_errors_that_depend_on_the_data(self) -> None:
        """Where the error depends on the data (a mean, a quantile), the quote gives it as a formula and at a reference
        ("+-320/n; +-3.2 at n = 100"), uses a released count where one exists, and never looks."""
        asked = session(MANY)
        recorder = recorded(asked)
        text = "SELECT AVG(age) AS a FROM t"
        formula = asked.quote(text, epsilon="0.1").errors["a"]
        assert isinstance(formula, str)
        assert "/ (n - " in formula
        assert "at n = " in formula
        assert recorder.events == []
        look = asked.sql(text, epsilon="0.1")
        [before] = look.errors["a"]  # type: ignore[misc]
        after = asked.quote(text, epsilon="0.2").errors["a"]
        assert isinstance(after, str)
        assert float(after.removeprefix("about ")) < before
        [error] = asked.sql(text, epsilon="0.2").errors["a"]  # type: ignore[misc]
        assert float(after.removeprefix("about ")) == pytest.approx(error, rel=0.2)

    def test_never_looks_for_a_median(self) -> None:
        asked = session(MANY)
        assert "rows" in str(asked.quote("SELECT MEDIAN(age) AS m FROM t", epsilon="0.1").errors["m"])
        assert asked.spent == 0


def quotes(asked: Session, texts: tuple[str, ...]) -> list[str]:
    told = []
    for text in texts:
        for offer in ({"epsilon": "0.05"}, {"epsilon": "0.2"}, {"epsilon": 2}, {"within": 50}, {"relative": 0.1}):
            try:
                told.append(repr(asked.quote(text, **offer)))  # type: ignore[arg-type]
            except dc.Refused as refusal:
                told.append(f"{type(refusal).__name__} {refusal}")
    return told


class TestRule2:
    @pytest.mark.parametrize("text", SPENDS)
    def test_debit_then_read(self, text: str) -> None:
        """**Debit, then read.** The ledger's debit is durable before a row is read. What fails afterwards is not
        refunded."""
        asked = session(table(unit="who", rows_per_unit=2), budget=KEYED)
        recorder = recorded(asked, crash)
        price = asked.quote(text, epsilon="0.5").cost.share
        with pytest.raises(dc.Failed):
            asked.sql(text, epsilon="0.5")
        amount = price * KEYED.cap.amount
        assert [event for event, _ in recorder.events] == ["schema", "run"]
        assert [spent for _, spent in recorder.events] == [0, pytest.approx(float(amount), rel=0.01)]
        assert asked.spent == price

    def test_what_is_checked_before_is_free(self, tmp_path: Path) -> None:
        """Source, schema and reachability are checked before the debit: `dc.Unavailable` is free and the same for every
        table."""
        asked = session(tmp_path / "t.parquet")
        with pytest.raises(dc.Unavailable):
            asked.sql(Q, epsilon="0.5")
        assert asked.spent == 0


class TestRule3:
    def test_one_way_to_a_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """**One way to a number.** Inside a session a private value exists only as `Exact`, which carries its
        sensitivity; only a mechanism can open it, and only with a permit that the ledger minted."""
        seen: list[tuple[Exact, dp.Permit]] = []
        original = dp.Laplace.open

        def keep(self: dp.Laplace, exact: Exact, permit: dp.Permit) -> Any:
            seen.append((exact, permit))
            return original(self, exact, permit)

        monkeypatch.setattr(dp.Laplace, "open", keep)
        session().sql(SPENDS[2], epsilon="0.5")
        assert len(seen) == 3
        for exact, permit in seen:
            assert exact.sensitivity.l1 is not None
            assert permit.left == 0
            for look in (int, float, list, str.__mod__, pickle.dumps, np.asarray):
                with pytest.raises((TypeError, ValueError)):
                    look(exact)  # type: ignore[operator, arg-type]
            with pytest.raises((dc.Refused, TypeError)):
                original(dp.Laplace(sensitivity=exact.sensitivity, epsilon=1), exact, permit)  # nothing is left of it


class TestRule4:
    def test_errors_are_outputs(self) -> None:
        """**Errors are outputs.** A refusal depends on the question and on public facts only, and names the line to add
        or change."""
        for text in REFUSED:
            told = set()
            for rows in (ROWS, ROWS.slice(2), ROWS.slice(0, 0)):
                asked = session(rows)
                with pytest.raises(dc.Refused) as caught:
                    asked.sql(text, epsilon="0.5")
                told.add((type(caught.value), str(caught.value)))
                assert asked.spent == 0
            assert len(told) == 1

    def test_a_failure_is_one_constant_reply_and_suspends(self) -> None:
        """A failure that depends on the data gets one constant reply and is charged; since no charge covers a certain
        bit, it is a defect: it suspends the session until the curator has looked."""
        asked = session()
        recorded(asked, crash)
        with pytest.raises(dc.Failed) as caught:
            asked.sql(Q, epsilon="0.5")
        assert str(caught.value) == str(dc.Failed())
        assert asked.spent == Fraction(1, 2)
        with pytest.raises(dc.NotSupported, match="suspended"):
            asked.sql("SELECT COUNT(*) FROM t", epsilon="0.1")

    def test_a_value_outside_its_domain_is_null(self) -> None:
        """A value outside its declared domain counts as NULL; it never raises."""
        odd = pa.table({"sex": [CANARY, None, ""], "age": [float("nan"), 1e300, -1.5], "cost": [-1.0, 1e9, None]})
        asked = session(odd, epsilon=99)
        counted = "SELECT COUNT(sex) AS s, COUNT(age) AS a, COUNT(cost) AS c FROM t"
        answer = asked.sql(counted, epsilon=80)
        assert [answer.columns[name][0] for name in "sac"] == [0, 0, 0]  # off by 1 with probability below 1e-10
