"""DuckDB: one locked engine in memory for some tables, and a fresh connection to it for every question."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.engine.assemble import DENSE, assembled
from discreet.engine.assemble import Table as Returned
from discreet.engine.backend import Groups
from discreet.engine.bound import BoundedQuery
from discreet.engine.dialect import Origin
from discreet.engine.fitting import changed, public_joins
from discreet.engine.kept import SHARE, Kept
from discreet.engine.locked import Locked, memory_limit
from discreet.engine.plan import Relation
from discreet.engine.public import fan_out, fan_out_of, public_origin
from discreet.engine.relation import Statement
from discreet.engine.reuse import Reuse
from discreet.engine.scans import check_units, scan_of
from discreet.engine.source import File
from discreet.engine.table import Table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


_MANY_CELLS = 1 << 16  # from here on counting codes is faster than GROUP BY
_BATCH = 1 << 24  # rows; each batch is counted into an array of all cells


class DuckDB:
    """The engine for files and frames.

    It is opened by the first question, and again in a process that was forked. `memory` is how much it may use, in
    bytes: half of what the machine has, unless given.
    """

    def __init__(self, tables: Sequence[Table], *, memory: int | None = None) -> None:
        self._paths = [path for table in tables if isinstance(table.source, File) for path in table.source.paths]
        self._memory = memory or memory_limit()
        self._lock, self._process = threading.Lock(), os.getpid()
        self._secret = 0
        self._open: _Open | None = None
        self._inherited: list[_Open] = []  # of a parent process: not ours to close
        self._digesting: list[threading.Thread] = []

    def schema(self, relation: Relation) -> None:
        """Reach the tables and compare their columns with the declarations; no row of a private table is read."""
        with _cursor(self._opened()) as cursor:
            _origins(relation, cursor)

    def run(self, query: BoundedQuery) -> Groups:
        """Read the rows and return the exact values."""
        opened = self._opened()
        with _cursor(opened) as cursor:
            origins = _origins(query.plan.relation, cursor)
            reuse = Reuse.of(query, origins, opened.kept, self._secret)
            with reuse.statements(cursor) as made:
                every = [(each, returned(each, cursor, query.cells * (each.bins or 1))) for each in made]
                groups = assembled(query, every)
            later = reuse.is_digestible
        if later:
            self._digest(reuse, opened)
        return groups

    def fan_out(self, table: Table, columns: Sequence[str]) -> int:
        """Return how many rows of a public table have the same values in some columns, at most."""
        return fan_out(table, columns)

    def settle(self) -> None:
        """Wait until what the questions so far leave for later ones is kept."""
        for thread in self._digesting:
            thread.join()
        self._digesting.clear()

    def close(self) -> None:
        """Give back memory and files; another question opens the engine again."""
        if self._process == os.getpid():
            self.settle()
        with self._lock:
            if self._open is not None:
                self._open.instance.close()
            self._open = None

    def _digest(self, reuse: Reuse, opened: _Open) -> None:
        """Keep the columns of a question for later ones, beside whatever the process does next."""

        def work() -> None:
            with suppress(Exception), _cursor(opened) as cursor:  # then nothing is kept
                _origins(reuse.query.plan.relation, cursor)
                if reuse.is_digestible:
                    reuse.digest(cursor)

        self._digesting = [thread for thread in self._digesting if thread.is_alive()]
        self._digesting.append(threading.Thread(target=work, name="discreet-digest"))
        self._digesting[-1].start()

    def _opened(self) -> _Open:
        if self._process != os.getpid():  # its threads and locks are those of another process
            self._lock, self._process, self._digesting = threading.Lock(), os.getpid(), []
            if self._open is not None:
                self._inherited.append(self._open)
                self._open = None
        with self._lock:
            if self._open is None:
                instance = Locked(self._paths, self._memory)
                self._open = _Open(instance, Kept(self._memory // SHARE))
                self._secret = randomness.system().integer(
                    63
                )  # decides which rows of a unit count: never the same twice
            return self._open


@dataclass(frozen=True, slots=True)
class _Open:
    """One opening: the instance, and what it keeps."""

    instance: Locked
    kept: Kept


@contextmanager
def _cursor(opened: _Open) -> Iterator[duckdb.DuckDBPyConnection]:
    cursor = opened.instance.cursor()
    try:
        yield cursor
    finally:
        cursor.close()


def returned(statement: Statement, cursor: duckdb.DuckDBPyConnection, cells: int | None = None) -> Returned:
    """Return the columns that a statement returns, or the counts of this many cells by their codes."""
    for name, listed in statement.lists.items():
        cursor.register(name, listed)
    if statement.codes is not None and cells is not None and cells > _MANY_CELLS:
        return {DENSE: _counted(statement.codes, statement.parameters, cursor, cells)}
    found: Returned = cursor.execute(statement.text, dict(statement.parameters)).fetchnumpy()
    return found


def _counted(
    codes: str, parameters: Mapping[str, object], cursor: duckdb.DuckDBPyConnection, cells: int
) -> NDArray[np.int64]:
    """Return how many rows have each code: they arrive in batches, so memory does not grow with their number."""
    counts: NDArray[np.int64] | None = None
    for batch in cursor.sql(codes, params=dict(parameters)).to_arrow_reader(_BATCH):
        found = np.bincount(batch.column(0).to_numpy(zero_copy_only=False), minlength=cells)
        counts = found if counts is None else np.add(counts, found, out=counts)
    return np.zeros(cells, dtype=np.int64) if counts is None else counts


def _check_fan_out(relation: Relation, place: int, rows: pa.Table) -> None:
    """Refuse a public table in which a row finds more than when the question was planned: the bounds are of then."""
    for scan, columns, most in public_joins(relation):
        if scan == place and fan_out_of(rows, columns) > most:
            raise changed(relation.scans[place])


def _origins(relation: Relation, cursor: duckdb.DuckDBPyConnection) -> list[Origin]:
    """Return the tables as this question reaches them, with what they need known to its cursor."""
    origins, private = list[Origin](), []
    for place, table in enumerate(relation.scans):
        if table.public:
            origin, frames = public_origin(table, place)
            for name, rows in frames.items():
                _check_fan_out(relation, place, rows)
                cursor.register(name, rows)
        else:
            scan = scan_of(table, place, cursor)
            origin = scan.origin
            private.append((table, scan))
        origins.append(origin)
    check_units([table for table, _ in private], [scan for _, scan in private])
    return origins
