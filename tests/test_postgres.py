"""PostgreSQL alone: what a connection may do, what is said when it cannot be made, and what only this server stores."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine import postgres as engine_module
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import bound
from discreet.engine.plan import Key, Measure, Plan, Present, Relation, Rows, Total, Units
from discreet.engine.postgres import Postgres as Engine
from discreet.engine.table import Table
from discreet.errors import Failed, InvalidParameter, NeedsDeclaration, Unavailable
from tests.plan_schemas import kind_of
from tests.servers import PASSWORD, Postgres

CANARY = "canary-cell-4711"


def column(name: str, domain: dp.domain.Column, scan: int = 0) -> ex.Column:
    return ex.Column(scan, name, domain, kind_of(domain))


def answers(table: Table, *measures: Measure, keys: tuple[Key, ...] = (), **options: int) -> list[Any]:
    """Whatever a question returns, as plain numbers."""
    plan = Plan(Relation((table,)), None, keys, measures, ())
    engine = Engine([table], **options)
    engine.schema(plan.relation)
    groups = engine.run(bound(plan, neighbours=dp.Neighbours.ADD_REMOVE))
    assert isinstance(groups, PublicGroups)
    return [np.asarray(exact._value).tolist() for exact in groups.measures]


@pytest.fixture(scope="module")
def ages(postgres: Postgres) -> Table:
    postgres.load("ages", {"age": "integer"}, [(30,), (40,), (200,), (None,)])
    return Table(postgres.url, table="ages", columns={"age": dp.Integer(0, 110)})


AGE = column("age", dp.Integer(0, 110))


def test_a_count_and_a_sum(ages: Table) -> None:
    assert answers(ages, Rows(), Present(AGE), Total(AGE)) == [4, 2, 70]


def test_what_is_set_is_read_back(ages: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine([ages], statement_seconds=7)
    with engine._connected() as cursor:
        shown = dict(cursor.execute("SELECT name, setting FROM pg_settings").fetchall())
    assert shown["default_transaction_read_only"] == shown["transaction_read_only"] == "on"
    assert shown["transaction_isolation"] == "repeatable read"
    assert (shown["search_path"], shown["TimeZone"], shown["statement_timeout"]) == ("pg_catalog", "UTC", "7000")
    for name, value in (("jit", "false"), ("TimeZone", "utc"), ("no_such_setting", "1")):
        monkeypatch.setitem(engine_module._SETTINGS, name, value)
        with pytest.raises(Unavailable):
            engine.schema(Relation((ages,)))
        monkeypatch.undo()


@pytest.mark.parametrize("role", ["reader", "owner"])
@pytest.mark.parametrize(
    "sql", ["CREATE TABLE made (n integer)", "DELETE FROM public.ages", "SELECT nextval('public.s')"]
)
def test_it_cannot_write(postgres: Postgres, ages: Table, role: str, sql: str) -> None:
    """Not even where the role could: every transaction is read-only."""
    postgres.execute("CREATE SEQUENCE IF NOT EXISTS public.s")
    table = Table(postgres.url if role == "reader" else postgres.admin, table="ages", columns=ages.columns)
    with pytest.raises(psycopg.Error), Engine([table])._connected() as cursor:
        cursor.execute(sql)
    assert postgres.execute("SELECT count(*) FROM ages") == [(4,)]


def test_a_question_that_takes_too_long_fails(postgres: Postgres) -> None:
    postgres.execute("DROP VIEW IF EXISTS slow")
    postgres.execute("CREATE VIEW slow AS SELECT age FROM ages WHERE pg_sleep(20) IS NOT NULL")
    postgres.execute("GRANT SELECT ON slow TO reader")
    started = time.monotonic()
    with pytest.raises(Failed):
        answers(Table(postgres.url, table="slow", columns={"age": dp.Integer(0, 110)}), Rows(), statement_seconds=1)
    assert time.monotonic() - started < 10


def test_what_a_server_says_stays_there(postgres: Postgres) -> None:
    """A view that raises on a row: the reply is constant, without the cell, the statement or the server's words."""
    postgres.load("cells", {"cell": "text"}, [(CANARY,)])
    postgres.execute("DROP VIEW IF EXISTS raising")
    postgres.execute("CREATE VIEW raising AS SELECT cell::integer AS age FROM cells")
    postgres.execute("GRANT SELECT ON raising TO reader")
    with pytest.raises(Failed) as caught:
        answers(Table(postgres.url, table="raising", columns={"age": dp.Integer(0, 110)}), Present(AGE))
    assert str(caught.value) == str(Failed())
    assert caught.value.__cause__ is caught.value.__context__ is None


