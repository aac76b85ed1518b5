"""What each analyst may spend, versions, raised budgets and the states of interactive objects."""

from fractions import Fraction
from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger import Ledger, ledger_at, memory_ledger

TENTH = dp.Loss.pure(epsilon=0.1)


@pytest.fixture(params=["memory", "postgres"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    made = memory_ledger() if request.param == "memory" else ledger_at(request.getfixturevalue("durable_postgres")())
    made.bind(dataset="t", budget=dp.Budget(epsilon=1))
    return made


def spend(ledger: Ledger, analyst: str, times: int, loss: dp.Loss = TENTH) -> int:
    """How many of so many losses are admitted."""
    admitted = 0
    for _ in range(times):
        try:
            ledger.reserve(loss, key=f"{analyst}{len(ledger.history())}", question="q", analyst=analyst)
        except BudgetExceeded:
            continue
        admitted += 1
    return admitted


class TestGrants:
    def test_an_analyst_spends_what_was_granted_and_no_more(self, ledger: Ledger) -> None:
        ledger.grant("ana", dp.Budget(epsilon=0.3))
        assert spend(ledger, "ana", 5) == 3
        assert ledger.spent_by("ana") == dp.Charge(Fraction(3, 10)) == ledger.spent

    def test_colluding_analysts_do_not_get_more_than_the_dataset_has(self, ledger: Ledger) -> None:
        """CO-07: the grants add up to 4, the budget is 1."""
        for name in "abcdefgh":
            ledger.grant(name, dp.Budget(epsilon=0.5))
        assert sum(spend(ledger, name, 5) for name in "abcdefgh") == 10
        assert ledger.spent == dp.Charge(Fraction(1))

    def test_a_ledger_that_looks_at_grants_alone_is_rejected(self) -> None:
        """The broken twin of CO-07."""

        class GrantsAlone(Ledger):
            def _admitted(self, rows, loss, kind, **names):  # type: ignore[no-untyped-def]
                body = names.pop("question")
                self._append(rows, kind, body=body, more=self.budget.charge(loss), **names)

        twin = GrantsAlone(memory_ledger()._store)
        twin.bind(dataset="t", budget=dp.Budget(epsilon=1))
        assert sum(spend(twin, name, 5) for name in "abcdefgh") > 10

    def test_who_has_no_grant_is_told_how_to_get_one(self, ledger: Ledger) -> None:
        with pytest.raises(BudgetExceeded, match=r"ledger.grant\('ana', dc.Budget"):
            ledger.reserve(TENTH, key="a", question="q", analyst="ana")
        assert spend(ledger, "curator", 11) == 10

    def test_a_refused_reservation_leaves_nothing(self, ledger: Ledger) -> None:
        ledger.grant("ana", dp.Budget(epsilon=0.05))
        before = ledger.history()
        with pytest.raises(BudgetExceeded, match="your own grant"):
            ledger.reserve(TENTH, key="a", question="q", analyst="ana")
        assert ledger.history() == before
        assert ledger.spent == dp.Charge()

    def test_revoked_is_revoked_and_a_new_grant_counts_from_then(self, ledger: Ledger) -> None:
        ledger.grant("ana", dp.Budget(epsilon=0.3))
        assert spend(ledger, "ana", 1) == 1
        ledger.revoke("ana", reason="left the project")
        assert spend(ledger, "ana", 1) == 0
        with pytest.raises(LedgerError, match="no grant"):
            ledger.revoke("ana", reason="again")
        ledger.grant("ana", dp.Budget(epsilon=0.2))
        assert spend(ledger, "ana", 5) == 2
        assert ledger.spent == dp.Charge(Fraction(3, 10))

    def test_a_grant_is_of_the_kind_of_the_budget(self, ledger: Ledger) -> None:
        for other in (dp.Budget(epsilon=1, delta=1e-9), dp.Budget(rho=0.1)):
            with pytest.raises(InvalidParameter, match="same kind"):
                ledger.grant("ana", other)
        with pytest.raises(InvalidParameter, match="short name"):
            ledger.grant("", dp.Budget(epsilon=0.1))
        with pytest.raises(InvalidParameter, match=r"dc.Budget"):
            ledger.grant("ana", 0.1)  # type: ignore[arg-type]

    def test_each_limit_is_in_its_own_currency(self) -> None:
        """Renyi orders differ: what an analyst spent of (0.3, 1e-10) is counted at the order of that promise."""
        ledger = memory_ledger()
        ledger.bind(dataset="t", budget=dp.Budget(epsilon=1, delta=1e-9))
        granted = dp.Budget(epsilon=0.3, delta=1e-10)
        ledger.grant("ana", granted)
        loss = granted.price(epsilon=0.1)
        alone = dp.PrivacyFilter(granted)
        fits = sum(alone.admit(loss) for _ in range(1000))
        assert spend(ledger, "ana", fits + 3, loss) == fits
        assert ledger.spent_by("ana") == alone.spent


class TestTerms:
    def test_a_budget_is_raised_with_a_reason_and_what_was_spent_stays_spent(self, ledger: Ledger) -> None:
        assert spend(ledger, "curator", 11) == 10
        with pytest.raises(InvalidParameter, match="reason"):
            ledger.raise_budget(reason=" ", epsilon=2)
        ledger.raise_budget(reason="the board agreed on 19 November", epsilon=2)
        assert spend(ledger, "curator", 11) == 10
        assert "board" in next(entry.body for entry in ledger.history() if entry.kind == "raise")

    @pytest.mark.parametrize("smaller", [{"epsilon": 1}, {"epsilon": 0.5}, {"epsilon": 2, "delta": 1e-9}, {"rho": 2}])
    def test_only_a_larger_budget_of_the_same_kind_is_a_raise(self, ledger: Ledger, smaller: dict[str, float]) -> None:
        with pytest.raises(InvalidParameter, match="raised"):
            ledger.raise_budget(reason="no", **smaller)

    def test_a_raised_budget_keeps_the_order_in_which_it_was_spent(self, tmp_path: Path) -> None:
        whole = dp.Budget(epsilon=1, delta=1e-9)
        ledger = Ledger.create(tmp_path / "x", dataset="t", budget=whole)
        ledger.reserve(whole.price(epsilon=1), key="a", question="q", analyst="curator")
        ledger.raise_budget(reason="agreed", epsilon=2, delta=1e-9)
        again = ledger_at(tmp_path / "x")
        again.bind(dataset="t", budget=dp.Budget(epsilon=2, delta=1e-9))  # the promise, whatever its order
        assert again.budget.order == whole.order
        assert again.budget.cap.amount == whole.cap.amount + 1  # at one order, R* grows as epsilon does
        assert 0 < again.budget.share(again.spent) < 1
        with pytest.raises(LedgerError, match="leave budget= out"):
            ledger_at(tmp_path / "x").bind(dataset="t", budget=whole)

    def test_the_budget_runs_across_versions(self, tmp_path: Path) -> None:
        """NB-13: the same people are in both snapshots."""
        first = Ledger.create(tmp_path / "x", dataset="t", budget=dp.Budget(epsilon=1))
        assert spend(first, "curator", 6) == 6
        second = ledger_at(tmp_path / "x")
        second.bind(dataset="t", budget=None, version="2")
        assert spend(second, "curator", 6) == 4
        kinds = [(entry.kind, entry.version) for entry in second.history()]
        assert kinds == [("open", "1")] + [("reserve", "1")] * 6 + [("version", "2")] + [("reserve", "2")] * 4


class TestStates:
    def test_the_newest_state_is_kept_with_its_charge(self, ledger: Ledger) -> None:
        assert ledger.state("watch") is None
        for number in range(1, 12):
            loss = TENTH if number % 3 == 0 else None
            ledger.advance("watch", f"v1:{number}".encode(), loss=loss, what="watch", analyst="curator")
            assert ledger.state("watch") == f"v1:{number}".encode()
        assert ledger.spent == dp.Charge(Fraction(3, 10))
        assert ledger.state("other") is None

    def test_a_state_that_cannot_be_paid_is_not_kept(self, ledger: Ledger) -> None:
        ledger.advance("watch", b"old", loss=None, what="watch", analyst="curator")
        with pytest.raises(BudgetExceeded):
            ledger.advance("watch", b"new", loss=dp.Loss.pure(epsilon=2), what="watch", analyst="curator")
        assert ledger.state("watch") == b"old"
