"""The servers of the tests: what they listen on, and Java from the wheel."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.java import DROPPED, OLDEST, java_home, version
from tests.servers import READER, Postgres


def test_the_server_listens_on_a_socket_alone(postgres: Postgres) -> None:
    assert postgres.execute("SHOW listen_addresses") == [("",)]
    assert int(postgres.execute("SHOW server_version_num")[0][0]) >= 160000
    assert postgres.execute(f"SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = '{READER}'") == [
        (False, False)
    ]


def test_spark_has_two_workers_and_no_web_page(spark: Any) -> None:
    assert spark.sparkContext.master == "local[2]"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.range(10).count() == 10


def test_java_of_the_wheel_runs_without_the_module_that_it_lacks(tmp_path: Path) -> None:
    java = str(Path(java_home(tmp_path, installed=False)) / "bin" / "java")
    assert version(java) >= OLDEST
    asked = [java, "-Dfirst=one two", DROPPED, "-XshowSettings:properties", "-Dlast=it's", "-version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stderr
    assert "first = one two" in said
    assert "last = it's" in said


def test_an_old_or_missing_java_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert version(str(tmp_path / "none")) == 0
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    assert java_home(tmp_path).startswith(str(tmp_path))
    assert os.access(tmp_path / "java" / "bin" / "java", os.X_OK)