def urls(server: Postgres) -> list[str]:
    secret, folder = quote(PASSWORD, safe=""), quote(server.folder, safe="")
    return [
        f"postgresql://reader:{secret}@/postgres?host=%2Fno%2Fsuch%2Fsocket",
        f"postgresql://reader:{secret}@127.0.0.1:1/postgres",
        f"postgresql://reader:{secret}@/none?host={folder}",
        f"postgresql://nobody:{secret}@/postgres?host={folder}",
        f"postgresql://reader:{secret}@/postgres?host={folder}&no_such_option=1",
        f"postgresql://reader:{secret}@/postgres?host={folder}&port=notanumber",
    ]


@pytest.mark.parametrize("place", range(6))
def test_a_server_that_cannot_be_reached(postgres: Postgres, place: int) -> None:
    """One reply, without the address, the role, the password or what the driver said."""
    table = Table(urls(postgres)[place], table="ages", columns={"age": dp.Integer(0, 110)})
    with pytest.raises(Unavailable) as caught:
        answers(table, Rows())
    assert str(caught.value) == "the source of table 'ages' cannot be reached or read. Nothing was spent."
    assert caught.value.__cause__ is caught.value.__context__ is None
    for shown in (repr(table), repr(table.source), str(table.description)):
        assert not any(secret in shown for secret in (PASSWORD, quote(PASSWORD, safe=""), "canary"))


def test_what_is_not_there_or_may_not_be_read(postgres: Postgres, ages: Table) -> None:
    postgres.execute("CREATE TABLE IF NOT EXISTS hidden (age integer)")
    for name in ("hidden", "none", "other.ages", "Ages", "pg_catalog.ages"):
        with pytest.raises(Unavailable, match="cannot be reached or read"):
            answers(Table(postgres.url, table=name, columns=ages.columns), Rows())
    postgres.load("half", {"age": "integer", "shown": "integer"}, [(1, 1)])
    postgres.execute("REVOKE SELECT ON half FROM reader")
    postgres.execute("GRANT SELECT (shown) ON half TO reader")
    with pytest.raises(Unavailable, match="no column 'age'"):
        answers(Table(postgres.url, table="half", columns=ages.columns), Rows())
    assert answers(Table(postgres.url, table="half", columns={"shown": dp.Integer(0, 5)}), Rows()) == [1]


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("char(4)", dp.Category(["a"])),
        ("char(4)", dp.Text()),
        ("name", dp.Text()),
        ("json", dp.Text()),
        ("money", dp.Real(0, 1)),
        ("integer[]", dp.Integer(0, 1)),
        ("interval", dp.Integer(0, 1)),
        ("timestamptz", dp.Date(date(2024, 1, 1), date(2024, 1, 2))),
        ("text", dp.Integer(0, 1)),
        ("integer", dp.Boolean()),
        ("timestamp", dp.Datetime(datetime(2024, 1, 1), datetime(2024, 1, 2), zone="CET")),
    ],
)
def test_a_type_that_a_declaration_does_not_read(postgres: Postgres, kind: str, domain: dp.domain.Column) -> None:
    postgres.load("odd", {"x": kind}, [])
    with pytest.raises(NeedsDeclaration, match="column 'x' of table 'odd'"):
        answers(Table(postgres.url, table="odd", columns={"x": domain}), Rows())


