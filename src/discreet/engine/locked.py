"""A DuckDB that reaches the files of some tables and a private folder to spill into, and nothing else."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Unavailable

if TYPE_CHECKING:
    import duckdb

# In this order: what cannot be set later comes first, the lock last. Read back before the first use.
SETTINGS: tuple[tuple[str, bool | list[str]], ...] = (
    ("preserve_insertion_order", False),  # no answer depends on an order
    ("error_on_division_by_zero", False),  # nothing that is written divides by zero; were it so, it would not tell
    ("autoinstall_known_extensions", False),
    ("autoload_known_extensions", False),
    ("allow_community_extensions", False),
    ("allow_unsigned_extensions", False),
    ("allow_persistent_secrets", False),
    ("python_enable_replacements", False),  # no name in a query means a variable of this process
    ("enable_progress_bar", False),  # it would show how far the rows are read
    ("allowed_configs", ["perfect_ht_threshold"]),  # how units are counted; nothing else is exempt from the lock
    ("enable_external_access", False),
    ("lock_configuration", True),
)
_LOCAL = {"enable_progress_bar"}  # of one connection; an interactive Python has it on in the first, no cursor has
_SPILLED = 8  # times the memory, on disk


def memory_limit() -> int:
    """Return half of the memory of this machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class Locked:
    """One locked instance in memory, with a folder of its own, which is removed on close.

    Guarantee: before the first use every setting is read back, and an instance that is not locked is not used. Its
      memory is limited: what does not fit is spilled into the folder, up to a limit too, or the question fails.
    """

    def __init__(self, paths: Sequence[str], memory: int) -> None:
        self._owner = os.getpid()
        self._folder = str(Path(tempfile.mkdtemp(prefix="discreet-")).resolve())  # mode 0700
        connection = None
        try:
            connection = self._connected(list(paths), memory)
        finally:
            if connection is None:
                shutil.rmtree(self._folder, ignore_errors=True)
        self._connection = connection
        self._give_back = weakref.finalize(self, _give_back, connection, self._folder, self._owner)  # at exit, too

    def _connected(self, paths: list[str], memory: int) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection, locked = duckdb.connect(":memory:"), False
        with suppress(duckdb.Error):
            connection.execute("SET temp_directory = $folder", {"folder": self._folder})
            connection.execute(f"SET memory_limit = '{int(memory)}B'")
            connection.execute(f"SET max_temp_directory_size = '{int(memory) * _SPILLED}B'")
            connection.execute("SET allowed_paths = $paths", {"paths": paths})
            for name, value in SETTINGS:
                if setting(connection, name) != value:  # some cannot be set again to what they are
                    scope = "" if name in _LOCAL else "GLOBAL"  # for every cursor
                    connection.execute(f"SET {scope} {name} = {value}")
            locked = self._is_locked(connection.cursor(), paths)  # as a question finds it
        if not locked:
            connection.close()
            raise Unavailable("the engine could not be locked down, so it is not used; this DuckDB is not supported.")
        return connection

    def _is_locked(self, connection: duckdb.DuckDBPyConnection, paths: list[str]) -> bool:
        reached = [str(folder).rstrip("/") for folder in setting(connection, "allowed_directories")]
        settings = all(setting(connection, name) == value for name, value in SETTINGS)
        sizes = ("memory_limit", "max_temp_directory_size")
        limited = all(setting(connection, name) not in (None, "", "-1") for name in sizes)
        files = set(setting(connection, "allowed_paths")) == set(paths)  # in an order of their own
        return settings and limited and files and reached == [self._folder]

    @property
    def is_ours(self) -> bool:
        """Whether this process opened it: a child that was forked cannot use what its parent opened."""
        return self._owner == os.getpid()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a fresh connection to the instance: what one question leaves in it, no other sees."""
        return self._connection.cursor()

    def close(self) -> None:
        """Give back the memory and remove the folder."""
        self._give_back()


def _give_back(connection: duckdb.DuckDBPyConnection, folder: str, owner: int) -> None:
    if owner == os.getpid():
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def setting(connection: duckdb.DuckDBPyConnection, name: str) -> Any:
    """Return the value of a setting."""
    return connection.execute("SELECT current_setting($name)", {"name": name}).fetchall()[0][0]
