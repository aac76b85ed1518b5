"""DU-04: 64 clients in each of three processes on a budget for exactly K, on both stores: exactly K are admitted."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger import ledger_at
from tests.sizes import sized
from tests.spenders import Spenders, go, seen

K = 40  # fortieths of a budget of 1
CLIENTS = sized(8, 64)


def admitted(address: str, kind: str = "Ledger") -> list[str]:
    work = Spenders(address, kind=kind, each=sized(5, 20), threads=CLIENTS)
    workers = [work.start(name) for name in "abc"]
    go(workers)
    shown = [key for worker in workers for key in seen(worker)]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    return shown


@pytest.mark.parametrize("store", ["file", "postgres"])
def test_exactly_k_are_admitted(request: pytest.FixtureRequest, tmp_path: Path, store: str) -> None:
    address = str(tmp_path / "x")
    if store == "postgres":
        fresh: Callable[[], str] = request.getfixturevalue("durable_postgres")
        address = fresh()
    shown = admitted(address)
    assert len(shown) == len(set(shown)) == K
    ledger = ledger_at(address)
    ledger.bind(dataset="t", budget=None)
    assert ledger.spent.amount == Fraction(1)


def test_check_then_insert_is_rejected(tmp_path: Path) -> None:
    assert len(admitted(str(tmp_path / "x"), "ChecksThenInserts")) > K