@pytest.mark.parametrize("kind", ["double precision", "numeric", "timestamp", "boolean", "bytea", "char(3)"])
def test_a_type_that_is_no_unit(postgres: Postgres, kind: str) -> None:
    postgres.load("odd", {"u": kind, "x": "integer"}, [])
    with pytest.raises(NeedsDeclaration, match="a unit is a whole number, a text or a UUID"):
        answers(Table(postgres.url, table="odd", unit="u", rows_per_unit=1, columns={"x": dp.Integer(0, 1)}), Units())


def test_nothing_that_a_column_may_hold_raises(postgres: Postgres) -> None:
    """Dates and times without an end, NaN and infinity of every kind, numbers beyond a double, a domain, a list."""
    postgres.execute("DROP DOMAIN IF EXISTS small CASCADE")
    postgres.execute("CREATE DOMAIN small AS smallint CHECK (VALUE < 100)")
    postgres.execute("DROP TYPE IF EXISTS mood CASCADE")
    postgres.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'a%s')")
    columns = {
        "d": "date",
        "t": "timestamp",
        "z": "timestamptz",
        "n": "numeric",
        "m": "numeric",
        "f": "double precision",
    }
    columns |= {"e": "mood", "s": "small", "v": "varchar(9)"}
    huge = Decimal("1e400")
    rows = [
        ("infinity", "infinity", "infinity", "NaN", "Infinity", "NaN", "sad", 99, "a "),
        ("-infinity", "-infinity", "-infinity", huge, -huge, "Infinity", "ok", -5, "a"),
        ("5874897-12-31", "294276-12-31", "294276-12-31 23:59:59+00", 1 / huge, -1 / huge, 5e-324, "a%s", 1, "A"),
        ("4713-01-01 BC", "4713-01-01 BC", "4713-01-01 00:00+00 BC", "1e130000", "0", 1e308, None, None, None),
        ("2024-05-06", "2024-05-06", "2024-05-06 10:00+00", "2.5", "3", 1e-200, "ok", 1, ""),
    ]
    postgres.load("extremes", columns, rows)
    at = (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))
    domains: dict[str, dp.domain.Column] = {
        "d": dp.Date(date(1, 1, 1), date(9999, 12, 31)),
        "t": dp.Date(date(1, 1, 1), date(9999, 12, 31)),
        "z": dp.Datetime(*at, zone="Asia/Tokyo"),
        "n": dp.Real(0, 10, step="0.5"),
        "m": dp.Integer(0, 10),
        "f": dp.Real(0, 10**100, step=10**99),
        "e": dp.Category(["ok", "a%s"]),
        "s": dp.Integer(-9, 99),
        "v": dp.Category(["a", ""]),
    }
    table = Table(postgres.url, table="extremes", columns=domains)
    present = answers(table, *(Present(column(name, domain)) for name, domain in domains.items()))
    assert present == [1, 1, 1, 2, 2, 2, 3, 4, 2]
    bins = dp.Bins([-1, 0, 1, 1000])
    table = Table(postgres.url, table="extremes", columns={"n": bins, "m": bins})
    keys = tuple(Key(column(name, bins), bins.values, range(3)) for name in ("n", "m"))
    assert answers(table, Rows(), keys=keys[:1]) == [[0, 1, 1]]
    assert answers(table, Rows(), keys=keys[1:]) == [[1, 1, 1]]  # -1e-400 is below 0


def test_names_of_any_kind(postgres: Postgres) -> None:
    postgres.execute('DROP SCHEMA IF EXISTS "od""d %s" CASCADE')
    postgres.execute('CREATE SCHEMA "od""d %s"')
    postgres.execute('GRANT USAGE ON SCHEMA "od""d %s" TO reader')
    name = 'a "b" %(p0)s; --'
    spelled = name.replace('"', '""')
    postgres.execute(f'CREATE TABLE "od""d %s"."T;" ("{spelled}" text)')
    postgres.execute('INSERT INTO "od""d %s"."T;" VALUES (\'x\'), (\'y\')')
    postgres.execute('GRANT SELECT ON "od""d %s"."T;" TO reader')
    domain = dp.Category(["x", "%s"])
    table = Table(postgres.url, table='od"d %s.T;', name="odd", columns={name: domain})
    assert answers(table, Rows(), keys=(Key(column(name, domain), domain.values, range(2)),)) == [[1, 0]]


