"""A ledger in PostgreSQL: what it needs of the server, and what it keeps to itself."""

from collections.abc import Callable

import psycopg
import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger import Ledger, ledger_at
from tests.servers import Postgres

TENTH = dp.Loss.pure(epsilon=0.1)
Address = Callable[[], str]


def created(address: str) -> Ledger:
    return Ledger.create(address, dataset="t", budget=dp.Budget(epsilon=1))


def written_until_refused(ledger: Ledger) -> None:
    for _ in range(100):  # until the server has read its settings
        ledger.advance("a", b"", loss=None, what="w", analyst="curator")


@pytest.mark.parametrize(
    ("setting", "value"), [("fsync", "off"), ("full_page_writes", "off"), ("default_transaction_read_only", "on")]
)
def test_a_server_that_would_lose_a_commit_is_refused(
    postgres: Postgres, durable_postgres: Address, setting: str, value: str
) -> None:
    ledger = created(durable_postgres())
    postgres.execute(f"ALTER SYSTEM SET {setting} = {value}")
    postgres.execute("SELECT pg_reload_conf()")
    try:
        with pytest.raises(LedgerError, match=r"would not be durable|read-only"):
            written_until_refused(ledger)
    finally:
        with psycopg.connect(postgres.admin, autocommit=True, options="-c default_transaction_read_only=off") as owner:
            owner.execute(f"ALTER SYSTEM RESET {setting}")
            owner.execute("SELECT pg_reload_conf()")


def test_rows_cannot_be_changed_through_sql(postgres: Postgres, durable_postgres: Address) -> None:
    address = durable_postgres()
    created(address)
    table = f"discreet_{address.partition('#')[2]}.entry"
    for change in (f"UPDATE {table} SET amount = '0'", f"DELETE FROM {table}", f"TRUNCATE {table}"):
        with pytest.raises(psycopg.errors.RaiseException, match="append only"):
            postgres.execute(change)
    postgres.execute(f"ALTER TABLE {table} DISABLE TRIGGER entry_stays")
    with pytest.raises(LedgerError, match="append-only"):
        created(address)


def test_a_changed_row_is_refused(postgres: Postgres, durable_postgres: Address) -> None:
    address = durable_postgres()
    ledger = created(address)
    ledger.reserve(TENTH, key="a", question="q", analyst="curator")
    table = f"discreet_{address.partition('#')[2]}.entry"
    postgres.execute(f"ALTER TABLE {table} DISABLE TRIGGER entry_stays")
    postgres.execute(f"UPDATE {table} SET amount = '0', total = '0' WHERE number = 2")
    postgres.execute(f"ALTER TABLE {table} ENABLE TRIGGER entry_stays")
    with pytest.raises(LedgerError, match="does not fit"):
        ledger.reserve(TENTH, key="b", question="q", analyst="curator")
    with pytest.raises(LedgerError, match="does not fit"):
        created(address)


def test_two_names_are_two_ledgers(durable_postgres: Address) -> None:
    first, second = created(durable_postgres()), created(durable_postgres())
    first.reserve(TENTH, key="a", question="q", analyst="curator")
    assert first.spent != second.spent == dp.Charge()


@pytest.mark.parametrize("name", ["Visits", "a b", "a'; DROP", "1a", "a" * 60])
def test_a_name_is_plain(postgres: Postgres, name: str) -> None:
    with pytest.raises(InvalidParameter, match="names the ledger"):
        ledger_at(f"{postgres.admin}#{name}")


def test_an_address_that_leads_nowhere_is_refused_without_its_password() -> None:
    ledger = ledger_at("postgresql://ana:canary@127.0.0.1:1/visits#x")
    assert "canary" not in repr(ledger)
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_refusal_leaves_the_connection_and_the_rows_as_they_were(durable_postgres: Address) -> None:
    ledger = created(durable_postgres())
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(dp.Loss.pure(epsilon=2), key="a", question="q", analyst="curator")
    assert len(ledger.history()) == 1
