"""DU-11: another file under the name and the version of the one that was asked about."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.sources import Sources


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "canary.parquet"
    path.write_bytes(b"rows")
    return path


@pytest.fixture
def sources(tmp_path: Path, data: Path) -> Sources:
    made = Sources.beside(tmp_path / "x.ledger")
    made.check("t", "1", [str(data)])
    return made


def test_what_did_not_change_is_accepted_and_a_new_version_is(sources: Sources, data: Path) -> None:
    sources.check("t", "1", [str(data)])
    data.write_bytes(b"other rows")
    sources.check("t", "2", [str(data)])
    sources.check("t", "2", [str(data)])


def _longer(path: Path) -> None:
    path.write_bytes(b"more rows")


def _later(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


@pytest.mark.parametrize("change", [_longer, _later, Path.unlink])
def test_what_changed_is_refused_without_saying_how(sources: Sources, data: Path, change: object) -> None:
    change(data)  # type: ignore[operator]
    with pytest.raises(LedgerError, match='declare another, for instance version="2"') as caught:
        sources.check("t", "1", [str(data)])
    assert "canary" not in str(caught.value)


def test_one_file_more_is_a_change(sources: Sources, data: Path, tmp_path: Path) -> None:
    (tmp_path / "b.parquet").write_bytes(b"")
    with pytest.raises(LedgerError, match="changed"):
        sources.check("t", "1", [str(data), str(tmp_path / "b.parquet")])


def test_a_digest_sees_what_size_and_time_do_not(tmp_path: Path, data: Path) -> None:
    with_digest, without = Sources(tmp_path / "a"), Sources(tmp_path / "b")
    with_digest.check("t", "1", [str(data)], digest=True)
    without.check("t", "1", [str(data)])
    moment = data.stat().st_mtime_ns
    data.write_bytes(b"swor")
    os.utime(data, ns=(moment, moment))
    without.check("t", "1", [str(data)])
    with pytest.raises(LedgerError, match="changed"):
        with_digest.check("t", "1", [str(data)])  # it was asked for once, and is kept up


def test_it_is_for_the_curator_alone(sources: Sources) -> None:
    assert sources.path.stat().st_mode & 0o777 == 0o600


def test_damage_is_refused(sources: Sources, data: Path) -> None:
    for damage in ("", "[]", '{"key": 1, "versions": {}}'):
        sources.path.write_text(damage, "utf-8")
        with pytest.raises(LedgerError, match="cannot be read"):
            sources.check("t", "1", [str(data)])


def test_many_threads_lose_no_record(tmp_path: Path, data: Path) -> None:
    sources = Sources(tmp_path / "many")
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: sources.check(f"t{number}", "1", [str(data)]), range(32)))
    assert len(sources._read()["versions"]) == 32


def test_a_folder_that_is_gone_is_an_error_of_the_ledger(tmp_path: Path, data: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written") as caught:
        Sources(tmp_path / "gone" / "x").check("t", "1", [str(data)])
    assert str(tmp_path) not in str(caught.value)