@pytest.mark.parametrize("kind", ["uuid", "varchar(40)", "bigint", "smallint"])
def test_units_of_every_type(postgres: Postgres, kind: str) -> None:
    ids: list[object] = (
        [f"00000000-0000-0000-0000-{n:012}" for n in range(5)] if kind in ("uuid", "varchar(40)") else [*range(5)]
    )
    postgres.load("owned", {"u": kind, "x": "integer"}, [(one, n) for one in [*ids, None] for n in range(3)])
    table = Table(postgres.url, table="owned", unit="u", rows_per_unit=1, columns={"x": dp.Integer(0, 9)})
    assert answers(table, Units()) == [5]


def test_units_of_two_types_are_not_joined(postgres: Postgres) -> None:
    postgres.load("numbers", {"u": "integer", "x": "integer"}, [])
    postgres.load("texts", {"u": "text", "x": "integer"}, [])
    first, second = (
        Table(postgres.url, table=name, unit="u", rows_per_unit=1, columns={"x": dp.Integer(0, 9)})
        for name in ("numbers", "texts")
    )
    with pytest.raises(NeedsDeclaration, match="integer, text"):
        Engine([first, second]).schema(Relation((first, second)))


def test_a_public_table_that_grew_is_not_joined(postgres: Postgres) -> None:
    """The bounds are those of the partners that were counted; where there are more now, nothing is answered."""
    from discreet.engine.plan import Join

    postgres.load("stays", {"u": "integer", "ward": "integer"}, [(1, 5), (2, 6)])
    postgres.load("wards", {"id": "integer", "beds": "integer"}, [(5, 9), (6, 9), (6, None), (None, 1), (None, 2)])
    stays = Table(postgres.url, table="stays", unit="u", rows_per_unit=1, columns={"ward": dp.Integer(0, 9)})
    wards = Table(postgres.url, table="wards", public=True, columns={"id": dp.Integer(0, 9), "beds": dp.Integer(0, 9)})
    engine = Engine([stays, wards])
    assert engine.fan_out(wards, ("id",)) == 2
    assert engine.fan_out(wards, ("id", "beds")) == 1
    on = ((column("ward", dp.Integer(0, 9)), column("id", dp.Integer(0, 9), 1)),)
    plan = Plan(Relation((stays, wards), (Join(1, "inner", False, on, 2),)), None, (), (Rows(),), ())
    query = bound(plan, neighbours=dp.Neighbours.ADD_REMOVE)
    assert isinstance(engine.run(query), PublicGroups)
    postgres.execute("INSERT INTO wards VALUES (6, 1)")
    with pytest.raises(Failed):
        engine.run(query)


def test_one_server_for_one_engine(postgres: Postgres, ages: Table) -> None:
    other = Table(postgres.admin, table="ages", columns=ages.columns)
    with pytest.raises(InvalidParameter, match="one URL"):
        Engine([ages, other])
    with pytest.raises(InvalidParameter, match="tables of a PostgreSQL server"):
        Engine([Table(pa.table({"age": [1]}), name="ages", columns=ages.columns)])


def test_an_old_server_or_encoding_is_refused(ages: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "OLDEST", 10**7)
    with pytest.raises(Unavailable):
        answers(ages, Rows())


def test_a_table_that_changed_its_type_after_the_debit_fails(postgres: Postgres) -> None:
    postgres.load("moved", {"age": "integer"}, [(1,)])
    table = Table(postgres.url, table="moved", columns={"age": dp.Integer(0, 110)})
    plan = Plan(Relation((table,)), None, (), (Rows(),), ())
    query = replace(bound(plan, neighbours=dp.Neighbours.ADD_REMOVE))
    engine = Engine([table])
    engine.schema(plan.relation)
    postgres.execute("DROP TABLE moved")
    with pytest.raises(Failed):
        engine.run(query)
