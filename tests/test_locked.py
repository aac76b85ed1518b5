"""The locked instance: every setting is read back on a cursor, as a question finds it, and nothing stays on disk."""

from __future__ import annotations

import gc
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import discreet as dc
from discreet.engine import locked
from discreet.engine.locked import SETTINGS, Locked, setting
from tests.broken.engines_duckdb import locked_for_one

MEMORY = 200_000_000


def check_settings(connection: duckdb.DuckDBPyConnection) -> None:
    for name, value in SETTINGS:
        assert setting(connection, name) == value, name


def test_every_cursor_has_every_setting(tmp_path: Path) -> None:
    """before the first use every setting is read back, and an instance that is not locked is not used"""
    instance = Locked([str(tmp_path / "t.csv")], MEMORY)
    for _ in range(2):
        cursor = instance.cursor()
        check_settings(cursor)
        assert setting(cursor, "allowed_paths") == [str(tmp_path / "t.csv")]
        assert [folder.rstrip("/") for folder in setting(cursor, "allowed_directories")] == [instance._folder]
        cursor.close()
    instance.close()
    with pytest.raises(AssertionError):
        check_settings(locked_for_one([]))


def test_an_instance_that_is_not_locked_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for position, (_, value) in enumerate(SETTINGS):
        spoiled = list(SETTINGS)
        spoiled[position] = ("no_such_setting", value)
        with monkeypatch.context() as patch:
            patch.setattr(locked, "SETTINGS", tuple(spoiled))
            with pytest.raises(dc.Unavailable, match="could not be locked down"):
                Locked([], MEMORY)


def test_a_setting_of_one_connection_alone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that does not reach the cursors is no lock."""
    monkeypatch.setattr(locked, "SETTINGS", (*SETTINGS[:-1], ("enable_object_cache_of_nobody", False), SETTINGS[-1]))
    with pytest.raises(dc.Unavailable):
        Locked([], MEMORY)


def test_its_folder_is_private_and_removed() -> None:
    instance = Locked([], MEMORY)
    folder = Path(instance._folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    instance.close()
    assert not folder.exists()
    forgotten = Path(Locked([], MEMORY)._folder)
    gc.collect()
    assert not forgotten.exists()


def test_a_process_that_ends_leaves_no_folder() -> None:
    """Without close, and whatever children it had."""
    text = (
        "import os; from discreet.engine.locked import Locked; made = Locked([], 10**8); child = os.fork()\n"
        "if not child: raise SystemExit\n"
        "os.waitpid(child, 0); print(made._folder, os.path.isdir(made._folder))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    folder, there = done.stdout.split()
    assert there == "True"
    assert not Path(folder).exists()


def test_what_does_not_fit_is_spilled_into_its_folder_or_refused() -> None:
    """Its memory is limited: what does not fit is spilled into the folder, up to a limit too, or the question fails."""
    instance = Locked([], 30_000_000)
    cursor = instance.cursor()
    rows = cursor.execute("SELECT COUNT(*) FROM (SELECT i FROM range(8_000_000) r(i) ORDER BY hash(i))").fetchall()
    assert rows == [(8_000_000,)]
    with pytest.raises(duckdb.OutOfMemoryException):
        cursor.execute("SELECT string_agg(repeat('x', 1000), '') FROM range(100_000) r(i)").fetchall()
    assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    instance.close()
