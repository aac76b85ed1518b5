"""WS-07: with the parser bypassed, the engine itself reaches the files of its tables and nothing else."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from discreet.engine.locked import Locked
from tests.broken.engines_duckdb import unlocked

ESCAPES = [
    "SELECT * FROM read_csv('{other}')",
    "SELECT * FROM read_csv_auto('{other}')",
    "SELECT * FROM sniff_csv('{other}')",
    "SELECT * FROM read_text('{other}')",
    "SELECT * FROM read_blob('{other}')",
    "SELECT * FROM read_json('{json}')",
    "SELECT * FROM read_json_objects('{json}')",
    "SELECT * FROM read_ndjson('{json}')",
    "SELECT * FROM read_parquet('{parquet}')",
    "SELECT * FROM parquet_metadata('{parquet}')",
    "SELECT * FROM parquet_schema('{parquet}')",
    "SELECT * FROM read_text('{folder}/*.csv')",
    "SELECT * FROM '{other}'",
    "SELECT * FROM '{folder}/*.csv'",
    "SELECT * FROM read_csv('{allowed}/../other.csv')",
    "SELECT * FROM read_text('{folder}/link.csv')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_text('http://127.0.0.1:{port}/t.csv')",
    "SELECT * FROM 'http://127.0.0.1:{port}/t.csv'",
    "SELECT * FROM read_parquet('s3://bucket/t.parquet')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)",
    "CREATE TABLE t AS SELECT 1; COPY t FROM '{other}'",
    "ATTACH '{folder}/x.db'",
    "ATTACH '{folder}/y.db' AS y; CREATE TABLE y.t AS SELECT 1",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/evil.duckdb_extension'",
    "SET enable_external_access = true",
    "SET GLOBAL enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_paths = ['{other}']",
    "SET allowed_directories = ['{folder}']",
    "SET allowed_configs = ['threads']",
    "SET python_enable_replacements = true",
    "SET temp_directory = '{folder}'",
    "SET threads = 1",
    "RESET memory_limit",
    "PRAGMA memory_limit = '1TB'",
    "SET log_query_path = '{folder}/log'",
    "CREATE PERSISTENT SECRET s (TYPE s3)",
    "SELECT * FROM frame_of_this_process",
    "SELECT getenv('HOME')",
]
Connect = Callable[[Sequence[str]], duckdb.DuckDBPyConnection]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, object]]:
    """Files that lie beside the one that may be read, and a server that counts who calls."""
    called: list[str] = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            called.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    (tmp_path / "other.csv").write_text("a\nCANARY\n")
    (tmp_path / "other.json").write_text('{"a": "CANARY"}\n')
    (tmp_path / "link.csv").symlink_to(tmp_path / "other.csv")
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "t.csv").write_text("a\n1\n")
    duckdb.connect().execute(f"COPY (SELECT 'CANARY' AS a) TO '{tmp_path}/other.parquet'").fetchall()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield {
        "folder": tmp_path,
        "other": tmp_path / "other.csv",
        "json": tmp_path / "other.json",
        "parquet": tmp_path / "other.parquet",
        "allowed": tmp_path / "allowed",
        "port": server.server_address[1],
        "called": called,
    }
    server.shutdown()
    thread.join()
    server.server_close()


def locked(paths: Sequence[str]) -> duckdb.DuckDBPyConnection:
    instance = Locked(paths, 500_000_000)
    _opened.append(instance)
    return instance.cursor()


_opened: list[Locked] = []


def escapes(connect: Connect, places: dict[str, object]) -> list[str]:
    """Which statements did anything at all, each on an instance of its own."""
    frame_of_this_process = pa.table({"a": [1]})
    assert frame_of_this_process.num_rows == 1  # a replacement scan would find it
    folder = Path(str(places["folder"]))
    before = sorted(folder.rglob("*"))
    done = []
    for text in ESCAPES:
        connection = connect([str(folder / "allowed" / "t.csv")])
        try:
            connection.execute(text.format(**places)).fetchall()
            done.append(text)
        except duckdb.Error:
            pass
        finally:
            connection.close()
            while _opened:
                _opened.pop().close()
    if sorted(folder.rglob("*")) != before or places["called"]:
        done.append("a file was made, or a server was called")
    return done


def test_nothing_else_is_reached(places: dict[str, object]) -> None:
    assert len(ESCAPES) > 30
    assert escapes(locked, places) == []


def test_a_connection_as_it_comes_is_rejected(places: dict[str, object]) -> None:
    without_net = [text for text in ESCAPES if "INSTALL" not in text and "http" not in text and "s3" not in text]
    done = escapes(unlocked, places)
    assert len(done) > len(without_net) / 2


def test_the_file_of_a_table_is_reached(places: dict[str, object]) -> None:
    connection = locked([f"{places['allowed']}/t.csv"])
    assert connection.execute(f"SELECT a FROM read_csv('{places['allowed']}/t.csv')").fetchall() == [(1,)]
    connection.close()
    _opened.pop().close()
